//! Shuffling: one generator, one draw after the other, so on the host.

use super::{MULTIPLIER, Pcg32, permutation_output};
use crate::array::{Array, Operand};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tensor::Tensor;
use crate::value::{Argument, Value, components};

/// Draws between two looks at the interrupt flag.
const POLL: u64 = 1 << 16;

impl Pcg32 {
    /// The numbers below `n` in random order, as u32, for the function `op`; see [`Pcg32::order`].
    ///
    /// # Errors
    /// As [`Pcg32::order`].
    pub fn permutation(&mut self, op: &'static str, n: u64) -> Result<Array> {
        let order = self.order(op, n)?;
        self.state.session().array(&order)
    }

    /// A random order of the numbers below `n`, by Fisher and Yates from the end, as published: element `i`
    /// changes places with a uniform one below `i + 1`. Errors name the function `op`.
    ///
    /// **Evaluation**: reads the generator, which must have one lane.
    ///
    /// # Errors
    /// `Argument` for a generator of several lanes, or more than 2^32 numbers; `OutOfMemory`; what an
    /// evaluation fails with.
    pub fn order(&mut self, op: &'static str, n: u64) -> Result<Vec<u32>> {
        let lanes = self.state.size().max(self.inc.size());
        if lanes != 1 {
            let what = format!("got a generator of {lanes} lanes, expected one: PCG32C(seed)");
            return Err(Error::Argument { op, what });
        }
        if n > 1 << 32 {
            return Err(Error::Argument { op, what: format!("{n} elements are more than 2^32") });
        }
        let session = self.state.session();
        session.check_host_memory(n.saturating_mul(size_of::<u32>() as u64))?;
        let word = |number| DType::U64.encode(number);
        let mut lane = Lane { state: word(self.state.item(0)?)?, inc: word(self.inc.item(0)?)? };
        let mut order: Vec<u32> = (0..n).map(exactly).collect();
        for i in (1..order.len()).rev() {
            if (i as u64).is_multiple_of(POLL) && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            order.swap(i, lane.below(i as u64 + 1));
        }
        self.state = session.opaque(DType::U64, Scalar::UInt(lane.state), 1)?;
        Ok(order)
    }

    /// The lanes of a value in random order, all components in the same, of a tensor the entries along its first axis;
    /// see [`Pcg32::order`].
    ///
    /// # Errors
    /// `Forms` for components of different sizes; `Argument` for a number; as [`Pcg32::order`].
    pub fn shuffled(&mut self, op: &'static str, x: &Argument<'_>) -> Result<Value> {
        if let Argument::Tensor(tensor) = x {
            return self.shuffled_rows(op, tensor).map(Value::Tensor);
        }
        let unequal = || Error::forms(format!("{op}: the components have different sizes"));
        let order = self.permutation(op, x.lanes().ok_or_else(unequal)?)?;
        components(op, &[x], &|operands| match *operands {
            [Operand::Array(x)] if x.size() > 1 => x.gather(&order, None),
            [Operand::Array(x)] => Ok(x.clone()),
            [Operand::Number(number)] => {
                Err(Error::Argument { op, what: format!("got {number}, expected an array") })
            }
            _ => Err(Error::Argument { op, what: "one array expected".into() }),
        })
    }

    /// A number, which has no axis, stays what it is.
    fn shuffled_rows(&mut self, op: &'static str, tensor: &Tensor) -> Result<Tensor> {
        let Some(&n) = tensor.shape().extents().first() else { return Ok(tensor.clone()) };
        let order = self.permutation(op, n)?;
        tensor.take(&Tensor::new(&order, &[n])?, 0)
    }
}

/// One generator on the host.
struct Lane {
    state: u64,
    inc: u64,
}

impl Lane {
    fn next(&mut self) -> u32 {
        let drawn = permutation_output(self.state);
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.inc);
        drawn
    }

    /// A uniform number below `bound`, which is at most 2^32.
    fn below(&mut self, bound: u64) -> usize {
        let limit = (1 << 32) % bound;
        loop {
            let drawn = u64::from(self.next());
            if drawn >= limit {
                return exactly::<usize>(drawn % bound);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn components_stay_together() -> Result<()> {
        let session = Session::new()?;
        let x = session.array(&[1, 2, 3, 4])?;
        let v = Value::of_known_vector(vec![x.clone().into(), (&x * 10).into()]);
        let shuffled = Pcg32::new(&session, 1, 1)?.shuffled("shuffle", &(&v).into())?;
        let lanes = |i: usize| match &shuffled.components()[i] {
            Value::Array(array) => array.to_vec::<i32>(),
            other => panic!("{other} is no array"),
        };
        assert_eq!(lanes(0)?.iter().map(|x| x * 10).collect::<Vec<_>>(), lanes(1)?);
        assert_eq!(lanes(0)?.iter().sum::<i32>(), 10);
        Ok(())
    }

    #[test]
    fn rows_of_tensors_stay_together() -> Result<()> {
        let session = Session::new()?;
        let t = Tensor::new(&session.array(&[1, 2, 3, 10, 20, 30])?, &[2, 3])?.transpose()?;
        for seed in 0..4 {
            let shuffled = Pcg32::new(&session, seed, 1)?.shuffled("shuffle", &(&t).into())?;
            let Value::Tensor(shuffled) = shuffled else { panic!("{shuffled} is no tensor") };
            let lanes = shuffled.entries()?[0].to_vec::<i32>()?;
            assert!(lanes.chunks(2).all(|row| row[1] == 10 * row[0]), "{lanes:?}");
            assert_eq!(lanes.iter().sum::<i32>(), 66);
        }
        Ok(())
    }
}
