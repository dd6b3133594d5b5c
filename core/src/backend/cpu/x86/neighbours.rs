//! Gathers and scatters by vectors of indices. Where the indices count up, which is found out as they
//! come, the lanes are neighbours in memory: one load or store moves them all.
//!
//! The rest is out of line: where all lanes want one element, one load that repeats it; else a gather instruction, or
//! loads one by one.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::emitter::{Cold, ColdCode, Indexed, SECOND, X86};
use super::encode::{Encoder, FRAME, Operand, SCRATCH, WORDS, at, in_code, indexed};
use super::encodings::Width;
use crate::backend::cpu::machine::{Jump, Machine};
use crate::backend::cpu::program::Access;

impl Access {
    /// Widths of a register of data, and of indices.
    fn widths(&self) -> (Width, Width) {
        match (self.wide, self.wide_index) {
            (false, true) => (Width::Half, Width::Whole),
            (true, false) => (Width::Whole, Width::Half),
            (false, false) | (true, true) => (Width::Whole, Width::Whole),
        }
    }
}

impl X86 {
    /// Lanes gathered where the mask is set, zeros elsewhere. The result shares no register with a source.
    pub(super) fn gather(&mut self, access: Access, data: u8, [_, index, mask]: [u8; 3]) {
        let indexed = Indexed { access, data, index, mask };
        let Some(counting) = access.counting else { return self.gather_any(indexed) };
        let entry = self.jump_unless(indexed, Some(counting), data);
        let memory = self.first_element(indexed);
        if self.style.prefetch {
            self.fetch(memory);
        }
        let dst = self.code.vector(data, access.widths().0);
        if self.avx512() {
            let code = match (access.bytes, access.wide_index) {
                (1, _) => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
                (2, _) => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
                (8, _) => Code::EVEX_Vmovupd_zmm_k1z_zmmm512,
                (_, false) => Code::EVEX_Vmovups_zmm_k1z_zmmm512,
                (_, true) => Code::EVEX_Vmovups_ymm_k1z_ymmm256,
            };
            let mask = Some((Encoder::mask(mask), true));
            self.code.vector_op(code, dst, None, Operand::Memory(memory), None, mask);
        } else {
            let mask = self.code.vector(mask, access.widths().0);
            self.code.put(match (access.bytes, access.wide_index) {
                (1, _) => Instruction::with2(Code::VEX_Vpmovzxbd_ymm_xmmm64, dst, memory),
                (2, _) => Instruction::with2(Code::VEX_Vpmovzxwd_ymm_xmmm128, dst, memory),
                (8, _) => Instruction::with3(Code::VEX_Vmaskmovpd_ymm_ymm_m256, dst, mask, memory),
                (_, false) => {
                    Instruction::with3(Code::VEX_Vmaskmovps_ymm_ymm_m256, dst, mask, memory)
                }
                (_, true) => {
                    Instruction::with3(Code::VEX_Vmaskmovps_xmm_xmm_m128, dst, mask, memory)
                }
            });
        }
        let back = self.code.position();
        self.cold.push(Cold { entry, back, code: ColdCode::Gather(indexed) });
    }

    /// One element in all lanes, if all want that one; goes on behind it if they do not.
    pub(super) fn gather_same(&mut self, indexed: Indexed, back: u64) {
        let Indexed { access, data, mask, .. } = indexed;
        let avx512 = self.avx512();
        // Half as many lanes gain less than it costs others to look.
        if access.wide || access.wide_index {
            return;
        }
        let differ = self.jump_unless(indexed, None, data);
        // Only vectors are loaded with a mask.
        let unwanted = (avx512 && access.bytes < 4).then(|| {
            self.code.registers(Code::VEX_Kortestw_kr_kr, Encoder::mask(mask), Encoder::mask(mask));
            self.code.jump_ahead(Code::Je_rel32_64)
        });
        let memory = self.first_element(indexed);
        let dst = self.code.vector(data, access.widths().0);
        let zeroing = avx512.then(|| (Encoder::mask(mask), true));
        let (code, element) = if access.bytes < 4 {
            let byte = access.bytes == 1;
            let load = if byte { Code::Movzx_r32_rm8 } else { Code::Movzx_r32_rm16 };
            self.code.load(load, Register::R9D, memory);
            let element = if avx512 {
                Register::R9D
            } else {
                let low = self.code.vector(data, Width::Quarter);
                self.code.registers(Code::VEX_Vmovd_xmm_rm32, low, Register::R9D);
                low
            };
            let repeat = if avx512 {
                Code::EVEX_Vpbroadcastd_zmm_k1z_r32
            } else {
                Code::VEX_Vpbroadcastd_ymm_xmmm32
            };
            (repeat, Operand::Register(element))
        } else {
            let code = if avx512 {
                Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32
            } else {
                Code::VEX_Vbroadcastss_ymm_m32
            };
            (code, Operand::Memory(memory))
        };
        self.code.vector_op(code, dst, None, element, None, zeroing);
        self.code.jump_back(Code::Jmp_rel32_64, back);
        std::iter::once(differ).chain(unwanted).for_each(|jump| self.land(jump));
    }

    /// Jumps ahead unless the indices count up, or without `counting` are one, in lanes of the mask at least;
    /// changes `free`.
    fn jump_unless(&mut self, indexed: Indexed, counting: Option<u32>, free: u8) -> Jump {
        let Indexed { access, index, mask, .. } = indexed;
        let width = access.widths().1;
        let first = self.code.vector(index, Width::Quarter);
        let [free, index] = [free, index].map(|register| self.code.vector(register, width));
        let offsets = counting.map(|counting| Operand::Memory(in_code(counting)));
        if self.avx512() {
            let (repeat, add, compare) = match (access.wide_index, width) {
                (true, _) => (
                    Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                    Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
                    Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8,
                ),
                (false, Width::Whole) => (
                    Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                    Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
                    Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8,
                ),
                (false, _) => (
                    Code::EVEX_Vpbroadcastd_ymm_k1z_xmmm32,
                    Code::EVEX_Vpaddd_ymm_k1z_ymm_ymmm256b32,
                    Code::EVEX_Vpcmpd_kr_k1_ymm_ymmm256b32_imm8,
                ),
            };
            self.code.registers(repeat, free, first);
            if let Some(offsets) = offsets {
                self.code.vector_op(add, free, Some(free), offsets, None, None);
            }
            // No value is ever in the first mask register.
            let (differ, mask) = (Encoder::mask(0), Some((Encoder::mask(mask), false)));
            let index = Operand::Register(index);
            self.code.vector_op(compare, differ, Some(free), index, Some(NOT_EQUAL), mask);
            self.code.registers(Code::VEX_Kortestw_kr_kr, differ, differ);
            return self.code.jump_ahead(Code::Jne_rel32_64);
        }
        let (repeat, add, equal, bits, lanes) = match (access.wide_index, width) {
            (true, _) => (
                Code::VEX_Vpbroadcastq_ymm_xmmm64,
                Code::VEX_Vpaddq_ymm_ymm_ymmm256,
                Code::VEX_Vpcmpeqq_ymm_ymm_ymmm256,
                Code::VEX_Vmovmskpd_r32_ymm,
                4,
            ),
            (false, Width::Whole) => (
                Code::VEX_Vpbroadcastd_ymm_xmmm32,
                Code::VEX_Vpaddd_ymm_ymm_ymmm256,
                Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
                Code::VEX_Vmovmskps_r32_ymm,
                8,
            ),
            (false, _) => (
                Code::VEX_Vpbroadcastd_xmm_xmmm32,
                Code::VEX_Vpaddd_xmm_xmm_xmmm128,
                Code::VEX_Vpcmpeqd_xmm_xmm_xmmm128,
                Code::VEX_Vmovmskps_r32_xmm,
                4,
            ),
        };
        self.code.registers(repeat, free, first);
        if let Some(offsets) = offsets {
            self.code.vector_op(add, free, Some(free), offsets, None, None);
        }
        self.code.vector_op(equal, free, Some(free), Operand::Register(index), None, None);
        if access.bytes < 4 || counting.is_none() {
            // Such a load has no mask: all lanes must be wanted.
            let mask = Operand::Register(self.code.vector(mask, width));
            self.code.vector_op(
                Code::VEX_Vpand_ymm_ymm_ymmm256,
                free,
                Some(free),
                mask,
                None,
                None,
            );
        }
        self.code.registers(bits, Register::EAX, free);
        self.code.number(Code::Cmp_EAX_imm32, Register::EAX, (1 << lanes) - 1);
        self.code.jump_ahead(Code::Jne_rel32_64)
    }

    /// The element of the first lane, which may be outside if its lane is not wanted.
    fn first_element(&mut self, Indexed { access, index, .. }: Indexed) -> MemoryOperand {
        let first = self.code.vector(index, Width::Quarter);
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(WORDS, 8 * access.word));
        let code = match (self.avx512(), access.wide_index) {
            (true, true) => Code::EVEX_Vmovq_rm64_xmm,
            (true, false) => Code::EVEX_Vmovd_rm32_xmm,
            (false, true) => Code::VEX_Vmovq_rm64_xmm,
            (false, false) => Code::VEX_Vmovd_rm32_xmm,
        };
        if access.wide_index {
            self.code.registers(code, SECOND, first);
        } else {
            self.code.registers(code, Register::R9D, first);
            self.code.registers(Code::Movsxd_r64_rm32, SECOND, Register::R9D);
        }
        indexed(SCRATCH, SECOND, access.scale, 0)
    }

    /// A gather that does not look at its indices; the mask stays.
    pub(super) fn gather_any(&mut self, indexed: Indexed) {
        let Access { word, wide, wide_index, bytes, .. } = indexed.access;
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(WORDS, 8 * word));
        if bytes < 4 && indexed.access.counting.is_some() {
            self.gather_packed(indexed);
        } else if self.style.scalar_gather && !wide && !wide_index && self.avx512() {
            self.gather_one_by_one(indexed);
        } else {
            self.gather_at_once(indexed);
        }
    }

    /// Zeros, then lanes of the mask from the buffer at the scratch register, by the gather instruction.
    fn gather_at_once(&mut self, Indexed { access, data, index, mask }: Indexed) {
        let (data_width, index_width) = access.widths();
        let memory = indexed(SCRATCH, self.code.vector(index, index_width), access.scale, 0);
        let (zero, dst) =
            (self.code.vector(data, Width::Quarter), self.code.vector(data, data_width));
        // The instruction clears its mask.
        if self.avx512() {
            let code = match (access.wide, access.wide_index) {
                (false, false) => Code::EVEX_Vpgatherdd_zmm_k1_vm32z,
                (true, false) => Code::EVEX_Vpgatherdq_zmm_k1_vm32y,
                (false, true) => Code::EVEX_Vpgatherqd_ymm_k1_vm64z,
                (true, true) => Code::EVEX_Vpgatherqq_zmm_k1_vm64z,
            };
            let clear = Code::EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32;
            self.code.vector_op(clear, zero, Some(zero), Operand::Register(zero), None, None);
            self.keeping_mask(mask, Instruction::with2(code, dst, memory));
            return;
        }
        let code = match (access.wide, access.wide_index) {
            (false, false) => Code::VEX_Vpgatherdd_ymm_vm32y_ymm,
            (true, false) => Code::VEX_Vpgatherdq_ymm_vm32x_ymm,
            (false, true) => Code::VEX_Vpgatherqd_xmm_vm64y_xmm,
            (true, true) => Code::VEX_Vpgatherqq_ymm_vm64y_ymm,
        };
        let kept = at(FRAME, self.frame.scratch);
        self.store_vector(kept, mask);
        let clear = Code::VEX_Vpxor_xmm_xmm_xmmm128;
        self.code.vector_op(clear, zero, Some(zero), Operand::Register(zero), None, None);
        let lanes = self.code.vector(mask, data_width);
        self.code.put(Instruction::with3(code, dst, memory, lanes));
        let mask = self.code.vector(mask, Width::Whole);
        self.code.load(Code::VEX_Vmovups_ymm_ymmm256, mask, kept);
    }

    /// An instruction of AVX-512 that clears its mask.
    fn keeping_mask(&mut self, mask: u8, instruction: Result<Instruction, iced_x86::IcedError>) {
        let mask = Encoder::mask(mask);
        self.code.registers(Code::VEX_Kmovw_r32_kr, Register::R9D, mask);
        self.code.put(instruction.map(|mut instruction| {
            instruction.set_op_mask(mask);
            instruction
        }));
        self.code.registers(Code::VEX_Kmovw_kr_r32, mask, Register::R9D);
    }

    /// Elements of one or two bytes: the aligned 4 bytes around each are gathered, so that none is read
    /// across a page.
    fn gather_packed(&mut self, indexed: Indexed) {
        let Indexed { access, data, index, mask } = indexed;
        let kept = at(FRAME, self.frame.scratch + 2 * self.vector_bytes());
        let free = self.other_than(&[data, index, mask]);
        self.store_vector(kept, free);
        let (left, right) = if self.avx512() {
            (Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8)
        } else {
            (Code::VEX_Vpslld_ymm_ymm_imm8, Code::VEX_Vpsrld_ymm_ymm_imm8)
        };
        let [dst, index, aligned] =
            [data, index, free].map(|register| self.code.vector(register, Width::Whole));
        let shift = |this: &mut Self, code, from, by| {
            this.code.vector_op(code, aligned, None, Operand::Register(from), Some(by), None);
        };
        // The low bits of an index tell the element of its 4 bytes.
        let low = if access.bytes == 1 { 2 } else { 1 };
        shift(self, right, index, low);
        shift(self, left, aligned, low);
        let words = Indexed { access: Access { counting: None, ..access }, index: free, ..indexed };
        if self.style.scalar_gather && self.avx512() {
            self.gather_one_by_one(words);
        } else {
            self.gather_at_once(words);
        }
        shift(self, left, index, 32 - low);
        shift(self, right, aligned, 27);
        let code = if self.avx512() {
            Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32
        } else {
            Code::VEX_Vpsrlvd_ymm_ymm_ymmm256
        };
        self.code.vector_op(code, dst, Some(dst), Operand::Register(aligned), None, None);
        self.code.load(self.load_code(), aligned, kept);
    }

    /// A vector register that is none of these.
    fn other_than(&self, registers: &[u8]) -> u8 {
        (0..4).find(|other| !registers.contains(other)).unwrap_or(0)
    }

    /// Loads 32-bit lanes one by one: some processors have more of such loads on the way than of gathers.
    /// Lanes outside of the mask read element 0 and become 0.
    fn gather_one_by_one(&mut self, Indexed { access, data, index, mask }: Indexed) {
        let scratch = self.frame.scratch;
        let kept = at(FRAME, scratch + self.vector_bytes());
        // A register to build quarters in; its contents come back.
        let quarter = self.other_than(&[data, index]);
        let (whole, move_vector) =
            (self.code.vector(data, Width::Whole), Code::EVEX_Vmovaps_zmm_k1z_zmmm512);
        let zeroing = Some((Encoder::mask(mask), true));
        let index = Operand::Register(self.code.vector(index, Width::Whole));
        self.code.vector_op(move_vector, whole, None, index, None, zeroing);
        self.store_vector(at(FRAME, scratch), data);
        self.store_vector(kept, quarter);
        for part in 0..4_u8 {
            let into = self.code.vector(if part == 0 { data } else { quarter }, Width::Quarter);
            for lane in 0..4_u8 {
                let location = scratch + 4 * (4 * u32::from(part) + u32::from(lane));
                self.code.load(Code::Mov_r32_rm32, Register::R9D, at(FRAME, location));
                let element = indexed(SCRATCH, SECOND, access.scale, 0);
                if lane == 0 {
                    self.code.load(Code::EVEX_Vmovss_xmm_k1z_m32, into, element);
                } else {
                    let insert = Code::EVEX_Vinsertps_xmm_xmm_xmmm32_imm8;
                    let element = Operand::Memory(element);
                    self.code.vector_op(insert, into, Some(into), element, Some(lane << 4), None);
                }
            }
            if part > 0 {
                let insert = Code::EVEX_Vinsertf32x4_zmm_k1z_zmm_xmmm128_imm8;
                let lanes = Operand::Register(into);
                self.code.vector_op(insert, whole, Some(whole), lanes, Some(part), None);
            }
        }
        self.code.vector_op(move_vector, whole, None, Operand::Register(whole), None, zeroing);
        let whole = self.code.vector(quarter, Width::Whole);
        self.code.load(Code::EVEX_Vmovups_zmm_k1z_zmmm512, whole, kept);
    }

    /// Lanes scattered where the mask is set (AVX-512).
    pub(super) fn scatter(
        &mut self,
        access: Access,
        [index, data, mask]: [u8; 3],
        spare: Option<u8>,
    ) {
        let indexed = Indexed { access, data, index, mask };
        let (Some(counting), Some(free)) = (access.counting, spare) else {
            return self.scatter_any(indexed);
        };
        let entry = self.jump_unless(indexed, Some(counting), free);
        let memory = self.first_element(indexed);
        let code = match (access.wide, access.wide_index) {
            (true, _) => Code::EVEX_Vmovupd_zmmm512_k1z_zmm,
            (false, false) => Code::EVEX_Vmovups_zmmm512_k1z_zmm,
            (false, true) => Code::EVEX_Vmovups_ymmm256_k1z_ymm,
        };
        let source = self.code.vector(data, access.widths().0);
        let store = Instruction::with2(code, memory, source);
        self.code.put(store.map(|mut store| {
            store.set_op_mask(Encoder::mask(mask));
            store
        }));
        let back = self.code.position();
        self.cold.push(Cold { entry, back, code: ColdCode::Scatter(indexed) });
    }

    /// A scatter that does not look at its indices; the mask stays.
    pub(super) fn scatter_any(&mut self, Indexed { access, data, index, mask }: Indexed) {
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(WORDS, 8 * access.word));
        let (data_width, index_width) = access.widths();
        let memory = indexed(SCRATCH, self.code.vector(index, index_width), access.scale, 0);
        let code = match (access.wide, access.wide_index) {
            (false, false) => Code::EVEX_Vpscatterdd_vm32z_k1_zmm,
            (true, false) => Code::EVEX_Vpscatterdq_vm32y_k1_zmm,
            (false, true) => Code::EVEX_Vpscatterqd_vm64z_k1_ymm,
            (true, true) => Code::EVEX_Vpscatterqq_vm64z_k1_zmm,
        };
        let data = self.code.vector(data, data_width);
        self.keeping_mask(mask, Instruction::with2(code, memory, data));
    }
}

/// The predicate of a comparison of integers.
const NOT_EQUAL: u8 = 4;
