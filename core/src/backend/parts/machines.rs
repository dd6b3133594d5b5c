//! The machines that parts are on, each with one memory for all of its parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::Backend;
use crate::backend::host::refusal;
use crate::error::Result;

/// Bytes from which on the system is asked whether it has room.
const LARGE: u64 = 1 << 26;

/// The parts of each machine, this one first.
fn machines(devices: &[Arc<dyn Backend>]) -> impl Iterator<Item = Vec<usize>> {
    let mut machines = BTreeMap::<Option<&str>, Vec<usize>>::new();
    for (part, device) in devices.iter().enumerate() {
        machines.entry(device.host()).or_default().push(part);
    }
    machines.into_values()
}

/// Asks machines for what their parts will write from end to end, so many bytes each: a system gives more than it has.
///
/// # Errors
/// `OutOfMemory`.
pub(super) fn see_that_there_is(devices: &[Arc<dyn Backend>], bytes: &[u64]) -> Result<()> {
    for parts in machines(devices) {
        let wanted = parts.iter().map(|&part| bytes[part]).fold(0, u64::saturating_add);
        let memory = devices[parts[0]].memory();
        if wanted >= LARGE && memory.capacity().bytes < wanted {
            return Err(refusal(memory, wanted));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::primitive::{PrimitiveCall, Room};
    use crate::backend::{Capacity, Executable, Memory};
    use crate::error::Error;
    use crate::ir::kernel::{Kernel, LiteralMode};

    /// A part on a machine that has so much left.
    struct Part(Option<&'static str>, u64);

    impl Backend for Part {
        fn name(&self) -> String {
            "part".into()
        }

        fn lower(&self, _: &Kernel, _: LiteralMode) -> Result<Arc<dyn Executable>> {
            Err(Error::Interrupted)
        }

        fn run_primitive(&self, _: &PrimitiveCall, _: Room<'_>) -> Result<()> {
            Err(Error::Interrupted)
        }

        fn host(&self) -> Option<&str> {
            self.0
        }

        fn memory(&self) -> &dyn Memory {
            self
        }

        fn sync(&self) -> Result<()> {
            Ok(())
        }
    }

    impl Memory for Part {
        fn alloc_raw(&self, _: usize) -> Option<u64> {
            None
        }

        fn free_raw(&self, _: u64, _: usize) {}

        fn fill(&self, _: u64, _: u64, _: usize, _: u64) -> Result<()> {
            Ok(())
        }

        fn copy(&self, _: u64, _: u64, _: usize) -> Result<()> {
            Ok(())
        }

        fn write(&self, _: u64, _: &[u8]) -> Result<()> {
            Ok(())
        }

        fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
            Ok(())
        }

        fn capacity(&self) -> Capacity {
            Capacity { bytes: self.1, whose: "the system" }
        }
    }

    #[test]
    fn parts_of_a_machine_share_what_it_has() {
        const GIB: u64 = 1 << 30;
        let of = |parts: &[Option<&'static str>]| -> Vec<Arc<dyn Backend>> {
            parts.iter().map(|&host| Arc::new(Part(host, GIB)) as Arc<dyn Backend>).collect()
        };
        let one = of(&[None, None, None]);
        let three = of(&[None, Some("b"), Some("a"), Some("b")]);
        let fits = |devices: &[Arc<dyn Backend>], bytes| see_that_there_is(devices, bytes).is_ok();
        assert!(fits(&one, &[GIB / 2, GIB / 2, 0]) && !fits(&one, &[GIB / 2, GIB / 2, 1]));
        assert!(fits(&three, &[GIB, GIB / 2, GIB, GIB / 2]));
        assert!(!fits(&three, &[0, GIB / 2, 0, GIB / 2 + 1]));
        let error = see_that_there_is(&one, &[GIB; 3]).unwrap_err().to_string();
        assert_eq!(
            error,
            "out of memory: wanted 3 GiB, the rest of the memory of the system in use"
        );
    }
}
