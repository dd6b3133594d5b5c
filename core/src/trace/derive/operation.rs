//! Operations lane by lane: a number times the partial derivative by an operand.
//!
//! Such a product is what both modes need: the matrix of a function of lanes is diagonal.

use smallvec::SmallVec;

use super::Recorder;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::var::{Kind, VarId};
use crate::trace::expr::Expr;

impl Recorder<'_> {
    /// `v` times the partial derivative of an operation or function, the value of `id`, by its i-th operand.
    ///
    /// # Errors
    /// `Argument` if the function has none by that operand.
    pub(super) fn times_partial(&mut self, id: VarId, v: VarId, i: usize) -> Result<VarId> {
        if let Some(exponent) = self.exponent_of_reciprocal(id) {
            return self.times_slope_of_power(id, exponent, v);
        }
        let (kind, rule) = (self.var(id).made_by(), self.rule(id));
        if rule.is_some_and(|function| !function.has_partial(i)) {
            return Err(self.no_partial(id, i));
        }
        let mut args: SmallVec<[VarId; 6]> = SmallVec::from_slice(&[v, id]);
        args.extend(self.var(id).made_of());
        // Halves are computed with in f32, and rounded once.
        let dtype = self.dtype(args[2 + i]);
        if dtype.is_half() || self.dtype(id).is_half() {
            for arg in args.iter_mut().filter(|arg| self.dtype(**arg).is_half()).collect::<Vec<_>>()
            {
                *arg = self.cast(*arg, DType::F32)?;
            }
        }
        let product = self.expand_calls("derivative", &args, |args| {
            let [v, y, x @ ..] = args else { unreachable!("internal error: no operands") };
            vec![match (kind, rule) {
                (_, Some(function)) => function.times_partial(i, *v, x, *y),
                (Kind::Op(op), None) => times_partial(op, i, *v, x, *y),
                _ => unreachable!("internal error: {} lane by lane", kind.name()),
            }]
        })?;
        self.cast(product[0], dtype)
    }

    /// `-v n / xⁿ⁺¹`, the slope of `1 / xⁿ`.
    fn times_slope_of_power(&mut self, id: VarId, exponent: u64, v: VarId) -> Result<VarId> {
        let x = self.var(id).made_of()[0];
        let dtype = self.dtype(x);
        let wide = if dtype.is_half() { DType::F32 } else { dtype };
        let (x, v) = (self.cast(x, wide)?, self.cast(v, wide)?);
        let factor = self.constant(wide, wide.encode(Scalar::Float(-(exponent as f64)))?);
        let power = self.reciprocal_power(x, exponent + 1)?;
        let slope = self.same(Op::Mul, &[power, factor])?;
        let product = self.same(Op::Mul, &[v, slope])?;
        self.cast(product, dtype)
    }
}

pub(super) fn times_partial<'r>(
    op: Op,
    i: usize,
    v: Expr<'r>,
    x: &[Expr<'r>],
    y: Expr<'r>,
) -> Expr<'r> {
    let zero = || v.constant(0);
    match op {
        Op::Neg => -v,
        Op::Abs => x[0].lt(zero()).select(-v, x[0].gt(zero()).select(v, zero())),
        Op::Sqrt => v * v.constant(0.5) / y,
        Op::Cast => v.cast(x[0].dtype()),
        Op::Add => v,
        Op::Sub => {
            if i == 0 {
                v
            } else {
                -v
            }
        }
        Op::Mul => v * x[1 - i],
        Op::Div | Op::BoundedDiv => {
            if i == 0 {
                v / x[1]
            } else {
                -(v * y / x[1])
            }
        }
        // The operand that was chosen; of equal ones each has half.
        Op::Min | Op::Max | Op::Minimum | Op::Maximum => {
            let share = x[0].eq(x[1]).select(v * v.constant(0.5), v);
            x[i].eq(y).select(share, zero())
        }
        Op::Fma => match i {
            0 | 1 => v * x[1 - i],
            _ => v,
        },
        Op::Select => {
            if i == 1 {
                x[0].select(v, zero())
            } else {
                x[0].select(zero(), v)
            }
        }
        // Steps, whose slope is 0 where there is one; and what is no float.
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc => zero(),
        Op::Not
        | Op::Popcnt
        | Op::Lzcnt
        | Op::Tzcnt
        | Op::Brev
        | Op::Reinterpret
        | Op::BitsAnyNan
        | Op::IDiv
        | Op::Rem
        | Op::MulHi
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Shl
        | Op::Shr
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge => zero(),
    }
}
