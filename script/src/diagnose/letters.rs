//! Letters that look like some of the language: pages and word processors put them in their place, and they are pasted.

const QUOTES: (&str, &str) = ("a curved quote", "texts stand in straight quotes: \"text\"");
const DASH: (&str, &str) = ("a dash", "write -");
const NO_WIDTH: (&str, &str) = ("a letter without width", "delete it: it cannot be seen");

const BLANK: (&str, &str) = ("a blank of print", "write a plain blank");

/// What such a letter is, and what to write instead.
pub(super) fn pasted(letter: char) -> Option<(&'static str, &'static str)> {
    Some(match letter {
        '\u{2018}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{2039}' | '\u{203a}' => QUOTES,
        '\u{2032}' | '\u{2033}' => ("a prime", QUOTES.1),
        '\u{2212}' => ("a minus sign of print", "write -"),
        '\u{2010}'..='\u{2015}' => DASH,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => NO_WIDTH,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            BLANK
        }
        '\u{2026}' => ("three points in one letter", "write .."),
        '\u{b7}' | '\u{22c5}' | '\u{2217}' | '\u{d7}' => ("a sign of products", "write *"),
        '\u{b2}' => ("a raised 2", "write x ** 2"),
        '\u{b3}' => ("a raised 3", "write x ** 3"),
        '\u{ff01}'..='\u{ff5e}' => ("a wide letter", "write it with another keyboard, as ( and ;"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_print_are_known() {
        let known = |text: &str| text.chars().all(|letter| pasted(letter).is_some());
        assert!(known(
            "\u{201c}\u{201d}\u{2018}\u{2019}\u{ab}\u{2212}\u{2013}\u{2014}\u{200b}\u{2026}"
        ));
        assert!(known("\u{a0}\u{2009}\u{202f}\u{3000}"));
        assert!((' '..='~').all(|letter| pasted(letter).is_none()));
        assert!(pasted('\u{e4}').is_none());
    }
}
