//! Values: arrays, and what has arrays as components: vectors, complex numbers, quaternions and matrices.
//!
//! A [`Value`] is an array or nested: a [`Form`] with components that are values (structure of arrays). Operations
//! take [`Argument`]s, which borrow values, arrays and numbers, and go through the levels of nested values:
//!
//! * Vectors pair up component by component, from the outermost level inwards. Where the numbers of components differ,
//!   the value of fewer levels goes whole into every component of the other, and so do arrays and numbers.
//! * Complex numbers, quaternions and matrices are numbers of their own: they never pair with the components of a
//!   vector, and operations mean for them what the rows of [`trace::nested`](crate::trace::nested) say. An array meets
//!   them as a real number.
//!
//! ```
//! use porcini_core::value::{Matrix2f, Vector2f, Vector3f};
//! use porcini_core::{DType, Session};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let x = session.linspace(DType::F32, 0, 3, 4)?;
//! let v = Vector3f::new([&x, &(&x + 1.0), &(&x * 2.0)])?;
//! assert_eq!(v.z().slice(-2..)?.to_vec::<f32>()?, [4.0, 6.0]);
//! let w = 2.0 * &v + &x;
//! assert_eq!(w.member("x")?.array()?.to_vec::<f32>()?, [0.0, 3.0, 6.0, 9.0]);
//! assert!(v.try_add(&Vector2f::new([&x, &x])?).is_err());
//! let m = Matrix2f::literal(&session, [2, 1, 0, 2])?;
//! assert_eq!(m.powi(2)?.entry(0, 1)?.item(0)?.to_f64(), 4.0);
//! # Ok(())
//! # }
//! ```
//!
//! Types such as [`Vector3f`] are for making values; what is computed is a [`Value`], since types follow from
//! promotion. Operators take arrays, values, tensors and numbers, borrowed or not; a number on the left is an `f64` or `i32`, as
//! literals are, or a [`Scalar`](crate::Scalar). They panic with the text of an error, as those of [`Array`] do; beside
//! each stands a method that returns it: [`Value::try_add`] and so on.

mod argument;
mod call;
mod components;
mod derivatives;
pub mod entries;
mod extremes;
mod horizontal;
mod index;
mod levels;
mod make;
mod map;
mod methods;
mod multiply_add;
mod over_lanes;
mod power;
mod product;
pub mod show;
mod tensor_index;
mod tensors;
mod typed;

pub use argument::{Argument, TYPE_LETTERS};
pub use call::{call, lift, signature, takes};
pub use components::Components;
pub use derivatives::{Marked, Skeleton};
pub use make::Type;
pub use map::{Leaf, alike, apply, components, function, map};
pub use power::power;
pub(crate) use product::product;
pub use tensor_index::Index;
pub(crate) use tensors::through_tensors;
pub use typed::*;

pub use crate::array::{Slice, place};
pub use crate::trace::nested::Form;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// An array, or a form with components.
#[derive(Clone, Debug)]
#[must_use = "operations change nothing: what they return is the result"]
pub enum Value {
    /// A one-dimensional array.
    Array(Array),
    /// Components: as many as the form says, of one type and depth; those of a matrix are its columns, vectors. Made by
    /// [`Value::nested`], [`Value::of_entries`], [`Value::vector`] or a [`Type`], which see to that.
    Nested(Form, Components),
    /// Entries along axes.
    Tensor(Tensor),
}

impl Value {
    /// A value from its entries, as [`Form`] orders them, which are of one type.
    ///
    /// # Errors
    /// `Forms` for another number of entries, and of tensors, which have a shape; `ForeignArray`.
    pub fn of_entries(form: Form, entries: Vec<Self>) -> Result<Self> {
        let (got, n) = (entries.len(), form.n_entries());
        if got != n || form == Form::Tensor {
            let what = match form {
                Form::Tensor => "a tensor has a shape: Tensor::new".into(),
                form => format!("{form}: got {got} entries, expected {n}"),
            };
            return Err(Error::forms(format!("of_entries: {what}")));
        }
        let value = Self::assembled(form, entries);
        value.check_sessions(form.word())?;
        Ok(value)
    }

    /// A value from as many entries as it has.
    pub(crate) fn assembled(form: Form, mut entries: Vec<Self>) -> Self {
        match form {
            Form::Scalar => entries.swap_remove(0),
            Form::Matrix(n) => {
                let mut entries = entries.into_iter();
                let column = |_| Self::of_known_vector(entries.by_ref().take(n).collect());
                Self::of_known(form, (0..n).map(column).collect())
            }
            form => Self::of_known(form, entries),
        }
    }

    /// What it is.
    pub fn form(&self) -> Form {
        match self {
            Self::Array(_) => Form::Scalar,
            Self::Nested(form, _) => *form,
            Self::Tensor(_) => Form::Tensor,
        }
    }

    /// Its components; none of an array or tensor.
    pub fn components(&self) -> &[Self] {
        match self {
            Self::Array(_) | Self::Tensor(_) => &[],
            Self::Nested(_, components) => components,
        }
    }

    /// The components themselves; of an array or tensor it alone.
    pub fn into_components(self) -> Vec<Self> {
        match self {
            Self::Array(_) | Self::Tensor(_) => vec![self],
            Self::Nested(_, components) => components.into_vec(),
        }
    }

    /// Evaluates all arrays inside, together.
    ///
    /// # Errors
    /// As [`Session::eval`](crate::Session::eval).
    pub fn eval(&self) -> Result<()> {
        let leaves = self.leaves();
        leaves.first().map_or(Ok(()), |first| first.session().eval(&leaves))
    }

    /// The arrays inside, in order; of a tensor what it is a view of.
    pub fn leaves(&self) -> Vec<&Array> {
        Argument::from(self).leaves()
    }

    /// Whether all arrays inside are of one session, numbers apart: these go where the others are.
    fn check_sessions(&self, op: &'static str) -> Result<()> {
        let leaves = self.leaves();
        let Some(first) = leaves.first() else { return Ok(()) };
        if leaves.iter().all(|leaf| first.session().is(leaf.session())) {
            return Ok(());
        }
        let home = first.session().home(leaves.iter().copied());
        leaves.iter().try_for_each(|leaf| home.adopt_number(op, leaf).map(drop))
    }

    /// The value as what a body that is recorded may change, by [`Array::own`].
    ///
    /// # Errors
    /// None.
    pub fn own(&self) -> Result<Self> {
        Ok(match self {
            Self::Array(array) => Self::Array(array.own()),
            Self::Nested(form, components) => {
                Self::of_known(*form, components.iter().map(Self::own).collect::<Result<_>>()?)
            }
            Self::Tensor(tensor) => Self::Tensor(tensor.each(|part| Ok(part.own()))?),
        })
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

/// An array is what it is beside tensors.
impl TryFrom<Value> for Tensor {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Array(array) => Ok(Self::from(&array)),
            Value::Nested(..) => {
                Err(Error::forms(format!("got {}, expected a tensor", value.type_name())))
            }
        }
    }
}

impl From<&Array> for Value {
    fn from(array: &Array) -> Self {
        Self::Array(array.clone())
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn entries_are_counted() {
        let session = Session::new().unwrap();
        let entry = Value::from(session.array(&[1.0_f32, 2.0]).unwrap());
        let made = |form, n| Value::of_entries(form, vec![entry.clone(); n]);
        let error = |form, n| made(form, n).unwrap_err().to_string();
        assert_eq!(error(Form::Scalar, 0), "of_entries: array: got 0 entries, expected 1");
        assert_eq!(error(Form::Complex, 3), "of_entries: complex: got 3 entries, expected 2");
        let message = "of_entries: matrix of 3: got 1 entries, expected 9";
        assert_eq!(error(Form::Matrix(3), 1), message);
        assert!(made(Form::Tensor, 1).is_err() && made(Form::Matrix(usize::MAX), 1).is_err());
        let matrix = made(Form::Matrix(2), 4).unwrap();
        assert_eq!(matrix.entry(1, 0).unwrap().lanes(), Some(2));
        let whole = Value::from(session.array(&[1, 2]).unwrap());
        let nested = |form, parts: &[&Value]| {
            Value::nested(form, parts.iter().copied().cloned().collect()).map_err(|e| e.to_string())
        };
        assert!(nested(Form::Vector(2), &[&matrix, &matrix]).is_ok());
        assert!(
            nested(Form::Matrix(2), matrix.components().iter().collect::<Vec<_>>().as_slice())
                .is_ok()
        );
        for (form, parts) in [
            (Form::Complex, [&entry, &whole]),
            (Form::Vector(2), [&entry, &matrix]),
            (Form::Complex, [&matrix, &matrix]),
            (Form::Matrix(2), [&entry, &entry]),
            (Form::Vector(3), [&entry, &entry]),
            (Form::Tensor, [&entry, &entry]),
        ] {
            assert!(nested(form, &parts).unwrap_err().starts_with("nested: "), "{form}");
        }
        let tensor = Tensor::new(entry.leaves()[0], &[2]).unwrap();
        assert!(tensor.part(0).is_ok() && tensor.part(1).is_err());
    }
}
