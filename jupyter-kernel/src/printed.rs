//! What a cell prints: a page shows its beginning and its end, a file keeps all of it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, remove_file, rename};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, mem, process};

/// Bytes that a page shows: more makes browsers slow.
const MOST: usize = 1 << 20;
/// Bytes of the end that it shows.
const MOST_END: usize = 16 << 10;
/// Bytes that a file keeps, and files of the last cells that printed so much.
const MOST_KEPT: usize = 64 << 20;
const MOST_FILES: usize = 10;

/// What may be done with lines.
const DONE: [&str; 2] = ["printed", "logged"];

/// What a cell has printed so far, or what it has logged.
pub(crate) struct Printed {
    /// What was done with the lines: `printed`.
    done: &'static str,
    /// Whether there may be a file.
    keeps: bool,
    /// What the page shows, while that is all.
    shown: String,
    /// Lines that it does not show and their bytes, the last of them, and whether that was told.
    n_left: usize,
    bytes_left: usize,
    end: String,
    is_told: bool,
    /// Those of this cell and of cells before, the last one at the end; how many cells had one, and whether this one has.
    files: VecDeque<Kept>,
    n_files: usize,
    has_file: bool,
}

/// What is told where a page does not show all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) told: String,
    /// The last lines.
    pub(crate) end: String,
}

impl Printed {
    pub(crate) fn new(done: &'static str, keeps: bool) -> Self {
        Self {
            done,
            keeps,
            shown: String::new(),
            n_left: 0,
            bytes_left: 0,
            end: String::new(),
            is_told: false,
            files: VecDeque::new(),
            n_files: 0,
            has_file: false,
        }
    }

    /// Another cell begins. Files of earlier ones stay until many have printed as much.
    pub(crate) fn begin(&mut self) {
        self.clear();
        self.has_file = false;
    }

    /// What the cell has printed so far is shown no more.
    pub(crate) fn clear(&mut self) {
        self.shown.clear();
        self.end.clear();
        (self.n_left, self.bytes_left, self.is_told) = (0, 0, false);
    }

    /// Takes a text that ends a line; how many of its bytes the page shows.
    pub(crate) fn take(&mut self, text: &str) -> usize {
        let is_first = self.n_left == 0;
        if is_first && self.shown.len() + text.len() <= MOST {
            self.shown.push_str(text);
            return text.len();
        }
        let mut fits = 0;
        if is_first {
            fits = fitting(text, MOST - self.shown.len(), self.shown.is_empty());
            self.open();
            let shown = mem::take(&mut self.shown);
            self.keep(&shown);
        }
        let left = &text[fits..];
        self.n_left += left.lines().count();
        self.bytes_left += left.len();
        self.end.push_str(&left[behind(left, MOST_END)..]);
        if self.end.len() > 2 * MOST_END {
            self.end.drain(..behind(&self.end, MOST_END));
        }
        self.keep(text);
        fits
    }

    /// Begins the file of this cell, if there may be one; anew, if the cell has cleared what it showed.
    fn open(&mut self) {
        if !self.keeps {
            return;
        }
        self.n_files += usize::from(!mem::replace(&mut self.has_file, true));
        if self.file().is_some() {
            self.files.pop_back();
        }
        if self.files.len() == MOST_FILES {
            self.files.pop_front();
        }
        self.files.extend(Kept::new(self.done, self.n_files));
    }

    /// The file of this cell, once the page does not show all; the system may have had no place for it.
    fn file(&mut self) -> Option<&mut Kept> {
        let number = self.n_files;
        self.files.back_mut().filter(|file| file.number == number)
    }

    fn keep(&mut self, text: &str) {
        if let Some(file) = self.file() {
            file.add(text);
        }
    }

    /// Says once what the page does not show.
    pub(crate) fn rest(&mut self) -> Option<Rest> {
        if self.n_left == 0 || mem::replace(&mut self.is_told, true) {
            return None;
        }
        let place = self.file().map_or_else(|| "nothing keeps them".into(), Kept::place);
        let mut end = mem::take(&mut self.end);
        if end.len() < self.bytes_left {
            let last = &end[behind(&end, MOST_END)..];
            end = last.split_once('\n').map_or("", |(_, whole)| whole).into();
        }
        let told = match self.n_left - end.lines().count() {
            0 => String::new(),
            n => format!("\n.. {n} more lines were {}: {place} ..\n", self.done),
        };
        Some(Rest { told, end })
    }
}

/// Where the last so many bytes of a text begin.
fn behind(text: &str, most: usize) -> usize {
    let least = text.len().saturating_sub(most);
    (least..text.len()).find(|&place| text.is_char_boundary(place)).unwrap_or(text.len())
}

/// The bytes of a text that fit: whole lines; of the very first so many characters.
fn fitting(text: &str, most: usize, is_first: bool) -> usize {
    let end = (0..=most.min(text.len())).rfind(|&end| text.is_char_boundary(end)).unwrap_or(0);
    let part = if is_first { end } else { 0 };
    text[..end].rfind('\n').map_or(part, |line| line + 1)
}

/// Removes what processes that were killed have left.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let begins = |done: &&str| name.starts_with(&format!("porcini-{done}-"));
        let is_printed = DONE.iter().any(begins) && name.ends_with(".txt");
        let is_trial = name.starts_with("porcini-doctor-") && name.ends_with(".json");
        let is_file = || entry.file_type().is_ok_and(|kind| kind.is_file());
        if (is_printed || is_trial) && is_file() {
            let path = entry.path();
            // Whoever lives has it locked; what belongs to others cannot be opened.
            if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                drop(remove_file(path));
            }
        }
    }
}

/// A file of this process, which goes with it.
struct Kept {
    number: usize,
    path: PathBuf,
    file: BufWriter<File>,
    n: usize,
    /// Whether something found no room.
    is_full: bool,
}

impl Kept {
    /// `None` if the system has no place for it.
    fn new(done: &str, number: usize) -> Option<Self> {
        let path = env::temp_dir().join(format!("porcini-{done}-{}-{number}.txt", process::id()));
        // It has its name once it is locked, which tells others that it is not left over (`sweep`). That of a process of the
        // same number, which was killed, is replaced.
        let new = path.with_extension("new");
        drop(remove_file(&new));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).ok()?;
        drop(file.try_lock());
        rename(&new, &path).ok()?;
        Some(Self { number, path, file: BufWriter::new(file), n: 0, is_full: false })
    }

    fn add(&mut self, text: &str) {
        if self.is_full {
            return;
        }
        let room = MOST_KEPT - self.n;
        let fits = if text.len() <= room { text.len() } else { fitting(text, room, true) };
        self.n += fits;
        self.is_full = self.file.write_all(&text.as_bytes()[..fits]).is_err() || fits < text.len();
    }

    /// Where what was printed is.
    fn place(&mut self) -> String {
        self.is_full |= self.file.flush().is_err();
        let part = if self.is_full { "the first lines" } else { "all lines" };
        let path = self.path.display();
        format!(
            "{part} are in {path} until the kernel ends, or {MOST_FILES} later cells print as much"
        )
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_fit() {
        for (text, most, want) in
            [("ab\ncd\n", 4, 3), ("ab\ncd\n", 9, 6), ("abcd\n", 3, 3), ("\u{e4}\n", 1, 0)]
        {
            assert_eq!(fitting(text, most, true), want, "{text:?}");
        }
    }

    #[test]
    fn what_is_left_is_told_once() {
        assert_eq!(fitting("abcd\n", 3, false), 0);
        let mut printed = Printed::new("printed", false);
        assert_eq!((printed.take("a\n"), printed.rest()), (2, None));
        let long = "x\n".repeat(MOST / 2);
        assert_eq!(printed.take(&long), MOST - 2);
        assert_eq!(printed.take("b\nc\n"), 0);
        // They are few enough to be shown.
        let rest = printed.rest().unwrap();
        assert_eq!((&*rest.told, &*rest.end), ("", "x\nb\nc\n"));
        assert_eq!(printed.rest(), None);
        printed.begin();
        assert_eq!((printed.take("a\n"), printed.rest()), (2, None));
    }

    #[test]
    fn the_end_is_shown() {
        let mut printed = Printed::new("printed", false);
        printed.take(&"x\n".repeat(MOST / 2));
        printed.take(&"y\n".repeat(MOST));
        assert_eq!(printed.take("z\n"), 0);
        let rest = printed.rest().unwrap();
        let n = MOST_END / 2 - 1;
        let left = MOST + 1 - n;
        let told = format!("\n.. {left} more lines were printed: nothing keeps them ..\n");
        assert_eq!(rest.told, told);
        assert_eq!(rest.end, format!("{}z\n", "y\n".repeat(n - 1)));
        // Of one line without end there is nothing whole.
        printed.begin();
        printed.take(&"x".repeat(3 * MOST));
        let rest = printed.rest().unwrap();
        assert!(rest.told.contains(" 1 more lines") && rest.end.is_empty());
    }

    #[test]
    fn a_long_line_is_kept_in_part() {
        let mut printed = Printed::new("tested long", true);
        printed.take("a\n");
        printed.take(&"x".repeat(MOST_KEPT));
        printed.take("b\n");
        let file = printed.file().unwrap();
        assert!(file.place().starts_with("the first lines are in "));
        assert_eq!(file.path.metadata().unwrap().len(), MOST_KEPT as u64);
    }

    #[test]
    fn what_the_killed_have_left_is_removed() {
        let folder = env::temp_dir().join(format!("porcini-sweep-{}", process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let names = ["porcini-doctor-1.json", "porcini-logged-2-1.txt", "porcini-notes.txt"];
        let paths = names.map(|name| folder.join(name));
        let files = paths.each_ref().map(|path| File::create(path).unwrap());
        files[1].lock().unwrap();
        sweep(&folder);
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, true, true]);
        drop(files);
        sweep(&folder);
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, false, true]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn each_cell_has_its_file() {
        let mut printed = Printed::new("tested", true);
        let path = |printed: &mut Printed| {
            printed.begin();
            printed.take(&"x\n".repeat(MOST));
            let told = printed.rest().unwrap().told;
            let (_, path) = told.split_once("all lines are in ").unwrap();
            PathBuf::from(path.split(" until the kernel ends").next().unwrap())
        };
        let paths: Vec<PathBuf> = (0..=MOST_FILES).map(|_| path(&mut printed)).collect();
        let kept = paths.iter().filter(|path| path.exists()).count();
        assert_eq!((kept, paths[0].exists()), (MOST_FILES, false));
        // What was cleared takes no file of another cell.
        let last = &paths[MOST_FILES];
        printed.clear();
        printed.take(&"y\n".repeat(MOST));
        assert!(printed.rest().unwrap().told.contains(&*last.to_string_lossy()));
        assert!(std::fs::read(last).unwrap().iter().all(|&byte| byte != b'x') && paths[1].exists());
        drop(printed);
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
