//! From tree to trace: what is written into arrays by index (S12).

use super::item::Item;
use super::record::Recorder;
use super::tree::{Expression, Term};
use super::trouble::{Span, Trouble};
use crate::array::Array;
use crate::ir::op::{Op, ScatterOp};

impl Recorder<'_> {
    /// Writes elements of an array (S12).
    pub(super) fn write(
        &mut self,
        array: usize,
        name: &str,
        op: Option<Op>,
        index: &Array,
        value: &Item,
    ) -> Result<(), Trouble> {
        let scatter = match op {
            None => Some(ScatterOp::Set),
            Some(Op::Add | Op::Sub) => Some(ScatterOp::Add),
            Some(Op::And) => Some(ScatterOp::And),
            Some(Op::Or) => Some(ScatterOp::Or),
            Some(_) => None,
        };
        let active = self.frame.active.clone();
        let value = match (op, scatter) {
            (Some(Op::Sub), _) => self.apply(Op::Neg, std::slice::from_ref(value))?,
            (Some(op), None) => {
                let old = Item::Array(self.arrays[array].gather(index, active.as_ref())?);
                self.apply(op, &[old, value.clone()])?
            }
            _ => value.clone(),
        };
        self.scatter(array, name, scatter.unwrap_or(ScatterOp::Set), index, &value)
    }

    fn scatter(
        &mut self,
        array: usize,
        name: &str,
        op: ScatterOp,
        index: &Array,
        value: &Item,
    ) -> Result<(), Trouble> {
        if !self.frame.writable.contains(&array) {
            let what = format!("`{name}` is read only");
            let remedy = format!("declare it as one that is written: out raw T {name}");
            return Err(Trouble::new(Span::default(), what).nowhere().with(Some(remedy)));
        }
        let value = value.converted(self.session, self.arrays[array].dtype())?;
        let mut value = value.array(self.session)?;
        let active = self.frame.active.clone();
        let is_one = |array: &Array| array.size() == 1;
        if op == ScatterOp::Add
            && is_one(&value)
            && is_one(index)
            && active.as_ref().is_none_or(is_one)
        {
            // All lanes add the same to the same, and each does.
            value = value.resize(self.n)?;
        }
        self.arrays[array].scatter(op, &value, index, active.as_ref())?;
        Ok(())
    }

    /// `atomic_add(x[j], v)`, `atomic_add(x, j, v)`, `atomicAdd(&x[j], v)`
    pub(super) fn atomic(
        &mut self,
        name: &str,
        rest: &str,
        args: &[Expression],
        at: Span,
    ) -> Result<(), Trouble> {
        let rest = rest.trim_start_matches('_').to_lowercase();
        let is_sub = rest == "sub";
        let wanted = format!("scatter_{}", if is_sub { "add" } else { &rest });
        let op = ScatterOp::ALL.into_iter().find(|op| op.name() == wanted);
        let Some(op) = op.filter(|op| *op != ScatterOp::Set) else {
            let what = format!("unknown function `{name}`");
            let remedy =
                "there are atomicAdd, atomicSub, atomicMin, atomicMax, atomicAnd and atomicOr";
            return Err(Trouble::new(at, what).with(Some(remedy.into())));
        };
        let (array, index, value) = match args {
            [Expression { kind: Term::Index(array, index), .. }, value] => (array, &**index, value),
            [Expression { kind: Term::Name(array), .. }, index, value] => (array, index, value),
            _ => {
                let what = format!("`{name}` takes an element and a value: {name}(x[j], v)");
                return Err(Trouble::new(at, what));
            }
        };
        let (number, index) = (self.raw(array)?, self.index(index)?);
        let value = self.value(value)?;
        let value = if is_sub { self.apply(Op::Neg, &[value])? } else { value };
        self.scatter(number, array, op, &index, &value)
    }
}
