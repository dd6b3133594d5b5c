//! THE OPERATION TABLE: one row per elementwise operation.
//!
//! A row gives the operation's name, arity, operand class and result. The enum, its metadata, help
//! texts, script functions and tests all come from here. To add one: a row, its meaning in
//! `ir/scalar.rs`, an arm in each `backend/*/lower.rs` (the compiler names those missing), a golden
//! line. Functions composed of several operations (`exp`, `norm`) are not rows: see `trace/math.rs`.

use crate::dtype::DType;

/// The lane types that an operand may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Integers and floats.
    Number,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Integers and masks.
    Bits,
    /// Everything.
    Any,
}

impl Class {
    /// Whether `dtype` is in the class.
    pub const fn contains(self, dtype: DType) -> bool {
        match self {
            Self::Number => dtype.is_number(),
            Self::Int => dtype.is_int(),
            Self::Float => dtype.is_float(),
            Self::Bits => !dtype.is_float(),
            Self::Any => true,
        }
    }

    /// The class in words, for error messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Number => "an array of numbers",
            Self::Int => "an array of integers",
            Self::Float => "an array of floats",
            Self::Bits => "an array of integers or a mask",
            Self::Any => "an array",
        }
    }
}

/// How operand types relate to the result type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All operands and the result have one type.
    Same,
    /// Operands have one type, the result is a mask.
    Compare,
    /// A mask, then two operands of the result's type.
    Select,
    /// One operand of any number type; the result type is chosen by the caller.
    Convert,
}

/// One row of the table.
#[derive(Debug)]
pub struct OpInfo {
    /// The operation.
    pub op: Op,
    /// Name in dumps, and of the script function.
    pub name: &'static str,
    /// Operator as a script writes it, if there is one.
    pub operator: Option<&'static str>,
    /// Number of operands.
    pub arity: usize,
    /// Types that the operands (of `Select`: the last two) may have.
    pub class: Class,
    /// Relation of operand and result types.
    pub shape: Shape,
    /// Help text.
    pub doc: &'static str,
}

macro_rules! ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal $(($operator:literal))? / $arity:literal, $class:ident -> $shape:ident;)*) => {
        /// An elementwise operation of the intermediate representation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])+ $name,)* }

        /// Every operation, in the order of [`Op`].
        pub const OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$name,
            name: $text,
            operator: ops!(@operator $($operator)?),
            arity: $arity,
            class: Class::$class,
            shape: Shape::$shape,
            doc: concat!($($doc, "\n"),+),
        },)*];

        impl Op {
            /// The operation with the given number.
            ///
            /// # Panics
            /// If the number is not one of the table's.
            #[inline(always)]
            pub const fn from_number(number: u8) -> Self {
                $(if number == Self::$name as u8 { return Self::$name; })*
                panic!("internal error: no such operation number")
            }

            /// Calls `visitor` with this operation as a compile-time number, so that loops over lanes
            /// can be instantiated once per operation.
            pub fn specialize<V: OpVisitor>(self, visitor: &V) -> V::Output {
                match self { $(Self::$name => visitor.visit::<{ Self::$name as u8 }>(),)* }
            }
        }
    };
    (@operator $operator:literal) => { Some($operator) };
    (@operator) => { None };
}

/// Receives an operation as a constant; see [`Op::specialize`].
pub trait OpVisitor {
    /// What the visitor makes.
    type Output;
    /// Makes it for the operation with number `OP`.
    fn visit<const OP: u8>(&self) -> Self::Output;
}

ops! {
    /// Negation: `y[i] = -x[i]`; integers wrap.
    Neg = "neg" / 1, Number -> Same;
    /// Bitwise complement of integers, logical not of masks.
    Not = "not" / 1, Bits -> Same;
    /// Absolute value; `abs(MIN)` is `MIN`.
    Abs = "abs" / 1, Number -> Same;
    /// Square root, correctly rounded; NaN below zero.
    Sqrt = "sqrt" / 1, Float -> Same;
    /// Largest integer not above `x[i]`.
    Floor = "floor" / 1, Float -> Same;
    /// Smallest integer not below `x[i]`.
    Ceil = "ceil" / 1, Float -> Same;
    /// Nearest integer, halves to even.
    Round = "round" / 1, Float -> Same;
    /// Integer part, towards zero.
    Trunc = "trunc" / 1, Float -> Same;
    /// Number of one bits.
    Popcnt = "popcnt" / 1, Int -> Same;
    /// Number of zero bits above the highest one; the width for 0.
    Lzcnt = "lzcnt" / 1, Int -> Same;
    /// Number of zero bits below the lowest one; the width for 0.
    Tzcnt = "tzcnt" / 1, Int -> Same;
    /// Bits in reverse order.
    Brev = "brev" / 1, Int -> Same;
    /// Conversion between number types: float to integer truncates and saturates, NaN gives 0; all
    /// others round to nearest even; integers wrap.
    Cast = "cast" / 1, Number -> Convert;
    /// The same bits as another type of the same width; a NaN shows as the quiet NaN.
    Reinterpret = "reinterpret" / 1, Number -> Convert;

    /// Sum; integers wrap.
    Add = "add" ("+") / 2, Number -> Same;
    /// Difference; integers wrap.
    Sub = "sub" ("-") / 2, Number -> Same;
    /// Product; integers wrap.
    Mul = "mul" ("*") / 2, Number -> Same;
    /// Quotient of floats, correctly rounded.
    Div = "div" ("/") / 2, Float -> Same;
    /// Integer quotient, truncated towards zero; by zero it is 0, and `MIN / -1` is `MIN`.
    IDiv = "idiv" / 2, Int -> Same;
    /// Integer remainder with the sign of the dividend; by zero it is 0, and `MIN % -1` is 0.
    Rem = "rem" ("%") / 2, Int -> Same;
    /// Upper half of the double-width product.
    MulHi = "mulhi" / 2, Int -> Same;
    /// Smaller value; a NaN operand is ignored, and -0 is below +0.
    Min = "min" / 2, Number -> Same;
    /// Larger value; a NaN operand is ignored, and +0 is above -0.
    Max = "max" / 2, Number -> Same;
    /// Smaller value, NaN if either is NaN; -0 is below +0.
    Minimum = "minimum" / 2, Number -> Same;
    /// Larger value, NaN if either is NaN; +0 is above -0.
    Maximum = "maximum" / 2, Number -> Same;
    /// Bitwise and; logical and of masks.
    And = "and" ("&") / 2, Bits -> Same;
    /// Bitwise or; logical or of masks.
    Or = "or" ("|") / 2, Bits -> Same;
    /// Bitwise exclusive or; inequality of masks.
    Xor = "xor" ("^") / 2, Bits -> Same;
    /// Shift left by `b[i]` bits; a count of the width or more (or negative) gives 0.
    Shl = "shl" ("<<") / 2, Int -> Same;
    /// Shift right, copying the sign of signed types; a count of the width or more (or negative)
    /// gives 0 or the sign.
    Shr = "shr" (">>") / 2, Int -> Same;

    /// True where `a[i] == b[i]`; false if either is NaN.
    Eq = "eq" ("==") / 2, Number -> Compare;
    /// True where `a[i] != b[i]`; true if either is NaN.
    Ne = "neq" ("!=") / 2, Number -> Compare;
    /// True where `a[i] < b[i]`; false if either is NaN.
    Lt = "lt" ("<") / 2, Number -> Compare;
    /// True where `a[i] <= b[i]`; false if either is NaN.
    Le = "le" ("<=") / 2, Number -> Compare;
    /// True where `a[i] > b[i]`; false if either is NaN.
    Gt = "gt" (">") / 2, Number -> Compare;
    /// True where `a[i] >= b[i]`; false if either is NaN.
    Ge = "ge" (">=") / 2, Number -> Compare;

    /// `a * b + c`: floats round once, integers wrap.
    Fma = "fma" / 3, Number -> Same;
    /// `mask[i] ? a[i] : b[i]`.
    Select = "select" / 3, Any -> Select;
}

impl Op {
    /// The operation's row.
    #[inline]
    pub const fn info(self) -> &'static OpInfo {
        &OPS[self as usize]
    }

    /// Name in dumps.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Number of operands.
    #[inline]
    pub const fn arity(self) -> usize {
        self.info().arity
    }

    /// How a person writes it: the operator, or else the name.
    pub const fn spelling(self) -> &'static str {
        match self.info().operator {
            Some(operator) => operator,
            None => self.info().name,
        }
    }
}

/// How all lanes of an array become one (semantics S11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReduceOp {
    /// Sum; integers wrap.
    Sum,
    /// Product; integers wrap.
    Prod,
    /// Smallest value, NaN ignored.
    Min,
    /// Largest value, NaN ignored.
    Max,
    /// Number of true lanes, as u64.
    Count,
    /// Whether any lane is true.
    Any,
    /// Whether all lanes are true.
    All,
}

impl ReduceOp {
    /// Every reduction.
    pub const ALL: [Self; 7] =
        [Self::Sum, Self::Prod, Self::Min, Self::Max, Self::Count, Self::Any, Self::All];

    /// Name of the script function.
    pub const fn name(self) -> &'static str {
        ["hsum", "hprod", "hmin", "hmax", "count", "any", "all"][self as usize]
    }

    /// The type that a lane of type `dtype` reduces to; `None` if it does not take that type.
    pub const fn result(self, dtype: DType) -> Option<DType> {
        match self {
            Self::Count if matches!(dtype, DType::Mask) => Some(DType::U64),
            Self::Any | Self::All if matches!(dtype, DType::Mask) => Some(DType::Mask),
            Self::Sum | Self::Prod | Self::Min | Self::Max if dtype.is_number() => Some(dtype),
            _ => None,
        }
    }

    /// The elementwise operation that combines two partial results of type `dtype` (the result type).
    pub const fn combine(self) -> Op {
        match self {
            Self::Sum | Self::Count => Op::Add,
            Self::Prod => Op::Mul,
            Self::Min => Op::Min,
            Self::Max => Op::Max,
            Self::Any => Op::Or,
            Self::All => Op::And,
        }
    }
}

macro_rules! scatter_ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $class:ident, $combine:expr;)*) => {
        /// What a scatter does with the value already there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl ScatterOp {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_enum_order_with_unique_names() {
        let mut names = std::collections::HashSet::new();
        for (i, row) in OPS.iter().enumerate() {
            assert_eq!(row.op as usize, i);
            assert!(names.insert(row.name), "{} twice", row.name);
            assert_eq!(Op::from_number(row.op as u8), row.op);
        }
    }
}
