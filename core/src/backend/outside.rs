//! What devices may use of the system they run on.

use std::ffi::OsString;
use std::path::PathBuf;

use super::cuda::Toolkit;

/// What a device may use of the system; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Where compiled kernels are kept for other processes.
    pub cache_folder: Option<PathBuf>,
    /// Where programs are that show machine code.
    pub toolkit: Toolkit,
    /// The program that is a rank, and its arguments: it serves whoever has started it.
    pub rank: Vec<OsString>,
    /// What starts ranks of `ranks:N` elsewhere, in which `{}` is how many; by default they are processes of this machine.
    pub launcher: Option<String>,
    /// The library of MPI; by default the launcher's usual one.
    pub mpi: Option<OsString>,
}
