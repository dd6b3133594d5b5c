//! The types of kernels: C's names, NumPy's and ours, and letters that calls bind.

use std::collections::BTreeMap;
use std::fmt;

use super::item::{Item, alone};
use super::tree::Parameter;
use super::trouble::Trouble;
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::spelling::similar;

/// A type as a text names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypeName {
    Known(DType),
    /// One that the arguments of a call decide: `T`.
    Letter(String),
    /// `acc_t(T)`: the type in which values of another are summed.
    Accumulated(Box<Self>),
    /// That of the first value.
    Auto,
}

/// C's names for types; of several words the longest first.
const WORDS: [(&[&str], DType); 26] = [
    (&["unsigned", "long", "long"], DType::U64),
    (&["unsigned", "long"], DType::U64),
    (&["unsigned", "short"], DType::U16),
    (&["unsigned", "char"], DType::U8),
    (&["unsigned", "int"], DType::U32),
    (&["unsigned"], DType::U32),
    (&["signed", "char"], DType::I8),
    (&["long", "long"], DType::I64),
    (&["long", "int"], DType::I64),
    (&["long"], DType::I64),
    (&["short"], DType::I16),
    (&["char"], DType::I8),
    (&["int"], DType::I32),
    (&["bool"], DType::Mask),
    (&["half"], DType::F16),
    (&["__half"], DType::F16),
    (&["float"], DType::F32),
    (&["double"], DType::F64),
    (&["size_t"], DType::U64),
    (&["ptrdiff_t"], DType::I64),
    (&["int8_t"], DType::I8),
    (&["int16_t"], DType::I16),
    (&["int32_t"], DType::I32),
    (&["int64_t"], DType::I64),
    (&["uint8_t"], DType::U8),
    (&["uint16_t"], DType::U16),
];
const MORE_WORDS: [(&[&str], DType); 6] = [
    (&["uint32_t"], DType::U32),
    (&["uint64_t"], DType::U64),
    (&["uchar"], DType::U8),
    (&["ushort"], DType::U16),
    (&["uint"], DType::U32),
    (&["ulong"], DType::U64),
];

/// The type that the words begin with, and of how many it is.
pub(crate) fn known(words: &[&str]) -> Option<(DType, usize)> {
    let first = *words.first()?;
    let by_name = DType::ALL.into_iter().find(|dtype| {
        first == dtype.numpy_name() || first == dtype.name() || first == dtype.script_name()
    });
    if let Some(dtype) = by_name {
        return Some((dtype, 1));
    }
    let mut all = WORDS.iter().chain(&MORE_WORDS);
    all.find(|(known, _)| words.starts_with(known)).map(|(known, dtype)| (*dtype, known.len()))
}

/// The lane type that C, NumPy, scripts or PTX have under a name: `unsigned int`.
pub fn lane_type(name: &str) -> Option<DType> {
    let words: Vec<&str> = name.split_whitespace().collect();
    known(&words).filter(|(_, n_words)| *n_words == words.len()).map(|(dtype, _)| dtype)
}

/// All single words that name types.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let words = WORDS.iter().chain(&MORE_WORDS).flat_map(|(words, _)| words.iter().copied());
    let ours = DType::ALL.into_iter().map(DType::numpy_name);
    words.chain(ours).chain(["signed"])
}

/// What type may have been meant by a name.
pub(super) fn meant(name: &str) -> Option<String> {
    let names: Vec<&str> = names().collect();
    let near = similar(name, names.iter());
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// Whether a name is one of a type that calls bind: a capital letter, perhaps with digits.
pub(super) fn is_letter(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.all(|c| c.is_ascii_digit())
}

/// What letters are in a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Letters(BTreeMap<String, DType>);

impl Letters {
    /// What the letters are, by the arguments: the common type of those that have it.
    pub(super) fn of(
        parameters: &[Parameter],
        items: &[Option<Item>],
        arrays: &[Array],
    ) -> Result<Self, Trouble> {
        let mut letters: BTreeMap<String, DType> = BTreeMap::new();
        let mut numbers: Vec<(&str, Scalar)> = Vec::new();
        for (parameter, item) in parameters.iter().zip(items) {
            let TypeName::Letter(letter) = &parameter.type_name else { continue };
            let dtype = match item {
                Some(Item::Number(number, None)) => {
                    numbers.push((letter, *number));
                    continue;
                }
                Some(Item::Raw(number)) => arrays[*number].dtype(),
                Some(item) => item.dtype().unwrap_or(DType::F32),
                None => continue,
            };
            let known = letters.get(letter.as_str()).copied();
            let common = match known {
                None => dtype,
                // A truth value joins numbers as 0 and 1.
                Some(DType::Mask) => dtype,
                Some(known) => known.promote(dtype).unwrap_or(known),
            };
            letters.insert(letter.clone(), common);
        }
        for (letter, number) in numbers {
            let dtype = match letters.get(letter) {
                Some(dtype) => dtype.meet(number),
                None => alone(number),
            };
            letters.insert(letter.into(), dtype);
        }
        Ok(Self(letters))
    }

    /// What they are, as errors say it: ` of T = FloatC`.
    pub(super) fn told(&self) -> String {
        let types =
            self.0.iter().map(|(letter, dtype)| format!("{letter} = {}", dtype.script_name()));
        let types: Vec<String> = types.collect();
        if types.is_empty() { String::new() } else { format!(" of {}", types.join(", ")) }
    }
}

impl TypeName {
    /// The type itself; `None` of `auto`.
    pub(super) fn dtype(&self, letters: &Letters) -> Option<DType> {
        match self {
            Self::Known(dtype) => Some(*dtype),
            Self::Letter(letter) => letters.0.get(letter).copied(),
            Self::Accumulated(inner) => inner.dtype(letters).map(accumulation),
            Self::Auto => None,
        }
    }

    /// The letter in it.
    pub(super) fn letter(&self) -> Option<&str> {
        match self {
            Self::Letter(letter) => Some(letter),
            Self::Accumulated(inner) => inner.letter(),
            Self::Known(_) | Self::Auto => None,
        }
    }
}

/// The type in which a kernel sums values of another: f32 of f16, 32 bits of narrow integers and truth values.
pub(super) fn accumulation(dtype: DType) -> DType {
    if dtype.is_half() { dtype.widened() } else { dtype.accumulated() }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(dtype) => f.write_str(dtype.numpy_name()),
            Self::Letter(letter) => f.write_str(letter),
            Self::Accumulated(inner) => write!(f, "acc_t({inner})"),
            Self::Auto => f.write_str("auto"),
        }
    }
}
