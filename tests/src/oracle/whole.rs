//! What functions of whole arrays give, written from their help texts and S11.

use porcini_core::DType;
use porcini_core::ir::op::{Op, ReduceOp};
use porcini_core::ir::primitive::Order;
use porcini_core::ir::scalar::apply_bits;
use porcini_core::random::Draw;
use porcini_core::trace::functions::FUNCTIONS;

use super::whole_arrays::{extremes, order_of, prefix};
use super::{Value, at, cast, function, gather, mean, position, promote, reduce, visible};
use crate::data::accumulated;
use crate::whole::{After, FEW, FILLED, INTERVAL, SEARCHED, Whole};

/// `n` lanes of type `dtype`, or the only one.
pub(super) fn whole(whole: Whole, args: &[&Value], dtype: DType, n: usize) -> Vec<u64> {
    let lanes = lanes(whole, args, dtype, n);
    if whole.is_one() {
        return lanes;
    }
    (0..n).map(|i| if lanes.is_empty() { 0 } else { lanes[i % lanes.len()] }).collect()
}

fn lanes(whole: Whole, args: &[&Value], dtype: DType, n: usize) -> Vec<u64> {
    let x = args[0];
    let size = x.lanes.len();
    let size_of = |args: &[&Value]| {
        args.iter().map(|arg| arg.lanes.len()).find(|&size| size != 1).unwrap_or(1)
    };
    match whole {
        Whole::Reverse => x.lanes.iter().rev().copied().collect(),
        Whole::Roll(distance) => {
            let from = |i: usize| (i as i64 - distance).rem_euclid(size as i64);
            (0..size).map(|i| x.lanes[index(from(i).cast_unsigned())]).collect()
        }
        Whole::Tile(times) => (0..times).flat_map(|_| x.lanes.clone()).collect(),
        Whole::Repeat(times) => x.lanes.iter().flat_map(|&lane| vec![lane; index(times)]).collect(),
        Whole::RepeatEach => {
            let times = |i: usize| index(at(args[1], i) & 7);
            (0..size_of(args)).flat_map(|i| vec![at(x, i); times(i)]).collect()
        }
        Whole::Resize(to) => resized(x, index(to)),
        Whole::Concat => {
            let parts = [x, args[1], x].map(|part| converted(part, dtype).lanes);
            parts.concat()
        }
        Whole::Interleave => {
            let parts = [x, args[1], x].map(|part| converted(part, dtype));
            (0..size_of(args)).flat_map(|i| parts.each_ref().map(|part| at(part, i))).collect()
        }
        Whole::Meshgrid(which) => {
            let rows = resized(args[1], index(FEW));
            rows.iter()
                .flat_map(|&y| x.lanes.iter().map(move |&x| if which == 0 { x } else { y }))
                .collect()
        }
        Whole::Take => {
            let from_end = |i: usize| {
                let lane = cast(DType::I64, args[1].dtype, at(args[1], i)).cast_signed();
                let turned = lane + size as i64;
                if lane < 0 && turned >= 0 { turned } else { lane }.cast_unsigned()
            };
            let n = args[1].lanes.len();
            let lanes = (0..n).map(from_end).collect();
            gather(x, &Value { dtype: DType::I64, lanes }, None, n)
        }
        Whole::TakeInterpolated => interpolated(x, args[1], dtype),
        Whole::SearchSorted => {
            let common = promote(x.dtype, args[1].dtype);
            let order = order_of(x, Order::Ascending);
            let holds = |op: Op, a: u64, b: u64| apply_bits(op, common, common, [a, b, 0]) & 1 != 0;
            // NaN is above all numbers.
            let below = |lane: usize, y: u64| {
                let x = cast(common, x.dtype, x.lanes[lane]);
                holds(Op::Lt, x, y) || (holds(Op::Ne, y, y) && holds(Op::Eq, x, x))
            };
            let place = |&y: &u64| {
                let y = cast(common, args[1].dtype, y);
                order.partition_point(|&lane| below(lane, y)) as u64
            };
            args[1].lanes.iter().map(place).collect()
        }
        Whole::BinarySearch => {
            let place = |&bits: &u64| {
                let x = cast(DType::I64, x.dtype, bits).cast_signed();
                x.clamp(0, SEARCHED.cast_signed()).cast_unsigned()
            };
            x.lanes.iter().map(place).collect()
        }
        Whole::Compress => {
            let kept = (0..size_of(args)).filter(|&i| at(args[1], i) & 1 != 0);
            kept.map(|i| at(x, i)).collect()
        }
        Whole::TrueLanes => (0..size).filter(|&i| at(x, i) & 1 != 0).map(|i| i as u64).collect(),
        Whole::Partition => {
            let few = |&bits: &u64| apply_bits(Op::Rem, x.dtype, x.dtype, [bits, FEW, 0]);
            let few = Value { dtype: x.dtype, lanes: x.lanes.iter().map(few).collect() };
            order_of(&few, Order::Ascending).into_iter().map(|lane| lane as u64).collect()
        }
        Whole::Cumprod => prefix(Op::Mul, x),
        Whole::Cummin => extremes(Op::Min, x),
        Whole::Cummax => extremes(Op::Max, x),
        Whole::PsumExclusive => {
            let sums = prefix(Op::Add, x);
            [0].into_iter().chain(sums).take(size).collect()
        }
        Whole::PsumReverse => {
            let turned = x.lanes.iter().rev().copied().collect();
            let sums = prefix(Op::Add, &Value { dtype: x.dtype, lanes: turned });
            sums.into_iter().rev().collect()
        }
        Whole::BlockPrefixSum(length) => {
            x.lanes.chunks(index(length)).flat_map(|block| doubled_sums(x.dtype, block)).collect()
        }
        Whole::BlockSum(length) => block_sums(x, index(length)),
        Whole::Histogram(bins) => histogram(x, index(bins)),
        Whole::Argmin | Whole::Argmax => {
            let op = if whole == Whole::Argmin { ReduceOp::Min } else { ReduceOp::Max };
            let extreme = visible(x.dtype, reduce(op, x));
            let found = x.lanes.iter().position(|&lane| visible(x.dtype, lane) == extreme);
            vec![found.unwrap_or(0) as u64]
        }
        Whole::Median => vec![median(x, dtype)],
        Whole::Var | Whole::Std => {
            // Sums of integers are rounded by f32.
            let wide = if x.dtype.is_float() { dtype.widened() } else { DType::F64 };
            let variance = variance(&converted(x, wide));
            let root = apply_bits(Op::Sqrt, wide, wide, [variance, 0, 0]);
            vec![cast(dtype, wide, if whole == Whole::Std { root } else { variance })]
        }
        Whole::Isclose(equal_nan) => {
            let n = size_of(args);
            (0..n).map(|i| u64::from(close(x, args[1], i, equal_nan))).collect()
        }
        Whole::NanToNum(has_numbers) => {
            x.lanes.iter().map(|&lane| filled(x.dtype, lane, has_numbers)).collect()
        }
        Whole::Hash => x.lanes.iter().map(|&lane| hash(visible(x.dtype, lane))).collect(),
        Whole::Linspace(first, last) => linspace(dtype, first as f64, last as f64, n),
        Whole::ScatterInc | Whole::ScatterIncCounts => {
            let mut counts = x.lanes.clone();
            let mut found = Vec::new();
            for i in 0..size_of(&args[1..]) {
                let place = position(args[1], i, size).filter(|_| at(args[2], i) & 1 != 0);
                found.push(place.map_or(0, |place| counts[place]));
                if let Some(place) = place {
                    let count = counts[place];
                    counts[place] = apply_bits(Op::Add, dtype, dtype, [count, 1, 0]);
                }
            }
            if whole == Whole::ScatterInc { found } else { counts }
        }
        Whole::ScatterExch(after) => exchanged(args, None, after),
        Whole::ScatterCas(after) => exchanged(args, Some(args[4]), after),
        Whole::Random(draw) => {
            let n = size_of(args);
            let lane = |i: usize| {
                let mut rng = Generator::new(at(x, i), at(args[1], i));
                // Lanes that are not active do not move on.
                if at(args[2], i) & 1 != 0 {
                    rng.draw(draw);
                }
                rng.draw(draw)
            };
            finished(draw, (0..n).map(lane).collect())
        }
        Whole::RandomBelow(draw) => {
            let lane = |i: usize| {
                let mut rng = Generator::new(at(x, i), 7);
                let (active, bound) = (at(args[2], i) & 1 != 0, at(args[1], i));
                if active { rng.below(draw, bound) } else { 0 }
            };
            (0..size_of(args)).map(lane).collect()
        }
        Whole::RandomDistance => (0..size_of(args)).map(|i| at(args[2], i)).collect(),
    }
}

/// What lanes find that put `args[3]` into `args[0]`, where they find what they compare with, and what is there then.
fn exchanged(args: &[&Value], compare: Option<&Value>, after: After) -> Vec<u64> {
    let dtype = args[0].dtype;
    let mut target = args[0].lanes.clone();
    let (mut found, mut swapped) = (Vec::new(), Vec::new());
    let n = args[1..].iter().map(|arg| arg.lanes.len()).find(|&size| size != 1).unwrap_or(1);
    for i in 0..n {
        let place = position(args[1], i, target.len()).filter(|_| at(args[2], i) & 1 != 0);
        let old = place.map_or(0, |place| target[place]);
        let swaps = compare.is_none_or(|x| visible(dtype, at(x, i)) == visible(dtype, old));
        if let Some(place) = place.filter(|_| swaps) {
            target[place] = at(args[3], i);
        }
        found.push(old);
        swapped.push(u64::from(place.is_some() && swaps));
    }
    match after {
        After::Found => found,
        After::Target => target,
        After::Swapped => swapped,
    }
}

fn index(i: u64) -> usize {
    usize::try_from(i).unwrap_or(usize::MAX)
}

fn converted(x: &Value, dtype: DType) -> Value {
    Value { dtype, lanes: x.lanes.iter().map(|&lane| cast(dtype, x.dtype, lane)).collect() }
}

/// One lane in all; of several the first ones, then zeros.
fn resized(x: &Value, size: usize) -> Vec<u64> {
    match x.lanes[..] {
        [one] => vec![one; size],
        ref lanes => (0..size).map(|i| lanes.get(i).copied().unwrap_or(0)).collect(),
    }
}

/// `lerp(table[floor(x)], table[floor(x) + 1], x - floor(x))` for x brought between the table's ends.
fn interpolated(table: &Value, x: &Value, dtype: DType) -> Vec<u64> {
    let n = table.lanes.len();
    if n == 0 {
        return Vec::new();
    }
    let wide = if dtype == DType::F16 { DType::F32 } else { dtype };
    let table = converted(table, wide);
    let op = |op: Op, a: u64, b: u64, c: u64| apply_bits(op, wide, wide, [a, b, c]);
    if n == 1 {
        let only = |&bits: &u64| {
            let x = cast(wide, x.dtype, bits);
            let is_nan = apply_bits(Op::Ne, wide, wide, [x, x, 0]) & 1 != 0;
            cast(dtype, wide, if is_nan { x } else { table.lanes[0] })
        };
        return x.lanes.iter().map(only).collect();
    }
    let number = |i: usize| cast(wide, DType::U64, i as u64);
    let lane = |&bits: &u64| {
        let x = op(Op::Maximum, cast(wide, x.dtype, bits), number(0), 0);
        let x = op(Op::Minimum, x, number(n - 1), 0);
        let lower = index(cast(DType::U32, wide, x)).min(n - 2);
        let (a, b) = (table.lanes[lower], table.lanes[lower + 1]);
        let t = op(Op::Sub, x, number(lower), 0);
        cast(dtype, wide, op(Op::Fma, t, op(Op::Sub, b, a, 0), a))
    };
    x.lanes.iter().map(lane).collect()
}

/// Each in lane order; f16 accumulates in f32. Sums of negative zeros are negative.
fn block_sums(x: &Value, length: usize) -> Vec<u64> {
    let result = accumulated(x.dtype);
    if length == 1 {
        return x.lanes.iter().map(|&lane| cast(result, x.dtype, lane)).collect();
    }
    let wide = if x.dtype == DType::F16 { DType::F32 } else { result };
    let nothing = if wide.is_float() { 1 << (wide.bits() - 1) } else { 0 };
    let add = |sum: u64, &lane: &u64| {
        apply_bits(Op::Add, wide, wide, [sum, cast(wide, x.dtype, lane), 0])
    };
    let sum = |block: &[u64]| cast(result, wide, block.iter().fold(nothing, add));
    x.lanes.chunks(length).map(sum).collect()
}

/// Each lane takes the sum so far of the lane 1, 2, 4 .. before it; f16 accumulates in f32.
fn doubled_sums(dtype: DType, block: &[u64]) -> Vec<u64> {
    let result = accumulated(dtype);
    let wide = if dtype == DType::F16 { DType::F32 } else { result };
    let mut sums: Vec<u64> = block.iter().map(|&lane| cast(wide, dtype, lane)).collect();
    let mut distance = 1;
    while distance < sums.len() {
        let before = sums.clone();
        for i in distance..sums.len() {
            sums[i] = apply_bits(Op::Add, wide, wide, [before[i - distance], before[i], 0]);
        }
        distance *= 2;
    }
    sums.into_iter().map(|sum| cast(result, wide, sum)).collect()
}

/// Lane x counts in bin `min(trunc((x - low) * (bins / (high - low))), bins - 1)`.
fn histogram(x: &Value, bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    let dtype = x.dtype.quotient().widened();
    let number = |number: f64| cast(dtype, DType::F64, number.to_bits());
    let (low, high) = (number(INTERVAL.0), number(INTERVAL.1));
    let scale = number(bins as f64 / (INTERVAL.1 - INTERVAL.0));
    let op = |op: Op, a: u64, b: u64| apply_bits(op, dtype, dtype, [a, b, 0]);
    for lane in &converted(x, dtype).lanes {
        if op(Op::Ge, *lane, low) & op(Op::Le, *lane, high) & 1 != 0 {
            let place = op(Op::Mul, op(Op::Sub, *lane, low), scale);
            counts[index(cast(DType::U32, dtype, place)).min(bins - 1)] += 1;
        }
    }
    counts
}

/// Of an even number half the sum of the two in the middle, halves first; NaN if any lane is, or of nothing.
fn median(x: &Value, dtype: DType) -> u64 {
    let order = order_of(x, Order::Ascending);
    let nan = cast(dtype, DType::F64, f64::NAN.to_bits());
    let Some(&last) = order.last() else { return nan };
    let lane = |i: usize| cast(dtype, x.dtype, x.lanes[order[i]]);
    let is_nan = |bits: u64| apply_bits(Op::Ne, dtype, dtype, [bits, bits, 0]) & 1 != 0;
    let (n, half) = (order.len(), cast(dtype, DType::F64, 0.5_f64.to_bits()));
    match n % 2 {
        _ if is_nan(cast(dtype, x.dtype, x.lanes[last])) => nan,
        0 => {
            let upper = apply_bits(Op::Mul, dtype, dtype, [lane(n / 2), half, 0]);
            apply_bits(Op::Fma, dtype, dtype, [lane(n / 2 - 1), half, upper])
        }
        _ => lane(n / 2),
    }
}

/// The mean of the squared distances from the mean, of floats.
fn variance(x: &Value) -> u64 {
    let dtype = x.dtype;
    let middle = mean(x, dtype);
    let square = |&lane: &u64| {
        let distance = apply_bits(Op::Sub, dtype, dtype, [lane, middle, 0]);
        apply_bits(Op::Mul, dtype, dtype, [distance, distance, 0])
    };
    mean(&Value { dtype, lanes: x.lanes.iter().map(square).collect() }, dtype)
}

/// `|a - b| <= 0.5 + 0.25 |b|` for a finite b, or equal, or both NaN.
fn close(a: &Value, b: &Value, i: usize, equal_nan: bool) -> bool {
    let (a_bits, b_bits) = (at(a, i), at(b, i));
    let common = promote(a.dtype, b.dtype);
    let pair = [cast(common, a.dtype, a_bits), cast(common, b.dtype, b_bits), 0];
    let equal = apply_bits(Op::Eq, common, common, pair) & 1 != 0;
    let dtype = common.quotient();
    let op = |op: Op, x: u64, y: u64, z: u64| apply_bits(op, dtype, dtype, [x, y, z]);
    let number = |number: f64| cast(dtype, DType::F64, number.to_bits());
    let (x, y) = (cast(dtype, a.dtype, a_bits), cast(dtype, b.dtype, b_bits));
    let distance = op(Op::Abs, op(Op::Sub, x, y, 0), 0, 0);
    let size = op(Op::Abs, y, 0, 0);
    let allowed = op(Op::Fma, size, number(0.25), number(0.5));
    let finite = op(Op::Lt, size, number(f64::INFINITY), 0) & 1 != 0;
    let near = op(Op::Le, distance, allowed, 0) & 1 != 0;
    let nan = |bits: u64| op(Op::Ne, bits, bits, 0) & 1 != 0;
    equal || near && finite || equal_nan && nan(x) && nan(y)
}

/// `fma(i, step, first)` with the last lane exactly `last`; f16 is rounded from f32.
fn linspace(dtype: DType, first: f64, last: f64, n: usize) -> Vec<u64> {
    let wide = if dtype == DType::F16 { DType::F32 } else { dtype };
    let number = |number: f64| cast(wide, DType::F64, number.to_bits());
    let step = number((last - first) / n.saturating_sub(1).max(1) as f64);
    let lane = |i: usize| {
        let index = cast(wide, DType::U64, i as u64);
        let value = apply_bits(Op::Fma, wide, wide, [index, step, number(first)]);
        cast(dtype, wide, if n > 1 && i == n - 1 { number(last) } else { value })
    };
    (0..n).map(lane).collect()
}

/// A float, or what stands in its place.
fn filled(dtype: DType, bits: u64, has_numbers: bool) -> u64 {
    if !dtype.is_float() {
        return bits;
    }
    let x = f64::from_bits(cast(DType::F64, dtype, bits));
    let place = [x.is_nan(), x == f64::INFINITY, x == f64::NEG_INFINITY].iter().position(|&is| is);
    // The largest value of a type stands below the bits of infinity.
    let infinity = cast(dtype, DType::F64, f64::INFINITY.to_bits());
    let sign = 1 << (dtype.bits() - 1);
    match place {
        None => bits,
        Some(place) if has_numbers => cast(dtype, DType::F64, FILLED[place].to_bits()),
        Some(place) => [0, infinity - 1, (infinity - 1) | sign][place],
    }
}

/// The first number of SplitMix64 that starts from some bits.
fn hash(bits: u64) -> u64 {
    let x = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The published generator, PCG32 XSH-RR.
struct Generator {
    state: u64,
    inc: u64,
}

impl Generator {
    fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self { state: 0, inc: stream << 1 | 1 };
        rng.next();
        rng.state = rng.state.wrapping_add(seed);
        rng.next();
        rng
    }

    #[expect(clippy::cast_possible_truncation, reason = "the output is a word")]
    fn next(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(self.inc);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }

    /// Of normal numbers the place in (-1, 1).
    fn draw(&mut self, draw: Draw) -> u64 {
        let word = self.next();
        let wide = u64::from(word);
        match draw {
            Draw::UInt32 => wide,
            Draw::UInt64 => wide | u64::from(self.next()) << 32,
            Draw::Float16 => {
                let place = f64::from(word >> 22) / 1024.0;
                apply_bits(Op::Cast, DType::F16, DType::F64, [place.to_bits(), 0, 0])
            }
            Draw::Float32 => u64::from((f32::from_bits(word >> 9 | 0x3f80_0000) - 1.0).to_bits()),
            Draw::Float64 => (wide as f64 / 4_294_967_296.0).to_bits(),
            Draw::Normal32 => {
                #[expect(clippy::cast_precision_loss, reason = "24 bits")]
                let place = (word >> 8 | 1) as f32 / 8_388_608.0 - 1.0;
                u64::from(place.to_bits())
            }
            Draw::Normal64 => ((wide << 1 | 1) as f64 / 4_294_967_296.0 - 1.0).to_bits(),
        }
    }

    /// Numbers below `2^w mod bound` are drawn again; below 0 there is 0.
    fn below(&mut self, draw: Draw, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let width = if draw == Draw::UInt32 { 1_u128 << 32 } else { 1 << 64 };
        loop {
            let drawn = self.draw(draw);
            if u128::from(drawn) >= width % u128::from(bound) {
                return drawn % bound;
            }
        }
    }
}

/// A random order of `n` numbers, by Fisher and Yates from the end.
pub fn permutation(seed: u64, stream: u64, n: usize) -> Vec<usize> {
    let mut rng = Generator::new(seed, stream);
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, index(rng.below(Draw::UInt32, i as u64 + 1)));
    }
    order
}

/// Normal numbers from their places: `sqrt(2) erfinv(place)`.
fn finished(draw: Draw, lanes: Vec<u64>) -> Vec<u64> {
    let dtype = match draw {
        Draw::Normal32 => DType::F32,
        Draw::Normal64 => DType::F64,
        _ => return lanes,
    };
    let row = FUNCTIONS.iter().position(|function| function.name == "erfinv");
    let quantiles = function(row.expect("a row of the table"), &[&Value { dtype, lanes }]);
    let root = cast(dtype, DType::F64, std::f64::consts::SQRT_2.to_bits());
    quantiles.into_iter().map(|x| apply_bits(Op::Mul, dtype, dtype, [x, root, 0])).collect()
}
