//! What the engine makes of many small works, and when.

use std::time::Duration;

use porcini_core::eval::history::LaunchRecord;
use porcini_core::ir::kernel::KernelHash;
use rhai::{Dynamic, Map};

use super::memory::evaluate_values;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::IntoFault;

/// Arguments of `flush`.
const MOST_ARGUMENTS: usize = 8;

/// Columns of what `engine_stats` gives.
const COLUMNS: [&str; 7] =
    ["op", "signature", "operations", "batches", "largest", "run_us", "gflops"];

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "flush",
        "(x, y, ..)",
        "Evaluates values, lists of them too, and waits until the device has finished; without arguments everything that somebody \
         holds. What nobody holds any more is not computed. Works that are alike, from other memory and numbers, run as one: \
         engine_stats() tells how many did, explain(x) and log level 1 show it, set_flag(\"batch\", false) switches it off.\n\n\
         >> a = FloatC([1, 2]) + 1; flush(a); kernel_history().len()\n1",
    );
    registry.any("flush", 0, |context, _, _| {
        context.eval_all()?;
        context.session.sync().or_fault()
    });
    for arity in 1..=MOST_ARGUMENTS {
        registry.any("flush", arity, |context, _, args| {
            evaluate_values(context, args)?;
            context.session.sync().or_fault()
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
    registry.any("engine_stats", 0, |context, _, _| Ok(stats(context)));
}

/// Launches of one signature.
struct Row {
    op: String,
    hash: KernelHash,
    signature: String,
    operations: usize,
    batches: usize,
    largest: usize,
    time: Duration,
    flops: f64,
}

fn stats(context: &Context) -> rhai::Array {
    let mut rows: Vec<Row> = Vec::new();
    for launch in &context.session.history() {
        let (signature, flops) = (signature(launch), flops(launch));
        let op = if launch.name == "batch" { "kernel" } else { &launch.name };
        let same =
            |row: &&mut Row| row.op == op && row.hash == launch.hash && row.signature == signature;
        match rows.iter_mut().find(same) {
            Some(row) => {
                row.operations += launch.members;
                row.batches += 1;
                row.largest = row.largest.max(launch.members);
                row.time += launch.run_time;
                row.flops += flops;
            }
            None => rows.push(Row {
                op: op.into(),
                hash: launch.hash,
                signature,
                operations: launch.members,
                batches: 1,
                largest: launch.members,
                time: launch.run_time,
                flops,
            }),
        }
    }
    context.print.borrow().columns.remember(COLUMNS);
    rows.into_iter().map(shown).collect()
}

fn signature(launch: &LaunchRecord) -> String {
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

fn shown(row: Row) -> Dynamic {
    let count = |n: usize| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    let seconds = row.time.as_secs_f64();
    let gflops = if seconds > 0.0 { row.flops / seconds / 1e9 } else { 0.0 };
    let mut map = Map::new();
    map.insert("op".into(), row.op.into());
    map.insert("signature".into(), row.signature.into());
    map.insert("operations".into(), count(row.operations));
    map.insert("batches".into(), count(row.batches));
    map.insert("largest".into(), count(row.largest));
    map.insert("run_us".into(), (seconds * 1e6).into());
    map.insert("gflops".into(), gflops.into());
    map.into()
}
