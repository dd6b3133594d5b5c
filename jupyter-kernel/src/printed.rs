//! What a cell prints: a page shows its beginning, a file keeps all of it.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::{env, mem, process};

/// Bytes that a page shows: more makes browsers slow.
const MOST: usize = 1 << 20;
/// Bytes that the file keeps.
const MOST_KEPT: usize = 64 << 20;

/// What a cell has printed so far, or what it has logged.
pub(crate) struct Printed {
    /// What was done with the lines: `printed`.
    done: &'static str,
    /// Whether there may be a file.
    keeps: bool,
    /// What the page shows, while that is all.
    shown: String,
    /// Lines that it does not show, and whether that was told.
    n_left: usize,
    is_told: bool,
    file: Option<Kept>,
}

impl Printed {
    pub(crate) fn new(done: &'static str, keeps: bool) -> Self {
        let shown = String::new();
        Self { done, keeps, shown, n_left: 0, is_told: false, file: None }
    }

    /// Another cell begins. The file stays until one prints as much.
    pub(crate) fn begin(&mut self) {
        *self = Self { file: self.file.take(), ..Self::new(self.done, self.keeps) };
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
            // The one of an earlier cell goes first.
            self.file = None;
            self.file = self.keeps.then(|| Kept::new(self.done)).flatten();
            let shown = mem::take(&mut self.shown);
            self.keep(&shown);
        }
        self.n_left += text[fits..].lines().count();
        self.keep(text);
        fits
    }

    fn keep(&mut self, text: &str) {
        self.file.iter_mut().for_each(|file| file.add(text));
    }

    /// Says once what the page does not show.
    pub(crate) fn rest(&mut self) -> Option<String> {
        if self.n_left == 0 || mem::replace(&mut self.is_told, true) {
            return None;
        }
        let place = self.file.as_mut().map_or_else(|| "nothing keeps them".into(), Kept::place);
        Some(format!("\n.. {} more lines were {}: {place} ..\n", self.n_left, self.done))
    }
}

/// The bytes of a text that fit: whole lines; of the very first so many characters.
fn fitting(text: &str, most: usize, is_first: bool) -> usize {
    let end = (0..=most.min(text.len())).rfind(|&end| text.is_char_boundary(end)).unwrap_or(0);
    let part = if is_first { end } else { 0 };
    text[..end].rfind('\n').map_or(part, |line| line + 1)
}

/// A file of this process, which goes with it.
struct Kept {
    path: PathBuf,
    file: BufWriter<File>,
    n: usize,
    /// Whether something found no room.
    is_full: bool,
}

impl Kept {
    /// `None` if the system has no place for it.
    fn new(done: &str) -> Option<Self> {
        let path = env::temp_dir().join(format!("porcini-{done}-{}.txt", process::id()));
        // That of a process of the same number, which was killed.
        drop(remove_file(&path));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        Some(Self { path, file: BufWriter::new(file), n: 0, is_full: false })
    }

    fn add(&mut self, text: &str) {
        self.n += text.len();
        self.is_full |= self.n > MOST_KEPT;
        if !self.is_full {
            self.is_full = self.file.write_all(text.as_bytes()).is_err();
        }
    }

    /// Where what was printed is.
    fn place(&mut self) -> String {
        self.is_full |= self.file.flush().is_err();
        let part = if self.is_full { "the first lines" } else { "all lines" };
        format!("{part} are in {}", self.path.display())
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
        let told = "\n.. 3 more lines were printed: nothing keeps them ..\n";
        assert_eq!(printed.rest().as_deref(), Some(told));
        assert_eq!(printed.rest(), None);
        printed.begin();
        assert_eq!((printed.take("a\n"), printed.rest()), (2, None));
    }
}
