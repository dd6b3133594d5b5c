//! `g(x)` where a variable `g` holds a closure: the innermost one that does is called, else the function of the name.
//!
//! Rhai looks for functions only, and a closure does not capture what it only calls. So in front of the arguments of a
//! call that may mean a variable ([`crate::language::called`]) the parser reads a syntax of ours that mentions the
//! variable. What it reads has the characters of the name and the bracket, so that all places stay what they are:
//! `add(x)` is read as a key, the variable, a comma and the arguments, `g(x)` without the comma for want of room.
//! `list[1..3]` is read in the same way: Rhai's lists know no ranges ([`crate::language::slices`]).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rhai::{
    Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, FnArgsVec, FnCallExpr,
    FnCallHashes, FnPtr, ImmutableString, Namespace, ParseError, ParseErrorType, Position, Token,
};

use crate::fault::fault;
use crate::language::{reassigned, slices, unpack};
use crate::value::names::Sight;
use crate::value::text_kernel::CALL as KERNEL;
use crate::value::{ArrayRef, type_name};

/// Functions that are told what variables are in sight.
pub(crate) const LOOK_AROUND: [&str; 5] = ["whos", "whos_ad", "kernel", "reduction", "scan"];

/// The first word of the syntax, which nobody can type.
const KEY: &str = "call(";
/// What stands in the text for the key, for the variable with the bracket, for a comma, for the bracket alone, for the key
/// of a slice, and for a function in the variable's place.
const MARKS: [char; 6] =
    ['\u{f0001}', '\u{f0002}', '\u{f0003}', '\u{f0004}', '\u{f0007}', '\u{f0008}'];

/// Whether nothing in a text can be taken for what stands for calls.
pub(crate) fn can_stand_in(text: &str) -> bool {
    // One letter after another, which is many times as fast as all of them at once.
    let all = MARKS.iter().chain(&unpack::MARKS).chain(&reassigned::MARKS);
    !{ all }.any(|mark| text.contains(*mark))
}

/// What the name in front of a bracket may mean.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    /// A variable in sight, which a closure captures.
    Variable,
    /// Nothing but a function that looks around: there is nothing to capture.
    Function,
}

/// What the parser reads in place of a name, and of the bracket behind it; `first` is the token that follows.
pub(crate) fn marked(
    name: &str,
    meaning: Meaning,
    bracket: &Token,
    first: Option<&Token>,
) -> (String, &'static str) {
    let width = name.chars().count();
    let is_empty = *bracket == Token::Unit;
    let is_slice = *bracket == Token::LeftBracket;
    // Behind a variable they would go on with it; a closure then captures it only if it names it elsewhere too.
    let goes_on = matches!(first, Some(Token::Pipe | Token::Or | Token::Bang | Token::Unit));
    let [key, variable, comma, _, slice, function] = MARKS;
    let mut read = String::from(if is_slice { slice } else { key });
    let bracket = match (width, is_empty) {
        (1, true) => "\u{f0002})",
        (1, false) if goes_on && !is_slice => "\u{f0004}",
        (1, false) => "\u{f0002}",
        (2, false) => "\u{f0003}",
        (_, true) => " )",
        (_, false) => " ",
    };
    if width > 1 {
        read.push(if meaning == Meaning::Variable { variable } else { function });
    }
    if width > 2 {
        read.push(if is_empty { ' ' } else { comma });
        read.extend(std::iter::repeat_n(' ', width - 3));
    }
    (read, bracket)
}

/// What a mark is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    Key,
    Variable,
    Comma,
    Open,
    Slice,
    Function,
}

/// The mark that Rhai's lexer does not know.
pub(crate) fn mark(unexpected: &str) -> Option<Mark> {
    let at = MARKS.iter().position(|mark| unexpected.starts_with(*mark))?;
    let marks = [Mark::Key, Mark::Variable, Mark::Comma, Mark::Open, Mark::Slice, Mark::Function];
    Some(marks[at])
}

/// Brackets right behind a variable, which would go on with it: first words of syntaxes, and their ends.
const BRACKETS: [(Token, &str, &str); 2] =
    [(Token::LeftParen, "call((", ")"), (Token::LeftBracket, "call([", "]")];
/// Ranges without a start, right behind a variable.
const RANGES: [(Token, &str); 2] =
    [(Token::ExclusiveRange, "call(.."), (Token::InclusiveRange, "call(..=")];

/// The name of the call that is read.
#[derive(Clone, Default)]
pub(crate) struct Called {
    name: Rc<RefCell<ImmutableString>>,
    /// Whether the token before was a variable.
    is_behind: Rc<Cell<bool>>,
    /// What the function that runs is told, of those that look around.
    in_sight: InSight,
    passing: Passing,
}

/// What is in sight of a function that looks around.
pub(crate) type InSight = Rc<RefCell<Option<Sight>>>;

/// Which arguments nobody else holds, a bit each, of a kernel that is called by the name of its variable: here they are held
/// once more on their way.
pub(crate) type Passing = Rc<Cell<u32>>;

impl Called {
    /// For kernels, which take it when they are called.
    pub(crate) fn passing(&self) -> Passing {
        self.passing.clone()
    }

    /// For one of the functions that look around.
    pub(crate) fn in_sight(&self) -> InSight {
        self.in_sight.clone()
    }

    /// The token in place of a bracket, or of a range, behind a variable.
    pub(crate) fn bracket(&self, token: Token) -> Token {
        if !self.is_behind.take() {
            return token;
        }
        let brackets = BRACKETS.iter().map(|(bracket, key, _)| (bracket, key));
        let mut known = brackets.chain(RANGES.iter().map(|(range, key)| (range, key)));
        match known.find(|(known, _)| **known == token) {
            Some((_, key)) => Token::Identifier(Box::new((*key).into())),
            None => token,
        }
    }

    /// The token for a mark; `name` is that of the call.
    pub(crate) fn token(&self, mark: Mark, name: &str) -> Token {
        self.is_behind.set(mark == Mark::Variable);
        match mark {
            Mark::Key | Mark::Slice => {
                *self.name.borrow_mut() = name.into();
                let key = if mark == Mark::Key { KEY } else { slices::KEY };
                Token::Identifier(Box::new(key.into()))
            }
            Mark::Variable => Token::Identifier(Box::new(self.name.borrow().as_str().into())),
            // Any expression, for the place where it stands.
            Mark::Function => Token::True,
            Mark::Comma => Token::Comma,
            Mark::Open => Token::Colon,
        }
    }

    /// Makes the syntax known.
    pub(crate) fn register(&self, engine: &mut Engine) {
        let (called, in_sight, passing) = (self.clone(), self.in_sight(), self.passing());
        engine.register_custom_syntax_with_state_raw(
            KEY,
            move |symbols, ahead, state| {
                if symbols.len() == 1 {
                    let sign = if ahead == ":" { ":" } else { "" };
                    *state = format!("{sign}{}", called.name.borrow()).into();
                }
                let name = state.clone().into_immutable_string().unwrap_or_default();
                next_symbol(symbols, ahead, ")", name.trim_start_matches(':'))
            },
            false,
            move |context, inputs, state| {
                let name = state.clone().into_immutable_string().unwrap_or_default();
                if LOOK_AROUND.contains(&name.as_str()) {
                    in_sight.replace(Some(Sight::of(context.scope())));
                    let value = call(context, inputs, &name, &passing);
                    in_sight.take();
                    return value;
                }
                call(context, inputs, &name, &passing)
            },
        );
        for (_, key, end) in BRACKETS {
            engine.register_custom_syntax_with_state_raw(
                key,
                move |symbols, ahead, _| match symbols.len() {
                    3 if end == ")" => Ok(None),
                    2 if end == ")" => Ok(Some(end.into())),
                    _ => next_symbol(symbols, ahead, end, "list"),
                },
                false,
                move |context, inputs, _| {
                    let mut values = inputs.iter().map(|input| context.eval_expression_tree(input));
                    if end == ")" {
                        return values.next().unwrap_or(Ok(Dynamic::UNIT));
                    }
                    let values: Result<rhai::Array, _> =
                        values.map(|value| value.map(Dynamic::flatten)).collect();
                    values.map(Dynamic::from)
                },
            );
        }
        for (token, key) in RANGES {
            engine.register_custom_syntax_with_state_raw(
                key,
                |symbols, ahead, _| {
                    let has_end = symbols.len() == 1 && ahead != "]" && ahead != ")";
                    Ok(has_end.then(|| "$expr$".into()))
                },
                false,
                move |context, inputs, _| {
                    let Some(end) = inputs.first() else { return Ok(Dynamic::from(0..i64::MAX)) };
                    let end = context.eval_expression_tree(end)?.flatten();
                    match end.as_int() {
                        Ok(end) if token == Token::InclusiveRange => Ok(Dynamic::from(0..=end)),
                        Ok(end) => Ok(Dynamic::from(0..end)),
                        Err(_) => Err(fault(format!(
                            "..: got {} as the end of a range, expected an integer",
                            type_name(&end)
                        ))),
                    }
                },
            );
        }
    }
}

/// What comes next of a variable, or a colon, and arguments up to the bracket that ends them.
fn next_symbol(
    symbols: &[ImmutableString],
    ahead: &str,
    end: &str,
    name: &str,
) -> Result<Option<ImmutableString>, ParseError> {
    let missing = |token: &str, why: &str| {
        let why = format!("to {why} '{name}'");
        let error = ParseErrorType::MissingToken(token.into(), why);
        Err(ParseError(error.into(), Position::NONE))
    };
    let last = symbols.last().map_or("", |last| last.as_str());
    Ok(match (last, ahead) {
        (last, _) if last == end => None,
        (_, ahead) if ahead == end => Some(end.into()),
        (KEY, ":") => Some(":".into()),
        ("$expr$", ",") => Some(",".into()),
        (_, "{EOF}") => return missing(end, "close the arguments list of this function call"),
        ("$expr$", _) if symbols.len() > 2 || end == "]" => {
            return missing(",", "separate the arguments to function call");
        }
        _ => Some("$expr$".into()),
    })
}

/// Calls the closure, or the function.
fn call(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    inputs: &[Expression<'_>],
    state: &str,
    passing: &Cell<u32>,
) -> Result<Dynamic, Box<EvalAltResult>> {
    let (name, arguments) = match state.strip_prefix(':') {
        Some(name) => (name, inputs),
        None => (state, &inputs[1..]),
    };
    let as_closure = |value: &Dynamic| value.read_lock::<FnPtr>().map(|closure| closure.clone());
    let closure = context.scope().get(name).and_then(as_closure).or_else(|| {
        let variables = context.scope().iter_raw().filter(|(known, ..)| *known == name);
        variables.filter_map(|(_, _, value)| as_closure(value)).next()
    });
    let place = place(inputs);
    let is_closure = closure.is_some();
    // A kernel is the first of what it is curried with; other arguments may be, too.
    let kernel = closure.as_ref().filter(|closure| closure.fn_name() == KERNEL);
    let n_before = kernel.map(|kernel| kernel.curry().len().saturating_sub(1));
    let mut unheld = 0;
    let function = match closure {
        Some(closure) => closure,
        None => FnPtr::new(name).map_err(|mut error| {
            error.set_position(place);
            error
        })?,
    };
    let mut args = FnArgsVec::<Expr>::with_capacity(arguments.len() + 1);
    args.push(Expr::DynamicConstant(Box::new(function.into()), place));
    for (i, argument) in arguments.iter().enumerate() {
        args.push(match &**argument {
            // What changes its first argument changes the variable, which Rhai reads last.
            variable @ Expr::Variable(..) if i == 0 && !is_closure => variable.clone(),
            constant if constant.is_constant() => constant.clone(),
            other => {
                let position = other.position();
                let value = context.eval_expression_tree(argument)?.flatten();
                if let Some(n_before) = n_before
                    && value.read_lock::<ArrayRef>().is_some_and(|value| value.holders() == 1)
                {
                    let bit = u32::try_from(n_before + i).unwrap_or(u32::MAX);
                    unheld |= 1_u32.checked_shl(bit).unwrap_or(0);
                }
                Expr::DynamicConstant(Box::new(value), position)
            }
        });
    }
    let call = FnCallExpr {
        namespace: Namespace::NONE,
        name: "call".into(),
        // It goes by the name.
        hashes: FnCallHashes::from_native_only(1),
        args,
        capture_parent_scope: false,
        op_token: None,
    };
    passing.set(unheld);
    let value = context.eval_expression_tree(&Expression::from(&call.into_fn_call_expr(place)));
    passing.set(0);
    value
}

/// Where the name of a call stands: in front of what is read as its variable, or else of its arguments.
fn place(inputs: &[Expression<'_>]) -> Position {
    let Some(first) = inputs.first().map(|input| input.position()) else { return Position::NONE };
    let column = first.position().unwrap_or(1).saturating_sub(1).max(1);
    let [line, column] =
        [first.line().unwrap_or(1), column].map(|n| u16::try_from(n).unwrap_or(u16::MAX));
    Position::new(line, column)
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
    fn closures_are_called() {
        for (text, want) in [
            ("let g = |x| x * 2; g(3)", 6),
            ("let add = |a, b| a + b; add(1, add (2, 3))", 6),
            ("let ab = |a| a; ab(1) - ab( 2 ) -1", -2),
            ("let f = || 7; f() - f ( ) -1", -1),
            ("let zero = || 7; zero() -1", 6),
            ("let len = 3; len([1, 2])", 2),
            ("let len = |x| 7; { let len = 5; len([1]) }", 7),
            ("let f = |x| x + 1; let g = |x| f((x) * 2); g(4)", 9),
            ("let f = |l| l.len(); let g = |x| f([x, x]) + f([]); g(4)", 2),
            ("let f = |x| x + 1; let g = |x| f(-x); g(4)", -3),
            ("let ff = |h, x| h.call(x); let g = |x| ff(|y| y + x, 1); g(4)", 5),
            ("let f = |h| h.call(1); f(|y| y + 4)", 5),
            ("let f = |h| |x| h(h(x)); let k = f(|y| y * 3); k(1)", 9),
            ("fn twice(f, x) { f(f(x)) } let g = |x| x * 5; twice(g, 1)", 25),
            ("fn g(x) { x } let k = 0; if true { let g = |x| x + 1; k = g(1) } k * 10 + g(1)", 21),
            ("for f in [|x| x, |x| x * 5] { if f(2) > 2 { return f(2) } }", 10),
            ("let f = |x| x; let s = `${f(1)}${f(2)}`; s.len()", 2),
            ("let f = |x| [x, 7]; f(1)[1] + f(3)[0]", 10),
            ("let f = |x| #{a: x}; f(5).a", 5),
            ("let push = 1; let l = [1]; push(l, 2); l.len()", 2),
            ("let m = #{f: |x| x + 1}; let f = |x| 0; m.f(2)", 3),
            ("let f = |x| x;\nlet g = |x| {\n let f = |y| y * 2\n f(x)\n}\ng(2) + f(1)", 5),
            ("let f = |x| x; [1, 2].map(|x| f(x) + 1).len() + f(2)", 4),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn places_stay() {
        for (text, error) in [
            ("let g = |x| x;\n  g(1) + nope", "nope (line 2, position 10)"),
            ("let long = |x| x;\n  long(1, nope)", "nope (line 2, position 11)"),
            ("let g = |x| x; g(1 2)", "Expecting ',' to separate the arguments"),
            ("let g = |x| x; g(1,", "Expecting ')' to close the arguments"),
            ("let g = |x| x; g([1", "Expecting"),
            ("let g = |x| x; g((1", "Expecting"),
            ("let g = 1; g(2)", "Function not found: g (i64) (line 1, position 12)"),
            ("let \u{f0001} = 1", "line 1, position 5"),
        ] {
            let got = value(text).unwrap_err();
            assert!(got.contains(error), "{text}: {got}");
        }
    }
}
