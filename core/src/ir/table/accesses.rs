//! What indices read, and accesses that are copies of others, as calls of what was recorded once make them: errors call
//! them by the same name.

use super::Table;
use crate::ir::op::Op;
use crate::ir::var::{Kind, VarId};

/// Copies that are kept in mind, the latest.
const MOST_COPIES: usize = 1 << 12;

impl Table {
    /// The first of lane numbers that go up one by one, if an index is made of such and a number.
    pub(crate) fn first_of_run(&self, index: VarId) -> Option<u64> {
        let counter = self.get(index);
        let is_lane = |id: VarId| self.get(id).kind == Kind::Index;
        match (counter.kind, counter.operands) {
            (Kind::Index, _) => Some(0),
            (Kind::Op(Op::Add), [Some(a), Some(b), ..]) => {
                let (lane, number) = if is_lane(a) { (a, b) } else { (b, a) };
                let bits = self.get(number).kind.number().filter(|_| is_lane(lane))?;
                counter.dtype.decode(bits).integer().and_then(|first| u64::try_from(first).ok())
            }
            _ => None,
        }
    }

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

    /// Keeps in mind what an access is recorded for, of the latest few thousand: the name of a gather or scatter that is
    /// differentiated.
    pub(crate) fn mean_access(&mut self, id: VarId, name: &'static str) {
        let serial = self.get(id).serial;
        self.accesses.meant.insert(serial, name);
        if self.accesses.meant.len() > MOST_COPIES {
            self.accesses.meant.pop_first();
        }
    }

    /// What an access is called, if it is for something else than it does.
    pub(crate) fn meant_access(&self, serial: u64) -> Option<&'static str> {
        self.accesses.meant.get(&serial).copied()
    }

    /// The serial of the access of which this is a copy, else its own.
    pub(crate) fn original(&self, serial: u64) -> u64 {
        self.accesses.originals.get(&serial).copied().unwrap_or(serial)
    }
}
