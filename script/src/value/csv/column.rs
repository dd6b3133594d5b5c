//! The values of a column: of the pieces of a text, and all of them.

use porcini_core::{DType, Scalar};

use super::texts::Texts;
use super::{Kind, Layout, short};
use crate::value::dates;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Mask(Vec<bool>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    /// Read as such: a float of 64 bits that is rounded again may be another one.
    Float32(Vec<f32>),
    Texts(Texts),
}

/// The values of a whole column.
#[derive(Debug)]
pub(crate) enum Whole {
    /// Of a type, from each piece of the text.
    Lanes(DType, Vec<Values>),
    Texts(Texts),
}

/// A whole column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) kind: Kind,
    pub(crate) values: Whole,
    /// Which values are missing, if that was asked for and there are some.
    pub(crate) missing: Option<Vec<bool>>,
}

/// The values of a column in a piece.
pub(super) struct Builder<'l> {
    kind: Kind,
    /// Whether the kind was asked for: another field is an error.
    fixed: bool,
    layout: &'l Layout,
    values: Values,
    missing: Vec<bool>,
    /// Whether a value is there that is not missing.
    taken: bool,
    /// What the fields were from the first one on that the kind does not have.
    others: Option<Seen>,
}

impl Kind {
    /// Bytes of a value.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Lanes(DType::Mask) => 1,
            Self::Lanes(_) | Self::Date => 8,
            Self::Text | Self::Category => 4,
        }
    }

    /// What a value of a column must be.
    fn value_name(self) -> String {
        match self {
            Self::Lanes(DType::Mask) => "true or false".into(),
            Self::Lanes(DType::I64) => "integer".into(),
            Self::Lanes(DType::U64) => "integer from 0 up".into(),
            Self::Lanes(dtype) if dtype.is_int() => format!("integer from {}", dtype.range()),
            Self::Lanes(_) => "number".into(),
            Self::Text | Self::Category => "text".into(),
            Self::Date => "date such as 2024-02-29 or 2024-02-29T12:30:00Z".into(),
        }
    }
}

impl<'l> Builder<'l> {
    pub(super) fn new(kind: Kind, fixed: bool, layout: &'l Layout) -> Self {
        let values = Values::new(kind);
        Self { kind, fixed, layout, values, missing: Vec::new(), taken: false, others: None }
    }

    /// Makes room for so many values more; whether there is some.
    pub(super) fn make_room(&mut self, n: usize) -> bool {
        let masks = !self.layout.masks || self.missing.try_reserve(n).is_ok();
        masks && self.values.reserve(n).is_some()
    }

    /// Adds a field, or says why it is none of the column. Texts keep the blanks around them.
    pub(super) fn add(&mut self, whole: &str) -> Result<(), String> {
        let field = whole.trim_ascii();
        if let Some(others) = &mut self.others {
            others.look_at(field, self.layout);
            return Ok(());
        }
        let is_marked = self.layout.is_marked(field);
        let is_text = matches!(self.kind, Kind::Text | Kind::Category);
        let value = if is_text { whole } else { field };
        let taken = (!is_marked || is_text) && self.values.push(value, self.kind).is_some();
        let is_missing = (!taken || (is_text && self.layout.masks))
            && (is_marked || self.layout.is_missing(field));
        if self.layout.masks {
            self.missing.push(is_missing);
        }
        self.taken |= !is_missing;
        if taken || (is_missing && self.values.push_missing(self.layout.masks)) {
            return Ok(());
        }
        if self.fixed || is_text {
            return Err(format!("\"{}\" is no {}", short(field), self.kind.value_name()));
        }
        let mut others = Seen::default();
        others.look_at(field, self.layout);
        self.others = Some(others);
        Ok(())
    }

    /// Adds the number that a text begins with, up to a separator or the end of a line or of the text: how many bytes it
    /// has. `None`, and nothing is added, where another field may stand there.
    pub(super) fn add_number(&mut self, text: &[u8]) -> Option<usize> {
        if self.others.is_some() || !self.layout.missing.is_empty() {
            return None;
        }
        let separator = self.layout.separator;
        let ends = |n: usize| match text.get(n) {
            Some(&byte) => byte == separator || byte == b'\n' || byte == b'\r',
            None => true,
        };
        let n = match (&mut self.values, self.kind) {
            (Values::Float(values), Kind::Lanes(_)) => {
                let (value, n) = fast_float2::parse_partial(text).ok().filter(|(_, n)| ends(*n))?;
                values.push(value);
                n
            }
            (Values::Float32(values), _) => {
                let (value, n) = fast_float2::parse_partial(text).ok().filter(|(_, n)| ends(*n))?;
                values.push(value);
                n
            }
            (Values::Int(values), Kind::Lanes(DType::I64)) => {
                let (value, n) = integer(text).filter(|(_, n)| ends(*n))?;
                values.push(value);
                n
            }
            _ => return None,
        };
        if self.layout.masks {
            self.missing.push(false);
        }
        self.taken = true;
        Some(n)
    }

    /// What all fields could be read as.
    pub(super) fn seen(&self) -> Seen {
        let none =
            Seen { missing: false, masks: false, ints: false, unsigned: false, floats: false };
        let taken = match &self.values {
            _ if !self.taken => Seen::default(),
            Values::Mask(_) => Seen { masks: true, ..none },
            Values::Int(values) => {
                let unsigned = values.iter().all(|&x| x >= 0);
                Seen { ints: true, floats: true, unsigned, ..none }
            }
            Values::UInt(_) => Seen { unsigned: true, floats: true, ..none },
            Values::Float(_) | Values::Float32(_) => Seen { floats: true, ..none },
            Values::Texts(_) => none,
        };
        self.others.map_or(taken, |others| taken.and(others))
    }
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Lanes(DType::Mask) => Self::Mask(Vec::new()),
            Kind::Lanes(DType::U64) => Self::UInt(Vec::new()),
            Kind::Lanes(DType::F32) => Self::Float32(Vec::new()),
            Kind::Lanes(dtype) if dtype.is_float() => Self::Float(Vec::new()),
            Kind::Lanes(_) => Self::Int(Vec::new()),
            Kind::Date => Self::Float(Vec::new()),
            Kind::Text | Kind::Category => Self::Texts(Texts::default()),
        }
    }

    fn reserve(&mut self, n: usize) -> Option<()> {
        match self {
            Self::Mask(values) => values.try_reserve(n).ok(),
            Self::Int(values) => values.try_reserve(n).ok(),
            Self::UInt(values) => values.try_reserve(n).ok(),
            Self::Float(values) => values.try_reserve(n).ok(),
            Self::Float32(values) => values.try_reserve(n).ok(),
            Self::Texts(texts) => texts.codes.try_reserve(n).ok(),
        }
    }

    /// Adds a field; `None` if it cannot be read as a value of the kind.
    fn push(&mut self, text: &str, kind: Kind) -> Option<()> {
        match self {
            Self::Mask(values) => values.push(truth(text)?),
            Self::Int(values) => {
                let value: i64 = text.parse().ok()?;
                if let Kind::Lanes(dtype) = kind
                    && dtype != DType::I64
                {
                    dtype.encode(Scalar::Int(value)).ok()?;
                }
                values.push(value);
            }
            Self::UInt(values) => values.push(text.parse().ok()?),
            Self::Float(values) if kind == Kind::Date => {
                values.push(dates::parse(text.as_bytes())?);
            }
            Self::Float(values) => values.push(text.parse().ok()?),
            Self::Float32(values) => values.push(text.parse().ok()?),
            Self::Texts(texts) => texts.push(text)?,
        }
        Some(())
    }

    /// Adds a value in place of a missing one, if there can be one.
    fn push_missing(&mut self, masks: bool) -> bool {
        match self {
            Self::Float(values) => values.push(f64::NAN),
            Self::Float32(values) => values.push(f32::NAN),
            Self::Mask(values) if masks => values.push(false),
            Self::Int(values) if masks => values.push(0),
            Self::UInt(values) if masks => values.push(0),
            Self::Mask(_) | Self::Int(_) | Self::UInt(_) | Self::Texts(_) => return false,
        }
        true
    }

    /// Numbers and masks as lanes, and their type.
    pub(crate) fn lanes(&self) -> Option<(DType, &[u8])> {
        Some(match self {
            Self::Mask(values) => (DType::Mask, bytemuck::cast_slice(values)),
            Self::Int(values) => (DType::I64, bytemuck::cast_slice(values)),
            Self::UInt(values) => (DType::U64, bytemuck::cast_slice(values)),
            Self::Float(values) => (DType::F64, bytemuck::cast_slice(values)),
            Self::Float32(values) => (DType::F32, bytemuck::cast_slice(values)),
            Self::Texts(_) => return None,
        })
    }
}

/// A truth value as scripts write it, or others.
fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The integer of few digits that a text begins with, and its bytes.
fn integer(text: &[u8]) -> Option<(i64, usize)> {
    /// So many digits always fit.
    const DIGITS: usize = 18;
    let sign = usize::from(text.first() == Some(&b'-'));
    let digits = text[sign..].iter().take(DIGITS + 1).take_while(|byte| byte.is_ascii_digit());
    let (value, n) = digits.fold((0_i64, 0), |(value, n), byte| {
        (value.wrapping_mul(10) + i64::from(byte - b'0'), n + 1)
    });
    let value = if sign == 1 { -value } else { value };
    (1..=DIGITS).contains(&n).then_some((value, sign + n))
}

impl Column {
    /// The column of all pieces; `None` if there is no room.
    pub(super) fn join(builders: Vec<Builder<'_>>) -> Option<Self> {
        let kind = builders.first().map_or(Kind::Lanes(DType::F64), |first| first.kind);
        let (mut pieces, mut texts, mut missing) = (Vec::new(), Texts::default(), Vec::new());
        missing.try_reserve(builders.iter().map(|builder| builder.missing.len()).sum()).ok()?;
        for builder in builders {
            missing.extend(builder.missing);
            match builder.values {
                Values::Texts(piece) => texts.extend(piece)?,
                lanes => pieces.push(lanes),
            }
        }
        let missing = Some(missing).filter(|missing| missing.contains(&true));
        let dtype = Values::new(kind).lanes().map(|(dtype, _)| dtype);
        let values = dtype.map_or(Whole::Texts(texts), |dtype| Whole::Lanes(dtype, pieces));
        Some(Self { kind, values, missing })
    }
}

/// What the fields of a column could all be read as.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    missing: bool,
    masks: bool,
    ints: bool,
    unsigned: bool,
    floats: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { missing: false, masks: true, ints: true, unsigned: true, floats: true }
    }
}

impl Seen {
    pub(super) fn look_at(&mut self, text: &str, layout: &Layout) {
        if layout.is_missing(text) {
            self.missing = true;
            return;
        }
        self.masks &= truth(text).is_some();
        self.ints &= self.ints && text.parse::<i64>().is_ok();
        self.unsigned &= self.unsigned && text.parse::<u64>().is_ok();
        self.floats &= self.floats && text.parse::<f64>().is_ok();
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            missing: self.missing || other.missing,
            masks: self.masks && other.masks,
            ints: self.ints && other.ints,
            unsigned: self.unsigned && other.unsigned,
            floats: self.floats && other.floats,
        }
    }

    /// Whether all fields were missing.
    pub(super) fn is_blank(self) -> bool {
        self.masks && self.ints
    }

    /// The kind that fits; columns with masks of missing values keep theirs.
    pub(super) fn kind(self, masks: bool) -> Kind {
        let whole = masks || !self.missing;
        Kind::Lanes(match self {
            _ if self.is_blank() => DType::F64,
            Self { ints: true, .. } if whole => DType::I64,
            Self { unsigned: true, .. } if whole => DType::U64,
            Self { floats: true, .. } => DType::F64,
            Self { masks: true, .. } if whole => DType::Mask,
            _ => return Kind::Text,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn numbers_are_read_as_the_library_does() {
        let (kinds, missing) = (BTreeMap::new(), Vec::new());
        let layout = Layout { separator: b',', header: true, kinds, missing, masks: false };
        let added = |dtype, text: &str| {
            let mut column = Builder::new(Kind::Lanes(dtype), false, &layout);
            let n = column.add_number(text.as_bytes());
            n.map(|n| (n, column.values))
        };
        let mut word = 7_u64;
        for i in 0..200_000_usize {
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let digits = format!("{}{}", word >> (i % 64), word.rotate_left(20) >> (i % 63));
            let digits = &digits[..1 + i % digits.len()];
            let point = i % (digits.len() + 1);
            let sign = if i % 3 == 0 { "-" } else { "" };
            let power = if i % 5 == 0 {
                format!("e{}", (word >> 40) as i32 % 400 - 200)
            } else {
                String::new()
            };
            let text = format!("{sign}{}.{}{power}", &digits[..point], &digits[point..]);
            let float = Values::Float(vec![text.parse().unwrap()]);
            assert_eq!(added(DType::F64, &format!("{text},5")), Some((text.len(), float)));
            let float = Values::Float32(vec![text.parse().unwrap()]);
            assert_eq!(added(DType::F32, &format!("{text}\n")), Some((text.len(), float)));
            let text = format!("{sign}{digits}");
            let integer = (digits.len() <= 18).then(|| Values::Int(vec![text.parse().unwrap()]));
            assert_eq!(added(DType::I64, &text), integer.map(|integer| (text.len(), integer)));
        }
        for text in [
            "", "-", ".", "-.", "e5", "1..2", "--1", "NA", " 1", "1 ", "1x,", "0x1", "1e,2",
            "infinit", "1_0",
        ] {
            for dtype in [DType::F64, DType::F32, DType::I64] {
                assert_eq!(added(dtype, text), None, "{text}");
            }
        }
        let negative = added(DType::F64, "-0.0").unwrap().1;
        assert!(matches!(negative, Values::Float(values) if values[0].is_sign_negative()));
    }
}
