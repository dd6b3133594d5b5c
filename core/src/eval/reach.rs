//! What of a launch comes of an index out of bounds: of its own access, or of what it reads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::launches::{Binding, Launch, PrimitiveLaunch};
use crate::ir::kernel::{BufferIndex, Code, Inst, Kernel};
use crate::ir::table::Table;
use crate::ir::var::VarId;

/// Where lanes come from that may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// A checked access, by its number.
    Access(usize),
    /// A buffer that is read.
    Buffer(BufferIndex),
}

/// The buffers that come of what was asked for so far.
pub(super) type Known = HashMap<Origin, HashSet<BufferIndex>>;

/// Variables by their serials, in the buffers of a launch.
type Placed = Vec<(BufferIndex, u64)>;

/// What a launch reads and writes.
#[derive(Default)]
pub(super) struct Flow {
    /// Of a primitive none: all that it makes comes of all that it reads.
    kernel: Option<Arc<Kernel>>,
    /// As many for each member, one member after the other.
    reads: Placed,
    writes: Placed,
    n_members: usize,
}

impl Flow {
    pub(super) fn of(launch: &Launch, table: &Table) -> Self {
        let n_members = launch.n_members();
        let mut flow = Self { kernel: Some(launch.kernel.clone()), n_members, ..Self::default() };
        let serial = |id: VarId| table.get(id).serial;
        let n_buffers = launch.bindings.len();
        for (number, binding) in launch.all_bindings().enumerate() {
            let buffer = buffer(number % n_buffers);
            let (read, written) = match *binding {
                Binding::Read(id) | Binding::Run { source: id, .. } => (Some(id), None),
                Binding::Write(id) => (None, Some(id)),
                Binding::Update { result, target } => (Some(target), Some(result)),
                Binding::Scratch(_) => (None, None),
            };
            flow.reads.extend(read.map(|id| (buffer, serial(id))));
            flow.writes.extend(written.map(|id| (buffer, serial(id))));
        }
        flow
    }

    pub(super) fn of_primitive(launch: &PrimitiveLaunch, table: &Table) -> Self {
        let mut flow = Self { n_members: launch.members().count(), ..Self::default() };
        let placed = |id: VarId| (buffer(0), table.get(id).serial);
        for member in launch.members() {
            flow.reads.extend(member.operands.iter().copied().map(placed));
            flow.writes.extend(member.own_results().map(placed));
        }
        flow
    }

    pub(super) fn n_members(&self) -> usize {
        self.n_members
    }

    /// The variables that a member reads.
    pub(super) fn reads(&self, member: usize) -> &[(BufferIndex, u64)] {
        of_member(&self.reads, member, self.n_members)
    }

    /// The serials of what a member writes that comes of the origin.
    pub(super) fn reached(&self, member: usize, origin: Origin, known: &mut Known) -> Vec<u64> {
        let writes = of_member(&self.writes, member, self.n_members);
        let Some(kernel) = &self.kernel else {
            return writes.iter().map(|&(_, serial)| serial).collect();
        };
        let reached = known.entry(origin).or_insert_with(|| reached(kernel, origin));
        let writes = writes.iter().filter(|(buffer, _)| reached.contains(buffer));
        writes.map(|&(_, serial)| serial).collect()
    }
}

fn buffer(number: usize) -> BufferIndex {
    BufferIndex(u32::try_from(number).expect("internal error: too many buffers"))
}

fn of_member(placed: &Placed, member: usize, n_members: usize) -> &[(BufferIndex, u64)] {
    let n = placed.len() / n_members;
    &placed[member * n..][..n]
}

/// The buffers that a kernel writes and that come of the origin.
fn reached(kernel: &Kernel, origin: Origin) -> HashSet<BufferIndex> {
    let mut comes = vec![false; kernel.insts.len()];
    // What goes back to the start of a loop is there in the next turn.
    while turn(kernel, origin, &mut comes) {}
    let written =
        kernel.insts.iter().zip(comes).filter(|(inst, comes)| *comes && inst.code.writes());
    written.filter_map(|(inst, _)| buffer_of(inst)).collect()
}

/// Goes through the instructions once; whether that says more of one before it.
fn turn(kernel: &Kernel, origin: Origin, comes: &mut [bool]) -> bool {
    let mut regions = Vec::new();
    let mut says_more = false;
    for (number, inst) in kernel.insts.iter().enumerate() {
        let begins = match origin {
            Origin::Access(access) => inst.code.access().is_some_and(|own| own as usize == access),
            Origin::Buffer(buffer) => buffer_of(inst) == Some(buffer),
        };
        comes[number] |= begins || inst.args().any(|arg| comes[arg.index()]);
        if matches!(inst.code, Code::RegionStart { .. }) {
            regions.push(number);
        }
        if comes[number] && inst.code == Code::BackEdge {
            says_more |= !std::mem::replace(&mut comes[inst.arg(0).index()], true);
        }
        if inst.code == Code::RegionEnd
            && let Some(start) = regions.pop()
            && comes[number]
        {
            // How often it ran, and in which lanes.
            let behind = kernel.insts[start + 1..].iter();
            let n_phis = behind.take_while(|inst| inst.code == Code::Phi).count();
            for phi in &mut comes[start + 1..][..n_phis] {
                says_more |= !std::mem::replace(phi, true);
            }
        }
    }
    says_more
}

fn buffer_of(inst: &Inst) -> Option<BufferIndex> {
    let mut code = inst.code;
    code.buffer_mut().copied()
}
