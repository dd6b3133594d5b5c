//! Values as HTML for notebooks: an array as a small table of what it is, with a grid of its lanes to unfold;
//! lists of maps as tables; everything else as its text.

use porcini_core::value::show::{Lanes, Options};
use porcini_core::value::{Argument, Form};
use rhai::Dynamic;

use crate::fault::{IntoFault, Result};
use crate::show::display;
use crate::show::markup::write_escaped;
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;
use crate::show::table::Table;
use crate::show::writer::{MOST_BYTES, Writer, written};
use crate::value::{ArrayRef, size_memory_state};

/// Most lanes, or rows of a list, that are shown.
const MOST_LANES: u64 = 1000;
/// Lanes of a grid that is unfolded.
const FEW_LANES: u64 = 200;
/// Lanes of a plain array in one row of the grid.
const GRID: usize = 10;

/// A script value as HTML. Arrays are evaluated; at most [`MOST_LANES`] lanes are read back.
pub(crate) fn html(value: &Dynamic, options: PrintOptions) -> Result<String> {
    if let Some(picture) = value.read_lock::<Picture>() {
        return picture.svg();
    }
    if let Some(table) = table(value, options)? {
        return Ok(table);
    }
    let text = display::text(value, options)?;
    written(options.most, |out| {
        out.put("<pre>")?;
        write_escaped(out, &text)?;
        out.put("</pre>")
    })
}

/// What is an array or a list of maps as a table.
pub(crate) fn table(value: &Dynamic, options: PrintOptions) -> Result<Option<String>> {
    let digits = options.arrays.digits;
    let arrays = Options { digits, edge: MOST_LANES / 2, threshold: MOST_LANES };
    let options = PrintOptions { arrays, ..options };
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return written(options.most, |out| write_array(out, &array, options)).map(Some);
    }
    let Some(list) = value.read_lock::<rhai::Array>() else { return Ok(None) };
    let mut out = Writer::new(options.most);
    let Some(table) = Table::of(&mut out, &list, options)? else { return Ok(None) };
    write_table(&mut out, &table)?;
    out.finish().map(Some)
}

fn write_array(out: &mut Writer, array: &ArrayRef, options: PrintOptions) -> Result<()> {
    let device =
        array.leaves().first().map_or_else(String::new, |leaf| leaf.session().device_name());
    // Before the grid below evaluates it.
    let [size, memory, state] = size_memory_state(array);
    let facts = vec![array.type_name(), size, device, memory, state];
    let columns = ["type", "size", "device", "memory", "state"].map(String::from).into();
    write_table(out, &Table { columns, rows: vec![facts], skipped: None })?;
    let Some(lanes) = array.lanes() else { return Ok(()) };
    let open = if lanes <= FEW_LANES { " open" } else { "" };
    out.put(&format!("<details{open}><summary>lanes</summary>"))?;
    let grid = array.lend(|value| grid(value, lanes, &options.arrays)).or_fault()?;
    grid.map_or(Ok(()), |grid| write_table(out, &grid))?;
    out.put("</details>")
}

/// The lanes: of a vector a row each, of a plain array [`GRID`] in a row. The first column is the lane's number.
fn grid(value: &Argument<'_>, n: u64, options: &Options) -> porcini_core::Result<Option<Table>> {
    let Some(shown) = Lanes::new(value, options)? else { return Ok(None) };
    let is_nested = value.form() != Form::Scalar;
    let (names, leaves): (Vec<String>, Vec<usize>) = parts(value, 0).into_iter().unzip();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut skipped = None;
    for block in shown.blocks() {
        let block = block?;
        if block.skipped > 0 {
            skipped = usize::try_from(block.skipped).ok().map(|n| (n, rows.len()));
        }
        for lane in block.lanes.clone() {
            let is_full = rows.last().is_none_or(|cells| cells.len() > GRID);
            let is_first = block.skipped > 0 && lane == block.lanes.start;
            if is_nested || is_full || is_first {
                rows.push(vec![lane.to_string()]);
            }
            let cells = leaves.iter().map(|&leaf| block.text(leaf, lane, options.digits));
            rows.last_mut().into_iter().for_each(|last| last.extend(cells.clone()));
        }
    }
    let width = usize::try_from(n).unwrap_or(GRID).min(GRID);
    let names = if is_nested { names } else { (0..width).map(|i| format!("+{i}")).collect() };
    let columns = std::iter::once("lane".into()).chain(names).collect();
    Ok(Some(Table { columns, rows, skipped }))
}

/// The leaves of a value, of which the first has this number: each with its name, `x.real`, entries of matrices
/// `[0, 1]` row by row.
fn parts(value: &Argument<'_>, first: usize) -> Vec<(String, usize)> {
    let (form, components) = (value.form(), value.components());
    if form == Form::Scalar {
        return vec![(String::new(), first)];
    }
    let distance = components.first().map_or(0, |component| component.leaves().len());
    let component = |i: usize| -> Vec<(String, usize)> {
        components.get(i).map_or_else(Vec::new, |part| parts(part, first + i * distance))
    };
    let n = components.len();
    if let Form::Matrix(_) = form {
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
    let names = form.component_names();
    let name = |i: usize| match names.get(i) {
        Some(name) if names.len() == n => (*name).to_string(),
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
pub(crate) fn noted(table: &Table, notes: &str) -> Result<String> {
    // Text is indented below its table; a page does that itself.
    let notes: Vec<&str> = notes.trim_matches('\n').lines().map(str::trim_start).collect();
    written(MOST_BYTES, |out| {
        write_table(out, table)?;
        out.put("<pre style=\"margin-left: 0; padding: 0\">")?;
        write_escaped(out, &notes.join("\n"))?;
        out.put("</pre>")
    })
}

fn write_table(out: &mut Writer, table: &Table) -> Result<()> {
    let columns = &table.columns;
    out.put("<table>")?;
    write_row(out, "th", columns)?;
    for (i, row) in table.rows.iter().enumerate() {
        if let Some((n, at)) = table.skipped
            && i == at
        {
            let n_columns = columns.len();
            out.put(&format!("<tr><td colspan=\"{n_columns}\">.. {n} skipped ..</td></tr>"))?;
        }
        write_row(out, "td", row)?;
    }
    out.put("</table>")
}

fn write_row(out: &mut Writer, element: &str, cells: &[String]) -> Result<()> {
    out.put("<tr>")?;
    for cell in cells {
        out.put(&format!("<{element}>"))?;
        write_escaped(out, cell)?;
        out.put(&format!("</{element}>"))?;
    }
    out.put("</tr>")
}
