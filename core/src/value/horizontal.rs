//! Horizontal operations: over the lanes of arrays, over the components of nested values.

use std::borrow::Cow;

use super::argument::Argument;
use super::extremes::with_equal_shares;
use super::map::{apply, function};
use super::{Form, Value};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};

impl Value {
    /// The lanes of an array combined into one, lazily, of complex numbers and quaternions their sum; of other nested
    /// values the components, lane by lane.
    ///
    /// # Errors
    /// `Forms` for other reductions of numbers of several parts; as [`Array::reduce`] and [`apply`].
    pub fn reduce(&self, op: ReduceOp) -> Result<Self> {
        match self {
            Self::Array(array) => array.reduce(op).map(Self::Array),
            Self::Tensor(tensor) => tensor.reduce(op, None, false)?.lanes(),
            Self::Nested(form, _) if form.is_number() => {
                self.over_lanes(op.name(), op == ReduceOp::Sum, |part| part.reduce(op))
            }
            Self::Nested(_, components) if op == ReduceOp::Count => {
                let one = |mask| Argument::from(mask).each("count", |mask| mask.cast(DType::U32));
                fold(op.combine(), &components.iter().map(one).collect::<Result<Vec<_>>>()?)
            }
            Self::Nested(..) if matches!(op, ReduceOp::Sum | ReduceOp::Prod) => {
                fold(op.combine(), self.accumulated(op.name())?.components())
            }
            Self::Nested(_, components) => {
                let found = fold(op.combine(), components)?;
                // Two have half each by themselves.
                if components.len() < 3 || !self.has_shares(op) {
                    return Ok(found);
                }
                with_equal_shares(found, components, &|component, _| Ok(component.clone()))
            }
        }
    }

    /// Whether it has derivatives, and a reduction is one whose tied components share them.
    fn has_shares(&self, op: ReduceOp) -> bool {
        let leaves = || Argument::from(self).leaves().into_iter();
        matches!(op, ReduceOp::Min | ReduceOp::Max) && leaves().any(Array::is_followed)
    }

    /// The value in the type that its sums and products have.
    fn accumulated(&self, op: &'static str) -> Result<Cow<'_, Self>> {
        let dtype = self.dtype().accumulated();
        if dtype == self.dtype() {
            return Ok(Cow::Borrowed(self));
        }
        Argument::from(self).each(op, |x| x.cast(dtype)).map(Cow::Owned)
    }

    /// What is made of the lanes of each part of complex numbers or quaternions, where that means something.
    fn over_lanes(
        &self,
        op: &'static str,
        is_by_parts: bool,
        change: impl Fn(&Array) -> Result<Array>,
    ) -> Result<Self> {
        if !is_by_parts {
            let what = format!("{op}: not defined for the lanes of {}", self.type_name());
            let remedy = "take the parts, as z.real and z.imag, or abs(z)";
            return Err(Error::Forms { what, remedy: Some(remedy) });
        }
        let unequal = || Error::forms(format!("{op}: parts of unequal sizes"));
        let lanes = self.lanes().ok_or_else(unequal)?;
        Argument::from(self).each(op, |part| change(&part.resize(lanes)?))
    }

    /// The mean of the lanes of an array, complex numbers or quaternions, lazily; of other nested values that of the
    /// components, lane by lane.
    ///
    /// # Errors
    /// As [`Array::mean`] and [`apply`].
    pub fn mean(&self) -> Result<Self> {
        match self {
            Self::Array(array) => array.mean().map(Self::Array),
            Self::Tensor(tensor) => tensor.mean(None, false)?.lanes(),
            Self::Nested(form, _) if form.is_number() => {
                self.over_lanes("hmean", true, Array::mean)
            }
            Self::Nested(_, components) => {
                let n = exactly::<i64>(components.len());
                let sum = self.reduce(ReduceOp::Sum)?;
                apply(Op::Div, &[&(&sum).into(), &Argument::from(n)])
            }
        }
    }

    /// The value with a number in the place of each NaN; what has none stays.
    ///
    /// # Errors
    /// As [`apply`].
    pub fn without_nan(&self, instead: f64) -> Result<Self> {
        if !self.dtype().is_float() {
            return Ok(self.clone());
        }
        apply(Op::Select, &[&(&self.is_nan()?).into(), &instead.into(), &self.into()])
    }

    fn is_nan(&self) -> Result<Self> {
        function("isnan", &[&self.into()])
    }

    /// The mean of what is no NaN, where `over` makes the sums and counts of others; NaN of nothing. A half is added in
    /// f32, and rounded once.
    ///
    /// # Errors
    /// As [`apply`]; what `over` returns.
    pub(crate) fn mean_without_nan(
        &self,
        over: impl Fn(&Self, ReduceOp) -> Result<Self>,
    ) -> Result<Self> {
        let op = "nanmean";
        let (own, wider) = (self.dtype().quotient(), self.dtype().averaged());
        let cast = |x: &Self, dtype| Argument::from(x).each(op, |x| x.cast(dtype));
        let wide = cast(self, wider)?;
        let others = apply(Op::Not, &[&(&wide.is_nan()?).into()])?;
        let sum = over(&wide.without_nan(0.0)?, ReduceOp::Sum)?;
        let count = cast(&over(&others, ReduceOp::Count)?, wider)?;
        cast(&apply(Op::Div, &[&(&sum).into(), &(&count).into()])?, own)
    }

    /// [`Value::reduce`] level by level, and of the lanes of what remains.
    ///
    /// # Errors
    /// As [`Value::reduce`].
    pub fn reduce_nested(&self, op: ReduceOp) -> Result<Self> {
        let found = self.innermost(&|value| value.reduce(op))?;
        let (Self::Nested(..), Some(lanes)) = (self, self.lanes()) else { return Ok(found) };
        if !self.has_shares(op) {
            return Ok(found);
        }
        let leaves = Argument::from(self).leaves().into_iter();
        let wide = leaves.map(|leaf| leaf.resize(lanes).map(Self::Array));
        let wide = wide.collect::<Result<Vec<_>>>()?;
        with_equal_shares(found, &wide, &Self::reduce)
    }

    /// [`Value::mean`] level by level, and of the lanes of what remains.
    ///
    /// # Errors
    /// As [`Value::mean`].
    pub fn mean_nested(&self) -> Result<Self> {
        self.innermost(&Self::mean)
    }

    fn innermost(&self, reduce: &dyn Fn(&Self) -> Result<Self>) -> Result<Self> {
        match self {
            Self::Nested(form, _) if !form.is_number() => reduce(self)?.innermost(reduce),
            _ => reduce(self),
        }
    }

    /// All lanes of all arrays inside as one, lazily; arrays of one lane count as often as the others have lanes.
    ///
    /// # Errors
    /// `Forms` for sizes that do not broadcast; as [`Array::reduce`].
    pub fn reduce_all(&self, op: ReduceOp) -> Result<Array> {
        let name = op.name();
        let unequal = || Error::forms(format!("{name}: components of unequal sizes"));
        if let Self::Tensor(tensor) = self {
            return tensor.lanes()?.reduce_all(op);
        }
        let lanes = self.lanes().ok_or_else(unequal)?;
        let mut all: Option<Array> = None;
        for leaf in self.leaves() {
            let one = leaf.resize(lanes)?.reduce(op)?;
            all = Some(match all {
                Some(all) => all.apply(op.combine(), &[(&one).into()])?,
                None => one,
            });
        }
        all.ok_or_else(|| Error::forms(format!("{name}: a vector without components")))
    }

    /// One lane of an array; negative numbers count from the end.
    ///
    /// # Errors
    /// `Forms` unless it is an array; as [`Array::item`].
    pub fn item(&self, index: i64) -> Result<Scalar> {
        self.array()?.item(index)
    }

    /// The array that it is.
    ///
    /// # Errors
    /// `Forms` if it is anything else.
    pub fn array(&self) -> Result<&Array> {
        match self {
            Self::Array(array) => Ok(array),
            Self::Nested(..) | Self::Tensor(_) => {
                let got = self.type_name();
                Err(Error::forms(format!("got {got}, expected a one-dimensional array")))
            }
        }
    }

    /// Prefix sums (`Op::Add`) or products (`Op::Mul`): of the lanes of an array or of complex numbers, of quaternions the
    /// sums, of the components of other nested values.
    ///
    /// # Errors
    /// `Forms` for products of quaternions and matrices; as [`Array::psum`] and [`apply`].
    pub fn prefix(&self, op: Op) -> Result<Self> {
        let wide = match self {
            Self::Nested(Form::Complex, _) if op == Op::Mul => {
                return Argument::from(self)
                    .to_tensor("cumprod")?
                    .atleast_1d()?
                    .cumprod(-1)?
                    .lanes();
            }
            Self::Nested(form, _) if form.is_number() => {
                let name = if op == Op::Mul { "cumprod" } else { "psum" };
                return self.over_lanes(name, op == Op::Add, Array::psum);
            }
            Self::Array(array) if op == Op::Mul => return array.cumprod().map(Self::Array),
            Self::Array(array) => return array.psum().map(Self::Array),
            Self::Tensor(tensor) if op == Op::Mul && tensor.is_complex() => {
                return tensor.reshape(&[-1])?.cumprod(0)?.lanes();
            }
            Self::Tensor(tensor) => return tensor.lanes()?.prefix(op),
            Self::Nested(..) => self.accumulated(op.name())?,
        };
        let components = wide.components();
        let mut results: Vec<Self> = Vec::with_capacity(components.len());
        for component in components {
            results.push(match results.last() {
                None => component.clone(),
                Some(last) => apply(op, &[&last.into(), &component.into()])?,
            });
        }
        Ok(Self::of_known_vector(results))
    }
}

fn fold(op: Op, components: &[Value]) -> Result<Value> {
    let (first, rest) = components
        .split_first()
        .ok_or_else(|| Error::forms("a vector without components".into()))?;
    rest.iter()
        .try_fold(first.clone(), |sum, component| apply(op, &[&(&sum).into(), &component.into()]))
}
