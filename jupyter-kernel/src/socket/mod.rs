//! The five channels of a kernel. Nothing outside of this folder knows libzmq.
//!
//! One thread, the *post*, owns shell, stdin and iopub: it hands requests to the interpreter's thread and
//! sends what the others put into its [`Outbox`](post::Outbox). Control and heartbeat have threads of their own, so that
//! they answer whatever the kernel is doing.

pub(crate) mod control;
pub(crate) mod heartbeat;
mod message;
pub(crate) mod post;

use std::io;
use std::thread::{Builder, JoinHandle};

use zmq::{Context, Socket, SocketType};

use crate::connection_file::ConnectionFile;
use crate::wire::{Frames, MOST_BYTES};

/// How long the end of the process waits for clients to take what was sent, in ms.
const LINGER: i32 = 1000;

/// A channel that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("{channel}: cannot listen at {address}: {cause}")]
    Bind { channel: &'static str, address: String, cause: zmq::Error },
    #[error("the system refuses a thread: {0}")]
    Thread(#[from] io::Error),
}

/// The channels, listening.
pub(crate) struct Sockets {
    pub(crate) context: Context,
    pub(crate) shell: Socket,
    pub(crate) stdin: Socket,
    pub(crate) iopub: Socket,
    pub(crate) control: Socket,
    pub(crate) heartbeat: Socket,
}

impl Sockets {
    /// Listens where the connection file says.
    pub(crate) fn bind(file: &ConnectionFile) -> Result<Self, SocketError> {
        let context = Context::new();
        let bind = |kind, channel, port| {
            let address = file.address(port);
            let socket = listen(&context, kind, &address);
            socket.map_err(|cause| SocketError::Bind { channel, address, cause })
        };
        Ok(Self {
            shell: bind(SocketType::ROUTER, "shell", file.shell_port)?,
            stdin: bind(SocketType::ROUTER, "stdin", file.stdin_port)?,
            iopub: bind(SocketType::XPUB, "iopub", file.iopub_port)?,
            control: bind(SocketType::ROUTER, "control", file.control_port)?,
            heartbeat: bind(SocketType::ROUTER, "heartbeat", file.heartbeat_port)?,
            context: context.clone(),
        })
    }
}

fn listen(context: &Context, kind: SocketType, address: &str) -> zmq::Result<Socket> {
    let socket = context.socket(kind)?;
    socket.set_linger(LINGER)?;
    // Of each frame, and of a message as a whole, see there.
    socket.set_maxmsgsize(i64::try_from(MOST_BYTES).unwrap_or(i64::MAX))?;
    // No limit on messages that wait: a slow reader loses nothing and nobody waits for it. Text is bounded
    // by the publisher.
    socket.set_sndhwm(0)?;
    socket.set_rcvhwm(0)?;
    if kind == SocketType::ROUTER {
        // A client that comes back under its old name is served again.
        socket.set_router_handover(true)?;
    }
    if kind == SocketType::XPUB {
        // Tells of every subscription, so that each is welcomed.
        socket.set_xpub_verbose(true)?;
    }
    socket.bind(address)?;
    Ok(socket)
}

/// Sends a message as a client does, to a kernel that may not listen yet; it is on its way while this is kept.
pub(crate) fn leave_message(address: &str, frames: Frames) -> zmq::Result<Socket> {
    let socket = Context::new().socket(SocketType::DEALER)?;
    socket.set_linger(0)?;
    socket.connect(address)?;
    socket.send_multipart(frames, 0)?;
    Ok(socket)
}

/// Lets clients take what was sent, for a moment, and ends the threads that receive.
pub(crate) fn end(mut context: Context) {
    while context.destroy() == Err(zmq::Error::EINTR) {}
}

/// Runs `work` on a thread with a name.
pub(crate) fn spawn<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>, SocketError> {
    Ok(Builder::new().name(name.into()).spawn(work)?)
}
