//! What reading both kinds of files has in common: which columns, and groups of them side by side.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::Fields;
use porcini_core::Session;

use super::column::{Builder, Table};
use super::quiet::quietly;
use super::trouble::{Result, Trouble, out_of_memory, poll};
use crate::side_by_side::side_by_side;

/// What files of Parquet begin and end with.
pub(super) const PARQUET: &[u8] = b"PAR1";
/// What files of Arrow begin and end with.
pub(super) const ARROW: &[u8] = b"ARROW1";
/// Names of columns that an error lists.
const LISTED: usize = 20;
/// Groups of columns for each thread: some take longer than others.
const GROUPS: usize = 4;

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// The columns that are read; all without it.
    pub(crate) columns: Option<Vec<String>>,
    /// Whether columns have masks of their missing values, and keep their types in spite of these.
    pub(crate) masks: bool,
}

/// The places of the columns that are asked for, in the order of the file.
pub(super) fn chosen(fields: &Fields, choice: &Choice) -> Result<Vec<usize>> {
    let mut places = HashMap::new();
    for (i, field) in fields.iter().enumerate() {
        if places.insert(field.name().as_str(), i).is_some() {
            return Err(Trouble::Refused(format!("two columns are named {}", field.name()), None));
        }
    }
    let Some(columns) = &choice.columns else { return Ok((0..fields.len()).collect()) };
    let place = |name: &String| {
        places.get(name.as_str()).copied().ok_or_else(|| {
            let names = fields.iter().map(|field| field.name().as_str());
            Trouble::Refused(format!("no column `{name}` ({})", listed(names)), None)
        })
    };
    let mut chosen: Vec<usize> = columns.iter().map(place).collect::<Result<_>>()?;
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    if names.len() > LISTED {
        names.truncate(LISTED);
        names.push("..");
    }
    names.join(", ")
}

/// Refuses columns of types that arrays do not have, and tables for which there is no room.
pub(super) fn check_columns(
    session: &Session,
    fields: &Fields,
    chosen: &[usize],
    n_rows: u64,
) -> Result<()> {
    let unread = |&&i: &&usize| Builder::new(fields[i].data_type()).is_none();
    if let Some(&i) = chosen.iter().find(unread) {
        let (name, data_type) = (fields[i].name(), fields[i].data_type());
        let others = fields.iter().filter(|field| Builder::new(field.data_type()).is_some());
        let others: Vec<String> = others.map(|field| format!("{:?}", field.name())).collect();
        let hint = match &others[..] {
            [] => "no column of the file has a type that arrays have".into(),
            others => format!(
                "#{{columns: [{}]}} leaves it out",
                listed(others.iter().map(String::as_str))
            ),
        };
        let what = format!("column {name} has values of type {data_type}, which arrays have not");
        return Err(Trouble::Refused(what, Some(hint)));
    }
    // What is read, and the arrays that are made of it.
    let builders = chosen.iter().filter_map(|&i| Builder::new(fields[i].data_type()));
    let row: u64 = builders.map(|builder| 2 * builder.bytes()).sum();
    session.check_host_memory(n_rows.saturating_mul(row))?;
    Ok(())
}

/// Reads groups of the chosen columns side by side: `read` gives the batches of a group to its rows. Arrays are made of
/// them one after the other: what scripts see must not depend on which thread is faster.
pub(super) fn read_groups(
    session: &Session,
    fields: &Fields,
    chosen: &[usize],
    n_rows: u64,
    choice: &Choice,
    read: impl Fn(&[usize], &mut Rows) -> Result<()> + Sync,
) -> Result<Table> {
    let threads = session.threads();
    let groups = chosen.chunks(chosen.len().div_ceil(threads * GROUPS).max(1));
    let read = side_by_side(threads, groups, |group| {
        quietly(|| {
            let mut rows = Rows::new(fields, group, n_rows)?;
            read(group, &mut rows)?;
            rows.check_number()?;
            Ok(rows.builders)
        })
    });
    let mut table = Table::new();
    for (&i, builder) in chosen.iter().zip(read?.into_iter().flatten()) {
        builder.finish(session, fields[i].name(), choice.masks, &mut table)?;
    }
    Ok(table)
}

/// The rows of some columns that were read.
pub(super) struct Rows {
    builders: Vec<Builder>,
    read: u64,
    expected: u64,
}

impl Rows {
    fn new(fields: &Fields, chosen: &[usize], expected: u64) -> Result<Self> {
        let builder = |&i: &usize| Builder::new(fields[i].data_type());
        let mut builders: Vec<Builder> = chosen.iter().filter_map(builder).collect();
        let room = usize::try_from(expected).unwrap_or(usize::MAX);
        if !builders.iter_mut().all(|builder| builder.make_room(room)) {
            return Err(out_of_memory(&format!("columns of {expected} rows")));
        }
        Ok(Self { builders, read: 0, expected })
    }

    /// Adds a batch of these columns.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.read += batch.num_rows() as u64;
        if self.read > self.expected {
            return self.check_number();
        }
        for (builder, array) in self.builders.iter_mut().zip(batch.columns()) {
            poll()?;
            builder.add(array, None)?;
        }
        Ok(())
    }

    fn check_number(&self) -> Result<()> {
        let Self { read, expected, .. } = self;
        if read == expected {
            return Ok(());
        }
        Err(Trouble::Damaged(format!("got {read} rows, expected {expected} as its header says")))
    }
}
