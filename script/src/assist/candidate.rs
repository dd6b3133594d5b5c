//! A name that could stand at the cursor, and what it is.

use crate::language::tokens::typed;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateKind {
    /// A variable of the session.
    Variable,
    /// A component, a key of a map.
    Member,
    /// A function.
    Function,
    /// An array type.
    Type,
    /// A constant of the language.
    Constant,
    /// A word of the language.
    Keyword,
    /// A switch, in `set_flag("..")`.
    Flag,
    /// A file or a folder, in a text.
    File,
    /// A command of the prompt.
    Command,
    /// A page of help that is about no single name.
    Topic,
}

/// A name that could stand at the cursor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// What is put in place of the typed part.
    pub name: String,
    /// What it is.
    pub kind: CandidateKind,
    /// Parameters of a function, type of a variable.
    pub detail: String,
    /// The first sentence of its help.
    pub doc: String,
}

pub(super) fn candidate(name: &str, kind: CandidateKind, detail: &str) -> Candidate {
    Candidate { name: typed(name).into(), kind, detail: detail.into(), doc: String::new() }
}
