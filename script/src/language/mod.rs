//! The texts of scripts: tokens, and what the array language adds to those of Rhai.

mod arguments;
pub(crate) mod assignments;
pub(crate) mod brackets;
pub(crate) mod called;
pub(crate) mod calls;
pub(crate) mod cell;
pub(crate) mod interpolation;
pub(crate) mod lexer;
pub(crate) mod parts;
pub(crate) mod powers;
pub(crate) mod reassigned;
pub(crate) mod semicolons;
mod slices;
pub(crate) mod tokens;
pub(crate) mod unpack;
pub(crate) mod words;
