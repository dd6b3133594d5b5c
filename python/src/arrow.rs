//! Columns of Arrow by its C data interface: one array, or a stream of batches.
//!
//! **Source**: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
#![expect(unsafe_code, reason = "Arrow hands over pointers")]

use std::borrow::Cow;
use std::ffi::CStr;

use arrow_array::array::BooleanArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array as _, ArrayRef};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use porcini_core::{DType, Scalar, Session, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::OrRaise;
use crate::given::Given;
use crate::memory::{Owner, on_host};

type Object<'py> = Bound<'py, PyAny>;

/// What a column is; `None` of objects that are none.
pub(crate) fn taken(session: &Session, object: &Object<'_>) -> PyResult<Option<Given>> {
    let py = object.py();
    let chunks = if object.hasattr(intern!(py, "__arrow_c_array__"))? {
        let pair = object.call_method0(intern!(py, "__arrow_c_array__"))?;
        let (schema, array) = (pair.get_item(0)?, pair.get_item(1)?);
        let schema = held_by::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
        let array = held_by::<FFI_ArrowArray>(&array, c"arrow_array")?;
        // SAFETY: the capsule holds a schema of this form, which is ours from now on.
        let schema = unsafe { FFI_ArrowSchema::from_raw(schema) };
        // SAFETY: as above, an array.
        let array = unsafe { FFI_ArrowArray::from_raw(array) };
        // SAFETY: the producer vouches for the memory.
        vec![unsafe { from_ffi(array, &schema) }.map_err(failed)?]
    } else if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let stream = object.call_method0(intern!(py, "__arrow_c_stream__"))?;
        let stream = held_by::<FFI_ArrowArrayStream>(&stream, c"arrow_array_stream")?;
        // SAFETY: the capsule holds a stream of this form, which is ours from now on.
        let reader = unsafe { ArrayStreamReader::from_raw(stream) }.map_err(failed)?;
        let look = |chunk: Result<ArrayRef, ArrowError>| {
            py.check_signals()?;
            chunk.map_err(failed).map(|chunk| chunk.to_data())
        };
        reader.map(look).collect::<PyResult<Vec<_>>>()?
    } else {
        return Ok(None);
    };
    let value = column(session, &chunks)?;
    Ok(Some(Given::Value(value)))
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("Arrow: {error}"))
}

/// What a capsule of a name holds; whoever takes it leaves nothing to release there.
fn held_by<T>(capsule: &Object<'_>, name: &'static CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.cast::<T>().as_ptr())
}

/// The lane type of a column.
fn dtype_of(data_type: &DataType) -> Option<DType> {
    Some(match data_type {
        DataType::Boolean => DType::Mask,
        DataType::Int8 => DType::I8,
        DataType::UInt8 => DType::U8,
        DataType::Int16 => DType::I16,
        DataType::UInt16 => DType::U16,
        DataType::Int32 => DType::I32,
        DataType::UInt32 => DType::U32,
        DataType::Int64 => DType::I64,
        DataType::UInt64 => DType::U64,
        DataType::Float16 => DType::F16,
        DataType::Float32 => DType::F32,
        DataType::Float64 => DType::F64,
        _ => return None,
    })
}

/// The array that chunks are, one behind the other: of one without missing values its own memory.
fn column(session: &Session, chunks: &[ArrayData]) -> PyResult<Value> {
    let Some(first) = chunks.first() else {
        return session.from_bytes(DType::F32, &[]).map(Value::Array).or_raise();
    };
    let dtype = dtype_of(first.data_type()).ok_or_else(|| {
        let got = first.data_type();
        PyTypeError::new_err(format!("Arrow: got a column of {got}, expected numbers or truths"))
    })?;
    let pieces: Vec<Cow<'_, [u8]>> =
        chunks.iter().map(|chunk| lanes(chunk, dtype)).collect::<PyResult<_>>()?;
    if let [Cow::Borrowed(bytes)] = pieces[..] {
        let (at, n) = (bytes.as_ptr().cast(), bytes.len() / dtype.bytes());
        let owner = Owner::Other(Box::new(first.clone()));
        return on_host(session, dtype, at, n, owner).map(Value::Array);
    }
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &**piece).collect();
    session.from_pieces(dtype, &pieces).map(Value::Array).or_raise()
}

/// The lanes of a chunk: missing floats are NaN, as in pandas.
fn lanes(chunk: &ArrayData, dtype: DType) -> PyResult<Cow<'_, [u8]>> {
    let missing = chunk.nulls().filter(|nulls| nulls.null_count() > 0);
    if let (Some(nulls), false) = (missing, dtype.is_float()) {
        return Err(PyValueError::new_err(format!(
            "Arrow: {} of {} values are missing, and {} has none to stand for them; fill them, or make the column one of floats",
            nulls.null_count(),
            chunk.len(),
            dtype.numpy_name()
        )));
    }
    if dtype == DType::Mask {
        let truths = BooleanArray::from(chunk.clone());
        return Ok(truths.values().iter().map(u8::from).collect::<Vec<_>>().into());
    }
    let width = dtype.bytes();
    let all = chunk.buffers().first().map(|buffer| buffer.as_slice()).unwrap_or_default();
    let (start, end) = (chunk.offset() * width, (chunk.offset() + chunk.len()) * width);
    let short = || failed("the column is longer than its memory");
    let bytes = all.get(start..end).ok_or_else(short)?;
    let Some(nulls) = missing else { return Ok(bytes.into()) };
    let nan = dtype.encode(Scalar::Float(f64::NAN)).or_raise()?.to_le_bytes();
    let mut bytes = bytes.to_vec();
    for (lane, is_valid) in bytes.chunks_exact_mut(width).zip(nulls) {
        if !is_valid {
            lane.copy_from_slice(&nan[..width]);
        }
    }
    Ok(bytes.into())
}
