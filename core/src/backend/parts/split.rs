//! A launch whose lanes parts share: indices of which nothing is known are looked at before.

use std::sync::{Arc, OnceLock};

use super::extremes::Extremes;
use super::partition::Partition;
use super::shared::Shared;
use super::stage::{Found, Stage};
use crate::backend::Failures;
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode, ParamBlock};

/// A kernel that parts share.
pub(super) struct Split {
    pub(super) stage: Stage,
    mode: LiteralMode,
    /// Made when it may pay.
    extremes: OnceLock<Option<Extremes>>,
}

impl Split {
    /// # Errors
    /// What the device says.
    pub(super) fn new(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Self> {
        let stage = Stage::new(shared, kernel, mode)?;
        Ok(Self { stage, mode, extremes: OnceLock::new() })
    }

    /// Each part runs its lanes; the lowest lanes that were out of bounds. What is scattered each writes at its own place.
    ///
    /// # Errors
    /// As a launch.
    pub(super) fn run(&self, params: &ParamBlock, n: u64) -> Result<Failures> {
        let partition = Partition::new(n, self.stage.shared().memory.parts());
        let found = self.look(params, n, partition)?;
        self.stage.run_parts(params, n, partition, &found)
    }

    /// What each part reads by indices of which nothing is known, where that may spare it much.
    fn look(&self, params: &ParamBlock, n: u64, partition: Partition) -> Result<Found> {
        let unknown = self.stage.unknown(params, n);
        if unknown.is_empty() {
            return Ok(Found::new());
        }
        let known = match self.extremes.get() {
            Some(known) => known,
            None => {
                let made = Extremes::of(self.stage.shared(), self.stage.kernel(), self.mode)?;
                // Another thread's is as good.
                self.extremes.get_or_init(|| made)
            }
        };
        known.as_ref().map_or_else(|| Ok(Found::new()), |it| it.find(params, partition, &unknown))
    }
}
