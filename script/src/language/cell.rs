//! A cell: what was typed, or a file. Its text is read once, into tokens and pieces, and each piece becomes a program
//! once; whether it is complete, its colours, its notes and its value all come from there.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use porcini_core::interrupt;
use rhai::{AST, Engine, LexError, ParseError, ParseErrorType, Position, Token};

use crate::language::arguments::{self, MOST_ARGUMENTS};
use crate::language::called;
use crate::language::calls;
use crate::language::lexer::{Lexeme, Lexer};
use crate::language::semicolons::{self, end_statement, place, position};
use crate::language::tokens::Owner;
use crate::language::words::n_lines;

/// A text and what was read of it.
#[derive(Debug)]
pub struct Cell {
    text: Rc<str>,
    lexemes: Vec<Lexeme>,
    pieces: Vec<Piece>,
    /// Whether Ctrl-C ended the reading.
    is_cut: bool,
    /// Variables that one piece may leave for another; `None` where no call can be marked.
    declared: OnceCell<Option<HashSet<String>>>,
    /// The module that it is the text of.
    owner: Option<Owner>,
}

/// A part of a cell that runs by itself: script, or a command with its script.
#[derive(Debug)]
pub struct Piece {
    /// Its first byte, and the byte behind the last.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Where its script starts: at the end, if a command takes none.
    pub(crate) script: usize,
    pub(crate) is_command: bool,
    line: usize,
    pub(crate) lines: Lines,
    lexemes: Range<usize>,
    program: OnceCell<AST>,
}

/// Lines of a program that is a part of a text, and counts them from its own first one on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    /// Those above it.
    above: usize,
    /// Those that it has.
    own: usize,
}

/// How a line begins that is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The line is all of it.
    Line,
    /// Behind so many bytes a script begins, which ends where it is complete.
    Script(usize),
    /// Behind so many bytes a script begins, to which all lines belong.
    AllLines(usize),
    /// All lines belong to it, and none is script.
    AllText,
}

impl Cell {
    /// A text that is script from beginning to end.
    pub fn script(text: &str) -> Self {
        let mut cell = Self::new(text);
        let start = start_of_script(&cell.text);
        let end = cell.lex(start, |_, _| false);
        cell.add(start..end, None, 0..cell.lexemes.len());
        cell
    }

    /// The text of the module of a number, which owns its functions.
    pub(crate) fn of_module(text: &str, number: usize) -> Self {
        let mut cell = Self::script(text);
        let code = cell.lexemes.iter().filter(|lexeme| !lexeme.is_comment());
        let pairs = code.clone().zip(code.skip(1));
        let names = pairs
            .filter(|(before, _)| before.token == Token::Fn)
            .map(|(_, name)| cell.text[name.start..name.end].to_string());
        cell.owner = Some(Owner { number, functions: names.collect() });
        cell
    }

    /// A script whose pieces are its statements: they end with lines, not within brackets.
    pub fn statements(text: &str) -> Self {
        let mut cell = Self::script(text);
        let code: Vec<usize> =
            (0..cell.lexemes.len()).filter(|&i| !cell.lexemes[i].is_comment()).collect();
        let ends = code.windows(2).filter(|pair| cell.is_end(pair[0], pair[1]));
        let mut bounds: Vec<usize> = ends.map(|pair| pair[1]).collect();
        bounds.extend(code.last().map(|_| cell.lexemes.len()));
        // After Ctrl-C there is something to run that says so.
        if !cell.is_cut {
            cell.pieces.clear();
        }
        let mut first = code.first().copied().unwrap_or(0);
        for bound in bounds {
            let bytes = cell.start_of_line(first)..cell.end_of_line(first..bound);
            cell.add(bytes, None, first..bound);
            // Functions are called from elsewhere: they keep the places of the text.
            let defines =
                |lexeme: &Lexeme| matches!(lexeme.token, Token::Fn | Token::Pipe | Token::Or);
            if let Some(piece) = cell.pieces.last_mut()
                && !cell.lexemes[first..bound].iter().any(defines)
            {
                let own = n_lines(&cell.text[piece.start..piece.end]) + 1;
                piece.lines = Lines { above: piece.line - 1, own };
            }
            first = bound;
        }
        cell
    }

    /// A text with commands between scripts; `head` looks at a line, and is told whether it is the first.
    pub(crate) fn read(text: &str, head: impl Fn(&str, bool) -> Option<Head>) -> Self {
        let mut cell = Self::new(text);
        let text = cell.text.clone();
        let mut start = start_of_script(&text);
        while let Some(blank) = text[start..].find(|c: char| !c.is_whitespace()) {
            let from = cell.lexemes.len();
            start += text[start..start + blank].rfind('\n').map_or(0, |end| end + 1);
            let line = line_at(&text, start);
            let head_here = head(line, cell.pieces.is_empty());
            let script = start + head_here.map_or(0, |head| head.bytes(line, &text[start..]));
            let end = match head_here {
                None => cell.lex(script, |_, line| head(line, false).is_some()),
                Some(Head::Line | Head::AllText) => script,
                Some(Head::Script(_)) => {
                    cell.lex(script, |last, _| last.is_none_or(|last| !last.wants_operand(&text)))
                }
                Some(Head::AllLines(_)) => cell.lex(script, |_, _| false),
            };
            cell.add(start..end, head_here.map(|_| script), from..cell.lexemes.len());
            start = end;
        }
        cell
    }

    fn new(text: &str) -> Self {
        // What some editors put at the start of a text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            text: text.into(),
            lexemes: Vec::new(),
            pieces: Vec::new(),
            is_cut: false,
            declared: OnceCell::new(),
            owner: None,
        }
    }

    /// Reads tokens from a byte on, up to the line at whose start nothing is open and which `stops` it, given the last
    /// token of code; the byte where it ended.
    fn lex(&mut self, start: usize, stops: impl Fn(Option<&Lexeme>, &str) -> bool) -> usize {
        let text = self.text.clone();
        let mut code: Option<usize> = None;
        let (mut end, mut is_open) = (start, false);
        for lexeme in Lexer::new(&text, start) {
            let line = text[end..lexeme.start].rfind('\n').filter(|_| !is_open);
            if let Some(line) = line.map(|at| end + at + 1)
                && stops(code.map(|i| &self.lexemes[i]), line_at(&text, line))
            {
                return line;
            }
            (end, is_open) = (lexeme.end, lexeme.is_open());
            if !lexeme.is_comment() {
                code = Some(self.lexemes.len());
            }
            self.lexemes.push(lexeme);
        }
        self.is_cut |= interrupt::is_requested();
        text.len()
    }

    /// Adds a piece with its tokens; `script` is where that of a command starts.
    fn add(&mut self, bytes: Range<usize>, script: Option<usize>, lexemes: Range<usize>) {
        let (from, line) = self.pieces.last().map_or((0, 1), |last| (last.start, last.line));
        self.pieces.push(Piece {
            line: line + n_lines(&self.text[from..bytes.start]),
            lines: Lines::default(),
            start: bytes.start,
            end: bytes.end,
            script: script.unwrap_or(bytes.start),
            is_command: script.is_some(),
            lexemes,
            program: OnceCell::new(),
        });
    }

    /// Whether a statement ends between two tokens of code, with its line.
    fn is_end(&self, before: usize, next: usize) -> bool {
        let (before, next) = (&self.lexemes[before], &self.lexemes[next]);
        let is_ended =
            before.token == Token::SemiColon && self.text[before.end..next.start].contains('\n');
        before.depth == 0 && (is_ended || end_statement(&self.text, before, next))
    }

    /// Where the line of a token starts, or the token before it on that line ends.
    fn start_of_line(&self, i: usize) -> usize {
        let before = i.checked_sub(1).map_or(0, |before| self.lexemes[before].end);
        let gap = &self.text[before..self.lexemes[i].start];
        before + gap.rfind('\n').map_or(0, |end| end + 1)
    }

    /// Where the last line of code of these tokens ends; comments on it belong to it.
    fn end_of_line(&self, range: Range<usize>) -> usize {
        let lexemes = &self.lexemes[range];
        let code = lexemes.iter().rposition(|lexeme| !lexeme.is_comment()).unwrap_or(0);
        let mut end = lexemes[code].end;
        for comment in &lexemes[code + 1..] {
            if self.text[end..comment.start].contains('\n') {
                break;
            }
            end = comment.end;
        }
        end
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What runs one after another.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The text of a piece.
    pub fn code(&self, piece: &Piece) -> &str {
        &self.text[piece.start..piece.end]
    }

    /// Whether Ctrl-C ended the reading: such a cell is no program.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn shared_text(&self) -> Rc<str> {
        self.text.clone()
    }

    pub(crate) fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    pub(crate) fn lexemes_of(&self, piece: &Piece) -> &[Lexeme] {
        &self.lexemes[piece.lexemes.clone()]
    }

    /// The last token of a piece that is no comment.
    pub(crate) fn last_of(&self, piece: &Piece) -> Option<&Lexeme> {
        self.lexemes_of(piece).iter().rfind(|lexeme| !lexeme.is_comment())
    }

    /// The token that ends at a byte or behind it, and begins before.
    pub(crate) fn lexeme_at(&self, byte: usize) -> Option<&Lexeme> {
        let n = self.lexemes.partition_point(|lexeme| lexeme.start < byte);
        self.lexemes[..n].last()
    }

    /// The program of a script.
    ///
    /// # Errors
    /// As [`Cell::compile_part`].
    pub(crate) fn compile(&self, engine: &Engine) -> Result<AST, ParseError> {
        let piece = self.pieces.first();
        piece.map_or_else(
            || Ok(AST::empty()),
            |piece| self.compile_part(engine, piece, piece.script..piece.end),
        )
    }

    /// Whether it is one expression.
    pub(crate) fn is_expression(&self, engine: &Engine) -> bool {
        !self.is_cut && semicolons::is_expression(engine, &self.text, &self.lexemes)
    }

    /// The program of a piece, made once.
    ///
    /// # Errors
    /// As [`Cell::compile_part`].
    pub(crate) fn program<'c>(
        &self,
        engine: &Engine,
        piece: &'c Piece,
    ) -> Result<&'c AST, ParseError> {
        match piece.program.get() {
            Some(program) => Ok(program),
            None => {
                let program = self.compile_part(engine, piece, piece.script..piece.end)?;
                Ok(piece.program.get_or_init(|| program))
            }
        }
    }

    /// The program of a part of a piece.
    ///
    /// # Errors
    /// The first error that no semicolon mends; any, after Ctrl-C.
    pub(crate) fn compile_part(
        &self,
        engine: &Engine,
        piece: &Piece,
        part: Range<usize>,
    ) -> Result<AST, ParseError> {
        if self.is_cut || interrupt::is_requested() {
            return Err(ParseError(ParseErrorType::UnexpectedEOF.into(), Position::NONE));
        }
        let lexemes = self.lexemes_of(piece);
        if let Some(open) = lexemes.last().filter(|last| last.is_open_comment()) {
            // Rhai takes the rest of the text for a part of it.
            let what = LexError::ImproperSymbol(String::new(), "this comment is not closed".into());
            let at = position(&self.text, open.start);
            return Err(ParseError(ParseErrorType::BadInput(what).into(), at));
        }
        if let Some(call) = arguments::too_many(lexemes) {
            let what = format!(
                "a call has at most {MOST_ARGUMENTS} arguments; a list holds more: f([a, b, ..])"
            );
            let what = LexError::ImproperSymbol(String::new(), what);
            let at = position(&self.text, call.start);
            return Err(ParseError(ParseErrorType::BadInput(what).into(), at));
        }
        let [first, end] =
            [part.start, part.end].map(|at| lexemes.partition_point(|l| l.start < at));
        let line = piece.line - piece.lines.above + n_lines(&self.text[piece.start..part.start]);
        let declared = self.declared.get_or_init(|| {
            let mut names = HashSet::new();
            called::add_declared(&mut names, &self.text, &self.lexemes, self.pieces.len() > 1);
            calls::can_stand_in(&self.text).then_some(names)
        });
        let declared = declared.as_ref();
        let lexemes = &lexemes[first..end];
        let program = semicolons::compile(
            engine,
            &self.text,
            lexemes,
            part,
            line,
            declared,
            self.owner.as_ref(),
        );
        program.map_err(|ParseError(what, at)| ParseError(what, piece.lines.place(at)))
    }
}

impl Piece {
    /// The line at which it starts.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl Lines {
    /// The line of the text that the program names so; those of functions elsewhere are lines of the text.
    pub(crate) fn in_text(self, line: usize) -> usize {
        if line <= self.own { line + self.above } else { line }
    }

    /// The place in the text that the program names so.
    pub(crate) fn place(self, at: Position) -> Position {
        let column = at.position().unwrap_or(0);
        at.line().map_or(at, |line| place(self.in_text(line), column))
    }
}

impl Head {
    /// Bytes of a line and what follows that are no script.
    fn bytes(self, line: &str, rest: &str) -> usize {
        match self {
            Self::Line => line.len(),
            Self::AllText => rest.len(),
            Self::Script(bytes) | Self::AllLines(bytes) => bytes,
        }
    }
}

/// The line that starts at a byte.
fn line_at(text: &str, start: usize) -> &str {
    text[start..].split_inclusive('\n').next().unwrap_or_default()
}

/// A `#!` in front is for the system.
fn start_of_script(text: &str) -> usize {
    if text.starts_with("#!") { text.find('\n').unwrap_or(text.len()) } else { 0 }
}
