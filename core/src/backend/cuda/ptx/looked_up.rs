//! The entry of functions of one half float, whose results for all values are known: a table in shared memory has them.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Name, Writer, ptx};
use super::{SHARED, SHARED_DECLARATION};
use crate::ir::kernel::{BufferIndex, Code, Kernel};

/// Threads of a block, of which a multiprocessor has one.
pub(super) const THREADS: u32 = 1024;
/// Bytes of the table, an element for every value.
pub(in super::super) const TABLE_BYTES: u32 = 2 << 16;
/// Lanes of 16 bytes, which a thread moves at once, so many times before it waits.
const LANES: u32 = 8;
const AT_ONCE: u32 = 4;

/// The buffers that a kernel reads and writes if each lane is a function of one half float and nothing else.
pub(in super::super) fn of_halves(kernel: &Kernel) -> Option<[BufferIndex; 2]> {
    let [source, result] = &kernel.buffers[..] else { return None };
    let is_wanted = source.dtype.is_half() && result.dtype.is_half();
    let is_wanted = is_wanted && !source.written && result.written && !source.anywhere;
    let is_of_lane = |code: Code| {
        matches!(
            code,
            Code::Literal(_) | Code::Constant(_) | Code::Op(_) | Code::Load(_) | Code::Store(_)
        )
    };
    let uniform = &kernel.insts[..kernel.n_uniform];
    let is_of_lane = kernel.insts.iter().all(|inst| is_of_lane(inst.code))
        && !uniform.iter().any(|inst| matches!(inst.code, Code::Load(_)));
    (is_wanted && is_of_lane).then_some([BufferIndex(0), BufferIndex(1)])
}

/// Words of parameters: number of lanes, address of the lanes, address of the result, both aligned to 16 bytes, address of
/// the table. Any number of blocks; the last thread may run lanes beyond, up to a whole number of 16 bytes.
pub(super) fn looked_up(name: &str) -> String {
    let mut w = Writer::default();
    w.launch_bounds = Some([THREADS, 1]);
    let [n, source, result, table] = [0, 1, 2, 3].map(|word| w.param(word));
    let [thread, block, shared, own] = [(); 4].map(|()| w.temporary(Class::B32));
    let [lane, stride, address, done] = [
        w.temporary(Class::B64),
        w.temporary(Class::B64),
        w.temporary(Class::B64),
        w.temporary(Class::Pred),
    ];
    let (again, end) = (w.new_label(), w.new_label());
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "mov.u32 {shared}, {SHARED}");
    ptx!(w, "mad.lo.u32 {own}, {thread}, 16, {shared}");
    ptx!(w, "mad.wide.u32 {table}, {thread}, 16, {table}");
    for i in 0..TABLE_BYTES / 16 / THREADS {
        let kept = w.mark();
        let (words, at) = (listed(&w.words()), i * 16 * THREADS);
        ptx!(w, "ld.global.nc.v4.b32 {{{words}}}, [{table}+{at}]");
        ptx!(w, "st.shared.v4.b32 [{own}+{at}], {{{words}}}");
        w.release_to(kept);
    }
    ptx!(w, "bar.sync 0");
    ptx!(w, "mov.u32 {block}, %ctaid.x");
    ptx!(w, "mad.lo.u32 {own}, {block}, {THREADS}, {thread}");
    ptx!(w, "mul.wide.u32 {lane}, {own}, {LANES}");
    ptx!(w, "mov.u32 {block}, %nctaid.x");
    ptx!(w, "mul.wide.u32 {stride}, {block}, {}", THREADS * LANES);
    w.put_label(again);
    ptx!(w, "setp.ge.u64 {done}, {lane}, {n}");
    ptx!(w, "@{done} bra {end}");
    let vectors: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (words, inside) = (w.words(), w.temporary(Class::Pred));
            let offset = w.temporary(Class::B64);
            ptx!(w, "setp.lt.u64 {inside}, {lane}, {n}");
            ptx!(w, "shl.b64 {offset}, {lane}, 1");
            ptx!(w, "add.u64 {address}, {source}, {offset}");
            let list = listed(&words);
            ptx!(w, "@{inside} ld.global.nc.v4.b32 {{{list}}}, [{address}]");
            ptx!(w, "add.u64 {lane}, {lane}, {stride}");
            (words, inside, offset)
        })
        .collect();
    for (words, inside, offset) in vectors {
        let beyond = w.new_label();
        ptx!(w, "@!{inside} bra {beyond}");
        for word in words {
            let kept = w.mark();
            // An element of the table is two bytes.
            let halves = [("shl.b32", 1), ("shr.u32", 15)].map(|(shift, bits)| {
                let (at, half) = (w.temporary(Class::B32), w.temporary(Class::B16));
                ptx!(w, "{shift} {at}, {word}, {bits}");
                ptx!(w, "and.b32 {at}, {at}, {}", TABLE_BYTES - 2);
                ptx!(w, "add.u32 {at}, {at}, {shared}");
                ptx!(w, "ld.shared.b16 {half}, [{at}]");
                half
            });
            ptx!(w, "mov.b32 {word}, {{{}, {}}}", halves[0], halves[1]);
            w.release_to(kept);
        }
        ptx!(w, "add.u64 {address}, {result}, {offset}");
        let list = listed(&words);
        ptx!(w, "st.global.v4.b32 [{address}], {{{list}}}");
        w.put_label(beyond);
    }
    ptx!(w, "bra {again}");
    w.put_label(end);
    format!("{SHARED_DECLARATION}{}", w.finish(name, &[params(4)]))
}

fn listed(words: &[Name; 4]) -> String {
    words.map(|word| word.to_string()).join(", ")
}

impl Writer {
    /// Registers for 16 bytes.
    fn words(&mut self) -> [Name; 4] {
        [(); 4].map(|()| self.temporary(Class::B32))
    }
}
