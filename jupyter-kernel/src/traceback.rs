//! Errors as notebooks show them.

use porcini_script::{Error, ErrorKind};

/// The name of an error: what Jupyter calls `ename`.
pub(crate) fn name(error: &Error) -> &'static str {
    match error.kind {
        ErrorKind::Syntax => "SyntaxError",
        ErrorKind::Runtime => "RuntimeError",
        ErrorKind::Interrupted => "Interrupted",
        ErrorKind::Internal => "InternalError",
        ErrorKind::Exit(_) => "Exit",
    }
}

/// Its lines. Nothing has a colour: none is read both on the light and on the dark red behind errors. What has one
/// elsewhere is bold.
pub(crate) fn lines(error: &Error) -> Vec<String> {
    error.report(name(error), None, true).lines().map(without_colour).collect()
}

fn without_colour(line: &str) -> String {
    let mut plain = String::new();
    for (i, part) in line.split("\x1b[").enumerate() {
        match part.split_once('m').filter(|_| i > 0) {
            Some((style, rest)) => {
                let style = if style == "0" { "0" } else { "1" };
                plain.extend(["\x1b[", style, "m", rest]);
            }
            None => plain.push_str(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_bold_or_none() {
        let line = "\x1b[1m\x1b[91mError\x1b[0m: m \x1b[94m|\x1b[0m";
        assert_eq!(without_colour(line), "\x1b[1m\x1b[1mError\x1b[0m: m \x1b[1m|\x1b[0m");
    }
}
