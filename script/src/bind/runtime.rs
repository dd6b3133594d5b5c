//! Evaluation, memory, settings: the functions about the session, and their `cuda_` aliases.

use std::time::{Duration, Instant};

use porcini_core::Array;
use porcini_core::flags::FLAGS;
use porcini_core::interrupt;
use porcini_core::memory::process_heap;
use rhai::{Dynamic, ImmutableString};

use super::derivatives::with_letter;
use super::memory::evaluate_values;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Fault, IntoFault, Result, Stop, fault, fault_with_hint, stop};
use crate::value::{self, ArrayRef, type_name};

/// Most arguments of functions that take any number.
const MOST_ARGUMENTS: usize = 8;

/// A switch with a third value: cells overlap.
const ASYNC: &str = "async";
const CELLS: &str = "cells";

#[expect(clippy::cast_precision_loss, reason = "seconds")]
pub(super) fn register(registry: &mut Registry<'_>) {
    evaluation(registry);
    settings(registry);
    labels(registry);
    memory(registry);
    registry.doc(
        "sleep",
        "(seconds)",
        "Waits; Ctrl-C ends it.\n\n\
         >> t = timestamp(); sleep(0.01); t.elapsed >= 0.01\ntrue",
    );
    // Rhai's own two, which no Ctrl-C ends, are replaced type by type.
    registry.engine.register_fn("sleep", |seconds: i64| sleep(seconds as f64));
    registry.engine.register_fn("sleep", sleep);
    // So is its `elapsed`, which knows nothing of what runs.
    let context = registry.context.clone();
    let elapsed = move |start: Instant| elapsed(&context, start);
    registry.engine.register_fn("elapsed", elapsed.clone());
    registry.engine.register_get("elapsed", move |start: &mut Instant| elapsed(*start));
    registry.doc(
        "args",
        "()",
        "Arguments given to the script, a list of texts, as ARGS.\n\n>> args().len()\n0",
    );
    registry.any("args", 0, |context, _, _| {
        let arguments = context.arguments.borrow();
        Ok(arguments.iter().cloned().map(Dynamic::from).collect::<rhai::Array>())
    });
    registry.doc(
        "env",
        "(name, default)",
        "An environment variable as text; where it is not set the default, or nothing.\n\n\
         >> env(\"NO_SUCH_VARIABLE\", \"none\")\nnone",
    );
    for arity in [1, 2] {
        registry.any("env", arity, |context, _, args| {
            let name = args[0].clone().into_string();
            let name = name.map_err(|_| {
                fault(format!("env: got {}, expected a name in quotes", type_name(args[0])))
            })?;
            let otherwise = || args.get(1).map(|value| (**value).clone()).unwrap_or_default();
            Ok(context.host.variable(&name).map_or_else(otherwise, Dynamic::from))
        });
    }
    registry.doc(
        "exit",
        "(code)",
        "Ends the script with an exit code from 0 to 255 (default 0). What was launched is waited for; if it \
         has failed that is told, and 0 becomes 1.\n\n\
         >> if 1 > 2 { exit(3) } else { \"goes on\" }\ngoes on",
    );
    registry.any("exit", 0, |_, _, _| -> Result<()> { Err(stop(Stop::Exit(0))) });
    registry.any("exit", 1, |_, _, args| -> Result<()> {
        let code = args[0].as_int().ok().and_then(|code| u8::try_from(code).ok());
        let code = code.ok_or_else(|| {
            let number = args[0].as_int().ok().map(|code| code.to_string());
            let got = number.unwrap_or_else(|| type_name(args[0]));
            fault_with_hint(
                format!("exit: got {got}, expected an exit code from 0 to 255"),
                "exit(0) says that all went well, exit(1) that something did not",
            )
        })?;
        Err(stop(Stop::Exit(code)))
    });
}

fn sleep(seconds: f64) -> Result<()> {
    if !(0.0..1e9).contains(&seconds) {
        return Err(fault("sleep: expected a number of seconds from 0 up"));
    }
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        if interrupt::is_requested() {
            return Err(stop(Stop::Interrupt));
        }
        std::thread::sleep(left.min(Duration::from_millis(5)));
    }
    Ok(())
}

/// Seconds since then; who may think that an `eval` is among them is told once.
fn elapsed(context: &Context, start: Instant) -> f64 {
    let seconds = start.elapsed().as_secs_f64();
    if context.begun.borrow_mut().is_to_tell() {
        context.host.eprint(
            "note: elapsed: eval(x) hands work over and returns, and some of it still runs; sync() waits for it",
        );
    }
    seconds
}

fn evaluation(registry: &mut Registry<'_>) {
    registry.doc(
        "eval",
        "(a, b, ..)",
        "Computes the given arrays now. What they are made of is stored along with them if somebody holds it and \
         computing it again would take more than 16 operations a lane, and so is what has to stand in memory for \
         them: sums, sorted lanes, what they gather from, all results of a loop; explain(x) says which. Other arrays \
         stay lazy. Without arguments every array that somebody holds, and pending writes. An index out of bounds is told \
         at the next read, or by sync(): within try { } as well.\n\n\
         >> a = FloatC([1, 2]) + 1; eval(a); kernel_history().len()\n1",
    );
    registry.doc_form("eval", "([a, b, ..])", "A list may have any number of arrays.");
    registry.alias("cuda_eval", "eval");
    for name in ["eval", "cuda_eval"] {
        registry.any(name, 0, |context, _, _| context.eval_all());
        for arity in 1..=MOST_ARGUMENTS {
            registry.any(name, arity, |context, _, args| evaluate_values(context, args));
        }
    }
    registry.doc(
        "sync",
        "()",
        "Waits until the device has finished what was launched, and launches nothing itself: what is only recorded stays so, \
         flush() evaluates it first. Reports a pending bounds error.\n\n\
         >> a = FloatC([1, 2]) + 1; eval(a); sync(); a\n[2, 3]",
    );
    registry.alias("cuda_sync", "sync");
    for name in ["sync", "cuda_sync"] {
        registry.any(name, 0, |context, _, _| context.session.sync().or_fault());
    }
}

fn settings(registry: &mut Registry<'_>) {
    registry.doc(
        "set_log_level",
        "(level)",
        "What is logged: 0 nothing, 1 launches, 2 + compilation and cache, 3 + generated source, 4 + every \
         recorded operation, 5 + reference counts and machine code.\n\n\
         >> set_log_level(1); log_level()\n1",
    );
    registry.doc(
        "log_level",
        "()",
        "The log level, 0 to 5.\n\n\
         >> log_level()\n0",
    );
    registry.alias("cuda_set_log_level", "set_log_level");
    registry.alias("cuda_log_level", "log_level");
    for prefix in ["", "cuda_"] {
        registry.any(&format!("{prefix}set_log_level"), 1, |context, _, args| {
            let level = args[0].as_int().ok().and_then(|level| u8::try_from(level).ok());
            match level.filter(|&level| level <= porcini_core::log::MAX_LEVEL) {
                Some(level) => {
                    context.session.set_log_level(level);
                    Ok(())
                }
                None => {
                    let got = value::got(args[0]);
                    Err(fault(format!("set_log_level: got {got}, expected 0 to 5")))
                }
            }
        });
        registry.any(&format!("{prefix}log_level"), 0, |context, _, _| {
            Ok(i64::from(context.session.log_level()))
        });
    }
    let names: Vec<String> =
        FLAGS.iter().map(|(name, value, doc)| format!("{name} ({value}): {doc}")).collect();
    registry.doc(
        "set_flag",
        "(name, value)",
        &format!(
            "Sets a switch. {}. async may also be \"cells\": then the end of a cell does not wait, and an error is told by a \
             later cell or read, with the number of its cell.\n\n>> set_flag(\"cse\", false); flag(\"cse\")\nfalse",
            names.join("; ")
        ),
    );
    registry.any("set_flag", 2, |context, _, args| {
        let name = flag_name("set_flag", args[0])?;
        let overlap = name == ASYNC && is_text(args[1], CELLS);
        let value = if overlap { Ok(true) } else { args[1].as_bool() };
        let value = value.map_err(|_| {
            let values = if name == ASYNC { "true, false or \"cells\"" } else { "true or false" };
            fault(format!("set_flag: expected {values} as second argument"))
        })?;
        if name == ASYNC {
            context.cells_overlap.set(overlap);
        }
        context.session.set_flag(&name, value).or_fault()
    });
    registry.doc(
        "flag",
        "(name)",
        "The value of a switch.\n\n\
         >> flag(\"bounds_check\")\ntrue",
    );
    registry.any("flag", 1, |context, _, args| flag(context, &flag_name("flag", args[0])?));
    registry.doc(
        "flags",
        "()",
        "All switches as a map.\n\n\
         >> flags().fold\ntrue",
    );
    registry.any("flags", 0, |context, _, _| {
        let mut map = rhai::Map::new();
        for (name, ..) in FLAGS {
            map.insert(name.into(), flag(context, name)?);
        }
        Ok(map)
    });
}

/// The value of a switch as scripts set it.
fn flag(context: &Context, name: &str) -> Result<Dynamic> {
    let value = context.session.flag(name).or_fault()?;
    let overlap = value && name == ASYNC && context.cells_overlap.get();
    Ok(if overlap { CELLS.into() } else { value.into() })
}

fn is_text(value: &Dynamic, text: &str) -> bool {
    value.read_lock::<ImmutableString>().is_some_and(|value| *value == text)
}

fn labels(registry: &mut Registry<'_>) {
    registry.doc(
        "set_label",
        "(x, name)",
        "Names an array in whos() and dumps; components get .0, .1, ..\n\n\
         >> a = FloatC([1, 2]); set_label(a, \"speed\"); label(a)\nspeed",
    );
    registry.on_array("set_label", 2, |_, _, array, rest| {
        let label = rest[0].clone().into_string();
        let label = label.map_err(|_| fault("set_label: expected a text as second argument"))?;
        array.for_each_leaf(&label, &mut |leaf, path| leaf.set_label(path));
        Ok(())
    });
    registry.doc(
        "label",
        "(x)",
        "The label of an array, or \"\".\n\n\
         >> a = FloatC([1, 2]); label(a) == \"\"\ntrue",
    );
    registry.on_array("label", 1, |_, _, array, _| {
        let label = array.leaves().first().and_then(porcini_core::Array::label);
        Ok(label.map_or_else(String::new, |label| label.to_string()))
    });
    registry.doc(
        "type_of",
        "(x)",
        "Name of a value's type: \"FloatC\", \"Vector3fC\".\n\n\
         >> type_of(Vector3fC(1, 2, 3))\nVector3fC",
    );
    registry.any("type_of", 1, |_, _, args| {
        if args[0].is::<crate::show::plot::Picture>() {
            return Ok("Picture".into());
        }
        if args[0].is::<Fault>() {
            return Ok("error".into());
        }
        let name = args[0].type_name();
        // Never a path of Rust: `0..3` is a range.
        let is_path = name.contains("::") || args[0].is::<ArrayRef>();
        let shown = if is_path { type_name(args[0]) } else { name.to_string() };
        let shown = shown.trim_start_matches("a ");
        let is_tracked = |value: &ArrayRef| value.leaves().iter().any(Array::is_tracked);
        let is_tracked = args[0].read_lock::<ArrayRef>().is_some_and(|value| is_tracked(&value));
        Ok(if is_tracked { with_letter(shown) } else { shown.to_string() })
    });
}

fn memory(registry: &mut Registry<'_>) {
    registry.doc(
        "malloc_trim",
        "()",
        "Gives memory that arrays no longer use back to the system and says how much; also that of lists and texts.\n\
         Compiled kernels go too: what is wanted again is compiled again. Large arrays go back by themselves when\n\
         no array of their size was made for ten seconds.\n\n\
         >> malloc_trim() >= 0\ntrue",
    );
    registry.doc(
        "mem_get_info",
        "()",
        "Free and total bytes of device memory as a list.\n\n\
         >> mem_get_info()[0] <= mem_get_info()[1]\ntrue",
    );
    registry.alias("cuda_malloc_trim", "malloc_trim");
    registry.alias("cuda_mem_get_info", "mem_get_info");
    for prefix in ["", "cuda_"] {
        registry.any(&format!("{prefix}malloc_trim"), 0, |context, _, _| {
            let (_, bytes) = context.session.malloc_trim();
            process_heap::trim();
            Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
        });
        registry.any(&format!("{prefix}mem_get_info"), 0, |context, _, _| -> Result<rhai::Array> {
            let info = context.session.memory_info();
            let number = |bytes: u64| Dynamic::from(i64::try_from(bytes).unwrap_or(i64::MAX));
            Ok(vec![number(info.limit.saturating_sub(info.used)), number(info.limit)])
        });
    }
}

fn flag_name(op: &str, name: &Dynamic) -> Result<String> {
    name.clone().into_string().map_err(|_| {
        let got = type_name(name);
        fault_with_hint(
            format!("{op}: got {got}, expected the name of a switch"),
            "flags() lists them: flag(\"cse\")",
        )
    })
}
