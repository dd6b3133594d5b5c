//! Runs what the command line asks for and turns the result into an exit code.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use porcini_core::DeviceChoice;
use porcini_core::device::Launched;
use porcini_core::interrupt::{self, Cause};
use porcini_script::{Cell, ErrorKind, Interpreter, MOST_THREADS, Options, environment_variable};

use crate::asked::{self, Asked};
use crate::cli::{Arguments, Source, Task};
use crate::exit_code::{INTERRUPTED, OK, WRONG_USAGE, end, report};
use crate::host::System;
use crate::settings::{self, Colour, Settings};
use crate::signals::Ending;
use crate::source::read;
use crate::{json, print, repl, tasks};

/// Runs a script, a line, standard input, a shell, or a task.
pub(crate) fn run(arguments: Arguments, ending: &Ending) -> u8 {
    if let Some(Task::Rank { threads }) = arguments.task {
        return tasks::serve(threads);
    }
    let (settings, wrong) =
        settings::config_file().map_or_else(Default::default, |file| Settings::read(&file));
    wrong.iter().for_each(|wrong| print::warn(wrong));
    match settings.colour.unwrap_or_default() {
        Colour::Auto => {}
        Colour::Always => print::set_colours(true),
        Colour::Never => print::set_colours(false),
    }
    // Tasks are done by one process.
    let variable = |name: &str| std::env::var(name).ok();
    let launched = Launched::of(variable);
    let is_own = match (arguments.device, &settings.device) {
        _ if arguments.ranks.is_some() => true,
        // A name that is none is told of later.
        (None, Some(name)) => name.parse().map_or(true, Asked::is_own),
        (asked, _) => asked.is_some_and(Asked::is_own),
    };
    if let Some([number, n]) = Launched::unconnected(variable).filter(|_| !is_own) {
        // One of several says it.
        if number == 0 {
            print::failure(&format!(
                "srun has started {n} processes that cannot find each other: write srun --mpi=pmi2 or srun --mpi=pmix \
                 (srun --mpi=list says which there are), or --device cpu or cuda:0 where each is to work for itself"
            ));
        }
        return WRONG_USAGE;
    }
    let shared = launched.filter(|_| arguments.task.is_none());
    let options = match options(&arguments, &settings, shared) {
        Ok(options) => options,
        Err(message) => {
            print::failure(&message);
            return WRONG_USAGE;
        }
    };
    let follows = launched.filter(|launched| launched.rank > 0);
    if shared.is_some() && !matches!(options.device, DeviceChoice::Launched(..)) {
        if follows.is_none() {
            print::failure(
                "under a launcher all processes together are the device: leave out --ranks; --device, or device in config.toml, \
                 may only be cpu, or cuda, and then each computes on a GPU of its host",
            );
        }
        return WRONG_USAGE;
    }
    if let Some(task) = &arguments.task {
        // One of several says it.
        return if follows.is_some() { OK } else { tasks::run(task, &options) };
    }
    let (source, script_arguments) = arguments.source(std::io::stdin().is_terminal());
    if let Some(launched) = follows {
        return follow(launched, &source, &options);
    }
    let (text, name) = match read(&source) {
        Ok(read) => read,
        Err(message) => {
            print::failure(&message);
            let is_stopped = interrupt::cause() == Some(Cause::Asked);
            return if is_stopped { INTERRUPTED } else { WRONG_USAGE };
        }
    };
    let has_prompt = source == Source::Shell || arguments.interactive;
    let system = System::new(script_folder(&source), script_arguments).with_prompt(has_prompt);
    let (printed, lines) = (system.collected(), system.lines());
    // One line is often over before that is.
    if !matches!(source, Source::Code(_)) {
        porcini_core::device::prepare();
    }
    let mut interpreter = match Interpreter::new(Rc::new(system), &options) {
        Ok(interpreter) => interpreter,
        Err(error) => {
            let is_stopped = report(&error) == INTERRUPTED;
            return if is_stopped { INTERRUPTED } else { WRONG_USAGE };
        }
    };
    let bounds = options.sandbox.as_ref();
    bounds.iter().filter_map(|bounds| bounds.bind_process()).for_each(|why| print::warn(&why));
    let no_init = arguments.no_init || bounds.is_some();
    let shell = |interpreter| repl::run(interpreter, &settings, no_init, ending, &lines);
    if source == Source::Shell {
        return shell(interpreter);
    }
    let code = if arguments.json {
        interpreter.in_one_turn(|it| json::run(it, &text, &name, &printed))
    } else {
        // A script shows what it prints; one line, or a pipe, also its last value.
        let shows_value = !matches!(source, Source::File(_));
        interpreter.in_one_turn(|it| run_text(it, &text, &name, shows_value))
    };
    if arguments.interactive && code != Some(INTERRUPTED) {
        return shell(interpreter);
    }
    let code = match code {
        Some(INTERRUPTED) => INTERRUPTED,
        code => end(&mut interpreter, code),
    };
    interpreter.leave();
    code
}

/// Serves the first of the processes that a launcher has started; it alone reads, prints, and says what is wrong.
fn follow(launched: Launched, source: &Source, options: &Options) -> u8 {
    if matches!(source, Source::File(_)) && read(source).is_err() {
        return WRONG_USAGE;
    }
    let library = std::env::var_os("PORCINI_MPI");
    // Launchers bind ranks to processors.
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = options.threads.unwrap_or_else(all);
    let own = porcini_script::rank(threads, |name| std::env::var(name).ok());
    match porcini_core::device::serve_launched(launched, library, &own) {
        Ok(()) => OK,
        Err(error) => {
            print::failure(&format!("rank {}: {error}", launched.rank));
            WRONG_USAGE
        }
    }
}

/// How the interpreter is set up: by the command line, else the environment, else the settings.
/// `launched` are processes that share the work.
fn options(
    arguments: &Arguments,
    settings: &Settings,
    launched: Option<Launched>,
) -> Result<Options, String> {
    let device = match (arguments.ranks, arguments.device, &settings.device) {
        (Some(ranks), device, _) => asked::of_ranks(ranks, device)?,
        (None, None, Some(name)) => {
            let wrong = |error| format!("config.toml: device = \"{name}\": {error}");
            asked::of_processes(launched, Some(name.parse().map_err(wrong)?))
        }
        (None, device, _) => asked::of_processes(launched, device),
    };
    let log_level = arguments.log_level.or(settings.log_level).unwrap_or(0);
    if log_level > porcini_core::log::MAX_LEVEL {
        return Err(format!("config.toml: log_level = {log_level}: expected 0 to 5"));
    }
    let threads = arguments.threads.or(settings.threads);
    if let Some(threads) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        return Err(format!("config.toml: threads = {threads}: expected 1 to {MOST_THREADS}"));
    }
    let threads = threads.map(usize::from);
    let sandbox = arguments.bounds.bounds();
    let launcher = arguments.launcher.clone();
    let mut options =
        Options { device, threads, log_level, sandbox, launcher, ..Options::default() };
    for warning in options.read_environment(environment_variable) {
        print::warn(&warning);
    }
    Ok(options)
}

fn script_folder(source: &Source) -> PathBuf {
    let parent = match source {
        Source::File(path) => Path::new(path).parent().filter(|p| !p.as_os_str().is_empty()),
        Source::Input | Source::Code(_) | Source::Shell => None,
    };
    parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Runs a text; the exit code, unless it ran to its end.
fn run_text(
    interpreter: &mut Interpreter,
    text: &str,
    name: &str,
    shows_value: bool,
) -> Option<u8> {
    let cell = Cell::script(text);
    let [piece, ..] = cell.pieces() else { return None };
    let result = interpreter.run(&cell, piece, name);
    let shown = result.as_ref().ok().and_then(|outcome| outcome.text.as_deref());
    let shown = shown.filter(|_| shows_value);
    shown.inspect(|text| print::value(text));
    if !matches!(&result, Err(error) if error.kind == ErrorKind::Syntax) {
        print::notes(interpreter, &cell, name, shown);
    }
    result.err().map(|error| report(&error))
}
