//! Moving by many draws at once, and counting the draws between two states.
//!
//! **Source**: F. Brown, "Random Number Generation with Arbitrary Strides" (1994): `k` draws are the map
//! `state * a + inc * b`, whose coefficients follow from those of 1, 2, 4 … draws.

use super::{MULTIPLIER, Pcg32, integers};
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::trace::expr::Expr;

/// The coefficients of 2^k draws.
const JUMPS: [(u64, u64); 64] = {
    let mut jumps = [(MULTIPLIER, 1_u64); 64];
    let mut k = 1;
    while k < 64 {
        let (a, b) = jumps[k - 1];
        jumps[k] = (a.wrapping_mul(a), a.wrapping_add(1).wrapping_mul(b));
        k += 1;
    }
    jumps
};

impl Pcg32 {
    /// Moves by `delta` draws, back if it is negative: a number, or one a lane.
    ///
    /// **Evaluation**: recorded, three operations for a number, some 400 for an array.
    ///
    /// # Errors
    /// `NumberType`, `UnsupportedType` for other than integers; `SizeMismatch`, `ForeignArray`.
    pub fn advance(&mut self, delta: Operand<'_>) -> Result<()> {
        let op = "advance";
        let session = self.state.session();
        session.check_change(op, &self.state)?;
        self.state = match delta {
            Operand::Number(number) => {
                let (a, b) = coefficients(DType::U64.encode(number)?);
                let a = session.full(DType::U64, Scalar::UInt(a), 1)?;
                let b = session.full(DType::U64, Scalar::UInt(b), 1)?;
                let ids = [self.state.id(), self.inc.id(), a.id(), b.id()];
                session
                    .record(|recorder| recorder.expand(op, &ids, |x| x[0].fma(x[2], x[1] * x[3])))?
            }
            Operand::Array(delta) => {
                self.state.check_session(op, delta)?;
                let delta = integers(op, delta, DType::U64)?;
                let ids = [self.state.id(), self.inc.id(), delta.id()];
                session
                    .record(|recorder| recorder.expand(op, &ids, |x| jump(x[0], x[1], x[2], 64)))?
            }
        };
        Ok(())
    }

    /// Moves back by `delta` draws, as [`Pcg32::advance`] moves on.
    ///
    /// # Errors
    /// As [`Pcg32::advance`].
    pub fn retreat(&mut self, delta: Operand<'_>) -> Result<()> {
        match delta {
            Operand::Number(number) => {
                let back = DType::U64.encode(number)?.wrapping_neg();
                self.advance(Operand::Number(Scalar::UInt(back)))
            }
            Operand::Array(delta) => {
                self.advance(Operand::Array(&delta.cast(DType::I64)?.try_neg()?))
            }
        }
    }

    /// Number of draws from `earlier` to this generator, as i64 (negative if it is behind): meaningful for
    /// generators of the same stream.
    ///
    /// **Evaluation**: recorded, some 500 operations.
    ///
    /// # Errors
    /// `Argument` if the streams are known to differ; `SizeMismatch`, `ForeignArray`.
    pub fn distance(&self, earlier: &Self) -> Result<Array> {
        let op = "distance";
        let session = self.state.session();
        self.state.check_session(op, &earlier.state)?;
        if let (Some(a), Some(b)) = (self.inc.literal(), earlier.inc.literal())
            && a != b
        {
            let what = "the generators have different streams, so neither reaches the other".into();
            return Err(Error::Argument { op, what });
        }
        let ids = [self.state.id(), earlier.state.id(), self.inc.id()];
        session.record(|recorder| {
            recorder.expand(op, &ids, |x| distance(x[0], x[1], x[2]).cast(DType::I64))
        })
    }
}

/// The state of a generator `delta` draws further; all are below `most`.
pub(super) fn ahead(rng: &Pcg32, delta: &Array, most: u64) -> Result<Array> {
    let n_digits = 64 - most.saturating_sub(1).leading_zeros();
    let ids = [rng.state.id(), rng.inc.id(), delta.id()];
    rng.state
        .session()
        .record(|recorder| recorder.expand("advance", &ids, |x| jump(x[0], x[1], x[2], n_digits)))
}

/// The coefficients of `delta` draws.
fn coefficients(delta: u64) -> (u64, u64) {
    let chosen = JUMPS.iter().enumerate().filter(|(k, _)| delta >> k & 1 != 0);
    chosen.fold((1_u64, 0_u64), |(a, b), (_, &(jump, plus))| {
        (a.wrapping_mul(jump), b.wrapping_mul(jump).wrapping_add(plus))
    })
}

/// The state `delta` draws further, of which only so many binary digits count.
fn jump<'r>(state: Expr<'r>, inc: Expr<'r>, delta: Expr<'r>, n_digits: u32) -> Expr<'r> {
    (0..n_digits).zip(JUMPS).fold(state, |state, (k, (a, b))| {
        let chosen = (delta & delta.bits(1 << k)).neq(delta.bits(0));
        chosen.select(state.fma(state.bits(a), inc * inc.bits(b)), state)
    })
}

/// The low bits of the state count modulo powers of two: each draw settles one bit of the distance.
fn distance<'r>(target: Expr<'r>, start: Expr<'r>, inc: Expr<'r>) -> Expr<'r> {
    let mut state = start;
    let mut distance = start.bits(0);
    for (k, (a, b)) in (0..).zip(JUMPS) {
        let bit = state.bits(1 << k);
        let differs = ((state ^ target) & bit).neq(state.bits(0));
        state = differs.select(state.fma(state.bits(a), inc * inc.bits(b)), state);
        distance = distance | differs.select(bit, state.bits(0));
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn back_is_where_it_came_from() -> Result<()> {
        let session = Session::new()?;
        let start = Pcg32::new(&session, 42, 54)?;
        let deltas = session.array(&[-3_i64, 0, 5])?;
        for delta in [Scalar::Int(-3).into(), Scalar::UInt(5).into(), (&deltas).into()] {
            let mut moved = start.clone();
            moved.advance(delta)?;
            moved.retreat(delta)?;
            assert!(moved.equals(&start)?.to_vec::<bool>()?.iter().all(|&same| same));
        }
        Ok(())
    }
}
