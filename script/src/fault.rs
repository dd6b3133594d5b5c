//! Errors on their way through Rhai: raised by bindings, caught by scripts or rendered by `error.rs`.

use std::fmt;
use std::io;

use porcini_core as core;
use porcini_core::device::{Capacity, host_capacity};
use porcini_core::interrupt::{self, Cause};
use porcini_core::memory::caching_allocator::Bytes;
use rhai::{Dynamic, EvalAltResult, ParseError, Position};

/// Levels that a script may reach; copying what has n of them n times takes n² steps. Calls do not nest so deep either.
pub(crate) const DEEPEST: usize = 2_000;

/// The result of a binding.
pub(crate) type Result<T> = std::result::Result<T, Box<EvalAltResult>>;

/// What a binding raises, and what `catch (e)` gets: shows as its message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Line that an error names which comes later than its cause.
    pub(crate) line: Option<u32>,
    /// Whether the call that met the error is not the one that it tells of: an array was recorded before, or a
    /// device fails.
    pub(crate) is_late: bool,
    /// Whether memory was full, and it does not say yet for what.
    pub(crate) is_full: bool,
    /// The argument of the call, from 0, that it tells of.
    pub(crate) argument: Option<usize>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Fault {
    /// What an error says, whoever raised it, without its place.
    pub(crate) fn of(error: &EvalAltResult) -> Self {
        let inner = error.unwrap_inner();
        if let EvalAltResult::ErrorRuntime(value, _) = inner
            && let Some(fault) = value.read_lock::<Self>()
        {
            return fault.clone();
        }
        let message = match inner {
            EvalAltResult::ErrorRuntime(value, _) => value.to_string(),
            other => other.to_string(),
        };
        Self { message, ..Self::default() }
    }

    /// What stops a script.
    pub(crate) fn interrupted() -> Self {
        Self { message: "interrupted".into(), ..Self::default() }
    }

    /// The error that says it.
    pub(crate) fn raised(self) -> Box<EvalAltResult> {
        raise(self)
    }
}

/// An error with a message.
pub(crate) fn fault(message: impl Into<String>) -> Box<EvalAltResult> {
    raise(Fault { message: message.into(), ..Fault::default() })
}

/// An error with a message and what to do about it.
pub(crate) fn fault_with_hint(
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Box<EvalAltResult> {
    raise(Fault { message: message.into(), hint: Some(hint.into()), ..Fault::default() })
}

fn raise(fault: Fault) -> Box<EvalAltResult> {
    EvalAltResult::ErrorRuntime(Dynamic::from(fault), Position::NONE).into()
}

/// An error of core; a bounds error knows the line that recorded the access.
pub(crate) fn late_fault(error: &core::Error) -> Box<EvalAltResult> {
    let line = match error {
        core::Error::Bounds { line, .. } | core::Error::Poisoned { line, .. } => Some(*line),
        _ => None,
    };
    let line = line.filter(|&line| line > 0);
    let hint = remedy(error).map(Into::into);
    let argument = match error {
        core::Error::KernelArgument { argument, .. } => Some(*argument),
        _ => None,
    };
    let is_full = matches!(error, core::Error::OutOfMemory { .. });
    raise(Fault {
        message: error.message(),
        hint,
        line,
        is_late: is_late(error),
        is_full,
        argument,
    })
}

/// Whether an error is not of the call that met it.
fn is_late(error: &core::Error) -> bool {
    use core::Error as E;
    matches!(
        error,
        E::Bounds { .. }
            | E::Poisoned { .. }
            | E::Lost { .. }
            | E::DeviceFailed { .. }
            | E::Compilation { .. }
    )
}

/// What to do about a value that an operation does not take.
fn remedy(error: &core::Error) -> Option<&str> {
    let (op, dtype, expected) = match error {
        core::Error::UnsupportedType { op, dtype, expected } => (op, dtype, expected),
        error => return error.remedy(),
    };
    let takes = |what: &str| expected.starts_with("an array of") && expected.contains(what);
    match dtype {
        core::DType::Mask if matches!(*op, "<" | "<=" | ">" | ">=") => Some(
            "comparisons are joined: (a < b) & (b < c); FloatC(mask) makes 1 of true and 0 of false",
        ),
        core::DType::Mask if takes("numbers") || takes("floats") || takes("integers") => {
            Some("FloatC(mask) or UInt32C(mask) makes 1 of true and 0 of false")
        }
        core::DType::Mask if *expected == "numbers" => {
            Some("TensorXfC(mask) makes 1 of true and 0 of false")
        }
        dtype if dtype.is_float() && *op == "^" => Some("powers are written x ** 2"),
        dtype if dtype.is_float() && takes("integers") => Some("Int32C(x) makes integers of it"),
        _ => None,
    }
}

/// The error of a call, under the name that the script called: in place of that of the function that does the work,
/// or in front of a message that names none. Calls below it have a place already, and keep their own name.
pub(crate) fn under_name(mut error: Box<EvalAltResult>, name: &str) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, Position::NONE) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
        && !fault.is_late
        && let Some(message) = renamed(&fault.message, name)
    {
        (fault.message, fault.is_full) = (message, false);
    }
    error
}

/// The message with the name in front; `None` if it has it.
pub(crate) fn renamed(message: &str, name: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let starts = message
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with([':', ' ', '(']) && !rest.starts_with("::"));
    if starts {
        return None;
    }
    if let Some((operation, rest)) = message.split_once(": ")
        && !operation.contains(' ')
    {
        return Some(format!("{name}: {rest}"));
    }
    let has_it = message.split(|c| !is_part(c)).any(|word| word == name);
    (!has_it).then(|| format!("{name}: {message}"))
}

/// The error of a part, with what it is a part of before it.
pub(crate) fn placed(mut error: Box<EvalAltResult>, place: &str) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, _) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
    {
        (fault.message, fault.is_full) = (format!("{place}: {}", fault.message), false);
    }
    error
}

/// The error of a place that has no name of a function, which says what was done when memory was full.
pub(crate) fn full_at(error: Box<EvalAltResult>, place: &str) -> Box<EvalAltResult> {
    if Fault::of(&error).is_full { placed(error, place) } else { error }
}

/// The same with what to do about it.
pub(crate) fn advised(mut error: Box<EvalAltResult>, hint: &str) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, _) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
    {
        fault.hint = Some(hint.into());
    }
    error
}

/// The error of an argument, if it is not known of which.
pub(crate) fn of_argument(mut error: Box<EvalAltResult>, number: usize) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, _) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
    {
        fault.argument.get_or_insert(number);
    }
    error
}

/// The error of a call that had so many arguments before those that it was told of.
pub(crate) fn behind_arguments(mut error: Box<EvalAltResult>, n: usize) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, _) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
    {
        fault.argument = fault.argument.map(|number| number + n);
    }
    error
}

const OUT_OF_MEMORY: &str = "out of memory: lists, texts and recorded operations take too much";

/// Why a script was stopped for good; scripts cannot catch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// `exit(code)`.
    Exit(u8),
    /// Values that hold each other too deep; see [`crate::world::nesting`].
    TooDeep,
    /// What was set aside is used.
    OutOfMemory,
}

impl Stop {
    /// What was asked for: Ctrl-C, unless memory ran out.
    pub(crate) fn asked() -> Self {
        if interrupt::cause() == Some(Cause::Spent) { Self::OutOfMemory } else { Self::Interrupt }
    }

    /// Whether somebody else stops the script: what it was at can be done again.
    pub(crate) fn is_of_others(&self) -> bool {
        match self {
            Self::Interrupt | Self::OutOfMemory => true,
            Self::Exit(_) | Self::TooDeep => false,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupt => f.write_str("interrupted"),
            Self::Exit(code) => write!(f, "exit({code})"),
            Self::OutOfMemory => f.write_str(OUT_OF_MEMORY),
            Self::TooDeep => {
                let what = "lists, maps or closures hold each other more than";
                let advice = "put them side by side with list.push(x); del x lets go of one";
                write!(f, "{what} {DEEPEST} levels deep; {advice}")
            }
        }
    }
}

/// The error of a text that is no program; after Ctrl-C nobody has read it to its end.
pub(crate) fn parse_fault(error: ParseError) -> Box<EvalAltResult> {
    if interrupt::is_requested() {
        stop(Stop::Interrupt)
    } else {
        EvalAltResult::from(error).into()
    }
}

/// Ends the script after Ctrl-C: what takes long between its operations asks.
pub(crate) fn check_interrupt() -> Result<()> {
    if interrupt::is_requested() { Err(stop(Stop::Interrupt)) } else { Ok(()) }
}

/// The error of what the world outside was asked for; `what` names the call, and the file.
pub(crate) fn outside_fault(what: &str, error: &io::Error) -> Box<EvalAltResult> {
    let of_session = error.get_ref().and_then(|inner| inner.downcast_ref::<core::Error>());
    match (of_session, error.kind()) {
        (Some(error), _) => placed(late_fault(error), what),
        (None, io::ErrorKind::Interrupted) => stop(Stop::Interrupt),
        (None, _) => fault(format!("{what}: {error}")),
    }
}

/// What the system left is too little.
pub(crate) fn out_of_memory() -> Box<EvalAltResult> {
    interrupt::answer(Cause::Short);
    let Capacity { bytes, whose } = host_capacity();
    fault_with_hint(
        format!(
            "{OUT_OF_MEMORY}: {whose} leaves {}, and copies of it must find room",
            Bytes(bytes)
        ),
        "del x frees a list or array, %reset all; arrays take less than lists; eval(x) in a long loop lets go of what x was made of",
    )
}

/// Ends the script. It may catch that memory is short.
pub(crate) fn stop(why: Stop) -> Box<EvalAltResult> {
    if why == Stop::Interrupt && interrupt::cause() == Some(Cause::Short) {
        return out_of_memory();
    }
    let why = if why == Stop::Interrupt { Stop::asked() } else { why };
    EvalAltResult::ErrorTerminated(Dynamic::from(why), Position::NONE).into()
}

/// Carries core results into scripts.
pub(crate) trait IntoFault<T> {
    /// The value, or the error as a fault.
    fn or_fault(self) -> Result<T>;
}

impl<T> IntoFault<T> for core::Result<T> {
    fn or_fault(self) -> Result<T> {
        self.map_err(|error| match error {
            core::Error::Interrupted => stop(Stop::Interrupt),
            error => late_fault(&error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_get_the_name_of_the_call_once() {
        for (message, name, want) in [
            ("sin: got text", "sin", "sin: got text"),
            ("<: sizes 2 and 3", "lt", "lt: sizes 2 and 3"),
            ("any: got FloatC", "any_nested", "any_nested: got FloatC"),
            ("Matrix2fC: a row of 1", "Matrix2fC::from_rows", "Matrix2fC::from_rows: a row of 1"),
            (
                "2.5 is not a value of Int32C (valid: -1)",
                "+",
                "+: 2.5 is not a value of Int32C (valid: -1)",
            ),
            ("300 does not fit Int8C (valid: 1)", "Int8C", "300 does not fit Int8C (valid: 1)"),
        ] {
            let error = under_name(fault(message), name);
            let EvalAltResult::ErrorRuntime(value, _) = &*error else { panic!("{error}") };
            assert_eq!(value.read_lock::<Fault>().unwrap().message, want);
        }
    }
}
