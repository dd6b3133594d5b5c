//! Values of a type, made of entries, numbers and other values.

use std::borrow::Cow;

use super::argument::Argument;
use super::levels::ZERO;
use super::map::alike;
use super::{Form, TYPE_LETTERS, Value};
use crate::array::{Array, Operand, Slice};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::session::Session;

static ONE: Argument<'static> = Argument::Number(Scalar::Int(1));

/// A type of values with components. What they are made of is converted to it.
#[derive(Clone, Debug)]
pub struct Type {
    /// What scripts call it: `Vector3fC`, or `Vector3C` where the lane type is any.
    pub name: Cow<'static, str>,
    /// What its values are.
    pub form: Form,
    /// Lane type of the arrays inside; without one values keep what they are made of, promoted.
    pub dtype: Option<DType>,
}

impl Type {
    /// The types that scripts know.
    pub fn all() -> impl Iterator<Item = Self> {
        let vectors = (1..=4).map(Form::Vector);
        let numbers = [Form::Complex, Form::Quaternion];
        let forms = vectors.chain(numbers).chain((2..=4).map(Form::Matrix));
        forms.flat_map(|form| {
            let stem = format!("{}{}", form.word(), form.n_components());
            let any = Self { name: format!("{stem}C").into(), form, dtype: None };
            let typed =
                TYPE_LETTERS.iter().filter(move |(_, dtype)| form.is_vector() || dtype.is_float());
            let typed = typed.map(move |&(letter, dtype)| Self {
                name: format!("{stem}{letter}C").into(),
                form,
                dtype: Some(dtype),
            });
            typed.chain([any])
        })
    }

    /// A value from another: a vector from components, a matrix cut or filled up with the identity; an array or number
    /// goes into all components, and is the real part of numbers.
    ///
    /// # Errors
    /// `Forms` if it is no such value; as [`Type::of_entries`].
    pub fn of(&self, session: &Session, value: &Argument<'_>) -> Result<Value> {
        let parts = value.components();
        let entries: Vec<&Argument<'_>> = match (self.form, value.form()) {
            (_, Form::Scalar) => return self.of_real(session, value),
            (Form::Matrix(n), Form::Matrix(_)) => {
                let entry = |i: usize, j: usize| {
                    let entry = parts.get(j).and_then(|column| column.components().get(i));
                    entry.unwrap_or(if i == j { &ONE } else { &ZERO })
                };
                (0..n * n).map(|k| entry(k / n, k % n)).collect()
            }
            (Form::Vector(n), Form::Vector(got)) if got > n => {
                let what =
                    format!("{}: got {}, expected {n} components", self.name, value.type_name());
                return Err(Error::Forms {
                    what,
                    remedy: Some("a part of a vector is v.xyz, v[0..2]"),
                });
            }
            (Form::Vector(_), Form::Complex | Form::Quaternion | Form::Vector(_))
            | (Form::Complex, Form::Complex | Form::Vector(_))
            | (Form::Quaternion, Form::Quaternion | Form::Vector(_)) => parts.iter().collect(),
            _ => {
                return Err(Error::forms(format!("{}: got {}", self.name, value.type_name())));
            }
        };
        self.of_entries(session, &entries)
    }

    fn of_real(&self, session: &Session, value: &Argument<'_>) -> Result<Value> {
        let zero = match value {
            Argument::Array(array) => Some(array.session().zeros(array.dtype(), 1)?),
            _ => None,
        };
        let zero = zero.as_ref().map(Argument::Array);
        let zero = zero.as_ref().unwrap_or(&ZERO);
        let entry = |i| if self.form.holds_real(i) { value } else { zero };
        self.of_entries(session, &(0..self.form.n_entries()).map(entry).collect::<Vec<_>>())
    }

    /// A value from its entries, those of a matrix row by row; of a quaternion also a vector of 3 and the real part. Vectors
    /// among the components of a larger one are theirs.
    ///
    /// # Errors
    /// `Forms` for another number of entries, and for entries that do not fit each other; `NumberRange`, `ForeignArray`.
    pub fn of_entries(&self, session: &Session, entries: &[&Argument<'_>]) -> Result<Value> {
        if let (Form::Quaternion, [im, re]) = (self.form, entries) {
            let expected = "expected x, y, z, w, or a vector of 3 and w";
            let [x, y, z] = im.components() else {
                return Err(Error::forms(format!("{}: {expected}", self.name)));
            };
            return self.of_entries(session, &[x, y, z, re]);
        }
        let n = self.form.n_entries();
        if self.form.is_vector() && entries.len() < n {
            let parts = entries.iter().flat_map(|entry| match entry.form() {
                Form::Vector(_) => entry.components().iter().collect(),
                _ => vec![*entry],
            });
            let parts: Vec<&Argument<'_>> = parts.collect();
            if parts.len() > entries.len() {
                return self.of_entries(session, &parts);
            }
        }
        let got = entries.len();
        if got != n {
            let (what, remedy) = match self.form {
                Form::Matrix(side) if side == got => {
                    ("entries", Some("from_cols(a, b) takes columns, from_rows(a, b) rows"))
                }
                Form::Matrix(_) => ("entries", None),
                _ => ("components", None),
            };
            let what = format!("{}: got {got} {what}, expected {n}", self.name);
            return Err(Error::Forms { what, remedy });
        }
        let entries = entries.iter().map(|entry| self.entry(session, entry));
        let mut entries: Vec<Value> = entries.collect::<Result<_>>()?;
        if self.dtype.is_none() {
            let parts: Vec<Argument<'_>> = entries.iter().map(Argument::from).collect();
            entries = alike(&self.name, &parts.iter().collect::<Vec<_>>())?;
        }
        if let Form::Matrix(side) = self.form {
            entries = (0..n).map(|k| entries[k % side * side + k / side].clone()).collect();
        }
        self.checked(Value::assembled(self.form, entries))
    }

    /// A value from its entries lane by lane, those of a matrix row by row; see [`Session::interleave`] for the way back.
    ///
    /// # Errors
    /// `Forms` if the last lane lacks entries.
    pub fn unravel(&self, array: &Array) -> Result<Value> {
        let (size, n) = (array.size(), self.form.n_entries());
        if !size.is_multiple_of(n as u64) {
            let what = format!("got {size} lanes, expected a multiple of {n}");
            return Err(Error::forms(format!("{}::unravel: {what}", self.name)));
        }
        let (stop, step) = (i64::try_from(size).unwrap_or(i64::MAX), exactly::<i64>(n));
        let entries = (0..step).map(|start| array.slice(Slice::new(start, stop, step)));
        let entries = entries.collect::<Result<Vec<_>>>()?;
        let entries: Vec<Argument<'_>> = entries.iter().map(Argument::Array).collect();
        self.of_entries(array.session(), &entries.iter().collect::<Vec<_>>())
    }

    fn entry(&self, session: &Session, entry: &Argument<'_>) -> Result<Value> {
        if let (None, Argument::Nested(form, parts)) = (self.dtype, entry) {
            let parts = parts.iter().map(|part| self.entry(session, part));
            return Ok(Value::of_known(*form, parts.collect::<Result<_>>()?));
        }
        let array = match (entry.operand(&self.name)?, self.dtype) {
            (Operand::Number(number), dtype) => {
                session.full(dtype.unwrap_or(DType::of(number)), number, 1)
            }
            (Operand::Array(array), None) => Ok(array.clone()),
            (Operand::Array(array), Some(dtype)) => array.cast(dtype),
        };
        array.map(Value::Array)
    }

    fn checked(&self, value: Value) -> Result<Value> {
        value.check_sessions(self.form.word())?;
        if value.lanes().is_some() {
            return Ok(value);
        }
        let sizes: Vec<String> =
            value.leaves().iter().map(|leaf| leaf.size().to_string()).collect();
        let what = format!("{}: components of sizes {}", self.name, sizes.join(", "));
        Err(Error::Forms { what, remedy: Some("components need equal sizes, or size 1") })
    }

    /// A value with `array` in every entry; of complex numbers and quaternions as the real part.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn filled(&self, array: &Array) -> Result<Value> {
        let zeros = array.session().zeros(array.dtype(), array.size())?;
        let entry = |i| {
            let is_real = matches!(self.form, Form::Matrix(_)) || self.form.holds_real(i);
            Value::Array(if is_real { array.clone() } else { zeros.clone() })
        };
        Ok(Value::assembled(self.form, (0..self.form.n_entries()).map(entry).collect()))
    }
}

impl Argument<'_> {
    /// All arrays inside converted to another type.
    ///
    /// # Errors
    /// `Forms` of a number.
    pub fn cast(&self, dtype: DType) -> Result<Value> {
        self.each("cast", |array| array.cast(dtype))
    }
}

impl Value {
    /// All arrays inside converted to another type.
    ///
    /// # Errors
    /// None at present.
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        Argument::from(self).cast(dtype)
    }
}
