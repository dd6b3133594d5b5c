//! From tree to trace: expressions.

use std::sync::Arc;

use super::dialect::{COUNT, LANE};
use super::item::Item;
use super::library::{self, Known};
use super::operands::check_shift;
use super::program::{Captured, Program};
use super::record::Recorder;
use super::tree::{ATOMIC, CPP_MIN, Effects, Expression, Function, SIZE_OF, Term};
use super::trouble::{Span, Trouble};
use super::types::Letters;
use crate::array::Array;
use crate::catalogue::Answer;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::ir::op::Op;
use crate::trace::functions::{Column, Function as Elementary};
use crate::value::{Argument, Value};

impl Recorder<'_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, expression: &Expression) -> Result<Item, Trouble> {
        self.term(expression).map_err(|trouble| trouble.within(expression.at))
    }

    fn term(&mut self, expression: &Expression) -> Result<Item, Trouble> {
        match &expression.kind {
            Term::Number(number, dtype) => Ok(Item::Number(*number, *dtype)),
            Term::Name(name) => self.named(name),
            Term::Limit(type_name, limit) => {
                let dtype = self.dtype(type_name);
                if let (SIZE_OF, Some(dtype)) = (limit.as_str(), dtype) {
                    return Ok(Item::Number(Scalar::Int(exactly(dtype.bytes())), None));
                }
                let number = dtype.and_then(|dtype| limit_of(dtype, limit));
                let none = || {
                    let what = format!("the type has no `{limit}`");
                    let remedy = "there are max, min (the lowest), tiny, epsilon, inf and nan";
                    Trouble::new(expression.at, what).with(Some(remedy.into()))
                };
                Ok(Item::Number(number.ok_or_else(none)?, dtype))
            }
            Term::Index(name, index) => {
                let (array, index) = (self.raw(name)?, self.index(index)?);
                let active = self.frame.active.clone();
                let read = self.arrays[array].gather(&index, active.as_ref())?;
                self.name_access(&read, expression.at);
                Ok(Item::Array(read))
            }
            Term::Local(local, indices) => self.local_value(local, indices),
            Term::Apply(op, parts) => {
                // Of bits a literal has the type of what it meets, whatever its suffix.
                let is_bits = matches!(op, Op::And | Op::Or | Op::Xor);
                let operands = parts.iter().map(|part| match part.kind {
                    Term::Number(number, Some(DType::U32 | DType::U64)) if is_bits => {
                        Ok(Item::Number(number, None))
                    }
                    _ => self.value(part),
                });
                let operands = operands.collect::<Result<Vec<_>, _>>()?;
                if *op == Op::Div && operands.iter().all(Item::is_integer) {
                    let what = "/: got two integers";
                    let remedy = "write idiv(a, b), which truncates, or float(a) / b";
                    return Err(Trouble::new(expression.at, what).with(Some(remedy.into())));
                }
                check_shift(*op, &operands)?;
                self.apply(*op, &operands)
            }
            Term::Not(part) => {
                let operand = self.value(part)?;
                self.not(&operand)
            }
            Term::Both(is_or, parts) => self.both(*is_or, parts),
            Term::Choose(parts) => self.conditional(parts),
            Term::Cast(type_name, part) => {
                let operand = self.value(part)?;
                match self.dtype(type_name) {
                    Some(dtype) => operand.converted(self.session, dtype),
                    None => Ok(operand),
                }
            }
            Term::Bits(type_name, part) => {
                let item = self.value(part)?;
                let dtype = self.dtype(type_name).or(item.dtype()).unwrap_or(DType::F32);
                // Bits that are written as a number are as many as they become.
                let bits = match item {
                    Item::Number(number @ (Scalar::Int(0..) | Scalar::UInt(_)), None) => {
                        self.session.full(dtype.unsigned(), number, 1)?
                    }
                    item => item.array(self.session)?,
                };
                if dtype.bytes() != bits.dtype().bytes() {
                    let (from, to) = (bits.dtype().numpy_name(), dtype.numpy_name());
                    let what = format!("bit_cast: {from} and {to} have different numbers of bits");
                    return Err(Trouble::new(part.at, what));
                }
                Ok(Item::Array(bits.reinterpret(dtype)?))
            }
            Term::Call(name, args, _) => self.called(name, args, expression.at),
            Term::Assign(..) => {
                Err(Trouble::new(expression.at, "an assignment stands in an expression"))
            }
            Term::Step(op, is_after, place) => self.step_place(*op, *is_after, place),
        }
    }

    fn named(&self, name: &str) -> Result<Item, Trouble> {
        if let Some(at) = self.find(name) {
            return Ok(self.frame.variables[at].item.clone());
        }
        match (name, self.frame.program.captured(name)) {
            (_, Some(Captured::Number(number))) => Ok(Item::Number(*number, None)),
            ("i" | LANE, _) => self.lane(),
            ("n" | COUNT, _) => Ok(self.count()),
            _ => Err(Trouble::new(Span::default(), format!("unknown name `{name}`")).nowhere()),
        }
    }

    /// The numbers of the lanes.
    pub(super) fn lane(&self) -> Result<Item, Trouble> {
        // Signed, so that i - 1 is below 0.
        let dtype = if self.n <= 1 << 31 { DType::I32 } else { DType::I64 };
        let stop = Scalar::Int(exactly(self.n));
        Ok(Item::Array(self.session.arange(dtype, Scalar::Int(0), stop, Scalar::Int(1))?))
    }

    fn count(&self) -> Item {
        Item::Number(Scalar::Int(exactly(self.n)), None)
    }

    /// The number of an array that is read and written by index.
    pub(super) fn raw(&self, name: &str) -> Result<usize, Trouble> {
        match self.find(name).map(|at| &self.frame.variables[at].item) {
            Some(Item::Raw(number)) => Ok(*number),
            _ => {
                let what = format!("`{name}` is one value a lane, expected an array");
                let remedy = format!(
                    "declare it as one: raw T {name}; one value that a function changes is a reference: T &{name}"
                );
                Err(Trouble::new(Span::default(), what).nowhere().with(Some(remedy)))
            }
        }
    }

    pub(super) fn index(&mut self, index: &Expression) -> Result<Array, Trouble> {
        let item = self.value(index)?.into_index(self.session)?;
        if !item.is_integer() {
            let got = item.dtype().map_or("an array", DType::script_name);
            let what = format!("got {got} as an index, expected an integer");
            return Err(Trouble::new(index.at, what).with(Some("convert it: x[int(j)]".into())));
        }
        item.array(self.session)
    }

    pub(super) fn not(&self, item: &Item) -> Result<Item, Trouble> {
        match item.known_truth() {
            Some(truth) => Ok(Item::truth(!truth)),
            None => Ok(Item::Array(item.mask(self.session)?.try_not()?)),
        }
    }

    /// Whether one of two holds.
    pub(super) fn either(&self, one: Option<Item>, other: Item) -> Result<Item, Trouble> {
        let Some(one) = one else { return Ok(other) };
        match (one.known_truth(), other.known_truth()) {
            (Some(true), _) | (_, Some(false)) => Ok(one),
            (Some(false), _) | (_, Some(true)) => Ok(other),
            _ => Ok(Item::Array(one.mask(self.session)?.try_or(&other.mask(self.session)?)?)),
        }
    }

    fn both(&mut self, is_or: bool, [left, right]: &[Expression; 2]) -> Result<Item, Trouble> {
        let first = self.value(left)?;
        if let Some(truth) = first.known_truth() {
            if truth == is_or {
                return Ok(Item::truth(is_or));
            }
            let second = self.value(right)?;
            return match second.known_truth() {
                Some(truth) => Ok(Item::truth(truth)),
                None => Ok(Item::Array(second.mask(self.session)?)),
            };
        }
        let mask = first.mask(self.session).map_err(|trouble| trouble.within(left.at))?;
        let asked = if is_or { mask.try_not()? } else { mask.clone() };
        let second = self.value_within(&asked, right)?;
        let second = second.mask(self.session).map_err(|trouble| trouble.within(right.at))?;
        let both = if is_or { mask.try_or(&second)? } else { mask.try_and(&second)? };
        Ok(Item::Array(both))
    }

    /// The value of an expression that only these lanes ask for: others touch no memory.
    fn value_within(&mut self, lanes: &Array, expression: &Expression) -> Result<Item, Trouble> {
        if !Effects::of_expression(expression).touches_memory {
            return self.value(expression);
        }
        let before = self.frame.active.clone();
        self.frame.active = Some(self.and(before.as_ref(), lanes)?);
        // What it steps, it steps in these lanes.
        self.frame.level += 1;
        let value = self.value(expression);
        self.frame.level -= 1;
        self.frame.active = before;
        value
    }

    fn conditional(&mut self, parts: &[Expression; 3]) -> Result<Item, Trouble> {
        let [condition, then, otherwise] = parts;
        let holds = self.value(condition)?;
        let mask = holds.mask(self.session).map_err(|trouble| trouble.within(condition.at))?;
        let mut a = self.value_within(&mask, then)?;
        let mut b = self.value_within(&mask.try_not()?, otherwise)?;
        // A truth value beside a number is one.
        if a.is_truth() != b.is_truth() {
            let (truth, number) = if a.is_truth() { (&mut a, &b) } else { (&mut b, &a) };
            let dtype = number.own_dtype().unwrap_or(DType::I32);
            *truth = truth.converted(self.session, dtype)?;
        }
        // The type is that of both, whichever is chosen.
        if let Some(truth) = holds.known_truth()
            && a.own_dtype() == b.own_dtype()
        {
            return Ok(if truth { a } else { b });
        }
        // Numbers without types meet nothing but each other.
        let is_literal = a.is_literal() && b.is_literal();
        if let Some(dtype) = self.type_together(&a, &b) {
            a = a.converted(self.session, dtype)?;
            b = b.converted(self.session, dtype)?;
        }
        let chosen = self.with_operands(&self.met(&[Item::Array(mask), a, b])?, |operands| {
            self.session.apply(Op::Select, operands)
        })?;
        Ok(if is_literal { chosen.of_literals() } else { chosen })
    }

    // ---- statements that are expressions ----

    /// Performs an assignment or a call.
    pub(super) fn perform(&mut self, expression: &Expression) -> Result<(), Trouble> {
        match &expression.kind {
            Term::Assign(op, parts) => {
                self.assigned(*op, parts).map_err(|trouble| trouble.within(expression.at))?;
            }
            Term::Call(name, args, _) => {
                let called = self.called_for_effect(name, args, expression.at);
                called.map_err(|trouble| trouble.within(expression.at))?;
            }
            _ => drop(self.value(expression)?),
        }
        Ok(())
    }

    /// Assigns; what the place holds then.
    pub(super) fn assigned(
        &mut self,
        op: Option<Op>,
        [place, value]: &[Expression; 2],
    ) -> Result<Item, Trouble> {
        let value = match &value.kind {
            Term::Assign(op, parts) => self.assigned(*op, parts)?,
            _ => self.value(value)?,
        };
        self.put(place, op, value)
    }

    /// Assigns a value to a place; what it holds then.
    fn put(&mut self, place: &Expression, op: Option<Op>, value: Item) -> Result<Item, Trouble> {
        match &place.kind {
            Term::Index(name, index) => {
                let element = self.written_element(name, index, place.at)?;
                self.write(&element, op, &value)?;
                value.converted(self.session, self.arrays[element.array].dtype())
            }
            Term::Local(local, indices) => self.assign_local(local, indices, op, value),
            Term::Name(name) => {
                let unknown = || {
                    let what = format!("`{name}` is no variable, so it has nothing assigned to it");
                    Trouble::new(place.at, what)
                };
                let at = self.find(name).ok_or_else(unknown)?;
                let value = match op {
                    Some(op) => {
                        let old = self.frame.variables[at].item.clone();
                        self.stepped_by(op, old, value)?
                    }
                    None => value,
                };
                self.assign(at, &value)
            }
            _ => Err(Trouble::new(place.at, "expected a variable to assign to")),
        }
    }

    /// What a place holds behind `+=` and its like.
    pub(super) fn stepped_by(&self, op: Op, old: Item, value: Item) -> Result<Item, Trouble> {
        if op == Op::Div && old.is_integer() && value.is_integer() {
            let what = "/: got two integers";
            let remedy = "write idiv(a, b), which truncates";
            return Err(Trouble::new(Span::default(), what).nowhere().with(Some(remedy.into())));
        }
        self.apply(op, &[old, value])
    }

    // ---- calls ----

    /// A call that is a statement.
    fn called_for_effect(
        &mut self,
        name: &str,
        args: &[Expression],
        at: Span,
    ) -> Result<(), Trouble> {
        if let Some(rest) = name.strip_prefix(ATOMIC)
            && self.function(name).is_none()
        {
            return self.atomic(name, rest, args, at);
        }
        match self.function(name) {
            Some((program, number)) => self.call_function(&program, number, args, at).map(drop),
            None => {
                let what = format!("nothing is done with the value of `{name}`");
                Err(Trouble::new(at, what))
            }
        }
    }

    /// The function of the text, or the kernel of the script, that a name means.
    fn function(&self, name: &str) -> Option<(Arc<Program>, usize)> {
        let program = &self.frame.program;
        if let Some(own) = program.own(name) {
            return Some((program.clone(), own));
        }
        match program.captured(name) {
            Some(Captured::Kernel(kernel)) => Some((kernel.program.clone(), kernel.program.number)),
            _ => None,
        }
    }

    fn called(&mut self, name: &str, args: &[Expression], at: Span) -> Result<Item, Trouble> {
        if let Some((program, number)) = self.function(name) {
            let value = self.call_function(&program, number, args, at)?;
            let none = || Trouble::new(at, format!("`{name}` is void: it gives no value"));
            return value.map(Item::Array).ok_or_else(none);
        }
        match (name, args) {
            ("lane", []) => return self.lane(),
            ("count", []) => return Ok(self.count()),
            ("len", [array]) => {
                if let Item::Raw(number) = self.value(array)? {
                    let size = self.arrays[number].size();
                    return Ok(Item::Number(Scalar::Int(exactly(size)), None));
                }
            }
            _ => {}
        }
        if name.starts_with(ATOMIC) {
            let what = format!("`{name}` gives no old value here");
            let remedy = "write it as a statement: which lane comes first is not said";
            return Err(Trouble::new(at, what).with(Some(remedy.into())));
        }
        let known = library::find(name);
        let known = known.ok_or_else(|| Trouble::new(at, format!("unknown function `{name}`")))?;
        let items = args.iter().map(|arg| self.value(arg)).collect::<Result<Vec<_>, _>>()?;
        match known {
            Known::Operation(info) if info.op == Op::Select => {
                let mask = Item::Array(items[0].mask(self.session)?);
                let operands = [mask, items[1].clone(), items[2].clone()];
                let operands = self.met(&operands)?;
                self.with_operands(&operands, |operands| self.session.apply(info.op, operands))
            }
            Known::Operation(info) if info.op == Op::Not && items[0].is_truth() => {
                self.not(&items[0])
            }
            Known::Operation(info) => self.apply(info.op, &items),
            Known::Function(function) => {
                // A truth value that is computed with is 0 or 1.
                let n_left = function.arity - items.len();
                let defaults = &function.defaults[function.defaults.len() - n_left..];
                let defaults = defaults.iter().map(|&number| Item::Number(number.into(), None));
                let items: Vec<Item> = items.into_iter().chain(defaults).collect();
                let is_of_numbers =
                    !function.class.contains(DType::Mask) || !items.iter().all(Item::is_truth);
                let numbers = items.into_iter().map(|item| match item.is_truth() {
                    true if is_of_numbers => item.converted(self.session, DType::I32),
                    _ => Ok(item),
                });
                self.elementary(function, &numbers.collect::<Result<Vec<_>, _>>()?)
            }
            Known::Row(row) => self.row(row, &items, at),
        }
    }

    fn elementary(&self, function: &'static Elementary, items: &[Item]) -> Result<Item, Trouble> {
        let numbers = items.iter().map(|item| match item {
            Item::Number(number, None) => Some(*number),
            _ => None,
        });
        match numbers.collect::<Option<Vec<Scalar>>>() {
            Some(numbers) if function.is_of_floats() => {
                let numbers: Vec<f64> = numbers.iter().map(|number| number.to_f64()).collect();
                let value = function.of_numbers().call(&numbers);
                Ok(Item::Number(Scalar::Float(value), None))
            }
            Some(numbers) => {
                let value = self
                    .session
                    .of_numbers(&numbers, |lanes| self.session.call(function, lanes))?;
                Ok(Item::Number(value, None))
            }
            None => {
                let items = self.met(items)?;
                let are_floats = function.has(Column::Remainder);
                let items = if are_floats { self.as_floats(items)? } else { items };
                self.with_operands(&items, |operands| self.session.call(function, operands))
            }
        }
    }

    fn row(
        &self,
        row: &'static crate::catalogue::Row,
        items: &[Item],
        at: Span,
    ) -> Result<Item, Trouble> {
        let args = items.iter().map(|item| match item {
            Item::Array(array) | Item::Literal(array) => Argument::from(array),
            Item::Number(number, _) => Argument::Number(*number),
            Item::Raw(number) => Argument::from(&self.arrays[*number]),
        });
        let args: Vec<Argument<'_>> = args.collect();
        match row.call(self.session, &args.iter().collect::<Vec<_>>())? {
            Answer::Value(Value::Array(array)) => Ok(Item::Array(array)),
            Answer::Number(number) => Ok(Item::Number(number, None)),
            _ => Err(Trouble::new(at, format!("`{}` gives more than a value a lane", row.name))),
        }
    }

    /// Calls a function of a text.
    fn call_function(
        &mut self,
        program: &Arc<Program>,
        number: usize,
        args: &[Expression],
        at: Span,
    ) -> Result<Option<Array>, Trouble> {
        let function = &program.functions[number];
        let known = self.frame.variables.len();
        let (mut items, mut places) = (Vec::new(), Vec::new());
        for (parameter, arg) in function.parameters.iter().zip(args) {
            // Where a result goes is known before the call.
            let place =
                if parameter.is_result() { Some(self.with_known_indices(arg)?) } else { None };
            let given = place.as_ref().unwrap_or(arg);
            items.push(if parameter.is_given() { Some(self.value(given)?) } else { None });
            places.extend(place);
        }
        items.resize(function.parameters.len(), None);
        function.check_count(args.len()).map_err(|trouble| trouble.nowhere().within(at))?;
        let items = function.with_defaults(items, self)?;
        let letters = Letters::of(&function.parameters, &items, &self.arrays)?;
        let is_own = Arc::ptr_eq(program, &self.frame.program);
        let called = self.call(program, function, items, letters);
        let called = called.map_err(|trouble| match is_own {
            true => trouble,
            false => trouble.told(&function.name, &program.text, "").into(),
        });
        let (value, outs) = called?;
        for (place, out) in places.iter().zip(outs) {
            self.put(place, None, Item::Array(out))?;
        }
        self.frame.variables.truncate(known);
        Ok(value)
    }
}

impl Function {
    /// Whether so many arguments are enough and not too many.
    pub(super) fn check_count(&self, n: usize) -> Result<(), Trouble> {
        let needed = self.parameters.iter().filter(|parameter| parameter.default.is_none()).count();
        if (needed..=self.parameters.len()).contains(&n) {
            return Ok(());
        }
        let what = format!("got {n} arguments, expected {}", self.signature());
        Err(Trouble::new(self.at, what))
    }

    /// The arguments with those that were left out.
    pub(super) fn with_defaults(
        &self,
        mut items: Vec<Option<Item>>,
        recorder: &mut Recorder<'_>,
    ) -> Result<Vec<Option<Item>>, Trouble> {
        let mut pairs = items.iter().zip(&self.parameters);
        if pairs.all(|(item, parameter)| item.is_some() || parameter.default.is_none()) {
            return Ok(items);
        }
        // They may use the types of those that were given.
        let letters = Letters::of(&self.parameters, &items, &recorder.arrays)?;
        let around = std::mem::replace(&mut recorder.frame.letters, letters);
        let mut pairs = items.iter_mut().zip(&self.parameters);
        let filled = pairs.try_for_each(|(item, parameter)| {
            if let (None, Some(default)) = (&item, &parameter.default) {
                *item = Some(recorder.value(default)?);
            }
            Ok(())
        });
        recorder.frame.letters = around;
        filled.map(|()| items)
    }
}

/// A number that a type is limited by.
fn limit_of(dtype: DType, limit: &str) -> Option<Scalar> {
    let power = |exponent: i32| 2_f64.powi(exponent);
    if dtype.is_float() {
        let most = dtype.largest_float();
        return Some(Scalar::Float(match limit {
            "max" => most,
            "min" | "lowest" => -most,
            "tiny" | CPP_MIN => power(dtype.least_exponent()),
            "epsilon" => power(1 - dtype.significand_digits()),
            "inf" | "infinity" => f64::INFINITY,
            "nan" | "quiet_NaN" => f64::NAN,
            _ => return None,
        }));
    }
    let (least, most) = if dtype == DType::Mask { (0, 1) } else { dtype.limits() };
    let number = match limit {
        "max" => most,
        "min" | "lowest" | CPP_MIN => least,
        _ => return None,
    };
    let integer = i64::try_from(number).map(Scalar::Int).ok();
    integer.or_else(|| u64::try_from(number).ok().map(Scalar::UInt))
}
