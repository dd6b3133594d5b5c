//! Completion: the interpreter's candidates as the editor lists them.

use porcini_script::{Candidate, CandidateKind};
use rustyline::Context;
use rustyline::completion::{Completer, Pair};

use super::Assistant;
use super::gutter::LEVEL;
use crate::print;

/// Names that are listed with what they are, one a line, as long as so many lines of the window are left; longer
/// lists have the names only.
const LEFT: usize = 8;

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        if let Some(bracket) = self.closing.take() {
            let pair = Pair { display: bracket.into(), replacement: bracket.into() };
            return Ok((cursor.saturating_sub(LEVEL.len()), vec![pair]));
        }
        let completion = self.interpreter.borrow().complete(&self.cell_cache.of(line), cursor);
        let candidates = completion.candidates;
        let explained = candidates.len() + LEFT <= print::rows();
        let width = candidates.iter().map(|c| head(c).chars().count()).max().unwrap_or(0);
        let pair = |candidate: &Candidate| {
            let display =
                if explained { line_of(candidate, width) } else { candidate.name.clone() };
            Pair { display, replacement: candidate.name.clone() }
        };
        Ok((completion.start, candidates.iter().map(pair).collect()))
    }
}

/// `gather(source, index, active)`
fn head(candidate: &Candidate) -> String {
    match candidate.kind {
        CandidateKind::Function | CandidateKind::Type | CandidateKind::Command => {
            format!("{}{}", candidate.name, candidate.detail)
        }
        _ => candidate.name.clone(),
    }
}

/// A candidate with what it is, no wider than the window.
fn line_of(candidate: &Candidate, width: usize) -> String {
    let about = match candidate.kind {
        CandidateKind::Function
        | CandidateKind::Type
        | CandidateKind::Constant
        | CandidateKind::Command
        | CandidateKind::Topic => candidate.doc.replace('`', ""),
        CandidateKind::Variable => candidate.detail.clone(),
        CandidateKind::Member => {
            let parts = [candidate.detail.as_str(), candidate.doc.as_str()];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        }
        CandidateKind::Flag => format!("{}{}", candidate.doc, candidate.detail),
        CandidateKind::Keyword | CandidateKind::File => String::new(),
    };
    let line = format!("{:<width$}  {about}", head(candidate));
    let most = print::width().saturating_sub(1);
    let line = line.trim_end();
    if line.chars().count() <= most {
        return line.into();
    }
    let short: String = line.chars().take(most.saturating_sub(2)).collect();
    format!("{short}..")
}
