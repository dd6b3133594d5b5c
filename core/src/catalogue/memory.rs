//! Gathers and scatters.

use std::borrow::Cow;

use super::{Answer, Call, Kind, Row, table, words};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::ir::op::{ScatterMode, ScatterOp};
use crate::tensor::{Shape, Tensor};
use crate::value::{Argument, Form, Value};

table! {
    /// What reads by index.
    GATHERS;
    /// `source[index[i]]` for each lane of an integer index; 0 where active (optional) is false or the index is out of
    /// bounds, which is an error at the next read. A source of size 1 is a scalar. Vectors gather component by
    /// component, tensors of one axis, complex ones too, give such; an index tensor of two axes or more gives what it
    /// finds in an array or in complex lanes its shape, and active broadcasts to that. Recorded, not run.
    ///
    /// >> gather(FloatC([5, 6, 7]), UInt32C([2, 0]))
    /// [7, 5]
    /// >> gather(FloatC([5, 6, 7]), TensorXuC([[2, 0], [1, 1]]))
    /// [[7, 5],
    ///  [6, 6]]
    gather(source: Value, index: Array; active: Active) = |c| {
        let (index, shape) = c.index(1)?;
        let active = active(c, 2, shape)?;
        let line = line(c, c.args[0], PARTS)?;
        let source = line.as_ref().map(Argument::from);
        let source = source.as_ref().unwrap_or(c.args[0]);
        let found = source.each(c.op, |source| source.gather(&index, active.as_deref()))?;
        let own = Shape::new(c.op, [found.lanes().unwrap_or(1)])?;
        c.in_shape(found, shape.or(line.is_some().then_some(&own)))
    };
}

/// How a tensor of more axes is read and written.
const PARTS: &str =
    "t[index] and take(t, index, 0) are parts of a tensor, ravel(t) the array of its entries";
const ENTRIES: &str =
    "ravel(t) is the array of a tensor's entries, reshape(x, t.shape) the tensor again";

/// The array, or the complex numbers, that a tensor of one axis is; `None` of what is no tensor.
///
/// # Errors
/// `Forms` with a remedy for tensors of other axes.
fn line(c: &Call<'_, '_>, x: &Argument<'_>, remedy: &'static str) -> Result<Option<Value>> {
    match x {
        Argument::Tensor(line) if line.shape().rank() == 1 => line.lanes().map(Some),
        Argument::Tensor(tensor) => {
            let got = tensor.type_name();
            let what = format!("{}: got {got}, expected a one-dimensional array", c.op);
            Err(Error::Forms { what, remedy: Some(remedy) })
        }
        Argument::Number(_) | Argument::Array(_) | Argument::Nested(..) => Ok(None),
    }
}

/// What reads and writes by index.
pub const MEMORY: &[Row] = &{
    let mut rows = [GATHERS[0]; 1 + ScatterOp::ALL.len()];
    let mut i = 0;
    while i < ScatterOp::ALL.len() {
        rows[1 + i] = row(ScatterOp::ALL[i]);
        i += 1;
    }
    rows
};

/// What holds for every scatter.
const NOTE: &str = "\
Only lanes where active (optional) is true take part. The value is a number or an array of the target's type or one \
that fits it. Recorded, not run. Every name of the target sees the write, copies do not. An index out of bounds is \
dropped, and an error at the next read. A vector is written component by component, one of a single lane in as many as \
the others have; a real number in complex ones is one without imaginary part. A tensor of one axis is an array here, or \
complex numbers. To the shape of an index tensor the value \
broadcasts. The mode (optional, last) says what a GPU \
does where lanes meet at one element: \"fast\" takes them in any order, \"exact\" (or \"last\") in that of the CPU, lane \
after lane.";

/// The words for modes.
const MODES: &[&str] = &words(&ScatterMode::NAMES);

const fn row(op: ScatterOp) -> Row {
    Row {
        name: op.name(),
        parameters: &[
            ("target", Kind::Target),
            ("value", Kind::Operand),
            ("index", Kind::Array),
            ("active", Kind::Active),
            ("mode", Kind::Word(MODES)),
        ],
        n_required: 3,
        doc: op.doc(),
        note: NOTE,
        meaning: |c| Ok(Answer::Written(scatter_in_line(c)?, None)),
    }
}

impl<'a> Call<'_, 'a> {
    /// The lanes of an index, and the shape that one of two axes or more gives to what it finds.
    pub(super) fn index(&self, i: usize) -> Result<(Cow<'a, Array>, Option<&'a Shape>)> {
        match *self.args[i] {
            Argument::Tensor(index) => {
                let lanes = index.real(self.op)?.entries()?.swap_remove(0);
                let shape = index.shape();
                Ok((Cow::Owned(lanes), (shape.rank() > 1).then_some(shape)))
            }
            _ => Ok((Cow::Borrowed(self.array(i)?), None)),
        }
    }

    /// What an index found, with its shape if it has one.
    pub(super) fn in_shape(&self, found: Value, shape: Option<&Shape>) -> Result<Value> {
        let Some(shape) = shape else { return Ok(found) };
        let tensor = match (found.form(), &found.leaves()[..]) {
            (Form::Scalar, [one]) => Tensor::new(one, shape.extents()),
            (Form::Complex, [real, imag]) => Tensor::complex(real, imag, shape.extents()),
            _ => Err(self.unexpected(0, "an array, or an index of one axis")),
        };
        tensor.map(Value::Tensor)
    }
}

/// Which lanes of an index take part, unless all do: those of a mask that broadcasts to its shape.
pub(super) fn active<'a>(
    c: &Call<'_, 'a>,
    i: usize,
    shape: Option<&Shape>,
) -> Result<Option<Cow<'a, Array>>> {
    match (c.given(i), shape) {
        (Some(Argument::Array(_) | Argument::Tensor(_)), Some(shape)) => {
            let mask = c.tensor(i)?.real(c.op)?.as_entries(c.op, shape)?;
            Ok(Some(Cow::Owned(mask.entries()?.swap_remove(0))))
        }
        _ => c.active(i),
    }
}

/// The target with a value written: tensors of one axis as what they are in a row.
fn scatter_in_line(c: &Call<'_, '_>) -> Result<Value> {
    let target = line(c, c.args[0], ENTRIES)?;
    let value = match c.args[1] {
        Argument::Tensor(value) if value.shape().rank() == 1 => Some(value.lanes()?),
        _ => None,
    };
    let (own, given) = (target.as_ref().map(Argument::from), value.as_ref().map(Argument::from));
    let mut args = c.args.to_vec();
    args[0] = own.as_ref().unwrap_or(args[0]);
    args[1] = given.as_ref().unwrap_or(args[1]);
    let written = scatter_in_shape(&Call { args: &args, ..*c })?;
    match c.args[0] {
        Argument::Tensor(target) => c.in_shape(written, Some(target.shape())),
        _ => Ok(written),
    }
}

/// The target with a value written, which broadcasts to the shape of an index tensor.
fn scatter_in_shape(c: &Call<'_, '_>) -> Result<Value> {
    let Argument::Tensor(index) = *c.args[2] else { return scatter(c, c.args[0], c.args[1]) };
    let (lanes, shape) = (index.real(c.op)?.entries()?.swap_remove(0), index.shape());
    let active = active(c, 3, Some(shape))?;
    let value = spread(c, 1, Some(shape))?;
    let value = value.as_ref().map(Argument::from);
    let (lanes, active) = (Argument::from(&lanes), active.as_deref().map(Argument::from));
    let mut args = c.args.to_vec();
    args[2] = &lanes;
    if let Some(value) = &value {
        args[1] = value;
    }
    if let Some(active) = &active {
        args[3] = active;
    }
    scatter(&Call { args: &args, ..*c }, args[0], args[1])
}

/// A value that broadcasts to the shape of an index; `None` for one that stays as it is.
pub(super) fn spread(c: &Call<'_, '_>, i: usize, shape: Option<&Shape>) -> Result<Option<Value>> {
    let Some(shape) = shape else { return Ok(None) };
    let part = |part: &Array| {
        let part = Tensor::new(part, &[part.size()])?;
        Ok(part.as_entries(c.op, shape)?.entries()?.swap_remove(0))
    };
    match c.args[i] {
        Argument::Array(_) | Argument::Tensor(_) => {
            c.tensor(i)?.as_entries(c.op, shape)?.lanes().map(Some)
        }
        Argument::Nested(..) if c.args[i].leaves().iter().any(|leaf| leaf.size() != 1) => {
            c.args[i].each(c.op, part).map(Some)
        }
        Argument::Nested(..) | Argument::Number(_) => Ok(None),
    }
}

/// The target with a value written.
fn scatter(c: &Call<'_, '_>, target: &Argument<'_>, value: &Argument<'_>) -> Result<Value> {
    let op = ScatterOp::ALL.into_iter().find(|op| op.name() == c.op);
    let op = op.expect("internal error: a row of no scatter");
    if !target.is_nested() {
        return write(c, op, target, value);
    }
    let wide = widened(c, target)?;
    let target = Argument::from(&wide);
    match op {
        ScatterOp::Add => add(c, &target, value),
        _ => write(c, op, &target, &Argument::from(&value.fitted(c.op, &target)?)),
    }
}

/// A target with all components in as many lanes as it has: what is written to lane 0 of one is not seen in others.
fn widened(c: &Call<'_, '_>, target: &Argument<'_>) -> Result<Value> {
    let unequal = || Error::forms(format!("{}: components of unequal sizes", c.op));
    let lanes = target.lanes().ok_or_else(unequal)?;
    let is_one = target.leaves().iter().any(|leaf| leaf.size() != lanes);
    if is_one && c.session.is_recording() {
        let what = format!("{}: a component of one lane in a value of {lanes}", c.op);
        let remedy = "states keep their sizes; widen it in front: v.y = resize(v.y, n)";
        return Err(Error::Forms { what, remedy: Some(remedy) });
    }
    target.each(c.op, |x| if x.size() == lanes { Ok(x.clone()) } else { x.resize(lanes) })
}

/// The target with a value added. A real number goes where `+` has it: to the real part, of a matrix to the diagonal.
fn add(c: &Call<'_, '_>, target: &Argument<'_>, value: &Argument<'_>) -> Result<Value> {
    let (form, n) = (target.form(), target.components().len());
    let is_whole = match value.form() {
        Form::Scalar => target.is_nested(),
        Form::Complex => form.is_vector() || matches!(form, Form::Matrix(_)),
        Form::Vector(_) | Form::Quaternion | Form::Matrix(_) | Form::Tensor => false,
    };
    if !is_whole {
        let value = value.fitted(c.op, target)?;
        return write(c, ScatterOp::Add, target, &Argument::from(&value));
    }
    let at = |entry: usize, part: &Argument<'_>| match form.holds_real(entry) {
        true => add(c, part, value),
        false => part.to_value(c.op),
    };
    let component = |(j, component): (usize, &Argument<'_>)| match form {
        Form::Matrix(_) => {
            let entries = component.components().iter().enumerate();
            let entries = entries.map(|(i, entry)| at(j * n + i, entry));
            entries.collect::<Result<_>>().map(Value::of_known_vector)
        }
        _ => at(j, component),
    };
    let components = target.components().iter().enumerate().map(component);
    Ok(Value::of_known(form, components.collect::<Result<_>>()?))
}

/// A target with a value of its form written, array by array.
fn write(
    c: &Call<'_, '_>,
    op: ScatterOp,
    target: &Argument<'_>,
    value: &Argument<'_>,
) -> Result<Value> {
    if let Argument::Nested(form, components) = target {
        let pairs = components.iter().zip(value.components());
        let components = pairs.map(|(target, value)| write(c, op, target, value));
        return Ok(Value::of_known(*form, components.collect::<Result<_>>()?));
    }
    let mode = match c.given(4) {
        None => ScatterMode::Fast,
        Some(_) => {
            ScatterMode::NAMES
                .get(c.integer::<usize>(4)?)
                .ok_or_else(|| c.unexpected(4, "a mode"))?
                .1
        }
    };
    let mut target = c.one(target)?.clone();
    target.scatter_as(op, mode, value.operand(c.op)?, c.array(2)?, c.active(3)?.as_deref())?;
    Ok(target.into())
}
