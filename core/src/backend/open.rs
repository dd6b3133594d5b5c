//! Which device to use, and opening it: the only place that names concrete backends.

#[cfg(unix)]
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
use super::cpu;
use super::gpus::Gpus;
use super::isa::Isa;
use super::parts::{Parts, WHOLE, WHOLE_ON_GPUS};
use super::queue::Queue;
#[cfg(unix)]
use super::ranks::{self, Launched};
use super::ranks::{RanksOn, gpu_of, host_name};
use super::thread_pool::Pool;
use super::{Backend, GpuBackend as _, Outside, cuda, interp};
use crate::error::{Error, Result};

/// Parts that a processor has at most.
const MOST_PARTS: u16 = 64;

/// Ranks of a device at most, the leader included.
pub const MOST_RANKS: u16 = 1024;

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
    /// GPUs of this host as one device, each a part; arrays of fewer lanes than the number are at the first.
    Gpus(Gpus, u64),
    /// The processor as a device with so many parts; arrays of fewer lanes than the second number are whole at
    /// every part.
    Parts(u16, u64),
    /// This process and others on this machine, so many in all, each a part; arrays of fewer lanes than the second number
    /// are whole at every part, of GPUs at the first.
    Ranks(u16, RanksOn, u64),
    /// Processes that a launcher of MPI has started, of which this one leads; arrays of fewer lanes than the number are whole
    /// at every part, of GPUs at the first.
    #[cfg(unix)]
    Launched(Launched, RanksOn, u64),
}

impl DeviceChoice {
    /// The processor as a device with parts, as `cpu:N` means it.
    pub const fn parts(parts: u16) -> Self {
        Self::Parts(parts, WHOLE)
    }

    /// The processes that a launcher has started with this one, which leads.
    #[cfg(unix)]
    pub const fn launched(launched: Launched, on: RanksOn) -> Self {
        Self::Launched(launched, on, whole(on))
    }

    /// Whether it may have several parts, each with memory of its own.
    pub const fn may_have_parts(self) -> bool {
        #[cfg(unix)]
        if matches!(self, Self::Launched(..)) {
            return true;
        }
        matches!(self, Self::Parts(2.., _) | Self::Ranks(..) | Self::Gpus(..))
    }

    /// GPUs as one device, as `cuda:0-3` means it.
    pub const fn gpus(gpus: Gpus) -> Self {
        Self::Gpus(gpus, WHOLE_ON_GPUS)
    }

    /// Ranks on this machine, as `ranks:N` and `ranks:N:cuda` mean it.
    pub const fn ranks(ranks: u16, on: RanksOn) -> Self {
        Self::Ranks(ranks, on, whole(on))
    }
}

/// Whether a text is a number, though none that was expected.
fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

/// Lanes from which on ranks split arrays.
const fn whole(on: RanksOn) -> u64 {
    match on {
        RanksOn::Processors => WHOLE,
        RanksOn::Gpus => WHOLE_ON_GPUS,
    }
}

impl std::str::FromStr for DeviceChoice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::NoDevice {
            name: name.into(),
            reason: "the devices are auto, cpu, cpu:N (N parts), ranks:N, cuda, cuda:N, cuda:0-3, \
                     cuda:* and ranks:N:cuda"
                .into(),
        };
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ if let Some((kind @ ("cpu" | "ranks"), number)) = name.split_once(':') => {
                let of_gpus = number.strip_suffix(":cuda").filter(|_| kind == "ranks");
                let (make, most): (fn(u16) -> Self, _) = match of_gpus {
                    Some(_) => (|ranks| Self::ranks(ranks, RanksOn::Gpus), MOST_RANKS),
                    None if kind == "cpu" => (Self::parts, MOST_PARTS),
                    None => (|ranks| Self::ranks(ranks, RanksOn::Processors), MOST_RANKS),
                };
                let number = of_gpus.unwrap_or(number);
                match number.parse() {
                    Ok(parts) if (1..=most).contains(&parts) => Ok(make(parts)),
                    Err(_) if !is_number(number) => Err(unknown()),
                    _ => Err(Error::NoDevice {
                        name: name.into(),
                        reason: format!("N of {kind}:N is 1 to {most}"),
                    }),
                }
            }
            _ => {
                let numbers = name.strip_prefix("cuda:").ok_or_else(unknown)?;
                let one = numbers.parse().map(Self::Cuda);
                one.or_else(|_| numbers.parse().map(Self::gpus).map_err(|()| unknown()))
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
            Self::Gpus(gpus, _) => write!(f, "cuda:{gpus}"),
            Self::Parts(parts, _) => write!(f, "cpu:{parts}"),
            Self::Ranks(ranks, on, _) => write!(f, "ranks:{ranks}{on}"),
            #[cfg(unix)]
            Self::Launched(launched, on, _) => write!(f, "mpi:{}{on}", launched.size),
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
        DeviceChoice::Gpus(..) if !cuda::is_installed() => Err(cuda::not_installed(0)),
        DeviceChoice::Cuda(_) | DeviceChoice::Gpus(..) => Ok(true),
        DeviceChoice::Cpu | DeviceChoice::Compiled(_) => Ok(false),
        DeviceChoice::Interp(_) | DeviceChoice::Parts(..) => Ok(false),
        DeviceChoice::Ranks(_, RanksOn::Gpus, _) if !cuda::is_installed() => {
            gpu_for([0, 0]).map(|_| true)
        }
        DeviceChoice::Ranks(..) => Ok(true),
        // All of them wait for each other when they start.
        #[cfg(unix)]
        DeviceChoice::Launched(..) => Ok(false),
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
            let device = open_processor(threads);
            Ok(Arc::new(Parts::of(&device, parts.into(), whole)))
        }
        #[cfg(unix)]
        DeviceChoice::Ranks(ranks, on, whole) => {
            if on == RanksOn::Gpus && outside.launcher.is_some() {
                // A launcher may wait for machines in vain.
                gpu_for([0, 0])?;
            }
            // Where they share the processors of this machine.
            let share = if outside.launcher.is_none() { usize::from(ranks) } else { 1 };
            let threads = (threads / share).max(1);
            let others = || match &outside.launcher {
                Some(launcher) => ranks::launch(launcher, outside, threads, ranks.into(), on),
                None => ranks::start(outside, threads, ranks.into(), on),
            };
            let devices = open_ranks(on, || open_rank(on, [0, 0], threads, outside), others)?;
            Ok(Arc::new(Parts::over(&choice.to_string(), devices, whole)))
        }
        #[cfg(unix)]
        DeviceChoice::Launched(launched, on, whole) => {
            let own = [launched.rank, launched.local];
            let own = || open_rank(on, own, threads, outside);
            let devices = open_ranks(on, own, || ranks::greet(launched, on, outside))?;
            Ok(Arc::new(Parts::over(&choice.to_string(), devices, whole)))
        }
        #[cfg(not(unix))]
        DeviceChoice::Ranks(..) => Err(Error::NoDevice {
            name: choice.to_string(),
            reason: "ranks are processes of Unix".into(),
        }),
        DeviceChoice::Interp(isa) if isa.is_available() => Ok(interpreted(isa, threads)),
        DeviceChoice::Interp(isa) => Err(Error::NoDevice {
            name: format!("interp ({isa})"),
            reason: "this processor lacks the instructions".into(),
        }),
        DeviceChoice::Cuda(number) => Ok(Arc::new(cuda::Cuda::open(number, outside)?)),
        DeviceChoice::Gpus(gpus, whole) => open_gpus(gpus, whole, outside),
    }
}

/// GPUs as one device; of one nothing is asked that costs anything.
fn open_gpus(gpus: Gpus, whole: u64, outside: &Outside) -> Result<Arc<dyn Backend>> {
    let opened = |number| cuda::Cuda::open(number, outside).map(Arc::new);
    let first = opened(gpus.numbers(1)[0])?;
    let numbers = gpus.numbers(cuda::n_gpus().unwrap_or(0));
    if numbers.len() == 1 {
        return Ok(first);
    }
    let others = numbers[1..].iter().copied().map(opened);
    let opened = std::iter::once(Ok(first)).chain(others).collect::<Result<Vec<_>>>()?;
    for (i, gpu) in opened.iter().enumerate() {
        opened[..i].iter().for_each(|other| gpu.meet(&**other));
    }
    let devices = opened.into_iter().map(|gpu| gpu as Arc<dyn Backend>).collect();
    Ok(Arc::new(Parts::over(&format!("cuda:{gpus}"), devices, whole)))
}

/// Opens what a rank computes on: `rank` is its number, and that among the ranks of its host, which says which of the GPUs
/// there it takes.
///
/// # Errors
/// `NoDevice`: there is no GPU for it.
#[cfg(unix)]
pub fn open_rank(
    on: RanksOn,
    rank: [usize; 2],
    threads: usize,
    outside: &Outside,
) -> Result<Arc<dyn Backend>> {
    if on == RanksOn::Processors {
        return Ok(open_processor(threads));
    }
    let opened = cuda::Cuda::open(gpu_for(rank)?, outside).map_err(|error| match error {
        Error::NoDevice { name, reason } => {
            let reason = format!("{name} on {}: {reason}", host_name());
            Error::NoDevice { name: format!("rank {}", rank[0]), reason }
        }
        other => other,
    });
    Ok(Arc::new(opened?))
}

/// What the leader of ranks computes on, and behind it the others: these wait to be greeted, whatever becomes of it, and GPUs
/// are opened beside each other.
#[cfg(unix)]
fn open_ranks(
    on: RanksOn,
    own: impl Fn() -> Result<Arc<dyn Backend>> + Sync,
    others: impl FnOnce() -> Result<Vec<Arc<dyn Backend>>>,
) -> Result<Vec<Arc<dyn Backend>>> {
    let (own, others) = match on {
        RanksOn::Processors => (own(), others()),
        RanksOn::Gpus => thread::scope(|scope| {
            let beside = thread::Builder::new().name("gpu".into()).spawn_scoped(scope, &own);
            let others = others();
            let own = match beside {
                Ok(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // Without a thread one after the other.
                Err(_) => own(),
            };
            (own, others)
        }),
    };
    let mut devices = vec![own?];
    devices.extend(others?);
    Ok(devices)
}

/// The GPU of a rank with these numbers.
fn gpu_for([rank, local]: [usize; 2]) -> Result<u32> {
    let there = cuda::n_gpus().map_err(|why| without_gpu(rank, &why))?;
    gpu_of(local, there).ok_or_else(|| without_gpu(rank, "the driver lists none"))
}

/// Why a rank does not compute on a GPU, and what to do.
fn without_gpu(rank: usize, why: &str) -> Error {
    let host = host_name();
    let remedy =
        "start every rank where there is a GPU, or leave cuda out: they compute on processors then";
    let reason = format!("it has no GPU on {host}: {why}; {remedy}");
    Error::NoDevice { name: format!("rank {rank}"), reason }
}

/// Makes ready, on a thread, what the first kernel of a process needs beside its own code: the tables of the assembler, which
/// take most of a millisecond. For programs that have something else to do first.
pub fn prepare() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
    {
        // Without a thread the first kernel makes them.
        drop(thread::Builder::new().name("prepare".into()).spawn(cpu::prepare));
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

/// The processor, whose launches run before they return.
pub fn open_processor(threads: usize) -> Arc<dyn Backend> {
    best(Isa::detect(), Arc::new(Pool::new(threads)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_shown() {
        let read = |text: &str| text.parse::<DeviceChoice>();
        for text in ["auto", "cpu", "cpu:2", "ranks:2", "ranks:1024:cuda", "cuda:1", "cuda:0-3"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("ranks:2:cuda").unwrap(), DeviceChoice::ranks(2, RanksOn::Gpus));
        let many = "no device \"ranks:1025:cuda\": N of ranks:N is 1 to 1024";
        assert_eq!(read("ranks:1025:cuda").unwrap_err().to_string(), many);
        for text in ["ranks:cuda", "ranks:2:cpu", "ranks:2:cuda:0", "cpu:2:cuda", "ranks:2:"] {
            let unknown = format!("no device \"{text}\": the devices are auto, cpu, ");
            assert!(read(text).unwrap_err().to_string().starts_with(&unknown), "{text}");
        }
        for text in ["cpu:0", "cpu:65", "cpu:-1", "cpu:100000"] {
            let message = format!("no device \"{text}\": N of cpu:N is 1 to 64");
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
    }

    /// Arrays are split where that pays: ranks with GPUs as GPUs do.
    #[test]
    fn what_is_whole_follows_from_what_computes() {
        let whole = |on| match DeviceChoice::ranks(2, on) {
            DeviceChoice::Ranks(_, _, whole) => whole,
            _ => 0,
        };
        assert_eq!([RanksOn::Processors, RanksOn::Gpus].map(whole), [WHOLE, WHOLE_ON_GPUS]);
    }

    #[test]
    fn a_rank_without_a_gpu_says_which_it_is_and_what_to_do() {
        let host = host_name();
        let want = format!(
            "no device \"rank 3\": it has no GPU on {host}: the driver lists none; start every rank where there is a \
             GPU, or leave cuda out: they compute on processors then"
        );
        assert_eq!(without_gpu(3, "the driver lists none").to_string(), want);
    }
}
