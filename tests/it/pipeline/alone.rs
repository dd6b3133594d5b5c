//! A kernel that takes long on one thread where there are more: the user is told once, with the reason.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::{Op, ScatterOp};
use porcini_core::{Array, DType, DeviceChoice, Error, Session};

use super::lanes;

/// A session whose clock goes on by this much at every look, and what it warned of.
fn session(device: DeviceChoice, threads: usize, step: u64) -> (Session, Arc<Mutex<Vec<String>>>) {
    let (looks, said) = (AtomicU64::new(0), Arc::<Mutex<Vec<String>>>::default());
    let lines = said.clone();
    let session = Session::builder()
        .device(device)
        .threads(threads)
        .clock(Arc::new(move || {
            Duration::from_millis(step * looks.fetch_add(1, Ordering::Relaxed))
        }))
        .warnings(Arc::new(move |line| lines.lock().unwrap().push(line.into())))
        .build();
    (session.unwrap(), said)
}

/// Doubles x until it is 100 or more, with the target scattered to in the loop if there is one.
fn doubled(x: &Array, target: Option<(&Array, ScatterOp)>) -> Vec<Array> {
    let states: Vec<Array> =
        [x].into_iter().chain(target.map(|(array, _)| array)).cloned().collect();
    let body = |states: &[Array]| {
        let next = &states[0] * 2 + 1;
        let Some((_, op)) = target else { return Ok(vec![next]) };
        let mut written = states[1].clone();
        written.scatter(op, 1, &states[0].apply(Op::And, &[7.into()])?, None)?;
        Ok(vec![next, written])
    };
    x.session().while_loop::<Error>(&states, |states| states[0].lt(100), body).unwrap()
}

const IN_LOOP: &str = "its loop or branch has a NAME, which keeps the order of lanes; have it give index and value as \
                       states, and scatter them behind it: then threads share the loop";
const BEHIND_LOOP: &str = "its NAME keeps the order of lanes; eval(..) index and value before: then threads share what computes them";
const PLAIN: &str = "its NAME keeps the order of lanes; where no index comes twice, a gather by the inverse index gives \
                     the same, and threads share it";
const FEW: &str = "it has NAME, too few to share; more lanes at once, say of several problems side by side, share threads";

/// Works with the reason for one thread, and what it names.
fn works(session: &Session) -> Vec<(Vec<Array>, &'static str, &'static str)> {
    let x = lanes(session, DType::U32, 3000);
    let zeros = || session.array(&[0_u32; 3000]).unwrap();
    let scattered = |op, x: &Array| {
        let mut target = zeros();
        target.scatter(op, x, &(x % 3000), None).unwrap();
        vec![target]
    };
    vec![
        (scattered(ScatterOp::Set, &x), PLAIN, "scatter"),
        (scattered(ScatterOp::Add, &x), PLAIN, "scatter_add"),
        (scattered(ScatterOp::Max, &doubled(&x, None)[0]), BEHIND_LOOP, "scatter_max"),
        (doubled(&x, Some((&zeros(), ScatterOp::Set))), IN_LOOP, "scatter"),
        (doubled(&x, Some((&zeros(), ScatterOp::Add))), IN_LOOP, "scatter_add"),
        (doubled(&lanes(session, DType::U32, 3), None), FEW, "3 lanes"),
        (vec![session.array(&[2.5_f32]).unwrap() * 3.0], FEW, "1 lane"),
    ]
}

#[test]
fn every_reason_is_told_once_with_a_remedy() {
    for device in [DeviceChoice::Cpu, DeviceChoice::Interp(Isa::detect())] {
        let (session, said) = session(device, 2, 1250);
        let take = || std::mem::take(&mut *said.lock().unwrap());
        for (work, reason, name) in works(&session) {
            session.eval(&work.iter().collect::<Vec<_>>()).unwrap();
            let hash = session.history().last().unwrap().hash.to_string();
            let reason = reason.replace("NAME", name);
            let want = format!("kernel {hash:.8} ran 1.2 s on one thread, because {reason}");
            assert_eq!(take(), [want], "{device:?}");
        }
        // The same kernels again.
        for (work, reason, name) in works(&session) {
            session.eval(&work.iter().collect::<Vec<_>>()).unwrap();
            assert!(take().is_empty(), "{device:?}: {reason} {name}");
        }
    }
}

#[test]
fn what_is_short_or_shared_or_has_one_thread_is_not_told() {
    for (threads, step) in [(2, 1000), (1, 9000)] {
        let (session, said) = session(DeviceChoice::Cpu, threads, step);
        for (work, reason, name) in works(&session) {
            session.eval(&work.iter().collect::<Vec<_>>()).unwrap();
            assert!(said.lock().unwrap().is_empty(), "{threads} threads: {reason} {name}");
        }
    }
    for device in [DeviceChoice::Cpu, DeviceChoice::Interp(Isa::detect())] {
        let (session, said) = session(device, 2, 9000);
        (lanes(&session, DType::F64, 1 << 20) * 3).eval().unwrap();
        assert!(said.lock().unwrap().is_empty(), "{device:?}");
    }
}
