//! Products of all lanes and of those up to each: the slope by a lane is made of the other ones.
//!
//! Nothing is divided out as long as there is another way, so lanes that are 0 are as exact as the product itself, and so
//! are the derivatives of what is recorded here. Lanes are taken in *runs*: what the lanes of each give together goes the
//! same way, as one lane of fewer, and comes back to its lanes, which is work in proportion to their number. What a few
//! lanes multiply to may be beyond the range of the type where the slope is not.

use super::Recorder;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::lane_number_type;
use crate::ir::var::VarId;
use crate::trace::functions;

/// Most lanes that are few.
const FEW: u64 = 1 << 14;

/// Lanes in runs.
#[derive(Clone, Copy)]
struct Runs {
    /// All lanes.
    size: u64,
    /// Lanes of a run, which is a power of 2.
    extent: u64,
}

impl Runs {
    /// Short runs are the least work, long ones the fewest launches.
    const fn of(size: u64) -> Self {
        Self { size, extent: if size > FEW { 4 } else { 16 } }
    }

    const fn n(self) -> u64 {
        self.size.div_ceil(self.extent)
    }
}

impl Recorder<'_> {
    /// For each lane the product of all others.
    pub(super) fn products_of_others(&mut self, x: VarId) -> Result<VarId> {
        if self.size(x) <= 1 {
            let one = self.one(self.dtype(x));
            return self.widen(one, self.size(x));
        }
        if self.dtype(x).is_half() {
            return self.in_single(x, |recorder, x| recorder.products_of_others(x));
        }
        // What the exponents of all lanes add up to is exact.
        let exponents = if self.size(x) < 1 << 20 { DType::I32 } else { DType::I64 };
        let [product, exponent] = self.others_apart(x, exponents)?;
        let apart = self.times_power_of_two(product, exponent)?;
        // A slope of what is apart goes through the power of two before that of a lane is taken out of it. Of many lanes
        // the other way is as much work again, for slopes that are next to nothing.
        if !self.var(x).tracked || self.size(x) > FEW {
            return Ok(apart);
        }
        let plain = self.others_multiplied(x)?;
        let is_at_ends = self.is_at_ends(product, exponent)?;
        let is_same = self.same(Op::Eq, &[plain, apart])?;
        let is_better = self.same(Op::And, &[is_at_ends, is_same])?;
        self.select(is_better, plain, apart)
    }

    /// Whether `product 2^exponent` is near to an end of the range, or beyond, though no lane is 0.
    fn is_at_ends(&mut self, product: VarId, exponent: VarId) -> Result<VarId> {
        let (dtype, zero) = (self.dtype(product), self.constant(self.dtype(product), 0));
        let end = u64::from(dtype.least_exponent().unsigned_abs());
        let near = self.constant(self.dtype(exponent), end / 8 * 7);
        let size = self.same(Op::Abs, &[exponent])?;
        let is_near = self.same(Op::Gt, &[size, near])?;
        let has_no_zero = self.same(Op::Ne, &[product, zero])?;
        self.same(Op::And, &[is_near, has_no_zero])
    }

    /// The products of all others, as numbers that are far from the ends of the range, and the exponents of powers of two
    /// that belong to them: lanes of one run may multiply to what is beyond the range, where those of all do not.
    fn others_apart(&mut self, x: VarId, exponents: DType) -> Result<[VarId; 2]> {
        let (runs, mut product) = (Runs::of(self.size(x)), self.one(self.dtype(x)));
        let [x, own] = self.apart(x, exponents)?;
        let all = self.reduce(ReduceOp::Sum, own)?;
        let mut exponent = self.same(Op::Sub, &[all, own])?;
        if runs.n() > 1 {
            let totals = self.totals_of_runs(x, runs)?;
            let [others, of_others] = self.others_apart(totals, exponents)?;
            product = self.of_own_run(others, runs)?;
            let of_others = self.of_own_run(of_others, runs)?;
            exponent = self.same(Op::Add, &[exponent, of_others])?;
        }
        Ok([self.times_others_of_run(product, x, runs)?, exponent])
    }

    /// The products of all others, lane by lane; NaN where one on the way is not finite.
    fn others_multiplied(&mut self, x: VarId) -> Result<VarId> {
        let (runs, mut product) = (Runs::of(self.size(x)), self.one(self.dtype(x)));
        if runs.n() > 1 {
            // What is infinite has no cotangent: times 0, which those of other lanes may be, it is no number.
            let totals = self.totals_of_runs(x, runs)?;
            let totals = self.if_finite(totals)?;
            let others = self.others_multiplied(totals)?;
            product = self.of_own_run(others, runs)?;
        }
        let product = self.times_others_of_run(product, x, runs)?;
        self.if_finite(product)
    }

    /// `x` where it is finite, else NaN.
    fn if_finite(&mut self, x: VarId) -> Result<VarId> {
        let dtype = self.dtype(x);
        let nan = dtype.encode(Scalar::Float(f64::NAN))?;
        let [zero, nan] = [0, nan].map(|bits| self.constant(dtype, bits));
        let nothing = self.same(Op::Sub, &[x, x])?;
        let is_finite = self.same(Op::Eq, &[nothing, zero])?;
        self.select(is_finite, x, nan)
    }

    /// The product of the lanes of each run.
    fn totals_of_runs(&mut self, x: VarId, runs: Runs) -> Result<VarId> {
        let first = self.first_of_runs(runs)?;
        let mut totals = self.pick(x, first, None)?;
        for k in 1..runs.extent {
            let factor = self.factor_at(x, Op::Add, first, k)?;
            totals = self.same(Op::Mul, &[totals, factor])?;
        }
        Ok(totals)
    }

    /// For each lane what its run has.
    fn of_own_run(&mut self, x: VarId, runs: Runs) -> Result<VarId> {
        let lane = self.lane_numbers(runs.size);
        let run = self.run_of(lane, runs)?;
        self.pick(x, run, None)
    }

    /// For each lane the product times all others of its run.
    fn times_others_of_run(&mut self, product: VarId, x: VarId, runs: Runs) -> Result<VarId> {
        let (mut product, lane) = (product, self.lane_numbers(runs.size));
        for k in 1..runs.extent {
            let factor = self.factor_at(x, Op::Xor, lane, k)?;
            product = self.same(Op::Mul, &[product, factor])?;
        }
        Ok(product)
    }

    /// The m and e of each lane `m 2^e`. What changes a lane changes m in proportion, and no e.
    fn apart(&mut self, x: VarId, exponents: DType) -> Result<[VarId; 2]> {
        let exponent = self.row("exponent", &[x])?;
        let exponent = self.cast(exponent, exponents)?;
        let down = self.same(Op::Neg, &[exponent])?;
        Ok([self.times_power_of_two(x, down)?, exponent])
    }

    /// `x 2^n`, rounded once.
    fn times_power_of_two(&mut self, x: VarId, n: VarId) -> Result<VarId> {
        self.row("ldexp", &[x, n])
    }

    fn row(&mut self, name: &str, args: &[VarId]) -> Result<VarId> {
        let row = functions::find(name).expect("internal error: a row of the table");
        self.function(row, args)
    }

    /// The lanes of `x` at places so far from others, 1 where there is none.
    fn factor_at(&mut self, x: VarId, op: Op, place: VarId, distance: u64) -> Result<VarId> {
        let [at, is_there] = self.place_at(op, place, distance, self.size(x))?;
        let factor = self.pick(x, at, Some(is_there))?;
        let one = self.one(self.dtype(x));
        self.select(is_there, factor, one)
    }

    /// Places so far from others, and whether they are below a size: what is read elsewhere is written there by derivatives.
    fn place_at(&mut self, op: Op, place: VarId, distance: u64, size: u64) -> Result<[VarId; 2]> {
        let dtype = self.dtype(place);
        let (distance, last) = (self.constant(dtype, distance), self.literal(dtype, size - 1, 1));
        let at = self.same(op, &[place, distance])?;
        Ok([at, self.same(Op::Le, &[at, last])?])
    }

    /// The first lane of each run.
    fn first_of_runs(&mut self, runs: Runs) -> Result<VarId> {
        let dtype = lane_number_type(runs.size);
        let (run, extent) = (self.lane_index(dtype, runs.n()), self.constant(dtype, runs.extent));
        self.same(Op::Mul, &[run, extent])
    }

    /// The run of each lane.
    fn run_of(&mut self, lane: VarId, runs: Runs) -> Result<VarId> {
        let bits = self.constant(self.dtype(lane), u64::from(runs.extent.trailing_zeros()));
        self.same(Op::Shr, &[lane, bits])
    }

    /// For each lane the product of those before it.
    fn products_before(&mut self, x: VarId) -> Result<VarId> {
        let products = self.prefix(ReduceOp::Prod, x)?;
        let lane = self.lane_numbers(self.size(x));
        let (before, is_behind) = self.lane_before(products, lane)?;
        let one = self.one(self.dtype(x));
        self.select(is_behind, before, one)
    }

    /// The lane of `x` before each place, 0 before the first, and whether there is one.
    fn lane_before(&mut self, x: VarId, place: VarId) -> Result<(VarId, VarId)> {
        let one = self.constant(self.dtype(place), 1);
        let before = self.same(Op::Sub, &[place, one])?;
        let is_behind = self.same(Op::Ge, &[place, one])?;
        Ok((self.pick(x, before, Some(is_behind))?, is_behind))
    }

    /// For each lane j the sum of `v[i]` times the product of all lanes of `x` up to i but j, over i from j on.
    pub(super) fn pull_prefix_product(
        &mut self,
        products: VarId,
        x: VarId,
        v: VarId,
    ) -> Result<VarId> {
        let before = self.products_before(x)?;
        // From behind, where the factor of a lane is the one that was behind it.
        let lane = self.lane_numbers(self.size(x));
        let [size, one] = [self.size(x), 1].map(|n| self.literal(self.dtype(lane), n, 1));
        let place = self.same(Op::Sub, &[size, lane])?;
        let is_there = self.same(Op::Ge, &[lane, one])?;
        let (factors, parts) = (self.pick(x, place, Some(is_there))?, self.reverse(v)?);
        let sums = self.recurrence(factors, parts, false)?;
        let sums = self.reverse(sums)?;
        let slopes = self.same(Op::Mul, &[before, sums])?;
        let otherwise = self.divided_out(products, x, v, [before, slopes])?;
        let zero = self.constant(self.dtype(x), 0);
        let nothing = self.same(Op::Sub, &[sums, sums])?;
        let is_finite = self.same(Op::Eq, &[nothing, zero])?;
        self.select(is_finite, slopes, otherwise)
    }

    /// The same where products behind a lane are beyond the range of the type, though those that it is a factor of are not: the
    /// lane is divided out of these, and one that is 0 has the slope that it has.
    fn divided_out(
        &mut self,
        products: VarId,
        x: VarId,
        v: VarId,
        [before, slopes]: [VarId; 2],
    ) -> Result<VarId> {
        let zero = self.constant(self.dtype(x), 0);
        let parts = self.same(Op::Mul, &[v, products])?;
        let is_asked = self.same(Op::Ne, &[v, zero])?;
        let parts = self.select(is_asked, parts, zero)?;
        let behind = self.prefix_sum_reverse(parts)?;
        let divided = self.same(Op::Div, &[behind, x])?;
        let is_nothing = self.same(Op::Eq, &[before, zero])?;
        let of_zero = self.select(is_nothing, zero, slopes)?;
        // By 0, or where products that were computed on the way are no numbers, the quotient is none.
        let nothing = self.same(Op::Sub, &[divided, divided])?;
        let is_finite = self.same(Op::Eq, &[nothing, zero])?;
        self.select(is_finite, divided, of_zero)
    }

    /// For each lane i the sum of `t[j]` times the product of all lanes of `x` up to i but j, over j up to i.
    pub(super) fn push_prefix_product(&mut self, x: VarId, t: VarId) -> Result<VarId> {
        let before = self.products_before(x)?;
        let parts = self.same(Op::Mul, &[before, t])?;
        self.recurrence(x, parts, false)
    }

    /// `y[i] = factor[i] y[i − 1] + part[i]`, `y[−1]` being 0; factors are lanes, or products of lanes.
    fn recurrence(&mut self, factor: VarId, part: VarId, are_products: bool) -> Result<VarId> {
        let runs = Runs::of(self.size(part));
        if runs.size <= 1 {
            return Ok(part);
        }
        if self.dtype(part).is_half() {
            let factor = self.cast(factor, DType::F32)?;
            return self
                .in_single(part, |recorder, part| recorder.recurrence(factor, part, are_products));
        }
        let lane = self.lane_numbers(runs.size);
        let dtype = self.dtype(lane);
        let mut y = self.constant(self.dtype(part), 0);
        if runs.n() > 1 {
            let first = self.first_of_runs(runs)?;
            let mut product = self.pick(factor, first, None)?;
            let mut sum = self.pick(part, first, None)?;
            for k in 1..runs.extent {
                let [at, is_there] = self.place_at(Op::Add, first, k, runs.size)?;
                let factor = self.pick(factor, at, Some(is_there))?;
                let part = self.pick(part, at, Some(is_there))?;
                product = self.same(Op::Mul, &[product, factor])?;
                sum = self.step(sum, factor, part, are_products)?;
            }
            let ends = self.recurrence(product, sum, true)?;
            let run = self.run_of(lane, runs)?;
            (y, _) = self.lane_before(ends, run)?;
        }
        // Factors are not multiplied with each other: products of some may be beyond the range of the type.
        let last = self.constant(dtype, runs.extent - 1);
        let place = self.same(Op::And, &[lane, last])?;
        for k in (1..runs.extent).rev() {
            let k = self.constant(dtype, k);
            let at = self.same(Op::Sub, &[lane, k])?;
            let is_there = self.same(Op::Ge, &[place, k])?;
            let factor = self.pick(factor, at, Some(is_there))?;
            let part = self.pick(part, at, Some(is_there))?;
            let next = self.step(y, factor, part, are_products)?;
            y = self.select(is_there, next, y)?;
        }
        self.step(y, factor, part, are_products)
    }

    /// `factor y + part`, where a factor that is a product beyond the range of the type leaves a sum of 0 as it is.
    fn step(&mut self, y: VarId, factor: VarId, part: VarId, is_product: bool) -> Result<VarId> {
        let mut factor = factor;
        if is_product {
            let dtype = self.dtype(factor);
            let infinite = dtype.encode(Scalar::Float(f64::INFINITY))?;
            let [zero, infinity] = [0, infinite].map(|bits| self.constant(dtype, bits));
            let size = self.same(Op::Abs, &[factor])?;
            let is_beyond = self.same(Op::Eq, &[size, infinity])?;
            let is_nothing = self.same(Op::Eq, &[y, zero])?;
            let stays = self.same(Op::And, &[is_beyond, is_nothing])?;
            let one = self.one(dtype);
            factor = self.select(stays, one, factor)?;
        }
        self.same(Op::Fma, &[y, factor, part])
    }
}
