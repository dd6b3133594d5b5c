//! Reverse mode: from cotangents of outputs to those of inputs.
//!
//! Lanes that a `select` did not take, and those in which a branch was not run, get no cotangent: nor do the operands of what
//! was computed in them all the same, however it went there (0 times infinity is no number). So a cotangent is passed on with
//! the mask of the lanes that it is in.

use std::collections::HashSet;

use super::loop_states::Kept;
use super::{Cone, Of, Turn};
use crate::error::Result;
use crate::ir::mix::Mix;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::var::{Kind, VarId};
use crate::trace::Recorder;

/// A way back through a cone, which halts where somebody else has the derivative.
pub(crate) struct PullBack {
    cone: Cone,
    inputs: HashSet<VarId, Mix>,
    /// Inputs whose cotangents are added to an array.
    collected: HashSet<VarId, Mix>,
    cotangents: Cotangents,
    /// Of loops, the cotangents of the values behind them by position.
    loops: Of<Vec<Option<VarId>>>,
    /// Of loops in the body of one that runs backwards, what is kept of them.
    kept: Of<Kept>,
    /// Variables that are still to be gone through.
    left: usize,
}

/// Cotangents that were passed on, of the members of a cone.
pub(super) struct Cotangents {
    members: HashSet<VarId, Mix>,
    of: Of<VarId>,
    /// The lanes outside of which the cotangent is 0, of those where that is known.
    within: Of<VarId>,
}

impl PullBack {
    /// The cotangent of a variable that was gone through.
    fn take(&mut self, id: VarId) -> Option<VarId> {
        if self.cone.through.contains(&id) {
            return self.cotangent(id);
        }
        if self.inputs.contains(&id) { None } else { self.cotangents.of.remove(&id) }
    }

    /// The cotangents of the values behind a loop.
    pub(super) fn loop_of(&self, region: VarId) -> Vec<Option<VarId>> {
        self.loops.get(&region).cloned().unwrap_or_default()
    }

    pub(super) fn take_loop(&mut self, region: VarId) -> Vec<Option<VarId>> {
        self.loops.remove(&region).unwrap_or_default()
    }

    /// Lets a loop use what is kept of it.
    pub(super) fn keep(&mut self, region: VarId, kept: Kept) {
        self.kept.insert(region, kept);
    }

    /// Whether an input depends on the variable.
    pub(super) fn wants(&self, id: VarId) -> bool {
        self.cotangents.wants(id)
    }

    /// The cotangent of an input.
    pub(super) fn cotangent(&self, id: VarId) -> Option<VarId> {
        self.cotangents.of.get(&id).copied()
    }

    /// Lets the cotangents of an input be added to an array.
    pub(super) fn collect_in(&mut self, input: VarId, array: VarId) {
        self.collected.insert(input);
        self.cotangents.of.insert(input, array);
    }

    /// Whether the cotangents of an input are added to an array.
    pub(super) fn collects(&self, input: VarId) -> bool {
        self.collected.contains(&input)
    }
}

impl Recorder<'_> {
    /// Begins to go back from outputs, each with its cotangent, to inputs.
    ///
    /// # Errors
    /// `SizeMismatch` if a cotangent does not fit.
    pub(crate) fn begin_pull(
        &mut self,
        cone: Cone,
        outputs: &[(VarId, VarId)],
        inputs: &[VarId],
    ) -> Result<PullBack> {
        let members = cone.order.iter().copied().collect();
        let mut cotangents = Cotangents { members, of: Of::default(), within: Of::default() };
        for &(output, cotangent) in outputs {
            self.pass(&mut cotangents, output, cotangent)?;
        }
        let (inputs, left) = (inputs.iter().copied().collect(), cone.order.len());
        let (loops, kept, collected) = (Of::default(), Of::default(), HashSet::default());
        Ok(PullBack { cone, inputs, collected, cotangents, loops, kept, left })
    }

    /// Goes back to the inputs, or to a variable whose derivative somebody else has.
    ///
    /// # Errors
    /// `Interrupted`; `Argument` for what has no derivative.
    pub(crate) fn pull_on(&mut self, way: &mut PullBack) -> Result<Turn> {
        while way.left > 0 {
            way.left -= 1;
            self.poll(way.left)?;
            let id = way.cone.order[way.left];
            if way.loops.contains_key(&id) {
                if let Some(kept) = way.kept.remove(&id) {
                    self.run_back(way, id, &kept)?;
                    continue;
                }
                if let Some(kept) = self.keep_ends(id)? {
                    self.run_back(way, id, &kept)?;
                    continue;
                }
                let nest = self.nest_of(id)?;
                let turns = self.turns_of(&nest)?;
                return Ok(Turn::Counts { region: id, turns });
            }
            let Some(cotangent) = way.take(id) else { continue };
            let cotangent = self.fitting(cotangent, self.size(id))?;
            if let Some(&expansion) = way.cone.expanded.get(&id) {
                let within = way.cotangents.within.get(&id).copied();
                self.pass_within(&mut way.cotangents, expansion, cotangent, within)?;
            } else if let Kind::Result { position, .. } = self.var(id).made_by() {
                let region = self.var(id).made_of()[0];
                let n = self.var(region).region().map_or(0, |region| region.values.len());
                let of_values = way.loops.entry(region).or_insert_with(|| vec![None; n]);
                of_values[position as usize] = Some(cotangent);
            } else if self.has_rule_of_its_own(id) {
                return Ok(Turn::Asks { id, moves: vec![Some(cotangent)] });
            } else {
                self.pull_through(&mut way.cotangents, id, cotangent)?;
            }
        }
        Ok(Turn::Done)
    }

    /// Passes what somebody else said of the variable `id`: the cotangents of its operands.
    ///
    /// # Errors
    /// `SizeMismatch`.
    pub(crate) fn pull_told(
        &mut self,
        way: &mut PullBack,
        id: VarId,
        parts: &[Option<VarId>],
    ) -> Result<()> {
        // The function may go across lanes: which of its operands' the cotangent does not reach is not known.
        for (operand, part) in self.var(id).made_of().into_iter().zip(parts) {
            if let Some(part) = *part {
                // What has one lane was that of all lanes.
                let part = self.fitting(part, self.size(operand)).unwrap_or(part);
                self.pass(&mut way.cotangents, operand, part)?;
            }
        }
        Ok(())
    }

    /// The gradients by the inputs; `None` where no output depends on one. Sums of them begin with 0.
    ///
    /// # Errors
    /// None at present.
    pub(crate) fn end_pull(
        &mut self,
        way: &PullBack,
        inputs: &[VarId],
    ) -> Result<Vec<Option<VarId>>> {
        let gradient = |input: &VarId| {
            let Some(&sum) = way.cotangents.of.get(input) else { return Ok(None) };
            let sum = self.fitting(sum, self.size(*input))?;
            let zero = self.constant(self.dtype(sum), 0);
            self.same(Op::Add, &[sum, zero]).map(Some)
        };
        inputs.iter().map(gradient).collect()
    }

    /// Passes the cotangent of a variable to its operands.
    fn pull_through(
        &mut self,
        cotangents: &mut Cotangents,
        id: VarId,
        cotangent: VarId,
    ) -> Result<()> {
        if let Some(rule) = self.complex_rule(id) {
            let arguments = self.complex_arguments(rule);
            let within = cotangents.within.get(&id).copied();
            for (i, argument) in arguments.chunks_exact(2).enumerate() {
                if argument.iter().any(|&part| cotangents.wants(part)) {
                    let parts = self.pull_complex(rule, cotangent, i)?;
                    for (&of, part) in argument.iter().zip(parts) {
                        let part = self.only_within(part, within)?;
                        self.pass_within(cotangents, of, part, within)?;
                    }
                }
            }
            return Ok(());
        }
        let is_of_lanes = matches!(self.var(id).made_by(), Kind::Op(_) | Kind::Call(_));
        if !is_of_lanes {
            return self.pull_across(cotangents, id, cotangent);
        }
        let operands = self.var(id).made_of();
        let within = cotangents.within.get(&id).copied();
        for (i, &operand) in operands.iter().enumerate() {
            if !cotangents.wants(operand) {
                continue;
            }
            let mut part = self.times_partial(id, cotangent, i)?;
            let mut within = within;
            match self.var(id).made_by() {
                Kind::Op(Op::Select) => within = Some(self.taken(within, operands[0], i)?),
                Kind::Op(op) if !scales(op, i) => {}
                _ => part = self.only_within(part, within)?,
            }
            self.pass_within(cotangents, operand, part, within)?;
        }
        Ok(())
    }

    /// The lanes of `within` in which a selection takes its i-th operand.
    fn taken(&mut self, within: Option<VarId>, condition: VarId, i: usize) -> Result<VarId> {
        let taken = if i == 1 { condition } else { self.elementwise(Op::Not, &[condition])? };
        within.map_or(Ok(taken), |within| self.elementwise(Op::And, &[within, taken]))
    }

    /// The lanes of one mask or another; `None` if these are all.
    fn either(&mut self, one: VarId, other: VarId) -> Result<Option<VarId>> {
        if self.are_opposite(one, other) {
            return Ok(None);
        }
        // Both ways out of a selection inside another one.
        let is_and = |id: VarId| self.var(id).kind == Kind::Op(Op::And);
        if is_and(one) && is_and(other) {
            let parts = [one, other].map(|id| self.var(id).operands);
            if let [[Some(a), Some(b), ..], [Some(c), Some(d), ..]] = parts
                && a == c
                && self.are_opposite(b, d)
            {
                return Ok(Some(a));
            }
        }
        self.elementwise(Op::Or, &[one, other]).map(Some)
    }

    fn are_opposite(&self, one: VarId, other: VarId) -> bool {
        let is_not = |id: VarId, of: VarId| {
            let variable = self.var(id);
            variable.kind == Kind::Op(Op::Not) && variable.operands[0] == Some(of)
        };
        is_not(one, other) || is_not(other, one)
    }

    /// A cotangent that is 0 elsewhere.
    fn only_within(&mut self, part: VarId, within: Option<VarId>) -> Result<VarId> {
        let Some(within) = within else { return Ok(part) };
        let zero = self.constant(self.dtype(part), 0);
        self.elementwise(Op::Select, &[within, part, zero])
    }

    /// Adds to the cotangent of a variable on the way.
    pub(super) fn pass_on(&mut self, way: &mut PullBack, id: VarId, part: VarId) -> Result<()> {
        self.pass(&mut way.cotangents, id, part)
    }

    /// Adds to the cotangent of a variable.
    pub(super) fn pass(
        &mut self,
        cotangents: &mut Cotangents,
        id: VarId,
        part: VarId,
    ) -> Result<()> {
        self.pass_within(cotangents, id, part, None)
    }

    /// Adds to the cotangent of a variable what is 0 outside of some lanes.
    pub(super) fn pass_within(
        &mut self,
        cotangents: &mut Cotangents,
        id: VarId,
        part: VarId,
        within: Option<VarId>,
    ) -> Result<()> {
        if !cotangents.wants(id) {
            return Ok(());
        }
        let mut part = self.cast(part, self.dtype(id))?;
        let mut sum = cotangents.of.get(&id).copied();
        let within = within.filter(|&lanes| [1, self.size(id)].contains(&self.size(lanes)));
        let within = match (sum, cotangents.within.remove(&id), within) {
            (None, _, within) => within,
            (Some(_), Some(one), Some(other)) => self.either(one, other)?,
            _ => None,
        };
        if let Some(within) = within {
            cotangents.within.insert(id, within);
        }
        // Parts of what is the same in every lane are added lane by lane, and their lanes once.
        if let Some(before) = &mut sum
            && self.size(id) == 1
            && self.size(*before) != self.size(part)
        {
            *before = self.fitting(*before, 1)?;
            part = self.fitting(part, 1)?;
        }
        let sum = self.added(sum, part)?;
        cotangents.of.insert(id, sum);
        Ok(())
    }

    /// A sum of parts as the cotangent of a variable of this size: what is the same in every lane has the sum over them.
    pub(super) fn fitting(&mut self, sum: VarId, size: u64) -> Result<VarId> {
        if size == 1 && self.size(sum) != 1 {
            return self.reduce(ReduceOp::Sum, sum);
        }
        self.widen(sum, size)
    }
}

impl Cotangents {
    /// Whether an input depends on the variable.
    pub(super) fn wants(&self, id: VarId) -> bool {
        self.members.contains(&id)
    }

    /// Takes the cotangents that were passed to a variable.
    pub(super) fn take(&mut self, id: VarId) -> Option<VarId> {
        self.of.remove(&id)
    }

    /// Sets the cotangent of a variable.
    pub(super) fn put(&mut self, id: VarId, sum: VarId) {
        self.of.insert(id, sum);
        self.within.remove(&id);
    }
}

/// Whether the partial derivative of an operation by its i-th operand is more than a step or a sign: it may be infinite.
fn scales(op: Op, i: usize) -> bool {
    match op {
        Op::Fma => i < 2,
        _ => !matches!(
            op,
            Op::Add
                | Op::Sub
                | Op::Neg
                | Op::Abs
                | Op::Cast
                | Op::Min
                | Op::Max
                | Op::Minimum
                | Op::Maximum
        ),
    }
}
