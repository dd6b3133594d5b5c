//! What becomes of contents when their device has failed and another is in its place.

use std::collections::HashMap;
use std::sync::Arc;

use super::kept::Compiler;
use super::runtime::Device;
use super::{Session, lock};
use crate::error::Result;
use crate::memory::buffer::Buffer;

/// Bytes of a block that is looked for in what a device has left: where parts have all of an array, it has fewer.
const MOST: usize = 1 << 20;
/// The same where the first part is a GPU, which has longer arrays alone.
const MOST_ON_GPU: usize = 1 << 24;

impl Session {
    /// Starts anew with a device that was opened because the one before failed.
    pub(super) fn adopt_device(&self, compiler: &mut Compiler, device: &Arc<Device>) {
        let mut home = lock(&self.0.home);
        match &*home {
            Some(known) if Arc::ptr_eq(known, device) => return,
            Some(failed) => {
                compiler.cache.clear();
                compiler.scratch.forget_plans();
                // Arrays may share a block.
                let mut known: HashMap<u64, Option<Arc<Buffer>>> = HashMap::new();
                let mut rescued = |data: &Buffer| {
                    let rescued = known.entry(data.address());
                    rescued.or_insert_with(|| rescue(data, failed, device).ok().flatten()).clone()
                };
                let name = failed.backend.name();
                self.with_table(|table| table.lose_contents(&name, &mut rescued));
                lock(&self.0.reports).abandon();
            }
            None => {}
        }
        // What the one before had of the same memory counted as taken while contents were brought over.
        if home.replace(device.clone()).is_some() {
            device.memory.forget_limit();
        }
    }
}

/// The block on the device in place of one that failed, if what is left of that has all of it: of parts in other
/// processes those that go on, and this process, whose GPU has not failed.
fn rescue(data: &Buffer, failed: &Device, device: &Arc<Device>) -> Result<Option<Arc<Buffer>>> {
    let gpu = failed.backend.gpu();
    let is_left = failed.backend.parts() > 1 && gpu.is_none_or(|gpu| !gpu.is_lost());
    let most = if gpu.is_some() { MOST_ON_GPU } else { MOST };
    if !is_left || data.bytes() > most || !data.is_of(&failed.memory) {
        return Ok(None);
    }
    let mut bytes = vec![0; data.bytes()];
    failed.backend.memory().read(data.address(), &mut bytes)?;
    let Ok(there) = device.memory.alloc(bytes.len() as u64) else { return Ok(None) };
    device.backend.memory().write(there.address(), &bytes)?;
    Ok(Some(Arc::new(there)))
}
