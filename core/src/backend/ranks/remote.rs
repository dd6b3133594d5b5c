//! A rank as its leader has it: a device whose memory and processor are in another process.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use std::time::Duration;

use super::channel::Channel;
use super::code::RemoteCode;
use super::greeting::Build;
use super::link::{Asked, Link, Process};
use super::local::{Machine, RanksOn};
use super::message::{Reply, Request};
use crate::backend::memory::{AT_ONCE, Parcel, Piece, Reach};
use crate::backend::primitive::{PrimitiveCall, Room};
use crate::backend::{
    Backend, Begun, Capacity, Communicator, Executable, FileLanes, Listener, Look, Memory,
    SortedRun,
};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{Kernel, LiteralMode};

/// A rank.
pub(super) struct Remote {
    link: Arc<Link>,
    device: String,
    /// Its machine, if that is another one.
    host: Option<Machine>,
    /// Its process, if this one reaches the memory of that.
    process: Option<Reach>,
    /// Its number, if ranks send each other messages.
    rank: Option<usize>,
    /// Which GPU it computes on, if it does. Launches there go on when their answers have come.
    gpu: Option<u128>,
}

/// A rank that nobody has greeted yet.
pub(super) type Stranger = (Box<dyn Channel>, Box<dyn Process>);

/// Greets ranks 1, 2 .. beside each other: opening a GPU takes a while.
///
/// # Errors
/// One does not answer, is of another build, or has nothing to compute on.
pub(super) fn greet(
    strangers: impl IntoIterator<Item = Stranger>,
    on: RanksOn,
    waiting: &Listener,
) -> Result<Vec<Arc<dyn Backend>>> {
    let link = |(rank, (channel, process)): (usize, Stranger)| {
        (rank, Arc::new(Link::new(rank, channel, process, on, waiting)))
    };
    let links: Vec<(usize, Arc<Link>)> = (1..).zip(strangers).map(link).collect();
    let hello = |rank| Request::Hello { build: Build::own(), rank, on };
    let asked: Vec<Result<Asked<'_>>> =
        links.iter().map(|(rank, link)| link.ask(&hello(*rank), &[])).collect();
    // Whatever fails, all have answered.
    let answers: Vec<Result<Reply>> = asked.into_iter().map(|asked| asked?.greeted()).collect();
    let met = |(answer, (rank, link)): (Result<Reply>, &(usize, Arc<Link>))| match answer? {
        Reply::Hello { device, host, gpu, reach, .. } => {
            let has_peers = link.lock().as_deref().is_some_and(|channel| channel.joins_ranks());
            let (process, rank) =
                (reach.filter(|reach| reach.is_there()), has_peers.then_some(*rank));
            let is_elsewhere = process.is_none() && host.id != Machine::own().id;
            let (link, host) = (link.clone(), is_elsewhere.then_some(host));
            Ok(Arc::new(Remote { link, device, host, process, rank, gpu }) as Arc<dyn Backend>)
        }
        other => Err(link.unexpected(&other)),
    };
    answers.into_iter().zip(&links).map(met).collect()
}

impl Remote {
    fn done(&self, request: &Request, bytes: &[u8]) -> Result<()> {
        match self.link.call(request, bytes)? {
            Reply::Done => Ok(()),
            other => Err(self.link.unexpected(&other)),
        }
    }

    /// Has bytes sent behind the answer.
    fn receive(&self, request: &Request, target: &mut [u8]) -> Result<()> {
        let mut bytes = Vec::new();
        match self.link.ask(request, &[])?.wait(&mut bytes)? {
            Reply::Done if bytes.len() == target.len() => {
                target.copy_from_slice(&bytes);
                Ok(())
            }
            other => Err(self.link.unexpected(&other)),
        }
    }

    /// Waits for its GPU, unless that was done since it was given work.
    fn finish(&self) -> Result<()> {
        let channel = self.link.lock();
        if !self.link.is_busy.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let asked = self.link.ask_over(channel, &Request::Sync, &[]);
        let finished = asked.and_then(|asked| asked.wait(&mut Vec::new()));
        // Another time, where it was interrupted.
        self.link.is_busy.fetch_or(finished.is_err(), Ordering::Relaxed);
        match finished? {
            Reply::Done => Ok(()),
            other => Err(self.link.unexpected(&other)),
        }
    }

    /// What it says to a question.
    fn is(&self, request: &Request) -> Result<bool> {
        match self.link.call(request, &[])? {
            Reply::Is(is) => Ok(is),
            other => Err(self.link.unexpected(&other)),
        }
    }

    /// Begins what is answered by a word.
    fn begin(&self, request: &Request) -> Begun<'_, ()> {
        let asked = self.link.ask(request, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Done => Ok(()),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn block(&self, request: &Request) -> Option<u64> {
        match self.link.call(request, &[]) {
            Ok(Reply::Address(address)) => address,
            _ => None,
        }
    }
}

impl Backend for Remote {
    fn name(&self) -> String {
        self.device.clone()
    }

    fn gpu_id(&self) -> Option<u128> {
        self.gpu
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        self.begin_lower(kernel, mode)()
    }

    fn begin_lower<'c>(
        &'c self,
        kernel: &'c Kernel,
        mode: LiteralMode,
    ) -> Begun<'c, Arc<dyn Executable>> {
        let number = self.link.next_kernel.fetch_add(1, Ordering::Relaxed);
        let request = Request::Lower { number, kernel: Box::new(kernel.clone()), mode };
        let asked = self.link.ask(&request, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Code(code) => Ok(Arc::new(RemoteCode::new(&self.link, number, code))),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn run_primitive(&self, call: &PrimitiveCall, _: Room<'_>) -> Result<()> {
        self.begin_primitive(call)().map(drop)
    }

    fn begin_primitive(&self, call: &PrimitiveCall) -> Begun<'_, Duration> {
        let asked = self.link.ask(&Request::Primitive { call: call.clone() }, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Took(time) => Ok(time),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn host(&self) -> Option<&Machine> {
        self.host.as_ref()
    }

    fn process(&self) -> Option<Reach> {
        self.process
    }

    fn begin_fetch(&self, pieces: Vec<Piece>) -> Begun<'_, bool> {
        let asked = self.link.ask(&Request::Fetch { pieces }, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Is(could) => Ok(could),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn rank(&self) -> Option<usize> {
        self.rank
    }

    fn begin_exchange(&self, sends: Vec<Parcel>, receives: Vec<Parcel>) -> Begun<'_, ()> {
        self.begin(&Request::Exchange { sends, receives })
    }

    fn communicator(&self) -> Option<&dyn Communicator> {
        self.gpu.is_some().then_some(self)
    }

    fn begin_look(&self, run: SortedRun, look: Look) -> Begun<'_, Vec<u128>> {
        let asked = self.link.ask(&Request::Look { run, look }, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Seen(seen) => Ok(seen),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn memory(&self) -> &dyn Memory {
        self
    }

    fn sync(&self) -> Result<()> {
        match self.link.lost.get() {
            Some(error) => Err(error.clone()),
            None if self.gpu.is_some() => self.finish(),
            None => Ok(()),
        }
    }

    fn leave(&self) {
        *self.link.lock() = None;
        // Nobody needs to be asked how it ended.
        drop(self.link.ended("was let go"));
    }

    fn is_lost(&self) -> bool {
        self.link.lost.get().is_some()
    }
}

impl Communicator for Remote {
    fn invite(&self) -> Result<Option<Vec<u8>>> {
        Err(Error::NoDevice { name: self.link.name.clone(), reason: "it invites nobody".into() })
    }

    fn listener(&self) -> Listener {
        self.link.waiting()
    }

    fn begin_join(&self, invitation: Vec<u8>, place: [usize; 2]) -> Begun<'_, ()> {
        self.begin(&Request::Join { invitation, place })
    }

    fn begin_exchange(&self, sends: Vec<Parcel>, receives: Vec<Parcel>) -> Begun<'_, ()> {
        self.begin(&Request::ExchangeAmongGpus { sends, receives })
    }

    fn begin_settle(&self) -> Begun<'_, bool> {
        let asked = self.link.ask(&Request::Settle, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Is(is_over) => Ok(is_over),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn begin_leave(&self) -> Begun<'_, ()> {
        self.begin(&Request::Leave)
    }
}

impl Memory for Remote {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        self.block(&Request::Alloc { bytes })
    }

    fn reserve_raw(&self, bytes: usize) -> Option<u64> {
        self.block(&Request::Reserve { bytes })
    }

    fn back(&self, block: u64, bytes: Range<u64>) -> Result<bool> {
        // What a processor has reserved is there.
        if self.gpu.is_none() {
            return Ok(true);
        }
        self.is(&Request::Back { block, bytes })
    }

    fn free_raw(&self, address: u64, bytes: usize) {
        self.link.tell(&Request::Free { address, bytes });
    }

    fn failure(&self) -> Option<Error> {
        self.link.lost.get().cloned()
    }

    fn fill(&self, address: u64, pattern: u64, width: usize, n: u64) -> Result<()> {
        self.done(&Request::Fill { address, pattern, width, n }, &[])
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        self.done(&Request::Copy { target, source, bytes }, &[])
    }

    fn write(&self, address: u64, source: &[u8]) -> Result<()> {
        for (piece, at) in source.chunks(AT_ONCE).zip((address..).step_by(AT_ONCE)) {
            if at > address && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            self.done(&Request::Write { address: at }, piece)?;
        }
        Ok(())
    }

    fn read(&self, address: u64, target: &mut [u8]) -> Result<()> {
        for (piece, at) in target.chunks_mut(AT_ONCE).zip((address..).step_by(AT_ONCE)) {
            if at > address && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            self.receive(&Request::Read { address: at, bytes: piece.len() }, piece)?;
        }
        Ok(())
    }

    fn is_ready(&self, address: u64) -> bool {
        if self.gpu.is_none() {
            return true;
        }
        let channel = match self.link.channel.try_lock() {
            Ok(channel) => channel,
            Err(TryLockError::Poisoned(channel)) => channel.into_inner(),
            // One that is at work answers later.
            Err(TryLockError::WouldBlock) => return false,
        };
        let asked = self.link.ask_over(channel, &Request::IsReady { address }, &[]);
        // A failure is told by who waits.
        !matches!(asked.and_then(|asked| asked.wait(&mut Vec::new())), Ok(Reply::Is(false)))
    }

    fn wait(&self, address: u64) -> Result<()> {
        match self.gpu {
            Some(_) => self.done(&Request::Wait { address }, &[]),
            None => Ok(()),
        }
    }

    fn load(&self, address: u64, lanes: &FileLanes) -> Result<bool> {
        self.is(&Request::Load { address, lanes: lanes.clone() })
    }

    fn save(&self, address: u64, lanes: &FileLanes) -> Result<bool> {
        self.is(&Request::Save { address, lanes: lanes.clone() })
    }

    fn capacity(&self) -> Capacity {
        let bytes = match self.link.call(&Request::Capacity, &[]) {
            Ok(Reply::Capacity(bytes)) => bytes,
            _ => 0,
        };
        Capacity { bytes, whose: "a rank" }
    }

    fn owner(&self) -> String {
        self.link.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::Idle;
    use std::io;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::backend::Outside;

    /// Says that everything is done, and counts what it was asked.
    struct Willing(Arc<AtomicU64>);

    impl Channel for Willing {
        fn send(&mut self, _: &[u8], _: &[u8], _: Idle<'_>) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn receive(
            &mut self,
            head: &mut Vec<u8>,
            bytes: &mut Vec<u8>,
            _: Idle<'_>,
        ) -> io::Result<()> {
            *head = postcard::to_allocvec(&Reply::Done).map_err(io::Error::other)?;
            bytes.clear();
            Ok(())
        }

        fn is_there(&mut self, _: Duration) -> io::Result<bool> {
            Ok(true)
        }
    }

    impl Process for () {
        fn interrupt(&self) -> bool {
            false
        }

        fn give_up(&self) {}

        fn end(&self) -> String {
            "ended".into()
        }
    }

    fn willing() -> (Remote, Arc<AtomicU64>) {
        let asked = Arc::new(AtomicU64::new(0));
        let channel: Box<dyn Channel> = Box::new(Willing(asked.clone()));
        let waiting = Outside::default().waiting;
        let link = Link::new(1, channel, Box::new(()), RanksOn::Gpus, &waiting);
        let (link, device) = (Arc::new(link), "cuda:0".into());
        (Remote { link, device, host: None, gpu: Some(0), process: None, rank: None }, asked)
    }

    /// A leader waits for all its ranks at each end of an evaluation.
    #[test]
    fn a_rank_that_was_given_nothing_is_not_waited_for() {
        let (rank, asked) = willing();
        let n_asked = || asked.load(Ordering::Relaxed);
        rank.sync().unwrap();
        assert_eq!(n_asked(), 0);
        for n in [2, 4] {
            rank.fill(64, 0, 4, 1).unwrap();
            rank.sync().unwrap();
            rank.sync().unwrap();
            rank.wait(64).unwrap();
            rank.sync().unwrap();
            assert_eq!(n_asked(), n + n / 2);
        }
    }

    /// Neither side has all of it a second time.
    #[test]
    fn what_is_long_is_written_in_pieces() {
        let (rank, asked) = willing();
        for (bytes, want) in [(0, 0), (1, 1), (AT_ONCE, 2), (2 * AT_ONCE + 1, 5)] {
            rank.write(64, &vec![0; bytes]).unwrap();
            assert_eq!(asked.load(Ordering::Relaxed), want, "{bytes}");
        }
    }

    /// A thread that panicked says nothing of the rank.
    #[test]
    fn a_channel_that_a_panic_let_go_is_asked() {
        let (rank, _) = willing();
        let link = rank.link.clone();
        let thread = std::thread::spawn(move || {
            let _held = link.channel.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(thread.join().is_err() && rank.link.channel.is_poisoned());
        assert!(rank.is_ready(64));
    }
}
