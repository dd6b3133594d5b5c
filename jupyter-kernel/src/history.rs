//! The cells of this session and of earlier ones, for `history_request`. A file keeps them, a cell a line:
//! `[session, number, input]`.

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions, TryLockError, create_dir_all};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use glob::Pattern;
use porcini_script::folders;
use serde_json::{Value, json};

/// Cells remembered.
const MOST_CELLS: usize = 1000;
/// Bytes of the file that are read, the last ones, and beyond which it is shortened to those.
const MOST_READ: u64 = 512 << 10;
const MOST_KEPT: u64 = 4 << 20;
/// Bytes of a cell that the file takes.
const MOST_INPUT: usize = 64 << 10;
/// How long somebody waits for the file, and how often he tries.
const PATIENCE: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(2);

struct Cell {
    session: u64,
    number: usize,
    input: String,
    output: Option<String>,
}

/// What was executed, oldest first.
#[derive(Default)]
pub(crate) struct History {
    cells: VecDeque<Cell>,
    /// The session that is running, one more than the last in the file; of kernels that run side by side each takes its
    /// number with its first cell.
    session: u64,
    is_taken: bool,
    file: Option<PathBuf>,
}

/// Where cells are kept: beside the history of the shell. `None` without a home.
pub(crate) fn file() -> Option<PathBuf> {
    let folder = folders::own("XDG_STATE_HOME", ".local/state")?;
    create_dir_all(&folder).ok()?;
    Some(folder.join("notebook_history"))
}

/// The last lines of a file. A pipe or a device has none.
fn last_lines(path: &Path) -> io::Result<String> {
    let n = path.metadata().map(|about| if about.is_file() { about.len() } else { 0 })?;
    let mut bytes = Vec::new();
    if n > 0 {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(n.saturating_sub(MOST_READ)))?;
        file.take(MOST_READ).read_to_end(&mut bytes)?;
    }
    // A line whose beginning was left out is none.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Leaves a long file only its last lines. It is locked meanwhile, so that no line of others is lost.
fn shorten(path: &Path) -> io::Result<()> {
    let is_long = || Ok::<_, io::Error>(path.metadata()?.len() > MOST_KEPT);
    if is_long()? {
        let _locked = open(path)?;
        // Another kernel may have shortened it.
        if is_long()? {
            folders::replace(path, last_lines(path)?.as_bytes())?;
        }
    }
    Ok(())
}

/// Session, number and input of the cells in the lines of a file; what is none is left out.
fn cells(text: &str) -> impl Iterator<Item = (u64, usize, String)> + '_ {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// The file for a line more, locked if that takes no more than a moment: others write to it, too.
fn open(path: &Path) -> io::Result<File> {
    let end = Instant::now() + PATIENCE;
    loop {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        while let Err(TryLockError::WouldBlock) = file.try_lock()
            && Instant::now() < end
        {
            sleep(LOOK);
        }
        // Meanwhile another kernel may have put a shorter one in its place.
        if is_at(&file, path)? || Instant::now() >= end {
            return Ok(file);
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (file, there) = (file.metadata()?, path.metadata());
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino())))
}

impl History {
    /// The history in a file, which gets what is added.
    pub(crate) fn in_file(file: Option<PathBuf>) -> Self {
        let mut history = Self { file: None, ..Self::default() };
        let text = file.as_deref().and_then(|file| last_lines(file).ok()).unwrap_or_default();
        if let Some(path) = &file {
            // It is shortened by another kernel, then.
            drop(shorten(path));
        }
        let mut last = 0;
        for (session, number, input) in cells(&text) {
            last = session.max(last);
            history.session = session;
            if number > 0 {
                history.add(number, &input);
            }
        }
        history.session = last.saturating_add(1);
        history.file = file;
        history
    }

    /// Remembers a cell.
    pub(crate) fn push(&mut self, number: usize, input: &str) {
        if let Some(path) = self.file.clone() {
            // A history that cannot be kept is no reason to stop.
            drop(self.keep(&path, number, input));
        }
        self.add(number, input);
    }

    fn keep(&mut self, path: &Path, number: usize, input: &str) -> io::Result<()> {
        let mut file = open(path)?;
        let is_first = !std::mem::replace(&mut self.is_taken, true);
        if is_first {
            let text = last_lines(path).unwrap_or_default();
            let last = cells(&text).map(|(session, ..)| session).max();
            self.session = self.session.max(last.unwrap_or(0).saturating_add(1));
        }
        let line = match input.len() > MOST_INPUT {
            true if !is_first => return Ok(()),
            // That the session is taken; a cell 0 is none.
            true => json!([self.session, 0, ""]),
            false => json!([self.session, number, input]),
        };
        file.write_all(format!("{line}\n").as_bytes())
    }

    fn add(&mut self, number: usize, input: &str) {
        if self.cells.len() == MOST_CELLS {
            self.cells.pop_front();
        }
        let session = self.session;
        self.cells.push_back(Cell { session, number, input: input.into(), output: None });
    }

    /// Remembers what the last cell showed.
    pub(crate) fn set_output(&mut self, text: &str) {
        if let Some(cell) = self.cells.back_mut() {
            cell.output = Some(text.into());
        }
    }

    /// The content of `history_reply` to a request's content.
    pub(crate) fn reply(&self, asked: &Value) -> Value {
        let cells = match asked["hist_access_type"].as_str() {
            Some("range") => self.range(asked),
            Some("search") => self.search(asked),
            Some(other) if other != "tail" => Vec::new(),
            _ => last(self.cells.iter().collect(), asked),
        };
        let with_output = asked["output"].as_bool().unwrap_or(false);
        let row = |cell: &Cell| {
            if with_output {
                json!([cell.session, cell.number, [cell.input, cell.output]])
            } else {
                json!([cell.session, cell.number, cell.input])
            }
        };
        let rows: Vec<Value> = cells.into_iter().map(row).collect();
        json!({"status": "ok", "history": rows})
    }

    /// Cells from `start` to before `stop`; session 0 is this one, negative ones are earlier.
    fn range(&self, asked: &Value) -> Vec<&Cell> {
        let session = match asked["session"].as_i64().unwrap_or(0) {
            session if session > 0 => session.cast_unsigned(),
            before => self.session.saturating_add_signed(before),
        };
        let start = asked["start"].as_u64().unwrap_or(0);
        let stop = asked["stop"].as_u64().unwrap_or(u64::MAX);
        let is_asked =
            |cell: &&Cell| cell.session == session && (start..stop).contains(&(cell.number as u64));
        self.cells.iter().filter(is_asked).collect()
    }

    /// Cells that fit a pattern with `*` and `?`; of equal ones the last if they should be unique.
    fn search(&self, asked: &Value) -> Vec<&Cell> {
        let pattern = asked["pattern"].as_str().unwrap_or("*");
        let pattern = Pattern::new(pattern)
            .or_else(|_| Pattern::new(&Pattern::escape(pattern)))
            .unwrap_or_default();
        let mut found: Vec<&Cell> =
            self.cells.iter().filter(|cell| pattern.matches(&cell.input)).collect();
        if asked["unique"].as_bool().unwrap_or(false) {
            let mut seen = HashSet::new();
            found.reverse();
            found.retain(|cell| seen.insert(&cell.input));
            found.reverse();
        }
        last(found, asked)
    }
}

/// The last `n` cells; all if no number is asked for.
fn last<'a>(mut cells: Vec<&'a Cell>, asked: &Value) -> Vec<&'a Cell> {
    let n = asked["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    cells.split_off(cells.len().saturating_sub(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(asked: &Value) -> Vec<u64> {
        let mut history = History::in_file(None);
        for (number, input) in [(1, "1 + 1"), (2, "1 + 2"), (3, "1 + 1"), (4, "a[0]")] {
            history.push(number, input);
        }
        history.set_output("0");
        let reply = history.reply(asked);
        reply["history"].as_array().unwrap().iter().map(|row| row[1].as_u64().unwrap()).collect()
    }

    #[test]
    fn cells_are_found() {
        assert_eq!(numbers(&json!({"hist_access_type": "tail", "n": 2})), [3, 4]);
        assert_eq!(numbers(&json!({"hist_access_type": "range", "start": 2, "stop": 4})), [2, 3]);
        assert_eq!(numbers(&json!({"hist_access_type": "range", "session": -1})), [0; 0]);
        let search = |pattern| json!({"hist_access_type": "search", "pattern": pattern});
        assert_eq!(numbers(&search("1*1")), [1, 3]);
        assert_eq!(numbers(&search("1 ? 2")), [2]);
        assert_eq!(numbers(&search("a[[]*")), [4]);
        assert_eq!(numbers(&search("a[")), [0; 0]);
        let unique = json!({"hist_access_type": "search", "pattern": "1*", "unique": true});
        assert_eq!(numbers(&unique), [2, 3]);
        assert_eq!(numbers(&json!({})), [1, 2, 3, 4]);
        assert_eq!(numbers(&json!({"hist_access_type": "other"})), [0; 0]);
    }

    #[test]
    fn kernels_side_by_side_have_their_own_sessions() {
        let path = std::env::temp_dir().join(format!("porcini-sessions-{}", std::process::id()));
        drop(std::fs::remove_file(&path));
        let mut kernels: Vec<_> = (0..3).map(|_| History::in_file(Some(path.clone()))).collect();
        for number in 1..=2 {
            kernels.iter_mut().for_each(|history| history.push(number, "a"));
        }
        assert!(kernels.iter().map(|history| history.session).eq([1, 2, 3]));
        let own = json!({"hist_access_type": "range", "session": 0});
        for (session, history) in (1..).zip(&kernels) {
            let want = json!([[session, 1, "a"], [session, 2, "a"]]);
            assert_eq!(history.reply(&own)["history"], want);
        }
        // One whose first cell is too long for the file has a session, too.
        let mut long = History::in_file(Some(path.clone()));
        long.push(1, &"a".repeat(MOST_INPUT + 1));
        assert_eq!(long.session, 4);
        let next = History::in_file(Some(path.clone()));
        assert_eq!((next.session, next.cells.len()), (5, 6));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn cells_outlive_the_kernel() {
        let path = std::env::temp_dir().join(format!("porcini-history-{}", std::process::id()));
        drop(std::fs::remove_file(&path));
        let asked = |history: &History, asked| history.reply(&asked)["history"].clone();
        let tail = || json!({"hist_access_type": "tail", "n": 9});
        let mut first = History::in_file(Some(path.clone()));
        first.push(1, "a = \"x\n\"");
        first.push(2, "a");
        let mut second = History::in_file(Some(path.clone()));
        second.push(1, "b");
        let all = json!([[1, 1, "a = \"x\n\""], [1, 2, "a"], [2, 1, "b"]]);
        assert_eq!(asked(&second, tail()), all);
        let range = |session| json!({"hist_access_type": "range", "session": session});
        assert_eq!(asked(&second, range(0)), json!([[2, 1, "b"]]));
        assert_eq!(asked(&second, range(-1)), asked(&second, range(1)));
        assert_eq!(asked(&second, range(-9)), json!([]));
        // What is no history is left out, and a long file is shortened.
        let line = format!("{}\n", json!([3, 1, "y".repeat(1000)]));
        std::fs::write(&path, "no\n".to_string() + &*line.repeat(5000)).unwrap();
        let third = History::in_file(Some(path.clone()));
        let rows = asked(&third, json!({}));
        assert!((500..530).contains(&rows.as_array().unwrap().len()) && third.session == 4);
        assert_eq!(path.metadata().unwrap().len(), MOST_READ);
        std::fs::remove_file(path).unwrap();
    }
}
