//! Programs over virtual registers: what lowering makes and register allocation reads.
//!
//! A program is code in single-assignment form for one *packet* of lanes: straight, or with regions, which
//! change copies of their states. A 32-bit value
//! takes [`Packet::narrow`] registers, a 64-bit one twice as many; the registers of a value are its
//! *parts*. Masks live in mask registers where the machine has such, else in vectors of all ones or zeros; either
//! way a mask is *narrow* (beside 32-bit parts) or *wide* (beside 64-bit parts).

use std::collections::HashMap;

use super::instructions::Opcode;
use super::target::Target;
use crate::dtype::DType;
use crate::ir::op::{ReduceOp, ScatterOp};

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct VReg(pub(super) u32);

impl VReg {
    /// No register.
    pub(super) const NONE: Self = Self(u32::MAX);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// Where a value can be read at any time without computing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Nowhere: an instruction computes it.
    Computed,
    /// A vector in memory.
    Vector(Location),
    /// 4 bytes in memory, the same for all lanes.
    Repeat4(Location),
    /// 8 bytes in memory, the same for all lanes.
    Repeat8(Location),
    /// 16 bits for a mask register.
    Mask(Location),
    /// A vector that stays in its register from packet to packet, and is in memory before and after.
    Carried(Location),
}

/// A location in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// Bytes from the start of the constants before the code.
    Pool(u32),
    /// Bytes from the start of the uniform values.
    Uniform(u32),
    /// Bytes from the start of the thread's frame.
    Frame(u32),
    /// A word of the parameter block.
    Word(u32),
    /// Element 0 of the buffer whose address is in this word.
    Element(u32),
    /// A part of the packet's lanes of a buffer with elements of this many bytes.
    Lanes { buffer: u32, bytes: u8, part: u8 },
}

/// Which NaN the lanes of a float may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nan {
    /// Any.
    Any,
    /// Quiet ones: what arithmetic makes.
    Quiet,
    /// None.
    Never,
}

/// A virtual register's properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Virtual {
    pub(super) home: Home,
    /// Whether it needs a mask register.
    pub(super) mask: bool,
    pub(super) nan: Nan,
    /// Number of uses as an operand.
    pub(super) uses: u32,
}

/// Lanes in memory by their indices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Word of the buffer's address.
    pub(super) word: u32,
    /// Whether lanes are 64 bits wide in their registers, not 32.
    pub(super) wide: bool,
    /// Whether indices are.
    pub(super) wide_index: bool,
    /// Bytes an index.
    #[allow(dead_code, reason = "some machines have no use for it")]
    pub(super) scale: u8,
    /// Bytes of an element. One or two come as 32-bit lanes; those beside in their 4 bytes above them.
    pub(super) bytes: u8,
    /// Where in the code's block the numbers 0, 1, 2 .. are as indices; `None` if lanes whose indices count
    /// up are no neighbours.
    #[allow(dead_code, reason = "some machines have no use for it")]
    pub(super) counting: Option<u32>,
}

/// How an instruction that goes from lane to lane of a narrow part keeps in bounds.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some machines have no use for it")]
pub(super) struct Bounds {
    /// Where lanes outside are reported, if they are.
    pub(super) report: Option<u32>,
    pub(super) part: u8,
    /// Whether the indices are.
    pub(super) signed: bool,
    pub(super) beside: Beside,
}

/// What such an instruction is told besides the length and the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    /// Which lanes are wanted.
    Wanted,
    /// Where the element of the packet's first lane is, if those of all others lie behind it; else 0.
    Near,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub(super) enum MachineOp {
    /// A machine instruction with its immediate.
    Simple(Opcode, Option<u8>),
    /// What a machine makes of several instructions, or of general registers.
    Special(Special),
    /// A carried vector's next value.
    Carry,
    /// The source, in a register of its own that [`MachineOp::Assign`] may change.
    Copy { mask: bool },
    /// Gives the first source, a copy, the value of the second.
    Assign,
    /// Where a region's condition begins, and a loop begins anew.
    Begin { region: u32 },
    /// Leaves a region if a mask holds in no lane.
    LeaveIfNone { region: u32 },
    /// The end of a region.
    End { region: u32, repeat: bool },
}

/// What a machine makes of several instructions, or of general registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// The number of the packet's first lane in every lane.
    LaneNumber { wide: bool },
    /// The bytes of a narrow part's lanes of a buffer of masks: as they are for mask registers, else extended.
    LoadBytes { buffer: u32, part: u8 },
    /// A narrow part's lanes of a buffer of a narrow type, as 32-bit lanes.
    LoadNarrow { buffer: u32, dtype: DType, part: u8 },
    /// A narrow part's lanes of a buffer of f16, packed.
    #[allow(dead_code, reason = "some machines have no use for it")]
    LoadHalves { buffer: u32, part: u8 },
    /// The bits of element 0 (a mask or of a narrow type) of the buffer whose address is in a word, extended
    /// and repeated.
    RepeatElement { word: u32, dtype: DType },
    /// Lanes of a buffer from a part.
    Store { buffer: u32, bytes: u8, part: u8 },
    /// A narrow part's lanes of a buffer with elements of one or two bytes, from the low bytes of a register.
    StorePacked { buffer: u32, bytes: u8, part: u8 },
    /// A uniform value.
    #[allow(dead_code, reason = "some machines have no use for it")]
    StoreUniform { offset: u32, bytes: u8, mask: bool },
    /// A reduction's accumulators of this part.
    LoadAccumulator { offset: u32, bytes: u8, part: u8 },
    /// Back again.
    StoreAccumulator { offset: u32, bytes: u8, part: u8 },
    /// Adds the number of true and active lanes of a narrow mask to a counter.
    Count { offset: u32, part: u8 },
    /// Reports the lowest lane of a mask, with its index: lanes that are out of bounds.
    Check { offset: u32, part: u8, wide: bool, signed: bool },
    /// Lanes gathered where the mask is set, zeros elsewhere. Sources: none, index, mask.
    Gather(Access),
    /// Lanes gathered where they are wanted and in bounds, zeros elsewhere, which are reported. Sources: the length
    /// in all lanes, indices, what is beside them.
    #[allow(dead_code, reason = "some machines have no use for it")]
    GatherWithin(Access, Bounds),
    /// Where the element of the packet's first lane is, if the indices of all its lanes count up within bounds; else 0.
    /// Sources: whether those of each part do behind the part before, the first part's indices, the length.
    #[allow(dead_code, reason = "some machines have no use for it")]
    Near(Access),
    /// Lanes scattered where the mask is set.
    Scatter(Access),
    /// A vector into scratch.
    StoreScratch { offset: u32 },
    /// The lanes in scratch scattered one by one where a narrow mask is set.
    ScatterLanes { word: u32, op: ScatterOp, dtype: DType, wide_index: bool },
    /// The same where lanes are wanted, of the launch and in bounds; others of the launch are reported. Sources as
    /// of [`Special::GatherWithin`], not in scratch.
    #[allow(dead_code, reason = "some machines have no use for it")]
    ScatterWithin { word: u32, op: ScatterOp, dtype: DType, bounds: Bounds },
}

impl From<Special> for MachineOp {
    fn from(special: Special) -> Self {
        Self::Special(special)
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub(super) op: MachineOp,
    pub(super) dst: VReg,
    pub(super) src: [VReg; 3],
    /// The kernel instruction that it belongs to, for listings.
    pub(super) origin: u32,
}

/// A program.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) insts: Vec<Inst>,
    pub(super) virtuals: Vec<Virtual>,
}

impl Program {
    /// Drops instructions whose results nobody reads, from the last one on.
    pub(super) fn drop_unused(&mut self) {
        let virtuals = &mut self.virtuals;
        let mut is_used = |inst: &Inst| {
            let computes = matches!(
                inst.op,
                MachineOp::Simple(..) | MachineOp::Special(Special::LoadHalves { .. })
            );
            if !computes || virtuals[inst.dst.index()].uses > 0 {
                return true;
            }
            for source in inst.src.into_iter().filter(|source| source.is_some()) {
                virtuals[source.index()].uses -= 1;
            }
            false
        };
        let mut used: Vec<bool> = self.insts.iter().rev().map(&mut is_used).collect();
        self.insts.retain(|_| used.pop().unwrap_or(true));
    }

    /// Words of the addresses of buffers that are gathered from or scattered to, in the order of first use.
    pub(super) fn words_of_accesses(&self) -> Vec<u32> {
        let mut words = Vec::new();
        for inst in &self.insts {
            if let MachineOp::Special(
                Special::Gather(Access { word, .. })
                | Special::GatherWithin(Access { word, .. }, _)
                | Special::Scatter(Access { word, .. })
                | Special::ScatterLanes { word, .. }
                | Special::ScatterWithin { word, .. },
            ) = inst.op
                && !words.contains(&word)
            {
                words.push(word);
            }
        }
        words
    }
}

/// The lanes that one run of a program computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) target: &'static Target,
    /// Registers of a 32-bit value.
    pub(super) narrow: usize,
}

impl Packet {
    /// Bytes of a vector register.
    pub(super) fn vector(self) -> usize {
        self.target.vector
    }

    /// Lanes of a narrow part.
    pub(super) fn part_lanes(self) -> usize {
        self.vector() / 4
    }

    /// Lanes in all.
    pub(super) fn lanes(self) -> usize {
        self.narrow * self.part_lanes()
    }

    /// Registers of a value with lanes of this many bytes.
    pub(super) fn parts(self, bytes: usize) -> usize {
        if bytes == 8 { 2 * self.narrow } else { self.narrow }
    }
}

/// Constants in front of the code.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) bytes: Vec<u8>,
    known: HashMap<(u64, u8), u32>,
    /// Where whole vectors are.
    vectors: HashMap<Vec<u8>, u32>,
    vector: usize,
    /// Whether a constant is repeated in memory, not as it is read.
    repeated: bool,
}

impl Pool {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            bytes: Vec::new(),
            known: HashMap::new(),
            vectors: HashMap::new(),
            vector: target.vector,
            repeated: !target.repeats,
        }
    }

    /// A constant of 4 or 8 bytes for all lanes.
    pub(super) fn constant(&mut self, bits: u64, bytes: u8) -> Home {
        let location = self.place(bits, bytes);
        match (self.repeated, bytes) {
            (true, _) => Home::Vector(location),
            (false, 4) => Home::Repeat4(location),
            (false, _) => Home::Repeat8(location),
        }
    }

    /// Where a constant is.
    pub(super) fn place(&mut self, bits: u64, bytes: u8) -> Location {
        if let Some(&offset) = self.known.get(&(bits, bytes)) {
            return Location::Pool(offset);
        }
        let n = usize::from(bytes);
        let (alignment, copies) =
            if self.repeated { (self.vector, self.vector / n) } else { (n, 1) };
        let offset = self.align(alignment);
        for _ in 0..copies {
            self.bytes.extend_from_slice(&bits.to_le_bytes()[..n]);
        }
        self.known.insert((bits, bytes), offset);
        Location::Pool(offset)
    }

    /// A whole vector.
    pub(super) fn vector(&mut self, contents: &[u8]) -> Home {
        Home::Vector(Location::Pool(self.vector_offset(contents)))
    }

    /// The vector of the numbers `first`, `first + 1` .. of `bytes` bytes each.
    pub(super) fn counting(&mut self, first: u64, bytes: usize) -> u32 {
        let numbers = (first..).take(self.vector / bytes);
        let contents: Vec<u8> =
            numbers.flat_map(|number| number.to_le_bytes().into_iter().take(bytes)).collect();
        self.vector_offset(&contents)
    }

    /// Where a whole vector is.
    fn vector_offset(&mut self, contents: &[u8]) -> u32 {
        debug_assert_eq!(contents.len(), self.vector);
        if let Some(&offset) = self.vectors.get(contents) {
            return offset;
        }
        let offset = self.align(self.vector);
        self.bytes.extend_from_slice(contents);
        self.vectors.insert(contents.to_vec(), offset);
        offset
    }

    /// The bits of a constant of `bytes` bytes.
    pub(super) fn bits(&self, home: Home, bytes: u8) -> Option<u64> {
        let (Home::Repeat4(Location::Pool(offset))
        | Home::Repeat8(Location::Pool(offset))
        | Home::Vector(Location::Pool(offset))) = home
        else {
            return None;
        };
        let start = offset as usize;
        let mut word = [0; 8];
        let stored = self.bytes.get(start..start + usize::from(bytes))?;
        word[..usize::from(bytes)].copy_from_slice(stored);
        let bits = u64::from_le_bytes(word);
        // Only what was entered as a constant is one: the lanes of a vector differ.
        (self.known.get(&(bits, bytes)) == Some(&offset)).then_some(bits)
    }

    fn align(&mut self, alignment: usize) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
        u32::try_from(self.bytes.len()).expect("internal error: more than 4 GiB of constants")
    }
}

/// A reduction at the end of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) op: ReduceOp,
    /// Type of the accumulators.
    pub(super) dtype: DType,
    /// Type of the result in memory.
    pub(super) stored: DType,
    /// Word of the result's address.
    pub(super) address: usize,
    /// Offset in the frame of the counter of a mask, or of the accumulators.
    pub(super) offset: u32,
}

impl Reduction {
    /// Whether lanes are counted rather than accumulated.
    pub(super) fn counts(&self) -> bool {
        matches!(self.op, ReduceOp::Count | ReduceOp::Any | ReduceOp::All)
    }

    /// Whether the order in which lanes combine shows in the result.
    pub(super) fn is_ordered(&self) -> bool {
        self.dtype.is_float() && matches!(self.op, ReduceOp::Sum | ReduceOp::Prod)
    }
}

/// Memory of one thread: what a program keeps besides registers. Offsets in bytes.
///
/// | offset | content |
/// |---|---|
/// | 0 | one bit a lane of the packet: which are lanes of the launch |
/// | 8 | bytes of one packet's spills, lanes of a tile, its first lane, end of the call, whether it ended early (segments) |
/// | 64 | the same as vectors of 32-bit masks, where there are no mask registers |
/// | `errors` | per access: lowest lane out of bounds, its index |
/// | `counters` | per reduction of masks: true lanes |
/// | `accumulators` | per other reduction: 32 accumulators |
/// | `pointers` | per buffer: address of lane 0, for accesses lane by lane |
/// | `scratch` | four vectors for scatters, one for reports |
/// | `spills` | values that found no register; in segments, those of every packet of a tile |
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) errors: u32,
    pub(super) pointers: u32,
    pub(super) scratch: u32,
    pub(super) spills: u32,
}

/// Offset of the bits of active lanes.
pub(super) const ACTIVE_BITS: u32 = 0;
/// Offset of the bytes of one packet's spills.
pub(super) const SPILL_STRIDE: u32 = 8;
/// Offset of the lanes of a tile.
pub(super) const TILE_LANES: u32 = 16;
/// Offset of the first lane of the tile at work.
pub(super) const TILE_START: u32 = 24;
/// Offset of the end of the call's lanes.
pub(super) const CALL_END: u32 = 32;
/// Offset of a word that is set when a call ended early.
pub(super) const ENDED_EARLY: u32 = 40;
/// Offset of the vectors of active lanes.
pub(super) const ACTIVE_VECTORS: u32 = 64;
