//! The different entries along an axis, as the rows of a table: in order, each once.

use super::{Shape, Tensor};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp, ScatterOp};
use crate::ir::primitive::{Order, lane_number_type};
use crate::value::{Argument, apply};

/// Where the different entries along an axis are, in their order.
pub(crate) struct Distinct {
    /// The number of the first one of each.
    pub(crate) first: Array,
    /// The number of each entry among the different ones.
    pub(crate) inverse: Array,
    /// How often each is there.
    pub(crate) counts: Array,
}

impl Tensor {
    /// The different entries along an axis, each once: rows (axis 0) in the order of their first column, those equal there
    /// of the second, and so on; complex entries in that of their real parts, then of the imaginary ones. Zeros are equal,
    /// and NaN to NaN, which comes last; the first of equals stands for all. Evaluates.
    ///
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// # use porcini_core::{Session, tensor::Tensor};
    /// let x = Session::new()?.array(&[3, 1, 0, 2, 3, 1])?;
    /// let rows = Tensor::new(&x, &[3, 2])?.unique(0)?;
    /// assert_eq!(rows.to_string(), "[[0, 2],\n [3, 1]]");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Argument` if there is no such axis; what evaluation fails with.
    pub fn unique(&self, axis: i64) -> Result<Self> {
        let first = self.distinct("unique", axis)?.first;
        self.take(&Self::new(&first, &[first.size()])?, axis)
    }

    /// Where the different entries along an axis are.
    pub(crate) fn distinct(&self, op: &'static str, axis: i64) -> Result<Distinct> {
        self.shape().axis(op, axis)?;
        let rows = self.move_axis(axis, 0)?;
        // The parts of complex entries are columns, too.
        let words = match self.is_complex() {
            true => Self::stack(&rows.whole_parts()?, -1)?.words_of_rows(op)?,
            false => rows.words_of_rows(op)?,
        };
        let [n, width] = [0, 1].map(|axis| words.shape().extents()[axis]);
        let session = words.parts[0].session();
        let counter = lane_number_type(n);
        if n == 0 {
            let none = session.zeros(counter, 0)?;
            return Ok(Distinct { first: none.clone(), inverse: none.clone(), counts: none });
        }
        let order = words.order_of_rows(op, width)?;
        let sorted = words.take(&Self::new(&order, &[n])?, 0)?;
        let starts = session
            .concat(&[&session.full(DType::Mask, true, 1)?, &sorted.differing_neighbours()?])?;
        session.eval_for(op, &[&order, &starts])?;
        let start = starts.true_lanes()?.cast(counter)?;
        let number = starts.cast(counter)?.psum()?.try_sub(1)?.cast(counter)?;
        let mut inverse = session.zeros(counter, n)?;
        inverse.scatter(ScatterOp::Set, &number, &order, None)?;
        let end = session.full(counter, Scalar::UInt(n), 1)?;
        let next = session.concat(&[&start.slice(1..)?, &end])?;
        Ok(Distinct { first: order.take(&start)?, inverse, counts: next.try_sub(&start)? })
    }

    /// As [`Tensor::is_among`], of complex entries, by their numbers among the different ones.
    pub(super) fn is_among_complex(&self, op: &'static str, values: &Self) -> Result<Self> {
        let n = exactly::<i64>(values.shape().n_entries());
        let lines = [values, self].map(|x| x.to_complex()?.reshape(&[-1]));
        let [values, own] = lines;
        let numbers = Self::concat(&[values?, own?], 0)?.distinct(op, 0)?.inverse;
        let known = Self::from(&numbers.slice(..n)?);
        let found = Self::from(&numbers.slice(n..)?).is_among(&known)?.entries()?.swap_remove(0);
        // NaN is equal to nothing.
        let whole =
            self.entries()?.iter().try_fold(found, |found, part| found.try_and(&part.eq(part)?))?;
        Self::of([whole], self.shape().clone())
    }

    /// The rows along the first axis as words: unsigned integers whose order, from the first column on, is that of the
    /// entries. As many entries as find room share a word.
    fn words_of_rows(&self, op: &'static str) -> Result<Self> {
        let n = self.shape().extents()[0];
        let width: u64 = self.shape().extents()[1..].iter().product();
        let key = in_order(&self.entries()?[0].detach()?)?;
        let shares = 64 / u64::from(key.dtype().bits());
        let rows = Self::of([key], Shape::new(op, [n, width])?)?;
        if width <= 1 || shares == 1 {
            return Ok(rows);
        }
        let n_words = width.div_ceil(shares);
        let wide = rows.each(|key| key.cast(DType::U64))?;
        let wide = wide.pad(&[[0, 0], [0, n_words * shares - width]], Scalar::Int(0))?;
        let wide = Self::of(wide.entries()?, Shape::new(op, [n, n_words, shares])?)?;
        // The first of them decides before the others.
        let shifts: Vec<u64> = (0..shares).rev().map(|place| place * (64 / shares)).collect();
        let shifts = Self::from(&self.parts[0].session().array(&shifts)?);
        let apart = apply(Op::Shl, &[&Argument::Tensor(&wide), &Argument::Tensor(&shifts)])?;
        Self::try_from(apart)?.reduce(ReduceOp::Sum, Some(&[2]), false)
    }

    /// The numbers that sort rows: by the last column, then by those before it, each of which leaves equals as they were.
    fn order_of_rows(&self, op: &'static str, width: u64) -> Result<Array> {
        let n = self.shape().extents()[0];
        let session = self.parts[0].session();
        let mut order = session.arange(lane_number_type(n), 0.into(), Scalar::UInt(n), 1.into())?;
        for column in (0..width).rev() {
            let column = self.range(1, column, column + 1).entries()?.swap_remove(0);
            let next = column.take(&order)?.argsort(Order::Ascending)?;
            order = order.take(&next)?;
            // One by one: all columns at once would be in memory at the same time.
            session.eval_for(op, &[&order])?;
        }
        Ok(order)
    }

    /// Which rows but the first differ from the one before.
    fn differing_neighbours(&self) -> Result<Array> {
        let [upper, lower] = [self.slice(0, 1..)?, self.slice(0, ..-1)?];
        let differs = apply(Op::Ne, &[&Argument::Tensor(&upper), &Argument::Tensor(&lower)])?;
        let differs = Self::try_from(differs)?.reduce(ReduceOp::Any, Some(&[1]), false)?;
        Ok(differs.entries()?.swap_remove(0))
    }
}

/// Unsigned integers that have the order of lanes: NaN is the largest, zeros are equal.
fn in_order(x: &Array) -> Result<Array> {
    let dtype = x.dtype();
    let bits = dtype.unsigned();
    if dtype == DType::Mask {
        return x.cast(DType::U8);
    }
    if dtype == bits {
        return Ok(x.clone());
    }
    let sign = Scalar::UInt(1 << (bits.bits() - 1));
    if !dtype.is_float() {
        return x.reinterpret(bits)?.try_xor(sign);
    }
    let x = x.eq(0)?.apply(Op::Select, &[0.into(), x.into()])?;
    let own = x.reinterpret(bits)?;
    let positive = own.try_or(sign)?;
    let key = x.lt(0)?.select(&own.try_not()?, &positive)?;
    let largest = Scalar::UInt(u64::MAX >> (64 - bits.bits()));
    x.eq(&x)?.apply(Op::Select, &[(&key).into(), largest.into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    fn rows<T: crate::dtype::Element>(values: &[T], width: u64) -> Result<Tensor> {
        let n = (values.len() as u64).checked_div(width).unwrap_or(0);
        Tensor::new(&Session::new()?.array(values)?, &[n, width])
    }

    #[test]
    fn rows_are_in_order_and_the_first_of_equals_stands_for_all() -> Result<()> {
        let nan = f32::NAN;
        let x = rows(&[1.0, nan, -1.0, 2.0, 0.0, 1.0, -0.0, 1.0, 1.0, nan, -1.0, -2.0_f32], 2)?;
        let found = x.distinct("unique", 0)?;
        assert_eq!(found.first.to_vec::<u32>()?, [5, 1, 2, 0]);
        assert_eq!(found.counts.to_vec::<u32>()?, [1, 1, 2, 2]);
        assert_eq!(found.inverse.to_vec::<u32>()?, [3, 1, 2, 2, 3, 0]);
        assert_eq!(x.unique(0)?.shape().extents(), [4, 2]);
        Ok(())
    }

    #[test]
    fn entries_that_share_words_are_in_the_same_order() -> Result<()> {
        // 9 columns are two words.
        let mut values = [0_i8; 27];
        (values[0], values[8], values[9], values[18]) = (1, -3, -1, 1);
        let found = rows(&values, 9)?.distinct("unique", 0)?;
        assert_eq!(found.first.to_vec::<u32>()?, [1, 0, 2]);
        let masks = rows(&[true, false, false, true, true, false], 2)?;
        assert_eq!(masks.distinct("unique", 0)?.first.to_vec::<u32>()?, [1, 0]);
        let wide = rows(&[u64::MAX, 0, 1, 5, 1, 4], 2)?;
        assert_eq!(wide.distinct("unique", -2)?.first.to_vec::<u32>()?, [2, 1, 0]);
        Ok(())
    }

    #[test]
    fn rows_without_columns_are_one_and_none_are_none() -> Result<()> {
        let none = Session::new()?.array::<i32>(&[])?;
        let empty = Tensor::new(&none, &[3, 0])?;
        assert_eq!(empty.unique(0)?.shape().extents(), [1, 0]);
        assert_eq!(empty.distinct("unique", 0)?.counts.to_vec::<u32>()?, [3]);
        assert_eq!(empty.unique(1)?.shape().extents(), [3, 0]);
        assert!(empty.distinct("unique", 1)?.inverse.is_empty());
        Ok(())
    }
}
