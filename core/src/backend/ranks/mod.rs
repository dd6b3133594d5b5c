//! Ranks: parts of a device in other processes (S31).
//!
//! One process leads: it has the session, records, plans and launches. The others hold memory and kernels, and do what they
//! are asked (`worker.rs`), on processors or on a GPU each (`local.rs`); to the leader each is a device (`remote.rs`) behind a
//! connection (`link.rs`), and all of them are parts of one (`parts`). What they say to each other are messages (`message.rs`)
//! over any connection that keeps their order (`channel.rs`).

mod channel;
mod code;
#[cfg(unix)]
mod door;
mod greeting;
#[cfg(unix)]
mod launched;
#[cfg(unix)]
mod launcher;
mod link;
mod local;
mod message;
#[cfg(unix)]
mod mpi;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod processes;
mod remote;
mod staged;
mod worker;

#[cfg(unix)]
pub use launched::Launched;
#[cfg(unix)]
pub use launcher::{VARIABLE as LEADER, launch, leads_here, serve_distant};
pub use local::{Machine, RanksOn, local_rank, number_on_host};
pub(super) use local::{gpu_of, host_name};
#[cfg(unix)]
pub use mpi::{greet, libraries, serve_launched};
#[cfg(unix)]
pub use processes::{serve_leader, start};
#[cfg(unix)]
pub use worker::Open;
