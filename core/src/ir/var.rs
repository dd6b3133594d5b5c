//! One recorded value.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::Error;
use crate::ir::composite::{Composite, ResultOf};
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::primitive::Primitive;
use crate::memory::buffer::Buffer;

/// The slot of a variable in the table. Slots are reused: a handle held outside the table carries the
/// generation too, and dumps show the serial, which never repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(NonZeroU32);

impl VarId {
    /// The id of slot `index`.
    ///
    /// # Panics
    /// If `index` is 2³² − 1, which the table never reaches.
    #[inline]
    pub fn new(index: u32) -> Self {
        Self(NonZeroU32::MIN.checked_add(index).expect("internal error: table is full"))
    }

    /// The slot's index.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

/// What somebody outside of the table who holds a variable knows of it: it never changes while it is held.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    /// The slot.
    pub id: VarId,
    /// The slot's generation when the handle was made; a mismatch would be a reference count gone wrong.
    pub generation: u32,
    /// Lane type.
    pub dtype: DType,
    /// Number of lanes.
    pub size: u64,
}

/// The number of a body in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyId(u32);

impl BodyId {
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a variable's value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number the script wrote, by its bits. May become a kernel parameter.
    Literal(u64),
    /// A number our own code recorded (coefficients, shift counts). Part of a kernel's structure.
    Constant(u64),
    /// The lane number.
    Index,
    /// An elementwise operation on the operands.
    Op(Op),
    /// A function of the operands; the table has its body. The value is that of its only result.
    Call(BodyId),
    /// One of several results of the operand, a call.
    Output {
        /// Position among the results.
        position: u32,
    },
    /// A function of the operands that an evaluation replaces by what it is made of, which stands in [`ColdFields`].
    Composite,
    /// Operands source, index and perhaps active mask: `source[index[i]]`, 0 in inactive lanes.
    Gather {
        /// Who compares indices with the source's size (S13), if somebody does.
        checked: Option<Reader>,
    },
    /// Operands memory, index and perhaps active mask, inside a region: what the lane finds at `memory[index]`
    /// when the lanes run in ascending order, each to the region's end; 0 in inactive lanes and out of bounds.
    Fetch,
    /// Operands target, value, index and perhaps active mask: the target with `value[i]` written at
    /// `index[i]`. The result is a new value of the target's size: no other array changes.
    Scatter {
        /// How it combines with the value already there.
        op: ScatterOp,
        /// In which order.
        mode: ScatterMode,
        /// Whether indices are compared with the target's size (S13).
        checked: bool,
        /// What it is a part of.
        writer: Writer,
    },
    /// All lanes of the one operand combined into one.
    Reduce(ReduceOp),
    /// A launch of its own over whole arrays.
    Primitive(Primitive),
    /// Lanes that evaluate a region's condition: those of the operand, or all. Of a region that
    /// repeats, those still running.
    ActiveMask,
    /// Lanes that run a region's body: operands active mask and condition.
    RunningMask,
    /// A phi: a value at the start of a region's body; the operand is the first one.
    Phi {
        /// Whether it is memory that the region writes, not a value of each lane.
        memory: bool,
    },
    /// A region (S21): code that runs while its condition holds in some lane. Its operands are in
    /// [`Region`].
    Region {
        /// Whether it is a loop, or a branch.
        repeat: bool,
    },
    /// A value behind a region, the operand.
    Result {
        /// Position among the region's values.
        position: u32,
        /// Whether it is memory that the region wrote.
        memory: bool,
    },
    /// The contents are in memory; there are no operands.
    Data,
}

impl Kind {
    /// Whether the value is a number known while recording.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Literal(bits) | Self::Constant(bits) => Some(bits),
            Self::Index
            | Self::Op(_)
            | Self::Call(_)
            | Self::Output { .. }
            | Self::Composite
            | Self::Gather { .. }
            | Self::Fetch
            | Self::Scatter { .. }
            | Self::Reduce(_)
            | Self::Primitive(_)
            | Self::ActiveMask
            | Self::RunningMask
            | Self::Phi { .. }
            | Self::Region { .. }
            | Self::Result { .. }
            | Self::Data => None,
        }
    }

    /// Name in dumps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Literal(_) => "literal",
            Self::Constant(_) => "constant",
            Self::Index => "index",
            Self::Op(op) => op.name(),
            Self::Call(_) => "call",
            Self::Output { .. } => "output",
            Self::Composite => "composite",
            Self::Gather { .. } => "gather",
            Self::Fetch => "fetch",
            Self::Scatter { op, writer, .. } => op.function(writer),
            Self::Reduce(op) => op.name(),
            Self::Primitive(primitive) => primitive.name(),
            Self::ActiveMask => "entering",
            Self::RunningMask => "running",
            Self::Phi { .. } => "state",
            Self::Region { repeat: true } => "loop",
            Self::Region { repeat: false } => "if",
            Self::Result { .. } => "result",
            Self::Data => "data",
        }
    }
}

/// The function that a gather is a part of, and the axis of a tensor along which it looks for entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reader {
    /// `gather`
    Gather,
    /// `take`
    Take,
    /// `take(t, index, axis)`
    TakeAlong(u8),
    /// `put(t, index, value, axis)`
    Put(u8),
    /// `t[index]`
    Index(u8),
    /// Segments of rows of a tensor, combined by what a scatter does.
    Segment(ScatterOp),
}

impl Reader {
    /// The name of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gather => "gather",
            Self::Take | Self::TakeAlong(_) => "take",
            Self::Put(_) => "put",
            Self::Index(_) => "[]",
            Self::Segment(op) => op.function(Writer::Segment),
        }
    }

    /// The axis.
    pub const fn axis(self) -> Option<u8> {
        match self {
            Self::TakeAlong(axis) | Self::Put(axis) | Self::Index(axis) => Some(axis),
            Self::Gather | Self::Take | Self::Segment(_) => None,
        }
    }

    /// Whether a source of one lane stands for every index (S13); an axis of one entry has no other.
    pub(crate) const fn takes_number(self) -> bool {
        matches!(self, Self::Gather | Self::Take)
    }
}

/// At most this many operands; those of each kind are listed at [`Kind`].
pub const MAX_OPERANDS: usize = 4;

/// Operands and results of a region.
#[derive(Debug)]
pub struct Region {
    /// Its scope: larger than those of the regions around it.
    pub scope: u32,
    /// The lanes that run the body.
    pub running: VarId,
    /// Values that the body changes: the phi and its back-edge value.
    pub values: Vec<(VarId, VarId)>,
    /// The values behind the region by position, with the generation of their slots: they may be gone.
    pub results: Vec<(VarId, u32)>,
    /// Whether lanes read what others wrote: then all that it writes is written, wanted or not.
    pub fetches: bool,
    /// How a turn of a loop is undone, if that is known, with an internal reference to each variable.
    pub(crate) undone: Vec<Undone>,
}

/// How a state of a loop is at the beginning of a turn, from those at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undone {
    /// Its phi.
    pub(crate) state: VarId,
    /// What stands for the state at the end.
    pub(crate) after: VarId,
    /// The state at the beginning.
    pub(crate) before: VarId,
}

impl Undone {
    /// What the loop has references to for this; it has none to states that it leaves alone.
    pub(crate) fn held(&self) -> [VarId; 3] {
        [self.state, self.after, self.before]
    }
}

impl Region {
    pub(crate) fn operand(&self, position: usize) -> Option<VarId> {
        let Some(position) = position.checked_sub(1) else { return Some(self.running) };
        let (state, end) = self.values.get(position / 2)?;
        Some(if position.is_multiple_of(2) { *state } else { *end })
    }
}

/// Cold fields: few variables have any of them.
#[derive(Debug, Default)]
pub struct ColdFields {
    /// Operands and results of a region.
    pub region: Option<Region>,
    /// The function of a [`Kind::Composite`].
    pub(crate) composite: Option<Arc<Composite>>,
    /// The operands of a call that has more than [`MAX_OPERANDS`].
    pub arguments: Box<[VarId]>,
    /// Name given with `set_label`.
    pub label: Option<Arc<str>>,
    /// Whether what was written in its place has the label: it goes with who holds this one last.
    pub(crate) is_label_passed_on: bool,
    /// The error that destroyed the contents, if any (S16).
    pub poisoned: Option<Error>,
    /// What a tracked variable was made of before an evaluation.
    pub(crate) history: Option<History>,
    /// The gradient that was asked for or set, while somebody holds the variable.
    pub(crate) gradient: Option<VarId>,
    /// The tangent that was set.
    pub(crate) tangent: Option<VarId>,
    /// Whether derivatives begin or end here: recording looks no further than to this variable.
    pub(crate) is_border: bool,
    /// Whether derivatives end here when the body that it belongs to is recorded again to be differentiated.
    pub(crate) is_detached: bool,
}

impl ColdFields {
    fn operand(&self, position: usize) -> Option<VarId> {
        match &self.region {
            Some(region) => region.operand(position),
            None => self.arguments.get(position).copied(),
        }
    }

    /// The operands that do not stand in the row.
    pub(crate) fn operands(&self) -> impl Iterator<Item = VarId> + '_ {
        (0..).map_while(|position| self.operand(position))
    }
}

/// What a tracked variable was made of, once it is in memory (S29).
///
/// The trace is the tape: derivatives are recorded from the operations that made a value. An evaluation turns a variable
/// into data, which is made of nothing; one that is tracked keeps its operands here. They keep theirs, and what of them
/// is not in memory is computed again where a derivative needs it.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) kind: Kind,
    pub(crate) operands: SmallVec<[VarId; 4]>,
    pub(crate) composite: Option<Arc<Composite>>,
}

/// One row of the variable table.
#[derive(Debug)]
pub struct Variable {
    /// How the value comes about.
    pub kind: Kind,
    /// Type of a lane.
    pub dtype: DType,
    /// Number of lanes; 1 broadcasts.
    pub size: u64,
    /// Operands, packed to the front; none if they stand aside.
    pub operands: [Option<VarId>; MAX_OPERANDS],
    /// Unique number that dumps show; from 10, only growing.
    pub serial: u64,
    /// References from outside the table.
    pub external: u32,
    /// References from operands of other variables and from evaluations under way.
    pub internal: u32,
    /// How often the slot was reused; handles compare it.
    pub generation: u32,
    /// Script line that recorded it, 0 if none.
    pub line: u32,
    /// The innermost region whose phis the value depends on, 0 if none: it exists only while that runs.
    pub scope: u32,
    /// Whether derivatives of it may be asked for (S29): it keeps what it is made of.
    pub tracked: bool,
    /// Whether the table has its slot among those that may wait; stays with the slot.
    pub(crate) is_listed: bool,
    /// Contents, once evaluated.
    pub data: Option<Arc<Buffer>>,
    /// Cold fields, boxed to keep the row short.
    pub cold: Option<Box<ColdFields>>,
    /// Hash under which value numbering knows the variable; 0 if it does not.
    pub(crate) number: u64,
}

impl Variable {
    /// A variable without references, as recorders build it.
    pub fn new(kind: Kind, dtype: DType, size: u64, operands: [Option<VarId>; 4]) -> Self {
        Self {
            kind,
            dtype,
            size,
            operands,
            serial: 0,
            external: 0,
            internal: 0,
            generation: 0,
            line: 0,
            scope: 0,
            tracked: false,
            is_listed: false,
            data: None,
            cold: None,
            number: 0,
        }
    }

    /// Whether nothing refers to it.
    #[inline]
    pub const fn is_dead(&self) -> bool {
        self.external == 0 && self.internal == 0
    }

    /// The cold fields, to change.
    pub fn cold_mut(&mut self) -> &mut ColdFields {
        self.cold.get_or_insert_default()
    }

    /// Operands and results of a region.
    #[inline]
    pub fn region(&self) -> Option<&Region> {
        self.cold.as_ref()?.region.as_ref()
    }

    /// The function, of a [`Kind::Composite`].
    pub(crate) fn composite(&self) -> Option<&Arc<Composite>> {
        self.cold.as_ref()?.composite.as_ref()
    }

    /// Which result it is of a call of what was recorded once.
    pub(crate) fn result_of(&self) -> Option<&ResultOf> {
        self.composite()?.result_of.as_ref()
    }

    /// Name given with `set_label`.
    pub fn label(&self) -> Option<&Arc<str>> {
        self.cold.as_ref()?.label.as_ref()
    }

    /// Whether its contents are in memory, and whole.
    pub(crate) fn is_there(&self) -> bool {
        self.kind == Kind::Data && self.poisoned().is_none()
    }

    /// Whether it stands for an array in a function that is recorded once. What holds one of those together has operands.
    pub(crate) fn is_stand_in(&self) -> bool {
        matches!(self.poisoned(), Some(Error::StandIn { .. })) && self.operand(0).is_none()
    }

    /// The error that destroyed the contents, if any (S16).
    #[inline]
    pub fn poisoned(&self) -> Option<&Error> {
        self.cold.as_ref()?.poisoned.as_ref()
    }

    /// The operands in order.
    #[inline]
    pub fn operands(&self) -> impl Iterator<Item = VarId> + '_ {
        (0..).map_while(|position| self.operand(position))
    }

    /// The operands that do not stand in the row: of regions, and of calls with many arguments.
    #[inline]
    pub(crate) fn operands_aside(&self) -> impl Iterator<Item = VarId> + '_ {
        self.cold.iter().flat_map(|cold| cold.operands())
    }

    /// The operand at a position.
    #[inline]
    pub fn operand(&self, position: usize) -> Option<VarId> {
        match &self.cold {
            None => self.operands.get(position).copied().flatten(),
            Some(cold) => {
                let own = || self.operands.get(position).copied().flatten();
                cold.operand(position).or_else(own)
            }
        }
    }

    /// Bytes that the contents take, or would take once stored.
    pub fn bytes(&self) -> u64 {
        self.size.saturating_mul(self.dtype.bytes() as u64)
    }

    /// Whether it is room for writes that reach all lanes before one is read, so that what it has matters to nobody: no
    /// other constant has several lanes.
    pub(crate) fn is_room(&self) -> bool {
        matches!(self.kind, Kind::Constant(_)) && self.size > 1
    }

    /// Whether derivatives begin or end here: what is made of it is not made of its operands instead.
    pub(crate) fn is_border(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.is_border)
    }

    /// Whether derivatives end here, in the body of a region.
    pub(crate) fn is_detached(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.is_detached)
    }

    /// Whether an evaluation leaves it its operands.
    pub(crate) fn keeps_operands(&self) -> bool {
        self.tracked && self.history().is_none()
    }

    /// What it was made of before an evaluation.
    pub(crate) fn history(&self) -> Option<&History> {
        self.cold.as_ref()?.history.as_ref()
    }

    /// Makes its operands its history: they keep the references that it held.
    pub(super) fn remember(&mut self) {
        let (kind, operands) = (self.kind, self.operands().collect());
        self.operands = Default::default();
        let cold = self.cold_mut();
        cold.arguments = Default::default();
        let composite = cold.composite.take();
        cold.history = Some(History { kind, operands, composite });
    }

    /// How it came about, whether it is in memory or not.
    pub(crate) fn made_by(&self) -> Kind {
        self.history().map_or(self.kind, |history| history.kind)
    }

    /// The operands that it was made of.
    pub(crate) fn made_of(&self) -> SmallVec<[VarId; 4]> {
        self.history().map_or_else(|| self.operands().collect(), |history| history.operands.clone())
    }

    /// The function that it is a call of, if that is a composite.
    pub(crate) fn called_composite(&self) -> Option<&Arc<Composite>> {
        self.history().map_or_else(|| self.composite(), |history| history.composite.as_ref())
    }
}

/// A variable's serial, as dumps print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serial(pub u64);

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}
