//! A part of a reduction: a program of one expression.

use std::sync::Arc;

use super::program::{Captured, Program};
use super::tree::{Expression, Function, Parameter, Statement, Step, Term};
use super::types::TypeName;
use crate::ir::op::ReduceOp;

impl Program {
    /// Whether an expression is of numbers alone, which have no type of their own.
    pub(super) fn is_of_numbers(&self) -> bool {
        let is_number = |name: &str| matches!(self.captured(name), Some(Captured::Number(_)));
        match &self.functions[0].body[..] {
            [Statement { kind: Step::Return(Some(expression)), .. }] => {
                expression.is_of_numbers(&is_number)
            }
            _ => false,
        }
    }

    /// A function that gives the value of an expression.
    pub(super) fn of_expression(
        name: &str,
        text: &str,
        names: &[&str],
        expression: Expression,
        captured: Vec<(String, Captured)>,
    ) -> Self {
        let at = expression.at;
        let parameters = names.iter().map(|name| Parameter {
            name: (*name).into(),
            at,
            type_name: TypeName::Auto,
            is_raw: false,
            is_out: false,
            is_reference: false,
            default: None,
            is_written: false,
            is_fixed: false,
        });
        let parameters = parameters.collect();
        let body = vec![Statement { at, kind: Step::Return(Some(expression)) }];
        let result = Some(TypeName::Auto);
        let function = Function { name: name.into(), at, result, parameters, n_constants: 0, body };
        Self::new(text.into(), (vec![function], 0), Vec::new(), captured)
    }
}

impl Expression {
    fn is_of_numbers(&self, is_number: &dyn Fn(&str) -> bool) -> bool {
        match &self.kind {
            Term::Number(_, dtype) => dtype.is_none(),
            Term::Name(name) => is_number(name),
            Term::Apply(_, parts) => parts.iter().all(|part| part.is_of_numbers(is_number)),
            _ => false,
        }
    }
}

/// The reduction that `a + b` is, and the like.
pub(super) fn known(reduce: &[Arc<Program>]) -> Option<ReduceOp> {
    let [program] = reduce else { return None };
    let [Statement { kind: Step::Return(Some(expression)), .. }] = &program.functions[0].body[..]
    else {
        return None;
    };
    let Term::Apply(op, parts) = &expression.kind else { return None };
    let names = parts.iter().map(|part| match &part.kind {
        Term::Name(name) => Some(name.as_str()),
        _ => None,
    });
    let names: Vec<Option<&str>> = names.collect();
    let is_of_both = names == [Some("a"), Some("b")];
    let known = [ReduceOp::Sum, ReduceOp::Prod].into_iter();
    known.into_iter().find(|known| known.combine() == *op && is_of_both)
}
