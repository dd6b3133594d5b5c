//! What waits for what: works by the blocks of memory that they read and write.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use crate::error::{Error, Result};

/// Works are numbered in the order in which they came.
pub(super) type Number = u64;

/// A block that a work touches, by its first address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) block: u64,
    pub(super) writes: bool,
}

/// Works that are not done, of type `W`.
///
/// A work waits for those before it that write what it touches, or read what it writes.
pub(super) struct Works<W> {
    next: Number,
    /// All before it are done.
    first: Number,
    waiting: HashMap<Number, Entry<W>>,
    /// Works that wait for no other, those that threads share apart; some may be gone meanwhile.
    ready: [VecDeque<Number>; 2],
    users: HashMap<u64, Users>,
    /// How many blocks there were when those were last dropped that nobody touches.
    n_kept: usize,
    /// The last works, whose blocks are not in `users`.
    unlisted: Vec<Number>,
    /// Nanoseconds that those not done take together, about.
    time: u64,
    /// Blocks whose contents are lost, and why.
    failed: HashMap<u64, Error>,
}

struct Entry<W> {
    /// Taken while it runs.
    work: Option<W>,
    uses: Vec<Use>,
    load: Load,
    /// Works that it waited for when it came, some of them done meanwhile.
    before: Vec<Number>,
    /// How many are not done.
    n_before: usize,
    after: Vec<Number>,
}

/// What a work takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    /// Nanoseconds on one thread, about.
    pub(super) time: u64,
    /// Whether it keeps all threads busy by itself.
    pub(super) is_wide: bool,
}

/// The last works that touch a block, some of them done meanwhile.
#[derive(Default)]
struct Users {
    writer: Option<Number>,
    /// Those that read what the writer leaves.
    readers: Vec<Number>,
}

/// A work to be run.
pub(super) struct Taken<W> {
    pub(super) number: Number,
    pub(super) work: W,
    pub(super) is_wide: bool,
}

impl<W> Default for Works<W> {
    fn default() -> Self {
        Self {
            next: 0,
            first: 0,
            waiting: HashMap::new(),
            ready: Default::default(),
            users: HashMap::new(),
            n_kept: 0,
            unlisted: Vec::new(),
            time: 0,
            failed: HashMap::new(),
        }
    }
}

impl<W> Works<W> {
    /// How many are not done.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The number of the next work.
    pub(super) fn next(&self) -> Number {
        self.next
    }

    /// Whether all works before that number are done.
    pub(super) fn are_done_before(&mut self, end: Number) -> bool {
        while self.first < end && !self.waiting.contains_key(&self.first) {
            self.first += 1;
        }
        self.first >= end
    }

    /// Nanoseconds that those not done take on one thread, about.
    pub(super) fn time(&self) -> u64 {
        self.time
    }

    /// How many are not done, and how many blocks are lost.
    pub(super) fn n_open(&self) -> usize {
        self.waiting.len() + self.failed.len()
    }

    /// How many can be taken, at most.
    pub(super) fn n_ready(&self, with_wide: bool) -> usize {
        self.ready[0].len() + if with_wide { self.ready[1].len() } else { 0 }
    }

    /// Whether memory is left for a work that touches so many blocks. Tables grow by what they hold, which may be more
    /// than a full system has.
    pub(super) fn make_room(&mut self, n_uses: usize) -> bool {
        let unlisted = self.unlisted.iter().filter_map(|number| self.waiting.get(number));
        let n_users = unlisted.map(|entry| entry.uses.len()).sum::<usize>() + n_uses;
        self.waiting.try_reserve(1).is_ok()
            && self.users.try_reserve(n_users).is_ok()
            && self.unlisted.try_reserve(1).is_ok()
            && self.ready.iter_mut().all(|ready| ready.try_reserve(1).is_ok())
    }

    /// Adds a work.
    pub(super) fn push(&mut self, work: W, uses: Vec<Use>, load: Load) -> Number {
        let number = self.next;
        self.next += 1;
        let mut before = self.before(&uses);
        before.sort_unstable();
        before.dedup();
        for before in &before {
            if let Some(entry) = self.waiting.get_mut(before) {
                entry.after.push(number);
            }
        }
        let n_before = before.len();
        let entry = Entry { work: Some(work), uses, load, before, n_before, after: Vec::new() };
        self.waiting.insert(number, entry);
        self.unlisted.push(number);
        self.time += load.time;
        if n_before == 0 {
            self.ready[usize::from(load.is_wide)].push_back(number);
        }
        number
    }

    /// Writes down what works touch that came since the last time. Many are done before anybody asks.
    fn list(&mut self) {
        if self.waiting.is_empty() {
            self.unlisted.clear();
            self.users.clear();
            self.n_kept = 0;
        }
        for number in std::mem::take(&mut self.unlisted) {
            let Some(entry) = self.waiting.get(&number) else { continue };
            for &Use { block, writes } in &entry.uses {
                let users = self.users.entry(block).or_default();
                if writes {
                    users.writer = Some(number);
                    users.readers.clear();
                } else {
                    if users.readers.len().is_power_of_two() && users.readers.len() >= 16 {
                        users.readers.retain(|reader| self.waiting.contains_key(reader));
                    }
                    users.readers.push(number);
                }
            }
        }
        self.forget_users();
    }

    /// Forgets who touched blocks that nobody touches now, each time that half of them are such.
    fn forget_users(&mut self) {
        const FEW: usize = 1024;
        if self.users.len() > FEW + 2 * self.n_kept {
            let waiting = &self.waiting;
            self.users.retain(|_, users| {
                let is_waiting = |number: &Number| waiting.contains_key(number);
                users.readers.retain(is_waiting);
                users.writer = users.writer.filter(is_waiting);
                users.writer.is_some() || !users.readers.is_empty()
            });
            self.n_kept = self.users.len();
        }
    }

    /// A work that waits for no other, the oldest first, small ones before those that threads share.
    pub(super) fn take(&mut self, with_wide: bool) -> Option<Taken<W>> {
        for kind in 0..=usize::from(with_wide) {
            while let Some(number) = self.ready[kind].pop_front() {
                if let Some(taken) = self.take_ready(number) {
                    return Some(taken);
                }
            }
        }
        None
    }

    /// A work for which one of `wanted` waits, or it itself, that waits for no other; if those are far, the oldest.
    pub(super) fn take_for(&mut self, wanted: &[Number], with_wide: bool) -> Option<Taken<W>> {
        const MOST_SEEN: usize = 64;
        if wanted.len() > MOST_SEEN {
            return self.take(with_wide);
        }
        let mut open: Vec<Number> = wanted.to_vec();
        let mut seen: HashSet<Number> = open.iter().copied().collect();
        while let Some(number) = open.pop() {
            let Some(entry) = self.waiting.get(&number) else { continue };
            if entry.n_before > 0 {
                open.extend(entry.before.iter().copied().filter(|&before| seen.insert(before)));
            } else if with_wide || !entry.load.is_wide {
                // Its number stays where the ready ones are, and is passed over there.
                if let Some(taken) = self.take_ready(number) {
                    return Some(taken);
                }
            }
            if seen.len() >= MOST_SEEN {
                return self.take(with_wide);
            }
        }
        None
    }

    fn take_ready(&mut self, number: Number) -> Option<Taken<W>> {
        let entry = self.waiting.get_mut(&number)?;
        let is_wide = entry.load.is_wide;
        let ready = &mut self.ready[usize::from(is_wide)];
        if ready.front() == Some(&number) {
            ready.pop_front();
        }
        entry.work.take().map(|work| Taken { number, work, is_wide })
    }

    /// Takes a work back that was not done, to be run again.
    pub(super) fn put_back(&mut self, taken: Taken<W>) {
        if let Some(entry) = self.waiting.get_mut(&taken.number) {
            entry.work = Some(taken.work);
            self.ready[usize::from(taken.is_wide)].push_front(taken.number);
        }
    }

    /// Why a work cannot be run: what it reads is lost.
    pub(super) fn lost(&self, number: Number) -> Option<Error> {
        self.failure(&self.waiting.get(&number)?.uses)
    }

    /// Takes note that a work is done, or why it never will be: what it writes is lost then.
    pub(super) fn finish(&mut self, number: Number, result: Result<()>) {
        let Some(entry) = self.waiting.remove(&number) else { return };
        self.time -= entry.load.time;
        match result {
            // Not sooner: works before it may still have to hear that what they read is lost.
            Ok(()) => self.mend(&entry.uses),
            Err(error) => {
                let written = entry.uses.iter().filter(|one| one.writes);
                self.failed.extend(written.map(|one| (one.block, error.clone())));
            }
        }
        for after in entry.after {
            if let Some(entry) = self.waiting.get_mut(&after) {
                entry.n_before -= 1;
                if entry.n_before == 0 {
                    self.ready[usize::from(entry.load.is_wide)].push_back(after);
                }
            }
        }
    }

    /// The works that must be done before blocks can be touched.
    pub(super) fn before(&mut self, uses: &[Use]) -> Vec<Number> {
        self.list();
        let mut before = Vec::new();
        if self.users.is_empty() {
            return before;
        }
        for one in uses {
            if let Some(users) = self.users.get(&one.block) {
                before.extend(users.writer);
                if one.writes {
                    before.extend(&users.readers);
                }
            }
        }
        before.retain(|number| self.waiting.contains_key(number));
        before
    }

    /// The oldest works that are not done.
    pub(super) fn oldest(&self, most: usize) -> Vec<Number> {
        let mut numbers: Vec<Number> = self.waiting.keys().copied().collect();
        numbers.sort_unstable();
        numbers.truncate(most);
        numbers
    }

    /// Whether a work is not done.
    pub(super) fn is_waiting(&self, number: Number) -> bool {
        self.waiting.contains_key(&number)
    }

    /// Why what is read of blocks is lost.
    pub(super) fn failure(&self, uses: &[Use]) -> Option<Error> {
        let mut read = uses.iter().filter(|one| !one.writes);
        if self.failed.is_empty() {
            None
        } else {
            read.find_map(|one| self.failed.get(&one.block).cloned())
        }
    }

    /// Takes note that blocks have contents again.
    pub(super) fn mend(&mut self, uses: &[Use]) {
        if !self.failed.is_empty() {
            uses.iter()
                .filter(|one| one.writes)
                .for_each(|one| drop(self.failed.remove(&one.block)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Load = Load { time: 1, is_wide: false };
    const WIDE: Load = Load { time: 1, is_wide: true };

    fn read(block: u64) -> Use {
        Use { block, writes: false }
    }

    fn write(block: u64) -> Use {
        Use { block, writes: true }
    }

    #[test]
    fn works_wait_for_what_they_touch() {
        let mut works = Works::default();
        works.push("a = 1", vec![write(1)], SMALL);
        works.push("b = a", vec![read(1), write(2)], SMALL);
        works.push("c = a", vec![read(1), write(3)], WIDE);
        works.push("a = 2", vec![write(1)], SMALL);
        works.push("d = 1", vec![write(4)], SMALL);
        let first = works.take(true).unwrap();
        assert_eq!(first.work, "a = 1");
        assert_eq!(works.take(true).unwrap().work, "d = 1");
        assert!(works.take(true).is_none(), "all others wait");
        works.finish(first.number, Ok(()));
        assert!(works.take_for(&[2], false).is_none(), "wide ones are not asked for");
        let reader = works.take_for(&[3], true).unwrap();
        assert_eq!(reader.work, "c = a");
        let other = works.take(true).unwrap();
        assert_eq!(other.work, "b = a");
        works.finish(other.number, Ok(()));
        assert!(works.take(true).is_none(), "a reader runs");
        works.finish(reader.number, Ok(()));
        assert_eq!(works.take(true).unwrap().work, "a = 2");
        assert_eq!(works.before(&[read(1)]), [3]);
        assert_eq!(works.before(&[read(2)]), []);
    }

    #[test]
    fn what_a_failed_work_writes_is_lost_to_its_readers_alone() {
        let mut works = Works::default();
        let first = works.push((), vec![write(1)], SMALL);
        let second = works.push((), vec![read(1), write(2)], SMALL);
        works.push((), vec![write(3)], SMALL);
        works.take(true).unwrap();
        works.finish(first, Err(Error::Interrupted));
        assert_eq!(works.lost(second), Some(Error::Interrupted));
        works.finish(second, Err(Error::Interrupted));
        assert_eq!(works.failure(&[read(2)]), Some(Error::Interrupted));
        assert_eq!(works.failure(&[read(3)]), None);
        let third = works.push((), vec![write(2)], SMALL);
        assert_eq!(works.failure(&[read(2)]), Some(Error::Interrupted));
        works.finish(third, Ok(()));
        assert_eq!(works.failure(&[read(2)]), None, "it is written anew");
    }

    #[test]
    fn a_work_put_back_is_taken_again() {
        let mut works = Works::default();
        works.push(7, vec![write(1)], SMALL);
        works.push(8, vec![write(2)], SMALL);
        let taken = works.take_for(&[1], true).unwrap();
        assert_eq!(taken.work, 8);
        works.put_back(taken);
        assert_eq!(works.take(true).unwrap().work, 8);
        assert_eq!(works.take(true).unwrap().work, 7);
        assert!(works.take(true).is_none());
    }

    #[test]
    fn blocks_that_nobody_touches_are_forgotten() {
        let mut works = Works::default();
        for block in 0..100_000 {
            let number = works.push((), vec![read(1 << 20), write(block)], SMALL);
            works.take(true).unwrap();
            works.finish(number, Ok(()));
        }
        assert!(works.users.len() < 5000, "{}", works.users.len());
        assert!(works.users.values().all(|users| users.readers.len() < 100));
        assert_eq!((works.len(), works.time()), (0, 0));
    }
}
