//! The outside world for scripts that are not trusted: files only below one folder, no environment, and output that is
//! counted. What else they may use, see `bounds.rs`.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use porcini_core::alloc::Bytes;
use porcini_core::log::LogSink;

use crate::bounds::Watch;
use crate::host::Host;
use crate::shown::{Place, Shown};

/// Largest file that a script may read.
const LARGEST_FILE: u64 = 256 << 20;
/// Bytes of all files that a session may write.
const MOST_WRITTEN: u64 = 1 << 30;

/// Another host within bounds.
pub(crate) struct Sandbox {
    host: Rc<dyn Host>,
    /// The only folder with files, with links resolved.
    folder: Option<PathBuf>,
    watch: Rc<Watch>,
    written: AtomicU64,
}

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.into())
}

impl Sandbox {
    /// A sandbox around a host.
    ///
    /// # Errors
    /// If there is no such folder.
    pub(crate) fn new(host: Rc<dyn Host>, watch: Rc<Watch>) -> io::Result<Self> {
        let folder = watch.bounds.folder.as_deref().map(Path::canonicalize).transpose()?;
        if folder.as_ref().is_some_and(|folder| !folder.is_dir()) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { host, folder, watch, written: AtomicU64::new(0) })
    }

    fn may_show(&self, bytes: usize) -> bool {
        self.watch.turn.may_show(bytes, self.watch.bounds.output)
    }

    /// A path below the folder, with links resolved; of a file to be written its folder exists.
    fn inside(&self, path: &Path) -> io::Result<PathBuf> {
        let Some(folder) = &self.folder else {
            return Err(refused("the sandbox has no files (--sandbox=FOLDER gives it some)"));
        };
        let wanted = folder.join(path);
        // What a link leads to counts, also that of a file to be replaced.
        let real = wanted.canonicalize().or_else(|error| {
            let parent = wanted.parent().and_then(|parent| parent.canonicalize().ok());
            match (parent, wanted.file_name()) {
                _ if wanted.is_symlink() => Err(refused("a link out of the sandbox")),
                (Some(parent), Some(name)) => Ok(parent.join(name)),
                _ => Err(error),
            }
        });
        let wanted = real.as_ref().unwrap_or(&wanted);
        if !wanted.starts_with(folder) || wanted.components().any(|part| part.as_os_str() == "..") {
            // Whether there is something is nobody's business.
            return Err(refused("outside the folder of the sandbox"));
        }
        let real = real?;
        // A device or a pipe may never end.
        if real.exists() && !real.is_file() && !real.is_dir() {
            return Err(refused("not a plain file"));
        }
        Ok(real)
    }

    fn read(&self, path: &Path) -> io::Result<(PathBuf, Vec<u8>)> {
        let real = self.inside(path)?;
        if real.metadata()?.len() > LARGEST_FILE {
            return Err(refused(format!(
                "larger than {}, the most in a sandbox",
                Bytes(LARGEST_FILE)
            )));
        }
        let bytes = self.host.read_file(&real.to_string_lossy())?;
        Ok((real, bytes))
    }
}

impl Host for Sandbox {
    fn print(&self, text: &str) {
        if self.may_show(text.len() + 1) {
            self.host.print(text);
        }
    }

    fn page(&self, text: &str) {
        if self.may_show(text.len() + 1) {
            self.host.page(text);
        }
    }

    fn cell_name(&self, number: usize) -> String {
        self.host.cell_name(number)
    }

    fn shows_forms(&self) -> bool {
        self.host.shows_forms()
    }

    fn display(&self, shown: &Shown, place: Place<'_>) {
        let forms: usize = shown.forms.iter().map(|(_, content)| content.len()).sum();
        if self.may_show(shown.text.len() + forms + 1) {
            self.host.display(shown, place);
        }
    }

    fn clear_output(&self, wait: bool) {
        self.host.clear_output(wait);
    }

    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        self.host.input(prompt, secret)
    }

    fn log_sink(&self) -> LogSink {
        let (sink, turn, most) =
            (self.host.log_sink(), self.watch.turn.clone(), self.watch.bounds.output);
        Arc::new(move |text| {
            if turn.may_show(text.len() + 1, most) {
                sink(text);
            }
        })
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read(Path::new(path)).map(|(_, bytes)| bytes)
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        let real = self.inside(Path::new(path))?;
        let before = self.written.fetch_add(contents.len() as u64, Ordering::Relaxed);
        if before.saturating_add(contents.len() as u64) > MOST_WRITTEN {
            let most = Bytes(MOST_WRITTEN);
            return Err(refused(format!("more than {most} written, the most in a sandbox")));
        }
        self.host.write_file(&real.to_string_lossy(), contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        self.host.list_folder(&self.inside(Path::new(path))?.to_string_lossy())
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

    fn progress_sink(&self) -> LogSink {
        self.host.progress_sink()
    }

    fn window(&self) -> Option<usize> {
        self.host.window()
    }

    fn clock(&self) -> Duration {
        self.host.clock()
    }

    fn arguments(&self) -> Vec<String> {
        self.host.arguments()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::bounds::Bounds;

    /// The real files, and nothing else.
    struct Files;

    impl Host for Files {
        fn print(&self, _: &str) {}

        fn log_sink(&self) -> LogSink {
            Arc::new(|_| {})
        }

        fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
            std::fs::read(path)
        }

        fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
            std::fs::write(path, contents)
        }

        fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
            let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            Ok(std::fs::read_dir(path)?.flatten().map(name).collect())
        }

        fn read_module(&self, _: Option<&str>, _: &str) -> io::Result<(PathBuf, String)> {
            unreachable!("the sandbox finds modules itself")
        }

        fn variable(&self, _: &str) -> Option<String> {
            Some("secret".into())
        }

        fn clock(&self) -> Duration {
            Duration::ZERO
        }

        fn arguments(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn sandbox(folder: Option<&Path>) -> io::Result<Sandbox> {
        let folder = folder.map(Path::to_path_buf);
        let bounds = Bounds { folder, ..Bounds::default() };
        Sandbox::new(Rc::new(Files), Watch::new(Some(bounds)))
    }

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
        std::os::unix::fs::symlink("/proc/self/cwd", folder.join("cwd")).unwrap();
        let jail = sandbox(Some(&folder)).unwrap();
        assert_eq!(jail.read_file("a").unwrap(), b"a");
        assert_eq!(jail.read_file("deep/../good").unwrap(), b"a");
        let absolute = place.join("secret");
        for path in [
            "../secret",
            "deep/../../secret",
            "link",
            "up/secret",
            "zero",
            "cwd/Cargo.toml",
            "/proc/self/environ",
            "/etc/passwd",
            absolute.to_str().unwrap(),
        ] {
            assert!(jail.read_file(path).is_err(), "{path}");
            assert!(jail.write_file(path, b"broken").is_err(), "{path}");
            assert!(jail.read_module(None, path).is_err(), "{path}");
        }
        for path in ["dangling", "../new", "up/new", "/tmp/porcini-new", "gone/../../new"] {
            let error = jail.write_file(path, b"broken").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{path}");
        }
        assert_eq!(std::fs::read(place.join("secret")).unwrap(), b"secret");
        jail.write_file("deep/new", b"new").unwrap();
        assert_eq!(jail.list_folder("deep").unwrap(), ["new"]);
        assert!(jail.list_folder("..").is_err());
        assert_eq!(jail.variable("HOME"), None);
        // It has no bytes on the disk.
        let large = std::fs::File::create(folder.join("large")).unwrap();
        large.set_len(LARGEST_FILE + 1).unwrap();
        let error = jail.read_file("large").unwrap_err().to_string();
        assert_eq!(error, "larger than 256 MiB, the most in a sandbox");
        jail.written.store(MOST_WRITTEN - 1, Ordering::Relaxed);
        let error = jail.write_file("deep/new", b"12").unwrap_err().to_string();
        assert_eq!(error, "more than 1 GiB written, the most in a sandbox");
        assert!(sandbox(None).unwrap().read_file("a").is_err());
        assert!(sandbox(Some(&place.join("secret"))).is_err());
        std::fs::remove_dir_all(place).unwrap();
    }
}
