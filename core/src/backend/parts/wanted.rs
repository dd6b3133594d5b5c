//! What parts are to have of arrays is brought to all of them together: links carry both ways at once.

use std::ops::Range;

use super::block::Block;
use super::memory::PartMemory;
use super::transfer::{Place, Transfer, in_pieces};
use crate::backend::host::refusal;
use crate::error::Result;

/// Bytes that are brought without asking the system whether it has room.
const SMALL: u64 = 1 << 20;

/// Bytes that a part is to have, from an address on.
pub(super) struct Wanted {
    pub(super) part: usize,
    pub(super) address: u64,
    /// By default all that is known of the block.
    pub(super) bytes: Option<Range<u64>>,
}

/// What is on its way: spans of blocks, and how they get there.
#[derive(Default)]
struct Coming {
    spans: Vec<(u64, usize, Range<u64>)>,
    transfers: Vec<Transfer>,
}

impl Coming {
    /// Bytes that will be written in the memory of a machine.
    fn on<'m>(&self, machine: Option<&str>, of: impl Fn(usize) -> Option<&'m str>) -> u64 {
        let there = self.transfers.iter().filter(|transfer| of(transfer.to.part) == machine);
        there.map(|transfer| transfer.bytes).sum()
    }
}

impl PartMemory {
    /// Makes a part have bytes from an address on; how many were moved.
    ///
    /// # Errors
    /// As [`PartMemory::bring_together`].
    pub(super) fn bring(&self, part: usize, address: u64, bytes: Range<u64>) -> Result<u64> {
        self.bring_together(vec![Wanted { part, address, bytes: Some(bytes) }])
    }

    /// Makes parts have what they are to have; how many bytes were moved.
    ///
    /// # Errors
    /// `Interrupted`; `OutOfMemory` where the system has no room for what is to be moved.
    pub(super) fn bring_together(&self, wanted: Vec<Wanted>) -> Result<u64> {
        let mut blocks = self.lock();
        let mut coming = Coming::default();
        for Wanted { part, address, bytes } in wanted {
            let (start, block, offset) = Self::find(&mut blocks, address);
            let range = match bytes {
                Some(bytes) => {
                    offset + bytes.start..offset.saturating_add(bytes.end).min(block.bytes)
                }
                None => 0..block.bytes,
            };
            if !block.has[part].covers(&range) {
                self.plan(start, block, part, &range, &mut coming)?;
            }
        }
        let moved = self.transfer_all(&coming.transfers)?;
        for (start, part, span) in coming.spans {
            let block =
                blocks.get_mut(&start).expect("internal error: a block that went meanwhile");
            block.has[part].add(span);
        }
        Ok(moved)
    }

    /// Finds who has what a part lacks of a range of a block; what all elements are set to it writes at once.
    fn plan(
        &self,
        start: u64,
        block: &mut Block,
        part: usize,
        range: &Range<u64>,
        coming: &mut Coming,
    ) -> Result<()> {
        let mut wanted = block.has[part].missing(range);
        let to_it = coming.spans.iter().filter(|(of, to, _)| (*of, *to) == (start, part));
        to_it.for_each(|(_, _, span)| wanted.remove(span));
        let memory = self.of(part);
        // A GPU says itself, when it is asked for the room.
        if wanted.bytes() >= SMALL && self.devices[part].gpu_id().is_none() {
            let machine = |part: usize| self.devices[part].host().map(|host| &*host.id);
            let left = memory.capacity().bytes.saturating_sub(coming.on(machine(part), machine));
            if left < wanted.bytes() {
                return Err(refusal(memory, wanted.bytes()));
            }
        }
        let place = self.room(block, part, range)?;
        for fill in block.fills.clone() {
            for span in wanted.within(&fill.span) {
                let (width, n) = (fill.width as u64, (span.end - span.start) / fill.width as u64);
                in_pieces(n, |first, n| {
                    memory.fill(place + span.start + first * width, fill.pattern, fill.width, n)
                })?;
                wanted.remove(&span);
                block.has[part].add(span);
            }
        }
        for other in (0..self.parts()).filter(|&other| other != part) {
            // Who has some of it has a place.
            let Some(source) = block.places[other] else { continue };
            let spans: Vec<_> =
                wanted.iter().flat_map(|span| block.has[other].within(&span)).collect();
            for span in spans {
                let from = Place { part: other, address: source + span.start };
                let to = Place { part, address: place + span.start };
                wanted.remove(&span);
                coming.transfers.push(Transfer { from, to, bytes: span.end - span.start });
                coming.spans.push((start, part, span));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::parts::WHOLE;
    use crate::backend::{Memory, open_processor};

    const BYTES: usize = 4096;

    fn memory() -> PartMemory {
        PartMemory::new(vec![open_processor(1); 3], vec![None, None, None], WHOLE)
    }

    fn wanted(part: usize, address: u64, bytes: Option<Range<u64>>) -> Wanted {
        Wanted { part, address, bytes }
    }

    /// What a part has of a block.
    fn at(memory: &PartMemory, part: usize, address: u64) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        let place = memory.place(part, address, 0..BYTES as u64).unwrap();
        memory.of(part).read(place, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_wanted_several_times_comes_once() {
        let memory = memory();
        let address = memory.alloc_raw(BYTES).unwrap();
        let bytes: Vec<u8> = (0..BYTES).map(|i| i.to_le_bytes()[0]).collect();
        memory.write(address, &bytes).unwrap();
        let ranges = [Some(0..100), Some(50..200), Some(60..70), None, Some(0..u64::MAX)];
        let of = |part| ranges.clone().map(|range| wanted(part, address, range));
        let moved = memory.bring_together([of(1), of(2)].into_iter().flatten().collect());
        assert_eq!(moved, Ok(2 * BYTES as u64));
        assert_eq!(memory.bring_together(of(1).into()), Ok(0));
        assert!([1, 2].iter().all(|&part| at(&memory, part, address) == bytes));
    }

    #[test]
    fn what_is_filled_is_not_moved() {
        let memory = memory();
        let address = memory.alloc_raw(BYTES).unwrap();
        memory.fill(address, 0x0707_0707, 4, BYTES as u64 / 4).unwrap();
        memory.write(address + 64, &[9; 32]).unwrap();
        let moved = memory.bring_together(vec![
            wanted(1, address, Some(0..128)),
            wanted(2, address + 16, Some(0..64)),
            wanted(1, address, None),
        ]);
        assert_eq!(moved, Ok(32 + 16));
        let mut want = vec![7; BYTES];
        want[64..96].fill(9);
        assert_eq!(at(&memory, 1, address), want);
        assert_eq!(at(&memory, 2, address)[16..80], want[16..80]);
    }
}
