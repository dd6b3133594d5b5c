//! Rows of lists and of tables, which are maps of columns: those that a mask chooses, or that have given numbers.

use std::any::TypeId;
use std::cmp::Ordering;

use porcini_core::{Array, DType};
use rhai::{Dynamic, Map};

use super::catalogue::by_name;
use super::csv::{category_of, check_rows, number_of};
use super::registry::Registry;
use super::sorting::places;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};
use crate::value::{Arg, ArrayRef, OF_LIST, type_name};

/// Items that are looked up between two looks at Ctrl-C.
const AT_ONCE: usize = 4096;

pub(super) fn register(registry: &mut Registry<'_>) {
    let (list, table) = (TypeId::of::<rhai::Array>(), TypeId::of::<Map>());
    for op in ["compress", "gather"] {
        registry.typed(op, list, 2, move |context, call, args| {
            context.at(call);
            let index = chosen(op, args[1], n_rows(args[0]))?;
            rows(context, op, args[0], &index)
        });
        registry.typed(op, table, 2, move |context, call, args| {
            context.at(call);
            rows_of_table(context, op, args)
        });
    }
    registry.typed("argsort", list, 1, |context, _, args| {
        let list = args[0].read_lock::<rhai::Array>();
        let places =
            list.map_or_else(|| Ok(Vec::new()), |list| places("argsort", &list, Ordering::Less))?;
        let places = places.into_iter().map(|place| u32::try_from(place).unwrap_or(u32::MAX));
        context.session.array(&places.collect::<Vec<_>>()).map(ArrayRef::leaf).or_fault()
    });
    registry.doc_form(
        "compress",
        "(table, mask)",
        "The rows of a map of columns, or the items of a list.\n\n\
         >> t = #{name: [\"ann\", \"bob\", \"cid\"], age: UInt32C([31, 17, 25])}; compress(t, t.age >= 18)\n\
         #{age: [31, 25], name: [ann, cid]}",
    );
    registry.doc_form(
        "gather",
        "(table, index)",
        "The rows of a map of columns with these numbers, or the items of a list.\n\n\
         >> gather([\"ann\", \"bob\", \"cid\"], UInt32C([2, 0]))\n[cid, ann]",
    );
    registry.doc_form(
        "argsort",
        "(list)",
        "The places of a list's items in order.\n\n\
         >> t = #{name: [\"cid\", \"ann\"], age: UInt32C([25, 31])}; gather(t, argsort(t.name))\n\
         #{age: [31, 25], name: [ann, cid]}",
    );
}

/// Numbers of the rows that a function chooses of `n`.
fn chosen(op: &str, by: &Dynamic, n: u64) -> Result<ArrayRef> {
    let array = by.read_lock::<ArrayRef>().map(|array| array.array(op)).transpose()?;
    match (op, array) {
        ("compress", Some(mask)) if mask.dtype() == DType::Mask => {
            if mask.size() != n {
                let lanes = mask.size();
                return Err(fault(format!("{op}: got a mask of {lanes} lanes for {n} rows")));
            }
            mask.true_lanes().map(ArrayRef::leaf).or_fault()
        }
        ("gather", Some(index)) if index.dtype().is_int() => Ok(ArrayRef::leaf(index)),
        _ => {
            let got = type_name(by);
            let (expected, hint) = match op {
                "compress" => {
                    ("a mask", "compress(t, t.x > 1); by numbers: gather(t, UInt32C([0, 2]))")
                }
                _ => (
                    "an array of integers",
                    "gather(t, UInt32C([0, 2])); by a mask: compress(t, t.x > 1)",
                ),
            };
            Err(fault_with_hint(format!("{op}: got {got} second, expected {expected}"), hint))
        }
    }
}

/// Rows of every column; one of a single row stays.
fn rows_of_table(context: &Context, op: &str, args: &[&mut Dynamic]) -> Result<Map> {
    let Some(table) = args[0].read_lock::<Map>() else { return Ok(Map::new()) };
    let n = check_rows(table.iter().map(|(name, column)| (name.as_str(), n_rows(column))))?;
    let index = chosen(op, args[1], n)?;
    let mut chosen = Map::new();
    for (name, column) in &*table {
        let stays = n != 1 && n_rows(column) == 1;
        let rows = if stays { column.clone() } else { rows(context, op, column, &index)? };
        chosen.insert(name.clone(), rows);
    }
    let order = context.print.borrow().columns.clone();
    order.remember_table(order.of(&table).iter().map(|name| name.as_str()), &chosen);
    Ok(chosen)
}

fn n_rows(column: &Dynamic) -> u64 {
    if let Some(array) = column.read_lock::<ArrayRef>() {
        return array.leaves().iter().map(Array::size).max().unwrap_or(1);
    }
    match (category_of(column), column.read_lock::<rhai::Array>()) {
        (Some((_, codes)), _) => codes.size(),
        (None, Some(list)) => list.len() as u64,
        (None, None) => 1,
    }
}

/// Lanes of an array, items of a list, or rows of a category.
fn rows(context: &Context, op: &str, column: &Dynamic, index: &ArrayRef) -> Result<Dynamic> {
    if let Some(array) = column.read_lock::<ArrayRef>() {
        let args = [Arg::Value(array.clone()), Arg::Value(index.clone())];
        return by_name(context, "gather", &args);
    }
    let Some(list) = column.read_lock::<rhai::Array>() else { return Ok(column.clone()) };
    if category_of(column).is_some() {
        return Ok(vec![list[0].clone(), rows(context, op, &list[1], index)?].into());
    }
    let index = index.array(op)?;
    let bytes = index.size().saturating_mul(OF_LIST as u64);
    context.session.check_host_memory(bytes).or_fault()?;
    let mut items = rhai::Array::new();
    for first in (0..index.size()).step_by(AT_ONCE) {
        check_interrupt()?;
        let end = (first + AT_ONCE as u64).min(index.size());
        for number in index.read(first..end).or_fault()? {
            let item = number_of(number).and_then(|number| list.get(number));
            items.push(item.cloned().ok_or_else(|| {
                let n = list.len();
                fault(format!("{op}: index {number} is out of bounds for {n} items"))
            })?);
        }
    }
    Ok(items.into())
}
