//! Recorders over which functions of our own IR are expanded.

use std::cell::RefCell;

use super::expr::{Expr, Record};
use super::nested::NestedCall;
use super::{Recorder, functions};
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::var::VarId;

/// A recorder as expressions see it.
struct Shared<'a, 't> {
    recorder: RefCell<&'a mut Recorder<'t>>,
    /// Whether functions stay calls, as derivatives have it.
    keeps_calls: bool,
}

/// Recording a function's own operations cannot fail.
fn sound(result: Result<VarId>) -> VarId {
    result.unwrap_or_else(|error| panic!("internal error: in a function's definition: {error}"))
}

impl Record for Shared<'_, '_> {
    fn dtype(&self, id: VarId) -> DType {
        self.recorder.borrow().dtype(id)
    }

    fn constant(&self, dtype: DType, bits: u64) -> VarId {
        self.recorder.borrow_mut().constant(dtype, bits)
    }

    fn op(&self, op: Op, args: &[VarId]) -> VarId {
        let mut recorder = self.recorder.borrow_mut();
        sound(match *args {
            [mask, a, b] if op == Op::Select => recorder.select(mask, a, b),
            _ => recorder.same(op, args),
        })
    }

    fn cast(&self, id: VarId, dtype: DType) -> VarId {
        sound(self.recorder.borrow_mut().cast(id, dtype))
    }

    fn reinterpret(&self, id: VarId, dtype: DType) -> VarId {
        sound(self.recorder.borrow_mut().reinterpret(id, dtype))
    }

    fn call(&self, name: &'static str, args: &[VarId]) -> VarId {
        let function = functions::find(name);
        let function = function.unwrap_or_else(|| panic!("internal error: no function {name}"));
        if self.keeps_calls {
            return sound(self.recorder.borrow_mut().function(function, args));
        }
        let args: Vec<Expr<'_>> = args.iter().map(|&id| Expr::new(self, id)).collect();
        function.recipe()(&args).id()
    }

    fn keeps_calls(&self) -> bool {
        self.keeps_calls
    }

    fn nested(&self, name: &str, shape: &[u64], entries: &[VarId]) -> Vec<VarId> {
        let call = NestedCall::of_shape(name, shape);
        let call = call.unwrap_or_else(|| panic!("internal error: no function {name}"));
        let results = self.recorder.borrow_mut().nested(call, entries);
        results.unwrap_or_else(|error| panic!("internal error: in a derivative: {error}"))
    }
}

impl Recorder<'_> {
    /// Records `function` of `args`, after checking that their sizes broadcast.
    ///
    /// # Errors
    /// `SizeMismatch`, naming the function `name`.
    pub(crate) fn expand(
        &mut self,
        name: &'static str,
        args: &[VarId],
        function: impl for<'r> FnOnce(&[Expr<'r>]) -> Expr<'r>,
    ) -> Result<VarId> {
        Ok(self.expand_with(name, args, false, |args| vec![function(args)])?[0])
    }

    /// [`Recorder::expand`] for a function with several results.
    ///
    /// # Errors
    /// As [`Recorder::expand`].
    pub(crate) fn expand_all(
        &mut self,
        name: &'static str,
        args: &[VarId],
        function: impl for<'r> FnOnce(&[Expr<'r>]) -> Vec<Expr<'r>>,
    ) -> Result<Vec<VarId>> {
        self.expand_with(name, args, false, function)
    }

    /// [`Recorder::expand_all`] where functions of the tables stay calls.
    ///
    /// # Errors
    /// As [`Recorder::expand`].
    pub(crate) fn expand_calls(
        &mut self,
        name: &'static str,
        args: &[VarId],
        function: impl for<'r> FnOnce(&[Expr<'r>]) -> Vec<Expr<'r>>,
    ) -> Result<Vec<VarId>> {
        self.expand_with(name, args, true, function)
    }

    fn expand_with(
        &mut self,
        name: &'static str,
        args: &[VarId],
        keeps_calls: bool,
        function: impl for<'r> FnOnce(&[Expr<'r>]) -> Vec<Expr<'r>>,
    ) -> Result<Vec<VarId>> {
        self.broadcast(|| name, args)?;
        let shared = Shared { recorder: RefCell::new(self), keeps_calls };
        let args: Vec<Expr<'_>> = args.iter().map(|&id| Expr::new(&shared, id)).collect();
        Ok(function(&args).into_iter().map(Expr::id).collect())
    }
}
