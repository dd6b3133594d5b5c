//! The contents of arrays for Rust code on the host: a slice of the block itself, or an `ndarray`.
#![expect(unsafe_code, reason = "a block of memory is lent as a slice")]

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use ndarray::{Array1, ArrayView, ArrayView1, Dimension};

use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::ir::var::{Kind, Variable};
use crate::memory::buffer::Buffer;
use crate::session::Session;

/// The lanes of an evaluated array, without a copy. They stay as they are while the view lives, whatever
/// becomes of the array: values never change, and nobody writes into a block that has a second owner.
///
/// The payloads of NaNs are those that were computed; every other reading method gives the quiet NaN.
#[derive(Debug)]
pub struct View<T> {
    buffer: Arc<Buffer>,
    n: usize,
    lanes: PhantomData<T>,
}

impl<T: Element> View<T> {
    /// The lanes as a one-dimensional `ndarray`.
    pub fn as_ndarray(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(&**self)
    }
}

impl<T: Element> Deref for View<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let first = std::ptr::with_exposed_provenance(
            usize::try_from(self.buffer.address()).unwrap_or_default(),
        );
        // SAFETY: `Array::view` checked that the block is in host memory and holds `n` lanes of `T`, which is
        // one of the types that `Element` is sealed over; blocks are aligned to 64 bytes. The second owner of
        // the buffer keeps it alive and keeps everybody from writing.
        unsafe { std::slice::from_raw_parts(first, self.n) }
    }
}

/// So the contents can be [wrapped](Session::wrap) by another session without a copy.
impl<T: Element> AsRef<[T]> for View<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> Clone for View<T> {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), n: self.n, lanes: PhantomData }
    }
}

impl Array {
    /// The contents without a copy; evaluates, and puts a number into memory.
    ///
    /// # Errors
    /// `UnsupportedType` if `T` is not the lane type; `Argument` if the device's memory is not the host's;
    /// what evaluation fails with; a pending bounds error, see
    /// [`Session::take_error`].
    pub fn view<T: Element>(&self) -> Result<View<T>> {
        if self.dtype() != T::DTYPE {
            let expected = T::DTYPE.script_name();
            return Err(Error::UnsupportedType { op: "view", dtype: self.dtype(), expected });
        }
        let buffer = self.host_buffer("view")?;
        // What is in memory fits a pointer.
        let n = usize::try_from(self.size()).unwrap_or_default();
        Ok(View { n, buffer, lanes: PhantomData })
    }

    /// A copy of the contents as an `ndarray`; evaluates.
    ///
    /// # Errors
    /// As [`Array::to_vec`].
    pub fn to_ndarray<T: Element>(&self) -> Result<Array1<T>> {
        self.to_vec().map(Array1::from_vec)
    }

    /// The block that holds the contents; evaluates, and puts a number into memory.
    pub(crate) fn buffer(&self) -> Result<Arc<Buffer>> {
        self.session().evaluate_for("the address of an array", self.id())?;
        self.materialize()?;
        self.session().finish(&[self])?;
        let buffer = self.session().with_table(|table| table.get(self.id()).data.clone());
        Ok(buffer.expect("internal error: an evaluated array is in memory"))
    }

    /// The block that holds the contents, in the host's memory.
    pub(crate) fn host_buffer(&self, op: &'static str) -> Result<Arc<Buffer>> {
        if !self.session().device()?.backend.memory().is_host() {
            let device = self.session().device_name();
            let what = format!("the contents are in the memory of {device}; copy them: to_vec");
            return Err(Error::Argument { op, what });
        }
        self.buffer()
    }
}

impl Session {
    /// An array with the elements of an `ndarray` in row-major order, whatever its strides.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn from_ndarray<T: Element, D: Dimension>(
        &self,
        elements: &ArrayView<'_, T, D>,
    ) -> Result<Array> {
        match elements.as_slice() {
            Some(elements) => self.array(elements),
            None => self.array(&elements.iter().copied().collect::<Vec<_>>()),
        }
    }

    /// An array whose lanes are in `buffer`.
    pub(crate) fn adopt(&self, dtype: DType, size: u64, buffer: Buffer) -> Array {
        let handle = self.with_table(|table| {
            let mut variable = Variable::new(Kind::Data, dtype, size, [None; 4]);
            variable.data = Some(Arc::new(buffer));
            let id = table.insert(variable);
            table.handle(id)
        });
        Array::adopt(self.clone(), handle)
    }
}
