//! What devices may use of the system they run on.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use super::cuda::Toolkit;
use crate::log::LogSink;

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
    /// Who is told which rank is waited for.
    pub waiting: Listener,
}

/// Who is told what takes long.
#[derive(Clone, Default)]
pub enum Listener {
    /// Nobody.
    #[default]
    Nobody,
    /// A line that stands in the place of the one before, and at the end an empty one.
    InPlace(LogSink),
    /// Lines that stay, of which there are few.
    Lines(LogSink),
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::InPlace(_) => "InPlace",
            Self::Lines(_) => "Lines",
        })
    }
}
