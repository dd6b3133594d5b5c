//! Errors on their way through Rhai: raised by bindings, caught by scripts or rendered by `error.rs`.

use std::fmt;

use porcini_core as core;
use porcini_core::alloc::Bytes;
use porcini_core::device::{Capacity, host_capacity};
use porcini_core::interrupt::{self, Cause};
use rhai::{Dynamic, EvalAltResult, ParseError, Position};

use crate::error::ErrorKind;
use crate::nesting::DEEPEST;

/// The result of a binding.
pub(crate) type Result<T> = std::result::Result<T, Box<EvalAltResult>>;

/// What a binding raises, and what `catch (e)` gets: shows as its message.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Line that an error names which comes later than its cause.
    pub(crate) line: Option<u32>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An error with a message.
pub(crate) fn fault(message: impl Into<String>) -> Box<EvalAltResult> {
    raise(Fault { message: message.into(), hint: None, line: None })
}

/// An error with a message and what to do about it.
pub(crate) fn fault_with_hint(
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Box<EvalAltResult> {
    raise(Fault { message: message.into(), hint: Some(hint.into()), line: None })
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
    raise(Fault { message: error.to_string(), hint: remedy(error).map(Into::into), line })
}

/// What to do about a type that an operation does not take.
fn remedy(error: &core::Error) -> Option<&'static str> {
    let core::Error::UnsupportedType { op, dtype, expected, .. } = error else { return None };
    let takes = |what: &str| expected.starts_with("an array of") && expected.contains(what);
    match dtype {
        core::DType::Mask if takes("numbers") || takes("floats") || takes("integers") => {
            Some("FloatC(mask) or UInt32C(mask) makes 1 of true and 0 of false")
        }
        dtype if dtype.is_float() && *op == "^" => Some("powers are written x ** 2"),
        dtype if dtype.is_float() && takes("integers") => Some("Int32C(x) makes integers of it"),
        _ => None,
    }
}

/// The error of a function that calls another one, under its own name.
pub(crate) fn renamed(mut error: Box<EvalAltResult>, from: &str, to: &str) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, _) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
        && let Some(rest) = fault.message.strip_prefix(from)
        && rest.starts_with(':')
    {
        fault.message = format!("{to}{rest}");
    }
    error
}

/// The error of a part, with what it is a part of before it.
pub(crate) fn placed(mut error: Box<EvalAltResult>, place: &str) -> Box<EvalAltResult> {
    if let EvalAltResult::ErrorRuntime(value, _) = &mut *error
        && let Some(mut fault) = value.write_lock::<Fault>()
    {
        fault.message = format!("{place}: {}", fault.message);
    }
    error
}

const OUT_OF_MEMORY: &str = "out of memory: lists and texts take too much";

/// Why a script was stopped for good; scripts cannot catch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// `exit(code)`.
    Exit(u8),
    /// Values that hold each other too deep; see [`crate::nesting`].
    TooDeep,
    /// What was set aside is used.
    OutOfMemory,
}

impl Stop {
    /// What was asked for: Ctrl-C, unless memory ran out.
    pub(crate) fn asked() -> Self {
        if interrupt::cause() == Some(Cause::Spent) { Self::OutOfMemory } else { Self::Interrupt }
    }

    pub(crate) fn kind(self) -> ErrorKind {
        match self {
            Self::Interrupt => ErrorKind::Interrupted,
            Self::Exit(code) => ErrorKind::Exit(code),
            Self::TooDeep | Self::OutOfMemory => ErrorKind::Runtime,
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
                write!(f, "{what} {DEEPEST} levels deep; del x frees one")
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

/// What the system left is too little.
pub(crate) fn out_of_memory() -> Box<EvalAltResult> {
    interrupt::answer(Cause::Short);
    let Capacity { bytes, whose } = host_capacity();
    fault_with_hint(
        format!(
            "{OUT_OF_MEMORY}: {whose} leaves {}, and copies of it must find room",
            Bytes(bytes)
        ),
        "del x frees a list or array, %reset all; arrays take less than lists",
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
