//! Tensors: lanes with a shape (S25).
//!
//! A [`Tensor`] is an array, or real and imaginary part of complex entries, and a view of the lanes: a shape, and how far
//! apart in memory the entries are along each axis. Transposing, slicing and stretching change the view and record
//! nothing; operations record what the views show, as gathers by index arithmetic, which fuses with what is made of it.
//! How operations and functions go through tensors, [`value`](crate::value) says.
//!
//! ```
//! use porcini_core::tensor::Tensor;
//! use porcini_core::{DType, Session};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let x = session.arange(DType::F32, 0.into(), 6.into(), 1.into())?;
//! let a = Tensor::new(&x, &[2, 3])?;                          // [[0, 1, 2], [3, 4, 5]]
//! let b = 10 * a.permute(&[1, 0])?;                           // [[0, 30], [10, 40], [20, 50]]
//! assert_eq!(b.to_string(), "[[ 0, 30],\n [10, 40],\n [20, 50]]");
//! let row = a.slice(0, 1..2)?;                                // [[3, 4, 5]]
//! assert_eq!((&a + &row).to_string(), "[[ 3,  5,  7],\n [ 6,  8, 10]]");
//! assert!(a.try_add(&b).is_err());                            // [2, 3] and [3, 2]
//! # Ok(())
//! # }
//! ```

mod choose;
mod contract;
mod distinct;
mod edges;
mod factor_derivatives;
mod fourier_derivatives;
mod indexing;
mod linear;
mod matrix_derivatives;
mod order;
mod product;
mod quantiles;
mod rearrange;
mod recursive;
mod reduce;
mod shape;
mod slide;
mod softmax;
mod vector_derivatives;
mod view;

pub use edges::Edges;
pub use indexing::AxisIndex;
pub(crate) use linear::{Triangle, interruptible};
pub use shape::{MAX_RANK, Shape};

use std::sync::Arc;

use smallvec::smallvec;
use view::View;

pub use crate::array::Parts;
use crate::array::{Array, Slice, place};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::session::Session;

/// Entries along axes: of numbers, masks or complex numbers. Cloning names the same value; values never change.
#[derive(Clone, Debug)]
#[must_use = "operations change nothing: what they return is the result"]
pub struct Tensor {
    /// An array, or real and imaginary part, of one type and as many lanes.
    parts: Parts,
    /// Shared: handles are small, and copied often.
    view: Arc<View>,
}

impl Tensor {
    /// The lanes of an array with a shape, the last axis running fastest; of one lane it stands in every entry.
    ///
    /// # Errors
    /// `Argument` if there are not as many lanes as entries.
    pub fn new(lanes: &Array, extents: &[u64]) -> Result<Self> {
        Self::with_parts(std::slice::from_ref(lanes), extents)
    }

    /// Entries that lie in an array with steps between them, as memory of others may have them: entry (i, j, ..) is lane
    /// `start` + i `steps[0]` + j `steps[1]` + .. Nothing is copied or recorded.
    ///
    /// # Errors
    /// `Argument` if an entry is outside of the array, or there are not as many steps as axes.
    pub fn strided(lanes: &Array, extents: &[u64], start: u64, steps: &[i64]) -> Result<Self> {
        let (op, n) = ("tensor", lanes.size());
        let shape = Shape::new(op, extents)?;
        if shape.n_entries() == 0 {
            return Self::new(&lanes.session().zeros(lanes.dtype(), 0)?, extents);
        }
        let what =
            format!("entries of {shape} from lane {start} by {steps:?} are not within {n} lanes");
        let view = View::strided(shape, start, steps, n).ok_or(Error::Argument { op, what })?;
        Ok(Self { parts: smallvec![lanes.clone()], view: Arc::new(view) })
    }

    /// As [`Tensor::new`], of complex entries from real and imaginary parts.
    ///
    /// # Errors
    /// As [`Tensor::new`]; `TypeMismatch` if they have no common float type; `ForeignArray`.
    pub fn complex(real: &Array, imag: &Array, extents: &[u64]) -> Result<Self> {
        let (op, lhs, rhs) = ("complex", real.dtype(), imag.dtype());
        let dtype = lhs.promote(rhs).filter(|dtype| dtype.is_float());
        // There are complex numbers of 32 and 64 bits.
        let dtype = dtype.ok_or(Error::TypeMismatch { op, lhs, rhs })?.widened();
        let home = real.session().home([real, imag]);
        let [real, imag] = [real, imag].map(|part| home.adopt_number(op, part)?.cast(dtype));
        Self::with_parts(&[real?, imag?], extents)
    }

    fn with_parts(parts: &[Array], extents: &[u64]) -> Result<Self> {
        let op = "tensor";
        let shape = Shape::new(op, extents)?;
        let n = shape.n_entries();
        if let Some(part) = parts.iter().find(|part| ![1, n].contains(&part.size())) {
            let what = format!("got {} lanes for the {n} entries of {shape}", part.size());
            return Err(Error::Argument { op, what });
        }
        Self::of(parts.iter().cloned(), shape)
    }

    /// As [`Tensor::new`], of parts that fit.
    pub(crate) fn of(parts: impl IntoIterator<Item = Array>, shape: Shape) -> Result<Self> {
        let n = shape.n_entries();
        let fit = |part: Array| if part.size() == n { Ok(part) } else { part.resize(n) };
        let parts = parts.into_iter().map(fit).collect::<Result<_>>()?;
        Ok(Self { parts, view: Arc::new(View::whole(shape)) })
    }

    /// The array whose lanes are the entries, or real and imaginary part, if there are such.
    pub(crate) fn lying(&self) -> Option<&[Array]> {
        let is_whole = |part: &Array| self.view.is_whole(part.size());
        self.parts.iter().all(is_whole).then_some(&self.parts[..])
    }

    /// The tensor of this shape of which these are the entries, where [`Tensor::lying`] has as many.
    pub(crate) fn with_lanes(&self, parts: Parts) -> Self {
        Self { parts, view: self.view.clone() }
    }

    /// The array and its lane that a tensor without axes is, where that is in memory: reading it there takes no launch.
    pub fn lane_in_memory(&self) -> Option<(&Array, i64)> {
        let [array] = &self.parts[..] else { return None };
        (self.shape().rank() == 0 && array.is_evaluated())
            .then(|| (array, exactly(self.view.start())))
    }

    /// How its entries lie in its parts, as text: equal for tensors of one shape whose entries lie alike.
    pub fn layout(&self) -> String {
        format!("{:?}", self.view)
    }

    /// How many entries there are along each axis.
    pub fn shape(&self) -> &Shape {
        self.view.shape()
    }

    /// Type of the entries, or of their parts.
    pub fn dtype(&self) -> DType {
        self.parts[0].dtype()
    }

    /// Whether its entries have real and imaginary parts.
    pub fn is_complex(&self) -> bool {
        self.parts.len() == 2
    }

    /// The arrays of which it is a view: one, or real and imaginary part.
    pub fn parts(&self) -> &[Array] {
        &self.parts
    }

    /// As [`Tensor::parts`], to be labelled or replaced by equal ones.
    pub fn parts_mut(&mut self) -> &mut [Array] {
        &mut self.parts
    }

    /// The type as scripts call it: `TensorXfC`.
    pub fn type_name(&self) -> String {
        let letters = match (self.dtype(), self.is_complex()) {
            (DType::F64, true) => "z",
            (_, true) => "c",
            (dtype, false) => dtype.letters(),
        };
        format!("TensorX{letters}C")
    }

    /// The entries as lanes, the last axis running fastest: one array, or real and imaginary part. Recorded, not run.
    ///
    /// # Errors
    /// As [`Array::gather`].
    pub fn entries(&self) -> Result<Parts> {
        self.parts.iter().map(|part| self.view.entries_of(part)).collect()
    }

    /// The entries, of real numbers, that decide about those of tensors of these shapes, place by place. Recorded, not run.
    ///
    /// # Errors
    /// `Forms` if one of them has as many entries and another shape, or for complex entries.
    pub fn deciding(&self, op: &str, shapes: &[Shape]) -> Result<Array> {
        let own = self.shape();
        let differs = |shape: &&Shape| shape.n_entries() == own.n_entries() && *shape != own;
        if let Some(other) = shapes.iter().find(differs) {
            let what = format!("{op}: shapes {own} and {other} differ");
            let remedy = Some("reshape(t, shape) gives it another shape");
            return Err(Error::Forms { what, remedy });
        }
        if self.is_complex() {
            return Err(Error::forms(format!("{op}: got complex entries, expected real ones")));
        }
        Ok(self.entries()?.swap_remove(0))
    }

    /// The same entries, lying in memory in their order.
    ///
    /// # Errors
    /// As [`Tensor::entries`].
    pub fn whole(&self) -> Result<Self> {
        Self::of(self.entries()?, self.shape().clone())
    }

    /// The same entries by themselves, for who evaluates them, if they are some of more lanes that are not evaluated yet:
    /// so no others are computed.
    ///
    /// # Errors
    /// As [`Tensor::entries`].
    pub fn narrowed(&self) -> Result<Option<Self>> {
        let n = self.shape().n_entries();
        let is_known = |part: &Array| part.is_evaluated() || part.literal().is_some();
        let is_wide = |part: &Array| part.size() > n && !is_known(part);
        if self.parts.iter().any(is_wide) { self.whole().map(Some) } else { Ok(None) }
    }

    /// The same view of what a function makes of the parts, each by itself.
    ///
    /// # Errors
    /// What the function returns.
    pub fn each(&self, change: impl Fn(&Array) -> Result<Array>) -> Result<Self> {
        let parts = self.parts.iter().map(change).collect::<Result<_>>()?;
        Ok(Self { parts, view: self.view.clone() })
    }

    /// Complex entries with other real (0) or imaginary parts (1); of real ones there are only real parts.
    ///
    /// # Errors
    /// `Forms` if the other parts have another shape, or are complex; `TypeMismatch` if they do not fit the type.
    pub fn with_part(&self, i: usize, part: &Self) -> Result<Self> {
        if part.is_complex() || i >= self.parts.len() || part.shape() != self.shape() {
            let (got, own) = (part.shape(), self.shape());
            return Err(Error::forms(format!(
                "=: got {} of {got} as parts of {} of {own}",
                part.type_name(),
                self.type_name()
            )));
        }
        let (lhs, rhs) = (self.dtype(), part.dtype());
        if lhs.promote(rhs) != Some(lhs) {
            return Err(Error::TypeMismatch { op: "=", lhs, rhs });
        }
        let mut parts = self.entries()?;
        parts[i] = part.entries()?[0].cast(lhs)?;
        Self::of(parts, self.shape().clone())
    }

    /// The entries as complex ones: real ones without imaginary part.
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn to_complex(&self) -> Result<Self> {
        if self.is_complex() {
            return Ok(self.clone());
        }
        let (op, dtype) = ("complex", self.dtype());
        if dtype == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype, expected: "numbers" });
        }
        let float = dtype.quotient().widened();
        let real = self.parts[0].cast(float)?;
        let zeros = real.session().zeros(float, real.size())?;
        Ok(Self { parts: smallvec![real, zeros], view: self.view.clone() })
    }

    /// Complex entries of which these are the real parts and others the imaginary ones; shapes broadcast.
    ///
    /// # Errors
    /// `Forms` for complex parts, and shapes that do not fit; as [`Tensor::complex`].
    pub fn with_imaginary(&self, imag: &Self, dtype: Option<DType>) -> Result<Self> {
        let op = "complex";
        let shape = self.real(op)?.shape().broadcast(op, imag.real(op)?.shape())?;
        let part = |part: &Self| {
            let entries = part.broadcast(op, &shape)?.entries()?.swap_remove(0);
            dtype.map_or(Ok(entries.clone()), |dtype| entries.cast(dtype))
        };
        Self::complex(&part(self)?, &part(imag)?, shape.extents())
    }

    /// Complex entries with the sign of their imaginary parts changed; real ones as they are.
    ///
    /// # Errors
    /// As [`Array::apply`].
    pub fn conjugate(&self) -> Result<Self> {
        let mut conjugate = self.clone();
        if let [_, imag] = &mut conjugate.parts[..] {
            *imag = imag.try_neg()?;
        }
        Ok(conjugate)
    }

    /// The tensor, if its entries are no complex numbers.
    pub(crate) fn real(&self, op: &str) -> Result<&Self> {
        if !self.is_complex() {
            return Ok(self);
        }
        let what = format!("{op}: not defined for complex entries");
        Err(Error::Forms { what, remedy: Some("take the parts, as z.real and z.imag, or abs(z)") })
    }

    /// One of its parts: 0 the real ones, or 1 the imaginary ones.
    ///
    /// # Errors
    /// `Argument` if it has no such part.
    pub fn part(&self, i: usize) -> Result<Self> {
        let missing = || {
            let what = format!("got {i}, expected less than {}", self.parts.len());
            Error::Argument { op: "part", what }
        };
        let part = self.parts.get(i).ok_or_else(missing)?;
        Ok(Self { parts: smallvec![part.clone()], view: self.view.clone() })
    }

    /// The entries in the same order along other axes; one extent may be -1.
    ///
    /// # Errors
    /// `Argument` if they are not as many.
    pub fn reshape(&self, extents: &[i64]) -> Result<Self> {
        let shape = self.shape().reshaped("reshape", extents)?;
        Self::of(self.entries()?, shape)
    }

    /// As [`Tensor::reshape`]; one entry stands in every entry of the shape.
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    pub fn spread(&self, extents: &[i64]) -> Result<Self> {
        let known = extents.iter().map(|&n| u64::try_from(n).ok()).collect::<Option<Vec<_>>>();
        match known.filter(|_| self.shape().n_entries() == 1) {
            Some(extents) => self.reshape(&[])?.broadcast_to(&extents),
            None => self.reshape(extents),
        }
    }

    /// Itself, but a number as one entry along an axis.
    pub(crate) fn atleast_1d(&self) -> Result<Self> {
        if self.shape().rank() == 0 { self.expand(0) } else { Ok(self.clone()) }
    }

    /// As [`Tensor::reshape`], of extents that fit; where they are the same it stays the view that it is.
    fn shaped(&self, op: &'static str, extents: Vec<u64>) -> Result<Self> {
        if self.shape().extents() == extents {
            return Ok(self.clone());
        }
        Self::of(self.entries()?, Shape::new(op, extents)?)
    }

    /// The axes in another order.
    ///
    /// # Errors
    /// `Argument` unless each axis is named once.
    pub fn permute(&self, axes: &[i64]) -> Result<Self> {
        Ok(self.viewed(self.view.permuted("permute", axes)?))
    }

    /// The axes in opposite order.
    ///
    /// # Errors
    /// None at present.
    pub fn transpose(&self) -> Result<Self> {
        let axes: Vec<i64> = (0..exactly::<i64>(self.shape().rank())).rev().collect();
        self.permute(&axes)
    }

    /// The last two axes changed for each other.
    ///
    /// # Errors
    /// `Argument` if there are fewer.
    pub fn matrix_transpose(&self) -> Result<Self> {
        let rank = exactly::<i64>(self.shape().rank());
        if rank < 2 {
            let what = format!("got {}, expected two axes or more", self.shape());
            return Err(Error::Argument { op: "transpose", what });
        }
        let axes: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        self.permute(&axes)
    }

    /// The entries of a slice along an axis.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn slice(&self, axis: i64, slice: impl Into<Slice>) -> Result<Self> {
        let axis = self.shape().axis("slice", axis)?;
        Ok(self.viewed(View::clone(&self.view).sliced(axis, slice.into())))
    }

    /// The entries in opposite order along axes, or along all.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn flip(&self, axes: Option<&[i64]>) -> Result<Self> {
        let axes = self.shape().axes("flip", axes)?;
        let turned = Slice::from(..).step_by(-1);
        let flip = |view: View, &axis: &usize| view.sliced(axis, turned);
        Ok(self.viewed(axes.iter().fold(View::clone(&self.view), flip)))
    }

    /// Without an axis of one entry.
    ///
    /// # Errors
    /// `Argument` if it has another number of entries, or there is no such axis.
    pub fn squeeze(&self, axis: i64) -> Result<Self> {
        let axis = self.shape().axis("squeeze", axis)?;
        self.squeezed(axis)
    }

    /// With an axis of one entry in front of another; -1 is behind all.
    ///
    /// # Errors
    /// `Argument` if there is no such place, or no room for an axis.
    pub fn expand(&self, axis: i64) -> Result<Self> {
        let op = "expand";
        let place = self.place_between(op, axis)?;
        Ok(self.viewed(View::clone(&self.view).expanded(op, place)?))
    }

    /// With an axis of one entry in each of these places among all axes that there are then; -1 is the last of them.
    ///
    /// # Errors
    /// `Argument` if there is no such place, one is named twice, or there is no room for so many axes.
    pub fn expand_at(&self, places: &[i64]) -> Result<Self> {
        let (op, rank) = ("expand", self.shape().rank() + places.len());
        let found = places.iter().map(|&axis| place(axis, rank as u64).map(exactly::<usize>));
        let mut axes = found.collect::<Result<Vec<_>>>().unwrap_or_default();
        axes.sort_unstable();
        axes.dedup();
        if axes.len() != places.len() {
            let what = format!("got the places {places:?} of axes, expected each once, -{rank} to");
            return Err(Error::Argument { op, what: format!("{what} {}", rank - 1) });
        }
        let expanded = |view: View, axis: usize| view.expanded(op, axis);
        Ok(self.viewed(axes.into_iter().try_fold(View::clone(&self.view), expanded)?))
    }

    /// The place of a new axis; negative ones count from behind all.
    ///
    /// # Errors
    /// `Argument` if there is no such place.
    fn place_between(&self, op: &'static str, axis: i64) -> Result<usize> {
        let rank = self.shape().rank();
        place(axis, rank as u64 + 1).map(exactly).map_err(|_| {
            let what = format!("got {axis} as the place of an axis in {}", self.shape());
            Error::Argument { op, what: format!("{what}, expected -{} to {rank}", rank + 1) }
        })
    }

    /// Stretched to a shape: axes of one entry as often as needed, missing ones in front.
    ///
    /// # Errors
    /// `Forms`, naming both shapes.
    pub fn broadcast_to(&self, extents: &[u64]) -> Result<Self> {
        let op = "broadcast_to";
        self.broadcast(op, &Shape::new(op, extents)?)
    }

    pub(crate) fn broadcast(&self, op: &str, shape: &Shape) -> Result<Self> {
        Ok(self.viewed(self.view.broadcast(op, shape)?))
    }

    /// The entries from one number up to another along an axis.
    fn range(&self, axis: usize, start: u64, end: u64) -> Self {
        self.viewed(View::clone(&self.view).part(axis, start, end))
    }

    /// As [`Tensor::squeeze`].
    fn squeezed(&self, axis: usize) -> Result<Self> {
        Ok(self.viewed(View::clone(&self.view).squeezed("squeeze", axis)?))
    }

    fn viewed(&self, view: View) -> Self {
        Self { parts: self.parts.clone(), view: Arc::new(view) }
    }
}

impl Tensor {
    /// The numbers of the entries of a shape along one of its axes, from 0 up; one entry along the others. Recorded, not
    /// run.
    ///
    /// ```
    /// # use porcini_core::{DType, Session, tensor::Tensor};
    /// # fn main() -> porcini_core::Result<()> {
    /// let rows = Tensor::numbers_along(&Session::new()?, DType::I32, &[3, 2], 0)?;
    /// assert_eq!(rows.shape().extents(), [3, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Argument` if there is no such axis, or the numbers do not fit the type.
    pub fn numbers_along(
        session: &Session,
        dtype: DType,
        extents: &[u64],
        axis: usize,
    ) -> Result<Self> {
        let Some(&n) = extents.get(axis) else {
            let what = format!("got axis {axis} of {} axes", extents.len());
            return Err(Error::Argument { op: "numbers_along", what });
        };
        let mut shape = vec![1; extents.len()];
        shape[axis] = n;
        Self::counting(session, dtype, n)?.shaped("numbers_along", shape)
    }

    /// The numbers from 0 up along one axis. Recorded, not run.
    fn counting(session: &Session, dtype: DType, n: u64) -> Result<Self> {
        let numbers = session.arange(dtype, 0.into(), Scalar::UInt(n), 1.into())?;
        Self::of([numbers], Shape::line(n))
    }
}

impl From<&Array> for Tensor {
    /// An array of n lanes is a tensor of one axis, of 1 lane a number.
    fn from(array: &Array) -> Self {
        let n = array.size();
        let shape = if n == 1 { Shape::number() } else { Shape::line(n) };
        Self { parts: smallvec![array.clone()], view: Arc::new(View::whole(shape)) }
    }
}

/// The types that scripts know: name, type of the entries or of their parts, and whether they are complex.
pub fn types() -> impl Iterator<Item = (String, DType, bool)> {
    let real = DType::ALL.into_iter().rev().map(|dtype| (dtype.letters(), dtype, false));
    let complex = [("c", DType::F32, true), ("z", DType::F64, true)];
    let name = |letters: &str| format!("TensorX{letters}C");
    real.chain(complex).map(move |(letters, dtype, is_complex)| (name(letters), dtype, is_complex))
}

/// What scripts call a tensor of any type.
pub const ANY_TYPE: &str = "TensorC";

/// Every name of a type of tensors.
pub fn type_names() -> impl Iterator<Item = String> {
    types().map(|(name, ..)| name).chain([ANY_TYPE.into()])
}
