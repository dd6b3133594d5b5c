//! Which style of code the large launches of a kernel run: measured, not guessed.
//!
//! Whether stores should pass the caches, loads be fetched ahead, or lanes be gathered one by one differs
//! between processors by up to a factor of two, either way. The first launches of a kernel over more than
//! the inner caches hold try each style; the fastest stays. Sizes four times apart are measured separately.
//! All styles give the same bits.
//!
//! A style is tried several times in a row: what it leaves in the caches is part of what it costs, so the
//! first time, which finds what another style left, does not count. Of the others the median does: one
//! launch may find its operands where the rest does not, or be disturbed.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::machine::Style;
use super::target::Target;
use crate::ir::kernel::{Code, Kernel};

/// How many styles a kernel has.
pub(super) const STYLES: usize = 4;
/// Styles in the order tried; the first is the code that small launches run.
type Styles = [Style; STYLES];
/// Styles of a kernel that only walks through its arrays.
const WALKING: Styles = [
    Style { nontemporal: false, prefetch: false, ..Style::PLAIN },
    Style { nontemporal: true, prefetch: false, ..Style::PLAIN },
    Style { nontemporal: false, prefetch: true, ..Style::PLAIN },
    Style { nontemporal: true, prefetch: true, ..Style::PLAIN },
];
/// Styles of a kernel that gathers.
const GATHERING: Styles = [
    Style::PLAIN,
    Style { nontemporal: true, prefetch: true, scalar_gather: false, ..Style::PLAIN },
    Style { nontemporal: false, prefetch: true, scalar_gather: true, ..Style::PLAIN },
    Style { nontemporal: true, prefetch: true, scalar_gather: true, ..Style::PLAIN },
];
/// Times that each style is tried.
const ROUNDS: usize = 4;
/// Launches from this time on are tried once: the caches hold little of them, and each trial costs as long.
const LONG: Duration = Duration::from_millis(2);
/// Sizes told apart, each four times the one before.
const CLASSES: usize = 8;

/// What was measured of the styles of a kernel.
pub(super) struct Tuning {
    pub(super) styles: Styles,
    pub(super) trials: Trials<STYLES>,
}

/// What was measured of N styles.
pub(super) struct Trials<const N: usize> {
    classes: [Class<N>; CLASSES],
}

struct Class<const N: usize> {
    launches: AtomicUsize,
    /// Whether launches are long.
    long: AtomicBool,
    /// Times of each style in femtoseconds a byte; 0 where none counted.
    times: [[AtomicU64; ROUNDS]; N],
}

impl<const N: usize> Default for Trials<N> {
    fn default() -> Self {
        let times = || std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0)));
        let class = |_| Class {
            launches: AtomicUsize::new(0),
            long: AtomicBool::new(false),
            times: times(),
        };
        Self { classes: std::array::from_fn(class) }
    }
}

/// A style that a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) style: usize,
    class: usize,
    /// Number of the trial; not that of the very first launch, which may be the first to touch its memory,
    /// and none once the style is chosen.
    number: Option<usize>,
}

impl Tuning {
    pub(super) fn new(kernel: &Kernel, target: &Target) -> Self {
        let gathers = kernel.insts.iter().any(|inst| matches!(inst.code, Code::Gather { .. }));
        let styles = if gathers && target.scalar_gather_pays { GATHERING } else { WALKING };
        Self { styles, trials: Trials::default() }
    }
}

impl<const N: usize> Trials<N> {
    /// The style for a launch that moves `times` as many bytes as the smallest that is measured.
    pub(super) fn pick(&self, times: u64) -> Trial {
        let class = (times.max(1).ilog2() as usize / 2).min(CLASSES - 1);
        let Class { launches, long, times } = &self.classes[class];
        let launch = launches.fetch_add(1, Ordering::Relaxed);
        let rounds = if long.load(Ordering::Relaxed) { 1 } else { ROUNDS };
        let style = launch.saturating_sub(1) / rounds;
        if style < N {
            return Trial { style, class, number: launch.checked_sub(1) };
        }
        let style = (0..N).min_by_key(|&style| median(&times[style])).unwrap_or(0);
        Trial { style, class, number: None }
    }

    /// Notes how long the launch took.
    pub(super) fn record(&self, trial: Trial, bytes: u64, time: Duration) {
        let Some(number) = trial.number else { return };
        let class = &self.classes[trial.class];
        let round = number % ROUNDS;
        if time >= LONG {
            class.long.store(true, Ordering::Relaxed);
        } else if round == 0 {
            return;
        }
        let time = time.as_nanos().saturating_mul(1_000_000) / u128::from(bytes.max(1));
        let time = u64::try_from(time).unwrap_or(u64::MAX).max(1);
        class.times[trial.style][round].store(time, Ordering::Relaxed);
    }
}

/// The time in the middle of those that counted.
fn median(times: &[AtomicU64; ROUNDS]) -> u64 {
    let mut times = times.each_ref().map(|time| time.load(Ordering::Relaxed));
    times.sort_unstable();
    let counted = &times[times.partition_point(|&time| time == 0)..];
    counted.get(counted.len() / 2).copied().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_style_stays() {
        let tuning = Trials::<STYLES>::default();
        for launch in 0..20 {
            let trial = tuning.pick(5);
            // The first launch in a style finds other caches, one more is lucky.
            let micros = match (launch % 4, trial.style) {
                (1, _) => 10,
                (2, 3) => 20,
                (_, 2) => 70,
                _ => 100,
            };
            tuning.record(trial, 1 << 22, Duration::from_micros(micros));
        }
        assert_eq!(tuning.pick(5).style, 2);
        // Another size is measured anew; long launches once for each style.
        for launch in 0..20 {
            let trial = tuning.pick(500);
            assert!(launch <= STYLES || trial.style == 1, "{launch}: {trial:?}");
            let millis = if trial.style == 1 { 30 } else { 40 };
            tuning.record(trial, 1 << 28, Duration::from_millis(millis));
        }
    }
}
