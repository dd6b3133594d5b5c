//! Whether a table may grow: it asks before it does, since a refusal on the way would end the process.

use super::Table;
use crate::ir::var::Variable;

/// Variables that one recording may add: more than the longest function is made of.
const ROOM: usize = 1 << 10;

impl Table {
    /// Makes room for what one recording may add; false if the system gives none.
    #[inline]
    pub(crate) fn make_room(&mut self) -> bool {
        let slots = self.slots.capacity() - self.slots.len() + self.unused.free.len();
        let numbers = self.numbering.known.capacity() - self.numbering.known.len();
        let candidates = self.candidates.capacity() - self.candidates.len();
        slots.min(numbers).min(candidates) >= ROOM || self.grow()
    }

    #[cold]
    fn grow(&mut self) -> bool {
        self.prune_candidates();
        // Twice as much as one recording needs: else the next one would come here again.
        let more = 2 * ROOM;
        let n_candidates = self.candidates.len();
        self.slots.try_reserve(more).is_ok()
            // Freeing variables must not need memory: it is what is done where there is none.
            && self.unused.free.make_room(self.slots.capacity())
            && self.numbering.known.try_reserve(more, |&(hash, _)| hash).is_ok()
            && self.candidates.try_reserve(n_candidates + more).is_ok()
    }

    /// Bytes of the variables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<Variable>()) as u64
    }
}
