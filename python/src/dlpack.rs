//! Arrays of other libraries by DLPack, in the host's memory and on GPUs, and ours for them.
#![expect(unsafe_code, reason = "DLPack hands over pointers")]

use std::ffi::{CStr, c_void};
use std::ptr;

use dlpark::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use porcini_core::tensor::Tensor;
use porcini_core::{DType, DeviceChoice, Lent, Session, Value};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::OrRaise;
use crate::given::Given;
use crate::interrupt::{blocking, evaluating};
use crate::memory::{
    Owner, Taking, complex_part, copied_on_gpu, copied_on_host, entries, interface_type, is_jax,
    of_pairs, on_gpu, on_host, shaped,
};
use crate::object::{PyValue, check_read};

type Object<'py> = Bound<'py, PyAny>;

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";

/// The host, as DLPack numbers devices.
const HOST: (i32, i32) = (1, 0);

/// NVIDIA's GPUs.
const CUDA: i32 = 2;

/// The stream of CUDA's that waits for all others but those that ask not to be waited for.
const FIRST_STREAM: i32 = 1;

// ---- taken from others ----

/// What an object with `__dlpack__` is; `None` if it is in a memory that we do not read.
pub(crate) fn taken(
    session: &Session,
    object: &Object<'_>,
    taking: Taking,
) -> PyResult<Option<Given>> {
    let py = object.py();
    let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
    let kind = device.get_item(0)?.call_method0(intern!(py, "__int__"))?.extract::<i32>()?;
    let number = device.get_item(1)?.extract::<i32>()?;
    let gpu = u32::try_from(number).ok().filter(|_| kind == CUDA);
    let there = gpu.and_then(|number| session.on_gpu(number));
    if kind != HOST.0 && there.is_none() {
        return Ok(None);
    }
    let named = PyDict::new(py);
    if there.is_some() {
        named.set_item(intern!(py, "stream"), FIRST_STREAM)?;
    }
    let older = named.copy()?;
    named.set_item(intern!(py, "max_version"), (1, 0))?;
    let ask = |named| object.call_method(intern!(py, "__dlpack__"), (), Some(named));
    // Libraries that are older than the argument.
    let capsule = match ask(&named) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => ask(&older)?,
        capsule => capsule?,
    };
    let taking = match taking {
        // Others lend what they write as read-only, too.
        Taking::Now if !is_jax(object) => Taking::Copied,
        taking => taking,
    };
    let raw = capsule.as_ptr();
    let session = there.as_ref().unwrap_or(session);
    // SAFETY: an object of Python's.
    if let Some(tensor) = unsafe { held_by(raw, VERSIONED) } {
        // SAFETY: as above; the new name lives as long as the program.
        unsafe { ffi::PyCapsule_SetName(raw, c"used_dltensor_versioned".as_ptr()) };
        // SAFETY: a capsule of that name holds such a tensor, which is ours now.
        let tensor = unsafe { Managed::<DLManagedTensorVersioned>::from_raw(tensor.cast()) };
        return of_managed(py, session, tensor, taking).map(Some);
    }
    // SAFETY: an object of Python's.
    let Some(tensor) = (unsafe { held_by(raw, LEGACY) }) else {
        return Err(PyTypeError::new_err("__dlpack__ gave no capsule of DLPack"));
    };
    // SAFETY: as above; the new name lives as long as the program.
    unsafe { ffi::PyCapsule_SetName(raw, c"used_dltensor".as_ptr()) };
    // SAFETY: a capsule of that name holds such a tensor, which is ours now.
    let tensor = unsafe { Managed::<DLManagedTensor>::from_raw(tensor.cast()) };
    of_managed(py, session, tensor, taking).map(Some)
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

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("DLPack: {error}"))
}

fn of_managed<M: ManagedTensorBase + 'static>(
    py: Python<'_>,
    session: &Session,
    tensor: Result<Managed<M>, impl std::fmt::Display>,
    taking: Taking,
) -> PyResult<Given> {
    let tensor = tensor.map_err(failed)?;
    // Those before version 1 do not say whether they are written.
    let copies = taking.copies(tensor.flags().contains(DlpackFlags::READ_ONLY));
    let described = tensor.validate().map_err(failed)?;
    let complex = [DType::F32, DType::F64].into_iter().find(|&part| {
        let bits = if part == DType::F64 { 128 } else { 64 };
        described.dtype() == DLDataType::scalar(DLDataTypeCode::COMPLEX, bits)
    });
    let dtype = complex.or_else(|| DType::of_dlpack(described.dtype())).ok_or_else(|| {
        let what = format!("DLPack: elements of {:?} are none that we know", described.dtype());
        PyTypeError::new_err(what)
    })?;
    let extents: Vec<u64> = described.shape().iter().map(|&n| n.unsigned_abs()).collect();
    let is_compact = described.is_compact().map_err(failed)?;
    // Elements with gaps are among those from the first of them to the last.
    let mut shape = described.shape().to_vec();
    let mut steps = if is_compact { None } else { described.strides().map(<[i64]>::to_vec) };
    if let (true, Some(steps)) = (complex.is_some(), &mut steps) {
        // The two parts of each are one more axis.
        steps.iter_mut().for_each(|step| *step = step.saturating_mul(2));
        steps.push(1);
        shape.push(2);
    }
    let (before, n) = match &steps {
        Some(steps) => span(&shape, steps).ok_or_else(|| failed("steps beyond memory"))?,
        None => (0, described.num_bytes() / dtype.bytes()),
    };
    let is_on_host = described.device() == DLDevice::CPU;
    let is_on_gpu = described.device().device_type == DLDeviceType::CUDA;
    // SAFETY: the producer vouches for the memory.
    let first = unsafe { described.offset_bytes_ptr() }.map_err(failed)?.cast::<c_void>();
    let first = first.wrapping_byte_sub(before.saturating_mul(dtype.bytes()));
    let owner = Owner::Other(Box::new(tensor));
    let array = match (is_on_host, is_on_gpu, copies) {
        (true, _, false) => on_host(session, dtype, first, n, owner)?,
        (true, _, true) => copied_on_host(session, dtype, first, n, &owner)?,
        (_, true, false) => on_gpu(py, session, dtype, first, n, owner)?,
        (_, true, true) => copied_on_gpu(py, session, dtype, first, n, &owner)?,
        _ => return Err(failed("the data are on another device than the object said")),
    };
    if let Some(steps) = steps {
        let shape: Vec<u64> = shape.iter().map(|&n| n.unsigned_abs()).collect();
        let tensor = Tensor::strided(&array, &shape, before as u64, &steps).or_raise()?;
        let lanes = || tensor.entries().map(|mut parts| parts.swap_remove(0)).or_raise();
        return match extents.len() {
            _ if complex.is_some() => of_pairs(&lanes()?, &extents),
            1 => Ok(Given::Value(lanes()?.into())),
            _ => Ok(Given::Value(tensor.into())),
        };
    }
    if complex.is_some() {
        return of_pairs(&array, &extents);
    }
    if extents.is_empty() {
        return array.item(0).map(Given::Number).or_raise();
    }
    shaped(array, &extents)
}

/// How many elements lie before the first one, and from the lowest in memory to the highest.
fn span(extents: &[i64], steps: &[i64]) -> Option<(usize, usize)> {
    let (mut before, mut behind) = (0_i64, 0_i64);
    for (extent, step) in extents.iter().zip(steps) {
        if *extent == 0 {
            return Some((0, 0));
        }
        let way = (extent - 1).checked_mul(*step)?;
        before = before.checked_sub(way.min(0))?;
        behind = behind.checked_add(way.max(0))?;
    }
    let n = before.checked_add(behind)?.checked_add(1)?;
    Some((usize::try_from(before).ok()?, usize::try_from(n).ok()?))
}

// ---- lent to others ----

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

/// Where a value is, as DLPack says it.
pub(crate) fn device(py: Python<'_>, value: &PyValue) -> PyResult<(i32, i32)> {
    let Some(session) = value.value().leaves().first().map(|leaf| leaf.session().clone()) else {
        return Ok(HOST);
    };
    let gpu = blocking(py, || session.gpu())?;
    gpu.map_or(Ok(HOST), |number| Ok((CUDA, i32::try_from(number)?)))
}

/// A capsule of DLPack; evaluates, and waits for the contents, so that work in any stream may read them.
///
/// Without a copy where they are, unless `copy` is true, another device is asked for, or whoever asks is older than version
/// 1, which cannot say that they are read-only.
pub(crate) fn lent<'py>(
    value: &Bound<'py, PyValue>,
    max_version: Option<(u32, u32)>,
    wanted: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    check_read("DLPack", &held)?;
    let is_new = max_version.is_some_and(|(major, _)| major >= 1);
    let here = device(py, value.get())?;
    let there = wanted.unwrap_or(here);
    if there != here && there != HOST {
        return Err(PyBufferError::new_err(format!(
            "DLPack: got the device {there:?}, expected {here:?}, where the array is, or the host {HOST:?}"
        )));
    }
    let copies = there != here || !is_new;
    if copies && copy == Some(false) {
        return Err(PyBufferError::new_err(
            "DLPack: the array cannot be lent without a copy to another device, or to those before version 1",
        ));
    }
    let tensor = match &held {
        Value::Tensor(tensor) => Ok(tensor.clone()),
        Value::Array(array) => Tensor::new(array, &[array.size()]),
        nested @ Value::Nested(..) => {
            entries(nested).and_then(|(parts, extents)| match &parts[..] {
                [real, imag] => Tensor::complex(real, imag, &extents),
                parts => Tensor::new(&parts[0], &extents),
            })
        }
    };
    let tensor = tensor.or_raise()?;
    let tensor = if tensor.is_complex() {
        // Others know no complex numbers of integers or halves.
        let dtype = complex_part(tensor.dtype());
        tensor.each(|part| part.cast(dtype)).or_raise()?
    } else {
        tensor
    };
    let raw = evaluating(py, || {
        let moved = (there != here).then(|| tensor.each(|part| part.to(DeviceChoice::Cpu)));
        let tensor = moved.transpose()?.unwrap_or_else(|| tensor.clone());
        Ok(match (is_new, copy == Some(true)) {
            (true, false) => tensor.to_dlpack()?.into_raw().expose_provenance(),
            (true, true) => tensor.to_dlpack_copy()?.into_raw().expose_provenance(),
            (false, _) => tensor.to_legacy_dlpack()?.into_raw().expose_provenance(),
        })
    })?;
    let raw = ptr::with_exposed_provenance_mut::<c_void>(raw);
    let name = if is_new { VERSIONED } else { LEGACY };
    // SAFETY: the pointer is that of a tensor with this name, which the capsule owns from now on.
    let capsule = unsafe { ffi::PyCapsule_New(raw, name.as_ptr(), Some(drop_capsule)) };
    // SAFETY: new, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// What keeps contents that others know by their address.
#[pyclass(frozen, module = "porcini")]
struct Lease {
    _contents: Lent,
}

#[pymethods]
impl Lease {
    /// Ends it.
    fn __call__(&self) {}
}

/// Where contents on a GPU are, as CuPy, Numba and PyTorch ask; `None` for those in the host's memory. They stay there as
/// long as the object lives.
pub(crate) fn cuda_array_interface<'py>(
    value: &Bound<'py, PyValue>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = value.py();
    if device(py, value.get())?.0 != CUDA {
        return Ok(None);
    }
    let held = value.get().value().clone();
    check_read("__cuda_array_interface__", &held)?;
    let (lent, array, extents) = blocking(py, || {
        let (parts, extents) = entries(&held)?;
        let array = match &parts[..] {
            [_] => parts[0].clone(),
            _ => parts[0].session().interleave(&parts.iter().collect::<Vec<_>>())?,
        };
        Ok((array.lend()?, array, extents))
    })?;
    let is_complex = array.size() != extents.iter().product::<u64>();
    let letter = interface_type(array.dtype(), is_complex);
    let interface = PyDict::new(py);
    interface.set_item("shape", PyTuple::new(py, extents)?)?;
    interface.set_item("typestr", letter)?;
    interface.set_item("data", (if array.size() == 0 { 0 } else { lent.address() }, true))?;
    interface.set_item("version", 3)?;
    interface.set_item("stream", py.None())?;
    let lease = Bound::new(py, Lease { _contents: lent })?;
    py.import(intern!(py, "weakref"))?.call_method1(intern!(py, "finalize"), (value, lease))?;
    Ok(Some(interface))
}
