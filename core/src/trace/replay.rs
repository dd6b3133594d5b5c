//! Functions that are recorded once (S21): what they record, calls of it, and the same again of other arguments.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::call::called;
use super::copy::Copy;
use super::{Recorder, Settings};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::composite::{Call, Composite, Output, Record, Recording, ResultOf};
use crate::ir::mix::Mix;
use crate::ir::var::{Kind, VarId, Variable};

/// References from results of a call to inputs, beyond which it is recorded at once.
const MOST_REFERENCES: usize = 1 << 12;

/// Variables between two looks at the interrupt flag.
const POLL: usize = 1 << 12;

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

    /// The trace from stand-ins to outputs, under a name. The caller owns an internal reference to its keeper.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(crate) fn recording(
        &mut self,
        name: &'static str,
        inputs: &[VarId],
        outputs: &[VarId],
    ) -> Result<Recording> {
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
        self.sort_as_recorded(&mut order);
        let operands = members.iter().flat_map(|&id| self.var(id).operands());
        let mut outside: Vec<VarId> = operands.chain(outputs.iter().copied()).collect();
        outside.retain(|id| !members.contains(id));
        outside.sort_unstable();
        outside.dedup();
        let mut known: HashMap<VarId, Output, Mix> = HashMap::default();
        for (number, &input) in inputs.iter().enumerate() {
            let ids = [input, self.bare(input)];
            known.extend(ids.map(|id| (id, Output::Input(number))));
        }
        let mut keeper = Variable::new(Kind::Data, DType::Mask, 0, [None; 4]);
        // No listing of values has it.
        keeper.cold_mut().poisoned = Some(Error::StandIn { line: self.settings.line });
        keeper.cold_mut().arguments = inputs.iter().chain(outputs).copied().collect();
        let output = |&id: &VarId| match known.get(&id) {
            Some(&input) => input,
            None if members.contains(&id) => Output::Made(id),
            None => Output::Outside(id),
        };
        let ends: HashSet<VarId, Mix> = outputs.iter().copied().collect();
        let outputs: Vec<Output> = outputs.iter().map(output).collect();
        let within = order.iter().filter(|id| !ends.contains(id)).map(|&id| self.var(id).bytes());
        let bytes_within = within.fold(0, u64::saturating_add);
        let may_wait = self.may_wait(&members, inputs, &outputs);
        let inputs = inputs.to_vec();
        // Nobody outside holds it: it is never evaluated.
        let keeper = self.table.insert(keeper);
        self.table.inc_internal(keeper);
        self.table.dec_external(keeper);
        let serial = self.var(keeper).serial;
        Ok(Recording {
            name,
            serial,
            inputs,
            outputs,
            members: Arc::new(members),
            order,
            outside,
            may_wait,
            bytes_within,
            keeper,
        })
    }

    /// Whether it is all the same when a call is recorded: what is written by index is made in it, for only somebody who
    /// has nothing else of an argument has it written in place. An output that others are made of is recorded once more
    /// behind itself, which must not be a launch.
    fn may_wait(
        &self,
        members: &HashSet<VarId, Mix>,
        inputs: &[VarId],
        outputs: &[Output],
    ) -> bool {
        let used: HashSet<VarId, Mix> =
            members.iter().flat_map(|&id| self.var(id).operands()).collect();
        let is_fused = |output: &Output| match output {
            Output::Input(_) | Output::Outside(_) => true,
            Output::Made(id) => {
                let kind = self.var(*id).kind;
                let is_lane_by_lane =
                    matches!(kind, Kind::Op(_) | Kind::Call(_) | Kind::Output { .. });
                is_lane_by_lane || !used.contains(id)
            }
        };
        let is_input = |id| inputs.iter().any(|&input| id == input || id == self.bare(input));
        let is_own = |id: VarId| {
            self.var(id).kind.number().is_some() || members.contains(&id) && !is_input(id)
        };
        let writes = |&id: &VarId| match self.var(id).kind {
            Kind::Scatter { .. } => !self.var(id).operands[0].is_some_and(is_own),
            kind => matches!(kind, Kind::Fetch | Kind::Result { memory: true, .. }),
        };
        !members.iter().any(writes) && outputs.iter().all(is_fused)
    }

    /// Sorts variables by serial, for errors are told in the order of recording, unless that puts one before its operands.
    fn sort_as_recorded(&self, order: &mut Vec<VarId>) {
        let mut sorted = order.clone();
        sorted.sort_unstable_by_key(|&id| self.var(id).serial);
        let is_early = |&id: &VarId| {
            let serial = self.var(id).serial;
            self.var(id).operands().any(|operand| self.var(operand).serial > serial)
        };
        if !sorted.iter().any(is_early) {
            *order = sorted;
        }
    }

    /// The outputs of a trace for other inputs, of the same types and sizes.
    ///
    /// # Errors
    /// What is recorded cannot be, for lack of room; `Interrupted`.
    pub(crate) fn replayed(
        &mut self,
        recording: &Recording,
        inputs: &[VarId],
    ) -> Result<Vec<VarId>> {
        let mut copy = Copy::of_members(recording.members.clone());
        for (&stand_in, &input) in recording.inputs.iter().zip(inputs) {
            copy.of.insert(stand_in, input);
            copy.of.insert(self.bare(stand_in), input);
        }
        for (n, &id) in recording.order.iter().enumerate() {
            if n.is_multiple_of(POLL) && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let made = self.copy_of(&mut copy, id)?;
            copy.of.insert(id, made);
        }
        let output = |&output: &Output| match output {
            Output::Input(number) => Ok(inputs[number]),
            Output::Outside(id) => Ok(id),
            Output::Made(id) => self.copied(&mut copy, id),
        };
        recording.outputs.iter().map(output).collect()
    }

    /// A function that records the same again, from other inputs and the keeper.
    pub(crate) fn recorder_of(&self, recording: &Arc<Recording>) -> Arc<Record> {
        let (settings, recording) = (self.settings, recording.clone());
        Arc::new(move |table, line, args| {
            let table = table.downcast_mut().expect("internal error: recording into no table");
            let mut recorder = Recorder::with_room(table, Settings { line, ..settings })?;
            let results = recorder.replayed(&recording, &args[..recording.inputs.len()])?;
            Ok(recorder.finish_all(&results).into_iter().map(|result| result.id).collect())
        })
    }

    /// The outputs of a trace for other inputs, of the same types and sizes: a call, where it may be recorded later.
    ///
    /// # Errors
    /// As [`Self::replayed`].
    pub(crate) fn recorded_call(
        &mut self,
        recording: &Arc<Recording>,
        record: &Arc<Record>,
        inputs: &[VarId],
    ) -> Result<Vec<VarId>> {
        let is_known = |&id: &VarId| self.var(id).tracked || self.var(id).kind.number().is_some();
        let n_references = inputs.len().saturating_mul(recording.outputs.len());
        let may_wait = recording.may_wait
            && n_references <= MOST_REFERENCES
            && !self.table.recording.functions.has_own();
        if !may_wait || inputs.iter().any(is_known) || self.is_spelled_out(inputs) {
            return self.replayed(recording, inputs);
        }
        let call = Arc::new(Call { recording: recording.clone(), results: OnceLock::new() });
        let args: SmallVec<[VarId; 4]> = inputs.iter().copied().chain([recording.keeper]).collect();
        let mut bytes_within = recording.bytes_within;
        let mut value = |(position, &output): (usize, &Output)| match output {
            Output::Input(number) => (inputs[number], None),
            Output::Outside(id) => (id, None),
            Output::Made(output) => {
                let composite = Composite {
                    name: recording.name,
                    words: Box::default(),
                    bytes_within: std::mem::take(&mut bytes_within),
                    record: record.clone(),
                    derivative: None,
                    result_of: Some(ResultOf { call: call.clone(), position }),
                };
                let result = called(composite, self.dtype(output), self.size(output), &args);
                // Value numbering would find none like it.
                let id = self.table.insert(Variable { line: self.settings.line, ..result });
                self.owned.push(id);
                (id, Some((id, self.var(id).generation)))
            }
        };
        let (values, results): (Vec<_>, _) =
            recording.outputs.iter().enumerate().map(&mut value).unzip();
        let set = call.results.set(results);
        set.expect("internal error: a call has its results already");
        Ok(values)
    }

    /// Whether a variable is a stand-in.
    pub(crate) fn is_stand_in(&self, id: VarId) -> bool {
        self.var(self.bare(id)).is_stand_in()
    }

    /// The variable without lanes that a stand-in is the value of.
    fn bare(&self, stand_in: VarId) -> VarId {
        self.var(stand_in).operands[1].unwrap_or(stand_in)
    }
}
