//! From a lowered kernel to a block of machine code with two entries.
//!
//! Both entries are functions of (words, lane, end, frame, uniforms). The prologue runs once a
//! launch and writes the uniform values; the body runs packets of lanes from `lane` until `end`, which
//! lies a multiple of the packet behind it, at least one.

use super::lower::Lowered;
use super::machine::{Machine, Style};
use super::options::CpuOptions;
use super::register_allocation::{Allocator, Usage};
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

/// Assembles both programs; `None` if an instruction has no encoding, which is a mistake of ours.
///
/// # Errors
/// `Interrupted`.
pub(super) fn assemble<T: Machine>(
    lowered: &Lowered,
    style: Style,
    options: &CpuOptions,
) -> Result<Option<Assembly>> {
    let mut machine = T::new(lowered.packet, &lowered.frame, &lowered.pool.bytes);
    let mut notes = Vec::new();
    let mut usage = Usage::default();
    let prologue = if lowered.uniform_bytes == 0 {
        None
    } else {
        machine.align();
        let entry = machine.position();
        let style = Style { notes: style.notes, ..Style::PLAIN };
        let mut allocator = Allocator::new(lowered, &lowered.prologue, &mut machine, style, None);
        allocator.run()?;
        finish(allocator, &mut notes, &mut usage);
        Some(exactly(entry))
    };
    machine.align();
    let body = exactly(machine.position());
    let segmented = lowered.body.insts.len() > options.segmented_from;
    let segment_bytes = segmented.then_some(options.segment_bytes);
    let mut allocator = Allocator::new(lowered, &lowered.body, &mut machine, style, segment_bytes);
    let (buffers, whole) = (allocator.busy_buffers(), lowered.body.words_of_accesses());
    allocator.machine.enter(&buffers, &whole);
    allocator.load_invariants();
    let start = if segmented { tiles(&mut allocator)? } else { packets(&mut allocator)? };
    allocator.machine.end_exits();
    allocator.store_carried();
    allocator.machine.restore();
    let turns = if lowered.repeats { TURNS } else { 1 };
    let packet_cost =
        exactly::<usize>(allocator.machine.position() - start) / T::INSTRUCTION_BYTES * turns;
    finish(allocator, &mut notes, &mut usage);
    let bytes = match machine.finish() {
        Ok(bytes) => bytes,
        Err(reason) if cfg!(debug_assertions) => panic!("internal error: {reason}"),
        Err(_) => return Ok(None),
    };
    let spill_bytes = usage.spill_bytes as usize;
    let tile = if segmented { tile(spill_bytes, options.tile_bytes) } else { 1 };
    let frame_bytes = lowered.frame.spills as usize + tile * spill_bytes;
    Ok(Some(Assembly { bytes, prologue, body, frame_bytes, usage, packet_cost, tile, notes }))
}

/// A loop over packets. Its position.
///
/// # Errors
/// `Interrupted`.
fn packets<T: Machine>(allocator: &mut Allocator<'_, T>) -> Result<u64> {
    allocator.machine.align();
    let start = allocator.machine.position();
    allocator.run()?;
    allocator.machine.next_packet(start);
    Ok(start)
}

/// Cuts a long program into segments that the caches hold, each a loop over the packets of a tile. The
/// position of the first.
///
/// # Errors
/// `Interrupted`.
fn tiles<T: Machine>(allocator: &mut Allocator<'_, T>) -> Result<u64> {
    let next_tile = allocator.machine.begin_tiles();
    allocator.begin_segment();
    let start = allocator.machine.position();
    allocator.run()?;
    allocator.end_segment();
    allocator.machine.next_tile(next_tile);
    Ok(start)
}

/// Packets of a tile: the more, the less often code is fetched; fewer where their spills would fill the
/// caches.
fn tile(spill_bytes: usize, tile_bytes: usize) -> usize {
    (tile_bytes / spill_bytes.max(1)).clamp(4, 64)
}

/// Ends a function.
fn finish<T: Machine>(
    mut allocator: Allocator<'_, T>,
    notes: &mut Vec<(u64, u32)>,
    usage: &mut Usage,
) {
    allocator.machine.end();
    notes.extend(allocator.notes.take().into_iter().flatten());
    let other = allocator.usage();
    usage.registers = usage.registers.max(other.registers);
    usage.spills += other.spills;
    usage.spill_bytes = usage.spill_bytes.max(other.spill_bytes);
}
