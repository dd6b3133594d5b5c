//! From tree to trace: statements are taken one after the other, with a mask of the lanes that take part.

use std::sync::Arc;

use super::item::Item;
use super::program::Program;
use super::tree::{Case, Effects, Expression, Function, Passed, Statement, Step};
use super::trouble::{Span, Trouble};
use super::types::{Letters, TypeName};
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::Error;
use crate::interrupt;
use crate::ir::op::Op;
use crate::session::Session;

/// Operations above which statements under a condition are a region, that is skipped where no lane needs it.
const REGION: usize = 64;
/// Functions that call each other.
const MOST_CALLS: usize = 32;
/// The level of what is around a function.
const OUTSIDE: usize = usize::MAX;
/// Statements that one call of a kernel may take, with those of loops that are unrolled.
const MOST_STEPS: usize = 200_000;

/// Records a call of a kernel.
pub(super) struct Recorder<'s> {
    pub(super) session: &'s Session,
    /// Lanes of the call.
    pub(super) n: u64,
    pub(super) frame: Frame,
    /// Arrays that are read and written by index.
    pub(super) arrays: Vec<Array>,
    pub(super) n_steps: usize,
    /// How many steps there may be, while a loop is unrolled.
    pub(super) unrolled_to: Option<usize>,
    depth: usize,
    /// Whether somebody wants to know what statements record.
    is_traced: bool,
}

/// A call of a function.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) program: Arc<Program>,
    pub(super) letters: Letters,
    pub(super) variables: Vec<Variable>,
    /// The type of the result, unless it is that of the value; and the value.
    pub(super) result: Option<DType>,
    pub(super) value: Option<Array>,
    /// Where the first `return` is that said the type of the result.
    pub(super) first_return: Option<Span>,
    /// Lanes that have returned.
    pub(super) returned: Option<Array>,
    /// Loops and `switch`es around what is recorded.
    pub(super) loops: Vec<Jumps>,
    /// Lanes that take part, unless all do.
    pub(super) active: Option<Array>,
    /// Whether the function gives a value, and which arrays it may write.
    pub(super) gives_value: bool,
    pub(super) writable: Vec<usize>,
    /// How many masks have narrowed the lanes. What a variable is assigned on its own level holds for all lanes that
    /// will read it.
    pub(super) level: usize,
}

#[derive(Clone)]
pub(super) struct Variable {
    name: String,
    pub(super) dtype: Option<DType>,
    pub(super) item: Item,
    level: usize,
}

/// Lanes that have left a loop, or a turn of it.
#[derive(Clone, Default)]
pub(super) struct Jumps {
    pub(super) broken: Option<Array>,
    pub(super) continued: Option<Array>,
    is_switch: bool,
}

/// Whether lanes go on behind a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Goes,
    Ends,
}

/// What a region may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Variable(usize),
    Array(usize),
    Returned,
    Value,
    /// Of the loop or `switch` of this number.
    Broken(usize),
    Continued(usize),
}

impl<'s> Recorder<'s> {
    pub(super) fn new(
        session: &'s Session,
        n: u64,
        program: Arc<Program>,
        arrays: Vec<Array>,
    ) -> Self {
        let frame = Frame {
            program,
            letters: Letters::default(),
            variables: Vec::new(),
            result: None,
            value: None,
            first_return: None,
            returned: None,
            loops: Vec::new(),
            active: None,
            gives_value: false,
            writable: Vec::new(),
            level: 0,
        };
        let is_traced = frame.program.is_traced();
        Self { session, n, frame, arrays, n_steps: 0, unrolled_to: None, depth: 0, is_traced }
    }

    /// Calls a function of a program: its value, and its results by parameter.
    pub(super) fn call(
        &mut self,
        program: &Arc<Program>,
        function: &Function,
        args: Vec<Option<Item>>,
        letters: Letters,
    ) -> Result<(Option<Array>, Vec<Array>), Trouble> {
        if self.depth == MOST_CALLS {
            let what = format!("more than {MOST_CALLS} functions call each other");
            return Err(
                Trouble::new(function.at, what).with(Some("kernels have no recursion".into()))
            );
        }
        let result = function.result.as_ref().and_then(|result| result.dtype(&letters));
        let written =
            function.parameters.iter().zip(&args).filter(|(parameter, _)| parameter.is_out);
        let written = written.filter_map(|(_, arg)| match arg {
            Some(Item::Raw(number)) => Some(*number),
            _ => None,
        });
        // What the caller may not write, nobody may for it.
        let writable =
            written.filter(|number| self.depth == 0 || self.frame.writable.contains(number));
        let writable = writable.collect();
        let frame = Frame {
            program: program.clone(),
            letters,
            variables: Vec::new(),
            result,
            value: None,
            first_return: None,
            returned: None,
            loops: Vec::new(),
            active: self.frame.active.clone(),
            gives_value: function.result.is_some(),
            writable,
            level: 0,
        };
        let before = std::mem::replace(&mut self.frame, frame);
        self.depth += 1;
        let called = self.inside(function, args);
        self.depth -= 1;
        self.frame = before;
        called
    }

    fn inside(
        &mut self,
        function: &Function,
        args: Vec<Option<Item>>,
    ) -> Result<(Option<Array>, Vec<Array>), Trouble> {
        let program = self.frame.program.clone();
        self.run_open(&program.constants[..function.n_constants])?;
        let first = self.frame.variables.len();
        for (parameter, arg) in function.parameters.iter().zip(args) {
            let dtype = parameter.type_name.dtype(&self.frame.letters);
            let item = match arg {
                Some(raw @ Item::Raw(_)) => raw,
                Some(item) => match dtype {
                    Some(dtype) => item.converted(self.session, dtype)?,
                    None => item,
                },
                None => Item::Number(Scalar::Int(0), None)
                    .converted(self.session, dtype.unwrap_or(DType::F32))?,
            };
            // Who has returned still gives its results.
            let level = if parameter.is_out { OUTSIDE } else { self.frame.level };
            let name = parameter.name.clone();
            self.frame.variables.push(Variable { name, dtype, item, level });
        }
        let flow = self.run(&function.body)?;
        if function.result.is_some() && (flow == Flow::Goes || self.frame.value.is_none()) {
            let what = format!("`{}` may end without a value", function.name);
            let remedy = "end it with `return`, behind every `if`";
            return Err(Trouble::new(function.at, what).with(Some(remedy.into())));
        }
        let mut outs = Vec::new();
        for (number, parameter) in function.parameters.iter().enumerate() {
            if parameter.is_result() {
                outs.push(self.frame.variables[first + number].item.array(self.session)?);
            }
        }
        Ok((self.frame.value.take(), outs))
    }

    // ---- variables ----

    pub(super) fn declare(&mut self, name: &str, dtype: Option<DType>, item: Item) {
        let level = self.frame.level;
        self.frame.variables.push(Variable { name: name.into(), dtype, item, level });
    }

    /// The type of a value that meets nothing: of a number with a point a double where the function has doubles.
    pub(super) fn type_alone(&self, item: &Item) -> Option<DType> {
        let is_double = |item: &Item| match item {
            Item::Raw(number) => self.arrays[*number].dtype() == DType::F64,
            item => item.own_dtype() == Some(DType::F64),
        };
        let has_doubles = || {
            self.frame.result == Some(DType::F64)
                || self.frame.variables.iter().any(|variable| is_double(&variable.item))
        };
        match item {
            Item::Number(Scalar::Float(_), None) if has_doubles() => Some(DType::F64),
            item => item.dtype(),
        }
    }

    /// The type of two numbers without types, integers beyond 64 bits with a sign without one; `None` of others.
    pub(super) fn type_together(&self, one: &Item, other: &Item) -> Option<DType> {
        let (Item::Number(first, None), Item::Number(second, None)) = (one, other) else {
            return None;
        };
        let fits = |dtype: &DType| {
            dtype.is_float() || [first, second].iter().all(|number| dtype.encode(**number).is_ok())
        };
        let common = self.type_alone(one)?.promote(self.type_alone(other)?);
        common.filter(fits).or(Some(DType::U64).filter(fits))
    }

    /// The innermost variable of a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.frame.variables.iter().rposition(|variable| variable.name == name)
    }

    /// The number of the array that a name stands for, if it does for one.
    pub(super) fn named_array(&self, name: &str) -> Option<usize> {
        match self.frame.variables[self.find(name)?].item {
            Item::Raw(number) => Some(number),
            _ => None,
        }
    }

    /// Assigns in the lanes that take part; what is assigned, in the type of the variable.
    pub(super) fn assign(&mut self, at: usize, item: &Item) -> Result<Item, Trouble> {
        let variable = &self.frame.variables[at];
        if matches!(variable.item, Item::Raw(_)) {
            let what = format!("`{}` is an array, expected an element: {0}[i] = …", variable.name);
            return Err(Trouble::new(Span::default(), what).nowhere());
        }
        let dtype = variable.dtype.or_else(|| variable.item.dtype());
        let item = match dtype {
            Some(dtype) => item.converted(self.session, dtype)?,
            None => item.clone(),
        };
        let mut held = item.clone();
        if let Some(active) = self.frame.active.clone()
            && variable.level != self.frame.level
        {
            let [new, old] = [item.array(self.session)?, variable.item.array(self.session)?];
            held = Item::Array(self.select(&active, &new, &old)?);
        }
        self.frame.variables[at].item = held;
        Ok(item)
    }

    pub(super) fn select(&self, mask: &Array, a: &Array, b: &Array) -> Result<Array, Trouble> {
        let operands = [Operand::Array(mask), Operand::Array(a), Operand::Array(b)];
        Ok(self.session.apply(Op::Select, &operands)?)
    }

    /// What a type name means here.
    pub(super) fn dtype(&self, type_name: &TypeName) -> Option<DType> {
        type_name.dtype(&self.frame.letters)
    }

    // ---- masks ----

    pub(super) fn and(&self, mask: Option<&Array>, other: &Array) -> Result<Array, Trouble> {
        Ok(match mask {
            Some(mask) => mask.try_and(other)?,
            None => other.clone(),
        })
    }

    pub(super) fn or(&self, mask: Option<&Array>, other: &Array) -> Result<Array, Trouble> {
        Ok(match mask {
            Some(mask) => mask.try_or(other)?,
            None => other.clone(),
        })
    }

    /// The lanes that take part, as a mask.
    pub(super) fn active(&self) -> Result<Array, Trouble> {
        match &self.frame.active {
            Some(active) => Ok(active.clone()),
            None => Ok(self.session.full(DType::Mask, true, 1)?),
        }
    }

    /// Those of some lanes that have not left what `effects` may leave.
    pub(super) fn live(
        &self,
        lanes: Option<&Array>,
        effects: &Effects,
    ) -> Result<Option<Array>, Trouble> {
        let frame = &self.frame;
        let (breakable, looping) = (self.breakable(), self.looping());
        let gone = [
            frame.returned.as_ref().filter(|_| effects.returns),
            breakable.and_then(|at| frame.loops[at].broken.as_ref()).filter(|_| effects.breaks),
            looping.and_then(|at| frame.loops[at].continued.as_ref()).filter(|_| effects.continues),
        ];
        let mut lanes = lanes.cloned();
        for gone in gone.into_iter().flatten() {
            lanes = Some(self.and(lanes.as_ref(), &gone.try_not()?)?);
        }
        Ok(lanes)
    }

    pub(super) fn breakable(&self) -> Option<usize> {
        self.frame.loops.len().checked_sub(1)
    }

    pub(super) fn looping(&self) -> Option<usize> {
        self.frame.loops.iter().rposition(|jumps| !jumps.is_switch)
    }

    // ---- statements ----

    /// Takes statements, whose variables end with them.
    pub(super) fn run(&mut self, statements: &[Statement]) -> Result<Flow, Trouble> {
        let n_variables = self.frame.variables.len();
        let flow = self.run_open(statements);
        self.frame.variables.truncate(n_variables);
        flow
    }

    /// Takes statements, whose variables stay.
    pub(super) fn run_open(&mut self, statements: &[Statement]) -> Result<Flow, Trouble> {
        for statement in statements {
            let first = self.is_traced.then(|| self.session.next_serial());
            let flow = self.step(statement).map_err(|trouble| trouble.within(statement.at))?;
            if let Some(first) = first {
                self.frame.program.trace(statement.at, first..self.session.next_serial());
            }
            if flow == Flow::Ends {
                return Ok(Flow::Ends);
            }
        }
        Ok(Flow::Goes)
    }

    fn step(&mut self, statement: &Statement) -> Result<Flow, Trouble> {
        if interrupt::is_requested() {
            return Err(Error::Interrupted.into());
        }
        self.n_steps += 1;
        if self.unrolled_to.is_some_and(|most| self.n_steps > most) {
            // Who unrolls makes a region of the loop instead.
            return Err(Trouble::new(statement.at, "the loop is too long to be unrolled"));
        }
        if self.n_steps > MOST_STEPS {
            let what = format!("the kernel takes more than {MOST_STEPS} statements");
            let remedy = "functions are recorded wherever they are called: a loop around the call is recorded once";
            return Err(Trouble::new(statement.at, what).with(Some(remedy.into())));
        }
        match &statement.kind {
            Step::Declare(type_name, variables) => {
                for (name, first) in variables {
                    let dtype = self.dtype(type_name);
                    let item = match first {
                        Some(first) => self.value(first)?,
                        None => Item::Number(Scalar::Int(0), None),
                    };
                    let at = first.as_ref().map_or(statement.at, |first| first.at);
                    let dtype = dtype.or_else(|| self.type_alone(&item));
                    let item = match dtype {
                        Some(dtype) => item.converted(self.session, dtype),
                        None => Err(Trouble::new(at, "got a whole array, expected a value")),
                    };
                    self.declare(name, dtype, item.map_err(|trouble| trouble.within(at))?);
                }
                Ok(Flow::Goes)
            }
            Step::Do(expression) => self.perform(expression).map(|()| Flow::Goes),
            Step::Block(statements) => self.run(statements),
            Step::If(condition, then, otherwise) => self.branch(condition, [then, otherwise]),
            Step::Loop(inner) => self.repeat(inner, statement.at),
            Step::Switch(selector, cases) => self.choose(selector, cases),
            Step::Return(value) => self.leave(value.as_ref(), statement.at),
            Step::Break | Step::Continue => {
                let active = self.active()?;
                let is_break = matches!(statement.kind, Step::Break);
                let at = if is_break { self.breakable() } else { self.looping() };
                let Some(at) = at else { return Ok(Flow::Goes) };
                let jumps = &self.frame.loops[at];
                let gone = if is_break { &jumps.broken } else { &jumps.continued };
                let gone = Some(self.or(gone.as_ref(), &active)?);
                let jumps = &mut self.frame.loops[at];
                *(if is_break { &mut jumps.broken } else { &mut jumps.continued }) = gone;
                Ok(Flow::Ends)
            }
        }
    }

    fn branch(
        &mut self,
        condition: &Expression,
        branches: [&[Statement]; 2],
    ) -> Result<Flow, Trouble> {
        let condition = self.value(condition)?;
        if let Some(truth) = condition.known_truth() {
            return self.run(branches[usize::from(!truth)]);
        }
        let mask = condition.mask(self.session)?;
        let outer = self.frame.active.clone();
        let all = branches.map(Effects::of);
        let mut flows = [Flow::Goes; 2];
        for (number, statements) in branches.into_iter().enumerate() {
            if statements.is_empty() {
                continue;
            }
            let lanes = if number == 0 { mask.clone() } else { mask.try_not()? };
            let lanes = self.and(outer.as_ref(), &lanes)?;
            flows[number] = self.masked(lanes, statements, &all[number])?;
        }
        self.frame.active = outer.clone();
        if flows == [Flow::Ends; 2] {
            return Ok(Flow::Ends);
        }
        for effects in &all {
            self.frame.active = self.live(self.frame.active.as_ref(), effects)?;
        }
        Ok(Flow::Goes)
    }

    /// Takes statements in some lanes; which lanes go on behind is for the caller to say.
    fn masked(
        &mut self,
        lanes: Array,
        statements: &[Statement],
        effects: &Effects,
    ) -> Result<Flow, Trouble> {
        self.frame.level += 1;
        let flow = if effects.cost > REGION && !self.reads_what_it_writes(effects) {
            self.guarded(&lanes, statements, effects)
        } else {
            self.frame.active = Some(lanes);
            self.run(statements)
        };
        self.frame.level -= 1;
        flow
    }

    /// Whether statements may read an array that they write, which the body of a region may not.
    fn reads_what_it_writes(&self, effects: &Effects) -> bool {
        // By their numbers: an array may have two names.
        let array = |name: &String| self.named_array(name);
        let mut written = effects.assigned.iter().filter_map(array);
        let of_calls = effects.passed.iter().map(|passed| &passed.name);
        let read: Vec<usize> = effects.read.iter().chain(of_calls).filter_map(array).collect();
        let writes =
            |passed: &Passed| array(&passed.name).is_some() && self.frame.program.writes(passed);
        effects.passed.iter().any(writes) || written.any(|number| read.contains(&number))
    }

    /// Takes statements in a region that lanes skip.
    fn guarded(
        &mut self,
        lanes: &Array,
        statements: &[Statement],
        effects: &Effects,
    ) -> Result<Flow, Trouble> {
        let slots = self.slots(effects);
        let states = self.read_slots(&slots)?;
        let (outer, arrays) = (self.frame.clone(), self.arrays.clone());
        let session = self.session;
        let mut flow = Flow::Goes;
        let results = session.if_then(
            lanes,
            &states,
            |inside| {
                self.frame = outer.clone();
                self.arrays.clone_from(&arrays);
                self.write_slots(&slots, inside);
                self.frame.active = None;
                flow = self.run(statements)?;
                self.read_slots(&slots)
            },
            |inside| Ok::<_, Trouble>(inside.to_vec()),
        )?;
        self.frame = outer;
        self.arrays = arrays;
        self.write_slots(&slots, &results);
        Ok(flow)
    }

    fn choose(&mut self, selector: &Expression, cases: &[Case]) -> Result<Flow, Trouble> {
        let selector = self.value(selector)?;
        if !selector.is_integer() && selector.dtype() != Some(DType::Mask) {
            let what = "`switch` goes by an integer";
            return Err(Trouble::new(Span::default(), what).nowhere());
        }
        self.frame.loops.push(Jumps { is_switch: true, ..Jumps::default() });
        let flow = self.cases(&selector, cases);
        self.frame.loops.pop();
        flow
    }

    fn cases(&mut self, selector: &Item, cases: &[Case]) -> Result<Flow, Trouble> {
        let outer = self.frame.active.clone();
        // Which lanes each case is of; those that no label names are `default`'s.
        let mut tests: Vec<Option<Item>> = Vec::new();
        let mut named: Option<Item> = None;
        for case in cases {
            let mut test: Option<Item> = None;
            for label in case.labels.iter().flatten() {
                let value = self.value(label)?;
                let equal = self.apply(Op::Eq, &[selector.clone(), value]);
                let equal = equal.map_err(|trouble| trouble.within(label.at))?;
                test = Some(self.either(test, equal.clone())?);
                named = Some(self.either(named, equal)?);
            }
            tests.push(test);
        }
        let rest = match named {
            Some(named) => self.not(&named)?,
            None => Item::truth(true),
        };
        let mut fallen: Option<Item> = None;
        let (mut all_end, mut has_default) = (true, false);
        let mut effects = Effects::default();
        for (case, test) in cases.iter().zip(tests) {
            let is_default = case.labels.iter().any(Option::is_none);
            has_default |= is_default;
            let mut entering = fallen;
            for more in [test, is_default.then(|| rest.clone())].into_iter().flatten() {
                entering = Some(self.either(entering, more)?);
            }
            let entering = entering.unwrap_or(Item::truth(false));
            let inside = Effects::of(&case.body);
            let flow = match entering.known_truth() {
                Some(false) => Flow::Goes,
                // Everybody: as without a switch.
                Some(true) => {
                    self.frame.active = self.live(outer.as_ref(), &effects)?;
                    self.frame.level += 1;
                    let flow = self.run(&case.body)?;
                    self.frame.level -= 1;
                    flow
                }
                None => {
                    let lanes = self.and(outer.as_ref(), &entering.mask(self.session)?)?;
                    let lanes = self.live(Some(&lanes), &effects)?;
                    self.masked(lanes.expect("internal error: no lanes"), &case.body, &inside)?
                }
            };
            let is_entered = entering.known_truth() != Some(false);
            if is_entered {
                effects.returns |= inside.returns;
                effects.breaks |= inside.breaks;
                effects.continues |= inside.continues;
            }
            if is_entered && flow == Flow::Goes {
                all_end = false;
            }
            if entering.known_truth() == Some(true) && flow == Flow::Ends {
                // Nobody is left for the cases behind.
                self.frame.active = outer.clone();
                effects.breaks = false;
                if inside.breaks {
                    self.frame.active = self.live(outer.as_ref(), &effects)?;
                    return Ok(Flow::Goes);
                }
                return Ok(Flow::Ends);
            }
            fallen = (flow == Flow::Goes && is_entered).then_some(entering);
        }
        self.frame.active = outer.clone();
        if all_end && has_default && !effects.breaks {
            return Ok(Flow::Ends);
        }
        // Who broke goes on behind the switch.
        effects.breaks = false;
        self.frame.active = self.live(outer.as_ref(), &effects)?;
        Ok(Flow::Goes)
    }
}
