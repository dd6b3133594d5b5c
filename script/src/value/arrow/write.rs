//! Columns as files of Parquet and Arrow.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, PrimitiveArray,
    RecordBatch, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, ScalarBuffer};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::{self, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use porcini_core::{Array, DType};

use super::trouble::{Result, Trouble, poll};
use crate::value::growing::Growing;

/// Lanes that are read at once.
const PIECE: usize = 1 << 20;
/// Rows of a batch.
const ROWS: usize = 1 << 16;

/// A column that is written.
pub(crate) enum Written {
    Lanes(Array),
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    Truths(Vec<bool>),
    Texts(Vec<String>),
    /// Names, and the number of its name for each row.
    Category(Vec<String>, Vec<i32>),
}

/// How the bytes of columns are made fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Snappy,
    Gzip,
    Lz4,
    Zstd,
}

impl Compression {
    /// What scripts call them.
    pub(crate) const NAMES: [(&str, Self); 5] = [
        ("none", Self::None),
        ("snappy", Self::Snappy),
        ("gzip", Self::Gzip),
        ("lz4", Self::Lz4),
        ("zstd", Self::Zstd),
    ];
}

/// Columns by name as a file of Parquet.
pub(crate) fn parquet(
    columns: Vec<(String, Written)>,
    n_rows: usize,
    compression: Compression,
) -> Result<Vec<u8>> {
    let failed = |error: parquet::errors::ParquetError| refused(&error);
    let batch = batch(columns, n_rows)?;
    let compression = match compression {
        Compression::None => basic::Compression::UNCOMPRESSED,
        Compression::Snappy => basic::Compression::SNAPPY,
        Compression::Gzip => basic::Compression::GZIP(GzipLevel::default()),
        Compression::Lz4 => basic::Compression::LZ4_RAW,
        Compression::Zstd => basic::Compression::ZSTD(ZstdLevel::default()),
    };
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Growing::default(), batch.schema(), Some(properties));
    let writer = writer.as_mut().map_err(|error| refused(error))?;
    for batch in pieces(&batch) {
        writer.write(&batch?).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(std::mem::take(writer.inner_mut()).into_bytes())
}

/// Columns by name as a file of Arrow.
pub(crate) fn arrow(
    columns: Vec<(String, Written)>,
    n_rows: usize,
    compression: Compression,
) -> Result<Vec<u8>> {
    let failed = |error: arrow_schema::ArrowError| refused(&error);
    let batch = batch(columns, n_rows)?;
    let compression = match compression {
        Compression::None => None,
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Zstd => Some(CompressionType::ZSTD),
        Compression::Snappy | Compression::Gzip => {
            let what = "files of Arrow have no such compression (none, lz4, zstd)";
            return Err(Trouble::Refused(what.into(), None));
        }
    };
    let options = IpcWriteOptions::default().try_with_compression(compression).map_err(failed)?;
    let writer = FileWriter::try_new_with_options(Growing::default(), &batch.schema(), options);
    let mut writer = writer.map_err(failed)?;
    for batch in pieces(&batch) {
        writer.write(&batch?).map_err(failed)?;
    }
    writer.into_inner().map(Growing::into_bytes).map_err(failed)
}

fn refused(error: &impl ToString) -> Trouble {
    Trouble::Refused(error.to_string(), None)
}

fn batch(columns: Vec<(String, Written)>, n_rows: usize) -> Result<RecordBatch> {
    let array = |(name, column): (String, Written)| Ok((name, column.array(n_rows)?));
    let arrays = columns.into_iter().map(array).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_from_iter(arrays).map_err(|error| refused(&error))
}

/// The rows of a batch, some at a time.
fn pieces(batch: &RecordBatch) -> impl Iterator<Item = Result<RecordBatch>> + '_ {
    let n = batch.num_rows();
    (0..n).step_by(ROWS).map(move |start| {
        poll()?;
        Ok(batch.slice(start, ROWS.min(n - start)))
    })
}

impl Written {
    pub(crate) fn n(&self) -> u64 {
        match self {
            Self::Lanes(array) => array.size(),
            Self::Floats(list) => list.len() as u64,
            Self::Integers(list) => list.len() as u64,
            Self::Truths(list) => list.len() as u64,
            Self::Texts(list) => list.len() as u64,
            Self::Category(_, codes) => codes.len() as u64,
        }
    }

    /// The rows; a single one is repeated.
    fn array(self, n_rows: usize) -> Result<ArrayRef> {
        fn rows<T: Clone>(mut list: Vec<T>, n_rows: usize) -> Vec<T> {
            if let [one] = &list[..] {
                list = vec![one.clone(); n_rows];
            }
            list
        }
        Ok(match self {
            Self::Lanes(array) => lanes(&array, n_rows)?,
            Self::Floats(list) => Arc::new(Float64Array::from(rows(list, n_rows))),
            Self::Integers(list) => Arc::new(Int64Array::from(rows(list, n_rows))),
            Self::Truths(list) => Arc::new(BooleanArray::from(rows(list, n_rows))),
            Self::Texts(list) => Arc::new(StringArray::from(rows(list, n_rows))),
            Self::Category(names, codes) => {
                let codes = Int32Array::from(rows(codes, n_rows));
                let names = Arc::new(StringArray::from(names));
                Arc::new(DictionaryArray::try_new(codes, names).map_err(|error| refused(&error))?)
            }
        })
    }
}

fn lanes(array: &Array, n_rows: usize) -> Result<ArrayRef> {
    let dtype = array.dtype();
    array.session().check_host_memory((n_rows as u64).saturating_mul(dtype.bytes() as u64))?;
    let mut bytes = MutableBuffer::with_capacity(n_rows.saturating_mul(dtype.bytes()));
    if array.size() == 1 {
        let one = array.read_bytes(0..1)?;
        (0..n_rows).for_each(|_| bytes.extend_from_slice(&one));
    } else {
        for start in (0..array.size()).step_by(PIECE) {
            let end = array.size().min(start + PIECE as u64);
            bytes.extend_from_slice(&array.read_bytes(start..end)?);
        }
    }
    Ok(match dtype {
        DType::Mask => {
            let masks = BooleanBuffer::collect_bool(bytes.len(), |i| bytes[i] != 0);
            Arc::new(BooleanArray::new(masks, None))
        }
        DType::I8 => typed::<Int8Type>(bytes),
        DType::U8 => typed::<UInt8Type>(bytes),
        DType::I16 => typed::<Int16Type>(bytes),
        DType::U16 => typed::<UInt16Type>(bytes),
        DType::I32 => typed::<Int32Type>(bytes),
        DType::U32 => typed::<UInt32Type>(bytes),
        DType::I64 => typed::<Int64Type>(bytes),
        DType::U64 => typed::<UInt64Type>(bytes),
        DType::F16 => typed::<Float16Type>(bytes),
        DType::F32 => typed::<Float32Type>(bytes),
        DType::F64 => typed::<Float64Type>(bytes),
    })
}

fn typed<T: ArrowPrimitiveType>(bytes: MutableBuffer) -> ArrayRef {
    let values = ScalarBuffer::<T::Native>::from(Buffer::from(bytes));
    Arc::new(PrimitiveArray::<T>::new(values, None))
}
