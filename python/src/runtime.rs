//! Evaluation and settings, and what the machine thinks: `eval`, `whos`, `kernel_history`, `ptx`.

use std::collections::HashMap;
use std::fmt::Write;

use porcini_core::eval::history_columns::{Entry, columns};
use porcini_core::eval::launches::Plan;
use porcini_core::flags::FLAGS;
use porcini_core::inspect::Rows;
use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::memory::process_heap;
use porcini_core::{Array, DeviceChoice, Result as CoreResult, Session, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::{OrRaise, got, wrong_type};
use crate::home;
use crate::interrupt::{blocking, blocking_once, evaluating};
use crate::names::name_of;
use crate::object::{self, PyValue};
use crate::tree::values;
use crate::work;

type Object<'py> = Bound<'py, PyAny>;

/// The arrays in objects that are wanted in memory.
fn arrays_in(op: &str, objects: &Bound<'_, PyTuple>) -> PyResult<Vec<Array>> {
    let mut found = Vec::new();
    for object in objects.iter() {
        let before = found.len();
        if let Ok(generator) = object.cast::<crate::random::Generator>() {
            found.extend(generator.get().arrays().map(Value::Array));
        } else {
            values(&object, &mut found)?;
        }
        if found.len() == before && !crate::convert::is_sequence(&object) {
            return Err(wrong_type(format!("{op}: got {}, expected arrays", got(&object))));
        }
    }
    let arrays = found.iter().map(Value::arrays).collect::<CoreResult<Vec<_>>>().or_raise()?;
    Ok(arrays.concat())
}

/// Computes arrays now: those given, in lists and dicts too; without arguments every array that somebody holds, and pending
/// writes. Launches run on while Python does; sync() waits for them.
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn eval(py: Python<'_>, arrays: &Bound<'_, PyTuple>) -> PyResult<()> {
    let session = home::session(py)?;
    if arrays.is_empty() {
        return evaluating(py, || session.eval_all());
    }
    let arrays = arrays_in("eval", arrays)?;
    evaluating(py, || session.eval(&arrays.iter().collect::<Vec<_>>()))
}

/// As eval, but returns at once on all devices; another name of it, as Dr.Jit has it.
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn schedule(py: Python<'_>, arrays: &Bound<'_, PyTuple>) -> PyResult<()> {
    eval(py, arrays)
}

/// Waits until the device has finished; raises what went wrong in what ran.
#[pyfunction]
fn sync(py: Python<'_>) -> PyResult<()> {
    let session = home::session(py)?;
    evaluating(py, || session.sync())
}

/// What is logged: 0 nothing, 1 launches, 2 + compilation and cache, 3 + generated source, 4 + every recorded operation,
/// 5 + reference counts and machine code. Lines go to sys.stderr.
#[pyfunction]
fn set_log_level(py: Python<'_>, level: u8) -> PyResult<()> {
    if level > 5 {
        return Err(PyValueError::new_err(format!("set_log_level: got {level}, expected 0 to 5")));
    }
    home::session(py)?.set_log_level(level);
    Ok(())
}

/// The log level, 0 to 5.
#[pyfunction]
fn log_level(py: Python<'_>) -> PyResult<u8> {
    Ok(home::session(py)?.log_level())
}

/// Sets a switch of the session; flags() lists them.
#[pyfunction]
fn set_flag(py: Python<'_>, name: &str, value: bool) -> PyResult<()> {
    home::session(py)?.set_flag(name, value).or_raise()
}

/// The value of a switch.
#[pyfunction]
fn flag(py: Python<'_>, name: &str) -> PyResult<bool> {
    home::session(py)?.flag(name).or_raise()
}

/// All switches with their values.
#[pyfunction]
fn flags(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let session = home::session(py)?;
    let dict = PyDict::new(py);
    for (name, ..) in FLAGS {
        dict.set_item(name, session.flag(name).or_raise()?)?;
    }
    Ok(dict)
}

/// The device that x is on, or the session's: "cpu (avx512)".
#[pyfunction]
#[pyo3(signature = (x=None))]
fn device(py: Python<'_>, x: Option<&Bound<'_, PyValue>>) -> PyResult<String> {
    let session = home::session(py)?;
    let value = x.map(|x| x.get().value().clone());
    let leaves = value.as_ref().map(Value::leaves).unwrap_or_default();
    Ok(leaves.first().map_or(session, |leaf| leaf.session()).device_name())
}

/// The value on another device: to(x, "cuda:1"). Bits stay the same.
#[pyfunction]
pub(crate) fn to<'py>(x: &Bound<'py, PyValue>, device: &str) -> PyResult<Object<'py>> {
    let choice: DeviceChoice = device.parse().or_raise()?;
    let value = x.get().value().clone();
    let moved = blocking(x.py(), || value.each_array(&mut |array| array.to(choice)))?;
    object::of(x.py(), moved)
}

/// Names a value in listings and logs; x with the name.
#[pyfunction]
fn set_label<'py>(x: &Bound<'py, PyValue>, name: &str) -> PyResult<()> {
    let value = x.get().value().clone();
    let n = value.leaves().len();
    let mut place = 0;
    let named = value.each_array(&mut |array| {
        let mut array = array.clone();
        let own = if n == 1 { name.to_string() } else { format!("{name}[{place}]") };
        array.set_label(&own);
        place += 1;
        Ok(array)
    });
    x.get().set(x.py(), named.or_raise()?);
    Ok(())
}

/// The name that set_label gave, or None.
#[pyfunction]
fn label(x: &Bound<'_, PyValue>) -> Option<String> {
    let value = x.get().value().clone();
    value.leaves().first().and_then(|leaf| leaf.label()).map(|label| label.to_string())
}

/// Gives memory that is kept for later back to the system: how many blocks and bytes. Compiled kernels go too.
#[pyfunction]
fn malloc_trim(py: Python<'_>) -> PyResult<(usize, u64)> {
    let session = home::session(py)?;
    let _under_way = work::begin(py)?;
    Ok(py.detach(|| {
        let freed = session.malloc_trim();
        // What the table and plans of long programs took.
        process_heap::trim();
        freed
    }))
}

/// Bytes of the device's memory: used, kept for later, most, limit.
#[pyfunction]
fn mem_get_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let memory = home::session(py)?.memory_info();
    let dict = PyDict::new(py);
    dict.set_item("used", memory.used)?;
    dict.set_item("cached", memory.cached)?;
    dict.set_item("peak", memory.peak)?;
    dict.set_item("limit", memory.limit)?;
    Ok(dict)
}

// ---- listings ----

/// Rows of a listing: a list of dicts, which prints as a table.
#[pyclass(module = "porcini", frozen, sequence)]
pub(crate) struct Table {
    columns: Vec<&'static str>,
    rows: Py<PyList>,
    footer: String,
}

#[pymethods]
impl Table {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.rows.bind(py).len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        self.rows.bind(py).as_any().get_item(key)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        Ok(self.rows.bind(py).try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let cells = self.cells(py)?;
        let width =
            |i: usize| cells.iter().map(|row| row[i].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in &cells {
            let padded = row.iter().zip(&widths).map(|(cell, &n)| format!("{cell:<n$}"));
            let _ = writeln!(text, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
        }
        text.push_str(&self.footer);
        Ok(text.trim_end().to_string())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        let cells = self.cells(py)?;
        let row = |tag: &str, row: &Vec<String>| {
            let cells = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let (head, rows) =
            cells.split_first().map_or((String::new(), String::new()), |(head, rows)| {
                (row("th", head), rows.iter().map(|cells| row("td", cells)).collect())
            });
        Ok(format!("<table>{head}{rows}</table><pre>{}</pre>", escaped(self.footer.trim())))
    }
}

impl Table {
    fn cells(&self, py: Python<'_>) -> PyResult<Vec<Vec<String>>> {
        let head = self.columns.iter().map(|&name| name.into()).collect();
        let cell = |object: Object<'_>| match object.extract::<f64>() {
            Ok(number) if object.is_instance_of::<pyo3::types::PyFloat>() => format!("{number:.1}"),
            _ => object.to_string(),
        };
        let mut cells: Vec<Vec<String>> = vec![head];
        for row in self.rows.bind(py).iter() {
            let of = |name: &&str| row.get_item(*name).map(cell);
            cells.push(self.columns.iter().map(of).collect::<PyResult<_>>()?);
        }
        Ok(cells)
    }
}

/// Columns of `whos`.
const WHOS: &[&str] =
    &["id", "type", "name", "label", "size", "memory", "ready", "external", "internal", "parts"];

/// The recorded values that somebody holds or that have a label, and at most 40 others; whos(all=True) all. `names` are those of
/// variables, a dict such as globals().
#[pyfunction]
#[pyo3(signature = (all=false, names=None))]
fn whos<'py>(py: Python<'py>, all: bool, names: Option<&Bound<'py, PyDict>>) -> PyResult<Table> {
    let session = home::session(py)?;
    let rows = PyList::empty(py);
    let mut known: HashMap<u64, Vec<String>> = HashMap::new();
    for (name, object) in names.into_iter().flatten() {
        if let Ok(value) = object.cast::<PyValue>() {
            let value = value.get().value().clone();
            for leaf in value.leaves() {
                let own = known.entry(leaf.serial().0).or_default();
                // Components may be one array.
                let name = name.to_string();
                if own.last() != Some(&name) {
                    own.push(name);
                }
            }
        }
    }
    let listed = session.whos(if all { Rows::All } else { Rows::Short });
    let has_parts = listed.has_parts();
    for row in &listed.rows {
        let dict = PyDict::new(py);
        dict.set_item("id", row.id)?;
        dict.set_item("type", name_of(row.dtype.script_name()))?;
        dict.set_item("name", known.get(&row.id).map_or_else(String::new, |own| own.join(", ")))?;
        dict.set_item("label", row.label.as_deref().unwrap_or_default())?;
        dict.set_item("size", row.size)?;
        dict.set_item("bytes", row.bytes)?;
        dict.set_item("memory", Bytes(row.bytes).to_string())?;
        let ready = match (row.ready, row.running, row.faulty) {
            _ if row.lost => "[-]",
            (true, true, _) => "[>]",
            (true, false, true) => "[!]",
            (true, false, false) => "[x]",
            (false, ..) => "[ ]",
        };
        dict.set_item("ready", ready)?;
        dict.set_item("external", row.external)?;
        dict.set_item("internal", row.internal)?;
        if has_parts {
            dict.set_item("parts", row.spread())?;
        }
        rows.append(dict)?;
    }
    let mut footer = String::new();
    if listed.n_hidden > 0 {
        let _ = writeln!(footer, ".. {} more, whos(all=True) lists them ..", listed.n_hidden);
    }
    let _ = writeln!(
        footer,
        "\nmemory: {} ready, {} scheduled, {} spared by fusion\n{}: {} kernels compiled; {} used, {} kept, {} at most, limit {}",
        Bytes(listed.ready),
        Bytes(listed.scheduled),
        Bytes(listed.savings),
        listed.device,
        listed.n_kernels,
        Bytes(listed.memory.used),
        Bytes(listed.memory.cached),
        Bytes(listed.memory.peak),
        Bytes(listed.memory.limit)
    );
    // The last column is of devices with parts.
    let columns = if has_parts { WHOS } else { &WHOS[..WHOS.len() - 1] };
    Ok(Table { columns: columns.to_vec(), rows: rows.unbind(), footer })
}

/// The last 10 000 launches: a list of dicts, which prints as a table. clear=True forgets them afterwards.
#[pyfunction]
#[pyo3(signature = (clear=false))]
fn kernel_history(py: Python<'_>, clear: bool) -> PyResult<Table> {
    let session = home::session(py)?;
    let columns = columns(session.parts() > 1);
    let rows = PyList::empty(py);
    for launch in session.history() {
        let dict = PyDict::new(py);
        for (name, entry) in columns {
            match entry(&launch) {
                Entry::Text(text) => dict.set_item(name, text),
                Entry::Count(n) => dict.set_item(name, n),
                Entry::Micros(time) => dict.set_item(name, time),
                Entry::Truth(truth) => dict.set_item(name, truth),
                Entry::Unknown => dict.set_item(name, py.None()),
            }?;
        }
        rows.append(dict)?;
    }
    if clear {
        session.clear_history();
    }
    let columns = columns.iter().map(|&(name, _)| name).collect();
    Ok(Table { columns, rows: rows.unbind(), footer: String::new() })
}

/// Forgets the launches so far.
#[pyfunction]
fn kernel_history_clear(py: Python<'_>) -> PyResult<()> {
    home::session(py)?.clear_history();
    Ok(())
}

// ---- programs ----

fn program(
    op: &str,
    objects: &Bound<'_, PyTuple>,
    show: impl FnOnce(&Session, &Plan, &[Array]) -> CoreResult<String> + Send,
) -> PyResult<String> {
    let py = objects.py();
    let arrays = arrays_in(op, objects)?;
    let session = arrays.first().map_or(home::session(py)?, Array::session);
    let text = blocking_once(py, || {
        let plan = session.plan(&arrays.iter().collect::<Vec<_>>())?;
        if plan.steps.is_empty() {
            return Ok("nothing to compile: the value is known already".to_string());
        }
        show(session, &plan, &arrays)
    })?;
    let text = text.trim_end();
    Ok(if text.is_empty() { "no kernels, only primitives: explain(x) names them" } else { text }
        .to_string())
}

/// The PTX of the kernels that would compute x, for this GPU, or sm_75 where there is none.
#[pyfunction]
#[pyo3(signature = (*x))]
fn ptx(x: &Bound<'_, PyTuple>) -> PyResult<String> {
    program("ptx", x, |session, plan, _| session.ptx(plan))
}

/// The machine code of a GPU that ptx(x) becomes; needs nvdisasm, and without a GPU ptxas, of the CUDA toolkit.
#[pyfunction]
#[pyo3(signature = (*x))]
fn sass(x: &Bound<'_, PyTuple>) -> PyResult<String> {
    program("sass", x, |session, plan, _| session.sass(plan))
}

/// The machine code of the kernels that would compute x on this device, each instruction below the line of ir(x) that it
/// belongs to.
#[pyfunction]
#[pyo3(signature = (*x))]
fn asm(x: &Bound<'_, PyTuple>) -> PyResult<String> {
    program("asm", x, |session, plan, _| {
        let text = session.disassemble(plan)?;
        Ok(text.unwrap_or_else(|| {
            "this device has no machine code to show; ir(x) shows its kernels".into()
        }))
    })
}

/// The kernels that would compute x, in the backends' common form.
#[pyfunction]
#[pyo3(signature = (*x))]
fn ir(x: &Bound<'_, PyTuple>) -> PyResult<String> {
    program("ir", x, |session, plan, _| Ok(session.common_form(plan)))
}

/// What evaluating x would launch: one line a kernel, or a batch of what is alike.
#[pyfunction]
#[pyo3(signature = (*x))]
fn explain(x: &Bound<'_, PyTuple>) -> PyResult<String> {
    program("explain", x, |session, plan, wanted| Ok(session.explained(plan, wanted)))
}

/// The trace that x depends on, in the DOT language.
#[pyfunction]
fn graphviz(x: &Bound<'_, PyValue>) -> PyResult<String> {
    let value = x.get().value().clone();
    value.leaves().first().map_or(Ok(String::new()), |leaf| leaf.graphviz()).or_raise()
}

/// Columns of `whos_ad`.
const TAPE: &[&str] = &["id", "type", "size", "label", "made_by", "made_of", "kept", "gradient"];

/// The values that derivatives may be asked of: what made them, and what of them is kept.
#[pyfunction]
fn whos_ad(py: Python<'_>) -> PyResult<Table> {
    let rows = PyList::empty(py);
    for row in home::session(py)?.tape() {
        let dict = PyDict::new(py);
        dict.set_item("id", row.id)?;
        dict.set_item("type", name_of(row.dtype.script_name()))?;
        dict.set_item("size", row.size)?;
        dict.set_item("label", row.label.as_deref().unwrap_or_default())?;
        dict.set_item("made_by", row.made_by.unwrap_or("a mark"))?;
        dict.set_item("made_of", row.made_of)?;
        dict.set_item(
            "kept",
            row.kept.map_or_else(|| "computed again".into(), |bytes| Bytes(bytes).to_string()),
        )?;
        dict.set_item("gradient", row.has_gradient)?;
        rows.append(dict)?;
    }
    Ok(Table { columns: TAPE.to_vec(), rows: rows.unbind(), footer: String::new() })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(eval, module)?)?;
    module.add_function(wrap_pyfunction!(schedule, module)?)?;
    module.add_function(wrap_pyfunction!(sync, module)?)?;
    module.add_function(wrap_pyfunction!(set_log_level, module)?)?;
    module.add_function(wrap_pyfunction!(log_level, module)?)?;
    module.add_function(wrap_pyfunction!(set_flag, module)?)?;
    module.add_function(wrap_pyfunction!(flag, module)?)?;
    module.add_function(wrap_pyfunction!(flags, module)?)?;
    module.add_function(wrap_pyfunction!(device, module)?)?;
    module.add_function(wrap_pyfunction!(to, module)?)?;
    module.add_function(wrap_pyfunction!(set_label, module)?)?;
    module.add_function(wrap_pyfunction!(label, module)?)?;
    module.add_function(wrap_pyfunction!(malloc_trim, module)?)?;
    module.add_function(wrap_pyfunction!(mem_get_info, module)?)?;
    module.add_function(wrap_pyfunction!(whos, module)?)?;
    module.add_function(wrap_pyfunction!(whos_ad, module)?)?;
    module.add_function(wrap_pyfunction!(kernel_history, module)?)?;
    module.add_function(wrap_pyfunction!(kernel_history_clear, module)?)?;
    module.add_function(wrap_pyfunction!(ptx, module)?)?;
    module.add_function(wrap_pyfunction!(sass, module)?)?;
    module.add_function(wrap_pyfunction!(asm, module)?)?;
    module.add_function(wrap_pyfunction!(ir, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(graphviz, module)?)
}
