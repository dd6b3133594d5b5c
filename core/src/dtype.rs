//! Element types, script numbers and the promotion rules between them (semantics S7).
//!
//! A `DType` is a row of a small table; everything that depends on the type alone (bytes, names, PTX
//! spelling) is asked of it here. The 8- and 16-bit types are *narrow*: they are computed with in 32 bits
//! (`ir/legal.rs`).

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::half::F16;

/// The type of one lane.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum DType {
    /// Truth value, one byte 0/1 in memory.
    Mask,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

struct Row {
    name: &'static str,
    bytes: u8,
    ptx: &'static str,
    numpy: &'static str,
    script: &'static str,
    letters: &'static str,
}

const fn row(
    name: &'static str,
    bytes: u8,
    ptx: &'static str,
    numpy: &'static str,
    script: &'static str,
    letters: &'static str,
) -> Row {
    Row { name, bytes, ptx, numpy, script, letters }
}

const ROWS: [Row; 12] = [
    row("msk", 1, "pred", "bool", "MaskC", "m"),
    row("i8", 1, "s8", "int8", "Int8C", "i8"),
    row("u8", 1, "u8", "uint8", "UInt8C", "u8"),
    row("i16", 2, "s16", "int16", "Int16C", "i16"),
    row("u16", 2, "u16", "uint16", "UInt16C", "u16"),
    row("i32", 4, "s32", "int32", "Int32C", "i"),
    row("u32", 4, "u32", "uint32", "UInt32C", "u"),
    row("i64", 8, "s64", "int64", "Int64C", "i64"),
    row("u64", 8, "u64", "uint64", "UInt64C", "u64"),
    row("f16", 2, "f16", "float16", "Float16C", "h"),
    row("f32", 4, "f32", "float32", "FloatC", "f"),
    row("f64", 8, "f64", "float64", "Float64C", "d"),
];

impl DType {
    /// Every type, in table order.
    pub const ALL: [Self; 12] = [
        Self::Mask,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Short name used in dumps: `f32`, `msk`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// NumPy's name: `float32`, `bool`.
    pub const fn numpy_name(self) -> &'static str {
        self.row().numpy
    }

    /// The script type with this lane type: `FloatC`, `MaskC`.
    pub const fn script_name(self) -> &'static str {
        self.row().script
    }

    /// What stands for it in the names of types that have it inside: `f` in `TensorXfC`.
    pub const fn letters(self) -> &'static str {
        self.row().letters
    }

    /// PTX type suffix for arithmetic: `f32`, `s32`, `pred`.
    pub const fn ptx(self) -> &'static str {
        self.row().ptx
    }

    /// Bytes of one lane in memory (a mask takes one).
    pub const fn bytes(self) -> usize {
        self.row().bytes as usize
    }

    /// Bits of one lane in memory.
    pub const fn bits(self) -> u32 {
        self.row().bytes as u32 * 8
    }

    /// Whether this is a float: `f16`, `f32` or `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Whether this is an integer (masks are not).
    pub const fn is_int(self) -> bool {
        !matches!(self, Self::Mask) && !self.is_float()
    }

    /// Whether this is a number: an integer or a float.
    pub const fn is_number(self) -> bool {
        !matches!(self, Self::Mask)
    }

    /// Whether values can be negative.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64) || self.is_float()
    }

    /// Whether this is a number of less than 32 bits.
    pub const fn is_narrow(self) -> bool {
        self.is_number() && self.bytes() < 4
    }

    /// Whether this is a float of less than 32 bits: computed in f32 and rounded, stored in 16 bits.
    pub const fn is_half(self) -> bool {
        self.is_float() && self.is_narrow()
    }

    /// Binary digits of a float's significand, with the one that is not stored.
    pub(crate) const fn significand_digits(self) -> i32 {
        match self {
            Self::F16 => 11,
            Self::F32 => 24,
            _ => 53,
        }
    }

    /// The power of two that is a float's least normal number.
    pub(crate) const fn least_exponent(self) -> i32 {
        match self {
            Self::F16 => -14,
            Self::F32 => -126,
            _ => -1022,
        }
    }

    /// The 32-bit type that holds every value of a narrow type; other types stay.
    pub const fn widened(self) -> Self {
        match self {
            Self::I8 | Self::I16 => Self::I32,
            Self::U8 | Self::U16 => Self::U32,
            Self::F16 => Self::F32,
            _ => self,
        }
    }

    /// The unsigned integer of the same width (a mask stays a mask).
    pub const fn unsigned(self) -> Self {
        match self {
            Self::Mask => Self::Mask,
            Self::I8 | Self::U8 => Self::U8,
            Self::I16 | Self::U16 | Self::F16 => Self::U16,
            Self::I32 | Self::U32 | Self::F32 => Self::U32,
            Self::I64 | Self::U64 | Self::F64 => Self::U64,
        }
    }

    /// The type that sums and products of this type are computed in and have (S11): masks and integers of 8 and 16 bits
    /// take 32, others keep theirs. f16 accumulates in f32, but is rounded in the end.
    pub const fn accumulated(self) -> Self {
        match self {
            Self::I8 | Self::I16 => Self::I32,
            Self::Mask | Self::U8 | Self::U16 => Self::U32,
            Self::I32 | Self::U32 | Self::I64 | Self::U64 | Self::F16 | Self::F32 | Self::F64 => {
                self
            }
        }
    }

    /// The float that true division of this type gives: its own, f64 for 64-bit integers, f32 for others.
    pub const fn quotient(self) -> Self {
        match self {
            Self::F16 | Self::F32 | Self::F64 => self,
            Self::I64 | Self::U64 => Self::F64,
            _ => Self::F32,
        }
    }

    /// The float in which lanes are added for their mean, and distances from it taken: f64 of integers and masks, whose sums
    /// f32 rounds, f32 of halves.
    pub const fn averaged(self) -> Self {
        if self.is_float() { self.widened() } else { Self::F64 }
    }

    /// The common type of two arrays (S7): float beats integer, wider beats narrower, and signed with
    /// unsigned of its width or more takes the next wider signed type (`u64 + i64` stays `i64`).
    ///
    /// `None` when one is a mask and the other is not.
    pub fn promote(self, other: Self) -> Option<Self> {
        if self == other {
            return Some(self);
        }
        if !self.is_number() || !other.is_number() {
            return None;
        }
        let wider = if self.bytes() >= other.bytes() { self } else { other };
        Some(match (self.is_float(), other.is_float()) {
            (true, false) => self,
            (false, true) => other,
            (false, false) if self.is_signed() != other.is_signed() => {
                let unsigned = if self.is_signed() { other } else { self };
                let beyond = match unsigned {
                    Self::U8 => Self::I16,
                    Self::U16 => Self::I32,
                    _ => Self::I64,
                };
                if wider.is_signed() && wider.bytes() > unsigned.bytes() { wider } else { beyond }
            }
            _ => wider,
        })
    }

    /// The type in which this array meets a script number (S7): its own, except that an integer or
    /// mask array meeting a float becomes f32 (64-bit integers: f64).
    pub fn meet(self, number: Scalar) -> Self {
        match number {
            Scalar::Float(_) if !self.is_float() => self.quotient(),
            _ => self,
        }
    }

    /// The type in which a number of a script is computed with others: of 64 bits.
    pub fn widest(number: Scalar) -> Self {
        match number {
            Scalar::Bool(_) => Self::Mask,
            Scalar::Int(_) => Self::I64,
            Scalar::UInt(_) => Self::U64,
            Scalar::Float(_) => Self::F64,
        }
    }

    /// The type of a number that meets no array: i32 and f32 as in `T(1)`, u64 beyond i64.
    pub fn of(number: Scalar) -> Self {
        match number {
            Scalar::Bool(_) => Self::Mask,
            Scalar::Int(_) => Self::I32,
            Scalar::UInt(_) => Self::U64,
            Scalar::Float(_) => Self::F32,
        }
    }

    /// The bit pattern of `number` in this type, zero-extended to 64 bits.
    ///
    /// # Errors
    /// `Error::NumberRange` when an integer type cannot hold the number (`u64` takes a negative script
    /// integer as its bit pattern), `Error::NumberType` for a float given to an integer or mask.
    pub fn encode(self, number: Scalar) -> Result<u64> {
        match self {
            Self::Mask => match number {
                Scalar::Bool(b) => Ok(u64::from(b)),
                Scalar::Int(0) | Scalar::UInt(0) => Ok(0),
                Scalar::Int(1) | Scalar::UInt(1) => Ok(1),
                _ => Err(Error::NumberType { number, dtype: self }),
            },
            Self::F16 => Ok(F16::from_f64(number.to_f64()).to_bits64()),
            Self::F32 => Ok(u64::from(number.to_f32().to_bits())),
            Self::F64 => Ok(number.to_f64().to_bits()),
            _ => self.encode_integer(number),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low bits of a number that fits")]
    fn encode_integer(self, number: Scalar) -> Result<u64> {
        if let (Self::U64, Scalar::Int(i)) = (self, number) {
            return Ok(i.cast_unsigned());
        }
        let integer = number.integer().ok_or(Error::NumberType { number, dtype: self })?;
        let (least, most) = self.limits();
        if integer < least || integer > most {
            return Err(Error::NumberRange { number, dtype: self });
        }
        Ok(integer.cast_unsigned() as u64 & (u64::MAX >> (64 - self.bits())))
    }

    /// The largest finite value of a float type.
    pub(crate) const fn largest_float(self) -> f64 {
        match self {
            Self::F16 => 65504.0,
            Self::F32 => f32::MAX as f64,
            _ => f64::MAX,
        }
    }

    /// The smallest and the largest value of an integer type.
    pub(crate) const fn limits(self) -> (i128, i128) {
        let bits = self.bits() - self.is_signed() as u32;
        let most = (1_i128 << bits) - 1;
        (if self.is_signed() { -most - 1 } else { 0 }, most)
    }

    /// The number whose bit pattern in this type is `bits`; a NaN comes out as the quiet NaN.
    #[expect(clippy::cast_possible_truncation, reason = "narrow types live in the low bits")]
    pub fn decode(self, bits: u64) -> Scalar {
        match self {
            Self::Mask => Scalar::Bool(bits & 1 != 0),
            Self::I8 => Scalar::Int(i64::from((bits as u8).cast_signed())),
            Self::U8 => Scalar::Int(i64::from(bits as u8)),
            Self::I16 => Scalar::Int(i64::from((bits as u16).cast_signed())),
            Self::U16 => Scalar::Int(i64::from(bits as u16)),
            Self::I32 => Scalar::Int(i64::from((bits as u32).cast_signed())),
            Self::U32 => Scalar::Int(i64::from(bits as u32)),
            Self::I64 => Scalar::Int(bits.cast_signed()),
            Self::U64 => Scalar::UInt(bits),
            Self::F16 => Scalar::Float(f64::from(F16::from_bits(bits as u16).to_f32())),
            Self::F32 => Scalar::Float(f64::from(f32::from_bits(bits as u32))),
            Self::F64 => Scalar::Float(f64::from_bits(bits)),
        }
    }

    /// The valid range of an integer type as text, for error messages.
    pub fn range(self) -> &'static str {
        match self {
            Self::Mask => "true or false",
            Self::I8 => "-128 to 127",
            Self::U8 => "0 to 255",
            Self::I16 => "-32768 to 32767",
            Self::U16 => "0 to 65535",
            Self::I32 => "-2147483648 to 2147483647",
            Self::U32 => "0 to 4294967295",
            Self::I64 => "-9223372036854775808 to 9223372036854775807",
            Self::U64 => "0 to 18446744073709551615",
            Self::F16 | Self::F32 | Self::F64 => "any number",
        }
    }
}

/// By any of its names: `f32`, `float32`, `FloatC`.
impl FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_it =
            |dtype: &Self| [dtype.name(), dtype.numpy_name(), dtype.script_name()].contains(&text);
        Self::ALL.into_iter().find(is_it).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Argument { op: "type", what: format!("got {text}, expected one of {known}") }
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number as a script or a Rust caller writes it, before it takes an array's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// A script integer.
    Int(i64),
    /// An integer beyond `i64`.
    UInt(u64),
    /// A script float.
    Float(f64),
}

impl Scalar {
    /// The number as f64 (integers round to nearest even).
    #[expect(clippy::cast_precision_loss, reason = "rounding to nearest even is the meaning")]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Bool(b) => f64::from(u8::from(b)),
            Self::Int(i) => i as f64,
            Self::UInt(u) => u as f64,
            Self::Float(f) => f,
        }
    }

    /// The number as f32, rounded once.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "rounding to nearest even is the meaning"
    )]
    pub fn to_f32(self) -> f32 {
        match self {
            Self::Bool(b) => f32::from(u8::from(b)),
            Self::Int(i) => i as f32,
            Self::UInt(u) => u as f32,
            Self::Float(f) => f as f32,
        }
    }

    /// Whether another number has the same value, exactly and whatever their types; NaN is NaN, and a bool is 0 or 1.
    ///
    /// ```
    /// use porcini_core::Scalar;
    ///
    /// assert!(Scalar::UInt(3).is_same(Scalar::Float(3.0)));
    /// assert!(!Scalar::Int(i64::MAX).is_same(Scalar::Float(9_223_372_036_854_775_807.0)));
    /// ```
    pub fn is_same(self, other: Self) -> bool {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "beyond the range is no integer of 64 bits"
        )]
        let is = |number: f64, integer: i128| number.fract() == 0.0 && number as i128 == integer;
        match (self.integer(), other.integer()) {
            (Some(a), Some(b)) => a == b,
            (Some(a), None) => is(other.to_f64(), a),
            (None, Some(b)) => is(self.to_f64(), b),
            (None, None) => {
                let (a, b) = (self.to_f64(), other.to_f64());
                a == b || a.is_nan() && b.is_nan()
            }
        }
    }

    /// Whether it is at most `absolute + relative * abs(other)` from another number, or has the same value.
    pub fn is_near(self, other: Self, relative: f64, absolute: f64) -> bool {
        let (x, y) = (self.to_f64(), other.to_f64());
        let is_near = y.is_finite() && (x - y).abs() <= absolute + relative * y.abs();
        is_near || self.is_same(other)
    }

    /// The integer that it is, of a bool 0 or 1; none of a float, and beyond `i64`.
    pub fn to_i64(self) -> Option<i64> {
        self.integer().and_then(|integer| integer.try_into().ok())
    }

    /// The truth value that it is; none of a number.
    pub fn to_bool(self) -> Option<bool> {
        if let Self::Bool(truth) = self { Some(truth) } else { None }
    }

    /// The integer that it is: of a bool 0 or 1, of a float none.
    pub(crate) fn integer(self) -> Option<i128> {
        match self {
            Self::Bool(b) => Some(b.into()),
            Self::Int(i) => Some(i.into()),
            Self::UInt(u) => Some(u.into()),
            Self::Float(_) => None,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::UInt(u) => write!(f, "{u}"),
            // As lanes show it, and scripts write it.
            Self::Float(x) if x.is_nan() => f.write_str("nan"),
            Self::Float(x) => write!(f, "{x:?}"),
        }
    }
}

macro_rules! scalar_from {
    ($($t:ty => |$x:ident| $e:expr;)*) => { $(
        impl From<$t> for Scalar { fn from($x: $t) -> Self { $e } }
    )* };
}
scalar_from! {
    bool => |x| Self::Bool(x);
    i8 => |x| Self::Int(i64::from(x));
    u8 => |x| Self::Int(i64::from(x));
    i16 => |x| Self::Int(i64::from(x));
    u16 => |x| Self::Int(i64::from(x));
    i32 => |x| Self::Int(i64::from(x));
    u32 => |x| Self::Int(i64::from(x));
    i64 => |x| Self::Int(x);
    u64 => |x| Self::UInt(x);
    isize => |x| Self::Int(x as i64);
    usize => |x| Self::UInt(x as u64);
    &Self => |x| *x;
    F16 => |x| Self::Float(f64::from(x.to_f32()));
    f32 => |x| Self::Float(f64::from(x));
    f64 => |x| Self::Float(x);
}

/// Lanes lie in memory as the types do, so that no other type may claim to be one.
mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the lane of some [`DType`].
pub trait Element: sealed::Sealed + Copy + Default + Into<Scalar> + Send + Sync + 'static {
    /// The lane type.
    const DTYPE: DType;
    /// The value in the low bits of a 64-bit word.
    fn to_bits64(self) -> u64;
    /// The value from the low bits of a 64-bit word.
    fn from_bits64(bits: u64) -> Self;
}

macro_rules! element {
    ($($t:ty, $d:ident, |$x:ident| $to:expr, |$b:ident| $from:expr;)*) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_bits64(self) -> u64 { let $x = self; $to }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "narrow types live in the low bits")]
            fn from_bits64($b: u64) -> Self { $from }
        }
    )* };
}
element! {
    bool, Mask, |x| u64::from(x), |b| b & 1 != 0;
    i8, I8, |x| u64::from(x.cast_unsigned()), |b| (b as u8).cast_signed();
    u8, U8, |x| u64::from(x), |b| b as u8;
    i16, I16, |x| u64::from(x.cast_unsigned()), |b| (b as u16).cast_signed();
    u16, U16, |x| u64::from(x), |b| b as u16;
    i32, I32, |x| u64::from(x.cast_unsigned()), |b| (b as u32).cast_signed();
    u32, U32, |x| u64::from(x), |b| b as u32;
    i64, I64, |x| x.cast_unsigned(), |b| b.cast_signed();
    u64, U64, |x| x, |b| b;
    F16, F16, |x| u64::from(x.to_bits()), |b| Self::from_bits(b as u16);
    f32, F32, |x| u64::from(x.to_bits()), |b| f32::from_bits(b as u32);
    f64, F64, |x| x.to_bits(), |b| f64::from_bits(b);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_names() {
        for dtype in DType::ALL {
            let names = [dtype.name(), dtype.numpy_name(), dtype.script_name()];
            assert_eq!(names.map(str::parse), [(); 3].map(|()| Ok(dtype)));
        }
        assert!("f33".parse::<DType>().is_err());
    }

    #[test]
    fn numbers_are_taken_as_they_are() {
        let numbers = [Scalar::Int(-3), Scalar::UInt(u64::MAX), true.into(), 1.0.into()];
        assert_eq!(numbers.map(Scalar::to_i64), [Some(-3), None, Some(1), None]);
        assert_eq!(numbers.map(Scalar::to_bool), [None, None, Some(true), None]);
    }

    #[test]
    fn promotion_is_symmetric_and_follows_the_rule() {
        use DType::{F16, F32, F64, I8, I16, I32, I64, Mask, U8, U16, U32, U64};
        for (a, b, want) in [
            (F32, I64, Some(F32)),
            (I32, U32, Some(I64)),
            (U64, I64, Some(I64)),
            (U32, U64, Some(U64)),
            (U64, I32, Some(I64)),
            (F32, F64, Some(F64)),
            (F16, F32, Some(F32)),
            (F16, I64, Some(F16)),
            (I8, U8, Some(I16)),
            (U8, I16, Some(I16)),
            (I8, U16, Some(I32)),
            (U8, U16, Some(U16)),
            (I16, I8, Some(I16)),
            (U8, I32, Some(I32)),
            (U32, I8, Some(I64)),
            (I8, U64, Some(I64)),
            (U16, F16, Some(F16)),
            (Mask, F32, None),
            (Mask, Mask, Some(Mask)),
        ] {
            assert_eq!(a.promote(b), want, "{a} {b}");
            assert_eq!(b.promote(a), want, "{b} {a}");
        }
    }

    #[test]
    fn numbers_must_fit() {
        assert!(DType::I32.encode(Scalar::Int(1 << 31)).is_err());
        assert!(DType::U32.encode(Scalar::Int(-1)).is_err());
        assert_eq!(DType::U64.encode(Scalar::Int(-1)).unwrap(), u64::MAX);
        assert_eq!(DType::F32.encode(Scalar::Int(16_777_217)).unwrap(), 0x4b80_0000);
        assert!(DType::I32.encode(Scalar::Float(1.5)).is_err());
        assert_eq!(DType::I8.encode(Scalar::Int(-128)).unwrap(), 0x80);
        assert!(DType::I8.encode(Scalar::Int(128)).is_err());
        assert!(DType::U16.encode(Scalar::Int(65536)).is_err());
        assert!(DType::U8.encode(Scalar::Int(-1)).is_err());
        assert_eq!(DType::F16.encode(Scalar::Int(2049)).unwrap(), 0x6800);
        assert_eq!(DType::F16.encode(Scalar::Float(1e6)).unwrap(), 0x7c00);
    }

    #[test]
    fn encode_and_decode_round_trip() {
        for dtype in DType::ALL {
            for number in [Scalar::Int(0), Scalar::Int(1)] {
                let bits = dtype.encode(number).unwrap();
                assert_eq!(dtype.encode(dtype.decode(bits)).unwrap(), bits);
            }
        }
    }
}
