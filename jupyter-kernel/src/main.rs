//! The `porcini-jupyter` binary: a notebook kernel over the interpreter of the shell.

mod bundle;
mod cli;
mod connection_file;
mod doctor;
mod ending;
mod frames;
mod graph;
mod history;
mod host;
mod install;
mod kernel;
mod kernel_info;
mod parent;
mod printed;
mod publisher;
#[cfg(feature = "evcxr")]
mod rust_kernel;
mod serve;
mod socket;
mod traceback;
mod trial;
mod usage;
mod warn;
mod wire;

use std::io::Write as _;
use std::process::ExitCode;

use crate::warn::warn;
use clap::Parser as _;
use porcini_core::memory::process_heap::Heap;

/// Scripts end before the memory does.
#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    #[cfg(feature = "evcxr")]
    if let Some(code) = rust_kernel::run() {
        return code;
    }
    match cli::run(cli::Arguments::parse()) {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            warn(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
