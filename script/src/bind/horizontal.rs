//! Across lanes beyond reductions: prefix sums, sorts, statistics; the `_nested` and `_or` forms.

use porcini_core::ir::op::{Op, ReduceOp};
use porcini_core::ir::primitive::Order;
use porcini_core::{Array, Operand, Result as CoreResult, Scalar, Value};
use rhai::Dynamic;

use super::reduce::{reduction, truth_value};
use super::registry::Registry;
use crate::fault::{IntoFault, Result, fault};
use crate::value::nested;
use crate::value::{Arg, ArrayRef, scalar, type_name};

/// Name, function and help.
type LaneFunction = (&'static str, fn(&Array) -> CoreResult<Array>, &'static str);

/// Functions of the lanes of one plain array.
const LANE_FUNCTIONS: &[LaneFunction] = &[
    (
        "psum_exclusive",
        Array::psum_exclusive,
        "Sum of the lanes before each, recorded, not run; lane 0 is 0. Integers wrap.\n\n\
         >> psum_exclusive(Int32C([3, 1, 4]))\n[0, 3, 4]",
    ),
    (
        "sort",
        |x| x.sort(Order::Ascending),
        "The lanes of numbers or a mask, smallest first, in linear time; recorded, not run. -0 is below +0, \
         and NaN comes last. A list of numbers or texts is sorted in place: a.sort(), by a function of two items \
         a.sort(|a, b| a > b).\n\n>> sort(FloatC([3, nan, 1]))\n[1, 3, nan]",
    ),
    (
        "sort_desc",
        |x| x.sort(Order::Descending),
        "The lanes of numbers or a mask, largest first; recorded, not run. NaN comes last here, too.\n\n\
         >> sort_desc(FloatC([3, nan, 1]))\n[3, 1, nan]",
    ),
    (
        "argsort",
        |x| x.argsort(Order::Ascending),
        "The lane numbers that sort an array: gather(x, argsort(x)) is sort(x). Lanes that are equal keep their \
         order. UInt32C (UInt64C beyond 2^32 lanes), recorded, not run.\n\n\
         >> argsort(Int32C([3, 1, 3, 0]))\n[3, 1, 0, 2]",
    ),
    (
        "argsort_desc",
        |x| x.argsort(Order::Descending),
        "The lane numbers that sort an array, largest first. Lanes that are equal keep their order. Recorded, \
         not run.\n\n>> argsort_desc(Int32C([3, 1, 3, 0]))\n[0, 2, 1, 3]",
    ),
    (
        "argmin",
        Array::argmin,
        "The number of the first lane that holds the smallest value (an array of size 1, lazy). NaN is \
         ignored, -0 is below +0.\n\n>> argmin(FloatC([3, nan, 1, 1]))\n[2]",
    ),
    (
        "argmax",
        Array::argmax,
        "The number of the first lane that holds the largest value (an array of size 1, lazy). NaN is ignored, \
         +0 is above -0.\n\n>> argmax(FloatC([3, nan, 1, 3]))\n[0]",
    ),
    (
        "median",
        Array::median,
        "The middle value in order (size 1, lazy), of an even number of lanes half the sum of the two; NaN if a \
         lane is NaN, or there is none.\n\n>> median(Int32C([9, 1, 2, 4]))\n[3]",
    ),
    (
        "var",
        Array::var,
        "The mean squared distance from the mean, in two passes (size 1, lazy); NaN of nothing.\n\n\
         >> var(FloatC([1, 2, 3, 4]))\n[1.25]",
    ),
    (
        "std",
        Array::std,
        "The square root of the variance (size 1, lazy).\n\n>> std(FloatC([2, 4]))\n[1]",
    ),
];

pub(super) fn register(registry: &mut Registry<'_>) {
    for &(name, function, doc) in LANE_FUNCTIONS {
        registry.doc(name, "(x)", doc);
        registry.on_array(name, 1, move |context, call, x, _| {
            context.at(call);
            function(&x.array(name)?).map(ArrayRef::leaf).or_fault()
        });
    }
    prefix_sums(registry);
    counts(registry);
    nested_forms(registry);
    hints(registry);
    close(registry);
}

fn prefix_sums(registry: &mut Registry<'_>) {
    registry.doc(
        "psum",
        "(x)",
        "Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; integers wrap. Recorded, \
         not run. Of a vector: over its components, lane by lane.\n\n>> psum(Int32C([3, 1, 4]))\n[3, 4, 8]",
    );
    registry.alias("cumsum", "psum");
    registry.doc(
        "cumprod",
        "(x)",
        "Prefix products: lane i is the product of lanes 0 to i, in one order on every device; integers wrap. \
         Recorded, not run. Of a vector: over its components, lane by lane.\n\n>> cumprod(Int32C([3, 1, 4]))\n[3, 3, 12]",
    );
    for (name, op) in [("psum", Op::Add), ("cumsum", Op::Add), ("cumprod", Op::Mul)] {
        registry.on_array(name, 1, move |context, call, x, _| {
            context.at(call);
            x.to_value().prefix(op).map(ArrayRef::from).or_fault()
        });
    }
    registry.doc(
        "block_sum",
        "(x, n)",
        "Sums of blocks of n lanes, each in lane order; the last block may be short. Recorded, not run.\n\n\
         >> block_sum(FloatC([1, 2, 3, 4, 5]), 2)\n[3, 7, 5]",
    );
    registry.on_array("block_sum", 2, |context, call, x, rest| {
        context.at(call);
        let length = count_argument("block_sum", "a number of lanes", rest[0])?;
        x.array("block_sum")?.block_sum(length).map(ArrayRef::leaf).or_fault()
    });
}

fn counts(registry: &mut Registry<'_>) {
    registry.doc(
        "histogram",
        "(x, bins, low, high)",
        "How many lanes fall into each of the bins: intervals of equal width from low to high, both included; \
         lanes outside and NaN do not count. UInt32C (UInt64C beyond 2^32 lanes), recorded, not run. \
         The bin of x is min(trunc((x - low) * (bins / (high - low))), bins - 1).\n\n\
         >> histogram(FloatC([0, 0.5, 1.9, 2, 7]), 2, 0, 2)\n[2, 2]",
    );
    registry.on_array("histogram", 4, |context, call, x, rest| {
        context.at(call);
        let bins = count_argument("histogram", "a number of bins", rest[0])?;
        let bound = |value: &Dynamic| match scalar(value) {
            Some(number @ (Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_))) => {
                Ok(number.to_f64())
            }
            _ => Err(fault(format!(
                "histogram: got {} as a bound, expected a number",
                type_name(value)
            ))),
        };
        let (low, high) = (bound(rest[1])?, bound(rest[2])?);
        x.array("histogram")?.histogram(bins, low, high).map(ArrayRef::leaf).or_fault()
    });
}

/// Names with what they reduce by, and an example.
const NESTED: [(ReduceOp, &str); 4] = [
    (ReduceOp::Sum, "[10]"),
    (ReduceOp::Prod, "[24]"),
    (ReduceOp::Min, "[1]"),
    (ReduceOp::Max, "[4]"),
];

fn nested_forms(registry: &mut Registry<'_>) {
    for (op, result) in NESTED {
        let name = format!("{}_nested", op.name());
        registry.doc(
            &name,
            "(v)",
            &format!(
                "As {} over all components of a vector and all their lanes (size 1, lazy).\n\n\
                 >> {name}(Vector2fC([1, 2], [3, 4]))\n{result}",
                op.name()
            ),
        );
        registry.on_array(&name, 1, move |context, call, x, _| {
            context.at(call);
            x.to_value().reduce_nested(op).map(ArrayRef::from).or_fault()
        });
    }
    registry.doc(
        "hmean_nested",
        "(v)",
        "The mean of all components of a vector and all their lanes (size 1, lazy).\n\n\
         >> hmean_nested(Vector2fC([1, 2], [3, 4]))\n[2.5]",
    );
    registry.on_array("hmean_nested", 1, |context, call, x, _| {
        context.at(call);
        x.to_value().mean_nested().map(ArrayRef::from).or_fault()
    });
    for (name, result) in [("any", "true"), ("all", "false"), ("none", "false"), ("count", "3")] {
        let nested = format!("{name}_nested");
        registry.doc(
            &nested,
            "(mask)",
            &format!(
                "As {name} over all components of a vector and all their lanes; evaluates.\n\n\
                 >> {nested}(Vector2fC([1, 2], [3, 4]) > 1)\n{result}"
            ),
        );
        registry.on_array(&nested, 1, move |context, call, mask, _| {
            context.at(call);
            truth_of_all(name, &mask.to_value())
        });
    }
}

fn truth_of_all(name: &str, mask: &Value) -> Result<Dynamic> {
    truth_value(name, &mask.reduce_all(reduction(name)).or_fault()?)
}

fn hints(registry: &mut Registry<'_>) {
    for (name, what) in [
        ("any_or", "any lane is true"),
        ("all_or", "all lanes are true"),
        ("none_or", "no lane is true"),
    ] {
        registry.doc(
            name,
            "(default, mask)",
            &format!(
                "Whether {what}, if the mask is a number that is known already; else the default. Never \
                 evaluates: a hint, for branches that only save work.\n\n\
                 >> {name}(true, FloatC::arange(3) > 7)\ntrue"
            ),
        );
        registry.any(name, 2, move |context, call, args| {
            context.at(call);
            let default = args[0].as_bool().map_err(|_| {
                fault(format!("{name}: got {} first, expected a bool", type_name(args[0])))
            })?;
            let leaves = match Arg::new(name, args[1])? {
                Arg::Number(Scalar::Bool(truth)) => {
                    return Ok(if name == "none_or" { !truth } else { truth });
                }
                Arg::Value(mask) if mask.dtype() == porcini_core::DType::Mask => mask.leaves(),
                _ => {
                    let got = type_name(args[1]);
                    return Err(fault(format!("{name}: got {got}, expected a mask")));
                }
            };
            let known = |leaf: &Array| Some((leaf.literal()?.to_f64() != 0.0, leaf.is_empty()));
            let Some(known) = leaves.iter().map(known).collect::<Option<Vec<_>>>() else {
                return Ok(default);
            };
            let any = known.iter().any(|&(truth, empty)| truth && !empty);
            Ok(match name {
                "any_or" => any,
                "none_or" => !any,
                _ => known.iter().all(|&(truth, empty)| truth || empty),
            })
        });
    }
}

fn close(registry: &mut Registry<'_>) {
    registry.doc(
        "allclose",
        "(a, b, rtol, atol, equal_nan)",
        "Whether all lanes are near: |a - b| <= atol + rtol * |b|, or equal, or with equal_nan both NaN. \
         rtol is 1e-5, atol 1e-8, equal_nan false unless given. Evaluates.\n\n\
         >> allclose(FloatC([1, inf]), FloatC([1.000001, inf]))\ntrue",
    );
    for arity in 2..=5 {
        registry.any("allclose", arity, |context, call, args| {
            context.at(call);
            let number = |i: usize, default: f64| match args.get(i).map(|arg| scalar(arg)) {
                None => Ok(default),
                Some(Some(number)) => Ok(number.to_f64()),
                Some(None) => Err(fault("allclose: rtol and atol are numbers")),
            };
            let (rtol, atol) = (number(2, 1e-5)?, number(3, 1e-8)?);
            let equal_nan = args.get(4).is_some_and(|arg| arg.as_bool().unwrap_or(false));
            let pair = [Arg::new("allclose", args[0])?, Arg::new("allclose", args[1])?];
            let near = nested::map("allclose", &pair, &|operands| {
                let array = |i: usize, other: usize| match (operands[i], operands[other]) {
                    (Operand::Array(array), _) => Ok(array.clone()),
                    (Operand::Number(number), Operand::Array(other)) => {
                        context.session.full(other.dtype().meet(number), number, 1)
                    }
                    (Operand::Number(number), Operand::Number(_)) => {
                        context.session.full(porcini_core::DType::F64, number, 1)
                    }
                };
                array(0, 1)?.isclose(&array(1, 0)?, rtol, atol, equal_nan)
            })?;
            truth_of_all("all", &near.to_value())
        });
    }
}

/// A script integer from 0 up.
pub(super) fn count_argument(op: &str, what: &str, value: &Dynamic) -> Result<u64> {
    let number = value.as_int().ok().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| fault(format!("{op}: got {}, expected {what} from 0 up", shown(value))))
}

/// An integer as it is, other values by their type.
pub(super) fn shown(value: &Dynamic) -> String {
    value.as_int().map_or_else(|_| type_name(value), |number| number.to_string())
}
