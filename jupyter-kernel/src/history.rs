//! The cells of this session, for `history_request`.

use std::collections::{HashSet, VecDeque};

use glob::Pattern;
use serde_json::{Value, json};

/// Cells remembered.
const MOST_CELLS: usize = 1000;
/// The session that is running, in history's count.
const SESSION: u64 = 1;

struct Cell {
    number: usize,
    input: String,
    output: Option<String>,
}

/// What was executed, oldest first.
#[derive(Default)]
pub(crate) struct History {
    cells: VecDeque<Cell>,
}

impl History {
    /// Remembers a cell.
    pub(crate) fn push(&mut self, number: usize, input: &str) {
        if self.cells.len() == MOST_CELLS {
            self.cells.pop_front();
        }
        self.cells.push_back(Cell { number, input: input.into(), output: None });
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
                json!([SESSION, cell.number, [cell.input, cell.output]])
            } else {
                json!([SESSION, cell.number, cell.input])
            }
        };
        let rows: Vec<Value> = cells.into_iter().map(row).collect();
        json!({"status": "ok", "history": rows})
    }

    /// Cells from `start` to before `stop`; session 0 is this one, negative ones are earlier.
    fn range(&self, asked: &Value) -> Vec<&Cell> {
        let session = asked["session"].as_i64().unwrap_or(0);
        if session != 0 && session != SESSION.cast_signed() {
            return Vec::new();
        }
        let start = asked["start"].as_u64().unwrap_or(0);
        let stop = asked["stop"].as_u64().unwrap_or(u64::MAX);
        self.cells.iter().filter(|cell| (start..stop).contains(&(cell.number as u64))).collect()
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
        let mut history = History::default();
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
}
