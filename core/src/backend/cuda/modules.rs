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
    n_asked: usize,
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

    /// The entry, and the sizes of its first parameters up to `most`.
    fn entry(&self, name: &str, most: usize) -> Result<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(name).filter(|entry| entry.n_asked >= most) {
            return Ok(entry.clone());
        }
        let function = self.gpu.function(&self.module, name)?;
        let sizes = self.gpu.parameter_sizes(function, most).map(Arc::from);
        let entry = Entry { function, n_asked: most, sizes };
        entries.insert(name.into(), entry.clone());
        Ok(entry)
    }
}

impl LoadedModule for Foreign {
    fn threads(&self, entry: &str, shared_bytes: u32) -> Result<[u32; 2]> {
        let entry = self.entry(entry, 0)?.function;
        let most = self.gpu.resources(entry).most_threads;
        Ok([most, self.gpu.best_block(entry, shared_bytes).unwrap_or(256).min(most)])
    }

    fn most_shared(&self) -> u32 {
        self.gpu.most_shared()
    }

    fn launch(
        &self,
        entry: &str,
        shape: LaunchShape,
        args: &[Vec<u8>],
        is_sure: bool,
    ) -> Result<()> {
        // The driver counts a question for one too many as an error, which tools report.
        let most = args.len() + usize::from(!is_sure);
        let Entry { function, sizes, .. } = self.entry(entry, most)?;
        if let Some(sizes) = sizes
            && !sizes.iter().take(most).copied().eq(args.iter().map(Vec::len))
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
        self.gpu.launch_foreign(entry, function, shape, args)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.gpu.unload(&self.module);
    }
}
