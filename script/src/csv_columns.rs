//! Columns of comma-separated text: what type each has, its values, and the way back.
//!
//! A column is a mask (`true`, `false`), integers (unsigned where they need it), floats, or text if nothing else fits; a missing value
//! (nothing, `NA`, `N/A`, `null`) makes numbers floats and is nan.

use std::collections::BTreeMap;

use csv::{ErrorKind, Position, Reader, ReaderBuilder, StringRecord, Trim, Writer};
use porcini_core::interrupt;

use crate::fault::{Result, Stop, fault, stop};

/// Records between two looks at the interrupt flag.
const POLL: usize = 4096;

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

/// The columns of a text with their names.
pub(crate) fn read(path: &str, bytes: &[u8], layout: &Layout) -> Result<Vec<(String, Column)>> {
    let text = Text { path, bytes: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), layout };
    let names = text.names()?;
    let kinds = text.kinds(&names)?;
    let mut columns: Vec<Column> = kinds.into_iter().map(Column::new).collect();
    text.for_each_record(|record, position| {
        for (i, (column, field)) in columns.iter_mut().zip(record).enumerate() {
            if column.push(field).is_none() {
                let what = format!("\"{field}\" is no {}", column.value_name());
                return Err(text.fault(position, Some((i, &names[i])), &what));
            }
        }
        Ok(())
    })?;
    Ok(names.into_iter().zip(columns).collect())
}

/// Records of fields as comma-separated text. A column gives a field for each row; pieces of `piece` rows
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
    let mut start = 0;
    while start < n_rows {
        check_interrupt()?;
        let end = n_rows.min(start + POLL as u64);
        let columns =
            (0..names.len()).map(|i| fields(i, start..end)).collect::<Result<Vec<_>>>()?;
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
        for (i, field) in first.iter().enumerate() {
            let named = self.layout.header && !field.is_empty();
            let name = if named { field.to_string() } else { format!("c{i}") };
            if names.contains(&name) {
                let what = "the name stands for another column too";
                return Err(self.fault(None, Some((i, &name)), what));
            }
            names.push(name);
        }
        let known = |name: &&String| names.contains(name);
        match self.layout.kinds.keys().find(|name| !known(name)) {
            None => Ok(names),
            Some(name) => {
                let path = self.path;
                Err(fault(format!("read_csv: {path}: no column `{name}` ({})", names.join(", "))))
            }
        }
    }

    /// What each column is; empty columns are floats.
    fn kinds(&self, names: &[String]) -> Result<Vec<Kind>> {
        let mut seen = vec![Seen::default(); names.len()];
        self.for_each_record(|record, _| {
            seen.iter_mut().zip(record).for_each(|(seen, field)| seen.look_at(field));
            Ok(())
        })?;
        let kind = |(name, seen): (&String, Seen)| {
            self.layout.kinds.get(name).copied().unwrap_or_else(|| seen.kind())
        };
        Ok(names.iter().zip(seen).map(kind).collect())
    }

    fn for_each_record(
        &self,
        mut work: impl FnMut(&StringRecord, Option<&Position>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.reader();
        let mut record = StringRecord::new();
        for i in 0.. {
            if i % POLL == 0 {
                check_interrupt()?;
            }
            if !reader.read_record(&mut record).map_err(|error| self.unreadable(&error))? {
                break;
            }
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
            Some((i, name)) => format!("column {} ({name}): ", i + 1),
            None => String::new(),
        };
        fault(format!("read_csv: {}:{line}: {column}{what}", self.path))
    }
}

fn check_interrupt() -> Result<()> {
    if interrupt::is_requested() { Err(stop(Stop::Interrupt)) } else { Ok(()) }
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

impl Column {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Mask => Self::Mask(Vec::new()),
            Kind::Int => Self::Int(Vec::new()),
            Kind::UInt => Self::UInt(Vec::new()),
            Kind::Float => Self::Float(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
        }
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

    fn columns(text: &str) -> Vec<(String, Column)> {
        let layout = Layout { separator: b',', header: true, kinds: BTreeMap::new() };
        read("t.csv", text.as_bytes(), &layout).unwrap()
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
