//! The machines that parts are on, each with one memory for all of its parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::Backend;
use crate::backend::host::refusal;
use crate::error::{Error, Result};

/// Bytes from which on the system is asked whether it has room.
const LARGE: u64 = 1 << 26;

/// The parts of each machine, this one first.
fn machines(devices: &[Arc<dyn Backend>]) -> impl Iterator<Item = Vec<usize>> {
    let mut machines = BTreeMap::<Option<&str>, Vec<usize>>::new();
    for (part, device) in devices.iter().enumerate() {
        machines.entry(device.host().map(|host| &*host.id)).or_default().push(part);
    }
    machines.into_values()
}

/// Asks machines for what their parts will write from end to end, so many bytes each: a system gives more than it has. They are
/// for `a sort`.
///
/// # Errors
/// `OutOfMemory`, which names the machine.
pub(super) fn see_that_there_is(
    devices: &[Arc<dyn Backend>],
    bytes: &[u64],
    purpose: &str,
) -> Result<()> {
    for parts in machines(devices) {
        let wanted = parts.iter().map(|&part| bytes[part]).fold(0, u64::saturating_add);
        let first = &*devices[parts[0]];
        if wanted >= LARGE && first.memory().capacity().bytes < wanted {
            return Err(short(first, wanted, purpose));
        }
    }
    Ok(())
}

/// What is told of the machine of a part that has not so much left.
fn short(part: &dyn Backend, wanted: u64, purpose: &str) -> Error {
    match refusal(part.memory(), wanted) {
        Error::OutOfMemory { requested, used, limit, largest } => Error::OutOfMemory {
            requested: format!("{requested} for {purpose}"),
            used,
            limit: part.host().map_or(limit, |host| format!("the memory of {}", host.name)),
            largest,
        },
        lost => lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::mocks::{computes_nothing, moves_nothing};
    use crate::backend::ranks::Machine;
    use crate::backend::{Capacity, Memory};

    /// A part on a machine that has so much left.
    struct Part(Option<Machine>, u64);

    impl Backend for Part {
        computes_nothing!();

        fn name(&self) -> String {
            "part".into()
        }

        fn host(&self) -> Option<&Machine> {
            self.0.as_ref()
        }

        fn memory(&self) -> &dyn Memory {
            self
        }
    }

    impl Memory for Part {
        moves_nothing!();

        fn alloc_raw(&self, _: usize) -> Option<u64> {
            None
        }

        fn free_raw(&self, _: u64, _: usize) {}

        fn capacity(&self) -> Capacity {
            Capacity { bytes: self.1, whose: "the system" }
        }
    }

    #[test]
    fn parts_of_a_machine_share_what_it_has() {
        const GIB: u64 = 1 << 30;
        let part = |id: &Option<&str>| {
            let host = id.map(|id| Machine { id: id.into(), name: "node".into() });
            Arc::new(Part(host, GIB)) as Arc<dyn Backend>
        };
        let of = |parts: &[Option<&str>]| parts.iter().map(part).collect::<Vec<Arc<dyn Backend>>>();
        let one = of(&[None, None, None]);
        let three = of(&[None, Some("b"), Some("a"), Some("b")]);
        let see = |devices: &[_], bytes: &[u64]| see_that_there_is(devices, bytes, "a test");
        let fits = |devices: &[_], bytes: &[u64]| see(devices, bytes).is_ok();
        assert!(fits(&one, &[GIB / 2, GIB / 2, 0]) && !fits(&one, &[GIB / 2, GIB / 2, 1]));
        assert!(fits(&three, &[GIB, GIB / 2, GIB, GIB / 2]));
        assert!(!fits(&three, &[0, GIB / 2, 0, GIB / 2 + 1]));
        let told = |devices: &[_], bytes: &[u64]| see(devices, bytes).unwrap_err().to_string();
        assert_eq!(
            told(&one, &[GIB; 3]),
            "out of memory: wanted 3 GiB for a test, the rest of the memory of the system in use"
        );
        assert_eq!(
            told(&three, &[0, GIB, 0, GIB]),
            "out of memory: wanted 2 GiB for a test, the rest of the memory of node in use"
        );
    }
}
