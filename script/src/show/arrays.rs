//! Arrays as text: the lanes that are shown, read block by block, each laid out as its type says.

use std::ops::Range;

use porcini_core::{Array, Scalar};

use crate::fault::{IntoFault, Result};
use crate::show::numbers::number;
use crate::show::print_options::PrintOptions;
use crate::show::writer::Writer;
use crate::value::{ArrayRef, Form};

/// Lanes that are read at once: few enough to look at Ctrl-C in between, and to take little memory.
const BLOCK: u64 = 4096;

/// The lanes of an array that are shown: all, or of a long array those at both ends.
pub(crate) struct Lanes {
    leaves: Vec<Array>,
    lanes: u64,
    pub(crate) parts: [Range<u64>; 2],
}

impl Lanes {
    /// Evaluates an array of so many lanes; lanes are read by [`Lanes::in_blocks`].
    pub(crate) fn new(array: &ArrayRef, lanes: u64, options: PrintOptions) -> Result<Self> {
        let leaves = array.leaves();
        if let Some(session) = leaves.first().map(Array::session) {
            let unevaluated: Vec<&Array> =
                leaves.iter().filter(|leaf| leaf.literal().is_none()).collect();
            if unevaluated.len() > 1 && !session.flag("forbid_eval").or_fault()? {
                session.eval(&unevaluated).or_fault()?;
            }
        }
        let long = lanes > options.threshold && lanes > options.edge.saturating_mul(2);
        let (head, tail) = if long { (options.edge, lanes - options.edge) } else { (lanes, lanes) };
        Ok(Self { leaves, lanes, parts: [0..head, tail..lanes] })
    }

    /// Number of lanes left out between the parts.
    pub(crate) fn skipped(&self) -> u64 {
        self.parts[1].start - self.parts[0].end
    }

    /// Calls `each` with the lanes of a part, a block at a time: the lanes of each leaf.
    ///
    /// A pending bounds error is reported by the first read.
    pub(crate) fn in_blocks(
        &self,
        part: Range<u64>,
        mut each: impl FnMut(Range<u64>, &[Vec<Scalar>]) -> Result<()>,
    ) -> Result<()> {
        let mut block = part.start..part.start;
        // An array without lanes is read too: it may have an error to tell.
        while block.is_empty() || block.end < part.end {
            block = block.end..part.end.min(block.end + BLOCK);
            let columns: Result<Vec<Vec<Scalar>>> =
                self.leaves.iter().map(|leaf| self.column(leaf, block.clone())).collect();
            each(block.clone(), &columns?)?;
            if part.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn column(&self, leaf: &Array, lanes: Range<u64>) -> Result<Vec<Scalar>> {
        if leaf.size() == 1 && self.lanes != 1 {
            let value = leaf.item(0).or_fault()?;
            return Ok(lanes.map(|_| value).collect());
        }
        leaf.read(lanes).or_fault()
    }
}

/// Writes `[a, b, .. 3 skipped .., z]`, nested values one lane a row.
pub(crate) fn write(out: &mut Writer, array: &ArrayRef, options: PrintOptions) -> Result<()> {
    let Some(lanes) = array.lanes() else { return out.put("[ragged array]") };
    let shown = Lanes::new(array, lanes, options)?;
    let layout = Layout::new(array);
    let separator = if array.is_nested() { ",\n " } else { ", " };
    out.put("[")?;
    for part in &shown.parts {
        if part.start > 0 && !part.is_empty() {
            out.put(&format!("{separator}.. {} skipped ..", shown.skipped()))?;
        }
        shown.in_blocks(part.clone(), |block, columns| {
            for lane in block.clone() {
                if lane > 0 {
                    out.put(separator)?;
                }
                let row = usize::try_from(lane - block.start).unwrap_or(usize::MAX);
                layout.lane(out, &|leaf| number(columns[leaf][row], options.digits), 0, 0)?;
            }
            Ok(())
        })?;
    }
    out.put("]")
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
    fn new(array: &ArrayRef) -> Self {
        let form = array.form();
        let Some(components) = array.components() else {
            return Self::default();
        };
        let distance = components.first().map_or(0, |first| first.leaves().len());
        let mut layout = components.first().map(Self::new).unwrap_or_default();
        if matches!(form, Form::Complex | Form::Quaternion) && layout.item.is_none() {
            layout.item = Some((form, distance));
        } else {
            layout.lists.push((components.len(), distance));
        }
        layout
    }

    /// Writes the lists from `depth` on, of the leaves from `start` on.
    fn lane(
        &self,
        out: &mut Writer,
        leaf: &impl Fn(usize) -> String,
        depth: usize,
        start: usize,
    ) -> Result<()> {
        if let Some(&(n, distance)) = self.lists.get(depth) {
            out.put("[")?;
            for i in 0..n {
                out.put(if i == 0 { "" } else { ", " })?;
                self.lane(out, leaf, depth + 1, start + i * distance)?;
            }
            return out.put("]");
        }
        let Some((kind, distance)) = self.item else { return out.put(&leaf(start)) };
        let part = |i: usize| leaf(start + i * distance);
        let (real, first, units) = match kind {
            Form::Quaternion => (3, 0, "ijk"),
            _ => (0, 1, "i"),
        };
        out.put(&part(real))?;
        for (i, unit) in units.chars().enumerate() {
            let part = part(first + i);
            out.put(&match part.strip_prefix('-') {
                Some(magnitude) => format!(" - {magnitude}{unit}"),
                None => format!(" + {part}{unit}"),
            })?;
        }
        Ok(())
    }
}
