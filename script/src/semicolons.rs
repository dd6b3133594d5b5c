//! Statements on lines of their own need no `;`, as in Python: where the parser misses one at the start of a
//! line, it is added to the line before, and so it is before a line that starts with `[`: a list, not an
//! index of the line before. Positions stay what they are.

use rhai::{AST, Engine, ParseError, ParseErrorType, Position};

use crate::scan::scan;
use crate::tokens;

/// Semicolons added to one text. Each costs another parse, so a long script should bring its own.
const MOST_ADDED: usize = 200;

/// Compiles a text, adding semicolons at the ends of lines where they are missed.
///
/// # Errors
/// The first error that no semicolon mends.
pub(crate) fn compile(engine: &Engine, text: &str) -> Result<AST, ParseError> {
    let mut mended = lists_apart(text);
    let mut result = parse(engine, &mended);
    for _ in 0..MOST_ADDED {
        let Err(error) = &result else { break };
        let missing = matches!(error.err_type(), ParseErrorType::MissingToken(t, _) if t == ";");
        let Some(at) = missing.then(|| end_before(&mended, error.position())).flatten() else {
            break;
        };
        mended.insert(at, ';');
        result = parse(engine, &mended);
    }
    result
}

fn parse(engine: &Engine, text: &str) -> Result<AST, ParseError> {
    tokens::start(engine, text);
    engine.compile(text)
}

/// The text with a `;` before each line that starts with `[`, where the line before could end a statement.
fn lists_apart(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut end_of_code = None;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[')
            && let Some(end) = end_of_code
        {
            let before = scan(&apart);
            let is_value = |c: char| c.is_alphanumeric() || "_)]\"`".contains(c);
            let is_statement = matches!(before.innermost, None | Some('{')) && !before.inside;
            if is_statement && before.last.is_some_and(is_value) {
                apart.insert(end, ';');
            }
        }
        let code = code_of(line).trim_end();
        if !code.trim_start().is_empty() {
            end_of_code = Some(apart.len() + code.len());
        }
        apart.push_str(line);
    }
    apart
}

/// End of the code on the last line of code before `position`, if that is the first thing on its line.
fn end_before(text: &str, position: Position) -> Option<usize> {
    let (line, column) = (position.line()?, position.position()?);
    let mut start = 0;
    let mut end = None;
    for (i, content) in text.split_inclusive('\n').enumerate() {
        if i + 1 == line {
            let first = content.chars().take(column - 1).all(char::is_whitespace);
            return end.filter(|_| first);
        }
        let code = code_of(content).trim_end();
        if !code.trim_start().is_empty() {
            end = Some(start + code.len());
        }
        start += content.len();
    }
    None
}

/// A line without its comment.
fn code_of(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (i, c) in line.char_indices() {
        match quote {
            None if line[i..].starts_with("//") => return &line[..i],
            None if matches!(c, '"' | '`') => quote = Some(c),
            Some(open) if c == open && !escaped => quote = None,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_statements() {
        let engine = Engine::new();
        let value = |text: &str| {
            let ast = compile(&engine, text).map_err(|error| error.to_string())?;
            engine.eval_ast::<i64>(&ast).map_err(|error| error.to_string())
        };
        assert_eq!(value("let a = 3\nlet b = 4   // two\n\na + b"), Ok(7));
        assert_eq!(value("let a = \"//\".len()\n\na"), Ok(2));
        assert_eq!(value("let s = 0\nfor i in 0..3 {\n  let t = i\n  s += t\n}\ns"), Ok(3));
        assert_eq!(value("let a = 3   // [\n\n[a, 4][1]"), Ok(4));
        assert_eq!(value("if true {\n  let a = 3\n  [a, 4][0]\n}"), Ok(3));
        assert_eq!(value("let a = [[1, 2],\n  [3, 4]]\n[a.len(), 7][0]"), Ok(2));
        assert!(value("let a = 3 let b = 4").is_err());
        assert!(value("let a = (1\nlet b = 4").is_err());
    }
}
