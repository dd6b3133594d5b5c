//! What a call draws from, so that it draws the same numbers when it is done again for its derivative. Then this thread
//! alone sees the generators as they were; when the call is over, they are where they had come to.

use porcini_core::Array;
use porcini_core::random::{Pcg32, SplitMix64};
use pyo3::prelude::*;

use crate::session_numbers::seeds_now;
use crate::stand_ins::{self, Moved};

/// Generators of a call, and the seeds of the session. The states are arrays of the call: a recorded function has others in
/// their place.
#[derive(Default)]
pub(crate) struct Draws {
    seeds: Option<SplitMix64>,
    /// By their addresses.
    generators: Vec<(usize, Py<PyAny>)>,
}

impl Draws {
    /// What work gives, what it drew from, and the states and increments from which those began.
    pub(crate) fn of<R>(work: impl FnOnce() -> R) -> (R, Self, Vec<Array>) {
        let seeds = Some(seeds_now());
        let (result, moved) = stand_ins::noting(work);
        let (mut generators, mut states) = (Vec::new(), Vec::new());
        for Moved { address, before, object } in moved {
            generators.push((address, object));
            states.extend([before.state, before.inc]);
        }
        (result, Self { seeds, generators }, states)
    }

    /// Does work once more, which draws from where it began: these are the last of the arrays.
    pub(crate) fn again<R>(&self, arrays: &[Array], work: impl FnOnce() -> R) -> R {
        let states = &arrays[arrays.len() - 2 * self.generators.len()..];
        let began =
            states.chunks(2).map(|rng| Some(Pcg32 { state: rng[0].clone(), inc: rng[1].clone() }));
        let before = self.lend(began);
        let seeds = stand_ins::seeds();
        stand_ins::lend_seeds(self.seeds.or(seeds));
        let result = stand_ins::unnoted(work);
        stand_ins::lend_seeds(seeds);
        drop(self.lend(before.into_iter()));
        result
    }

    /// Lets this thread see others in the place of the generators; what it saw before.
    fn lend(&self, others: impl Iterator<Item = Option<Pcg32>>) -> Vec<Option<Pcg32>> {
        let lend = |(&(address, _), other): (&(usize, _), Option<Pcg32>)| {
            let before = stand_ins::generator(address);
            stand_ins::lend_generator_or_not(address, other);
            before
        };
        self.generators.iter().zip(others).map(lend).collect()
    }
}
