//! Results of kernels into arrays that are there (S12, S27).

use std::borrow::Cow;

use super::TextKernel;
use super::reduction::{Over, TextReduction};
use super::types::accumulation;
use crate::array::{Array, Operand};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::session::Session;
use crate::value::{Argument, Value, components};

/// How results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// In place of what is there.
    Into,
    /// Added to what is there, in the accumulation type of the array: f32 for f16, 32 bits for narrow integers.
    AddTo,
}

impl TextKernel {
    /// Calls the kernel and stores its results, those that have a target, converted as S9 says, in the lanes where `active`,
    /// and what they write by index; the new values of the targets, which keep their types and sizes, and what [`TextKernel::call`] gives.
    ///
    /// # Errors
    /// As [`TextKernel::call`]; `Kernel` for another number of targets, and one that is written by index besides; `SizeMismatch` where a target has fewer lanes, `Forms`
    /// where it has one, or another form.
    pub fn store(
        &self,
        session: &Session,
        store: Store,
        targets: &[Option<&Argument<'_>>],
        active: Option<&Array>,
        args: &[&Argument<'_>],
    ) -> Result<(Vec<Value>, super::Called)> {
        self.check_targets(targets, args)?;
        let called = self.call_where(session, active, args)?;
        let stored = all_stored(self.name(), session, store, &called.results, targets, active)?;
        Ok((stored, called))
    }

    /// Refuses what is written by index as a target: one of both would be lost.
    fn check_targets(
        &self,
        targets: &[Option<&Argument<'_>>],
        args: &[&Argument<'_>],
    ) -> Result<()> {
        let is_target = |arg: &Argument<'_>| targets.iter().flatten().any(|it| it.shares(arg));
        let given = self.function().given().zip(args).enumerate();
        for (number, (parameter, arg)) in given {
            if parameter.is_written_by_index() && is_target(arg) {
                let what =
                    format!("{}, which it writes by index, is a target, too", parameter.name);
                let remedy = "give its results another one: z = copy(y)";
                return Err(self.wrong_argument(number, &what, Some(remedy.into())));
            }
        }
        Ok(())
    }
}

impl TextReduction {
    /// Reduces, or scans, and stores as [`TextKernel::store`]: the new values of the targets.
    ///
    /// # Errors
    /// As [`TextReduction::call`] and [`TextKernel::store`].
    pub fn store(
        &self,
        session: &Session,
        store: Store,
        targets: &[Option<&Argument<'_>>],
        active: Option<&Array>,
        args: &[&Argument<'_>],
        over: &Over<'_>,
    ) -> Result<Vec<Value>> {
        let results = self.call(session, args, over)?;
        all_stored(self.name(), session, store, &results, targets, active)
    }
}

fn all_stored(
    name: &str,
    session: &Session,
    store: Store,
    results: &[Value],
    targets: &[Option<&Argument<'_>>],
    active: Option<&Array>,
) -> Result<Vec<Value>> {
    if results.len() != targets.len() {
        let (got, expected) = (targets.len(), results.len());
        let what = format!("kernel `{name}`: got {got} targets for {expected} results");
        return Err(Error::Kernel { what, remedy: None });
    }
    for target in targets.iter().flatten().flat_map(|target| target.leaves()) {
        session.check_change("into", target)?;
    }
    let pairs = results.iter().zip(targets);
    let wanted = pairs.filter_map(|(result, target)| Some((result, (*target)?)));
    let stored = wanted.map(|(result, target)| stored(session, store, result, target, active));
    stored.map(|value| value?.own()).collect()
}

/// The new value of a target, which keeps its type and size.
fn stored(
    session: &Session,
    store: Store,
    result: &Value,
    target: &Argument<'_>,
    active: Option<&Array>,
) -> Result<Value> {
    let lanes = target.lanes().unwrap_or(1);
    let value = components("into", &[&result.into(), target], &|operands| {
        let [result, Operand::Array(target)] = *operands else {
            return Err(Error::forms("into: got a number, expected an array to write to".into()));
        };
        let result = match result {
            Operand::Array(result) => Cow::Borrowed(result),
            // The imaginary part of a real number.
            Operand::Number(zero) => Cow::Owned(session.full(target.dtype(), zero, 1)?),
        };
        // A component of one lane beside longer ones is as long as they are.
        match target.size() {
            1 if lanes != 1 => {
                lanes_stored(session, store, &result, &target.resize(lanes)?, active)
            }
            _ => lanes_stored(session, store, &result, target, active),
        }
    })?;
    kept(result, value, target)
}

/// What a result made of a target, if that has the type and size of the target; an array takes the entries of a tensor.
fn kept(result: &Value, value: Value, target: &Argument<'_>) -> Result<Value> {
    let value = match (value, target) {
        (Value::Tensor(entries), Argument::Array(_)) => entries.lanes()?,
        (value, _) => value,
    };
    match (&value, target) {
        (Value::Tensor(new), Argument::Tensor(old)) if new.shape() != old.shape() => {
            let what = format!("into: got values of shape {} for {}", new.shape(), old.shape());
            Err(Error::forms(what))
        }
        (Value::Array(new), Argument::Array(old)) if new.size() != old.size() => {
            Err(wrong_size(new.size(), old.size()))
        }
        _ if value.type_name() != target.type_name() => {
            let (got, expected) = (result.type_name(), target.type_name());
            Err(Error::forms(format!("into: got {got}, expected a value for {expected}")))
        }
        _ => Ok(value),
    }
}

fn lanes_stored(
    session: &Session,
    store: Store,
    result: &Array,
    target: &Array,
    active: Option<&Array>,
) -> Result<Array> {
    let (dtype, size) = (target.dtype(), target.size());
    if ![1, size].contains(&result.size()) {
        return Err(wrong_size(result.size(), size));
    }
    let mut new = match store {
        Store::Into => result.clone(),
        Store::AddTo => {
            // What is added is converted as a store converts it, so that sums are exact in the target's own type.
            let sums = accumulation(dtype);
            let (target, result) = (target.cast(sums)?, result.cast(sums)?);
            session.apply(Op::Add, &[(&target).into(), (&result).into()])?
        }
    };
    new = match new.dtype() {
        of_new if of_new == dtype => new,
        _ if dtype == DType::Mask => new.neq(0)?,
        _ => new.cast(dtype)?,
    };
    if let Some(active) = active {
        let chosen = [active.into(), (&new).into(), target.into()];
        new = session.apply(Op::Select, &chosen).map_err(|error| error.of("into"))?;
    }
    new = match new.size() {
        lanes if lanes == size => new,
        1 => new.resize(size)?,
        lanes => return Err(wrong_size(lanes, size)),
    };
    let mut place = target.clone();
    place.replace(new);
    Ok(place)
}

/// The error of more values than a target has room for.
fn wrong_size(lhs: u64, rhs: u64) -> Error {
    match rhs {
        1 => Error::Forms {
            what: format!("into: got {lhs} values for a target of one lane"),
            remedy: Some("y = k(x) makes a new array, FloatC::zero(3) one of three lanes"),
        },
        _ => Error::SizeMismatch { op: "into", lhs, rhs },
    }
}
