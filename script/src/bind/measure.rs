//! Measuring from scripts: `timeit`, `bench`, `profile`.

use std::time::Duration;

use porcini_core::eval::history::LaunchRecord;
use rhai::{Dynamic, FnPtr, Map, NativeCallContext};

use super::registry::Registry;
use crate::bind::stopwatch::{Measured, Work, once, paired, repeated};
use crate::context::Context;
use crate::fault::{Result, fault};
use crate::value::type_name;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "timeit",
        "(f)",
        "Times a closure, whose value is evaluated, until the median is stable (at most 2 s or so): a map of the \
         microseconds of a run, total and its parts record, compile, launch, wait, the spread in percent, batches \
         and runs. At a prompt: %timeit a + b\n\n\
         >> timeit(|| FloatC([1, 2]) + 1).total > 0\ntrue",
    );
    registry.any("timeit", 1, |context, call, args| {
        let f = function("timeit", args[0])?;
        repeated(context, &mut *work(call, &f)).map(|measured| measured_map(&measured))
    });
    registry.doc(
        "bench",
        "(f, g)",
        "Times two closures by turns as timeit does: the microseconds of both, and the ratio of the second to the \
         first. At a prompt: %bench a + b ;; a * b\n\n\
         >> bench(|| 1 + 1, || 1 + 2).ratio > 0\ntrue",
    );
    registry.any("bench", 2, |context, call, args| {
        let (f, g) = (function("bench", args[0])?, function("bench", args[1])?);
        let [first, second] = paired(context, &mut *work(call, &f), &mut *work(call, &g))?;
        let total = |measured: &Measured| micros(measured.times.total());
        let mut map = Map::new();
        map.insert("first".into(), total(&first).into());
        map.insert("second".into(), total(&second).into());
        map.insert("ratio".into(), (total(&second) / total(&first).max(1e-9)).into());
        Ok(map)
    });
    registry.doc(
        "profile",
        "(f)",
        "Runs a closure and evaluates its value: the kernels that this launched as a list of maps, those that took \
         longest in all first: total_us, percent, launches, size, operations, name, hash. At a prompt: %profile f()\n\n\
         >> profile(|| FloatC([1, 2]) + 1)[0].launches\n1",
    );
    registry.any("profile", 1, |context, call, args| {
        let f = function("profile", args[0])?;
        profile(context, &mut *work(call, &f))
    });
}

/// The kernels that work launches, by total time.
pub(crate) fn profile(context: &Context, work: &mut Work<'_>) -> Result<rhai::Array> {
    let before = context.session.launch_totals().launches;
    let _value = once(context, work)?.1;
    let launched = context.session.launch_totals().launches - before;
    let history = context.session.history();
    // Of more launches than the history keeps, the last ones.
    let from = history.len() - usize::try_from(launched).unwrap_or(usize::MAX).min(history.len());
    let mut kernels: Vec<(String, Vec<&LaunchRecord>)> = Vec::new();
    for launch in &history[from..] {
        let key = format!("{}{}", launch.name, launch.hash);
        match kernels.iter_mut().find(|(known, _)| *known == key) {
            Some((_, launches)) => launches.push(launch),
            None => kernels.push((key, vec![launch])),
        }
    }
    let total = |launches: &[&LaunchRecord]| -> f64 {
        launches.iter().map(|launch| micros(launch.run_time)).sum()
    };
    let whole: f64 = kernels.iter().map(|(_, launches)| total(launches)).sum();
    kernels.sort_by(|(_, a), (_, b)| total(b).total_cmp(&total(a)));
    let number = |n: usize| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    let row = |(_, launches): &(String, Vec<&LaunchRecord>)| {
        let us = total(launches);
        let largest = launches.iter().map(|launch| launch.size).max().unwrap_or(0);
        let mut map = Map::new();
        map.insert("total_us".into(), us.into());
        map.insert("percent".into(), (100.0 * us / whole.max(1e-9)).into());
        map.insert("launches".into(), number(launches.len()));
        map.insert("size".into(), number(usize::try_from(largest).unwrap_or(usize::MAX)));
        map.insert("operations".into(), number(launches[0].operations));
        map.insert("name".into(), launches[0].name.as_ref().into());
        map.insert("hash".into(), launches[0].hash.to_string()[..8].to_string().into());
        Dynamic::from(map)
    };
    Ok(kernels.iter().map(row).collect())
}

fn measured_map(measured: &Measured) -> Map {
    let mut map = Map::new();
    map.insert("total".into(), micros(measured.times.total()).into());
    for (name, time) in measured.times.parts() {
        map.insert(name.into(), micros(time).into());
    }
    map.insert("spread".into(), ((measured.spread * 1000.0).round() / 10.0).into());
    map.insert("batches".into(), i64::try_from(measured.batches).unwrap_or(i64::MAX).into());
    map.insert("runs".into(), i64::from(measured.runs).into());
    map
}

/// With three decimals: no clock says more.
#[expect(clippy::cast_precision_loss, reason = "a time")]
fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn function(op: &str, value: &Dynamic) -> Result<FnPtr> {
    let function = value.read_lock::<FnPtr>().map(|function| function.clone());
    function.ok_or_else(|| {
        fault(format!("{op}: got {}, expected a closure: {op}(|| a + b)", type_name(value)))
    })
}

fn work<'w>(call: &'w NativeCallContext<'w>, f: &'w FnPtr) -> Box<Work<'w>> {
    Box::new(move || f.call_within_context::<Dynamic>(call, ()))
}
