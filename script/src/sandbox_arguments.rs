//! The sandbox on the command lines of the front ends: only with the feature `clap`, which this library itself does without.

use std::path::PathBuf;

use clap::Args;

use crate::options::parse_bytes;
use crate::world::bounds::Bounds;

/// The sandbox.
#[derive(Args, Debug)]
pub struct SandboxArguments {
    /// Run what is not trusted: files only below FOLDER, if one is named, no environment, and bounds
    #[arg(long, value_name = "FOLDER", require_equals = true)]
    sandbox: Option<Option<PathBuf>>,

    /// Seconds until the sandbox stops a script or cell
    #[arg(long, value_name = "N", default_value_t = 60, requires = "sandbox")]
    max_seconds: u64,

    /// Operations of the script language in the sandbox
    #[arg(long, value_name = "N", default_value_t = 100_000_000, requires = "sandbox")]
    max_operations: u64,

    /// Memory for arrays in the sandbox
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size, requires = "sandbox")]
    max_memory: u64,

    /// Output of a script or cell in the sandbox
    #[arg(long, value_name = "SIZE", default_value = "10M", value_parser = size, requires = "sandbox")]
    max_output: u64,
}

impl SandboxArguments {
    /// The bounds that were asked for.
    pub fn bounds(&self) -> Option<Bounds> {
        let folder = self.sandbox.as_ref()?;
        Some(Bounds {
            folder: folder.clone(),
            seconds: self.max_seconds,
            operations: self.max_operations,
            memory: self.max_memory,
            output: self.max_output,
        })
    }
}

fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected bytes, or 512M, 4G".into())
}
