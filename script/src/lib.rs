//! The Rhai language binding of Porcini: text in, values and diagnostics out.
//!
//! [`Interpreter`] is all that a front end uses; it reaches the outside world only through [`Host`].
//! No terminal, no sockets, no files of its own.

mod assist;
mod bind;
mod context;
mod diagnose;
mod fault;
mod interpreter;
mod language;
mod options;
#[cfg(feature = "clap")]
mod sandbox_arguments;
mod show;
mod side_by_side;
mod value;
mod world;

pub use assist::candidate::{Candidate, CandidateKind};
pub use assist::commands::{COMMANDS, Command, Takes};
pub use assist::completeness::Completeness;
pub use assist::completion::Completion;
pub use assist::inspection::Inspection;
pub use assist::topics::{TOPICS, Topic};
pub use bind::doc::{Example, FunctionDoc};
pub use diagnose::error::{Error, ErrorKind};
pub use diagnose::location::Location;
pub use interpreter::Interpreter;
pub use language::cell::{Cell, Piece};
pub use language::parts::Part;
#[cfg(unix)]
pub use options::rank;
pub use options::{MOST_THREADS, Options, environment_variable, parse_bytes};
#[cfg(feature = "clap")]
pub use sandbox_arguments::SandboxArguments;
pub use show::forms::{DisplayTarget, Shown, drawing};
pub use show::html::html_of;
pub use show::outcome::Outcome;
pub use show::plot::tint::Graphics;
pub use show::visible::visible;
pub use show::wrap::fitted;
pub use value::exchanged::Exchanged;
pub use value::images;
pub use world::bounds::Bounds;
pub use world::engine_thread::{ENGINE_STACK, on_engine_thread, start_engine_thread};
pub use world::folders;
pub use world::host::Host;
pub use world::programs;
