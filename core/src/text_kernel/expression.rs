//! From text to tree: expressions, with C's precedence.

use super::dialect::{COUNT, LANE, Launch};
use super::lexer::Token;
use super::parse::{BUILT_IN, Parser};
use super::program::Captured;
use super::tree::{ATOMIC, CPP_MIN, Expression, Gives, Parameter, SIZE_OF, Term};
use super::trouble::{Span, Trouble};
use super::types::TypeName;
use super::{dialect, library};
use crate::dtype::Scalar;
use crate::ir::op::{OPS, Op};

/// Operators of two operands, those that bind least first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The operation of an operator.
fn operation(sign: &str) -> Option<Op> {
    OPS.iter().find(|info| info.operator == Some(sign)).map(|info| info.op)
}

/// What adds to a place, in the text of [`Parser::assignment`].
const ASSIGNMENTS: [&str; 10] = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];

/// What adds 1 to a place, or takes it away.
const STEPS: [(&str, Op); 2] = [("++", Op::Add), ("--", Op::Sub)];

impl Parser<'_> {
    /// A statement that is an expression: a call, an assignment, `++`.
    pub(super) fn assignment(&mut self) -> Result<Expression, Trouble> {
        let start = self.span();
        for (sign, op) in STEPS {
            if self.takes(sign) {
                let place = self.unary()?;
                return self.stepped(place, op, start);
            }
        }
        if self.is("*") {
            let remedy = "an element is s[j], and a result of a function is `out float s`";
            return Err(self.unexpected("a statement").with(Some(remedy.into())));
        }
        let place = self.conditional()?;
        let at = self.span();
        if let Term::Step(op, _, place) = place.kind {
            return self.stepped(*place, op, start);
        }
        let op = match *self.token() {
            Token::Sign("=") => None,
            Token::Sign(sign) if ASSIGNMENTS.contains(&sign) => operation(&sign[..sign.len() - 1]),
            _ if matches!(place.kind, Term::Call(..)) => return Ok(place),
            _ => {
                let what = "the statement does nothing, expected an assignment or a call";
                let remedy = "a result is given by return: return x * x;";
                let trouble = Trouble::new(start.to(self.last_span()), what);
                return Err(trouble.with(Some(remedy.into())));
            }
        };
        self.next();
        self.check_place(&place)?;
        let value = self.deeper(Self::chained)?;
        Ok(Expression { at, kind: Term::Assign(op, Box::new([place, value])) })
    }

    /// What is assigned: `1` of `a = b = 1` to both.
    fn chained(&mut self) -> Result<Expression, Trouble> {
        let place = self.conditional()?;
        let at = self.span();
        if !self.takes("=") {
            return Ok(place);
        }
        self.check_place(&place)?;
        let value = self.deeper(Self::chained)?;
        Ok(Expression { at, kind: Term::Assign(None, Box::new([place, value])) })
    }

    fn stepped(&self, place: Expression, op: Op, start: Span) -> Result<Expression, Trouble> {
        self.check_place(&place)?;
        let at = start.to(self.last_span());
        let one = Expression { at, kind: Term::Number(Scalar::Int(1), None) };
        Ok(Expression { at, kind: Term::Assign(Some(op), Box::new([place, one])) })
    }

    fn check_place(&self, place: &Expression) -> Result<(), Trouble> {
        if place.kind.is_place() {
            return match place.roots().first().filter(|name| self.is_fixed(name)) {
                Some(name) if matches!(place.kind, Term::Index(..)) => {
                    let what = format!("`{name}` is read only");
                    let remedy = format!("declare it as one that is written: out raw T {name}");
                    Err(Trouble::new(place.at, what).with(Some(remedy)))
                }
                Some(name) => {
                    let name = name.split('[').next().unwrap_or(name);
                    let what = format!("`{name}` is const, so it has nothing assigned to it");
                    let remedy = "leave the const away where it is declared";
                    Err(Trouble::new(place.at, what).with(Some(remedy.into())))
                }
                None => Ok(()),
            };
        }
        Err(Trouble::new(place.at, "got a value, expected a variable or an element to assign to"))
    }

    /// An expression, which assigns nothing.
    pub(super) fn expression(&mut self) -> Result<Expression, Trouble> {
        let expression = self.conditional()?;
        let is_assignment = match *self.token() {
            Token::Sign(sign) => sign == "=" || ASSIGNMENTS.contains(&sign),
            _ => false,
        };
        if is_assignment {
            let what = "an assignment stands in an expression";
            let remedy = "write it as a statement of its own; to compare write ==";
            return Err(Trouble::new(self.span(), what).with(Some(remedy.into())));
        }
        Ok(expression)
    }

    /// `condition ? a : b`
    pub(super) fn conditional(&mut self) -> Result<Expression, Trouble> {
        self.deeper(|parser| {
            let condition = parser.binary(0)?;
            let at = parser.span();
            if !parser.takes("?") {
                return Ok(condition);
            }
            let then = parser.conditional()?;
            parser.expect(":", "and the other value")?;
            let otherwise = parser.conditional()?;
            Ok(Expression { at, kind: Term::Choose(Box::new([condition, then, otherwise])) })
        })
    }

    /// Operators that bind at least as much as a level.
    fn binary(&mut self, least: usize) -> Result<Expression, Trouble> {
        let mut left = self.unary()?;
        let mut n_operators = 0;
        loop {
            let at = self.span();
            let Token::Sign(sign) = *self.token() else { return Ok(left) };
            let level = LEVELS.iter().position(|signs| signs.contains(&sign));
            let Some(level) = level.filter(|&level| level >= least) else { return Ok(left) };
            self.next();
            // A chain is as deep as it is long.
            n_operators += 1;
            if n_operators > MOST_OPERATORS {
                let what = format!("more than {MOST_OPERATORS} operators in a row");
                return Err(Trouble::new(at, what).with(Some("use a variable for a part".into())));
            }
            let right = self.binary(level + 1)?;
            let kind = match sign {
                "&&" | "||" => Term::Both(sign == "||", Box::new([left, right])),
                _ => {
                    let none = || Trouble::new(at, format!("unknown operator `{sign}`"));
                    Term::Apply(operation(sign).ok_or_else(none)?, vec![left, right])
                }
            };
            left = Expression { at, kind };
        }
    }

    pub(super) fn unary(&mut self) -> Result<Expression, Trouble> {
        self.deeper(|parser| {
            let at = parser.span();
            let operators = [("-", Some(Op::Neg)), ("~", Some(Op::Not)), ("+", None)];
            for (sign, op) in operators {
                if parser.takes(sign) {
                    let operand = parser.unary()?;
                    return Ok(match op {
                        Some(op) => Expression { at, kind: Term::Apply(op, vec![operand]) },
                        None => operand,
                    });
                }
            }
            if parser.takes("!") {
                let operand = parser.unary()?;
                return Ok(Expression { at, kind: Term::Not(operand.into()) });
            }
            for (sign, op) in STEPS {
                if parser.takes(sign) {
                    let place = parser.unary()?;
                    parser.check_place(&place)?;
                    return Ok(Expression { at, kind: Term::Step(op, false, place.into()) });
                }
            }
            // The address of a place, for what writes to it.
            if parser.takes("&") {
                let place = parser.unary()?;
                if place.kind.is_place() {
                    return Ok(place);
                }
                return Err(Trouble::new(
                    at,
                    "an address is one of a variable or an element: &x[j]",
                ));
            }
            let place = parser.primary()?;
            for (sign, op) in STEPS {
                if parser.takes(sign) {
                    parser.check_place(&place)?;
                    return Ok(Expression { at, kind: Term::Step(op, true, place.into()) });
                }
            }
            Ok(place)
        })
    }

    fn primary(&mut self) -> Result<Expression, Trouble> {
        let at = self.span();
        if let Token::Number(number, dtype) = *self.token() {
            self.next();
            return Ok(Expression { at, kind: Term::Number(number, dtype) });
        }
        if self.takes("(") {
            let back = self.place();
            if let Some(type_name) = self.type_name()?
                && self.takes(")")
            {
                let operand = self.unary()?;
                return Ok(Expression { at, kind: Term::Cast(type_name, operand.into()) });
            }
            // `(float(x) + 1)`
            self.go_back(back);
            let inner = self.expression()?;
            self.expect(")", "behind the expression")?;
            return Ok(inner);
        }
        if self.takes_word("sizeof") {
            return self.size_of(at);
        }
        // A function of the text may have the name of a type that C has not: half.
        let is_own = matches!(*self.token(), Token::Name(name) if self.functions.iter().any(|own| own.name == name));
        let type_name = if is_own { None } else { self.type_name()? };
        if let Some(type_name) = type_name {
            return self.of_type(type_name, at);
        }
        // What is outside of all namespaces, as all is here.
        if self.takes("::") {
            return self.primary();
        }
        let Token::Name(name) = *self.token() else {
            let opens =
                [Token::Sign("="), Token::Sign("("), Token::Sign(","), Token::Name("return")];
            let is_pointer = self.is("*") && opens.contains(self.last());
            let remedy = is_pointer.then(|| dialect::POINTER.into());
            return Err(self.unexpected("an expression").with(remedy));
        };
        self.next();
        let is_namespace = matches!(name, "std" | "cuda" | "thrust");
        if is_namespace && self.takes("::") {
            return self.primary();
        }
        if matches!(name, "static_cast" | "numeric_limits" | "bit_cast") && self.takes("<") {
            let of_type = self.type_name()?;
            let of_type = of_type.ok_or_else(|| self.unexpected("a type"))?;
            self.expect(">", "behind the type")?;
            if name == "bit_cast" {
                let bits = self.in_brackets("and the value whose bits are taken")?;
                return Ok(Expression { at, kind: Term::Bits(of_type, bits.into()) });
            }
            let mut made = self.of_type(of_type, at)?;
            // C++'s smallest float is not the lowest one.
            if let ("numeric_limits", Term::Limit(_, limit)) = (name, &mut made.kind)
                && limit == "min"
            {
                *limit = CPP_MIN.into();
            }
            return Ok(made);
        }
        if self.takes("::") {
            let what = format!("`{name}` is no type");
            let function = match *self.token() {
                Token::Name(function) => function,
                _ => "f",
            };
            let remedy = format!("functions have no prefix: write and call `{function}` alone");
            return Err(Trouble::new(at, what).with(Some(remedy)));
        }
        let explicit = self.explicit_types()?;
        if self.takes("(") {
            return self.call(name, &explicit, at);
        }
        self.named(name, at)
    }

    /// The types that a call of a template says: `sq<float>(x)`.
    fn explicit_types(&mut self) -> Result<Vec<TypeName>, Trouble> {
        let back = self.place();
        let mut types = Vec::new();
        while self.takes(if types.is_empty() { "<" } else { "," })
            && let Some(type_name) = self.type_name()?
        {
            types.push(type_name);
        }
        if types.is_empty() || !self.takes(">") || !self.is("(") {
            self.go_back(back);
            types.clear();
        }
        Ok(types)
    }

    /// What begins with a type: a conversion, or one of its limits.
    fn of_type(&mut self, type_name: TypeName, at: Span) -> Result<Expression, Trouble> {
        if self.takes("::") {
            let Token::Name(limit) = *self.token() else {
                return Err(self.unexpected("max, min, epsilon, tiny, inf or nan"));
            };
            self.next();
            // As C++'s numeric_limits are called.
            if self.takes("(") {
                self.expect(")", "behind `(`")?;
            }
            return Ok(Expression {
                at: at.to(self.last_span()),
                kind: Term::Limit(type_name, limit.into()),
            });
        }
        let operand = self.in_brackets("and the value to convert")?;
        Ok(Expression { at, kind: Term::Cast(type_name, operand.into()) })
    }

    fn in_brackets(&mut self, behind: &str) -> Result<Expression, Trouble> {
        self.expect("(", behind)?;
        let inner = self.expression()?;
        self.expect(")", "behind the value")?;
        Ok(inner)
    }

    /// What `sizeof` asks: `(float)`.
    fn size_of(&mut self, at: Span) -> Result<Expression, Trouble> {
        self.expect("(", "and a type: sizeof(T)")?;
        let of_type = self.type_name()?.filter(|of_type| *of_type != TypeName::Auto);
        let of_type = of_type.ok_or_else(|| self.unexpected("a type: sizeof(T)"))?;
        self.expect(")", "behind the type")?;
        let at = at.to(self.last_span());
        Ok(Expression { at, kind: Term::Limit(of_type, SIZE_OF.into()) })
    }

    fn call(&mut self, name: &str, explicit: &[TypeName], at: Span) -> Result<Expression, Trouble> {
        let mut args = Vec::new();
        while !self.takes(")") {
            if !args.is_empty() {
                self.expect(",", "or `)` behind an argument")?;
            }
            args.push(self.expression()?);
        }
        let is_own = self.functions.iter().any(|known| known.name == name);
        let is_built_in = matches!(name, "lane" | "count" | "len") || name.starts_with(ATOMIC);
        let of_script = self.capture(name);
        if let ([place, _], false) = (&mut args[..], is_own)
            && name.starts_with(ATOMIC)
        {
            place.point_to_element();
        }
        let is_of_script = matches!(of_script, Some(Captured::Kernel(_) | Captured::Unknown));
        if !is_own && !is_built_in && !is_of_script {
            let Some(function) = library::find(name) else {
                return Err(self.no_function(name, at));
            };
            let (least, most) = function.arity();
            if !(least..=most).contains(&args.len()) {
                let takes =
                    if least == most { least.to_string() } else { format!("{least} to {most}") };
                let what = format!("`{name}` got {} arguments, expected {takes}", args.len());
                return Err(Trouble::new(at, what));
            }
        }
        let parameters = self.parameters_of(name);
        if let Some(type_name) = explicit.first()
            && !name.starts_with(ATOMIC)
        {
            convert(&mut args, parameters, type_name, explicit.len()).map_err(|what| {
                let remedy = format!("leave the types away, or convert a value: {name}(int(x), y)");
                Trouble::new(at, format!("`{name}` {what}")).with(Some(remedy))
            })?;
        }
        let mut results: Vec<_> = parameters.into_iter().flatten().map(Gives::of).collect();
        results.resize(args.len(), None);
        let places = || args.iter().zip(&results).filter(|(_, result)| result.is_some());
        for (place, result) in places() {
            self.check_place(place)?;
            let is_same = |other: &Expression| matches!((&place.kind, &other.kind), (Term::Name(one), Term::Name(other)) if one == other);
            let others =
                places().filter(|(other, _)| !std::ptr::eq(*other, place) && is_same(other));
            if *result == Some(Gives::Reference) && others.count() > 0 {
                let what = "a reference is to a place of its own, and another result goes there";
                return Err(Trouble::new(place.at, what));
            }
        }
        let results = results.iter().map(Option::is_some).collect();
        Ok(Expression { at, kind: Term::Call(name.into(), args, results) })
    }

    /// What a function of the text or the script takes.
    fn parameters_of(&self, name: &str) -> Option<&[Parameter]> {
        let own = self.functions.iter().rfind(|known| known.name == name);
        match (own, self.captured.iter().find(|(known, _)| known == name)) {
            (Some(own), _) => Some(&own.parameters),
            (None, Some((_, Captured::Kernel(kernel)))) => {
                Some(&kernel.program.kernel().parameters)
            }
            _ => None,
        }
    }

    /// The error of a name that is called and is no function.
    fn no_function(&self, name: &str, at: Span) -> Trouble {
        if name == self.current {
            let what = format!("`{name}` calls itself, and kernels have no recursion");
            let remedy = "a loop does the same: while (x > 0) { … }";
            return Trouble::new(at, what).with(Some(remedy.into()));
        }
        if self.is_defined_behind(name) {
            let what = format!("`{name}` is defined further down");
            let remedy = "functions stand before those that call them; calling each other in a circle is recursion, which kernels have not";
            return Trouble::new(at, what).with(Some(remedy.into()));
        }
        if self.names.iter().any(|known| known == name) {
            let what = format!("`{name}` is a value, no function");
            let remedy = format!("an element of an array is {name}[j], a product {name} * (…)");
            return Trouble::new(at, what).with(Some(remedy));
        }
        self.unknown(name, at, "function")
    }

    fn named(&mut self, name: &str, at: Span) -> Result<Expression, Trouble> {
        if let Some(local) = self.known_local(name) {
            return self.local_element(local, at);
        }
        if self.takes("[") {
            let index = self.expression()?;
            self.expect("]", "behind the index")?;
            if !self.names.iter().any(|known| known == name) {
                return Err(match self.capture(name) {
                    Some(Captured::Array) => array_around(name, at),
                    _ => self.unknown(name, at, "array"),
                });
            }
            let at = at.to(self.last_span());
            return Ok(Expression { at, kind: Term::Index(name.into(), index.into()) });
        }
        if let Some(launch) = dialect::of_launch(name) {
            let kind = match launch {
                // No variable or function has such a name.
                Launch::Lane => Term::Name(LANE.into()),
                Launch::Count => Term::Name(COUNT.into()),
                Launch::Number(number) => Term::Number(Scalar::Int(number), None),
            };
            return Ok(Expression { at, kind });
        }
        let is_known = self.names.iter().any(|known| known == name) || BUILT_IN.contains(&name);
        if is_known {
            return Ok(Expression { at, kind: Term::Name(name.into()) });
        }
        match (name, self.capture(name)) {
            ("true", _) => Ok(Expression { at, kind: Term::Number(Scalar::Bool(true), None) }),
            ("false", _) => Ok(Expression { at, kind: Term::Number(Scalar::Bool(false), None) }),
            (_, Some(Captured::Number(_) | Captured::Unknown)) => {
                Ok(Expression { at, kind: Term::Name(name.into()) })
            }
            (_, Some(Captured::Kernel(_))) => {
                Err(Trouble::new(at, format!("`{name}` is a kernel, expected a value: {name}(x)")))
            }
            (_, Some(Captured::Array)) if dialect::constant(name).is_none() => {
                Err(array_around(name, at))
            }
            (_, None) if name.contains('.') && dialect::instead(name).is_none() => {
                if let Some(trouble) = self.no_part(name, at) {
                    return Err(trouble);
                }
                let what = format!("`{name}`: values have no members here");
                let remedy = "pass the components one by one; those of a vector go through the kernel by themselves";
                Err(Trouble::new(at, what).with(Some(remedy.into())))
            }
            (_, None | Some(Captured::Array)) => match dialect::constant(name) {
                Some(number) => Ok(Expression { at, kind: Term::Number(number, None) }),
                None => Err(self.unknown(name, at, "name")),
            },
        }
    }
}

/// The error of an array that the script has.
fn array_around(name: &str, at: Span) -> Trouble {
    let what =
        format!("`{name}` is an array of the script, of which kernels know numbers and kernels");
    let remedy =
        format!("pass it: a parameter `T {name}` has its lane, `raw T {name}` all, as {name}[j]");
    Trouble::new(at, what).with(Some(remedy))
}

/// Operators of one level in a row.
const MOST_OPERATORS: usize = 500;

/// Converts what is given to the letter of a template.
fn convert(
    args: &mut [Expression],
    parameters: Option<&[Parameter]>,
    type_name: &TypeName,
    n_types: usize,
) -> Result<(), &'static str> {
    let letters = parameters.into_iter().flatten().map(|parameter| &parameter.type_name);
    let mut letters = letters.filter(|name| matches!(name, TypeName::Letter(_)));
    let first = letters.next();
    if n_types > 1 || letters.any(|other| Some(other) != first) {
        return Err("has several types, which are those of its arguments");
    }
    for (number, arg) in args.iter_mut().enumerate() {
        let is_converted =
            parameters.is_none_or(|known| known.get(number).is_some_and(Parameter::is_of_letter));
        if is_converted {
            let kind = Term::Cast(type_name.clone(), arg.clone().into());
            *arg = Expression { at: arg.at, kind };
        }
    }
    Ok(())
}
