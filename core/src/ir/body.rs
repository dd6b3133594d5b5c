//! Functions that a trace holds as one operation each, and what they are made of.
//!
//! A `tanh` of f32 is fifty instructions. Recorded one by one, they would cost fifty variables at each call and a walk
//! over fifty at each evaluation. So the table keeps what a function is made of, its *body*, once; a call is one
//! variable ([`Kind::Call`]), and kernels get those of the body's instructions that their results need. A function
//! with several results has a variable for each ([`Kind::Output`]) behind that of the call.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use hashbrown::HashTable;

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Code, Reg};
use crate::ir::mix::Mix;
use crate::ir::op::Op;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};

/// The number of a body in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyId(u32);

impl BodyId {
    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function that is called. With the types of its arguments it says what the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Callee<'a> {
    /// Its name.
    pub(crate) name: &'static str,
    /// The parameters that distinguish functions of one name, if there are several.
    pub(crate) shape: &'a [u64],
    /// The flags `fold` and `cse`.
    pub(crate) flags: [bool; 2],
}

/// The body of a function: instructions on its arguments.
#[derive(Debug)]
pub struct Body {
    /// The function's name.
    pub name: &'static str,
    /// Number of arguments.
    pub n_arguments: usize,
    /// Constants and operations, operands before users.
    pub steps: Vec<Step>,
    /// The results, at least one.
    pub results: Vec<Output>,
}

/// The operation of an instruction in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepCode {
    /// A number, by its bits.
    Constant(u64),
    /// An elementwise operation.
    Op(Op),
}

impl From<StepCode> for Code {
    fn from(code: StepCode) -> Self {
        match code {
            StepCode::Constant(bits) => Self::Constant(bits),
            StepCode::Op(op) => Self::Op(op),
        }
    }
}

/// One instruction of a body.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The operation.
    pub code: StepCode,
    /// Type of its value.
    pub dtype: DType,
    /// The body's arguments are numbered first, then its steps.
    pub args: [Option<Reg>; 3],
}

/// A result of a body, and what of the body it needs.
#[derive(Debug)]
pub struct Output {
    /// An argument or a step.
    pub value: Reg,
    /// Its type.
    pub dtype: DType,
    /// Positions of the arguments that it depends on.
    pub arguments: Vec<usize>,
    /// Positions of the steps that compute it, in order.
    pub steps: Vec<usize>,
    /// Operations among those.
    pub n_operations: u32,
}

impl Body {
    /// The body of `results`, recorded into `table` from `arguments`.
    pub(crate) fn new(
        name: &'static str,
        table: &Table,
        arguments: &[VarId],
        results: &[VarId],
    ) -> Self {
        let n_arguments = arguments.len();
        let mut body = Self { name, n_arguments, steps: Vec::new(), results: Vec::new() };
        let known = (0..).zip(arguments).map(|(i, &id)| (id, Reg(i)));
        let mut known: HashMap<VarId, Reg> = known.collect();
        for &result in results {
            body.add_steps(table, result, &mut known);
            let output = body.output(known[&result], table.get(result).dtype);
            body.results.push(output);
        }
        body
    }

    /// Adds the steps that compute `result` and are not there yet.
    fn add_steps(&mut self, table: &Table, result: VarId, known: &mut HashMap<VarId, Reg>) {
        let mut path = vec![result];
        while let Some(&id) = path.last() {
            let variable = table.get(id);
            if let Some(operand) = variable.operands().find(|id| !known.contains_key(id)) {
                path.push(operand);
                continue;
            }
            path.pop();
            if known.contains_key(&id) {
                continue;
            }
            let value = Reg(exactly(self.n_arguments + self.steps.len()));
            self.steps.push(step(self.name, variable, known));
            known.insert(id, value);
        }
    }

    /// Finds what a result needs, from it back to the arguments.
    fn output(&self, value: Reg, dtype: DType) -> Output {
        let mut needed = vec![false; self.n_arguments + self.steps.len()];
        needed[value.index()] = true;
        let mut steps = Vec::new();
        let mut n_operations = 0;
        for (position, step) in self.steps.iter().enumerate().rev() {
            if needed[self.n_arguments + position] {
                step.args.iter().flatten().for_each(|arg| needed[arg.index()] = true);
                steps.push(position);
                n_operations += u32::from(matches!(step.code, StepCode::Op(_)));
            }
        }
        steps.reverse();
        let arguments = (0..self.n_arguments).filter(|&argument| needed[argument]).collect();
        Output { value, dtype, arguments, steps, n_operations }
    }

    /// The constant that a result is, whatever the arguments are.
    pub(crate) fn constant(&self, output: &Output) -> Option<u64> {
        let position = output.value.index().checked_sub(self.n_arguments)?;
        match self.steps[position].code {
            StepCode::Constant(bits) => Some(bits),
            StepCode::Op(_) => None,
        }
    }

    /// Bytes of a lane that all values but the results would take in memory.
    pub(crate) fn bytes_within(&self) -> u64 {
        let operations = self.steps.iter().filter(|step| matches!(step.code, StepCode::Op(_)));
        let bytes: usize = operations.map(|step| step.dtype.bytes()).sum();
        let results: usize = self.results.iter().map(|result| result.dtype.bytes()).sum();
        bytes.saturating_sub(results) as u64
    }
}

/// The instruction of a variable of a body.
fn step(name: &str, variable: &Variable, known: &HashMap<VarId, Reg>) -> Step {
    let code = match variable.kind {
        Kind::Constant(bits) => StepCode::Constant(bits),
        Kind::Op(op) => StepCode::Op(op),
        kind @ (Kind::Literal(_)
        | Kind::Index
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Gather { .. }
        | Kind::Fetch
        | Kind::Scatter { .. }
        | Kind::Reduce(_)
        | Kind::Primitive(_)
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Region { .. }
        | Kind::Result { .. }
        | Kind::Data) => unreachable!("internal error: {} in the body of {name}", kind.name()),
    };
    let [first, second, third, _] = variable.operands.map(|operand| Some(known[&operand?]));
    Step { code, dtype: variable.dtype, args: [first, second, third] }
}

/// A function's result in a trace: the call, and what the result needs of the body.
#[derive(Clone, Copy)]
pub(crate) struct Application<'t> {
    /// The call.
    pub(crate) id: VarId,
    /// Its variable.
    pub(crate) call: &'t Variable,
    /// The function's body.
    pub(crate) body: &'t Body,
    /// The result.
    pub(crate) output: &'t Output,
}

impl Table {
    /// The call that gives a variable its value, if one does.
    #[inline]
    pub(crate) fn application<'t>(
        &'t self,
        id: VarId,
        variable: &'t Variable,
    ) -> Option<Application<'t>> {
        let (id, call, position) = if let Kind::Output { position } = variable.kind {
            let id = variable.operands[0].expect("internal error: a result of no call");
            (id, self.get(id), position as usize)
        } else {
            (id, variable, 0)
        };
        let Kind::Call(body) = call.kind else { return None };
        let body = self.body(body);
        Some(Application { id, call, body, output: &body.results[position] })
    }

    /// The variable that the value of `id` needs at a position: an operand, or of a function an argument on which
    /// the result depends.
    #[inline]
    pub(crate) fn need(&self, id: VarId, variable: &Variable, position: usize) -> Option<VarId> {
        match self.application(id, variable) {
            None => variable.operand(position),
            Some(function) => function.call.operand(*function.output.arguments.get(position)?),
        }
    }

    /// The variables that the value of `id` needs.
    #[inline]
    pub(crate) fn needs<'t>(
        &'t self,
        id: VarId,
        variable: &'t Variable,
    ) -> impl Iterator<Item = VarId> + 't {
        (0..).map_while(move |position| self.need(id, variable, position))
    }
}

/// The bodies of a table, by callee and types.
#[derive(Default)]
pub(crate) struct Bodies {
    bodies: Vec<Body>,
    known: HashTable<Known>,
}

struct Known {
    hash: u64,
    name: &'static str,
    shape: Box<[u64]>,
    flags: [bool; 2],
    types: Box<[DType]>,
    body: BodyId,
}

impl Bodies {
    pub(crate) fn get(&self, id: BodyId) -> &Body {
        &self.bodies[id.index()]
    }

    /// The body of `callee` for arguments of these types, if it is known.
    pub(crate) fn find(
        &self,
        callee: &Callee<'_>,
        types: impl Iterator<Item = DType> + Clone,
    ) -> Option<BodyId> {
        let hash = hash(callee, types.clone());
        let same = |known: &Known| {
            known.hash == hash
                && known.name == callee.name
                && *known.shape == *callee.shape
                && known.flags == callee.flags
                && known.types.iter().copied().eq(types.clone())
        };
        Some(self.known.find(hash, same)?.body)
    }

    /// Keeps a body that was not known.
    pub(crate) fn add(&mut self, callee: &Callee<'_>, types: Box<[DType]>, body: Body) -> BodyId {
        let id = BodyId(exactly(self.bodies.len()));
        self.bodies.push(body);
        let hash = hash(callee, types.iter().copied());
        let Callee { name, shape, flags } = *callee;
        let known = Known { hash, name, shape: shape.into(), flags, types, body: id };
        self.known.insert_unique(hash, known, |known| known.hash);
        id
    }
}

fn hash(callee: &Callee<'_>, types: impl Iterator<Item = DType>) -> u64 {
    let mut hasher = Mix::default();
    // Names are few: where they stand tells them apart in nearly all cases.
    hasher.write_usize(callee.name.as_ptr().addr());
    callee.shape.iter().for_each(|&word| hasher.write_u64(word));
    let flags = u64::from(callee.flags[0]) << 1 | u64::from(callee.flags[1]);
    hasher.write_u64(types.fold(flags | 4, |word, dtype| word.rotate_left(4) ^ dtype as u64));
    hasher.finish()
}
