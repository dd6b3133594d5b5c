//! What a file seems to be, by how it begins.

use super::refusal::{CONVERT, Other, Refusal, Result};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xff\xd8\xff";
/// Bytes of an unknown beginning that an error shows.
const SHOWN: usize = 12;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Png,
    Jpeg,
}

const fn other(name: &'static str, at: usize, magic: &'static [u8]) -> Other {
    Other { name, magic: (at, magic), remedy: CONVERT }
}

/// The first that fits.
const OTHERS: &[Other] = &[
    other("a GIF", 0, b"GIF8"),
    other("a WebP", 8, b"WEBP"),
    other("a TIFF", 0, b"II*\0"),
    other("a TIFF", 0, b"MM\0*"),
    other("an AVIF", 4, b"ftypavi"),
    other("a HEIC", 4, b"ftyphei"),
    other("a HEIC", 4, b"ftypmif1"),
    other("a video", 4, b"ftyp"),
    other("a JPEG XL", 0, b"\xff\x0a"),
    other("a JPEG XL", 4, b"JXL "),
    other("a JPEG 2000", 4, b"jP  "),
    other("an OpenEXR file", 0, b"\x76\x2f\x31\x01"),
    other("a BMP", 0, b"BM"),
    other("a PGM", 0, b"P5"),
    other("a PPM", 0, b"P6"),
    other("a PDF", 0, b"%PDF"),
    other("an SVG, a drawing without pixels", 0, b"<svg"),
    other("an SVG, a drawing without pixels", 0, b"<?xml"),
    Other {
        remedy: "somebody sent it in place of the picture: look at it as a text",
        ..other("a page of the web", 0, b"<!")
    },
    Other {
        remedy: "`git lfs pull` brings the file",
        ..other("a pointer of Git LFS", 0, b"version https://git-lfs")
    },
    Other { remedy: "use read_npy (pc.load in Python)", ..other("an .npy file", 0, b"\x93NUMPY") },
    Other {
        remedy: "unpack it, or use read_npz if it holds arrays",
        ..other("an archive", 0, b"PK\x03\x04")
    },
    Other { remedy: "unpack it", ..other("packed by gzip", 0, b"\x1f\x8b") },
    other("an icon", 0, b"\0\0\x01\0"),
];

impl Kind {
    pub(super) fn of(file: &[u8]) -> Result<Self> {
        if file.is_empty() {
            return Err(Refusal::Empty);
        }
        for (kind, name, magic) in [(Self::Png, "PNG", PNG), (Self::Jpeg, "JPEG", JPEG)] {
            if file.starts_with(magic) {
                return Ok(kind);
            }
            if magic.starts_with(file) {
                return Err(Refusal::Cut(name));
            }
        }
        let fits = |Other { magic: (at, magic), .. }: &&Other| {
            file.get(*at..).is_some_and(|rest| rest.starts_with(magic))
        };
        Err(match OTHERS.iter().find(fits) {
            Some(other) => Refusal::Other(other),
            None => Refusal::Unknown(file[..file.len().min(SHOWN)].escape_ascii().to_string()),
        })
    }
}
