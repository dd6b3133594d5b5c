//! The pages of a column of Parquet, each looked at before the library takes memory for what it says.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;
use porcini_core::Session;

use super::thrift::{integers, varint};
use super::trouble::{Trouble, poll, range};

/// Rows of a batch of texts that share beginnings: a page of them may say as much as all of it in each row.
pub(super) const ROWS_OF_DELTAS: usize = 64;

/// What a library is not to report in its own words.
#[derive(Default)]
pub(super) struct Report(Mutex<Option<Trouble>>);

impl Report {
    /// The trouble of which the library only knows that it is there.
    pub(super) fn take(&self) -> Option<Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, trouble: Trouble) -> ParquetError {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
        ParquetError::General("stopped".into())
    }
}

/// A file of which a column is read, whose pages are looked at.
struct Guarded {
    bytes: Bytes,
    session: Session,
    /// Bytes that pages were unpacked to.
    unpacked: AtomicU64,
    /// Whether the header of the next page was looked at.
    is_known: AtomicBool,
    report: Arc<Report>,
}

impl Guarded {
    /// Looks at the header of a page.
    fn look_at(&self, header: &[u8]) -> std::result::Result<(), Trouble> {
        poll()?;
        let mut unpacked = 0;
        let broken = || Trouble::Damaged("a page breaks off".into());
        let mut visit = |path: &[i16], number: Option<i64>| {
            if let ([2], Some(number)) = (path, number) {
                unpacked = number;
            }
        };
        integers(header, &mut visit).ok_or_else(broken)?;
        let unpacked = u64::try_from(unpacked).map_err(|_| broken())?;
        let all = self.unpacked.fetch_add(unpacked, Ordering::Relaxed).saturating_add(unpacked);
        Ok(self.session.check_host_memory(all)?)
    }
}

impl Length for Guarded {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl ChunkReader for Guarded {
    type T = Reader<Bytes>;

    /// Reads a page from its header on; from behind that if it is known.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let start = usize::try_from(start)?.min(self.bytes.len());
        let page = self.bytes.slice(start..);
        if !self.is_known.swap(false, Ordering::Relaxed) {
            self.look_at(&page).map_err(|trouble| self.report.put(trouble))?;
        }
        Ok(page.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.bytes.get_bytes(start, length)
    }
}

/// A group of rows.
pub(super) struct Group {
    pub(super) bytes: Bytes,
    pub(super) session: Session,
    pub(super) report: Arc<Report>,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) place: usize,
}

impl Group {
    fn group(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.place)
    }
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group().num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, i: usize) -> Result<Box<dyn PageIterator>> {
        let column = self.group().column(i);
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let place = range(usize::try_from(start)?, column.compressed_size(), self.bytes.len());
        place.map_err(|trouble| self.report.put(trouble))?;
        let file = Arc::new(Guarded {
            bytes: self.bytes.clone(),
            session: self.session.clone(),
            unpacked: AtomicU64::new(0),
            is_known: AtomicBool::new(false),
            report: self.report.clone(),
        });
        let pages = SerializedPageReader::new(file.clone(), column, self.num_rows(), None)?;
        let has_deltas = column.encodings().any(|it| it == Encoding::DELTA_BYTE_ARRAY);
        let pages: Box<dyn PageReader> =
            Box::new(Pages { pages, file, column: column.column_descr_ptr(), has_deltas });
        Ok(Box::new(Chunks(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The one part of a column that a group has.
struct Chunks(Option<Box<dyn PageReader>>);

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for Chunks {}

/// The unpacked pages of a column.
struct Pages {
    pages: SerializedPageReader<Guarded>,
    file: Arc<Guarded>,
    column: ColumnDescPtr,
    /// Whether texts may share beginnings.
    has_deltas: bool,
}

impl Pages {
    /// Whether a page has no more values than it says, and than its bytes may stand for.
    fn is_sound(&self, page: &Page) -> bool {
        let n = u64::from(page.num_values());
        if let Page::DictionaryPage { buf, .. } = page {
            return n <= buf.len() as u64;
        }
        match page.encoding() {
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                self.values(page).and_then(|values| deltas(values, n)).is_some()
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let second = |values| deltas(deltas(values, n)?, n);
                self.has_deltas && self.values(page).and_then(second).is_some()
            }
            _ => true,
        }
    }

    /// The bytes of a page behind its levels.
    fn values<'p>(&self, page: &'p Page) -> Option<&'p [u8]> {
        let levels = [self.column.max_rep_level(), self.column.max_def_level()];
        match page {
            Page::DataPage { buf, num_values, rep_level_encoding, def_level_encoding, .. } => {
                let mut rest = &buf[..];
                for (most, encoding) in
                    levels.into_iter().zip([rep_level_encoding, def_level_encoding])
                {
                    if most <= 0 {
                        continue;
                    }
                    let length = if *encoding == Encoding::RLE {
                        let (length, behind) = rest.split_first_chunk::<4>()?;
                        rest = behind;
                        u32::from_le_bytes(*length).into()
                    } else {
                        let bits = u64::from(i16::BITS - most.leading_zeros());
                        (u64::from(*num_values) * bits).div_ceil(8)
                    };
                    rest = rest.get(usize::try_from(length).ok()?..)?;
                }
                Some(rest)
            }
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let length = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                buf.get(usize::try_from(length).ok()?..)
            }
            Page::DictionaryPage { buf, .. } => Some(buf),
        }
    }
}

/// What stands behind packed differences of at most `most` integers.
fn deltas(mut bytes: &[u8], most: u64) -> Option<&[u8]> {
    let (block, n_parts) = (varint(&mut bytes)?, varint(&mut bytes)?);
    let (n, _first) = (varint(&mut bytes)?, varint(&mut bytes)?);
    let part = block.checked_div(n_parts)?;
    if n > most || part == 0 {
        return None;
    }
    let mut left = n.saturating_sub(1);
    while left > 0 {
        varint(&mut bytes)?;
        let (widths, rest) = bytes.split_at_checked(usize::try_from(n_parts).ok()?)?;
        bytes = rest;
        for &width in widths.iter().take(usize::try_from(left.div_ceil(part)).ok()?) {
            let length = u64::from(width).checked_mul(part)? / 8;
            bytes = bytes.get(usize::try_from(length).ok()?..)?;
        }
        left = left.saturating_sub(part.checked_mul(n_parts)?);
    }
    Some(bytes)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if page.as_ref().is_some_and(|page| !self.is_sound(page)) {
            let what = "a page has fewer values than it says".into();
            return Err(self.file.report.put(Trouble::Damaged(what)));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let next = self.pages.peek_next_page()?;
        self.file.is_known.store(next.is_some(), Ordering::Relaxed);
        Ok(next)
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()?;
        self.file.is_known.store(false, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packed differences: 128 in a block of 4 parts, `n` integers, of which one part has bits.
    fn packed(n: u8) -> Vec<u8> {
        let mut bytes = vec![0x80, 1, 4, n, 0, 0, 2, 0, 0, 0];
        bytes.extend([0; 8]);
        bytes
    }

    #[test]
    fn differences_end_where_their_parts_do() {
        for n in [2, 33, 100] {
            let bytes = [packed(n), vec![7]].concat();
            assert_eq!(deltas(&bytes, n.into()), Some(&[7][..]), "{n}");
        }
        assert_eq!(deltas(&packed(1), 1).unwrap().len(), 13, "one integer has no block");
    }

    #[test]
    fn differences_are_no_more_than_the_page_has() {
        assert_eq!(deltas(&packed(100), 99), None);
        assert_eq!(deltas(&packed(100)[..17], 100), None);
        let endless = [0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(deltas(&endless, 100), None);
        assert_eq!(deltas(&[0x80, 1, 0, 2, 0, 0, 0], 2), None, "no parts");
    }
}
