//! How often kernels are called, by the types of the arguments.

use std::time::{Duration, Instant};

use crate::value::Argument;

/// Calls with arguments of certain types.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// How many there were.
    pub calls: u64,
    /// What the first one took to record.
    pub first: Duration,
}

/// Types that are counted apart.
const MOST_ROWS: usize = 1000;

/// The calls of a kernel.
#[derive(Debug, Default)]
pub(super) struct Calls {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    /// The types in a word, of arrays and numbers.
    word: Option<u64>,
    types: String,
    stats: Stats,
}

impl Calls {
    /// Counts a call that began then.
    pub(super) fn count(&mut self, args: &[&Argument<'_>], begun: Instant) {
        let word = word(args);
        let written = if word.is_none() { types(args) } else { String::new() };
        let is_same = |row: &Row| match word {
            Some(_) => row.word == word,
            None => row.types == written,
        };
        if let Some(row) = self.rows.iter_mut().find(|row| is_same(row)) {
            row.stats.calls += 1;
        } else if self.rows.len() < MOST_ROWS {
            let stats = Stats { calls: 1, first: begun.elapsed() };
            self.rows.push(Row { word, types: types(args), stats });
        }
    }

    /// Types and calls, in the order in which they were met.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, Stats)> {
        self.rows.iter().map(|row| (row.types.as_str(), row.stats))
    }
}

/// A digit for each argument, if all are arrays or numbers.
fn word(args: &[&Argument<'_>]) -> Option<u64> {
    if args.len() > 12 {
        return None;
    }
    args.iter().try_fold(1, |word, arg| match arg {
        Argument::Array(array) => Some(word << 4 | array.dtype() as u64),
        Argument::Number(_) => Some(word << 4 | 15),
        _ => None,
    })
}

fn types(args: &[&Argument<'_>]) -> String {
    let types = args.iter().map(|arg| match arg {
        Argument::Number(_) => "number".into(),
        arg => arg.type_name(),
    });
    types.collect::<Vec<String>>().join(", ")
}
