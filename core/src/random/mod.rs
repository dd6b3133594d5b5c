//! The PCG32 random number generator (PCG-XSH-RR 64/32), one independent generator a lane.
//!
//! Every drawing method takes a mask `active`: lanes where it is false get 0 and do not move on.
//!
//! **Source**: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
//! Algorithms for Random Number Generation" (2014); seeding and float conversion as in Enoki.

mod draw_lanes;
mod jump;
mod philox;
mod seeded;
mod shuffle;

pub use philox::philox4x32;
pub use seeded::SplitMix64;

use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::trace::expr::Expr;
use crate::trace::functions;

/// Initial state unless another is given.
pub const PCG32_DEFAULT_STATE: u64 = 0x853c_49e6_748f_ea9b;
/// Stream unless another is given.
pub const PCG32_DEFAULT_STREAM: u64 = 0xda3e_39cb_94b9_5bdb;
/// 2^-10
const EXP2_M10: f64 = 1.0 / 1024.0;
/// 2^-23
const EXP2_M23: f64 = 1.0 / 8_388_608.0;
/// 2^-32
const EXP2_M32: f64 = 1.0 / 4_294_967_296.0;
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
    /// States that count up, as in Enoki, give lanes that have to do with each other: means over neighbours vary less
    /// or more than they should. For lanes that do not, see [`Pcg32::seeded`].
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
        let state = inc.try_add(&state)?;
        let mut rng = Self { state, inc };
        rng.state = rng.moved_on(None)?;
        Ok(rng)
    }

    /// Seeds it anew, as [`Pcg32::new`].
    ///
    /// # Errors
    /// As [`Pcg32::new`]; `NotState` in a body for what is no state.
    pub fn reseed(&mut self, state: impl Into<Seed>, stream: impl Into<Seed>) -> Result<()> {
        let session = self.state.session().clone();
        for field in [&self.state, &self.inc] {
            session.check_change("PCG32C", field)?;
        }
        let Self { state, inc } = Self::new(&session, state, stream)?;
        *self = Self { state: state.own(), inc: inc.own() };
        Ok(())
    }

    /// How many lanes it has.
    pub fn lanes(&self) -> u64 {
        match self.state.size() {
            1 => self.inc.size(),
            size => size,
        }
    }

    /// Sets the state; one lane is for all.
    ///
    /// # Errors
    /// `Forms` unless it has as many lanes as the increment, or one of them has one; `NotState` in a body for what is no
    /// state.
    pub fn set_state(&mut self, state: impl Into<Seed>) -> Result<()> {
        self.state.session().check_change("PCG32C", &self.state)?;
        self.state = state.into().beside("state", &self.inc)?.own();
        Ok(())
    }

    /// Sets the increment, as [`Pcg32::set_state`] the state. Lanes of an array are not looked at: they are odd.
    ///
    /// # Errors
    /// As [`Pcg32::set_state`]; `Forms` for an even number, whose generator would soon repeat itself.
    pub fn set_inc(&mut self, inc: impl Into<Seed>) -> Result<()> {
        self.inc.session().check_change("PCG32C", &self.inc)?;
        let inc = inc.into().beside("inc", &self.state)?;
        if let Some(Scalar::UInt(number)) = inc.literal()
            && number % 2 == 0
        {
            return Err(Error::forms(format!("inc: got {number}, expected an odd number")));
        }
        self.inc = inc.own();
        Ok(())
    }

    /// The state after one draw in the active lanes.
    fn moved_on(&self, active: Option<&Array>) -> Result<Array> {
        self.with_state(active, |state, inc| state.fma(state.bits(MULTIPLIER), inc), |state| state)
    }

    /// Records what `recipe` makes of state and increment; in other than the active lanes what `otherwise`
    /// makes of the state.
    fn with_state(
        &self,
        active: Option<&Array>,
        recipe: impl for<'r> FnOnce(Expr<'r>, Expr<'r>) -> Expr<'r>,
        otherwise: for<'r> fn(Expr<'r>) -> Expr<'r>,
    ) -> Result<Array> {
        let mut ids = vec![self.state.id(), self.inc.id()];
        ids.extend(active.map(Array::id));
        self.state.session().record(|recorder| {
            recorder.expand("PCG32", &ids, |x| {
                let value = recipe(x[0], x[1]);
                x.get(2).map_or(value, |active| active.select(value, otherwise(x[0])))
            })
        })
    }

    /// Draws what `output` makes of 32 bits, then moves on. Traces show it as `name`.
    fn draw_bits(
        &mut self,
        name: &'static str,
        active: Option<&Array>,
        output: for<'r> fn(Expr<'r>) -> Expr<'r>,
    ) -> Result<Array> {
        self.state.session().check_change("PCG32C", &self.state)?;
        let ids: Vec<_> = std::iter::once(self.state.id()).chain(active.map(Array::id)).collect();
        let drawn = self.state.session().record(|recorder| {
            recorder.call(name, &ids, |recorder, ids| {
                recorder.expand("PCG32", ids, |x| {
                    let value = output(permute(x[0]));
                    x.get(1).map_or(value, |active| active.select(value, value.bits(0)))
                })
            })
        })?;
        self.state = self.moved_on(active)?;
        Ok(drawn)
    }

    /// Draws a number in (-1, 1) and gives the standard normal number at that place. Where nothing is drawn,
    /// the 0 stays 0.
    fn normal(
        &mut self,
        name: &'static str,
        active: Option<&Array>,
        place: for<'r> fn(Expr<'r>) -> Expr<'r>,
    ) -> Result<Array> {
        let inverse = functions::find("erfinv").expect("internal error: a row of the table");
        let quantile = self.draw_bits(name, active, place)?.call(inverse, &[])?;
        let id = quantile.id();
        self.state.session().record(|recorder| {
            recorder.expand("PCG32", &[id], |x| x[0] * x[0].constant(std::f64::consts::SQRT_2))
        })
    }

    /// Draws one number a lane; lanes where `active` is false get 0 and do not move on.
    ///
    /// **Sizes**: a generator of one lane broadcasts to the lanes of `active`. **Evaluation**: recorded.
    ///
    /// # Errors
    /// `SizeMismatch`, `ForeignArray`, `UnsupportedType` for an `active` that is no mask.
    pub fn draw(&mut self, kind: Draw, active: Option<&Array>) -> Result<Array> {
        self.check_mask(active)?;
        let mut moved = self.clone();
        let drawn = match kind {
            Draw::UInt32 => moved.draw_bits("PCG32.uint32", active, |bits| bits),
            Draw::UInt64 => {
                let low = moved.draw_bits("PCG32.low", active, |bits| bits.cast(DType::U64))?;
                let high =
                    moved.draw_bits("PCG32.high", active, |bits| bits.cast(DType::U64) << 32)?;
                low.try_or(&high)
            }
            Draw::Float32 => moved.draw_bits("PCG32.float32", active, |bits| {
                let fraction = bits >> 9;
                let one_to_two = (fraction | fraction.bits(0x3f80_0000)).reinterpret(DType::F32);
                one_to_two - one_to_two.constant(1)
            }),
            Draw::Float64 => moved.draw_bits("PCG32.float64", active, |bits| {
                let fraction = bits.cast(DType::U64) << 20;
                let one_to_two = fraction | fraction.bits(0x3ff0_0000_0000_0000);
                let one_to_two = one_to_two.reinterpret(DType::F64);
                one_to_two - one_to_two.constant(1)
            }),
            // Exact on the way: f16 has 11 bits.
            Draw::Float16 => moved.draw_bits("PCG32.float16", active, |bits| {
                let fraction = (bits >> 22).cast(DType::F32);
                (fraction * fraction.constant(EXP2_M10)).cast(DType::F16)
            }),
            // The middles of the intervals that the random bits choose in (-1, 1): symmetric, never an end.
            Draw::Normal32 => moved.normal("PCG32.normal32", active, |bits| {
                let odd = ((bits >> 8) | bits.bits(1)).cast(DType::F32);
                odd * odd.constant(EXP2_M23) - odd.constant(1)
            }),
            Draw::Normal64 => moved.normal("PCG32.normal64", active, |bits| {
                let odd =
                    (bits.cast(DType::U64) << 1 | bits.constant_of(DType::U64, 1)).cast(DType::F64);
                odd * odd.constant(EXP2_M32) - odd.constant(1)
            }),
        }?;
        *self = moved;
        Ok(drawn)
    }

    /// Uniform 32-bit integers in all lanes; see [`Pcg32::draw`].
    ///
    /// # Errors
    /// `OutOfMemory` at the latest when the numbers are looked at.
    pub fn next_uint32(&mut self) -> Result<Array> {
        self.draw(Draw::UInt32, None)
    }

    /// Uniform 64-bit integers, from two 32-bit draws, the low half first.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_uint64(&mut self) -> Result<Array> {
        self.draw(Draw::UInt64, None)
    }

    /// Uniform f16 in [0, 1) with 10 random bits, the highest of one 32-bit draw.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_float16(&mut self) -> Result<Array> {
        self.draw(Draw::Float16, None)
    }

    /// Uniform f32 in [0, 1) with 23 random bits.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_float32(&mut self) -> Result<Array> {
        self.draw(Draw::Float32, None)
    }

    /// Uniform f64 in [0, 1) from one 32-bit draw, so with 32 random bits.
    ///
    /// # Errors
    /// As [`Pcg32::next_uint32`].
    pub fn next_float64(&mut self) -> Result<Array> {
        self.draw(Draw::Float64, None)
    }

    /// Uniform integers in [0, bound) without bias, as published: numbers below `2^w mod bound` are drawn
    /// again, each lane for itself. A lane of an array `bound` that is 0 gives 0.
    ///
    /// **Evaluation**: recorded where no number can be rejected (a power of two); else the rounds are
    /// evaluated until all lanes have accepted, mostly one or two.
    ///
    /// # Errors
    /// `Argument` for another kind than integers, and for the bound 0; as [`Pcg32::draw`]; what an
    /// evaluation fails with, then the generator has not moved.
    pub fn draw_below(
        &mut self,
        kind: Draw,
        bound: Operand<'_>,
        active: Option<&Array>,
    ) -> Result<Array> {
        let op = "draw_below";
        let dtype = match kind {
            Draw::UInt32 => DType::U32,
            Draw::UInt64 => DType::U64,
            Draw::Float16 | Draw::Float32 | Draw::Float64 | Draw::Normal32 | Draw::Normal64 => {
                return Err(Error::Argument { op, what: "only integers have a bound".into() });
            }
        };
        self.check_mask(active)?;
        let session = self.state.session().clone();
        let (bound, may_reject) = match bound {
            Operand::Number(number) => {
                let bits = dtype.encode(number)?;
                if bits == 0 {
                    let what = "the bound is 0, so there is no number below it".into();
                    return Err(Error::Argument { op, what });
                }
                (session.full(dtype, dtype.decode(bits), 1)?, !bits.is_power_of_two())
            }
            Operand::Array(bound) => (integers(op, bound, dtype)?, true),
        };
        let mut moved = self.clone();
        let first = moved.draw(kind, active)?;
        let mut drawn = first.try_rem(&bound)?;
        if may_reject {
            let limit = bound.try_neg()?.try_rem(&bound)?;
            let mut rejected = below(&first, &limit, active)?;
            loop {
                let again = rejected.any()?;
                session.eval_for(op, &[&drawn, &rejected, &moved.state, &again])?;
                if again.item(0)? != Scalar::Bool(true) {
                    break;
                }
                let next = moved.draw(kind, Some(&rejected))?;
                let fitting = next.try_rem(&bound)?;
                drawn = rejected.select(&fitting, &drawn)?;
                rejected = below(&next, &limit, Some(&rejected))?;
            }
        }
        *self = moved;
        Ok(drawn)
    }

    fn check_mask(&self, active: Option<&Array>) -> Result<()> {
        let op = "PCG32";
        let Some(active) = active else { return Ok(()) };
        self.state.check_session(op, active)?;
        match active.dtype() {
            DType::Mask => Ok(()),
            dtype => Err(Error::UnsupportedType { op, dtype, expected: "a mask" }),
        }
    }

    /// Whether state and increment are equal, lane by lane.
    ///
    /// # Errors
    /// `SizeMismatch`, `ForeignArray`.
    pub fn equals(&self, other: &Self) -> Result<Array> {
        let states = self.state.eq(&other.state)?;
        let streams = self.inc.eq(&other.inc)?;
        states.try_and(&streams)
    }
}

/// What one draw gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// 32-bit integers.
    UInt32,
    /// 64-bit integers, from two draws, the low half first.
    UInt64,
    /// f16 in [0, 1) with 10 random bits.
    Float16,
    /// f32 in [0, 1) with 23 random bits.
    Float32,
    /// f64 in [0, 1) with 32 random bits.
    Float64,
    /// Standard normal f32, `sqrt(2) erfinv(v)` of one of 2^23 places v in (-1, 1): at most 5.3 from 0.
    Normal32,
    /// Standard normal f64 of one of 2^32 places: at most 6.4 from 0.
    Normal64,
}

/// `drawn < limit` in the active lanes.
fn below(drawn: &Array, limit: &Array, active: Option<&Array>) -> Result<Array> {
    let below = drawn.lt(limit)?;
    active.map_or(Ok(below.clone()), |active| below.try_and(active))
}

/// An integer array as one of type `dtype`.
fn integers(op: &'static str, array: &Array, dtype: DType) -> Result<Array> {
    match array.dtype() {
        from if from.is_int() => array.cast(dtype),
        from => Err(Error::UnsupportedType { op, dtype: from, expected: "an array of integers" }),
    }
}

/// The output function XSH-RR: the state's high bits, shifted and rotated by its top five.
fn permute(state: Expr<'_>) -> Expr<'_> {
    let mixed = (((state >> 18) ^ state) >> 27).cast(DType::U32);
    let right = (state >> 59).cast(DType::U32);
    let left = -right & right.bits(31);
    mixed.shr_by(right) | mixed.shl_by(left)
}

/// As [`permute`], of one state on the host.
#[expect(clippy::cast_possible_truncation, reason = "the output is the low word")]
fn permutation_output(state: u64) -> u32 {
    let mixed = (((state >> 18) ^ state) >> 27) as u32;
    mixed.rotate_right((state >> 59) as u32)
}

/// A seed: a number for all lanes, or one a lane.
#[derive(Clone, Debug)]
pub enum Seed {
    /// The same for all.
    Number(u64),
    /// Integers, one a lane; converted to u64.
    Array(Array),
}

impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&Array> for Seed {
    fn from(array: &Array) -> Self {
        Self::Array(array.clone())
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
            Self::Array(array) => integers("PCG32C", &array, DType::U64),
        }
    }

    /// As a field of a generator, whose other one has so many lanes.
    fn beside(self, name: &str, other: &Array) -> Result<Array> {
        let array = self.array(other.session())?;
        let (got, expected) = (array.size(), other.size());
        if got == expected || got == 1 || expected == 1 {
            return Ok(array);
        }
        let what = format!("{name}: got {got} lanes for a generator of {expected}");
        Err(Error::forms(what))
    }
}
