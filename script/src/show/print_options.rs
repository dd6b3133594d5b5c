//! How much of a value is shown, and how: what `set_print` sets.

use crate::show::writer::MOST_BYTES;

/// How much of a value is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrintOptions {
    /// Significant digits of floats in arrays.
    pub digits: usize,
    /// Those of a script's own floats; `None`: as many as read back.
    pub own_digits: Option<usize>,
    /// Lanes shown at each end of a long array.
    pub edge: u64,
    /// Arrays of more lanes are long.
    pub threshold: u64,
    /// Whether texts stand in quotes.
    pub quotes: bool,
    /// Bytes of the text.
    pub most: usize,
}

impl Default for PrintOptions {
    fn default() -> Self {
        let (digits, own_digits, quotes) = (6, None, false);
        Self { digits, own_digits, edge: 5, threshold: 20, quotes, most: MOST_BYTES }
    }
}
