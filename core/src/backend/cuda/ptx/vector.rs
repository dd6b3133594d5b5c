//! Loads and stores of all lanes in flight.
//!
//! Neighbouring lanes move in one piece of up to 16 bytes: as a vector of elements, or, of elements below
//! 32 bits, as a vector of words that are taken apart.
#![deny(clippy::wildcard_enum_match_arm)]

use super::Lowering;
use super::writer::{Class, Guard, Name, Writer, in_memory, ptx};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Code, Reg, WORD_SIZE};
use crate::ir::op::Op;

impl Lowering<'_> {
    /// Reads the lanes in flight of a buffer into registers from `first` on.
    pub(super) fn load_lanes(&mut self, dtype: DType, first: Name, buffer: BufferIndex) {
        let pointer = self.lane_pointer(dtype, buffer);
        let lanes = self.lanes;
        let is_aligned = !self.kernel.buffers[buffer.index()].anywhere;
        if self.distance == 1 && lanes > 1 && is_aligned {
            return self.writer.load_vector(dtype, first, lanes, pointer);
        }
        if self.distance == 1 && lanes as usize * dtype.bytes() > 4 && dtype.bytes() < 4 {
            let left = self.lanes_left();
            return self.writer.load_words(dtype, first, lanes, pointer, left);
        }
        for lane in 0..lanes {
            self.writer.release_temporaries();
            let further = u64::from(lane) * self.distance * dtype.bytes() as u64;
            let at = format_args!("{pointer}+{further}").to_string();
            let at = at.strip_suffix("+0").unwrap_or(&at);
            // Where lanes begin anywhere, a block of memory may end with the last one.
            let guard = self.within_launch(lane, is_aligned);
            let first = first.next(lane);
            self.writer.load_where(guard, dtype, first, "global.nc", format_args!("{at}"));
        }
    }

    /// Writes the lanes in flight of a buffer.
    pub(super) fn store_lanes(&mut self, value: Reg, buffer: BufferIndex) {
        let dtype = self.kernel.dtype(value);
        let pointer = self.lane_pointer(dtype, buffer);
        // Storing rounds: what has just been rounded is stored as it was before.
        let value = self.before_rounding(value).unwrap_or(value);
        let values: Vec<Name> = (0..self.lanes).map(|lane| self.register_in(value, lane)).collect();
        if self.distance == 1 && values.len() > 1 {
            return self.writer.store_vector(dtype, pointer, &values);
        }
        for (lane, value) in (0..).zip(values) {
            let further = u64::from(lane) * self.distance * dtype.bytes() as u64;
            let guard = self.within_launch(lane, true);
            self.writer.store_at(dtype, guard, pointer, further, value);
        }
    }

    /// How many lanes in flight are not beyond the launch, in 32 bits.
    fn lanes_left(&mut self) -> Name {
        let (n, offset) = (self.word(WORD_SIZE), self.writer.special("offset"));
        let (wide, left) = (self.writer.temporary(Class::B64), self.writer.temporary(Class::B32));
        ptx!(self.writer, "sub.u64 {wide}, {n}, {offset}");
        ptx!(self.writer, "min.u64 {wide}, {wide}, {}", self.lanes);
        ptx!(self.writer, "cvt.u32.u64 {left}, {wide}");
        left
    }

    /// Set in a lane in flight that is not beyond the launch. Neighbours may be, in blocks of memory from their start on:
    /// what these have behind their last element is enough for a thread.
    fn within_launch(&mut self, lane: u32, is_aligned: bool) -> Guard {
        if self.distance == 1 && is_aligned {
            return Guard(None);
        }
        let present = std::mem::replace(&mut self.lane, lane);
        let within = self.active_lanes(None);
        self.lane = present;
        Guard(within)
    }

    /// The f32 that an f16 was rounded from.
    fn before_rounding(&self, value: Reg) -> Option<Reg> {
        let inst = &self.kernel.insts[value.index()];
        let from = inst.args[0].filter(|_| inst.dtype.is_half())?;
        let is_rounding = inst.code == Code::Op(Op::Cast);
        (is_rounding && self.kernel.dtype(from) == DType::F32).then_some(from)
    }

    /// Where the first lane in flight of a buffer lies.
    fn lane_pointer(&mut self, dtype: DType, buffer: BufferIndex) -> Name {
        if let Some(&pointer) = self.pointers.get(&buffer) {
            return pointer;
        }
        let base = self.buffer(buffer);
        let lane = self.writer.special("lane");
        let pointer = self.writer.pointer(buffer.0);
        self.writer.set_element_address(dtype, pointer, base, lane);
        // Inside a region the place may be passed over.
        if self.regions.is_empty() {
            self.pointers.insert(buffer, pointer);
        }
        pointer
    }
}

impl Writer {
    /// Reads neighbouring elements.
    pub(super) fn load_vector(&mut self, dtype: DType, first: Name, lanes: u32, pointer: Name) {
        if dtype.bytes() >= 4 {
            let list = list((0..lanes).map(|lane| first.next(lane)));
            return ptx!(self, "ld.global.nc.v{lanes}.{} {list}, [{pointer}]", dtype.ptx());
        }
        let bytes = dtype.bytes();
        let (per_word, n) = (4 / bytes, lanes as usize);
        if n < per_word {
            for lane in 0..lanes {
                let at = u64::from(lane) * bytes as u64;
                self.load(dtype, first.next(lane), "global.nc", format_args!("{pointer}+{at}"));
            }
            return;
        }
        let words: Vec<Name> = (0..n / per_word).map(|_| self.temporary(Class::B32)).collect();
        match words[..] {
            [word] => ptx!(self, "ld.global.nc.b32 {word}, [{pointer}]"),
            _ => {
                let list = list(words.iter().copied());
                ptx!(self, "ld.global.nc.v{}.b32 {list}, [{pointer}]", words.len());
            }
        }
        let n = exactly::<u32>(per_word);
        for (i, &word) in (0..).zip(&words) {
            self.take_apart(dtype, word, first.next(i * n), n);
        }
    }

    /// Reads neighbouring narrow elements that begin anywhere: the aligned words around those that are left, shifted.
    fn load_words(&mut self, dtype: DType, first: Name, lanes: u32, pointer: Name, left: Name) {
        let (base, low) = (self.temporary(Class::B64), self.temporary(Class::B64));
        let (shift, before) = (self.temporary(Class::B32), self.temporary(Class::Pred));
        ptx!(self, "and.b64 {low}, {pointer}, 3");
        ptx!(self, "sub.u64 {base}, {pointer}, {low}");
        ptx!(self, "cvt.u32.u64 {shift}, {low}");
        // How far it is from the first word to behind the last element, where a block of memory may end.
        ptx!(self, "mad.lo.u32 {left}, {left}, {}, {shift}", dtype.bytes());
        ptx!(self, "shl.b32 {shift}, {shift}, 3");
        let per_word = 4 / dtype.bytes();
        let n_words = lanes as usize / per_word;
        let words: Vec<Name> = (0..=n_words).map(|_| self.temporary(Class::B32)).collect();
        for (i, word) in words.iter().enumerate() {
            ptx!(self, "setp.gt.u32 {before}, {left}, {}", 4 * i);
            ptx!(self, "mov.b32 {word}, 0");
            ptx!(self, "@{before} ld.global.nc.b32 {word}, [{base}+{}]", 4 * i);
        }
        let n = exactly::<u32>(per_word);
        for (i, pair) in (0..).zip(words.windows(2)) {
            ptx!(self, "shf.r.wrap.b32 {}, {}, {}, {shift}", pair[0], pair[0], pair[1]);
            self.take_apart(dtype, pair[0], first.next(i * n), n);
        }
    }

    /// The elements of a word.
    fn take_apart(&mut self, dtype: DType, word: Name, first: Name, n: u32) {
        if dtype.is_half() {
            let [low, high] = [(); 2].map(|()| self.temporary(Class::B16));
            ptx!(self, "mov.b32 {{{low}, {high}}}, {word}");
            let half = dtype.ptx();
            ptx!(self, "cvt.f32.{half} {first}, {low}");
            return ptx!(self, "cvt.f32.{half} {}, {high}", first.next(1));
        }
        let bits = 32 / n;
        for i in 0..n {
            let d = first.next(i);
            if dtype == DType::Mask {
                let byte = self.temporary(Class::B32);
                ptx!(self, "and.b32 {byte}, {word}, {:#x}", 0xff_u32 << (i * bits));
                ptx!(self, "setp.ne.u32 {d}, {byte}, 0");
            } else {
                let sign = if dtype.is_signed() { "s32" } else { "u32" };
                ptx!(self, "bfe.{sign} {d}, {word}, {}, {bits}", i * bits);
            }
        }
    }

    /// Writes neighbouring elements.
    pub(super) fn store_vector(&mut self, dtype: DType, pointer: Name, values: &[Name]) {
        let n = values.len();
        if dtype.bytes() >= 4 {
            let list = list(values.iter().copied());
            return ptx!(self, "st.global.v{n}.{} [{pointer}], {list}", dtype.ptx());
        }
        let per_word = 4 / dtype.bytes();
        if n < per_word {
            for (i, &value) in (0..).zip(values) {
                self.store_at(dtype, Guard(None), pointer, i * dtype.bytes() as u64, value);
            }
            return;
        }
        let words: Vec<Name> =
            values.chunks(per_word).map(|values| self.put_together(dtype, values)).collect();
        match words[..] {
            [word] => ptx!(self, "st.global.b32 [{pointer}], {word}"),
            _ => {
                let list = list(words.iter().copied());
                ptx!(self, "st.global.v{}.b32 [{pointer}], {list}", words.len());
            }
        }
    }

    /// A word of elements.
    fn put_together(&mut self, dtype: DType, values: &[Name]) -> Name {
        let (word, half) = (self.temporary(Class::B32), dtype.ptx());
        if dtype.is_half() && self.is_since_80() {
            ptx!(self, "cvt.rn.{half}x2.f32 {word}, {}, {}", values[1], values[0]);
            return word;
        }
        if dtype.is_half() {
            let [low, high] = [(); 2].map(|()| self.temporary(Class::B16));
            ptx!(self, "cvt.rn.{half}.f32 {low}, {}", values[0]);
            ptx!(self, "cvt.rn.{half}.f32 {high}, {}", values[1]);
            ptx!(self, "mov.b32 {word}, {{{low}, {high}}}");
            return word;
        }
        let bits = 8 * dtype.bytes();
        for (i, &value) in values.iter().enumerate() {
            let element = if dtype == DType::Mask {
                let byte = self.temporary(Class::B32);
                ptx!(self, "selp.u32 {byte}, 1, 0, {value}");
                byte
            } else {
                value
            };
            match i {
                0 => ptx!(self, "mov.b32 {word}, {element}"),
                _ => ptx!(self, "bfi.b32 {word}, {element}, {word}, {}, {bits}", i * bits),
            }
        }
        word
    }

    /// `[pointer + further]` takes a value.
    pub(super) fn store_at(
        &mut self,
        dtype: DType,
        guard: Guard,
        pointer: Name,
        further: u64,
        value: Name,
    ) {
        let value = self.stored(dtype, value);
        let t = in_memory(dtype);
        match further {
            0 => ptx!(self, "{guard}st.global.{t} [{pointer}], {value}"),
            _ => ptx!(self, "{guard}st.global.{t} [{pointer}+{further}], {value}"),
        }
    }
}

/// `{%f0, %f1}`
fn list(names: impl Iterator<Item = Name>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    format!("{{{}}}", names.join(", "))
}
