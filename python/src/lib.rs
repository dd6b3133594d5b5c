//! The Python package: core's values as Python objects, its tables as Python functions.
//!
//! A binding converts arguments, calls core and turns errors into exceptions; nothing is computed here. What Python
//! says better than Rust (bridges to other libraries, IPython) stands in `porcini/`.

mod aliases;
mod arguments;
mod around;
mod arrow;
mod buffers;
mod callable;
mod components;
mod control;
mod convert;
mod custom;
mod derivatives;
mod dlpack;
mod docs;
mod draws;
mod errors;
mod exchanged;
mod fork;
mod forms;
mod functions;
mod given;
mod home;
mod images;
mod index;
mod integers;
mod interchange;
mod interrupt;
mod kernels;
mod lane_type;
mod lists;
mod make;
mod makers;
mod memory;
mod methods;
mod names;
mod numpy;
mod object;
mod operators;
mod pickle;
mod random;
mod reach;
mod recorded;
mod recursion;
mod runtime;
mod script_host;
mod scripts;
mod session_numbers;
mod stand_ins;
mod statics;
mod tree;
mod types;
mod work;

use porcini_core::memory::process_heap::Heap;
use pyo3::prelude::*;

/// What Rust takes here; Python keeps its own.
#[global_allocator]
static HEAP: Heap = Heap;

#[pymodule]
fn _porcini(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    types::register(module)?;
    makers::register(module)?;
    functions::register(module)?;
    callable::register(module)?;
    pickle::register(module)?;
    control::register(module)?;
    custom::register(module)?;
    derivatives::register(module)?;
    kernels::register(module)?;
    random::register(module)?;
    session_numbers::register(module)?;
    recorded::register(module)?;
    runtime::register(module)?;
    scripts::register(module)?;
    images::register(module)?;
    fork::register(module)?;
    home::register(module)
}
