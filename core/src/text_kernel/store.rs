//! Results of kernels into arrays that are there (S12, S27).

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
    /// As [`TextKernel::call`]; `Kernel` for another number of targets; `SizeMismatch` where a target has fewer lanes.
    pub fn store(
        &self,
        session: &Session,
        store: Store,
        targets: &[Option<&Argument<'_>>],
        active: Option<&Array>,
        args: &[&Argument<'_>],
    ) -> Result<(Vec<Value>, super::Called)> {
        let called = self.call_where(session, active, args)?;
        let stored = all_stored(self.name(), session, store, &called.results, targets, active)?;
        Ok((stored, called))
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
    let stored = wanted.map(|(result, target)| {
        let [result, target] = [&Argument::from(result), target];
        components("into", &[result, target], &|operands| match *operands {
            [Operand::Array(result), Operand::Array(target)] => {
                stored(session, store, result, target, active)
            }
            _ => Err(Error::forms("into: got a number, expected an array to write to".into())),
        })
    });
    stored.map(|value| value?.own()).collect()
}

fn stored(
    session: &Session,
    store: Store,
    result: &Array,
    target: &Array,
    active: Option<&Array>,
) -> Result<Array> {
    let dtype = target.dtype();
    let mut new = match store {
        Store::Into => result.clone(),
        Store::AddTo => {
            let (target, mut result) = (target.cast(accumulation(dtype))?, result.clone());
            if result.dtype() == DType::Mask {
                // A truth value is added as 0 or 1.
                result = result.cast(target.dtype())?;
            }
            session.apply(Op::Add, &[(&target).into(), (&result).into()])?
        }
    };
    let size = target.size();
    let sizes = |lhs| Error::SizeMismatch { op: "into", lhs, rhs: size };
    new = match new.dtype() {
        of_new if of_new == dtype => new,
        _ if dtype == DType::Mask => new.neq(0)?,
        _ => new.cast(dtype)?,
    };
    if let Some(active) = active {
        new = session.apply(Op::Select, &[active.into(), (&new).into(), target.into()])?;
    }
    match new.size() {
        lanes if lanes == size => Ok(new),
        1 => new.resize(size),
        lanes => Err(sizes(lanes)),
    }
}
