//! Names and lines in a text, whether it is a script or not.

use memchr::memchr_iter;

/// Whether a character may stand in a name.
pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names and numbers in a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_name(c)).filter(|word| !word.is_empty())
}

/// The letters of a name at the start of a text.
pub(crate) fn first_word(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches(is_name).len()]
}

/// The letters of a name at its end.
pub(crate) fn last_word(text: &str) -> &str {
    &text[text.trim_end_matches(is_name).len()..]
}

/// The line ends in a text.
pub(crate) fn n_lines(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count()
}
