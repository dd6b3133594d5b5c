//! Programs as data: a list of steps whose operands are the numbers of earlier steps.
//!
//! A program knows the type and the extent of each step's value, so that any step can be replaced by
//! input data when a failing program is made smaller.

use std::fmt;

use porcini_core::ir::op::{Op, ReduceOp, ScatterOp};
use porcini_core::ir::primitive::Order;
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::{Array, DType, Error, Operand, Result, Scalar, Session};

use crate::data::{self, Values};
use crate::loops::{Loop, Recording, Uses};
use crate::whole::Whole;

/// Number of lanes of a value: one, or as many as the program is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One lane.
    One,
    /// n lanes.
    N,
}

/// What a step does; operands are numbers of earlier steps.
#[derive(Clone, Debug)]
pub enum Step {
    /// Input data.
    Data {
        /// Which values.
        values: Values,
        /// Determines them.
        seed: u64,
    },
    /// A number in all lanes, by its bits.
    Full(u64),
    /// `start + i * step`.
    Range {
        /// First value.
        start: i64,
        /// Distance of values, not 0.
        step: i64,
    },
    /// An operation of the table.
    Op(Op, Vec<usize>),
    /// An operation of the table with a number on the right.
    Number(Op, usize, Scalar),
    /// A row of [`FUNCTIONS`], by its index.
    Function(usize, Vec<usize>),
    /// Conversion to the step's type.
    Cast(usize),
    /// The same bits as the step's type.
    Reinterpret(usize),
    /// All lanes combined.
    Reduce(ReduceOp, usize),
    /// The mean.
    Mean(usize),
    /// Prefix sums.
    PrefixSum(usize),
    /// The lanes in order.
    Sort(Order, usize),
    /// The lane numbers in the order of the lanes.
    SortIndex(Order, usize),
    /// A function of whole arrays.
    Whole(Whole, Vec<usize>),
    /// `x % (n + slack)`, or as near to it as the type allows: an index that is in bounds most of the time.
    Wrap(usize, u32),
    /// `source[index]` where active.
    Gather {
        /// The array read.
        source: usize,
        /// The index.
        index: usize,
        /// The mask.
        active: Option<usize>,
    },
    /// A new array: target with values written at index where active.
    Scatter {
        /// How.
        op: ScatterOp,
        /// The array written.
        target: usize,
        /// The value.
        value: usize,
        /// The index.
        index: usize,
        /// The mask.
        active: Option<usize>,
        /// Whether the target stays alive. If not, no later step uses it.
        keep: bool,
    },
    /// A loop or branch over lanes.
    Loop(Loop, Uses),
}

/// A step with the type and extent of its value.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub step: Step,
    /// Type of its value.
    pub dtype: DType,
    /// Extent of its value.
    pub extent: Extent,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The steps.
    pub nodes: Vec<Node>,
    /// The steps whose values are compared.
    pub outputs: Vec<usize>,
    /// Whether values that are no outputs are dropped before anything is evaluated.
    pub drop_early: bool,
}

impl Program {
    /// Whether a result depends on the order in which lanes write: on a GPU there is none (S10).
    pub fn depends_on_order(&self) -> bool {
        self.nodes.iter().any(|node| match node.step {
            Step::Scatter { op, .. } => !op.commutes(node.dtype),
            _ => false,
        })
    }
}

/// When a run evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All outputs at once, at the end.
    Lazy,
    /// Every value as soon as it is recorded: nothing is fused.
    Eager,
}

/// What a run gives: the bytes of the outputs and the bounds error, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The contents of each output.
    pub outputs: Vec<Vec<u8>>,
    /// Text of the first bounds error.
    pub error: Option<String>,
}

impl Step {
    /// The steps it uses.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Data { .. } | Self::Full(_) | Self::Range { .. } => Vec::new(),
            Self::Op(_, args) | Self::Function(_, args) | Self::Whole(_, args) => args.clone(),
            Self::Number(_, x, _)
            | Self::Cast(x)
            | Self::Reinterpret(x)
            | Self::Reduce(_, x)
            | Self::Mean(x)
            | Self::PrefixSum(x)
            | Self::Sort(_, x)
            | Self::SortIndex(_, x)
            | Self::Wrap(x, _) => vec![*x],
            Self::Gather { source, index, active } => {
                [*source, *index].into_iter().chain(*active).collect()
            }
            Self::Scatter { target, value, index, active, .. } => {
                [*target, *value, *index].into_iter().chain(*active).collect()
            }
            Self::Loop(_, uses) => uses.clone().all_mut().map(|operand| *operand).collect(),
        }
    }
}

impl Extent {
    /// Number of lanes when run with `n`.
    pub fn lanes(self, n: usize) -> usize {
        if self == Self::One { 1 } else { n }
    }
}

/// Runs a program over `n` lanes.
///
/// # Errors
/// Whatever recording or evaluation fails with.
///
/// # Panics
/// If a value does not have the type and size that the program says.
pub fn run(program: &Program, session: &Session, n: usize, mode: Mode) -> Result<Outcome> {
    let mut values: Vec<Option<Array>> = Vec::new();
    let mut early = None;
    for node in &program.nodes {
        let mut value = record(node, session, n, &mut values);
        // Steps that read lanes tell of bounds errors before them.
        while let Err(Error::Bounds { .. }) = value {
            early = early.or(value.err().map(|error| error.to_string()));
            // What is recomputed for each reader would tell of its error for ever.
            session.eval(&values.iter().flatten().collect::<Vec<_>>())?;
            drop(session.take_errors());
            value = record(node, session, n, &mut values);
        }
        let value = sized(value?, node, n)?;
        if mode == Mode::Eager {
            session.eval(&[&value])?;
        }
        values.push(Some(value));
    }
    let outputs: Vec<Array> = program.outputs.iter().filter_map(|&i| values[i].clone()).collect();
    if program.drop_early {
        values.clear();
    }
    let all: Vec<&Array> = outputs.iter().collect();
    session.eval(&all)?;
    let error = early.or(session.take_errors().first().map(|error| error.to_string()));
    let outputs = outputs.iter().map(|output| output.read_bytes(0..output.size()));
    Ok(Outcome { outputs: outputs.collect::<Result<_>>()?, error })
}

/// The value of a node, with as many lanes as that has.
fn sized(value: Array, node: &Node, n: usize) -> Result<Array> {
    assert_eq!(value.dtype(), node.dtype, "type of {node:?}");
    // A state that never changes keeps its size.
    let expected = node.extent.lanes(n) as u64;
    let value = if value.size() == expected || !matches!(node.step, Step::Loop(..)) {
        value
    } else {
        value.resize(expected)?
    };
    assert_eq!(value.size(), expected, "size of {node:?}");
    Ok(value)
}

/// Records a program as a function of its data, and calls that: with other data, then three times with its own. `None` where a
/// step reads lanes.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// If two calls with the same data tell of different errors.
pub fn run_recorded(program: &Program, session: &Session, n: usize) -> Result<Option<Outcome>> {
    let mut values: Vec<Option<Array>> = Vec::new();
    let (mut others, mut own, mut stand_ins) = (Vec::new(), Vec::new(), Vec::new());
    for node in &program.nodes {
        let value = match record(node, session, n, &mut values) {
            // What is read while it is recorded tells of the accesses before.
            Err(Error::StandIn { .. } | Error::EvaluatesStandIn { .. } | Error::Bounds { .. }) => {
                return Ok(None);
            }
            value => sized(value?, node, n)?,
        };
        let Step::Data { values: kind, seed } = node.step else {
            values.push(Some(value));
            continue;
        };
        let other = Node { step: Step::Data { values: kind, seed: !seed }, ..node.clone() };
        others.push(record(&other, session, n, &mut values)?);
        let stand_in = session.stand_ins(&[&value])?.remove(0);
        own.push(value);
        stand_ins.push(stand_in.clone());
        values.push(Some(stand_in));
    }
    let outputs: Vec<Array> = program.outputs.iter().filter_map(|&i| values[i].clone()).collect();
    let [inputs, outputs] = [&stand_ins, &outputs].map(|of| of.iter().collect::<Vec<_>>());
    let recorded = session.recorded("jit", &inputs, &outputs)?;
    let call = |data: &[Array]| -> Result<Vec<Array>> {
        let outputs = recorded.call(&data.iter().collect::<Vec<_>>())?;
        session.eval(&outputs.iter().collect::<Vec<_>>())?;
        Ok(outputs)
    };
    call(&others)?;
    let of_others: Vec<String> = session.take_errors().iter().map(ToString::to_string).collect();
    let first_error = || session.take_errors().first().map(ToString::to_string);
    call(&own)?;
    let error = first_error();
    call(&own)?;
    let again = first_error();
    // What depends on no argument may be kept now: it was told of by the first call already, and hides no other.
    let is_known = error.as_ref().is_some_and(|error| of_others.contains(error));
    assert!(again == error || is_known, "a second call tells of {again:?}, not {error:?}");
    let outputs = call(&own)?;
    assert_eq!(again, first_error(), "another call tells of another error");
    let outputs = outputs.iter().map(|output| output.read_bytes(0..output.size()));
    Ok(Some(Outcome { outputs: outputs.collect::<Result<_>>()?, error }))
}

fn record(node: &Node, session: &Session, n: usize, values: &mut [Option<Array>]) -> Result<Array> {
    let size = node.extent.lanes(n);
    let get = |i: usize| -> &Array { values[i].as_ref().expect("a step uses a consumed value") };
    match &node.step {
        Step::Data { values, seed } => {
            let lanes = data::lanes(node.dtype, *values, *seed, size);
            session.from_bytes(node.dtype, &data::to_bytes(node.dtype, &lanes))
        }
        Step::Full(bits) => session.full(node.dtype, node.dtype.decode(*bits), size as u64),
        Step::Range { start, step } => {
            let stop = start + step * i64::try_from(size).unwrap_or(0);
            let range = |dtype| session.arange(dtype, (*start).into(), stop.into(), (*step).into());
            // A range that leaves its type is an error; conversion wraps.
            range(node.dtype).or_else(|_| range(DType::I64)?.cast(node.dtype))
        }
        Step::Op(op, args) => get(args[0]).apply(*op, &operands(values, &args[1..])),
        Step::Number(op, x, number) => get(*x).apply(*op, &[(*number).into()]),
        Step::Function(row, args) => {
            get(args[0]).call(&FUNCTIONS[*row], &operands(values, &args[1..]))
        }
        Step::Cast(x) => get(*x).cast(node.dtype),
        Step::Reinterpret(x) => get(*x).reinterpret(node.dtype),
        Step::Reduce(op, x) => match get(*x).reduce(*op) {
            Err(Error::EmptyReduction { .. }) => session.zeros(node.dtype, 1),
            result => result,
        },
        Step::Mean(x) => get(*x).mean(),
        Step::PrefixSum(x) => get(*x).psum(),
        Step::Sort(order, x) => get(*x).sort(*order),
        Step::SortIndex(order, x) => get(*x).argsort(*order),
        Step::Whole(whole, args) => {
            let args: Vec<&Array> = args.iter().map(|&arg| get(arg)).collect();
            whole.record(session, &args, n)
        }
        Step::Wrap(x, slack) => {
            let modulus = wrap_modulus(node.dtype, n, *slack);
            get(*x).apply(Op::Rem, &[modulus.into()])
        }
        Step::Gather { source, index, active } => get(*source).gather(get(*index), active.map(get)),
        Step::Scatter { op, target, value, index, active, keep } => {
            let (value, index) = (get(*value).clone(), get(*index).clone());
            let active = active.map(|active| get(active).clone());
            let taken = if *keep { values[*target].clone() } else { values[*target].take() };
            let mut target = taken.expect("a step uses a consumed value");
            target.scatter(*op, &value, &index, active.as_ref())?;
            Ok(target)
        }
        Step::Loop(body, uses) => {
            let all = |uses: &[usize]| uses.iter().map(|&i| get(i).clone()).collect::<Vec<_>>();
            let (states, outers) = (all(&uses.states), all(&uses.outers));
            let machine = Recording { session };
            Ok(body.run(&machine, states, &outers, get(uses.source), get(uses.turns)))
        }
    }
}

/// The modulus of [`Step::Wrap`] for an index of type `dtype`.
pub fn wrap_modulus(dtype: DType, n: usize, slack: u32) -> i64 {
    // What the signed type holds, for either.
    let most = i64::MAX >> (64 - dtype.bits());
    i64::try_from(n).unwrap_or(0).saturating_add(i64::from(slack)).clamp(1, most)
}

fn operands<'a>(values: &'a [Option<Array>], args: &[usize]) -> Vec<Operand<'a>> {
    args.iter().filter_map(|&arg| values[arg].as_ref().map(Operand::from)).collect()
}

impl Program {
    /// The same program with other numbers, so that its kernels come again with other literals.
    #[must_use]
    pub fn with_other_numbers(&self) -> Self {
        let mut other = self.clone();
        for node in &mut other.nodes {
            match &mut node.step {
                Step::Full(bits) => *bits ^= 1,
                Step::Number(_, _, Scalar::Int(number)) => *number ^= 1,
                Step::Number(_, _, Scalar::Float(number)) => *number += 1.0,
                _ => {}
            }
        }
        other
    }

    /// So many copies as one program, every other one with other numbers. Each has data of its own but for a third, which all
    /// share unless a step overwrites it.
    #[must_use]
    pub fn copies(&self, n: usize) -> Self {
        let consumed = |i: usize| {
            let takes = |node: &Node| matches!(node.step, Step::Scatter { target, keep: false, .. } if target == i);
            self.nodes.iter().any(takes)
        };
        let other = self.with_other_numbers();
        let mut all = Self { nodes: Vec::new(), outputs: Vec::new(), drop_early: self.drop_early };
        for copy in 0..n {
            let source = if copy % 2 == 0 { self } else { &other };
            let mut number = vec![0; source.nodes.len()];
            for (i, node) in source.nodes.iter().enumerate() {
                let mut node = node.clone();
                if let Step::Data { seed, .. } = &mut node.step {
                    if copy > 0 && i % 3 == 0 && !consumed(i) {
                        number[i] = i;
                        continue;
                    }
                    *seed = seed.wrapping_add(copy as u64 * 1_000_003);
                }
                renumber(&mut node.step, &number);
                number[i] = all.nodes.len();
                all.nodes.push(node);
            }
            all.outputs.extend(source.outputs.iter().map(|&output| number[output]));
        }
        all
    }

    /// A smaller program for which `fails` still holds: fewer outputs, and data in place of steps.
    #[must_use]
    pub fn shrink(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut best = self.clone();
        for &output in &self.outputs {
            let outputs = best.outputs.iter().copied().filter(|&other| other != output).collect();
            let fewer = Self { outputs, ..self.clone() };
            if fails(&fewer) {
                best = fewer;
            }
        }
        // A consumed value may matter although nothing uses the scatter that took it.
        if fails(&best.without_dead_steps()) {
            best = best.without_dead_steps();
        }
        let mut i = best.nodes.len();
        while i > 0 {
            i = i.min(best.nodes.len()) - 1;
            let mut smaller = best.clone();
            if !matches!(smaller.nodes[i].step, Step::Data { .. }) {
                smaller.nodes[i].step = Step::Data { values: Values::Edge, seed: i as u64 };
                let smaller = smaller.without_dead_steps();
                if fails(&smaller) {
                    best = smaller;
                }
            }
        }
        best
    }

    fn without_dead_steps(&self) -> Self {
        let mut used = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|&output| used[output] = true);
        for i in (0..self.nodes.len()).rev() {
            if used[i] {
                self.nodes[i].step.operands().iter().for_each(|&operand| used[operand] = true);
            }
        }
        let mut number = vec![0; self.nodes.len()];
        let mut nodes = Vec::new();
        for (i, node) in self.nodes.iter().enumerate().filter(|&(i, _)| used[i]) {
            number[i] = nodes.len();
            let mut node = node.clone();
            renumber(&mut node.step, &number);
            nodes.push(node);
        }
        let outputs = self.outputs.iter().map(|&output| number[output]).collect();
        Self { nodes, outputs, drop_early: self.drop_early }
    }
}

fn renumber(step: &mut Step, number: &[usize]) {
    let place = |operand: &mut usize| *operand = number[*operand];
    match step {
        Step::Data { .. } | Step::Full(_) | Step::Range { .. } => {}
        Step::Op(_, args) | Step::Function(_, args) | Step::Whole(_, args) => {
            args.iter_mut().for_each(place);
        }
        Step::Number(_, x, _)
        | Step::Cast(x)
        | Step::Reinterpret(x)
        | Step::Reduce(_, x)
        | Step::Mean(x)
        | Step::PrefixSum(x)
        | Step::Sort(_, x)
        | Step::SortIndex(_, x)
        | Step::Wrap(x, _) => place(x),
        Step::Gather { source, index, active } => {
            [source, index].into_iter().chain(active).for_each(place);
        }
        Step::Scatter { target, value, index, active, .. } => {
            [target, value, index].into_iter().chain(active).for_each(place);
        }
        Step::Loop(_, uses) => uses.all_mut().for_each(place),
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Node { step, dtype, extent }) in self.nodes.iter().enumerate() {
            let extent = if *extent == Extent::One { "1" } else { "n" };
            writeln!(f, "{i:3}: {dtype} [{extent}] = {step:?}")?;
        }
        writeln!(f, "outputs {:?}, drop early: {}", self.outputs, self.drop_early)
    }
}
