//! Expressions with their slope in one direction, for recipes that are differentiated as they stand.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::super::expr::Expr;
use super::is_single;

/// What a recipe may be made of: expressions, or expressions with slopes.
pub(super) trait Term:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn constant(self, number: f64) -> Self;
    fn sqrt(self) -> Self;
    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn is_single(self) -> bool;
}

impl Term for Expr<'_> {
    fn constant(self, number: f64) -> Self {
        Expr::constant(self, number)
    }

    fn sqrt(self) -> Self {
        Expr::sqrt(self)
    }

    fn fma(self, b: Self, c: Self) -> Self {
        Expr::fma(self, b, c)
    }

    fn is_single(self) -> bool {
        is_single(self)
    }
}

/// A value and how fast it moves.
#[derive(Clone, Copy)]
pub(super) struct Dual<'r> {
    pub(super) value: Expr<'r>,
    /// `None` of what stays where it is: the root of a 0 that stays has no slope, not one of 0 / 0.
    slope: Option<Expr<'r>>,
}

impl<'r> Dual<'r> {
    pub(super) fn fixed(value: Expr<'r>) -> Self {
        Self { value, slope: None }
    }

    pub(super) fn moving(value: Expr<'r>, slope: Expr<'r>) -> Self {
        Self { value, slope: Some(slope) }
    }

    pub(super) fn slope(self) -> Expr<'r> {
        self.slope.unwrap_or_else(|| self.value.constant(0))
    }

    /// The slope times a factor.
    fn times(self, factor: Expr<'r>) -> Option<Expr<'r>> {
        self.slope.map(|slope| slope * factor)
    }
}

fn sum<'r>(a: Option<Expr<'r>>, b: Option<Expr<'r>>) -> Option<Expr<'r>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        _ => a.or(b),
    }
}

impl Add for Dual<'_> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, slope: sum(self.slope, other.slope) }
    }
}

impl Neg for Dual<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, slope: self.slope.map(|slope| -slope) }
    }
}

impl Sub for Dual<'_> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, slope: sum(self.slope, (-other).slope) }
    }
}

impl Mul for Dual<'_> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let slope = sum(self.times(other.value), other.times(self.value));
        Self { value: self.value * other.value, slope }
    }
}

impl Div for Dual<'_> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let slope = sum(self.slope, other.times(-value)).map(|slope| slope / other.value);
        Self { value, slope }
    }
}

impl Term for Dual<'_> {
    fn constant(self, number: f64) -> Self {
        Self::fixed(self.value.constant(number))
    }

    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        let slope = self.slope.map(|slope| slope * value.constant(0.5) / value);
        Self { value, slope }
    }

    fn fma(self, b: Self, c: Self) -> Self {
        let slope = sum(sum(self.times(b.value), b.times(self.value)), c.slope);
        Self { value: self.value.fma(b.value, c.value), slope }
    }

    fn is_single(self) -> bool {
        is_single(self.value)
    }
}
