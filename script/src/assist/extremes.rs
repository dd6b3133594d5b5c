//! `t.max(0)` of a tensor is the larger of each entry and 0 here, in NumPy the largest entries along axis 0. Who writes it
//! with a number of an axis is told.

use std::collections::HashSet;

use rhai::Token;

use crate::context::AsAxis;
use crate::language::cell::Cell;
use crate::language::lexer::Lexeme;
use crate::language::words::n_lines;

/// Notes of the calls behind a dot among those that ran, wherever they stand: in functions, too.
pub(super) fn notes(cell: &Cell, ran: &HashSet<AsAxis>) -> Vec<(usize, String)> {
    if ran.is_empty() {
        return Vec::new();
    }
    let text = cell.text();
    let code: Vec<&Lexeme> = cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()).collect();
    let note = |i: usize| {
        let (name, number) = call(text, &code[i..])?;
        let line = n_lines(&text[..code[i].start]) + 1;
        let is_meant =
            |call: &&AsAxis| (call.line as usize, call.name, call.number) == (line, name, number);
        let method = ran.iter().find(is_meant)?.name;
        let larger = if method == "max" { "larger" } else { "smaller" };
        let is = format!("{method}({number}) is the {larger} of each entry and {number}");
        let note = match object(text, &code[..i]) {
            Some(object) => format!(
                "{object}.{is}, as {method}({object}, {number}) is; along axis {number} it is h{method}({object}, {number})"
            ),
            None => format!(".{is}; along axis {number} it is .h{method}({number})"),
        };
        Some((line, note))
    };
    (0..code.len()).filter_map(note).collect()
}

/// Name and number of `.max(0)`, if tokens begin with that.
fn call<'t>(text: &'t str, code: &[&Lexeme]) -> Option<(&'t str, i64)> {
    let [dot, method, open, rest @ ..] = code else { return None };
    let close = rest.iter().take(3).position(|lexeme| lexeme.token == Token::RightParen)?;
    let (first, last) = (rest[..close].first()?, rest[..close].last()?);
    let is_call = dot.token == Token::Period && open.token == Token::LeftParen;
    let number = text[first.start..last.end].parse().ok().filter(|_| is_call)?;
    Some((&text[method.start..method.end], number))
}

/// The variable that tokens end with, if it is no member of another.
fn object<'t>(text: &'t str, code: &[&Lexeme]) -> Option<&'t str> {
    let (object, before) = code.split_last()?;
    let is_member = before.last().is_some_and(|before| before.token == Token::Period);
    let is_variable = matches!(object.token, Token::Identifier(_)) && !is_member;
    is_variable.then_some(&text[object.start..object.end])
}
