//! Scatters lane by lane: what combines with the element there, and whatever AVX2 scatters.
//!
//! Indices and values lie in the frame's scratch. A loop takes the lanes by the ones of their mask, or all
//! are taken one after the other: lanes of equal indices act in order. An f16 element is combined in scratch, as f32.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::emitter::{SECOND, X86};
use super::encode::{FRAME, Operand, WORDS, at, indexed};
use super::encodings::Width;
use crate::backend::cpu::machine::Machine;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::ScatterOp;

/// The target's address.
const BASE: Register = Register::R10;
/// The element's number.
const ELEMENT: Register = Register::R11;
/// The vector register that floats pass through; its contents are kept in the frame meanwhile.
const FLOAT: u8 = 0;

impl X86 {
    pub(super) fn scatter_lanes(
        &mut self,
        word: u32,
        op: ScatterOp,
        dtype: DType,
        wide_index: bool,
        mask: u8,
    ) {
        let lanes = self.vector_bytes() / 4;
        let kept = at(FRAME, self.frame.scratch + 4 * self.vector_bytes());
        self.bits_of_mask(mask, false);
        self.code.load(Code::Mov_r64_rm64, BASE, at(WORDS, 8 * word));
        self.code.registers(Code::Test_rm32_r32, Register::EAX, Register::EAX);
        let done = self.code.jump_ahead(Code::Je_rel32_64);
        let float = dtype.is_float() && op != ScatterOp::Set;
        if float {
            self.store_vector(kept, FLOAT);
        }
        // Mostly all lanes scatter. Code for each is worth it where it is short.
        let extreme = matches!(op, ScatterOp::Min | ScatterOp::Max);
        let all = (dtype.bytes() >= 4 && !(float && extreme)).then(|| {
            self.code.number(Code::Cmp_EAX_imm32, Register::EAX, (1 << lanes) - 1);
            let some = self.code.jump_ahead(Code::Jne_rel32_64);
            for lane in 0..lanes {
                self.scatter_lane(op, dtype, wide_index, Some(lane));
            }
            let all = self.code.jump_ahead(Code::Jmp_rel32_64);
            self.land(some);
            all
        });
        let next = self.code.position();
        self.code.registers(Code::Tzcnt_r32_rm32, Register::R9D, Register::EAX);
        self.scatter_lane(op, dtype, wide_index, None);
        self.code.registers(Code::VEX_Blsr_r32_rm32, Register::EAX, Register::EAX);
        self.code.jump_back(Code::Jne_rel32_64, next);
        all.into_iter().for_each(|all| self.land(all));
        if float {
            self.load_vector(FLOAT, kept);
        }
        self.land(done);
    }

    /// One lane: of that number, or of the number in [`SECOND`], which is lost.
    fn scatter_lane(&mut self, op: ScatterOp, dtype: DType, wide_index: bool, lane: Option<u32>) {
        let vector = self.vector_bytes();
        let scratch = self.frame.scratch;
        let location = |offset: u32, bytes: u8| match lane {
            Some(lane) => at(FRAME, scratch + offset + lane * u32::from(bytes)),
            None => indexed(FRAME, SECOND, bytes, scratch + offset),
        };
        if wide_index {
            self.code.load(Code::Mov_r64_rm64, ELEMENT, location(0, 8));
        } else {
            self.code.load(Code::Mov_r32_rm32, Register::R11D, location(0, 4));
        }
        let bytes = exactly::<u8>(dtype.bytes());
        let element = indexed(BASE, ELEMENT, bytes, 0);
        if !dtype.is_half() || op == ScatterOp::Set {
            return self.update(op, dtype, element, location(2 * vector, bytes));
        }
        // A half is combined as f32.
        let widened = at(FRAME, scratch + 3 * vector);
        self.widen_element(element, widened);
        self.update(op, DType::F32, widened, location(2 * vector, 4));
        self.round_element(widened, element);
    }

    fn update(
        &mut self,
        op: ScatterOp,
        dtype: DType,
        element: MemoryOperand,
        value: MemoryOperand,
    ) {
        match op {
            ScatterOp::Min | ScatterOp::Max if dtype.is_float() => {
                self.update_extreme(op, dtype, element, value);
            }
            ScatterOp::Add if dtype.is_float() => self.update_sum(dtype, element, value),
            _ => self.update_integer(op, dtype, element, value),
        }
    }

    /// Replaces or combines the bits at the element; `value` may be addressed by [`SECOND`], which is lost.
    fn update_integer(
        &mut self,
        op: ScatterOp,
        dtype: DType,
        element: MemoryOperand,
        value: MemoryOperand,
    ) {
        let (load, register) = match dtype.bytes() {
            1 => (Code::Movzx_r32_rm8, Register::R9D),
            2 => (Code::Movzx_r32_rm16, Register::R9D),
            4 => (Code::Mov_r32_rm32, Register::R9D),
            _ => (Code::Mov_r64_rm64, SECOND),
        };
        self.code.load(load, register, value);
        let signed = dtype.is_signed();
        if dtype.bytes() < 4 && matches!(op, ScatterOp::Min | ScatterOp::Max) {
            return self.update_narrow_extreme(op, dtype, element);
        }
        // Move the element over a value that is not beyond it.
        let keep = match (op, dtype.bytes(), signed) {
            (ScatterOp::Min, 4, true) => Some((Code::Cmp_r32_rm32, Code::Cmovg_r32_rm32)),
            (ScatterOp::Min, 4, false) => Some((Code::Cmp_r32_rm32, Code::Cmova_r32_rm32)),
            (ScatterOp::Min, _, true) => Some((Code::Cmp_r64_rm64, Code::Cmovg_r64_rm64)),
            (ScatterOp::Min, _, false) => Some((Code::Cmp_r64_rm64, Code::Cmova_r64_rm64)),
            (ScatterOp::Max, 4, true) => Some((Code::Cmp_r32_rm32, Code::Cmovl_r32_rm32)),
            (ScatterOp::Max, 4, false) => Some((Code::Cmp_r32_rm32, Code::Cmovb_r32_rm32)),
            (ScatterOp::Max, _, true) => Some((Code::Cmp_r64_rm64, Code::Cmovl_r64_rm64)),
            (ScatterOp::Max, _, false) => Some((Code::Cmp_r64_rm64, Code::Cmovb_r64_rm64)),
            (ScatterOp::Set | ScatterOp::Add | ScatterOp::And | ScatterOp::Or, ..) => None,
        };
        if let Some((compare, keep)) = keep {
            self.code.load(compare, register, element);
            self.code.load(keep, register, element);
        }
        let [byte, short, word, long] = match op {
            ScatterOp::Set | ScatterOp::Min | ScatterOp::Max => {
                [Code::Mov_rm8_r8, Code::Mov_rm16_r16, Code::Mov_rm32_r32, Code::Mov_rm64_r64]
            }
            ScatterOp::Add => {
                [Code::Add_rm8_r8, Code::Add_rm16_r16, Code::Add_rm32_r32, Code::Add_rm64_r64]
            }
            ScatterOp::And => {
                [Code::And_rm8_r8, Code::And_rm16_r16, Code::And_rm32_r32, Code::And_rm64_r64]
            }
            ScatterOp::Or => {
                [Code::Or_rm8_r8, Code::Or_rm16_r16, Code::Or_rm32_r32, Code::Or_rm64_r64]
            }
        };
        match dtype.bytes() {
            1 => self.code.store(byte, element, Register::R9L),
            2 => self.code.store(short, element, Register::R9W),
            4 => self.code.store(word, element, register),
            _ => self.code.store(long, element, register),
        }
    }

    /// Replaces the element by the value in [`SECOND`] if that is beyond it. Conditional moves would read
    /// more than the element.
    fn update_narrow_extreme(&mut self, op: ScatterOp, dtype: DType, element: MemoryOperand) {
        let (compare, store, register) = match dtype.bytes() {
            1 => (Code::Cmp_r8_rm8, Code::Mov_rm8_r8, Register::R9L),
            _ => (Code::Cmp_r16_rm16, Code::Mov_rm16_r16, Register::R9W),
        };
        self.code.load(compare, register, element);
        let stays = match (op == ScatterOp::Min, dtype.is_signed()) {
            (true, true) => Code::Jge_rel32_64,
            (true, false) => Code::Jae_rel32_64,
            (false, true) => Code::Jle_rel32_64,
            (false, false) => Code::Jbe_rel32_64,
        };
        let stays = self.code.jump_ahead(stays);
        self.code.store(store, element, register);
        self.land(stays);
    }

    /// The f16 element as f32 in memory.
    fn widen_element(&mut self, element: MemoryOperand, widened: MemoryOperand) {
        let float = self.code.vector(FLOAT, Width::Quarter);
        let element = Operand::Memory(element);
        let load = Code::VEX_Vpinsrw_xmm_xmm_r32m16_imm8;
        self.code.vector_op(load, float, Some(float), element, Some(0), None);
        self.code.registers(Code::VEX_Vcvtph2ps_xmm_xmmm64, float, float);
        self.code.store(Code::VEX_Vmovss_m32_xmm, widened, float);
    }

    /// The f32 in memory, rounded, as the element.
    fn round_element(&mut self, widened: MemoryOperand, element: MemoryOperand) {
        let float = self.code.vector(FLOAT, Width::Quarter);
        self.code.load(Code::VEX_Vmovss_xmm_m32, float, widened);
        let (round, register) = (Code::VEX_Vcvtps2ph_xmmm64_xmm_imm8, Operand::Register(float));
        self.code.vector_op(round, float, None, register, Some(0), None);
        let store = Code::VEX_Vpextrw_r32m16_xmm_imm8;
        self.code.put(Instruction::with3(store, element, float, 0));
    }

    fn update_sum(&mut self, dtype: DType, element: MemoryOperand, value: MemoryOperand) {
        let float = FloatCodes::of(dtype);
        let register = self.code.vector(FLOAT, Width::Quarter);
        self.code.load(float.load, register, element);
        let value = Operand::Memory(value);
        self.code.vector_op(float.add, register, Some(register), value, None, None);
        self.code.store(float.store, element, register);
    }

    /// The extreme as S9 says: a NaN is ignored, and zeros differ by their signs.
    fn update_extreme(
        &mut self,
        op: ScatterOp,
        dtype: DType,
        element: MemoryOperand,
        value: MemoryOperand,
    ) {
        let float = FloatCodes::of(dtype);
        let least = op == ScatterOp::Min;
        let register = self.code.vector(FLOAT, Width::Quarter);
        self.code.load(float.load, register, value);
        self.code.load(float.compare, register, element);
        let unordered = self.code.jump_ahead(Code::Jp_rel32_64);
        let equal = self.code.jump_ahead(Code::Je_rel32_64);
        let beyond = if least { Code::Ja_rel32_64 } else { Code::Jb_rel32_64 };
        let beyond = self.code.jump_ahead(beyond);
        let store = self.code.position();
        self.code.store(float.store, element, register);
        let stored = self.code.jump_ahead(Code::Jmp_rel32_64);
        // Equal values differ at most in the sign of a zero: or takes the smaller, and the larger.
        self.land(equal);
        self.update_integer(
            if least { ScatterOp::Or } else { ScatterOp::And },
            dtype.unsigned(),
            element,
            value,
        );
        let combined = self.code.jump_ahead(Code::Jmp_rel32_64);
        self.land(unordered);
        self.code.registers(float.compare, register, register);
        self.code.jump_back(Code::Jnp_rel32_64, store);
        [beyond, stored, combined].into_iter().for_each(|jump| self.land(jump));
    }
}

/// Scalar instructions of a float type.
struct FloatCodes {
    load: Code,
    store: Code,
    add: Code,
    compare: Code,
}

impl FloatCodes {
    fn of(dtype: DType) -> Self {
        if dtype.bytes() == 8 {
            Self {
                load: Code::VEX_Vmovsd_xmm_m64,
                store: Code::VEX_Vmovsd_m64_xmm,
                add: Code::VEX_Vaddsd_xmm_xmm_xmmm64,
                compare: Code::VEX_Vucomisd_xmm_xmmm64,
            }
        } else {
            Self {
                load: Code::VEX_Vmovss_xmm_m32,
                store: Code::VEX_Vmovss_m32_xmm,
                add: Code::VEX_Vaddss_xmm_xmm_xmmm32,
                compare: Code::VEX_Vucomiss_xmm_xmmm32,
            }
        }
    }
}
