//! How many arguments a call may have. Rhai looks for a function by ten thousands of combinations of types, each of all
//! arguments, and nobody can stop it meanwhile.

use rhai::Token;

use crate::language::lexer::Lexeme;

/// Arguments of a call, at most.
pub(crate) const MOST_ARGUMENTS: usize = 255;

/// The bracket of the first call that has more arguments.
pub(super) fn too_many(lexemes: &[Lexeme]) -> Option<&Lexeme> {
    // The open brackets, and the commas in each.
    let mut open: Vec<(&Lexeme, usize)> = Vec::new();
    for (i, lexeme) in lexemes.iter().enumerate() {
        match &lexeme.token {
            Token::LeftParen
            | Token::LeftBracket
            | Token::QuestionBracket
            | Token::LeftBrace
            | Token::MapStart => open.push((lexeme, 0)),
            Token::RightParen | Token::RightBracket | Token::RightBrace => drop(open.pop()),
            Token::Comma => {
                let Some((bracket, n)) = open.last_mut() else { continue };
                *n += 1;
                let is_more =
                    *n > MOST_ARGUMENTS || *n == MOST_ARGUMENTS && !ends(&lexemes[i + 1..]);
                if is_more && bracket.token == Token::LeftParen {
                    return Some(bracket);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a call ends here: a comma before its bracket has no argument behind it.
fn ends(lexemes: &[Lexeme]) -> bool {
    let next = lexemes.iter().find(|next| !next.is_comment());
    next.is_some_and(|next| next.token == Token::RightParen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::cell::Cell;

    #[test]
    fn calls_are_bounded_and_lists_are_not() {
        let text =
            |open: &str, n: usize, close: &str| format!("f(1, {open}{}1{close})", "1,".repeat(n));
        let place = |text: &str| too_many(Cell::script(text).lexemes()).map(|call| call.start);
        assert_eq!(place(&text("", 253, "")), None);
        assert_eq!(place(&text("", 254, "")), Some(1));
        let trailing = |n: usize| format!("f({})", "1,".repeat(n));
        assert_eq!((place(&trailing(255)), place(&trailing(256))), (None, Some(1)));
        assert_eq!(place(&text("[", 1000, "]")), None);
        assert_eq!(place(&text("g(", 1000, ")")), Some(6));
        assert_eq!(
            place(&"f(1, [2, 3], #{a: 1, b: `${1}`}, |x, y| { g(x); }); ".repeat(300)),
            None
        );
    }
}
