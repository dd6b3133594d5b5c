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
