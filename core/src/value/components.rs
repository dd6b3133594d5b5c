//! Components of nested values, which are alike: they are made here alone.

use std::ops::Deref;

use super::{Form, Value};
use crate::error::{Error, Result};

/// The components of a nested value: as many as its form says, of one type and depth.
#[derive(Clone, Debug)]
pub struct Components(Vec<Value>);

impl Value {
    /// A value of a form from its components; those of a matrix are its columns, vectors.
    ///
    /// ```
    /// use porcini_core::value::{Form, Value};
    /// # fn main() -> porcini_core::Result<()> {
    /// # let session = porcini_core::Session::new()?;
    /// let parts = [session.array(&[1.0_f32])?, session.array(&[2.0_f32])?].map(Value::from);
    /// assert!(Value::nested(Form::Complex, parts.to_vec()).is_ok());
    /// assert!(Value::nested(Form::Matrix(2), parts.to_vec()).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Forms` for another number of components, those of a scalar or tensor, which have none, and components that are not
    /// alike; see [`alike`](super::alike) for such. `ForeignArray`.
    pub fn nested(form: Form, components: Vec<Self>) -> Result<Self> {
        let (got, n) = (components.len(), form.n_components());
        if matches!(form, Form::Scalar | Form::Tensor) || got != n {
            let what = format!("{form}: got {got} components, expected {n}");
            return Err(Error::forms(format!("nested: {what}")));
        }
        let first = components.first().map(Self::type_name);
        let other =
            components.iter().map(Self::type_name).find(|name| Some(name) != first.as_ref());
        let wrong = match (form, components.first(), other) {
            (_, _, Some(other)) => Some(format!("{} and {other}", first.unwrap_or_default())),
            (_, Some(Self::Tensor(_)), None) => first,
            (Form::Matrix(n), Some(column), None) if column.form() != Form::Vector(n) => first,
            (Form::Complex | Form::Quaternion, Some(part), None) if part.form() != Form::Scalar => {
                first
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(Error::forms(format!("nested: {form}: got components of {wrong}")));
        }
        let value = Self::of_known(form, components);
        value.check_sessions(form.word())?;
        Ok(value)
    }

    /// A vector of components, which are alike; see [`alike`](super::alike) for others.
    ///
    /// # Errors
    /// As [`Value::nested`].
    pub fn vector(components: Vec<Self>) -> Result<Self> {
        Self::nested(Form::Vector(components.len()), components)
    }

    /// A value of components that are known to be what its form says: those of another value, one by one.
    #[doc(hidden)]
    pub fn of_known(form: Form, components: Vec<Self>) -> Self {
        Self::Nested(form, Components(components))
    }

    /// The same of a vector.
    pub(crate) fn of_known_vector(components: Vec<Self>) -> Self {
        Self::of_known(Form::Vector(components.len()), components)
    }
}

impl Components {
    /// The components themselves.
    pub fn into_vec(self) -> Vec<Value> {
        self.0
    }
}

impl Deref for Components {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl IntoIterator for Components {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'c> IntoIterator for &'c Components {
    type Item = &'c Value;
    type IntoIter = std::slice::Iter<'c, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
