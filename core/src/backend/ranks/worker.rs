//! A rank at work: it holds memory and kernels, and does what its leader asks, one thing after the other.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::channel::{Channel, patient, read, send};
use super::greeting::Build;
use super::local::{Machine, RanksOn};
use super::message::{Code, Failure, Reply, Request};
use super::staged::{exchange, exchange_over_host};
use crate::backend::host::{exhausted, refusal};
use crate::backend::memory::Reach;
use crate::backend::peer_memory::{Way, copy};
use crate::backend::{
    Backend, Communicator, Executable, Failures, Launched, Memory, Ran, Running as _,
};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::ParamBlock;
use crate::memory::caching_allocator::Allocator;

/// Opens what a rank of a number computes on: the leader says what that is to be.
pub type Open<'o> = dyn Fn(RanksOn, usize) -> Result<Arc<dyn Backend>> + 'o;

/// Bytes of working memory from which on the system is asked anew what it has left.
const LARGE: u64 = 1 << 26;

/// What a rank has, once it was greeted.
struct Worker {
    device: Arc<dyn Backend>,
    /// Working memory of primitives.
    spare: Arc<Allocator>,
    kernels: HashMap<u64, Arc<dyn Executable>>,
}

/// Serves a leader until it goes, or is killed.
///
/// # Errors
/// The connection broke, or brought what is no request.
pub(super) fn serve(channel: impl Channel, open: &Open<'_>) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match answer_all(channel, open) {
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(()),
        served => served,
    }
}

fn answer_all(mut channel: impl Channel, open: &Open<'_>) -> io::Result<()> {
    let mut worker = None;
    let (mut head, mut bytes) = (Vec::new(), Vec::new());
    loop {
        match channel.receive(&mut head, &mut bytes, &mut patient) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            received => received?,
        }
        if worker.is_none() && Build::of(&head).is_none_or(|leader| leader != Build::own()) {
            // Whose messages mean something else, or of before there were greetings. It says why when it knows what this one is.
            return send(&mut channel, &Build::own().greeting(), &[], &mut patient);
        }
        let request: Request = read(&head)?;
        let is_answered = request.is_answered();
        // What was asked to stop is over.
        interrupt::clear();
        let reply = match (request, &mut worker) {
            (Request::Hello { rank, on, .. }, own @ None) => {
                open(on, rank).map(greeted).map(|(worker, hello)| {
                    *own = Some(worker);
                    hello
                })
            }
            (Request::Exchange { sends, receives }, Some(worker)) => {
                let memory = worker.device.memory();
                let parcels = [&sends[..], &receives];
                let exchanged = match worker.device.gpu_id() {
                    None => exchange(&mut channel, parcels)?,
                    Some(_) => exchange_over_host(&mut channel, memory, parcels)?,
                };
                exchanged.map(|()| Reply::Done)
            }
            (request, Some(worker)) => worker.answer(request, &mut bytes),
            (_, None) => Err(unknown("work before it was greeted")),
        };
        if is_answered {
            let reply = reply.unwrap_or_else(|error| {
                bytes.clear();
                Reply::Failed(Failure::of(error))
            });
            send(&mut channel, &reply, &bytes, &mut patient)?;
        }
    }
}

/// A rank that was greeted, and what it says.
fn greeted(device: Arc<dyn Backend>) -> (Worker, Reply) {
    let hello = Reply::Hello {
        build: Build::own(),
        device: device.name(),
        host: Machine::own(),
        gpu: device.gpu_id(),
        // Launches on a GPU go on when their answers have come.
        reach: (device.memory().is_host() && device.gpu_id().is_none()).then(Reach::own),
    };
    let spare = Allocator::new(device.clone(), None);
    (Worker { device, spare, kernels: HashMap::new() }, hello)
}

impl Worker {
    /// Does what is asked; `bytes` came behind the request, and go behind the reply.
    fn answer(&mut self, request: Request, bytes: &mut Vec<u8>) -> Result<Reply> {
        let given = std::mem::take(bytes);
        let memory = self.device.memory();
        match request {
            Request::Hello { .. } => return Err(unknown("its name twice")),
            Request::Alloc { bytes } => return self.block(|memory| memory.alloc_raw(bytes)),
            Request::Reserve { bytes } => return self.block(|memory| memory.reserve_raw(bytes)),
            Request::Back { block, bytes } => {
                let back = || memory.back(block, bytes.clone());
                return Ok(Reply::Is(back()? || (self.spare.trim().0 > 0 && back()?)));
            }
            Request::Free { address, bytes } => memory.free_raw(address, bytes),
            Request::Fill { address, pattern, width, n } => {
                memory.fill(address, pattern, width, n)?;
            }
            Request::Copy { target, source, bytes } => memory.copy(target, source, bytes)?,
            Request::Write { address } => memory.write(address, &given)?,
            Request::Read { address, bytes: n } => {
                bytes.try_reserve(n).map_err(|_| exhausted(n as u64))?;
                bytes.resize(n, 0);
                memory.read(address, bytes)?;
            }
            Request::Look { run, look } => return Ok(Reply::Seen(run.look(memory, &look)?)),
            Request::Exchange { .. } => return Err(unknown("messages of which it knows no way")),
            Request::Join { invitation, place } => {
                self.communicator()?.begin_join(invitation, place)()?;
            }
            Request::ExchangeAmongGpus { sends, receives } => {
                self.communicator()?.begin_exchange(sends, receives)()?;
            }
            Request::Settle => return Ok(Reply::Is(self.communicator()?.begin_settle()()?)),
            Request::Leave => self.communicator()?.begin_leave()()?,
            Request::Fetch { pieces } => return Ok(Reply::Is(copy(Way::Here, pieces)?)),
            Request::Load { address, lanes } => {
                return Ok(Reply::Is(memory.load(address, &lanes)?));
            }
            Request::Save { address, lanes } => {
                return Ok(Reply::Is(memory.save(address, &lanes)?));
            }
            Request::Capacity => return Ok(Reply::Capacity(memory.capacity().bytes)),
            Request::IsReady { address } => return Ok(Reply::Is(memory.is_ready(address))),
            Request::Wait { address } => memory.wait(address)?,
            Request::Sync => self.device.sync()?,
            Request::Lower { number, kernel, mode } => {
                let code = self.device.lower(&kernel, mode)?;
                let told =
                    Code::of(code.statistics(), code.ranges().is_some(), code.nanoseconds(1));
                self.kernels.insert(number, code);
                return Ok(Reply::Code(told));
            }
            Request::Forget { number } => drop(self.kernels.remove(&number)),
            Request::Launch { number, words, n } => {
                let launched = self.kernel(number)?.launch(ParamBlock::of_words(words), n)?;
                return Ok(Reply::Launched(self.failures(launched)?));
            }
            Request::RunRange { number, words, lanes } => {
                let code = self.kernel(number)?;
                let ranges = code.ranges().ok_or_else(|| unknown("code that runs no ranges"))?;
                let since = Instant::now();
                let ran = ranges.run_range(ParamBlock::of_words(words), lanes)?;
                return Ok(Reply::Ran(Ran { time: Some(since.elapsed()), ..ran }));
            }
            Request::Primitive { call } => {
                let room = |bytes| {
                    if bytes >= LARGE {
                        // What arrays have taken since does not count in it.
                        self.spare.forget_limit();
                    }
                    self.spare.alloc(bytes).map_err(|_| refusal(memory, bytes))
                };
                let since = Instant::now();
                self.device.run_primitive(&call, &room)?;
                return Ok(Reply::Took(since.elapsed()));
            }
        }
        Ok(Reply::Done)
    }

    fn communicator(&self) -> Result<&dyn Communicator> {
        self.device.communicator().ok_or_else(|| unknown("bytes of GPUs, and has none"))
    }

    /// A block, for which what primitives keep is given back if need be.
    fn block(&self, find: impl Fn(&dyn Memory) -> Option<u64>) -> Result<Reply> {
        let find = || find(self.device.memory());
        let found = find().or_else(|| (self.spare.trim().0 > 0).then(find).flatten());
        if found.is_none() {
            // A device that has failed refuses everything.
            self.device.sync()?;
        }
        Ok(Reply::Address(found))
    }

    /// What was out of bounds in a launch, which is waited for where that is not known yet.
    fn failures(&self, launched: Launched) -> Result<Failures> {
        match launched {
            Launched::Done { failures, .. } => Ok(failures),
            Launched::Running(running) => self.device.sync().map(|()| running.failures()),
            Launched::Queued(pending) => self.device.sync().map(|()| pending.failures()),
        }
    }

    fn kernel(&self, number: u64) -> Result<Arc<dyn Executable>> {
        self.kernels.get(&number).cloned().ok_or_else(|| unknown("a kernel that it has not"))
    }
}

fn unknown(what: &str) -> Error {
    Error::NoDevice { name: "rank".into(), reason: format!("it was asked for {what}") }
}
