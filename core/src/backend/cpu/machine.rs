//! The door between register allocation and an instruction set.
//!
//! [`Allocator`](super::register_allocation::Allocator) is generic over a [`Machine`], which encodes one instruction after the
//! other as registers are given: one pass, and no call through a table. A register is named by its class and number,
//! memory by what lies there; addresses, encodings and the calling convention are the machine's own.

use super::instructions::Opcode;
use super::program::{Frame, Location, Packet, Special};
use super::target::Target;
use crate::backend::isa::Isa;

/// A register of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Physical {
    /// Whether it is a mask register rather than a vector register.
    pub(super) mask: bool,
    pub(super) number: u8,
}

impl Physical {
    pub(super) fn vector(number: u8) -> Self {
        Self { mask: false, number }
    }
}

/// What the last operand of an instruction may be besides a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Nothing.
    None,
    /// A vector in memory.
    #[allow(dead_code, reason = "some machines have no use for it")]
    Vector,
    /// A vector, or 4 bytes repeated.
    Repeat4,
    /// A vector, or 8 bytes repeated.
    Repeat8,
}

/// Where a value lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// A vector, or the bits of a mask register.
    Whole(Location),
    /// 4 bytes for all lanes.
    Repeat4(Location),
    /// 8 bytes for all lanes.
    Repeat8(Location),
    /// A spill slot of the packet at work.
    Slot(u32),
}

/// The last operand of an instruction; `A` is how the machine addresses memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand<A> {
    Register(Physical),
    Memory(A),
}

/// A buffer that code walks through, and the bytes of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walked {
    pub(super) buffer: u32,
    pub(super) bytes: u8,
}

/// A forward jump whose target is not known yet.
pub(super) struct Jump(pub(super) usize);

/// How code is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Stores go past the caches.
    #[allow(dead_code, reason = "some machines have no use for it")]
    pub(super) nontemporal: bool,
    /// Lanes are fetched ahead of their loads.
    pub(super) prefetch: bool,
    /// Lanes are gathered one by one.
    #[allow(dead_code, reason = "some machines have no use for it")]
    pub(super) scalar_gather: bool,
    /// Note which code belongs to which kernel instruction.
    pub(super) notes: bool,
}

impl Style {
    /// None of it.
    pub(super) const PLAIN: Self =
        Self { nontemporal: false, prefetch: false, scalar_gather: false, notes: false };
}

/// Bytes of the caches that each core has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caches {
    /// The first-level cache of instructions.
    pub(super) instructions: usize,
    /// The second-level cache.
    pub(super) second: usize,
}

/// Code for an instruction set, under construction.
pub(super) trait Machine {
    /// An operand in memory. Making one may take code, which addresses it until the next is made.
    type Address: Copy;

    /// What code for an instruction set is made of; `None` where there is no such code.
    fn target(isa: Isa) -> Option<&'static Target>;

    /// Bytes of an instruction, about.
    const INSTRUCTION_BYTES: usize;

    /// Makes what encoding needs, if it is not there yet.
    fn prepare();

    /// The caches of this processor.
    fn caches() -> Caches;

    /// Has other threads run code as it was just written: where it runs, and its bytes.
    fn publish(address: usize, bytes: usize);

    /// Has this thread run code as another published it.
    fn synchronise();

    /// Tells `show` the offset and text of every instruction of some code at an offset.
    fn disassemble(code: &[u8], offset: usize, show: impl FnMut(usize, &str));

    /// An empty block of code behind its constants.
    fn new(packet: Packet, frame: &Frame, constants: &[u8]) -> Self;

    /// The whole block, or what had no encoding.
    ///
    /// # Errors
    /// A text for ourselves: it is our mistake.
    fn finish(self) -> Result<Vec<u8>, String>;

    /// Bytes so far.
    fn position(&self) -> u64;

    /// Pads to where a loop or a function should begin.
    fn align(&mut self);

    // Functions, and their loops over packets.

    /// Begins a function; its code is of this style, and in segments or not.
    fn begin(&mut self, style: Style, segmented: bool);

    /// Keeps what the caller expects to keep, and loads the addresses of the first of these buffers into registers;
    /// if some are left, those of whole buffers in words of the parameter block.
    fn enter(&mut self, buffers: &[Walked], whole: &[u32]);

    /// Gives back what the caller expects to keep.
    fn restore(&mut self);

    /// Returns, and ends the function with the code of what is rare.
    fn end(&mut self);

    /// Goes on to the next packet, unless it was the last.
    fn next_packet(&mut self, start: u64);

    /// Begins the loop over tiles, each of some packets. Where it goes back to.
    fn begin_tiles(&mut self) -> u64;

    /// Goes on to the next tile, unless it was the last.
    fn next_tile(&mut self, start: u64);

    /// Goes back to the first packet of the tile.
    fn begin_tile(&mut self);

    /// Leaves the function early if an interrupt was requested.
    fn exit_if_interrupted(&mut self);

    /// Where early exits go on.
    fn end_exits(&mut self);

    // Jumps.

    /// Jumps ahead unless a mask holds somewhere.
    fn jump_if_none(&mut self, mask: Physical) -> Jump;

    /// Jumps back to a known place.
    fn jump_back(&mut self, target: u64);

    /// Lets a jump end here.
    fn land(&mut self, jump: Jump);

    // Values.

    /// Loads a register.
    fn load(&mut self, to: Physical, from: Stored);

    /// Stores a register.
    fn store(&mut self, to: Stored, from: Physical);

    /// Copies a register to another of its class.
    fn copy(&mut self, to: Physical, from: Physical);

    /// Memory as an operand.
    fn address(&mut self, of: Stored) -> Self::Address;

    /// Has the lanes fetched that lie some lines behind a location.
    fn fetch_ahead(&mut self, location: Location);

    // Instructions.

    /// What the last operand of an instruction may be besides a register.
    fn folds(&self, m: Opcode) -> Memory;

    /// Encodes an instruction with its first sources and the last.
    fn encode(
        &mut self,
        m: Opcode,
        immediate: Option<u8>,
        dst: Physical,
        first: &[Physical],
        last: Operand<Self::Address>,
    );

    /// Encodes `a * b + c` into the register `dst` of the source `replaced`. At most one other is in memory.
    fn fma(&mut self, m: Opcode, dst: u8, replaced: usize, src: [Operand<Self::Address>; 3]);

    /// Encodes what is more than one instruction or takes other registers. `spare` is a vector register without a
    /// value, if there is one.
    fn special(&mut self, special: Special, dst: u8, src: [u8; 3], spare: Option<u8>);
}
