//! `--sandbox`: the system for scripts that are not trusted. Files only below one folder, no environment, and limits
//! on time and output; the interpreter itself limits operations, recursion, memory for arrays and sizes of texts and
//! lists; the memory of all lists together the system.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use porcini_core::alloc::Bytes;
use porcini_core::interrupt;
use porcini_core::log::LogSink;
use porcini_script::{Error, ErrorKind, Host};

use crate::host::System;
use crate::print;

/// Memory of the process besides arrays: half of it is the stack of the interpreter, of which little is used.
const PROCESS: u64 = 1 << 30;
/// Largest file that a script may read.
const LARGEST_FILE: u64 = 256 << 20;

/// Why a script was stopped; shared with the watching thread.
#[derive(Clone, Default)]
pub(crate) struct Verdict(Arc<Mutex<Option<String>>>);

impl Verdict {
    /// Stops the script, once.
    fn stop(&self, why: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        interrupt::request();
    }

    /// Why it was stopped.
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// An error, or in place of the interruption why there was one.
    pub(crate) fn of(&self, mut error: Error) -> Error {
        if let (ErrorKind::Interrupted, Some(why)) = (error.kind, self.take()) {
            error.kind = ErrorKind::Runtime;
            error.message = why;
        }
        error
    }

    /// Stops what still runs after so many seconds.
    pub(crate) fn watch(&self, seconds: u64) {
        let verdict = self.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(seconds));
            verdict.stop(format!("stopped by the sandbox after {seconds} s (--max-seconds)"));
        });
    }
}

/// Has the system end the process rather than give it more memory than this for arrays and `PROCESS` for the rest.
#[cfg(unix)]
pub(crate) fn limit_memory(arrays: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = Some(arrays.saturating_add(PROCESS));
    if let Err(error) = setrlimit(Resource::Data, Rlimit { current: most, maximum: most }) {
        print::warn(&format!("the memory of lists and texts is not limited: {error}"));
    }
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn limit_memory(_: u64) {}

/// The system within limits.
pub(crate) struct Sandbox {
    system: System,
    /// The only folder with files, with links resolved.
    folder: Option<PathBuf>,
    printed: Arc<AtomicU64>,
    most_output: u64,
    verdict: Verdict,
}

impl Sandbox {
    /// A sandbox around a system.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn new(
        system: System,
        folder: Option<&Path>,
        most_output: u64,
        verdict: Verdict,
    ) -> io::Result<Self> {
        let folder = folder.map(Path::canonicalize).transpose()?;
        Ok(Self { system, folder, printed: Arc::default(), most_output, verdict })
    }

    /// A path below the folder, with links resolved; of a file to be written its folder exists.
    fn inside(&self, path: &Path) -> io::Result<PathBuf> {
        let refused = |why: &str| io::Error::new(io::ErrorKind::PermissionDenied, why.to_string());
        let Some(folder) = &self.folder else {
            return Err(refused("the sandbox has no files (--folder names one)"));
        };
        let wanted = folder.join(path);
        // What a link leads to counts, also that of a file to be replaced.
        let real = match wanted.canonicalize() {
            Ok(real) => real,
            Err(_) if wanted.is_symlink() => return Err(refused("a link out of the sandbox")),
            Err(error) => {
                let (Some(parent), Some(name)) = (wanted.parent(), wanted.file_name()) else {
                    return Err(error);
                };
                parent.canonicalize()?.join(name)
            }
        };
        if !real.starts_with(folder) {
            return Err(refused("outside the folder of the sandbox"));
        }
        // A device or a pipe may never end.
        if real.exists() && !real.is_file() && !real.is_dir() {
            return Err(refused("not a plain file"));
        }
        Ok(real)
    }

    fn read(&self, path: &Path) -> io::Result<(PathBuf, Vec<u8>)> {
        let real = self.inside(path)?;
        if real.metadata()?.len() > LARGEST_FILE {
            let most = format!("larger than {}, the most in a sandbox", Bytes(LARGEST_FILE));
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, most));
        }
        let bytes = std::fs::read(&real)?;
        Ok((real, bytes))
    }
}

/// Counts what is shown; what is too much stops the script and is not shown.
fn count(printed: &AtomicU64, most: u64, verdict: &Verdict, text: &str) -> bool {
    let before = printed.fetch_add(text.len() as u64 + 1, Ordering::Relaxed);
    let fits = before < most;
    if !fits {
        verdict
            .stop(format!("stopped by the sandbox after {} of output (--max-output)", Bytes(most)));
    }
    fits
}

impl Host for Sandbox {
    fn print(&self, text: &str) {
        if count(&self.printed, self.most_output, &self.verdict, text) {
            self.system.print(text);
        }
    }

    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        self.system.input(prompt, secret)
    }

    fn log_sink(&self) -> LogSink {
        let (sink, printed, most) =
            (self.system.log_sink(), self.printed.clone(), self.most_output);
        let verdict = self.verdict.clone();
        Arc::new(move |text| {
            if count(&printed, most, &verdict, text) {
                sink(text);
            }
        })
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read(Path::new(path)).map(|(_, bytes)| bytes)
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        std::fs::write(self.inside(Path::new(path))?, contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        let real = self.inside(Path::new(path))?;
        self.system.list_folder(&real.to_string_lossy())
    }

    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        let mut file = PathBuf::from(name);
        if file.extension().is_none() {
            file.set_extension("rhai");
        }
        let beside = importer.and_then(|importer| Path::new(importer).parent());
        let beside = beside
            .map(|folder| folder.join(&file))
            .filter(|path| self.inside(path).is_ok_and(|p| p.exists()));
        let (path, bytes) = self.read(&beside.unwrap_or(file))?;
        let text = String::from_utf8(bytes);
        text.map(|text| (path, text))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn progress(&self, line: &str) {
        self.system.progress(line);
    }

    fn window(&self) -> Option<usize> {
        self.system.window()
    }

    fn clock(&self) -> Duration {
        self.system.clock()
    }

    fn arguments(&self) -> Vec<String> {
        self.system.arguments()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Every way out of the folder that we know of.
    #[test]
    fn the_folder_is_a_jail() {
        let place = std::env::temp_dir().join(format!("porcini-sandbox-{}", std::process::id()));
        let folder = place.join("inside");
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        std::fs::write(place.join("secret"), "secret").unwrap();
        std::fs::write(folder.join("a"), "a").unwrap();
        for (target, link) in [
            ("secret", "inside/link"),
            ("inside/a", "inside/good"),
            (".", "inside/up"),
            ("nowhere", "inside/dangling"),
        ] {
            std::os::unix::fs::symlink(place.join(target), place.join(link)).unwrap();
        }
        std::os::unix::fs::symlink("/dev/zero", folder.join("zero")).unwrap();
        let system = System::new(folder.clone(), Vec::new());
        let sandbox = Sandbox::new(system, Some(&folder), 100, Verdict::default()).unwrap();
        assert_eq!(sandbox.read_file("a").unwrap(), b"a");
        assert_eq!(sandbox.read_file("deep/../good").unwrap(), b"a");
        let absolute = place.join("secret");
        for path in [
            "../secret",
            "deep/../../secret",
            "link",
            "up/secret",
            "zero",
            "/etc/passwd",
            absolute.to_str().unwrap(),
        ] {
            assert!(sandbox.read_file(path).is_err(), "{path}");
            assert!(sandbox.write_file(path, b"broken").is_err(), "{path}");
            assert!(sandbox.read_module(None, path).is_err(), "{path}");
        }
        for path in ["dangling", "../new", "up/new", "/tmp/porcini-new"] {
            assert!(sandbox.write_file(path, b"broken").is_err(), "{path}");
        }
        assert_eq!(std::fs::read(place.join("secret")).unwrap(), b"secret");
        sandbox.write_file("deep/new", b"new").unwrap();
        assert_eq!(sandbox.list_folder("deep").unwrap(), ["new"]);
        assert_eq!(sandbox.variable("HOME"), None);
        let bare = System::new(folder.clone(), Vec::new());
        let bare = Sandbox::new(bare, None, 100, Verdict::default()).unwrap();
        assert!(bare.read_file("a").is_err());
        std::fs::remove_dir_all(place).unwrap();
    }
}
