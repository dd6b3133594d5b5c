//! What `whos` shows: `whos()` the variables that are recorded, `%whos` those that the script has.

use std::fmt::Write as _;

use porcini_core::inspect::Whos;
use porcini_core::memory::caching_allocator::Bytes;
use rhai::{Dynamic, Scope};

use crate::show::table::Table;
use crate::show::visible::in_line;
use crate::value::names::Named;
use crate::value::outputs::LAST;
use crate::value::{ArrayRef, describe, size_memory_state, type_name};

/// Columns that go in a narrow window, one after the other: names, sizes and labels matter more.
pub(crate) const LESS: [&str; 6] = ["E/I Refs", "State", "Parts", "Memory", "Type", "Ready"];

/// The table of `whos` as Enoki draws it, with a first column of names if there are any.
pub(crate) fn recorded(whos: &Whos, names: Option<&[Option<&Named>]>) -> Table {
    let has_parts = whos.has_parts();
    let row = |i: usize| {
        let (row, named) = (&whos.rows[i], names.and_then(|names| names[i]));
        let shape = named.and_then(|named| named.shape.clone());
        let cells = [
            row.id.to_string(),
            row.dtype.name().into(),
            format!("{} / {}", row.external, row.internal),
            shape.unwrap_or_else(|| row.size.to_string()),
            Bytes(row.bytes).to_string(),
            match (row.ready, row.running, row.faulty) {
                _ if row.lost => "[-]".into(),
                (true, true, _) => "[>]".into(),
                (true, false, true) => "[!]".into(),
                (true, false, false) => "[x]".into(),
                (false, ..) => "[ ]".into(),
            },
            in_line(row.label.as_deref().unwrap_or_default()).into(),
        ];
        let name = named.map_or_else(String::new, |named| {
            let names = [std::slice::from_ref(&named.name), &named.others[..]].concat();
            names.into_iter().rev().collect::<Vec<_>>().join(", ")
        });
        let parts = has_parts.then(|| row.spread());
        names.map(|_| name).into_iter().chain(cells).chain(parts).collect()
    };
    let columns = ["ID", "Type", "E/I Refs", "Size", "Memory", "Ready", "Label"];
    let columns = names.map(|_| "Name").into_iter().chain(columns);
    let columns = columns.chain(has_parts.then_some("Parts")).map(Into::into).collect();
    Table::long(columns, whos.rows.len(), row)
}

/// The table of the script's variables: names, and how large what they hold is.
pub(crate) fn held(scope: &Scope<'_>) -> Table {
    let row = |(name, _, value): (&str, bool, &Dynamic)| {
        let array = value.read_lock::<ArrayRef>();
        let [size, memory, state] = match &array {
            Some(array) => size_memory_state(array),
            None => {
                [describe(value).replacen(&type_name(value), "", 1), String::new(), String::new()]
            }
        };
        vec![name.to_string(), type_name(value), size.trim().into(), memory, state]
    };
    let columns = ["Name", "Type", "Size", "Memory", "State"].map(String::from).into();
    let variables = scope.iter_raw().filter(|(name, ..)| *name != LAST);
    let mut rows: Vec<Vec<String>> = variables.map(row).collect();
    rows.sort();
    Table { columns, rows, skipped: None }
}

/// What stands below the table of recorded variables: how many it leaves out, and what a sign says.
pub(crate) fn notes(whos: &Whos, has_names: bool) -> String {
    let mut notes = String::new();
    if whos.n_hidden > 0 {
        let (n, without) = (whos.n_hidden, if has_names { " without a name" } else { "" });
        let _ = write!(notes, "\n  .. {n} more{without}, whos(#{{all: true}}) lists them ..");
    }
    if whos.rows.iter().any(|row| row.faulty) {
        notes.push_str(
            "\n  [!] an index was out of bounds where this was computed: lanes may be 0 for it",
        );
    }
    if whos.rows.iter().any(|row| row.lost) {
        notes.push_str("\n  [-] was in the memory of a device that failed: to be computed anew");
    }
    notes
}

/// Enoki's footer, with lines for device, cache and allocator.
pub(crate) fn footer(whos: &Whos) -> String {
    let (ready, scheduled) = (whos.ready, whos.scheduled);
    format!(
        "\n  Memory usage (ready)     : {}\n  Memory usage (scheduled) : {} + {} = {}\n  \
         Memory savings           : {}\n\n  Device    : {}\n  Kernels   : {} compiled\n  \
         Allocator : {} used, {} kept, {} at most, limit {}",
        Bytes(ready),
        Bytes(ready),
        Bytes(scheduled),
        Bytes(ready + scheduled),
        Bytes(whos.savings),
        whos.device,
        whos.n_kernels,
        Bytes(whos.memory.used),
        Bytes(whos.memory.cached),
        Bytes(whos.memory.peak),
        Bytes(whos.memory.limit),
    )
}
