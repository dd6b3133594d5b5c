//! `whos_ad`: what is kept for derivatives (S29).

use std::fmt::Write as _;

use porcini_core::Session;
use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::tape::TapeRow;
use rhai::{Dynamic, Map};

use super::inspect::show_table;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Result, check_interrupt, fault, fault_with_hint};
use crate::language::tokens;
use crate::show::table::Table;
use crate::value::names::Names;
use crate::value::type_name;

const NAME: &str = "whos_ad";

/// Columns of the rows as data.
const COLUMNS: [&str; 9] =
    ["id", "type", "name", "label", "size", "kept", "made_by", "made_of", "gradient"];

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        NAME,
        "()",
        "Lists the tape: marked arrays, and what was computed from them with what made it, from which. Kept are the bytes of \
         lanes that are in memory; others are computed again where a derivative needs them. What a function of \
         grad(f) computes is on the tape only while that runs. whos_ad(#{data: true}) gives the rows as a list of maps.\n\n\
         >> x = FloatD([1, 2]); y = sin(x) * 2; whos_ad(#{data: true})[-1].made_by\nmul",
    );
    for arity in [0, 1] {
        let in_sight = tokens::in_sight(registry.engine);
        registry.any(NAME, arity, move |context, _, args| {
            let sight = in_sight.borrow();
            let names = sight.as_ref().map(|sight| &sight.names);
            let as_data = args.first().map(|options| wants_data(options)).transpose()?;
            if as_data != Some(true) {
                return show(context, names).map(|()| Dynamic::UNIT);
            }
            let mut data = rhai::Array::new();
            for session in &context.session.family() {
                add_rows(&mut data, session, names)?;
            }
            context.print.borrow().columns.remember(COLUMNS);
            Ok(Dynamic::from(data))
        });
    }
}

fn wants_data(options: &Dynamic) -> Result<bool> {
    let hint = "write whos_ad() or whos_ad(#{data: true})";
    let map = options.read_lock::<Map>().ok_or_else(|| {
        let got = type_name(options);
        fault_with_hint(format!("{NAME}: got {got}, expected a map of options"), hint)
    })?;
    if let Some(key) = map.keys().find(|key| *key != "data") {
        return Err(fault(format!("{NAME}: got the option {key}, expected data")));
    }
    Ok(map.get("data").is_some_and(|data| data.as_bool() == Ok(true)))
}

fn show(context: &Context, names: Option<&Names>) -> Result<()> {
    for (i, session) in context.session.family().iter().enumerate() {
        let rows = session.tape();
        if i > 0 && rows.is_empty() {
            continue;
        }
        let table = table(session, &rows, names);
        show_table(context, table, String::new(), &footer(&rows), &["Type", "Size", "Label"])?;
    }
    Ok(())
}

fn table(session: &Session, rows: &[TapeRow], names: Option<&Names>) -> Table {
    let row = |i: usize| {
        let row = &rows[i];
        let mut made = row.made_by.unwrap_or("mark").to_string();
        for id in &row.made_of {
            let _ = write!(made, " r{id}");
        }
        let name = names.and_then(|names| names.get(session, row.id));
        vec![
            name.unwrap_or_default().into(),
            format!("r{}", row.id),
            row.dtype.name().into(),
            row.size.to_string(),
            row.kept.map_or_else(|| "again".into(), |kept| Bytes(kept).to_string()),
            made,
            if row.has_gradient { "[x]".into() } else { String::new() },
            row.label.as_deref().unwrap_or_default().into(),
        ]
    };
    let columns = ["Name", "ID", "Type", "Size", "Kept", "Made by", "Gradient", "Label"];
    Table::long(columns.map(Into::into).to_vec(), rows.len(), row)
}

fn footer(rows: &[TapeRow]) -> String {
    let n_marks = rows.iter().filter(|row| row.made_by.is_none()).count();
    let computed = || rows.iter().filter(|row| row.made_by.is_some());
    let kept: u64 = computed().filter_map(|row| row.kept).sum();
    let n_kept = computed().filter(|row| row.kept.is_some()).count();
    format!(
        "\n  Marks    : {n_marks}\n  Computed : {}, of which {n_kept} are kept in memory ({}), {} are computed again",
        rows.len() - n_marks,
        Bytes(kept),
        rows.len() - n_marks - n_kept
    )
}

fn add_rows(data: &mut rhai::Array, session: &Session, names: Option<&Names>) -> Result<()> {
    let number = |n: u64| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    for row in session.tape() {
        check_interrupt()?;
        let name = names.and_then(|names| names.get(session, row.id));
        let made_of: rhai::Array = row.made_of.iter().map(|&id| number(id)).collect();
        let mut map = Map::new();
        map.insert("id".into(), number(row.id));
        map.insert("type".into(), row.dtype.name().into());
        map.insert("name".into(), name.unwrap_or_default().into());
        map.insert("label".into(), row.label.as_deref().unwrap_or_default().into());
        map.insert("size".into(), number(row.size));
        map.insert("kept".into(), row.kept.map_or(Dynamic::UNIT, number));
        map.insert("made_by".into(), row.made_by.unwrap_or("mark").into());
        map.insert("made_of".into(), made_of.into());
        map.insert("gradient".into(), row.has_gradient.into());
        data.push(Dynamic::from(map));
    }
    Ok(())
}
