//! Random programs of loops and branches mean the same recorded, step by step and while they are watched, on
//! every device and by an oracle that runs one lane after the other (S21).
//!
//! `PORCINI_PROGRAMS=N` runs N of them, and `PORCINI_SEED=S` starts at another seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use porcini_core::{Runtime, Session};
use porcini_tests::data::to_bytes;
use porcini_tests::devices::devices;
use porcini_tests::lanes::{Program, evaluate, run};

use super::programs::{first_difference, number};

/// Sizes around packets, and those of arrays that the programs index.
const SIZES: [usize; 9] = [0, 1, 2, 4, 7, 15, 16, 17, 35];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Recorded,
    Steps,
    Watched,
}

/// What differs on some devices, if anything.
fn compare<'d>(
    program: &Program,
    n: usize,
    devices: impl Iterator<Item = (&'d str, &'d Arc<Runtime>)>,
) -> Result<(), String> {
    let want = evaluate(program, n);
    // Each way computes other values that are not wanted, and tells of their errors.
    let mut errors: [Option<bool>; 3] = [None; 3];
    for (name, runtime) in devices {
        for way in [Way::Recorded, Way::Steps, Way::Watched] {
            let how = format!("{name}, {way:?}");
            let session = Session::builder().runtime(runtime.clone()).build().unwrap();
            session.set_flag("record_loops", way != Way::Steps).unwrap();
            let watch = (way == Way::Watched).then(|| session.watch());
            let (outputs, error) =
                run(program, &session, n).map_err(|error| format!("{how}: {error}"))?;
            drop(watch);
            for (i, (got, (dtype, lanes))) in outputs.iter().zip(&want).enumerate() {
                let want = to_bytes(*dtype, lanes);
                if *got != want {
                    let what = first_difference(got, &want, dtype.bytes());
                    return Err(format!("{how}: output {i} ({dtype}), {what}"));
                }
            }
            let known = errors[way as usize].get_or_insert(error.is_some());
            if *known != error.is_some() {
                return Err(format!("{how}: another bounds error than elsewhere: {error:?}"));
            }
        }
    }
    Ok(())
}

/// [`compare`] that takes a panic for a difference.
fn failure<'d>(
    program: &Program,
    n: usize,
    devices: impl Iterator<Item = (&'d str, &'d Arc<Runtime>)>,
) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| compare(program, n, devices)))
        .unwrap_or_else(|_| Err("panicked".into()))
        .err()
}

/// Compares as many programs as `PORCINI_PROGRAMS` says, or else so many.
fn check_many<'d, D>(default_count: u64, devices: impl Fn() -> D)
where
    D: Iterator<Item = (&'d str, &'d Arc<Runtime>)>,
{
    let count = number("PORCINI_PROGRAMS").unwrap_or(default_count);
    let first = number("PORCINI_SEED").unwrap_or(0);
    for seed in first..first + count {
        let n = SIZES[usize::try_from(seed).unwrap() % SIZES.len()];
        let program = Program::draw(seed);
        if let Some(what) = failure(&program, n, devices()) {
            let small = program.shrink(|smaller| failure(smaller, n, devices()).is_some());
            let still = failure(&small, n, devices()).unwrap_or_default();
            panic!("seed {seed}, n = {n}: {what}\nshrunk: {still}\n{small:?}");
        }
    }
}

#[test]
fn programs_of_lanes_agree() {
    check_many(150, || devices().iter().map(|device| (&*device.name, &device.runtime)));
}

#[test]
fn programs_of_lanes_agree_on_the_gpu() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    check_many(20, || std::iter::once(("the GPU", &gpu)));
}
