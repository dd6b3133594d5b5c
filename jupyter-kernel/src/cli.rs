//! Command-line arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use porcini_core::DeviceChoice;
use porcini_script::Options;

use crate::install::{self, InstallError, NAME, Place, RUST_NAME, Spec, Starts};
use crate::serve::{StartError, serve};
use crate::{doctor, warn};

/// The Jupyter kernel of Porcini.
#[derive(Parser, Debug)]
#[command(
    name = "porcini-jupyter",
    version,
    after_help = "\
Examples:
  porcini-jupyter install                            for this user
  porcini-jupyter install --sys-prefix               into the Python environment that is active
  porcini-jupyter install --name porcini-2 -- --threads 2    a kernel with other settings
  porcini-jupyter doctor                             what is installed, and whether it starts

Environment: PORCINI_CPU, PORCINI_MEMORY_LIMIT and PORCINI_PATH as for porcini."
)]
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
        #[command(flatten)]
        settings: Settings,
    },
    /// Tell Jupyter about this kernel
    Install {
        #[command(flatten)]
        place: PlaceArguments,
        /// What notebooks show instead of Porcini
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
        /// A kernel for notebooks in Rust, which finds porcini-core loaded; needs evcxr_jupyter
        #[arg(long)]
        rust: bool,
        /// The folder `core` of Porcini's sources [default: that of this build]
        #[arg(long, value_name = "FOLDER", requires = "rust")]
        core: Option<PathBuf>,
        /// Settings of the kernel, as `run` takes them
        #[arg(last = true, value_name = "SETTINGS", conflicts_with = "rust")]
        settings: Vec<String>,
    },
    /// Make Jupyter forget this kernel
    Uninstall {
        #[command(flatten)]
        place: PlaceArguments,
    },
    /// Say what is installed, and whether it starts
    Doctor,
}

/// How a kernel runs.
#[derive(Args, Debug)]
pub(crate) struct Settings {
    /// Where kernels run: auto, cpu, cuda, cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// Threads that run kernels [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: Option<u16>,
}

impl Settings {
    fn options(&self) -> Options {
        let mut options = Options {
            device: self.device,
            threads: self.threads.map(usize::from),
            ..Options::default()
        };
        for warning in options.read_environment(|name| std::env::var(name).ok()) {
            warn(&format!("warning: {warning}"));
        }
        options
    }
}

/// Where a kernelspec goes.
#[derive(Args, Debug)]
struct PlaceArguments {
    /// For this user (the default)
    #[arg(long, conflicts_with_all = ["prefix", "sys_prefix"])]
    user: bool,
    /// Below a folder, such as /usr/local
    #[arg(long, value_name = "FOLDER", conflicts_with = "sys_prefix")]
    prefix: Option<PathBuf>,
    /// Into the virtual or Conda environment that is active
    #[arg(long)]
    sys_prefix: bool,
    /// Name of the kernel: letters, digits, `.` `_` `-` [default: porcini, with --rust porcini-rust]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl PlaceArguments {
    fn place(&self) -> Place {
        match &self.prefix {
            Some(folder) => Place::Prefix(folder.clone()),
            None if self.sys_prefix => Place::Environment,
            None => Place::User,
        }
    }
}

/// A command that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("{0} of the kernels found do not start")]
    Sick(usize),
}

/// Does what the command line asks for; what it has to say.
pub(crate) fn run(arguments: Arguments) -> Result<String, CommandError> {
    match arguments.command {
        Command::Run { connection_file, settings } => {
            serve(&connection_file, settings.options())?;
            Ok(String::new())
        }
        Command::Install { place, display_name, rust, core, settings } => {
            let (name, shown) =
                if rust { (RUST_NAME, "Rust with Porcini") } else { (NAME, "Porcini") };
            let spec = Spec {
                name: place.name.clone().unwrap_or_else(|| name.into()),
                display_name: display_name.unwrap_or_else(|| shown.into()),
                starts: if rust { Starts::Rust { core } } else { Starts::Us { settings } },
            };
            let folder = install::install(&place.place(), &spec)?;
            Ok(format!("installed {} in {}\n", spec.name, folder.display()))
        }
        Command::Uninstall { place } => {
            let name = place.name.as_deref().unwrap_or(NAME);
            let folder = install::uninstall(&place.place(), name)?;
            Ok(format!("removed {}\n", folder.display()))
        }
        Command::Doctor => {
            let (text, n_sick) = doctor::report();
            if n_sick > 0 {
                warn(text.trim_end());
                return Err(CommandError::Sick(n_sick));
            }
            Ok(text)
        }
    }
}
