//! Where sorted runs are to be cut so that a number of words lies before.
//!
//! Of runs in this memory few words of each are looked at ([`Cut::narrow`]). Of many runs elsewhere few words of all are, and
//! which of them lie around the cut says a guess ([`Cut::pivots`]); who has the runs then counts what lies before those
//! ([`Cut::bound`]).

use std::ops::Range;

use crate::convert::exactly;

/// A word of a run. Words come in their order, equal ones in that of runs and of places within them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::backend) struct Probe {
    /// Its value.
    pub(in crate::backend) word: u128,
    /// The number of its run.
    pub(in crate::backend) run: usize,
    /// Its number in the run.
    pub(in crate::backend) place: u64,
}

/// A cut in each of some runs.
pub(in crate::backend) struct Cut {
    /// How many words come before it.
    rank: u64,
    /// In each run where it may be.
    within: Vec<Range<u64>>,
}

impl Cut {
    /// Behind `rank` words of runs of these lengths.
    pub(in crate::backend) fn new(rank: u64, lengths: &[u64]) -> Self {
        let n: u64 = lengths.iter().sum();
        let within = |&length: &u64| (rank + length).saturating_sub(n)..length.min(rank);
        Self { rank, within: lengths.iter().map(within).collect() }
    }

    /// Whether it is known where it is.
    pub(in crate::backend) fn is_found(&self) -> bool {
        self.within.iter().all(Range::is_empty)
    }

    /// Where it is in each run: the number of words before it.
    pub(in crate::backend) fn places(self) -> Vec<u64> {
        self.within.into_iter().map(|within| within.start).collect()
    }

    /// Places of a run to look at, at most so many, which are at least 16.
    pub(in crate::backend) fn probes(
        &self,
        run: usize,
        most: u64,
    ) -> impl Iterator<Item = u64> + use<> {
        let Range { start, end } = self.within[run];
        let (n, length) = ((end - start).min(most), end - start);
        (0..n).map(move |i| start + length * (2 * i + 1) / (2 * n))
    }

    /// Learns from what was there, of each run in order; what is left to look at is less than half. `probes` are empty then.
    pub(in crate::backend) fn narrow(&mut self, probes: &mut Vec<Probe>) {
        // Runs of such are merged.
        probes.sort();
        // How many words of each run come before a probe, at least and at most.
        let mut least: Vec<u64> = self.within.iter().map(|within| within.start).collect();
        let mut most: Vec<u64> = self.within.iter().map(|within| within.end).collect();
        let behind = |probe: &Probe| std::mem::replace(&mut most[probe.run], probe.place);
        let mut behind: Vec<u64> = probes.iter().rev().map(behind).collect();
        let [mut n_least, mut n_most] = [&least, &most].map(|all| all.iter().sum::<u64>());
        for Probe { run, place, .. } in probes.drain(..) {
            let within = &mut self.within[run];
            if n_most < self.rank {
                within.start = place + 1;
            } else if n_least - least[run] + place >= self.rank {
                within.end = within.end.min(place);
            }
            let next = behind.pop().unwrap_or(place);
            n_least += place + 1 - std::mem::replace(&mut least[run], place + 1);
            n_most += next - std::mem::replace(&mut most[run], next);
        }
    }
}

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

    /// Cuts runs behind every `step`th word, and says how often the runs were looked at at most.
    fn check(runs: &[Vec<u128>], step: usize, most: u64) -> usize {
        let lengths: Vec<u64> = runs.iter().map(|run| run.len() as u64).collect();
        let numbered = |(number, run): (usize, &Vec<u128>)| {
            run.iter().map(move |&word| (word, number)).collect::<Vec<_>>()
        };
        let mut all: Vec<(u128, usize)> = runs.iter().enumerate().flat_map(numbered).collect();
        all.sort_unstable();
        let mut longest = 0;
        for rank in (0..=all.len()).step_by(step) {
            let mut cut = Cut::new(rank as u64, &lengths);
            let (mut probes, mut looks) = (Vec::new(), 0);
            while !cut.is_found() {
                for (run, words) in runs.iter().enumerate() {
                    let word = |place: u64| words[exactly::<usize>(place)];
                    let probe = |place| Probe { word: word(place), run, place };
                    probes.extend(cut.probes(run, most).map(probe));
                }
                cut.narrow(&mut probes);
                looks += 1;
            }
            let before = &all[..rank];
            let of = |number| before.iter().filter(|(_, run)| *run == number).count() as u64;
            let want: Vec<u64> = (0..runs.len()).map(of).collect();
            assert_eq!(cut.places(), want, "behind {rank} words of {lengths:?}");
            longest = longest.max(looks);
        }
        longest
    }

    /// The same by guesses; how often words of all runs were looked at.
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
            let apart = (0..1000).map(|run| alike(60, run % 8 << 40)).collect();
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

    #[test]
    fn runs_are_cut_behind_any_number_of_words() {
        let mut state = 5_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for kinds in [2, 7, 1000, 1 << 30] {
            for lengths in
                [vec![3, 0, 5], vec![1], vec![0, 0], vec![700, 20, 3000], vec![40; 20], vec![5000]]
            {
                let mut run = |length: u64| {
                    let mut run: Vec<u128> = (0..length).map(|_| next(kinds).into()).collect();
                    run.sort_unstable();
                    run
                };
                let runs: Vec<Vec<u128>> = lengths.into_iter().map(&mut run).collect();
                let step = runs.iter().map(Vec::len).sum::<usize>() / 50 + 1;
                assert!(check(&runs, step, 16) <= 8);
                assert!(check(&runs, step, 1024) <= 2);
            }
        }
    }

    #[test]
    fn runs_one_after_the_other_are_cut() {
        let runs: Vec<Vec<u128>> = (0..5).map(|i| (i * 900..(i + 1) * 900).collect()).collect();
        check(&runs, 61, 16);
        let runs: Vec<Vec<u128>> = runs.into_iter().rev().collect();
        check(&runs, 61, 16);
        check(&[vec![7; 4000], vec![7; 2], vec![7; 900]], 97, 16);
    }
}
