//! Loops and branches of arrays (S21): closures over lists and maps of values, recorded once by core.
//!
//! A state is any value made of arrays: core sees its one-dimensional parts, the closures the whole.

use porcini_core::tensor::Shape;
use porcini_core::{Array, DType, Error, Result as CoreResult, Scalar};
use rhai::{Dynamic, EvalAltResult, FnPtr, NativeCallContext};

use super::registry::Registry;
use crate::context::Context;
use crate::diagnose::wording::friendly_types;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::{self, ArrayRef, Node, scalar};

/// An error of a closure on its way through core.
struct Thrown(Box<EvalAltResult>);

impl From<Error> for Thrown {
    fn from(error: Error) -> Self {
        Self(Err::<(), _>(error).or_fault().err().unwrap_or_else(|| fault("")))
    }
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "while_loop",
        "(states, condition, body, options)",
        "Repeats body in every lane while condition holds there; the list of states at the end. Both \
         functions take the states; condition returns a mask, body the list of next states, of the same \
         types. States in a map, #{x: a, n: 0}, are given to |s| as one, and come back as one. A lane that is done keeps its values. The loop has the lanes of its largest state; states of one \
         lane widen. An array that the body only scatters to, or gathers from, keeps its own size. Arrays that the \
         body changes in place and generators it draws from must be among the states; what is written, and what \
         scatter_inc finds, is as if one lane ran after the other. Recorded once, runs inside a kernel; Ctrl-C \
         ends it. A body that returns its states as they are is an error: it would not end. In the body no lane can be read (any, if, a[i]); print shows the lanes that run, turn by turn: \
         the loop then runs step by step too, beside the kernel, and what else the body does, to variables of the \
         script or files, it does there again. set_flag(\"record_loops\", false) runs all step by \
         step, and lanes can be read. #{max_iterations: n} ends it after n turns in any case. #{invertible: f}, where f gives the \
         states at the beginning of a turn from those at its end, saves the memory that gradients take for them.\n\n\
         >> r = while_loop([UInt32C([1, 7, 10]), UInt32C(0)], |x, n| x > 1, |x, n| [select(x % 2 == 0, x >> 1, 3*x + 1), n + 1]); r[1]\n\
         [0, 16, 6]\n\
         >> while_loop(#{x: FloatC([1, 5]), n: 0}, |s| s.x < 40, |s| { s.x *= 2; s.n += 1; s }).n\n\
         [6, 3]",
    );
    for arity in [3, 4] {
        registry.any("while_loop", arity, |context, call, args| {
            context.at(call);
            while_loop(context, call, args)
        });
    }
    registry.doc(
        "if_then",
        "(mask, arguments, then, otherwise)",
        "The list that `then` returns in lanes where the mask is true, that of `otherwise` in the others. Both \
         functions take the arguments and return lists of the same length and types. Recorded; a packet of \
         lanes skips the function that none of its lanes needs. What holds for bodies of while_loop holds \
         here.\n\n\
         >> x = FloatC([-4, 9]); if_then(x > 0, [x], |x| [sqrt(x)], |x| [-x])[0]\n\
         [4, 3]",
    );
    registry.any("if_then", 4, |context, call, args| {
        context.at(call);
        if_then(context, call, args)
    });
    registry.doc(
        "dispatch",
        "(index, functions, arguments)",
        "Lane i gets what function number index[i] of the list returns for the arguments, a list of values; \
         zeros where there is no such function. The functions return lists of the same length and types. \
         Recorded; what holds for bodies of while_loop holds here.\n\n\
         >> dispatch(UInt32C([0, 1, 7]), [|x| [x + 1], |x| [x * 10]], [FloatC([1, 2, 3])])[0]\n\
         [2, 20, 0]",
    );
    registry.any("dispatch", 3, |context, call, args| {
        context.at(call);
        dispatch(context, call, args)
    });
}

/// A list or map of values as the one-dimensional arrays in them, and the way back.
struct Parts {
    values: Vec<Dynamic>,
    arrays: Vec<Array>,
    /// Names of the values, in order, if they came in a map.
    keys: Option<Vec<rhai::Identifier>>,
    /// How they came, as errors name it.
    form: String,
}

impl Parts {
    /// `like` gives numbers their types.
    fn new(
        context: &Context,
        op: &'static str,
        list: &Dynamic,
        like: Option<&[Array]>,
    ) -> Result<Self> {
        let keys = keys(list);
        let values = match (list.read_lock::<rhai::Map>(), list.read_lock::<rhai::Array>()) {
            (Some(map), _) => map.values().cloned().collect(),
            (None, Some(list)) => list.clone(),
            (None, None) => vec![list.clone()],
        };
        let (mut parts, mut arrays) = (Vec::with_capacity(values.len()), Vec::new());
        for (position, value) in values.into_iter().enumerate() {
            let value = match scalar(&value) {
                Some(number) => {
                    let dtype = like.and_then(|like| like.get(arrays.len())).map(Array::dtype);
                    let dtype = dtype.unwrap_or(DType::of(number));
                    let array = context.session.full(dtype, number, 1).or_fault()?;
                    Dynamic::from(ArrayRef::leaf(array))
                }
                None => value,
            };
            let tensor = value.read_lock::<ArrayRef>().map(|value| value.whole()).transpose()?;
            let value = tensor.map_or(value, Dynamic::from);
            if let Some(value) = value.read_lock::<ArrayRef>() {
                arrays.extend(value.leaves());
            } else if let Some(rng) = value.read_lock::<RngRef>() {
                arrays.extend(rng.arrays().iter().flat_map(ArrayRef::leaves));
            } else {
                let name = match &keys {
                    Some(keys) => format!("`{}` of the map", keys[position]),
                    None => format!("value {position} of the list"),
                };
                return Err(fault(format!(
                    "{op}: {name} is {}, expected an array, a number or a generator",
                    value::type_name(&value)
                )));
            }
            parts.push(value);
        }
        Ok(Self { values: parts, arrays, keys, form: form(list) })
    }

    /// The lanes of what decides about these values: of a tensor its entries, which are theirs.
    fn deciding(&self, op: &str, value: &ArrayRef) -> Result<Array> {
        let Node::Tensor(tensor) = &*value.node() else { return value.array(op) };
        let shape = |value: &Dynamic| match &*value.read_lock::<ArrayRef>()?.node() {
            Node::Tensor(tensor) => Some(tensor.shape().clone()),
            Node::Leaf(_) | Node::Nested(..) => None,
        };
        let shapes: Vec<Shape> = self.values.iter().filter_map(shape).collect();
        tensor.deciding(op, &shapes).or_fault()
    }

    /// The values with other arrays in them.
    fn with(&self, arrays: &[Array]) -> Vec<Dynamic> {
        let mut arrays = arrays.iter();
        let mut next = |old: &mut Array| {
            if let Some(array) = arrays.next() {
                *old = array.clone();
            }
        };
        let replaced = self.values.iter().map(|value| {
            if let Some(rng) = value.read_lock::<RngRef>() {
                return Dynamic::from(rng.with(&mut next));
            }
            let copy = value.read_lock::<ArrayRef>().map(|value| value.copy());
            let copy = copy.expect("internal error: a part that is no array");
            copy.for_each_leaf("", &mut |leaf, _| next(leaf));
            Dynamic::from(copy)
        });
        replaced.collect()
    }

    /// What a script gets: a list, or the map.
    fn list(&self, arrays: &[Array]) -> Dynamic {
        let values = self.with(arrays);
        match &self.keys {
            Some(keys) => Dynamic::from_map(keys.iter().cloned().zip(values).collect()),
            None => Dynamic::from_array(values),
        }
    }

    /// What closures are called with: each value of a list, or the map.
    fn arguments(&self, arrays: &[Array]) -> Vec<Dynamic> {
        if self.keys.is_some() { vec![self.list(arrays)] } else { self.with(arrays) }
    }

    /// How a value is named in errors.
    fn name(&self, position: usize) -> String {
        match &self.keys {
            Some(keys) => format!("`{}`", keys[position]),
            None => format!("value {position}"),
        }
    }
}

/// A function that a script passed.
fn function(op: &str, what: &str, value: &Dynamic) -> Result<FnPtr> {
    value.read_lock::<FnPtr>().map(|function| function.clone()).ok_or_else(|| {
        let message =
            format!("{op}: got {} as {what}, expected a function", value::type_name(value));
        fault_with_hint(message, "write it as |a, b| a < b, with one parameter for each value")
    })
}

fn invoke(
    context: &Context,
    op: &str,
    call: &NativeCallContext<'_>,
    function: &FnPtr,
    args: Vec<Dynamic>,
) -> std::result::Result<Dynamic, Thrown> {
    function.call_within_context::<Dynamic>(call, args).map_err(|mut error| {
        if context.session.is_recording() {
            name_body(op, &mut error);
        }
        Thrown(error)
    })
}

/// Where a condition of the language got an array, says in which body: its lanes are not there yet.
fn name_body(op: &str, error: &mut EvalAltResult) {
    match error {
        EvalAltResult::ErrorInFunctionCall(.., inner, _) => name_body(op, inner),
        EvalAltResult::ErrorMismatchDataType(want, got, place)
            if want == "bool" && friendly_types(got) == "array" =>
        {
            let message = format!(
                "in the body of {op}: expected one bool, got an array, which has no lanes yet"
            );
            let hint = "lane by lane write select(m, a, b), or if_then(m, [x], |x| [..], |x| [..])";
            let mut named = fault_with_hint(message, hint);
            named.set_position(*place);
            *error = *named;
        }
        _ => {}
    }
}

/// Runs `work`, and what its bodies show beside it.
fn with_shown<T>(
    context: &Context,
    mut work: impl FnMut() -> std::result::Result<T, Thrown>,
) -> Result<T> {
    let _bodies = context.prints.begin(&context.host);
    let session = &context.session;
    let result = work().map_err(|Thrown(error)| error);
    // Inside a body that is recorded, the outermost one is watched.
    if session.is_recording() || session.is_watched() || !session.take_shown() {
        return result;
    }
    let result = result?;
    let watch = session.watch();
    let watched = work();
    drop(watch);
    session.take_shown();
    watched.map_err(|Thrown(error)| error)?;
    Ok(result)
}

fn while_loop(
    context: &Context,
    call: &NativeCallContext<'_>,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    let op = "while_loop";
    let (condition, body) = (function(op, "condition", args[1])?, function(op, "body", args[2])?);
    let options = args.get(3).map(|options| Options::new(op, options)).transpose()?;
    let Options { most, inverse } = options.unwrap_or_default();
    let states = Parts::new(context, op, args[0], None)?;
    let results = with_shown(context, || {
        let holds = |arrays: &[Array]| {
            let holds = invoke(context, op, call, &condition, states.arguments(arrays))?;
            mask(context, op, &holds, &states).map_err(Thrown)
        };
        let turn = |arrays: &[Array]| {
            let next = invoke(context, op, call, &body, states.arguments(arrays))?;
            returned(context, op, &next, &states).map_err(Thrown)
        };
        let (session, arrays) = (&context.session, &states.arrays);
        match (most, &inverse) {
            (Some(most), _) => session.while_loop_at_most(most, arrays, holds, turn),
            (None, None) => session.while_loop(arrays, holds, turn),
            (None, Some(inverse)) => session.while_loop_invertible(arrays, holds, turn, |arrays| {
                let before = invoke(context, op, call, inverse, states.arguments(arrays))?;
                returned(context, op, &before, &states).map_err(Thrown)
            }),
        }
    })?;
    Ok(states.list(&results))
}

/// What else is said of a loop.
#[derive(Default)]
struct Options {
    /// The largest number of turns.
    most: Option<u32>,
    /// What undoes a turn.
    inverse: Option<FnPtr>,
}

impl Options {
    fn new(op: &str, options: &Dynamic) -> Result<Self> {
        let hint = "there are #{max_iterations: 100} and #{invertible: |x, ..| [..]}";
        let Some(options) = options.read_lock::<rhai::Map>() else {
            let got = value::type_name(options);
            let message = format!("{op}: got {got} as options, expected a map");
            return Err(fault_with_hint(message, hint));
        };
        let known = ["max_iterations", "invertible"];
        if let Some(key) = options.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(fault_with_hint(format!("{op}: no option `{key}`"), hint));
        }
        if options.len() > 1 {
            let message = format!("{op}: got both options, expected one");
            return Err(fault_with_hint(message, "a number of turns can be part of the condition"));
        }
        let most = options.get("max_iterations").map(|most| {
            let number = scalar(most);
            let n = match number {
                Some(Scalar::Int(n)) => u32::try_from(n).ok(),
                _ => None,
            };
            n.ok_or_else(|| {
                let got = number.map_or_else(|| value::type_name(most), |n| n.to_string());
                let most = u32::MAX;
                fault(format!("{op}: max_iterations is {got}, expected a number from 0 to {most}"))
            })
        });
        let inverse = options.get("invertible").map(|f| function(op, "invertible", f));
        Ok(Self { most: most.transpose()?, inverse: inverse.transpose()? })
    }
}

/// Names of values that come in a map, in order.
fn keys(values: &Dynamic) -> Option<Vec<rhai::Identifier>> {
    values.read_lock::<rhai::Map>().map(|map| map.keys().cloned().collect())
}

/// How values come, as errors name it.
fn form(values: &Dynamic) -> String {
    keys(values).map_or_else(|| value::type_name(values), |keys| map_of(&keys))
}

fn map_of(keys: &[rhai::Identifier]) -> String {
    if keys.is_empty() { "an empty map".into() } else { format!("a map of {}", keys.join(", ")) }
}

/// The arrays of a body's list or map, which must be made like the states.
fn returned(
    context: &Context,
    op: &'static str,
    next: &Dynamic,
    states: &Parts,
) -> Result<Vec<Array>> {
    if next.is_unit() || keys(next) != states.keys {
        let (expected, hint) = match &states.keys {
            Some(keys) => (map_of(keys), "change the map and return it: |s| { s.x += 1; s }"),
            None => ("a list".into(), "return a list with the next value of every state"),
        };
        let message = format!("{op}: the body returned {}, expected {expected}", form(next));
        return Err(fault_with_hint(message, hint));
    }
    let next = Parts::new(context, op, next, Some(&states.arrays))?;
    if next.values.len() != states.values.len() {
        let (got, expected) = (next.values.len(), states.values.len());
        let message = format!("{op}: the body returned {got} values for {expected} states");
        return Err(fault_with_hint(message, "return a list with the next value of every state"));
    }
    for (position, (next, state)) in next.values.iter().zip(&states.values).enumerate() {
        let name = states.name(position);
        let (next_type, state_type) = (value::type_name(next), value::type_name(state));
        if next_type != state_type {
            return Err(fault(format!(
                "{op}: {name} is {state_type} and becomes {next_type}; convert it: {state_type}(x)"
            )));
        }
        let (next, state) = (kind(next), kind(state));
        if next != state {
            return Err(fault(format!("{op}: {name} is {state} and becomes {next}")));
        }
    }
    Ok(next.arrays)
}

/// A mask of lanes, or of the entries of tensors.
fn mask(context: &Context, op: &str, value: &Dynamic, of: &Parts) -> Result<Array> {
    if let Some(Scalar::Bool(truth)) = scalar(value) {
        return context.session.full(DType::Mask, truth, 1).or_fault();
    }
    match value.read_lock::<ArrayRef>() {
        Some(mask) => of.deciding(op, &mask),
        None => Err(fault(format!(
            "{op}: got {} as condition, expected a mask such as x < 5",
            value::type_name(value)
        ))),
    }
}

fn if_then(
    context: &Context,
    call: &NativeCallContext<'_>,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    let op = "if_then";
    let (then, otherwise) = (function(op, "then", args[2])?, function(op, "otherwise", args[3])?);
    let condition = &*args[0];
    let args = Parts::new(context, op, args[1], None)?;
    let mask = mask(context, op, condition, &args)?;
    let mut template = None;
    let results = with_shown(context, || {
        template = None;
        // Both branches fill the same template.
        let template = std::cell::RefCell::new(&mut template);
        let branch = |function: &FnPtr, arrays: &[Array]| {
            let values = invoke(context, op, call, function, args.arguments(arrays))?;
            branch_values(context, op, &values, &mut template.borrow_mut()).map_err(Thrown)
        };
        context.session.if_then(
            &mask,
            &args.arrays,
            |arrays| branch(&then, arrays),
            |arrays| branch(&otherwise, arrays),
        )
    })?;
    Ok(template.map_or_else(|| Dynamic::from_array(Vec::new()), |parts| parts.list(&results)))
}

fn dispatch(
    context: &Context,
    call: &NativeCallContext<'_>,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    let op = "dispatch";
    let Some(index) = args[0].read_lock::<ArrayRef>().map(|index| index.clone()) else {
        let got = value::type_name(args[0]);
        return Err(fault(format!("{op}: got {got} as index, expected an array of integers")));
    };
    let Some(functions) = args[1].read_lock::<rhai::Array>().map(|list| list.clone()) else {
        let got = value::type_name(args[1]);
        return Err(fault(format!("{op}: got {got}, expected a list of functions")));
    };
    let functions =
        functions.iter().map(|each| function(op, "function", each)).collect::<Result<Vec<_>>>()?;
    let args = Parts::new(context, op, args[2], None)?;
    let index = args.deciding(op, &index)?;
    let mut template = None;
    let results = with_shown(context, || {
        template = None;
        context.session.dispatch(&index, functions.len(), &args.arrays, |number, arrays| {
            let values = invoke(context, op, call, &functions[number], args.arguments(arrays))?;
            branch_values(context, op, &values, &mut template).map_err(Thrown)
        })
    })?;
    Ok(template.map_or_else(|| Dynamic::from_array(Vec::new()), |parts| parts.list(&results)))
}

/// What the arrays of another run must be put into: the type, and the shape of a tensor.
fn kind(value: &Dynamic) -> String {
    let shape = value.read_lock::<ArrayRef>().and_then(|value| value.shape());
    let name = value::type_name(value);
    shape.map_or(name.clone(), |shape| format!("{name} {shape}"))
}

/// The arrays of a branch's list or map; the first branch decides what the values are.
fn branch_values(
    context: &Context,
    op: &'static str,
    values: &Dynamic,
    template: &mut Option<Parts>,
) -> Result<Vec<Array>> {
    if let Some(first) = template
        && first.keys != keys(values)
    {
        let (first, other) = (&first.form, form(values));
        let message = format!("{op}: the functions return {first} and {other}");
        return Err(fault_with_hint(message, "return maps with the same keys, or lists, from all"));
    }
    if values.is_unit() {
        let message = format!("{op}: a function returned nothing, expected a list or a map");
        return Err(fault_with_hint(message, "end it with the values to return: |x| { ..; [x] }"));
    }
    let like = template.as_ref().map(|parts| parts.arrays.as_slice());
    let parts = Parts::new(context, op, values, like)?;
    let types = |parts: &Parts| parts.values.iter().map(kind).collect::<Vec<_>>();
    match template {
        Some(first) if types(first) != types(&parts) => {
            let (first, other) = (types(first).join(", "), types(&parts).join(", "));
            let message = format!("{op}: the functions return [{first}] and [{other}]");
            Err(fault_with_hint(message, "convert the values to the same types: FloatC(x)"))
        }
        Some(_) => Ok(parts.arrays),
        None => {
            let arrays = parts.arrays.clone();
            *template = Some(parts);
            Ok(arrays)
        }
    }
}

/// Whether `print` shows something here: not in a body while it is recorded, nor where no lane runs it.
pub(super) fn is_shown(context: &Context) -> Result<bool> {
    let session = &context.session;
    if session.is_recording() {
        session.note_shown();
        return Ok(false);
    }
    let Some(mask) = session.limiting_mask() else { return Ok(true) };
    Ok(mask.to_vec::<bool>().or_fault()?.contains(&true))
}

/// What `print` shows of a value in a body: the lanes that run it.
pub(super) fn running_lanes(context: &Context, value: &Dynamic) -> Result<Dynamic> {
    let array = value.read_lock::<ArrayRef>().map(|array| array.clone());
    let (Some(array), Some(mask)) = (array, context.session.limiting_mask()) else {
        return Ok(value.clone());
    };
    let lanes = mask.to_vec::<bool>().or_fault()?;
    let shown = array.copy();
    let mut result: CoreResult<()> = Ok(());
    shown.for_each_leaf("", &mut |leaf, _| {
        if leaf.size() == mask.size() {
            match leaf.chosen_on_host(&lanes) {
                Ok(lanes) => *leaf = lanes,
                Err(error) => result = Err(error),
            }
        }
    });
    result.or_fault()?;
    Ok(Dynamic::from(shown))
}
