//! How tensors print: laid out as NumPy's, a row a line, numbers below each other; of long axes those at both ends.

use std::fmt::{self, Write};

use super::{Options, number, number_of_parts};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tensor::{Place, Tensor};
use crate::trace::nested::Form;

/// Tensors of more entries are long; then axes show so many entries at each end.
const THRESHOLD: u64 = 1000;
const EDGE: u64 = 3;

/// What is shown of a tensor, as text.
struct Shown {
    /// How many entries of each axis are shown, and behind how many of them others are left out.
    axes: Vec<(usize, Option<usize>)>,
    entries: Vec<String>,
    /// Characters of the longest entry.
    width: usize,
}

/// Writes a tensor; evaluates, and reads back only what is shown.
///
/// # Errors
/// `Argument` if `out` takes no more; `Interrupted`; as [`Array::read`].
pub(super) fn write(tensor: &Tensor, out: &mut dyn Write, options: &Options) -> Result<()> {
    let full = |_| Error::Argument { op: "write", what: "the text takes no more".into() };
    let shape = tensor.shape();
    if shape.n_entries() == 0 {
        // What has an error to tell tells it.
        tensor.entries()?.iter().try_for_each(|part| part.read(0..0).map(drop))?;
        let brackets = write!(out, "[]");
        let about = if shape.rank() > 1 { write!(out, " of shape {shape}") } else { Ok(()) };
        return brackets.and(about).map_err(full);
    }
    let shown = Shown::new(tensor, options)?;
    let mut next = 0;
    shown.write(out, 0, &mut next)?.map_err(full)
}

impl Shown {
    fn new(tensor: &Tensor, options: &Options) -> Result<Self> {
        let shape = tensor.shape();
        let is_long = shape.n_entries() > THRESHOLD.max(options.threshold);
        let edge = options.edge.min(EDGE);
        let mut cut = tensor.clone();
        let mut axes = Vec::with_capacity(shape.rank());
        for (axis, &extent) in shape.extents().iter().enumerate() {
            if !is_long || extent <= 2 * edge {
                axes.push((exactly::<usize>(extent), None));
                continue;
            }
            let ends: Vec<u64> = (0..edge).chain(extent - edge..extent).collect();
            let session = tensor.parts()[0].session();
            let mut places = vec![Place::Slice((..).into()); axis];
            places.push(Place::Numbers(Tensor::new(&session.array(&ends)?, &[2 * edge])?));
            cut = cut.at(&places)?;
            axes.push((exactly::<usize>(2 * edge), Some(exactly::<usize>(edge))));
        }
        let parts = cut.entries()?;
        let of_part = |part: &Array| part.read(0..part.size());
        let lanes = parts.iter().map(of_part).collect::<Result<Vec<Vec<Scalar>>>>()?;
        let dtype = tensor.dtype();
        let text = |part: usize, i: usize| match lanes[part][i] {
            Scalar::Bool(truth) if options.words => truth.to_string(),
            lane => number(lane, dtype, options.digits),
        };
        let entry = |i: usize| {
            let mut entry = String::new();
            // A text takes all that is written to it.
            let written = match lanes.len() {
                1 => entry.write_str(&text(0, i)),
                _ => number_of_parts(&mut entry, Form::Complex, &|part| text(part, i)),
            };
            written.map(|()| entry)
        };
        let full = |_| Error::Argument { op: "write", what: "the text takes no more".into() };
        let entries: Vec<String> =
            (0..lanes[0].len()).map(entry).collect::<std::result::Result<_, _>>().map_err(full)?;
        let width = entries.iter().map(String::len).max().unwrap_or(0);
        Ok(Self { axes, entries, width })
    }

    /// Writes the entries from an axis on, of which some were written.
    fn write(&self, out: &mut dyn Write, axis: usize, next: &mut usize) -> Result<fmt::Result> {
        let Some(&(n, gap)) = self.axes.get(axis) else {
            *next += 1;
            let entry = &self.entries[*next - 1];
            let width = if self.axes.is_empty() { 0 } else { self.width };
            return Ok(write!(out, "{entry:>width$}"));
        };
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let inner = self.axes.len() - axis - 1;
        let separator = match inner {
            0 => ", ".into(),
            _ => format!(",{}{}", "\n".repeat(inner), " ".repeat(axis + 1)),
        };
        let mut written = out.write_str("[");
        for i in 0..n {
            if i > 0 {
                written = written.and(out.write_str(&separator));
            }
            if gap == Some(i) {
                written = written.and(out.write_str("...")).and(out.write_str(&separator));
            }
            let entry = self.write(out, axis + 1, next)?;
            written = written.and(entry);
        }
        Ok(written.and(out.write_str("]")))
    }
}
