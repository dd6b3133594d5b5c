//! The machine: functions in the calling convention of System V, loops over packets, moves of values, and the
//! operands of single instructions.
//!
//! Functions are `extern "C" fn(words, lane, end, frame, uniforms)`.

use iced_x86::{Code, Instruction, MemoryOperand};

use super::caches;
use super::disassemble::disassemble;
use super::emitter::{FILL, POINTERS, SPILLS, X86};
use super::encode::{self, END, Encoder, FRAME, LANE, SCRATCH, WORDS, at};
use super::encodings::{Width, fma_codes, immediate, row};
use super::targets::{AVX2, AVX512};
use crate::backend::cpu::instructions::{Form, Opcode};
use crate::backend::cpu::machine::{
    Caches, Jump, Machine, Memory, Operand, Physical, Stored, Style, Walked,
};
use crate::backend::cpu::program::{
    CALL_END, ENDED_EARLY, Frame, Location, Packet, SPILL_STRIDE, Special, TILE_LANES, TILE_START,
};
use crate::backend::cpu::target::Target;
use crate::backend::isa::Isa;
use crate::convert::exactly;
use crate::ir::kernel::WORD_ABORT;

impl Machine for X86 {
    type Address = MemoryOperand;

    fn target(isa: Isa) -> Option<&'static Target> {
        match isa {
            Isa::Baseline | Isa::Neon => None,
            Isa::Avx2 => Some(&AVX2),
            Isa::Avx512 => Some(&AVX512),
        }
    }

    const INSTRUCTION_BYTES: usize = 6;

    fn prepare() {
        // The first encoder makes the tables of the assembler.
        drop(Encoder::new(Isa::Avx2, Vec::new()));
    }

    fn caches() -> Caches {
        caches::of_this_processor()
    }

    // The processor sees itself what was written.
    fn publish(_: usize, _: usize) {}

    fn synchronise() {}

    fn disassemble(code: &[u8], offset: usize, show: impl FnMut(usize, &str)) {
        disassemble(code, offset, show);
    }

    fn new(packet: Packet, frame: &Frame, constants: &[u8]) -> Self {
        Self {
            packet,
            frame: frame.clone(),
            code: Encoder::new(packet.target.isa, constants.to_vec()),
            style: Style::PLAIN,
            segmented: false,
            pointers: Vec::new(),
            saved: &[],
            jumps: Vec::new(),
            exits: Vec::new(),
            cold: Vec::new(),
        }
    }

    fn finish(self) -> Result<Vec<u8>, String> {
        self.code.finish(&self.jumps)
    }

    fn position(&self) -> u64 {
        self.code.position()
    }

    fn align(&mut self) {
        self.code.align();
    }

    fn begin(&mut self, style: Style, segmented: bool) {
        (self.style, self.segmented) = (style, segmented);
    }

    fn enter(&mut self, buffers: &[Walked], _: &[u32]) {
        // In segments one register is for the spills.
        let most = POINTERS.len() - usize::from(self.segmented);
        self.pointers = buffers.iter().take(most).map(|walked| walked.buffer).collect();
        self.saved = if self.segmented { &POINTERS } else { &POINTERS[..self.pointers.len()] };
        for &register in self.saved {
            self.code.put(Instruction::with1(Code::Push_r64, register));
        }
        for (&register, &buffer) in POINTERS.iter().zip(&self.pointers) {
            let memory = at(FRAME, self.frame.pointers + 8 * buffer);
            self.code.load(Code::Mov_r64_rm64, register, memory);
        }
    }

    fn restore(&mut self) {
        for &register in self.saved.iter().rev() {
            self.code.put(Instruction::with1(Code::Pop_r64, register));
        }
        if self.style.nontemporal {
            self.code.put(Ok(Instruction::with(Code::Sfence)));
        }
    }

    fn end(&mut self) {
        self.code.put(Ok(Instruction::with(Code::VEX_Vzeroupper)));
        self.code.put(Ok(Instruction::with(Code::Retnq)));
        self.emit_cold();
    }

    fn next_packet(&mut self, start: u64) {
        let lanes = exactly::<i32>(self.packet.lanes());
        self.code.number(Code::Add_rm64_imm8, LANE, lanes);
        if self.segmented {
            self.code.load(Code::Add_r64_rm64, SPILLS, at(FRAME, SPILL_STRIDE));
        }
        self.code.registers(Code::Cmp_r64_rm64, LANE, END);
        self.code.jump_back(Code::Jb_rel32_64, start);
    }

    fn begin_tiles(&mut self) -> u64 {
        self.code.store(Code::Mov_rm64_r64, at(FRAME, CALL_END), END);
        let start = self.code.position();
        self.code.store(Code::Mov_rm64_r64, at(FRAME, TILE_START), LANE);
        self.code.registers(Code::Mov_r64_rm64, END, LANE);
        self.code.load(Code::Add_r64_rm64, END, at(FRAME, TILE_LANES));
        self.code.load(Code::Cmp_r64_rm64, END, at(FRAME, CALL_END));
        self.code.load(Code::Cmova_r64_rm64, END, at(FRAME, CALL_END));
        start
    }

    fn next_tile(&mut self, start: u64) {
        self.code.load(Code::Cmp_r64_rm64, LANE, at(FRAME, CALL_END));
        self.code.jump_back(Code::Jb_rel32_64, start);
    }

    fn begin_tile(&mut self) {
        self.code.load(Code::Mov_r64_rm64, LANE, at(FRAME, TILE_START));
        self.code.load(Code::Lea_r64_m, SPILLS, at(FRAME, self.frame.spills));
    }

    fn exit_if_interrupted(&mut self) {
        let abort = at(WORDS, 8 * exactly::<u32>(WORD_ABORT));
        self.code.load(Code::Mov_r64_rm64, SCRATCH, abort);
        self.code.put(Instruction::with2(Code::Cmp_rm8_imm8, at(SCRATCH, 0), 0));
        self.exits.push(self.code.jump_ahead(Code::Jne_rel32_64));
    }

    fn end_exits(&mut self) {
        if self.exits.is_empty() {
            return;
        }
        let complete = self.code.jump_ahead(Code::Jmp_rel32_64);
        let exits = std::mem::take(&mut self.exits);
        exits.into_iter().for_each(|exit| self.land(exit));
        self.code.put(Instruction::with2(Code::Mov_rm64_imm32, at(FRAME, ENDED_EARLY), 1));
        self.land(complete);
    }

    fn jump_if_none(&mut self, mask: Physical) -> Jump {
        let register = self.register(mask, Width::Whole);
        let code = if mask.mask { Code::VEX_Kortestw_kr_kr } else { Code::VEX_Vptest_ymm_ymmm256 };
        self.code.registers(code, register, register);
        self.code.jump_ahead(Code::Je_rel32_64)
    }

    fn jump_back(&mut self, target: u64) {
        self.code.jump_back(Code::Jmp_rel32_64, target);
    }

    fn land(&mut self, jump: Jump) {
        let here = self.code.position();
        self.jumps.push((jump, here));
    }

    fn load(&mut self, to: Physical, from: Stored) {
        let memory = self.stored(from, FILL);
        let code = match (from, self.avx512()) {
            _ if to.mask => Code::VEX_Kmovw_kr_km16,
            (Stored::Repeat4(_), true) => Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
            (Stored::Repeat4(_), false) => Code::VEX_Vbroadcastss_ymm_m32,
            (Stored::Repeat8(_), true) => Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
            (Stored::Repeat8(_), false) => Code::VEX_Vbroadcastsd_ymm_m64,
            (Stored::Whole(_) | Stored::Slot(_), _) => self.load_code(),
        };
        let register = self.register(to, Width::Whole);
        self.code.load(code, register, memory);
    }

    fn store(&mut self, to: Stored, from: Physical) {
        let memory = self.stored(to, FILL);
        if from.mask {
            self.code.store(Code::VEX_Kmovw_m16_kr, memory, Encoder::mask(from.number));
        } else {
            self.store_vector(memory, from.number);
        }
    }

    fn copy(&mut self, to: Physical, from: Physical) {
        let code = if to.mask {
            Code::VEX_Kmovw_kr_km16
        } else if self.avx512() {
            Code::EVEX_Vmovaps_zmm_k1z_zmmm512
        } else {
            Code::VEX_Vmovaps_ymm_ymmm256
        };
        let (to, from) = (self.register(to, Width::Whole), self.register(from, Width::Whole));
        self.code.registers(code, to, from);
    }

    fn address(&mut self, of: Stored) -> MemoryOperand {
        let mut memory = self.stored(of, SCRATCH);
        memory.is_broadcast = matches!(of, Stored::Repeat4(_) | Stored::Repeat8(_));
        memory
    }

    fn fetch_ahead(&mut self, location: Location) {
        let memory = self.memory(location, FILL);
        self.fetch(memory);
    }

    fn folds(&self, m: Opcode) -> Memory {
        self.encoding(row(m)).1
    }

    fn encode(
        &mut self,
        m: Opcode,
        number: Option<u8>,
        dst: Physical,
        first: &[Physical],
        last: Operand<MemoryOperand>,
    ) {
        let row = row(m);
        let (code, _) = self.encoding(row);
        let (to, from, width) = row.sizes.widths();
        let dst = self.register(dst, to);
        let last = self.last(last, width);
        let number = number.map(|number| immediate(m, number));
        match (m.form(), first) {
            (Form::Blend, &[mask, no]) => {
                let no = self.register(no, from);
                let mask = self.register(mask, Width::Whole);
                if self.avx512() {
                    let mask = Some((mask, false));
                    return self.code.vector_op(code, dst, Some(no), last, None, mask);
                }
                self.code.put(match last {
                    encode::Operand::Register(yes) => Instruction::with4(code, dst, no, yes, mask),
                    encode::Operand::Memory(yes) => Instruction::with4(code, dst, no, yes, mask),
                });
            }
            (Form::Keep, &[mask]) if self.avx512() => {
                let mask = Some((self.register(mask, Width::Whole), true));
                self.code.vector_op(code, dst, None, last, None, mask);
            }
            _ => {
                let first = first.first().map(|&first| self.register(first, from));
                self.code.vector_op(code, dst, first, last, number, None);
            }
        }
    }

    fn fma(&mut self, m: Opcode, dst: u8, replaced: usize, src: [Operand<MemoryOperand>; 3]) {
        let codes = fma_codes(m, self.avx512());
        let in_memory = src.iter().position(|source| matches!(source, Operand::Memory(_)));
        // The factor beside the one named.
        let other = |k: usize| 1 - k;
        let (code, middle, last) = match (replaced, in_memory) {
            (2, Some(k)) => (codes.f231, other(k), k),
            (2, None) => (codes.f231, 0, 1),
            (k, Some(memory)) if memory == other(k) => (codes.f132, 2, memory),
            (k, _) => (codes.f213, other(k), 2),
        };
        let Operand::Register(middle) = src[middle] else {
            unreachable!("internal error: two operands in memory")
        };
        let middle = self.register(middle, Width::Whole);
        let last = self.last(src[last], Width::Whole);
        let dst = self.code.vector(dst, Width::Whole);
        self.code.vector_op(code, dst, Some(middle), last, None, None);
    }

    fn special(&mut self, special: Special, dst: u8, src: [u8; 3], spare: Option<u8>) {
        self.emit_special(special, dst, src, spare);
    }
}

impl X86 {
    fn last(&self, last: Operand<MemoryOperand>, width: Width) -> encode::Operand {
        match last {
            Operand::Register(register) => {
                encode::Operand::Register(self.register(register, width))
            }
            Operand::Memory(memory) => encode::Operand::Memory(memory),
        }
    }
}
