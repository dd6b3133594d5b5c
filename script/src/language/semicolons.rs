//! Statements on lines of their own need no `;`, as in Python: one is added at the end of a line whose last token
//! could end a statement, if the first token of the next can only begin one. A line that starts with `[` is a list,
//! not an index of the line before, one that starts with `(` is no call of it, and one that starts with `-x` is a
//! number, not what is taken from it. Positions stay what they are.

use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use porcini_core::memory::caching_allocator::Bytes;
use rhai::{AST, Engine, LexError, ParseError, ParseErrorType, Position, Token};

use crate::language::called::Scopes;
use crate::language::calls::{self, Meaning};
use crate::language::lexer::{LETTER, Lexeme};
use crate::language::reassigned;
use crate::language::slices;
use crate::language::tokens::{self, Owner, Told};
use crate::language::unpack;
use crate::language::words::n_lines;

/// Bytes of a name or number at most: only between tokens the parser looks at Ctrl-C. It gets longer texts, comments and
/// blanks without their contents, which this crate's own lexer has read already.
const LONGEST_TOKEN: usize = 1 << 20;
/// Lines that the parser counts, and columns.
const MOST_COUNTED: usize = u16::MAX as usize;

/// Compiles a part of a text that starts on line `line`, adding semicolons at the ends of lines where they are missed;
/// `declared` are variables that the whole text declares.
///
/// # Errors
/// The first error that no semicolon mends.
pub(crate) fn compile(
    engine: &Engine,
    text: &str,
    lexemes: &[Lexeme],
    part: Range<usize>,
    line: usize,
    declared: Option<&HashSet<String>>,
    owner: Option<&Owner>,
) -> Result<AST, ParseError> {
    let known = tokens::variables(engine).filter(|_| declared.is_some());
    let known = known.as_ref().map(|known| known.borrow());
    let is_variable = |name: &str| {
        known.as_ref().is_some_and(|known| known.contains(name))
            || declared.is_some_and(|declared| declared.contains(name))
    };
    let scopes = known.is_some().then(|| Scopes::new(text, &is_variable));
    let mended = Mended::new(text, lexemes, part, line, scopes, declared, owner);
    if let Some(place) = mended.too_long {
        let most = Bytes(LONGEST_TOKEN as u64);
        let what = format!("a name, number or piece of text is longer than {most}");
        let error = ParseErrorType::BadInput(LexError::ImproperSymbol(String::new(), what));
        return Err(ParseError(error.into(), position(text, place)));
    }
    drop(known);
    if let Some(unpacked) = tokens::unpacked(engine) {
        unpacked.borrow_mut().extend(mended.unpacked);
    }
    tokens::start(engine, mended.told);
    engine.compile(mended.text)
}

/// Line and column of a byte.
pub(crate) fn position(text: &str, byte: usize) -> Position {
    let line = n_lines(&text[..byte]) + 1;
    place(line, text[..byte].chars().rev().take_while(|c| *c != '\n').count() + 1)
}

/// A place in a text, as far as Rhai counts.
pub(crate) fn place(line: usize, column: usize) -> Position {
    let [line, column] = [line, column].map(|n| u16::try_from(n).unwrap_or(u16::MAX));
    Position::new(line, column)
}

/// Whether a text is one expression.
pub(crate) fn is_expression(engine: &Engine, text: &str, lexemes: &[Lexeme]) -> bool {
    let told = Mended::new(text, lexemes, 0..text.len(), 1, None, None, None).told;
    tokens::start(engine, Told { signs: told.signs, ..Told::default() });
    engine.compile_expression(text).is_ok()
}

/// Whether the line break between two tokens, if there is one, ends a statement.
pub(crate) fn end_statement(text: &str, before: &Lexeme, next: &Lexeme) -> bool {
    before.is_in_statements
        && text[before.end..next.start].contains('\n')
        && ends_statement(&before.token)
        && (begins_statement(&next.token) || is_sign(text, next))
}

/// Whether a minus stands right before its operand, as that of a number does: `-x`, not `- x`.
fn is_sign(text: &str, lexeme: &Lexeme) -> bool {
    matches!(lexeme.token, Token::Minus | Token::UnaryMinus)
        && !text[lexeme.end..].starts_with(char::is_whitespace)
}

/// What the parser reads for a part of a text: its semicolons added, long texts empty, calls marked that may mean
/// variables.
#[derive(Default)]
struct Mended {
    text: String,
    told: Told,
    /// Names that closures unpack lists into.
    unpacked: Vec<String>,
    n_texts: usize,
    /// The byte where something is that the parser would read for too long.
    too_long: Option<usize>,
}

impl Mended {
    /// What stands before the part is blank: the parser counts lines and columns there too.
    fn new<'t>(
        text: &'t str,
        lexemes: &'t [Lexeme],
        part: Range<usize>,
        line: usize,
        mut scopes: Option<Scopes<'t>>,
        declared: Option<&HashSet<String>>,
        owner: Option<&Owner>,
    ) -> Self {
        let mut mended = Self::default();
        mended.add_blank(line - 1, &text[..part.start]);
        let (mut copied, mut end) = (part.start, part.start);
        let mut before: Option<&Lexeme> = None;
        let mut is_behind_sign = false;
        let slices = if scopes.is_some() { slices::brackets(lexemes) } else { HashSet::new() };
        let deleted = reassigned::deleted(text, lexemes);
        let mut code = lexemes.iter().filter(|lexeme| !lexeme.is_comment()).peekable();
        while let Some(lexeme) = code.next() {
            if matches!(lexeme.token, Token::IntegerConstant(_) | Token::FloatConstant(_)) {
                // The parser sees a minus that starts a statement as a part of the number.
                mended.told.signs.push(lexeme.has_sign(text) || is_behind_sign);
            }
            let starts = before.is_some_and(|before| end_statement(text, before, lexeme));
            is_behind_sign = starts && is_sign(text, lexeme);
            if starts {
                mended.text.push_str(&text[copied..end]);
                mended.text.push(';');
                copied = end;
            }
            if lexeme.start - end > LONGEST_TOKEN {
                mended.text.push_str(&text[copied..end]);
                mended.add_lines(&text[end..lexeme.start]);
                copied = lexeme.start;
            }
            if mended.takes_text(text, copied, before, lexeme) {
                copied = lexeme.end;
            } else if lexeme.end - lexeme.start > LONGEST_TOKEN {
                mended.too_long.get_or_insert(lexeme.start);
            }
            let begins = starts || before.is_none_or(|before| begins_behind(&before.token));
            if let Some(scopes) = scopes.as_mut().filter(|_| begins)
                && let Some((read, names)) = unpack::begins(text, lexeme, code.clone())
            {
                mended.text.push_str(&text[copied..lexeme.start]);
                mended.text.push_str(read);
                mended.told.has_marks = true;
                copied = lexeme.end;
                if lexeme.token == Token::LeftBracket {
                    scopes.unpack(&names);
                } else if scopes.are_in_closure() {
                    mended.unpacked.extend(names.into_iter().map(tokens::registered));
                }
            }
            let is_sliced =
                |next: &Lexeme| slices.contains(&next.start) && slices::is_variable(before, lexeme);
            let next = code.peek().copied().filter(|next| !end_statement(text, lexeme, next));
            let is_slice = next.is_some_and(is_sliced);
            let own = owner.filter(|_| {
                let is_variable =
                    |known: &HashSet<String>| known.contains(&text[lexeme.start..lexeme.end]);
                let is_path = before.is_some_and(|before| {
                    matches!(before.token, Token::Period | Token::Elvis | Token::DoubleColon)
                });
                match next.map(|next| &next.token) {
                    Some(Token::LeftParen | Token::Unit) => !is_path,
                    // A key of a map; what else is no variable is a function that is passed.
                    Some(Token::Colon) => false,
                    _ => !is_path && !declared.is_some_and(is_variable),
                }
            });
            // An arm of a switch may assign, too.
            let assigns = begins || before.is_some_and(|it| it.token == Token::DoubleArrow);
            (before, end) = (Some(lexeme), lexeme.end);
            let sign = next.filter(|next| next.start - end <= LONGEST_TOKEN);
            let next = next.map(|next| &next.token);
            let call = scopes.as_mut().and_then(|scopes| scopes.follow(lexeme, starts, next));
            let call = call.or(is_slice.then_some(Meaning::Variable));
            let is_deleted = assigns && next == Some(&Token::Equals) && {
                let name = &text[lexeme.start..lexeme.end];
                deleted.contains(name) && scopes.as_ref().is_some_and(|scopes| scopes.is_own(name))
            };
            if let (Some(meaning), Some(bracket)) = (call, sign) {
                let first = code.clone().nth(1);
                copied = mended.mark_call(text, copied, lexeme, meaning, bracket, first);
            } else if let Some(equals) = sign.filter(|_| is_deleted) {
                copied = mended.mark_assignment(text, copied, lexeme, equals);
            } else if matches!(lexeme.token, Token::Identifier(_)) {
                copied = mended.take_name(text, copied, lexeme, own);
            }
        }
        let rest = if part.end - end > LONGEST_TOKEN { end } else { part.end };
        mended.text.push_str(&text[copied..rest]);
        mended
    }

    /// Puts letters that Rhai knows in place of a name with others, or of one that an owner has; the byte up to which the
    /// text is copied.
    fn take_name(
        &mut self,
        text: &str,
        copied: usize,
        name: &Lexeme,
        owner: Option<&Owner>,
    ) -> usize {
        let written = &text[name.start..name.end];
        let own = owner.and_then(|owner| owner.own(written));
        if written.is_ascii() && own.is_none() {
            if is_stand_in(written) {
                self.told.names.push(name.token.clone());
            }
            return copied;
        }
        let token = own.map(|own| Token::Identifier(Box::new(own.into())));
        self.text.push_str(&text[copied..name.start]);
        self.text.extend(iter::repeat_n(LETTER, written.chars().count()));
        self.told.names.push(token.unwrap_or_else(|| name.token.clone()));
        name.end
    }

    /// Marks a call whose name may mean a variable, or a slice; the byte up to which the text is copied.
    fn mark_call(
        &mut self,
        text: &str,
        copied: usize,
        name: &Lexeme,
        meaning: Meaning,
        bracket: &Lexeme,
        first: Option<&Lexeme>,
    ) -> usize {
        let written = &text[name.start..name.end];
        let (read, opened) =
            calls::marked(written, meaning, &bracket.token, first.map(|first| &first.token));
        self.text.push_str(&text[copied..name.start]);
        self.text.push_str(&read);
        self.text.push_str(&text[name.end..bracket.start]);
        self.text.push_str(opened);
        self.told.has_marks = true;
        self.told.calls.push((name.token.clone(), bracket.token.clone()));
        bracket.end
    }

    /// Marks an assignment to a name that the text deletes; the byte up to which the text is copied.
    fn mark_assignment(
        &mut self,
        text: &str,
        copied: usize,
        name: &Lexeme,
        equals: &Lexeme,
    ) -> usize {
        let [first, second] = reassigned::MARKS;
        self.text.push_str(&text[copied..name.start]);
        self.text.push(first);
        let n = text[name.start..name.end].chars().count();
        self.text.extend(iter::repeat_n(' ', n - 1));
        self.text.push_str(&text[name.end..equals.start]);
        self.text.push(second);
        self.told.has_marks = true;
        self.told.assigned.push(name.token.clone());
        equals.end
    }

    /// Takes a long text out of what the parser reads.
    fn takes_text(
        &mut self,
        text: &str,
        copied: usize,
        before: Option<&Lexeme>,
        lexeme: &Lexeme,
    ) -> bool {
        if !matches!(lexeme.token, Token::StringConstant(_)) {
            return false;
        }
        let number = self.n_texts;
        self.n_texts += 1;
        let written = &text[lexeme.start..lexeme.end];
        // Behind a brace it may be the rest of a text with values in it, which has no quote.
        let is_whole = before.is_none_or(|before| before.token != Token::RightBrace);
        let quote = written.chars().next().filter(|quote| is_whole && matches!(quote, '"' | '`'));
        let Some(quote) = quote.filter(|_| written.len() > LONGEST_TOKEN) else { return false };
        self.text.push_str(&text[copied..lexeme.start]);
        self.text.push(quote);
        if quote == '`' {
            self.add_lines(written);
        }
        self.text.push(quote);
        self.told.texts.insert(number, lexeme.token.clone());
        true
    }

    fn add_lines(&mut self, text: &str) {
        self.add_blank(n_lines(text), text);
    }

    /// So many line ends, and blanks up to the column where a text ends.
    fn add_blank(&mut self, n_lines: usize, text: &str) {
        let column = text.chars().rev().take(MOST_COUNTED).take_while(|c| *c != '\n').count();
        self.text.extend(iter::repeat_n('\n', n_lines.min(MOST_COUNTED)));
        self.text.extend(iter::repeat_n(' ', column));
    }
}

/// Whether a statement may end with a token.
fn ends_statement(token: &Token) -> bool {
    match token {
        // Names follow it.
        Token::Identifier(word) => word.as_str() != "del",
        Token::Reserved(word) => is_word(word),
        // `_3`, the value of cell 3.
        Token::LexError(error) => matches!(**error, LexError::MalformedIdentifier(_)),
        Token::Underscore
        | Token::IntegerConstant(_)
        | Token::FloatConstant(_)
        | Token::CharConstant(_)
        | Token::StringConstant(_)
        | Token::True
        | Token::False
        | Token::Unit
        | Token::Continue
        | Token::RightParen
        | Token::RightBracket
        | Token::RightBrace => true,
        _ => false,
    }
}

/// Whether a token behind one that may end a statement begins another.
fn begins_statement(token: &Token) -> bool {
    match token {
        Token::Reserved(word) => is_word(word),
        Token::LexError(error) => matches!(**error, LexError::MalformedIdentifier(_)),
        Token::Identifier(_)
        | Token::Underscore
        | Token::IntegerConstant(_)
        | Token::FloatConstant(_)
        | Token::CharConstant(_)
        | Token::StringConstant(_)
        | Token::InterpolatedString(_)
        | Token::True
        | Token::False
        | Token::Bang
        | Token::LeftParen
        | Token::Unit
        | Token::LeftBracket
        | Token::LeftBrace
        | Token::MapStart
        | Token::Let
        | Token::Const
        | Token::If
        | Token::Switch
        | Token::Do
        | Token::While
        | Token::Loop
        | Token::For
        | Token::Fn
        | Token::Private
        | Token::Continue
        | Token::Break
        | Token::Return
        | Token::Throw
        | Token::Try
        | Token::Import
        | Token::Export => true,
        _ => false,
    }
}

/// Whether a name may stand for another one.
pub(crate) fn is_stand_in(name: &str) -> bool {
    name.chars().all(|c| c == LETTER)
}

/// Whether a statement begins behind a token on the same line.
fn begins_behind(token: &Token) -> bool {
    matches!(token, Token::SemiColon | Token::LeftBrace | Token::RightBrace)
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::cell::Cell;

    fn value(text: &str) -> Result<i64, String> {
        let engine = Engine::new();
        let ast = Cell::script(text).compile(&engine).map_err(|error| error.to_string())?;
        engine.eval_ast::<i64>(&ast).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_end_statements() {
        for (text, want) in [
            ("let a = 3\nlet b = 4   // two\n\na + b", 7),
            ("let a = \"//\".len()\n\na", 2),
            ("let s = 0\nfor i in 0..3 {\n  let t = i\n  s += t\n}\ns", 3),
            ("let a = 3   // [\n\n[a, 4][1]", 4),
            ("if true {\n  let a = 3\n  [a, 4][0]\n}", 3),
            ("let a = [[1, 2],\n  [3, 4]]\n[a.len(), 7][0]", 2),
            ("let c = '\"'   // quote\nlet d = 1\nd", 1),
            ("let c = `\n\"`   // quote\nlet d = 1\nd", 1),
            ("let m = #{\n  a: 1,\n  b: 2\n}\n[m.b, 3][0]", 2),
            ("let f = |x| {\n  x + 1\n}\nf.call(1)", 2),
            ("let f = |x|\n{\n  let y = x\n  y\n}\nf.call(1)", 1),
            ("fn f(x)\n{\n  x\n}\nf\n(4)", 4),
            ("let x = 2\nif x == 2\n{\n  x = 3\n}\nelse\n{\n  x = 4\n}\nx", 3),
            ("let i = 0\ndo {\n  i += 1\n}\nwhile i < 3\n{\n  i += 10\n}\ni", 13),
            ("let i = 0\nwhile i < 3\n{\n  i += 1\n}\ni", 3),
            ("let x = 1\nswitch x\n{\n  1 => {\n    let a = 5\n    a\n  }\n  _ => 6\n}", 5),
            ("let r = 0\ntry\n{\n  throw 3\n}\ncatch\n(e)\n{\n  r = e\n}\nr", 3),
            ("let a = `${\nlet x = 1\nx + 1\n}`\na.len()", 1),
            ("let a = 1\n(a + 1)", 2),
            ("let a = 1 /* one\n */ let b = 2\nb", 2),
            ("for i in 0..3 {\n  if i == 1 {\n    continue\n  }\n}\n1", 1),
            ("let a = 1\n  + 2\na", 3),
            ("let a = [1,\n2\n]\n!a.is_empty()\na.len()", 2),
            ("let a = [3]\nlet b = a\n  .len()\nb", 1),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
        for wrong in
            ["1 + 1 /* two", "let a = 3 let b = 4", "let a = (1\nlet b = 4", "if true\n3\n{ 4 }"]
        {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_long_is_read_or_refused() {
        let long = "x".repeat(LONGEST_TOKEN + 1);
        let lines = long.replace('x', "\n");
        let mut engine = Engine::new();
        tokens::install(&mut engine, Vec::new());
        let value = |text: &str| {
            let ast = Cell::script(text).compile(&engine).map_err(|error| error.to_string())?;
            engine.eval_ast::<i64>(&ast).map_err(|error| error.to_string())
        };
        let n = i64::try_from(long.len()).unwrap();
        for (text, want) in [
            (format!("1\n+ \"{long}\".len() + \"ab\".len()"), n + 3),
            (format!("1\n+ `x{lines}`.len() + \"ab\".len()"), n + 4),
            (format!("\"ab\".len() + `a${{1}}b`.len() + `{long}`.len()"), n + 5),
            (format!("1\n + /* {long} */ 2"), 3),
            (format!("let a = 1 // {long}\n// {long}\nlet b = a\n[a, 4][1] + b /* {long} */"), 5),
            (format!("let a = 1{lines}let b = a\nb"), 1),
        ] {
            assert_eq!(value(&text), Ok(want), "{}", &text[..20]);
        }
        for text in [
            format!("1\n+ {long}"),
            format!("1\n+ 1{}", long.replace('x', "1")),
            format!("1\n+ `${{1}}{long}`"),
        ] {
            let error = value(&text).unwrap_err();
            assert!(error.contains("longer than 1 MiB (line 2"), "{error}");
        }
        // Errors stand where they are.
        let error = value(&format!("/* {}{long} */\nb", "\n".repeat(100))).unwrap_err();
        assert!(error.contains("line 102, position 1"), "{error}");
    }

    #[test]
    fn long_scripts_need_none_either() {
        let text = "let a = 1\n".repeat(100_000) + "a";
        assert_eq!(value(&text), Ok(1));
    }
}
