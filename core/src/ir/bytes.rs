//! Lanes as little-endian bytes, and back. The width of a lane is a constant in each loop, which then is a copy.

use crate::dtype::{DType, Element};
use crate::ir::scalar::{quiet_nan, with_lane};

/// Does something with `$width`, the bytes of a lane of `$lane`, as a constant.
macro_rules! with_width {
    ($lane:ty, $width:ident => $work:expr) => {
        match size_of::<$lane>() {
            1 => with_width!(@ $width 1 $work),
            2 => with_width!(@ $width 2 $work),
            4 => with_width!(@ $width 4 $work),
            _ => with_width!(@ $width 8 $work),
        }
    };
    (@ $width:ident $bytes:literal $work:expr) => {{
        const $width: usize = $bytes;
        $work
    }};
}

/// Writes lanes into as many bytes as they take; others stay as they are.
pub fn put<T: Element>(lanes: &[T], bytes: &mut [u8]) {
    with_width!(T, WIDTH => {
        let (places, _) = bytes.as_chunks_mut::<WIDTH>();
        places.iter_mut().zip(lanes).for_each(|(place, lane)| *place = low(lane.to_bits64()));
    });
}

/// Adds the lanes that bytes are to others; bytes behind the last whole lane are left out.
pub fn take<T: Element>(bytes: &[u8], lanes: &mut Vec<T>) {
    with_width!(T, WIDTH => {
        lanes.extend(bytes.as_chunks::<WIDTH>().0.iter().map(|lane| T::from_bits64(word(lane))));
    });
}

/// Makes every NaN the quiet NaN.
pub(crate) fn quieten(dtype: DType, bytes: &mut [u8]) {
    with_lane!(dtype, T => quieten_lanes::<T>(bytes), mask => ());
}

fn quieten_lanes<T: Element + PartialOrd>(bytes: &mut [u8]) {
    if !T::DTYPE.is_float() {
        return;
    }
    let nan = quiet_nan(T::DTYPE);
    with_width!(T, WIDTH => {
        for lane in bytes.as_chunks_mut::<WIDTH>().0 {
            let x = T::from_bits64(word(lane));
            // Written either way, so that lanes are done side by side.
            *lane = if x.partial_cmp(&x).is_none() { low(nan) } else { *lane };
        }
    });
}

/// The number that the bytes of a lane are.
#[inline(always)]
fn word<const WIDTH: usize>(lane: &[u8; WIDTH]) -> u64 {
    let mut word = [0; 8];
    *word.first_chunk_mut().expect("internal error: a lane of more than 8 bytes") = *lane;
    u64::from_le_bytes(word)
}

/// The low bytes of a number.
#[inline(always)]
fn low<const WIDTH: usize>(word: u64) -> [u8; WIDTH] {
    *word.to_le_bytes().first_chunk().expect("internal error: a lane of more than 8 bytes")
}
