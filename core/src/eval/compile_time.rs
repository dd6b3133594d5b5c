//! How long it took to have code, and how the log says it.

use std::time::Duration;

use super::cache::CacheResult;
use crate::backend::{CodeStatistics, Origin};
use crate::memory::caching_allocator::Bytes;

/// What it took to have code: that of others was compiled ahead, side by side.
pub(super) fn compile_time(cache: CacheResult, waited: Duration, code: CodeStatistics) -> Duration {
    match (cache, code.origin) {
        (CacheResult::Miss, Origin::Driver(compiling)) => waited.max(compiling),
        _ => waited,
    }
}

/// `jit_run(): cache miss, jit: 541 us, ptx compilation: 43.534 ms, 10 registers`
pub(super) fn compilation(cache: CacheResult, time: Duration, code: CodeStatistics) -> String {
    let CodeStatistics { bytes, registers, spills, origin } = code;
    match (cache, origin) {
        (CacheResult::Hit, _) => format!("jit_run(): cache hit, jit: {}", Elapsed(time)),
        (CacheResult::Disk, _) => {
            format!("jit_run(): cache hit on disk, jit: {}, {registers} registers", Elapsed(time))
        }
        (CacheResult::Miss, Origin::Driver(compiling)) => {
            let (time, compiling) = (Elapsed(time.saturating_sub(compiling)), Elapsed(compiling));
            let spills = if spills > 0 { format!(", {spills} spills") } else { String::new() };
            format!(
                "jit_run(): cache miss, jit: {time}, ptx compilation: {compiling}, {registers} registers{spills}"
            )
        }
        (CacheResult::Miss, Origin::Own | Origin::Disk) => {
            let (time, bytes) = (Elapsed(time), Bytes(bytes as u64));
            format!(
                "jit_run(): cache miss, jit: {time}, {bytes} of code, {registers} registers, {spills} spills"
            )
        }
    }
}

/// A time as logs show it: `541 us`, `43.534 ms`.
pub struct Elapsed(pub Duration);

impl std::fmt::Display for Elapsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = self.0.as_secs_f64() * 1e6;
        if micros < 1e3 {
            write!(f, "{micros:.0} us")
        } else if micros < 1e6 {
            write!(f, "{:.3} ms", micros / 1e3)
        } else {
            write!(f, "{:.3} s", micros / 1e6)
        }
    }
}
