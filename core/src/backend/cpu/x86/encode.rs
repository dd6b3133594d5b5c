//! Bytes of machine code, by way of iced-x86.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::encodings::Width;
use crate::backend::cpu::machine::Jump;
use crate::backend::isa::Isa;
use crate::convert::exactly;

/// General registers of the calling convention (System V) and their use in kernels.
pub(super) const WORDS: Register = Register::RDI;
/// Number of the packet's first lane.
pub(super) const LANE: Register = Register::RSI;
/// Number behind the last lane.
pub(super) const END: Register = Register::RDX;
/// The thread's frame.
pub(super) const FRAME: Register = Register::RCX;
/// The uniform values.
pub(super) const UNIFORMS: Register = Register::R8;
/// Scratch of single instructions: an address or a small computation.
pub(super) const SCRATCH: Register = Register::RAX;

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(Register),
    Memory(MemoryOperand),
}

/// Code under construction; constants come first.
pub(super) struct Encoder {
    pub(super) avx512: bool,
    inner: iced_x86::Encoder,
    position: u64,
    /// Why an instruction has no encoding: our mistake, found by the first kernel that makes it.
    error: Option<String>,
}

impl Encoder {
    pub(super) fn new(isa: Isa, mut constants: Vec<u8>) -> Self {
        constants.resize(constants.len().next_multiple_of(64), 0);
        let position = constants.len() as u64;
        let mut inner = iced_x86::Encoder::new(64);
        inner.set_buffer(constants);
        Self { avx512: isa == Isa::Avx512, inner, position, error: None }
    }

    /// Bytes so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Pads to a multiple of 16 bytes, where a loop or a function should begin.
    pub(super) fn align(&mut self) {
        while !self.position.is_multiple_of(16) {
            self.put(Ok(Instruction::with(Code::Nopd)));
        }
    }

    /// The code, or what had no encoding.
    pub(super) fn finish(mut self, jumps: &[(Jump, u64)]) -> Result<Vec<u8>, String> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut bytes = self.inner.take_buffer();
        for (Jump(end), target) in jumps {
            let distance = exactly::<i64>(*target) - exactly::<i64>(*end);
            let distance = i32::try_from(distance).map_err(|_| "a jump of more than 2 GiB")?;
            bytes[end - 4..*end].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(bytes)
    }

    pub(super) fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) {
        let encoded = instruction.and_then(|it| self.inner.encode(&it, self.position));
        match encoded {
            Ok(length) => self.position += length as u64,
            Err(error) => {
                self.error.get_or_insert_with(|| error.to_string());
            }
        }
    }

    /// A vector register of a width.
    pub(super) fn vector(&self, number: u8, width: Width) -> Register {
        let first = match (self.avx512, width) {
            (true, Width::Whole) => Register::ZMM0,
            (true, Width::Half) | (false, Width::Whole) => Register::YMM0,
            (_, Width::Half | Width::Quarter) => Register::XMM0,
        };
        first + u32::from(number)
    }

    /// A mask register.
    pub(super) fn mask(number: u8) -> Register {
        Register::K0 + u32::from(number)
    }

    /// `dst = code(a, last, immediate)`, with a mask of lanes and whether others become 0.
    pub(super) fn vector_op(
        &mut self,
        code: Code,
        dst: Register,
        a: Option<Register>,
        last: Operand,
        immediate: Option<u8>,
        mask: Option<(Register, bool)>,
    ) {
        let number = u32::from(immediate.unwrap_or(0));
        let instruction = match (a, last, immediate.is_some()) {
            (None, Operand::Register(b), false) => Instruction::with2(code, dst, b),
            (None, Operand::Memory(b), false) => Instruction::with2(code, dst, b),
            (None, Operand::Register(b), true) => Instruction::with3(code, dst, b, number),
            (None, Operand::Memory(b), true) => Instruction::with3(code, dst, b, number),
            (Some(a), Operand::Register(b), false) => Instruction::with3(code, dst, a, b),
            (Some(a), Operand::Memory(b), false) => Instruction::with3(code, dst, a, b),
            (Some(a), Operand::Register(b), true) => Instruction::with4(code, dst, a, b, number),
            (Some(a), Operand::Memory(b), true) => Instruction::with4(code, dst, a, b, number),
        };
        self.put(instruction.map(|mut instruction| {
            if let Some((mask, zeroing)) = mask {
                instruction.set_op_mask(mask);
                instruction.set_zeroing_masking(zeroing);
            }
            instruction
        }));
    }

    /// An instruction that writes memory.
    pub(super) fn store(&mut self, code: Code, memory: MemoryOperand, register: Register) {
        self.put(Instruction::with2(code, memory, register));
    }

    /// An instruction that reads memory.
    pub(super) fn load(&mut self, code: Code, register: Register, memory: MemoryOperand) {
        self.put(Instruction::with2(code, register, memory));
    }

    /// Two registers.
    pub(super) fn registers(&mut self, code: Code, a: Register, b: Register) {
        self.put(Instruction::with2(code, a, b));
    }

    /// A register and a number.
    pub(super) fn number(&mut self, code: Code, register: Register, number: i32) {
        self.put(Instruction::with2(code, register, number));
    }

    /// A jump back to a known location.
    pub(super) fn jump_back(&mut self, code: Code, target: u64) {
        self.put(Instruction::with_branch(code, target));
    }

    /// A jump to a location that `finish` is told.
    pub(super) fn jump_ahead(&mut self, code: Code) -> Jump {
        self.put(Instruction::with_branch(code, self.position));
        Jump(exactly::<usize>(self.position))
    }
}

/// Memory at a distance from a register.
pub(super) fn at(base: Register, displacement: u32) -> MemoryOperand {
    indexed(base, Register::None, 1, displacement)
}

/// Memory at a distance from a register and a scaled one.
pub(super) fn indexed(
    base: Register,
    index: Register,
    scale: u8,
    displacement: u32,
) -> MemoryOperand {
    let size = u32::from(displacement != 0);
    let displacement = i64::from(displacement);
    MemoryOperand::new(base, index, scale.into(), displacement, size, false, Register::None)
}

/// Memory at a location in the code's own block.
pub(super) fn in_code(position: u32) -> MemoryOperand {
    let position = i64::from(position);
    MemoryOperand::new(Register::RIP, Register::None, 1, position, 8, false, Register::None)
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, OpKind};

    use super::*;
    use crate::backend::cpu::instructions::{Form, Opcode};
    use crate::backend::cpu::machine::Memory;
    use crate::backend::cpu::x86::encodings::{Encoding, row};

    /// Where the tests' memory operand lies.
    const DISPLACEMENT: u32 = 0x1240;

    fn encoding(isa: Isa, m: Opcode) -> Encoding {
        if isa == Isa::Avx512 { row(m).avx512 } else { row(m).avx2 }
    }

    /// Encodes one row; `None` if it has no encoding with these operands.
    fn encode(isa: Isa, m: Opcode, last: Operand, immediate: Option<u8>) -> Option<Vec<u8>> {
        let avx512 = isa == Isa::Avx512;
        let ((code, _), form) = (encoding(isa, m), m.form());
        let mut encoder = Encoder::new(isa, Vec::new());
        let (to, from, _) = row(m).sizes.widths();
        let masks = format!("{code:?}").starts_with("VEX_K");
        let (dst, a) = if avx512 { (21, 27) } else { (5, 11) };
        let dst = if avx512 && m.makes_mask() { Encoder::mask(5) } else { encoder.vector(dst, to) };
        let a = if masks { Encoder::mask(3) } else { encoder.vector(a, from) };
        let first = (form != Form::Unary && (form != Form::Keep || !avx512)).then_some(a);
        if form == Form::Blend && !avx512 {
            let mask = encoder.vector(14, Width::Whole);
            encoder.put(match last {
                Operand::Register(last) => Instruction::with4(code, dst, a, last, mask),
                Operand::Memory(last) => Instruction::with4(code, dst, a, last, mask),
            });
        } else {
            let mask = matches!(form, Form::Blend | Form::Keep) && avx512;
            let mask = mask.then_some((Encoder::mask(6), form == Form::Keep));
            encoder.vector_op(code, dst, first, last, immediate, mask);
        }
        encoder.finish(&[]).ok()
    }

    fn check(isa: Isa, m: Opcode, last: Operand) {
        let (code, _) = encoding(isa, m);
        let immediate = format!("{code:?}").contains("imm8").then_some(0x12);
        let bytes = encode(isa, m, last, immediate);
        let bytes = bytes.unwrap_or_else(|| panic!("{code:?} has no encoding with {last:?}"));
        let mut decoder = Decoder::new(64, &bytes, DecoderOptions::NONE);
        let decoded = decoder.decode();
        assert_eq!(decoded.code(), code);
        assert_eq!(decoded.len(), bytes.len(), "{code:?}");
        assert!(immediate.is_none_or(|immediate| decoded.immediate8() == immediate), "{code:?}");
        let operands: Vec<u32> = (0..decoded.op_count()).collect();
        match last {
            Operand::Register(register) => {
                let found = operands.iter().any(|&i| {
                    decoded.op_kind(i) == OpKind::Register && decoded.op_register(i) == register
                });
                assert!(found, "{code:?} lost {register:?}");
            }
            Operand::Memory(memory) => {
                assert!(operands.iter().any(|&i| decoded.op_kind(i) == OpKind::Memory), "{code:?}");
                assert_eq!(decoded.memory_base(), memory.base, "{code:?}");
                assert_eq!(decoded.memory_index(), memory.index, "{code:?}");
                assert_eq!(decoded.memory_displacement64(), u64::from(DISPLACEMENT), "{code:?}");
                assert_eq!(decoded.is_broadcast(), memory.is_broadcast, "{code:?}");
            }
        }
    }

    #[test]
    fn every_row_decodes_to_itself() {
        for &m in Opcode::ALL {
            for isa in [Isa::Avx512, Isa::Avx2] {
                let (code, memory) = encoding(isa, m);
                if code == Code::INVALID {
                    continue;
                }
                let (_, _, width) = row(m).sizes.widths();
                let encoder = Encoder::new(isa, Vec::new());
                let number = if isa == Isa::Avx512 { 30 } else { 9 };
                let masks = format!("{code:?}").starts_with("VEX_K");
                let last = if masks { Encoder::mask(4) } else { encoder.vector(number, width) };
                check(isa, m, Operand::Register(last));
                if memory == Memory::None {
                    continue;
                }
                let mut location = indexed(FRAME, LANE, 4, DISPLACEMENT);
                check(isa, m, Operand::Memory(location));
                location.is_broadcast = true;
                if isa == Isa::Avx512 && memory != Memory::Vector {
                    check(isa, m, Operand::Memory(location));
                }
            }
        }
    }
}
