//! Functions that are recorded once (S21): what they record, and the same again of other arguments.
//!
//! A function is called with stand-ins of its arguments, variables that have no lanes. What depends on them is its trace. A
//! call of it later copies the trace, with arguments in the place of stand-ins; so it fuses with what is around.

use std::collections::HashSet;
use std::sync::Arc;

use super::Recorder;
use super::copy::Copy;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::mix::Mix;
use crate::ir::var::{Kind, VarId, Variable};

/// Variables between two looks at the interrupt flag.
const POLL: usize = 1 << 12;

/// A trace from stand-ins to outputs.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) inputs: Vec<VarId>,
    pub(crate) outputs: Vec<VarId>,
    /// What depends on an input, and what is in the bodies of regions.
    members: Arc<HashSet<VarId, Mix>>,
    /// Those outside of bodies, operands before users.
    order: Vec<VarId>,
}

impl Recorder<'_> {
    /// A variable like another, but without lanes: whoever asks for them gets an error.
    pub(crate) fn stand_in(&mut self, id: VarId) -> VarId {
        let (dtype, size, line) = (self.dtype(id), self.size(id), self.settings.line);
        let mut bare = Variable::new(Kind::Data, dtype, size, [None; 4]);
        bare.cold_mut().poisoned = Some(Error::StandIn { line });
        let bare = self.table.insert(bare);
        let value = self.table.same_value(bare);
        self.owned.extend([bare, value]);
        value
    }

    /// The trace from stand-ins to outputs.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(crate) fn replay(&self, inputs: &[VarId], outputs: &[VarId]) -> Result<Replay> {
        let mut members: HashSet<VarId, Mix> = HashSet::default();
        let mut seen: HashSet<VarId, Mix> = HashSet::default();
        members.extend(inputs.iter().flat_map(|&input| [input, self.bare(input)]));
        seen.extend(&members);
        // What was recorded before all stand-ins depends on none.
        let least = members.iter().map(|&id| self.var(id).serial).min().unwrap_or(u64::MAX);
        let mut path: Vec<(VarId, usize)> = Vec::new();
        let mut order = Vec::new();
        for &output in outputs {
            if seen.insert(output) {
                path.push((output, 0));
            }
            while let Some((id, next)) = path.last_mut() {
                let (id, operand) = (*id, self.var(*id).operands().nth(*next));
                *next += 1;
                if let Some(operand) = operand {
                    if self.var(operand).serial >= least && seen.insert(operand) {
                        path.push((operand, 0));
                    }
                    continue;
                }
                path.pop();
                let variable = self.var(id);
                let is_inside = variable.scope != 0;
                if is_inside || variable.operands().any(|operand| members.contains(&operand)) {
                    members.insert(id);
                    // A region is copied with the first value behind it.
                    let is_copied = !is_inside && !matches!(variable.kind, Kind::Region { .. });
                    order.extend(is_copied.then_some(id));
                }
                if seen.len().is_multiple_of(POLL) && interrupt::is_requested() {
                    return Err(Error::Interrupted);
                }
            }
        }
        let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
        Ok(Replay { inputs, outputs, members: Arc::new(members), order })
    }

    /// The outputs of a trace for other inputs, of the same types and sizes.
    ///
    /// # Errors
    /// What is recorded cannot be, for lack of room; `Interrupted`.
    pub(crate) fn replayed(&mut self, replay: &Replay, inputs: &[VarId]) -> Result<Vec<VarId>> {
        let mut copy = Copy::of_members(replay.members.clone());
        for (&stand_in, &input) in replay.inputs.iter().zip(inputs) {
            copy.of.insert(stand_in, input);
            copy.of.insert(self.bare(stand_in), input);
        }
        for (n, &id) in replay.order.iter().enumerate() {
            if n.is_multiple_of(POLL) && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let made = self.copy_of(&mut copy, id)?;
            copy.of.insert(id, made);
        }
        replay.outputs.iter().map(|&output| self.copied(&mut copy, output)).collect()
    }

    /// The variable without lanes that a stand-in is the value of.
    fn bare(&self, stand_in: VarId) -> VarId {
        self.var(stand_in).operands[1].unwrap_or(stand_in)
    }
}
