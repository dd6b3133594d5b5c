//! Compiled kernels by the hash of their structure, and what literals do to it (S3).
//!
//! The first compilation of a structure embeds its literals. When the structure comes again with other
//! values, one more compilation turns every literal into a parameter, for good. So a loop over a
//! changing scalar compiles a structure twice, however long it runs. A device whose compiler is slow may give
//! the first launch a quick version of its own ([`Backend::quick_version`]).

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
    /// What was compiled, if that is not the kernel itself.
    pub quick_version: Option<Kernel>,
}

/// Executables of one device.
#[derive(Default)]
pub struct Cache {
    entries: HashMap<KernelHash, Entry>,
}

enum Entry {
    /// The first launch had a quick version; the next one gets better code. Until then it stays: giving it
    /// back would wait for that launch.
    Quick {
        literals: Vec<u64>,
        _executable: Arc<dyn Executable>,
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
    /// The executable for a kernel, compiled if need be.
    ///
    /// # Errors
    /// What the backend's compiler says; remembered for the same structure.
    pub fn get(&mut self, kernel: &Kernel, backend: &dyn Backend) -> Result<Found> {
        let hit = |executable: &Arc<dyn Executable>, mode| {
            let executable = executable.clone();
            Ok(Found { executable, result: CacheResult::Hit, mode, quick_version: None })
        };
        let values = || kernel.literals.iter().map(|&(_, bits)| bits);
        let (mode, is_first) = match self.entries.get(&kernel.hash) {
            Some(Entry::Parametric { executable }) => {
                return hit(executable, LiteralMode::Parameter);
            }
            Some(Entry::Embedded { literals, executable })
                if values().eq(literals.iter().copied()) =>
            {
                return hit(executable, LiteralMode::Embedded);
            }
            Some(Entry::Failed { error }) => return Err(error.clone()),
            Some(Entry::Quick { literals, .. }) if values().eq(literals.iter().copied()) => {
                (LiteralMode::Embedded, false)
            }
            Some(Entry::Embedded { .. } | Entry::Quick { .. }) => (LiteralMode::Parameter, false),
            None => (LiteralMode::Embedded, true),
        };
        let quick = if is_first { backend.quick_version(kernel, mode) } else { None };
        let compiled = backend.lower(quick.as_ref().unwrap_or(kernel), mode);
        let entry = match &compiled {
            Ok(executable) if quick.is_some() => {
                Entry::Quick { literals: values().collect(), _executable: executable.clone() }
            }
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
        Ok(Found { executable, result, mode, quick_version: quick })
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
