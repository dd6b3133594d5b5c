//! The driver's library: whether it is there, what it is, which GPUs it knows. Opens none of them.
#![expect(unsafe_code, reason = "the driver is a C library")]

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

use crate::error::Error;

/// The oldest driver that has all calls used here: 525, which speaks CUDA 12.0.
const OLDEST_DRIVER: i32 = 12_000;
/// The compute capability of the oldest GPUs supported, 75 for 7.5.
pub const OLDEST_CAPABILITY: u32 = 75;

/// Whether the driver's library is there at all.
pub(super) fn is_installed() -> bool {
    // SAFETY: loads a library of the system and lets it go.
    unsafe { sys::is_culib_present() }
}

/// A driver that answers.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// `550.54.15 (CUDA 12.4)`
    pub(super) version: String,
    pub(super) n_gpus: i32,
}

/// A GPU that is there, opened or not.
#[derive(Clone, Debug)]
pub struct GpuInfo {
    /// Name of the product.
    pub name: String,
    /// 90 for 9.0.
    pub compute_capability: u32,
    /// Bytes of memory.
    pub memory: u64,
}

impl Driver {
    /// Starts the driver.
    ///
    /// # Errors
    /// The reason and the remedy.
    pub(super) fn start() -> Result<Self, String> {
        let mut speaks = 0;
        // SAFETY: writes one int; works before cuInit.
        let version = unsafe { sys::cuDriverGetVersion(&raw mut speaks) };
        version.result().map_err(said("the driver does not answer"))?;
        let (major, minor) = (speaks / 1000, speaks % 1000 / 10);
        if speaks < OLDEST_DRIVER {
            return Err(format!(
                "the driver speaks CUDA {major}.{minor}, and 12.0 is needed; install driver 525 or newer"
            ));
        }
        // SAFETY: takes no pointers.
        let started = unsafe { sys::cuInit(0) };
        started.result().map_err(said("the driver does not start"))?;
        let mut n_gpus = 0;
        // SAFETY: writes one int.
        let counted = unsafe { sys::cuDeviceGetCount(&raw mut n_gpus) };
        counted.result().map_err(said("the driver finds no GPU"))?;
        let release = release().unwrap_or_else(|| "of unknown release".into());
        Ok(Self { version: format!("{release} (CUDA {major}.{minor})"), n_gpus })
    }

    /// A GPU by its number.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn gpu(&self, number: i32) -> Result<GpuInfo, String> {
        let device = self.device(number)?;
        let mut memory = 0;
        // SAFETY: writes one number.
        let known = unsafe { sys::cuDeviceTotalMem_v2(&raw mut memory, device) };
        known.result().map_err(said("the GPU does not answer"))?;
        Ok(GpuInfo {
            name: name(device),
            compute_capability: compute_capability(device),
            memory: memory as u64,
        })
    }

    /// Whether two GPUs reach each other's memory by themselves.
    ///
    /// # Errors
    /// One does not answer.
    pub(super) fn reach_each_other(&self, [one, other]: [i32; 2]) -> Result<bool, String> {
        let [one, other] = [self.device(one)?, self.device(other)?];
        let reaches = |from, to| {
            let mut reaches = 0;
            // SAFETY: writes one number.
            let known = unsafe { sys::cuDeviceCanAccessPeer(&raw mut reaches, from, to) };
            known == sys::CUresult::CUDA_SUCCESS && reaches == 1
        };
        Ok(reaches(one, other) && reaches(other, one))
    }

    /// The driver's handle of a GPU.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn device(&self, number: i32) -> Result<sys::CUdevice, String> {
        let mut device = 0;
        // SAFETY: writes one int.
        let found = unsafe { sys::cuDeviceGet(&raw mut device, number) };
        found.result().map_err(said("the GPU does not answer"))?;
        Ok(device)
    }
}

/// The name of the product.
pub(super) fn name(device: sys::CUdevice) -> String {
    cudarc::driver::result::device::get_name(device).unwrap_or_else(|_| "GPU".into())
}

/// A number that no other GPU has, of whichever host; `None` where the driver does not say.
pub(super) fn identity(device: sys::CUdevice) -> Option<u128> {
    let mut id = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: writes 16 bytes.
    let known = unsafe { sys::cuDeviceGetUuid_v2(&raw mut id, device) };
    let bytes = id.bytes.map(|byte| byte.to_ne_bytes()[0]);
    (known == sys::CUresult::CUDA_SUCCESS).then(|| u128::from_be_bytes(bytes))
}

/// 90 for 9.0.
pub(super) fn compute_capability(device: sys::CUdevice) -> u32 {
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    major * 10 + attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
}

/// A number that the driver knows of a GPU, 0 if it does not.
pub(super) fn attribute(device: sys::CUdevice, attribute: Attribute) -> u32 {
    let mut value = 0;
    // SAFETY: writes one int.
    let _ = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) };
    u32::try_from(value).unwrap_or(0)
}

/// `an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)`
pub(super) fn describe(error: DriverError) -> String {
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| format!("{:?}", error.0), |text| text.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_string()), text(error.error_name()))
}

/// Formats a driver error: what went wrong, and the driver's name for it.
pub(super) fn said(what: &'static str) -> impl Fn(DriverError) -> String {
    move |error| format!("{what}: {}", describe(error))
}

/// The driver's release, `550.54.15`: two of them may speak the same CUDA and compile differently.
fn release() -> Option<String> {
    number_in(&std::fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// The first word that is a number with points.
fn number_in(text: &str) -> Option<String> {
    let is_number = |word: &&str| {
        word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    text.split_whitespace().find(is_number).map(Into::into)
}

/// What is said where there is no driver.
pub(super) const NO_LIBRARY: &str = "the NVIDIA driver's library (libcuda.so.1) is not there";

/// The error that the driver's library is not there.
pub fn not_installed(number: u32) -> Error {
    Error::NoDevice {
        name: format!("cuda:{number}"),
        reason: format!("{NO_LIBRARY}; install driver 525 or newer, or use --device cpu"),
    }
}

#[cfg(test)]
mod tests {
    use super::number_in;

    #[test]
    fn releases_are_found() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC version:  gcc 12.3.0";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86  Release Build";
        assert_eq!(number_in(closed).as_deref(), Some("550.54.15"));
        assert_eq!(number_in(open).as_deref(), Some("570.86"));
        assert_eq!(number_in("none"), None);
    }
}
