//! What the engine makes of many small works, and when.

use std::any::TypeId;
use std::thread;
use std::time::Duration;

use indexmap::IndexMap;
use porcini_core::eval::history::LaunchRecord;
use porcini_core::ir::kernel::KernelHash;
use porcini_core::{Array, Error, interrupt};
use rhai::{Dynamic, ImmutableString, Map, NativeCallContext};

use super::engine_functions::{MOST_PUSHED, call_function, function_of};
use super::engine_handles::{HandleRef, with_arrays};
use super::engine_inputs::add_all;
use super::memory::values;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::{ArrayRef, type_name};

/// How often `wait_any` looks.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// Arguments of `flush`.
const MOST_ARGUMENTS: usize = 8;

/// Columns of what `engine_stats` gives.
const COLUMNS: [&str; 7] =
    ["op", "signature", "operations", "batches", "largest", "run_us", "gflops"];

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "flush",
        "(x, y, ..)",
        "Evaluates values, lists and maps of them too, and waits for them. Without arguments: evaluates everything that somebody holds, handles of engines too, and \
         waits for all launches. sync() only waits. What nobody holds any more is not computed; the value of the statement before is \
         still held, as `_` is. Works that are alike, from other memory and numbers, run as one: \
         engine_stats() tells how many did, explain(x) and log level 1 show it, set_flag(\"batch\", false) switches it off.\n\n\
         >> a = FloatC([1, 2]) + 1; flush(a); kernel_history().len()\n1",
    );
    registry.doc_form(
        "flush",
        "([x, y, ..])",
        "A list may have any number of values, and of handles of engines: what they need is done.",
    );
    registry.any("flush", 0, |context, call, _| {
        context.endings().into_iter().try_for_each(|engine| engine.flush(context, call))?;
        context.eval_all()?;
        context.session.sync().or_fault()
    });
    for arity in 1..=MOST_ARGUMENTS {
        registry.any("flush", arity, |context, call, args| {
            let arrays = evaluated(context, call, "flush", args)?;
            context.session.finish(&arrays.iter().collect::<Vec<_>>()).or_fault()
        });
    }
    registry.doc(
        "engine_stats",
        "()",
        "What ran of the last 10 000 launches, as a list of maps, one for each signature: op (kernel, or a primitive's name), signature \
         (extents and type of a product; lanes and the first digits of the hash of a kernel), operations (how many works there were), \
         batches (how many launches they took), largest (the works of the largest), run_us, and gflops of products. \
         kernel_history_clear() begins anew.\n\n\
         >> a = FloatC([1, 2]) + 1; flush(a); engine_stats()[0].operations\n1",
    );
    registry.doc_form(
        "engine_stats",
        "(e)",
        "What an engine has done, one map for each operator and signature: op, signature, operations, batches and largest.",
    );
    registry.any("engine_stats", 0, |context, _, _| Ok(stats(context)));
    registry.doc(
        "is_ready",
        "(x)",
        "Whether a value, or all in a list or map, is computed already, so that reading it neither evaluates nor waits. Numbers \
         and texts in them are. Handles of an engine that has no name any more have it do what waits.\n\n\
         >> a = FloatC([1, 2]) + 1; print(is_ready(a)); flush(a); is_ready(a)\nfalse\ntrue",
    );
    registry.any("is_ready", 1, |context, call, args| {
        let mut handles = Vec::<HandleRef>::new();
        add_all(args[0], &mut handles);
        handles.iter().try_for_each(|handle| handle.flush_ended(context, call))?;
        is_ready(args[0])?.ok_or_else(|| {
            let got = type_name(args[0]);
            fault(format!("is_ready: got {got}, expected an array or a handle"))
        })
    });
    registry.doc(
        "wait_any",
        "(values)",
        "Evaluates a list of values and waits until one of them is computed; its index. The others go on. Of handles of an \
         engine the operations are done first; one that failed counts as computed.\n\n\
         >> wait_any([FloatC([1, 2]) + 1])\n0",
    );
    registry.typed("wait_any", TypeId::of::<rhai::Array>(), 1, |context, call, args| {
        let list = args[0].read_lock::<rhai::Array>().map(|list| list.clone()).unwrap_or_default();
        // Operations that are alike are done together, whichever items they are of.
        let list = with_arrays(context, call, &Dynamic::from_array(list))?.into_array();
        let items: Vec<Vec<Array>> = list
            .unwrap_or_default()
            .into_iter()
            .map(|mut item| evaluated(context, call, "wait_any", &[&mut item]))
            .collect::<Result<_>>()?;
        wait_any(&items)
    });
    pushes(registry);
}

/// Whether all arrays and handles in a value are computed; `None` of what is made of neither.
fn is_ready(value: &Dynamic) -> Result<Option<bool>> {
    let are_ready =
        |values: &[ArrayRef]| values.iter().flat_map(ArrayRef::leaves).all(|leaf| leaf.is_ready());
    if let Some(handle) = value.read_lock::<HandleRef>() {
        return handle.is_ready().map(Some);
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return all_ready(list.iter()).map(Some);
    }
    if let Some(map) = value.read_lock::<Map>() {
        return all_ready(map.values()).map(Some);
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        return Ok(Some(are_ready(&rng.arrays())));
    }
    Ok(value.read_lock::<ArrayRef>().map(|array| are_ready(std::slice::from_ref(&array))))
}

fn all_ready<'a>(items: impl Iterator<Item = &'a Dynamic>) -> Result<bool> {
    items.map(is_ready).try_fold(true, |all, ready| Ok(ready?.unwrap_or(true) && all))
}

/// Evaluates the array values among `args`, and those that handles among them give; their arrays.
fn evaluated(
    context: &Context,
    call: &NativeCallContext<'_>,
    op: &str,
    args: &[&mut Dynamic],
) -> Result<Vec<Array>> {
    let args = args.iter().map(|arg| with_arrays(context, call, arg));
    let mut args = args.collect::<Result<Vec<_>>>()?;
    let values = values(op, "arrays or handles", &args.iter_mut().collect::<Vec<_>>())?;
    context.eval(&values)?;
    Ok(values.iter().flat_map(ArrayRef::leaves).collect())
}

/// Waits until all arrays of one of the items are computed; its number.
fn wait_any(items: &[Vec<Array>]) -> Result<i64> {
    if items.is_empty() {
        let hint = "give it at least one value: wait_any([x, y])";
        return Err(fault_with_hint("wait_any: got an empty list", hint));
    }
    loop {
        let ready = items.iter().position(|item| item.iter().all(Array::is_ready));
        if let Some(number) = ready {
            return Ok(i64::try_from(number).unwrap_or(i64::MAX));
        }
        if interrupt::is_requested() {
            return Err(Error::Interrupted).or_fault();
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn pushes(registry: &mut Registry<'_>) {
    for arity in 1..=MOST_PUSHED {
        let first = TypeId::of::<ImmutableString>();
        registry.typed("push", first, arity, |context, call, args| {
            context.at(call);
            let name = function_of(context, &args[0].to_string())?;
            call_function(call, &name, args[1..].iter().map(|arg| (**arg).clone()).collect())
        });
    }
}

/// What launches are told apart by: op, structure, signature.
type Key = (String, KernelHash, String);

/// Launches of one signature.
#[derive(Default)]
struct Row {
    operations: usize,
    batches: usize,
    largest: usize,
    time: Duration,
    flops: f64,
}

fn stats(context: &Context) -> rhai::Array {
    let mut rows: IndexMap<Key, Row> = IndexMap::new();
    for launch in &context.session.history() {
        let op = if launch.name == "batch" { "kernel" } else { &launch.name };
        let row = rows.entry((op.into(), launch.hash, signature(launch))).or_default();
        row.operations += launch.members;
        row.batches += 1;
        row.largest = row.largest.max(launch.members);
        row.time += launch.run_time;
        row.flops += flops(launch);
    }
    context.print.borrow().columns.remember(COLUMNS);
    rows.into_iter().map(shown).collect()
}

pub(super) fn signature(launch: &LaunchRecord) -> String {
    match &launch.product {
        Some(product) => product.to_string(),
        None if launch.hash == KernelHash(0) => format!("n={}", launch.size),
        None => {
            let lanes = launch.size / launch.members.max(1) as u64;
            format!("n={lanes}, {:.8}", launch.hash.to_string())
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn flops(launch: &LaunchRecord) -> f64 {
    launch.product.map_or(0.0, |product| product.operations() as f64 * launch.members as f64)
}

fn shown(((op, _, signature), row): (Key, Row)) -> Dynamic {
    let count = |n: usize| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    let seconds = row.time.as_secs_f64();
    let gflops = if seconds > 0.0 { row.flops / seconds / 1e9 } else { 0.0 };
    let mut map = Map::new();
    map.insert("op".into(), op.into());
    map.insert("signature".into(), signature.into());
    map.insert("operations".into(), count(row.operations));
    map.insert("batches".into(), count(row.batches));
    map.insert("largest".into(), count(row.largest));
    map.insert("run_us".into(), (seconds * 1e6).into());
    map.insert("gflops".into(), gflops.into());
    map.into()
}
