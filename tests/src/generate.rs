//! Draws programs over the whole operation table.

use porcini_core::ir::op::{Class, OPS, Op, OpInfo, ReduceOp, ScatterOp, Shape};
use porcini_core::ir::primitive::Order;
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::{DType, Scalar};

use crate::data::{self, FLOATS, INTEGERS, NUMBERS, Values, accumulated};
use crate::loops::{Loop, Uses};
use crate::oracle::{computed_type, function_type, promote};
use crate::programs::{Extent, Node, Program, Step};
use crate::random::Random;
use crate::whole::Whole;

/// The program of a seed.
pub fn generate(seed: u64, values: Values) -> Program {
    let random = Random::new(seed);
    let mut draft = Draft { random, values, nodes: Vec::new(), consumed: Vec::new() };
    let n_steps = 8 + draft.random.below(48);
    while draft.nodes.len() < n_steps {
        draft.step();
    }
    draft.finish()
}

struct Draft {
    random: Random,
    values: Values,
    nodes: Vec<Node>,
    /// Targets of scatters that did not keep them.
    consumed: Vec<bool>,
}

impl Draft {
    fn step(&mut self) {
        match self.random.below(29) {
            25 | 26 => self.region(),
            27 | 28 => self.whole(),
            0 => drop(self.input_of_any_type()),
            1..=9 => self.op(),
            10 | 11 => self.number(),
            12..=14 => self.function(),
            15 | 16 => drop(self.cast()),
            17 => self.reinterpret(),
            18 | 19 => self.reduce(),
            20 | 21 => self.gather(),
            22 | 23 => self.scatter(),
            _ => self.primitive(),
        }
    }

    fn finish(mut self) -> Program {
        let mut used = vec![false; self.nodes.len()];
        for node in &self.nodes {
            node.step.operands().iter().for_each(|&operand| used[operand] = true);
        }
        let outputs =
            (0..self.nodes.len()).filter(|&i| !self.consumed[i] && (!used[i] || i % 11 == 0));
        let outputs: Vec<usize> = outputs.collect();
        Program { nodes: self.nodes, outputs, drop_early: self.random.one_in(2) }
    }

    fn add(&mut self, step: Step, dtype: DType, extent: Extent) -> usize {
        self.nodes.push(Node { step, dtype, extent });
        self.consumed.push(false);
        self.nodes.len() - 1
    }

    /// The extent of an operation on `args`.
    fn extent(&self, args: &[usize]) -> Extent {
        let one = args.iter().all(|&arg| self.nodes[arg].extent == Extent::One);
        if one { Extent::One } else { Extent::N }
    }

    // ---- operands ----

    /// An earlier value of type `dtype`, preferably a late one, or a new input.
    fn operand(&mut self, dtype: DType) -> usize {
        let live = |i: &usize| !self.consumed[*i] && self.nodes[*i].dtype == dtype;
        let candidates: Vec<usize> = (0..self.nodes.len()).filter(live).collect();
        if candidates.is_empty() || self.random.one_in(12) {
            return self.input(dtype);
        }
        let late = candidates.len().saturating_sub(4);
        let from = if self.random.one_in(3) { 0 } else { late };
        candidates[from + self.random.below(candidates.len() - from)]
    }

    fn any(&mut self) -> usize {
        let dtype = self.random.pick(&DType::ALL);
        self.operand(dtype)
    }

    fn input_of_any_type(&mut self) -> usize {
        let dtype = self.random.pick(&DType::ALL);
        self.input(dtype)
    }

    fn input(&mut self, dtype: DType) -> usize {
        let extent = if self.random.one_in(4) { Extent::One } else { Extent::N };
        match self.random.below(6) {
            0 | 1 => {
                let bits = data::lane(&mut self.random, dtype, self.values);
                self.add(Step::Full(bits), dtype, extent)
            }
            2 if dtype.is_number() => {
                let start = self.random.below(100) as i64;
                let step = 1 + self.random.below(3) as i64;
                let step = if dtype.is_signed() && self.random.one_in(2) { -step } else { step };
                self.add(Step::Range { start, step }, dtype, Extent::N)
            }
            _ => {
                let (values, seed) = (self.values, self.random.word());
                self.add(Step::Data { values, seed }, dtype, extent)
            }
        }
    }

    fn active(&mut self) -> Option<usize> {
        self.random.one_in(2).then(|| self.operand(DType::Mask))
    }

    fn index(&mut self) -> usize {
        let dtype = self.random.pick(INTEGERS);
        let mut index = self.operand(dtype);
        if dtype.is_signed() && !self.random.one_in(6) {
            let unsigned = dtype.unsigned();
            index = self.add(Step::Cast(index), unsigned, self.nodes[index].extent);
        }
        let slack = u32::from(self.random.one_in(4)) * 3;
        let Node { dtype, extent, .. } = self.nodes[index];
        self.add(Step::Wrap(index, slack), dtype, extent)
    }

    // ---- steps ----

    fn op(&mut self) {
        let row = &OPS[self.random.below(OPS.len())];
        if row.shape == Shape::Special {
            return;
        }
        let dtype = self.operand_type(row);
        let mut args = Vec::new();
        if row.shape == Shape::Select {
            args.push(self.operand(DType::Mask));
        }
        while args.len() < row.arity {
            let other = self.companion(row, dtype);
            args.push(self.operand(if args.is_empty() { dtype } else { other }));
        }
        let types: Vec<DType> = args.iter().map(|&arg| self.nodes[arg].dtype).collect();
        let result = match row.shape {
            Shape::Compare => DType::Mask,
            Shape::Select | Shape::Same | Shape::Special => computed_type(row.op, &types),
        };
        let extent = self.extent(&args);
        self.add(Step::Op(row.op, args), result, extent);
    }

    /// A type for the first number operand of an operation.
    fn operand_type(&mut self, row: &OpInfo) -> DType {
        let mask_too = matches!(row.op, Op::Eq | Op::Ne) && self.random.one_in(8);
        match row.class {
            _ if mask_too => DType::Mask,
            // These take integers as their float, or as they are.
            Class::Float if self.random.one_in(5) => self.random.pick(&NUMBERS),
            Class::Float => self.random.pick(FLOATS),
            Class::Number => self.random.pick(&NUMBERS),
            // `%` of floats is a function.
            Class::Int if row.op == Op::Rem => self.random.pick(&NUMBERS),
            Class::Int => self.random.pick(INTEGERS),
            Class::Bits if self.random.one_in(4) => DType::Mask,
            Class::Bits => self.random.pick(INTEGERS),
            Class::Any => self.random.pick(&DType::ALL),
        }
    }

    /// A type for a further operand: mostly the same.
    fn companion(&mut self, row: &OpInfo, dtype: DType) -> DType {
        if dtype == DType::Mask || !self.random.one_in(4) {
            return dtype;
        }
        match row.op {
            Op::And | Op::Or if self.random.one_in(2) => DType::Mask,
            Op::Rem => self.random.pick(&NUMBERS),
            _ => match row.class {
                Class::Int | Class::Bits => self.random.pick(INTEGERS),
                Class::Number | Class::Float | Class::Any => self.random.pick(&NUMBERS),
            },
        }
    }

    fn number(&mut self) {
        let dtype = self.random.pick(&NUMBERS);
        let x = self.operand(dtype);
        let any = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::Min, Op::Max, Op::Lt, Op::Eq];
        let integer = [Op::IDiv, Op::MulHi, Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr];
        let bitwise = dtype.is_int() && self.random.one_in(2);
        let op = if bitwise { self.random.pick(&integer) } else { self.random.pick(&any) };
        // Often 0 or 1, where identities apply.
        let below = if self.random.one_in(3) { 2 } else { 70 };
        let value = self.random.below(below) as i64;
        let value = if dtype.is_signed() && self.random.one_in(3) { -value } else { value };
        let number = if !bitwise && self.random.one_in(3) {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            Scalar::Float(value as f64 / 4.0)
        } else {
            Scalar::Int(value)
        };
        let met = dtype.meet(number);
        let result = match op.info().shape {
            Shape::Compare => DType::Mask,
            _ => computed_type(op, &[dtype, met]),
        };
        let extent = self.nodes[x].extent;
        self.add(Step::Number(op, x, number), result, extent);
    }

    fn function(&mut self) {
        let row = self.random.below(FUNCTIONS.len());
        let function = &FUNCTIONS[row];
        let dtype = match function.class {
            Class::Int => self.random.pick(INTEGERS),
            Class::Float if !self.random.one_in(6) => self.random.pick(FLOATS),
            _ => self.random.pick(&NUMBERS),
        };
        let mut args = vec![self.operand(dtype)];
        while args.len() < function.arity {
            let other = match function.class {
                Class::Int => self.random.pick(INTEGERS),
                _ => self.random.pick(&NUMBERS),
            };
            let dtype = if self.random.one_in(5) { other } else { dtype };
            args.push(self.operand(dtype));
        }
        let types: Vec<DType> = args.iter().map(|&arg| self.nodes[arg].dtype).collect();
        let (_, result) = function_type(function, &types);
        let extent = self.extent(&args);
        self.add(Step::Function(row, args), result, extent);
    }

    fn cast(&mut self) -> usize {
        let x = self.any();
        let dtype = self.random.pick(&DType::ALL);
        self.add(Step::Cast(x), dtype, self.nodes[x].extent)
    }

    fn reinterpret(&mut self) {
        let from = self.random.pick(&NUMBERS);
        let same_width: Vec<DType> =
            NUMBERS.into_iter().filter(|to| to.bytes() == from.bytes()).collect();
        let to = self.random.pick(&same_width);
        let x = self.operand(from);
        self.add(Step::Reinterpret(x), to, self.nodes[x].extent);
    }

    fn reduce(&mut self) {
        let x = self.any();
        let dtype = self.nodes[x].dtype;
        if dtype.is_number() && self.random.one_in(6) {
            self.add(Step::Mean(x), dtype.quotient(), Extent::One);
            return;
        }
        let fitting: Vec<ReduceOp> =
            ReduceOp::ALL.into_iter().filter(|op| op.result(dtype).is_some()).collect();
        let op = self.random.pick(&fitting);
        let result = match op {
            ReduceOp::Count => DType::U64,
            ReduceOp::Sum | ReduceOp::Prod => accumulated(dtype),
            _ => dtype,
        };
        self.add(Step::Reduce(op, x), result, Extent::One);
    }

    fn primitive(&mut self) {
        let order = self.random.pick(&[Order::Ascending, Order::Descending]);
        let kind = self.random.below(3);
        let dtype =
            if kind == 0 { self.random.pick(&NUMBERS) } else { self.random.pick(&DType::ALL) };
        let x = self.operand(dtype);
        let extent = self.nodes[x].extent;
        match kind {
            0 => self.add(Step::PrefixSum(x), accumulated(dtype), extent),
            1 => self.add(Step::Sort(order, x), dtype, extent),
            _ => self.add(Step::SortIndex(order, x), DType::U32, extent),
        };
    }

    fn whole(&mut self) {
        let (whole, types) = Whole::draw(&mut self.random);
        let mut args: Vec<usize> = types.iter().map(|&dtype| self.operand(dtype)).collect();
        if let Some(index) = whole.index() {
            let slack = u32::from(self.random.one_in(4)) * 3;
            let Node { dtype, extent, .. } = self.nodes[args[index]];
            args[index] = self.add(Step::Wrap(args[index], slack), dtype, extent);
        }
        let extent = if whole.is_one() { Extent::One } else { Extent::N };
        self.add(Step::Whole(whole, args), whole.dtype(&types, promote), extent);
    }

    fn region(&mut self) {
        let dtype = self.random.pick(&DType::ALL);
        let states: Vec<usize> =
            (0..1 + self.random.below(3)).map(|_| self.operand(dtype)).collect();
        let outers: Vec<usize> = (0..2).map(|_| self.operand(dtype)).collect();
        let (source, turns) = (self.operand(dtype), self.operand(DType::U32));
        let body = Loop::draw(&mut self.random, dtype, states.len(), outers.len(), 2);
        let mut uses = Uses { states, outers, source, turns };
        let all: Vec<usize> = uses.all_mut().map(|operand| *operand).collect();
        // A source of one lane widens nothing, and is no index.
        let extent = self.extent(&all);
        self.add(Step::Loop(body, uses), dtype, extent);
    }

    fn gather(&mut self) {
        let (source, index, active) = (self.any(), self.index(), self.active());
        let args: Vec<usize> = [index].into_iter().chain(active).collect();
        let (dtype, extent) = (self.nodes[source].dtype, self.extent(&args));
        self.add(Step::Gather { source, index, active }, dtype, extent);
    }

    fn scatter(&mut self) {
        let (index, active) = (self.index(), self.active());
        let dtype = self.random.pick(&DType::ALL);
        let value = self.operand(dtype);
        let target = self.operand(dtype);
        let fitting: Vec<ScatterOp> =
            ScatterOp::ALL.into_iter().filter(|op| op.class().contains(dtype)).collect();
        let op = self.random.pick(&fitting);
        let keep = self.random.one_in(2);
        let extent = self.nodes[target].extent;
        self.add(Step::Scatter { op, target, value, index, active, keep }, dtype, extent);
        self.consumed[target] = !keep;
    }
}
