//! The kernel as clients meet it: a process, five sockets, signed messages.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test says that it is skipped")]

mod client;
mod faults;
mod install;
mod life;
mod messages;
mod outside;
mod sandbox;
mod ways;
