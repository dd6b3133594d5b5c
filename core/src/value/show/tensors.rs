//! How tensors print: laid out as NumPy's, a row a line, numbers below each other; of long axes those at both ends, and
//! long rows in several lines.

use std::fmt::{self, Write};

use super::{Options, number, number_of_parts};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tensor::{AxisIndex, Shape, Tensor};
use crate::trace::nested::Form;

/// Tensors of more entries are long; then axes show so many entries at each end.
const THRESHOLD: u64 = 1000;
const EDGE: u64 = 3;
/// Characters of a line, as NumPy has them.
const LINE: usize = 75;
/// What stands for entries that are left out.
const SKIPPED: &str = "...";

/// What is shown of a tensor, as text.
pub struct Cells {
    /// The axes, outermost first.
    pub axes: Vec<Shown>,
    /// What is shown, the last axis running fastest.
    pub entries: Vec<String>,
}

/// What is shown of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Number of entries that are shown.
    pub n: usize,
    /// Behind how many of them others are left out.
    pub gap: Option<usize>,
    /// Number of all.
    pub extent: u64,
}

impl Shown {
    /// The number that a shown entry has on the axis.
    pub fn number(&self, i: usize) -> u64 {
        match self.gap {
            Some(gap) if i >= gap => self.extent - (self.n - i) as u64,
            _ => i as u64,
        }
    }

    /// The entries in order, `None` where others are left out.
    pub fn places(&self) -> impl Iterator<Item = Option<usize>> {
        let gap = self.gap;
        (0..self.n).flat_map(move |i| [(gap == Some(i)).then_some(None), Some(Some(i))]).flatten()
    }
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
    let edge = options.edge.min(EDGE);
    // What was said of arrays holds for tensors, too.
    let threshold = if options.threshold == Options::default().threshold {
        THRESHOLD
    } else {
        options.threshold
    };
    let is_long = shape.n_entries() > threshold;
    let most = if is_long { 2 * edge } else { u64::MAX };
    let cells = tensor.cells(options, &|_| (most, edge))?;
    let width = cells.entries.iter().map(String::len).max().unwrap_or(0);
    Rows { cells, width, next: 0 }.write(out, 0)?.map_err(full)
}

impl Tensor {
    /// What is shown of it: of axes with more entries than a number so many at each end, both by the axis. Evaluates, and
    /// reads back only what is shown.
    ///
    /// # Errors
    /// `Interrupted`; as [`Array::read`].
    pub fn cells(&self, options: &Options, ends: &dyn Fn(usize) -> (u64, u64)) -> Result<Cells> {
        let mut cut = self.clone();
        let session = self.parts()[0].session();
        // What is the same everywhere is not put into memory to be looked at.
        let same: Option<Vec<Scalar>> = self.parts().iter().map(Array::literal).collect();
        let mut axes = Vec::with_capacity(self.shape().rank());
        for (axis, &extent) in self.shape().extents().iter().enumerate() {
            let (most, edge) = ends(axis);
            if extent <= most.max(2 * edge) {
                axes.push(Shown { n: exactly(extent), gap: None, extent });
                continue;
            }
            if same.is_none() {
                let kept: Vec<u64> = (0..edge).chain(extent - edge..extent).collect();
                let mut places = vec![AxisIndex::Slice((..).into()); axis];
                places.push(AxisIndex::Numbers(Self::new(&session.array(&kept)?, &[2 * edge])?));
                cut = cut.at(&places)?;
            }
            axes.push(Shown { n: exactly(2 * edge), gap: Some(exactly(edge)), extent });
        }
        if let Some(numbers) = same {
            let n = axes.iter().map(|shown| shown.n as u64).product();
            let part = |&number: &Scalar| session.full(self.dtype(), number, n);
            let parts = numbers.iter().map(part).collect::<Result<Vec<_>>>()?;
            cut = Self::of(parts, Shape::new("print", vec![n])?)?;
        }
        Ok(Cells { axes, entries: texts(&cut, options)? })
    }
}

/// All entries as text.
fn texts(tensor: &Tensor, options: &Options) -> Result<Vec<String>> {
    let parts = tensor.entries()?;
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
    (0..lanes[0].len()).map(entry).collect::<std::result::Result<_, _>>().map_err(full)
}

/// Rows on their way to a text.
struct Rows {
    cells: Cells,
    /// Characters of the longest entry.
    width: usize,
    /// Entries that were written.
    next: usize,
}

impl Rows {
    /// Writes the entries from an axis on.
    fn write(&mut self, out: &mut dyn Write, axis: usize) -> Result<fmt::Result> {
        let n_axes = self.cells.axes.len();
        if n_axes == 0 {
            return Ok(out.write_str(&self.cells.entries[0]));
        }
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let shown = self.cells.axes[axis];
        let inner = n_axes - axis - 1;
        if inner == 0 {
            return Ok(self.row(out, shown));
        }
        let separator = format!(",{}{}", "\n".repeat(inner), " ".repeat(axis + 1));
        let mut written = out.write_str("[");
        for (i, place) in shown.places().enumerate() {
            if i > 0 {
                written = written.and(out.write_str(&separator));
            }
            let item = match place {
                Some(_) => self.write(out, axis + 1)?,
                None => out.write_str(SKIPPED),
            };
            written = written.and(item);
        }
        Ok(written.and(out.write_str("]")))
    }

    /// Writes a row, in several lines if it is long.
    fn row(&mut self, out: &mut dyn Write, shown: Shown) -> fmt::Result {
        let (margin, width) = (self.cells.axes.len(), self.width);
        // Brackets and commas stand behind.
        let end = LINE - margin;
        let mut column = margin;
        out.write_str("[")?;
        for (i, place) in shown.places().enumerate() {
            let length = if place.is_some() { width } else { SKIPPED.len() };
            if i > 0 && column + 2 + length > end {
                write!(out, ",\n{:margin$}", "")?;
                column = margin;
            } else if i > 0 {
                out.write_str(", ")?;
                column += 2;
            }
            column += length;
            match place {
                Some(_) => {
                    write!(out, "{:>width$}", self.cells.entries[self.next])?;
                    self.next += 1;
                }
                None => out.write_str(SKIPPED)?,
            }
        }
        out.write_str("]")
    }
}
