//! Functions over the lanes of arrays, or over the components of vectors: reductions, prefix sums, sorts, statistics.

use super::statistics::histogram;
use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::Order;
use crate::value::{Argument, Value, apply, map};

table! {
    /// What goes over lanes or components.
    pub ACROSS_LANES;
    /// Sum of all lanes (an array of size 1, lazy; one order of combining on every device), of complex numbers too; of a
    /// vector: of its components, lane by lane. Integers of 8 and 16 bits give Int32C or UInt32C, a mask UInt32C; what is beyond 32 or 64
    /// bits wraps (NumPy sums all in 64).
    ///
    /// >> hsum(Int32C([1, 2, 4]))
    /// [7]
    hsum(x: Value) = |c| c.value(0)?.reduce(ReduceOp::Sum);
    /// Product of all lanes (an array of size 1, lazy; one order of combining on every device); of a vector: of its
    /// components, lane by lane. Types as of hsum.
    ///
    /// >> hprod(Int32C([1, 2, 4]))
    /// [8]
    hprod(x: Value) = |c| c.value(0)?.reduce(ReduceOp::Prod);
    /// Smallest lane, NaN ignored (an array of size 1, lazy; one order of combining on every device); of a vector: of
    /// its components, lane by lane.
    ///
    /// >> hmin(Int32C([1, 2, 4]))
    /// [1]
    hmin(x: Value) = |c| c.value(0)?.reduce(ReduceOp::Min);
    /// Largest lane, NaN ignored (an array of size 1, lazy; one order of combining on every device); of a vector: of
    /// its components, lane by lane.
    ///
    /// >> hmax(Int32C([1, 2, 4]))
    /// [4]
    hmax(x: Value) = |c| c.value(0)?.reduce(ReduceOp::Max);
    /// Arithmetic mean of all lanes (size 1, lazy), or of a vector's components; of a mask, how many are true, from 0 to 1;
    /// NaN of nothing.
    ///
    /// >> hmean(Int32C([1, 2]))
    /// [1.5]
    hmean(x: Value) = |c| c.value(0)?.mean();
    /// Sum of the lanes that are not NaN, as hsum; 0 of nothing.
    ///
    /// >> nansum(FloatC([1, nan, 4]))
    /// [5]
    nansum(x: Value) = |c| c.value(0)?.without_nan(0.0)?.reduce(ReduceOp::Sum);
    /// Product of the lanes that are not NaN, as hprod; 1 of nothing.
    ///
    /// >> nanprod(FloatC([3, nan, 4]))
    /// [12]
    nanprod(x: Value) = |c| c.value(0)?.without_nan(1.0)?.reduce(ReduceOp::Prod);
    /// Arithmetic mean of the lanes that are not NaN, as hmean; NaN of nothing.
    ///
    /// >> nanmean(FloatC([1, nan, 4]))
    /// [2.5]
    nanmean(x: Value) = |c| c.value(0)?.mean_without_nan(Value::reduce);
    /// Smallest lane that is not NaN: another name of hmin.
    ///
    /// >> nanmin(FloatC([3, nan, 4]))
    /// [3]
    nanmin(x: Value) = |c| c.value(0)?.reduce(ReduceOp::Min);
    /// Largest lane that is not NaN: another name of hmax.
    ///
    /// >> nanmax(FloatC([3, nan, 4]))
    /// [4]
    nanmax(x: Value) = |c| c.value(0)?.reduce(ReduceOp::Max);
    /// Whether any lane of a mask is true (evaluates, gives a bool); of a vector: or of its components, lane by lane.
    ///
    /// >> any(Int32C([1, 2, 4]) > 1)
    /// true
    any(mask: Mask) = |c| truth(c, ReduceOp::Any);
    /// Whether all lanes of a mask are true (evaluates, gives a bool); of a vector: and of its components, lane by lane.
    ///
    /// >> all(Int32C([1, 2, 4]) > 1)
    /// false
    all(mask: Mask) = |c| truth(c, ReduceOp::All);
    /// Whether no lane of a mask is true (evaluates, gives a bool); of a vector: not or of its components, lane by lane.
    ///
    /// >> none(Int32C([1, 2, 4]) > 1)
    /// false
    none(mask: Mask) = |c| truth(c, ReduceOp::Any).and_then(not);
    /// Number of true lanes of a mask (evaluates, gives an integer); of a vector: number of its components, lane by lane.
    ///
    /// >> count(Int32C([1, 2, 4]) > 1)
    /// 2
    count(mask: Mask) = |c| truth(c, ReduceOp::Count);
    /// Sum of the lanes before each, recorded, not run; lane 0 is 0. Types as of hsum.
    ///
    /// >> psum_exclusive(Int32C([3, 1, 4]))
    /// [0, 3, 4]
    psum_exclusive(x: Array) => prefix_sum_exclusive;
    /// Sums from the other end: lane i is the sum of lanes i to the last, added from the last on. Types as of hsum.
    /// Recorded, not run.
    ///
    /// >> psum_reverse(Int32C([3, 1, 4]))
    /// [8, 5, 4]
    psum_reverse(x: Array) => prefix_sum_reverse;
    /// Prefix sums in each block of n lanes; the last block may be short. Floats are added by doubling: over 1 lane before,
    /// then 2, 4, 8. Types as of hsum. Recorded, not run.
    ///
    /// >> block_prefix_sum(Int32C([1, 2, 3, 4, 5]), 2)
    /// [1, 3, 3, 7, 5]
    block_prefix_sum(x: Array, n: Count("a number of lanes")) => block_prefix_sum;
    /// The lanes of numbers or a mask, smallest first, in linear time; recorded, not run. -0 is below +0, and NaN comes
    /// last. A list of numbers or texts is sorted in place, and a copy of it is the value: a.sort(), by a function of two items a.sort(|a, b| a > b);
    /// a.order() leaves it as it is.
    ///
    /// >> sort(FloatC([3, nan, 1]))
    /// [1, 3, nan]
    sort(x: Array) = |c| c.array(0)?.sort(Order::Ascending);
    /// The lanes of numbers or a mask, largest first; recorded, not run. NaN comes last here, too.
    ///
    /// >> sort_desc(FloatC([3, nan, 1]))
    /// [3, 1, nan]
    sort_desc(x: Array) = |c| c.array(0)?.sort(Order::Descending);
    /// The lane numbers that sort an array: gather(x, argsort(x)) is sort(x). Lanes that are equal keep their order.
    /// UInt32C (UInt64C beyond 2^32 lanes), recorded, not run.
    ///
    /// >> argsort(Int32C([3, 1, 3, 0]))
    /// [3, 1, 0, 2]
    argsort(x: Array) = |c| c.array(0)?.argsort(Order::Ascending);
    /// The lane numbers that sort an array, largest first. Lanes that are equal keep their order. Recorded, not run.
    ///
    /// >> argsort_desc(Int32C([3, 1, 3, 0]))
    /// [0, 2, 1, 3]
    argsort_desc(x: Array) = |c| c.array(0)?.argsort(Order::Descending);
    /// The number of the first lane that holds the smallest value (an array of size 1, lazy). NaN is ignored, -0 is
    /// below +0.
    ///
    /// >> argmin(FloatC([3, nan, 1, 1]))
    /// [2]
    argmin(x: Array) => arg_extreme(ReduceOp::Min);
    /// The number of the first lane that holds the largest value (an array of size 1, lazy). NaN is ignored, +0 is above
    /// -0.
    ///
    /// >> argmax(FloatC([3, nan, 1, 3]))
    /// [0]
    argmax(x: Array) => arg_extreme(ReduceOp::Max);
    /// The middle value in order (size 1, lazy), of an even number of lanes half the sum of the two; NaN if a lane is
    /// NaN, or there is none.
    ///
    /// >> median(Int32C([9, 1, 2, 4]))
    /// [3]
    median(x: Array) => median;
    /// The value below which a part p of the lanes lies, 0 to 1 (size 1, lazy), between two lanes on the line through them,
    /// as NumPy has it; NaN if a lane is NaN, or there is none.
    ///
    /// >> quantile(FloatC([4, 1, 3, 2]), 0.9)
    /// [3.7]
    quantile(x: Array, p: Number("as a part")) = |c| c.array(0)?.quantile(c.number(1, 0.5)?);
    /// The mean squared distance from the mean, in two passes (size 1, lazy); NaN of nothing.
    ///
    /// >> var(FloatC([1, 2, 3, 4]))
    /// [1.25]
    var(x: Array) => variance;
    /// The square root of the variance (size 1, lazy).
    ///
    /// >> std(FloatC([2, 4]))
    /// [1]
    std(x: Array) => standard_deviation;
    /// Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; types as of hsum. Recorded, not run.
    /// Of complex numbers too; of a vector: over its components, lane by lane.
    ///
    /// >> psum(Int32C([3, 1, 4]))
    /// [3, 4, 8]
    psum(x: Value) = |c| c.value(0)?.prefix(Op::Add);
    /// Another name of psum. Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; types as of hsum.
    /// Recorded, not run. Of a vector: over its components, lane by lane.
    ///
    /// >> cumsum(Int32C([3, 1, 4]))
    /// [3, 4, 8]
    cumsum(x: Value) = |c| c.value(0)?.prefix(Op::Add);
    /// Prefix products: lane i is the product of lanes 0 to i, in one order on every device; types as of hsum, complex ones
    /// too. Recorded, not run. Of a vector: over its components, lane by lane.
    ///
    /// >> cumprod(Int32C([3, 1, 4]))
    /// [3, 3, 12]
    cumprod(x: Value) = |c| c.value(0)?.prefix(Op::Mul);
    /// Sums of blocks of n lanes, each in lane order; the last block may be short. Types as of hsum. Recorded, not run.
    ///
    /// >> block_sum(FloatC([1, 2, 3, 4, 5]), 2)
    /// [3, 7, 5]
    block_sum(x: Array, n: Count("a number of lanes")) => block_sum;
    /// How many lanes fall into each of the bins (10 unless given): intervals of equal width from low to high, both included;
    /// lanes outside and NaN do not count. UInt32C (UInt64C beyond 2^32 lanes), recorded, not run. The bin of x is
    /// min(trunc((x - low) * (bins / (high - low))), bins - 1). Without bounds they are the smallest and the largest lane,
    /// which are evaluated; bins may be a list of all bounds instead, each lower one included, and the last.
    ///
    /// >> histogram(FloatC([0, 0.5, 1.9, 2, 7]), 2, 0, 2)
    /// [2, 2]
    /// >> histogram(FloatC([0, 0.5, 1.9, 2, 7]), [0, 1, 2, 5])
    /// [2, 1, 1]
    histogram(
        x: Array; bins: Numbers("as bins"), low: Number("as a bound"),
        high: Number("as a bound")
    ) = |c| histogram(c, c.array(0)?);
    /// As hsum over all components of a vector and all their lanes (size 1, lazy).
    ///
    /// >> hsum_nested(Vector2fC([1, 2], [3, 4]))
    /// [10]
    hsum_nested(v: Value) = |c| c.value(0)?.reduce_nested(ReduceOp::Sum);
    /// As hprod over all components of a vector and all their lanes (size 1, lazy).
    ///
    /// >> hprod_nested(Vector2fC([1, 2], [3, 4]))
    /// [24]
    hprod_nested(v: Value) = |c| c.value(0)?.reduce_nested(ReduceOp::Prod);
    /// As hmin over all components of a vector and all their lanes (size 1, lazy).
    ///
    /// >> hmin_nested(Vector2fC([1, 2], [3, 4]))
    /// [1]
    hmin_nested(v: Value) = |c| c.value(0)?.reduce_nested(ReduceOp::Min);
    /// As hmax over all components of a vector and all their lanes (size 1, lazy).
    ///
    /// >> hmax_nested(Vector2fC([1, 2], [3, 4]))
    /// [4]
    hmax_nested(v: Value) = |c| c.value(0)?.reduce_nested(ReduceOp::Max);
    /// The mean of all components of a vector and all their lanes (size 1, lazy).
    ///
    /// >> hmean_nested(Vector2fC([1, 2], [3, 4]))
    /// [2.5]
    hmean_nested(v: Value) = |c| c.value(0)?.mean_nested();
    /// As any over all components of a vector and all their lanes; evaluates.
    ///
    /// >> any_nested(Vector2fC([1, 2], [3, 4]) > 1)
    /// true
    any_nested(mask: Mask) = |c| truth_nested(c, ReduceOp::Any);
    /// As all over all components of a vector and all their lanes; evaluates.
    ///
    /// >> all_nested(Vector2fC([1, 2], [3, 4]) > 1)
    /// false
    all_nested(mask: Mask) = |c| truth_nested(c, ReduceOp::All);
    /// As none over all components of a vector and all their lanes; evaluates.
    ///
    /// >> none_nested(Vector2fC([1, 2], [3, 4]) > 1)
    /// false
    none_nested(mask: Mask) = |c| truth_nested(c, ReduceOp::Any).and_then(|any| not(any.into()));
    /// As count over all components of a vector and all their lanes; evaluates.
    ///
    /// >> count_nested(Vector2fC([1, 2], [3, 4]) > 1)
    /// 3
    count_nested(mask: Mask) = |c| truth_nested(c, ReduceOp::Count);
    /// Whether any lane is true, if the mask is a number that is known already; else the default. Never evaluates: a
    /// hint, for branches that only save work.
    ///
    /// >> any_or(true, FloatC::arange(3) > 7)
    /// true
    any_or(default: Bool("first"), mask: Operand) = |c| known(c, ReduceOp::Any, false);
    /// Whether all lanes are true, if the mask is a number that is known already; else the default. Never evaluates: a
    /// hint, for branches that only save work.
    ///
    /// >> all_or(true, FloatC::arange(3) > 7)
    /// true
    all_or(default: Bool("first"), mask: Operand) = |c| known(c, ReduceOp::All, false);
    /// Whether no lane is true, if the mask is a number that is known already; else the default. Never evaluates: a
    /// hint, for branches that only save work.
    ///
    /// >> none_or(true, FloatC::arange(3) > 7)
    /// true
    none_or(default: Bool("first"), mask: Operand) = |c| known(c, ReduceOp::Any, true);
    /// Whether all lanes are near: |a - b| <= atol + rtol * |b|, or equal, or with equal_nan both NaN. rtol is 1e-5, atol
    /// 1e-8, equal_nan false unless given. Evaluates.
    ///
    /// >> allclose(FloatC([1, inf]), FloatC([1.000001, inf]))
    /// true
    allclose(
        a: Operand, b: Operand;
        rtol: Number("as rtol"), atol: Number("as atol"), equal_nan: Bool("as equal_nan")
    ) = |c| close(c)?.reduce_all(ReduceOp::All)?.item(0);
    /// Which lanes are near, as allclose has it: a mask. Recorded, not run.
    ///
    /// >> isclose(FloatC([1, 2, inf]), FloatC([1.000001, 3, inf]))
    /// [1, 0, 1]
    isclose(
        a: Operand, b: Operand;
        rtol: Number("as rtol"), atol: Number("as atol"), equal_nan: Bool("as equal_nan")
    ) = |c| close(c);
}

/// The lanes of a mask as one number, or its components lane by lane.
fn truth(c: &Call<'_, '_>, op: ReduceOp) -> Result<Answer> {
    if let Some(one) = of_truth(c, op) {
        return Ok(one.into());
    }
    let mask = c.value(0)?;
    let result = mask.reduce(op)?;
    match mask {
        Value::Array(_) | Value::Tensor(_) => result.item(0).map(Answer::from),
        Value::Nested(..) => Ok(result.into()),
    }
}

/// All lanes of all components of a mask as one number.
fn truth_nested(c: &Call<'_, '_>, op: ReduceOp) -> Result<Scalar> {
    match of_truth(c, op) {
        Some(one) => Ok(one),
        None => c.value(0)?.reduce_all(op)?.item(0),
    }
}

/// What a truth value by itself is as one number.
fn of_truth(c: &Call<'_, '_>, op: ReduceOp) -> Option<Scalar> {
    let Argument::Number(Scalar::Bool(truth)) = *c.args[0] else { return None };
    Some(if op == ReduceOp::Count { Scalar::UInt(truth.into()) } else { Scalar::Bool(truth) })
}

fn not(answer: Answer) -> Result<Answer> {
    Ok(match answer {
        Answer::Number(Scalar::Bool(truth)) => Scalar::Bool(!truth).into(),
        Answer::Value(mask) => apply(Op::Not, &[&(&mask).into()])?.into(),
        other => other,
    })
}

/// What is known of a mask without evaluating, else what is given before it.
fn known(c: &Call<'_, '_>, op: ReduceOp, negated: bool) -> Result<Scalar> {
    let default = c.truth(0)?;
    if let Argument::Number(Scalar::Bool(truth)) = *c.args[1] {
        return Ok((truth != negated).into());
    }
    if c.args[1].dtype() != Some(DType::Mask) {
        return Err(c.unexpected(1, "a mask"));
    }
    let leaves = c.args[1].leaves();
    let known = |leaf: &&Array| Some((leaf.literal()?.to_f64() != 0.0, leaf.is_empty()));
    let Some(known) = leaves.iter().map(known).collect::<Option<Vec<_>>>() else {
        return Ok(default.into());
    };
    let truth = match op {
        ReduceOp::All => known.iter().all(|&(truth, empty)| truth || empty),
        _ => known.iter().any(|&(truth, empty)| truth && !empty),
    };
    Ok((truth != negated).into())
}

/// Where two values are near.
fn close(c: &Call<'_, '_>) -> Result<Value> {
    let (rtol, atol, equal_nan) = (c.number(2, 1e-5)?, c.number(3, 1e-8)?, c.truth(4)?);
    let is_complex = |arg: &&Argument<'_>| match arg {
        Argument::Tensor(tensor) => tensor.is_complex(),
        arg => arg.form().is_number(),
    };
    if c.args[..2].iter().any(is_complex) {
        return close_numbers([c.args[0], c.args[1]], [rtol, atol], equal_nan);
    }
    map(c.op, &c.args[..2], &|operands| {
        let array = |i: usize| {
            let dtype = match operands[1 - i] {
                Operand::Array(other) => other.dtype(),
                Operand::Number(_) => DType::F64,
            };
            c.as_array(operands[i], dtype)
        };
        array(0)?.isclose(&array(1)?, rtol, atol, equal_nan)
    })
}

/// Complex numbers or quaternions are as far apart as their difference is long.
fn close_numbers(
    [a, b]: [&Argument<'_>; 2],
    [rtol, atol]: [f64; 2],
    equal_nan: bool,
) -> Result<Value> {
    let each = |op: Op, pair: [&Argument<'_>; 2], of_parts: ReduceOp| match apply(op, &pair)? {
        mask @ (Value::Array(_) | Value::Tensor(_)) => Ok(mask),
        parts @ Value::Nested(..) => parts.reduce(of_parts),
    };
    let both = |op: Op, a: &Value, b: &Value| apply(op, &[&a.into(), &b.into()]);
    let distance = apply(Op::Abs, &[&(&apply(Op::Sub, &[a, b])?).into()])?;
    let distance = Argument::from(&distance);
    let near = match b {
        // Infinity allows any distance.
        Argument::Number(b) => {
            let b = b.to_f64().abs();
            let allowed = if b.is_finite() { atol + rtol * b } else { -1.0 };
            apply(Op::Le, &[&distance, &allowed.into()])?
        }
        b => {
            let length = apply(Op::Abs, &[b])?;
            let length = Argument::from(&length);
            let relative = apply(Op::Mul, &[&length, &rtol.into()])?;
            let allowed = apply(Op::Add, &[&(&relative).into(), &atol.into()])?;
            let is_near = apply(Op::Le, &[&distance, &(&allowed).into()])?;
            both(Op::And, &is_near, &apply(Op::Lt, &[&length, &f64::INFINITY.into()])?)?
        }
    };
    let close = both(Op::Or, &near, &each(Op::Eq, [a, b], ReduceOp::All)?)?;
    let nan = |x: &Argument<'_>| each(Op::Ne, [x, x], ReduceOp::Any);
    match b {
        _ if !equal_nan => Ok(close),
        Argument::Number(b) if !b.to_f64().is_nan() => Ok(close),
        Argument::Number(_) => both(Op::Or, &close, &nan(a)?),
        b => both(Op::Or, &close, &both(Op::And, &nan(a)?, &nan(b)?)?),
    }
}
