//! The values of a column: of the pieces of a text, and all of them.

use indexmap::IndexSet;
use porcini_core::{DType, Scalar};

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

/// Texts, each kept once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Texts {
    pub(crate) names: IndexSet<String>,
    /// The number of the name of each row.
    pub(crate) codes: Vec<u32>,
}

/// A whole column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) kind: Kind,
    pub(crate) values: Values,
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

    /// Adds a field, or says why it is none of the column.
    pub(super) fn add(&mut self, field: &str) -> Result<(), String> {
        if let Some(others) = &mut self.others {
            others.look_at(field, self.layout);
            return Ok(());
        }
        let is_marked = self.layout.is_marked(field);
        let is_text = matches!(self.kind, Kind::Text | Kind::Category);
        let taken = (!is_marked || is_text) && self.values.push(field, self.kind).is_some();
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
        let decimal = match self {
            Self::Mask(_) | Self::Texts(_) => None,
            _ if kind == Kind::Date => None,
            _ => Decimal::read(text.as_bytes()),
        };
        match (&mut *self, decimal) {
            (Self::Int(values), Some(decimal)) if kind == Kind::Lanes(DType::I64) => {
                values.push(decimal.integer()?);
                return Some(());
            }
            (Self::Float(values), Some(decimal)) => {
                if let Some(float) = decimal.float() {
                    values.push(float);
                    return Some(());
                }
            }
            _ => {}
        }
        match self {
            Self::Mask(values) => values.push(text.parse().ok()?),
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

    /// Adds the values of a piece.
    fn extend(&mut self, piece: Self) -> Option<()> {
        match (self, piece) {
            (Self::Mask(values), Self::Mask(piece)) => values.extend(piece),
            (Self::Int(values), Self::Int(piece)) => values.extend(piece),
            (Self::UInt(values), Self::UInt(piece)) => values.extend(piece),
            (Self::Float(values), Self::Float(piece)) => values.extend(piece),
            (Self::Float32(values), Self::Float32(piece)) => values.extend(piece),
            (Self::Texts(texts), Self::Texts(piece)) => texts.extend(piece)?,
            _ => return None,
        }
        Some(())
    }

    fn len(&self) -> usize {
        match self {
            Self::Mask(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::UInt(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Float32(values) => values.len(),
            Self::Texts(texts) => texts.codes.len(),
        }
    }
}

/// A number of few digits: most are, and need no parser that takes all.
#[derive(Clone, Copy)]
struct Decimal {
    is_negative: bool,
    digits: i64,
    /// Digits behind the point, if there is one.
    behind: Option<usize>,
}

impl Decimal {
    /// Most letters behind the sign: more digits would seldom be a float as they are.
    const DIGITS: usize = 16;

    /// Reads digits, with a sign and a point.
    fn read(field: &[u8]) -> Option<Self> {
        let (is_negative, text) = match field {
            [b'-', text @ ..] => (true, text),
            text => (false, text),
        };
        if text.len() > Self::DIGITS {
            return None;
        }
        let (mut digits, mut point) = (0, None);
        for (i, byte) in text.iter().enumerate() {
            match byte {
                b'0'..=b'9' => digits = digits * 10 + i64::from(byte - b'0'),
                b'.' if point.is_none() => point = Some(i),
                _ => return None,
            }
        }
        let behind = point.map(|point| text.len() - point - 1);
        (text.len() > usize::from(point.is_some())).then_some(Self { is_negative, digits, behind })
    }

    fn integer(self) -> Option<i64> {
        let integer = if self.is_negative { -self.digits } else { self.digits };
        self.behind.is_none().then_some(integer)
    }

    /// The nearest float, where one division of two exact ones gives it.
    fn float(self) -> Option<f64> {
        const POWERS: [f64; Decimal::DIGITS] =
            [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        if self.digits > 1 << f64::MANTISSA_DIGITS {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "as many bits as a float has")]
        let float = self.digits as f64 / POWERS[self.behind.unwrap_or(0)];
        Some(if self.is_negative { -float } else { float })
    }
}

impl Texts {
    /// Adds a text; `None` if there are too many.
    pub(crate) fn push(&mut self, text: &str) -> Option<()> {
        let code = match self.names.get_index_of(text) {
            Some(code) => code,
            None => self.names.insert_full(text.into()).0,
        };
        self.codes.push(u32::try_from(code).ok()?);
        Some(())
    }

    fn extend(&mut self, piece: Self) -> Option<()> {
        let code = |name| u32::try_from(self.names.insert_full(name).0).ok();
        let codes: Vec<u32> = piece.names.into_iter().map(code).collect::<Option<_>>()?;
        self.codes.extend(piece.codes.into_iter().map(|code| codes[code as usize]));
        Some(())
    }

    /// The names in order, and the numbers that they have then.
    pub(crate) fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&i| &self.names[i]);
        let mut places = vec![0; order.len()];
        for (place, &i) in (0..).zip(&order) {
            places[i] = place;
        }
        self.codes.iter_mut().for_each(|code| *code = places[*code as usize]);
        self.names.sort();
    }
}

impl Column {
    /// The column of all pieces; `None` if there is no room.
    pub(super) fn join(pieces: Vec<Builder<'_>>) -> Option<Self> {
        let kind = pieces.first().map_or(Kind::Lanes(DType::F64), |first| first.kind);
        let n = pieces.iter().map(|piece| piece.values.len()).sum();
        let (mut values, mut missing) = (Values::new(kind), Vec::new());
        values.reserve(n)?;
        missing.try_reserve(pieces.iter().map(|piece| piece.missing.len()).sum()).ok()?;
        for piece in pieces {
            values.extend(piece.values)?;
            missing.extend(piece.missing);
        }
        let missing = Some(missing).filter(|missing| missing.contains(&true));
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
        self.masks &= text.parse::<bool>().is_ok();
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
    use super::*;

    #[test]
    fn short_numbers_are_read_as_the_library_does() {
        let mut word = 7_u64;
        for i in 0..200_000_usize {
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let digits = (word >> (11 + i % 50)).to_string();
            let point = i % (digits.len() + 1);
            let sign = if i % 3 == 0 { "-" } else { "" };
            let text = format!("{sign}{}.{}", &digits[..point], &digits[point..]);
            for text in [&text, &text.replace('.', "")] {
                let Some(decimal) = Decimal::read(text.as_bytes()) else {
                    assert!(digits.len() + 1 > Decimal::DIGITS, "{text}");
                    continue;
                };
                assert_eq!(decimal.integer(), text.parse().ok(), "{text}");
                let float = decimal.float().map(f64::to_bits);
                let want = text.parse().ok().map(f64::to_bits);
                assert!(float.is_none() || float == want, "{text}");
            }
        }
        for text in ["", "-", ".", "-.", "+1", "1e5", "1..2", "--1", "nan", " 1"] {
            assert!(Decimal::read(text.as_bytes()).is_none(), "{text}");
        }
        assert!(Decimal::read(b"-0.0").unwrap().float().unwrap().is_sign_negative());
    }
}
