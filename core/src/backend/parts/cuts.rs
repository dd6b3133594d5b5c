//! Where the sorted runs of parts are cut, so that each part gets what is its own of every run. The leader looks at words of all
//! runs, few for each cut however many runs there are, and has the parts count what lies before those that are near.

use super::begun::all;
use super::shared::Shared;
use crate::backend::primitive::{Cut, Probe};
use crate::backend::{Begun, Look, SortedRun, Sought};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;

/// Words that are looked at at a time for each cut, of all runs together.
const SAMPLES: u64 = 256;

/// Numbers of words that are asked for at a time, about: two of each run for every cut, which the leader has in memory. Few in
/// tests, which so ask several times.
const AT_ONCE: usize = if cfg!(test) { 1 << 4 } else { 1 << 18 };

/// A word near a cut, and the number of that.
type Pivot = (usize, Probe);

/// For each of some numbers where runs are cut behind as many words: how many words of each run come before.
///
/// # Errors
/// `Interrupted`, a failure of a part.
pub(super) fn behind(
    shared: &Shared,
    runs: &[SortedRun],
    numbers: impl Iterator<Item = u64>,
) -> Result<Vec<Vec<u64>>> {
    let lengths: Vec<u64> = runs.iter().map(|run| run.lanes).collect();
    let mut cuts: Vec<Cut> = numbers.map(|number| Cut::new(number, &lengths)).collect();
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 20
    };
    while !cuts.iter().all(Cut::is_found) {
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let samples = cuts.iter().map(|cut| cut.sample(SAMPLES, &mut random)).collect();
        let mut pivots = Vec::new();
        for (number, seen) in seen(shared, runs, samples)?.into_iter().enumerate() {
            pivots.extend(cuts[number].pivots(seen).into_iter().map(|pivot| (number, pivot)));
        }
        let group = |pivot: &Pivot| pivot.0 * 2 * runs.len() / AT_ONCE;
        for pivots in pivots.chunk_by(|one, next| group(one) == group(next)) {
            let before = before(shared, runs, &cuts, pivots)?;
            for ((number, pivot), before) in pivots.iter().zip(before) {
                cuts[*number].bound(pivot, &before);
            }
        }
    }
    Ok(cuts.into_iter().map(Cut::places).collect())
}

/// What there is at the places that each cut wants to know of.
fn seen(
    shared: &Shared,
    runs: &[SortedRun],
    samples: Vec<Vec<(usize, u64)>>,
) -> Result<Vec<Vec<Probe>>> {
    let mut probes: Vec<Vec<Probe>> = samples.iter().map(|_| Vec::new()).collect();
    let mut asked: Vec<Vec<(usize, u64)>> = vec![Vec::new(); runs.len()];
    for (cut, places) in samples.into_iter().enumerate() {
        places.into_iter().for_each(|(run, place)| asked[run].push((cut, place)));
    }
    let looks = asked.iter().map(|asked| Look::At(asked.iter().map(|&(_, place)| place).collect()));
    let words = look(shared, runs, looks.collect())?;
    for (run, (asked, words)) in asked.into_iter().zip(words).enumerate() {
        for ((cut, place), word) in asked.into_iter().zip(words) {
            probes[cut].push(Probe { word, run, place });
        }
    }
    Ok(probes)
}

/// How many words of each run come before each pivot, as far as that matters to its cut.
fn before(
    shared: &Shared,
    runs: &[SortedRun],
    cuts: &[Cut],
    pivots: &[Pivot],
) -> Result<Vec<Vec<u64>>> {
    let mut before: Vec<Vec<u64>> = pivots.iter().map(|_| Vec::with_capacity(runs.len())).collect();
    let (mut asked, mut looks) = (Vec::new(), Vec::new());
    for run in 0..runs.len() {
        let (mut numbers, mut sought) = (Vec::new(), Vec::new());
        for (number, (cut, pivot)) in pivots.iter().enumerate() {
            let within = cuts[*cut].within(run);
            let is_own = run == pivot.run;
            before[number].push(if is_own { pivot.place } else { within.start });
            if !is_own && !within.is_empty() {
                numbers.push(number);
                // Equal words are in the order of runs.
                let is_behind_equal = run < pivot.run;
                sought.push(Sought { within, number: pivot.word, is_behind_equal });
            }
        }
        asked.push(numbers);
        looks.push(Look::Before(sought));
    }
    let counts = look(shared, runs, looks)?;
    for (run, (numbers, counts)) in asked.into_iter().zip(counts).enumerate() {
        for (number, count) in numbers.into_iter().zip(counts) {
            before[number][run] = exactly(count);
        }
    }
    Ok(before)
}

/// Asks all parts, beside each other.
fn look(shared: &Shared, runs: &[SortedRun], looks: Vec<Look>) -> Result<Vec<Vec<u128>>> {
    let begin = |(part, (run, look)): (usize, (&SortedRun, Look))| -> Begun<'_, Vec<u128>> {
        if look.is_empty() {
            return Box::new(|| Ok(Vec::new()));
        }
        let width = if let Look::At(_) = look { run.words.bytes() } else { 8 };
        shared.notes.exchanged(if part > 0 { look.len() as u64 * width } else { 0 });
        shared.devices[part].begin_look(*run, look)
    };
    all(runs.iter().zip(looks).enumerate().map(begin))
}
