//! Functions that are pushed by their names.

use porcini_core::catalogue::NEW;
use porcini_core::spelling::similar;
use rhai::{Dynamic, ImmutableString, NativeCallContext};

use super::engine_inputs::own;
use crate::context::Context;
use crate::diagnose::python;
use crate::fault::{Result, fault_with_hint};
use crate::language::tokens::registered;
use crate::value::ArrayRef;

/// Arguments of an operation by name.
pub(super) const MOST_PUSHED: usize = 6;

/// Functions that are named where none of a name is known.
const RELATIVES: usize = 4;

/// Functions that draw from the generator of the session, or seed it, beside those of Cengine.
const DRAW: [&str; 4] = ["rand", "randn", "randint", "seed"];

/// Functions that print, show and write.
const EFFECTS: [&str; 14] = [
    "append_text",
    "clear_output",
    "display",
    "eprint",
    "print",
    "save_image",
    "save_plot",
    "update_display",
    "write_arrow",
    "write_csv",
    "write_npy",
    "write_npz",
    "write_parquet",
    "write_text",
];

/// Whether a function draws from the generator of the session: what it gives depends on when it is done.
pub(super) fn draws(name: &str) -> bool {
    DRAW.contains(&name) || NEW.iter().any(|new| new.name == name && new.draws())
}

/// Whether a function is called for what it does besides.
pub(super) fn has_effects(name: &str) -> bool {
    EFFECTS.contains(&name)
}

/// The function to push: that of the name, or of Cengine's name for the class that does it, which ends in `_op`.
pub(super) fn function_of(context: &Context, name: &str) -> Result<ImmutableString> {
    let functions = context.functions.borrow();
    let known = || functions.iter().map(|(name, _)| name.as_str());
    let meant = [Some(name), python::of_class(name)];
    if let Some(meant) =
        meant.into_iter().flatten().find(|&name| known().any(|known| known == name))
    {
        return Ok(meant.into());
    }
    // Names of operations begin with what they are of.
    let family = name.split_once('_').map_or(name, |(family, _)| family);
    let relatives = known().filter(|known| known.starts_with(&format!("{family}_")));
    let relatives: Vec<&str> = relatives.take(RELATIVES).collect();
    let otherwise = match relatives.is_empty() {
        true => "help() lists the functions".into(),
        false => format!("did you mean one of {}, ..?", relatives.join(", ")),
    };
    let hint = nearest(name, known(), &otherwise);
    Err(fault_with_hint(format!("push: unknown op `{name}`"), hint))
}

/// What may have been meant, or what else helps.
pub(super) fn nearest<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
    otherwise: &str,
) -> String {
    let near = similar(name, known);
    match near.is_empty() {
        true => otherwise.into(),
        false => format!("did you mean {}?", near.join(" or ")),
    }
}

/// Whether a name with so many arguments is a function of the script: it comes before ours, as in any call.
pub(super) fn is_scripted(call: &NativeCallContext<'_>, name: &str, arity: usize) -> bool {
    call.iter_namespaces().any(|module| module.get_script_fn(name, arity).is_some())
}

/// Calls a function to push, which leaves its arguments as they are. What works in place works on a copy, which is the result.
pub(super) fn call_function(
    call: &NativeCallContext<'_>,
    name: &str,
    mut args: Vec<Dynamic>,
) -> Result<Dynamic> {
    if is_scripted(call, name, args.len()) {
        args = args.into_iter().map(own).collect();
        return call.call_fn_raw(name, false, false, &mut args.iter_mut().collect::<Vec<_>>());
    }
    let first = args.first().and_then(|first| first.read_lock::<ArrayRef>().map(|x| x.own_copy()));
    let first = first.map(Dynamic::from);
    if let (Some(own), Some(first)) = (&first, args.first_mut()) {
        *first = own.clone();
    }
    let args = &mut args.iter_mut().collect::<Vec<_>>();
    let result = call.call_native_fn_raw(registered(name), true, args)?;
    Ok(if result.is_unit() { first.unwrap_or(result) } else { result })
}
