//! Functions of lists and texts that would otherwise take as much memory as they are told to.
//!
//! Rhai's own limits count all that a list holds at each call, so that a loop over `push` would take the square of its
//! length; these look at what is asked for.

use std::hint::black_box;

use porcini_core::alloc::Bytes;
use porcini_core::device::host_capacity;
use porcini_core::heap;
use rhai::{Array, Blob, Dynamic, Engine, ImmutableString};

use super::Registry;
use crate::bounds::{LARGEST_LIST, LISTS};
use crate::context::Context;
use crate::fault::{Result, fault};

/// Most elements of a list, and bytes of a text, that one call may make.
const MOST: usize = 100_000_000;
/// Bytes of an element of a list.
const OF_LIST: usize = size_of::<Dynamic>();
/// Bytes that are worth the time to ask the system what it has.
const LARGE: usize = 1 << 24;

/// How long lists and texts may be.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    most: usize,
    whose: &'static str,
    /// Bytes that one call may take.
    room: u64,
}

impl Sizes {
    /// What scripts of an interpreter may have.
    pub(super) fn of(context: &Context) -> Self {
        if context.is_sandbox {
            Self { most: LARGEST_LIST, whose: " in the sandbox", room: LISTS }
        } else {
            Self { most: MOST, whose: "", room: u64::MAX }
        }
    }

    /// Refuses elements of so many bytes if they are too many, or more than there is memory.
    pub(super) fn check(self, op: &str, n: usize, each: usize) -> Result<()> {
        let Self { most, whose, room } = self;
        if n > most {
            return Err(fault(format!("{op}: {n} elements are too many (at most {most}{whose})")));
        }
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
        if n < list.capacity().min(self.most) {
            return Ok(());
        }
        self.check(op, n + 1, 0)?;
        let refused = |_| fault(format!("{op}: out of memory: a list of {n} elements"));
        list.try_reserve(1).map_err(refused)
    }
}

/// Bytes that the system leaves; under a limit, copies must find room too.
fn room_left() -> u64 {
    heap::room().unwrap_or_else(|| host_capacity().bytes)
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
        sizes.check("blob", n, 1)?;
        Ok(vec![u8::try_from(byte & 0xff).unwrap_or(0); n])
    }
    engine.register_fn("blob", move |n: i64| blob(sizes, n, 0));
    engine.register_fn("blob", move |n: i64, byte: i64| blob(sizes, n, byte));
    engine.register_fn("pad", move |blob: &mut Blob, n: i64, byte: i64| -> Result<()> {
        let n = usize::try_from(n).unwrap_or(0).max(blob.len());
        sizes.check("pad", n, 1)?;
        blob.resize(n, u8::try_from(byte & 0xff).unwrap_or(0));
        Ok(())
    });
    for op in ["+=", "append"] {
        engine.register_fn(op, move |a: &mut Blob, b: Blob| -> Result<()> {
            sizes.check(op, a.len() + b.len(), 1)?;
            a.extend(b);
            Ok(())
        });
    }
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
    engine.register_fn("push", move |list: &mut Array, item: Dynamic| -> Result<()> {
        sizes.make_room("push", list)?;
        list.push(item);
        Ok(())
    });
    engine.register_fn("insert", move |list: &mut Array, at: i64, item: Dynamic| -> Result<()> {
        sizes.make_room("insert", list)?;
        let n = list.len();
        let at = match usize::try_from(at) {
            Ok(at) => at.min(n),
            Err(_) => n.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)),
        };
        list.insert(at, item);
        Ok(())
    });
}

/// Bytes that copying a value takes, besides itself.
pub(crate) fn held(value: &Dynamic) -> usize {
    if let Some(list) = value.read_lock::<Array>() {
        return list.iter().map(|item| OF_LIST + held(item)).sum();
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        return map.iter().map(|(key, item)| key.len() + 2 * OF_LIST + held(item)).sum();
    }
    value.read_lock::<Blob>().map_or(0, |blob| blob.len())
}

fn texts(engine: &mut Engine, sizes: Sizes) {
    type Text = ImmutableString;
    engine.register_fn("+", move |a: Text, b: Text| -> Result<Text> {
        sizes.check("+", a.len() + b.len(), 1)?;
        Ok(a + b)
    });
    engine.register_fn("+=", move |a: &mut Text, b: Text| -> Result<()> {
        sizes.check("+=", a.len() + b.len(), 1)?;
        *a += b;
        Ok(())
    });
    engine.register_fn("pad", move |text: &mut Text, n: i64, padding: char| {
        pad(sizes, text, n, &padding.to_string())
    });
    engine.register_fn("pad", move |text: &mut Text, n: i64, padding: &str| {
        pad(sizes, text, n, padding)
    });
    engine.register_fn("replace", move |text: &mut Text, old: &str, new: &str| {
        replace(sizes, text, old, new)
    });
    engine.register_fn("replace", move |text: &mut Text, old: char, new: &str| {
        replace(sizes, text, old.encode_utf8(&mut [0; 4]), new)
    });
}

fn replace(sizes: Sizes, text: &mut ImmutableString, old: &str, new: &str) -> Result<()> {
    let n = text.matches(old).count();
    let rest = text.len().saturating_sub(n.saturating_mul(old.len()));
    sizes.check("replace", n.saturating_mul(new.len()).saturating_add(rest), 1)?;
    *text = text.replace(old, new).into();
    Ok(())
}

fn pad(sizes: Sizes, text: &mut ImmutableString, n: i64, padding: &str) -> Result<()> {
    let n = usize::try_from(n).unwrap_or(0);
    sizes.check("pad", n, 1)?;
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
