//! A block at parts: its place at each, and what of it each has.

use std::ops::Range;

use super::spans::Spans;
use crate::backend::Memory;
use crate::backend::host::{ALIGNMENT, refusal};
use crate::convert::exactly;
use crate::error::Result;

/// A block.
pub(super) struct Block {
    /// Its own: of a block of others, what was borrowed.
    pub(super) bytes: u64,
    /// Its address at each part that has needed it; the first is the one that the session knows.
    pub(super) places: Vec<Option<u64>>,
    /// What each part has.
    pub(super) has: Vec<Spans>,
    /// What has memory at each part, which then is not asked again.
    backed: Vec<Spans>,
    /// Elements that were set to one value, which each part can write by itself.
    pub(super) fills: Vec<Fill>,
}

#[derive(Clone)]
pub(super) struct Fill {
    pub(super) span: Range<u64>,
    pub(super) pattern: u64,
    /// Bytes of an element.
    pub(super) width: usize,
}

impl Block {
    /// A new one with a place at the first part.
    pub(super) fn new(parts: usize, address: u64, bytes: usize) -> Self {
        let mut places = vec![None; parts];
        places[0] = Some(address);
        let none = vec![Spans::default(); parts];
        Self { bytes: bytes as u64, places, has: none.clone(), backed: none, fills: Vec::new() }
    }

    /// Bytes of a place: as far as kernels read.
    pub(super) fn room_bytes(&self) -> u64 {
        self.bytes.next_multiple_of(ALIGNMENT as u64)
    }

    /// Its address at a part, where these bytes of it have memory.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn room(
        &mut self,
        part: usize,
        memory: &dyn Memory,
        bytes: &Range<u64>,
    ) -> Result<u64> {
        let whole = self.room_bytes();
        let place = match self.places[part] {
            Some(place) => place,
            None => memory.reserve_raw(exactly(whole)).ok_or_else(|| refusal(memory, whole))?,
        };
        self.places[part] = Some(place);
        let bytes = bytes.start..bytes.end.min(whole);
        if self.backed[part].covers(&bytes) {
            return Ok(place);
        }
        if !memory.back(place, bytes.clone())? {
            return Err(refusal(memory, bytes.end - bytes.start));
        }
        self.backed[part].add(bytes);
        Ok(place)
    }

    /// Every part has the range no longer, but for those that say so afterwards.
    pub(super) fn forget(&mut self, range: &Range<u64>) {
        self.has.iter_mut().for_each(|has| has.remove(range));
        for fill in std::mem::take(&mut self.fills) {
            let mut left = Spans::default();
            left.add(fill.span.clone());
            left.remove(range);
            self.fills.extend(left.iter().map(|span| Fill { span, ..fill }));
        }
    }

    /// All that some part has.
    pub(super) fn known(&self) -> Spans {
        let mut known = Spans::default();
        self.has.iter().flat_map(Spans::iter).for_each(|span| known.add(span));
        self.fills.iter().for_each(|fill| known.add(fill.span.clone()));
        known
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::backend::Capacity;
    use crate::backend::mocks::moves_nothing;

    /// A memory of so many bytes that is only asked for them.
    struct Asked {
        most: u64,
        ranges: Mutex<Vec<(u64, u64)>>,
    }

    impl Memory for Asked {
        moves_nothing!();

        fn alloc_raw(&self, _: usize) -> Option<u64> {
            Some(4096)
        }

        fn free_raw(&self, _: u64, _: usize) {}

        fn back(&self, _: u64, bytes: Range<u64>) -> Result<bool> {
            let is_there = bytes.end <= self.most;
            self.ranges.lock().unwrap().push((bytes.start, bytes.end));
            Ok(is_there)
        }

        fn capacity(&self) -> Capacity {
            Capacity { bytes: self.most, whose: "the test" }
        }
    }

    /// A rank is asked once for what then has memory, and again for what it refused.
    #[test]
    fn nobody_is_asked_twice_for_memory_that_is_there() {
        let memory = Asked { most: 300, ranges: Mutex::default() };
        let [has, backed] = [(); 2].map(|()| vec![Spans::default()]);
        let mut block = Block { bytes: 512, places: vec![None], has, backed, fills: Vec::new() };
        let mut asked = |bytes: Range<u64>| {
            let room = block.room(0, &memory, &bytes);
            (room.is_ok(), std::mem::take(&mut *memory.ranges.lock().unwrap()))
        };
        assert_eq!(asked(0..0), (true, vec![]));
        assert_eq!(asked(0..100), (true, vec![(0, 100)]));
        assert_eq!(asked(10..50), (true, vec![]));
        assert_eq!(asked(90..200), (true, vec![(90, 200)]));
        assert_eq!(asked(0..200), (true, vec![]));
        for _ in 0..2 {
            assert_eq!(asked(0..u64::MAX), (false, vec![(0, 512)]));
        }
        let error = block.room(0, &memory, &(0..400)).unwrap_err().to_string();
        assert_eq!(error, "out of memory: wanted 400 B, the rest of the memory of the test in use");
    }
}
