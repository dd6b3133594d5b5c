//! Blocks whose addresses are there from the start and whose memory comes as it is needed: where several GPUs share an
//! array, each has memory for what it works on, and all of them the same numbers of lanes.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};

use crate::backend::cuda::driver_library::attribute;
use crate::convert::exactly;

/// Bytes from which on a block is worth it.
const LEAST: usize = 8 << 20;
/// Bytes behind the last lane that threads may touch.
const PADDING: u64 = 256;

/// The blocks of a GPU.
pub(super) struct Sparse {
    device: sys::CUdevice,
    /// Bytes that come together; 0 where the driver has none to give so.
    unit: u64,
    /// Other GPUs, which copy from and to it.
    others: Mutex<Vec<sys::CUdevice>>,
    /// Whether some other cannot.
    is_apart: AtomicBool,
    blocks: Mutex<BTreeMap<u64, Block>>,
}

struct Block {
    /// Bytes of addresses.
    bytes: u64,
    /// Ends and handles of what has memory, by starts.
    backed: BTreeMap<u64, (u64, sys::CUmemGenericAllocationHandle)>,
}

impl Block {
    /// What has no memory of a range.
    fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let (mut start, mut missing) = (range.start, Vec::new());
        for (&first, &(end, _)) in self.backed.range(..range.end) {
            if end <= start {
                continue;
            }
            if first > start {
                missing.push(start..first);
            }
            start = end;
        }
        if start < range.end {
            missing.push(start..range.end);
        }
        missing
    }
}

/// Memory of a device.
fn of(device: sys::CUdevice) -> sys::CUmemLocation {
    sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

fn properties(device: sys::CUdevice) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: of(device),
        win32HandleMetaData: ptr::null_mut(),
        // SAFETY: a structure of numbers, of which none is set.
        allocFlags: unsafe { std::mem::zeroed() },
    }
}

impl Sparse {
    pub(super) fn new(device: sys::CUdevice) -> Self {
        let kind = Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
        let mut unit = 0;
        if attribute(device, kind) == 1 {
            let least = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
            // SAFETY: writes one number; where it fails that stays 0.
            let _ = unsafe {
                sys::cuMemGetAllocationGranularity(&raw mut unit, &properties(device), least)
            };
        }
        Self {
            device,
            unit: unit as u64,
            others: Mutex::default(),
            is_apart: AtomicBool::new(false),
            blocks: Mutex::default(),
        }
    }

    /// Whether another GPU copies from and to it.
    pub(super) fn has_met(&self) -> bool {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_apart.load(Ordering::Relaxed) || !others.is_empty()
    }

    /// Another GPU copies from and to it, by itself or not.
    pub(super) fn meets(&self, other: sys::CUdevice, reaches: bool) {
        if reaches {
            self.others.lock().unwrap_or_else(PoisonError::into_inner).push(other);
        } else {
            self.is_apart.store(true, Ordering::Relaxed);
        }
    }

    fn blocks(&self) -> MutexGuard<'_, BTreeMap<u64, Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block that has no memory yet, or `None` where there are no such blocks, or of so few bytes. The context is current.
    pub(super) fn reserve(&self, bytes: usize) -> Option<u64> {
        if bytes < LEAST || self.unit == 0 || self.is_apart.load(Ordering::Relaxed) {
            return None;
        }
        let bytes = (bytes as u64 + PADDING).checked_next_multiple_of(self.unit)?;
        let mut address = 0;
        // SAFETY: writes one address.
        let reserved =
            unsafe { sys::cuMemAddressReserve(&raw mut address, exactly(bytes), 0, 0, 0) };
        if reserved != CUresult::CUDA_SUCCESS {
            return None;
        }
        self.blocks().insert(address, Block { bytes, backed: BTreeMap::new() });
        Some(address)
    }

    /// Gives memory to what has none of bytes of a block: calls `made` with start and length of what is new. The context
    /// is current.
    ///
    /// # Errors
    /// What the driver says, or `made`.
    pub(super) fn back<E: From<CUresult>>(
        &self,
        address: u64,
        bytes: &Range<u64>,
        mut made: impl FnMut(u64, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut blocks = self.blocks();
        // Other blocks have all of it.
        let Some(block) = blocks.get_mut(&address).filter(|_| !bytes.is_empty()) else {
            return Ok(());
        };
        let end = (bytes.end + PADDING).next_multiple_of(self.unit).min(block.bytes);
        for missing in block.missing(bytes.start / self.unit * self.unit..end) {
            let n = exactly::<usize>(missing.end - missing.start);
            let start = address + missing.start;
            let handle = self.map(start, n)?;
            block.backed.insert(missing.start, (missing.end, handle));
            made(start, n)?;
        }
        Ok(())
    }

    /// Memory at addresses, which the GPU and the others reach.
    fn map(&self, start: u64, bytes: usize) -> Result<sys::CUmemGenericAllocationHandle, CUresult> {
        let mut handle = 0;
        // SAFETY: writes one handle.
        let created =
            unsafe { sys::cuMemCreate(&raw mut handle, bytes, &properties(self.device), 0) };
        if created != CUresult::CUDA_SUCCESS {
            return Err(created);
        }
        // SAFETY: the addresses are reserved, have no memory, and are as many as the handle has bytes.
        let mapped = unsafe { sys::cuMemMap(start, bytes, 0, handle, 0) };
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let devices = std::iter::once(self.device).chain(others.iter().copied());
        let reaches: Vec<_> =
            devices.map(|device| sys::CUmemAccessDesc { location: of(device), flags }).collect();
        let result = match mapped {
            // SAFETY: the addresses were just mapped.
            CUresult::CUDA_SUCCESS => unsafe {
                sys::cuMemSetAccess(start, bytes, reaches.as_ptr(), reaches.len())
            },
            failed => failed,
        };
        if result == CUresult::CUDA_SUCCESS {
            return Ok(handle);
        }
        // SAFETY: nobody knows of it; what was not mapped the driver refuses.
        let _ = unsafe { sys::cuMemUnmap(start, bytes) };
        // SAFETY: as above.
        let _ = unsafe { sys::cuMemRelease(handle) };
        Err(result)
    }

    /// Forgets such a block; what gives it back once nothing uses it. `None` if it was none.
    pub(super) fn release(&self, address: u64) -> Option<impl FnOnce() + use<>> {
        let block = self.blocks().remove(&address)?;
        Some(move || {
            for (start, (end, handle)) in block.backed {
                // SAFETY: mapped in `map`, and nothing under way uses it.
                let _ = unsafe { sys::cuMemUnmap(address + start, exactly(end - start)) };
                // SAFETY: as above.
                let _ = unsafe { sys::cuMemRelease(handle) };
            }
            // SAFETY: reserved in `reserve`, and nothing is mapped there.
            let _ = unsafe { sys::cuMemAddressFree(address, exactly(block.bytes)) };
        })
    }
}
