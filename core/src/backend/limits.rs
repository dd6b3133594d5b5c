//! Memory that the system's limits leave this process: those of its shell, of a batch system or a service
//! manager (`ulimit -v`, `ulimit -d`).

pub(crate) use system::{are_set, left};

#[cfg(target_os = "linux")]
mod system {
    use rustix::process::{Resource, getrlimit};

    use crate::backend::{Capacity, control_groups};

    /// The limits, as the system's table of this process counts what they bound, and as people know them.
    const LIMITS: [(Resource, &str, &str); 2] = [
        (Resource::As, "VmSize:", "the limit of the address space (ulimit -v)"),
        (Resource::Data, "VmData:", "the limit of data (ulimit -d)"),
    ];

    /// Whether there is any. Takes no memory.
    pub(crate) fn are_set() -> bool {
        LIMITS.iter().any(|&(resource, ..)| getrlimit(resource).current.is_some())
    }

    /// The limit that leaves least; `None` if there is none.
    pub(crate) fn left() -> Option<Capacity> {
        let mut status = None;
        let left = |(resource, name, whose)| {
            let most = getrlimit(resource).current?;
            let read = || std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let used = control_groups::amount(status.get_or_insert_with(read), name)? * 1024;
            Some(Capacity { bytes: most.saturating_sub(used), whose })
        };
        LIMITS.into_iter().filter_map(left).min_by_key(|capacity| capacity.bytes)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::backend::Capacity;

    pub(crate) fn are_set() -> bool {
        false
    }

    pub(crate) fn left() -> Option<Capacity> {
        None
    }
}
