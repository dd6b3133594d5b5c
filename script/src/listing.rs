//! Texts that are programs: PTX, machine code, graphs. They stay plain texts, which remember by Rhai's tag
//! what they are, so that a notebook shows them in colour, folded, or drawn.

use std::fmt::Write as _;

use rhai::Dynamic;

use crate::html::escaped;
use crate::shown::HTML;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    Ptx,
    Ir,
    Machine,
    /// One launch a line.
    Plan,
    /// A graph in the DOT language.
    Graph,
}

/// Listings and their tags; 0 is that of ordinary values.
const TAGS: [(Listing, i32); 5] = [
    (Listing::Ptx, 1),
    (Listing::Ir, 2),
    (Listing::Machine, 3),
    (Listing::Plan, 4),
    (Listing::Graph, 5),
];
/// Lines of a listing that is unfolded.
const FEW_LINES: usize = 30;

impl Listing {
    /// A text that remembers what it is.
    pub(crate) fn text(self, text: String) -> Dynamic {
        let mut value = Dynamic::from(text);
        let tag = TAGS.iter().find(|(listing, _)| *listing == self).map_or(0, |(_, tag)| *tag);
        value.set_tag(tag);
        value
    }

    /// What a text is, if it remembers.
    pub(crate) fn of(value: &Dynamic) -> Option<Self> {
        let listing = TAGS.iter().find(|(_, tag)| *tag == value.tag())?.0;
        value.is_string().then_some(listing)
    }

    /// MIME type and content of its further form.
    pub(crate) fn form(self, text: &str) -> (&'static str, String) {
        match self {
            Self::Graph => ("text/vnd.graphviz", text.into()),
            Self::Plan => (HTML, plan(text)),
            Self::Ptx => (HTML, folded("PTX", text)),
            Self::Ir => (HTML, folded("IR", text)),
            Self::Machine => (HTML, folded("machine code", text)),
        }
    }
}

/// `kernel 0: n=5, in=1, out=1, ..`: a row a launch, a cell a number.
fn plan(text: &str) -> String {
    let mut html = String::from("<table>");
    for line in text.lines() {
        let (name, facts) = line.split_once(": ").unwrap_or((line, ""));
        let _ = write!(html, "<tr><th>{}</th>", escaped(name));
        for fact in facts.split(", ") {
            let _ = write!(html, "<td>{}</td>", escaped(fact));
        }
        html.push_str("</tr>");
    }
    html.push_str("</table>");
    html
}

fn folded(name: &str, text: &str) -> String {
    let n = text.lines().count();
    let open = if n <= FEW_LINES { " open" } else { "" };
    let mut html = format!("<details{open}><summary>{name}, {n} lines</summary><pre>");
    for line in text.lines() {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        paint_code(code, &mut html);
        if !comment.is_empty() {
            paint("comment", "#408080", comment, &mut html);
        }
        html.push('\n');
    }
    html.push_str("</pre></details>");
    html
}

/// Registers, numbers, and the first word of a line in the colours of JupyterLab's editor, or ours.
fn paint_code(code: &str, html: &mut String) {
    let is_word = |c: char| c.is_alphanumeric() || "_.%$".contains(c);
    let mut rest = code;
    let mut is_first = true;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|other| is_word(other) != is_word(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        rest = after;
        if !is_word(c) {
            html.push_str(&escaped(token));
            // An instruction follows what it defines: `%3: f32 = add`.
            is_first |= token.contains('=');
        } else if c == '%' || c == '$' {
            paint("variable-2", "#05a", token, html);
        } else if c.is_ascii_digit() {
            paint("number", "#080", token, html);
        } else if is_first {
            paint("keyword", "#008000", token, html);
            is_first = false;
        } else {
            html.push_str(&escaped(token));
        }
    }
}

fn paint(role: &str, colour: &str, token: &str, html: &mut String) {
    let token = escaped(token);
    let _ = write!(
        html,
        "<span style=\"color: var(--jp-mirror-editor-{role}-color, {colour})\">{token}</span>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_stays_a_text() {
        let value = Listing::Ptx.text("ret;".into());
        assert_eq!(Listing::of(&value.clone()), Some(Listing::Ptx));
        assert_eq!(value.into_string().unwrap(), "ret;");
        assert_eq!(Listing::of(&Dynamic::from("ret;")), None);
        assert_eq!(Listing::of(Dynamic::from(1_i64).set_tag(1)), None);
    }

    #[test]
    fn painting_keeps_the_text() {
        let text = "  %3: f32 = add %1, 2.5   // r<12>\nL1: @p bra L2;";
        let html = folded("IR", text);
        let mut plain = String::new();
        let mut inside = false;
        for c in html.chars() {
            match c {
                '<' => inside = true,
                '>' if inside => inside = false,
                c if !inside => plain.push(c),
                _ => {}
            }
        }
        let plain = plain.replace("&lt;", "<").replace("&gt;", ">");
        assert_eq!(plain, format!("IR, 2 lines{text}\n"));
        assert!(html.contains("number-color, #080)\">2.5</span>"), "{html}");
    }
}
