//! Which calls of a text may mean closures: those whose name a variable in sight has.
//!
//! One pass over the tokens follows what blocks, functions and closures declare. Whether the variable holds a closure
//! is seen only when the call runs; see [`crate::language::calls`].

use std::collections::{HashMap, HashSet};

use rhai::Token;

use crate::language::calls::{LOOK_AROUND, Meaning};
use crate::language::lexer::Lexeme;

/// Names that Rhai's parser or engine treats in its own way.
const SPECIAL: [&str; 7] = ["call", "curry", "Fn", "is_def_var", "is_def_fn", "is_shared", "this"];

/// Follows the declarations of a text.
pub(crate) struct Scopes<'a> {
    text: &'a str,
    /// Whether a variable is there before.
    outside: &'a dyn Fn(&str) -> bool,
    frames: Vec<Frame<'a>>,
    /// How many frames have each name, since the innermost function began; and what was so around it.
    visible: HashMap<&'a str, usize>,
    hidden: Vec<HashMap<&'a str, usize>>,
    /// Open bodies of functions and closures, and of closures alone.
    n_bodies: usize,
    n_closures: usize,
    /// Frames that were open before each open bracket.
    brackets: Vec<usize>,
    /// Variables that `let` declares where its statement ends, and the brackets that are open there.
    pending: Vec<(&'a str, usize)>,
    /// Variables of the next block, and of the next closure.
    header: Vec<&'a str>,
    parameters: Vec<&'a str>,
    reading: Reading,
    /// The token before.
    before: Option<&'a Token>,
    /// A name at the start of a statement, which `=` may follow.
    first: Option<&'a str>,
    /// All names that something declares so far.
    all: HashSet<&'a str>,
}

struct Frame<'a> {
    kind: Kind,
    /// Brackets that are open around it.
    depth: usize,
    names: HashSet<&'a str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Block,
    /// The body of a function, which sees no variables around it.
    Function,
    /// The body of a closure that is a block, and that is an expression.
    ClosureBlock,
    ClosureExpression,
}

/// What the names to come are.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Nothing,
    Let,
    /// The names in `let [a, b]`.
    Unpacked,
    /// The parameters of a function, the variables of `for` and `catch`.
    Function,
    Header,
    /// The parameters of a closure, or its body comes.
    Parameters,
    Body,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(text: &'a str, outside: &'a dyn Fn(&str) -> bool) -> Self {
        let top = Frame { kind: Kind::Block, depth: 0, names: HashSet::new() };
        Self {
            text,
            outside,
            frames: vec![top],
            visible: HashMap::new(),
            hidden: Vec::new(),
            n_bodies: 0,
            n_closures: 0,
            brackets: Vec::new(),
            pending: Vec::new(),
            header: Vec::new(),
            parameters: Vec::new(),
            reading: Reading::Nothing,
            before: None,
            first: None,
            all: HashSet::new(),
        }
    }

    /// Takes note of the next token, that is no comment; `starts` says whether it begins a statement on a line of its
    /// own. What a name in front of arguments means, that a variable in sight has, or a function that looks around.
    pub(crate) fn follow(
        &mut self,
        lexeme: &'a Lexeme,
        starts: bool,
        next: Option<&Token>,
    ) -> Option<Meaning> {
        let token = &lexeme.token;
        let starts =
            starts || matches!(self.before, None | Some(Token::SemiColon | Token::LeftBrace));
        if starts {
            self.end_statement();
        }
        // Behind a block a statement may begin, or the one around it goes on.
        let starts = starts || matches!(self.before, Some(Token::RightBrace));
        let first = self.first.take();
        let meaning = match token {
            Token::Identifier(_) | Token::Reserved(_) => {
                let name = &self.text[lexeme.start..lexeme.end];
                self.first = starts.then_some(name);
                self.name(name, next)
            }
            token => {
                self.symbol(token, first);
                None
            }
        };
        self.before = Some(token);
        meaning
    }

    /// Whether this is in the body of a closure.
    pub(crate) fn are_in_closure(&self) -> bool {
        self.n_closures > 0
    }

    /// Whether a variable that is assigned to here is one of the function or closure around, if there is one: closures capture
    /// others, and functions have none.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        let body = self.frames.iter().rposition(|frame| frame.kind != Kind::Block).unwrap_or(0);
        self.n_bodies == 0 || self.frames[body..].iter().any(|frame| frame.names.contains(name))
    }

    /// All names so far that something declares, wherever it is.
    pub(crate) fn into_all(self) -> HashSet<&'a str> {
        self.all
    }

    /// `[a, b] =` at the start of a statement declares its names as [`Self::assigned`].
    pub(crate) fn unpack(&mut self, names: &[&'a str]) {
        names.iter().for_each(|name| self.assigned(Some(name)));
    }

    fn name(&mut self, name: &'a str, next: Option<&Token>) -> Option<Meaning> {
        let is_declared = matches!(self.before, Some(Token::Fn));
        let is_member =
            matches!(self.before, Some(Token::Period | Token::Elvis | Token::DoubleColon));
        if !matches!(self.reading, Reading::Nothing | Reading::Body) {
            self.all.insert(name);
        }
        match self.reading {
            Reading::Let => {
                self.pending.push((name, self.brackets.len()));
                self.reading = Reading::Nothing;
            }
            Reading::Unpacked => self.pending.push((name, self.brackets.len() - 1)),
            Reading::Function | Reading::Header if !is_declared => self.header.push(name),
            Reading::Parameters => self.parameters.push(name),
            Reading::Body => self.begin(Kind::ClosureExpression),
            _ => {}
        }
        let is_call = matches!(next, Some(Token::LeftParen | Token::Unit))
            && !(is_declared || is_member || SPECIAL.contains(&name));
        if is_call && self.is_visible(name) {
            return Some(Meaning::Variable);
        }
        (is_call && LOOK_AROUND.contains(&name)).then_some(Meaning::Function)
    }

    fn symbol(&mut self, token: &'a Token, first: Option<&'a str>) {
        match token {
            Token::Let | Token::Const => self.reading = Reading::Let,
            Token::Fn => self.reading = Reading::Function,
            Token::For | Token::Catch => self.reading = Reading::Header,
            Token::In if self.reading == Reading::Header => self.reading = Reading::Nothing,
            Token::Pipe | Token::Or if self.reading == Reading::Parameters => {
                self.reading = Reading::Body;
            }
            Token::Pipe | Token::Or if self.begins_operand() => {
                if self.reading == Reading::Body {
                    self.begin(Kind::ClosureExpression);
                }
                let is_empty = *token == Token::Or;
                self.reading = if is_empty { Reading::Body } else { Reading::Parameters };
            }
            Token::Equals => self.assigned(first),
            Token::SemiColon => self.end_statement(),
            Token::Comma => self.end_expressions(),
            Token::LeftBrace => self.open_block(),
            Token::LeftParen | Token::LeftBracket | Token::QuestionBracket | Token::MapStart => {
                if self.reading == Reading::Body {
                    self.begin(Kind::ClosureExpression);
                } else if self.reading == Reading::Let {
                    self.reading = Reading::Unpacked;
                }
                self.brackets.push(self.frames.len());
            }
            Token::RightBrace | Token::RightParen | Token::RightBracket => self.close(),
            _ if self.reading == Reading::Body => self.begin(Kind::ClosureExpression),
            _ => {}
        }
    }

    /// Whether this is in a function that does not see a variable of that name, nor declares it here.
    pub(crate) fn hide(&self, name: &str) -> bool {
        !self.hidden.is_empty() && !self.is_visible(name) && self.reading != Reading::Unpacked
    }

    /// Whether a variable has the name here.
    fn is_visible(&self, name: &str) -> bool {
        self.visible.get(name).is_some_and(|n| *n > 0)
            || self.hidden.is_empty() && (self.outside)(name)
    }

    /// `name =` at the start of a statement outside of functions declares.
    fn assigned(&mut self, name: Option<&'a str>) {
        self.all.extend(name);
        if let Some(name) = name.filter(|_| self.n_bodies == 0) {
            self.declare(0, name);
        }
    }

    fn declare(&mut self, frame: usize, name: &'a str) {
        if self.frames.get_mut(frame).is_some_and(|frame| frame.names.insert(name)) {
            *self.visible.entry(name).or_default() += 1;
        }
    }

    /// Whether a `|` begins a closure here.
    fn begins_operand(&self) -> bool {
        !matches!(
            self.before,
            Some(
                Token::Identifier(_)
                    | Token::Reserved(_)
                    | Token::IntegerConstant(_)
                    | Token::FloatConstant(_)
                    | Token::CharConstant(_)
                    | Token::StringConstant(_)
                    | Token::RightParen
                    | Token::RightBracket
                    | Token::RightBrace
                    | Token::Unit
                    | Token::True
                    | Token::False
            )
        )
    }

    fn open_block(&mut self) {
        let n = self.frames.len();
        self.begin(match self.reading {
            Reading::Body => Kind::ClosureBlock,
            Reading::Function => Kind::Function,
            _ => Kind::Block,
        });
        self.brackets.push(n);
    }

    /// The body of a function or closure, or a block.
    fn begin(&mut self, kind: Kind) {
        self.reading = Reading::Nothing;
        let is_closure = matches!(kind, Kind::ClosureBlock | Kind::ClosureExpression);
        if kind == Kind::Function {
            self.hidden.push(std::mem::take(&mut self.visible));
        }
        self.n_bodies += usize::from(kind != Kind::Block);
        self.n_closures += usize::from(is_closure);
        let names = if is_closure { &mut self.parameters } else { &mut self.header };
        let names = std::mem::take(names);
        let frame = self.frames.len();
        self.frames.push(Frame { kind, depth: self.brackets.len(), names: HashSet::new() });
        names.into_iter().for_each(|name| self.declare(frame, name));
    }

    /// The innermost body or block ends.
    fn end(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.n_bodies -= usize::from(frame.kind != Kind::Block);
        let is_closure = matches!(frame.kind, Kind::ClosureBlock | Kind::ClosureExpression);
        self.n_closures -= usize::from(is_closure);
        if frame.kind == Kind::Function {
            self.visible = self.hidden.pop().unwrap_or_default();
            return;
        }
        for name in frame.names {
            if let Some(n) = self.visible.get_mut(name) {
                *n -= 1;
            }
        }
    }

    fn close(&mut self) {
        if self.reading == Reading::Unpacked {
            self.reading = Reading::Nothing;
        }
        let n = self.brackets.pop().unwrap_or(1);
        while self.frames.len() > n {
            self.end();
        }
        let depth = self.brackets.len();
        while self.pending.pop_if(|(_, at)| *at > depth).is_some() {}
    }

    /// Closures whose body is an expression end with it.
    fn end_expressions(&mut self) {
        let is_ended = |frame: &Frame<'_>| {
            frame.kind == Kind::ClosureExpression && frame.depth == self.brackets.len()
        };
        let n = self.frames.iter().rev().take_while(|frame| is_ended(frame)).count();
        (0..n).for_each(|_| self.end());
    }

    fn end_statement(&mut self) {
        if matches!(self.reading, Reading::Function | Reading::Header | Reading::Body) {
            return;
        }
        self.end_expressions();
        let depth = self.brackets.len();
        while let Some((name, _)) = self.pending.pop_if(|(_, at)| *at >= depth) {
            self.declare(self.frames.len() - 1, name);
        }
    }
}

/// Adds the variables that a text declares outside of blocks: by assigning to them and, `with_let`, with `let`.
pub(crate) fn add_declared(
    names: &mut HashSet<String>,
    text: &str,
    lexemes: &[Lexeme],
    with_let: bool,
) {
    let mut before: Option<&Lexeme> = None;
    let mut is_let = false;
    for lexeme in lexemes.iter().filter(|lexeme| !lexeme.is_comment()) {
        let name = before.filter(|name| matches!(name.token, Token::Identifier(_)));
        if let Some(name) = name
            && lexeme.token == Token::Equals
            && name.depth == 0
            && (with_let || !is_let)
        {
            names.insert(text[name.start..name.end].into());
        }
        if !matches!(lexeme.token, Token::Identifier(_)) {
            is_let = matches!(lexeme.token, Token::Let | Token::Const);
        }
        before = Some(lexeme);
    }
}
