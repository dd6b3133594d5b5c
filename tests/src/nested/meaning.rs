//! What operations mean for nested values, written over their components.
//!
//! Vectors pair up component by component, from the outermost level inwards; a value of fewer levels or
//! another number of components goes whole into each. Complex numbers, quaternions and matrices are numbers
//! of their own: a row of the table of nested functions calculates with them, or else what is linear goes
//! part by part. A plain array meets them as a real number.

use std::rc::Rc;

use porcini_core::ir::op::{Class, OPS, Op, OpInfo, Shape};
use porcini_core::nested::Form;
use porcini_core::trace::functions::{self, Function};
use porcini_core::trace::nested::{NestedCall, find};
use porcini_core::{DType, Scalar};

use super::formulas;
use crate::oracle::{self, Value};

/// What the parts of a nested value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Values of one type.
    Vector,
    /// Real and imaginary part.
    Complex,
    /// x, y, z, w.
    Quaternion,
    /// Columns, which are vectors.
    Matrix,
}

/// A nested value, or a plain array.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A plain array.
    Leaf(Rc<Value>),
    /// Parts.
    Node(Kind, Vec<Self>),
}

/// An argument of an operation.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A value.
    Tree(Tree),
    /// A number that the script writes.
    Number(Scalar),
}

impl Tree {
    /// A plain array.
    pub fn leaf(value: Value) -> Self {
        Self::Leaf(Rc::new(value))
    }

    /// Parts; none of a plain array.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Leaf(_) => &[],
            Self::Node(_, parts) => parts,
        }
    }

    /// What it is; `None` for a plain array.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Leaf(_) => None,
            Self::Node(kind, _) => Some(*kind),
        }
    }

    /// The plain arrays in it, in order.
    pub fn leaves(&self) -> Vec<&Value> {
        match self {
            Self::Leaf(value) => vec![value],
            Self::Node(_, parts) => parts.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Lane type.
    pub fn dtype(&self) -> DType {
        self.leaves()[0].dtype
    }

    /// The outermost level as the table of nested functions sees it.
    pub fn form(&self) -> Form {
        match self {
            Self::Leaf(_) => Form::Scalar,
            Self::Node(kind, parts) => form_of(*kind, parts.len()),
        }
    }

    /// The forms from the outermost level inwards.
    pub fn shape(&self) -> Vec<Form> {
        let mut shape = Vec::new();
        let mut tree = self;
        while let Self::Node(kind, parts) = tree {
            shape.push(tree.form());
            tree = if *kind == Kind::Matrix { &parts[0].parts()[0] } else { &parts[0] };
        }
        shape
    }

    /// Whether shape and lane type are the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.dtype() == other.dtype()
    }

    /// Whether complex numbers, quaternions or matrices are in it.
    pub fn has_numbers(&self) -> bool {
        self.shape().iter().any(|form| !matches!(form, Form::Vector(_)))
    }

    fn is_mask(&self) -> bool {
        self.dtype() == DType::Mask
    }

    /// The same with other plain arrays.
    pub fn map(&self, change: &impl Fn(&Value) -> Value) -> Self {
        match self {
            Self::Leaf(value) => Self::leaf(change(value)),
            Self::Node(kind, parts) => {
                Self::Node(*kind, parts.iter().map(|part| part.map(change)).collect())
            }
        }
    }

    /// A value of a form from its entries; those of a matrix come column by column.
    pub fn assemble(form: Form, mut entries: Vec<Self>) -> Self {
        match form {
            Form::Scalar => entries.remove(0),
            Form::Vector(_) => Self::Node(Kind::Vector, entries),
            Form::Complex => Self::Node(Kind::Complex, entries),
            Form::Quaternion => Self::Node(Kind::Quaternion, entries),
            Form::Matrix(n) => {
                let columns = entries.chunks(n).map(|c| Self::Node(Kind::Vector, c.to_vec()));
                Self::Node(Kind::Matrix, columns.collect())
            }
        }
    }
}

impl Arg {
    fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Tree(tree) => Some(tree),
            Self::Number(_) => None,
        }
    }

    fn form(&self) -> Form {
        self.tree().map_or(Form::Scalar, Tree::form)
    }

    fn is_mask(&self) -> bool {
        self.tree().is_some_and(Tree::is_mask)
    }

    fn has_numbers(&self) -> bool {
        self.tree().is_some_and(Tree::has_numbers)
    }

    fn zero() -> Self {
        Self::Number(Scalar::Int(0))
    }
}

/// What an operation or elementwise function means; `None` where it has no meaning.
pub fn map(name: &str, args: &[Arg]) -> Option<Tree> {
    match args {
        [a, b, c] if IN_STEPS.contains(&name) && args.iter().any(Arg::has_numbers) => {
            in_steps(name, a, b, c)
        }
        _ => through(name, args, false),
    }
}

/// What multiplies and adds in one; of numbers of several parts it is what the operators say.
const IN_STEPS: [&str; 6] = ["fma", "fmadd", "fmsub", "fnmadd", "fnmsub", "lerp"];

fn in_steps(name: &str, a: &Arg, b: &Arg, c: &Arg) -> Option<Tree> {
    let apply = |name: &str, args: &[&Arg]| {
        let args: Vec<Arg> = args.iter().map(|&arg| arg.clone()).collect();
        through(name, &args, false).map(Arg::Tree)
    };
    // Two script numbers meet in the type of what is beside them.
    let first = match (a, b, c) {
        (Arg::Number(number), Arg::Number(_), Arg::Tree(beside)) => {
            let dtype = beside.dtype();
            Arg::Tree(Tree::leaf(Value { dtype, lanes: vec![dtype.encode(*number).ok()?] }))
        }
        _ => a.clone(),
    };
    let sum = match name {
        "lerp" => apply("+", &[&apply("*", &[c, &apply("-", &[b, &first])?])?, &first]),
        "fmsub" => apply("-", &[&apply("*", &[&first, b])?, c]),
        "fnmadd" => apply("-", &[c, &apply("*", &[&first, b])?]),
        "fnmsub" => apply("-", &[&apply("-", &[&apply("*", &[&first, b])?])?, c]),
        _ => apply("+", &[&apply("*", &[&first, b])?, c]),
    };
    sum?.tree().cloned()
}

/// The same for every part of numbers of several parts, whatever it means for those: to choose.
pub fn by_parts(name: &str, args: &[Arg]) -> Option<Tree> {
    through(name, args, true)
}

const LINEAR: [&str; 5] = ["+", "-", "==", "!=", "select"];
const NOT_BY_ENTRY: [&str; 3] = ["*", "/", "pow"];

fn through(name: &str, args: &[Arg], parts_only: bool) -> Option<Tree> {
    let (kind, n) = match outer(args, if parts_only { "" } else { name })? {
        Outer::Plain => return Some(Tree::leaf(plain(name, args)?)),
        Outer::Vector(n) => {
            let part = |i| through(name, &parts(args, Kind::Vector, n, i), parts_only);
            return Some(Tree::Node(Kind::Vector, (0..n).map(part).collect::<Option<_>>()?));
        }
        Outer::Number(kind, n) => (kind, n),
    };
    if !parts_only {
        let own: Vec<Form> = args.iter().map(Arg::form).collect();
        let number = form_of(kind, n);
        let real = |form: &Form| if *form == number { number } else { Form::Scalar };
        let mut readings = vec![own.clone(), own.iter().map(real).collect()];
        if kind != Kind::Matrix {
            readings.push(vec![number; args.len()]);
        }
        if let Some(forms) = readings.iter().find(|forms| find(name, forms).is_some()) {
            return Some(call(name, forms, args)?.remove(0));
        }
        let linear = match kind {
            Kind::Matrix => !NOT_BY_ENTRY.contains(&name),
            _ => LINEAR.contains(&name),
        };
        if !linear {
            return None;
        }
    }
    // The entries of a matrix may be numbers themselves.
    let parts_only = parts_only || kind != Kind::Matrix;
    let part = |i| through(name, &parts(args, kind, n, i), parts_only);
    let results: Vec<Tree> = (0..n).map(part).collect::<Option<_>>()?;
    // What compares parts is no number.
    let kind = if results[0].is_mask() && kind != Kind::Matrix { Kind::Vector } else { kind };
    Some(Tree::Node(kind, results))
}

fn form_of(kind: Kind, n: usize) -> Form {
    match kind {
        Kind::Vector => Form::Vector(n),
        Kind::Complex => Form::Complex,
        Kind::Quaternion => Form::Quaternion,
        Kind::Matrix => Form::Matrix(n),
    }
}

fn is_number(form: Form) -> bool {
    !matches!(form, Form::Scalar | Form::Vector(_))
}

/// The outermost level of an operation.
enum Outer {
    Plain,
    Vector(usize),
    Number(Kind, usize),
}

fn outer(args: &[Arg], name: &str) -> Option<Outer> {
    let trees: Vec<&Tree> = args.iter().filter_map(Arg::tree).collect();
    let levels = |tree: &Tree| tree.shape().len();
    let deepest = trees.iter().map(|tree| levels(tree)).max().unwrap_or(0);
    if deepest == 0 {
        return Some(Outer::Plain);
    }
    let number = |tree: &Tree| match tree.kind() {
        None | Some(Kind::Vector) => None,
        Some(kind) => Some(Outer::Number(kind, tree.parts().len())),
    };
    // A matrix or a quaternion takes a vector as a whole, unless that holds others of these.
    let forms: Vec<Form> = args.iter().map(Arg::form).collect();
    let whole = |tree: &&Tree| {
        let is_whole = |form: &Form| matches!(form, Form::Quaternion | Form::Matrix(_));
        tree.kind() != Some(Kind::Vector) || !tree.shape().iter().any(is_whole)
    };
    if let Some(outer) = trees.iter().find_map(|tree| number(tree))
        && find(name, &forms).is_some()
        && trees.iter().all(whole)
    {
        return Some(outer);
    }
    let top: Vec<&Tree> = trees.into_iter().filter(|tree| levels(tree) == deepest).collect();
    let first = top.iter().find_map(|tree| number(tree));
    let n_parts = match first {
        Some(Outer::Number(_, n)) => n,
        _ => 0,
    };
    // A mask with as many components as the number has parts chooses parts.
    let pairs = |tree: &&&Tree| {
        tree.kind() == Some(Kind::Vector) && !(tree.is_mask() && tree.parts().len() == n_parts)
    };
    let vectors: Vec<&&Tree> = top.iter().filter(pairs).collect();
    if let Some(vector) = vectors.first() {
        let n = vector.parts().len();
        let bare = vectors.iter().any(|vector| !vector.has_numbers());
        let mixed = matches!(first, Some(Outer::Number(Kind::Matrix, _))) && bare;
        let equal = vectors.iter().all(|vector| vector.parts().len() == n);
        return (equal && !mixed).then_some(Outer::Vector(n));
    }
    let kinds: Vec<Form> =
        top.iter().map(|tree| tree.form()).filter(|form| is_number(*form)).collect();
    if kinds.windows(2).any(|pair| pair[0] != pair[1]) {
        return None;
    }
    first
}

/// The arguments of part `i` of a level.
fn parts(args: &[Arg], kind: Kind, n: usize, i: usize) -> Vec<Arg> {
    let part = |arg: &Arg| {
        let real = match kind {
            Kind::Complex => i == 0,
            Kind::Quaternion => i == 3,
            Kind::Vector | Kind::Matrix => true,
        };
        match arg {
            Arg::Tree(tree)
                if tree.parts().len() == n
                    && (tree.kind() == Some(kind)
                        || tree.kind() == Some(Kind::Vector) && tree.is_mask()) =>
            {
                Arg::Tree(tree.parts()[i].clone())
            }
            _ if real || arg.is_mask() => arg.clone(),
            _ => Arg::zero(),
        }
    };
    args.iter().map(part).collect()
}

/// The results of a function of the nested table; vectors among the entries go component by component, and entries
/// may be numbers of several parts.
pub fn call(name: &str, forms: &[Form], args: &[Arg]) -> Option<Vec<Tree>> {
    let call = find(name, forms)?;
    let sizes = forms.iter().find_map(|form| match form {
        Form::Vector(n) | Form::Matrix(n) => Some(*n),
        Form::Scalar | Form::Complex | Form::Quaternion => None,
    });
    let mut entries = Vec::new();
    args.iter().zip(forms).for_each(|(arg, form)| add_entries(arg, *form, &mut entries));
    let n = sizes.unwrap_or(0);
    let of_reals = |entries: &[Arg]| formulas::apply(call, n, &values(entries, entries)?);
    let of_numbers = |entries: &[Arg]| of_numbers(call, n, entries);
    let mut results = lift(&entries, &of_reals, &of_numbers)?.into_iter();
    let mut assemble =
        |form: Form| Tree::assemble(form, results.by_ref().take(form.n_entries()).collect());
    Some(call.results().map(&mut assemble).collect())
}

fn add_entries(arg: &Arg, form: Form, entries: &mut Vec<Arg>) {
    match arg {
        _ if form == Form::Scalar => entries.push(arg.clone()),
        Arg::Tree(tree) if tree.form() == form => {
            let inner = match form {
                Form::Matrix(n) => Form::Vector(n),
                _ => Form::Scalar,
            };
            let parts = tree.parts().iter().cloned().map(Arg::Tree);
            parts.for_each(|part| add_entries(&part, inner, entries));
        }
        // A real number as one of several parts.
        _ => {
            let real = if form == Form::Quaternion { 3 } else { 0 };
            let entry = |i| if i == real { arg.clone() } else { Arg::zero() };
            entries.extend((0..form.n_entries()).map(entry));
        }
    }
}

/// A function of the plain arrays in the parts of a vector; vectors in these go component by component.
pub fn of_parts(
    parts: &[Tree],
    function: &impl Fn(&[Value]) -> Option<Vec<Value>>,
) -> Option<Vec<Tree>> {
    let entries: Vec<Arg> = parts.iter().cloned().map(Arg::Tree).collect();
    lift(&entries, &|entries| function(&values(entries, entries)?), &|_| None)
}

/// Of numbers of several parts: a length counts the parts, other functions calculate with complex numbers.
fn of_numbers(call: NestedCall, n: usize, entries: &[Arg]) -> Option<Vec<Tree>> {
    let plain = |form: &Form| matches!(form, Form::Scalar | Form::Vector(_) | Form::Matrix(_));
    if !call.function().parameters.iter().all(plain) {
        return None;
    }
    let kinds: Vec<Option<Kind>> =
        entries.iter().map(|entry| entry.tree().and_then(Tree::kind)).collect();
    let mut flat = Vec::new();
    for entry in entries {
        match entry {
            Arg::Tree(Tree::Node(Kind::Complex | Kind::Quaternion, parts)) => {
                flat.extend(parts.iter().cloned().map(Arg::Tree));
            }
            Arg::Tree(Tree::Node(..)) => return None,
            plain => flat.push(plain.clone()),
        }
    }
    let flat = values(&flat, &flat)?;
    if ["norm", "squared_norm", "frob", "normalize"].contains(&call.function().name) {
        let mut results = formulas::apply(call, n, &flat)?.into_iter().map(Tree::leaf);
        if results.len() == 1 {
            return Some(results.collect());
        }
        let mut like = |kind: &Option<Kind>| match kind {
            None => results.next(),
            Some(Kind::Complex) => {
                Some(Tree::Node(Kind::Complex, results.by_ref().take(2).collect()))
            }
            Some(kind) => Some(Tree::Node(*kind, results.by_ref().take(4).collect())),
        };
        return kinds.iter().map(&mut like).collect();
    }
    if kinds.contains(&Some(Kind::Quaternion)) {
        return None;
    }
    let is_complex: Vec<bool> = kinds.iter().map(Option::is_some).collect();
    let (results, complex) = formulas::apply_complex(call, n, &flat, &is_complex)?;
    let results: Vec<Tree> = results.into_iter().map(Tree::leaf).collect();
    let pair = |parts: &[Tree]| Tree::Node(Kind::Complex, parts.to_vec());
    Some(if complex { results.chunks(2).map(pair).collect() } else { results })
}

fn lift(
    entries: &[Arg],
    function: &impl Fn(&[Arg]) -> Option<Vec<Value>>,
    of_numbers: &dyn Fn(&[Arg]) -> Option<Vec<Tree>>,
) -> Option<Vec<Tree>> {
    match outer(entries, "")? {
        Outer::Plain => Some(function(entries)?.into_iter().map(Tree::leaf).collect()),
        Outer::Vector(n) => {
            let row = |i| lift(&parts(entries, Kind::Vector, n, i), function, of_numbers);
            let rows: Vec<Vec<Tree>> = (0..n).map(row).collect::<Option<_>>()?;
            let column = |k: usize| rows.iter().map(|row| row[k].clone()).collect();
            Some((0..rows[0].len()).map(|k| Tree::Node(Kind::Vector, column(k))).collect())
        }
        Outer::Number(..) => of_numbers(entries),
    }
}

/// Plain arrays and numbers as arrays: numbers take the common type of the arrays among `typing`.
fn values(args: &[Arg], typing: &[Arg]) -> Option<Vec<Value>> {
    let arrays = typing.iter().filter_map(|arg| match arg {
        Arg::Tree(Tree::Leaf(value)) => Some(value.dtype),
        _ => None,
    });
    let join = |a: DType, b: DType| {
        if (a == DType::Mask) == (b == DType::Mask) { oracle::promote(a, b) } else { a }
    };
    let common = arrays.reduce(join)?;
    let value = |arg: &Arg| match arg {
        Arg::Tree(Tree::Leaf(value)) => Some(Value::clone(value)),
        Arg::Tree(Tree::Node(..)) => None,
        Arg::Number(number) => {
            let dtype = common.meet(*number);
            Some(Value { dtype, lanes: vec![dtype.encode(*number).ok()?] })
        }
    };
    args.iter().map(value).collect()
}

/// An operation or a function of plain arrays.
fn plain(name: &str, args: &[Arg]) -> Option<Value> {
    let typing = if name == "select" { args.get(1..)? } else { args };
    let args = values(args, typing)?;
    let args: Vec<&Value> = args.iter().collect();
    let types: Vec<DType> = args.iter().map(|arg| arg.dtype).collect();
    if let Some(info) = operation(name, args.len()) {
        return takes(info, &types).then(|| oracle::applied(info.op, &args));
    }
    let row = functions::FUNCTIONS.iter().position(|function| function.name == name)?;
    if !function_takes(&functions::FUNCTIONS[row], &types) {
        return None;
    }
    let (_, dtype) = oracle::function_type(&functions::FUNCTIONS[row], &types);
    Some(Value { dtype, lanes: oracle::function(row, &args) })
}

/// The operation that is spelled like this; `-` is two of them.
pub fn operation(name: &str, arity: usize) -> Option<&'static OpInfo> {
    if (name, arity) == ("-", 1) {
        return Some(Op::Neg.info());
    }
    OPS.iter().find(|info| info.shape != Shape::Special && info.op.spelling() == name)
}

fn takes(info: &OpInfo, types: &[DType]) -> bool {
    let all = |test: fn(&DType) -> bool| types.iter().all(test);
    let masks = types.iter().filter(|dtype| **dtype == DType::Mask).count();
    match (info.op, info.class) {
        _ if types.len() != info.arity => false,
        (Op::Select, _) => types[0] == DType::Mask && matches!(masks, 1 | 3),
        (Op::Eq | Op::Ne, _) => masks == 0 || masks == 2,
        // `x & m` chooses, as does `x | m`.
        (Op::And | Op::Or, _) => all(|dtype| !dtype.is_float()),
        (_, Class::Bits) => all(|dtype| !dtype.is_float()) && (masks == 0 || masks == types.len()),
        (Op::Rem, _) | (_, Class::Float | Class::Number) => masks == 0,
        (_, Class::Int) => all(|dtype| dtype.is_int()),
        (_, Class::Any) => true,
    }
}

fn function_takes(function: &Function, types: &[DType]) -> bool {
    let fits = |dtype: &DType| match function.class {
        Class::Int => dtype.is_int(),
        _ => dtype.is_number(),
    };
    types.len() == function.arity && types.iter().all(fits)
}

/// The components combined from the first to the last.
pub fn fold(name: &str, parts: &[Tree]) -> Option<Tree> {
    let mut parts = parts.iter().cloned();
    let first = parts.next()?;
    parts.try_fold(first, |sum, part| map(name, &[Arg::Tree(sum), Arg::Tree(part)]))
}

/// `value` as a part of something with parts like `model`: of its type and shape.
pub fn alike(value: &Tree, model: &Tree, dtype: DType) -> Option<Tree> {
    let levels = |tree: &Tree| tree.shape().len();
    let (Tree::Node(kind, models), true) = (model, levels(value) <= levels(model)) else {
        let from = |value: &Value| {
            let lane = |&bits: &u64| oracle::cast(dtype, value.dtype, bits);
            Value { dtype, lanes: value.lanes.iter().map(lane).collect() }
        };
        return (value.shape() == model.shape()).then(|| value.map(&from));
    };
    let args = [Arg::Tree(value.clone())];
    let part = |(i, model): (usize, &Tree)| match parts(&args, *kind, models.len(), i).remove(0) {
        Arg::Tree(part) => alike(&part, model, dtype),
        Arg::Number(_) => Some(model.map(&|_| Value { dtype, lanes: vec![0] })),
    };
    Some(Tree::Node(*kind, models.iter().enumerate().map(part).collect::<Option<_>>()?))
}
