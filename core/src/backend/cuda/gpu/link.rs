//! PTX into machine code, by the driver's compiler.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::ffi::{CString, c_void};
use std::ptr;

use cudarc::driver::sys::{self, CUresult};

use super::Gpu;
use crate::backend::cuda::driver_library::describe;

/// Bytes that the driver's compiler may say of an error.
const LOG_BYTES: usize = 16 << 10;

/// The result of the driver's compiler.
pub(in super::super) struct Compiled {
    pub(in super::super) cubin: Vec<u8>,
}

impl Gpu {
    /// Compiles PTX. May run in several threads at once.
    ///
    /// # Errors
    /// What the compiler says, line by line.
    pub(in super::super) fn compile(&self, ptx: &str) -> std::result::Result<Compiled, String> {
        use sys::CUjit_option as Option;
        self.enter().map_err(|error| error.to_string())?;
        let mut errors = vec![0_u8; LOG_BYTES];
        let mut options =
            [Option::CU_JIT_ERROR_LOG_BUFFER, Option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let size = ptr::without_provenance_mut::<c_void>(LOG_BYTES);
        let mut values = [errors.as_mut_ptr().cast::<c_void>(), size];
        let mut state = ptr::null_mut();
        // SAFETY: the options and what they point to live until the link is destroyed below.
        let created = unsafe {
            sys::cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
        };
        created.result().map_err(describe)?;
        let text = CString::new(ptx).map_err(|_| "a zero byte in the text".to_string())?;
        let bytes = text.as_bytes_with_nul().len();
        let data = text.as_ptr().cast_mut().cast::<c_void>();
        let kind = sys::CUjitInputType::CU_JIT_INPUT_PTX;
        let name = c"kernel".as_ptr();
        let none = ptr::null_mut();
        // SAFETY: the text lives longer than the call, which reads it only.
        let mut result = unsafe {
            sys::cuLinkAddData_v2(state, kind, data, bytes, name, 0, none, ptr::null_mut())
        };
        let (mut image, mut size) = (ptr::null_mut(), 0);
        if result == CUresult::CUDA_SUCCESS {
            // SAFETY: writes two words.
            result = unsafe { sys::cuLinkComplete(state, &raw mut image, &raw mut size) };
        }
        let cubin = match result {
            // SAFETY: the image belongs to the link, which is destroyed below.
            CUresult::CUDA_SUCCESS => unsafe {
                std::slice::from_raw_parts(image.cast::<u8>().cast_const(), size).to_vec()
            },
            _ => Vec::new(),
        };
        // SAFETY: the link has no user any more.
        let _ = unsafe { sys::cuLinkDestroy(state) };
        match result.result() {
            Ok(()) => Ok(Compiled { cubin }),
            Err(error) => {
                let said = text_of(&errors);
                Err(if said.is_empty() { describe(error) } else { said })
            }
        }
    }
}

fn text_of(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().into()
}
