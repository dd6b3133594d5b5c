//! The `.npy` format of NumPy: a header that says element type and shape, then the elements.
//!
//! Nothing that a header says is believed: its length and its parts are bounded, and what its shape takes is compared
//! with the bytes that follow before anything of that size is made. The header is a dictionary of Python, of which
//! this reads what NumPy writes: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.

use porcini_core::array::bytes::{put, take};
use porcini_core::{DType, Element};

use crate::fault::{Result as Faultable, check_interrupt, fault};

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers of plain types are far shorter; NumPy refuses longer ones than 10 000 bytes.
const LONGEST_HEADER: usize = 1 << 16;
/// Bytes in which every header ends.
pub(crate) const HEAD: u64 = LONGEST_HEADER as u64 + 12;
/// NumPy has no more.
const MOST_DIMENSIONS: usize = 64;
/// Rows without elements cost a file nothing, and whoever shows them time and memory.
const MOST_EMPTY: usize = 1 << 20;
/// The elements begin at a multiple of this.
const ALIGNMENT: usize = 64;
/// Elements between two looks at the interrupt flag.
const PIECE: usize = 1 << 18;

/// Why a file is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("not an .npy file (those begin with \\x93NUMPY)")]
    Magic,
    #[error("got version {0} of the format, expected 1, 2 or 3")]
    Version(u8),
    #[error("the file ends inside its header")]
    Cut,
    #[error("got a header of {0} B, expected at most {LONGEST_HEADER} B")]
    LongHeader(usize),
    #[error("byte {at} of the header: expected {expected}")]
    Syntax { at: usize, expected: &'static str },
    #[error("the header has no {0}")]
    Missing(&'static str),
    #[error("element type {0} not supported; save it as numbers or bools")]
    Type(String),
    #[error("got {0} dimensions, expected at most {MOST_DIMENSIONS}")]
    Dimensions(usize),
    #[error("shape {0:?} is larger than any memory")]
    Shape(Vec<u64>),
    #[error("shape {0:?} has no element in more than {MOST_EMPTY} rows")]
    Empty(Vec<usize>),
    #[error("shape {shape:?} of {dtype} takes {wanted} B, the file has {got} B for it")]
    Size { shape: Vec<usize>, dtype: DType, wanted: usize, got: usize },
    #[error("byte {0} of the elements is neither 0 nor 1, as a bool must be")]
    Truth(usize),
}

type Result<T> = std::result::Result<T, Refusal>;

/// What the elements are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// Whether the first index runs fastest.
    pub(crate) fortran_order: bool,
    /// Whether the elements are complex numbers: the last extent of the shape, 2, is then not in the file.
    pub(crate) is_complex: bool,
    big_endian: bool,
}

impl Header {
    /// The header of a file, and the bytes of its elements: as many as it says.
    pub(crate) fn read(file: &[u8]) -> Result<(Self, &[u8])> {
        let (header, elements) = Self::split(file)?;
        header.check_size(elements.len())?;
        Ok((header, elements))
    }

    /// The header at the beginning of a file of so many bytes, and where its elements begin: as many as it says.
    pub(crate) fn of_head(head: &[u8], bytes: u64) -> Result<(Self, u64)> {
        let (header, elements) = Self::split(head)?;
        let start = (head.len() - elements.len()) as u64;
        header.check_size(usize::try_from(bytes - start).unwrap_or(usize::MAX))?;
        Ok((header, start))
    }

    /// Whether the elements lie in the file as they do in memory.
    pub(crate) fn is_plain(&self) -> bool {
        let in_order = !self.fortran_order || self.shape.len() < 2;
        in_order && !self.is_complex && !self.big_endian
    }

    fn split(file: &[u8]) -> Result<(Self, &[u8])> {
        let rest = file.strip_prefix(MAGIC).ok_or(Refusal::Magic)?;
        let (&[version, _], rest) = rest.split_first_chunk().ok_or(Refusal::Cut)?;
        let (length, rest) = match version {
            1 => {
                let (length, rest) = rest.split_first_chunk().ok_or(Refusal::Cut)?;
                (u32::from(u16::from_le_bytes(*length)), rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_first_chunk().ok_or(Refusal::Cut)?;
                (u32::from_le_bytes(*length), rest)
            }
            version => return Err(Refusal::Version(version)),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > LONGEST_HEADER {
            return Err(Refusal::LongHeader(length));
        }
        let (text, elements) = rest.split_at_checked(length).ok_or(Refusal::Cut)?;
        Ok((Dictionary { text, at: 0 }.header()?, elements))
    }

    fn check_size(&self, got: usize) -> Result<()> {
        let shape = &self.shape;
        let too_large = || Refusal::Shape(shape.iter().map(|&extent| extent as u64).collect());
        // Also where nothing is in it, its parts must be countable.
        let mut sides = shape.iter().filter(|&&extent| extent > 0);
        let most = sides.try_fold(self.dtype.bytes(), |n, &extent| n.checked_mul(extent));
        let most = most.filter(|&most| isize::try_from(most).is_ok()).ok_or_else(too_large)?;
        if shape.contains(&0) && most / self.dtype.bytes() > MOST_EMPTY {
            return Err(Refusal::Empty(shape.clone()));
        }
        let wanted = shape.iter().product::<usize>() * self.dtype.bytes();
        if wanted == got {
            return Ok(());
        }
        Err(Refusal::Size { shape: shape.clone(), dtype: self.dtype, wanted, got })
    }

    /// The elements in the order of the file.
    pub(crate) fn elements<T: Element>(&self, bytes: &[u8]) -> Faultable<Vec<T>> {
        let width = size_of::<T>();
        let mut elements = Vec::new();
        let no_room = |_| fault(format!("out of memory: {} B of elements", bytes.len()));
        elements.try_reserve_exact(bytes.len() / width).map_err(no_room)?;
        let unused = 64 - 8 * width;
        let turned = |element: T| T::from_bits64(element.to_bits64().swap_bytes() >> unused);
        for (start, piece) in (0..).step_by(PIECE * width).zip(bytes.chunks(PIECE * width)) {
            check_interrupt()?;
            if T::DTYPE == DType::Mask
                && let Some(at) = piece.iter().position(|&byte| byte > 1)
            {
                return Err(fault(Refusal::Truth(start + at).to_string()));
            }
            let before = elements.len();
            take(piece, &mut elements);
            if self.big_endian {
                elements[before..].iter_mut().for_each(|element| *element = turned(*element));
            }
        }
        Ok(elements)
    }
}

/// A file of elements in row-major order; of complex numbers, if the last extent is of their parts.
pub(crate) fn write<T: Element>(
    shape: &[usize],
    is_complex: bool,
    elements: &[T],
) -> Faultable<Vec<u8>> {
    let header = written_header(T::DTYPE, shape, is_complex);
    let width = size_of::<T>();
    let bytes = elements.len().saturating_mul(width).saturating_add(header.len());
    let mut file = Vec::new();
    let no_room = |_| fault(format!("write_npy: out of memory: {bytes} B of elements"));
    file.try_reserve_exact(bytes).map_err(no_room)?;
    file.extend(header);
    for piece in elements.chunks(PIECE) {
        check_interrupt()?;
        let start = file.len();
        file.resize(start + size_of_val(piece), 0);
        put(piece, &mut file[start..]);
    }
    Ok(file)
}

pub(crate) fn written_header(dtype: DType, shape: &[usize], is_complex: bool) -> Vec<u8> {
    let (shape, bytes) = match shape.split_last() {
        Some((_, outer)) if is_complex => (outer, 2 * dtype.bytes()),
        _ => (shape, dtype.bytes()),
    };
    let letter = match dtype {
        _ if is_complex => 'c',
        DType::Mask => 'b',
        dtype if dtype.is_float() => 'f',
        dtype if dtype.is_signed() => 'i',
        _ => 'u',
    };
    let order = if dtype.bytes() == 1 { '|' } else { '<' };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    // A tuple of one element ends with a comma.
    let extents =
        if shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
    let mut text = format!(
        "{{'descr': '{order}{letter}{bytes}', 'fortran_order': False, 'shape': ({extents}), }}"
    );
    let start = MAGIC.len() + 4;
    let end = (start + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.push_str(&" ".repeat(end - start - text.len() - 1));
    text.push('\n');
    let length =
        u16::try_from(text.len()).expect("internal error: few dimensions make a short header");
    [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
}

/// A dictionary of Python as it is read, from front to end and only once.
struct Dictionary<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Dictionary<'t> {
    fn header(mut self) -> Result<Header> {
        let (mut kind, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{', "{")?;
        while !self.takes(b'}') {
            let key = self.text("a key in quotes")?;
            self.expect(b':', ":")?;
            match key {
                b"descr" => kind = Some(self.kind()?),
                b"fortran_order" => fortran_order = Some(self.truth()?),
                b"shape" => shape = Some(self.shape()?),
                _ => return Err(self.wrong("descr, fortran_order or shape before it")),
            }
            if !self.takes(b',') {
                self.expect(b'}', ", or }")?;
                break;
            }
        }
        self.blanks();
        if self.at < self.text.len() {
            return Err(self.wrong("nothing more"));
        }
        let (dtype, is_complex, big_endian) = kind.ok_or(Refusal::Missing("descr"))?;
        let fortran_order = fortran_order.ok_or(Refusal::Missing("fortran_order"))?;
        let mut shape = shape.ok_or(Refusal::Missing("shape"))?;
        if is_complex {
            shape.push(2);
        }
        Ok(Header { dtype, shape, fortran_order, is_complex, big_endian })
    }

    /// The element type, whether two of it are a complex number, and whether their bytes begin with the highest.
    fn kind(&mut self) -> Result<(DType, bool, bool)> {
        self.blanks();
        // Records are written as lists.
        if self.text.get(self.at) == Some(&b'[') {
            return Err(Refusal::Type("of records".into()));
        }
        let name = self.text("a type in quotes")?;
        let (order, letters) = match name {
            [order @ (b'<' | b'>' | b'|' | b'='), letters @ ..] => (*order, letters),
            letters => (b'|', letters),
        };
        let dtype = match letters {
            b"b1" | b"?" => DType::Mask,
            b"i1" => DType::I8,
            b"u1" => DType::U8,
            b"i2" => DType::I16,
            b"u2" => DType::U16,
            b"i4" => DType::I32,
            b"u4" => DType::U32,
            b"i8" => DType::I64,
            b"u8" => DType::U64,
            b"f2" => DType::F16,
            b"f4" | b"c8" => DType::F32,
            b"f8" | b"c16" => DType::F64,
            _ => return Err(Refusal::Type(shown(name))),
        };
        Ok((dtype, letters[0] == b'c', order == b'>'))
    }

    fn truth(&mut self) -> Result<bool> {
        self.blanks();
        for (word, truth) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(truth);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect(b'(', "(")?;
        while !self.takes(b')') {
            shape.push(self.extent()?);
            if shape.len() > MOST_DIMENSIONS {
                return Err(Refusal::Dimensions(shape.len()));
            }
            if !self.takes(b',') {
                self.expect(b')', ", or )")?;
                break;
            }
        }
        let extents = shape.iter().map(|&extent| usize::try_from(extent));
        extents.collect::<std::result::Result<_, _>>().map_err(|_| Refusal::Shape(shape.clone()))
    }

    fn extent(&mut self) -> Result<u64> {
        self.blanks();
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = str::from_utf8(&self.text[self.at..self.at + digits]).unwrap_or_default();
        let extent = text.parse().map_err(|_| self.wrong("an extent below 2^64"))?;
        self.at += digits;
        // Python 2 marked its long integers.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(extent)
    }

    fn text(&mut self, expected: &'static str) -> Result<&'t [u8]> {
        self.blanks();
        let rest = &self.text[self.at..];
        let Some((quote @ (b'\'' | b'"'), inside)) = rest.split_first() else {
            return Err(self.wrong(expected));
        };
        let end = inside.iter().position(|byte| byte == quote);
        let text = end.map(|end| &inside[..end]).ok_or_else(|| self.wrong(expected))?;
        self.at += text.len() + 2;
        Ok(text)
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.takes(byte) { Ok(()) } else { Err(self.wrong(expected)) }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let takes = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(takes);
        takes
    }

    fn blanks(&mut self) {
        let blank = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace());
        self.at += blank.count();
    }

    fn wrong(&self, expected: &'static str) -> Refusal {
        Refusal::Syntax { at: self.at, expected }
    }
}

/// The start of a name from a file, in quotes.
fn shown(name: &[u8]) -> String {
    let start: String = String::from_utf8_lossy(name).chars().take(20).collect();
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, elements: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).unwrap();
        [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), elements].concat()
    }

    fn refusal(header: &str, elements: &[u8]) -> String {
        Header::read(&file(header, elements)).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_can_be_read() {
        for shape in [&[][..], &[2], &[1, 2], &[2, 1, 1]] {
            let n: usize = shape.iter().product();
            let elements: Vec<f32> = [1.5, -2.0].into_iter().cycle().take(n).collect();
            let file = write(shape, false, &elements).unwrap();
            assert!((file.len() - 4 * n).is_multiple_of(ALIGNMENT));
            let (header, bytes) = Header::read(&file).unwrap();
            assert_eq!((header.dtype, header.shape.as_slice()), (DType::F32, shape));
            assert_eq!(header.elements::<f32>(bytes).unwrap(), elements);
        }
    }

    #[test]
    fn complex_numbers_have_two_parts() {
        let file = write(&[3, 2], true, &[1.0_f32; 6]).unwrap();
        assert!(
            file.windows(4).any(|part| part == b"<c8'")
                && file.windows(4).any(|part| part == b"(3,)")
        );
        let (header, bytes) = Header::read(&file).unwrap();
        assert!(header.is_complex && header.shape == [3, 2] && bytes.len() == 24);
    }

    #[test]
    fn headers_of_other_programs_are_read() {
        let header = "{\"shape\":(2L ,),'fortran_order' : True,\n 'descr':'>u2'}\t\n";
        let file = file(header, &[0, 1, 2, 3]);
        let (header, bytes) = Header::read(&file).unwrap();
        assert!(header.fortran_order);
        assert_eq!(header.elements::<u16>(bytes).unwrap(), [1, 0x203]);
    }

    #[test]
    fn what_a_header_says_is_compared_with_the_file() {
        let plain = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
        for (shape, want) in [
            ("1000000000000,)}", "[1000000000000] of f64 takes 8000000000000 B, the file has 24 B"),
            ("2,)}", "shape [2] of f64 takes 16 B, the file has 24 B for it"),
            ("0, 9223372036854775807, 4)}", "shape [0, 9223372036854775807, 4] is larger than any"),
            ("1048577, 0)}", "shape [1048577, 0] has no element in more than 1048576 rows"),
            ("4294967296, 4294967296)}", "is larger than any memory"),
            ("18446744073709551616,)}", "byte 51 of the header: expected an extent below 2^64"),
            ("-1,)}", "expected an extent"),
            ("((3,)),)}", "byte 51 of the header: expected an extent"),
            ("3,)", "byte 54 of the header: expected , or }"),
            ("3,)}}", "expected nothing more"),
            (&format!("{})}}", "1,".repeat(65)), "got 65 dimensions, expected at most 64"),
        ] {
            let got = refusal(&format!("{plain}{shape}"), &[0; 24]);
            assert!(got.contains(want), "{shape}: {got}");
        }
        for (header, want) in [
            ("", "byte 0 of the header: expected {"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "type of records"),
            ("{'descr': '<c32', 'fortran_order': False, 'shape': ()}", "element type \"<c32\" not"),
            ("{'fortran_order': False, 'shape': ()}", "the header has no descr"),
            ("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}", "expected True or False"),
            ("{'other': 1}", "expected descr, fortran_order or shape"),
            ("{'descr", "byte 1 of the header: expected a key in quotes"),
        ] {
            let got = refusal(header, &[]);
            assert!(got.contains(want), "{header}: {got}");
        }
    }

    #[test]
    fn files_that_end_early_are_refused() {
        let whole = write(&[3], false, &[1.0_f64, 2.0, 3.0]).unwrap();
        for n in 0..whole.len() {
            assert!(Header::read(&whole[..n]).is_err(), "{n} bytes");
        }
        let long = [MAGIC, &[2, 0], &[0, 0, 0, 0x7f], &[b'{'; 20]].concat();
        assert_eq!(Header::read(&long), Err(Refusal::LongHeader(0x7f00_0000)));
        assert_eq!(Header::read(b"PK\x03\x04"), Err(Refusal::Magic));
        assert_eq!(Header::read(b"\x93NUMPY\x04\x00"), Err(Refusal::Version(4)));
    }
}
