//! Values as HTML for notebooks: an array as a small table of what it is, with a grid of its lanes to unfold;
//! lists of maps as tables; everything else as its text.

use std::fmt::Write as _;

use porcini_core::Array;
use porcini_core::alloc::Bytes;
use rhai::Dynamic;

use crate::display::{self, Columns, PrintOptions, number};
use crate::fault::Result;
use crate::plot::Picture;
use crate::table::Table;
use crate::value::{ArrayRef, COMPONENT_NAMES, Kind};

/// Most lanes, or rows of a list, that are shown.
const MOST_LANES: u64 = 1000;
/// Lanes of a grid that is unfolded.
const FEW_LANES: u64 = 200;
/// Lanes of a plain array in one row of the grid.
const GRID: usize = 10;

/// A script value as HTML. Arrays are evaluated; at most [`MOST_LANES`] lanes are read back.
pub(crate) fn html(value: &Dynamic, options: PrintOptions) -> Result<String> {
    if let Some(picture) = value.read_lock::<Picture>() {
        return Ok(picture.svg());
    }
    match table(value, options)? {
        Some(table) => Ok(table),
        None => Ok(format!("<pre>{}</pre>", escaped(&display::text(value, options)?))),
    }
}

/// What is an array or a list of maps as a table.
pub(crate) fn table(value: &Dynamic, options: PrintOptions) -> Result<Option<String>> {
    let options = PrintOptions { edge: MOST_LANES / 2, threshold: MOST_LANES, ..options };
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return array_html(&array, options).map(Some);
    }
    let Some(list) = value.read_lock::<rhai::Array>() else { return Ok(None) };
    let table = Table::of(&list, options)?;
    Ok(table.map(|table| table_html(&table.columns, &table.rows, table.skipped)))
}

fn array_html(array: &ArrayRef, options: PrintOptions) -> Result<String> {
    let leaves = array.leaves();
    let lanes = array.lanes();
    // Before the grid below evaluates it.
    let state = state(&leaves);
    let bytes: u64 = leaves
        .iter()
        .filter(|leaf| leaf.literal().is_none())
        .map(|leaf| leaf.size().saturating_mul(leaf.dtype().bytes() as u64))
        .sum();
    let device = leaves.first().map_or_else(String::new, |leaf| leaf.session().device_name());
    let size = lanes.map_or_else(|| "ragged".into(), |lanes| lanes.to_string());
    let names = ["type", "size", "device", "memory", "state"].map(String::from);
    let facts = vec![array.type_name(), size, device, Bytes(bytes).to_string(), state.into()];
    let mut html = table_html(&names, &[facts], None);
    if let Some(lanes) = lanes {
        let grid = grid(array, lanes, options)?;
        let open = if lanes <= FEW_LANES { " open" } else { "" };
        let _ = write!(html, "<details{open}><summary>lanes</summary>{grid}</details>");
    }
    Ok(html)
}

pub(crate) fn state(leaves: &[Array]) -> &'static str {
    if leaves.iter().all(|leaf| leaf.literal().is_some()) {
        "literal"
    } else if leaves.iter().all(|leaf| leaf.is_evaluated() || leaf.literal().is_some()) {
        "evaluated"
    } else {
        "recorded"
    }
}

/// The lanes: of a vector a row each, of a plain array [`GRID`] in a row.
fn grid(array: &ArrayRef, lanes: u64, options: PrintOptions) -> Result<String> {
    let shown = Columns::new(array, lanes, options)?;
    // The lane number of each row that was read.
    let (n_skipped, at) = shown.skipped.unwrap_or((0, usize::MAX));
    let lane = |row: usize| row as u64 + if row < at { 0 } else { n_skipped };
    let cell = |column: usize, row: usize| number(shown.columns[column][row], options.digits);
    if array.components().is_some() {
        let (names, leaves): (Vec<String>, Vec<usize>) = parts(array, 0).into_iter().unzip();
        let columns: Vec<String> = std::iter::once("lane".into()).chain(names).collect();
        let row = |row: usize| {
            let cells = leaves.iter().map(|&column| cell(column, row));
            std::iter::once(lane(row).to_string()).chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = (0..shown.n_rows).map(row).collect();
        let skipped = shown.skipped.and_then(|(n, at)| Some((usize::try_from(n).ok()?, at)));
        return Ok(table_html(&columns, &rows, skipped));
    }
    let width = shown.n_rows.min(GRID);
    let columns: Vec<String> =
        std::iter::once("lane".into()).chain((0..width).map(|i| format!("+{i}"))).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut skipped = None;
    for row in 0..shown.n_rows {
        let starts_part = row == at;
        if starts_part {
            skipped = usize::try_from(n_skipped).ok().map(|n| (n, rows.len()));
        }
        let is_full = rows.last().is_none_or(|cells| cells.len() > GRID);
        if is_full || starts_part {
            rows.push(vec![lane(row).to_string()]);
        }
        if let Some(cells) = rows.last_mut() {
            cells.push(cell(0, row));
        }
    }
    Ok(table_html(&columns, &rows, skipped))
}

/// The leaves of a value, of which the first has this number: each with its name, `x.real`, entries of matrices
/// `[0, 1]` row by row.
fn parts(array: &ArrayRef, first: usize) -> Vec<(String, usize)> {
    let (Some(kind), Some(components)) = (array.kind(), array.components()) else {
        return vec![(String::new(), first)];
    };
    let distance = components.first().map_or(0, |component| component.leaves().len());
    let component = |i: usize| -> Vec<(String, usize)> {
        components.get(i).map_or_else(Vec::new, |part| parts(part, first + i * distance))
    };
    let n = components.len();
    if kind == Kind::Matrix {
        let columns: Vec<_> = (0..n).map(component).collect();
        // An entry may have parts itself.
        let entry = distance / n.max(1);
        let row = |i: usize| {
            let columns = columns.iter().enumerate();
            columns.flat_map(move |(j, column)| {
                let parts = column.iter().skip(i * entry).take(entry);
                parts.map(move |(name, leaf)| {
                    let rest = name.split_once('.').map_or("", |(_, rest)| rest);
                    (joined(&format!("[{i}, {j}]"), rest), *leaf)
                })
            })
        };
        return (0..n).flat_map(row).collect();
    }
    let name = |i: usize| match (kind, COMPONENT_NAMES.get(i)) {
        (Kind::Complex, _) => ["real", "imag"][i.min(1)].to_string(),
        (_, Some(name)) if n <= COMPONENT_NAMES.len() => (*name).to_string(),
        _ => i.to_string(),
    };
    let named = |i: usize| {
        component(i).into_iter().map(move |(rest, leaf)| (joined(&name(i), &rest), leaf))
    };
    (0..n).flat_map(named).collect()
}

/// The name of a part of a part.
fn joined(outer: &str, inner: &str) -> String {
    if inner.is_empty() { outer.into() } else { format!("{outer}.{inner}") }
}

/// A table with notes below it.
pub(crate) fn noted(table: &Table, notes: &str) -> String {
    let html = table_html(&table.columns, &table.rows, table.skipped);
    // Text is indented below its table; a page does that itself.
    let notes: Vec<&str> = notes.trim_matches('\n').lines().map(str::trim_start).collect();
    format!("{html}<pre style=\"margin-left: 0; padding: 0\">{}</pre>", escaped(&notes.join("\n")))
}

/// The first column of a grid holds names, like the header.
fn table_html(columns: &[String], rows: &[Vec<String>], skipped: Option<(usize, usize)>) -> String {
    let mut html = String::from("<table><tr>");
    for column in columns {
        let _ = write!(html, "<th>{}</th>", escaped(column));
    }
    html.push_str("</tr>");
    for (i, row) in rows.iter().enumerate() {
        if let Some((n, at)) = skipped
            && i == at
        {
            let _ =
                write!(html, "<tr><td colspan=\"{}\">.. {n} skipped ..</td></tr>", columns.len());
        }
        html.push_str("<tr>");
        for cell in row {
            let _ = write!(html, "<td>{}</td>", escaped(cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</table>");
    html
}

/// Text that HTML shows as it is.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}
