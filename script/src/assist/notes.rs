//! What reads otherwise in other languages, and runs all the same: who writes it is told. `7 // 2` is an integer
//! division in Python; here `//` begins a comment. And closures whose names hide functions.

use std::cell::LazyCell;
use std::collections::HashSet;

use rhai::{Dynamic, Token};

use crate::assist::{extremes, shifts};
use crate::interpreter::Interpreter;
use crate::language::cell::Cell;
use crate::language::lexer::Lexeme;
use crate::language::words::{is_name, n_lines};

/// Methods that change a text or a list and give nothing.
const CHANGES: [&str; 12] = [
    "append",
    "clear",
    "crop",
    "insert",
    "make_lower",
    "make_upper",
    "pad",
    "push",
    "replace",
    "set",
    "trim",
    "truncate",
];

/// A comment that reads as the divisor of the value before it.
struct Division<'t> {
    line: usize,
    /// The variable that the line assigns to.
    target: Option<&'t str>,
    dividend: &'t str,
    divisor: &'t str,
    in_brackets: bool,
    /// Whether the line does something with the value: assigns or returns it, or it stands in brackets.
    is_used: bool,
    /// Whether code stands behind it.
    is_last: bool,
}

impl Interpreter {
    /// What to tell of a cell that ran and gave the value `shown`, or of one that only was looked at, with the lines:
    /// where `//` begins a comment and may have been meant as a division, where a shift stands beside arithmetic, and
    /// where a call of `max` that ran may take a number for an axis. A comment that says what the value is, is a comment.
    pub fn notes(&self, cell: &Cell, shown: Option<&str>) -> Vec<(usize, String)> {
        let is_meant = |division: &Division<'_>| {
            let is_result = || {
                let value = division.target.and_then(|name| self.scope.get(name));
                value.is_some_and(|value| value.to_string() == division.divisor)
            };
            let is_shown = division.is_last && shown.is_some_and(|shown| shown != division.divisor);
            (division.is_used || is_shown) && shown != Some(division.divisor) && !is_result()
        };
        let divisions = self.divisions(cell).into_iter().filter(is_meant);
        let divisions = divisions.map(|division| (division.line, division.advice()));
        let mut notes: Vec<(usize, String)> = divisions
            .chain(shifts::notes(cell))
            .chain(slips(cell))
            .chain(self.nothings(cell))
            .chain(extremes::notes(cell, &self.context.as_axes.take()))
            .chain(self.hidden_functions(cell))
            .collect();
        notes.sort_by_key(|&(line, _)| line);
        notes.iter_mut().for_each(|(_, note)| note.insert_str(0, "note: "));
        notes
    }

    /// Notes of functions that closures in variables now hide, which the cell assigns.
    fn hidden_functions(&self, cell: &Cell) -> Vec<(usize, String)> {
        let text = cell.text();
        let code = cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment());
        let (mut notes, mut number, mut counted) = (Vec::new(), 1, 0);
        let mut before: Option<&Lexeme> = None;
        // A text may assign as many names as there are: looked up by name, variables would take the square of that.
        let closures = LazyCell::new(|| {
            let variables = self.scope.iter_raw().filter(|(.., value)| value.is::<rhai::FnPtr>());
            variables.map(|(name, ..)| name).collect::<HashSet<_>>()
        });
        for lexeme in code {
            let assigned = before.replace(lexeme).filter(|name| {
                name.depth == 0
                    && lexeme.token == Token::Equals
                    && matches!(name.token, Token::Identifier(_))
            });
            let Some(name) = assigned else { continue };
            number += n_lines(&text[counted..name.start]);
            counted = name.start;
            let name = &text[name.start..name.end];
            let hides = closures.contains(name)
                && self.docs.iter().any(|doc| doc.is_function() && doc.name == name);
            if hides {
                let note = format!(
                    "{name}(..) now calls this closure; del {name} brings the function back"
                );
                notes.push((number, note));
            }
        }
        notes
    }

    /// Notes of `let s = t.trim()`: what changes a text or list itself gives nothing.
    fn nothings(&self, cell: &Cell) -> Vec<(usize, String)> {
        let text = cell.text();
        let code: Vec<&Lexeme> =
            cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()).collect();
        let word = |lexeme: &Lexeme| &text[lexeme.start..lexeme.end];
        let is_call = |six: &[&Lexeme]| {
            let [target, equals, object, dot, method, bracket] = six else { return false };
            let is_name = |lexeme: &Lexeme| matches!(lexeme.token, Token::Identifier(_));
            let are_names = is_name(target) && is_name(object) && is_name(method);
            let changes = |value: &Dynamic| value.is_string() || value.is_array();
            (&equals.token, &dot.token) == (&Token::Equals, &Token::Period)
                && are_names
                && CHANGES.contains(&word(method))
                && matches!(bracket.token, Token::LeftParen | Token::Unit)
                && self.scope.get(word(target)).is_none_or(Dynamic::is_unit)
                && self.scope.get(word(object)).is_some_and(changes)
        };
        let calls = code.windows(6).filter(|six| is_call(six));
        let note = |six: &[&Lexeme]| {
            let [object, method] = [six[2], six[4]].map(word);
            let line = 1 + n_lines(&text[..six[0].start]);
            let note = format!(
                "{object}.{method}(..) changes {object} itself and gives nothing: write it alone, then use {object}"
            );
            (line, note)
        };
        calls.map(note).collect()
    }

    /// What to do about an error of syntax in a text where `//` took the end of a bracket with it.
    pub(crate) fn division_in_brackets(&self, cell: &Cell) -> Option<String> {
        let divisions = self.divisions(cell);
        Some(divisions.into_iter().find(|division| division.in_brackets)?.advice())
    }

    fn divisions<'t>(&self, cell: &'t Cell) -> Vec<Division<'t>> {
        let text = cell.text();
        if !text.contains("//") {
            return Vec::new();
        }
        let variables = self.scope.iter_raw().map(|(name, ..)| name);
        let mut known: HashSet<&str> = variables.collect();
        let mut found: Vec<Division<'t>> = Vec::new();
        // What stands before on the same line.
        let mut line: Vec<&Lexeme> = Vec::new();
        let (mut number, mut counted) = (1, 0);
        for lexeme in cell.lexemes() {
            number += n_lines(&text[counted..lexeme.start]);
            if line.last().is_some_and(|before| text[before.end..lexeme.start].contains('\n')) {
                line.clear();
            }
            counted = lexeme.start;
            if lexeme.is_comment() {
                let comment = &text[lexeme.start..lexeme.end];
                let in_brackets = lexeme.depth > 0 && !lexeme.is_in_statements;
                let division = division(text, &line, comment, in_brackets);
                let division = division.filter(|d| self.is_operand(d.divisor, &known));
                found.extend(division.map(|division| Division { line: number, ..division }));
                continue;
            }
            if let Token::Identifier(_) = lexeme.token {
                known.insert(&text[lexeme.start..lexeme.end]);
            }
            if let Some(last) = found.last_mut() {
                last.is_last = false;
            }
            match lexeme.token {
                Token::SemiColon => line.clear(),
                _ => line.push(lexeme),
            }
        }
        found
    }

    /// Whether a text is an operand, or operands with operators: numbers, names that are `known`, calls of functions.
    fn is_operand(&self, text: &str, known: &HashSet<&str>) -> bool {
        let cell = Cell::script(text);
        let lexemes = cell.lexemes();
        let begins = |token: &Token| {
            is_value(token) && *token != Token::RightBracket
                || matches!(token, Token::LeftParen | Token::Minus | Token::UnaryMinus)
        };
        let is_function =
            |name: &str| self.docs.iter().any(|doc| doc.is_function() && doc.name == name);
        let is_part = |i: usize| {
            let word = &text[lexemes[i].start..lexemes[i].end];
            let next = lexemes.get(i + 1).map(|next| &next.token);
            let is_called = matches!(next, Some(Token::LeftParen | Token::Unit));
            let is_member = i > 0 && lexemes[i - 1].token == Token::Period;
            match &lexemes[i].token {
                Token::Identifier(_) if is_called => {
                    is_member || is_function(word) || known.contains(word)
                }
                Token::Identifier(_) => is_member || known.contains(word),
                token => is_value(token) || is_operator(token),
            }
        };
        lexemes.first().is_some_and(|first| begins(&first.token))
            && (0..lexemes.len()).all(is_part)
            && cell.is_expression(&self.engine)
    }
}

impl Division<'_> {
    fn advice(&self) -> String {
        let is_word = |text: &str| text.chars().all(|c| is_name(c) || c == '.');
        let [a, b] = match is_word(self.dividend) && is_word(self.divisor) {
            true => [self.dividend, self.divisor],
            false => ["a", "b"],
        };
        let divisor = self.divisor;
        format!("// begins a comment, here // {divisor}; for integer division write idiv({a}, {b})")
    }
}

/// What a comment behind the tokens of a line divides, if these end with a value.
fn division<'t>(
    text: &'t str,
    line: &[&Lexeme],
    comment: &str,
    in_brackets: bool,
) -> Option<Division<'t>> {
    let last = line.last().filter(|last| is_value(&last.token))?;
    let start = last.end + text[last.end..].find(comment)? + 2;
    let comment = text[start..start + comment.len() - 2].trim().trim_end_matches(';').trim_end();
    let divisor = if in_brackets { within_brackets(comment) } else { comment };
    let equals = line.iter().position(|lexeme| lexeme.token == Token::Equals);
    let is_opening = |token: &Token| {
        matches!(
            token,
            Token::LeftParen | Token::LeftBracket | Token::Comma | Token::Equals | Token::Return
        )
    };
    let from = line.iter().rposition(|lexeme| is_opening(&lexeme.token)).map_or(0, |at| at + 1);
    let word = |lexeme: &Lexeme| match lexeme.token {
        Token::Identifier(_) => Some(&text[lexeme.start..lexeme.end]),
        _ => None,
    };
    let is_used = |lexeme: &Lexeme| {
        matches!(lexeme.token, Token::Equals | Token::Return) || lexeme.token.is_op_assignment()
    };
    Some(Division {
        line: 0,
        target: equals.and_then(|at| word(line.get(at.checked_sub(1)?)?)),
        dividend: line.get(from).map_or("", |first| &text[first.start..last.end]),
        divisor,
        in_brackets,
        is_used: in_brackets || line.iter().any(|lexeme| is_used(lexeme)),
        is_last: true,
    })
}

/// A text up to the bracket that it closes and does not open, or to the comma behind which the next value stands.
fn within_brackets(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth < 0 || depth == 0 && c == ','
    });
    text[..end.unwrap_or(text.len())].trim_end()
}

/// Whether a value may end with a token.
fn is_value(token: &Token) -> bool {
    matches!(
        token,
        Token::Identifier(_)
            | Token::IntegerConstant(_)
            | Token::FloatConstant(_)
            | Token::RightParen
            | Token::RightBracket
            | Token::Unit
    )
}

/// Whether a token stands in an expression of numbers beside its values.
fn is_operator(token: &Token) -> bool {
    matches!(
        token,
        Token::Plus
            | Token::Minus
            | Token::UnaryMinus
            | Token::Multiply
            | Token::Divide
            | Token::Modulo
            | Token::PowerOf
            | Token::Period
            | Token::Comma
            | Token::LeftParen
            | Token::LeftBracket
    )
}

/// Lines where `^` stands before small numbers, where what `eval` gives is kept, and where `${x}` stands in a plain text.
fn slips(cell: &Cell) -> Vec<(usize, String)> {
    let text = cell.text();
    if !["^", "eval", "${"].iter().any(|slip| text.contains(slip)) {
        return Vec::new();
    }
    let code: Vec<&Lexeme> = cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()).collect();
    let word = |lexeme: &Lexeme| &text[lexeme.start..lexeme.end];
    let is_small = |lexeme: &Lexeme| matches!(word(lexeme), "2" | "3" | "10");
    let (mut notes, mut line, mut counted) = (Vec::new(), 1, 0);
    for (i, three) in code.windows(3).enumerate() {
        let [before, operator, behind] = three else { continue };
        let is_name =
            code.get(i + 3).is_some_and(|next| matches!(next.token, Token::Identifier(_)));
        let note = match (&before.token, &operator.token, &behind.token) {
            (Token::IntegerConstant(_), Token::XOr, Token::IntegerConstant(_))
                if is_small(before) || is_small(behind) =>
            {
                let (a, b) = (word(before), word(behind));
                format!("{a} ^ {b} flips bits; a power is {a} ** {b}")
            }
            (Token::Identifier(_), Token::XOr, Token::IntegerConstant(_)) if is_small(behind) => {
                let (a, b) = (word(before), word(behind));
                format!("{a} ^ {b} flips bits of integers; a power is {a} ** {b}")
            }
            (Token::Equals, _, Token::LeftParen) if word(operator) == "eval" && is_name => {
                "eval(x) computes x where it is, and gives nothing: write it alone".into()
            }
            _ => continue,
        };
        line += n_lines(&text[counted..operator.start]);
        counted = operator.start;
        notes.push((line, note));
    }
    let is_plain = |lexeme: &&&Lexeme| {
        matches!(lexeme.token, Token::StringConstant(_))
            && word(lexeme).starts_with('"')
            && word(lexeme).contains("${")
    };
    notes.extend(code.iter().find(is_plain).map(|lexeme| {
        let line = 1 + n_lines(&text[..lexeme.start]);
        (line, "only texts in back quotes have values in them: `x = ${x}`".into())
    }));
    notes
}
