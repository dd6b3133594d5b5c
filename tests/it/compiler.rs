//! The compiler where the system gives it less than it asks for, and its rarer kinds of code: every way
//! ends in the right answer.

use std::sync::Arc;

use porcini_core::backend::cpu::{Cpu, CpuOptions, Mapping};
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::ScatterOp;
use porcini_core::{Array, DType, Runtime, Scalar, Session};
use porcini_tests::data::Values;
use porcini_tests::devices::compiled;
use porcini_tests::generate::generate;
use porcini_tests::oracle;
use porcini_tests::programs::{Mode, run};
use porcini_tests::random::Random;

const SIZES: [usize; 9] = [0, 1, 7, 16, 17, 511, 4095, 4097, 65_539];
const COUNT: u64 = 50;

/// Runs random programs on compilers with these options.
fn check(options: &CpuOptions) {
    for isa in compiled() {
        let runtime = Runtime::on(Arc::new(Cpu::with_options(isa, 2, options.clone())), None);
        for seed in 0..COUNT {
            let values = if seed % 2 == 0 { Values::Bounded } else { Values::Edge };
            let program = generate(seed, values);
            let n = SIZES[usize::try_from(seed).unwrap() % SIZES.len()];
            let session = Session::builder().runtime(runtime.clone()).build().unwrap();
            let got = run(&program, &session, n, Mode::Lazy).unwrap();
            let want = oracle::evaluate(&program, n);
            assert!(got.outputs == want, "seed {seed}, n = {n}, {isa}, {options:?}\n{program}");
        }
    }
}

#[test]
fn without_executable_memory() {
    check(&CpuOptions { mappings: Vec::new(), ..CpuOptions::default() });
}

#[test]
fn without_two_views_of_memory() {
    check(&CpuOptions { mappings: vec![Mapping::Protected], ..CpuOptions::default() });
}

#[test]
fn with_little_room_for_code() {
    check(&CpuOptions { code_bytes: 16 << 10, ..CpuOptions::default() });
}

#[test]
fn indices_beyond_32_bits() {
    check(&CpuOptions { near: 0, ..CpuOptions::default() });
}

#[test]
fn stores_that_pass_the_caches() {
    check(&CpuOptions { tuned_from: 0, ..CpuOptions::default() });
}

#[test]
fn code_in_small_segments() {
    check(&CpuOptions { segmented_from: 20, segment_bytes: 400, ..CpuOptions::default() });
}

#[test]
fn threads_for_any_work() {
    check(&CpuOptions { threaded_from: 0, ..CpuOptions::default() });
}

#[test]
fn threads_share_scatters() {
    check(&CpuOptions { scattered_from: 0, ..CpuOptions::default() });
}

#[test]
fn threads_scatter_in_order() {
    let run = |runtime: &Arc<Runtime>, dtype: DType, op: ScatterOp, n: u64| {
        let session = Session::builder().runtime(runtime.clone()).build().unwrap();
        let zero = Scalar::Int(0);
        let lane = session.arange(DType::U32, zero, Scalar::UInt(n), Scalar::Int(1)).unwrap();
        // Long to compute, and different in every lane; every element is written by many.
        let long = (0..20).fold(lane.cast(DType::F64).unwrap(), |x, _| x.sin().unwrap() + &lane);
        let value = if op == ScatterOp::And { long.gt(0.0).unwrap() } else { long.clone() };
        let value = value.cast(dtype).unwrap();
        let hash = &lane * 2_654_435_761_i64;
        let index = &hash % 1009;
        let active = hash.lt(4_000_000_000_i64).unwrap();
        let mut target = session.zeros(dtype, 1000).unwrap();
        target.scatter(op, &value, &index, Some(&active)).unwrap();
        let mut other = session.opaque(DType::U32, 7, 1000).unwrap();
        other.scatter(ScatterOp::Set, &lane, &index, None).unwrap();
        let sum = long.hsum().unwrap();
        session.eval(&[&target, &other, &sum, &long]).unwrap();
        let error = session.sync().err().map(|error| error.to_string());
        let bytes = [&target, &other, &sum, &long].map(|x| x.read_bytes(0..x.size()).unwrap());
        (error, bytes)
    };
    let oracle = Runtime::on(Arc::new(Interp::new(Isa::Baseline, 1)), None);
    for isa in compiled() {
        let runtime = Runtime::on(Arc::new(Cpu::new(isa, 4)), None);
        for (dtype, op) in [
            (DType::F32, ScatterOp::Add),
            (DType::F64, ScatterOp::Set),
            (DType::F16, ScatterOp::Max),
            (DType::U8, ScatterOp::Set),
            (DType::I64, ScatterOp::Min),
            (DType::Mask, ScatterOp::And),
        ] {
            for n in [4097, 20_000, 100_003] {
                let (got, want) = (run(&runtime, dtype, op, n), run(&oracle, dtype, op, n));
                assert!(got == want, "{op:?} of {dtype}, {n} lanes, {isa}: {:?}", got.0);
            }
        }
    }
}

#[test]
fn outputs_over_inputs_wait_for_all_readers() {
    for isa in compiled() {
        let runtime = Runtime::on(Arc::new(Cpu::new(isa, 1)), None);
        let session = Session::builder().runtime(runtime).build().unwrap();
        let x = session.array(&(0..20_000_u16).map(f32::from).collect::<Vec<_>>()).unwrap();
        x.eval().unwrap();
        // Chains that start late and need the lane of `x`, before an output that could be stored soon.
        let chain = |k: u32| (0..9).fold(&x + f64::from(k), |y, _| &y * 0.5);
        let sum = (1..40).fold(chain(0), |sum, k| &sum + &chain(k));
        let short = &x + 0.25;
        drop(x);
        session.eval(&[&sum, &short]).unwrap();
        for lane in [0_u16, 1, 16, 17, 9999, 19_999] {
            let want =
                (0..40_u16).fold(0.0, |sum, k| sum + (f32::from(lane) + f32::from(k)) / 512.0);
            assert_eq!(sum.item(lane.into()).unwrap().to_f64(), f64::from(want), "{isa}, {lane}");
            let want = f64::from(lane) + 0.25;
            assert_eq!(short.item(lane.into()).unwrap().to_f64(), want, "{isa}, {lane}");
        }
    }
}

#[test]
fn segments_keep_accumulators() {
    let run = |runtime: &Arc<Runtime>, dtype: DType, n: usize| {
        let session = Session::builder().runtime(runtime.clone()).build().unwrap();
        let lanes = |k: usize| {
            let number = |lane| i32::try_from((lane * 77 + k * 13) % 1009).unwrap() + 1;
            let lanes: Vec<i32> = (0..n).map(number).collect();
            let array = session.array(&lanes).unwrap().cast(dtype).unwrap();
            array.eval().unwrap();
            array
        };
        let (a, d) = (lanes(1), lanes(2));
        let v = (0..60).fold(lanes(3), |v, _| &(&v % &d) + &a);
        let results = [v.hsum().unwrap(), a.hmax().unwrap()];
        session.eval(&results.iter().collect::<Vec<_>>()).unwrap();
        results.map(|result| result.read_bytes(0..1).unwrap())
    };
    let oracle = Runtime::on(Arc::new(Interp::new(Isa::Baseline, 1)), None);
    let options = CpuOptions { segmented_from: 100, segment_bytes: 1500, ..CpuOptions::default() };
    for isa in compiled() {
        let runtime = Runtime::on(Arc::new(Cpu::with_options(isa, 1, options.clone())), None);
        for dtype in [DType::I32, DType::I64, DType::U64] {
            for n in [33, 4096, 10_000] {
                assert_eq!(run(&runtime, dtype, n), run(&oracle, dtype, n), "{dtype} {n} {isa}");
            }
        }
    }
}

#[test]
fn far_code_without_memory_is_interpreted() {
    let options = CpuOptions { near: 0, code_bytes: 4096, ..CpuOptions::default() };
    for isa in compiled() {
        for steps in 1..24 {
            let runtime = Runtime::on(Arc::new(Cpu::with_options(isa, 1, options.clone())), None);
            let session = Session::builder().runtime(runtime).build().unwrap();
            let x = session.array(&(0..20_000).collect::<Vec<i32>>()).unwrap();
            let source = session.array(&(0..100_i32).collect::<Vec<_>>()).unwrap();
            let mut sum = &x + 1;
            drop(x);
            for _ in 0..steps {
                let index = &sum & 63;
                sum = &(&sum * 3) + &source.gather(&index, None).unwrap();
            }
            sum.eval().unwrap();
            assert_eq!(sum.to_vec::<i32>().unwrap().len(), 20_000, "{isa}, {steps} steps");
        }
    }
}

/// A graph with far more live values, masks, inputs and outputs than there are registers; what it
/// computes, as bytes.
fn large_graph(runtime: &Arc<Runtime>, n: usize, steps: usize) -> Vec<Vec<u8>> {
    const TYPES: [DType; 6] =
        [DType::F32, DType::F64, DType::I32, DType::U32, DType::I64, DType::U64];
    let session = Session::builder().runtime(runtime.clone()).build().unwrap();
    let mut random = Random::new(7);
    let mut values: Vec<Array> = Vec::new();
    for i in 0..60 {
        let number = |lane| i32::try_from((lane * 37 + i * 11) % 201).unwrap() - 100;
        let lanes: Vec<i32> = (0..n).map(number).collect();
        values.push(session.array(&lanes).unwrap().cast(TYPES[i % TYPES.len()]).unwrap());
    }
    let inputs = values.clone();
    let mut masks: Vec<Array> = (0..12).map(|i| values[i].lt(&values[i + 6]).unwrap()).collect();
    for _ in 0..steps {
        let i = random.below(values.len());
        // One of the same type, at a multiple of their number away.
        let j = (i + TYPES.len() * random.below(10)) % values.len();
        let m = random.below(masks.len());
        let (a, b) = (&values[i].clone(), &values[j].clone());
        let wide = matches!(a.dtype(), DType::F64 | DType::I64 | DType::U64);
        values[i] = match random.below(8) {
            0 => a + b,
            1 => a - b,
            2 => masks[m].select(a, b).unwrap(),
            3 => a.min(b).unwrap(),
            4 => {
                a.cast(if wide { DType::I32 } else { DType::F64 }).unwrap().cast(a.dtype()).unwrap()
            }
            5 => a.fma(&values[(j + 6) % values.len()], b).unwrap(),
            6 => a.maximum(b).unwrap(),
            _ => a * b,
        };
        if values[i].dtype().is_float() {
            // Growing values would all end as NaN or as one limit, and every answer be the same.
            let limited = values[i].min(900.0).unwrap().max(-900.0).unwrap();
            values[i] = limited.fma(0.25, &inputs[i]).unwrap();
        }
        if random.below(3) == 0 {
            let other = random.below(masks.len());
            let compared = values[i].lt(b).unwrap();
            masks[m] = if random.below(2) == 0 { &compared ^ &masks[other] } else { compared };
        }
    }
    let mut results: Vec<Array> = values.iter().step_by(2).cloned().collect();
    results.extend(masks.iter().cloned());
    results.extend(values.iter().map(|value| value.hsum().unwrap()));
    results.extend(masks.iter().map(|mask| mask.count().unwrap()));
    session.eval(&results.iter().collect::<Vec<_>>()).unwrap();
    let spills: usize = session.history().iter().map(|launch| launch.code.spills).sum();
    let numbers = results[0].to_vec::<f32>().unwrap();
    assert!(n == 1 || numbers.iter().any(|&number| number != numbers[0]));
    assert!(spills > 0 || session.device_name().contains("interp"), "no spills");
    let bytes = session.history().iter().map(|launch| launch.code.bytes).max().unwrap();
    assert!(steps < 30_000 || bytes > 512 << 10, "one segment");
    results.iter().map(|result| result.read_bytes(0..result.size()).unwrap()).collect()
}

#[test]
fn graphs_larger_than_all_registers() {
    let oracle = Runtime::on(Arc::new(Interp::new(Isa::Baseline, 1)), None);
    // The last one is cut into segments.
    for (n, steps) in [(1, 500), (77, 3000), (4099, 700), (1001, 30_000)] {
        let want = large_graph(&oracle, n, steps);
        for isa in compiled() {
            let runtime = Runtime::on(Arc::new(Cpu::new(isa, 2)), None);
            let got = large_graph(&runtime, n, steps);
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                assert!(got == want, "result {i} of {steps} steps over {n} lanes on {isa}");
            }
        }
    }
}

#[test]
fn listings_name_what_each_instruction_computes() {
    for isa in compiled() {
        let runtime = Runtime::on(Arc::new(Cpu::new(isa, 1)), None);
        let session = Session::builder().runtime(runtime).build().unwrap();
        let x = session.array(&[1.0_f32, 2.0, 3.0]).unwrap();
        let plan = session.plan(&[&(&x.sqrt().unwrap() + 1.0)]).unwrap();
        let text = session.disassemble(&plan).unwrap().unwrap();
        let after = |line: &str| {
            let (_, rest) = text.split_once(line).unwrap_or_else(|| panic!("no {line} in\n{text}"));
            // Where no operand is in memory, a load comes first.
            let lines = if isa == Isa::Neon { 2 } else { 1 };
            rest.lines().skip(1).take(lines).collect::<String>()
        };
        assert!(text.starts_with(&format!("; {isa}, ")), "{text}");
        let [sqrt, add] = if isa == Isa::Neon { ["fsqrt", "fadd"] } else { ["vsqrtps", "vaddps"] };
        assert!(after("f32 = sqrt").contains(sqrt), "{text}");
        assert!(after("f32 = add").contains(add), "{text}");
        assert!(text.trim_end().ends_with("ret"), "{text}");
    }
}
