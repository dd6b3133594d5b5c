//! `let [a, b] = f()` and `[a, b] = [b, a]`: several variables from the items of a list.
//!
//! Rhai's grammar has neither. Where the tokens say so, the parser reads in place of `let`, or of the first bracket, the
//! first word of a syntax of ours, as wide as what it stands for.

use rhai::{
    Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, ImmutableString, Position, Token,
};

use crate::fault::fault_with_hint;
use crate::language::lexer::Lexeme;
use crate::value::{ArrayRef, type_name};

/// First words of the syntaxes, which nobody can type.
pub(crate) const LET: &str = "let[";
pub(crate) const SET: &str = "[=";
/// What stands in the text for them.
pub(crate) const MARKS: [char; 2] = ['\u{f0005}', '\u{f0006}'];

/// Whether a token of code begins `let [a, b] =` or `[a, b] =`, where a statement starts; and the names, with what
/// the parser reads in place of it.
pub(crate) fn begins<'t>(
    text: &'t str,
    first: &Lexeme,
    mut rest: impl Iterator<Item = &'t Lexeme>,
) -> Option<(&'static str, Vec<&'t str>)> {
    let read = match first.token {
        Token::Let if rest.next()?.token == Token::LeftBracket => "\u{f0005}  ",
        Token::LeftBracket => "\u{f0006}",
        _ => return None,
    };
    let mut names = Vec::new();
    loop {
        let name = rest.next()?;
        if name.token == Token::RightBracket {
            break;
        }
        if !matches!(name.token, Token::Identifier(_) | Token::Reserved(_) | Token::Underscore) {
            return None;
        }
        names.push(&text[name.start..name.end]);
        match rest.next()?.token {
            Token::Comma => {}
            Token::RightBracket => break,
            _ => return None,
        }
    }
    (rest.next()?.token == Token::Equals).then_some((read, names))
}

/// The word and the token that a mark stands for.
pub(crate) fn mark(unexpected: &str) -> Option<(&'static str, Token)> {
    let at = MARKS.iter().position(|mark| unexpected.starts_with(*mark))?;
    Some(if at == 0 { (LET, Token::Let) } else { (SET, Token::LeftBracket) })
}

/// Makes the syntaxes known.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        LET,
        |symbols, ahead, _| {
            let last = symbols.last().map_or("", |last| last.as_str());
            Ok(match last {
                LET => Some("[".into()),
                "[" | "," if ahead != "]" => Some("$ident$".into()),
                "]" => Some("=".into()),
                "=" => Some("$expr$".into()),
                "$expr$" => None,
                _ if ahead == "," => Some(",".into()),
                _ => Some("]".into()),
            })
        },
        true,
        |context, inputs, _| {
            for (name, _, value) in unpacked(context, inputs)? {
                context.scope_mut().push_dynamic(name, value);
            }
            Ok(Dynamic::UNIT)
        },
    );
    engine.register_custom_syntax_with_state_raw(
        SET,
        |symbols, ahead, _| {
            let last = symbols.last().map_or("", |last| last.as_str());
            let is_value = symbols.iter().any(|symbol| symbol == "=");
            Ok(match last {
                "$expr$" if is_value => None,
                "$expr$" if ahead == "," => Some(",".into()),
                "]" => Some("=".into()),
                "=" => Some("$expr$".into()),
                SET | "," if ahead != "]" => Some("$expr$".into()),
                _ => Some("]".into()),
            })
        },
        false,
        |context, inputs, _| {
            let values = unpacked(context, inputs)?;
            for (name, place, _) in &values {
                if context.scope().is_constant(name) == Some(true) {
                    let name = name.to_string();
                    return Err(EvalAltResult::ErrorAssignmentToConstant(name, *place).into());
                }
            }
            for (name, place, value) in values {
                assign(context, &name, value).map_err(|mut error| {
                    error.set_position(place);
                    error
                })?;
            }
            Ok(Dynamic::UNIT)
        },
    );
}

/// The names with their places and values; `_` takes none.
fn unpacked(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    inputs: &[Expression<'_>],
) -> Result<Vec<(ImmutableString, Position, Dynamic)>, Box<EvalAltResult>> {
    let Some((value, names)) = inputs.split_last() else { return Ok(Vec::new()) };
    let place = value.position();
    let value = context.eval_expression_tree(value)?.flatten();
    let values = items(&value, names.len()).map_err(|mut error| {
        error.set_position(place);
        error
    })?;
    let named = names.iter().zip(values).filter_map(|(name, value)| match &**name {
        Expr::Variable(variable, ..) if variable.1 != "_" => {
            Some((variable.1.clone(), name.position(), value))
        }
        _ => None,
    });
    Ok(named.collect())
}

fn items(value: &Dynamic, n: usize) -> Result<Vec<Dynamic>, Box<EvalAltResult>> {
    let values = match value.read_lock::<rhai::Array>() {
        Some(list) => list.clone(),
        None => {
            let parts = value.read_lock::<ArrayRef>().and_then(|value| value.components());
            let parts = parts.ok_or_else(|| {
                let got = type_name(value);
                let message = format!("[..] =: got {got} for {n} names, expected a list of {n}");
                fault_with_hint(
                    message,
                    "a function that gives several values returns a list: [a, b]",
                )
            })?;
            parts.into_iter().map(Dynamic::from).collect()
        }
    };
    if values.len() != n {
        let got = values.len();
        let message = format!("[..] =: got {got} values for {n} names, expected {n}");
        return Err(fault_with_hint(
            message,
            "_ stands for a value that is not needed: [a, _] = ..",
        ));
    }
    Ok(values)
}

/// Gives a variable another value, also one that closures share.
pub(crate) fn assign(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    name: &str,
    value: Dynamic,
) -> Result<(), Box<EvalAltResult>> {
    let Some(variable) = context.scope_mut().get_mut(name) else {
        return Err(EvalAltResult::ErrorVariableNotFound(name.into(), Position::NONE).into());
    };
    let mut place = variable
        .write_lock::<Dynamic>()
        .ok_or_else(|| EvalAltResult::ErrorDataRace(name.into(), Position::NONE))?;
    *place = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::cell::Cell;
    use crate::language::tokens;

    fn value(text: &str) -> Result<i64, String> {
        let mut engine = Engine::new();
        tokens::install(&mut engine, Vec::new());
        let ast = Cell::script(text).compile(&engine).map_err(|error| error.to_string())?;
        engine.eval_ast::<i64>(&ast).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_unpacked() {
        for (text, want) in [
            ("let [a, b] = [3, 4]; a * 10 + b", 34),
            ("let [a,b,]=[3, 4]\na * 10 + b", 34),
            ("let a = 1; let b = 2\n[a, b] = [b, a]\na * 10 + b", 21),
            ("let x = 1; let [x, y] = [x + 1, x + 2]; x * 10 + y", 23),
            ("fn f(x) { let [a, b] = [x, x + 1]; a * b } f(3)", 12),
            ("let [_, b] = [3, 4]; b", 4),
            ("let s = 0; for i in 0..3 { let [a, b] = [i, 2 * i]; s += a + b } s", 9),
            ("let [a] = [[1, 2]]; [a[0]][0]", 1),
            ("let n = [1, 2]; [n[0], 5]\n[n[1]][0]", 2),
            ("let a = 1; let b = 2; if true { [a, b] = [b, a]; } a", 2),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }
}
