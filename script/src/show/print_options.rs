//! How much of a value is shown, and how: what `set_print` sets.

use porcini_core::value::show::{Digits, Options};

use crate::show::writer::MOST_BYTES;

/// How much of a value is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrintOptions {
    /// Of arrays.
    pub arrays: Options,
    /// Digits of a script's own floats; `None`: as many as read back.
    pub own_digits: Option<Digits>,
    /// Whether texts stand in quotes.
    pub quotes: bool,
    /// Bytes of the text.
    pub most: usize,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { arrays: Options::default(), own_digits: None, quotes: false, most: MOST_BYTES }
    }
}
