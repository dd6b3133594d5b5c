//! What lanes of a scatter write, as it goes to the owners of the elements: each part sorts its lanes by owner, and an owner
//! gets those of the first part, then those of the second, in the order of lanes.

use std::ops::Range;

use super::calls::{placed, run_each};
use super::partition::Partition;
use super::shared::Shared;
use super::transfer::{Place, Transfer};
use super::working::Working;
use crate::backend::OutOfBounds;
use crate::backend::host::{ALIGNMENT, exhausted};
use crate::backend::primitive::{MemoryArray, PrimitiveCall};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::Primitive;
use crate::memory::buffer::Buffer;

/// What working memory is for.
pub(super) const PURPOSE: &str = "a scatter over parts";

/// What lanes write, by addresses of the session; each part has that of its lanes.
pub(super) struct Written {
    pub(super) index: MemoryArray,
    pub(super) value: MemoryArray,
    pub(super) active: Option<MemoryArray>,
}

/// Indices and values of some lanes, one array behind the other.
pub(super) struct Pairs<'m> {
    _block: Working<'m>,
    /// Where both are.
    pub(super) addresses: [u64; 2],
}

/// The lanes of a part by their owners.
struct Run<'m> {
    part: usize,
    pairs: Pairs<'m>,
    /// Where the lanes of each owner begin, and where the last end.
    starts: Vec<u64>,
}

/// The lanes of all parts by their owners.
pub(super) struct ByOwner<'m> {
    runs: Vec<Run<'m>>,
    widths: [u64; 2],
    /// The lowest lane whose index is out of bounds.
    pub(super) outside: Option<OutOfBounds>,
}

/// How many lanes of a part write to each owner, and the memory that says whose elements are whose.
struct Tally<'m> {
    part: usize,
    lanes: Range<u64>,
    block: Working<'m>,
    counts: Vec<u64>,
}

impl Written {
    fn widths(&self) -> [u64; 2] {
        [self.index, self.value].map(|array| array.dtype.bytes() as u64)
    }

    /// Operands of a part: `ends` come behind the indices.
    fn operands(
        &self,
        shared: &Shared,
        (part, lanes): (usize, &Range<u64>),
        ends: MemoryArray,
        with_values: bool,
    ) -> Result<Vec<MemoryArray>> {
        let own = |array: &MemoryArray| placed(shared, part, array, lanes.clone());
        let mut operands = vec![own(&self.index)?, ends];
        if with_values {
            operands.push(own(&self.value)?);
        }
        operands.extend(self.active.as_ref().map(own).transpose()?);
        Ok(operands)
    }

    /// A call at a part.
    fn call(
        primitive: Primitive,
        operands: Vec<MemoryArray>,
        result: MemoryArray,
        lane_base: u64,
    ) -> PrimitiveCall {
        PrimitiveCall { primitive, operands: operands.into(), result, imag: None, lane_base }
    }

    /// Has each part count its lanes.
    fn counted<'m>(&self, shared: &'m Shared, ends: &[u64]) -> Result<Vec<Tally<'m>>> {
        let (mut counted, mut calls) = (Vec::new(), Vec::new());
        let partition = Partition::new(self.index.size, shared.memory.parts());
        let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        for (part, lanes) in partition.all().enumerate().filter(|(_, lanes)| !lanes.is_empty()) {
            let memory = shared.memory.of(part);
            let block = Working::of(memory, 2 * bytes.len() + 16)?;
            memory.write(block.address, &bytes)?;
            let [ends, counts] = numbers(&block, ends.len());
            let operands = self.operands(shared, (part, &lanes), ends, false)?;
            calls.push((part, Self::call(Primitive::CountByOwner, operands, counts, lanes.start)));
            counted.push(Tally { part, lanes, block, counts: Vec::new() });
        }
        run_each(shared, &calls, &no_room)?;
        for (counted, (part, call)) in counted.iter_mut().zip(&calls) {
            let mut bytes = vec![0; exactly(call.result.bytes())];
            shared.memory.of(*part).read(call.result.address, &mut bytes)?;
            let words = bytes.as_chunks::<8>().0.iter();
            counted.counts = words.map(|&word| u64::from_le_bytes(word)).collect();
        }
        Ok(counted)
    }
}

/// The two arrays of a block: where the elements of each owner end, and counts with what is out of bounds.
fn numbers(block: &Working<'_>, owners: usize) -> [MemoryArray; 2] {
    let array = |first: usize, n: usize| MemoryArray {
        address: block.address + 8 * first as u64,
        size: n as u64,
        dtype: DType::U64,
    };
    [array(0, owners), array(owners, owners + 2)]
}

/// Working memory of what needs none.
fn no_room(bytes: u64) -> Result<Buffer> {
    Err(exhausted(bytes))
}

impl<'m> Pairs<'m> {
    /// Room for so many at each part.
    fn of(shared: &'m Shared, lanes: &[u64], [index, value]: [u64; 2]) -> Result<Vec<Self>> {
        // Lanes are in memory with both.
        let of_indices = |n: &u64| (n * index).next_multiple_of(ALIGNMENT as u64);
        let bytes: Vec<u64> = lanes.iter().map(|n| of_indices(n) + n * value).collect();
        let blocks = Working::of_parts(shared, &bytes, PURPOSE)?.into_iter().zip(lanes);
        let pairs = |(block, n): (Working<'m>, &u64)| {
            let addresses = [block.address, block.address + of_indices(n)];
            Self { _block: block, addresses }
        };
        Ok(blocks.map(pairs).collect())
    }
}

impl<'m> ByOwner<'m> {
    /// Has each part sort its lanes.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`, a failure of a part.
    pub(super) fn of(shared: &'m Shared, written: &Written, owners: Partition) -> Result<Self> {
        let ends: Vec<u64> = owners.all().map(|own| own.end).collect();
        let counted = written.counted(shared, &ends)?;
        let (mut sizes, mut outside) = (vec![0; shared.memory.parts()], None);
        for Tally { part, counts, .. } in &counted {
            let (counts, lowest) = counts.split_at(ends.len());
            sizes[*part] = counts.iter().sum();
            let lowest = OutOfBounds { lane: lowest[0], index: lowest[1] };
            outside = outside.or((lowest.lane < u64::MAX).then_some(lowest));
        }
        let pairs = Pairs::of(shared, &sizes, written.widths())?;
        let pairs = pairs.into_iter().zip(&sizes).filter(|(_, size)| **size > 0);
        let writing = counted.iter().filter(|counted| sizes[counted.part] > 0);
        let (mut runs, mut calls) = (Vec::new(), Vec::new());
        for (Tally { part, lanes, block, counts }, (pairs, &size)) in writing.zip(pairs) {
            let mut starts = vec![0];
            starts.extend(counts[..ends.len()].iter().scan(0, |end, &count| {
                *end += count;
                Some(*end)
            }));
            let [result, values] = [(0, &written.index), (1, &written.value)].map(|(i, array)| {
                MemoryArray { address: pairs.addresses[i], size, dtype: array.dtype }
            });
            let [ends, _] = numbers(block, ends.len());
            let operands = written.operands(shared, (*part, lanes), ends, true)?;
            let call = Written::call(Primitive::ByOwner, operands, result, lanes.start);
            calls.push((*part, PrimitiveCall { imag: Some(values), ..call }));
            runs.push(Run { part: *part, pairs, starts });
        }
        run_each(shared, &calls, &no_room)?;
        Ok(Self { runs, widths: written.widths(), outside })
    }

    /// How many lanes write to an owner.
    pub(super) fn lanes(&self, owner: usize) -> u64 {
        self.runs.iter().map(|run| run.starts[owner + 1] - run.starts[owner]).sum()
    }

    /// Room for so many lanes of each owner.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn rooms(&self, shared: &'m Shared, lanes: &[u64]) -> Result<Vec<Pairs<'m>>> {
        Pairs::of(shared, lanes, self.widths)
    }

    /// What brings some of the lanes of an owner to it.
    pub(super) fn transfers(
        &self,
        owner: usize,
        lanes: &Range<u64>,
        to: &Pairs<'_>,
    ) -> Vec<Transfer> {
        let (mut before, mut transfers) = (0, Vec::new());
        for Run { part, pairs, starts } in &self.runs {
            let [first, end] = [starts[owner], starts[owner + 1]];
            let own = lanes.start.max(before)..lanes.end.min(before + end - first);
            for (i, width) in self.widths.into_iter().enumerate().filter(|_| !own.is_empty()) {
                let from = pairs.addresses[i] + (first + own.start - before) * width;
                let to = to.addresses[i] + (own.start - lanes.start) * width;
                transfers.push(Transfer {
                    from: Place { part: *part, address: from },
                    to: Place { part: owner, address: to },
                    bytes: (own.end - own.start) * width,
                });
            }
            before += end - first;
        }
        transfers
    }
}
