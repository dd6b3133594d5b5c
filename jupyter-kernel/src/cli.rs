//! Command-line arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use porcini_core::DeviceChoice;
use porcini_core::device::MOST_RANKS;
#[cfg(unix)]
use porcini_core::device::{LEADER, serve_rank};
#[cfg(unix)]
use porcini_script::rank;
use porcini_script::{
    Bounds, MOST_THREADS, Options, SandboxArguments, environment_variable, parse_bytes,
};

use crate::doctor;
#[cfg(unix)]
use crate::ending::interrupt_on_signal;
use crate::install::{
    self, Destination, InstallError, NAME, RUST_NAME, SANDBOX_NAME, Spec, Starts,
};
use crate::serve::{StartError, serve};
use crate::trial::reason;
use crate::warn::warn;

const VERSION: &str = if cfg!(feature = "evcxr") {
    concat!(env!("CARGO_PKG_VERSION"), " with evcxr")
} else {
    env!("CARGO_PKG_VERSION")
};

/// The Jupyter kernel of Porcini.
#[derive(Parser, Debug)]
#[command(
    name = "porcini-jupyter",
    version = VERSION,
    after_help = "\
Examples:
  porcini-jupyter install                            for this user
  porcini-jupyter install --sys-prefix               into the Python environment that is active
  porcini-jupyter install --name porcini-2 -- --threads 2    a kernel with other settings
  porcini-jupyter install --memory-limit 2G          one whose arrays take no more
  porcini-jupyter install --sandbox=data             one for notebooks that are not trusted
  porcini-jupyter doctor                             what is installed, and whether it starts

Environment: PORCINI_CPU, PORCINI_THREADS, PORCINI_PARTS, PORCINI_MEMORY_LIMIT and PORCINI_PATH as for porcini; cells are kept for the next kernel in
porcini/notebook_history below XDG_STATE_HOME (default: ~/.local/state)."
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
        #[command(flatten)]
        bounds: SandboxArguments,
        /// Not heeded: what `jupyter run FILE` and its like hand on
        #[arg(hide = true)]
        handed_on: Vec<String>,
    },
    /// Tell Jupyter about this kernel
    Install {
        #[command(flatten)]
        place: DestinationArguments,
        /// What notebooks show instead of Porcini
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
        /// A kernel for notebooks in Rust, which finds porcini-core loaded; needs evcxr_jupyter, or the feature evcxr
        #[arg(long)]
        rust: bool,
        /// The folder `core` of Porcini's sources [default: that of this build]
        #[arg(long, value_name = "FOLDER", requires = "rust")]
        core: Option<PathBuf>,
        /// A kernel for notebooks that are not trusted, as `run --sandbox`
        #[arg(long, value_name = "FOLDER", require_equals = true, conflicts_with = "rust")]
        sandbox: Option<Option<PathBuf>>,
        /// A kernel of so many processes in all, as `run --device ranks:N`; with `-- --device cuda` each computes on a GPU
        #[arg(long, value_name = "N", conflicts_with_all = ["rust", "sandbox"], value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_RANKS)))]
        ranks: Option<u16>,
        /// Has these ranks started by a launcher, as `run --launcher`
        #[arg(long, value_name = "COMMAND", requires = "ranks")]
        launcher: Option<String>,
        /// Memory for arrays of a kernel, as PORCINI_MEMORY_LIMIT; --sandbox has -- --max-memory
        #[arg(long, value_name = "SIZE", conflicts_with_all = ["rust", "sandbox"], value_parser = is_size)]
        memory_limit: Option<String>,
        /// Settings of the kernel, as `run` takes them
        #[arg(last = true, value_name = "SETTINGS", conflicts_with = "rust")]
        settings: Vec<String>,
    },
    /// Make Jupyter forget this kernel
    Uninstall {
        #[command(flatten)]
        place: DestinationArguments,
    },
    /// Say what is installed, and whether it starts
    Doctor,
    /// Serve the kernel that has started this process: what `--device ranks:N` starts
    #[cfg(unix)]
    #[command(hide = true)]
    Rank {
        /// Threads
        threads: usize,
    },
}

/// How a kernel runs.
#[derive(Args, Debug)]
pub(crate) struct Settings {
    /// Where kernels run: auto, cpu, cpu:N (N parts), ranks:N (N processes), cuda, cuda:N, cuda:* (all GPUs), ranks:N:cuda (a GPU each)
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// Threads that run kernels [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    threads: Option<u16>,
    /// Start the ranks of ranks:N by this: {} is how many, as in 'srun -n {}' [default: processes of this machine]
    #[arg(long, value_name = "COMMAND")]
    launcher: Option<String>,
}

impl Settings {
    /// Options, and what is wrong with the environment.
    fn options(&self, sandbox: Option<Bounds>) -> (Options, Vec<String>) {
        let mut options = Options {
            device: self.device,
            threads: self.threads.map(usize::from),
            launcher: self.launcher.clone(),
            sandbox,
            ..Options::default()
        };
        let wrong = options.read_environment(environment_variable);
        wrong.iter().for_each(|why| warn(&format!("warning: {why}")));
        (options, wrong)
    }
}

/// A size in bytes, as it was written.
fn is_size(text: &str) -> Result<String, String> {
    parse_bytes(text).map(|_| text.into()).ok_or_else(|| "expected bytes, or 512M, 1.5G".into())
}

/// Settings that `run` takes; else what it says of them.
fn check_settings(settings: &[String]) -> Result<(), InstallError> {
    let command = ["porcini-jupyter", "run", "CONNECTION_FILE"].map(String::from);
    let parsed = Arguments::try_parse_from(command.iter().chain(settings));
    let said = match parsed.map(|arguments| arguments.command) {
        Ok(Command::Run { handed_on, .. }) => match handed_on.first() {
            None => return Ok(()),
            Some(word) => format!("unexpected argument '{word}'"),
        },
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(InstallError::Settings(reason(&said).into()))
}

/// Where a kernelspec goes.
#[derive(Args, Debug)]
struct DestinationArguments {
    /// For this user (the default)
    #[arg(long, conflicts_with_all = ["prefix", "sys_prefix"])]
    user: bool,
    /// Below a folder, such as /usr/local
    #[arg(long, value_name = "FOLDER", conflicts_with = "sys_prefix")]
    prefix: Option<PathBuf>,
    /// Into the virtual or Conda environment that is active
    #[arg(long)]
    sys_prefix: bool,
    /// Name of the kernel: letters, digits, `.` `_` `-` [default: porcini, porcini-rust, porcini-sandbox-FOLDER]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl DestinationArguments {
    fn destination(&self) -> Destination {
        match &self.prefix {
            Some(folder) => Destination::Prefix(folder.clone()),
            None if self.sys_prefix => Destination::Environment,
            None => Destination::User,
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
    #[error("a rank is started by a kernel on the device ranks:N: {0}")]
    Rank(#[source] std::io::Error),
}

/// Does what the command line asks for; what it has to say.
pub(crate) fn run(arguments: Arguments) -> Result<String, CommandError> {
    match arguments.command {
        Command::Run { connection_file, settings, bounds, handed_on: _ } => {
            let (options, wrong) = settings.options(bounds.bounds());
            options.sandbox.iter().filter_map(Bounds::bind_process).for_each(|why| warn(&why));
            serve(&connection_file, options, wrong)?;
            Ok(String::new())
        }
        Command::Install {
            place,
            display_name,
            rust,
            core,
            sandbox,
            ranks,
            launcher,
            memory_limit,
            mut settings,
        } => {
            let (mut name, mut shown) = match &sandbox {
                _ if rust => (RUST_NAME.to_string(), "Rust with Porcini".to_string()),
                Some(_) => (SANDBOX_NAME.into(), "Porcini, in a sandbox".into()),
                None => (NAME.into(), "Porcini".into()),
            };
            if let Some(folder) = sandbox {
                let setting = install::sandbox_setting(folder.as_deref())?;
                if let Some(label) = install::sandbox_label(&setting) {
                    (name, shown) = (format!("{name}-{label}"), format!("{shown} ({label})"));
                }
                if place.name.is_none() {
                    install::check_sandbox(&place.destination(), &name, &setting)?;
                }
                settings.insert(0, setting);
            }
            if let Some(ranks) = ranks {
                (name, shown) =
                    (format!("{NAME}-ranks-{ranks}"), format!("Porcini ({ranks} ranks)"));
                let device = install::device_of_ranks(ranks, &mut settings)?;
                let own = ["--device".into(), device].into_iter();
                let launcher = launcher.map(|words| ["--launcher".into(), words]);
                settings.splice(0..0, own.chain(launcher.into_iter().flatten()));
            }
            check_settings(&settings)?;
            let spec = Spec {
                name: place.name.clone().unwrap_or(name),
                display_name: display_name.unwrap_or(shown),
                starts: match rust {
                    true => Starts::Rust { core },
                    false => Starts::Us { settings, memory_limit },
                },
            };
            let folder = install::install(&place.destination(), &spec)?;
            let package = if rust { String::new() } else { doctor::package() };
            Ok(format!("installed {} in {}\n{package}", spec.name, folder.display()))
        }
        Command::Uninstall { place } => {
            let name = place.name.as_deref().unwrap_or(NAME);
            let folder = install::uninstall(&place.destination(), name)?;
            Ok(format!("removed {}\n", folder.display()))
        }
        #[cfg(unix)]
        Command::Rank { threads } => {
            // Ctrl-C is for the leader, which passes it on.
            interrupt_on_signal().map_err(StartError::from)?;
            let leader = std::env::var(LEADER).ok();
            let own = rank(threads, |name| std::env::var(name).ok());
            serve_rank(leader.as_deref(), &own).map_err(CommandError::Rank)?;
            Ok(String::new())
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
