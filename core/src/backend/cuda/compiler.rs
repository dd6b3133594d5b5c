//! PTX into modules: from the disk if an earlier process had the text compiled, else by the driver.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::disk_cache::{DiskCache, Key, LIMIT};
use super::gpu::{Compiled, Gpu, Module};
use super::ptx::{self, Step, Target};
use crate::backend::Origin;
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, LiteralMode};

/// The driver's compiler for one GPU, and what it made earlier.
pub(super) struct Compiler {
    gpu: Arc<Gpu>,
    target: Target,
    disk: Option<DiskCache>,
}

/// A module with what is known of its code.
pub(super) struct Binary {
    pub(super) module: Module,
    pub(super) bytes: usize,
    pub(super) origin: Origin,
}

impl Compiler {
    pub(super) fn new(gpu: Arc<Gpu>, cache_folder: Option<PathBuf>) -> Self {
        let target = Target::of_device(gpu.compute_capability);
        Self { gpu, target, disk: cache_folder.map(|folder| DiskCache::new(folder, LIMIT)) }
    }

    /// The PTX of a kernel for this GPU.
    pub(super) fn source(&self, kernel: &Kernel, mode: LiteralMode) -> String {
        ptx::lower(kernel, mode, self.target)
    }

    /// The PTX of a kernel of [`ptx::fold_of`].
    pub(super) fn fold(&self, fold: &Kernel) -> String {
        self.target.header() + &ptx::lower_fold(fold, self.target, ptx::FOLD_ENTRY)
    }

    /// The PTX of a step of a primitive.
    pub(super) fn step(&self, step: Step) -> String {
        self.target.header() + &ptx::lower_step(step, self.target, step.name())
    }

    /// PTX of a kernel that fails.
    pub(super) fn trap(&self) -> String {
        self.target.header() + &ptx::lower_trap()
    }

    /// The module of a text.
    ///
    /// # Errors
    /// `Compilation`, a failure of the GPU.
    pub(super) fn load(&self, text: &str) -> Result<Binary> {
        if let Some(cubin) = self.kept(text) {
            match self.gpu.load(&cubin) {
                Ok(module) => {
                    return Ok(Binary { module, bytes: cubin.len(), origin: Origin::Disk });
                }
                Err(error) if self.gpu.is_lost() => return Err(error),
                // The driver does not take it, whatever the reason: it is compiled anew, and replaced.
                Err(_) => {}
            }
        }
        let start = Instant::now();
        let cubin = self.compile(text)?;
        let origin = Origin::Driver(start.elapsed());
        let module = self.gpu.load(&cubin)?;
        if let Some(disk) = &self.disk {
            // Where nothing can be written, kernels live as long as the process.
            drop(disk.put(self.key(text), &cubin));
        }
        Ok(Binary { module, bytes: cubin.len(), origin })
    }

    /// The machine code of a text, to look at.
    ///
    /// # Errors
    /// `Compilation`.
    pub(super) fn machine_code(&self, text: &str) -> Result<Vec<u8>> {
        self.kept(text).map_or_else(|| self.compile(text), Ok)
    }

    /// Whether an earlier process, or this one, had a text compiled.
    pub(super) fn has_kept(&self, text: &str) -> bool {
        self.kept(text).is_some()
    }

    /// Machine code of a text that this or an earlier process compiled.
    fn kept(&self, text: &str) -> Option<Vec<u8>> {
        self.disk.as_ref()?.get(self.key(text))
    }

    /// The same driver makes the same of a text for the same processor.
    fn key(&self, text: &str) -> Key {
        Key::of(&[text, &self.gpu.driver, &self.gpu.compute_capability.to_string()])
    }

    /// Compiles a text; one that the driver refuses is saved.
    fn compile(&self, text: &str) -> Result<Vec<u8>> {
        let compiled = self.gpu.compile(text).map(|Compiled { cubin }| cubin);
        compiled.map_err(|message| {
            let mut message = with_line(&message, text);
            let saved =
                self.disk.as_ref().map(|disk| disk.save_source(self.key(text), "ptx", text));
            if let Some(Ok(path)) = saved {
                message = format!("{message}\n  the whole text is in {}", path.display());
            }
            Error::Compilation { device: self.gpu.short_name(), message }
        })
    }
}

/// The compiler's message, with the line of the text that it names.
fn with_line(message: &str, text: &str) -> String {
    let number = message.split_once("line ").and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    });
    let line = number.and_then(|number| text.lines().nth(number.checked_sub(1)?));
    match line {
        Some(line) => format!("{message}\n  in: {}", line.trim()),
        None => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_line;

    #[test]
    fn complaints_come_with_their_line() {
        let said = "ptxas application ptx input, line 2; error : Unknown symbol 'x'";
        assert_eq!(with_line(said, "a\n  add x;\nb"), format!("{said}\n  in: add x;"));
        assert_eq!(with_line("line 9", "a"), "line 9");
        assert_eq!(with_line("line 0", "a"), "line 0");
        assert_eq!(with_line("no number", "a"), "no number");
    }
}
