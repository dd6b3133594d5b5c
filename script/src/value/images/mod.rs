//! Files of pictures, PNG and JPEG, as tensors of what their pixels are.
//!
//! Nothing that a header says is believed: what its pixels take is compared with what so many bytes can hold, and with
//! the memory that is left, before any of that size is made.

mod jpeg;
mod kind;
mod pixels;
mod png;
mod refusal;

use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, Session};

use kind::Kind;
use refusal::Result;
pub use refusal::{Other, Refusal};

/// The tensor of the picture in a file: `[rows, columns]` of greys, `[rows, columns, 3]` of colours, `[rows, columns, 4]` with the
/// opacity; of 8 bits, or of 16 where a PNG has them. With a type of `floats` they are from 0 to 1.
///
/// # Errors
/// The file is none that is read, or damaged; `OutOfMemory`, `Interrupted`.
pub fn read(session: &Session, file: &[u8], floats: Option<DType>) -> Result<Tensor> {
    let pixels = match Kind::of(file)? {
        Kind::Png => png::pixels(session, file)?,
        Kind::Jpeg => jpeg::pixels(session, file)?,
    };
    let stored = session.from_bytes(pixels.dtype, &pixels.bytes)?;
    let lanes = match floats {
        Some(dtype) => fractions(&stored, dtype)?,
        None => stored,
    };
    let extents = [pixels.height, pixels.width, pixels.channels];
    let rank = if pixels.channels == 1 { 2 } else { 3 };
    Ok(Tensor::new(&lanes, &extents[..rank])?)
}

/// Integers as parts of their largest.
fn fractions(stored: &Array, dtype: DType) -> porcini_core::Result<Array> {
    let most = if stored.dtype() == DType::U8 { 255.0 } else { 65535.0 };
    // The largest of 16 bits is beyond half floats.
    stored.cast(dtype.widened())?.try_div(most)?.cast(dtype)
}
