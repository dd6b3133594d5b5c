//! Operators and types as Rust traits.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::agenda::{Agenda, Doer, Handle, Input, Member, State};
use crate::error::{Error, Result};

/// What operators take and give.
pub trait Object {
    /// Type and shape, as errors and statistics show them: `csr 1000x1000, 5000 entries`.
    fn kind(&self) -> String;
}

/// What can be pushed.
pub trait Operator<O: Object> {
    /// As errors and statistics name it.
    fn name(&self) -> &str;

    /// What operations must have in common to be done together: the kinds of what they take, unless it says otherwise.
    fn signature(&self, inputs: &[&O]) -> String {
        inputs.iter().map(|input| input.kind()).collect::<Vec<_>>().join(", ")
    }

    /// The kind of the result, if it is known beforehand; another one is an error.
    fn shape(&self, _inputs: &[&O]) -> Option<String> {
        None
    }

    /// Does one operation.
    ///
    /// # Errors
    /// Whatever it fails with; what needs its result fails with the same.
    fn exec(&self, inputs: &[&O]) -> Result<O>;

    /// Does operations of one signature, if it has a better way than one after the other.
    ///
    /// # Errors
    /// As [`Operator::exec`]: then each is tried by itself, unless they have effects.
    fn batched(&self, _members: &[Vec<&O>]) -> Option<Result<Vec<O>>> {
        None
    }

    /// Whether it does more than to give a result: it is done though nobody holds its handle, and before those of
    /// which this is true and that were pushed later.
    fn has_effects(&self) -> bool {
        false
    }
}

/// Operations of users that wait, and their results. One thread pushes and does them.
pub struct Engine<O> {
    agenda: Agenda<Own<O>, Arc<O>, Error>,
    most: usize,
}

impl<O> fmt::Debug for Engine<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("most", &self.most).finish_non_exhaustive()
    }
}

/// What was done of operators of one name and of one signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Name of the operators.
    pub name: String,
    /// What the operations have in common.
    pub signature: String,
    /// How many there were.
    pub operations: usize,
    /// In how many batches.
    pub batches: usize,
    /// Operations of the largest.
    pub largest: usize,
}

/// An operator, the same as another if it is the same object.
struct Own<O>(Arc<dyn Operator<O>>);

impl<O> Clone for Own<O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<O> PartialEq for Own<O> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<O> Eq for Own<O> {}

impl<O> Hash for Own<O> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

impl<O: Object> Default for Engine<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Object> Engine<O> {
    /// An engine whose batches are as large as they can be.
    pub fn new() -> Self {
        Self { agenda: Agenda::default(), most: usize::MAX }
    }

    /// The same with batches of at most so many operations.
    #[must_use]
    pub fn with_largest(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Pushes an operation. It is done when somebody wants its result, and never if its handle is dropped before and
    /// nothing that is done needs it: the next call lets go of it and of what it takes.
    ///
    /// # Errors
    /// `Argument` if a handle is another engine's.
    pub fn push(
        &mut self,
        operator: Arc<dyn Operator<O>>,
        inputs: Vec<Input<Arc<O>>>,
    ) -> Result<Handle> {
        for input in &inputs {
            if let Input::Handle(handle) = input {
                self.check("push", handle)?;
            }
        }
        Ok(self.agenda.push(Own(operator), inputs, 0, &Traits))
    }

    fn check(&self, op: &'static str, handle: &Handle) -> Result<()> {
        match self.agenda.owns(handle) {
            true => Ok(()),
            false => Err(Error::Argument { op, what: "the handle is another engine's".into() }),
        }
    }

    /// The result of an operation, done now if need be with all that it needs.
    ///
    /// # Errors
    /// What it failed with, or what it needs; `Argument` if the handle is another engine's.
    pub fn get(&mut self, handle: &Handle) -> Result<Arc<O>> {
        self.check("get", handle)?;
        self.agenda.run(Some(std::slice::from_ref(handle)), self.most, &mut Traits)?;
        match self.agenda.state(handle) {
            State::Done(object) => Ok(object),
            State::Failed(error) => Err(error),
            State::Pending => unreachable!("internal error: an operation that was done waits"),
        }
    }

    /// Does all that somebody holds or that has effects. Failures show where their results are wanted.
    ///
    /// # Errors
    /// None.
    pub fn flush(&mut self) -> Result<()> {
        self.agenda.run(None, self.most, &mut Traits)
    }

    /// What was done so far.
    pub fn stats(&self) -> Vec<Statistics> {
        let row = |row: &super::Row| Statistics {
            name: row.name.clone(),
            signature: row.signature.clone(),
            operations: row.operations,
            batches: row.batches,
            largest: row.largest,
        };
        self.agenda.rows().iter().map(row).collect()
    }
}

/// Does operations by their traits.
struct Traits;

impl<O: Object> Doer<Own<O>, Arc<O>, Error> for Traits {
    fn name<'p>(&self, operator: &'p Own<O>) -> &'p str {
        operator.0.name()
    }

    fn signature(&mut self, operator: &Own<O>, member: &Member<Arc<O>>) -> Result<String> {
        Ok(operator.0.signature(&lent(member)))
    }

    fn run(&mut self, operator: &Own<O>, members: &[Member<Arc<O>>]) -> Vec<Result<Arc<O>>> {
        let inputs: Vec<Vec<&O>> = members.iter().map(lent).collect();
        let results = given(&*operator.0, &inputs);
        results
            .into_iter()
            .zip(&inputs)
            .map(|(result, inputs)| checked(&*operator.0, result?, inputs))
            .collect()
    }

    fn has_effects(&self, operator: &Own<O>) -> bool {
        operator.0.has_effects()
    }
}

/// What operations give. Where a batch fails, one of them may have failed for all, so that each is tried by itself, but for
/// effects, which were there.
fn given<O: Object>(operator: &dyn Operator<O>, inputs: &[Vec<&O>]) -> Vec<Result<O>> {
    let Some(results) = operator.batched(inputs) else {
        return inputs.iter().map(|inputs| operator.exec(inputs)).collect();
    };
    let error = match results {
        Ok(results) if results.len() == inputs.len() => {
            return results.into_iter().map(Ok).collect();
        }
        Ok(results) => {
            let (got, expected) = (results.len(), inputs.len());
            let what = format!("{}: got {got} results of {expected}", operator.name());
            Error::Argument { op: "batched", what }
        }
        Err(error) => error,
    };
    let is_tried_again = !operator.has_effects() && error != Error::Interrupted;
    if inputs.len() > 1 && is_tried_again {
        let alone = inputs.iter().map(std::slice::from_ref);
        return alone.flat_map(|inputs| given(operator, inputs)).collect();
    }
    inputs.iter().map(|_| Err(error.clone())).collect()
}

/// A result, if it is what the operator says.
fn checked<O: Object>(operator: &dyn Operator<O>, object: O, inputs: &[&O]) -> Result<Arc<O>> {
    match operator.shape(inputs) {
        Some(expected) if expected != object.kind() => {
            let what = format!("{}: got {}, expected {expected}", operator.name(), object.kind());
            Err(Error::Argument { op: "exec", what })
        }
        _ => Ok(Arc::new(object)),
    }
}

fn lent<O>(member: &Member<Arc<O>>) -> Vec<&O> {
    member.inputs.iter().map(|input| &**input).collect()
}

#[cfg(test)]
mod tests {
    use std::mem;
    use std::sync::Mutex;

    use super::*;

    struct Number(i64);

    impl Object for Number {
        fn kind(&self) -> String {
            "number".into()
        }
    }

    /// Takes no negative number, and none with others.
    #[derive(Default)]
    struct Half {
        tried: Mutex<Vec<usize>>,
        has_effects: bool,
    }

    impl Operator<Number> for Half {
        fn name(&self) -> &str {
            "half"
        }

        fn exec(&self, inputs: &[&Number]) -> Result<Number> {
            match inputs[0].0 {
                number @ 0.. => Ok(Number(number / 2)),
                number => Err(Error::Argument { op: "half", what: number.to_string() }),
            }
        }

        fn batched(&self, members: &[Vec<&Number>]) -> Option<Result<Vec<Number>>> {
            self.tried.lock().unwrap().push(members.len());
            Some(members.iter().map(|inputs| self.exec(inputs)).collect())
        }

        fn has_effects(&self) -> bool {
            self.has_effects
        }
    }

    /// What becomes of 2, -1 and 8, and which batches were tried.
    fn done(has_effects: bool) -> (Vec<Option<i64>>, Vec<usize>) {
        let operator = Arc::new(Half { has_effects, ..Half::default() });
        let mut engine = Engine::new();
        let push = |number| engine.push(operator.clone(), vec![Input::Object(Arc::new(number))]);
        let handles: Vec<Handle> =
            [2, -1, 8].map(Number).into_iter().map(push).collect::<Result<_>>().unwrap();
        engine.flush().unwrap();
        let results = handles.iter().map(|handle| engine.get(handle).ok().map(|number| number.0));
        let results = results.collect();
        (results, mem::take(&mut *operator.tried.lock().unwrap()))
    }

    #[test]
    fn one_that_fails_fails_no_others() {
        assert_eq!(done(false), (vec![Some(1), None, Some(4)], vec![3, 1, 1, 1]));
        assert_eq!(done(true), (vec![None; 3], vec![3]), "what has effects had them");
    }
}
