//! Functions that a trace holds as one operation each, and what they are made of.
//!
//! A `tanh` of f32 is fifty instructions. Recorded one by one, they would cost fifty variables at each call and a walk
//! over fifty at each evaluation. So the table keeps what a function is made of, its *body*, once; a call is one
//! variable ([`Kind::Call`]), and kernels get those of the body's instructions that their results need. A function
//! with several results has a variable for each ([`Kind::Output`]) behind that of the call.
//!
//! [`Kind::Call`]: crate::ir::var::Kind::Call
//! [`Kind::Output`]: crate::ir::var::Kind::Output

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;

use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{Code, Reg};
use crate::ir::mix::Mix;
use crate::ir::op::Op;
use crate::ir::var::BodyId;

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
    /// The parameters that distinguish functions of one name, if there are several.
    pub shape: Box<[u64]>,
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
    /// The argument whose sign a result changes, if it does nothing else.
    pub(crate) fn negated(&self, output: &Output) -> Option<usize> {
        let position = output.value.index().checked_sub(self.n_arguments)?;
        let Step { code: StepCode::Op(Op::Neg), args: [Some(x), ..], .. } = self.steps[position]
        else {
            return None;
        };
        (x.index() < self.n_arguments).then_some(x.index())
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

/// The bodies of a table, by callee and types.
#[derive(Default)]
pub(crate) struct Bodies {
    bodies: Vec<Body>,
    known: HashTable<Known>,
}

struct Known {
    hash: u64,
    name: &'static str,
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
                && *self.get(known.body).shape == *callee.shape
                && known.flags == callee.flags
                && known.types.iter().copied().eq(types.clone())
        };
        Some(self.known.find(hash, same)?.body)
    }

    /// Keeps a body that was not known.
    pub(crate) fn add(&mut self, callee: &Callee<'_>, types: Box<[DType]>, body: Body) -> BodyId {
        let id = BodyId::new(exactly(self.bodies.len()));
        self.bodies.push(body);
        let hash = hash(callee, types.iter().copied());
        let Callee { name, flags, .. } = *callee;
        let known = Known { hash, name, flags, types, body: id };
        self.known.insert_unique(hash, known, |known| known.hash);
        id
    }
}

fn hash(callee: &Callee<'_>, types: impl Iterator<Item = DType>) -> u64 {
    let mut hasher = Mix::default();
    for bytes in callee.name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        hasher.write_u64(u64::from_le_bytes(word));
    }
    callee.shape.iter().for_each(|&word| hasher.write_u64(word));
    let flags = u64::from(callee.flags[0]) << 1 | u64::from(callee.flags[1]);
    hasher.write_u64(types.fold(flags | 4, |word, dtype| word.rotate_left(4) ^ dtype as u64));
    hasher.finish()
}
