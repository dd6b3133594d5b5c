//! What `#define`, `#if` and names for types make of the tokens of a text, as in C.

use std::collections::HashMap;
use std::rc::Rc;

use super::dialect;
use super::lexer::{Token, behind_space, next, span};
use super::trouble::{Span, Trouble};
use super::types::{is_letter, known};
use crate::convert::exactly;
use crate::dtype::Scalar;

type Placed<'t> = (Token<'t>, Span);

/// The tokens of a text, each with its place; the last one is [`Token::End`]. What a macro stands for is where its name is.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, Trouble> {
    let mut reader =
        Preprocessor { text, macros: HashMap::new(), open: Vec::new(), depth: 0, meant: 0 };
    let (mut tokens, mut run, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        at = behind_space(text, at)?;
        let is_directive = text[at..].starts_with('#');
        let token = if is_directive { None } else { next(text, at)? };
        let Some((token, place)) = token else {
            // Names mean what they meant up to here.
            reader.expand(&run, &mut Vec::new(), &mut tokens)?;
            run.clear();
            if !is_directive {
                break;
            }
            at = reader.directive(at)?;
            continue;
        };
        at = exactly(place.end);
        if let Token::Name(word @ ("typedef" | "using")) = token {
            reader.expand(&run, &mut Vec::new(), &mut tokens)?;
            run.clear();
            at = reader.alias(word, place, at)?;
            continue;
        }
        run.push((token, place));
        if tokens.len() + run.len() > MOST_TOKENS {
            return Err(Trouble::new(place, format!("more than {MOST_TOKENS} words and signs")));
        }
    }
    if let Some(open) = reader.open.pop() {
        return Err(Trouble::new(open, "this branch has no `#endif`"));
    }
    tokens.push((Token::End, span(text.trim_end().len(), 0)));
    Ok(tokens)
}

/// Words and signs of a text.
const MOST_TOKENS: usize = 1 << 22;
/// Words and signs that macros stand for, and how often they do.
const MOST_MEANT: usize = 1 << 16;
/// Macros that stand in each other.
const DEEPEST: usize = 100;

/// What a name stands for.
struct Macro<'t> {
    /// `None` of `#define N 4`.
    parameters: Option<Vec<&'t str>>,
    body: Vec<Token<'t>>,
}

struct Preprocessor<'t> {
    text: &'t str,
    macros: HashMap<&'t str, Rc<Macro<'t>>>,
    /// Branches without their `#endif` so far.
    open: Vec<Span>,
    depth: usize,
    meant: usize,
}

/// A line that begins with `#`, which may go on behind a backslash.
#[derive(Clone, Copy)]
struct Directive<'t> {
    word: &'t str,
    /// Where what stands behind the word begins and ends.
    at: usize,
    end: usize,
    place: Span,
}

impl<'t> Directive<'t> {
    fn of(text: &'t str, at: usize) -> Self {
        let mut end = at;
        loop {
            end += text[end..].find('\n').unwrap_or(text.len() - end);
            if !text[at..end].trim_end_matches('\r').ends_with('\\') || end == text.len() {
                break;
            }
            end += 1;
        }
        let line = &text[at..end];
        let rest = line[1..].trim_start();
        let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
        let behind = at + line.len() - rest.len() + word.len();
        Self { word, at: behind, end, place: span(at, line.trim_end().len()) }
    }

    fn wrong(&self, what: impl Into<String>, remedy: &str) -> Trouble {
        Trouble::new(self.place, what.into()).with(Some(remedy.into()))
    }
}

impl<'t> Preprocessor<'t> {
    /// Obeys the line that begins there; where reading goes on.
    fn directive(&mut self, at: usize) -> Result<usize, Trouble> {
        let line = Directive::of(self.text, at);
        match line.word {
            "define" => self.define(line)?,
            "undef" => {
                if let Some((Token::Name(name), _)) = self.of_line(line, line.at)? {
                    self.macros.remove(name);
                }
            }
            "if" | "ifdef" | "ifndef" => {
                self.open.push(line.place);
                if !self.condition(line)? {
                    return self.skip(line, true);
                }
            }
            "elif" | "else" if !self.open.is_empty() => return self.skip(line, false),
            "endif" if self.open.pop().is_some() => {}
            "elif" | "else" | "endif" => {
                return Err(line.wrong(
                    format!("`#{}` without an `#if`", line.word),
                    "#if N > 2 … #else … #endif",
                ));
            }
            "error" => {
                let said = self.text[line.at..line.end].trim();
                return Err(Trouble::new(line.place, format!("the text says: {said}")));
            }
            word => {
                return Err(line.wrong(
                    format!("`#{word}` is not known here"),
                    "known are #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif, #error; #include and #pragma are skipped",
                ));
            }
        }
        Ok(line.end)
    }

    /// Goes to the branch that is to be read, or behind the last one.
    fn skip(&mut self, from: Directive<'t>, may_enter: bool) -> Result<usize, Trouble> {
        let (mut at, mut inside) = (from.end, 0);
        while at < self.text.len() {
            let start = at + self.text[at..].len() - self.text[at..].trim_start().len();
            if !self.text[start..].starts_with('#') {
                at = start
                    + self.text[start..].find('\n').map_or(self.text[start..].len(), |n| n + 1);
                continue;
            }
            let line = Directive::of(self.text, start);
            at = line.end;
            match line.word {
                "if" | "ifdef" | "ifndef" => inside += 1,
                "endif" if inside > 0 => inside -= 1,
                "endif" => {
                    self.open.pop();
                    return Ok(at);
                }
                "else" if inside == 0 && may_enter => return Ok(at),
                "elif" if inside == 0 && may_enter && self.condition(line)? => return Ok(at),
                _ => {}
            }
        }
        Ok(self.text.len())
    }

    /// The token of a line, and where the next one begins.
    fn of_line(
        &self,
        line: Directive<'t>,
        at: usize,
    ) -> Result<Option<(Token<'t>, usize)>, Trouble> {
        let found = next(&self.text[..line.end], at)?;
        Ok(found.map(|(token, place)| (token, exactly(place.end))))
    }

    /// All tokens of a line from there on.
    fn rest_of(&self, line: Directive<'t>, mut at: usize) -> Result<Vec<Token<'t>>, Trouble> {
        let mut tokens = Vec::new();
        while let Some((token, end)) = self.of_line(line, at)? {
            tokens.push(token);
            at = end;
        }
        Ok(tokens)
    }

    fn define(&mut self, line: Directive<'t>) -> Result<(), Trouble> {
        let Some((Token::Name(name), mut at)) = self.of_line(line, line.at)? else {
            return Err(line.wrong("`#define` names nothing", "#define N 4"));
        };
        let has_parameters = self.text[at..line.end].starts_with('(');
        let mut parameters = has_parameters.then(Vec::new);
        if let Some(parameters) = &mut parameters {
            let wrong =
                || line.wrong("the parameters of a macro are names", "#define SQ(x) ((x) * (x))");
            let mut behind = self.of_line(line, at)?.map_or(at, |(_, end)| end);
            loop {
                let (token, end) = self.of_line(line, behind)?.ok_or_else(wrong)?;
                behind = end;
                match token {
                    Token::Name(name) => parameters.push(name),
                    Token::Sign(")") => break,
                    Token::Sign(",") if !parameters.is_empty() => {}
                    _ => return Err(wrong()),
                }
            }
            at = behind;
        }
        let body = self.rest_of(line, at)?;
        self.macros.insert(name, Rc::new(Macro { parameters, body }));
        Ok(())
    }

    /// Takes `typedef float real;` or `using real = float;`, of which the first word was read; where reading goes on.
    fn alias(&mut self, word: &str, place: Span, mut at: usize) -> Result<usize, Trouble> {
        let mut tokens = Vec::new();
        let wrong = |tokens: &[Placed<'_>]| {
            let foreign = tokens.iter().find_map(|(token, _)| match token {
                Token::Name(name) => dialect::instead(name),
                _ => None,
            });
            let remedy = foreign.unwrap_or("typedef float real; or using real = float;".into());
            let what = format!("`{word}` names a type of numbers here");
            Trouble::new(place, what).with(Some(remedy))
        };
        loop {
            let Some((token, found)) = next(self.text, at)? else { return Err(wrong(&tokens)) };
            at = exactly(found.end);
            if token == Token::Sign(";") {
                break;
            }
            tokens.push((token, found));
        }
        let (name, body) = match (word, &tokens[..]) {
            ("using", [(Token::Name("namespace"), _), ..]) => return Ok(at),
            ("typedef", [body @ .., (Token::Name(name), _)]) => (*name, body),
            ("using", [(Token::Name(name), _), (Token::Sign("="), _), body @ ..]) => (*name, body),
            _ => return Err(wrong(&tokens)),
        };
        let mut expanded = Vec::new();
        self.expand(body, &mut Vec::new(), &mut expanded)?;
        let body = expanded.into_iter().map(|(token, _)| token);
        let body: Vec<Token<'t>> = body.filter(|token| *token != Token::Name("const")).collect();
        if !is_type(&body) {
            return Err(wrong(&tokens));
        }
        self.macros.insert(name, Rc::new(Macro { parameters: None, body }));
        Ok(at)
    }

    /// Adds what tokens stand for; names that are `hidden` are being replaced and stand for themselves.
    fn expand(
        &mut self,
        tokens: &[Placed<'t>],
        hidden: &mut Vec<&'t str>,
        out: &mut Vec<Placed<'t>>,
    ) -> Result<(), Trouble> {
        let mut at = 0;
        while let Some(&(token, place)) = tokens.get(at) {
            at += 1;
            let found = match token {
                Token::Name(name) if !hidden.contains(&name) => {
                    self.macros.get(name).map(|found| (name, found.clone()))
                }
                _ => None,
            };
            let Some((name, found)) = found else {
                out.push((token, place));
                continue;
            };
            let mut place = place;
            let mut given = Vec::new();
            if let Some(parameters) = &found.parameters {
                if !matches!(tokens.get(at), Some((Token::Sign("("), _))) {
                    out.push((token, place));
                    continue;
                }
                let unclosed = || Trouble::new(place, format!("`{name}` has no `)`"));
                let (arguments, end) = arguments(tokens, at + 1).ok_or_else(unclosed)?;
                let is_empty = parameters.is_empty() && arguments.iter().all(|a| a.is_empty());
                if arguments.len() != parameters.len() && !is_empty {
                    let (wanted, got) = (parameters.len(), arguments.len());
                    let what = format!("`{name}` has {wanted} parameters, got {got} arguments");
                    return Err(Trouble::new(place, what));
                }
                place = place.to(tokens[end - 1].1);
                at = end;
                for argument in arguments {
                    let mut expanded = Vec::new();
                    self.deeper(place, |reader| reader.expand(argument, hidden, &mut expanded))?;
                    given.push(expanded);
                }
            }
            let mut body = Vec::new();
            for &token in &found.body {
                let parameter = match (token, &found.parameters) {
                    (Token::Name(name), Some(known)) => known.iter().position(|one| *one == name),
                    _ => None,
                };
                match parameter.and_then(|number| given.get(number)) {
                    Some(argument) => {
                        body.extend(argument.iter().map(|(token, _)| (*token, place)));
                    }
                    None => body.push((token, place)),
                }
            }
            self.meant += 1 + body.len();
            if self.meant > MOST_MEANT {
                let what = format!("macros stand for more than {MOST_MEANT} words, of which here");
                return Err(Trouble::new(place, what));
            }
            hidden.push(name);
            self.deeper(place, |reader| reader.expand(&body, hidden, out))?;
            hidden.pop();
        }
        Ok(())
    }

    fn deeper(
        &mut self,
        place: Span,
        read: impl FnOnce(&mut Self) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        if self.depth == DEEPEST {
            return Err(Trouble::new(
                place,
                format!("more than {DEEPEST} macros stand in each other"),
            ));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Whether the branch of `#if`, `#elif`, `#ifdef` or `#ifndef` is read.
    fn condition(&mut self, line: Directive<'t>) -> Result<bool, Trouble> {
        let tokens = self.rest_of(line, line.at)?;
        if line.word.ends_with("def") {
            let [Token::Name(name)] = tokens[..] else {
                return Err(line.wrong(format!("`#{}` takes a name", line.word), "#ifdef N"));
            };
            return Ok(self.macros.contains_key(name) == (line.word == "ifdef"));
        }
        // `defined N` is answered before names are replaced.
        let mut answered = Vec::new();
        let mut rest = &tokens[..];
        while let Some((&token, behind)) = rest.split_first() {
            rest = behind;
            let defined = match (token, behind) {
                (
                    Token::Name("defined"),
                    [Token::Sign("("), Token::Name(name), Token::Sign(")"), ..],
                ) => Some((name, 3)),
                (Token::Name("defined"), [Token::Name(name), ..]) => Some((name, 1)),
                _ => None,
            };
            let token = defined.map_or(token, |(name, n)| {
                rest = &behind[n..];
                Token::Number(Scalar::Int(self.macros.contains_key(name).into()), None)
            });
            answered.push((token, line.place));
        }
        let mut expanded = Vec::new();
        self.expand(&answered, &mut Vec::new(), &mut expanded)?;
        let mut condition = Condition { tokens: &expanded, depth: 0 };
        match condition.binary(0) {
            Some(number) if condition.tokens.is_empty() => Ok(number != 0),
            _ => Err(line.wrong(
                format!("what stands behind `#{}` is no condition", line.word),
                "compare integers: #if N > 2 && defined(FAST)",
            )),
        }
    }
}

/// Whether tokens name a type: the words of one that is known, a letter, or `acc_t(T)` of such.
fn is_type(tokens: &[Token<'_>]) -> bool {
    if let [Token::Name("acc_t"), Token::Sign("("), inner @ .., Token::Sign(")")] = tokens {
        return is_type(inner);
    }
    let words = tokens.iter().map(|token| match token {
        Token::Name(word) => Some(*word),
        _ => None,
    });
    let words: Vec<&str> = words.collect::<Option<_>>().unwrap_or_default();
    let is_known = known(&words).is_some_and(|(_, n_words)| n_words == words.len());
    is_known || matches!(words[..], [letter] if is_letter(letter))
}

/// The arguments that begin there, up to the bracket that closes them, and where that ends.
fn arguments<'s, 't>(
    tokens: &'s [Placed<'t>],
    start: usize,
) -> Option<(Vec<&'s [Placed<'t>]>, usize)> {
    let (mut arguments, mut begun, mut depth) = (Vec::new(), start, 0);
    for (at, (token, _)) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")") if depth == 0 => {
                arguments.push(&tokens[begun..at]);
                return Some((arguments, at + 1));
            }
            Token::Sign(")" | "]" | "}") => depth -= 1,
            Token::Sign(",") if depth == 0 => {
                arguments.push(&tokens[begun..at]);
                begun = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// An expression of integers behind `#if`; a name that means nothing is 0.
struct Condition<'s, 't> {
    tokens: &'s [Placed<'t>],
    depth: usize,
}

/// Operators from the loosest to the tightest.
type Operator = fn(i128, i128) -> Option<i128>;
const OPERATORS: [&[(&str, Operator)]; 6] = [
    &[("||", |a, b| Some((a != 0 || b != 0).into()))],
    &[("&&", |a, b| Some((a != 0 && b != 0).into()))],
    &[("==", |a, b| Some((a == b).into())), ("!=", |a, b| Some((a != b).into()))],
    &[
        ("<", |a, b| Some((a < b).into())),
        ("<=", |a, b| Some((a <= b).into())),
        (">", |a, b| Some((a > b).into())),
        (">=", |a, b| Some((a >= b).into())),
    ],
    &[("+", i128::checked_add), ("-", i128::checked_sub)],
    &[("*", i128::checked_mul), ("/", i128::checked_div), ("%", i128::checked_rem)],
];

impl Condition<'_, '_> {
    fn binary(&mut self, level: usize) -> Option<i128> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((Token::Sign(sign), _)) = self.tokens.first()
            && let Some((_, apply)) = operators.iter().find(|(known, _)| known == sign)
        {
            self.tokens = &self.tokens[1..];
            left = apply(left, self.binary(level + 1)?)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i128> {
        let (&(token, _), rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match token {
            Token::Number(number, _) => number.integer(),
            Token::Name(name) => match dialect::constant(name) {
                Some(number) => number.integer(),
                None => Some(0),
            },
            Token::Sign(sign) if self.depth < DEEPEST => {
                self.depth += 1;
                let number = match sign {
                    "!" => self.unary().map(|number| i128::from(number == 0)),
                    "-" => self.unary()?.checked_neg(),
                    "(" => {
                        let number = self.binary(0)?;
                        let (&(close, _), rest) = self.tokens.split_first()?;
                        self.tokens = rest;
                        (close == Token::Sign(")")).then_some(number)
                    }
                    _ => None,
                };
                self.depth -= 1;
                number
            }
            Token::Sign(_) | Token::End => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let shown = |(token, _): &Placed<'_>| match token {
            Token::Name(name) => (*name).to_string(),
            Token::Number(number, _) => number.to_string(),
            Token::Sign(sign) => (*sign).into(),
            Token::End => String::new(),
        };
        match tokens(text) {
            Ok(tokens) => tokens.iter().map(shown).collect::<Vec<_>>().join(" ").trim_end().into(),
            Err(trouble) => trouble.told("f", text, "").to_string(),
        }
    }

    fn is_told(text: &str, what: &str) {
        assert!(shown(text).contains(what), "{text}: {}", shown(text));
    }

    #[test]
    fn macros_stand_for_what_they_say_where_they_stand() {
        let check = |text, want| assert_eq!(shown(text), want, "{text}");
        check("#define N M\n#define M 4\nN", "4");
        check("#define A 1\nA\n#undef A\nA", "1 A");
        check("#define SQ(x) ((x) * (x))\nSQ(a + 1) SQ", "( ( a + 1 ) * ( a + 1 ) ) SQ");
        check("#define TWO(a, b) a \\\n  b\nTWO(f(1, 2), (3, 4))", "f ( 1 , 2 ) ( 3 , 4 )");
        check("#define F() 5\nF() F( )", "5 5");
        check("#define F(x) x + G(x)\n#define G(x) F(x)\nF(1)", "1 + F ( 1 )");
        check("#define A A + 1\nA", "A + 1");
        is_told("#define F(x) x\nF(1, 2)", "`F` has 1 parameters, got 2 arguments");
        is_told("#define F(x) x\nF(1", "`F` has no `)`");
        is_told("#define F(1) x", "the parameters of a macro are names");
    }

    #[test]
    fn types_have_names_of_the_texts() {
        let check = |text, want| assert_eq!(shown(text), want, "{text}");
        check("typedef float real; real f", "float f");
        check("typedef unsigned int word;word f(word)", "unsigned int f ( unsigned int )");
        check("using real = double; using other = real; other", "double");
        check("#define BASE int\ntypedef const BASE t;\nt", "int");
        check("typedef T value; value using namespace std; x", "T x");
        check("using wide = acc_t(T); typedef wide sum; sum", "acc_t ( T )");
        is_told("typedef struct { int x; } p;", "`typedef` names a type of numbers here");
        is_told("typedef float *p;", "`typedef` names a type of numbers here");
        is_told("using sum = acc_t(x);", "`using` names a type of numbers here");
        is_told("using real = float", "`using` names a type of numbers here");
    }

    #[test]
    fn branches_are_read_or_not() {
        let check = |text, want| assert_eq!(shown(text), want, "{text}");
        check("#if 1\na\n#else\nb\n#endif\nc", "a c");
        check(
            "#if 0\na $ '\n#elif 2 > 1 && !defined(B)\nb\n#elif 1\nd\n#else\ne\n#endif\nc",
            "b c",
        );
        check("#ifdef A\n#if 1\na\n#endif\n#else\nb\n#endif", "b");
        check("#define A 3\n#ifndef A\na\n#endif\n#if (A - 1) * 2 == 4\nb\n#endif", "b");
        is_told("#if\na\n#endif", "what stands behind `#if` is no condition");
        is_told("#if 1 / 0\na\n#endif", "what stands behind `#if` is no condition");
        is_told("#if 1\na", "this branch has no `#endif`");
        is_told("#if 0\na", "this branch has no `#endif`");
        is_told("#endif", "`#endif` without an `#if`");
        is_told("#error no\n", "the text says: no");
        is_told("#warn", "`#warn` is not known here");
    }

    #[test]
    fn what_grows_without_end_is_an_error() {
        let doubling: String =
            (0..60).map(|k| format!("#define A{k} A{0} A{0}\n", k + 1)).collect();
        assert!(shown(&format!("{doubling}A0")).contains("more than"));
        let empty = format!("{doubling}#define A60\nA0");
        assert!(shown(&empty).contains("more than"));
        let chain: String = (0..100_000).map(|k| format!("#define B{k} B{}\n", k + 1)).collect();
        assert!(shown(&format!("{chain}B0")).contains("in each other"));
        let nested = format!("#define F(x) x\n{}1{}", "F(".repeat(100_000), ")".repeat(100_000));
        assert!(shown(&nested).contains("in each other"));
        let brackets = format!("#if {}1{}\n#endif", "(".repeat(100_000), ")".repeat(100_000));
        assert!(shown(&brackets).contains("no condition"));
    }
}
