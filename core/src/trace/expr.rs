//! Expressions for functions written in our own IR: `let y = x * x; y.fma(c, d)`.
//!
//! An [`Expr`] is a variable being recorded. Operands must already have fitting types and sizes
//! (`Recorder::expand` checks the sizes of the arguments), so recording cannot fail: a mistake in a
//! function's own code is a broken invariant and panics.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use smallvec::SmallVec;

use crate::dtype::{DType, Scalar};
use crate::ir::op::{Op, op_rows};
use crate::ir::var::VarId;

/// A value under construction.
#[derive(Clone, Copy)]
pub struct Expr<'r> {
    recorder: &'r dyn Record,
    id: VarId,
}

/// A recorder that several expressions share; the trait hides its table's lifetime.
pub(super) trait Record {
    fn dtype(&self, id: VarId) -> DType;
    fn constant(&self, dtype: DType, bits: u64) -> VarId;
    /// A constant to which `rest` is missing, where digits are kept that the type does not have.
    fn rounded_constant(&self, dtype: DType, bits: u64, rest: f64) -> VarId {
        let _ = rest;
        self.constant(dtype, bits)
    }
    fn op(&self, op: Op, args: &[VarId]) -> VarId;
    fn cast(&self, id: VarId, dtype: DType) -> VarId;
    fn reinterpret(&self, id: VarId, dtype: DType) -> VarId;
    /// A function of the table of functions, which only some recipes call.
    fn call(&self, name: &'static str, _args: &[VarId]) -> VarId {
        panic!("internal error: a call of {name}")
    }
    /// Whether functions of the tables stay calls, for derivatives to find them.
    fn keeps_calls(&self) -> bool {
        false
    }
    /// Whether the values are complex numbers, of which there is no order.
    fn is_complex(&self) -> bool {
        false
    }
    /// The results of a function of several entries, by its name and what tells it from others of that.
    fn nested(&self, name: &str, _shape: &[u64], _entries: &[VarId]) -> Vec<VarId> {
        panic!("internal error: a call of {name}")
    }
}

impl<'r> Expr<'r> {
    pub(super) fn new(recorder: &'r dyn Record, id: VarId) -> Self {
        Self { recorder, id }
    }

    pub(super) fn id(self) -> VarId {
        self.id
    }
}

impl Expr<'_> {
    /// Lane type.
    pub fn dtype(self) -> DType {
        self.recorder.dtype(self.id)
    }

    /// Whether what is recorded is there to be differentiated, not to be computed: it may have a derivative where the value
    /// needs none.
    pub(super) fn is_differentiated(self) -> bool {
        self.recorder.keeps_calls()
    }

    /// Whether the value is a complex number: nothing is above another, and few functions take it.
    pub(super) fn is_complex(self) -> bool {
        self.recorder.is_complex()
    }

    /// A constant of this value's type: a float rounds to it, an integer must fit.
    ///
    /// # Panics
    /// If an integer type cannot hold the number: a mistake in the function's code.
    pub fn constant(self, number: impl Into<Scalar>) -> Self {
        let dtype = self.dtype();
        let bits = dtype.encode(number.into());
        self.bits(bits.unwrap_or_else(|error| panic!("internal error: {error}")))
    }

    /// Pi, or a part of it by a power of two; constants of which recipes add the rest themselves are no such.
    pub fn pi_times(self, scale: f64) -> Self {
        // What is missing to the f64 nearest to pi.
        let rest = 1.224_646_799_147_353_2e-16 * scale;
        let dtype = self.dtype();
        let bits = dtype.encode((std::f64::consts::PI * scale).into());
        let bits = bits.unwrap_or_else(|error| panic!("internal error: {error}"));
        Self { id: self.recorder.rounded_constant(dtype, bits, rest), ..self }
    }

    /// A constant of this value's type, by its bit pattern.
    pub fn bits(self, bits: u64) -> Self {
        self.constant_of(self.dtype(), bits)
    }

    /// A constant of any type, by its bit pattern.
    pub fn constant_of(self, dtype: DType, bits: u64) -> Self {
        Self { id: self.recorder.constant(dtype, bits), ..self }
    }

    /// The value converted to another type (`Op::Cast`).
    pub fn cast(self, dtype: DType) -> Self {
        Self { id: self.recorder.cast(self.id, dtype), ..self }
    }

    /// The same bits as another type of the same width.
    pub fn reinterpret(self, dtype: DType) -> Self {
        Self { id: self.recorder.reinterpret(self.id, dtype), ..self }
    }

    /// The bits of an f32 or f64, where those of a NaN do not matter: every device may have others.
    pub fn bits_any_nan(self) -> Self {
        self.op(Op::BitsAnyNan, &[])
    }

    /// The quotient of numbers between 2^-60 and 2^60, as is the quotient, or of NaN.
    pub fn bounded_div(self, divisor: Self) -> Self {
        self.op(Op::BoundedDiv, &[divisor])
    }

    /// A function of the table of this value and others: a call of its own where calls are kept, else what it is made of.
    pub(super) fn call(self, name: &'static str, others: &[Self]) -> Self {
        let args: SmallVec<[VarId; 3]> = [self].iter().chain(others).map(|arg| arg.id).collect();
        Self { id: self.recorder.call(name, &args), ..self }
    }

    /// The results of a function of several entries, as a call of its own.
    pub(super) fn nested(name: &str, shape: &[u64], entries: &[Self]) -> Vec<Self> {
        let ids: Vec<VarId> = entries.iter().map(|entry| entry.id).collect();
        let results = entries[0].recorder.nested(name, shape, &ids).into_iter();
        results.map(|id| Self { id, ..entries[0] }).collect()
    }

    fn op(self, op: Op, others: &[Self]) -> Self {
        let mut args = [self.id; 3];
        for (arg, other) in args[1..].iter_mut().zip(others) {
            *arg = other.id;
        }
        Self { id: self.recorder.op(op, &args[..=others.len()]), ..self }
    }

    /// [`Op::Shl`] by the value of another.
    pub fn shl_by(self, count: Self) -> Self {
        self.op(Op::Shl, &[count])
    }

    /// [`Op::Shr`] by the value of another.
    pub fn shr_by(self, count: Self) -> Self {
        self.op(Op::Shr, &[count])
    }

    /// `self ? a : b`; `self` must be a mask.
    pub fn select(self, a: Self, b: Self) -> Self {
        self.op(Op::Select, &[a, b])
    }

    /// `self * b + c`, rounded once.
    pub fn fma(self, b: Self, c: Self) -> Self {
        self.op(Op::Fma, &[b, c])
    }
}

/// A method for each operation without an operator, and each comparison.
macro_rules! methods {
    ($($op:ident $name:ident $arity:tt $shape:ident $(($operator:literal))?;)*) => {
        impl Expr<'_> { $(methods!(@ $op $name $arity $shape $($operator)?);)* }
    };
    // Operators of Rust.
    (@ Neg $($row:tt)*) => {};
    (@ Not $($row:tt)*) => {};
    (@ $op:ident $name:ident 1 Same) => {
        #[doc = concat!("[`Op::", stringify!($op), "`] of the value.")]
        pub fn $name(self) -> Self { self.op(Op::$op, &[]) }
    };
    (@ $op:ident $name:ident 2 Same) => {
        #[doc = concat!("[`Op::", stringify!($op), "`] of the value and another.")]
        pub fn $name(self, other: Self) -> Self { self.op(Op::$op, &[other]) }
    };
    (@ $op:ident $name:ident 2 Compare $operator:literal) => { methods!(@ $op $name 2 Same); };
    (@ $($row:tt)*) => {};
}
op_rows!(methods);

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => { $(
        impl $trait for Expr<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self { self.op(Op::$op, &[other]) }
        }
    )* };
}
operators!(
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem,
    BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor
);

impl Neg for Expr<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.op(Op::Neg, &[])
    }
}

impl Not for Expr<'_> {
    type Output = Self;
    fn not(self) -> Self {
        self.op(Op::Not, &[])
    }
}

impl Shl<u32> for Expr<'_> {
    type Output = Self;
    fn shl(self, count: u32) -> Self {
        self.shl_by(self.bits(u64::from(count)))
    }
}

impl Shr<u32> for Expr<'_> {
    type Output = Self;
    fn shr(self, count: u32) -> Self {
        self.shr_by(self.bits(u64::from(count)))
    }
}
