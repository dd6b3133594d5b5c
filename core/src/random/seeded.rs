//! Generators for many lanes from one seed, and the sequence that seeds come from.
//!
//! **Source**: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators" (2014), with the
//! constants of S. Vigna's splitmix64.c: D. Stafford's variant 13 of the finaliser of MurmurHash3.

use super::Pcg32;
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::session::Session;
use crate::trace::expr::Expr;

/// What the state of SplitMix64 grows by: 2^64 over the golden ratio, odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Factors of its mixer.
const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// The generator SplitMix64: a sequence of seeds that have nothing to do with each other.
///
/// ```
/// use porcini_core::random::SplitMix64;
///
/// let mut seeds = SplitMix64::new(0);
/// assert_eq!(seeds.draw(), 0xe220_a839_7b1d_cdaf);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Starts from any number.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let x = self.state;
        let x = (x ^ (x >> 30)).wrapping_mul(FACTORS[0]);
        let x = (x ^ (x >> 27)).wrapping_mul(FACTORS[1]);
        x ^ (x >> 31)
    }

    /// What is drawn from generators of `n` lanes that the next number seeds; the sequence moves on if that worked.
    ///
    /// ```
    /// use porcini_core::{Session, random::{Draw, SplitMix64}};
    ///
    /// # fn main() -> porcini_core::Result<()> {
    /// let (session, mut seeds) = (Session::new()?, SplitMix64::new(0));
    /// let mut draw = || seeds.drawn(&session, "rand", 2, |rng| rng.draw(Draw::UInt32, None));
    /// assert_ne!(draw()?.to_vec::<u32>()?, draw()?.to_vec::<u32>()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Session::check_draw`], which is told the name `op`; as [`Pcg32::seeded`], and what `draw` fails with.
    pub fn drawn<T>(
        &mut self,
        session: &Session,
        op: &'static str,
        n: u64,
        draw: impl FnOnce(&mut Pcg32) -> Result<T>,
    ) -> Result<T> {
        let (mut rng, next) = self.generators(session, op, n)?;
        let drawn = draw(&mut rng)?;
        *self = next;
        Ok(drawn)
    }

    /// Generators of `n` lanes that the next number seeds, and the sequence behind that number, for who draws by
    /// functions with errors of their own; see [`SplitMix64::drawn`].
    ///
    /// # Errors
    /// As [`Session::check_draw`], which is told the name `op`; as [`Pcg32::seeded`].
    pub fn generators(
        mut self,
        session: &Session,
        op: &'static str,
        n: u64,
    ) -> Result<(Pcg32, Self)> {
        session.check_draw(op)?;
        Ok((Pcg32::seeded(session, n, self.draw())?, self))
    }
}

impl Pcg32 {
    /// Generators of `n` lanes whose numbers have nothing to do with each other, from one seed.
    ///
    /// States and streams are two sequences of [`SplitMix64`], which start from the first two numbers of the one that
    /// starts from the seed; lane i takes number i of both, as [`Pcg32::new`] does. So the first lanes of more are
    /// those of fewer.
    ///
    /// **Evaluation**: recorded.
    ///
    /// # Errors
    /// `OutOfMemory` at the latest when numbers are looked at.
    pub fn seeded(session: &Session, n: u64, seed: u64) -> Result<Self> {
        let lanes = session.arange(DType::U64, 0.into(), Scalar::UInt(n), 1.into())?;
        let mut starts = SplitMix64::new(seed);
        let mut sequence = || {
            // A number, so that other seeds take the same kernel.
            let start = session.full(DType::U64, starts.draw(), 1)?;
            session.record(|recorder| {
                recorder.call("SplitMix64", &[start.id(), lanes.id()], |recorder, ids| {
                    recorder.expand("PCG32C::seeded", ids, |x| {
                        mixed(x[1].fma(x[1].bits(STEP), x[0] + x[0].bits(STEP)))
                    })
                })
            })
        };
        let (state, stream) = (sequence()?, sequence()?);
        Self::new(session, state, stream)
    }
}

impl Array {
    /// A number for each lane that looks random and depends on the lane's bits alone: the first one of the
    /// [`SplitMix64`] that starts from them, as u64.
    ///
    /// Narrower bits are filled up with zeros, so the same number in another type may have another hash; +0 and -0
    /// have two, all NaN one.
    ///
    /// # Errors
    /// `OutOfMemory` at the latest when numbers are looked at.
    pub fn hash(&self) -> Result<Self> {
        let bits = self.dtype().unsigned();
        self.session().record(|recorder| {
            recorder.call("hash", &[self.id()], |recorder, ids| {
                recorder.expand("hash", ids, |x| {
                    let bits = if bits == DType::Mask { x[0] } else { x[0].reinterpret(bits) };
                    let bits = bits.cast(DType::U64);
                    mixed(bits + bits.bits(STEP))
                })
            })
        })
    }
}

/// What SplitMix64 makes of its state.
fn mixed(x: Expr<'_>) -> Expr<'_> {
    let x = (x ^ (x >> 30)) * x.bits(FACTORS[0]);
    let x = (x ^ (x >> 27)) * x.bits(FACTORS[1]);
    x ^ (x >> 31)
}
