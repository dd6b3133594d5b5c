//! Sums of the products of an array and the neighbours of each lane, of which convolutions are made (S26).

use super::Recorder;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::op::{Op, ReduceOp, ScatterOp};
use crate::ir::primitive::lane_number_type;
use crate::ir::var::VarId;

/// Products that are added up before they meet the sum of all.
const TOGETHER: u64 = 8;
/// Products of a kernel, which reads the sums of those before from memory: as many have room in the first cache with
/// what they read, and compile soon.
const OF_A_KERNEL: u64 = 128;
/// Lanes that are sums over all taps where there are more taps: fewer sums are recorded than taps would be.
const FEW_LANES: u64 = 1 << 12;
/// Taps between two looks at the interrupt flag.
const POLL: u64 = 1 << 12;

impl Recorder<'_> {
    /// Lane i is the sum of `long[i + j] short[j]`; as many lanes as `short` has places in `long`. Many lanes are chains of
    /// fma, tap by tap; each of a few lanes is a sum over all taps, in the order of [`Recorder::reduce`].
    ///
    /// **Dtypes**: of one type; integers' products wrap in their own, sums in that of sums.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Interrupted`.
    pub(crate) fn slid(&mut self, long: VarId, short: VarId) -> Result<VarId> {
        let (taps, dtype) = (self.size(short), self.dtype(long));
        let n = self.size(long) - taps + 1;
        if n < taps && n <= FEW_LANES {
            return self.slid_by_lane(long, short, n);
        }
        let lane = self.lane_index(lane_number_type(self.size(long)), n);
        let total = dtype.accumulated();
        let [mut sum, mut zero] = [n, 1].map(|lanes| self.literal(total, 0, lanes));
        let whole = taps / TOGETHER * TOGETHER;
        let mut part = zero;
        for tap in 0..whole {
            if tap.is_multiple_of(OF_A_KERNEL) && tap > 0 {
                [sum, zero] = self.stored([sum, zero], lane)?;
                part = zero;
            }
            part = self.with_tap(part, [long, short, lane], tap)?;
            if (tap + 1).is_multiple_of(TOGETHER) {
                sum = self.same(Op::Add, &[sum, part])?;
                part = zero;
            }
        }
        (whole..taps).try_fold(sum, |sum, tap| self.with_tap(sum, [long, short, lane], tap))
    }

    fn slid_by_lane(&mut self, long: VarId, short: VarId, n: u64) -> Result<VarId> {
        let tap = self.lane_index(lane_number_type(self.size(long)), self.size(short));
        let sum = |first: u64| {
            let first = self.literal(self.dtype(tap), first, 1);
            let place = self.same(Op::Add, &[tap, first])?;
            let window = self.pick(long, place, None)?;
            let products = self.same(Op::Mul, &[window, short])?;
            self.reduce(ReduceOp::Sum, products)
        };
        let sums: Vec<VarId> = (0..n).map(sum).collect::<Result<_>>()?;
        self.concat(&sums)
    }

    /// A sum and the product of one tap.
    fn with_tap(&mut self, sum: VarId, [long, short, lane]: [VarId; 3], tap: u64) -> Result<VarId> {
        if tap % POLL == POLL - 1 && interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let tap = self.literal(self.dtype(lane), tap, 1);
        let place = self.same(Op::Add, &[lane, tap])?;
        let (a, b) = (self.pick(long, place, None)?, self.pick(short, tap, None)?);
        if self.dtype(long).is_float() {
            return self.same(Op::Fma, &[a, b, sum]);
        }
        let product = self.same(Op::Mul, &[a, b])?;
        let product = self.cast(product, self.dtype(sum))?;
        self.same(Op::Add, &[sum, product])
    }

    /// A sum that goes to memory, and with it the zero that the next products begin with: these are then computed where they
    /// are added up, while such that need nothing from before would wait for it in memory, all at once. In the body of a loop
    /// both stay where they are.
    fn stored(&mut self, [sum, zero]: [VarId; 2], lane: VarId) -> Result<[VarId; 2]> {
        if self.var(sum).scope != 0 {
            return Ok([sum, zero]);
        }
        let [room, of_zero] = [sum, zero].map(|x| self.room(self.dtype(x), self.size(x)));
        let first = self.literal(self.dtype(lane), 0, 1);
        let sum = self.put("convolve", ScatterOp::Set, room, [sum, lane], None)?;
        Ok([sum, self.put("convolve", ScatterOp::Set, of_zero, [zero, first], None)?])
    }
}
