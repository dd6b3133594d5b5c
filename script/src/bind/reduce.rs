//! Horizontal operations: over the lanes of arrays, over the components of vectors (S1, S11).

use porcini_core::ir::op::{Op, ReduceOp};
use porcini_core::{DType, Scalar};
use rhai::Dynamic;

use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result};
use crate::value::nested;
use crate::value::{Arg, ArrayRef, Node, dynamic};

pub(super) fn register(registry: &mut Registry<'_>) {
    for (op, what, result) in [
        (ReduceOp::Sum, "Sum of all lanes", "[7]"),
        (ReduceOp::Prod, "Product of all lanes", "[8]"),
        (ReduceOp::Min, "Smallest lane, NaN ignored", "[1]"),
        (ReduceOp::Max, "Largest lane, NaN ignored", "[4]"),
    ] {
        let name = op.name();
        let doc = format!(
            "{what} (an array of size 1, lazy; one order of combining on every device); of a vector: of its \
             components, lane by lane.\n\n>> {name}(Int32C([1, 2, 4]))\n{result}"
        );
        registry.doc(name, "(x)", &doc);
        registry.on_array(name, 1, move |context, call, x, _| {
            context.at(call);
            horizontal(context, op, x)
        });
    }
    registry.doc(
        "hmean",
        "(x)",
        "Arithmetic mean of all lanes (size 1, lazy), or of a vector's components; NaN of nothing.\n\n\
         >> hmean(Int32C([1, 2]))\n[1.5]",
    );
    registry.on_array("hmean", 1, |context, call, x, _| {
        context.at(call);
        mean(context, x)
    });
    for (name, what, lanes, result) in [
        ("any", "Whether any lane of a mask is true", "or", "true"),
        ("all", "Whether all lanes of a mask are true", "and", "false"),
        ("none", "Whether no lane of a mask is true", "not or", "false"),
        ("count", "Number of true lanes of a mask", "number", "2"),
    ] {
        let gives = if name == "count" { "an integer" } else { "a bool" };
        let doc = format!(
            "{what} (evaluates, gives {gives}); of a vector: {lanes} of its components, lane by lane.\n\n\
             >> {name}(Int32C([1, 2, 4]) > 1)\n{result}"
        );
        registry.doc(name, "(mask)", &doc);
        registry.on_array(name, 1, move |context, call, mask, _| {
            context.at(call);
            truth(context, name, mask)
        });
    }
}

/// The mean of lanes, or of components.
pub(super) fn mean(context: &Context, x: &ArrayRef) -> Result<ArrayRef> {
    let Some(components) = x.components() else {
        return x.array("hmean")?.mean().map(ArrayRef::leaf).or_fault();
    };
    let n = i64::try_from(components.len()).unwrap_or(i64::MAX);
    let sum = horizontal(context, ReduceOp::Sum, x)?;
    let args = [Arg::Value(sum), Arg::Number(Scalar::Int(n))];
    nested::map("/", &args, &|operands| context.session.apply(Op::Div, operands))
}

/// Combines components, or reduces lanes.
pub(super) fn horizontal(context: &Context, op: ReduceOp, x: &ArrayRef) -> Result<ArrayRef> {
    if let Node::Leaf(array) = &*x.node() {
        return array.reduce(op).map(ArrayRef::leaf).or_fault();
    }
    fold(context, op.combine(), x.components().unwrap_or_default())
}

fn fold(context: &Context, op: Op, components: Vec<ArrayRef>) -> Result<ArrayRef> {
    let mut components = components.into_iter();
    let first =
        components.next().ok_or_else(|| crate::fault::fault("a vector without components"))?;
    components.try_fold(first, |sum, component| {
        let args = [Arg::Value(sum), Arg::Value(component)];
        nested::map(op.spelling(), &args, &|operands| context.session.apply(op, operands))
    })
}

fn truth(context: &Context, name: &str, mask: &ArrayRef) -> Result<Dynamic> {
    if let Some(components) = mask.components() {
        return truth_of_components(context, name, components).map(Dynamic::from);
    }
    let op = match name {
        "all" => ReduceOp::All,
        "count" => ReduceOp::Count,
        _ => ReduceOp::Any,
    };
    let result = mask.array(name)?.reduce(op).or_fault()?.item(0).or_fault()?;
    Ok(match result {
        Scalar::Bool(any) if name == "none" => (!any).into(),
        result => dynamic(result),
    })
}

fn truth_of_components(
    context: &Context,
    name: &str,
    components: Vec<ArrayRef>,
) -> Result<ArrayRef> {
    match name {
        "all" => fold(context, Op::And, components),
        "count" => {
            let ones = components.iter().map(|component| {
                let args = [Arg::Value(component.clone())];
                nested::map(name, &args, &|operands| match operands {
                    [porcini_core::Operand::Array(mask)] => mask.cast(DType::U32),
                    _ => Err(porcini_core::Error::Argument {
                        op: "count",
                        what: "a mask expected".into(),
                    }),
                })
            });
            fold(context, Op::Add, ones.collect::<Result<_>>()?)
        }
        _ => {
            let any = fold(context, Op::Or, components)?;
            if name == "any" {
                return Ok(any);
            }
            let args = [Arg::Value(any)];
            nested::map(name, &args, &|operands| context.session.apply(Op::Not, operands))
        }
    }
}
