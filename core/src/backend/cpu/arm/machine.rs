//! The machine: functions in the calling convention of 64-bit ARM, loops over packets, moves of values, and the
//! operands of single instructions.
//!
//! Functions are `extern "C" fn(words, lane, end, frame, uniforms)`. The constants' address and scratch are in registers
//! that a function may change. A vector register has the number that the allocator gives it.

use super::caches;
use super::disassemble::disassemble;
use super::emitter::{Arm, POINTERS, VECTOR, vector};
use super::encode::{
    At, Condition, END, Encoder, FILL, FRAME, LANE, POOL, SCRATCH, SECOND, SPILLS, Transfer,
};
use super::encodings::{FMLA, WIDE};
use super::targets::{NEON, NEON_HALVES};
use super::visibility;
use crate::backend::cpu::instructions::Opcode;
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

/// An operand in memory, which no instruction takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Never {}

fn frame(offset: u32) -> At {
    At { base: FRAME, offset }
}

impl Machine for Arm {
    type Address = Never;

    const INSTRUCTION_BYTES: usize = 4;

    fn target(isa: Isa) -> Option<&'static Target> {
        match isa {
            Isa::Neon if std::arch::is_aarch64_feature_detected!("fp16") => Some(&NEON_HALVES),
            Isa::Neon => Some(&NEON),
            Isa::Baseline | Isa::Avx2 | Isa::Avx512 => None,
        }
    }

    fn prepare() {}

    fn caches() -> Caches {
        caches::OF_MOST_PROCESSORS
    }

    fn publish(address: usize, bytes: usize) {
        visibility::publish(address, bytes);
    }

    fn synchronise() {
        visibility::synchronise();
    }

    fn disassemble(code: &[u8], offset: usize, show: impl FnMut(usize, &str)) {
        disassemble(code, offset, show);
    }

    fn new(packet: Packet, frame: &Frame, constants: &[u8]) -> Self {
        Self {
            packet,
            frame: frame.clone(),
            code: Encoder::new(constants.to_vec()),
            style: Style::PLAIN,
            segmented: false,
            pointers: Vec::new(),
            bases: Vec::new(),
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
        self.pointers.clear();
        self.bases.clear();
        self.code.keep_vectors();
        self.code.address_of(POOL, 0);
    }

    fn enter(&mut self, buffers: &[Walked], whole: &[u32]) {
        self.pointers = buffers.iter().copied().take(POINTERS.len()).collect();
        let left = POINTERS.len() - self.pointers.len();
        self.bases = whole.iter().copied().take(left).collect();
        for [a, b] in self.kept() {
            self.code.push(a, b);
        }
        self.load_pointers();
        for (&register, &word) in POINTERS[self.pointers.len()..].iter().zip(&self.bases) {
            self.code.load_long(register, Self::word_of(word as usize));
        }
    }

    fn restore(&mut self) {
        for [a, b] in self.kept().into_iter().rev() {
            self.code.pop(a, b);
        }
    }

    fn end(&mut self) {
        self.code.restore_vectors();
        self.code.ret();
        self.emit_cold();
    }

    fn next_packet(&mut self, start: u64) {
        let lanes = exactly::<u32>(self.packet.lanes());
        self.code.add_number(LANE, LANE, lanes);
        for (register, walked) in POINTERS.into_iter().zip(&self.pointers) {
            self.code.add_number(register, register, lanes * u32::from(walked.bytes));
        }
        if self.segmented {
            self.code.load_long(SCRATCH, frame(SPILL_STRIDE));
            self.code.add(SPILLS, SPILLS, SCRATCH, 0);
        }
        self.code.compare(LANE, END, true);
        self.code.jump_back_if(Condition::Lower, start);
    }

    fn begin_tiles(&mut self) -> u64 {
        self.code.store(Transfer::LONG, END.0, frame(CALL_END), SCRATCH);
        let start = self.code.position();
        self.code.store(Transfer::LONG, LANE.0, frame(TILE_START), SCRATCH);
        self.code.load_long(SCRATCH, frame(TILE_LANES));
        self.code.load_long(SECOND, frame(CALL_END));
        self.code.add(END, LANE, SCRATCH, 0);
        self.code.compare(END, SECOND, true);
        self.code.select(END, SECOND, END, Condition::Higher);
        start
    }

    fn next_tile(&mut self, start: u64) {
        self.code.load_long(SECOND, frame(CALL_END));
        self.code.compare(LANE, SECOND, true);
        self.code.jump_back_if(Condition::Lower, start);
    }

    fn begin_tile(&mut self) {
        self.code.load_long(LANE, frame(TILE_START));
        self.code.add_number(SPILLS, FRAME, self.frame.spills);
        self.load_pointers();
    }

    fn exit_if_interrupted(&mut self) {
        self.code.load_long(SCRATCH, Self::word_of(WORD_ABORT));
        self.code.load(Transfer::BYTE, SCRATCH.0, At { base: SCRATCH, offset: 0 }, SCRATCH);
        let exit = self.code.jump_ahead_if(false, SCRATCH);
        self.exits.push(exit);
    }

    fn end_exits(&mut self) {
        if self.exits.is_empty() {
            return;
        }
        let complete = self.code.jump_ahead();
        let exits = std::mem::take(&mut self.exits);
        exits.into_iter().for_each(|exit| self.land(exit));
        // Any number but 0 will do, and the address of the frame is one.
        self.code.store(Transfer::LONG, FRAME.0, frame(ENDED_EARLY), SCRATCH);
        self.land(complete);
    }

    fn jump_if_none(&mut self, mask: Physical) -> Jump {
        self.any_of(vector(mask));
        self.code.jump_ahead_if(true, SCRATCH)
    }

    fn jump_back(&mut self, target: u64) {
        self.code.jump_back(target);
    }

    fn land(&mut self, jump: Jump) {
        let here = self.code.position();
        self.jumps.push((jump, here));
    }

    fn load(&mut self, to: Physical, from: Stored) {
        let at = self.stored(from, FILL);
        match from {
            Stored::Repeat4(_) => self.code.load_repeated(vector(to), at, false, FILL),
            Stored::Repeat8(_) => self.code.load_repeated(vector(to), at, true, FILL),
            Stored::Whole(_) | Stored::Slot(_) => self.load_vector(vector(to), at, FILL),
        }
    }

    fn store(&mut self, to: Stored, from: Physical) {
        let at = self.stored(to, FILL);
        self.store_vector(at, vector(from), FILL);
    }

    fn copy(&mut self, to: Physical, from: Physical) {
        self.code.copy(vector(to), vector(from));
    }

    fn address(&mut self, of: Stored) -> Never {
        unreachable!("internal error: {of:?} as an operand")
    }

    fn fetch_ahead(&mut self, location: Location) {
        let at = self.memory(location, FILL);
        self.fetch(at);
    }

    fn folds(&self, _: Opcode) -> Memory {
        Memory::None
    }

    fn encode(
        &mut self,
        m: Opcode,
        number: Option<u8>,
        dst: Physical,
        first: &[Physical],
        last: Operand<Never>,
    ) {
        let Operand::Register(last) = last;
        let mut registers = [vector(last); 2];
        for (register, &source) in registers.iter_mut().zip(first) {
            *register = vector(source);
        }
        self.simple(m, number, vector(dst), &registers[..first.len()], vector(last));
    }

    fn fma(&mut self, m: Opcode, dst: u8, replaced: usize, src: [Operand<Never>; 3]) {
        debug_assert_eq!(replaced, 2, "the result replaces the summand");
        let word = if m == Opcode::FmaF64 { FMLA + WIDE } else { FMLA };
        let [Operand::Register(a), Operand::Register(b), _] = src;
        self.code.binary(word, vector(Physical::vector(dst)), vector(a), vector(b));
    }

    fn special(&mut self, special: Special, dst: u8, src: [u8; 3], _: Option<u8>) {
        let [dst, a, b, c] = [dst, src[0], src[1], src[2]].map(|n| vector(Physical::vector(n)));
        self.emit_special(special, dst, [a, b, c]);
    }
}

const _: () = assert!(NEON.vector == VECTOR as usize);
