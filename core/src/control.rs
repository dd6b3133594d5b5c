//! Loops and branches of arrays (S21): recorded once and run in the kernel, lane by lane.
//!
//! The closures are called with arrays that stand for the values in the kernel; what they record becomes
//! the body. With the flag `record_loops` off they are called step by step with real values instead.
//!
//! Inside a body gathers and scatters touch only the lanes that run it. Arrays that the body scatters to
//! must be among the states (or arguments) and be returned.

use std::iter;

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::flags::RECORD_LOOPS;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::var::VarId;
use crate::session::Session;
use crate::trace::broadcast_size;
use crate::trace::region::{Change, Closed};

/// Closes a region when dropped, if it was not closed before.
struct Guard<'s> {
    session: &'s Session,
    scope: u32,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.session.with_table(|table| table.close_region(self.scope));
    }
}

/// A region while it is recorded.
struct Recording<'s> {
    guard: Guard<'s>,
    op: &'static str,
    /// Keeps the mask alive that the table refers to.
    mask: Array,
}

impl<'s> Recording<'s> {
    fn open(session: &'s Session, op: &'static str) -> Result<Self> {
        let mut scope = 0;
        let mask = session.record(|recorder| {
            let (opened, entering) = recorder.open_region(op)?;
            scope = opened;
            Ok(entering)
        })?;
        Ok(Self { guard: Guard { session, scope }, op, mask })
    }

    /// Arrays that stand for the values in the body.
    fn states(&self, values: &[Array]) -> Result<Vec<Array>> {
        let state = |value: &Array| {
            if !self.guard.session.is(value.session()) {
                return Err(Error::ForeignArray { op: self.op });
            }
            self.guard.session.record(|recorder| Ok(recorder.state(self.guard.scope, value.id())))
        };
        values.iter().map(state).collect()
    }

    fn run(&mut self, condition: &Array) -> Result<()> {
        let id = condition.id();
        self.mask = self.guard.session.record(|recorder| recorder.run(self.op, id))?;
        Ok(())
    }

    /// The values behind the region, or the states to record it again without.
    fn close(self, repeat: bool, changes: &[Change]) -> Result<Behind> {
        let mut again = None;
        let running = self.mask.id();
        let results = self.guard.session.record_all(|recorder| {
            Ok(match recorder.close_region(repeat, running, changes)? {
                Closed::Done(results) => results,
                Closed::Again(states) => {
                    again = Some(states);
                    Vec::new()
                }
            })
        })?;
        Ok(again.map_or(Behind::Results(results), Behind::Again))
    }
}

/// What is recorded: from arrays to arrays.
type Body<'b, E> = dyn FnMut(&[Array]) -> Result<Vec<Array>, E> + 'b;

enum Behind {
    Results(Vec<Array>),
    Again(Vec<VarId>),
}

impl Session {
    /// Repeats `body` in every lane as long as `condition` holds there; the states at the end.
    ///
    /// **Sizes**: the states' lanes, condition and values broadcast; a state of one lane widens. An array
    /// that the body scatters to keeps its own size. **Dtypes**: states keep theirs. **Evaluation**:
    /// recorded; the loop becomes part of the kernel that needs it. Lanes that are done keep their values.
    /// A loop that never ends can be interrupted.
    ///
    /// # Errors
    /// What the closures return; `Argument` if the body returns another number or type of values;
    /// `SizeMismatch`; `Recording` where the body reads lanes; `NotState` where it writes other arrays.
    pub fn while_loop<E: From<Error>>(
        &self,
        states: &[Array],
        mut condition: impl FnMut(&[Array]) -> Result<Array, E>,
        mut body: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        let op = "while_loop";
        if let Some((home, states)) = self.moved(op, states.iter())? {
            return home.while_loop(&states, condition, body);
        }
        if !self.flag_is_set(RECORD_LOOPS) {
            return self.step_by_step(op, states, &mut condition, &mut body);
        }
        let mut raw = vec![false; states.len()];
        loop {
            let mut recording = Recording::open(self, op)?;
            let inside = replaced(&recording, states, &raw)?;
            recording.run(&condition(&inside)?)?;
            let next = body(&inside)?;
            check_count(op, states.len(), next.len())?;
            let changes: Vec<Change> = inside
                .iter()
                .zip(&next)
                .zip(&raw)
                .filter(|&(_, &raw)| !raw)
                .map(|((state, next), _)| Change {
                    state: Some(state.id()),
                    otherwise: None,
                    covered: false,
                    next: next.id(),
                })
                .collect();
            match recording.close(true, &changes)? {
                Behind::Results(results) => {
                    let mut results = results.into_iter();
                    let value = |(state, &raw): (&Array, &bool)| {
                        if raw { Some(state.clone()) } else { results.next() }
                    };
                    return Ok(states.iter().zip(&raw).filter_map(value).collect());
                }
                Behind::Again(ids) => mark(&mut raw, &inside, &ids),
            }
        }
    }

    /// `then` in the lanes of a mask and `otherwise` in the others; the values that they return, position by
    /// position.
    ///
    /// **Sizes**: mask, arguments and values broadcast. **Dtypes**: both branches return the same types.
    /// **Evaluation**: recorded; a branch that no lane of a packet takes is skipped.
    ///
    /// # Errors
    /// As [`Session::while_loop`].
    pub fn if_then<E: From<Error>>(
        &self,
        mask: &Array,
        args: &[Array],
        mut then: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
        mut otherwise: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        let op = "if_then";
        if let Some((home, there)) = self.moved(op, iter::once(mask).chain(args))? {
            return home.if_then(&there[0], &there[1..], then, otherwise);
        }
        let taken = self.branch(op, mask, args, Before::Covered, &mut then)?;
        let rest = mask.apply(Op::Not, &[])?;
        let before = Before::Values(taken.values);
        Ok(self.branch(op, &rest, &taken.args, before, &mut otherwise)?.values)
    }

    /// The call of function `index[i]` of a list in lane `i`; zeros where there is no such function.
    ///
    /// **Sizes**, **Dtypes**, **Evaluation** as [`Session::if_then`].
    ///
    /// # Errors
    /// As [`Session::while_loop`]; `Argument` without functions, `UnsupportedType` for an index that is no
    /// integer.
    pub fn dispatch<E: From<Error>>(
        &self,
        index: &Array,
        n_functions: usize,
        args: &[Array],
        mut call: impl FnMut(usize, &[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        let op = "dispatch";
        if let Some((home, there)) = self.moved(op, iter::once(index).chain(args))? {
            return home.dispatch(&there[0], n_functions, &there[1..], call);
        }
        let dtype = index.dtype();
        if !dtype.is_int() {
            let expected = "an array of integers as index";
            return Err(Error::UnsupportedType { op, dtype, expected }.into());
        }
        let mut args = args.to_vec();
        // An argument that the first function leaves alone stays as it is at first: a later one may write it.
        let mut before = Before::Covered;
        let mut alone: Vec<bool> = Vec::new();
        let mut last = 0;
        for number in 0..n_functions {
            let literal = i64::try_from(number).unwrap_or(i64::MAX);
            let Ok(chosen) = index.eq(literal) else { break };
            let branch =
                self.branch(op, &chosen, &args, before, &mut |args: &[Array]| call(number, args))?;
            if number == 0 {
                alone = branch.values.iter().map(|value| is_arg(&args, value)).collect();
            }
            alone.iter_mut().zip(&branch.whole).for_each(|(alone, whole)| *alone &= !whole);
            args = branch.args;
            last = literal;
            before = Before::Values(branch.values);
        }
        let Before::Values(mut values) = before else {
            let what = "a list without functions";
            return Err(Error::Argument { op, what: what.into() }.into());
        };
        for (value, _) in values.iter_mut().zip(alone).filter(|(_, alone)| *alone) {
            let called = index.ge(0)?.apply(Op::And, &[(&index.le(last)?).into()])?;
            *value = choice(op, &called, value, &self.zeros(value.dtype(), 1)?)?;
        }
        Ok(values)
    }

    /// One branch, over the values where it is not taken.
    fn branch<E: From<Error>>(
        &self,
        op: &'static str,
        mask: &Array,
        args: &[Array],
        otherwise: Before,
        body: &mut Body<'_, E>,
    ) -> Result<Branch, E> {
        let dtype = mask.dtype();
        if dtype != DType::Mask {
            let expected = "a mask first";
            return Err(Error::UnsupportedType { op, dtype, expected }.into());
        }
        if !self.flag_is_set(RECORD_LOOPS) {
            return self.branch_at_once(op, mask, args, otherwise, body);
        }
        let mut raw = vec![false; args.len()];
        loop {
            let mut recording = Recording::open(self, op)?;
            let inside = replaced(&recording, args, &raw)?;
            recording.run(mask)?;
            let next = body(&inside)?;
            otherwise.check_count(op, next.len())?;
            let change = |(position, next): (usize, &Array)| Change {
                state: None,
                otherwise: otherwise.value(position).map(Array::id),
                covered: matches!(otherwise, Before::Covered) && is_arg(&inside, next),
                next: next.id(),
            };
            let changes: Vec<Change> = next.iter().enumerate().map(change).collect();
            match recording.close(false, &changes)? {
                Behind::Results(values) => {
                    let written = self.written(&inside, &next);
                    return Ok(Branch::new(op, mask, args, &otherwise, &written, values)?);
                }
                Behind::Again(ids) => mark(&mut raw, &inside, &ids),
            }
        }
    }

    /// For each argument, the position of its array after writes among the values.
    fn written(&self, args: &[Array], values: &[Array]) -> Vec<Option<usize>> {
        args.iter().map(|arg| values.iter().position(|value| self.stands_for(value, arg))).collect()
    }

    /// Whether a value is an argument's array after writes.
    fn stands_for(&self, value: &Array, arg: &Array) -> bool {
        self.with_table(|table| {
            let goal = table.get(arg.id()).serial;
            let mut id = value.id();
            while let Some(before) = table.before_write(id) {
                if before == arg.id() {
                    return true;
                }
                id = before;
            }
            // From there on, writes step by step that were evaluated.
            let mut serial = table.get(id).serial;
            while let Some(before) = table.written_before(serial) {
                if before == goal {
                    return true;
                }
                serial = before;
            }
            false
        })
    }

    /// Refuses a change of an array that is from outside the body being recorded, and no state of it.
    ///
    /// # Errors
    /// `NotState`.
    pub fn check_change(&self, op: &'static str, array: &Array) -> Result<()> {
        self.with_table(|table| {
            let variable = table.get(array.id());
            let (scope, serial) = (variable.scope, variable.serial);
            match table.open_region_mut() {
                Some(open) if !open.evaluated && scope != open.scope && serial < open.serial => {
                    Err(Error::NotState { op, region: open.op, line: open.line })
                }
                _ => Ok(()),
            }
        })
    }

    /// Whether this thread records a body: what it returns has no lanes yet.
    pub fn is_recording(&self) -> bool {
        self.with_table(|table| table.open_region_mut().is_some_and(|open| !open.evaluated))
    }

    /// The lanes that run a body step by step; `None` outside of such bodies.
    pub fn limiting_mask(&self) -> Option<Array> {
        let handle = self.with_table(|table| {
            let mask = table.open_region_mut().filter(|open| open.evaluated)?.mask;
            table.inc_external(mask);
            Some((mask, table.get(mask).generation))
        });
        handle.map(|handle| Array::adopt(self.clone(), handle))
    }

    // ---- step by step ----

    /// The loop with real values, evaluated at every turn.
    fn step_by_step<E: From<Error>>(
        &self,
        op: &'static str,
        states: &[Array],
        condition: &mut dyn FnMut(&[Array]) -> Result<Array, E>,
        body: &mut Body<'_, E>,
    ) -> Result<Vec<Array>, E> {
        let earlier = self.take_error();
        let mut trouble = None;
        let results = self.turns(op, states, condition, body, &mut trouble);
        if let Some(error) = earlier.or(trouble) {
            self.put_error(error);
        }
        results
    }

    /// Bounds errors go into `trouble`: the whole loop has one, as if it were recorded.
    fn turns<E: From<Error>>(
        &self,
        op: &'static str,
        states: &[Array],
        condition: &mut dyn FnMut(&[Array]) -> Result<Array, E>,
        body: &mut Body<'_, E>,
        trouble: &mut Option<Error>,
    ) -> Result<Vec<Array>, E> {
        let mut states = states.to_vec();
        let mut turns = 0_u64;
        let mut running = self.full(DType::Mask, true, 1)?;
        loop {
            let guard = self.limit_to(op, &running)?;
            let holds = condition(&states)?;
            if holds.dtype() != DType::Mask {
                let expected = "a mask as condition";
                return Err(Error::UnsupportedType { op, dtype: holds.dtype(), expected }.into());
            }
            drop(guard);
            running = running.apply(Op::And, &[(&holds).into()])?;
            // The body is called even if no lane runs it: sizes and types depend on it.
            let any = running.reduce(ReduceOp::Any)?;
            any.eval()?;
            self.keep_first(trouble);
            if any.item(0)? != Scalar::Bool(true) && turns > 0 {
                return Ok(states);
            }
            turns += 1;
            let guard = self.limit_to(op, &running)?;
            let next = body(&states)?;
            check_count(op, states.len(), next.len())?;
            for (state, next) in states.iter_mut().zip(next) {
                *state = self.merge(op, &running, &next, state)?;
            }
            drop(guard);
            self.eval(&states.iter().chain([&running]).collect::<Vec<_>>())?;
            self.keep_first(trouble);
        }
    }

    /// Moves a pending error into `trouble`, unless an access further up, or a lower lane, failed before.
    fn keep_first(&self, trouble: &mut Option<Error>) {
        let place = |error: &Error| match *error {
            Error::Bounds { line, lane, .. } => Some((line, lane)),
            _ => None,
        };
        if let Some(error) = self.take_error()
            && trouble.as_ref().is_none_or(|known| place(&error) < place(known))
        {
            *trouble = Some(error);
        }
    }

    /// A branch with real values.
    fn branch_at_once<E: From<Error>>(
        &self,
        op: &'static str,
        mask: &Array,
        args: &[Array],
        otherwise: Before,
        body: &mut Body<'_, E>,
    ) -> Result<Branch, E> {
        let guard = self.limit_to(op, mask)?;
        let next = body(args)?;
        otherwise.check_count(op, next.len())?;
        let mut values = Vec::with_capacity(next.len());
        let written = self.written(args, &next);
        for (position, next) in next.iter().enumerate() {
            if written.contains(&Some(position)) {
                values.push(next.clone());
                continue;
            }
            let before = match otherwise.value(position) {
                Some(before) => before.clone(),
                None if matches!(otherwise, Before::Covered) && is_arg(args, next) => next.clone(),
                None => self.zeros(next.dtype(), 1)?,
            };
            values.push(self.merge(op, mask, next, &before)?);
        }
        drop(guard);
        Ok(Branch::new(op, mask, args, &otherwise, &written, values)?)
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

/// What there is where a branch is not taken.
enum Before {
    /// Zeros, but of an argument itself: what another branch will give.
    Covered,
    /// What other branches gave.
    Values(Vec<Array>),
}

impl Before {
    fn value(&self, position: usize) -> Option<&Array> {
        match self {
            Self::Values(values) => values.get(position),
            Self::Covered => None,
        }
    }

    fn check_count(&self, op: &'static str, got: usize) -> Result<()> {
        match self {
            Self::Values(values) => check_count(op, values.len(), got),
            Self::Covered => Ok(()),
        }
    }
}

/// What a branch gave.
struct Branch {
    /// The arguments as the next branch finds them.
    args: Vec<Array>,
    values: Vec<Array>,
    /// Which values are an argument's array after writes, whole.
    whole: Vec<bool>,
}

impl Branch {
    /// `written` says which value is which argument's array after writes. Where lanes of other branches have
    /// another value, they keep it.
    fn new(
        op: &'static str,
        mask: &Array,
        args: &[Array],
        otherwise: &Before,
        written: &[Option<usize>],
        mut values: Vec<Array>,
    ) -> Result<Self> {
        let mut args = args.to_vec();
        let mut whole = vec![false; values.len()];
        for (arg, written) in args.iter_mut().zip(written) {
            let Some(position) = *written else { continue };
            let old = std::mem::replace(arg, values[position].clone());
            match otherwise.value(position) {
                Some(before) if before.id() != old.id() => {
                    values[position] = choice(op, mask, arg, before)?;
                }
                _ => whole[position] = true,
            }
        }
        Ok(Self { args, values, whole })
    }
}

/// `mask ? a : b`, for the function `op`.
fn choice(op: &'static str, mask: &Array, a: &Array, b: &Array) -> Result<Array> {
    let lanes = broadcast_size(op, mask.size(), a.size())?;
    broadcast_size(op, lanes, b.size())?;
    mask.select(a, b)
}

/// The states in the body, or the values themselves.
fn replaced(recording: &Recording<'_>, values: &[Array], raw: &[bool]) -> Result<Vec<Array>> {
    let mut inside = recording.states(values)?;
    for ((inside, value), _) in inside.iter_mut().zip(values).zip(raw).filter(|(_, raw)| **raw) {
        *inside = value.clone();
    }
    Ok(inside)
}

fn mark(raw: &mut [bool], inside: &[Array], ids: &[VarId]) {
    for (raw, inside) in raw.iter_mut().zip(inside) {
        *raw |= ids.contains(&inside.id());
    }
}

fn is_arg(args: &[Array], value: &Array) -> bool {
    args.iter().any(|arg| arg.id() == value.id())
}

fn check_count(op: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    let what = format!("a function returned {got} values, expected {expected}");
    Err(Error::Argument { op, what })
}
