//! Slots without a variable. The lowest is taken first, so that what is recorded in a row lies in a row in memory, in
//! whatever order variables were freed before.

use crate::convert::exactly;
use crate::ir::var::VarId;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// A set of slots: a bit for each, and above them a bit for each word that is not 0.
#[derive(Default)]
pub(super) struct FreeSlots {
    words: Vec<u64>,
    groups: Vec<u64>,
    /// The first group that is not 0, if there is one.
    lowest: usize,
    len: usize,
}

impl FreeSlots {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The lowest one.
    #[inline]
    pub(super) fn first(&self) -> Option<VarId> {
        if self.len == 0 {
            return None;
        }
        let word = self.lowest * BITS + self.groups[self.lowest].trailing_zeros() as usize;
        let slot = word * BITS + self.words[word].trailing_zeros() as usize;
        Some(VarId::new(exactly(slot)))
    }

    /// Takes the lowest one out.
    #[inline]
    pub(super) fn take_first(&mut self) {
        if self.len == 0 {
            return;
        }
        let group = &mut self.groups[self.lowest];
        let word = &mut self.words[self.lowest * BITS + group.trailing_zeros() as usize];
        *word &= *word - 1;
        self.len -= 1;
        if *word == 0 {
            *group &= *group - 1;
            while self.len > 0 && self.groups[self.lowest] == 0 {
                self.lowest += 1;
            }
        }
    }

    /// Puts one in that is not there.
    #[inline]
    pub(super) fn put(&mut self, id: VarId) {
        let (word, bit) = (id.index() / BITS, id.index() % BITS);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.groups.resize(word / BITS + 1, 0);
        }
        let group = word / BITS;
        self.words[word] |= 1 << bit;
        self.groups[group] |= 1 << (word % BITS);
        self.lowest = if self.len == 0 { group } else { self.lowest.min(group) };
        self.len += 1;
    }

    /// Makes room for so many slots in all, so that putting one in needs no memory; false if the system gives none.
    pub(super) fn make_room(&mut self, n_slots: usize) -> bool {
        let room =
            |words: &mut Vec<u64>, n: usize| words.try_reserve(n.saturating_sub(words.len()));
        let n_words = n_slots.div_ceil(BITS);
        room(&mut self.words, n_words).is_ok()
            && room(&mut self.groups, n_words.div_ceil(BITS)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_is_taken_first_and_none_is_lost() {
        let mut free = FreeSlots::default();
        assert_eq!(free.first(), None);
        // Words before the first one that is used are 0.
        for far in [70_000, 900_000].map(VarId::new) {
            free.put(far);
            assert_eq!((free.first(), free.len()), (Some(far), 1));
            free.take_first();
        }
        let slots = [70_000, 3, 64, 4095, 4096, 0, 63, 300_000].map(VarId::new);
        slots.iter().for_each(|&id| free.put(id));
        let mut sorted = slots;
        sorted.sort_unstable();
        for (i, &id) in sorted.iter().enumerate() {
            assert_eq!((free.first(), free.len()), (Some(id), slots.len() - i));
            free.take_first();
            // One that comes back below all others is the next one.
            free.put(VarId::new(1));
            assert_eq!(free.first(), Some(VarId::new(1)));
            free.take_first();
        }
        assert_eq!((free.first(), free.len()), (None, 0));
    }
}
