//! The functions of vectors, matrices, complex numbers and quaternions, from the table of core.

use std::collections::BTreeSet;

use porcini_core::ir::op::OPS;
use porcini_core::nested::{morton_decode, morton_encode, spherical_harmonics};
use porcini_core::trace::functions;
use porcini_core::trace::nested::{NestedFunction, rows};
use porcini_core::value::signature;
use porcini_core::{Array, Operand};
use rhai::Dynamic;

use super::registry::Registry;
use crate::fault::{IntoFault, Result, fault};
use crate::value::nested::{self, alike};
use crate::value::{self, Arg, ArrayRef, Form};

pub(super) fn register(registry: &mut Registry<'_>) {
    let mut registered = BTreeSet::new();
    for row in rows().filter(|row| !row.name.contains("::")) {
        registry.doc_form(row.name, &signature(row.parameters), row.doc);
        let is_elementwise = OPS.iter().any(|info| info.name == row.name)
            || functions::find(row.name).is_some()
            || !row.name.starts_with(char::is_alphabetic);
        // Elementwise functions find these rows by themselves.
        if !is_elementwise && registered.insert((row.name, row.parameters.len())) {
            function(registry, row);
        }
    }
    parts(registry);
    sampling(registry);
}

/// Vectors from parts of vectors.
fn parts(registry: &mut Registry<'_>) {
    for (name, doc) in [
        ("head", "The first n components of a vector.\n\n>> head(Vector3fC(1, 2, 3), 2)\n[[1, 2]]"),
        ("tail", "The last n components of a vector.\n\n>> tail(Vector3fC(1, 2, 3), 2)\n[[2, 3]]"),
    ] {
        registry.doc(name, "(v, n)", doc);
        registry.on_array(name, 2, move |_, _, v, rest| {
            let components = vector_components(name, v)?;
            let n = rest[0].as_int().ok().and_then(|n| usize::try_from(n).ok());
            let n = n.filter(|n| (1..=components.len()).contains(n)).ok_or_else(|| {
                fault(format!(
                    "{name}: expected a number of components from 1 to {}",
                    components.len()
                ))
            })?;
            let start = if name == "head" { 0 } else { components.len() - n };
            Ok(ArrayRef::vector(components[start..start + n].iter().map(ArrayRef::copy).collect()))
        });
    }
    registry.doc_form(
        "concat",
        "(v, w)",
        "A vector of the components of v and then of w; a plain array or number is one component.\n\n\
         >> concat(Vector3fC(1, 2, 3), 4)\n[[1, 2, 3, 4]]",
    );
    registry.on_array("concat", 2, |context, call, v, rest| {
        context.at(call);
        let mut components = vector_components("concat", v)?;
        match Arg::new("concat", rest[0])? {
            Arg::Value(w) => components.extend(w.components().unwrap_or_else(|| vec![w])),
            Arg::Number(number) => {
                let number = context.session.full(v.dtype(), number, 1).or_fault()?;
                components.push(ArrayRef::leaf(number));
            }
        }
        alike("concat", &components).map(ArrayRef::vector)
    });
}

fn vector_components(name: &str, v: &ArrayRef) -> Result<Vec<ArrayRef>> {
    match (v.form(), v.components()) {
        (Form::Vector(_), Some(components)) => Ok(components),
        _ => Err(fault(format!("{name}: got {}, expected a vector", v.type_name()))),
    }
}

/// Functions whose results depend on an integer.
fn sampling(registry: &mut Registry<'_>) {
    registry.doc(
        "sh_eval",
        "(d, order)",
        "Real spherical harmonics of the unit vector d up to an order from 0 to 9, with Enoki's signs: a list in \
         which Y[l, m] is at place l * l + l + m. Normalised Legendre polynomials by their recurrence over l, times \
         a part of (x + iy)^m. At most 32 ulp of the largest value of the same l.\n\n\
         >> sh_eval(Vector3fC(0, 0, 1), 1)\n[[0.282095], [-0], [0.488603], [-0]]",
    );
    registry.on_array("sh_eval", 2, |context, call, d, rest| {
        context.at(call);
        let order = order_argument("sh_eval", rest[0])?;
        let entries: Vec<Arg> =
            vector_components("sh_eval", d)?.into_iter().map(Arg::Value).collect();
        let values =
            nested::lift("sh_eval", &entries, &|d| spherical_harmonics(&arrays(d), order))?;
        Ok(values.into_iter().map(Dynamic::from).collect::<rhai::Array>())
    });
    registry.doc(
        "morton_encode",
        "(v)",
        "Morton code of the integer components of a vector: bit i of component k becomes bit i * n + k; of w \
         bits the lowest w / n are kept.\n\n>> morton_encode(Vector2uC(3, 4))\n[37]",
    );
    registry.on_array("morton_encode", 1, |context, call, v, _| {
        context.at(call);
        let entries: Vec<Arg> =
            vector_components("morton_encode", v)?.into_iter().map(Arg::Value).collect();
        let code = |parts: &[Operand<'_>]| Ok(vec![morton_encode(&arrays(parts))?]);
        Ok(nested::lift("morton_encode", &entries, &code)?.remove(0))
    });
    registry.doc(
        "morton_decode",
        "(code, n)",
        "The vector of n components (1 to 4) that morton_encode made a code of.\n\n\
         >> morton_decode(UInt32C(37), 2)\n[[3, 4]]",
    );
    registry.on_array("morton_decode", 2, |context, call, code, rest| {
        context.at(call);
        let n = order_argument("morton_decode", rest[0])?;
        let parts = |code: &[Operand<'_>]| match code {
            [Operand::Array(code)] => morton_decode(code, n),
            _ => Ok(Vec::new()),
        };
        nested::lift("morton_decode", &[Arg::Value(code.clone())], &parts).map(ArrayRef::vector)
    });
}

fn order_argument(name: &str, value: &Dynamic) -> Result<usize> {
    let number = value.as_int().ok().and_then(|n| usize::try_from(n).ok());
    number.ok_or_else(|| {
        let got = value::got(value);
        fault(format!("{name}: got {got}, expected an integer from 0 up"))
    })
}

/// The arrays among operands of which none is a number.
fn arrays(operands: &[Operand<'_>]) -> Vec<Array> {
    let array = |operand: &Operand<'_>| match operand {
        Operand::Array(array) => Some((*array).clone()),
        Operand::Number(_) => None,
    };
    operands.iter().filter_map(array).collect()
}

fn function(registry: &mut Registry<'_>, row: &'static NestedFunction) {
    let name = row.name;
    registry.any(name, row.parameters.len(), move |context, call, args| {
        context.at(call);
        let args = args.iter().map(|arg| Arg::new(name, arg)).collect::<Result<Vec<_>>>()?;
        let mut results = nested::call(name, &args)?;
        Ok(if results.len() == 1 {
            Dynamic::from(results.remove(0))
        } else {
            results.into_iter().map(Dynamic::from).collect::<rhai::Array>().into()
        })
    });
}
