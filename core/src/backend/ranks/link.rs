//! A connection to a rank: what is asked over it, one request after the other, and how its end is told.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{Channel, read, send};
use super::greeting::Build;
use super::local::RanksOn;
use super::message::{Failure, Reply, Request};
use crate::backend::Listener;
use crate::backend::waiting::Waiting;
use crate::error::{Error, Result};
use crate::interrupt;

/// Time between two looks at the interrupt flag while a rank works.
const MOMENT: Duration = Duration::from_millis(5);

/// After which a rank that still works is told again to stop: soon, as who is told before it has read what it is to do
/// forgets it, then twice as late each time, up to this.
const AGAIN: Duration = Duration::from_millis(10);
const SELDOM: Duration = Duration::from_millis(300);

/// How long a rank that is told to stop may be silent: then it is given up. The driver of a GPU compiles to the end.
const fn patience(on: RanksOn) -> Duration {
    Duration::from_secs(match on {
        RanksOn::Processors => 5,
        RanksOn::Gpus => 30,
    })
}

/// What ends a rank, and says how it ended.
pub(super) trait Process: Send + Sync {
    /// Asks it to give up what it is doing; whether it can be asked.
    fn interrupt(&self) -> bool;

    /// Ends it, if that can be done: it is silent.
    fn give_up(&self);

    /// How it ended, as people read it, once the connection is gone: `killed by signal 9`.
    fn end(&self) -> String;

    /// How it ended, if it does in a while: somebody else has told it to stop.
    fn ends(&self) -> Option<String> {
        None
    }
}

/// A connection to a rank.
pub(super) struct Link {
    /// `rank 2`
    pub(super) name: String,
    /// Until it is over.
    pub(super) channel: Mutex<Option<Box<dyn Channel>>>,
    process: Box<dyn Process>,
    patience: Duration,
    waiting: Listener,
    /// Why the connection broke, once it has.
    pub(super) lost: OnceLock<Error>,
    /// Whether it may be at work with what it has answered; changed by who has the channel.
    pub(super) is_busy: AtomicBool,
    pub(super) next_kernel: AtomicU64,
}

/// What is said of a connection that was let go.
fn over() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

/// Whether the other end has closed a connection.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

/// A rank that was told to stop: when first, and last, and how long it has until it is told again.
#[derive(Clone, Copy)]
struct Stop {
    first: Instant,
    last: Instant,
    pause: Duration,
}

impl Stop {
    /// Told now, perhaps again.
    fn now(before: Option<Self>) -> Self {
        let last = Instant::now();
        let (first, pause) =
            before.map_or((last, AGAIN), |Self { first, pause, .. }| (first, 2 * pause));
        Self { first, last, pause: pause.min(SELDOM) }
    }
}

/// A request that is not answered yet.
pub(super) struct Asked<'l> {
    link: &'l Link,
    channel: MutexGuard<'l, Option<Box<dyn Channel>>>,
    /// Whether the answer has come, or none does.
    is_over: bool,
    /// Whether the rank was told to stop.
    is_told: bool,
    can_be_stopped: bool,
}

impl Link {
    pub(super) fn new(
        rank: usize,
        channel: Box<dyn Channel>,
        process: Box<dyn Process>,
        on: RanksOn,
        waiting: &Listener,
    ) -> Self {
        Self {
            name: format!("rank {rank}"),
            channel: Mutex::new(Some(channel)),
            process,
            patience: patience(on),
            waiting: waiting.clone(),
            lost: OnceLock::new(),
            is_busy: AtomicBool::new(false),
            next_kernel: AtomicU64::new(0),
        }
    }

    /// What is told of a connection that broke.
    fn lost(&self, error: &io::Error) -> Error {
        if let Some(known) = self.lost.get() {
            return known.clone();
        }
        let ended = match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::OutOfMemory => error.to_string(),
            _ => self.process.end(),
        };
        self.ended(&ended)
    }

    /// Notes how it ended; the first is told ever after.
    pub(super) fn ended(&self, how: &str) -> Error {
        let (device, reason) = (self.name.clone(), format!("it {how}"));
        let error = Error::DeviceFailed { device, what: "working", reason, lost: true };
        self.lost.get_or_init(|| error).clone()
    }

    /// What is told of a rank that was told to stop, and not by its leader: by a signal, which may end it.
    fn stopped(&self) -> Error {
        if let Some(how) = self.process.ends() {
            return self.ended(&how);
        }
        if interrupt::is_requested() {
            return Error::Interrupted;
        }
        let reason = "a signal told it to stop".into();
        Error::DeviceFailed { device: self.name.clone(), what: "working", reason, lost: false }
    }

    /// What is told of what a rank could not do; one whose device is lost is of no more use.
    fn failed(&self, failure: Failure) -> Error {
        match failure.at(&self.name) {
            error @ Error::DeviceFailed { lost: true, .. } => {
                self.lost.get_or_init(|| error).clone()
            }
            error => error,
        }
    }

    pub(super) fn ask(&self, request: &Request, bytes: &[u8]) -> Result<Asked<'_>> {
        self.ask_over(self.lock(), request, bytes)
    }

    pub(super) fn ask_over<'l>(
        &'l self,
        mut channel: MutexGuard<'l, Option<Box<dyn Channel>>>,
        request: &Request,
        bytes: &[u8],
    ) -> Result<Asked<'l>> {
        let open = channel.as_deref_mut().ok_or_else(over);
        let mut watch = Watch::new(self, request.can_be_stopped());
        let sent = open.and_then(|channel| send(channel, request, bytes, &mut || watch.look()));
        let is_told = watch.is_told;
        if let Err(error) = sent {
            // What comes next would be read as the rest of this.
            *channel = None;
            return Err(self.lost(&error));
        }
        if request.gives_work() {
            self.is_busy.store(true, Ordering::Relaxed);
        }
        let is_over = !request.is_answered();
        let can_be_stopped = request.can_be_stopped();
        Ok(Asked { link: self, channel, is_over, is_told, can_be_stopped })
    }

    /// Who is told that it is waited for.
    pub(super) fn waiting(&self) -> Listener {
        self.waiting.clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Channel>>> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn call(&self, request: &Request, bytes: &[u8]) -> Result<Reply> {
        self.ask(request, bytes)?.wait(&mut Vec::new())
    }

    /// Sends what is not answered.
    pub(super) fn tell(&self, request: &Request) {
        // Of a rank that is gone nothing is left to free.
        drop(self.ask(request, &[]));
    }

    pub(super) fn unexpected(&self, reply: &Reply) -> Error {
        Error::NoDevice { name: self.name.clone(), reason: format!("it answered {reply:?}") }
    }
}

impl Asked<'_> {
    /// Waits for the answer; `bytes` get what comes behind it.
    pub(super) fn wait(mut self, bytes: &mut Vec<u8>) -> Result<Reply> {
        let head = self.receive(bytes);
        self.told(head)
    }

    /// Waits for the answer to a greeting, which only who is of this build can read.
    pub(super) fn greeted(mut self) -> Result<Reply> {
        let head = self.receive(&mut Vec::new());
        let name = &self.link.name;
        match &head {
            Ok(head) => match Build::of(head) {
                Some(build) if build != Build::own() => return Err(build.refused(name)),
                None if read::<Reply>(head).is_err() => {
                    return Err(Build::unanswered(name, "gave an answer that cannot be read"));
                }
                _ => {}
            },
            Err(error) if is_end(error) => {
                return Err(Build::unanswered(name, &self.link.process.end()));
            }
            Err(_) => {}
        }
        self.told(head)
    }

    /// What a head tells.
    fn told(&mut self, head: io::Result<Vec<u8>>) -> Result<Reply> {
        let received = head.and_then(|head| read(&head));
        self.is_over = received.is_ok();
        match received {
            Ok(Reply::Failed(Failure::Interrupted))
                if !self.is_told && !interrupt::is_requested() =>
            {
                Err(self.link.stopped())
            }
            Ok(Reply::Failed(failure)) => Err(self.link.failed(failure)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.link.lost(&error)),
        }
    }

    /// The head of the answer.
    fn receive(&mut self, bytes: &mut Vec<u8>) -> io::Result<Vec<u8>> {
        let channel = self.channel.as_deref_mut().ok_or_else(over)?;
        let mut watch = Watch::new(self.link, self.can_be_stopped);
        let mut head = Vec::new();
        // While others were waited for somebody may have had enough.
        let moment = if interrupt::is_requested() { Duration::ZERO } else { MOMENT };
        let received = channel.is_there(moment).and_then(|mut is_there| {
            while !is_there {
                is_there = channel.is_there(watch.look()?)?;
            }
            channel.receive(&mut head, bytes, &mut || watch.look())
        });
        self.is_told |= watch.is_told;
        received.map(|()| head)
    }
}

/// Who waits for a rank: says so, and passes on that it is to stop.
struct Watch<'l> {
    link: &'l Link,
    waiting: Waiting<'l>,
    stop: Option<Stop>,
    /// Whether the rank was told, and whether that makes sense.
    is_told: bool,
    can_be_stopped: bool,
}

impl<'l> Watch<'l> {
    fn new(link: &'l Link, can_be_stopped: bool) -> Self {
        let waiting = Waiting::new(&link.waiting);
        Self { link, waiting, stop: None, is_told: false, can_be_stopped }
    }

    /// What there is to do while the rank takes or gives nothing; how long until it is to be done again.
    ///
    /// # Errors
    /// `TimedOut`: it was told to stop, and has been silent for too long.
    fn look(&mut self) -> io::Result<Duration> {
        let Self { link, .. } = self;
        self.waiting.say(|time| format!("waiting for {}, {} s", link.name, time.as_secs()));
        if !interrupt::is_requested() {
            self.stop = None;
            return Ok(MOMENT);
        }
        if self.stop.is_some_and(|stop| stop.first.elapsed() > link.patience) {
            link.process.give_up();
            let patience = link.patience;
            link.ended(&format!("was told to stop, and did not answer for {patience:?}"));
            return Err(io::ErrorKind::TimedOut.into());
        }
        let is_due = self.stop.is_none_or(|stop| stop.last.elapsed() > stop.pause);
        if is_due && (!self.can_be_stopped || link.process.interrupt()) {
            self.is_told |= self.can_be_stopped;
            self.stop = Some(Stop::now(self.stop));
        }
        Ok(MOMENT)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        // Nobody would know the next answer from this one's.
        if !self.is_over {
            *self.channel = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_stop_is_told_more_and_more_seldom() {
        let mut stop = None;
        let mut pause = || {
            stop = Some(Stop::now(stop));
            stop.unwrap().pause.as_millis()
        };
        assert_eq!([(); 7].map(|()| pause()), [10, 20, 40, 80, 160, 300, 300]);
    }
}
