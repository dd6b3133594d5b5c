//! GPUs of several processes that send each other bytes by themselves (NCCL), as their leader has them do it.
//!
//! They meet once that pays: it takes most of a second, and memory of each of them. Each is asked to begin, then whether it
//! is done, so that nobody waits for one that is gone: who leads then has the others give up. Where they cannot meet bytes go
//! another way, as those of short exchanges do, for which that is faster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::begun::all;
use super::transfer::{Place, Transfer};
use crate::backend::waiting::Waiting;
use crate::backend::{Backend, Communicator, Listener, Parcel};
use crate::error::{Error, Result};
use crate::interrupt;

/// Bytes for which going over the leader takes about as long as meeting, for each lane from which on arrays are split: of GPUs
/// that makes 256 MiB.
const WORTH_MEETING: u64 = 1 << 7;
/// Bytes of each transfer, few in tests, and number of transfers between two looks at the interrupt flag.
const PIECE: usize = if cfg!(test) { 1 << 18 } else { 1 << 29 };
const MOST: usize = 1 << 10;

/// How long an exchange may take that is to stop, and after how long those are asked too that are done.
const LAST: Duration = Duration::from_secs(5);
const EVERYONE: Duration = Duration::from_secs(1);

/// GPUs of several processes.
pub(super) struct Company {
    devices: Vec<Arc<dyn Backend>>,
    /// Lanes from which on arrays are split. In half as many bytes two more questions to every process pay.
    whole: u64,
    state: Mutex<State>,
    /// Why they do not meet, until somebody has asked.
    refusal: Mutex<Option<Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// They have not met, and so many bytes went another way.
    Apart(u64),
    Met,
    /// They cannot meet.
    Refused,
}

impl Company {
    /// That of parts, if each is a GPU of its own; the first is the leader's.
    pub(super) fn of(devices: &[Arc<dyn Backend>], whole: u64) -> Option<Self> {
        let mut gpus: Vec<u128> = devices
            .iter()
            .map(|device| device.communicator().and_then(|_| device.gpu_id()))
            .collect::<Option<_>>()?;
        gpus.sort_unstable();
        let are_here = devices.iter().all(|device| device.gpu().is_some());
        let are_apart = gpus.windows(2).all(|pair| pair[0] != pair[1]);
        let (state, refusal) = (Mutex::new(State::Apart(0)), Mutex::default());
        let devices = devices.to_vec();
        (are_apart && !are_here).then(|| Self { devices, whole, state, refusal })
    }

    fn of_part(&self, part: usize) -> &dyn Communicator {
        self.devices[part].communicator().expect("internal error: a GPU alone in company")
    }

    /// Has GPUs send each other bytes; whether they did, and not another way is to be found.
    ///
    /// # Errors
    /// `Interrupted`, the loss of a part.
    pub(super) fn exchange(&self, transfers: &[Transfer]) -> Result<bool> {
        let bytes = transfers.iter().map(|transfer| transfer.bytes).fold(0, u64::saturating_add);
        if bytes <= self.whole / 2 {
            return Ok(false);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Apart(moved) = *state {
            let moved = moved.saturating_add(bytes);
            *state = State::Apart(moved);
            if moved < self.worth_meeting() {
                return Ok(false);
            }
            if self.have_met(&mut state)? {
                *state = State::Met;
            }
        }
        if *state != State::Met {
            return Ok(false);
        }
        // What they were given before is waited for here, where somebody may have had enough.
        self.devices.iter().try_for_each(|device| device.sync())?;
        for some in transfers.chunks(MOST) {
            let longest = some.iter().map(|transfer| transfer.bytes).max().unwrap_or(0);
            for first in (0..longest).step_by(PIECE) {
                if interrupt::is_requested() {
                    return Err(Error::Interrupted);
                }
                if !self.all_or_none(&mut state, || self.exchange_pieces(some, first))? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Has them meet, if that is wanted.
    fn have_met(&self, state: &mut State) -> Result<bool> {
        match self.of_part(0).invite() {
            Ok(Some(invitation)) => self.all_or_none(state, || self.meet(&invitation)),
            Ok(None) => {
                *state = State::Refused;
                Ok(false)
            }
            Err(error) => self.all_or_none(state, || Err(error)),
        }
    }

    /// Has all of them do something; where it fails they give up what was begun, and each other.
    ///
    /// # Errors
    /// As [`Self::exchange`]; of other failures `false` is told.
    fn all_or_none(&self, state: &mut State, work: impl FnOnce() -> Result<()>) -> Result<bool> {
        let Err(error) = work() else { return Ok(true) };
        let leave = |part| self.of_part(part).begin_leave();
        // Those that are gone have given up.
        drop(all((0..self.devices.len()).map(leave)));
        // Others may have told of it first, in words of their own.
        if let Some(lost) = self.lost() {
            *state = State::Refused;
            return Err(lost);
        }
        if error == Error::Interrupted {
            *state = State::Apart(self.worth_meeting());
            return Err(error);
        }
        *state = State::Refused;
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Ok(false)
    }

    /// Why they do not meet, once.
    pub(super) fn take_refusal(&self) -> Option<Error> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn worth_meeting(&self) -> u64 {
        self.whole.saturating_mul(WORTH_MEETING)
    }

    /// Why one of them is lost, if one is.
    fn lost(&self) -> Option<Error> {
        self.devices.iter().find(|device| device.is_lost())?.sync().err()
    }

    fn meet(&self, invitation: &[u8]) -> Result<()> {
        let n = self.devices.len();
        let join = |part| self.of_part(part).begin_join(invitation.to_vec(), [part, n]);
        all((0..n).map(join))?;
        self.settle((0..n).collect(), Duration::ZERO)
    }

    /// Exchanges pieces that begin behind so many bytes of each transfer.
    fn exchange_pieces(&self, transfers: &[Transfer], first: u64) -> Result<()> {
        let mut parcels = BTreeMap::<usize, [Vec<Parcel>; 2]>::new();
        for &Transfer { from, to, bytes } in transfers.iter().filter(|it| first < it.bytes) {
            let bytes = (bytes - first).min(PIECE as u64);
            let parcel = |rank, place: Place| Parcel { rank, here: place.address + first, bytes };
            parcels.entry(from.part).or_default()[0].push(parcel(to.part, from));
            parcels.entry(to.part).or_default()[1].push(parcel(from.part, to));
        }
        let parts = parcels.keys().copied().collect();
        let exchange = |(part, [sends, receives]): (usize, [Vec<Parcel>; 2])| {
            self.of_part(part).begin_exchange(sends, receives)
        };
        all(parcels.into_iter().map(exchange))?;
        self.settle(parts, LAST)
    }

    /// Asks parts whether they are done until all are; who had enough waits so long for that.
    fn settle(&self, parts: Vec<usize>, last: Duration) -> Result<()> {
        let listener = self.devices.iter().rev().find_map(|device| device.communicator());
        let listener = listener.map_or(Listener::Nobody, |one| one.listener());
        let mut waiting = Waiting::new(&listener);
        let (mut open, mut stopped, mut asked) = (parts.clone(), None, Instant::now());
        while !open.is_empty() {
            waiting.say(|time| format!("waiting for NCCL, {} s", time.as_secs()));
            if interrupt::is_requested()
                && stopped.get_or_insert_with(Instant::now).elapsed() >= last
            {
                return Err(Error::Interrupted);
            }
            if asked.elapsed() > EVERYONE {
                // Also who is done and has gone since: what it has sent may not have left it.
                (open, asked) = (parts.clone(), Instant::now());
            }
            let settle = |&part: &usize| self.of_part(part).begin_settle();
            let done = all(open.iter().map(settle))?;
            let still = open.into_iter().zip(done).filter(|(_, is_done)| !is_done);
            open = still.map(|(part, _)| part).collect();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::backend::host::HostMemory;
    use crate::backend::primitive::{PrimitiveCall, Room};
    use crate::backend::{Begun, Executable, Memory};
    use crate::ir::kernel::{Kernel, LiteralMode};

    /// What a GPU of the tests does not do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fault {
        None,
        /// It does not find the library.
        Library,
        /// It gives an error at an exchange.
        Exchange,
        /// It is gone at an exchange.
        Death,
    }

    /// A GPU of another process, whose exchanges are done when it was asked twice.
    struct Gpu {
        number: usize,
        fault: Fault,
        /// What it does, in short.
        said: Arc<Mutex<String>>,
        asked: AtomicUsize,
        is_lost: AtomicBool,
        /// What it is to send: who receives finds it there.
        sent: Arc<Mutex<BTreeMap<[usize; 2], Vec<Parcel>>>>,
        waits: Mutex<Vec<Parcel>>,
    }

    fn failed() -> Error {
        Error::Tool { program: "NCCL", reason: "no".into() }
    }

    impl Gpu {
        fn say(&self, what: &str) {
            *self.said.lock().unwrap() += what;
        }
    }

    impl Communicator for Gpu {
        fn invite(&self) -> Result<Option<Vec<u8>>> {
            Ok(Some(vec![7]))
        }

        fn begin_join(&self, invitation: Vec<u8>, place: [usize; 2]) -> Begun<'_, ()> {
            assert_eq!((invitation, place), (vec![7], [self.number, 3]));
            self.say("j");
            let is_found = self.fault != Fault::Library;
            Box::new(move || if is_found { Ok(()) } else { Err(failed()) })
        }

        fn begin_exchange(&self, sends: Vec<Parcel>, receives: Vec<Parcel>) -> Begun<'_, ()> {
            self.say("x");
            let mut sent = self.sent.lock().unwrap();
            for parcel in sends {
                sent.entry([self.number, parcel.rank]).or_default().push(parcel);
            }
            *self.waits.lock().unwrap() = receives;
            self.is_lost.store(self.fault == Fault::Death, Ordering::Relaxed);
            let is_well = matches!(self.fault, Fault::None | Fault::Library);
            Box::new(move || if is_well { Ok(()) } else { Err(failed()) })
        }

        fn begin_settle(&self) -> Begun<'_, bool> {
            let is_over = self.asked.fetch_add(1, Ordering::Relaxed) % 2 == 1;
            for parcel in self.waits.lock().unwrap().drain(..) {
                let mut sent = self.sent.lock().unwrap();
                let from = sent.get_mut(&[parcel.rank, self.number]).unwrap().remove(0);
                assert_eq!(from.bytes, parcel.bytes);
                HostMemory
                    .copy(parcel.here, from.here, usize::try_from(parcel.bytes).unwrap())
                    .unwrap();
            }
            Box::new(move || Ok(is_over))
        }

        fn begin_leave(&self) -> Begun<'_, ()> {
            self.say("l");
            Box::new(|| Ok(()))
        }
    }

    impl Backend for Gpu {
        fn lower(&self, _: &Kernel, _: LiteralMode) -> Result<Arc<dyn Executable>> {
            Err(Error::Interrupted)
        }

        fn run_primitive(&self, _: &PrimitiveCall, _: Room<'_>) -> Result<()> {
            Err(Error::Interrupted)
        }

        fn sync(&self) -> Result<()> {
            match self.is_lost() {
                true => Err(Error::NoDevice { name: self.name(), reason: "gone".into() }),
                false => Ok(()),
            }
        }

        fn name(&self) -> String {
            format!("rank {}", self.number)
        }

        fn gpu_id(&self) -> Option<u128> {
            Some(self.number as u128)
        }

        fn is_lost(&self) -> bool {
            self.is_lost.load(Ordering::Relaxed)
        }

        fn communicator(&self) -> Option<&dyn Communicator> {
            Some(self)
        }

        fn memory(&self) -> &dyn Memory {
            &HostMemory
        }
    }

    /// Three GPUs, of which the last has a fault, and what they do.
    fn three(fault: Fault) -> (Company, Arc<Mutex<String>>) {
        let (said, sent) = (Arc::default(), Arc::default());
        let gpu = |number| Gpu {
            number,
            fault: if number == 2 { fault } else { Fault::None },
            said: Arc::clone(&said),
            asked: AtomicUsize::default(),
            is_lost: AtomicBool::default(),
            sent: Arc::clone(&sent),
            waits: Mutex::default(),
        };
        let devices: Vec<Arc<dyn Backend>> =
            (0..3).map(|number| Arc::new(gpu(number)) as Arc<dyn Backend>).collect();
        (Company::of(&devices, 1 << 12).unwrap(), said)
    }

    /// Transfers around, each of so many bytes, between blocks that are kept.
    fn around(bytes: usize) -> (Vec<Transfer>, Vec<Vec<u8>>) {
        let mut blocks: Vec<Vec<u8>> = (1..=3).map(|i| vec![i; bytes]).collect();
        blocks.extend(vec![vec![0; bytes]; 3]);
        let places: Vec<u64> =
            blocks.iter_mut().map(|it| it.as_mut_ptr().expose_provenance() as u64).collect();
        let transfer = |part: usize| Transfer {
            from: Place { part, address: places[part] },
            to: Place { part: (part + 1) % 3, address: places[3 + part] },
            bytes: bytes as u64,
        };
        ((0..3).map(transfer).collect(), blocks)
    }

    #[test]
    fn gpus_meet_once_that_pays_and_exchange_in_rounds() {
        let (company, said) = three(Fault::None);
        let (transfers, blocks) = around(PIECE + 9);
        assert!(!company.exchange(&around(500).0).unwrap());
        assert!(!company.exchange(&around(1 << 12).0).unwrap() && said.lock().unwrap().is_empty());
        assert!(company.exchange(&transfers).unwrap());
        assert_eq!(*said.lock().unwrap(), "jjjxxxxxx");
        assert!(blocks[3] == blocks[0] && blocks[4] == blocks[1] && blocks[5] == blocks[2]);
        assert!(company.exchange(&around(1 << 12).0).unwrap());
        assert!(!company.exchange(&around(500).0).unwrap());
    }

    #[test]
    fn who_cannot_goes_another_way_and_nobody_waits_for_who_is_gone() {
        for (fault, want) in [
            (Fault::Library, "jjjlll"),
            (Fault::Exchange, "jjjxxxlll"),
            (Fault::Death, "jjjxxxlll"),
        ] {
            let (company, said) = three(fault);
            let (transfers, _blocks) = around(PIECE);
            let told = company.exchange(&transfers);
            // That it is gone, whatever was told first.
            let gone = Error::NoDevice { name: "rank 2".into(), reason: "gone".into() };
            assert_eq!(told, if fault == Fault::Death { Err(gone) } else { Ok(false) });
            let refusal = (fault != Fault::Death).then(failed);
            assert_eq!([company.take_refusal(), company.take_refusal()], [refusal, None]);
            assert_eq!(*said.lock().unwrap(), want);
            assert_eq!(company.exchange(&transfers), Ok(false));
            assert_eq!(*said.lock().unwrap(), want);
        }
    }

    #[test]
    fn gpus_of_one_process_and_those_that_are_shared_have_no_company() {
        let (company, _) = three(Fault::None);
        let [one, two, _] = &company.devices[..] else { unreachable!() };
        assert!(Company::of(&[one.clone(), two.clone()], 1).is_some());
        assert!(Company::of(&[one.clone(), two.clone(), one.clone()], 1).is_none());
    }
}
