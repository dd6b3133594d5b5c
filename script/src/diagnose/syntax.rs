//! What is wrong with a text that is no program.

use rhai::ParseErrorType;

use crate::diagnose::diagnosis::Diagnosis;
use crate::diagnose::wording::lowercase;
use crate::diagnose::{letters, matrices, python};
use crate::language::words::{first_word, last_word};

/// What to do instead of giving a parameter a value.
const NO_DEFAULTS: &str =
    "write a second function with fewer of them, or take a map of options: see help(\"language\")";

/// What to do with an example that was copied from help.
const PROMPT: &str = "`>>` stands for the prompt in help: leave it off";

/// How letters are written that cannot be typed.
const ESCAPES: &str =
    "letters by their numbers are \\x41, \\u20ac of four digits, \\U0001f600 of eight";

impl Diagnosis<'_> {
    /// The message of a text that is no program; the hints stand beside it.
    pub(super) fn syntax(&mut self, error: &ParseErrorType) -> String {
        let (before, behind) = self.halves();
        if let Some(index) = matrices::index(before, behind) {
            self.hints.push(index);
            return lowercase(&error.to_string());
        }
        let is_behind_prompt = before.trim().is_empty() && behind.starts_with(">>");
        if let Some(location) = self.location {
            let hint = python::hint_at(&location.text, location.column).map(String::from);
            self.hints.extend(matrices::along(&location.text).or(hint));
            if is_behind_prompt {
                self.hints = vec![PROMPT.into()];
            }
        }
        match error {
            ParseErrorType::BadInput(lex) => match lex {
                rhai::LexError::ImproperSymbol(_, advice) if advice.contains("typo of") => {
                    self.hints.push("values are compared with ==".into());
                    "`=` cannot stand here".into()
                }
                rhai::LexError::ImproperSymbol(symbol, advice)
                    if advice.contains("This is not ") =>
                {
                    format!("`{symbol}` cannot stand here")
                }
                rhai::LexError::ImproperSymbol(_, advice) if !advice.is_empty() => advice.clone(),
                rhai::LexError::UnterminatedString => {
                    if !self.hints.iter().any(|hint| hint == python::TRANSPOSED) {
                        self.hints.push(
                            "close it with the quote that it begins with; `…` may span lines"
                                .into(),
                        );
                    }
                    lowercase(&lex.to_string())
                }
                rhai::LexError::MalformedEscapeSequence(_) => {
                    self.hints = vec![ESCAPES.into()];
                    lowercase(&lex.to_string())
                }
                rhai::LexError::UnexpectedInput(_) => match self.pasted() {
                    Some(message) => message,
                    None => lowercase(&lex.to_string()),
                },
                lex => lowercase(&lex.to_string()),
            },
            ParseErrorType::MissingToken(_, why)
                if why.contains("the parameters of") && self.under_caret() == Some('=') =>
            {
                self.hints = vec![NO_DEFAULTS.into()];
                "parameters have no defaults".into()
            }
            ParseErrorType::MissingToken(_, why) if why.contains("items of this array literal") => {
                if self.hints.is_empty() {
                    self.hints.push(matrices::ITEMS.into());
                }
                lowercase(&error.to_string())
            }
            ParseErrorType::MissingToken(token, _) if self.under_caret() == Some(',') => {
                self.hints.extend(match token.as_str() {
                    ")" => Some("lists are written [1, 2, 3]".into()),
                    "]" => Some(
                        "entries of matrices are m[[row, column]]; arrays have one dimension"
                            .into(),
                    ),
                    _ => None,
                });
                lowercase(&error.to_string())
            }
            ParseErrorType::AssignmentToConstant(name) if name.is_empty() => {
                self.hints.push("a name stands on the left of =; equal is ==".into());
                "a value cannot be assigned to".into()
            }
            ParseErrorType::AssignmentToConstant(name) => {
                self.hints.push(format!("let {name} = .. makes a variable of it"));
                lowercase(&error.to_string())
            }
            ParseErrorType::ExprTooDeep => {
                self.hints.push(
                    "give parts names with let, write a switch for a chain of else if; functions nest less deep"
                        .into(),
                );
                "expressions, blocks or `else if` nest too deep".into()
            }
            ParseErrorType::UnexpectedEOF => "the text ends too early".into(),
            ParseErrorType::LoopBreak => {
                self.hints = vec!["return ends a function".into()];
                format!("`{}` stands in no loop", first_word(self.halves().1))
            }
            ParseErrorType::MissingToken(token, _) if token == ";" => {
                if let Some(bracket) = self.under_caret().filter(|c| ")]}".contains(*c)) {
                    return format!("`{bracket}` closes no bracket");
                }
                if self.hints.is_empty() {
                    let advice = self.called_without_parentheses();
                    let other = python::missing_semicolon(self.under_caret());
                    self.hints.push(advice.unwrap_or_else(|| other.into()));
                }
                lowercase(&error.to_string())
            }
            ParseErrorType::Reserved(word) => {
                if self.hints.is_empty() {
                    let known = python::word(word).map(|word| format!("write {word}"));
                    let other = word
                        .starts_with(char::is_alphabetic)
                        .then_some("choose another name; help(\"language\") lists reserved words");
                    self.hints.extend(known.or(other.map(Into::into)));
                }
                format!("`{word}` is a reserved word")
            }
            other => {
                let text = lowercase(&other.to_string());
                if text.contains("global level and cannot be") {
                    self.hints = vec![
                        "a function in a function is a closure: let g = |x| x * 2; g(3)".into(),
                    ];
                }
                if text.contains("iterable") {
                    self.hints.push("loop over range(n), a list, or an array".into());
                }
                text
            }
        }
    }

    /// The message of a letter that looks like one of the language.
    fn pasted(&mut self) -> Option<String> {
        let letter = self.under_caret()?;
        let (name, instead) = letters::pasted(letter)?;
        self.hints = vec![instead.into()];
        Some(format!("unexpected '{letter}', {name} (U+{:04X})", u32::from(letter)))
    }

    /// What to write for `sin x`, at the `x`.
    fn called_without_parentheses(&self) -> Option<String> {
        let name = last_word(self.halves().0.trim_end());
        let is_function = self.around.functions.iter().any(|(known, _)| known == name);
        is_function.then(|| format!("functions are called with parentheses: {name}(x)"))
    }
}
