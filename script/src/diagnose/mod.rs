//! What went wrong, in words that help.

pub(crate) mod caught;
pub(crate) mod diagnosis;
mod enclosing;
pub(crate) mod error;
mod imported;
mod letters;
pub(crate) mod location;
pub(crate) mod matrices;
mod operators;
pub(crate) mod python;
mod syntax;
pub(crate) mod wording;
