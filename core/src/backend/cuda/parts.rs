//! Kernels in parts: compiled by several threads, launched one after the other.

use std::sync::{Arc, Mutex, PoisonError};

use super::cut::{Cut, Part, Source};
use super::launch::{Loaded, Shared, address_words, uses};
use super::reports::Words;
use crate::backend::{CodeStatistics, Executable, Failures, Launched, Running};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode, ParamBlock};

/// A kernel whose parts are compiled.
pub(super) struct Parts {
    shared: Arc<Shared>,
    parts: Vec<(Loaded, Layout)>,
    between: Vec<DType>,
    /// As of [`address_words`].
    buffers: Vec<(usize, bool)>,
}

/// Where the words of a part's parameter block come from.
struct Layout {
    /// The part without its instructions.
    kernel: Kernel,
    /// Word of the address of each buffer, and of its length; or the array between parts.
    buffers: Vec<Word>,
    /// Words of the whole kernel's literals.
    literals: std::ops::Range<usize>,
}

enum Word {
    Whole { address: usize, length: Option<usize> },
    Between(usize),
}

impl Parts {
    /// Compiles the parts, as many at a time as there are processors.
    pub(super) fn new(
        shared: &Arc<Shared>,
        whole: &Kernel,
        cut: Cut,
        mode: LiteralMode,
    ) -> Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let waiting = Mutex::new(cut.parts.into_iter().enumerate().rev().collect::<Vec<_>>());
        let done = Mutex::new(Vec::new());
        let work = || {
            loop {
                let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((number, part)) = next else { return };
                let loaded = Loaded::new(shared, &part.kernel, mode);
                let layout = Layout::new(whole, part);
                let result = loaded.map(|loaded| (loaded, layout));
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
            }
        };
        std::thread::scope(|scope| {
            // One that the system refuses is missed: this one does its share.
            let beside = |_| drop(std::thread::Builder::new().spawn_scoped(scope, work));
            (1..threads).for_each(beside);
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|&(number, _)| number);
        let parts = done.into_iter().map(|(_, part)| part).collect::<Result<_>>()?;
        let (shared, buffers) = (shared.clone(), address_words(whole));
        Ok(Self { shared, parts, between: cut.between, buffers })
    }
}

impl Layout {
    fn new(whole: &Kernel, part: Part) -> Self {
        let word = |&source: &Source| match source {
            Source::Between(slot) => Word::Between(slot),
            Source::Whole(buffer) => Word::Whole {
                address: whole.address_word(buffer),
                length: whole.length_word(buffer),
            },
        };
        let buffers = part.buffers.iter().map(word).collect();
        let kernel = Kernel { insts: Vec::new(), ..part.kernel };
        Self { kernel, buffers, literals: whole.literal_word(0)..whole.n_words() }
    }

    /// The part's parameter block, with the arrays between parts at their addresses.
    fn params(&self, whole: &ParamBlock, n: u64, between: &[u64]) -> ParamBlock {
        let words = whole.words();
        let buffers = self.buffers.iter().map(|word| match *word {
            Word::Between(slot) => (between[slot], n),
            Word::Whole { address, length } => {
                (words[address], length.map_or(0, |length| words[length]))
            }
        });
        let buffers: Vec<(u64, u64)> = buffers.collect();
        let mut params = ParamBlock::new(&self.kernel, n, &buffers);
        let first = self.kernel.literal_word(0);
        for (i, word) in self.literals.clone().enumerate() {
            params.set(first + i, words[word]);
        }
        params
    }
}

impl Executable for Parts {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        let lanes = exactly::<usize>(n);
        // Whole blocks, since threads write beyond the last lane.
        let bytes = |dtype: &DType| lanes.saturating_mul(dtype.bytes()).next_multiple_of(256);
        let total = self.between.iter().map(bytes).fold(0, usize::saturating_add);
        // One behind the other: what is between parts is as large as arrays are.
        let turn = self.shared.gpu.turn(uses(&self.buffers, &params), Some(0))?;
        let mut errors = Vec::new();
        self.shared.with_room_between(total, |start| {
            let mut next = start;
            let mut between = Vec::with_capacity(self.between.len());
            for dtype in &self.between {
                between.push(next);
                next += bytes(dtype) as u64;
            }
            for (loaded, layout) in &self.parts {
                let params = layout.params(&params, n, &between);
                errors.extend(loaded.launch_in(turn.stream, params, n)?);
            }
            Ok(())
        })?;
        let ticket = turn.end();
        Ok(match errors.is_empty() {
            true => Launched::Done { failures: Vec::new(), alone: None },
            false => {
                let errors = errors.into_iter().map(|words: Words| words.of(ticket));
                Launched::Running(Box::new(Several(errors.collect())))
            }
        })
    }

    fn statistics(&self) -> CodeStatistics {
        let all = self.parts.iter().map(|(part, _)| part.statistics());
        all.fold(CodeStatistics::default(), |sum, part| CodeStatistics {
            bytes: sum.bytes + part.bytes,
            registers: sum.registers.max(part.registers),
            spills: sum.spills + part.spills,
            origin: sum.origin.and(part.origin),
        })
    }
}

/// The parts of a launch: each access belongs to one of them.
struct Several(Vec<Words>);

impl Running for Several {
    fn failures(&self) -> Failures {
        let parts = self.0.iter().map(Running::failures);
        let merge = |first: Failures, second: Failures| {
            first.into_iter().zip(second).map(|(a, b)| a.or(b)).collect()
        };
        parts.reduce(merge).unwrap_or_default()
    }

    fn is_waiting(&self) -> bool {
        self.0.iter().any(Running::is_waiting)
    }
}
