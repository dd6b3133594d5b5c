//! The interactive loop: read a cell, run it, show its value.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use porcini_core::interrupt;
use porcini_script::{ErrorKind, Interpreter};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::edit::Assistant;
use crate::{print, run};

const PROMPT: &str = ">>> ";
/// Lines of history kept.
const HISTORY: usize = 10_000;

type Line = Editor<Assistant, FileHistory>;

/// Runs a shell until end of input or `exit()`; the exit code.
pub(crate) fn run(interpreter: Interpreter) -> u8 {
    print::log(&format!(
        "porcini {} on {}. help() shows what there is, Ctrl-D leaves.",
        env!("CARGO_PKG_VERSION"),
        interpreter.session().device_name()
    ));
    let interpreter = Rc::new(RefCell::new(interpreter));
    let mut editor = match editor(interpreter.clone()) {
        Ok(editor) => editor,
        Err(error) => {
            print::warn(&format!("the line editor does not start: {error}"));
            return 1;
        }
    };
    let history = history_file();
    if let Some(file) = &history {
        // No history yet is the normal first start.
        drop(editor.load_history(file));
    }
    let mut cell = 0;
    loop {
        match editor.readline(PROMPT) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => {
                cell += 1;
                remember(&mut editor, history.as_deref(), &text);
                if let Some(code) = run_cell(&interpreter, &text, cell) {
                    break code;
                }
            }
            // Ctrl-C clears the line.
            Err(ReadlineError::Interrupted) => interrupt::clear(),
            Err(ReadlineError::Eof) => break 0,
            Err(error) => {
                print::warn(&format!("cannot read: {error}"));
                break 1;
            }
        }
    }
}

/// Adds a cell to the history at once, so that a closed terminal loses nothing.
fn remember(editor: &mut Line, file: Option<&Path>, text: &str) {
    let added = editor.add_history_entry(text).unwrap_or(false);
    if let (true, Some(file)) = (added, file) {
        // A folder that cannot be written loses the history, not the session.
        drop(editor.append_history(file));
    }
}

/// A transcript that was pasted, without its prompts.
fn without_prompts(text: &str) -> String {
    let strip = |line: &str| {
        let typed = [PROMPT, "... "].iter().find_map(|prompt| line.strip_prefix(prompt));
        typed.unwrap_or(line).to_string()
    };
    if !text.trim_start().starts_with(PROMPT.trim_end()) {
        return text.into();
    }
    text.lines().map(strip).collect::<Vec<_>>().join("\n")
}

/// Runs one cell; the exit code if it wants to leave.
fn run_cell(interpreter: &Rc<RefCell<Interpreter>>, text: &str, cell: usize) -> Option<u8> {
    interrupt::clear();
    let text = without_prompts(text);
    let result = interpreter.borrow_mut().execute(&text, &format!("<in:{cell}>"));
    interrupt::clear();
    match result {
        Ok(outcome) => {
            if let Some(text) = outcome.text {
                print::value(&text);
            }
            None
        }
        Err(error) => {
            let code = run::report(&error);
            matches!(error.kind, ErrorKind::Exit(_)).then_some(code)
        }
    }
}

fn editor(interpreter: Rc<RefCell<Interpreter>>) -> rustyline::Result<Line> {
    let config = Config::builder()
        .max_history_size(HISTORY)?
        .history_ignore_space(true)
        .completion_type(rustyline::CompletionType::List)
        .build();
    let mut editor = Line::with_config(config)?;
    editor.set_helper(Some(Assistant { interpreter }));
    Ok(editor)
}

/// `$XDG_STATE_HOME/porcini/history`, else in `~/.local/state`; `None` without a home.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
    let state = state
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local").join("state")))?;
    let folder = state.join("porcini");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}
