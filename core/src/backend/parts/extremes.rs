//! Between which elements each part reads by an index of which nothing is known beforehand, as one that comes from memory: a
//! kernel of the instructions that make it reduces it to its least and its greatest.

use std::ops::Range;
use std::sync::Arc;

use super::partition::Partition;
use super::shared::Shared;
use super::stage::{Found, Stage};
use crate::backend::Ran;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::kernel::{
    BufferIndex, BufferParam, Code, HEADER_WORDS, Inst, Kernel, KernelHash, LiteralMode,
    ParamBlock, Reg,
};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;

/// The least, then the greatest.
const ENDS: [ReduceOp; 2] = [ReduceOp::Min, ReduceOp::Max];

/// What finds them for the gathers of a kernel.
pub(super) struct Extremes {
    /// Reduces each index to its ends.
    stage: Stage,
    /// The indices, in the order of their ends.
    indices: Vec<Reg>,
}

impl Extremes {
    /// `None` where no index is made of operations and arrays alone.
    ///
    /// # Errors
    /// What the device says.
    pub(super) fn of(
        shared: &Arc<Shared>,
        kernel: &Kernel,
        mode: LiteralMode,
    ) -> Result<Option<Self>> {
        let Some((reducing, indices)) = reducing(kernel) else { return Ok(None) };
        let stage = Stage::new(shared, &reducing, mode)?;
        Ok(stage.runs_ranges().then_some(Self { stage, indices }))
    }

    /// The elements that each part reads by those of the indices that are asked for.
    ///
    /// # Errors
    /// As a launch.
    pub(super) fn find(
        &self,
        params: &ParamBlock,
        partition: Partition,
        wanted: &[Reg],
    ) -> Result<Vec<Found>> {
        if !self.indices.iter().any(|index| wanted.contains(index)) {
            return Ok(Vec::new());
        }
        let n_ends = ENDS.len() * self.indices.len();
        let n_buffers = self.stage.kernel().buffers.len() - n_ends;
        let mut own = params.clone().with_buffers(n_buffers, n_ends);
        // What parts reduce is not stored: any block will do.
        let some = params.words()[HEADER_WORDS];
        (0..n_ends).for_each(|end| own.set(HEADER_WORDS + n_buffers + end, some));
        let ran = self.stage.run_lanes(&own, partition, &[])?;
        let found = self.indices.iter().enumerate().map(|(number, &index)| {
            let mut ran = ran.iter();
            // Parts without lanes ran nothing.
            let of_part = |lanes: Range<u64>| match lanes.is_empty() {
                true => 0..0,
                false => ran.next().map_or(0..0, |ran| self.between(ran, number)),
            };
            Found { index, elements: partition.all().map(of_part).collect() }
        });
        Ok(found.collect())
    }

    /// The elements from the least that an index names to the greatest.
    fn between(&self, ran: &Ran, number: usize) -> Range<u64> {
        let end = |end: usize| self.stage.reduced(ran, ENDS.len() * number + end).integer();
        let Some((least, greatest)) = end(0).zip(end(1)) else { return 0..u64::MAX };
        let clamp = |element: i128| u64::try_from(element.max(0)).unwrap_or(u64::MAX);
        clamp(least)..clamp(greatest.saturating_add(1))
    }
}

/// The kernel that reduces indices of gathers, with buffers for their ends behind its own, and which indices these are.
fn reducing(kernel: &Kernel) -> Option<(Kernel, Vec<Reg>)> {
    let lane_insts = kernel.n_uniform..kernel.first_write;
    let gathers = kernel.insts[lane_insts].iter().filter_map(|inst| match inst.code {
        Code::Gather { .. } => Some((inst.arg(0), inst.args[1])),
        _ => None,
    });
    let mut cone = Cone { kernel, places: vec![None; kernel.first_write], insts: Vec::new() };
    let mut ends: Vec<(Reg, Option<Reg>, DType)> = Vec::new();
    for (index, active) in gathers {
        let known = ends.iter().any(|&(known, ..)| known == index);
        if !known && cone.has(index) && active.is_none_or(|active| cone.has(active)) {
            ends.push((index, active, kernel.dtype(index)));
        }
    }
    if ends.is_empty() {
        return None;
    }
    ends.iter().flat_map(|&(index, active, _)| [Some(index), active]).flatten().for_each(|reg| {
        cone.mark(reg);
    });
    let n_uniform = cone.take();
    let Cone { places, mut insts, .. } = cone;
    let place = |reg: Reg| places[reg.index()];
    let mut buffers: Vec<BufferParam> =
        kernel.buffers.iter().map(|buffer| BufferParam { written: false, ..*buffer }).collect();
    let (mut writes, mut indices) = (Vec::new(), Vec::new());
    for (index, active, dtype) in ends {
        for op in ENDS {
            let mut value = place(index);
            if let Some(active) = active {
                // Of other lanes nothing is read.
                let neutral = Reg(exactly(insts.len()));
                let code = Code::Constant(identity_bits(op, dtype));
                insts.push(Inst { code, dtype, args: [None; 3], serial: 0 });
                let args = [place(active), value, Some(neutral)];
                value = Some(Reg(exactly(insts.len())));
                insts.push(Inst { code: Code::Op(Op::Select), dtype, args, serial: 0 });
            }
            let buffer = BufferIndex(exactly(buffers.len()));
            buffers.push(BufferParam { dtype, written: true, length: None, anywhere: false });
            let code = Code::Reduce { op, buffer };
            writes.push(Inst { code, dtype, args: [value, None, None], serial: 0 });
        }
        indices.push(index);
    }
    let first_write = insts.len();
    insts.extend(writes);
    let reducing = Kernel {
        insts,
        n_uniform,
        first_write,
        buffers,
        accesses: Vec::new(),
        n_ops: 1,
        variant: 0,
        hash: KernelHash(0),
        ..kernel.clone()
    };
    debug_assert_eq!(crate::ir::verify::verify(&reducing), Ok(()), "{reducing}");
    Some((reducing, indices))
}

/// The instructions that values are made of.
struct Cone<'k> {
    kernel: &'k Kernel,
    /// Where those are that are taken, by their places in the kernel.
    places: Vec<Option<Reg>>,
    insts: Vec<Inst>,
}

impl Cone<'_> {
    /// Whether a value is made of operations, numbers and arrays alone.
    fn has(&self, value: Reg) -> bool {
        let (mut seen, mut left) = (vec![false; self.places.len()], vec![value]);
        while let Some(reg) = left.pop() {
            if std::mem::replace(&mut seen[reg.index()], true) {
                continue;
            }
            let inst = self.kernel.inst(reg);
            let is_plain = matches!(
                inst.code,
                Code::Literal(_) | Code::Constant(_) | Code::Index | Code::Op(_) | Code::Load(_)
            );
            if !is_plain {
                return false;
            }
            left.extend(inst.args.iter().flatten());
        }
        true
    }

    /// Says that a value is wanted, and what it is made of.
    fn mark(&mut self, value: Reg) {
        let mut left = vec![value];
        while let Some(reg) = left.pop() {
            if self.places[reg.index()].replace(reg).is_none() {
                left.extend(self.kernel.inst(reg).args.iter().flatten());
            }
        }
    }

    /// Takes the instructions that are wanted, in their order; how many of them are uniform.
    fn take(&mut self) -> usize {
        let mut n_uniform = 0;
        for (position, inst) in self.kernel.insts[..self.kernel.first_write].iter().enumerate() {
            if self.places[position].is_none() {
                continue;
            }
            let args = inst.args.map(|arg| arg.and_then(|arg| self.places[arg.index()]));
            self.places[position] = Some(Reg(exactly(self.insts.len())));
            self.insts.push(Inst { args, ..*inst });
            n_uniform += usize::from(position < self.kernel.n_uniform);
        }
        n_uniform
    }
}
