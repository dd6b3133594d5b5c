//! Functions are one variable each, and what they have in common is computed once.

use porcini_core::inspect::Rows;
use porcini_core::ir::op::Op;
use porcini_core::value::Form;
use porcini_core::{Array, DType, Session};
use porcini_tests::entries;

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
fn short_functions_are_variables_too() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let trace = x.clip(0.0, 1.0).unwrap().graphviz().unwrap();
    assert!(trace.contains("clip") && !trace.contains("max"), "{trace}");
}

/// Gathers, scatters, sums and sorts in a body: one variable until an evaluation needs what it is made of.
#[test]
fn a_function_over_lanes_is_one_variable() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let y = lanes(&session, DType::F32, 10);
    session.eval(&[&x, &y]).unwrap();
    let calls = [
        ("roll", x.roll(3).unwrap(), 1),
        ("median", x.median().unwrap(), 1),
        ("var", x.var().unwrap(), 1),
        ("histogram", x.histogram(4, 0.0, 100.0).unwrap(), 1),
        ("searchsorted", x.search_sorted(&y).unwrap(), 2),
        ("concat", session.concat(&[&x, &y, &x, &y, &x]).unwrap(), 2),
    ];
    for (name, result, n_arguments) in &calls {
        let trace = result.graphviz().unwrap();
        assert_eq!(trace.matches("[label").count(), 1 + n_arguments, "{trace}");
        assert!(trace.contains(name), "{trace}");
    }
    assert_eq!(x.roll(3).unwrap().serial(), calls[0].1.serial());
    assert_ne!(x.roll(4).unwrap().serial(), calls[0].1.serial());
    let rolled: Vec<f32> = calls[0].1.to_vec().unwrap();
    let values: Vec<f32> = x.to_vec().unwrap();
    assert_eq!(rolled, [&values[97..], &values[..97]].concat());
    // Where the arguments tell that the result is one that is known.
    let same = session.concat(&[&x]).unwrap();
    assert_eq!(same.serial(), x.serial());
    // What was recorded in its place fuses with what is around it.
    let around = (&x.roll(1).unwrap() + &x.reverse().unwrap()).tanh().unwrap();
    assert_eq!(session.plan(&[&around]).unwrap().kernels().count(), 1);
}

/// Sixteen arguments and four results are one call; what a result does not need is not computed.
#[test]
fn many_arguments_and_results() {
    let session = session();
    let rotation = |i: u32| session.array(&[f64::from(i), f64::from(i * i)]).unwrap();
    let (q, v): (Vec<Array>, Vec<Array>) =
        ((1..5).map(rotation).collect(), (5..9).map(rotation).collect());
    let call = |name| {
        let values = [(Form::Quaternion, &q[..]), (Form::Quaternion, &v[..])];
        entries::call(name, &values).unwrap()
    };
    let before = session.whos(Rows::All).rows.len();
    let product = call("*");
    // The call and its four results.
    assert_eq!(session.whos(Rows::All).rows.len(), before + 5);
    let serials = |values: &[Array]| values.iter().map(Array::serial).collect::<Vec<_>>();
    assert_eq!(serials(&product), serials(&call("*")));
    let one = operations(&session, &[&product[0]]);
    let all = operations(&session, &product.iter().collect::<Vec<_>>());
    assert_eq!((one, all), (7, 28));
    // 1 2 3 4 times 5 6 7 8, the real part last.
    let real: Vec<f64> = product[3].to_vec().unwrap();
    assert_eq!(real[0], -6.0);
    let first: Vec<f64> = product[0].to_vec().unwrap();
    assert_eq!(first[0], 24.0);
}

/// A result of arguments from outside a loop is computed before it, though the call is inside.
#[test]
fn what_a_call_makes_of_arguments_from_outside_stands_before_the_loop() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let body = |i: &[Array]| {
        let z = [i[0].clone(), x.clone()];
        let exp = entries::call("exp", &[(Form::Complex, &z)])?;
        Ok::<_, porcini_core::Error>(vec![exp[0].apply(Op::Add, &[1.0.into()])?])
    };
    let start = session.zeros(DType::F32, 100).unwrap();
    let states = session.while_loop(&[start], |i| i[0].apply(Op::Lt, &[9.0.into()]), body).unwrap();
    let plan = session.plan(&[&states[0]]).unwrap();
    let kernel = plan.kernels().next().unwrap().kernel.to_string();
    let (before, inside) = kernel.split_once("loop").unwrap();
    // The cosine of the imaginary part stands before, the exponential of the real part inside.
    let operations = |text: &str| text.lines().filter(|line| line.contains(" = ")).count();
    assert!(operations(before) > 30 && operations(inside) < 45, "{kernel}");
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
