//! What the parts of a device have done for a launch, or will.

use std::collections::BTreeMap;
use std::time::Duration;

/// The array that a buffer of a kernel is to be.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its elements.
    pub elements: u64,
    /// The element that lane 0 reads.
    pub first: u64,
}

/// What the parts of a device will bring each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Bytes.
    pub bytes: u64,
    /// Whether it may be less, since indices are not known before.
    pub is_at_most: bool,
}

/// What the parts of a device have done for a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartNotes {
    /// Bytes that they have brought each other.
    pub exchanged: u64,
    /// Why GPUs of several processes do not send each other bytes by themselves; told once.
    pub refusal: Option<String>,
    /// What they did when, where that is known: GPUs go on when nobody looks any more.
    pub works: Vec<PartWork>,
}

/// What a part did at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartWork {
    /// Its number; 0 is here.
    pub part: usize,
    /// How long before the end of the launch it began.
    pub ago: Duration,
    /// How long it took.
    pub time: Duration,
}

/// The part that took longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowest {
    /// Its number; 0 is here.
    pub part: usize,
    /// How long it took.
    pub time: Duration,
    /// How long parts with work took in the mean.
    pub mean: Duration,
}

impl PartNotes {
    /// The part that took longest, where that is known.
    pub fn slowest(&self) -> Option<Slowest> {
        let mut times = BTreeMap::<usize, Duration>::new();
        for work in &self.works {
            *times.entry(work.part).or_default() += work.time;
        }
        let (&part, &time) = times.iter().max_by_key(|&(_, time)| time)?;
        let mean = times.values().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1);
        Some(Slowest { part, time, mean })
    }
}
