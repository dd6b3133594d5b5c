//! A scatter as data, and how lanes that hit a window write there.

use super::super::MemoryArray;
use super::super::lanes::Lanes;
use crate::backend::OutOfBounds;
use crate::backend::index::Index as _;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::{Op, ScatterOp};
use crate::ir::scalar::{Lane, with_lane};

/// Bytes of a window up to which a thread writes a copy: it may share lines with others.
const COPIED: usize = 1 << 12;

/// What lanes give.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend) enum OfLanes {
    /// Their elements of an array, by the address of lane 0.
    Array(u64),
    /// The same bits each.
    Bits(u64),
}

/// A scatter of lanes in host memory.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Scatter {
    pub(in crate::backend) op: ScatterOp,
    pub(in crate::backend) target: MemoryArray,
    pub(in crate::backend) lanes: u64,
    /// Address and type of the indices: i32, u32, i64 or u64.
    pub(in crate::backend) index: u64,
    pub(in crate::backend) index_type: DType,
    pub(in crate::backend) value: OfLanes,
    /// The address of which lanes write, as bytes 0 and 1; all if absent.
    pub(in crate::backend) active: Option<u64>,
}

impl Scatter {
    /// The lowest lane out of bounds, and its index; `None` for a number that no lane has.
    pub(super) fn outside(&self, lane: u64) -> Option<OutOfBounds> {
        let place = usize::try_from(lane).ok().filter(|_| lane < self.lanes)?;
        let index = match self.index_type {
            DType::I32 => Lanes::<i32>::at(self.index, place + 1).get(place).position(),
            DType::U32 => Lanes::<u32>::at(self.index, place + 1).get(place).position(),
            _ => Lanes::<u64>::at(self.index, place + 1).get(place),
        };
        Some(OutOfBounds { lane, index })
    }
}

/// Calls `write` with the elements of a window, or with a copy of few of them, which then takes their place.
pub(super) fn on_own_lines(elements: MemoryArray, write: impl FnOnce(MemoryArray)) {
    let bytes = exactly::<usize>(elements.bytes());
    if bytes > COPIED {
        return write(elements);
    }
    let mut copy = [0_u64; COPIED / 8];
    let address = copy.as_mut_ptr().expose_provenance() as u64;
    let [theirs, own] = [elements.address, address].map(|at| Lanes::<u8>::at(at, bytes));
    own.slice_mut(0, bytes).copy_from_slice(theirs.slice(0, bytes));
    write(MemoryArray { address, ..elements });
    theirs.slice_mut(0, bytes).copy_from_slice(own.slice(0, bytes));
}

/// Lets so many hits write to elements, in their order.
pub(super) type Apply = fn(elements: MemoryArray, hits: Hits, n: usize);

/// Lanes that hit a window, by the address of the first one's element and value.
#[derive(Clone, Copy)]
pub(super) enum Hits {
    /// As [`Sorted`].
    Together(u64),
    /// Elements as `u32`, and values.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for vectors only"))]
    Apart(u64, u64),
}

/// A lane's value, with the number of its element in a window.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Sorted<V> {
    pub(super) element: u32,
    pub(super) value: V,
}

/// What combines values of a type with the elements there.
pub(super) fn apply_of(op: ScatterOp, dtype: DType) -> Apply {
    match op {
        ScatterOp::Set => match dtype.bytes() {
            1 => set::<u8>,
            2 => set::<u16>,
            4 => set::<u32>,
            _ => set::<u64>,
        },
        ScatterOp::Add => combining::<{ Op::Add as u8 }>(dtype),
        ScatterOp::Min => combining::<{ Op::Min as u8 }>(dtype),
        ScatterOp::Max => combining::<{ Op::Max as u8 }>(dtype),
        ScatterOp::And => combining::<{ Op::And as u8 }>(dtype),
        ScatterOp::Or => combining::<{ Op::Or as u8 }>(dtype),
    }
}

fn combining<const OP: u8>(dtype: DType) -> Apply {
    with_lane!(dtype, T => combine::<T, OP>, mask => combine::<bool, OP>)
}

fn set<T: Copy>(elements: MemoryArray, hits: Hits, n: usize) {
    each_hit::<T>(elements, hits, n, |_, value| value);
}

fn combine<T: Lane, const OP: u8>(elements: MemoryArray, hits: Hits, n: usize) {
    let op = const { Op::from_number(OP) };
    each_hit::<T>(elements, hits, n, |before, value| T::apply(op, before, value, value));
}

#[inline(always)]
fn each_hit<T: Copy>(elements: MemoryArray, hits: Hits, n: usize, write: impl Fn(T, T) -> T) {
    let elements = Lanes::<T>::of(elements);
    let elements = elements.slice_mut(0, elements.len());
    let mut put = |element: u32, value: T| {
        let element = &mut elements[element as usize];
        *element = write(*element, value);
    };
    match hits {
        Hits::Together(at) => {
            let hits = Lanes::<Sorted<T>>::at(at, n).slice(0, n);
            hits.iter().for_each(|hit| put(hit.element, hit.value));
        }
        Hits::Apart(at, values) => {
            let places = Lanes::<u32>::at(at, n).slice(0, n);
            let values = Lanes::<T>::at(values, n).slice(0, n);
            places.iter().zip(values).for_each(|(&element, &value)| put(element, value));
        }
    }
}
