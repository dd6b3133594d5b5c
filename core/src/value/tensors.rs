//! How operations go through tensors: shapes broadcast as NumPy's do, and the entries are the lanes of one operation.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use super::argument::{Argument, types};
use super::{Form, Value};
use crate::array::{Array, Operand};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::var::MAX_OPERANDS;
use crate::session::Session;
use crate::tensor::{Parts, Shape, Tensor};

/// What is done to the entries of tensors: arrays, complex numbers and numbers.
type OfEntries<'f> = &'f dyn Fn(&[&Argument<'_>]) -> Result<Value>;

/// Applies an operation on lanes to tensors, and arrays and numbers beside them; `None` if none is a tensor.
pub(crate) fn through_tensors(
    op: &str,
    args: &[&Argument<'_>],
    of_entries: OfEntries<'_>,
) -> Option<Result<Value>> {
    let is_tensor = |arg: &&Argument<'_>| matches!(arg, Argument::Tensor(_));
    args.iter().any(is_tensor).then(|| match lane_by_lane(op, args, of_entries) {
        Some(result) => result,
        None => entry_by_entry(op, args, of_entries),
    })
}

/// Most operands are of one shape and lie in memory entry by entry, or are numbers: their arrays need no other view.
fn lane_by_lane(
    op: &str,
    args: &[&Argument<'_>],
    of_entries: OfEntries<'_>,
) -> Option<Result<Value>> {
    let tensors = args.iter().filter_map(|arg| match arg {
        Argument::Tensor(tensor) => Some(*tensor),
        _ => None,
    });
    let first = tensors.clone().next()?;
    // On the stack: this runs for every recorded operation.
    let mut lanes: SmallVec<[Argument<'_>; MAX_OPERANDS]> = SmallVec::new();
    for arg in args {
        lanes.push(lying(arg, first.shape())?);
    }
    let lanes: SmallVec<[&Argument<'_>; MAX_OPERANDS]> = lanes.iter().collect();
    Some(of_entries(&lanes).and_then(|result| match of_lanes(result, first.shape().n_entries()) {
        Ok(parts) => Ok(Value::Tensor(first.with_lanes(parts))),
        Err(other) => shaped(op, args, other, first.shape().clone()),
    }))
}

/// The parts of so many entries, if a value is such without more ado; else the value.
fn of_lanes(value: Value, n: u64) -> std::result::Result<Parts, Value> {
    // There are complex numbers of 32 and 64 bits.
    let is_part = |part: &Value| match part {
        Value::Array(lanes) => lanes.size() == n && lanes.dtype() == lanes.dtype().widened(),
        Value::Nested(..) | Value::Tensor(_) => false,
    };
    match value {
        Value::Array(lanes) if lanes.size() == n => Ok(smallvec![lanes]),
        Value::Nested(Form::Complex, parts) if parts.iter().all(is_part) => {
            let array = |part| if let Value::Array(array) = part { Some(array) } else { None };
            Ok(parts.into_iter().filter_map(array).collect())
        }
        other => Err(other),
    }
}

/// The lanes of a number, or of a tensor of this shape that lies in memory entry by entry.
fn lying<'a>(arg: &Argument<'a>, shape: &Shape) -> Option<Argument<'a>> {
    match arg {
        Argument::Number(number) => Some(Argument::Number(*number)),
        Argument::Tensor(tensor) if tensor.shape() == shape => {
            (*tensor).lying().map(|parts| match parts {
                [array] => Argument::Array(array),
                parts => {
                    Argument::Nested(Form::Complex, parts.iter().map(Argument::Array).collect())
                }
            })
        }
        Argument::Nested(..) if arg.is_complex_number() => Some(arg.clone()),
        Argument::Tensor(_) | Argument::Array(_) | Argument::Nested(..) => None,
    }
}

fn entry_by_entry(op: &str, args: &[&Argument<'_>], of_entries: OfEntries<'_>) -> Result<Value> {
    let tensors = args.iter().map(|arg| arg.lent_tensor(op));
    let tensors = tensors.collect::<Result<Vec<Option<Cow<'_, Tensor>>>>>()?;
    let mut shapes = tensors.iter().flatten().map(|tensor| tensor.shape());
    let shape = shapes.try_fold(Shape::number(), |shape, other| shape.broadcast(op, other))?;
    let entries = |tensor: &Tensor| match tensor.shape().n_entries() {
        // One entry stands in all lanes.
        1 => tensor.lanes(),
        _ => tensor.broadcast(op, &shape)?.lanes(),
    };
    let entries: Vec<Option<Value>> = tensors
        .iter()
        .map(|tensor| tensor.as_deref().map(entries).transpose())
        .collect::<Result<_>>()?;
    let lanes: Vec<Argument<'_>> = args
        .iter()
        .zip(&entries)
        .map(|(arg, entries)| entries.as_ref().map_or_else(|| (*arg).clone(), Argument::from))
        .collect();
    let result = of_entries(&lanes.iter().collect::<Vec<_>>())?;
    shaped(op, args, result, shape)
}

/// What an operation made of entries, as a tensor of their shape.
fn shaped(op: &str, args: &[&Argument<'_>], mut result: Value, shape: Shape) -> Result<Value> {
    // Complex entries are equal where both parts are.
    let of_parts = [(Op::Eq, ReduceOp::All), (Op::Ne, ReduceOp::Any)];
    if let Some((_, all)) = of_parts.into_iter().find(|(equal, _)| equal.spelling() == op)
        && matches!(result, Value::Nested(..))
    {
        result = result.reduce(all)?;
    }
    let [n, lanes] = [Some(shape.n_entries()), result.lanes()];
    let mut parts: Vec<Array> = result.leaves().into_iter().cloned().collect();
    if parts.len() > 1 {
        // There are complex numbers of 32 and 64 bits.
        let wide = parts.iter().map(|part| part.cast(part.dtype().widened()));
        parts = wide.collect::<Result<_>>()?;
    }
    match result.form() {
        Form::Scalar | Form::Complex if lanes == n => Tensor::of(parts, shape).map(Value::Tensor),
        _ => Err(Error::Forms {
            what: format!("{op}: got {}, expected one-dimensional arrays", types(args, " and ")),
            remedy: Some("ravel(t) is the array of a tensor's entries"),
        }),
    }
}

impl<'a> Argument<'a> {
    /// The tensor that an array, a complex number or a tensor is; `None` of a number, a complex one without lanes too.
    ///
    /// # Errors
    /// `Forms` for other values.
    pub fn as_tensor(&self, op: &str) -> Result<Option<Tensor>> {
        Ok(self.lent_tensor(op)?.map(Cow::into_owned))
    }

    /// As [`Self::as_tensor`], of a tensor itself.
    fn lent_tensor(&self, op: &str) -> Result<Option<Cow<'a, Tensor>>> {
        Ok(Some(Cow::Owned(match self {
            Self::Number(_) => return Ok(None),
            Self::Nested(..) if self.is_complex_number() => return Ok(None),
            Self::Tensor(tensor) => return Ok(Some(Cow::Borrowed(*tensor))),
            Self::Array(array) => Tensor::from(*array),
            Self::Nested(Form::Complex, parts) => {
                let lanes = self.lanes().ok_or_else(|| no_tensor(op, self))?;
                let [real, imag] = &parts[..] else { return Err(no_tensor(op, self)) };
                let part = |part: &Self| match part {
                    Self::Array(array) => array.resize(lanes),
                    _ => Err(no_tensor(op, self)),
                };
                let shape: &[u64] = if lanes == 1 { &[] } else { &[lanes] };
                Tensor::complex(&part(real)?, &part(imag)?, shape)?
            }
            Self::Nested(..) => return Err(no_tensor(op, self)),
        })))
    }

    /// Whether it is a complex number without lanes, as other languages have them.
    fn is_complex_number(&self) -> bool {
        let is_number = |part: &Self| matches!(part, Self::Number(_));
        self.form() == Form::Complex && self.components().iter().all(is_number)
    }
}

impl<'a> Argument<'a> {
    /// The tensor that a value is by itself, where an array of one lane has an axis.
    ///
    /// # Errors
    /// `Forms` for numbers, vectors and matrices.
    pub fn to_tensor(&self, op: &str) -> Result<Tensor> {
        self.to_lent_tensor(op).map(Cow::into_owned)
    }

    /// As [`Self::to_tensor`], of a tensor itself.
    pub(crate) fn to_lent_tensor(&self, op: &str) -> Result<Cow<'a, Tensor>> {
        let expected = || {
            let got = self.type_name();
            Error::forms(format!("{op}: got {got}, expected a tensor or an array"))
        };
        match self {
            Self::Array(array) => Tensor::new(array, &[array.size()]).map(Cow::Owned),
            _ => self.lent_tensor(op).map_err(|_| expected())?.ok_or_else(expected),
        }
    }
}

impl Argument<'_> {
    /// The tensor of a vector's components, an axis behind that of the lanes; those of a matrix, its columns, are the last
    /// axis.
    ///
    /// # Errors
    /// `Forms` for components of unequal sizes, or those that are no arrays.
    pub fn stacked(&self) -> Result<Tensor> {
        let unequal = || Error::forms("components of unequal sizes".into());
        self.stacked_in(self.lanes().ok_or_else(unequal)?)
    }

    fn stacked_in(&self, lanes: u64) -> Result<Tensor> {
        let axis = match self.form() {
            Form::Vector(_) => 1,
            Form::Matrix(_) => -1,
            _ => {
                let array = match self.operand("tensor")? {
                    Operand::Array(array) => array.resize(lanes)?,
                    Operand::Number(_) => return Err(no_tensor("tensor", self)),
                };
                return Tensor::new(&array, &[lanes]);
            }
        };
        let components = self.components().iter().map(|component| component.stacked_in(lanes));
        Tensor::stack(&components.collect::<Result<Vec<_>>>()?, axis)
    }
}

fn no_tensor(op: &str, value: &Argument<'_>) -> Error {
    let what = format!("{op}: got {} beside a tensor", value.type_name());
    let remedy = match value.form() {
        Form::Vector(_) => "TensorC(v) is the tensor [lanes, components] of a vector",
        _ => "tensors go together with arrays, numbers and complex numbers",
    };
    Error::Forms { what, remedy: Some(remedy) }
}

impl Tensor {
    /// The entries as the lanes of an array or complex number, the last axis running fastest. Recorded, not run.
    ///
    /// # Errors
    /// As [`Array::gather`].
    pub fn lanes(&self) -> Result<Value> {
        Ok(Value::of_parts(self.entries()?))
    }
}

impl Value {
    /// An array, or a complex number of two.
    fn of_parts(mut parts: Parts) -> Self {
        if parts.len() == 1 {
            return Self::Array(parts.swap_remove(0));
        }
        Self::of_known(Form::Complex, parts.into_iter().map(Self::Array).collect())
    }
}

impl Argument<'_> {
    /// The value as entries of a tensor: of its type, complex if it is. Numbers must fit the type, and arrays convert where
    /// nothing is lost (S7).
    ///
    /// # Errors
    /// `NumberRange`, `Conversion`; `Forms` for complex values in place of real ones.
    pub fn fitted_to(&self, op: &'static str, place: &Tensor) -> Result<Tensor> {
        let (session, lhs) = (place.parts()[0].session(), place.dtype());
        let is_complex = self.form() == Form::Complex
            || matches!(self, Self::Tensor(tensor) if tensor.is_complex());
        if is_complex && !place.is_complex() {
            let (got, expected) = (self.type_name(), place.type_name());
            return Err(Error::forms(format!("{op}: got {got}, expected values for {expected}")));
        }
        let value = match self.lent_tensor(op)? {
            Some(value) => value,
            None => Cow::Owned(self.number_as(op, session, lhs)?),
        };
        let rhs = value.dtype();
        if lhs.promote(rhs) != Some(lhs) {
            return Err(Error::conversion(op, rhs, lhs));
        }
        let value = value.each(|part| part.cast(lhs))?;
        if place.is_complex() { value.to_complex() } else { Ok(value) }
    }

    /// A number, real or complex, as a tensor of one entry.
    fn number_as(&self, op: &str, session: &Session, dtype: DType) -> Result<Tensor> {
        let part = |part: &Self| match part {
            Self::Number(number) => session.full(dtype, *number, 1),
            _ => Err(no_tensor(op, self)),
        };
        let parts = match self.components() {
            [] => smallvec![part(self)?],
            parts => parts.iter().map(part).collect::<Result<Parts>>()?,
        };
        Tensor::of(parts, Shape::number())
    }
}
