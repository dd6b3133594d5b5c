//! All that a script gives that is not trusted, in visible characters: to a terminal others are orders, by which it could
//! write into the clipboard, or over what was said before.

use std::borrow::Cow;

use crate::diagnose::error::Error;
use crate::show::outcome::Outcome;
use crate::show::visible::visible;

/// What a cell gave, in visible characters.
pub(crate) fn in_outcome(outcome: Outcome) -> Outcome {
    let text = |text: Option<String>| text.map(owned);
    Outcome { text: text(outcome.text), next_input: text(outcome.next_input), ..outcome }
}

/// A diagnostic in visible characters; its caret stays where it was.
pub(crate) fn in_error(mut error: Box<Error>) -> Box<Error> {
    error.message = owned(error.message);
    error.hints = error.hints.into_iter().map(owned).collect();
    error.calls = error.calls.into_iter().map(|(what, at)| (owned(what), owned(at))).collect();
    if let Some(at) = &mut error.location {
        let before: String = at.text.chars().take(at.column.saturating_sub(1)).collect();
        at.column += visible(&before).chars().count() - before.chars().count();
        at.source = visible(&at.source).into_owned();
        at.text = visible(&at.text).into_owned();
    }
    error
}

fn owned(text: String) -> String {
    match visible(&text) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::error::ErrorKind;
    use crate::diagnose::location::Location;

    #[test]
    fn carets_stay_below_their_words() {
        let text = "print(\"\x1b\"); nosuch".to_string();
        let column = text.find("nosuch").unwrap() + 1;
        let mut error = Box::new(Error::plain(ErrorKind::Runtime, "\x07"));
        error.location = Some(Location { source: "a\rb".into(), line: 1, column, text });
        let shown = in_error(error).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "error: \\x07");
        assert_eq!(lines[1], " --> a\\rb:1:16");
        assert_eq!(lines[4].find('^'), lines[3].find("nosuch"));
    }
}
