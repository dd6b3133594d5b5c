//! Identities that keep every bit (S4): `x * 1`, `select(true, a, b)`, integer `x + 0`.
//!
//! Float `x + 0` is absent: it turns −0 into +0. An identity applies only if the operand that remains
//! already has the result's size.

use super::Recorder;
use crate::dtype::DType;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;
use crate::ir::var::{Kind, VarId};

/// The variable that `op` on `args` equals, if an identity says so.
#[inline]
pub(super) fn simplify(
    recorder: &mut Recorder<'_>,
    op: Op,
    dtype: DType,
    size: u64,
    args: &[VarId],
) -> Option<VarId> {
    let keep = match *args {
        [x] => involution(recorder, op, x)?,
        [a, b] => binary(recorder, op, dtype, a, b)?,
        [mask, a, b] if op == Op::Select => select(recorder, mask, a, b)?,
        _ => return None,
    };
    (recorder.size(keep) == size).then_some(keep)
}

fn involution(recorder: &Recorder<'_>, op: Op, x: VarId) -> Option<VarId> {
    let inner = recorder.var(x);
    let cancels = matches!(op, Op::Neg | Op::Not) && inner.kind == Kind::Op(op);
    (cancels && !inner.is_border()).then_some(inner.operands[0])?
}

fn select(recorder: &Recorder<'_>, mask: VarId, a: VarId, b: VarId) -> Option<VarId> {
    match recorder.var(mask).kind.number() {
        Some(bits) => Some(if bits & 1 != 0 { a } else { b }),
        None => (a == b).then_some(a),
    }
}

fn binary(recorder: &Recorder<'_>, op: Op, dtype: DType, a: VarId, b: VarId) -> Option<VarId> {
    let number = |x: VarId| recorder.var(x).kind.number();
    if a != b && number(a).or(number(b)).is_none() {
        return None;
    }
    let is = |x: VarId, bits: u64| number(x) == Some(bits);
    let n = Neutral::of(dtype);
    let right = |bits| is(b, bits).then_some(a);
    let left = |bits| (op.info().commutative && is(a, bits)).then_some(b);
    let neutral = |bits| right(bits).or_else(|| left(bits));
    match op {
        Op::Add => neutral(n.zero_added),
        Op::Mul => {
            neutral(n.one).or_else(|| dtype.is_int().then(|| absorbing(recorder, a, b, 0))?)
        }
        Op::Div | Op::IDiv => neutral(n.one),
        Op::And if a == b => Some(a),
        Op::And => neutral(n.ones).or_else(|| absorbing(recorder, a, b, 0)),
        Op::Or if a == b => Some(a),
        Op::Or => neutral(0).or_else(|| absorbing(recorder, a, b, n.ones)),
        Op::Sub | Op::Xor | Op::Shl | Op::Shr => neutral(0),
        Op::Min | Op::Max | Op::Minimum | Op::Maximum => (a == b).then_some(a),
        _ => None,
    }
}

/// The operand that is the number `bits`, which swallows the other.
fn absorbing(recorder: &Recorder<'_>, a: VarId, b: VarId, bits: u64) -> Option<VarId> {
    [a, b].into_iter().find(|&x| recorder.var(x).kind.number() == Some(bits))
}

/// The bit patterns that leave the other operand as it is.
struct Neutral {
    zero_added: u64,
    one: u64,
    ones: u64,
}

impl Neutral {
    fn of(dtype: DType) -> Self {
        let [zero_added, one] = [ReduceOp::Sum, ReduceOp::Prod].map(|op| identity_bits(op, dtype));
        let ones = if dtype == DType::Mask { 1 } else { u64::MAX >> (64 - dtype.bits()) };
        Self { zero_added, one, ones }
    }
}
