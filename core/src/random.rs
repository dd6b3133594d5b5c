//! The PCG32 random number generator (PCG-XSH-RR 64/32), one independent generator a lane.
//!
//! **Source**: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
//! Algorithms for Random Number Generation" (2014); seeding and float conversion as in Enoki.

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::Op;
use crate::session::Session;
use crate::trace::expr::Expr;

/// Initial state unless another is given.
pub const PCG32_DEFAULT_STATE: u64 = 0x853c_49e6_748f_ea9b;
/// Stream unless another is given.
pub const PCG32_DEFAULT_STREAM: u64 = 0xda3e_39cb_94b9_5bdb;
const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;

/// A generator with state and increment in u64 lanes. Drawing records operations and moves on.
#[derive(Clone, Debug)]
pub struct Pcg32 {
    /// The state.
    pub state: Array,
    /// The increment, odd; it selects the stream.
    pub inc: Array,
}

impl Pcg32 {
    /// Seeds generators; states and streams broadcast to each other.
    ///
    /// # Errors
    /// `SizeMismatch`, `ForeignArray`.
    pub fn new(session: &Session, state: impl Into<Seed>, stream: impl Into<Seed>) -> Result<Self> {
        let state = state.into().array(session)?;
        let inc = match stream.into() {
            // A number stays one, which costs nothing.
            Seed::Number(stream) => session.full(DType::U64, stream << 1 | 1, 1)?,
            stream @ Seed::Array(_) => {
                let stream = stream.array(session)?;
                stream.session().record(|recorder| {
                    recorder.expand("PCG32", &[stream.id()], |x| (x[0] << 1) | x[0].bits(1))
                })?
            }
        };
        // The published seeding steps from state 0, adds the seed and steps again.
        let state = inc.apply(Op::Add, &[(&state).into()])?;
        let mut rng = Self { state, inc };
        rng.step()?;
        Ok(rng)
    }

    fn step(&mut self) -> Result<()> {
        self.state = self.with_state(|state, inc| state.fma(state.bits(MULTIPLIER), inc))?;
        Ok(())
    }

    fn with_state(
        &self,
        recipe: impl for<'r> FnOnce(Expr<'r>, Expr<'r>) -> Expr<'r>,
    ) -> Result<Array> {
        let (state, inc) = (self.state.id(), self.inc.id());
        self.state
            .session()
            .record(|recorder| recorder.expand("PCG32", &[state, inc], |x| recipe(x[0], x[1])))
    }

    /// Draws what `output` makes of the state, then moves on.
    fn draw(&mut self, output: impl for<'r> FnOnce(Expr<'r>) -> Expr<'r>) -> Result<Array> {
        let drawn = self.with_state(|state, _| output(permute(state)))?;
        self.step()?;
        Ok(drawn)
    }

    /// Uniform 32-bit integers.
    ///
    /// # Errors
    /// `OutOfMemory` at the latest when the numbers are looked at.
    pub fn next_uint32(&mut self) -> Result<Array> {
        self.draw(|bits| bits)
    }

    /// Uniform 64-bit integers, from two 32-bit draws, the low half first.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_uint64(&mut self) -> Result<Array> {
        let low = self.draw(|bits| bits.cast(DType::U64))?;
        let high = self.draw(|bits| bits.cast(DType::U64) << 32)?;
        low.apply(Op::Or, &[(&high).into()])
    }

    /// Uniform f32 in [0, 1) with 23 random bits.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_float32(&mut self) -> Result<Array> {
        self.draw(|bits| {
            let fraction = bits >> 9;
            let one_to_two = (fraction | fraction.bits(0x3f80_0000)).reinterpret(DType::F32);
            one_to_two - one_to_two.constant(1)
        })
    }

    /// Uniform f64 in [0, 1) from one 32-bit draw, so with 32 random bits.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_float64(&mut self) -> Result<Array> {
        self.draw(|bits| {
            let fraction = bits.cast(DType::U64) << 20;
            let one_to_two = fraction | fraction.bits(0x3ff0_0000_0000_0000);
            let one_to_two = one_to_two.reinterpret(DType::F64);
            one_to_two - one_to_two.constant(1)
        })
    }
}

/// The output function XSH-RR: the state's high bits, shifted and rotated by its top five.
fn permute(state: Expr<'_>) -> Expr<'_> {
    let mixed = (((state >> 18) ^ state) >> 27).cast(DType::U32);
    let right = (state >> 59).cast(DType::U32);
    let left = -right & right.bits(31);
    mixed.shr_by(right) | mixed.shl_by(left)
}

/// A seed: a number for all lanes, or one a lane.
#[derive(Clone, Debug)]
pub enum Seed {
    /// The same for all.
    Number(u64),
    /// One a lane; converted to u64.
    Array(Array),
}

impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Array> for Seed {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

impl Seed {
    fn array(self, session: &Session) -> Result<Array> {
        match self {
            Self::Number(number) => session.full(DType::U64, number, 1),
            Self::Array(array) => array.cast(DType::U64),
        }
    }
}
