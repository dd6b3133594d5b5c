//! Rows by key: `group_by`.

use porcini_core::array::Groups;
use porcini_core::{Array, DType};
use rhai::{Dynamic, Map};

use super::columns::{array, encode};
use super::csv::category_of;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::{ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    let text = "The groups of lanes that have the same key: a map of columns with key, count, sum, mean, min and max of x \
        in each group. The keys are an array, a list of texts or a category; they are evaluated, and stand in order. (table, \
        name, word): A map of columns, grouped by one of them: sum, mean, min or max of each other column of numbers, or \
        their count. Missing numbers, nan, make sum and mean of their group nan; min and max pass over them, and count counts them; the \
        words \"nansum\" and \"nanmean\" pass over them, too.\n\n\
        >> let g = group_by([\"b\", \"a\", \"b\"], FloatC([1, 2, 3])); print(g.key); print(g.sum)\n[a, b]\n[2, 4]\n\
        >> group_by(#{city: [\"b\", \"a\", \"b\"], age: FloatC([10, 20, 30])}, \"city\", \"mean\").age\n[20, 20]\n\
        >> group_by(#{city: [\"b\", \"a\", \"b\"], age: FloatC([10, 20, nan])}, \"city\", \"nanmean\").age\n[20, 10]";
    registry.doc("group_by", "group_by(keys, x)", text);
    registry.any("group_by", 2, |context, call, args| {
        context.at(call);
        let keyed = Keyed::of(context, args[0])?;
        let x = array("group_by", args[1])?;
        let mut columns = Map::new();
        columns.insert("key".into(), keyed.keys.clone());
        for word in Groups::WORDS {
            columns.insert(word.into(), keyed.column(word, &x)?);
        }
        context.print.borrow().columns.remember(["key"].into_iter().chain(Groups::WORDS));
        Ok(Dynamic::from(columns))
    });
    registry.any("group_by", 3, |context, call, args| {
        context.at(call);
        let texts = [1, 2].map(|i| (*args[i]).clone().into_immutable_string());
        let (Some(table), [Ok(name), Ok(word)]) = (args[0].read_lock::<Map>(), texts) else {
            return Err(fault_with_hint(
                format!(
                    "group_by: got ({}, {}, {}), expected (table, name, word)",
                    type_name(args[0]),
                    type_name(args[1]),
                    type_name(args[2])
                ),
                "group_by(t, \"city\", \"mean\")",
            ));
        };
        by_column(context, &table, &name, &word)
    });
}

/// Lanes with the same key.
struct Keyed {
    keys: Dynamic,
    groups: Groups,
}

impl Keyed {
    fn of(context: &Context, keys: &Dynamic) -> Result<Self> {
        let encoded =
            if category_of(keys).is_some() { keys.clone() } else { encode(context, keys)? };
        let known = || fault(format!("group_by: got {} as keys", type_name(keys)));
        let pair = encoded.into_array().map_err(|_| known())?;
        let [keys, numbers] = &pair[..] else { return Err(known()) };
        let n = match keys.read_lock::<rhai::Array>() {
            Some(names) => u64::try_from(names.len()).unwrap_or(u64::MAX),
            None => array("group_by", keys)?.size(),
        };
        let groups = Groups::new(array("group_by", numbers)?, n);
        Ok(Self { keys: keys.clone(), groups })
    }

    /// What a word tells of the lanes of each group.
    fn column(&self, word: &str, x: &Array) -> Result<Dynamic> {
        self.groups.told(word, x).map(|column| Dynamic::from(ArrayRef::leaf(column))).or_fault()
    }
}

fn by_column(context: &Context, table: &Map, name: &str, word: &str) -> Result<Dynamic> {
    let Some(keys) = table.get(name) else {
        let names: Vec<&str> = table.keys().map(|name| name.as_str()).collect();
        return Err(fault_with_hint(
            format!("group_by: no column \"{name}\""),
            format!("there are {}", names.join(", ")),
        ));
    };
    let keyed = Keyed::of(context, keys)?;
    let order = context.print.borrow().columns.clone();
    let mut columns = Map::new();
    for other in order.of(table) {
        let column = table.get(&other).and_then(|column| column.read_lock::<ArrayRef>());
        let column = if other == name {
            keyed.keys.clone()
        } else {
            match column {
                Some(column) if !column.is_nested() && column.dtype() != DType::Mask => {
                    keyed.column(word, &column.array("group_by")?)?
                }
                _ => continue,
            }
        };
        columns.insert(other, column);
    }
    if word == "count" {
        columns.retain(|other, _| other == name);
        let counts = keyed.groups.counts().or_fault()?;
        columns.insert("count".into(), Dynamic::from(ArrayRef::leaf(counts)));
        order.remember([name, "count"]);
    }
    Ok(columns.into())
}
