//! Operators and engines of scripts: what is pushed is done when somebody wants it, operations that are alike together.

use std::any::TypeId;
use std::rc::Rc;

use porcini_core::engine::Row;
use rhai::{Dynamic, FnPtr, ImmutableString, Map, NativeCallContext};

use super::engine_closures::{Closures, Described, Op, Pushed};
use super::engine_endings::{self, HeldEngine};
use super::engine_functions::{MOST_PUSHED, function_of, nearest};
use super::engine_handles::{EngineRef, HandleRef, all_of, held, value_of};
use super::engine_inputs::holds;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Result, fault, fault_with_hint};
use crate::value::custom::Custom;
use crate::value::generator::RngRef;
use crate::value::type_name;

/// Handles among the arguments of `flush`; lists have any number.
const MOST_FLUSHED: usize = 8;

/// Operations that wait from which on an engine that is online does them.
const FULL: usize = 1 << 16;

/// Keys of what describes an operator.
const KEYS: [&str; 8] =
    ["name", "exec", "batched", "signature", "shape", "effects", "backward", "forward"];
/// Keys of the options of an engine.
const OPTIONS: [&str; 3] = ["threads", "mode", "cap"];

/// The same as scripts hold it.
#[derive(Clone, Debug)]
struct OperatorRef(Rc<Described>);

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<OperatorRef>("operator");
    registry.engine.register_type_with_name::<HeldEngine>("engine");
    registry.engine.register_type_with_name::<HandleRef>("handle");
    documented(registry);
    engine_endings::register(registry);
    registry.any("operator", 1, |context, _, args| {
        operator(context, args[0]).map(|own| OperatorRef(Rc::new(own)))
    });
    registry.any("engine", 0, |context, _, _| engine(context, &Map::new()));
    registry.any("engine", 1, |context, _, args| match args[0].as_int() {
        Ok(threads) => engine(context, &Map::from([("threads".into(), threads.into())])),
        Err(_) => engine(context, &map("engine", args[0])?),
    });
    let (of_engine, of_handle) = (TypeId::of::<HeldEngine>(), TypeId::of::<HandleRef>());
    for arity in 2..=MOST_PUSHED + 2 {
        registry.typed("push", of_engine, arity, |context, call, args| {
            context.at(call);
            push(context, call, &engine_of("push", args[0])?, args[1], &args[2..])
        });
    }
    for arity in 1..=MOST_PUSHED + 1 {
        registry.typed("push", TypeId::of::<OperatorRef>(), arity, |_, _, _| {
            let hint = "e = engine(); h = e.push(op, x); e.get(h)";
            Err::<(), _>(fault_with_hint("push: an operator is pushed to an engine", hint))
        });
    }
    registry.typed("flush", of_engine, 1, |context, call, args| {
        engine_of("flush", args[0])?.run(context, call, None)
    });
    for arity in 2..=MOST_FLUSHED + 1 {
        registry.typed("flush", of_engine, arity, |context, call, args| {
            let engine = engine_of("flush", args[0])?;
            let mut handles = Vec::new();
            args[1..].iter().try_for_each(|arg| all_of("flush", arg, &mut handles))?;
            engine.owns_all("flush", &handles)?;
            let handles: Vec<_> = handles.into_iter().map(|handle| handle.handle).collect();
            engine.run(context, call, Some(&handles))
        });
    }
    registry.typed("flush", of_handle, 1, |context, call, args| {
        let handle = held::<HandleRef>("flush", args[0])?;
        handle.engine.run(context, call, Some(&[handle.handle]))
    });
    registry.typed("get", of_engine, 2, |context, call, args| {
        let engine = engine_of("get", args[0])?;
        value_of(context, call, Some(&engine), args[1])
    });
    for of_value in [of_handle, TypeId::of::<rhai::Array>(), TypeId::of::<Map>()] {
        registry.typed("get", of_value, 1, |context, call, args| {
            value_of(context, call, None, args[0])
        });
    }
    registry.typed("engine_stats", of_engine, 1, |_, _, args| {
        let engine = engine_of("engine_stats", args[0])?;
        Ok(engine.0.borrow("engine_stats")?.rows().iter().map(row).collect::<rhai::Array>())
    });
    for name in ["to_string", "to_debug"] {
        registry.engine.register_fn(name, |handle: &mut HandleRef| handle.to_string());
    }
}

fn engine_of(op: &str, value: &Dynamic) -> Result<EngineRef> {
    Ok(held::<HeldEngine>(op, value)?.engine)
}

fn documented(registry: &mut Registry<'_>) {
    registry.doc(
        "operator",
        "(description)",
        "An operator for engine(): a map of name and exec, a function of the inputs that gives the result; and if wanted batched, a \
         function of a list with the inputs of each operation that gives the list of results (if it fails, each is tried by itself, and draws and counts again, unless effects is true); signature, a function of the inputs \
         that gives the text or number which operations done together have in common (by default types and sizes of the inputs; a map with a name as type, #{type: \"csr\", ..}, is a type of yours); shape, a \
         function of the inputs that gives type and size of the result, as \"FloatC [2]\" or [\"TensorXfC\", 2, 3], \"integer\", a list of these of several, to be checked; effects: true \
         if it does more than give a result, prints, draws with rand or changes a variable: it is done though nobody holds its \
         handle, and behind those with effects that were pushed before, whichever is read first; backward and forward, its derivative, as custom takes them, where exec reads values: what is \
         recorded has derivatives anyway. Operations are done on the thread of the script; what they write in their inputs is seen by nobody else, and one that \
         takes a generator is done when it is pushed. Arrays need no operator: what is recorded makes \
         batches by itself.\n\n\
         >> double = operator(#{name: \"double\", exec: |x| x * 2})\n\
         >> e = engine(); e.get(e.push(double, FloatC([1, 2])))\n[2, 4]",
    );
    registry.doc(
        "engine",
        "(options)",
        "An engine: e.push(op, inputs..) takes an operator, or the name of a function, of the script too, and gives a handle at \
         once; inputs are what they are then, and may be handles, in lists and maps too. e.get(h) gives its value, of a list or map \
         of handles one of their values, e.flush() does all that waits and has a handle in use (what the statement before gave is in use), e.flush(h) what h needs, and with it what is like it and waits for nothing; \
         what fails is told where it is read, or at the end. rand and its like draw when they are pushed. \
         Operations of one operator and signature are done together, those with the fewest before them first; \
         engine_stats(e) tells how many in how many batches. Options: #{mode: \"online\", cap: 100}: \"online\" (65 536 operations that wait are done without being asked, not while \
         forbid_eval is set) or \"biphasic\" (only at flush and get); the most operations of a batch; threads are those of the \
         shell (--threads), whatever engine(#{threads: 4}) or engine(4) asks for. When no name of an engine is left, it does at \
         the end of the statement at the prompt, of the cell or the script what has a handle in use (where forbid_eval is set only \
         if it has effects to do); what has none is let go at once, with its inputs. set_flag(\"batch\", false) has each done by exec alone, no_grad holds for what is pushed in it, \
         and what Ctrl-C interrupts waits again.\n\n\
         >> e = engine(#{mode: \"biphasic\"}); a = FloatC([1, 2])\n\
         >> h = e.push(\"rscalar_add\", a, a); e.get(h)\n[2, 4]",
    );
}

fn map(op: &str, value: &Dynamic) -> Result<Map> {
    value.read_lock::<Map>().map(|map| map.clone()).ok_or_else(|| {
        fault_with_hint(
            format!("{op}: got {}, expected a map", type_name(value)),
            format!("help(\"{op}\") says what it holds"),
        )
    })
}

fn check_keys(op: &str, map: &Map, known: &[&str]) -> Result<()> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            let others = format!("there are {}", known.join(", "));
            let hint = nearest(key, known.iter().copied(), &others);
            Err(fault_with_hint(format!("{op}: unknown key `{key}`"), hint))
        }
        None => Ok(()),
    }
}

fn operator(context: &Context, description: &Dynamic) -> Result<Described> {
    let description = map("operator", description)?;
    check_keys("operator", &description, &KEYS)?;
    let wrong = |key: &str, got: &Dynamic, expected: &str| {
        fault(format!("operator: {key} is {}, expected {expected}", type_name(got)))
    };
    let function = |key: &str| match description.get(key) {
        None => Ok(None),
        Some(value) => match value.read_lock::<FnPtr>() {
            Some(function) => Ok(Some(function.clone())),
            None => Err(wrong(key, value, "a function")),
        },
    };
    let missing = |key: &str| {
        fault_with_hint(
            format!("operator: there is no {key}"),
            "operator(#{name: \"double\", exec: |x| x * 2})",
        )
    };
    let exec = function("exec")?.ok_or_else(|| missing("exec"))?;
    let (backward, forward) = (function("backward")?, function("forward")?);
    let is_told = backward.is_some() || forward.is_some();
    let name = description.get("name").ok_or_else(|| missing("name"))?;
    let name = name.clone().into_immutable_string().map_err(|_| wrong("name", name, "text"))?;
    if name.trim().is_empty() {
        return Err(fault("operator: name is empty"));
    }
    let derivative = is_told.then(|| {
        let (eval, others) = (exec.clone(), Vec::new());
        let name = Some(name.clone());
        let custom = Custom { op: "operator", name, eval, backward, forward, others };
        context.customs.borrow_mut().add(custom)
    });
    let has_effects = match description.get("effects") {
        Some(on) => on.as_bool().map_err(|_| wrong("effects", on, "true or false"))?,
        None => false,
    };
    Ok(Described {
        name,
        exec,
        derivative,
        batched: function("batched")?,
        signature: function("signature")?,
        shape: function("shape")?,
        has_effects,
    })
}

fn engine(context: &Context, options: &Map) -> Result<HeldEngine> {
    check_keys("engine", options, &OPTIONS)?;
    let number = |key: &str| match options.get(key) {
        None => Ok(None),
        Some(value) => match value.as_int().ok().and_then(|n| usize::try_from(n).ok()) {
            Some(n) if n > 0 => Ok(Some(n)),
            _ => Err(fault(format!("engine: {key} is {value}, expected a number from 1 on"))),
        },
    };
    number("threads")?;
    let most = number("cap")?;
    let mode = options.get("mode").map_or_else(|| "online".into(), ToString::to_string);
    let full = match mode.as_str() {
        "online" => FULL.min(most.unwrap_or(FULL)),
        "biphasic" => usize::MAX,
        _ => {
            let what = format!("engine: mode is `{mode}`, expected \"online\" or \"biphasic\"");
            return Err(fault(what));
        }
    };
    let engine = EngineRef::new(context, full, most.unwrap_or(usize::MAX));
    Ok(HeldEngine::new(context, engine))
}

fn push(
    context: &Context,
    call: &NativeCallContext<'_>,
    engine: &EngineRef,
    op: &Dynamic,
    inputs: &[&mut Dynamic],
) -> Result<HandleRef> {
    let op = if let Some(own) = op.read_lock::<OperatorRef>() {
        Op::Own(own.0.clone())
    } else if let Ok(name) = op.clone().into_immutable_string() {
        Op::Named(function_of(context, &name)?)
    } else {
        return Err(fault_with_hint(
            format!("push: got {}, expected an operator or the name of a function", type_name(op)),
            "operator(#{name: .., exec: ..}) makes one",
        ));
    };
    let mut taken = Vec::with_capacity(inputs.len());
    inputs.iter().try_for_each(|input| engine.add_input(input, &mut taken))?;
    // What is drawn is what a call in this place would draw.
    let draws = op.draws() || inputs.iter().any(|input| holds::<RngRef>(input));
    let line = context.line(call.call_position());
    let name = ImmutableString::from(op.name());
    if op.has_effects() {
        engine.keep(context);
    }
    let pushed = Pushed { op, detaches: context.session.detaches() };
    let mut agenda = engine.0.borrow_mut("push")?;
    agenda.number_from(context.pushes.replace(context.pushes.get() + 1));
    let handle = agenda.push(pushed, taken, line, &Closures::new(context, call));
    let n = agenda.n_waiting();
    drop(agenda);
    if draws {
        engine.work(context, call, Some(std::slice::from_ref(&handle)))?;
    }
    if starts(context, n, engine.0.full) {
        engine.run(context, call, None)?;
    }
    Ok(HandleRef { name, handle, engine: engine.clone() })
}

/// Whether an engine does `n` operations that wait without being asked, from `full` on (S1).
fn starts(context: &Context, n: usize, full: usize) -> bool {
    if n < full {
        return false;
    }
    let session = &context.session;
    let is_forbidden = session.flag("forbid_eval").unwrap_or(false);
    let what = match is_forbidden {
        true => "forbid_eval leaves them until somebody asks",
        false => "doing them",
    };
    if !is_forbidden || n.is_multiple_of(full) {
        session.log(1, || format!("{n} operations wait in an engine: {what}"));
    }
    !is_forbidden
}

fn row(row: &Row) -> Dynamic {
    let number = |n: usize| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    Dynamic::from_map(Map::from([
        ("op".into(), row.name.clone().into()),
        ("signature".into(), row.signature.clone().into()),
        ("operations".into(), number(row.operations)),
        ("batches".into(), number(row.batches)),
        ("largest".into(), number(row.largest)),
    ]))
}
