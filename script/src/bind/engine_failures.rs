//! Why operations of engines failed, told where somebody reads them.

use std::rc::Rc;

use porcini_core::Error;
use rhai::{Dynamic, EvalAltResult, ImmutableString, NativeCallContext, Position};

use crate::context::Context;
use crate::diagnose::diagnosis::without_text;
use crate::fault::{Fault, late_fault, renamed};

/// The failure of an operation.
#[derive(Clone)]
pub(super) struct Failure {
    /// Name of the operator or function.
    name: ImmutableString,
    /// Whether that is a function whose errors name it.
    names_itself: bool,
    /// The line that pushed it, 0 for none.
    line: u32,
    /// The number of the push, of all engines.
    pub(super) number: u64,
    raised: Rc<Raised>,
}

/// What Rhai reported. It may be told several times, and is put into words when it is.
pub(super) struct Raised {
    error: EvalAltResult,
    /// The calls on the way to it, outermost first.
    calls: Vec<Around>,
}

/// What an error went through.
enum Around {
    Function(String, String, Position),
    Module(String, Position),
}

impl Raised {
    pub(super) fn new(mut error: EvalAltResult) -> Rc<Self> {
        let mut calls = Vec::new();
        loop {
            error = match error {
                EvalAltResult::ErrorInFunctionCall(function, source, inner, position) => {
                    calls.push(Around::Function(function, source, position));
                    *inner
                }
                EvalAltResult::ErrorInModule(module, inner, position) => {
                    calls.push(Around::Module(module, position));
                    *inner
                }
                error => return Rc::new(Self { error, calls }),
            };
        }
    }
}

impl Failure {
    /// Why an operation failed that a line pushed. Functions of ours begin their errors with their names.
    pub(super) fn new(
        name: &str,
        names_itself: bool,
        (line, number): (u32, u64),
        raised: Rc<Raised>,
    ) -> Self {
        Self { name: name.into(), names_itself, line, number, raised }
    }

    /// Why an operation failed some of whose lanes come of an index out of bounds.
    pub(super) fn out_of_bounds(name: &str, at: (u32, u64), mut error: Error) -> Self {
        if let Error::Bounds { op, line, .. } = &mut error
            && *op == name
        {
            // The function itself was called where the operation was done.
            *line = at.0;
        }
        Self::new(name, true, at, Raised::new(*late_fault(&error)))
    }

    /// What stops an engine.
    pub(super) fn interrupted() -> Self {
        Self::new("", true, (0, 0), Raised::new(*Fault::interrupted().raised()))
    }

    /// What it says, with the line that pushed the operation.
    pub(super) fn told(&self, context: &Context) -> Fault {
        let error = &self.raised.error;
        let mut fault = match error {
            EvalAltResult::ErrorRuntime(value, _) if value.is::<Fault>() => Fault::of(error),
            _ => {
                let told = without_text(error, &context.functions.borrow());
                let hint = (!told.hints.is_empty()).then(|| told.hints.join("; "));
                Fault { message: told.message, hint, ..Fault::of(error) }
            }
        };
        if self.raised.calls.is_empty() {
            // The call that it is told of is not the one whose argument is wrong.
            fault.argument = None;
        }
        if fault.line.is_none() {
            let line = self.line;
            let pushed = if line > 0 { format!(" (pushed in line {line})") } else { String::new() };
            fault.message = format!("{}{pushed}", self.headed(fault.message));
            fault.line = Some(line).filter(|&line| line > 0);
            fault.is_late = true;
        }
        fault
    }

    /// A message behind the name of the operation, unless it begins with it.
    fn headed(&self, message: String) -> String {
        let name = &self.name;
        let begins = message.starts_with(&format!("{name}: "));
        if begins || message.starts_with(&format!("`{name}` ")) {
            return message;
        }
        match self.names_itself {
            true => renamed(&message, name).unwrap_or(message),
            false => format!("{name}: {message}"),
        }
    }

    /// The error that says it, where a call reads the operation: at its own place, if it happened in a function of the
    /// script.
    pub(super) fn raised(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
    ) -> Box<EvalAltResult> {
        let calls = &self.raised.calls;
        let place = if calls.is_empty() { Position::NONE } else { self.raised.error.position() };
        let told = EvalAltResult::ErrorRuntime(Dynamic::from(self.told(context)), place);
        calls.iter().enumerate().rev().fold(told.into(), |inner, (depth, around)| {
            // The outermost was called by what did the operation, which may be another cell's.
            let at = |place: &Position| if depth == 0 { call.call_position() } else { *place };
            match around {
                Around::Function(function, source, place) => EvalAltResult::ErrorInFunctionCall(
                    function.clone(),
                    source.clone(),
                    inner,
                    at(place),
                ),
                Around::Module(module, place) => {
                    EvalAltResult::ErrorInModule(module.clone(), inner, at(place))
                }
            }
            .into()
        })
    }
}
