//! Compiled kernels by the hash of their structure, and what literals do to it (S3).
//!
//! The first compilation of a structure embeds its literals. When the structure comes again with other
//! values, one more compilation turns every literal into a parameter, for good. So a loop over a
//! changing scalar compiles a structure twice, however long it runs. Where a compiler is slow, the first launch may
//! have a quick version ([`GpuBackend::quick_version`](crate::backend::GpuBackend::quick_version)), and a structure is then compiled three times at most.

use std::collections::HashMap;
use std::sync::Arc;

use crate::backend::{Backend, Executable, Origin};
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, KernelHash, LiteralMode};
use crate::ir::mix::Mix;

/// How an executable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheResult {
    /// It was there.
    Hit,
    /// An earlier process had it compiled.
    Disk,
    /// It was compiled.
    Miss,
}

/// An executable as the cache gives it.
pub struct Found {
    /// The code.
    pub executable: Arc<dyn Executable>,
    /// How it was found.
    pub result: CacheResult,
    /// Whether literals are embedded or parameters.
    pub mode: LiteralMode,
    /// The kernel that was compiled, if not the original.
    pub quick_version: Option<Box<Kernel>>,
}

/// Executables of one device.
#[derive(Default)]
pub struct Cache {
    entries: HashMap<KernelHash, Entry, Mix>,
    /// Code that was replaced: freeing it may wait for launches of it.
    replaced: Vec<Arc<dyn Executable>>,
}

enum Entry {
    /// The first launch had a quick version; the next one gets better code.
    Quick {
        literals: Vec<u64>,
        executable: Arc<dyn Executable>,
    },
    Embedded {
        literals: Vec<u64>,
        executable: Arc<dyn Executable>,
    },
    Parametric {
        executable: Arc<dyn Executable>,
    },
    /// Compilation failed; it would again.
    Failed {
        error: Error,
    },
}

impl Cache {
    /// The executable for a kernel that is to run `n` lanes, compiled if need be.
    ///
    /// # Errors
    /// What the backend's compiler says; remembered for the same structure.
    pub fn get(&mut self, kernel: &Kernel, n: u64, backend: &dyn Backend) -> Result<Found> {
        let hit = |executable: &Arc<dyn Executable>, mode| {
            let executable = executable.clone();
            Ok(Found { executable, result: CacheResult::Hit, mode, quick_version: None })
        };
        let values = || kernel.literals.iter().map(|&(_, bits)| bits);
        let are = |literals: &[u64]| values().eq(literals.iter().copied());
        let entry = self.entries.get(&kernel.hash);
        let mode = match entry {
            Some(Entry::Parametric { executable }) => {
                return hit(executable, LiteralMode::Parameter);
            }
            Some(Entry::Embedded { literals, executable }) if are(literals) => {
                return hit(executable, LiteralMode::Embedded);
            }
            Some(Entry::Failed { error }) => return Err(error.clone()),
            Some(Entry::Quick { literals, .. }) if are(literals) => LiteralMode::Embedded,
            Some(Entry::Embedded { .. } | Entry::Quick { .. }) => LiteralMode::Parameter,
            None => LiteralMode::Embedded,
        };
        let quick_version = match entry {
            None => backend.gpu().and_then(|gpu| gpu.quick_version(kernel, mode, n)).map(Box::new),
            Some(_) => None,
        };
        let executable =
            match (backend.lower(quick_version.as_deref().unwrap_or(kernel), mode), entry) {
                (Ok(executable), _) => executable,
                // An interruption says nothing about the kernel.
                (Err(Error::Interrupted), _) => return Err(Error::Interrupted),
                // What ran once can run again.
                (Err(_), Some(Entry::Quick { literals, executable })) if are(literals) => {
                    executable.clone()
                }
                (Err(error), _) => {
                    self.entries.insert(kernel.hash, Entry::Failed { error: error.clone() });
                    return Err(error);
                }
            };
        let (literals, code) = (values().collect(), executable.clone());
        let entry = match mode {
            _ if quick_version.is_some() => Entry::Quick { literals, executable: code },
            LiteralMode::Embedded => Entry::Embedded { literals, executable: code },
            LiteralMode::Parameter => Entry::Parametric { executable: code },
        };
        if let Some(Entry::Quick { executable, .. } | Entry::Embedded { executable, .. }) =
            self.entries.insert(kernel.hash, entry)
        {
            self.replaced.push(executable);
        }
        let result = match executable.statistics().origin {
            Origin::Disk => CacheResult::Disk,
            Origin::Own | Origin::Driver(_) => CacheResult::Miss,
        };
        Ok(Found { executable, result, mode, quick_version })
    }

    /// Number of structures known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was compiled yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
