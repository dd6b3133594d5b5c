//! Which lanes of a launch are whose.

use std::ops::Range;

use crate::backend::reduce::CHUNK;
use crate::convert::exactly;

/// Units of lanes that a part has, about: more make parts more equal, and covers of reductions longer.
const UNITS: u64 = 64;

/// The lanes of each part: by their number and that of parts alone, so that arrays of one size meet in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    n: u64,
    parts: u64,
    /// Lanes between borders: a power of two, and at least a chunk of reductions.
    unit: u64,
}

impl Partition {
    pub(super) fn new(n: u64, parts: usize) -> Self {
        let parts = parts as u64;
        let share = (n / (UNITS * parts)).max(CHUNK as u64);
        Self { n, parts, unit: 1 << share.ilog2() }
    }

    /// The lanes of all parts, in order.
    pub(super) fn all(self) -> impl Iterator<Item = Range<u64>> {
        (0..exactly::<usize>(self.parts)).map(move |part| self.lanes(part))
    }

    /// The lanes of a part; none if there are fewer units than parts.
    pub(super) fn lanes(self, part: usize) -> Range<u64> {
        let units = u128::from(self.n.div_ceil(self.unit));
        let border = |part: u64| {
            let unit = units * u128::from(part) / u128::from(self.parts);
            u64::try_from(unit * u128::from(self.unit)).map_or(self.n, |lane| lane.min(self.n))
        };
        border(part as u64)..border(part as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_neighbours_at_borders_of_chunks_and_about_equal() {
        for parts in [1, 2, 3, 7, 17] {
            for n in [0, 1, 4095, 4096, 4097, 3 << 14, (1 << 21) + 1, 1_000_000_007, u64::MAX] {
                let partition = Partition::new(n, parts);
                let lanes: Vec<Range<u64>> = (0..parts).map(|part| partition.lanes(part)).collect();
                assert_eq!((lanes[0].start, lanes[parts - 1].end), (0, n));
                for pair in lanes.windows(2) {
                    assert_eq!(pair[0].end, pair[1].start);
                    assert!(pair[1].start.is_multiple_of(CHUNK as u64) || pair[1].start == n);
                }
                let sizes = lanes.iter().map(|lanes| lanes.end - lanes.start);
                let most = sizes.max().unwrap_or(0);
                assert!(
                    n < 1 << 24 || most <= (n / parts as u64).saturating_add(n / 32),
                    "{lanes:?}"
                );
            }
        }
    }
}
