//! Horizontal operations: over the lanes of arrays, over the components of vectors (S1, S11).

use porcini_core::ir::op::{Op, ReduceOp};
use porcini_core::value::apply;
use porcini_core::{Array, Scalar, Value};
use rhai::Dynamic;

use super::registry::Registry;
use crate::fault::{IntoFault, Result};
use crate::value::{ArrayRef, Node, dynamic};

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
            match &*x.node() {
                Node::Leaf(array) => array.reduce(op).map(ArrayRef::leaf).or_fault(),
                Node::Nested(..) => x.to_value().reduce(op).map(ArrayRef::from).or_fault(),
            }
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
        x.to_value().mean().map(ArrayRef::from).or_fault()
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
            truth(name, &mask.to_value())
        });
    }
}

fn truth(name: &str, mask: &Value) -> Result<Dynamic> {
    let result = mask.reduce(reduction(name)).or_fault()?;
    match result {
        Value::Array(array) if mask.components().is_empty() => truth_value(name, &array),
        result if name == "none" => apply(Op::Not, &[&(&result).into()])
            .map(|none| Dynamic::from(ArrayRef::from(none)))
            .or_fault(),
        result => Ok(Dynamic::from(ArrayRef::from(result))),
    }
}

/// How the lanes of a mask are combined.
pub(super) fn reduction(name: &str) -> ReduceOp {
    match name {
        "all" => ReduceOp::All,
        "count" => ReduceOp::Count,
        _ => ReduceOp::Any,
    }
}

/// The one lane of a combined mask.
pub(super) fn truth_value(name: &str, array: &Array) -> Result<Dynamic> {
    Ok(match array.item(0).or_fault()? {
        Scalar::Bool(any) if name == "none" => (!any).into(),
        result => dynamic(result),
    })
}
