//! Memory of others as arrays, and arrays as memory for others: Python's buffers, DLPack, pickles.
//!
//! What is taken is read where it lies. Its owner is let go by the interpreter's main thread, later: the last array that
//! needs it may end in a thread that has not Python's lock, or hold locks that others wait for who have it.
#![expect(unsafe_code, reason = "buffers and DLPack hand over pointers")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use dlpark::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLManagedTensor, DLManagedTensorVersioned,
};
use dlpark::{Managed, ManagedTensorBase};
use porcini_core::tensor::Tensor;
use porcini_core::value::{Argument, Form, Slice};
use porcini_core::{Array, DType, DeviceChoice, Element, Error, F16, Session, Value};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyMemoryView};

use crate::convert::{Given, number};
use crate::errors::OrRaise;
use crate::interrupt::blocking;
use crate::object::PyValue;

type Object<'py> = Bound<'py, PyAny>;

/// Does something with the type of Rust that lanes of a type have.
macro_rules! with_type {
    ($dtype:expr, $t:ident => $work:expr) => {
        match $dtype {
            DType::Mask => {
                type $t = bool;
                $work
            }
            DType::I8 => {
                type $t = i8;
                $work
            }
            DType::U8 => {
                type $t = u8;
                $work
            }
            DType::I16 => {
                type $t = i16;
                $work
            }
            DType::U16 => {
                type $t = u16;
                $work
            }
            DType::I32 => {
                type $t = i32;
                $work
            }
            DType::U32 => {
                type $t = u32;
                $work
            }
            DType::I64 => {
                type $t = i64;
                $work
            }
            DType::U64 => {
                type $t = u64;
                $work
            }
            DType::F16 => {
                type $t = F16;
                $work
            }
            DType::F32 => {
                type $t = f32;
                $work
            }
            DType::F64 => {
                type $t = f64;
                $work
            }
        }
    };
}

// ---- taken from others ----

/// What keeps memory of others alive.
enum Owner {
    Buffer(#[expect(dead_code, reason = "dropped")] PyUntypedBuffer),
    Dlpack(#[expect(dead_code, reason = "dropped")] Box<dyn Send + Sync>),
}

/// Owners that nobody needs any more.
static LET_GO: Mutex<Vec<Owner>> = Mutex::new(Vec::new());

/// Drops the owners that nobody needs any more.
fn let_go() {
    let owners = std::mem::take(&mut *LET_GO.lock().unwrap_or_else(PoisonError::into_inner));
    drop(owners);
}

extern "C" fn let_go_later(_: *mut c_void) -> c_int {
    let_go();
    0
}

/// Elements that an owner keeps where they are.
struct Lent<T> {
    first: *const T,
    n: usize,
    owner: Option<Owner>,
}

// SAFETY: the elements are only read, and the owner is dropped by Python's main thread.
unsafe impl<T> Send for Lent<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Lent<T> {}

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        if self.n == 0 {
            return &[];
        }
        // SAFETY: the owner said that so many elements are there, and keeps them.
        unsafe { std::slice::from_raw_parts(self.first, self.n) }
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        LET_GO.lock().unwrap_or_else(PoisonError::into_inner).extend(self.owner.take());
        // SAFETY: may be called from any thread. If the queue is full, a later one does the work.
        unsafe { ffi::Py_AddPendingCall(Some(let_go_later), ptr::null_mut()) };
    }
}

/// An array over elements of others.
fn wrapped(
    session: &Session,
    dtype: DType,
    first: *const c_void,
    n: usize,
    owner: Owner,
) -> PyResult<Array> {
    if dtype == DType::Mask {
        // Bytes of others may hold more than 0 and 1.
        let bytes = Lent { first: first.cast::<u8>(), n, owner: Some(owner) };
        let truths: Vec<u8> = bytes.as_ref().iter().map(|&byte| u8::from(byte != 0)).collect();
        return session.from_bytes(dtype, &truths).or_raise();
    }
    with_type!(dtype, T => session.wrap::<T>(Lent { first: first.cast::<T>(), n, owner: Some(owner) })).or_raise()
}

/// What an object with a buffer, DLPack or NumPy's methods is; None of other objects.
pub(crate) fn taken(session: &Session, object: &Object<'_>) -> PyResult<Option<Given>> {
    let_go();
    // Arrays on a GPU may say that they have a buffer.
    if object.hasattr("__cuda_array_interface__")? && object.hasattr("__dlpack__")? {
        return of_dlpack(session, object).map(Some);
    }
    // SAFETY: it only asks.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0 {
        return of_buffer(session, object).map(Some);
    }
    if object.hasattr("__dlpack__")? {
        return of_dlpack(session, object).map(Some);
    }
    if object.hasattr("__array__")? {
        let array = object.py().import("numpy")?.call_method1("asarray", (object,))?;
        return of_buffer(session, &array).map(Some);
    }
    Ok(None)
}

/// The type of elements by the letter of Python's module struct; whether they are complex.
fn element(format: &CStr, bytes: usize) -> Option<(DType, bool)> {
    let text = format.to_str().ok()?;
    let text = text.strip_prefix(['@', '=', '<']).unwrap_or(text);
    let of = |kinds: &[DType]| kinds.iter().copied().find(|dtype| dtype.bytes() == bytes);
    let real = match text {
        "?" => of(&[DType::Mask]),
        "b" | "h" | "i" | "l" | "q" | "n" => of(&[DType::I8, DType::I16, DType::I32, DType::I64]),
        "B" | "c" | "H" | "I" | "L" | "Q" | "N" => {
            of(&[DType::U8, DType::U16, DType::U32, DType::U64])
        }
        "e" | "f" | "d" => of(&[DType::F16, DType::F32, DType::F64]),
        "Zf" => return Some((DType::F32, true)),
        "Zd" => return Some((DType::F64, true)),
        _ => None,
    };
    real.map(|dtype| (dtype, false))
}

fn of_buffer(session: &Session, object: &Object<'_>) -> PyResult<Given> {
    let buffer = match PyUntypedBuffer::get(object) {
        // One without axes has no shape.
        Err(error) if error.is_instance_of::<PyBufferError>(object.py()) => {
            return of_number(object);
        }
        buffer => buffer?,
    };
    if buffer.dimensions() == 0 {
        return of_number(object);
    }
    let format = buffer.format().to_owned();
    let Some((dtype, is_complex)) = element(&format, buffer.item_size()) else {
        return Err(PyTypeError::new_err(format!(
            "got elements of the type {:?}, expected numbers in this machine's order of bytes; with NumPy x.astype(\"f4\") converts",
            format.to_string_lossy()
        )));
    };
    let extents: Vec<u64> = buffer.shape().iter().map(|&n| n as u64).collect();
    let array = if buffer.is_c_contiguous() {
        let parts = if is_complex { 2 } else { 1 };
        let (first, n) = (buffer.buf_ptr().cast_const(), buffer.item_count() * parts);
        wrapped(session, dtype, first, n, Owner::Buffer(buffer))?
    } else {
        // Elements with gaps between them, in row-major order.
        let bytes = PyMemoryView::from(object)?.call_method0("tobytes")?;
        session.from_bytes(dtype, bytes.cast::<PyBytes>()?.as_bytes()).or_raise()?
    };
    if is_complex { of_pairs(&array, &extents) } else { shaped(array, &extents) }
}

/// A complex tensor, of real and imaginary parts by turns.
fn of_pairs(pairs: &Array, extents: &[u64]) -> PyResult<Given> {
    let size = i64::try_from(pairs.size())?;
    let part = |start| pairs.slice(Slice::new(start, size, 2)).or_raise();
    let tensor = Tensor::complex(&part(0)?, &part(1)?, extents).or_raise()?;
    Ok(Given::Value(Value::Tensor(tensor)))
}

fn of_number(object: &Object<'_>) -> PyResult<Given> {
    let item = object.call_method0("item")?;
    if let Ok(z) = item.cast::<PyComplex>() {
        return Ok(Given::Complex(z.real(), z.imag()));
    }
    let none = || PyTypeError::new_err("expected a number");
    number(&item)?.map(Given::Number).ok_or_else(none)
}

fn shaped(array: Array, extents: &[u64]) -> PyResult<Given> {
    if let [_] = extents {
        return Ok(Given::Value(array.into()));
    }
    Tensor::new(&array, extents).map(|tensor| Given::Value(Value::Tensor(tensor))).or_raise()
}

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";

fn of_dlpack(session: &Session, object: &Object<'_>) -> PyResult<Given> {
    let py = object.py();
    // What lies in a GPU's memory is copied to the host: PyTorch calls that cpu, CuPy get.
    let device = object.call_method0("__dlpack_device__")?.get_item(0)?.call_method0("__int__")?;
    if device.extract::<i32>()? != ON_HOST.0 {
        for copy in ["cpu", "get"] {
            if object.hasattr(copy)? {
                let copied = object.call_method0(copy)?;
                return taken(session, &copied)?.ok_or_else(|| {
                    PyTypeError::new_err("got an object whose copy on the host is no array")
                });
            }
        }
        return of_buffer(session, &py.import("numpy")?.call_method1("asarray", (object,))?);
    }
    let named = PyDict::new(py);
    named.set_item("max_version", (1, 0))?;
    // Libraries that are older than the argument.
    let capsule = match object.call_method("__dlpack__", (), Some(&named)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method0("__dlpack__")?
        }
        capsule => capsule?,
    };
    let raw = capsule.as_ptr();
    // SAFETY: an object of Python's.
    if let Some(tensor) = unsafe { held_by(raw, VERSIONED) } {
        // SAFETY: as above; the new name lives as long as the program.
        unsafe { ffi::PyCapsule_SetName(raw, c"used_dltensor_versioned".as_ptr()) };
        // SAFETY: a capsule of that name holds such a tensor, which is ours now.
        let tensor = unsafe { Managed::<DLManagedTensorVersioned>::from_raw(tensor.cast()) };
        return of_managed(session, tensor);
    }
    // SAFETY: an object of Python's.
    let Some(tensor) = (unsafe { held_by(raw, LEGACY) }) else {
        return Err(PyTypeError::new_err("__dlpack__ gave no capsule of DLPack"));
    };
    // SAFETY: as above; the new name lives as long as the program.
    unsafe { ffi::PyCapsule_SetName(raw, c"used_dltensor".as_ptr()) };
    // SAFETY: a capsule of that name holds such a tensor, which is ours now.
    of_managed(session, unsafe { Managed::<DLManagedTensor>::from_raw(tensor.cast()) })
}

/// What an object holds, if it is a capsule of this name.
///
/// # Safety
/// It is an object of Python's.
unsafe fn held_by(capsule: *mut ffi::PyObject, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: any object may be asked.
    if unsafe { ffi::PyCapsule_IsValid(capsule, name.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: a capsule of this name.
    Some(unsafe { ffi::PyCapsule_GetPointer(capsule, name.as_ptr()) })
}

fn of_managed<M: ManagedTensorBase + 'static>(
    session: &Session,
    tensor: Result<Managed<M>, impl std::fmt::Display>,
) -> PyResult<Given> {
    let failed = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("DLPack: {error}"));
    let tensor = tensor.map_err(|error| failed(&error))?;
    let described = tensor.validate().map_err(|error| failed(&error))?;
    if described.device() != DLDevice::CPU {
        return Err(PyValueError::new_err(format!(
            "DLPack: the data are on {:?}; copy them to the host",
            described.device()
        )));
    }
    if !described.is_compact().map_err(|error| failed(&error))? {
        return Err(PyValueError::new_err("DLPack: the data have gaps; make them contiguous"));
    }
    let complex = [DType::F32, DType::F64].into_iter().find(|&part| {
        let bits = if part == DType::F64 { 128 } else { 64 };
        described.dtype() == DLDataType::scalar(DLDataTypeCode::COMPLEX, bits)
    });
    let dtype = complex.or_else(|| DType::of_dlpack(described.dtype()));
    let dtype = dtype.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "DLPack: elements of {:?} are none that we know",
            described.dtype()
        ))
    })?;
    let extents: Vec<u64> = described.shape().iter().map(|&n| n.unsigned_abs()).collect();
    // SAFETY: the producer vouches for the memory.
    let contents = unsafe { described.cpu_bytes() }.map_err(|error| failed(&error))?;
    let (first, n) = (contents.as_ptr().cast(), contents.len() / dtype.bytes());
    let array = wrapped(session, dtype, first, n, Owner::Dlpack(Box::new(tensor)))?;
    if complex.is_some() {
        return of_pairs(&array, &extents);
    }
    if extents.is_empty() {
        return array.item(0).map(Given::Number).or_raise();
    }
    shaped(array, &extents)
}

// ---- lent to others ----

/// Entries in row-major order for others: as long as it lives nobody writes there.
struct Export {
    first: *const c_void,
    bytes: usize,
    width: usize,
    shape: Vec<isize>,
    strides: Vec<isize>,
    format: CString,
    /// What keeps them.
    _contents: Box<dyn Send + Sync>,
}

// SAFETY: the entries are only read.
unsafe impl Send for Export {}

fn format_of(dtype: DType, is_complex: bool) -> &'static CStr {
    match (dtype, is_complex) {
        (DType::F64, true) => c"Zd",
        (_, true) => c"Zf",
        (DType::Mask, _) => c"?",
        (DType::I8, _) => c"b",
        (DType::U8, _) => c"B",
        (DType::I16, _) => c"h",
        (DType::U16, _) => c"H",
        (DType::I32, _) => c"i",
        (DType::U32, _) => c"I",
        (DType::I64, _) => c"q",
        (DType::U64, _) => c"Q",
        (DType::F16, _) => c"e",
        (DType::F32, _) => c"f",
        (DType::F64, _) => c"d",
    }
}

/// The entries of a value and their shape: of a value with components, these are the last axis.
pub(crate) fn entries(value: &Value) -> porcini_core::Result<(Vec<Array>, Vec<u64>)> {
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

fn export(value: &Value) -> porcini_core::Result<Export> {
    let (parts, shape) = entries(value)?;
    let dtype = parts[0].dtype();
    let is_complex = parts.len() > 1;
    let width = dtype.bytes() * parts.len();
    let (first, contents) = match &parts[..] {
        [real, imag] => interleaved(real, imag)?,
        parts => contiguous(&parts[0])?,
    };
    let shape: Vec<isize> =
        shape.iter().map(|&n| isize::try_from(n).unwrap_or(isize::MAX)).collect();
    let mut strides = vec![width.cast_signed(); shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    let n: isize = shape.iter().product();
    let bytes = n.unsigned_abs() * width;
    Ok(Export {
        first,
        bytes,
        width,
        shape,
        strides,
        format: format_of(dtype, is_complex).into(),
        _contents: contents,
    })
}

type Contents = (*const c_void, Box<dyn Send + Sync>);

fn contiguous(array: &Array) -> porcini_core::Result<Contents> {
    fn view<T: Element>(array: &Array) -> porcini_core::Result<Contents> {
        let view = array.view::<T>()?;
        Ok((view.as_ptr().cast(), Box::new(view)))
    }
    match with_type!(array.dtype(), T => view::<T>(array)) {
        // What lies in a GPU's memory is copied.
        Err(Error::Argument { .. }) => {
            let bytes = array.read_bytes(0..array.size())?;
            Ok((bytes.as_ptr().cast(), Box::new(bytes)))
        }
        lent => lent,
    }
}

fn interleaved(real: &Array, imag: &Array) -> porcini_core::Result<Contents> {
    let [re, im] = [real, imag].map(|part| part.read_bytes(0..part.size()));
    let (re, im, width) = (re?, im?, real.dtype().bytes());
    let pairs = re.chunks_exact(width).zip(im.chunks_exact(width));
    let bytes: Vec<u8> = pairs.flat_map(|(re, im)| re.iter().chain(im)).copied().collect();
    Ok((bytes.as_ptr().cast(), Box::new(bytes)))
}

thread_local! {
    /// Why the last buffer of a thread could not be lent, with the address of whose it is.
    static UNREAD: RefCell<Option<(usize, PyErr)>> = const { RefCell::new(None) };
}

/// Why the buffer of a value could not be lent just now. NumPy drops what buffers raise and asks another way, and an array
/// tells once that a lane is out of bounds.
pub(crate) fn take_failure(value: &Bound<'_, PyValue>) -> Option<PyErr> {
    let of = value.as_ptr().addr();
    UNREAD.take().filter(|(address, _)| *address == of).map(|(_, error)| error)
}

/// Fills a buffer with the entries of a value; evaluates.
///
/// # Safety
/// `view` is a buffer to fill.
pub(crate) unsafe fn lend(
    value: &Bound<'_, PyValue>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    // SAFETY: the caller vouches for it.
    let Some(view) = (unsafe { view.as_mut() }) else {
        return Err(PyBufferError::new_err("no buffer to fill"));
    };
    // A failure leaves no object in it.
    view.obj = ptr::null_mut();
    if flags & ffi::PyBUF_WRITABLE != 0 {
        return Err(PyBufferError::new_err(
            "arrays of porcini cannot be written from outside; copy: np.array(x)",
        ));
    }
    let held = value.get().value().clone();
    let exported = blocking(value.py(), || export(&held).map(Sent));
    UNREAD.with_borrow_mut(|unread| {
        let failure = exported.as_ref().err().map(|error| error.clone_ref(value.py()));
        *unread = failure.map(|error| (value.as_ptr().addr(), error));
    });
    let export = Box::new(exported?.0);
    let wants = |what: c_int| flags & what == what;
    // What the fields point to is in the export, which lives until the buffer is given back.
    view.buf = export.first.cast_mut();
    view.len = export.bytes.cast_signed();
    view.itemsize = export.width.cast_signed();
    view.readonly = 1;
    view.ndim = c_int::try_from(export.shape.len()).unwrap_or_default();
    view.format =
        if wants(ffi::PyBUF_FORMAT) { export.format.as_ptr().cast_mut() } else { ptr::null_mut() };
    view.shape =
        if wants(ffi::PyBUF_ND) { export.shape.as_ptr().cast_mut() } else { ptr::null_mut() };
    view.strides = if wants(ffi::PyBUF_STRIDES) {
        export.strides.as_ptr().cast_mut()
    } else {
        ptr::null_mut()
    };
    view.suboffsets = ptr::null_mut();
    view.internal = Box::into_raw(export).cast();
    view.obj = value.clone().into_any().into_ptr();
    Ok(())
}

/// A pointer on its way between threads of one call.
struct Sent(Export);

/// Takes a buffer back.
///
/// # Safety
/// [`lend`] filled it.
pub(crate) unsafe fn give_back(view: *mut ffi::Py_buffer) {
    // SAFETY: the caller vouches for it.
    if let Some(view) = unsafe { view.as_mut() } {
        // SAFETY: made by `Box::into_raw` there.
        drop(unsafe { Box::from_raw(view.internal.cast::<Export>()) });
    }
}

/// Where DLPack tensors are that we make.
pub(crate) const ON_HOST: (i32, i32) = (1, 0);

extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // Whoever took the tensor gave the capsule another name.
    // SAFETY: Python hands over what it drops.
    if let Some(tensor) = unsafe { held_by(capsule, VERSIONED) } {
        // SAFETY: such a tensor is in a capsule of this name.
        drop(unsafe { Managed::<DLManagedTensorVersioned>::from_raw(tensor.cast()) });
    }
    // SAFETY: as above.
    if let Some(tensor) = unsafe { held_by(capsule, LEGACY) } {
        // SAFETY: as above.
        drop(unsafe { Managed::<DLManagedTensor>::from_raw(tensor.cast()) });
    }
}

pub(crate) fn to_dlpack<'py>(
    value: &Bound<'py, PyValue>,
    max_version: Option<(u32, u32)>,
    copy: Option<bool>,
) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    let is_new = max_version.is_some_and(|(major, _)| major >= 1);
    let _ = copy;
    let tensor = match &held {
        Value::Tensor(tensor) => Ok(tensor.clone()),
        Value::Array(array) => Tensor::new(array, &[array.size()]),
        nested @ Value::Nested(..) => Argument::from(nested).stacked(),
    };
    let tensor = tensor.or_raise()?;
    let raw = blocking(py, || match raw_of(&tensor, is_new) {
        // What lies in a GPU's memory is copied to the host.
        Err(Error::Argument { .. }) => {
            raw_of(&tensor.each(|part| part.to(DeviceChoice::Cpu))?, is_new)
        }
        raw => raw,
    })?;
    let raw = ptr::with_exposed_provenance_mut::<c_void>(raw);
    let name = if is_new { VERSIONED } else { LEGACY };
    // SAFETY: the pointer is that of a tensor with this name, which the capsule owns from now on.
    let capsule = unsafe { ffi::PyCapsule_New(raw, name.as_ptr(), Some(drop_capsule)) };
    // SAFETY: new, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// The address of a DLPack tensor that whoever has it owns.
fn raw_of(tensor: &Tensor, is_new: bool) -> porcini_core::Result<usize> {
    Ok(if is_new {
        tensor.to_dlpack()?.into_raw().expose_provenance()
    } else {
        tensor.to_legacy_dlpack()?.into_raw().expose_provenance()
    })
}
