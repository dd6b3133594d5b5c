//! Functions of the package, from core's tables: made when they are first asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use porcini_core::catalogue::{self, Answer, Kind, Row, TENSOR_MAKERS};
use porcini_core::ir::op::{OPS, OpInfo, Shape};
use porcini_core::tensor::Tensor;
use porcini_core::trace::functions::{self, FUNCTIONS, Function};
use porcini_core::trace::nested::{self, NestedFunction};
use porcini_core::value::{self, Argument, Form};
use porcini_core::{Array, DType, Operand, Result as CoreResult, Scalar, Session, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple, PyType};

use crate::aliases::{alias, aliases};
use crate::arguments::{Unfit, arguments, is_called, takes_names, told};
use crate::convert::{Given, answered, is_sequence, number, plain_number, python_number};
use crate::errors::{OrRaise, got};
use crate::forms::{self, Call, FIRST, First};
use crate::home;
use crate::interchange::offers_contents;
use crate::interrupt::blocking;
use crate::makers::{made_by, made_of_type, without_dtype};
use crate::object::{self, PyValue, dtype_of};

type Object<'py> = Bound<'py, PyAny>;
/// Arguments by place, and those that are left by name, where some were.
type Placed<'py> = (Option<Vec<Object<'py>>>, Option<Bound<'py, PyDict>>);

/// All that a name means.
#[derive(Default)]
pub(crate) struct Overloads {
    pub(crate) name: &'static str,
    rows: Vec<&'static Row>,
    tensor_rows: Vec<&'static Row>,
    makers: Vec<&'static Row>,
    op: Option<&'static OpInfo>,
    function: Option<&'static Function>,
    nested: Vec<&'static NestedFunction>,
    first: Option<First>,
}

static TABLE: LazyLock<BTreeMap<&'static str, Overloads>> = LazyLock::new(table);

fn table() -> BTreeMap<&'static str, Overloads> {
    let mut table = BTreeMap::<&'static str, Overloads>::new();
    let mut of = |name: &'static str, add: &mut dyn FnMut(&mut Overloads)| {
        let overloads = table.entry(name).or_default();
        overloads.name = name;
        add(overloads);
    };
    for row in catalogue::rows() {
        of(row.name, &mut |known| known.rows.push(row));
    }
    for row in catalogue::tensor_rows() {
        of(row.name, &mut |known| known.tensor_rows.push(row));
    }
    for row in TENSOR_MAKERS {
        of(row.name, &mut |known| known.makers.push(row));
    }
    let is_named = |info: &&OpInfo| {
        (info.operator.is_none() || info.shape == Shape::Compare) && info.shape != Shape::Special
    };
    for info in OPS.iter().filter(is_named) {
        of(info.name, &mut |known| known.op = Some(info));
    }
    for function in FUNCTIONS {
        of(function.name, &mut |known| known.function = Some(function));
    }
    for row in nested::rows()
        .filter(|row| row.name.starts_with(char::is_alphabetic) && !row.name.contains("::"))
    {
        of(row.name, &mut |known| known.nested.push(row));
    }
    for (name, first) in FIRST {
        of(name, &mut |known| known.first = Some(first));
    }
    table
}

/// What a name means.
pub(crate) fn find(name: &str) -> Option<&'static Overloads> {
    TABLE.get(alias(name).map_or(name, |(_, name)| name))
}

/// The name by which a function was asked for.
pub(crate) fn name_of(name: &str, overloads: &Overloads) -> &'static str {
    alias(name).map_or(overloads.name, |(alias, _)| alias)
}

/// All names of functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    // What is a word of Python has an alias.
    let own = TABLE.keys().copied().filter(|name| *name != "not");
    own.chain(aliases().map(|(alias, _)| alias))
}

/// The names of functions whose first argument is a value.
pub(crate) fn method_names() -> BTreeSet<&'static str> {
    let is_method = |name: &&str| find(name).is_some_and(Overloads::takes_value);
    names().filter(is_method).collect()
}

impl Overloads {
    /// Where a parameter stands that rows of tensors have.
    pub(crate) fn place_of(&self, parameter: &str) -> Option<usize> {
        let mut rows = self.tensor_rows.iter();
        rows.find_map(|row| row.parameters.iter().position(|(name, _)| *name == parameter))
    }

    /// Whether it makes values of a type, which may be told by dtype=.
    pub(crate) fn is_maker(&self) -> bool {
        !self.makers.is_empty()
    }

    pub(crate) fn takes_value(&self) -> bool {
        let rows = self.rows.iter().chain(&self.tensor_rows);
        self.op.is_some()
            || self.function.is_some()
            || !self.nested.is_empty()
            || rows.into_iter().any(|row| {
                let first = row.parameters.first().map(|(_, kind)| *kind);
                first.is_some_and(|kind| kind.is_value() || kind == Kind::Operand)
            })
    }

    /// What help shows: each form with its parameters.
    pub(crate) fn forms(&self) -> Vec<(String, String)> {
        let of_row = |row: &&'static Row| (row.signature(), row.doc());
        let mut forms: Vec<(String, String)> = self.rows.iter().map(of_row).collect();
        let letters = ["()", "(x)", "(a, b)", "(a, b, c)"];
        forms.extend(self.op.map(|info| {
            let parameters =
                if info.shape == Shape::Select { "(mask, a, b)" } else { letters[info.arity] };
            (parameters.to_string(), info.doc.to_string())
        }));
        forms
            .extend(self.function.map(|row| (letters[row.arity].to_string(), row.doc.to_string())));
        forms.extend(self.makers.iter().map(of_row));
        forms.extend(self.tensor_rows.iter().map(of_row));
        forms.extend(
            self.nested.iter().map(|row| (value::signature(row.parameters), row.doc.to_string())),
        );
        forms
    }

    /// Whether it goes lane by lane.
    pub(crate) fn is_lane_by_lane(&self) -> bool {
        self.op.is_some() || self.function.is_some() || !self.nested.is_empty()
    }

    /// Calls it.
    pub(crate) fn call<'py>(
        &self,
        py: Python<'py>,
        args: &[Object<'py>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        // Wrappers of other functions hand over `**{}`.
        let named = named.filter(|named| !named.is_empty());
        let error = match self.first_or_called(py, args, named) {
            Err(error) if error.is_instance_of::<PyTypeError>(py) => error,
            done => return done,
        };
        if let Some(done) = forms::by_python(py, self.name, args, named)? {
            return Ok(done);
        }
        Err(told(py, error))
    }

    fn first_or_called<'py>(
        &self,
        py: Python<'py>,
        args: &[Object<'py>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let call = Call { overloads: self, py, args, named };
        // Most calls are of arrays.
        if !args.first().is_some_and(|first| first.is_instance_of::<PyValue>())
            && let Some(done) = forms::of_complex_numbers(&call)?
        {
            return Ok(done);
        }
        if let Some(first) = self.first
            && let Some(done) = first(&call)?
        {
            return Ok(done);
        }
        self.called(py, args, named)
    }

    /// Calls what core's tables have of the name.
    pub(crate) fn called<'py>(
        &self,
        py: Python<'py>,
        args: &[Object<'py>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let session = home::session(py)?;
        let (placed, rest) = self.placed(args, named)?;
        let (args, named) = (placed.as_deref().unwrap_or(args), rest.as_ref().or(named));
        let named = named.filter(|named| !named.is_empty());
        if named.is_none()
            && let Some(result) = self.of_plain(py, session, args)?
        {
            return Ok(result);
        }
        // zeros(Float, 3) is Float.zeros(3), as Dr.Jit has it.
        if let Some(class) = args.first().and_then(|first| first.cast::<PyType>().ok()) {
            return made_by(class, self.name, &args[1..], named);
        }
        let n_named = named.map_or(0, |named| named.len());
        let n = args.len() + n_named;
        let mut wrong = None;
        let of_tensors = self.is_of_tensors(args);
        let first = if of_tensors { &self.tensor_rows } else { &self.rows };
        let mut attempt =
            |rows: &[&'static Row]| self.by_rows(session, rows, args, named, &mut wrong);
        if let Some(result) = attempt(first) {
            return result;
        }
        if of_tensors && let Some(result) = attempt(&self.rows) {
            return result;
        }
        if n_named == 0 {
            if let Some(info) = self.op.filter(|info| info.arity == n) {
                return of_operation(session, info, args);
            }
            if let Some(function) = self.function
                && (function.n_required()..=function.arity).contains(&n)
            {
                return of_table(session, function, args);
            }
            if self.nested.iter().any(|row| row.parameters.len() == n) {
                return of_nested(session, self.name, args);
            }
        }
        if let Some(result) = self.by_rows(session, &self.tensor_rows, args, named, &mut wrong) {
            return result;
        }
        let (typed, dtype) = without_dtype(named)?;
        let n_typed = args.len() + typed.as_ref().map_or(0, |named| named.len());
        if let Some(row) = self.makers.iter().find(|row| {
            (row.n_required..=row.parameters.len()).contains(&n_typed)
                && takes_names(row, args.len(), typed.as_ref())
        }) {
            return made_of_type(py, row, args, typed.as_ref(), dtype.as_ref());
        }
        if let (Some(all), [_]) = (forms::reduction(self.name), args) {
            return all.call(py, args, named);
        }
        if let Some(error) = wrong {
            return Err(error);
        }
        let takes: Vec<String> = self
            .forms()
            .into_iter()
            .map(|(parameters, _)| format!("{}{parameters}", self.name))
            .collect();
        let mut takes_once = takes.clone();
        takes_once.dedup();
        let names = named
            .map(|named| named.keys().iter().map(|key| format!("{key}=..")).collect::<Vec<_>>());
        let got: Vec<String> = args.iter().map(got).chain(names.unwrap_or_default()).collect();
        Err(PyTypeError::new_err(format!(
            "{}: got ({}), expected {}",
            self.name,
            got.join(", "),
            takes_once.join(" or ")
        )))
    }
}

impl Overloads {
    /// The common case without detours: an operation or function of arrays and numbers, lane by lane.
    fn of_plain<'py>(
        &self,
        py: Python<'py>,
        session: &Session,
        args: &[Object<'py>],
    ) -> PyResult<Option<Object<'py>>> {
        let n = args.len();
        let takes = |row: &&'static Row| (row.n_required..=row.parameters.len()).contains(&n);
        let op = self.op.filter(|info| info.arity == n);
        let function = self.function.filter(|function| function.arity == n);
        if n == 0 || n > 3 || op.is_none() && function.is_none() || self.rows.iter().any(takes) {
            return Ok(None);
        }
        let mut held = [const { None }; 3];
        for (place, arg) in held.iter_mut().zip(args) {
            *place = arg.cast::<PyValue>().ok().map(|value| value.get().value());
        }
        let mut operands = [Operand::Number(Scalar::Int(0)); 3];
        for ((operand, held), arg) in operands.iter_mut().zip(&held).zip(args) {
            *operand = match held.as_deref() {
                Some(Value::Array(array)) => Operand::Array(array),
                Some(_) => return Ok(None),
                None => match plain_number(arg)? {
                    // A truth value for a mask is another matter.
                    None | Some(Scalar::Bool(_)) => return Ok(None),
                    Some(number) => Operand::Number(number),
                },
            };
        }
        let operands = &operands[..n];
        if !operands.iter().any(|operand| matches!(operand, Operand::Array(_))) {
            return Ok(None);
        }
        let result = match (op, function) {
            (Some(info), _) => session.apply(info.op, operands),
            (_, Some(function)) => session.call(function, operands),
            _ => return Ok(None),
        };
        object::lanes(py, result.or_raise()?).map(Some)
    }

    /// By place what is given by name, as far as nothing before it is missing: `sin(x=..)`, `scatter(target=..)`.
    fn placed<'py>(
        &self,
        args: &[Object<'py>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Placed<'py>> {
        let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok((None, None)) };
        let rows = self.rows.iter().chain(&self.tensor_rows).filter(|_| args.is_empty());
        let of_rows = rows.map(|row| row.parameters.iter().map(|(name, _)| *name).collect());
        let forms = of_rows.chain(self.lettered().map(<[&str]>::to_vec));
        let keys: Vec<String> = named.keys().iter().map(|key| key.to_string()).collect();
        let takes = |form: &Vec<&str>| {
            let open = form.get(args.len()..).unwrap_or_default();
            keys.iter().all(|key| open.iter().any(|name| is_called(name, key)))
        };
        let Some(form) = forms.into_iter().find(takes) else { return Ok((None, None)) };
        let (mut placed, rest) = (args.to_vec(), named.copy()?);
        for name in &form[args.len()..] {
            let Some(key) = keys.iter().find(|key| is_called(name, key)) else { break };
            placed.extend(rest.get_item(key)?);
            rest.del_item(key)?;
        }
        Ok((Some(placed), Some(rest)))
    }

    /// What the parameters of an operation or function that goes lane by lane are called.
    fn lettered(&self) -> Option<&'static [&'static str]> {
        const LETTERS: [&[&str]; 4] = [&[], &["x"], &["a", "b"], &["a", "b", "c"]];
        match (self.op, self.function) {
            (Some(info), _) if info.shape == Shape::Select => Some(&["mask", "a", "b"]),
            (Some(info), _) => Some(LETTERS[info.arity]),
            (None, Some(function)) => Some(LETTERS[function.arity]),
            (None, None) => LETTERS.get(self.n_nested().max()?).copied(),
        }
    }

    /// How many arguments its forms of vectors, matrices and the like take.
    fn n_nested(&self) -> impl Iterator<Item = usize> {
        self.nested.iter().map(|row| row.parameters.len())
    }

    /// Calls the first row that takes the arguments, if there is one; `wrong` tells why another one did not.
    fn by_rows<'py>(
        &self,
        session: &Session,
        rows: &[&'static Row],
        args: &[Object<'py>],
        named: Option<&Bound<'py, PyDict>>,
        wrong: &mut Option<PyErr>,
    ) -> Option<PyResult<Object<'py>>> {
        let n = args.len() + named.map_or(0, |named| named.len());
        for row in rows {
            let takes = (row.n_required..=row.parameters.len()).contains(&n)
                && takes_names(row, args.len(), named)
                // Rows of arrays stand beside operations of the name that take numbers, too.
                && args.first().is_none_or(|first| takes_first(row.parameters[0].1, first));
            if !takes {
                continue;
            }
            match of_row(session, row, args, named) {
                Err(error) if Python::attach(|py| error.is_instance_of::<Unfit>(py)) => {
                    wrong.get_or_insert(error);
                }
                done => return Some(done),
            }
        }
        None
    }

    /// Whether a call is one of tensors: its first argument is one, or what others of the name do not take.
    fn is_of_tensors(&self, args: &[Object<'_>]) -> bool {
        let Some(first) = args.first() else { return false };
        if is_tensor(first) {
            return true;
        }
        let form = match first.cast::<PyValue>() {
            Ok(value) => Some(value.get().value().form()),
            Err(_) => is_row(first).then_some(Form::Scalar),
        };
        match form {
            Some(Form::Scalar) if !self.nested.is_empty() => {
                let takes_array = |row: &&&'static NestedFunction| {
                    row.over_lanes.is_some() || row.parameters[0] == Form::Scalar
                };
                args[1..].iter().any(is_tensor) || !self.nested.iter().any(|row| takes_array(&row))
            }
            // Tensors know complex numbers.
            Some(Form::Complex) => self.rows.iter().any(|row| row.parameters[0].1 == Kind::Array),
            _ => false,
        }
    }
}

fn is_tensor(object: &Object<'_>) -> bool {
    if let Ok(value) = object.cast::<PyValue>() {
        return value.get().value().form() == Form::Tensor;
    }
    if is_sequence(object) {
        let items = object.try_iter();
        return items.is_ok_and(|mut items| {
            items.any(|item| item.is_ok_and(|item| is_sequence(&item) || is_tensor(&item)))
        });
    }
    object.getattr("ndim").and_then(|n| n.extract::<usize>()).is_ok_and(|n| n > 1)
}

/// Whether an object that is no value is an array: a list of numbers, or one of another library with one axis.
fn is_row(object: &Object<'_>) -> bool {
    if is_sequence(object) {
        let first = object.get_item(0).and_then(|first| number(&first));
        return first.is_ok_and(|first| first.is_some());
    }
    object.getattr("ndim").and_then(|n| n.extract::<usize>()).is_ok_and(|n| n == 1)
}

/// Whether a parameter may be meant by an object in the first place.
fn takes_first(kind: Kind, object: &Object<'_>) -> bool {
    !kind.is_value()
        || is_array_like(object)
        || kind == Kind::Mask && object.is_instance_of::<PyBool>()
}

/// Whether an object has lanes.
fn is_array_like(object: &Object<'_>) -> bool {
    object.is_instance_of::<PyValue>() || is_sequence(object) || offers_contents(object)
}

/// Calls a row of the catalogue.
fn of_row<'py>(
    session: &Session,
    row: &'static Row,
    args: &[Object<'py>],
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let first = args.first();
    let py = match (first, named) {
        (Some(first), _) => first.py(),
        (None, Some(named)) => named.py(),
        (None, None) => {
            return Err(PyTypeError::new_err(format!("{}: got no arguments", row.name)));
        }
    };
    let target = written(row, first);
    loop {
        let before = target.map(|target| target.get().value().clone());
        let given = arguments(session, row, args, named)?;
        let answer = blocking(py, || {
            let args: Vec<Argument<'_>> = given.iter().map(Given::argument).collect();
            row.call(session, &args.iter().collect::<Vec<_>>())
        })?;
        // Where another thread wrote meanwhile, this is written behind it.
        let is_late = target.zip(before).is_some_and(|(target, before)| !target.get().is(&before));
        if !is_late {
            return answered(py, answer, first);
        }
    }
}

/// The first argument of a row that writes to it.
fn written<'a, 'py>(row: &Row, first: Option<&'a Object<'py>>) -> Option<&'a Bound<'py, PyValue>> {
    let is_written = matches!(row.parameters.first(), Some((_, Kind::Target | Kind::Marked)));
    first.filter(|_| is_written)?.cast::<PyValue>().ok()
}

/// An operation of the table of operations, lane by lane.
fn of_operation<'py>(
    session: &Session,
    info: &'static OpInfo,
    args: &[Object<'py>],
) -> PyResult<Object<'py>> {
    lane_by_lane(session, info.name, args, &|operands| match operands {
        // A bool chooses for all lanes.
        [Operand::Number(mask @ Scalar::Bool(_)), a, b] if info.shape == Shape::Select => {
            let mask = session.full(DType::Mask, *mask, 1)?;
            session.apply(info.op, &[Operand::Array(&mask), *a, *b])
        }
        _ => session.apply(info.op, operands),
    })
}

/// A function of the table of functions; what is left out is the default.
fn of_table<'py>(
    session: &Session,
    function: &'static Function,
    args: &[Object<'py>],
) -> PyResult<Object<'py>> {
    let defaults = &function.defaults[args.len() - function.n_required()..];
    lane_by_lane(session, function.name, args, &|operands| {
        let defaults = defaults.iter().map(|&number| Operand::from(number));
        let operands: Vec<Operand<'_>> = operands.iter().copied().chain(defaults).collect();
        session.call(function, &operands)
    })
}

type Leaf<'l> = dyn Fn(&[Operand<'_>]) -> CoreResult<Array> + 'l;

fn lane_by_lane<'py>(
    session: &Session,
    name: &'static str,
    args: &[Object<'py>],
    leaf: &Leaf<'_>,
) -> PyResult<Object<'py>> {
    let py = args[0].py();
    // A mask that chooses says nothing of what it chooses from.
    let dtype = || args.iter().filter_map(dtype_of).find(|&dtype| dtype != DType::Mask);
    let given = args.iter().map(|arg| Given::expected_beside(session, name, arg, dtype));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let numbers = given.iter().map(|given| match given {
        Given::Number(number) => Some(*number),
        _ => None,
    });
    if let Some(numbers) = numbers.collect::<Option<Vec<Scalar>>>() {
        let result = session.of_numbers(&numbers, |lanes| leaf(lanes)).or_raise()?;
        return Ok(python_number(py, result));
    }
    let args: Vec<Argument<'_>> = given.iter().map(Given::argument).collect();
    let result = value::map(name, &args.iter().collect::<Vec<_>>(), leaf).or_raise()?;
    object::of(py, result)
}

/// A function of vectors, matrices, complex numbers and quaternions.
fn of_nested<'py>(
    session: &Session,
    name: &'static str,
    args: &[Object<'py>],
) -> PyResult<Object<'py>> {
    let py = args[0].py();
    let dtype = || args.iter().find_map(dtype_of);
    let given = args.iter().map(|arg| Given::expected_beside(session, name, arg, dtype));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let args: Vec<Argument<'_>> = given.iter().map(Given::argument).collect();
    let results = value::call(name, &args.iter().collect::<Vec<_>>()).or_raise()?;
    let answers: Vec<Answer> = results.into_iter().map(Answer::Value).collect();
    let answer = match <[Answer; 1]>::try_from(answers) {
        Ok([one]) => one,
        Err(several) => Answer::List(several),
    };
    answered(py, answer, None)
}

/// A function of the table of functions, of arguments that core has.
pub(crate) fn of_function<'py>(
    py: Python<'py>,
    name: &'static str,
    args: &[&Argument<'_>],
) -> PyResult<Object<'py>> {
    let session = home::session(py)?;
    let row = functions::find(name).expect("internal error: a function without a row");
    object::of(py, value::map(name, args, &|operands| session.call(row, operands)).or_raise()?)
}

/// `a @ b`
pub(crate) fn product<'py>(a: &Object<'py>, b: &Object<'py>) -> PyResult<Object<'py>> {
    let py = a.py();
    let form = |x: &Object<'_>| x.cast::<PyValue>().ok().map(|x| x.get().value().form());
    let are_small = [a, b]
        .map(|x| form(x).is_some_and(|form| matches!(form, Form::Vector(_) | Form::Matrix(_))));
    if are_small.contains(&true) {
        // Matrices and vectors of arrays: their product is theirs, of two vectors the inner one.
        let name =
            if [a, b].iter().all(|x| form(x).is_some_and(Form::is_vector)) { "dot" } else { "" };
        return if name.is_empty() { a.mul(b) } else { by_name(py, name, &[a, b]) };
    }
    by_name(py, "matmul", &[a, b])
}

/// Calls the function of a name.
pub(crate) fn by_name<'py>(
    py: Python<'py>,
    name: &str,
    args: &[&Object<'py>],
) -> PyResult<Object<'py>> {
    let overloads = find(name).expect("internal error: no such function");
    let args: Vec<Object<'py>> = args.iter().map(|&arg| arg.clone()).collect();
    overloads.call(py, &args, None)
}

impl Overloads {
    /// Parameters of the form with most of them, and how many must be given at least.
    pub(crate) fn parameters(&self) -> Option<(Vec<&'static str>, usize)> {
        let rows = || self.rows.iter().chain(&self.tensor_rows).chain(&self.makers);
        let longest = rows().max_by_key(|row| row.parameters.len());
        let of_row = longest.map(|row| row.parameters.iter().map(|(name, _)| *name).collect());
        let names: Vec<&'static str> = of_row.or_else(|| self.lettered().map(<[&str]>::to_vec))?;
        let of_rows = rows().map(|row| row.n_required);
        let of_op = self.op.map(|info| info.arity);
        let of_function = self.function.map(Function::n_required);
        let of_all = forms::reduction(self.name).map(|_| 1);
        let fewest = of_rows.chain(of_op).chain(of_function).chain(of_all).min();
        Some((names, fewest.or_else(|| self.n_nested().min()).unwrap_or_default()))
    }
}

/// einsum(spec, a, b, ..): the sum of products that a text names. The order of the products is ours, whatever optimize says.
#[pyfunction]
#[pyo3(signature = (spec, *tensors, optimize = None))]
fn einsum<'py>(
    py: Python<'py>,
    spec: &str,
    tensors: &Bound<'py, PyTuple>,
    optimize: Option<Object<'py>>,
) -> PyResult<Object<'py>> {
    drop(optimize);
    let session = home::session(py)?;
    let given = tensors.iter().map(|tensor| Given::expected(session, "einsum", &tensor));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let tensors = given.iter().map(|given| given.argument().to_tensor("einsum"));
    let tensors = tensors.collect::<CoreResult<Vec<_>>>().or_raise()?;
    let sum = Tensor::einsum(spec, &tensors).or_raise()?;
    let value = if sum.shape().rank() == 0 {
        sum.lanes().or_raise()?
    } else {
        porcini_core::Value::Tensor(sum)
    };
    object::of(py, value)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(einsum, module)?)
}
