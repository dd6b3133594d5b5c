//! Sorting lists in place, by their items' own order or by that of a function, and turning them around. They are the value, too:
//! `hsum(sort(list))` reads like that of an array.
//!
//! A list stays as it is if its items have no order, and a function that is none is an error: the sorts of Rust's
//! library may panic then, and those of Rhai take no notice of what a function fails with.

use std::cmp::Ordering;

use rhai::{Array, Dynamic, FnPtr, NativeCallContext};

use super::likeness::plainly_equal;
use super::registry::Registry;
use crate::fault::{Result, check_interrupt, fault, fault_with_hint};
use crate::value::type_name;

type Call<'a> = NativeCallContext<'a>;

pub(super) fn register(registry: &mut Registry<'_>) {
    let engine = &mut *registry.engine;
    for name in ["sort", "sort_by"] {
        engine.register_fn(name, move |call: Call<'_>, list: &mut Array, order: FnPtr| {
            sort_by(name, &call, list, &order).map(|()| list.clone())
        });
    }
    for name in ["order", "order_by"] {
        engine.register_fn(name, move |call: Call<'_>, list: &mut Array, order: FnPtr| {
            let mut list = list.clone();
            sort_by(name, &call, &mut list, &order).map(|()| list)
        });
    }
    for (name, first) in [("sort", Ordering::Less), ("sort_desc", Ordering::Greater)] {
        engine.register_fn(name, move |list: &mut Array| {
            sort(name, list, first).map(|()| list.clone())
        });
    }
    for (name, first) in [("order", Ordering::Less), ("order_desc", Ordering::Greater)] {
        engine.register_fn(name, move |list: &mut Array| {
            let mut list = list.clone();
            sort(name, &mut list, first).map(|()| list)
        });
    }
    engine.register_fn("reverse", |list: &mut Array| {
        list.reverse();
        list.clone()
    });
    engine.register_fn("reduce", |call: Call<'_>, list: &mut Array, f: FnPtr| -> Result<Dynamic> {
        let mut items = list.iter().cloned().enumerate();
        let Some((_, mut sum)) = items.next() else {
            let why = "reduce: an empty list has no first element";
            return Err(fault_with_hint(why, "give it a first value: list.reduce(f, 0)"));
        };
        for (i, item) in items {
            let i = i64::try_from(i).unwrap_or(i64::MAX).into();
            sum = f.call_raw_with_extra_args("reduce", &call, None, [sum, item], [i], None)?;
        }
        Ok(sum)
    });
    engine.register_fn("dedup", |call: Call<'_>, list: &mut Array| {
        // What cannot be compared is not the same.
        dedup(list, |a, b| {
            let same = plainly_equal(&a, &b);
            Ok(same.unwrap_or_else(|| call.call_native_fn("==", (a, b)).unwrap_or(false)))
        })
    });
    engine.register_fn("dedup", |call: Call<'_>, list: &mut Array, same: FnPtr| {
        dedup(list, |a, b| {
            let said: Dynamic = same.call_within_context(&call, (a, b))?;
            Ok(said.as_bool().unwrap_or(false))
        })
    });
    for (name, stays) in [("drain", false), ("retain", true)] {
        engine.register_fn(name, move |call: Call<'_>, list: &mut Array, chooses: FnPtr| {
            taken(name, &call, list, &chooses, stays)
        });
    }
}

/// Takes out the items that a function chooses, or those that it does not where the chosen stay. Rhai's own move all
/// behind each that goes.
fn taken(
    op: &str,
    call: &Call<'_>,
    list: &mut Array,
    chooses: &FnPtr,
    chosen_stay: bool,
) -> Result<Array> {
    let mut stays = Vec::with_capacity(list.len());
    for (i, item) in list.iter_mut().enumerate() {
        check_interrupt()?;
        let i = [i64::try_from(i).unwrap_or(i64::MAX).into()];
        let said = chooses.call_raw_with_extra_args(op, call, Some(item), [], i, Some(0))?;
        stays.push(said.as_bool().unwrap_or(false) == chosen_stay);
    }
    let mut stays = stays.into_iter();
    let all = std::mem::take(list).into_iter();
    let (kept, taken) = all.partition(|_| stays.next().unwrap_or(true));
    *list = kept;
    Ok(taken)
}

fn sort_by(op: &str, call: &Call<'_>, list: &mut Array, order: &FnPtr) -> Result<()> {
    let before = |a: &Dynamic, b: &Dynamic| is_before(op, call, order, a, b);
    let places = sorted(list, before)?;
    check_order(op, list, &places, before)?;
    arrange(list, places);
    Ok(())
}

fn sort(op: &str, list: &mut Array, first: Ordering) -> Result<()> {
    let places = places(op, list, first)?;
    arrange(list, places);
    Ok(())
}

/// The places of items in their own order, `first` what the first is beside the next.
pub(super) fn places(op: &str, list: &[Dynamic], first: Ordering) -> Result<Vec<usize>> {
    // NaN comes last either way, as in arrays.
    let is_nan = |item: &Dynamic| item.as_float().is_ok_and(f64::is_nan);
    sorted(list, |a, b| {
        let comes_first = own_order(op, a, b)? == first;
        Ok(!is_nan(a) && (comes_first || is_nan(b)))
    })
}

/// Removes the items that are the same as the last one that stays.
fn dedup(list: &mut Array, same: impl Fn(Dynamic, Dynamic) -> Result<bool>) -> Result<()> {
    let mut last = 0;
    let mut stays = vec![true; list.len()];
    for i in 1..list.len() {
        check_interrupt()?;
        stays[i] = !same(list[last].clone(), list[i].clone())?;
        last = if stays[i] { i } else { last };
    }
    let mut stays = stays.into_iter();
    list.retain(|_| stays.next().unwrap_or(true));
    Ok(())
}

/// What a function says of two items: a bool, whether `a` comes before `b`, or a number below 0 if it does.
fn is_before(op: &str, call: &Call<'_>, order: &FnPtr, a: &Dynamic, b: &Dynamic) -> Result<bool> {
    let said: Dynamic = order.call_within_context(call, (a.clone(), b.clone()))?;
    let number = said.as_int().map(|number| number < 0).or_else(|_| said.as_bool());
    number.or_else(|_| said.as_float().map(|number| number < 0.0)).map_err(|_| {
        let got = type_name(&said);
        fault_with_hint(
            format!("{op}: the function gives {got}, expected a bool or a number"),
            "write list.sort(|a, b| a < b)",
        )
    })
}

/// Numbers by size, texts and characters by their letters, false before true.
fn own_order(op: &str, a: &Dynamic, b: &Dynamic) -> Result<Ordering> {
    if a.type_id() != b.type_id() {
        let (a, b) = (type_name(a), type_name(b));
        return Err(fault(format!("{op}: got {a} and {b}, expected items of one type")));
    }
    if let (Ok(a), Ok(b)) = (a.as_int(), b.as_int()) {
        return Ok(a.cmp(&b));
    }
    if let (Ok(a), Ok(b)) = (a.as_float(), b.as_float()) {
        return Ok(a.partial_cmp(&b).unwrap_or(Ordering::Equal));
    }
    if let (Ok(a), Ok(b)) = (a.as_immutable_string_ref(), b.as_immutable_string_ref()) {
        return Ok(a.as_str().cmp(b.as_str()));
    }
    if let (Ok(a), Ok(b)) = (a.as_char(), b.as_char()) {
        return Ok(a.cmp(&b));
    }
    if let (Ok(a), Ok(b)) = (a.as_bool(), b.as_bool()) {
        return Ok(a.cmp(&b));
    }
    Err(fault_with_hint(
        format!("{op}: got a list of items such as {}, expected numbers or texts", type_name(a)),
        format!("{op} by a function that compares two items: list.sort(|a, b| a.x < b.x)"),
    ))
}

/// The places of the items in order, by merging ever longer runs; items that are equal keep their order.
fn sorted(
    list: &[Dynamic],
    before: impl Fn(&Dynamic, &Dynamic) -> Result<bool>,
) -> Result<Vec<usize>> {
    let mut places: Vec<usize> = (0..list.len()).collect();
    let mut length = 1;
    while length < list.len() {
        let mut merged = Vec::with_capacity(list.len());
        for runs in places.chunks(2 * length) {
            let (mut left, mut right) = runs.split_at(length.min(runs.len()));
            while let ([a, ..], [b, ..]) = (left, right) {
                check_interrupt()?;
                let next = if before(&list[*b], &list[*a])? { &mut right } else { &mut left };
                merged.push(next[0]);
                *next = &next[1..];
            }
            merged.extend(left);
            merged.extend(right);
        }
        places = merged;
        length *= 2;
    }
    Ok(places)
}

/// What an order sorted, it finds in order.
fn check_order(
    op: &str,
    list: &[Dynamic],
    places: &[usize],
    before: impl Fn(&Dynamic, &Dynamic) -> Result<bool>,
) -> Result<()> {
    for pair in places.windows(2) {
        let (a, b) = (&list[pair[0]], &list[pair[1]]);
        if before(b, a)? && !before(a, b)? {
            return Err(fault_with_hint(
                format!("{op}: the function is no order: what it sorted, it finds out of order"),
                "it must say the same of the same two items each time, and a < b < c must mean a < c",
            ));
        }
    }
    Ok(())
}

fn arrange(list: &mut Array, places: Vec<usize>) {
    let mut items: Vec<Dynamic> = std::mem::take(list);
    *list = places.into_iter().map(|place| std::mem::take(&mut items[place])).collect();
}
