//! Text output: `print`, `str`, `format`, and what else makes text of values. All of it goes through one writer, so that
//! Ctrl-C and the limits of a sandbox hold.

use std::any::TypeId;

use porcini_core::value::show::Digits;
use rhai::{Dynamic, FnPtr, ImmutableString, Map};

use super::control::{is_shown, running_lanes};
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault};
use crate::show::display;
use crate::show::format::format;
use crate::show::html::html;
use crate::show::print_options::PrintOptions;
use crate::show::writer::written;
use crate::value::ArrayRef;
use crate::world::host::NOTHING;

/// Most arguments of `print` and `format`.
const MOST_ARGUMENTS: usize = 16;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "print",
        "(a, b, ..)",
        "Shows values separated by spaces; arrays are evaluated. The bodies of one loop or branch show at most 1000 \
         lines.\n\n\
         >> print(\"x =\", FloatC([1, 2]))\nx = [1, 2]",
    );
    for arity in 0..=MOST_ARGUMENTS {
        registry.any("print", arity, |context, _, args| print(context, args));
    }
    for kind in RHAI_PRINTS {
        let context = registry.context.clone();
        registry.engine.register_raw_fn("print", [kind()], move |_, args| print(&context, args));
    }
    registry.doc(
        "eprint",
        "(a, b, ..)",
        "Shows values as print does, on the stream for errors: beside what a script gives to others.\n\n\
         >> eprint(\"half done\"); 1 + 1\nhalf done\n2",
    );
    for arity in 0..=MOST_ARGUMENTS {
        registry.any("eprint", arity, |context, _, args| {
            let line = print(context, args)?;
            if line != NOTHING {
                context.host.eprint(&line);
            }
            Ok(())
        });
    }
    as_text(registry);
    registry.doc(
        "format",
        "(template, a, ..)",
        "Text with values in place of {}; {:.9} shows floats with 9 significant digits, {:.2f} with 2 behind the \
         point, {:.2e} with an exponent, {:>12.4} right-aligned in 12 columns.\n\n\
         >> format(\"{} {:.3} {:.2f} {:>6}\", 1, pi, pi, 2.5)\n1 3.14 3.14    2.5",
    );
    for arity in 1..=MOST_ARGUMENTS {
        registry.any("format", arity, |context, _, args| {
            let template = args[0].clone().into_string();
            let template = template.map_err(|_| fault("format: expected a text first"))?;
            let values: Vec<Dynamic> = args[1..].iter().map(|arg| (**arg).clone()).collect();
            format(&template, &values, &context.print.borrow())
        });
    }
    registry.doc(
        "str",
        "(x)",
        "A value as print shows it, as text of at most 256 MiB; arrays are evaluated. A float is written so that \
         parse_float reads it back.\n\n>> str(FloatC([1, 2])) + \"!\"\n[1, 2]!",
    );
    registry.any("str", 1, |context, _, args| context.text(args[0]));
    registry.doc(
        "html",
        "(x)",
        "A value as HTML, as notebooks show it: an array as its lanes, and below them type, size, device, memory and \
         state; a list of maps as a table; of what is long both ends. Arrays are evaluated.\n\n\
         >> html(\"a < b\").contains(\"a &lt; b\")\ntrue",
    );
    registry.any("html", 1, |context, _, args| html(args[0], &context.print.borrow()));
    registry.doc(
        "set_print",
        "(options)",
        "How arrays print: #{digits: 6, edge: 5, threshold: 20}; keys left out stay as they are. digits are 1 to 17, \
         and what is beyond is the nearest of these. With digits: \
         \"shortest\" each float has as many as it takes to read it back. A script's own floats always have: \
         format(\"{:.3}\", x) rounds them.\n\n\
         >> set_print(#{digits: 3}); FloatC(pi)\n[3.14]",
    );
    registry.any("set_print", 1, |context, _, args| {
        let options = args[0].read_lock::<Map>().map(|map| map.clone());
        let options = options.ok_or_else(|| fault("set_print: expected a map #{digits: 6}"))?;
        set_print(context, &options)
    });
}

/// Types for which Rhai has its own `print`, `to_string` and their like.
const RHAI_PRINTS: [fn() -> TypeId; 9] = [
    TypeId::of::<ImmutableString>,
    TypeId::of::<char>,
    TypeId::of::<bool>,
    TypeId::of::<()>,
    TypeId::of::<i64>,
    TypeId::of::<f64>,
    TypeId::of::<rhai::Array>,
    TypeId::of::<Map>,
    TypeId::of::<FnPtr>,
];

/// The line that `print` shows; in a body only lanes that run it.
fn print(context: &Context, args: &[&mut Dynamic]) -> Result<ImmutableString> {
    if context.session.records_function() {
        let what = "the function of jit is called once, to be recorded; print what it returns";
        let error = porcini_core::Error::Argument { op: "print", what: what.into() };
        context.session.fail_recording(error.clone());
        return Err(error).or_fault();
    }
    if !is_shown(context)? {
        return Ok(NOTHING.into());
    }
    let values = args.iter().map(|arg| running_lanes(context, arg));
    let values = values.collect::<Result<Vec<Dynamic>>>()?;
    if !context.prints.count() {
        return Ok(NOTHING.into());
    }
    let line = written(context.print.borrow().most, |out| {
        for (i, value) in values.iter().enumerate() {
            out.put(if i == 0 { "" } else { " " })?;
            let text = context.fitted(value)?;
            match value.is::<ArrayRef>() {
                true => out.below(|out| out.put(&text))?,
                false => out.put(&text)?,
            }
        }
        Ok(())
    })?;
    Ok(line.into())
}

/// Text by other names, and by Rhai's own: `"x = " + x`, `debug(x)`.
fn as_text(registry: &mut Registry<'_>) {
    registry.doc(
        "to_debug",
        "(x)",
        "A value as text, with quotes around texts.\n\n>> \"a\".to_debug()\n\"a\"",
    );
    registry.doc(
        "debug",
        "(x)",
        "Shows a value with quotes around texts.\n\n>> debug([\"1\", 1])\n[\"1\", 1]",
    );
    let quoted = |context: &Context, value: &Dynamic| {
        display::text(value, &PrintOptions { quotes: true, ..context.print.borrow().clone() })
    };
    for name in ["to_string", "to_debug", "debug"] {
        registry.any(name, 1, move |context, _, args| match name {
            "to_string" => context.text(args[0]),
            _ => quoted(context, args[0]),
        });
        for kind in RHAI_PRINTS {
            let context = registry.context.clone();
            registry.engine.register_raw_fn(name, [kind()], move |_, args| match name {
                "to_string" => context.text(args[0]),
                _ => quoted(&context, args[0]),
            });
        }
    }
    let (text, any) = (TypeId::of::<ImmutableString>(), TypeId::of::<Dynamic>());
    for types in [[text, any], [any, text]] {
        let context = registry.context.clone();
        registry.engine.register_raw_fn("+", types, move |call, args| -> Result<Dynamic> {
            let [a, b] = [context.text(args[0])?, context.text(args[1])?];
            call.call_native_fn("+", (a, b))
        });
    }
    for name in ["+=", "append"] {
        let context = registry.context.clone();
        registry.engine.register_raw_fn(name, [text, any], move |call, args| -> Result<()> {
            let more = context.text(args[1])?;
            let old = args[0].clone();
            *args[0] = call.call_native_fn("+", (old, more))?;
            Ok(())
        });
    }
}

fn set_print(context: &Context, options: &Map) -> Result<()> {
    let mut arrays = context.print.borrow().arrays;
    for (key, value) in options {
        if key == "digits" && value.to_string() == "shortest" {
            arrays.digits = Digits::Shortest;
            continue;
        }
        let number = value.as_int().ok().and_then(|number| u64::try_from(number).ok());
        let number = number.ok_or_else(|| {
            let or = if key == "digits" { ", or \"shortest\"" } else { "" };
            fault(format!("set_print: {key} must be an integer from 0 up{or}"))
        })?;
        match key.as_str() {
            "digits" => {
                arrays.digits = usize::try_from(number).unwrap_or(17).clamp(1, 17).into();
            }
            "edge" => arrays.edge = number.max(1),
            "threshold" => arrays.threshold = number,
            _ => {
                return Err(fault(format!(
                    "set_print: no option {key} (options: digits, edge, threshold)"
                )));
            }
        }
    }
    context.print.borrow_mut().arrays = arrays;
    Ok(())
}
