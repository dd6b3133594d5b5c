//! The `porcini` binary: an interactive shell and a script runner over one interpreter.

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

use std::process::ExitCode;

use clap::Parser as _;
use porcini_core::interrupt::{self, Cause};
use porcini_core::memory::process_heap::Heap;

use crate::signals::Ending;

/// Scripts end before the memory does.
#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Also what was asked for: help, the version.
        Err(answer) => {
            print::written(answer.print());
            return u8::try_from(answer.exit_code()).unwrap_or(exit_code::WRONG_USAGE).into();
        }
    };
    print::paint_when_asked();
    let on_interrupt = match arguments.task {
        // Its leader asks as often as it likes.
        Some(cli::Task::Rank { .. }) => interrupt::request,
        _ => on_interrupt,
    };
    if let Err(error) = ctrlc::set_handler(on_interrupt) {
        print::warn(&format!("Ctrl-C will end the process at once: {error}"));
    }
    signals::heed_file_limit();
    let ending = Ending::heed();
    let code = porcini_script::on_engine_thread(|| run::run(arguments, &ending));
    print::flush();
    ending.code().unwrap_or(code).into()
}

/// The first Ctrl-C asks whatever runs to stop; another one before it did ends the process.
fn on_interrupt() {
    if foreground::takes_interrupt() {
        return;
    }
    if interrupt::cause() == Some(Cause::Asked) {
        let why = "warning: a second Ctrl-C before the first was answered: variables are lost";
        print::last_words(why.into());
        std::process::exit(i32::from(exit_code::INTERRUPTED));
    }
    interrupt::request();
}
