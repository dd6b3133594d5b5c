//! Values in texts, `` `x = ${x}` ``: an error while a value becomes text is an error of the script.
//!
//! Rhai shows the name of the type then, and drops the error. So its token of such a text becomes the first word of a
//! syntax of ours, which reads the same blocks and pieces of text.

use std::cell::RefCell;
use std::rc::Rc;

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, Expression, Position, Token};
use rhai::{ImmutableString, TokenizeState};

use crate::show::writer::{MOST_BYTES, written};

/// The first word of the syntax, which nobody can type.
const KEY: &str = "${";

/// What the mapper of tokens tells the syntax, which gets no texts from Rhai's parser.
#[derive(Default)]
struct Told {
    /// The first piece of the text that begins.
    first: String,
    /// Whether a block follows the last piece.
    goes_on: bool,
}

/// Follows the tokens of a text and replaces those of interpolated texts.
#[derive(Default)]
pub(crate) struct Pieces {
    told: Rc<RefCell<Told>>,
    depth: usize,
    /// Depths of braces at which open blocks stand.
    blocks: Vec<usize>,
    block_follows: bool,
    text_follows: bool,
}

impl Pieces {
    /// The same at the start of another text.
    pub(crate) fn anew(&self) -> Self {
        Self { told: self.told.clone(), ..Self::default() }
    }

    /// The token in place of the next one.
    pub(crate) fn map(&mut self, token: Token, lexer: &TokenizeState) -> Token {
        let goes_on = std::mem::take(&mut self.text_follows);
        let opens_block = std::mem::take(&mut self.block_follows);
        match token {
            Token::InterpolatedString(text) => {
                self.block_follows = true;
                let mut told = self.told.borrow_mut();
                if goes_on {
                    told.goes_on = true;
                    return Token::StringConstant(text);
                }
                told.first = text.to_string();
                return Token::Identifier(Box::new(KEY.into()));
            }
            Token::StringConstant(_) if goes_on => self.told.borrow_mut().goes_on = false,
            Token::LeftBrace | Token::MapStart => {
                self.depth += 1;
                if opens_block {
                    self.blocks.push(self.depth);
                }
            }
            Token::RightBrace => {
                if self.blocks.last() == Some(&self.depth) {
                    self.blocks.pop();
                    self.text_follows = true;
                    lexer.tokenizer_control.borrow_mut().is_within_text = true;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
        token
    }

    /// Makes the syntax known.
    pub(crate) fn register(&self, engine: &mut Engine) {
        let told = self.told.clone();
        engine.register_custom_syntax_with_state_raw(
            KEY,
            move |symbols, _, first| {
                let told = told.borrow();
                if symbols.len() == 1 {
                    *first = told.first.clone().into();
                }
                let is_block = symbols.len() % 2 == 1;
                Ok(match is_block {
                    true if symbols.len() > 1 && !told.goes_on => None,
                    true => Some("$block$".into()),
                    // A piece of text, or what is wrong with it.
                    false => Some("$raw$".into()),
                })
            },
            false,
            |context, inputs, first| {
                let text = ImmutableString::from(text(context, inputs, first)?);
                // Its length is bounded as that of other texts.
                context.call_native_fn("+", (text, ImmutableString::new()))
            },
        );
    }
}

fn text(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    inputs: &[Expression<'_>],
    first: &Dynamic,
) -> Result<String, Box<EvalAltResult>> {
    written(MOST_BYTES, |out| {
        out.put(&first.clone().into_string().unwrap_or_default())?;
        for input in inputs {
            // Pieces of text come as they would be written, between quotes.
            match input.get_string_value() {
                Some(piece) => out.put(&piece[1..piece.len() - 1])?,
                None => out.put(&shown(context, input)?)?,
            }
        }
        Ok(())
    })
}

fn shown(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    block: &Expression<'_>,
) -> Result<ImmutableString, Box<EvalAltResult>> {
    let mut value = context.eval_expression_tree(block)?.flatten();
    let text = context.call_native_fn_raw("to_string", true, &mut [&mut value]);
    let text = text.map_err(|mut error| {
        if error.position() == Position::NONE {
            error.set_position(block.position());
        }
        error
    })?;
    Ok(text.into_immutable_string().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::cell::Cell;
    use crate::language::tokens;

    fn value(text: &str) -> Result<String, String> {
        let mut engine = Engine::new();
        tokens::install(&mut engine, Vec::new());
        engine.register_fn("to_string", |_: &mut Position| -> Result<String, Box<EvalAltResult>> {
            Err("no text".into())
        });
        engine.register_fn("bad", || Position::NONE);
        let ast = Cell::script(text).compile(&engine).map_err(|error| error.to_string())?;
        engine.eval_ast::<Dynamic>(&ast).map(|v| v.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_stand_in_texts() {
        for (text, want) in [
            ("`a${1}b${2}`", "a1b2"),
            ("`${1}${2}`", "12"),
            ("`${}`", ""),
            ("`a\nb${1}\n`", "a\nb1\n"),
            ("`quotes \"${1}\" \\ stay`", "quotes \"1\" \\ stay"),
            ("`${`in ${1 + 1}`} out`", "in 2 out"),
            ("`${let x = 1; x + 1}`", "2"),
            ("`${#{a: `${3}`}.a}`", "3"),
            ("`${if true { `yes ${1}` } else { \"no\" }}!`", "yes 1!"),
            ("let x = 3; let f = |y| `${x} ${y}`; f.call(4)", "3 4"),
            ("fn f(x) { `${x}` } f(2) + `${3}`", "23"),
            ("`a${1}`.len()", "2"),
            ("`a${1}`[1]", "1"),
            ("#{a1: 5}[`a${1}`]", "5"),
            ("[`a${1}`, `b${2}`][1]", "b2"),
            ("let t = `a${1}`; switch t { \"a1\" => `b${7}`, _ => 8 }", "b7"),
            ("if `a${1}` == \"a1\" { 1 } else { 2 }", "1"),
            ("`a${1}`\n`b${2}`", "b2"),
            ("`plain`", "plain"),
            ("let x = 1; `${x}` + -x", "1-1"),
            ("let t; try { `${bad()}` } catch (e) { t = `caught ${e}`; } t", "caught no text"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn errors_are_told_where_they_are() {
        for (text, error) in [
            ("let a = 1;\n`a ${ bad() }`", "no text (line 2, position 5)"),
            ("`a ${1 +}`", "Unexpected '}'"),
            ("`a ${1} b", "Open string is not terminated"),
            ("`a ${1", "Expecting ';'"),
            ("`a ${", "Expecting '}'"),
            ("`a ${missing} b`", "Variable not found"),
        ] {
            let got = value(text).unwrap_err();
            assert!(got.contains(error), "{text}: {got}");
        }
    }
}
