//! The Rhai language binding of Porcini: text in, values and diagnostics out.
//!
//! [`Interpreter`] is all that a front end uses; it reaches the outside world only through [`Host`].
//! No terminal, no sockets, no files of its own.

mod bind;
mod bounds;
mod bounds_arguments;
mod commands;
mod completeness;
mod completion;
mod constants;
mod context;
mod csv_columns;
mod declare;
mod deletion;
mod display;
mod division;
mod doc;
mod error;
mod fault;
pub mod folders;
mod format;
mod help;
mod host;
mod host_array;
mod html;
mod inspection;
mod interpolation;
mod interpreter;
mod jail;
mod lanes;
mod listing;
mod measure;
mod nested;
mod numbers;
mod options;
mod outputs;
mod plot;
mod powers;
mod prints;
mod python;
mod resolver;
mod sandbox;
mod scan;
mod semicolons;
mod shown;
mod spelling;
mod table;
mod tokens;
mod topics;
mod value;
mod visible;
mod wording;
mod writer;

pub use bounds::Bounds;
pub use bounds_arguments::BoundsArguments;
pub use commands::{COMMANDS, Command, Takes};
pub use completeness::Completeness;
pub use completion::{Candidate, CandidateKind, Completion};
pub use doc::{Example, FunctionDoc};
pub use error::{Error, ErrorKind, Location};
pub use host::Host;
pub use inspection::Inspection;
pub use interpreter::{ENGINE_STACK, Interpreter, Outcome, on_engine_thread};
pub use options::{MOST_THREADS, Options, parse_bytes};
pub use shown::{Place, Shown};
pub use topics::{TOPICS, Topic};
