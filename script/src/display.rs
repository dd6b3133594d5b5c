//! Values as text (S22): numbers as C's `%.6g`, arrays in brackets, nested arrays one row a lane.

use std::fmt::Write as _;

use porcini_core::{Array, Scalar};
use rhai::Dynamic;

use crate::bind::{Range, RngRef};
use crate::fault::{Fault, IntoFault, Result, fault};
use crate::host_array::HostRef;
use crate::outputs::Outputs;
use crate::plot::Picture;
use crate::table::Table;
use crate::value::{ArrayRef, Deleted, Kind};

/// How much of an array is shown, and with how many digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrintOptions {
    /// Significant digits of floats.
    pub digits: usize,
    /// Lanes shown at each end of a long array.
    pub edge: u64,
    /// Arrays of more lanes are long.
    pub threshold: u64,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { digits: 6, edge: 5, threshold: 20 }
    }
}

/// A script value as `print` shows it; arrays are evaluated, and only what is shown is read back.
pub(crate) fn text(value: &Dynamic, options: PrintOptions) -> Result<String> {
    if let Some(list) = value.read_lock::<rhai::Array>()
        && let Some(table) = Table::of(&list, options)?
    {
        return Ok(table.text());
    }
    inner_text(value, options)
}

/// The same inside of a list or map, where a table would tear lines apart.
fn inner_text(value: &Dynamic, options: PrintOptions) -> Result<String> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return array_text(&array, options);
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        return host.text(options);
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        return rng.text(options);
    }
    if let Some(picture) = value.read_lock::<Picture>() {
        return Ok(picture.text());
    }
    if let Some(outputs) = value.read_lock::<Outputs>() {
        return Ok(outputs.text());
    }
    if let Some(fault) = value.read_lock::<Fault>() {
        return Ok(fault.to_string());
    }
    if let Some(deleted) = value.read_lock::<Deleted>() {
        return Err(deleted.fault());
    }
    if let Some(range) = value.read_lock::<Range>() {
        return Ok(range.to_string());
    }
    if let Some(function) = value.read_lock::<rhai::FnPtr>() {
        return Ok(match function.is_anonymous() {
            true => "closure".into(),
            false => format!("function {}", function.fn_name()),
        });
    }
    if let Ok(float) = value.as_float() {
        return Ok(number(Scalar::Float(float), options.digits));
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        let mut shown = String::from("[");
        for (i, item) in list.iter().enumerate() {
            shown.push_str(if i == 0 { "" } else { ", " });
            shown.push_str(&inner_text(item, options)?);
        }
        return Ok(shown + "]");
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        let mut shown = String::from("#{");
        for (i, (key, item)) in map.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let _ = write!(shown, "{comma}{key}: {}", inner_text(item, options)?);
        }
        return Ok(shown + "}");
    }
    Ok(value.to_string())
}

/// Whether a value has items.
pub(crate) fn is_collection(value: &Dynamic) -> bool {
    value.is::<ArrayRef>() || value.is::<HostRef>() || value.is_array() || value.is_map()
}

/// A value whose items stay whole in lines of at most `width` characters, where they are short enough.
pub(crate) fn broken(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let margin = line.chars().take_while(|c| matches!(c, ' ' | '[' | '#' | '{')).count();
        broken_at(line, margin, width)
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A line broken at blanks; its further lines begin behind a margin.
pub(crate) fn broken_at(line: &str, margin: usize, width: usize) -> String {
    let mut lines = vec![String::new()];
    for (i, word) in line.split(' ').enumerate() {
        match lines.last_mut() {
            Some(last) if i == 0 => last.push_str(word),
            Some(last)
                if last.trim().is_empty()
                    || last.chars().count() + word.chars().count() < width =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("{:margin$}{word}", "")),
        }
    }
    lines.join("\n")
}

/// A number: floats with `digits` significant digits as C's `%g`, truth values as 1 and 0.
pub(crate) fn number(number: Scalar, digits: usize) -> String {
    match number {
        Scalar::Float(x) => general(x, digits),
        Scalar::Bool(truth) => u8::from(truth).to_string(),
        Scalar::Int(_) | Scalar::UInt(_) => number.to_string(),
    }
}

/// C's `%.*g`: the shorter of fixed and exponential notation, without trailing zeros.
fn general(x: f64, digits: usize) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let digits = digits.max(1);
    let exponential = format!("{x:.*e}", digits - 1);
    let Some((mantissa, exponent)) = exponential.split_once('e') else { return exponential };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let limit = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(limit - 1 - exponent).unwrap_or(0);
    without_zeros(&format!("{x:.decimals$}")).into()
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn array_text(array: &ArrayRef, options: PrintOptions) -> Result<String> {
    let Some(lanes) = array.lanes() else { return Ok("[ragged array]".into()) };
    // A pending bounds error is reported by the first read below.
    let columns = Columns::new(array, lanes, options)?;
    let layout = Layout::new(array);
    let separator = if array.kind().is_some() { ",\n " } else { ", " };
    Ok(columns.join(separator, |row| {
        let leaf = |i: usize| number(columns.columns[i][row], options.digits);
        layout.lane(&leaf, 0, 0)
    }))
}

/// How a lane of a nested value is laid out: lists in lists, the outermost component number innermost, and a
/// complex number or quaternion as one item, at whatever level it stands.
#[derive(Default)]
struct Layout {
    /// Number of items of each list, and distance of their leaves; the first list holds the others.
    lists: Vec<(usize, usize)>,
    /// The kind of number that an item is, and distance of its parts.
    item: Option<(Kind, usize)>,
}

impl Layout {
    fn new(array: &ArrayRef) -> Self {
        let (Some(kind), Some(components)) = (array.kind(), array.components()) else {
            return Self::default();
        };
        let distance = components.first().map_or(0, |first| first.leaves().len());
        let mut layout = components.first().map(Self::new).unwrap_or_default();
        if matches!(kind, Kind::Complex | Kind::Quaternion) && layout.item.is_none() {
            layout.item = Some((kind, distance));
        } else {
            layout.lists.push((components.len(), distance));
        }
        layout
    }

    /// The text of the lists from `depth` on, of the leaves from `start` on.
    fn lane(&self, leaf: &impl Fn(usize) -> String, depth: usize, start: usize) -> String {
        if let Some(&(n, distance)) = self.lists.get(depth) {
            let items: Vec<String> =
                (0..n).map(|i| self.lane(leaf, depth + 1, start + i * distance)).collect();
            return format!("[{}]", items.join(", "));
        }
        let Some((kind, distance)) = self.item else { return leaf(start) };
        let part = |i: usize| leaf(start + i * distance);
        let (real, units) = match kind {
            Kind::Quaternion => (part(3), "ijk"),
            _ => (part(0), "i"),
        };
        let first = usize::from(kind != Kind::Quaternion);
        units.chars().enumerate().fold(real, |text, (i, unit)| {
            let part = part(first + i);
            match part.strip_prefix('-') {
                Some(magnitude) => format!("{text} - {magnitude}{unit}"),
                None => format!("{text} + {part}{unit}"),
            }
        })
    }
}

/// The lanes that are shown, component by component.
pub(crate) struct Columns {
    pub(crate) columns: Vec<Vec<Scalar>>,
    /// Number of lanes left out, and where.
    pub(crate) skipped: Option<(u64, usize)>,
    pub(crate) n_rows: usize,
}

impl Columns {
    pub(crate) fn new(array: &ArrayRef, lanes: u64, options: PrintOptions) -> Result<Self> {
        let leaves = array.leaves();
        let session = leaves.first().map(Array::session);
        if let Some(session) = session {
            let unevaluated: Vec<&Array> =
                leaves.iter().filter(|leaf| leaf.literal().is_none()).collect();
            if unevaluated.len() > 1 && !session.flag("forbid_eval").or_fault()? {
                session.eval(&unevaluated).or_fault()?;
            }
        }
        let long = lanes > options.threshold && lanes > 2 * options.edge;
        if let Some(leaf) = leaves.first()
            && !long
        {
            let bytes_each = size_of::<Scalar>() as u64;
            leaf.session().check_host_memory(lanes.saturating_mul(bytes_each)).or_fault()?;
        }
        let head = 0..if long { options.edge } else { lanes };
        let tail = if long { lanes - options.edge } else { lanes }..lanes;
        let mut columns = Vec::with_capacity(leaves.len());
        for leaf in &leaves {
            let mut column = Vec::new();
            for part in [&head, &tail] {
                if leaf.size() == 1 && lanes != 1 {
                    let value = leaf.item(0).or_fault()?;
                    column.extend(part.clone().map(|_| value));
                } else {
                    column.extend(leaf.read(part.clone()).or_fault()?);
                }
            }
            columns.push(column);
        }
        let n_rows = columns.first().map_or(0, Vec::len);
        let skipped = long.then(|| (lanes - 2 * options.edge, n_rows / 2));
        Ok(Self { columns, skipped, n_rows })
    }

    /// `[a, b, .. 3 skipped .., z]`
    fn join(&self, separator: &str, item: impl Fn(usize) -> String) -> String {
        let mut text = String::from("[");
        for row in 0..self.n_rows {
            if row > 0 {
                text.push_str(separator);
            }
            if let Some((n, at)) = self.skipped
                && row == at
            {
                let _ = write!(text, ".. {n} skipped ..{separator}");
            }
            text.push_str(&item(row));
        }
        text.push(']');
        text
    }
}

/// `format("{:.9} and {:>8}", x, y)`: `{}` shows a value as `print` does; after a colon stand the
/// alignment `<` or `>` and width of a column, and after a dot the digits of floats.
pub(crate) fn format(template: &str, values: &[Dynamic], options: PrintOptions) -> Result<String> {
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = template;
    while let Some(start) = rest.find(['{', '}']) {
        out.push_str(&rest[..start]);
        let tail = &rest[start..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            out.push_str(&tail[..1]);
            rest = &tail[2..];
            continue;
        }
        let end = tail.find('}').filter(|_| tail.starts_with('{'));
        let Some(end) = end else {
            return Err(fault("format: a brace without partner; write {{ or }} for a brace"));
        };
        let field = Field::parse(&tail[1..end], options)?;
        let value = values.next().ok_or_else(|| fault("format: more {} than values"))?;
        out.push_str(&field.fill(&text(value, PrintOptions { digits: field.digits, ..options })?));
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    match values.len() {
        0 => Ok(out),
        n => Err(fault(format!("format: {n} values more than {{}}"))),
    }
}

/// How one value of [`format`] is laid out.
struct Field {
    right: bool,
    width: usize,
    digits: usize,
}

/// Widest column that a format may ask for.
const MAX_WIDTH: usize = 10_000;

impl Field {
    fn parse(spec: &str, options: PrintOptions) -> Result<Self> {
        let bad =
            || fault(format!("format: unknown {{{spec}}}, expected {{}}, {{:.9}} or {{:>12.4}}"));
        let mut field = Self { right: false, width: 0, digits: options.digits };
        if spec.is_empty() {
            return Ok(field);
        }
        let rest = spec.strip_prefix(':').ok_or_else(bad)?;
        let aligned = rest.strip_prefix(['<', '>']);
        field.right = rest.starts_with('>');
        let (width, digits) = match aligned.unwrap_or(rest).split_once('.') {
            Some((width, digits)) => (width, Some(digits)),
            None => (aligned.unwrap_or(rest), None),
        };
        if !width.is_empty() {
            field.width = width.parse().ok().filter(|&w| w <= MAX_WIDTH).ok_or_else(bad)?;
        }
        if let Some(digits) = digits {
            field.digits =
                digits.parse().ok().filter(|&d| (1..=17).contains(&d)).ok_or_else(bad)?;
        }
        Ok(field)
    }

    fn fill(&self, text: &str) -> String {
        let width = self.width;
        if self.right { format!("{text:>width$}") } else { format!("{text:<width$}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_c() {
        for (x, want) in [
            (0.523_946, "0.523946"),
            (2e7, "2e+07"),
            (1e-5, "1e-05"),
            (-0.0, "-0"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (f64::from(0.1f32), "0.1"),
            (1.0, "1"),
            (22_026.465, "22026.5"),
        ] {
            assert_eq!(number(Scalar::Float(x), 6), want);
        }
        assert_eq!(number(Scalar::Float(f64::from(1.2f32)), 9), "1.20000005");
    }

    #[test]
    fn format_counts_its_values() {
        let options = PrintOptions::default();
        let one = [Dynamic::from(1.5)];
        assert_eq!(format("x = {} {{}}", &one, options).unwrap(), "x = 1.5 {}");
        assert!(format("{} {}", &one, options).is_err());
        assert!(format("x", &one, options).is_err());
        assert!(format("{", &one, options).is_err());
        assert_eq!(
            format("{:>6}|{:<6.2}|", &[1.5.into(), 2.25.into()], options).unwrap(),
            "   1.5|2.2   |"
        );
    }
}
