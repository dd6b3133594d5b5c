//! Diagnostics in narrow windows: sentences break between words, and of a long line of a script the part around
//! the caret is shown, so that the caret stays below what it means.

/// What stands for the rest of a line.
const REST: &str = "..";

/// A diagnostic in lines of at most so many columns.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut fitted = Vec::new();
    let mut i = 0;
    while let Some(&line) = lines.get(i) {
        i += 1;
        let caret = lines.get(i).filter(|_| line.chars().count() > columns);
        if let Some([shown, caret]) = caret.and_then(|caret| around(line, caret, columns)) {
            fitted.extend([shown, caret]);
            i += 1;
        } else if let Some(place) = line.find("= help: ") {
            fitted.push(broken(line, place + 2, columns));
        } else if line.starts_with(char::is_alphabetic) {
            fitted.push(broken(line, 2, columns));
        } else {
            fitted.push(line.into());
        }
    }
    fitted.join("\n")
}

/// The part of `12 | a line` that is around the caret below it, and the caret; `None` if they are no such lines.
fn around(line: &str, caret: &str, columns: usize) -> Option<[String; 2]> {
    let margin = line.find(" | ")? + 3;
    let is_caret = caret.get(margin..)?.trim_start().starts_with('^');
    if !is_caret || !line[..margin].trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (text, start) = (&line[margin..], caret[margin..].find('^')?);
    let width = caret[margin + start..].chars().count();
    let room = columns.checked_sub(margin + 2 * REST.len()).filter(|&room| room > 0)?;
    // The caret stands in the middle, unless the line begins or ends before.
    let n = text.chars().count();
    let first = (start + width / 2).saturating_sub(room / 2).min(n.saturating_sub(room)).min(start);
    let part: String = text.chars().skip(first).take(room).collect();
    let before = if first > 0 { REST } else { "" };
    let behind = if first + room < n { REST } else { "" };
    let blank = " ".repeat(before.len() + start - first);
    let marks = "^".repeat(width.min(room.saturating_sub(start - first)).max(1));
    let (number, bar) = (&line[..margin], &caret[..margin]);
    Some([format!("{number}{before}{part}{behind}"), format!("{bar}{blank}{marks}")])
}

/// A sentence broken between words; its further lines are indented.
pub(crate) fn broken(line: &str, indent: usize, columns: usize) -> String {
    let rest = line.trim_start();
    let mut lines = vec![line[..line.len() - rest.len()].to_string()];
    for (i, word) in rest.split(' ').enumerate() {
        match lines.last_mut() {
            Some(last) if i == 0 => last.push_str(word),
            Some(last) if last.chars().count() + word.chars().count() < columns => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("{:indent$}{word}", "")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_break_between_words() {
        let text = "error: +: sizes 5 and 2 do not broadcast\n --> a:1:1\n  | ^\n  = help: write one of them";
        let narrow = "error: +: sizes 5\n  and 2 do not\n  broadcast\n --> a:1:1\n  | ^\n  = help: write one\n    of them";
        assert_eq!(fitted(text, 20), narrow);
        assert_eq!(fitted(text, 80), text);
    }

    #[test]
    fn long_lines_are_shown_around_the_caret() {
        let line: String = ('a'..='z').collect();
        for start in 0..26 {
            let text = format!("  |\n1 | {line}\n  | {}^", " ".repeat(start));
            assert_eq!(fitted(&text, 30), text);
            let narrow = fitted(&text, 20);
            let [_, shown, caret] = narrow.lines().collect::<Vec<_>>()[..] else {
                panic!("{narrow}")
            };
            assert!(shown.len() <= 20, "{narrow}");
            let column = caret.find('^').unwrap();
            assert_eq!(shown.as_bytes()[column], line.as_bytes()[start], "{narrow}");
        }
        let text = "1 | aaaaaaaaaa é bbbbbbbbbbbbbbb\n  |              ^^^^^^^^^^^^^^^";
        assert_eq!(fitted(text, 20), "1 | ..bbbbbbbbbbbb..\n  |   ^^^^^^^^^^^^");
    }
}
