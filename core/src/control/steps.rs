//! Bodies step by step, with real values: loops evaluate at every turn.

use std::iter;

use super::branches::{Call, Functions, Taken};
use super::{Body, Condition, Guard, check_count, choice, is_arg};
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::session::Session;
use crate::trace::region::{Form, Role};

impl Session {
    /// The loop with real values, evaluated at every turn.
    pub(super) fn step_by_step<E: From<Error>>(
        &self,
        op: &'static str,
        states: &[Array],
        form: Option<&Form>,
        condition: &mut Condition<'_, E>,
        body: &mut Body<'_, E>,
    ) -> Result<Vec<Array>, E> {
        let passes = self.passes(form, None)?;
        let mut errors = self.take_errors();
        let mut trouble = None;
        let mut results = self.entering(states, form);
        for entering in passes.masks(self) {
            let Ok(states) = &results else { break };
            results = entering.map_err(E::from).and_then(|entering| {
                self.turns(op, states.clone(), entering, condition, body, &mut trouble)
            });
        }
        errors.extend(trouble);
        self.put_errors(errors);
        results
    }

    /// Bounds errors go into `trouble`: the whole loop has one, as if it were recorded.
    fn turns<E: From<Error>>(
        &self,
        op: &'static str,
        mut states: Vec<Array>,
        entering: Array,
        condition: &mut Condition<'_, E>,
        body: &mut Body<'_, E>,
        trouble: &mut Option<Error>,
    ) -> Result<Vec<Array>, E> {
        let mut turns = 0_u64;
        let mut running = entering;
        loop {
            let guard = self.limit_to(op, &running)?;
            let holds = self.adopt_number(op, &condition(&states)?)?;
            if holds.dtype() != DType::Mask {
                let expected = "a mask as condition";
                return Err(Error::UnsupportedType { op, dtype: holds.dtype(), expected }.into());
            }
            drop(guard);
            running = running.try_and(&holds)?;
            // The body is called even if no lane runs it: sizes and types depend on it.
            let any = running.reduce(ReduceOp::Any)?;
            self.eval_for(op, &[&any])?;
            self.keep_first(trouble);
            if any.item(0)? != Scalar::Bool(true) && turns > 0 {
                return Ok(states);
            }
            turns += 1;
            let guard = self.limit_to(op, &running)?;
            let next = self.brought(op, body(&states)?)?;
            check_count(op, states.len(), next.len())?;
            for (state, next) in states.iter_mut().zip(next) {
                *state = self.merge(op, &running, &next, state)?;
            }
            drop(guard);
            self.eval_for(op, &states.iter().chain([&running]).collect::<Vec<_>>())?;
            self.keep_first(trouble);
        }
    }

    /// Moves the first pending error into `trouble`, unless an access further up, or a lower lane, failed before.
    fn keep_first(&self, trouble: &mut Option<Error>) {
        let place = |error: &Error| match *error {
            Error::Bounds { line, lane, .. } => Some((line, lane)),
            _ => None,
        };
        for error in self.take_errors() {
            if trouble.as_ref().is_none_or(|known| place(&error) < place(known)) {
                *trouble = Some(error);
            }
        }
    }

    /// The branches of a call, one after the other.
    pub(super) fn step_branches<E: From<Error>>(
        &self,
        call: &Call<'_>,
        forms: Option<&[Form]>,
        functions: &mut Functions<'_, E>,
    ) -> Result<Taken, E> {
        let mut taken = Taken::new(call, self.distinct(call.args)?);
        for (number, mask) in call.masks.iter().enumerate() {
            let form = forms.and_then(|forms| forms.get(number));
            let mask = match form {
                Some(form) if mask.size() == 1 => &mask.resize(form.lanes)?,
                _ => mask,
            };
            let passes = self.passes(form, Some(mask))?;
            for chosen in passes.masks(self) {
                let mask = mask.try_and(&chosen?)?;
                self.step_branch(call.op, &mask, form, &mut taken, &mut |args| {
                    functions(number, args)
                })?;
            }
            if let Some(form) = form {
                taken.widen_to(form);
            }
        }
        Ok(taken)
    }

    fn step_branch<E: From<Error>>(
        &self,
        op: &'static str,
        mask: &Array,
        form: Option<&Form>,
        taken: &mut Taken,
        function: &mut Body<'_, E>,
    ) -> Result<(), E> {
        let inside = self.entering(&taken.args, form)?;
        let guard = self.limit_to(op, mask)?;
        let mut next = self.brought(op, function(&inside)?)?;
        taken.check_count(next.len())?;
        let written = self.written(&inside, &next);
        // An argument that was widened, and is returned as it is, is that argument.
        for value in &mut next {
            if let Some(position) = inside.iter().position(|arg| arg.id() == value.id()) {
                *value = taken.args[position].clone();
            }
        }
        let mut values = Vec::with_capacity(next.len());
        for (position, next) in next.iter().enumerate() {
            let covered = taken.is_first() && is_arg(&taken.args, next);
            values.push(match taken.value(position) {
                _ if written.contains(&Some(position)) || covered => next.clone(),
                Some(before) => self.merge(op, mask, next, before)?,
                None => self.merge(op, mask, next, &self.zeros(next.dtype(), 1)?)?,
            });
        }
        drop(guard);
        Ok(taken.add(mask, &written, values)?)
    }

    /// `next` in the running lanes; an array after writes as it is.
    fn merge(
        &self,
        op: &'static str,
        running: &Array,
        next: &Array,
        state: &Array,
    ) -> Result<Array> {
        if next.id() == state.id() || self.stands_for(next, state) {
            return Ok(next.clone());
        }
        if next.dtype() != state.dtype() {
            let (from, to) = (state.dtype().script_name(), next.dtype().script_name());
            let what = format!("a value is {from} and becomes {to}; convert it: {from}(x)");
            return Err(Error::Argument { op, what });
        }
        choice(op, running, next, state)
    }

    /// The states as a body meets them: each a value of its own, those of lanes in all lanes.
    fn entering<E: From<Error>>(
        &self,
        states: &[Array],
        form: Option<&Form>,
    ) -> Result<Vec<Array>, E> {
        let mut states = self.distinct(states)?;
        let Some(form) = form else { return Ok(states) };
        for (state, role) in states.iter_mut().zip(&form.roles) {
            if *role != Role::Whole && state.size() == 1 {
                *state = state.resize(form.lanes)?;
            }
        }
        Ok(states)
    }

    /// The same values, none of them twice: a write to one is not one to another.
    fn distinct(&self, values: &[Array]) -> Result<Vec<Array>> {
        let mut distinct: Vec<Array> = Vec::with_capacity(values.len());
        for value in values {
            let known = is_arg(&distinct, value);
            distinct.push(if known { self.fork(value)? } else { value.clone() });
        }
        Ok(distinct)
    }

    /// The same value under another number: a launch that writes one leaves the other.
    ///
    /// # Errors
    /// Those of an evaluation.
    pub fn fork(&self, value: &Array) -> Result<Array> {
        let session = value.session();
        session.eval_for("an array that is given twice", &[value])?;
        let handle = session.with_table(|table| {
            let fork = table.fork(value.id());
            table.handle(fork)
        });
        Ok(Array::adopt(session.clone(), handle))
    }

    /// In which order lanes run that a mask allows: all together, or one after the other where that shows.
    fn passes(&self, form: Option<&Form>, mask: Option<&Array>) -> Result<Passes> {
        let Some(form) = form else { return Ok(Passes::Together(1)) };
        if !form.in_order || form.lanes <= 1 {
            return Ok(Passes::Together(form.lanes));
        }
        let mut lanes: Vec<u64> = (0..form.lanes).collect();
        for mask in self.limiting_mask().iter().chain(mask) {
            self.eval_for("a body step by step", &[mask])?;
            let pending = self.take_errors();
            let allowed = mask.to_vec::<bool>();
            self.put_errors(pending);
            let allowed = allowed?;
            let all = allowed.len() == 1;
            let runs = |lane: u64| {
                usize::try_from(lane).is_ok_and(|lane| allowed[if all { 0 } else { lane }])
            };
            lanes.retain(|&lane| runs(lane));
        }
        Ok(Passes::OneByOne { lanes, of: form.lanes })
    }

    /// Limits gathers and scatters to lanes until the guard is dropped.
    fn limit_to(&self, op: &'static str, mask: &Array) -> Result<(Guard<'_>, Array)> {
        let mut scope = 0;
        let mask = self.record(|recorder| {
            let (opened, limited) = recorder.open_evaluated(op, mask.id())?;
            scope = opened;
            Ok(limited)
        })?;
        Ok((Guard { session: self, scope }, mask))
    }
}

/// The lanes that run together.
enum Passes {
    /// So many at once.
    Together(u64),
    /// Each of these by itself.
    OneByOne { lanes: Vec<u64>, of: u64 },
}

impl Passes {
    /// The masks of the passes. A body runs in any case, if need be in no lane.
    fn masks<'s>(&'s self, session: &'s Session) -> Box<dyn Iterator<Item = Result<Array>> + 's> {
        match self {
            Self::Together(lanes) => Box::new(iter::once(session.full(DType::Mask, true, *lanes))),
            Self::OneByOne { lanes, of } if lanes.is_empty() => {
                Box::new(iter::once(session.full(DType::Mask, false, *of)))
            }
            Self::OneByOne { lanes, of } => {
                let number = session.record(|recorder| Ok(recorder.lane_index(DType::U64, *of)));
                Box::new(lanes.iter().map(move |&lane| {
                    let number = number.clone()?;
                    number.eq(Scalar::UInt(lane))
                }))
            }
        }
    }
}
