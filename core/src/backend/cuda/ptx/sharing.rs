//! How the threads of a launch share its lanes.

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Code, Kernel};
use crate::ir::legal::legalise;

/// Lanes that are reduced together, by one warp (S11).
pub const CHUNK: u64 = 4096;
/// Lanes of a chunk that a warp runs at once: its accumulators.
pub const LANES_PER_WARP: u64 = 32;

/// The variant of kernels of which a thread runs one lane.
pub const ONE_LANE: u64 = 1;
/// The variant of kernels that run the members of a batch, blocks along y each: their parameter blocks lie behind each
/// other in memory. A kernel may be of both.
pub const BATCH: u64 = 2;

/// Bytes that a thread moves at once.
const VECTOR_BYTES: usize = 16;
/// Most lanes in flight in a thread that are not neighbours.
const MOST_INTERLEAVED: u32 = 4;
/// Rows of a chunk in flight in a warp.
const ROWS: u32 = 8;
/// Instructions from which on more of them cost more time to compile than they save.
const LONG: usize = 512;
/// Instructions of all lanes in flight from which on one lane a thread compiles much sooner.
const DEAR: usize = 64;

/// How threads share the lanes of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A thread runs this many neighbouring lanes.
    Lanes(u32),
    /// A thread runs this many lanes, [`LANES_PER_WARP`] apart, so that the threads of a warp run neighbours.
    Interleaved(u32),
    /// A warp runs a chunk of [`CHUNK`] lanes, this many rows of 32 at a time.
    Chunks(u32),
}

impl Sharing {
    /// How the threads of a kernel share its lanes.
    pub fn of(kernel: &Kernel) -> Self {
        Self::of_legal(&legalise(kernel))
    }

    /// The same for a kernel whose operations the device has.
    pub(super) fn of_legal(kernel: &Kernel) -> Self {
        let (reduces, gathers) = (kernel.reductions().next().is_some(), gathers(kernel));
        let mut lanes = if kernel.has_regions() || kernel.variant & ONE_LANE != 0 {
            1
        } else if reduces {
            ROWS
        } else {
            let widest = streamed(kernel).map(DType::bytes).max().unwrap_or(4);
            let most = if gathers { MOST_INTERLEAVED } else { u32::MAX };
            exactly::<u32>(VECTOR_BYTES / widest).min(most)
        };
        while lanes > 1 && n_insts(kernel, lanes) > LONG {
            lanes /= 2;
        }
        match lanes {
            _ if reduces => Self::Chunks(lanes),
            2.. if gathers => Self::Interleaved(lanes),
            _ => Self::Lanes(lanes),
        }
    }

    /// The threads that `n` lanes need, of blocks of whole warps.
    pub fn threads(self, n: u64) -> u64 {
        match self {
            Self::Lanes(lanes) => n.div_ceil(lanes.into()),
            Self::Interleaved(lanes) => {
                n.div_ceil(LANES_PER_WARP * u64::from(lanes)) * LANES_PER_WARP
            }
            Self::Chunks(_) => n.div_ceil(CHUNK) * LANES_PER_WARP,
        }
    }

    /// Lanes from one in flight in a thread to the next.
    pub(super) const fn distance(self) -> u64 {
        match self {
            Self::Lanes(_) => 1,
            Self::Interleaved(_) | Self::Chunks(_) => LANES_PER_WARP,
        }
    }

    /// Whether several lanes are in flight in a thread, and that makes for much to compile.
    pub fn is_dear(kernel: &Kernel) -> bool {
        let kernel = &legalise(kernel);
        let lanes = Self::of_legal(kernel).lanes();
        lanes > 1 && n_insts(kernel, lanes) >= DEAR
    }

    /// Lanes in flight in a thread.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::Lanes(lanes) | Self::Interleaved(lanes) | Self::Chunks(lanes) => lanes,
        }
    }
}

fn n_insts(kernel: &Kernel, lanes: u32) -> usize {
    kernel.lane_insts().len() * lanes as usize
}

/// Whether lanes read elsewhere and write nowhere else: as often as not near to where their neighbours read, so that a warp
/// that reads for neighbours reads from few lines of memory.
fn gathers(kernel: &Kernel) -> bool {
    let mut lanes = kernel.lane_insts().iter();
    lanes.any(|inst| matches!(inst.code, Code::Gather { .. })) && !kernel.has_scatter()
}

/// Types of the arrays that are read or written lane by lane.
fn streamed(kernel: &Kernel) -> impl Iterator<Item = DType> + '_ {
    let lanes = kernel.insts[kernel.n_uniform..].iter();
    let streamed = lanes.filter(|inst| matches!(inst.code, Code::Load(_) | Code::Store(_)));
    streamed.map(|inst| inst.dtype)
}
