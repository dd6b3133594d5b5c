//! The error of memory that is full: what is used, of how much, and by which arrays.

use std::cmp::Reverse;

use crate::error::Error;
use crate::ir::table::Table;
use crate::ir::var::Variable;
use crate::memory::caching_allocator::{Bytes, Exhausted};

/// Arrays that are named.
const LARGEST_SHOWN: usize = 5;

pub(crate) fn out_of_memory(table: &Table, exhausted: Exhausted) -> Error {
    exhausted.told("", largest(table))
}

/// The same of what a device has refused, which knows no arrays.
pub(crate) fn refused(table: &Table, mut error: Error) -> Error {
    if let Error::OutOfMemory { largest: named, .. } = &mut error
        && named.is_empty()
    {
        *named = largest(table);
    }
    error
}

/// The arrays that take most, and what is to be done.
fn largest(table: &Table) -> String {
    // There is no memory for a list of all.
    let mut live: Vec<(u64, &Variable)> = Vec::with_capacity(LARGEST_SHOWN + 1);
    for (_, variable) in table.iter().filter(|(_, variable)| variable.data.is_some()) {
        let order = |&(bytes, other): &(u64, &Variable)| (Reverse(bytes), other.serial);
        let place = live.partition_point(|one| order(one) < order(&(variable.bytes(), variable)));
        if place < LARGEST_SHOWN {
            live.truncate(LARGEST_SHOWN - 1);
            live.insert(place, (variable.bytes(), variable));
        }
    }
    let name = |&(bytes, variable): &(u64, &Variable)| match variable.label() {
        Some(label) => format!("{label} {}", Bytes(bytes)),
        None => format!("r{} {}", variable.serial, Bytes(bytes)),
    };
    let names: Vec<String> = live.iter().map(name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; largest arrays: {} (free some with del)", names.join(", ")),
    }
}
