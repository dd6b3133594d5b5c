//! What `porcini` does other than running scripts: `check`, `doctor`, `help`, `completions`, `man`.

use std::path::PathBuf;
use std::rc::Rc;

use clap::CommandFactory as _;
use porcini_script::{Interpreter, Options};

use crate::cli::{Arguments, Source, Task};
use crate::host::System;
use crate::run::{OK, SCRIPT_ERROR, WRONG_USAGE};
use crate::{doctor, pager, print, run};

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
            // Writing into memory cannot fail.
            drop(clap_mangen::Man::new(Arguments::command()).render(&mut text));
            print::value(String::from_utf8_lossy(&text).trim_end());
            return OK;
        }
        Task::Check { .. } | Task::Help { .. } => {}
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
        Task::Help { topic } => {
            pager::show(&interpreter.help(&topic.join(" ")));
            OK
        }
        Task::Doctor | Task::Completions { .. } | Task::Man => OK,
    }
}

fn check(interpreter: &Interpreter, files: &[String]) -> u8 {
    let mut code = OK;
    for file in files {
        let (text, name) = match run::read(&Source::File(file.clone())) {
            Ok(read) => read,
            Err(message) => {
                print::failure(&message);
                code = WRONG_USAGE;
                continue;
            }
        };
        if let Err(error) = interpreter.check(&text, &name) {
            print::error(&error);
            code = code.max(SCRIPT_ERROR);
        }
    }
    code
}
