//! How values print (S22): lanes in brackets, of nested values one a row, and of long values those at both ends.
//!
//! ```
//! use porcini_core::value::Vector2f;
//! use porcini_core::value::show::Options;
//! use porcini_core::{DType, Session};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let x = session.arange(DType::F32, 0.into(), 100.into(), 1.into())?;
//! assert_eq!(x.to_string(), "[0, 1, 2, 3, 4, .. 90 skipped .., 95, 96, 97, 98, 99]");
//! let v = Vector2f::new([&x.slice(..2)?, &x.slice(..2)?.sin()?])?;
//! assert_eq!(format!("{v:.2}"), "[[0, 0],\n [1, 0.84]]");
//! assert_eq!(v.to_text(&Options { digits: 3.into(), ..Options::default() })?, "[[0, 0],\n [1, 0.841]]");
//! # Ok(())
//! # }
//! ```

mod numbers;
mod reader;
mod tensors;

use std::fmt::{self, Write};
use std::ops::Range;

pub use numbers::{Digits, number};
pub use reader::{Block, Lanes};
pub use tensors::{Cells, Shown};

use super::{Argument, Form, Value};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// How much of a value is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Digits of floats.
    pub digits: Digits,
    /// Lanes shown at each end of a long value.
    pub edge: u64,
    /// Values of more lanes are long.
    pub threshold: u64,
    /// Whether truth values are `true` and `false`, not 1 and 0.
    pub words: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { digits: Digits::Significant(6), edge: 5, threshold: 20, words: false }
    }
}

impl Options {
    /// The lanes that are shown of `n`: all and none, or those at both ends.
    pub fn ends(&self, n: u64) -> [Range<u64>; 2] {
        let is_long = n > self.threshold && n > self.edge.saturating_mul(2);
        let (head, tail) = if is_long { (self.edge, n - self.edge) } else { (n, n) };
        [0..head, tail..n]
    }
}

impl Argument<'_> {
    /// Writes `[a, b, .. 3 skipped .., z]`, nested values one lane a row; evaluates, and reads back only what is shown.
    ///
    /// # Errors
    /// `Argument` if `out` takes no more; as [`Array::read`].
    pub fn write(&self, out: &mut dyn Write, options: &Options) -> Result<()> {
        if let Self::Tensor(tensor) = self {
            return tensors::write(tensor, out, options);
        }
        let full = |_| Error::Argument { op: "write", what: "the text takes no more".into() };
        let Some(lanes) = Lanes::new(self, options)? else {
            return out.write_str("[ragged array]").map_err(full);
        };
        let layout = Layout::new(self);
        let separator = if self.is_nested() { ",\n " } else { ", " };
        out.write_char('[').map_err(full)?;
        for block in lanes.blocks() {
            layout.block(out, &block?, separator, options).map_err(full)?;
        }
        out.write_char(']').map_err(full)
    }
}

macro_rules! texts {
    ($($type:ty),*) => { $(
        impl $type {
            /// The text of the value; evaluates, and reads back only what is shown.
            ///
            /// # Errors
            /// As [`Array::read`].
            pub fn to_text(&self, options: &Options) -> Result<String> {
                let mut text = String::new();
                Argument::from(self).write(&mut text, options)?;
                Ok(text)
            }
        }

        /// Evaluates; an error is shown in place of the value, and one of indices out of bounds stays to be told to who
        /// reads. A precision is the number of digits: `{:.3}`.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let options = Options::default();
                let digits = f.precision().map_or(options.digits, Digits::Significant);
                match looked_at(&self.into(), &Options { digits, ..options }) {
                    Ok(text) => f.write_str(&text),
                    Err(error) => write!(f, "error: {error}"),
                }
            }
        }
    )* };
}
texts!(Array, Value, Tensor);

/// The text of a value, or the error of its lanes, which is not forgotten for it.
fn looked_at(value: &Argument<'_>, options: &Options) -> Result<String> {
    let mut text = String::new();
    let leaves = value.leaves();
    let Some(first) = leaves.first() else { return value.write(&mut text, options).map(|()| text) };
    let session = first.session();
    session.looking(|| value.write(&mut text, options))?;
    leaves.iter().find_map(|leaf| leaf.untold_error()).map_or(Ok(text), Err)
}

/// How a lane of a nested value is laid out: lists in lists, the outermost component number innermost, and a
/// complex number or quaternion as one item, at whatever level it stands.
#[derive(Default)]
struct Layout {
    /// Number of items of each list, and distance of their leaves; the first list holds the others.
    lists: Vec<(usize, usize)>,
    /// The kind of number that an item is, and distance of its parts.
    item: Option<(Form, usize)>,
}

impl Layout {
    fn new(value: &Argument<'_>) -> Self {
        let (form, components) = (value.form(), value.components());
        if form == Form::Scalar {
            return Self::default();
        }
        let distance = components.first().map_or(0, |first| first.leaves().len());
        let mut layout = components.first().map(Self::new).unwrap_or_default();
        if matches!(form, Form::Complex | Form::Quaternion) && layout.item.is_none() {
            layout.item = Some((form, distance));
        } else {
            layout.lists.push((components.len(), distance));
        }
        layout
    }

    fn block(
        &self,
        out: &mut dyn Write,
        block: &Block,
        separator: &str,
        options: &Options,
    ) -> fmt::Result {
        if block.skipped > 0 {
            write!(out, "{separator}.. {} skipped ..", block.skipped)?;
        }
        for lane in block.lanes.clone() {
            if lane > 0 {
                out.write_str(separator)?;
            }
            self.lane(out, &|leaf| block.text(leaf, lane, options), 0, 0)?;
        }
        Ok(())
    }

    /// Writes the lists from `depth` on, of the leaves from `start` on.
    fn lane(
        &self,
        out: &mut dyn Write,
        leaf: &dyn Fn(usize) -> String,
        depth: usize,
        start: usize,
    ) -> fmt::Result {
        if let Some(&(n, distance)) = self.lists.get(depth) {
            out.write_char('[')?;
            for i in 0..n {
                out.write_str(if i == 0 { "" } else { ", " })?;
                self.lane(out, leaf, depth + 1, start + i * distance)?;
            }
            return out.write_char(']');
        }
        let Some((form, distance)) = self.item else { return out.write_str(&leaf(start)) };
        number_of_parts(out, form, &|i| leaf(start + i * distance))
    }
}

/// Writes a complex number or quaternion by its parts: `1 - 2i`.
fn number_of_parts(out: &mut dyn Write, form: Form, part: &dyn Fn(usize) -> String) -> fmt::Result {
    let (real, first, units) = match form {
        Form::Quaternion => (3, 0, "ijk"),
        _ => (0, 1, "i"),
    };
    out.write_str(&part(real))?;
    for (i, unit) in units.chars().enumerate() {
        let part = part(first + i);
        match part.strip_prefix('-') {
            Some(magnitude) => write!(out, " - {magnitude}{unit}"),
            None => write!(out, " + {part}{unit}"),
        }?;
    }
    Ok(())
}
