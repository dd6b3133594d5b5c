//! Recording: check, promote, broadcast, apply identities, intern. Nothing here computes or launches.
//!
//! A [`Recorder`] borrows the variable table for one user operation. Whatever it makes on the way it
//! owns; the result is handed out by [`Recorder::finish`], the rest is released, also when recording
//! fails half-way.

mod bounds;
mod broadcast;
mod call;
mod copy;
pub(crate) mod derive;
mod division;
pub mod elementwise;
mod expand;
pub mod expr;
mod fmod;
pub mod functions;
pub mod identities;
mod math;
pub mod memory;
pub mod nested;
pub mod numbers;
pub(crate) mod padding;
pub(crate) mod power;
pub mod primitive;
pub(crate) mod range;
pub mod rearrange;
pub mod reduce;
pub(crate) mod region;
pub(crate) mod replay;
mod runs;
mod slide;
mod special;
pub mod statistics;
pub(crate) mod strided;

use smallvec::SmallVec;

pub use self::broadcast::broadcast_size;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::table::{Table, number_variable};
use crate::ir::var::{Handle, Kind, VarId, Variable};
use crate::memory::caching_allocator::Bytes;

/// Settings of recording.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether identities that keep bits are applied (flag `fold`).
    pub fold: bool,
    /// Whether gathers and scatters compare indices with sizes (flag `bounds_check`).
    pub bounds_check: bool,
    /// Script line being run, 0 if none.
    pub line: u32,
}

/// Records one user operation into the table.
pub struct Recorder<'t> {
    table: &'t mut Table,
    settings: Settings,
    owned: Vec<VarId>,
}

impl<'t> Recorder<'t> {
    /// A recorder into a table that has room for what it adds.
    pub(crate) fn with_room(table: &'t mut Table, settings: Settings) -> Result<Self> {
        if table.make_room() { Ok(Self::new(table, settings)) } else { Err(exhausted(table)) }
    }

    /// A recorder into `table`.
    pub fn new(table: &'t mut Table, settings: Settings) -> Self {
        let owned = table.take_owned();
        Self { table, settings, owned }
    }

    /// Ends the recording: the caller owns an external reference to `result`, by its handle.
    pub fn finish(mut self, result: VarId) -> Handle {
        // The recorder's own reference becomes the caller's, if it made the result last.
        match self.owned.last() {
            Some(&last) if last == result => drop(self.owned.pop()),
            _ => self.table.inc_external(result),
        }
        self.table.handle(result)
    }

    /// Ends the recording as [`Recorder::finish`], with several results.
    pub fn finish_all(self, results: &[VarId]) -> SmallVec<[Handle; 4]> {
        for &result in results {
            self.table.inc_external(result);
        }
        results.iter().map(|&result| self.table.handle(result)).collect()
    }

    /// Ends the recording: the caller owns an external reference to all values that were made, outside of bodies.
    pub(crate) fn into_owned_values(mut self) -> Vec<VarId> {
        let is_value = |variable: &Variable| {
            variable.scope == 0 && !matches!(variable.kind, Kind::Region { .. })
        };
        let (values, others) = self.owned.drain(..).partition(|&id| is_value(self.table.get(id)));
        self.owned = others;
        values
    }

    /// The variable `id`.
    #[inline]
    pub fn var(&self, id: VarId) -> &Variable {
        self.table.get(id)
    }

    /// Lane type of `id`.
    #[inline]
    pub fn dtype(&self, id: VarId) -> DType {
        self.var(id).dtype
    }

    /// Number of lanes of `id`.
    #[inline]
    pub fn size(&self, id: VarId) -> u64 {
        self.var(id).size
    }

    /// A number the script wrote, in every one of `size` lanes.
    pub fn literal(&mut self, dtype: DType, bits: u64, size: u64) -> VarId {
        self.add(number_variable(Kind::Literal(bits), dtype, size))
    }

    /// The same for an array that somebody holds: in a body that is recorded another one than those from outside, since the
    /// body may change it.
    pub(crate) fn own_literal(&mut self, dtype: DType, bits: u64, size: u64) -> VarId {
        let id = self.literal(dtype, bits, size);
        if self.table.outside_of(id).is_none() {
            return id;
        }
        let own = self.table.fork(id);
        self.owned.push(own);
        own
    }

    /// A number that belongs to our own code (S3): never a parameter.
    pub fn constant(&mut self, dtype: DType, bits: u64) -> VarId {
        self.add(number_variable(Kind::Constant(bits), dtype, 1))
    }

    /// Lanes for writes that reach all of them before one is read, for each chain of writes its own; see
    /// [`Variable::is_room`].
    pub(super) fn room(&mut self, dtype: DType, size: u64) -> VarId {
        if size <= 1 {
            return self.literal(dtype, 0, size);
        }
        let room = self.add(number_variable(Kind::Constant(0), dtype, size));
        self.table.forget_number(room);
        room
    }

    /// A script number meeting an array of type `dtype`: the array's type, or the float it becomes.
    ///
    /// # Errors
    /// `NumberRange` if an integer type cannot hold the number.
    pub fn number_for(&mut self, dtype: DType, number: Scalar) -> Result<VarId> {
        let dtype = dtype.meet(number);
        Ok(self.literal(dtype, dtype.encode(number)?, 1))
    }

    /// The lane number of each of `size` lanes, as u32 or u64.
    pub fn lane_index(&mut self, dtype: DType, size: u64) -> VarId {
        if size == 1 {
            return self.constant(dtype, 0);
        }
        self.add(Variable::new(Kind::Index, dtype, size, [None; 4]))
    }

    pub(crate) fn add(&mut self, mut variable: Variable) -> VarId {
        variable.line = self.settings.line;
        let id = self.table.intern(variable);
        self.owned.push(id);
        id
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        let mut owned = std::mem::take(&mut self.owned);
        for id in owned.drain(..) {
            self.table.dec_external(id);
        }
        self.table.put_owned(owned);
    }
}

#[cold]
fn exhausted(table: &Table) -> Error {
    let bytes = Bytes(table.bytes()).to_string();
    let n = table.n_live();
    Error::OutOfMemory {
        requested: format!("{bytes} more for recorded variables"),
        used: bytes,
        limit: "what the system gives".into(),
        largest: format!("; there are {n}: eval(x) lets those go that x is made of"),
    }
}
