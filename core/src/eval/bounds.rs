//! Indices out of bounds (S13): found by launches, told at the next look at a value.

use std::collections::{BTreeMap, HashSet};
use std::thread::{self, ThreadId};

use super::launches::{Check, Launch};
use super::reach::{Flow, Known as Reached, Origin};
use crate::backend::{Failures, Launched, OutOfBounds, Running};
use crate::error::Error;
use crate::ir::kernel::Access;

/// Launches that check indices whose failures may be unknown at a time: then the device is waited for.
const MOST_RUNNING: usize = 1024;
/// Accesses of such launches.
const MOST_ACCESSES: usize = 1 << 18;

/// Accesses whose places in texts are remembered.
const MOST_NAMED: usize = 1 << 12;

/// Results of failed launches that are remembered, of evaluations before the one under way.
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
    /// What comes of indices out of bounds, by serials.
    faulty: BTreeMap<u64, Faulty>,
    /// The last evaluation in which there was any.
    last_faulty: u64,
    /// What texts of kernels say where accesses are, by the serials of who recorded them.
    named: BTreeMap<u64, Named>,
    running: Vec<Checked>,
    /// Those of them that check something.
    n_checked: usize,
    /// Accesses of those.
    n_accesses: usize,
    /// Evaluations behind one and up to another, whose errors somebody will ask for: others are not told of them.
    owed: Vec<(u64, u64)>,
    /// Threads that look at values and are told nothing.
    lookers: Vec<ThreadId>,
}

/// The words for a place in a text, made when they are asked for.
pub type Named = Box<dyn Fn() -> String + Send>;

/// Why lanes of a variable may be wrong.
#[derive(Clone)]
struct Faulty {
    /// Of who recorded the access.
    serial: u64,
    evaluation: u64,
    error: Error,
}

/// An error that was not told yet.
struct Untold {
    /// Of who recorded the access.
    serial: u64,
    evaluation: u64,
    /// Serials of what comes of indices out of bounds in that evaluation, so far.
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
    flow: Flow,
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
        // Whoever asks for the errors of the last one has done so.
        while self.owed.is_empty() && self.faulty.len() > MOST_FAULTY {
            self.faulty.pop_first();
        }
    }

    /// Takes note of a launch with accesses over buffers of the given addresses and lengths.
    pub(super) fn add(
        &mut self,
        launched: Launched,
        launch: &Launch,
        buffers: &[(u64, u64)],
        flow: Flow,
    ) {
        let of_each = launch.kernel.accesses.iter().cycle().zip(launch.all_checks());
        let sized = of_each
            .map(|(&access, &check)| (access, check, buffers[access.buffer.index()].1))
            .collect();
        let members = Members { accesses: sized, flow, evaluation: self.evaluation };
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
        self.n_checked += usize::from(!members.accesses.is_empty());
        self.running.push(Checked { running, members });
    }

    /// Whether launches that check nothing may make something of what comes of an index out of bounds.
    pub(super) fn follows(&self) -> bool {
        // Those under way are in the order of their evaluations, and what comes of an index stays in its own.
        let runs = self.running.last().is_some_and(|it| it.members.evaluation == self.evaluation);
        runs || self.last_faulty == self.evaluation
    }

    /// Takes note of such a launch.
    pub(super) fn follow(&mut self, flow: Flow) {
        let members = Members { accesses: Vec::new(), flow, evaluation: self.evaluation };
        match self.running.is_empty() {
            true => self.tell(&Failures::new(), &members),
            false => {
                let running = Box::new(Known(Failures::new()));
                self.running.push(Checked { running, members });
            }
        }
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

    /// Whether a variable comes of an index out of bounds in the evaluation that made it.
    pub fn is_faulty(&self, serial: u64) -> bool {
        self.faulty.contains_key(&serial)
    }

    /// Whether the device must be waited for before [`Reports::take`].
    pub fn waits(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether that is so of launches that check indices in evaluations behind one and up to another.
    pub fn waits_within(&self, (since, until): (u64, u64)) -> bool {
        let is_within = |it: &Members| it.evaluation > since && it.evaluation <= until;
        let checks = |it: &Members| is_within(it) && !it.accesses.is_empty();
        self.running.iter().any(|it| checks(&it.members))
    }

    /// Somebody will ask for the errors of evaluations; [`Reports::asked`] ends that.
    pub fn owe(&mut self, evaluations: (u64, u64)) {
        self.owed.push(evaluations);
    }

    /// They have been asked for.
    pub fn asked(&mut self, evaluations: (u64, u64)) {
        if let Some(place) = self.owed.iter().position(|&owed| owed == evaluations) {
            self.owed.swap_remove(place);
        }
    }

    /// Whether enough launches run that the device should be waited for.
    pub(super) fn is_full(&self) -> bool {
        self.n_checked >= MOST_RUNNING || self.n_accesses >= MOST_ACCESSES
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
            self.n_checked -= usize::from(!members.accesses.is_empty());
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
        (self.n_checked, self.n_accesses) = (0, 0);
    }

    /// The first error; it is then forgotten. None for a thread that looks and is not to be told.
    pub fn take(&mut self) -> Option<Error> {
        let looks = self.lookers.contains(&thread::current().id());
        let is_owed = |it: &Untold| {
            self.owed.iter().any(|&(since, until)| it.evaluation > since && it.evaluation <= until)
        };
        let place = self.untold.iter().position(|it| !is_owed(it)).filter(|_| !looks)?;
        Some(self.untold.remove(place).error)
    }

    /// The error of a result, which stays to be told.
    pub fn of(&self, serial: u64) -> Option<&Error> {
        self.untold.iter().find(|it| it.results.contains(&serial)).map(|untold| &untold.error)
    }

    /// The number of the last evaluation.
    pub const fn evaluation(&self) -> u64 {
        self.evaluation
    }

    /// The errors of results, each its own, and beside each who recorded the access: those of later evaluations than one, and
    /// those of which nobody was told. All of their evaluations count as told.
    pub fn take_of(&mut self, serials: &[u64], since: u64) -> Vec<Option<(u64, Error)>> {
        let found: HashSet<u64> =
            serials.iter().copied().filter(|serial| self.faulty.contains_key(serial)).collect();
        if found.is_empty() {
            return vec![None; serials.len()];
        }
        let results = self.untold.iter().flat_map(|it| &it.results).copied();
        let untold: HashSet<u64> = results.filter(|result| found.contains(result)).collect();
        let faulty = |serial: &u64| {
            let is_meant = |it: &&Faulty| it.evaluation > since || untold.contains(serial);
            self.faulty.get(serial).filter(is_meant)
        };
        let told: HashSet<u64> =
            serials.iter().copied().filter(|serial| faulty(serial).is_some()).collect();
        let error = |serial| faulty(serial).map(|it| (it.serial, it.error.clone()));
        let errors = serials.iter().map(error).collect();
        self.untold.retain(|it| !it.results.iter().any(|result| told.contains(result)));
        errors
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
        let Members { accesses, flow, evaluation } = members;
        let mut reached = Reached::default();
        let mut written = self.passed_on(flow, *evaluation, &mut reached);
        let failed = failures.iter().zip(accesses).enumerate();
        let mut failed: Vec<_> =
            failed.filter_map(|(i, (&failure, of))| Some((i, failure?, of))).collect();
        failed.sort_by_key(|&(_, _, &(_, check, _))| check.serial);
        let n_accesses = (accesses.len() / flow.n_members()).max(1);
        let mut first = None;
        for (number, failure, of) in failed {
            let error = self.error(failure, of);
            let (member, origin) = (number / n_accesses, Origin::Access(number % n_accesses));
            let results = flow.reached(member, origin, &mut reached);
            let serial = of.1.serial;
            let faulty = Faulty { serial, evaluation: *evaluation, error };
            self.mark(&results, &faulty);
            written.extend(results);
            first.get_or_insert(faulty);
        }
        match first {
            Some(first) => self.keep(first, written),
            None => {
                let untold = self.untold.iter_mut().find(|it| it.evaluation == *evaluation);
                untold.into_iter().for_each(|untold| untold.results.append(&mut written));
            }
        }
    }

    /// Marks what a launch made of what comes of an index out of bounds in the same evaluation: the serials.
    fn passed_on(&mut self, flow: &Flow, evaluation: u64, reached: &mut Reached) -> Vec<u64> {
        let mut written = Vec::new();
        if self.faulty.is_empty() {
            return written;
        }
        for member in 0..flow.n_members() {
            for &(buffer, serial) in flow.reads(member) {
                let faulty = self.faulty.get(&serial).filter(|it| it.evaluation == evaluation);
                if let Some(faulty) = faulty.cloned() {
                    let results = flow.reached(member, Origin::Buffer(buffer), reached);
                    self.mark(&results, &faulty);
                    written.extend(results);
                }
            }
        }
        written
    }

    fn mark(&mut self, results: &[u64], faulty: &Faulty) {
        self.last_faulty = self.last_faulty.max(faulty.evaluation);
        for &result in results {
            self.faulty.entry(result).or_insert_with(|| faulty.clone());
        }
    }

    fn error(&self, failure: OutOfBounds, &(access, check, size): &(Access, Check, u64)) -> Error {
        Error::Bounds {
            op: match self.named.get(&check.original) {
                Some(named) => named().into(),
                None => check.name.unwrap_or(access.op).into(),
            },
            axis: access.axis,
            index: index_value(access, failure.index),
            size,
            lane: failure.lane,
            line: check.line,
        }
    }

    /// Keeps the first error of an evaluation until it is told, with what comes of all.
    fn keep(&mut self, Faulty { serial, evaluation, error }: Faulty, mut written: Vec<u64>) {
        // Launches run in another order than they were recorded in, and may compute the same again.
        let known = |it: &Untold| it.serial == serial || it.evaluation == evaluation;
        match self.untold.iter().position(known) {
            Some(place) if self.untold[place].serial <= serial => {
                self.untold[place].results.append(&mut written);
                return;
            }
            Some(place) => written.append(&mut self.untold.remove(place).results),
            None => {}
        }
        let place = self.untold.partition_point(|it| it.serial <= serial);
        self.untold.insert(place, Untold { serial, evaluation, results: written, error });
        self.untold.truncate(MOST_UNTOLD);
    }
}

/// An index as the script wrote it: negative ones of signed types come as huge positions.
fn index_value(access: Access, index: u64) -> i128 {
    if access.index.is_signed() { i128::from(index.cast_signed()) } else { i128::from(index) }
}
