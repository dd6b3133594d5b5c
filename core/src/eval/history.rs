//! The history of launches: the last ten thousand kernels, as data (S24).

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::cache::CacheResult;
use crate::backend::{CodeStatistics, PartNotes, Pending};
use crate::dtype::DType;
use crate::ir::kernel::KernelHash;

/// Launches that are remembered.
const CAPACITY: usize = 10_000;

/// One launch.
#[derive(Clone, Debug)]
pub struct LaunchRecord {
    /// How many launches were before it since the history began or was cleared, forgotten ones too; the history says it.
    pub number: u64,
    /// `kernel`, the primitive's name, or that of a kernel of a CUDA module.
    pub name: Cow<'static, str>,
    /// Structure of the kernel, 0 of a primitive.
    pub hash: KernelHash,
    /// Number of lanes, of all members together.
    pub size: u64,
    /// Members of a batch; otherwise 1.
    pub members: usize,
    /// What is multiplied, if it is a product.
    pub product: Option<Extents>,
    /// Buffers read.
    pub inputs: usize,
    /// Buffers written.
    pub outputs: usize,
    /// Variables computed.
    pub operations: usize,
    /// Whether the kernel had been compiled before.
    pub cache: CacheResult,
    /// Time to compile it, or to read it from a disk; 0 of what was there.
    pub compile_time: Duration,
    /// When there was code, by the session's clock.
    pub start: Duration,
    /// How long it was in line from then on.
    pub waited: Duration,
    /// Time to the end, memory for results included (a GPU: to return); of a launch that was in line, the time in which
    /// it ran.
    pub run_time: Duration,
    /// Who ran it: 0 is the caller, others are threads besides.
    pub worker: usize,
    /// What the parts of the device have done for it.
    pub parts: PartNotes,
    /// The launch, while it is in line.
    pub pending: Option<Arc<Pending>>,
    /// Size and resources of the code.
    pub code: CodeStatistics,
}

/// What a product multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Products.
    pub n: u64,
    /// Rows of the left matrices.
    pub rows: u64,
    /// Columns of the left, and rows of the right ones.
    pub depth: u64,
    /// Columns of the right ones.
    pub columns: u64,
    /// Type of the entries, or of their parts.
    pub dtype: DType,
    /// Whether the entries are complex.
    pub is_complex: bool,
}

impl Extents {
    /// Operations on numbers, additions and multiplications counted apart.
    pub fn operations(&self) -> u64 {
        let each = if self.is_complex { 8 } else { 2 };
        [self.rows, self.depth, self.columns, each].into_iter().fold(self.n, u64::saturating_mul)
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, rows, depth, columns, dtype, is_complex } = self;
        if *n != 1 {
            write!(f, "{n} times ")?;
        }
        let complex = if *is_complex { "complex " } else { "" };
        write!(f, "{rows}x{depth} · {depth}x{columns}, {complex}{dtype}")
    }
}

/// All launches of a session together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchTotals {
    /// How many.
    pub launches: u64,
    /// Time to find or compile kernels.
    pub compile_time: Duration,
    /// Time from then to the end, memory for results included (devices that run ahead: to return).
    pub run_time: Duration,
}

/// The last launches, oldest first.
#[derive(Debug, Default)]
pub struct History {
    records: VecDeque<LaunchRecord>,
    totals: LaunchTotals,
    /// How many of the records, the first ones, are of launches that are not in line.
    n_settled: usize,
}

impl History {
    /// Writes down how launches went that were in line.
    pub fn settle(&mut self) {
        for record in self.records.range_mut(self.n_settled..) {
            let Some((outcome, waited)) = record.pending.as_ref().and_then(|one| one.outcome())
            else {
                continue;
            };
            self.totals.run_time += outcome.time;
            let (time, worker) = (outcome.time, outcome.worker);
            (record.waited, record.run_time, record.worker) = (waited, time, worker);
            record.pending = None;
        }
        let mut unsettled = self.records.range(self.n_settled..);
        let more = unsettled.position(|record| record.pending.is_some());
        self.n_settled = more.map_or(self.records.len(), |more| self.n_settled + more);
    }

    /// Adds a launch, forgetting the oldest if there are too many.
    pub fn push(&mut self, mut record: LaunchRecord) {
        if self.records.len() == CAPACITY {
            self.settle();
            self.records.pop_front();
            self.n_settled = self.n_settled.saturating_sub(1);
        }
        record.number = self.records.back().map_or(0, |last| last.number + 1);
        self.totals.launches += 1;
        self.totals.compile_time += record.compile_time;
        if record.pending.is_none() {
            self.totals.run_time += record.run_time;
        }
        self.records.push_back(record);
    }

    /// The launches, oldest first.
    pub fn records(&self) -> impl Iterator<Item = &LaunchRecord> {
        self.records.iter()
    }

    /// All launches together, also those forgotten.
    pub fn totals(&self) -> LaunchTotals {
        self.totals
    }

    /// Forgets all launches; the totals stay.
    pub fn clear(&mut self) {
        self.settle();
        self.records.clear();
        self.n_settled = 0;
    }
}
