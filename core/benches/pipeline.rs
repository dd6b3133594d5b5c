//! Time per operation of each stage: recording, scheduling, lowering, and a launch that is cached.
//!
//! `cargo bench -p porcini-core` prints one table, medians of several rounds in nanoseconds an operation.
//! Columns that stay level show that a stage is linear. `-- NAME` measures only rows with NAME in theirs.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use porcini_core::backend::Backend;
use porcini_core::backend::cpu::Cpu;
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::ir::kernel::LiteralMode;
use porcini_core::{Array, Session};

const COUNTS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

fn main() {
    println!("ns an operation, medians{:>12}{:>12}{:>12}{:>12}", "10^3", "10^4", "10^5", "10^6");
    row("record y * b + c", |n| record(n, |y, b, c| &(y * b) + c, 2));
    row("the same, warm table", |n| {
        let inputs = inputs();
        let step = |y: &Array, b: &Array, c: &Array| &(y * b) + c;
        drop(chain(&inputs, n, step, 2));
        time(|| chain(&inputs, n, step, 2)).0
    });
    row("record y * 0.5 + 0.25", |n| record(n, |y, _, _| &(y * 0.5) + 0.25, 2));
    distinct_literals();
    row("record fma(y, b, c)", |n| record(n, |y, b, c| y.fma(b, c).unwrap(), 1));
    let sine = operations_of_sine();
    row("record sin(y), f32", |n| record(n, |y, _, _| y.sin().unwrap(), sine));
    row("drop", drop_chain);
    row("schedule", schedule);
    row("lower (interp)", |n| compile(&Interp::new(Isa::detect(), 1), long_chain(n)));
    for isa in compilers() {
        let cpu = Cpu::new(isa, 1);
        row(&format!("compile a chain, {isa}"), |n| compile(&cpu, long_chain(n)));
        row(&format!("compile 1000 live, {isa}"), |n| compile(&cpu, wide_graph(n, 1000)));
        row(&format!("compile 5000 live, {isa}"), |n| compile(&cpu, wide_graph(n, 5000)));
    }
    println!();
    small_kernels();
    launch();
}

/// Times `measure` for each number of operations.
fn row(name: &str, measure: impl Fn(usize) -> Duration) {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    if wanted.is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    print!("{name:<24}");
    for n in COUNTS {
        let rounds = (2_000_000 / n).clamp(5, 201);
        let mut times: Vec<Duration> = (0..rounds).map(|_| measure(n)).collect();
        times.sort_unstable();
        print!("{:>12.1}", times[rounds / 2].as_secs_f64() * 1e9 / n as f64);
    }
    println!();
}

fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), black_box(result))
}

struct Inputs {
    session: Session,
    a: Array,
    b: Array,
    c: Array,
}

fn inputs() -> Inputs {
    let session = Session::builder().threads(1).build().unwrap();
    let data = |scale: f32| {
        let lanes: Vec<f32> = (0..1000_u16).map(|i| f32::from(i) * scale).collect();
        session.array(&lanes).unwrap()
    };
    let (a, b, c) = (data(0.001), data(0.0005), data(0.25));
    Inputs { session, a, b, c }
}

/// A chain of `n` operations, `step` recording `per_step` of them.
fn chain(
    Inputs { a, b, c, .. }: &Inputs,
    n: usize,
    step: impl Fn(&Array, &Array, &Array) -> Array,
    per_step: usize,
) -> Array {
    let mut y = a.clone();
    for _ in 0..n / per_step {
        y = step(&y, b, c);
    }
    y
}

fn record(n: usize, step: impl Fn(&Array, &Array, &Array) -> Array, per_step: usize) -> Duration {
    let inputs = inputs();
    time(|| chain(&inputs, n, step, per_step)).0
}

/// The same with a number that was never seen before in each operation.
fn distinct_literals() {
    row("record y + i", |n| {
        let Inputs { a, .. } = inputs();
        let sum = || (0..n).fold(a.clone(), |y, i| y + (i as f64 + 0.5));
        time(sum).0
    });
}

fn operations_of_sine() -> usize {
    let Inputs { session, a, .. } = inputs();
    let plan = session.plan(&[&a.sin().unwrap()]).unwrap();
    plan.kernels().map(|launch| launch.kernel.insts.len()).sum::<usize>() - 1
}

fn long_chain(n: usize) -> (Inputs, Array) {
    let inputs = inputs();
    let y = chain(&inputs, n, |y, b, c| &(y * b) + c, 2);
    (inputs, y)
}

fn drop_chain(n: usize) -> Duration {
    let (_inputs, y) = long_chain(n);
    time(|| drop(y)).0
}

fn schedule(n: usize) -> Duration {
    let (Inputs { session, .. }, y) = long_chain(n);
    time(|| session.plan(&[&y]).unwrap()).0
}

fn compilers() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|&isa| isa != Isa::Baseline && isa.is_available())
}

/// A graph of `n` operations in which `live` values wait for their use at any time.
fn wide_graph(n: usize, live: usize) -> (Inputs, Array) {
    let inputs = inputs();
    let live = live.min(n / 2);
    let mut values: Vec<Array> = (0..live).map(|i| &inputs.a + (i as f64 + 0.5)).collect();
    let mut state = 1_u64;
    for i in 0..n.saturating_sub(2 * live) {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap() % live;
        values[i % live] = match i % 3 {
            0 => &values[i % live] * &values[other],
            1 => &values[i % live] - &values[other],
            _ => &values[i % live] + &values[other],
        };
    }
    let sum = values.iter().skip(1).fold(values[0].clone(), |sum, value| &sum + value);
    (inputs, sum)
}

fn compile(backend: &dyn Backend, (inputs, y): (Inputs, Array)) -> Duration {
    let plan = inputs.session.plan(&[&y]).unwrap();
    let lower = |launch: &porcini_core::eval::launches::Launch| {
        backend.lower(&launch.kernel, LiteralMode::Embedded).unwrap()
    };
    time(|| plan.kernels().map(lower).collect::<Vec<_>>()).0
}

/// Time to compile kernels of everyday size, the first time in a process and later.
fn small_kernels() {
    for isa in compilers() {
        let cpu = Cpu::new(isa, 1);
        for n in [31, 100, 300] {
            let mut times: Vec<Duration> = (0..201).map(|_| compile(&cpu, long_chain(n))).collect();
            let first = times[0];
            times.sort_unstable();
            println!(
                "compile {n} operations, {isa}: {:.1} us, the first time {:.1} us",
                times[100].as_secs_f64() * 1e6,
                first.as_secs_f64() * 1e6
            );
        }
    }
}

/// Records and evaluates `y * b + c` over 1000 lanes again and again: all but the first are hits.
fn launch() {
    let Inputs { a, b, c, .. } = inputs();
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..2001 {
        let y = &(&a * &b) + &c;
        times.push(time(|| y.eval().unwrap()).0);
    }
    times.sort_unstable();
    println!("cached launch of 1000 lanes: {:.2} us", times[1000].as_secs_f64() * 1e6);
}
