//! Functions whose bodies gather, scatter, reduce, sort, branch or loop, and those that were recorded once (S21).
//!
//! A trace holds a call of one as a variable ([`Kind::Composite`]). What it is made of depends on the sizes of its
//! arguments and may take several kernels, so it has no body to keep: an evaluation that needs the value records it
//! again, in the call's place (`table/composites.rs`).
//!
//! A function that was recorded once was called with *stand-ins*, variables without lanes; what depends on them is its
//! trace, a [`Recording`]. A later call is a composite for each result. An evaluation of nothing but the results of one
//! call launches what the first one launched (`eval/known.rs`); any other copies the trace into the call's place, so that
//! it fuses with what is around.
//!
//! [`Kind::Composite`]: super::var::Kind::Composite

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::mix::Mix;
use super::var::{Kind, VarId};
use crate::dtype::DType;
use crate::error::Result;

/// Records into a table, which variables do not know, what a call from a line with some arguments is made of: its results,
/// to each of which the caller owns an external reference.
pub(crate) type Record =
    dyn Fn(&mut dyn Any, u32, &[VarId]) -> Result<SmallVec<[VarId; 2]>> + Send + Sync;

/// A function that evaluations record in place of its call.
pub(crate) struct Composite {
    /// The function's name.
    pub(crate) name: &'static str,
    /// The parameters, besides arguments and their sizes, that what it is made of depends on.
    pub(crate) words: Box<[u64]>,
    /// Bytes that the values between its arguments and its result would take in memory.
    pub(crate) bytes_within: u64,
    /// Records it.
    pub(crate) record: Arc<Record>,
    /// Its derivative, where that does not follow from what it is made of; who asks knows the type.
    pub(crate) derivative: Option<Arc<dyn Any + Send + Sync>>,
    /// Which result it is, of a function that was recorded once.
    pub(crate) result_of: Option<ResultOf>,
}

impl Composite {
    /// The position of its value among what `record` gives.
    pub(crate) fn position(&self) -> usize {
        self.result_of.as_ref().map_or(0, |of| of.position)
    }
}

impl PartialEq for Composite {
    fn eq(&self, other: &Self) -> bool {
        let is_of_names = self.derivative.is_none() && other.derivative.is_none();
        is_of_names
            && self.result_of.is_none()
            && other.result_of.is_none()
            && self.name == other.name
            && self.words == other.words
    }
}

impl Hash for Composite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.words.iter().for_each(|&word| state.write_u64(word));
    }
}

impl fmt::Debug for Composite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name, self.words)
    }
}

/// A trace from stand-ins to outputs.
#[derive(Debug)]
pub(crate) struct Recording {
    /// What a call of it is called.
    pub(crate) name: &'static str,
    /// The serial of the keeper, which no other recording of the session has.
    pub(crate) serial: u64,
    /// The stand-ins.
    pub(crate) inputs: Vec<VarId>,
    pub(crate) outputs: Vec<Output>,
    /// What depends on an input, and what is in the bodies of regions.
    pub(crate) members: Arc<HashSet<VarId, Mix>>,
    /// Those outside of bodies, operands before users.
    pub(crate) order: Vec<VarId>,
    /// What members are made of besides members, by slot: it depends on no input.
    pub(crate) outside: Vec<VarId>,
    /// Whether it is all the same when a call of it is recorded: nothing in it writes by index.
    pub(crate) may_wait: bool,
    /// Bytes that the values between inputs and outputs would take in memory.
    pub(crate) bytes_within: u64,
    /// A variable that holds inputs and outputs.
    pub(crate) keeper: VarId,
}

/// An output of what was recorded once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// The input of this number.
    Input(usize),
    /// What depends on no input.
    Outside(VarId),
    /// The end of the trace.
    Made(VarId),
}

/// A call of what was recorded once.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) recording: Arc<Recording>,
    /// The variables of its results, by output, with their generations; none for those that need no call.
    pub(crate) results: OnceLock<Results>,
}

/// Variables with their generations.
pub(crate) type Results = SmallVec<[Option<(VarId, u32)>; 2]>;

/// Which result of a call a variable is.
#[derive(Debug)]
pub(crate) struct ResultOf {
    pub(crate) call: Arc<Call>,
    /// Of its outputs.
    pub(crate) position: usize,
}

/// Composites that are remembered at most; then all are forgotten.
const MOST: usize = 1024;

/// What a composite of certain arguments is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rehearsed {
    /// One of its arguments.
    Argument(usize),
    /// A number.
    Number(Kind, DType, u64),
    /// A value of this type and size; what lies between the arguments and it would take so many bytes in memory.
    Value { dtype: DType, size: u64, bytes_within: u64 },
}

/// What is known of composites, by all that they depend on.
#[derive(Debug, Default)]
pub(crate) struct Rehearsals(HashMap<Asked, Rehearsed, Mix>);

/// All that this depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    name: &'static str,
    words: SmallVec<[u64; 8]>,
    /// Number, type and size of each argument.
    arguments: SmallVec<[(Option<Kind>, DType, u64); 2]>,
}

impl Asked {
    /// Of a composite of arguments of these numbers, types and sizes.
    pub(crate) fn of(
        composite: &Composite,
        arguments: impl Iterator<Item = (Option<Kind>, DType, u64)>,
    ) -> Self {
        let words = SmallVec::from_slice(&composite.words);
        Self { name: composite.name, words, arguments: arguments.collect() }
    }
}

impl Rehearsals {
    pub(crate) fn get(&self, asked: &Asked) -> Option<Rehearsed> {
        self.0.get(asked).copied()
    }

    pub(crate) fn insert(&mut self, asked: Asked, rehearsed: Rehearsed) {
        if self.0.len() == MOST {
            self.0.clear();
        }
        self.0.insert(asked, rehearsed);
    }
}
