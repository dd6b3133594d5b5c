//! From text to tree: declarations and statements. What a name is, is known when it is read.

use super::dialect;
use super::lexer::Token;
use super::library;
use super::prelude;
use super::preprocess::tokens;
use super::program::{Captured, Surroundings};
use super::tree::{
    Case, Expression, Function, Header, Local, Loop, Parameter, Statement, Step, Term,
};
use super::trouble::{Span, Trouble};
use super::types::{self, TypeName, known};
use crate::dtype::Scalar;
use crate::spelling::similar;

/// Statements, brackets and operators that stand in each other.
const DEEPEST: usize = 250;

/// What a text may use of what is around it.
pub(super) type Around<'a> = &'a dyn Surroundings;

/// A text that was read.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) functions: Vec<Function>,
    /// Which of them is the kernel: the one that is marked as one, else the last one that was not declared ahead.
    pub(super) number: usize,
    /// What stands before them: `const float G = 9.81f;`
    pub(super) constants: Vec<Statement>,
    /// What it uses of what is around it.
    pub(super) captured: Vec<(String, Captured)>,
}

/// Reads a text of functions; an error comes with the name of the one that it is in.
pub(super) fn functions(text: &str, around: Around<'_>) -> Result<Parsed, (String, Trouble)> {
    let mut parser = Parser::new(text, around).map_err(|trouble| (String::new(), trouble))?;
    let read = parser.all_functions();
    let (functions, constants) = read.map_err(|trouble| (parser.current.clone(), trouble))?;
    let number = parser.kernel_among(&functions);
    Ok(Parsed { functions, number, constants, captured: parser.captured })
}

/// Reads name and parameters alone: `T l2(T x)`.
pub(super) fn header(text: &str, around: Around<'_>) -> Result<Header, (String, Trouble)> {
    let mut parser = Parser::new(text, around).map_err(|trouble| (String::new(), trouble))?;
    let header = parser.header().and_then(|(header, _)| match parser.token() {
        Token::End => Ok(header),
        _ => Err(parser.unexpected("the end: map, reduce and post say what the body is")),
    });
    header.map_err(|trouble| (parser.current.clone(), trouble))
}

/// Reads an expression in which these names stand for values, and these letters for types.
pub(super) fn expression(
    text: &str,
    names: &[&str],
    letters: &[String],
    around: Around<'_>,
) -> Result<(Expression, Vec<(String, Captured)>), Trouble> {
    let mut parser = Parser::new(text, around)?;
    parser.names.extend(names.iter().map(|name| (*name).to_string()));
    parser.letters.extend_from_slice(letters);
    let expression = parser.expression()?;
    match parser.token() {
        Token::End => Ok((expression, parser.captured)),
        _ => Err(parser.unexpected("the end of the expression")),
    }
}

/// A function that may be called.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
}

pub(super) struct Parser<'t> {
    pub(super) tokens: Vec<(Token<'t>, Span)>,
    pub(super) at: usize,
    depth: usize,
    /// Variables in sight.
    pub(super) names: Vec<String>,
    /// How many there were before the innermost block.
    pub(super) scope: usize,
    /// Where those among them stand that are const.
    pub(super) fixed: Vec<usize>,
    /// Where those stand that are known numbers.
    pub(super) numbers: Vec<(usize, Scalar)>,
    /// Arrays of functions' own, and how many variables there were before.
    pub(super) locals: Vec<(Local, usize)>,
    /// How many of them are constants of the text.
    pub(super) n_constants: usize,
    /// The function that is read.
    pub(super) current: String,
    /// Functions of the text so far.
    pub(super) functions: Vec<Known>,
    /// Those among them that were declared without a body.
    pub(super) declared: Vec<(Header, Span)>,
    /// Name of the one that is marked as a kernel: `__global__`.
    pub(super) marked: Option<String>,
    /// Letters that the parameters bind.
    pub(super) letters: Vec<String>,
    /// Loops, and loops and `switch`es, that are open.
    n_loops: usize,
    n_breakable: usize,
    pub(super) around: Around<'t>,
    pub(super) captured: Vec<(String, Captured)>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, around: Around<'t>) -> Result<Self, Trouble> {
        Ok(Self {
            tokens: tokens(text)?,
            at: 0,
            depth: 0,
            names: Vec::new(),
            scope: 0,
            fixed: Vec::new(),
            numbers: Vec::new(),
            locals: Vec::new(),
            n_constants: 0,
            current: String::new(),
            functions: Vec::new(),
            declared: Vec::new(),
            marked: None,
            letters: Vec::new(),
            n_loops: 0,
            n_breakable: 0,
            around,
            captured: Vec::new(),
        })
    }

    pub(super) fn token(&self) -> &Token<'t> {
        &self.tokens[self.at].0
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The token before.
    pub(super) fn last(&self) -> &Token<'t> {
        &self.tokens[self.at.saturating_sub(1)].0
    }

    /// The span of the token before.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    pub(super) fn ahead(&self, n: usize) -> &Token<'t> {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].0
    }

    pub(super) fn next(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(known) if *known == sign)
    }

    /// Where reading can go on again.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn go_back(&mut self, place: usize) {
        self.at = place;
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        *self.token() == Token::Name(word)
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn takes_words(&mut self, words: &[&str]) -> bool {
        let before = self.at;
        while words.iter().any(|word| self.takes_word(word)) {}
        self.at > before
    }

    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn expect(&mut self, sign: &'static str, behind: &str) -> Result<(), Trouble> {
        if self.takes(sign) {
            return Ok(());
        }
        let trouble = self.unexpected(&format!("`{sign}` {behind}"));
        // The end of a statement is missed where it ends, not where the next one begins.
        let end = self.last_span().end;
        Err(if sign == ";" { trouble.at(Span { start: end, end }) } else { trouble })
    }

    /// The error of a token that is not what was expected.
    pub(super) fn unexpected(&self, expected: &str) -> Trouble {
        let got = match self.token() {
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number, _) => format!("`{number}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the text".into(),
        };
        Trouble::new(self.span(), format!("got {got}, expected {expected}"))
    }

    pub(super) fn name(&mut self, what: &str) -> Result<(String, Span), Trouble> {
        let span = self.span();
        match *self.token() {
            Token::Name(name) if KEYWORDS.contains(&name) => {
                let what = format!("`{name}` is a word of the language, expected {what}");
                Err(Trouble::new(span, what))
            }
            Token::Name(name) => {
                self.next();
                Ok((name.into(), span))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// A name for a value, which no type has.
    pub(super) fn new_name(&mut self, what: &str) -> Result<(String, Span), Trouble> {
        let (name, at) = self.name(what)?;
        if known(&[&name]).is_some() {
            let told = format!("`{name}` is a type, expected {what}");
            let remedy = format!("any other: {name}_x");
            return Err(Trouble::new(at, told).with(Some(remedy)));
        }
        Ok((name, at))
    }

    /// Goes one level deeper while something is read.
    pub(super) fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.depth == DEEPEST {
            let what = format!("more than {DEEPEST} brackets and statements stand in each other");
            return Err(Trouble::new(self.span(), what));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    // ---- types ----

    /// The words that begin here.
    pub(super) fn words(&self) -> Vec<&'t str> {
        let words = (0..3).map_while(|n| match *self.ahead(n) {
            Token::Name(word) => Some(word),
            _ => None,
        });
        words.collect()
    }

    /// A type, if one begins here.
    pub(super) fn type_name(&mut self) -> Result<Option<TypeName>, Trouble> {
        let words = self.words();
        if words.first() == Some(&"acc_t") && *self.ahead(1) == Token::Sign("(") {
            self.next();
            self.next();
            let inner = self.deeper(Self::type_name)?;
            let inner = inner.ok_or_else(|| self.unexpected("a type: acc_t(T)"))?;
            self.expect(")", "behind the type")?;
            return Ok(Some(TypeName::Accumulated(inner.into())));
        }
        let (type_name, n_words) = match words.first() {
            Some(&"auto") => (TypeName::Auto, 1),
            Some(letter) if self.letters.iter().any(|known| known == letter) => {
                (TypeName::Letter((*letter).into()), 1)
            }
            _ => match known(&words) {
                Some((dtype, n_words)) => (TypeName::Known(dtype), n_words),
                None => return Ok(None),
            },
        };
        (0..n_words).for_each(|_| self.next());
        Ok(Some(type_name))
    }

    // ---- statements ----

    /// Statements up to `}`.
    pub(super) fn block(&mut self) -> Result<Vec<Statement>, Trouble> {
        self.deeper(|parser| parser.scoped(Self::statements))
    }

    /// Up to the end of a block.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>, Trouble> {
        let mut statements = Vec::new();
        while !self.takes("}") {
            if *self.token() == Token::End {
                return Err(self.unexpected("`}` behind a block"));
            }
            statements.extend(self.statement()?);
        }
        Ok(statements)
    }

    /// A statement as a block of its own.
    fn nested(&mut self) -> Result<Vec<Statement>, Trouble> {
        if self.takes("{") {
            return self.block();
        }
        let statement = self.deeper(|parser| parser.scoped(Self::statement))?;
        Ok(statement.into_iter().collect())
    }

    /// `None` of `;`.
    fn statement(&mut self) -> Result<Option<Statement>, Trouble> {
        let start = self.span();
        if self.takes(";") {
            return Ok(None);
        }
        let kind = if self.takes("{") {
            Step::Block(self.block()?)
        } else if self.takes_word("if") {
            self.takes_word("constexpr");
            self.expect("(", "behind `if`")?;
            let condition = self.expression()?;
            self.expect(")", "behind the condition")?;
            let then = self.nested()?;
            let otherwise = if self.takes_word("else") { self.nested()? } else { Vec::new() };
            Step::If(condition, then, otherwise)
        } else if self.takes_word("while") {
            self.expect("(", "behind `while`")?;
            let condition = self.expression()?;
            self.expect(")", "behind the condition")?;
            let body = self.loop_body()?;
            Step::Loop(Loop::new(Vec::new(), Some(condition), Vec::new(), body))
        } else if self.takes_word("do") {
            let body = self.loop_body()?;
            if !self.takes_word("while") {
                return Err(self.unexpected("`while` behind the body of `do`"));
            }
            self.expect("(", "behind `while`")?;
            let condition = self.expression()?;
            if condition.steps() {
                let what = "the condition of `do` steps a variable";
                let remedy = "step it in a statement at the end of the body";
                return Err(Trouble::new(condition.at, what).with(Some(remedy.into())));
            }
            self.expect(")", "behind the condition")?;
            self.expect(";", "behind the loop")?;
            let (start, update) = (Vec::new(), Vec::new());
            Step::Loop(Loop { start, condition: Some(condition), update, body, is_do: true })
        } else if self.takes_word("for") {
            self.scoped(Self::for_loop)?
        } else if self.takes_word("switch") {
            self.scoped(Self::switch)?
        } else if self.takes_word("return") {
            let value = if self.is(";") { None } else { Some(self.expression()?) };
            self.expect(";", "behind `return`")?;
            Step::Return(value)
        } else if self.is_word("break") || self.is_word("continue") {
            let is_break = self.takes_word("break") || !self.takes_word("continue");
            let open = if is_break { self.n_breakable } else { self.n_loops };
            if open == 0 {
                let word = if is_break { "break" } else { "continue" };
                return Err(Trouble::new(start, format!("`{word}` stands in no loop")));
            }
            self.expect(";", "behind the word")?;
            if is_break { Step::Break } else { Step::Continue }
        } else if let Some(declared) = self.declaration()? {
            self.expect(";", "behind the declaration")?;
            declared
        } else {
            self.check_no_declaration()?;
            let step = Step::Do(self.assignment()?);
            self.expect(";", "behind the statement")?;
            step
        };
        Ok(Some(Statement { at: start.to(self.last_span()), kind }))
    }

    /// Two names in a row are a declaration, whose type there is not.
    fn check_no_declaration(&self) -> Result<(), Trouble> {
        let (Token::Name(first), Token::Name(_)) = (self.token(), self.ahead(1)) else {
            return Ok(());
        };
        let of_letter = || {
            types::is_letter(first).then(|| "a letter is one that a parameter has: T f(T x)".into())
        };
        let word = || match &similar(first, KEYWORDS.iter().copied())[..] {
            [] => None,
            near => Some(format!("did you mean {}?", near.join(" or "))),
        };
        let remedy = dialect::instead(first).or_else(of_letter);
        let remedy = remedy.or_else(|| types::meant(first)).or_else(word);
        Err(Trouble::new(self.span(), format!("`{first}` is no type")).with(remedy))
    }

    fn loop_body(&mut self) -> Result<Vec<Statement>, Trouble> {
        self.n_loops += 1;
        self.n_breakable += 1;
        let body = self.nested();
        self.n_loops -= 1;
        self.n_breakable -= 1;
        body
    }

    fn for_loop(&mut self) -> Result<Step, Trouble> {
        self.expect("(", "behind `for`")?;
        let at = self.span();
        let mut start = Vec::new();
        if !self.is(";") {
            match self.declaration()? {
                Some(kind) => start.push(Statement { at: at.to(self.last_span()), kind }),
                None => start = self.assignments()?,
            }
        }
        self.expect(";", "behind the start of the loop")?;
        let condition = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";", "behind the condition")?;
        let update = if self.is(")") { Vec::new() } else { self.assignments()? };
        self.expect(")", "behind the loop's head")?;
        let body = self.loop_body()?;
        Ok(Step::Loop(Loop::new(start, condition, update, body)))
    }

    /// `a = 1, b += 2`
    fn assignments(&mut self) -> Result<Vec<Statement>, Trouble> {
        let mut statements = Vec::new();
        loop {
            let at = self.span();
            let kind = Step::Do(self.assignment()?);
            statements.push(Statement { at: at.to(self.last_span()), kind });
            if !self.takes(",") {
                return Ok(statements);
            }
        }
    }

    fn switch(&mut self) -> Result<Step, Trouble> {
        self.expect("(", "behind `switch`")?;
        let selector = self.expression()?;
        self.expect(")", "behind the value")?;
        self.expect("{", "and the cases")?;
        let mut cases: Vec<Case> = Vec::new();
        self.n_breakable += 1;
        while !self.takes("}") {
            let mut labels = Vec::new();
            while self.is_word("case") || self.is_word("default") {
                let is_default = self.takes_word("default") || !self.takes_word("case");
                let label = if is_default { None } else { Some(self.conditional()?) };
                let is_same = |known: &&Option<Expression>| match (known, &label) {
                    (Some(known), Some(label)) => known.is_number_of(label),
                    (known, label) => known.is_none() && label.is_none(),
                };
                let before = cases.iter().flat_map(|case| &case.labels).chain(&labels);
                if before.into_iter().find(is_same).is_some() {
                    let at = label.map_or(self.last_span(), |label| label.at);
                    return Err(Trouble::new(at, "the `switch` has this label twice"));
                }
                labels.push(label);
                self.expect(":", "behind the label")?;
            }
            if labels.is_empty() {
                return Err(self.unexpected("`case` or `default`"));
            }
            let mut body = Vec::new();
            while !self.is("}") && !self.is_word("case") && !self.is_word("default") {
                if *self.token() == Token::End {
                    return Err(self.unexpected("`}` behind the cases"));
                }
                body.extend(self.statement()?);
            }
            cases.push(Case { labels, body });
        }
        self.n_breakable -= 1;
        Ok(Step::Switch(selector, cases))
    }

    pub(super) fn declaration(&mut self) -> Result<Option<Step>, Trouble> {
        let back = self.at;
        let (mut is_const, mut is_marked) = (false, false);
        while let Token::Name(word @ ("const" | "constexpr" | "static" | "volatile" | "register")) =
            *self.token()
        {
            is_const |= word.starts_with("const");
            is_marked = true;
            self.next();
        }
        let Some(type_name) = self.type_name()? else {
            if is_marked {
                return Err(self.unexpected("a type behind `const`"));
            }
            return Ok(None);
        };
        if self.is("*") {
            let what = "a variable is no pointer";
            let remedy = "an element is x[j], one behind an offset x[i + j]";
            return Err(Trouble::new(self.span(), what).with(Some(remedy.into())));
        }
        if !matches!(self.token(), Token::Name(_)) {
            // `float(x)` is an expression.
            self.at = back;
            return Ok(None);
        }
        let mut variables = Vec::new();
        loop {
            let (name, at) = self.new_name("the name of a variable")?;
            self.check_undeclared(&name, at)?;
            let declared = if self.is("[") {
                self.local(&name, at, &type_name)?
            } else {
                let first = if self.takes("=") { Some(self.expression()?) } else { None };
                if first.is_none() && (type_name == TypeName::Auto || is_const) {
                    let what = format!("`{name}` has no value, from which its type would follow");
                    return Err(Trouble::new(at, what));
                }
                vec![(name, first)]
            };
            for (name, first) in &declared {
                if is_const {
                    self.fixed.push(self.names.len());
                    if let Some(Expression { kind: Term::Number(number, _), .. }) = first {
                        self.numbers.push((self.names.len(), *number));
                    }
                }
                self.names.push(name.clone());
            }
            variables.extend(declared);
            if !self.takes(",") {
                return Ok(Some(Step::Declare(type_name, variables)));
            }
        }
    }

    /// A name that is neither a variable nor a function of the text: what is around is taken along.
    pub(super) fn capture(&mut self, name: &str) -> Option<&Captured> {
        if !self.captured.iter().any(|(known, _)| known == name) {
            let captured = self.around.find(name).or_else(|| prelude::kernel(name))?;
            self.captured.push((name.into(), captured));
        }
        self.captured.iter().find(|(known, _)| known == name).map(|(_, captured)| captured)
    }

    /// Whether a function of a name stands behind what was read.
    pub(super) fn is_defined_behind(&self, name: &str) -> bool {
        let tokens = self.tokens[self.at..].windows(3);
        tokens.map(|three| [three[0].0, three[1].0, three[2].0]).any(|three| match three {
            [Token::Name(before), Token::Name(found), Token::Sign("(")] => {
                found == name && (before == "void" || !KEYWORDS.contains(&before))
            }
            _ => false,
        })
    }

    /// The error of a part that a state has not: `b.t` beside `b.s`.
    pub(super) fn no_part(&self, name: &str, at: Span) -> Option<Trouble> {
        let (state, part) = name.split_once('.')?;
        let of_state =
            |known: &String| known.strip_prefix(state)?.strip_prefix('.').map(Into::into);
        let parts: Vec<String> = self.names.iter().filter_map(of_state).collect();
        let what = format!("`{state}` has no part `{part}`");
        let remedy = format!("it has {}", parts.join(", "));
        (!parts.is_empty()).then(|| Trouble::new(at, what).with(Some(remedy)))
    }

    /// The error of a name that nothing has.
    pub(super) fn unknown(&self, name: &str, at: Span, what: &str) -> Trouble {
        let functions = self.functions.iter().map(|known| &known.name);
        let around = self.around.names();
        let names = self.names.iter().chain(functions).map(String::as_str).chain(around);
        let remedy = dialect::instead(name);
        let remedy = remedy.or_else(|| library::meant(name, names.chain(BUILT_IN))).or_else(|| {
            (what != "function")
                .then(|| format!("parameters, variables, i, n and the script's numbers that are in sight here are known; a closure sees only those that its own code names: write {name}; in it"))
        });
        Trouble::new(at, format!("unknown {what} `{name}`")).with(remedy)
    }
}

/// Names that are always known: the lane, and how many there are.
pub(super) const BUILT_IN: [&str; 2] = ["i", "n"];

/// Words that are no names.
pub(super) const KEYWORDS: [&str; 20] = [
    "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return",
    "const", "void", "auto", "out", "raw", "struct", "goto", "sizeof", "acc_t",
];

/// Those of C that kernels have not.
pub(super) const REFUSED: [&str; 2] = ["struct", "goto"];

impl Term {
    /// Whether it is a place that can be assigned to.
    pub(super) fn is_place(&self) -> bool {
        matches!(self, Self::Name(_) | Self::Index(..) | Self::Local(..))
    }
}
