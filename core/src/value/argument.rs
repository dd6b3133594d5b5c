//! What operations on values take: numbers, arrays and components, all borrowed.

use smallvec::SmallVec;

use super::{Form, Value};
use crate::array::Array;
use crate::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::var::MAX_OPERANDS;
use crate::tensor::Tensor;

/// An argument of an operation on values.
#[derive(Clone, Debug)]
pub enum Argument<'a> {
    /// A number, which takes the type of the arrays beside it.
    Number(Scalar),
    /// An array.
    Array(&'a Array),
    /// A value with components, see [`Value::Nested`].
    Nested(Form, Vec<Self>),
    /// Entries along axes.
    Tensor(&'a Tensor),
}

/// Enoki's letters of component types.
pub const TYPE_LETTERS: [(&str, DType); 5] = [
    ("f", DType::F32),
    ("d", DType::F64),
    ("i", DType::I32),
    ("u", DType::U32),
    ("m", DType::Mask),
];

impl<'a> From<&'a Value> for Argument<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Array(array) => Self::Array(array),
            Value::Nested(form, components) => {
                Self::Nested(*form, components.iter().map(Self::from).collect())
            }
            Value::Tensor(tensor) => Self::Tensor(tensor),
        }
    }
}

impl<'a> From<&'a Tensor> for Argument<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a, T: Into<Operand<'a>>> From<T> for Argument<'a> {
    fn from(operand: T) -> Self {
        match operand.into() {
            Operand::Array(array) => Self::Array(array),
            Operand::Number(number) => Self::Number(number),
        }
    }
}

impl<'a> Argument<'a> {
    /// What it is.
    pub fn form(&self) -> Form {
        match self {
            Self::Number(_) | Self::Array(_) => Form::Scalar,
            Self::Nested(form, _) => *form,
            Self::Tensor(_) => Form::Tensor,
        }
    }

    /// Its components; none of an array, number or tensor.
    pub fn components(&self) -> &[Self] {
        match self {
            Self::Number(_) | Self::Array(_) | Self::Tensor(_) => &[],
            Self::Nested(_, components) => components,
        }
    }

    /// The arrays inside, in order; of a tensor what it is a view of.
    pub fn leaves(&self) -> Vec<&'a Array> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Array(array) => vec![array],
            Self::Nested(_, components) => components.iter().flat_map(Self::leaves).collect(),
            Self::Tensor(tensor) => tensor.parts().iter().collect(),
        }
    }

    /// Whether both are one array or tensor, or have one inside: the same, not one of the same numbers.
    pub(crate) fn shares(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(one), Self::Array(other)) => std::ptr::eq(*one, *other),
            (Self::Tensor(one), Self::Tensor(other)) => std::ptr::eq(*one, *other),
            (Self::Nested(_, parts), other) | (other, Self::Nested(_, parts)) => {
                parts.iter().any(|part| part.shares(other))
            }
            _ => false,
        }
    }

    /// The arrays inside in the order in which a lane is shown: the outermost component number changes first.
    pub(crate) fn rows(&self) -> Vec<&'a Array> {
        let Self::Nested(_, components) = self else { return self.leaves() };
        let inner: Vec<Vec<&Array>> = components.iter().map(Self::rows).collect();
        let n = inner.first().map_or(0, Vec::len);
        (0..n).flat_map(|k| inner.iter().filter_map(move |rows| rows.get(k).copied())).collect()
    }

    /// Numbers of components, outermost first; a matrix has two.
    pub fn extents(&self) -> Vec<usize> {
        let first = self.components().first();
        let outermost = first.map(|_| self.components().len());
        outermost.into_iter().chain(first.map(Self::extents).unwrap_or_default()).collect()
    }

    /// Lane type of the arrays inside, which share it.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Self::Number(_) => None,
            Self::Array(array) => Some(array.dtype()),
            Self::Nested(_, components) => components.first()?.dtype(),
            Self::Tensor(tensor) => Some(tensor.dtype()),
        }
    }

    /// Number of lanes, of a tensor its entries; `None` if components disagree.
    pub fn lanes(&self) -> Option<u64> {
        if let Self::Tensor(tensor) = self {
            return Some(tensor.shape().n_entries());
        }
        let mut sizes = self.leaves().into_iter().map(Array::size);
        sizes.try_fold(1, |lanes, size| match (lanes, size) {
            (1, size) => Some(size),
            (lanes, 1) => Some(lanes),
            (lanes, size) => (lanes == size).then_some(lanes),
        })
    }

    /// The type as scripts call it, `FloatC` or `Vector3fC`; a number as it is.
    pub fn type_name(&self) -> String {
        let (form, components) = match self {
            Self::Number(number) => return number.to_string(),
            Self::Array(array) => return array.dtype().script_name().into(),
            Self::Nested(Form::Complex, parts) if matches!(parts[..], [Self::Number(_), ..]) => {
                return "a complex number".into();
            }
            Self::Nested(form, components) => (form, components),
            Self::Tensor(tensor) => return tensor.type_name(),
        };
        let entry = match (form, components.first()) {
            (Form::Matrix(_), Some(column)) => column.components().first(),
            (_, first) => first,
        };
        let entry = entry.map_or_else(String::new, Self::type_name);
        let (word, n) = (form.word(), components.len());
        match TYPE_LETTERS.iter().find(|(_, dtype)| dtype.script_name() == entry) {
            Some((letter, _)) => format!("{word}{n}{letter}C"),
            None => format!("{word}{n}<{entry}>"),
        }
    }

    /// The array or number, or an error that names `op`.
    pub(crate) fn operand(&self, op: &str) -> Result<Operand<'a>> {
        match self {
            Self::Number(number) => Ok(Operand::Number(*number)),
            Self::Array(array) => Ok(Operand::Array(array)),
            Self::Nested(..) | Self::Tensor(_) => {
                let what =
                    format!("{op}: got {}, expected a one-dimensional array", self.type_name());
                Err(Error::Forms { what, remedy: self.arrays_of_it() })
            }
        }
    }

    /// How a script gets arrays of what is none.
    fn arrays_of_it(&self) -> Option<&'static str> {
        match self {
            Self::Tensor(tensor) if !tensor.is_complex() => Some(
                "ravel(t) is the array of a tensor's entries, reshape(x, t.shape) the tensor again",
            ),
            Self::Tensor(_) | Self::Nested(Form::Complex, _) => {
                Some("z.real and z.imag are the parts of complex numbers")
            }
            Self::Nested(form, _) if form.is_vector() => Some("its components are v.x, v.y, …"),
            Self::Number(_) | Self::Array(_) | Self::Nested(..) => None,
        }
    }

    /// The value itself; an error that names `op` if it is a number.
    pub(crate) fn to_value(&self, op: &str) -> Result<Value> {
        match self {
            Self::Number(number) => {
                Err(Error::forms(format!("{op}: got {number}, expected an array")))
            }
            Self::Array(array) => Ok(Value::Array((*array).clone())),
            Self::Nested(form, components) => {
                let components = components.iter().map(|component| component.to_value(op));
                Ok(Value::of_known(*form, components.collect::<Result<_>>()?))
            }
            Self::Tensor(tensor) => Ok(Value::Tensor((*tensor).clone())),
        }
    }

    pub(crate) fn is_nested(&self) -> bool {
        matches!(self, Self::Nested(..))
    }

    pub(super) fn is_mask(&self) -> bool {
        match self {
            Self::Number(number) => matches!(number, Scalar::Bool(_)),
            _ => self.dtype() == Some(DType::Mask),
        }
    }

    /// Levels of nesting; a matrix is one.
    pub(super) fn level(&self) -> usize {
        let Some(first) = self.components().first() else { return 0 };
        let inner = match self.form() {
            Form::Matrix(_) => first.components().first(),
            _ => None,
        };
        1 + inner.unwrap_or(first).level()
    }

    /// Whether there are such values among the components.
    pub(super) fn has(&self, such: &dyn Fn(Form) -> bool) -> bool {
        let first = self.components().first();
        first.is_some_and(|first| first.is_nested() && such(first.form()) || first.has(such))
    }
}

impl Value {
    /// Numbers of components, outermost first; a matrix has two.
    pub fn extents(&self) -> Vec<usize> {
        Argument::from(self).extents()
    }

    /// Lane type of the arrays inside, which share it.
    pub fn dtype(&self) -> DType {
        Argument::from(self).dtype().unwrap_or(DType::F32)
    }

    /// Number of lanes; `None` if components disagree.
    pub fn lanes(&self) -> Option<u64> {
        Argument::from(self).lanes()
    }

    /// The type as scripts call it: `FloatC`, `Vector3fC`.
    pub fn type_name(&self) -> String {
        Argument::from(self).type_name()
    }
}

/// The types of arguments as errors name them.
pub(super) fn types(args: &[&Argument<'_>], separator: &str) -> String {
    args.iter().map(|arg| arg.type_name()).collect::<Vec<_>>().join(separator)
}

/// What the arguments are.
pub(super) fn forms(args: &[&Argument<'_>]) -> Vec<Form> {
    args.iter().map(|arg| arg.form()).collect()
}

/// The arguments as operands of one operation on arrays.
pub(super) fn operands<'a>(
    op: &str,
    args: &[&Argument<'a>],
) -> Result<SmallVec<[Operand<'a>; MAX_OPERANDS]>> {
    args.iter().map(|arg| arg.operand(op)).collect()
}
