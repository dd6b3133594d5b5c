//! Between which elements each part reads by an index of which nothing is known beforehand, as one that comes from memory: a
//! kernel of the instructions that make it reduces it to its least and its greatest.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::partition::Partition;
use super::shared::Shared;
use super::stage::{Found, Stage};
use crate::backend::Ran;
use crate::convert::exactly;
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
    /// The indices, and which of those that are reduced they are.
    numbers: HashMap<Reg, usize>,
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
        let Some((reducing, numbers)) = reducing(kernel) else { return Ok(None) };
        let stage = Stage::new(shared, &reducing, mode)?;
        Ok(stage.runs_ranges().then_some(Self { stage, numbers }))
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
    ) -> Result<Found> {
        let numbers = wanted.iter().filter_map(|index| Some((*index, *self.numbers.get(index)?)));
        let numbers: Vec<(Reg, usize)> = numbers.collect();
        if numbers.is_empty() {
            return Ok(Found::new());
        }
        let n_ends = ENDS.len() * self.numbers.len();
        let n_buffers = self.stage.kernel().buffers.len() - n_ends;
        let mut own = params.clone().with_buffers(n_buffers, n_ends);
        // What parts reduce is not stored: any block will do.
        let some = params.words()[HEADER_WORDS];
        (0..n_ends).for_each(|end| own.set(HEADER_WORDS + n_buffers + end, some));
        let ran = self.stage.run_lanes(&own, partition, &Found::new())?;
        let found = numbers.into_iter().map(|(index, number)| {
            let mut ran = ran.iter();
            // Parts without lanes ran nothing.
            let of_part = |lanes: Range<u64>| match lanes.is_empty() {
                true => 0..0,
                false => ran.next().map_or(0..0, |ran| self.between(ran, number)),
            };
            (index, partition.all().map(of_part).collect())
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
fn reducing(kernel: &Kernel) -> Option<(Kernel, HashMap<Reg, usize>)> {
    let insts = &kernel.insts[..kernel.first_write];
    let plain = plain(insts);
    // In the order in which they come; of an index that lanes read by under several masks, or under one that is not made
    // so, all lanes count.
    let mut numbers = HashMap::new();
    let mut indices: Vec<(Reg, Option<Reg>)> = Vec::new();
    for inst in insts.iter().filter(|inst| matches!(inst.code, Code::Gather { .. })) {
        let index = inst.arg(0);
        if !plain[index.index()] {
            continue;
        }
        let active = inst.args[1].filter(|active| plain[active.index()]);
        let number = *numbers.entry(index).or_insert_with(|| {
            indices.push((index, active));
            indices.len() - 1
        });
        if indices[number].1 != active {
            indices[number].1 = None;
        }
    }
    if indices.is_empty() {
        return None;
    }
    let wanted = indices.iter().flat_map(|&(index, active)| [Some(index), active]).flatten();
    let (mut insts, n_uniform, places) = made_of(kernel, wanted);
    let place = |reg: Reg| places[reg.index()];
    let mut buffers: Vec<BufferParam> =
        kernel.buffers.iter().map(|buffer| BufferParam { written: false, ..*buffer }).collect();
    let mut writes = Vec::new();
    for (index, active) in indices {
        let dtype = kernel.dtype(index);
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
    Some((reducing, numbers))
}

/// Which values are made of operations, numbers and arrays alone.
fn plain(insts: &[Inst]) -> Vec<bool> {
    let mut plain: Vec<bool> = Vec::with_capacity(insts.len());
    for inst in insts {
        let is_own = matches!(
            inst.code,
            Code::Literal(_) | Code::Constant(_) | Code::Index | Code::Op(_) | Code::Load(_)
        );
        plain.push(is_own && inst.args.iter().flatten().all(|arg| plain[arg.index()]));
    }
    plain
}

/// The instructions that values are made of, how many of them are uniform, and where each of the kernel's is among them.
fn made_of(
    kernel: &Kernel,
    values: impl Iterator<Item = Reg>,
) -> (Vec<Inst>, usize, Vec<Option<Reg>>) {
    let mut is_wanted = vec![false; kernel.first_write];
    values.for_each(|value| is_wanted[value.index()] = true);
    // Arguments precede their users.
    for position in (0..kernel.first_write).rev() {
        if is_wanted[position] {
            let args = kernel.insts[position].args.iter().flatten();
            args.for_each(|arg| is_wanted[arg.index()] = true);
        }
    }
    let (mut insts, mut n_uniform) = (Vec::new(), 0);
    let mut places: Vec<Option<Reg>> = vec![None; kernel.first_write];
    for position in (0..kernel.first_write).filter(|&position| is_wanted[position]) {
        let inst = &kernel.insts[position];
        let args = inst.args.map(|arg| arg.and_then(|arg| places[arg.index()]));
        places[position] = Some(Reg(exactly(insts.len())));
        insts.push(Inst { args, ..*inst });
        n_uniform += usize::from(position < kernel.n_uniform);
    }
    (insts, n_uniform, places)
}
