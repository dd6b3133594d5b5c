//! Which stream work goes to, and what it waits for.
//!
//! Work in one stream runs in the order in which it was given; streams run side by side. Work names the blocks that it
//! reads and writes: it waits for those in other streams that wrote them and, if it writes, for those that read them. What
//! goes on with the last work of a stream stays there; other work goes to another stream each time.
//!
//! A stream that has waited for another knows all that this one knew (a vector clock), so few waits are needed.

use std::collections::BTreeMap;

/// Streams of kernels.
pub(super) const N_COMPUTE: usize = 4;
/// The streams of long copies from and to the host, for which a GPU has engines of their own.
pub(super) const UP: usize = N_COMPUTE;
pub(super) const DOWN: usize = N_COMPUTE + 1;
/// Streams.
pub(super) const N_STREAMS: usize = N_COMPUTE + 2;

/// A block of memory that work uses, by an address in it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// It is read.
    Read(u64),
    /// It is written, and may be read.
    Write(u64),
}

impl Use {
    /// An address in the block.
    pub(super) const fn address(self) -> u64 {
        match self {
            Self::Read(address) | Self::Write(address) => address,
        }
    }
}

/// How many works were given to each stream.
type Times = [u64; N_STREAMS];

/// Which streams must be waited for.
pub(super) type Waits = [bool; N_STREAMS];

/// What work may have to wait for.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Works that each stream was given.
    given: Times,
    /// Of the works of the others, how many each stream has waited for.
    known: [Times; N_STREAMS],
    /// How many works of each are known to be done.
    done: Times,
    /// When the first stream was last given work that was alone.
    alone: u64,
    /// The blocks of memory by their addresses.
    blocks: BTreeMap<u64, Block>,
    /// The stream of the next work that goes on with nothing.
    next: usize,
}

#[derive(Debug, Default)]
struct Block {
    bytes: u64,
    /// Stream and time of the work that wrote it last.
    written: Option<(usize, u64)>,
    /// When the streams read it last since.
    read: Times,
}

/// A place in the order: a stream and a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) stream: usize,
    pub(super) time: u64,
}

impl Order {
    /// Takes note of a block that was made.
    pub(super) fn add(&mut self, address: u64, bytes: u64) {
        self.blocks.insert(address, Block { bytes, ..Block::default() });
    }

    /// Forgets a block; the driver waits for what uses it.
    pub(super) fn remove(&mut self, address: u64) {
        self.blocks.remove(&address);
    }

    /// The stream of work that uses blocks, or that it is to go to, and the streams that it must wait for. `None` if
    /// something is no known block: then it must be alone.
    pub(super) fn begin(&mut self, uses: &[Use], stream: Option<usize>) -> Option<(usize, Waits)> {
        let needed = self.needed(uses)?;
        let goes_on = |&stream: &usize| needed[stream] > 0 && needed[stream] == self.given[stream];
        let stream = stream.or_else(|| (0..N_COMPUTE).find(goes_on)).unwrap_or_else(|| {
            self.next = (self.next + 1) % N_COMPUTE;
            self.next
        });
        Some((stream, self.wait(stream, &needed)))
    }

    /// The streams that work in a stream must wait for before it uses further blocks; `None` as of [`Self::begin`].
    pub(super) fn join(&mut self, stream: usize, uses: &[Use]) -> Option<Waits> {
        let needed = self.needed(uses)?;
        Some(self.wait(stream, &needed))
    }

    /// The streams that work in the first one must wait for to come behind all.
    pub(super) fn begin_alone(&mut self) -> Waits {
        let given = self.given;
        self.wait(0, &given)
    }

    /// Work was given to a stream.
    pub(super) fn end(&mut self, stream: usize, uses: &[Use]) -> Ticket {
        self.given[stream] += 1;
        let time = self.given[stream];
        for one in uses {
            let Some(block) = self.block_mut(one.address()) else { continue };
            match one {
                Use::Read(_) => block.read[stream] = time,
                Use::Write(_) => {
                    (block.written, block.read) = (Some((stream, time)), Times::default());
                }
            }
        }
        Ticket { stream, time }
    }

    /// Work that is alone was given to the first stream: each other one waits for it when it is given work.
    pub(super) fn end_alone(&mut self) -> Ticket {
        self.given[0] += 1;
        self.alone = self.given[0];
        Ticket { stream: 0, time: self.alone }
    }

    /// The last works given to the streams that are not known to be done.
    pub(super) fn open(&self) -> impl Iterator<Item = Ticket> + use<> {
        self.not_done(self.given)
    }

    /// The same of those after which a block is written: the last of the stream that writes it, and what was alone, which
    /// names no blocks.
    pub(super) fn open_for(&self, address: u64) -> impl Iterator<Item = Ticket> + use<> {
        let mut last = Times::default();
        last[0] = self.alone;
        if let Some(stream) = self.writes(address) {
            last[stream] = self.given[stream];
        }
        self.not_done(last)
    }

    fn not_done(&self, last: Times) -> impl Iterator<Item = Ticket> + use<> {
        let done = self.done;
        let open = (0..N_STREAMS).filter(move |&stream| last[stream] > done[stream]);
        open.map(move |stream| Ticket { stream, time: last[stream] })
    }

    /// The last work that a stream was given.
    pub(super) fn last(&self, stream: usize) -> Ticket {
        Ticket { stream, time: self.given[stream] }
    }

    /// Work is done, and all before in its stream.
    pub(super) fn is_done(&mut self, ticket: Ticket) {
        let done = &mut self.done[ticket.stream];
        *done = ticket.time.max(*done);
    }

    /// Whether work is known to be done.
    pub(super) fn knows(&self, ticket: Ticket) -> bool {
        self.done[ticket.stream] >= ticket.time
    }

    /// The stream in which a block is written, if that is not known to be done.
    pub(super) fn writes(&self, address: u64) -> Option<usize> {
        let (stream, time) = self.block(address)?.written?;
        (time > self.done[stream]).then_some(stream)
    }

    /// When work of each stream was given that work with such uses comes behind, unless that is known to be done.
    fn needed(&self, uses: &[Use]) -> Option<Times> {
        let mut needed = Times::default();
        for one in uses {
            let block = self.block(one.address())?;
            if let Some((stream, time)) = block.written {
                needed[stream] = needed[stream].max(time);
            }
            if let Use::Write(_) = one {
                needed
                    .iter_mut()
                    .zip(block.read)
                    .for_each(|(needed, read)| *needed = read.max(*needed));
            }
        }
        let open =
            |(needed, done): (&mut u64, u64)| *needed = if *needed > done { *needed } else { 0 };
        needed.iter_mut().zip(self.done).for_each(open);
        Some(needed)
    }

    /// Has a stream wait for others where it does not know their works, and for what was alone.
    fn wait(&mut self, stream: usize, needed: &Times) -> Waits {
        let mut needed = *needed;
        if self.alone > self.done[0] {
            needed[0] = needed[0].max(self.alone);
        }
        let mut waits = Waits::default();
        for other in (0..N_STREAMS).filter(|&other| other != stream) {
            if needed[other] <= self.known[stream][other] {
                continue;
            }
            waits[other] = true;
            // All that it was given so far, and what it waited for itself.
            let mut knows = self.known[other];
            knows[other] = self.given[other];
            let known = self.known[stream].iter_mut().zip(knows);
            known.for_each(|(known, time)| *known = time.max(*known));
        }
        waits
    }

    fn block(&self, address: u64) -> Option<&Block> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.bytes).then_some(block)
    }

    fn block_mut(&mut self, address: u64) -> Option<&mut Block> {
        let (start, block) = self.blocks.range_mut(..=address).next_back()?;
        (address - start < block.bytes).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    const BLOCK: u64 = 256;

    fn order(n_blocks: u64) -> Order {
        let mut order = Order::default();
        (1..=n_blocks).for_each(|i| order.add(i * BLOCK, BLOCK));
        order
    }

    fn given(order: &mut Order, uses: &[Use]) -> (usize, Vec<usize>) {
        let (stream, waits) = order.begin(uses, None).unwrap();
        order.end(stream, uses);
        (stream, (0..N_STREAMS).filter(|&other| waits[other]).collect())
    }

    #[test]
    fn a_chain_stays_and_others_go_elsewhere() {
        let mut order = order(8);
        let (first, waits) = given(&mut order, &[Use::Write(BLOCK)]);
        assert!(waits.is_empty());
        assert_eq!(given(&mut order, &[Use::Read(BLOCK), Use::Write(2 * BLOCK)]), (first, vec![]));
        let (second, waits) = given(&mut order, &[Use::Read(BLOCK), Use::Write(3 * BLOCK)]);
        assert_ne!(first, second);
        assert_eq!(waits, [first]);
        // What both made comes together, and what one knows is not waited for again.
        let both = [Use::Read(2 * BLOCK), Use::Read(3 * BLOCK + 8), Use::Write(4 * BLOCK)];
        let (third, waits) = given(&mut order, &both);
        assert!([first, second].contains(&third));
        assert!(waits.len() <= 1);
        assert!(order.begin(&[Use::Read(100 * BLOCK)], None).is_none());
    }

    #[test]
    fn what_is_alone_comes_behind_all_and_before_all() {
        let mut order = order(4);
        let (first, _) = given(&mut order, &[Use::Write(BLOCK)]);
        let (second, _) = given(&mut order, &[Use::Write(2 * BLOCK)]);
        let waits = order.begin_alone();
        assert!([first, second].iter().all(|&other| other == 0 || waits[other]));
        order.end_alone();
        // Each stream waits for it once, when it is given work.
        for (stream, waits) in [(DOWN, vec![0]), (DOWN, vec![]), (UP, vec![0]), (0, vec![])] {
            let waited = order.begin(&[Use::Write(3 * BLOCK)], Some(stream)).unwrap().1;
            assert!((0..N_STREAMS).filter(|&other| waited[other]).eq(waits), "{stream}");
        }
    }

    /// Whoever waits for a block waits for what was alone since it was written.
    #[test]
    fn what_was_alone_is_open_for_every_block() {
        let mut order = order(2);
        let (stream, _) = given(&mut order, &[Use::Write(BLOCK)]);
        let written = order.open_for(BLOCK + 8).next().unwrap();
        assert_eq!(written.stream, stream);
        order.is_done(written);
        assert_eq!((order.open_for(BLOCK).count(), order.open().count()), (0, 0));
        order.begin_alone();
        let alone = order.end_alone();
        assert!(order.open_for(BLOCK).eq([alone]) && order.open().eq([alone]));
        order.is_done(alone);
        // What else the first stream does has nothing to do with the block.
        let other = order.begin(&[Use::Write(2 * BLOCK)], Some(0)).unwrap();
        order.end(other.0, &[Use::Write(2 * BLOCK)]);
        assert_eq!((order.open_for(BLOCK).count(), order.open().count()), (0, 1));
    }

    /// As copies from and to other GPUs do that begin together: what they touch does not overlap.
    #[test]
    fn works_that_last_are_behind_each_other_when_they_end() {
        let mut order = order(1);
        let uses = [Use::Write(BLOCK)];
        let begun = [(); 3].map(|()| order.begin(&uses, None).unwrap());
        assert!(begun.iter().all(|(_, waits)| !waits.contains(&true)));
        let streams = begun.map(|(stream, _)| stream);
        for (i, &stream) in streams.iter().enumerate() {
            let waits = order.join(stream, &uses).unwrap();
            let want = streams[..i].last().copied();
            assert!((0..N_STREAMS).filter(|&other| waits[other]).eq(want), "{i}");
            order.end(stream, &uses);
        }
        assert_eq!(order.writes(BLOCK), Some(streams[2]));
        // Who reads it waits for the last alone, which knows the others.
        let (_, waits) = order.begin(&[Use::Read(BLOCK)], Some(DOWN)).unwrap();
        assert!((0..N_STREAMS).filter(|&other| waits[other]).eq([streams[2]]));
    }

    /// Of all pairs of works that use a block, of which one writes, and of those of which one is alone, the first ends before
    /// the second begins: told from the waits alone.
    #[test]
    fn what_conflicts_is_in_order() {
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let mut pick = |n: u64| random.draw() % n;
            let mut order = order(6);
            // What has ended for sure when the next work of each stream begins.
            let mut behind: Vec<Vec<bool>> = vec![Vec::new(); N_STREAMS];
            let mut works: Vec<(bool, Vec<Use>)> = Vec::new();
            for number in 0..60 {
                let is_alone = pick(12) == 0;
                let n_uses = 1 + pick(3);
                let mut one = || match ((1 + pick(6)) * BLOCK + pick(BLOCK), pick(2)) {
                    (at, 0) => Use::Read(at),
                    (at, _) => Use::Write(at),
                };
                let uses: Vec<Use> = (0..n_uses).map(|_| one()).collect();
                let place = match pick(5) {
                    0 => Some(UP),
                    1 => Some(DOWN),
                    _ => None,
                };
                let (stream, waits) = match is_alone {
                    true => (0, order.begin_alone()),
                    false => order.begin(&uses, place).unwrap(),
                };
                let join = |behind: &mut Vec<Vec<bool>>, stream: usize, other: usize| {
                    let others = behind[other].clone();
                    behind[stream].resize(number.max(others.len()), false);
                    others.iter().enumerate().for_each(|(i, &is)| behind[stream][i] |= is);
                };
                (0..N_STREAMS).filter(|&other| waits[other]).for_each(|other| {
                    join(&mut behind, stream, other);
                });
                behind[stream].resize(number, false);
                for (i, (was_alone, before)) in works.iter().enumerate() {
                    let conflicts = is_alone
                        || *was_alone
                        || uses.iter().any(|one| {
                            before.iter().any(|other| {
                                let reads = matches!((one, other), (Use::Read(_), Use::Read(_)));
                                !reads && one.address() / BLOCK == other.address() / BLOCK
                            })
                        });
                    assert!(!conflicts || behind[stream][i], "seed {seed}: {number} and {i}");
                }
                behind[stream].push(true);
                match is_alone {
                    true => order.end_alone(),
                    false => order.end(stream, &uses),
                };
                works.push((is_alone, uses));
            }
        }
    }
}
