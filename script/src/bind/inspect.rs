//! What the machine thinks: `whos`, history, PTX, IR, plans.

use std::any::TypeId;

use porcini_core::eval::history_columns::{Entry, columns};
use porcini_core::eval::launches::Plan;
use porcini_core::inspect::{Rows, Whos, WhosRow};
use porcini_core::{Array, Session};
use rhai::{Dynamic, Map, NativeCallContext};

use super::memory::values;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};
use crate::language::tokens;
use crate::show::display;
use crate::show::forms::{DisplayTarget, Shown};
use crate::show::html;
use crate::show::markup::HTML;
use crate::show::program_text::{Listing, Program};
use crate::show::table::Table;
use crate::show::whos;
use crate::value::names::Names;
use crate::value::{ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    variables(registry);
    history(registry);
    programs(registry);
}

fn variables(registry: &mut Registry<'_>) {
    registry.doc(
        "whos",
        "()",
        "Lists the recorded variables that have a name, of a variable in sight, or a label, and says how many have \
         neither. whos(#{all: true}) lists all; whos(#{data: true}) gives rows as a list of maps, of those too that \
         somebody holds, and of at most 40 others. Ready is [x] where the \
         lanes are in memory, [>] while the launch that writes them is under way, [!] if they come of an index out of bounds in the evaluation that made them, so that some may be 0 \
         or were left alone; what is computed from them later is not marked. [-] was in the memory of a device that failed. \
         x.index is an array's number in the list, x.data the address of its lanes, which evaluates it; a sandbox tells none.\n\n\
         >> a = FloatC([1, 2]); whos(#{data: true})[0].size\n2",
    );
    registry.doc(
        "cuda_whos",
        "()",
        "Lists the recorded variables as Enoki does: by their numbers, without the names of variables. Options as of whos.\n\n\
         >> a = FloatC([1, 2]); cuda_whos(#{data: true})[0].size\n2",
    );
    for name in ["whos", "cuda_whos"] {
        let in_sight = tokens::in_sight(registry.engine);
        registry.any(name, 0, move |context, _, _| {
            let sight = in_sight.borrow();
            show_whos(context, Rows::Short, sight.as_ref().map(|sight| &sight.names))?;
            Ok(Dynamic::UNIT)
        });
        let in_sight = tokens::in_sight(registry.engine);
        registry.any(name, 1, move |context, _, args| {
            let sight = in_sight.borrow();
            let names = sight.as_ref().map(|sight| &sight.names);
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
                let mut data = rhai::Array::new();
                for session in &listings {
                    add_rows(&mut data, session, &session.whos(rows), names)?;
                }
                context.print.borrow().columns.remember(WHOS);
                return Ok(Dynamic::from(data));
            }
            show_whos(context, rows, names)?;
            Ok(Dynamic::UNIT)
        });
    }
}

/// Columns of what `whos` gives as data.
const WHOS: [&str; 13] = [
    "id",
    "type",
    "name",
    "label",
    "size",
    "bytes",
    "ready",
    "running",
    "external",
    "internal",
    "out_of_bounds",
    "lost",
    "device",
];

fn show_whos(context: &Context, rows: Rows, names: Option<&Names>) -> Result<()> {
    for (i, session) in context.session.family().iter().enumerate() {
        let mut listed = session.whos(rows);
        let name = |row: &WhosRow| names.and_then(|names| names.get(session, row.id));
        if names.is_some() {
            let n = listed.rows.len();
            let is_known = |row: &WhosRow| row.label.is_some() || name(row).is_some();
            let is_held = |row: &WhosRow| row.external > 0 || row.faulty || row.lost;
            listed.rows.retain(|row| rows == Rows::All || is_held(row) || is_known(row));
            listed.n_hidden += n - listed.rows.len();
        }
        let named = |row: &WhosRow| names.and_then(|names| names.find(session, row.id));
        let named = listed.rows.iter().map(named).collect::<Vec<_>>();
        if i == 0 || !listed.rows.is_empty() {
            let named = names.is_some().then_some(&named[..]);
            let notes = whos::notes(&listed, named.is_some());
            let table = whos::recorded(&listed, named);
            show_table(context, table, notes, &whos::footer(&listed), &whos::LESS)?;
        }
    }
    Ok(())
}

/// Shows a table with notes and a footer below it; in a narrow window without the columns named in `less`, one after the
/// other, and with the footer's lines broken.
pub(super) fn show_table(
    context: &Context,
    table: Table,
    mut notes: String,
    footer: &str,
    less: &[&str],
) -> Result<()> {
    let window = context.host.window();
    for line in footer.lines() {
        notes.push('\n');
        let _ = display::break_line(&mut notes, line, 4, window.unwrap_or(usize::MAX));
    }
    let forms = if context.host.shows_forms() {
        vec![(HTML, html::noted(&table, &notes)?)]
    } else {
        vec![]
    };
    let text = format!("{}{notes}", table.fitted(window, less));
    context.host.display(&Shown { text, forms }, DisplayTarget::Below);
    Ok(())
}

/// Adds the rows as maps.
fn add_rows(
    data: &mut rhai::Array,
    session: &Session,
    whos: &Whos,
    names: Option<&Names>,
) -> Result<()> {
    let number = |n: u64| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    let row = |row: &WhosRow| {
        let mut map = Map::new();
        map.insert("id".into(), number(row.id));
        map.insert("type".into(), row.dtype.name().into());
        map.insert("external".into(), number(row.external.into()));
        map.insert("internal".into(), number(row.internal.into()));
        map.insert("size".into(), number(row.size));
        map.insert("bytes".into(), number(row.bytes));
        map.insert("ready".into(), row.ready.into());
        map.insert("running".into(), row.running.into());
        map.insert("out_of_bounds".into(), row.faulty.into());
        map.insert("lost".into(), row.lost.into());
        let name = names.and_then(|names| names.get(session, row.id));
        map.insert("name".into(), name.unwrap_or_default().into());
        map.insert("label".into(), row.label.as_deref().unwrap_or_default().into());
        map.insert("device".into(), whos.device.clone().into());
        Dynamic::from(map)
    };
    for shown in &whos.rows {
        check_interrupt()?;
        data.push(row(shown));
    }
    Ok(())
}

fn history(registry: &mut Registry<'_>) {
    registry.doc(
        "kernel_history",
        "()",
        "The last 10 000 launches as a list of maps, which prints as a table: number (from 0 since the session began or kernel_history_clear(), those forgotten too), name (kernel, a primitive's \
         such as sort, or that of a kernel of a CUDA module), size, run_us, waited_us (how long it was in line before), worker (0: who \
         evaluated or waited for it, others are threads besides), compile_us, cache_hit, operations, inputs, outputs, registers, spills, code_bytes, \
         and the first digits of the hash. Of a device with parts also exchanged (bytes that they brought each other), slowest_part, slowest_us \
         and mean_us: which part took longest over its lanes, how long, and how long they took in the mean (not of GPUs).\n\n\
         >> eval(FloatC([1, 2]) + 1); kernel_history()[0].size\n2",
    );
    registry.any("kernel_history", 0, |context, _, _| {
        let columns = columns(context.session.parts() > 1);
        let entry = |entry| match entry {
            Entry::Text(text) => text.into(),
            Entry::Count(n) => i64::try_from(n).unwrap_or(i64::MAX).into(),
            Entry::Micros(time) => time.into(),
            Entry::Truth(truth) => truth.into(),
            Entry::Unknown => Dynamic::UNIT,
        };
        let launches = context.session.history().into_iter().map(|launch| {
            let entries = columns.iter().map(|&(name, of)| (name.into(), entry(of(&launch))));
            Dynamic::from(entries.collect::<Map>())
        });
        context.print.borrow().columns.remember(columns.iter().map(|&(name, _)| name));
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
    program(registry, "ptx", Program::Ptx, |session, plan, _| session.ptx(plan).or_fault());
    registry.doc(
        "sass",
        "(x)",
        "The machine code of a GPU that ptx(x) becomes; needs no GPU, but nvdisasm, and without a GPU ptxas, from the \
         CUDA toolkit or by pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm.\n\n\
         >> sass(FloatC([1, 2]))\nnothing to compile: the value is known already",
    );
    program(registry, "sass", Program::Machine, |session, plan, _| session.sass(plan).or_fault());
    registry.doc(
        "asm",
        "(x)",
        "The machine code of the kernels that would compute x on this device, each instruction below the \
         line of ir(x) that it belongs to.\n\n\
         >> asm(FloatC([1, 2]))\nnothing to compile: the value is known already",
    );
    program(registry, "asm", Program::Machine, |session, plan, _| {
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
    program(registry, "ir", Program::Ir, |session, plan, _| Ok(session.common_form(plan)));
    registry.doc(
        "explain",
        "(x)",
        "What evaluating x, an array or a list of them, would launch: one line a kernel, or a batch of what is alike, or why many results \
         are none, with what it stores besides because somebody holds it, and on a device with parts the bytes that they would bring each other; \
         see eval.\n\n\
         >> explain(FloatC([1, 2]) + 1)\nkernel 0: n=2, in=1, out=1, ops=2, 1 of them uniform",
    );
    registry.alias("plan", "explain");
    for name in ["explain", "plan"] {
        program(registry, name, Program::Plan, |session, plan, wanted| {
            Ok(session.explained(plan, wanted))
        });
    }
    registry.doc(
        "graphviz",
        "(x)",
        "The trace that x depends on, in the DOT language.\n\n\
         >> graphviz(FloatC([1, 2])).contains(\"digraph\")\ntrue",
    );
    registry.on_array("graphviz", 1, |_, _, array, _| {
        let text = array.evaluated()?.first().map(Array::graphviz).transpose().or_fault()?;
        Ok(Listing { program: Program::Graph, text: text.unwrap_or_default().into() })
    });
    as_texts(registry);
}

/// What scripts do with texts without changing them, they do with listings.
const READ: [(&str, usize); 16] = [
    ("len", 1),
    ("is_empty", 1),
    ("bytes", 1),
    ("chars", 1),
    ("contains", 2),
    ("starts_with", 2),
    ("ends_with", 2),
    ("index_of", 2),
    ("index_of", 3),
    ("split", 1),
    ("split", 2),
    ("split_rev", 2),
    ("sub_string", 2),
    ("sub_string", 3),
    ("to_lower", 1),
    ("to_upper", 1),
];

fn as_texts(registry: &mut Registry<'_>) {
    let engine = &mut *registry.engine;
    engine.register_type_with_name::<Listing>("listing");
    for (name, arity) in READ {
        let mut types = vec![TypeId::of::<Dynamic>(); arity];
        types[0] = TypeId::of::<Listing>();
        engine.register_raw_fn(name, types, move |call, args| read(&call, name, args));
    }
    for name in ["len", "is_empty"] {
        engine.register_raw_fn(
            format!("get${name}"),
            [TypeId::of::<Listing>()],
            move |call, args| read(&call, name, args),
        );
    }
}

/// Calls the function of texts.
fn read(call: &NativeCallContext<'_>, name: &str, args: &[&mut Dynamic]) -> Result<Dynamic> {
    let text = |arg: &Dynamic| match arg.read_lock::<Listing>() {
        Some(listing) => listing.text.clone().into(),
        None => arg.clone(),
    };
    let mut args: Vec<Dynamic> = args.iter().map(|arg| text(arg)).collect();
    call.call_native_fn_raw(name, true, &mut args.iter_mut().collect::<Vec<_>>())
}

fn program(
    registry: &mut Registry<'_>,
    name: &'static str,
    program: Program,
    show: fn(&Session, &Plan, &[Array]) -> Result<String>,
) {
    registry.any(name, 1, move |context, _, args| {
        let values = values(name, "arrays", args)?;
        let leaves = values.iter().map(ArrayRef::evaluated).collect::<Result<Vec<_>>>()?.concat();
        let session = leaves.first().map_or(&context.session, Array::session);
        let plan = session.plan(&leaves.iter().collect::<Vec<_>>()).or_fault()?;
        if plan.steps.is_empty() {
            return Ok("nothing to compile: the value is known already".into());
        }
        let text = show(session, &plan, &leaves)?.trim_end().to_string();
        if text.is_empty() {
            return Ok("no kernels, only primitives: explain(x) names them".into());
        }
        Ok(Dynamic::from(Listing { program, text: text.into() }))
    });
}
