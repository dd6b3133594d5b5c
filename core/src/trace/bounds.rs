//! What is known of indices while they are recorded: how large they may be.

use super::Recorder;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::ir::var::{Kind, VarId};

/// Operations one behind the other that are looked through.
const DEPTH: u32 = 6;

/// Lanes that indices of 32 bits reach.
const REACH: u64 = 1 << 32;

impl Recorder<'_> {
    /// Refuses an array of more lanes than indices of their type reach (S6).
    ///
    /// # Errors
    /// `Argument`.
    pub(crate) fn check_reach(&self, op: &'static str, array: VarId, index: VarId) -> Result<()> {
        let (size, index) = (self.size(array), self.var(index));
        let dtype = index.dtype;
        if size <= REACH || !dtype.is_int() || dtype.bits() > 32 || index.kind.number().is_some() {
            return Ok(());
        }
        let own = dtype.script_name();
        let reach = 1_u64 << dtype.bits();
        let what = format!(
            "got indices of {own} for {size} lanes, of which they reach {reach}; convert them: UInt64C(index)"
        );
        Err(Error::Argument { op, what })
    }

    /// A gather from a number, or from what is computed of the numbers of lanes alone, where every index is known to be in
    /// bounds: the lanes that are read are computed in their places, and the source needs no memory.
    pub(super) fn gather_known(
        &mut self,
        source: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<Option<VarId>> {
        let (size, is_tracked) = (self.size(source), self.var(source).tracked);
        if size == 1 || !self.is_in_bounds(index, size) {
            return Ok(None);
        }
        self.check_access("gather", index, active, None)?;
        if self.var(source).kind.number().is_some() && !is_tracked {
            return self.pick(source, index, active).map(Some);
        }
        let is_elsewhere = active.is_none() && self.var(index).scope == 0;
        if is_elsewhere && self.is_of_lane_numbers(source) {
            return self.places(source, index).map(Some);
        }
        Ok(None)
    }

    /// One lane of what is computed of the numbers of lanes alone; all others are given back.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub(crate) fn lane_known(&mut self, x: VarId, lane: u64) -> Result<VarId> {
        if !self.is_of_lane_numbers(x) {
            return Ok(x);
        }
        let index = self.literal(DType::U64, lane, 1);
        self.places(x, index)
    }

    /// Whether every index is one of so many lanes, whatever is in memory.
    fn is_in_bounds(&self, index: VarId, size: u64) -> bool {
        self.largest(index, DEPTH).is_some_and(|largest| largest < size)
    }

    /// A number that no lane is above; `None` if one may be negative, or nothing is known.
    fn largest(&self, x: VarId, depth: u32) -> Option<u64> {
        let variable = self.var(x);
        let dtype = variable.dtype;
        if !dtype.is_int() {
            return None;
        }
        let known = match variable.kind {
            Kind::Literal(bits) | Kind::Constant(bits) => {
                dtype.decode(bits).integer().and_then(|number| u64::try_from(number).ok())
            }
            Kind::Index => Some(variable.size.saturating_sub(1)),
            Kind::Op(op) if depth > 0 => self.largest_of(op, &variable.operands, depth - 1),
            _ => None,
        };
        // What leaves the type wraps.
        let most = u64::try_from(dtype.limits().1).unwrap_or(u64::MAX);
        known.filter(|&number| number <= most).or((!dtype.is_signed()).then_some(most))
    }

    fn largest_of(&self, op: Op, operands: &[Option<VarId>], depth: u32) -> Option<u64> {
        let of = |i: usize| self.largest(operands[i]?, depth);
        match op {
            Op::Cast => of(0),
            Op::Add => of(0)?.checked_add(of(1)?),
            Op::Mul => of(0)?.checked_mul(of(1)?),
            // By a number that is not negative; by 0 it is 0.
            Op::IDiv => of(1).and(of(0)),
            Op::Rem => Some(of(1)?.saturating_sub(1).min(of(0)?)),
            Op::Min => Some(of(0)?.min(of(1)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DType;
    use crate::array::Array;
    use crate::session::Session;

    #[test]
    fn numbers_are_read_without_memory_where_indices_are_in_bounds() {
        let session = Session::new().unwrap();
        let many = session.full(DType::F32, 3, 5_000_000_000).unwrap();
        let few = session.full(DType::F32, 3, 300).unwrap();
        let data = session.array(&[1_u32, 2]).unwrap();
        let bytes = session.array(&[1_u8, 2]).unwrap();
        let wide = data.cast(DType::U64).unwrap();
        let signed = data.cast(DType::I32).unwrap();
        let is_known =
            |source: &Array, index: &Array| source.gather(index, None).unwrap().literal().is_some();
        assert!(is_known(&many, &wide));
        assert!(!is_known(&few, &data));
        assert!(is_known(&few, &bytes));
        assert!(!is_known(&few, &signed));
        assert!(many.gather(&data, None).is_err());
    }
}
