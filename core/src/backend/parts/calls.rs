//! Calls of primitives at parts, with the lanes that these have of arrays.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;
use std::time::Instant;

use super::begun::all;
use super::shared::Shared;
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::error::Result;

/// Some lanes of an array, as a part has memory for them.
pub(super) fn placed(
    shared: &Shared,
    part: usize,
    array: &MemoryArray,
    lanes: Range<u64>,
) -> Result<MemoryArray> {
    let width = array.dtype.bytes() as u64;
    let bytes = lanes.start * width..lanes.end * width;
    let address = shared.memory.place(part, array.address, bytes.clone())? + bytes.start;
    Ok(MemoryArray { address, size: lanes.end - lanes.start, ..*array })
}

/// The same, with what is in them.
pub(super) fn brought(
    shared: &Shared,
    part: usize,
    array: &MemoryArray,
    lanes: Range<u64>,
) -> Result<MemoryArray> {
    let start = lanes.start * array.dtype.bytes() as u64;
    let own = placed(shared, part, array, lanes)?;
    let bytes = start..start + own.bytes();
    shared.notes.exchanged(shared.memory.bring(part, array.address, bytes)?);
    Ok(own)
}

/// Runs calls, at most one at each part; other processes beside this one.
///
/// A thread waits for them: what runs here asks for memory, and memory may have to wait for those.
pub(super) fn run_each(
    shared: &Shared,
    calls: &[(usize, PrimitiveCall)],
    room: Room<'_>,
) -> Result<()> {
    let (own, others): (Vec<_>, Vec<_>) = calls.iter().partition(|(part, _)| shared.is_here(*part));
    let here = || {
        own.iter().try_for_each(|&&(part, ref call)| {
            let since = Instant::now();
            shared.with_room(part, room, |room| shared.devices[part].run_primitive(call, room))?;
            shared.took([(part, since, since.elapsed())]);
            Ok(())
        })
    };
    if others.is_empty() {
        return here();
    }
    let elsewhere = || {
        let asked = Instant::now();
        let begun = others.iter().map(|(part, call)| shared.devices[*part].begin_primitive(call));
        let times = all(begun)?;
        shared.took(others.iter().zip(times).map(|((part, _), time)| (*part, asked, time)));
        Ok(())
    };
    thread::scope(|scope| {
        let beside = thread::Builder::new().name("ranks".into()).spawn_scoped(scope, elsewhere);
        let done = here();
        let others = match beside {
            Ok(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a thread one after the other.
            Err(_) => elsewhere(),
        };
        done.and(others)
    })
}
