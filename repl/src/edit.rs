//! Adapters from rustyline's traits to the interpreter: several lines, completion.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_script::{Completeness, Interpreter};
use rustyline::completion::Completer;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};

/// What the line editor asks the interpreter.
#[derive(Helper, Hinter, Highlighter)]
pub(crate) struct Assistant {
    pub(crate) interpreter: Rc<RefCell<Interpreter>>,
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let state = self.interpreter.borrow().is_complete(context.input());
        Ok(match state {
            Completeness::Incomplete { .. } => ValidationResult::Incomplete,
            Completeness::Complete | Completeness::Invalid => ValidationResult::Valid(None),
        })
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let completion = self.interpreter.borrow().complete(line, cursor);
        Ok((completion.start, completion.names))
    }
}
