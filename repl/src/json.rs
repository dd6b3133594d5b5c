//! `--json`: one object a statement on standard output, for programs that run scripts.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_script::{Cell, Error, ErrorKind, Interpreter, Outcome};
use serde_json::{Value, json};

use crate::{exit_code, print};

/// Bytes that one statement may print: its object is made as a whole.
const MOST: usize = 64 << 20;

/// What scripts print is collected while this is `Some`.
pub(crate) type Collected = Rc<RefCell<Option<Printed>>>;

/// What a statement has printed.
#[derive(Default)]
pub(crate) struct Printed {
    lines: Vec<String>,
    bytes: usize,
}

impl Printed {
    /// Adds what was printed, up to a bound, and then that the rest is left out.
    pub(crate) fn add(&mut self, text: &str) {
        let before = self.bytes;
        self.bytes = before.saturating_add(text.len() + 1);
        if self.bytes <= MOST {
            self.lines.push(text.into());
        } else if before <= MOST {
            let limit = MOST >> 20;
            self.lines.push(format!(".. more than {limit} MiB, the rest is not shown .."));
        }
    }
}

/// Runs a text statement by statement; the exit code, unless it ran to its end.
pub(crate) fn run(
    interpreter: &mut Interpreter,
    text: &str,
    name: &str,
    printed: &Collected,
) -> Option<u8> {
    let cell = Cell::statements(text);
    for statement in cell.pieces() {
        *printed.borrow_mut() = Some(Printed::default());
        let result = interpreter.run(&cell, statement, name);
        let lines = printed.borrow_mut().take().unwrap_or_default().lines;
        print::value(&object(statement.line(), cell.code(statement), &lines, &result).to_string());
        if let Err(error) = result {
            return Some(exit_code::exit_code(&error));
        }
    }
    None
}

fn object(
    line: usize,
    statement: &str,
    printed: &[String],
    result: &Result<Outcome, Box<Error>>,
) -> Value {
    let mut object = json!({
        "line": line,
        "code": statement,
        "printed": printed.join("\n"),
        "ok": result.is_ok(),
    });
    match result {
        Ok(outcome) => object["value"] = json!(outcome.text),
        Err(error) => {
            let kind = match error.kind {
                ErrorKind::Syntax => "syntax",
                ErrorKind::Runtime => "runtime",
                ErrorKind::Interrupted => "interrupted",
                ErrorKind::Exit(code) => {
                    object["exit"] = json!(code);
                    if error.is_exit_alone() {
                        return object;
                    }
                    "runtime"
                }
                ErrorKind::Internal => "internal",
            };
            let place = error.location.as_ref();
            object["error"] = json!({
                "kind": kind,
                "message": error.message,
                "hints": error.hints,
                "source": place.map(|place| &place.source),
                "line": place.map(|place| place.line),
                "column": place.map(|place| place.column),
            });
        }
    }
    object
}
