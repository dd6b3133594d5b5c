//! `--json`: one object a statement on standard output, for programs that run scripts. What a statement prints is written as it
//! comes, the rest of its object when it ends; where standard error goes to the same place the object comes as a whole.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_script::{Cell, Error, ErrorKind, Interpreter, Outcome};
use serde_json::{Value, json};

use crate::{exit_code, print};

/// Bytes that one statement may print: who reads has its object as a whole.
const MOST: usize = 64 << 20;

/// What scripts print goes into an object while this is `Some`.
pub(crate) type Collected = Rc<RefCell<Option<Printed>>>;

/// What a statement has printed.
#[derive(Default)]
pub(crate) struct Printed {
    bytes: usize,
}

impl Printed {
    /// Adds what was printed, up to a bound, and then that the rest is left out.
    pub(crate) fn add(&mut self, text: &str) {
        let before = self.bytes;
        self.bytes = before.saturating_add(text.len() + 1);
        let line_end = if before == 0 { "" } else { "\\n" };
        if self.bytes <= MOST {
            print::part(&format!("{line_end}{}", letters(text)));
        } else if before <= MOST {
            let limit = MOST >> 20;
            print::part(&format!("{line_end}.. more than {limit} MiB, the rest is not shown .."));
        }
    }
}

/// A text as it stands between quotes.
fn letters(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].into()
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
        let (line, code) = (statement.line(), letters(cell.code(statement)));
        print::part(&format!("{{\"line\":{line},\"code\":\"{code}\",\"printed\":\""));
        *printed.borrow_mut() = Some(Printed::default());
        let result = interpreter.run(&cell, statement, name);
        printed.borrow_mut().take();
        let ok = result.is_ok();
        // The members that are left, without the bracket before them.
        print::value(&format!("\",\"ok\":{ok},{}", &object(&result).to_string()[1..]));
        if let Err(error) = result {
            return Some(exit_code::exit_code(&error));
        }
    }
    None
}

/// What a statement has come to: a value, an error, or an end.
fn object(result: &Result<Outcome, Box<Error>>) -> Value {
    let mut object = json!({});
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
