//! What each step means.

use porcini_core::ir::op::{Op, ReduceOp, ScatterOp};
use porcini_core::nested::Form;
use porcini_core::trace::functions;
use porcini_core::trace::nested::find;
use porcini_core::{DType, Scalar};

use super::formulas;
use super::meaning::{Arg, Kind, Tree, alike, by_parts, call, fold, map, of_parts, operation};
use super::steps::{BodyArg, BodyLine, Branching, Index, Operand, Part, Step, over_lanes};
use crate::data;
use crate::oracle::{self, Value, applied, cast};

impl Operand {
    fn arg(self, values: &[Option<Tree>]) -> Option<Arg> {
        Some(match self {
            Self::Value(i) => Arg::Tree(values[i].clone()?),
            Self::Number(number) => Arg::Number(number),
        })
    }
}

impl Index {
    /// The index and the mask.
    fn values(self, values: &[Option<Tree>], n: usize) -> Option<(Value, Option<Value>)> {
        let leaf = |i: usize| values[i].as_ref().map(|tree| tree.leaves()[0].clone());
        let index = converted(&leaf(self.index)?, DType::U32);
        let modulus = Value { dtype: DType::U32, lanes: vec![n as u64 + u64::from(self.slack)] };
        let active = match self.active {
            Some(active) => Some(leaf(active)?),
            None => None,
        };
        Some((applied(Op::Rem, &[&index, &modulus]), active))
    }
}

impl Step {
    /// The value with `n` lanes; `None` if it has no meaning.
    pub fn meaning(&self, values: &[Option<Tree>], n: usize) -> Option<Tree> {
        let get = |i: &usize| values[*i].clone();
        let args = |args: &[Operand]| -> Option<Vec<Arg>> {
            args.iter().map(|arg| arg.arg(values)).collect()
        };
        match self {
            Self::Data { dtype, values, seed, wide } => {
                let lanes = data::lanes(*dtype, *values, *seed, if *wide { n } else { 1 });
                Some(Tree::leaf(Value { dtype: *dtype, lanes }))
            }
            Self::Make { form, dtype, entries } => make(*form, *dtype, &args(entries)?),
            Self::Convert(form, dtype, x) => convert(*form, *dtype, &get(x)?),
            Self::Apply(name, operands) => apply(name, &args(operands)?),
            Self::Static(name, _, dtype, operands) => {
                let arg = |i: &usize| Some(Arg::Tree(get(i)?.map(&|leaf| converted(leaf, *dtype))));
                let args: Option<Vec<Arg>> = operands.iter().map(arg).collect();
                exact_call(name, &args?).map(|mut results| results.remove(0))
            }
            Self::Result(name, x, k) => exact_call(name, &[Arg::Tree(get(x)?)])?.get(*k).cloned(),
            Self::Read(x, part) => part.read(&get(x)?),
            Self::Write(x, letters, value) => write(&get(x)?, letters, &value.arg(values)?),
            Self::Chosen(x, mask) => {
                let zero = if get(x)?.dtype() == DType::Mask {
                    Arg::Tree(Tree::leaf(Value { dtype: DType::Mask, lanes: vec![0] }))
                } else {
                    Arg::Number(Scalar::Int(0))
                };
                by_parts("select", &[Arg::Tree(get(mask)?), Arg::Tree(get(x)?), zero])
            }
            Self::Assigned(x, mask, value) => {
                let x = get(x)?;
                let value = fitting(&value.arg(values)?, &x)?;
                let result = by_parts(
                    "select",
                    &[Arg::Tree(get(mask)?), Arg::Tree(value), Arg::Tree(x.clone())],
                )?;
                result.is_like(&x).then_some(result)
            }
            Self::Fold(name, x) => fold_components(name, &get(x)?),
            Self::FoldAll(name, x) => fold_all(over_lanes(name, n), &get(x)?),
            Self::Harmonic(x, _, place) => {
                let value = |d: &[Value]| Some(vec![formulas::harmonic(d, *place)?]);
                Some(of_parts(vector_parts(&get(x)?, Some(3))?, &value)?.remove(0))
            }
            Self::Encode(x) => {
                let code = |parts: &[Value]| Some(vec![formulas::morton_code(parts)?]);
                Some(of_parts(vector_parts(&get(x)?, None)?, &code)?.remove(0))
            }
            Self::Decode(x, n_parts) => {
                let part = |code: &Value, k| formulas::morton_component(code, *n_parts, k);
                let parts = |code: &[Value]| (0..*n_parts).map(|k| part(&code[0], k)).collect();
                Some(Tree::Node(Kind::Vector, of_parts(&[get(x)?], &parts)?))
            }
            Self::Shuffle(x, state, stream) => {
                let x = get(x)?;
                let sizes = x.leaves().into_iter().map(|leaf| leaf.lanes.len());
                let size = sizes.reduce(|a, b| if a == 1 { b } else { a })?;
                let order = oracle::permutation(*state, *stream, size);
                let lane = |leaf: &Value, &i: &usize| oracle::at(leaf, i);
                Some(x.map(&|leaf| Value {
                    dtype: leaf.dtype,
                    lanes: if leaf.lanes.len() == 1 {
                        leaf.lanes.clone()
                    } else {
                        order.iter().map(|i| lane(leaf, i)).collect()
                    },
                }))
            }
            Self::Concat(a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                let parts: Vec<Tree> = match (a.kind(), b.kind()) {
                    (Some(Kind::Vector), Some(Kind::Vector)) => {
                        a.parts().iter().chain(b.parts()).cloned().collect()
                    }
                    (Some(Kind::Vector), None) => a.parts().iter().chain([&b]).cloned().collect(),
                    _ => return None,
                };
                all_alike(&parts).map(|parts| Tree::Node(Kind::Vector, parts))
            }
            Self::Gather(x, index) => {
                let (index, active) = index.values(values, n)?;
                let lanes = [Some(&index), active.as_ref()].into_iter().flatten();
                let size = lanes.map(|arg| arg.lanes.len()).find(|&size| size != 1).unwrap_or(1);
                Some(get(x)?.map(&|source| Value {
                    dtype: source.dtype,
                    lanes: oracle::gather(source, &index, active.as_ref(), size),
                }))
            }
            Self::Scatter(op, x, value, index) => {
                let (index, active) = index.values(values, n)?;
                scatter(*op, &get(x)?, &value.arg(values)?, &index, active.as_ref())
            }
            Self::Branch { branching, state, turns, bodies } => {
                let result = branch(*branching, &get(state)?, &get(turns)?, bodies, values)?;
                Some(result.map(&|leaf| Value {
                    dtype: leaf.dtype,
                    lanes: (0..n).map(|i| oracle::at(leaf, i)).collect(),
                }))
            }
        }
    }
}

impl Part {
    fn read(&self, tree: &Tree) -> Option<Tree> {
        let vector = |parts: Vec<Tree>| Some(Tree::Node(Kind::Vector, parts));
        let parts = tree.parts();
        let is_matrix = tree.kind() == Some(Kind::Matrix);
        let entry = |i: usize, j: usize| parts.get(j)?.parts().get(i).cloned();
        let is_vector = tree.kind() == Some(Kind::Vector);
        match self {
            Self::Components(one) if one.len() == 1 => parts.get(one[0]).cloned(),
            Self::Components(several) => {
                let swizzles = matches!(tree.kind(), Some(Kind::Vector | Kind::Quaternion));
                let chosen = several.iter().map(|&i| parts.get(i).cloned());
                chosen.collect::<Option<_>>().filter(|_| swizzles).and_then(vector)
            }
            Self::Entry(i, j) if is_matrix => entry(*i, *j),
            Self::Row(i) if is_matrix => {
                (0..parts.len()).map(|j| entry(*i, j)).collect::<Option<_>>().and_then(vector)
            }
            Self::Head(n) if is_vector => parts.get(..*n).and_then(|parts| vector(parts.to_vec())),
            Self::Tail(n) if is_vector => {
                let start = parts.len().checked_sub(*n)?;
                vector(parts[start..].to_vec())
            }
            _ => None,
        }
    }
}

fn converted(value: &Value, dtype: DType) -> Value {
    let lane = |&bits: &u64| cast(dtype, value.dtype, bits);
    Value { dtype, lanes: value.lanes.iter().map(lane).collect() }
}

/// The state after a body; `None` if it changes its type.
pub(super) fn body_meaning(
    body: &[BodyLine],
    state: &Tree,
    values: &[Option<Tree>],
) -> Option<Tree> {
    let mut now = state.clone();
    for (name, args) in body {
        let arg = |arg: &BodyArg| match arg {
            BodyArg::State => Some(Arg::Tree(now.clone())),
            BodyArg::Outer(operand) => operand.arg(values),
        };
        now = apply(name, &args.iter().map(arg).collect::<Option<Vec<_>>>()?)?;
    }
    now.is_like(state).then_some(now)
}

/// An operator or an elementwise function, or else a function of nested values.
fn apply(name: &str, args: &[Arg]) -> Option<Tree> {
    if operation(name, args.len()).is_some() || functions::find(name).is_some() {
        return map(name, args);
    }
    exact_call(name, args).map(|mut results| results.remove(0))
}

/// A row of the table of nested functions, for exactly these forms.
fn exact_call(name: &str, args: &[Arg]) -> Option<Vec<Tree>> {
    let forms: Vec<Form> = args
        .iter()
        .map(|arg| match arg {
            Arg::Tree(tree) => tree.form(),
            Arg::Number(_) => Form::Scalar,
        })
        .collect();
    find(name, &forms)?;
    call(name, &forms, args)
}

/// Values promoted to one type and broadcast to the most deeply nested of them.
fn all_alike(parts: &[Tree]) -> Option<Vec<Tree>> {
    let masks = parts.iter().filter(|part| part.dtype() == DType::Mask).count();
    if masks != 0 && masks != parts.len() {
        return None;
    }
    let dtype = parts.iter().map(Tree::dtype).reduce(oracle::promote)?;
    let deepest = parts.iter().max_by_key(|part| part.shape().len())?;
    let parts: Vec<Tree> =
        parts.iter().map(|part| alike(part, deepest, dtype)).collect::<Option<_>>()?;
    parts.iter().all(|part| part.is_like(&parts[0])).then_some(parts)
}

fn make(form: Form, dtype: Option<DType>, entries: &[Arg]) -> Option<Tree> {
    let entry = |arg: &Arg| match (arg, dtype) {
        (Arg::Tree(Tree::Leaf(leaf)), Some(dtype)) => Some(Tree::leaf(converted(leaf, dtype))),
        (Arg::Tree(Tree::Node(..)), Some(_)) => None,
        (Arg::Tree(tree), None) => Some(tree.clone()),
        (Arg::Number(number), _) => {
            let dtype = dtype.unwrap_or(DType::of(*number));
            Some(Tree::leaf(Value { dtype, lanes: vec![dtype.encode(*number).ok()?] }))
        }
    };
    let entries: Vec<Tree> = entries.iter().map(entry).collect::<Option<_>>()?;
    let entries = if dtype.is_some() { entries } else { all_alike(&entries)? };
    if entries.len() != form.n_entries() {
        return None;
    }
    Some(Tree::assemble(
        form,
        match form {
            // A script writes rows.
            Form::Matrix(n) => (0..n * n).map(|k| entries[k % n * n + k / n].clone()).collect(),
            _ => entries,
        },
    ))
}

fn convert(form: Form, dtype: DType, x: &Tree) -> Option<Tree> {
    let parts: Vec<Tree> = match (form, x) {
        (Form::Matrix(n), Tree::Node(Kind::Matrix, columns)) => {
            // Cut, or filled up with the identity.
            let entry = |k: usize| {
                let (i, j) = (k % n, k / n);
                let one = Value { dtype, lanes: vec![cast(dtype, DType::U32, u64::from(i == j))] };
                let entry = columns.get(j).and_then(|column| column.parts().get(i));
                entry.map_or_else(|| Tree::leaf(one), Tree::clone)
            };
            (0..n * n).map(entry).collect()
        }
        (Form::Vector(n), Tree::Leaf(_)) => vec![x.clone(); n],
        (Form::Vector(_), Tree::Node(kind, parts)) if *kind != Kind::Matrix => parts.clone(),
        (Form::Complex, Tree::Node(Kind::Complex | Kind::Vector, parts))
        | (Form::Quaternion, Tree::Node(Kind::Quaternion | Kind::Vector, parts)) => parts.clone(),
        (Form::Scalar, Tree::Leaf(_)) => vec![x.clone()],
        _ => return None,
    };
    let fits = parts.len() == form.n_entries() && parts.iter().all(|part| part.kind().is_none());
    fits.then(|| {
        Tree::assemble(
            form,
            parts.iter().map(|part| part.map(&|leaf| converted(leaf, dtype))).collect(),
        )
    })
}

/// A value in the type and shape of a place that it is written to.
fn fitting(value: &Arg, place: &Tree) -> Option<Tree> {
    let dtype = place.dtype();
    match value {
        Arg::Number(number) => {
            let number = Tree::leaf(Value { dtype, lanes: vec![dtype.encode(*number).ok()?] });
            alike(&number, place, dtype)
        }
        Arg::Tree(value) => (value.dtype() == dtype).then(|| alike(value, place, dtype))?,
    }
}

fn write(x: &Tree, letters: &[usize], value: &Arg) -> Option<Tree> {
    let Tree::Node(kind, parts) = x else { return None };
    let mut parts = parts.clone();
    for (k, &letter) in letters.iter().enumerate() {
        let part = match value {
            Arg::Tree(tree) if letters.len() > 1 && tree.kind().is_some() => {
                if tree.parts().len() != letters.len() {
                    return None;
                }
                Arg::Tree(tree.parts()[k].clone())
            }
            value => value.clone(),
        };
        let place = parts.get(letter)?.clone();
        parts[letter] = fitting(&part, &place)?;
    }
    Some(Tree::Node(*kind, parts))
}

fn scatter(
    op: ScatterOp,
    target: &Tree,
    value: &Arg,
    index: &Value,
    active: Option<&Value>,
) -> Option<Tree> {
    match target {
        Tree::Node(kind, parts) => {
            let part = |(i, target): (usize, &Tree)| {
                let value = match value {
                    Arg::Tree(tree @ Tree::Node(..)) => Arg::Tree(tree.parts().get(i)?.clone()),
                    value => value.clone(),
                };
                scatter(op, target, &value, index, active)
            };
            let parts = parts.iter().enumerate().map(part).collect::<Option<_>>()?;
            Some(Tree::Node(*kind, parts))
        }
        Tree::Leaf(target) => {
            let dtype = target.dtype;
            let value = match value {
                Arg::Tree(Tree::Leaf(value)) if value.dtype == dtype => Value::clone(value),
                Arg::Number(number) => Value { dtype, lanes: vec![dtype.encode(*number).ok()?] },
                Arg::Tree(_) => return None,
            };
            let fits = op.class().contains(dtype);
            fits.then(|| {
                let lanes = oracle::scatter(op, target, &value, index, active);
                Tree::leaf(Value { dtype, lanes })
            })
        }
    }
}

/// The operation that combines components.
fn combining(name: &str) -> Option<&'static str> {
    Some(match name {
        "hsum" | "hmean" | "psum" | "count" => "+",
        "hprod" => "*",
        "hmin" => "min",
        "hmax" => "max",
        "any" | "none" => "|",
        "all" => "&",
        _ => return None,
    })
}

fn fold_components(name: &str, x: &Tree) -> Option<Tree> {
    let Tree::Node(kind, parts) = x else { return None };
    // Products and quotients of numbers have meanings of their own.
    let linear = matches!(name, "hsum" | "psum") && *kind == Kind::Vector;
    if (x.dtype() == DType::Mask) != matches!(name, "any" | "all" | "none" | "count")
        || x.has_numbers() && !linear
    {
        return None;
    }
    let name_of = combining(name)?;
    match name {
        "psum" => {
            let sums = (1..=parts.len()).map(|n| fold(name_of, &parts[..n]));
            Some(Tree::Node(Kind::Vector, sums.collect::<Option<_>>()?))
        }
        "hmean" => {
            let sum = fold(name_of, parts)?;
            let n = i64::try_from(parts.len()).ok()?;
            map("/", &[Arg::Tree(sum), Arg::Number(Scalar::Int(n))])
        }
        "count" => {
            let ones: Vec<Tree> =
                parts.iter().map(|part| part.map(&|leaf| converted(leaf, DType::U32))).collect();
            fold(name_of, &ones)
        }
        "none" => map("not", &[Arg::Tree(fold(name_of, parts)?)]),
        _ => fold(name_of, parts),
    }
}

/// The components of a vector of numbers, as many as given.
fn vector_parts(x: &Tree, n: Option<usize>) -> Option<&[Tree]> {
    let fits = x.kind() == Some(Kind::Vector) && n.is_none_or(|n| x.parts().len() == n);
    fits.then(|| x.parts())
}

/// Level by level, then over the lanes.
fn fold_all(name: &str, x: &Tree) -> Option<Tree> {
    let op = match name {
        "hsum" | "hmean" => ReduceOp::Sum,
        "hprod" => ReduceOp::Prod,
        "hmin" => ReduceOp::Min,
        "hmax" => ReduceOp::Max,
        _ => return None,
    };
    let mut x = x.clone();
    while x.kind().is_some() {
        x = fold_components(name, &x)?;
    }
    let leaf = x.leaves()[0].clone();
    if leaf.dtype == DType::Mask {
        return None;
    }
    if name == "hmean" {
        let dtype = leaf.dtype.quotient();
        return Some(Tree::leaf(Value { dtype, lanes: vec![oracle::mean(&leaf, dtype)] }));
    }
    let lanes = vec![oracle::reduce(op, &leaf)];
    Some(Tree::leaf(Value { dtype: leaf.dtype, lanes }))
}

fn branch(
    branching: Branching,
    state: &Tree,
    turns: &Tree,
    bodies: &[Vec<BodyLine>],
    values: &[Option<Tree>],
) -> Option<Tree> {
    let select = |runs: &dyn Fn(u64) -> bool, new: &Tree, old: &Tree| {
        let mask = |leaf: &Value| Value {
            dtype: DType::Mask,
            lanes: leaf.lanes.iter().map(|&turns| u64::from(runs(turns))).collect(),
        };
        by_parts(
            "select",
            &[Arg::Tree(turns.map(&mask)), Arg::Tree(new.clone()), Arg::Tree(old.clone())],
        )
    };
    let zeros = state.map(&|leaf| Value { dtype: leaf.dtype, lanes: vec![0] });
    let results: Vec<Tree> =
        bodies.iter().map(|body| body_meaning(body, state, values)).collect::<Option<_>>()?;
    match branching {
        Branching::While => {
            let mut state = state.clone();
            for turn in 0..7 {
                let next = body_meaning(&bodies[0], &state, values)?;
                state = select(&|turns| turns & 7 > turn, &next, &state)?;
            }
            Some(state)
        }
        Branching::If => select(&|turns| turns & 1 == 1, results.first()?, results.get(1)?),
        Branching::Dispatch => {
            let each = results.iter().enumerate();
            each.rev().try_fold(zeros, |rest, (i, result)| {
                select(&|turns| turns & 3 == i as u64, result, &rest)
            })
        }
    }
}
