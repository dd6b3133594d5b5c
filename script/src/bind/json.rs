//! JSON: texts become values without running anything, and values become texts that others can read.

use std::cell::{Cell, RefCell};
use std::fmt;

use porcini_core::{DType, Scalar, interrupt};
use rhai::{Dynamic, EvalAltResult, Map};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::registry::Registry;
use super::sizes::Sizes;
use crate::fault::{Fault, Result, Stop, check_interrupt, fault, fault_with_hint, stop};
use crate::show::writer::start;
use crate::value::host_array::HostRef;
use crate::value::{ArrayRef, Deleted, scalar, type_name};

/// Values between two looks at the interrupt flag and at the length of the text.
const POLL: usize = 1000;
/// Bytes of a long text that are written at once.
const PIECE: usize = 64 << 10;
/// Lists and maps inside of each other: as many as the parser takes.
const DEEPEST: usize = 127;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "parse_json",
        "(text)",
        "The value that a JSON text says: maps, lists, texts, numbers, bools, and () for null. Integers stay integers \
         while they fit 64 bits.\n\n>> parse_json(\"[{\\\"a\\\": 1}, 0.5]\")\n[#{a: 1}, 0.5]",
    );
    let sizes = Sizes::of(&registry.context);
    // The script language has functions of these names: the same types replace them.
    registry.engine.register_fn("parse_json", move |text: &str| parse(text, sizes));
    registry.any("parse_json", 1, |_, _, args| -> Result<Dynamic> {
        Err(fault(format!("parse_json: got {}, expected a JSON text", type_name(args[0]))))
    });
    registry.doc(
        "to_json",
        "(x, options)",
        "A value as a JSON text: maps, lists, texts, numbers, bools, () as null; arrays as lists of their lanes, where a \
         lane of a vector or matrix is a list itself. Evaluates. JSON has no nan and no inf: they are an error, or null with \
         the option #{nan: \"null\"}.\n\n\
         >> to_json(#{a: 1, x: FloatC([0.5, nan])}, #{nan: \"null\"})\n{\"a\":1,\"x\":[0.5,null]}",
    );
    registry.engine.register_fn("to_json", move |map: &mut Map| {
        let mut writer = Writer::new(sizes, NotFinite::Error);
        writer.map(map, 0)?;
        Ok::<_, Box<EvalAltResult>>(writer.text)
    });
    for arity in [1, 2] {
        registry.any("to_json", arity, move |_, _, args| {
            let not_finite = args.get(1).map(|options| not_finite(options)).transpose()?;
            let mut writer = Writer::new(sizes, not_finite.unwrap_or(NotFinite::Error));
            writer.value(args[0], 0)?;
            Ok(writer.text)
        });
    }
}

// ---- from JSON ----

/// What reading one text has in common.
struct Reading {
    sizes: Sizes,
    n: Cell<usize>,
    /// Why it was given up, if not for the text.
    given_up: RefCell<Option<Box<EvalAltResult>>>,
}

fn parse(text: &str, sizes: Sizes) -> Result<Dynamic> {
    let reading = Reading { sizes, n: Cell::new(0), given_up: RefCell::new(None) };
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Value(&reading).deserialize(&mut parser);
    let value = value.and_then(|value| parser.end().map(|()| value));
    value.map_err(|error| reading.given_up.take().unwrap_or_else(|| unreadable(&error)))
}

fn unreadable(error: &serde_json::Error) -> Box<EvalAltResult> {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let what = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    let what = match error.classify() {
        Category::Eof => "the text ends too early",
        _ if what == "recursion limit exceeded" => "nested too deeply (at most 127 lists and maps)",
        // `nan` begins like `null`.
        _ if what == "expected ident" => "expected value",
        _ => what,
    };
    fault(format!("parse_json: line {line}, column {}: {what}", column.max(1)))
}

impl Reading {
    fn give_up<E: de::Error>(&self, why: Box<EvalAltResult>) -> E {
        *self.given_up.borrow_mut() = Some(why);
        E::custom("given up")
    }

    /// Counts a value that something holds as its `index`-th.
    fn count<E: de::Error>(&self, index: usize) -> std::result::Result<(), E> {
        self.n.set(self.n.get() + 1);
        if self.n.get().is_multiple_of(POLL) && interrupt::is_requested() {
            return Err(self.give_up(stop(Stop::Interrupt)));
        }
        self.sizes.check("parse_json", index + 1, 0).map_err(|error| self.give_up(error))
    }
}

#[derive(Clone, Copy)]
struct Value<'r>(&'r Reading);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Dynamic;

    fn deserialize<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> std::result::Result<Dynamic, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Dynamic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Dynamic, E> {
        Ok(Dynamic::UNIT)
    }

    fn visit_bool<E>(self, truth: bool) -> std::result::Result<Dynamic, E> {
        Ok(truth.into())
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Dynamic, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Dynamic, E> {
        Ok(crate::value::dynamic(Scalar::UInt(number)))
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<Dynamic, E> {
        Ok(number.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Dynamic, E> {
        self.0.sizes.check_text("parse_json", text.len()).map_err(|error| self.0.give_up(error))?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Dynamic, A::Error> {
        let mut list = rhai::Array::new();
        while let Some(item) = items.next_element_seed(self)? {
            self.0.count(list.len())?;
            list.try_reserve(1).map_err(|_| self.0.give_up(out_of_memory("parse_json")))?;
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut entries: A,
    ) -> std::result::Result<Dynamic, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.0.count(map.len())?;
            map.insert(key.into(), entries.next_value_seed(self)?);
        }
        Ok(map.into())
    }
}

fn out_of_memory(op: &str) -> Box<EvalAltResult> {
    fault(format!("{op}: out of memory"))
}

// ---- to JSON ----

/// What becomes of nan and inf.
#[derive(Clone, Copy)]
enum NotFinite {
    Error,
    Null,
}

fn not_finite(options: &Dynamic) -> Result<NotFinite> {
    let Some(options) = options.read_lock::<Map>() else {
        let got = type_name(options);
        return Err(fault(format!("to_json: got {got}, expected a map of options second")));
    };
    let mut wanted = NotFinite::Error;
    for (key, value) in &*options {
        if key != "nan" {
            return Err(fault(format!("to_json: no option {key} (options: nan)")));
        }
        wanted = match value.clone().into_string().as_deref() {
            Ok("null") => NotFinite::Null,
            Ok("error") => NotFinite::Error,
            _ => return Err(fault("to_json: option nan: expected \"null\" or \"error\"")),
        };
    }
    Ok(wanted)
}

/// A text as it grows.
struct Writer {
    text: String,
    n: usize,
    sizes: Sizes,
    not_finite: NotFinite,
}

impl Writer {
    fn new(sizes: Sizes, not_finite: NotFinite) -> Self {
        Self { text: String::new(), n: 0, sizes, not_finite }
    }

    fn value(&mut self, value: &Dynamic, depth: usize) -> Result<()> {
        if value.is::<()>() {
            self.push("null")
        } else if let Some(number) = scalar(value) {
            self.number(number, DType::F64)
        } else if let Some(map) = value.read_lock::<Map>() {
            self.map(&map, depth)
        } else if let Some(list) = value.read_lock::<rhai::Array>() {
            self.list(list.iter(), depth, |writer, item| writer.value(item, depth + 1))
        } else if let Some(bytes) = value.read_lock::<rhai::Blob>() {
            let number = |writer: &mut Self, &byte: &u8| writer.push(&byte.to_string());
            self.list(bytes.iter(), depth, number)
        } else if let Some(array) = value.read_lock::<ArrayRef>() {
            self.array(&HostRef::of(&array)?, depth)
        } else if let Some(array) = value.read_lock::<HostRef>() {
            self.array(&array, depth)
        } else if let Some(error) = value.read_lock::<Fault>() {
            self.quoted(&error.message)
        } else if let Some(deleted) = value.read_lock::<Deleted>() {
            Err(deleted.fault())
        } else if let Ok(letter) = value.as_char() {
            self.quoted(letter.encode_utf8(&mut [0; 4]))
        } else if let Ok(text) = value.as_immutable_string_ref() {
            self.quoted(&text)
        } else {
            Err(fault_with_hint(
                format!("to_json: JSON has no form for {}", type_name(value)),
                "it has numbers, texts, bools, (), lists, maps and arrays; str(x) makes a text of anything",
            ))
        }
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<()> {
        self.sequence('{', map.iter(), '}', depth, |writer, (key, value)| {
            writer.quoted(key)?;
            writer.push(":")?;
            writer.value(value, depth + 1)
        })
    }

    fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        depth: usize,
        write: impl FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        self.sequence('[', items, ']', depth, write)
    }

    fn sequence<T>(
        &mut self,
        open: char,
        items: impl Iterator<Item = T>,
        close: char,
        depth: usize,
        mut write: impl FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        if depth >= DEEPEST {
            let what = format!("nested too deeply (at most {DEEPEST} lists and maps)");
            return Err(fault(format!("to_json: {what}")));
        }
        self.push(open.encode_utf8(&mut [0; 4]))?;
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.push(",")?;
            }
            write(self, item)?;
            self.count()?;
        }
        self.push(close.encode_utf8(&mut [0; 4]))
    }

    fn array(&mut self, array: &HostRef, depth: usize) -> Result<()> {
        self.elements(&array.fetched()?, &array.shape(), 0, depth)
    }

    /// The elements from `start` on, in row-major order.
    fn elements(
        &mut self,
        array: &HostRef,
        shape: &[usize],
        start: usize,
        depth: usize,
    ) -> Result<()> {
        let Some((&n, inner)) = shape.split_first() else {
            return self.number(array.element(start)?, array.dtype());
        };
        let stride: usize = inner.iter().product();
        self.list(0..n, depth, |writer, i| {
            writer.elements(array, inner, start + i * stride, depth + 1)
        })
    }

    fn number(&mut self, number: Scalar, dtype: DType) -> Result<()> {
        let text = match (number, self.not_finite) {
            (Scalar::Float(x), NotFinite::Error) if !x.is_finite() => {
                return Err(fault_with_hint(
                    format!(
                        "to_json: JSON has no number {}",
                        porcini_core::value::show::number(number, dtype, 6.into())
                    ),
                    "to_json(x, #{nan: \"null\"}) writes null for nan and inf",
                ));
            }
            // A float that is not finite is null there. Few digits are enough for few bits.
            (Scalar::Float(x), _) if dtype == DType::F64 => serde_json::to_string(&x),
            (Scalar::Float(_), _) => serde_json::to_string(&number.to_f32()),
            _ => Ok(number.to_string()),
        };
        self.push(&text.map_err(|error| fault(format!("to_json: {error}")))?)
    }

    fn quoted(&mut self, text: &str) -> Result<()> {
        let bytes = self.text.len().saturating_add(text.len());
        self.sizes.check_grown("to_json", self.text.capacity(), bytes)?;
        self.push("\"")?;
        let mut rest = text;
        while !rest.is_empty() {
            check_interrupt()?;
            let piece = start(rest, PIECE);
            let quoted = serde_json::to_string(piece);
            let quoted = quoted.map_err(|error| fault(format!("to_json: {error}")))?;
            self.push(&quoted[1..quoted.len() - 1])?;
            rest = &rest[piece.len()..];
        }
        self.push("\"")
    }

    fn push(&mut self, piece: &str) -> Result<()> {
        self.text.try_reserve(piece.len()).map_err(|_| out_of_memory("to_json"))?;
        self.text.push_str(piece);
        Ok(())
    }

    /// Looks now and then whether the text is too long, or nobody waits for it.
    fn count(&mut self) -> Result<()> {
        self.n += 1;
        if !self.n.is_multiple_of(POLL) {
            return Ok(());
        }
        check_interrupt()?;
        self.sizes.check_text("to_json", self.text.len())
    }
}
