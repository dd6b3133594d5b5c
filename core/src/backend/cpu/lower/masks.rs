//! Masks beside 32-bit parts and beside 64-bit parts.

use super::build::Lowering;
use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::program::{ACTIVE_BITS, ACTIVE_VECTORS, Home, Location, VReg};
use crate::convert::exactly;

impl Lowering<'_> {
    /// A part of a mask beside 32-bit lanes.
    pub(super) fn narrow_mask(&mut self, reg: usize, part: usize) -> VReg {
        let known = self.values.get(reg, part);
        if known.is_some() {
            return known;
        }
        let low = self.wide_masks.get(reg, 2 * part);
        let high = self.wide_masks.get(reg, 2 * part + 1);
        let mask = if self.has(Opcode::MaskJoin) {
            self.binary(Opcode::MaskJoin, high, low)
        } else {
            self.low_dwords(low, high)
        };
        self.values.set(reg, part, mask);
        self.note_form(false, reg, part);
        mask
    }

    /// A part of a mask beside 64-bit lanes.
    pub(super) fn wide_mask(&mut self, reg: usize, part: usize) -> VReg {
        let known = self.wide_masks.get(reg, part);
        if known.is_some() {
            return known;
        }
        let narrow = self.narrow_mask(reg, part / 2);
        let mask = self.widen_mask(narrow, part % 2 == 1);
        self.wide_masks.set(reg, part, mask);
        self.note_form(true, reg, part);
        mask
    }

    /// One half of a narrow mask, beside 64-bit lanes.
    pub(super) fn widen_mask(&mut self, narrow: VReg, upper: bool) -> VReg {
        if self.has_mask_registers() {
            return if upper { self.unary_by(Opcode::MaskShr, narrow, 8) } else { narrow };
        }
        self.widened(Opcode::SignExtend, narrow, upper)
    }

    /// A half of a register, in the low half of one.
    pub(super) fn half(&mut self, value: VReg, upper: bool) -> VReg {
        if upper && self.varies(value) { self.unary_by(Opcode::UpperHalf, value, 1) } else { value }
    }

    /// Whether lanes may differ: constants and uniform values are the same in both halves.
    pub(super) fn varies(&self, value: VReg) -> bool {
        !matches!(
            self.program.virtuals[value.index()].home,
            Home::Repeat4(_) | Home::Repeat8(_) | Home::Vector(Location::Uniform(_))
        )
    }

    /// A mask that is true or false everywhere.
    pub(super) fn mask_constant(&mut self, set: bool) -> VReg {
        if !self.has_mask_registers() {
            return self.constant(if set { u64::from(u32::MAX) } else { 0 }, 4);
        }
        let key = (u64::from(set), 2);
        if let Some(&known) = self.constants.get(&key) {
            return known;
        }
        let location = self.pool.place(if set { u64::MAX } else { 0 }, 8);
        let mask = self.at_home(Home::Mask(location));
        self.constants.insert(key, mask);
        mask
    }

    /// Which lanes of a narrow part are lanes of the launch.
    pub(super) fn active(&mut self, part: usize) -> VReg {
        if self.uniform {
            return self.mask_constant(true);
        }
        let part = exactly::<u32>(part);
        let target = self.packet.target;
        let home = if target.has_mask_registers() {
            Home::Mask(Location::Frame(ACTIVE_BITS + exactly::<u32>(target.vector / 32) * part))
        } else {
            Home::Vector(Location::Frame(ACTIVE_VECTORS + exactly::<u32>(target.vector) * part))
        };
        self.at_home(home)
    }
}
