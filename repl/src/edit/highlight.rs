//! Colours of script text as it is typed: comments, texts, numbers, words of the language, types.

use std::borrow::Cow;

use colored::Colorize;

use super::gutter::GUTTER;

/// Words of the language.
const KEYWORDS: [&str; 22] = [
    "let", "const", "fn", "if", "else", "for", "in", "while", "loop", "do", "until", "return",
    "break", "continue", "switch", "del", "import", "as", "throw", "try", "catch", "private",
];

/// What is coloured in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
    Type,
    Command,
}

/// A script text in colour.
pub(super) fn script(text: &str) -> Cow<'_, str> {
    let mut coloured = String::with_capacity(text.len() * 2);
    for (part, piece) in parts(text) {
        let painted = match part {
            Part::Plain => {
                coloured.push_str(piece);
                continue;
            }
            Part::Comment => piece.bright_black(),
            Part::Text => piece.green(),
            Part::Number => piece.cyan(),
            Part::Keyword => piece.magenta(),
            Part::Type => piece.yellow(),
            Part::Command => piece.blue(),
        };
        // A colour that goes on over a line end would reach into the gutter.
        let paint = |line: &str| {
            let (gutter, line) = match line.strip_prefix(GUTTER) {
                Some(line) => (GUTTER, line),
                None => ("", line),
            };
            let mut line = colored::ColoredString::from(line);
            line.fgcolor = painted.fgcolor;
            format!("{gutter}{line}")
        };
        let lines: Vec<String> = painted.input.split('\n').map(paint).collect();
        coloured.push_str(&lines.join("\n"));
    }
    coloured.into()
}

/// A prompt in colour.
pub(super) fn prompt(text: &str) -> String {
    text.green().bold().to_string()
}

/// Something of less weight.
pub(super) fn dim(text: &str) -> String {
    text.bright_black().to_string()
}

/// The pieces of a text, which together are the text.
fn parts(text: &str) -> Vec<(Part, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    let is_command = text.starts_with(['%', '?']);
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (part, length) = if is_command && rest.len() == text.len() {
            let bare = rest.trim_start_matches(['%', '?']);
            let end = bare.find(|c| !is_word(c)).unwrap_or(bare.len());
            (Part::Command, rest.len() - bare.len() + end)
        } else if rest.starts_with("//") {
            (Part::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Part::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if matches!(c, '"' | '`') {
            (Part::Text, quoted(rest, c))
        } else if c.is_ascii_digit() {
            (Part::Number, number(rest))
        } else if is_word(c) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (word(&rest[..end]), end)
        } else {
            (Part::Plain, c.len_utf8())
        };
        parts.push((part, &rest[..length]));
        rest = &rest[length..];
    }
    parts
}

fn word(word: &str) -> Part {
    if KEYWORDS.contains(&word) {
        Part::Keyword
    } else if matches!(word, "true" | "false") {
        Part::Number
    } else if word.ends_with('C') && word.starts_with(char::is_uppercase) && word.len() > 2 {
        Part::Type
    } else {
        Part::Plain
    }
}

/// Length of a text in quotes; to the end if it is open.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return i + c.len_utf8();
        }
        if c == '\n' && quote != '`' {
            return i;
        }
        escaped = c == '\\' && !escaped && quote != '`';
    }
    text.len()
}

/// Length of a number; `1..3` begins with one of one digit.
fn number(text: &str) -> usize {
    let mut last = ' ';
    for (i, c) in text.char_indices() {
        let next = text[i + c.len_utf8()..].chars().next();
        let goes_on = c.is_alphanumeric()
            || c == '_'
            || (c == '.' && next.is_some_and(|next| next.is_ascii_digit()) && last != '.')
            || (matches!(c, '+' | '-') && matches!(last, 'e' | 'E'));
        if !goes_on {
            return i;
        }
        last = c;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_whole() {
        let check = |text: &str, expected: &[(Part, &str)]| {
            let found = parts(text);
            assert_eq!(found.iter().map(|(_, piece)| *piece).collect::<String>(), text);
            let painted: Vec<_> =
                found.into_iter().filter(|(part, _)| *part != Part::Plain).collect();
            assert_eq!(painted, expected, "{text}");
        };
        check(
            "let a = 1.5e-3 // x",
            &[(Part::Keyword, "let"), (Part::Number, "1.5e-3"), (Part::Comment, "// x")],
        );
        check("FloatC(\"a\\\"b\")", &[(Part::Type, "FloatC"), (Part::Text, "\"a\\\"b\"")]);
        check("0..n", &[(Part::Number, "0")]);
        check("\"open", &[(Part::Text, "\"open")]);
        check("/* open", &[(Part::Comment, "/* open")]);
        check("%time é + 1", &[(Part::Command, "%time"), (Part::Number, "1")]);
        check("a % b", &[]);
    }

    #[test]
    fn colour_changes_no_width() {
        colored::control::set_override(true);
        let coloured = script("`a\nb` + 1").into_owned();
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        assert_eq!(plain + rest, "`a\nb` + 1");
        assert!(coloured.contains("\x1b[0m\n\x1b["));
    }
}
