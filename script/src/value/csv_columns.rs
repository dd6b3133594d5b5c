//! Columns of comma-separated text: what type each has, its values, and the way back.
//!
//! A column is a mask (`true`, `false`), integers (unsigned where they need it), floats, or text if nothing else fits; a missing value
//! (nothing, `NA`, `N/A`, `null`) makes numbers floats and is nan.

use std::collections::{BTreeMap, HashSet};

use csv::{ErrorKind, Position, Reader, ReaderBuilder, StringRecord, Trim, Writer};
use porcini_core::memory::alloc::Bytes;

use crate::fault::{Result, check_interrupt, fault};

/// Fields between two looks at the interrupt flag.
const POLL: usize = 4096;
/// Fields that are written from one read of the arrays.
const PIECE: u64 = 1 << 20;
/// Most rows of them: arrays are read in pieces of that length.
const MOST_ROWS: u64 = 4096;
/// Bytes looked at between two looks at the interrupt flag.
const QUOTES_POLL: usize = 1 << 20;
/// Names of columns that an error lists.
const LISTED: usize = 20;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Mask,
    Int,
    UInt,
    Float,
    Text,
}

/// The values of a column.
#[derive(Debug, PartialEq)]
pub(crate) enum Column {
    Mask(Vec<bool>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    Text(Vec<String>),
}

/// How a text is laid out.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) separator: u8,
    /// Whether the first record has the names of the columns.
    pub(crate) header: bool,
    /// What columns must be, by name; the others are what their values say.
    pub(crate) kinds: BTreeMap<String, Kind>,
}

/// The columns of a text with their names. `check_room` says whether so many bytes of values may be made.
pub(crate) fn read(
    path: &str,
    bytes: &[u8],
    layout: &Layout,
    check_room: impl Fn(u64) -> Result<()>,
) -> Result<Vec<(String, Column)>> {
    let text = Text { path, bytes: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), layout };
    text.check_quotes()?;
    let names = text.names()?;
    let (kinds, n_rows) = text.kinds(&names)?;
    let bytes = kinds.iter().map(|kind| kind.bytes().saturating_mul(n_rows) as u64).sum();
    check_room(bytes)?;
    let columns = kinds.into_iter().map(|kind| Column::with_room(kind, n_rows));
    let mut columns = columns.collect::<Option<Vec<_>>>().ok_or_else(|| {
        fault(format!("read_csv: {path}: out of memory: the values take {}", Bytes(bytes)))
    })?;
    text.for_each_record(|record, position| {
        for (i, (column, field)) in columns.iter_mut().zip(record).enumerate() {
            if column.push(field).is_none() {
                let what = format!("\"{}\" is no {}", short(field), column.value_name());
                return Err(text.fault(position, Some((i, &names[i])), &what));
            }
        }
        Ok(())
    })?;
    Ok(names.into_iter().zip(columns).collect())
}

/// Records of fields as comma-separated text. A column gives a field for each row; pieces of some rows
/// are asked for one after the other.
pub(crate) fn write(
    path: &str,
    names: &[String],
    n_rows: u64,
    mut fields: impl FnMut(usize, std::ops::Range<u64>) -> Result<Vec<String>>,
) -> Result<Vec<u8>> {
    let failed = |error: csv::Error| fault(format!("write_csv: {path}: {error}"));
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(names).map_err(failed)?;
    let rows = (PIECE / (names.len() as u64).max(1)).clamp(1, MOST_ROWS);
    let mut start = 0;
    while start < n_rows {
        let end = n_rows.min(start + rows);
        let column = |i| check_interrupt().and_then(|()| fields(i, start..end));
        let columns = (0..names.len()).map(column).collect::<Result<Vec<_>>>()?;
        for row in 0..usize::try_from(end - start).unwrap_or(0) {
            let record = columns.iter().map(|column| column[row].as_str());
            writer.write_record(record).map_err(failed)?;
        }
        start = end;
    }
    writer.into_inner().map_err(|error| fault(format!("write_csv: {path}: {error}")))
}

struct Text<'a> {
    path: &'a str,
    bytes: &'a [u8],
    layout: &'a Layout,
}

impl Text<'_> {
    fn reader(&self) -> Reader<&[u8]> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(self.layout.separator).has_headers(self.layout.header).trim(Trim::All);
        builder.from_reader(self.bytes)
    }

    /// Refuses a quote that is never closed: all that follows would be one field.
    fn check_quotes(&self) -> Result<()> {
        let (mut line, mut open, mut starts) = (1, None, true);
        for piece in self.bytes.chunks(QUOTES_POLL) {
            check_interrupt()?;
            for &byte in piece {
                let ends = byte == self.layout.separator || matches!(byte, b'\n' | b'\r');
                (open, starts) = match (byte, open) {
                    // Two quotes in a field close it, and open it again.
                    (b'"', Some(_)) => (None, true),
                    (b'"', None) if starts => (Some(line), false),
                    (_, None) => (None, ends),
                    (_, open) => (open, false),
                };
                line += usize::from(byte == b'\n');
            }
        }
        match open {
            None => Ok(()),
            Some(line) => {
                let path = self.path;
                Err(fault(format!("read_csv: {path}:{line}: a quote that is never closed")))
            }
        }
    }

    fn names(&self) -> Result<Vec<String>> {
        let mut reader = self.reader();
        let first = if self.layout.header {
            reader.headers().cloned().map_err(|error| self.unreadable(&error))?
        } else {
            let mut record = StringRecord::new();
            reader.read_record(&mut record).map_err(|error| self.unreadable(&error))?;
            record
        };
        let mut names: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        for (i, field) in first.iter().enumerate() {
            let named = self.layout.header && !field.is_empty();
            let name = if named { field.to_string() } else { format!("c{i}") };
            if !known.insert(name.clone()) {
                let what = "the name stands for another column too";
                return Err(self.fault(None, Some((i, &name)), what));
            }
            names.push(name);
        }
        match self.layout.kinds.keys().find(|name| !known.contains(*name)) {
            None => Ok(names),
            Some(name) => {
                let (path, listed) = (self.path, listed(&names));
                Err(fault(format!("read_csv: {path}: no column `{name}` ({listed})")))
            }
        }
    }

    /// What each column is, and the number of rows; empty columns are floats.
    fn kinds(&self, names: &[String]) -> Result<(Vec<Kind>, usize)> {
        let mut seen = vec![Seen::default(); names.len()];
        let mut n_rows = 0;
        self.for_each_record(|record, _| {
            n_rows += 1;
            seen.iter_mut().zip(record).for_each(|(seen, field)| seen.look_at(field));
            Ok(())
        })?;
        let kind = |(name, seen): (&String, Seen)| {
            self.layout.kinds.get(name).copied().unwrap_or_else(|| seen.kind())
        };
        Ok((names.iter().zip(seen).map(kind).collect(), n_rows))
    }

    fn for_each_record(
        &self,
        mut work: impl FnMut(&StringRecord, Option<&Position>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.reader();
        let mut record = StringRecord::new();
        let mut since_poll = POLL;
        loop {
            if since_poll >= POLL {
                since_poll = 0;
                check_interrupt()?;
            }
            if !reader.read_record(&mut record).map_err(|error| self.unreadable(&error))? {
                break;
            }
            since_poll += record.len();
            work(&record, record.position())?;
        }
        Ok(())
    }

    fn unreadable(&self, error: &csv::Error) -> Box<rhai::EvalAltResult> {
        match error.kind() {
            ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let what =
                    format!("got {len} fields, expected {expected_len} as in the lines before");
                self.fault(pos.as_ref(), None, &what)
            }
            ErrorKind::Utf8 { pos, err } => {
                let column = Some((err.field(), &String::new()));
                self.fault(pos.as_ref(), column, "the text is not UTF-8")
            }
            _ => self.fault(error.position(), None, &error.to_string()),
        }
    }

    /// `read_csv: data.csv:3: column 2 (x): ..`
    fn fault(
        &self,
        position: Option<&Position>,
        column: Option<(usize, &String)>,
        what: &str,
    ) -> Box<rhai::EvalAltResult> {
        let line = position.map_or(1, Position::line);
        let column = match column {
            Some((i, name)) if name.is_empty() => format!("column {}: ", i + 1),
            Some((i, name)) => format!("column {} ({}): ", i + 1, short(name)),
            None => String::new(),
        };
        fault(format!("read_csv: {}:{line}: {column}{what}", self.path))
    }
}

/// The first names, and how many there are more.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let first: Vec<String> = names.iter().take(LISTED).map(|name| short(name)).collect();
    let first = first.join(", ");
    if more == 0 { first } else { format!("{first}, and {more} more") }
}

/// The start of a field, as errors show it.
fn short(field: &str) -> String {
    const LONGEST: usize = 40;
    match field.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &field[..end]),
        None => field.into(),
    }
}

fn is_missing(field: &str) -> bool {
    field.is_empty() || ["NA", "N/A", "null"].contains(&field)
}

/// What the fields of a column could all be read as.
#[derive(Clone, Copy)]
struct Seen {
    missing: bool,
    masks: bool,
    ints: bool,
    unsigned: bool,
    floats: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { missing: false, masks: true, ints: true, unsigned: true, floats: true }
    }
}

impl Seen {
    fn look_at(&mut self, field: &str) {
        if is_missing(field) {
            self.missing = true;
            return;
        }
        self.masks &= field.parse::<bool>().is_ok();
        self.ints &= self.ints && field.parse::<i64>().is_ok();
        self.unsigned &= self.unsigned && field.parse::<u64>().is_ok();
        self.floats &= self.floats && field.parse::<f64>().is_ok();
    }

    fn kind(self) -> Kind {
        match self {
            Self { ints: true, missing: false, masks: false, .. } => Kind::Int,
            Self { unsigned: true, missing: false, masks: false, .. } => Kind::UInt,
            Self { floats: true, .. } => Kind::Float,
            Self { masks: true, missing: false, .. } => Kind::Mask,
            _ => Kind::Text,
        }
    }
}

impl Kind {
    /// Bytes of a value.
    fn bytes(self) -> usize {
        match self {
            Self::Mask => size_of::<bool>(),
            Self::Int | Self::UInt | Self::Float => size_of::<u64>(),
            Self::Text => size_of::<String>(),
        }
    }
}

impl Column {
    /// A column for `n` values; `None` if there is no room.
    fn with_room(kind: Kind, n: usize) -> Option<Self> {
        fn room<T>(n: usize) -> Option<Vec<T>> {
            let mut values = Vec::new();
            values.try_reserve_exact(n).ok().map(|()| values)
        }
        Some(match kind {
            Kind::Mask => Self::Mask(room(n)?),
            Kind::Int => Self::Int(room(n)?),
            Kind::UInt => Self::UInt(room(n)?),
            Kind::Float => Self::Float(room(n)?),
            Kind::Text => Self::Text(room(n)?),
        })
    }

    /// Adds a field; `None` if it cannot be read as a value of the column.
    fn push(&mut self, field: &str) -> Option<()> {
        match self {
            Self::Mask(values) => values.push(field.parse().ok()?),
            Self::Int(values) => values.push(field.parse().ok()?),
            Self::UInt(values) => values.push(field.parse().ok()?),
            Self::Float(values) if is_missing(field) => values.push(f64::NAN),
            Self::Float(values) => values.push(field.parse().ok()?),
            Self::Text(values) => values.push(field.into()),
        }
        Some(())
    }

    fn value_name(&self) -> &'static str {
        match self {
            Self::Mask(_) => "true or false",
            Self::Int(_) => "integer",
            Self::UInt(_) => "integer from 0 up",
            Self::Float(_) => "number",
            Self::Text(_) => "text",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, Column)>> {
        let layout = Layout { separator: b',', header: true, kinds: BTreeMap::new() };
        read("t.csv", text.as_bytes(), &layout, |_| Ok(()))
    }

    fn columns(text: &str) -> Vec<(String, Column)> {
        parsed(text).unwrap()
    }

    #[test]
    fn quotes_must_be_closed() {
        for text in ["a,b\n1,2\n3,\"4\n", "a,b\n1,2\n\"x\"\"y,3\n4,5\n", "a\n\""] {
            assert!(parsed(text).is_err(), "{text}");
        }
        for text in ["a,b\n1,\"x \"\"y\"\"\"\n", "a\n5\"\n", "a,b\n5\"\" 3,\"\"\n", "a\n\"x\ny\"\n"]
        {
            parsed(text).unwrap();
        }
    }

    #[test]
    fn columns_are_what_their_values_say() {
        let table = columns("a,b,c,d\n1,2.5,true,x\n-2,1e3,false,\"y, z\"\n");
        let of = |name: &str| &table.iter().find(|(known, _)| known == name).unwrap().1;
        assert_eq!(*of("a"), Column::Int(vec![1, -2]));
        assert_eq!(*of("b"), Column::Float(vec![2.5, 1000.0]));
        assert_eq!(*of("c"), Column::Mask(vec![true, false]));
        assert_eq!(*of("d"), Column::Text(vec!["x".into(), "y, z".into()]));
    }

    #[test]
    fn missing_numbers_are_nan() {
        let table = columns("a,b\n1,\n,NA\n");
        let Column::Float(values) = &table[0].1 else { panic!("not floats") };
        assert!(values[0] == 1.0 && values[1].is_nan());
        assert!(matches!(&table[1].1, Column::Float(values) if values.iter().all(|x| x.is_nan())));
    }
}
