//! The streams of a GPU: work goes to one of them, behind the work whose results it needs.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::{self, CUevent_flags as EventFlags, CUresult};
use smallvec::SmallVec;

use super::Gpu;
use super::launcher::{Launch, Launcher};
use crate::backend::cuda::order::{N_STREAMS, Order, Ticket, Use, Waits};
use crate::error::{Error, Result};
use crate::interrupt;

/// A stream, for as long as a turn lasts.
#[derive(Clone, Copy)]
pub(in super::super) struct Stream {
    pub(in super::super) handle: sys::CUstream,
    /// Its number.
    pub(in super::super) number: usize,
}

/// The streams, each with an event that others wait for.
pub(super) struct Streams {
    handles: [sys::CUstream; N_STREAMS],
    events: [sys::CUevent; N_STREAMS],
    order: Mutex<Order>,
    pub(super) launcher: Launcher,
}

impl Streams {
    /// Streams in the current context.
    ///
    /// # Errors
    /// What the driver says.
    pub(super) fn new() -> std::result::Result<Self, DriverError> {
        let (mut handles, mut events) =
            ([ptr::null_mut(); N_STREAMS], [ptr::null_mut(); N_STREAMS]);
        let kind = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        let flags = EventFlags::CU_EVENT_DISABLE_TIMING as u32;
        for (stream, event) in handles.iter_mut().zip(&mut events) {
            // SAFETY: writes one handle; a context is current.
            unsafe { sys::cuStreamCreate(stream, kind) }.result()?;
            // SAFETY: likewise.
            unsafe { sys::cuEventCreate(event, flags) }.result()?;
        }
        Ok(Self { handles, events, order: Mutex::default(), launcher: Launcher::default() })
    }

    /// The order of all that the driver was given.
    fn order(&self) -> MutexGuard<'_, Order> {
        let order = self.order_of_posted();
        self.launcher.drain();
        order
    }

    /// The order of that and of what waits for the driver.
    fn order_of_posted(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the driver says of a stream: whether its work is done, or failed.
    fn state(&self, number: usize) -> CUresult {
        // SAFETY: the stream is ours.
        unsafe { sys::cuStreamQuery(self.handles[number]) }
    }

    pub(super) fn destroy(&self) {
        for (stream, event) in self.handles.into_iter().zip(self.events) {
            // SAFETY: the handles are ours, and have no user any more.
            let _ = unsafe { sys::cuStreamDestroy_v2(stream) };
            // SAFETY: likewise.
            let _ = unsafe { sys::cuEventDestroy_v2(event) };
        }
    }
}

/// A turn in a stream: what is given to it meanwhile comes behind the work that it waits for, and when the turn ends others
/// know of it.
pub(in super::super) struct Turn<'g> {
    gpu: &'g Gpu,
    pub(in super::super) stream: Stream,
    uses: SmallVec<[Use; 8]>,
    /// The last work that the stream was given before.
    before: Ticket,
    /// Whether it comes behind all before, and before all behind.
    is_alone: bool,
    ended: Option<Ticket>,
}

impl Gpu {
    /// A turn for work that uses blocks, in a stream of its own choice or in a given one.
    ///
    /// # Errors
    /// A failure of the device.
    pub(in super::super) fn turn(
        &self,
        uses: impl IntoIterator<Item = Use>,
        stream: Option<usize>,
    ) -> Result<Turn<'_>> {
        let uses: SmallVec<[Use; 8]> = uses.into_iter().collect();
        let mut order = self.streams.order();
        let Some((number, waits)) = order.begin(&uses, stream) else {
            drop(order);
            return self.turn_alone();
        };
        let (before, stream) = (order.last(number), self.stream(number));
        self.have_wait(number, waits)?;
        Ok(Turn { gpu: self, stream, uses, before, is_alone: false, ended: None })
    }

    /// A turn for work that uses any blocks.
    ///
    /// # Errors
    /// A failure of the device.
    pub(in super::super) fn turn_alone(&self) -> Result<Turn<'_>> {
        let mut order = self.streams.order();
        self.check_posted()?;
        let waits = order.begin_alone();
        self.have_wait(0, waits)?;
        let (before, uses) = (order.last(0), SmallVec::new());
        Ok(Turn { gpu: self, stream: self.stream(0), uses, before, is_alone: true, ended: None })
    }

    /// Leaves a launch that comes behind all before to the thread that gives launches to the driver; else gives it back.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn post<L: Launch>(&self, launch: L) -> Result<Option<L>> {
        let launcher = &self.streams.launcher;
        if !launcher.is_awake() {
            return Ok(Some(launch));
        }
        let mut order = self.streams.order_of_posted();
        self.check_posted()?;
        if self.is_lost() {
            return Ok(Some(launch));
        }
        let waits = order.begin_alone();
        if waits.contains(&true) {
            launcher.drain();
            self.have_wait(0, waits)?;
            return Ok(Some(launch));
        }
        launcher.post(Box::new(launch));
        order.end_alone();
        Ok(None)
    }

    /// Whether the driver took what was left to the thread.
    fn check_posted(&self) -> Result<()> {
        match self.streams.launcher.refusal() {
            None => Ok(()),
            Some((name, result)) => {
                let refused = self.check("launching a kernel", result);
                refused.map_err(|error| match error {
                    Error::DeviceFailed { device, what, reason, lost: false } => {
                        let reason = format!("{reason}, at `{name}` of a CUDA module");
                        Error::DeviceFailed { device, what, reason, lost: false }
                    }
                    error => error,
                })
            }
        }
    }

    /// Waits until the driver has what was posted.
    ///
    /// # Errors
    /// `Interrupted`; the launches go on then.
    fn wait_for_posted(&self) -> Result<()> {
        while !self.streams.launcher.is_drained() {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Waits until the driver has what was posted, or has taken its time.
    pub(super) fn settle_posted(&self) {
        const LONG: Duration = Duration::from_secs(1);
        let begun = Instant::now();
        while !self.streams.launcher.is_drained() && begun.elapsed() < LONG {
            std::thread::yield_now();
        }
    }

    /// The stream of what is alone.
    pub(in super::super) fn first_stream(&self) -> Stream {
        self.stream(0)
    }

    /// The number of the stream in which a block is written, if that is not known to be done.
    pub(in super::super) fn stream_of(&self, address: u64) -> Option<usize> {
        self.streams.order().writes(address)
    }

    fn stream(&self, number: usize) -> Stream {
        Stream { handle: self.streams.handles[number], number }
    }

    /// Has a stream wait for what others were given so far.
    fn have_wait(&self, number: usize, waits: Waits) -> Result<()> {
        (0..N_STREAMS).filter(|&other| waits[other]).try_for_each(|other| {
            self.mark(other)?;
            self.wait_for_mark(number, other)
        })
    }

    /// Marks what a stream was given so far.
    pub(super) fn mark(&self, number: usize) -> Result<()> {
        self.enter()?;
        let Streams { handles, events, .. } = &self.streams;
        // SAFETY: both handles are ours.
        let marked = unsafe { sys::cuEventRecord(events[number], handles[number]) };
        self.check("ordering work", marked)
    }

    /// Has a stream wait for the last mark of another.
    fn wait_for_mark(&self, number: usize, other: usize) -> Result<()> {
        self.wait_for_mark_of(self, number, other)
    }

    /// Has a stream wait for the last mark of one of another GPU.
    pub(super) fn wait_for_mark_of(&self, gpu: &Self, number: usize, other: usize) -> Result<()> {
        let (stream, event) = (self.streams.handles[number], gpu.streams.events[other]);
        // SAFETY: the handles belong to GPUs that live.
        let waits = unsafe { sys::cuStreamWaitEvent(stream, event, 0) };
        self.check("ordering work", waits)
    }

    /// Takes note of a block of memory that turns name.
    pub(in super::super) fn add_block(&self, address: u64, bytes: usize) {
        self.streams.order().add(address, bytes.max(1) as u64);
    }

    /// Forgets a block.
    pub(in super::super) fn remove_block(&self, address: u64) {
        self.streams.order().remove(address);
    }

    /// Waits until all work given so far is done.
    ///
    /// # Errors
    /// `Interrupted`; the work goes on then. A failure of the work.
    pub(in super::super) fn wait(&self) -> Result<()> {
        self.wait_for_posted()?;
        let open = self.streams.order().open();
        self.wait_for_all(open)
    }

    /// Waits until nothing is under way, in turns that last either, or `give_up` says so.
    ///
    /// # Errors
    /// `Interrupted` if it gave up; a failure of the work.
    pub(in super::super) fn wait_until(&self, give_up: impl Fn() -> bool) -> Result<()> {
        self.streams.launcher.drain();
        (0..N_STREAMS).try_for_each(|number| self.poll(|| self.streams.state(number), &give_up))
    }

    /// The same of work in one stream.
    ///
    /// # Errors
    /// As [`Self::wait_until`].
    pub(in super::super) fn wait_for(
        &self,
        stream: Stream,
        give_up: impl Fn() -> bool,
    ) -> Result<()> {
        // The turn lasts, so the order does not know of its work yet.
        self.poll(|| self.streams.state(stream.number), give_up)
    }

    /// As [`Self::wait_for`] of short work, or until something is there that it leaves for the host: that is known sooner.
    ///
    /// # Errors
    /// `Interrupted`, and the work goes on; a failure of it.
    pub(in super::super) fn wait_for_sign(
        &self,
        stream: Stream,
        is_there: impl Fn() -> bool,
    ) -> Result<()> {
        /// Until then nobody asks the driver.
        const SOON: Duration = Duration::from_micros(50);
        let begun = Instant::now();
        let state = || match is_there() {
            true => CUresult::CUDA_SUCCESS,
            false if begun.elapsed() < SOON => CUresult::CUDA_ERROR_NOT_READY,
            false => self.streams.state(stream.number),
        };
        self.poll(state, interrupt::is_requested)
    }

    fn wait_for_all(&self, open: impl Iterator<Item = Ticket>) -> Result<()> {
        self.enter()?;
        self.check_posted()?;
        for ticket in open {
            self.poll(|| self.streams.state(ticket.stream), interrupt::is_requested)?;
            self.streams.order().is_done(ticket);
        }
        Ok(())
    }

    /// Waits for work.
    ///
    /// # Errors
    /// `Interrupted`, and the work goes on; a failure of it.
    pub(in super::super) fn wait_for_ticket(&self, ticket: Ticket) -> Result<()> {
        self.wait_for_all(std::iter::once(ticket))
    }

    /// Waits until what was given so far has written a block.
    ///
    /// # Errors
    /// `Interrupted`; a failure of the work.
    pub(in super::super) fn wait_for_block(&self, address: u64) -> Result<()> {
        self.wait_for_posted()?;
        let open = self.streams.order().open_for(address);
        self.wait_for_all(open)
    }

    /// Whether nothing under way writes a block, as far as is known.
    pub(in super::super) fn is_block_ready(&self, address: u64) -> bool {
        let mut open = self.streams.order().open_for(address);
        open.all(|ticket| self.is_over(ticket))
    }

    /// Whether work is done, as far as is known.
    pub(in super::super) fn is_over(&self, ticket: Ticket) -> bool {
        if self.streams.order().knows(ticket) || self.enter().is_err() {
            return true;
        }
        let state = self.streams.state(ticket.stream);
        // A failure is told by who waits.
        if state == CUresult::CUDA_SUCCESS {
            self.streams.order().is_done(ticket);
        }
        state != CUresult::CUDA_ERROR_NOT_READY
    }
}

impl Turn<'_> {
    /// Further blocks that the work uses.
    ///
    /// # Errors
    /// A failure of the device.
    pub(in super::super) fn also(&mut self, one: Use) -> Result<()> {
        if !self.is_alone {
            self.uses.push(one);
        }
        let mut order = self.gpu.streams.order();
        // What is no known block has no other user.
        let waits = order.join(self.stream.number, &[one]).unwrap_or_default();
        self.gpu.have_wait(self.stream.number, waits)
    }

    /// What it was given came behind all that its stream was given before, and is done.
    pub(in super::super) fn is_done(&self) {
        self.gpu.streams.order().is_done(self.before);
    }

    /// Ends the turn; when it is in the order.
    pub(in super::super) fn end(mut self) -> Ticket {
        self.end_now()
    }

    fn end_now(&mut self) -> Ticket {
        if let Some(ticket) = self.ended {
            return ticket;
        }
        let mut order = self.gpu.streams.order();
        let ticket = match self.is_alone {
            false => order.end(self.stream.number, &self.uses),
            true => order.end_alone(),
        };
        self.ended = Some(ticket);
        ticket
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.end_now();
    }
}
