//! So many numbers: from a generator for each, or one after the other from a single one.

use super::{Draw, Pcg32, jump};
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::trace::expr::Expr;

impl Pcg32 {
    /// `n` numbers: a generator of `n` lanes draws one in each, one of a single lane `n` in a row.
    ///
    /// **Evaluation**: recorded; of a single lane 4 operations for each binary digit of `n`.
    ///
    /// # Errors
    /// `Argument` for a generator of another number of lanes; as [`Pcg32::draw`].
    pub fn draw_lanes(&mut self, op: &'static str, kind: Draw, n: u64) -> Result<Array> {
        let n_draws = if kind == Draw::UInt64 { 2 } else { 1 };
        self.each(op, n, n_draws, |rng| rng.draw(kind, None))
    }

    /// `n` integers from `low` up to but not including `high`; see [`Pcg32::draw_lanes`]. They are i32 if both bounds
    /// are, else i64.
    ///
    /// A number is the distance of the bounds times a fraction of 64 random bits, rounded down: two draws, and none is
    /// likelier than another by more than a factor of 1 + 2^-32. Beyond a distance of 2^32 the fraction has 128 bits
    /// from four draws, and the factor is 1 + 2^-64.
    ///
    /// **Evaluation**: recorded.
    ///
    /// # Errors
    /// `Argument` if there is no such integer, or for a generator of another number of lanes; as [`Pcg32::draw`].
    pub fn draw_integers(&mut self, low: i64, high: i64, n: u64) -> Result<Array> {
        let op = "randint";
        if low >= high {
            let what = format!(
                "no integer is from {low} up to but not including {high}; write the lower bound first: \
                 randint(low, high, n)"
            );
            return Err(Error::Argument { op, what });
        }
        let distance = high.wrapping_sub(low).cast_unsigned();
        let is_wide = distance > 1 << 32;
        let fits = |bound: i64| i32::try_from(bound).is_ok();
        // Functions are told apart by their names and the types of their arguments.
        let (name, dtype) = if fits(low) && fits(high) {
            ("PCG32.int32", DType::I32)
        } else {
            ("PCG32.int64", DType::I64)
        };
        let (kind, n_draws) = if is_wide { (Draw::UInt64, 4) } else { (Draw::UInt32, 2) };
        self.each(op, n, n_draws, |rng| {
            let (a, b) = (rng.draw(kind, None)?, rng.draw(kind, None)?);
            let session = rng.state.session();
            let distance = session.full(DType::U64, distance, 1)?;
            let low = session.full(DType::U64, low.cast_unsigned(), 1)?;
            let ids = [a.id(), b.id(), distance.id(), low.id()];
            session.record(|recorder| {
                recorder.call(name, &ids, |recorder, ids| {
                    recorder.expand(op, ids, |x| {
                        let fraction = if is_wide { wide_fraction } else { narrow_fraction };
                        (fraction(x[0], x[1], x[2]) + x[3]).cast(dtype)
                    })
                })
            })
        })
    }

    /// Draws with a generator for each of `n` numbers, which take so many draws.
    fn each(
        &mut self,
        op: &'static str,
        n: u64,
        n_draws: u64,
        draw: impl FnOnce(&mut Self) -> Result<Array>,
    ) -> Result<Array> {
        let session = self.state.session().clone();
        session.check_change(op, &self.state)?;
        let lanes = self.state.size().max(self.inc.size());
        let mut moved = self.clone();
        if lanes == n {
            let drawn = draw(&mut moved)?;
            *self = moved;
            return Ok(drawn);
        }
        if lanes != 1 {
            let what = format!(
                "got a generator of {lanes} lanes for {n} numbers, expected one of 1 or {n} lanes: \
                 PCG32C::seeded({n}, seed)"
            );
            return Err(Error::Argument { op, what });
        }
        let before = session.arange(
            DType::U64,
            0.into(),
            Scalar::UInt(n.saturating_mul(n_draws)),
            Scalar::UInt(n_draws),
        )?;
        moved.state = jump::ahead(&moved, &before, n.saturating_mul(n_draws))?;
        let drawn = draw(&mut moved)?;
        self.advance(Scalar::UInt(n.wrapping_mul(n_draws)).into())?;
        Ok(drawn)
    }
}

/// `distance` times a fraction whose binary digits are those of `a`, then `b`, without what is behind the point.
fn narrow_fraction<'r>(a: Expr<'r>, b: Expr<'r>, distance: Expr<'r>) -> Expr<'r> {
    let [a, b] = [a, b].map(|word| word.cast(DType::U64));
    (a * distance + ((b * distance) >> 32)) >> 32
}

/// The same of words of 64 digits.
fn wide_fraction<'r>(a: Expr<'r>, b: Expr<'r>, distance: Expr<'r>) -> Expr<'r> {
    let low = a * distance;
    let sum = low + b.mulhi(distance);
    let carry = sum.lt(low).select(sum.bits(1), sum.bits(0));
    a.mulhi(distance) + carry
}
