//! Operations across the lanes of an array beyond reductions: prefix sums, sorts, statistics.

use super::rearrange::count;
use crate::array::{Array, Operand};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{ReduceOp, ScatterOp};
use crate::ir::primitive::Order;
use crate::session::Session;

impl Array {
    /// Prefix sums, lazily: lane i is the sum of lanes 0 to i, of type [`DType::accumulated`]; integers wrap (S11).
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn psum(&self) -> Result<Self> {
        self.session().record(|recorder| recorder.prefix_sum(self.id()))
    }

    /// Prefix products, as [`Array::psum`].
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn cumprod(&self) -> Result<Self> {
        self.session().record(|recorder| recorder.prefix(ReduceOp::Prod, self.id()))
    }

    /// The lanes in order, lazily; −0 is below +0, and every NaN comes last either way.
    ///
    /// # Errors
    /// None at present.
    pub fn sort(&self, order: Order) -> Result<Self> {
        self.session().record(|recorder| recorder.sort(self.id(), order))
    }

    /// The lane numbers that sort the array, those of equal lanes ascending, lazily: u32 (u64 beyond 2³²
    /// lanes).
    ///
    /// # Errors
    /// None at present.
    pub fn argsort(&self, order: Order) -> Result<Self> {
        self.session().record(|recorder| recorder.sort_index(self.id(), order))
    }

    /// How many lanes fall into each of `bins` intervals of equal width from `low` to `high`, both
    /// included, lazily.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` for no bins or an interval that is empty or not finite.
    pub fn histogram(&self, bins: u64, low: f64, high: f64) -> Result<Self> {
        self.session().compose(
            "histogram",
            &[bins, low.to_bits(), high.to_bits()],
            &[self],
            move |recorder, args| recorder.histogram(args[0], bins, low, high),
        )
    }

    /// The bin of each lane, as [`Array::histogram`] has it, and whether the lane lies in one.
    ///
    /// # Errors
    /// As [`Array::histogram`].
    pub(crate) fn bins(&self, bins: u64, low: f64, high: f64) -> Result<[Self; 2]> {
        Ok(exactly_so_many(
            self.session().record_all(|recorder| recorder.bins(self.id(), bins, low, high))?,
        ))
    }

    /// Adds 1 to the element at `index[i]` for each active lane, one after the other; gives what each lane
    /// found there. The handle then names the new value (S12).
    ///
    /// # Errors
    /// `UnsupportedType` unless the array holds integers; `SizeMismatch`, `ForeignArray`. Bounds errors
    /// come later.
    pub fn scatter_inc(&mut self, index: &Self, active: Option<&Self>) -> Result<Self> {
        let op = "scatter_inc";
        for other in [index].into_iter().chain(active) {
            self.check_session(op, other)?;
        }
        let active = active.map(Self::id);
        let [found, written] = exactly_so_many(self.session().record_all(|recorder| {
            recorder.check_reach(op, self.id(), index.id())?;
            recorder.scatter_inc(self.id(), index.id(), active)
        })?);
        self.replace(written);
        Ok(found)
    }

    /// Puts `value[i]` into the element at `index[i]` for each active lane, one after the other; gives what each lane
    /// found there. The handle then names the new value (S12).
    ///
    /// # Errors
    /// As [`Array::scatter`].
    pub fn scatter_exch<'a>(
        &mut self,
        value: impl Into<Operand<'a>>,
        index: &Self,
        active: Option<&Self>,
    ) -> Result<Self> {
        let results = self.exchange("scatter_exch", None, value.into(), index, active)?;
        let [found, written] = exactly_so_many(results);
        self.replace(written);
        Ok(found)
    }

    /// The same only for lanes that find `compare[i]`, bit by bit, every NaN being the same; gives what each lane found,
    /// and which lanes put their values.
    ///
    /// # Errors
    /// As [`Array::scatter`].
    pub fn scatter_cas<'a>(
        &mut self,
        compare: impl Into<Operand<'a>>,
        value: impl Into<Operand<'a>>,
        index: &Self,
        active: Option<&Self>,
    ) -> Result<[Self; 2]> {
        let (compare, value) = (Some(compare.into()), value.into());
        let results = self.exchange("scatter_cas", compare, value, index, active)?;
        let [found, swapped, written] = exactly_so_many(results);
        self.replace(written);
        Ok([found, swapped])
    }

    fn exchange(
        &self,
        op: &'static str,
        compare: Option<Operand<'_>>,
        value: Operand<'_>,
        index: &Self,
        active: Option<&Self>,
    ) -> Result<Vec<Self>> {
        let arrays = compare.into_iter().chain([value]).filter_map(|operand| match operand {
            Operand::Array(array) => Some(array),
            Operand::Number(_) => None,
        });
        for other in arrays.chain([index]).chain(active) {
            self.check_session(op, other)?;
        }
        self.session().record_all(|recorder| {
            recorder.check_reach(op, self.id(), index.id())?;
            let value = self.element(recorder, op, value)?;
            let compare = compare.map(|compare| self.element(recorder, op, compare)).transpose()?;
            recorder.exchange(self.id(), compare, value, index.id(), active.map(Self::id))
        })
    }

    /// Refuses a plain scatter to `self` that writes an element twice. Evaluates.
    pub(crate) fn refuse_duplicates(&self, index: &Self, active: Option<&Self>) -> Result<()> {
        let counts = self.session().zeros(DType::U32, self.size())?;
        let active_id = active.map(Self::id);
        let found = self
            .session()
            .record(|recorder| recorder.increments(counts.id(), index.id(), active_id))?;
        if found.is_empty() {
            return Ok(());
        }
        // The first lane that found a 1; lane 0 never does.
        let lane = exactly::<i64>(count(found.min(1)?.argmax()?.item(0)?));
        if lane == 0 {
            return Ok(());
        }
        let element = index.item(if index.size() == 1 { 0 } else { lane })?;
        Err(Error::Argument {
            op: ScatterOp::Set.name(),
            what: format!(
                "lane {lane} writes element {element}, which a lower lane has written (flag check_duplicates)"
            ),
        })
    }

    /// Where `self` and `other` are near, lazily: `|a − b| ≤ atol + rtol·|b|`, or equal, or (if
    /// `equal_nan`) both NaN.
    ///
    /// # Errors
    /// `SizeMismatch`, `TypeMismatch`, `ForeignArray`.
    pub fn isclose(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<Self> {
        let operands = [self.into(), other.into()];
        self.session().with_operands(
            || "allclose",
            &operands,
            0,
            |recorder, ids| recorder.isclose([ids[0], ids[1]], [rtol, atol], equal_nan),
        )
    }
}

impl Session {
    /// The first number from `start` up to `end` for which `below` is false, in each lane, if it is true
    /// for those before: bisection, unrolled while recording. `below` gets an array of numbers (one lane
    /// at first) and returns a mask; it is never asked about `end`, which is the answer where it is true
    /// for all.
    ///
    /// **Dtypes**: u32, beyond 2³² u64.
    ///
    /// # Errors
    /// What `below` returns; `UnsupportedType` if that is no mask.
    pub fn binary_search(
        &self,
        start: u64,
        end: u64,
        mut below: impl FnMut(&Array) -> Result<Array>,
    ) -> Result<Array> {
        let dtype = crate::ir::primitive::lane_number_type(end);
        let number = |number: u64| self.full(dtype, number, 1);
        let mut low = number(start)?;
        if start >= end {
            return Ok(low);
        }
        let (mut high, last) = (number(end)?, number(end - 1)?);
        for _ in 0..=(end - start).ilog2() {
            let [middle, place] = exactly_so_many(
                self.record_all(|recorder| recorder.middle([low.id(), high.id()], last.id()))?,
            );
            let holds = self.adopt_number("binary_search", &below(&place)?)?;
            [low, high] = exactly_so_many(self.record_all(|recorder| {
                recorder.half([low.id(), high.id()], middle.id(), holds.id())
            })?);
        }
        Ok(low)
    }
}

fn exactly_so_many<const N: usize>(results: Vec<Array>) -> [Array; N] {
    results.try_into().expect("internal error: another number of results was recorded")
}
