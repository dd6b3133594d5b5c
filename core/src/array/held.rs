//! Ways through the trace, from outputs to inputs or back, which halt where somebody else has the derivative.

use std::sync::Arc;

use super::Array;
use super::rules::{Ask, Rule};
use crate::error::{Error, Result};
use crate::ir::composite::Composite;
use crate::ir::var::VarId;
use crate::session::Session;
use crate::trace::Recorder;
use crate::trace::derive::{Ends, PullBack, PushForward, Turn, Way};

/// What is recorded on a way through the trace, with pauses in which the table is not lent.
pub(super) struct Held<'s> {
    session: &'s Session,
    ids: Vec<VarId>,
}

impl<'s> Held<'s> {
    pub(super) fn new(session: &'s Session) -> Self {
        Self { session, ids: Vec::new() }
    }

    /// Records, and holds what was made.
    pub(super) fn record<R>(
        &mut self,
        work: impl FnOnce(&mut Recorder<'_>) -> Result<R>,
    ) -> Result<R> {
        self.session.with_recorder(|mut recorder| {
            let result = work(&mut recorder);
            // Regions, and what is in them, are held by the values behind them.
            self.ids.append(&mut recorder.into_owned_values());
            result
        })
    }

    /// Holds what comes with an external reference.
    pub(super) fn adopt(&mut self, ids: impl IntoIterator<Item = VarId>) {
        self.ids.extend(ids);
    }

    /// Goes back from variables, each with its cotangent, to all marks, and adds to their gradients. Those of outputs
    /// that are marks themselves were their cotangents.
    pub(super) fn pull_to_marks(
        &mut self,
        pairs: &[(VarId, VarId)],
        outputs: &[VarId],
        asked: &mut dyn Ask,
    ) -> Result<()> {
        let (mut way, marks) = self.record(|recorder| {
            let ends: Vec<VarId> = pairs.iter().map(|&(id, _)| id).collect();
            let cone = recorder.cone(Way::Back, &ends, Ends::Marks)?;
            let marks = recorder.marks_of(&cone);
            Ok((recorder.begin_pull(cone, pairs, &marks)?, marks))
        })?;
        self.session.no_grad(|| {
            self.pull(&mut way, asked)?;
            self.record(|recorder| {
                let gradients = recorder.end_pull(&way, &marks)?;
                let parts = marks.iter().zip(gradients).filter_map(|(&m, part)| Some((m, part?)));
                for (mark, part) in parts {
                    recorder.add_to_gradient(mark, part, outputs)?;
                }
                Ok(())
            })
        })
    }

    /// Goes back to the inputs.
    pub(super) fn pull(&mut self, way: &mut PullBack, asked: &mut dyn Ask) -> Result<()> {
        loop {
            let (id, moves) = match self.record(|recorder| recorder.pull_on(way))? {
                Turn::Done => return Ok(()),
                Turn::Asks { id, moves } => (id, moves),
                Turn::Counts { region, turns } => {
                    let turns = self.numbers(&turns).map_err(|error| self.uncounted(error))?;
                    let memory = self.session.memory_info();
                    let room = memory.limit.saturating_sub(memory.used);
                    self.record(|recorder| recorder.pull_loop(way, region, &turns, room))?;
                    continue;
                }
            };
            let asking = self.asking(id, &moves)?;
            let [Some(cotangent)] = &asking.moves[..] else {
                unreachable!("internal error: a value without a cotangent")
            };
            let parts = match asking.rule() {
                Rule::Own(rule) => rule.pull(asking.args(), &asking.value, cotangent)?,
                Rule::Told(told) => {
                    asking.fitting(asked.pull(told, asking.args(), cotangent)?)?
                }
            };
            let ids: Vec<Option<VarId>> =
                parts.iter().map(|part| part.as_ref().map(Array::id)).collect();
            self.record(|recorder| recorder.pull_told(way, id, &ids))?;
            self.keep(parts.into_iter().flatten());
        }
    }

    /// The values of variables of one lane.
    fn numbers(&self, ids: &[VarId]) -> Result<Vec<u64>> {
        let known = |id: &VarId| self.session.with_table(|table| table.get(*id).kind.number());
        if let Some(known) = ids.iter().map(known).collect() {
            return Ok(known);
        }
        let arrays = ids.iter().map(|&id| self.session.record(|_| Ok(id)));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let all: Vec<&Array> = arrays.iter().collect();
        self.session.eval_for("counting the turns of a loop", &all)?;
        let number = |array: &Array| array.to_vec::<u32>().map(|lanes| lanes.into_iter().next());
        arrays.iter().map(|array| number(array).map(|n| n.map_or(0, u64::from))).collect()
    }

    /// What it means that numbers of turns cannot be read.
    fn uncounted(&self, error: Error) -> Error {
        let Error::StandIn { .. } = error else { return error };
        let what = "a loop that goes backwards is counted before, and in a function that is recorded once no value has \
                    lanes: #{max_iterations: n} says how many turns there are at most";
        let error = Error::Argument { op: "jit", what: what.into() };
        self.session.fail_recording(error.clone());
        error
    }

    /// Goes forward to the outputs.
    pub(super) fn push(&mut self, way: &mut PushForward, asked: &mut dyn Ask) -> Result<()> {
        while let Turn::Asks { id, moves } = self.record(|recorder| recorder.push_on(way))? {
            let asking = self.asking(id, &moves)?;
            let (args, moves) = (asking.args(), &asking.moves[..asking.args().len()]);
            let tangent = match asking.rule() {
                Rule::Own(rule) => rule.push(args, &asking.value, moves)?,
                Rule::Told(told) => asked.push(told, args, moves)?,
            };
            self.record(|recorder| recorder.push_told(way, id, tangent.id()))?;
            self.keep([tangent]);
        }
        Ok(())
    }

    /// What somebody who has the derivative of a variable is asked.
    fn asking(&self, id: VarId, moves: &[Option<VarId>]) -> Result<Asking> {
        let (composite, operands) = self.session.with_table(|table| {
            let variable = table.get(id);
            (variable.called_composite().cloned(), variable.made_of())
        });
        let composite = composite.expect("internal error: a derivative of no function");
        let array = |&id: &VarId| self.session.record(|_| Ok(id));
        let operands = operands.iter().map(array).collect::<Result<Vec<_>>>()?;
        let moves = moves.iter().map(|id| id.as_ref().map(array).transpose());
        let moves = moves.collect::<Result<Vec<_>>>()?;
        Ok(Asking { composite, operands, value: array(&id)?, moves })
    }

    /// Holds what somebody else recorded.
    fn keep(&mut self, arrays: impl IntoIterator<Item = Array>) {
        let ids = arrays.into_iter().map(|array| {
            self.session.with_table(|table| table.inc_external(array.id()));
            array.id()
        });
        self.ids.extend(ids);
    }
}

/// A question for the derivative of a function.
struct Asking {
    composite: Arc<Composite>,
    /// The arguments, and the value as it came.
    operands: Vec<Array>,
    value: Array,
    /// The value's cotangent, or the tangents of the operands.
    moves: Vec<Option<Array>>,
}

impl Asking {
    fn rule(&self) -> &Rule {
        let rule = self.composite.derivative.as_ref().and_then(|rule| rule.downcast_ref::<Rule>());
        rule.expect("internal error: a derivative of another kind")
    }

    fn args(&self) -> &[Array] {
        &self.operands[..self.operands.len() - 1]
    }

    /// The gradients that somebody said, if they are of the sizes of the arguments.
    fn fitting(&self, parts: Vec<Option<Array>>) -> Result<Vec<Option<Array>>> {
        for (arg, part) in self.args().iter().zip(&parts) {
            let n = part.as_ref().map_or(1, Array::size);
            if n != 1 && arg.size() != 1 && n != arg.size() {
                let what = format!(
                    "that of {} gave a gradient of {n} lanes for an argument of {}; it has as many, or one",
                    self.composite.name,
                    arg.size()
                );
                return Err(Error::Argument { op: "backward", what });
            }
        }
        Ok(parts)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        self.session.with_table(|table| ids.into_iter().for_each(|id| table.dec_external(id)));
    }
}
