//! JPEG, baseline and progressive. Inks (CMYK) become colours.

use memchr::memmem;
use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::{DType, Error, Session, interrupt};
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::{DecodeErrors, UnsupportedSchemes};

use super::pixels::{Pixels, room};
use super::refusal::{Refusal, Result};
use crate::value::polled::Polled;

const FORMAT: &str = "JPEG";
/// A block of 8 x 8 pixels has a bit of its own at least.
const MOST_PIXELS_A_BYTE: u64 = 512;
/// The longest side that the format has.
const LONGEST: usize = u16::MAX as usize;
/// Bytes of a coefficient while a progressive picture is put together.
const COEFFICIENT: u64 = 2;

const START_OF_SCAN: u8 = 0xda;
const END: &[u8] = b"\xff\xd9";

pub(super) fn pixels(session: &Session, file: &[u8]) -> Result<Pixels> {
    if !ends(file) {
        return Err(Refusal::Cut(FORMAT));
    }
    let mut header = decoder(file, ColorSpace::RGB);
    header.decode_headers().map_err(refusal)?;
    let info = header.info().ok_or_else(|| damaged("it has no header"))?;
    let (width, height) = (u64::from(info.width), u64::from(info.height));
    let (n, got) = (width * height, file.len() as u64);
    if n > got.saturating_mul(MOST_PIXELS_A_BYTE) {
        return Err(Refusal::Size { format: FORMAT, width, height, got: Bytes(got) });
    }
    let (channels, space) = match info.components {
        1 => (1, ColorSpace::Luma),
        3 | 4 => (3, ColorSpace::RGB),
        n => return Err(Refusal::Unsupported(format!("of {n} channels"))),
    };
    let mut bytes = room(session, n * channels, n * u64::from(info.components) * COEFFICIENT)?;
    decoder(file, space).decode_into(&mut bytes).map_err(refusal)?;
    if interrupt::is_requested() {
        return Err(Error::Interrupted.into());
    }
    Ok(Pixels { width, height, channels, dtype: DType::U8, bytes })
}

fn decoder(file: &[u8], space: ColorSpace) -> JpegDecoder<Polled<'_>> {
    let options = DecoderOptions::default()
        .set_max_width(LONGEST)
        .set_max_height(LONGEST)
        .jpeg_set_out_colorspace(space)
        // Else what is damaged is grey.
        .set_strict_mode(true);
    JpegDecoder::new_with_options(Polled::new(file), options)
}

/// Whether a scan begins and an end follows. Segments before it may hold pictures of their own, with their ends.
fn ends(file: &[u8]) -> bool {
    let mut rest = file.get(2..).unwrap_or_default();
    while let &[0xff, marker, high, low, ..] = rest
        && marker != START_OF_SCAN
    {
        let skipped = match marker {
            // Some fill up.
            0xff => 1,
            _ => 2 + usize::from(u16::from_be_bytes([high, low])),
        };
        let Some(behind) = rest.get(skipped..) else { return false };
        rest = behind;
    }
    memmem::find(rest, END).is_some()
}

fn damaged(what: impl Into<String>) -> Refusal {
    Refusal::Damaged { format: FORMAT, what: what.into() }
}

fn refusal(error: DecodeErrors) -> Refusal {
    match error {
        _ if interrupt::is_requested() => Error::Interrupted.into(),
        DecodeErrors::Unsupported(scheme) => Refusal::Unsupported(unsupported(&scheme).into()),
        error => damaged(error.to_string()),
    }
}

fn unsupported(scheme: &UnsupportedSchemes) -> &'static str {
    match scheme {
        UnsupportedSchemes::ExtendedSequentialHuffman => "of extended sequential coding",
        UnsupportedSchemes::LosslessHuffman => "without loss",
        UnsupportedSchemes::LosslessArithmetic
        | UnsupportedSchemes::ExtendedSequentialDctArithmetic
        | UnsupportedSchemes::ProgressiveDctArithmetic => "of arithmetic coding",
    }
}
