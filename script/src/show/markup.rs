//! What HTML is made of.

use crate::fault::Result;
use crate::show::writer::Writer;

/// MIME type of HTML.
pub(crate) const HTML: &str = "text/html";

/// Begins text whose letters are all equally wide: not every page says so of `pre`.
pub(crate) const PRE: &str = "<pre style=\"margin: 0; padding: 0; word-break: normal; font-family: var(--jp-code-font-family, monospace)\">";

/// Writes text that HTML shows as it is.
pub(crate) fn write_escaped(out: &mut Writer, text: &str) -> Result<()> {
    for piece in text.split_inclusive(['&', '<', '>', '"', '\'']) {
        let mut letters = piece.chars();
        let Some((end, mark)) = letters.next_back().and_then(|c| Some((c, mark(c)?))) else {
            out.put(piece)?;
            continue;
        };
        out.put(&piece[..piece.len() - end.len_utf8()])?;
        out.put(mark)?;
    }
    Ok(())
}

/// What HTML writes for a character that means something to it.
fn mark(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    }
}

/// Text that HTML shows as it is.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match mark(c) {
            Some(mark) => html.push_str(mark),
            None => html.push(c),
        }
    }
    html
}
