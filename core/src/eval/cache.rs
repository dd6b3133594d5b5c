//! Compiled kernels by the hash of their structure, and what literals do to it (S3).
//!
//! The first compilation of a structure embeds its literals. When the structure comes again with other
//! values, one more compilation turns every literal into a parameter, for good. So a loop over a
//! changing scalar compiles a structure twice, however long it runs. Where a compiler is slow, the first launch may
//! have a quick version ([`GpuBackend::quick_version`](crate::backend::GpuBackend::quick_version)), and a structure is then compiled three times at most.
//!
//! A session that makes ever new structures keeps those that it used last, in two generations: who is asked for is of the
//! young one, and when that takes half of the room it becomes the old one, and the old one goes. A launch pays a look-up.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Backend, Executable, Origin};
use crate::error::{Error, Result};
use crate::interrupt;
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
pub struct Cache {
    young: Generation,
    old: Generation,
    /// What was compiled before its launch comes.
    ahead: HashMap<KernelHash, Ahead, Mix>,
    /// Bytes that both generations may take together.
    room: usize,
}

/// Structures of which all go together.
#[derive(Default)]
struct Generation {
    entries: HashMap<KernelHash, Entry, Mix>,
    /// What was replaced: freeing code may wait for launches of it.
    replaced: Vec<Entry>,
    bytes: usize,
}

/// Bytes of a structure besides its code, about.
const STRUCTURE: usize = 256;

/// The first compilation of a structure, and the kernel that was compiled, if not the original.
struct Ahead {
    code: Result<Arc<dyn Executable>>,
    quick_version: Option<Box<Kernel>>,
    mode: LiteralMode,
}

/// Threads that compile at a time.
const MOST_THREADS: usize = 8;

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

impl Entry {
    /// Bytes that it takes, about; always the same.
    fn bytes(&self) -> usize {
        STRUCTURE
            + match self {
                Self::Quick { literals, executable } | Self::Embedded { literals, executable } => {
                    size_of_val(&**literals) + executable.held_bytes()
                }
                Self::Parametric { executable } => executable.held_bytes(),
                Self::Failed { .. } => 0,
            }
    }
}

/// Code of a kernel, with all that a launch of `n` lanes needs.
fn lowered(
    backend: &dyn Backend,
    kernel: &Kernel,
    mode: LiteralMode,
    n: u64,
) -> Result<Arc<dyn Executable>> {
    let code = backend.lower(kernel, mode)?;
    code.prepare(n)?;
    Ok(code)
}

impl Cache {
    /// A cache that keeps about as many bytes of kernels.
    pub fn within(room: usize) -> Self {
        let (young, old) = Default::default();
        Self { young, old, ahead: HashMap::default(), room }
    }

    /// Compiles what launches (kernel, lanes, whether literals vary) will want and is not there, side by side, where a
    /// compiler is slow. [`Cache::get`] finds it; what fails is told there.
    pub fn compile_ahead<'k>(
        &mut self,
        launches: impl Iterator<Item = (&'k Kernel, u64, bool)>,
        backend: &dyn Backend,
    ) {
        let Some(gpu) = backend.gpu() else { return };
        let mut seen = HashSet::new();
        let mut wanted = Vec::new();
        for (kernel, n, vary) in launches {
            let hash = &kernel.hash;
            let is_compiled =
                [&self.young, &self.old].iter().any(|one| one.entries.contains_key(hash));
            let is_known = is_compiled || self.ahead.contains_key(hash);
            if !is_known && seen.insert(kernel.hash) {
                let mode = if vary { LiteralMode::Parameter } else { LiteralMode::Embedded };
                wanted.push((kernel, n, mode, gpu.quick_version(kernel, mode, n).map(Box::new)));
            }
        }
        if wanted.len() < 2 {
            return;
        }
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let compiled = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let work = || {
                let claim = || {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    Some(at).filter(|&at| at < wanted.len() && !interrupt::is_requested())
                };
                while let Some(at) = claim() {
                    let (kernel, n, mode, quick) = &wanted[at];
                    let code = lowered(backend, quick.as_deref().unwrap_or(kernel), *mode, *n);
                    compiled.lock().unwrap_or_else(PoisonError::into_inner).push((at, code));
                }
            };
            for _ in 1..n_threads.min(MOST_THREADS).min(wanted.len()) {
                // A thread that the system refuses is one fewer.
                drop(std::thread::Builder::new().spawn_scoped(scope, work));
            }
            work();
        });
        for (at, code) in compiled.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let (kernel, _, mode, quick_version) = &mut wanted[at];
            if !matches!(code, Err(Error::Interrupted)) {
                let quick_version = quick_version.take();
                self.ahead.insert(kernel.hash, Ahead { code, quick_version, mode: *mode });
            }
        }
    }

    /// The executable for a kernel that is to run `n` lanes, compiled if need be; literals that `vary` are parameters.
    ///
    /// # Errors
    /// What the backend's compiler says; remembered for the same structure.
    pub fn get(
        &mut self,
        kernel: &Kernel,
        n: u64,
        vary: bool,
        backend: &dyn Backend,
    ) -> Result<Found> {
        let hit = |executable: &Arc<dyn Executable>, mode| {
            let executable = executable.clone();
            // It may have run fewer lanes so far.
            executable.prepare(n)?;
            Ok(Found { executable, result: CacheResult::Hit, mode, quick_version: None })
        };
        let values = || kernel.literals.iter().map(|&(_, bits)| bits);
        let are = |literals: &[u64]| !vary && values().eq(literals.iter().copied());
        self.renew(kernel.hash);
        let entry = self.young.entries.get(&kernel.hash);
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
            None if vary => LiteralMode::Parameter,
            None => LiteralMode::Embedded,
        };
        let ahead = self.ahead.remove(&kernel.hash).filter(|ahead| ahead.mode == mode);
        let (code, quick_version) = match (ahead, entry) {
            (Some(ahead), None) => (ahead.code, ahead.quick_version),
            (_, entry) => {
                let gpu = backend.gpu().filter(|_| entry.is_none());
                let quick = gpu.and_then(|gpu| gpu.quick_version(kernel, mode, n)).map(Box::new);
                (lowered(backend, quick.as_deref().unwrap_or(kernel), mode, n), quick)
            }
        };
        let executable = match (code, entry) {
            (Ok(executable), _) => executable,
            // An interruption says nothing about the kernel.
            (Err(Error::Interrupted), _) => return Err(Error::Interrupted),
            // What ran once can run again.
            (Err(_), Some(Entry::Quick { literals, executable })) if are(literals) => {
                executable.clone()
            }
            (Err(error), _) => {
                self.insert(kernel.hash, Entry::Failed { error: error.clone() });
                return Err(error);
            }
        };
        let (literals, code) = (values().collect(), executable.clone());
        let entry = match mode {
            _ if quick_version.is_some() => Entry::Quick { literals, executable: code },
            LiteralMode::Embedded => Entry::Embedded { literals, executable: code },
            LiteralMode::Parameter => Entry::Parametric { executable: code },
        };
        self.insert(kernel.hash, entry);
        let result = match executable.statistics().origin {
            Origin::Disk => CacheResult::Disk,
            Origin::Own | Origin::Driver(_) => CacheResult::Miss,
        };
        Ok(Found { executable, result, mode, quick_version })
    }

    /// Makes a structure that is asked for one of the young.
    fn renew(&mut self, hash: KernelHash) {
        if !self.young.entries.contains_key(&hash)
            && let Some(entry) = self.take_old(hash)
        {
            self.insert(hash, entry);
        }
    }

    /// Takes it out of the old ones.
    fn take_old(&mut self, hash: KernelHash) -> Option<Entry> {
        let entry = self.old.entries.remove(&hash)?;
        self.old.bytes = self.old.bytes.saturating_sub(entry.bytes());
        Some(entry)
    }

    /// Makes it one of the young, which grow old if they are too many.
    fn insert(&mut self, hash: KernelHash, entry: Entry) {
        let bytes = entry.bytes();
        if self.young.bytes.saturating_add(bytes) > self.room / 2 {
            self.old = mem::take(&mut self.young);
        }
        self.young.bytes += bytes;
        let before = self.young.entries.insert(hash, entry);
        let before =
            before.or_else(|| self.take_old(hash).inspect(|old| self.young.bytes += old.bytes()));
        self.young.replaced.extend(before);
    }

    /// Forgets all; what runs, or is held elsewhere, lives on.
    pub fn clear(&mut self) {
        *self = Self::within(self.room);
    }

    /// Number of structures that are there.
    pub fn len(&self) -> usize {
        self.young.entries.len() + self.old.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that they take, about.
    pub fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::host::HostMemory;
    use crate::backend::primitive::{PrimitiveCall, Room};
    use crate::backend::{CodeStatistics, Launched, Memory};
    use crate::dtype::DType;
    use crate::ir::kernel::ParamBlock;

    /// A device whose code, which is its own, counts the lanes that it was made ready for.
    #[derive(Clone, Default)]
    struct Prepared(Arc<Mutex<Vec<u64>>>);

    impl Executable for Prepared {
        fn launch(&self, _: ParamBlock, _: u64) -> Result<Launched> {
            Err(Error::Interrupted)
        }

        fn prepare(&self, n: u64) -> Result<()> {
            self.0.lock().unwrap().push(n);
            Ok(())
        }

        fn statistics(&self) -> CodeStatistics {
            CodeStatistics::default()
        }
    }

    impl Backend for Prepared {
        fn name(&self) -> String {
            "prepared".into()
        }

        fn lower(&self, _: &Kernel, _: LiteralMode) -> Result<Arc<dyn Executable>> {
            Ok(Arc::new(self.clone()))
        }

        fn run_primitive(&self, _: &PrimitiveCall, _: Room<'_>) -> Result<()> {
            Err(Error::Interrupted)
        }

        fn memory(&self) -> &dyn Memory {
            &HostMemory
        }

        fn sync(&self) -> Result<()> {
            Ok(())
        }
    }

    /// A structure with a literal.
    fn kernel(hash: u128, literal: u64) -> Kernel {
        Kernel {
            insts: Vec::new(),
            n_uniform: 0,
            first_write: 0,
            buffers: Vec::new(),
            literals: vec![(DType::U64, literal)],
            accesses: Vec::new(),
            n_ops: 1,
            fast_math: false,
            variant: 0,
            hash: KernelHash(hash),
        }
    }

    /// Parts share what is long, of a structure that was short before.
    #[test]
    fn what_is_known_is_made_ready_for_more_lanes() {
        let kernel = kernel(7, 0);
        let (mut cache, device) = (Cache::within(1 << 20), Prepared::default());
        let mut found = |n| cache.get(&kernel, n, false, &device).unwrap().result;
        let results = [1 << 10, 1 << 22, 1 << 10].map(&mut found);
        assert_eq!(results, [CacheResult::Miss, CacheResult::Hit, CacheResult::Hit]);
        assert_eq!(*device.0.lock().unwrap(), [1 << 10, 1 << 22, 1 << 10]);
    }

    /// What was replaced goes with the young ones, and is counted as long as it is there.
    #[test]
    fn what_is_replaced_counts_until_it_goes() {
        // Of one structure for each generation.
        let (mut cache, device) = (Cache::within(3 * STRUCTURE), Prepared::default());
        let held = |cache: &Cache| {
            let entries = [&cache.young, &cache.old].map(|one| {
                let bytes = one.entries.values().chain(&one.replaced).map(Entry::bytes);
                (bytes.sum::<usize>(), one.bytes)
            });
            assert!(entries.iter().all(|(held, counted)| held == counted), "{entries:?}");
        };
        for (hash, literal) in [(7, 1), (7, 2), (8, 1), (7, 3), (8, 2), (9, 1), (7, 4)] {
            cache.get(&kernel(hash, literal), 1, false, &device).unwrap();
            held(&cache);
        }
    }
}
