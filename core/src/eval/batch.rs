//! Launches of several members: one kernel over the lanes of all (S28).

use std::sync::Arc;

use super::launches::Launch;
use super::{Bound, Evaluator};
use crate::backend::Executable;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::ParamBlock;
use crate::ir::var::VarId;
use crate::memory::buffer::Buffer;

/// Members between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 10;

impl Evaluator<'_> {
    /// Runs the members of a batch; the variables that became data and their buffers.
    pub(super) fn run_members(
        &self,
        launch: &Launch,
        executable: &dyn Executable,
    ) -> Result<Vec<(VarId, Arc<Buffer>)>> {
        let (kernel, n) = (&launch.kernel, launch.size);
        let mut results = Vec::new();
        let mut blocks = Vec::with_capacity(launch.n_members());
        let Bound { addresses, results: made, .. } = self.bind(&launch.bindings, n, &[])?;
        blocks.push(ParamBlock::new(kernel, n, &addresses));
        results.extend(made);
        for (number, member) in launch.others.iter().enumerate() {
            if number % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let Bound { addresses, results: made, .. } = self.bind(&member.bindings, n, &[])?;
            let literals = member.literals.iter().copied();
            blocks.push(ParamBlock::with(kernel, n, &addresses, literals));
            results.extend(made);
        }
        executable.launch_all(blocks, n)?;
        Ok(results)
    }
}
