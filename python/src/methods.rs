//! The methods of all values: operators, members, conversions to Python's own.
#![expect(unsafe_code, reason = "Python hands over buffers to fill")]

use std::collections::BTreeSet;

use porcini_core::ir::op::Op;
use porcini_core::value::Form;
use porcini_core::value::show::Options;
use porcini_core::{Array, Value};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyTuple, PyType,
};
use pyo3::{PyTraverseError, PyVisit, ffi, intern};

use crate::convert::python_number;
use crate::errors::{OrRaise, got};
use crate::interrupt::evaluating;
use crate::names::{as_python, is_of_protocol};
use crate::object::{self, PyValue, lane};
use crate::operators::{binary, by_function, divided, raised_to, unary};
use crate::{
    buffers, callable, derivatives, dlpack, functions as tables, index, lists, make, makers, numpy,
    pickle, runtime,
};

type Object<'py> = Bound<'py, PyAny>;

#[pymethods]
impl PyValue {
    #[new]
    #[classmethod]
    #[pyo3(signature = (*args, shape=None), text_signature = "(*args, shape=None)")]
    fn made<'py>(
        class: &Bound<'py, PyType>,
        args: &Bound<'py, PyTuple>,
        shape: Option<Object<'py>>,
    ) -> PyResult<Bound<'py, Self>> {
        let value = match shape {
            None => make::value(class, args)?,
            Some(shape) => make::value(class, &make::with_shape(class, args, shape)?)?,
        };
        object::made(class, value)
    }

    /// What Python's collector of cycles is to see: an attribute of a value may be a component of it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.whole().map_or(Ok(()), |whole| visit.call(whole))
    }

    // ---- operators ----

    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Add, slf.as_any(), other)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Add, other, slf.as_any())
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Sub, slf.as_any(), other)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Sub, other, slf.as_any())
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Mul, slf.as_any(), other)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Mul, other, slf.as_any())
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Div, slf.as_any(), other)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Div, other, slf.as_any())
    }

    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        by_function("floor_divide", slf.as_any(), other)
    }

    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        by_function("floor_divide", other, slf.as_any())
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        by_function("mod", slf.as_any(), other)
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        by_function("mod", other, slf.as_any())
    }

    fn __divmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
    ) -> PyResult<(Object<'py>, Object<'py>)> {
        divided(slf.as_any(), other)
    }

    fn __rdivmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
    ) -> PyResult<(Object<'py>, Object<'py>)> {
        divided(other, slf.as_any())
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
        modulus: &Object<'py>,
    ) -> PyResult<Object<'py>> {
        if !modulus.is_none() {
            return Err(PyTypeError::new_err("pow of arrays takes no modulus"));
        }
        raised_to(slf.as_any(), other)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
        _modulus: &Object<'py>,
    ) -> PyResult<Object<'py>> {
        raised_to(other, slf.as_any())
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        tables::product(slf.as_any(), other)
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        tables::product(other, slf.as_any())
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::And, slf.as_any(), other)
    }

    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::And, other, slf.as_any())
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Or, slf.as_any(), other)
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Or, other, slf.as_any())
    }

    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Xor, slf.as_any(), other)
    }

    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Xor, other, slf.as_any())
    }

    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Shl, slf.as_any(), other)
    }

    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Shl, other, slf.as_any())
    }

    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Shr, slf.as_any(), other)
    }

    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        binary(Op::Shr, other, slf.as_any())
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
        how: CompareOp,
    ) -> PyResult<Object<'py>> {
        let op = match how {
            CompareOp::Lt => Op::Lt,
            CompareOp::Le => Op::Le,
            CompareOp::Eq => Op::Eq,
            CompareOp::Ne => Op::Ne,
            CompareOp::Gt => Op::Gt,
            CompareOp::Ge => Op::Ge,
        };
        binary(op, slf.as_any(), other)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        unary(Op::Neg, "-", slf)
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::copy(slf)
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        unary(Op::Abs, "abs", slf)
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        unary(Op::Not, "!", slf)
    }

    // ---- entries ----

    fn __len__(&self) -> PyResult<usize> {
        let n = match &*self.value() {
            Value::Array(array) => array.size(),
            Value::Nested(_, components) => components.len() as u64,
            Value::Tensor(tensor) => {
                let first = tensor.shape().extents().first().copied();
                first.ok_or_else(|| PyTypeError::new_err("len() of a tensor without axes"))?
            }
        };
        Ok(usize::try_from(n)?)
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Object<'py>) -> PyResult<Object<'py>> {
        index::get(slf, key)
    }

    fn __setitem__(slf: &Bound<'_, Self>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        index::set(slf, key, value)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        index::items(slf)
    }

    /// Whether a lane has a value.
    fn __contains__(slf: &Bound<'_, Self>, item: &Object<'_>) -> PyResult<bool> {
        let equal = binary(Op::Eq, slf.as_any(), item)?;
        tables::by_name(slf.py(), "any", &[&equal])?.extract()
    }

    // ---- as Python's own ----

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let value = slf.get().value().clone();
        evaluating(slf.py(), || value.to_text(&Options::default()))
    }

    /// As notebooks show it. Text alone where something went wrong, which its text tells.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Option<String>> {
        let value = slf.get().value().clone();
        let html = evaluating(slf.py(), || Ok(porcini_script::html_of(&value)))?;
        Ok(html.ok().map(|html| as_python(&html).into_owned()))
    }

    fn __format__(slf: &Bound<'_, Self>, how: &Bound<'_, PyAny>) -> PyResult<String> {
        if how.len()? == 0 {
            return Self::__repr__(slf);
        }
        let one = one_lane(slf, "format")?;
        let text = one.call_method1(intern!(slf.py(), "__format__"), (how,))?;
        text.extract()
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let of = match &*slf.get().value() {
            Value::Array(array) if array.size() != 1 => {
                format!("an array of {} lanes", array.size())
            }
            Value::Tensor(tensor) if tensor.shape().n_entries() != 1 => {
                format!("a tensor of {} entries", tensor.shape().n_entries())
            }
            Value::Nested(Form::Vector(n) | Form::Matrix(n), _) => {
                format!("a value of {n} components")
            }
            _ => String::new(),
        };
        if !of.is_empty() {
            return Err(PyValueError::new_err(format!(
                "the truth of {of}: write any(x), all(x), or select(mask, a, b) lane by lane"
            )));
        }
        one_lane(slf, "bool")?.is_truthy()
    }

    #[pyo3(signature = (decimals=None))]
    fn __round__<'py>(
        slf: &Bound<'py, Self>,
        decimals: Option<Object<'py>>,
    ) -> PyResult<Object<'py>> {
        let args = [Some(slf.as_any()), decimals.as_ref()];
        tables::by_name(slf.py(), "round", &args.into_iter().flatten().collect::<Vec<_>>())
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        one_lane(slf, "float")?.extract()
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        slf.py().get_type::<PyComplex>().call1((one_lane(slf, "complex")?,))
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        slf.py().get_type::<PyInt>().call1((one_lane(slf, "int")?,))
    }

    fn __index__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        let one = one_lane(slf, "index")?;
        if one.is_instance_of::<PyFloat>() || one.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(format!("got {}, expected an integer", got(&one))));
        }
        Ok(one)
    }

    fn __bytes__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        PyMemoryView::from(slf.as_any())?.call_method0("tobytes")
    }

    /// The lanes or entries as Python numbers, in lists.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        lists::lists(slf)
    }

    /// The only lane as a Python number, or the entry with a number among all, or with one for each axis.
    #[pyo3(signature = (*index))]
    fn item<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyTuple>) -> PyResult<Object<'py>> {
        if index.is_empty() {
            return one_lane(slf, "item");
        }
        slf.py().import("porcini._entries")?.call_method1("item", (slf, index))
    }

    /// A NumPy array that shares the memory where that is the host's; it cannot be written. NumPy copies where it must.
    #[pyo3(signature = (dtype=None))]
    fn numpy<'py>(slf: &Bound<'py, Self>, dtype: Option<&Object<'py>>) -> PyResult<Object<'py>> {
        lists::to_numpy(slf, dtype, false)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Object<'py>>,
        copy: Option<bool>,
    ) -> PyResult<Object<'py>> {
        if let Some(error) = buffers::take_failure(slf) {
            return Err(error);
        }
        lists::to_numpy(slf, dtype, copy == Some(true))
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        // SAFETY: Python hands over a buffer to fill.
        unsafe { buffers::lend(&slf, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: it was filled by `lend`.
        unsafe { buffers::give_back(view) }
    }

    // ---- members ----

    /// Extents: of an array its lanes, of a value with components their numbers and the lanes. What NumPy and others get has
    /// a lane a row.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, extents(&self.value()))
    }

    /// Bytes of all lanes, of which there may be no memory yet.
    #[getter]
    fn nbytes(&self) -> u64 {
        let value = self.value();
        value.leaves().into_iter().map(|array| array.bytes()).sum()
    }

    /// The value on another device: x.to("cuda:1"). Bits stay the same.
    fn to<'py>(slf: &Bound<'py, Self>, device: &str) -> PyResult<Object<'py>> {
        runtime::to(slf, device)
    }

    /// Lanes converted to a type: a class such as Float64, or a name as NumPy's.
    fn astype<'py>(slf: &Bound<'py, Self>, dtype: &Object<'py>) -> PyResult<Object<'py>> {
        let value = slf.get().value().clone();
        object::of(slf.py(), makers::converted(&value, dtype)?)
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        match &*self.value() {
            Value::Tensor(tensor) => tensor.shape().rank(),
            value => value.extents().len() + 1,
        }
    }

    /// Number of lanes or entries, all components counted: the product of the extents.
    #[getter]
    fn size(&self) -> u64 {
        extents(&self.value()).into_iter().product()
    }

    /// Type of the lanes, as NumPy calls it: a text that equals whatever says the same type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        let name = lists::numpy_name(&self.value());
        py.import(intern!(py, "porcini._dtype"))?.getattr(intern!(py, "DType"))?.call1((name,))
    }

    /// The first component.
    #[getter]
    fn x<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::__getattr__(slf, "x")
    }

    /// The second component.
    #[getter]
    fn y<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::__getattr__(slf, "y")
    }

    /// The third component.
    #[getter]
    fn z<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::__getattr__(slf, "z")
    }

    /// The transposed matrix, axes in reverse.
    #[getter(T)]
    fn transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::__getattr__(slf, "T")
    }

    /// The value in memory that the log calls r12: its number.
    #[getter]
    fn index(&self, py: Python<'_>) -> PyResult<u64> {
        let array = self.array("index").map_err(|error| absent(py, error))?;
        Ok(array.serial().0)
    }

    /// The gradient that backward left; zeros before that. What is not computed from marked arrays has none.
    #[getter]
    fn grad<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        derivatives::stored_gradient(slf).map_err(|error| absent(slf.py(), error))
    }

    /// Adds its gradient to those of the marked arrays that it is computed from; times the lanes of gradient, if it is given.
    #[pyo3(signature = (gradient=None))]
    fn backward<'py>(slf: &Bound<'py, Self>, gradient: Option<&Object<'py>>) -> PyResult<()> {
        derivatives::backward(slf.as_any(), gradient)
    }

    /// Whether it is marked, or computed from what is: an attribute, as PyTorch has it.
    #[getter]
    fn requires_grad<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        tables::by_name(slf.py(), "requires_grad", &[slf.as_any()])
    }

    /// The same by Dr.Jit's name.
    #[getter]
    fn grad_enabled<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::requires_grad(slf)
    }

    /// A value of its own: what is written to it is not seen here.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        let value = slf.get().value().clone();
        let value = makers::owned(slf.py(), &value)?.own().or_raise()?;
        object::of(slf.py(), value)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        pickle::copied(slf, Self::copy(slf)?, None)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Object<'py>) -> PyResult<Object<'py>> {
        pickle::copied(slf, Self::copy(slf)?, Some(memo))
    }

    /// Components by name, and the functions of the package with this value as their first argument.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Object<'py>> {
        if name == "grad" {
            // Asked for again where it is none: the error says why.
            return Self::grad(slf);
        }
        if is_of_protocol(name) {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        if let Some(found) = index::member(slf, name)? {
            return Ok(found);
        }
        if let Some(method) = callable::method(slf, name)? {
            return Ok(method);
        }
        let class = slf.get_type().name()?.to_string();
        let has = slf.get().value().form().component_names().join(", ");
        let has = if has.is_empty() {
            String::new()
        } else {
            format!(" (it has {has}, and the functions of porcini)")
        };
        let hint = callable::member_elsewhere(slf.py(), name);
        let hint = hint.map_or_else(String::new, |hint| format!(": {hint}"));
        Err(PyAttributeError::new_err(format!("{class} has no member {name}{has}{hint}")))
    }

    fn __setattr__(slf: &Bound<'_, Self>, name: &str, value: &Object<'_>) -> PyResult<()> {
        index::set_member(slf, name, value)
    }

    fn __delattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        object::set_attribute(slf, name, None)
    }

    fn __dir__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        let own = slf.py().get_type::<pyo3::PyAny>().call_method1("__dir__", (slf,))?;
        let mut names: BTreeSet<String> = own.extract::<Vec<String>>()?.into_iter().collect();
        names.extend(slf.get().value().form().component_names().iter().map(ToString::to_string));
        names.extend(tables::method_names().into_iter().map(str::to_owned));
        Ok(PyList::new(slf.py(), names)?.into_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        pickle::reduced(slf)
    }

    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Object<'py>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        numpy::of_ufunc(slf.py(), ufunc, method, inputs, kwargs)
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Object<'py>,
        _types: &Object<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Object<'py>> {
        numpy::of_numpy_function(slf.py(), function, args, kwargs)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Object<'py>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Object<'py>> {
        // The contents are there when this returns, for whichever stream.
        let _ = stream;
        dlpack::lent(slf, max_version, dl_device, copy)
    }

    fn __dlpack_device__(slf: &Bound<'_, Self>) -> PyResult<(i32, i32)> {
        dlpack::device(slf.py(), slf.get())
    }

    /// Where the contents are on a GPU, which CuPy and Numba read there; only arrays on GPUs have it.
    #[getter]
    fn __cuda_array_interface__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let none =
            || PyAttributeError::new_err("__cuda_array_interface__: the array is on the host");
        dlpack::cuda_array_interface(slf)?.ok_or_else(none)
    }
}

/// That a value has no such member, as hasattr and getattr understand it, in the words of why.
fn absent(py: Python<'_>, error: PyErr) -> PyErr {
    let is_said =
        error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py);
    if is_said { PyAttributeError::new_err(error.value(py).to_string()) } else { error }
}

/// The extents of a value, components first.
fn extents(value: &Value) -> Vec<u64> {
    match value {
        Value::Tensor(tensor) => tensor.shape().extents().to_vec(),
        value => {
            let components = value.extents().into_iter().map(|n| n as u64);
            components.chain([value.lanes().unwrap_or_default()]).collect()
        }
    }
}

/// The only lane of a value as a Python number.
fn one_lane<'py>(value: &Bound<'py, PyValue>, op: &str) -> PyResult<Object<'py>> {
    let py = value.py();
    let held = value.get().value().clone();
    // Truth values and integers have no derivative to lose, and what is printed is seen by nobody else.
    if ["float", "complex", "item"].contains(&op) {
        object::check_read(op, &held)?;
    }
    match &held {
        Value::Array(array) if array.size() == 1 => Ok(python_number(py, lane(py, array, 0)?)),
        Value::Tensor(tensor) if tensor.shape().n_entries() == 1 && !tensor.is_complex() => {
            let entry: Array = tensor.entries().or_raise()?.swap_remove(0);
            Ok(python_number(py, lane(py, &entry, 0)?))
        }
        Value::Tensor(tensor) if tensor.shape().n_entries() == 1 => {
            index::complex_number(py, &tensor.lanes().or_raise()?)
        }
        Value::Nested(Form::Complex, _) if held.lanes() == Some(1) => {
            index::complex_number(py, &held)
        }
        other => Err(PyTypeError::new_err(format!(
            "{op}: got {} of shape {}, expected one lane",
            as_python(&other.type_name()),
            value.get().shape(py)?.repr()?
        ))),
    }
}
