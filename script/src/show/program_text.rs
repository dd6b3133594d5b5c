//! Texts that are programs: PTX, machine code, graphs. A type of their own, so that a notebook shows them in colour,
//! folded, or drawn, and nothing else; scripts read them like texts.

use std::borrow::Cow;

use rhai::ImmutableString;

use crate::fault::Result;
use crate::show::markup::{HTML, PRE, write_escaped};
use crate::show::writer::{Writer, written};

/// A text that knows what it is.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    pub(crate) program: Program,
    pub(crate) text: ImmutableString,
}

/// What a listing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Ptx,
    Ir,
    Machine,
    /// One launch a line.
    Plan,
    /// A graph in the DOT language.
    Graph,
    /// Lines of the log.
    Log,
}

/// MIME type of graphs in the DOT language.
pub(crate) const GRAPHVIZ: &str = "text/vnd.graphviz";
/// Lines of a listing that is unfolded.
const FEW_LINES: usize = 30;
/// Lines of a listing that is shown whole.
const MOST_LINES: usize = 2000;

impl Listing {
    /// The text; of a long one both ends.
    pub(crate) fn ends(&self) -> Cow<'_, str> {
        let text = self.text.as_str();
        let n = text.lines().count();
        let nth = MOST_LINES / 2 - 1;
        let (head, tail) = (text.match_indices('\n').nth(nth), text.rmatch_indices('\n').nth(nth));
        match (head, tail) {
            (Some((head, _)), Some((tail, _))) if n > MOST_LINES => {
                let n = n - MOST_LINES;
                let gap = format!("\n.. {n} lines skipped, print shows all ..");
                [&text[..head], &gap, &text[tail..]].concat().into()
            }
            _ => text.into(),
        }
    }

    /// MIME type and content of its further form, of at most so many bytes.
    pub(crate) fn form(&self, most: usize) -> Result<(&'static str, String)> {
        let name = match self.program {
            Program::Graph => return Ok((GRAPHVIZ, self.text.to_string())),
            Program::Plan => {
                return Ok((HTML, written(most, |out| write_plan(out, &self.ends()))?));
            }
            Program::Ptx => "PTX",
            Program::Ir => "IR",
            Program::Machine => "machine code",
            Program::Log => "log",
        };
        let n = self.text.lines().count();
        let name = format!("{name}, {n} line{}", if n == 1 { "" } else { "s" });
        Ok((HTML, written(most, |out| write_folded(out, &name, &self.ends()))?))
    }
}

/// `kernel 0: n=5, in=1, out=1, ..`: a row a launch, a cell a number.
fn write_plan(out: &mut Writer, text: &str) -> Result<()> {
    out.put("<table>")?;
    for line in text.lines() {
        let (name, facts) = line.split_once(": ").unwrap_or((line, ""));
        out.put("<tr><th>")?;
        write_escaped(out, name)?;
        out.put("</th>")?;
        for fact in facts.split(", ") {
            out.put("<td>")?;
            write_escaped(out, fact)?;
            out.put("</td>")?;
        }
        out.put("</tr>")?;
    }
    out.put("</table>")
}

fn write_folded(out: &mut Writer, name: &str, text: &str) -> Result<()> {
    let open = if text.lines().nth(FEW_LINES).is_none() { " open" } else { "" };
    out.put(&format!("<details{open}><summary>{name}</summary>{PRE}"))?;
    for line in text.lines() {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        paint_code(out, code)?;
        if !comment.is_empty() {
            paint(out, "comment", "#408080", comment)?;
        }
        out.put("\n")?;
    }
    out.put("</pre></details>")
}

/// Registers, numbers, and the first word of a line in the colours of JupyterLab's editor, or ours.
fn paint_code(out: &mut Writer, code: &str) -> Result<()> {
    let is_word = |c: char| c.is_alphanumeric() || "_.%$".contains(c);
    let mut rest = code;
    let mut is_first = true;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|other| is_word(other) != is_word(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        rest = after;
        if !is_word(c) {
            write_escaped(out, token)?;
            // An instruction follows what it defines: `%3: f32 = add`.
            is_first |= token.contains('=');
        } else if c == '%' || c == '$' {
            paint(out, "variable-2", "#05a", token)?;
        } else if c.is_ascii_digit() || is_first && is_address(token, rest) {
            paint(out, "number", "#080", token)?;
        } else if is_first {
            paint(out, "keyword", "#008000", token)?;
            is_first = false;
        } else {
            write_escaped(out, token)?;
        }
    }
    Ok(())
}

/// Whether a word is the place of an instruction of machine code, which stands apart from it.
fn is_address(word: &str, rest: &str) -> bool {
    word.chars().all(|c| c.is_ascii_hexdigit()) && rest.starts_with("  ")
}

fn paint(out: &mut Writer, role: &str, colour: &str, token: &str) -> Result<()> {
    out.put(&format!("<span style=\"color: var(--jp-mirror-editor-{role}-color, {colour})\">"))?;
    write_escaped(out, token)?;
    out.put("</span>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_numbers() {
        let painted = written(10_000, |out| paint_code(out, "    a3  add rbx, 1")).unwrap();
        let parts: Vec<&str> = painted.split("</span>").collect();
        assert!(parts[0].contains("number-color") && parts[0].ends_with("a3"), "{painted}");
        assert!(parts[1].contains("keyword-color") && parts[1].ends_with("add"), "{painted}");
    }

    #[test]
    fn painting_keeps_the_text() {
        let text = "  %3: f32 = add %1, 2.5   // r<12>\nL1: @p bra L2;";
        let html = written(10_000, |out| write_folded(out, "IR", text)).unwrap();
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
        assert_eq!(plain, format!("IR{text}\n"));
        assert!(html.contains("number-color, #080)\">2.5</span>"), "{html}");
    }

    #[test]
    fn of_long_listings_both_ends_are_shown() {
        let lines = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join("\n");
        let listing = |n| Listing { program: Program::Ptx, text: lines(n).into() };
        assert_eq!(listing(MOST_LINES).ends(), lines(MOST_LINES));
        let long = listing(MOST_LINES + 7);
        let ends: Vec<_> = long.ends().lines().map(String::from).collect();
        assert_eq!(ends.len(), MOST_LINES + 1);
        assert_eq!(ends[999..1002], ["999", ".. 7 lines skipped, print shows all ..", "1007"]);
        let (_, html) = long.form(1 << 20).unwrap();
        assert!(html.contains("PTX, 2007 lines") && html.contains(" lines skipped"));
    }
}
