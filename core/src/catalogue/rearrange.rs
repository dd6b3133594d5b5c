//! Lanes in other places: turned around, repeated, joined, packed, looked up.

use std::borrow::Cow;

use super::memory::{active, spread};
use super::{Answer, Call, Kind, Row, table};
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::Tensor;
use crate::value::{Argument, Slice, Value, map};

table! {
    /// What moves lanes.
    pub REARRANGE;
    /// The lanes from the last to the first, recorded, not run; of complex numbers too; of a vector: its components.
    ///
    /// >> reverse(Int32C([1, 2, 3]))
    /// [3, 2, 1]
    reverse(x: Value) = |c| match c.value(0)? {
        Value::Array(array) => array.reverse().map(Value::Array),
        Value::Nested(form, _) if form.is_number() => c.args[0].each("reverse", Array::reverse),
        Value::Nested(_, components) => Ok(Value::of_known_vector(components.into_iter().rev().collect())),
        Value::Tensor(tensor) => tensor.flip(None).map(Value::Tensor),
    };
    /// The lanes moved up by n, those at the end coming in at the front; down if n is negative. Recorded, not run;
    /// vectors component by component.
    ///
    /// >> roll(Int32C([1, 2, 3, 4]), 1)
    /// [4, 1, 2, 3]
    roll(x: Each, n: Integer) => roll;
    /// All lanes, n times over. Recorded, not run; vectors component by component.
    ///
    /// >> tile(Int32C([1, 2]), 3)
    /// [1, 2, 1, 2, 1, 2]
    tile(x: Each, n: Count("a number")) => tile;
    /// Each lane n times; recorded, not run. With an array of integers each lane as often as its own says, which is
    /// evaluated. Vectors component by component.
    ///
    /// >> repeat(Int32C([1, 2]), Int32C([3, 2]))
    /// [1, 1, 1, 2, 2]
    repeat(x: Each, n: Index) = |c| match c.args[1] {
        Argument::Number(_) => c.array(0)?.repeat(c.times(1)?),
        _ => c.array(0)?.repeat_each(c.array(1)?),
    };
    /// n lanes: of an array of size 1 the same in all; of others the first n, or all and then zeros. Recorded, not run;
    /// vectors component by component.
    ///
    /// >> resize(FloatC([1, 2, 3]), 5)
    /// [1, 2, 3, 0, 0]
    resize(x: Each, n: Count("a size")) => resize;
    /// The lanes of all arrays of a list one after the other, in their common type. Recorded, not run; vectors component
    /// by component.
    ///
    /// >> concat([Int32C([1, 2]), Int32C(), FloatC(0.5)])
    /// [1, 2, 0.5]
    concat(list: List) = |c| concat(c, c.args);
    /// All pairs of a lane of x and a lane of y, as a list of two arrays; x runs fastest. Recorded, not run.
    ///
    /// >> meshgrid(Int32C([0, 1]), Int32C([5, 6]))
    /// [[0, 1, 0, 1], [5, 5, 6, 6]]
    meshgrid(x: Array, y: Array) = |c| c.session.grid(&[c.array(0)?, c.array(1)?]);
    /// All triples of a lane of x, one of y and one of z, as a list of three arrays; x runs fastest, z slowest. Recorded,
    /// not run.
    ///
    /// >> meshgrid(Int32C([0, 1]), Int32C([5, 6]), Int32C([8, 9]))
    /// [[0, 1, 0, 1, 0, 1, 0, 1], [5, 5, 6, 6, 5, 5, 6, 6], [8, 8, 8, 8, 9, 9, 9, 9]]
    meshgrid(x: Array, y: Array, z: Array) = |c| {
        c.session.grid(&[c.array(0)?, c.array(1)?, c.array(2)?])
    };
    /// The lanes of x where the mask is true, in order. Their number depends on the mask, which is evaluated. Vectors
    /// component by component.
    ///
    /// >> compress(Int32C([1, 2, 3]), MaskC([true, false, true]))
    /// [1, 3]
    compress(x: Value, mask: Array) = |c| compress(c);
    /// Each value that occurs in an array of integers, ascending, with the numbers of the lanes that hold it: a list of
    /// [value, lanes]. Evaluates.
    ///
    /// >> partition(Int32C([7, 3, 7]))
    /// [[3, [1]], [7, [0, 2]]]
    partition(x: Array) = |c| {
        let part = |(value, lanes): (Scalar, Array)| Answer::List(vec![value.into(), lanes.into()]);
        Ok::<Vec<Answer>, Error>(c.array(0)?.partition()?.into_iter().map(part).collect())
    };
    /// x[index[i]] for each lane of an integer index, or for one number; negative ones count from the end. An index out
    /// of bounds gives 0, and an error at the next read; an array of one lane has it for every index. An index tensor of
    /// two axes or more gives what it finds in an array or in complex lanes its shape. Recorded, not run; vectors
    /// component by component.
    ///
    /// >> take(FloatC([10, 20, 30]), Int32C([0, -1]))
    /// [10, 30]
    /// >> take(FloatC([10, 20, 30]), TensorXiC([[0, -1], [1, 1]]))
    /// [[10, 30],
    ///  [20, 20]]
    take(x: Value, index: Index) = |c| {
        let (index, shape) = match *c.args[1] {
            Argument::Number(index) => (Cow::Owned(c.session.full(DType::I64, index, 1)?), None),
            _ => c.index(1)?,
        };
        let wide = c.widened(c.args[0])?;
        let found = Argument::from(&wide).each(c.op, |x| x.take(&index))?;
        c.in_shape(found, shape)
    };
    /// A table between its entries: lerp(table[i], table[i + 1], x - i) with i = floor(x), where x is first brought
    /// between 0 and the last entry's number. Floats; recorded, not run. Tables of vectors component by component.
    ///
    /// >> take_interp(FloatC([0, 10, 20, 40]), FloatC([0.5, 2.5, 9]))
    /// [5, 30, 40]
    take_interp(table: Value, x: Operand) = |c| interpolated(c);
    /// The line through points at x: xp are their places, ascending, and fp the values there. Beyond the ends the first and
    /// the last value, at a place that stands there twice that of the last one; NaN where x is. Floats, 32 bits of
    /// small types. Recorded, not run.
    ///
    /// >> interp(FloatC([10, 15, 30, 99]), FloatC([10, 20, 40]), FloatC([1, 2, 3]))
    /// [1, 1.5, 2.5, 3]
    interp(x: Operand, xp: Array, fp: Array) = |c| {
        let (places, table) = (c.array(1)?, c.array(2)?);
        map(c.op, &c.args[..1], &|x| {
            c.as_array(x[0], table.dtype())?.interpolate(places, table)
        })
    };
    /// How many lanes of an ascending array are below each lane of x: where it could be inserted, in front of its equals
    /// (left, the default); with right behind them. NaN is above all numbers. UInt32C (UInt64C beyond 2^32 lanes), recorded, not run.
    ///
    /// >> searchsorted(FloatC([1, 2, 2, 5]), FloatC([0, 2, 9]))
    /// [0, 1, 4]
    /// >> searchsorted(FloatC([1, 2, 2, 5]), FloatC([0, 2, 9]), "right")
    /// [0, 3, 4]
    searchsorted(sorted: Array, x: Operand; side: Word(&["left", "right"])) = |c| {
        let is_right = c.given(2).is_some() && c.integer::<u64>(2)? == 1;
        searched(c, c.array(0)?, c.args[1], is_right)
    };
    /// How many of the bounds are at or below each lane of x, if they ascend: the number of its bin, which has its lower bound
    /// and not its upper one; with right true the other way round. If they descend, how many are above it. As searchsorted.
    ///
    /// >> digitize(FloatC([0.2, 1, 6.4]), FloatC([0, 1, 2.5, 4]))
    /// [1, 2, 4]
    /// >> digitize(FloatC([0.2, 1, 6.4]), FloatC([4, 2.5, 1, 0]))
    /// [3, 2, 0]
    digitize(x: Operand, bounds: Array; right: Bool("as right")) = |c| digitize(c);
    /// All entries of a vector, matrix, complex number or quaternion as one array, lane by lane: x0 y0 z0 x1 y1 z1 .., those
    /// of a matrix row by row, as ndarray() has them. Vector3fC::unravel(a), of each such type, is the way back. An array
    /// stays what it is. Recorded, not run.
    ///
    /// >> ravel(Vector2fC([1, 2], [3, 4]))
    /// [1, 3, 2, 4]
    ravel(x: Value) = |c| c.session.interleave(&c.args[0].rows()).map(Value::Array);
    /// Adds 1 to target[index[i]] for each lane where active (optional) is true, one after the other, and gives what each
    /// lane found there: consecutive numbers for equal indices, such as places in a queue. Integers only. Recorded, not
    /// run. An index out of bounds is dropped (it gives 0), and an error at the next read. An index tensor of two axes or
    /// more gives what it finds its shape.
    ///
    /// >> n = UInt32C::zero(3); scatter_inc(n, UInt32C([2, 0, 2]))
    /// [0, 0, 1]
    scatter_inc(target: Target, index: Array; active: Active) = |c| {
        let (index, shape) = c.index(1)?;
        let mut target = c.array(0)?.clone();
        let found = target.scatter_inc(&index, active(c, 2, shape)?.as_deref())?;
        written(target, c.in_shape(found.into(), shape)?)
    };
    /// Puts value[i] into target[index[i]] for each lane where active (optional) is true, one lane after the other, and
    /// gives what each lane found there: of equal indices the value of the lane before. The value is a number or an array of
    /// the target's type or one that fits it. Recorded, not run; the same on every device, on a GPU by its host. An index
    /// out of bounds is dropped (it gives 0), and an error at the next read. An index tensor as of scatter_inc; the value
    /// broadcasts to its shape.
    ///
    /// >> a = Int32C([1, 2, 3]); scatter_exch(a, Int32C([7, 8, 9]), UInt32C([2, 0, 2]))
    /// [3, 1, 7]
    scatter_exch(target: Target, value: Operand, index: Array; active: Active) = |c| {
        let (index, shape) = c.index(2)?;
        let mut target = c.array(0)?.clone();
        let (value, active) = (spread(c, 1, shape)?, active(c, 3, shape)?);
        let value = operand(c, 1, value.as_ref())?;
        let found = target.scatter_exch(value, &index, active.as_deref())?;
        written(target, c.in_shape(found.into(), shape)?)
    };
    /// Puts value[i] into target[index[i]] if it finds compare[i] there, for each lane where active (optional) is true, one
    /// lane after the other. A list of what each lane found, and a mask of the lanes that put their values. Bits are
    /// compared: -0 is not 0, and every NaN is the same. Else as scatter_exch.
    ///
    /// >> a = Int32C([1, 2, 3]); scatter_cas(a, Int32C([3, 2, 3]), Int32C([7, 8, 9]), UInt32C([2, 0, 2]))
    /// [[3, 1, 7], [1, 0, 0]]
    scatter_cas(
        target: Target, compare: Operand, value: Operand, index: Array; active: Active
    ) = |c| {
        let (index, shape) = c.index(3)?;
        let mut target = c.array(0)?.clone();
        let (compare, value) = (spread(c, 1, shape)?, spread(c, 2, shape)?);
        let [compare, value] =
            [operand(c, 1, compare.as_ref())?, operand(c, 2, value.as_ref())?];
        let active = active(c, 4, shape)?;
        let found = target.scatter_cas(compare, value, &index, active.as_deref())?;
        let found = found.map(|found| c.in_shape(found.into(), shape));
        written(target, found.into_iter().collect::<Result<Vec<Value>>>()?)
    };
}

/// The bins of bounds that ascend, or descend.
fn digitize(c: &Call<'_, '_>) -> Result<Value> {
    // The bin has its lower bound, so equal bounds are behind, unless it is the other way round.
    let (bounds, is_right) = (c.array(1)?, !c.truth(2)?);
    let n = bounds.size();
    if n < 2 {
        return searched(c, bounds, c.args[0], is_right);
    }
    let along = Tensor::from(bounds);
    let end = |slice: Slice| along.slice(0, slice)?.entries().map(|mut ends| ends.swap_remove(0));
    let descends = end(Slice::from(-1..))?.lt(&end(Slice::from(0..1))?)?;
    let turned = along.flip(None)?.entries()?.swap_remove(0);
    let choose =
        |a: Operand<'_>, b: Operand<'_>| c.session.apply(Op::Select, &[(&descends).into(), a, b]);
    let ascending = choose((&turned).into(), bounds.into())?;
    let found = searched(c, &ascending, c.args[0], is_right)?;
    Argument::from(&found).each(c.op, |found| {
        let above = found.try_neg()?.try_add(Scalar::UInt(n))?;
        choose((&above).into(), found.into())
    })
}

/// How many lanes of an ascending array are below each lane of x, or not above it.
fn searched(c: &Call<'_, '_>, sorted: &Array, x: &Argument<'_>, is_right: bool) -> Result<Value> {
    map(c.op, &[x], &|x| {
        let x = c.as_array(x[0], sorted.dtype())?;
        if is_right { sorted.search_sorted_right(&x) } else { sorted.search_sorted(&x) }
    })
}

/// An argument, or what it is in the shape of an index.
fn operand<'s, 'a: 's>(
    c: &Call<'_, 'a>,
    i: usize,
    spread: Option<&'s Value>,
) -> Result<Operand<'s>> {
    match spread {
        Some(Value::Array(lanes)) => Ok(Operand::Array(lanes)),
        _ => c.args[i].operand(c.op),
    }
}

/// A new value of the target, and what lanes found there.
fn written(target: Array, found: impl Into<Answer>) -> Result<Answer> {
    Ok(Answer::Written(target.into(), Some(Box::new(found.into()))))
}

fn concat(c: &Call<'_, '_>, parts: &[&Argument<'_>]) -> Result<Value> {
    let form = match parts {
        [first, ..] if first.is_nested() => first.form(),
        _ => {
            let arrays = parts.iter().map(|part| c.one(part)).collect::<Result<Vec<_>>>()?;
            return c.session.concat(&arrays).map(Value::Array);
        }
    };
    let n = form.n_components();
    let parts = parts.iter().map(|part| c.widened(part)).collect::<Result<Vec<_>>>()?;
    if let Some(other) = parts.iter().find(|part| part.components().len() != n) {
        let (got, expected) = (other.type_name(), parts[0].type_name());
        return Err(Error::forms(format!("{}: got {got} in a list of {expected}", c.op)));
    }
    let component = |i: usize| {
        let parts: Vec<Argument<'_>> =
            parts.iter().map(|part| (&part.components()[i]).into()).collect();
        concat(c, &parts.iter().collect::<Vec<_>>())
    };
    Ok(Value::of_known(form, (0..n).map(component).collect::<Result<_>>()?))
}

fn compress(c: &Call<'_, '_>) -> Result<Value> {
    let mask = c.array(1)?;
    if let Argument::Array(x) = c.args[0] {
        return x.compress(mask).map(Value::Array);
    }
    // One count of the mask for all components.
    let lanes = c.args[0].lanes().unwrap_or(0);
    let size = crate::trace::broadcast_size("compress", lanes, mask.size())?;
    let index = mask.resize(size)?.true_lanes()?;
    c.args[0].each(c.op, |x| x.resize(size)?.gather(&index, None))
}

/// A table of one axis between its entries at those of a tensor, or as arrays and vectors go together.
fn interpolated(c: &Call<'_, '_>) -> Result<Value> {
    let between = |table: &Array, x: crate::array::Operand<'_>| {
        table.take_interpolated(&c.as_array(x, table.dtype())?)
    };
    if let [Argument::Tensor(_), _] | [_, Argument::Tensor(_)] = c.args {
        let table = c.args[0].to_tensor(c.op)?;
        let [entries] = &table.entries()?[..] else {
            return Err(c.unexpected(0, "a table of real numbers"));
        };
        if table.shape().rank() != 1 {
            return Err(c.unexpected(0, "a table of one axis"));
        }
        let Some(x) = c.args[1].as_tensor(c.op)? else {
            return Err(c.unexpected(1, "an array or a tensor"));
        };
        return x.real(c.op)?.each(|x| between(entries, x.into())).map(Value::Tensor);
    }
    map(c.op, c.args, &|operands| between(&c.as_array(operands[0], DType::F32)?, operands[1]))
}
