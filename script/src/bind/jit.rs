//! `jit(f)`: functions that are recorded once, and called with other arrays (S21).
//!
//! What a call depends on besides the lanes of arrays is put down as facts: types and sizes, numbers, texts, what a closure
//! has captured. For facts that were met before, what the function recorded then is recorded again with other arrays in it;
//! no script runs. Else the function is called, with stand-ins in the place of all arrays that it can reach.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use porcini_core::random::Pcg32;
use porcini_core::{Array, DType, Recorded};
use rhai::{Dynamic, FnPtr, ImmutableString, NativeCallContext};

use super::constants::Undefined;
use super::given::of_function;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::{ArrayRef, Node};

/// The function that calls one, which is its first argument.
const CALL: &str = "call_jit";

/// Most arguments of such a function.
const MOST_ARGUMENTS: usize = 8;

/// Recordings of a function that are kept.
const MOST_RECORDINGS: usize = 16;

/// A function and its recordings, the newest last.
struct Jitted {
    function: FnPtr,
    recordings: RefCell<VecDeque<Rc<Recording>>>,
}

/// As closures hold it.
#[derive(Clone)]
struct JitRef(Rc<Jitted>);

/// What a call depends on.
#[derive(Clone, Debug, PartialEq)]
enum Fact {
    Unit,
    Bool(bool),
    Int(i64),
    /// The bits of a float.
    Float(u64),
    Text(ImmutableString),
    /// A list of so many values, which follow.
    List(usize),
    /// A map with these keys, whose values follow.
    Map(Vec<String>),
    /// A function by name, and how many values it has captured, which follow.
    Function(String, usize),
    /// A nested value, whose components follow.
    Nested(String),
    /// Lanes in this form, and how many.
    Lanes(String, Vec<u64>),
    /// The same reference as another one before.
    Same(usize),
    Flags(u64),
}

/// Where arrays are that a function can reach.
#[derive(Clone)]
enum Place {
    /// One without components.
    Array(ArrayRef),
    Rng(RngRef),
}

/// What is in a place.
#[derive(Clone)]
enum Content {
    Node(Node),
    Rng(Pcg32),
}

/// What a call can reach.
#[derive(Default)]
struct Reach {
    facts: Vec<Fact>,
    places: Vec<Place>,
    /// Variables that closures share with what is around.
    variables: Vec<Dynamic>,
    /// Whether there is something of which it is not known when it changes.
    is_unknown: bool,
}

struct Recording {
    facts: Vec<Fact>,
    recorded: Recorded,
    /// Places that the function changes, and what is in them then.
    changes: Vec<(usize, Content)>,
    /// What it returns. Outputs are the arrays in changes, then those in here.
    result: Dynamic,
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "jit",
        "(f)",
        "The function f, recorded once: a call with arrays of the same types and sizes, and the same numbers, records what the \
         first one recorded, without running f. Arrays and generators that f has captured are read, and changed, at each \
         call; a captured number that is another one records anew. Inside no lane can be read (if, any, x[i] of an array, \
         print), and nothing drawn from the session's generator: pass a PCG32C.\n\n\
         >> f = jit(|x| sin(x) * x); [f.call(FloatC([1, 2])), f.call(FloatC([0, 1]))]\n[[0.841471, 1.81859], [0, 0.841471]]\n\
         >> slope = jit(grad(|x| hsum(x ** 3))); slope.call(FloatC([1, 2]))\n[3, 12]",
    );
    registry.any("jit", 1, |_, _, args| {
        let function = of_function("jit", args[0])?;
        let jitted = Jitted { function, recordings: RefCell::default() };
        let mut called = FnPtr::new(CALL).expect("internal error: no name of a function");
        called.add_curry(Dynamic::from(JitRef(Rc::new(jitted))));
        Ok(called)
    });
    for n in 0..=MOST_ARGUMENTS {
        let mut types = vec![TypeId::of::<Dynamic>(); n + 1];
        types[0] = TypeId::of::<JitRef>();
        let context = registry.context.clone();
        registry.engine.register_raw_fn(CALL, &types, move |call, args| {
            context.at(&call);
            let jitted = args[0].read_lock::<JitRef>().map(|jitted| jitted.clone());
            let jitted = jitted.expect("internal error: a call of no function");
            let args: Vec<Dynamic> = args[1..].iter().map(|arg| (**arg).clone()).collect();
            called(&context, &call, &jitted.0, args)
        });
    }
}

fn called(
    context: &Context,
    call: &NativeCallContext<'_>,
    jitted: &Jitted,
    args: Vec<Dynamic>,
) -> Result<Dynamic> {
    let session = &context.session;
    let reach = Reach::of(context, &jitted.function, &args);
    let arrays = reach.arrays();
    let is_plain = reach.is_unknown
        || session.is_recording()
        || session.records_function()
        || arrays.iter().any(|array| array.is_tracked() || !session.is(array.session()));
    if is_plain {
        return jitted.function.call_within_context(call, args);
    }
    let known = jitted.recordings.borrow().iter().find(|known| known.facts == reach.facts).cloned();
    let recording = match known {
        Some(known) => known,
        None => {
            let recording = Rc::new(recorded(context, call, jitted, args, &reach)?);
            let mut recordings = jitted.recordings.borrow_mut();
            recordings.push_back(recording.clone());
            if recordings.len() > MOST_RECORDINGS {
                recordings.pop_front();
            }
            recording
        }
    };
    let outputs = recording.recorded.call(&arrays.iter().collect::<Vec<_>>()).or_fault()?;
    let mut outputs = outputs.into_iter();
    let mut next = |array: &mut Array| {
        if let Some(output) = outputs.next() {
            *array = output;
        }
    };
    for (place, content) in &recording.changes {
        let mut content = content.clone();
        content.each(&mut next);
        reach.places[*place].put(content);
    }
    Ok(with_arrays(&recording.result, &mut next))
}

/// Calls a function with stand-ins in all places that it can reach.
fn recorded(
    context: &Context,
    call: &NativeCallContext<'_>,
    jitted: &Jitted,
    args: Vec<Dynamic>,
    reach: &Reach,
) -> Result<Recording> {
    let session = &context.session;
    let arrays = reach.arrays();
    let stand_ins = session.stand_ins(&arrays.iter().collect::<Vec<_>>()).or_fault()?;
    let before = Before::new(reach);
    let mut next = stand_ins.iter();
    for place in &reach.places {
        let mut content = place.content();
        content.each(&mut |array| {
            if let Some(stand_in) = next.next() {
                array.clone_from(stand_in);
            }
        });
        place.put(content);
    }
    let result = session.recording_function(|| {
        jitted.function.call_within_context::<Dynamic>(call, args.clone())
    })?;
    let mut own = stand_ins.iter();
    let mut changes = Vec::new();
    for (i, (place, old)) in reach.places.iter().zip(&before.contents).enumerate() {
        let content = place.content();
        let expected: Vec<u64> =
            old.arrays().iter().filter_map(|_| own.next()).map(serial).collect();
        if content.arrays().iter().map(serial).ne(expected) {
            changes.push((i, content));
        }
    }
    let mut outputs: Vec<Array> =
        changes.iter().flat_map(|(_, content)| content.arrays()).collect();
    let result = with_arrays(&result, &mut |array| outputs.push(array.clone()));
    if !Reach::of(context, &jitted.function, &args).is_like(reach) {
        return Err(fault_with_hint(
            "jit: the function gives a variable from outside another value",
            "only its first call would: return the value instead; an array that changes is x[all] = .., or an argument",
        ));
    }
    drop(before);
    let [inputs, outputs] = [&stand_ins, &outputs].map(|arrays| arrays.iter().collect::<Vec<_>>());
    let recorded = session.recorded(&inputs, &outputs).or_fault()?;
    // Others stand there at each call; these have no lanes.
    let nothing = session.full(DType::I32, 0, 1).or_fault()?;
    let mut empty = |array: &mut Array| array.clone_from(&nothing);
    changes.iter_mut().for_each(|(_, content)| content.each(&mut empty));
    let result = with_arrays(&result, &mut empty);
    Ok(Recording { facts: reach.facts.clone(), recorded, changes, result })
}

/// What there was before comes back, whatever happens.
struct Before<'r> {
    reach: &'r Reach,
    contents: Vec<Content>,
    variables: Vec<Dynamic>,
}

impl<'r> Before<'r> {
    fn new(reach: &'r Reach) -> Self {
        let contents = reach.places.iter().map(Place::content).collect();
        let variables = reach.variables.iter().map(Dynamic::flatten_clone).collect();
        Self { reach, contents, variables }
    }
}

impl Drop for Before<'_> {
    fn drop(&mut self) {
        let variables = std::mem::take(&mut self.variables);
        for (variable, old) in self.reach.variables.iter().zip(variables) {
            let mut variable = variable.clone();
            if let Some(mut value) = variable.write_lock::<Dynamic>() {
                *value = old;
            }
        }
        let contents = std::mem::take(&mut self.contents);
        self.reach.places.iter().zip(contents).for_each(|(place, content)| place.put(content));
    }
}

fn serial(array: &Array) -> u64 {
    array.serial().0
}

impl Reach {
    fn of(context: &Context, function: &FnPtr, args: &[Dynamic]) -> Self {
        let mut reach = Self::default();
        reach.facts.push(Fact::Flags(context.session.flag_bits()));
        reach.function(function);
        args.iter().for_each(|arg| reach.value(arg));
        reach
    }

    /// Whether the same arrays can be reached, and nothing else differs.
    fn is_like(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Place, &Place)| match (a, b) {
            (Place::Array(a), Place::Array(b)) => a.is(b),
            (Place::Rng(a), Place::Rng(b)) => Rc::ptr_eq(&a.0, &b.0),
            (Place::Array(_), Place::Rng(_)) | (Place::Rng(_), Place::Array(_)) => false,
        };
        self.facts == other.facts && self.places.iter().zip(&other.places).all(is_same)
    }

    fn function(&mut self, function: &FnPtr) {
        let captured = function.curry();
        self.facts.push(Fact::Function(function.fn_name().into(), captured.len()));
        self.variables.extend(captured.iter().filter(|value| value.is_shared()).cloned());
        captured.iter().for_each(|value| self.value(value));
    }

    fn value(&mut self, value: &Dynamic) {
        if let Some(array) = value.read_lock::<ArrayRef>() {
            self.array(&array);
        } else if let Some(rng) = value.read_lock::<RngRef>() {
            self.rng(&rng);
        } else if let Some(list) = value.read_lock::<rhai::Array>() {
            self.facts.push(Fact::List(list.len()));
            list.iter().for_each(|item| self.value(item));
        } else if let Some(map) = value.read_lock::<rhai::Map>() {
            self.facts.push(Fact::Map(map.keys().map(ToString::to_string).collect()));
            map.values().for_each(|item| self.value(item));
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            self.function(&function);
        } else if let Some(jitted) = value.read_lock::<JitRef>() {
            self.function(&jitted.0.function);
        } else if let Some(text) = value.read_lock::<ImmutableString>() {
            self.facts.push(Fact::Text(text.clone()));
        } else if let Ok(number) = value.as_int() {
            self.facts.push(Fact::Int(number));
        } else if let Ok(number) = value.as_float() {
            self.facts.push(Fact::Float(number.to_bits()));
        } else if let Ok(truth) = value.as_bool() {
            self.facts.push(Fact::Bool(truth));
        } else if value.is_unit() || value.is::<Undefined>() {
            self.facts.push(Fact::Unit);
        } else {
            self.is_unknown = true;
        }
    }

    fn array(&mut self, array: &ArrayRef) {
        if let Some(components) = array.components() {
            self.facts.push(Fact::Nested(array.type_name()));
            components.iter().for_each(|component| self.array(component));
            return;
        }
        let is_same = |place: &Place| matches!(place, Place::Array(other) if other.is(array));
        if let Some(place) = self.places.iter().position(is_same) {
            self.facts.push(Fact::Same(place));
            return;
        }
        let form = match &*array.node() {
            Node::Tensor(tensor) => format!("{} {}", tensor.type_name(), tensor.layout()),
            _ => array.type_name(),
        };
        let sizes = array.leaves().iter().map(Array::size).collect();
        self.facts.push(Fact::Lanes(form, sizes));
        self.places.push(Place::Array(array.clone()));
    }

    fn rng(&mut self, rng: &RngRef) {
        let is_same =
            |place: &Place| matches!(place, Place::Rng(other) if Rc::ptr_eq(&other.0, &rng.0));
        if let Some(place) = self.places.iter().position(is_same) {
            self.facts.push(Fact::Same(place));
            return;
        }
        let place = Place::Rng(rng.clone());
        let sizes = place.content().arrays().iter().map(Array::size).collect();
        self.facts.push(Fact::Lanes("PCG32C".into(), sizes));
        self.places.push(place);
    }

    fn arrays(&self) -> Vec<Array> {
        self.places.iter().flat_map(|place| place.content().arrays()).collect()
    }
}

impl Place {
    fn content(&self) -> Content {
        match self {
            Self::Array(array) => Content::Node(array.node().clone()),
            Self::Rng(rng) => Content::Rng(rng.0.borrow().clone()),
        }
    }

    fn put(&self, content: Content) {
        match (self, content) {
            (Self::Array(array), Content::Node(node)) => array.set(node),
            (Self::Rng(rng), Content::Rng(own)) => *rng.0.borrow_mut() = own,
            (Self::Array(_), Content::Rng(_)) | (Self::Rng(_), Content::Node(_)) => {
                unreachable!("internal error: a generator is no array")
            }
        }
    }
}

impl Content {
    /// Calls a function with all arrays in it; components that others may hold are exchanged for copies.
    fn each(&mut self, change: &mut impl FnMut(&mut Array)) {
        match self {
            Self::Rng(rng) => {
                change(&mut rng.state);
                change(&mut rng.inc);
            }
            Self::Node(Node::Leaf(array)) => change(array),
            Self::Node(Node::Tensor(tensor)) => tensor.parts_mut().iter_mut().for_each(change),
            Self::Node(Node::Nested(_, components)) => {
                for component in components {
                    *component = component.copy();
                    component.for_each_leaf("", &mut |array, _| change(array));
                }
            }
        }
    }

    fn arrays(&self) -> Vec<Array> {
        let mut arrays = Vec::new();
        self.clone().each(&mut |array| arrays.push(array.clone()));
        arrays
    }
}

/// A copy of what a function returned, with other arrays in it.
fn with_arrays(value: &Dynamic, change: &mut impl FnMut(&mut Array)) -> Dynamic {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        let copy = array.copy();
        copy.for_each_leaf("", &mut |array, _| change(array));
        return Dynamic::from(copy);
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        return Dynamic::from(rng.with(change));
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        let mut items = Vec::with_capacity(list.len());
        for item in list.iter() {
            items.push(with_arrays(item, change));
        }
        return items.into();
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        let mut items = rhai::Map::new();
        for (key, item) in map.iter() {
            items.insert(key.clone(), with_arrays(item, change));
        }
        return items.into();
    }
    value.clone()
}
