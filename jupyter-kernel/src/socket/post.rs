//! The post: the thread that owns shell, stdin and iopub.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use porcini_core::memory::process_heap;
use serde_json::{Value, json};
use zmq::{DONTWAIT, POLLIN, PollItem, Socket};

use super::message::send;
use crate::publisher::Publisher;
use crate::warn::warn;
use crate::wire::{Frames, Request, Wire};

/// Messages taken from a socket before the others have their turn.
const MOST_IN_A_ROW: usize = 100;
/// How long a client may take to open stdin, once a question waits for it.
const MOST_TRIES: Duration = Duration::from_secs(10);
/// Time between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// First byte of a subscription; that of its end is 0.
const SUBSCRIBE: u8 = 1;

/// A channel that the post sends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Shell,
    Stdin,
    Iopub,
}

enum Order {
    Send(Channel, Frames),
    /// Output waits that should be seen by then.
    FlushAt(Instant),
    /// Hands on what has arrived on shell, and says so.
    HandOn(mpsc::Sender<()>),
    /// Ends the post once all before it is sent.
    Quit,
}

/// Where any thread leaves messages for the post.
#[derive(Clone)]
pub(crate) struct Outbox {
    orders: mpsc::Sender<Order>,
    bell: Arc<Bell>,
}

/// Wakes the post, which waits for sockets.
struct Bell {
    rings: AtomicBool,
    stream: UnixStream,
}

/// The other end of an [`Outbox`].
pub(crate) struct Deliveries {
    orders: mpsc::Receiver<Order>,
    bell: Arc<Bell>,
    /// Becomes readable when the bell rings.
    heard: UnixStream,
}

impl Outbox {
    /// An outbox and what the post takes from it.
    pub(crate) fn new() -> io::Result<(Self, Deliveries)> {
        let (stream, heard) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        let bell = Arc::new(Bell { rings: AtomicBool::new(false), stream });
        let (sender, orders) = mpsc::channel();
        let outbox = Self { orders: sender, bell: bell.clone() };
        Ok((outbox, Deliveries { orders, bell, heard }))
    }

    /// Sends a message.
    pub(crate) fn send(&self, channel: Channel, frames: Frames) {
        process_heap::gave_away(frames.iter().map(Vec::len).sum());
        self.order(Order::Send(channel, frames));
    }

    /// Has the publisher's text sent at a time.
    pub(crate) fn flush_at(&self, time: Instant) {
        self.order(Order::FlushAt(time));
    }

    /// Waits until every request that has arrived on shell by now is with the interpreter.
    pub(crate) fn hand_on(&self) {
        let (done, is_done) = mpsc::channel();
        self.order(Order::HandOn(done));
        // Without the post nothing arrives.
        is_done.recv().unwrap_or(());
    }

    /// Ends the process, after everything that was ordered before.
    pub(crate) fn quit(&self) {
        self.order(Order::Quit);
    }

    fn order(&self, order: Order) {
        // After the end of the post nobody listens.
        drop(self.orders.send(order));
        if !self.bell.rings.swap(true, Ordering::AcqRel) {
            drop((&self.bell.stream).write(&[1]));
        }
    }
}

impl Deliveries {
    /// Everything that waits. The bell may ring again from the moment this begins.
    fn take(&mut self) -> Vec<Order> {
        let mut byte = [0];
        drop(self.heard.read(&mut byte));
        self.bell.rings.store(false, Ordering::Release);
        self.orders.try_iter().collect()
    }
}

/// Owns the sockets and runs until it is told to quit.
pub(crate) struct Post {
    pub(crate) shell: Socket,
    pub(crate) stdin: Socket,
    pub(crate) iopub: Socket,
    pub(crate) deliveries: Deliveries,
    pub(crate) wire: Arc<Wire>,
    pub(crate) publisher: Arc<Publisher>,
    /// To the interpreter.
    pub(crate) requests: mpsc::Sender<Request>,
    /// To whoever asked a question.
    pub(crate) answers: mpsc::Sender<Request>,
}

impl Post {
    /// Receives and sends until [`Outbox::quit`].
    pub(crate) fn run(mut self) {
        // Says when a client is not there yet; otherwise the message would be dropped.
        self.stdin.set_router_mandatory(true).unwrap_or(());
        let mut flush_at: Option<Instant> = None;
        // A question to a client that is not there yet, and when to give up.
        let mut question: Option<(Frames, Instant)> = None;
        loop {
            let try_at = question.as_ref().map(|_| Instant::now() + TRY_AGAIN);
            self.wait(flush_at.into_iter().chain(try_at).min());
            self.welcome();
            self.receive(&self.shell, "shell", &self.requests);
            self.receive(&self.stdin, "stdin", &self.answers);
            if flush_at.is_some_and(|time| time <= Instant::now()) {
                flush_at = None;
                self.publisher.flush_due();
            }
            for order in self.deliveries.take() {
                match order {
                    Order::Send(Channel::Shell, frames) => send(&self.shell, frames),
                    Order::Send(Channel::Iopub, frames) => send(&self.iopub, frames),
                    Order::Send(Channel::Stdin, frames) => {
                        question = Some((frames, Instant::now() + MOST_TRIES));
                    }
                    Order::FlushAt(time) => flush_at = Some(flush_at.map_or(time, |t| t.min(time))),
                    Order::HandOn(done) => {
                        while self.receive(&self.shell, "shell", &self.requests) {}
                        // Who asked may have ended.
                        done.send(()).unwrap_or(());
                    }
                    Order::Quit => return,
                }
            }
            question = question.filter(|(frames, end)| !self.ask(frames) && Instant::now() < *end);
        }
    }

    /// Sends a question; false if its client has not opened stdin.
    fn ask(&self, frames: &Frames) -> bool {
        self.stdin.send_multipart(frames, 0) != Err(zmq::Error::EHOSTUNREACH)
    }

    /// Waits until there is something to do, or until `end`.
    fn wait(&self, end: Option<Instant>) {
        let mut items = [
            self.shell.as_poll_item(POLLIN),
            self.stdin.as_poll_item(POLLIN),
            self.iopub.as_poll_item(POLLIN),
            PollItem::from_fd(self.deliveries.heard.as_raw_fd(), POLLIN),
        ];
        let timeout = end.map_or(-1, |time| {
            let left = time.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
            i64::try_from(left.as_millis()).unwrap_or(i64::MAX)
        });
        // An interrupted wait is as good as a finished one.
        let _: Result<i32, zmq::Error> = zmq::poll(&mut items, timeout);
    }

    /// Whether more may have arrived than is taken in a row.
    fn receive(&self, socket: &Socket, name: &str, to: &mpsc::Sender<Request>) -> bool {
        for _ in 0..MOST_IN_A_ROW {
            let Ok(frames) = socket.recv_multipart(DONTWAIT) else { return false };
            match self.wire.read(frames) {
                // Without its receiver the process is about to end.
                Ok(request) => drop(to.send(request)),
                Err(error) => warn(&format!("{name}: {error}")),
            }
        }
        true
    }

    /// Tells new subscribers that they will miss nothing from now on.
    fn welcome(&self) {
        for _ in 0..MOST_IN_A_ROW {
            let Ok(frame) = self.iopub.recv_bytes(DONTWAIT) else { return };
            let [SUBSCRIBE, topic @ ..] = &frame[..] else { continue };
            let content = json!({"subscription": String::from_utf8_lossy(topic)});
            let topic = [topic.to_vec()];
            let frames = self.wire.write(&topic, "iopub_welcome", &Value::Null, &content);
            send(&self.iopub, frames);
        }
    }
}
