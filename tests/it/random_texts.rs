//! Kernels written as text (S27): random ones against an evaluator that takes each lane by itself, as C says.
//!
//! `PORCINI_PROGRAMS=N` draws N of each kind of values, `PORCINI_FULL=1` 5000; `PORCINI_SEED=S` starts at another seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use porcini_core::value::Argument;
use porcini_core::{Array, Runtime, Session, Value};
use porcini_tests::data::{Values, to_bytes};
use porcini_tests::devices::{Device, devices};
use porcini_tests::extent::is_full;
use porcini_tests::gpu;
use porcini_tests::texts::evaluate::{arguments, evaluate};
use porcini_tests::texts::generate::generate;
use porcini_tests::texts::shrink::shrink;
use porcini_tests::texts::{Arg, Text};

use crate::programs::{first_difference, number};

/// Around a block, a packet and a chunk.
const SIZES: [usize; 5] = [0, 1, 7, 17, 4099];
const DEFAULT_COUNT: u64 = 300;
const FULL_COUNT: u64 = 5000;

/// What is drawn under `PORCINI_FULL=1`, and otherwise.
fn count(default: u64, full: u64) -> u64 {
    number("PORCINI_PROGRAMS").unwrap_or(if is_full() { full } else { default })
}

fn session(device: &Device) -> Session {
    Session::builder().runtime(device.runtime.clone()).build().unwrap()
}

/// The results of a call, as bytes that are seen.
fn run(text: &Text, read: &str, session: &Session, n: usize) -> Result<Vec<Vec<u8>>, String> {
    let told = |error: porcini_core::Error| format!("error: {error}");
    let kernel = session.kernel(read).map_err(told)?;
    let arrays = arguments(text, n).into_iter().map(|value| {
        value.map(|value| session.from_bytes(value.dtype, &to_bytes(value.dtype, &value.lanes)))
    });
    let arrays: Vec<Option<Array>> =
        arrays.map(Option::transpose).collect::<Result<_, _>>().map_err(told)?;
    let mut args: Vec<Argument<'_>> = Vec::new();
    for (arg, array) in text.args.iter().zip(&arrays) {
        match (arg, array) {
            (_, Some(array)) => args.push(array.into()),
            (Arg::Number(number), None) => args.push((*number).into()),
            _ => {}
        }
    }
    let called = kernel.call(session, &args.iter().collect::<Vec<_>>()).map_err(told)?;
    let results = called.results.iter().map(|result| match result {
        Value::Array(array) => {
            array.eval()?;
            array.read_bytes(0..array.size())
        }
        _ => unreachable!("lanes give lanes"),
    });
    let results = results.collect::<Result<Vec<_>, _>>().map_err(told)?;
    session.sync().map_err(told)?;
    Ok(results)
}

/// Where a text runs.
#[derive(Clone, Copy)]
enum Where<'a> {
    /// On some of the ways that a CPU has.
    Cpu {
        ways: usize,
    },
    Gpu(&'a Arc<Runtime>),
}

/// Runs a text; what differs, if anything.
fn compare(text: &Text, n: usize, place: Where<'_>) -> Result<(), String> {
    let read = text.to_string();
    let want = evaluate(text, n);
    let check = |how: &str, session: &Session| {
        let got = run(text, &read, session, n).map_err(|error| format!("{error} ({how})"))?;
        if got.len() != want.len() {
            return Err(format!("differs: {} results, want {} ({how})", got.len(), want.len()));
        }
        for (number, (got, want)) in got.iter().zip(&want).enumerate() {
            let bytes = to_bytes(want.dtype, &want.lanes);
            if *got != bytes {
                let lane = first_difference(got, &bytes, want.dtype.bytes());
                return Err(format!("differs: result {number}, {}, {lane} ({how})", want.dtype));
            }
        }
        Ok(())
    };
    let ways = match place {
        Where::Cpu { ways } => ways,
        Where::Gpu(runtime) => {
            return check(
                "on a GPU",
                &Session::builder().runtime(runtime.clone()).build().unwrap(),
            );
        }
    };
    let devices = devices();
    // The widest compiler is the last one; others take turns.
    for number in 0..ways {
        let device = &devices[devices.len() - 1 - number % devices.len()];
        check(&device.name, &session(device))?;
    }
    let stepwise = session(&devices[0]);
    stepwise.set_flag("record_loops", false).unwrap();
    check("step by step", &stepwise)?;
    let plain = session(&devices[ways % devices.len()]);
    for flag in ["cse", "fold"] {
        plain.set_flag(flag, false).unwrap();
    }
    check("without cse and fold", &plain)
}

/// [`compare`] that takes a panic for a difference.
fn failure(text: &Text, n: usize, place: Where<'_>) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| compare(text, n, place)))
        .unwrap_or_else(|_| Err("panicked: ".into()))
        .err()
}

/// What kind of failure it is: the words of an error without its place.
fn kind(failure: &str) -> String {
    let start = failure.split(':').next().unwrap_or_default();
    let line = failure.lines().next().unwrap_or_default();
    let what = if start == "error" { line.rsplit(": ").next().unwrap_or_default() } else { "" };
    format!("{start} {what}")
}

fn check_many(values: Values, first_seed: u64, gpu: Option<&Arc<Runtime>>) {
    let first = number("PORCINI_SEED").unwrap_or(first_seed);
    for seed in first..first + count(DEFAULT_COUNT, FULL_COUNT) {
        let n = SIZES[usize::try_from(seed).unwrap() % SIZES.len()];
        let ways = 2 + 6 * usize::from(seed.is_multiple_of(8));
        let place = gpu.map_or(Where::Cpu { ways }, Where::Gpu);
        let text = generate(seed, values);
        if let Some(what) = failure(&text, n, place) {
            let of = kind(&what);
            let small = shrink(&text, |smaller| {
                failure(smaller, n, place).is_some_and(|what| kind(&what) == of)
            });
            let still = failure(&small, n, place).unwrap_or_default();
            panic!(
                "seed {seed}, {values:?}, n = {n}: {what}\nshrunk: {still}\n{small}{:?}",
                small.args
            );
        }
    }
}

#[test]
fn random_texts_of_bounded_values() {
    check_many(Values::Bounded, 0, None);
}

#[test]
fn random_texts_of_edge_values() {
    check_many(Values::Edge, 1_000_000, None);
}

#[test]
fn random_texts_on_a_gpu() {
    if let Some(gpu) = gpu::open() {
        check_many(Values::Bounded, 2_000_000, Some(&gpu));
        check_many(Values::Edge, 3_000_000, Some(&gpu));
    }
}
