//! Functions of lists and texts that would otherwise take as much memory as they are told to.
//!
//! Rhai's own limits count all that a list holds at each call, so that a loop over `push` would take the square of its
//! length; these look at what is asked for.

use std::hint::black_box;
use std::ops::{Range, RangeInclusive};

use porcini_core::device::host_capacity;
use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::memory::process_heap;
use rhai::{Array, Blob, Dynamic, Engine, Identifier, ImmutableString, Variant};

use super::registry::Registry;
use super::{split, substrings};
use crate::context::Context;
use crate::fault::{Result, fault, fault_with_hint};
use crate::value::{OF_LIST, held};
use crate::world::bounds::{LARGEST_LIST, LISTS};

/// Most elements of a list that one call may make: Rhai copies and compares lists in one go, which must not take long.
const MOST_ELEMENTS: usize = 10_000_000;
/// Most bytes of a text.
const MOST_BYTES: usize = 100_000_000;
/// Bytes that are worth the time to ask the system what it has.
const LARGE: usize = 1 << 24;

/// How long lists and texts may be.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    most_elements: usize,
    most_bytes: usize,
    whose: &'static str,
    /// Bytes that one call may take.
    room: u64,
}

impl Sizes {
    /// What scripts of an interpreter may have.
    pub(super) fn of(context: &Context) -> Self {
        if context.is_sandbox {
            let (most_elements, most_bytes) = (LARGEST_LIST, LARGEST_LIST);
            Self { most_elements, most_bytes, whose: " in the sandbox", room: LISTS }
        } else {
            let (most_elements, most_bytes) = (MOST_ELEMENTS, MOST_BYTES);
            Self { most_elements, most_bytes, whose: "", room: u64::MAX }
        }
    }

    /// Refuses elements of a list, of so many bytes, if they are too many, or more than there is memory.
    pub(super) fn check(self, op: &str, n: usize, each: usize) -> Result<()> {
        let (most, whose) = (self.most_elements, self.whose);
        if n > most {
            return Err(fault_with_hint(
                format!("{op}: {n} elements are too many (at most {most}{whose})"),
                "arrays hold more, and take less: FloatC::arange(n)",
            ));
        }
        self.check_room(op, n, each)
    }

    /// Refuses a text or blob that is too long.
    pub(super) fn check_text(self, op: &str, bytes: usize) -> Result<()> {
        self.check_length(op, bytes)?;
        self.check_room(op, bytes, 1)
    }

    /// As [`Sizes::check_text`] for one that grows where it lies, with room for `capacity` bytes. Where that does not do
    /// it doubles: only then there is something to ask the system for, which takes longer than a short piece.
    pub(super) fn check_grown(self, op: &str, capacity: usize, bytes: usize) -> Result<()> {
        self.check_length(op, bytes)?;
        if bytes <= capacity {
            return Ok(());
        }
        self.check_room(op, bytes.max(capacity.saturating_mul(2)), 1)
    }

    fn check_length(self, op: &str, bytes: usize) -> Result<()> {
        let (most, whose) = (self.most_bytes, self.whose);
        if bytes > most {
            return Err(fault(format!(
                "{op}: {bytes} elements are too many (at most {most}{whose})"
            )));
        }
        Ok(())
    }

    fn check_room(self, op: &str, n: usize, each: usize) -> Result<()> {
        let room = self.room;
        let bytes = n.saturating_mul(each);
        let left = if bytes < LARGE { room } else { room_left().min(room) };
        if bytes as u64 > left || bytes >= LARGE && !is_granted(bytes) {
            let (bytes, left) = (Bytes(bytes as u64), Bytes(left));
            return Err(fault(format!("{op}: out of memory: {n} elements take {bytes} of {left}")));
        }
        Ok(())
    }

    /// Makes room for one more element; the system is not asked what it has for so little.
    pub(super) fn make_room(self, op: &str, list: &mut Array) -> Result<()> {
        let n = list.len();
        if n < list.capacity().min(self.most_elements) {
            return Ok(());
        }
        self.check(op, n + 1, 0)?;
        let refused = |_| fault(format!("{op}: out of memory: a list of {n} elements"));
        list.try_reserve(1).map_err(refused)
    }
}

/// Bytes that the system leaves; under a limit, copies must find room too.
fn room_left() -> u64 {
    process_heap::room().unwrap_or_else(|| host_capacity().bytes)
}

/// Whether the system would give so many bytes: who takes them does not ask, and a refusal ends the process.
fn is_granted(bytes: usize) -> bool {
    black_box(Vec::<u8>::new()).try_reserve_exact(black_box(bytes)).is_ok()
}

pub(super) fn register(registry: &mut Registry<'_>) {
    let sizes = Sizes::of(&registry.context);
    blobs(registry.engine, sizes);
    lists(registry.engine, sizes);
    texts(registry.engine, sizes);
}

fn blobs(engine: &mut Engine, sizes: Sizes) {
    fn blob(sizes: Sizes, n: i64, byte: i64) -> Result<Blob> {
        let n = usize::try_from(n).unwrap_or(0);
        sizes.check_text("blob", n)?;
        Ok(vec![low_byte(byte); n])
    }
    engine.register_fn("blob", move |n: i64| blob(sizes, n, 0));
    engine.register_fn("blob", move |n: i64, byte: i64| blob(sizes, n, byte));
    engine.register_fn("pad", move |blob: &mut Blob, n: i64, byte: i64| -> Result<()> {
        let n = usize::try_from(n).unwrap_or(0).max(blob.len());
        sizes.check_text("pad", n)?;
        blob.resize(n, low_byte(byte));
        Ok(())
    });
    engine.register_fn("+", move |mut a: Blob, b: Blob| -> Result<Blob> {
        sizes.check_text("+", a.len() + b.len())?;
        a.extend(b);
        Ok(a)
    });
    for op in ["+=", "append"] {
        engine.register_fn(op, move |a: &mut Blob, b: Blob| -> Result<()> {
            sizes.check_text(op, a.len() + b.len())?;
            a.extend(b);
            Ok(())
        });
        engine.register_fn(op, move |a: &mut Blob, b: &str| -> Result<()> {
            sizes.check_text(op, a.len() + b.len())?;
            a.extend(b.as_bytes());
            Ok(())
        });
    }
    blob_bytes(engine, sizes);
    blob_texts(engine, sizes);
    splices::<u8>(engine, move |n| sizes.check_text("splice", n));
}

/// What adds one byte or one letter to a blob.
fn blob_bytes(engine: &mut Engine, sizes: Sizes) {
    fn add(sizes: Sizes, op: &str, blob: &mut Blob, bytes: &[u8]) -> Result<()> {
        sizes.check_grown(op, blob.capacity(), blob.len() + bytes.len())?;
        blob.extend(bytes);
        Ok(())
    }
    for op in ["+=", "append", "push"] {
        engine.register_fn(op, move |blob: &mut Blob, byte: i64| -> Result<()> {
            add(sizes, op, blob, &[low_byte(byte)])
        });
    }
    for op in ["+=", "append"] {
        engine.register_fn(op, move |blob: &mut Blob, letter: char| -> Result<()> {
            add(sizes, op, blob, letter.encode_utf8(&mut [0; 4]).as_bytes())
        });
    }
    engine.register_fn("+", move |mut blob: Blob, letter: char| -> Result<Blob> {
        add(sizes, "+", &mut blob, letter.encode_utf8(&mut [0; 4]).as_bytes())?;
        Ok(blob)
    });
    engine.register_fn("insert", move |blob: &mut Blob, at: i64, byte: i64| -> Result<()> {
        sizes.check_grown("insert", blob.capacity(), blob.len() + 1)?;
        blob.insert(place(at, blob.len()), low_byte(byte));
        Ok(())
    });
}

/// Blobs as texts: what is no text becomes a sign that is longer.
fn blob_texts(engine: &mut Engine, sizes: Sizes) {
    type Text = ImmutableString;
    engine.register_fn("+", move |text: Text, blob: Blob| -> Result<Text> {
        let letters = String::from_utf8_lossy(&blob);
        sizes.check_text("+", text.len() + letters.len())?;
        Ok(text + &*letters)
    });
    engine.register_fn("+", move |blob: Blob, text: Text| -> Result<Text> {
        let letters = String::from_utf8_lossy(&blob);
        sizes.check_text("+", letters.len() + text.len())?;
        Ok((letters.into_owned() + text.as_str()).into())
    });
    for op in ["+=", "append"] {
        engine.register_fn(op, move |text: &mut Text, blob: Blob| -> Result<()> {
            let letters = String::from_utf8_lossy(&blob);
            sizes.check_text(op, text.len() + letters.len())?;
            *text += &*letters;
            Ok(())
        });
    }
}

fn low_byte(number: i64) -> u8 {
    number.to_le_bytes()[0]
}

/// Where an item of so many goes; a negative place counts from the end.
fn place(at: i64, n: usize) -> usize {
    match usize::try_from(at) {
        Ok(at) => at.min(n),
        Err(_) => n.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)),
    }
}

/// Puts items in place of others, of which there are so many from a place on, or in a range. `check` refuses too many that
/// there would be then.
fn splices<T: Variant + Clone>(
    engine: &mut Engine,
    check: impl Fn(usize) -> Result<()> + Copy + Send + Sync + 'static,
) where
    Vec<T>: Variant + Clone,
{
    let splice = move |items: &mut Vec<T>, start: i64, n: i64, new: Vec<T>| -> Result<()> {
        let length = items.len();
        let start = place(start, length);
        let n = usize::try_from(n).unwrap_or(0).min(length - start);
        check(length - n + new.len())?;
        items.splice(start..start + n, new);
        Ok(())
    };
    engine.register_fn("splice", splice);
    engine.register_fn("splice", move |items: &mut Vec<T>, range: Range<i64>, new: Vec<T>| {
        let start = range.start.max(0);
        splice(items, start, range.end.saturating_sub(start), new)
    });
    engine.register_fn(
        "splice",
        move |items: &mut Vec<T>, range: RangeInclusive<i64>, new: Vec<T>| {
            let start = (*range.start()).max(0);
            splice(items, start, range.end().saturating_sub(start).saturating_add(1), new)
        },
    );
}

fn lists(engine: &mut Engine, sizes: Sizes) {
    engine.register_fn("pad", move |list: &mut Array, n: i64, item: Dynamic| -> Result<()> {
        let n = usize::try_from(n).unwrap_or(0).max(list.len());
        sizes.check("pad", n, OF_LIST + held(&item))?;
        list.resize(n, item);
        Ok(())
    });
    engine.register_fn("+", move |mut a: Array, b: Array| -> Result<Array> {
        sizes.check("+", a.len() + b.len(), OF_LIST)?;
        a.extend(b);
        Ok(a)
    });
    for op in ["+=", "append"] {
        engine.register_fn(op, move |a: &mut Array, b: Array| -> Result<()> {
            sizes.check(op, a.len() + b.len(), OF_LIST)?;
            a.extend(b);
            Ok(())
        });
    }
    engine.register_fn("+=", move |list: &mut Array, item: Dynamic| -> Result<()> {
        sizes.make_room("+=", list)?;
        list.push(item);
        Ok(())
    });
    splices::<Dynamic>(engine, move |n| sizes.check("splice", n, OF_LIST));
    engine.register_fn("push", move |list: &mut Array, item: Dynamic| -> Result<()> {
        sizes.make_room("push", list)?;
        list.push(item);
        Ok(())
    });
    engine.register_fn("insert", move |list: &mut Array, at: i64, item: Dynamic| -> Result<()> {
        sizes.make_room("insert", list)?;
        list.insert(place(at, list.len()), item);
        Ok(())
    });
}

fn texts(engine: &mut Engine, sizes: Sizes) {
    type Text = ImmutableString;
    engine.register_fn("+", move |a: Text, b: Text| -> Result<Text> {
        sizes.check_text("+", a.len() + b.len())?;
        Ok(a + b)
    });
    engine.register_fn("+=", move |a: &mut Text, b: Text| -> Result<()> {
        let bytes = a.len() + b.len();
        // Of one that somebody else holds all of it is copied.
        match a.strong_count() {
            1 => sizes.check_grown("+=", AsRef::<Identifier>::as_ref(a).capacity(), bytes)?,
            _ => sizes.check_text("+=", bytes)?,
        }
        *a += b;
        Ok(())
    });
    engine.register_fn("pad", move |text: &mut Text, n: i64, padding: char| {
        pad(sizes, text, n, &padding.to_string())
    });
    engine.register_fn("pad", move |text: &mut Text, n: i64, padding: &str| {
        pad(sizes, text, n, padding)
    });
    split::register(engine, sizes);
    substrings::register(engine);
}

fn pad(sizes: Sizes, text: &mut ImmutableString, n: i64, padding: &str) -> Result<()> {
    let n = usize::try_from(n).unwrap_or(0);
    sizes.check_text("pad", n)?;
    let letters = padding.chars().count().max(1);
    let times = n.saturating_sub(text.chars().count()).div_ceil(letters);
    sizes.check_text("pad", text.len().saturating_add(times.saturating_mul(padding.len())))?;
    let mut padded = text.to_string();
    while !padding.is_empty() && padded.chars().count() < n {
        let missing = n - padded.chars().count();
        padded.push_str(&padding.repeat(missing.div_ceil(padding.chars().count())));
    }
    let end = padded.char_indices().nth(n.max(text.chars().count())).map(|(end, _)| end);
    padded.truncate(end.unwrap_or(padded.len()));
    *text = padded.into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_asks_for_twice_its_room() {
        let sizes = Sizes { most_elements: 0, most_bytes: 100, whose: "", room: 50 };
        let grows = |capacity, bytes| sizes.check_grown("+=", capacity, bytes).is_ok();
        assert!(grows(40, 40) && grows(100, 100) && grows(20, 41));
        assert!(!grows(40, 41) && !grows(200, 101));
    }
}
