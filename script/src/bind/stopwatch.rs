//! Times of a piece of work, split into what the machine does: recording, compiling, launching, waiting.

use std::time::Duration;

use rhai::Dynamic;

use crate::bind::memory::evaluate;
use crate::context::Context;
use crate::fault::{IntoFault, Result};

/// Shortest batch of runs that is measured at once.
const BATCH: Duration = Duration::from_millis(10);
/// Longest time for all of them.
const PATIENCE: Duration = Duration::from_secs(2);
/// Batches that are measured at least, and at most.
const BATCHES: std::ops::RangeInclusive<usize> = 5..=50;
/// Spread of the batches, part of the median, that is stable enough.
const STABLE: f64 = 0.02;

/// Work that can be repeated.
pub(crate) type Work<'w> = dyn FnMut() -> Result<Dynamic> + 'w;

/// Times of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Running the script, which records operations.
    pub(crate) record: Duration,
    /// Scheduling and compiling kernels, or finding them.
    pub(crate) compile: Duration,
    /// Launching kernels; devices that do not run ahead compute here.
    pub(crate) launch: Duration,
    /// Waiting for the device.
    pub(crate) wait: Duration,
    /// Kernels launched.
    pub(crate) kernels: u64,
}

impl Times {
    /// All of it.
    pub(crate) fn total(&self) -> Duration {
        self.record + self.compile + self.launch + self.wait
    }

    /// Name and time of each part.
    pub(crate) fn parts(&self) -> [(&'static str, Duration); 4] {
        [
            ("record", self.record),
            ("compile", self.compile),
            ("launch", self.launch),
            ("wait", self.wait),
        ]
    }

    fn divided(self, n: u32) -> Self {
        Self {
            record: self.record / n,
            compile: self.compile / n,
            launch: self.launch / n,
            wait: self.wait / n,
            kernels: self.kernels / u64::from(n),
        }
    }
}

/// Times of one run of many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The median batch, divided by its runs.
    pub(crate) times: Times,
    /// Half the distance between the quartiles, as a part of the median.
    pub(crate) spread: f64,
    pub(crate) batches: usize,
    /// Runs in each batch.
    pub(crate) runs: u32,
}

/// Runs work once and evaluates its value.
pub(crate) fn once(context: &Context, work: &mut Work<'_>) -> Result<(Times, Dynamic)> {
    let mut value = Dynamic::UNIT;
    let times = batch(context, 1, &mut || {
        value = work()?;
        Ok(value.clone())
    })?;
    Ok((times, value))
}

/// Repeats work, evaluated each time, until the median is stable.
pub(crate) fn repeated(context: &Context, work: &mut Work<'_>) -> Result<Measured> {
    let mut bench = Bench::new(context, work)?;
    while !bench.is_stable() {
        bench.add(context, work)?;
    }
    Ok(bench.measured())
}

/// Repeats two works by turns, so that whatever slows the machine slows both.
pub(crate) fn paired(
    context: &Context,
    first: &mut Work<'_>,
    second: &mut Work<'_>,
) -> Result<[Measured; 2]> {
    let mut benches = [Bench::new(context, first)?, Bench::new(context, second)?];
    while benches.iter().any(|bench| !bench.is_stable()) {
        benches[0].add(context, first)?;
        benches[1].add(context, second)?;
    }
    Ok(benches.map(|bench| bench.measured()))
}

/// Batches measured so far.
struct Bench {
    runs: u32,
    batches: Vec<Times>,
}

impl Bench {
    /// Warms up, and finds how many runs make a batch.
    fn new(context: &Context, work: &mut Work<'_>) -> Result<Self> {
        let (first, _) = once(context, work)?;
        let mut runs = 1;
        let mut took = first.total();
        while took < BATCH && runs < 1 << 20 {
            runs *= 2;
            took = batch(context, runs, work)?.total();
        }
        Ok(Self { runs, batches: Vec::new() })
    }

    fn add(&mut self, context: &Context, work: &mut Work<'_>) -> Result<()> {
        self.batches.push(batch(context, self.runs, work)?);
        Ok(())
    }

    fn is_stable(&self) -> bool {
        let n = self.batches.len();
        let spent: Duration = self.batches.iter().map(Times::total).sum();
        let stable = n >= *BATCHES.start() && self.measured().spread < STABLE;
        stable || n >= *BATCHES.end() || (n > 0 && spent > PATIENCE)
    }

    fn measured(&self) -> Measured {
        let mut sorted = self.batches.clone();
        sorted.sort_by_key(Times::total);
        let at = |part: usize| sorted[(sorted.len() - 1) * part / 4].total().as_secs_f64();
        let times = sorted[(sorted.len() - 1) / 2];
        let spread = (at(3) - at(1)) / 2.0 / times.total().as_secs_f64().max(f64::MIN_POSITIVE);
        Measured {
            times: times.divided(self.runs),
            spread,
            batches: self.batches.len(),
            runs: self.runs,
        }
    }
}

fn batch(context: &Context, runs: u32, work: &mut Work<'_>) -> Result<Times> {
    let clock = || context.host.clock();
    let before = context.session.launch_totals();
    let start = clock();
    let mut wait = Duration::ZERO;
    for _ in 0..runs {
        let value = work()?;
        evaluate(context, &value)?;
        let waits = clock();
        context.session.sync().or_fault()?;
        wait += clock().saturating_sub(waits);
    }
    let total = clock().saturating_sub(start);
    let after = context.session.launch_totals();
    let compile = after.compile_time.saturating_sub(before.compile_time);
    // What runs while somebody waits for it, or for another launch, is time of launches.
    let launch = after.run_time.saturating_sub(before.run_time);
    let launch = launch.min(total.saturating_sub(compile));
    let wait = wait.min(total.saturating_sub(compile + launch));
    let record = total.saturating_sub(compile + launch + wait);
    Ok(Times { record, compile, launch, wait, kernels: after.launches - before.launches })
}

/// A time in the unit that fits: `12.3 us`.
pub(crate) fn time_text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        for (seconds, text) in [
            (2.0, "2.00 s"),
            (0.0123, "12.3 ms"),
            (123e-6, "123 us"),
            (2e-9, "2.00 ns"),
            (0.0, "0.00 ns"),
        ] {
            assert_eq!(time_text(Duration::from_secs_f64(seconds)), text);
        }
    }

    #[test]
    fn the_median_batch_counts() {
        let of = |us| Times { record: Duration::from_micros(us), ..Times::default() };
        let bench = Bench { runs: 10, batches: [300, 100, 200, 10_000, 250].map(of).into() };
        let measured = bench.measured();
        assert_eq!(measured.times.total(), Duration::from_micros(25));
        assert!((measured.spread - 0.2).abs() < 1e-9, "{measured:?}");
        assert!(!bench.is_stable());
    }
}
