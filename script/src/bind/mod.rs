//! The functions that scripts call, registered with Rhai from the tables of core.
//!
//! A binding reads its arguments, calls core and turns errors into faults; nothing is computed here.

mod asserting;
mod assign;
mod binary_search;
mod catalogue;
mod cengine;
mod columns;
pub(crate) mod constants;
mod control;
mod csv;
mod cuda_modules;
mod custom;
pub(crate) mod deletion;
mod derivatives;
mod devices;
mod differentiated;
pub(crate) mod doc;
mod engine;
mod engine_closures;
pub(crate) mod engine_endings;
mod engine_failures;
mod engine_functions;
mod engine_handles;
mod engine_inputs;
mod engine_operators;
mod entries;
mod files;
mod geometry;
mod given;
mod groups;
mod images;
mod index;
mod inspect;
mod jit;
mod json;
mod kernel_stats;
pub(crate) mod kernels;
mod language_help;
mod large_integers;
mod likeness;
mod list_tensors;
mod many_arguments;
pub(crate) mod measure;
pub(crate) mod memory;
mod nested_types;
mod notebook;
mod operators;
mod outside;
mod parquet;
mod plots;
mod power;
mod printing;
mod progress;
mod random;
mod registry;
mod rows;
mod runtime;
mod script_numbers;
mod session_numbers;
mod sizes;
mod sorting;
mod split;
pub(crate) mod stopwatch;
mod substrings;
mod tape;
mod tensor_index;
pub(crate) mod tensor_members;
mod tensor_types;
mod tensors;
mod text_files;
mod timeline;
pub(crate) mod types;

use std::rc::Rc;

use porcini_core::catalogue::{ACROSS_LANES, FILLED, MEMORY, PAIRS, REARRANGE, SHAPES, VECTORS};
use rhai::{Dynamic, Engine};

use crate::bind::doc::Written;
use crate::bind::registry::Registry;
use crate::context::Context;
use crate::diagnose::wording::ARRAY;
use crate::fault::Fault;
use crate::value::ArrayRef;
use crate::value::host_array::HostRef;

/// Registers the functions of a file.
type Register = fn(&mut Registry<'_>);

/// What the functions belong to, and what registers them. A later one replaces an earlier one of the same
/// name and types.
const FAMILIES: &[(&str, Register)] = &[
    ("script numbers and ranges", script_numbers::register),
    ("script numbers and ranges", large_integers::register),
    ("lists, maps and text", sizes::register),
    ("lists, maps and text", sorting::register),
    ("elementwise functions", operators::register),
    ("operators", power::register),
    ("elementwise functions", |registry| catalogue::register(registry, PAIRS)),
    ("elementwise functions", |registry| catalogue::register(registry, FILLED)),
    ("types", types::register),
    ("indices and shapes", |registry| catalogue::register(registry, SHAPES)),
    ("indices and shapes", index::register),
    ("over lanes or components", |registry| catalogue::register(registry, ACROSS_LANES)),
    ("memory and host arrays", |registry| catalogue::register(registry, MEMORY)),
    ("memory and host arrays", memory::register),
    ("lanes in other places", |registry| catalogue::register(registry, REARRANGE)),
    ("lanes in other places", binary_search::register),
    ("loops and branches in kernels", control::register),
    ("loops and branches in kernels", jit::register),
    ("many small works", engine::register),
    ("many small works", timeline::register),
    ("operators of a script", engine_operators::register),
    ("kernels from text", kernels::register),
    ("kernels from text", cuda_modules::register),
    ("kernels from text", kernel_stats::register),
    ("vectors, matrices, complex numbers", geometry::register),
    ("vectors, matrices, complex numbers", |registry| catalogue::register(registry, VECTORS)),
    ("types of vectors, matrices, complex numbers", nested_types::register),
    ("files", files::register),
    ("files", csv::register),
    ("files", parquet::register),
    ("files", text_files::register),
    ("files", images::register),
    ("lists, maps and text", rows::register),
    ("files", columns::register),
    ("files", groups::register),
    ("random numbers", random::register),
    ("random numbers", session_numbers::register),
    ("evaluation and settings", runtime::register),
    ("evaluation and settings", devices::register),
    ("evaluation and settings", progress::register),
    ("showing and watching", printing::register),
    ("showing and watching", inspect::register),
    ("showing and watching", asserting::register),
    ("showing and watching", measure::register),
    ("showing and watching", notebook::register),
    ("pictures", plots::register),
    ("lists, maps and text", language_help::register),
    ("lists, maps and text", json::register),
    ("tensors", tensor_types::register),
    ("tensors", tensors::register),
    ("tensors", list_tensors::register),
    ("derivatives", derivatives::register),
    ("derivatives", custom::register),
    ("derivatives", tape::register),
    ("operations of Cengine", cengine::register),
];

/// Registers everything; the documentation of all functions comes back.
pub(crate) fn register(engine: &mut Engine, context: &Rc<Context>) -> Written {
    engine.register_type_with_name::<ArrayRef>(ARRAY);
    engine.register_type_with_name::<HostRef>("ndarray");
    engine.register_type_with_name::<Fault>("error");
    engine.register_get("message", |error: &mut Fault| error.message.clone());
    engine.register_get("help", |error: &mut Fault| {
        error.hint.clone().map_or(Dynamic::UNIT, Dynamic::from)
    });
    let mut registry = Registry::new(engine, context.clone(), tensors::forms());
    for &(family, register) in FAMILIES {
        registry.family = family;
        register(&mut registry);
    }
    registry.into_written()
}
