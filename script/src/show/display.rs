//! Values as text (S22): arrays in brackets, nested arrays one row a lane, lists and maps as scripts write them.

use std::fmt::{self, Write as _};

use porcini_core::value::show::{Digits, number};
use porcini_core::{DType, Scalar};
use rhai::Dynamic;

use crate::fault::{Fault, Result};
use crate::show::host_arrays;
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;
use crate::show::program_text::Listing;
use crate::show::table::Table;
use crate::show::visible::{in_line, visible};
use crate::show::writer::{Writer, written};
use crate::value::cuda_module;
use crate::value::generator::RngRef;
use crate::value::host_array::HostRef;
use crate::value::outputs::Outputs;
use crate::value::range::Range;
use crate::value::text_kernel::KernelRef;
use crate::value::{ArrayRef, Deleted, Node, type_name};

/// Lists in lists that are shown; those inside are left out.
const MOST_DEPTH: usize = 1000;
/// Items of lists and maps, all together, that a page shows.
const MOST_ITEMS: usize = 1000;
/// Characters of a text, or of what has parts, that a page shows.
const MOST_CHARACTERS: usize = 10_000;

/// A script value as `print` shows it; arrays are evaluated, and only what is shown is read back.
pub(crate) fn text(value: &Dynamic, options: &PrintOptions) -> Result<String> {
    written(options.most, |out| write(out, value, options))
}

/// A script value as a page shows it: as [`text`], but of what is long both ends. What it leaves out, `print` shows.
pub(crate) fn ends(value: &Dynamic, options: &PrintOptions) -> Result<String> {
    if let Some(listing) = value.read_lock::<Listing>() {
        return Ok(listing.ends().into());
    }
    let is_long = n_items(value, 0) > MOST_ITEMS;
    let edge = usize::try_from(options.arrays.edge).unwrap_or(usize::MAX).min(MOST_ITEMS / 2);
    let options = PrintOptions { items: is_long.then_some(edge), ..options.clone() };
    let text = text(value, &options)?;
    // Arrays have bounds of their own, and pictures lines.
    let is_bounded = value.is::<ArrayRef>() || value.is::<HostRef>() || value.is::<Picture>();
    let n = if is_bounded { 0 } else { text.chars().count() };
    if n <= MOST_CHARACTERS {
        return Ok(text);
    }
    let place = |i| text.char_indices().nth(i).map_or(text.len(), |(place, _)| place);
    let (head, tail) = (place(MOST_CHARACTERS / 2), place(n - MOST_CHARACTERS / 2));
    let skipped = n - MOST_CHARACTERS;
    Ok(format!("{}\n.. {skipped} characters skipped ..\n{}", &text[..head], &text[tail..]))
}

/// Items of lists and maps within a value, counted until they are too many.
fn n_items(value: &Dynamic, depth: usize) -> usize {
    let add = |n: usize, item: &Dynamic| {
        let ends = n > MOST_ITEMS || depth >= MOST_DEPTH;
        if ends { n } else { n + 1 + n_items(item, depth + 1) }
    };
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().take(MOST_ITEMS + 1).fold(0, add);
    }
    let map = value.read_lock::<rhai::Map>();
    map.map_or(0, |map| map.values().take(MOST_ITEMS + 1).fold(0, add))
}

/// Writes a script value as [`text`].
pub(crate) fn write(out: &mut Writer, value: &Dynamic, options: &PrintOptions) -> Result<()> {
    if let Some(list) = value.read_lock::<rhai::Array>()
        && let Some(table) = Table::of(out, &list, options)?
    {
        return out
            .put(&options.window.map_or_else(|| table.text(), |window| table.folded(window)));
    }
    write_inner(out, value, options, 0)
}

/// The same inside of a list or map, where a table would tear lines apart.
fn write_inner(
    out: &mut Writer,
    value: &Dynamic,
    options: &PrintOptions,
    depth: usize,
) -> Result<()> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return out.below(|out| write_array(out, &array, options));
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        return host_arrays::write(out, &host, options);
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        return write_generator(out, &rng, options);
    }
    if let Some(picture) = value.read_lock::<Picture>() {
        return out.put(&picture.text()?);
    }
    if let Some(outputs) = value.read_lock::<Outputs>() {
        return out.put(&outputs.text());
    }
    if let Some(listing) = value.read_lock::<Listing>() {
        return out.put(&listing.text);
    }
    if let Some(fault) = value.read_lock::<Fault>() {
        return out.put(&fault.message);
    }
    if let Some(deleted) = value.read_lock::<Deleted>() {
        return Err(deleted.fault());
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        let edge = options.items;
        return write_items(out, ["[", "]"], depth, edge, list.iter(), &is_tall, |out, item| {
            write_inner(out, item, options, depth + 1)
        });
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        let edge = options.items;
        let is_tall = |(_, item): &(_, &Dynamic)| is_tall(item);
        return write_items(
            out,
            ["#{", "}"],
            depth,
            edge,
            map.iter(),
            &is_tall,
            |out, (key, item)| {
                out.put(&in_line(key))?;
                out.put(": ")?;
                write_inner(out, item, options, depth + 1)
            },
        );
    }
    if let Some(text) = value.read_lock::<rhai::ImmutableString>()
        && !options.quotes
    {
        // By itself it is written as it is; as a part of something it is shown.
        return if depth == 0 { out.put(&text) } else { out.put(&visible(&text)) };
    }
    write_simple(out, value, options, depth)
}

/// Writes an array, which is evaluated.
pub(crate) fn write_array(
    out: &mut Writer,
    array: &ArrayRef,
    options: &PrintOptions,
) -> Result<()> {
    array.narrow()?;
    let written = array.lend(|value| value.write(out, &options.arrays));
    out.outcome(written)
}

/// Writes `PCG32C[state=.., inc=..]`: numbers of a single generator, lists of several.
fn write_generator(out: &mut Writer, rng: &RngRef, options: &PrintOptions) -> Result<()> {
    let [state, inc] = rng.arrays();
    let shown = |value: ArrayRef| -> Result<String> {
        let single = value.lanes() == Some(1);
        let text = written(options.most, |out| write_array(out, &value, options))?;
        Ok(if single { text.trim_matches(['[', ']']).into() } else { text })
    };
    out.put(&format!("PCG32C[state={}, inc={}]", shown(state)?, shown(inc)?))
}

fn write_items<T>(
    out: &mut Writer,
    [open, close]: [&str; 2],
    depth: usize,
    edge: Option<usize>,
    items: impl ExactSizeIterator<Item = T>,
    is_tall: &dyn Fn(&T) -> bool,
    mut write: impl FnMut(&mut Writer, T) -> Result<()>,
) -> Result<()> {
    out.put(open)?;
    let margin = out.column();
    if depth >= MOST_DEPTH {
        out.put("..")?;
        return out.put(close);
    }
    let n = items.len();
    let skipped = match edge {
        Some(edge) if n / 2 > edge => edge..n - edge,
        _ => n..n,
    };
    let mut was_tall = false;
    for (i, item) in items.enumerate() {
        if i == skipped.start {
            out.put(&format!(", .. {} skipped ..", skipped.len()))?;
        }
        if skipped.contains(&i) {
            continue;
        }
        let is_tall = is_tall(&item);
        match i {
            0 => {}
            _ if is_tall || was_tall => out.put(&format!(",\n{:margin$}", ""))?,
            _ => out.put(", ")?,
        }
        was_tall = is_tall;
        write(out, item)?;
    }
    out.put(close)
}

/// Whether a value takes several lines: rows of a tensor, or of the lanes of a vector.
fn is_tall(value: &&Dynamic) -> bool {
    let Some(array) = value.read_lock::<ArrayRef>() else { return false };
    match &*array.node() {
        Node::Tensor(tensor) => tensor.shape().rank() > 1 && tensor.shape().n_entries() > 0,
        Node::Nested(..) => array.lanes().is_some_and(|lanes| lanes > 1),
        Node::Leaf(_) => false,
    }
}

/// Values without parts.
fn write_simple(
    out: &mut Writer,
    value: &Dynamic,
    options: &PrintOptions,
    depth: usize,
) -> Result<()> {
    if let Some(kernel) = KernelRef::of(value) {
        return out.put(&kernel.signature());
    }
    if let Some(module) = cuda_module::line_of(value) {
        return out.put(&module);
    }
    if let Some(function) = value.read_lock::<rhai::FnPtr>() {
        return match function.is_anonymous() {
            true => out.put("closure"),
            false => out.put(&format!("function {}", function.fn_name())),
        };
    }
    if let Some(range) = value.read_lock::<Range>() {
        return out.put(&range.to_string());
    }
    if let Ok(float) = value.as_float() {
        let digits = options.own_digits.unwrap_or(Digits::Shortest);
        return out.put(&number(float.into(), DType::F64, digits));
    }
    if let (Ok(int), Some(digits)) = (value.as_int(), options.own_digits) {
        return out.put(&number(Scalar::Int(int), DType::I64, digits));
    }
    if value.is_unit() && (depth > 0 || options.quotes) {
        return out.put("()");
    }
    let told = match value.read_lock::<rhai::ImmutableString>() {
        Some(text) => write!(out, "{:?}", &**text),
        // Of a type that it does not know Rhai shows the name.
        None if value.is_variant() && value.to_string() == value.type_name() => {
            return out.put(&type_name(value));
        }
        None => write!(out, "{value}"),
    };
    told.map_err(|_| out.why())
}

/// Whether a value has items.
pub(crate) fn is_collection(value: &Dynamic) -> bool {
    value.is::<ArrayRef>() || value.is::<HostRef>() || value.is_array() || value.is_map()
}

/// A value whose items stay whole in lines of at most `width` characters, where they are short enough.
pub(crate) fn broken(text: &str, width: usize) -> Result<String> {
    // Margins are shorter than lines.
    written(text.len().saturating_mul(4), |out| {
        for (i, line) in text.lines().enumerate() {
            out.put(if i == 0 { "" } else { "\n" })?;
            let is_margin = |c: &char| matches!(c, ' ' | '[' | '#' | '{');
            let margin = line.chars().take_while(is_margin).count().min(width / 2);
            break_line(out, line, margin, width).map_err(|_| out.why())?;
        }
        Ok(())
    })
}

/// A line broken at blanks; its further lines begin behind a margin.
pub(crate) fn break_line(
    out: &mut impl fmt::Write,
    line: &str,
    margin: usize,
    width: usize,
) -> fmt::Result {
    // Characters of the last line, and whether they all are blank.
    let (mut n, mut is_blank) = (0, true);
    for (i, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if i == 0 {
            out.write_str(word)?;
            n = length;
        } else if is_blank || n + length < width {
            write!(out, " {word}")?;
            n += 1 + length;
        } else {
            write!(out, "\n{:margin$}{word}", "")?;
            (n, is_blank) = (margin + length, true);
        }
        is_blank &= word.trim().is_empty();
    }
    Ok(())
}
