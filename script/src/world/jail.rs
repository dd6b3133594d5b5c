//! The one folder whose files a script may use that is not trusted. Files are opened from a handle of the folder, by
//! `openat2` on Linux: what others rename or link meanwhile leads nowhere else.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use cap_tempfile::TempFile;
use porcini_core::memory::caching_allocator::Bytes;

use crate::world::folders::{self, Room};

/// Largest file that a script may read.
const LARGEST_FILE: u64 = 256 << 20;
/// Bytes of all files that a session may write.
const MOST_WRITTEN: u64 = 1 << 30;
/// Files that a session may make: each takes room on the disk besides its bytes.
const MOST_FILES: u64 = 10_000;

/// A folder, and what was written there.
pub(crate) struct Jail {
    /// Where it is, with links resolved.
    place: PathBuf,
    folder: Dir,
    written: Cell<u64>,
    made: Cell<u64>,
}

pub(crate) fn refused(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.into())
}

impl Jail {
    /// # Errors
    /// If there is no such folder.
    pub(crate) fn new(place: &Path) -> io::Result<Self> {
        let place = place.canonicalize()?;
        let folder = Dir::open_ambient_dir(&place, ambient_authority())?;
        Ok(Self { place, folder, written: Cell::new(0), made: Cell::new(0) })
    }

    /// A file, and its contents.
    ///
    /// # Errors
    /// What the system says; `PermissionDenied` if it is outside, no plain file, or too large; what `room` says.
    pub(crate) fn read(
        &self,
        path: &Path,
        room: Room<'_>,
        report: impl Fn(&str),
    ) -> io::Result<(PathBuf, Vec<u8>)> {
        let inside = self.inside(path)?;
        let mut options = OpenOptions::new();
        options.read(true);
        // Nobody waits for whoever writes into a pipe.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
        );
        let mut file = self.folder.open_with(&inside, &options)?.into_std();
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(refused("not a plain file"));
        }
        if about.len() > LARGEST_FILE {
            let most = Bytes(LARGEST_FILE);
            return Err(refused(format!("larger than {most}, the most in a sandbox")));
        }
        let bytes = folders::read_plain(&mut file, &path.to_string_lossy(), room, report)?;
        Ok((self.place.join(inside), bytes))
    }

    /// Replaces a file as a whole, or makes one.
    ///
    /// # Errors
    /// As [`Jail::read`]; `PermissionDenied` also if too much was written.
    pub(crate) fn write(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let (folder, name, before) = self.to_write(path, contents)?;
        let mut file = TempFile::new(&folder)?;
        folders::write_pieces(&mut file, contents)?;
        if let Some(before) = before {
            file.as_file().set_permissions(before.permissions())?;
        }
        file.replace(name)
    }

    /// Writes behind what is in a file, or makes one.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub(crate) fn append(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let (folder, name, _) = self.to_write(path, contents)?;
        let mut file = folder.open_with(name, OpenOptions::new().append(true).create(true))?;
        folders::write_pieces(&mut file, contents)
    }

    /// The folder and the name of a file to be written, and what is there, if it may be and so much more may.
    fn to_write(
        &self,
        path: &Path,
        contents: &[u8],
    ) -> io::Result<(Dir, OsString, Option<Metadata>)> {
        let inside = self.inside(path)?;
        let name = inside.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let folder = inside.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = self.folder.open_dir(folder.unwrap_or(Path::new(".")))?;
        let before = folder.symlink_metadata(name).ok();
        if before.as_ref().is_some_and(|before| !before.is_file()) {
            return Err(refused("not a plain file"));
        }
        let written = self.written.get().saturating_add(contents.len() as u64);
        let made = self.made.get() + u64::from(before.is_none());
        if written > MOST_WRITTEN {
            let most = Bytes(MOST_WRITTEN);
            return Err(refused(format!("more than {most} written, the most in a sandbox")));
        }
        if made > MOST_FILES {
            return Err(refused(format!("more than {MOST_FILES} files, the most in a sandbox")));
        }
        if before.is_some() {
            // A file that must not be written must not be replaced either.
            drop(folder.open_with(name, OpenOptions::new().write(true))?);
        }
        self.written.set(written);
        self.made.set(made);
        Ok((folder, name.into(), before))
    }

    /// The names in a folder, folders with a slash, without hidden ones and those that a terminal could not show.
    ///
    /// # Errors
    /// As [`Jail::read`].
    pub(crate) fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let inside = self.inside(path)?;
        let here = if inside.as_os_str().is_empty() { Path::new(".") } else { &inside };
        let name = |entry: cap_std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let about = self.folder.metadata(inside.join(&name));
            let slash = if about.is_ok_and(|about| about.is_dir()) { "/" } else { "" };
            let is_listed = !name.starts_with('.') && !name.contains(char::is_control);
            is_listed.then(|| format!("{name}{slash}"))
        };
        Ok(self.folder.read_dir(here)?.flatten().filter_map(name).collect())
    }

    /// Whether there is a file or folder.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.inside(path).is_ok_and(|inside| self.folder.exists(inside))
    }

    /// The place of a module that another one names.
    pub(crate) fn beside(&self, importer: &str, file: &Path) -> Option<PathBuf> {
        Some(self.place.join(Path::new(importer).parent()?).join(file))
    }

    /// A path from the folder on, with links resolved; of a file to be written its folder exists. This says what
    /// names mean, and what is wrong with them: the handle keeps scripts inside.
    fn inside(&self, path: &Path) -> io::Result<PathBuf> {
        let wanted = self.place.join(path);
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
        let is_up = wanted.components().any(|part| part.as_os_str() == "..");
        // Whether there is something is nobody's business.
        let outside = || refused("outside the folder of the sandbox");
        let inside = wanted.strip_prefix(&self.place).map_err(|_| outside())?;
        if is_up {
            return Err(outside());
        }
        let inside = inside.to_path_buf();
        real.map(|_| inside)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder of the test, and in it the one that scripts may use.
    fn jail(test: &str) -> (PathBuf, Jail) {
        let place = std::env::temp_dir().join(format!("porcini-{test}-{}", std::process::id()));
        drop(fs::remove_dir_all(&place));
        fs::create_dir_all(place.join("inside/deep")).unwrap();
        fs::write(place.join("secret"), "secret").unwrap();
        fs::write(place.join("inside/a"), "a").unwrap();
        let jail = Jail::new(&place.join("inside")).unwrap();
        (place, jail)
    }

    fn read(jail: &Jail, path: &str) -> io::Result<Vec<u8>> {
        jail.read(Path::new(path), &|_| Ok(()), |_| {}).map(|(_, bytes)| bytes)
    }

    fn write(jail: &Jail, path: &str, bytes: &[u8]) -> io::Result<()> {
        jail.write(Path::new(path), bytes)
    }

    /// The same of a whole file and of what comes behind one.
    fn refused_both(jail: &Jail, path: &str) -> io::Error {
        let error = jail.append(Path::new(path), b"broken").unwrap_err();
        assert_eq!(error.kind(), write(jail, path, b"broken").unwrap_err().kind(), "{path}");
        error
    }

    /// Every way out of the folder that we know of.
    #[test]
    fn the_folder_is_a_jail() {
        let (place, jail) = jail("jail");
        for (target, link) in [
            ("secret", "inside/link"),
            ("inside/a", "inside/good"),
            (".", "inside/up"),
            ("nowhere", "inside/dangling"),
        ] {
            symlink(place.join(target), place.join(link)).unwrap();
        }
        symlink("/dev/zero", place.join("inside/zero")).unwrap();
        symlink("/proc/self/cwd", place.join("inside/cwd")).unwrap();
        assert_eq!(read(&jail, "a").unwrap(), b"a");
        assert_eq!(read(&jail, "deep/../good").unwrap(), b"a");
        let absolute = place.join("inside/a");
        assert_eq!(read(&jail, absolute.to_str().unwrap()).unwrap(), b"a");
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
            assert!(read(&jail, path).is_err(), "{path}");
            refused_both(&jail, path);
        }
        for path in ["dangling", "../new", "up/new", "/tmp/porcini-new", "gone/../../new"] {
            assert_eq!(refused_both(&jail, path).kind(), io::ErrorKind::PermissionDenied, "{path}");
        }
        for path in ["", ".", "deep"] {
            refused_both(&jail, path);
        }
        assert_eq!(fs::read(place.join("secret")).unwrap(), b"secret");
        write(&jail, "deep/new", b"new").unwrap();
        assert_eq!(jail.list(Path::new("deep")).unwrap(), ["new"]);
        assert!(jail.list(Path::new("..")).is_err());
        // A link is written through, and stays one.
        write(&jail, "good", b"b").unwrap();
        assert_eq!(fs::read(place.join("inside/a")).unwrap(), b"b");
        assert!(place.join("inside/good").is_symlink());
        for path in ["good", "deep/log", "deep/log"] {
            jail.append(Path::new(path), b"c").unwrap();
        }
        assert_eq!(read(&jail, "a").unwrap(), b"bc");
        assert_eq!(read(&jail, "deep/log").unwrap(), b"cc");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nobody_waits_for_a_pipe() {
        let (place, jail) = jail("pipe");
        let pipe = place.join("inside/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        assert_eq!(read(&jail, "pipe").unwrap_err().to_string(), "not a plain file");
        assert_eq!(refused_both(&jail, "pipe").to_string(), "not a plain file");
        fs::remove_dir_all(place).unwrap();
    }

    /// Somebody puts a link to the outside in the place of a folder, again and again, while a script reads and writes
    /// below it.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_race_leads_nowhere() {
        let (place, jail) = jail("race");
        let inside = place.join("inside");
        fs::create_dir(place.join("outside")).unwrap();
        fs::write(place.join("outside/secret"), "secret").unwrap();
        fs::write(inside.join("deep/secret"), "harmless").unwrap();
        symlink(place.join("outside"), inside.join("other")).unwrap();
        use std::sync::atomic::{AtomicBool, Ordering};
        let ended = AtomicBool::new(false);
        let exchange = || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            let (deep, other) = (inside.join("deep"), inside.join("other"));
            while !ended.load(Ordering::Relaxed) {
                renameat_with(CWD, &deep, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(exchange);
            for _ in 0..5000 {
                if let Ok(bytes) = read(&jail, "deep/secret") {
                    assert_eq!(bytes, b"harmless");
                }
                drop(write(&jail, "deep/new", b"new"));
            }
            ended.store(true, Ordering::Relaxed);
        });
        assert!(!place.join("outside/new").exists());
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn what_is_written_is_counted() {
        let (place, jail) = jail("counted");
        // It has no bytes on the disk.
        let large = fs::File::create(place.join("inside/large")).unwrap();
        large.set_len(LARGEST_FILE + 1).unwrap();
        let error = read(&jail, "large").unwrap_err().to_string();
        assert_eq!(error, "larger than 256 MiB, the most in a sandbox");
        jail.made.set(MOST_FILES - 1);
        write(&jail, "first", b"1").unwrap();
        write(&jail, "first", b"2").unwrap();
        let error = write(&jail, "second", b"").unwrap_err().to_string();
        assert_eq!(error, "more than 10000 files, the most in a sandbox");
        jail.written.set(MOST_WRITTEN - 1);
        let error = write(&jail, "first", b"12").unwrap_err().to_string();
        assert_eq!(error, "more than 1 GiB written, the most in a sandbox");
        assert_eq!(fs::read(place.join("inside/first")).unwrap(), b"2");
        assert!(Jail::new(&place.join("secret")).is_err() && Jail::new(&place.join("no")).is_err());
        fs::remove_dir_all(place).unwrap();
    }
}
