//! Values as HTML for notebooks: an array as its lanes and a line of what it is, a tensor as a grid, or one for each
//! matrix in it; lists of maps, and maps of columns, as
//! tables; everything else as its text.

use porcini_core::tensor::Tensor;
use porcini_core::value::show::{Cells, Options, Shown};
use porcini_core::{Array, Value};
use rhai::Dynamic;

use crate::fault::{Fault, IntoFault, Result};
use crate::show::display;
use crate::show::markup::{PRE, write_escaped};
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;
use crate::show::table::Table;
use crate::show::writer::{MOST_BYTES, Writer, written};
use crate::value::{ArrayRef, Node, describe, size_memory_state};

/// Most lanes, or rows of a list, that are shown.
const MOST_ROWS: u64 = 1000;
/// Columns, rows and matrices of tensors that are shown at most, and how many at each end where there are more.
const COLUMNS: (u64, u64) = (20, 8);
const ROWS: (u64, u64) = (60, 10);
const SLICES: (u64, u64) = (12, 3);
/// Notebooks have styles for cells of tables, which break numbers.
const GRID_STYLE: &str =
    "<style>table.porcini-grid td { text-align: right; white-space: nowrap }</style>";
/// A line beside what matters.
const GREY: &str = "<div style=\"color: var(--jp-ui-font-color2, #767676); font-size: 85%\">";

/// A value as HTML, as notebooks show it: its lanes as text, a tensor as a grid, of what is long both ends, and a line of what
/// it is and where. Evaluates.
///
/// # Errors
/// What went wrong, as a text.
pub fn html_of(value: &Value) -> std::result::Result<String, String> {
    let value = Dynamic::from(ArrayRef::from(value.clone()));
    html(&value, &PrintOptions::default()).map_err(|error| Fault::of(&error).message)
}

/// A script value as HTML. Arrays are evaluated; at most [`MOST_ROWS`] lanes are read back.
pub(crate) fn html(value: &Dynamic, options: &PrintOptions) -> Result<String> {
    if let Some(picture) = value.read_lock::<Picture>() {
        return picture.svg();
    }
    if let Some(table) = table(value, options)? {
        return Ok(table);
    }
    let text = display::ends(value, options)?;
    written(options.most, |out| write_pre(out, &text))
}

/// What is an array or a list of maps: the values, or a table.
pub(crate) fn table(value: &Dynamic, options: &PrintOptions) -> Result<Option<String>> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        let about = describe(value);
        return written(options.most, |out| write_array(out, &array, &about, options)).map(Some);
    }
    let arrays =
        Options { edge: MOST_ROWS / 2, threshold: MOST_ROWS, words: true, ..options.arrays };
    let mut out = Writer::new(options.most);
    let options = PrintOptions { arrays, ..options.clone() };
    let table = if let Some(list) = value.read_lock::<rhai::Array>() {
        Table::of(&mut out, &list, &options)?
    } else if let Some(map) = value.read_lock::<rhai::Map>() {
        Table::of_columns(&mut out, &map, &options)?
    } else {
        None
    };
    let Some(table) = table else { return Ok(None) };
    write_table(&mut out, &table)?;
    out.finish().map(Some)
}

/// The lanes as a terminal shows them, those of nested values in columns; below them a line of what they are.
fn write_array(
    out: &mut Writer,
    array: &ArrayRef,
    about: &str,
    options: &PrintOptions,
) -> Result<()> {
    let shown = options.arrays;
    let arrays = Options {
        edge: shown.edge.min(MOST_ROWS / 2),
        threshold: shown.threshold.min(MOST_ROWS),
        words: true,
        ..shown
    };
    let options = PrintOptions { arrays, ..options.clone() };
    array.narrow()?;
    match grids_of(array) {
        Some(tensor) => write_grids(out, &tensor, &arrays)?,
        None => {
            let text = written(options.most, |out| display::write_array(out, array, &options))?;
            // Tensors are aligned already.
            write_pre(out, &if array.is_nested() { aligned(&text) } else { text })?;
        }
    }
    let device = array.leaves().first().map(|leaf| leaf.session().device_name());
    let [_, memory, state] = size_memory_state(array);
    out.put(GREY)?;
    let mut facts = vec![about, device.as_deref().unwrap_or_default(), &memory, &state];
    if array.leaves().iter().any(Array::is_faulty) {
        facts.push("an index was out of bounds where it was computed: lanes may be 0 for it");
    }
    write_escaped(out, &facts.join(", "))?;
    out.put("</div>")
}

/// The tensor that a value is, if it has few axes and something to show.
fn grids_of(array: &ArrayRef) -> Option<Tensor> {
    match &*array.node() {
        Node::Tensor(tensor)
            if (1..=3).contains(&tensor.shape().rank()) && tensor.shape().n_entries() > 0 =>
        {
            Some(tensor.clone())
        }
        _ => None,
    }
}

/// A row as a table, a matrix as its rows, and of three axes a matrix for each number on the first.
fn write_grids(out: &mut Writer, tensor: &Tensor, options: &Options) -> Result<()> {
    let rank = tensor.shape().rank();
    let ends = |axis: usize| match (rank - axis, rank) {
        (1, _) => COLUMNS,
        (2, 2) => ROWS,
        _ => SLICES,
    };
    let Cells { axes, entries } = tensor.cells(options, &ends).or_fault()?;
    out.put(GRID_STYLE)?;
    let [outer @ .., columns] = &axes[..] else { return Ok(()) };
    let one = Shown { n: 1, gap: None, extent: 1 };
    let rows = outer.last().unwrap_or(&one);
    let [slices, _] = outer else { return write_grid(out, [rows, columns], &entries) };
    for slice in slices.places() {
        let Some(slice) = slice else {
            out.put(GREY)?;
            out.put("...</div>")?;
            continue;
        };
        out.put(&format!("{GREY}[{}]</div>", slices.number(slice)))?;
        let n = rows.n * columns.n;
        write_grid(out, [rows, columns], &entries[slice * n..][..n])?;
    }
    Ok(())
}

/// Rows of entries; where some are left out dots stand in each column.
fn write_grid(out: &mut Writer, [rows, columns]: [&Shown; 2], entries: &[String]) -> Result<()> {
    out.put("<table class=\"porcini-grid\">")?;
    for row in rows.places() {
        let cell = |column: Option<usize>| match (row, column) {
            (Some(row), Some(column)) => entries[row * columns.n + column].clone(),
            _ => "...".into(),
        };
        write_row(out, "td", &columns.places().map(cell).collect::<Vec<_>>())?;
    }
    out.put("</table>")
}

/// Rows whose numbers stand below each other, to the right of their brackets.
fn aligned(text: &str) -> String {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(", ").collect()).collect();
    let is_row = |row: &[&str]| !row[0].contains(" skipped ..");
    let mut widths = vec![0; rows.iter().map(Vec::len).max().unwrap_or(0)];
    for row in rows.iter().filter(|row| is_row(row)) {
        let lengths = row.iter().map(|cell| cell.chars().count());
        widths.iter_mut().zip(lengths).for_each(|(width, length)| *width = length.max(*width));
    }
    let line = |row: &Vec<&str>| {
        if !is_row(row) {
            return row.join(", ");
        }
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let number = cell.trim_start_matches([' ', '[']);
            let brackets = &cell[..cell.len() - number.len()];
            let width = width - brackets.len();
            format!("{brackets}{number:>width$}")
        });
        cells.collect::<Vec<_>>().join(", ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Text as it is.
fn write_pre(out: &mut Writer, text: &str) -> Result<()> {
    out.put(PRE)?;
    write_escaped(out, text)?;
    out.put("</pre>")
}

/// A table with notes below it.
pub(crate) fn noted(table: &Table, notes: &str) -> Result<String> {
    // Text is indented below its table; a page does that itself.
    let notes: Vec<&str> = notes.trim_matches('\n').lines().map(str::trim_start).collect();
    written(MOST_BYTES, |out| {
        write_table(out, table)?;
        write_pre(out, &notes.join("\n"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_grids() {
        let rows = Shown { n: 2, gap: Some(1), extent: 9 };
        let columns = Shown { n: 2, gap: None, extent: 2 };
        let entries = ["1 + 2i", "10", "-20", "3"].map(String::from);
        let grid = written(1000, |out| write_grid(out, [&rows, &columns], &entries)).unwrap();
        assert_eq!(
            grid,
            "<table class=\"porcini-grid\"><tr><td>1 + 2i</td><td>10</td></tr>\
             <tr><td>...</td><td>...</td></tr><tr><td>-20</td><td>3</td></tr></table>"
        );
        assert_eq!((rows.number(0), rows.number(1)), (0, 8));
    }

    #[test]
    fn numbers_stand_below_each_other() {
        for (text, want) in [
            ("[[1, 10],\n [-20, 3]]", "[[  1, 10],\n [-20,  3]]"),
            ("[[1, 2],\n .. 96 skipped ..,\n [99, 2]]", "[[ 1, 2],\n .. 96 skipped ..,\n [99, 2]]"),
            ("[1 + 0i,\n -1 - 10i]", "[  1 + 0i,\n -1 - 10i]"),
            (
                "[[[1, 2], [3, 4]],\n [[10, 2], [3, -4]]]",
                "[[[ 1, 2], [3,  4]],\n [[10, 2], [3, -4]]]",
            ),
            ("[]", "[]"),
            ("[ragged array]", "[ragged array]"),
        ] {
            assert_eq!(aligned(text), want);
        }
    }
}
