//! What a kernel's text means: each lane runs it by itself, statement by statement.
//!
//! The meaning of one operation is that of the oracle; which types meet in it is S7's, what a store converts S9's.

use porcini_core::ir::op::Shape;
use porcini_core::ir::scalar::apply_bits;
use porcini_core::{DType, Op, Scalar};

use super::{Arg, Expr, Function, Kind, Passed, Statement, Text};
use crate::data;
use crate::oracle::{self, Value, cast, functions, promote};

/// Statements of one lane, of which no text that is drawn takes so many.
const FUEL: usize = 1_000_000;

/// A value of one lane.
#[derive(Clone, Copy, Debug)]
enum Lane {
    /// Its bits.
    Typed(DType, u64),
    /// A literal, which takes the type of what it meets.
    Number(Scalar),
}

/// Where a statement leaves for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// The arguments of a call over `n` lanes: `None` of numbers and of those left out.
pub fn arguments(text: &Text, n: usize) -> Vec<Option<Value>> {
    let args = text.args.iter().map(|arg| match arg {
        Arg::Lanes { dtype, values, seed, size } => {
            let lanes = data::lanes(*dtype, *values, *seed, size.unwrap_or(n));
            Some(Value { dtype: *dtype, lanes })
        }
        Arg::Number(_) | Arg::Left => None,
    });
    args.collect()
}

/// The results over `n` lanes: what it returns, then its `out` parameters.
///
/// # Panics
/// If the text is not as its generator should have made it.
pub fn evaluate(text: &Text, n: usize) -> Vec<Value> {
    let arguments = arguments(text, n);
    let kernel = text.functions.last().expect("a text has a kernel");
    let outs = kernel.parameters.iter().filter(|parameter| parameter.kind == Kind::Out);
    let mut results: Vec<Value> = kernel
        .result
        .iter()
        .chain(outs.map(|out| &out.spelled))
        .map(|spelled| Value { dtype: spelled.dtype, lanes: Vec::with_capacity(n) })
        .collect();
    for lane in 0..n {
        let mut given = text.args.iter().zip(&arguments);
        let args = kernel.parameters.iter().map(|parameter| match parameter.kind {
            Kind::Out => None,
            Kind::Raw => given.next().map(|_| Lane::Number(Scalar::Int(0))),
            Kind::Given => {
                let (arg, lanes) = given.next().expect("an argument for each parameter");
                Some(match (arg, lanes) {
                    (_, Some(value)) => Lane::Typed(value.dtype, oracle::at(value, lane)),
                    (Arg::Number(number), _) => Lane::Number(*number),
                    _ => Lane::Number(parameter.default.expect("a default")),
                })
            }
        });
        let args: Vec<Option<Lane>> = args.collect();
        // Arrays by the numbers of their parameters.
        let mut arrays = vec![None; kernel.parameters.len()];
        let given = kernel.parameters.iter().enumerate().filter(|(_, one)| one.kind != Kind::Out);
        for ((number, parameter), value) in given.zip(&arguments) {
            if parameter.kind == Kind::Raw {
                arrays[number] = value.as_ref();
            }
        }
        let mut machine = Machine { text, lane, n, arrays, fuel: FUEL };
        let number = text.functions.len() - 1;
        for (result, bits) in results.iter_mut().zip(machine.call(number, &args)) {
            result.lanes.push(oracle::visible(result.dtype, bits.1));
        }
    }
    results
}

/// One lane.
struct Machine<'t> {
    text: &'t Text,
    lane: usize,
    n: usize,
    arrays: Vec<Option<&'t Value>>,
    fuel: usize,
}

/// A call of a function.
struct Frame<'t> {
    function: &'t Function,
    variables: Vec<(DType, u64)>,
    value: Option<(DType, u64)>,
}

impl<'t> Machine<'t> {
    /// Calls a function: what it returns and its results.
    fn call(&mut self, number: usize, args: &[Option<Lane>]) -> Vec<(DType, u64)> {
        let function = &self.text.functions[number];
        let none = (DType::Mask, 0);
        let mut frame =
            Frame { function, variables: vec![none; function.names.len()], value: None };
        for (number, parameter) in function.parameters.iter().enumerate() {
            let default = || parameter.default.map(Lane::Number);
            let dtype = parameter.spelled.dtype;
            let arg = args.get(number).copied().flatten().or_else(default);
            frame.variables[number] = (dtype, arg.map_or(0, |arg| store(dtype, arg)));
        }
        self.run(&mut frame, &function.body);
        let value = function.result.as_ref().map(|_| frame.value.expect("a value"));
        let outs = function.parameters.iter().zip(&frame.variables);
        let outs = outs.filter(|(parameter, _)| parameter.kind == Kind::Out);
        value.into_iter().chain(outs.map(|(_, &out)| out)).collect()
    }

    fn run(&mut self, frame: &mut Frame<'t>, statements: &'t [Statement]) -> Flow {
        for statement in statements {
            let flow = self.step(frame, statement);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn step(&mut self, frame: &mut Frame<'t>, statement: &'t Statement) -> Flow {
        self.fuel = self.fuel.checked_sub(1).expect("a text that ends");
        match statement {
            Statement::Declare { variable, spelled, first } => {
                let value = first.as_ref().map(|first| self.value(frame, first));
                let bits = value.map_or(0, |value| store(spelled.dtype, value));
                frame.variables[*variable] = (spelled.dtype, bits);
            }
            Statement::Assign(variable, op, value) => {
                let value = self.value(frame, value);
                let (dtype, old) = frame.variables[*variable];
                let value = match op {
                    Some(op) => operation(*op, &[Lane::Typed(dtype, old), value]),
                    None => value,
                };
                frame.variables[*variable].1 = store(dtype, value);
            }
            Statement::Both(one, other, value) => {
                let value = self.value(frame, value);
                let dtype = frame.variables[*other].0;
                frame.variables[*other].1 = store(dtype, value);
                let (dtype, bits) = frame.variables[*other];
                let first = frame.variables[*one].0;
                frame.variables[*one].1 = cast(first, dtype, bits);
            }
            Statement::Step { variable, up, .. } => {
                let (dtype, old) = frame.variables[*variable];
                let op = if *up { Op::Add } else { Op::Sub };
                let new = operation(op, &[Lane::Typed(dtype, old), Lane::Number(Scalar::Int(1))]);
                frame.variables[*variable].1 = store(dtype, new);
            }
            Statement::If(condition, then, otherwise) => {
                let branch = if self.holds(frame, condition) { then } else { otherwise };
                return self.run(frame, branch);
            }
            Statement::For(head, condition, body) => {
                self.step(frame, &head[0]);
                while self.holds(frame, condition) {
                    match self.run(frame, body) {
                        Flow::Break => break,
                        Flow::Return => return Flow::Return,
                        Flow::Next | Flow::Continue => {}
                    }
                    self.step(frame, &head[1]);
                }
            }
            Statement::While(condition, body) => {
                while self.holds(frame, condition) {
                    match self.run(frame, body) {
                        Flow::Break => break,
                        Flow::Return => return Flow::Return,
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            Statement::Do(body, condition) => loop {
                match self.run(frame, body) {
                    Flow::Break => break,
                    Flow::Return => return Flow::Return,
                    Flow::Next | Flow::Continue => {}
                }
                if !self.holds(frame, condition) {
                    break;
                }
            },
            Statement::Switch(selector, cases) => return self.switch(frame, selector, cases),
            Statement::Block(statements) => return self.run(frame, statements),
            Statement::Break => return Flow::Break,
            Statement::Continue => return Flow::Continue,
            Statement::Return(value) => {
                if let (Some(value), Some(result)) = (value, &frame.function.result) {
                    let value = self.value(frame, value);
                    frame.value = Some((result.dtype, store(result.dtype, value)));
                }
                return Flow::Return;
            }
            Statement::Call(number, passed) => {
                let args = passed.iter().map(|passed| match passed {
                    Passed::Value(value) => Some(self.value(frame, value)),
                    Passed::Place(_) => None,
                });
                let args: Vec<Option<Lane>> = args.collect();
                let results = self.call(*number, &args);
                let places = passed.iter().filter_map(|passed| match passed {
                    Passed::Place(variable) => Some(*variable),
                    Passed::Value(_) => None,
                });
                let returned = usize::from(self.text.functions[*number].result.is_some());
                for (variable, (dtype, bits)) in places.zip(&results[returned..]) {
                    let to = frame.variables[variable].0;
                    frame.variables[variable].1 = cast(to, *dtype, *bits);
                }
            }
        }
        Flow::Next
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'t>,
        selector: &'t Expr,
        cases: &'t [(Vec<Option<i64>>, Vec<Statement>)],
    ) -> Flow {
        let selector = self.value(frame, selector);
        let is_of = |label: &Option<i64>| {
            label.is_some_and(|label| {
                truth(operation(Op::Eq, &[selector, Lane::Number(Scalar::Int(label))]))
            })
        };
        let first = cases.iter().position(|(labels, _)| labels.iter().any(is_of));
        let default = || cases.iter().position(|(labels, _)| labels.contains(&None));
        let Some(first) = first.or_else(default) else { return Flow::Next };
        for (_, body) in &cases[first..] {
            match self.run(frame, body) {
                Flow::Next => {}
                Flow::Break => return Flow::Next,
                flow => return flow,
            }
        }
        Flow::Next
    }

    fn holds(&mut self, frame: &mut Frame<'t>, condition: &'t Expr) -> bool {
        truth(self.value(frame, condition))
    }

    fn value(&mut self, frame: &mut Frame<'t>, expr: &'t Expr) -> Lane {
        let mask = |truth: bool| Lane::Typed(DType::Mask, u64::from(truth));
        match expr {
            Expr::Number(number) => Lane::Number(*number),
            Expr::Limit(spelled, is_max) => {
                Lane::Typed(spelled.dtype, limit(spelled.dtype, *is_max))
            }
            Expr::Variable(variable) => {
                let (dtype, bits) = frame.variables[*variable];
                Lane::Typed(dtype, bits)
            }
            Expr::Lane => Lane::Typed(DType::I32, self.lane as u64),
            Expr::Count => Lane::Number(number(self.n)),
            Expr::Len(array) => Lane::Number(number(self.array(*array).lanes.len())),
            Expr::Read(array, index) => {
                let index = self.value(frame, index);
                let array = self.array(*array);
                let index = match index {
                    Lane::Typed(dtype, bits) => cast(DType::I64, dtype, bits).cast_signed(),
                    Lane::Number(number) => DType::I64.encode(number).map_or(-1, u64::cast_signed),
                };
                // One lane is read by every index; beyond others lie zeros (S13).
                let index = if array.lanes.len() == 1 { 0 } else { index };
                let place = usize::try_from(index).ok();
                let bits = place.and_then(|place| array.lanes.get(place)).copied();
                Lane::Typed(array.dtype, bits.expect("an index inside"))
            }
            Expr::Op(op, args) => {
                let mut lanes = [Lane::Number(Scalar::Int(0)); 3];
                for (lane, arg) in lanes.iter_mut().zip(args) {
                    *lane = self.value(frame, arg);
                }
                operation(*op, &lanes[..args.len()])
            }
            Expr::Function(row, args) => {
                let lanes: Vec<Lane> = args.iter().map(|arg| self.value(frame, arg)).collect();
                let typed = typed(&lanes);
                let types: Vec<DType> = typed.iter().map(|typed| typed.0).collect();
                let row_of = &porcini_core::trace::functions::FUNCTIONS[*row];
                let (_, dtype) = oracle::function_type(row_of, &types);
                let values = typed.iter().map(|&(dtype, bits)| Value { dtype, lanes: vec![bits] });
                let values: Vec<Value> = values.collect();
                let result = oracle::function(*row, &values.iter().collect::<Vec<_>>());
                Lane::Typed(dtype, result[0])
            }
            Expr::Not(part) => mask(!self.holds(frame, part)),
            Expr::Logic(is_or, parts) => {
                let first = self.holds(frame, &parts[0]);
                let decided = first == *is_or;
                mask(if decided { *is_or } else { self.holds(frame, &parts[1]) })
            }
            Expr::Choose(parts) => {
                // The type is that of both, and who is not chosen has no lane to read with.
                let chosen = if self.holds(frame, &parts[0]) { 1 } else { 2 };
                let value = self.value(frame, &parts[chosen]);
                let types = [1, 2].map(|part| self.type_of(frame, &parts[part]));
                match (types, value) {
                    ([Some(a), Some(b)], Lane::Typed(from, bits)) => {
                        let dtype = promote(a, b);
                        Lane::Typed(dtype, cast(dtype, from, bits))
                    }
                    ([Some(dtype), None] | [None, Some(dtype)], value) => {
                        Lane::Typed(dtype, store(dtype, value))
                    }
                    _ => panic!("a choice of two numbers, or of a mask and another"),
                }
            }
            Expr::Cast(spelled, part) => {
                let value = self.value(frame, part);
                Lane::Typed(spelled.dtype, store(spelled.dtype, value))
            }
            Expr::Own(number, args) => {
                let args: Vec<Option<Lane>> =
                    args.iter().map(|arg| Some(self.value(frame, arg))).collect();
                let (dtype, bits) = self.call(*number, &args)[0];
                Lane::Typed(dtype, bits)
            }
        }
    }

    fn array(&self, variable: usize) -> &'t Value {
        self.arrays[variable].expect("an array")
    }

    /// The type of an expression; `None` of a literal.
    fn type_of(&self, frame: &Frame<'t>, expr: &'t Expr) -> Option<DType> {
        match expr {
            Expr::Number(_) | Expr::Count | Expr::Len(_) => None,
            Expr::Limit(spelled, _) | Expr::Cast(spelled, _) => Some(spelled.dtype),
            Expr::Variable(variable) => Some(frame.variables[*variable].0),
            Expr::Lane => Some(DType::I32),
            Expr::Read(array, _) => Some(self.array(*array).dtype),
            Expr::Not(_) | Expr::Logic(..) => Some(DType::Mask),
            Expr::Own(number, _) => {
                self.text.functions[*number].result.as_ref().map(|result| result.dtype)
            }
            Expr::Op(op, args) if op.info().shape == Shape::Compare => {
                args.iter().find_map(|arg| self.type_of(frame, arg)).map(|_| DType::Mask)
            }
            Expr::Op(op, args) => {
                let types = self.types_of(frame, args);
                if types.is_empty() { None } else { Some(oracle::computed_type(*op, &types)) }
            }
            Expr::Function(row, args) => {
                let types = self.types_of(frame, args);
                let row = &porcini_core::trace::functions::FUNCTIONS[*row];
                Some(oracle::function_type(row, &types).1)
            }
            Expr::Choose(parts) => {
                let types = [1, 2].map(|part| self.type_of(frame, &parts[part]));
                types.into_iter().flatten().reduce(promote)
            }
        }
    }

    /// Types of operands: those of literals are what they become.
    fn types_of(&self, frame: &Frame<'t>, args: &'t [Expr]) -> Vec<DType> {
        let types: Vec<Option<DType>> = args.iter().map(|arg| self.type_of(frame, arg)).collect();
        let Some(common) = types.iter().flatten().copied().reduce(joined) else {
            return Vec::new();
        };
        let pairs = args.iter().zip(&types).map(|(arg, dtype)| match (dtype, arg) {
            (Some(dtype), _) => *dtype,
            (None, Expr::Number(number)) => common.meet(*number),
            (None, _) => common,
        });
        pairs.collect()
    }
}

fn number(n: usize) -> Scalar {
    Scalar::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// The type in which literals join: masks have none of their own.
fn joined(a: DType, b: DType) -> DType {
    match (a, b) {
        (DType::Mask, other) | (other, DType::Mask) => other,
        _ => promote(a, b),
    }
}

/// Whether a value is not 0.
fn truth(value: Lane) -> bool {
    store(DType::Mask, value) != 0
}

/// A value stored as a type (S9).
fn store(dtype: DType, value: Lane) -> u64 {
    match value {
        Lane::Typed(from, bits) => cast(dtype, from, bits),
        Lane::Number(Scalar::Float(number)) if !dtype.is_float() => {
            cast(dtype, DType::F64, number.to_bits())
        }
        Lane::Number(number) if dtype == DType::Mask => u64::from(number.to_f64() != 0.0),
        Lane::Number(Scalar::Bool(truth)) => cast(dtype, DType::Mask, u64::from(truth)),
        Lane::Number(number) => dtype.encode(number).expect("a number that fits"),
    }
}

/// Operands with the types that literals take.
fn typed(lanes: &[Lane]) -> Vec<(DType, u64)> {
    let types = lanes.iter().filter_map(|lane| match lane {
        Lane::Typed(dtype, _) => Some(*dtype),
        Lane::Number(_) => None,
    });
    let common = types.reduce(joined).expect("an operand with a type");
    let typed = lanes.iter().map(|lane| match *lane {
        Lane::Typed(dtype, bits) => (dtype, bits),
        Lane::Number(Scalar::Bool(truth)) => (DType::Mask, u64::from(truth)),
        Lane::Number(number) => {
            let dtype = common.meet(number);
            (dtype, dtype.encode(number).expect("a number that fits"))
        }
    });
    typed.collect()
}

/// An operation on one lane.
fn operation(op: Op, lanes: &[Lane]) -> Lane {
    if lanes.iter().all(|lane| matches!(lane, Lane::Number(_))) {
        return Lane::Number(of_numbers(op, lanes));
    }
    let operands = typed(lanes);
    let mut types = [DType::Mask; 3];
    let mut bits = [0; 3];
    for (i, &(dtype, lane)) in operands.iter().enumerate() {
        (types[i], bits[i]) = (dtype, lane);
    }
    let types = &types[..operands.len()];
    let dtype = oracle::computed_type(op, types);
    let is_compare = op.info().shape == Shape::Compare;
    let result = if is_compare { DType::Mask } else { dtype };
    let converted = |i: usize| cast(dtype, types[i], bits[i]);
    let lane = match op {
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc if dtype.is_int() => bits[0],
        // A truth value is 0 or 1 where it meets an integer.
        Op::And | Op::Or
            if dtype.is_float() && types[0] != types[1] && types.contains(&DType::Mask) =>
        {
            let (mask, x) = if types[0] == DType::Mask { (0, 1) } else { (1, 0) };
            match (op, bits[mask] != 0) {
                (Op::And, true) | (Op::Or, false) => bits[x],
                (Op::And, false) => 0,
                _ => data::low_bits(dtype),
            }
        }
        Op::Eq | Op::Ne if dtype == DType::Mask => {
            u64::from((bits[0] == bits[1]) == (op == Op::Eq))
        }
        Op::Shl | Op::Shr => oracle::shift(op, dtype, bits[0], types[1], bits[1]),
        Op::Rem if dtype.is_float() => functions::remainder(dtype, converted(0), converted(1)),
        _ => {
            let mut operands = [0; 3];
            (0..types.len()).for_each(|i| operands[i] = converted(i));
            apply_bits(op, result, dtype, operands)
        }
    };
    Lane::Typed(result, lane)
}

/// An operation on numbers of a script: of 64 bits.
fn of_numbers(op: Op, lanes: &[Lane]) -> Scalar {
    let numbers = lanes.iter().map(|lane| match lane {
        Lane::Number(number) => *number,
        Lane::Typed(..) => unreachable!("a lane with a type"),
    });
    let numbers: Vec<Scalar> = numbers.collect();
    let is_float = numbers.iter().any(|number| matches!(number, Scalar::Float(_)));
    let dtype = if is_float { DType::F64 } else { DType::I64 };
    let mut bits = [0; 3];
    for (bits, number) in bits.iter_mut().zip(&numbers) {
        *bits = dtype.encode(*number).expect("a number that fits");
    }
    let result = if op.info().shape == Shape::Compare { DType::Mask } else { dtype };
    result.decode(apply_bits(op, result, dtype, bits))
}

fn limit(dtype: DType, is_max: bool) -> u64 {
    let sign = 1_u64 << (dtype.bits() - 1);
    match (dtype, is_max) {
        (DType::F16, _) => 0x7bff | if is_max { 0 } else { sign },
        (DType::F32, _) => u64::from(f32::MAX.to_bits()) | if is_max { 0 } else { sign },
        (DType::F64, _) => f64::MAX.to_bits() | if is_max { 0 } else { sign },
        (DType::Mask, _) => u64::from(is_max),
        (dtype, true) if dtype.is_signed() => sign - 1,
        (dtype, false) if dtype.is_signed() => sign,
        (dtype, true) => data::low_bits(dtype),
        (_, false) => 0,
    }
}
