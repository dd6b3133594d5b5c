//! `x = 1` where the text also has `del x`.
//!
//! What is asked for a variable cannot tell whether it is read or assigned to, and only who reads a deleted one is wrong.
//! So the parser reads such an assignment as a syntax of ours, which looks for the variable itself.

use std::collections::HashSet;

use rhai::{Dynamic, Engine, EvalAltResult, Expr, Token};

use crate::language::lexer::Lexeme;
use crate::language::unpack::assign;

/// First word of the syntax, which nobody can type.
pub(crate) const REASSIGN: &str = "x=";
/// What stands in the text for the name, and for the `=` behind it.
pub(crate) const MARKS: [char; 2] = ['\u{f0009}', '\u{f000a}'];

/// The names that a text deletes somewhere.
pub(crate) fn deleted<'t>(text: &'t str, lexemes: &'t [Lexeme]) -> HashSet<&'t str> {
    let mut names = HashSet::new();
    let (mut is_next, mut is_list) = (false, false);
    for lexeme in lexemes.iter().filter(|lexeme| !lexeme.is_comment()) {
        let written = &text[lexeme.start..lexeme.end];
        (is_next, is_list) = match lexeme.token {
            Token::Identifier(_) | Token::Reserved(_) if is_next => {
                names.insert(written);
                (false, true)
            }
            Token::Comma if is_list => (true, false),
            _ => (written == "del", false),
        };
    }
    names
}

/// Which mark a text that the parser did not expect begins with.
pub(crate) fn mark(unexpected: &str) -> Option<usize> {
    MARKS.iter().position(|mark| unexpected.starts_with(*mark))
}

/// Makes the syntax known.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        REASSIGN,
        |symbols, _, _| {
            let next = ["$ident$", "$expr$"].get(symbols.len() - 1);
            Ok(next.map(|next| (*next).into()))
        },
        false,
        |context, inputs, _| {
            let [name, value] = inputs else { return Ok(Dynamic::UNIT) };
            let Expr::Variable(variable, ..) = &**name else { return Ok(Dynamic::UNIT) };
            let value = context.eval_expression_tree(value)?.flatten();
            if context.scope().is_constant(&variable.1) == Some(true) {
                let (name, place) = (variable.1.to_string(), name.position());
                return Err(EvalAltResult::ErrorAssignmentToConstant(name, place).into());
            }
            assign(context, &variable.1, value).map_err(|mut error| {
                error.set_position(name.position());
                error
            })?;
            Ok(Dynamic::UNIT)
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::lexer::Lexer;

    #[test]
    fn deleted_names_are_found() {
        let text = "del a, b\nc = 1; if d { del e; } [f, g]";
        let lexemes: Vec<Lexeme> = Lexer::new(text, 0).collect();
        assert_eq!(deleted(text, &lexemes), HashSet::from(["a", "b", "e"]));
    }
}
