//! Lanes in other places: packed, repeated, joined, turned around.

use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::op::Op;
use crate::ir::primitive::Order;
use crate::ir::var::Reader;
use crate::session::Session;

impl Array {
    /// The lanes from the last to the first, lazily.
    ///
    /// # Errors
    /// None at present.
    pub fn reverse(&self) -> Result<Self> {
        self.session().compose("reverse", &[], &[self], |recorder, args| recorder.reverse(args[0]))
    }

    /// The lanes that are chosen, by way of the host: in a body [`Array::compress`] would be limited to the lanes that run
    /// it. Evaluates.
    ///
    /// # Errors
    /// What evaluation fails with; `OutOfMemory`.
    pub fn chosen_on_host(&self, chosen: &[bool]) -> Result<Self> {
        let bytes = self.read_bytes(0..self.size())?;
        let lanes = bytes.chunks_exact(self.dtype().bytes()).zip(chosen);
        let kept: Vec<u8> =
            lanes.filter(|(_, chosen)| **chosen).flat_map(|(lane, _)| lane).copied().collect();
        self.session().from_bytes(self.dtype(), &kept)
    }

    /// `self[index[i]]`, lazily; negative indices count from the end. An index out of bounds is an error
    /// at the next read (S13).
    ///
    /// # Errors
    /// `UnsupportedType`, `ForeignArray`.
    pub fn take(&self, index: &Self) -> Result<Self> {
        self.session()
            .compose("take", &[], &[self, index], |recorder, args| recorder.take(args[0], args[1]))
    }

    /// As [`Array::take`] as a part of a function, whose errors it has.
    pub(crate) fn take_as(&self, reader: Reader, index: &Self) -> Result<Self> {
        self.check_session(reader.name(), index)?;
        self.session().record(|recorder| recorder.take_as(reader, self.id(), index.id()))
    }

    /// The table `self` at places between its lanes, by linear interpolation, lazily; places outside are
    /// brought to its ends.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` for an empty table, `ForeignArray`.
    pub fn take_interpolated(&self, x: &Self) -> Result<Self> {
        self.session().compose("take_interp", &[], &[self, x], |recorder, args| {
            recorder.take_interpolated(args[0], args[1])
        })
    }

    /// The line through the points (`places`, `table`) at the lanes of `self`, lazily; beyond them the table's ends.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` if there is no point, or of one more than of the other; `ForeignArray`.
    pub fn interpolate(&self, places: &Self, table: &Self) -> Result<Self> {
        self.session().compose("interp", &[], &[self, places, table], |recorder, args| {
            recorder.interpolate(args[0], args[1], args[2])
        })
    }

    /// The value below which a part `p` of the lanes lies, lazily, by linear interpolation between two; NaN if a lane is
    /// NaN, or there is none.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` if `p` is not from 0 to 1.
    pub fn quantile(&self, p: f64) -> Result<Self> {
        self.session().compose("quantile", &[p.to_bits()], &[self], move |recorder, args| {
            recorder.quantile(args[0], p)
        })
    }

    /// How many lanes of `self`, which ascends, are below each lane of `x`, lazily.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `ForeignArray`.
    pub fn search_sorted(&self, x: &Self) -> Result<Self> {
        self.search(x, Op::Lt)
    }

    /// How many lanes of `self`, which ascends, are not above each lane of `x`, lazily.
    ///
    /// # Errors
    /// As [`Array::search_sorted`].
    pub fn search_sorted_right(&self, x: &Self) -> Result<Self> {
        self.search(x, Op::Le)
    }

    fn search(&self, x: &Self, is_below: Op) -> Result<Self> {
        let words = [u64::from(is_below == Op::Le)];
        self.session().compose("searchsorted", &words, &[self, x], move |recorder, args| {
            recorder.search_sorted(args[0], args[1], is_below)
        })
    }

    /// Each lane `n` times, lazily.
    ///
    /// # Errors
    /// `Argument` if the result would have more than 2⁶⁴ lanes.
    pub fn repeat(&self, n: u64) -> Result<Self> {
        self.session()
            .compose("repeat", &[n], &[self], move |recorder, args| recorder.repeat(args[0], n))
    }

    /// Each lane as often as that of `counts`, integers, says. Adds them up, which evaluates.
    ///
    /// # Errors
    /// `Argument` for counts below 0 or more than 2⁶⁴ lanes; `SizeMismatch`, `UnsupportedType`, `ForeignArray`; what
    /// evaluation fails with.
    pub fn repeat_each(&self, counts: &Self) -> Result<Self> {
        let op = "repeat";
        self.check_session(op, counts)?;
        let dtype = counts.dtype();
        if !dtype.is_int() {
            return Err(Error::UnsupportedType { op, dtype, expected: "an array of integers" });
        }
        let size = crate::trace::broadcast_size(op, self.size(), counts.size())?;
        let (x, counts) = (self.resize(size)?, counts.resize(size)?);
        if size == 0 {
            return Ok(x);
        }
        let least = counts.hmin()?;
        let wide = counts.cast(DType::U64)?;
        // So many do not fit a machine: the sum of floats tells it where that of integers wraps.
        let (ends, about) = (wide.psum()?, wide.cast(DType::F64)?.hsum()?);
        self.session().eval_for(op, &[&least, &ends, &about])?;
        let refuse = |what: String| Err(Error::Argument { op, what });
        if dtype.is_signed() && least.item(0)?.to_f64() < 0.0 {
            return refuse(format!("got the count {}, expected counts from 0 up", least.item(0)?));
        }
        if about.item(0)?.to_f64() >= 1e18 {
            return refuse("the counts add up to more lanes than there can be".into());
        }
        let total = count(ends.item(-1)?);
        let place = self.session().record(|recorder| recorder.lanes_by_ends(ends.id(), total))?;
        x.gather(&place, None)
    }

    /// The numbers of the true lanes of a mask, ascending. Counts them, which evaluates.
    ///
    /// # Errors
    /// `UnsupportedType` if it is no mask; what evaluation fails with.
    pub fn true_lanes(&self) -> Result<Self> {
        self.require_mask()?;
        let n_true = self.count()?;
        // The mask, too: what follows reads it from memory.
        self.session().evaluate_for("compress", self.id())?;
        let n_true = count(n_true.item(0)?);
        self.session().record(|recorder| recorder.true_lanes(self.id(), n_true))
    }

    fn require_mask(&self) -> Result<()> {
        match self.dtype() {
            DType::Mask => Ok(()),
            dtype => Err(Error::UnsupportedType { op: "compress", dtype, expected: "a mask" }),
        }
    }

    /// The lanes where `mask` is true, in order. Counts them, which evaluates.
    ///
    /// # Errors
    /// `SizeMismatch`, `UnsupportedType`, `ForeignArray`; what evaluation fails with.
    pub fn compress(&self, mask: &Self) -> Result<Self> {
        self.check_session("compress", mask)?;
        mask.require_mask()?;
        let size = crate::trace::broadcast_size("compress", self.size(), mask.size())?;
        let lanes = mask.resize(size)?.true_lanes()?;
        self.session().record(|recorder| {
            let source = recorder.widen(self.id(), size)?;
            recorder.gather(source, lanes.id(), None)
        })
    }

    /// Each value that occurs, ascending, with the numbers of the lanes that hold it. Evaluates.
    ///
    /// # Errors
    /// `UnsupportedType` unless it holds integers; what evaluation fails with.
    pub fn partition(&self) -> Result<Vec<(Scalar, Self)>> {
        let (dtype, size) = (self.dtype(), self.size());
        if !dtype.is_int() {
            let expected = "an array of integers";
            return Err(Error::UnsupportedType { op: "partition", dtype, expected });
        }
        if size == 0 {
            return Ok(Vec::new());
        }
        let session = self.session();
        let order = self.argsort(Order::Ascending)?;
        let sorted = self.gather(&order, None)?;
        let starts = sorted.starts_of_runs()?;
        session.eval_for("partition", &[&order, &sorted, &starts])?;
        let starts = starts.true_lanes()?;
        let values = sorted.gather(&starts, None)?;
        let values = values.read(0..values.size())?;
        let starts = starts.read(0..starts.size())?;
        let starts: Vec<u64> = starts.into_iter().map(count).collect();
        let ends = starts.iter().copied().skip(1).chain([size]);
        let parts = values.into_iter().zip(starts.iter().copied().zip(ends));
        let part = |(value, (start, end)): (Scalar, (u64, u64))| {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let (first, stop) = (Scalar::UInt(start), Scalar::UInt(end));
            let lanes = session.arange(order.dtype(), first, stop, 1.into())?;
            Ok((value, order.gather(&lanes, None)?))
        };
        parts.map(part).collect()
    }
}

/// A number of lanes, which an array of integers holds.
pub(super) fn count(number: Scalar) -> u64 {
    exactly(number.integer().unwrap_or(0))
}

impl Session {
    /// The lanes of all parts one after the other, promoted to their common type, lazily.
    ///
    /// # Errors
    /// `TypeMismatch` if masks meet numbers, `Argument` without parts, `ForeignArray`.
    pub fn concat(&self, parts: &[&Array]) -> Result<Array> {
        self.side_by_side(parts, 1)
    }

    /// Of parts that are so many rows each, the rows of all one beside the other.
    ///
    /// # Errors
    /// As [`Session::concat`].
    pub(crate) fn side_by_side(&self, parts: &[&Array], rows: u64) -> Result<Array> {
        let home = self.home(parts.iter().copied());
        home.compose("concat", &[rows], parts, move |recorder, parts| {
            recorder.side_by_side(parts, rows)
        })
    }

    /// The first lanes of all parts, then the second ones, and so on, promoted to their common type, lazily; a part of
    /// one lane has it everywhere.
    ///
    /// # Errors
    /// As [`Session::concat`]; `SizeMismatch`.
    pub fn interleave(&self, parts: &[&Array]) -> Result<Array> {
        let home = self.home(parts.iter().copied());
        home.compose("ravel", &[], parts, |recorder, parts| recorder.interleave(parts))
    }

    /// All pairs of a lane of `x` and a lane of `y` as two arrays, x running fastest, lazily.
    ///
    /// # Errors
    /// As [`Array::tile`]; `ForeignArray`.
    pub fn meshgrid(&self, x: &Array, y: &Array) -> Result<[Array; 2]> {
        let grid = self.grid(&[x, y])?;
        Ok([grid[0].clone(), grid[1].clone()])
    }

    /// The same of any number of arrays, the first running fastest.
    pub(crate) fn grid(&self, axes: &[&Array]) -> Result<Vec<Array>> {
        axes[0].session().ids("meshgrid", axes)?;
        let lanes = |axes: &[&Array]| {
            let sizes = axes.iter().map(|axis| axis.size());
            sizes.fold(1, u64::saturating_mul)
        };
        let along = |(i, axis): (usize, &&Array)| {
            axis.repeat(lanes(&axes[..i]))?.tile(lanes(&axes[i + 1..]))
        };
        axes.iter().enumerate().map(along).collect()
    }
}
