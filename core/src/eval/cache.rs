//! Compiled kernels by the hash of their structure, and what literals do to it (S3).
//!
//! The first compilation of a structure embeds its literals. When the structure comes again with other
//! values, one more compilation turns every literal into a parameter, for good. So a loop over a
//! changing scalar compiles a structure twice, however long it runs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::backend::{Backend, Executable, Origin};
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, KernelHash, LiteralMode};

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
    /// What it makes of literals.
    pub mode: LiteralMode,
}

/// Executables of one device.
#[derive(Default)]
pub struct Cache {
    entries: HashMap<KernelHash, Entry>,
}

enum Entry {
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
    /// The executable for a kernel, compiled if need be.
    ///
    /// # Errors
    /// What the backend's compiler says; remembered for the same structure.
    pub fn get(&mut self, kernel: &Kernel, backend: &dyn Backend) -> Result<Found> {
        let hit = |executable: &Arc<dyn Executable>, mode| {
            Ok(Found { executable: executable.clone(), result: CacheResult::Hit, mode })
        };
        let values = || kernel.literals.iter().map(|&(_, bits)| bits);
        let mode = match self.entries.get(&kernel.hash) {
            Some(Entry::Parametric { executable }) => {
                return hit(executable, LiteralMode::Parameter);
            }
            Some(Entry::Embedded { literals, executable })
                if values().eq(literals.iter().copied()) =>
            {
                return hit(executable, LiteralMode::Embedded);
            }
            Some(Entry::Failed { error }) => return Err(error.clone()),
            Some(Entry::Embedded { .. }) => LiteralMode::Parameter,
            None => LiteralMode::Embedded,
        };
        let compiled = backend.lower(kernel, mode);
        let entry = match &compiled {
            Ok(executable) => match mode {
                LiteralMode::Embedded => {
                    Entry::Embedded { literals: values().collect(), executable: executable.clone() }
                }
                LiteralMode::Parameter => Entry::Parametric { executable: executable.clone() },
            },
            // An interruption says nothing about the kernel.
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => Entry::Failed { error: error.clone() },
        };
        self.entries.insert(kernel.hash, entry);
        let executable = compiled?;
        let result = match executable.statistics().origin {
            Origin::Disk => CacheResult::Disk,
            Origin::Own | Origin::Driver(_) => CacheResult::Miss,
        };
        Ok(Found { executable, result, mode })
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
