//! Writes happen in program order and copy on write: nobody else's array changes (S12).

use porcini_core::ir::op::{Op, ScatterMode, ScatterOp};
use porcini_core::{Array, DType, Runtime, Session};
use porcini_tests::recording::Recording;

use super::{lanes, launches, session};

fn index(session: &Session, index: &[u32]) -> Array {
    session.array(index).unwrap()
}

fn set(target: &mut Array, value: impl Into<porcini_core::Scalar>, at: &[u32]) {
    let at = index(target.session(), at);
    target.scatter(ScatterOp::Set, value.into(), &at, None).unwrap();
}

#[test]
fn a_clone_keeps_the_old_value() {
    let session = session();
    let mut a = session.array(&[1_i32, 2, 3]).unwrap();
    let b = a.clone();
    let address = a.address().unwrap();
    set(&mut a, 9, &[1]);
    assert_eq!(a.to_vec::<i32>().unwrap(), [1, 9, 3]);
    assert_eq!(b.to_vec::<i32>().unwrap(), [1, 2, 3]);
    assert_ne!(a.address().unwrap(), address);
    assert_eq!(b.address().unwrap(), address);
}

#[test]
fn a_sole_owner_is_written_in_place() {
    let session = session();
    let mut a = session.array(&[1_i32, 2, 3]).unwrap();
    let address = a.address().unwrap();
    for i in 0..5 {
        set(&mut a, i, &[2]);
        assert_eq!(a.address().unwrap(), address);
    }
    // Also several writes at once.
    set(&mut a, 7, &[0]);
    set(&mut a, 8, &[0, 1]);
    assert_eq!(a.address().unwrap(), address);
    assert_eq!(a.to_vec::<i32>().unwrap(), [8, 8, 4]);
}

#[test]
fn a_reader_launched_before_the_write_is_no_owner() {
    let session = session();
    let mut a = lanes(&session, DType::F32, 1000);
    let address = a.address().unwrap();
    let sum = a.hsum().unwrap();
    sum.eval().unwrap();
    set(&mut a, 5, &[3]);
    assert_eq!(a.address().unwrap(), address);
}

#[test]
fn a_part_of_a_large_target_is_read_before_it_is_written() {
    let session = session();
    let mut a = lanes(&session, DType::F32, 1 << 19);
    let address = a.address().unwrap();
    for _ in 0..3 {
        let at = index(&session, &[3, 5]);
        let more = a.gather(&at, None).unwrap() + 1.0;
        a.scatter(ScatterOp::Set, &more, &at, None).unwrap();
    }
    assert_eq!(a.address().unwrap(), address);
    assert_eq!(a.slice(3..6).unwrap().to_vec::<f32>().unwrap(), [6.0, 4.0, 8.0]);
}

#[test]
fn writes_happen_in_program_order() {
    let session = session();
    let mut a = session.zeros(DType::F32, 10).unwrap();
    let first = session.linspace(DType::F32, 0, 1, 5).unwrap();
    let second = session.linspace(DType::F32, 1, 2, 4).unwrap();
    a.scatter(ScatterOp::Set, &first, &index(&session, &[0, 1, 2, 3, 4]), None).unwrap();
    a.scatter(ScatterOp::Set, &second, &index(&session, &[3, 4, 5, 6]), None).unwrap();
    assert_eq!(launches(&session), 0);
    let third = 1.0_f32 / 3.0;
    let want = [0.0, 0.25, 0.5, 1.0, 1.0 + third, 1.0 + 2.0 * third, 2.0, 0.0, 0.0, 0.0];
    assert_eq!(a.to_vec::<f32>().unwrap(), want);
    let dot = (&a * &a).hsum().unwrap().item(0).unwrap().to_f64();
    assert!((dot - 9.86806).abs() < 1e-5);
}

#[test]
fn an_unevaluated_reader_sees_the_old_value() {
    let session = session();
    let mut a = session.array(&[1_i32, 2, 3]).unwrap();
    let doubled = &a * 2;
    let gathered = a.gather(&index(&session, &[2, 1]), None).unwrap();
    set(&mut a, 9, &[1, 2]);
    let after = &a * 2;
    assert_eq!(after.to_vec::<i32>().unwrap(), [2, 18, 18]);
    assert_eq!(doubled.to_vec::<i32>().unwrap(), [2, 4, 6]);
    assert_eq!(gathered.to_vec::<i32>().unwrap(), [3, 2]);
}

#[test]
fn a_scatter_may_read_its_own_target() {
    let session = session();
    let mut a = session.array(&[1_i32, 2, 3, 4]).unwrap();
    let reversed = index(&session, &[3, 2, 1, 0]);
    // As a value: a[reversed[i]] = a[i].
    let value = a.clone();
    a.scatter(ScatterOp::Set, &value, &reversed, None).unwrap();
    drop(value);
    assert_eq!(a.to_vec::<i32>().unwrap(), [4, 3, 2, 1]);
    // Through a gather, and with an index computed from the target.
    let moved = a.gather(&reversed, None).unwrap() * 10;
    let at = (&a - 1).cast(DType::U32).unwrap();
    a.scatter(ScatterOp::Set, &moved, &at, None).unwrap();
    drop((moved, at));
    assert_eq!(a.to_vec::<i32>().unwrap(), [40, 30, 20, 10]);
    let itself = a.clone();
    a.scatter(ScatterOp::Add, &itself, &reversed, None).unwrap();
    assert_eq!(a.to_vec::<i32>().unwrap(), [50, 50, 50, 50]);
    assert_eq!(itself.to_vec::<i32>().unwrap(), [40, 30, 20, 10]);
}

#[test]
fn numbers_and_unevaluated_arrays_are_targets_too() {
    let session = session();
    let zeros = session.zeros(DType::F32, 10).unwrap();
    let mut a = zeros.clone();
    let i = lanes(&session, DType::U32, 5);
    a.scatter(ScatterOp::Set, &i.cast(DType::F32).unwrap(), &(&i * 2), None).unwrap();
    assert_eq!(a.to_vec::<f32>().unwrap(), [0., 0., 1., 0., 2., 0., 3., 0., 4., 0.]);
    assert_eq!(zeros.to_vec::<f32>().unwrap(), [0.0; 10]);
    let mut b = lanes(&session, DType::I32, 4) + 10;
    let kept = b.clone();
    set(&mut b, 0, &[3]);
    assert_eq!(b.to_vec::<i32>().unwrap(), [10, 11, 12, 0]);
    assert_eq!(kept.to_vec::<i32>().unwrap(), [10, 11, 12, 13]);
}

#[test]
fn duplicates_add_up_and_the_last_lane_lands() {
    let session = session();
    let at = index(&session, &[0, 1, 2, 0, 4, 5, 6, 7, 8, 9, 10, 2, 3, 0, 0]);
    let mut a = session.zeros(DType::U32, 16).unwrap();
    a.scatter(ScatterOp::Add, 1, &at, None).unwrap();
    let want = [4, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0];
    assert_eq!(a.to_vec::<u32>().unwrap(), want);
    let mut b = session.zeros(DType::U32, 16).unwrap();
    let active = lanes(&session, DType::U32, 15).lt(14).unwrap();
    b.scatter(ScatterOp::Set, &lanes(&session, DType::U32, 15), &at, Some(&active)).unwrap();
    assert_eq!(b.item(0).unwrap().to_f64(), 13.0);
}

#[test]
fn a_mode_is_part_of_the_kernel() {
    let device = Recording::new();
    let session = Session::builder().runtime(Runtime::on(device.clone(), None)).build().unwrap();
    let at = index(&session, &[0, 0, 1]);
    let write = |op, mode| {
        let mut target = session.array(&[0.5_f32, 1.5]).unwrap();
        target.scatter_as(op, mode, 2, &at, None).unwrap();
        let want = if op == ScatterOp::Set { [2.0, 2.0] } else { [4.5, 3.5] };
        assert_eq!(target.to_vec::<f32>().unwrap(), want);
        device.kernels()
    };
    for op in [ScatterOp::Set, ScatterOp::Add] {
        write(op, ScatterMode::Fast);
        let n = write(op, ScatterMode::Exact).len();
        let kernels = write(op, ScatterMode::Fast);
        assert_eq!(kernels.len(), n, "each mode was compiled once");
        let [fast, exact] = [&kernels[n - 2], &kernels[n - 1]];
        assert_eq!([fast, exact].map(|kernel| kernel.writes_in_order()), [false, true]);
        assert_ne!(fast.hash, exact.hash);
    }
}

#[test]
fn a_gpu_writes_as_the_cpu_does_if_asked() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    let written = |session: &Session| {
        let lane = lanes(session, DType::U32, 100_001);
        let at = &(&lane * &lane) % 7;
        let value = (&lane.cast(DType::F32).unwrap() + 0.7).apply(Op::Sqrt, &[]).unwrap();
        [ScatterOp::Add, ScatterOp::Set].map(|op| {
            let mut target = session.zeros(DType::F32, 7).unwrap();
            target.scatter_as(op, ScatterMode::Exact, &value, &at, None).unwrap();
            let bits = target.to_vec::<f32>().unwrap();
            bits.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        })
    };
    let on_gpu = Session::builder().runtime(gpu).build().unwrap();
    assert_eq!(written(&on_gpu), written(&session()));
}
