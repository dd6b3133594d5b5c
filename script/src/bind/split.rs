//! Texts and blobs in pieces, and texts in which pieces are replaced. Rhai's own functions do it in one go, however
//! long that takes; these look at the size, and whether somebody wants them to stop.

use rhai::{Array, Blob, Dynamic, Engine, ImmutableString};

use super::sizes::Sizes;
use crate::fault::{Result, check_interrupt};

/// Pieces between two looks whether to go on.
const POLL: usize = 1000;

type Text = ImmutableString;

pub(super) fn register(engine: &mut Engine, sizes: Sizes) {
    engine.register_fn("to_chars", move |text: &str| list(sizes, "to_chars", text.chars()));
    engine.register_fn("to_array", move |blob: &mut Blob| {
        list(sizes, "to_array", blob.iter().copied().map(i64::from))
    });
    engine.register_fn("split", move |text: &str| match text {
        "" => Ok(vec![text.into()]),
        text => list(sizes, "split", text.split_whitespace()),
    });
    engine.register_fn("split", move |text: &str, by: &str| split(sizes, text, i64::MAX, by));
    engine.register_fn("split", move |text: &str, by: char| {
        split(sizes, text, i64::MAX, by.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("split", move |text: &str, by: &str, n: i64| split(sizes, text, n, by));
    engine.register_fn("split", move |text: &str, by: char, n: i64| {
        split(sizes, text, n, by.encode_utf8(&mut [0; 4]))
    });
    engine
        .register_fn("split_rev", move |text: &str, by: &str| split_rev(sizes, text, i64::MAX, by));
    engine.register_fn("split_rev", move |text: &str, by: char| {
        split_rev(sizes, text, i64::MAX, by.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("split_rev", move |text: &str, by: &str, n: i64| {
        split_rev(sizes, text, n, by)
    });
    engine.register_fn("split_rev", move |text: &str, by: char, n: i64| {
        split_rev(sizes, text, n, by.encode_utf8(&mut [0; 4]))
    });
    replacing(engine, sizes);
}

fn replacing(engine: &mut Engine, sizes: Sizes) {
    engine.register_fn("replace", move |text: &mut Text, old: &str, new: &str| {
        replace(sizes, text, old, new)
    });
    engine.register_fn("replace", move |text: &mut Text, old: char, new: &str| {
        replace(sizes, text, old.encode_utf8(&mut [0; 4]), new)
    });
    engine.register_fn("replace", move |text: &mut Text, old: &str, new: char| {
        replace(sizes, text, old, new.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("replace", move |text: &mut Text, old: char, new: char| {
        replace(sizes, text, old.encode_utf8(&mut [0; 4]), new.encode_utf8(&mut [0; 4]))
    });
}

/// The same items, with a look now and then whether to go on.
fn polled<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = Result<T>> {
    items.enumerate().map(|(i, item)| {
        if i.is_multiple_of(POLL) {
            check_interrupt()?;
        }
        Ok(item)
    })
}

fn list<T: Into<Dynamic>>(sizes: Sizes, op: &str, items: impl Iterator<Item = T>) -> Result<Array> {
    let mut list = Array::new();
    for item in polled(items) {
        sizes.make_room(op, &mut list)?;
        list.push(item?.into());
    }
    Ok(list)
}

/// At most so many pieces of a text; at least one.
fn split(sizes: Sizes, text: &str, most: i64, by: &str) -> Result<Array> {
    match text {
        "" => Ok(vec![text.into()]),
        text => list(sizes, "split", text.splitn(pieces(most), by)),
    }
}

/// The same from the end.
fn split_rev(sizes: Sizes, text: &str, most: i64, by: &str) -> Result<Array> {
    match text {
        "" => Ok(vec![text.into()]),
        text => list(sizes, "split_rev", text.rsplitn(pieces(most), by)),
    }
}

fn pieces(most: i64) -> usize {
    usize::try_from(most).unwrap_or(1).max(1)
}

fn replace(sizes: Sizes, text: &mut Text, old: &str, new: &str) -> Result<()> {
    let mut n: usize = 0;
    for found in polled(text.matches(old)) {
        n += found.map(|_| 1)?;
    }
    let rest = text.len().saturating_sub(n.saturating_mul(old.len()));
    let bytes = n.saturating_mul(new.len()).saturating_add(rest);
    sizes.check_text("replace", bytes)?;
    let mut replaced = String::with_capacity(bytes);
    let mut end = 0;
    for found in polled(text.match_indices(old)) {
        let (start, _) = found?;
        replaced.push_str(&text[end..start]);
        replaced.push_str(new);
        end = start + old.len();
    }
    replaced.push_str(&text[end..]);
    *text = replaced.into();
    Ok(())
}
