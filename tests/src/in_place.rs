//! A device that works in place: the interpreter, with copies of the inputs that outputs overwrite.
//!
//! Afterwards such an input is as lost as on a device that overwrites it lane by lane, so results differ
//! if anything still needed it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use porcini_core::backend::host::HostMemory;
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{PrimitiveCall, Room};
use porcini_core::backend::{Backend, Capacity, CodeStatistics, Executable, Launched, Memory};
use porcini_core::ir::kernel::{BufferIndex, Kernel, LiteralMode, ParamBlock, WORD_SIZE};
use porcini_core::{Error, Result};

/// Called once, by the next allocation.
type Hook = Box<dyn FnOnce() + Send>;

/// The device.
pub struct InPlace {
    interp: Interp,
    trouble: Arc<Trouble>,
}

/// What a test wants to go wrong.
#[derive(Default)]
pub struct Trouble {
    /// Launches in place write half of their lanes and fail.
    pub fail: AtomicBool,
    on_alloc: Mutex<Option<Hook>>,
}

impl Trouble {
    /// Has the next block that the device hands out call `hook`: what another thread does while a launch
    /// gets its buffers.
    pub fn on_alloc(&self, hook: impl FnOnce() + Send + 'static) {
        *self.on_alloc.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }
}

impl InPlace {
    /// The device, with trouble as asked for.
    pub fn new(trouble: Arc<Trouble>) -> Self {
        Self { interp: Interp::new(Isa::detect(), 2), trouble }
    }
}

impl Backend for InPlace {
    fn name(&self) -> String {
        "in place".into()
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        let code = self.interp.lower(kernel, mode)?;
        Ok(Arc::new(Loaded { code, kernel: kernel.clone(), trouble: self.trouble.clone() }))
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.interp.run_primitive(call, room)
    }

    fn memory(&self) -> &dyn Memory {
        self
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl Memory for InPlace {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        let hook = self.trouble.on_alloc.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(hook) = hook {
            hook();
        }
        HostMemory.alloc_raw(bytes)
    }

    fn free_raw(&self, address: u64, bytes: usize) {
        HostMemory.free_raw(address, bytes);
    }

    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()> {
        HostMemory.fill(address, pattern, bytes, n)
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        HostMemory.copy(target, source, bytes)
    }

    fn write(&self, target: u64, source: &[u8]) -> Result<()> {
        HostMemory.write(target, source)
    }

    fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        HostMemory.read(source, target)
    }

    fn capacity(&self) -> Capacity {
        HostMemory.capacity()
    }
}

struct Loaded {
    code: Arc<dyn Executable>,
    kernel: Kernel,
    trouble: Arc<Trouble>,
}

impl Executable for Loaded {
    fn launch(&self, mut params: ParamBlock, n: u64) -> Result<Launched> {
        let words: Vec<usize> = (0..self.kernel.buffers.len())
            .map(|i| self.kernel.address_word(BufferIndex(u32::try_from(i).unwrap_or(u32::MAX))))
            .collect();
        let buffers = || words.iter().zip(&self.kernel.buffers);
        let written: Vec<u64> = buffers()
            .filter(|(_, buffer)| buffer.written)
            .map(|(&word, _)| params.words()[word])
            .collect();
        let mut copies = Vec::new();
        for (&word, buffer) in buffers().filter(|(_, buffer)| !buffer.written) {
            let address = params.words()[word];
            if written.contains(&address) {
                let bytes = usize::try_from(n).unwrap_or(usize::MAX) * buffer.dtype.bytes();
                let copy = HostMemory.alloc_raw(bytes).expect("no memory for a test");
                HostMemory.copy(copy, address, bytes)?;
                params.set(word, copy);
                copies.push((copy, bytes));
            }
        }
        assert_eq!(params.in_place, !copies.is_empty(), "the mark of a launch in place");
        let fails = params.in_place && self.trouble.fail.load(Ordering::Relaxed);
        let n = if fails { n / 2 } else { n };
        params.set(WORD_SIZE, n);
        let result = self.code.launch(params, n);
        for (copy, bytes) in copies {
            HostMemory.free_raw(copy, bytes);
        }
        if fails { Err(Error::Interrupted) } else { result }
    }

    fn writes_in_place(&self) -> bool {
        true
    }

    fn statistics(&self) -> CodeStatistics {
        self.code.statistics()
    }
}
