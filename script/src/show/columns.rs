//! In which order the columns of tables stand. Maps forget the order of their keys; who writes one remembers it here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rhai::{AST, ASTNode, Expr, Identifier, Map};

/// Keys as they were written last, by the same keys in the order of the alphabet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns(Rc<RefCell<HashMap<Vec<Identifier>, Vec<Identifier>>>>);

impl Columns {
    /// Remembers the order of keys.
    pub(crate) fn remember<'k>(&self, keys: impl IntoIterator<Item = &'k str>) {
        let keys: Vec<Identifier> = keys.into_iter().map(Into::into).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        self.0.borrow_mut().insert(sorted, keys);
    }

    /// Remembers the order of the keys in all maps that a text writes.
    pub(crate) fn remember_written(&self, text: &AST) {
        text.walk(&mut |path: &[ASTNode<'_>]| {
            if let Some(ASTNode::Expr(Expr::Map(map, _))) = path.last() {
                self.remember(map.0.iter().map(|(key, _)| key.name.as_str()));
            }
            true
        });
    }

    /// The keys of a map in order.
    pub(crate) fn of(&self, map: &Map) -> Vec<Identifier> {
        let sorted: Vec<Identifier> = map.keys().cloned().collect();
        self.0.borrow().get(&sorted).cloned().unwrap_or(sorted)
    }
}
