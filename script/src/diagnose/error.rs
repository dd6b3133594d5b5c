//! A diagnostic: what went wrong, where in the script, and what to do; as text with the source line, a caret and the
//! calls that led there.

use std::fmt;

use annotate_snippets::renderer::DEFAULT_TERM_WIDTH;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use rhai::Dynamic;

use crate::diagnose::location::Location;
use crate::fault::Stop;
use crate::show::wrap::fitted;

/// Functions that call each other in a ring, whose calls are shown once.
const MOST_IN_A_RING: usize = 3;
/// Repeated calls that are shown.
const MOST_REPEATED: usize = 2;

/// Why a script stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no program.
    Syntax,
    /// A statement failed.
    Runtime,
    /// Ctrl-C.
    Interrupted,
    /// `exit(code)`: not an error, the script wants to end.
    Exit(u8),
    /// A mistake of ours.
    Internal,
}

/// Why a script stopped for good, from what Rhai says of it.
pub(super) fn stopped(token: &Dynamic) -> (ErrorKind, String) {
    let stop = token.clone().try_cast().unwrap_or(Stop::Interrupt);
    let kind = match stop {
        Stop::Interrupt => ErrorKind::Interrupted,
        Stop::Exit(code) => ErrorKind::Exit(code),
        Stop::TooDeep | Stop::OutOfMemory => ErrorKind::Runtime,
    };
    (kind, stop.to_string())
}

/// A failed script, ready to be shown.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Error {
    /// Why it stopped.
    pub kind: ErrorKind,
    /// Operation, got, expected.
    pub message: String,
    /// Where, if known.
    pub location: Option<Location>,
    /// What to do.
    pub hints: Vec<String>,
    /// Function calls and imports that led there, innermost first: what, and where.
    pub calls: Vec<(String, String)>,
}

impl fmt::Display for Error {
    /// The [report](Error::report) without colour.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.report("error", None, false))
    }
}

/// Further errors that one tells of.
const MOST_OTHERS: usize = 8;

impl Error {
    /// Tells of what else went wrong, `when` that was; of what came several times, as in a loop, once.
    pub(crate) fn add_others(&mut self, when: &str, others: &[impl fmt::Display]) {
        let mut told: Vec<(String, usize)> = Vec::new();
        for other in others.iter().map(ToString::to_string) {
            match told.iter_mut().find(|(known, _)| *known == other) {
                Some((_, n)) => *n += 1,
                None => told.push((other, 1)),
            }
        }
        let left = told.split_off(told.len().min(MOST_OTHERS));
        self.hints.extend(told.into_iter().map(|(other, n)| match n {
            1 => format!("{when}: {other}"),
            n => format!("{when}: {other} ({n} times)"),
        }));
        let left: usize = left.into_iter().map(|(_, n)| n).sum();
        if left > 0 {
            self.hints.push(format!("{when}: {left} more"));
        }
    }

    /// Whether it says no more than that the script wants to end.
    pub fn is_exit_alone(&self) -> bool {
        matches!(self.kind, ErrorKind::Exit(code) if self.message == Stop::Exit(code).to_string())
    }

    /// The same told by a script that leaves: its code is not the one that says that all went well.
    pub(crate) fn told_by(self, leaves: ErrorKind) -> Self {
        match (self.kind, leaves) {
            (ErrorKind::Runtime | ErrorKind::Exit(_), ErrorKind::Exit(code)) => {
                Self { kind: ErrorKind::Exit(code.max(1)), ..self }
            }
            _ => self,
        }
    }

    /// An error without a place.
    pub fn plain(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), location: None, hints: vec![], calls: vec![] }
    }

    /// Several lines: `title` and message, place, source line with caret, hints, calls; for a window of so many
    /// columns, if there is one.
    pub fn report(&self, title: &str, columns: Option<usize>, has_colour: bool) -> String {
        let number = self.location.as_ref().map_or(0, |at| at.line.to_string().len());
        let sentence = |text: &str, margin: usize| match columns {
            Some(columns) => fitted(text, columns.saturating_sub(margin)),
            None => text.into(),
        };
        let message = sentence(&self.message, title.len() + 2);
        let mut report = Group::with_title(Level::ERROR.with_name(title).primary_title(message));
        if let Some(at) = self.location.as_ref().filter(|at| at.text.trim().is_empty()) {
            let place = Origin::path(at.source.as_str()).line(at.line).char_column(at.column);
            report = report.element(place);
        } else if let Some(at) = &self.location {
            let (text, word) = at.word();
            let line = Snippet::source(text).line_start(at.line).path(at.source.as_str());
            report = report.element(line.annotation(AnnotationKind::Primary.span(word)));
        }
        let help = |hint: &String| Level::HELP.message(sentence(hint, number + 10));
        let report = report.elements(self.hints.iter().map(help));
        let report = report.elements(self.calls().map(|call| Level::NOTE.no_name().message(call)));
        let renderer = if has_colour { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(columns.unwrap_or(DEFAULT_TERM_WIDTH)).render(&[report])
    }

    /// The calls, innermost first; those of a recursion once.
    fn calls(&self) -> impl Iterator<Item = String> {
        let mut lines = Vec::new();
        let mut rest = self.calls.as_slice();
        while let Some((function, place)) = rest.first() {
            let how = if function.starts_with("module ") { "imported" } else { "called" };
            lines.push(format!("in {function} {how} at {place}"));
            rest = &rest[1..];
            // Functions may call each other in a ring.
            for ring in 1..=MOST_IN_A_RING {
                let start = self.calls.len() - rest.len();
                let Some(from) = start.checked_sub(ring) else { break };
                let before = &self.calls[from..start];
                let n = rest.chunks(ring).take_while(|calls| *calls == before).count();
                if n * ring > MOST_REPEATED {
                    rest = &rest[n * ring..];
                    lines.push(format!(".. {} more such calls ..", n * ring));
                }
            }
        }
        lines.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_several_times_is_told_once() {
        let mut error = Error::plain(ErrorKind::Runtime, "first");
        error.add_others("then", &["b", "a", "b", "b"]);
        assert_eq!(error.hints, ["then: b (3 times)", "then: a"]);
        error.hints.clear();
        error.add_others("then", &(0..12).map(|i| i % 10).collect::<Vec<_>>());
        assert_eq!(error.hints[0], "then: 0 (2 times)");
        assert_eq!((error.hints.len(), error.hints[8].as_str()), (9, "then: 2 more"));
    }
}
