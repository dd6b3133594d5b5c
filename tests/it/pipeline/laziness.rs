//! Nothing runs until it is needed, equal things run once, and structures compile once (S1, S3–S5).

use porcini_core::eval::cache::CacheResult;
use porcini_core::{Array, DType, Error, Runtime, Session};
use porcini_tests::recording::Recording;

use super::{compilations, lanes, launches, session};

#[test]
fn equal_operations_are_one_variable() {
    let session = session();
    let (a, b) = (session.array(&[1.0_f32, 2.0]).unwrap(), session.array(&[3.0_f32, 4.0]).unwrap());
    assert_eq!((&a + &b).serial(), (&a + &b).serial());
    let other = &a + &b;
    session.set_flag("cse", false).unwrap();
    assert_ne!((&a + &b).serial(), other.serial());
    assert_eq!((&a + &b).to_vec::<f32>().unwrap(), [4.0, 6.0]);
}

#[test]
fn identities_record_nothing_unless_switched_off() {
    let session = session();
    let a = session.array(&[1.5_f32, -0.0]).unwrap();
    assert_eq!((&a * 1.0).serial(), a.serial());
    assert_ne!((&a + 0.0).serial(), a.serial());
    assert_eq!((&a + 0.0).to_vec::<f32>().unwrap()[1].to_bits(), 0);
    session.set_flag("fold", false).unwrap();
    assert_ne!((&a * 1.0).serial(), a.serial());
    assert!(matches!(session.set_flag("folds", false), Err(Error::UnknownFlag { .. })));
}

#[test]
fn the_same_computation_is_found_in_the_cache() {
    let session = session();
    let compute = || {
        let x = lanes(&session, DType::F32, 1000);
        (x.sin().unwrap() * 2.0 + 1.0).to_vec::<f32>().unwrap()
    };
    assert_eq!(compute(), compute());
    let caches: Vec<CacheResult> = session.history().iter().map(|launch| launch.cache).collect();
    assert_eq!(caches, [CacheResult::Miss, CacheResult::Hit]);
}

/// `y = y * i + i; eval(y)`, from 0 and 1, where identities change the structure.
fn loop_with(
    session: &Session,
    mut y: Array,
    n: i64,
    number: impl Fn(i64) -> porcini_core::Scalar,
) {
    for i in 0..=n {
        y = y * number(i) + number(i);
        y.eval().unwrap();
    }
    assert_eq!(launches(session), usize::try_from(n).unwrap() + 1);
    assert!(compilations(session) <= 4, "{} compilations", compilations(session));
}

#[test]
fn a_loop_over_a_changing_number_compiles_at_most_four_kernels() {
    let session = session();
    let y = session.array(&[1.0_f32, 2.0, 3.0]).unwrap();
    loop_with(&session, y.clone(), 200, porcini_core::Scalar::Int);
    session.clear_history();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    loop_with(&session, y, 200, |i| porcini_core::Scalar::Float(i as f64 / 2.0));
    let fresh = super::session();
    let y = fresh.array(&[1_i32, 2, 3]).unwrap();
    loop_with(&fresh, y, 200, porcini_core::Scalar::Int);
}

/// `x * number + 1` for each number, checked.
fn multiply(session: &Session, numbers: [i16; 4]) {
    let x = session.array(&[1.0_f32, 10.0]).unwrap();
    for number in numbers.map(f32::from) {
        let y = (&x * f64::from(number) + 1.0).to_vec::<f32>().unwrap();
        assert_eq!(y, [number + 1.0, 10.0 * number + 1.0]);
    }
}

/// A device that is in a hurry at first compiles each structure once more, for its second launch.
#[test]
fn a_quick_version_is_for_one_launch() {
    for (numbers, compiled) in [
        ([3, 3, 3, 3], &[true, false][..]),
        ([3, 5, 3, 5], &[true, false]),
        ([3, 3, 5, 7], &[true, false, false]),
    ] {
        let device = Recording::hasty();
        let session =
            Session::builder().runtime(Runtime::on(device.clone(), None)).build().unwrap();
        multiply(&session, numbers);
        let quick: Vec<bool> = device.kernels().iter().map(|kernel| kernel.variant == 1).collect();
        assert_eq!(quick, compiled, "{numbers:?}");
        assert_eq!(compilations(&session), compiled.len());
    }
}

#[test]
fn a_quick_version_stays_where_there_is_no_better() {
    let device = Recording::hasty();
    let session = Session::builder().runtime(Runtime::on(device.clone(), None)).build().unwrap();
    device.refuse(1);
    multiply(&session, [3, 3, 3, 5]);
    let quick: Vec<bool> = device.kernels().iter().map(|kernel| kernel.variant == 1).collect();
    assert_eq!(quick, [true, false, false], "the second was refused");
}

#[test]
fn parameters_give_the_right_values() {
    let session = session();
    let x = session.array(&[1_i64, 10]).unwrap();
    for i in [3_i64, 5, -7, 1 << 40] {
        let y = (&x * i + 2 * i).to_vec::<i64>().unwrap();
        assert_eq!(y, [3 * i, 12 * i]);
    }
    assert_eq!(compilations(&session), 2);
}

#[test]
fn sizes_are_no_part_of_a_kernel() {
    for make in [
        |session: &Session, n: i64| lanes(session, DType::F32, n).mean().unwrap(),
        |session: &Session, n: i64| session.linspace(DType::F64, 0, 1, n.unsigned_abs()).unwrap(),
        |session: &Session, n: i64| lanes(session, DType::I64, n) * 3,
    ] {
        let session = session();
        (10..40).for_each(|n| make(&session, n).eval().unwrap());
        assert!(compilations(&session) <= 3, "{} compilations", compilations(&session));
    }
}

#[test]
fn only_what_is_asked_for_is_evaluated() {
    let session = session();
    let a = lanes(&session, DType::F32, 10) + 1.0;
    let b = lanes(&session, DType::F32, 1_000_000) * 3.0;
    a.eval().unwrap();
    assert!(a.is_evaluated() && !b.is_evaluated());
    let c = &a * 2.0;
    assert_eq!(c.item(3).unwrap().to_f64(), 8.0);
    assert_eq!(session.history().iter().map(|launch| launch.size).collect::<Vec<_>>(), [10, 10]);
    assert!(c.is_evaluated() && !b.is_evaluated());
    session.eval_all().unwrap();
    assert!(b.is_evaluated());
}

#[test]
fn one_evaluation_fuses_everything_of_one_size() {
    let session = session();
    let x = lanes(&session, DType::F32, 100);
    let (a, b) = (&x * 2.0, x.sqrt().unwrap());
    let sum = (&a + &b).hsum().unwrap();
    session.eval(&[&a, &b, &sum]).unwrap();
    assert_eq!(launches(&session), 1);
    assert_eq!(session.history()[0].outputs, 3);
}

#[test]
fn outputs_that_share_inputs_fuse() {
    let session = session();
    let [x, y] = [1.0, 2.0].map(|first| lanes(&session, DType::F32, 100) + first);
    session.eval(&[&x, &y]).unwrap();
    let before = launches(&session);
    let outputs = [&x * &y, &x - &y, x.sqrt().unwrap()];
    session.eval(&outputs.each_ref()).unwrap();
    assert_eq!(launches(&session), before + 1);
    let launch = session.history().last().unwrap().clone();
    assert_eq!((launch.inputs, launch.outputs), (2, 3), "each input is read once");
}

#[test]
fn evaluating_twice_launches_once() {
    let session = session();
    let a = lanes(&session, DType::F32, 100) + 1.0;
    a.eval().unwrap();
    a.eval().unwrap();
    a.to_vec::<f32>().unwrap();
    assert_eq!(launches(&session), 1);
}

/// Runs `work` with so little stack that recursion over a long chain would overflow it.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let builder = std::thread::Builder::new().stack_size(256 << 10);
    builder.spawn(work).unwrap().join().unwrap();
}

const CHAIN: usize = 200_000;

fn chain(session: &Session) -> Array {
    let mut y = session.array(&[0.5_f64]).unwrap();
    for _ in 0..CHAIN / 2 {
        y = y * 0.5 + 0.5;
    }
    y
}

#[test]
fn a_long_chain_is_evaluated_without_recursion() {
    on_a_small_stack(|| {
        let session = session();
        let y = chain(&session);
        assert_eq!(y.to_vec::<f64>().unwrap(), [1.0]);
        assert!(session.history().iter().map(|launch| launch.operations).sum::<usize>() >= CHAIN);
        drop(y);
        assert_eq!(session.whos(porcini_core::inspect::Rows::All).rows.len(), 0);
    });
}

#[test]
fn a_long_chain_is_dropped_without_recursion() {
    on_a_small_stack(|| {
        let session = session();
        let y = chain(&session);
        let with_plan = session.plan(&[&y]).unwrap();
        assert!(!with_plan.steps.is_empty());
        assert!(y.graphviz().unwrap().lines().count() > CHAIN);
        drop(y);
        assert_eq!(session.whos(porcini_core::inspect::Rows::All).rows.len(), 0);
        assert_eq!(launches(&session), 0);
    });
}

#[test]
fn hidden_evaluations_can_be_forbidden() {
    let session = session();
    session.set_flag("forbid_eval", true).unwrap();
    let a = lanes(&session, DType::F32, 10) + 1.0;
    assert!(matches!(a.to_vec::<f32>(), Err(Error::EvaluationForbidden { .. })));
    assert!(!a.is_evaluated());
    a.eval().unwrap();
    assert_eq!(a.item(9).unwrap().to_f64(), 10.0);
}

#[test]
fn opaque_numbers_are_data() {
    let session = session();
    for i in 0..5 {
        let i = session.opaque(DType::F32, i, 1).unwrap();
        assert!(i.is_evaluated() && i.literal().is_none());
        (session.array(&[1.0_f32, 2.0]).unwrap() * &i).eval().unwrap();
    }
    assert_eq!(compilations(&session), 1);
}

#[test]
fn the_history_keeps_ten_thousand_launches() {
    let session = session();
    let a = session.array(&[1_i32]).unwrap();
    for i in 0..10_050_u64 {
        let size = if i < 100 { 2 } else { 1 };
        (a.resize(size).unwrap() + i64::try_from(i).unwrap()).eval().unwrap();
    }
    let history = session.history();
    assert_eq!(history.len(), 10_000);
    assert_eq!((history[0].number, history[9_999].number), (50, 10_049));
    assert_eq!(history.iter().filter(|launch| launch.size == 2).count(), 50);
    session.clear_history();
    assert!(session.history().is_empty());
}

#[test]
fn an_operand_that_an_identity_hands_out_is_evaluated_with_the_rest() {
    let session = session();
    let negated = -&(lanes(&session, DType::I32, 5) + 1);
    // So many recordings that the session forgets the operand, which nobody holds.
    let others: Vec<Array> = (0..500).map(|i| lanes(&session, DType::I32, 5) * (i + 2)).collect();
    let operand = -&negated;
    drop(negated);
    session.eval_all().unwrap();
    assert!(operand.is_evaluated() && others.iter().all(Array::is_evaluated));
}

/// A value that a loop goes on from is kept where what is made of it is read, also one of a single lane.
#[test]
fn loops_go_on_from_what_was_read() {
    for n in [1, 2] {
        let session = session();
        let mut x = session.array(&vec![1.0_f32; n]).unwrap();
        for _ in 0..300 {
            x = x * 0.5 + 1.0;
            (&x * &x).item(0).unwrap();
        }
        assert!(session.history().iter().all(|launch| launch.operations < 200));
    }
}

/// A graph of some size is not planned again when it is recorded again.
#[test]
fn forms_that_come_again_give_the_same() {
    let session = session();
    let (a, index) = (session.array(&[0.5_f32, 2.0]).unwrap(), session.array(&[1_u32, 0]).unwrap());
    let graph = |k: f32| {
        let mut x = &a + k;
        for i in 0..60_u8 {
            x = if i % 7 == 0 { x.gather(&index, None).unwrap() } else { &x * 0.75 + &a };
        }
        x.to_vec::<f32>().unwrap()
    };
    let first = [graph(1.0), graph(1.5)];
    assert_ne!(first[0], first[1]);
    for _ in 0..3 {
        assert_eq!([graph(1.0), graph(1.5)], first);
    }
}
