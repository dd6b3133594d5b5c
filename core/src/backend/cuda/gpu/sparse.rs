//! Blocks whose addresses are there from the start and whose memory comes as it is needed: where several GPUs share an
//! array, each has memory for what it works on, and all of them the same numbers of lanes.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};

use super::Gpu;
use crate::backend::cuda::driver_library::attribute;
use crate::backend::cuda::order::Use;
use crate::convert::exactly;
use crate::error::Result;

/// Bytes from which on a block is worth it.
const LEAST: usize = 8 << 20;
/// Bytes behind the last lane that threads may touch.
const PADDING: u64 = 256;

/// The blocks of a GPU.
pub(super) struct Sparse {
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
            unit: unit as u64,
            others: Mutex::default(),
            is_apart: AtomicBool::new(false),
            blocks: Mutex::default(),
        }
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
}

impl Gpu {
    /// A block that has no memory yet, or `None` where there are no such blocks, or of so few bytes.
    pub(in super::super) fn reserve(&self, bytes: usize) -> Option<u64> {
        let sparse = &self.sparse;
        if bytes < LEAST || sparse.unit == 0 || sparse.is_apart.load(Ordering::Relaxed) {
            return None;
        }
        self.enter().ok()?;
        let bytes = (bytes as u64 + PADDING).checked_next_multiple_of(sparse.unit)?;
        let mut address = 0;
        // SAFETY: writes one address.
        let reserved =
            unsafe { sys::cuMemAddressReserve(&raw mut address, exactly(bytes), 0, 0, 0) };
        if reserved != CUresult::CUDA_SUCCESS {
            return None;
        }
        sparse.blocks().insert(address, Block { bytes, backed: BTreeMap::new() });
        Some(address)
    }

    /// Sees to it that bytes of a block have memory, zeroed where it is new; whether there is so much.
    ///
    /// # Errors
    /// A failure of the device.
    pub(in super::super) fn back(&self, address: u64, bytes: Range<u64>) -> Result<bool> {
        let unit = self.sparse.unit;
        let mut blocks = self.sparse.blocks();
        // Other blocks have all of it.
        let Some(block) = blocks.get_mut(&address) else { return Ok(true) };
        if bytes.is_empty() {
            return Ok(true);
        }
        let end = (bytes.end + PADDING).next_multiple_of(unit).min(block.bytes);
        for missing in block.missing(bytes.start / unit * unit..end) {
            let n = exactly::<usize>(missing.end - missing.start);
            let start = address + missing.start;
            let Some(handle) = self.map(start, n)? else { return Ok(false) };
            block.backed.insert(missing.start, (missing.end, handle));
            let turn = self.turn([Use::Write(address)], None)?;
            self.fill(turn.stream, start, 0, 1, n)?;
        }
        Ok(true)
    }

    /// Memory at addresses, which it and the others reach; `None` if there is too little.
    fn map(&self, start: u64, bytes: usize) -> Result<Option<sys::CUmemGenericAllocationHandle>> {
        self.enter()?;
        let mut handle = 0;
        // SAFETY: writes one handle.
        let created =
            unsafe { sys::cuMemCreate(&raw mut handle, bytes, &properties(self.device), 0) };
        if created == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Ok(None);
        }
        self.check("making memory", created)?;
        // SAFETY: the addresses are reserved, have no memory, and are as many as the handle has bytes.
        let mapped = unsafe { sys::cuMemMap(start, bytes, 0, handle, 0) };
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let others = self.sparse.others.lock().unwrap_or_else(PoisonError::into_inner);
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
        if result != CUresult::CUDA_SUCCESS {
            // SAFETY: nobody knows of it; what was not mapped the driver refuses.
            let _ = unsafe { sys::cuMemUnmap(start, bytes) };
            // SAFETY: as above.
            let _ = unsafe { sys::cuMemRelease(handle) };
        }
        self.check("making memory", result).map(|()| Some(handle))
    }

    /// Gives such a block back, behind all that uses it; whether it was one.
    pub(in super::super) fn release(&self, address: u64) -> bool {
        let Some(block) = self.sparse.blocks().remove(&address) else { return false };
        // Where the device fails, all that it had is gone.
        if self.wait_until(|| false).is_err() || self.enter().is_err() {
            return true;
        }
        for (start, (end, handle)) in block.backed {
            // SAFETY: mapped in `map`, and nothing under way uses it.
            let _ = unsafe { sys::cuMemUnmap(address + start, exactly(end - start)) };
            // SAFETY: as above.
            let _ = unsafe { sys::cuMemRelease(handle) };
        }
        // SAFETY: reserved in `reserve`, and nothing is mapped there.
        let _ = unsafe { sys::cuMemAddressFree(address, exactly(block.bytes)) };
        true
    }
}
