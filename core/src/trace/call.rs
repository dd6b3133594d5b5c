//! Functions as one variable each; what they are made of is recorded once, aside.

use std::sync::Arc;

use super::Recorder;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::body::{Body, Callee};
use crate::ir::table::Table;
use crate::ir::var::{BodyId, Kind, MAX_OPERANDS, VarId, Variable};
use crate::log::{Log, LogQueue};

impl Recorder<'_> {
    /// Records the function `name` of `args` as one variable; `recipe` says what it is made of, which must depend on
    /// name and types alone.
    ///
    /// # Errors
    /// `SizeMismatch`; what `recipe` says.
    pub(crate) fn call(
        &mut self,
        name: &'static str,
        args: &[VarId],
        recipe: impl for<'r> FnOnce(&mut Recorder<'r>, &[VarId]) -> Result<VarId>,
    ) -> Result<VarId> {
        let recipe =
            |recorder: &mut Recorder<'_>, args: &[VarId]| Ok(vec![recipe(recorder, args)?]);
        let body = self.body(name, &[], args, recipe)?;
        Ok(self.known_result(body, 0, args).unwrap_or_else(|| self.application(body, args)))
    }

    /// Records a function with several results: a variable for the call, and one for each result. The words of
    /// `shape` tell the function from others of its name.
    ///
    /// # Errors
    /// As [`Recorder::call`].
    pub(crate) fn call_all(
        &mut self,
        name: &'static str,
        shape: &[u64],
        args: &[VarId],
        recipe: impl for<'r> FnOnce(&mut Recorder<'r>, &[VarId]) -> Result<Vec<VarId>>,
    ) -> Result<Vec<VarId>> {
        let body = self.body(name, shape, args, recipe)?;
        let n_results = self.table.body(body).results.len();
        let mut call = None;
        let mut results = Vec::with_capacity(n_results);
        for position in 0..n_results {
            results.push(match self.known_result(body, position, args) {
                Some(result) => result,
                None => {
                    let call = *call.get_or_insert_with(|| self.application(body, args));
                    if n_results == 1 { call } else { self.output(body, position, call, args) }
                }
            });
        }
        Ok(results)
    }

    /// A result that needs no call: an argument, or a constant.
    fn known_result(&mut self, body: BodyId, position: usize, args: &[VarId]) -> Option<VarId> {
        let body = self.table.body(body);
        let output = &body.results[position];
        if let Some(&arg) = args.get(output.value.index()) {
            return Some(arg);
        }
        let (dtype, bits) = (output.dtype, body.constant(output)?);
        Some(self.constant(dtype, bits))
    }

    /// The variable of a call, with the type and the lanes of its first result.
    fn application(&mut self, body: BodyId, args: &[VarId]) -> VarId {
        let mut operands = [None; MAX_OPERANDS];
        let are_few = args.len() <= MAX_OPERANDS;
        if are_few {
            operands.iter_mut().zip(args).for_each(|(operand, &arg)| *operand = Some(arg));
        }
        let dtype = self.table.body(body).results[0].dtype;
        let size = self.lanes(body, 0, args);
        let mut call = Variable::new(Kind::Call(body), dtype, size, operands);
        if !are_few {
            call.cold_mut().arguments = args.into();
        }
        self.add(call)
    }

    /// The variable of one of several results of a call.
    fn output(&mut self, body: BodyId, position: usize, call: VarId, args: &[VarId]) -> VarId {
        let dtype = self.table.body(body).results[position].dtype;
        let size = self.lanes(body, position, args);
        let kind = Kind::Output { position: exactly(position) };
        self.add(Variable::new(kind, dtype, size, [Some(call), None, None, None]))
    }

    /// The lanes of a result: those of the arguments that it depends on, whose sizes fit.
    fn lanes(&self, body: BodyId, position: usize, args: &[VarId]) -> u64 {
        let arguments = &self.table.body(body).results[position].arguments;
        let mut sizes = arguments.iter().map(|&argument| self.size(args[argument]));
        sizes.find(|&size| size != 1).unwrap_or(1)
    }

    /// Body of a function, recorded in a table of its own the first time.
    fn body(
        &mut self,
        name: &'static str,
        shape: &[u64],
        args: &[VarId],
        recipe: impl for<'r> FnOnce(&mut Recorder<'r>, &[VarId]) -> Result<Vec<VarId>>,
    ) -> Result<BodyId> {
        self.broadcast(|| name, args)?;
        let callee =
            Callee { name, shape, flags: [self.settings.fold, self.table.value_numbering] };
        let types = args.iter().map(|&arg| self.dtype(arg));
        if let Some(body) = self.table.bodies.find(&callee, types.clone()) {
            return Ok(body);
        }
        let types: Box<[DType]> = types.collect();
        let mut table = Table::new(LogQueue::new(Log::new(0, Arc::new(|_| ()))));
        table.value_numbering = self.table.value_numbering;
        let argument = |&dtype| Variable::new(Kind::Data, dtype, 1, [None; MAX_OPERANDS]);
        let args: Vec<VarId> = types.iter().map(|dtype| table.insert(argument(dtype))).collect();
        let mut recorder = Recorder::new(&mut table, self.settings);
        let results = recipe(&mut recorder, &args)?;
        let results: Vec<VarId> =
            recorder.finish_all(&results).into_iter().map(|(result, _)| result).collect();
        let body = Body::new(name, &table, &args, &results);
        Ok(self.table.bodies.add(&callee, types, body))
    }
}
