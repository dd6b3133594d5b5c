//! A kernel over parts: each has what its lanes read brought to it and runs them, and what they reduced comes together.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::begun::all;
use super::notes::Took;
use super::partition::Partition;
use super::shared::{Codes, Shared};
use super::wanted::Wanted;
use super::windows::Values;
use super::working::halfway;
use crate::backend::reduce;
use crate::backend::{Begun, Executable, Failures, Launched, OutOfBounds, Ran};
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::kernel::{
    BufferIndex, BufferParam, Code, HEADER_WORDS, Kernel, LiteralMode, ParamBlock, Reduction, Reg,
};
use crate::ir::legal::legalise;

/// Bytes that all parts get of what a small launch reads; where it reads more, one part runs it.
const WORTH_ALL: u64 = 1 << 20;

/// Bytes that may be brought to a part before it pays to look at indices.
const WORTH_A_LOOK: u64 = 1 << 20;

/// Elements that each part reads by indices.
pub(super) type Found = HashMap<Reg, Vec<Range<u64>>>;

/// Lanes come in as many: by the index of some behind the last a GPU reads, too, what is in bounds.
const BEYOND: u64 = 256;

/// What a kernel does with a buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    /// Bytes of an element.
    pub(super) width: usize,
    /// Each lane reads its own element.
    pub(super) lanes: bool,
    /// All lanes read the first element.
    first: bool,
    /// Lanes read elements by these indices.
    pub(super) gathers: Vec<Reg>,
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
    /// The code of the first part.
    first: Arc<dyn Executable>,
    /// That of all of them: where it is made late, since they share a launch.
    codes: OnceLock<Codes>,
    kernel: Kernel,
    mode: LiteralMode,
    /// As the device computes them.
    reductions: Vec<Reduction>,
    uses: Vec<Use>,
}

impl Stage {
    /// # Errors
    /// What the device says.
    pub(super) fn new(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Self> {
        let first = shared.devices[0].lower(kernel, mode)?;
        let codes = match shared.compiles_late() {
            true => OnceLock::new(),
            false => OnceLock::from(shared.lower_behind(first.clone(), kernel, mode)?),
        };
        Ok(Self {
            shared: shared.clone(),
            first,
            codes,
            mode,
            reductions: legalise(kernel).reductions().collect(),
            uses: uses(kernel),
            kernel: kernel.clone(),
        })
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The code of the first part.
    pub(super) fn code(&self) -> &dyn Executable {
        &*self.first
    }

    /// The code of a part that may run all lanes.
    fn code_of(&self, part: usize) -> &dyn Executable {
        &**self.codes.get().map_or(&self.first, |codes| &codes[part])
    }

    /// The code of all parts, made if need be.
    ///
    /// # Errors
    /// What a device says.
    pub(super) fn codes(&self) -> Result<&Codes> {
        if let Some(codes) = self.codes.get() {
            return Ok(codes);
        }
        let made = self.shared.lower_behind(self.first.clone(), &self.kernel, self.mode)?;
        // Another thread's is as good.
        Ok(self.codes.get_or_init(|| made))
    }

    /// Whether every part can run some of the lanes. GPUs are alike.
    pub(super) fn runs_ranges(&self) -> bool {
        let all = self.codes.get().map_or(std::slice::from_ref(&self.first), |codes| codes);
        all.iter().all(|code| code.ranges().is_some())
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

    /// The elements of a buffer, as far as they are counted: others end where its block does.
    fn elements(&self, params: &ParamBlock, buffer: usize) -> u64 {
        let length = self.kernel.length_word(BufferIndex(exactly(buffer)));
        let most = u64::MAX / self.uses[buffer].width as u64;
        length.map_or(most, |word| params.words()[word].min(most))
    }

    /// What indices of some lanes may be.
    fn values(&self, params: &ParamBlock, lanes: &Range<u64>) -> Values {
        let end = match self.shared.are_gpus() {
            true => lanes.end.next_multiple_of(BEYOND),
            false => lanes.end,
        };
        Values::of(&self.kernel, params.words(), &(lanes.start..end))
    }

    /// What a part is to have: what its lanes read, and the targets of scatters; `found` are the elements that it reads by
    /// indices, where these were looked at.
    fn wanted(
        &self,
        part: usize,
        params: &ParamBlock,
        lanes: &Range<u64>,
        is_whole: bool,
        found: &Found,
    ) -> Vec<Wanted> {
        let mut all = Vec::new();
        let mut values = None;
        for (buffer, used) in self.uses.iter().enumerate() {
            let address = Self::address(params, buffer);
            let width = used.width as u64;
            let mut want = |elements: Range<u64>| {
                let bytes = Some(elements.start * width..elements.end * width);
                all.push(Wanted { part, address, bytes });
            };
            if used.lanes {
                want(lanes.clone());
            }
            if used.first {
                want(0..1);
            }
            for &index in &used.gathers {
                let length = self.elements(params, buffer);
                if is_whole && self.code_of(part).ranges().is_none() {
                    // The host beside a GPU reads all of it.
                    want(0..length);
                    continue;
                }
                if let Some(found) = found.get(&index) {
                    let elements = &found[part];
                    want(elements.start.min(length)..elements.end.min(length));
                    let behind = lanes.end..lanes.end.next_multiple_of(BEYOND);
                    if self.shared.are_gpus() && !behind.is_empty() {
                        let values = Values::of_zeros(&self.kernel, params.words(), &behind);
                        values.elements(index, length).into_iter().for_each(&mut want);
                    }
                    continue;
                }
                let values = values.get_or_insert_with(|| self.values(params, lanes));
                values.elements(index, length).into_iter().for_each(&mut want);
            }
            if used.scattered && is_whole {
                all.push(Wanted { part, address, bytes: None });
            }
        }
        all
    }

    /// Makes parts have what they are to have.
    fn bring(&self, wanted: impl Iterator<Item = Wanted>) -> Result<()> {
        let Shared { memory, notes, .. } = &*self.shared;
        notes.exchanged(memory.bring_together(wanted.collect())?);
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

    /// What a part is to have that runs all lanes.
    fn wanted_by_all(&self, part: usize, params: &ParamBlock, n: u64) -> Vec<Wanted> {
        self.wanted(part, params, &(0..n), true, &Found::new())
    }

    /// Each of some parts runs all lanes.
    pub(super) fn run_whole(
        &self,
        parts: Range<usize>,
        params: &ParamBlock,
        n: u64,
    ) -> Result<Launched> {
        self.bring(parts.clone().flat_map(|part| self.wanted_by_all(part, params, n)))?;
        // Memory is not asked for anything while a part is at work.
        let own = parts.clone().map(|part| self.at(part, params, &(0..n)));
        let own = own.collect::<Result<Vec<ParamBlock>>>()?;
        let begin = |(part, own): (usize, ParamBlock)| self.code_of(part).begin(own, n);
        let launched =
            all(parts.clone().zip(own).map(begin)).map_err(|error| self.at_work(error))?;
        self.wrote(parts, params, n);
        let first = launched.into_iter().next();
        Ok(first.expect("internal error: a launch on no part"))
    }

    /// The first part runs all lanes of several launches together.
    pub(super) fn run_members(&self, members: &[ParamBlock], n: u64) -> Result<Launched> {
        self.bring(members.iter().flat_map(|params| self.wanted_by_all(0, params, n)))?;
        let own = members.iter().map(|params| self.at(0, params, &(0..n)));
        let own = own.collect::<Result<Vec<ParamBlock>>>()?;
        let launched = self.first.launch_all(Arc::new(own), n);
        let launched = launched.map_err(|error| self.at_work(error))?;
        members.iter().for_each(|params| self.wrote(0..1, params, n));
        Ok(launched)
    }

    /// What is told of parts that failed when they were at work, and may have written some of it.
    fn at_work(&self, error: Error) -> Error {
        if self.uses.iter().any(|used| used.scattered) {
            halfway(&self.shared, error)
        } else {
            error
        }
    }

    /// The indices of which nothing is known, and by which parts might have much brought to them.
    pub(super) fn unknown(&self, params: &ParamBlock, n: u64) -> Vec<Reg> {
        let memory = &self.shared.memory;
        let most = |buffer: usize| {
            let address = Self::address(params, buffer);
            (0..memory.parts()).map(|part| memory.lacks(part, address)).max().unwrap_or(0)
        };
        let gathered = self.uses.iter().enumerate().filter(|(_, used)| !used.gathers.is_empty());
        let much = gathered.filter(|&(buffer, _)| most(buffer) > WORTH_A_LOOK);
        let mut indices: Vec<Reg> = much.flat_map(|(_, used)| used.gathers.clone()).collect();
        if !indices.is_empty() {
            let values = self.values(params, &(0..n));
            indices.retain(|&index| !values.knows(index));
        }
        indices
    }

    /// What some lanes made of a reduction.
    pub(super) fn reduced(&self, ran: &Ran, reduction: usize) -> Scalar {
        let kind = &self.reductions[reduction];
        let covers = ran.covers[reduction].iter().copied();
        kind.dtype.decode(reduce::finish_covers(kind.op, kind.dtype, covers))
    }

    /// Each part runs its lanes; the lowest lanes that were out of bounds. What is scattered each writes at its own place.
    pub(super) fn run_parts(
        &self,
        params: &ParamBlock,
        n: u64,
        partition: Partition,
        found: &Found,
    ) -> Result<Failures> {
        let memory = &self.shared.memory;
        let ran = self.run_lanes(params, partition, found)?;
        for (buffer, used) in self.uses.iter().enumerate().filter(|(_, used)| used.stored) {
            memory.wrote_lanes(Self::address(params, buffer), used.width, n, partition.all());
        }
        for (number, kind) in self.reductions.iter().enumerate() {
            let covers = ran.iter().flat_map(|ran| ran.covers[number].iter().copied());
            let result = reduce::finish_covers(kind.op, kind.dtype, covers);
            let bytes = reduce::stored_bytes(kind.dtype, kind.stored, result);
            let written = self.write_reduced(Self::address(params, kind.buffer.index()), &bytes);
            written.map_err(|error| self.at_work(error))?;
        }
        Ok(lowest(&ran))
    }

    /// Has the parts that compute what is small have what was reduced.
    fn write_reduced(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let (memory, parts) = (&self.shared.memory, self.shared.for_small());
        for part in parts.clone() {
            let place = memory.place(part, address, 0..bytes.len() as u64)?;
            memory.of(part).write(place, bytes)?;
        }
        memory.wrote(parts, address, bytes.len() as u64);
        Ok(())
    }

    /// Each part runs its lanes; of parts without lanes nothing came.
    pub(super) fn run_lanes(
        &self,
        params: &ParamBlock,
        partition: Partition,
        found: &Found,
    ) -> Result<Vec<Ran>> {
        let codes = self.codes()?;
        let busy = || partition.all().enumerate().filter(|(_, lanes)| !lanes.is_empty());
        let wanted = |(part, lanes)| self.wanted(part, params, &lanes, false, found);
        self.bring(busy().flat_map(wanted))?;
        // Memory is not asked for anything while a part is at work.
        let block = |(part, lanes): (usize, Range<u64>)| {
            self.at(part, params, &lanes).map(|block| (block, part, lanes))
        };
        let blocks = busy().map(block).collect::<Result<Vec<_>>>()?;
        let begin = |(block, part, lanes): (ParamBlock, usize, Range<u64>)| {
            let code = codes[part].ranges();
            let code = code.expect("internal error: a device that runs no ranges");
            let asked = Instant::now();
            timed(part, asked, code.begin_range(block, lanes))
        };
        let ran = all(blocks.into_iter().map(begin)).map_err(|error| self.at_work(error))?;
        let (ran, times): (Vec<Ran>, Vec<Took>) = ran.into_iter().unzip();
        self.shared.took(times);
        Ok(ran)
    }

    /// Whether all parts may run what is small: they get little for it.
    pub(super) fn is_light(&self, params: &ParamBlock) -> bool {
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

/// Tells when a part ran its lanes, and how long: elsewhere from when it was asked on, here when it is waited for.
fn timed(part: usize, asked: Instant, begun: Begun<'_, Ran>) -> Begun<'_, (Ran, Took)> {
    Box::new(move || {
        let since = Instant::now();
        let ran = begun()?;
        let took = match ran.time {
            Some(time) => (part, asked, time),
            None => (part, since, since.elapsed()),
        };
        Ok((ran, took))
    })
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
pub(super) fn uses(kernel: &Kernel) -> Vec<Use> {
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
