//! What columns of a table are asked for: categories, counts of values, a summary, dates.

use porcini_core::array::Description;
use porcini_core::{Array, Scalar};
use rhai::{Dynamic, Map};

use super::csv::{category, category_of, number_of};
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault};
use crate::value::csv::Texts;
use crate::value::{ArrayRef, Form, dates, dynamic, type_name};

/// Lanes between two looks at the interrupt flag.
const PIECE: usize = 1 << 16;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "encode",
        "(x)",
        "The different texts of a list in order, and for each item the number of its text, UInt32C: a category. Of an array \
         the different lanes, nan last. Evaluates.\n\n\
         >> let [names, codes] = encode([\"b\", \"a\", \"b\"]); codes\n[1, 0, 1]",
    );
    registry.any("encode", 1, |context, _, args| encode(context, args[0]));
    registry.doc(
        "value_counts",
        "(x)",
        "How often each text of a list, number of an array or name of a category is there: a list of maps with value and \
         count, the most frequent first. Evaluates.\n\n\
         >> value_counts([\"b\", \"a\", \"b\"])[0]\n#{count: 2, value: b}",
    );
    registry.any("value_counts", 1, |context, _, args| {
        context.print.borrow().columns.remember(["value", "count"]);
        value_counts(args[0])
    });
    registry.doc(
        "describe",
        "(x)",
        "A summary of an array's lanes, or a tensor's entries: count and missing (nan), mean, std (as std(x)), min, quartiles q1, median and q3 \
         (between two lanes as numpy.quantile has them), max; in f64. Of a map of columns, such as read_csv gives, a \
         list with a row for each array. Evaluates.\n\n>> describe(FloatC([1, 2, 3, nan])).mean\n2",
    );
    registry.any("describe", 1, |context, _, args| {
        if let Some(columns) = args[0].read_lock::<Map>() {
            let order = context.print.borrow().columns.clone();
            order.remember(["column"].into_iter().chain(Description::NAMES));
            let mut rows = rhai::Array::new();
            for name in order.of(&columns) {
                let column = columns.get(&name).and_then(|column| column.read_lock::<ArrayRef>());
                let Some(column) = column else { continue };
                let (leaves, letters) = (column.contents()?, column.form().component_names());
                for (i, leaf) in leaves.iter().enumerate() {
                    let mut row = description(leaf)?;
                    let part = match letters.get(i).filter(|_| leaves.len() == letters.len()) {
                        Some(letter) => format!(".{letter}"),
                        None if leaves.len() > 1 => format!(".{i}"),
                        None => String::new(),
                    };
                    row.insert("column".into(), format!("{name}{part}").into());
                    rows.push(row.into());
                }
            }
            return Ok(Dynamic::from(rows));
        }
        description(&lanes("describe", args[0])?).map(Dynamic::from)
    });
    registry.doc(
        "parse_date",
        "(text)",
        "Seconds since 1970-01-01 UTC of 2024-02-29, 2024-02-29 12:30, 2024-02-29T12:30:00.5Z or with +01:00; of a list \
         of texts Float64C, nan for an empty one.\n\n>> parse_date(\"2024-02-29 00:01\") - parse_date(\"2024-02-29\")\n60",
    );
    registry.any("parse_date", 1, |context, _, args| parse_date(context, args[0]));
    registry.doc(
        "format_date",
        "(seconds)",
        "The date as text, with the time of day unless it is 0, of seconds since 1970-01-01 UTC; of an array a list of \
         texts, empty ones for nan. Evaluates.\n\n>> format_date(Float64C([0, 90]))\n[1970-01-01, 1970-01-01 00:01:30]",
    );
    registry.any("format_date", 1, |_, _, args| {
        if let Ok(seconds) = args[0].as_float() {
            return Ok(Dynamic::from(dates::text(seconds)));
        }
        if let Ok(seconds) = args[0].as_int() {
            #[expect(clippy::cast_precision_loss, reason = "years that have texts are short")]
            return Ok(Dynamic::from(dates::text(seconds as f64)));
        }
        let mut texts = rhai::Array::new();
        each_lane(&array("format_date", args[0])?, |lane| {
            texts.push(dates::text(lane.to_f64()).into());
        })?;
        Ok(texts.into())
    });
}

pub(super) fn array(op: &str, value: &Dynamic) -> Result<Array> {
    let array = value.read_lock::<ArrayRef>().map(|array| array.array(op));
    array
        .unwrap_or_else(|| Err(fault(format!("{op}: got {}, expected an array", type_name(value)))))
}

/// As [`array`], and of a tensor all entries.
pub(super) fn lanes(op: &str, value: &Dynamic) -> Result<Array> {
    let tensor = value.read_lock::<ArrayRef>().filter(|value| value.form() == Form::Tensor);
    let parts = tensor.map(|tensor| tensor.contents()).transpose()?.unwrap_or_default();
    match <[Array; 1]>::try_from(parts) {
        Ok([entries]) => Ok(entries),
        Err(_) => array(op, value),
    }
}

fn each_lane(array: &Array, mut work: impl FnMut(Scalar)) -> Result<()> {
    let n = array.size();
    for start in (0..n).step_by(PIECE) {
        check_interrupt()?;
        let end = n.min(start + PIECE as u64);
        array.read(start..end).or_fault()?.into_iter().for_each(&mut work);
    }
    Ok(())
}

pub(super) fn encode(context: &Context, value: &Dynamic) -> Result<Dynamic> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return category(context, Texts::of("encode", &list)?);
    }
    let parts = array("encode", value)?.encode().or_fault()?;
    let parts = parts.map(|part| Dynamic::from(ArrayRef::leaf(part)));
    Ok(parts.into_iter().collect::<rhai::Array>().into())
}

fn value_counts(value: &Dynamic) -> Result<rhai::Array> {
    let counts: Vec<(Dynamic, u64)> = if let Some((names, codes)) = category_of(value) {
        let name = |code| {
            let name = number_of(code).and_then(|number| names.get(number).cloned());
            name.map_or_else(|| dynamic(code), Dynamic::from)
        };
        let counts = codes.value_counts().or_fault()?;
        counts.into_iter().map(|(code, n)| (name(code), n)).collect()
    } else if let Some(list) = value.read_lock::<rhai::Array>() {
        let counts = Texts::of("value_counts", &list)?.counts();
        counts.into_iter().map(|(name, n)| (Dynamic::from(name), n)).collect()
    } else {
        let counts = array("value_counts", value)?.value_counts().or_fault()?;
        counts.into_iter().map(|(value, n)| (dynamic(value), n)).collect()
    };
    let mut rows = rhai::Array::new();
    for (value, n) in counts {
        check_interrupt()?;
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        rows.push(Map::from([("value".into(), value), ("count".into(), n.into())]).into());
    }
    Ok(rows)
}

fn description(array: &Array) -> Result<Map> {
    let numbers = array.describe().or_fault()?.numbers().map(dynamic);
    Ok(Description::NAMES.map(Into::into).into_iter().zip(numbers).collect())
}

fn parse_date(context: &Context, value: &Dynamic) -> Result<Dynamic> {
    let seconds = |text: &str| {
        dates::parse(text.trim().as_bytes()).ok_or_else(|| {
            fault(format!(
                "parse_date: \"{text}\" is no date such as 2024-02-29 or 2024-02-29T12:30:00Z"
            ))
        })
    };
    if let Ok(text) = value.as_immutable_string_ref() {
        return seconds(&text).map(Dynamic::from);
    }
    let list = value.read_lock::<rhai::Array>();
    let list = list.ok_or_else(|| {
        fault(format!("parse_date: got {}, expected a text or a list of texts", type_name(value)))
    })?;
    let texts = Texts::of("parse_date", &list)?;
    let known = |text: &String| if text.trim().is_empty() { Ok(f64::NAN) } else { seconds(text) };
    let known: Vec<f64> = texts.names.iter().map(known).collect::<Result<_>>()?;
    let all: Vec<f64> = texts.codes.iter().map(|&code| known[code as usize]).collect();
    Ok(Dynamic::from(ArrayRef::leaf(context.session.array(&all).or_fault()?)))
}
