//! Launches over parts: each runs its lanes, or all of them, or the first part runs them alone.

use std::sync::Arc;

use super::scatter::Scatters;
use super::shared::Shared;
use super::split::Split;
use crate::backend::{CodeStatistics, Executable, Launched};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode, ParamBlock};

/// A kernel of a device with parts.
pub(super) struct Loaded {
    split: Split,
    scatters: Option<Scatters>,
}

impl Loaded {
    /// # Errors
    /// What the device says.
    pub(super) fn new(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Self> {
        let split = Split::new(shared, kernel, mode)?;
        let scatters = kernel.has_scatter().then(|| Scatters::of(shared, kernel, mode));
        Ok(Self { split, scatters })
    }
}

impl Executable for Loaded {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        let shared = self.split.stage.shared();
        let is_small = n < shared.whole;
        if is_small && self.split.stage.is_light(&params) {
            return self.split.stage.run_whole(shared.for_small(), &params, n);
        }
        if !is_small && self.split.stage.runs_ranges() {
            let failures = match &self.scatters {
                None => Some(self.split.run(&params, n)?),
                Some(scatters) => scatters.run(&self.split, &params, n)?,
            };
            if let Some(failures) = failures {
                return Ok(Launched::Done { failures, alone: None });
            }
        }
        self.split.stage.run_whole(0..1, &params, n)
    }

    fn launch_all(&self, members: Arc<Vec<ParamBlock>>, n: u64) -> Result<Launched> {
        let (stage, shared) = (&self.split.stage, self.split.stage.shared());
        // Where one part runs what is small, it runs all members together.
        if n >= shared.whole || shared.for_small() != (0..1) {
            return self.launch_each(&members, n);
        }
        stage.run_members(&members, n)
    }

    fn asks_for_memory_first(&self) -> bool {
        true
    }

    fn prepare(&self, n: u64) -> Result<()> {
        let stage = &self.split.stage;
        let is_shared = self.scatters.as_ref().is_none_or(Scatters::may_be_copied);
        match n >= stage.shared().whole && stage.runs_ranges() && is_shared {
            true => stage.codes().map(drop),
            false => Ok(()),
        }
    }

    fn nanoseconds(&self, n: u64) -> f64 {
        self.split.stage.code().nanoseconds(n)
    }

    fn statistics(&self) -> CodeStatistics {
        self.split.stage.code().statistics()
    }

    fn held_bytes(&self) -> usize {
        self.split.stage.code().held_bytes()
    }
}
