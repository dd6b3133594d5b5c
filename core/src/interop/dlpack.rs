//! DLPack: handing arrays to NumPy, PyTorch, JAX … and taking theirs, without a copy where possible.
//!
//! **Source**: the DLPack 1.x standard, <https://dmlc.github.io/dlpack/latest/>.
//!
//! An exported tensor owns the block together with the array: it keeps the block alive, and since a block
//! with two owners is never written in place, its contents stay. It is marked read-only; the older form of
//! the standard cannot say so, and gets a copy. An imported tensor stays where it is if it can, and is
//! never written.
#![expect(unsafe_code, reason = "DLPack hands over pointers")]

use std::fmt;
use std::sync::Arc;

use dlpark::allocation::dynamic::Initialized;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType};
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, Managed, ManagedTensorBase, TensorRef, legacy, versioned};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::tensor::Tensor;

impl Array {
    /// The contents as a read-only DLPack tensor of one dimension, without a copy, in the memory of the device; evaluates
    /// and waits, so that work in any stream may read them.
    ///
    /// Masks are `bool`. NaNs have the payloads that were computed.
    ///
    /// # Errors
    /// What evaluation fails with; a pending bounds error.
    pub fn to_dlpack(&self) -> Result<versioned::Dlpack> {
        let mut tensor = export(self, to_dlpack(self.dtype()), &[self.size()])?;
        tensor.set_flags(DlpackFlags::READ_ONLY).map_err(failed)?;
        // SAFETY: `export` set pointer, shape and strides of a block that the tensor owns.
        Ok(unsafe { tensor.finish() })
    }

    /// A copy of the contents as a DLPack tensor of the form before version 1; evaluates.
    ///
    /// # Errors
    /// As [`Array::to_dlpack`], and `OutOfMemory`.
    pub fn to_legacy_dlpack(&self) -> Result<legacy::Dlpack> {
        legacy_copy(self, to_dlpack(self.dtype()), &[self.size()])
    }
}

impl Tensor {
    /// The entries as a read-only DLPack tensor of the same shape, without a copy where they lie in memory in their
    /// order, as parts of complex ones do not; evaluates.
    ///
    /// # Errors
    /// As [`Array::to_dlpack`].
    pub fn to_dlpack(&self) -> Result<versioned::Dlpack> {
        let (entries, dtype) = self.in_a_row()?;
        let mut tensor = export(&entries, dtype, self.shape().extents())?;
        tensor.set_flags(DlpackFlags::READ_ONLY).map_err(failed)?;
        // SAFETY: `export` set pointer, shape and strides of a block that the tensor owns.
        Ok(unsafe { tensor.finish() })
    }

    /// A copy of the entries, which whoever gets it may write; evaluates.
    ///
    /// # Errors
    /// As [`Tensor::to_dlpack`], and `OutOfMemory`.
    pub fn to_dlpack_copy(&self) -> Result<versioned::Dlpack> {
        let (entries, dtype) = self.in_a_row()?;
        let mut tensor = export(&entries.copied()?, dtype, self.shape().extents())?;
        // SAFETY: it is a copy.
        unsafe { tensor.set_flags_unchecked(DlpackFlags::IS_COPIED) };
        // SAFETY: `export` set pointer, shape and strides; nobody but the tensor owns the copy.
        Ok(unsafe { tensor.finish() })
    }

    /// The same of the form before version 1.
    ///
    /// # Errors
    /// As [`Tensor::to_dlpack_copy`].
    pub fn to_legacy_dlpack(&self) -> Result<legacy::Dlpack> {
        let (entries, dtype) = self.in_a_row()?;
        legacy_copy(&entries, dtype, self.shape().extents())
    }

    /// The entries, or the parts of complex ones, one behind the other, and their type.
    fn in_a_row(&self) -> Result<(Array, DLDataType)> {
        let mut parts = self.entries()?;
        let dtype = parts[0].dtype();
        if let [real, imag] = &parts[..] {
            let bits = if dtype == DType::F64 { 128 } else { 64 };
            let complex = DLDataType::scalar(DLDataTypeCode::COMPLEX, bits);
            return Ok((real.session().interleave(&[real, imag])?, complex));
        }
        Ok((parts.swap_remove(0), to_dlpack(dtype)))
    }
}

fn legacy_copy(array: &Array, dtype: DLDataType, extents: &[u64]) -> Result<legacy::Dlpack> {
    let copy = array.copied()?;
    let tensor = export(&copy, dtype, extents)?;
    // SAFETY: `export` set pointer, shape and strides; nobody but the tensor owns the copy.
    Ok(unsafe { tensor.finish() })
}

/// Contents in row-major order.
fn export<M: ManagedTensorBase>(
    array: &Array,
    dtype: DLDataType,
    extents: &[u64],
) -> Result<Initialized<M>> {
    let lent = array.lend()?;
    let device = match lent.gpu() {
        Some(number) => DLDevice::cuda(i32::try_from(number).map_err(failed)?),
        None => DLDevice::CPU,
    };
    let extent = |&n: &u64| i64::try_from(n).map_err(failed);
    let extents = extents.iter().map(extent).collect::<Result<Vec<i64>>>()?;
    let mut strides = vec![1_i64; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(extents[axis]);
    }
    let data =
        std::ptr::with_exposed_provenance_mut(usize::try_from(lent.address()).map_err(failed)?);
    let lent = Box::new(lent);
    let mut tensor = Dynamic::new(extents, strides).initialize_as::<M>(lent).map_err(failed)?;
    tensor.set_data(data).set_dtype(dtype).set_device(device);
    Ok(tensor)
}

impl Session {
    /// An array with the contents of a DLPack tensor: dense, in the host's memory or that of a GPU on which the session or
    /// one of its family works; of several dimensions the elements in row-major order.
    ///
    /// Without a copy as [`Session::wrap`] and [`Session::wrap_on_gpu`] (masks are always copied); the tensor is then given
    /// back when the last array that needs it is gone.
    ///
    /// # Safety
    /// The tensor describes memory that can be read, and nobody writes to it until it is given back.
    ///
    /// # Errors
    /// `Argument` for other shapes, types and devices; `OutOfMemory`.
    pub unsafe fn from_dlpack<M: ManagedTensorBase + 'static>(
        &self,
        tensor: Managed<M>,
    ) -> Result<Array> {
        let tensor = Arc::new(Taken(tensor));
        let described = tensor.0.validate().map_err(failed)?;
        let dtype = checked(&described)?;
        if let Some(number) = gpu_of(described.device()) {
            let Some(session) = self.on_gpu(number) else {
                let what = format!(
                    "the data are on cuda:{number}, where no array is; copy them to the host"
                );
                return Err(Error::Argument { op: "DLPack", what });
            };
            // SAFETY: the caller vouches for the memory.
            let address = unsafe { described.offset_bytes_ptr() }.map_err(failed)?;
            let n = (described.num_bytes() / dtype.bytes()) as u64;
            let address = address.expose_provenance() as u64;
            // SAFETY: as above; the tensor is kept.
            return unsafe { session.wrap_on_gpu(dtype, address, n, tensor.clone()) };
        }
        // SAFETY: the caller vouches for the memory.
        let contents = unsafe { described.cpu_bytes() }.map_err(failed)?;
        // Bytes of others may hold more than 0 and 1.
        let borrowed = (dtype != DType::Mask)
            .then(|| self.borrowed(dtype, contents, tensor.clone()))
            .flatten();
        borrowed.map_or_else(|| self.from_bytes(dtype, contents), Ok)
    }
}

/// The number of an NVIDIA GPU.
fn gpu_of(device: DLDevice) -> Option<u32> {
    (device.device_type == DLDeviceType::CUDA).then(|| u32::try_from(device.device_id).ok())?
}

fn checked(tensor: &TensorRef<'_>) -> Result<DType> {
    let refused = |what| Err(Error::Argument { op: "DLPack", what });
    if tensor.device() != DLDevice::CPU && gpu_of(tensor.device()).is_none() {
        return refused(format!("the data are on {:?}; copy them to the host", tensor.device()));
    }
    if !tensor.is_compact().map_err(failed)? {
        return refused("the data have gaps; make them contiguous".into());
    }
    match DType::of_dlpack(tensor.dtype()) {
        Some(dtype) => Ok(dtype),
        None => refused(format!("element type {:?} is not supported", tensor.dtype())),
    }
}

impl DType {
    /// The lane type that DLPack calls so.
    pub fn of_dlpack(dtype: DLDataType) -> Option<Self> {
        Self::ALL.into_iter().find(|&own| to_dlpack(own) == dtype)
    }
}

fn to_dlpack(dtype: DType) -> DLDataType {
    match dtype {
        DType::Mask => DLDataType::BOOL,
        DType::I8 => DLDataType::I8,
        DType::U8 => DLDataType::U8,
        DType::I16 => DLDataType::I16,
        DType::U16 => DLDataType::U16,
        DType::F16 => DLDataType::scalar(DLDataTypeCode::FLOAT, 16),
        DType::I32 => DLDataType::I32,
        DType::U32 => DLDataType::U32,
        DType::I64 => DLDataType::I64,
        DType::U64 => DLDataType::U64,
        DType::F32 => DLDataType::F32,
        DType::F64 => DLDataType::F64,
    }
}

/// A tensor that was handed over.
struct Taken<M: ManagedTensorBase>(Managed<M>);

fn failed(error: impl fmt::Display) -> Error {
    Error::Argument { op: "DLPack", what: error.to_string() }
}
