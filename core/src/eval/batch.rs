//! Launches of several members: one kernel over the lanes of all (S28).

use std::sync::Arc;
use std::time::Duration;

use super::cache::Found;
use super::history::LaunchRecord;
use super::launches::{Launch, Member};
use super::{Bound, Evaluator, compilation, compile_time, lock};
use crate::error::{Error, Result};
use crate::eval::cache::CacheResult;
use crate::interrupt;
use crate::ir::kernel::ParamBlock;
use crate::ir::var::VarId;
use crate::memory::buffer::Buffer;

/// Members between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 10;

impl Evaluator<'_> {
    /// Runs a batch; the variables it made data and their buffers.
    pub(super) fn run_batch(&mut self, launch: &Launch) -> Result<Vec<(VarId, Arc<Buffer>)>> {
        let kernel = &launch.kernel;
        let (inputs, outputs) = (kernel.n_inputs(), kernel.buffers.len() - kernel.n_inputs());
        let n_members = launch.n_members();
        self.say(1, || {
            let (n, ops) = (launch.size, kernel.n_ops);
            format!(
                "eval(): launching batch of {n_members} (n={n}, in={inputs}, out={outputs}, ops={ops})"
            )
        });
        let start = (self.clock)();
        let Found { executable, result: cache, mode, .. } =
            self.cache.get(kernel, launch.size, launch.varies(), self.backend)?;
        let mut ready = (self.clock)();
        let code = executable.statistics();
        let compile_time = compile_time(cache, ready.saturating_sub(start), code);
        self.say(2, || compilation(cache, compile_time, code));
        if cache != CacheResult::Hit && self.log.enabled(3) {
            self.log_code(kernel, mode)?;
            ready = (self.clock)();
        }
        let literals = kernel.literals.iter().map(|&(_, bits)| bits).collect();
        let first = Member { bindings: launch.bindings.clone(), literals };
        let mut results = Vec::with_capacity(n_members * outputs);
        let mut blocks = Vec::with_capacity(n_members);
        for (number, member) in [&first].into_iter().chain(&launch.others).enumerate() {
            if number % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let Bound { addresses, results: made, .. } =
                self.bind(&member.bindings, launch.size, &[])?;
            blocks.push(ParamBlock::with(kernel, launch.size, &addresses, &member.literals));
            results.extend(made);
        }
        if launch.size > 0 {
            executable.launch_all(blocks, launch.size)?;
        }
        let run_time: Duration = (self.clock)().saturating_sub(ready);
        lock(self.history).push(LaunchRecord {
            name: "batch".into(),
            hash: kernel.hash,
            size: launch.size * n_members as u64,
            members: n_members,
            product: None,
            inputs,
            outputs,
            operations: kernel.n_ops,
            cache,
            compile_time,
            start: ready,
            run_time,
            code,
        });
        Ok(results)
    }
}
