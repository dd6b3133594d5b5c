//! In which order the columns of tables stand. Maps forget the order of their keys; who writes one remembers it here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rhai::{AST, ASTNode, Dynamic, Expr, Identifier, ImmutableString, Map};

use crate::value::{ArrayRef, Known};

/// Tables of the same keys that are known.
const MOST_TABLES: usize = 256;

/// Those of them whose arrays are gone: their texts may be part of other tables.
const MOST_GONE: usize = 16;

/// Keys as they were written, the newest last, by the same keys in the order of the alphabet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns(Rc<RefCell<HashMap<Vec<Identifier>, Vec<Order>>>>);

/// An order of keys.
#[derive(Debug)]
struct Order {
    keys: Vec<Identifier>,
    /// The columns of the table that has it, by name; empty where it is that of a text.
    of: Vec<(Identifier, Column)>,
}

impl Order {
    /// Whether it is that of a table which had arrays, and none of them is any more.
    fn is_gone(&self) -> bool {
        let is_lanes = |column: &Column| matches!(column, Column::Lanes(_));
        let mut arrays = self.of.iter().map(|(_, column)| column).filter(|column| is_lanes(column));
        arrays.next().is_some_and(|first| !first.is_alive() && !arrays.any(Column::is_alive))
    }
}

/// By what a column is known again.
#[derive(Debug)]
enum Column {
    Lanes(Known),
    /// The first of its texts.
    Text(ImmutableString),
}

impl Columns {
    /// Remembers the order of keys.
    pub(crate) fn remember<'k>(&self, keys: impl IntoIterator<Item = &'k str>) {
        self.add(keys, Vec::new());
    }

    /// Remembers the order of the keys of a table, which is known by its columns.
    pub(crate) fn remember_table<'k>(&self, keys: impl IntoIterator<Item = &'k str>, table: &Map) {
        let known = |(name, value): (&Identifier, &Dynamic)| {
            Column::of(value).map(|column| (name.clone(), column))
        };
        self.add(keys, table.iter().filter_map(known).collect());
    }

    fn add<'k>(&self, keys: impl IntoIterator<Item = &'k str>, of: Vec<(Identifier, Column)>) {
        let keys: Vec<Identifier> = keys.into_iter().map(Into::into).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let mut known = self.0.borrow_mut();
        let orders = known.entry(sorted).or_default();
        // Of texts the last one counts, and tables that are gone are written no more.
        orders.retain(|order| match of.is_empty() {
            true => !order.of.is_empty(),
            false => order.of.is_empty() || order.of.iter().any(|(_, column)| column.is_alive()),
        });
        let n_gone = orders.iter().filter(|order| order.is_gone()).count();
        if n_gone == MOST_GONE || orders.len() == MOST_TABLES {
            orders.remove(orders.iter().position(Order::is_gone).unwrap_or(0));
        }
        orders.push(Order { keys, of });
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

    /// The keys of a map in order: that of the table which has one of its columns, or of a text that was written since.
    pub(crate) fn of(&self, map: &Map) -> Vec<Identifier> {
        let sorted: Vec<Identifier> = map.keys().cloned().collect();
        let known = self.0.borrow();
        let Some(orders) = known.get(&sorted) else { return sorted };
        let has = |(name, column): &(Identifier, Column)| {
            map.get(name).is_some_and(|value| column.is(value))
        };
        let is_own = |order: &&Order| order.of.is_empty() || order.of.iter().any(has);
        let order = orders.iter().rev().find(is_own).or(orders.last());
        order.map_or(sorted, |order| order.keys.clone())
    }
}

impl Column {
    fn of(value: &Dynamic) -> Option<Self> {
        if let Some(array) = value.read_lock::<ArrayRef>() {
            return Some(Self::Lanes(array.known()));
        }
        let list = value.read_lock::<rhai::Array>()?;
        // The numbers of a category stand behind its names.
        let array = list.last()?.read_lock::<ArrayRef>().map(|array| array.known());
        let text = || list.first()?.as_immutable_string_ref().ok().map(|text| text.clone());
        array.map(Self::Lanes).or_else(|| text().map(Self::Text))
    }

    /// Whether a value is this very column.
    fn is(&self, value: &Dynamic) -> bool {
        match (self, Self::of(value)) {
            (Self::Lanes(own), Some(Self::Lanes(other))) => own.ptr_eq(&other),
            (Self::Text(own), Some(Self::Text(other))) => own.ptr_eq(&other),
            _ => false,
        }
    }

    fn is_alive(&self) -> bool {
        match self {
            Self::Lanes(lanes) => lanes.strong_count() > 0,
            Self::Text(_) => true,
        }
    }
}
