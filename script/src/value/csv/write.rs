//! Columns as comma-separated text.

use csv::Writer;

use crate::fault::{Result, check_interrupt, fault};
use crate::value::growing::Growing;

/// Fields that are written from one read of the arrays.
const PIECE: u64 = 1 << 20;
/// Most rows of them: arrays are read in pieces of that length.
const MOST_ROWS: u64 = 4096;

/// Records of fields as comma-separated text. A column gives a field for each row; pieces of some rows
/// are asked for one after the other.
pub(crate) fn write(
    path: &str,
    names: &[String],
    n_rows: u64,
    mut fields: impl FnMut(usize, std::ops::Range<u64>) -> Result<Vec<String>>,
) -> Result<Vec<u8>> {
    if names.is_empty() {
        // A record of no fields reads as one of an empty field.
        return Ok(Vec::new());
    }
    let failed = |error: csv::Error| fault(format!("write_csv: {path}: {error}"));
    let mut writer = Writer::from_writer(Growing::default());
    writer.write_record(names).map_err(failed)?;
    let rows = (PIECE / (names.len() as u64).max(1)).clamp(1, MOST_ROWS);
    let mut start = 0;
    while start < n_rows {
        let end = n_rows.min(start + rows);
        let column = |i| check_interrupt().and_then(|()| fields(i, start..end));
        let columns = (0..names.len()).map(column).collect::<Result<Vec<_>>>()?;
        for row in 0..usize::try_from(end - start).unwrap_or(0) {
            let record = columns.iter().map(|column| column[row].as_str());
            writer.write_record(record).map_err(failed)?;
        }
        start = end;
    }
    let written = writer.into_inner().map(Growing::into_bytes);
    written.map_err(|error| fault(format!("write_csv: {path}: {}", error.error())))
}
