//! Where sorted runs are to be cut so that a number of words lies before.
//!
//! Of runs in this memory few words of each are looked at ([`Cut::narrow`]). Of many runs elsewhere few words of all are, by
//! guesses (`guess.rs`).

mod guess;

use std::ops::Range;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::exactly;

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
