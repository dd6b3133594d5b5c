//! Indices out of bounds: 0 is read, writes are dropped, and the error comes once at a read (S13).

use porcini_core::ir::op::ScatterOp;
use porcini_core::ir::primitive::Order;
use porcini_core::{Array, DType, Error};

use super::{lanes, session};

#[test]
fn a_gather_reports_once_and_reads_zero() {
    let session = session();
    let a = session.array(&[1.0_f32, 2.0, 3.0]).unwrap();
    session.set_line(4);
    let b = a.gather(&session.array(&[100_i32, 2, -1]).unwrap(), None).unwrap();
    session.set_line(0);
    b.eval().unwrap();
    let error = b.to_vec::<f32>().unwrap_err();
    assert_eq!(error.to_string(), "gather: index 100 out of bounds for size 3 (lane 0, line 4)");
    assert_eq!(b.to_vec::<f32>().unwrap(), [0.0, 3.0, 0.0]);
    assert!(session.take_error().is_none());
}

#[test]
fn the_lowest_lane_of_the_first_failing_access_is_reported() {
    let session = session();
    let a = lanes(&session, DType::F32, 10);
    // Lanes fail from 10 on, in every block and on both threads.
    let i = lanes(&session, DType::U32, 100_000);
    let first = a.gather(&(&i + 0), None).unwrap();
    let second = a.gather(&(&i + 5), None).unwrap();
    session.eval(&[&second, &first]).unwrap();
    let error = session.sync().unwrap_err();
    assert_eq!(error.to_string(), "gather: index 10 out of bounds for size 10 (lane 10)");
    assert!(session.sync().is_ok());
}

#[test]
fn each_evaluation_has_an_error_of_its_own() {
    let session = session();
    let a = lanes(&session, DType::F32, 10);
    let i = lanes(&session, DType::U32, 10);
    let [first, second, third] = [5, 6, 7].map(|by| a.gather(&(&i + by), None).unwrap());
    // Another order than that of recording, in which they are told.
    for array in [&third, &first, &second, &third] {
        array.eval().unwrap();
    }
    let lane = |error: Error| match error {
        Error::Bounds { lane, .. } => lane,
        other => panic!("{other}"),
    };
    assert_eq!(first.to_vec::<f32>().map_err(lane), Err(5));
    assert_eq!(session.sync().map_err(lane), Err(4));
    // What is put back comes first.
    let last = session.take_errors();
    second.gather(&(&i + 9), None).unwrap().eval().unwrap();
    session.put_errors(last);
    assert_eq!(session.take_errors().into_iter().map(lane).collect::<Vec<_>>(), [3, 1]);
    assert!(session.sync().is_ok());
}

#[test]
fn each_array_has_the_error_that_it_comes_of() {
    let session = session();
    let a = lanes(&session, DType::F32, 10);
    let at = |index: u32| session.array(&[index]).unwrap();
    let [fine, first, second] = [3, 30, 40].map(|index| a.gather(&at(index), None).unwrap());
    // One kernel makes most of them; the last ones read what another launch has stored.
    let unlike = session.array(&[0.5_f32]).unwrap().sin().unwrap();
    let like = &second * 2.0;
    let sorted = first.sort(Order::Ascending).unwrap();
    let summed = (&sorted + 1.0).hsum().unwrap();
    let arrays = [&fine, &first, &second, &unlike, &like, &sorted, &summed];
    session.eval(&arrays).unwrap();
    let errors =
        session.take_errors_of(&arrays.map(Array::mark), &session.owe_errors(&[])).unwrap();
    let indices = errors.into_iter().map(|error| match error {
        Some((_, Error::Bounds { index, .. })) => index,
        other => other.map_or(0, |_| -1),
    });
    assert_eq!(indices.collect::<Vec<_>>(), [0, 30, 40, 0, 40, 30, 30]);
    assert!(session.sync().is_ok(), "they count as told");
    assert!(summed.is_faulty() && !fine.is_faulty());
}

/// However many there are, none of the evaluation under way is forgotten.
#[test]
fn each_of_very_many_arrays_has_its_error() {
    let session = session();
    let a = lanes(&session, DType::F32, 10);
    let outside = session.array(&[30_u32]).unwrap();
    let arrays: Vec<Array> =
        (0..12_000).map(|number| a.gather(&(&outside + number), None).unwrap()).collect();
    session.eval(&arrays.iter().collect::<Vec<_>>()).unwrap();
    let marks: Vec<_> = arrays.iter().map(Array::mark).collect();
    let errors = session.take_errors_of(&marks, &session.owe_errors(&[])).unwrap();
    assert_eq!(errors.iter().flatten().count(), 12_000);
}

#[test]
fn a_scatter_out_of_bounds_is_dropped() {
    let session = session();
    let mut a = session.array(&[1_i32; 10]).unwrap();
    let at = session.array(&[3_u32, 400_000_000]).unwrap();
    a.scatter(ScatterOp::Set, 7, &at, None).unwrap();
    let error = a.to_vec::<i32>().unwrap_err();
    assert_eq!(error.to_string(), "scatter: index 400000000 out of bounds for size 10 (lane 1)");
    assert_eq!(a.to_vec::<i32>().unwrap(), [1, 1, 1, 7, 1, 1, 1, 1, 1, 1]);
    let negative = session.array(&[-1_i64]).unwrap();
    a.scatter(ScatterOp::Add, 1, &negative, None).unwrap();
    let error = a.to_vec::<i32>().unwrap_err();
    assert_eq!(error.to_string(), "scatter_add: index -1 out of bounds for size 10 (lane 0)");
}

#[test]
fn inactive_lanes_and_scalars_have_no_bounds() {
    let session = session();
    let a = lanes(&session, DType::I32, 100) + 100;
    let at = session.array(&[34_u32, 62, 750, 2]).unwrap();
    let active = at.gt(50).unwrap() & &at.lt(100).unwrap();
    let b = a.gather(&at, Some(&active)).unwrap();
    assert_eq!(b.to_vec::<i32>().unwrap(), [0, 162, 0, 0]);
    let scalar = session.array(&[5_i32]).unwrap();
    assert_eq!(scalar.gather(&at, None).unwrap().to_vec::<i32>().unwrap(), [5; 4]);
}

#[test]
fn checks_can_be_switched_off() {
    let session = session();
    session.set_flag("bounds_check", false).unwrap();
    let a = session.array(&[1_i32, 2, 3]).unwrap();
    let b = a.gather(&session.array(&[5_u32, 1]).unwrap(), None).unwrap();
    assert_eq!(b.to_vec::<i32>().unwrap(), [0, 2]);
}

#[test]
fn single_lanes_have_their_own_error() {
    let session = session();
    let a = session.array(&[1_i32, 2, 3]).unwrap();
    assert_eq!(a.item(-1).unwrap().to_f64(), 3.0);
    assert_eq!(a.item(5), Err(Error::IndexOutOfRange { axis: None, index: 5, size: 3 }));
    assert_eq!(a.item(-4), Err(Error::IndexOutOfRange { axis: None, index: -4, size: 3 }));
}

/// What is printed tells an error of its own lanes, and leaves it to who reads.
#[test]
fn printing_forgets_no_error() {
    let session = session();
    let a = lanes(&session, DType::F32, 3);
    let outside = a.gather(&session.array(&[5_u32]).unwrap(), None).unwrap();
    outside.eval().unwrap();
    let message = "gather: index 5 out of bounds for size 3 (lane 0)";
    assert_eq!(a.to_string(), "[0, 1, 2]");
    assert_eq!(outside.to_string(), format!("error: {message}"));
    assert_eq!(outside.to_string(), format!("error: {message}"));
    assert_eq!(outside.to_vec::<f32>().unwrap_err().to_string(), message);
    assert_eq!(outside.to_string(), "[0]");
    // Also of what is evaluated to be printed.
    let outside = a.gather(&session.array(&[7_u32]).unwrap(), None).unwrap();
    assert!(outside.to_string().ends_with("index 7 out of bounds for size 3 (lane 0)"));
    assert!(session.sync().is_err() && session.sync().is_ok());
}
