//! A device with parts gives the bits of one without: random programs at sizes around chunks of reductions and
//! beyond what is whole everywhere, and what parts bring each other.
//!
//! `PORCINI_PROGRAMS=N` runs N programs of each kind, and `PORCINI_SEED=S` starts at another seed.

use std::sync::{Arc, Mutex};

use porcini_core::ir::op::{Op, ReduceOp};
use porcini_core::{Array, DType, DeviceChoice, Result, Runtime, Scalar, Session};
use porcini_tests::data::Values;
use porcini_tests::generate::generate;
use porcini_tests::programs::{Mode, Program, run};

use super::programs::{first_difference, number};

const PARTS: [u16; 4] = [2, 3, 7, 17];
/// Around chunks, so that the last part has few lanes, or some have none; and where borders are further apart.
const SIZES: [usize; 8] = [4095, 4097, 8192, 12_289, 28_673, 65_536, 69_635, 139_264];
const LARGE: [usize; 2] = [(1 << 21) - 1, (1 << 21) + 4097];
const DEFAULT_COUNT: u64 = 160;

/// A session on so many parts, where everything is split that has more lanes than a chunk.
fn session(parts: u16) -> Session {
    let runtime = Runtime::new(DeviceChoice::Parts(parts, 1), 2, None).unwrap();
    Session::builder().runtime(runtime).build().unwrap()
}

fn difference(program: &Program, n: usize, parts: u16) -> Option<String> {
    let alone = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
    let run = |session: &Session| run(program, session, n, Mode::Lazy).map_err(|e| e.to_string());
    let (want, got) = (run(&alone), run(&session(parts)));
    let (want, got) = match (want, got) {
        (Ok(want), Ok(got)) => (want, got),
        (want, got) => {
            let (want, got) = (want.err(), got.err());
            return (want != got).then(|| format!("got {got:?}, want {want:?}"));
        }
    };
    for (i, (got, want)) in got.outputs.iter().zip(&want.outputs).enumerate() {
        if got != want {
            let bytes = program.nodes[program.outputs[i]].dtype.bytes();
            return Some(format!("output {i}, {}", first_difference(got, want, bytes)));
        }
    }
    (got.error != want.error).then(|| format!("got {:?}, want {:?}", got.error, want.error))
}

fn check_many(values: Values, first_seed: u64) {
    let count = number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_COUNT);
    let first = number("PORCINI_SEED").unwrap_or(first_seed);
    for seed in first..first + count {
        let place = usize::try_from(seed).unwrap();
        let n = if seed % 40 == 39 { LARGE[place / 40 % 2] } else { SIZES[place % SIZES.len()] };
        let parts = PARTS[place / SIZES.len() % PARTS.len()];
        let program = generate(seed, values);
        if let Some(what) = difference(&program, n, parts) {
            let small = program.shrink(|smaller| difference(smaller, n, parts).is_some());
            let still = difference(&small, n, parts).unwrap_or_default();
            panic!("seed {seed}, n = {n}, {parts} parts: {what}\nshrunk: {still}\n{small}");
        }
    }
}

#[test]
fn programs_of_bounded_values_agree_over_parts() {
    check_many(Values::Bounded, 7_000_000);
}

#[test]
fn programs_of_edge_values_agree_over_parts() {
    check_many(Values::Edge, 8_000_000);
}

/// Sums, whose bits show in which order lanes were added, also of so many lanes that threads claim several chunks at once.
#[test]
fn sums_are_those_of_one_part() {
    let sums = |session: &Session, n: i64| -> Result<Vec<u8>> {
        let lane = session.arange(DType::U32, 0.into(), n.into(), 1.into())?;
        let x = lane.cast(DType::F32)?.sin()?;
        let both = [x.reduce(ReduceOp::Sum)?, (&x * 1.5).cast(DType::F64)?.reduce(ReduceOp::Sum)?];
        let more = [
            lane.reduce(ReduceOp::Sum)?,
            x.reduce(ReduceOp::Max)?,
            x.lt(0)?.reduce(ReduceOp::Count)?,
        ];
        let bytes = both.iter().chain(&more).map(|sum| sum.read_bytes(0..1));
        Ok(bytes.collect::<Result<Vec<_>>>()?.concat())
    };
    let alone = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
    for n in [1, 4096, 4097, 1_000_000, 1 << 20, 3_000_001, (1 << 22) + 1] {
        let want = sums(&alone, n).unwrap();
        for parts in PARTS {
            assert_eq!(sums(&session(parts), n).unwrap(), want, "{n} lanes, {parts} parts");
        }
    }
}

/// What parts brought each other for the lanes of an array, as level 1 of the log says it, and the lanes.
fn exchanged(parts: u16, work: impl Fn(&Session) -> Result<Array>) -> (Vec<String>, Vec<u8>) {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let sink = lines.clone();
    let runtime = Runtime::new(DeviceChoice::parts(parts), 2, None).unwrap();
    let log = Arc::new(move |line: &str| sink.lock().unwrap().push(line.into()));
    let session = Session::builder().runtime(runtime).log(1, log).build().unwrap();
    let result = work(&session).unwrap();
    result.eval().unwrap();
    let mut lines = std::mem::take(&mut *lines.lock().unwrap());
    lines.retain(|line| line.starts_with("exchange"));
    (lines, result.read_bytes(0..result.size()).unwrap())
}

/// Neighbours move an element for each border and way, not the array: nor where indices wrap around.
#[test]
fn stencils_bring_what_crosses_borders() {
    let n = 1 << 20;
    let heat = |session: &Session| {
        let lane = session.arange(DType::U32, 0.into(), n.into(), 1.into())?;
        let x = lane.cast(DType::F32)?.sin()?;
        x.eval()?;
        let at = |distance: i64| {
            x.gather(&(&lane + distance).apply(Op::Rem, &[Scalar::Int(n).into()])?, None)
        };
        Ok(&(&at(n - 1)? + &at(1)?) - &(&x * 2.0))
    };
    let (none, want) = exchanged(1, heat);
    let (lines, got) = exchanged(4, heat);
    assert!(none.is_empty(), "{none:?}");
    assert_eq!(lines, ["exchange: 32 B"]);
    assert!(got == want);
}
