//! Which device to use, and opening it: the only place that names concrete backends.

use std::sync::Arc;

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
use super::cpu;
use super::isa::Isa;
use super::parts::{Parts, WHOLE};
use super::queue::Queue;
use super::thread_pool::Pool;
use super::{Backend, Outside, cuda, interp};
use crate::error::{Error, Result};

/// Parts that a processor has at most.
const MOST_PARTS: u16 = 1024;

/// Which device a session should use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The best one that answers.
    #[default]
    Auto,
    /// The processor, by the compiler where it has the instructions, else by the interpreter.
    Cpu,
    /// The compiler for a given instruction set.
    Compiled(Isa),
    /// The interpreter at a given width.
    Interp(Isa),
    /// An NVIDIA GPU by number.
    Cuda(u32),
    /// The processor as a device with so many parts; arrays of fewer lanes than the second number are whole at
    /// every part.
    Parts(u16, u64),
}

impl DeviceChoice {
    /// The processor as a device with parts, as `cpu:N` means it.
    pub const fn parts(parts: u16) -> Self {
        Self::Parts(parts, WHOLE)
    }
}

impl std::str::FromStr for DeviceChoice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::NoDevice {
            name: name.into(),
            reason: "the devices are auto, cpu, cpu:N (N parts), cuda and cuda:N".into(),
        };
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ if name.starts_with("cpu:") => match name["cpu:".len()..].parse() {
                Ok(parts @ 1..=MOST_PARTS) => Ok(Self::parts(parts)),
                _ => Err(Error::NoDevice {
                    name: name.into(),
                    reason: format!("the processor can have 1 to {MOST_PARTS} parts"),
                }),
            },
            _ => {
                let number = name.strip_prefix("cuda:").ok_or_else(unknown)?;
                number.parse().map(Self::Cuda).map_err(|_| unknown())
            }
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Cpu => write!(f, "cpu"),
            Self::Compiled(isa) => write!(f, "cpu ({isa})"),
            Self::Interp(isa) => write!(f, "cpu (interp, {isa})"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Parts(parts, _) => write!(f, "cpu:{parts}"),
        }
    }
}

/// Whether opening a device takes so long that it should wait until a value is needed.
///
/// # Errors
/// `NoDevice` if it is already known that it is not there.
pub fn opens_late(choice: DeviceChoice) -> Result<bool> {
    match choice {
        DeviceChoice::Auto => Ok(cuda::is_likely() && cuda::is_installed()),
        DeviceChoice::Cuda(number) if !cuda::is_installed() => Err(cuda::not_installed(number)),
        DeviceChoice::Cuda(_) => Ok(true),
        DeviceChoice::Cpu | DeviceChoice::Compiled(_) => Ok(false),
        DeviceChoice::Interp(_) | DeviceChoice::Parts(..) => Ok(false),
    }
}

/// Opens a device.
///
/// # Errors
/// `NoDevice` if it is not there.
pub fn open(choice: DeviceChoice, threads: usize, outside: &Outside) -> Result<Arc<dyn Backend>> {
    match choice {
        DeviceChoice::Auto if cuda::is_likely() => match cuda::Cuda::open(0, outside) {
            Ok(cuda) => Ok(Arc::new(cuda)),
            Err(_) => open(DeviceChoice::Cpu, threads, outside),
        },
        DeviceChoice::Auto | DeviceChoice::Cpu => {
            Ok(queued(threads, |pool| best(Isa::detect(), pool)))
        }
        DeviceChoice::Compiled(isa) => compiled(isa, threads),
        // Of one part nothing is asked that costs anything.
        DeviceChoice::Parts(0 | 1, _) => open(DeviceChoice::Cpu, threads, outside),
        DeviceChoice::Parts(parts, whole) => {
            let device = best(Isa::detect(), Arc::new(Pool::new(threads)));
            Ok(Arc::new(Parts::of(device, parts.into(), whole)))
        }
        DeviceChoice::Interp(isa) if isa.is_available() => Ok(interpreted(isa, threads)),
        DeviceChoice::Interp(isa) => Err(Error::NoDevice {
            name: format!("interp ({isa})"),
            reason: "this processor lacks the instructions".into(),
        }),
        DeviceChoice::Cuda(number) => Ok(Arc::new(cuda::Cuda::open(number, outside)?)),
    }
}

/// Makes ready, on a thread, what the first kernel of a process needs beside its own code: the tables of the assembler, which
/// take most of a millisecond. For programs that have something else to do first.
pub fn prepare() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
    {
        // Without a thread the first kernel makes them.
        drop(std::thread::Builder::new().name("prepare".into()).spawn(cpu::prepare));
    }
}

/// Whether the system gives executable memory to the compiler for this processor, if there is one; without it kernels
/// are interpreted.
pub fn gives_executable_memory() -> Option<bool> {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
    if Isa::detect() != Isa::Baseline {
        return Some(cpu::gives_executable_memory(&cpu::CpuOptions::default()));
    }
    None
}

/// The compiler for an instruction set, where there is one, else the interpreter.
fn best(isa: Isa, pool: Arc<Pool>) -> Arc<dyn Backend> {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
    if isa != Isa::Baseline && isa.is_available() {
        return Arc::new(cpu::Cpu::with_pool(isa, pool, cpu::CpuOptions::default()));
    }
    Arc::new(interp::Interp::with_pool(isa, pool))
}

/// The compiler for an instruction set.
fn compiled(isa: Isa, threads: usize) -> Result<Arc<dyn Backend>> {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
    if isa != Isa::Baseline && isa.is_available() {
        return Ok(queued(threads, |pool| best(isa, pool)));
    }
    let _ = threads;
    Err(Error::NoDevice {
        name: format!("cpu ({isa})"),
        reason:
            "the compiler makes AVX-512, AVX2 and NEON code, and this processor lacks these instructions"
                .into(),
    })
}

fn interpreted(isa: Isa, threads: usize) -> Arc<dyn Backend> {
    queued(threads, |pool| Arc::new(interp::Interp::with_pool(isa, pool)))
}

/// A device on so many threads, with launches that run while the caller goes on if there are several.
fn queued(threads: usize, open: impl FnOnce(Arc<Pool>) -> Arc<dyn Backend>) -> Arc<dyn Backend> {
    let pool = Arc::new(Pool::new(threads));
    let device = open(pool.clone());
    match pool.threads() {
        1 => device,
        _ => Arc::new(Queue::new(device, pool)),
    }
}
