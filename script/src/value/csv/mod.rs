//! Columns of comma-separated text: what type each has, its values, and the way back.
//!
//! A column is a mask (`true`, `false`), integers (unsigned where they need it), floats, or text if nothing else fits; a
//! missing value (nothing, `NA`, `null` ..) makes numbers floats and is nan, unless masks of missing values are asked for.
//!
//! The text is cut into pieces between records, which threads read side by side. What a column is, its first records
//! suggest; if a later field disagrees, all that stands in the column is looked at, and the text is read once more.

mod column;
mod pieces;
mod texts;
mod write;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use csv::{ByteRecord, Reader, ReaderBuilder};
use memchr::memchr3;
use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::{DType, interrupt};

use crate::fault::{Result, Stop, check_interrupt, fault, stop};
use crate::side_by_side::side_by_side;
use crate::value::polled::Polled;
use column::{Builder, Seen};
pub(crate) use column::{Column, Values, Whole};
use pieces::{Piece, Uncut};
pub(crate) use texts::Texts;
pub(crate) use write::write;

/// Fields between two looks at the interrupt flag, and that room is made for at once.
const POLL: usize = 1 << 14;
/// Records that say what a column seems to be.
const SAMPLE: usize = 1000;
/// Fields that say it, of a text of many columns.
const SAMPLED: usize = 1 << 20;
/// Columns of a text at most, and what each takes besides its values: its name, its lanes' array, a variable.
const MOST_COLUMNS: usize = 1 << 20;
const COLUMN: u64 = 1 << 10;
/// Bytes of a column's name at most.
const LONGEST_NAME: usize = 1 << 20;
/// Names of columns that an error lists.
const LISTED: usize = 20;
/// What stands for a missing value.
const MISSING: [&str; 8] = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "None"];

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Lanes(DType),
    Text,
    /// Texts of which there are few: names, and the number of its name for each row.
    Category,
    /// Seconds since 1970.
    Date,
}

/// How a text is laid out.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) separator: u8,
    /// Whether the first record has the names of the columns.
    pub(crate) header: bool,
    /// What columns must be, by name; the others are what their values say.
    pub(crate) kinds: BTreeMap<String, Kind>,
    /// Further texts for a missing value.
    pub(crate) missing: Vec<String>,
    /// Whether columns have masks of their missing values, and keep their types in spite of these.
    pub(crate) masks: bool,
}

impl Layout {
    fn is_missing(&self, field: &str) -> bool {
        MISSING.contains(&field) || self.is_marked(field)
    }

    /// Whether a field is one of the texts that were asked for.
    fn is_marked(&self, field: &str) -> bool {
        self.missing.iter().any(|text| text == field)
    }
}

/// The columns of a text with their names, read by so many threads. `check_room` says whether so many bytes of values may
/// be made.
pub(crate) fn read(
    path: &str,
    bytes: &[u8],
    layout: &Layout,
    threads: usize,
    check_room: impl Fn(u64) -> Result<()>,
) -> Result<Vec<(String, Column)>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = Text { path, bytes, layout, names: Vec::new() };
    let (n_columns, length) = text.first_record()?;
    check_room(n_columns as u64 * COLUMN + length as u64)?;
    let body = text.read_names()?;
    let cut = pieces::cut(bytes, layout.separator, body, n_columns);
    let mut pieces = cut.map_err(|uncut| text.uncut(&uncut))?;
    let counted = side_by_side(threads, pieces.iter_mut(), |piece| {
        piece.lines = pieces::count_filled(&bytes[piece.range.clone()]) + 1;
        piece.copied = piece.measure_copy(bytes, layout.separator)?;
        if interrupt::is_requested() { Err(Uncut::Interrupted) } else { Ok(()) }
    });
    counted.map_err(|uncut| text.uncut(&uncut))?;
    check_room(pieces.iter().map(|piece| piece.copied).max().unwrap_or(0))?;
    let n_rows = pieces.iter().map(|piece| piece.lines as u64).sum::<u64>();
    let mut kinds = text.guess(pieces.first());
    let parts = loop {
        // The values of all pieces are there until they are joined.
        let row: u64 = kinds.iter().map(|kind| 2 * kind.bytes()).sum();
        check_room(n_rows.saturating_mul(row))?;
        let parts = text.parts(&pieces, &kinds, threads)?;
        let found = text.found(&parts, &kinds);
        if found == kinds {
            break parts;
        }
        kinds = found;
    };
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut columns = Vec::new();
    for name in text.names {
        check_interrupt()?;
        let pieces: Vec<Builder<'_>> = parts.iter_mut().filter_map(Iterator::next).collect();
        let column = Column::join(pieces).ok_or_else(|| out_of_memory(path, n_rows))?;
        columns.push((name, column));
    }
    Ok(columns)
}

fn out_of_memory(path: &str, n_rows: u64) -> Box<rhai::EvalAltResult> {
    let bytes = Bytes(n_rows.saturating_mul(8));
    fault(format!("read_csv: {path}: out of memory: a column takes {bytes}"))
}

/// What comes of reading a piece.
type Read<T> = std::result::Result<T, Trouble>;

/// Why a piece was not read to its end; errors of scripts do not leave their thread.
enum Trouble {
    Interrupted,
    Memory,
    Field {
        /// Where its record begins.
        at: usize,
        column: Option<usize>,
        what: String,
    },
}

/// The rows of a piece that were read.
struct Rows<'l> {
    columns: Vec<Builder<'l>>,
    /// Where the record begins that is read.
    at: usize,
    /// Rows that there is room for.
    room: usize,
    /// Rows that are expected.
    lines: usize,
}

impl Rows<'_> {
    /// Begins a row at a byte of the text.
    fn begin(&mut self, at: usize) -> Read<()> {
        self.at = at;
        if self.room == 0 {
            self.room = (POLL / self.columns.len().max(1)).max(1);
            if interrupt::is_requested() {
                return Err(Trouble::Interrupted);
            }
            let room = std::mem::take(&mut self.lines).max(self.room);
            if !self.columns.iter_mut().all(|column| column.make_room(room)) {
                return Err(Trouble::Memory);
            }
        }
        Ok(())
    }

    /// Adds field `i` of a row.
    fn add(&mut self, i: usize, field: &[u8]) -> Read<()> {
        let Ok(field) = str::from_utf8(field) else {
            return self.trouble(Some(i), "the text is not UTF-8".into());
        };
        match self.columns.get_mut(i).map(|column| column.add(field)) {
            // That there are too many is told at the end of the row.
            None if i.is_multiple_of(POLL) && interrupt::is_requested() => {
                Err(Trouble::Interrupted)
            }
            None | Some(Ok(())) => Ok(()),
            Some(Err(what)) => self.trouble(Some(i), what),
        }
    }

    /// Ends a row of so many fields.
    fn end(&mut self, n: usize) -> Read<()> {
        self.room -= 1;
        let expected = self.columns.len();
        if n == expected {
            return Ok(());
        }
        self.trouble(None, format!("got {n} fields, expected {expected} as in the lines before"))
    }

    fn trouble<T>(&self, column: Option<usize>, what: String) -> Read<T> {
        Err(Trouble::Field { at: self.at, column, what })
    }
}

struct Text<'a> {
    path: &'a str,
    bytes: &'a [u8],
    layout: &'a Layout,
    names: Vec<String>,
}

impl<'a> Text<'a> {
    fn reader(&self, range: Range<usize>) -> Reader<Polled<'a>> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(self.layout.separator).has_headers(false).flexible(true);
        builder.buffer_capacity(1 << 16).from_reader(Polled::new(&self.bytes[range]))
    }

    /// The fields of the first record, before any is kept, and its bytes.
    fn first_record(&self) -> Result<(usize, usize)> {
        let first = pieces::first_record(self.bytes, self.layout.separator, MOST_COLUMNS);
        first.map_err(|uncut| self.uncut(&uncut))?.ok_or_else(|| {
            let separator = char::from(self.layout.separator).escape_default();
            let what =
                format!("more than {MOST_COLUMNS} columns (the separator is \"{separator}\")");
            self.fault(0, None, &what)
        })
    }

    fn uncut(&self, uncut: &Uncut) -> Box<rhai::EvalAltResult> {
        match *uncut {
            Uncut::Interrupted => stop(Stop::Interrupt),
            Uncut::Open(at) => self.fault(at, None, "a quote that is never closed"),
        }
    }

    /// Finds the names of the columns, and where the first record of values begins.
    fn read_names(&mut self) -> Result<usize> {
        let mut reader = self.reader(0..self.bytes.len());
        let mut first = ByteRecord::new();
        let read = reader.read_byte_record(&mut first);
        check_interrupt()?;
        read.map_err(|error| self.fault(0, None, &error.to_string()))?;
        let mut known = HashSet::new();
        // Names in their order are columns in theirs: c00 to c11.
        let width = first.len().saturating_sub(1).to_string().len();
        for (i, field) in first.iter().enumerate() {
            if i.is_multiple_of(POLL) {
                check_interrupt()?;
            }
            if self.layout.header && field.len() > LONGEST_NAME {
                let what = format!("a name of {} bytes, at most {LONGEST_NAME}", field.len());
                return Err(self.fault(0, Some((i, "")), &what));
            }
            let field = str::from_utf8(field)
                .map_err(|_| self.fault(0, Some((i, "")), "the text is not UTF-8"))?;
            let named = self.layout.header && !field.trim().is_empty();
            let name = if named { field.trim().to_string() } else { format!("c{i:0width$}") };
            if !known.insert(name.clone()) {
                let what = "the name stands for another column too";
                return Err(self.fault(0, Some((i, &name)), what));
            }
            self.names.push(name);
        }
        match self.layout.kinds.keys().find(|name| !known.contains(*name)) {
            None if self.layout.header => {
                Ok(usize::try_from(reader.position().byte()).unwrap_or(0))
            }
            None => Ok(0),
            Some(name) => {
                let (path, listed) = (self.path, listed(&self.names));
                Err(fault(format!("read_csv: {path}: no column `{name}` ({listed})")))
            }
        }
    }

    /// What the columns seem to be, by the first records.
    fn guess(&self, piece: Option<&Piece>) -> Vec<Kind> {
        let mut seen = vec![Seen::default(); self.names.len()];
        let mut reader = self.reader(piece.map_or(0..0, |piece| piece.range.clone()));
        let n = SAMPLE.min(SAMPLED / self.names.len().max(1)).max(1);
        let records = reader.byte_records().take(n).map_while(std::result::Result::ok);
        for record in records {
            for (seen, field) in seen.iter_mut().zip(&record) {
                // What is no text is told of when all is read.
                seen.look_at(str::from_utf8(field.trim_ascii()).unwrap_or("?"), self.layout);
            }
        }
        let masks = self.layout.masks;
        let kind = |(name, seen): (&String, Seen)| match self.layout.kinds.get(name) {
            Some(&kind) => kind,
            // What is narrower than the values shows; what is wider does not.
            None if masks && seen.is_blank() => Kind::Lanes(DType::I64),
            None => seen.kind(masks),
        };
        self.names.iter().zip(seen).map(kind).collect()
    }

    /// What the columns are, after all their fields were looked at.
    fn found(&self, parts: &[Vec<Builder<'_>>], kinds: &[Kind]) -> Vec<Kind> {
        let found = |(i, &kind): (usize, &Kind)| {
            if self.layout.kinds.contains_key(&self.names[i]) {
                return kind;
            }
            let seen = parts.iter().map(|part| part[i].seen()).reduce(Seen::and);
            seen.map_or(kind, |seen| seen.kind(self.layout.masks))
        };
        kinds.iter().enumerate().map(found).collect()
    }

    /// The values of each piece by columns.
    fn parts(
        &self,
        pieces: &[Piece],
        kinds: &[Kind],
        threads: usize,
    ) -> Result<Vec<Vec<Builder<'a>>>> {
        let parts = side_by_side(threads, pieces.iter(), |piece| self.part(piece, kinds));
        parts.map_err(|trouble| match trouble {
            Trouble::Interrupted => stop(Stop::Interrupt),
            Trouble::Memory => out_of_memory(self.path, 0),
            Trouble::Field { at, column, what } => {
                let name = |i: usize| self.names.get(i).map_or("", String::as_str);
                self.fault(at, column.map(|i| (i, name(i))), &what)
            }
        })
    }

    fn part(&self, piece: &Piece, kinds: &[Kind]) -> Read<Vec<Builder<'a>>> {
        let builder = |(name, &kind): (&String, &Kind)| {
            Builder::new(kind, self.layout.kinds.contains_key(name), self.layout)
        };
        let columns = self.names.iter().zip(kinds).map(builder).collect();
        let mut rows = Rows { columns, at: piece.range.start, room: 0, lines: piece.lines };
        if !piece.is_quoted {
            self.read_plain(&piece.range, &mut rows)?;
            return Ok(rows.columns);
        }
        let mut reader = self.reader(piece.range.clone());
        let mut record = ByteRecord::new();
        loop {
            let more = reader.read_byte_record(&mut record);
            let start = record.position().map_or(0, csv::Position::byte);
            let at = piece.range.start + usize::try_from(start).unwrap_or(0);
            match more {
                Ok(true) => rows.begin(at)?,
                Ok(false) => return Ok(rows.columns),
                Err(_) if interrupt::is_requested() => return Err(Trouble::Interrupted),
                Err(error) => return rows.trouble(None, error.to_string()),
            }
            for (i, field) in record.iter().enumerate() {
                rows.add(i, field)?;
            }
            rows.end(record.len())?;
        }
    }

    /// Reads records without quotes, whose fields end where a separator or an end of a line stands.
    fn read_plain(&self, range: &Range<usize>, rows: &mut Rows<'a>) -> Read<()> {
        let (bytes, separator) = (&self.bytes[..range.end], self.layout.separator);
        let (mut at, mut n) = (range.start, 0);
        while at < bytes.len() || n > 0 {
            let rest = &bytes[at..];
            if n == 0 {
                // Between records stand empty lines.
                if matches!(rest[0], b'\n' | b'\r') {
                    at += 1;
                    continue;
                }
                rows.begin(at)?;
            }
            let number = rows.columns.get_mut(n).and_then(|column| column.add_number(rest));
            let length = match number {
                Some(length) => length,
                None => {
                    let end = memchr3(separator, b'\n', b'\r', rest).unwrap_or(rest.len());
                    rows.add(n, &rest[..end])?;
                    end
                }
            };
            n += 1;
            at += length + 1;
            if rest.get(length) != Some(&separator) {
                rows.end(n)?;
                n = 0;
            }
        }
        Ok(())
    }

    /// `read_csv: data.csv:3: column 2 (x): ..` of the record that begins at a byte, or behind empty lines there.
    fn fault(
        &self,
        at: usize,
        column: Option<(usize, &str)>,
        what: &str,
    ) -> Box<rhai::EvalAltResult> {
        let blank = self.bytes[at..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
        let line = 1 + pieces::count(&self.bytes[..at + blank.count()]);
        let column = match column {
            Some((i, "")) => format!("column {}: ", i + 1),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn parsed(text: &str, masks: bool) -> Result<Vec<(String, Column)>> {
        let (kinds, missing) = (BTreeMap::new(), Vec::new());
        let layout = Layout { separator: b',', header: true, kinds, missing, masks };
        read("t.csv", text.as_bytes(), &layout, 2, |bytes| match bytes < ROOM {
            true => Ok(()),
            false => Err(fault("no room")),
        })
    }

    /// Bytes that the tests may take.
    const ROOM: u64 = 64 << 20;

    /// What nobody needs is refused before it is made.
    #[test]
    fn long_records_and_blank_lines() {
        let error = |text: &str| Fault::of(&parsed(text, false).unwrap_err()).message;
        let columns = ",".repeat(1 << 20);
        assert!(
            error(&columns).contains("t.csv:1: more than 1048576 columns (the separator is \",\")")
        );
        assert!(error(&columns[..100_000]).contains("no room"));
        assert!(error(&format!("a\n1\n{columns}\n")).contains("got 1048577 fields, expected 1"));
        let quoted = format!("a\n\"1\"\n{}", columns.repeat(16));
        assert!(error(&quoted).contains("no room"));
        let name = format!("{}\n1\n", "x".repeat(LONGEST_NAME + 1));
        assert!(error(&name).contains("column 1: a name of 1048577 bytes, at most 1048576"));
        let table = self::columns(&format!("a\n\"{}\"\n", "x".repeat(20 << 20)));
        let Whole::Texts(texts) = &table[0].1.values else { panic!("not texts") };
        assert_eq!(texts.names[0].len(), 20 << 20);
        let blank = format!("a\n1{}2\n", "\n".repeat(20_000_000));
        let table = self::columns(&blank);
        let int = |piece: &Values| match piece {
            Values::Int(values) => values.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(lanes(&table[0].1).iter().flat_map(int).collect::<Vec<_>>(), [1, 2]);
    }

    fn columns(text: &str) -> Vec<(String, Column)> {
        parsed(text, false).unwrap()
    }

    fn lanes(column: &Column) -> &[Values] {
        let Whole::Lanes(_, pieces) = &column.values else { panic!("texts") };
        pieces
    }

    #[test]
    fn quotes_must_be_closed() {
        for text in ["a,b\n1,2\n3,\"4\n", "a,b\n1,2\n\"x\"\"y,3\n4,5\n", "a\n\""] {
            assert!(parsed(text, false).is_err(), "{text}");
        }
        for text in ["a,b\n1,\"x \"\"y\"\"\"\n", "a\n5\"\n", "a,b\n5\"\" 3,\"\"\n", "a\n\"x\ny\"\n"]
        {
            parsed(text, false).unwrap();
        }
    }

    #[test]
    fn columns_are_what_their_values_say() {
        let table = columns("a,b,c,d\n1,2.5,true,x\n-2,1e3,false,\"y, z\"\n");
        let of = |name: &str| &table.iter().find(|(known, _)| known == name).unwrap().1;
        assert_eq!(lanes(of("a")), [Values::Int(vec![1, -2])]);
        assert_eq!(lanes(of("b")), [Values::Float(vec![2.5, 1000.0])]);
        assert_eq!(lanes(of("c")), [Values::Mask(vec![true, false])]);
        let Whole::Texts(texts) = &of("d").values else { panic!("not texts") };
        assert_eq!(texts.names.iter().map(String::as_str).collect::<Vec<_>>(), ["x", "y, z"]);
        assert_eq!(texts.codes, [0, 1]);
    }

    #[test]
    fn blanks_belong_to_texts_and_not_to_numbers() {
        let table = columns("a, b\n 1 ,\" x \"\n2, y\n");
        assert_eq!(lanes(&table[0].1), [Values::Int(vec![1, 2])]);
        assert_eq!(table[1].0, "b");
        let Whole::Texts(texts) = &table[1].1.values else { panic!("not texts") };
        assert_eq!(texts.names.iter().map(String::as_str).collect::<Vec<_>>(), [" x ", " y"]);
    }

    #[test]
    fn missing_numbers_are_nan() {
        let table = columns("a,b\n1,\n,NA\n");
        let [Values::Float(values)] = lanes(&table[0].1) else { panic!("not floats") };
        assert!(values[0] == 1.0 && values[1].is_nan());
        let [Values::Float(values)] = lanes(&table[1].1) else { panic!("not floats") };
        assert!(values.iter().all(|x| x.is_nan()));
    }

    /// What the first records suggest does not hold for all; lines in quotes lie across the borders of pieces.
    #[test]
    fn pieces_agree_with_the_whole() {
        let late = |first: &str, last: &str, masks| {
            let rows = format!("{first},\"two\nlines, \"\"quoted\"\"\"\n").repeat(200_000);
            let text = format!("a,b\n{rows}{last},x\n");
            let mut table = parsed(&text, masks).unwrap();
            let (_, b) = table.pop().unwrap();
            let Whole::Texts(texts) = &b.values else { panic!("not texts") };
            assert_eq!(texts.codes.len(), 200_001);
            assert_eq!(texts.names.len(), 2);
            table.pop().unwrap().1
        };
        for (first, last, dtype) in [
            ("1", "2", Some(DType::I64)),
            ("1", "2.5", Some(DType::F64)),
            ("1", "", Some(DType::F64)),
            ("", "1", Some(DType::F64)),
            ("true", "1", None),
            ("1", "18446744073709551615", Some(DType::U64)),
            ("-1", "18446744073709551615", Some(DType::F64)),
        ] {
            let found = match late(first, last, false).values {
                Whole::Lanes(dtype, _) => Some(dtype),
                Whole::Texts(_) => None,
            };
            assert_eq!(found, dtype, "{first} {last}");
        }
        let masked = late("", "7", true);
        let [Values::Int(first), .., Values::Int(last)] = lanes(&masked) else {
            panic!("not integers")
        };
        assert_eq!((first[0], last.last()), (0, Some(&7)));
        assert_eq!(masked.missing.unwrap()[199_999..], [true, false]);
        assert!(matches!(late("", "", true).values, Whole::Lanes(DType::F64, _)));
    }
}
