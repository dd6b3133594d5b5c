//! The cells that were read last: colours, Enter, Tab and the loop ask for the same text one after another.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_core::interrupt;
use porcini_script::Cell;

/// Cells that are kept: one as it is edited, one without its gutters.
const MOST: usize = 2;

/// What was read last.
#[derive(Clone, Default)]
pub(crate) struct CellCache(Rc<RefCell<Vec<Rc<Cell>>>>);

impl CellCache {
    /// The same of what is typed. A Ctrl-C that is heard when the last cell has been answered asks nothing of this one.
    pub(crate) fn of_typed(&self, text: &str) -> Rc<Cell> {
        let read = || {
            interrupt::clear();
            self.of(text)
        };
        Some(read()).filter(|cell| !cell.is_cut()).unwrap_or_else(read)
    }

    /// A text as a cell, read once.
    pub(crate) fn of(&self, text: &str) -> Rc<Cell> {
        let mut read = self.0.borrow_mut();
        if let Some(cell) = read.iter().find(|cell| cell.text() == text) {
            return cell.clone();
        }
        let cell = Rc::new(Cell::typed(text));
        // What Ctrl-C has cut off is read again.
        if !cell.is_cut() {
            read.truncate(MOST - 1);
            read.insert(0, cell.clone());
        }
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once() {
        let cell_cache = CellCache::default();
        let [a, b] = ["a", "b"].map(|text| cell_cache.of(text));
        assert!(Rc::ptr_eq(&cell_cache.of("a"), &a) && Rc::ptr_eq(&cell_cache.of("b"), &b));
        cell_cache.of("c");
        assert!(!Rc::ptr_eq(&cell_cache.of("a"), &a));
    }
}
