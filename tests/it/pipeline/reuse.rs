//! Outputs take the blocks of inputs that nobody can see any more, and of no others.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use porcini_core::ir::op::Op;
use porcini_core::{Array, DType, Error, Runtime, Session};
use porcini_tests::in_place::{InPlace, Trouble};

use super::{lanes, session};

const N: i64 = 10_000;

fn in_place() -> (Session, Arc<Trouble>) {
    let trouble = Arc::new(Trouble::default());
    let runtime = Runtime::on(Arc::new(InPlace::new(trouble.clone())), None);
    (Session::builder().runtime(runtime).build().unwrap(), trouble)
}

fn evaluated(session: &Session) -> Array {
    let x = lanes(session, DType::F64, N) + 1.0;
    x.eval().unwrap();
    x
}

#[test]
fn a_loop_works_in_one_block() {
    let (session, _) = in_place();
    let mut x = evaluated(&session);
    let (address, peak) = (x.address().unwrap(), session.memory_info().peak);
    for _ in 0..10 {
        x = x * 0.5 + 3.0;
        x.eval().unwrap();
        assert_eq!(x.address().unwrap(), address);
    }
    assert_eq!(session.memory_info().peak, peak);
    let mut want = 1.0;
    for _ in 0..10 {
        want = want * 0.5 + 3.0;
    }
    assert_eq!(x.item(0).unwrap().to_f64(), want);
}

#[test]
fn the_interpreter_takes_a_second_block() {
    let session = session();
    let x = evaluated(&session);
    let address = x.address().unwrap();
    let y = x * 0.5;
    assert_ne!(y.address().unwrap(), address);
}

#[test]
fn what_somebody_can_see_stays() {
    let (session, _) = in_place();
    let x = evaluated(&session);
    let (seen, pending) = (x.clone(), &x + 1.0);
    let y = &x * 2.0;
    y.eval().unwrap();
    assert_eq!(seen.item(3).unwrap().to_f64(), 4.0);
    drop((seen, x));
    let z = &y * 2.0;
    drop(y);
    z.eval().unwrap();
    assert_eq!(z.item(3).unwrap().to_f64(), 16.0);
    assert_eq!(pending.item(3).unwrap().to_f64(), 5.0);
}

#[test]
fn several_results_of_one_launch() {
    let (session, _) = in_place();
    let x = evaluated(&session);
    let (double, square, sum) = (&x * 2.0, &x * &x, x.hsum().unwrap());
    let shifted = &square + &sum;
    drop((x, sum));
    session.eval(&[&double, &square, &shifted]).unwrap();
    assert_eq!(double.item(-1).unwrap().to_f64(), 20_000.0);
    assert_eq!(square.item(-1).unwrap().to_f64(), 1e8);
    assert_eq!(shifted.item(0).unwrap().to_f64(), 50_005_001.0);
}

#[test]
fn a_failed_launch_names_the_write_and_leaves_the_rest() {
    let (session, trouble) = in_place();
    let (x, other) = (evaluated(&session), evaluated(&session));
    session.set_line(7);
    let y = x * 2.0;
    session.set_line(0);
    let z = &y + 1.0;
    trouble.fail.store(true, Ordering::Relaxed);
    assert!(y.eval().is_err());
    trouble.fail.store(false, Ordering::Relaxed);
    let text = "the array was half written by a mul that did not finish, line 7; assign it anew";
    assert_eq!(y.to_vec::<f64>().unwrap_err().to_string(), text);
    assert!(matches!(z.eval(), Err(Error::Poisoned { line: 7, .. })));
    assert_eq!(other.item(3).unwrap().to_f64(), 4.0);
}

#[test]
fn without_memory_for_the_rest_nothing_is_overwritten() {
    let runtime = Runtime::on(Arc::new(InPlace::new(Arc::default())), Some(200_000));
    let session = Session::builder().runtime(runtime).build().unwrap();
    let x = evaluated(&session);
    let (y, z) = (&x * 2.0, &x * 3.0);
    let more = &x * 4.0;
    drop(x);
    let error = session.eval(&[&y, &z, &more]).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }));
    drop((z, more));
    assert_eq!(y.item(3).unwrap().to_f64(), 8.0);
}

#[test]
fn a_use_that_comes_up_while_buffers_are_found() {
    let (session, trouble) = in_place();
    let x = evaluated(&session);
    let y = x.apply(Op::Neg, &[]).unwrap();
    drop(x);
    let z = &y * 3.0;
    let twin = Arc::new(Mutex::new((y.clone(), None)));
    let hook = twin.clone();
    trouble.on_alloc(move || {
        let (y, back) = &mut *hook.lock().unwrap();
        // The identity names x again, the label forks y.
        *back = Some(y.apply(Op::Neg, &[]).unwrap());
        y.set_label("twin");
    });
    session.eval(&[&y, &z]).unwrap();
    let (twin, back) = &*twin.lock().unwrap();
    assert_eq!(y.item(3).unwrap().to_f64(), -4.0);
    assert_eq!(z.item(3).unwrap().to_f64(), -12.0);
    assert_eq!(twin.item(3).unwrap().to_f64(), -4.0);
    assert_eq!(back.as_ref().unwrap().item(3).unwrap().to_f64(), 4.0);
}
