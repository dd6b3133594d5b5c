//! Which style of code the large launches of a kernel run: measured, not guessed.
//!
//! Whether stores should pass the caches and loads be fetched ahead differs between processors by up to a
//! factor of two, either way. The first launches of a kernel over more than the inner caches hold try each
//! style; the fastest stays. Sizes four times apart are measured separately. All styles give the same bits.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::assemble::Style;

/// Styles in the order tried; the first is the code that small launches run.
pub(super) const STYLES: [Style; 4] = [
    Style { nontemporal: false, prefetch: false, notes: false },
    Style { nontemporal: true, prefetch: false, notes: false },
    Style { nontemporal: false, prefetch: true, notes: false },
    Style { nontemporal: true, prefetch: true, notes: false },
];
/// Times that each style is tried.
const ROUNDS: u32 = 3;
/// Launches from this time on are tried once: little disturbs them, and each trial costs as long.
const LONG: Duration = Duration::from_millis(2);
/// Sizes told apart, each four times the one before.
const CLASSES: usize = 8;

/// What was measured of a kernel.
#[derive(Default)]
pub(super) struct Tuning {
    classes: [Class; CLASSES],
}

#[derive(Default)]
struct Class {
    launches: AtomicU32,
    /// Rounds of trials that are no longer wanted.
    spared: AtomicU32,
    /// Shortest time of each style in femtoseconds a byte, plus one; 0 if it was not tried.
    best: [AtomicU64; STYLES.len()],
}

/// A style that a launch runs, and where its time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    class: usize,
    pub(super) style: usize,
    /// The first launch does not count: it may be the first to touch its memory.
    counts: bool,
}

impl Tuning {
    /// The style for a launch that moves `times` as many bytes as the smallest that is measured.
    pub(super) fn pick(&self, times: u64) -> Trial {
        let class = (times.max(1).ilog2() as usize / 2).min(CLASSES - 1);
        let Class { launches, spared, best } = &self.classes[class];
        let launch = launches.fetch_add(1, Ordering::Relaxed);
        let n = u32::try_from(STYLES.len()).unwrap_or(1);
        let trials = n * (ROUNDS - spared.load(Ordering::Relaxed));
        if launch <= trials {
            return Trial { class, style: (launch % n) as usize, counts: launch > 0 };
        }
        // Stays where it is instead of wrapping round to new trials.
        launches.store(ROUNDS * n + 1, Ordering::Relaxed);
        let time = |style: &usize| best[*style].load(Ordering::Relaxed).wrapping_sub(1);
        let style = (0..STYLES.len()).min_by_key(time).unwrap_or(0);
        Trial { class, style, counts: true }
    }

    /// Notes how long the launch took.
    pub(super) fn record(&self, trial: Trial, bytes: u64, time: Duration) {
        if !trial.counts {
            return;
        }
        if time >= LONG {
            self.classes[trial.class].spared.store(ROUNDS - 1, Ordering::Relaxed);
        }
        let time = time.as_nanos().saturating_mul(1_000_000) / u128::from(bytes.max(1));
        let time = u64::try_from(time).unwrap_or(u64::MAX - 1) + 1;
        let best = &self.classes[trial.class].best[trial.style];
        let before = best.load(Ordering::Relaxed);
        if before == 0 || time < before {
            best.store(time, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_style_stays() {
        let tuning = Tuning::default();
        for _ in 0..20 {
            let trial = tuning.pick(5);
            let micros = if trial.style == 2 { 70 } else { 100 };
            tuning.record(trial, 1 << 22, Duration::from_micros(micros));
        }
        assert_eq!(tuning.pick(5).style, 2);
        // Another size is measured anew; long launches once for each style.
        for launch in 0..20 {
            let trial = tuning.pick(500);
            assert!(launch <= 4 || trial.style == 1, "{launch}: {trial:?}");
            let millis = if trial.style == 1 { 30 } else { 40 };
            tuning.record(trial, 1 << 28, Duration::from_millis(millis));
        }
    }
}
