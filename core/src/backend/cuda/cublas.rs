//! NVIDIA's library of products, cuBLAS, for those who ask for tensor cores: looked for at the first product.
//!
//! It adds in an order of its own; the same one each time on one GPU with one version. It takes some memory of the GPU
//! for itself, which nobody counts.
#![expect(unsafe_code, reason = "a C library")]

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUstream;
use libloading::Library;

use super::gpu::Gpu;
use super::toolkit::Toolkit;
use crate::backend::primitive::PrimitiveCall;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::primitive::Product;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, CUstream) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;
/// `cublasGemmStridedBatchedEx_64`: how factors lie, extents, a scale, matrices (address, type, leading dimension, stride),
/// a scale, the result, how many, and in what.
type Multiply = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    i64,
    i64,
    i64,
    *const c_void,
    u64,
    c_int,
    i64,
    i64,
    u64,
    c_int,
    i64,
    i64,
    *const c_void,
    u64,
    c_int,
    i64,
    i64,
    i64,
    c_int,
    c_int,
) -> c_int;

/// The library, ready to multiply on the first stream of a GPU, in turns that are alone.
pub(super) struct Cublas {
    gpu: Arc<Gpu>,
    handle: Handle,
    multiply: Multiply,
    destroy: Destroy,
    /// What the functions are in; the other library is needed by this one.
    _libraries: [Library; 2],
}

// SAFETY: a handle may be used from every thread, by one at a time, as `&mut self` has it.
unsafe impl Send for Cublas {}

impl Cublas {
    /// Finds the library and starts it.
    ///
    /// # Errors
    /// `Tool` with what to install.
    pub(super) fn start(gpu: &Arc<Gpu>, toolkit: &Toolkit) -> Result<Self> {
        let mut reasons = Vec::new();
        for file in toolkit.cublas() {
            match Self::open(gpu, &file) {
                Ok(library) => return Ok(library),
                Err(error) => reasons.push(format!("{}: {error}", file.display())),
            }
        }
        if reasons.is_empty() {
            reasons.push("not found in LD_LIBRARY_PATH, CUDA_HOME or Python's packages".into());
        }
        let reason = reasons.join("; ");
        Err(failed(format!(
            "{reason}; install the CUDA toolkit, or: pip install nvidia-cublas; or set_flag(\"tensor_cores\", false)"
        )))
    }

    fn open(gpu: &Arc<Gpu>, file: &Path) -> std::result::Result<Self, Box<dyn std::error::Error>> {
        gpu.enter()?;
        // Where it lies it may not look by itself.
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let needed = file.with_file_name(name.replace("libcublas", "libcublasLt"));
        let open = |file: &Path| {
            // SAFETY: NVIDIA's libraries may be loaded; what else is under these names the user has put there.
            unsafe { Library::new(file) }
        };
        let (needed, library) = (open(&needed)?, open(file)?);
        // SAFETY: this is the type of that function since cuBLAS 12.
        let create = unsafe { *library.get::<Create>(b"cublasCreate_v2")? };
        // SAFETY: likewise.
        let set_stream = unsafe { *library.get::<SetStream>(b"cublasSetStream_v2")? };
        // SAFETY: likewise.
        let destroy = unsafe { *library.get::<Destroy>(b"cublasDestroy_v2")? };
        // SAFETY: likewise.
        let multiply = unsafe { *library.get::<Multiply>(b"cublasGemmStridedBatchedEx_64")? };
        let mut handle = ptr::null_mut();
        // SAFETY: writes one handle; a context is current.
        check(unsafe { create(&raw mut handle) })?;
        let started =
            Self { gpu: gpu.clone(), handle, multiply, destroy, _libraries: [library, needed] };
        // SAFETY: the handle is valid, and the stream is that of the current context.
        check(unsafe { set_stream(handle, gpu.first_stream().handle) })?;
        Ok(started)
    }

    /// Queues products.
    ///
    /// # Errors
    /// A failure of the library or of the GPU.
    pub(super) fn multiply(&mut self, product: Product, call: &PrimitiveCall) -> Result<()> {
        self.gpu.enter()?;
        let [left, right] = [call.operands[0], call.operands[1]];
        let (n, rows) = product.extents(left.size, right.size);
        let [n, rows] = [n, rows].map(u64::cast_signed);
        let (depth, columns) = (i64::from(product.depth), i64::from(product.columns));
        // Their words for: in memory column by column, or row by row.
        let [plain, turned] = [0, 1];
        let place = |is_turned: bool, across: i64, along: i64| {
            if is_turned { (turned, across) } else { (plain, along) }
        };
        let (right_lies, right_step) = place(product.right.is_turned(), depth, columns);
        let (left_lies, left_step) = place(product.left.is_turned(), rows, depth);
        let stride = |is_shared: bool, lanes: i64| if is_shared { 0 } else { lanes };
        let (dtype, sums) = match call.result.dtype {
            DType::F16 => (2, 68),
            DType::F64 => (1, 70),
            _ => (0, 77),
        };
        // What the product and what is there before are multiplied by, in the type of the sums.
        let (narrow, wide) = ([1.0_f32, 0.0], [1.0_f64, 0.0]);
        let scale = |number: usize| match call.result.dtype {
            DType::F64 => (&raw const wide[number]).cast::<c_void>(),
            _ => (&raw const narrow[number]).cast(),
        };
        // By columns the product of rows is that of the transposed factors the other way round.
        // SAFETY: the blocks are live and as long as the extents say, for later work on the stream too.
        let result = unsafe {
            (self.multiply)(
                self.handle,
                right_lies,
                left_lies,
                columns,
                rows,
                depth,
                scale(0),
                right.address,
                dtype,
                right_step,
                stride(product.right.is_shared(), depth * columns),
                left.address,
                dtype,
                left_step,
                stride(product.left.is_shared(), rows * depth),
                scale(1),
                call.result.address,
                dtype,
                columns,
                rows * columns,
                n,
                sums,
                -1,
            )
        };
        check(result).map_err(failed)
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        if self.gpu.enter().is_ok() {
            // SAFETY: the handle has no user any more.
            let _ = unsafe { (self.destroy)(self.handle) };
        }
    }
}

fn failed(reason: String) -> Error {
    Error::Tool { program: "cuBLAS", reason }
}

/// A status of the library.
fn check(status: c_int) -> std::result::Result<(), String> {
    let what = match status {
        0 => return Ok(()),
        1 => "it does not start: the driver may be too old for it",
        3 => "too little memory of the GPU is free",
        7 => "it refuses these extents",
        8 => "it does not know this GPU",
        13 => "its kernel failed",
        15 => "it does not know this product",
        _ => return Err(format!("status {status}")),
    };
    Err(format!("{what} (status {status})"))
}
