//! Random graphs with everything in them, much of it alive at once: every operation and type, repeated and
//! constant operands, scalars, gathers, scatters, all reductions, in one evaluation.
//!
//! `programs.rs` compares short programs with an independent oracle; here compiled code meets more values
//! than it has registers, and the interpreter is the oracle. `PORCINI_PROGRAMS=N` runs N graphs of each kind.

use std::sync::Arc;

use porcini_core::backend::cpu::{Cpu, CpuOptions};
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::{OPS, OpInfo, ReduceOp, ScatterOp, Shape};
use porcini_core::{Array, DType, Operand, Runtime, Session};
use porcini_tests::data::{self, Values};
use porcini_tests::devices::compiled;
use porcini_tests::random::Random;

/// The mask is the first.
const TYPES: [DType; 12] = DType::ALL;
const SIZES: [usize; 12] = [1, 2, 15, 16, 33, 63, 64, 65, 4096, 4099, 8223, 20_001];
/// Lanes of what is gathered from, and of what is scattered to.
const TABLE: usize = 37;
const DEFAULT_COUNT: u64 = 150;

/// A graph being recorded. `structure` draws what is recorded, `contents` its numbers.
struct Graph<'s> {
    session: &'s Session,
    structure: Random,
    contents: Random,
    values: Values,
    /// The same number of values of each type, in the order of [`TYPES`].
    pool: Vec<Array>,
    tables: Vec<Array>,
}

fn position(dtype: DType) -> usize {
    TYPES.iter().position(|&other| other == dtype).unwrap()
}

impl<'s> Graph<'s> {
    fn new(session: &'s Session, seed: u64, contents: u64, n: usize) -> Self {
        let values = if seed.is_multiple_of(2) { Values::Bounded } else { Values::Edge };
        let (structure, contents) = (Random::new(seed), Random::new(contents));
        let (pool, tables) = (Vec::new(), Vec::new());
        let mut graph = Self { session, structure, contents, values, pool, tables };
        graph.tables = TYPES.iter().map(|&dtype| graph.data(dtype, TABLE)).collect();
        let of_each = [3, 6, 12][graph.structure.below(3)];
        for i in 0..TYPES.len() * of_each {
            let dtype = TYPES[i % TYPES.len()];
            let size = if graph.structure.one_in(6) { 1 } else { n };
            let input = if graph.structure.one_in(8) {
                graph.number(dtype)
            } else {
                graph.data(dtype, size)
            };
            graph.pool.push(input);
        }
        for _ in 0..[60, 200, 600][graph.structure.below(3)] {
            graph.step();
        }
        graph
    }

    fn data(&mut self, dtype: DType, n: usize) -> Array {
        let mut bytes = Vec::new();
        for _ in 0..n {
            let lane = data::lane(&mut self.contents, dtype, self.values);
            bytes.extend_from_slice(&lane.to_le_bytes()[..dtype.bytes()]);
        }
        self.session.from_bytes(dtype, &bytes).unwrap()
    }

    /// A literal or a constant.
    fn number(&mut self, dtype: DType) -> Array {
        let bits = data::lane(&mut self.contents, dtype, self.values);
        let constant = self.structure.one_in(2);
        let record = |recorder: &mut porcini_core::trace::Recorder<'_>| {
            Ok(if constant {
                recorder.constant(dtype, bits)
            } else {
                recorder.literal(dtype, bits, 1)
            })
        };
        self.session.record(record).unwrap()
    }

    /// Where a value of a type is.
    fn any(&mut self, dtype: DType) -> usize {
        position(dtype) + TYPES.len() * self.structure.below(self.pool.len() / TYPES.len())
    }

    /// An index array, mostly within the tables.
    fn index(&mut self) -> Array {
        let integers: Vec<DType> = TYPES.into_iter().filter(|dtype| dtype.is_int()).collect();
        let dtype = self.structure.pick(&integers);
        let index = self.any(dtype);
        let index = self.pool[index].clone();
        if self.structure.one_in(5) {
            return index;
        }
        let within = &index % i64::try_from(TABLE).unwrap();
        if dtype.is_signed() { within.abs().unwrap() } else { within }
    }

    fn active(&mut self) -> Option<Array> {
        let mask = self.any(DType::Mask);
        self.structure.one_in(2).then(|| self.pool[mask].clone())
    }

    fn step(&mut self) {
        let dtype = self.structure.pick(&TYPES);
        let result = match self.structure.below(10) {
            0 => {
                let (index, active) = (self.index(), self.active());
                self.tables[position(dtype)].gather(&index, active.as_ref()).unwrap()
            }
            1 => {
                let (from, to) =
                    (self.structure.pick(&TYPES[1..]), self.structure.pick(&TYPES[1..]));
                let operand = self.any(from);
                self.pool[operand].cast(to).unwrap()
            }
            2 => {
                let from = self.structure.pick(&TYPES[1..]);
                let same = TYPES[1..].iter().copied().filter(|to| to.bytes() == from.bytes());
                let to = self.structure.pick(&same.collect::<Vec<_>>());
                let operand = self.any(from);
                self.pool[operand].reinterpret(to).unwrap()
            }
            _ => {
                let row = &OPS[self.structure.below(OPS.len())];
                if row.shape == Shape::Special || !row.class.contains(dtype) {
                    return;
                }
                self.operation(row, dtype)
            }
        };
        let place = self.any(result.dtype());
        self.pool[place] = result;
    }

    fn operation(&mut self, row: &OpInfo, dtype: DType) -> Array {
        let mut args: Vec<Array> = Vec::new();
        let first = usize::from(row.shape == Shape::Select);
        if first == 1 {
            let mask = self.any(DType::Mask);
            args.push(self.pool[mask].clone());
        }
        while args.len() < row.arity {
            let again = args.len() > first && self.structure.one_in(5);
            let place = self.any(dtype);
            let next = if again { args[args.len() - 1].clone() } else { self.pool[place].clone() };
            args.push(next);
        }
        if row.arity > 1 && dtype != DType::Mask && self.structure.one_in(4) {
            let place = first + self.structure.below(row.arity - first);
            args[place] = self.number(dtype);
        }
        let others: Vec<Operand<'_>> = args[1..].iter().map(Operand::Array).collect();
        args[0].apply(row.op, &others).unwrap()
    }

    /// All values, reductions of some, and some scatters.
    fn results(mut self) -> Vec<Array> {
        let mut results = self.pool.clone();
        for value in &self.pool {
            for op in ReduceOp::ALL {
                if op.result(value.dtype()).is_some() && self.structure.one_in(6) {
                    results.push(value.reduce(op).unwrap());
                }
            }
        }
        for _ in 0..self.structure.below(4) {
            let dtype = self.structure.pick(&TYPES);
            let mut target = self.data(dtype, TABLE + 4);
            let value = self.any(dtype);
            let (index, active) = (self.index(), self.active());
            let fitting: Vec<ScatterOp> =
                ScatterOp::ALL.into_iter().filter(|op| op.class().contains(dtype)).collect();
            let op = self.structure.pick(&fitting);
            target.scatter(op, &self.pool[value], &index, active.as_ref()).unwrap();
            results.push(target);
        }
        results
    }
}

/// What a graph computes, and its first bounds error.
fn outcome(
    session: &Session,
    seed: u64,
    contents: u64,
    n: usize,
) -> (Vec<Vec<u8>>, Option<String>) {
    let results = Graph::new(session, seed, contents, n).results();
    session.eval(&results.iter().collect::<Vec<_>>()).unwrap();
    let error = session.take_errors().first().map(|error| error.to_string());
    (results.iter().map(|result| result.read_bytes(0..result.size()).unwrap()).collect(), error)
}

fn check(options: &CpuOptions, first: u64) {
    let count = std::env::var("PORCINI_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let open =
        |runtime: &Arc<Runtime>| Session::builder().runtime(runtime.clone()).build().unwrap();
    let oracle = Runtime::on(Arc::new(Interp::new(Isa::detect(), 1)), None);
    for isa in compiled() {
        let device = Runtime::on(Arc::new(Cpu::with_options(isa, 2, options.clone())), None);
        for seed in first..first + count.unwrap_or(DEFAULT_COUNT) {
            let n = Random::new(seed).pick(&SIZES);
            let session = open(&device);
            // The second time with other numbers: literals become parameters.
            for contents in [seed, seed + 1_000_000] {
                let want = outcome(&open(&oracle), seed, contents, n);
                let got = outcome(&session, seed, contents, n);
                let differs = got.0.iter().zip(&want.0).position(|(got, want)| got != want);
                assert_eq!(differs, None, "result of seed {seed}, {contents}, n = {n}, {isa}");
                assert_eq!(got.1, want.1, "seed {seed}, {contents}, n = {n}, {isa}");
            }
        }
    }
}

#[test]
fn dense_graphs_agree() {
    check(&CpuOptions::default(), 0);
}

#[test]
fn dense_graphs_by_64_bit_indices_agree() {
    check(&CpuOptions { near: 0, ..CpuOptions::default() }, 5000);
}

#[test]
fn dense_graphs_in_every_style_agree() {
    check(&CpuOptions { tuned_from: 0, ..CpuOptions::default() }, 9000);
}

#[test]
fn dense_graphs_in_segments_agree() {
    let options = CpuOptions { segmented_from: 100, segment_bytes: 1500, ..CpuOptions::default() };
    check(&options, 13_000);
}
