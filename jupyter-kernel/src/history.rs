//! The cells of this session and of earlier ones, for `history_request`. A file keeps them, a cell a line:
//! `[session, number, input]`.

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

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
    /// The session that is running, one more than the last in the file.
    session: u64,
    file: Option<PathBuf>,
}

/// Where cells are kept: beside the history of the shell. `None` without a home.
pub(crate) fn file() -> Option<PathBuf> {
    let folder = folders::own("XDG_STATE_HOME", ".local/state")?;
    create_dir_all(&folder).ok()?;
    Some(folder.join("notebook_history"))
}

/// The last lines of a file, which becomes shorter if it is long. A pipe or a device has none.
fn last_lines(path: &Path) -> io::Result<String> {
    let n = path.metadata().map(|about| if about.is_file() { about.len() } else { 0 })?;
    let mut bytes = Vec::new();
    if n > 0 {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(n.saturating_sub(MOST_READ)))?;
        file.take(MOST_READ).read_to_end(&mut bytes)?;
    }
    // A line whose beginning was left out is none.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if n > MOST_KEPT {
        folders::replace(path, text.as_bytes())?;
    }
    Ok(text)
}

impl History {
    /// The history in a file, which gets what is added.
    pub(crate) fn in_file(file: Option<PathBuf>) -> Self {
        let mut history = Self { file: None, ..Self::default() };
        let text = file.as_deref().and_then(|file| last_lines(file).ok()).unwrap_or_default();
        for line in text.lines() {
            let Ok((session, number, input)) = serde_json::from_str::<(u64, usize, String)>(line)
            else {
                continue;
            };
            history.session = session;
            history.add(number, &input);
        }
        history.session += 1;
        history.file = file;
        history
    }

    /// Remembers a cell.
    pub(crate) fn push(&mut self, number: usize, input: &str) {
        self.add(number, input);
        if let Some(path) = self.file.as_ref().filter(|_| input.len() <= MOST_INPUT) {
            let line = format!("{}\n", json!([self.session, number, input]));
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
            // A history that cannot be kept is no reason to stop.
            drop(file.and_then(|mut file| file.write_all(line.as_bytes())));
        }
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
