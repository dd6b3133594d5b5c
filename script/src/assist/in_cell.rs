//! Names that a cell declares itself, above the cursor: what it will know there once it runs.

use rhai::Token;

use crate::assist::candidate::{Candidate, CandidateKind, candidate};
use crate::language::cell::Cell;
use crate::language::lexer::Lexeme;

/// Variables that byte `at` of a cell can see, and all functions of the cell, which are known from its start.
pub(super) fn names(cell: &Cell, at: usize) -> Vec<Candidate> {
    let (text, lexemes) = (cell.text(), cell.lexemes());
    let before = &lexemes[..lexemes.partition_point(|lexeme| lexeme.end <= at)];
    let variable = |name| candidate(name, CandidateKind::Variable, "in this cell");
    let mut names: Vec<_> = variables(text, before).into_iter().map(variable).collect();
    let heads = (0..lexemes.len()).filter(|&i| lexemes[i].token == Token::Fn);
    names.extend(heads.filter_map(|head| function(text, &lexemes[head + 1..])));
    names
}

/// A function whose name and parameters come next.
fn function(text: &str, lexemes: &[Lexeme]) -> Option<Candidate> {
    let [name, open, ..] = lexemes else { return None };
    let close = lexemes.iter().find(|lexeme| lexeme.token == Token::RightParen)?;
    let parameters: Vec<_> = text.get(open.start..close.end)?.split_whitespace().collect();
    let name = &text[name.start..name.end];
    Some(candidate(name, CandidateKind::Function, &parameters.join(" ")))
}

/// Variables that are known behind the last token.
fn variables<'t>(text: &'t str, lexemes: &[Lexeme]) -> Vec<&'t str> {
    let mut reader = Reader { text, ..Reader::default() };
    for lexeme in lexemes.iter().filter(|lexeme| !lexeme.is_comment()) {
        reader.read(lexeme);
    }
    let inside = reader.inside.iter().chain(&reader.of_closures).map(|(name, _)| *name);
    reader.outside.iter().copied().chain(inside).collect()
}

/// What names that come next are.
#[derive(Clone, Copy)]
enum Next {
    /// Variables of the brackets around them, so many.
    Here(usize),
    /// Variables of a block that opens behind them.
    InBlock(usize),
    /// Parameters of a closure in so many brackets.
    OfClosure(usize),
    /// A function, whose parameters follow.
    Function(usize),
}

/// Goes through the tokens in front of the cursor.
#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    /// Variables that stay, and those that go with the block that is so deep.
    outside: Vec<&'t str>,
    inside: Vec<(&'t str, usize)>,
    /// Parameters, up to the end of the closure's expression or block.
    of_closures: Vec<(&'t str, usize)>,
    /// Those of a block that has not begun.
    of_block: Vec<(&'t str, usize)>,
    /// How deep the bodies of functions are that are open, and the one that has not begun.
    bodies: Vec<usize>,
    body: Option<usize>,
    /// Brackets that are open.
    depth: usize,
    next: Option<Next>,
    /// The names that a `=` would assign to.
    assigned: Vec<&'t str>,
    before: Option<Token>,
}

impl<'t> Reader<'t> {
    fn read(&mut self, lexeme: &Lexeme) {
        let depth = lexeme.depth;
        if depth < self.depth {
            self.leave(depth);
        }
        self.depth = depth;
        match lexeme.token {
            Token::Let | Token::Const | Token::As => self.next = Some(Next::Here(depth)),
            Token::For | Token::Catch => self.next = Some(Next::InBlock(depth + 1)),
            Token::Fn => self.next = Some(Next::Function(depth + 1)),
            // The second one of a closure ends its parameters.
            Token::Pipe if self.next.is_some() => self.next = None,
            Token::Pipe if !self.is_behind_value() => {
                self.next = Some(Next::OfClosure(depth));
            }
            Token::Identifier(_) | Token::Reserved(_) => self.name(lexeme),
            Token::LeftBracket => self.assigned.clear(),
            Token::Comma if self.next.is_none() => self.end_closures(depth),
            Token::RightBracket | Token::Comma | Token::Underscore => {}
            Token::SemiColon => {
                self.end_closures(depth);
                self.end();
            }
            Token::LeftParen | Token::RightParen => self.assigned.clear(),
            Token::LeftBrace => self.enter(depth),
            Token::Equals => self.assign(),
            _ => self.end(),
        }
        self.before = Some(lexeme.token.clone());
    }

    fn name(&mut self, lexeme: &Lexeme) {
        let name = &self.text[lexeme.start..lexeme.end];
        match self.next {
            Some(Next::Here(depth)) => {
                self.declare(name, depth);
                if matches!(self.before, Some(Token::Let | Token::Const | Token::As)) {
                    self.next = None;
                }
            }
            Some(Next::OfClosure(depth)) => self.of_closures.push((name, depth)),
            Some(Next::InBlock(depth)) => self.of_block.push((name, depth)),
            Some(Next::Function(depth)) => {
                self.body = Some(depth);
                self.next = Some(Next::InBlock(depth));
            }
            None if self.before == Some(Token::Period) => {}
            None if self.before == Some(Token::Comma) => self.assigned.push(name),
            None => self.assigned = vec![name],
        }
    }

    /// What is assigned to is a variable of the function, or of the session.
    fn assign(&mut self) {
        let depth = self.bodies.last().copied().unwrap_or(0);
        for name in std::mem::take(&mut self.assigned) {
            self.declare(name, depth);
        }
        self.next = None;
    }

    /// Whatever names come next belong to something else.
    fn end(&mut self) {
        self.next = None;
        self.assigned.clear();
    }

    fn declare(&mut self, name: &'t str, depth: usize) {
        match depth {
            0 => self.outside.push(name),
            _ => self.inside.push((name, depth)),
        }
    }

    fn enter(&mut self, depth: usize) {
        if self.body == Some(depth) {
            self.bodies.extend(self.body.take());
        }
        let names = std::mem::take(&mut self.of_block);
        let (begun, later): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.1 == depth);
        self.inside.extend(begun);
        self.of_block = later;
        self.end();
    }

    /// What stands in so many brackets, and closures are a part of, is behind them.
    fn end_closures(&mut self, depth: usize) {
        self.of_closures.retain(|(_, own)| *own < depth);
    }

    /// Forgets what belongs to deeper brackets than are open.
    fn leave(&mut self, depth: usize) {
        self.inside.retain(|(_, own)| *own <= depth);
        self.of_closures.retain(|(_, own)| *own <= depth);
        self.of_block.retain(|(_, own)| *own <= depth + 1);
        while self.bodies.pop_if(|body| *body > depth).is_some() {}
    }

    /// Whether a `|` here is an operator.
    fn is_behind_value(&self) -> bool {
        matches!(
            self.before,
            Some(
                Token::Identifier(_)
                    | Token::Reserved(_)
                    | Token::RightParen
                    | Token::RightBracket
                    | Token::RightBrace
                    | Token::IntegerConstant(_)
                    | Token::FloatConstant(_)
                    | Token::StringConstant(_)
                    | Token::True
                    | Token::False
            )
        )
    }
}
