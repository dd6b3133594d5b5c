//! Functions as one variable each; what they are made of is recorded once, aside.

use std::sync::Arc;

use super::Recorder;
use crate::error::Result;
use crate::ir::body::{Body, BodyId, BodyKey, MAX_ARGUMENTS};
use crate::ir::table::Table;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};
use crate::log::{Log, LogQueue};

impl Recorder<'_> {
    /// Records the function `name` of `args`: as one variable, if what `inline` records of them is long. That must
    /// depend on name and types alone.
    ///
    /// # Errors
    /// `SizeMismatch`; what `inline` says.
    pub(crate) fn call(
        &mut self,
        name: &'static str,
        args: &[VarId],
        inline: impl for<'r> Fn(&mut Recorder<'r>, &[VarId]) -> Result<VarId>,
    ) -> Result<VarId> {
        if args.len() > MAX_ARGUMENTS || self.has_parts_outside(args) {
            return inline(self, args);
        }
        let mut types = [None; MAX_ARGUMENTS];
        for (dtype, &arg) in types.iter_mut().zip(args) {
            *dtype = Some(self.dtype(arg));
        }
        let key = BodyKey { name, types, flags: [self.settings.fold, self.table.value_numbering] };
        let body = match self.table.bodies.find(&key) {
            Some(body) => body,
            None => {
                let body = self.body(&key, &inline)?;
                self.table.bodies.add(key, body)
            }
        };
        match body {
            Some(body) => self.call_body(name, body, args),
            None => inline(self, args),
        }
    }

    /// Whether a part of a function may be computed once, before the loop in which the rest is.
    fn has_parts_outside(&self, args: &[VarId]) -> bool {
        let args = args.iter().map(|&arg| self.var(arg));
        let mut scopes = args.filter(|arg| arg.kind.number().is_none()).map(|arg| arg.scope);
        let first = scopes.next();
        scopes.any(|scope| Some(scope) != first)
    }

    fn call_body(&mut self, name: &'static str, body: BodyId, args: &[VarId]) -> Result<VarId> {
        let size = self.broadcast(|| name, args)?;
        let mut operands = [None; MAX_OPERANDS];
        for (operand, &arg) in operands.iter_mut().zip(args) {
            *operand = Some(arg);
        }
        let dtype = self.table.body(body).dtype;
        Ok(self.add(Variable::new(Kind::Call(body), dtype, size, operands)))
    }

    /// What a function is made of, recorded in a table of its own.
    fn body(
        &mut self,
        key: &BodyKey,
        inline: impl for<'r> Fn(&mut Recorder<'r>, &[VarId]) -> Result<VarId>,
    ) -> Result<Option<Body>> {
        let mut table = Table::new(LogQueue::new(Log::new(0, Arc::new(|_| ()))));
        table.value_numbering = self.table.value_numbering;
        let argument = |dtype| Variable::new(Kind::Data, dtype, 1, [None; MAX_OPERANDS]);
        let types = key.types.into_iter().flatten();
        let args: Vec<VarId> = types.map(|dtype| table.insert(argument(dtype))).collect();
        let mut recorder = Recorder::new(&mut table, self.settings);
        let result = inline(&mut recorder, &args)?;
        let (result, _) = recorder.finish(result);
        Ok(Body::new(key.name, &table, &args, result))
    }
}
