//! What a leader asks of ranks, and what they answer.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::greeting::Build;
use super::local::{Machine, RanksOn};
use crate::backend::memory::{Parcel, Piece, Reach};
use crate::backend::primitive::PrimitiveCall;
use crate::backend::{CodeStatistics, Failures, FileLanes, Look, Origin, Ran, SortedRun};
use crate::error::Error;
use crate::ir::kernel::{Kernel, LiteralMode};

/// What a rank is asked. Addresses are those of its own memory.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Request {
    /// Says who asks, and what the rank is to compute on. It stays the first of these, and begins with the build.
    Hello {
        build: Build,
        rank: usize,
        on: RanksOn,
    },
    /// A block of zeroed memory.
    Alloc {
        bytes: usize,
    },
    /// A block whose bytes have memory when that is asked for.
    Reserve {
        bytes: usize,
    },
    /// Has bytes of such a block be there.
    Back {
        block: u64,
        bytes: Range<u64>,
    },
    /// Gives a block back; not answered.
    Free {
        address: u64,
        bytes: usize,
    },
    Fill {
        address: u64,
        pattern: u64,
        width: usize,
        n: u64,
    },
    Copy {
        target: u64,
        source: u64,
        bytes: usize,
    },
    /// The bytes come behind it.
    Write {
        address: u64,
    },
    /// The bytes come behind the answer.
    Read {
        address: u64,
        bytes: usize,
    },
    /// Looks at sorted words.
    Look {
        run: SortedRun,
        look: Look,
    },
    /// Copies from the memory of other processes.
    Fetch {
        pieces: Vec<Piece>,
    },
    /// Sends bytes to other ranks, and receives others.
    Exchange {
        sends: Vec<Parcel>,
        receives: Vec<Parcel>,
    },
    /// Begins to meet the GPUs of other ranks.
    Join {
        invitation: Vec<u8>,
        place: [usize; 2],
    },
    /// Begins to send bytes to those GPUs, and to receive others.
    ExchangeAmongGpus {
        sends: Vec<Parcel>,
        receives: Vec<Parcel>,
    },
    /// Waits a moment for what was begun among GPUs.
    Settle,
    /// Gives up the GPUs of other ranks.
    Leave,
    /// Reads lanes of a file.
    Load {
        address: u64,
        lanes: FileLanes,
    },
    /// Writes lanes into a file.
    Save {
        address: u64,
        lanes: FileLanes,
    },
    Capacity,
    /// Whether nothing is known to write to a block any more.
    IsReady {
        address: u64,
    },
    /// Waits for what writes to a block.
    Wait {
        address: u64,
    },
    /// Waits for all that was launched.
    Sync,
    /// Compiles a kernel, which has this number from then on.
    Lower {
        number: u64,
        kernel: Box<Kernel>,
        mode: LiteralMode,
    },
    /// Forgets a kernel; not answered.
    Forget {
        number: u64,
    },
    Launch {
        number: u64,
        words: Vec<u64>,
        n: u64,
    },
    RunRange {
        number: u64,
        words: Vec<u64>,
        lanes: Range<u64>,
    },
    Primitive {
        call: PrimitiveCall,
    },
}

impl Request {
    pub(super) fn is_answered(&self) -> bool {
        !matches!(self, Self::Free { .. } | Self::Forget { .. })
    }

    /// Whether a rank that is at it hears that it is to stop; all else is over soon. Of a rank that was not greeted nobody
    /// knows whether it heeds the signal already, which ends other processes.
    pub(super) fn can_be_stopped(&self) -> bool {
        !matches!(
            self,
            Self::Hello { .. }
                | Self::Join { .. }
                | Self::ExchangeAmongGpus { .. }
                | Self::Settle
                | Self::Leave
        )
    }

    /// Whether a GPU may be at work with it when the answer has come.
    pub(super) fn gives_work(&self) -> bool {
        matches!(
            self,
            Self::Fill { .. }
                | Self::Copy { .. }
                | Self::Write { .. }
                | Self::Load { .. }
                | Self::Launch { .. }
                | Self::RunRange { .. }
                | Self::Primitive { .. }
        )
    }
}

/// What a rank answers.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Reply {
    /// As the one that asks.
    Hello {
        build: Build,
        device: String,
        host: Machine,
        /// How others find its memory, where that is the host's.
        reach: Option<Reach>,
        /// Which GPU it computes on, if it does.
        gpu: Option<u128>,
    },
    Done,
    Address(Option<u64>),
    Capacity(u64),
    /// Whether it reached a file or other processes, has the memory, is ready, or is done: what was asked.
    Is(bool),
    Code(Code),
    Launched(Failures),
    Ran(Ran),
    /// What there was to see.
    Seen(Vec<u128>),
    /// How long a primitive took.
    Took(Duration),
    Failed(Failure),
}

/// What a leader is told of compiled code.
#[derive(Serialize, Deserialize, Debug, Clone, Copy)]
pub(super) struct Code {
    pub(super) runs_ranges: bool,
    bytes: usize,
    registers: usize,
    spills: usize,
    compiled: Option<Duration>,
    /// Of a lane, about.
    pub(super) nanoseconds: f64,
}

impl Code {
    pub(super) fn of(code: CodeStatistics, runs_ranges: bool, nanoseconds: f64) -> Self {
        let compiled = if let Origin::Driver(time) = code.origin { Some(time) } else { None };
        let CodeStatistics { bytes, registers, spills, .. } = code;
        Self { runs_ranges, bytes, registers, spills, compiled, nanoseconds }
    }

    pub(super) fn statistics(self) -> CodeStatistics {
        let Self { bytes, registers, spills, .. } = self;
        let origin = self.compiled.map_or(Origin::Own, Origin::Driver);
        CodeStatistics { bytes, registers, spills, origin }
    }
}

/// Why a rank could not.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Failure {
    Interrupted,
    Memory {
        requested: String,
        used: String,
        limit: String,
    },
    /// Its device failed, and may have lost what it had.
    Device {
        reason: String,
        lost: bool,
    },
    /// What its compiler says.
    Compilation(String),
    Other(String),
}

impl Failure {
    pub(super) fn of(error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Interrupted,
            Error::OutOfMemory { requested, used, limit, .. } => {
                Self::Memory { requested, used, limit }
            }
            Error::DeviceFailed { device, what, reason, lost } => {
                Self::Device { reason: format!("{device} failed while {what}: {reason}"), lost }
            }
            // It is the rank's name that matters.
            Error::Compilation { message, .. } => Self::Compilation(message),
            Error::NoDevice { reason, .. } => Self::Other(reason),
            other => Self::Other(other.to_string()),
        }
    }

    /// As an error of the leader's, which names the rank.
    pub(super) fn at(self, rank: &str) -> Error {
        match self {
            Self::Interrupted => Error::Interrupted,
            Self::Memory { requested, used, limit } => {
                let limit = format!("{limit} of {rank}");
                Error::OutOfMemory { requested, used, limit, largest: String::new() }
            }
            Self::Device { reason, lost } => {
                Error::DeviceFailed { device: rank.into(), what: "working", reason, lost }
            }
            Self::Compilation(message) => Error::Compilation { device: rank.into(), message },
            Self::Other(reason) => Error::NoDevice { name: rank.into(), reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a rank could not do, as its leader tells it.
    #[test]
    fn failures_name_the_rank() {
        let told = |error| Failure::of(error).at("rank 1");
        let failed = |lost| Error::DeviceFailed {
            device: "cuda:1".into(),
            what: "launching a kernel",
            reason: "no".into(),
            lost,
        };
        let text = "rank 1 failed while working: cuda:1 failed while launching a kernel: no";
        assert_eq!(told(failed(false)).to_string(), text);
        assert!(told(failed(true)).to_string().starts_with(&format!("{text}; the arrays")));
        assert!(matches!(told(failed(true)), Error::DeviceFailed { lost: true, .. }));
        let none = Error::NoDevice { name: "cuda:0".into(), reason: "there is none".into() };
        assert_eq!(told(none).to_string(), "no device \"rank 1\": there is none");
        let refused = |device: &str| Error::Compilation {
            device: device.into(),
            message: "ptxas: no".into(),
        };
        assert_eq!(told(refused("cuda:1")), refused("rank 1"));
        assert_eq!(told(Error::Interrupted), Error::Interrupted);
    }
}
