//! What was pushed and what became of it: operations by operator and signature, those of the lowest mean depth first,
//! those with effects in the order of pushing (S28). Who reads one has those done with it that are alike and wait for nothing.

mod alike;
mod failing;
mod held;
mod letting_go;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use alike::Alike;
pub use held::Handle;
use held::Home;

use super::order::{Number, Order};

/// What an operation takes.
#[derive(Clone, Debug)]
pub enum Input<O> {
    /// An object.
    Object(O),
    /// What another operation gives.
    Handle(Handle),
}

/// What became of an operation.
#[derive(Clone, Debug)]
pub enum State<O, E> {
    /// It waits.
    Pending,
    /// Its result.
    Done(O),
    /// Why it failed, or one that it needs.
    Failed(E),
}

/// An operation that is done with others like it.
#[derive(Debug)]
pub struct Member<O> {
    /// What it takes.
    pub inputs: Vec<O>,
    /// The line that pushed it, 0 for none.
    pub line: u32,
    /// Grows from push to push.
    pub number: u64,
    /// The numbers of those whose results it takes.
    pub before: Vec<u64>,
}

/// Operations of operators of one name and of one signature together.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the operators, which are gone if nobody else has them.
    pub name: String,
    /// What they have in common.
    pub signature: String,
    /// How many were done.
    pub operations: usize,
    /// In how many batches.
    pub batches: usize,
    /// Operations of the largest.
    pub largest: usize,
}

/// How the operations of an agenda are done.
pub trait Doer<P, O, E> {
    /// As statistics name it.
    fn name<'p>(&self, operator: &'p P) -> &'p str;

    /// What operations must have in common to be done together.
    ///
    /// # Errors
    /// Why this one fails.
    fn signature(&mut self, operator: &P, member: &Member<O>) -> Result<String, E>;

    /// Does operations of one signature: a result for each, or for the first of them if it stops before the others.
    fn run(&mut self, operator: &P, members: &[Member<O>]) -> Vec<Result<O, E>>;

    /// Why nothing more is to be done, asked after each call: what was not done waits as before, and errors since then
    /// are no failures.
    fn stops(&self) -> Option<E> {
        None
    }

    /// Whether operations have effects: they are done though nobody holds them, and in the order of pushing.
    fn has_effects(&self, operator: &P) -> bool;
}

/// Operations of operators `P` on objects `O`, with errors `E`. Cloning objects and errors should be cheap.
#[derive(Debug)]
pub struct Agenda<P, O, E> {
    next: Number,
    /// Nobody else's.
    home: Arc<Home>,
    /// Those that somebody can see.
    operations: HashMap<Number, Operation<P, O, E>>,
    waiting: BTreeSet<Number>,
    /// Those with effects that wait.
    effects: BTreeSet<Number>,
    /// Those without that wait for no other.
    alike: Alike<P>,
    rows: Vec<Row>,
    /// Where the row of a name and signature is.
    places: HashMap<(String, String), usize>,
    /// The first operations that have failed, and why, until that is told; not those that needed them.
    failures: BTreeMap<Number, E>,
}

#[derive(Debug)]
struct Operation<P, O, E> {
    operator: P,
    inputs: Vec<Source<O>>,
    line: u32,
    depth: u64,
    is_held: bool,
    has_effects: bool,
    state: State<O, E>,
    /// Where it has failed: the operation whose failure that is.
    cause: Number,
    /// How many others it waits for.
    n_before: usize,
    /// Those that wait and take its result.
    after: BTreeSet<Number>,
}

#[derive(Debug)]
enum Source<O> {
    Object(O),
    Result(Number),
}

impl<P, O, E> Default for Agenda<P, O, E> {
    fn default() -> Self {
        Self {
            next: 0,
            home: Arc::default(),
            operations: HashMap::new(),
            waiting: BTreeSet::new(),
            effects: BTreeSet::new(),
            alike: Alike::default(),
            rows: Vec::new(),
            places: HashMap::new(),
            failures: BTreeMap::new(),
        }
    }
}

impl<P: Clone + Eq + Hash, O: Clone, E: Clone> Agenda<P, O, E> {
    /// Whether a handle is of this agenda.
    pub fn owns(&self, handle: &Handle) -> bool {
        handle.is_of(&self.home)
    }

    /// Numbers the operations to come from `number` on, or from the last one: those of several agendas may have an order.
    pub fn number_from(&mut self, number: u64) {
        self.next = self.next.max(number);
    }

    /// Adds an operation. Handles must be of this agenda.
    pub fn push(
        &mut self,
        operator: P,
        inputs: Vec<Input<O>>,
        line: u32,
        doer: &dyn Doer<P, O, E>,
    ) -> Handle {
        self.let_go();
        let number = self.next;
        self.next += 1;
        let mut depth = 0;
        let inputs = inputs.into_iter().map(|input| match input {
            Input::Object(object) => Source::Object(object),
            Input::Handle(handle) => {
                if let Some(before) = self.operations.get_mut(&handle.number()) {
                    depth = depth.max(before.depth + 1);
                    before.after.insert(number);
                }
                Source::Result(handle.number())
            }
        });
        let inputs: Vec<Source<O>> = inputs.collect();
        let has_effects = doer.has_effects(&operator);
        let before = self.waits_for(&inputs);
        if has_effects {
            self.effects.insert(number);
        } else if before.is_empty() {
            self.alike.add(operator.clone(), number);
        }
        let operation = Operation {
            operator,
            inputs,
            line,
            depth,
            is_held: true,
            has_effects,
            state: State::Pending,
            cause: number,
            n_before: before.len(),
            after: BTreeSet::new(),
        };
        self.operations.insert(number, operation);
        self.waiting.insert(number);
        self.alike.tidy(self.operations.len(), |number| self.waiting.contains(&number));
        Handle::new(number, &self.home)
    }

    /// What became of an operation.
    pub fn state(&self, handle: &Handle) -> State<O, E> {
        let operation = self.operations.get(&handle.number());
        operation.map_or(State::Pending, |operation| operation.state.clone())
    }

    /// Whether operations with effects wait.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Whether operations failed and that was not told.
    pub fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// How many operations wait.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many operations it knows: those that wait, and those whose results somebody can see.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// What was done so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Does what the handles need, or all that somebody holds or that has effects; of one signature at most `most` at a
    /// time. Operations with effects are done as they were pushed: before one of them all that were pushed earlier. With
    /// others those are done that are like them, are held and wait for nothing.
    ///
    /// # Errors
    /// What the doer stops with. Failures of operations are their states.
    pub fn run(
        &mut self,
        wanted: Option<&[Handle]>,
        most: usize,
        doer: &mut dyn Doer<P, O, E>,
    ) -> Result<(), E> {
        self.let_go();
        let roots: Vec<Number> = match wanted {
            Some(handles) => handles.iter().map(|handle| handle.number()).collect(),
            None => self.waiting.iter().copied().collect(),
        };
        let mut order = Order::default();
        let mut ready = self.plan(roots, &mut order);
        ready.sort_unstable();
        let mut result = self.enter(ready, &mut order, doer);
        while result.is_ok()
            && let Some((key, mut numbers)) = order.take(most)
        {
            // What was done may have let go of some.
            self.let_go();
            numbers.retain(|number| self.waiting.contains(number));
            if numbers.is_empty() {
                continue;
            }
            let joined = match wanted {
                Some(_) => self.join(&key, &numbers, &order, most, doer),
                None => Ok(None),
            };
            let results = match joined {
                Ok(Some(results)) => results,
                Ok(None) => {
                    let results = doer.run(&key.0, &self.members(&numbers));
                    numbers.into_iter().zip(results).collect()
                }
                Err(stop) => {
                    result = Err(stop);
                    break;
                }
            };
            self.count(doer.name(&key.0).into(), key.1, results.len());
            let mut ready = Vec::new();
            for (number, result) in results {
                self.settle(number, result);
                ready.extend(order.done(number));
            }
            result = doer.stops().map_or(Ok(()), Err);
            if result.is_ok() {
                result = self.enter(ready, &mut order, doer);
            }
        }
        self.let_go();
        result
    }

    fn members(&self, numbers: &[Number]) -> Vec<Member<O>> {
        numbers.iter().filter_map(|&number| self.member(number).ok()).collect()
    }

    /// The operations that wait and whose results are taken.
    fn waits_for(&self, inputs: &[Source<O>]) -> HashSet<Number> {
        let before = inputs.iter().filter_map(Source::operation);
        before.filter(|&before| self.pending(before).is_some()).collect()
    }

    /// Finds what roots need, and operations with effects before them; those of it that wait for no result.
    fn plan(&self, roots: Vec<Number>, order: &mut Order<P>) -> Vec<Number> {
        let mut open = roots;
        let mut ready = Vec::new();
        // Before which number those with effects are planned.
        let mut reached = 0;
        while let Some(number) = open.pop() {
            let Some(operation) = self.pending(number).filter(|_| !order.has(number)) else {
                continue;
            };
            if operation.has_effects && number > reached {
                open.extend(self.effects.range(reached..number));
                reached = number;
            }
            let before: HashSet<Number> =
                operation.sources().filter(|&before| self.pending(before).is_some()).collect();
            if before.is_empty() {
                ready.push(number);
            }
            open.extend(&before);
            order.add(number, operation.has_effects, before.into_iter());
        }
        ready
    }

    /// Puts operations that wait for no other with those like them. What cannot be done fails, and what needs it.
    fn enter(
        &mut self,
        mut ready: Vec<Number>,
        order: &mut Order<P>,
        doer: &mut dyn Doer<P, O, E>,
    ) -> Result<(), E> {
        ready.reverse();
        while let Some(number) = ready.pop() {
            let Some(operation) = self.operations.get(&number) else { continue };
            let (operator, depth) = (operation.operator.clone(), operation.depth);
            let signature =
                self.member(number).and_then(|member| doer.signature(&operator, &member));
            match signature {
                Ok(signature) => order.enter(number, (operator, signature), depth),
                Err(error) => {
                    if let Some(stop) = doer.stops() {
                        return Err(stop);
                    }
                    self.settle(number, Err(error));
                    ready.extend(order.done(number));
                }
            }
        }
        Ok(())
    }

    /// An operation with what it takes, or the failure of what it needs.
    fn member(&self, number: Number) -> Result<Member<O>, E> {
        let operation = &self.operations[&number];
        let object = |source: &Source<O>| match source {
            Source::Object(object) => Ok(object.clone()),
            Source::Result(before) => match &self.operations[before].state {
                State::Done(object) => Ok(object.clone()),
                State::Failed(error) => Err(error.clone()),
                State::Pending => unreachable!("internal error: an operation before another waits"),
            },
        };
        let inputs = operation.inputs.iter().map(object).collect::<Result<_, E>>()?;
        Ok(Member { inputs, line: operation.line, number, before: operation.sources().collect() })
    }

    fn settle(&mut self, number: Number, result: Result<O, E>) {
        let mut cause = number;
        if let Err(error) = &result {
            cause = self.inherited(number).unwrap_or(number);
            self.note(number, cause, error);
        }
        if let Some(operation) = self.operations.get_mut(&number) {
            self.waiting.remove(&number);
            self.effects.remove(&number);
            operation.cause = cause;
            operation.state = result.map_or_else(State::Failed, State::Done);
            let inputs = std::mem::take(&mut operation.inputs);
            let after: Vec<Number> = operation.after.iter().copied().collect();
            after.into_iter().for_each(|after| self.passed(after));
            let mut open = vec![number];
            self.give_back(number, &inputs, &mut open);
            self.let_go_of(open);
        }
    }

    /// One that an operation waits for is done, or has failed.
    fn passed(&mut self, number: Number) {
        let Some(operation) = self.operations.get_mut(&number) else { return };
        operation.n_before -= 1;
        if operation.n_before == 0 && operation.waits() && !operation.has_effects {
            self.alike.add(operation.operator.clone(), number);
        }
    }

    fn count(&mut self, name: String, signature: String, n: usize) {
        if n == 0 {
            return;
        }
        let rows = &mut self.rows;
        let place = *self.places.entry((name.clone(), signature.clone())).or_insert_with(|| {
            rows.push(Row { name, signature, operations: 0, batches: 0, largest: 0 });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.operations += n;
        row.batches += 1;
        row.largest = row.largest.max(n);
    }

    fn pending(&self, number: Number) -> Option<&Operation<P, O, E>> {
        self.operations.get(&number).filter(|operation| operation.waits())
    }
}

impl<P, O, E> Operation<P, O, E> {
    /// The operations whose results it takes.
    fn sources(&self) -> impl Iterator<Item = Number> {
        self.inputs.iter().filter_map(Source::operation)
    }

    fn waits(&self) -> bool {
        matches!(self.state, State::Pending)
    }
}

impl<O> Source<O> {
    /// The operation whose result it is.
    fn operation(&self) -> Option<Number> {
        match self {
            Self::Object(_) => None,
            Self::Result(number) => Some(*number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operators are words, objects numbers; batches are written down.
    #[derive(Default)]
    struct Sums(Vec<(&'static str, usize)>, Option<String>);

    impl Doer<&'static str, i64, String> for Sums {
        fn name<'p>(&self, operator: &'p &'static str) -> &'p str {
            operator
        }

        fn signature(&mut self, _: &&'static str, member: &Member<i64>) -> Result<String, String> {
            Ok(member.inputs.len().to_string())
        }

        fn run(
            &mut self,
            operator: &&'static str,
            members: &[Member<i64>],
        ) -> Vec<Result<i64, String>> {
            self.0.push((operator, members.len()));
            let one = |member: &Member<i64>| match *operator {
                "fail" => Err(format!("line {}", member.line)),
                _ => Ok(member.inputs.iter().sum()),
            };
            self.1 = (*operator == "stop").then(|| "stopped".into());
            if self.1.is_some() { Vec::new() } else { members.iter().map(one).collect() }
        }

        fn stops(&self) -> Option<String> {
            self.1.clone()
        }

        fn has_effects(&self, operator: &&'static str) -> bool {
            *operator == "print"
        }
    }

    fn value(agenda: &Agenda<&'static str, i64, String>, handle: &Handle) -> i64 {
        match agenda.state(handle) {
            State::Done(value) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn chains_are_batches_level_by_level() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let mut chains: Vec<Handle> = Vec::new();
        for start in 0..8 {
            chains.push(agenda.push("add", vec![Input::Object(start)], 0, &doer));
        }
        for _ in 0..50 {
            for chain in &mut chains {
                let inputs = vec![Input::Handle(chain.clone()), Input::Object(1)];
                *chain = agenda.push("add", inputs, 0, &doer);
            }
        }
        agenda.run(None, usize::MAX, &mut doer).unwrap();
        assert_eq!(value(&agenda, &chains[7]), 57);
        assert_eq!(doer.0, vec![("add", 8); 51]);
        assert_eq!(agenda.rows()[1].largest, 8);
        assert_eq!(agenda.len(), 8, "what came before is dropped");
    }

    #[test]
    fn signatures_are_apart_and_limits_are_kept() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let mut handles = Vec::new();
        for i in 0..160 {
            let inputs = vec![Input::Object(1); [1, 2, 1, 2, 3][i % 5]];
            handles.push(agenda.push("add", inputs, 0, &doer));
        }
        agenda.run(None, 50, &mut doer).unwrap();
        assert_eq!(doer.0.iter().map(|(_, n)| n).sum::<usize>(), 160);
        assert_eq!(doer.0.len(), 5, "64, 64 and 32 in batches of 50: {:?}", doer.0);
        assert_eq!(value(&agenda, &handles[4]), 3);
    }

    #[test]
    fn what_nobody_holds_is_not_done() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        for i in 0..1_000_000 {
            drop(agenda.push("add", vec![Input::Object(i)], 0, &doer));
        }
        assert!(agenda.len() < 5000, "{}", agenda.len());
        drop(agenda.push("print", vec![Input::Object(1)], 0, &doer));
        agenda.run(None, usize::MAX, &mut doer).unwrap();
        assert_eq!(doer.0, [("print", 1)]);
        assert!(agenda.is_empty());
    }

    #[test]
    fn effects_keep_their_order() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let one = agenda.push("add", vec![Input::Object(1)], 0, &doer);
        // The first one waits for a result, those behind it for the first one.
        drop(agenda.push("print", vec![Input::Handle(one)], 0, &doer));
        let read = agenda.push("print", vec![Input::Object(2)], 0, &doer);
        let failed = agenda.push("fail", Vec::new(), 0, &doer);
        drop(agenda.push("print", vec![Input::Object(3), Input::Handle(failed)], 0, &doer));
        let two = ["print", "print"]
            .map(|name| agenda.push(name, vec![Input::Object(4), Input::Object(5)], 0, &doer));
        let other = agenda.push("add", vec![Input::Object(1); 3], 0, &doer);
        agenda.run(Some(std::slice::from_ref(&read)), usize::MAX, &mut doer).unwrap();
        assert_eq!(doer.0, [("add", 1), ("print", 2)], "what comes later waits");
        agenda.run(Some(&two[1..]), usize::MAX, &mut doer).unwrap();
        assert_eq!(doer.0[2..], [("fail", 1), ("print", 2)], "one that fails holds none up");
        assert!(matches!(agenda.state(&other), State::Pending));
        assert_eq!(value(&agenda, &two[0]), 9);
    }

    #[test]
    fn a_failure_reaches_what_needs_it() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let failed = agenda.push("fail", Vec::new(), 3, &doer);
        let inputs = vec![Input::Handle(failed), Input::Object(1)];
        let after = agenda.push("add", inputs, 4, &doer);
        let other = agenda.push("add", vec![Input::Object(1)], 5, &doer);
        agenda.run(None, usize::MAX, &mut doer).unwrap();
        assert!(matches!(agenda.state(&after), State::Failed(why) if why == "line 3"));
        assert_eq!(value(&agenda, &other), 1);
        assert_eq!(agenda.take_failures(), ["line 3"]);
        assert!(agenda.take_failures().is_empty());
    }

    #[test]
    fn a_failure_is_told_once() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let handles = [3, 4].map(|line| agenda.push("fail", Vec::new(), line, &doer));
        let after = agenda.push("add", vec![Input::Handle(handles[1].clone())], 5, &doer);
        agenda.run(None, usize::MAX, &mut doer).unwrap();
        // Whoever reads it hears of the second one.
        agenda.told(&after);
        assert_eq!(agenda.take_failures(), ["line 3"]);
    }

    #[test]
    fn what_stops_leaves_the_rest_waiting() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let stops = agenda.push("stop", Vec::new(), 0, &doer);
        assert_eq!(agenda.run(None, usize::MAX, &mut doer), Err("stopped".into()));
        assert!(matches!(agenda.state(&stops), State::Pending));
        let one = agenda.push("add", vec![Input::Object(1)], 0, &doer);
        doer.1 = None;
        agenda.run(Some(std::slice::from_ref(&one)), usize::MAX, &mut doer).unwrap();
        assert_eq!(value(&agenda, &one), 1);
    }
}
