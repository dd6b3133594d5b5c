//! A C interface around [`Session::from_dlpack`] and [`Array::to_dlpack`], built as a library.
//!
//! `core/tests/dlpack.py` loads it with ctypes and exchanges arrays with NumPy, JAX and PyTorch. Every
//! function takes the session that `porcini_open` gave; a null pointer is a failure.
#![expect(unsafe_code, reason = "a C interface")]

use std::ptr;

use dlpark::Managed;
use dlpark::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use porcini_core::{Array, DType, Session};

/// Opens a session.
#[unsafe(no_mangle)]
pub extern "C" fn porcini_open() -> *mut Session {
    Session::new().map_or(ptr::null_mut(), |session| Box::into_raw(Box::new(session)))
}

/// Closes a session; its exported tensors stay.
///
/// # Safety
/// The session comes from `porcini_open`, and this is its last use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_close(session: *mut Session) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(session) });
}

/// Bytes of device memory in use.
///
/// # Safety
/// The session comes from `porcini_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_used(session: *const Session) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { &*session }.memory_info().used
}

/// `n` floats from 0 to 1.
///
/// # Safety
/// The session comes from `porcini_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_linspace(session: *const Session, n: u64) -> *mut Array {
    // SAFETY: the caller's promise.
    let array = unsafe { &*session }.linspace(DType::F32, 0, 1, n);
    array.map_or(ptr::null_mut(), |array| Box::into_raw(Box::new(array)))
}

/// Takes over a tensor.
///
/// # Safety
/// The session comes from `porcini_open`, the tensor from a DLPack exporter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_import(
    session: *const Session,
    tensor: *mut DLManagedTensor,
) -> *mut Array {
    // SAFETY: the caller's promise.
    let Ok(tensor) = (unsafe { Managed::from_raw(tensor) }) else { return ptr::null_mut() };
    // SAFETY: the caller's promise.
    let session = unsafe { &*session };
    // SAFETY: the exporter's promise.
    let array = unsafe { session.from_dlpack(tensor) };
    array.map_or(ptr::null_mut(), |array| Box::into_raw(Box::new(array)))
}

/// The contents as a read-only tensor, without a copy.
///
/// # Safety
/// The array comes from a function of this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_export(array: *const Array) -> *mut DLManagedTensorVersioned {
    // SAFETY: the caller's promise.
    unsafe { &*array }.to_dlpack().map_or(ptr::null_mut(), Managed::into_raw)
}

/// A copy of the contents as a tensor of the older form.
///
/// # Safety
/// As [`porcini_export`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_export_legacy(array: *const Array) -> *mut DLManagedTensor {
    // SAFETY: the caller's promise.
    unsafe { &*array }.to_legacy_dlpack().map_or(ptr::null_mut(), Managed::into_raw)
}

/// Replaces an array by `x * 2`, evaluated: where it may, the result takes the old block.
///
/// # Safety
/// As [`porcini_export`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_double(array: *mut Array) -> bool {
    // SAFETY: the caller's promise, and nobody else uses the array meanwhile.
    let array = unsafe { &mut *array };
    let doubled = array.clone() * 2.0;
    *array = doubled;
    array.eval().is_ok()
}

/// The address of the contents.
///
/// # Safety
/// As [`porcini_export`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_address(array: *const Array) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { &*array }.address().unwrap_or(0)
}

/// Frees an array.
///
/// # Safety
/// As [`porcini_export`], and this is its last use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn porcini_free(array: *mut Array) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(array) });
}
