//! Draws kernels as text: functions, parameters, arguments, and expressions of a type that is asked for.

use porcini_core::ir::op::{Class, OPS, Shape};
use porcini_core::trace::functions::{Column, FUNCTIONS};
use porcini_core::{DType, Op, Scalar};

use super::{Arg, Expr, Function, Kind, Parameter, Spelled, Statement, Text};
use crate::data::{self, INTEGERS, Values};
use crate::oracle::{computed_type, function_type, promote};
use crate::random::Random;

/// Functions before the kernel, at most.
const MOST_HELPERS: usize = 2;

/// The kernel of a seed.
pub fn generate(seed: u64, values: Values) -> Text {
    let mut maker = Maker::new(seed, values);
    for number in 0..maker.random.below(MOST_HELPERS + 1) {
        let function = maker.function(format!("h{number}"), false);
        maker.functions.push(function);
    }
    let kernel = maker.function("f".into(), true);
    maker.functions.push(kernel);
    let args = maker.args();
    Text { functions: maker.functions, args }
}

/// A variable in sight.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) dtype: DType,
    /// Whether statements may assign to it.
    pub(super) is_free: bool,
    /// Whether it is an array; whether that has as many elements as there are lanes.
    pub(super) array: Option<bool>,
}

/// Draws one text.
pub(super) struct Maker {
    pub(super) random: Random,
    values: Values,
    pub(super) functions: Vec<Function>,
    // Of the function that is drawn.
    /// What letters are.
    letters: Vec<(String, DType)>,
    /// The types that its variables mostly have.
    palette: Vec<DType>,
    pub(super) scope: Vec<Variable>,
    pub(super) names: Vec<String>,
    /// Where the variables of the innermost block begin.
    pub(super) block: usize,
    pub(super) result: Option<Spelled>,
    /// Statements that it may still have.
    pub(super) budget: usize,
    pub(super) n_loops: usize,
    pub(super) is_in_loop: bool,
    pub(super) is_breakable: bool,
    is_kernel: bool,
}

impl Maker {
    fn new(seed: u64, values: Values) -> Self {
        Self {
            random: Random::new(seed),
            values,
            functions: Vec::new(),
            letters: Vec::new(),
            palette: Vec::new(),
            scope: Vec::new(),
            names: Vec::new(),
            block: 0,
            result: None,
            budget: 0,
            n_loops: 0,
            is_in_loop: false,
            is_breakable: false,
            is_kernel: false,
        }
    }

    // ---- functions ----

    fn function(&mut self, name: String, is_kernel: bool) -> Function {
        self.is_kernel = is_kernel;
        self.budget = if is_kernel { 6 + self.random.below(20) } else { 1 + self.random.below(5) };
        self.scope.clear();
        self.names.clear();
        self.block = 0;
        self.letters.clear();
        self.palette = (0..3).map(|_| self.any_type()).collect();
        if self.random.one_in(2) {
            self.palette.push(DType::F32);
        }
        let mut parameters = Vec::new();
        for (letter, number) in [("T", 0), ("U2", 1)] {
            let dtype = self.palette[number];
            if number == 0 || self.random.one_in(2) {
                let text = letter.to_string();
                self.letters.push((text.clone(), dtype));
                let spelled = Spelled { dtype, text };
                self.parameter(&mut parameters, spelled, Kind::Given, None);
            }
        }
        for _ in 0..self.random.below(3) {
            let dtype = self.some_type();
            let spelled = self.spelled(dtype);
            let is_raw = is_kernel && self.random.one_in(2);
            let kind = if is_raw { Kind::Raw } else { Kind::Given };
            self.parameter(&mut parameters, spelled, kind, None);
        }
        let has_outs = self.random.one_in(3);
        let n_outs = if has_outs { 1 + self.random.below(3) } else { 0 };
        for _ in 0..n_outs {
            let dtype = self.some_type();
            let spelled = self.spelled(dtype);
            self.parameter(&mut parameters, spelled, Kind::Out, None);
        }
        if self.random.one_in(3) {
            let dtype = self.some_type();
            let spelled = self.spelled(dtype);
            let default = self.number(dtype);
            self.parameter(&mut parameters, spelled, Kind::Given, Some(default));
        }
        self.result = (!has_outs || is_kernel && self.random.one_in(4)).then(|| {
            let dtype = self.some_type();
            self.spelled(dtype)
        });
        let result = self.result.clone();
        self.is_in_loop = false;
        self.is_breakable = false;
        let mut body = self.statements();
        if let Some(result) = &result {
            let value = self.assigned(result.dtype, 3);
            body.push(Statement::Return(Some(value)));
        }
        let names = std::mem::take(&mut self.names);
        Function { name, result, parameters, body, names }
    }

    fn parameter(
        &mut self,
        parameters: &mut Vec<Parameter>,
        spelled: Spelled,
        kind: Kind,
        default: Option<Scalar>,
    ) {
        let number = self.names.len();
        let name = format!("{}{number}", if kind == Kind::Raw { "r" } else { "p" });
        let array = (kind == Kind::Raw).then(|| self.random.one_in(2));
        let variable = Variable {
            number,
            name: name.clone(),
            dtype: spelled.dtype,
            is_free: kind != Kind::Raw,
            array,
        };
        self.names.push(name);
        self.scope.push(variable);
        parameters.push(Parameter { spelled, kind, default });
    }

    /// The arguments of a call of the kernel, which is the last function.
    fn args(&mut self) -> Vec<Arg> {
        let kernel = self.functions.last().expect("the kernel").clone();
        let mut args = Vec::new();
        for (number, parameter) in kernel.parameters.iter().enumerate() {
            let dtype = parameter.spelled.dtype;
            let is_letter = self.letters.iter().any(|(name, _)| *name == parameter.spelled.text);
            let array = self.scope.iter().find(|known| known.number == number);
            let array = array.and_then(|variable| variable.array);
            let seed = self.random.word();
            let values = self.values;
            let whole = Arg::Lanes { dtype, values, seed, size: None };
            args.push(match parameter.kind {
                Kind::Out => continue,
                Kind::Raw => {
                    let size = (array == Some(false)).then(|| 1 + self.random.below(9));
                    Arg::Lanes { dtype, values, seed, size }
                }
                // The first one says how many lanes there are.
                Kind::Given if args.is_empty() => whole,
                Kind::Given if parameter.default.is_some() && self.random.one_in(2) => Arg::Left,
                Kind::Given if is_letter => {
                    let size = self.random.one_in(4).then_some(1);
                    Arg::Lanes { dtype, values, seed, size }
                }
                Kind::Given => match self.random.below(4) {
                    0 => Arg::Number(self.number(dtype)),
                    // What is given is converted.
                    1 => Arg::Lanes { dtype: self.any_type(), values, seed, size: None },
                    _ => whole,
                },
            });
        }
        args
    }

    // ---- types ----

    pub(super) fn any_type(&mut self) -> DType {
        self.random.pick(&DType::ALL)
    }

    /// Mostly one of the palette.
    pub(super) fn some_type(&mut self) -> DType {
        if self.random.one_in(4) {
            return self.any_type();
        }
        let palette = self.palette.clone();
        self.random.pick(&palette)
    }

    /// How a type is written: as a letter where one is it, by one of its names.
    pub(super) fn spelled(&mut self, dtype: DType) -> Spelled {
        let letter = self.letters.iter().find(|(_, known)| *known == dtype);
        let letter = letter.map(|(letter, _)| letter.clone());
        let sums = self.letters.iter().find(|(_, known)| {
            let sum = data::accumulated(*known);
            dtype == if sum == DType::F16 { DType::F32 } else { sum }
        });
        let sums = sums.map(|(letter, _)| format!("acc_t({letter})"));
        let text = match (self.random.below(4), letter, sums) {
            (0 | 1, Some(letter), _) => letter,
            (2, _, Some(sums)) => sums,
            _ => self.name_of(dtype).into(),
        };
        Spelled { dtype, text }
    }

    fn name_of(&mut self, dtype: DType) -> &'static str {
        let of_c: &[&str] = match dtype {
            DType::Mask => &["bool"],
            DType::I8 => &["signed char", "int8_t", "char"],
            DType::U8 => &["unsigned char", "uint8_t"],
            DType::I16 => &["short", "int16_t"],
            DType::U16 => &["unsigned short", "uint16_t"],
            DType::I32 => &["int", "int32_t"],
            DType::U32 => &["unsigned", "unsigned int", "uint32_t"],
            DType::I64 => &["long", "long long", "ptrdiff_t"],
            DType::U64 => &["unsigned long", "unsigned long long", "size_t"],
            DType::F16 => &["half", "__half"],
            DType::F32 => &["float"],
            DType::F64 => &["double"],
        };
        if self.random.one_in(4) { dtype.numpy_name() } else { self.random.pick(of_c) }
    }

    // ---- numbers ----

    /// A number that fits a type.
    pub(super) fn number(&mut self, dtype: DType) -> Scalar {
        if dtype == DType::Mask {
            return Scalar::Bool(self.random.one_in(2));
        }
        if dtype.is_float() && self.random.one_in(2) {
            let eighths = i32::try_from(self.random.below(65)).unwrap_or(0) - 32;
            return Scalar::Float(f64::from(eighths) / 8.0);
        }
        let number = i64::try_from(self.random.below(20)).unwrap_or(0);
        Scalar::Int(if dtype.is_signed() { number - 6 } else { number })
    }

    /// A literal that fits a type, perhaps computed of others.
    fn literal(&mut self, dtype: DType) -> Expr {
        let number = self.number(dtype);
        match number {
            Scalar::Int(number) if self.random.one_in(4) => {
                let part = |number| Expr::Number(Scalar::Int(number));
                let sum = Expr::Op(Op::Add, vec![part(number - 3), part(1)]);
                match self.random.below(3) {
                    0 => Expr::Op(Op::Sub, vec![part(number + 2), part(2)]),
                    1 => Expr::Op(Op::Add, vec![sum, part(2)]),
                    _ => Expr::Op(Op::Mul, vec![part(number), part(1)]),
                }
            }
            number => Expr::Number(number),
        }
    }

    // ---- expressions ----

    /// A value that is stored as a type: of it, of another, or a literal.
    pub(super) fn assigned(&mut self, dtype: DType, depth: usize) -> Expr {
        match self.random.below(6) {
            0 => self.literal(dtype),
            1 => {
                let other = self.some_type();
                self.expr(other, depth)
            }
            _ => self.expr(dtype, depth),
        }
    }

    /// A condition: a mask, or any number that is not 0.
    pub(super) fn condition(&mut self, depth: usize) -> Expr {
        let dtype = if self.random.one_in(5) { self.some_type() } else { DType::Mask };
        self.expr(dtype, depth)
    }

    /// An expression of a type, which is no literal.
    pub(super) fn expr(&mut self, dtype: DType, depth: usize) -> Expr {
        if depth == 0 || self.random.one_in(6) {
            return self.leaf(dtype, depth);
        }
        match self.random.below(12) {
            0 => self.choose(dtype, depth),
            1 => {
                let from = self.some_type();
                let value = self.expr(from, depth - 1);
                Expr::Cast(self.spelled(dtype), value.into())
            }
            2 => self.own(dtype, depth).unwrap_or_else(|| self.leaf(dtype, depth)),
            3 => self.of_table(dtype, depth),
            _ if dtype == DType::Mask => self.mask(depth),
            _ => self.operation(dtype, depth),
        }
    }

    fn leaf(&mut self, dtype: DType, depth: usize) -> Expr {
        let of_type: Vec<usize> = self.variables(|variable| variable.dtype == dtype);
        if !of_type.is_empty() && !self.random.one_in(8) {
            return Expr::Variable(self.random.pick(&of_type));
        }
        let all = self.variables(|_| true);
        match self.random.below(6) {
            0 => Expr::Cast(self.spelled(dtype), self.literal(dtype).into()),
            1 if dtype.is_int() && self.random.one_in(2) => {
                Expr::Limit(self.spelled(dtype), self.random.one_in(2))
            }
            2 if dtype == DType::I32 => Expr::Lane,
            3 if depth > 0 => self.read(dtype, depth),
            _ => {
                let from = Expr::Variable(self.random.pick(&all));
                Expr::Cast(self.spelled(dtype), from.into())
            }
        }
    }

    /// Values in sight.
    pub(super) fn variables(&self, is_wanted: impl Fn(&Variable) -> bool) -> Vec<usize> {
        let wanted = self.scope.iter().filter(|variable| {
            variable.array.is_none() && self.is_seen(variable) && is_wanted(variable)
        });
        wanted.map(|variable| variable.number).collect()
    }

    /// Whether no other variable hides it.
    fn is_seen(&self, variable: &Variable) -> bool {
        let innermost = self.scope.iter().rfind(|known| known.name == variable.name);
        innermost.is_some_and(|known| known.number == variable.number)
    }

    fn choose(&mut self, dtype: DType, depth: usize) -> Expr {
        let condition = self.condition(depth - 1);
        let [mut then, mut otherwise] = [0, 1].map(|_| self.expr(dtype, depth - 1));
        // A literal takes the type of the other one.
        if dtype != DType::Mask && self.random.one_in(4) {
            let place = if self.random.one_in(2) { &mut then } else { &mut otherwise };
            *place = Expr::Number(self.number(dtype));
        } else if dtype != DType::Mask && self.random.one_in(4) {
            let narrower = self.joins(dtype);
            otherwise = self.expr(narrower, depth - 1);
        }
        Expr::Choose(Box::new([condition, then, otherwise]))
    }

    /// A type that gives `dtype` with it.
    fn joins(&mut self, dtype: DType) -> DType {
        let fits = |other: &DType| *other != DType::Mask && promote(dtype, *other) == dtype;
        let all: Vec<DType> = DType::ALL.into_iter().filter(fits).collect();
        self.random.pick(&all)
    }

    /// Two types that together give `dtype`.
    fn pair(&mut self, dtype: DType) -> [DType; 2] {
        if self.random.one_in(2) {
            return [dtype; 2];
        }
        if self.random.one_in(4) {
            // Signed and unsigned ones of one width give the next.
            let mut pairs = Vec::new();
            for a in INTEGERS {
                pairs.extend(INTEGERS.iter().map(|b| [*a, *b]));
            }
            pairs.retain(|[a, b]| promote(*a, *b) == dtype);
            if !pairs.is_empty() {
                return self.random.pick(&pairs);
            }
        }
        let other = self.joins(dtype);
        if self.random.one_in(2) { [dtype, other] } else { [other, dtype] }
    }

    /// Two operands of such types, one of them perhaps a literal.
    fn operands(&mut self, types: [DType; 2], depth: usize) -> Vec<Expr> {
        let mut operands: Vec<Expr> =
            types.into_iter().map(|dtype| self.expr(dtype, depth - 1)).collect();
        if types[0] == types[1] && types[0] != DType::Mask && self.random.one_in(3) {
            let place = self.random.below(2);
            operands[place] = self.literal(types[0]);
        }
        operands
    }

    fn mask(&mut self, depth: usize) -> Expr {
        match self.random.below(8) {
            0 => Expr::Not(self.condition(depth - 1).into()),
            1 | 2 => {
                let parts = [self.condition(depth - 1), self.condition(depth - 1)];
                Expr::Logic(self.random.one_in(2), Box::new(parts))
            }
            3 => {
                let op = self.random.pick(&[Op::And, Op::Or, Op::Xor, Op::Eq, Op::Ne]);
                Expr::Op(op, self.operands([DType::Mask; 2], depth))
            }
            4 if self.is_kernel => {
                // i + 1 < n
                let at = Expr::Op(Op::Add, vec![Expr::Lane, self.literal(DType::I32)]);
                let op = self.random.pick(&[Op::Lt, Op::Ge, Op::Ne]);
                Expr::Op(op, vec![at, Expr::Count])
            }
            _ => {
                let dtype = self.some_type();
                let dtype = if dtype == DType::Mask { DType::I32 } else { dtype };
                let types = self.pair(dtype);
                let op =
                    self.random.pick(&[Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne, Op::Lt]);
                Expr::Op(op, self.operands(types, depth))
            }
        }
    }

    fn operation(&mut self, dtype: DType, depth: usize) -> Expr {
        let mut ops: Vec<Op> = OPS
            .iter()
            .filter(|info| info.shape == Shape::Same && info.class.contains(dtype))
            .map(|info| info.op)
            .collect();
        ops.extend([Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Rem]);
        let op = self.random.pick(&ops);
        match op.arity() {
            1 => Expr::Op(op, vec![self.expr(dtype, depth - 1)]),
            _ if matches!(op, Op::Shl | Op::Shr) => {
                let value = self.expr(dtype, depth - 1);
                let count = if self.random.one_in(2) {
                    // A literal that shifts all of a narrow integer out to the left is an error.
                    let is_narrow = op == Op::Shl && dtype.bytes() < 4;
                    let bits = usize::try_from(dtype.bits()).unwrap_or(8);
                    let count = self.random.below(if is_narrow { bits } else { bits + 2 });
                    Expr::Number(Scalar::Int(i64::try_from(count).unwrap_or(0)))
                } else {
                    let dtype = self.random.pick(INTEGERS);
                    self.expr(dtype, depth - 1)
                };
                Expr::Op(op, vec![value, count])
            }
            2 if matches!(op, Op::And | Op::Or) && self.random.one_in(6) => {
                // A mask chooses.
                Expr::Op(op, vec![self.expr(dtype, depth - 1), self.expr(DType::Mask, depth - 1)])
            }
            2 => {
                if dtype.is_float() && self.random.one_in(5) {
                    return self.float_of_integer(dtype, op, depth);
                }
                let types = self.pair(dtype);
                let mut operands = self.operands(types, depth);
                // Bits are those of integers.
                if op.info().class != Class::Float || dtype.is_float() {
                    debug_assert_eq!(computed_type(op, &types), dtype, "{op:?} {types:?}");
                }
                if self.random.one_in(3) && op.info().commutative {
                    operands.swap(0, 1);
                }
                Expr::Op(op, operands)
            }
            _ => {
                let types = [0, 1, 2].map(|i| if i == 0 { dtype } else { self.joins(dtype) });
                Expr::Op(op, types.map(|dtype| self.expr(dtype, depth - 1)).into())
            }
        }
    }

    /// An integer with a literal of a float: f32, or f64 of 64 bits.
    fn float_of_integer(&mut self, dtype: DType, op: Op, depth: usize) -> Expr {
        let of: Vec<DType> = INTEGERS.iter().copied().filter(|of| of.quotient() == dtype).collect();
        if of.is_empty() {
            return self.leaf(dtype, depth);
        }
        let of = self.random.pick(&of);
        let number = Expr::Number(Scalar::Float(0.375));
        Expr::Op(op, vec![self.expr(of, depth - 1), number])
    }

    /// A function of the table that does not round.
    fn of_table(&mut self, dtype: DType, depth: usize) -> Expr {
        let from = if dtype == DType::Mask { self.some_type() } else { dtype };
        let fits = |row: &usize| {
            let function = &FUNCTIONS[*row];
            let types = [from; 3];
            function.class.contains(from)
                && !function.doc.contains(" ulp")
                && !function.has(Column::Count)
                && function_type(function, &types[..function.arity]).1 == dtype
        };
        let rows: Vec<usize> = (0..FUNCTIONS.len()).filter(fits).collect();
        if rows.is_empty() {
            return self.leaf(dtype, depth);
        }
        let row = self.random.pick(&rows);
        let arity = FUNCTIONS[row].arity;
        Expr::Function(row, (0..arity).map(|_| self.expr(from, depth - 1)).collect())
    }

    /// A call of a function of the text that gives one value.
    fn own(&mut self, dtype: DType, depth: usize) -> Option<Expr> {
        let functions = self.functions.clone();
        let gives = |function: &&Function| {
            let has_outs = function.parameters.iter().any(|one| one.kind == Kind::Out);
            !has_outs && function.result.is_some()
        };
        let callable: Vec<&Function> = functions.iter().filter(gives).collect();
        if callable.is_empty() {
            return None;
        }
        let function = self.random.pick(&callable);
        let number = functions.iter().position(|known| known.name == function.name)?;
        let mut args = Vec::new();
        for parameter in &function.parameters {
            if parameter.default.is_some() && self.random.one_in(2) {
                break;
            }
            args.push(self.passed(parameter, depth - 1));
        }
        let call = Expr::Own(number, args);
        let result = function.result.as_ref().map(|result| result.dtype);
        if result == Some(dtype) {
            return Some(call);
        }
        Some(Expr::Cast(self.spelled(dtype), call.into()))
    }

    /// A value for a parameter: letters want it as it is, others convert it.
    pub(super) fn passed(&mut self, parameter: &Parameter, depth: usize) -> Expr {
        let dtype = parameter.spelled.dtype;
        let is_letter = parameter.spelled.text.starts_with(|c: char| c.is_ascii_uppercase());
        if is_letter { self.expr(dtype, depth) } else { self.assigned(dtype, depth) }
    }

    /// An element of an array, where it has one.
    pub(super) fn read(&mut self, dtype: DType, depth: usize) -> Expr {
        let arrays = self.scope.iter().filter(|variable| variable.array.is_some());
        let arrays: Vec<(usize, DType, bool)> =
            arrays.map(|array| (array.number, array.dtype, array.array == Some(true))).collect();
        if arrays.is_empty() {
            return Expr::Cast(self.spelled(dtype), self.literal(dtype).into());
        }
        let (array, of, is_long) = self.random.pick(&arrays);
        let at = |index: Expr| Expr::Read(array, index.into());
        let number = |number: i64| Expr::Number(Scalar::Int(number));
        let beside = |op, by| Expr::Op(op, vec![Expr::Lane, number(by)]);
        let read = match self.random.below(4) {
            0 if is_long => at(Expr::Lane),
            // Who is in front or behind, where there is one.
            1 if is_long => {
                let is_there = Expr::Op(Op::Gt, vec![Expr::Lane, number(0)]);
                let other = self.expr(of, depth - 1);
                Expr::Choose(Box::new([is_there, at(beside(Op::Sub, 1)), other]))
            }
            2 if is_long => {
                let is_there = Expr::Op(Op::Lt, vec![beside(Op::Add, 2), Expr::Count]);
                let other = self.expr(of, depth - 1);
                Expr::Choose(Box::new([is_there, at(beside(Op::Add, 2)), other]))
            }
            _ => {
                let index = self.expr(DType::I32, depth - 1);
                let index = Expr::Op(Op::Max, vec![index, number(0)]);
                let last = Expr::Op(Op::Sub, vec![Expr::Len(array), number(1)]);
                at(Expr::Op(Op::Min, vec![index, last]))
            }
        };
        if of == dtype { read } else { Expr::Cast(self.spelled(dtype), read.into()) }
    }
}
