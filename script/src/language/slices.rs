//! `list[1..3]` and `text[-2..]`: Rhai's own lists and texts have single places only. A variable in front of a range is
//! read as a syntax of ours, see [`crate::language::calls`]; arrays answer it as they answer an index.

use std::collections::HashSet;

use porcini_core::value::Slice;
use rhai::{
    ASTFlags, BinaryExpr, Dynamic, Engine, EvalContext, Expr, Expression, ImmutableString,
    ParseError, ParseErrorType, Position, Token,
};

use crate::fault::{Result, check_interrupt, fault};
use crate::language::lexer::Lexeme;
use crate::value::range;

/// The first word of the syntax, which nobody can type.
pub(crate) const KEY: &str = "slice[";
/// Items taken before somebody looks for an interrupt.
const PIECE: usize = 1 << 16;

/// Where brackets open in which a range stands, but for those that are assigned to, or a part of them.
pub(crate) fn brackets(lexemes: &[Lexeme]) -> HashSet<usize> {
    let mut found = HashSet::new();
    // Each open bracket by its place among the tokens, and whether it holds a range.
    let mut open: Vec<(usize, bool)> = Vec::new();
    // Brackets of the chain of members and indices that goes on.
    let mut chain: Vec<usize> = Vec::new();
    let code: Vec<&Lexeme> = lexemes.iter().filter(|lexeme| !lexeme.is_comment()).collect();
    for (i, lexeme) in code.iter().enumerate() {
        match &lexeme.token {
            Token::LeftBracket
            | Token::QuestionBracket
            | Token::LeftParen
            | Token::LeftBrace
            | Token::MapStart => open.push((i, false)),
            token if is_range(token) || is_range_call(&code, i) => {
                open.last_mut().into_iter().for_each(|(_, has_range)| *has_range = true);
            }
            Token::RightBracket | Token::RightParen | Token::RightBrace => {
                let opened = open
                    .pop()
                    .filter(|&(at, has_range)| has_range && code[at].token == Token::LeftBracket);
                chain.extend(opened.map(|(at, _)| code[at].start));
                // What ends in an assignment is a place, and no value.
                let mut end = i + 1;
                while code.get(end).is_some_and(|behind| is_dot(&behind.token)) {
                    end += 2;
                }
                match code.get(end).map(|behind| &behind.token) {
                    Some(Token::LeftBracket | Token::QuestionBracket) => {}
                    Some(token) if assigns(token) => chain.clear(),
                    _ => found.extend(chain.drain(..)),
                }
            }
            _ => {}
        }
    }
    found
}

fn is_range(token: &Token) -> bool {
    matches!(token, Token::ExclusiveRange | Token::InclusiveRange)
}

/// `range(0, 9, 2)`
fn is_range_call(code: &[&Lexeme], at: usize) -> bool {
    let is_named = matches!(&code[at].token, Token::Identifier(name) if name.as_str() == "range");
    let is_called = code.get(at + 1).is_some_and(|next| next.token == Token::LeftParen);
    is_named && is_called && !(at > 0 && is_dot(&code[at - 1].token))
}

fn is_dot(token: &Token) -> bool {
    matches!(token, Token::Period | Token::Elvis | Token::DoubleColon)
}

fn assigns(token: &Token) -> bool {
    use Token::{
        AndAssign, DivideAssign, Equals, LeftShiftAssign, MinusAssign, ModuloAssign,
        MultiplyAssign, OrAssign, PlusAssign, PowerOfAssign, RightShiftAssign, XOrAssign,
    };
    matches!(
        token,
        AndAssign
            | DivideAssign
            | Equals
            | LeftShiftAssign
            | MinusAssign
            | ModuloAssign
            | MultiplyAssign
            | OrAssign
            | PlusAssign
            | PowerOfAssign
            | RightShiftAssign
            | XOrAssign
    )
}

/// Whether a token is a variable, and no member of something.
pub(crate) fn is_variable(before: Option<&Lexeme>, name: &Lexeme) -> bool {
    let is_member = |before: &Lexeme| is_dot(&before.token) || before.token == Token::Fn;
    matches!(name.token, Token::Identifier(_)) && !before.is_some_and(is_member)
}

/// Makes the syntax known.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        KEY,
        |symbols, ahead, _| {
            let n_values = symbols.iter().filter(|symbol| *symbol == "$expr$").count();
            Ok(match symbols.last().map_or("", |last| last.as_str()) {
                "]" => None,
                "$expr$" if n_values == 2 && ahead != "]" => {
                    let error =
                        ParseErrorType::MissingToken("]".into(), "to close the range".into());
                    return Err(ParseError(error.into(), Position::NONE));
                }
                "$expr$" if n_values == 2 => Some("]".into()),
                "$expr$" if ahead == "," => Some(",".into()),
                _ => Some("$expr$".into()),
            })
        },
        false,
        |context, inputs, _| evaluate(context, inputs),
    );
}

fn evaluate(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    inputs: &[Expression<'_>],
) -> Result<Dynamic> {
    let [variable, index] = inputs else { return Err(fault("[]: expected one range")) };
    let chosen = context.eval_expression_tree(index)?.flatten();
    let slice = range::slice(&chosen);
    // The key was read in front of the variable, which therefore stands a column further.
    let lhs = match &**variable {
        Expr::Variable(name, slot, at) => Expr::Variable(name.clone(), *slot, before(*at)),
        other => other.clone(),
    };
    if let (Some(slice), Some(name)) = (slice, variable.get_string_value()) {
        let part = match context.scope().get(name) {
            Some(value) => part(value, slice),
            // A function sees constants that do not stand among its variables.
            None => part(&context.eval_expression_tree(&Expression::from(&lhs))?, slice),
        };
        if let Some(part) = part {
            return part;
        }
    }
    let place = index.position();
    let sides = BinaryExpr { lhs, rhs: Expr::DynamicConstant(Box::new(chosen), place) };
    let indexed = Expr::Index(Box::new(sides), ASTFlags::BREAK, place);
    context.eval_expression_tree(&Expression::from(&indexed))
}

fn before(at: Position) -> Position {
    let [line, column] =
        [at.line(), at.position()].map(|n| u16::try_from(n.unwrap_or(1)).unwrap_or(u16::MAX));
    Position::new(line, column.saturating_sub(1).max(1))
}

/// A part of a list or a text.
fn part(value: &Dynamic, slice: Slice) -> Option<Result<Dynamic>> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return Some(part_of_list(&list, slice).map(Dynamic::from));
    }
    let text = value.read_lock::<ImmutableString>()?;
    Some(part_of_text(&text, slice).map(Dynamic::from))
}

fn part_of_list(list: &rhai::Array, slice: Slice) -> Result<rhai::Array> {
    let mut part = rhai::Array::new();
    let places = slice.places(list.len() as u64);
    let (n, _) = places.size_hint();
    part.try_reserve_exact(n).map_err(|_| fault("[]: no memory for the list"))?;
    for (i, place) in places.enumerate() {
        if i % PIECE == 0 {
            check_interrupt()?;
        }
        part.extend(usize::try_from(place).ok().and_then(|place| list.get(place)).cloned());
    }
    Ok(part)
}

fn part_of_text(text: &str, slice: Slice) -> Result<String> {
    let characters: Vec<char> = text.chars().collect();
    check_interrupt()?;
    let places = slice.places(characters.len() as u64);
    Ok(places.filter_map(|place| characters.get(usize::try_from(place).ok()?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::cell::Cell;
    use crate::language::tokens;

    #[test]
    fn lists_and_texts_have_parts() {
        let mut engine = Engine::new();
        tokens::install(&mut engine, Vec::new());
        let value = |text: &str| {
            let ast = Cell::script(text).compile(&engine).map_err(|error| error.to_string())?;
            engine.eval_ast::<Dynamic>(&ast).map(|v| v.to_string()).map_err(|e| e.to_string())
        };
        for (text, want) in [
            ("let list = [1, 2, 3, 4]; list[1..3]", "[2, 3]"),
            ("let l = [1, 2, 3, 4]; l[-2..]", "[3, 4]"),
            ("let l = [1, 2, 3, 4]; let n = 2; l[n-1..=n]", "[2, 3]"),
            ("let ab = [1, 2, 3, 4]; ab[..2]", "[1, 2]"),
            ("let l = [1, 2, 3, 4]; l[..2]", "[1, 2]"),
            ("let l = [1, 2, 3, 4]; l[..=2].len() + l[..-1].len()", "6"),
            ("let l = [1, 2, 3]; let f = |n| l[..n + 1]; f.call(1)", "[1, 2]"),
            ("let ab = [1, 2]; ab[5..9]", "[]"),
            ("let l = [[1, 2], [3]]; l[0..1][0][1]", "2"),
            ("let l = [1, 2]; [l[0], l[1..].len()]", "[1, 1]"),
            ("let l = [3, 4]; let f = |i| l[i..]; f.call(1)", "[4]"),
            ("fn part(l) { l[0..1] } part([5, 6])", "[5]"),
            ("fn part(list) { list[..1] } part([5, 6])", "[5]"),
            ("let x = 3\nlet y = x\n[0..2]\ny", "3"),
            ("let range = 0; let l = [[1]]; l[range].push(2); l", "[[1, 2]]"),
            ("let o = #{range: 0}; let l = [[1]]; l[o.range].push(2); l", "[[1, 2]]"),
            ("let l = [[1]]; l[0..1].len() + l[[0, 1][0]][0]", "2"),
            ("let s = \"naïve\"; s[2..]", "ïve"),
            ("let s = \"abc\"; `${s[0..2]}${s[-1]}`", "abc"),
            ("let i = 0b1101; i[0..2]", "1"),
            ("fn f(n) { let s = 0; for i in 0..n { for j in 0..2 { s += j } } s } f(3)", "3"),
        ] {
            assert_eq!(value(text), Ok(want.into()), "{text}");
        }
        for (text, error) in [
            ("let l = [1]; l[0..1", "Expecting ']'"),
            ("let l = [1];\n l[nope..2]", "nope (line 2, position 4)"),
            ("nope[1..2]", "nope (line 1, position 1)"),
        ] {
            let got = value(text).unwrap_err();
            assert!(got.contains(error), "{text}: {got}");
        }
    }
}
