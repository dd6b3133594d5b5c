//! Indices out of bounds (S13): found by launches, told at the next look at a value.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::{self, ThreadId};

use super::launches::{Check, Launch};
use crate::backend::{Failures, Launched, Running};
use crate::error::Error;
use crate::ir::kernel::Access;

/// Launches whose failures may be unknown at a time: then the device is waited for.
const MOST_RUNNING: usize = 1024;
/// Accesses of such launches.
const MOST_ACCESSES: usize = 1 << 18;

/// Accesses whose places in texts are remembered.
const MOST_NAMED: usize = 1 << 12;

/// Results of failed launches that are remembered.
const MOST_FAULTY: usize = 10_000;

/// Errors that are kept until they are told.
const MOST_UNTOLD: usize = 1000;

/// The bounds errors that were not told yet, and the launches that may have failed.
#[derive(Default)]
pub struct Reports {
    /// In recording order, one of each evaluation: its first.
    untold: Vec<Untold>,
    /// The number of the evaluation under way.
    evaluation: u64,
    /// Serials of what failed launches wrote.
    faulty: BTreeSet<u64>,
    /// What texts of kernels say where accesses are, by the serials of who recorded them.
    named: BTreeMap<u64, Named>,
    running: Vec<Checked>,
    /// Accesses of those.
    n_accesses: usize,
    /// Threads that look at values and are told nothing.
    lookers: Vec<ThreadId>,
}

/// The words for a place in a text, made when they are asked for.
pub type Named = Box<dyn Fn() -> String + Send>;

/// An error that was not told yet.
struct Untold {
    /// Of who recorded the access.
    serial: u64,
    evaluation: u64,
    /// Serials of what the launches that failed in that evaluation wrote, so far.
    results: Vec<u64>,
    error: Error,
}

/// A launch under way that checks indices.
struct Checked {
    running: Box<dyn Running>,
    members: Members,
}

/// What a launch checks and writes, one member after the other.
struct Members {
    /// Each access, who recorded it, and the size of its array.
    accesses: Vec<(Access, Check, u64)>,
    /// Serials of what is written, as many by each member.
    results: Vec<u64>,
    n_members: usize,
    evaluation: u64,
}

/// What is known of a launch.
struct Known(Failures);

impl Running for Known {
    fn failures(&self) -> Failures {
        self.0.clone()
    }

    fn is_done(&self) -> bool {
        true
    }
}

impl Reports {
    /// An evaluation begins: what fails in it has an error of its own.
    pub(super) fn begin(&mut self) {
        self.evaluation += 1;
    }

    /// Takes note of a launch with accesses over buffers of the given addresses and lengths, which writes variables
    /// of these serials.
    pub(super) fn add(
        &mut self,
        launched: Launched,
        launch: &Launch,
        buffers: &[(u64, u64)],
        results: Vec<u64>,
    ) {
        let of_each = launch.kernel.accesses.iter().cycle().zip(launch.all_checks());
        let sized = of_each
            .map(|(&access, &check)| (access, check, buffers[access.buffer.index()].1))
            .collect();
        let (n_members, evaluation) = (launch.n_members(), self.evaluation);
        let members = Members { accesses: sized, results, n_members, evaluation };
        let running: Box<dyn Running> = match launched {
            // What was launched before is told first.
            Launched::Done { failures, .. } if self.running.is_empty() => {
                return self.tell(&failures, &members);
            }
            Launched::Done { failures, .. } => Box::new(Known(failures)),
            Launched::Running(running) => running,
            Launched::Queued(pending) => Box::new(pending),
        };
        self.n_accesses += members.accesses.len();
        self.running.push(Checked { running, members });
    }

    /// Remembers what errors of an access say, of the latest few thousand.
    pub fn name(&mut self, serial: u64, named: Named) {
        self.named.insert(serial, named);
        if self.named.len() > MOST_NAMED {
            self.named.pop_first();
        }
    }

    /// What the text of a kernel calls what it recorded.
    pub(super) fn name_of(&self, serial: u64) -> Option<String> {
        self.named.get(&serial).map(|named| named())
    }

    /// Whether an access was out of bounds in the launch that wrote a variable.
    pub fn is_faulty(&self, serial: u64) -> bool {
        self.faulty.contains(&serial)
    }

    /// Whether the device must be waited for before [`Reports::take`].
    pub fn waits(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether enough launches run that the device should be waited for.
    pub(super) fn is_full(&self) -> bool {
        self.running.len() >= MOST_RUNNING || self.n_accesses >= MOST_ACCESSES
    }

    /// Asks the launches under way: the device has been waited for.
    pub fn collect(&mut self) {
        self.collect_while(|running| !running.is_waiting());
    }

    fn collect_while(&mut self, is_known: impl Fn(&dyn Running) -> bool) {
        let known = self.running.iter().take_while(|checked| is_known(&*checked.running)).count();
        let known: Vec<Checked> = self.running.drain(..known).collect();
        for Checked { running, members } in known {
            self.n_accesses -= members.accesses.len();
            self.tell(&running.failures(), &members);
        }
    }

    /// Asks those launches under way that are known to be done, up to the first that is not.
    pub fn collect_done(&mut self) {
        self.collect_while(|running: &dyn Running| running.is_done());
    }

    /// Forgets the launches under way: the device is lost.
    pub fn abandon(&mut self) {
        self.running.clear();
        self.n_accesses = 0;
    }

    /// The first error; it is then forgotten. None for a thread that looks and is not to be told.
    pub fn take(&mut self) -> Option<Error> {
        let looks = self.lookers.contains(&thread::current().id());
        let is_told = !looks && !self.untold.is_empty();
        is_told.then(|| self.untold.remove(0).error)
    }

    /// The error of a result, which stays to be told.
    pub fn of(&self, serial: u64) -> Option<&Error> {
        self.untold.iter().find(|it| it.results.contains(&serial)).map(|untold| &untold.error)
    }

    /// This thread looks and is not to be told; [`Reports::looked`] ends that.
    pub(crate) fn look(&mut self) {
        self.lookers.push(thread::current().id());
    }

    pub(crate) fn looked(&mut self) {
        let own = thread::current().id();
        if let Some(place) = self.lookers.iter().rposition(|&looker| looker == own) {
            self.lookers.remove(place);
        }
    }

    /// Puts back errors that [`Reports::take`] gave.
    pub fn put(&mut self, errors: Vec<Error>) {
        let errors = errors.into_iter();
        let untold = |error| Untold { serial: 0, evaluation: 0, results: Vec::new(), error };
        self.untold.splice(0..0, errors.map(untold));
    }

    fn tell(&mut self, failures: &Failures, members: &Members) {
        let &Members { ref accesses, ref results, n_members, evaluation } = members;
        let n_accesses = accesses.len() / n_members;
        let failed = failures.iter().zip(accesses).enumerate();
        let failed: Vec<_> =
            failed.filter_map(|(i, (&failure, of))| Some((i, failure?, of))).collect();
        let mut members: Vec<usize> =
            failed.iter().map(|(number, ..)| number / n_accesses).collect();
        members.dedup();
        let n = results.len() / n_members;
        let mut written: Vec<u64> =
            members.iter().flat_map(|member| &results[member * n..][..n]).copied().collect();
        self.faulty.extend(&written);
        while self.faulty.len() > MOST_FAULTY {
            self.faulty.pop_first();
        }
        let first = failed.into_iter().min_by_key(|&(_, _, &(_, check, _))| check.serial);
        if let Some((_, failure, &(access, check, size))) = first {
            // Launches run in another order than they were recorded in, and may compute the same again.
            let known = |it: &Untold| it.serial == check.serial || it.evaluation == evaluation;
            match self.untold.iter().position(known) {
                Some(place) if self.untold[place].serial <= check.serial => {
                    self.untold[place].results.append(&mut written);
                    return;
                }
                Some(place) => written.append(&mut self.untold.remove(place).results),
                None => {}
            }
            let error = Error::Bounds {
                op: match self.named.get(&check.original) {
                    Some(named) => named().into(),
                    None => check.name.unwrap_or(access.op).into(),
                },
                axis: access.axis,
                index: index_value(access, failure.index),
                size,
                lane: failure.lane,
                line: check.line,
            };
            let place = self.untold.partition_point(|it| it.serial <= check.serial);
            let untold = Untold { serial: check.serial, evaluation, results: written, error };
            self.untold.insert(place, untold);
            self.untold.truncate(MOST_UNTOLD);
        }
    }
}

/// An index as the script wrote it: negative ones of signed types come as huge positions.
fn index_value(access: Access, index: u64) -> i128 {
    if access.index.is_signed() { i128::from(index.cast_signed()) } else { i128::from(index) }
}
