//! What a kernel's text says.

use std::fmt;

use super::trouble::Span;
use super::types::TypeName;
use crate::dtype::{DType, Scalar};
use crate::ir::op::Op;

/// C++'s `numeric_limits<T>::min`, the smallest float that is normal; no text can spell it.
pub(super) const CPP_MIN: &str = "min()";

/// `sizeof(T)`, a number without a type.
pub(super) const SIZE_OF: &str = "sizeof()";

/// How the functions begin that write to an element what it and a value give together.
pub(super) const ATOMIC: &str = "atomic";

/// A function of the text.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) at: Span,
    /// `None` of `void`.
    pub(super) result: Option<TypeName>,
    pub(super) parameters: Vec<Parameter>,
    /// How many constants of the text it knows.
    pub(super) n_constants: usize,
    pub(super) body: Vec<Statement>,
}

/// Name and parameters of a function.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) name: String,
    /// `None` of `void`.
    pub(super) result: Option<TypeName>,
    pub(super) parameters: Vec<Parameter>,
}

/// What a function takes.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) at: Span,
    pub(super) type_name: TypeName,
    /// An array that is read, and if `is_out` written, at any place.
    pub(super) is_raw: bool,
    /// A result.
    pub(super) is_out: bool,
    /// A result that begins as what the caller has: `float &x`.
    pub(super) is_reference: bool,
    pub(super) default: Option<Expression>,
    /// Whether the function may write it.
    pub(super) is_written: bool,
    /// Whether nothing is assigned to it.
    pub(super) is_fixed: bool,
}

/// How a parameter gives what it holds in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Result,
    /// It begins as what the caller has.
    Reference,
}

impl Gives {
    /// `None` of one that does not.
    pub(super) fn of(parameter: &Parameter) -> Option<Self> {
        let how = if parameter.is_reference { Self::Reference } else { Self::Result };
        parameter.is_result().then_some(how)
    }
}

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) at: Span,
    pub(super) kind: Step,
}

#[derive(Debug)]
pub(super) enum Step {
    /// Variables of one type, with their first values.
    Declare(TypeName, Vec<(String, Option<Expression>)>),
    Do(Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
    Loop(Loop),
    Switch(Expression, Vec<Case>),
    Return(Option<Expression>),
    Break,
    Continue,
    Block(Vec<Statement>),
}

/// `while`, `for` and `do`.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) start: Vec<Statement>,
    /// `None` where it goes on until something ends it.
    pub(super) condition: Option<Expression>,
    pub(super) update: Vec<Statement>,
    pub(super) body: Vec<Statement>,
    /// Whether the first turn is taken without asking.
    pub(super) is_do: bool,
}

/// Statements of a `switch` behind labels; one without is `default`.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) labels: Vec<Option<Expression>>,
    pub(super) body: Vec<Statement>,
}

/// An array of a function's own.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) name: String,
    /// Number of elements along each axis, the last of which runs fastest.
    pub(super) axes: Vec<usize>,
}

impl Local {
    /// Number of elements.
    pub(super) fn n(&self) -> usize {
        self.axes.iter().product()
    }

    /// The variable that an element is.
    pub(super) fn element(&self, k: usize) -> String {
        format!("{}[{k}]", self.name)
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.n()).map(|k| self.element(k))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) at: Span,
    pub(super) kind: Term,
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    /// A number, and its type where a suffix says one.
    Number(Scalar, Option<DType>),
    Name(String),
    /// `T::max`, and [`SIZE_OF`].
    Limit(TypeName, String),
    Index(String, Box<Expression>),
    /// An element of an array of the function's own, by an index an axis.
    Local(Local, Vec<Expression>),
    /// An operation with one operand or two.
    Apply(Op, Vec<Expression>),
    /// `!x`
    Not(Box<Expression>),
    /// `&&`, and `||` if true.
    Both(bool, Box<[Expression; 2]>),
    /// `condition ? a : b`
    Choose(Box<[Expression; 3]>),
    Cast(TypeName, Box<Expression>),
    /// `bit_cast<int>(x)`
    Bits(TypeName, Box<Expression>),
    /// A call, and whether each argument is where a result goes.
    Call(String, Vec<Expression>, Vec<bool>),
    /// `place = value` or `place += value`.
    Assign(Option<Op>, Box<[Expression; 2]>),
    /// `++place` or, if true, `place++` as a value: of the place plus 1, or what was there before.
    Step(Op, bool, Box<Expression>),
}

/// What a piece of text does beside computing.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    /// Names that it may assign to or write.
    pub(super) assigned: Vec<String>,
    /// Arrays that it reads by index.
    pub(super) read: Vec<String>,
    /// Names that it passes to functions, which may.
    pub(super) passed: Vec<Passed>,
    pub(super) returns: bool,
    /// Of the loop or `switch` around it.
    pub(super) breaks: bool,
    pub(super) continues: bool,
    /// About how many operations it is; loops count as many.
    pub(super) cost: usize,
    /// Whether it reads or writes arrays by index, or calls what may.
    pub(super) touches_memory: bool,
}

/// What a call is given.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) function: String,
    pub(super) position: usize,
    pub(super) name: String,
}

/// Operations that a function is taken for, and a loop.
const CALL: usize = 8;
const LOOP: usize = 1000;

impl Effects {
    pub(super) fn of(statements: &[Statement]) -> Self {
        let mut effects = Self::default();
        statements.iter().for_each(|statement| effects.add(statement));
        effects
    }

    pub(super) fn of_expression(expression: &Expression) -> Self {
        let mut effects = Self::default();
        effects.add_expression(expression);
        effects
    }

    fn add(&mut self, statement: &Statement) {
        match &statement.kind {
            Step::Declare(_, variables) => {
                variables
                    .iter()
                    .filter_map(|(_, first)| first.as_ref())
                    .for_each(|first| self.add_expression(first));
            }
            Step::Do(expression) => self.add_expression(expression),
            Step::If(condition, then, otherwise) => {
                self.add_expression(condition);
                then.iter().chain(otherwise).for_each(|statement| self.add(statement));
            }
            Step::Loop(inner) => {
                self.add_inner(&inner.of_turn());
                self.cost += LOOP;
                inner.start.iter().for_each(|statement| self.add(statement));
            }
            Step::Switch(selector, cases) => {
                self.add_expression(selector);
                for case in cases {
                    let inside = Self::of(&case.body);
                    self.add_inner(&inside);
                    self.continues |= inside.continues;
                }
            }
            Step::Return(value) => {
                self.returns = true;
                value.iter().for_each(|value| self.add_expression(value));
            }
            Step::Break => self.breaks = true,
            Step::Continue => self.continues = true,
            Step::Block(statements) => statements.iter().for_each(|statement| self.add(statement)),
        }
    }

    /// What is inside of a loop or `switch`, which `break` and `continue` do not leave.
    fn add_inner(&mut self, inside: &Self) {
        self.assigned.extend_from_slice(&inside.assigned);
        self.read.extend_from_slice(&inside.read);
        self.passed.extend_from_slice(&inside.passed);
        self.returns |= inside.returns;
        self.cost += inside.cost;
        self.touches_memory |= inside.touches_memory;
    }

    fn add_expression(&mut self, expression: &Expression) {
        self.cost += 1;
        let parts: &[Expression] = match &expression.kind {
            Term::Number(..) | Term::Name(_) | Term::Limit(..) => &[],
            Term::Index(name, index) => {
                self.read.push(name.clone());
                self.touches_memory = true;
                std::slice::from_ref(index)
            }
            Term::Local(_, parts) | Term::Apply(_, parts) => parts,
            Term::Not(part) | Term::Cast(_, part) | Term::Bits(_, part) => {
                std::slice::from_ref(part)
            }
            Term::Both(_, parts) => &parts[..],
            Term::Choose(parts) => &parts[..],
            Term::Call(function, args, results) => {
                for (arg, _) in args.iter().zip(results).filter(|(_, is_result)| **is_result) {
                    self.assigned.extend(arg.roots());
                }
                self.cost += CALL;
                self.touches_memory = true;
                for (position, arg) in args.iter().enumerate() {
                    let passed = |name| Passed { function: function.clone(), position, name };
                    self.passed.extend(arg.roots().into_iter().map(passed));
                }
                args
            }
            Term::Assign(op, parts) => {
                self.assigned.extend(parts[0].roots());
                match (&parts[0].kind, op) {
                    // What is written, or added to, is not read.
                    (Term::Index(_, index), None | Some(Op::Add | Op::Sub | Op::And | Op::Or)) => {
                        self.touches_memory = true;
                        self.add_expression(index);
                        &parts[1..]
                    }
                    _ => &parts[..],
                }
            }
            Term::Step(_, _, place) => {
                self.assigned.extend(place.roots());
                // Only lanes that ask for it may.
                self.touches_memory = true;
                std::slice::from_ref(place)
            }
        };
        parts.iter().for_each(|part| self.add_expression(part));
    }
}

impl Parameter {
    /// Whether it is a value whose type calls bind.
    pub(super) fn is_of_letter(&self) -> bool {
        matches!(self.type_name, TypeName::Letter(_)) && !self.is_raw && !self.is_out
    }

    /// Whether it is one value a lane that the function gives.
    pub(super) fn is_result(&self) -> bool {
        self.is_out && !self.is_raw
    }

    /// Whether it is an array of which lanes are written; what is declared so and only read stays what it is.
    pub(super) fn is_written_by_index(&self) -> bool {
        self.is_raw && self.is_out && self.is_written
    }

    /// Whether it has a value when the function begins.
    pub(super) fn is_given(&self) -> bool {
        self.is_reference || !self.is_result()
    }
}

impl Expression {
    /// Whether both are the same known number.
    pub(super) fn is_number_of(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Term::Number(number, _), Term::Number(other, _)) => number == other,
            (Term::Apply(Op::Neg, one), Term::Apply(Op::Neg, other)) => {
                one[0].is_number_of(&other[0])
            }
            _ => false,
        }
    }

    /// Whether a place in it is stepped, `x[j++]`, or a call gives results to places.
    pub(super) fn steps(&self) -> bool {
        match &self.kind {
            Term::Number(..) | Term::Name(_) | Term::Limit(..) => false,
            Term::Index(_, part) | Term::Not(part) => part.steps(),
            Term::Cast(_, part) | Term::Bits(_, part) => part.steps(),
            Term::Local(_, parts) | Term::Apply(_, parts) => parts.iter().any(Self::steps),
            Term::Call(_, parts, results) => {
                results.contains(&true) || parts.iter().any(Self::steps)
            }
            Term::Both(_, parts) | Term::Assign(_, parts) => parts.iter().any(Self::steps),
            Term::Choose(parts) => parts.iter().any(Self::steps),
            Term::Step(..) => true,
        }
    }

    /// Makes `x + j`, where an element is meant, `x[j]`, and `x + j + k` `x[j + k]`.
    pub(super) fn point_to_element(&mut self) {
        if let Some((array, index)) = self.pointed() {
            self.kind = Term::Index(array, Box::new(index));
        }
    }

    /// The array and the index of `array + index`.
    fn pointed(&self) -> Option<(String, Self)> {
        let Term::Apply(Op::Add, parts) = &self.kind else { return None };
        let [left, right] = &parts[..] else { return None };
        if let Term::Name(array) = &left.kind {
            return Some((array.clone(), right.clone()));
        }
        let (array, first) = left.pointed()?;
        let at = first.at.to(right.at);
        let kind = Term::Apply(Op::Add, vec![first, right.clone()]);
        Some((array, Self { at, kind }))
    }

    /// The variables that a place may be of.
    pub(super) fn roots(&self) -> Vec<String> {
        match &self.kind {
            Term::Local(local, _) => local.elements().collect(),
            _ => self.root().into_iter().collect(),
        }
    }

    /// The variable that a place is of.
    pub(super) fn root(&self) -> Option<String> {
        match &self.kind {
            Term::Name(name) | Term::Index(name, _) => Some(name.clone()),
            _ => None,
        }
    }
}

impl Loop {
    /// A loop; what its condition steps is a part of the body, which begins with asking.
    pub(super) fn new(
        start: Vec<Statement>,
        condition: Option<Expression>,
        update: Vec<Statement>,
        mut body: Vec<Statement>,
    ) -> Self {
        let is_do = false;
        match condition {
            Some(asked) if asked.steps() => {
                let at = asked.at;
                let fails = Expression { at, kind: Term::Not(asked.into()) };
                let leave = Statement { at, kind: Step::Break };
                body.insert(0, Statement { at, kind: Step::If(fails, vec![leave], Vec::new()) });
                Self { start, condition: None, update, body, is_do }
            }
            condition => Self { start, condition, update, body, is_do },
        }
    }

    /// What a turn does.
    pub(super) fn of_turn(&self) -> Effects {
        let mut effects = Effects::of(&self.body);
        self.update.iter().for_each(|statement| effects.add(statement));
        self.condition.iter().for_each(|condition| effects.add_expression(condition));
        effects
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out = if self.is_out && !self.is_reference { "out " } else { "" };
        let raw = if self.is_raw { "raw " } else { "" };
        let reference = if self.is_reference { "&" } else { "" };
        write!(f, "{out}{raw}{} {reference}{}", self.type_name, self.name)?;
        if self.default.is_some() { f.write_str(" = …") } else { Ok(()) }
    }
}
