//! What `porcini` does other than running scripts: `check`, `doctor`, `help`, `completions`, `man`.

use std::path::PathBuf;
use std::rc::Rc;

use clap::CommandFactory as _;
use clap::builder::Resettable;
use porcini_core::device::{LEADER, serve_rank};
use porcini_script::{Cell, Interpreter, Options};

use crate::cli::{self, Arguments, Source, Task};
use crate::exit_code::{OK, SCRIPT_ERROR, WRONG_USAGE};
use crate::host::System;
use crate::source::read;
use crate::{doctor, pager, print};

/// Does a task; the exit code.
pub(crate) fn run(task: &Task, options: &Options) -> u8 {
    let host = Rc::new(System::new(PathBuf::from("."), Vec::new()));
    match task {
        Task::Doctor => return doctor::run(host, options),
        Task::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "porcini", &mut text);
            print::value(String::from_utf8_lossy(&text).trim_end());
            return OK;
        }
        Task::Man => {
            let mut text = Vec::new();
            // What it would fill into paragraphs stands in sections of its own.
            let command = Arguments::command().after_help(Resettable::Reset);
            // Writing into memory cannot fail.
            drop(clap_mangen::Man::new(command).render(&mut text));
            let text = String::from_utf8_lossy(&text);
            print::value(&format!("{}\n{}", text.trim_end(), man_sections(cli::FURTHER)));
            return OK;
        }
        Task::Check { .. } | Task::Help { .. } | Task::Rank { .. } => {}
    }
    let interpreter = match Interpreter::new(host, options) {
        Ok(interpreter) => interpreter,
        Err(error) => {
            print::error(&error);
            return WRONG_USAGE;
        }
    };
    match task {
        Task::Check { files } => check(&interpreter, files),
        Task::Help { topic } => match interpreter.find_help(&topic.join(" ")) {
            Ok(text) => {
                pager::show(&text);
                OK
            }
            Err(nothing) => {
                print::failure(&nothing);
                SCRIPT_ERROR
            }
        },
        Task::Doctor | Task::Completions { .. } | Task::Man | Task::Rank { .. } => OK,
    }
}

/// Serves the leader that has started this process, by itself or by a launcher.
pub(crate) fn serve(threads: usize) -> u8 {
    let variable = |name: &str| std::env::var(name).ok();
    match serve_rank(variable(LEADER).as_deref(), &porcini_script::rank(threads, variable)) {
        Ok(()) => OK,
        Err(error) => {
            print::failure(&format!("a rank is started by porcini --ranks N: {error}"));
            WRONG_USAGE
        }
    }
}

/// Blocks of text, each below its title, as sections of a manual page whose lines stay as they are.
fn man_sections(text: &str) -> String {
    let section = |block: &str| {
        let (title, body) = block.split_once(':').unwrap_or((block, ""));
        let lines = body.trim_matches('\n').lines().map(|line| {
            // At the start of a line, points and quotes are requests.
            format!("\\&{}", line.trim_start().replace('\\', "\\e").replace('-', "\\-"))
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        format!(".SH {}\n.nf\n{lines}\n.fi", title.to_uppercase())
    };
    text.split("\n\n").map(section).collect::<Vec<_>>().join("\n")
}

fn check(interpreter: &Interpreter, files: &[String]) -> u8 {
    let mut code = OK;
    for file in files {
        let (text, name) = match read(&Source::File(file.clone())) {
            Ok(read) => read,
            Err(message) => {
                print::failure(&message);
                code = WRONG_USAGE;
                continue;
            }
        };
        let cell = Cell::script(&text);
        let mistakes = interpreter.check(&cell, &name);
        if mistakes.is_empty() {
            print::notes(interpreter, &cell, &name, None);
        } else {
            mistakes.iter().for_each(print::error);
            code = code.max(SCRIPT_ERROR);
        }
    }
    code
}
