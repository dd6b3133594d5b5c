//! From a lowered kernel to a block of machine code with two entries.
//!
//! Both entries are `extern "sysv64" fn(words, lane, end, frame, uniforms)`. The prologue runs once a
//! launch and writes the uniform values; the body runs packets of lanes from `lane` until `end`, which
//! lies a multiple of the packet behind it, at least one.

use iced_x86::{Code, Instruction};

use super::CpuOptions;
use super::allocate::{Allocator, Usage};
use super::encode::{END, Encoder, FRAME, Jump, LANE, at};
use super::lower::Lowered;
use super::program::{CALL_END, TILE_LANES, TILE_START};
use crate::convert::exactly;
use crate::error::Result;

/// Machine code, not yet in executable memory.
pub(super) struct Assembly {
    /// Constants, then code; position-independent.
    pub(super) bytes: Vec<u8>,
    /// Offset of the prologue, if there are uniform values to compute.
    pub(super) prologue: Option<usize>,
    /// Offset of the body.
    pub(super) body: usize,
    /// Bytes of the frame.
    pub(super) frame_bytes: usize,
    pub(super) usage: Usage,
    /// Machine instructions of a packet, about.
    pub(super) packet_cost: usize,
    /// Packets that run through one segment of the code before the next.
    pub(super) tile: usize,
    /// Code position and kernel instruction, in order, if asked for.
    pub(super) notes: Vec<(u64, u32)>,
}

/// Turns that a loop is taken to run, to judge whether threads pay.
const TURNS: usize = 16;

/// How code is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Stores go past the caches.
    pub(super) nontemporal: bool,
    /// Lanes are fetched ahead of their loads.
    pub(super) prefetch: bool,
    /// Lanes are gathered one by one.
    pub(super) singly: bool,
    /// Note which code belongs to which kernel instruction.
    pub(super) notes: bool,
}

impl Style {
    /// None of it.
    pub(super) const PLAIN: Self =
        Self { nontemporal: false, prefetch: false, singly: false, notes: false };
}

/// Assembles both programs; `None` if an instruction has no encoding, which is a mistake of ours.
///
/// # Errors
/// `Interrupted`.
pub(super) fn assemble(
    lowered: &Lowered,
    style: Style,
    options: &CpuOptions,
) -> Result<Option<Assembly>> {
    let isa = lowered.packet.isa;
    let mut code = Encoder::new(isa, lowered.pool.bytes.clone());
    let mut jumps = Vec::new();
    let mut notes = Vec::new();
    let mut usage = Usage::default();
    let prologue = if lowered.uniform_bytes == 0 {
        None
    } else {
        code.align();
        let entry = code.position();
        let mut allocator = Allocator::new(lowered, &lowered.prologue, &mut code);
        allocator.notes = style.notes.then(Vec::new);
        allocator.run()?;
        leave(allocator.code);
        finish(allocator, &mut jumps, &mut notes, &mut usage);
        Some(exactly(entry))
    };
    code.align();
    let body = code.position();
    let mut allocator = Allocator::new(lowered, &lowered.body, &mut code);
    allocator.nontemporal = style.nontemporal;
    allocator.prefetch = style.prefetch;
    allocator.singly = style.singly;
    allocator.notes = style.notes.then(Vec::new);
    allocator.segmented = lowered.body.insts.len() > options.segmented_from;
    allocator.segment_bytes = options.segment_bytes;
    let segmented = allocator.segmented;
    allocator.choose_pointers();
    let saved = allocator.saved();
    for &register in saved {
        allocator.code.put(Instruction::with1(Code::Push_r64, register));
    }
    allocator.load_invariants();
    let start = if segmented {
        tiles(&mut allocator)?
    } else {
        allocator.code.align();
        let start = allocator.code.position();
        allocator.run()?;
        let lanes = exactly::<i32>(lowered.packet.lanes());
        allocator.code.number(Code::Add_rm64_imm8, LANE, lanes);
        allocator.code.registers(Code::Cmp_r64_rm64, LANE, END);
        allocator.code.jump_back(Code::Jb_rel32_64, start);
        allocator.end_call();
        start
    };
    allocator.store_carried();
    let code_after = &mut *allocator.code;
    for &register in saved.iter().rev() {
        code_after.put(Instruction::with1(Code::Pop_r64, register));
    }
    if style.nontemporal {
        code_after.put(Ok(Instruction::with(Code::Sfence)));
    }
    let turns = if lowered.repeats { TURNS } else { 1 };
    let packet_cost = exactly::<usize>(code_after.position() - start) / 6 * turns;
    leave(code_after);
    finish(allocator, &mut jumps, &mut notes, &mut usage);
    let bytes = match code.finish(&jumps) {
        Ok(bytes) => bytes,
        Err(reason) if cfg!(debug_assertions) => panic!("internal error: {reason}"),
        Err(_) => return Ok(None),
    };
    let spill_bytes = usage.spill_bytes as usize;
    let tile = if segmented { tile(spill_bytes, options.tile_bytes) } else { 1 };
    let frame_bytes = lowered.frame.spills as usize + tile * spill_bytes;
    let body = exactly(body);
    Ok(Some(Assembly { bytes, prologue, body, frame_bytes, usage, packet_cost, tile, notes }))
}

/// Cuts a long program into segments that the caches hold, each a loop over the packets of a tile. The
/// position of the first.
///
/// # Errors
/// `Interrupted`.
fn tiles(allocator: &mut Allocator<'_>) -> Result<u64> {
    allocator.code.store(Code::Mov_rm64_r64, at(FRAME, CALL_END), END);
    let next_tile = allocator.code.position();
    let code = &mut *allocator.code;
    code.store(Code::Mov_rm64_r64, at(FRAME, TILE_START), LANE);
    code.registers(Code::Mov_r64_rm64, END, LANE);
    code.load(Code::Add_r64_rm64, END, at(FRAME, TILE_LANES));
    code.load(Code::Cmp_r64_rm64, END, at(FRAME, CALL_END));
    code.load(Code::Cmova_r64_rm64, END, at(FRAME, CALL_END));
    allocator.begin_segment();
    let start = allocator.code.position();
    allocator.run()?;
    allocator.end_segment();
    allocator.code.load(Code::Cmp_r64_rm64, LANE, at(FRAME, CALL_END));
    allocator.code.jump_back(Code::Jb_rel32_64, next_tile);
    allocator.end_call();
    Ok(start)
}

/// Packets of a tile: the more, the less often code is fetched; fewer where their spills would fill the
/// caches.
fn tile(spill_bytes: usize, tile_bytes: usize) -> usize {
    (tile_bytes / spill_bytes.max(1)).clamp(4, 64)
}

/// Ends a function.
fn leave(code: &mut Encoder) {
    code.put(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    code.put(Ok(Instruction::with(Code::Retnq)));
}

fn finish(
    mut allocator: Allocator<'_>,
    jumps: &mut Vec<(Jump, u64)>,
    notes: &mut Vec<(u64, u32)>,
    usage: &mut Usage,
) {
    allocator.emit_cold();
    jumps.append(&mut allocator.jumps);
    notes.extend(allocator.notes.take().into_iter().flatten());
    let other = allocator.usage();
    usage.registers = usage.registers.max(other.registers);
    usage.spills += other.spills;
    usage.spill_bytes = usage.spill_bytes.max(other.spill_bytes);
}
