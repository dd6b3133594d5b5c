//! Functions that make a complex number of complex numbers: their derivative is one complex number, which the formula for
//! real ones gives.

use super::Recorder;
use super::operation::times_partial;
use crate::error::Result;
use crate::ir::op::{self, Op};
use crate::ir::var::{Kind, VarId};
use crate::trace::expr::Expr;
use crate::trace::functions::{self, Function};
use crate::trace::nested::NestedCall;
use crate::trace::nested::over_complex::of_complex;

/// The derivative of one part of a complex function's value.
#[derive(Clone, Copy)]
pub(super) struct ComplexRule {
    call: VarId,
    /// Which part.
    position: usize,
    formula: Formula,
}

/// Where the derivative by an argument stands.
#[derive(Clone, Copy)]
enum Formula {
    Op(Op),
    Function(&'static Function),
}

impl Recorder<'_> {
    /// The rule of a variable that is a part of a complex function's value.
    pub(super) fn complex_rule(&self, id: VarId) -> Option<ComplexRule> {
        let Kind::Output { position } = self.var(id).made_by() else { return None };
        let call = self.var(id).made_of()[0];
        let Kind::Call(body) = self.var(call).made_by() else { return None };
        let body = self.table.body(body);
        let nested = NestedCall::of_shape(body.name, &body.shape)?;
        if !nested.is_of_complex(body.n_arguments / 2) {
            return None;
        }
        let function = functions::find(body.name).filter(|function| function.has_partials());
        let of_op = op::find(body.name).map(|info| Formula::Op(info.op));
        let formula = function.map(Formula::Function).or(of_op)?;
        Some(ComplexRule { call, position: position as usize, formula })
    }

    /// The parts of the complex arguments of a function, one after the other.
    pub(super) fn complex_arguments(&self, rule: ComplexRule) -> Vec<VarId> {
        self.var(rule.call).made_of().into_vec()
    }

    /// What the argument number i gets from the cotangent of a part of the value: `V · conj(f')`, in parts.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn pull_complex(
        &mut self,
        rule: ComplexRule,
        v: VarId,
        i: usize,
    ) -> Result<[VarId; 2]> {
        let zero = self.constant(self.dtype(v), 0);
        // The conjugate of V · conj(f') is f' · conj(V).
        let v = if rule.position == 0 { [v, zero] } else { [zero, self.same(Op::Neg, &[v])?] };
        let [re, im] = self.times_complex(rule, v, i)?;
        Ok([re, self.same(Op::Neg, &[im])?])
    }

    /// What a part of the value gets from the tangent of the argument number i.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn push_complex(
        &mut self,
        rule: ComplexRule,
        t: [VarId; 2],
        i: usize,
    ) -> Result<VarId> {
        Ok(self.times_complex(rule, t, i)?[rule.position])
    }

    /// `v` times the derivative by the argument number i.
    fn times_complex(&mut self, rule: ComplexRule, v: [VarId; 2], i: usize) -> Result<[VarId; 2]> {
        let mut parts = v.to_vec();
        let arguments = self.complex_arguments(rule);
        let value = self.value_of(rule, &arguments)?;
        parts.extend(value);
        parts.extend(arguments);
        let product = self.expand_calls("derivative", &parts, |parts| {
            let numbers: Vec<[Expr<'_>; 2]> =
                parts.chunks_exact(2).map(|parts| [parts[0], parts[1]]).collect();
            let product = of_complex(&numbers, |numbers| {
                let [v, y, x @ ..] = numbers else { unreachable!("internal error: no arguments") };
                match rule.formula {
                    Formula::Function(function) => function.times_partial(i, *v, x, *y),
                    Formula::Op(op) => times_partial(op, i, *v, x, *y),
                }
            });
            product.to_vec()
        })?;
        Ok([product[0], product[1]])
    }

    /// Both parts of the function's value, of which the trace may hold one alone.
    fn value_of(&mut self, rule: ComplexRule, arguments: &[VarId]) -> Result<Vec<VarId>> {
        let Kind::Call(body) = self.var(rule.call).made_by() else {
            unreachable!("internal error: a rule of no call")
        };
        let body = self.table.body(body);
        let nested = NestedCall::of_shape(body.name, &body.shape);
        self.nested(nested.expect("internal error: a rule of no function"), arguments)
    }
}
