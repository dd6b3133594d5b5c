//! When launches ran, and who ran them: as a picture, and as events for programs that draw timelines.

use std::time::Duration;

use porcini_core::eval::history::LaunchRecord;
use serde_json::{Value, json};

use super::engine::signature;
use super::files;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::fault_with_hint;
use crate::show::plot::{Chart, Layer, Marks, Picture, Side};
use crate::value;

/// Launches of a picture, unless the caller says otherwise.
const LAUNCHES: i64 = 1000;

/// What is told apart by colour.
const KINDS: [&str; 4] = ["compile", "kernel", "batch", "primitive"];

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "timeline",
        "(n)",
        "The last launches (1000, or n of them) as a picture: a row for the script's thread, one for each that works behind it, one for each part of the device with what parts share, and what \
         they did when: compile, run a kernel, a batch, a primitive. On a GPU a launch ends for the script when it is queued, and what its parts do is not known. \
         kernel_history_clear() begins anew; kernel_history() has the numbers, trace_events writes them for other programs.\n\n\
         >> flush(FloatC([1, 2]) + 1); type_of(timeline())\nPicture",
    );
    for arity in 0..=1 {
        registry.any("timeline", arity, |context, _, args| {
            let n = args
                .first()
                .map_or(Ok(LAUNCHES), |n| n.as_int().ok().filter(|&n| n > 0).ok_or(n))
                .map_err(|n| {
                    let got = value::got(n);
                    let hint = "write timeline(), or timeline(100) for the last hundred";
                    fault_with_hint(
                        format!("timeline: got {got}, expected a number of launches"),
                        hint,
                    )
                })?;
            let history = context.session.history();
            let skipped =
                history.len() - usize::try_from(n).unwrap_or(usize::MAX).min(history.len());
            Ok(Picture::chart(chart(context, &history[skipped..]), context.width()))
        });
    }
    registry.doc(
        "trace_events",
        "(path)",
        "Writes the last 10 000 launches as a timeline for chrome://tracing or ui.perfetto.dev: what was compiled and what ran, when and how \
         long; on a GPU until a launch was queued. How many there are. timeline() draws them here.\n\n\
         >> flush(FloatC([1, 2]) + 1); trace_events(\"t.json\")\n1",
    );
    registry.any("trace_events", 1, |context, _, args| {
        let path = files::path("trace_events", args[0])?;
        let (events, n) = events(context);
        files::store(context, "trace_events", &path, events.to_string().as_bytes())?;
        Ok(i64::try_from(n).unwrap_or(i64::MAX))
    });
}

/// A stretch of a timeline: what was done in which row from when on, and how long.
struct Span<'h> {
    kind: usize,
    row: usize,
    start: Duration,
    time: Duration,
    launch: &'h LaunchRecord,
}

/// Who did something: the threads that ran launches, of which the first is the script's, then the parts of the device.
struct Doers {
    threads: usize,
    parts: usize,
}

impl Doers {
    fn of(history: &[LaunchRecord]) -> Self {
        let last = |numbers: &mut dyn Iterator<Item = usize>| numbers.max().map_or(0, |n| n + 1);
        let works = history.iter().flat_map(|launch| &launch.parts.works);
        Self {
            threads: last(&mut history.iter().map(|launch| launch.worker)).max(1),
            parts: last(&mut works.map(|work| work.part)),
        }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let behind = (1..self.threads).map(|thread| format!("behind {thread}"));
        let parts = (0..self.parts).map(|part| format!("part {part}"));
        ["script".into()].into_iter().chain(behind).chain(parts)
    }

    /// What launches were, one after the other.
    fn spans<'h>(&self, history: &'h [LaunchRecord]) -> impl Iterator<Item = Span<'h>> {
        let threads = self.threads;
        history.iter().flat_map(move |launch| {
            let compile_time = launch.compile_time;
            let start = launch.start.saturating_sub(compile_time);
            let compiled = Span { kind: 0, row: 0, start, time: compile_time, launch };
            let kind = match &*launch.name {
                "kernel" => 1,
                "batch" => 2,
                _ => 3,
            };
            let (row, start) = (launch.worker, launch.start + launch.waited);
            let ran = Span { kind, row, start, time: launch.run_time, launch };
            let end = start + launch.run_time;
            let parts = launch.parts.works.iter().map(move |work| Span {
                kind,
                row: threads + work.part,
                start: end.saturating_sub(work.ago),
                time: work.time,
                launch,
            });
            let compiled = Some(compiled).filter(|span| !span.time.is_zero());
            compiled.into_iter().chain([ran]).chain(parts)
        })
    }
}

fn chart(context: &Context, history: &[LaunchRecord]) -> Chart {
    let doers = Doers::of(history);
    let rows: Vec<String> = doers.names().collect();
    let spans: Vec<Span<'_>> = doers.spans(history).collect();
    let start = spans.iter().map(|span| span.start).min().unwrap_or_default();
    let end = spans.iter().map(|span| span.start + span.time).max().unwrap_or_default();
    let all = end.saturating_sub(start);
    let (unit, each) = match all.as_secs_f64() {
        time if time < 1e-3 => ("us", 1e6),
        time if time < 1.0 => ("ms", 1e3),
        _ => ("s", 1.0),
    };
    let length = |time: Duration| time.as_secs_f64() * each;
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let middle = |row: usize| (rows.len() - row) as f64 - 0.5;
    let layer = |(kind, label): (usize, &&str)| {
        let own = spans.iter().filter(|span| span.kind == kind);
        let place = |span: &Span<'_>| {
            ((length(span.start.saturating_sub(start)), middle(span.row)), length(span.time))
        };
        let own: Vec<_> = own.map(place).collect();
        Layer { label: (*label).into(), marks: Marks::Spans(own) }
    };
    let layers = KINDS.iter().enumerate().map(layer).collect();
    let (n, device) = (history.len(), context.session.device_name());
    let launches = if n == 1 { "launch" } else { "launches" };
    Chart {
        title: format!("{n} {launches} in {:.3} {unit}, {device}", length(all)),
        x: Side { label: unit.into(), ..Side::default() },
        y: Side { rows, ..Side::default() },
        grid: None,
        layers,
    }
}

/// The launches as Chrome's trace events, and how many there are.
fn events(context: &Context) -> (Value, usize) {
    let history = context.session.history();
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let device = context.session.device_name();
    let doers = Doers::of(&history);
    let named = doers.names().enumerate().map(|(row, name)| {
        let name = if row == 0 { device.clone() } else { format!("{device}, {name}") };
        json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": row + 1, "args": {"name": name}})
    });
    let mut events: Vec<Value> = named.collect();
    for Span { kind, row, start, time, launch } in doers.spans(&history) {
        let (name, category) =
            if kind == 0 { ("compile", "compile") } else { (&*launch.name, "launch") };
        events.push(json!({
            "name": name, "cat": category, "ph": "X", "ts": us(start), "dur": us(time), "pid": 1, "tid": row + 1,
            "args": {
                "lanes": launch.size, "members": launch.members, "operations": launch.operations,
                "signature": signature(launch),
            },
        }));
    }
    (json!({"traceEvents": events, "displayTimeUnit": "ms"}), history.len())
}
