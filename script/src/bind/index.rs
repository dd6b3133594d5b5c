//! Indexing, components and properties: `a[i]`, `a[2..8]`, `a[mask]`, `v.x`, `v.zyx` (S15).

use std::cell::RefCell;
use std::rc::Rc;

use porcini_core::tensor::Tensor;
use porcini_core::value::{Slice, place};
use porcini_core::{Array, DType, Scalar};
use rhai::{Dynamic, EvalAltResult, NativeCallContext};

use super::assign::{assign_component, assign_masked, fitting, session_of};
use super::catalogue::{by_name, index_of};
use super::given::check_lane;
use super::registry::Registry;
use super::{tensor_index, tensor_members};
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint, full_at};
use crate::value::host_array::HostRef;
use crate::value::range::{self, All};
use crate::value::to_core;
use crate::value::{self, Arg, ArrayRef, Form, Node, dynamic};

pub(super) fn register(registry: &mut Registry<'_>) {
    let unread = Rc::<Unread>::default();
    let (context, failed) = (registry.context.clone(), unread.clone());
    registry.engine.register_indexer_get(
        move |call: NativeCallContext<'_>,
              array: &mut ArrayRef,
              index: Dynamic|
              -> Result<Dynamic> {
            context.at(&call);
            let read = get(&context, array, &index).map_err(|error| full_at(error, "[]"));
            failed.note(read, || access(&call, array, &index))
        },
    );
    let context = registry.context.clone();
    registry.engine.register_indexer_set(
        move |call: NativeCallContext<'_>,
              array: &mut ArrayRef,
              index: Dynamic,
              value: Dynamic|
              -> Result<()> {
            context.at(&call);
            unread.check(|| access(&call, array, &index))?;
            set(&context, array, &index, &value)
        },
    );
    registry.engine.register_indexer_get(|host: &mut HostRef, index: Dynamic| -> Result<Dynamic> {
        host_item(host, &index)
    });
    registry.engine.register_indexer_set(|_: &mut HostRef, _: Dynamic, _: Dynamic| -> Result<()> {
        let message = "[]=: an ndarray is read only";
        Err(fault_with_hint(message, "change the array, a[k] = x, and take a.ndarray() of it"))
    });
    registry.engine.register_iterator_result::<HostRef, Dynamic>();
    registry.engine.register_iterator_result::<ArrayRef, Dynamic>();
    host_arrays(registry);
}

/// What the last `a[i]` failed with, and the access: in `a[i] += b` Rhai drops the error of the read, and writes b alone
/// in the same place.
#[derive(Default)]
struct Unread(RefCell<Option<(String, Box<EvalAltResult>)>>);

impl Unread {
    fn note(&self, read: Result<Dynamic>, access: impl Fn() -> String) -> Result<Dynamic> {
        let copy = match read.as_ref().err().map(|error| &**error) {
            Some(EvalAltResult::ErrorRuntime(value, place)) => {
                Some(EvalAltResult::ErrorRuntime(value.clone(), *place))
            }
            Some(EvalAltResult::ErrorTerminated(value, place)) => {
                Some(EvalAltResult::ErrorTerminated(value.clone(), *place))
            }
            _ => None,
        };
        *self.0.borrow_mut() = copy.map(|copy| (access(), copy.into()));
        read
    }

    /// # Errors
    /// That of a read by the same access.
    fn check(&self, access: impl Fn() -> String) -> Result<()> {
        let failed = self.0.take().filter(|(failed, _)| *failed == access());
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// What a script reads or writes, and where.
fn access(call: &NativeCallContext<'_>, array: &ArrayRef, index: &Dynamic) -> String {
    let serials: Vec<u64> = array.leaves().iter().map(|array| array.serial().0).collect();
    format!("{} {serials:?} {index:?}", call.call_position())
}

fn host_arrays(registry: &mut Registry<'_>) {
    registry.engine.register_fn("len", |host: &mut HostRef| {
        host.shape().first().map_or(0, |&n| i64::try_from(n).unwrap_or(i64::MAX))
    });
    let shape = |host: &mut HostRef| -> rhai::Array {
        let extents = host.shape();
        extents.into_iter().map(|n| i64::try_from(n).unwrap_or(i64::MAX).into()).collect()
    };
    registry.engine.register_fn("shape", shape).register_get("shape", shape);
    registry.engine.register_get("dtype", |host: &mut HostRef| host.dtype().name().to_string());
}

fn get(context: &Context, array: &ArrayRef, index: &Dynamic) -> Result<Dynamic> {
    if let (Ok(i), Node::Leaf(array)) = (index.as_int(), &*array.node()) {
        check_lane(array)?;
        return array.item(i).map(dynamic).or_fault();
    }
    if array.form() == Form::Tensor {
        return tensor_index::get(context, array, index);
    }
    if let Ok(name) = index.clone().into_immutable_string() {
        return property(context, array, &name);
    }
    if let Some(place) = row_and_column(array, index) {
        return Ok(Dynamic::from(array.part(&entry("[]", array, place)?)));
    }
    if let Some(found) = entries_of_array(context, array, index)? {
        return Ok(found);
    }
    if let Some(lanes) = lanes_index(context, array, index)? {
        return by_name(context, "gather", &[Arg::Value(array.clone()), Arg::Value(lanes)]);
    }
    if let Some(components) = array.components() {
        if let Ok(i) = index.as_int() {
            return Ok(Dynamic::from(components[component_index(array, i)?].clone()));
        }
        if let Some(places) = places(array, index)? {
            return Ok(Dynamic::from(vector(&components, &places)));
        }
        return masked(array, index).map(Dynamic::from);
    }
    let lanes = array.array("[]")?;
    match slice(&lanes, index)? {
        Some(slice) => lanes.slice(slice).map(|a| Dynamic::from(ArrayRef::leaf(a))).or_fault(),
        None => masked(array, index).map(Dynamic::from),
    }
}

/// The integers of `a[index]`, which reads and writes lane by lane: an array, or of an array a list.
fn lanes_index(context: &Context, of: &ArrayRef, index: &Dynamic) -> Result<Option<ArrayRef>> {
    if let Some(list) = index.read_lock::<rhai::Array>().filter(|_| of.form() == Form::Scalar) {
        let integers: Option<Vec<i64>> = list.iter().map(|item| item.as_int().ok()).collect();
        let (session, lanes) = (session_of(context, of), of.lanes().unwrap_or(1));
        return integers.map(|integers| index_of(&session, lanes, &integers)).transpose();
    }
    let array = index.read_lock::<ArrayRef>().map(|array| array.clone());
    let is_integer = |array: &ArrayRef| {
        array.dtype() != DType::Mask && !array.dtype().is_float() && !array.is_nested()
    };
    Ok(array.filter(is_integer))
}

/// Whether an index is integers of more axes: lists in a list, but for a mask in its place, or a tensor.
fn is_integers(index: &Dynamic) -> bool {
    if let Some(list) = index.read_lock::<rhai::Array>() {
        let is_of_truths = |list: &Dynamic| {
            list.read_lock::<rhai::Array>().is_some_and(|list| list.iter().all(Dynamic::is_bool))
        };
        return list.iter().all(Dynamic::is_array) && !list.iter().all(is_of_truths);
    }
    let given = index.read_lock::<ArrayRef>();
    given.is_some_and(|given| given.form() == Form::Tensor && given.dtype().is_int())
}

/// The index that integers of more axes, or a list with `all`, ranges or `()`, are of an array, which is a tensor of one
/// axis; complex lanes are one, too, to integers alone.
fn index_of_line(array: &ArrayRef, index: &Dynamic) -> Option<Dynamic> {
    let are_integers = is_integers(index);
    let is_line = match array.form() {
        Form::Scalar => {
            let list = index.read_lock::<rhai::Array>();
            are_integers || list.is_some_and(|list| list.iter().any(|item| !item.is_int()))
        }
        form => are_integers && form == Form::Complex,
    };
    let is_one = are_integers && index.is_array();
    is_line.then(|| if is_one { vec![index.clone()].into() } else { index.clone() })
}

/// An array or complex lanes as a tensor of one axis.
fn line(array: &ArrayRef, op: &str) -> Result<Tensor> {
    let tensor = array.lend(|lanes| lanes.to_tensor(op)).or_fault()?;
    // A complex number is a tensor without axes.
    if tensor.shape().rank() == 0 { tensor.reshape(&[1]).or_fault() } else { Ok(tensor) }
}

/// What such an index reads of an array: an array where that has one axis.
fn entries_of_array(
    context: &Context,
    array: &ArrayRef,
    index: &Dynamic,
) -> Result<Option<Dynamic>> {
    let Some(places) = index_of_line(array, index) else { return Ok(None) };
    if array.lanes() == Some(1) && is_integers(index) {
        return of_one_lane(context, array, index).map(Some);
    }
    let tensor = ArrayRef::tensor(line(array, "[]")?);
    let found = tensor_index::get(context, &tensor, &places)?;
    let line = found.read_lock::<ArrayRef>().and_then(|found| match &*found.node() {
        Node::Tensor(tensor) if tensor.shape().rank() == 1 => Some(tensor.lanes().or_fault()),
        _ => None,
    });
    line.map_or(Ok(found.clone()), |line| line.map(ArrayRef::from).map(Dynamic::from)).map(Some)
}

/// One lane is read by every index, where a tensor of one entry has no others.
fn of_one_lane(context: &Context, array: &ArrayRef, index: &Dynamic) -> Result<Dynamic> {
    let integers = tensor_index::numbers(context, index)?;
    by_name(context, "take", &[Arg::Value(array.clone()), Arg::Value(integers)])
}

/// `a[mask]` is `select(mask, a, 0)`.
fn masked(array: &ArrayRef, index: &Dynamic) -> Result<ArrayRef> {
    let args = [Arg::Value(array.clone()), Arg::Value(mask_index(array, index)?)];
    to_core::lend(&args, |args| args[0].masked(args[1])).map(ArrayRef::from).or_fault()
}

fn mask_index(of: &ArrayRef, index: &Dynamic) -> Result<ArrayRef> {
    let array = index.read_lock::<ArrayRef>().map(|array| array.clone());
    match array {
        Some(array) if array.dtype() == DType::Mask => Ok(array),
        Some(array) => Err(fault_with_hint(
            format!("[]: an index of type {}", array.type_name()),
            "integers read several elements, a[UInt32C([0, 2])]; a mask selects lanes",
        )),
        None => {
            let got = value::type_name(index);
            if of.components().is_some() {
                let name = of.type_name();
                let message = format!(
                    "[]: got {got} as index of {name}, expected an integer (a component) or a mask (of lanes)"
                );
                let hint = "lanes: gather(z, UInt32C::arange(0, 2)), of one part z.x[0..2]; components: v.xy, v[0..2]";
                return Err(fault_with_hint(message, hint));
            }
            let message = format!("[]: got {got} as index, expected an integer, a range or a mask");
            Err(match index.as_float() {
                Ok(x) if !x.is_nan() => {
                    fault_with_hint(message, format!("write a[to_int({x})] for one lane"))
                }
                Err(_) if index.is_bool() => fault_with_hint(
                    message,
                    "a list is compared as a whole: MaskC(list.map(|item| item == \"a\")) is a mask",
                ),
                Ok(_) | Err(_) => fault(message),
            })
        }
    }
}

fn set(context: &Context, array: &ArrayRef, index: &Dynamic, value: &Dynamic) -> Result<()> {
    if array.form() == Form::Tensor {
        return tensor_index::set(context, array, index, value);
    }
    if let Ok(name) = index.clone().into_immutable_string() {
        return set_property(context, array, &name, value);
    }
    if let Some(place) = row_and_column(array, index) {
        let [column, i] = entry("[]=", array, place)?;
        return assign_component(context, &array.part(&[column]), i, value);
    }
    if let Some(index) = index_of_line(array, index) {
        return set_line(context, array, &index, value);
    }
    if let Some(lanes) = lanes_index(context, array, index)? {
        let value = fitting(context, "[]=", array, value)?;
        let args = [array.clone(), value, lanes].map(Arg::Value);
        return by_name(context, "scatter", &args).map(drop);
    }
    if array.is_nested() {
        if let Ok(i) = index.as_int() {
            let i = component_index(array, i)?;
            return assign_component(context, array, i, value);
        }
        if let Some(places) = places(array, index)? {
            let parts = parts(value).unwrap_or_else(|| vec![value.clone(); places.len()]);
            return set_components(context, array, "[]=", &places, &parts);
        }
        return assign_masked(context, array, &mask_index(array, index)?, value);
    }
    match slice(&array.array("[]")?, index)? {
        Some(slice) => set_slice(context, array, slice, value),
        None => assign_masked(context, array, &mask_index(array, index)?, value),
    }
}

/// Writes what such an index of a tensor of one axis says.
fn set_line(context: &Context, array: &ArrayRef, index: &Dynamic, value: &Dynamic) -> Result<()> {
    let tensor = line(array, "[]=")?;
    let new = tensor_index::changed(context, &tensor, index, value)?;
    let targets = array.leaves();
    let check = |target: &Array| context.session.check_change("[]=", target).or_fault();
    targets.iter().try_for_each(check)?;
    array.write(&new.lanes().and_then(|lanes| lanes.own()).or_fault()?);
    Ok(())
}

/// The components of a vector that a range chooses; `None` for another index or value.
fn places(array: &ArrayRef, index: &Dynamic) -> Result<Option<Vec<usize>>> {
    let slice = range::slice(index).filter(|_| array.form().is_vector());
    slice.map(|slice| array.lend(|value| value.places(slice)).or_fault()).transpose()
}

/// A vector of its own of some components.
fn vector(components: &[ArrayRef], places: &[usize]) -> ArrayRef {
    ArrayRef::vector(places.iter().map(|&i| components[i].copy()).collect())
}

fn component_index(array: &ArrayRef, i: i64) -> Result<usize> {
    array.lend(|value| value.position(i)).or_fault()
}

/// The index of an entry of a matrix, `m[[row, column]]`; of an array such a list is one of lanes.
fn row_and_column(of: &ArrayRef, index: &Dynamic) -> Option<(i64, i64)> {
    let list = index.read_lock::<rhai::Array>().filter(|_| of.form() != Form::Scalar)?;
    match &list[..] {
        [i, j] => Some((i.as_int().ok()?, j.as_int().ok()?)),
        _ => None,
    }
}

/// The places of the column, and in it, of the entry in row `i` and column `j` of a matrix.
fn entry(op: &str, matrix: &ArrayRef, (i, j): (i64, i64)) -> Result<[usize; 2]> {
    if !matches!(matrix.form(), Form::Matrix(_)) {
        return Err(fault_with_hint(
            format!("{op}: got a list as index of {}, which is no matrix", matrix.type_name()),
            "several lanes are read and written with an array of integers: a[UInt32C([0, 1])]",
        ));
    }
    matrix.lend(|matrix| matrix.entry(i, j)).or_fault()
}

/// `v.x`, `v.zyx`, `z.real`, `m.T`, `a.data`, `a.index`.
fn property(context: &Context, array: &ArrayRef, name: &str) -> Result<Dynamic> {
    match name {
        "data" if context.is_sandbox => {
            return Err(fault("data: the sandbox tells no addresses"));
        }
        "data" => {
            let address = array.array("data")?.address().or_fault()?;
            return Ok(Dynamic::from(i64::try_from(address).unwrap_or(i64::MAX)));
        }
        "index" => {
            let serial = array.array("index")?.serial().0;
            return Ok(Dynamic::from(i64::try_from(serial).unwrap_or(i64::MAX)));
        }
        _ if array.form() == Form::Scalar && tensor_members::OF_ARRAYS.contains(&name) => {
            let array = array.array(name)?;
            return tensor_members::get(&Tensor::new(&array, &[array.size()]).or_fault()?, name);
        }
        "T" if matches!(array.form(), Form::Matrix(_)) => {
            let transposed = to_core::call("transpose", &[Arg::Value(array.clone())])?;
            return Ok(transposed.into_iter().map(Dynamic::from).next().unwrap_or_default());
        }
        _ => {}
    }
    let letters = swizzle(array, name)?;
    let components = array.components().unwrap_or_default();
    Ok(Dynamic::from(match *letters {
        [one] => components[one].clone(),
        _ => vector(&components, &letters),
    }))
}

fn set_property(context: &Context, array: &ArrayRef, name: &str, value: &Dynamic) -> Result<()> {
    // Behind `x.shape.len()` Rhai writes x.shape.
    if array.form() == Form::Scalar && tensor_members::OF_ARRAYS.contains(&name) {
        let array = array.array(name)?;
        let tensor = Tensor::new(&array, &[array.size()]).or_fault()?;
        return tensor_members::with(&tensor, name, value).map(|_| ());
    }
    let letters = swizzle(array, name)?;
    if (1..letters.len()).any(|i| letters[..i].contains(&letters[i])) {
        return Err(fault_with_hint(
            format!(".{name} = value: got a component twice, expected different ones"),
            "one value for several components is v.xy = 1; v.xx can only be read",
        ));
    }
    let parts = parts(value).filter(|_| letters.len() > 1);
    let parts = parts.unwrap_or_else(|| vec![value.clone(); letters.len()]);
    set_components(context, array, &format!(".{name}"), &letters, &parts)
}

/// Copies of the components of a value that has some; the items of a list are such, as in `Vector2fC([8, 9])`.
fn parts(value: &Dynamic) -> Option<Vec<Dynamic>> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return Some(list.to_vec());
    }
    let components = value.read_lock::<ArrayRef>()?.components()?;
    Some(components.iter().map(ArrayRef::copy).map(Dynamic::from).collect())
}

/// Writes a value to each of several components.
fn set_components(
    context: &Context,
    array: &ArrayRef,
    place: &str,
    letters: &[usize],
    parts: &[Dynamic],
) -> Result<()> {
    if parts.len() != letters.len() {
        return Err(fault(format!(
            "{place}: got {} components, expected {}",
            parts.len(),
            letters.len()
        )));
    }
    for (&letter, part) in letters.iter().zip(parts) {
        assign_component(context, array, letter, part)?;
    }
    Ok(())
}

/// Component numbers of a name such as `x`, `zyx` or `real`.
fn swizzle(array: &ArrayRef, name: &str) -> Result<Vec<usize>> {
    let refused = || array.lend(|value| value.positions(name)).or_fault();
    array.form().positions(name).map_or_else(refused, Ok)
}

/// The lanes that an index chooses; `None` if it is no integer or range.
fn slice(array: &Array, index: &Dynamic) -> Result<Option<Slice>> {
    match index.as_int() {
        Ok(i) => Some(array.lane(i).or_fault()).transpose(),
        Err(_) if index.is::<All>() => Ok(Some(Slice::from(..))),
        Err(_) => Ok(range::slice(index)),
    }
}

fn set_slice(context: &Context, array: &ArrayRef, slice: Slice, value: &Dynamic) -> Result<()> {
    let mut target = array.array("[]=")?;
    let value = fitting(context, "[]=", array, value)?.array("[]=")?;
    target.set_slice(slice, &value).or_fault()?;
    array.set(Node::Leaf(target));
    Ok(())
}

/// The k-th of all elements, or the one at a place along each axis.
fn host_item(host: &HostRef, index: &Dynamic) -> Result<Dynamic> {
    let mut shape = host.shape();
    if let Some(name) = index.read_lock::<rhai::ImmutableString>() {
        let hint = "it has shape, dtype, len(), ravel(), reshape(shape), and elements by index";
        return Err(fault_with_hint(format!("an ndarray has no member {}", *name), hint));
    }
    let indices = match index.read_lock::<rhai::Array>() {
        Some(list) => list.iter().map(|index| index.as_int().ok()).collect(),
        None => {
            shape = vec![shape.iter().product()];
            index.as_int().ok().map(|index| vec![index])
        }
    };
    let Some(indices) = indices.filter(|indices| indices.len() == shape.len()) else {
        let got = value::type_name(index);
        let message =
            format!("[]: got {got}, expected an index, or one for each axis of {shape:?}");
        return Err(fault_with_hint(
            message,
            "a[k] reads the k-th of all elements, a[[i, j]] one of a matrix",
        ));
    };
    let mut element = 0;
    for (&index, &extent) in indices.iter().zip(&shape) {
        element = element * extent as u64 + place(index, extent as u64).or_fault()?;
    }
    host.element(usize::try_from(element).unwrap_or(usize::MAX)).map(dynamic)
}

/// `for x in host` runs over the elements of one axis.
impl IntoIterator for HostRef {
    type Item = Result<Dynamic>;
    type IntoIter = Box<dyn Iterator<Item = Self::Item>>;

    fn into_iter(self) -> Self::IntoIter {
        match self.shape()[..] {
            [n] => Box::new((0..n).map(move |i| self.element(i).map(dynamic))),
            ref shape => {
                let message = format!("for: got an ndarray of {shape:?}, expected one axis");
                let hint = "y.ravel() has all its elements in a row";
                Box::new(std::iter::once(Err(fault_with_hint(message, hint))))
            }
        }
    }
}

/// `for x in v` runs over components, `for x in a` over lanes (which evaluates).
impl IntoIterator for ArrayRef {
    type Item = Result<Dynamic>;
    type IntoIter = Box<dyn Iterator<Item = Self::Item>>;

    fn into_iter(self) -> Self::IntoIter {
        if let Some(components) = self.components() {
            return Box::new(components.into_iter().map(|component| Ok(Dynamic::from(component))));
        }
        if let Node::Tensor(tensor) = &*self.node() {
            return match tensor_index::rows(tensor.clone()) {
                Ok(rows) => Box::new(rows),
                Err(error) => Box::new(std::iter::once(Err(error))),
            };
        }
        let lanes = self.array("for").and_then(|array| {
            let bytes = array.size().saturating_mul(size_of::<Scalar>() as u64);
            array.session().check_host_memory(bytes).or_fault()?;
            check_lane(&array)?;
            array.read(0..array.size()).or_fault()
        });
        match lanes {
            Ok(lanes) => Box::new(lanes.into_iter().map(|lane| Ok(dynamic(lane)))),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }
}
