//! Gathers and scatters whose indices count up, are one, nearly so or not: every way of the compiler gives what
//! the interpreter gives, bounds and their reports included.

use std::sync::Arc;

use porcini_core::backend::cpu::{Cpu, CpuOptions};
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::ScatterOp;
use porcini_core::{Array, DType, Runtime, Session};
use porcini_tests::devices::compiled;

const SIZES: [i64; 5] = [0, 1, 17, 100, 5003];
const TYPES: [DType; 8] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::Mask,
    DType::I8,
    DType::U16,
    DType::I32,
    DType::U64,
];
const INDICES: [DType; 4] = [DType::U32, DType::I32, DType::I64, DType::U64];

/// Indices of `n` lanes into `n` elements: in order, moved, with a step or a lane out of line, backwards,
/// mixed up, the same.
const PATTERNS: [fn(i64, i64) -> i64; 14] = [
    |lane, _| lane,
    |lane, _| lane - 3,
    |lane, _| lane + 5,
    |lane, n| (lane + n - 1) % n,
    |lane, n| (lane + 8) % n,
    |lane, _| if lane % 37 == 5 { 0 } else { lane },
    |lane, n| n - 1 - lane,
    |lane, _| lane / 3,
    |lane, n| lane * 7919 % n,
    |lane, n| if lane % 20 < 10 { lane - 1 } else { lane + n },
    |_, n| n - 1,
    |lane, n| lane / 64 * 7919 % n,
    |lane, n| if lane / 64 % 2 == 0 { n + 3 } else { 0 },
    |lane, n| if lane % 3 == 0 { -n } else { n / 2 },
];

/// Active lanes; inactive ones may hold any index.
const ACTIVE: [fn(i64) -> bool; 4] =
    [|_| true, |lane| lane % 3 != 0, |lane| lane % 64 > 40, |_| false];

fn array(session: &Session, n: i64, lane: impl Fn(i64) -> i64) -> Array {
    session.array(&(0..n).map(lane).collect::<Vec<_>>()).unwrap()
}

/// What every pattern gives, with its error.
fn results(runtime: &Arc<Runtime>, dtype: DType, index: DType) -> Vec<(String, Vec<u8>)> {
    let session = Session::builder().runtime(runtime.clone()).build().unwrap();
    let mut results = Vec::new();
    let mut note = |label: String, results_of: Array| {
        let error = session.sync().err().map(|error| error.to_string()).unwrap_or_default();
        let n = results_of.size();
        results.push((format!("{label}: {error}"), results_of.read_bytes(0..n).unwrap()));
    };
    for n in SIZES {
        let numbers = array(&session, n, |lane| lane * 31 % 120);
        let source = if dtype == DType::Mask {
            numbers.gt(50).unwrap()
        } else {
            numbers.cast(dtype).unwrap()
        };
        source.eval().unwrap();
        for (p, pattern) in PATTERNS.iter().enumerate() {
            let at = array(&session, n, |lane| pattern(lane, n)).cast(index).unwrap();
            for (a, active) in ACTIVE.iter().enumerate() {
                let label = format!("{n} lanes, pattern {p}, active {a}");
                let active = array(&session, n, |lane| active(lane).into()).gt(0).unwrap();
                let active = (a > 0).then_some(&active);
                let gathered = source.gather(&at, active).unwrap();
                gathered.eval().unwrap();
                note(format!("gather, {label}"), gathered);
                let mut target = array(&session, n, |lane| lane % 2);
                target = match dtype {
                    DType::Mask => target.gt(0).unwrap(),
                    _ => target.cast(dtype).unwrap(),
                };
                target.scatter(ScatterOp::Set, &source, &at, active).unwrap();
                target.eval().unwrap();
                note(format!("scatter, {label}"), target);
            }
        }
    }
    results
}

fn check(options: &CpuOptions, indices: &[DType]) {
    let oracle = Runtime::on(Arc::new(Interp::new(Isa::Baseline, 1)), None);
    for dtype in TYPES {
        for &index in indices {
            let want = results(&oracle, dtype, index);
            for isa in compiled() {
                let runtime =
                    Runtime::on(Arc::new(Cpu::with_options(isa, 2, options.clone())), None);
                for (got, want) in results(&runtime, dtype, index).iter().zip(&want) {
                    assert!(got == want, "{dtype} by {index}, {isa}\ngot {got:?}\nwant {want:?}");
                }
            }
        }
    }
}

#[test]
fn indices_that_count_up_or_do_not() {
    check(&CpuOptions::default(), &INDICES);
}

#[test]
fn in_every_style_of_code() {
    check(&CpuOptions { tuned_from: 0, ..CpuOptions::default() }, &INDICES[..1]);
}

#[test]
fn where_32_bits_are_too_few() {
    check(&CpuOptions { near: 0, ..CpuOptions::default() }, &INDICES[..2]);
}

#[test]
fn where_threads_share_scatters() {
    check(&CpuOptions { scattered_from: 0, ..CpuOptions::default() }, &INDICES);
}
