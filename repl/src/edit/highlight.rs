//! Colours of script text as it is typed.

use colored::Colorize;
use porcini_script::{Cell, Part};

use super::gutter::BLANK;

/// A cell in colour.
pub(super) fn script(cell: &Cell) -> String {
    let text = cell.text();
    let mut coloured = String::with_capacity(text.len() * 2);
    let mut end = 0;
    for (part, bytes) in cell.parts() {
        coloured.push_str(&text[end..bytes.start]);
        end = bytes.end;
        let piece = &text[bytes];
        let painted = match part {
            Part::Comment => piece.bright_black(),
            Part::Text => piece.green(),
            Part::Number => piece.cyan(),
            Part::Keyword => piece.magenta(),
            Part::Type => piece.yellow(),
            Part::Command => piece.blue(),
        };
        // A colour that goes on over a line end would reach into the gutter.
        let paint = |line: &str| {
            let code = line.trim_start_matches(BLANK);
            let gutter = &line[..line.len() - code.len()];
            let mut line = colored::ColoredString::from(code);
            line.fgcolor = painted.fgcolor;
            format!("{gutter}{line}")
        };
        let lines: Vec<String> = painted.input.split('\n').map(paint).collect();
        coloured.push_str(&lines.join("\n"));
    }
    coloured.push_str(&text[end..]);
    coloured
}

/// A prompt in colour.
pub(super) fn prompt(text: &str) -> String {
    text.green().bold().to_string()
}

/// Something of less weight.
pub(super) fn dim(text: &str) -> String {
    text.bright_black().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_changes_no_width() {
        colored::control::set_override(true);
        let coloured = script(&Cell::typed("`a\nb` + 1"));
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
