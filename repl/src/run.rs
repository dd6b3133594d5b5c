//! Runs what the command line asks for and turns the result into an exit code.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use porcini_script::{Error, ErrorKind, Interpreter, Options};

use crate::cli::{Arguments, Source};
use crate::host::System;
use crate::{print, repl};

const OK: u8 = 0;
const SCRIPT_ERROR: u8 = 1;
const WRONG_USAGE: u8 = 2;
pub(crate) const INTERRUPTED: u8 = 130;

/// Runs a script, a line, standard input or a shell.
pub(crate) fn run(arguments: Arguments) -> u8 {
    let (source, script_arguments) = arguments.source(std::io::stdin().is_terminal());
    let (text, name) = match read(&source) {
        Ok(read) => read,
        Err(message) => {
            print::failure(&message);
            return WRONG_USAGE;
        }
    };
    let host = Rc::new(System::new(script_folder(&source), script_arguments));
    let mut interpreter = match Interpreter::new(host, &options(&arguments)) {
        Ok(interpreter) => interpreter,
        Err(error) => {
            print::error(&error);
            return WRONG_USAGE;
        }
    };
    if source == Source::Shell {
        return repl::run(interpreter);
    }
    // A script shows what it prints; one line, or a pipe, also its last value.
    let shows_value = !matches!(source, Source::File(_));
    let code = run_text(&mut interpreter, &text, &name, shows_value);
    if arguments.interactive && code != INTERRUPTED {
        return repl::run(interpreter);
    }
    code
}

fn options(arguments: &Arguments) -> Options {
    let mut options = Options {
        device: arguments.device,
        threads: arguments.threads.map(usize::from),
        log_level: arguments.log_level,
        ..Options::default()
    };
    for warning in options.read_environment(|name| std::env::var(name).ok()) {
        print::warn(&warning);
    }
    options
}

/// Text and name of what is to be run.
fn read(source: &Source) -> Result<(String, String), String> {
    match source {
        Source::File(path) => match std::fs::read(path) {
            Ok(bytes) => String::from_utf8(bytes)
                .map(|text| (text, path.clone()))
                .map_err(|_| format!("{path}: not a text file (UTF-8 expected)")),
            Err(error) => Err(format!("{path}: {error}")),
        },
        Source::Input => {
            let mut text = String::new();
            match std::io::stdin().read_to_string(&mut text) {
                Ok(_) => Ok((text, "<stdin>".into())),
                Err(error) => Err(format!("standard input: {error}")),
            }
        }
        Source::Code(code) => Ok((code.clone(), "<eval>".into())),
        Source::Shell => Ok((String::new(), String::new())),
    }
}

fn script_folder(source: &Source) -> PathBuf {
    let parent = match source {
        Source::File(path) => Path::new(path).parent().filter(|p| !p.as_os_str().is_empty()),
        Source::Input | Source::Code(_) | Source::Shell => None,
    };
    parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn run_text(interpreter: &mut Interpreter, text: &str, name: &str, shows_value: bool) -> u8 {
    match interpreter.execute(text, name) {
        Ok(outcome) => {
            if let (true, Some(text)) = (shows_value, outcome.text) {
                print::value(&text);
            }
            OK
        }
        Err(error) => report(&error),
    }
}

/// Shows a diagnostic; the exit code that it stands for.
pub(crate) fn report(error: &Error) -> u8 {
    match error.kind {
        ErrorKind::Exit(code) => u8::try_from(code & 0xff).unwrap_or(SCRIPT_ERROR),
        ErrorKind::Interrupted => {
            print::error(error);
            INTERRUPTED
        }
        ErrorKind::Syntax | ErrorKind::Runtime | ErrorKind::Internal => {
            print::error(error);
            SCRIPT_ERROR
        }
    }
}
