//! Functions are one variable each, and what they have in common is computed once.

use porcini_core::inspect::Rows;
use porcini_core::{Array, DType, Session};

use super::{lanes, session};

fn operations(session: &Session, roots: &[&Array]) -> usize {
    session.plan(roots).unwrap().kernels().map(|launch| launch.kernel.n_ops).sum()
}

#[test]
fn a_function_is_one_variable() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let before = session.whos(Rows::All).rows.len();
    let y = x.tanh().unwrap();
    assert_eq!(session.whos(Rows::All).rows.len(), before + 1);
    assert_eq!(y.serial(), x.tanh().unwrap().serial());
    assert!(operations(&session, &[&y]) > 30);
    // Also where somebody watches the trace.
    session.set_log_level(4);
    assert_eq!(y.serial(), x.tanh().unwrap().serial());
}

#[test]
fn short_functions_are_what_they_are_made_of() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let trace = x.clip(0.0, 1.0).unwrap().graphviz().unwrap();
    assert!(trace.contains("max") && !trace.contains("clip"), "{trace}");
}

#[test]
fn functions_of_one_argument_share_what_they_can() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let (sine, cosine) = x.sincos().unwrap();
    let apart = operations(&session, &[&sine]) + operations(&session, &[&cosine]);
    let together = operations(&session, &[&sine, &cosine]);
    assert!(together + 20 < apart, "{together} of {apart}");
}

#[test]
fn what_depends_on_a_number_alone_is_computed_once() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let y = x.pow(&session.array(&[0.3_f32]).unwrap()).unwrap();
    let plan = session.plan(&[&y]).unwrap();
    let kernel = &plan.kernels().next().unwrap().kernel;
    let other = session.plan(&[&x.pow(&x).unwrap()]).unwrap();
    let other = &other.kernels().next().unwrap().kernel;
    assert!(kernel.n_uniform > other.n_uniform + 5, "{kernel}");
}
