//! Loads, stores, gathers and scatters.
//!
//! Instructions read only buffers that the kernel does not write (`ir/verify.rs`), so all reads take
//! the path for data that stays the same during a launch, `ld.global.nc`. Masks are bytes in memory,
//! 0 or 1, and pass through a 32-bit register.
#![deny(clippy::wildcard_enum_match_arm)]

use std::fmt;

use super::op::Types;
use super::writer::{Class, Guard, Name, Writer, ptx};
use super::{Lowering, SHARED};
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Inst, Reg, WORD_ERRORS, WORD_SIZE};
use crate::ir::op::{Op, ScatterOp};

/// Words of the error buffer of each access: for the low and the high half of the index.
pub(in super::super) const WORDS_PER_ACCESS: usize = 2;

/// Indices whose bounds are looked at together.
const MOST_UNREPORTED: usize = 16;

/// The first error word of an access.
const fn error_word(access: u32) -> u64 {
    WORDS_PER_ACCESS as u64 * access as u64
}

/// The address of an indexed element, with its guard.
struct ElementAddress {
    address: Name,
    /// State space of the address.
    space: &'static str,
    /// Set in lanes that are active and in bounds.
    guard: Guard,
}

/// An indexed element of the lane in flight.
pub(super) struct Indexed {
    buffer: BufferIndex,
    index: Reg,
    active: Option<Reg>,
    lane: u32,
}

/// Where an index is in active lanes.
struct Bounds {
    inside: Name,
    outside: Name,
}

impl Lowering<'_> {
    /// Element 0 of a buffer.
    pub(super) fn load_first(&mut self, dtype: DType, d: Name, buffer: BufferIndex) {
        let address = self.buffer(buffer);
        self.writer.load(dtype, d, "global.nc", format_args!("{address}"));
    }

    /// The indexed element, or 0.
    pub(super) fn gather(
        &mut self,
        inst: &Inst,
        d: Name,
        source: BufferIndex,
        access: Option<u32>,
    ) {
        let element = self.element(source, access, inst.arg(0), inst.args[1]);
        let ElementAddress { address, guard, .. } = element;
        self.writer.load_where(guard, inst.dtype, d, "global.nc", format_args!("{address}"));
    }

    /// Writes the indexed element, or combines with it.
    pub(super) fn scatter(
        &mut self,
        op: ScatterOp,
        inst: &Inst,
        target: BufferIndex,
        access: Option<u32>,
    ) {
        let element = &self.element(target, access, inst.arg(1), inst.args[2]);
        let (dtype, value) = (inst.dtype, self.register(inst.arg(0)));
        let ElementAddress { address, space, guard } = *element;
        let reduction = match op {
            ScatterOp::Set => return self.writer.store(dtype, guard, address, value),
            ScatterOp::And | ScatterOp::Or if dtype == DType::Mask => {
                return self.scatter_truth(op, value, element);
            }
            _ if dtype.is_narrow() => {
                let combine = op.combine().expect("internal error: a scatter that combines");
                return self.writer.scatter_in_word(combine, dtype, value, element);
            }
            ScatterOp::Min | ScatterOp::Max if dtype.is_float() => {
                return self.scatter_extreme(op, dtype, value, element);
            }
            // In f32 it flushes subnormals, one of the liberties of the fast mode (S10).
            ScatterOp::Add => format!("add.{}", added(dtype)),
            ScatterOp::Min => format!("min.{}", dtype.ptx()),
            ScatterOp::Max => format!("max.{}", dtype.ptx()),
            ScatterOp::And => format!("and.b{}", dtype.bits()),
            ScatterOp::Or => format!("or.b{}", dtype.bits()),
        };
        ptx!(self.writer, "{guard}red.{space}.{reduction} [{address}], {value}");
    }

    /// A value that changes the element replaces it: true for or, false for and.
    fn scatter_truth(&mut self, op: ScatterOp, value: Name, element: &ElementAddress) {
        let mut changes = value;
        if op == ScatterOp::And {
            changes = self.writer.temporary(Class::Pred);
            ptx!(self.writer, "not.pred {changes}, {value}");
        }
        if let Some(guard) = element.guard.0 {
            let both = self.writer.temporary(Class::Pred);
            ptx!(self.writer, "and.pred {both}, {changes}, {guard}");
            changes = both;
        }
        self.writer.store(DType::Mask, Guard(Some(changes)), element.address, value);
    }

    /// There is no reduction of floats to their extreme: exchange until no other write came between.
    fn scatter_extreme(
        &mut self,
        op: ScatterOp,
        dtype: DType,
        value: Name,
        element: &ElementAddress,
    ) {
        let ElementAddress { address, guard, .. } = *element;
        let (t, bits) = (dtype.ptx(), dtype.bits());
        let class = Class::of(dtype.unsigned());
        let [old, new] = [(); 2].map(|()| self.writer.temporary(Class::of(dtype)));
        let [expected, wanted, found] = [(); 3].map(|()| self.writer.temporary(class));
        let changed = self.writer.temporary(Class::Pred);
        let (done, again) = (self.writer.new_label(), self.writer.new_label());
        if let Some(guard) = guard.0 {
            ptx!(self.writer, "@!{guard} bra {done}");
        }
        self.writer.put_label(again);
        ptx!(self.writer, "ld.volatile.global.{t} {old}, [{address}]");
        let extreme = if op == ScatterOp::Min { "min" } else { "max" };
        ptx!(self.writer, "{extreme}.{t} {new}, {old}, {value}");
        ptx!(self.writer, "mov.b{bits} {expected}, {old}");
        ptx!(self.writer, "mov.b{bits} {wanted}, {new}");
        ptx!(self.writer, "atom.global.cas.b{bits} {found}, [{address}], {expected}, {wanted}");
        ptx!(self.writer, "setp.ne.u{bits} {changed}, {found}, {expected}");
        ptx!(self.writer, "@{changed} bra {again}");
        self.writer.put_label(done);
    }

    /// Address and guard of an indexed element. An index out of bounds is reported if the access is
    /// checked; uniform ones stand for lane 0.
    fn element(
        &mut self,
        buffer: BufferIndex,
        access: Option<u32>,
        index: Reg,
        active: Option<Reg>,
    ) -> ElementAddress {
        let guard = match self.kernel.length_word(buffer) {
            None => self.active_lanes(active),
            Some(_) => {
                let indexed = Indexed { buffer, index, active, lane: self.lane };
                Some(self.check_bounds(access, indexed))
            }
        };
        let (base, space) = if self.private == Some(buffer) {
            let base = self.writer.temporary(Class::B64);
            ptx!(self.writer, "mov.u64 {base}, {SHARED}");
            (base, "shared")
        } else {
            (self.buffer(buffer), "global")
        };
        let bytes = self.kernel.buffers[buffer.index()].dtype.bytes();
        let address = self.writer.temporary(Class::B64);
        let (dtype, index) = (self.kernel.dtype(index), self.register(index));
        match (dtype.bits(), dtype.is_signed()) {
            (64, _) => ptx!(self.writer, "mad.lo.u64 {address}, {index}, {bytes}, {base}"),
            (_, true) => ptx!(self.writer, "mad.wide.s32 {address}, {index}, {bytes}, {base}"),
            (_, false) => ptx!(self.writer, "mad.wide.u32 {address}, {index}, {bytes}, {base}"),
        }
        ElementAddress { address, space, guard: Guard(guard) }
    }

    /// The active lanes without those beyond the launch, which only a thread's further lanes can be.
    pub(super) fn active_lanes(&mut self, active: Option<Reg>) -> Option<Name> {
        let active = active.map(|active| self.register(active));
        if self.lane == 0 || self.is_whole || self.is_uniform_part() {
            return active;
        }
        let (n, offset) = (self.word(WORD_SIZE), self.writer.special("offset"));
        let (this, within) =
            (self.writer.temporary(Class::B64), self.writer.temporary(Class::Pred));
        ptx!(self.writer, "add.u64 {this}, {offset}, {}", u64::from(self.lane) * self.distance);
        match active {
            None => ptx!(self.writer, "setp.lt.u64 {within}, {this}, {n}"),
            Some(active) => ptx!(self.writer, "setp.lt.and.u64 {within}, {this}, {n}, {active}"),
        }
        Some(within)
    }

    /// Whether an active lane's index is in bounds, and sees to it that the access reports it otherwise. That is a branch,
    /// before which the loads of other indices would have to end, so it is taken once for several. Lanes beyond the
    /// launch that loaded zeros are left out only behind it: reading what is in bounds does no harm. Neighbours loaded
    /// what lies behind arrays, and a part has memory for what its own lanes read.
    fn check_bounds(&mut self, access: Option<u32>, indexed: Indexed) -> Name {
        let is_late = !self.is_uniform_part() && self.regions.is_empty() && access.is_some();
        let is_written = self.kernel.buffers[indexed.buffer.index()].written;
        let active = match is_late && !is_written && self.distance > 1 {
            true => indexed.active.map(|active| self.register(active)),
            false => self.active_lanes(indexed.active),
        };
        let Bounds { inside, outside } = self.bounds(&indexed, active);
        let Some(access) = access else { return inside };
        if !is_late {
            self.report(outside, indexed.index, access);
            return inside;
        }
        let some = self.writer.is_some_outside();
        match self.unreported.is_empty() {
            true => ptx!(self.writer, "mov.pred {some}, {outside}"),
            false => ptx!(self.writer, "or.pred {some}, {some}, {outside}"),
        }
        self.unreported.push((access, indexed));
        inside
    }

    /// Where an active lane's index is. Negative indices are above every length.
    fn bounds(&mut self, &Indexed { buffer, index, .. }: &Indexed, active: Option<Name>) -> Bounds {
        let length = self.kernel.length_word(buffer).expect("internal error: no length");
        let mut length = self.word(length);
        let dtype = self.kernel.dtype(index);
        let (bits, index) = if dtype.is_signed() && dtype.bits() < 64 {
            let (most, wide) =
                (self.writer.temporary(Class::B32), self.writer.temporary(Class::B64));
            ptx!(self.writer, "min.u64 {wide}, {length}, {:#x}", 1_u32 << 31);
            ptx!(self.writer, "cvt.u32.u64 {most}, {wide}");
            length = most;
            (32, self.register(index))
        } else {
            (64, self.wide_index(index))
        };
        let w = &mut self.writer;
        let [inside, outside] = [(); 2].map(|()| w.temporary(Class::Pred));
        match active {
            None => ptx!(w, "setp.lt.u{bits} {inside}|{outside}, {index}, {length}"),
            Some(active) => {
                ptx!(w, "setp.lt.and.u{bits} {inside}|{outside}, {index}, {length}, {active}");
            }
        }
        Bounds { inside, outside }
    }

    /// Reports the indices of this thread that are out of bounds, if there are enough to look for, or it is the end.
    pub(super) fn report_outside(&mut self, is_end: bool) {
        if self.unreported.is_empty() || self.unreported.len() < MOST_UNREPORTED && !is_end {
            return;
        }
        let (some, done) = (self.writer.is_some_outside(), self.writer.new_label());
        let present = self.lane;
        ptx!(self.writer, "@!{some} bra {done}");
        for (access, indexed) in std::mem::take(&mut self.unreported) {
            self.lane = indexed.lane;
            self.writer.release_temporaries();
            let active = self.active_lanes(indexed.active);
            let Bounds { outside, .. } = self.bounds(&indexed, active);
            self.report(outside, indexed.index, access);
        }
        self.lane = present;
        self.writer.put_label(done);
    }

    /// Lowers the access's error words to lane offset and half of the index, if this is `outside`.
    fn report(&mut self, outside: Name, index: Reg, access: u32) {
        let done = self.writer.new_label();
        ptx!(self.writer, "@!{outside} bra {done}");
        let index = self.wide_index(index);
        let [lane, key] = [(); 2].map(|()| self.writer.temporary(Class::B64));
        if self.is_uniform_part() {
            ptx!(self.writer, "mov.u64 {lane}, 0");
        } else {
            let offset = self.writer.special("offset");
            let further = u64::from(self.lane) * self.distance;
            ptx!(self.writer, "add.u64 {lane}, {offset}, {further}");
            ptx!(self.writer, "shl.b64 {lane}, {lane}, 32");
        }
        let errors = self.word(WORD_ERRORS);
        let word = 8 * error_word(access);
        ptx!(self.writer, "and.b64 {key}, {index}, {:#x}", u32::MAX);
        ptx!(self.writer, "or.b64 {key}, {key}, {lane}");
        ptx!(self.writer, "red.global.min.u64 [{errors}+{word}], {key}");
        ptx!(self.writer, "shr.u64 {key}, {index}, 32");
        ptx!(self.writer, "or.b64 {key}, {key}, {lane}");
        ptx!(self.writer, "red.global.min.u64 [{errors}+{}], {key}", word + 8);
        self.writer.put_label(done);
    }

    /// The index extended to 64 bits as its type says.
    fn wide_index(&mut self, index: Reg) -> Name {
        let (dtype, index) = (self.kernel.dtype(index), self.register(index));
        if dtype.bits() == 64 {
            return index;
        }
        let wide = self.writer.temporary(Class::B64);
        if dtype.is_signed() {
            ptx!(self.writer, "cvt.s64.s32 {wide}, {index}");
        } else {
            ptx!(self.writer, "cvt.u64.u32 {wide}, {index}");
        }
        wide
    }

    /// The address of a buffer.
    pub(super) fn buffer(&mut self, buffer: BufferIndex) -> Name {
        self.word(self.kernel.address_word(buffer))
    }
}

impl Writer {
    /// `d = ` the value at an address in a state space.
    pub(super) fn load(&mut self, dtype: DType, d: Name, space: &str, at: fmt::Arguments<'_>) {
        self.load_where(Guard(None), dtype, d, space, at);
    }

    /// As [`Writer::load`], and 0 where the guard is not set.
    pub(super) fn load_where(
        &mut self,
        guard: Guard,
        dtype: DType,
        d: Name,
        space: &str,
        at: fmt::Arguments<'_>,
    ) {
        let is_guarded = guard.0.is_some();
        if dtype == DType::Mask {
            let byte = self.temporary(Class::B32);
            if is_guarded {
                ptx!(self, "mov.u32 {byte}, 0");
            }
            ptx!(self, "{guard}ld.{space}.u8 {byte}, [{at}]");
            ptx!(self, "setp.ne.u32 {d}, {byte}, 0");
        } else if dtype.is_half() {
            let half = self.temporary(Class::B16);
            if is_guarded {
                ptx!(self, "mov.b16 {half}, 0");
            }
            ptx!(self, "{guard}ld.{space}.b16 {half}, [{at}]");
            ptx!(self, "cvt.f32.{} {d}, {half}", dtype.ptx());
        } else {
            if is_guarded {
                self.set(dtype.widened(), d, 0);
            }
            ptx!(self, "{guard}ld.{space}.{} {d}, [{at}]", dtype.ptx());
        }
    }

    /// Writes a value to memory.
    pub(super) fn store(&mut self, dtype: DType, guard: Guard, address: Name, value: Name) {
        self.store_at(dtype, guard, address, 0, value);
    }

    /// A value as memory has it.
    pub(super) fn stored(&mut self, dtype: DType, value: Name) -> Name {
        if dtype == DType::Mask {
            let byte = self.temporary(Class::B32);
            ptx!(self, "selp.u32 {byte}, 1, 0, {value}");
            return byte;
        }
        if !dtype.is_half() {
            return value;
        }
        let half = self.temporary(Class::B16);
        ptx!(self, "cvt.rn.{}.f32 {half}, {value}", dtype.ptx());
        half
    }

    /// Combines with a narrow element, which no atomic operation knows: the aligned 32 bits around it are
    /// exchanged until no other write came between.
    fn scatter_in_word(&mut self, op: Op, dtype: DType, value: Name, element: &ElementAddress) {
        let ElementAddress { address, guard, .. } = *element;
        let wide = dtype.widened();
        let [word, rest] = [(); 2].map(|()| self.temporary(Class::B64));
        let [shift, mask, others] = [(); 3].map(|()| self.temporary(Class::B32));
        let [old, bits, kept, found] = [(); 4].map(|()| self.temporary(Class::B32));
        let [element, new] = [(); 2].map(|()| self.temporary_of(wide));
        let (half, changed) = (self.temporary(Class::B16), self.temporary(Class::Pred));
        let (again, done) = (self.new_label(), self.new_label());
        if let Some(guard) = guard.0 {
            ptx!(self, "@!{guard} bra {done}");
        }
        ptx!(self, "and.b64 {word}, {address}, -4");
        ptx!(self, "and.b64 {rest}, {address}, 3");
        ptx!(self, "cvt.u32.u64 {shift}, {rest}");
        ptx!(self, "shl.b32 {shift}, {shift}, 3");
        ptx!(self, "mov.b32 {mask}, {:#x}", u32::MAX >> (32 - dtype.bits()));
        ptx!(self, "shl.b32 {mask}, {mask}, {shift}");
        ptx!(self, "not.b32 {others}, {mask}");
        self.put_label(again);
        ptx!(self, "ld.volatile.global.b32 {old}, [{word}]");
        ptx!(self, "shr.u32 {bits}, {old}, {shift}");
        if dtype.is_half() {
            ptx!(self, "cvt.u16.u32 {half}, {bits}");
            ptx!(self, "cvt.f32.{} {element}, {half}", dtype.ptx());
        } else {
            ptx!(self, "cvt.{}.{} {element}, {bits}", wide.ptx(), dtype.ptx());
        }
        self.op(op, Types::same(wide), new, [element, value, element]);
        if dtype.is_half() {
            ptx!(self, "cvt.rn.{}.f32 {half}, {new}", dtype.ptx());
            ptx!(self, "cvt.u32.u16 {bits}, {half}");
        } else {
            ptx!(self, "mov.b32 {bits}, {new}");
        }
        ptx!(self, "shl.b32 {bits}, {bits}, {shift}");
        ptx!(self, "and.b32 {bits}, {bits}, {mask}");
        ptx!(self, "and.b32 {kept}, {old}, {others}");
        ptx!(self, "or.b32 {bits}, {bits}, {kept}");
        ptx!(self, "atom.global.cas.b32 {found}, [{word}], {old}, {bits}");
        ptx!(self, "setp.ne.u32 {changed}, {found}, {old}");
        ptx!(self, "@{changed} bra {again}");
        self.put_label(done);
    }

    /// Address of an element of an array.
    pub(super) fn element_address(&mut self, dtype: DType, base: Name, index: Name) -> Name {
        let address = self.temporary(Class::B64);
        self.set_element_address(dtype, address, base, index);
        address
    }

    /// `address = ` that of an element of an array.
    pub(super) fn set_element_address(
        &mut self,
        dtype: DType,
        address: Name,
        base: Name,
        index: Name,
    ) {
        match dtype.bytes() {
            1 => ptx!(self, "add.u64 {address}, {base}, {index}"),
            bytes => ptx!(self, "mad.lo.u64 {address}, {index}, {bytes}, {base}"),
        }
    }
}

/// PTX suffix of an atomic addition, which knows no s64; wrapping makes the bits the same.
pub(super) const fn added(dtype: DType) -> &'static str {
    if matches!(dtype, DType::I64) { DType::U64.ptx() } else { dtype.ptx() }
}
