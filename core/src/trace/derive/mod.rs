//! Derivatives: recorded from what made a value, into the same trace (S29).
//!
//! A [`Cone`] holds the tracked variables between some inputs and some outputs, operands before users. The reverse mode
//! goes through it from the outputs to the inputs and passes *cotangents* to operands; the forward mode goes the other
//! way and makes *tangents* of those of operands. What both do of one operation stands in [`operation`] (lane by lane)
//! and [`across_lanes`] (across lanes). A function without a rule is recorded as what it is made of, aside from the call, and
//! differentiated through that.

mod across_lanes;
mod complex;
mod forward;
mod function;
mod gradients;
mod loop_states;
mod operation;
mod product;
mod product_of_lanes;
mod reduction;
mod region;
mod repeated;
mod reverse;
mod reverse_loop;
mod scatter_winners;
mod unroll;

pub(crate) use forward::PushForward;
pub(crate) use reverse::PullBack;

use std::collections::HashSet;

use smallvec::SmallVec;

use super::Recorder;
use super::copy::Of;
use crate::error::{Error, Result, ScriptLine};
use crate::interrupt;
use crate::ir::mix::Mix;
use crate::ir::op::ReduceOp;
use crate::ir::primitive::Primitive;
use crate::ir::var::{Kind, VarId};

/// Variables between two looks at the interrupt flag.
const POLL: usize = 1 << 12;

/// Where a way through a cone halts.
pub(crate) enum Turn {
    /// At its end.
    Done,
    /// At a variable whose derivative somebody else has, who is not called while the table is lent: with its cotangent,
    /// or with the tangents of its operands.
    Asks {
        /// The variable.
        id: VarId,
        /// What moves.
        moves: Vec<Option<VarId>>,
    },
    /// At a loop, whose numbers of turns, and those of loops inside, are to be read.
    Counts {
        /// The loop.
        region: VarId,
        /// The largest numbers, of one lane each.
        turns: Vec<VarId>,
    },
}

/// Which way derivatives go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From inputs to outputs.
    Forward,
    /// From outputs to inputs.
    Back,
}

/// Where a way begins or ends.
#[derive(Clone, Copy)]
pub(crate) enum Ends<'a> {
    /// At all marks, and at what is before an isolated part.
    Marks,
    /// At the inputs; what these are made of is not looked at.
    At(&'a [VarId]),
    /// At the inputs, some of which may be made of others: there the way goes on.
    Through(&'a [VarId]),
}

impl<'a> Ends<'a> {
    fn inputs(self) -> Option<&'a [VarId]> {
        match self {
            Self::Marks => None,
            Self::At(inputs) | Self::Through(inputs) => Some(inputs),
        }
    }
}

/// The tracked variables on the way from inputs to outputs.
pub(crate) struct Cone {
    way: Way,
    /// What was recorded before is not gone into: an isolated part of the tape begins here, or the first input was recorded
    /// before.
    from: u64,
    /// Operands before users.
    order: Vec<VarId>,
    /// Inputs that are made of others.
    through: HashSet<VarId, Mix>,
    /// Calls and primitives without a rule, and what stands for them.
    expanded: Of<VarId>,
    /// Regions, and what stands for the values behind them, if something does.
    regions: Of<Option<Vec<VarId>>>,
}

/// A variable on the way of the search.
struct Visit {
    id: VarId,
    operands: SmallVec<[VarId; 4]>,
    next: usize,
    /// Whether it depends on an input.
    reaches: bool,
}

impl Recorder<'_> {
    /// What lies between the ends and `outputs`.
    ///
    /// What stands for calls and regions is tracked, whatever this is inside of: derivatives go through it. (Gradients are
    /// added to marks where nothing is tracked, and functions and loops on the way have cones of their own.)
    ///
    /// # Errors
    /// `Interrupted`; `Argument` for what has no derivative.
    pub(crate) fn cone(&mut self, way: Way, outputs: &[VarId], ends: Ends<'_>) -> Result<Cone> {
        self.followed(|recorder| recorder.searched(way, outputs, ends))
    }

    fn searched(&mut self, way: Way, outputs: &[VarId], ends: Ends<'_>) -> Result<Cone> {
        let (order, expanded, regions) = (Vec::new(), Of::default(), Of::default());
        let is_to_marks = matches!(ends, Ends::Marks);
        // What was recorded before all inputs depends on none.
        let inputs = ends.inputs().unwrap_or_default();
        let least = inputs.iter().map(|&id| self.var(id).serial).min().unwrap_or(0);
        let isolated = self.table.isolated().filter(|_| way == Way::Back);
        let from = match ends {
            Ends::Marks => isolated.map_or(0, |isolated| isolated.from),
            Ends::At(_) => 0,
            Ends::Through(_) => least + 1,
        };
        let through = HashSet::default();
        let mut cone = Cone { way, from, order, through, expanded, regions };
        // Whether a variable that was left depends on an input.
        let mut known: Of<bool> = Of::default();
        let mut ways_on: HashSet<VarId, Mix> = HashSet::default();
        if let Ends::Through(inputs) = ends {
            ways_on.extend(inputs);
        } else {
            known.extend(inputs.iter().map(|&input| (input, true)));
            cone.order.extend(inputs);
        }
        for &output in outputs {
            if known.contains_key(&output) || !self.var(output).tracked {
                continue;
            }
            let mut path = vec![self.place(&mut cone, output)?];
            while let Some(place) = path.last_mut() {
                let Some(&operand) = place.operands.get(place.next) else {
                    let is_mark = is_to_marks && place.operands.is_empty();
                    let (id, mut reaches) = (place.id, place.reaches || is_mark);
                    path.pop();
                    if ways_on.contains(&id) {
                        if reaches {
                            cone.through.insert(id);
                        }
                        reaches = true;
                    }
                    known.insert(id, reaches);
                    if reaches {
                        cone.order.push(id);
                    }
                    if let Some(user) = path.last_mut() {
                        user.reaches |= reaches;
                    }
                    self.poll(known.len())?;
                    continue;
                };
                place.next += 1;
                match known.get(&operand) {
                    Some(&reaches) => place.reaches |= reaches,
                    None if self.var(operand).serial < least => {}
                    None => path.push(self.place(&mut cone, operand)?),
                }
            }
        }
        Ok(cone)
    }

    /// A variable with its tracked operands; those of a call with a rule are its arguments.
    fn place(&mut self, cone: &mut Cone, id: VarId) -> Result<Visit> {
        let (operands, next, reaches) = (SmallVec::new(), 0, false);
        if self.var(id).serial < cone.from {
            return Ok(Visit { id, operands, next, reaches });
        }
        let mut operands = match self.complex_rule(id) {
            Some(rule) => self.complex_arguments(rule).into(),
            None if matches!(self.var(id).kind, Kind::Region { .. }) => self.outside_of(id).into(),
            None => self.var(id).made_of(),
        };
        operands.retain(|operand| self.var(*operand).tracked);
        if !operands.is_empty()
            && let Some(expansion) = self.standing_for(cone, id)?
        {
            operands = SmallVec::from_slice(&[expansion]);
            operands.retain(|operand| self.var(*operand).tracked);
        }
        Ok(Visit { id, operands, next, reaches })
    }

    /// What is recorded in the place of a call, or a primitive, without a rule.
    fn standing_for(&mut self, cone: &mut Cone, id: VarId) -> Result<Option<VarId>> {
        let expansion = match self.var(id).made_by() {
            Kind::Composite if self.has_rule_of_its_own(id) => return Ok(None),
            Kind::Composite => self.spelled_out(id)?,
            Kind::Call(_) | Kind::Output { .. } if self.has_no_rule(id) => self.steps_of(id)?,
            Kind::Result { position, .. } => {
                let region = self.var(id).made_of()[0];
                let values = match cone.regions.remove(&region) {
                    Some(known) => known,
                    None if self.var(region).kind == (Kind::Region { repeat: false }) => {
                        Some(self.straight_line(region)?)
                    }
                    // Forwards a loop needs no memory.
                    None if cone.way == Way::Forward => None,
                    None => self.unrolled(region)?,
                };
                let value = values.as_ref().map(|values| values[position as usize]);
                cone.regions.insert(region, values);
                let Some(value) = value else { return Ok(None) };
                value
            }
            // By doubling: the largest so far does not say which lane it is.
            Kind::Primitive(Primitive::Prefix(op @ (ReduceOp::Min | ReduceOp::Max))) => {
                let x = self.var(id).made_of()[0];
                self.block_prefix(op.combine(), x, self.size(id))?
            }
            _ => return Ok(None),
        };
        cone.expanded.insert(id, expansion);
        Ok(Some(expansion))
    }

    /// Whether the derivative of a call is that of what it is made of.
    fn has_no_rule(&self, id: VarId) -> bool {
        let is_power = self.exponent_of_reciprocal(id).is_some();
        self.rule(id).is_none() && self.complex_rule(id).is_none() && !is_power
    }

    /// Whether the derivative of a variable came with it.
    fn has_rule_of_its_own(&self, id: VarId) -> bool {
        let composite = self.var(id).called_composite();
        composite.is_some_and(|composite| composite.derivative.is_some())
    }

    /// Looks whether there is room for more, and from time to time whether to go on.
    fn poll(&mut self, n: usize) -> Result<()> {
        if n.is_multiple_of(POLL) && interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        if self.table.make_room() { Ok(()) } else { Err(super::exhausted(self.table)) }
    }

    #[cold]
    fn no_derivative(&self, id: VarId) -> Error {
        self.not_differentiated(id, "")
    }

    #[cold]
    fn no_partial(&self, id: VarId, i: usize) -> Error {
        self.not_differentiated(id, &format!(" by argument {}", i + 1))
    }

    fn not_differentiated(&self, id: VarId, by: &str) -> Error {
        let name = self.table.name_of_maker(self.var(id));
        let what = format!(
            "{name} ({}) has no derivative{by} yet; detach(x) takes a value without it",
            ScriptLine::of(self.var(id).line)
        );
        Error::Argument { op: "backward", what }
    }
}
