//! What columns of a table are asked for: categories, counts of values, a summary, dates.

use std::cmp::Reverse;
use std::collections::HashMap;

use porcini_core::{Array, DType, Order, Scalar};
use rhai::{Dynamic, Map};

use super::csv::{category, category_of, number_of};
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault};
use crate::value::csv::Texts;
use crate::value::{ArrayRef, Form, dates, dynamic, type_name};

/// Lanes and items between two looks at the interrupt flag.
const PIECE: usize = 1 << 16;

/// What `describe` says, in order.
const SUMMARY: [&str; 9] = ["count", "missing", "mean", "std", "min", "q1", "median", "q3", "max"];

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
            order.remember(["column"].into_iter().chain(SUMMARY));
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

/// The texts of a list, each kept once.
fn texts(op: &str, list: &[Dynamic]) -> Result<Texts> {
    let mut texts = Texts::default();
    for (i, item) in list.iter().enumerate() {
        if i.is_multiple_of(PIECE) {
            check_interrupt()?;
        }
        let text = item.as_immutable_string_ref().map_err(|_| {
            let got = type_name(item);
            fault(format!("{op}: got {got} as item {i}, expected a list of texts, or an array"))
        })?;
        texts.push(&text).ok_or_else(|| fault(format!("{op}: more than 2^32 different texts")))?;
    }
    Ok(texts)
}

/// The different lanes of an array: where each is first, and how often it is there.
struct Distinct {
    lanes: Vec<(Scalar, u64, u64)>,
    /// For each lane the number of its value.
    codes: Vec<u32>,
}

fn distinct(array: &Array) -> Result<Distinct> {
    array.session().check_host_memory(array.size().saturating_mul(4)).or_fault()?;
    let mut found = Distinct { lanes: Vec::new(), codes: Vec::new() };
    let mut known: HashMap<u64, u32> = HashMap::new();
    let mut lane = 0;
    each_lane(array, |value| {
        let key = match value {
            Scalar::Bool(truth) => truth.into(),
            Scalar::Int(int) => int.cast_unsigned(),
            Scalar::UInt(int) => int,
            // Zeros are equal, and every NaN reads as one.
            Scalar::Float(x) => (x + 0.0).to_bits(),
        };
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        let code = *known.entry(key).or_insert(next);
        if code == next {
            found.lanes.push((value, lane, 0));
        }
        found.lanes[code as usize].2 += 1;
        found.codes.push(code);
        lane += 1;
    })?;
    // In order, nan last.
    let mut order: Vec<usize> = (0..found.lanes.len()).collect();
    let key = |&i: &usize| match found.lanes[i].0 {
        Scalar::Bool(truth) => (i128::from(truth), 0.0),
        Scalar::Int(int) => (int.into(), 0.0),
        Scalar::UInt(int) => (int.into(), 0.0),
        Scalar::Float(x) => (i128::from(x.is_nan()), x),
    };
    order.sort_by(|a, b| {
        let ((a, x), (b, y)) = (key(a), key(b));
        a.cmp(&b).then(x.total_cmp(&y))
    });
    let mut places = vec![0; order.len()];
    for (place, &i) in (0..).zip(&order) {
        places[i] = place;
    }
    found.codes.iter_mut().for_each(|code| *code = places[*code as usize]);
    found.lanes = order.iter().map(|&i| found.lanes[i]).collect();
    Ok(found)
}

pub(super) fn encode(context: &Context, value: &Dynamic) -> Result<Dynamic> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return category(context, texts("encode", &list)?);
    }
    let array = array("encode", value)?;
    let Distinct { lanes, codes } = distinct(&array)?;
    let firsts: Vec<u64> = lanes.iter().map(|&(_, first, _)| first).collect();
    let firsts = context.session.array(&firsts).or_fault()?;
    let values = ArrayRef::leaf(array.take(&firsts).or_fault()?);
    let codes = ArrayRef::leaf(context.session.array(&codes).or_fault()?);
    Ok(vec![Dynamic::from(values), Dynamic::from(codes)].into())
}

fn value_counts(value: &Dynamic) -> Result<rhai::Array> {
    let mut counts: Vec<(Dynamic, u64)> = if let Some((names, codes)) = category_of(value) {
        let name = |number: usize| names.get(number).cloned().map(Dynamic::from);
        let named = |&(code, _, n): &(Scalar, u64, u64)| {
            let name = number_of(code).and_then(name);
            (name.unwrap_or_else(|| dynamic(code)), n)
        };
        distinct(&codes)?.lanes.iter().map(named).collect()
    } else if let Some(list) = value.read_lock::<rhai::Array>() {
        let mut texts = texts("value_counts", &list)?;
        texts.sort();
        let mut counts = vec![0; texts.names.len()];
        texts.codes.iter().for_each(|&code| counts[code as usize] += 1);
        texts.names.into_iter().map(Dynamic::from).zip(counts).collect()
    } else {
        let lanes = distinct(&array("value_counts", value)?)?.lanes;
        lanes.into_iter().map(|(value, _, n)| (dynamic(value), n)).collect()
    };
    counts.sort_by_key(|&(_, n)| Reverse(n));
    let mut rows = rhai::Array::new();
    for (value, n) in counts {
        check_interrupt()?;
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        rows.push(Map::from([("value".into(), value), ("count".into(), n.into())]).into());
    }
    Ok(rows)
}

fn description(array: &Array) -> Result<Map> {
    let sorted = array.cast(DType::F64).and_then(|x| x.sort(Order::Ascending)).or_fault()?;
    let at = |i: u64| sorted.item(i.cast_signed()).map(Scalar::to_f64).or_fault();
    // NaN stands last.
    let (mut n, mut end) = (0, sorted.size());
    while n < end {
        let middle = n.midpoint(end);
        if at(middle)?.is_nan() { end = middle } else { n = middle + 1 }
    }
    let values = sorted.slice(0..n.cast_signed()).or_fault()?;
    let number = |x: porcini_core::Result<Array>| -> Result<Dynamic> {
        let x = x.and_then(|x| x.item(0)).or_fault()?;
        Ok(Dynamic::from(x.to_f64()))
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "numbers of lanes"
    )]
    let quantile = |part: f64| -> Result<Dynamic> {
        let Some(last) = n.checked_sub(1) else { return Ok(f64::NAN.into()) };
        let place = part * last as f64;
        let (low, high) = (at(place.floor() as u64)?, at((place.ceil() as u64).min(last))?);
        let part = place.fract();
        Ok((if low == high { low } else { low * (1.0 - part) + high * part }).into())
    };
    let count = |n: u64| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    Ok(Map::from([
        ("count".into(), count(n)),
        ("missing".into(), count(sorted.size() - n)),
        ("mean".into(), number(values.mean())?),
        ("std".into(), number(values.std())?),
        ("min".into(), quantile(0.0)?),
        ("q1".into(), quantile(0.25)?),
        ("median".into(), quantile(0.5)?),
        ("q3".into(), quantile(0.75)?),
        ("max".into(), quantile(1.0)?),
    ]))
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
    let texts = texts("parse_date", &list)?;
    let known = |text: &String| if text.trim().is_empty() { Ok(f64::NAN) } else { seconds(text) };
    let known: Vec<f64> = texts.names.iter().map(known).collect::<Result<_>>()?;
    let all: Vec<f64> = texts.codes.iter().map(|&code| known[code as usize]).collect();
    Ok(Dynamic::from(ArrayRef::leaf(context.session.array(&all).or_fault()?)))
}
