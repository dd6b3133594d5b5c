//! Command-line arguments.

use clap::{Parser, Subcommand};
use porcini_core::device::MOST_RANKS;
use porcini_script::{MOST_THREADS, SandboxArguments};

use crate::asked::Asked;

/// What help says behind the options: blocks, each with its title.
pub(crate) const FURTHER: &str = "\
Examples:
  porcini                                  start a shell (help() shows what there is)
  porcini examples/scripts/sphere.rhai     run a script
  porcini stats.rhai data.npy              run a script; it finds \"data.npy\" in ARGS[0]
  porcini -e 'hsum(FloatC::arange(10))'    run one line and show its value
  echo 'print(1 / 3)' | porcini            run what comes through a pipe
  porcini --log-level 4 -e 'FloatC(1) + 1' watch each recorded operation
  mpirun -n 4 porcini job.rhai             run a script on all processes of a launcher of MPI
  mpirun -n 4 porcini --device cuda job.rhai    the same on a GPU each
  porcini --sandbox=data job.rhai          run a script that is not trusted on the files in data

Environment:
  PORCINI_CPU            code for the processor: avx512, avx2, neon, or interp (default: the best it has)
  PORCINI_THREADS        threads that run kernels, as --threads (default: all)
  PORCINI_PARTS          parts of the processor, as --device cpu:N (default: 1)
  PORCINI_LAUNCHER       what starts the ranks of ranks:N, as --launcher (default: nothing, they are processes of this machine)
  PORCINI_MPI            the library of MPI under mpirun or srun (default: the launcher's)
  PORCINI_NCCL           the library by which GPUs of ranks send each other bytes (default: the first found; none: no library)
  PORCINI_MEMORY_LIMIT   most memory for arrays: bytes, or 512M, 1.5G (default: 90 % of what is free)
  PORCINI_CACHE_DIR      where kernels compiled for GPUs are kept (default: porcini in XDG_CACHE_HOME or ~/.cache)
  PORCINI_PATH           folders searched by import, separated by :
  NO_COLOR               plain text; CLICOLOR_FORCE: colour even through a pipe
  PORCINI_GRAPHICS       how a terminal shows pictures: letters, colours, truecolour, kitty, sixel
  PAGER                  shows help that is longer than the window (default: less)
  XDG_CONFIG_HOME        the folder of porcini/config.toml and porcini/init.rhai (default: ~/.config)
  XDG_STATE_HOME         the folder of porcini/history (default: ~/.local/state)

Exit codes:
  0 ok, 1 script error, 2 wrong usage, 130 interrupted, 143 ended by SIGTERM, 129 by SIGHUP; exit(n) in a script wins,
  but exit(0) is 1 where something has failed.";

/// Array scripting: operations are recorded, fused into kernels, and run when a value is looked at.
#[derive(Parser, Debug)]
#[command(
    name = "porcini",
    version,
    // The first word may be a task or a script; behind a script it is an argument.
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = FURTHER
)]
pub(crate) struct Arguments {
    /// What to do other than running a script
    #[command(subcommand)]
    pub(crate) task: Option<Task>,

    /// Script to run, `-` reads standard input; what stands behind it is the script's, options too: its constant ARGS
    // One list: two would have options between them.
    #[arg(trailing_var_arg = true, value_names = ["FILE", "ARGUMENTS"], num_args = 0..)]
    pub(crate) words: Vec<String>,

    /// Run this text and show its last value
    #[arg(short = 'e', long = "eval", value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) code: Option<String>,

    /// Start a shell after the script
    #[arg(short, long)]
    pub(crate) interactive: bool,

    /// Show one JSON object a statement
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,

    /// Start the shell without init.rhai
    #[arg(long)]
    pub(crate) no_init: bool,

    /// Where kernels run: auto, cpu, cpu:N (N parts), ranks:N (N processes), cuda, cuda:N, cuda:* (all GPUs), ranks:N:cuda (a GPU each) [default: auto]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<Asked>,

    /// Share the work with so many processes in all, as --device ranks:N; with --device cuda each computes on a GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_RANKS)))]
    pub(crate) ranks: Option<u16>,

    /// Start the other ranks by this: {} is how many, as in 'srun -n {}' [default: processes of this machine]
    #[arg(long, value_name = "COMMAND", requires = "ranks")]
    pub(crate) launcher: Option<String>,

    /// Threads that run kernels [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    pub(crate) threads: Option<u16>,

    /// What is logged: 0 nothing, 1 launches, 2 + cache, 3 + source, 4 + trace, 5 + references and machine code
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=5))]
    pub(crate) log_level: Option<u8>,

    #[command(flatten)]
    pub(crate) bounds: SandboxArguments,
}

/// What to do other than running a script.
#[derive(Subcommand, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Look for mistakes in scripts without running them
    Check {
        /// Scripts
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Say what was found on this machine, and what to do about what was not
    Doctor,
    /// Explain a name of the language, or search
    Help {
        /// A name, or words to search for
        topic: Vec<String>,
    },
    /// Print the completions of a command-line shell, to be sourced by it
    Completions {
        /// bash, elvish, fish, powershell or zsh
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Serve the process that has started this one: what `--ranks` starts
    #[command(hide = true)]
    Rank {
        /// Threads
        threads: usize,
    },
}

impl Task {
    /// The words that name tasks.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        ["check", "doctor", "help", "completions", "man"].into_iter()
    }
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(String),
    /// Standard input.
    Input,
    /// Text given with `-e`.
    Code(String),
    /// Nothing: a shell.
    Shell,
}

impl Arguments {
    /// What to run, and the arguments that belong to the script.
    pub(crate) fn source(&self, stdin_is_terminal: bool) -> (Source, Vec<String>) {
        if let Some(code) = &self.code {
            // The first word belongs to the script already.
            return (Source::Code(code.clone()), self.words.clone());
        }
        match self.words.split_first() {
            Some((file, arguments)) if file == "-" => (Source::Input, arguments.to_vec()),
            Some((file, arguments)) => (Source::File(file.clone()), arguments.to_vec()),
            None if stdin_is_terminal => (Source::Shell, Vec::new()),
            None => (Source::Input, Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(arguments: &[&str], terminal: bool) -> (Source, Vec<String>) {
        let line = std::iter::once("porcini").chain(arguments.iter().copied());
        Arguments::parse_from(line).source(terminal)
    }

    #[test]
    fn the_source_follows_from_the_arguments() {
        assert_eq!(source(&[], true).0, Source::Shell);
        assert_eq!(source(&[], false).0, Source::Input);
        assert_eq!(source(&["-"], true).0, Source::Input);
        let (from, arguments) = source(&["a.rhai", "-x", "--threads"], true);
        assert_eq!(from, Source::File("a.rhai".into()));
        assert_eq!(arguments, ["-x", "--threads"]);
        for words in [["-e", "5"], ["--help", "-V"], ["check", "--"], ["--json", "--device"]] {
            let (from, arguments) = source(&["--json", "a.rhai", words[0], words[1]], true);
            assert_eq!(
                (from, arguments),
                (Source::File("a.rhai".into()), words.map(String::from).to_vec())
            );
        }
        let (from, arguments) = source(&["-e", "1", "--json", "x", "--json"], true);
        assert_eq!(from, Source::Code("1".into()));
        assert_eq!(arguments, ["x", "--json"]);
    }
}
