//! Scatters: how values combine with those already there.

use super::{Class, Op};
use crate::dtype::DType;

macro_rules! scatter_ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $class:ident, $combine:expr;)*) => {
        /// How a scatter combines with the value already there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum ScatterOp { $($(#[doc = $doc])+ $name,)* }

        /// Name, types, combining operation and help text of each, in enum order.
        const SCATTERS: &[(&str, Class, Option<Op>, &str)] =
            &[$(($text, Class::$class, $combine, concat!($($doc, "\n"),+)),)*];

        impl ScatterOp {
            /// Every scatter.
            pub const ALL: [Self; SCATTERS.len()] = [$(Self::$name),*];
        }
    };
}

scatter_ops! {
    /// Writes `value[i]` to `target[index[i]]`. Of equal indices the highest lane's value lands.
    ///
    /// >> a = Int32C([1, 1, 1]); scatter(a, Int32C([7, 8]), UInt32C([2, 0])); a
    /// [8, 1, 7]
    Set = "scatter", Any, None;
    /// Adds `value[i]` to `target[index[i]]`, in lane order; integers wrap.
    ///
    /// >> a = Int32C([1, 1, 1]); scatter_add(a, Int32C([7, 8, 1]), UInt32C([2, 0, 2])); a
    /// [9, 1, 9]
    Add = "scatter_add", Number, Some(Op::Add);
    /// Lowers `target[index[i]]` to `value[i]` if that is smaller; NaN is ignored, and -0 is below +0.
    ///
    /// >> a = Int32C([1, 1, 1]); scatter_min(a, Int32C([7, -8, 1]), UInt32C([2, 0, 2])); a
    /// [-8, 1, 1]
    Min = "scatter_min", Number, Some(Op::Min);
    /// Raises `target[index[i]]` to `value[i]` if that is larger; NaN is ignored, and +0 is above -0.
    ///
    /// >> a = Int32C([1, 1, 1]); scatter_max(a, Int32C([7, -8, 1]), UInt32C([2, 0, 2])); a
    /// [1, 1, 7]
    Max = "scatter_max", Number, Some(Op::Max);
    /// Combines `target[index[i]]` with `value[i]` by bitwise (masks: logical) and.
    ///
    /// >> a = Int32C([1, 1, 1]); scatter_and(a, Int32C([3, 2, 5]), UInt32C([2, 0, 2])); a
    /// [0, 1, 1]
    And = "scatter_and", Bits, Some(Op::And);
    /// Combines `target[index[i]]` with `value[i]` by bitwise (masks: logical) or.
    ///
    /// >> a = Int32C([1, 1, 1]); scatter_or(a, Int32C([3, 2, 4]), UInt32C([2, 0, 2])); a
    /// [3, 1, 7]
    Or = "scatter_or", Bits, Some(Op::Or);
}

/// In which order the lanes of a scatter write where that shows: floats added to one element, or several values
/// for one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum ScatterMode {
    /// As it is fastest: in lane order on the CPU, in any order on a GPU.
    #[default]
    Fast,
    /// In lane order on every device, so with the same bits.
    Exact,
    /// In any order on every device: no two lanes write to one place. Ours alone.
    Apart,
}

/// The function that a scatter is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Writer {
    /// The one of its operation.
    Scatter,
    /// `scatter_inc`
    Increment,
    /// `scatter_exch`
    Exchange,
    /// `scatter_cas`
    CompareExchange,
    /// `segment_sum` and its like
    Segment,
    /// `segment_count`
    SegmentCount,
}

impl ScatterMode {
    /// Names in scripts; of a plain scatter in lane order the last value lands.
    pub const NAMES: [(&str, Self); 3] =
        [("fast", Self::Fast), ("exact", Self::Exact), ("last", Self::Exact)];
}

impl ScatterOp {
    /// Name of a write in errors: that of the function it is a part of.
    pub const fn function(self, writer: Writer) -> &'static str {
        match (writer, self) {
            (Writer::Scatter, _) => self.name(),
            (Writer::Increment, _) => "scatter_inc",
            (Writer::Exchange, _) => "scatter_exch",
            (Writer::CompareExchange, _) => "scatter_cas",
            (Writer::Segment, Self::Min) => "segment_min",
            (Writer::Segment, Self::Max) => "segment_max",
            (Writer::Segment, _) => "segment_sum",
            (Writer::SegmentCount, _) => "segment_count",
        }
    }

    /// Name of the script function.
    pub const fn name(self) -> &'static str {
        SCATTERS[self as usize].0
    }

    /// Types that the target may have.
    pub const fn class(self) -> Class {
        SCATTERS[self as usize].1
    }

    /// The elementwise operation of the value already there and the new one; `None` replaces it.
    pub const fn combine(self) -> Option<Op> {
        SCATTERS[self as usize].2
    }

    /// Help text: what it does, an empty line, an example.
    pub const fn doc(self) -> &'static str {
        SCATTERS[self as usize].3
    }

    /// Whether writes of several values of a type end the same in any order.
    pub const fn commutes(self, dtype: DType) -> bool {
        match self.combine() {
            Some(op) => op.info().commutative && op.is_associative(dtype),
            None => false,
        }
    }

    /// What combines with any value of a type and changes none. Of floats there is none, which have NaN and zeros of two signs.
    pub(crate) fn neutral(self, dtype: DType) -> Option<u64> {
        if dtype.is_float() {
            return None;
        }
        let (least, most) = if dtype == DType::Mask { (0, 1) } else { dtype.limits() };
        let number = match self {
            Self::Set => return None,
            Self::Add | Self::Or => 0,
            Self::And if dtype.is_signed() => -1,
            Self::And | Self::Min => most,
            Self::Max => least,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "its low bits")]
        let bits = number as u64;
        Some(bits)
    }

    /// Whether lanes may write to copies of their targets, which begin with what changes nothing and are combined at last: the
    /// order does not show, and each target has one operation.
    pub(crate) fn may_be_copied<T: PartialEq>(scatters: &[(T, Self, DType)]) -> bool {
        scatters.iter().all(|(target, op, dtype)| {
            let is_one = scatters.iter().all(|(other, its, _)| other != target || its == op);
            is_one && op.neutral(*dtype).is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_begin_with_what_changes_nothing() {
        let of = |op: ScatterOp, dtype| op.neutral(dtype);
        assert_eq!(of(ScatterOp::Add, DType::U8), Some(0));
        assert_eq!(of(ScatterOp::Min, DType::I8).map(|bits| bits & 0xff), Some(127));
        assert_eq!(of(ScatterOp::Max, DType::I64), Some(1 << 63));
        assert_eq!(of(ScatterOp::And, DType::I16), Some(u64::MAX));
        assert_eq!(of(ScatterOp::And, DType::Mask), Some(1));
        assert_eq!([of(ScatterOp::Set, DType::U8), of(ScatterOp::Add, DType::F32)], [None; 2]);
    }

    #[test]
    fn a_target_of_two_operations_has_no_copies() {
        let add = (1, ScatterOp::Add, DType::U32);
        assert!(ScatterOp::may_be_copied(&[add, add, (2, ScatterOp::Max, DType::I8)]));
        assert!(!ScatterOp::may_be_copied(&[add, (1, ScatterOp::Or, DType::U32)]));
        assert!(!ScatterOp::may_be_copied(&[add, (2, ScatterOp::Add, DType::F64)]));
    }
}
