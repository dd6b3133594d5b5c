//! Bytes between the memories of parts. Where the system copies from one process of this machine to another each rank takes
//! what is for it, all of them beside each other. GPUs of one process copy from each other, those of several have a way of their
//! own (`company.rs`), and ranks of MPI send each other messages; all else goes over the leader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::begun::all;
use super::company::Company;
use crate::backend::host::exhausted;
use crate::backend::memory::{AT_ONCE, Parcel, Piece};
use crate::backend::peer_memory::{Way, copy};
use crate::backend::{Backend, Begun, GpuBackend, Memory};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;

/// An address of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) part: usize,
    pub(super) address: u64,
}

/// Bytes from the memory of one part to that of another, or within one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) from: Place,
    pub(super) to: Place,
    pub(super) bytes: u64,
}

/// What moves bytes between parts.
pub(super) struct Carrier {
    devices: Vec<Arc<dyn Backend>>,
    /// Whether the system is asked to copy: no more once it did not.
    is_direct: AtomicBool,
    /// The GPUs, where they are those of several processes.
    company: Option<Company>,
}

/// Who has the system copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Copier {
    /// This process, from or to that of another part.
    Leader(Way),
    /// The part that gets something.
    Part(usize),
}

impl Carrier {
    pub(super) fn new(devices: Vec<Arc<dyn Backend>>, whole: u64) -> Self {
        let company = Company::of(&devices, whole);
        Self { devices, is_direct: AtomicBool::new(true), company }
    }

    fn memory(&self, part: usize) -> &dyn Memory {
        self.devices[part].memory()
    }

    /// Moves bytes between parts; how many came to one from another.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`, a failure of a part.
    pub(super) fn transfer_all(&self, transfers: &[Transfer]) -> Result<u64> {
        let parts: BTreeSet<usize> =
            transfers.iter().flat_map(|transfer| [transfer.from.part, transfer.to.part]).collect();
        // Nobody would tell the leader, who copies by itself.
        self.see_that_there_are(parts)?;
        let mut by_copier = BTreeMap::<Copier, Vec<Transfer>>::new();
        let mut rest = Vec::new();
        for transfer in transfers {
            let copied = self.copier(transfer).map(|copier| by_copier.entry(copier).or_default());
            copied.unwrap_or(&mut rest).push(*transfer);
        }
        rest.extend(self.have_copied(by_copier)?);
        rest = self.among_gpus(rest)?;
        let (sent, rest): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|transfer| self.ranks(transfer).is_some());
        sent.chunks(self.most_at_once()).try_for_each(|some| self.have_sent(some))?;
        let (linked, rest): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|transfer| self.gpus(transfer).is_some());
        all(linked.iter().filter_map(|transfer| self.begin_bring(transfer)))?;
        rest.iter().try_for_each(|transfer| self.transfer(transfer))?;
        let moved = transfers.iter().filter(|transfer| transfer.from.part != transfer.to.part);
        Ok(moved.map(|transfer| transfer.bytes).sum())
    }

    /// Who can have the system copy, if somebody can.
    fn copier(&self, transfer: &Transfer) -> Option<Copier> {
        // Who sends messages knows the fastest way.
        if !self.is_direct.load(Ordering::Relaxed) || self.ranks(transfer).is_some() {
            return None;
        }
        let parts = [transfer.from.part, transfer.to.part];
        match parts.map(|part| self.devices[part].process()) {
            [Some(_), Some(_)] => Some(Copier::Part(transfer.to.part)),
            [Some(_), None] => self.memory(parts[1]).is_host().then_some(Copier::Leader(Way::Here)),
            [None, Some(_)] => {
                self.memory(parts[0]).is_host().then_some(Copier::Leader(Way::There))
            }
            [None, None] => None,
        }
    }

    /// Has the system copy; what it did not, which is not asked again then.
    fn have_copied(&self, by_copier: BTreeMap<Copier, Vec<Transfer>>) -> Result<Vec<Transfer>> {
        let begin = |(&copier, transfers): (&Copier, &Vec<Transfer>)| -> Begun<'_, bool> {
            let piece = |&Transfer { from, to, bytes }: &Transfer| {
                let goes_there = copier == Copier::Leader(Way::There);
                let (there, here) = if goes_there { (to, from) } else { (from, to) };
                let process = self.devices[there.part].process();
                let process = process.expect("internal error: a copy from or to nowhere");
                Piece { process, there: there.address, here: here.address, bytes }
            };
            let pieces: Vec<Piece> = transfers.iter().map(piece).collect();
            match copier {
                Copier::Leader(way) => Box::new(move || copy(way, pieces)),
                Copier::Part(part) => self.devices[part].begin_fetch(pieces),
            }
        };
        // The leader's come first: it copies while others do.
        let done = all(by_copier.iter().map(begin))?;
        let failed = by_copier.into_values().zip(done).filter(|(_, is_done)| !is_done);
        let rest: Vec<Transfer> = failed.flat_map(|(transfers, _)| transfers).collect();
        if !rest.is_empty() {
            self.is_direct.store(false, Ordering::Relaxed);
        }
        Ok(rest)
    }

    /// Has GPUs of several processes send each other bytes by themselves; what they did not.
    fn among_gpus(&self, transfers: Vec<Transfer>) -> Result<Vec<Transfer>> {
        let Some(company) = &self.company else { return Ok(transfers) };
        let (mut own, others): (Vec<_>, Vec<_>) =
            transfers.into_iter().partition(|transfer| transfer.from.part == transfer.to.part);
        if !company.exchange(&others)? {
            own.extend(others);
        }
        Ok(own)
    }

    /// Why GPUs of several processes do not send each other bytes by themselves, once.
    pub(super) fn take_refusal(&self) -> Option<Error> {
        self.company.as_ref()?.take_refusal()
    }

    /// How many messages ranks are given together. What is in the memory of GPUs goes by way of the host's, a piece of each.
    fn most_at_once(&self) -> usize {
        if self.devices[0].gpu_id().is_some() { 64 } else { usize::MAX }
    }

    /// The ranks from and to which a transfer can go as a message.
    fn ranks(&self, transfer: &Transfer) -> Option<[usize; 2]> {
        let [from, to] = [transfer.from.part, transfer.to.part];
        let [sends, receives] = [self.devices[from].rank()?, self.devices[to].rank()?];
        (from != to).then_some([sends, receives])
    }

    /// Has ranks send each other messages: each is told of all those that it sends and that it gets. Where one is lost nobody
    /// waits for its messages: no other is asked, and those that were are told that it is over.
    fn have_sent(&self, transfers: &[Transfer]) -> Result<()> {
        let mut parcels = BTreeMap::<usize, [Vec<Parcel>; 2]>::new();
        for transfer in transfers {
            let [sends, receives] =
                self.ranks(transfer).expect("internal error: a message without ranks");
            let &Transfer { from, to, bytes } = transfer;
            let parcel = |rank, here| Parcel { rank, here, bytes };
            parcels.entry(from.part).or_default()[0].push(parcel(receives, from.address));
            parcels.entry(to.part).or_default()[1].push(parcel(sends, to.address));
        }
        let mut begun = Vec::with_capacity(parcels.len());
        self.see_that_there_are(parcels.keys().copied())?;
        for (part, [sends, receives]) in parcels {
            begun.push(self.devices[part].begin_exchange(sends, receives));
            self.see_that_there_are([part])?;
        }
        all(begun.into_iter()).map(drop)
    }

    /// # Errors
    /// Why one of these parts is lost.
    fn see_that_there_are(&self, parts: impl IntoIterator<Item = usize>) -> Result<()> {
        let mut devices = parts.into_iter().map(|part| &self.devices[part]);
        let lost = devices.find(|device| device.is_lost());
        // It tells why.
        lost.map_or(Ok(()), |lost| lost.sync().and(Err(gone(&lost.name()))))
    }

    /// The GPUs of this process from and to which a transfer goes.
    fn gpus(&self, transfer: &Transfer) -> Option<[&dyn GpuBackend; 2]> {
        let [from, to] = [transfer.from, transfer.to].map(|place| self.devices[place.part].gpu());
        Some([from?, to?])
    }

    /// Begins to copy from one GPU of this process to another.
    fn begin_bring(&self, transfer: &Transfer) -> Option<Begun<'_, ()>> {
        let [from, to] = self.gpus(transfer)?;
        let (source, target) = (transfer.from.address, transfer.to.address);
        Some(to.begin_bring(target, from, source, exactly(transfer.bytes)))
    }

    /// Moves bytes within a device, or over the leader.
    fn transfer(&self, &Transfer { from, to, bytes }: &Transfer) -> Result<()> {
        let [source, target] = [from, to].map(|place| &self.devices[place.part]);
        if Arc::ptr_eq(source, target) {
            return in_pieces(bytes, |first, n| {
                let n = exactly::<usize>(n);
                self.memory(to.part).copy(to.address + first, from.address + first, n)
            });
        }
        let mut piece = Vec::new();
        in_pieces(bytes, |first, n| {
            piece.try_reserve(exactly(n)).map_err(|_| exhausted(n))?;
            piece.resize(exactly(n), 0);
            self.memory(from.part).read(from.address + first, &mut piece)?;
            self.memory(to.part).write(to.address + first, &piece)
        })
    }
}

/// What is told of a part that is lost and does not say why.
fn gone(device: &str) -> Error {
    let reason = "it is gone".into();
    Error::DeviceFailed { device: device.into(), what: "working", reason, lost: true }
}

/// Calls `work` with start and length of pieces of `n`, and looks at the interrupt flag between them.
pub(super) fn in_pieces(n: u64, mut work: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    for start in (0..n).step_by(AT_ONCE) {
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        work(start, (n - start).min(AT_ONCE as u64))?;
    }
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::parts::WHOLE;
    use crate::backend::parts::memory::PartMemory;
    use crate::backend::parts::working::Working;
    use crate::backend::ranks::{self, RanksOn};
    use crate::backend::{Outside, open_processor};

    /// Set in processes that serve others.
    const SERVES: &str = "PORCINI_TEST_SERVES";

    /// A rank of the tests below; nothing otherwise.
    #[test]
    fn a_rank() {
        if std::env::var_os(SERVES).is_some() {
            ranks::serve_leader(&|_, _| Ok(open_processor(1))).unwrap();
        }
    }

    /// This process and others, which are this program again.
    fn devices(n: usize) -> Vec<Arc<dyn Backend>> {
        let (_, path) = module_path!().split_once("::").unwrap();
        let own = std::env::current_exe().unwrap();
        let words = ["env".into(), format!("{SERVES}=1").into(), own.into_os_string()];
        let words = words.into_iter().chain(["--exact".into(), format!("{path}::a_rank").into()]);
        let outside = Outside { rank: words.collect(), ..Outside::default() };
        let mut devices = vec![open_processor(1)];
        devices.extend(ranks::start(&outside, 1, n, RanksOn::Processors).unwrap());
        devices
    }

    /// More than is copied at once, and no whole number of pages.
    const BYTES: usize = (9 << 20) + 13;

    fn block(memory: &PartMemory, part: usize) -> Working<'_> {
        Working::of(memory.of(part), BYTES).unwrap()
    }

    /// Has every part get something of every one; what each then has.
    fn exchanged(memory: &PartMemory) -> Result<Vec<Vec<u8>>> {
        let n = memory.parts();
        let blocks: Vec<[Working<'_>; 2]> =
            (0..n).map(|part| [block(memory, part), block(memory, part)]).collect();
        for (part, [from, _]) in blocks.iter().enumerate() {
            let bytes: Vec<u8> = (0..BYTES).map(|i| (i * 31 + part * 7).to_le_bytes()[0]).collect();
            memory.of(part).write(from.address, &bytes)?;
        }
        let share = (BYTES / n) as u64;
        let pairs = (0..n).flat_map(|from| (0..n).map(move |to| (from, to)));
        let transfer = |(from, to): (usize, usize)| Transfer {
            from: Place { part: from, address: blocks[from][0].address + to as u64 * share },
            to: Place { part: to, address: blocks[to][1].address + from as u64 * share },
            bytes: share,
        };
        let moved = memory.transfer_all(&pairs.map(transfer).collect::<Vec<_>>())?;
        assert_eq!(moved, (n * n - n) as u64 * share);
        let read = |(part, [_, to]): (usize, &[Working<'_>; 2])| {
            let mut bytes = vec![0; BYTES / n * n];
            memory.of(part).read(to.address, &mut bytes).map(|()| bytes)
        };
        blocks.iter().enumerate().map(read).collect()
    }

    #[test]
    fn ranks_bring_each_other_bytes() {
        let memory = PartMemory::new(devices(3), vec![None, None, None], WHOLE);
        let direct = exchanged(&memory).unwrap();
        for (to, bytes) in direct.iter().enumerate() {
            let share = BYTES / 3;
            let want = |i: usize| ((i % share + to * share) * 31 + i / share * 7).to_le_bytes()[0];
            assert!((0..3 * share).map(want).eq(bytes.iter().copied()), "part {to}");
        }
        // Where the system does not copy all of it goes over the leader.
        memory.carrier.is_direct.store(false, Ordering::Relaxed);
        assert!(exchanged(&memory).unwrap() == direct);
    }

    #[test]
    fn a_rank_that_is_gone_brings_nothing() {
        let memory = PartMemory::new(devices(3), vec![None, None, None], WHOLE);
        let Some(process) = memory.carrier.devices[2].process() else { return };
        let [from, to] = [block(&memory, 2), block(&memory, 1)];
        let killed =
            std::process::Command::new("kill").args(["-9", &process.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let (from, to) = ((2, from.address), (1, to.address));
        let [from, to] = [from, to].map(|(part, address)| Place { part, address });
        let since = std::time::Instant::now();
        // The system may have what it had for a moment.
        let transfer = [Transfer { from, to, bytes: BYTES as u64 }];
        while memory.transfer_all(&transfer).is_ok() {
            assert!(since.elapsed().as_secs() < 2, "nobody tells that it is gone");
        }
        assert!(memory.carrier.devices[2].is_lost() && !memory.carrier.devices[1].is_lost());
    }
}

#[cfg(test)]
mod lost {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::backend::host::HostMemory;
    use crate::backend::mocks::computes_nothing;
    use crate::backend::parts::WHOLE;

    /// A rank that would wait for ever, or is lost, or turns out to be when it is asked.
    #[derive(Default)]
    struct Rank {
        number: usize,
        is_lost: AtomicBool,
        is_lost_when_asked: bool,
        asked: AtomicUsize,
    }

    impl Backend for Rank {
        computes_nothing!();

        fn name(&self) -> String {
            format!("rank {}", self.number)
        }

        fn is_lost(&self) -> bool {
            self.is_lost.load(Ordering::Relaxed)
        }

        fn rank(&self) -> Option<usize> {
            Some(self.number)
        }

        fn begin_exchange(&self, _: Vec<Parcel>, _: Vec<Parcel>) -> Begun<'_, ()> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.is_lost.fetch_or(self.is_lost_when_asked, Ordering::Relaxed);
            Box::new(|| panic!("nobody sends it anything"))
        }

        fn memory(&self) -> &dyn Memory {
            &HostMemory
        }
    }

    /// Has ranks 1, 2 and 3 send each other messages; what is told, and how often each was asked.
    fn exchange(of_last: Rank) -> (String, [usize; 3]) {
        let of = |number| Rank { number, ..Rank::default() };
        let ranks = [of(1), of(2), Rank { number: 3, ..of_last }].map(Arc::new);
        let leader: Arc<dyn Backend> = Arc::new(Rank::default());
        let all = ranks.iter().map(|rank| rank.clone() as Arc<dyn Backend>);
        let carrier = Carrier::new([leader].into_iter().chain(all).collect(), WHOLE);
        let place = |part| Place { part, address: 0 };
        let transfer = |(from, to)| Transfer { from: place(from), to: place(to), bytes: 8 };
        let told = carrier.transfer_all(&[(1, 2), (2, 3), (3, 1)].map(transfer)).unwrap_err();
        (told.to_string(), ranks.map(|rank| rank.asked.load(Ordering::Relaxed)))
    }

    #[test]
    fn nobody_waits_for_a_rank_that_is_lost() {
        let told = "rank 3 failed while working: it is gone; the arrays in its memory are lost, everything else is as it was";
        let lost = Rank { is_lost: true.into(), ..Rank::default() };
        assert_eq!(exchange(lost), (told.into(), [0; 3]));
        let late = Rank { is_lost_when_asked: true, ..Rank::default() };
        assert_eq!(exchange(late), (told.into(), [1; 3]));
    }
}
