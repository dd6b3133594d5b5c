//! Messages as libzmq takes them.

use zmq::Socket;

use crate::wire::Frames;

/// Waits for the next message; `None` when the context ends.
pub(super) fn receive(socket: &Socket) -> Option<Frames> {
    loop {
        match socket.recv_multipart(0) {
            Ok(frames) => return Some(frames),
            Err(zmq::Error::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Sends a message; a client that is gone needs none.
pub(super) fn send(socket: &Socket, frames: Frames) {
    socket.send_multipart(frames, 0).unwrap_or(());
}
