//! Tensors: lanes with a shape (S25).
//!
//! A [`Tensor`] is an array, or a complex number, and a view of its lanes: a shape, and how far apart in memory the
//! entries are along each axis. Transposing, slicing and stretching change the view and record nothing; operations
//! record what the views show, as gathers by index arithmetic, which fuses with what is made of it.
//!
//! ```
//! use porcini_core::tensor::Tensor;
//! use porcini_core::{DType, Session};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let x = session.arange(DType::F32, 0.into(), 6.into(), 1.into())?;
//! let a = Tensor::new(x, &[2, 3])?;                          // [[0, 1, 2], [3, 4, 5]]
//! let b = a.permute(&[1, 0])?.try_mul(&10.into())?;          // [[0, 30], [10, 40], [20, 50]]
//! assert_eq!(b.shape().extents(), [3, 2]);
//! assert_eq!(b.entries()?.array()?.to_vec::<f32>()?, [0.0, 30.0, 10.0, 40.0, 20.0, 50.0]);
//! let row = a.slice(0, 1..2)?;                               // [[3, 4, 5]]
//! let sum = a.try_add(&(&row).into())?;                      // [[3, 5, 7], [6, 8, 10]]
//! assert_eq!(sum.entries()?.array()?.to_vec::<f32>()?, [3.0, 5.0, 7.0, 6.0, 8.0, 10.0]);
//! assert!(a.try_add(&(&b).into()).is_err());                 // [2, 3] and [3, 2]
//! # Ok(())
//! # }
//! ```

mod reduce;
mod shape;
mod view;

pub use shape::{MAX_RANK, Shape};

use view::View;

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::value::{Argument, Form, Slice, Value, apply};

/// Entries along axes: of numbers, masks or complex numbers. Cloning names the same value; values never change.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// An array or a complex number whose parts have as many lanes.
    lanes: Value,
    view: View,
}

/// What an operation on tensors takes.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A number, which takes the type of the tensors beside it.
    Number(Scalar),
    /// A tensor.
    Tensor(&'a Tensor),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl<T: Into<Scalar>> From<T> for Operand<'_> {
    fn from(number: T) -> Self {
        Self::Number(number.into())
    }
}

impl Tensor {
    /// The lanes of an array or complex number with a shape, the last axis running fastest; of one lane it stands in
    /// every entry.
    ///
    /// # Errors
    /// `Argument` if there are not as many lanes as entries; `Forms` for other values.
    pub fn new(lanes: impl Into<Value>, extents: &[u64]) -> Result<Self> {
        let (op, lanes) = ("tensor", lanes.into());
        let shape = Shape::new(op, extents)?;
        if !matches!(lanes.form(), Form::Scalar | Form::Complex) {
            let got = lanes.type_name();
            return Err(Error::forms(format!(
                "{op}: got {got}, expected an array or a complex one"
            )));
        }
        let n = lanes.lanes();
        if ![Some(1), Some(shape.n_entries())].contains(&n) {
            let got = n.map_or_else(|| "parts of unequal sizes".into(), |n| format!("{n} lanes"));
            let what = format!("got {got} for the {} entries of {shape}", shape.n_entries());
            return Err(Error::Argument { op, what });
        }
        Self::of(lanes, shape)
    }

    /// As [`Tensor::new`], of lanes that fit.
    fn of(lanes: Value, shape: Shape) -> Result<Self> {
        let n = shape.n_entries();
        let lanes = Argument::from(&lanes).each("tensor", |part| part.resize(n))?;
        Ok(Self { lanes, view: View::whole(shape) })
    }

    /// How many entries there are along each axis.
    pub fn shape(&self) -> &Shape {
        self.view.shape()
    }

    /// Type of the entries, or of their parts.
    pub fn dtype(&self) -> DType {
        self.lanes.dtype()
    }

    /// The entries as the lanes of an array or complex number, the last axis running fastest. Recorded, not run.
    ///
    /// # Errors
    /// As [`Array::gather`].
    pub fn entries(&self) -> Result<Value> {
        let words = || {
            let runs = self.view.runs();
            let words = runs.iter().flat_map(|&(extent, step)| [extent, step.cast_unsigned()]);
            [self.view.start()].into_iter().chain(words).collect::<Vec<u64>>()
        };
        Argument::from(&self.lanes).each("view", |part: &Array| {
            if self.view.is_whole(part.size()) {
                return Ok(part.clone());
            }
            let (start, runs) = (self.view.start(), self.view.runs());
            part.session().compose("view", &words(), &[part], move |recorder, args| {
                recorder.strided(args[0], start, &runs)
            })
        })
    }

    /// The entries in the same order along other axes; one extent may be -1.
    ///
    /// # Errors
    /// `Argument` if they are not as many.
    pub fn reshape(&self, extents: &[i64]) -> Result<Self> {
        Self::of(self.entries()?, self.shape().reshaped("reshape", extents)?)
    }

    /// The axes in another order.
    ///
    /// # Errors
    /// `Argument` unless each axis is named once.
    pub fn permute(&self, axes: &[i64]) -> Result<Self> {
        self.viewed(self.view.permuted("permute", axes)?)
    }

    /// The entries of a slice along an axis.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn slice(&self, axis: i64, slice: impl Into<Slice>) -> Result<Self> {
        let axis = self.shape().axis("slice", axis)?;
        self.viewed(self.view.sliced("slice", axis, slice.into())?)
    }

    /// Without an axis of one entry.
    ///
    /// # Errors
    /// `Argument` if it has another number of entries, or there is no such axis.
    pub fn squeeze(&self, axis: i64) -> Result<Self> {
        let axis = self.shape().axis("squeeze", axis)?;
        self.viewed(self.view.squeezed("squeeze", axis)?)
    }

    /// With an axis of one entry in front of another; -1 is behind all.
    ///
    /// # Errors
    /// `Argument` if there is no such place, or no room for an axis.
    pub fn expand(&self, axis: i64) -> Result<Self> {
        let mut extents = self.shape().extents().to_vec();
        extents.push(1);
        let axis = Shape::new("expand", extents)?.axis("expand", axis)?;
        self.viewed(self.view.expanded("expand", axis)?)
    }

    /// Stretched to a shape: axes of one entry as often as needed, missing ones in front.
    ///
    /// # Errors
    /// `Argument`, naming both shapes.
    pub fn broadcast_to(&self, extents: &[u64]) -> Result<Self> {
        let op = "broadcast_to";
        self.viewed(self.view.broadcast(op, &Shape::new(op, extents)?)?)
    }

    /// The entries from one number up to another along an axis.
    fn part(&self, axis: usize, start: u64, end: u64) -> Result<Self> {
        self.viewed(self.view.part(axis, start, end)?)
    }

    /// An axis as several, whose extents have its product.
    fn split(&self, axis: usize, extents: &[u64]) -> Result<Self> {
        self.viewed(self.view.split("reshape", axis, extents)?)
    }

    /// As [`Tensor::squeeze`].
    fn squeezed(&self, axis: usize) -> Result<Self> {
        self.viewed(self.view.squeezed("squeeze", axis)?)
    }

    fn viewed(&self, view: View) -> Result<Self> {
        Ok(Self { lanes: self.lanes.clone(), view })
    }

    /// Records an elementwise operation of tensors, whose shapes broadcast, and numbers.
    ///
    /// # Errors
    /// `Argument`, naming shapes that do not fit; as [`apply`].
    pub fn apply(op: Op, args: &[Operand<'_>]) -> Result<Self> {
        let name = op.spelling();
        let mut shape = Shape::new(name, [])?;
        for arg in args {
            if let Operand::Tensor(tensor) = arg {
                shape = shape.broadcast(name, tensor.shape())?;
            }
        }
        let entries = |arg: &Operand<'_>| match arg {
            Operand::Number(_) => Ok(None),
            // One entry stands in all lanes.
            Operand::Tensor(one) if one.shape().n_entries() == 1 => one.entries().map(Some),
            Operand::Tensor(tensor) => {
                tensor.viewed(tensor.view.broadcast(name, &shape)?)?.entries().map(Some)
            }
        };
        let entries = args.iter().map(entries).collect::<Result<Vec<_>>>()?;
        let pairs = args.iter().zip(&entries);
        let args: Vec<Argument<'_>> = pairs
            .filter_map(|(arg, entries)| match arg {
                Operand::Number(number) => Some(Argument::Number(*number)),
                Operand::Tensor(_) => entries.as_ref().map(Argument::from),
            })
            .collect();
        Self::of(apply(op, &args.iter().collect::<Vec<_>>())?, shape)
    }

    /// The sum, entry by entry.
    ///
    /// # Errors
    /// As [`Tensor::apply`].
    pub fn try_add(&self, other: &Operand<'_>) -> Result<Self> {
        Self::apply(Op::Add, &[self.into(), *other])
    }

    /// The product, entry by entry.
    ///
    /// # Errors
    /// As [`Tensor::apply`].
    pub fn try_mul(&self, other: &Operand<'_>) -> Result<Self> {
        Self::apply(Op::Mul, &[self.into(), *other])
    }
}
