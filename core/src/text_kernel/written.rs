//! From tree to trace: what is written into arrays by index (S12).

use super::item::Item;
use super::record::Recorder;
use super::tree::{Expression, Term};
use super::trouble::{Span, Trouble};
use crate::array::Array;
use crate::ir::op::{Op, ScatterOp};

/// An element of an array that is written.
pub(super) struct Element<'e> {
    /// The array's number and name.
    pub(super) array: usize,
    name: &'e str,
    index: Array,
    at: Span,
}

impl Recorder<'_> {
    /// `name[index]`, which stands there.
    pub(super) fn written_element<'e>(
        &mut self,
        name: &'e str,
        index: &Expression,
        at: Span,
    ) -> Result<Element<'e>, Trouble> {
        Ok(Element { array: self.raw(name)?, name, index: self.index(index)?, at })
    }

    /// Says what errors call the access by which an array was recorded.
    pub(super) fn name_access(&self, array: &Array, at: Span) {
        let program = self.frame.program.clone();
        let named = move || {
            let (line, written) = at.shown_in(&program.text);
            format!("kernel `{}`, line {line}, {written}", program.kernel().name)
        };
        self.session.name_access(array, Box::new(named));
    }

    /// Writes an element (S12).
    pub(super) fn write(
        &mut self,
        element: &Element<'_>,
        op: Option<Op>,
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
                let old = Item::Array(
                    self.arrays[element.array].gather(&element.index, active.as_ref())?,
                );
                self.stepped_by(op, old, value.clone())?
            }
            _ => value.clone(),
        };
        self.scatter(element, scatter.unwrap_or(ScatterOp::Set), &value)
    }

    fn scatter(
        &mut self,
        element: &Element<'_>,
        op: ScatterOp,
        value: &Item,
    ) -> Result<(), Trouble> {
        let &Element { array, name, ref index, at } = element;
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
        self.name_access(&self.arrays[array], at);
        Ok(())
    }

    /// `atomic_add(x[j], v)`, `atomic_add(x, j, v)`, `atomicAdd(&x[j], v)`, `atomicAdd(x + j, v)`
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
        let element = self.written_element(array, index, at)?;
        let value = self.value(value)?;
        let value = if is_sub { self.apply(Op::Neg, &[value])? } else { value };
        self.scatter(&element, op, &value)
    }
}
