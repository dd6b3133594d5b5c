//! Regions: loops and branches of lanes (S21). A packet runs a body while any of its lanes does.
//!
//! States and the mask of entering lanes are copies that [`MachineOp::Assign`] changes; every other register is
//! assigned once, so what a region computes counts only inside.

use super::build::{Lowering, OpenRegion};
use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::program::{Home, MachineOp, VReg};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Code, Inst, Reg};

impl Lowering<'_> {
    fn copy(&mut self, value: VReg, mask: bool) -> VReg {
        let mask = mask && self.has_mask_registers();
        let copy = self.fresh(Home::Computed, mask);
        self.push(MachineOp::Copy { mask }, copy, [value]);
        copy
    }

    pub(super) fn enter_region(&mut self, i: usize, repeat: bool) {
        let outer = self.kernel.insts[i].args[0];
        for part in 0..self.packet.narrow {
            let lanes = match outer {
                Some(outer) => self.narrow_mask(outer.index(), part),
                None => self.active(part),
            };
            let entering = self.copy(lanes, true);
            self.values.set(i, part, entering);
        }
        let number = self.n_regions;
        self.n_regions += 1;
        let n_forms = self.forms.len();
        self.regions.push(OpenRegion { start: i, number, repeat, begun: false, n_forms });
    }

    /// Marks the place behind the states.
    pub(super) fn begin_turn(&mut self, code: Code) {
        let Some(region) = self.regions.last_mut() else { return };
        if !matches!(code, Code::Phi) && !std::mem::replace(&mut region.begun, true) {
            let begin = MachineOp::Begin { region: region.number };
            self.effect(begin, []);
        }
    }

    /// The parts of a value as it is stored: masks beside 32-bit parts.
    fn parts_of(&mut self, reg: Reg) -> Vec<VReg> {
        let dtype = self.kernel.dtype(reg);
        let n = self.packet.parts(dtype.bytes());
        (0..n)
            .map(|part| {
                if dtype == DType::Mask {
                    self.narrow_mask(reg.index(), part)
                } else {
                    self.values.get(reg.index(), part)
                }
            })
            .collect()
    }

    pub(super) fn state(&mut self, i: usize, inst: &Inst) {
        let first = inst.args[0].expect("internal error: a state without a first value");
        for (part, value) in self.parts_of(first).into_iter().enumerate() {
            let state = self.copy(value, inst.dtype == DType::Mask);
            self.values.set(i, part, state);
        }
    }

    /// The running lanes; the region is left if there are none.
    pub(super) fn run_region(&mut self, i: usize, inst: &Inst) {
        let [Some(entering), Some(condition), _] = inst.args else {
            unreachable!("internal error: a region without a condition")
        };
        let mut any = VReg::NONE;
        for part in 0..self.packet.narrow {
            let entering = self.narrow_mask(entering.index(), part);
            let condition = self.narrow_mask(condition.index(), part);
            let running = self.binary(Opcode::MaskAnd, entering, condition);
            self.values.set(i, part, running);
            any = if any.is_some() { self.binary(Opcode::MaskOr, any, running) } else { running };
        }
        let Some(region) = self.regions.last() else { return };
        self.effect(MachineOp::LeaveIfNone { region: region.number }, [any]);
    }

    pub(super) fn next_value(&mut self, inst: &Inst) {
        let [Some(state), Some(next), _] = inst.args else {
            unreachable!("internal error: a next value without a state")
        };
        for (part, value) in self.parts_of(next).into_iter().enumerate() {
            let state = self.values.get(state.index(), part);
            self.effect(MachineOp::Assign, [state, value]);
        }
    }

    pub(super) fn leave_region(&mut self, inst: &Inst) {
        let Some(region) = self.regions.pop() else { return };
        if let (true, Some(running)) = (region.repeat, inst.args[0]) {
            for part in 0..self.packet.narrow {
                let entering = self.values.get(region.start, part);
                let running = self.narrow_mask(running.index(), part);
                self.effect(MachineOp::Assign, [entering, running]);
            }
        }
        self.effect(MachineOp::End { region: region.number, repeat: region.repeat }, []);
        // What was made of masks inside is not there behind a region that was skipped.
        for (wide, reg, part) in self.forms.split_off(region.n_forms) {
            let values = if wide { &mut self.wide_masks } else { &mut self.values };
            values.set(reg as usize, usize::from(part), VReg::NONE);
        }
    }

    /// Notes that a mask was given a second form.
    pub(super) fn note_form(&mut self, wide: bool, reg: usize, part: usize) {
        if !self.regions.is_empty() {
            self.forms.push((wide, exactly(reg), exactly(part)));
        }
    }
}
