//! Texts in lines of a certain width.

/// A table of two columns; where it is wider than `width`, the second column stands below the first.
pub(crate) fn narrowed(table: &str, width: usize) -> String {
    if table.lines().all(|line| line.chars().count() <= width) {
        return table.into();
    }
    let mut rows = Vec::new();
    for line in table.lines() {
        let row = line.trim_start();
        let margin = " ".repeat((line.len() - row.len()).min(2));
        let (head, about) = row.split_once("  ").unwrap_or((row, ""));
        rows.push(format!("{margin}{head}"));
        let about = wrap(about, width.saturating_sub(margin.len() + 2));
        rows.extend(about.lines().map(|line| format!("{margin}  {line}")));
    }
    rows.join("\n")
}

/// The words of a text in lines of at most `width` characters, where they are short enough.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.len() + word.len() < width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines.join("\n")
}

/// A text whose lines are at most `width` characters long: longer ones are broken between words.
pub fn fitted(text: &str, width: usize) -> String {
    let broken = |line: &str| {
        if line.chars().count() > width { wrap(line, width) } else { line.into() }
    };
    text.split('\n').map(broken).collect::<Vec<_>>().join("\n")
}

/// Names one below the other, in as many columns as fit so many characters; 80, where there is no window.
pub(crate) fn in_columns(names: &[String], window: Option<usize>) -> String {
    let widest = names.iter().map(|name| name.chars().count() + 2).max().unwrap_or(1);
    let n_columns = (window.unwrap_or(80) / widest).clamp(1, names.len().max(1));
    let n_rows = names.len().div_ceil(n_columns);
    let row = |row: usize| {
        let cells = names.iter().skip(row).step_by(n_rows).map(|name| format!("{name:<widest$}"));
        cells.collect::<String>().trim_end().to_string()
    };
    (0..n_rows).map(row).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_lines_are_broken() {
        let text = "a  b\n+: sizes 5 and 2 do not broadcast";
        assert_eq!(fitted(text, 80), text);
        assert_eq!(fitted(text, 20), "a  b\n+: sizes 5 and 2 do\nnot broadcast");
    }

    #[test]
    fn names_stand_in_columns() {
        let names = ["a", "bb", "c", "d", "e"].map(String::from);
        assert_eq!(in_columns(&names, Some(12)), "a   c   e\nbb  d");
        assert_eq!(in_columns(&names, Some(3)), "a\nbb\nc\nd\ne");
        assert_eq!(in_columns(&names, None), "a   bb  c   d   e");
    }

    #[test]
    fn tables_stand_in_one_column_where_two_do_not_fit() {
        let table = "    a = 1      one of the first numbers\n    b          two";
        assert_eq!(narrowed(table, 80), table);
        assert_eq!(narrowed(table, 24), "  a = 1\n    one of the first\n    numbers\n  b\n    two");
    }
}
