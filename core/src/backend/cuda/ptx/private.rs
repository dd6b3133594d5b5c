//! Scatters that add into few elements: each block of threads adds into elements of its own in shared
//! memory, and then these into the target. So threads of a block meet there at most.
#![deny(clippy::wildcard_enum_match_arm)]

use super::writer::{Class, Name, ptx, untyped};
use super::{Lowering, SHARED};
use crate::ir::kernel::{BufferIndex, Code, Kernel, WORD_LANE_BASE, WORD_SIZE};
use crate::ir::op::{ReduceOp, ScatterOp};
use crate::ir::scalar::identity_bits;

/// The target that blocks of threads can have for themselves: the one to which all scatters of the kernel
/// add, if its elements are as wide as shared memory adds and its length is known.
pub fn private_target(kernel: &Kernel) -> Option<BufferIndex> {
    let mut only = None;
    for (_, inst) in kernel.writes().filter(|(_, inst)| !matches!(inst.code, Code::Store(_))) {
        let Code::Scatter { op: ScatterOp::Add, target, .. } = inst.code else { return None };
        if only.is_some_and(|only| only != target) {
            return None;
        }
        only = Some(target);
    }
    let target = only?;
    let wide = kernel.buffers[target.index()].dtype.bytes() >= 4;
    (wide && !kernel.has_regions() && kernel.length_word(target).is_some()).then_some(target)
}

impl Lowering<'_> {
    /// The body for blocks that have the elements of `target` for themselves. All lanes are run by however
    /// many threads there are.
    pub(super) fn privately(&mut self, target: BufferIndex) {
        let dtype = self.kernel.buffers[target.index()].dtype;
        let identity = identity_bits(ReduceOp::Sum, dtype);
        self.uniform_insts();
        self.each_element(target, |this, _, own| {
            let value = this.writer.temporary_of(dtype);
            this.writer.set(dtype, value, identity);
            ptx!(this.writer, "st.shared.{} [{own}], {value}", dtype.ptx());
        });
        ptx!(self.writer, "bar.sync 0");
        self.all_lanes();
        ptx!(self.writer, "bar.sync 0");
        self.each_element(target, |this, element, own| {
            this.add_own(target, element, own, identity);
        });
    }

    /// Runs all lanes, each thread some and then those that lie a grid further on.
    fn all_lanes(&mut self) {
        let offset = self.first_lane();
        let w = &mut self.writer;
        let [lane, stride] = ["lane", "stride"].map(|name| w.special(name));
        let [blocks, threads] = [(); 2].map(|()| w.temporary(Class::B32));
        let (again, done) = (w.new_label(), w.new_label());
        ptx!(w, "mov.u32 {blocks}, %nctaid.x");
        ptx!(w, "mov.u32 {threads}, %ntid.x");
        ptx!(w, "mul.wide.u32 {stride}, {blocks}, {threads}");
        ptx!(w, "mul.lo.u64 {stride}, {stride}, {}", self.lanes);
        w.put_label(again);
        w.release_temporaries();
        let n = self.word(WORD_SIZE);
        let base = self.word(WORD_LANE_BASE);
        let w = &mut self.writer;
        let outside = w.temporary(Class::Pred);
        ptx!(w, "setp.ge.u64 {outside}, {offset}, {n}");
        ptx!(w, "@{outside} bra {done}");
        ptx!(w, "add.u64 {lane}, {base}, {offset}");
        self.lane_insts();
        ptx!(self.writer, "add.u64 {offset}, {offset}, {stride}");
        ptx!(self.writer, "bra {again}");
        self.writer.put_label(done);
    }

    /// Calls `write` with the number of an element and the address of the block's own one, for a loop over
    /// those of a thread.
    fn each_element(&mut self, target: BufferIndex, write: impl FnOnce(&mut Self, Name, Name)) {
        let dtype = self.kernel.buffers[target.index()].dtype;
        let length = self.kernel.length_word(target);
        let length = length.expect("internal error: a private target without a length");
        self.writer.release_temporaries();
        let w = &mut self.writer;
        let [element, step, own] = ["element", "step", "own"].map(|name| w.special(name));
        let count = w.special("count");
        let (again, done) = (w.new_label(), w.new_label());
        let (number, outside) = (w.temporary(Class::B32), w.temporary(Class::Pred));
        let base = w.temporary(Class::B64);
        ptx!(w, "mov.u32 {number}, %tid.x");
        ptx!(w, "cvt.u64.u32 {element}, {number}");
        ptx!(w, "mov.u32 {number}, %ntid.x");
        ptx!(w, "cvt.u64.u32 {step}, {number}");
        let length = self.word(length);
        let w = &mut self.writer;
        ptx!(w, "mov.u64 {count}, {length}");
        w.put_label(again);
        ptx!(w, "setp.ge.u64 {outside}, {element}, {count}");
        ptx!(w, "@{outside} bra {done}");
        ptx!(w, "mov.u64 {base}, {SHARED}");
        w.set_element_address(dtype, own, base, element);
        write(self, element, own);
        ptx!(self.writer, "add.u64 {element}, {element}, {step}");
        ptx!(self.writer, "bra {again}");
        self.writer.put_label(done);
        self.writer.release_temporaries();
    }

    /// Adds the block's own element to the target's, if there is something to add.
    fn add_own(&mut self, target: BufferIndex, element: Name, own: Name, identity: u64) {
        let dtype = self.kernel.buffers[target.index()].dtype;
        let bits = dtype.unsigned();
        let (value, raw) = (self.writer.temporary_of(dtype), self.writer.temporary_of(bits));
        let changed = self.writer.temporary(Class::Pred);
        let base = self.buffer(target);
        let w = &mut self.writer;
        ptx!(w, "ld.shared.{} {value}, [{own}]", dtype.ptx());
        ptx!(w, "mov.{} {raw}, {value}", untyped(dtype));
        ptx!(w, "setp.ne.{} {changed}, {raw}, {identity:#x}", bits.ptx());
        let address = w.element_address(dtype, base, element);
        let add = super::memory::added(dtype);
        ptx!(w, "@{changed} red.global.add.{add} [{address}], {value}");
    }
}
