//! What the machine thinks: `whos`, history, PTX, IR, plans; text output.

use std::any::TypeId;
use std::fmt::Write as _;

use porcini_core::alloc::Bytes;
use porcini_core::eval::cache::CacheResult;
use porcini_core::eval::schedule::{Plan, Step};
use porcini_core::inspect::{Rows, Whos};
use porcini_core::{Array, Session};
use rhai::{Dynamic, Map};

use super::Registry;
use super::control::{is_shown, running_lanes};
use crate::context::Context;
use crate::display;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::host::NOTHING;
use crate::html::{self, html};
use crate::listing::Listing;
use crate::shown::{HTML, Place, Shown};
use crate::table::Table;
use crate::value::{ArrayRef, type_name};

/// Most arguments of `print` and `format`.
const MOST_ARGUMENTS: usize = 16;

pub(super) fn register(registry: &mut Registry<'_>) {
    printing(registry);
    variables(registry);
    history(registry);
    programs(registry);
}

/// The line that `print` writes.
fn printed(context: &Context, args: &[&mut Dynamic]) -> Result<String> {
    if !is_shown(context)? {
        return Ok(NOTHING.into());
    }
    let text = |arg: &&mut Dynamic| context.fitted(&running_lanes(context, arg)?);
    Ok(args.iter().map(text).collect::<Result<Vec<_>>>()?.join(" "))
}

fn printing(registry: &mut Registry<'_>) {
    registry.doc(
        "print",
        "(a, b, ..)",
        "Shows values separated by spaces; arrays are evaluated.\n\n\
         >> print(\"x =\", FloatC([1, 2]))\nx = [1, 2]",
    );
    for arity in 0..=MOST_ARGUMENTS {
        registry.any("print", arity, |context, _, args| printed(context, args));
    }
    // Rhai has its own forms of these.
    for kind in [TypeId::of::<f64>(), TypeId::of::<rhai::Array>(), TypeId::of::<Map>()] {
        for name in ["print", "to_string"] {
            let context = registry.context.clone();
            registry.engine.register_raw_fn(name, [kind], move |_, args| {
                if name == "print" { printed(&context, args) } else { context.text(args[0]) }
            });
        }
    }
    registry.doc(
        "format",
        "(template, a, ..)",
        "Text with values in place of {}; {:.9} shows floats with 9 significant digits, {:>12.4} right-aligned \
         in 12 columns with 4.\n\n\
         >> format(\"{} {:.3} {:>6}\", 1, pi, 2.5)\n1 3.14    2.5",
    );
    for arity in 1..=MOST_ARGUMENTS {
        registry.any("format", arity, |context, _, args| {
            let template = args[0].clone().into_string();
            let template = template.map_err(|_| fault("format: expected a text first"))?;
            let values: Vec<Dynamic> = args[1..].iter().map(|arg| (**arg).clone()).collect();
            display::format(&template, &values, context.print.get())
        });
    }
    registry.doc(
        "str",
        "(x)",
        "A value as print shows it, as text; arrays are evaluated.\n\n>> str(FloatC([1, 2])) + \"!\"\n[1, 2]!",
    );
    registry.any("str", 1, |context, _, args| context.text(args[0]));
    registry.doc(
        "html",
        "(x)",
        "A value as HTML, as notebooks show it: of an array type, size, device, memory, state and at most 1000 \
         lanes; of a list of maps a table. Arrays are evaluated.\n\n\
         >> html(\"a < b\")\n<pre>a &lt; b</pre>",
    );
    registry.any("html", 1, |context, _, args| html(args[0], context.print.get()));
    registry.doc(
        "set_print",
        "(options)",
        "How arrays print: #{digits: 6, edge: 5, threshold: 20}; keys left out stay as they are.\n\n\
         >> set_print(#{digits: 3}); FloatC(pi)\n[3.14]",
    );
    registry.any("set_print", 1, |context, _, args| {
        let options = args[0].read_lock::<Map>().map(|map| map.clone());
        let options = options.ok_or_else(|| fault("set_print: expected a map #{digits: 6}"))?;
        set_print(context, &options)
    });
    registry.doc(
        "to_debug",
        "(x)",
        "A value as text, with quotes around texts.\n\n>> \"a\".to_debug()\n\"a\"",
    );
    for name in ["to_string", "to_debug"] {
        registry.on_array(name, 1, |context, _, array, _| {
            display::text(&Dynamic::from(array.clone()), context.print.get())
        });
    }
    let context = registry.context.clone();
    registry.engine.register_fn("to_string", move |host: &mut crate::host_array::HostRef| {
        host.text(context.print.get())
    });
    registry.engine.register_fn("to_string", |fault: &mut crate::fault::Fault| fault.to_string());
}

fn set_print(context: &Context, options: &Map) -> Result<()> {
    let mut print = context.print.get();
    for (key, value) in options {
        let number = value.as_int().ok().and_then(|number| u64::try_from(number).ok());
        let number = number
            .ok_or_else(|| fault(format!("set_print: {key} must be an integer from 0 up")))?;
        match key.as_str() {
            "digits" => print.digits = usize::try_from(number).unwrap_or(17).clamp(1, 17),
            "edge" => print.edge = number.max(1),
            "threshold" => print.threshold = number,
            _ => {
                return Err(fault(format!(
                    "set_print: no option {key} (options: digits, edge, threshold)"
                )));
            }
        }
    }
    context.print.set(print);
    Ok(())
}

fn variables(registry: &mut Registry<'_>) {
    registry.doc(
        "whos",
        "()",
        "Lists the recorded variables: those somebody holds or that have a label, and at most 40 others. \
         whos(#{all: true}) lists all, whos(#{data: true}) gives the rows as a list of maps.\n\n\
         >> a = FloatC([1, 2]); whos(#{data: true})[0].size\n2",
    );
    registry.alias("cuda_whos", "whos");
    for prefix in ["", "cuda_"] {
        let name = format!("{prefix}whos");
        registry.any(&name, 0, |context, _, _| {
            show_whos(context, Rows::Short);
            Ok(Dynamic::UNIT)
        });
        registry.any(&name.clone(), 1, move |context, _, args| {
            let options = args[0].read_lock::<Map>().map(|map| map.clone()).ok_or_else(|| {
                let got = type_name(args[0]);
                fault_with_hint(
                    format!("{name}: got {got}, expected a map of options"),
                    "write whos(), whos(#{all: true}) or whos(#{data: true})",
                )
            })?;
            if let Some(key) = options.keys().find(|key| !["all", "data"].contains(&key.as_str())) {
                return Err(fault(format!("{name}: got the option {key}, expected all or data")));
            }
            let wants = |key: &str| options.get(key).is_some_and(|v| v.as_bool() == Ok(true));
            let rows = if wants("all") { Rows::All } else { Rows::Short };
            if wants("data") {
                let listings = context.session.family();
                let data = listings.iter().flat_map(|session| whos_data(&session.whos(rows)));
                return Ok(Dynamic::from(data.collect::<rhai::Array>()));
            }
            show_whos(context, rows);
            Ok(Dynamic::UNIT)
        });
    }
}

fn show_whos(context: &Context, rows: Rows) {
    for (i, session) in context.session.family().iter().enumerate() {
        let whos = session.whos(rows);
        if i == 0 || !whos.rows.is_empty() {
            show_listing(context, &whos);
        }
    }
}

fn show_listing(context: &Context, whos: &Whos) {
    let table = whos_table(whos);
    let mut notes = String::new();
    if whos.n_hidden > 0 {
        let _ = write!(notes, "\n  .. {} more, whos(#{{all: true}}) lists them ..", whos.n_hidden);
    }
    let window = context.host.window();
    for line in whos_footer(whos).lines() {
        let line = window.map_or_else(|| line.into(), |window| display::broken_at(line, 4, window));
        let _ = write!(notes, "\n{line}");
    }
    // In a narrow window the label matters more than the counts.
    let fitted = whos_table(whos).fitted(window, &["E/I Refs", "Memory", "Type", "Ready"]);
    let text = format!("{fitted}{notes}");
    let forms =
        if context.host.shows_forms() { vec![(HTML, html::noted(&table, &notes))] } else { vec![] };
    context.host.display(&Shown { text, forms }, Place::Below);
}

/// The table of `whos` as Enoki draws it.
fn whos_table(whos: &Whos) -> Table {
    let row = |row: &porcini_core::inspect::WhosRow| {
        vec![
            row.id.to_string(),
            row.dtype.name().into(),
            format!("{} / {}", row.external, row.internal),
            row.size.to_string(),
            Bytes(row.bytes).to_string(),
            if row.ready { "[x]".into() } else { "[ ]".into() },
            row.label.as_deref().unwrap_or_default().into(),
        ]
    };
    let columns = ["ID", "Type", "E/I Refs", "Size", "Memory", "Ready", "Label"];
    Table {
        columns: columns.map(Into::into).into(),
        rows: whos.rows.iter().map(row).collect(),
        skipped: None,
    }
}

/// Enoki's footer, with lines for device, cache and allocator.
fn whos_footer(whos: &Whos) -> String {
    let (ready, scheduled) = (whos.ready, whos.scheduled);
    format!(
        "\n  Memory usage (ready)     : {}\n  Memory usage (scheduled) : {} + {} = {}\n  \
         Memory savings           : {}\n\n  Device    : {}\n  Kernels   : {} compiled\n  \
         Allocator : {} used, {} kept, {} at most, limit {}",
        Bytes(ready),
        Bytes(ready),
        Bytes(scheduled),
        Bytes(ready + scheduled),
        Bytes(whos.savings),
        whos.device,
        whos.n_kernels,
        Bytes(whos.memory.used),
        Bytes(whos.memory.cached),
        Bytes(whos.memory.peak),
        Bytes(whos.memory.limit),
    )
}

fn whos_data(whos: &Whos) -> rhai::Array {
    let number = |n: u64| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    let row = |row: &porcini_core::inspect::WhosRow| {
        let mut map = Map::new();
        map.insert("id".into(), number(row.id));
        map.insert("type".into(), row.dtype.name().into());
        map.insert("external".into(), number(row.external.into()));
        map.insert("internal".into(), number(row.internal.into()));
        map.insert("size".into(), number(row.size));
        map.insert("bytes".into(), number(row.bytes));
        map.insert("ready".into(), row.ready.into());
        map.insert("label".into(), row.label.as_deref().unwrap_or_default().into());
        map.insert("device".into(), whos.device.clone().into());
        Dynamic::from(map)
    };
    whos.rows.iter().map(row).collect()
}

fn history(registry: &mut Registry<'_>) {
    registry.doc(
        "kernel_history",
        "()",
        "The last 10 000 launches as a list of maps, which prints as a table: name (kernel, or a primitive's such as sort), hash, size, inputs, outputs, operations, cache_hit, \
         compile_us, run_us, code_bytes, registers, spills.\n\n\
         >> eval(FloatC([1, 2]) + 1); kernel_history()[0].size\n2",
    );
    registry.any("kernel_history", 0, |context, _, _| {
        let number = |n: usize| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
        let launches = context.session.history().into_iter().map(|launch| {
            let mut map = Map::new();
            map.insert("name".into(), launch.name.into());
            map.insert("hash".into(), launch.hash.to_string().into());
            map.insert("size".into(), number(usize::try_from(launch.size).unwrap_or(usize::MAX)));
            map.insert("inputs".into(), number(launch.inputs));
            map.insert("outputs".into(), number(launch.outputs));
            map.insert("operations".into(), number(launch.operations));
            map.insert("cache_hit".into(), (launch.cache != CacheResult::Miss).into());
            map.insert("compile_us".into(), (launch.compile_time.as_secs_f64() * 1e6).into());
            map.insert("run_us".into(), (launch.run_time.as_secs_f64() * 1e6).into());
            map.insert("code_bytes".into(), number(launch.code.bytes));
            map.insert("registers".into(), number(launch.code.registers));
            map.insert("spills".into(), number(launch.code.spills));
            Dynamic::from(map)
        });
        Ok(launches.collect::<rhai::Array>())
    });
    registry.doc(
        "kernel_history_clear",
        "()",
        "Forgets the launches so far.\n\n\
         >> eval(FloatC([1, 2]) + 1); kernel_history_clear(); kernel_history()\n[]",
    );
    registry.any("kernel_history_clear", 0, |context, _, _| {
        context.session.clear_history();
        Ok(())
    });
}

fn programs(registry: &mut Registry<'_>) {
    registry.doc(
        "ptx",
        "(x)",
        "The PTX of the kernels that would compute x, for this GPU, or sm_75 where there is none.\n\n\
         >> ptx(FloatC([1, 2]) + 1).contains(\"add.rn.f32\")\ntrue",
    );
    program(registry, "ptx", Listing::Ptx, |session, plan| session.ptx(plan).or_fault());
    registry.doc(
        "sass",
        "(x)",
        "The machine code of a GPU that ptx(x) becomes; needs no GPU, but nvdisasm, and without a GPU ptxas, from the \
         CUDA toolkit or by pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm.\n\n\
         >> sass(FloatC([1, 2]))\nnothing to compile: the value is known already",
    );
    program(registry, "sass", Listing::Machine, |session, plan| session.sass(plan).or_fault());
    registry.doc(
        "asm",
        "(x)",
        "The machine code of the kernels that would compute x on this device, each instruction below the \
         line of ir(x) that it belongs to.\n\n\
         >> asm(FloatC([1, 2]))\nnothing to compile: the value is known already",
    );
    program(registry, "asm", Listing::Machine, |session, plan| {
        let text = session.disassemble(plan).or_fault()?;
        text.ok_or_else(|| {
            let device = session.device_name();
            fault(format!("asm: {device} has no machine code to show; ir(x) shows its kernels"))
        })
    });
    registry.doc(
        "ir",
        "(x)",
        "The kernels that would compute x, in the backends' common form.\n\n\
         >> ir(FloatC([1, 2]))\nnothing to compile: the value is known already",
    );
    program(registry, "ir", Listing::Ir, |_, plan| {
        let text = |(i, step): (usize, &Step)| match step {
            Step::Kernel(launch) => format!("kernel {i} (n={}):\n{}", launch.size, launch.kernel),
            Step::Primitive(launch) => format!("primitive {i}: {}\n", launch.primitive.name()),
        };
        Ok(plan.steps.iter().enumerate().map(text).collect())
    });
    registry.doc(
        "explain",
        "(x)",
        "What evaluating x would launch: one line a kernel.\n\n\
         >> explain(FloatC([1, 2]) + 1)\nkernel 0: n=2, in=1, out=1, ops=2, 1 of them uniform",
    );
    program(registry, "explain", Listing::Plan, |_, plan| {
        let mut text = String::new();
        for (i, step) in plan.steps.iter().enumerate() {
            let launch = match step {
                Step::Kernel(launch) => launch,
                Step::Primitive(launch) => {
                    let (name, inputs) = (launch.primitive.name(), launch.operands.len());
                    let _ = writeln!(text, "{name} {i}: in={inputs}, out=1");
                    continue;
                }
            };
            let kernel = &launch.kernel;
            let (inputs, outputs) = (kernel.n_inputs(), kernel.buffers.len() - kernel.n_inputs());
            let _ = writeln!(
                text,
                "kernel {i}: n={}, in={inputs}, out={outputs}, ops={}, {} of them uniform",
                launch.size, kernel.n_ops, kernel.n_uniform
            );
        }
        Ok(text)
    });
    registry.doc(
        "graphviz",
        "(x)",
        "The trace that x depends on, in the DOT language.\n\n\
         >> graphviz(FloatC([1, 2])).contains(\"digraph\")\ntrue",
    );
    registry.on_array("graphviz", 1, |_, _, array, _| {
        Ok(Listing::Graph.text(array.leaves().first().map(Array::graphviz).unwrap_or_default()))
    });
}

fn program(
    registry: &mut Registry<'_>,
    name: &'static str,
    listing: Listing,
    show: fn(&Session, &Plan) -> Result<String>,
) {
    registry.any(name, 1, move |context, _, args| {
        let array = args[0].read_lock::<ArrayRef>().map(|array| array.clone());
        let array = array.ok_or_else(|| {
            fault(format!("{name}: got {}, expected an array", type_name(args[0])))
        })?;
        let leaves = array.leaves();
        let session = leaves.first().map_or(&context.session, Array::session);
        let plan = session.plan(&leaves.iter().collect::<Vec<_>>()).or_fault()?;
        if plan.steps.is_empty() {
            return Ok("nothing to compile: the value is known already".into());
        }
        let text = show(session, &plan)?.trim_end().to_string();
        if text.is_empty() {
            return Ok("no kernels, only primitives: explain(x) names them".into());
        }
        Ok(listing.text(text))
    });
}
