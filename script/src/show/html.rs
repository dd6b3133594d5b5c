//! Values as HTML for notebooks: an array as a small table of what it is, with a grid of its lanes to unfold;
//! lists of maps as tables; everything else as its text.

use porcini_core::alloc::Bytes;
use rhai::Dynamic;

use crate::fault::Result;
use crate::show::arrays::Lanes;
use crate::show::display;
use crate::show::markup::write_escaped;
use crate::show::numbers::number;
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;
use crate::show::table::Table;
use crate::show::writer::{MOST_BYTES, Writer, written};
use crate::value::{ArrayRef, COMPONENT_NAMES, Form, state};

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
    let options = PrintOptions { edge: MOST_LANES / 2, threshold: MOST_LANES, ..options };
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
    let leaves = array.leaves();
    let lanes = array.lanes();
    // Before the grid below evaluates it.
    let state = state(&leaves);
    let bytes: u64 = leaves
        .iter()
        .filter(|leaf| leaf.literal().is_none())
        .map(|leaf| leaf.size().saturating_mul(leaf.dtype().bytes() as u64))
        .fold(0, u64::saturating_add);
    let device = leaves.first().map_or_else(String::new, |leaf| leaf.session().device_name());
    let size = lanes.map_or_else(|| "ragged".into(), |lanes| lanes.to_string());
    let facts = vec![array.type_name(), size, device, Bytes(bytes).to_string(), state.into()];
    let columns = ["type", "size", "device", "memory", "state"].map(String::from).into();
    write_table(out, &Table { columns, rows: vec![facts], skipped: None })?;
    let Some(lanes) = lanes else { return Ok(()) };
    let open = if lanes <= FEW_LANES { " open" } else { "" };
    out.put(&format!("<details{open}><summary>lanes</summary>"))?;
    write_table(out, &grid(array, lanes, options)?)?;
    out.put("</details>")
}

/// The lanes: of a vector a row each, of a plain array [`GRID`] in a row. The first column is the lane's number.
fn grid(array: &ArrayRef, lanes: u64, options: PrintOptions) -> Result<Table> {
    let shown = Lanes::new(array, lanes, options)?;
    let is_nested = array.components().is_some();
    let (names, leaves): (Vec<String>, Vec<usize>) = parts(array, 0).into_iter().unzip();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut skipped = None;
    for part in &shown.parts {
        if part.start > 0 && !part.is_empty() {
            skipped = usize::try_from(shown.skipped()).ok().map(|n| (n, rows.len()));
        }
        shown.in_blocks(part.clone(), |block, columns| {
            for lane in block.clone() {
                let row = usize::try_from(lane - block.start).unwrap_or(usize::MAX);
                let is_full = rows.last().is_none_or(|cells| cells.len() > GRID);
                if is_nested || is_full || lane == part.start {
                    rows.push(vec![lane.to_string()]);
                }
                let cells = leaves.iter().map(|&leaf| number(columns[leaf][row], options.digits));
                rows.last_mut().into_iter().for_each(|last| last.extend(cells.clone()));
            }
            Ok(())
        })?;
    }
    let width = usize::try_from(lanes).unwrap_or(GRID).min(GRID);
    let names = if is_nested { names } else { (0..width).map(|i| format!("+{i}")).collect() };
    let columns = std::iter::once("lane".into()).chain(names).collect();
    Ok(Table { columns, rows, skipped })
}

/// The leaves of a value, of which the first has this number: each with its name, `x.real`, entries of matrices
/// `[0, 1]` row by row.
fn parts(array: &ArrayRef, first: usize) -> Vec<(String, usize)> {
    let form = array.form();
    let Some(components) = array.components() else {
        return vec![(String::new(), first)];
    };
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
    let name = |i: usize| match (form, COMPONENT_NAMES.get(i)) {
        (Form::Complex, _) => ["real", "imag"][i.min(1)].to_string(),
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
