//! What can go wrong, as data: each variant carries the operation and what it saw.
//!
//! A message says operation, got, expected and remedy, in lower case without a final period; the
//! script layer adds position and hint, the front ends colour and exit code.

use std::borrow::Cow;
use std::fmt;

use crate::dtype::{DType, Scalar};

/// The result of a fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure that a caller can cause or meet.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // ---- sizes and types ----
    /// Two operands whose sizes differ and are not 1.
    #[error("{op}: sizes {lhs} and {rhs} do not broadcast (equal sizes, or one of them 1)")]
    SizeMismatch {
        /// The operation.
        op: &'static str,
        /// Size of the first operand.
        lhs: u64,
        /// Size of the second operand.
        rhs: u64,
    },
    /// Two operand types with no common type.
    #[error(
        "{op}: no common type for {} and {} (a mask joins numbers through select, T(mask), & or |)",
        lhs.script_name(), rhs.script_name()
    )]
    TypeMismatch {
        /// The operation.
        op: &'static str,
        /// Type of the first operand.
        lhs: DType,
        /// Type of the second operand.
        rhs: DType,
    },
    /// Values for a place whose type would not hold all that they are.
    #[error("{op}: got values of {value} for {place}; convert them: {place}(x)")]
    Conversion {
        /// The operation.
        op: &'static str,
        /// Type of the values.
        value: String,
        /// Type of the place.
        place: String,
    },
    /// An operand type that the operation does not take.
    #[error("{op}: got {}, expected {expected}", dtype.script_name())]
    UnsupportedType {
        /// The operation.
        op: &'static str,
        /// The type it was given.
        dtype: DType,
        /// The class of types it takes.
        expected: &'static str,
    },
    /// A number that the array's integer type cannot hold.
    #[error("{number} does not fit {} (valid: {})", dtype.script_name(), dtype.range())]
    NumberRange {
        /// The number.
        number: Scalar,
        /// The type it was to take.
        dtype: DType,
    },
    /// A float where an integer is needed, or a number where a truth value is.
    #[error("{number} is not a value of {} (valid: {}; {})", dtype.script_name(), dtype.range(), conversion(*number, *dtype))]
    NumberType {
        /// The number.
        number: Scalar,
        /// The type it was to take.
        dtype: DType,
    },
    /// The minimum or maximum of nothing.
    #[error("{op}: the array is empty, so there is no smallest or largest value")]
    EmptyReduction {
        /// The operation.
        op: &'static str,
    },
    /// An element number outside the array.
    #[error("index {index} is out of bounds for {} ({})", extent(*size, *axis), valid_indices(*size))]
    IndexOutOfRange {
        /// The axis of a tensor.
        axis: Option<u8>,
        /// The index asked for.
        index: i64,
        /// The size of the array, or the extent along the axis.
        size: u64,
    },
    /// A gather or scatter whose index pointed outside its array (S13).
    #[error(
        "{op}: index {index} out of bounds for {} (lane {lane}{})", extent(*size, *axis), line_suffix(*line)
    )]
    Bounds {
        /// The function that it is a part of: `gather`, the scatter's name, or what a text of a kernel says there.
        op: Cow<'static, str>,
        /// The axis of a tensor along which entries were looked for.
        axis: Option<u8>,
        /// The offending index.
        index: i128,
        /// Size of the source or target, or extent along the axis.
        size: u64,
        /// The lowest offending lane.
        lane: u64,
        /// Script line that recorded the access, 0 if none: a [`ScriptLine::code`].
        line: u32,
    },
    /// Values whose forms do not fit each other or an operation, such as a matrix and a vector of another length.
    #[error("{what}{}", remedy_suffix(remedy))]
    Forms {
        /// The operation, what it got and what it expected.
        what: String,
        /// What to write instead.
        remedy: Option<&'static str>,
    },
    /// A kernel of a text that does not mean anything, or not for these arguments.
    #[error("{what}{}", remedy_suffix(remedy))]
    Kernel {
        /// The kernel, line, column, what is wrong there, and the line with carets beneath.
        what: String,
        /// What to write instead.
        remedy: Option<String>,
    },
    /// An argument that a kernel of a text does not take.
    #[error("{what}{}", remedy_suffix(remedy))]
    KernelArgument {
        /// The kernel, its parameter, what it got and what it expected.
        what: String,
        /// What to write instead.
        remedy: Option<String>,
        /// The number of the argument, from 0.
        argument: usize,
    },
    /// An argument outside its domain.
    #[error("{op}: {what}")]
    Argument {
        /// The operation.
        op: &'static str,
        /// What is wrong and what to write instead.
        what: String,
    },

    // ---- loops and branches in kernels ----
    /// Reading lanes while a body is being recorded (S21).
    #[error(
        "{what}: in the body of {region}{} a value has no lanes yet; use select, or return it and look at the result (step by step: set_flag(\"record_loops\", false))",
        line_suffix(*line)
    )]
    Recording {
        /// What asked for the lanes.
        what: &'static str,
        /// The call that records the body.
        region: &'static str,
        /// Its script line, 0 if none.
        line: u32,
    },
    /// Lanes of what stands for an argument of a function that is recorded once.
    #[error(
        "jit: in a function that is recorded once{} a value has no lanes; use select, or return it and look at the result",
        line_suffix(*line)
    )]
    StandIn {
        /// The script line of the call that records it, 0 if none.
        line: u32,
    },
    /// A function that evaluates, of what stands for an argument of one that is recorded once.
    #[error(
        "{op}: evaluates, and in a function that is recorded once{} a value has no lanes; call it outside of that function, and pass the result as an argument",
        line_suffix(*line)
    )]
    EvaluatesStandIn {
        /// The function.
        op: &'static str,
        /// The script line of the call that records the other one, 0 if none.
        line: u32,
    },
    /// A value of a body that was not returned from it.
    #[error(
        "{what}: the value comes from the body of a loop or branch that has ended; return it from the body"
    )]
    LeftRegion {
        /// What asked for the value.
        what: &'static str,
    },
    /// A write inside a body to an array that is not among its states.
    #[error(
        "{op}: the body of {region}{} changes an array that is not among its states; pass it in the list and return it",
        line_suffix(*line)
    )]
    NotState {
        /// The write.
        op: &'static str,
        /// The call that records the body.
        region: &'static str,
        /// Its script line, 0 if none.
        line: u32,
    },
    /// A draw from the session's generator inside a body.
    #[error(
        "{op}: the body of {region}{} would draw the same in every turn, since it is recorded once; make a generator a state, as PCG32C::seeded(n, 1), and draw from it",
        line_suffix(*line)
    )]
    SessionGenerator {
        /// What draws.
        op: &'static str,
        /// The call that records the body.
        region: &'static str,
        /// Its script line, 0 if none.
        line: u32,
    },

    // ---- the session ----
    /// Arrays of two sessions met in one operation: of two devices, or of sessions that know nothing of each other.
    #[error("{op}: the arrays are {}", apart(*are_strangers))]
    ForeignArray {
        /// The operation.
        op: &'static str,
        /// Whether the sessions know nothing of each other.
        are_strangers: bool,
    },
    /// An evaluation while the flag `forbid_eval` is set.
    #[error("{what} needs an evaluation, which the flag forbid_eval forbids")]
    EvaluationForbidden {
        /// What asked for the evaluation.
        what: &'static str,
    },
    /// A flag that does not exist.
    #[error("no flag named \"{name}\" (flags: {known})")]
    UnknownFlag {
        /// The name given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Ctrl-C, or [`crate::interrupt::request`].
    #[error("interrupted")]
    Interrupted,
    /// Reading an array that an interrupted or failed write left half done (S16).
    #[error("the array was half written by {op} that did not finish{}; assign it anew", line_suffix(*line))]
    Poisoned {
        /// The write that did not finish: `a scatter`, or a kernel by its name.
        op: Cow<'static, str>,
        /// Script line that recorded the write, 0 if none.
        line: u32,
    },

    /// Reading an array whose device failed after it was computed.
    #[error("the array{array} was in the memory of {device}, which failed; compute it anew")]
    Lost {
        /// Its label, and the line that it is of, as far as they are known.
        array: String,
        /// The device.
        device: String,
    },

    // ---- memory and devices ----
    /// An allocation beyond the limit (S17).
    #[error("out of memory: wanted {requested}, {used} of {limit} in use{largest}")]
    OutOfMemory {
        /// Bytes asked for, as text with a unit.
        requested: String,
        /// Bytes in use, as text with a unit.
        used: String,
        /// The limit, as text with a unit.
        limit: String,
        /// The largest live arrays, as a list that starts with its own separator.
        largest: String,
    },
    /// A device that failed in the middle of its work.
    #[error("{device} failed while {what}: {reason}{}", lost_suffix(*lost))]
    DeviceFailed {
        /// The device.
        device: String,
        /// What it was doing.
        what: &'static str,
        /// What its driver says.
        reason: String,
        /// Whether the contents of its memory are lost.
        lost: bool,
    },
    /// A kernel that the device's compiler refuses.
    #[error("{device} cannot compile the kernel: {message}")]
    Compilation {
        /// The device.
        device: String,
        /// What its compiler says, with the line that it says it of.
        message: String,
    },
    /// A program of the system that shows machine code is not there, or fails.
    #[error("cannot run {program}: {reason}")]
    Tool {
        /// The program.
        program: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// A device that is not there.
    #[error("no device \"{name}\": {reason}")]
    NoDevice {
        /// The name asked for.
        name: String,
        /// Why it cannot be used and what to do.
        reason: String,
    },
}

impl Error {
    /// What to write instead, where that is not a part of the message.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::Forms { remedy, .. } => *remedy,
            Self::Kernel { remedy, .. } | Self::KernelArgument { remedy, .. } => remedy.as_deref(),
            _ => None,
        }
    }

    /// The text without the [remedy](Error::remedy), for who shows that elsewhere.
    pub fn message(&self) -> String {
        match self {
            Self::Forms { what, .. }
            | Self::Kernel { what, .. }
            | Self::KernelArgument { what, .. } => what.clone(),
            _ => self.to_string(),
        }
    }

    /// Values whose forms do not fit.
    pub(crate) fn forms(what: String) -> Self {
        Self::Forms { what, remedy: None }
    }

    /// Values of a lane type in the place of others.
    pub(crate) fn conversion(op: &'static str, value: DType, place: DType) -> Self {
        let [value, place] = [value, place].map(|dtype| dtype.script_name().into());
        Self::Conversion { op, value, place }
    }

    /// The error as one of another operation, which tells its sizes.
    pub(crate) fn of(self, op: &'static str) -> Self {
        match self {
            Self::SizeMismatch { lhs, rhs, .. } => Self::SizeMismatch { op, lhs, rhs },
            other => other,
        }
    }
}

fn apart(are_strangers: bool) -> &'static str {
    match are_strangers {
        true => "of different sessions; take a copy, as with session.array(&x.to_vec::<f32>()?)",
        false => "on different devices; bring them together, as with x.to(\"cpu\")",
    }
}

fn extent(size: u64, axis: Option<u8>) -> String {
    axis.map_or_else(|| format!("size {size}"), |axis| format!("axis {axis} of extent {size}"))
}

/// A line of a script, and of which cell of a notebook or a prompt it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptLine {
    /// Number of the cell, 0 if that is not known.
    pub cell: u32,
    /// The line, 0 if it is not known.
    pub line: u32,
}

impl ScriptLine {
    /// Bits of the line in a [`ScriptLine::code`], below those of the cell.
    const BITS: u32 = 20;

    /// Both in the number that variables and errors carry: the line itself where no cell is known. What finds no room is
    /// not known.
    pub fn code(self) -> u32 {
        let Self { cell, line } = self;
        let fits = cell < 1 << (u32::BITS - Self::BITS) && line < 1 << Self::BITS;
        if fits && line > 0 { cell << Self::BITS | line } else { 0 }
    }

    /// What a [`ScriptLine::code`] stands for.
    pub fn of(code: u32) -> Self {
        Self { cell: code >> Self::BITS, line: code & ((1 << Self::BITS) - 1) }
    }
}

impl From<u32> for ScriptLine {
    fn from(line: u32) -> Self {
        Self { cell: 0, line }
    }
}

impl fmt::Display for ScriptLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if self.cell == 0 { Ok(()) } else { write!(f, " of cell {}", self.cell) }
    }
}

fn line_suffix(code: u32) -> String {
    if code == 0 { String::new() } else { format!(", {}", ScriptLine::of(code)) }
}

fn remedy_suffix(remedy: &Option<impl AsRef<str>>) -> String {
    remedy.as_ref().map_or_else(String::new, |remedy| format!("; {}", remedy.as_ref()))
}

fn lost_suffix(lost: bool) -> &'static str {
    if lost { "; the arrays in its memory are lost, everything else is as it was" } else { "" }
}

fn valid_indices(size: u64) -> String {
    let size = i128::from(size);
    if size == 0 { "it is empty".into() } else { format!("valid: {} to {}", -size, size - 1) }
}

/// How a number becomes a value of `dtype` after all.
fn conversion(number: Scalar, dtype: DType) -> String {
    match dtype {
        DType::Mask => {
            format!("for what is not 0 write {number} != 0; of a < b < c write (a < b) & (b < c)")
        }
        _ => format!("to truncate write {}(FloatC({number}))", dtype.script_name()),
    }
}

/// Whether an operation got as many operands as it takes.
///
/// # Errors
/// `Argument`.
#[inline]
pub(crate) fn counted(op: impl Fn() -> &'static str, n: usize, arity: usize) -> Result<()> {
    if n == arity { Ok(()) } else { Err(miscounted(op(), n, arity)) }
}

#[cold]
fn miscounted(op: &'static str, n: usize, arity: usize) -> Error {
    let what = format!("got {n} {}, expected {arity}", if n == 1 { "operand" } else { "operands" });
    Error::Argument { op, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_are_told_once() {
        let error = Error::Forms { what: "*: got a".into(), remedy: Some("write b") };
        assert_eq!(error.to_string(), "*: got a; write b");
        assert_eq!((error.message(), error.remedy()), ("*: got a".into(), Some("write b")));
        let plain = Error::EmptyReduction { op: "hmin" };
        assert_eq!((plain.message(), plain.remedy()), (plain.to_string(), None));
    }

    #[test]
    fn lines_keep_their_cells() {
        for (cell, line) in [(0, 7), (3, 1), (4095, (1 << 20) - 1)] {
            let place = ScriptLine { cell, line };
            assert_eq!(ScriptLine::of(place.code()), place);
        }
        let code = |cell, line| ScriptLine { cell, line }.code();
        assert_eq!([code(0, 7), code(4096, 7), code(3, 1 << 20), code(3, 0)], [7, 0, 0, 0]);
        assert_eq!(line_suffix(code(3, 7)), ", line 7 of cell 3");
        assert_eq!((line_suffix(7), line_suffix(0)), (", line 7".into(), String::new()));
    }
}
