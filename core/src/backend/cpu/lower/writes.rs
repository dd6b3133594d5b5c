//! How values are stored and reduced.

use super::build::Lowering;
use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::program::{Home, Location, MachineOp, Nan, Special, VReg};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Reg};
use crate::ir::op::ReduceOp;

impl Lowering<'_> {
    pub(super) fn reduce(&mut self, op: ReduceOp, value: Reg, buffer: BufferIndex) {
        let offset = self.offsets[buffer.index()];
        if self.kernel.dtype(value) == DType::Mask {
            self.count(value, offset);
        } else {
            self.accumulate(op, value, offset);
        }
    }

    pub(super) fn store(&mut self, value: Reg, buffer: BufferIndex) {
        let dtype = self.kernel.dtype(value);
        if dtype.is_narrow() {
            return self.store_narrow(value, buffer, dtype);
        }
        let buffer = buffer.0;
        for part in 0..self.packet.parts(dtype.bytes()) {
            let number = exactly(part);
            if dtype == DType::Mask {
                let mask = self.narrow_mask(value.index(), part);
                let bytes = self.bytes_of_mask(mask);
                self.effect(Special::StorePacked { buffer, bytes: 1, part: number }, [bytes]);
            } else {
                let lanes = self.values.get(value.index(), part);
                let bytes = exactly(dtype.bytes());
                self.effect(Special::Store { buffer, bytes, part: number }, [lanes]);
            }
        }
    }

    /// True lanes as bytes of 1 in the low bytes of a register.
    pub(super) fn bytes_of_mask(&mut self, mask: VReg) -> VReg {
        if self.has(Opcode::KeepBytes) {
            let ones = self.constant(0x0101_0101, 4);
            return self.binary(Opcode::KeepBytes, mask, ones);
        }
        let upper = self.unary_by(Opcode::UpperHalf, mask, 1);
        let words = self.binary(Opcode::PackWords, mask, upper);
        let bytes = self.binary(Opcode::PackBytes, words, words);
        let ones = self.constant(0x0101_0101, 4);
        self.binary(Opcode::AndHalf, bytes, ones)
    }

    fn count(&mut self, value: Reg, offset: u32) {
        for part in 0..self.packet.narrow {
            let mask = self.narrow_mask(value.index(), part);
            self.effect(Special::Count { offset, part: exactly(part) }, [mask]);
        }
    }

    fn accumulate(&mut self, op: ReduceOp, value: Reg, offset: u32) {
        let dtype = self.kernel.dtype(value);
        let bytes = exactly(dtype.bytes());
        for part in 0..self.packet.parts(dtype.bytes()) {
            let lanes = self.values.get(value.index(), part);
            if self.carries {
                let location = offset + exactly::<u32>(part * self.packet.vector());
                let sum = self.at_home(Home::Carried(Location::Frame(location)));
                self.set_nan(sum, Nan::Quiet);
                let next = self.same(op.combine(), dtype, [sum, lanes, lanes]);
                self.push(MachineOp::Carry, sum, [next]);
                continue;
            }
            let number = exactly(part);
            let before = self.make(Special::LoadAccumulator { offset, bytes, part: number }, []);
            self.set_nan(before, Nan::Quiet);
            let after = self.same(op.combine(), dtype, [before, lanes, lanes]);
            self.effect(Special::StoreAccumulator { offset, bytes, part: number }, [after]);
        }
    }
}
