//! Files and folders of the system, for hosts that let scripts reach them.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use porcini_core::device::SharedFile;
use porcini_core::interrupt;
use porcini_core::memory::caching_allocator::Bytes;
#[cfg(unix)]
use porcini_core::memory::process_heap;
use tempfile::NamedTempFile;

#[cfg(unix)]
use crate::side_by_side::side_by_side;
use crate::world::pipes::{open, what_has_come, write_into};

/// Bytes of a script, at most.
pub const LONGEST_SCRIPT: u64 = 64 << 20;
/// Bytes read before somebody looks for an interrupt.
const PIECE: usize = 4 << 20;
/// Files from this size on are read by several threads, so much at a time and a thread a share.
#[cfg(unix)]
const LARGE: usize = 16 << 20;
#[cfg(unix)]
const SHARE: usize = 1 << 20;
/// What new files are called until they take a name, before some letters: files of this name are removed, so nobody may
/// choose it for what is his own.
const NEW: &str = ".porcini-unfinished-";
/// How many letters.
const LETTERS: usize = 12;
/// Who writes a file of this size has time to look for what others left, which they have not touched for so long.
const LONG: u64 = 16 << 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Links that lead to links, as many as Linux follows.
const MOST_LINKS: usize = 40;
/// `read_to_end` looks for the end of a source with some bytes of its own. Without room for them it would end the
/// process where there is none.
const PROBE: usize = 64;
/// Nothing is reported before this, and nothing twice in this time.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);
/// Bytes that are read at most before somebody asks again whether there is room for more.
const ASKED: usize = 16 << 20;

/// Refuses to read so many bytes if there is no room for them.
pub type Room<'r> = &'r dyn Fn(u64) -> io::Result<()>;

/// Where compiled GPU kernels are kept for other processes: `PORCINI_CACHE_DIR`, else `porcini` in `XDG_CACHE_HOME` or
/// `~/.cache`; nowhere without such variables.
pub fn of_kernels(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PORCINI_CACHE_DIR").or_else(|| {
        let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
        Some(caches.join("porcini"))
    })
}

/// Where `import` looks: a folder, and those of `PORCINI_PATH`.
pub fn search_path(first: PathBuf) -> Vec<PathBuf> {
    let listed = std::env::var_os("PORCINI_PATH").unwrap_or_default();
    let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
    std::iter::once(first).chain(listed).collect()
}

/// Path and text of the module `name`: beside the file `importer`, else in the first of `roots` that has it,
/// and inside one of these.
///
/// # Errors
/// It is not there, lies outside or cannot be read.
pub fn read_module(
    roots: &[PathBuf],
    importer: Option<&str>,
    name: &str,
) -> io::Result<(PathBuf, String)> {
    let beside = importer.and_then(|file| Path::new(file).parent()).map(Path::to_path_buf);
    let mut file = PathBuf::from(name);
    if file.extension().is_none() {
        file.set_extension("rhai");
    }
    let mut odd = None;
    for folder in beside.iter().chain(roots) {
        let path = folder.join(&file);
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) => {
                // Links that lead to each other, for one: something is there.
                if path.is_symlink() && error.kind() != io::ErrorKind::NotFound {
                    let message = format!("{}: {error}", path.display());
                    odd.get_or_insert(io::Error::new(error.kind(), message));
                }
                continue;
            }
        };
        let inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        if !roots.iter().any(inside) {
            let outside = "outside the script's folder and PORCINI_PATH";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, outside));
        }
        return read_script(&path).map(|text| (path, text));
    }
    if let Some(error) = odd {
        return Err(error);
    }
    let mut folders: Vec<String> = Vec::new();
    for folder in beside.iter().chain(roots) {
        let is_here = folder.as_os_str().is_empty() || folder.as_os_str() == ".";
        let name = if is_here { "the working folder".into() } else { folder.display().to_string() };
        if !folders.contains(&name) {
            folders.push(name);
        }
    }
    let (file, folders) = (file.display(), folders.join(", "));
    let message = format!("{file} is not in {folders} (PORCINI_PATH names more folders)");
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// The text of a module, as long as a script may be.
fn read_script(path: &Path) -> io::Result<String> {
    module_text(read(path, &room_of_module, |_| {})?)
}

/// Refuses a module that is longer than a script may be.
pub(crate) fn room_of_module(bytes: u64) -> io::Result<()> {
    if bytes > LONGEST_SCRIPT {
        let most = Bytes(LONGEST_SCRIPT);
        return Err(io::Error::other(format!("a module is at most {most} long")));
    }
    Ok(())
}

pub(crate) fn module_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The contents of a file. What takes longer than a second is reported, and an empty line when it has ended.
///
/// # Errors
/// What the system says; `Interrupted` by Ctrl-C; `OutOfMemory`, or what `room` says, if there is no room.
pub fn read(path: impl AsRef<Path>, room: Room<'_>, report: impl Fn(&str)) -> io::Result<Vec<u8>> {
    let (mut file, is_plain) = open(path.as_ref())?;
    let path = &path.as_ref().to_string_lossy();
    if is_plain {
        return read_plain(&mut file, path, room, report);
    }
    collect(0, path, room, report, |bytes| what_has_come(&mut file, bytes))
}

/// The same of a plain file that is open; `path` is what reports call it.
pub(crate) fn read_plain(
    file: &mut File,
    path: &str,
    room: Room<'_>,
    report: impl Fn(&str),
) -> io::Result<Vec<u8>> {
    let n = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    room(n as u64)?;
    #[cfg(unix)]
    if n >= LARGE {
        match read_large(file, n, path, &report) {
            // It became shorter meanwhile.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            read => return read,
        }
    }
    collect(n, path, room, report, |bytes| read_piece(file, bytes).map(Some))
}

/// The first `n` bytes of a plain file, which threads read side by side: most of the time takes memory that is touched
/// for the first time.
#[cfg(unix)]
fn read_large(file: &File, n: usize, path: &str, report: impl Fn(&str)) -> io::Result<Vec<u8>> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut bytes = process_heap::zeroed(n).ok_or(io::ErrorKind::OutOfMemory)?;
    let mut progress = Progress::new(n, path, report);
    for (i, group) in bytes.chunks_mut(LARGE).enumerate() {
        if interrupt::is_requested() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let starts = (i * LARGE..).step_by(SHARE);
        let pieces: Vec<_> = group.chunks_mut(SHARE).zip(starts).collect();
        side_by_side(threads, pieces.into_iter(), |(piece, start)| {
            file.read_exact_at(piece, start as u64)
        })?;
        progress.at(i * LARGE);
    }
    Ok(bytes)
}

/// Collects what `read` adds until it adds nothing; `n` bytes, or 0 if that is unknown.
fn collect(
    n: usize,
    path: &str,
    room: Room<'_>,
    report: impl Fn(&str),
    mut read: impl FnMut(&mut Vec<u8>) -> io::Result<Option<usize>>,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(n.saturating_add(PROBE + 1)).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut progress = Progress::new(n, path, report);
    // What grows meanwhile, or has no end, is refused on the way.
    let mut asked = n;
    let result = loop {
        if interrupt::is_requested() {
            break Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        if bytes.len() > asked {
            if let Err(error) = room(bytes.len() as u64) {
                break Err(error);
            }
            // Of a little not much more is taken before somebody asks again.
            asked = bytes.len().saturating_add(bytes.len().min(ASKED));
        }
        match read(&mut bytes) {
            Ok(Some(0)) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
        progress.at(bytes.len());
    };
    match result {
        Ok(()) => Ok(bytes),
        Err(error) => {
            discard(bytes);
            Err(error)
        }
    }
}

/// Says how much of a file has been read.
struct Progress<'a, R: Fn(&str)> {
    /// Bytes of the file, or 0 if that is unknown: pipes and the like do not tell.
    n: usize,
    path: &'a str,
    report: R,
    next: Instant,
    is_reported: bool,
}

impl<'a, R: Fn(&str)> Progress<'a, R> {
    fn new(n: usize, path: &'a str, report: R) -> Self {
        Self { n, path, report, next: Instant::now() + PATIENCE, is_reported: false }
    }

    /// So many bytes have been read.
    fn at(&mut self, bytes: usize) {
        if Instant::now() < self.next {
            return;
        }
        let (path, read) = (self.path, Bytes(bytes as u64));
        (self.report)(&if self.n > 0 {
            format!("reading {path}: {read} of {}", Bytes(self.n.max(bytes) as u64))
        } else {
            format!("reading {path}: {read}")
        });
        (self.next, self.is_reported) = (Instant::now() + EVERY, true);
    }
}

impl<R: Fn(&str)> Drop for Progress<'_, R> {
    fn drop(&mut self) {
        if self.is_reported {
            (self.report)("");
        }
    }
}

/// Adds what comes next, at most so much that somebody should look for an interrupt then; 0 at the end.
///
/// # Errors
/// What the source says; `OutOfMemory` if there is no room.
pub(crate) fn read_piece(source: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let spare = |bytes: &Vec<u8>| bytes.capacity() - bytes.len();
    if spare(bytes) <= PROBE {
        bytes.try_reserve(PIECE).map_err(|_| io::ErrorKind::OutOfMemory)?;
    }
    let n = (spare(bytes) - PROBE).min(PIECE);
    source.take(n as u64).read_to_end(bytes)
}

/// Replaces a file as a whole, or leaves it as it was: the contents go to a new file beside it that takes its name at the
/// end. What is no plain file, a pipe or a device, is written into. Links stay, what they lead to is replaced.
///
/// # Errors
/// What the system says; `Interrupted` by Ctrl-C; `FileTooLarge` beyond what this process may write.
pub fn replace(path: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    check_size(contents.len() as u64)?;
    if std::fs::metadata(path).is_ok_and(|before| !before.is_file()) {
        return write_into(path, contents);
    }
    let fill = |new: &mut NamedTempFile| write_pieces(new, contents).map(|()| true);
    replace_by(path, contents.len() as u64, fill).map(drop)
}

/// Replaces a plain file as a whole by one of so many bytes, of which the first are given and others are what `fill` says
/// that it wrote; whether there is such a file now.
///
/// # Errors
/// As [`replace`].
pub fn replace_shared(
    path: impl AsRef<Path>,
    head: &[u8],
    bytes: u64,
    fill: impl FnOnce(&SharedFile) -> bool,
) -> io::Result<bool> {
    let path = path.as_ref();
    check_size(bytes)?;
    if std::fs::metadata(path).is_ok_and(|before| !before.is_file()) {
        return Ok(false);
    }
    replace_by(path, bytes, |new| {
        new.write_all(head)?;
        new.as_file().set_len(bytes)?;
        Ok(SharedFile::at(new.path()).is_ok_and(|file| fill(&file)))
    })
}

/// Replaces a plain file by a new one of so many bytes, if `fill` says that it is filled.
fn replace_by(
    path: &Path,
    bytes: u64,
    fill: impl FnOnce(&mut NamedTempFile) -> io::Result<bool>,
) -> io::Result<bool> {
    let before = std::fs::metadata(path).ok();
    let target = if before.is_some() { path.canonicalize()? } else { end_of_links(path)? };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if before.is_some() {
        // A file that must not be written must not be replaced either.
        drop(File::options().write(true).open(&target)?);
    }
    let folder = folder.unwrap_or(Path::new("."));
    if bytes >= LONG {
        remove_left(folder);
    }
    let mut new = new_file(folder).map_err(|error| unmade(folder, &error))?;
    if !fill(&mut new)? {
        return Ok(false);
    }
    if let Some(before) = before {
        new.as_file().set_permissions(before.permissions())?;
    }
    new.persist(&target).map(|_| true).map_err(|error| error.error)
}

/// Writes behind what is in a file, or makes it.
///
/// # Errors
/// As [`replace`].
pub fn append(path: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    if std::fs::metadata(path).is_ok_and(|before| !before.is_file()) {
        return write_into(path, contents);
    }
    let mut file = File::options().append(true).create(true).open(path)?;
    check_size(file.metadata()?.len().saturating_add(contents.len() as u64))?;
    write_pieces(&mut file, contents)
}

/// Writes piece by piece, until somebody interrupts.
pub(crate) fn write_pieces(file: &mut impl Write, contents: &[u8]) -> io::Result<()> {
    for piece in contents.chunks(PIECE) {
        if interrupt::is_requested() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        file.write_all(piece)?;
    }
    Ok(())
}

/// Where links lead at whose end there is nothing yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if !path.is_symlink() {
            return Ok(path);
        }
        let next = path.read_link()?;
        path = path.parent().unwrap_or(Path::new(".")).join(next);
    }
    Err(io::Error::other("too many links, one behind the other"))
}

/// A file without a name of its own yet; it goes if nobody gives it one.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(NEW).rand_bytes(LETTERS);
    // As any new file, less what the user's mask takes away.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Why no file can be made in a folder; of its name, which nobody has chosen, nothing is said.
fn unmade(folder: &Path, error: &io::Error) -> io::Error {
    let place = folder.display();
    let why = match error.kind() {
        io::ErrorKind::NotFound if folder.is_dir() => format!("no files can be made in {place}"),
        io::ErrorKind::NotFound => format!("there is no folder {place}"),
        _ => {
            let cause = error.get_ref().and_then(std::error::Error::source);
            let cause = cause.map_or_else(|| error.to_string(), ToString::to_string);
            format!("no new file can be made in {place}, which takes the name at the end: {cause}")
        }
    };
    io::Error::new(error.kind(), why)
}

/// Removes new files whose writers were killed, and so did not remove them: who writes one touches it now and then.
fn remove_left(folder: &Path) {
    let is_new = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let letters = name.to_str().and_then(|name| name.strip_prefix(NEW));
        letters.is_some_and(|letters| {
            letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    let is_left = |entry: &std::fs::DirEntry| {
        let about = entry.metadata().ok().filter(std::fs::Metadata::is_file);
        let age = about.and_then(|about| about.modified().ok()?.elapsed().ok());
        age.is_some_and(|age| age > DAY)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_new).filter(is_left) {
        // What cannot be removed stays.
        drop(std::fs::remove_file(entry.path()));
    }
}

/// Refuses what is beyond the system's limit: writing that would end the process by a signal.
#[cfg(unix)]
fn check_size(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, getrlimit};
    match getrlimit(Resource::Fsize).current {
        Some(most) if bytes > most => {
            let (bytes, most) = (Bytes(bytes), Bytes(most));
            let what =
                format!("{bytes} are more than {most}, the most that a file may have (ulimit -f)");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, what))
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_size(_: u64) -> io::Result<()> {
    Ok(())
}

/// Frees a block on a thread of its own: of a large one that takes longer than somebody who pressed Ctrl-C waits. It goes
/// piece by piece: meanwhile no other thread gets memory from the system.
pub(crate) fn discard(mut bytes: Vec<u8>) {
    const PIECE: usize = 16 << 20;
    let free = move || {
        while let Some(rest) = bytes.len().checked_sub(PIECE) {
            bytes.truncate(rest);
            bytes.shrink_to_fit();
        }
    };
    // Where there is no thread it is freed here.
    drop(std::thread::Builder::new().spawn(free));
}

/// The names in a folder, folders with a slash, without hidden ones; nothing is the working folder.
///
/// # Errors
/// It cannot be read.
pub fn list(path: &str) -> io::Result<Vec<String>> {
    let folder = if path.is_empty() { "." } else { path };
    let entries = std::fs::read_dir(folder)?.flatten();
    let name = |entry: std::fs::DirEntry| {
        let slash = if entry.path().is_dir() { "/" } else { "" };
        entry.file_name().to_str().map(|name| format!("{name}{slash}"))
    };
    Ok(entries.filter_map(name).filter(|name| !name.starts_with('.')).collect())
}

/// The working folder.
///
/// # Errors
/// It is gone.
pub fn working() -> io::Result<String> {
    Ok(std::env::current_dir()?.display().to_string())
}

/// Our folder below an XDG base folder, as `XDG_STATE_HOME`; `None` without a home.
pub fn own(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    // Relative paths in these variables are to be ignored, says the specification.
    let base = set(variable).filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(set("HOME")?.join(below_home)))?;
    Some(base.join("porcini"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("the folder is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Modules are bytes first: what is cut off behind the most that is read may be a letter.
    #[test]
    fn long_modules_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.rhai");
        std::fs::write(&path, "ä".repeat(usize::try_from(LONGEST_SCRIPT).unwrap() / 2 + 1))
            .unwrap();
        let error = read_module(&[folder.path().into()], None, "long").unwrap_err();
        assert_eq!(error.to_string(), "a module is at most 64 MiB long");
    }

    #[test]
    fn a_link_that_leads_to_itself_is_told_of() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        symlink("round.rhai", first.path().join("round.rhai")).unwrap();
        let roots = [first.path().into(), second.path().into()];
        let error = read_module(&roots, None, "round").unwrap_err().to_string();
        assert!(error.contains("round.rhai: ") && !error.contains(" is not in "), "{error}");
        // What another folder has is found.
        std::fs::write(second.path().join("round.rhai"), "1").unwrap();
        assert_eq!(read_module(&roots, None, "round").unwrap().1, "1");
    }

    /// What tells no length takes the room of what has come.
    #[test]
    fn sources_without_a_length_ask_for_what_they_give() {
        let asked = std::cell::RefCell::new(Vec::new());
        let room = |n: u64| -> io::Result<()> {
            asked.borrow_mut().push(n);
            Ok(())
        };
        let mut left = 100;
        let bytes = collect(
            0,
            "pipe",
            &room,
            |_| {},
            |bytes| {
                let n = left.min(10);
                left -= n;
                bytes.resize(bytes.len() + n, 7);
                Ok(Some(n))
            },
        );
        assert_eq!(bytes.unwrap().len(), 100);
        assert_eq!(asked.into_inner(), [10, 30, 70]);
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        replace(at("new"), b"1").unwrap();
        let mask = std::fs::metadata(at("new")).unwrap().mode() & 0o777;
        std::fs::write(at("plain"), "").unwrap();
        assert_eq!(mask, std::fs::metadata(at("plain")).unwrap().mode() & 0o777);
        // Rights and links stay.
        let rights = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(at("new"), rights).unwrap();
        symlink("new", at("link")).unwrap();
        let before = std::fs::metadata(at("new")).unwrap();
        replace(at("link"), b"22").unwrap();
        let after = std::fs::metadata(at("new")).unwrap();
        assert!(at("link").is_symlink());
        assert_eq!(std::fs::read(at("new")).unwrap(), b"22");
        assert_eq!(after.mode() & 0o777, 0o640);
        // Who reads the old file reads it to its end.
        assert_ne!(before.ino(), after.ino());
        // What cannot be written stays, and leaves nothing behind.
        std::fs::create_dir(at("folder")).unwrap();
        assert!(replace(at("folder"), b"3").is_err());
        assert!(replace(at("missing/new"), b"3").is_err());
        assert_eq!(names(folder.path()), ["folder", "link", "new", "plain"]);
        replace("/dev/null", b"3").unwrap();
        append("/dev/null", b"3").unwrap();
    }

    /// Of a file whose name nobody has chosen nothing is said. Whoever may do everything is refused nothing.
    #[test]
    fn a_folder_without_room_for_new_files_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = io::Error::from_raw_os_error(13);
        let made = unmade(folder.path(), &error).to_string();
        assert!(made.contains(&folder.path().display().to_string()), "{made}");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
        let told = replace(folder.path().join("a"), b"1").map_err(|error| error.to_string());
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(told.is_ok() || told.is_err_and(|told| !told.contains(NEW)));
    }

    /// A process that is killed while it writes leaves what it has written.
    #[test]
    fn what_others_left_goes_a_day_later() {
        let folder = tempfile::tempdir().unwrap();
        let days_ago = |days: u32| std::time::SystemTime::now() - DAY * days;
        let (left, fresh) =
            (".porcini-unfinished-aB3xyzaB3xyz", ".porcini-unfinished-aB3xyzaB3xy0");
        // The last ones are somebody's own.
        let own = [".porcini-backup", ".porcini-config", ".porcini-unfinished-notes"];
        for (name, days) in [(left, 2), (fresh, 0), (own[0], 2), (own[1], 2), (own[2], 2)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(days_ago(days)).unwrap();
        }
        replace(folder.path().join("short"), b"1").unwrap();
        assert_eq!(names(folder.path()).len(), 6);
        replace(folder.path().join("long"), &vec![0; 16 << 20]).unwrap();
        assert_eq!(names(folder.path()), [own[0], own[1], fresh, own[2], "long", "short"]);
    }
}
