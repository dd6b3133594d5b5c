//! Arrow's files (Feather is one) and streams: a schema, and messages that hold dictionaries and batches of rows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use porcini_core::Session;

use super::column::Table;
use super::quiet::quietly;
use super::reading::{ARROW, Choice, PARQUET, Rows, check_columns, chosen, read_groups};
use super::trouble::{Result, Trouble, damaged, poll, range};

const FEATHER: &[u8] = b"FEA1";
/// The length of the footer, and the magic.
const TAIL: usize = 10;
/// What messages begin with, but for old ones.
const BEGINNING: &[u8] = &[0xff; 4];
/// Bytes that none unpacks to: LZ4 gives at most 255 for one, Zstandard 128 KiB for four.
const MOST_PACKED: u64 = 1 << 16;

/// The columns of a file or stream.
pub(crate) fn read(session: &Session, bytes: Bytes, choice: &Choice) -> Result<Table> {
    let file = Buffer::from(bytes);
    let (schema, batches) = quietly(|| {
        let (schema, blocks) = if file.starts_with(ARROW) {
            blocks_of_file(&file)?
        } else if file.starts_with(PARQUET) {
            let hint = "read_parquet reads it".to_string();
            return Err(Trouble::Refused("the file is one of Parquet".into(), Some(hint)));
        } else if file.starts_with(FEATHER) {
            let hint = "pandas.read_feather(path).to_feather(path) writes it anew";
            let what = "the file is one of the first version of Feather".into();
            return Err(Trouble::Refused(what, Some(hint.into())));
        } else {
            blocks_of_stream(&file)?
        };
        let batches = batches(session, &file, &schema, blocks)?;
        Ok((schema, batches))
    })?;
    let chosen = chosen(&schema.fields, choice)?;
    let add = |all: u64, batch: &Batch| all.checked_add(batch.n_rows);
    let n_rows = batches.iter().try_fold(0, add).unwrap_or(u64::MAX);
    check_rows(&schema, &batches)?;
    check_columns(session, &schema.fields, &chosen, n_rows)?;
    read_groups(session, &schema.fields, &chosen, n_rows, choice, |chosen, rows| {
        read_chosen(&file, &schema, &batches, chosen, rows)
    })
}

/// Where a message is, and what belongs to it.
struct Block {
    message: Range<usize>,
    body: Range<usize>,
}

/// A batch of rows, and the dictionaries of its time.
struct Batch {
    block: Block,
    n_rows: u64,
    /// Bytes that it unpacks to.
    bytes: u64,
    dictionaries: Arc<HashMap<i64, ArrayRef>>,
}

/// Schema and messages of a file, by what stands at its end.
fn blocks_of_file(file: &Buffer) -> Result<(SchemaRef, Vec<Block>)> {
    let broken = || Trouble::Damaged("it breaks off".into());
    let (rest, tail) = file.split_last_chunk::<TAIL>().ok_or_else(broken)?;
    let start = rest.len().checked_sub(read_footer_length(*tail)?).ok_or_else(broken)?;
    let footer = root_as_footer(&rest[start..]).map_err(|error| damaged(&error))?;
    let schema = schema(footer.schema())?;
    let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
    let block = |block: &arrow_ipc::Block| {
        let start = usize::try_from(block.offset()).map_err(|_| broken())?;
        let message = range(start, block.metaDataLength().into(), file.len())?;
        let body = range(message.end, block.bodyLength(), file.len())?;
        let skipped = if file[message.clone()].starts_with(BEGINNING) { 8 } else { 4 };
        let message = (message.start + skipped).min(message.end)..message.end;
        Ok(Block { message, body })
    };
    Ok((schema, blocks.map(block).collect::<Result<_>>()?))
}

/// Schema and messages of a stream, one behind the other.
fn blocks_of_stream(file: &Buffer) -> Result<(SchemaRef, Vec<Block>)> {
    let mut at = 0;
    let first = || match next_block(file, &mut at)? {
        Some(block) => schema(message(file, &block)?.header_as_schema()),
        None => schema(None),
    };
    let schema = quietly(first).map_err(|trouble| match trouble {
        Trouble::Damaged(_) => Trouble::Damaged("it is no file or stream of Arrow".into()),
        trouble => trouble,
    })?;
    let mut blocks = Vec::new();
    while let Some(block) = next_block(file, &mut at)? {
        poll()?;
        blocks.push(block);
    }
    Ok((schema, blocks))
}

/// The next message of a stream; `None` behind the last one.
fn next_block(file: &Buffer, at: &mut usize) -> Result<Option<Block>> {
    let mut word = || {
        let word = file.get(*at..)?.first_chunk::<4>()?;
        *at += word.len();
        Some(*word)
    };
    let Some(mut length) = word() else { return Ok(None) };
    if length == BEGINNING {
        length = word().ok_or_else(|| Trouble::Damaged("it breaks off".into()))?;
    }
    let length = i32::from_le_bytes(length);
    if length == 0 {
        return Ok(None);
    }
    let message = range(*at, length.into(), file.len())?;
    let mut block = Block { body: message.end..message.end, message };
    block.body = range(block.body.start, self::message(file, &block)?.bodyLength(), file.len())?;
    *at = block.body.end;
    Ok(Some(block))
}

fn schema(schema: Option<arrow_ipc::Schema<'_>>) -> Result<SchemaRef> {
    let schema = schema.ok_or_else(|| Trouble::Damaged("it has no schema".into()))?;
    if !schema.endianness().equals_to_target_endianness() {
        let what = "the file has its bytes in the other order (big-endian)".into();
        return Err(Trouble::Refused(what, None));
    }
    Ok(Arc::new(try_fb_to_schema(schema)?))
}

fn message<'f>(file: &'f Buffer, block: &Block) -> Result<Message<'f>> {
    root_as_message(&file[block.message.clone()]).map_err(|error| damaged(&error))
}

/// Reads the dictionaries, and looks at the batches.
fn batches(
    session: &Session,
    file: &Buffer,
    schema: &SchemaRef,
    blocks: Vec<Block>,
) -> Result<Vec<Batch>> {
    let mut dictionaries = Arc::new(HashMap::new());
    let (mut batches, mut unpacked) = (Vec::new(), 0);
    for block in blocks {
        poll()?;
        let message = message(file, &block)?;
        let body = file.slice_with_length(block.body.start, block.body.len());
        match message.header_type() {
            MessageHeader::DictionaryBatch => {
                let missing = || Trouble::Damaged("a dictionary has no values".into());
                let dictionary = message.header_as_dictionary_batch().ok_or_else(missing)?;
                let data = dictionary.data().ok_or_else(missing)?;
                unpacked += check_batch(session, &data, &body)?.unpacked;
                session.check_host_memory(unpacked)?;
                let known = Arc::make_mut(&mut dictionaries);
                read_dictionary(&body, dictionary, schema, known, &message.version())?;
            }
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch();
                let batch = batch.ok_or_else(|| Trouble::Damaged("a batch is empty".into()))?;
                let bytes = check_batch(session, &batch, &body)?.bytes;
                let n_rows = u64::try_from(batch.length()).map_err(|error| damaged(&error))?;
                let dictionaries = dictionaries.clone();
                batches.push(Batch { block, n_rows, bytes, dictionaries });
            }
            other => {
                let what = format!("a message is {other:?}, expected a batch of rows");
                return Err(Trouble::Damaged(what));
            }
        }
    }
    Ok(batches)
}

/// Refuses a number of rows that no bytes are there for.
fn check_rows(schema: &SchemaRef, batches: &[Batch]) -> Result<()> {
    // A column of these takes at least a bit a row.
    let mut types = schema.fields.iter().map(|field| field.data_type());
    if !types.any(|of| of.is_primitive() || *of == DataType::Boolean) {
        return Ok(());
    }
    match batches.iter().find(|batch| batch.n_rows > batch.bytes.saturating_mul(8)) {
        Some(Batch { n_rows, bytes, .. }) => {
            let what = format!("a batch says that it has {n_rows} rows, and holds {bytes} bytes");
            Err(Trouble::Damaged(what))
        }
        None => Ok(()),
    }
}

/// Bytes of a batch.
struct Held {
    bytes: u64,
    /// Those of it for which memory is needed.
    unpacked: u64,
}

/// Looks at the blocks of a batch: they lie in its body, and there is room for what they unpack to.
fn check_batch(session: &Session, batch: &RecordBatch<'_>, body: &Buffer) -> Result<Held> {
    let mut held = Held { bytes: 0, unpacked: 0 };
    for block in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(block.offset()).map_err(|error| damaged(&error))?;
        let bytes = range(start, block.length(), body.len())?;
        let packed = bytes.len() as u64;
        let length = match body[bytes].first_chunk::<8>() {
            Some(length) if batch.compression().is_some() => match i64::from_le_bytes(*length) {
                // What would not become shorter is there as it is.
                -1 => 0,
                length => u64::try_from(length).map_err(|error| damaged(&error))?,
            },
            _ => packed,
        };
        if length / MOST_PACKED > packed {
            let what = format!("{packed} bytes say that they unpack to {length}");
            return Err(Trouble::Damaged(what));
        }
        held.bytes = held.bytes.saturating_add(length.max(packed));
        held.unpacked = held.unpacked.saturating_add(length);
    }
    session.check_host_memory(held.unpacked)?;
    Ok(held)
}

/// Reads some columns, batch by batch.
fn read_chosen(
    file: &Buffer,
    schema: &SchemaRef,
    batches: &[Batch],
    chosen: &[usize],
    rows: &mut Rows,
) -> Result<()> {
    for Batch { block, dictionaries, .. } in batches {
        poll()?;
        let message = message(file, block)?;
        let Some(batch) = message.header_as_record_batch() else { continue };
        let body = file.slice_with_length(block.body.start, block.body.len());
        let version = message.version();
        let read =
            read_record_batch(&body, batch, schema.clone(), dictionaries, Some(chosen), &version);
        rows.add(&read?)?;
    }
    Ok(())
}
