//! What operations of engines take, and what they give: values that no later write of a script changes, with results of
//! other operations in lists and maps.

use std::borrow::Cow;
use std::mem;

use rhai::{Dynamic, Map};

use crate::value::ArrayRef;

/// Stands in a list or map for what an operation will give.
#[derive(Clone)]
struct Place;

/// A list or map with places in it: what belongs there are the inputs that follow it.
#[derive(Clone)]
struct Parts {
    value: Dynamic,
    n: usize,
}

/// A value with arrays of its own, in lists and maps too: no later write is seen in it, and no write to it elsewhere.
pub(super) fn own(value: Dynamic) -> Dynamic {
    let mut value = value.flatten();
    if let Some(array) = value.read_lock::<ArrayRef>().map(|array| array.copy()) {
        return Dynamic::from(array);
    }
    for_each_item(&mut value, &mut |item| *item = own(mem::take(item)));
    value
}

/// Changes what a list or map holds; other values hold nothing.
pub(super) fn for_each_item(value: &mut Dynamic, change: &mut dyn FnMut(&mut Dynamic)) {
    if let Some(mut list) = value.write_lock::<rhai::Array>() {
        list.iter_mut().for_each(&mut *change);
    }
    if let Some(mut map) = value.write_lock::<Map>() {
        map.values_mut().for_each(change);
    }
}

/// Whether a value is a `T`, or one is in its lists and maps.
pub(super) fn holds<T: Clone + 'static>(value: &Dynamic) -> bool {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().any(holds::<T>);
    }
    if let Some(map) = value.read_lock::<Map>() {
        return map.values().any(holds::<T>);
    }
    value.read_lock::<T>().is_some()
}

/// Adds the `T`s that a value is, or that its lists and maps hold.
pub(super) fn add_all<T: Clone + 'static>(value: &Dynamic, to: &mut Vec<T>) {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().for_each(|item| add_all(item, to));
    }
    if let Some(map) = value.read_lock::<Map>() {
        return map.values().for_each(|item| add_all(item, to));
    }
    to.extend(value.read_lock::<T>().map(|thing| thing.clone()));
}

/// Takes each `T` out of a value of its own and leaves a place there.
pub(super) fn take_out<T: Clone + 'static>(value: &mut Dynamic, found: &mut Vec<T>) {
    let thing = value.read_lock::<T>().map(|thing| thing.clone());
    match thing {
        Some(thing) => {
            found.push(thing);
            *value = Dynamic::from(Place);
        }
        None => for_each_item(value, &mut |item| take_out(item, found)),
    }
}

/// Puts values into the places, in the order in which [`take_out`] left them.
pub(super) fn put_in(value: &mut Dynamic, given: &mut dyn Iterator<Item = Dynamic>) {
    if value.is::<Place>() {
        *value = given.next().unwrap_or_default();
    } else {
        for_each_item(value, &mut |item| put_in(item, given));
    }
}

/// A value with so many places as an input, behind which come those that belong there.
pub(super) fn in_parts(value: Dynamic, n: usize) -> Dynamic {
    if n == 0 { value } else { Dynamic::from(Parts { value, n }) }
}

/// The inputs as an operation takes them.
pub(super) fn assembled(inputs: &[Dynamic]) -> Cow<'_, [Dynamic]> {
    if !inputs.iter().any(|input| input.is::<Parts>()) {
        return inputs.into();
    }
    let mut rest = inputs.iter().cloned();
    let mut whole = Vec::new();
    while let Some(input) = rest.next() {
        let parts = input.read_lock::<Parts>().map(|parts| parts.clone());
        whole.push(match parts {
            Some(Parts { mut value, n }) => {
                put_in(&mut value, &mut rest.by_ref().take(n));
                value
            }
            None => input,
        });
    }
    whole.into()
}

/// The same with arrays of their own, which the operation may write.
pub(super) fn lent(inputs: &[Dynamic]) -> Vec<Dynamic> {
    assembled(inputs).into_owned().into_iter().map(own).collect()
}
