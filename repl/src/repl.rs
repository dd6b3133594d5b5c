//! The interactive loop: read a cell, run it, show its value.

use std::cell::RefCell;
use std::io::{self, IsTerminal as _};
use std::rc::Rc;

use porcini_core::interrupt;
use porcini_script::{Cell, ErrorKind, Interpreter};
use rustyline::error::ReadlineError;

use crate::edit::{self, Cells, Prompt, Prompted, Shared, Style};
use crate::exit_code::{INTERRUPTED, OK, SCRIPT_ERROR, end, report};
use crate::print;
use crate::settings::{self, EditMode, PromptStyle, Settings};
use crate::signals::{self, Ending};
use crate::typed::{self, Lines};

/// Runs a shell until end of input or `exit()`; the exit code.
pub(crate) fn run(
    interpreter: Interpreter,
    settings: &Settings,
    no_init: bool,
    ending: &Ending,
    lines: &Lines,
) -> u8 {
    let interpreter = Rc::new(RefCell::new(interpreter));
    let code = converse(&interpreter, settings, no_init, ending, lines);
    // Nobody else has it any more: the editor is gone.
    let Some(interpreter) = Rc::into_inner(interpreter) else { return code.unwrap_or(OK) };
    let mut interpreter = interpreter.into_inner();
    let code = match code {
        Some(INTERRUPTED) => INTERRUPTED,
        code => end(&mut interpreter, code),
    };
    interpreter.leave();
    code
}

/// Reads cells and runs them; the exit code, unless the input has ended.
fn converse(
    interpreter: &Shared,
    settings: &Settings,
    no_init: bool,
    ending: &Ending,
    lines: &Lines,
) -> Option<u8> {
    let device = interpreter.borrow().session().device_name();
    let version = env!("CARGO_PKG_VERSION");
    let greeting = format!("porcini {version} on {device}; help() and %help explain");
    print::log(&print::sentence(&greeting, print::width()));
    if !no_init && let Some(code) = run_init(interpreter) {
        return Some(code);
    }
    let colour = print::colours(&io::stdout());
    let style = Style {
        colour,
        hints: colour && settings.hints.unwrap_or(true),
        vi: settings.edit_mode == Some(EditMode::Vi),
    };
    let is_numbered = settings.prompt == Some(PromptStyle::Numbered);
    let prompted = Prompted::default();
    let history = settings::history_file().unwrap_or_else(|why| {
        edit::tell_of_history(&why);
        None
    });
    let history = Cells::in_file(history, &prompted);
    let mut editor = match edit::editor(interpreter, style, &prompted, history) {
        Ok(editor) => editor,
        Err(error) => {
            print::warn(&format!("the line editor does not start: {error}"));
            return Some(SCRIPT_ERROR);
        }
    };
    let (is_cooked, has_terminal) = (typed::is_unedited(), io::stdin().is_terminal());
    let mut cell = 0;
    let mut initial = String::new();
    loop {
        if let Some(code) = ending.code() {
            break Some(code);
        }
        if is_numbered {
            prompted.replace(Prompt::numbered(cell + 1));
        }
        let prompt = prompted.borrow().clone();
        let begun = prompt.edited(&std::mem::take(&mut initial));
        let typed = ending.while_idle(|| match editor.helper() {
            Some(helper) if is_cooked => edit::cooked::read(&prompt, helper, lines),
            _ => editor.readline_with_initial(&prompt.first, (&begun, "")),
        });
        if typed.is_err()
            && has_terminal
            && !io::stdin().is_terminal()
            && let Some(code) = ending.code_soon()
        {
            // The terminal has gone, of which a signal tells, too.
            break Some(code);
        }
        match typed {
            Ok(text) if text.trim().is_empty() => {}
            // Whoever wants to leave need not know how functions are called.
            Ok(text) if matches!(text.trim(), "exit" | "quit") => break Some(OK),
            Ok(text) => {
                // Nor whoever looks for help.
                let text = if text.trim() == "help" { "help()".into() } else { text };
                cell += 1;
                let typed = prompt.shown(&text);
                let text = edit::cell(&text);
                // What was pasted with prompts stands there as if it had been typed.
                let shown = prompt.edited(&text);
                if typed.trim_end() != prompt.shown(&shown)
                    && let Some(helper) = editor.helper()
                {
                    print::redraw(&typed, &helper.painted(&shown));
                }
                // Adding does not fail.
                drop(editor.add_history_entry(&text));
                let read = match editor.helper() {
                    Some(helper) => helper.cell_cache.of(&text),
                    None => Rc::new(Cell::typed(&text)),
                };
                match run_cell(interpreter, &read, cell, is_numbered) {
                    Ok(next) => initial = next,
                    Err(code) => break Some(code),
                }
            }
            // Nobody at a pipe types anew.
            Err(ReadlineError::Interrupted) if !io::stdin().is_terminal() => {
                print::failure(signals::why_stopped());
                break Some(INTERRUPTED);
            }
            // Ctrl-C clears the line.
            Err(ReadlineError::Interrupted) => interrupt::clear(),
            Err(ReadlineError::Eof) => break None,
            // The window has changed within a key.
            Err(ReadlineError::Signal(_)) => {}
            // The line is read, and a slip of the keys costs no session.
            Err(ReadlineError::Io(error))
                if error.kind() == io::ErrorKind::InvalidData && io::stdin().is_terminal() =>
            {
                print::warn("what was typed is no text (UTF-8 expected), and is forgotten");
            }
            Err(error) => {
                print::warn(&format!("cannot read: {error}"));
                break Some(SCRIPT_ERROR);
            }
        }
    }
}

/// Runs the person's own script; the exit code if it leaves. A mistake in it costs no session.
fn run_init(interpreter: &Shared) -> Option<u8> {
    let file = settings::init_file()?;
    let name = file.display().to_string();
    let text = match settings::text(&file) {
        Ok(nothing) if nothing.is_empty() => return None,
        Ok(text) => text,
        Err(error) => {
            print::warn(&format!("{name} is ignored: {error}"));
            return None;
        }
    };
    let error = interpreter.borrow_mut().execute(&text, &name).err()?;
    interrupt::clear();
    let code = report(&error);
    matches!(error.kind, ErrorKind::Exit(_)).then_some(code)
}

/// Runs one cell: what to put at the next prompt, or the exit code if it wants to leave.
fn run_cell(
    interpreter: &Shared,
    cell: &Cell,
    number: usize,
    is_numbered: bool,
) -> Result<String, u8> {
    interrupt::clear();
    let result = interpreter.borrow_mut().run_cell(cell, number);
    interrupt::clear();
    match result {
        Ok(outcome) => {
            if let Some(text) = outcome.text {
                let blank = if text.contains('\n') { "\n" } else { " " };
                let head =
                    if is_numbered { format!("Out[{number}]:{blank}") } else { String::new() };
                print::value(&format!("{head}{text}"));
            }
            Ok(outcome.next_input.unwrap_or_default())
        }
        Err(error) => match (report(&error), error.kind) {
            (code, ErrorKind::Exit(_)) => Err(code),
            _ => Ok(String::new()),
        },
    }
}
