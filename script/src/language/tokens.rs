//! Changes to Rhai's tokens, so that the names of the array language can be typed.
//!
//! * Words that Rhai reserves and we use as names (`eval`, `sync`, `var` …) become identifiers.
//! * `_` is a name everywhere but at the start of a `switch` case.
//! * `FloatC.zero(10)` means `FloatC::zero(10)`.
//! * An integer beyond 64 bits is a syntax error, never silently a float (S7).
//! * Texts with values in them are read by [`crate::language::interpolation`].
//! * `-x ** 2` is `-(x ** 2)`; see [`crate::language::powers`].
//! * `g(x)` calls a closure in a variable; see [`crate::language::calls`].
//! * `list[1..3]` is a part of a list; see [`crate::language::slices`].
//! * `let [a, b] = f()` unpacks a list; see [`crate::language::unpack`].
//! * `x = 1` is a syntax of ours where `x` is deleted somewhere; see [`crate::language::reassigned`].

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::vec;

use porcini_core::interrupt;
use rhai::{Dynamic, Engine, LexError, Token};

use crate::language::brackets::{Bracket, Brackets};
use crate::language::calls::{Called, InSight, Mark, Passing, mark};
use crate::language::interpolation::Pieces;
use crate::language::powers::Powers;
use crate::language::semicolons::is_stand_in;
use crate::language::{reassigned, slices, unpack};

/// Words that Rhai reserves and scripts use as names. Rhai's own meaning of `eval`, `type_of` and `exit`
/// is replaced too. Each is registered under its [`registered`] name.
pub(crate) const REMAPPED: [&str; 8] =
    ["eval", "type_of", "exit", "sync", "var", "with", "match", "shared"];

/// Those whose calls Rhai treats in its own way, behind a dot too: what stands there otherwise is a key of a map, or a
/// function that has its own name besides.
const SPECIAL_METHODS: [&str; 2] = ["eval", "type_of"];

/// Words of the language.
pub(crate) const KEYWORDS: [&str; 25] = [
    "let", "const", "fn", "private", "if", "else", "for", "in", "while", "loop", "do", "until",
    "return", "break", "continue", "switch", "del", "import", "export", "as", "throw", "try",
    "catch", "true", "false",
];

/// The name under which a function that scripts call `name` is registered.
pub(crate) fn registered(name: &str) -> String {
    if REMAPPED.contains(&name) { format!("{PREFIX}{name}") } else { name.into() }
}

/// The name under which it is registered for calls behind a dot, if that is another.
pub(crate) fn registered_method(name: &str) -> Option<&str> {
    (REMAPPED.contains(&name) && !SPECIAL_METHODS.contains(&name)).then_some(name)
}

/// The name that a person typed, from a registered one, or one of an [`Owner`].
pub(crate) fn typed(name: &str) -> &str {
    let Some(name) = name.strip_prefix(PREFIX) else { return name };
    let owned = name.strip_prefix(OWNED).and_then(|owned| owned.split_once('_'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    owned.filter(|(number, _)| is_number(number)).map_or(name, |(_, name)| name)
}

/// A text with the names that people typed.
pub(crate) fn as_typed(text: &str) -> String {
    let mut parts = text.split(PREFIX);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |told, part| told + typed(&format!("{PREFIX}{part}")))
}

/// What follows [`PREFIX`] in names of functions that a module owns, before its number.
const OWNED: char = 'm';

/// A module, whose own functions call each other by names that nobody else has: Rhai finds functions by name alone, and
/// would call the module's for the script's, and the other way around.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) number: usize,
    pub(crate) functions: HashSet<String>,
}

impl Owner {
    /// The name that one of its functions has for the others.
    pub(crate) fn own(&self, name: &str) -> Option<String> {
        self.functions.contains(name).then(|| format!("{PREFIX}{OWNED}{}_{name}", self.number))
    }
}

/// What names begin with that Rhai reserves, or has for something else.
pub(crate) const PREFIX: &str = "porcini_";

/// What the mapper remembers of the tokens before.
#[derive(Default)]
struct Before {
    last: Last,
    brackets: Brackets,
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
    /// Where the key of a map may stand.
    KeyStart,
    /// Where a `switch` case may start.
    CaseStart,
}

/// Installs the mapper; `types` are the names that have static functions.
#[expect(deprecated, reason = "rhai marks the hook volatile; the version is pinned")]
pub(crate) fn install(engine: &mut Engine, types: Vec<String>) {
    let reading = Reading::default();
    engine.set_default_tag(Dynamic::from(reading.clone()));
    reading.0.borrow().before.pieces.register(engine);
    reading.0.borrow().called.register(engine);
    unpack::register(engine);
    reassigned::register(engine);
    slices::register(engine);
    engine.on_parse_token(move |token, _, lexer| {
        let text = &mut *reading.0.borrow_mut();
        if text.is_of_script && interrupt::is_requested() {
            // Only an error ends the parser.
            return Token::LexError(Box::new(LexError::UnexpectedInput("Ctrl-C".into())));
        }
        let is_number = matches!(token, Token::IntegerConstant(_) | Token::FloatConstant(_));
        let has_sign = is_number && text.signs.next().unwrap_or(false);
        if let Token::LexError(error) = &token
            && let LexError::UnexpectedInput(unexpected) = &**error
            && text.has_marks
        {
            if let Some(mark) = mark(unexpected) {
                return text.called(mark, &types);
            }
            if let Some((key, token)) = unpack::mark(unexpected) {
                text.before.map(token, &types, false);
                return Token::Identifier(Box::new(key.into()));
            }
            match reassigned::mark(unexpected) {
                Some(0) => return Token::Identifier(Box::new(reassigned::REASSIGN.into())),
                Some(_) => return text.assigned(&types),
                None => {}
            }
        }
        let token = text.whole(token);
        let token = match token {
            Token::Identifier(name) if is_stand_in(&name) => {
                text.names.next().unwrap_or(Token::Identifier(name))
            }
            token => token,
        };
        let token = text.before.map(token, &types, has_sign);
        let token = text.called.bracket(token);
        text.before.pieces.map(token, lexer)
    });
}

/// The text that is read; the engine's tag leads to it.
#[derive(Clone, Default)]
struct Reading(Rc<RefCell<Text>>);

#[derive(Default)]
struct Text {
    before: Before,
    /// Whether each number to come has a minus.
    signs: vec::IntoIter<bool>,
    /// Long texts by their number, and the number of the next text.
    texts: HashMap<usize, Token>,
    n_texts: usize,
    /// Our own texts are read to their end.
    is_of_script: bool,
    /// Names and brackets of calls to come that may mean variables, the last bracket, and what the parser is told.
    calls: vec::IntoIter<(Token, Token)>,
    opened: Option<Token>,
    /// Names in front of a `=` that is read as a syntax of ours.
    assigned: vec::IntoIter<Token>,
    /// Whether what our lexer put in place of something stands in the text.
    has_marks: bool,
    /// Names with letters that Rhai does not know.
    names: vec::IntoIter<Token>,
    called: Called,
    /// Variables of earlier texts, and names that closures unpack into.
    variables: Variables,
    unpacked: Variables,
}

/// Names of variables.
pub(crate) type Variables = Rc<RefCell<HashSet<String>>>;

impl Text {
    /// A long text in place of the empty one that stands for it.
    fn whole(&mut self, token: Token) -> Token {
        if !matches!(token, Token::StringConstant(_)) {
            return token;
        }
        self.n_texts += 1;
        self.texts.remove(&(self.n_texts - 1)).unwrap_or(token)
    }

    /// The token in place of a `=`: the name in front of it.
    fn assigned(&mut self, types: &[String]) -> Token {
        let name = self.assigned.next().unwrap_or(Token::Underscore);
        let name = self.before.map(name, types, false);
        self.before.map(Token::Equals, types, false);
        name
    }

    /// The token in place of a part of a call; for what follows, its name and its bracket were read.
    fn called(&mut self, mark: Mark, types: &[String]) -> Token {
        let mut name = Token::Underscore;
        match mark {
            Mark::Key | Mark::Slice => {
                let call = self.calls.next();
                let (token, bracket) = call.unwrap_or((Token::Underscore, Token::LeftParen));
                name = self.before.map(token, types, false);
                self.opened = Some(bracket);
            }
            Mark::Variable | Mark::Function | Mark::Open => {
                let bracket = self.opened.take().unwrap_or(Token::LeftParen);
                self.before.map(bracket, types, false);
            }
            Mark::Comma => {}
        }
        self.called.token(mark, &name.to_string())
    }
}

/// What our lexer tells of a text that the parser will read.
#[derive(Default)]
pub(crate) struct Told {
    /// Whether each number has a minus, which Rhai's lexer joins to it.
    pub(crate) signs: Vec<bool>,
    /// The long texts, which are not read again, by their number among all texts.
    pub(crate) texts: HashMap<usize, Token>,
    /// The names of calls that may mean variables, and of slices, with their brackets.
    pub(crate) calls: Vec<(Token, Token)>,
    /// The names of assignments that are a syntax of ours.
    pub(crate) assigned: Vec<Token>,
    pub(crate) has_marks: bool,
    /// The names for which others of letters that Rhai knows stand, and those that look so.
    pub(crate) names: Vec<Token>,
}

/// The variables that the texts before have left, for one who keeps the names; `None` of an engine without our tokens.
pub(crate) fn variables(engine: &Engine) -> Option<Variables> {
    let reading = engine.default_tag().read_lock::<Reading>()?;
    Some(reading.0.borrow().variables.clone())
}

/// What the functions are told that look around.
pub(crate) fn in_sight(engine: &Engine) -> InSight {
    let reading = engine.default_tag().read_lock::<Reading>();
    reading.map(|reading| reading.0.borrow().called.in_sight()).unwrap_or_default()
}

/// What kernels take that are called by the name of a variable.
pub(crate) fn passing(engine: &Engine) -> Passing {
    let reading = engine.default_tag().read_lock::<Reading>();
    reading.map(|reading| reading.0.borrow().called.passing()).unwrap_or_default()
}

/// Tells the mapper that a text comes. Nothing counts any more of a text before that ended with an error.
pub(crate) fn start(engine: &Engine, told: Told) {
    if let Some(reading) = engine.default_tag().read_lock::<Reading>() {
        let text = &mut *reading.0.borrow_mut();
        *text = Text {
            before: Before { pieces: text.before.pieces.anew(), ..Before::default() },
            signs: told.signs.into_iter(),
            texts: told.texts,
            n_texts: 0,
            is_of_script: true,
            has_marks: told.has_marks,
            names: told.names.into_iter(),
            calls: told.calls.into_iter(),
            opened: None,
            assigned: told.assigned.into_iter(),
            called: text.called.clone(),
            variables: text.variables.clone(),
            unpacked: text.unpacked.clone(),
        };
    }
}

/// The names that closures have unpacked into, for one who adds to them: Rhai's parser takes them for variables around
/// the closure.
pub(crate) fn unpacked(engine: &Engine) -> Option<Variables> {
    let reading = engine.default_tag().read_lock::<Reading>()?;
    Some(reading.0.borrow().unpacked.clone())
}

fn is_output(name: &str) -> bool {
    name.strip_prefix('_')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

impl Before {
    fn map(&mut self, token: Token, types: &[String], has_sign: bool) -> Token {
        let token = match token {
            Token::Reserved(word) | Token::Identifier(word)
                if REMAPPED.contains(&word.as_str()) =>
            {
                let is_key = match self.last {
                    Last::KeyStart => true,
                    Last::Dot => !SPECIAL_METHODS.contains(&word.as_str()),
                    _ => false,
                };
                Token::Identifier(if is_key { word } else { Box::new(registered(&word).into()) })
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
        self.brackets.follow(token);
        let in_switch = self.brackets.innermost() == Some(Bracket::Cases);
        self.last = match token {
            Token::LeftBrace | Token::Comma | Token::RightBrace if in_switch => Last::CaseStart,
            Token::MapStart => Last::KeyStart,
            Token::Comma if self.brackets.innermost() == Some(Bracket::Map) => Last::KeyStart,
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
