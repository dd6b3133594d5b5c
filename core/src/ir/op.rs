//! THE OPERATION TABLE: one row per elementwise operation.
//!
//! A row gives the operation's name, arity, operand class and result. The enum, its metadata, help
//! texts, script functions and tests all come from here. To add one: a row, its meaning in `ir/scalar.rs`, its
//! narrow types in `ir/legal.rs`, an arm in `backend/cpu/lower/arith.rs` and in `backend/cuda/ptx/op.rs` (the
//! compiler names those missing), a golden line. Functions composed of several operations (`exp`, `norm`) are not
//! rows: see `trace/math/`.

mod scatter;

use crate::dtype::DType;

pub use scatter::{ScatterMode, ScatterOp, Writer};

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

    /// The same for who gave another type, with what makes numbers of a mask.
    pub const fn expected_for(self, dtype: DType) -> &'static str {
        if matches!((self, dtype), (Self::Number, DType::Mask)) {
            return "an array of numbers (T(mask) has 1 where it is true; & and | join masks)";
        }
        self.describe()
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
    /// Types as the operation says. Scripts have no function for it: a conversion, or for formulas of ours.
    Special,
}

/// What an operation means for numbers of several parts (complex numbers, quaternions, matrices) of which no row of
/// [`trace::nested`](crate::trace::nested) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The same part by part.
    Linear,
    /// Entry by entry of matrices; complex numbers and quaternions do not have it.
    Entries,
    /// Nothing.
    Whole,
    /// What the operators say, one after the other: `a * b + c`.
    MulAdd,
    /// `a * b - c`.
    MulSub,
    /// `c - a * b`.
    NegMulAdd,
    /// `-(a * b) - c`.
    NegMulSub,
    /// `c * (b - a) + a`.
    Lerp,
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
    /// What it means for numbers of several parts.
    pub parts: Parts,
    /// Whether the first two operands may change places.
    pub commutative: bool,
    /// Types of which `f(f(a, b), c)` is `f(a, f(b, c))`.
    pub associative: Option<Class>,
    /// The PTX instruction of float operands and of others, `$t1` the type of the result, `$b1` its untyped width
    /// and `$t2` the type of the operands. Where PTX needs several, what comes closest.
    pub ptx: [&'static str; 2],
    /// Cycles until a processor has the result, about.
    pub cycles: u32,
    /// Help text.
    pub doc: &'static str,
}

macro_rules! ops {
    ($dollar:tt $($(#[doc = $doc:literal])+ $name:ident = $text:ident $(($operator:literal))? / $arity:tt, $class:ident -> $shape:ident $([$commutative:ident $(, associative $of:ident)?])? $(, $parts:ident)?, $ptx:literal $(| $other:literal)? $(, $cycles:literal)?;)*) => {
        /// An elementwise operation of the intermediate representation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])+ $name,)* }

        /// Every operation, in the order of [`Op`].
        pub const OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$name,
            name: stringify!($text),
            operator: ops!(@operator $($operator)?),
            arity: $arity,
            class: Class::$class,
            shape: Shape::$shape,
            parts: ops!(@parts $($parts)?),
            commutative: ops!(@commutative $($commutative)?),
            associative: ops!(@associative $($($of)?)?),
            ptx: ops!(@ptx $ptx $($other)?),
            cycles: ops!(@cycles $($cycles)?),
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

        /// Calls the macro `$with` with what else is given, and all rows: `Name name arity Shape (operator);`.
        macro_rules! op_rows {
            ($dollar with:ident $dollar($dollar context:tt)*) => {
                $dollar with! { $dollar($dollar context)* $($name $text $arity $shape $(($operator))?;)* }
            };
        }
    };
    (@operator $operator:literal) => { Some($operator) };
    (@operator) => { None };
    (@parts $parts:ident) => { Parts::$parts };
    (@parts) => { Parts::Entries };
    (@commutative commutative) => { true };
    (@commutative) => { false };
    (@associative $class:ident) => { Some(Class::$class) };
    (@associative) => { None };
    (@cycles $cycles:literal) => { $cycles };
    (@cycles) => { 4 };
    (@ptx $all:literal) => { [$all, $all] };
    (@ptx $float:literal $other:literal) => { [$float, $other] };
}

/// Receives an operation as a constant; see [`Op::specialize`].
pub trait OpVisitor {
    /// The visitor's result.
    type Output;
    /// Makes it for the operation with number `OP`.
    fn visit<const OP: u8>(&self) -> Self::Output;
}

// The dollar is for the macro that it makes.
ops! { $
    /// Negation: `y[i] = -x[i]`; integers wrap.
    ///
    /// >> neg(FloatC([1, -2]))
    /// [-1, 2]
    Neg = neg / 1, Number -> Same, Linear, "neg.$t1";
    /// Bitwise complement of integers, logical not of masks.
    ///
    /// >> not(UInt32C([0, 1]))
    /// [4294967295, 4294967294]
    Not = not / 1, Bits -> Same, "not.$b1";
    /// Absolute value; `abs(MIN)` is `MIN`.
    ///
    /// >> abs(Int32C([-3, 4]))
    /// [3, 4]
    Abs = abs / 1, Number -> Same, "abs.$t1";
    /// Square root, correctly rounded; NaN below zero.
    ///
    /// >> sqrt(FloatC([1, 4]))
    /// [1, 2]
    Sqrt = sqrt / 1, Float -> Same, "sqrt.rn.$t1", 14;
    /// Largest integer not above `x[i]`.
    ///
    /// >> floor(FloatC([-1.5, 1.5]))
    /// [-2, 1]
    Floor = floor / 1, Float -> Same, "cvt.rmi.$t1.$t1";
    /// Smallest integer not below `x[i]`.
    ///
    /// >> ceil(FloatC([-1.5, 1.5]))
    /// [-1, 2]
    Ceil = ceil / 1, Float -> Same, "cvt.rpi.$t1.$t1";
    /// Nearest integer, halves to even.
    ///
    /// >> round(FloatC([0.5, 1.5, 2.7]))
    /// [0, 2, 3]
    Round = round / 1, Float -> Same, "cvt.rni.$t1.$t1";
    /// Integer part, towards zero.
    ///
    /// >> trunc(FloatC([-1.7, 1.7]))
    /// [-1, 1]
    Trunc = trunc / 1, Float -> Same, "cvt.rzi.$t1.$t1";
    /// Number of one bits.
    ///
    /// >> popcnt(UInt32C([0, 7, 255]))
    /// [0, 3, 8]
    Popcnt = popcnt / 1, Int -> Same, "popc.$b1";
    /// Number of zero bits above the highest one; the width for 0.
    ///
    /// >> lzcnt(UInt32C([0, 1, 255]))
    /// [32, 31, 24]
    Lzcnt = lzcnt / 1, Int -> Same, "clz.$b1";
    /// Number of zero bits below the lowest one; the width for 0.
    ///
    /// >> tzcnt(UInt32C([0, 1, 8]))
    /// [32, 0, 3]
    Tzcnt = tzcnt / 1, Int -> Same, "brev.clz.$b1";
    /// Bits in reverse order.
    ///
    /// >> brev(UInt32C([1, 2]))
    /// [2147483648, 1073741824]
    Brev = brev / 1, Int -> Same, "brev.$b1";
    /// Conversion between number types: float to integer truncates and saturates, NaN gives 0; all
    /// others round to nearest even; integers wrap.
    Cast = cast / 1, Number -> Special, "cvt.$t1.$t2";
    /// The same bits as another type of the same width; a NaN shows as the quiet NaN.
    Reinterpret = reinterpret / 1, Number -> Special, "mov.$b1";
    /// The bits of a float as an integer of the same width. Those of a NaN are any NaN's and differ between
    /// devices: only for formulas of ours to which they do not matter.
    BitsAnyNan = bits_any_nan / 1, Float -> Special, "mov.$b1";
    /// Quotient of an f32 or f64 where dividend, divisor and quotient lie between 2^-60 and 2^60 or one is NaN;
    /// some devices have fewer instructions for it than for [`Op::Div`].
    BoundedDiv = bounded_div / 2, Float -> Special, "div.rn.$t1";

    /// Sum; integers wrap.
    ///
    /// >> FloatC([1, 2]) + 0.5
    /// [1.5, 2.5]
    Add = add ("+") / 2, Number -> Same [commutative, associative Int], Linear, "add.rn.$t1" | "add.$t1";
    /// Difference; integers wrap.
    ///
    /// >> FloatC([1, 2]) - 0.5
    /// [0.5, 1.5]
    Sub = sub ("-") / 2, Number -> Same, Linear, "sub.rn.$t1" | "sub.$t1";
    /// Product; integers wrap.
    ///
    /// >> FloatC([1, 2]) * 3
    /// [3, 6]
    Mul = mul ("*") / 2, Number -> Same [commutative, associative Int], Whole, "mul.rn.$t1" | "mul.lo.$t1";
    /// Quotient of floats, correctly rounded.
    ///
    /// >> Int32C([1, 2]) / 4
    /// [0.25, 0.5]
    Div = div ("/") / 2, Float -> Same, Whole, "div.rn.$t1", 14;
    /// Integer quotient, truncated towards zero; by zero it is 0, and `MIN / -1` is `MIN`.
    ///
    /// >> idiv(Int32C([7, -7]), 2)
    /// [3, -3]
    IDiv = idiv / 2, Int -> Same, "div.$t1", 14;
    /// Integer remainder with the sign of the dividend; by zero it is 0, and `MIN % -1` is 0.
    ///
    /// >> Int32C([7, -7]) % 3
    /// [1, -1]
    Rem = rem ("%") / 2, Int -> Same, "rem.$t1", 14;
    /// Upper half of the double-width product.
    ///
    /// >> mulhi(UInt32C([0xFFFFFFFF, 3]), 16)
    /// [15, 0]
    MulHi = mulhi / 2, Int -> Same [commutative], "mul.hi.$t1";
    /// Smaller value; a NaN operand is ignored, and -0 is below +0.
    ///
    /// >> min(FloatC([1, 5]), 2.5)
    /// [1, 2.5]
    Min = min / 2, Number -> Same [commutative, associative Number], "min.$t1";
    /// Larger value; a NaN operand is ignored, and +0 is above -0.
    ///
    /// >> max(FloatC([1, 5]), 2.5)
    /// [2.5, 5]
    Max = max / 2, Number -> Same [commutative, associative Number], "max.$t1";
    /// Smaller value, NaN if either is NaN; -0 is below +0.
    ///
    /// >> minimum(FloatC([1, nan]), 3)
    /// [1, nan]
    Minimum = minimum / 2, Number -> Same [commutative, associative Number], "min.NaN.$t1" | "min.$t1";
    /// Larger value, NaN if either is NaN; +0 is above -0.
    ///
    /// >> maximum(FloatC([1, nan]), 3)
    /// [3, nan]
    Maximum = maximum / 2, Number -> Same [commutative, associative Number], "max.NaN.$t1" | "max.$t1";
    /// Bitwise and; logical and of masks.
    ///
    /// >> UInt32C([5, 6]) & 4
    /// [4, 4]
    And = and ("&") / 2, Bits -> Same [commutative, associative Bits], "and.$b1";
    /// Bitwise or; logical or of masks.
    ///
    /// >> UInt32C([1, 2]) | 4
    /// [5, 6]
    Or = or ("|") / 2, Bits -> Same [commutative, associative Bits], "or.$b1";
    /// Bitwise exclusive or; inequality of masks.
    ///
    /// >> UInt32C([5, 6]) ^ 4
    /// [1, 2]
    Xor = xor ("^") / 2, Bits -> Same [commutative, associative Bits], "xor.$b1";
    /// Shift left by `b[i]` bits; a count of the width or more (or negative) gives 0.
    ///
    /// >> UInt32C([1, 3]) << 4
    /// [16, 48]
    Shl = shl ("<<") / 2, Int -> Same, "shl.$b1";
    /// Shift right, copying the sign of signed types; a count of the width or more (or negative)
    /// gives 0 or the sign.
    ///
    /// >> Int32C([16, -16]) >> 2
    /// [4, -4]
    Shr = shr (">>") / 2, Int -> Same, "shr.$t1";

    /// True where `a[i] == b[i]`; false if either is NaN.
    ///
    /// >> FloatC([1, 2, 3]) == 2
    /// [0, 1, 0]
    Eq = eq ("==") / 2, Number -> Compare [commutative], Linear, "setp.eq.$t2";
    /// True where `a[i] != b[i]`; true if either is NaN.
    ///
    /// >> FloatC([1, 2, 3]) != 2
    /// [1, 0, 1]
    Ne = neq ("!=") / 2, Number -> Compare [commutative], Linear, "setp.neu.$t2" | "setp.ne.$t2";
    /// True where `a[i] < b[i]`; false if either is NaN.
    ///
    /// >> FloatC([1, 2, 3]) < 2
    /// [1, 0, 0]
    Lt = lt ("<") / 2, Number -> Compare, "setp.lt.$t2";
    /// True where `a[i] <= b[i]`; false if either is NaN.
    ///
    /// >> FloatC([1, 2, 3]) <= 2
    /// [1, 1, 0]
    Le = le ("<=") / 2, Number -> Compare, "setp.le.$t2";
    /// True where `a[i] > b[i]`; false if either is NaN.
    ///
    /// >> FloatC([1, 2, 3]) > 2
    /// [0, 0, 1]
    Gt = gt (">") / 2, Number -> Compare, "setp.gt.$t2";
    /// True where `a[i] >= b[i]`; false if either is NaN.
    ///
    /// >> FloatC([1, 2, 3]) >= 2
    /// [0, 1, 1]
    Ge = ge (">=") / 2, Number -> Compare, "setp.ge.$t2";

    /// `a * b + c`: floats round once, integers wrap; of matrices, complex numbers and quaternions what the operators
    /// say, step by step.
    ///
    /// >> fma(FloatC([1, 2]), 3, 4)
    /// [7, 10]
    Fma = fma / 3, Number -> Same [commutative], MulAdd, "fma.rn.$t1" | "mad.lo.$t1";
    /// `mask[i] ? a[i] : b[i]`.
    ///
    /// >> a = FloatC([1, 2, 3]);
    /// >> select(a > 1, a, 0)
    /// [0, 2, 3]
    Select = select / 3, Any -> Select, Linear, "selp.$t1";
}

pub(crate) use op_rows;

/// The row with a name or operator.
pub fn find(name: &str) -> Option<&'static OpInfo> {
    OPS.iter().find(|info| info.name == name || info.operator == Some(name))
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

    /// Whether `f(f(a, b), c)` of lanes of a type is `f(a, f(b, c))`.
    pub const fn is_associative(self, dtype: DType) -> bool {
        matches!(self.info().associative, Some(class) if class.contains(dtype))
    }

    /// The PTX instruction between these types; see [`OpInfo::ptx`].
    pub fn ptx(self, result: DType, operand: DType) -> &'static str {
        if self == Self::Cast && operand.is_float() && result.is_int() {
            return "cvt.rzi.$t1.$t2";
        }
        if self == Self::Cast && result.is_float() {
            return "cvt.rn.$t1.$t2";
        }
        let [float, other] = self.info().ptx;
        if operand.is_float() { float } else { other }
    }

    /// How a person writes it: the operator, or else the name.
    pub const fn spelling(self) -> &'static str {
        match self.info().operator {
            Some(operator) => operator,
            None => self.info().name,
        }
    }
}

/// Calls the macro `$with` with what else is given, and all reductions: `Name = name, operation that combines;`.
macro_rules! reduce_rows {
    ($with:ident $($context:tt)*) => {
        $with! { $($context)*
            /// Sum; integers wrap, those of 8 and 16 bits and masks in 32.
            Sum = hsum, Add;
            /// Product; integers wrap, those of 8 and 16 bits and masks in 32.
            Prod = hprod, Mul;
            /// Smallest value, NaN ignored.
            Min = hmin, Min;
            /// Largest value, NaN ignored.
            Max = hmax, Max;
            /// Number of true lanes, as u64.
            Count = count, Add;
            /// Whether any lane is true.
            Any = any, Or;
            /// Whether all lanes are true.
            All = all, And;
        }
    };
}
pub(crate) use reduce_rows;

macro_rules! reduce_ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:ident, $combine:ident;)*) => {
        /// How all lanes of an array become one (semantics S11).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum ReduceOp { $($(#[doc = $doc])+ $name,)* }

        impl ReduceOp {
            /// Every reduction.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// Name of the script function.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($text),)* }
            }

            /// The elementwise operation that combines two partial results, of the result type.
            pub const fn combine(self) -> Op {
                match self { $(Self::$name => Op::$combine,)* }
            }
        }
    };
}
reduce_rows!(reduce_ops);

impl ReduceOp {
    /// The type that a lane of type `dtype` reduces to; `None` if it does not take that type.
    pub const fn result(self, dtype: DType) -> Option<DType> {
        let is_mask = matches!(dtype, DType::Mask);
        let (takes, result) = match self {
            Self::Count => (is_mask, DType::U64),
            Self::Any | Self::All => (is_mask, DType::Mask),
            Self::Sum | Self::Prod => (true, dtype.accumulated()),
            Self::Min | Self::Max => (dtype.is_number(), dtype),
        };
        if takes { Some(result) } else { None }
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
