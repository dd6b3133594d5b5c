//! How operations go through nested values.
//!
//! Vectors pair up component by component, from the outermost level inwards. Where the numbers of
//! components differ, the value of fewer levels goes whole into every component of the other, and so do
//! plain arrays and numbers. Complex numbers, quaternions and matrices are numbers of their own: they
//! never pair with the components of a vector, and operations mean for them what
//! [`porcini_core::trace::nested`] says; a plain array meets them as a real number.

mod multiply_add;

use std::cell::Ref;

use porcini_core::nested::{Form, apply, apply_complex};
use porcini_core::trace::nested::{NestedCall, NestedFunction, find, rows};
use porcini_core::{Array, DType, Error, Operand, Result as CoreResult, Scalar};

use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::{Arg, ArrayRef, Kind, Node};

type Fault = Box<rhai::EvalAltResult>;

/// Operations that act part by part on complex numbers and quaternions.
const LINEAR: [&str; 7] = ["+", "-", "==", "!=", "eq", "neq", "select"];
/// Operations that do not act entry by entry on matrices.
const NOT_BY_ENTRY: [&str; 4] = ["*", "/", "**", "pow"];

/// Applies an operation through nested values.
pub(crate) fn map(
    op: &str,
    args: &[Arg],
    leaf: &impl Fn(&[Operand<'_>]) -> CoreResult<Array>,
) -> Result<ArrayRef> {
    if let Some(result) = map_vectors(op, args, leaf) {
        return result;
    }
    if let Some(result) = multiply_add::in_steps(op, args) {
        return result;
    }
    match Outer::of(op, args)? {
        Outer::Flat => apply_leaf(op, args, leaf),
        Outer::Vector(n) => {
            let component = |i| map(op, &parts(args, Kind::Vector, n, i), leaf);
            Ok(ArrayRef::vector((0..n).map(component).collect::<Result<_>>()?))
        }
        Outer::Number(kind, n) => {
            let own: Vec<Form> = args.iter().map(form).collect();
            let number = form_of(kind, n);
            // What has fewer levels is a real number, or a complex one without imaginary part.
            let among_reals =
                own.iter().map(|&form| if form == number { form } else { Form::Scalar });
            let mut readings = vec![own.clone(), among_reals.collect()];
            if kind != Kind::Matrix {
                readings.push(vec![number; args.len()]);
            }
            if let Some(forms) = readings.iter().find(|forms| find(op, forms).is_some()) {
                return Ok(call_with(op, forms, args)?.remove(0));
            }
            match kind {
                // Entries may be numbers of several parts themselves.
                Kind::Matrix if !NOT_BY_ENTRY.contains(&op) => {
                    let column = |i| map(op, &parts(args, kind, n, i), leaf);
                    Ok(ArrayRef::nested(kind, (0..n).map(column).collect::<Result<_>>()?))
                }
                Kind::Complex | Kind::Quaternion if LINEAR.contains(&op) => {
                    components(op, args, leaf)
                }
                _ => Err(undefined(op, kind, args)),
            }
        }
    }
}

/// Applies an operation to every component, whatever the operation means for numbers of several parts: to
/// convert, to choose, to assign.
pub(crate) fn components(
    op: &str,
    args: &[Arg],
    leaf: &impl Fn(&[Operand<'_>]) -> CoreResult<Array>,
) -> Result<ArrayRef> {
    let (kind, n) = match Outer::of(op, args)? {
        Outer::Flat => return apply_leaf(op, args, leaf),
        Outer::Vector(n) => (Kind::Vector, n),
        Outer::Number(kind, n) => (kind, n),
    };
    let component = |i| components(op, &parts(args, kind, n, i), leaf);
    let results: Vec<ArrayRef> = (0..n).map(component).collect::<Result<_>>()?;
    // What compares parts is no number.
    let is_mask = results.first().is_some_and(|result| result.dtype() == DType::Mask);
    let kind = if is_mask && kind != Kind::Matrix { Kind::Vector } else { kind };
    Ok(ArrayRef::nested(kind, results))
}

/// Values as components of one: promoted to one type, and broadcast to the most deeply nested of them.
pub(crate) fn alike(op: &str, parts: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let mix = |parts: &[ArrayRef]| {
        let types: Vec<String> = parts.iter().map(ArrayRef::type_name).collect();
        fault(format!("{op}: components of types {}", types.join(", ")))
    };
    let mut dtype = parts.first().map_or(DType::F32, ArrayRef::dtype);
    for part in parts {
        dtype = dtype.promote(part.dtype()).ok_or_else(|| mix(parts))?;
    }
    let deepest = parts.iter().max_by_key(|part| part.extents().len());
    let like = |part: &ArrayRef| {
        let model = deepest.unwrap_or(part);
        let args = [Arg::Value(part.clone()), Arg::Value(model.clone())];
        components(op, &args, &|operands| match *operands {
            [Operand::Array(part), _] => part.cast(dtype),
            // The imaginary part of a real number.
            [Operand::Number(zero), Operand::Array(model)] => model.session().full(dtype, zero, 1),
            _ => Err(Error::Argument { op: "components", what: "arrays expected".into() }),
        })
    };
    let parts: Vec<ArrayRef> = parts.iter().map(like).collect::<Result<_>>()?;
    let first = parts.first().map(ArrayRef::type_name);
    if parts.iter().any(|part| Some(part.type_name()) != first) {
        return Err(mix(&parts));
    }
    Ok(parts)
}

/// Calls the function `op` of the table by the forms of its arguments, or of their components; an error lists
/// what it takes.
pub(crate) fn call(op: &str, args: &[Arg]) -> Result<Vec<ArrayRef>> {
    if let Some(results) = call_through(op, args)? {
        return Ok(results);
    }
    let takes: Vec<String> =
        rows().filter(|row| row.name == op).map(|row| signature(row.parameters)).collect();
    Err(fault(format!("{op}: got ({}), expected {}", types(args, ", "), takes.join(" or "))))
}

/// `None` if the function takes no such values.
fn call_through(op: &str, args: &[Arg]) -> Result<Option<Vec<ArrayRef>>> {
    let forms: Vec<Form> = args.iter().map(form).collect();
    if find(op, &forms).is_some() {
        return call_with(op, &forms, args).map(Some);
    }
    let (kind, n) = match Outer::of(op, args)? {
        Outer::Vector(n) => (Kind::Vector, n),
        // A matrix of complex numbers, entry by entry.
        Outer::Number(Kind::Matrix, n) if find(op, &[Form::Complex]).is_some() => (Kind::Matrix, n),
        Outer::Flat | Outer::Number(..) => return Ok(None),
    };
    let component = |i| call_through(op, &parts(args, kind, n, i));
    let Some(rows) = (0..n).map(component).collect::<Result<Option<Vec<_>>>>()? else {
        return Ok(None);
    };
    Ok(Some(columns(kind, &rows)))
}

/// The k-th result of every component, as the components of one.
fn columns(kind: Kind, rows: &[Vec<ArrayRef>]) -> Vec<ArrayRef> {
    let n_results = rows.first().map_or(0, Vec::len);
    let column = |k: usize| rows.iter().map(|row| row[k].clone()).collect();
    (0..n_results).map(column).map(|parts| ArrayRef::nested(kind, parts)).collect()
}

/// Whether a call with these arguments is one of this row.
pub(crate) fn calls(row: &'static NestedFunction, args: &[Arg]) -> bool {
    let forms: Vec<Form> = args.iter().map(form).collect();
    // Not by address: an optimised build may hold several copies of a table.
    find(row.name, &forms).is_some_and(|call| call.function().parameters == row.parameters)
}

/// Forms as a person reads them: `(vector, vector)`.
pub(crate) fn signature(forms: &[Form]) -> String {
    let words: Vec<String> = forms
        .iter()
        .map(|form| match form {
            Form::Scalar => "array".into(),
            Form::Vector(0) => "vector".into(),
            Form::Vector(n) => format!("vector of {n}"),
            Form::Complex => "complex".into(),
            Form::Quaternion => "quaternion".into(),
            Form::Matrix(0) => "matrix".into(),
            Form::Matrix(n) => format!("matrix of {n}"),
        })
        .collect();
    format!("({})", words.join(", "))
}

/// What the outermost level of an operation is.
enum Outer {
    /// Plain arrays and numbers.
    Flat,
    /// Vectors of as many components.
    Vector(usize),
    /// Numbers of several parts.
    Number(Kind, usize),
}

impl Outer {
    fn of(op: &str, args: &[Arg]) -> Result<Self> {
        let nested = || args.iter().filter_map(Arg::nested);
        let Some(deepest) = nested().map(|(value, ..)| level(value)).max() else {
            return Ok(Self::Flat);
        };
        let numbers = || nested().filter(|(_, kind, _)| *kind != Kind::Vector);
        // A matrix or quaternion takes a vector as a whole.
        let forms: Vec<Form> = args.iter().map(form).collect();
        if let Some((_, kind, n)) = numbers().next()
            && find(op, &forms).is_some()
            && nested().all(|(value, kind, _)| kind != Kind::Vector || !has(value, is_whole))
        {
            return Ok(Self::Number(kind, n));
        }
        let top = || nested().filter(|(value, ..)| level(value) == deepest);
        let number = numbers().find(|(value, ..)| level(value) == deepest);
        let chooses_parts = |value: &ArrayRef, n| {
            number.is_some_and(|(_, _, parts)| n == parts) && value.dtype() == DType::Mask
        };
        let mut vectors =
            top().filter(|&(value, kind, n)| kind == Kind::Vector && !chooses_parts(value, n));
        if let Some((vector, _, n)) = vectors.next() {
            if let Some((_, Kind::Matrix, _)) = number
                && !has(vector, |kind| kind != Kind::Vector)
            {
                let message = format!("{op}: {} do not fit", types(args, " and "));
                return Err(fault_with_hint(
                    message,
                    "m * v takes a vector of as many components as m has columns; for v * m write transpose(m) * v",
                ));
            }
            if vectors.any(|(_, _, other)| other != n) {
                return Err(fault(format!(
                    "{op}: {} have different numbers of components",
                    types(args, " and ")
                )));
            }
            return Ok(Self::Vector(n));
        }
        let Some((_, mut kind, mut n)) = number else { return Ok(Self::Flat) };
        // A complex number meets a matrix as one factor.
        if let Some((_, matrix, m)) = top().find(|(_, kind, _)| *kind == Kind::Matrix)
            && find(op, &complex_as_real(&forms)).is_some()
        {
            (kind, n) = (matrix, m);
        }
        let mixes = |other| other == Kind::Vector || kind == Kind::Matrix && other == Kind::Complex;
        if top().any(|(_, other, m)| !mixes(other) && (other, m) != (kind, n)) {
            return Err(fault(format!("{op}: {} do not mix", types(args, " and "))));
        }
        Ok(Self::Number(kind, n))
    }
}

impl Arg {
    /// A nested value with its kind and number of components.
    fn nested(&self) -> Option<(&ArrayRef, Kind, usize)> {
        let Self::Value(value) = self else { return None };
        Some((value, value.kind()?, value.components()?.len()))
    }

    /// The type as a person reads it; a number as it is.
    pub(crate) fn type_name(&self) -> String {
        match self {
            Self::Value(value) => value.type_name(),
            Self::Number(number) => number.to_string(),
        }
    }

    fn is_mask(&self) -> bool {
        match self {
            Self::Value(value) => value.dtype() == DType::Mask,
            Self::Number(number) => matches!(number, Scalar::Bool(_)),
        }
    }
}

/// Levels of nesting; a matrix is one.
fn level(value: &ArrayRef) -> usize {
    let mut level = 0;
    let mut value = value.clone();
    while let (Some(kind), Some(first)) = (value.kind(), first_component(&value)) {
        level += 1;
        value = match kind {
            Kind::Matrix => first_component(&first).unwrap_or(first),
            _ => first,
        };
    }
    level
}

fn first_component(value: &ArrayRef) -> Option<ArrayRef> {
    value.components()?.into_iter().next()
}

/// Whether there are such values among the components.
fn has(value: &ArrayRef, such: impl Fn(Kind) -> bool) -> bool {
    let mut value = value.clone();
    while let Some(first) = first_component(&value) {
        if first.kind().is_some_and(&such) {
            return true;
        }
        value = first;
    }
    false
}

/// Whether a value is no entry of a vector that a matrix takes.
fn is_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Quaternion | Kind::Matrix)
}

fn complex_as_real(forms: &[Form]) -> Vec<Form> {
    let real = |&form: &Form| if form == Form::Complex { Form::Scalar } else { form };
    forms.iter().map(real).collect()
}

fn form_of(kind: Kind, n: usize) -> Form {
    match kind {
        Kind::Vector => Form::Vector(n),
        Kind::Complex => Form::Complex,
        Kind::Quaternion => Form::Quaternion,
        Kind::Matrix => Form::Matrix(n),
    }
}

fn form(arg: &Arg) -> Form {
    arg.nested().map_or(Form::Scalar, |(_, kind, n)| form_of(kind, n))
}

/// The arguments of component `i` of a level.
fn parts(args: &[Arg], kind: Kind, n: usize, i: usize) -> Vec<Arg> {
    let part = |arg: &Arg| match arg.nested() {
        // Masks choose the parts of numbers.
        Some((value, own, count))
            if count == n && (own == kind || own == Kind::Vector && arg.is_mask()) =>
        {
            value.components().map_or_else(|| arg.clone(), |parts| Arg::Value(parts[i].clone()))
        }
        _ if arg.is_mask() => arg.clone(),
        _ => match kind {
            Kind::Complex if i != 0 => Arg::Number(Scalar::Int(0)),
            Kind::Quaternion if i != 3 => Arg::Number(Scalar::Int(0)),
            _ => arg.clone(),
        },
    };
    args.iter().map(part).collect()
}

/// The component that holds a real number.
pub(crate) fn real_part(kind: Kind) -> usize {
    if kind == Kind::Quaternion { 3 } else { 0 }
}

fn call_with(op: &str, forms: &[Form], args: &[Arg]) -> Result<Vec<ArrayRef>> {
    let call = find(op, forms);
    let call = call.ok_or_else(|| fault(format!("{op}: no such function of {forms:?}")))?;
    let mut entries = Vec::new();
    for (arg, form) in args.iter().zip(forms) {
        add_entries(arg, *form, &mut entries);
    }
    let over_reals = |entries: &[Operand<'_>]| apply(call, entries);
    let of_numbers = |entries: &[Arg]| match call {
        _ if call.takes_complex_entries() => of_complex(op, call, entries),
        _ if call.takes_parts() => of_parts(op, call, entries),
        _ => Err(no_reals(op, entries)),
    };
    let mut results = lift_through(op, &entries, &over_reals, &of_numbers)?.into_iter();
    let assemble = |form: Form| assemble(form, results.by_ref().take(form.n_entries()).collect());
    Ok(call.results().map(assemble).collect())
}

fn add_entries(arg: &Arg, form: Form, entries: &mut Vec<Arg>) {
    match arg.nested() {
        _ if form == Form::Scalar => entries.push(arg.clone()),
        Some((value, kind, n)) if form_of(kind, n) == form => {
            let inner = if kind == Kind::Matrix { Form::Vector(n) } else { Form::Scalar };
            for component in value.components().unwrap_or_default() {
                add_entries(&Arg::Value(component), inner, entries);
            }
        }
        // A real number as one of several parts.
        _ => {
            let real = if form == Form::Quaternion { 3 } else { 0 };
            let zero = || Arg::Number(Scalar::Int(0));
            entries.extend(
                (0..form.n_entries()).map(|i| if i == real { arg.clone() } else { zero() }),
            );
        }
    }
}

/// A value of the given form from its entries.
pub(crate) fn assemble(form: Form, mut entries: Vec<ArrayRef>) -> ArrayRef {
    match form {
        Form::Scalar => entries.remove(0),
        Form::Vector(_) => ArrayRef::vector(entries),
        Form::Complex => ArrayRef::nested(Kind::Complex, entries),
        Form::Quaternion => ArrayRef::nested(Kind::Quaternion, entries),
        Form::Matrix(n) => {
            let columns = entries.chunks(n).map(|column| ArrayRef::vector(column.to_vec()));
            ArrayRef::nested(Kind::Matrix, columns.collect())
        }
    }
}

/// Applies a function of several results through vectors among the entries.
pub(crate) fn lift(
    op: &str,
    entries: &[Arg],
    function: &impl Fn(&[Operand<'_>]) -> CoreResult<Vec<Array>>,
) -> Result<Vec<ArrayRef>> {
    lift_through(op, entries, function, &|entries| Err(no_reals(op, entries)))
}

/// As [`lift`], with what to do of entries that are numbers of several parts.
fn lift_through(
    op: &str,
    entries: &[Arg],
    function: &impl Fn(&[Operand<'_>]) -> CoreResult<Vec<Array>>,
    of_numbers: &dyn Fn(&[Arg]) -> Result<Vec<ArrayRef>>,
) -> Result<Vec<ArrayRef>> {
    match Outer::of(op, entries)? {
        Outer::Flat => with_operands(op, entries, |operands| {
            Ok(function(operands).or_fault()?.into_iter().map(ArrayRef::leaf).collect())
        }),
        Outer::Vector(n) => {
            let part = |i| parts(entries, Kind::Vector, n, i);
            let lane = |i| lift_through(op, &part(i), function, of_numbers);
            let rows: Vec<Vec<ArrayRef>> = (0..n).map(lane).collect::<Result<_>>()?;
            Ok(columns(Kind::Vector, &rows))
        }
        Outer::Number(..) => of_numbers(entries),
    }
}

/// Applies a function of vectors or matrices whose entries are complex.
fn of_complex(op: &str, call: NestedCall, entries: &[Arg]) -> Result<Vec<ArrayRef>> {
    let mut parts = Vec::with_capacity(2 * entries.len());
    for entry in entries {
        match entry.nested() {
            None => parts.push(entry.clone()),
            Some((value, Kind::Complex, _)) => {
                parts.extend(value.components().unwrap_or_default().into_iter().map(Arg::Value));
            }
            Some(_) => return Err(no_reals(op, entries)),
        }
    }
    let results = with_operands(op, &parts, |operands| {
        let mut operands = operands.iter().copied();
        let pairs = entries.iter().filter_map(|entry| {
            let re = operands.next()?;
            Some((re, if entry.nested().is_some() { operands.next() } else { None }))
        });
        apply_complex(call, &pairs.collect::<Vec<_>>()).or_fault()
    })?;
    let number = |(re, im): (Array, Option<Array>)| match im {
        Some(im) => ArrayRef::nested(Kind::Complex, vec![ArrayRef::leaf(re), ArrayRef::leaf(im)]),
        None => ArrayRef::leaf(re),
    };
    Ok(results.into_iter().map(number).collect())
}

/// Applies a function for which parts of numbers are entries: the result is one array, or has the same forms.
fn of_parts(op: &str, call: NestedCall, entries: &[Arg]) -> Result<Vec<ArrayRef>> {
    let mut parts = Vec::new();
    for entry in entries {
        match form(entry) {
            Form::Vector(_) | Form::Matrix(_) => return Err(no_reals(op, entries)),
            form => add_entries(entry, form, &mut parts),
        }
    }
    let results = with_operands(op, &parts, |operands| apply(call, operands).or_fault())?;
    let mut results = results.into_iter().map(ArrayRef::leaf);
    if results.len() == 1 {
        return Ok(results.collect());
    }
    let mut like = |entry: &Arg| {
        let form = form(entry);
        assemble(form, results.by_ref().take(form.n_entries()).collect())
    };
    Ok(entries.iter().map(&mut like).collect())
}

fn no_reals(op: &str, entries: &[Arg]) -> Fault {
    let is_number = |entry: &&Arg| entry.nested().is_some();
    let name = entries.iter().find(is_number).map_or_else(String::new, Arg::type_name);
    fault_with_hint(
        format!("{op}: got components of type {name}, expected real arrays"),
        "write it out with the components v.x, v.y, …",
    )
}

fn apply_leaf(
    op: &str,
    args: &[Arg],
    leaf: &impl Fn(&[Operand<'_>]) -> CoreResult<Array>,
) -> Result<ArrayRef> {
    with_operands(op, args, |operands| leaf(operands).map(ArrayRef::leaf).or_fault())
}

fn with_operands<T>(
    op: &str,
    args: &[Arg],
    function: impl FnOnce(&[Operand<'_>]) -> Result<T>,
) -> Result<T> {
    let parts: Vec<Part<'_>> = args.iter().map(Part::of).collect();
    let operands = parts.iter().map(|part| part.operand(op)).collect::<Result<Vec<_>>>()?;
    function(&operands)
}

/// An argument while it is looked at.
enum Part<'a> {
    Value(Ref<'a, Node>),
    Number(Scalar),
}

impl<'a> Part<'a> {
    fn of(arg: &'a Arg) -> Self {
        match arg {
            Arg::Value(value) => Self::Value(value.node()),
            Arg::Number(number) => Self::Number(*number),
        }
    }

    fn operand(&self, op: &str) -> Result<Operand<'_>> {
        match self {
            Self::Value(node) => node.array(op).map(Operand::Array),
            Self::Number(number) => Ok(Operand::Number(*number)),
        }
    }

    /// The components of a vector of plain arrays: none of a plain array or number, `None` for anything else.
    fn plain_vector(&self) -> Option<Option<&[ArrayRef]>> {
        let Self::Value(node) = self else { return Some(None) };
        match &**node {
            Node::Leaf(_) => Some(None),
            Node::Nested(Kind::Vector, parts) if parts.iter().all(|part| part.kind().is_none()) => {
                Some(Some(parts))
            }
            Node::Nested(..) => None,
        }
    }
}

/// The common case without detours: vectors of plain arrays of one length, plain arrays and numbers beside them.
/// `None` for anything else.
fn map_vectors(
    op: &str,
    args: &[Arg],
    leaf: &impl Fn(&[Operand<'_>]) -> CoreResult<Array>,
) -> Option<Result<ArrayRef>> {
    let parts: Vec<Part<'_>> = args.iter().map(Part::of).collect();
    let vectors: Vec<Option<&[ArrayRef]>> =
        parts.iter().map(Part::plain_vector).collect::<Option<_>>()?;
    let mut lengths = vectors.iter().flatten().map(|components| components.len());
    let n = lengths.next()?;
    if lengths.any(|other| other != n) {
        return None;
    }
    let component = |i: usize| {
        let entries = vectors.iter().map(|vector| vector.map(|components| components[i].node()));
        let entries: Vec<Option<Ref<'_, Node>>> = entries.collect();
        let operands = parts.iter().zip(&entries).map(|(part, entry)| match entry {
            Some(entry) => entry.array(op).map(Operand::Array),
            None => part.operand(op),
        });
        leaf(&operands.collect::<Result<Vec<_>>>()?).map(ArrayRef::leaf).or_fault()
    };
    Some((0..n).map(component).collect::<Result<_>>().map(ArrayRef::vector))
}

fn types(args: &[Arg], separator: &str) -> String {
    args.iter().map(Arg::type_name).collect::<Vec<_>>().join(separator)
}

/// The error of an operation that numbers of several parts do not have.
fn undefined(op: &str, kind: Kind, args: &[Arg]) -> Fault {
    let message = format!("{op}: not defined for {}", types(args, " and "));
    let hint = match (kind, op) {
        (Kind::Matrix, "/") => "write a * inverse(b); mul_elem(a, b) multiplies entry by entry",
        (Kind::Matrix, _) => "mul_elem(a, b) multiplies entry by entry",
        (Kind::Complex, "<" | "<=" | ">" | ">=") => {
            "complex numbers have no order; compare abs(z) or z.real"
        }
        (Kind::Complex, _) => "apply it to z.real and z.imag",
        (_, "<" | "<=" | ">" | ">=") => "quaternions have no order; compare abs(q)",
        _ => "apply it to real(q) and imag(q)",
    };
    fault_with_hint(message, hint)
}
