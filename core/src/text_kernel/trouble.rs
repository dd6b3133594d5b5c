//! What is wrong with a kernel, and where in its text.

use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Error;

/// Bytes of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// From the start of one to the end of another.
    pub(super) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.start) }
    }

    /// The number of its line in a text, and what stands there of that.
    pub(super) fn shown_in(self, text: &str) -> (usize, String) {
        let [start, end] = [self.start, self.end].map(exactly::<usize>);
        let line = text[..start].matches('\n').count() + 1;
        let written = text[start..end].lines().next().unwrap_or_default();
        (line, written.chars().take(AROUND).collect())
    }
}

/// An error on its way to who called: of the text, or of what was recorded for it.
#[derive(Clone, Debug)]
pub(super) struct Trouble(Box<Known>);

/// What is known of an error.
#[derive(Clone, Debug)]
struct Known {
    at: Option<Span>,
    cause: Error,
    remedy: Option<String>,
}

impl Trouble {
    pub(super) fn new(at: Span, what: impl Into<String>) -> Self {
        let cause = Error::forms(what.into());
        Self(Known { at: Some(at), cause, remedy: None }.into())
    }

    /// What to do about it.
    pub(super) fn with(mut self, remedy: Option<String>) -> Self {
        self.0.remedy = remedy.or(self.0.remedy.take());
        self
    }

    /// The same at another place.
    pub(super) fn at(mut self, at: Span) -> Self {
        self.0.at = Some(at);
        self
    }

    /// An error whose place is known further up.
    pub(super) fn nowhere(mut self) -> Self {
        self.0.at = None;
        self
    }

    /// Where it is, unless that is known.
    pub(super) fn within(mut self, at: Span) -> Self {
        self.0.at.get_or_insert(at);
        self
    }

    /// The error as users get it: with line, column and a caret beneath the text. `types` says what the letters are.
    pub(super) fn told(self, name: &str, text: &str, types: &str) -> Error {
        let Known { at, cause, remedy: own } = *self.0;
        if !is_of_text(&cause) {
            return cause;
        }
        let at = at.unwrap_or_default();
        let (line, column, excerpt) = excerpt(text, at);
        let what = cause.message();
        let remedy = match cause {
            Error::Forms { remedy, .. } => own.or(remedy.map(Into::into)),
            Error::NumberRange { number, dtype } => own.or_else(|| {
                let is_unsigned = matches!(dtype, DType::U32 | DType::U64);
                let is_of_bits = is_unsigned && number.to_f64() < 0.0;
                Some(if is_of_bits { BITS.into() } else { TYPE.into() })
            }),
            _ => own,
        };
        let kernel = if name.is_empty() { "kernel".into() } else { format!("kernel `{name}`") };
        let what = format!("{kernel}{types}, line {line}, column {column}: {what}\n{excerpt}");
        Error::Kernel { what, remedy }
    }
}

/// What to do about a literal beyond the type of what it meets, and about one below 0 beside unsigned integers.
const TYPE: &str = "a literal has the type of what it meets: convert that, as in int(x) + 200, or the literal, as in uint(-1)";
const BITS: &str = "all bits of an unsigned integer are ~0u or 0xFFFFFFFF, -1 as one is uint(-1); to compute with a sign convert what it meets, as in int(x) - 1";

impl From<Error> for Trouble {
    fn from(cause: Error) -> Self {
        Self(Known { at: None, cause, remedy: None }.into())
    }
}

/// Whether another text would not have the error; others are of the machine or of somebody's patience.
fn is_of_text(error: &Error) -> bool {
    !matches!(
        error,
        Error::Interrupted
            | Error::OutOfMemory { .. }
            | Error::Poisoned { .. }
            | Error::Lost { .. }
            | Error::DeviceFailed { .. }
            | Error::Compilation { .. }
            | Error::Kernel { .. }
            | Error::KernelArgument { .. }
    )
}

/// Columns of a line that are shown in front of a place and behind it.
const AROUND: usize = 60;

/// What stands for the rest of one.
const CUT: &str = "...";

/// Line and column from 1, and the line with carets under the place.
fn excerpt(text: &str, at: Span) -> (usize, usize, String) {
    let floor = |byte: u32| {
        let byte = exactly::<usize>(byte).min(text.len());
        (0..=byte).rev().find(|&byte| text.is_char_boundary(byte)).unwrap_or(0)
    };
    let (start, end) = (floor(at.start), floor(at.end));
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let whole = text[line_start..].lines().next().unwrap_or_default();
    let column = before[line_start..].chars().count();
    let marked = text[start..end].lines().next().unwrap_or_default().chars().count().max(1);
    let from = column.saturating_sub(AROUND);
    let letters = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String =
        whole.chars().skip(from).take(column - from + AROUND).map(letters).collect();
    let front = if from > 0 { CUT } else { "" };
    let back = if whole.chars().nth(column + AROUND).is_some() { CUT } else { "" };
    let shown = format!("{front}{shown}{back}");
    let number = line.to_string();
    let space = " ".repeat(front.len() + column - from);
    let caret = "^".repeat(marked.min(AROUND));
    let excerpt = format!(" {number} | {shown}\n {} | {space}{caret}", " ".repeat(number.len()));
    (line, column + 1, excerpt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told() {
        let text = "T f(T x) {\n  return é + x;\n}";
        let start = exactly(text.find('é').unwrap());
        let told = Trouble::new(Span { start, end: start + 2 }, "odd").told("f", text, "");
        let want = "kernel `f`, line 2, column 10: odd\n 2 |   return é + x;\n   |          ^";
        assert_eq!(told.to_string(), want);
        // Any place has a line.
        for at in [0, 3, 11, 5000] {
            assert!(
                !Trouble::new(Span { start: at, end: at + 9 }, "odd")
                    .told("f", text, "")
                    .to_string()
                    .is_empty()
            );
        }
        assert_eq!(Trouble::from(Error::Interrupted).told("f", text, ""), Error::Interrupted);
    }
}
