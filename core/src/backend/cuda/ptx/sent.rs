//! The entry that sends a few bytes to the host, which sees them as soon as they are there.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Writer, ptx};

/// Threads of the block, each for a byte at most.
pub(in super::super) const THREADS: u32 = 256;

/// Words of parameters: number of bytes, at most [`THREADS`], their address, and in memory of the host the address of room
/// for them and of a word, and what to put there behind them. One block.
pub(super) fn sent(name: &str) -> String {
    let mut w = Writer::default();
    let [n, source, target, sign, number] = [0, 1, 2, 3, 4].map(|word| w.param(word));
    let (thread, byte) = (w.temporary(Class::B64), w.temporary(Class::B32));
    let [beyond, other] = [(); 2].map(|()| w.temporary(Class::Pred));
    let (done, end) = (w.new_label(), w.new_label());
    ptx!(w, "mov.u32 {byte}, %tid.x");
    ptx!(w, "cvt.u64.u32 {thread}, {byte}");
    ptx!(w, "setp.ge.u64 {beyond}, {thread}, {n}");
    ptx!(w, "setp.ne.u64 {other}, {thread}, 0");
    ptx!(w, "@{beyond} bra {done}");
    ptx!(w, "add.u64 {source}, {source}, {thread}");
    ptx!(w, "add.u64 {target}, {target}, {thread}");
    ptx!(w, "ld.global.u8 {byte}, [{source}]");
    ptx!(w, "st.global.u8 [{target}], {byte}");
    w.put_label(done);
    ptx!(w, "bar.sync 0");
    ptx!(w, "@{other} bra {end}");
    ptx!(w, "membar.sys");
    ptx!(w, "st.volatile.global.u64 [{sign}], {number}");
    w.put_label(end);
    w.finish(name, &[params(5)])
}
