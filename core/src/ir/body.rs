//! Functions that a trace holds as one operation each, and what they are made of.
//!
//! A `tanh` of f32 is fifty instructions. Recorded one by one, they would cost fifty variables at each call and a walk
//! over fifty at each evaluation. So the table keeps what a function is made of, its *body*, once; a call is one
//! variable ([`Kind::Call`]), and kernels get the body's instructions.

use std::collections::HashMap;

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Code, Reg};
use crate::ir::mix::Mix;
use crate::ir::op::Op;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId};

/// The number of a body in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyId(u32);

impl BodyId {
    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a body depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BodyKey {
    /// The function's name.
    pub(crate) name: &'static str,
    /// Types of the arguments.
    pub(crate) types: [Option<DType>; MAX_ARGUMENTS],
    /// The flags `fold` and `cse`.
    pub(crate) flags: [bool; 2],
}

/// What a function is made of: instructions on its arguments, the last of which gives the result.
#[derive(Debug)]
pub struct Body {
    /// The function's name.
    pub name: &'static str,
    /// Type of the result.
    pub dtype: DType,
    /// Constants and operations, arguments before users.
    pub steps: Vec<Step>,
    /// Operations among them.
    pub n_operations: u32,
}

/// What an instruction of a body does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// What it does.
    pub code: StepCode,
    /// Type of its value.
    pub dtype: DType,
    /// The body's arguments are numbered first, then its steps.
    pub args: [Option<Reg>; 3],
    /// The arguments of the body that the value depends on, a bit each.
    pub depends: u8,
}

/// Most arguments of a function with a body.
pub(crate) const MAX_ARGUMENTS: usize = 3;

/// Bodies with fewer operations are recorded as what they are: a trace that shows them teaches more.
const FEWEST_OPERATIONS: u32 = 8;

impl Body {
    /// The body of `result`, recorded into `table` from `arguments`; none if it is short, or if an argument
    /// does not matter.
    pub(crate) fn new(
        name: &'static str,
        table: &Table,
        arguments: &[VarId],
        result: VarId,
    ) -> Option<Self> {
        let known = (0..).zip(arguments).map(|(i, &id)| (id, (Reg(i), 1 << i)));
        let mut known: HashMap<VarId, (Reg, u8)> = known.collect();
        let mut numbers = (0..).map(Reg).skip(arguments.len());
        let mut body =
            Self { name, dtype: table.get(result).dtype, steps: Vec::new(), n_operations: 0 };
        let mut path = vec![result];
        while let Some(&id) = path.last() {
            let variable = table.get(id);
            let missing = variable.operands().find(|operand| !known.contains_key(operand));
            if let Some(operand) = missing {
                path.push(operand);
                continue;
            }
            path.pop();
            if known.contains_key(&id) {
                continue;
            }
            let code = match variable.kind {
                Kind::Constant(bits) => StepCode::Constant(bits),
                Kind::Op(op) => StepCode::Op(op),
                kind @ (Kind::Literal(_)
                | Kind::Index
                | Kind::Call(_)
                | Kind::Gather { .. }
                | Kind::Fetch
                | Kind::Scatter { .. }
                | Kind::Reduce(_)
                | Kind::Primitive(_)
                | Kind::Entering
                | Kind::Running
                | Kind::State { .. }
                | Kind::Region { .. }
                | Kind::Result { .. }
                | Kind::Data) => {
                    unreachable!("internal error: {} in the body of {name}", kind.name())
                }
            };
            let operands = variable.operands.map(|operand| known.get(&operand?).copied());
            let [first, second, third, _] = operands.map(|operand| operand.map(|(reg, _)| reg));
            let depends = operands.iter().flatten().fold(0, |all, &(_, depends)| all | depends);
            known.extend(numbers.next().map(|number| (id, (number, depends))));
            let args = [first, second, third];
            body.steps.push(Step { code, dtype: variable.dtype, args, depends });
            body.n_operations += u32::from(matches!(code, StepCode::Op(_)));
        }
        let all = (1 << arguments.len()) - 1;
        let depends = body.steps.last().map_or(0, |result| result.depends);
        (depends == all && body.n_operations >= FEWEST_OPERATIONS).then_some(body)
    }

    /// Bytes of a lane that all values but the result would take in memory.
    pub(crate) fn bytes_within(&self) -> u64 {
        let operations = self.steps.iter().filter(|step| step.depends != 0);
        let bytes: usize = operations.map(|step| step.dtype.bytes()).sum();
        (bytes - self.dtype.bytes()) as u64
    }
}

/// The bodies of a table.
#[derive(Default)]
pub(crate) struct Bodies {
    bodies: Vec<Body>,
    known: HashMap<BodyKey, Option<BodyId>, Mix>,
}

impl Bodies {
    pub(crate) fn get(&self, id: BodyId) -> &Body {
        &self.bodies[id.index()]
    }

    /// What is known of a function: nothing yet, that it has no body, or its body.
    pub(crate) fn find(&self, key: &BodyKey) -> Option<Option<BodyId>> {
        self.known.get(key).copied()
    }

    /// Keeps a body, or that there is none.
    pub(crate) fn add(&mut self, key: BodyKey, body: Option<Body>) -> Option<BodyId> {
        let id = body.map(|body| {
            self.bodies.push(body);
            BodyId(exactly(self.bodies.len() - 1))
        });
        self.known.insert(key, id);
        id
    }
}
