//! A rank at work: it holds memory and kernels, and does what its leader asks, one thing after the other.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::channel::{Channel, receive, send};
use super::message::{Code, Failure, Reply, Request, VERSION};
use crate::backend::host::exhausted;
use crate::backend::{Backend, Executable, Launched, Ran};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::ParamBlock;
use crate::memory::caching_allocator::Allocator;

/// What a rank has.
struct Worker {
    device: Arc<dyn Backend>,
    /// Working memory of primitives.
    spare: Arc<Allocator>,
    kernels: HashMap<u64, Arc<dyn Executable>>,
}

/// Serves a leader until it goes.
///
/// # Errors
/// The connection broke, or brought what is no request.
pub(super) fn serve(mut channel: impl Channel, device: Arc<dyn Backend>) -> io::Result<()> {
    let spare = Allocator::new(device.clone(), None);
    let mut worker = Worker { device, spare, kernels: HashMap::new() };
    let mut bytes = Vec::new();
    loop {
        let request: Request = match receive(&mut channel, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            request => request?,
        };
        let is_answered = request.is_answered();
        // What was asked to stop is over.
        interrupt::clear();
        let reply = worker.answer(request, &mut bytes);
        if is_answered {
            let reply = reply.unwrap_or_else(|error| {
                bytes.clear();
                Reply::Failed(Failure::of(error))
            });
            send(&mut channel, &reply, &bytes)?;
        }
    }
}

impl Worker {
    /// Does what is asked; `bytes` came behind the request, and go behind the reply.
    fn answer(&mut self, request: Request, bytes: &mut Vec<u8>) -> Result<Reply> {
        let given = std::mem::take(bytes);
        let memory = self.device.memory();
        match request {
            Request::Hello { version, .. } => {
                if version != VERSION {
                    let reason = format!("it is {VERSION}, and its leader {version}");
                    return Err(Error::NoDevice { name: "rank".into(), reason });
                }
                let (device, process) = (self.device.name(), std::process::id());
                return Ok(Reply::Hello { version: VERSION.into(), device, process });
            }
            Request::Alloc { bytes } => return Ok(Reply::Address(memory.alloc_raw(bytes))),
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
            Request::Load { address, lanes } => {
                return Ok(Reply::Reached(memory.load(address, &lanes)?));
            }
            Request::Save { address, lanes } => {
                return Ok(Reply::Reached(memory.save(address, &lanes)?));
            }
            Request::Capacity => return Ok(Reply::Capacity(memory.capacity().bytes)),
            Request::Lower { number, kernel, mode } => {
                let code = self.device.lower(&kernel, mode)?;
                let told =
                    Code::of(code.statistics(), code.ranges().is_some(), code.nanoseconds(1));
                self.kernels.insert(number, code);
                return Ok(Reply::Code(told));
            }
            Request::Forget { number } => drop(self.kernels.remove(&number)),
            Request::Launch { number, words, n } => {
                let code = self.kernel(number)?;
                return match code.launch(ParamBlock::of_words(words), n)? {
                    Launched::Done { failures, .. } => Ok(Reply::Launched(failures)),
                    Launched::Running(_) | Launched::Queued(_) => {
                        unreachable!("internal error: a launch on a processor that waits")
                    }
                };
            }
            Request::RunRange { number, words, lanes } => {
                let code = self.kernel(number)?;
                let ranges = code.ranges().ok_or_else(|| unknown("code that runs no ranges"))?;
                let since = Instant::now();
                let ran = ranges.run_range(ParamBlock::of_words(words), lanes)?;
                return Ok(Reply::Ran(Ran { time: Some(since.elapsed()), ..ran }));
            }
            Request::Primitive { call } => {
                let room = |bytes| self.spare.alloc(bytes).map_err(|_| exhausted(bytes));
                let since = Instant::now();
                self.device.run_primitive(&call, &room)?;
                return Ok(Reply::Took(since.elapsed()));
            }
        }
        Ok(Reply::Done)
    }

    fn kernel(&self, number: u64) -> Result<Arc<dyn Executable>> {
        self.kernels.get(&number).cloned().ok_or_else(|| unknown("a kernel that it has not"))
    }
}

fn unknown(what: &str) -> Error {
    Error::NoDevice { name: "rank".into(), reason: format!("it was asked for {what}") }
}
