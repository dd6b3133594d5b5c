//! Sets of bytes of a block.

use std::ops::Range;

/// Ranges of bytes, in order, no two of which touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Range<u64>>);

impl Spans {
    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().cloned()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.iter().map(|span| span.end - span.start).sum()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The spans that reach into a range, or touch it.
    fn near(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.0.partition_point(|span| span.end < range.start);
        let end = self.0.partition_point(|span| span.start <= range.end);
        first..end.max(first)
    }

    pub(super) fn add(&mut self, mut range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let near = self.near(&range);
        if let [first, ..] = &self.0[near.clone()] {
            range.start = range.start.min(first.start);
        }
        if let [.., last] = &self.0[near.clone()] {
            range.end = range.end.max(last.end);
        }
        self.0.splice(near, [range]);
    }

    pub(super) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let near = self.near(range);
        let left = |span: &Range<u64>| {
            let parts =
                [span.start..span.end.min(range.start), span.start.max(range.end)..span.end];
            parts.into_iter().filter(|part| !part.is_empty())
        };
        let left: Vec<Range<u64>> = self.0[near.clone()].iter().flat_map(left).collect();
        self.0.splice(near, left);
    }

    /// What there is of a range.
    pub(super) fn within(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let cut = |span: &Range<u64>| span.start.max(range.start)..span.end.min(range.end);
        self.0[self.near(range)].iter().map(cut).filter(|span| !span.is_empty()).collect()
    }

    /// Whether all of a range is there.
    pub(super) fn covers(&self, range: &Range<u64>) -> bool {
        let next = self.0.partition_point(|span| span.end < range.end);
        range.is_empty() || self.0.get(next).is_some_and(|span| span.start <= range.start)
    }

    /// What there is not of a range.
    pub(super) fn missing(&self, range: &Range<u64>) -> Self {
        let mut missing = Self::default();
        missing.add(range.clone());
        self.0[self.near(range)].iter().for_each(|span| missing.remove(span));
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::exactly;

    #[test]
    fn spans_are_sets_of_bytes() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let (mut spans, mut set) = (Spans::default(), [false; 40]);
        for _ in 0..5000 {
            let start = next(40);
            let range = start..start + next(41 - start);
            let adds = next(2) == 0;
            if adds {
                spans.add(range.clone());
            } else {
                spans.remove(&range);
            }
            range.for_each(|byte| set[exactly::<usize>(byte)] = adds);
            let start = next(40);
            let range = start..start + next(41 - start);
            let there = |spans: Vec<Range<u64>>| spans.into_iter().flatten().collect::<Vec<u64>>();
            let is_in = |byte: u64| set[exactly::<usize>(byte)];
            let want = |is: bool| range.clone().filter(|&byte| is_in(byte) == is).collect();
            assert_eq!(there(spans.within(&range)), Vec::from_iter::<Vec<u64>>(want(true)));
            assert_eq!(there(spans.missing(&range).0), Vec::from_iter::<Vec<u64>>(want(false)));
            assert_eq!(spans.covers(&range), spans.missing(&range).0.is_empty());
            assert!(spans.0.windows(2).all(|pair| pair[0].end < pair[1].start), "{spans:?}");
        }
    }
}
