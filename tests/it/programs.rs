//! Random programs agree bit for bit: at the interpreter's three widths, on one and two threads, with
//! everything fused and nothing fused, with outputs in the blocks of dying inputs, with literals as
//! parameters, and with an independent oracle (S10).
//!
//! `PORCINI_PROGRAMS=N` runs N programs of each kind instead of the default number, and
//! `PORCINI_SEED=S` starts at another seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use porcini_core::backend::isa::Isa;
use porcini_core::{DeviceChoice, Runtime, Session};
use porcini_tests::data::Values;
use porcini_tests::generate::generate;
use porcini_tests::in_place::InPlace;
use porcini_tests::oracle;
use porcini_tests::programs::{Mode, Outcome, Program, run};

/// Sizes around a block (16 lanes of AVX-512, 512 of the interpreter) and a chunk of a reduction.
const SIZES: [usize; 11] = [0, 1, 15, 16, 17, 511, 512, 513, 4095, 4097, 65_539];
const DEFAULT_COUNT: u64 = 10_000;

struct Device {
    name: String,
    runtime: Arc<Runtime>,
}

/// One that works in place, then the interpreter and the compiler at every width that this processor has,
/// on one thread or two.
fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let widths = || Isa::ALL.into_iter().filter(|isa| isa.is_available());
        let interpreters = widths().map(DeviceChoice::Interp).zip([1, 2, 1]);
        let compilers = widths().filter(|&isa| isa != Isa::Baseline).map(DeviceChoice::Compiled);
        let compilers = compilers.flat_map(|choice| [(choice, 1), (choice, 2)]);
        let open = |(choice, threads)| Device {
            name: format!("{choice:?}, {threads} threads"),
            runtime: Runtime::new(choice, threads, None).unwrap(),
        };
        let in_place = Device {
            name: "in place".into(),
            runtime: Runtime::on(Arc::new(InPlace::new(Arc::default())), None),
        };
        std::iter::once(in_place).chain(interpreters.chain(compilers).map(open)).collect()
    })
}

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
                let lane = got.iter().zip(want).take_while(|(a, b)| a == b).count() / bytes;
                let lanes = lane * bytes..((lane + 1) * bytes).min(got.len());
                return Err(format!(
                    "{how}: output {output}, lane {lane}: got {:02x?}, want {:02x?}",
                    &got[lanes.clone()],
                    &want[lanes]
                ));
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

/// [`compare`] that takes a panic for a difference.
fn failure(program: &Program, n: usize) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| compare(program, n)))
        .unwrap_or_else(|_| Err("panicked".into()))
        .err()
}

fn number(variable: &str) -> Option<u64> {
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
