//! PNG: any colour type and depth. What has fewer bits than 8 has 8 then, a palette is its colours.

use std::io::ErrorKind;

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};
use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::{DType, Error, Session, interrupt};

use super::pixels::{PIECE, Pixels, check_interrupt, room};
use super::refusal::{Refusal, Result};
use crate::value::polled::Polled;

const FORMAT: &str = "PNG";
/// Deflate packs at most 258 bytes into two bits.
const MOST_UNPACKED: u128 = 1032;

pub(super) fn pixels(session: &Session, file: &[u8]) -> Result<Pixels> {
    // What is not checked here is no longer than the file.
    let limits = Limits { bytes: usize::MAX };
    let mut decoder = Decoder::new_with_limits(Polled::new(file), limits);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(refusal)?;
    let (width, height) = (u64::from(header.width), u64::from(header.height));
    check_size(file, width, height, header.bits_per_pixel())?;
    let mut reader = decoder.read_info().map_err(refusal)?;
    let (colour, depth) = reader.output_color_type();
    let n = reader.output_buffer_size().ok_or_else(|| too_large(file, width, height))?;
    let mut bytes = room(session, n as u64, n as u64)?;
    let frame = reader.next_frame(&mut bytes).map_err(refusal)?;
    if (u64::from(frame.width), u64::from(frame.height)) != (width, height) {
        return Err(damaged("its first picture is not as large as its header says"));
    }
    reader.finish().map_err(refusal)?;
    let (dtype, size) = match depth {
        BitDepth::Sixteen => (DType::U16, 2),
        BitDepth::One | BitDepth::Two | BitDepth::Four | BitDepth::Eight => (DType::U8, 1),
    };
    let channels = match colour {
        ColorType::Grayscale | ColorType::Indexed => 1,
        ColorType::Rgb => 3,
        ColorType::GrayscaleAlpha | ColorType::Rgba => 4,
    };
    if colour == ColorType::GrayscaleAlpha {
        bytes = with_colours(session, &bytes, size)?;
    }
    if dtype == DType::U16 {
        turn(&mut bytes)?;
    }
    Ok(Pixels { width, height, channels, dtype, bytes })
}

/// Refuses more pixels than so many bytes can hold.
fn check_size(file: &[u8], width: u64, height: u64, bits: usize) -> Result<()> {
    let least = u128::from(width) * u128::from(height) * bits as u128 / 8;
    if least <= MOST_UNPACKED * file.len() as u128 {
        return Ok(());
    }
    Err(too_large(file, width, height))
}

fn too_large(file: &[u8], width: u64, height: u64) -> Refusal {
    Refusal::Size { format: FORMAT, width, height, got: Bytes(file.len() as u64) }
}

/// Greys with their opacity as colours that have one; a number has so many bytes.
fn with_colours(session: &Session, greys: &[u8], size: usize) -> Result<Vec<u8>> {
    let mut colours = room(session, 2 * greys.len() as u64, 0)?;
    for (greys, colours) in greys.chunks(PIECE).zip(colours.chunks_mut(2 * PIECE)) {
        check_interrupt()?;
        for (grey, colour) in greys.chunks_exact(2 * size).zip(colours.chunks_exact_mut(4 * size)) {
            let (parts, opacity) = colour.split_at_mut(3 * size);
            parts.chunks_exact_mut(size).for_each(|part| part.copy_from_slice(&grey[..size]));
            opacity.copy_from_slice(&grey[size..]);
        }
    }
    Ok(colours)
}

/// Numbers of two bytes with the lower one first.
fn turn(bytes: &mut [u8]) -> Result<()> {
    for piece in bytes.chunks_mut(PIECE) {
        check_interrupt()?;
        piece.as_chunks_mut::<2>().0.iter_mut().for_each(|number| number.reverse());
    }
    Ok(())
}

fn damaged(what: impl Into<String>) -> Refusal {
    Refusal::Damaged { format: FORMAT, what: what.into() }
}

fn refusal(error: DecodingError) -> Refusal {
    match error {
        _ if interrupt::is_requested() => Error::Interrupted.into(),
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Refusal::Cut(FORMAT)
        }
        error => damaged(error.to_string()),
    }
}
