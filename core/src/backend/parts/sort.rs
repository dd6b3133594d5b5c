//! Sorts of one long row over parts. Each sorts its lanes as words (`primitive/part_sort.rs`); the leader looks at few words
//! of all to find where runs are cut (`cuts.rs`); and each part merges the pieces of all runs that are its own in the end.

use std::ops::Range;

use smallvec::smallvec;

use super::calls::{brought, placed, run_each};
use super::cuts;
use super::partition::Partition;
use super::shared::Shared;
use super::transfer::{Place, Transfer};
use super::working::Working;
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::backend::{SortedRun, Words};
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::{PartSort, Primitive};

/// What working memory is for.
const PURPOSE: &str = "a sort over parts";

/// Whether there are enough lanes for each part: what parts tell each other takes as long as some ten thousand.
pub(super) fn pays(shared: &Shared, call: &PrimitiveCall) -> bool {
    let parts = shared.memory.parts() as u64;
    parts > 1 && call.result.size >= shared.whole.saturating_mul(2 * parts)
}

/// The words that lanes are sorted as.
fn words_of(sort: PartSort, call: &PrimitiveCall) -> Words {
    let x = call.operands[0].dtype;
    match sort.is_index {
        false => Words { dtype: x.unsigned(), n: 1 },
        true => {
            let is_narrow = x.bytes() <= 4 && call.result.dtype == DType::U32;
            Words { dtype: DType::U64, n: if is_narrow { 1 } else { 2 } }
        }
    }
}

/// Those of lanes that are somewhere.
fn array_of(words: Words, address: u64, lanes: u64) -> MemoryArray {
    MemoryArray { address, size: lanes * words.n, dtype: words.dtype }
}

/// The words of each part, in order.
struct Runs<'m> {
    words: Words,
    blocks: Vec<Working<'m>>,
    lengths: Vec<u64>,
}

/// Sorts a row, or the numbers of its lanes.
///
/// # Errors
/// As [`Backend::run_primitive`](crate::backend::Backend::run_primitive).
pub(super) fn sort(
    shared: &Shared,
    call: &PrimitiveCall,
    sort: PartSort,
    room: Room<'_>,
) -> Result<()> {
    let (memory, result) = (&shared.memory, call.result);
    let partition = Partition::new(result.size, memory.parts());
    let runs = Runs::of(shared, call, (sort, partition), room)?;
    let cuts = runs.cuts(shared, partition)?;
    let bytes: Vec<u64> = runs.lengths.iter().map(|&n| runs.bytes_of_pieces(n)).collect();
    let blocks = Working::of_parts(shared, &bytes, PURPOSE)?;
    let (mut calls, mut transfers) = (Vec::new(), Vec::new());
    for (part, lanes) in with_lanes(partition) {
        let own: Vec<Range<u64>> =
            cuts[part].iter().zip(&cuts[part + 1]).map(|(&from, &to)| from..to).collect();
        let to = Place { part, address: blocks[part].address };
        let operands = runs.pieces(shared, to, &own)?;
        transfers.extend(runs.transfers(&own, to));
        let result = placed(shared, part, &result, lanes)?;
        let primitive = Primitive::Merge(sort);
        let operands = operands.into_iter().collect();
        calls.push((part, PrimitiveCall { primitive, operands, result, ..call.clone() }));
    }
    shared.notes.exchanged(memory.transfer_all(&transfers)?);
    drop(runs);
    run_each(shared, &calls, room)?;
    memory.wrote_lanes(result.address, result.dtype.bytes(), result.size, partition.all());
    Ok(())
}

/// The parts that have lanes.
fn with_lanes(partition: Partition) -> impl Iterator<Item = (usize, Range<u64>)> {
    partition.all().enumerate().filter(|(_, lanes)| !lanes.is_empty())
}

impl<'m> Runs<'m> {
    /// Has each part sort its lanes.
    fn of(
        shared: &'m Shared,
        call: &PrimitiveCall,
        (sort, partition): (PartSort, Partition),
        room: Room<'_>,
    ) -> Result<Self> {
        let words = words_of(sort, call);
        let lengths: Vec<u64> = partition.all().map(|lanes| lanes.end - lanes.start).collect();
        let bytes: Vec<u64> = lengths.iter().map(|n| n * words.bytes()).collect();
        let blocks = Working::of_parts(shared, &bytes, PURPOSE)?;
        // As much again each takes while it sorts: other processes of their own, this one of the session's.
        let is_other = |part: usize| !shared.is_here(part) && shared.devices[part].host().is_none();
        let others = bytes.iter().enumerate().filter(|&(part, _)| is_other(part));
        let _others = shared.hold(others.map(|(_, bytes)| bytes).sum(), PURPOSE)?;
        let mut calls = Vec::new();
        for (part, lanes) in with_lanes(partition) {
            let (lane_base, result) =
                (lanes.start, array_of(words, blocks[part].address, lengths[part]));
            let operands = smallvec![brought(shared, part, &call.operands[0], lanes)?];
            let primitive = Primitive::Run(sort);
            calls.push((
                part,
                PrimitiveCall { primitive, operands, result, lane_base, ..call.clone() },
            ));
        }
        run_each(shared, &calls, room)?;
        Ok(Self { words, blocks, lengths })
    }

    /// For each border of parts, both ends included, how many words of each run come before it.
    fn cuts(&self, shared: &Shared, partition: Partition) -> Result<Vec<Vec<u64>>> {
        let run = |(block, &lanes): (&Working<'_>, &u64)| SortedRun {
            address: block.address,
            lanes,
            words: self.words,
        };
        let runs: Vec<SortedRun> = self.blocks.iter().zip(&self.lengths).map(run).collect();
        let ends = partition.all().map(|lanes| lanes.end);
        cuts::behind(shared, &runs, [0].into_iter().chain(ends))
    }

    /// Where behind so many words of all runs stands how many are of each.
    fn end(&self, n: u64) -> u64 {
        (n * self.words.bytes()).next_multiple_of(8)
    }

    /// Bytes of both.
    fn bytes_of_pieces(&self, n: u64) -> u64 {
        self.end(n) + 8 * self.lengths.len() as u64
    }

    /// Pieces of all runs, which come to a place, as operands; how many words each has is written there.
    fn pieces(&self, shared: &Shared, to: Place, own: &[Range<u64>]) -> Result<[MemoryArray; 2]> {
        let lengths: Vec<u64> = own.iter().map(|piece| piece.end - piece.start).collect();
        let (n, size) = (lengths.iter().sum::<u64>(), lengths.len() as u64);
        let bytes: Vec<u8> = lengths.into_iter().flat_map(u64::to_le_bytes).collect();
        let address = to.address + self.end(n);
        shared.memory.of(to.part).write(address, &bytes)?;
        Ok([array_of(self.words, to.address, n), MemoryArray { address, size, dtype: DType::U64 }])
    }

    /// What brings pieces of all runs to a place, one behind the other.
    fn transfers(&self, own: &[Range<u64>], mut to: Place) -> Vec<Transfer> {
        let width = self.words.bytes();
        let transfer = |(part, piece): (usize, &Range<u64>)| {
            let bytes = (piece.end - piece.start) * width;
            let from = Place { part, address: self.blocks[part].address + piece.start * width };
            to.address += bytes;
            Transfer { from, to: Place { address: to.address - bytes, ..to }, bytes }
        };
        own.iter().enumerate().map(transfer).filter(|transfer| transfer.bytes > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, DType, DeviceChoice, Order, Result, Runtime, Session};

    /// A session on so many parts, where everything is split that has more lanes than a chunk.
    fn session(parts: u16) -> Session {
        let runtime = Runtime::new(DeviceChoice::Parts(parts, 1), 2, None).unwrap();
        Session::builder().runtime(runtime).build().unwrap()
    }

    fn bytes(array: Result<Array>) -> Vec<u8> {
        let array = array.unwrap();
        array.read_bytes(0..array.size()).unwrap()
    }

    /// A session of a limit on three parts.
    fn limited(bytes: u64) -> Session {
        let choice = DeviceChoice::Parts(3, 1);
        let runtime = Runtime::new(choice, 1, Some(bytes)).unwrap();
        Session::builder().runtime(runtime).build().unwrap()
    }

    /// Words and pieces of all parts count, besides operand and result.
    #[test]
    fn working_memory_is_within_the_limit() {
        let argsort = |session: &Session| -> Result<[Array; 2]> {
            let lane = session.arange(DType::U32, 0.into(), (1 << 20).into(), 1.into())?;
            let x = lane.cast(DType::F32)?.sin()?;
            x.eval()?;
            let sorted = x.argsort(Order::Ascending)?;
            sorted.eval().map(|()| [x, sorted])
        };
        let short = limited(20 << 20);
        let error = argsort(&short).unwrap_err().to_string();
        assert!(error.starts_with("out of memory: wanted "), "{error}");
        assert!(error.contains(" for a sort over parts, "), "{error}");
        assert!(error.contains(" of 20 MiB (as set) in use; largest arrays: "), "{error}");
        let x = short.arange(DType::U32, 0.into(), 70_000.into(), 1.into()).unwrap();
        assert_eq!(x.sort(Order::Descending).unwrap().to_vec::<u32>().unwrap()[0], 69_999);
        let long = limited(64 << 20);
        let [_, sorted] = argsort(&long).unwrap();
        let [_, want] = argsort(&session(1)).unwrap();
        assert!(bytes(Ok(sorted)) == bytes(Ok(want)));
        let info = long.memory_info();
        assert!((24 << 20..=64 << 20).contains(&info.peak), "{info:?}");
        assert!(info.used <= 9 << 20, "{info:?}");
    }

    #[test]
    fn a_row_is_sorted_as_by_one_part() {
        let mut state = 9_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11 ^ state << 37
        };
        let sessions = [1, 2, 3, 7, 17].map(session);
        for n in [4095, 12_289, 69_635] {
            for dtype in DType::ALL {
                // Few kinds of lanes, and many.
                let mut lane = || match next() % 3 {
                    0 => 3 << 62,
                    1 => next() | 0x7ff << 52,
                    _ => next(),
                };
                let lanes: Vec<u8> =
                    (0..n * dtype.bytes() / 8 + 1).flat_map(|_| lane().to_le_bytes()).collect();
                let lanes: Vec<u8> = match dtype {
                    DType::Mask => lanes.into_iter().map(|byte| byte & 1).collect(),
                    _ => lanes,
                };
                let sorted = |session: &Session| {
                    let x = session.from_bytes(dtype, &lanes[..n * dtype.bytes()]).unwrap();
                    [Order::Ascending, Order::Descending]
                        .map(|order| [bytes(x.sort(order)), bytes(x.argsort(order))])
                };
                let want = sorted(&sessions[0]);
                for (parts, session) in [2, 3, 7, 17].iter().zip(&sessions[1..]) {
                    assert!(sorted(session) == want, "{n} lanes of {dtype}, {parts} parts");
                }
            }
        }
    }
}
