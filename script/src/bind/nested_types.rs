//! The types of vectors, matrices, complex numbers and quaternions: constructors and static functions.

use porcini_core::trace::nested::{NestedFunction, rows};
use porcini_core::value::{TYPE_LETTERS, signature};
use porcini_core::{Array, DType, Error, Operand, Value};
use rhai::{Dynamic, FnPtr, Module, NativeCallContext};

use super::many_arguments::{self, FEW};
use super::registry::Registry;
use super::types::{convert, number_array, static_function, statics};
use crate::context::Context;
use crate::diagnose::diagnosis::LISTED;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::host_array::HostRef;
use crate::value::nested::{self, alike};
use crate::value::{Arg, ArrayRef, Form, VECTOR_SIZES, scalar, type_name};

/// A type with components.
#[derive(Clone, Debug)]
pub(super) struct NestedType {
    pub(super) name: String,
    form: Form,
    /// Lane type of the components; `None` takes any.
    dtype: Option<DType>,
}

/// Every type with components.
pub(super) fn nested_types() -> Vec<NestedType> {
    let vectors = VECTOR_SIZES.map(Form::Vector);
    let numbers = [Form::Complex, Form::Quaternion];
    let matrices = (2..=4).map(Form::Matrix);
    let mut types = Vec::new();
    for form in vectors.chain(numbers).chain(matrices) {
        let stem = format!("{}{}", form.word(), form.n_components());
        for (letter, dtype) in TYPE_LETTERS {
            if form.is_vector() || dtype.is_float() {
                types.push(NestedType {
                    name: format!("{stem}{letter}C"),
                    form,
                    dtype: Some(dtype),
                });
            }
        }
        types.push(NestedType { name: format!("{stem}C"), form, dtype: None });
    }
    types
}

/// Help of the static functions that are made here.
const STATIC_DOCS: [(&str, &str, &str); 4] = [
    (
        "Matrix3fC::identity",
        "(n)",
        "n lanes of the identity matrix (default 1), a literal.\n\n\
         >> Matrix2fC::identity()\n[[[1, 0], [0, 1]]]",
    ),
    (
        "Quaternion4fC::identity",
        "(n)",
        "n lanes of the number 1 (default 1), a literal.\n\n\
         >> Quaternion4fC::identity()\n[1 + 0i + 0j + 0k]",
    ),
    (
        "Matrix3fC::from_rows",
        "(a, b, c)",
        "The matrix with these rows, lists or vectors.\n\n\
         >> Matrix2fC::from_rows([1, 2], [3, 4])\n[[[1, 2], [3, 4]]]",
    ),
    (
        "Matrix3fC::from_cols",
        "(a, b, c)",
        "The matrix with these columns, lists or vectors.\n\n\
         >> Matrix2fC::from_cols([1, 2], [3, 4])\n[[[1, 3], [2, 4]]]",
    ),
];

pub(super) fn register(registry: &mut Registry<'_>) {
    for (name, parameters, text) in STATIC_DOCS {
        registry.doc(name, parameters, text);
    }
    let mut many = Vec::new();
    for nested in nested_types() {
        let (parameters, doc) = nested.help();
        registry.doc(&nested.name, parameters, &format!("{doc}\n\n>> {}", nested.example()));
        let owned = nested.clone();
        registry.any(&nested.name, 1, move |context, call, args| {
            if call.fn_source() != Some(LISTED) {
                context.at(call);
            }
            owned.make(context, call, args[0])
        });
        let n_entries = nested.form.n_entries();
        let arities = match nested.form {
            Form::Quaternion => vec![2, 4],
            _ if n_entries > 1 => vec![n_entries],
            _ => vec![],
        };
        for arity in arities {
            if arity > FEW {
                many.push((nested.name.clone(), arity));
                continue;
            }
            let owned = nested.clone();
            registry.any(&nested.name, arity, move |context, call, args| {
                context.at(call);
                let parts: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
                owned.of_parts(context, &parts)
            });
        }
        if let Some(dtype) = nested.dtype {
            let wrapped = nested.clone();
            let mut module = statics(&registry.context, &nested.name, dtype, move |array| {
                wrapped.filled(&array)
            });
            nested.add_statics(registry, &mut module, dtype);
            registry.engine.register_static_module(&nested.name, module.into());
        }
    }
    many_arguments::register(registry.engine, &many);
}

impl NestedType {
    fn help(&self) -> (&'static str, String) {
        let (name, n) = (&self.name, self.form.n_components());
        match self.form {
            Form::Scalar | Form::Vector(_) => (
                ["()", "(x)", "(x, y)", "(x, y, z)", "(x, y, z, w)"][n.min(4)],
                format!(
                    "Vector of {n} arrays: from {n} components, a list of {n}, one value for all, another \
                     vector, a function of the component number, or a host array of {n} columns."
                ),
            ),
            Form::Complex => (
                "(re, im)",
                "Complex number: from real and imaginary part, a list of both, a real number, another complex \
                 number, or a host array of 2 columns. z.real and z.imag are its parts."
                    .into(),
            ),
            Form::Quaternion => (
                "(x, y, z, w)",
                format!(
                    "Quaternion w + xi + yj + zk: from its parts (w comes last), a vector of 3 and w, a list, a \
                     real number or another quaternion. {name}::identity() and {name}::rotate(axis, angle) make others."
                ),
            ),
            Form::Matrix(_) => (
                "(rows)",
                format!(
                    "Matrix of {n} rows and columns: from a list of rows, {} numbers row by row, a number (times \
                     the identity), a function of row and column, or another matrix (cut, or filled up with \
                     the identity). m[j] is column j, m[[i, j]] the entry in row i and column j. \
                     `*` is the matrix product, and so are m ** 2, sqr and fma; rcp is the inverse; m + 1 adds to \
                     the diagonal. Other functions of numbers go entry by entry.",
                    n * n
                ),
            ),
        }
    }

    fn example(&self) -> String {
        let name = &self.name;
        let one = if self.dtype == Some(DType::Mask) { "true" } else { "1" };
        match self.form {
            Form::Scalar => format!("{name}({one})\n[1]"),
            Form::Vector(n) => format!("{name}({}).x\n[1]", vec![one; n].join(", ")),
            Form::Complex => format!("{name}(1, 2)\n[1 + 2i]"),
            Form::Quaternion => format!("{name}(1, 2, 3, 4)\n[4 + 1i + 2j + 3k]"),
            Form::Matrix(2) => format!("{name}([[1, 2], [3, 4]])\n[[[1, 2], [3, 4]]]"),
            Form::Matrix(n) => {
                let one = |i: usize, j: usize| if i == j { "1" } else { "0" };
                let row = |i: usize| (0..n).map(|j| one(i, j)).collect::<Vec<_>>().join(", ");
                let rows: Vec<String> = (0..n).map(|i| format!("[{}]", row(i))).collect();
                format!("{name}(1)\n[[{}]]", rows.join(", "))
            }
        }
    }

    /// A value with `array` in every component; of complex numbers and quaternions as the real part.
    fn filled(&self, array: &Array) -> Result<ArrayRef> {
        let zeros = array.session().zeros(array.dtype(), array.size()).or_fault()?;
        let entries = (0..self.form.n_entries()).map(|i| {
            let is_real = matches!(self.form, Form::Matrix(_)) || self.form.holds_real(i);
            Value::Array(if is_real { array.clone() } else { zeros.clone() })
        });
        Ok(Value::of_entries(self.form, entries.collect()).into())
    }

    fn make(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
        value: &Dynamic,
    ) -> Result<ArrayRef> {
        if let Some(array) = value.read_lock::<ArrayRef>() {
            return self.of_array(context, &array);
        }
        if let Some(list) = value.read_lock::<rhai::Array>() {
            return self.of_list(context, &list);
        }
        if let Some(each) = value.read_lock::<FnPtr>() {
            return self.of_function(context, call, &each.clone());
        }
        if let Some(host) = value.read_lock::<HostRef>() {
            return self.of_host(context, &host);
        }
        self.of_number(context, value)
    }

    /// One value for all components, or as a real number.
    fn of_number(&self, context: &Context, value: &Dynamic) -> Result<ArrayRef> {
        let n = self.form.n_entries();
        let zero = match value.read_lock::<ArrayRef>() {
            Some(array) => {
                let zero = array.leaves().first().map(|leaf| leaf.session().zeros(leaf.dtype(), 1));
                zero.transpose()
                    .or_fault()?
                    .map_or(Dynamic::from(0_i64), |zero| Dynamic::from(ArrayRef::leaf(zero)))
            }
            None => 0_i64.into(),
        };
        let part = |i| if self.form.holds_real(i) { value.clone() } else { zero.clone() };
        self.of_parts(context, &(0..n).map(part).collect::<Vec<_>>())
    }

    fn of_array(&self, context: &Context, array: &ArrayRef) -> Result<ArrayRef> {
        let Some(components) = array.components() else {
            return self.of_number(context, &Dynamic::from(array.clone()));
        };
        match (self.form, array.form()) {
            (Form::Matrix(n), Form::Matrix(_)) => self.resized(context, n, &components),
            (Form::Vector(_), Form::Complex | Form::Quaternion | Form::Vector(_))
            | (Form::Complex, Form::Complex | Form::Vector(_))
            | (Form::Quaternion, Form::Quaternion | Form::Vector(_)) => self
                .of_parts(context, &components.into_iter().map(Dynamic::from).collect::<Vec<_>>()),
            _ => Err(fault(format!("{}: got {}", self.name, array.type_name()))),
        }
    }

    /// The top left part of a larger matrix, or a smaller one in an identity.
    fn resized(&self, context: &Context, n: usize, columns: &[ArrayRef]) -> Result<ArrayRef> {
        let mut entries = Vec::with_capacity(n * n);
        for i in 0..n {
            for j in 0..n {
                let entry = columns.get(j).and_then(|column| column.components()?.get(i).cloned());
                entries.push(entry.map_or_else(|| i64::from(i == j).into(), Dynamic::from));
            }
        }
        self.of_parts(context, &entries)
    }

    fn of_list(&self, context: &Context, list: &[Dynamic]) -> Result<ArrayRef> {
        let n = match self.form {
            Form::Matrix(n) if list.len() == n => n,
            _ => return self.of_parts(context, list),
        };
        let mut entries = Vec::with_capacity(n * n);
        for row in list {
            let row: Vec<Dynamic> = if let Some(row) = row.read_lock::<rhai::Array>() {
                row.clone()
            } else if let Some(row) = row.read_lock::<ArrayRef>().and_then(|row| row.components()) {
                row.into_iter().map(Dynamic::from).collect()
            } else {
                let got = type_name(row);
                return Err(fault(format!("{}: a row is {got}, expected a list", self.name)));
            };
            if row.len() != n {
                let got = row.len();
                return Err(fault(format!("{}: a row of {got}, expected {n}", self.name)));
            }
            entries.extend(row);
        }
        self.of_parts(context, &entries)
    }

    fn of_function(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
        each: &FnPtr,
    ) -> Result<ArrayRef> {
        let number = |i: usize| i64::try_from(i).unwrap_or(i64::MAX);
        let part = |i: usize| match self.form {
            Form::Matrix(n) => {
                each.call_within_context::<Dynamic>(call, (number(i / n), number(i % n)))
            }
            _ => each.call_within_context::<Dynamic>(call, (number(i),)),
        };
        let n = self.form.n_entries();
        self.of_parts(context, &(0..n).map(part).collect::<Result<Vec<_>>>()?)
    }

    /// Lanes are the first extent, the entries (of matrices row by row) the others.
    fn of_host(&self, context: &Context, host: &HostRef) -> Result<ArrayRef> {
        let shape = host.shape();
        let inner = match self.form {
            Form::Matrix(n) => vec![n; 2],
            form => vec![form.n_components()],
        };
        if shape.get(1..) != Some(&inner[..]) {
            let inner: Vec<String> = inner.iter().map(ToString::to_string).collect();
            return Err(fault(format!(
                "{}: got an ndarray of shape {shape:?}, expected [lanes, {}]",
                self.name,
                inner.join(", ")
            )));
        }
        let n = self.form.n_entries();
        let all = host.ravel()?.column(&context.session, None)?;
        let lanes = shape.first().map_or(0, |&lanes| lanes as u64);
        let entry = |k: usize| {
            let session = &context.session;
            let index = session.record(|recorder| {
                recorder.range(DType::U64, (k as u64).into(), (n as u64).into(), lanes)
            });
            all.gather(&index.or_fault()?, None).map(ArrayRef::leaf).map(Dynamic::from).or_fault()
        };
        self.of_parts(context, &(0..n).map(entry).collect::<Result<Vec<_>>>()?)
    }

    /// The value from its entries; those of a matrix come row by row.
    fn of_parts(&self, context: &Context, parts: &[Dynamic]) -> Result<ArrayRef> {
        if let [im, re] = parts
            && self.form == Form::Quaternion
        {
            let im = im.read_lock::<ArrayRef>().and_then(|im| im.components());
            let im = im.filter(|im| im.len() == 3);
            let im = im.ok_or_else(|| {
                fault(format!("{}: expected x, y, z, w, or a vector of 3 and w", self.name))
            })?;
            let mut all: Vec<Dynamic> = im.into_iter().map(Dynamic::from).collect();
            all.push(re.clone());
            return self.of_parts(context, &all);
        }
        let n = self.form.n_entries();
        if parts.len() != n {
            let is_matrix = matches!(self.form, Form::Matrix(_));
            let what = if is_matrix { "entries" } else { "components" };
            let got = parts.len();
            return Err(fault(format!("{}: got {got} {what}, expected {n}", self.name)));
        }
        let component = |part: &Dynamic| match self.dtype {
            Some(dtype) => convert(context, &self.name, dtype, part).map(ArrayRef::leaf),
            None => match Arg::new(&self.name, part)? {
                Arg::Value(value) => Ok(value.copy()),
                Arg::Number(number) => {
                    let dtype = DType::of(number);
                    number_array(&context.session, dtype, number, 1).map(ArrayRef::leaf)
                }
            },
        };
        let entries = parts.iter().map(component).collect::<Result<Vec<_>>>()?;
        let entries = if self.dtype.is_some() { entries } else { alike(&self.name, &entries)? };
        let entries = match self.form {
            Form::Matrix(side) => {
                (0..n).map(|k| entries[k % side * side + k / side].clone()).collect()
            }
            _ => entries,
        };
        let value = nested::of_entries(self.form, entries);
        if value.lanes().is_some() {
            return Ok(value);
        }
        let sizes: Vec<String> =
            value.leaves().iter().map(|leaf| leaf.size().to_string()).collect();
        Err(fault_with_hint(
            format!("{}: components of sizes {}", self.name, sizes.join(", ")),
            "components need equal sizes, or size 1",
        ))
    }

    /// `identity`, `from_rows`, `rotate`, …: the rows of the table that are called `Matrix::…` or
    /// `Quaternion::…` and give this type.
    fn add_statics(&self, registry: &mut Registry<'_>, module: &mut Module, dtype: DType) {
        let context = registry.context.clone();
        if !self.form.is_vector() {
            for arity in [0, 1] {
                let owned = self.clone();
                let name = format!("{}::identity", self.name);
                static_function(module, &context, &name.clone(), arity, move |context, args| {
                    let size = super::types::size_argument(&name, args.first())?;
                    let one = number_array(&context.session, dtype, 1.into(), size)?;
                    owned.of_number(context, &Dynamic::from(ArrayRef::leaf(one)))
                });
            }
        }
        if let Form::Matrix(n) = self.form {
            for (function, by_columns) in [("from_rows", false), ("from_cols", true)] {
                let owned = self.clone();
                let name = format!("{}::{function}", self.name);
                static_function(module, &context, &name, n, move |context, args| {
                    let rows = owned.of_list(context, args)?;
                    if !by_columns {
                        return Ok(rows);
                    }
                    Ok(nested::call("transpose", &[Arg::Value(rows)])?.remove(0))
                });
            }
        }
        let prefix = format!("{}::", self.form.word());
        for row in rows().filter(|row| row.results == [self.form]) {
            let Some(function) = row.name.strip_prefix(&prefix) else { continue };
            let name = format!("{}::{function}", self.name);
            if dtype == DType::F32 {
                registry.doc_form(&name, &signature(row.parameters), row.doc);
            }
            static_function(
                module,
                &context,
                &name.clone(),
                row.parameters.len(),
                move |context, args| call_static(context, &name, row, dtype, args),
            );
        }
    }
}

/// Calls a row with arguments converted to `dtype`; lists are vectors.
fn call_static(
    context: &Context,
    name: &str,
    row: &'static NestedFunction,
    dtype: DType,
    args: &[Dynamic],
) -> Result<ArrayRef> {
    let argument = |value: &Dynamic| {
        if let Some(list) = value.read_lock::<rhai::Array>() {
            let parts = list.iter().map(|part| convert(context, name, dtype, part));
            let parts = parts.map(|part| part.map(ArrayRef::leaf));
            return Ok(Arg::Value(ArrayRef::vector(parts.collect::<Result<_>>()?)));
        }
        if let Some(number) = scalar(value) {
            let number = number_array(&context.session, dtype, number, 1)?;
            return Ok(Arg::Value(ArrayRef::leaf(number)));
        }
        let value = Arg::new(name, value)?;
        let converted = nested::components(name, &[value], &|operands| match operands {
            [Operand::Array(array)] => array.cast(dtype),
            _ => Err(Error::Argument { op: "a static function", what: "an array expected".into() }),
        });
        converted.map(Arg::Value)
    };
    let args = args.iter().map(argument).collect::<Result<Vec<_>>>()?;
    if !nested::takes(row, &args) {
        let types: Vec<String> = args.iter().map(Arg::type_name).collect();
        let (got, expected) = (types.join(", "), signature(row.parameters));
        return Err(fault(format!("{name}: got ({got}), expected {expected}")));
    }
    Ok(nested::call(row.name, &args)?.remove(0))
}
