//! Lanes in other places: packed, repeated, joined, turned around, looked up.

use porcini_core::{Array, DType, Operand, Result as CoreResult, Scalar};
use rhai::{Dynamic, FnPtr, NativeCallContext};

use super::gather_scatter::array_argument;
use super::horizontal::{count_argument, shown};
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::nested;
use crate::value::{Arg, ArrayRef, Node, dynamic, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    turning(registry);
    multiplying(registry);
    joining(registry);
    packing(registry);
    looking_up(registry);
    searching(registry);
    counting(registry);
}

fn turning(registry: &mut Registry<'_>) {
    registry.doc(
        "reverse",
        "(x)",
        "The lanes from the last to the first, recorded, not run; of a vector: its components.\n\n\
         >> reverse(Int32C([1, 2, 3]))\n[3, 2, 1]",
    );
    registry.on_array("reverse", 1, |context, call, x, _| {
        context.at(call);
        if let Some(components) = x.components() {
            return Ok(ArrayRef::vector(components.iter().rev().map(ArrayRef::copy).collect()));
        }
        x.array("reverse")?.reverse().map(ArrayRef::leaf).or_fault()
    });
    registry.doc(
        "roll",
        "(x, n)",
        "The lanes moved up by n, those at the end coming in at the front; down if n is negative. Recorded, not \
         run; vectors component by component.\n\n>> roll(Int32C([1, 2, 3, 4]), 1)\n[4, 1, 2, 3]",
    );
    registry.on_array("roll", 2, |context, call, x, rest| {
        context.at(call);
        let distance = rest[0].as_int();
        let distance = distance
            .map_err(|_| fault(format!("roll: got {}, expected an integer", shown(rest[0]))))?;
        each_component("roll", x, &|x| x.roll(distance))
    });
}

fn multiplying(registry: &mut Registry<'_>) {
    type Multiply = (&'static str, fn(&Array, u64) -> CoreResult<Array>, &'static str);
    let rows: [Multiply; 3] = [
        (
            "tile",
            Array::tile,
            "All lanes, n times over. Recorded, not run; vectors component by component.\n\n\
             >> tile(Int32C([1, 2]), 3)\n[1, 2, 1, 2, 1, 2]",
        ),
        (
            "repeat",
            Array::repeat,
            "Each lane n times. Recorded, not run; vectors component by component.\n\n\
             >> repeat(Int32C([1, 2]), 3)\n[1, 1, 1, 2, 2, 2]",
        ),
        (
            "resize",
            Array::resize,
            "n lanes: of an array of size 1 the same in all; of others the first n, or all and then zeros. \
             Recorded, not run; vectors component by component.\n\n\
             >> resize(FloatC([1, 2, 3]), 5)\n[1, 2, 3, 0, 0]",
        ),
    ];
    for (name, function, doc) in rows {
        registry.doc(name, "(x, n)", doc);
        registry.on_array(name, 2, move |context, call, x, rest| {
            context.at(call);
            let what = if name == "resize" { "a size" } else { "a number" };
            let n = count_argument(name, what, rest[0])?;
            each_component(name, x, &|x| function(x, n))
        });
    }
}

fn joining(registry: &mut Registry<'_>) {
    registry.doc(
        "concat",
        "(list)",
        "The lanes of all arrays of a list one after the other, in their common type. Recorded, not run; vectors \
         component by component.\n\n>> concat([Int32C([1, 2]), Int32C(), FloatC(0.5)])\n[1, 2, 0.5]",
    );
    registry.any("concat", 1, |context, call, args| {
        context.at(call);
        let list = args[0].read_lock::<rhai::Array>().map(|list| list.clone());
        let list = list.ok_or_else(|| {
            fault_with_hint(
                format!("concat: got {}, expected a list of arrays", type_name(args[0])),
                "write concat([a, b])",
            )
        })?;
        let part = |part: &Dynamic| {
            let array = part.read_lock::<ArrayRef>().map(|array| array.clone());
            array.ok_or_else(|| {
                fault(format!("concat: got {} in the list, expected arrays", type_name(part)))
            })
        };
        concat(context, &list.iter().map(part).collect::<Result<Vec<_>>>()?)
    });
    registry.doc(
        "meshgrid",
        "(x, y)",
        "All pairs of a lane of x and a lane of y, as a list of two arrays; x runs fastest. Recorded, not run.\n\n\
         >> meshgrid(Int32C([0, 1]), Int32C([5, 6]))\n[[0, 1, 0, 1], [5, 5, 6, 6]]",
    );
    registry.on_array("meshgrid", 2, |context, call, x, rest| {
        context.at(call);
        let (x, y) = (x.array("meshgrid")?, array_argument("meshgrid", "y", rest[0])?);
        let pair = context.session.meshgrid(&x, &y).or_fault()?;
        Ok(pair.map(ArrayRef::leaf).map(Dynamic::from).to_vec())
    });
}

fn concat(context: &Context, parts: &[ArrayRef]) -> Result<ArrayRef> {
    let first = parts.first().and_then(|first| Some((first.form(), first.components()?)));
    let Some((form, components)) = first else {
        let arrays = parts.iter().map(|part| part.array("concat")).collect::<Result<Vec<_>>>()?;
        let arrays: Vec<&Array> = arrays.iter().collect();
        return context.session.concat(&arrays).map(ArrayRef::leaf).or_fault();
    };
    let parts = parts.iter().map(|part| widened("concat", part)).collect::<Result<Vec<_>>>()?;
    let component = |i: usize| {
        let part = |part: &ArrayRef| match part.components() {
            Some(own) if own.len() == components.len() => Ok(own[i].clone()),
            _ => {
                let (got, expected) = (part.type_name(), parts[0].type_name());
                Err(fault(format!("concat: got {got} in a list of {expected}")))
            }
        };
        concat(context, &parts.iter().map(part).collect::<Result<Vec<_>>>()?)
    };
    Ok(ArrayRef::nested(form, (0..components.len()).map(component).collect::<Result<_>>()?))
}

fn packing(registry: &mut Registry<'_>) {
    registry.doc(
        "compress",
        "(x, mask)",
        "The lanes of x where the mask is true, in order. Their number depends on the mask, which is evaluated. \
         Vectors component by component.\n\n\
         >> compress(Int32C([1, 2, 3]), MaskC([true, false, true]))\n[1, 3]",
    );
    registry.on_array("compress", 2, |context, call, x, rest| {
        context.at(call);
        let mask = array_argument("compress", "mask", rest[0])?;
        let lanes = x.lanes().unwrap_or(0);
        if x.components().is_none() {
            return x.array("compress")?.compress(&mask).map(ArrayRef::leaf).or_fault();
        }
        // One count of the mask for all components.
        let mask = if mask.size() == 1 { mask.resize(lanes).or_fault()? } else { mask };
        let size = mask.size();
        let index = mask.true_lanes().or_fault()?;
        if lanes != size && lanes != 1 {
            let (lhs, rhs) = (lanes, size);
            return Err(porcini_core::Error::SizeMismatch { op: "compress", lhs, rhs }).or_fault();
        }
        each_component("compress", x, &|x| x.resize(size)?.gather(&index, None))
    });
    registry.doc(
        "partition",
        "(x)",
        "Each value that occurs in an array of integers, ascending, with the numbers of the lanes that hold it: a \
         list of [value, lanes]. Evaluates.\n\n\
         >> partition(Int32C([7, 3, 7]))\n[[3, [1]], [7, [0, 2]]]",
    );
    registry.on_array("partition", 1, |context, call, x, _| {
        context.at(call);
        let parts = x.array("partition")?.partition().or_fault()?;
        let part = |(value, lanes): (Scalar, Array)| {
            Dynamic::from(vec![dynamic(value), Dynamic::from(ArrayRef::leaf(lanes))])
        };
        Ok(parts.into_iter().map(part).collect::<rhai::Array>())
    });
}

fn looking_up(registry: &mut Registry<'_>) {
    registry.doc(
        "take",
        "(x, index)",
        "x[index[i]] for each lane of an integer index, or for one number; negative ones count from the end. An \
         index out of bounds gives 0, and an error at the next read. Recorded, not run; vectors component by \
         component.\n\n>> take(FloatC([10, 20, 30]), Int32C([0, -1]))\n[10, 30]",
    );
    registry.on_array("take", 2, |context, call, x, rest| {
        context.at(call);
        let index = match rest[0].as_int() {
            Ok(index) => context.session.full(DType::I64, index, 1).or_fault()?,
            Err(_) => array_argument("take", "index", rest[0])?,
        };
        each_component("take", x, &|x| x.take(&index))
    });
    registry.doc(
        "take_interp",
        "(table, x)",
        "A table between its entries: lerp(table[i], table[i + 1], x - i) with i = floor(x), where x is first \
         brought between 0 and the last entry's number. Floats; recorded, not run. Tables of vectors component by \
         component.\n\n>> take_interp(FloatC([0, 10, 20, 40]), FloatC([0.5, 2.5, 9]))\n[5, 30, 40]",
    );
    registry.on_array("take_interp", 2, |context, call, table, rest| {
        context.at(call);
        let x = Arg::new("take_interp", rest[0])?;
        nested::map("take_interp", &[Arg::Value(table.clone()), x], &|operands| match operands {
            [Operand::Array(table), x] => {
                table.take_interpolated(&as_array(context, *x, table.dtype())?)
            }
            _ => Err(one_array("take_interp")),
        })
    });
    registry.doc(
        "searchsorted",
        "(sorted, x)",
        "How many lanes of an ascending array are below each lane of x: where it could be inserted. UInt32C \
         (UInt64C beyond 2^32 lanes), recorded, not run.\n\n\
         >> searchsorted(FloatC([1, 2, 2, 5]), FloatC([0, 2, 9]))\n[0, 1, 4]",
    );
    registry.on_array("searchsorted", 2, |context, call, sorted, rest| {
        context.at(call);
        let sorted = sorted.array("searchsorted")?;
        let x = Arg::new("searchsorted", rest[0])?;
        nested::map("searchsorted", &[x], &|operands| match operands {
            [x] => sorted.search_sorted(&as_array(context, *x, sorted.dtype())?),
            _ => Err(one_array("searchsorted")),
        })
    });
}

fn searching(registry: &mut Registry<'_>) {
    registry.doc(
        "binary_search",
        "(start, end, below)",
        "The first integer from start up to end for which below is false, in each lane, if it is true for those \
         before: a bisection, recorded, not run. below gets an array of integers and returns a mask; it is never \
         asked about end, the answer where it is always true.\n\n\
         >> binary_search(0, 100, |i| i * i < Int32C([10, 81]))\n[4, 9]",
    );
    registry.any("binary_search", 3, |context, call, args| {
        context.at(call);
        let start = count_argument("binary_search", "a start", args[0])?;
        let end = count_argument("binary_search", "an end", args[1])?;
        let below = args[2].read_lock::<FnPtr>().map(|below| below.clone());
        let below = below.ok_or_else(|| {
            fault(format!("binary_search: got {}, expected a closure |i| mask", type_name(args[2])))
        })?;
        let mut trouble = None;
        let ask = |i: &Array| match ask(&below, call, i) {
            Ok(mask) => Ok(mask),
            Err(error) => {
                trouble = Some(error);
                Err(one_array("binary_search"))
            }
        };
        let found = context.session.binary_search(start, end, ask);
        match trouble {
            Some(error) => Err(error),
            None => found.map(ArrayRef::leaf).or_fault(),
        }
    });
}

/// What a closure says about integers: a mask.
fn ask(below: &FnPtr, call: &NativeCallContext<'_>, i: &Array) -> Result<Array> {
    let i = ArrayRef::leaf(i.clone());
    let answer = below.call_within_context::<Dynamic>(call, (i,))?;
    let mask = answer.read_lock::<ArrayRef>().map(|mask| mask.clone());
    match mask {
        Some(mask) if mask.dtype() == DType::Mask => mask.array("binary_search"),
        _ => {
            let got = type_name(&answer);
            Err(fault(format!("binary_search: the closure gave {got}, expected a mask")))
        }
    }
}

fn counting(registry: &mut Registry<'_>) {
    registry.doc(
        "scatter_inc",
        "(target, index, active)",
        "Adds 1 to target[index[i]] for each lane where active (optional) is true, one after the other, and gives \
         what each lane found there: consecutive numbers for equal indices, such as places in a queue. Integers \
         only. Recorded, not run. An index out of bounds is dropped (it gives 0), and an error at the next read.\n\n\
         >> n = UInt32C::zero(3); scatter_inc(n, UInt32C([2, 0, 2]))\n[0, 0, 1]",
    );
    for arity in [2, 3] {
        registry.on_array("scatter_inc", arity, |context, call, target, rest| {
            context.at(call);
            let index = array_argument("scatter_inc", "index", rest[0])?;
            let active = rest.get(1).map(|mask| array_argument("scatter_inc", "active", mask));
            let mut array = target.array("scatter_inc")?;
            let found = array.scatter_inc(&index, active.transpose()?.as_ref()).or_fault()?;
            target.set(Node::Leaf(array));
            Ok(ArrayRef::leaf(found))
        });
    }
}

/// Applies a function to each one-dimensional array inside, each in as many lanes as the value has.
fn each_component(
    op: &str,
    x: &ArrayRef,
    function: &dyn Fn(&Array) -> CoreResult<Array>,
) -> Result<ArrayRef> {
    let args = [Arg::Value(widened(op, x)?)];
    nested::components(op, &args, &|operands| match operands {
        [Operand::Array(x)] => function(x),
        _ => Err(one_array("component")),
    })
}

/// The value with all components in as many lanes as it has.
fn widened(op: &str, x: &ArrayRef) -> Result<ArrayRef> {
    if x.components().is_none() {
        return Ok(x.clone());
    }
    let lanes = x.lanes().ok_or_else(|| fault(format!("{op}: components of unequal sizes")))?;
    nested::components(op, &[Arg::Value(x.clone())], &|operands| match operands {
        [Operand::Array(x)] => x.resize(lanes),
        _ => Err(one_array("component")),
    })
}

/// An operand as an array; a number takes the type in which it meets `dtype`.
fn as_array(context: &Context, operand: Operand<'_>, dtype: DType) -> CoreResult<Array> {
    match operand {
        Operand::Array(array) => Ok(array.clone()),
        Operand::Number(number) => context.session.full(dtype.meet(number), number, 1),
    }
}

fn one_array(op: &'static str) -> porcini_core::Error {
    porcini_core::Error::Argument { op, what: "an array expected".into() }
}
