//! Sorted words in the memory of a device, and what can be asked of them: who merges those of several devices looks at few.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Memory;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;

/// The words that lanes are sorted as.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Words {
    /// The type of a word, without a sign.
    pub dtype: DType,
    /// How many a lane has, the highest first.
    pub n: u64,
}

/// Words of some lanes, in their order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SortedRun {
    /// The address of the first.
    pub address: u64,
    /// How many lanes there are.
    pub lanes: u64,
    /// What each has.
    pub words: Words,
}

/// What to look for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sought {
    /// The lanes among which it is looked for: all before them come before it, and none behind them.
    pub within: Range<u64>,
    /// The words of a lane as one number.
    pub number: u128,
    /// Whether lanes with the same come before it.
    pub is_behind_equal: bool,
}

/// A question about a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Look {
    /// The words at these places, as numbers.
    At(Vec<u64>),
    /// How many lanes come before each of these.
    Before(Vec<Sought>),
}

impl Look {
    /// How many answers there are to be.
    pub fn len(&self) -> usize {
        match self {
            Self::At(places) => places.len(),
            Self::Before(all) => all.len(),
        }
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Words {
    /// Bytes of those of a lane.
    pub fn bytes(self) -> u64 {
        self.n * self.dtype.bytes() as u64
    }

    /// Those of a lane as one number, in their order.
    fn number(self, bytes: &[u8]) -> u128 {
        let words = bytes.chunks_exact(self.dtype.bytes());
        words.fold(0, |number, word| {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte));
            number << 64 | word
        })
    }
}

impl SortedRun {
    /// What a question tells.
    pub(super) fn look(&self, memory: &dyn Memory, look: &Look) -> Result<Vec<u128>> {
        match look {
            Look::At(places) => places.iter().map(|&place| self.at(memory, place)).collect(),
            Look::Before(all) => all.iter().map(|sought| self.before(memory, sought)).collect(),
        }
    }

    fn at(&self, memory: &dyn Memory, place: u64) -> Result<u128> {
        let mut bytes = [0; 16];
        let own = &mut bytes[..exactly::<usize>(self.words.bytes())];
        memory.read(self.address + place * self.words.bytes(), own)?;
        Ok(self.words.number(own))
    }

    fn before(&self, memory: &dyn Memory, sought: &Sought) -> Result<u128> {
        let Sought { number, is_behind_equal, .. } = *sought;
        let Range { start: mut first, mut end } = sought.within;
        while first < end {
            let middle = first.midpoint(end);
            let there = self.at(memory, middle)?;
            let is_before = there < number || is_behind_equal && there == number;
            if is_before { first = middle + 1 } else { end = middle }
        }
        Ok(first.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::host::HostMemory;

    #[test]
    fn lanes_are_seen_and_counted() {
        let lanes = [[1_u64, 5], [1, 7], [1, 7], [2, 0], [2, u64::MAX]];
        let address = HostMemory.alloc_raw(size_of_val(&lanes)).unwrap();
        let bytes: Vec<u8> = lanes.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        HostMemory.write(address, &bytes).unwrap();
        let run = SortedRun { address, lanes: 5, words: Words { dtype: DType::U64, n: 2 } };
        let number = |[high, low]: [u64; 2]| u128::from(high) << 64 | u128::from(low);
        let look = |look: Look| run.look(&HostMemory, &look).unwrap();
        assert_eq!(look(Look::At(vec![1, 4])), [lanes[1], lanes[4]].map(number));
        let before = |lane, is_behind_equal| {
            look(Look::Before(vec![Sought { within: 0..5, number: number(lane), is_behind_equal }]))
                [0]
        };
        for (lane, below, equal) in
            [([0, 9], 0, 0), ([1, 7], 1, 3), ([1, 8], 3, 3), ([2, u64::MAX], 4, 5), ([3, 0], 5, 5)]
        {
            assert_eq!([before(lane, false), before(lane, true)], [below, equal], "{lane:?}");
        }
        let within = Sought { within: 2..4, number: 0, is_behind_equal: true };
        assert_eq!(look(Look::Before(vec![within])), [2]);
        HostMemory.free_raw(address, size_of_val(&lanes));
        let words = Words { dtype: DType::U16, n: 1 };
        assert_eq!((words.bytes(), words.number(&[1, 2])), (2, 0x201));
        assert!(
            SortedRun { lanes: 0, ..run }.look(&HostMemory, &Look::At(vec![])).unwrap().is_empty()
        );
    }
}
