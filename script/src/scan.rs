//! A light scan of script text: brackets, strings and comments. Rhai's parser cannot tell an open comment
//! from a finished one, nor a trailing `;`.

/// What a scan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Brackets of all kinds opened and not closed.
    pub(crate) depth: usize,
    /// The innermost of them.
    pub(crate) innermost: Option<char>,
    /// Whether a string or comment is still open at the end.
    pub(crate) inside: bool,
    /// Last character of code, comments and blanks left out.
    pub(crate) last: Option<char>,
}

/// Scans a text.
pub(crate) fn scan(text: &str) -> Scan {
    let mut scan = Scan { depth: 0, innermost: None, inside: false, last: None };
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if matches!(c, '"' | '`' | '\'') {
            scan.last = Some(c);
            string_length(rest, c)
        } else {
            match c {
                '(' | '[' | '{' => open.push(c),
                ')' | ']' | '}' => drop(open.pop()),
                _ => {}
            }
            if !c.is_whitespace() {
                scan.last = Some(c);
            }
            Some(c.len_utf8())
        };
        let Some(skipped) = skipped else {
            scan.inside = true;
            break;
        };
        rest = &rest[skipped..];
    }
    scan.depth = open.len();
    scan.innermost = open.last().copied();
    scan
}

/// Where the contents of a text or comment start that is open at the end, and its quote; `/` for a comment.
pub(crate) fn open_text(text: &str) -> Option<(usize, char)> {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, open) = if rest.starts_with("//") {
            (rest.find('\n'), (at + 2, '/'))
        } else if rest.starts_with("/*") {
            (comment_length(rest), (at + 2, '/'))
        } else if matches!(c, '"' | '`' | '\'') {
            // An open one of a line reaches to the end, where it may also be closed.
            let length = string_length(rest, c);
            let closed = |&n: &usize| n < rest.len() || (n > 1 && is_closed(rest, c));
            (length.filter(closed), (at + 1, c))
        } else {
            (Some(c.len_utf8()), (at, c))
        };
        match length {
            Some(length) => at += length,
            None => return Some(open),
        }
    }
    None
}

/// Where the comments start and end that `//` begins.
pub(crate) fn line_comments(text: &str) -> Vec<(usize, usize)> {
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            let end = at + rest.find('\n').unwrap_or(rest.len());
            comments.push((at, end));
            Some(end - at)
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if matches!(c, '"' | '`' | '\'') {
            string_length(rest, c)
        } else {
            Some(c.len_utf8())
        };
        // What is open goes on to the end.
        let Some(length) = length else { break };
        at += length;
    }
    comments
}

/// Whether a string that ends with the text ends with its quote.
fn is_closed(text: &str, quote: char) -> bool {
    let Some(inside) = text.strip_suffix(quote) else { return false };
    let backslashes = inside.len() - inside.trim_end_matches('\\').len();
    quote == '`' || backslashes % 2 == 0
}

/// Length of a (nested) block comment; `None` if it does not end.
fn comment_length(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut i = 0;
    while i < text.len() {
        if text[i..].starts_with("/*") {
            depth += 1;
            i += 2;
        } else if text[i..].starts_with("*/") {
            depth -= 1;
            i += 2;
            if depth == 0 {
                return Some(i);
            }
        } else {
            i += text[i..].chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// Length of a string; `None` if it does not end. Only back-quoted ones span lines.
fn string_length(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return Some(i + c.len_utf8());
        }
        if c == '\n' && quote != '`' {
            // The parser reports it; for us the line ends here.
            return Some(i);
        }
        escaped = c == '\\' && !escaped && quote != '`';
    }
    (quote != '`').then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_open_texts() {
        for (text, open) in [
            ("f(\"ab", Some((3, '"'))),
            ("f(\"ab\"", None),
            ("f(\"ab\\\"", Some((3, '"'))),
            ("\"", Some((1, '"'))),
            ("\"a\" + `b", Some((7, '`'))),
            ("a // b", Some((4, '/'))),
            ("a // b\n", None),
            ("/* a", Some((2, '/'))),
            ("", None),
        ] {
            assert_eq!(open_text(text), open, "{text}");
        }
    }

    #[test]
    fn finds_what_is_open() {
        let check = |text: &str, depth, inside, last| {
            let found = scan(text);
            assert_eq!((found.depth, found.inside, found.last), (depth, inside, last), "{text}");
        };
        assert_eq!(scan("f(1, [2").innermost, Some('['));
        check("f(1, [2", 2, false, Some('2'));
        check("x + 1; // done", 0, false, Some(';'));
        check("/* open", 0, true, None);
        check("/* a /* b */ */ x", 0, false, Some('x'));
        check("`two\nlines", 0, true, Some('`'));
        check("\"a(b\" + 1", 0, false, Some('1'));
    }
}
