//! Functions as one variable each; what they are made of is recorded once, aside.

use std::any::Any;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{Recorder, Settings};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::body::{Body, Callee};
use crate::ir::composite::{Composite, Rehearsed};
use crate::ir::op::Op;
use crate::ir::table::{Table, number_variable};
use crate::ir::var::{BodyId, Kind, MAX_OPERANDS, VarId, Variable};

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

    /// Records a function whose body may be anything (indices, gathers, scatters, reductions, primitives, regions) as
    /// one variable, in whose place evaluations record what `recipe` does. That depends on name, `words` and types,
    /// sizes and numbers of the arguments alone.
    ///
    /// In the body of a loop or branch `recipe` is recorded at once: what a region does to its states is known when it
    /// is closed.
    ///
    /// # Errors
    /// What `recipe` says.
    pub(crate) fn composite(
        &mut self,
        name: &'static str,
        words: &[u64],
        args: &[VarId],
        recipe: impl for<'r> Fn(&mut Recorder<'r>, &[VarId]) -> Result<VarId> + Send + Sync + 'static,
    ) -> Result<VarId> {
        if self.is_spelled_out(args) {
            return recipe(self, args);
        }
        let mut composite = self.recipe(name, words, recipe);
        match self.table.rehearsed(&composite, args)? {
            Rehearsed::Argument(place) => Ok(args[place]),
            Rehearsed::Number(kind, dtype, size) => {
                let number = self.add(number_variable(kind, dtype, size));
                let is_of_nothing = args.iter().any(|&arg| self.size(arg) == 0);
                Ok(if is_of_nothing { self.tracked_number(args, number) } else { number })
            }
            Rehearsed::Value { dtype, size, bytes_within } => {
                composite.bytes_within = bytes_within;
                Ok(self.add_composite(composite, dtype, size, args))
            }
        }
    }

    /// The same of what gives a type and size that the caller knows, and is none of its arguments and no number.
    pub(crate) fn known_composite(
        &mut self,
        name: &'static str,
        words: &[u64],
        args: &[VarId],
        (dtype, size): (DType, u64),
        recipe: impl for<'r> Fn(&mut Recorder<'r>, &[VarId]) -> Result<VarId> + Send + Sync + 'static,
    ) -> Result<VarId> {
        if self.is_spelled_out(args) {
            return recipe(self, args);
        }
        let composite = self.recipe(name, words, recipe);
        Ok(self.add_composite(composite, dtype, size, args))
    }

    /// The value of the last argument as the result of a function of the others whose derivative is told by who records
    /// it. Where none of them is tracked, it is the value itself.
    pub(crate) fn with_derivative(
        &mut self,
        name: &'static str,
        args: &[VarId],
        derivative: Arc<dyn Any + Send + Sync>,
    ) -> VarId {
        let value = *args.last().expect("internal error: a function without a value");
        let is_inside = args.iter().any(|&arg| self.var(arg).scope != 0);
        if self.table.recording.inlines
            || is_inside
            || !args.iter().any(|&arg| self.var(arg).tracked)
        {
            return value;
        }
        let mut composite = self.recipe(name, &[], |_, args| Ok(args[args.len() - 1]));
        composite.derivative = Some(derivative);
        let (dtype, size) = (self.dtype(value), self.size(value));
        self.add_composite(composite, dtype, size, args)
    }

    /// A number that arrays were found to give, since there are no lanes: it counts as computed from those that are
    /// tracked, whose gradients are zeros then.
    pub(crate) fn tracked_number(&mut self, args: &[VarId], number: VarId) -> VarId {
        let tracked = args.iter().copied().filter(|&arg| self.var(arg).tracked);
        let mut all: SmallVec<[VarId; 4]> = tracked.collect();
        if all.is_empty() || self.is_spelled_out(args) {
            return number;
        }
        all.push(number);
        let composite = self.recipe("nothing", &[], |_, args| Ok(args[args.len() - 1]));
        let (dtype, size) = (self.dtype(number), self.size(number));
        self.add_composite(composite, dtype, size, &all)
    }

    /// Whether a composite of these arguments is recorded as what it is made of: in its own place, or inside a body.
    pub(super) fn is_spelled_out(&mut self, args: &[VarId]) -> bool {
        let is_inside = self.table.open_region_mut().is_some();
        self.table.recording.inlines
            || is_inside
            || args.iter().any(|&arg| self.var(arg).scope != 0)
    }

    fn recipe(
        &self,
        name: &'static str,
        words: &[u64],
        recipe: impl for<'r> Fn(&mut Recorder<'r>, &[VarId]) -> Result<VarId> + Send + Sync + 'static,
    ) -> Composite {
        let settings = self.settings;
        let record = move |table: &mut dyn Any, line: u32, args: &[VarId]| {
            let table = table.downcast_mut().expect("internal error: recording into no table");
            let mut recorder = Recorder::with_room(table, Settings { line, ..settings })?;
            let result = recipe(&mut recorder, args)?;
            Ok(smallvec![recorder.finish(result).id])
        };
        let flags = [settings.fold, settings.bounds_check].map(u64::from);
        let words = words.iter().copied().chain(flags).collect();
        let record = Arc::new(record);
        Composite { name, words, bytes_within: 0, record, derivative: None, result_of: None }
    }

    fn add_composite(
        &mut self,
        composite: Composite,
        dtype: DType,
        size: u64,
        args: &[VarId],
    ) -> VarId {
        self.add(called(composite, dtype, size, args))
    }

    /// A result that needs no call: an argument, also with its sign changed, which products read where it lies, or a
    /// constant.
    fn known_result(&mut self, body: BodyId, position: usize, args: &[VarId]) -> Option<VarId> {
        let body = self.table.body(body);
        let output = &body.results[position];
        if let Some(&arg) = args.get(output.value.index()) {
            return Some(arg);
        }
        if let Some(argument) = body.negated(output) {
            return self.same(Op::Neg, &[args[argument]]).ok();
        }
        let (dtype, bits) = (output.dtype, body.constant(output)?);
        Some(self.constant(dtype, bits))
    }

    /// The variable of a call, with the type and the lanes of its first result.
    fn application(&mut self, body: BodyId, args: &[VarId]) -> VarId {
        let dtype = self.table.body(body).results[0].dtype;
        let size = self.lanes(body, 0, args);
        let call = Variable::new(Kind::Call(body), dtype, size, [None; MAX_OPERANDS]);
        self.add(with_arguments(call, args))
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
            Callee { name, shape, flags: [self.settings.fold, self.table.numbering.enabled] };
        let types = args.iter().map(|&arg| self.dtype(arg));
        if let Some(body) = self.table.bodies.find(&callee, types.clone()) {
            return Ok(body);
        }
        let types: Box<[DType]> = types.collect();
        let mut table = Table::aside();
        table.numbering.enabled = self.table.numbering.enabled;
        let argument = |&dtype| Variable::new(Kind::Data, dtype, 1, [None; MAX_OPERANDS]);
        let args: Vec<VarId> = types.iter().map(|dtype| table.insert(argument(dtype))).collect();
        let mut recorder = Recorder::new(&mut table, self.settings);
        let results = recipe(&mut recorder, &args)?;
        let results: Vec<VarId> =
            recorder.finish_all(&results).into_iter().map(|result| result.id).collect();
        let body = Body::new(&callee, &table, &args, &results);
        Ok(self.table.bodies.add(&callee, types, body))
    }
}

/// A call of a composite.
pub(super) fn called(composite: Composite, dtype: DType, size: u64, args: &[VarId]) -> Variable {
    let mut call = Variable::new(Kind::Composite, dtype, size, [None; MAX_OPERANDS]);
    call.cold_mut().composite = Some(Arc::new(composite));
    with_arguments(call, args)
}

/// A variable with these operands, however many they are.
pub(super) fn with_arguments(mut call: Variable, args: &[VarId]) -> Variable {
    if args.len() <= MAX_OPERANDS {
        call.operands.iter_mut().zip(args).for_each(|(operand, &arg)| *operand = Some(arg));
    } else {
        call.cold_mut().arguments = args.into();
    }
    call
}

#[cfg(test)]
mod tests {
    use crate::dtype::DType;
    use crate::ir::op::Op;
    use crate::session::Session;
    use crate::trace::region::Change;

    /// A loop in the body of a function, which an evaluation inside another loop's recording puts in.
    #[test]
    fn a_body_with_a_loop() {
        let session = Session::new().unwrap();
        let x = session.array(&[1_i32, 3, 20, -5]).unwrap();
        let doubled = session.compose("doubled", &[], &[&x], |recorder, args| {
            let (scope, _) = recorder.open_region("doubled")?;
            let state = recorder.state(scope, args[0]);
            let limit = recorder.literal(DType::I32, 10, 1);
            let small = recorder.same(Op::Lt, &[state, limit])?;
            let running = recorder.run("doubled", small)?;
            let one = recorder.constant(DType::I32, 1);
            let next = recorder.same(Op::Add, &[state, one])?;
            let change = Change { state: Some(state), otherwise: None, covered: false, next };
            let (results, _) = recorder.close_region(true, running, &[Some(state)], &[change])?;
            Ok(results[0])
        });
        let doubled = doubled.unwrap();
        let sum = doubled.try_add(&x).unwrap();
        assert_eq!(sum.to_vec::<i32>().unwrap(), [11, 13, 40, 5]);
        assert_eq!(doubled.to_vec::<i32>().unwrap(), [10, 10, 20, 10]);
    }
}
