//! Values while a kernel is recorded: arrays, and numbers that are known.

use super::trouble::{Span, Trouble};
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::ir::op::{Op, Shape};
use crate::ir::scalar::apply_bits;
use crate::session::Session;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Array(Array),
    /// Integers of which literals alone are chosen or computed: `x > 2 ? 7 : 3`.
    Literal(Array),
    /// A known number; one without a type takes that of what it meets, as numbers of scripts do.
    Number(Scalar, Option<DType>),
    /// An array that is read and written by index, by its number.
    Raw(usize),
}

impl Item {
    pub(super) fn truth(truth: bool) -> Self {
        Self::Number(Scalar::Bool(truth), None)
    }

    /// The lane type; that of a number without one is what [`alone`] says.
    pub(super) fn dtype(&self) -> Option<DType> {
        match self {
            Self::Array(array) | Self::Literal(array) => Some(array.dtype()),
            Self::Number(number, dtype) => Some(dtype.unwrap_or(alone(*number))),
            Self::Raw(_) => None,
        }
    }

    /// The lane type, unless it is that of what it meets.
    pub(super) fn own_dtype(&self) -> Option<DType> {
        match self {
            Self::Number(_, dtype) => *dtype,
            other => other.dtype(),
        }
    }

    /// Whether it is an integer or a known one.
    pub(super) fn is_integer(&self) -> bool {
        match self {
            Self::Number(number, None) => matches!(number, Scalar::Int(_) | Scalar::UInt(_)),
            other => other.dtype().is_some_and(DType::is_int),
        }
    }

    /// Whether it is a truth value.
    pub(super) fn is_truth(&self) -> bool {
        self.dtype() == Some(DType::Mask)
    }

    /// Whether it is an integer that literals alone made.
    pub(super) fn is_literal(&self) -> bool {
        match self {
            Self::Literal(_) | Self::Number(Scalar::Int(_) | Scalar::UInt(_), None) => true,
            Self::Array(_) | Self::Number(..) | Self::Raw(_) => false,
        }
    }

    /// Whether it is a literal that may have such a type.
    pub(super) fn takes(&self, dtype: DType) -> bool {
        match self {
            Self::Number(Scalar::Float(_), None) => dtype.is_float(),
            other => other.is_literal() && dtype.is_number(),
        }
    }

    /// The same where literals alone made it.
    pub(super) fn of_literals(self) -> Self {
        match self {
            Self::Array(array) if array.dtype().is_int() => Self::Literal(array),
            other => other,
        }
    }

    /// An index: a truth value is 0 or 1.
    pub(super) fn into_index(self, session: &Session) -> Result<Self, Trouble> {
        if self.is_truth() { self.converted(session, DType::I32) } else { Ok(self) }
    }

    /// The truth of a known number: whether it is not 0.
    pub(super) fn known_truth(&self) -> Option<bool> {
        match self {
            Self::Number(Scalar::Bool(truth), _) => Some(*truth),
            Self::Number(number, _) => Some(number.to_f64() != 0.0),
            _ => None,
        }
    }

    /// A known integer.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Number(Scalar::Int(number), _) => Some(*number),
            Self::Number(Scalar::UInt(number), _) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// As an array.
    pub(super) fn array(&self, session: &Session) -> Result<Array, Trouble> {
        match self {
            Self::Array(array) | Self::Literal(array) => Ok(array.clone()),
            Self::Number(number, dtype) => {
                Ok(session.full(dtype.unwrap_or(alone(*number)), *number, 1)?)
            }
            Self::Raw(_) => Err(whole_array()),
        }
    }

    /// As a mask: whether it is not 0.
    pub(super) fn mask(&self, session: &Session) -> Result<Array, Trouble> {
        if let Some(truth) = self.known_truth() {
            return Ok(session.full(DType::Mask, truth, 1)?);
        }
        let array = self.array(session)?;
        if array.dtype() == DType::Mask { Ok(array) } else { Ok(array.neq(0)?) }
    }

    /// Converted as a store does (S9). Integers of 32 and 64 bits stay known.
    pub(super) fn converted(&self, session: &Session, dtype: DType) -> Result<Self, Trouble> {
        if dtype == DType::Mask {
            return Ok(match self.known_truth() {
                Some(truth) => Self::Number(Scalar::Bool(truth), Some(dtype)),
                None => Self::Array(self.mask(session)?),
            });
        }
        let array = match self {
            Self::Array(array) | Self::Literal(array) => array.clone(),
            Self::Raw(_) => return Err(whole_array()),
            Self::Number(Scalar::Float(number), _) if dtype.is_int() => {
                session.full(DType::F64, *number, 1)?
            }
            Self::Number(Scalar::Bool(truth), _) => {
                let number = Scalar::Int(i64::from(*truth));
                return Self::Number(number, None).converted(session, dtype);
            }
            Self::Number(number, typed) => {
                let is_unsigned = dtype.is_int() && !dtype.is_signed();
                let wraps = is_unsigned && matches!(number, Scalar::Int(..0));
                let is_word = dtype.is_int() && dtype.bytes() >= 4;
                if is_word && !wraps && dtype.encode(*number).is_ok() {
                    return Ok(Self::Number(*number, Some(dtype)));
                }
                // A literal must fit, but for a negative one as an unsigned integer; what has a type wraps.
                let own = if wraps { DType::I64 } else { dtype };
                session.full(typed.unwrap_or(own), *number, 1)?
            }
        };
        Ok(Self::Array(if array.dtype() == dtype { array } else { array.cast(dtype)? }))
    }
}

/// The type of a number that meets nothing: as [`DType::of`], i64 of integers beyond i32, u64 beyond that.
pub(super) fn alone(number: Scalar) -> DType {
    let fits = |dtype: DType| dtype.encode(number).is_ok();
    match DType::of(number) {
        DType::I32 if fits(DType::I32) => DType::I32,
        DType::I32 if fits(DType::I64) => DType::I64,
        DType::I32 => DType::U64,
        dtype => dtype,
    }
}

fn whole_array() -> Trouble {
    Trouble::new(Span::default(), "got a whole array, expected one element of it: x[i]").nowhere()
}

/// What an operation makes of numbers that are all known; `None` where it is recorded: numbers of a float type.
pub(super) fn folded(op: Op, numbers: &[(Scalar, Option<DType>)]) -> Result<Option<Item>, Trouble> {
    let mut dtype: Option<DType> = None;
    let is_shift = matches!(op, Op::Shl | Op::Shr);
    // The count of a shift is no part of its type.
    let joined = if is_shift && numbers[0].1.is_some() { &numbers[..1] } else { numbers };
    for &(_, typed) in joined {
        dtype = match (dtype, typed) {
            (Some(one), Some(other)) => one.promote(other),
            (one, other) => one.or(other),
        };
    }
    let is_float = numbers.iter().any(|(number, _)| matches!(number, Scalar::Float(_)));
    let is_large = numbers.iter().any(|(number, _)| matches!(number, Scalar::UInt(_)));
    let is_truth = numbers.iter().all(|(number, _)| matches!(number, Scalar::Bool(_)));
    if !is_truth && numbers.iter().any(|(number, _)| matches!(number, Scalar::Bool(_))) {
        // Recorded, a mask chooses (`x & m`), or the error says that it is no number.
        return Ok(None);
    }
    let computed = match dtype {
        Some(dtype) if dtype.is_float() || is_float => return Ok(None),
        Some(dtype) => dtype,
        None if is_float || op == Op::Div => DType::F64,
        None if is_large => DType::U64,
        None if is_truth => DType::Mask,
        None => DType::I64,
    };
    let info = op.info();
    if !info.class.contains(computed) {
        // Recorded, it has an error that says what it takes.
        return Ok(None);
    }
    let mut bits = [0; 3];
    for (place, (number, typed)) in numbers.iter().enumerate() {
        let own = typed.unwrap_or(computed);
        let count = number.integer().filter(|count| (0..64).contains(count));
        bits[place] = match (is_shift && place == 1, own == computed) {
            // Any count of the width or more, or below 0, shifts everything out (S8).
            (true, _) => computed.encode(count.map_or(Scalar::Int(64), |_| *number))?,
            (false, true) => computed.encode(*number)?,
            (false, false) => apply_bits(Op::Cast, computed, own, [own.encode(*number)?, 0, 0]),
        };
    }
    let result = if info.shape == Shape::Compare { DType::Mask } else { computed };
    let number = result.decode(apply_bits(op, result, computed, bits));
    let typed = if info.shape == Shape::Compare { None } else { dtype };
    Ok(Some(Item::Number(number, typed)))
}
