//! Array values as scripts hold them: shared references to an array or to components.
//!
//! Script values are references, as in Python (S14): every name and closure that holds a value sees a
//! write through any other. One Rhai type stands for all array types, so promotion, broadcasting and
//! error texts live in one place.

#[cfg(feature = "parquet")]
pub(crate) mod arrow;
pub(crate) mod begun;
pub(crate) mod csv;
pub(crate) mod cuda_module;
pub(crate) mod custom;
pub(crate) mod dates;
pub(crate) mod draws;
pub(crate) mod exchanged;
pub(crate) mod generator;
pub(crate) mod growing;
pub(crate) mod host_array;
pub mod images;
pub(crate) mod names;
pub(crate) mod npy;
pub(crate) mod outputs;
mod polled;
pub(crate) mod range;
pub(crate) mod standing;
pub(crate) mod text_kernel;
pub(crate) mod to_core;

use std::cell::{Ref, RefCell};
use std::rc::{Rc, Weak};

use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, Scalar};
use rhai::Dynamic;

use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};

pub(crate) use porcini_core::value::Form;

use text_kernel::KernelRef;

/// The type of generators.
pub(crate) const GENERATOR: &str = "PCG32C";

/// What to do with lists in lists.
pub(crate) const OF_LISTS_IN_LISTS: &str =
    "make a tensor of lists in lists first: TensorXfC([[1, 2], [3, 4]])";

/// Bytes of an element of a list.
pub(crate) const OF_LIST: usize = size_of::<Dynamic>();

/// A shared reference to an array value.
#[derive(Clone, Debug)]
pub(crate) struct ArrayRef(Rc<RefCell<Node>>);

/// By what a value is known as long as somebody holds it.
pub(crate) type Known = Weak<RefCell<Node>>;

/// What a reference leads to.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A one-dimensional array.
    Leaf(Array),
    /// Components (structure of arrays).
    Nested(Form, Vec<ArrayRef>),
    /// Entries along axes.
    Tensor(Tensor),
}

impl ArrayRef {
    /// A reference to a new one-dimensional value.
    pub(crate) fn leaf(array: Array) -> Self {
        Self(Rc::new(RefCell::new(Node::Leaf(array))))
    }

    /// A reference to a new tensor.
    pub(crate) fn tensor(tensor: Tensor) -> Self {
        Self(Rc::new(RefCell::new(Node::Tensor(tensor))))
    }

    /// A reference to a new nested value.
    pub(crate) fn nested(form: Form, components: Vec<Self>) -> Self {
        Self(Rc::new(RefCell::new(Node::Nested(form, components))))
    }

    /// A reference to a new vector.
    pub(crate) fn vector(components: Vec<Self>) -> Self {
        Self::nested(Form::Vector(components.len()), components)
    }

    /// What the reference leads to now.
    pub(crate) fn node(&self) -> Ref<'_, Node> {
        self.0.borrow()
    }

    /// Makes every holder of the reference see another value.
    pub(crate) fn set(&self, node: Node) {
        *self.0.borrow_mut() = node;
    }

    /// Whether both are the same value, not just equal ones.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// What the value is known by, which does not hold it.
    pub(crate) fn known(&self) -> Known {
        Rc::downgrade(&self.0)
    }

    /// The value itself: a new reference whose writes the old one does not see.
    pub(crate) fn copy(&self) -> Self {
        match &*self.node() {
            Node::Leaf(array) => Self::leaf(array.clone()),
            Node::Nested(form, components) => {
                Self::nested(*form, components.iter().map(Self::copy).collect())
            }
            Node::Tensor(tensor) => Self::tensor(tensor.clone()),
        }
    }

    /// The same, which a body that is recorded may change (S21), also where the value is from outside of it.
    pub(crate) fn own_copy(&self) -> Self {
        let copy = self.copy();
        copy.for_each_leaf("", &mut |leaf, _| *leaf = leaf.own());
        copy
    }

    /// The one-dimensional array, which a tensor of one axis is too; or an error that names `op`.
    pub(crate) fn array(&self, op: &str) -> Result<Array> {
        let expected = "expected a one-dimensional array";
        let got = || fault(format!("{op}: got {}, {expected}", self.type_name()));
        match &*self.node() {
            Node::Leaf(array) => Ok(array.clone()),
            Node::Tensor(tensor) if tensor.shape().rank() == 1 && !tensor.is_complex() => {
                Ok(tensor.entries().or_fault()?.swap_remove(0))
            }
            _ => Err(got()),
        }
    }

    /// The components of a nested value.
    pub(crate) fn components(&self) -> Option<Vec<Self>> {
        match &*self.node() {
            Node::Leaf(_) | Node::Tensor(_) => None,
            Node::Nested(_, components) => Some(components.clone()),
        }
    }

    /// The component of a component and so on, by their places.
    pub(crate) fn part(&self, places: &[usize]) -> Self {
        match (places, &*self.node()) {
            ([place, rest @ ..], Node::Nested(_, components)) => components[*place].part(rest),
            _ => self.clone(),
        }
    }

    /// What it is.
    pub(crate) fn form(&self) -> Form {
        match &*self.node() {
            Node::Leaf(_) => Form::Scalar,
            Node::Nested(form, _) => *form,
            Node::Tensor(_) => Form::Tensor,
        }
    }

    /// Whether it has components.
    pub(crate) fn is_nested(&self) -> bool {
        matches!(&*self.node(), Node::Nested(..))
    }

    /// Numbers of components, outermost first; a matrix has two.
    pub(crate) fn extents(&self) -> Vec<usize> {
        self.lend(|value| value.extents())
    }

    /// The one-dimensional arrays inside, in order.
    pub(crate) fn leaves(&self) -> Vec<Array> {
        let mut leaves = Vec::new();
        self.add_arrays(&mut leaves);
        leaves
    }

    /// Adds the one-dimensional arrays inside to others.
    pub(crate) fn add_arrays(&self, arrays: &mut Vec<Array>) {
        match &*self.node() {
            Node::Leaf(array) => arrays.push(array.clone()),
            Node::Nested(_, components) => {
                components.iter().for_each(|component| component.add_arrays(arrays));
            }
            Node::Tensor(tensor) => arrays.extend_from_slice(tensor.parts()),
        }
    }

    /// The lanes of a value as arrays: of a tensor its entries in their order, else as [`Self::leaves`].
    pub(crate) fn contents(&self) -> Result<Vec<Array>> {
        match &*self.node() {
            Node::Tensor(tensor) => Ok(tensor.entries().or_fault()?.into_vec()),
            Node::Leaf(_) | Node::Nested(..) => Ok(self.leaves()),
        }
    }

    /// The arrays that evaluating it evaluates. A tensor that shows a part of what is not evaluated becomes that part
    /// alone, for all who hold it: whatever evaluates or shows a value comes here, and computes no other lanes.
    pub(crate) fn evaluated(&self) -> Result<Vec<Array>> {
        self.narrow()?;
        Ok(self.leaves())
    }

    /// As [`Self::evaluated`], without them.
    pub(crate) fn narrow(&self) -> Result<()> {
        let narrow = match &*self.node() {
            Node::Tensor(tensor) => tensor.narrowed().or_fault()?,
            Node::Leaf(_) | Node::Nested(..) => None,
        };
        if let Some(tensor) = narrow {
            self.set(Node::Tensor(tensor));
        }
        Ok(())
    }

    /// The value with entries that lie in memory in their order.
    pub(crate) fn whole(&self) -> Result<Self> {
        match &*self.node() {
            Node::Tensor(tensor) => tensor.whole().map(Self::tensor).or_fault(),
            Node::Leaf(_) | Node::Nested(..) => Ok(self.clone()),
        }
    }

    /// The leaves in the order of rows: the outermost component number changes first, as in what is shown.
    pub(crate) fn rows(&self) -> Vec<Self> {
        let Some(components) = self.components() else { return vec![self.clone()] };
        let inner: Vec<Vec<Self>> = components.iter().map(Self::rows).collect();
        let n = inner.first().map_or(0, Vec::len);
        (0..n).flat_map(|k| inner.iter().filter_map(move |rows| rows.get(k).cloned())).collect()
    }

    /// Applies `change` to every leaf, with the path to it (`.0`, `.1`).
    pub(crate) fn for_each_leaf(&self, path: &str, change: &mut impl FnMut(&mut Array, &str)) {
        match &mut *self.0.borrow_mut() {
            Node::Leaf(array) => change(array, path),
            Node::Nested(_, components) => {
                for (i, component) in components.iter().enumerate() {
                    component.for_each_leaf(&format!("{path}.{i}"), change);
                }
            }
            Node::Tensor(tensor) => {
                let parts = tensor.parts_mut().iter_mut();
                parts
                    .zip(["", ".imag"])
                    .for_each(|(part, name)| change(part, &format!("{path}{name}")));
            }
        }
    }

    /// Lane type of the leaves (components share it).
    pub(crate) fn dtype(&self) -> DType {
        self.lend(|value| value.dtype()).unwrap_or(DType::F32)
    }

    /// Number of lanes; `None` if components disagree.
    pub(crate) fn lanes(&self) -> Option<u64> {
        self.lend(|value| value.lanes())
    }

    /// The extents of a tensor, `[2, 3]`.
    pub(crate) fn shape(&self) -> Option<String> {
        match &*self.node() {
            Node::Tensor(tensor) => Some(tensor.shape().to_string()),
            Node::Leaf(_) | Node::Nested(..) => None,
        }
    }

    /// The script's name of the type: `FloatC`, `Vector3fC`.
    pub(crate) fn type_name(&self) -> String {
        self.lend(|value| value.type_name())
    }
}

impl Node {
    /// The one-dimensional array.
    pub(crate) fn leaf(&self) -> Option<&Array> {
        match self {
            Self::Leaf(array) => Some(array),
            Self::Nested(..) | Self::Tensor(_) => None,
        }
    }
}

/// What stands in the scope for a deleted variable until its cell ends.
#[derive(Clone, Debug)]
pub(crate) struct Deleted {
    pub(crate) name: String,
    /// File or cell, and line.
    pub(crate) place: String,
}

impl Deleted {
    /// The error of using the variable.
    pub(crate) fn fault(&self) -> Box<rhai::EvalAltResult> {
        fault(format!("`{}` was deleted at {}", self.name, self.place))
    }
}

/// An argument of an array operation.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// An array value.
    Value(ArrayRef),
    /// A script number.
    Number(Scalar),
    /// A list of them: a shape, axes.
    Numbers(Vec<Scalar>),
}

impl Arg {
    /// The type as a person reads it; a number as it is.
    pub(crate) fn type_name(&self) -> String {
        match self {
            Self::Value(value) => value.type_name(),
            Self::Number(number) => number.to_string(),
            Self::Numbers(list) => format!("a list of {}", list.len()),
        }
    }

    /// Reads a script value, or says that `op` does not take it.
    pub(crate) fn new(op: &str, value: &Dynamic) -> Result<Self> {
        if let Some(array) = value.read_lock::<ArrayRef>() {
            return Ok(Self::Value(array.clone()));
        }
        match scalar(value) {
            Some(number) => Ok(Self::Number(number)),
            None => Err(match value.read_lock::<Deleted>() {
                Some(deleted) => deleted.fault(),
                None => not_a_number(op, value),
            }),
        }
    }
}

/// Whether one of the items, or of those of lists among them, is such; ends at an interrupt.
pub(crate) fn is_any(list: &[Dynamic], such: &dyn Fn(&Dynamic) -> bool) -> Result<bool> {
    for item in list {
        check_interrupt()?;
        if such(item) {
            return Ok(true);
        }
        if let Some(inner) = item.read_lock::<rhai::Array>()
            && is_any(&inner, such)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a value is an array whose making is kept for gradients.
pub(crate) fn is_tracked(value: &Dynamic) -> bool {
    let is_tracked = |array: ArrayRef| array.leaves().iter().any(Array::is_tracked);
    value.read_lock::<ArrayRef>().is_some_and(|array| is_tracked(array.clone()))
}

/// A script number; `None` for anything else.
pub(crate) fn scalar(value: &Dynamic) -> Option<Scalar> {
    if let Ok(int) = value.as_int() {
        return Some(Scalar::Int(int));
    }
    if let Ok(float) = value.as_float() {
        return Some(Scalar::Float(float));
    }
    if let Ok(truth) = value.as_bool() {
        return Some(Scalar::Bool(truth));
    }
    value.read_lock::<u64>().map(|number| Scalar::UInt(*number))
}

/// A number as a script value.
pub(crate) fn dynamic(number: Scalar) -> Dynamic {
    match number {
        Scalar::Bool(truth) => truth.into(),
        Scalar::Int(int) => int.into(),
        Scalar::UInt(number) => {
            i64::try_from(number).map_or_else(|_| Dynamic::from(number), Dynamic::from)
        }
        Scalar::Float(float) => float.into(),
    }
}

fn not_a_number(op: &str, value: &Dynamic) -> Box<rhai::EvalAltResult> {
    let given = type_name(value);
    let message = format!("{op}: got {given}, expected an array or a number");
    if given == GENERATOR {
        let hint =
            "a generator draws with rng.next_float32(), rng.next_float64(), rng.next_uint32()";
        return fault_with_hint(message, hint);
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        let is_nested = list.first().is_some_and(Dynamic::is_array);
        let remedy = if is_nested {
            OF_LISTS_IN_LISTS
        } else {
            "make an array of a list first: FloatC([1, 2, 3]); a vector is Vector3fC(1, 2, 3)"
        };
        fault_with_hint(message, remedy)
    } else if let Some(host) = value.read_lock::<host_array::HostRef>() {
        let array = host.dtype().script_name();
        fault_with_hint(message, format!("make an array of it first: {array}(x)"))
    } else {
        fault(message)
    }
}

/// The type of any script value, as a person reads it.
pub(crate) fn type_name(value: &Dynamic) -> String {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return array.type_name();
    }
    match value.type_name() {
        "i64" => "an integer".into(),
        "f64" => "a float".into(),
        "bool" => "a bool".into(),
        "string" => "text".into(),
        "array" => "a list".into(),
        "map" => "a map".into(),
        "()" => "nothing".into(),
        "Fn" if KernelRef::of(value).is_some() => "a kernel".into(),
        "Fn" => "a function".into(),
        _ if value.is::<u64>() => "an integer".into(),
        "char" => "a character".into(),
        // `range(3)`, `0..3` and `0..=3`.
        other if other.contains("Range") => "a range".into(),
        other => own_name(other.rsplit("::").next().unwrap_or(other)).into(),
    }
}

/// What scripts call the types of ours, by the last word of their paths in Rust.
pub(crate) fn own_name(rust: &str) -> &str {
    match rust {
        "ArrayRef" => "array",
        "RngRef" => "PCG32C",
        "HostRef" => "ndarray",
        "Picture" => "a picture",
        "Listing" => "listing",
        "ModuleRef" => "cuda_module",
        "ModuleKernelRef" => "cuda_kernel",
        "OperatorRef" => "operator",
        "HeldEngine" => "engine",
        "HandleRef" => "handle",
        "All" => "all",
        "Range" => "a range",
        "Progress" => "progress",
        "Outputs" => "Out",
        "Fault" => "error",
        "Deleted" => "deleted variable",
        "Undefined" => "undefined variable",
        other => other,
    }
}

/// A number as it is, of anything else the type: what an argument was where another was expected.
pub(crate) fn got(value: &Dynamic) -> String {
    scalar(value).map_or_else(|| type_name(value), |number| number.to_string())
}

/// Type and size of a script value in a few words, without evaluating: `FloatC, 5 lanes`.
pub(crate) fn describe(value: &Dynamic) -> String {
    let counted = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if let Some(array) = value.read_lock::<ArrayRef>() {
        let lanes = || array.lanes().map_or_else(|| "ragged".into(), |n| counted(n, "lane"));
        let lanes = array.shape().unwrap_or_else(lanes);
        return format!("{}, {lanes}", array.type_name());
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return format!("a list of {}", list.len());
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        return format!("a map of {}", map.len());
    }
    type_name(value)
}

/// Bytes that copying a value takes, besides itself.
pub(crate) fn held(value: &Dynamic) -> usize {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().map(|item| OF_LIST + held(item)).sum();
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        return map.iter().map(|(key, item)| key.len() + 2 * OF_LIST + held(item)).sum();
    }
    if let Some(closure) = value.read_lock::<rhai::FnPtr>() {
        return closure.iter_curry().map(|item| OF_LIST + held(item)).sum();
    }
    value.read_lock::<rhai::Blob>().map_or(0, |blob| blob.len())
}

/// Lanes, bytes and state of an array.
pub(crate) fn size_memory_state(array: &ArrayRef) -> [String; 3] {
    let leaves = array.leaves();
    let stored = leaves.iter().filter(|leaf| leaf.literal().is_none());
    // Of a tensor what it shows, which may be a part of others' memory.
    let most = array.shape().and(array.lanes()).unwrap_or(u64::MAX);
    let bytes = |leaf: &Array| leaf.size().min(most).saturating_mul(leaf.dtype().bytes() as u64);
    let bytes: u64 = stored.map(bytes).fold(0, u64::saturating_add);
    let lanes = || array.lanes().map_or_else(|| "ragged".into(), |lanes| lanes.to_string());
    let lanes = array.shape().unwrap_or_else(lanes);
    [lanes, Bytes(bytes).to_string(), state(&leaves).into()]
}

/// Whether arrays are literals, in memory, or only recorded.
fn state(leaves: &[Array]) -> &'static str {
    if leaves.iter().all(|leaf| leaf.literal().is_some()) {
        "literal"
    } else if leaves.iter().all(|leaf| leaf.is_evaluated() || leaf.literal().is_some()) {
        "evaluated"
    } else {
        "recorded"
    }
}
