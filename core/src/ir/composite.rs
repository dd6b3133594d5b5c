//! Functions whose bodies gather, scatter, reduce, sort, branch or loop.
//!
//! A trace holds a call of one as a variable ([`Kind::Composite`]). What it is made of depends on the sizes of its
//! arguments and may take several kernels, so it has no body to keep: an evaluation that needs the value records it
//! again, in the call's place (`table/composites.rs`).
//!
//! [`Kind::Composite`]: super::var::Kind::Composite

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::var::VarId;
use crate::error::Result;

/// Records into a table, which variables do not know, what a call from a line with some arguments is made of. The caller
/// owns an external reference to the result.
type Record = dyn Fn(&mut dyn Any, u32, &[VarId]) -> Result<VarId> + Send + Sync;

/// A function that evaluations record in place of its call.
pub(crate) struct Composite {
    /// The function's name.
    pub(crate) name: &'static str,
    /// The parameters, besides arguments and their sizes, that what it is made of depends on.
    pub(crate) words: Box<[u64]>,
    /// Bytes that the values between its arguments and its result would take in memory.
    pub(crate) bytes_within: u64,
    /// Records it.
    pub(crate) record: Box<Record>,
    /// Its derivative, where that does not follow from what it is made of; who asks knows the type.
    pub(crate) derivative: Option<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for Composite {
    fn eq(&self, other: &Self) -> bool {
        let is_of_names = self.derivative.is_none() && other.derivative.is_none();
        is_of_names && self.name == other.name && self.words == other.words
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
