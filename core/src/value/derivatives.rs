//! Derivatives of values: those of the arrays inside (S29).
//!
//! The gradient of a real loss by a complex number has the derivatives by its parts as parts.

use std::any::Any;
use std::sync::Arc;

use super::{Argument, Form, Value};
use crate::array::Array;
use crate::array::rules::{Ask, Told};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::{Shape, Tensor};

/// The form of a value, without its arrays.
#[derive(Clone, Debug)]
pub enum Skeleton {
    /// An array.
    Array,
    /// A value with components.
    Nested(Form, Vec<Self>),
    /// A tensor of so many parts.
    Tensor(Shape, usize),
}

impl Skeleton {
    /// The form of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Array(_) => Self::Array,
            Value::Nested(form, parts) => Self::Nested(*form, parts.iter().map(Self::of).collect()),
            Value::Tensor(tensor) => Self::Tensor(tensor.shape().clone(), tensor.parts().len()),
        }
    }

    /// The value of this form with arrays in the order of [`Value::each_array`].
    ///
    /// # Errors
    /// `Argument` if there are too few.
    pub fn with(&self, arrays: &mut dyn Iterator<Item = Array>) -> Result<Value> {
        let mut next = || {
            let what = || Error::Argument { op: "custom", what: "got too few arrays".into() };
            arrays.next().ok_or_else(what)
        };
        Ok(match self {
            Self::Array => Value::Array(next()?),
            Self::Nested(form, parts) => {
                let parts = parts.iter().map(|part| part.with(arrays)).collect::<Result<_>>()?;
                Value::of_known(*form, parts)
            }
            Self::Tensor(shape, n) => {
                let parts = (0..*n).map(|_| next()).collect::<Result<Vec<_>>>()?;
                Value::Tensor(Tensor::of(parts, shape.clone())?)
            }
        })
    }

    /// The value of this form whose array in one place is given, and whose others are zeros like it.
    ///
    /// # Errors
    /// As [`Session::zeros`](crate::Session::zeros).
    pub fn with_one(&self, place: usize, array: &Array) -> Result<Value> {
        let zeros = || array.session().zeros(array.dtype(), array.size());
        let arrays =
            (0..self.n_arrays()).map(|i| if i == place { Ok(array.clone()) } else { zeros() });
        self.with(&mut arrays.collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// A gradient by a value of this form: of a tensor with one entry along an axis, along which it was broadcast, the sum.
    ///
    /// # Errors
    /// `Argument` for a gradient of another shape; as [`Tensor::reduce`].
    pub fn summed(&self, gradient: Value) -> Result<Value> {
        match (self, gradient) {
            (Self::Tensor(shape, _), Value::Tensor(gradient)) => {
                let sum = gradient.summed_to(shape)?;
                if sum.shape().n_entries() != 1 && inner(sum.shape()) != inner(shape) {
                    let what =
                        format!("got a gradient {} by an argument {shape}", gradient.shape());
                    return Err(Error::Argument { op: "custom", what });
                }
                Ok(Value::Tensor(sum))
            }
            (_, gradient) => Ok(gradient),
        }
    }

    /// Number of arrays.
    pub fn n_arrays(&self) -> usize {
        match self {
            Self::Array => 1,
            Self::Nested(_, parts) => parts.iter().map(Self::n_arrays).sum(),
            Self::Tensor(_, n) => *n,
        }
    }
}

/// The extents behind those of 1 in front, which broadcasting makes.
fn inner(shape: &Shape) -> &[u64] {
    let n = shape.extents().iter().take_while(|&&extent| extent == 1).count();
    &shape.extents()[n..]
}

/// What a value is a function of, and how its gradients are put together again.
#[derive(Debug)]
pub struct Marked {
    /// The value, its arrays behind marks.
    pub value: Value,
    marks: Vec<Array>,
}

impl Value {
    /// The value with other arrays in the place of those inside, in their order. Tensors lie in memory in the order of their
    /// entries.
    ///
    /// # Errors
    /// What the function returns.
    pub fn each_array(&self, change: &mut dyn FnMut(&Array) -> Result<Array>) -> Result<Self> {
        Ok(match self {
            Self::Array(array) => Self::Array(change(array)?),
            Self::Nested(form, components) => {
                let components = components.iter().map(|component| component.each_array(change));
                Self::of_known(*form, components.collect::<Result<_>>()?)
            }
            Self::Tensor(tensor) => {
                let mut parts = tensor.entries()?;
                for part in &mut parts {
                    *part = change(part)?;
                }
                Self::Tensor(Tensor::of(parts, tensor.shape().clone())?)
            }
        })
    }

    /// The arrays of what a gradient is asked of, which is a real loss: what the parts of a complex one
    /// count, nobody said.
    ///
    /// # Errors
    /// `Argument` for complex numbers; `UnsupportedType` for integers and masks, which have no derivative; as
    /// [`Value::arrays`].
    pub fn arrays_of_loss(&self, op: &'static str) -> Result<Vec<Array>> {
        let dtype = self.dtype();
        if !dtype.is_float() {
            let expected = "floats: integers and masks have no derivative";
            return Err(Error::UnsupportedType { op, dtype, expected });
        }
        if self.is_complex() {
            let what = "a gradient is that of a real number, and this one is complex: \
                        differentiate real(z), imag(z) or abs(z)";
            return Err(Error::Argument { op, what: what.into() });
        }
        self.arrays()
    }

    /// Whether it is made of complex numbers.
    pub(crate) fn is_complex(&self) -> bool {
        match self {
            Self::Array(_) => false,
            Self::Nested(form, parts) => {
                *form == Form::Complex || parts.iter().any(Self::is_complex)
            }
            Self::Tensor(tensor) => tensor.is_complex(),
        }
    }

    /// The arrays inside, in the order of [`Value::each_array`].
    ///
    /// # Errors
    /// As [`Tensor::entries`](crate::tensor::Tensor::entries).
    pub fn arrays(&self) -> Result<Vec<Array>> {
        let mut arrays = Vec::new();
        drop(self.each_array(&mut |array| {
            arrays.push(array.clone());
            Ok(array.clone())
        })?);
        Ok(arrays)
    }

    /// The value as that of a function of arrays whose derivative a front end has: it is asked with what it keeps of the
    /// call, and the place of an array among those of the value.
    ///
    /// # Errors
    /// `ForeignArray`.
    pub fn with_told_derivative(
        &self,
        op: &'static str,
        args: &[&Array],
        call: &Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let mut places = 0..;
        self.each_array(&mut |array| {
            let told = Told { place: places.next().unwrap_or_default(), call: call.clone() };
            array.with_told_derivative(op, args, told)
        })
    }

    /// The value with marks of its own: gradients by it end there. Give them back by [`Marked::release`].
    ///
    /// # Errors
    /// As [`Array::enable_grad`].
    pub fn marked(&self, op: &'static str) -> Result<Marked> {
        let mut marks = Vec::new();
        let value = self.each_array(&mut |array| {
            let marked = array.marked(op)?;
            marks.push(marked.clone());
            Ok(marked)
        })?;
        Ok(Marked { value, marks })
    }

    /// Its gradient, for a front end that has derivatives of functions: zeros for arrays of it that no marked array has to
    /// do with, if others have.
    ///
    /// # Errors
    /// As [`Array::gradient_asking`].
    pub fn gradient_asking(&self, asked: &mut dyn Ask) -> Result<Self> {
        let has_tracked = self.is_tracked();
        self.each_array(&mut |array| match has_tracked && !array.is_tracked() {
            true => array.session().record(|recorder| Ok(recorder.zeros_like(array.id()))),
            false => array.gradient_asking(asked),
        })
    }

    /// Whether an array inside is tracked.
    pub fn is_tracked(&self) -> bool {
        Argument::from(self).leaves().into_iter().any(Array::is_tracked)
    }
}

impl Marked {
    /// The marks, in the order of the value's arrays.
    pub fn marks(&self) -> &[Array] {
        &self.marks
    }

    /// A value of the same form with other arrays.
    ///
    /// # Errors
    /// None at present.
    pub fn with(&self, arrays: &mut dyn Iterator<Item = Array>) -> Result<Value> {
        self.value.each_array(&mut |array| Ok(arrays.next().unwrap_or_else(|| array.clone())))
    }

    /// The derivatives of each entry of `y` by each entry of the value: a tensor with the axes of `y`, which has none where
    /// it is an array of one lane, then those of the value. The components of a vector are an axis, behind that of its
    /// lanes if there are several. As many directions are followed as there are on the shorter side. Recorded, not run.
    ///
    /// # Errors
    /// `Forms` for other values with components and complex ones; as [`Session::grad`](crate::Session::grad).
    pub fn jacobian(&self, op: &'static str, y: &Value, asked: &mut dyn Ask) -> Result<Value> {
        let unreal = || {
            let got = [y.type_name(), self.value.type_name()].join(" by ");
            Error::forms(format!("{op}: got {got}, expected real arrays, vectors or tensors"))
        };
        let [of_result, of_value] = [y, &self.value].map(|value| axes(value).ok_or_else(unreal));
        let (mut of_result, of_value) = (of_result?, of_value?);
        let outputs = match y {
            Value::Nested(..) => Value::Tensor(Argument::from(y).stacked()?).arrays()?,
            _ => y.arrays()?,
        };
        let [output] = &outputs[..] else { return Err(unreal()) };
        let is_vector = matches!(self.value, Value::Nested(..));
        if matches!(y, Value::Array(array) if array.size() == 1) {
            of_result.clear();
        }
        if self.marks.iter().any(|mark| mark.size() != self.marks[0].size()) {
            let what = format!("{op}: got {} of unequal sizes", self.value.type_name());
            return Err(Error::forms(what));
        }
        let by_each = self.marks.iter().map(|mark| Self::matrix(output, mark, asked));
        let by_each = by_each.collect::<Result<Vec<Tensor>>>()?;
        let matrix = match &by_each[..] {
            [matrix] if !is_vector => matrix.clone(),
            components => Tensor::stack(components, -1)?,
        };
        let entries = matrix.entries()?.swap_remove(0);
        Tensor::new(&entries, &[of_result, of_value].concat()).map(Value::Tensor)
    }

    /// The derivatives of each lane of an array, a row each, by those of a mark.
    fn matrix(output: &Array, mark: &Array, asked: &mut dyn Ask) -> Result<Tensor> {
        let session = mark.session();
        let (m, n) = (output.size(), mark.size());
        // Forwards where that is no longer, unless a function on the way knows the other way alone.
        let rows = Self::rows(output, mark, n <= m, asked);
        let (rows, is_forward) = match rows {
            Err(Error::Argument { .. }) if n <= m => {
                (Self::rows(output, mark, false, asked)?, false)
            }
            rows => (rows?, n <= m),
        };
        let lanes = match &rows[..] {
            [] => session.zeros(mark.dtype(), 0)?,
            rows => session.concat(&rows.iter().collect::<Vec<_>>())?,
        };
        if is_forward {
            Tensor::new(&lanes, &[n, m])?.transpose()
        } else {
            Tensor::new(&lanes, &[m, n])
        }
    }

    /// The derivatives in the direction of each lane of the mark, or of each lane of the output by all of the mark.
    fn rows(
        output: &Array,
        mark: &Array,
        is_forward: bool,
        asked: &mut dyn Ask,
    ) -> Result<Vec<Array>> {
        let session = mark.session();
        let of = if is_forward { mark } else { output };
        let lanes = session.arange(DType::U64, 0.into(), Scalar::UInt(of.size()), 1.into())?;
        let mut rows = Vec::new();
        for k in 0..of.size() {
            let direction = lanes.apply(Op::Eq, &[Scalar::UInt(k).into()])?.cast(of.dtype())?;
            rows.extend(if is_forward {
                session.jvp_asking(&[output], &[(mark, Some(&direction))], asked)?
            } else {
                session.grad_asking(&[(output, Some(&direction))], &[mark], asked)?
            });
        }
        Ok(rows)
    }

    /// Takes the marks back: `outputs`, and what they are made of, are not tracked for their sake any more.
    pub fn release(marked: &[&Self], outputs: &[&Array]) {
        let mut marks: Vec<&Array> = marked.iter().flat_map(|marked| &marked.marks).collect();
        while let Some(session) = marks.first().map(|mark| mark.session().clone()) {
            let (own, others): (Vec<&Array>, Vec<&Array>) =
                marks.into_iter().partition(|mark| session.is(mark.session()));
            let outputs: Vec<&Array> =
                outputs.iter().copied().filter(|output| session.is(output.session())).collect();
            session.unmark(&own, &outputs);
            marks = others;
        }
    }
}

/// The extents of real arrays, tensors and vectors of arrays.
fn axes(value: &Value) -> Option<Vec<u64>> {
    match value {
        Value::Array(array) => Some(vec![array.size()]),
        Value::Tensor(tensor) => (!tensor.is_complex()).then(|| tensor.shape().extents().to_vec()),
        Value::Nested(Form::Vector(_), parts) => {
            let is_flat = parts.iter().all(|part| matches!(part, Value::Array(_)));
            let lanes = value.lanes().filter(|_| is_flat)?;
            let extents = [lanes, parts.len() as u64];
            Some(extents[usize::from(lanes == 1)..].to_vec())
        }
        Value::Nested(..) => None,
    }
}
