//! How much of a value is shown, and how: what `set_print` sets.

use porcini_core::value::show::{Digits, Options};

use crate::show::columns::Columns;
use crate::show::writer::MOST_BYTES;

/// How much of a value is shown, and how.
#[derive(Clone, Debug)]
pub(crate) struct PrintOptions {
    /// Of arrays.
    pub arrays: Options,
    /// Digits of a script's own floats; `None`: as many as read back.
    pub own_digits: Option<Digits>,
    /// In which order the columns of tables stand.
    pub columns: Columns,
    /// Whether texts stand in quotes.
    pub quotes: bool,
    /// Items shown at each end of lists and maps, where there are too many to show.
    pub items: Option<usize>,
    /// Bytes of the text.
    pub most: usize,
    /// Columns of the window in which tables fold.
    pub window: Option<usize>,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self {
            arrays: Options::default(),
            own_digits: None,
            columns: Columns::default(),
            quotes: false,
            items: None,
            most: MOST_BYTES,
            window: None,
        }
    }
}
