//! Which of the processes of a launcher of MPI this one is, by its environment.

use super::local::local_rank;

/// What tells ranks of a launcher apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The number of this process; 0 leads.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
    /// Its number among those of its host.
    pub local: usize,
    /// Whether Open MPI says so, not a launcher that speaks PMI.
    pub(super) is_open_mpi: bool,
}

impl Launched {
    /// By the environment; nothing where a process is alone.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.parse::<usize>().ok();
        let both = |rank, size, is_open_mpi| {
            let (rank, size) = (number(rank)?, number(size)?);
            let local = local_rank(&variable).unwrap_or(rank);
            (size > 1 && rank < size).then_some(Self { rank, size, local, is_open_mpi })
        };
        both("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true)
            .or_else(|| both("PMI_RANK", "PMI_SIZE", false))
            // Slurm's own names, where it speaks PMIx.
            .or_else(|| {
                number("PMIX_RANK")?;
                both("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true)
            })
    }

    /// By the environment the number of this process and how many Slurm has started, where these have no way to find each
    /// other: `srun` without `--mpi=pmi2` or `--mpi=pmix`.
    pub fn unconnected(variable: impl Fn(&str) -> Option<String>) -> Option<[usize; 2]> {
        let number = |name: &str| variable(name)?.parse::<usize>().ok();
        let own = [number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?];
        let is_alone = own[1] < 2 || variable("PMI_RANK").is_some();
        (!is_alone && Self::of(variable).is_none()).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable of an environment.
    fn value(set: &[(&str, &str)], name: &str) -> Option<String> {
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
    }

    #[test]
    fn the_environment_tells_who_was_launched() {
        let of = |set: &[(&str, &str)]| Launched::of(|name| value(set, name));
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")];
        let launched = Launched { rank: 1, size: 4, local: 1, is_open_mpi: true };
        assert_eq!(of(&open_mpi), Some(launched));
        let on_host = [&open_mpi[..], &[("OMPI_COMM_WORLD_LOCAL_RANK", "0")]].concat();
        assert_eq!(of(&on_host), Some(Launched { local: 0, ..launched }));
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        let launched = Launched { rank: 0, size: 2, local: 0, is_open_mpi: false };
        assert_eq!(of(&pmi), Some(launched));
        for alone in [&[][..], &[("PMI_RANK", "0"), ("PMI_SIZE", "1")], &[("PMI_SIZE", "2")]] {
            assert_eq!(of(alone), None, "{alone:?}");
        }
    }

    #[test]
    fn slurm_may_start_processes_that_do_not_find_each_other() {
        let of = |set: &[(&str, &str)]| Launched::unconnected(|name| value(set, name));
        let slurm = [("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "4")];
        let with = |one| [&slurm[..], &[one]].concat();
        assert_eq!(of(&slurm), Some([1, 4]));
        assert_eq!(of(&with(("PMI_RANK", "1"))), None);
        assert_eq!(of(&with(("PMIX_RANK", "1"))), None);
        // In a batch script, and of one task.
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), None);
    }
}
