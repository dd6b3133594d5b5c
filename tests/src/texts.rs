//! Random kernels as text (S27): a tree of our own, what it prints as, and what it means lane by lane.
//!
//! [`generate`] draws a kernel of a seed, [`Text`] prints as C, [`evaluate`] runs it as C says, each lane by itself,
//! with the types of S7 to S9. Nothing here knows how the text is read.

pub mod evaluate;
pub mod generate;
pub mod print;
pub mod shrink;
mod statements;

use porcini_core::{DType, Op, Scalar};

use crate::data::Values;

/// A kernel, with the functions before it and the arguments of a call.
#[derive(Clone, Debug)]
pub struct Text {
    /// The last one is the kernel.
    pub functions: Vec<Function>,
    /// For each parameter that a call gives.
    pub args: Vec<Arg>,
}

/// A function of the text.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The type of what it returns, unless it is `void`.
    pub result: Option<Spelled>,
    /// What it takes and gives; their variables are the first ones.
    pub parameters: Vec<Parameter>,
    /// Statements.
    pub body: Vec<Statement>,
    /// The names of its variables, by number. Several may have one name, where one hides the other.
    pub names: Vec<String>,
}

/// A type, and how the text has it.
#[derive(Clone, Debug)]
pub struct Spelled {
    /// What it is in the call.
    pub dtype: DType,
    /// A letter, C's name, or another.
    pub text: String,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its type; of an array that of its elements.
    pub spelled: Spelled,
    /// Whether it is given, a result, or an array.
    pub kind: Kind,
    /// What it is where a call leaves it out.
    pub default: Option<Scalar>,
}

/// What a parameter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One value a lane.
    Given,
    /// A result.
    Out,
    /// An array that is read by index.
    Raw,
}

/// An argument of the call.
#[derive(Clone, Debug)]
pub enum Arg {
    /// An array with as many lanes as the call, or one.
    Lanes {
        /// Its type, which the parameter's may widen.
        dtype: DType,
        /// Which values.
        values: Values,
        /// Of its lanes.
        seed: u64,
        /// Lanes, if not as many as the call has.
        size: Option<usize>,
    },
    /// A number.
    Number(Scalar),
    /// The default.
    Left,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `const int a = 1;`
    Declare {
        /// The variable.
        variable: usize,
        /// Its type, of `auto` too.
        spelled: Spelled,
        /// Its first value.
        first: Option<Expr>,
    },
    /// `a += 1;`
    Assign(usize, Option<Op>, Expr),
    /// `a = b = 1;`
    Both(usize, usize, Expr),
    /// `a++;`, down if not up.
    Step {
        /// The variable.
        variable: usize,
        /// Or down.
        up: bool,
        /// Whether the sign stands in front.
        before: bool,
    },
    /// `if (a) {} else {}`
    If(Expr, Vec<Self>, Vec<Self>),
    /// `for (start; condition; update) {}`
    For(Box<[Self; 2]>, Expr, Vec<Self>),
    /// `while (a) {}`
    While(Expr, Vec<Self>),
    /// `do {} while (a);`
    Do(Vec<Self>, Expr),
    /// Labels, `None` of `default`, and what is behind them.
    Switch(Expr, Vec<(Vec<Option<i64>>, Vec<Self>)>),
    /// `{}`
    Block(Vec<Self>),
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return a;`
    Return(Option<Expr>),
    /// A call of a function of the text: its results go to variables.
    Call(usize, Vec<Passed>),
}

/// What a statement that calls hands over.
#[derive(Clone, Debug)]
pub enum Passed {
    /// A value.
    Value(Expr),
    /// A variable for a result.
    Place(usize),
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal, which takes the type of what it meets.
    Number(Scalar),
    /// `T::max`, or `T::min`.
    Limit(Spelled, bool),
    /// A variable.
    Variable(usize),
    /// `i`
    Lane,
    /// `n`
    Count,
    /// `len(x)`
    Len(usize),
    /// `x[j]`
    Read(usize, Box<Self>),
    /// An operation of the table, as an operator where C has one.
    Op(Op, Vec<Self>),
    /// A function of the table, by its row.
    Function(usize, Vec<Self>),
    /// `!a`
    Not(Box<Self>),
    /// `a || b`, or `a && b`.
    Logic(bool, Box<[Self; 2]>),
    /// `a ? b : c`
    Choose(Box<[Self; 3]>),
    /// `(T)a`
    Cast(Spelled, Box<Self>),
    /// A call of a function of the text.
    Own(usize, Vec<Self>),
}
