//! Types of values that Rust knows when it compiles: made from their entries, and values otherwise.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use super::argument::{Argument, operands};
use super::map::session;
use super::methods::right_sides;
use super::{Form, Type, Value};
use crate::array::Array;
use crate::array::operators::operators;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::tensor::Tensor;

macro_rules! types {
    ($($name:ident = $form:expr, $n:literal, $dtype:ident, $what:literal { $($part:ident $i:literal),* };)*) => { $(
        #[doc = concat!("A ", $what, " of [`DType::", stringify!($dtype), "`]; what is made of it is a [`Value`] again.")]
        #[derive(Clone, Debug)]
        #[must_use = "operations change nothing: what they return is the result"]
        pub struct $name(Value);

        impl $name {
            /// From its entries, those of a matrix row by row. Arrays are converted, numbers join them.
            ///
            /// # Errors
            /// `Argument` without an array among them; `NumberRange`.
            pub fn new<'a, T: Into<Argument<'a>>>(entries: [T; $n]) -> Result<Self> {
                let entries = entries.map(Into::into);
                let entries = entries.each_ref();
                let session = session(stringify!($name), &operands(stringify!($name), &entries)?)?.clone();
                Self::TYPE.of_entries(&session, &entries).map(Self)
            }

            /// One lane of numbers, those of a matrix row by row.
            ///
            /// # Errors
            /// `NumberRange`, `NumberType`.
            pub fn literal<T: Into<Scalar>>(session: &Session, entries: [T; $n]) -> Result<Self> {
                let entries = entries.map(|entry| Argument::Number(entry.into()));
                Self::TYPE.of_entries(session, &entries.each_ref()).map(Self)
            }

            const TYPE: Type = Type {
                name: Cow::Borrowed(stringify!($name)),
                form: $form,
                dtype: Some(DType::$dtype),
            };

            $(
                #[doc = concat!("The component ", stringify!($part), ".")]
                pub fn $part(&self) -> &Array {
                    self.0.leaves()[$i]
                }
            )*
        }

        impl Deref for $name {
            type Target = Value;
            fn deref(&self) -> &Value {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for Value {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl<'a> From<&'a $name> for Argument<'a> {
            fn from(value: &'a $name) -> Self {
                Self::from(&value.0)
            }
        }

        impl TryFrom<Value> for $name {
            type Error = Error;

            fn try_from(value: Value) -> Result<Self> {
                let (got, expected) = (value.type_name(), concat!(stringify!($name), "C"));
                if got == expected {
                    return Ok(Self(value));
                }
                Err(Error::forms(format!("{}: got {got}, expected {expected}", stringify!($name))))
            }
        }

        right_sides!($name => Value, Ok);
        operators!(@operators $name, Value);
    )* };
}

macro_rules! identities {
    ($($name:ident)*) => { $(
        impl $name {
            /// One lane of the identity.
            ///
            /// # Errors
            /// As [`Session::full`].
            pub fn identity(session: &Session) -> Result<Self> {
                Self::TYPE.of(session, &1.into()).map(Self)
            }
        }
    )* };
}
identities! { Matrix2f Matrix3f Matrix4f Matrix2d Matrix3d Matrix4d }

types! {
    Vector2f = Form::Vector(2), 2, F32, "vector" { x 0, y 1 };
    Vector3f = Form::Vector(3), 3, F32, "vector" { x 0, y 1, z 2 };
    Vector4f = Form::Vector(4), 4, F32, "vector" { x 0, y 1, z 2, w 3 };
    Vector2d = Form::Vector(2), 2, F64, "vector" { x 0, y 1 };
    Vector3d = Form::Vector(3), 3, F64, "vector" { x 0, y 1, z 2 };
    Vector4d = Form::Vector(4), 4, F64, "vector" { x 0, y 1, z 2, w 3 };
    Vector2i = Form::Vector(2), 2, I32, "vector" { x 0, y 1 };
    Vector3i = Form::Vector(3), 3, I32, "vector" { x 0, y 1, z 2 };
    Vector2u = Form::Vector(2), 2, U32, "vector" { x 0, y 1 };
    Vector3u = Form::Vector(3), 3, U32, "vector" { x 0, y 1, z 2 };
    Complex2f = Form::Complex, 2, F32, "complex number" { real 0, imag 1 };
    Complex2d = Form::Complex, 2, F64, "complex number" { real 0, imag 1 };
    Quaternion4f = Form::Quaternion, 4, F32, "quaternion" { x 0, y 1, z 2, w 3 };
    Quaternion4d = Form::Quaternion, 4, F64, "quaternion" { x 0, y 1, z 2, w 3 };
    Matrix2f = Form::Matrix(2), 4, F32, "matrix" {};
    Matrix3f = Form::Matrix(3), 9, F32, "matrix" {};
    Matrix4f = Form::Matrix(4), 16, F32, "matrix" {};
    Matrix2d = Form::Matrix(2), 4, F64, "matrix" {};
    Matrix3d = Form::Matrix(3), 9, F64, "matrix" {};
    Matrix4d = Form::Matrix(4), 16, F64, "matrix" {};
}
