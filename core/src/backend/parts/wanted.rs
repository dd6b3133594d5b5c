//! What parts are to have of arrays is brought to all of them together: links carry both ways at once, and each part is asked
//! once.

use std::collections::BTreeMap;
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
        self.arrived(&mut blocks, coming.spans);
        Ok(moved)
    }

    fn arrived(&self, blocks: &mut BTreeMap<u64, Block>, spans: Vec<(u64, usize, Range<u64>)>) {
        for (start, part, span) in spans {
            // Nobody else had the blocks meanwhile.
            if let Some(block) = blocks.get_mut(&start) {
                block.has[part].add(span);
            }
        }
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
