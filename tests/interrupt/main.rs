//! Interruption (S16, S18), in a binary of its own: the flag is the only process-wide state.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ways;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use porcini_core::backend::Backend;
use porcini_core::backend::cpu::Cpu;
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::{Op, ScatterOp};
use porcini_core::ir::primitive::Order;
use porcini_core::{Array, DType, Error, Runtime, Scalar, Session, interrupt};
use porcini_tests::devices::compiled;
use porcini_tests::golden;
use porcini_tests::in_place::InPlace;
use porcini_tests::pace;

/// Lanes that take minutes.
const MANY: i64 = 1 << 32;
/// Far more than an interruption takes, far less than the kernel.
const PATIENCE: Duration = Duration::from_secs(20);

/// One test at a time has the flag, which is clear before and after.
struct Flag(#[expect(dead_code, reason = "held until dropped")] MutexGuard<'static, ()>);

impl Flag {
    fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let guard = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        interrupt::clear();
        Self(guard)
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        interrupt::clear();
    }
}

fn lanes(session: &Session, dtype: DType, n: i64) -> Array {
    session.arange(dtype, Scalar::Int(0), Scalar::Int(n), Scalar::Int(1)).unwrap()
}

/// Evaluates an array that takes minutes and interrupts it from another thread.
fn interrupted(array: &Array) {
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            interrupt::request();
        });
        assert_eq!(array.eval(), Err(Error::Interrupted));
    });
    let time = start.elapsed();
    assert!(pace::is_within(time, PATIENCE), "stopped after {time:?}");
    interrupt::clear();
}

#[test]
fn a_long_kernel_stops_and_the_session_goes_on() {
    let _flag = Flag::take();
    for threads in [1, 2] {
        let session = Session::builder().threads(threads).build().unwrap();
        let sum = lanes(&session, DType::F64, MANY).sin().unwrap().hsum().unwrap();
        interrupted(&sum);
        assert!(!sum.is_evaluated());
        assert_eq!((lanes(&session, DType::I32, 3) + 1).to_vec::<i32>().unwrap(), [1, 2, 3]);
        interrupted(&sum);
        drop(sum);
        assert_eq!(session.memory_info().used, 0);
    }
}

/// What is in line when somebody stops waiting is done when somebody wants it.
#[test]
fn launches_in_line_stop_and_go_on() {
    let _flag = Flag::take();
    let session = Session::builder().threads(2).build().unwrap();
    let start = lanes(&session, DType::F64, 1 << 20) * 1e-3;
    start.eval().unwrap();
    let next = |x: &Array| {
        let y = (0..8).fold(x.clone(), |y, _| y.sin().unwrap() + x);
        y.eval().unwrap();
        y
    };
    let line: Vec<Array> =
        std::iter::successors(Some(next(&start)), |x| Some(next(x))).take(12).collect();
    interrupt::request();
    let asked = Instant::now();
    assert_eq!(session.sync(), Err(Error::Interrupted));
    let time = asked.elapsed();
    assert!(pace::is_within(time, Duration::from_secs(2)), "stopped after {time:?}");
    interrupt::clear();
    let got = line[11].item(12_345).unwrap();
    session.set_flag("async", false).unwrap();
    let again = (0..12).fold(start, |x, _| next(&x));
    assert_eq!(got, again.item(12_345).unwrap());
}

#[test]
fn an_endless_kernel_stops_without_walking_what_is_left() {
    let _flag = Flag::take();
    for threads in [1, 2] {
        let session = Session::builder().threads(threads).build().unwrap();
        let index =
            session.arange(DType::U64, Scalar::Int(0), Scalar::Int(1 << 62), Scalar::Int(1));
        let index = index.unwrap() % 1000;
        let mut target = session.array(&[0_u32; 1000]).unwrap();
        target.scatter(ScatterOp::Add, 1, &index, None).unwrap();
        interrupted(&target);
        // A result for each chunk of lanes would not fit into memory either.
        interrupted(&index.hsum().unwrap());
    }
}

/// Loops in kernels that never end, on every device: the flag is looked at in each turn.
#[test]
fn an_endless_loop_stops_and_the_session_goes_on() {
    let _flag = Flag::take();
    let mut devices: Vec<Arc<dyn Backend>> = Vec::new();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        devices.push(Arc::new(Interp::new(isa, 1)));
        if isa != Isa::Baseline {
            devices.extend([1, 2].map(|threads| Arc::new(Cpu::new(isa, threads)) as Arc<_>));
        }
    }
    for device in devices {
        let session = Session::builder().runtime(Runtime::on(device, None)).build().unwrap();
        for n in [1, 100, 100_000] {
            let x = lanes(&session, DType::U32, n);
            let endless = session.while_loop::<Error>(
                std::slice::from_ref(&x),
                |s| s[0].apply(Op::Ge, &[0.into()]),
                |s| Ok(vec![s[0].apply(Op::Add, &[1.into()])?]),
            );
            interrupted(&endless.unwrap()[0]);
            assert_eq!(x.hmax().unwrap().item(0).unwrap(), Scalar::Int(n - 1));
        }
    }
}

#[test]
fn a_sort_stops_and_gives_its_memory_back() {
    let _flag = Flag::take();
    for threads in [1, 2] {
        let session = Session::builder().threads(threads).build().unwrap();
        let x = lanes(&session, DType::U32, 1 << 26) * 2_654_435_761_i64;
        x.eval().unwrap();
        let used = session.memory_info().used;
        let order = x.argsort(Order::Ascending).unwrap();
        interrupted(&order);
        assert!(!order.is_evaluated());
        assert_eq!(session.memory_info().used, used);
    }
}

#[test]
fn a_request_stops_what_starts_later_until_it_is_cleared() {
    let _flag = Flag::take();
    let session = Session::new().unwrap();
    let a = lanes(&session, DType::I32, 3) + 1;
    interrupt::request();
    assert_eq!(a.eval(), Err(Error::Interrupted));
    interrupt::clear();
    assert_eq!(a.to_vec::<i32>().unwrap(), [1, 2, 3]);
}

/// Adds up very many lanes into `target`.
fn count(target: &mut Array) {
    let session = target.session().clone();
    let index = lanes(&session, DType::U32, MANY) % 1000;
    session.set_line(7);
    target.scatter(ScatterOp::Add, 1, &index, None).unwrap();
    session.set_line(0);
}

#[test]
fn a_target_half_written_in_place_is_poisoned() {
    let _flag = Flag::take();
    let session = Session::new().unwrap();
    let other = session.array(&[5_u32]).unwrap();
    let mut target = session.array(&[0_u32; 1000]).unwrap();
    count(&mut target);
    let user = &target + &other;
    interrupted(&target);
    let error = target.to_vec::<u32>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the array was half written by a scatter_add that did not finish, line 7; assign it anew"
    );
    assert!(matches!(user.eval(), Err(Error::Poisoned { line: 7, .. })));
    assert_eq!((&other + 1).to_vec::<u32>().unwrap(), [6]);
}

#[test]
fn a_target_that_others_hold_stays_intact() {
    let _flag = Flag::take();
    let session = Session::new().unwrap();
    let mut target = session.array(&[3_u32; 1000]).unwrap();
    let kept = target.clone();
    count(&mut target);
    interrupted(&target);
    assert_eq!(kept.to_vec::<u32>().unwrap(), [3; 1000]);
    // Nor is the write itself lost: it starts anew.
    interrupted(&target);
    assert!(!target.is_evaluated());
}

#[test]
fn an_input_that_may_be_overwritten_survives_an_interrupt() {
    let _flag = Flag::take();
    let runtime = Runtime::on(Arc::new(InPlace::new(Arc::default())), None);
    let session = Session::builder().runtime(runtime).build().unwrap();
    let x = lanes(&session, DType::I32, 20_000) + 1;
    let address = x.address().unwrap();
    let y = x * 2;
    interrupt::request();
    assert_eq!(y.eval(), Err(Error::Interrupted));
    interrupt::clear();
    assert_eq!(y.read(0..3).unwrap(), [2, 4, 6].map(Scalar::Int));
    assert_eq!(y.address().unwrap(), address);
}

#[test]
fn copies_to_and_from_the_host_stop() {
    let _flag = Flag::take();
    let session = Session::new().unwrap();
    let array = session.array(&[1.5_f64; 3]).unwrap();
    interrupt::request();
    assert_eq!(array.to_vec::<f64>(), Err(Error::Interrupted));
    assert!(matches!(session.array(&[1_u8 != 0]), Err(Error::Interrupted)));
    interrupt::clear();
    assert_eq!(array.to_vec::<f64>().unwrap(), [1.5; 3]);
}

/// Case K9 and engines as sessions, on every device.
#[test]
fn a_session_goes_on_after_ctrl_c() {
    let _flag = Flag::take();
    for session in ["interrupt/k9.rhai", "interrupt/engines.rhai"] {
        let failures = golden::check(&golden::sessions().join(session), &golden::configurations());
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

/// Long code looks at the flag between its segments, but not where it works in place.
#[test]
fn a_long_kernel_in_place_is_not_interrupted() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let _flag = Flag::take();
    for isa in compiled() {
        interrupt::clear();
        let runtime = Runtime::on(Arc::new(Cpu::new(isa, 1)), None);
        // The third look at the clock comes just before a launch.
        let looks = Arc::new(AtomicUsize::new(usize::MAX / 2));
        let clock = {
            let looks = looks.clone();
            move || {
                if looks.fetch_add(1, Ordering::Relaxed) + 1 == 3 {
                    interrupt::request();
                }
                Duration::ZERO
            }
        };
        let session = Session::builder().runtime(runtime).clock(Arc::new(clock)).build().unwrap();
        let x = session.array(&(0..8192_i64).map(|i| i << 40).collect::<Vec<_>>()).unwrap();
        let a = session.array(&(0..8192_i64).map(|i| i << 50 | i).collect::<Vec<_>>()).unwrap();
        let mut y = &x + 1;
        drop(x);
        for _ in 0..1900 {
            y = &y.apply(Op::MulHi, &[(&a).into()]).unwrap() + &a;
        }
        looks.store(0, Ordering::Relaxed);
        let first = y.eval();
        interrupt::clear();
        let second = y.to_vec::<i64>().map(|lanes| lanes.len());
        assert_eq!((first, second), (Ok(()), Ok(8192)), "{isa}");
    }
}
