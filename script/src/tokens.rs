//! Changes to Rhai's tokens, so that the names of the array language can be typed.
//!
//! * Words that Rhai reserves and we use as names (`eval`, `sync`, `var` …) become identifiers.
//! * `_` is a name everywhere but at the start of a `switch` case.
//! * `FloatC.zero(10)` means `FloatC::zero(10)`.
//! * An integer beyond 64 bits is a syntax error, never silently a float (S7).
//! * Texts with values in them are read by [`crate::interpolation`].
//! * `-x ** 2` is `-(x ** 2)`; see [`crate::powers`].

use std::cell::RefCell;
use std::rc::Rc;

use rhai::{Dynamic, Engine, LexError, Position, Token};

use crate::interpolation::Pieces;
use crate::powers::Powers;

/// Words that Rhai reserves and scripts use as names. Rhai's own meaning of `eval`, `type_of` and `exit`
/// is replaced too. Each is registered under its [`registered`] name.
pub(crate) const REMAPPED: [&str; 8] =
    ["eval", "type_of", "exit", "sync", "var", "with", "match", "shared"];

/// The name under which a function that scripts call `name` is registered.
pub(crate) fn registered(name: &str) -> String {
    if REMAPPED.contains(&name) { format!("{PREFIX}{name}") } else { name.into() }
}

/// The name that a person typed, from a registered one.
pub(crate) fn typed(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

const PREFIX: &str = "porcini_";

/// What the mapper remembers of the tokens before.
#[derive(Default)]
struct Before {
    last: Last,
    /// The depth of braces at which the bodies of open `switch` statements stand.
    switches: Vec<usize>,
    depth: usize,
    switch_pending: bool,
    powers: Powers,
    pieces: Pieces,
}

#[derive(Default, PartialEq)]
enum Last {
    #[default]
    Other,
    /// A type name that does not follow a dot.
    Type,
    /// A name such as `_3`.
    Output,
    /// A dot.
    Dot,
    /// Where a `switch` case may start.
    CaseStart,
}

/// Installs the mapper; `types` are the names that have static functions.
#[expect(deprecated, reason = "rhai marks the hook volatile; the version is pinned")]
pub(crate) fn install(engine: &mut Engine, types: Vec<String>) {
    let reading = Reading::default();
    engine.set_default_tag(Dynamic::from(reading.clone()));
    reading.0.borrow().0.pieces.register(engine);
    engine.on_parse_token(move |token, position, lexer| {
        let (before, text) = &mut *reading.0.borrow_mut();
        let token = before.map(token, &types, &|| has_sign(text, position));
        before.pieces.map(token, lexer)
    });
}

/// What the mapper remembers of the tokens before, and the text they are from; the engine's tag leads to it.
#[derive(Clone, Default)]
struct Reading(Rc<RefCell<(Before, String)>>);

/// Tells the mapper which text comes next: nothing counts any more of one before that ended with an error.
pub(crate) fn start(engine: &Engine, text: &str) {
    if let Some(reading) = engine.default_tag().read_lock::<Reading>() {
        let (before, before_text) = &mut *reading.0.borrow_mut();
        *before = Before { pieces: before.pieces.anew(), ..Before::default() };
        *before_text = text.into();
    }
}

/// Whether the number at a position has a minus, which Rhai's lexer joins to it.
fn has_sign(text: &str, position: Position) -> bool {
    let (Some(line), Some(column)) = (position.line(), position.position()) else { return false };
    let line = text.split('\n').nth(line - 1).unwrap_or("");
    line.chars().nth(column - 1) == Some('-')
}

fn is_output(name: &str) -> bool {
    name.strip_prefix('_')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

impl Before {
    fn map(&mut self, token: Token, types: &[String], has_sign: &dyn Fn() -> bool) -> Token {
        let token = match token {
            Token::Reserved(word) if REMAPPED.contains(&word.as_str()) => {
                Token::Identifier(Box::new(registered(&word).into()))
            }
            Token::Identifier(word) if REMAPPED.contains(&word.as_str()) => {
                Token::Identifier(Box::new(registered(&word).into()))
            }
            Token::Underscore if self.last != Last::CaseStart => {
                Token::Identifier(Box::new("_".into()))
            }
            // `_3`, the value of cell 3: Rhai wants a letter in names.
            Token::LexError(error) => match *error {
                LexError::MalformedIdentifier(name) if is_output(&name) => {
                    Token::Identifier(Box::new(name.into()))
                }
                error => Token::LexError(Box::new(error)),
            },
            // For Rhai's lexer no operand stood before.
            Token::UnaryPlus if self.last == Last::Output => Token::Plus,
            Token::UnaryMinus if self.last == Last::Output => Token::Minus,
            Token::Period if self.last == Last::Type => Token::DoubleColon,
            Token::FloatConstant(float)
                if float.1.bytes().all(|c| c.is_ascii_digit() || c == b'-') =>
            {
                let advice = format!(
                    "{} does not fit 64-bit integers; write it in hexadecimal, or as a float with .0",
                    float.1
                );
                Token::LexError(Box::new(LexError::ImproperSymbol(float.1.to_string(), advice)))
            }
            token => token,
        };
        self.track(&token, types);
        self.powers.map(token, has_sign)
    }

    fn track(&mut self, token: &Token, types: &[String]) {
        match token {
            Token::Switch => self.switch_pending = true,
            Token::LeftBrace | Token::MapStart => {
                self.depth += 1;
                if std::mem::take(&mut self.switch_pending) {
                    self.switches.push(self.depth);
                }
            }
            Token::RightBrace => {
                self.depth = self.depth.saturating_sub(1);
                while self.switches.last().is_some_and(|&depth| depth > self.depth) {
                    self.switches.pop();
                }
            }
            _ => {}
        }
        let in_switch = self.switches.last() == Some(&self.depth);
        self.last = match token {
            Token::LeftBrace | Token::Comma | Token::RightBrace if in_switch => Last::CaseStart,
            Token::Period | Token::DoubleColon | Token::Elvis => Last::Dot,
            Token::Identifier(word)
                if self.last != Last::Dot && types.iter().any(|name| name == word.as_str()) =>
            {
                Last::Type
            }
            Token::Identifier(word) if is_output(word) => Last::Output,
            _ => Last::Other,
        };
    }
}
