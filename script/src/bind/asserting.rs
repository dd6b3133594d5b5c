//! `assert`, `assert_eq`, `assert_close`, `assert_allclose`: checks that say what was found, and where.

use porcini_core::{Array, DType, Scalar};
use rhai::Dynamic;

use super::entries::entries;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault};
use crate::show::writer::cut;
use crate::value::{ArrayRef, Node, dynamic, scalar, type_name};

/// Lanes read at once, and differences told.
const LANES: usize = 1 << 16;
const MOST_TOLD: usize = 3;
/// Letters of a value that are told.
const MOST_LETTERS: usize = 200;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "assert",
        "(condition, text)",
        "Stops with an error unless a bool is true, or a mask in all lanes; the text (optional) is told. Evaluates a \
         mask.\n\n>> assert(FloatC([1, 2]) > 0, \"positive\"); 1\n1",
    );
    for n in [1, 2] {
        registry.any("assert", n, |context, call, args| {
            context.at(call);
            assert(context, args)
        });
    }
    registry.doc(
        "assert_eq",
        "(a, b)",
        "Stops with an error that shows both values, and where they differ, unless they are equal: numbers and lanes by \
         value whatever their types (nan is nan), one lane for all, a list for the lanes of an array, tensors of one shape, \
         or lists in lists, entry by entry, lists and maps item by item. Evaluates arrays.\n\n>> assert_eq(FloatC([1, 2]) * 2, [2, 4]); 1\n1",
    );
    registry.any("assert_eq", 2, |context, call, args| {
        context.at(call);
        compare(context, "assert_eq", args, None)
    });
    for (name, relative, absolute, doc) in [
        (
            "assert_close",
            1e-5,
            1e-8,
            "As assert_eq, but numbers may differ by atol + rtol * abs(b), both optional: 1e-5 and 1e-8.\n\n\
             >> assert_close(FloatC([0.1, 0.2]) * 3, [0.3, 0.6]); 1\n1",
        ),
        (
            "assert_allclose",
            1e-7,
            0.0,
            "As assert_close with the tolerances of NumPy's function of the name: rtol 1e-7 and atol 0 unless given.\n\n\
             >> assert_allclose(Float64C([0.1, 0.2]) * 3, [0.3, 0.6]); 1\n1",
        ),
    ] {
        registry.doc(name, "(a, b, rtol, atol)", doc);
        for n in 2..=4 {
            registry.any(name, n, move |context, call, args| {
                context.at(call);
                let relative = tolerance(name, args.get(2), relative)?;
                let absolute = tolerance(name, args.get(3), absolute)?;
                compare(context, name, args, Some((relative, absolute)))
            });
        }
    }
}

/// A tolerance, or the default.
fn tolerance(op: &str, value: Option<&&mut Dynamic>, default: f64) -> Result<f64> {
    let Some(value) = value else { return Ok(default) };
    match scalar(value) {
        Some(number @ (Scalar::Int(_) | Scalar::Float(_))) if number.to_f64() >= 0.0 => {
            Ok(number.to_f64())
        }
        _ => {
            let got = type_name(value);
            Err(fault(format!("{op}: got {got} as tolerance, expected a number from 0 up")))
        }
    }
}

fn assert(context: &Context, args: &[&mut Dynamic]) -> Result<()> {
    let text = match args.get(1) {
        Some(text) => format!(": {}", context.text(text)?),
        None => String::new(),
    };
    let value = &*args[0];
    if let Ok(truth) = value.as_bool() {
        return if truth {
            Ok(())
        } else {
            Err(fault(format!("assert{text}: the condition is false")))
        };
    }
    let mask = value.read_lock::<ArrayRef>().filter(|mask| mask.dtype() == DType::Mask);
    let shape = mask.as_ref().and_then(|mask| extents(mask));
    let contents = mask.map(|mask| mask.contents()).transpose()?;
    let Some(leaves) = contents else { return Err(no_condition(value)) };
    let place = |lane: u64| match shape.as_deref() {
        Some(shape @ [_, _, ..]) => index(shape, lane),
        _ => lane.to_string(),
    };
    let mut failed = Found::default();
    for leaf in leaves {
        for start in (0..leaf.size()).step_by(LANES) {
            let lanes = start..(start + LANES as u64).min(leaf.size());
            for (i, lane) in leaf.read(lanes).or_fault()?.into_iter().enumerate() {
                let is_true = lane == Scalar::Bool(true);
                failed.note(is_true, || place(start + i as u64));
            }
        }
    }
    if failed.n == 0 {
        return Ok(());
    }
    let (n, all, first) = (failed.n, failed.n_all, failed.told.join(", "));
    Err(fault(format!(
        "assert{text}: the condition is false in {n} of {all} lanes, first in {first}"
    )))
}

fn no_condition(value: &Dynamic) -> Box<rhai::EvalAltResult> {
    fault(format!("assert: got {}, expected a bool or a mask such as x < 5", type_name(value)))
}

fn compare(
    context: &Context,
    op: &str,
    args: &[&mut Dynamic],
    tolerances: Option<(f64, f64)>,
) -> Result<()> {
    let mut comparison = Comparison { context, tolerances, found: Found::default() };
    comparison.values("", args[0], args[1])?;
    let found = comparison.found;
    if found.n == 0 {
        return Ok(());
    }
    let shown = |value: &Dynamic| {
        context
            .text(value)
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .map(short)
    };
    let (a, b) = (shown(args[0])?, shown(args[1])?);
    let verb = if tolerances.is_some() { "close to" } else { "equal to" };
    let mut places = found.told.join("; ");
    if found.n > found.told.len() {
        places.push_str("; ..");
    }
    let share = if found.n_all > 1 {
        format!("{} of {} differ: ", found.n, found.n_all)
    } else {
        String::new()
    };
    Err(fault(cut(format!("{op}: {a} is not {verb} {b}; {share}{places}"))))
}

fn short(text: String) -> String {
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text,
    }
}

/// What differs.
#[derive(Default)]
struct Found {
    n: usize,
    n_all: usize,
    told: Vec<String>,
}

impl Found {
    fn note(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        self.n_all += 1;
        if !is_right {
            self.n += 1;
            if self.told.len() < MOST_TOLD {
                self.told.push(what());
            }
        }
    }
}

struct Comparison<'c> {
    context: &'c Context,
    /// Relative and absolute.
    tolerances: Option<(f64, f64)>,
    found: Found,
}

/// Numbers in a row.
enum Lanes {
    One(Scalar),
    Array(Array),
    List(Vec<Scalar>),
}

impl Comparison<'_> {
    /// Nesting is bounded as that of values is.
    fn values(&mut self, path: &str, a: &Dynamic, b: &Dynamic) -> Result<()> {
        if let (Some(a), Some(b)) = (Lanes::of(a), Lanes::of(b)) {
            return self.lanes(path, &a, &b);
        }
        if is_tensor(a) || is_tensor(b) {
            let [left, right] = [Grid::of(self.context, a)?, Grid::of(self.context, b)?];
            if let (Some(a), Some(b)) = (left, right) {
                return self.grids(path, &a, &b);
            }
        }
        if let (Some(a), Some(b)) = (items(a), items(b)) {
            if a.len() != b.len() {
                let what = || format!("{}{} items and {}", at(path), a.len(), b.len());
                self.found.note(false, what);
                return Ok(());
            }
            for (i, (a, b)) in a.iter().zip(&b).enumerate() {
                self.values(&format!("{path}[{i}]"), a, b)?;
            }
            return Ok(());
        }
        if let (Some(a), Some(b)) = (a.read_lock::<rhai::Map>(), b.read_lock::<rhai::Map>()) {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => self.values(&path, a, b)?,
                    (Some(_), None) => self.found.note(false, || format!("{path} only left")),
                    _ => self.found.note(false, || format!("{path} only right")),
                }
            }
            return Ok(());
        }
        let [shown, other] = [self.context.text(a)?, self.context.text(b)?];
        let (left, right) = (type_name(a), type_name(b));
        let what = || match left == right {
            true => format!("{}{} and {}", at(path), short(shown.clone()), short(other.clone())),
            false => format!("{}{left} and {right}", at(path)),
        };
        self.found.note(left == right && shown == other, what);
        Ok(())
    }

    fn lanes(&mut self, path: &str, a: &Lanes, b: &Lanes) -> Result<()> {
        let (n, m) = (a.len(), b.len());
        let is_same = match (a, b) {
            (Lanes::One(_), _) => m > 0,
            (_, Lanes::One(_)) => n > 0,
            (Lanes::Array(_), Lanes::Array(_)) => n == m || n.min(m) == 1,
            _ => n == m,
        };
        if !is_same {
            let lanes = |n: u64| format!("{n} lane{}", if n == 1 { "" } else { "s" });
            let counts = match (a, b) {
                (Lanes::One(_), _) => format!("a number and {}", lanes(m)),
                (_, Lanes::One(_)) => format!("{} and a number", lanes(n)),
                _ => format!("{} and {m}", lanes(n)),
            };
            self.found.note(false, || format!("{}{counts}", at(path)));
            return Ok(());
        }
        let is_number = matches!((a, b), (Lanes::One(_), Lanes::One(_)));
        let beside = match (a, b) {
            (Lanes::Array(_), Lanes::Array(_)) => None,
            (Lanes::Array(array), _) | (_, Lanes::Array(array)) => Some(array.dtype()),
            _ => None,
        };
        let place = |lane: u64| match is_number {
            true => at(path),
            false => format!("{path}[{lane}]: "),
        };
        self.each(a, b, beside, &place)
    }

    /// Tensors of one shape, or numbers beside them.
    fn grids(&mut self, path: &str, a: &Grid, b: &Grid) -> Result<()> {
        let shapes = [&a.shape, &b.shape];
        if let [Some(a), Some(b)] = shapes
            && a != b
        {
            self.found.note(false, || format!("{}shapes {a:?} and {b:?}", at(path)));
            return Ok(());
        }
        let shape = shapes.into_iter().flatten().next().cloned().unwrap_or_default();
        let beside = match (a.dtype, b.dtype) {
            (Some(_), Some(_)) => None,
            (dtype, other) => dtype.or(other),
        };
        let (n, none) = (a.parts.len().max(b.parts.len()), Lanes::One(Scalar::Int(0)));
        for i in 0..n {
            let part = if n == 1 { "" } else { [".real", ".imag"][i] };
            let place = |lane: u64| match &shape[..] {
                [] => at(&format!("{path}{part}")),
                shape => format!("{path}{}{part}: ", index(shape, lane)),
            };
            let [a, b] = [a, b].map(|grid| grid.parts.get(i).unwrap_or(&none));
            self.each(a, b, beside, &place)?;
        }
        Ok(())
    }

    /// Lanes that are as many, or one for all; what a list has beside an array is compared as the array's type holds it.
    fn each(
        &mut self,
        a: &Lanes,
        b: &Lanes,
        beside: Option<DType>,
        place: &dyn Fn(u64) -> String,
    ) -> Result<()> {
        let all = if a.len().min(b.len()) == 0 { 0 } else { a.len().max(b.len()) };
        for start in (0..all).step_by(LANES) {
            let lanes = start..(start + LANES as u64).min(all);
            let (a, b) = (a.read(lanes.clone())?, b.read(lanes.clone())?);
            for i in 0..lanes.count() {
                let (a, b) = (a[i.min(a.len() - 1)], b[i.min(b.len() - 1)]);
                let (a_text, b_text) = (dynamic(a), dynamic(b));
                let what = || format!("{}{a_text} and {b_text}", place(start + i as u64));
                self.found.note(self.agree(held(a, beside), held(b, beside)), what);
            }
        }
        Ok(())
    }

    fn agree(&self, a: Scalar, b: Scalar) -> bool {
        match self.tolerances {
            Some((relative, absolute)) => a.is_near(b, relative, absolute),
            None => a.is_same(b),
        }
    }
}

/// A number as the type of the array beside it holds it, if it does.
fn held(number: Scalar, dtype: Option<DType>) -> Scalar {
    dtype
        .and_then(|dtype| dtype.encode(number).ok().map(|bits| dtype.decode(bits)))
        .unwrap_or(number)
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// A tensor, or what is compared with one: lists in lists, an array, a number.
struct Grid {
    /// `None` of a number.
    shape: Option<Vec<u64>>,
    /// Real, and imaginary parts.
    parts: Vec<Lanes>,
    /// That of the entries; `None` of numbers that a script wrote.
    dtype: Option<DType>,
}

impl Grid {
    /// # Errors
    /// Those of evaluation, and of lists that are no tensor.
    fn of(context: &Context, value: &Dynamic) -> Result<Option<Self>> {
        if let Some(number) = scalar(value) {
            let parts = vec![Lanes::One(number)];
            return Ok(Some(Self { shape: None, parts, dtype: None }));
        }
        let (tensor, is_written) = if let Some(list) = value.read_lock::<rhai::Array>() {
            (entries(context, "assert", DType::F64, &list)?, true)
        } else if let Some(array) = value.read_lock::<ArrayRef>()
            && let Ok(Some(tensor)) = array.lend(|value| value.as_tensor("assert"))
        {
            (tensor, false)
        } else {
            return Ok(None);
        };
        let shape = tensor.shape().extents().to_vec();
        let parts = tensor.entries().or_fault()?.into_iter().map(Lanes::Array).collect();
        let dtype = (!is_written).then(|| tensor.dtype());
        Ok(Some(Self { shape: (!shape.is_empty()).then_some(shape), parts, dtype }))
    }
}

fn is_tensor(value: &Dynamic) -> bool {
    value.read_lock::<ArrayRef>().is_some_and(|value| extents(&value).is_some())
}

/// Those of a tensor.
fn extents(value: &ArrayRef) -> Option<Vec<u64>> {
    match &*value.node() {
        Node::Tensor(tensor) => Some(tensor.shape().extents().to_vec()),
        Node::Leaf(_) | Node::Nested(..) => None,
    }
}

/// The index of an entry by its number in row-major order: `[1, 2]`.
fn index(shape: &[u64], mut entry: u64) -> String {
    let mut index = vec![0; shape.len()];
    for (place, &extent) in index.iter_mut().zip(shape).rev() {
        (*place, entry) = (entry % extent.max(1), entry / extent.max(1));
    }
    format!("{index:?}")
}

/// The items of a list, the components of an array value.
fn items(value: &Dynamic) -> Option<Vec<Dynamic>> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return Some(list.clone());
    }
    let parts = value.read_lock::<ArrayRef>()?.components()?;
    Some(parts.into_iter().map(Dynamic::from).collect())
}

impl Lanes {
    /// Of a number, an array, and a list of numbers.
    fn of(value: &Dynamic) -> Option<Self> {
        if let Some(number) = scalar(value) {
            return Some(Self::One(number));
        }
        if let Some(list) = value.read_lock::<rhai::Array>() {
            return list.iter().map(scalar).collect::<Option<Vec<_>>>().map(Self::List);
        }
        let array = value.read_lock::<ArrayRef>()?;
        array.node().leaf().cloned().map(Self::Array)
    }

    fn len(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Array(array) => array.size(),
            Self::List(list) => list.len() as u64,
        }
    }

    /// Some lanes, or the only one.
    fn read(&self, lanes: std::ops::Range<u64>) -> Result<Vec<Scalar>> {
        match self {
            Self::One(number) => Ok(vec![*number]),
            Self::Array(array) if array.size() == 1 => array.read(0..1).or_fault(),
            Self::Array(array) => array.read(lanes).or_fault(),
            Self::List(list) if list.len() == 1 => Ok(list.clone()),
            Self::List(list) => {
                let lane = |i: u64| usize::try_from(i).unwrap_or(usize::MAX).min(list.len());
                Ok(list[lane(lanes.start)..lane(lanes.end)].to_vec())
            }
        }
    }
}
