//! The functions of vectors, matrices, complex numbers and quaternions, from the table of core.

use std::collections::BTreeSet;

use porcini_core::ir::op::OPS;
use porcini_core::trace::functions;
use porcini_core::trace::nested::{NestedFunction, rows};
use porcini_core::value::signature;
use rhai::Dynamic;

use super::registry::Registry;
use crate::fault::Result;
use crate::value::{Arg, to_core};

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
}

fn function(registry: &mut Registry<'_>, row: &'static NestedFunction) {
    let name = row.name;
    registry.any(name, row.parameters.len(), move |context, call, args| {
        context.at(call);
        let args = args.iter().map(|arg| Arg::new(name, arg)).collect::<Result<Vec<_>>>()?;
        let mut results = to_core::call(name, &args)?;
        Ok(if results.len() == 1 {
            Dynamic::from(results.remove(0))
        } else {
            results.into_iter().map(Dynamic::from).collect::<rhai::Array>().into()
        })
    });
}
