//! Files of Parquet: groups of rows, in them a chunk of pages for each column.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use porcini_core::Session;

use super::column::Table;
use super::pages::{Group, ROWS_OF_DELTAS, Report};
use super::quiet::quietly;
use super::reading::{ARROW, Choice, PARQUET, Rows, check_columns, chosen, read_groups};
use super::thrift::integers;
use super::trouble::{Result, Trouble, damaged};

const ENCRYPTED: &[u8] = b"PARE";
/// What stands behind the metadata: its length, and the magic.
const TAIL: usize = 8;
/// Levels of a schema.
const DEEPEST: usize = 32;
/// Values of all columns of a batch, and rows.
const VALUES: usize = 1 << 20;
const ROWS: usize = 1 << 16;
/// Most bytes of a value of fixed length that is a number.
const WIDEST: i32 = 32;

/// The columns of a file.
pub(crate) fn read(session: &Session, bytes: &Bytes, choice: &Choice) -> Result<Table> {
    let (metadata, fields) = quietly(|| {
        check_metadata(bytes)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes);
        let metadata = metadata.map_err(|error| damaged(&error))?;
        let file = metadata.file_metadata();
        let schema = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata());
        let fields = schema.map_err(|error| damaged(&error))?.fields;
        Ok((Arc::new(metadata), fields))
    })?;
    let chosen = chosen(&fields, choice)?;
    let n_rows = n_rows(&metadata)?;
    check_columns(session, &fields, &chosen, n_rows)?;
    quietly(|| check_chunks(&metadata, &chosen))?;
    let hints = fields.iter().map(|field| as_read(field)).collect();
    read_groups(session, &fields, &chosen, n_rows, choice, |chosen, rows| {
        read_chosen(session, bytes, &metadata, &hints, chosen, rows)
    })
}

/// Looks at the metadata as bytes: the schema is a tree, of no more nodes than there are, and not too deep.
fn check_metadata(bytes: &[u8]) -> Result<()> {
    let broken = || Trouble::Damaged("its metadata breaks off".into());
    if bytes.starts_with(ENCRYPTED) {
        return Err(Trouble::Refused("the file is encrypted".into(), None));
    }
    if bytes.starts_with(ARROW) {
        let hint = "read_arrow reads it".to_string();
        return Err(Trouble::Refused("the file is one of Arrow".into(), Some(hint)));
    }
    let Some((rest, tail)) = bytes.split_last_chunk::<TAIL>() else { return Err(broken()) };
    if !bytes.starts_with(PARQUET) || !tail.ends_with(PARQUET) {
        return Err(Trouble::Damaged("it does not begin and end with PAR1 as Parquet does".into()));
    }
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let start = usize::try_from(length).ok().and_then(|length| rest.len().checked_sub(length));
    let metadata = &rest[start.ok_or_else(broken)?..];
    let (mut nodes, mut n_children) = (Vec::new(), 0);
    let mut visit = |path: &[i16], number: Option<i64>| match (path, number) {
        ([2, 5], Some(number)) => n_children = number,
        ([2], None) => nodes.push(std::mem::take(&mut n_children)),
        _ => {}
    };
    integers(metadata, &mut visit).ok_or_else(broken)?;
    let most = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    // Children that are still to come, of the nodes above.
    let mut open: Vec<i64> = Vec::new();
    for &n in &nodes {
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if n > 0 {
            open.push(n);
        }
        if n > most || open.len() > DEEPEST {
            return Err(Trouble::Damaged("its schema is no tree of columns".into()));
        }
    }
    Ok(())
}

fn n_rows(metadata: &ParquetMetaData) -> Result<u64> {
    let add = |all: u64, n: i64| all.checked_add(u64::try_from(n).ok()?);
    let mut groups = metadata.row_groups().iter().map(|group| group.num_rows());
    let n_rows = groups.try_fold(0, add);
    n_rows.ok_or_else(|| Trouble::Damaged("a group has less than no rows".into()))
}

/// How a column is read: texts where they lie in their pages.
fn as_read(field: &Field) -> Field {
    fn as_read_type(data_type: &DataType) -> DataType {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Dictionary(_, values) => as_read_type(values),
            DataType::Struct(fields) => {
                DataType::Struct(fields.iter().map(|field| as_read(field)).collect())
            }
            data_type => data_type.clone(),
        }
    }
    field.clone().with_data_type(as_read_type(field.data_type()))
}

/// Refuses what no library here unpacks.
fn check_chunks(metadata: &ParquetMetaData, chosen: &[usize]) -> Result<()> {
    let schema = metadata.file_metadata().schema_descr();
    for (i, column) in schema.columns().iter().enumerate() {
        if chosen.binary_search(&schema.get_column_root_idx(i)).is_err() {
            continue;
        }
        if column.type_length() > WIDEST {
            return Err(Trouble::Damaged(format!(
                "column {} has numbers of {} bytes",
                column.name(),
                column.type_length()
            )));
        }
        for group in metadata.row_groups() {
            let name = match group.column(i).compression() {
                Compression::BROTLI(_) => "brotli",
                Compression::LZO => "lzo",
                _ => continue,
            };
            let column = column.path().string();
            let what = format!("column {column} is compressed with {name}, which is not read");
            let hint = "write it with snappy, gzip, lz4, zstd or none";
            return Err(Trouble::Refused(what, Some(hint.into())));
        }
    }
    Ok(())
}

/// Reads some columns, group of rows by group of rows.
fn read_chosen(
    session: &Session,
    bytes: &Bytes,
    metadata: &Arc<ParquetMetaData>,
    hints: &Fields,
    chosen: &[usize],
    rows: &mut Rows,
) -> Result<()> {
    let schema = metadata.file_metadata().schema_descr();
    let mask = ProjectionMask::roots(schema, chosen.iter().copied());
    let levels = parquet_to_arrow_field_levels(schema, mask, Some(hints));
    let levels = levels.map_err(|error| damaged(&error))?;
    for (place, group) in metadata.row_groups().iter().enumerate() {
        let report = Arc::new(Report::default());
        let mut encodings = group.columns().iter().flat_map(|column| column.encodings());
        let has_deltas = encodings.any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY);
        let most = if has_deltas { ROWS_OF_DELTAS } else { ROWS };
        let n = (VALUES / chosen.len()).clamp(1, most);
        let told =
            |error: &dyn ToString| report.take().unwrap_or_else(|| damaged(&error.to_string()));
        let group = Group {
            bytes: bytes.clone(),
            session: session.clone(),
            report: report.clone(),
            metadata: metadata.clone(),
            place,
        };
        let batches = ParquetRecordBatchReader::try_new_with_row_groups(&levels, &group, n, None);
        for batch in batches.map_err(|error| told(&error))? {
            rows.add(&batch.map_err(|error| told(&error))?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that has nothing but a schema: the numbers of children of its nodes.
    fn file(children: &[u64]) -> Vec<u8> {
        let mut metadata = vec![0x29, 0xfc];
        let varint = |metadata: &mut Vec<u8>, mut n: u64| {
            while n >= 0x80 {
                metadata.push(n.to_le_bytes()[0] | 0x80);
                n >>= 7;
            }
            metadata.push(n.to_le_bytes()[0]);
        };
        varint(&mut metadata, children.len() as u64);
        for &n in children {
            metadata.push(0x55);
            varint(&mut metadata, 2 * n);
            metadata.push(0);
        }
        metadata.push(0);
        let length = u32::try_from(metadata.len()).unwrap().to_le_bytes();
        [PARQUET, &metadata, &length, PARQUET].concat()
    }

    #[test]
    fn schemas_are_trees() {
        for good in [&[2, 0, 0][..], &[1, 1, 1, 0], &[2, 1, 0, 1, 0], &[]] {
            check_metadata(&file(good)).unwrap();
        }
        let deep = [vec![1; DEEPEST + 1], vec![0]].concat();
        let wide = [vec![1; DEEPEST - 1], vec![0]].concat();
        check_metadata(&file(&wide)).unwrap();
        for bad in [&deep[..], &[1 << 31, 0], &[4, 0, 0], &[1 << 62]] {
            assert!(check_metadata(&file(bad)).is_err(), "{bad:?}");
        }
        let whole = file(&[2, 0, 0]);
        for n in 0..whole.len() {
            assert!(check_metadata(&whole[..n]).is_err(), "{n}");
        }
    }
}
