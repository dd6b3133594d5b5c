//! The machine instructions that lowering chooses from, by what they compute: one row each, for all machines.
//!
//! Each machine has a table of its own that says which it has and how they are encoded (`x86/encodings.rs`); lowering
//! asks [`Target::has`](super::target::Target::has) before it uses one that some lack.

/// How an instruction uses its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `dst = op(a)`.
    Unary,
    /// `dst = op(a, b)`.
    Binary,
    /// `dst = op(a, b) = op(b, a)`.
    Commutative,
    /// `dst = op(dst = a, b, c)`.
    Tied,
    /// `dst = a * b + c`.
    Fma,
    /// `dst = a ? c : b` with a mask `a`.
    Blend,
    /// `dst = a ? b : 0` with a mask `a`.
    Keep,
}

/// A comparison: the immediate of the instructions that compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Either is NaN.
    Unordered,
}

/// How a float becomes an integral one: the immediate of the instructions that round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    Down,
    Up,
    TowardsZero,
}

/// Which of two floats: the immediate of [`Opcode::RangeF32`] and [`Opcode::RangeF64`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Extreme {
    Least,
    Greatest,
}

/// What holds the result of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Vector,
    /// A mask register, where the machine has such.
    Mask,
}

/// One row of the table.
struct Row {
    form: Form,
    class: Class,
}

macro_rules! instructions {
    ($($name:ident = $form:ident $class:ident;)*) => {
        /// A machine instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Opcode { $($name,)* }

        /// Every row, in the order of [`Opcode`].
        static ROWS: [Row; Opcode::ALL.len()] =
            [$(Row { form: Form::$form, class: Class::$class },)*];

        impl Opcode {
            /// Every instruction, in order.
            pub(super) const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

instructions! {
    AddF32 = Commutative Vector;
    AddF64 = Commutative Vector;
    SubF32 = Binary Vector;
    SubF64 = Binary Vector;
    MulF32 = Commutative Vector;
    MulF64 = Commutative Vector;
    DivF32 = Binary Vector;
    DivF64 = Binary Vector;
    // On packed halves.
    AddF16 = Commutative Vector;
    SubF16 = Binary Vector;
    MulF16 = Commutative Vector;
    DivF16 = Binary Vector;
    SqrtF16 = Unary Vector;
    // The second operand if either is NaN or both are zero.
    MinF32 = Binary Vector;
    MinF64 = Binary Vector;
    MaxF32 = Binary Vector;
    MaxF64 = Binary Vector;
    // The lesser or greater, as [`Extreme`] says. Orders zeros; a quiet NaN gives the other operand, a signalling one
    // a NaN.
    RangeF32 = Binary Vector;
    RangeF64 = Binary Vector;
    // NaN if either is. Orders zeros.
    MinimumF32 = Binary Vector;
    MinimumF64 = Binary Vector;
    MaximumF32 = Binary Vector;
    MaximumF64 = Binary Vector;
    // Estimates: a target says how good.
    ReciprocalF32 = Unary Vector;
    ReciprocalRootF32 = Unary Vector;
    SqrtF32 = Unary Vector;
    SqrtF64 = Unary Vector;
    // The immediate is a [`Rounding`].
    RoundF32 = Unary Vector;
    RoundF64 = Unary Vector;
    FmaF32 = Fma Vector;
    FmaF64 = Fma Vector;

    And32 = Commutative Vector;
    And64 = Commutative Vector;
    // `!a & b`.
    AndNot32 = Binary Vector;
    AndNot64 = Binary Vector;
    Or32 = Commutative Vector;
    Or64 = Commutative Vector;
    Xor32 = Commutative Vector;
    Xor64 = Commutative Vector;

    Add32 = Commutative Vector;
    Add64 = Commutative Vector;
    Add8 = Commutative Vector;
    Sub32 = Binary Vector;
    Sub64 = Binary Vector;
    SubSaturating16 = Binary Vector;
    Mul32 = Commutative Vector;
    Mul64 = Commutative Vector;
    // 64-bit products of the low halves of 64-bit lanes.
    MulWideU32 = Commutative Vector;
    MulWideI32 = Commutative Vector;
    // The upper halves of double-width products.
    MulHighU32 = Commutative Vector;
    MulHighI32 = Commutative Vector;
    MinI32 = Commutative Vector;
    MinU32 = Commutative Vector;
    MinI64 = Commutative Vector;
    MinU64 = Commutative Vector;
    MaxI32 = Commutative Vector;
    MaxU32 = Commutative Vector;
    MaxI64 = Commutative Vector;
    MaxU64 = Commutative Vector;
    Abs32 = Unary Vector;
    Abs64 = Unary Vector;
    Shl32 = Binary Vector;
    Shl64 = Binary Vector;
    Shr32 = Binary Vector;
    Shr64 = Binary Vector;
    Sar32 = Binary Vector;
    Sar64 = Binary Vector;
    // By the lowest byte of the count, which has a sign: to the right if it is negative.
    ShiftU32 = Binary Vector;
    ShiftI32 = Binary Vector;
    ShiftU64 = Binary Vector;
    ShiftI64 = Binary Vector;
    ShlBy32 = Unary Vector;
    ShlBy64 = Unary Vector;
    ShrBy32 = Unary Vector;
    ShrBy64 = Unary Vector;
    SarBy32 = Unary Vector;
    SarBy64 = Unary Vector;
    Lzcnt32 = Unary Vector;
    Lzcnt64 = Unary Vector;
    Popcnt32 = Unary Vector;
    Popcnt64 = Unary Vector;
    // Bits in reverse.
    Reverse32 = Unary Vector;
    Reverse64 = Unary Vector;
    // Bytes of `a` picked by the bytes of `b`, in 16-byte groups.
    Shuffle8 = Binary Vector;
    SumBytes64 = Binary Vector;
    SumBytes16 = Binary Vector;
    SumWords32 = Binary Vector;
    Min16 = Commutative Vector;

    // The immediate is a [`Compare`].
    CompareF32 = Binary Mask;
    CompareF64 = Binary Mask;
    CompareI32 = Binary Mask;
    CompareU32 = Binary Mask;
    CompareI64 = Binary Mask;
    CompareU64 = Binary Mask;
    Equal32 = Commutative Mask;
    Equal64 = Commutative Mask;
    Greater32 = Binary Mask;
    Greater64 = Binary Mask;
    TestBytes = Binary Mask;
    Test32 = Binary Mask;

    Blend32 = Blend Vector;
    Blend64 = Blend Vector;
    Keep32 = Keep Vector;
    Keep64 = Keep Vector;
    KeepBytes = Keep Vector;

    MaskAnd = Commutative Mask;
    // `!a & b`.
    MaskAndNot = Binary Mask;
    MaskOr = Commutative Mask;
    MaskXor = Commutative Mask;
    MaskNot = Unary Mask;
    MaskShr = Unary Mask;
    // The low 8 lanes of `b`, above them those of `a`.
    MaskJoin = Binary Mask;

    // What widens takes the lower half of its operand. An immediate of 1 means the upper, where a target says so.
    SignExtend = Unary Vector;
    ZeroExtend = Unary Vector;
    UpperHalf = Unary Vector;
    JoinHalves = Binary Vector;
    // The low halves of the 64-bit lanes of `a`, then those of `b`.
    LowHalves = Binary Vector;
    // The high halves of the 64-bit lanes of `a` and `b` by turns.
    HighHalves = Binary Vector;
    // Lanes of `a` and `c` picked by the numbers in `b`.
    Pick32 = Tied Vector;
    Shuffle32 = Binary Vector;
    Permute64 = Unary Vector;
    // For masks in vectors as bytes.
    PackWords = Binary Vector;
    PackBytes = Binary Vector;
    AndHalf = Binary Vector;

    OrHalf = Commutative Vector;
    // The low halves and quarters of 32-bit lanes, packed.
    Words = Unary Vector;
    Bytes = Unary Vector;
    ZeroExtendWords = Unary Vector;
    F16FromF32 = Unary Vector;
    F32FromF16 = Unary Vector;

    F32FromI32 = Unary Vector;
    F32FromU32 = Unary Vector;
    I32FromF32 = Unary Vector;
    U32FromF32 = Unary Vector;
    F64FromI32 = Unary Vector;
    F64FromU32 = Unary Vector;
    F64FromF32 = Unary Vector;
    F32FromF64 = Unary Vector;
    I32FromF64 = Unary Vector;
    U32FromF64 = Unary Vector;
    F64FromI64 = Unary Vector;
    F64FromU64 = Unary Vector;
    F32FromI64 = Unary Vector;
    F32FromU64 = Unary Vector;
    I64FromF64 = Unary Vector;
    U64FromF64 = Unary Vector;
}

impl Opcode {
    /// How it uses its operands.
    pub(super) fn form(self) -> Form {
        ROWS[self as usize].form
    }

    /// Whether the result is a mask.
    pub(super) fn makes_mask(self) -> bool {
        ROWS[self as usize].class == Class::Mask
    }

    /// Whether a NaN in the result is a quiet one.
    pub(super) fn quiets(self) -> bool {
        matches!(
            self,
            Self::AddF32
                | Self::AddF64
                | Self::SubF32
                | Self::SubF64
                | Self::MulF32
                | Self::MulF64
                | Self::DivF32
                | Self::DivF64
                | Self::ReciprocalF32
                | Self::ReciprocalRootF32
                | Self::SqrtF32
                | Self::SqrtF64
                | Self::RoundF32
                | Self::RoundF64
                | Self::FmaF32
                | Self::FmaF64
                | Self::RangeF32
                | Self::RangeF64
                | Self::MinimumF32
                | Self::MinimumF64
                | Self::MaximumF32
                | Self::MaximumF64
                | Self::F64FromF32
                | Self::F32FromF64
                | Self::F32FromF16
                | Self::F32FromI32
                | Self::F32FromU32
                | Self::F64FromI64
                | Self::F64FromU64
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commutative_rows_take_any_order() {
        // A row whose operands may be swapped must not be one that is defined by position.
        for m in
            [Opcode::MinF32, Opcode::MaxF64, Opcode::SubF32, Opcode::Greater32, Opcode::MaskAndNot]
        {
            assert_ne!(m.form(), Form::Commutative, "{m:?}");
        }
    }
}
