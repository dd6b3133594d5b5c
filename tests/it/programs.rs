//! Random programs agree bit for bit: at the interpreter's three widths, on one and two threads, with
//! everything fused and nothing fused, with outputs in the blocks of dying inputs, with literals as
//! parameters, and with an independent oracle (S10).
//!
//! `PORCINI_PROGRAMS=N` runs N programs of each kind instead of the default number, and
//! `PORCINI_SEED=S` starts at another seed; `PORCINI_COPIES=C` has batches of C copies on a GPU.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use porcini_core::Session;
use porcini_tests::data::Values;
use porcini_tests::devices::{Device, devices};
use porcini_tests::generate::generate;
use porcini_tests::oracle;
use porcini_tests::programs::{Mode, Outcome, Program, run, run_recorded};

/// Sizes around a block (16 lanes of AVX-512, 512 of the interpreter) and a chunk of a reduction.
const SIZES: [usize; 11] = [0, 1, 15, 16, 17, 511, 512, 513, 4095, 4097, 65_539];
const DEFAULT_COUNT: u64 = 500;
const DEFAULT_GPU_COUNT: u64 = 2000;

fn session(device: &Device) -> Session {
    Session::builder().runtime(device.runtime.clone()).build().unwrap()
}

/// Runs a program in every way; what differs, if anything.
fn compare(program: &Program, n: usize) -> Result<(), String> {
    let want = oracle::evaluate(program, n);
    let check = |how: &str, got| difference(program, how, got, &want);
    let devices = devices();
    let mut errors = Vec::new();
    for device in devices {
        errors.push(check(&device.name, run(program, &session(device), n, Mode::Lazy))?);
    }
    let device = &devices[devices.len() - 1];
    check("eager", run(program, &session(device), n, Mode::Eager))?;
    if let Some(got) = run_recorded(program, &session(device), n).transpose() {
        // What depends on no data was evaluated, and complained of, in an earlier call.
        if check("recorded once", got)?.is_some() && errors[0].is_none() {
            return Err("recorded once: an index is out of bounds".into());
        }
    }
    if errors.iter().any(|error| *error != errors[0]) {
        return Err(format!("bounds errors differ: {errors:?}"));
    }
    let plain = session(device);
    for flag in ["cse", "fold", "batch"] {
        plain.set_flag(flag, false).unwrap();
    }
    check("without cse, fold and batches", run(program, &plain, n, Mode::Lazy))?;
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

/// The bounds error of a run, or what differs from the outputs wanted.
fn difference(
    program: &Program,
    how: &str,
    got: porcini_core::Result<Outcome>,
    want: &[Vec<u8>],
) -> Result<Option<String>, String> {
    let got = got.map_err(|error| format!("{how}: {error}"))?;
    for (i, (got, want)) in got.outputs.iter().zip(want).enumerate() {
        if got != want {
            let output = program.outputs[i];
            let bytes = program.nodes[output].dtype.bytes();
            return Err(format!("{how}: output {output}, {}", first_difference(got, want, bytes)));
        }
    }
    Ok(got.error)
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

/// Copies of a program are batches where they can be, and mean the same.
#[test]
fn copies_of_programs_agree() {
    let count = number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_COUNT) / 16;
    let first = number("PORCINI_SEED").unwrap_or(2_000_000);
    let mut n_batches = 0;
    for seed in first..first + count {
        let values = if seed.is_multiple_of(2) { Values::Bounded } else { Values::Edge };
        // Few lanes of many copies: the oracle computes them one by one.
        let (n, copies) =
            [(17, 40), (1, 9), (513, 8), (0, 12), (16, 200)][usize::try_from(seed % 5).unwrap()];
        let program = generate(seed, values).copies(copies);
        if let Some(what) = failure(&program, n) {
            let small = program.shrink(|smaller| failure(smaller, n).is_some());
            let still = failure(&small, n).unwrap_or_default();
            panic!(
                "seed {seed}, {values:?}, n = {n}, {copies} copies: {what}\nshrunk: {still}\n{small}"
            );
        }
        let session = session(&devices()[0]);
        run(&program, &session, n, Mode::Lazy).unwrap();
        n_batches += session.history().iter().filter(|launch| launch.name == "batch").count();
    }
    assert!(n_batches as u64 > count / 2, "{n_batches} batches of {count} programs");
}

/// As many programs as `PORCINI_PROGRAMS` says agree on a GPU, compiled by as many threads as there are.
#[test]
fn programs_agree_on_the_gpu() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    let count = number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_GPU_COUNT);
    let first = number("PORCINI_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || failures.lock().unwrap().len() >= 5 {
                return;
            }
            let values = if seed.is_multiple_of(2) { Values::Bounded } else { Values::Edge };
            let mut n = SIZES[usize::try_from(seed / 2).unwrap() % SIZES.len()];
            let mut program = generate(seed, values);
            if seed % 16 == 3 {
                // Copies, of few lanes: batches.
                n = n.min(513);
                program =
                    program.copies(usize::try_from(number("PORCINI_COPIES").unwrap_or(8)).unwrap());
            }
            let different = |program: &Program| {
                let session = Session::builder().runtime(gpu.clone()).build().unwrap();
                let want = oracle::evaluate(program, n);
                let got = run(program, &session, n, Mode::Lazy);
                let error = difference(program, "the GPU", got, &want).err();
                let recorded = || run_recorded(program, &session, n).transpose();
                let recorded = (seed % 4 == 1 && error.is_none()).then(recorded).flatten();
                let of_calls = |got| difference(program, "recorded once", got, &want).err();
                error.or_else(|| recorded.and_then(of_calls))
            };
            if program.depends_on_order() {
                continue;
            }
            if let Some(what) = different(&program) {
                let small = program.shrink(|smaller| different(smaller).is_some());
                let still = different(&small).unwrap_or_default();
                let report = format!("seed {seed}, n = {n}: {what}\nshrunk: {still}\n{small}");
                failures.lock().unwrap().push(report);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Every row of the tables occurs, so agreement means something.
#[test]
fn programs_cover_the_tables() {
    let mut listing = String::new();
    for seed in 0..800 {
        listing += &generate(seed, Values::Bounded).to_string();
    }
    for row in porcini_core::ir::op::OPS {
        use porcini_core::ir::op::Shape;
        if row.shape != Shape::Special {
            assert!(listing.contains(&format!("Op({:?}, ", row.op)), "{:?}", row.op);
        }
    }
    for row in 0..porcini_core::trace::functions::FUNCTIONS.len() {
        assert!(listing.contains(&format!("Function({row}, ")), "function {row}");
    }
    for name in [
        "Reverse",
        "Roll",
        "Tile",
        "Repeat",
        "Resize",
        "Concat",
        "Interleave",
        "Meshgrid",
        "Take,",
        "TakeInterpolated",
        "SearchSorted",
        "BinarySearch",
        "Compress",
        "TrueLanes",
        "Partition",
        "Cumprod",
        "Cummin",
        "Cummax",
        "PsumExclusive",
        "BlockSum",
        "Histogram",
        "Argmin",
        "Argmax",
        "Median",
        "Var",
        "Std",
        "Isclose",
        "NanToNum",
        "Linspace",
        "Hash,",
        "ScatterInc,",
        "ScatterIncCounts",
        "ScatterExch(Found)",
        "ScatterExch(Target)",
        "ScatterCas(Found)",
        "ScatterCas(Target)",
        "ScatterCas(Swapped)",
        "Random(UInt32)",
        "Random(UInt64)",
        "Random(Float32)",
        "Random(Float64)",
        "Random(Normal32)",
        "Random(Normal64)",
        "RandomBelow(UInt32)",
        "RandomBelow(UInt64)",
        "RandomDistance",
    ] {
        assert!(listing.contains(&format!("Whole({name}")), "{name}");
    }
    for step in ["PrefixSum", "Sort(", "SortIndex(", "Loop("] {
        assert!(listing.contains(&format!("= {step}")), "{step}");
    }
    for step in ["Cast", "Reinterpret", "Mean", "Gather", "op: Add", "op: Set", "keep: false"] {
        assert!(listing.contains(step), "{step}");
    }
    for op in porcini_core::ir::op::ReduceOp::ALL {
        assert!(listing.contains(&format!("Reduce({op:?}, ")), "{op:?}");
    }
}
