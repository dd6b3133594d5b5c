//! Compiled kernels on disk: what one process had compiled, the next one loads.
//!
//! Entries are spread over sixteen folders by the first digit of their key, so that a write has to look at
//! few files to keep the whole within its bound. An entry is a magic number, its key, a checksum, and the
//! code; it gets its name when it is complete, so any number of processes may use the folder at once. An
//! entry that is not what its name says is dropped. Its time of modification is that of its last use. Code of others is
//! not run: neither a folder nor an entry that is not ours alone is used.

use crate::convert::exactly;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes that a cache may take.
pub const LIMIT: u64 = 1 << 30;

const MAGIC: [u8; 8] = *b"porcini1";
/// Magic number, key and checksum.
const HEADER: usize = 8 + 16 + 16;
/// Folders of entries.
const PARTS: u64 = 16;
/// Bytes of saved sources.
const FAILED_BYTES: u64 = 16 << 20;

/// A folder of compiled kernels.
#[derive(Clone, Debug)]
pub struct DiskCache {
    folder: PathBuf,
    limit: u64,
}

/// The key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u128);

impl Key {
    /// The key of all that decides about compiled code: source, compiler, target.
    pub fn of(parts: &[&str]) -> Self {
        let mut hasher = Xxh3::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hasher.digest128())
    }
}

impl DiskCache {
    /// A cache in `folder`, which is made when something is written, of at most `limit` bytes.
    pub fn new(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The code under `key`, if it is there whole.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        ours_alone(&fs::metadata(&self.folder).ok()?).ok()?;
        let path = self.path(key);
        let mut entry = read(&path).ok()?;
        if !is_whole(&entry, key) {
            self.remove(key);
            return None;
        }
        // Where the time cannot be set the entry only seems older than it is.
        drop(File::open(&path).and_then(|file| file.set_modified(SystemTime::now())));
        Some(entry.split_off(HEADER))
    }

    /// Keeps code under `key`, and drops what was not used for longest where that makes it too much.
    ///
    /// # Errors
    /// What the file system says; the cache is as it was then.
    pub fn put(&self, key: Key, code: &[u8]) -> io::Result<()> {
        let most = self.limit / PARTS;
        if (HEADER + code.len()) as u64 > most {
            return Ok(());
        }
        self.claim()?;
        let path = self.path(key);
        let checksum = xxh3_128(code).to_le_bytes();
        write(&path, &[&MAGIC, &key.0.to_le_bytes(), &checksum, code])?;
        path.parent().map_or(Ok(()), |part| trim(part, most))
    }

    /// Drops an entry.
    pub fn remove(&self, key: Key) {
        // Another process may have been faster.
        drop(fs::remove_file(self.path(key)));
    }

    /// Saves the source of a kernel that does not compile, for people to look at; its file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn save_source(&self, key: Key, suffix: &str, text: &str) -> io::Result<PathBuf> {
        self.claim()?;
        let folder = self.folder.join("failed");
        let path = folder.join(format!("{:032x}.{suffix}", key.0));
        write(&path, &[text.as_bytes()])?;
        trim(&folder, FAILED_BYTES)?;
        Ok(path)
    }

    /// Bytes of all entries, once it is known that more can be written.
    ///
    /// # Errors
    /// Why nothing can be written.
    pub fn check(&self) -> io::Result<u64> {
        self.claim()?;
        NamedTempFile::new_in(&self.folder)?;
        let parts = (0..PARTS).map(|part| files(&self.part(part)).unwrap_or_default());
        Ok(parts.flatten().map(|file| file.bytes).sum())
    }

    /// Makes the folder, unless it is there.
    fn claim(&self) -> io::Result<()> {
        make(&self.folder)?;
        ours_alone(&fs::metadata(&self.folder)?)
    }

    fn part(&self, part: u64) -> PathBuf {
        self.folder.join("kernels").join(format!("{part:x}"))
    }

    fn path(&self, key: Key) -> PathBuf {
        let part = exactly::<u64>(key.0 >> 124);
        self.part(part).join(format!("{:032x}.cubin", key.0))
    }
}

/// An error for what another user may have written: who can put code there has it run.
#[cfg(target_os = "linux")]
fn ours_alone(about: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    let (owner, mode) = (about.uid(), about.mode() & 0o777);
    let why = if owner != rustix::process::geteuid().as_raw() {
        format!("belongs to another user, {owner}")
    } else if mode & OTHERS_WRITE != 0 {
        format!("others may write there (mode {mode:o})")
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Elsewhere folders of a user are the user's.
#[cfg(not(target_os = "linux"))]
fn ours_alone(_: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe waits for who writes to it.
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    ours_alone(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_whole(entry: &[u8], key: Key) -> bool {
    let Some((header, code)) = entry.split_at_checked(HEADER) else { return false };
    let checksum = xxh3_128(code).to_le_bytes();
    header == [&MAGIC[..], &key.0.to_le_bytes(), &checksum].concat()
}

/// Writes a file that others see whole or not at all.
fn write(path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    pieces.iter().try_for_each(|piece| file.write_all(piece))?;
    file.persist(path)?;
    Ok(())
}

/// Makes a folder for its owner alone: what is in it gets run.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

struct Entry {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// The files of a folder; those that vanish meanwhile are left out.
fn files(folder: &Path) -> io::Result<Vec<Entry>> {
    let entry = |entry: fs::DirEntry| {
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Entry { used: about.modified().ok()?, bytes: about.len(), path: entry.path() })
    };
    Ok(fs::read_dir(folder)?.flatten().filter_map(entry).collect())
}

/// Drops the files of a folder that were not used for longest until `most` bytes are left.
fn trim(folder: &Path, most: u64) -> io::Result<()> {
    let mut files = files(folder)?;
    let mut total: u64 = files.iter().map(|file| file.bytes).sum();
    if total <= most {
        return Ok(());
    }
    files.sort_by_key(|file| file.used);
    for file in files {
        if total <= most {
            break;
        }
        total -= file.bytes;
        // Another process may have been faster.
        drop(fs::remove_file(file.path));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    fn cache(limit: u64) -> (TempDir, DiskCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(folder.path().join("a").join("b"), limit);
        (folder, cache)
    }

    /// A key in the first part.
    fn key(n: u64) -> Key {
        Key(n.into())
    }

    #[test]
    fn what_was_put_is_found() {
        let (_folder, cache) = cache(LIMIT);
        assert_eq!(cache.get(key(1)), None);
        cache.put(key(1), b"code").unwrap();
        cache.put(key(2), b"").unwrap();
        cache.put(key(1), b"newer").unwrap();
        assert_eq!(cache.get(key(1)).as_deref(), Some(&b"newer"[..]));
        assert_eq!(cache.get(key(2)).as_deref(), Some(&b""[..]));
        assert_eq!(cache.get(key(3)), None);
        assert_eq!(cache.check().unwrap(), 2 * HEADER as u64 + 5);
        cache.remove(key(1));
        assert_eq!(cache.get(key(1)), None);
    }

    #[test]
    fn keys_tell_their_parts_apart() {
        assert_eq!(Key::of(&["a", "b"]), Key::of(&["a", "b"]));
        for other in [&["ab", ""][..], &["a", "c"], &["b", "a"], &["a"], &["a", "b", ""]] {
            assert_ne!(Key::of(&["a", "b"]), Key::of(other));
        }
    }

    #[test]
    fn damaged_entries_are_dropped() {
        let (_folder, cache) = cache(LIMIT);
        let path = cache.path(key(7));
        cache.put(key(7), b"some code").unwrap();
        let whole = fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(key(7)), None, "bit {bit}");
            assert!(!path.exists());
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.get(key(7)), None, "{length} bytes");
        }
        // An entry under another one's name.
        fs::write(cache.path(key(8)), &whole).unwrap();
        assert_eq!(cache.get(key(8)), None);
        cache.put(key(7), b"some code").unwrap();
        assert_eq!(cache.get(key(7)).as_deref(), Some(&b"some code"[..]));
    }

    #[test]
    fn the_least_recently_used_are_dropped() {
        let entry = 1000;
        let (_folder, cache) = cache(PARTS * 4 * entry);
        let code = vec![1; usize::try_from(entry).unwrap() - HEADER];
        for n in 0..4 {
            cache.put(key(n), &code).unwrap();
            let used = SystemTime::now() - Duration::from_secs(100 - n);
            File::open(cache.path(key(n))).unwrap().set_modified(used).unwrap();
        }
        assert!(cache.get(key(0)).is_some(), "used now");
        cache.put(key(4), &code).unwrap();
        let left: Vec<u64> = (0..5).filter(|&n| cache.path(key(n)).exists()).collect();
        assert_eq!(left, [0, 2, 3, 4]);
        assert_eq!(cache.check().unwrap(), 4 * entry);
        // What is larger than a part is not kept, and drops nothing.
        cache.put(key(5), &vec![0; 5000]).unwrap();
        assert_eq!(cache.get(key(5)), None);
        assert_eq!(cache.check().unwrap(), 4 * entry);
    }

    #[test]
    fn several_writers_leave_whole_entries() {
        let (_folder, cache) = cache(PARTS * 3000);
        let code = |n: u64| vec![u8::try_from(n).unwrap(); 700];
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let cache = cache.clone();
                scope.spawn(move || {
                    for turn in 0..200 {
                        let n = (turn + writer) % 6;
                        // It fails where another one makes room by what is being written.
                        drop(cache.put(key(n), &code(n)));
                        let found = cache.get(key((turn * 5 + writer) % 6));
                        assert!(found.is_none_or(|found| found == code(found[0].into())));
                    }
                });
            }
        });
        // No unfinished file is left, and the bound holds.
        cache.put(key(0), &code(0)).unwrap();
        assert!(cache.check().unwrap() <= 3000);
        let names = files(&cache.part(0)).unwrap();
        assert!(names.iter().all(|file| file.path.extension().is_some_and(|it| it == "cubin")));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_kept() {
        let (folder, _) = cache(LIMIT);
        let file = folder.path().join("file");
        fs::write(&file, "not a folder").unwrap();
        let cache = DiskCache::new(file, LIMIT);
        assert!(cache.put(key(1), b"code").is_err());
        assert!(cache.check().is_err());
        assert_eq!(cache.get(key(1)), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_others_may_have_written_is_not_used() {
        use std::os::unix::fs::{PermissionsExt as _, chown};
        let (_folder, cache) = cache(LIMIT);
        cache.put(key(1), b"code").unwrap();
        let entry = cache.path(key(1));
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for (path, writable, own) in [(cache.folder(), 0o770, 0o700), (&entry, 0o602, 0o600)] {
            mode(path, writable);
            assert_eq!(cache.get(key(1)), None, "{}", path.display());
            mode(path, own);
            assert_eq!(cache.get(key(1)).as_deref(), Some(&b"code"[..]));
        }
        mode(cache.folder(), 0o777);
        let told = [cache.put(key(2), b"").unwrap_err(), cache.check().unwrap_err()];
        assert!(told.iter().all(|error| error.to_string() == "others may write there (mode 777)"));
        assert!(cache.save_source(key(2), "ptx", "").is_err());
        mode(cache.folder(), 0o700);
        // Only root can give files away.
        for path in [&entry, cache.folder()] {
            if chown(path, Some(12345), None).is_ok() {
                assert_eq!(cache.get(key(1)), None, "{}", path.display());
            }
        }
        if let Err(error) = cache.check() {
            assert_eq!(error.to_string(), "belongs to another user, 12345");
        }
    }

    #[test]
    fn sources_are_saved() {
        let (_folder, cache) = cache(LIMIT);
        let path = cache.save_source(key(1), "ptx", "text").unwrap();
        assert!(path.ends_with("failed/00000000000000000000000000000001.ptx"), "{path:?}");
        assert_eq!(fs::read_to_string(path).unwrap(), "text");
    }
}
