//! Integers in an index: what stands beside them, and what they find of lanes that are no tensor.

use porcini_core::catalogue::{self, Answer};
use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::value::{Argument, Form, place};
use porcini_core::{DType, Session, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// What integers of several axes find of complex lanes, or of one lane, which every index reads; `None` of other values,
/// and of masks.
pub(crate) fn of_lanes(session: &Session, value: &Value, index: &Value) -> PyResult<Option<Value>> {
    let is_complex = value.form() == Form::Complex;
    let are_lanes = is_complex || value.form() == Form::Scalar && value.lanes() == Some(1);
    if !are_lanes || !index.dtype().is_int() {
        return Ok(None);
    }
    let row = catalogue::find("take").expect("internal error: no take");
    match row.call(session, &[&Argument::from(value), &Argument::from(index)]).or_raise()? {
        Answer::Value(value) => Ok(Some(value)),
        other => Err(PyTypeError::new_err(format!("internal error: take gave {other:?}"))),
    }
}

/// Complex lanes with others where integers of several axes say: values that broadcast to their shape.
pub(crate) fn with_lanes(value: &Value, index: &Tensor, new: &Argument<'_>) -> PyResult<Value> {
    let line = Argument::from(value).to_tensor("[]=").or_raise()?;
    // A complex number is a tensor without axes.
    let line = if line.shape().rank() == 0 { line.reshape(&[1]).or_raise()? } else { line };
    let new = new.fitted_to("[]=", &line).or_raise()?;
    let changed = line.with_at(&[AxisIndex::Numbers(index.clone())], &new).or_raise()?;
    changed.lanes().or_raise()
}

/// Refuses ... between integers that it would stand apart in NumPy, where it stands for no axis.
pub(crate) fn check_apart(axes: &[AxisIndex], places: &[usize]) -> PyResult<()> {
    let is_several = |chosen: &AxisIndex| matches!(chosen, AxisIndex::Numbers(_));
    let are_integers =
        |chosen: &AxisIndex| is_several(chosen) || matches!(chosen, AxisIndex::Number(_));
    let is_apart = |&place: &usize| {
        let (before, behind) = axes.split_at(place);
        before.last().is_some_and(are_integers)
            && behind.first().is_some_and(are_integers)
            && !before.iter().all(are_integers)
    };
    if axes.iter().any(is_several) && places.iter().any(is_apart) {
        return Err(PyTypeError::new_err(
            "[]: got ... between integers, where it stands for no axis: leave it out; NumPy would put what they find in \
             front, as moveaxis does",
        ));
    }
    Ok(())
}

/// As NumPy has it, a number beside integers is one of them where a slice stands between: what they find comes first.
pub(crate) fn numbers_together(
    session: &Session,
    extents: &[u64],
    axes: &mut [AxisIndex],
) -> PyResult<()> {
    let is_several = |chosen: &AxisIndex| matches!(chosen, AxisIndex::Numbers(_));
    let is_number = |chosen: &AxisIndex| matches!(chosen, AxisIndex::Number(_));
    let mut groups = axes
        .chunk_by(|a, b| [a, b].map(|chosen| is_several(chosen) || is_number(chosen)) == [true; 2]);
    let together = |group: &[AxisIndex]| group.iter().any(|a| is_several(a) || is_number(a));
    let n_groups = groups.by_ref().filter(|group| together(group)).count();
    if n_groups < 2 || !axes.iter().any(is_several) {
        return Ok(());
    }
    let mut extents = extents.iter();
    for chosen in axes.iter_mut().filter(|chosen| !matches!(chosen, AxisIndex::New)) {
        let n = extents.next().copied().unwrap_or_default();
        if let AxisIndex::Number(i) = *chosen {
            let lane =
                session.full(DType::I64, place(i, n).or_raise()?.cast_signed(), 1).or_raise()?;
            *chosen = AxisIndex::Numbers(Tensor::new(&lane, &[]).or_raise()?);
        }
    }
    Ok(())
}
