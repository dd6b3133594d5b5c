//! Scatters that threads share give the bits of those that one thread does: every operation, type and index, elements that
//! few or many lanes meet in, targets smaller and larger than what a thread writes at a time.

use std::sync::Arc;

use porcini_core::backend::cpu::{Cpu, CpuOptions};
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::{Class, ScatterOp};
use porcini_core::{Array, DType, Runtime, Session};

const LANES: i64 = (1 << 16) + 3;
const TARGETS: [i64; 4] = [1, 10, 5000, 70_000];

/// Threads that put lanes in order.
fn session(threads: usize, scattered_from: u64) -> Session {
    // Never worth copies.
    with(threads, CpuOptions { scattered_from, threaded_from: u32::MAX, ..CpuOptions::default() })
}

/// Threads that write to copies where they may.
fn with_copies(threads: usize) -> Session {
    with(threads, CpuOptions { threaded_from: 0, ..CpuOptions::default() })
}

fn with(threads: usize, options: CpuOptions) -> Session {
    let isa = Isa::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap();
    let cpu = Cpu::with_options(isa, threads, options);
    Session::builder().runtime(Runtime::on(Arc::new(cpu), None)).build().unwrap()
}

fn array(session: &Session, n: i64, dtype: DType, lane: impl Fn(i64) -> i64) -> Array {
    let lanes = session.array(&(0..n).map(lane).collect::<Vec<_>>()).unwrap();
    let lanes = match dtype {
        DType::Mask => lanes.gt(0).unwrap(),
        _ if dtype.is_float() => lanes.cast(dtype).unwrap().try_mul(0.3).unwrap(),
        _ => lanes.cast(dtype).unwrap(),
    };
    lanes.eval().unwrap();
    lanes
}

/// What is there after a scatter, with the error of what was out of bounds.
fn written(
    session: &Session,
    op: ScatterOp,
    [dtype, index]: [DType; 2],
    elements: i64,
    is_masked: bool,
) -> (Vec<u8>, String) {
    let number = |lane: i64| match lane % 1000 {
        998 => elements + lane,
        _ => (lane * 7919 + lane / 3) % elements,
    };
    let at = array(session, LANES, index, number);
    let value = array(session, LANES, dtype, |lane| lane * 31 % 120 - 60);
    let active = array(session, LANES, DType::Mask, |lane| lane % 3);
    let mut target = array(session, elements, dtype, |element| element % 5 - 2);
    target.scatter(op, &value, &at, is_masked.then_some(&active)).unwrap();
    target.eval().unwrap();
    let error = session.sync().err().map(|error| error.to_string()).unwrap_or_default();
    (target.read_bytes(0..target.size()).unwrap(), error)
}

fn takes(op: ScatterOp, dtype: DType) -> bool {
    match op.class() {
        Class::Any => true,
        Class::Bits => !dtype.is_float(),
        _ => dtype != DType::Mask,
    }
}

#[test]
fn threads_write_what_one_writes() {
    // Few threads look for their lanes, many have them put in order.
    let (alone, shared) = (session(1, u64::MAX), [session(4, 0), session(8, 0), with_copies(4)]);
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        for op in ScatterOp::ALL.into_iter().filter(|&op| takes(op, dtype)) {
            let index = [DType::U32, DType::I32, DType::I64, DType::U64][(i + op as usize) % 4];
            for elements in TARGETS {
                for is_masked in [false, true] {
                    let types = [dtype, index];
                    let want = written(&alone, op, types, elements, is_masked);
                    for shared in &shared {
                        let got = written(shared, op, types, elements, is_masked);
                        assert!(got == want, "{} of {dtype} by {index} into {elements}", op.name());
                    }
                    assert!(want.1.contains("out of bounds"), "{}", want.1);
                }
            }
        }
    }
}

#[test]
fn values_are_computed_or_all_the_same() {
    let sums = |session: &Session| {
        let x = array(session, LANES, DType::F32, |lane| lane % 1009);
        let at = array(session, LANES, DType::U32, |lane| lane * 7919 % 3000);
        let mut target = array(session, 3000, DType::F32, |_| 1);
        target.scatter(ScatterOp::Add, 0.1, &at, None).unwrap();
        target.eval().unwrap();
        // Two scatters and a sum of one kernel, whose indices are computed too.
        let y = x.sin().unwrap().try_mul(&x).unwrap();
        let turned = at.try_mul(7).unwrap().try_rem(3000).unwrap();
        let mut other = target.try_mul(1.0).unwrap();
        other.eval().unwrap();
        other.scatter(ScatterOp::Add, &y, &turned, Some(&x.lt(200.0).unwrap())).unwrap();
        target.scatter(ScatterOp::Add, &y, &at, None).unwrap();
        let sum = y.hsum().unwrap();
        session.eval(&[&target, &other, &sum]).unwrap();
        [target, other, sum].map(|array| array.read_bytes(0..array.size()).unwrap())
    };
    let want = sums(&session(1, u64::MAX));
    for shared in [session(4, 0), session(8, 0), with_copies(4)] {
        assert!(sums(&shared) == want);
    }
}

#[test]
fn counts_and_extremes_of_one_kernel_in_copies() {
    let results = |session: &Session| {
        let x = array(session, LANES, DType::I32, |lane| lane * 7919 % 10_007 - 5000);
        let at = array(session, LANES, DType::U32, |lane| lane * 31 % 100);
        let [mut counts, mut lowest, mut bits] =
            [1, 7, 0].map(|start| array(session, 100, DType::I32, move |_| start));
        let mut seen = array(session, 90, DType::Mask, |_| 0);
        counts.scatter(ScatterOp::Add, 1, &at, None).unwrap();
        counts.scatter(ScatterOp::Add, &x, &at, Some(&x.gt(0).unwrap())).unwrap();
        lowest.scatter(ScatterOp::Min, &x, &at, None).unwrap();
        bits.scatter(ScatterOp::Or, &x, &at, None).unwrap();
        seen.scatter(ScatterOp::Or, &x.gt(4990).unwrap(), &at, None).unwrap();
        let sum = x.hsum().unwrap();
        session.eval(&[&counts, &lowest, &bits, &seen, &sum]).unwrap();
        let error = session.sync().unwrap_err().to_string();
        let lanes = |array: Array| array.read_bytes(0..array.size()).unwrap();
        ([counts, lowest, bits, seen, sum].map(lanes), error)
    };
    let want = results(&session(1, u64::MAX));
    for _ in 0..20 {
        assert!(results(&with_copies(4)) == want);
    }
}

#[test]
fn an_empty_target_beside_another_takes_nothing() {
    for threads in [4, 8] {
        let session = session(threads, 0);
        let x = array(&session, LANES, DType::F32, |lane| lane % 7);
        let at = array(&session, LANES, DType::U32, |lane| lane % 3000);
        let mut target = array(&session, 3000, DType::F32, |_| 1);
        let mut empty = array(&session, 0, DType::F32, |_| 1);
        let y = x.sin().unwrap();
        target.scatter(ScatterOp::Add, &y, &at, None).unwrap();
        empty.scatter(ScatterOp::Add, &y, &at, None).unwrap();
        session.eval(&[&target, &empty]).unwrap();
        assert!(session.sync().unwrap_err().to_string().contains("out of bounds"));
        assert!(target.to_vec::<f32>().unwrap().iter().all(|sum| sum.is_finite()));
    }
}
