//! What `kernel_history` tells of a launch: one list for whoever shows it.

use std::time::Duration;

use super::cache::CacheResult;
use super::history::LaunchRecord;
use crate::backend::Slowest;

/// What stands in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Words.
    Text(String),
    /// How many.
    Count(u64),
    /// A time.
    Micros(f64),
    /// Whether it is so.
    Truth(bool),
    /// It is not known.
    Unknown,
}

impl Entry {
    fn micros(time: Duration) -> Self {
        Self::Micros(time.as_secs_f64() * 1e6)
    }

    fn number(n: usize) -> Self {
        Self::Count(n as u64)
    }

    fn slowest(launch: &LaunchRecord, entry: impl Fn(&Slowest) -> Self) -> Self {
        launch.parts.slowest().map_or(Self::Unknown, |slowest| entry(&slowest))
    }
}

/// A column: its name, and what stands there.
pub type Column = (&'static str, fn(&LaunchRecord) -> Entry);

const COLUMNS: [Column; 19] = [
    ("number", |launch| Entry::Count(launch.number)),
    ("name", |launch| Entry::Text(launch.name.to_string())),
    ("size", |launch| Entry::Count(launch.size)),
    ("run_us", |launch| Entry::micros(launch.run_time)),
    ("waited_us", |launch| Entry::micros(launch.waited)),
    ("worker", |launch| Entry::number(launch.worker)),
    ("compile_us", |launch| Entry::micros(launch.compile_time)),
    ("cache_hit", |launch| Entry::Truth(launch.cache != CacheResult::Miss)),
    ("operations", |launch| Entry::number(launch.operations)),
    ("inputs", |launch| Entry::number(launch.inputs)),
    ("outputs", |launch| Entry::number(launch.outputs)),
    ("registers", |launch| Entry::number(launch.code.registers)),
    ("spills", |launch| Entry::number(launch.code.spills)),
    ("code_bytes", |launch| Entry::number(launch.code.bytes)),
    ("hash", |launch| Entry::Text(format!("{:.8}", launch.hash.to_string()))),
    ("exchanged", |launch| Entry::Count(launch.parts.exchanged)),
    ("slowest_part", |launch| Entry::slowest(launch, |slowest| Entry::number(slowest.part))),
    ("slowest_us", |launch| Entry::slowest(launch, |slowest| Entry::micros(slowest.time))),
    ("mean_us", |launch| Entry::slowest(launch, |slowest| Entry::micros(slowest.mean))),
];
/// The last ones, of what parts have done.
const OF_PARTS: usize = 4;

/// The columns of the launches of a device, which may have parts.
pub const fn columns(has_parts: bool) -> &'static [Column] {
    let (alone, _) = COLUMNS.split_at(COLUMNS.len() - OF_PARTS);
    if has_parts { &COLUMNS } else { alone }
}
