//! Kernels that users write as text, a small typed subset of C (S27): `T f(T x, T y) { return (x - y) * (x - y); }`.
//!
//! A call records what the text says, as if a program had recorded it: it is lazy, fuses with everything around it, and
//! runs on every device. Letters stand for types that a call binds; conditions become masks, and regions where they are
//! worth it; loops become regions, or are unrolled.
//!
//! | file | what |
//! |---|---|
//! | `lexer` `preprocess` `parse` `scope` `signature` `expression` `tree` `types` `program` | from text to tree |
//! | `library` `prelude` | the functions that texts may call |
//! | `dialect` | what C and CUDA have beside: words to skip, numbers, what to write instead |
//! | `record` `loops` `evaluate` `returned` `written` `item` | from tree to trace |
//! | `reduction` `parts` `part` `fold` `segments` `recordings` | reductions and scans |
//! | `store` | results into arrays that are there |
//! | `sample` | arguments for kernels that are only looked at |
//! | `stats` | how often kernels are called |
//! | `words` | what editors ask of a text |
//! | `trouble` | what is wrong, and where in the text |
//!
//! ```
//! use porcini_core::{DType, Session};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let kernel = session.kernel("T sq_diff(T x, T y) { return (x - y) * (x - y); }")?;
//! let x = session.linspace(DType::F32, 0, 3, 4)?;
//! let y = kernel.call(&session, &[&(&x).into(), &2.into()])?.value()?;
//! assert_eq!(y.array()?.to_vec::<f32>()?, [4.0, 1.0, 0.0, 1.0]);
//! # Ok(())
//! # }
//! ```

mod dialect;
mod evaluate;
mod expression;
mod fold;
mod item;
mod lexer;
mod library;
mod locals;
mod loops;
mod operands;
mod parse;
mod part;
mod parts;
mod prelude;
mod preprocess;
mod program;
mod record;
mod recordings;
mod reduction;
mod returned;
mod sample;
mod scope;
mod segments;
mod signature;
mod stats;
mod store;
mod tree;
mod trouble;
mod types;
mod words;
mod written;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use item::Item;
use program::{Program, Traced};
use record::Recorder;
use sample::{sampled, samples};
use tree::{Function, Parameter};
use trouble::Trouble;
use types::{Letters, TypeName};

pub use parts::Parts;
pub use program::{Captured, Surroundings, TextKernel};
pub use reduction::{Over, TextReduction};
pub use stats::Stats;
pub use store::Store;
pub(crate) use types::known as c_type;
pub use types::lane_type;
pub use words::{Word, is_callable, known_words, words};

use crate::array::{Array, Operand};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::var::Kind;
use crate::session::Session;
use crate::tensor::Tensor;
use crate::trace::broadcast_size;
use crate::value::{Argument, Value, lift, through_tensors};

/// What a call gives.
#[derive(Clone, Debug)]
pub struct Called {
    /// The value that the kernel returns, or its results in their order.
    pub results: Vec<Value>,
    /// Arrays and tensors that it wrote, by the numbers of the arguments.
    pub written: Vec<(usize, Value)>,
}

/// What a call gives, and where in the text that was recorded.
#[derive(Debug)]
pub struct Explained {
    /// Its results, then what it writes.
    pub values: Vec<Value>,
    /// Lines of the text, from 1, with the serials of what their statements recorded; statements that stand in others
    /// come before them.
    pub lines: Vec<(usize, Range<u64>)>,
}

/// The arrays of a call that are read and written by index.
struct Indexed {
    arrays: Vec<Array>,
    /// Which of them each `raw` parameter names: an array that was given twice has two names.
    named: Vec<usize>,
}

impl Called {
    /// The value of a kernel with one.
    ///
    /// # Errors
    /// `Argument` if it has several.
    pub fn value(mut self) -> Result<Value> {
        if self.results.len() == 1 {
            return Ok(self.results.swap_remove(0));
        }
        let what = format!("the kernel has {} results, expected one", self.results.len());
        Err(Error::Argument { op: "kernel", what })
    }
}

impl Session {
    /// Reads a kernel from text.
    ///
    /// # Errors
    /// `Kernel`, with line, column and what to do.
    pub fn kernel(&self, text: &str) -> Result<TextKernel> {
        TextKernel::new(text, &())
    }
}

impl TextKernel {
    /// Reads a kernel from text, which may use what `around` knows by name.
    ///
    /// # Errors
    /// `Kernel`, with line, column and what to do.
    pub fn new(text: &str, around: &dyn Surroundings) -> Result<Self> {
        let parsed = parse::functions(text, around);
        let parsed = parsed.map_err(|(name, trouble)| trouble.told(&name, text, ""))?;
        let kernel = &parsed.functions[parsed.number];
        if let Some(reference) = kernel.reference() {
            let what = "a parameter of the kernel itself is no reference";
            let letter = &reference.type_name;
            let remedy = format!(
                "a result is `out {letter} s`, an array `inout raw {letter} y`, read and written as y[i]"
            );
            let trouble = Trouble::new(reference.at, what).with(Some(remedy));
            return Err(trouble.told(&kernel.name, text, ""));
        }
        let program = Program::new(
            text.into(),
            (parsed.functions, parsed.number),
            parsed.constants,
            parsed.captured,
        );
        Ok(Self { program: Arc::new(program) })
    }

    fn function(&self) -> &Function {
        self.program.kernel()
    }

    /// Whether both name the same kernel.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.program, &other.program)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.function().name
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.program.text
    }

    /// Name and parameters as the text has them: `sq_diff(T x, T y)`.
    pub fn signature(&self) -> String {
        self.function().signature()
    }

    /// The types of its arguments; `None` where a call decides.
    pub fn parameter_types(&self) -> Vec<Option<DType>> {
        let given = self.function().given();
        given.map(|parameter| parameter.type_name.dtype(&Letters::default())).collect()
    }

    /// Its calls by the types of the arguments: `f32, f32`.
    pub fn stats(&self) -> Vec<(String, Stats)> {
        let stats = self.program.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.rows().map(|(types, stats)| (types.into(), stats)).collect()
    }

    /// Records a call.
    ///
    /// **Shapes**: arrays broadcast, tensors by NumPy's rules, vectors component by component; `raw` arguments are
    /// arrays of any size, or tensors by their entries in order. Without others there are as many lanes as the largest of them has. **Dtypes**: letters take the common type of their
    /// arguments, results convert as S9 says. **Evaluation**: recorded. A reference to an array that is given to several
    /// `raw` parameters is one array, and each of them sees what was written through the others.
    ///
    /// # Errors
    /// `Kernel` where the text does not fit the arguments, with line and column; `Argument` for their number and kind;
    /// `SizeMismatch`.
    pub fn call(&self, session: &Session, args: &[&Argument<'_>]) -> Result<Called> {
        self.call_where(session, None, args)
    }

    /// As [`TextKernel::call`], where lanes that are not `active` read and write no array by index.
    fn call_where(
        &self,
        session: &Session,
        active: Option<&Array>,
        args: &[&Argument<'_>],
    ) -> Result<Called> {
        let start = Instant::now();
        let called = self.recorded(session, active, args)?;
        self.count(args, start);
        Ok(called)
    }

    /// Counts a call that began then.
    fn count(&self, args: &[&Argument<'_>], start: Instant) {
        let mut stats = self.program.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.count(args, start);
    }

    /// What the kernel gives, then what it writes, for arrays of 8 lanes, to look at; types beyond those that are said are
    /// the kernel's own, and f32 of letters. `None` is a number.
    ///
    /// # Errors
    /// As [`TextKernel::call`].
    pub fn sample(&self, session: &Session, types: &[Option<DType>]) -> Result<Vec<Value>> {
        let arrays = samples(session, self.parameter_types(), types)?;
        let args = sampled(&arrays);
        let called = self.recorded(session, None, &args.iter().collect::<Vec<_>>())?;
        Ok(called.results.into_iter().chain(called.written.into_iter().map(|(_, to)| to)).collect())
    }

    /// As [`TextKernel::sample`], with what its statements recorded.
    ///
    /// # Errors
    /// As [`TextKernel::call`].
    pub fn explained(&self, session: &Session, types: &[Option<DType>]) -> Result<Explained> {
        self.program.set_traced(true);
        let results = self.sample(session, types);
        let traced = self.program.set_traced(false).into_iter();
        let lines =
            traced.map(|Traced { at, serials }| (at.shown_in(&self.program.text).0, serials));
        Ok(Explained { values: results?, lines: lines.collect() })
    }

    /// Kernels of the other functions of its text, but of those that take references.
    pub fn others(&self) -> impl Iterator<Item = Self> {
        let of = |number| Self { program: Arc::new(self.program.with_kernel(number)) };
        let is_kernel = |number: &usize| {
            *number != self.program.number && self.program.functions[*number].reference().is_none()
        };
        (0..self.program.functions.len()).filter(is_kernel).map(of)
    }

    fn recorded(
        &self,
        session: &Session,
        active: Option<&Array>,
        args: &[&Argument<'_>],
    ) -> Result<Called> {
        let function = self.function();
        let given: Vec<&Parameter> = function.given().collect();
        let needed = given.iter().filter(|parameter| parameter.default.is_none()).count();
        if !(needed..=given.len()).contains(&args.len()) {
            let what = format!("got {} arguments, expected {}", args.len(), function.signature());
            return Err(self.wrong(what, None));
        }
        let (indexed, lanes) = self.apart(args, &given)?;
        // Lanes by themselves do nothing that shows where their results do not.
        let active = active.filter(|_| !indexed.arrays.is_empty());
        let indexed = RefCell::new(indexed);
        let results = self.through(session, active, &lanes, args.len(), &indexed)?;
        let Indexed { arrays, named } = indexed.into_inner();
        let raw = given.iter().enumerate().filter(|(_, parameter)| parameter.is_raw);
        let written = raw.zip(named).filter(|((_, parameter), _)| parameter.is_written_by_index());
        let written = written.map(|((number, _), place)| {
            let array = arrays[place].clone();
            let value = match args[number] {
                Argument::Tensor(tensor) => {
                    Value::Tensor(Tensor::of([array], tensor.shape().clone())?)
                }
                _ => Value::Array(array),
            };
            Ok((number, value))
        });
        Ok(Called { results, written: written.collect::<Result<_>>()? })
    }

    /// The arrays that are read and written by index, one that is the same argument several times once, and the arguments
    /// that are so lane by lane.
    fn apart<'a>(
        &self,
        args: &[&'a Argument<'a>],
        given: &[&Parameter],
    ) -> Result<(Indexed, Vec<&'a Argument<'a>>)> {
        let mut indexed = Indexed { arrays: Vec::new(), named: Vec::new() };
        let (mut raw, mut lanes) = (Vec::<&Argument<'_>>::new(), Vec::new());
        for (number, (&arg, parameter)) in args.iter().zip(given).enumerate() {
            if !parameter.is_raw {
                lanes.push(arg);
                continue;
            }
            let array = self.raw(arg, number, parameter)?;
            let known = raw.iter().position(|other| other.shares(arg));
            indexed.named.push(known.map_or(indexed.arrays.len(), |at| indexed.named[at]));
            raw.push(arg);
            if known.is_none() {
                indexed.arrays.push(array);
            }
        }
        Ok((indexed, lanes))
    }

    /// Has errors of an array that a loop or branch of the text writes name the kernel.
    fn name_result(&self, session: &Session, array: &Array) {
        let is_result =
            session.with_table(|table| matches!(table.get(array.id()).kind, Kind::Result { .. }));
        if is_result {
            let program = self.program.clone();
            let named = move || format!("kernel `{}`", program.kernel().name);
            session.name_access(array, Box::new(named));
        }
    }

    fn wrong(&self, what: String, remedy: Option<String>) -> Error {
        Error::Kernel { what: format!("kernel `{}`: {what}", self.name()), remedy }
    }

    fn wrong_argument(&self, argument: usize, what: &str, remedy: Option<String>) -> Error {
        let what = format!("kernel `{}`: {what}", self.name());
        Error::KernelArgument { what, remedy, argument }
    }

    /// The array of a `raw` argument.
    fn raw(&self, arg: &Argument<'_>, number: usize, parameter: &Parameter) -> Result<Array> {
        let array = match arg {
            Argument::Array(array) => Some((*array).clone()),
            Argument::Tensor(tensor) => match tensor.lanes()? {
                Value::Array(array) => Some(array),
                _ => None,
            },
            _ => None,
        };
        let none = || {
            let what = format!("{} is {}, expected an array", parameter.name, arg.type_name());
            self.wrong_argument(number, &what, None)
        };
        let array = array.ok_or_else(none)?;
        match &parameter.type_name {
            TypeName::Known(dtype) if *dtype != array.dtype() => {
                let [got, expected] = [array.dtype(), *dtype].map(crate::DType::script_name);
                let what = format!("{} is {got}, expected {expected}", parameter.name);
                let remedy = format!("convert it: {expected}(x)");
                Err(self.wrong_argument(number, &what, Some(remedy)))
            }
            _ => Ok(array),
        }
    }

    /// Whether integers of the script fit the types of their parameters.
    fn check_numbers(&self, items: &[Option<Item>], letters: &Letters) -> Result<()> {
        let pairs = self.function().parameters.iter().zip(items);
        let given = pairs.filter(|(parameter, _)| parameter.is_given());
        for (number_of, (parameter, item)) in given.enumerate() {
            let (Some(Item::Number(number, None)), Some(dtype)) =
                (item, parameter.type_name.dtype(letters))
            else {
                continue;
            };
            if dtype.is_int() && number.integer().is_some() && dtype.encode(*number).is_err() {
                let told = Error::NumberRange { number: *number, dtype };
                let what = format!("{}: {told}", parameter.name);
                let remedy = format!("give it an array of a wider type: Int64C({number})");
                return Err(self.wrong_argument(number_of, &what, Some(remedy)));
            }
        }
        Ok(())
    }

    /// Goes through tensors and vectors among the arguments.
    fn through(
        &self,
        session: &Session,
        active: Option<&Array>,
        lanes: &[&Argument<'_>],
        n_given: usize,
        indexed: &RefCell<Indexed>,
    ) -> Result<Vec<Value>> {
        let name = self.name();
        let of_lanes = |operands: &[Operand<'_>]| {
            self.record(session, active, operands, n_given, &mut indexed.borrow_mut())
        };
        // Behind the first result of tensors are the others.
        let others = RefCell::new(Vec::new());
        let of_entries = |entries: &[&Argument<'_>]| {
            let mut results = lift(name, entries, &of_lanes)?;
            if results.is_empty() {
                let n = entries.iter().filter_map(|entry| entry.lanes()).max().unwrap_or(1);
                return Ok(Value::Array(session.zeros(DType::Mask, n)?));
            }
            *others.borrow_mut() = results.split_off(1);
            Ok(results.swap_remove(0))
        };
        let Some(first) = through_tensors(name, lanes, &of_entries) else {
            return lift(name, lanes, &of_lanes);
        };
        let first = first?;
        let function = self.function();
        if function.result.is_none() && !function.parameters.iter().any(Parameter::is_result) {
            return Ok(Vec::new());
        }
        let Value::Tensor(tensor) = &first else { return Ok(vec![first]) };
        let shape = tensor.shape().clone();
        let mut results = vec![first];
        for other in others.into_inner() {
            let parts: Vec<Array> = other.leaves().into_iter().cloned().collect();
            results.push(Value::Tensor(Tensor::of(parts, shape.clone())?));
        }
        Ok(results)
    }

    /// Records the call of arrays and numbers.
    fn record(
        &self,
        session: &Session,
        active: Option<&Array>,
        operands: &[Operand<'_>],
        n_given: usize,
        Indexed { arrays, named }: &mut Indexed,
    ) -> Result<Vec<Array>> {
        let function = self.function();
        let mut n: Option<u64> = None;
        let lanes = function
            .parameters
            .iter()
            .filter(|parameter| !parameter.is_raw && parameter.is_given());
        for (operand, parameter) in operands.iter().zip(lanes) {
            let Operand::Array(array) = operand else { continue };
            let (known, size) = (n.unwrap_or(1), array.size());
            let joined = broadcast_size("kernel", known, size).map_err(|_| {
                let what =
                    format!("{} has {size} lanes, arguments before it {known}", parameter.name);
                self.wrong(what, Some("sizes are equal, or one of them is 1".into()))
            });
            n = Some(joined?);
        }
        let n = n.or_else(|| arrays.iter().map(Array::size).max()).unwrap_or(1);
        let mut operands = operands.iter();
        let mut named = named.iter();
        let mut n_left = n_given;
        let items = function.parameters.iter().map(|parameter| {
            if parameter.is_result() {
                return None;
            }
            if n_left == 0 {
                return None;
            }
            n_left -= 1;
            if parameter.is_raw {
                return named.next().copied().map(Item::Raw);
            }
            operands.next().map(|operand| match operand {
                Operand::Array(array) => Item::Array((*array).clone()),
                Operand::Number(number) => Item::Number(*number, None),
            })
        });
        let items: Vec<Option<Item>> = items.collect();
        session.show_call(|table| {
            let shown = items.iter().flatten().map(|item| match item {
                Item::Array(array) | Item::Literal(array) => {
                    table.get(array.id()).serial.to_string()
                }
                Item::Raw(number) => table.get(arrays[*number].id()).serial.to_string(),
                Item::Number(number, _) => number.to_string(),
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            format!("trace_call({} <- {shown}): {}", function.name, function.signature())
        });
        if let Some(size) = active.map(Array::size).filter(|size| ![1, n].contains(size)) {
            return Err(Error::SizeMismatch { op: "into", lhs: n, rhs: size });
        }
        let mut recorder = Recorder::new(session, n, self.program.clone(), arrays.clone());
        recorder.frame.active = active.cloned();
        let mut letters = Letters::default();
        let called = function.with_defaults(items, &mut recorder).and_then(|items| {
            letters = Letters::of(&function.parameters, &items, arrays)?;
            self.check_numbers(&items, &letters)?;
            recorder.call(&self.program, function, items, letters.clone())
        });
        let (value, outs) = called
            .map_err(|trouble| trouble.told(&function.name, &self.program.text, &letters.told()))?;
        for (array, now) in arrays.iter_mut().zip(recorder.arrays) {
            if array.id() != now.id() {
                self.name_result(session, &now);
            }
            *array = now;
        }
        let results = value.into_iter().chain(outs);
        results
            .map(|result| if result.size() == n { Ok(result) } else { result.resize(n) })
            .collect()
    }
}

impl Function {
    fn reference(&self) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.is_reference)
    }

    /// The parameters for which a call gives arguments: results are none.
    fn given(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.is_given())
    }

    /// Name and parameters.
    fn signature(&self) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(ToString::to_string).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }
}
