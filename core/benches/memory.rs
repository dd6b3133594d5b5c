//! What memory costs: outputs in fresh blocks against blocks that the cache kept, and what they occupy.
//!
//! `cargo bench -p porcini-core --bench memory` prints one table; times are medians of several rounds.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use std::time::{Duration, Instant};

use porcini_core::backend::Memory;
use porcini_core::backend::host::HostMemory;
use porcini_core::{Array, DType, Scalar, Session};

const ROUNDS: usize = 5;

fn main() {
    println!("{:<28}{:>12}{:>12}{:>12}", "ms", "10^6 f32", "10^7 f32", "10^8 f32");
    row("fill, fresh", |n| filled(n, Blocks::Fresh));
    row("fill, kept", |n| filled(n, Blocks::Kept));
    row("i * 0.5 + 0.25, fresh", |n| computed(n, Blocks::Fresh));
    row("i * 0.5 + 0.25, kept", |n| computed(n, Blocks::Kept));
    row("allocate, write, free", written);
    println!();
    streamed();
    println!();
    occupied();
}

/// Where an output goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocks {
    /// Memory that the system has just handed out.
    Fresh,
    /// A block that was used before.
    Kept,
}

fn row(name: &str, measure: impl Fn(u64) -> Duration) {
    print!("{name:<28}");
    for n in [1_000_000, 10_000_000, 100_000_000] {
        let mut times: Vec<Duration> = (0..ROUNDS).map(|_| measure(n)).collect();
        times.sort_unstable();
        print!("{:>12.2}", times[ROUNDS / 2].as_secs_f64() * 1e3);
    }
    println!();
}

/// Time to evaluate what `record` gives, in a fresh block or in one that another array left.
fn evaluated(blocks: Blocks, record: impl Fn(&Session, f64) -> Array) -> Duration {
    let session = Session::builder().threads(1).build().unwrap();
    if blocks == Blocks::Kept {
        record(&session, 0.75).eval().unwrap();
    }
    let array = record(&session, 0.5);
    let start = Instant::now();
    array.eval().unwrap();
    start.elapsed()
}

fn filled(n: u64, blocks: Blocks) -> Duration {
    evaluated(blocks, |session, number| session.full(DType::F32, number, n).unwrap())
}

fn computed(n: u64, blocks: Blocks) -> Duration {
    let n = Scalar::Int(i64::try_from(n).unwrap());
    evaluated(blocks, |session, number| {
        let index = session.arange(DType::F32, Scalar::Int(0), n, Scalar::Int(1)).unwrap();
        index * number + 0.25
    })
}

/// A block's whole life.
fn written(n: u64) -> Duration {
    let bytes = usize::try_from(n).unwrap() * 4;
    let start = Instant::now();
    let address = HostMemory.alloc_raw(bytes).unwrap();
    HostMemory.fill(address, 1, 8, bytes as u64 / 8).expect("host memory");
    HostMemory.free_raw(address, bytes);
    start.elapsed()
}

/// `a * b + c` of each type over 10^7 lanes, beside a copy that moves as many bytes.
fn streamed() {
    const LANES: i64 = 10_000_000;
    println!("{:<28}{:>12}{:>12}{:>12}", "a * b + c, 10^7 lanes", "ms", "GB/s", "copy GB/s");
    for dtype in [DType::F32, DType::F16, DType::I16, DType::I8] {
        let session = Session::builder().threads(1).build().unwrap();
        let index = session.arange(DType::U32, 0.into(), LANES.into(), 1.into()).unwrap();
        let operand = |modulus: i32| {
            let array = (&index % modulus).cast(dtype).unwrap();
            array.eval().unwrap();
            array
        };
        let [a, b, c] = [7, 5, 3].map(operand);
        let each = |_| {
            (&(&a * &b) + &c).eval().unwrap();
            session.history().last().unwrap().run_time
        };
        // The first rounds try styles of code.
        let mut times: Vec<Duration> = (0..32).map(each).skip(16).collect();
        times.sort_unstable();
        let bytes = 4 * dtype.bytes() * usize::try_from(LANES).unwrap();
        let rate = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e9;
        let (time, copy) = (times[times.len() / 2], copied(bytes / 2));
        let milliseconds = time.as_secs_f64() * 1e3;
        println!("{dtype:<28}{milliseconds:>12.2}{:>12.1}{:>12.1}", rate(time), rate(copy));
    }
}

/// Time to copy a block within memory.
fn copied(bytes: usize) -> Duration {
    let [from, to] = [(); 2].map(|()| HostMemory.alloc_raw(bytes).unwrap());
    HostMemory.fill(from, 1, 8, bytes as u64 / 8).expect("host memory");
    let each = |_| {
        let start = Instant::now();
        HostMemory.copy(to, from, bytes).expect("host memory");
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..9).map(each).collect();
    times.sort_unstable();
    [from, to].into_iter().for_each(|block| HostMemory.free_raw(block, bytes));
    times[times.len() / 2]
}

/// What blocks occupy once every byte of theirs was written.
fn occupied() {
    println!("{:<28}{:>12}{:>12}", "MiB a block, 32 blocks", "wanted", "resident");
    for bytes in [(4 << 20) - 64, 4 << 20, (4 << 20) + 64, 5_000_000, 6_400_000, 40_000_000] {
        let session = Session::builder().threads(1).build().unwrap();
        let before = resident();
        let block = |_| {
            let array = session.full(DType::F32, 1, bytes / 4).unwrap();
            array.eval().unwrap();
            array
        };
        let arrays: Vec<Array> = (0..32).map(block).collect();
        let each = (resident() - before) / arrays.len() as f64;
        println!("{:<28}{:>12.3}{each:>12.3}", bytes, bytes as f64 / f64::from(1 << 20));
    }
}

/// MiB of memory that the process occupies, as Linux counts them.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
