//! Accesses that are copies of others, as calls of what was recorded once make them: errors call them by the same name.

use super::Table;
use crate::ir::var::VarId;

/// Copies that are kept in mind, the latest.
const MOST_COPIES: usize = 1 << 12;

impl Table {
    /// The serial by which an access gets a name.
    pub(crate) fn named_access(&mut self, id: VarId) -> u64 {
        self.accesses.are_named = true;
        self.get(id).serial
    }

    /// Keeps in mind that an access is a copy of another.
    pub(crate) fn keep_copy(&mut self, original: VarId, copy: VarId) {
        let [original, copy] = [original, copy].map(|id| self.get(id).serial);
        if !self.accesses.are_named || original == copy {
            return;
        }
        let original = self.original(original);
        self.accesses.originals.insert(copy, original);
        if self.accesses.originals.len() > MOST_COPIES {
            self.accesses.originals.pop_first();
        }
    }

    /// The serial of the access of which this is a copy, else its own.
    pub(crate) fn original(&self, serial: u64) -> u64 {
        self.accesses.originals.get(&serial).copied().unwrap_or(serial)
    }
}
