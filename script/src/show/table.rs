//! Tables: what `whos` draws, and lists of maps with the same keys, such as `kernel_history()` gives.

use std::ops::Range;

use comfy_table::{LineStyle, TableStyle};
use porcini_core::{Array, Scalar};
use rhai::{Dynamic, DynamicReadLock};

use crate::fault::{IntoFault, Result};
use crate::show::display;
use crate::show::print_options::PrintOptions;
use crate::show::visible::{in_line, visible};
use crate::show::writer::Writer;
use crate::value::{ArrayRef, dynamic};

/// Rows of a list that are shown at most, and bytes of their texts: a table is laid out in one go.
const MOST_ROWS: usize = 10_000;
const MOST_BYTES: usize = 4 << 20;

/// Rows at each end of a map of columns.
const COLUMN_EDGE: usize = 5;

/// Blanks before a table, and behind each column.
const MARGIN: usize = 2;

/// Texts in rows and columns.
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Number of rows left out, and before which row.
    pub(crate) skipped: Option<(usize, usize)>,
}

impl Table {
    /// A list of maps that have the same keys, as a table to be written to `out`; `None` for other lists. Of a long
    /// list the rows at both ends.
    pub(crate) fn of(
        out: &mut Writer,
        list: &[Dynamic],
        options: &PrintOptions,
    ) -> Result<Option<Self>> {
        let Some(first) = list.first().and_then(|item| item.read_lock::<rhai::Map>()) else {
            return Ok(None);
        };
        let columns = options.columns.of(&first);
        let fits = |item: &Dynamic| {
            item.read_lock::<rhai::Map>().is_some_and(|map| map.keys().eq(first.keys()))
        };
        if columns.is_empty() {
            return Ok(None);
        }
        for item in list {
            out.look()?;
            if !fits(item) {
                return Ok(None);
            }
        }
        let edge = usize::try_from(options.arrays.edge).unwrap_or(usize::MAX).min(MOST_ROWS / 2);
        let threshold = options.arrays.threshold.min(MOST_ROWS as u64);
        let long = list.len() as u64 > threshold && list.len() / 2 > edge;
        let (head, tail) = if long { (edge, list.len() - edge) } else { (list.len(), list.len()) };
        let mut rows = Vec::new();
        for item in list[..head].iter().chain(&list[tail..]) {
            let Some(map) = item.read_lock::<rhai::Map>() else { continue };
            rows.push(columns.iter().filter_map(|key| map.get(key)).cloned().collect());
        }
        let rows = texts(out, rows, options)?;
        let columns = columns.iter().map(|name| in_line(name).into()).collect();
        Ok(Some(Self { columns, rows, skipped: long.then_some((tail - head, head)) }))
    }

    /// A map of arrays and lists of one length, as `read_csv` gives it, to be written to `out`: some rows at both ends;
    /// `None` for other maps.
    pub(crate) fn of_columns(
        out: &mut Writer,
        map: &rhai::Map,
        options: &PrintOptions,
    ) -> Result<Option<Self>> {
        let names = options.columns.of(map);
        let column = |name| Column::of(map.get::<str>(AsRef::as_ref(name))?);
        let columns: Option<Vec<Column<'_>>> = names.iter().map(column).collect();
        let Some(columns) = columns.filter(|columns| columns.len() > 1) else { return Ok(None) };
        let n = columns[0].len();
        let has_array = columns.iter().any(|column| !matches!(column, Column::List(_)));
        if !has_array || n < 2 || columns.iter().any(|column| column.len() != n) {
            return Ok(None);
        }
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let long = n > 4 * COLUMN_EDGE;
        let (head, tail) = if long { (COLUMN_EDGE, n - COLUMN_EDGE) } else { (n, n) };
        let mut rows = vec![Vec::new(); head + n - tail];
        for column in &columns {
            let cells = column.cells(0..head)?.into_iter().chain(column.cells(tail..n)?);
            rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
        let rows = texts(out, rows, options)?;
        let columns = names.iter().map(|name| in_line(name).into()).collect();
        Ok(Some(Self { columns, rows, skipped: long.then_some((tail - head, head)) }))
    }

    /// A table of `n` rows; of very many those at both ends.
    pub(crate) fn long(columns: Vec<String>, n: usize, row: impl Fn(usize) -> Vec<String>) -> Self {
        let edge = MOST_ROWS / 2;
        let is_long = n > MOST_ROWS;
        let (head, tail) = if is_long { (edge, n - edge) } else { (n, n) };
        let rows = (0..head).chain(tail..n).map(row).collect();
        Self { columns, rows, skipped: is_long.then_some((tail - head, head)) }
    }

    /// The table in a window of so many columns: those named in `less` go, one after the other, until it fits.
    pub(crate) fn fitted(mut self, window: Option<usize>, less: &[&str]) -> String {
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let mut text = self.text();
        for name in less {
            let Some(at) = self.columns.iter().position(|column| column == name) else { continue };
            if window.is_none_or(|window| widest(&text) <= window) {
                break;
            }
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            text = self.text();
        }
        text
    }

    /// The table in a window of so many columns: as many columns as it has room for, and below them the others.
    pub(crate) fn folded(&self, window: usize) -> String {
        let widest = |i: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(i)).chain([&self.columns[i]]);
            let lines = cells.flat_map(|cell| cell.lines());
            lines.map(|line| line.chars().count()).max().unwrap_or(0)
        };
        let (mut parts, mut first, mut used) = (Vec::new(), 0, MARGIN);
        for i in 0..self.columns.len() {
            // Blanks stand behind it, and one before the next.
            let width = widest(i) + MARGIN + 1;
            if i > first && used + width > window {
                parts.push(first..i);
                (first, used) = (i, MARGIN);
            }
            used += width;
        }
        parts.push(first..self.columns.len());
        let part = |part: Range<usize>| {
            let rows = self.rows.iter().map(|row| row[part.clone()].to_vec()).collect();
            Self { columns: self.columns[part].to_vec(), rows, skipped: self.skipped }.text()
        };
        parts.into_iter().map(part).collect::<Vec<_>>().join("\n\n")
    }

    /// The table as Enoki draws that of `whos`.
    pub(crate) fn text(&self) -> String {
        let ruler = LineStyle::none().fill('=').junction('=');
        let mut table = comfy_table::Table::new();
        table.load_style(TableStyle::new().header_separator(ruler).bottom_border(ruler));
        table.set_header(&self.columns);
        for (i, row) in self.rows.iter().enumerate() {
            if let Some((n, at)) = self.skipped
                && i == at
            {
                table.add_row([format!(".. {n} skipped ..")]);
            }
            table.add_row(row);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines: Vec<String> =
            table.lines().map(|line| format!("  {line}").trim_end().to_string()).collect();
        lines.join("\n").trim_end().into()
    }
}

/// The texts of cells.
fn texts(
    out: &Writer,
    rows: Vec<Vec<Dynamic>>,
    options: &PrintOptions,
) -> Result<Vec<Vec<String>>> {
    let mut left = out.left().min(MOST_BYTES);
    let own_digits = options.own_digits.or(Some(options.arrays.digits));
    let mut text = |cell: Dynamic| {
        let options = PrintOptions { own_digits, most: left, window: None, ..options.clone() };
        let text = display::text(&cell, &options)?;
        left -= text.len();
        Ok(visible(&text).into_owned())
    };
    rows.into_iter().map(|row| row.into_iter().map(&mut text).collect()).collect()
}

/// A column of a map.
enum Column<'a> {
    Array(Array),
    List(DynamicReadLock<'a, rhai::Array>),
    /// Names, and for each row the number of its name.
    Category(Dynamic, Array),
}

impl<'a> Column<'a> {
    fn of(value: &'a Dynamic) -> Option<Self> {
        let leaf = |value: &Dynamic| value.read_lock::<ArrayRef>()?.array("table").ok();
        if let Some(array) = leaf(value) {
            return Some(Self::Array(array));
        }
        let list = value.read_lock::<rhai::Array>()?;
        match &list[..] {
            [names, codes]
                if names.is_array() && leaf(codes).is_some_and(|codes| codes.dtype().is_int()) =>
            {
                leaf(codes).map(|codes| Self::Category(names.clone(), codes))
            }
            _ => Some(Self::List(list)),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Array(array) | Self::Category(_, array) => array.size(),
            Self::List(list) => list.len() as u64,
        }
    }

    /// The values of some rows.
    fn cells(&self, rows: Range<usize>) -> Result<Vec<Dynamic>> {
        let lanes = |array: &Array| array.read(rows.start as u64..rows.end as u64).or_fault();
        Ok(match self {
            Self::Array(array) => lanes(array)?.into_iter().map(dynamic).collect(),
            Self::List(list) => list[rows].to_vec(),
            Self::Category(names, codes) => {
                let names = names.read_lock::<rhai::Array>();
                let name = |code: Scalar| {
                    let place = match code {
                        Scalar::Int(code) => usize::try_from(code).ok()?,
                        Scalar::UInt(code) => usize::try_from(code).ok()?,
                        Scalar::Bool(_) | Scalar::Float(_) => return None,
                    };
                    names.as_ref()?.get(place).cloned()
                };
                let named = |code| name(code).unwrap_or_else(|| dynamic(code));
                lanes(codes)?.into_iter().map(named).collect()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_until_the_table_fits() {
        let table = |window| {
            let columns = ["ID", "Memory", "Label"].map(String::from).into();
            let rows = vec![vec!["10".into(), "3.8147 MiB".into(), "speed".into()]];
            Table { columns, rows, skipped: None }.fitted(window, &["Memory", "Label"])
        };
        let first = |text: String| text.lines().next().unwrap_or_default().to_string();
        assert_eq!(first(table(None)), "  ID   Memory       Label");
        assert_eq!(first(table(Some(80))), "  ID   Memory       Label");
        assert_eq!(first(table(Some(20))), "  ID   Label");
        assert_eq!(first(table(Some(3))), "  ID");
    }
}
