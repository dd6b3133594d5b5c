//! Cuts of many runs that lie elsewhere: few words of all are looked at, and which of them lie around the cut says a guess
//! ([`Cut::pivots`]); who has the runs then counts what lies before those ([`Cut::bound`]).

use std::ops::Range;

use super::{Cut, Probe};
use crate::convert::exactly;

impl Cut {
    /// Some of the words between which it may be: one out of each of so many equal shares of all runs' together, or all of
    /// them where there are no more. No order of runs makes chosen ones mislead for long.
    pub(in crate::backend) fn sample(
        &self,
        most: u64,
        mut random: impl FnMut() -> u64,
    ) -> Vec<(usize, u64)> {
        let n: u64 = self.within.iter().map(|within| within.end - within.start).sum();
        let shares = n.min(most);
        let border = |share: u64| n / shares * share + n % shares * share / shares;
        let choose = |share| {
            let [start, end] = [share, share + 1].map(border);
            start + random() % (end - start)
        };
        let mut chosen = (0..shares).map(choose).peekable();
        let (mut places, mut before) = (Vec::with_capacity(exactly(shares)), 0);
        for (run, within) in self.within.iter().enumerate() {
            let end = before + within.end - within.start;
            while let Some(number) = chosen.next_if(|&number| number < end) {
                places.push((run, within.start + number - before));
            }
            before = end;
        }
        places
    }

    /// Of [some words](Cut::sample) two around where it is likely to be; none if these are all, which says where it is.
    pub(in crate::backend) fn pivots(&mut self, mut seen: Vec<Probe>) -> Vec<Probe> {
        seen.sort_unstable();
        let first: u64 = self.within.iter().map(|within| within.start).sum();
        let n = self.within.iter().map(|within| within.end).sum::<u64>() - first;
        let (before, shares) = (self.rank - first, seen.len() as u64);
        if n == shares {
            seen.iter().take(exactly(before)).for_each(|probe| self.within[probe.run].start += 1);
            self.within.iter_mut().for_each(|within| within.end = within.start);
            return Vec::new();
        }
        let share = u128::from(before) * u128::from(shares) / u128::from(n);
        let middle = u64::try_from(share).map_or(shares, |share| share.min(shares));
        // What a number of words chosen by chance is wrong by.
        let around = [middle.checked_sub(shares.isqrt()), Some(middle + shares.isqrt())];
        around
            .into_iter()
            .flatten()
            .filter_map(|at| seen.get(exactly::<usize>(at)).copied())
            .collect()
    }

    /// Where in a run it may be.
    pub(in crate::backend) fn within(&self, run: usize) -> Range<u64> {
        self.within[run].clone()
    }

    /// Learns how many words of each run come before one of them: between which it may be, no others matter.
    pub(in crate::backend) fn bound(&mut self, pivot: &Probe, before: &[u64]) {
        let rank: u64 = before.iter().sum();
        for (within, &before) in self.within.iter_mut().zip(before) {
            if rank <= self.rank {
                within.start = within.start.max(before);
            }
            if rank >= self.rank {
                within.end = within.end.min(before);
            }
        }
        if rank < self.rank {
            let within = &mut self.within[pivot.run];
            within.start = within.start.max(pivot.place + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts runs behind a number of words; how often words of all of them were looked at.
    fn guess(runs: &[Vec<u128>], rank: u64, most: u64) -> (Vec<u64>, usize) {
        let lengths: Vec<u64> = runs.iter().map(|run| run.len() as u64).collect();
        let (mut cut, mut looks, mut state) = (Cut::new(rank, &lengths), 0, 1_u64);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 20
        };
        while !cut.is_found() {
            let probe = |(run, place)| {
                let words: &Vec<u128> = &runs[run];
                Probe { word: words[exactly::<usize>(place)], run, place }
            };
            let places = cut.sample(most, &mut random);
            assert!(places.len() as u64 <= most && places.is_sorted());
            for pivot in cut.pivots(places.into_iter().map(probe).collect()) {
                let Probe { word, run: own, place } = pivot;
                let before = |(run, words): (usize, &Vec<u128>)| {
                    let before = match run {
                        run if run == own => return place,
                        run if run < own => words.partition_point(|&other| other <= word),
                        _ => words.partition_point(|&other| other < word),
                    };
                    (before as u64).clamp(cut.within(run).start, cut.within(run).end)
                };
                let before: Vec<u64> = runs.iter().enumerate().map(before).collect();
                cut.bound(&pivot, &before);
            }
            looks += 1;
        }
        (cut.places(), looks)
    }

    /// A thousand runs: words of all of them are looked at, not some of each.
    #[test]
    fn guesses_cut_as_looking_does() {
        let mut state = 11_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u128::from(state >> 33)
        };
        for kinds in [1, 5, 1 << 30] {
            let mut alike = |n: usize, of_run: u128| {
                let mut run: Vec<u128> = (0..n).map(|_| next() % kinds + of_run).collect();
                run.sort_unstable();
                run
            };
            let random: Vec<Vec<u128>> = (0..1000).map(|run| alike(run % 90, 0)).collect();
            // One behind the other, as of a sorted row, and every eighth run apart.
            let ordered = (0..1000).map(|run| alike(exactly(run % 90), run << 40)).collect();
            let apart = (0..1000).map(|run| alike(60, (run % 8) << 40)).collect();
            let few = vec![alike(3000, 0), vec![], alike(5, 0), alike(70_000, 0)];
            for runs in [random, ordered, apart, few, vec![vec![]], vec![vec![3]]] {
                let numbered = |(run, words): (usize, &Vec<u128>)| {
                    words.iter().map(move |&word| (word, run)).collect::<Vec<_>>()
                };
                let mut all: Vec<(u128, usize)> =
                    runs.iter().enumerate().flat_map(numbered).collect();
                all.sort_unstable();
                for rank in (0..=all.len()).step_by(all.len() / 7 + 1) {
                    let mut want = vec![0; runs.len()];
                    all[..rank].iter().for_each(|&(_, run)| want[run] += 1);
                    for most in [64, 1024] {
                        let (got, looks) = guess(&runs, rank as u64, most);
                        assert!(got == want, "behind {rank} words");
                        assert!(looks <= 16, "{looks} looks");
                    }
                }
            }
        }
    }
}
