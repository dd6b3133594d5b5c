//! Draws programs over nested values.
//!
//! A step is drawn without much care and kept if an interpreter takes it. That laws hold also where it refuses is for
//! `laws` to say, and that it does not refuse too much for the count of what occurs.

use porcini_core::ir::op::ScatterOp;
use porcini_core::trace::nested::rows;
use porcini_core::value::Form::{self, Complex, Matrix, Quaternion, Vector};
use porcini_core::{DType, Scalar};
use porcini_script::Interpreter;

use super::{Data, Program, Step};
use crate::data::{INTEGERS, Values};
use crate::laws::levels::{Row, elementwise};
use crate::laws::shapes;
use crate::random::Random;

/// Most plain arrays in a value.
const MAX_LEAVES: usize = 32;
/// Lane types whose nested types have names of their own, and the letters in these.
const LETTERS: [(DType, &str); 5] = [
    (DType::F32, "f"),
    (DType::F64, "d"),
    (DType::I32, "i"),
    (DType::U32, "u"),
    (DType::Mask, "m"),
];
const MOSTLY_SINGLE: [DType; 6] =
    [DType::F32, DType::F32, DType::F32, DType::F64, DType::F64, DType::F16];
const SHAPES: [&[Form]; 24] = [
    &[],
    &[Vector(1)],
    &[Vector(2)],
    &[Vector(3)],
    &[Vector(3)],
    &[Vector(4)],
    &[Vector(2), Vector(2)],
    &[Vector(2), Vector(3)],
    &[Vector(3), Vector(4)],
    &[Complex],
    &[Complex],
    &[Quaternion],
    &[Quaternion],
    &[Matrix(2)],
    &[Matrix(3)],
    &[Matrix(4)],
    &[Vector(2), Complex],
    &[Vector(3), Quaternion],
    &[Vector(2), Matrix(2)],
    &[Complex, Vector(3)],
    &[Quaternion, Vector(2)],
    &[Matrix(2), Vector(3)],
    &[Vector(3), Complex],
    &[Matrix(2), Complex],
];

/// The program of a seed over `n` lanes; the interpreter is asked what it takes.
pub fn generate(seed: u64, values: Values, n: usize, judge: &mut Interpreter) -> Program {
    let random = Random::new(seed);
    let elementwise = elementwise().collect();
    let mut draft =
        Draft { random, values, n, judge, elementwise, steps: Vec::new(), types: Vec::new() };
    let n_steps = 6 + draft.random.below(22);
    while draft.steps.len() < n_steps {
        draft.step();
    }
    draft.finish()
}

struct Draft<'a> {
    random: Random,
    values: Values,
    n: usize,
    judge: &'a mut Interpreter,
    elementwise: Vec<Row>,
    steps: Vec<Step>,
    /// Shape and lane type of each step.
    types: Vec<(Vec<Form>, DType)>,
}

impl Draft<'_> {
    fn finish(self) -> Program {
        let mut used = vec![false; self.steps.len()];
        for step in &self.steps {
            step.operands().into_iter().for_each(|operand| used[operand] = true);
        }
        let outputs = (0..self.steps.len()).filter(|&i| !used[i] || i % 9 == 0).collect();
        Program { steps: self.steps, outputs, n: self.n }
    }

    /// Adds a step, if it is taken and not too large.
    fn add(&mut self, text: String) -> Option<usize> {
        self.add_with(text, Vec::new())
    }

    fn add_with(&mut self, text: String, numbers: Vec<Scalar>) -> Option<usize> {
        let i = self.push(Step { text, numbers, data: None })?;
        let n_leaves: usize = self.shape_of(i).iter().map(|form| form.n_entries()).product();
        if n_leaves > MAX_LEAVES {
            self.steps.pop();
            self.types.pop();
            return None;
        }
        Some(i)
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let i = self.steps.len();
        let name = format!("v{i}");
        let text = format!("{name} = {}; type_of({name})", step.script());
        let shape = shapes::of_type(&self.judge.execute(&text, "step").ok()?.text?)?;
        let dtype = self.judge.arrays(&name).first()?.dtype();
        self.types.push((shape, dtype));
        self.steps.push(step);
        Some(i)
    }

    fn shape_of(&self, i: usize) -> &[Form] {
        &self.types[i].0
    }

    fn dtype(&self, i: usize) -> DType {
        self.types[i].1
    }

    /// Number of components of the outermost level; a matrix has columns.
    fn n_parts(&self, i: usize) -> usize {
        match self.shape_of(i).first() {
            Some(Matrix(n)) => *n,
            Some(form) => form.n_entries(),
            None => 0,
        }
    }

    // ---- operands ----

    /// An earlier value that passes a test, preferably a late one.
    fn earlier(&mut self, test: impl Fn(&[Form], DType) -> bool) -> Option<usize> {
        let fits = |&i: &usize| test(self.shape_of(i), self.dtype(i));
        let found: Vec<usize> = (0..self.steps.len()).filter(fits).collect();
        let late = if self.random.one_in(3) { 0 } else { found.len().saturating_sub(4) };
        (!found.is_empty()).then(|| self.random.pick(&found[late..]))
    }

    /// A value of a shape and type, an earlier one if there is any most of the time.
    fn value(&mut self, shape: &[Form], dtype: DType) -> usize {
        if !self.random.one_in(5)
            && let Some(found) = self.earlier(|other, kind| other == shape && kind == dtype)
        {
            return found;
        }
        self.new_value(shape, dtype)
    }

    fn new_value(&mut self, shape: &[Form], dtype: DType) -> usize {
        let step = match shape {
            [] => {
                let n = if self.random.one_in(5) { 1 } else { self.n };
                let data = Data { dtype, values: self.values, seed: self.random.word(), n };
                let step = Step {
                    text: format!("d{}", self.steps.len()),
                    numbers: Vec::new(),
                    data: Some(data),
                };
                step.give_data(self.judge).expect("memory for an array");
                step
            }
            [form, inner @ ..] => self.composed(*form, inner, dtype),
        };
        let shown = step.clone();
        self.push(step).unwrap_or_else(|| panic!("{shown:?}, {shape:?} of {dtype} is no value"))
    }

    /// A value of its entries.
    fn composed(&mut self, form: Form, inner: &[Form], dtype: DType) -> Step {
        let lettered = matches!(form, Vector(_)) || dtype.is_float();
        let letter = LETTERS.iter().find(|(known, _)| *known == dtype).map(|(_, letter)| *letter);
        let letter = letter.filter(|_| inner.is_empty() && lettered && !self.random.one_in(4));
        let mut numbers = Vec::new();
        let mut entries = Vec::new();
        for k in 0..form.n_entries() {
            let other = letter.is_some() && self.random.one_in(6) && dtype != DType::Mask;
            let kind = if other { self.number_type() } else { dtype };
            entries.push(format!("v{}", self.value(inner, kind)));
            if k == 0 && letter.is_some() && dtype != DType::Mask && self.random.one_in(6) {
                entries[0] = "#".into();
                numbers.push(Scalar::Int(self.random.below(9) as i64));
            }
        }
        let text = shapes::made(form, &entries);
        let text = match letter {
            Some(letter) => text.replacen("C(", &format!("{letter}C("), 1),
            None => text,
        };
        Step { text, numbers, data: None }
    }

    fn number_type(&mut self) -> DType {
        if self.random.one_in(3) {
            self.random.pick(INTEGERS)
        } else {
            self.random.pick(&MOSTLY_SINGLE)
        }
    }

    fn shape(&mut self) -> (Vec<Form>, DType) {
        let shape = self.random.pick(&SHAPES).to_vec();
        let vector = |form: &Form| matches!(form, Vector(_));
        let dtype = match self.random.below(4) {
            _ if !shape.iter().all(vector) => self.random.pick(&MOSTLY_SINGLE),
            0 => self.random.pick(&DType::ALL),
            1 => self.random.pick(&LETTERS).0,
            _ => self.number_type(),
        };
        (shape, dtype)
    }

    /// Any value.
    fn any(&mut self) -> usize {
        let late = self.steps.len().saturating_sub(6);
        if self.steps.is_empty() || self.random.one_in(4) {
            let (shape, dtype) = self.shape();
            return self.new_value(&shape, dtype);
        }
        late + self.random.below(self.steps.len() - late)
    }

    fn number(&mut self, dtype: DType) -> Scalar {
        let below = if self.random.one_in(3) { 2 } else { 60 };
        let value = self.random.below(below) as i64;
        let value = if dtype.is_signed() && self.random.one_in(3) { -value } else { value };
        if self.random.one_in(3) {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            return Scalar::Float(value as f64 / 4.0);
        }
        Scalar::Int(value)
    }

    /// Something that may meet value `x` in an operation: a number, for which the text is `#`, or a value.
    fn companion(&mut self, x: usize, numbers: &mut Vec<Scalar>) -> String {
        let (shape, dtype) = self.types[x].clone();
        let other = match dtype {
            DType::Mask => DType::Mask,
            _ if self.random.one_in(5) => self.number_type(),
            _ => dtype,
        };
        let shape = match self.random.below(10) {
            0 if dtype != DType::Mask => {
                numbers.push(self.number(dtype));
                return "#".into();
            }
            1 | 2 => Vec::new(),
            // Broadcast from the outermost level inwards, or as a whole into every component.
            3 => shape[..shape.len().min(1)].to_vec(),
            4 => shape[shape.len().min(1)..].to_vec(),
            5 if shape.len() < 2 => [[Vector(2)].as_slice(), &shape].concat(),
            _ => shape,
        };
        format!("v{}", self.value(&shape, other))
    }

    fn mask_for(&mut self, x: usize) -> usize {
        let shape = self.shape_of(x).to_vec();
        let vectors = shape.iter().all(|form| matches!(form, Vector(_)));
        let shape = if vectors && self.random.one_in(2) { shape } else { Vec::new() };
        self.value(&shape, DType::Mask)
    }

    /// Where gathers and scatters go: the arguments after what they go to.
    fn index(&mut self) -> String {
        let dtype = self.random.pick(INTEGERS);
        let index = self.value(&[], dtype);
        let slack = if self.random.one_in(6) { 2 } else { 0 };
        let active = if self.random.one_in(2) {
            format!(", v{}", self.value(&[], DType::Mask))
        } else {
            String::new()
        };
        format!("UInt32C(v{index}) % {}{active}", self.n + slack)
    }

    // ---- steps ----

    fn step(&mut self) {
        match self.random.below(29) {
            0 | 1 => {
                let (shape, dtype) = self.shape();
                self.new_value(&shape, dtype);
            }
            2..=7 => self.elementwise(),
            8..=10 => self.arithmetic(),
            11..=15 => self.nested_function(),
            16 | 17 => self.read(),
            18 => self.write(),
            19 => self.choose(),
            20 => self.fold(),
            21 => self.convert(),
            22 => {
                let (x, index) = (self.any(), self.index());
                self.add(format!("gather(v{x}, {index})"));
            }
            23 => self.scatter(),
            24 => self.branch(),
            25 => self.concat(),
            26 => self.sampled(),
            27 => self.shuffle(),
            _ => {
                let (x, mut numbers) = (self.any(), Vec::new());
                let mask = self.mask_for(x);
                let other = self.companion(x, &mut numbers);
                self.add_with(format!("select(v{mask}, v{x}, {other})"), numbers);
            }
        }
    }

    /// A row of the tables of operations and functions.
    fn elementwise(&mut self) {
        let i = self.random.below(self.elementwise.len());
        let Row { name, arity } = self.elementwise[i];
        self.apply(name, arity);
    }

    /// What numbers of several parts have, too.
    fn arithmetic(&mut self) {
        let name = self.random.pick(&["+", "-", "*", "/", "==", "!=", "-"]);
        let negates = name == "-" && self.random.one_in(4);
        self.apply(name, if negates { 1 } else { 2 });
    }

    fn apply(&mut self, name: &'static str, arity: usize) {
        for _ in 0..4 {
            let x = self.any();
            let (mut args, mut numbers) = (vec![format!("v{x}")], Vec::new());
            if name == "select" {
                args.insert(0, format!("v{}", self.mask_for(x)));
            }
            while args.len() < arity {
                let companion = self.companion(x, &mut numbers);
                args.push(companion);
            }
            if arity == 2 && self.random.one_in(3) {
                args.swap(0, 1);
            }
            if self.add_with(Row { name, arity }.call(&args), numbers).is_some() {
                return;
            }
        }
    }

    /// A row of the table of nested functions.
    fn nested_function(&mut self) {
        let all: Vec<_> = rows().collect();
        let row = self.random.pick(&all);
        // Ten inverses take their time.
        if row.name == "polar_decomp" && !self.random.one_in(4) {
            return;
        }
        let n = 2 + self.random.below(3);
        let integers = self.random.one_in(8);
        let dtype = self.random.pick(if integers { INTEGERS } else { &MOSTLY_SINGLE });
        // The entries may be vectors themselves, or numbers of several parts.
        let inner: &[Form] = match self.random.below(12) {
            0 => &[Vector(2)],
            1 | 2 if dtype.is_float() => &[Complex],
            3 if dtype.is_float() => &[Quaternion],
            _ => &[],
        };
        let n = if row.name == "polar_decomp" && !inner.is_empty() { 2 } else { n };
        let mut args = Vec::new();
        for parameter in row.parameters {
            let form = match parameter {
                Vector(0) => Vector(n),
                Matrix(0) => Matrix(n),
                form => *form,
            };
            let outer: &[Form] = if form == Form::Scalar { &[] } else { &[form] };
            let inner = if form == Form::Scalar && self.random.one_in(2) { &[] } else { inner };
            args.push(format!("v{}", self.value(&[outer, inner].concat(), dtype)));
        }
        if let Some((_, function)) = row.name.split_once("::") {
            let letter = self.random.pick(&["f", "d"]);
            let name = shapes::type_name(row.results[0], letter);
            self.add(format!("{name}::{function}({})", args.join(", ")));
            return;
        }
        let call = Row { name: row.name, arity: args.len() }.call(&args);
        let results = (0..row.results.len()).map(|k| format!("{call}[{k}]"));
        let results = if row.results.len() == 1 { vec![call.clone()] } else { results.collect() };
        for result in results {
            self.add(result);
        }
    }

    /// A nested value.
    fn nested(&mut self) -> usize {
        if let Some(found) = self.earlier(|shape, _| !shape.is_empty()) {
            return found;
        }
        self.new_value(&[Vector(3)], DType::F32)
    }

    fn letters(&mut self, n: usize, length: usize) -> String {
        (0..length).map(|_| ['x', 'y', 'z', 'w'][self.random.below(n)]).collect()
    }

    fn read(&mut self) {
        let x = self.nested();
        let n = self.n_parts(x);
        let i = self.random.below(n);
        let part = match (self.shape_of(x)[0], self.random.below(4)) {
            (Matrix(_), 0) => format!(".row({i})"),
            (Matrix(_), 1 | 2) => format!("[[{i}, {}]]", self.random.below(n)),
            (Vector(_), 0) => format!(".head({})", 1 + i),
            (Vector(_), 1) => format!(".tail({})", 1 + i),
            (Vector(_) | Quaternion, 2 | 3) => {
                let length = 2 + self.random.below(3);
                format!(".{}", self.letters(n, length))
            }
            _ if self.random.one_in(3) => format!("[-{}]", i + 1),
            _ => format!("[{i}]"),
        };
        self.add(format!("v{x}{part}"));
    }

    /// A copy with something done to it.
    fn changed(&mut self, x: usize, change: &str, numbers: Vec<Scalar>) {
        self.add_with(format!("{{ let t = copy(v{x}); {change}; t }}"), numbers);
    }

    fn write(&mut self) {
        let x = self.nested();
        let n = self.n_parts(x);
        let (shape, dtype) = self.types[x].clone();
        let length =
            if matches!(shape[0], Vector(_) | Quaternion) { self.random.below(4) } else { 0 };
        let (place, inner) = match length {
            0 | 1 => (format!("[{}]", self.random.below(n)), shape[1..].to_vec()),
            _ => {
                let several = [[Vector(length)].as_slice(), &shape[1..]].concat();
                (format!(".{}", self.letters(n, length)), several)
            }
        };
        // The place of a matrix is a column.
        let inner = match shape[0] {
            Matrix(n) => [[Vector(n)].as_slice(), &shape[1..]].concat(),
            _ => inner,
        };
        let mut numbers = Vec::new();
        let value = match self.random.below(4) {
            0 if dtype.is_float() => {
                numbers.push(Scalar::Float(0.75));
                "#".to_string()
            }
            1 => format!("v{}", self.value(&[], dtype)),
            _ => format!("v{}", self.value(&inner, dtype)),
        };
        self.changed(x, &format!("t{place} = {value}"), numbers);
    }

    fn choose(&mut self) {
        let x = self.any();
        let mask = self.mask_for(x);
        if self.random.one_in(2) {
            self.add(format!("v{x}[v{mask}]"));
            return;
        }
        let (shape, dtype) = self.types[x].clone();
        let shape = if self.random.one_in(3) { Vec::new() } else { shape };
        let value = self.value(&shape, dtype);
        self.changed(x, &format!("t[v{mask}] = v{value}"), Vec::new());
    }

    fn fold(&mut self) {
        let x = self.nested();
        let names: &[&str] = if self.dtype(x) == DType::Mask {
            &["any", "all", "none", "count"]
        } else {
            &["hsum", "hsum", "hprod", "hmin", "hmax", "hmean", "psum"]
        };
        let name = self.random.pick(names);
        let over_lanes = name.starts_with('h') && self.random.one_in(2);
        self.add(format!("{name}{}(v{x})", if over_lanes { "_nested" } else { "" }));
    }

    /// What samples are made of: spherical harmonics, Morton codes.
    fn sampled(&mut self) {
        let inner: &[Form] = if self.random.one_in(4) { &[Vector(2)] } else { &[] };
        let n = 1 + self.random.below(4);
        let integer = self.random.pick(INTEGERS);
        match self.random.below(4) {
            0 | 1 => {
                let dtype = self.random.pick(&MOSTLY_SINGLE);
                let d = self.value(&[&[Vector(3)], inner].concat(), dtype);
                let order = self.random.below(10);
                let place = self.random.below((order + 1) * (order + 1));
                self.add(format!("sh_eval(v{d}, {order})[{place}]"));
            }
            2 => {
                let code = self.value(&[&[Vector(n)], inner].concat(), integer);
                self.add(format!("morton_encode(v{code})"));
            }
            _ => {
                let code = self.value(inner, integer);
                self.add(format!("morton_decode(v{code}, {n})"));
            }
        }
    }

    fn concat(&mut self) {
        let (a, mut numbers) = (self.any(), Vec::new());
        let companion = self.companion(a, &mut numbers);
        let Some(Ok(b)) = companion.strip_prefix('v').map(str::parse) else { return };
        // No type is known by more components.
        if self.n_parts(a) + self.n_parts(b).max(1) <= 4 {
            self.add(format!("concat(v{a}, v{b})"));
        }
    }

    fn shuffle(&mut self) {
        // It reads the generator, and a read reports an access out of bounds that ran before.
        // Any may be one, since an array may be empty.
        let accesses = |step: &Step| step.text.contains("gather(") || step.text.contains("scatter");
        if self.steps.iter().any(accesses) {
            return;
        }
        let x = self.any();
        let (state, stream) = (self.random.below(1000), self.random.below(100));
        self.add(format!("PCG32C({state}, {stream}).shuffle(v{x})"));
    }

    fn convert(&mut self) {
        let x = self.any();
        let n = self.n_parts(x);
        let form = match (self.types[x].0.first(), self.random.below(3)) {
            (Some(Complex | Vector(2)), 0) => Complex,
            (Some(Quaternion | Vector(4)), 0) => Quaternion,
            (Some(Matrix(_)), _) => Matrix(2 + self.random.below(3)),
            (None, 0) => Vector(1 + self.random.below(4)),
            (None, _) => {
                let name = self.random.pick(&DType::ALL).script_name();
                self.add(format!("{name}(v{x})"));
                return;
            }
            _ => Vector(n),
        };
        let letters = if matches!(form, Vector(_)) { &LETTERS[..] } else { &LETTERS[..2] };
        let letter = self.random.pick(letters).1;
        self.add(format!("{}(v{x})", shapes::type_name(form, letter)));
    }

    fn scatter(&mut self) {
        let (x, index) = (self.any(), self.index());
        let (shape, dtype) = self.types[x].clone();
        let shape = if self.random.one_in(4) { Vec::new() } else { shape };
        let value = self.value(&shape, dtype);
        let name = self.random.pick(&ScatterOp::ALL).name();
        self.changed(x, &format!("{name}(t, v{value}, {index})"), Vec::new());
    }

    /// A loop of up to seven turns, a branch, or a call of one body of a list or of none, over one value.
    fn branch(&mut self) {
        let state = self.any();
        let turns = self.value(&[], DType::U32);
        let mut numbers = Vec::new();
        let result = match self.random.below(3) {
            0 => {
                let body = self.body(state, &mut numbers);
                format!(
                    "while_loop([v{state}, UInt32C(0)], |s, k| k < (v{turns} & 7), |s, k| [{body}, k + 1])"
                )
            }
            1 => {
                let [yes, no] = [0, 1].map(|_| self.body(state, &mut numbers));
                format!("if_then((v{turns} & 1) == 1, [v{state}], |s| [{yes}], |s| [{no}])")
            }
            _ => {
                let n_bodies = 1 + self.random.below(4);
                let bodies =
                    (0..n_bodies).map(|_| format!("|s| [{}]", self.body(state, &mut numbers)));
                let bodies: Vec<String> = bodies.collect();
                format!("dispatch(v{turns} & 3, [{}], [v{state}])", bodies.join(", "))
            }
        };
        // A state that never changes keeps its size.
        self.add_with(format!("gather({result}[0], UInt32C::arange({}))", self.n), numbers);
    }

    /// A body that keeps the type of its state: what does not is left out.
    fn body(&mut self, state: usize, numbers: &mut Vec<Scalar>) -> String {
        let mut body = "s".to_string();
        let names = ["+", "-", "*", "/", "min", "max", "fma", "sqrt", "abs", "&", "|", "^", "conj"];
        for _ in 0..1 + self.random.below(4) {
            let name = self.random.pick(&names);
            let arity = match name {
                "fma" => 3,
                "sqrt" | "abs" | "conj" => 1,
                _ => 2,
            };
            let (mut args, mut own) = (vec![body.clone()], Vec::new());
            while args.len() < arity {
                let companion = self.companion(state, &mut own);
                args.push(companion);
            }
            if arity == 2 && own.is_empty() && self.random.one_in(4) {
                args.swap(0, 1);
            }
            let next = Row { name, arity }.call(&args);
            if self.keeps_type(state, &next, &[numbers.as_slice(), &own].concat()) {
                numbers.extend(own);
                body = next;
            }
        }
        body
    }

    /// Whether an expression of the state `s` has the type of the state.
    fn keeps_type(&mut self, state: usize, text: &str, numbers: &[Scalar]) -> bool {
        // Only the last numbers are in this body.
        let n_own = text.matches('#').count();
        let numbers = numbers[numbers.len() - n_own..].to_vec();
        let step = Step { text: text.into(), numbers, data: None };
        let text = format!("{{ let s = v{state}; [type_of({}), type_of(s)] }}", step.script());
        let Ok(outcome) = self.judge.execute(&text, "body") else { return false };
        let types = outcome.text.unwrap_or_default();
        let types: Vec<&str> = types.trim_matches(['[', ']']).split(", ").collect();
        types.len() == 2 && types[0] == types[1]
    }
}
