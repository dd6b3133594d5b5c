//! The memory of parts: a block has a place at each of them, and what each part has of it is known.
//!
//! A place is as long as all of the block, so lane numbers and indices mean the same at every part; it is made when a part
//! first needs the block, and what a part never touches takes no memory. A part *has* bytes if its own are those of the
//! block. What it lacks is brought from one that has it, and then both have it, until the block is written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::block::{Block, Fill};
use super::partition::Partition;
use super::spans::Spans;
use super::transfer::{Carrier, Transfer};
use super::wanted::Wanted;
use crate::backend::host::ALIGNMENT;
use crate::backend::{Backend, Capacity, FileLanes, Memory};
use crate::convert::exactly;
use crate::error::Result;
use crate::memory::caching_allocator::Allocator;

/// The memory of devices that are parts of one.
pub(super) struct PartMemory {
    pub(super) devices: Vec<Arc<dyn Backend>>,
    /// What parts keep of their memory for primitives, and give back when there is no other.
    spare: Vec<Option<Arc<Allocator>>>,
    blocks: Mutex<BTreeMap<u64, Block>>,
    pub(super) carrier: Carrier,
}

/// What a part moves between its memory and a file.
struct Share {
    part: usize,
    address: u64,
    lanes: FileLanes,
}

/// Where a block begins, the block, and where in it an address is.
type Found<'a> = (u64, &'a mut Block, u64);

impl PartMemory {
    /// `whole` as of [`Parts::over`](super::Parts::over).
    pub(super) fn new(
        devices: Vec<Arc<dyn Backend>>,
        spare: Vec<Option<Arc<Allocator>>>,
        whole: u64,
    ) -> Self {
        let carrier = Carrier::new(devices.clone(), whole);
        Self { carrier, devices, spare, blocks: Mutex::default() }
    }

    pub(super) fn parts(&self) -> usize {
        self.devices.len()
    }

    /// The memory that a part has its places in.
    pub(super) fn of(&self, part: usize) -> &dyn Memory {
        self.devices[part].memory()
    }

    /// Moves bytes between parts; how many came to one from another.
    ///
    /// # Errors
    /// As [`Carrier::transfer_all`].
    pub(super) fn transfer_all(&self, transfers: &[Transfer]) -> Result<u64> {
        self.carrier.transfer_all(transfers)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The block of an address.
    pub(super) fn find(blocks: &mut BTreeMap<u64, Block>, address: u64) -> Found<'_> {
        let (&start, block) = blocks
            .range_mut(..=address)
            .next_back()
            .expect("internal error: an address before all blocks");
        let offset = address - start;
        assert!(offset <= block.bytes, "internal error: an address outside of all blocks");
        (start, block, offset)
    }

    /// Whether so many bytes from an address on are of one block.
    fn has_all(blocks: &BTreeMap<u64, Block>, address: u64, bytes: u64) -> bool {
        let before = blocks.range(..=address).next_back();
        before.is_some_and(|(start, block)| address - start + bytes <= block.bytes)
    }

    /// The address of a block at a part, where these bytes of it have memory.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn room(&self, block: &mut Block, part: usize, bytes: &Range<u64>) -> Result<u64> {
        let found = block.room(part, self.of(part), bytes);
        match &self.spare[part] {
            Some(spare) if found.is_err() && spare.trim().0 > 0 => {
                block.room(part, self.of(part), bytes)
            }
            _ => found,
        }
    }

    /// Where a part has what the session knows by an address, with memory for these bytes from there on.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn place(&self, part: usize, address: u64, bytes: Range<u64>) -> Result<u64> {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, address);
        let bytes = offset.saturating_add(bytes.start)..offset.saturating_add(bytes.end);
        Ok(self.room(block, part, &bytes)? + offset)
    }

    /// The memories of the parts that have a place for what the session knows by an address, and where.
    fn places(&self, address: u64) -> Vec<(&dyn Memory, u64)> {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, address);
        let there =
            |(part, place): (usize, &Option<u64>)| Some((self.of(part), (*place)? + offset));
        block.places.iter().enumerate().filter_map(there).collect()
    }

    /// Bytes that a part lacks of all that is known of a block.
    pub(super) fn lacks(&self, part: usize, address: u64) -> u64 {
        let mut blocks = self.lock();
        let (_, block, _) = Self::find(&mut blocks, address);
        let mut lacks = block.known();
        block.has[part].iter().for_each(|span| lacks.remove(&span));
        lacks.bytes()
    }

    /// Takes note that parts wrote `n` elements of a width from an address on: each its lanes.
    pub(super) fn wrote_lanes(
        &self,
        address: u64,
        width: usize,
        n: u64,
        lanes: impl Iterator<Item = Range<u64>>,
    ) {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, address);
        block.forget(&(offset..offset + n * width as u64));
        for (has, lanes) in block.has.iter_mut().zip(lanes) {
            has.add(offset + lanes.start * width as u64..offset + lanes.end * width as u64);
        }
    }

    /// Takes note that each of some parts wrote the same bytes from an address on.
    pub(super) fn wrote(&self, parts: Range<usize>, address: u64, bytes: u64) {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, address);
        let range = offset..(offset + bytes).min(block.bytes);
        block.forget(&range);
        block.has[parts].iter_mut().for_each(|has| has.add(range.clone()));
    }

    /// Takes note that only some parts have a block as it is now, and that they have all that there was of it.
    pub(super) fn changed(&self, parts: Range<usize>, address: u64) {
        let mut blocks = self.lock();
        let (_, block, _) = Self::find(&mut blocks, address);
        for (part, has) in block.has.iter_mut().enumerate() {
            if !parts.contains(&part) {
                has.clear();
            }
        }
        block.fills.clear();
    }

    /// Bytes that each part has of what lies from an address on.
    pub(super) fn has(&self, address: u64, bytes: u64) -> Vec<u64> {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, address);
        let range = offset..(offset + bytes).min(block.bytes);
        let of = |has: &Spans| has.within(&range).iter().map(|span| span.end - span.start).sum();
        block.has.iter().map(of).collect()
    }

    /// The lanes of a file that each part has of an array, and where; parts without lanes are left out.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn shares(&self, array: u64, lanes: &FileLanes) -> Result<Vec<Share>> {
        let width = lanes.dtype.bytes() as u64;
        let parts = Partition::new(lanes.n, self.parts()).all().enumerate();
        let share = |(part, own): (usize, Range<u64>)| {
            let bytes = own.start * width..own.end * width;
            let address = self.place(part, array, bytes.clone())? + bytes.start;
            Ok(Share { part, address, lanes: lanes.part(&own) })
        };
        parts.filter(|(_, own)| !own.is_empty()).map(share).collect()
    }

    /// Forgets a block, and gives its places back from a part on.
    fn remove(&self, address: u64, first: usize) {
        let Some(block) = self.lock().remove(&address) else { return };
        let bytes = exactly(block.room_bytes());
        for (device, place) in self.devices.iter().zip(block.places).skip(first) {
            place.into_iter().for_each(|place| device.memory().free_raw(place, bytes));
        }
    }
}

impl Memory for PartMemory {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        let address = self.of(0).reserve_raw(bytes)?;
        let block = Block::new(self.parts(), address, bytes);
        self.lock().insert(address, block);
        Some(address)
    }

    fn free_raw(&self, address: u64, _: usize) {
        self.remove(address, 0);
    }

    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()> {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, address);
        let span = offset..offset + n * bytes as u64;
        block.forget(&span);
        match block.fills.last_mut() {
            Some(last)
                if (last.pattern, last.width, last.span.end) == (pattern, bytes, span.start) =>
            {
                last.span.end = span.end;
            }
            _ => block.fills.push(Fill { span, pattern, width: bytes }),
        }
        Ok(())
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        let mut blocks = self.lock();
        if !Self::has_all(&blocks, source, bytes as u64) {
            drop(blocks);
            // A block of others, which the first part reads where it is.
            self.of(0).copy(self.place(0, target, 0..bytes as u64)?, source, bytes)?;
            self.wrote(0..1, target, bytes as u64);
            return Ok(());
        }
        let (_, from, offset) = Self::find(&mut blocks, source);
        let range = offset..offset + bytes as u64;
        let has: Vec<Vec<Range<u64>>> = from.has.iter().map(|has| has.within(&range)).collect();
        let places = from.places.clone();
        let fills = from.fills.clone();
        let (_, to, start) = Self::find(&mut blocks, target);
        let there = |span: &Range<u64>| span.start - offset + start..span.end - offset + start;
        to.forget(&(start..start + bytes as u64));
        for (part, spans) in has.into_iter().enumerate() {
            for span in spans {
                let target = there(&span);
                // Who has some of it has a place.
                let Some(place) = places[part] else { continue };
                let to_place = self.room(to, part, &target)? + target.start;
                let from_place = place + span.start;
                let n = exactly::<usize>(span.end - span.start);
                self.of(part).copy(to_place, from_place, n)?;
                to.has[part].add(target);
            }
        }
        for fill in fills {
            let span = fill.span.start.max(range.start)..fill.span.end.min(range.end);
            if !span.is_empty() {
                to.fills.push(Fill { span: there(&span), ..fill });
            }
        }
        Ok(())
    }

    fn write(&self, target: u64, source: &[u8]) -> Result<()> {
        let bytes = source.len() as u64;
        self.of(0).write(self.place(0, target, 0..bytes)?, source)?;
        self.wrote(0..1, target, bytes);
        Ok(())
    }

    fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        let mut blocks = self.lock();
        let (_, block, offset) = Self::find(&mut blocks, source);
        let range = offset..offset + target.len() as u64;
        let within = |span: &Range<u64>| {
            exactly::<usize>(span.start - offset)..exactly::<usize>(span.end - offset)
        };
        let mut wanted = Spans::default();
        wanted.add(range);
        for fill in &block.fills {
            for span in wanted.within(&fill.span) {
                // A read may begin within an element.
                let pattern = fill.pattern.to_le_bytes();
                for (byte, at) in target[within(&span)].iter_mut().zip(span.start..) {
                    *byte = pattern[exactly::<usize>((at - fill.span.start) % fill.width as u64)];
                }
                wanted.remove(&span);
            }
        }
        for part in 0..self.parts() {
            let Some(place) = block.places[part] else { continue };
            for span in
                wanted.iter().flat_map(|span| block.has[part].within(&span)).collect::<Vec<_>>()
            {
                self.of(part).read(place + span.start, &mut target[within(&span)])?;
                wanted.remove(&span);
            }
        }
        // Nobody has written the rest.
        for span in wanted.iter() {
            target[within(&span)].fill(0);
        }
        Ok(())
    }

    fn is_ready(&self, address: u64) -> bool {
        self.places(address).into_iter().all(|(memory, place)| memory.is_ready(place))
    }

    fn wait(&self, address: u64) -> Result<()> {
        self.places(address).into_iter().try_for_each(|(memory, place)| memory.wait(place))
    }

    fn borrow_block(&self, address: u64, bytes: usize) -> bool {
        let mut blocks = self.lock();
        let before = blocks.range(..address.saturating_add(bytes as u64)).next_back();
        // Blocks are told apart by their addresses: a part of another, or one that was borrowed already, is none.
        if before.is_some_and(|(start, block)| start + block.bytes > address)
            || !self.of(0).borrow_block(address, bytes)
        {
            return false;
        }
        let mut block = Block::new(self.parts(), address, bytes);
        block.has[0].add(0..bytes as u64);
        blocks.insert(address, block);
        true
    }

    fn return_block(&self, address: u64) {
        self.remove(address, 1);
        self.of(0).return_block(address);
    }

    fn bring_here(&self, address: u64, bytes: u64) -> Result<()> {
        self.bring(0, address, 0..bytes).map(drop)
    }

    fn load(&self, target: u64, lanes: &FileLanes) -> Result<bool> {
        let shares = self.shares(target, lanes)?;
        let is_done =
            beside(&shares, |share| self.of(share.part).load(share.address, &share.lanes))?;
        if is_done {
            let partition = Partition::new(lanes.n, self.parts());
            self.wrote_lanes(target, lanes.dtype.bytes(), lanes.n, partition.all());
        }
        Ok(is_done)
    }

    fn save(&self, source: u64, lanes: &FileLanes) -> Result<bool> {
        let shares = self.shares(source, lanes)?;
        let wanted = shares.iter().map(|share| {
            let start = share.lanes.start - lanes.start;
            let bytes = Some(start..start + share.lanes.bytes());
            Wanted { part: share.part, address: source, bytes }
        });
        self.bring_together(wanted.collect())?;
        beside(&shares, |share| self.of(share.part).save(share.address, &share.lanes))
    }

    fn owner(&self) -> String {
        self.of(0).owner()
    }

    fn capacity(&self) -> Capacity {
        // Of GPUs each has some of an array.
        let gpus = self.devices.iter().filter_map(|it| Some((it.gpu_id()?, it.memory())));
        let gpus: BTreeMap<u128, &dyn Memory> = gpus.collect();
        match gpus.len() {
            0 | 1 => self.of(0).capacity(),
            _ => Capacity {
                bytes: gpus.values().map(|memory| memory.capacity().bytes).sum(),
                whose: "the GPUs",
            },
        }
    }
}

/// Does something for parts, on a thread each; whether all could.
fn beside<T: Sync>(parts: &[T], work: impl Fn(&T) -> Result<bool> + Sync) -> Result<bool> {
    let work = &work;
    let done: Vec<Result<bool>> = thread::scope(|scope| {
        let begin = |one| {
            let thread = thread::Builder::new().name("files".into());
            // Without a thread it is done when the others are.
            thread.spawn_scoped(scope, move || work(one)).map_err(|_| one)
        };
        let begun: Vec<_> = parts.iter().map(begin).collect();
        let end = |begun: std::result::Result<thread::ScopedJoinHandle<'_, _>, &T>| match begun {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(one) => work(one),
        };
        begun.into_iter().map(end).collect()
    });
    let done = done.into_iter().collect::<Result<Vec<bool>>>()?;
    Ok(done.into_iter().all(|could| could))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::parts::WHOLE;

    /// What lies within a block, or is borrowed, is not borrowed again.
    #[test]
    fn blocks_of_others_do_not_overlap() {
        let devices = vec![crate::backend::open_processor(1); 2];
        let memory = PartMemory::new(devices, vec![None, None], WHOLE);
        let others = [7_u8; 512];
        let address = others.as_ptr().expose_provenance() as u64;
        let own = memory.alloc_raw(256).unwrap();
        assert!(!memory.borrow_block(own, 64) && !memory.borrow_block(own + 16, 16));
        assert!(memory.borrow_block(address + 128, 128));
        for (start, bytes, is_apart) in
            [(128, 128, false), (144, 16, false), (0, 512, false), (0, 128, true)]
        {
            assert_eq!(memory.borrow_block(address + start, bytes), is_apart, "{start}, {bytes}");
        }
        memory.return_block(address);
        memory.return_block(address + 128);
        assert!(memory.borrow_block(address, 512));
        let mut read = [0; 3];
        memory.read(address + 500, &mut read).unwrap();
        assert_eq!(read, [7; 3]);
        memory.return_block(address);
        // What lies behind the end of one, where kernels only read, is another's.
        assert!(memory.borrow_block(address, 100));
        memory.copy(own, address + 112, 16).unwrap();
        memory.read(own + 13, &mut read).unwrap();
        assert_eq!(read, [7; 3]);
        assert!(memory.borrow_block(address + 112, 16));
        memory.return_block(address);
        memory.return_block(address + 112);
        memory.free_raw(own, 256);
    }
}
