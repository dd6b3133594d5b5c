//! Code of others: modules that NVRTC or somebody else compiled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::gpu::{Function, Gpu, Module};
use crate::backend::{LaunchShape, LoadedModule};
use crate::error::{Error, Result};

/// Bytes of shared memory that every entry may have without being asked.
const USUAL_SHARED: u32 = 48 << 10;

/// A module on a GPU.
pub(super) struct Foreign {
    gpu: Arc<Gpu>,
    module: Module,
    entries: Mutex<HashMap<String, Entry>>,
}

/// An entry, and the bytes of each of its parameters, if the driver tells.
#[derive(Clone)]
struct Entry {
    function: Function,
    sizes: Option<Arc<[usize]>>,
}

impl Foreign {
    /// Loads code; PTX ends with a zero.
    ///
    /// # Errors
    /// It is not for this GPU.
    pub(super) fn load(gpu: &Arc<Gpu>, code: &[u8]) -> Result<Self> {
        let module = gpu.load(code)?;
        Ok(Self { gpu: gpu.clone(), module, entries: Mutex::default() })
    }

    fn entry(&self, name: &str) -> Result<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(name) {
            return Ok(entry.clone());
        }
        let function = self.gpu.function(&self.module, name)?;
        let sizes = self.gpu.parameter_sizes(function).map(Arc::from);
        let entry = Entry { function, sizes };
        entries.insert(name.into(), entry.clone());
        Ok(entry)
    }
}

impl LoadedModule for Foreign {
    fn threads(&self, entry: &str, shared_bytes: u32) -> Result<[u32; 2]> {
        let entry = self.entry(entry)?.function;
        let most = self.gpu.resources(entry).most_threads;
        Ok([most, self.gpu.best_block(entry, shared_bytes).unwrap_or(256).min(most)])
    }

    fn most_shared(&self) -> u32 {
        self.gpu.most_shared()
    }

    fn launch(&self, entry: &str, shape: LaunchShape, args: &[Vec<u8>]) -> Result<()> {
        let Entry { function, sizes } = self.entry(entry)?;
        if let Some(sizes) = sizes
            && !sizes.iter().copied().eq(args.iter().map(Vec::len))
        {
            let list = |sizes: &mut dyn Iterator<Item = usize>| {
                sizes.map(|size| size.to_string()).collect::<Vec<_>>().join(", ")
            };
            let (given, taken) =
                (list(&mut args.iter().map(Vec::len)), list(&mut sizes.iter().copied()));
            let what =
                format!("the signature has parameters of {given} bytes, the code of {taken}");
            return Err(Error::Kernel { what: format!("kernel `{entry}`: {what}"), remedy: None });
        }
        if shape.shared_bytes > USUAL_SHARED {
            self.gpu.allow_shared(function, shape.shared_bytes)?;
        }
        self.gpu.launch_foreign(function, shape, args)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.gpu.unload(&self.module);
    }
}
