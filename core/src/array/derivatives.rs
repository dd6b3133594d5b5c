//! Derivatives of arrays (S29).

use std::any::Any;
use std::sync::Arc;

use super::Array;
use crate::error::{Error, Result};
use crate::ir::composite::Composite;
use crate::ir::table::Table;
use crate::ir::var::VarId;
use crate::session::Session;
use crate::trace::Recorder;
use crate::trace::derive::{PullBack, PushForward, Turn};

/// The derivative of a function that is not made of recorded operations, or has a better one.
pub(crate) trait Derivative: Send + Sync {
    /// The cotangents of the arguments from that of the value; `None` where there is none.
    ///
    /// # Errors
    /// What it is recorded with.
    fn pull(&self, args: &[Array], value: &Array, cotangent: &Array) -> Result<Vec<Option<Array>>>;

    /// The tangent of the value from those of the arguments that have one.
    ///
    /// # Errors
    /// What it is recorded with.
    fn push(&self, args: &[Array], value: &Array, tangents: &[Option<Array>]) -> Result<Array>;
}

/// That of a value that stands for another.
struct Same;

impl Derivative for Same {
    fn pull(&self, _: &[Array], _: &Array, cotangent: &Array) -> Result<Vec<Option<Array>>> {
        Ok(vec![Some(cotangent.clone())])
    }

    fn push(&self, _: &[Array], value: &Array, tangents: &[Option<Array>]) -> Result<Array> {
        match tangents {
            [Some(tangent)] => Ok(tangent.clone()),
            _ => value.session().zeros(value.dtype(), value.size()),
        }
    }
}

/// A derivative as variables hold it.
enum Rule {
    Own(Box<dyn Derivative>),
    /// That of somebody who is asked.
    Told(Told),
}

/// A function whose derivative a front end has, which is asked for it.
#[derive(Clone)]
pub struct Told {
    /// What the front end knows the function by.
    pub number: usize,
    /// Which array of the function's value it is.
    pub place: usize,
    /// What the front end keeps with a call.
    pub call: Arc<dyn Any + Send + Sync>,
}

/// A front end that has derivatives of functions.
pub trait Ask {
    /// The cotangents of the arguments from that of a value; `None` where there is none.
    ///
    /// # Errors
    /// What the front end says.
    fn pull(
        &mut self,
        told: &Told,
        args: &[Array],
        cotangent: &Array,
    ) -> Result<Vec<Option<Array>>>;

    /// The tangent of a value from those of the arguments that have one.
    ///
    /// # Errors
    /// What the front end says.
    fn push(&mut self, told: &Told, args: &[Array], tangents: &[Option<Array>]) -> Result<Array>;
}

/// Who has no derivatives.
struct Nobody;

impl Ask for Nobody {
    fn pull(&mut self, _: &Told, _: &[Array], _: &Array) -> Result<Vec<Option<Array>>> {
        Err(nobody())
    }

    fn push(&mut self, _: &Told, _: &[Array], _: &[Option<Array>]) -> Result<Array> {
        Err(nobody())
    }
}

#[cold]
fn nobody() -> Error {
    let what = "the derivative of a function is known to a script alone, which does not run".into();
    Error::Argument { op: "custom", what }
}

impl Array {
    /// The same lanes as a variable that is marked: derivatives of what is computed from it may be asked for. One that is
    /// tracked already is given back.
    ///
    /// **Evaluation**: traced; what is in memory is shared.
    ///
    /// # Errors
    /// `UnsupportedType` for what is no float; `Recording` in the body of a loop.
    pub fn enable_grad(&self) -> Result<Self> {
        if self.is_tracked() { Ok(self.clone()) } else { self.marked("enable_grad") }
    }

    /// The same lanes behind a mark of its own.
    pub(crate) fn marked(&self, op: &'static str) -> Result<Self> {
        let dtype = self.dtype();
        if !dtype.is_float() {
            let expected = "an array of floats";
            return Err(Error::UnsupportedType { op, dtype, expected });
        }
        self.exchanged(op, Table::marked)
    }

    /// Whether it is marked, or computed from what is: [`Session::grad`] and its like know what it is made of.
    pub fn is_tracked(&self) -> bool {
        self.session().with_table(|table| table.get(self.id()).tracked)
    }

    /// Whether what is recorded of it now is tracked.
    pub(crate) fn is_followed(&self) -> bool {
        self.session().with_table(|table| table.get(self.id()).tracked && !table.untracked)
    }

    /// The same lanes without what they are made of.
    ///
    /// # Errors
    /// `Recording` in the body of a loop.
    pub fn detach(&self) -> Result<Self> {
        self.exchanged("detach", Table::detached)
    }

    fn exchanged(&self, op: &'static str, by: fn(&mut Table, VarId) -> VarId) -> Result<Self> {
        let handle = self.session().with_table(|table| {
            let scope = table.get(self.id()).scope;
            if scope != 0 {
                return Err(table.inside(op, scope));
            }
            let id = by(table, self.id());
            Ok((id, table.get(id).generation))
        })?;
        Ok(Self::adopt(self.session().clone(), handle))
    }

    /// The same lanes with the derivatives of another array, of as many lanes or one.
    ///
    /// # Errors
    /// `SizeMismatch`, `ForeignArray`.
    pub fn replace_grad(&self, other: &Self) -> Result<Self> {
        let (op, lhs, rhs) = ("replace_grad", self.size(), other.size());
        if lhs != rhs && rhs != 1 {
            return Err(Error::SizeMismatch { op, lhs, rhs });
        }
        self.detach()?.with_derivative(op, &[other], Same)
    }

    /// This value as that of a function of arrays whose derivative is told.
    ///
    /// # Errors
    /// `ForeignArray`.
    pub(crate) fn with_derivative(
        &self,
        name: &'static str,
        args: &[&Self],
        derivative: impl Derivative + 'static,
    ) -> Result<Self> {
        self.with_rule(name, args, Rule::Own(Box::new(derivative)))
    }

    /// This value as that of a function of arrays whose derivative a front end has.
    ///
    /// # Errors
    /// `ForeignArray`.
    pub fn with_told_derivative(
        &self,
        name: &'static str,
        args: &[&Self],
        told: Told,
    ) -> Result<Self> {
        self.with_rule(name, args, Rule::Told(told))
    }

    fn with_rule(&self, name: &'static str, args: &[&Self], rule: Rule) -> Result<Self> {
        let mut ids = self.session().ids(name, args)?;
        ids.push(self.id());
        let scope = self.session().with_table(|table| {
            let is_tracked = ids.iter().any(|&id| table.get(id).tracked && !table.untracked);
            let scope = ids.iter().map(|&id| table.get(id).scope).max();
            scope.filter(|_| is_tracked).filter(|&scope| scope != 0)
        });
        if scope.is_some() {
            let what = "has no derivative in the body of a loop or branch that is recorded; \
                        set_flag(\"record_loops\", false) runs bodies step by step";
            return Err(Error::Argument { op: name, what: what.into() });
        }
        let rule = Arc::new(rule);
        self.session().record(|recorder| Ok(recorder.with_derivative(name, &ids, rule)))
    }

    /// Adds to the gradients of all marks it was computed from those of its lanes, each times 1 or its gradient if that
    /// was set. Recorded, not run.
    ///
    /// # Errors
    /// `Argument` if it is not tracked, or was made by what has no derivative.
    pub fn backward(&self) -> Result<()> {
        self.backward_asking(&mut Nobody)
    }

    /// [`Array::backward`] for a front end that has derivatives of functions.
    ///
    /// # Errors
    /// As [`Array::backward`]; what the front end says.
    pub fn backward_asking(&self, asked: &mut dyn Ask) -> Result<()> {
        self.check_tracked("backward")?;
        let (session, id) = (self.session(), self.id());
        let mut held = Held::new(session);
        let (mut way, marks) = held.record(|recorder| {
            let cone = recorder.cone(&[id], None)?;
            let marks = recorder.marks_of(&cone);
            let cotangent = recorder.seed(id);
            Ok((recorder.begin_pull(cone, &[(id, cotangent)], &marks)?, marks))
        })?;
        session.no_grad(|| {
            held.pull(&mut way, asked)?;
            held.record(|recorder| {
                let gradients = recorder.end_pull(&way, &marks)?;
                for (&mark, gradient) in marks.iter().zip(gradients) {
                    if let Some(gradient) = gradient {
                        recorder.add_to_gradient(mark, gradient, id)?;
                    }
                }
                Ok(())
            })
        })
    }

    /// Gives it the direction 1, or its gradient if that was set: [`Array::gradient`] of what is computed from it then is
    /// the derivative in that direction.
    ///
    /// # Errors
    /// `Argument` if it is not tracked.
    pub fn forward(&self) -> Result<()> {
        self.check_tracked("forward")?;
        if self.session().with_table(|table| table.is_derived(self.id())) {
            let what = "got what is computed from a marked array; a direction is one of marks: \
                        enable_grad(detach(x)), or jvp(f, x, t)";
            return Err(Error::Argument { op: "forward", what: what.into() });
        }
        Held::new(self.session()).record(|recorder| {
            let direction = recorder.seed(self.id());
            recorder.keep_tangent(self.id(), direction);
            Ok(())
        })
    }

    /// Its gradient: what [`Array::backward`] added or [`Array::set_gradient`] set, else the derivative in the direction
    /// that [`Array::forward`] gave, else 0. It has as many lanes and is not tracked.
    ///
    /// # Errors
    /// `Argument` if it is not tracked.
    pub fn gradient(&self) -> Result<Self> {
        self.gradient_asking(&mut Nobody)
    }

    /// [`Array::gradient`] for a front end that has derivatives of functions.
    ///
    /// # Errors
    /// As [`Array::gradient`]; what the front end says.
    pub fn gradient_asking(&self, asked: &mut dyn Ask) -> Result<Self> {
        self.check_tracked("gradient")?;
        let (session, id) = (self.session(), self.id());
        let mut held = Held::new(session);
        let known = held.record(|recorder| Ok(recorder.gradient_of(id)))?;
        if let Some(known) = known {
            return session.record(|_| Ok(known));
        }
        let way = held.record(|recorder| {
            let cone = recorder.cone(&[id], None)?;
            let marks = recorder.marks_of(&cone).into_iter();
            let directions = marks.filter_map(|mark| Some((mark, recorder.tangent_of(mark)?)));
            let directions: Vec<(VarId, VarId)> = directions.collect();
            let is_moved = !directions.is_empty();
            is_moved.then(|| recorder.begin_push(cone, &directions)).transpose()
        })?;
        session.no_grad(|| {
            let Some(mut way) = way else {
                if session.with_table(|table| table.is_derived(id)) {
                    let what = "got what is computed from a marked array, or was written to; gradients are those \
                                of marked arrays, or of what is computed behind forward(x)";
                    return Err(Error::Argument { op: "gradient", what: what.into() });
                }
                return session.record(|recorder| Ok(recorder.zeros_like(id)));
            };
            held.push(&mut way, asked)?;
            session
                .record(|recorder| Ok(way.tangent(id).unwrap_or_else(|| recorder.zeros_like(id))))
        })
    }

    /// Sets its gradient, which has its type and as many lanes, or one.
    ///
    /// # Errors
    /// `Argument` if it is not tracked; `SizeMismatch`, `TypeMismatch`, `ForeignArray`.
    pub fn set_gradient(&self, gradient: &Self) -> Result<()> {
        let op = "set_gradient";
        self.check_tracked(op)?;
        self.check_session(op, gradient)?;
        Held::new(self.session()).record(|recorder| {
            let gradient = recorder.fitted(op, gradient.id(), self.id())?;
            recorder.keep_gradient(self.id(), gradient);
            Ok(())
        })
    }

    /// Forgets its gradient and direction.
    pub fn clear_gradient(&self) {
        self.session().with_table(|table| {
            table.set_gradient(self.id(), None);
            table.set_tangent(self.id(), None);
        });
    }

    /// Refuses a value whose derivatives would be lost without a word.
    ///
    /// # Errors
    /// `Argument` if it is tracked.
    pub fn refuse_tracked(&self, op: &'static str) -> Result<()> {
        if !self.is_followed() {
            return Ok(());
        }
        let what =
            "has no derivative; detach(x) takes x without, custom(..) says what it is".into();
        Err(Error::Argument { op, what })
    }

    fn check_tracked(&self, op: &'static str) -> Result<()> {
        if self.is_tracked() {
            return Ok(());
        }
        let what =
            "got what is computed from no marked array; enable_grad(x) marks x before".into();
        Err(Error::Argument { op, what })
    }
}

impl Session {
    /// The gradients of the outputs, each times its cotangent (or 1 in every lane), by the inputs in their order; zeros
    /// where no output depends on one. They are tracked: derivatives of them may be asked for.
    ///
    /// **Sizes**, **dtypes**: those of the inputs. **Evaluation**: traced.
    ///
    /// # Errors
    /// `Argument` if what was computed has no derivative; `SizeMismatch`, `ForeignArray`.
    pub fn grad(
        &self,
        outputs: &[(&Array, Option<&Array>)],
        inputs: &[&Array],
    ) -> Result<Vec<Array>> {
        self.grad_asking(outputs, inputs, &mut Nobody)
    }

    /// [`Session::grad`] for a front end that has derivatives of functions.
    ///
    /// # Errors
    /// As [`Session::grad`]; what the front end says.
    pub fn grad_asking(
        &self,
        outputs: &[(&Array, Option<&Array>)],
        inputs: &[&Array],
        asked: &mut dyn Ask,
    ) -> Result<Vec<Array>> {
        inputs.iter().try_for_each(|input| input.check_tracked("grad"))?;
        let (pairs, inputs) = (self.with_ids("grad", outputs)?, self.ids("grad", inputs)?);
        let mut held = Held::new(self);
        let mut way = held.record(|recorder| {
            let outputs: Vec<VarId> = pairs.iter().map(|&(output, _)| output).collect();
            let pairs = recorder.with_moves("grad", &pairs)?;
            let cone = recorder.cone(&outputs, Some(&inputs))?;
            recorder.begin_pull(cone, &pairs, &inputs)
        })?;
        held.pull(&mut way, asked)?;
        self.record_all(|recorder| {
            let gradients = recorder.end_pull(&way, &inputs)?.into_iter().zip(&inputs);
            let or_zeros = |(gradient, &input): (Option<VarId>, &VarId)| {
                gradient.unwrap_or_else(|| recorder.zeros_like(input))
            };
            Ok(gradients.map(or_zeros).collect::<Vec<_>>())
        })
    }

    /// The derivatives of the outputs in the direction of the inputs' tangents (or 1 in every lane); zeros where an output
    /// depends on no input. They are tracked.
    ///
    /// **Sizes**, **dtypes**: those of the outputs. **Evaluation**: traced.
    ///
    /// # Errors
    /// As [`Session::grad`].
    pub fn jvp(
        &self,
        outputs: &[&Array],
        inputs: &[(&Array, Option<&Array>)],
    ) -> Result<Vec<Array>> {
        self.jvp_asking(outputs, inputs, &mut Nobody)
    }

    /// [`Session::jvp`] for a front end that has derivatives of functions.
    ///
    /// # Errors
    /// As [`Session::grad`]; what the front end says.
    pub fn jvp_asking(
        &self,
        outputs: &[&Array],
        inputs: &[(&Array, Option<&Array>)],
        asked: &mut dyn Ask,
    ) -> Result<Vec<Array>> {
        let (pairs, outputs) = (self.with_ids("jvp", inputs)?, self.ids("jvp", outputs)?);
        let mut held = Held::new(self);
        let mut way = held.record(|recorder| {
            let inputs: Vec<VarId> = pairs.iter().map(|&(input, _)| input).collect();
            let pairs = recorder.with_moves("jvp", &pairs)?;
            let cone = recorder.cone(&outputs, Some(&inputs))?;
            recorder.begin_push(cone, &pairs)
        })?;
        held.push(&mut way, asked)?;
        self.record_all(|recorder| {
            let tangent = |&output: &VarId| {
                way.tangent(output).unwrap_or_else(|| recorder.zeros_like(output))
            };
            Ok(outputs.iter().map(tangent).collect::<Vec<_>>())
        })
    }

    /// Variables with what moves them, or nothing.
    fn with_ids(
        &self,
        op: &'static str,
        pairs: &[(&Array, Option<&Array>)],
    ) -> Result<Vec<(VarId, Option<VarId>)>> {
        let id = |array: &Array| Ok(self.ids(op, &[array])?[0]);
        pairs.iter().map(|&(array, with)| Ok((id(array)?, with.map(id).transpose()?))).collect()
    }

    /// Runs `work`, of which nothing is tracked.
    pub fn no_grad<R>(&self, work: impl FnOnce() -> R) -> R {
        self.with_tracking(false, work)
    }

    /// Runs `work`, of which is tracked what is computed from marks, inside [`Session::no_grad`] too.
    pub fn with_grad<R>(&self, work: impl FnOnce() -> R) -> R {
        self.with_tracking(true, work)
    }

    /// Whether what is recorded now is tracked, if it is computed from marks.
    pub fn follows(&self) -> bool {
        self.with_table(|table| !table.untracked)
    }

    fn with_tracking<R>(&self, tracks: bool, work: impl FnOnce() -> R) -> R {
        /// What was before comes back, whatever happens.
        struct Before<'s>(&'s Session, bool);
        impl Drop for Before<'_> {
            fn drop(&mut self) {
                self.0.with_table(|table| table.untracked = self.1);
            }
        }
        let before = self.with_table(|table| std::mem::replace(&mut table.untracked, !tracks));
        let _before = Before(self, before);
        work()
    }

    /// Takes marks back: what was computed from them is no longer tracked for their sake.
    pub(crate) fn unmark(&self, marks: &[&Array], outputs: &[&Array]) {
        let [marks, outputs] = [marks, outputs]
            .map(|arrays| arrays.iter().map(|array| array.id()).collect::<Vec<_>>());
        self.with_table(|table| table.unmark(&marks, &outputs));
    }
}

impl Recorder<'_> {
    /// What moves variables, ones where nothing is said.
    fn with_moves(
        &mut self,
        op: &'static str,
        pairs: &[(VarId, Option<VarId>)],
    ) -> Result<Vec<(VarId, VarId)>> {
        let moved = |&(id, with): &(VarId, Option<VarId>)| match with {
            Some(with) => Ok((id, self.fitted(op, with, id)?)),
            None => Ok((id, self.ones_like(id))),
        };
        pairs.iter().map(moved).collect()
    }
}

/// What is recorded on a way through the trace, with pauses in which the table is not lent.
struct Held<'s> {
    session: &'s Session,
    ids: Vec<VarId>,
}

impl<'s> Held<'s> {
    fn new(session: &'s Session) -> Self {
        Self { session, ids: Vec::new() }
    }

    /// Records, and holds what was made.
    fn record<R>(&mut self, work: impl FnOnce(&mut Recorder<'_>) -> Result<R>) -> Result<R> {
        self.session.with_recorder(|mut recorder| {
            let result = work(&mut recorder);
            // Regions, and what is in them, are held by the values behind them.
            self.ids.append(&mut recorder.into_owned_values());
            result
        })
    }

    /// Goes back to the inputs.
    fn pull(&mut self, way: &mut PullBack, asked: &mut dyn Ask) -> Result<()> {
        loop {
            let (id, moves) = match self.record(|recorder| recorder.pull_on(way))? {
                Turn::Done => return Ok(()),
                Turn::Asks { id, moves } => (id, moves),
                Turn::Counts { region, turns } => {
                    let turns = self.session.record(|_| Ok(turns))?.to_vec::<u32>()?;
                    let turns = turns.first().copied().map_or(0, u64::from);
                    let memory = self.session.memory_info();
                    let room = memory.limit.saturating_sub(memory.used);
                    self.record(|recorder| recorder.pull_loop(way, region, turns, room))?;
                    continue;
                }
            };
            let asking = self.asking(id, &moves)?;
            let [Some(cotangent)] = &asking.moves[..] else {
                unreachable!("internal error: a value without a cotangent")
            };
            let parts = match asking.rule() {
                Rule::Own(rule) => rule.pull(asking.args(), &asking.value, cotangent)?,
                Rule::Told(told) => asked.pull(told, asking.args(), cotangent)?,
            };
            let ids: Vec<Option<VarId>> =
                parts.iter().map(|part| part.as_ref().map(Array::id)).collect();
            self.record(|recorder| recorder.pull_told(way, id, &ids))?;
            self.keep(parts.into_iter().flatten());
        }
    }

    /// Goes forward to the outputs.
    fn push(&mut self, way: &mut PushForward, asked: &mut dyn Ask) -> Result<()> {
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
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        self.session.with_table(|table| ids.into_iter().for_each(|id| table.dec_external(id)));
    }
}
