//! The steps of programs over nested values, and how a script writes each.

use porcini_core::ir::op::ScatterOp;
use porcini_core::nested::Form;
use porcini_core::trace::nested::{NestedFunction, find};
use porcini_core::{DType, Scalar};

use super::meaning::Tree;
use crate::data::Values;

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// The value of an earlier step.
    Value(usize),
    /// A number in the text.
    Number(Scalar),
}

/// A place in a value.
#[derive(Clone, Debug)]
pub enum Part {
    /// Components by their numbers: one, or a swizzle of several.
    Components(Vec<usize>),
    /// The entry in a row and a column of a matrix.
    Entry(usize, usize),
    /// A row of a matrix.
    Row(usize),
    /// The first components of a vector.
    Head(usize),
    /// The last ones.
    Tail(usize),
}

/// A line in the body of a loop or branch: an operation of the state so far.
pub type BodyLine = (&'static str, Vec<BodyArg>);

/// An operand in a body.
#[derive(Clone, Copy, Debug)]
pub enum BodyArg {
    /// The state so far.
    State,
    /// A value from outside, or a number.
    Outer(Operand),
}

/// Which control flow a body is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branching {
    /// A loop of up to seven turns.
    While,
    /// A branch: one body or the other.
    If,
    /// A call of one body of a list, or of none.
    Dispatch,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Input data.
    Data {
        /// Lane type.
        dtype: DType,
        /// Which values.
        values: Values,
        /// Determines them.
        seed: u64,
        /// n lanes, or else one.
        wide: bool,
    },
    /// A nested value from its entries, those of a matrix row by row; typed if `dtype` is given.
    Make {
        /// Of this form.
        form: Form,
        /// Lane type; `None` is the common one.
        dtype: Option<DType>,
        /// The entries.
        entries: Vec<Operand>,
    },
    /// Conversion of a value of the same shape, or of a number of parts to a vector and back.
    Convert(Form, DType, usize),
    /// An operator, an elementwise function or a function of nested values.
    Apply(&'static str, Vec<Operand>),
    /// A static function of the type of its result.
    Static(&'static str, Form, DType, Vec<usize>),
    /// `result[k]` of a function with several results.
    Result(&'static str, usize, usize),
    /// Reading a place.
    Read(usize, Part),
    /// A copy with other components.
    Write(usize, Vec<usize>, Operand),
    /// `x[mask]`
    Chosen(usize, usize),
    /// A copy with `x[mask] = value`.
    Assigned(usize, usize, Operand),
    /// `hsum` and the like over the components.
    Fold(&'static str, usize),
    /// `hsum_nested` and the like, over components and lanes.
    FoldAll(&'static str, usize),
    /// Both vectors one after the other.
    Concat(usize, usize),
    /// `sh_eval(d, order)[place]`
    Harmonic(usize, usize, usize),
    /// `morton_encode(v)`
    Encode(usize),
    /// `morton_decode(code, n)`
    Decode(usize, usize),
    /// The lanes in the order of a generator with a state and a stream.
    Shuffle(usize, u64, u64),
    /// `source[index % (n + slack)]` where active.
    Gather(usize, Index),
    /// A copy of the target with the value written there.
    Scatter(ScatterOp, usize, Operand, Index),
    /// A loop or branch with a nested state.
    Branch {
        /// Which.
        branching: Branching,
        /// The first value of the state.
        state: usize,
        /// How often, or which body: an array of u32.
        turns: usize,
        /// The bodies.
        bodies: Vec<Vec<BodyLine>>,
    },
}

/// Where gathers and scatters go: `index % (n + slack)` where active.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// An array of integers, converted to u32.
    pub index: usize,
    /// How many lanes beyond the last one it may reach.
    pub slack: u32,
    /// The mask.
    pub active: Option<usize>,
}

impl Operand {
    fn value(&self) -> Option<usize> {
        match self {
            Self::Value(i) => Some(*i),
            Self::Number(_) => None,
        }
    }

    fn script(self) -> String {
        match self {
            Self::Value(i) => format!("v{i}"),
            Self::Number(Scalar::Float(number)) => format!("({number:?})"),
            Self::Number(number) => format!("({number})"),
        }
    }

    fn change(&mut self) {
        match self {
            Self::Number(Scalar::Int(number)) => *number ^= 1,
            Self::Number(Scalar::Float(number)) => *number += 1.0,
            Self::Value(_) | Self::Number(_) => {}
        }
    }
}

impl Index {
    fn operands(self) -> impl Iterator<Item = usize> {
        [self.index].into_iter().chain(self.active)
    }

    fn script(self, n: usize) -> String {
        let active = self.active.map_or_else(String::new, |active| format!(", v{active}"));
        format!("UInt32C(v{}) % {}{active}", self.index, n + self.slack as usize)
    }
}

/// The script's name of the type with a form, of a lane type that has a letter, or of any.
fn type_name(form: Form, dtype: Option<DType>) -> String {
    let letter = match dtype {
        None => "",
        Some(DType::F32) => "f",
        Some(DType::F64) => "d",
        Some(DType::I32) => "i",
        Some(DType::U32) => "u",
        Some(_) => "m",
    };
    match form {
        Form::Scalar => dtype.unwrap_or(DType::F32).script_name().into(),
        Form::Vector(n) => format!("Vector{n}{letter}C"),
        Form::Complex => format!("Complex2{letter}C"),
        Form::Quaternion => format!("Quaternion4{letter}C"),
        Form::Matrix(n) => format!("Matrix{n}{letter}C"),
    }
}

/// `a + b`, or `hypot(a, b)`.
fn application(name: &str, args: &[String]) -> String {
    match args {
        [x] if name == "-" => format!("(-{x})"),
        [a, b] if !name.starts_with(char::is_alphabetic) => format!("({a} {name} {b})"),
        _ => format!("{name}({})", args.join(", ")),
    }
}

/// What reduces over the lanes: of none there is no smallest or largest value.
pub(super) fn over_lanes(name: &'static str, n: usize) -> &'static str {
    if n == 0 && matches!(name, "hmin" | "hmax") { "hsum" } else { name }
}

fn body_script(body: &[BodyLine]) -> String {
    let mut state = "s".to_string();
    for (name, args) in body {
        let arg = |arg: &BodyArg| match arg {
            BodyArg::State => state.clone(),
            BodyArg::Outer(operand) => operand.script(),
        };
        state = application(name, &args.iter().map(arg).collect::<Vec<_>>());
    }
    state
}

impl Step {
    /// The steps it uses.
    pub fn operands(&self) -> Vec<usize> {
        let of = |operands: &[Operand]| operands.iter().filter_map(Operand::value).collect();
        match self {
            Self::Data { .. } => Vec::new(),
            Self::Make { entries: args, .. } | Self::Apply(_, args) => of(args),
            Self::Static(_, _, _, args) => args.clone(),
            Self::Convert(_, _, x)
            | Self::Result(_, x, _)
            | Self::Read(x, _)
            | Self::Fold(_, x)
            | Self::FoldAll(_, x)
            | Self::Harmonic(x, ..)
            | Self::Encode(x)
            | Self::Decode(x, _)
            | Self::Shuffle(x, ..) => vec![*x],
            Self::Write(x, _, value) => [*x].into_iter().chain(value.value()).collect(),
            Self::Chosen(x, mask) => vec![*x, *mask],
            Self::Assigned(x, mask, value) => {
                [*x, *mask].into_iter().chain(value.value()).collect()
            }
            Self::Concat(a, b) => vec![*a, *b],
            Self::Gather(x, index) => [*x].into_iter().chain(index.operands()).collect(),
            Self::Scatter(_, x, value, index) => {
                [*x].into_iter().chain(value.value()).chain(index.operands()).collect()
            }
            Self::Branch { state, turns, bodies, .. } => {
                let outer = |arg: &BodyArg| match arg {
                    BodyArg::State => None,
                    BodyArg::Outer(operand) => operand.value(),
                };
                let used = bodies.iter().flatten().flat_map(|(_, args)| args).filter_map(outer);
                [*state, *turns].into_iter().chain(used).collect()
            }
        }
    }

    /// The function of the nested table that it calls by its arguments' forms, if any.
    pub fn nested_function(&self, values: &[Option<Tree>]) -> Option<&'static NestedFunction> {
        let form = |operand: &Operand| match operand {
            Operand::Value(i) => values[*i].as_ref().map(Tree::form),
            Operand::Number(_) => Some(Form::Scalar),
        };
        let (name, args) = match self {
            Self::Apply(name, args) => (name, args.clone()),
            Self::Static(name, _, _, args) => {
                (name, args.iter().copied().map(Operand::Value).collect())
            }
            Self::Result(name, x, _) => (name, vec![Operand::Value(*x)]),
            _ => return None,
        };
        let forms: Option<Vec<Form>> = args.iter().map(form).collect();
        Some(find(name, &forms?)?.function())
    }

    /// Other numbers in the text.
    pub fn change_numbers(&mut self) {
        match self {
            Self::Make { entries: args, .. } | Self::Apply(_, args) => {
                args.iter_mut().for_each(Operand::change);
            }
            Self::Write(_, _, value)
            | Self::Assigned(_, _, value)
            | Self::Scatter(_, _, value, _) => value.change(),
            _ => {}
        }
    }

    /// The expression of step `number`, run with `n` lanes.
    pub fn script(&self, number: usize, n: usize) -> String {
        let list = |args: &[Operand]| args.iter().map(|arg| arg.script()).collect::<Vec<_>>();
        let copied = |x: &usize, change: String| format!("{{ let t = copy(v{x}); {change}; t }}");
        match self {
            Self::Data { .. } => format!("d{number}"),
            Self::Make { form, dtype, entries } => {
                let entries = list(entries).join(", ");
                // A single argument would be converted.
                let listed = *form == Form::Vector(1);
                let entries = if listed { format!("[{entries}]") } else { entries };
                format!("{}({entries})", type_name(*form, *dtype))
            }
            Self::Convert(form, dtype, x) => {
                format!("{}(v{x})", type_name(*form, Some(*dtype)))
            }
            Self::Apply(name, args) => application(name, &list(args)),
            Self::Static(name, form, dtype, args) => {
                let args: Vec<String> = args.iter().map(|arg| format!("v{arg}")).collect();
                let function = name.split_once("::").map_or(*name, |(_, function)| function);
                format!("{}::{function}({})", type_name(*form, Some(*dtype)), args.join(", "))
            }
            Self::Result(name, x, k) => format!("{name}(v{x})[{k}]"),
            Self::Read(x, part) => format!("v{x}{}", part.script()),
            Self::Write(x, letters, value) => {
                let place = Part::Components(letters.clone()).script();
                copied(x, format!("t{place} = {}", value.script()))
            }
            Self::Chosen(x, mask) => format!("v{x}[v{mask}]"),
            Self::Assigned(x, mask, value) => copied(x, format!("t[v{mask}] = {}", value.script())),
            Self::Fold(name, x) => format!("{name}(v{x})"),
            Self::FoldAll(name, x) => format!("{}_nested(v{x})", over_lanes(name, n)),
            Self::Harmonic(x, order, place) => format!("sh_eval(v{x}, {order})[{place}]"),
            Self::Encode(x) => format!("morton_encode(v{x})"),
            Self::Decode(x, parts) => format!("morton_decode(v{x}, {parts})"),
            Self::Shuffle(x, state, stream) => format!("PCG32C({state}, {stream}).shuffle(v{x})"),
            Self::Concat(a, b) => format!("concat(v{a}, v{b})"),
            Self::Gather(x, index) => format!("gather(v{x}, {})", index.script(n)),
            Self::Scatter(op, x, value, index) => {
                copied(x, format!("{}(t, {}, {})", op.name(), value.script(), index.script(n)))
            }
            Self::Branch { branching, state, turns, bodies } => {
                let body = |body: &Vec<BodyLine>| format!("|s| [{}]", body_script(body));
                let bodies: Vec<String> = bodies.iter().map(body).collect();
                let bodies = bodies.join(", ");
                let result = match branching {
                    Branching::While => {
                        let body = bodies.replacen("|s| [", "|s, k| [", 1);
                        let body = body.strip_suffix(']').unwrap_or(&body);
                        format!(
                            "while_loop([v{state}, UInt32C(0)], |s, k| k < (v{turns} & 7), {body}, k + 1])"
                        )
                    }
                    Branching::If => {
                        format!("if_then((v{turns} & 1) == 1, [v{state}], {bodies})")
                    }
                    Branching::Dispatch => {
                        format!("dispatch(v{turns} & 3, [{bodies}], [v{state}])")
                    }
                };
                // A state that never changes keeps its size.
                format!("gather({result}[0], UInt32C::arange({n}))")
            }
        }
    }
}

impl Part {
    fn script(&self) -> String {
        let letters = |components: &[usize]| -> String {
            components.iter().map(|&i| ["x", "y", "z", "w"][i]).collect()
        };
        match self {
            Self::Components(one) if one.len() == 1 => format!("[{}]", one[0]),
            Self::Components(several) => format!(".{}", letters(several)),
            Self::Entry(i, j) => format!("[[{i}, {j}]]"),
            Self::Row(i) => format!(".row({i})"),
            Self::Head(n) => format!(".head({n})"),
            Self::Tail(n) => format!(".tail({n})"),
        }
    }
}
