//! Long texts, page by page, in the program that the person reads with.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use crate::{foreground, print};

/// What shows pages without `PAGER`.
const USUAL: &str = "less";
/// How it does: it ends at once where all fits, keeps colours, and leaves the text on the screen.
const MANNERS: &str = "FRX";

/// Shows a text: in a pager if it is longer than the window of a terminal, else as values are shown.
pub(crate) fn show(text: &str) {
    if !fits(text)
        && let Some(program) = program(|name| std::env::var(name).ok())
        && page(&program, text).is_ok()
    {
        return;
    }
    print::value(text);
}

/// Whether the window shows all of a text, with the prompt below it; always where there is no window to read in.
fn fits(text: &str) -> bool {
    if !io::stdin().is_terminal() {
        return true;
    }
    print::size().is_none_or(|(columns, rows)| print::rows_of(text, columns) < rows)
}

/// What the environment wants pages to be shown with; nothing where it wants none or has no cursor to move.
fn program(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if variable("TERM").is_none_or(|term| term == "dumb") {
        return None;
    }
    let wanted = variable("PAGER").unwrap_or_else(|| USUAL.into());
    Some(wanted).filter(|program| !matches!(program.trim(), "" | "cat"))
}

/// Has a program show a text.
///
/// # Errors
/// It does not start.
fn page(program: &str, text: &str) -> io::Result<()> {
    // A pager may be called with arguments, as any program that the environment names.
    let mut words = program.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(USUAL));
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", MANNERS);
    }
    let result = foreground::run(&mut command, |child| {
        if let Some(mut pipe) = child.stdin.take() {
            // Whoever has read enough closes the pipe.
            drop(writeln!(pipe, "{text}"));
        }
    });
    result.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_the_window_breaks_them() {
        for (text, columns, rows) in [
            ("", 80, 1),
            ("a\n\nb", 80, 3),
            ("12345", 5, 1),
            ("123456", 5, 2),
            ("ä".repeat(10).as_str(), 5, 2),
        ] {
            assert_eq!(print::rows_of(text, columns), rows, "{text:?}");
        }
    }

    #[test]
    fn the_environment_chooses_the_pager() {
        let chosen = |term: Option<&str>, pager: Option<&str>| {
            program(|name| match name {
                "TERM" => term.map(Into::into),
                _ => pager.map(Into::into),
            })
        };
        assert_eq!(chosen(Some("xterm"), None).as_deref(), Some("less"));
        assert_eq!(chosen(Some("xterm"), Some("more -d")).as_deref(), Some("more -d"));
        for (term, pager) in [(None, None), (Some("dumb"), None), (Some("xterm"), Some("cat"))] {
            assert_eq!(chosen(term, pager), None);
        }
    }
}
