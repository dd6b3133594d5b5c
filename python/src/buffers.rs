//! Python's buffers: those of others as arrays, and arrays as buffers for others.
#![expect(unsafe_code, reason = "buffers hand over pointers")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;

use porcini_core::{Array, DType, Element, Error, F16, Session, Value};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyMemoryView};

use crate::errors::{OrRaise, got};
use crate::given::{Given, number};
use crate::interrupt::evaluating;
use crate::memory::{Owner, Taking, copied_on_host, entries, is_jax, of_pairs, on_host, shaped};
use crate::object::{PyValue, check_read};

type Object<'py> = Bound<'py, PyAny>;

// ---- taken from others ----

/// Whether an object has a buffer.
pub(crate) fn has_one(object: &Object<'_>) -> bool {
    // SAFETY: it only asks.
    (unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) }) != 0
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

/// Whether nobody writes what a read-only buffer shows: who owns the memory does not. That a view of it is read-only tells
/// nothing.
fn is_unwritable(object: &Object<'_>) -> PyResult<bool> {
    let py = object.py();
    if let Ok(view) = object.cast::<PyMemoryView>() {
        return is_unwritable(&view.getattr(intern!(py, "obj"))?);
    }
    if object.get_type().fully_qualified_name()? != "numpy.ndarray" {
        let is_known = object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyValue>();
        return Ok(is_known || is_jax(object));
    }
    let base = object.getattr(intern!(py, "base"))?;
    if !base.is_none() {
        return is_unwritable(&base);
    }
    let flags = object.getattr(intern!(py, "flags"))?;
    flags.getattr(intern!(py, "writeable"))?.extract::<bool>().map(|writeable| !writeable)
}

/// Whether an object that said so has no buffer: one without axes has no shape, and NumPy no letter for times and for types of
/// others.
fn is_without(object: &Object<'_>, error: &PyErr) -> bool {
    let is_of_numpy = || object.hasattr("dtype").unwrap_or_default();
    error.is_instance_of::<PyBufferError>(object.py())
        || error.is_instance_of::<PyValueError>(object.py()) && is_of_numpy()
}

/// A masked array of NumPy's hides entries, which nothing here does.
pub(crate) fn check_unmasked(object: &Object<'_>) -> PyResult<()> {
    let py = object.py();
    if !object.hasattr(intern!(py, "filled"))? || !object.hasattr(intern!(py, "mask"))? {
        return Ok(());
    }
    let mask = object.getattr(intern!(py, "mask"))?;
    if mask.call_method0(intern!(py, "any"))?.is_truthy()? {
        return Err(PyValueError::new_err(
            "got a masked array, expected one without masked entries: x.filled(0) puts a number in their place, \
             x.compressed() leaves them out",
        ));
    }
    Ok(())
}

/// What an object with a buffer is.
pub(crate) fn taken(session: &Session, object: &Object<'_>, taking: Taking) -> PyResult<Given> {
    check_unmasked(object)?;
    let buffer = match PyUntypedBuffer::get(object) {
        Err(error) if is_without(object, &error) => return of_number(object),
        buffer => buffer?,
    };
    if buffer.dimensions() == 0 {
        return of_number(object);
    }
    let format = buffer.format().to_owned();
    let Some((dtype, is_complex)) = element(&format, buffer.item_size()) else {
        return Err(PyTypeError::new_err(unknown(&format.to_string_lossy())));
    };
    let extents: Vec<u64> = buffer.shape().iter().map(|&n| n as u64).collect();
    let array = if buffer.is_c_contiguous() {
        let parts = if is_complex { 2 } else { 1 };
        let (first, n) = (buffer.buf_ptr().cast_const(), buffer.item_count() * parts);
        if taking.copies(buffer.readonly() && is_unwritable(object)?) {
            copied_on_host(session, dtype, first, n, &Owner::Buffer(buffer))?
        } else {
            on_host(session, dtype, first, n, Owner::Buffer(buffer))?
        }
    } else {
        // Elements with gaps between them, in row-major order.
        let bytes = PyMemoryView::from(object)?.call_method0("tobytes")?;
        session.from_bytes(dtype, bytes.cast::<PyBytes>()?.as_bytes()).or_raise()?
    };
    if is_complex { of_pairs(&array, &extents) } else { shaped(array, &extents) }
}

/// What is said of elements that no lanes are.
fn unknown(format: &str) -> String {
    let (what, remedy) = if format.starts_with("T{") {
        ("structs", "take a field, as x[\"name\"]")
    } else if format.ends_with(['w', 's']) {
        ("texts", "with NumPy x.astype(\"f4\") reads those that are numbers")
    } else if format.ends_with('O') {
        ("objects", "with NumPy x.astype(\"f4\") converts those that are numbers")
    } else {
        let remedy = "in this machine's order of bytes; with NumPy x.astype(\"f4\") converts";
        return format!("got elements of the type {format:?}, expected numbers {remedy}");
    };
    format!("got elements that are {what}, expected numbers; {remedy}")
}

fn of_number(object: &Object<'_>) -> PyResult<Given> {
    let n_axes = object.getattr("ndim").and_then(|n| n.extract::<usize>()).unwrap_or_default();
    if n_axes > 0 {
        return Err(PyTypeError::new_err(format!(
            "got elements of the type {}, which is none that we know; x.astype(\"float32\") converts",
            object.getattr("dtype")?
        )));
    }
    let item = object.call_method0("item")?;
    if let Ok(z) = item.cast::<PyComplex>() {
        return Ok(Given::Complex(z.real(), z.imag()));
    }
    let none = || PyTypeError::new_err(format!("got {}, expected a number", got(object)));
    number(&item)?.map(Given::Number).ok_or_else(none)
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
    real.session().check_host_memory((re.len() + im.len()) as u64)?;
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
    let exported = check_read("np.asarray", &held)
        .and_then(|()| evaluating(value.py(), || export(&held).map(Sent)));
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
