//! A device that fails is told of once, and the session goes on with another; what is not in its memory stays.

use porcini_core::{DType, DeviceChoice, Error, Runtime, Session};
use porcini_tests::fragile::Fragile;

/// Has the device fail, and looks at what is left.
fn check(runtime: &Runtime, session: &Session) {
    let kept = session.full(DType::F32, 2, 3).unwrap() + 1;
    let (old, other) = (session.array(&[1_f32, 2.0]).unwrap(), session.array(&[3_f32]).unwrap());
    let host = old.to_vec::<f32>().unwrap();
    // Reports wait for the work of this one.
    let at = session.array(&[0_u32, 1]).unwrap();
    let gathered = old.gather(&at, None).unwrap();
    gathered.eval().unwrap();
    runtime.fail_device().unwrap();
    let error = (&old * 2).to_vec::<f32>().unwrap_err();
    assert!(matches!(error, Error::DeviceFailed { lost: true, .. }), "{error}");
    // Once, however often somebody asks.
    assert_eq!(session.take_error(), None);
    // Memory is no other device's, whatever is asked for first.
    assert!(matches!(other.to_vec::<f32>(), Err(Error::Lost { .. })));
    session.sync().unwrap();
    assert_eq!(kept.to_vec::<f32>().unwrap(), [3.0; 3]);
    session.sync().unwrap();
    for lost in [&old, &other, &gathered] {
        let error = lost.to_vec::<f32>().unwrap_err();
        assert!(matches!(error, Error::Lost { .. }), "{error}");
    }
    let anew = session.array(&host).unwrap();
    assert_eq!((anew * 10).to_vec::<f32>().unwrap(), [10.0, 20.0]);
}

#[test]
fn a_session_outlives_its_device() {
    let runtime = Runtime::on(Fragile::new(), Some(1 << 30));
    let session = Session::builder().runtime(runtime.clone()).build().unwrap();
    check(&runtime, &session);
}

/// Set in the process in which the GPU fails: it does so for the whole process.
const FAILS: &str = "PORCINI_GPU_FAILS";

#[test]
fn a_gpu_fails() {
    if std::env::var_os(FAILS).is_some() {
        return fail_gpu();
    }
    if porcini_tests::gpu::open().is_none() {
        return;
    }
    let (_, name) = concat!(module_path!(), "::a_gpu_fails").split_once("::").unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name]).env(FAILS, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn fail_gpu() {
    let runtime = Runtime::new(DeviceChoice::Auto, 1, None).unwrap();
    let session = Session::builder().runtime(runtime.clone()).build().unwrap();
    drop(session.array(&[1_f32]).unwrap());
    assert!(session.device_name().contains("cuda"), "{}", session.device_name());
    // It goes on, on the CPU: drivers give the process no context any more.
    check(&runtime, &session);
    assert!(session.device_name().contains("cpu"), "{}", session.device_name());
    // Who asked for the GPU hears what helps.
    let gpu = Runtime::new(DeviceChoice::Cuda(0), 1, None).unwrap();
    let session = Session::builder().runtime(gpu).build().unwrap();
    let error = session.array(&[1_f32]).unwrap_err().to_string();
    assert!(error.contains("start again, or use --device cpu"), "{error}");
}
