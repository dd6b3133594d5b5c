//! Values of scripts as other programs hold them: what Python gives a script, and gets back.

use porcini_core::{Scalar, Value};
use rhai::{Dynamic, Map};

use crate::value::{ArrayRef, scalar};

/// A value of a script that knows no script.
#[derive(Clone, Debug)]
pub enum Exchanged {
    /// Nothing, `()`.
    Nothing,
    /// A number or truth value.
    Number(Scalar),
    /// A text.
    Text(String),
    /// An array, a value with components, a tensor.
    Value(Value),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(Vec<(String, Self)>),
}

impl Exchanged {
    /// The value as scripts hold it.
    pub(crate) fn into_dynamic(self) -> Dynamic {
        match self {
            Self::Nothing => Dynamic::UNIT,
            Self::Number(number) => super::dynamic(number),
            Self::Text(text) => text.into(),
            Self::Value(value) => Dynamic::from(ArrayRef::from(value)),
            Self::List(items) => {
                Dynamic::from_array(items.into_iter().map(Self::into_dynamic).collect())
            }
            Self::Map(entries) => {
                let entries = entries.into_iter();
                Dynamic::from_map(
                    entries.map(|(key, item)| (key.into(), item.into_dynamic())).collect(),
                )
            }
        }
    }

    /// What a script's value is elsewhere; `None` of what exists in scripts alone: functions, files.
    pub(crate) fn of(value: &Dynamic) -> Option<Self> {
        if let Some(array) = value.read_lock::<ArrayRef>() {
            return Some(Self::Value(array.to_value()));
        }
        if let Some(list) = value.read_lock::<rhai::Array>() {
            return list.iter().map(Self::of).collect::<Option<_>>().map(Self::List);
        }
        if let Some(map) = value.read_lock::<Map>() {
            let entry = |(key, item): (&rhai::Identifier, &Dynamic)| {
                Some((key.to_string(), Self::of(item)?))
            };
            return map.iter().map(entry).collect::<Option<_>>().map(Self::Map);
        }
        if value.is_unit() {
            return Some(Self::Nothing);
        }
        if let Some(text) = value.read_lock::<rhai::ImmutableString>() {
            return Some(Self::Text(text.to_string()));
        }
        scalar(value).map(Self::Number)
    }
}
