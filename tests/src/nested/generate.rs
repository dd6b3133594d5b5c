//! Draws programs over nested values.
//!
//! A step is drawn without much care and kept if it has a meaning, which one lane of data tells.

use porcini_core::ir::op::{OPS, ScatterOp, Shape};
use porcini_core::nested::Form::{self, Complex, Matrix, Quaternion, Vector};
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::trace::nested::rows;
use porcini_core::{DType, Scalar};

use super::Program;
use super::evaluate::body_meaning;
use super::meaning::Tree;
use super::steps::{BodyArg, BodyLine, Branching, Index, Operand, Part, Step};
use crate::data::{INTEGERS, Values};
use crate::random::Random;

/// Most plain arrays in a value.
const MAX_LEAVES: usize = 32;
/// Lane types whose nested types have names of their own.
const LETTERS: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::U32, DType::Mask];
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

/// The program of a seed.
pub fn generate(seed: u64, values: Values) -> Program {
    let mut draft =
        Draft { random: Random::new(seed), values, steps: Vec::new(), trees: Vec::new() };
    let n_steps = 6 + draft.random.below(22);
    while draft.steps.len() < n_steps {
        draft.step();
    }
    draft.finish()
}

struct Draft {
    random: Random,
    values: Values,
    steps: Vec<Step>,
    /// The steps' values of one lane.
    trees: Vec<Option<Tree>>,
}

impl Draft {
    fn finish(self) -> Program {
        let mut used = vec![false; self.steps.len()];
        for step in &self.steps {
            step.operands().into_iter().for_each(|operand| used[operand] = true);
        }
        let outputs = (0..self.steps.len()).filter(|&i| !used[i] || i % 9 == 0).collect();
        Program { steps: self.steps, outputs }
    }

    /// Adds a step, if it has a meaning and is not too large.
    fn add(&mut self, step: Step) -> Option<usize> {
        let tree = step.meaning(&self.trees, 1)?;
        (tree.leaves().len() <= MAX_LEAVES).then(|| self.push(step, tree))
    }

    fn push(&mut self, step: Step, tree: Tree) -> usize {
        self.steps.push(step);
        self.trees.push(Some(tree));
        self.steps.len() - 1
    }

    fn tree(&self, i: usize) -> &Tree {
        self.trees[i].as_ref().expect("every step has a value")
    }

    // ---- operands ----

    /// An earlier value that passes a test, preferably a late one.
    fn earlier(&mut self, test: impl Fn(&Tree) -> bool) -> Option<usize> {
        let fits = |&i: &usize| test(self.tree(i));
        let found: Vec<usize> = (0..self.steps.len()).filter(fits).collect();
        let late = if self.random.one_in(3) { 0 } else { found.len().saturating_sub(4) };
        (!found.is_empty()).then(|| self.random.pick(&found[late..]))
    }

    /// A value of a shape and type, an earlier one if there is any most of the time.
    fn value(&mut self, shape: &[Form], dtype: DType) -> usize {
        if !self.random.one_in(5)
            && let Some(found) = self.earlier(|tree| tree.shape() == shape && tree.dtype() == dtype)
        {
            return found;
        }
        self.new_value(shape, dtype)
    }

    fn new_value(&mut self, shape: &[Form], dtype: DType) -> usize {
        let step = match shape {
            [] => {
                let (seed, wide) = (self.random.word(), !self.random.one_in(5));
                Step::Data { dtype, values: self.values, seed, wide }
            }
            [form, inner @ ..] => {
                let lettered = matches!(form, Vector(_)) || dtype.is_float();
                let named = inner.is_empty() && lettered && LETTERS.contains(&dtype);
                let named = named && !self.random.one_in(4);
                let entry = |draft: &mut Self| {
                    let other =
                        if dtype == DType::Mask { DType::Mask } else { draft.number_type() };
                    let dtype = if named && draft.random.one_in(6) { other } else { dtype };
                    draft.value(inner, dtype)
                };
                let mut entries: Vec<Operand> =
                    (0..form.n_entries()).map(|_| Operand::Value(entry(self))).collect();
                if named && dtype != DType::Mask && self.random.one_in(6) {
                    entries[0] = Operand::Number(Scalar::Int(self.random.below(9) as i64));
                }
                Step::Make { form: *form, dtype: named.then_some(dtype), entries }
            }
        };
        let tree = step.meaning(&self.trees, 1).expect("values of one type make a value");
        self.push(step, tree)
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
            1 => self.random.pick(&LETTERS),
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

    fn number(&mut self, dtype: DType) -> Operand {
        let below = if self.random.one_in(3) { 2 } else { 60 };
        let value = self.random.below(below) as i64;
        let value = if dtype.is_signed() && self.random.one_in(3) { -value } else { value };
        if self.random.one_in(3) {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            return Operand::Number(Scalar::Float(value as f64 / 4.0));
        }
        Operand::Number(Scalar::Int(value))
    }

    /// Something that may meet value `x` in an operation.
    fn companion(&mut self, x: usize) -> Operand {
        let (shape, dtype) = (self.tree(x).shape(), self.tree(x).dtype());
        let other = match dtype {
            DType::Mask => DType::Mask,
            _ if self.random.one_in(5) => self.number_type(),
            _ => dtype,
        };
        let shape = match self.random.below(10) {
            0 if dtype != DType::Mask => return self.number(dtype),
            1 | 2 => Vec::new(),
            // Broadcast from the outermost level inwards, or as a whole into every component.
            3 => shape[..shape.len().min(1)].to_vec(),
            4 => shape[shape.len().min(1)..].to_vec(),
            5 => {
                let deeper = [[Vector(2)].as_slice(), &shape].concat();
                if deeper.len() > 2 { shape } else { deeper }
            }
            _ => shape,
        };
        Operand::Value(self.value(&shape, other))
    }

    fn mask_for(&mut self, x: usize) -> usize {
        let shape = self.tree(x).shape();
        let vectors = shape.iter().all(|form| matches!(form, Vector(_)));
        let shape = if vectors && self.random.one_in(2) { shape } else { Vec::new() };
        self.value(&shape, DType::Mask)
    }

    fn index(&mut self) -> Index {
        let dtype = self.random.pick(INTEGERS);
        let index = self.value(&[], dtype);
        let slack = u32::from(self.random.one_in(6)) * 2;
        let active = self.random.one_in(2).then(|| self.value(&[], DType::Mask));
        Index { index, slack, active }
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
                self.add(Step::Gather(x, index));
            }
            23 => self.scatter(),
            24 => self.branch(),
            26 => self.sampled(),
            27 => self.shuffle(),
            25 => {
                let a = self.any();
                let parts = |draft: &Self, i: usize| draft.tree(i).parts().len();
                if let Operand::Value(b) = self.companion(a)
                    && parts(self, a) + parts(self, b).max(1) <= 4
                {
                    self.add(Step::Concat(a, b));
                }
            }
            _ => {
                let x = self.any();
                let mask = self.mask_for(x);
                let select = vec![Operand::Value(mask), Operand::Value(x), self.companion(x)];
                self.add(Step::Apply("select", select));
            }
        }
    }

    /// A row of the tables of operations and functions.
    fn elementwise(&mut self) {
        let i = self.random.below(OPS.len() + FUNCTIONS.len());
        let (name, arity) = match OPS.get(i) {
            Some(info) if info.shape == Shape::Special => return,
            Some(info) => (info.op.spelling(), info.arity),
            None => (FUNCTIONS[i - OPS.len()].name, FUNCTIONS[i - OPS.len()].arity),
        };
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
            let mut args = vec![Operand::Value(x)];
            if name == "select" {
                args.insert(0, Operand::Value(self.mask_for(x)));
            }
            while args.len() < arity {
                args.push(self.companion(x));
            }
            // An integer is an exponent of its own kind.
            let integer = |arg: &Operand| matches!(arg, Operand::Number(Scalar::Int(_)));
            if name == "pow" && args.iter().any(integer) {
                continue;
            }
            if arity == 2 && self.random.one_in(3) {
                args.swap(0, 1);
            }
            if self.add(Step::Apply(name, args)).is_some() {
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
        let dtype = if self.random.one_in(8) {
            self.random.pick(INTEGERS)
        } else {
            self.random.pick(&MOSTLY_SINGLE)
        };
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
            args.push(self.value(&[outer, inner].concat(), dtype));
        }
        if row.name.contains("::") {
            let dtype = self.random.pick(&[DType::F32, DType::F64]);
            self.add(Step::Static(row.name, row.results[0], dtype, args));
        } else if row.results.len() > 1 {
            (0..row.results.len()).for_each(|k| {
                self.add(Step::Result(row.name, args[0], k));
            });
        } else {
            self.add(Step::Apply(row.name, args.into_iter().map(Operand::Value).collect()));
        }
    }

    /// A nested value.
    fn nested(&mut self) -> usize {
        if let Some(found) = self.earlier(|tree| tree.kind().is_some()) {
            return found;
        }
        self.new_value(&[Vector(3)], DType::F32)
    }

    fn read(&mut self) {
        let x = self.nested();
        let n = self.tree(x).parts().len();
        let i = self.random.below(n);
        let part = match (self.tree(x).form(), self.random.below(4)) {
            (Matrix(_), 0) => Part::Row(i),
            (Matrix(_), 1 | 2) => Part::Entry(i, self.random.below(n)),
            (Vector(_), 0) => Part::Head(1 + i),
            (Vector(_), 1) => Part::Tail(1 + i),
            (Vector(_) | Quaternion, 2 | 3) => {
                let length = 1 + self.random.below(4);
                Part::Components((0..length).map(|_| self.random.below(n)).collect())
            }
            _ => Part::Components(vec![i]),
        };
        self.add(Step::Read(x, part));
    }

    fn write(&mut self) {
        let x = self.nested();
        let n = self.tree(x).parts().len();
        let mut letters = vec![self.random.below(n)];
        if matches!(self.tree(x).form(), Vector(_) | Quaternion) {
            for _ in 0..self.random.below(3) {
                let letter = self.random.below(n);
                // Each component once.
                if !letters.contains(&letter) {
                    letters.push(letter);
                }
            }
        }
        let (shape, dtype) = (self.tree(x).shape(), self.tree(x).dtype());
        let value = match self.random.below(4) {
            0 if dtype.is_float() => Operand::Number(Scalar::Float(0.75)),
            1 => Operand::Value(self.value(&[], dtype)),
            _ if letters.len() > 1 => {
                let several = [[Vector(letters.len())].as_slice(), &shape[1..]].concat();
                Operand::Value(self.value(&several, dtype))
            }
            _ => {
                let one = self.tree(x).parts()[0].shape();
                Operand::Value(self.value(&one, dtype))
            }
        };
        self.add(Step::Write(x, letters, value));
    }

    fn choose(&mut self) {
        let x = self.any();
        let mask = self.mask_for(x);
        if self.random.one_in(2) {
            self.add(Step::Chosen(x, mask));
            return;
        }
        let (shape, dtype) = (self.tree(x).shape(), self.tree(x).dtype());
        let shape = if self.random.one_in(3) { Vec::new() } else { shape };
        let value = self.value(&shape, dtype);
        self.add(Step::Assigned(x, mask, Operand::Value(value)));
    }

    fn fold(&mut self) {
        let x = self.nested();
        let names: &[&str] = if self.tree(x).dtype() == DType::Mask {
            &["any", "all", "none", "count"]
        } else {
            &["hsum", "hsum", "hprod", "hmin", "hmax", "hmean", "psum"]
        };
        let name = self.random.pick(names);
        let over_lanes = ["hsum", "hprod", "hmin", "hmax", "hmean"].contains(&name);
        let over_lanes = over_lanes && self.random.one_in(2);
        self.add(if over_lanes { Step::FoldAll(name, x) } else { Step::Fold(name, x) });
    }

    /// What samples are made of: spherical harmonics, Morton codes.
    fn sampled(&mut self) {
        let inner: &[Form] = if self.random.one_in(4) { &[Vector(2)] } else { &[] };
        let n = 1 + self.random.below(4);
        let step = match self.random.below(4) {
            0 | 1 => {
                let dtype = self.random.pick(&MOSTLY_SINGLE);
                let d = self.value(&[&[Vector(3)], inner].concat(), dtype);
                let order = self.random.below(10);
                Step::Harmonic(d, order, self.random.below((order + 1) * (order + 1)))
            }
            2 => {
                let dtype = self.random.pick(INTEGERS);
                Step::Encode(self.value(&[&[Vector(n)], inner].concat(), dtype))
            }
            _ => {
                let dtype = self.random.pick(INTEGERS);
                Step::Decode(self.value(inner, dtype), n)
            }
        };
        self.add(step);
    }

    fn shuffle(&mut self) {
        // It reads the generator, and a read reports an access out of bounds that ran before.
        // Any may be one, since an array may be empty.
        let accesses = |step: &Step| matches!(step, Step::Gather(..) | Step::Scatter(..));
        if self.steps.iter().any(accesses) {
            return;
        }
        let x = self.any();
        let (state, stream) = (self.random.below(1000) as u64, self.random.below(100) as u64);
        self.add(Step::Shuffle(x, state, stream));
    }

    fn convert(&mut self) {
        let x = self.any();
        let n = self.tree(x).parts().len();
        let form = match (self.tree(x).form(), self.random.below(3)) {
            (Complex | Vector(2), 0) => Complex,
            (Quaternion | Vector(4), 0) => Quaternion,
            (Matrix(_), _) => Matrix(2 + self.random.below(3)),
            (Form::Scalar, 0) => Vector(1 + self.random.below(4)),
            (Form::Scalar, _) => Form::Scalar,
            _ => Vector(n),
        };
        let dtype = match form {
            Form::Scalar => self.random.pick(&DType::ALL),
            Vector(_) => self.random.pick(&LETTERS),
            _ => self.random.pick(&LETTERS[..2]),
        };
        self.add(Step::Convert(form, dtype, x));
    }

    fn scatter(&mut self) {
        let (x, index) = (self.any(), self.index());
        let (shape, dtype) = (self.tree(x).shape(), self.tree(x).dtype());
        let shape = if self.random.one_in(4) { Vec::new() } else { shape };
        let value = self.value(&shape, dtype);
        let op = self.random.pick(&ScatterOp::ALL);
        self.add(Step::Scatter(op, x, Operand::Value(value), index));
    }

    fn branch(&mut self) {
        let state = self.any();
        let turns = self.value(&[], DType::U32);
        let branching = self.random.pick(&[Branching::While, Branching::If, Branching::Dispatch]);
        let n_bodies = match branching {
            Branching::While => 1,
            Branching::If => 2,
            Branching::Dispatch => 1 + self.random.below(4),
        };
        let bodies: Vec<Vec<BodyLine>> = (0..n_bodies).map(|_| self.body(state)).collect();
        self.add(Step::Branch { branching, state, turns, bodies });
    }

    /// A body that keeps the type of its state: lines that do not are left out.
    fn body(&mut self, state: usize) -> Vec<BodyLine> {
        let mut body: Vec<BodyLine> = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let names =
                ["+", "-", "*", "/", "min", "max", "fma", "sqrt", "abs", "&", "|", "^", "conj"];
            let name = self.random.pick(&names);
            let arity = match name {
                "fma" => 3,
                "sqrt" | "abs" | "conj" => 1,
                _ => 2,
            };
            let mut args = vec![BodyArg::State];
            while args.len() < arity {
                args.push(BodyArg::Outer(self.companion(state)));
            }
            if self.random.one_in(4) {
                args.reverse();
            }
            body.push((name, args));
            let start = self.tree(state).clone();
            if body_meaning(&body, &start, &self.trees).is_none() {
                body.pop();
            }
        }
        body
    }
}
