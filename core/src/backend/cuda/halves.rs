//! Functions of one half float over many lanes: all 65 536 values are computed first, lanes look their results up. The
//! bits are the same, and what takes many instructions a lane runs as fast as a copy.

use super::gpu::{Gpu, Grid, Stream};
use super::launch::{Scratch, Shared};
use super::ptx::{self, Step};
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::kernel::{BufferIndex, HEADER_WORDS, Kernel, KernelHash, ParamBlock};
use crate::ir::legal::legalise;

/// How many values there are.
pub(super) const VALUES: u64 = 1 << 16;
/// Instructions a lane that take no longer than looking up does.
const CHEAP: u64 = 20;
/// Lanes times instructions beyond those from which on it pays: 36 million lanes of a sigmoid, of which 2e8 take 0.30 ms
/// computed and 0.21 looked up on an H200, and computing and reading the table 0.015.
const WORTH: u64 = 1 << 29;
/// Bytes of a vector, to which the lanes are aligned.
const ALIGNMENT: u32 = 16;

/// A kernel that is such a function.
pub(super) struct Halves {
    buffers: [BufferIndex; 2],
    hash: KernelHash,
    /// Instructions a lane.
    cost: u64,
}

/// The function whose results a table has: a kernel with its literals.
pub(super) type Known = (KernelHash, Vec<u64>);

/// All values, a counter, and the results of a function of the values, of a stream.
#[derive(Default)]
pub(super) struct Table {
    pub(super) room: Scratch,
    /// Whether the values are there.
    is_filled: bool,
    function: Option<Known>,
}

impl Halves {
    /// `None` of other kernels, and where blocks have too little shared memory for the table.
    pub(super) fn of(kernel: &Kernel, gpu: &Gpu) -> Option<Self> {
        let buffers = ptx::of_halves(kernel).filter(|_| gpu.most_shared() >= ptx::TABLE_BYTES)?;
        let cost = legalise(kernel).lane_insts().len() as u64;
        (cost > CHEAP).then_some(Self { buffers, hash: kernel.hash, cost })
    }

    /// Runs `n` lanes by a table, if that pays; whether it did. `compute` launches the kernel itself, over the values.
    pub(super) fn run(
        &self,
        shared: &Shared,
        stream: Stream,
        params: &mut ParamBlock,
        (start, n): (u64, u64),
        compute: impl FnOnce(&mut ParamBlock) -> Result<()>,
    ) -> Result<bool> {
        let words = self.buffers.map(BufferIndex::word);
        let arrays = words.map(|word| params.words()[word]);
        let is_aligned = arrays.iter().all(|address| address.is_multiple_of(ALIGNMENT.into()));
        if !is_aligned || n.saturating_mul(self.cost - CHEAP) < WORTH {
            return Ok(false);
        }
        let step = Step::LookedUp;
        let entry = shared.steps.step(step)?;
        shared.gpu.allow_shared(entry, ptx::TABLE_BYTES)?;
        let literals = params.words()[HEADER_WORDS + words.len()..].to_vec();
        let function = Some((self.hash, literals));
        shared.with_table(stream, |known, [values, table, counter]| {
            if *known != function {
                *known = None;
                params.set(words[0], values);
                params.set(words[1], table);
                compute(params)?;
                arrays.iter().zip(words).for_each(|(&array, word)| params.set(word, array));
                *known = function;
            }
            let grid = Grid {
                shared_bytes: ptx::TABLE_BYTES,
                ..Grid::of(shared.gpu.multiprocessors, step.threads())
            };
            let [source, result] = arrays.map(|array| array + 2 * start);
            let words = [n, source, result, table, counter, ptx::tiles(n)];
            shared.gpu.launch(stream, entry, grid, &words)
        })?;
        Ok(true)
    }
}

impl Table {
    /// Bytes of the room.
    pub(super) const BYTES: usize = (2 * ptx::TABLE_BYTES + ALIGNMENT) as usize;

    /// Calls `work` with the function whose results are there, and with the places of the values, the results and a
    /// counter that is 0, in the room at `address`.
    pub(super) fn work(
        &mut self,
        gpu: &Gpu,
        stream: Stream,
        address: u64,
        work: impl FnOnce(&mut Option<Known>, [u64; 3]) -> Result<()>,
    ) -> Result<()> {
        if !self.is_filled {
            let values = (0..VALUES).flat_map(|value| exactly::<u16>(value).to_le_bytes());
            let with_counter: Vec<u8> = values.chain([0; ALIGNMENT as usize]).collect();
            gpu.write(stream, address, &with_counter)?;
            self.is_filled = true;
        }
        let counter = address + u64::from(ptx::TABLE_BYTES);
        work(&mut self.function, [address, counter + u64::from(ALIGNMENT), counter])
    }
}
