//! Launches of several members: one kernel over the lanes of all (S28).

use std::sync::Arc;

use super::exhausted::refused;
use super::launches::Launch;
use super::{Bound, Evaluator, Started, lock};
use crate::backend::Executable;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::ParamBlock;

/// Members between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 10;

impl Evaluator<'_> {
    /// Runs the members of a batch; the variables that became data and their buffers.
    pub(super) fn run_members(
        &self,
        launch: &Launch,
        executable: &dyn Executable,
        at_once: bool,
    ) -> Result<Started> {
        let (kernel, n) = (&launch.kernel, launch.size);
        let mut results = Vec::new();
        let mut blocks = Vec::with_capacity(launch.n_members());
        let mut add = |mut params: ParamBlock, held| {
            params.at_once = at_once;
            params.held = held;
            blocks.push(params);
        };
        let Bound { addresses: first, results: made, held, .. } =
            self.bind(&launch.bindings, n, &[])?;
        add(ParamBlock::new(kernel, n, &first), held);
        results.extend(made);
        for (number, member) in launch.others.iter().enumerate() {
            if number % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let Bound { addresses, results: made, held, .. } =
                self.bind(&member.bindings, n, &[])?;
            let literals = member.literals.iter().copied();
            add(ParamBlock::with(kernel, n, &addresses, literals), held);
            results.extend(made);
        }
        let launched = executable.launch_all(Arc::new(blocks), n);
        let launched = launched.map_err(|error| refused(&lock(self.table), error))?;
        let pending = launched.pending();
        self.report_bounds(launched, launch, &first)?;
        Ok(Started { results, pending, alone: None })
    }
}
