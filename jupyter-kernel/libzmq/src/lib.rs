//! How libzmq is built: as zeromq-src 0.3 does it, for a zmq-sys that asks for 0.2.

pub use newer::Build;
