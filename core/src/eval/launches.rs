//! The result of planning: launches, with the variables that they read and make.

use std::sync::Arc;

use smallvec::SmallVec;

use super::consecutive::run;
use crate::ir::kernel::Kernel;
use crate::ir::primitive::{Part, Primitive, Product};
use crate::ir::table::Table;
use crate::ir::var::VarId;

/// Which values an evaluation stores besides those it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Dear ones that the user still holds, to spare computing them again.
    Held,
    /// None: memory is short.
    Wanted,
}

/// The binding of a buffer parameter at a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The variable's data is read.
    Read(VarId),
    /// Of the source's data, as many lanes are read as the launch has, from one on.
    Run {
        /// Them.
        lanes: VarId,
        /// Whose data it is.
        source: VarId,
        /// The first lane.
        first: u64,
    },
    /// The variable becomes data in a new buffer.
    Write(VarId),
    /// The variable, a scatter, becomes data: its target's buffer, or a copy.
    Update {
        /// The scatter.
        result: VarId,
        /// Its target.
        target: VarId,
    },
    /// A copy of the variable's data, for writes that no one wants behind the launch.
    Scratch(VarId),
}

impl Binding {
    /// The variable that is read or becomes data.
    pub(super) fn of(&self) -> VarId {
        match *self {
            Self::Read(id)
            | Self::Run { source: id, .. }
            | Self::Write(id)
            | Self::Update { result: id, .. }
            | Self::Scratch(id) => id,
        }
    }

    /// The variables that it reads, makes or writes over.
    pub(super) fn held(&self) -> impl Iterator<Item = VarId> {
        let target = match *self {
            Self::Update { target, .. } => Some(target),
            Self::Read(_) | Self::Run { .. } | Self::Write(_) | Self::Scratch(_) => None,
        };
        [self.of()].into_iter().chain(target)
    }

    /// The variable whose place in a component tells what another member binds.
    pub(super) fn place(&self) -> VarId {
        if let Self::Run { lanes, .. } = *self { lanes } else { self.of() }
    }

    /// The same for a variable of the same place in another member.
    ///
    /// # Panics
    /// If it writes by index.
    pub(super) fn on(&self, id: VarId, table: &Table) -> Self {
        match self {
            Self::Read(_) => Self::Read(id),
            Self::Write(_) => Self::Write(id),
            Self::Run { .. } => {
                let lanes = table.get(id);
                let run = run(table, lanes, lanes.size);
                let (source, first) = run.expect("internal error: a member reads other lanes");
                Self::Run { lanes: id, source, first }
            }
            Self::Update { .. } | Self::Scratch(_) => {
                unreachable!("internal error: a member that writes by index")
            }
        }
    }
}

/// A kernel with the variables that it is to run on.
#[derive(Debug)]
pub struct Launch {
    /// The program.
    pub kernel: Arc<Kernel>,
    /// Number of lanes.
    pub size: u64,
    /// One per buffer of the kernel.
    pub bindings: Vec<Binding>,
    /// One per access of the kernel.
    pub checks: Vec<Check>,
    /// What else the kernel computes in the same way, of as many lanes each: then this is a *batch*.
    pub others: Vec<Member>,
    /// Why its results, though many, are no batch.
    pub together: Option<Together>,
}

/// Why one kernel computes many results that might have been a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// They share values that are dear to compute.
    Shared,
    /// A branch, a loop, or a write by index is in one kernel.
    Whole,
    /// Too few are alike.
    Unlike,
    /// They are large, and few or readers of the same memory.
    Large,
}

impl Together {
    /// The reason, as people read it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Shared => "they share values that are dear to compute",
            Self::Whole => "what has a branch, a loop or a write by index is no member of a batch",
            Self::Unlike => "fewer than 8 of them are alike",
            Self::Large => "they are large, and few or readers of the same memory",
        }
    }
}

/// A member of a batch.
#[derive(Clone, Debug)]
pub struct Member {
    /// One per buffer of the kernel.
    pub bindings: Vec<Binding>,
    /// The bits of its literals, in the kernel's order.
    pub literals: Vec<u64>,
    /// One per access of the kernel.
    pub checks: Vec<Check>,
}

/// Who recorded an access that is checked.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Serial of the variable.
    pub serial: u64,
    /// That of the variable of which it is a copy, else its own: errors know the access by it.
    pub original: u64,
    /// What errors call it, unless that is the operation.
    pub name: Option<&'static str>,
    /// Script line, 0 if none.
    pub line: u32,
}

impl Check {
    pub(super) fn of(table: &Table, id: VarId) -> Self {
        let variable = table.get(id);
        let original = table.original(variable.serial);
        let name = table.meant_access(variable.serial);
        Self { serial: variable.serial, original, name, line: variable.line }
    }
}

impl Launch {
    /// Whether it has several members.
    pub fn is_batch(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether its members have other literals.
    pub(super) fn varies(&self) -> bool {
        let own = || self.kernel.literals.iter().map(|&(_, bits)| bits);
        self.others.iter().any(|member| !own().eq(member.literals.iter().copied()))
    }

    /// How many members it has.
    pub fn n_members(&self) -> usize {
        self.others.len() + 1
    }

    /// The accesses of all members.
    pub(super) fn all_checks(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().chain(self.others.iter().flat_map(|member| &member.checks))
    }

    /// The bindings of all members.
    pub(super) fn all_bindings(&self) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().chain(self.others.iter().flat_map(|member| &member.bindings))
    }

    /// The variables that it makes.
    pub fn results(&self) -> impl Iterator<Item = VarId> {
        self.all_bindings().filter_map(|binding| match *binding {
            Binding::Write(id) | Binding::Update { result: id, .. } => Some(id),
            Binding::Read(_) | Binding::Run { .. } | Binding::Scratch(_) => None,
        })
    }
}

/// A primitive with the variables that it is to run on.
#[derive(Debug)]
pub struct PrimitiveLaunch {
    /// The primitive to run.
    pub primitive: Primitive,
    /// The variables read; they are in memory by then.
    pub operands: SmallVec<[VarId; 4]>,
    /// The variable that becomes data.
    pub result: VarId,
    /// The imaginary part of the product whose real part is the result, if it becomes data at once.
    pub imag: Option<VarId>,
    /// Further calls of it on as many lanes: then this is a batch.
    pub others: Vec<Self>,
}

impl PrimitiveLaunch {
    /// This call and those with it.
    pub(super) fn members(&self) -> impl Iterator<Item = &Self> {
        [self].into_iter().chain(&self.others)
    }

    /// The variables that it makes itself.
    pub(super) fn own_results(&self) -> impl Iterator<Item = VarId> {
        [self.result].into_iter().chain(self.imag)
    }

    /// The variables that are made.
    pub fn results(&self) -> impl Iterator<Item = VarId> {
        self.members().flat_map(Self::own_results)
    }

    /// The variables that are read and made.
    pub(super) fn held(&self) -> impl Iterator<Item = VarId> {
        self.members().flat_map(|one| one.operands.iter().copied().chain(one.own_results()))
    }

    /// Whether another launch makes the imaginary part of the product whose real part this one makes.
    pub(super) fn has_imag(&self, other: &Self) -> bool {
        let (Primitive::Product(real), Primitive::Product(imag)) =
            (self.primitive, other.primitive)
        else {
            return false;
        };
        let is_pair = real.part == Part::Real && imag == Product { part: Part::Imag, ..real };
        is_pair && self.imag.is_none() && self.operands == other.operands
    }
}

/// One launch of either kind.
#[derive(Debug)]
pub enum Step {
    /// A kernel.
    Kernel(Launch),
    /// A primitive.
    Primitive(PrimitiveLaunch),
}

impl Step {
    /// The variables that become data.
    pub(super) fn results(&self) -> impl Iterator<Item = VarId> {
        let (kernel, primitive) = self.parts();
        let kernel = kernel.into_iter().flat_map(Launch::results);
        kernel.chain(primitive.into_iter().flat_map(PrimitiveLaunch::results))
    }

    /// The variables that it reads, makes or writes over.
    pub(super) fn held(&self) -> impl Iterator<Item = VarId> {
        let (kernel, primitive) = self.parts();
        let bindings = kernel.into_iter().flat_map(Launch::all_bindings);
        let primitive = primitive.into_iter().flat_map(PrimitiveLaunch::held);
        bindings.flat_map(Binding::held).chain(primitive)
    }

    fn parts(&self) -> (Option<&Launch>, Option<&PrimitiveLaunch>) {
        match self {
            Self::Kernel(launch) => (Some(launch), None),
            Self::Primitive(launch) => (None, Some(launch)),
        }
    }
}

/// Everything an evaluation does, in order.
#[derive(Debug, Default)]
pub struct Plan {
    /// Numbers that must stand in memory: sources of gathers, targets of scatters, operands of primitives.
    pub fills: Vec<VarId>,
    /// Launches.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The launches of kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|step| match step {
            Step::Kernel(launch) => Some(launch),
            Step::Primitive(_) => None,
        })
    }
}
