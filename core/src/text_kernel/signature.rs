//! From text to tree: functions, what they take and give, and what stands before them.

use super::dialect::{self, KERNEL, OF_POINTERS, QUALIFIERS};
use super::lexer::Token;
use super::parse::{Known, Parser};
use super::tree::{Function, Header, Parameter, Statement};
use super::trouble::{Span, Trouble};
use super::types::{self, TypeName, is_letter};

impl Parser<'_> {
    /// The functions, and the constants before them.
    pub(super) fn all_functions(&mut self) -> Result<(Vec<Function>, Vec<Statement>), Trouble> {
        let mut functions: Vec<Function> = Vec::new();
        let mut constants = Vec::new();
        while *self.token() != Token::End || functions.is_empty() {
            if self.takes(";") {
                continue;
            }
            if let Some(constant) = self.constant()? {
                constants.push(constant);
                continue;
            }
            let Some(function) = self.function(constants.len())? else { continue };
            if functions.iter().any(|known| known.name == function.name) {
                let what = format!("the text defines `{}` twice", function.name);
                return Err(Trouble::new(function.at, what));
            }
            functions.push(function);
        }
        let is_defined = |name: &str| functions.iter().any(|function| function.name == name);
        if let Some((Header { name, .. }, at)) =
            self.declared.iter().find(|(header, _)| !is_defined(&header.name))
        {
            self.current.clone_from(name);
            return Err(Trouble::new(*at, format!("`{name}` is declared and has no body")));
        }
        Ok((functions, constants))
    }

    /// The number of the kernel among functions.
    pub(super) fn kernel_among(&self, functions: &[Function]) -> usize {
        let last = |is_it: &dyn Fn(&str) -> bool| {
            functions.iter().rposition(|function| is_it(&function.name))
        };
        let is_ahead = |name: &str| self.declared.iter().any(|(header, _)| header.name == name);
        let marked = last(&|name| self.marked.as_deref() == Some(name));
        let marked = marked.or_else(|| last(&|name| !is_ahead(name)));
        marked.unwrap_or(functions.len() - 1)
    }

    /// What was declared ahead has the same types, and its defaults.
    fn join_declared(&self, header: &mut Header, at: Span) -> Result<(), Trouble> {
        let declared = self.declared.iter().find(|(known, _)| known.name == header.name);
        let Some((declared, _)) = declared else { return Ok(()) };
        let types = |header: &Header| {
            let parameters = header.parameters.iter();
            let parameters = parameters.map(|it| (it.type_name.clone(), it.is_raw, it.is_out));
            (header.result.clone(), parameters.collect::<Vec<_>>())
        };
        if types(declared) != types(header) {
            let what = format!("`{}` was declared with other types", header.name);
            return Err(Trouble::new(at, what));
        }
        for (parameter, known) in header.parameters.iter_mut().zip(&declared.parameters) {
            parameter.default = parameter.default.take().or_else(|| known.default.clone());
        }
        Ok(())
    }

    /// Up to the body, and where the name is.
    pub(super) fn header(&mut self) -> Result<(Header, Span), Trouble> {
        self.forget(self.n_constants);
        self.letters.clear();
        self.current.clear();
        if self.takes_word("template") {
            self.template()?;
        }
        let marks_at = self.at;
        self.takes_words(&QUALIFIERS);
        let is_marked = (marks_at..self.at).any(|at| self.tokens[at].0 == Token::Name(KERNEL));
        let result_at = self.span();
        let result = if self.takes_word("void") { None } else { Some(self.new_type()?) };
        let (name, at) = self.name("the name of the function")?;
        self.current.clone_from(&name);
        if is_marked && let Some(other) = self.marked.as_ref().filter(|other| **other != name) {
            let what = format!("a text is one kernel, and `{other}` is marked as one, too");
            let remedy =
                "give it a text of its own; what a kernel calls is __device__, or has no mark";
            return Err(Trouble::new(at, what).with(Some(remedy.into())));
        }
        if is_marked {
            self.marked = Some(name.clone());
        }
        self.expect("(", "and the parameters")?;
        let mut parameters = Vec::new();
        while !self.takes(")") {
            if !parameters.is_empty() {
                self.expect(",", "or `)` behind a parameter")?;
            }
            let parameter = self.parameter(&parameters)?;
            parameters.push(parameter);
        }
        let binds = |letter: &str| {
            parameters.iter().filter(|parameter| parameter.is_given()).any(|parameter| {
                matches!(&parameter.type_name, TypeName::Letter(known) if known == letter)
            })
        };
        let of_result = result.as_ref().and_then(TypeName::letter);
        let outs = parameters.iter().filter_map(|parameter| parameter.type_name.letter());
        if let Some(letter) = of_result.into_iter().chain(outs).find(|letter| !binds(letter)) {
            let what = format!("no parameter says what {letter} is");
            return Err(Trouble::new(result_at.to(at), what).with(Some(format!(
                "take an argument of it, `{letter} x`, or name a type: float"
            ))));
        }
        if result.is_none() && !parameters.iter().any(|parameter| parameter.is_out) {
            let what = format!("`{name}` gives nothing");
            let remedy = "give it a type and `return` a value, or results: void f(T x, out T y)";
            return Err(Trouble::new(at, what).with(Some(remedy.into())));
        }
        Ok((Header { name, result, parameters }, at))
    }

    /// The letters of `template <typename T>`.
    fn template(&mut self) -> Result<(), Trouble> {
        self.expect("<", "behind `template`")?;
        while !self.takes(">") {
            if !self.takes_word("typename") && !self.takes_word("class") {
                let remedy = "numbers that the script has are known by their names";
                return Err(self.unexpected("typename").with(Some(remedy.into())));
            }
            let (letter, _) = self.name("a letter for a type")?;
            self.letters.push(letter);
            self.takes(",");
        }
        Ok(())
    }

    /// `const float G = 9.81f;` before the functions, which all know it.
    fn constant(&mut self) -> Result<Option<Statement>, Trouble> {
        let (start, back) = (self.span(), self.at);
        self.forget(self.n_constants);
        self.takes_words(&QUALIFIERS);
        self.takes_word("const");
        let has_type = matches!(self.type_name(), Ok(Some(_)));
        let is_constant = has_type && matches!(self.ahead(1), Token::Sign("=" | "["));
        self.at = back;
        if !is_constant {
            return Ok(None);
        }
        self.takes_words(&QUALIFIERS);
        let declared = self.declaration()?;
        self.n_constants = self.names.len();
        self.expect(";", "behind the declaration")?;
        Ok(declared.map(|kind| Statement { at: start.to(self.last_span()), kind }))
    }

    /// `None` of one that is declared alone: `float g(float x);`
    fn function(&mut self, n_constants: usize) -> Result<Option<Function>, Trouble> {
        let (mut header, at) = self.header()?;
        self.join_declared(&mut header, at)?;
        // It may not call itself.
        let known = Known { name: header.name.clone(), parameters: header.parameters.clone() };
        if self.takes(";") {
            self.functions.push(known);
            self.declared.push((header, at));
            return Ok(None);
        }
        let Header { name, result, parameters } = header;
        // Parameters belong to the block of the body.
        self.scope = self.names.len();
        for parameter in &parameters {
            if parameter.is_fixed {
                self.fixed.push(self.names.len());
            }
            self.names.push(parameter.name.clone());
        }
        self.expect("{", "and the body of the function")?;
        let body = self.deeper(Self::statements)?;
        self.scope = 0;
        self.functions.push(known);
        Ok(Some(Function { name, at, result, parameters, n_constants, body }))
    }

    fn parameter(&mut self, before: &[Parameter]) -> Result<Parameter, Trouble> {
        let (mut is_raw, mut is_out, mut is_const) = (false, false, false);
        let is_both = self.is_word("inout");
        while let Token::Name(word @ ("raw" | "in" | "out" | "inout" | "const" | "volatile")) =
            *self.token()
        {
            is_raw |= word == "raw";
            is_out |= word.ends_with("out");
            is_const |= word == "const";
            self.next();
        }
        let type_name = self.new_type()?;
        is_const |= self.takes_word("const");
        // As C says it.
        if self.takes("*") {
            is_out |= !is_const;
            is_raw = true;
            self.takes_words(&OF_POINTERS);
        }
        // What is const is read, and as good as a value.
        let is_reference = self.takes("&") && !is_const || is_both && !is_raw;
        is_out |= is_reference;
        let (name, at) = match (*self.token(), self.span()) {
            // What they mean stands before the type.
            (Token::Name(name @ ("out" | "raw")), at) => {
                self.next();
                (name.to_string(), at)
            }
            // In declarations, names may be left out.
            (Token::Sign("," | ")"), at) => (String::new(), at),
            _ => self.new_name("the name of a parameter")?,
        };
        if self.takes("[") {
            self.expect("]", "behind `[`")?;
            is_out |= !is_const && !is_raw;
            is_raw = true;
        }
        if !name.is_empty() && before.iter().any(|known| known.name == name) {
            return Err(Trouble::new(at, format!("two parameters are called `{name}`")));
        }
        if type_name == TypeName::Auto {
            let what = "a parameter has a type; a letter takes any: `T x`";
            return Err(Trouble::new(at, what));
        }
        let default = if self.takes("=") { Some(self.conditional()?) } else { None };
        let takes_none = is_raw || is_out;
        if let Some(default) = default.as_ref().filter(|_| takes_none) {
            let what = format!("`{name}` is an array or a result, which have no default");
            return Err(Trouble::new(default.at, what));
        }
        if !takes_none && default.is_none() {
            let given = before.iter().filter(|known| !known.is_out);
            if given.into_iter().any(|known| known.default.is_some()) {
                let what = format!("`{name}` needs a default, since a parameter before it has one");
                return Err(Trouble::new(at, what));
            }
        }
        let (is_written, is_fixed) = (false, if is_raw { !is_out } else { is_const });
        Ok(Parameter {
            name,
            at,
            type_name,
            is_raw,
            is_out,
            is_reference,
            default,
            is_written,
            is_fixed,
        })
    }

    /// The type of a parameter or result, where letters become known.
    fn new_type(&mut self) -> Result<TypeName, Trouble> {
        let letter = match self.words().as_slice() {
            [letter, ..] if is_letter(letter) => Some(*letter),
            ["acc_t", ..] => match (self.ahead(1), self.ahead(2)) {
                (Token::Sign("("), Token::Name(letter)) if is_letter(letter) => Some(*letter),
                _ => None,
            },
            _ => None,
        };
        self.letters.extend(letter.map(Into::into));
        let unknown = match *self.token() {
            Token::Name(name) => Some(name),
            _ => None,
        };
        match (self.type_name()?, unknown) {
            (Some(type_name), _) => Ok(type_name),
            (None, Some(name)) => {
                let what = format!("`{name}` is no type");
                let all = "types are bool, int8 to int64, uint8 to uint64, half, float, double, \
                              those of C, acc_t(T), and capital letters that calls bind: T";
                let remedy = dialect::instead(name).or_else(|| types::meant(name));
                let is_first = self.place() == 0 && !matches!(self.ahead(1), Token::Name(_));
                let all = if is_first {
                    "a kernel is a function: T f(T x) { return x * x; }"
                } else {
                    all
                };
                let remedy = remedy.unwrap_or_else(|| all.into());
                Err(Trouble::new(self.span(), what).with(Some(remedy)))
            }
            (None, None) => Err(self.unexpected("a type")),
        }
    }
}
