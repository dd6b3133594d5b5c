//! Indices: components by number or name, entries of matrices, lanes by slices and masks.

use super::argument::Argument;
use super::map::components;
use super::{Form, Value};
use crate::array::{Array, Operand, Slice, place};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;

/// Names of the first components.
const COMPONENT_NAMES: [&str; 4] = ["x", "y", "z", "w"];

impl Argument<'_> {
    /// The number of a component; negative ones count from the end.
    ///
    /// # Errors
    /// `Forms` if there is no such component.
    pub fn position(&self, i: i64) -> Result<usize> {
        self.one_of("component", i)
    }

    /// The numbers of the column, and of the component in it, where the entry in row `i` and column `j` of a matrix is.
    ///
    /// # Errors
    /// `Forms` if there is none.
    pub fn entry(&self, i: i64, j: i64) -> Result<[usize; 2]> {
        // There are as many of both.
        Ok([self.one_of("column", j)?, self.one_of("row", i)?])
    }

    fn one_of(&self, what: &str, i: i64) -> Result<usize> {
        let n = exactly::<i64>(self.components().len());
        let position = place(i, n.unsigned_abs()).map(exactly);
        position.map_err(|_| {
            let name = self.type_name();
            Error::forms(format!("{name}: {what} {i} of {n} (valid: {} to {})", -n, n - 1))
        })
    }

    /// The numbers of components with a name such as `x`, `zyx` or `real`.
    ///
    /// # Errors
    /// `Forms`, which lists the names that the value has.
    pub fn positions(&self, name: &str) -> Result<Vec<usize>> {
        let form = self.form();
        form.positions(name).ok_or_else(|| {
            let has = match form {
                Form::Scalar => "data, index, shape, ndim and size; components belong to vectors",
                Form::Vector(_) => " and swizzles of these such as yx",
                Form::Quaternion => ", swizzles of these, real and imag",
                Form::Complex => "",
                Form::Tensor => "no components; t[[i, j]] is an entry",
                Form::Matrix(_) => "T, its transpose; m[j] is a column, m[[i, j]] an entry",
            };
            let separator = if form == Form::Complex { " and " } else { ", " };
            let (type_name, names) = (self.type_name(), form.component_names().join(separator));
            Error::forms(format!("{type_name} has no member `{name}` (it has {names}{has})"))
        })
    }

    /// The numbers of the components that a slice chooses.
    ///
    /// # Errors
    /// `Forms` if it chooses none: a vector has at least one.
    pub fn places(&self, slice: impl Into<Slice>) -> Result<Vec<usize>> {
        let n = self.components().len();
        let places: Vec<usize> = slice.into().places(n as u64).map(exactly).collect();
        if places.is_empty() {
            let name = self.type_name();
            return Err(Error::forms(format!("{name}: no component in the range (it has {n})")));
        }
        Ok(places)
    }

    /// The lanes where a mask is true; others are 0.
    ///
    /// # Errors
    /// As [`components`].
    pub fn masked(&self, mask: &Argument<'_>) -> Result<Value> {
        let is_mask = self.dtype() == Some(DType::Mask);
        let zero = if is_mask { Scalar::Bool(false) } else { Scalar::Int(0) };
        components("[]", &[mask, self, &Argument::Number(zero)], &|operands| choose("[]", operands))
    }

    /// The value with others in the lanes where a mask is true, under its labels.
    ///
    /// # Errors
    /// As [`components`].
    pub fn assigned(&self, mask: &Argument<'_>, value: &Argument<'_>) -> Result<Value> {
        components("[]=", &[mask, value, self], &|operands| {
            let mut place = match operands {
                [.., Operand::Array(place)] => (*place).clone(),
                _ => return choose("[]=", operands),
            };
            place.replace(choose("[]=", operands)?);
            Ok(place)
        })
    }

    /// The value as something that can stand in `place`: of its lane type, with its components. Numbers must fit the
    /// type, and arrays convert where nothing is lost (S7); an array goes into every component.
    ///
    /// # Errors
    /// `Forms` for components that are not those of the place; `Conversion`, `NumberRange`; as [`components`].
    pub fn fitted(&self, op: &'static str, place: &Argument<'_>) -> Result<Value> {
        if self.is_nested() && !place.is_nested() {
            let (got, expected) = (self.type_name(), place.type_name());
            return Err(Error::forms(format!(
                "{op}: got {got}, expected one value for {expected}"
            )));
        }
        if let (Some(value), Some(lanes)) = (self.dtype(), place.dtype())
            && lanes.promote(value) != Some(lanes)
        {
            let name =
                if self.is_nested() { place.type_name() } else { lanes.script_name().into() };
            return Err(Error::Conversion { op, value: self.type_name(), place: name });
        }
        let value = components(op, &[self, place], &|operands| match *operands {
            [Operand::Number(number), Operand::Array(place)] => {
                place.session().full(place.dtype(), number, 1)
            }
            [Operand::Array(array), Operand::Array(place)] => array.cast(place.dtype()),
            _ => Err(Error::Argument { op, what: "one value expected".into() }),
        })?;
        // What does not pair with the components of the place would go whole into each of them.
        if place.is_nested() && value.type_name() != place.type_name() {
            let (got, expected) = (self.type_name(), place.type_name());
            return Err(Error::forms(format!("{op}: got {got}, expected a value for {expected}")));
        }
        Ok(value)
    }
}

impl Form {
    /// The names of the first components.
    pub fn component_names(self) -> &'static [&'static str] {
        match self {
            Self::Vector(n) => &COMPONENT_NAMES[..n.min(COMPONENT_NAMES.len())],
            Self::Quaternion => &COMPONENT_NAMES,
            Self::Complex => &["real", "imag"],
            Self::Scalar | Self::Matrix(_) | Self::Tensor => &[],
        }
    }

    /// The numbers of components with a name such as `x`, `zyx` or `real`, if values of the form have it.
    pub fn positions(self, name: &str) -> Option<Vec<usize>> {
        let names = self.component_names();
        if let Some(one) = names.iter().position(|known| *known == name) {
            return Some(vec![one]);
        }
        let position = |letter: char| names.iter().position(|known| known.chars().eq([letter]));
        let letters: Option<Vec<usize>> = match (self, name) {
            (Self::Quaternion, "real") => Some(vec![3]),
            (Self::Quaternion, "imag") => Some(vec![0, 1, 2]),
            _ => name.chars().map(position).collect(),
        };
        letters.filter(|letters| (1..=4).contains(&letters.len()))
    }
}

fn choose(op: &'static str, operands: &[Operand<'_>]) -> Result<Array> {
    match *operands {
        [Operand::Array(mask), a, b] => {
            mask.apply(Op::Select, &[a, b]).map_err(|error| error.of(op))
        }
        _ => Err(Error::Argument { op, what: "a mask expected".into() }),
    }
}

impl Value {
    /// A component; negative numbers count from the end.
    ///
    /// # Errors
    /// `Forms` if there is no such component.
    pub fn component(&self, i: i64) -> Result<&Self> {
        Ok(&self.components()[Argument::from(self).position(i)?])
    }

    /// The component or vector of components with a name: `x`, `zyx`, `real`; `T` of a matrix is its transpose.
    ///
    /// # Errors
    /// `Forms`, which lists the names that the value has.
    pub fn member(&self, name: &str) -> Result<Self> {
        if let (Form::Matrix(_), "T") = (self.form(), name) {
            return self.transpose();
        }
        let positions = Argument::from(self).positions(name)?;
        let parts = positions.iter().map(|&i| self.components()[i].clone());
        Ok(match *positions {
            [one] => self.components()[one].clone(),
            _ => Self::of_known_vector(parts.collect()),
        })
    }

    /// The vector of the components in a slice: `v.part(..2)`, `v.part(-2..)`.
    ///
    /// # Errors
    /// `Forms` if there are none.
    pub fn part(&self, slice: impl Into<Slice>) -> Result<Self> {
        let places = Argument::from(self).places(slice)?;
        Ok(Self::of_known_vector(
            places.into_iter().map(|i| self.components()[i].clone()).collect(),
        ))
    }

    /// The entry in row `i` and column `j` of a matrix.
    ///
    /// # Errors
    /// `Forms` if there is none.
    pub fn entry(&self, i: i64, j: i64) -> Result<&Self> {
        self.component(j)?.component(i)
    }

    /// The lanes where a mask is true; others are 0.
    ///
    /// # Errors
    /// `TypeMismatch`, `SizeMismatch`; `Forms` if the mask does not fit.
    pub fn masked<'a>(&self, mask: impl Into<Argument<'a>>) -> Result<Self> {
        Argument::from(self).masked(&mask.into())
    }
}
