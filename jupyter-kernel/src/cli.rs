//! Command-line arguments.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use porcini_script::Options;

use crate::serve::{StartError, serve};

/// The Jupyter kernel of Porcini.
#[derive(Parser, Debug)]
#[command(name = "porcini-jupyter", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Serve one kernel: what Jupyter starts
    Run {
        /// Where to listen, as Jupyter writes it
        connection_file: PathBuf,
    },
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<(), StartError> {
    match arguments.command {
        Command::Run { connection_file } => serve(&connection_file, Options::default()),
    }
}
