//! What a function of the catalogue is given, and what it gives.

use std::borrow::Cow;

use super::{Row, rows, tensor_rows};
use crate::array::Array;
use crate::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::tensor::Tensor;
use crate::value::{Argument, Form, Value};

/// A call of a row.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c, 'a> {
    /// Name of the row, which errors say.
    pub op: &'static str,
    /// Where numbers become arrays.
    pub session: &'c Session,
    /// The type whose function it is, for those of [`MAKERS`](super::MAKERS).
    pub dtype: Option<DType>,
    /// What is given, by the kinds of the parameters; see [`Row::n_required`](super::Row::n_required) of what is not.
    pub args: &'c [&'c Argument<'a>],
}

/// What a function gives.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An array or nested value.
    Value(Value),
    /// A number, a bool.
    Number(Scalar),
    /// Several answers.
    List(Vec<Self>),
    /// Parts of the first argument, by the numbers of the components on the way to each; several are a vector. What is
    /// written to them is seen in it.
    Parts(Vec<Vec<usize>>),
    /// The new value of the target, and what else there is.
    Written(Value, Option<Box<Self>>),
    /// Nothing: something was done.
    Nothing,
}

impl<'a> Call<'_, 'a> {
    /// An argument as a value.
    pub(super) fn value(&self, i: usize) -> Result<Value> {
        self.args[i].to_value(self.op)
    }

    /// A one-dimensional array.
    pub(super) fn array(&self, i: usize) -> Result<&'a Array> {
        self.one(self.args[i])
    }

    /// The one-dimensional array that an argument is.
    pub(super) fn one(&self, arg: &Argument<'a>) -> Result<&'a Array> {
        match arg.operand(self.op)? {
            Operand::Array(array) => Ok(array),
            Operand::Number(number) => {
                let what = format!("got {number}, expected an array");
                Err(Error::Argument { op: self.op, what })
            }
        }
    }

    /// A value with all components in as many lanes as it has.
    pub(super) fn widened(&self, x: &Argument<'_>) -> Result<Value> {
        if !x.is_nested() {
            return x.to_value(self.op);
        }
        let unequal = || Error::forms(format!("{}: components of unequal sizes", self.op));
        let lanes = x.lanes().ok_or_else(unequal)?;
        x.each(self.op, |x| x.resize(lanes))
    }

    /// An argument that may be left out.
    pub(super) fn given(&self, i: usize) -> Option<&Argument<'a>> {
        let arg = self.args.get(i).copied();
        arg.filter(|arg| !matches!(arg, Argument::Number(Scalar::Bool(true))))
    }

    /// Which lanes take part, unless all do.
    pub(super) fn active(&self, i: usize) -> Result<Option<Cow<'a, Array>>> {
        match self.given(i) {
            None => Ok(None),
            Some(Argument::Number(none @ Scalar::Bool(false))) => {
                self.session.full(DType::Mask, *none, 1).map(Cow::Owned).map(Some)
            }
            Some(_) => self.array(i).map(Cow::Borrowed).map(Some),
        }
    }

    /// An integer, from 0 up of an unsigned type.
    pub(super) fn integer<T: TryFrom<i128>>(&self, i: usize) -> Result<T> {
        let integer = match *self.args[i] {
            Argument::Number(Scalar::Int(integer)) => Some(i128::from(integer)),
            Argument::Number(Scalar::UInt(integer)) => Some(i128::from(integer)),
            _ => None,
        };
        let integer = integer.and_then(|integer| T::try_from(integer).ok());
        integer.ok_or_else(|| self.unexpected(i, "an integer that fits"))
    }

    /// How often something is taken.
    pub(super) fn times(&self, i: usize) -> Result<u64> {
        let n: i64 = self.integer(i)?;
        let got = || Error::forms(format!("{}: got {n}, expected a number from 0 up", self.op));
        u64::try_from(n).map_err(|_| got())
    }

    /// The type of which an array is made.
    pub(super) fn dtype(&self) -> DType {
        self.dtype.expect("internal error: a function of a type without one")
    }

    /// A size; what is left out is 1.
    pub(super) fn size(&self, i: usize) -> Result<u64> {
        self.given(i).map_or(Ok(1), |_| self.integer(i))
    }

    /// A number of any type.
    pub(super) fn scalar(&self, i: usize) -> Result<Scalar> {
        match self.args[i] {
            Argument::Number(number) => Ok(*number),
            _ => Err(self.unexpected(i, "a number")),
        }
    }

    /// A number; what is left out is the default.
    pub(super) fn number(&self, i: usize, default: f64) -> Result<f64> {
        match self.given(i) {
            None => Ok(default),
            Some(Argument::Number(number)) => Ok(number.to_f64()),
            Some(_) => Err(self.unexpected(i, "a number")),
        }
    }

    /// A bool; what is left out is false.
    pub(super) fn truth(&self, i: usize) -> Result<bool> {
        match self.args.get(i) {
            None => Ok(false),
            Some(Argument::Number(Scalar::Bool(truth))) => Ok(*truth),
            Some(_) => Err(self.unexpected(i, "a bool")),
        }
    }

    /// The components of a vector.
    pub(super) fn vector(&self, i: usize) -> Result<Vec<&Argument<'a>>> {
        let arg = self.args[i];
        if arg.form().is_vector() {
            Ok(arg.components().iter().collect())
        } else {
            Err(self.unexpected(i, "a vector"))
        }
    }

    /// A matrix.
    pub(super) fn matrix(&self, i: usize) -> Result<&Argument<'a>> {
        let is_matrix = matches!(self.args[i].form(), Form::Matrix(_));
        if is_matrix { Ok(self.args[i]) } else { Err(self.unexpected(i, "a matrix")) }
    }

    /// An operand as an array; a number takes the type in which it meets `dtype`.
    pub(super) fn as_array(&self, operand: Operand<'_>, dtype: DType) -> Result<Array> {
        match operand {
            Operand::Array(array) => Ok(array.clone()),
            Operand::Number(number) => self.session.full(dtype.meet(number), number, 1),
        }
    }

    /// A tensor as what the first argument is: an array of an array.
    pub(super) fn like_first(&self, found: Tensor) -> Result<Value> {
        if matches!(self.args[0], Argument::Array(_)) {
            found.lanes()
        } else {
            Ok(Value::Tensor(found))
        }
    }

    pub(super) fn unexpected(&self, i: usize, expected: &str) -> Error {
        let got = match self.args[i] {
            // A list of numbers is no vector to who gave it.
            Argument::Nested(Form::Vector(n), items)
                if items.iter().all(|item| matches!(item, Argument::Number(_))) =>
            {
                format!("a list of length {n}")
            }
            other => other.type_name(),
        };
        Error::forms(format!("{}: got {got}, expected {expected}", self.op))
    }
}

impl Tensor {
    /// Calls a function of the [catalogue](crate::catalogue), itself first: one of tensors, or of arrays where no tensors
    /// have such.
    ///
    /// # Errors
    /// `Forms` if there is no such function; as [`Row::call`](super::Row::call).
    pub fn call(&self, name: &str, others: &[Argument<'_>]) -> Result<Answer> {
        let none = || Error::forms(format!("{name}: there is no such function of tensors"));
        let called = self.called(name, others);
        called.or_else(|| self.call_one_of(rows(), name, others)).ok_or_else(none)?
    }

    /// Calls a function of tensors, if there is such.
    pub(crate) fn called(&self, name: &str, others: &[Argument<'_>]) -> Option<Result<Answer>> {
        self.call_one_of(tensor_rows(), name, others)
    }

    fn call_one_of(
        &self,
        rows: impl Iterator<Item = &'static Row>,
        name: &str,
        others: &[Argument<'_>],
    ) -> Option<Result<Answer>> {
        let own = Argument::from(self);
        let args: Vec<&Argument<'_>> = [&own].into_iter().chain(others).collect();
        let known: Vec<&Row> = rows.filter(|row| row.name == name).collect();
        let row = known.iter().find(|row| row.takes(args.len())).or(known.first())?;
        Some(row.call(self.parts()[0].session(), &args))
    }
}

impl Answer {
    /// The value that it is, or the first of several.
    pub(crate) fn into_first(self) -> Result<Value> {
        match self {
            Self::List(mut answers) if !answers.is_empty() => answers.swap_remove(0).into_first(),
            other => other.try_into(),
        }
    }

    /// The one-dimensional array that it is.
    ///
    /// # Errors
    /// `Forms` if it is anything else.
    pub fn array(self) -> Result<Array> {
        match self {
            Self::Value(Value::Array(array)) => Ok(array),
            Self::Value(other) => {
                let got = other.type_name();
                Err(Error::forms(format!("got {got}, expected a one-dimensional array")))
            }
            other => Err(Error::forms(format!("got {other:?}, expected a one-dimensional array"))),
        }
    }
}

impl TryFrom<Answer> for Value {
    type Error = Error;

    fn try_from(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Value(value) => Ok(value),
            other => Err(Error::forms(format!("got {other:?}, expected a value"))),
        }
    }
}

impl TryFrom<Answer> for Tensor {
    type Error = Error;

    fn try_from(answer: Answer) -> Result<Self> {
        Value::try_from(answer)?.try_into()
    }
}

/// One answer is a list of one.
impl TryFrom<Answer> for Vec<Tensor> {
    type Error = Error;

    fn try_from(answer: Answer) -> Result<Self> {
        match answer {
            Answer::List(answers) => answers.into_iter().map(TryInto::try_into).collect(),
            one => Ok(vec![one.try_into()?]),
        }
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Array> for Answer {
    fn from(array: Array) -> Self {
        Self::Value(array.into())
    }
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl From<Scalar> for Answer {
    fn from(number: Scalar) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Answer {
    fn from(answers: Vec<T>) -> Self {
        Self::List(answers.into_iter().map(Into::into).collect())
    }
}
