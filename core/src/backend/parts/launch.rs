//! Launches over parts: each runs its lanes, or all of them, or the first part runs them alone.

use std::ops::Range;
use std::sync::Arc;

use super::partition::Partition;
use super::scatter::Scatters;
use super::shared::{Codes, Shared};
use super::windows::Values;
use crate::backend::reduce;
use crate::backend::{Begun, CodeStatistics, Executable, Failures, Launched, OutOfBounds, Ran};
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::kernel::{
    BufferIndex, BufferParam, Code, HEADER_WORDS, Kernel, LiteralMode, ParamBlock, Reduction, Reg,
};
use crate::ir::legal::legalise;

/// Bytes that all parts get of what a small launch reads; where it reads more, one part runs it.
const WORTH_ALL: u64 = 1 << 20;

/// Lanes come in as many at least: by the index of some behind the last a GPU may read, too, what is in bounds.
const BEYOND: u64 = 256;

/// What a kernel does with a buffer.
#[derive(Clone, Debug, Default)]
struct Use {
    /// Bytes of an element.
    width: usize,
    /// Each lane reads its own element.
    lanes: bool,
    /// All lanes read the first element.
    first: bool,
    /// Lanes read elements by these indices.
    gathers: Vec<Reg>,
    /// Each lane writes its own element.
    stored: bool,
    /// The first element takes a reduction.
    reduced: bool,
    /// Lanes write elements by index.
    scattered: bool,
}

/// A kernel, and what it does with buffers.
pub(super) struct Stage {
    shared: Arc<Shared>,
    codes: Codes,
    kernel: Kernel,
    /// As the device computes them.
    reductions: Vec<Reduction>,
    uses: Vec<Use>,
}

impl Stage {
    /// # Errors
    /// What the device says.
    pub(super) fn new(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Self> {
        let codes = shared.lower(kernel, mode)?;
        Ok(Self {
            shared: shared.clone(),
            codes,
            reductions: legalise(kernel).reductions().collect(),
            uses: uses(kernel),
            kernel: kernel.clone(),
        })
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The address that the session has given for a buffer.
    pub(super) fn address(params: &ParamBlock, buffer: usize) -> u64 {
        params.words()[HEADER_WORDS + buffer]
    }

    /// The parameters as a part has them that runs these lanes, with memory for what they write.
    fn at(&self, part: usize, params: &ParamBlock, lanes: &Range<u64>) -> Result<ParamBlock> {
        let mut own = params.clone();
        for (buffer, used) in self.uses.iter().enumerate() {
            let width = used.width as u64;
            let bytes = match used {
                Use { scattered: true, .. } => 0..u64::MAX,
                Use { stored: true, .. } => lanes.start * width..lanes.end * width,
                Use { reduced: true, .. } => 0..width,
                _ => 0..0,
            };
            let place = self.shared.memory.place(part, Self::address(params, buffer), bytes)?;
            own.set(HEADER_WORDS + buffer, place);
        }
        Ok(own)
    }

    /// Makes a part have what its lanes read, and the targets of scatters.
    fn bring(
        &self,
        part: usize,
        params: &ParamBlock,
        lanes: &Range<u64>,
        is_whole: bool,
    ) -> Result<()> {
        let memory = &self.shared.memory;
        let mut values = None;
        for (buffer, used) in self.uses.iter().enumerate() {
            let address = Self::address(params, buffer);
            let width = used.width as u64;
            let bring = |elements: Range<u64>| {
                let bytes = elements.start * width..elements.end * width;
                self.shared.exchanged.add(memory.bring(part, address, bytes)?);
                Ok(())
            };
            if used.lanes {
                bring(lanes.clone())?;
            }
            if used.first {
                bring(0..1)?;
            }
            if used.scattered && is_whole {
                self.shared.exchanged.add(memory.bring_all(part, address)?);
            }
            for &index in &used.gathers {
                // What is not known to be shorter ends where its block does.
                let length = self.kernel.length_word(BufferIndex(exactly(buffer)));
                let length = length.map_or(u64::MAX / width, |word| params.words()[word]);
                let values = values.get_or_insert_with(|| {
                    let beyond = lanes.start..lanes.end.next_multiple_of(BEYOND);
                    Values::of(&self.kernel, params.words(), &beyond)
                });
                for elements in values.elements(index, length) {
                    bring(elements)?;
                }
            }
        }
        Ok(())
    }

    /// Takes note of what parts have written, each all lanes.
    fn wrote(&self, parts: Range<usize>, params: &ParamBlock, n: u64) {
        let memory = &self.shared.memory;
        for (buffer, used) in self.uses.iter().enumerate() {
            let address = Self::address(params, buffer);
            if used.stored {
                memory.wrote(parts.clone(), address, n * used.width as u64);
            }
            if used.reduced {
                memory.wrote(parts.clone(), address, used.width as u64);
            }
            if used.scattered {
                memory.changed(parts.clone(), address);
            }
        }
    }

    /// The parameters as a part has them that runs all lanes, with what these read.
    fn whole_at(&self, part: usize, params: &ParamBlock, n: u64) -> Result<ParamBlock> {
        self.bring(part, params, &(0..n), true)?;
        self.at(part, params, &(0..n))
    }

    /// Each of some parts runs all lanes.
    fn run_whole(&self, parts: Range<usize>, params: &ParamBlock, n: u64) -> Result<Launched> {
        // Memory is not asked for anything while a part is at work.
        let own = parts.clone().map(|part| self.whole_at(part, params, n));
        let own = own.collect::<Result<Vec<ParamBlock>>>()?;
        let begin = |(part, own): (usize, ParamBlock)| self.codes[part].begin(own, n);
        let launched = all(parts.clone().zip(own).map(begin))?;
        self.wrote(parts, params, n);
        let first = launched.into_iter().next();
        Ok(first.expect("internal error: a launch on no part"))
    }

    /// Each part runs its lanes; the lowest lanes that were out of bounds. What is scattered each writes at its own place.
    pub(super) fn run_parts(&self, params: &ParamBlock, n: u64) -> Result<Failures> {
        let memory = &self.shared.memory;
        let partition = Partition::new(n, memory.parts());
        let parts = 0..memory.parts();
        let own = |part: &usize| !partition.lanes(*part).is_empty();
        for part in parts.clone().filter(own) {
            self.bring(part, params, &partition.lanes(part), false)?;
        }
        let at = |part: usize| Ok((part, self.at(part, params, &partition.lanes(part))?));
        let blocks = parts.clone().filter(own).map(at);
        let blocks = blocks.collect::<Result<Vec<(usize, ParamBlock)>>>()?;
        let begin = |(part, block): (usize, ParamBlock)| {
            let code = self.codes[part].ranges();
            let code = code.expect("internal error: a device that runs no ranges");
            code.begin_range(block, partition.lanes(part))
        };
        let ran = all(blocks.into_iter().map(begin))?;
        for (buffer, used) in self.uses.iter().enumerate().filter(|(_, used)| used.stored) {
            memory.wrote_lanes(Self::address(params, buffer), used.width, n, partition.all());
        }
        for (number, kind) in self.reductions.iter().enumerate() {
            let covers = ran.iter().flat_map(|ran| ran.covers[number].iter().copied());
            let result = reduce::finish_covers(kind.op, kind.dtype, covers);
            let bytes = reduce::stored_bytes(kind.dtype, kind.stored, result);
            let address = Self::address(params, kind.buffer.index());
            for part in self.shared.for_small() {
                let place = memory.place(part, address, 0..bytes.len() as u64)?;
                memory.of(part).write(place, &bytes)?;
            }
            memory.wrote(self.shared.for_small(), address, bytes.len() as u64);
        }
        Ok(lowest(&ran))
    }

    /// Whether all parts may run what is small: they get little for it.
    fn is_light(&self, params: &ParamBlock) -> bool {
        let memory = &self.shared.memory;
        let lacks = |(buffer, used): (usize, &Use)| {
            let reads = used.lanes || used.scattered || !used.gathers.is_empty();
            let address = Self::address(params, buffer);
            let parts = if reads { self.shared.for_small() } else { 0..0 };
            parts.map(|part| memory.lacks(part, address)).max().unwrap_or(0)
        };
        self.uses.iter().enumerate().map(lacks).sum::<u64>() <= WORTH_ALL
    }
}

/// Begins what others do, and waits for all of it.
fn all<'c, T>(begun: impl Iterator<Item = Begun<'c, T>>) -> Result<Vec<T>> {
    let begun: Vec<Begun<'c, T>> = begun.collect();
    // Whatever fails, all come to their ends.
    let done: Vec<Result<T>> = begun.into_iter().map(|wait| wait()).collect();
    done.into_iter().collect()
}

/// For each access the lowest lane that was out of bounds.
fn lowest(ran: &[Ran]) -> Failures {
    let mut ran = ran.iter().map(|ran| &ran.failures);
    let first = ran.next().cloned().unwrap_or_default();
    ran.fold(first, |all, part| all.iter().zip(part).map(|(&a, &b)| lower(a, b)).collect())
}

/// What comes first of what was out of bounds.
pub(super) fn lower(a: Option<OutOfBounds>, b: Option<OutOfBounds>) -> Option<OutOfBounds> {
    a.into_iter().chain(b).min()
}

/// What a kernel does with its buffers.
fn uses(kernel: &Kernel) -> Vec<Use> {
    let width = |param: &BufferParam| param.dtype.bytes();
    let mut uses: Vec<Use> =
        kernel.buffers.iter().map(|param| Use { width: width(param), ..Use::default() }).collect();
    for (position, inst) in kernel.insts.iter().enumerate() {
        match inst.code {
            Code::Load(buffer) if position < kernel.n_uniform => uses[buffer.index()].first = true,
            Code::Load(buffer) => uses[buffer.index()].lanes = true,
            Code::Gather { source, .. } => uses[source.index()].gathers.push(inst.arg(0)),
            Code::Store(buffer) => uses[buffer.index()].stored = true,
            Code::Reduce { buffer, .. } => uses[buffer.index()].reduced = true,
            Code::Scatter { target, .. } => uses[target.index()].scattered = true,
            _ => {}
        }
    }
    uses
}

/// A kernel of a device with parts.
pub(super) struct Loaded {
    stage: Stage,
    scatters: Option<Scatters>,
}

impl Loaded {
    /// # Errors
    /// What the device says.
    pub(super) fn new(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Self> {
        let stage = Stage::new(shared, kernel, mode)?;
        let scatters = kernel.has_scatter().then(|| Scatters::of(shared, kernel, mode));
        Ok(Self { stage, scatters })
    }
}

impl Executable for Loaded {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        let Stage { shared, codes, .. } = &self.stage;
        let is_small = n < shared.whole;
        if is_small && self.stage.is_light(&params) {
            return self.stage.run_whole(shared.for_small(), &params, n);
        }
        if !is_small && codes.iter().all(|code| code.ranges().is_some()) {
            let failures = match &self.scatters {
                None => Some(self.stage.run_parts(&params, n)?),
                Some(scatters) => scatters.run(&self.stage, &params, n)?,
            };
            if let Some(failures) = failures {
                return Ok(Launched::Done { failures, alone: None });
            }
        }
        self.stage.run_whole(0..1, &params, n)
    }

    fn launch_all(&self, members: Arc<Vec<ParamBlock>>, n: u64) -> Result<Launched> {
        let stage = &self.stage;
        // Where one part runs what is small, it runs all members together.
        if n >= stage.shared.whole || stage.shared.for_small() != (0..1) {
            return self.launch_each(&members, n);
        }
        let own = members.iter().map(|params| stage.whole_at(0, params, n));
        let own = own.collect::<Result<Vec<ParamBlock>>>()?;
        let launched = stage.codes[0].launch_all(Arc::new(own), n)?;
        members.iter().for_each(|params| stage.wrote(0..1, params, n));
        Ok(launched)
    }

    fn nanoseconds(&self, n: u64) -> f64 {
        self.stage.codes[0].nanoseconds(n)
    }

    fn statistics(&self) -> CodeStatistics {
        self.stage.codes[0].statistics()
    }
}
