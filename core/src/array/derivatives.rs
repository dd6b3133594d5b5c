//! Derivatives of arrays (S29).

use std::sync::Arc;

use super::Array;
use super::held::Held;
use super::rules::{Ask, Derivative, Nobody, Rule, Told};
use crate::error::{Error, Result};
use crate::ir::table::Table;
pub use crate::ir::table::Tracking;
use crate::ir::var::VarId;
use crate::session::Session;
use crate::trace::Recorder;
use crate::trace::derive::{Ends, Way};

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
        self.session().with_table(|table| {
            table.get(self.id()).tracked && !table.recording.tracking().untracked
        })
    }

    /// The same lanes without what they are made of.
    ///
    /// # Errors
    /// None at present.
    pub fn detach(&self) -> Result<Self> {
        self.session().record(|recorder| Ok(recorder.detached(self.id())))
    }

    fn exchanged(&self, op: &'static str, by: fn(&mut Table, VarId) -> VarId) -> Result<Self> {
        let handle = self.session().with_table(|table| {
            let scope = table.get(self.id()).scope;
            if scope != 0 {
                return Err(table.inside(op, scope));
            }
            let id = by(table, self.id());
            Ok(table.handle(id))
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

    /// A number that arrays give since there are no lanes: computed from those that are tracked.
    pub(crate) fn of_nothing(&self, arrays: &[Self]) -> Result<Self> {
        let ids: Vec<VarId> = arrays.iter().map(Self::id).collect();
        self.session().record(|recorder| Ok(recorder.tracked_number(&ids, self.id())))
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
            let is_tracked = ids.iter().any(|&id| table.get(id).tracked)
                && !table.recording.tracking().untracked;
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
        Self::backward_all(std::slice::from_ref(self), asked)
    }

    /// [`Array::backward`] of several arrays at once: of parts of a value one may be a mark, or what others are made of.
    ///
    /// # Errors
    /// As [`Array::backward_asking`].
    pub fn backward_all(arrays: &[Self], asked: &mut dyn Ask) -> Result<()> {
        arrays.iter().try_for_each(|y| y.check_tracked("backward"))?;
        let mut left: Vec<&Self> = arrays.iter().collect();
        while let Some(first) = left.first() {
            let session = first.session();
            let (own, others): (Vec<_>, Vec<_>) =
                left.iter().partition(|y| y.session().is(session));
            let mut held = Held::new(session);
            let outputs: Vec<VarId> = own.iter().map(|y: &&Self| y.id()).collect();
            let pairs = held.record(|recorder| {
                let seeded = outputs.iter().map(|&id| (id, recorder.seed(id)));
                Ok(seeded.collect::<Vec<_>>())
            })?;
            held.pull_to_marks(&pairs, &outputs, asked)?;
            left = others;
        }
        Ok(())
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
            let cone = recorder.cone(Way::Forward, &[id], Ends::Marks)?;
            let marks = recorder.marks_of(&cone);
            let directions =
                marks.iter().filter_map(|&mark| Some((mark, recorder.tangent_of(mark)?)));
            let directions: Vec<(VarId, VarId)> = directions.collect();
            let cone = match directions.len() {
                0 => return Ok(None),
                n if n == marks.len() => cone,
                // Marks without a direction stand still, and so does what depends on them alone.
                _ => {
                    let moved: Vec<VarId> = directions.iter().map(|&(mark, _)| mark).collect();
                    recorder.cone(Way::Forward, &[id], Ends::At(&moved))?
                }
            };
            recorder.begin_push(cone, &directions).map(Some)
        })?;
        session.no_grad(|| {
            let Some(mut way) = way else {
                if session.with_table(|table| table.is_derived(id)) {
                    let what = "got what is computed from a marked array, or was written to; gradients are those \
                                of marked arrays: begin anew, as a training loop does: \
                                w = detach(w) - 0.1 * gradient(w); enable_grad(w)";
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

    /// Whether this thread differentiates a function ([`Session::differentiating`]), and a number that is read from the array has
    /// no derivative where the array has one.
    pub fn has_derivative_to_lose(&self) -> bool {
        self.has_history()
            && self.session().with_table(|table| table.recording.differentiated.has_own())
    }

    /// Whether derivatives may be asked for by what is computed from it now: a number that is read from it has none.
    pub fn has_history(&self) -> bool {
        self.session().with_table(|table| {
            table.get(self.id()).tracked && !table.recording.tracking().untracked
        })
    }

    /// Whether it is computed from marked arrays, and so is none itself.
    pub fn is_derived(&self) -> bool {
        self.session().with_table(|table| table.is_derived(self.id()))
    }

    fn check_tracked(&self, op: &'static str) -> Result<()> {
        if self.is_tracked() {
            return Ok(());
        }
        let what = "got what is computed from no marked array; enable_grad(x) marks x before, and \
                    again what no_grad computed";
        Err(Error::Argument { op, what: what.into() })
    }
}

impl Session {
    /// The gradients of the outputs, each times its cotangent (or 1 in every lane), by the inputs in their order; zeros
    /// where no output depends on one. An input may be computed from another, whose gradient has what goes through it, as if it
    /// was asked for alone. They are tracked: derivatives of them may be asked for.
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
        // Marks are where what is differentiated was computed.
        let home = inputs.first().map_or(self, |input| input.session());
        let outputs = home.with_moves_here("grad", outputs)?;
        let (pairs, inputs) = (ids_of(&outputs), home.ids("grad", inputs)?);
        let mut held = Held::new(home);
        let mut way = held.record(|recorder| {
            let outputs: Vec<VarId> = pairs.iter().map(|&(output, _)| output).collect();
            let pairs = recorder.with_moves("grad", &pairs)?;
            let cone = recorder.cone(Way::Back, &outputs, Ends::Through(&inputs))?;
            recorder.begin_pull(cone, &pairs, &inputs)
        })?;
        held.pull(&mut way, asked)?;
        home.record_all(|recorder| {
            let gradients = recorder.end_pull(&way, &inputs)?.into_iter().zip(&inputs);
            let or_zeros = |(gradient, &input): (Option<VarId>, &VarId)| {
                gradient.unwrap_or_else(|| recorder.zeros_like(input))
            };
            Ok(gradients.map(or_zeros).collect::<Vec<_>>())
        })
    }

    /// The gradients of an output times its cotangent by those inputs that are tracked, for a front end whose function it is
    /// the value of.
    ///
    /// # Errors
    /// As [`Session::grad_asking`].
    pub fn grad_by_tracked(
        &self,
        output: (&Array, &Array),
        inputs: &[Array],
        asked: &mut dyn Ask,
    ) -> Result<Vec<Option<Array>>> {
        let tracked: Vec<&Array> = inputs.iter().filter(|input| input.is_tracked()).collect();
        let mut found =
            self.grad_asking(&[(output.0, Some(output.1))], &tracked, asked)?.into_iter();
        let of = |input: &Array| if input.is_tracked() { found.next() } else { None };
        Ok(inputs.iter().map(of).collect())
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
        let home = inputs.first().map_or(self, |(input, _)| input.session());
        let inputs = home.with_moves_here("jvp", inputs)?;
        let outputs = outputs.iter().map(|output| home.adopt_number("jvp", output));
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let (pairs, outputs) = (ids_of(&inputs), outputs.iter().map(Array::id).collect::<Vec<_>>());
        let mut held = Held::new(home);
        let mut way = held.record(|recorder| {
            let inputs: Vec<VarId> = pairs.iter().map(|&(input, _)| input).collect();
            let pairs = recorder.with_moves("jvp", &pairs)?;
            let cone = recorder.cone(Way::Forward, &outputs, Ends::At(&inputs))?;
            recorder.begin_push(cone, &pairs)
        })?;
        held.push(&mut way, asked)?;
        home.record_all(|recorder| {
            let tangent = |&output: &VarId| {
                way.tangent(output).unwrap_or_else(|| recorder.zeros_like(output))
            };
            Ok(outputs.iter().map(tangent).collect::<Vec<_>>())
        })
    }

    /// Arrays with what moves them, or nothing; numbers come here.
    fn with_moves_here(
        &self,
        op: &'static str,
        pairs: &[(&Array, Option<&Array>)],
    ) -> Result<Vec<(Array, Option<Array>)>> {
        let here = |array: &Array| self.adopt_number(op, array);
        pairs.iter().map(|&(array, with)| Ok((here(array)?, with.map(here).transpose()?))).collect()
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
        self.with_table(|table| !table.recording.tracking().untracked)
    }

    /// Whether this is inside [`Session::no_grad`]: asked for, where [`Session::follows`] is untrue also where derivatives of
    /// what is recorded come otherwise.
    pub fn detaches(&self) -> bool {
        self.with_table(|table| table.recording.tracking().detaches)
    }

    fn with_tracking<R>(&self, tracks: bool, work: impl FnOnce() -> R) -> R {
        let before = self.start_tracking(tracks);
        let back = move |table: &mut Table| _ = table.recording.exchange_tracking(before);
        self.meanwhile(|_| (), back, work)
    }

    /// Whether what is recorded from now on is tracked; what held before, for [`Session::track_as`]. Where work has an end
    /// of its own, [`Session::no_grad`] and [`Session::with_grad`] are better.
    pub fn start_tracking(&self, tracks: bool) -> Tracking {
        self.with_table(|table| table.recording.exchange_tracking(Tracking::asked(tracks)))
    }

    /// Tracks as before [`Session::start_tracking`].
    pub fn track_as(&self, before: Tracking) {
        self.with_table(|table| _ = table.recording.exchange_tracking(before));
    }

    /// Runs `work`, a function of marked arrays whose derivative is asked for behind it: it is tracked, inside
    /// [`Session::no_grad`] too.
    pub fn differentiating<R>(&self, work: impl FnOnce() -> R) -> R {
        self.meanwhile(
            |table| table.recording.differentiated.begin(),
            |table| table.recording.differentiated.end(),
            || self.with_tracking(true, work),
        )
    }

    /// Takes marks back: what was computed from them is no longer tracked for their sake.
    pub(crate) fn unmark(&self, marks: &[&Array], outputs: &[&Array]) {
        let [marks, outputs] = [marks, outputs]
            .map(|arrays| arrays.iter().map(|array| array.id()).collect::<Vec<_>>());
        self.with_table(|table| table.unmark(&marks, &outputs));
    }
}

fn ids_of(pairs: &[(Array, Option<Array>)]) -> Vec<(VarId, Option<VarId>)> {
    pairs.iter().map(|(array, with)| (array.id(), with.as_ref().map(Array::id))).collect()
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
