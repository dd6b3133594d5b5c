//! The `porcini` binary: an interactive shell and a script runner over one interpreter.

mod asked;
mod cli;
mod doctor;
mod edit;
mod exit_code;
mod external_editor;
mod foreground;
mod host;
mod json;
mod pager;
mod print;
mod repl;
mod run;
mod settings;
mod signals;
mod source;
mod tasks;
mod typed;

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser as _;
use clap::error::ErrorKind;
use porcini_core::interrupt::{self, Cause};
use porcini_core::memory::process_heap::Heap;
use signal_hook::consts::SIGINT;

use crate::signals::Ending;

/// Scripts end before the memory does.
#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) if answer.kind() == ErrorKind::InvalidUtf8 => {
            let wrong = std::env::args_os().find(|argument| argument.to_str().is_none());
            let wrong = wrong.unwrap_or_default();
            print::failure(&format!("{wrong:?} is no text (UTF-8 expected)"));
            return exit_code::WRONG_USAGE.into();
        }
        // Also what was asked for: help, the version.
        Err(answer) => {
            print::written(answer.print());
            return u8::try_from(answer.exit_code()).unwrap_or(exit_code::WRONG_USAGE).into();
        }
    };
    print::paint_when_asked();
    // What everything runs on has its stack before others take memory.
    let thread = porcini_script::start_engine_thread(move || heedful(arguments));
    match thread {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)).into(),
        Err(error) => {
            print::failure(&format!(
                "the system refuses a thread, which scripts run on: {error}; more memory (ulimit -v) or more processes \
                 (ulimit -u) would do"
            ));
            exit_code::SCRIPT_ERROR.into()
        }
    }
}

/// Does what was asked for, and heeds signals; the exit code.
fn heedful(arguments: cli::Arguments) -> u8 {
    let ending = Ending::heed();
    // The leader of a rank asks as often as it likes, and by this signal.
    let is_rank = matches!(arguments.task, Some(cli::Task::Rank { .. }));
    if is_rank || !signals::is_ignored(SIGINT) {
        heed_interrupts(is_rank, ending.clone());
    }
    signals::heed_file_limit();
    let code = run::run(arguments, &ending);
    print::flush();
    // Whoever waits for a reader at its end may be interrupted, too.
    let is_cut = code == exit_code::OK && print::is_cut();
    ending.code().unwrap_or(if is_cut { exit_code::INTERRUPTED } else { code })
}

fn heed_interrupts(is_rank: bool, ending: Arc<Ending>) {
    let mut asked = None;
    let heard = ctrlc::set_handler(move || match is_rank {
        true => interrupt::request(),
        false => on_interrupt(&mut asked, &ending),
    });
    if let Err(error) = heard {
        // Otherwise nobody would hear of it.
        signals::end_at_once(SIGINT);
        print::warn(&format!("Ctrl-C will end the process at once: {error}"));
    }
}

/// How long a Ctrl-C may go unanswered: others until then are keys that bounce, or are held.
const PATIENCE: Duration = Duration::from_millis(500);

/// The first Ctrl-C asks whatever runs to stop; another one a good while later, if it did not, ends the process. `asked`
/// is when the first one came.
fn on_interrupt(asked: &mut Option<Instant>, ending: &Ending) {
    // At a prompt the editor has the key; a signal that somebody sends has nothing to stop.
    if foreground::takes_interrupt() || (ending.is_idle() && !typed::is_unedited()) {
        return;
    }
    match *asked {
        Some(asked) if interrupt::cause() == Some(Cause::Asked) => {
            if asked.elapsed() > PATIENCE {
                let why =
                    "warning: a second Ctrl-C before the first was answered: variables are lost";
                print::last_words(why.into());
                std::process::exit(i32::from(exit_code::INTERRUPTED));
            }
        }
        _ => *asked = Some(Instant::now()),
    }
    interrupt::request();
}
