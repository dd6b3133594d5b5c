//! Memory of others as arrays, and what of arrays others see.
//!
//! What is taken is read where it lies. Its owner is let go by the interpreter's main thread, later: the last array that
//! needs it may end in a thread that has not Python's lock, or hold locks that others wait for who have it.
#![expect(unsafe_code, reason = "memory of others is known by pointers")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use porcini_core::tensor::Tensor;
use porcini_core::value::{Argument, Form, Slice};
use porcini_core::{Array, DType, Session, Value};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::given::Given;
use crate::interrupt::{blocking, blocking_once};

// ---- taken from others ----

/// What becomes of memory of others.
#[derive(Clone, Copy)]
pub(crate) enum Taking {
    /// It is read where it lies: what a user makes an array of.
    Shared,
    /// As it is now: copied if somebody may write there before the lanes are read. What operations take.
    Now,
    /// It is copied.
    Copied,
}

impl Taking {
    /// Whether memory is copied.
    pub(crate) fn copies(self, is_unwritable: bool) -> bool {
        match self {
            Self::Shared => false,
            Self::Now => !is_unwritable,
            Self::Copied => true,
        }
    }
}

/// Whether an object is an array of JAX, which nobody writes.
pub(crate) fn is_jax(object: &Bound<'_, PyAny>) -> bool {
    let module = object.get_type().module();
    module.is_ok_and(|module| module.to_string_lossy().starts_with("jax"))
}

/// What keeps memory of others alive.
pub(crate) enum Owner {
    Buffer(#[expect(dead_code, reason = "dropped")] PyUntypedBuffer),
    Other(#[expect(dead_code, reason = "dropped")] Box<dyn Send + Sync>),
}

/// Owners that nobody needs any more.
static LET_GO: Mutex<Vec<Owner>> = Mutex::new(Vec::new());

/// Drops the owners that nobody needs any more.
pub(crate) fn let_go() {
    let owners = std::mem::take(&mut *LET_GO.lock().unwrap_or_else(PoisonError::into_inner));
    drop(owners);
}

extern "C" fn let_go_later(_: *mut c_void) -> c_int {
    let_go();
    0
}

/// An owner, until the array over its memory is gone.
struct Kept(Option<Owner>);

// SAFETY: the owner is dropped by Python's main thread, and nobody else looks at it.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        LET_GO.lock().unwrap_or_else(PoisonError::into_inner).extend(self.0.take());
        // SAFETY: may be called from any thread. If the queue is full, a later one does the work.
        unsafe { ffi::Py_AddPendingCall(Some(let_go_later), ptr::null_mut()) };
    }
}

/// Bytes that an owner keeps where they are.
struct Bytes<O> {
    first: *const u8,
    n: usize,
    _owner: O,
}

// SAFETY: the bytes are only read.
unsafe impl<O: Send> Send for Bytes<O> {}
// SAFETY: as above.
unsafe impl<O: Sync> Sync for Bytes<O> {}

impl<O> AsRef<[u8]> for Bytes<O> {
    fn as_ref(&self) -> &[u8] {
        if self.n == 0 {
            return &[];
        }
        // SAFETY: the owner said that so many bytes are there, and keeps them.
        unsafe { std::slice::from_raw_parts(self.first, self.n) }
    }
}

/// An array over `n` elements of others in the host's memory.
pub(crate) fn on_host(
    session: &Session,
    dtype: DType,
    first: *const c_void,
    n: usize,
    owner: Owner,
) -> PyResult<Array> {
    let _owner = Kept(Some(owner));
    let bytes = Bytes { first: first.cast(), n: n.saturating_mul(dtype.bytes()), _owner };
    session.wrap_bytes(dtype, bytes).or_raise()
}

/// An array of what `n` elements of others in the host's memory are now.
pub(crate) fn copied_on_host(
    session: &Session,
    dtype: DType,
    first: *const c_void,
    n: usize,
    owner: &Owner,
) -> PyResult<Array> {
    let bytes = Bytes { first: first.cast(), n: n.saturating_mul(dtype.bytes()), _owner: owner };
    session.from_bytes(dtype, bytes.as_ref()).or_raise()
}

/// An array over elements of others in the memory of the GPU that a session works on.
pub(crate) fn on_gpu(
    py: Python<'_>,
    session: &Session,
    dtype: DType,
    first: *const c_void,
    n: usize,
    owner: Owner,
) -> PyResult<Array> {
    let address = first.expose_provenance() as u64;
    let owner = Kept(Some(owner));
    // SAFETY: the owner said that so many elements are there, and keeps them.
    blocking_once(py, || unsafe { session.wrap_on_gpu(dtype, address, n as u64, owner) })
}

/// An array of what `n` elements of others in the memory of the GPU that a session works on are now.
pub(crate) fn copied_on_gpu(
    py: Python<'_>,
    session: &Session,
    dtype: DType,
    first: *const c_void,
    n: usize,
    _owner: &Owner,
) -> PyResult<Array> {
    let address = first.expose_provenance() as u64;
    // SAFETY: the owner said that so many elements are there, and keeps them.
    blocking(py, || unsafe { session.copy_on_gpu(dtype, address, n as u64) })
}

/// A complex tensor, of real and imaginary parts by turns.
pub(crate) fn of_pairs(pairs: &Array, extents: &[u64]) -> PyResult<Given> {
    let size = i64::try_from(pairs.size())?;
    let part = |start| pairs.slice(Slice::new(start, size, 2)).or_raise();
    let tensor = Tensor::complex(&part(0)?, &part(1)?, extents).or_raise()?;
    Ok(Given::Value(Value::Tensor(tensor)))
}

/// An array as a value of a shape.
pub(crate) fn shaped(array: Array, extents: &[u64]) -> PyResult<Given> {
    if let [_] = extents {
        return Ok(Given::Value(array.into()));
    }
    Tensor::new(&array, extents).map(|tensor| Given::Value(Value::Tensor(tensor))).or_raise()
}

// ---- lent to others ----

/// The entries of a value and their shape: of a value with components, these are the last axis. Complex entries are
/// floats of 32 or 64 bits, since others know no complex numbers of integers or halves.
pub(crate) fn entries(value: &Value) -> porcini_core::Result<(Vec<Array>, Vec<u64>)> {
    let (mut parts, extents) = parts_of(value)?;
    if let [real, imag] = &mut parts[..] {
        let dtype = complex_part(real.dtype());
        for part in [real, imag] {
            *part = part.cast(dtype)?;
        }
    }
    Ok((parts, extents))
}

/// The type that the parts of complex entries have elsewhere, as NumPy promotes to complex numbers.
pub(crate) fn complex_part(dtype: DType) -> DType {
    match dtype {
        DType::F32 | DType::F16 | DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::Mask => {
            DType::F32
        }
        DType::I32 | DType::U32 | DType::I64 | DType::U64 | DType::F64 => DType::F64,
    }
}

fn parts_of(value: &Value) -> porcini_core::Result<(Vec<Array>, Vec<u64>)> {
    Ok(match value {
        Value::Array(array) => (vec![array.clone()], vec![array.size()]),
        Value::Tensor(tensor) => (tensor.entries()?.to_vec(), tensor.shape().extents().to_vec()),
        Value::Nested(form, _) => {
            let argument = Argument::from(value);
            let tensor = match form {
                Form::Complex => {
                    let lanes = value.lanes().unwrap_or_default();
                    let leaves = value.leaves().into_iter().map(|leaf| leaf.resize(lanes));
                    return Ok((leaves.collect::<porcini_core::Result<_>>()?, vec![lanes]));
                }
                Form::Quaternion => {
                    let parts = argument.components().to_vec();
                    Argument::Nested(Form::Vector(parts.len()), parts).stacked()?
                }
                _ => argument.stacked()?,
            };
            (tensor.entries()?.to_vec(), tensor.shape().extents().to_vec())
        }
    })
}

/// The type of entries as the array interface calls it.
pub(crate) fn interface_type(dtype: DType, is_complex: bool) -> String {
    let (order, kind) = match dtype {
        DType::Mask => ('|', 'b'),
        DType::I8 => ('|', 'i'),
        DType::U8 => ('|', 'u'),
        _ if is_complex => ('<', 'c'),
        _ if dtype.is_float() => ('<', 'f'),
        _ if dtype.is_signed() => ('<', 'i'),
        _ => ('<', 'u'),
    };
    format!("{order}{kind}{}", dtype.bytes() * if is_complex { 2 } else { 1 })
}
