//! Random kernels as the text that they are, with the brackets that C's precedence needs and no others.

use std::fmt::{self, Write};

use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::{Op, Scalar};

use super::{Expr, Function, Kind, Parameter, Passed, Statement, Text};

/// How much the operators of an expression bind.
const CHOOSE: u32 = 1;
const OR: u32 = 2;
const AND: u32 = 3;
const UNARY: u32 = 20;
const PRIMARY: u32 = 30;

/// C's operator, and how much it binds; the next one takes its left side.
pub fn operator(op: Op) -> Option<(&'static str, u32)> {
    Some(match op {
        Op::Or => ("|", 4),
        Op::Xor => ("^", 5),
        Op::And => ("&", 6),
        Op::Eq => ("==", 7),
        Op::Ne => ("!=", 7),
        Op::Lt => ("<", 8),
        Op::Le => ("<=", 8),
        Op::Gt => (">", 8),
        Op::Ge => (">=", 8),
        Op::Shl => ("<<", 9),
        Op::Shr => (">>", 9),
        Op::Add => ("+", 10),
        Op::Sub => ("-", 10),
        Op::Mul => ("*", 11),
        Op::Div => ("/", 11),
        Op::Rem => ("%", 11),
        _ => return None,
    })
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for function in &self.functions {
            Printer { text: self, function, indent: 1 }.function(f)?;
        }
        Ok(())
    }
}

struct Printer<'t> {
    text: &'t Text,
    function: &'t Function,
    indent: usize,
}

impl Printer<'_> {
    fn function(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = self.function;
        let result = function.result.as_ref().map_or("void", |result| &result.text);
        let parameters = function.parameters.iter().enumerate();
        let parameters = parameters.map(|(number, parameter)| self.parameter(number, parameter));
        let parameters: Vec<String> = parameters.collect();
        writeln!(f, "{result} {}({}) {{", function.name, parameters.join(", "))?;
        self.statements(f, &function.body)?;
        writeln!(f, "}}")
    }

    fn parameter(&self, number: usize, parameter: &Parameter) -> String {
        let kind = match parameter.kind {
            Kind::Given => "",
            Kind::Out => "out ",
            Kind::Raw => "raw ",
        };
        let default = parameter.default.map(|number| format!(" = {}", literal(number)));
        format!(
            "{kind}{} {}{}",
            parameter.spelled.text,
            self.function.names[number],
            default.unwrap_or_default()
        )
    }

    fn statements(&mut self, f: &mut fmt::Formatter<'_>, statements: &[Statement]) -> fmt::Result {
        statements.iter().try_for_each(|statement| {
            self.line(f)?;
            self.statement(f, statement)?;
            f.write_char('\n')
        })
    }

    fn line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:1$}", "", self.indent * 2)
    }

    fn block(&mut self, f: &mut fmt::Formatter<'_>, statements: &[Statement]) -> fmt::Result {
        f.write_str("{\n")?;
        self.indent += 1;
        self.statements(f, statements)?;
        self.indent -= 1;
        self.line(f)?;
        f.write_char('}')
    }

    fn statement(&mut self, f: &mut fmt::Formatter<'_>, statement: &Statement) -> fmt::Result {
        let name = |variable: &usize| &self.function.names[*variable];
        match statement {
            Statement::Declare { .. }
            | Statement::Assign(..)
            | Statement::Both(..)
            | Statement::Step { .. } => write!(f, "{};", self.simple(statement)),
            Statement::If(condition, then, otherwise) => {
                write!(f, "if ({}) ", self.expr(condition, 0))?;
                self.block(f, then)?;
                if otherwise.is_empty() {
                    return Ok(());
                }
                f.write_str(" else ")?;
                match &otherwise[..] {
                    [other @ Statement::If(..)] => self.statement(f, other),
                    _ => self.block(f, otherwise),
                }
            }
            Statement::For(head, condition, body) => {
                let [start, update] = [&head[0], &head[1]].map(|part| self.simple(part));
                write!(f, "for ({start}; {}; {update}) ", self.expr(condition, 0))?;
                self.block(f, body)
            }
            Statement::While(condition, body) => {
                write!(f, "while ({}) ", self.expr(condition, 0))?;
                self.block(f, body)
            }
            Statement::Do(body, condition) => {
                f.write_str("do ")?;
                self.block(f, body)?;
                write!(f, " while ({});", self.expr(condition, 0))
            }
            Statement::Switch(selector, cases) => {
                writeln!(f, "switch ({}) {{", self.expr(selector, 0))?;
                for (labels, body) in cases {
                    for label in labels {
                        self.line(f)?;
                        match label {
                            Some(label) => writeln!(f, "case {label}:")?,
                            None => f.write_str("default:\n")?,
                        }
                    }
                    self.indent += 1;
                    self.statements(f, body)?;
                    self.indent -= 1;
                }
                self.line(f)?;
                f.write_char('}')
            }
            Statement::Block(statements) => self.block(f, statements),
            Statement::Break => f.write_str("break;"),
            Statement::Continue => f.write_str("continue;"),
            Statement::Return(None) => f.write_str("return;"),
            Statement::Return(Some(value)) => write!(f, "return {};", self.expr(value, 0)),
            Statement::Call(number, passed) => {
                let passed = passed.iter().map(|passed| match passed {
                    Passed::Value(value) => self.expr(value, 0),
                    Passed::Place(variable) => name(variable).clone(),
                });
                let passed: Vec<String> = passed.collect();
                write!(f, "{}({});", self.text.functions[*number].name, passed.join(", "))
            }
        }
    }

    /// A statement of one line, without its semicolon.
    fn simple(&self, statement: &Statement) -> String {
        let name = |variable: &usize| &self.function.names[*variable];
        match statement {
            Statement::Declare { variable, spelled, first } => {
                let first = first.as_ref().map(|first| format!(" = {}", self.expr(first, 0)));
                format!("{} {}{}", spelled.text, name(variable), first.unwrap_or_default())
            }
            Statement::Assign(variable, op, value) => {
                let sign = op.and_then(operator).map_or("", |(sign, _)| sign);
                format!("{} {sign}= {}", name(variable), self.expr(value, 0))
            }
            Statement::Both(one, other, value) => {
                format!("{} = {} = {}", name(one), name(other), self.expr(value, 0))
            }
            Statement::Step { variable, up, before } => {
                let sign = if *up { "++" } else { "--" };
                let name = name(variable);
                if *before { format!("{sign}{name}") } else { format!("{name}{sign}") }
            }
            _ => panic!("no statement of one line: {statement:?}"),
        }
    }

    /// An expression where one that binds less than `least` needs brackets.
    fn expr(&self, expr: &Expr, least: u32) -> String {
        let (text, binds) = self.bare(expr);
        if binds < least { format!("({text})") } else { text }
    }

    fn list(&self, args: &[Expr]) -> String {
        args.iter().map(|arg| self.expr(arg, 0)).collect::<Vec<_>>().join(", ")
    }

    /// An expression without brackets, and how much it binds.
    fn bare(&self, expr: &Expr) -> (String, u32) {
        let name = |variable: &usize| &self.function.names[*variable];
        match expr {
            Expr::Number(number) => {
                let text = literal(*number);
                let binds = if text.starts_with('-') { UNARY } else { PRIMARY };
                (text, binds)
            }
            Expr::Limit(spelled, is_max) => {
                (format!("{}::{}", spelled.text, if *is_max { "max" } else { "min" }), PRIMARY)
            }
            Expr::Variable(variable) => (name(variable).clone(), PRIMARY),
            Expr::Lane => ("i".into(), PRIMARY),
            Expr::Count => ("n".into(), PRIMARY),
            Expr::Len(array) => (format!("len({})", name(array)), PRIMARY),
            Expr::Read(array, index) => {
                (format!("{}[{}]", name(array), self.expr(index, 0)), PRIMARY)
            }
            Expr::Op(op, args) => self.op(*op, args),
            Expr::Function(row, args) => {
                (format!("{}({})", FUNCTIONS[*row].name, self.list(args)), PRIMARY)
            }
            Expr::Not(part) => (format!("!{}", self.expr(part, UNARY)), UNARY),
            Expr::Logic(is_or, parts) => {
                let (sign, binds) = if *is_or { ("||", OR) } else { ("&&", AND) };
                let [left, right] = [(&parts[0], binds), (&parts[1], binds + 1)];
                let [left, right] = [left, right].map(|(part, least)| self.expr(part, least));
                (format!("{left} {sign} {right}"), binds)
            }
            Expr::Choose(parts) => {
                let condition = self.expr(&parts[0], CHOOSE + 1);
                let (then, otherwise) = (self.expr(&parts[1], 0), self.expr(&parts[2], CHOOSE));
                (format!("{condition} ? {then} : {otherwise}"), CHOOSE)
            }
            Expr::Cast(spelled, part) => {
                // Both forms of C++, by what is converted.
                let is_call =
                    !spelled.text.contains(' ') && self.expr(part, 0).len().is_multiple_of(2);
                if is_call {
                    return (format!("{}({})", spelled.text, self.expr(part, 0)), PRIMARY);
                }
                (format!("({}){}", spelled.text, self.expr(part, UNARY)), UNARY)
            }
            Expr::Own(number, args) => {
                (format!("{}({})", self.text.functions[*number].name, self.list(args)), PRIMARY)
            }
        }
    }

    fn op(&self, op: Op, args: &[Expr]) -> (String, u32) {
        match (op, args) {
            (Op::Neg | Op::Not, [part]) => {
                let sign = if op == Op::Neg { "-" } else { "~" };
                let part = self.expr(part, UNARY);
                let space = if part.starts_with('-') { " " } else { "" };
                (format!("{sign}{space}{part}"), UNARY)
            }
            (op, args) => match (operator(op), args) {
                (Some((sign, binds)), [left, right]) => {
                    let (left, right) = (self.expr(left, binds), self.expr(right, binds + 1));
                    (format!("{left} {sign} {right}"), binds)
                }
                _ => (format!("{}({})", op.name(), self.list(args)), PRIMARY),
            },
        }
    }
}

/// A number as text; which of C's forms, the number says.
pub fn literal(number: Scalar) -> String {
    match number {
        Scalar::Int(number) if number > 8 && number % 3 == 0 => format!("{number:#x}"),
        Scalar::UInt(number) => format!("{number}u"),
        Scalar::Float(number) if (number * 8.0) % 2.0 == 1.0 => format!("{number:?}f"),
        number => number.to_string(),
    }
}
