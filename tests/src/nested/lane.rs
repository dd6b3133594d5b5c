//! A number with the operations and functions of plain arrays.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};
use std::rc::Rc;

use porcini_core::DType;
use porcini_core::ir::op::{Op, Shape};
use porcini_core::ir::scalar::apply_bits;
use porcini_core::trace::functions;

use crate::oracle::cast;
use crate::oracle::functions::Meaning;

/// The functions of plain arrays that were used.
#[derive(Default)]
pub(super) struct Functions(RefCell<HashMap<(&'static str, DType), Rc<Meaning>>>);

impl Functions {
    fn get(&self, name: &'static str, dtype: DType) -> Rc<Meaning> {
        let mut known = self.0.borrow_mut();
        let meaning = known.entry((name, dtype)).or_insert_with(|| {
            Rc::new(Meaning::of(functions::find(name).expect("a function of the table"), dtype))
        });
        meaning.clone()
    }
}

/// A number.
#[derive(Clone, Copy)]
pub(super) struct Lane<'f> {
    pub(super) dtype: DType,
    pub(super) bits: u64,
    /// Whether it depends on an array of other than one lane.
    pub(super) wide: bool,
    pub(super) functions: &'f Functions,
}

impl<'f> Lane<'f> {
    /// An operation of this and others.
    pub(super) fn op(self, op: Op, others: &[Self]) -> Self {
        let mut args = [self.bits; 3];
        args.iter_mut().skip(1).zip(others).for_each(|(arg, other)| *arg = other.bits);
        let bits = apply_bits(op, self.dtype, self.dtype, args);
        let dtype = if op.info().shape == Shape::Compare { DType::Mask } else { self.dtype };
        let wide = self.wide || others.iter().any(|other| other.wide);
        Self { dtype, bits, wide, ..self }
    }

    /// A function of this and others.
    pub(super) fn call(self, name: &'static str, others: &[Self]) -> Self {
        let mut args = [self.bits; 3];
        args.iter_mut().skip(1).zip(others).for_each(|(arg, other)| *arg = other.bits);
        let bits = self.functions.get(name, self.dtype).apply(args);
        let wide = self.wide || others.iter().any(|other| other.wide);
        Self { bits, wide, ..self }
    }

    pub(super) fn abs(self) -> Self {
        self.op(Op::Abs, &[])
    }

    pub(super) fn sqrt(self) -> Self {
        self.op(Op::Sqrt, &[])
    }

    pub(super) fn number(self, number: f64) -> Self {
        let bits = cast(self.dtype, DType::F64, number.to_bits());
        Self { bits, wide: false, ..self }
    }

    pub(super) fn select(self, a: Self, b: Self) -> Self {
        let chosen = if self.bits & 1 != 0 { a } else { b };
        Self { wide: self.wide || a.wide || b.wide, ..chosen }
    }

    pub(super) fn is(self, number: f64) -> Self {
        self.op(Op::Eq, &[self.number(number)])
    }

    pub(super) fn is_above(self, number: f64) -> Self {
        self.op(Op::Gt, &[self.number(number)])
    }

    pub(super) fn is_below(self, number: f64) -> Self {
        self.op(Op::Lt, &[self.number(number)])
    }

    pub(super) fn is_nan(self) -> Self {
        self.op(Op::Ne, &[self])
    }

    pub(super) fn is_infinite(self) -> Self {
        self.abs().is(f64::INFINITY)
    }

    pub(super) fn is_finite(self) -> Self {
        self.abs().is_below(f64::INFINITY)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => { $(
        impl $trait for Lane<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self { self.op(Op::$op, &[other]) }
        }
    )* };
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, BitAnd bitand And, BitOr bitor Or);

impl Neg for Lane<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.op(Op::Neg, &[])
    }
}
