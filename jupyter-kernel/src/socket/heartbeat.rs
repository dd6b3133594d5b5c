//! Heartbeat: every message comes back as it is.

use zmq::Socket;

use super::message::{receive, send};

/// Echoes until the context ends.
pub(crate) fn echo(socket: &Socket) {
    while let Some(frames) = receive(socket) {
        send(socket, frames);
    }
}
