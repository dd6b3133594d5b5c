//! What kernels that scripts write have done.

use std::time::Duration;

use porcini_core::cuda_module::ModuleKernel;
use porcini_core::eval::cache::CacheResult;
use porcini_core::eval::history::LaunchRecord;
use porcini_core::eval::launches::Step;
use porcini_core::ir::kernel::KernelHash;
use porcini_core::{Array, Value};
use rhai::{Dynamic, Map};

use super::kernels::lane_type;
use super::registry::Registry;
use crate::context::Context;
use crate::value::text_kernel::KernelRef;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "kernel_stats",
        "()",
        "Kernels that were written as text, as a list of maps, one for each kernel and types of arguments: name, types, device, compiles \
         (of the text, once for its types), hits (calls after the first), record_us (what the first took to record); and of the machine code \
         of the text alone hash, compile_us, launches and registers: where calls fused with what is around them, kernel_history() tells of the launch. \
         Kernels of CUDA modules have a row too.\n\n\
         >> k = kernel(\"T twice(T x) { return x + x; }\"); k(1.5); k(2.5); kernel_stats()[0].hits\n1",
    );
    registry.any("kernel_stats", 0, |context, _, _| {
        let texts = context.kernels.borrow();
        let modules = context.module_kernels.borrow();
        let history = context.session.history();
        let mut rows = rhai::Array::new();
        for kernel in texts.iter() {
            rows.extend(text_rows(context, kernel, &history));
        }
        rows.extend(modules.iter().map(|kernel| module_row(context, kernel)));
        context.print.borrow().columns.remember(STATS);
        Ok(rows)
    });
}

/// Columns of what `kernel_stats` gives.
const STATS: [&str; 10] = [
    "name",
    "types",
    "device",
    "hits",
    "compiles",
    "compile_us",
    "record_us",
    "launches",
    "registers",
    "hash",
];

fn row(columns: [(&str, Dynamic); STATS.len() - 1], device: String) -> Dynamic {
    let mut row: Map = columns.into_iter().map(|(key, value)| (key.into(), value)).collect();
    row.insert("device".into(), device.into());
    row.into()
}

fn count(n: u64) -> Dynamic {
    Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX))
}

fn microseconds(time: Duration) -> Dynamic {
    (time.as_secs_f64() * 1e6).into()
}

/// The calls of a text by types; and what the history knows of the kernel that the text alone is.
fn text_rows(context: &Context, kernel: &KernelRef, history: &[LaunchRecord]) -> Vec<Dynamic> {
    let rows = kernel.stats().into_iter().map(|(types, stats)| {
        let hash = hash_of(context, kernel, &types);
        let launches: Vec<_> = history.iter().filter(|launch| Some(launch.hash) == hash).collect();
        let compiled = launches.iter().filter(|launch| launch.cache == CacheResult::Miss);
        let registers = launches.iter().map(|launch| launch.code.registers).max().unwrap_or(0);
        let hash = hash.map_or(String::new(), |hash| format!("{:.8}", hash.to_string()));
        row(
            [
                ("name", kernel.name().into()),
                ("types", types.into()),
                ("hits", count(stats.calls - 1)),
                // The text for its types; the code of what it is fused into is the history's.
                ("compiles", count(1)),
                ("compile_us", microseconds(compiled.map(|launch| launch.compile_time).sum())),
                ("record_us", microseconds(stats.first)),
                ("launches", count(launches.len() as u64)),
                ("registers", count(registers as u64)),
                ("hash", hash.into()),
            ],
            context.session.device_name(),
        )
    });
    rows.collect()
}

/// The kernel that a text alone is for arrays of such types and numbers, of a reduction the one that goes over the lanes;
/// `None` if it is several, or for others.
fn hash_of(context: &Context, kernel: &KernelRef, types: &str) -> Option<KernelHash> {
    let types = types.split(", ").filter(|word| !word.is_empty()).map(|word| match word {
        "number" => Some(None),
        word => lane_type("", word).ok().map(Some),
    });
    let types = types.collect::<Option<Vec<_>>>()?;
    let results = kernel.sample(&context.session, &types).ok()?;
    let leaves: Vec<&Array> = results.iter().flat_map(Value::leaves).collect();
    let plan = context.session.plan(&leaves).ok()?;
    match (&plan.steps[..], kernel) {
        ([Step::Kernel(launch)], _) => Some(launch.kernel.hash),
        ([Step::Kernel(launch), ..], KernelRef::Reduction(_)) => Some(launch.kernel.hash),
        _ => None,
    }
}

fn module_row(context: &Context, kernel: &ModuleKernel) -> Dynamic {
    let stats = kernel.stats();
    row(
        [
            ("name", kernel.name().into()),
            ("types", kernel.types().into()),
            ("hits", count(stats.launches.saturating_sub(1))),
            ("compiles", count(u64::from(stats.launches > 0))),
            ("compile_us", microseconds(stats.compile_time)),
            ("record_us", 0.0.into()),
            ("launches", count(stats.launches)),
            ("registers", count(stats.registers as u64)),
            ("hash", "".into()),
        ],
        context.session.device_name(),
    )
}
