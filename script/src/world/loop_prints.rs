//! How often the body of a loop prints: run step by step, it may do so in every round.

use std::cell::Cell;
use std::rc::Rc;

use crate::world::host::Host;

/// Lines that the bodies of one loop or branch show.
const MOST: u64 = 1000;

/// The lines printed by the outermost loop or branch that runs.
#[derive(Default)]
pub(crate) struct Prints {
    depth: Cell<usize>,
    n: Cell<u64>,
}

impl Prints {
    /// Whether one more line is shown.
    pub(crate) fn count(&self) -> bool {
        if self.depth.get() == 0 {
            return true;
        }
        self.n.set(self.n.get() + 1);
        self.n.get() <= MOST
    }

    /// A loop or branch begins; at its end is said how many lines were left out.
    pub(crate) fn begin<'p>(&'p self, host: &'p Rc<dyn Host>) -> Bodies<'p> {
        self.depth.set(self.depth.get() + 1);
        Bodies { prints: self, host }
    }
}

/// The bodies of a loop or branch, until it ends.
pub(crate) struct Bodies<'p> {
    prints: &'p Prints,
    host: &'p Rc<dyn Host>,
}

impl Drop for Bodies<'_> {
    fn drop(&mut self) {
        let Prints { depth, n } = self.prints;
        depth.set(depth.get() - 1);
        if depth.get() == 0 {
            let left_out = n.take().saturating_sub(MOST);
            if left_out > 0 {
                self.host.print(&format!(".. {left_out} more lines are not shown .."));
            }
        }
    }
}
