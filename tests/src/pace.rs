//! Limits of time on machines of any speed: a second means a second of a machine at rest, and as many times more as this one
//! is slower just now. The tests of other packages take this file by its path.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// What [`work`] takes at rest, on one core of 2.5 GHz.
const AT_REST: Duration = Duration::from_millis(10);
/// A machine that is slower still would let everything pass.
const MOST: f64 = 20.0;

/// Whether `time` is within `limit`, at the pace of this machine.
pub fn is_within(time: Duration, limit: Duration) -> bool {
    time < limit || time < limit.mul_f64(slowness())
}

/// How many times longer a fixed piece of work takes than at rest: 1 or more.
fn slowness() -> f64 {
    (work().as_secs_f64() / AT_REST.as_secs_f64()).clamp(1.0, MOST)
}

/// The time of a function that the standard library brings compiled: how the tests are optimised does not count.
fn work() -> Duration {
    let text = "é".repeat(1 << 14);
    let start = Instant::now();
    for _ in 0..600 {
        black_box(std::str::from_utf8(black_box(text.as_bytes())).is_ok());
    }
    start.elapsed()
}
