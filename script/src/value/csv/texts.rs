//! Columns of texts, and lists of them: each text is kept once, with its number in each row.

use std::cmp::Reverse;

use indexmap::IndexSet;
use rhai::Dynamic;

use crate::fault::{Result, check_interrupt, fault};
use crate::value::type_name;

/// Items between two looks at the interrupt flag.
const PIECE: usize = 1 << 16;

/// Texts, each kept once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Texts {
    pub(crate) names: IndexSet<String>,
    /// The number of the name of each row.
    pub(crate) codes: Vec<u32>,
}

impl Texts {
    /// The texts of a list that an operation is given.
    pub(crate) fn of(op: &str, list: &[Dynamic]) -> Result<Self> {
        let mut texts = Self::default();
        for (i, item) in list.iter().enumerate() {
            if i.is_multiple_of(PIECE) {
                check_interrupt()?;
            }
            let text = item.as_immutable_string_ref().map_err(|_| {
                let got = type_name(item);
                let expected = "expected a list of texts, or an array";
                fault(format!("{op}: got {got} as item {i}, {expected}"))
            })?;
            let too_many = || fault(format!("{op}: more than 2^32 different texts"));
            texts.push(&text).ok_or_else(too_many)?;
        }
        Ok(texts)
    }

    /// The names and how often each is there, the most frequent first, of equally frequent ones in order.
    pub(crate) fn counts(mut self) -> Vec<(String, u64)> {
        self.sort();
        let mut counts = vec![0; self.names.len()];
        self.codes.iter().for_each(|&code| counts[code as usize] += 1);
        let mut counts: Vec<_> = self.names.into_iter().zip(counts).collect();
        counts.sort_by_key(|&(_, count)| Reverse(count));
        counts
    }

    /// Adds a text; `None` if there are too many.
    pub(crate) fn push(&mut self, text: &str) -> Option<()> {
        let code = match self.names.get_index_of(text) {
            Some(code) => code,
            None => self.names.insert_full(text.into()).0,
        };
        self.codes.push(u32::try_from(code).ok()?);
        Some(())
    }

    pub(super) fn extend(&mut self, piece: Self) -> Option<()> {
        self.codes.try_reserve(piece.codes.len()).ok()?;
        let code = |name| u32::try_from(self.names.insert_full(name).0).ok();
        let codes: Vec<u32> = piece.names.into_iter().map(code).collect::<Option<_>>()?;
        self.codes.extend(piece.codes.into_iter().map(|code| codes[code as usize]));
        Some(())
    }

    /// The names in order, and the numbers that they have then.
    pub(crate) fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&i| &self.names[i]);
        let mut places = vec![0; order.len()];
        for (place, &i) in (0..).zip(&order) {
            places[i] = place;
        }
        self.codes.iter_mut().for_each(|code| *code = places[*code as usize]);
        self.names.sort();
    }
}
