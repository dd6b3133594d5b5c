//! What lies outside of scripts, and what holds them: hosts, the sandbox, modules, threads, bounds.

pub(crate) mod bounds;
pub(crate) mod control_characters;
pub(crate) mod engine_thread;
pub mod folders;
pub(crate) mod host;
pub(crate) mod jail;
pub(crate) mod loop_prints;
pub(crate) mod modules;
pub(crate) mod nesting;
pub(crate) mod pipes;
#[cfg(unix)]
mod process_group;
pub mod programs;
pub(crate) mod sandbox;
