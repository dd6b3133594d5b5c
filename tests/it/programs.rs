//! Random programs agree bit for bit: at the interpreter's three widths, on one and two threads, with
//! everything fused and nothing fused, with outputs in the blocks of dying inputs, with literals as
//! parameters, and with an independent oracle (S10).
//!
//! `PORCINI_PROGRAMS=N` runs N programs of each kind instead of the default number, and
//! `PORCINI_SEED=S` starts at another seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use porcini_core::Session;
use porcini_tests::data::Values;
use porcini_tests::devices::{Device, devices};
use porcini_tests::generate::generate;
use porcini_tests::oracle;
use porcini_tests::programs::{Mode, Outcome, Program, run};

/// Sizes around a block (16 lanes of AVX-512, 512 of the interpreter) and a chunk of a reduction.
const SIZES: [usize; 11] = [0, 1, 15, 16, 17, 511, 512, 513, 4095, 4097, 65_539];
const DEFAULT_COUNT: u64 = 10_000;

fn session(device: &Device) -> Session {
    Session::builder().runtime(device.runtime.clone()).build().unwrap()
}

/// Runs a program in every way; what differs, if anything.
fn compare(program: &Program, n: usize) -> Result<(), String> {
    let want = oracle::evaluate(program, n);
    let check = |how: &str, got: porcini_core::Result<Outcome>| {
        let got = got.map_err(|error| format!("{how}: {error}"))?;
        for (i, (got, want)) in got.outputs.iter().zip(&want).enumerate() {
            if got != want {
                let output = program.outputs[i];
                let bytes = program.nodes[output].dtype.bytes();
                let what = first_difference(got, want, bytes);
                return Err(format!("{how}: output {output}, {what}"));
            }
        }
        Ok(got.error)
    };
    let devices = devices();
    let mut errors = Vec::new();
    for device in devices {
        errors.push(check(&device.name, run(program, &session(device), n, Mode::Lazy))?);
    }
    if errors.iter().any(|error| *error != errors[0]) {
        return Err(format!("bounds errors differ: {errors:?}"));
    }
    let device = &devices[devices.len() - 1];
    check("eager", run(program, &session(device), n, Mode::Eager))?;
    let plain = session(device);
    for flag in ["cse", "fold"] {
        plain.set_flag(flag, false).unwrap();
    }
    check("without cse and fold", run(program, &plain, n, Mode::Lazy))?;
    let again = session(device);
    run(&program.with_other_numbers(), &again, n, Mode::Lazy).map_err(|error| error.to_string())?;
    check("literals as parameters", run(program, &again, n, Mode::Lazy))?;
    Ok(())
}

/// The first lane of `bytes` bytes that differs.
pub(super) fn first_difference(got: &[u8], want: &[u8], bytes: usize) -> String {
    let lane = got.iter().zip(want).take_while(|(a, b)| a == b).count() / bytes;
    let of =
        |lanes: &[u8]| lanes.iter().skip(lane * bytes).take(bytes).copied().collect::<Vec<_>>();
    let (sizes, got, want) = ([got.len() / bytes, want.len() / bytes], of(got), of(want));
    format!("lane {lane}: got {got:02x?}, want {want:02x?} (sizes {sizes:?})")
}

/// [`compare`] that takes a panic for a difference.
fn failure(program: &Program, n: usize) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| compare(program, n)))
        .unwrap_or_else(|_| Err("panicked".into()))
        .err()
}

pub(super) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn check_many(values: Values, first_seed: u64) {
    let count = number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_COUNT);
    let first = number("PORCINI_SEED").unwrap_or(first_seed);
    for seed in first..first + count {
        // The largest size comes once in four rounds, as it takes as long as all others.
        let sizes = if seed % 44 < 33 { &SIZES[..10] } else { &SIZES[..] };
        let n = sizes[usize::try_from(seed).unwrap() % sizes.len()];
        let program = generate(seed, values);
        if let Some(what) = failure(&program, n) {
            let small = program.shrink(|smaller| failure(smaller, n).is_some());
            let still = failure(&small, n).unwrap_or_default();
            panic!("seed {seed}, {values:?}, n = {n}: {what}\nshrunk: {still}\n{small}");
        }
    }
}

#[test]
fn programs_of_bounded_values_agree() {
    check_many(Values::Bounded, 0);
}

#[test]
fn programs_of_edge_values_agree() {
    check_many(Values::Edge, 1_000_000);
}

/// Every row of the tables occurs, so agreement means something.
#[test]
fn programs_cover_the_tables() {
    let mut listing = String::new();
    for seed in 0..400 {
        listing += &generate(seed, Values::Bounded).to_string();
    }
    for row in porcini_core::ir::op::OPS {
        use porcini_core::ir::op::Shape;
        if row.shape != Shape::Convert {
            assert!(listing.contains(&format!("Op({:?}, ", row.op)), "{:?}", row.op);
        }
    }
    for row in 0..porcini_core::trace::functions::FUNCTIONS.len() {
        assert!(listing.contains(&format!("Function({row}, ")), "function {row}");
    }
    for step in ["Cast", "Reinterpret", "Mean", "Gather", "op: Add", "op: Set", "keep: false"] {
        assert!(listing.contains(step), "{step}");
    }
    for op in porcini_core::ir::op::ReduceOp::ALL {
        assert!(listing.contains(&format!("Reduce({op:?}, ")), "{op:?}");
    }
}
