//! The history: cells of this session and of earlier ones, a line of a file each. A line is unpacked when somebody
//! asks for it, so that a long history does not delay the first prompt.

use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use porcini_script::folders;
use rustyline::Result;
use rustyline::history::{History, SearchDirection, SearchResult};

use super::gutter::Prompted;
use crate::print;

/// Cells kept in the file. It is shortened when there are twice as many.
const MOST: usize = 10_000;
/// Bytes of the file that are read, the last ones.
const MOST_BYTES: u64 = 64 << 20;
/// How long others may have the file to themselves.
const PATIENCE: Duration = Duration::from_millis(200);
/// The first line of the file: line ends and backslashes of cells have a backslash before them.
const HEAD: &str = "#V2\n";

/// Cells, oldest first. The editor sees them as they are edited behind the prompt that is shown.
#[derive(Default)]
pub(crate) struct Cells {
    file: Option<PathBuf>,
    /// The lines of the file, and those that this session added.
    text: String,
    /// Where in the text each cell starts; a line end follows it.
    starts: Vec<usize>,
    prompted: Prompted,
    /// Whether somebody knows that the file does not take them.
    is_told: bool,
}

/// Tells that no later session will know these cells.
pub(crate) fn tell_of_history(why: &str) {
    print::warn(&format!("the history is not kept: {why}"));
}

impl Cells {
    /// The history in a file, which gets what is added. What cannot be read is no history: the normal first start. Nor is
    /// a pipe or a device, which would keep the prompt away; of one nobody wonders that it keeps none.
    pub(crate) fn in_file(file: Option<PathBuf>, prompted: &Prompted) -> Self {
        let mut cells = Self { prompted: prompted.clone(), ..Self::default() };
        let file = file
            .filter(|file| file.metadata().map_or(true, |about| about.is_file() || about.is_dir()));
        if let Some(text) = file.as_deref().and_then(|file| read(file).ok()) {
            cells.take(text);
        }
        cells.file = file;
        cells
    }

    fn take(&mut self, text: String) {
        let line = |from: usize| text[from..].find('\n').map(|n| from + n + 1);
        let mut start = if text.starts_with(HEAD) { HEAD.len() } else { 0 };
        // A last line without its end was not written to the end.
        while let Some(next) = line(start) {
            if next > start + 1 {
                self.starts.push(start);
            }
            start = next;
        }
        self.starts.drain(..self.starts.len().saturating_sub(MOST));
        self.text = text;
        self.text.truncate(start);
    }

    fn packed(&self, index: usize) -> Option<&str> {
        let line = &self.text[*self.starts.get(index)?..];
        line.split('\n').next()
    }

    fn result(&self, index: usize, pos: usize) -> Option<SearchResult<'_>> {
        let packed = self.packed(index)?;
        let entry = if packed.contains('\\') {
            self.prompted.borrow().edited(&unpacked(packed)).into()
        } else {
            Cow::Borrowed(packed)
        };
        Some(SearchResult { entry, idx: index, pos })
    }

    /// The nearest cell from `start` on in which `find` finds something.
    fn nearest(
        &self,
        start: usize,
        direction: SearchDirection,
        find: impl Fn(&str) -> Option<usize>,
    ) -> Option<SearchResult<'_>> {
        let found = |index| {
            let mut result = self.result(index, 0)?;
            result.pos = find(&result.entry)?;
            Some(result)
        };
        let n = self.starts.len();
        match direction {
            _ if start >= n => None,
            SearchDirection::Reverse => (0..=start).rev().find_map(found),
            SearchDirection::Forward => (start..n).find_map(found),
        }
    }
}

/// A cell as a line.
fn packed(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unpacked(line: &str) -> String {
    let mut cell = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        cell.push(match c {
            '\\' => match letters.next() {
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    cell
}

fn read(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut opened = File::open(file)?;
    soon(|| opened.try_lock_shared());
    let excess = opened.metadata()?.len().saturating_sub(MOST_BYTES);
    opened.seek(SeekFrom::Start(excess))?;
    opened.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if excess > 0 {
        // The first line is the end of one.
        text.drain(..text.find('\n').map_or(text.len(), |end| end + 1));
    } else if text.len() > HEAD.len() && text.lines().nth(2 * MOST).is_some() {
        // A file that is too long costs time, not cells.
        drop(shorten(file));
    }
    Ok(text)
}

/// Waits a moment for a lock. Without it a line may be lost when two sessions end at once: better than no prompt, while
/// another program has the file, or where files cannot be locked.
fn soon(lock: impl Fn() -> std::result::Result<(), TryLockError>) {
    let end = Instant::now() + PATIENCE;
    while let Err(TryLockError::WouldBlock) = lock()
        && Instant::now() < end
    {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Keeps the newest cells.
fn shorten(file: &Path) -> io::Result<()> {
    let mut opened = locked(file, OpenOptions::new().read(true).write(true))?;
    let mut text = String::new();
    opened.read_to_string(&mut text)?;
    let n = text.lines().count().saturating_sub(MOST);
    let kept: String = text.split_inclusive('\n').skip(n).collect();
    folders::replace(file, format!("{HEAD}{kept}").as_bytes())
}

/// The file, locked. While somebody waited for the lock it may have been replaced: then what has its name now.
fn locked(file: &Path, options: &OpenOptions) -> io::Result<File> {
    loop {
        let opened = options.open(file)?;
        soon(|| opened.try_lock());
        if is_still(&opened, file)? {
            return Ok(opened);
        }
    }
}

#[cfg(unix)]
fn is_still(opened: &File, file: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (opened, named) = (opened.metadata()?, file.metadata()?);
    Ok((opened.dev(), opened.ino()) == (named.dev(), named.ino()))
}

#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = locked(file, &options)?;
    let head = if opened.metadata()?.len() == 0 { HEAD } else { "" };
    opened.write_all(format!("{head}{line}\n").as_bytes())
}

impl History for Cells {
    fn get(&self, index: usize, _: SearchDirection) -> Result<Option<SearchResult<'_>>> {
        Ok(self.result(index, 0))
    }

    /// Adds a cell at once, so that a closed terminal loses nothing; not one that begins with a blank, nor the last
    /// one again.
    fn add(&mut self, cell: &str) -> Result<bool> {
        let line = packed(cell);
        let last = self.starts.len().checked_sub(1).and_then(|last| self.packed(last));
        if cell.is_empty() || cell.starts_with(char::is_whitespace) || last == Some(&line) {
            return Ok(false);
        }
        self.starts.push(self.text.len());
        self.text.extend([line.as_str(), "\n"]);
        if let Some(file) = &self.file {
            // A folder that cannot be written loses the history, not the session.
            if let Err(error) = append(file, &line)
                && !self.is_told
            {
                self.is_told = true;
                tell_of_history(&format!("{}: {error}", file.display()));
            }
        }
        Ok(true)
    }

    fn add_owned(&mut self, cell: String) -> Result<bool> {
        self.add(&cell)
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    fn search(
        &self,
        term: &str,
        start: usize,
        direction: SearchDirection,
    ) -> Result<Option<SearchResult<'_>>> {
        let found = || self.nearest(start, direction, |cell| cell.find(term));
        Ok(if term.is_empty() { None } else { found() })
    }

    fn starts_with(
        &self,
        term: &str,
        start: usize,
        direction: SearchDirection,
    ) -> Result<Option<SearchResult<'_>>> {
        let at = |cell: &str| cell.starts_with(term).then_some(term.len());
        Ok(if term.is_empty() { None } else { self.nearest(start, direction, at) })
    }

    fn clear(&mut self) -> Result<()> {
        *self = Self { file: self.file.take(), ..Self::default() };
        Ok(())
    }

    // What follows is for histories that the editor reads and writes: this one does so itself, in one way.

    fn set_max_len(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn ignore_dups(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn ignore_space(&mut self, _: bool) {}

    fn save(&mut self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn append(&mut self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, _: &Path) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::gutter::Prompt;
    use super::*;

    /// A file of this test, which does not exist yet.
    fn file(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("porcini-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(test)
    }

    fn entry(cells: &Cells, index: usize) -> String {
        let found = cells.get(index, SearchDirection::Forward).unwrap();
        found.map_or_else(String::new, |found| found.entry.into())
    }

    #[test]
    fn cells_come_back_in_the_next_session() {
        let file = file("history");
        let typed = ["a", "if a {\n    b\n}", r"`\n \\ ${a}`", "a"];
        {
            let mut cells = Cells::in_file(Some(file.clone()), &Prompted::default());
            for cell in typed {
                assert!(cells.add(cell).unwrap());
            }
            for ignored in ["a", "", " a"] {
                assert!(!cells.add(ignored).unwrap(), "{ignored:?}");
            }
        }
        let mut cells = Cells::in_file(Some(file.clone()), &Prompted::default());
        assert_eq!(cells.len(), typed.len());
        for (i, cell) in typed.iter().enumerate() {
            assert_eq!(entry(&cells, i), Prompt::default().edited(cell));
        }
        assert!(!cells.add("a").unwrap() && cells.add("é").unwrap());
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("#V2\na\nif a {\\n    b\\n}\n"), "{text}");
        // A line that was cut off, and what is no text.
        std::fs::write(&file, b"#V2\n\nx\xff\ny\nhalf").unwrap();
        let cells = Cells::in_file(Some(file.clone()), &Prompted::default());
        assert_eq!([0, 1, 2].map(|i| entry(&cells, i)), ["x\u{fffd}", "y", ""]);
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_long_file_is_shortened() {
        let file = file("long");
        let lines: String = (0..2 * MOST + 5).map(|i| format!("x{i}\n")).collect();
        std::fs::write(&file, format!("{HEAD}{lines}")).unwrap();
        for _ in 0..2 {
            let cells = Cells::in_file(Some(file.clone()), &Prompted::default());
            assert_eq!((cells.len(), entry(&cells, 0)), (MOST, format!("x{}", MOST + 5)));
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(&format!("{HEAD}x{}\n", MOST + 5)) && text.ends_with("x20004\n"));
        std::fs::remove_file(&file).unwrap();
    }

    /// On a lock that nobody gives back, and on a pipe into which nobody writes, a session would wait for ever.
    #[cfg(unix)]
    #[test]
    fn nobody_waits_for_an_odd_file() {
        let file = file("locked");
        std::fs::write(&file, "#V2\na\n").unwrap();
        let other = File::open(&file).unwrap();
        other.lock().unwrap();
        let mut cells = Cells::in_file(Some(file.clone()), &Prompted::default());
        assert_eq!(entry(&cells, 0), "a");
        assert!(cells.add("b").unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "#V2\na\nb\n");
        // Much has no bytes on the disk.
        OpenOptions::new().write(true).open(&file).unwrap().set_len(1 << 40).unwrap();
        append(&file, "c\nlast").unwrap();
        let cells = Cells::in_file(Some(file.clone()), &Prompted::default());
        assert_eq!(entry(&cells, cells.len() - 1), "last");
        std::fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        for odd in
            [file.as_path(), Path::new("/dev/zero"), Path::new("/"), Path::new("/dev/zero/x")]
        {
            let mut cells = Cells::in_file(Some(odd.into()), &Prompted::default());
            assert!(cells.add("a").unwrap());
            assert_eq!(cells.len(), 1);
        }
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn cells_are_searched() {
        let mut cells = Cells::default();
        for cell in ["one", "two\nones", "one"] {
            cells.add(cell).unwrap();
        }
        let found = |result: Result<Option<SearchResult<'_>>>| {
            result.unwrap().map(|found| (found.idx, found.pos))
        };
        use SearchDirection::{Forward, Reverse};
        assert_eq!(found(cells.search("one", 0, Forward)), Some((0, 0)));
        assert_eq!(
            found(cells.search("ones", 2, Reverse)),
            Some((1, Prompt::default().edited("two\n").len()))
        );
        assert_eq!(found(cells.starts_with("one", 1, Reverse)), Some((0, 3)));
        assert_eq!(found(cells.starts_with("one", 1, Forward)), Some((2, 3)));
        for missing in ["", "three"] {
            assert_eq!(found(cells.search(missing, 2, Reverse)), None);
        }
        assert_eq!(found(cells.search("one", 3, Reverse)), None);
    }
}
