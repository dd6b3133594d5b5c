//! Code of others: modules that NVRTC or somebody else compiled.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::gpu::foreign::ForeignLaunch;
use super::gpu::{Function, Gpu, Module};
use crate::backend::{LaunchShape, LoadedEntry, LoadedModule};
use crate::error::{Error, Result};

/// Bytes of shared memory that every entry may have without being asked.
const USUAL_SHARED: u32 = 48 << 10;

/// A module on a GPU.
pub(super) struct Foreign {
    gpu: Arc<Gpu>,
    module: Module,
}

/// An entry of one.
struct Entry {
    module: Arc<Foreign>,
    name: Arc<str>,
    function: Function,
    /// What the driver said of threads, by bytes of shared memory, last asked last.
    threads: Mutex<Vec<(u32, [u32; 2])>>,
}

/// Amounts of shared memory whose threads are remembered.
const MOST_KNOWN: usize = 8;

impl Foreign {
    /// Loads code; PTX ends with a zero.
    ///
    /// # Errors
    /// It is not for this GPU.
    pub(super) fn load(gpu: &Arc<Gpu>, code: &[u8]) -> Result<Self> {
        let module = gpu.load(code)?;
        Ok(Self { gpu: gpu.clone(), module })
    }
}

impl LoadedModule for Foreign {
    fn entry(
        self: Arc<Self>,
        name: &str,
        sizes: &[usize],
        is_sure: bool,
    ) -> Result<Arc<dyn LoadedEntry>> {
        let function = self.gpu.function(&self.module, name)?;
        // The driver counts a question for one too many as an error, which tools report.
        let most = sizes.len() + usize::from(!is_sure);
        if let Some(taken) = self.gpu.parameter_sizes(function, most)
            && taken != sizes
        {
            let list =
                |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let (given, taken) = (list(sizes), list(&taken));
            let what =
                format!("the signature has parameters of {given} bytes, the code of {taken}");
            return Err(Error::Kernel { what: format!("kernel `{name}`: {what}"), remedy: None });
        }
        Ok(Arc::new(Entry { module: self, name: name.into(), function, threads: Mutex::default() }))
    }

    fn variable(&self, name: &str) -> Option<[u64; 2]> {
        self.gpu.variable(&self.module, name)
    }
}

impl LoadedEntry for Entry {
    fn threads(&self, shared_bytes: u32) -> [u32; 2] {
        let mut known = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, threads)) = known.iter().find(|(bytes, _)| *bytes == shared_bytes) {
            return *threads;
        }
        let gpu = &self.module.gpu;
        let most = gpu.resources(self.function).most_threads;
        let best = gpu.best_block(self.function, shared_bytes).unwrap_or(256).min(most);
        if known.len() == MOST_KNOWN {
            known.remove(0);
        }
        known.push((shared_bytes, [most, best]));
        [most, best]
    }

    fn most_shared(&self) -> u32 {
        self.module.gpu.most_shared()
    }

    fn resources(&self) -> [u32; 2] {
        let resources = self.module.gpu.resources(self.function);
        [resources.registers, resources.local_bytes]
    }

    fn launch(&self, shape: LaunchShape, args: SmallVec<[u64; 8]>) -> Result<()> {
        let gpu = &self.module.gpu;
        if shape.shared_bytes > USUAL_SHARED {
            // Other kernels may be the same entry, and have asked for less.
            gpu.allow_shared(self.function, shape.shared_bytes)?;
        }
        gpu.launch_foreign(ForeignLaunch {
            gpu: gpu.clone(),
            module: self.module.clone(),
            name: self.name.clone(),
            function: self.function,
            shape,
            args,
        })
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.gpu.unload(&self.module);
    }
}
