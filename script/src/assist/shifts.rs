//! `a - b >> c` is `a - (b >> c)` here, in C and Python `(a - b) >> c`. Who writes it without brackets is told.

use rhai::Token;

use crate::language::cell::Cell;
use crate::language::lexer::{Lexeme, is_text};
use crate::language::words::n_lines;

/// The operator before a value, of those that matter.
#[derive(Clone, Copy)]
enum Before<'t> {
    Other,
    Arithmetic(&'t str),
    Shift(&'t str),
}

/// Lines where an operator of arithmetic and a shift share an operand, and how they are read.
pub(super) fn notes(cell: &Cell) -> Vec<(usize, String)> {
    let text = cell.text();
    let mut found: Vec<(usize, String)> = Vec::new();
    if !text.contains("<<") && !text.contains(">>") {
        return found;
    }
    // One a bracket that is open.
    let mut before = vec![Before::Other];
    let (mut line, mut counted) = (1, 0);
    let mut last: Option<&Lexeme> = None;
    for lexeme in cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()) {
        let starts_line = text[counted..lexeme.start].contains('\n');
        line += n_lines(&text[counted..lexeme.start]);
        counted = lexeme.start;
        let written = &text[lexeme.start..lexeme.end];
        let token = &lexeme.token;
        // A line may end a statement without a semicolon.
        let goes_on = last.is_some_and(|last| last.wants_operand(text));
        if starts_line && !goes_on && kind(token, written).is_none() {
            set(&mut before, Before::Other);
        }
        // Behind a block Rhai's lexer takes a sign for an operator.
        let is_sign = matches!(token, Token::Minus | Token::Plus)
            && last.is_some_and(|last| last.token == Token::RightBrace);
        last = Some(lexeme);
        match token {
            Token::LeftParen | Token::LeftBracket | Token::LeftBrace | Token::MapStart => {
                before.push(Before::Other);
                continue;
            }
            Token::RightParen | Token::RightBracket | Token::RightBrace => {
                before.pop();
                continue;
            }
            token if is_sign || is_of_value(token) => continue,
            _ => {}
        }
        let now = kind(token, written).unwrap_or(Before::Other);
        let note = match (before.last(), now) {
            (Some(Before::Arithmetic(op)), Before::Shift(shift)) => {
                Some(advice(&format!("a {op} (b {shift} c)"), &format!("(a {op} b) {shift} c")))
            }
            (Some(Before::Shift(shift)), Before::Arithmetic(op)) => {
                Some(advice(&format!("(a {shift} b) {op} c"), &format!("a {shift} (b {op} c)")))
            }
            _ => None,
        };
        if let Some(note) = note
            && found.last().is_none_or(|(noted, _)| *noted != line)
        {
            found.push((line, note));
        }
        set(&mut before, now);
    }
    found
}

fn set<'t>(before: &mut Vec<Before<'t>>, now: Before<'t>) {
    match before.last_mut() {
        Some(last) => *last = now,
        None => before.push(now),
    }
}

/// Whether a token is a value, a part of one, or a sign of it.
fn is_of_value(token: &Token) -> bool {
    matches!(
        token,
        Token::Identifier(_)
            | Token::IntegerConstant(_)
            | Token::FloatConstant(_)
            | Token::True
            | Token::False
            | Token::Period
            | Token::DoubleColon
            | Token::Unit
            | Token::UnaryMinus
            | Token::UnaryPlus
            | Token::Bang
    ) || is_text(token)
}

fn kind<'t>(token: &Token, written: &'t str) -> Option<Before<'t>> {
    match token {
        Token::Plus
        | Token::Minus
        | Token::Multiply
        | Token::Divide
        | Token::Modulo
        | Token::PowerOf => Some(Before::Arithmetic(written)),
        Token::LeftShift | Token::RightShift => Some(Before::Shift(written)),
        _ => None,
    }
}

fn advice(here: &str, there: &str) -> String {
    let plain = there.replace(['(', ')'], "");
    format!("{plain} is {here} here, in C and Python {there}; write the brackets that you mean")
}
