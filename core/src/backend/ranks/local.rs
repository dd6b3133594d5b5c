//! What a rank computes on: the processors that it was given, or one GPU of its host, found by its number among the ranks
//! there.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What each rank of a device computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RanksOn {
    /// Its share of the processors.
    Processors,
    /// One GPU of its host.
    Gpus,
}

impl fmt::Display for RanksOn {
    /// What stands behind `ranks:N`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processors => "",
            Self::Gpus => ":cuda",
        })
    }
}

/// Where launchers tell a process its number among those of its host. Slurm comes last: what `mpirun` starts in a job of
/// Slurm's has the variable of the daemon that has started it, too.
const VARIABLES: [&str; 8] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    // MPICH and Intel MPI.
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "PMI_LOCAL_RANK",
    "JSM_NAMESPACE_LOCAL_RANK",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

/// The number of a process among those that its launcher has started on its host, by the environment.
pub fn local_rank(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    VARIABLES.iter().find_map(|name| variable(name)?.parse().ok())
}

/// The number among the ranks of its host of one that a launcher has started for a leader outside of it: `told` by the
/// launcher, else its number among all. The leader, whom the launcher does not count, comes first on its own host.
pub fn number_on_host(told: Option<usize>, rank: usize, leads_here: bool) -> usize {
    told.map_or(rank, |told| told + usize::from(leads_here))
}

/// The GPU of a process with this number among those of its host, where there are so many.
pub(in crate::backend) fn gpu_of(local: usize, there: u32) -> Option<u32> {
    let there = usize::try_from(there).ok().filter(|&there| there > 0)?;
    u32::try_from(local % there).ok()
}

/// A machine, as a process on it says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// What tells it from others: names may be alike, and containers of one machine have several.
    pub(in crate::backend) id: String,
    pub(in crate::backend) name: String,
}

impl Machine {
    /// This one, by the number that Linux draws when it starts; elsewhere by its name.
    pub(super) fn own() -> Self {
        let (start, name) =
            (std::fs::read_to_string("/proc/sys/kernel/random/boot_id"), host_name());
        Self { id: start.map_or_else(|_| name.clone(), |id| id.trim().into()), name }
    }
}

/// What this machine is called.
pub(in crate::backend) fn host_name() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    "this machine".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_tell_the_number_on_a_host() {
        let of = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(known, _)| *known == name);
            local_rank(|name| value(name).map(|(_, value)| (*value).to_string()))
        };
        for name in VARIABLES {
            assert_eq!(of(&[(name, "3")]), Some(3), "{name}");
            assert_eq!(of(&[(name, "")]), None, "{name}");
        }
        assert_eq!(of(&[("OMPI_COMM_WORLD_RANK", "3")]), None);
        // What mpirun has started from a daemon of Slurm's.
        for name in ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"] {
            assert_eq!(of(&[("SLURM_LOCALID", "0"), (name, "1")]), Some(1), "{name}");
        }
    }

    #[test]
    fn a_machine_is_the_same_for_all_its_processes() {
        let [one, other] = [Machine::own(), Machine::own()];
        assert!(one.id == other.id && !one.id.is_empty() && one.name == host_name());
    }

    #[test]
    fn a_leader_has_the_first_gpu_of_its_host() {
        assert_eq!(number_on_host(Some(0), 1, true), 1);
        assert_eq!(number_on_host(Some(2), 7, true), 3);
        assert_eq!(number_on_host(Some(2), 7, false), 2);
        // Ranks count the leader, wherever it is.
        assert_eq!([true, false].map(|here| number_on_host(None, 5, here)), [5, 5]);
    }

    #[test]
    fn ranks_of_a_host_share_its_gpus_out() {
        let gpus = |there: u32| (0..5).map(|local| gpu_of(local, there)).collect::<Vec<_>>();
        assert_eq!(gpus(0), [None; 5]);
        assert_eq!(gpus(1), [Some(0); 5]);
        assert_eq!(gpus(2), [0, 1, 0, 1, 0].map(Some));
        assert_eq!(gpus(8), [0, 1, 2, 3, 4].map(Some));
    }
}
