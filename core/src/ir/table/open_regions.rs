//! The regions that are being recorded, and by which thread.

use std::thread::current;

use super::Table;
use super::recording_state::OpenRegion;
use crate::error::Error;
use crate::ir::var::{Kind, Undone, VarId};

impl Table {
    /// Lets a loop know how its turns are undone.
    pub(crate) fn set_undone(&mut self, region: VarId, undone: Vec<Undone>) {
        undone.iter().flat_map(Undone::held).for_each(|id| self.inc_internal(id));
        if let Some(region) = &mut self.get_mut(region).cold_mut().region {
            region.undone = undone;
        }
    }

    /// Opens a region; its scope is above those of all before.
    pub(crate) fn open_region(&mut self, mut region: OpenRegion) -> u32 {
        self.recording.last_scope += 1;
        region.scope = self.recording.last_scope;
        region.serial = self.next_serial;
        self.recording.open_regions.push(region);
        self.recording.last_scope
    }

    /// Closes a region of this thread and those opened inside it.
    pub(crate) fn close_region(&mut self, scope: u32) {
        let own = std::thread::current().id();
        self.recording.open_regions.retain(|region| region.scope < scope || region.thread != own);
    }

    /// The array before the last write to it, or before the region that wrote it.
    pub(crate) fn before_write(&self, id: VarId) -> Option<VarId> {
        let variable = self.get(id);
        match variable.kind {
            Kind::Scatter { .. } => variable.operands[0],
            Kind::Result { position, memory: true } => {
                let region = self.get(variable.operands[0]?).region()?;
                let (state, _) = *region.values.get(position as usize)?;
                self.get(state).operands[0]
            }
            Kind::Literal(_)
            | Kind::Constant(_)
            | Kind::Index
            | Kind::Op(_)
            | Kind::Call(_)
            | Kind::Output { .. }
            | Kind::Composite
            | Kind::Gather { .. }
            | Kind::Fetch
            | Kind::Reduce(_)
            | Kind::Primitive(_)
            | Kind::ActiveMask
            | Kind::RunningMask
            | Kind::Phi { .. }
            | Kind::Region { .. }
            | Kind::Result { memory: false, .. }
            | Kind::Data => None,
        }
    }

    /// Notes a write of a body that runs step by step, to be known when it was evaluated.
    pub(crate) fn note_write(&mut self, result: VarId, target: VarId) {
        let [result, target] = [result, target].map(|id| self.get(id).serial);
        let own = std::thread::current().id();
        let mut open = self.recording.open_regions.iter_mut();
        if let Some(outermost) = open.find(|region| region.evaluated && region.thread == own) {
            outermost.writes.insert(result, target);
        }
    }

    /// The serial of an array before a noted write.
    pub(crate) fn written_before(&self, serial: u64) -> Option<u64> {
        self.own_regions().find(|region| region.evaluated)?.writes.get(&serial).copied()
    }

    /// The regions that this thread records, from the outermost.
    pub(crate) fn own_regions(&self) -> impl Iterator<Item = &OpenRegion> {
        let own = std::thread::current().id();
        self.recording.open_regions.iter().filter(move |region| region.thread == own)
    }

    /// Lets the table record as outside of all regions, until they are restored.
    pub(in crate::ir) fn set_aside_regions(&mut self) -> Vec<OpenRegion> {
        std::mem::take(&mut self.recording.open_regions)
    }

    /// Restores the regions that were set aside.
    pub(in crate::ir) fn restore_regions(&mut self, regions: Vec<OpenRegion>) {
        self.recording.open_regions = regions;
    }

    /// The error of using a value of a region's body where it has no lanes.
    pub(crate) fn inside(&self, what: &'static str, scope: u32) -> Error {
        let open = self.recording.open_regions.iter().find(|region| region.scope == scope);
        match open {
            Some(region) => Error::Recording { what, region: region.op, line: region.line },
            None => Error::LeftRegion { what },
        }
    }

    /// The innermost region that this thread records.
    #[inline]
    pub(crate) fn open_region_mut(&mut self) -> Option<&mut OpenRegion> {
        // Nearly always there is none.
        let thread =
            if self.recording.open_regions.is_empty() { None } else { Some(current().id()) };
        let mut open = self.recording.open_regions.iter_mut().rev();
        open.find(|region| Some(region.thread) == thread)
    }

    /// Name and line of the region that this thread records, if a value is from outside of it.
    pub(crate) fn outside_of(&mut self, id: VarId) -> Option<(&'static str, u32)> {
        let variable = self.get(id);
        let (scope, serial) = (variable.scope, variable.serial);
        let open = self.open_region_mut().filter(|open| !open.evaluated)?;
        (scope != open.scope && serial < open.serial).then_some((open.op, open.line))
    }
}
