//! The integration tests: one binary, one module per subject.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use porcini_core::memory::process_heap::Heap;

/// As in the programs.
#[global_allocator]
static HEAP: Heap = Heap;

mod accuracy;
mod assist;
mod changes;
mod commands;
mod compiler;
mod complex;
mod control;
mod cuda_modules;
mod damaged;
mod dense;
mod examples;
mod fmod;
mod foreign;
mod fuzz;
mod golden;
mod halves;
mod idiv;
mod images;
mod imports;
mod lanes;
mod laws;
mod licences;
mod limits;
mod marks;
mod names;
mod neighbours;
mod nested;
mod operations;
mod parts;
mod pcg32;
mod pipeline;
mod polar;
mod primitives;
mod programs;
mod ptx;
mod queue;
mod random_texts;
mod references;
mod samples;
mod scatters;
mod seeding;
mod short_memory;
mod streams;
mod tables;
mod text_kernels;
mod tidy;
mod transforms;
