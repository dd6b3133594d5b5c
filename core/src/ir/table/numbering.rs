//! Value numbering: equal operations share a variable (flag `cse`, semantics S5).

use std::hash::{Hash, Hasher};

use hashbrown::hash_table::Entry;

use super::Table;
use crate::ir::mix::Mix;
use crate::ir::var::{Kind, VarId, Variable};

/// Changes the hashes of variables that are not tracked though their operands are.
const UNTRACKED: u64 = 0x9e37_79b9_7f4a_7c15;

impl Table {
    /// Adds a variable, or finds an equal one. The caller owns one external reference to the result.
    pub fn intern(&mut self, mut variable: Variable) -> VarId {
        let numbered = self.numbering.enabled && has_number(variable.kind);
        if !numbered {
            return self.insert(variable);
        }
        let mut hash = number(&variable);
        // What is not tracked though its operands are is another value than that which is.
        let tracking = self.recording.tracking();
        let differs = |id| self.get(id).tracked || tracking.detaches && self.get(id).scope != 0;
        if tracking.untracked && variable.operands().any(differs) {
            hash = (hash ^ UNTRACKED).max(1);
        }
        let next = self.next_id();
        let slots = &self.slots;
        let same = |&(other, id): &(u64, VarId)| {
            let known = &slots[id.index()];
            other == hash && same_number(known, &variable) && !known.is_dead()
        };
        match self.numbering.known.entry(hash, same, |&(hash, _)| hash) {
            Entry::Occupied(entry) => {
                let id = entry.get().1;
                self.inc_external(id);
                id
            }
            Entry::Vacant(entry) => {
                entry.insert((hash, next));
                variable.number = hash;
                self.insert_at(next, variable)
            }
        }
    }

    /// Lets value numbering find a variable again.
    pub(super) fn number(&mut self, id: VarId, hash: u64) {
        self.slots[id.index()].number = hash;
        self.numbering.known.insert_unique(hash, (hash, id), |&(hash, _)| hash);
    }

    /// Takes a variable out of value numbering, so that later recordings never find it.
    pub fn forget_number(&mut self, id: VarId) {
        let variable = &mut self.slots[id.index()];
        let hash = std::mem::take(&mut variable.number);
        if hash == 0 {
            return;
        }
        if let Ok(entry) = self.numbering.known.find_entry(hash, |&(_, other)| other == id) {
            entry.remove();
        }
    }
}

/// Whether equal variables of this kind mean the same value for ever.
fn has_number(kind: Kind) -> bool {
    match kind {
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Composite
        | Kind::Gather { .. }
        | Kind::Reduce(_)
        | Kind::Primitive(_) => true,
        // Each region has phis of its own; a region's results are as many as its values.
        Kind::Fetch
        | Kind::Scatter { .. }
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Region { .. }
        | Kind::Result { .. }
        | Kind::Data => false,
    }
}

fn same_number(a: &Variable, b: &Variable) -> bool {
    a.kind == b.kind
        && a.operands == b.operands
        && a.dtype == b.dtype
        && a.size == b.size
        && (a.cold.is_none() && b.cold.is_none()
            || a.operands_aside().eq(b.operands_aside()) && a.composite() == b.composite())
}

/// A hash of what makes variables equal; never 0.
fn number(variable: &Variable) -> u64 {
    let slot = |i: usize| variable.operands[i].map_or(0, |id| id.index() as u64 + 1);
    let mut hasher = Mix::default();
    variable.kind.hash(&mut hasher);
    hasher.write_u64(variable.size ^ (variable.dtype as u64) << 56);
    hasher.write_u64(slot(0) | slot(1) << 32);
    hasher.write_u64(slot(2) | slot(3) << 32);
    if let Some(cold) = &variable.cold {
        cold.operands().for_each(|id| hasher.write_u64(id.index() as u64));
        cold.composite.hash(&mut hasher);
    }
    hasher.finish().max(1)
}
