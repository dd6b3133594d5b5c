//! `-x ** 2` is `-(x ** 2)`, as in mathematics and in Python.
//!
//! Rhai's minus binds tighter than any operator of two values, and its tokens can be replaced one by one, but none
//! added. So a `**` whose left operand has a minus in front becomes an operator that takes this minus away and puts
//! it before the power: `-((-a) ** b)` of what is `-x` by then. Negating twice changes no bit.
//!
//! Powers go from the right, which Rhai knows of `**` alone: behind such an operator each further one of a chain
//! (`-2 ** 3 ** 2`, `2 ** -1 ** 2`) binds tighter than the one before.

use rhai::{Dynamic, Engine, LexError, NativeCallContext, Token};

use crate::fault::Result;

/// The precedence of `**` in Rhai.
const PRECEDENCE: u8 = 190;
/// Operators of one chain, from the first that is not plain `**`; shifts have the next precedence.
const LEVELS: u8 = 20;

/// Makes the operators known.
pub(crate) fn register(engine: &mut Engine) {
    for level in 0..LEVELS {
        for negated in [false, true] {
            let name = operator(negated, level);
            let known = engine.register_custom_operator(&name, PRECEDENCE + level);
            known.expect("internal error: Rhai refuses an operator");
            engine.register_fn(
                &name,
                move |call: NativeCallContext<'_>, base: Dynamic, exponent: Dynamic| {
                    power(&call, negated, base, exponent)
                },
            );
        }
    }
}

fn power(
    call: &NativeCallContext<'_>,
    negated: bool,
    base: Dynamic,
    exponent: Dynamic,
) -> Result<Dynamic> {
    let base = if negated { call.call_native_fn("-", (base,))? } else { base };
    let power: Dynamic = call.call_native_fn("**", (base, exponent))?;
    if negated { call.call_native_fn("-", (power,)) } else { Ok(power) }
}

fn operator(negated: bool, level: u8) -> String {
    format!("{}**{level}", if negated { "-" } else { "" })
}

/// Follows the tokens of a text and replaces those `**`.
pub(crate) struct Powers {
    here: BracketState,
    /// The places around it, outermost first.
    around: Vec<BracketState>,
}

/// Where the tokens are between two brackets.
#[derive(Clone, Copy, Default)]
struct BracketState {
    /// At the start of a statement.
    starts: bool,
    /// In a statement that ends with the next block, unless it goes on with `else` or the like.
    ends_with_block: bool,
    /// Behind an operand.
    is_value: bool,
    /// An odd number of minuses stands before the operand,
    negated: bool,
    /// and then a `!`, to which what follows belongs.
    inverted: bool,
    /// The level of the `**` before the operand, and whether it is a plain one.
    power: Option<(u8, bool)>,
    /// Between the parts of an interpolated text.
    in_text: bool,
}

impl BracketState {
    const STATEMENT: Self = Self {
        starts: true,
        ends_with_block: false,
        is_value: false,
        negated: false,
        inverted: false,
        power: None,
        in_text: false,
    };

    /// Behind an operator, a comma and the like.
    fn next(&mut self) {
        *self = Self { ends_with_block: self.ends_with_block, ..Self::default() };
    }

    /// A new operand starts.
    fn operand(&mut self) {
        if self.is_value {
            self.next();
        }
        self.starts = false;
    }

    fn minus(&mut self) {
        self.negated ^= !self.inverted;
    }
}

impl Default for Powers {
    fn default() -> Self {
        Self { here: BracketState::STATEMENT, around: Vec::new() }
    }
}

impl Powers {
    /// The token in place of the next one; `has_sign` says whether a number was written with a minus.
    pub(crate) fn map(&mut self, token: Token, has_sign: bool) -> Token {
        let here = &mut self.here;
        match &token {
            Token::PowerOf => return self.power_of(),
            Token::UnaryMinus => {
                here.operand();
                here.minus();
            }
            // Behind the block of a statement Rhai's lexer takes a sign for an operator.
            Token::Minus if !here.is_value => {
                here.starts = false;
                here.minus();
            }
            Token::Plus if !here.is_value => here.starts = false,
            Token::UnaryPlus => here.operand(),
            Token::Bang => {
                here.operand();
                here.inverted = true;
            }
            // A member belongs to the operand.
            Token::Period | Token::Elvis | Token::DoubleColon => here.is_value = false,
            Token::SemiColon | Token::DoubleArrow => *here = BracketState::STATEMENT,
            // A call without arguments, and what stands between the braces of a text.
            Token::Unit if here.is_value => {}
            Token::InterpolatedString(_) if here.in_text => {}
            Token::StringConstant(_) if here.in_text => here.in_text = false,
            token if opens(token) => self.open(token),
            Token::RightParen | Token::RightBracket | Token::RightBrace => self.close(&token),
            token if starts_block_statement(token) => {
                let ends_with_block = here.starts || (here.ends_with_block && !here.is_value);
                *here = BracketState { ends_with_block, ..BracketState::default() };
            }
            token if is_value(token) => {
                here.operand();
                here.is_value = true;
                here.in_text = matches!(token, Token::InterpolatedString(_));
                if has_sign {
                    here.minus();
                }
            }
            _ => here.next(),
        }
        token
    }

    fn power_of(&mut self) -> Token {
        let (negated, before) = (self.here.negated, self.here.power);
        self.here.next();
        if !negated && before.is_none_or(|(_, is_plain)| is_plain) {
            self.here.power = Some((0, true));
            return Token::PowerOf;
        }
        let level = before.map_or(0, |(level, _)| level + 1);
        self.here.power = Some((level, false));
        if level >= LEVELS {
            let advice = "too many powers in a row with signs: write parentheses".into();
            return Token::LexError(Box::new(LexError::ImproperSymbol("**".into(), advice)));
        }
        Token::Custom(Box::new(operator(negated, level).into()))
    }

    fn open(&mut self, token: &Token) {
        let is_block = *token == Token::LeftBrace;
        self.here.ends_with_block |= is_block && self.here.starts;
        self.here.starts = false;
        self.around.push(self.here);
        self.here = if is_block { BracketState::STATEMENT } else { BracketState::default() };
    }

    fn close(&mut self, token: &Token) {
        self.here = self.around.pop().unwrap_or_default();
        self.here.is_value = true;
        if *token == Token::RightBrace && self.here.ends_with_block && !self.here.in_text {
            self.here = BracketState::STATEMENT;
        }
    }
}

fn opens(token: &Token) -> bool {
    matches!(
        token,
        Token::LeftParen
            | Token::LeftBracket
            | Token::QuestionBracket
            | Token::LeftBrace
            | Token::MapStart
    )
}

/// Words of statements whose end is the end of a block.
fn starts_block_statement(token: &Token) -> bool {
    matches!(
        token,
        Token::If
            | Token::Else
            | Token::Switch
            | Token::While
            | Token::Until
            | Token::Loop
            | Token::Do
            | Token::For
            | Token::Try
            | Token::Catch
            | Token::Fn
            | Token::Private
    )
}

fn is_value(token: &Token) -> bool {
    match token {
        Token::Identifier(_)
        | Token::IntegerConstant(_)
        | Token::FloatConstant(_)
        | Token::CharConstant(_)
        | Token::StringConstant(_)
        | Token::InterpolatedString(_)
        | Token::Unit
        | Token::True
        | Token::False => true,
        Token::Reserved(word) => word.starts_with(|c: char| c.is_alphabetic() || c == '_'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::cell::Cell;
    use crate::language::tokens;

    /// The value of a text whose arrays are floats of a script.
    fn value(text: &str) -> std::result::Result<f64, String> {
        let mut engine = Engine::new();
        tokens::install(&mut engine, vec!["FloatC".into()]);
        register(&mut engine);
        let ast = Cell::script(text).compile(&engine).map_err(|error| error.to_string())?;
        let value: Dynamic = engine.eval_ast(&ast).map_err(|error| error.to_string())?;
        value.as_float().or_else(|_| value.as_int().map(|i| i as f64)).map_err(str::to_string)
    }

    #[test]
    fn a_minus_applies_to_the_power() {
        for (text, want) in [
            ("-2 ** 2", -4.0),
            ("- 2 ** 2", -4.0),
            ("(-2) ** 2", 4.0),
            ("-(2) ** 2", -4.0),
            ("-(-2) ** 2", -4.0),
            ("- -2 ** 2", 4.0),
            ("- - -2 ** 2", -4.0),
            ("+-2 ** 2", -4.0),
            ("-2.5 ** 2", -6.25),
            ("-0 ** 0", -1.0),
            ("0xFFFFFFFFFFFFFFFF ** 0", 1.0),
            ("2.0 ** -1", 0.5),
            ("2.0 ** -2 ** 2", 0.0625),
            ("-2 ** 3 ** 2", -512.0),
            ("-2.0 ** -1 ** 2", -0.5),
            ("-2.0 ** -1.0 ** -2.0 ** 2", -0.5),
            ("2.0 ** 1 ** -3.0 ** 2", 2.0),
            ("2 ** 3 ** 2", 512.0),
            ("5 - 2 ** 2", 1.0),
            ("5 -2 ** 2", 1.0),
            ("5 - -2 ** 2", 9.0),
            ("3 * -2 ** 2", -12.0),
            ("-2 ** 2 * 3", -12.0),
            ("-2 ** 2 + 1", -3.0),
            ("let x = 3; -x ** 2", -9.0),
            ("let x = 3; 1 - x ** 2", -8.0),
            ("let a = #{b: 3}; -a.b ** 2", -9.0),
            ("let a = #{b: [1, 3]}; -a.b[1] ** 2", -9.0),
            ("let a = [-3, 2]; -a[-1 ** 2 + 2] ** 2", -4.0),
            ("fn f(x) { -x ** 2 } f(3)", -9.0),
            ("fn f(x) { return -x ** 2; } -f(2) ** 2", -16.0),
            ("let f = |x| -x ** 2; f.call(3)", -9.0),
            ("-[1, 3].len() ** 2", -4.0),
            ("fn f() { 3 } -f() ** 2", -9.0),
            ("let x = 3; let y = 10\n- x ** 2; y", 1.0),
            ("let x = 3; let y = 10\n-x ** 2", -9.0),
            ("let x = 3; let y = x\n-2 ** 2", -4.0),
            ("let x = 3; let y = x\n-2 - 2 ** 2", -6.0),
            ("let x = 3;\n-x ** 2", -9.0),
            ("if true { 1 }\n-2 ** 2", -4.0),
            ("if false { 1 } else { 3 }\n-2 ** 2", -4.0),
            ("if false { 1 } else if true { 3 }\n-2 ** 2", -4.0),
            ("let b = if true { 1 } else { 2 } - 2 ** 2; b", -3.0),
            ("for i in 0..2 { i; }\n-2 ** 2", -4.0),
            ("let i = 0; while -i ** 2 > -4 { i += 1; }\n-i ** 2", -4.0),
            ("let i = 0; do { i += 1; } while i < 3; -i ** 2", -9.0),
            ("switch 1 { 1 => -3 ** 2, _ => 0 }", -9.0),
            ("let x = switch 1 { 1 => { 5 }, _ => 0 } - 2 ** 2; x", 1.0),
            ("let r = 0; try { throw -2 ** 2; } catch (e) { r = e; }\n-r ** 2", -16.0),
            ("let x = 3; let s = `${-x ** 2}`; parse_int(s)", -9.0),
            ("let x = 3; if `a${x}b${1}` == \"a3b1\" { 1 }\n-x ** 2", -9.0),
            ("\"-2 ** 2\".len()", 7.0),
            ("// -2 ** 2\n/* -3 ** 2 */ 5", 5.0),
            ("-2 /* minus */ ** /* power */ 2", -4.0),
            ("let x = -1; { -x ** 2 }", -1.0),
            ("[-2 ** 2, 3][0]", -4.0),
            ("#{a: -2 ** 2}.a", -4.0),
            ("let x = 2; x **= 3; -x", -8.0),
            ("\n\n  -2 ** 2", -4.0),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn long_chains_and_errors() {
        let chain = format!("-1.0{}", " ** -1.0".repeat(usize::from(LEVELS)));
        assert_eq!(value(&chain), Ok(-1.0));
        assert!(value(&format!("{chain} ** 1")).unwrap_err().contains("write parentheses"));
        assert!(value("-2 ** \"a\"").unwrap_err().contains("** (i64, "));
        assert!(value("-2 **").is_err());
    }

    /// A text that ends in the middle leaves nothing behind for the next.
    #[test]
    fn texts_start_anew() {
        let mut engine = Engine::new();
        tokens::install(&mut engine, Vec::new());
        register(&mut engine);
        assert!(Cell::script("f(-2 ** -").compile(&engine).is_err());
        let ast = Cell::script("\n\n 2 ** 2").compile(&engine).unwrap();
        assert_eq!(engine.eval_ast::<i64>(&ast).unwrap(), 4);
    }
}
