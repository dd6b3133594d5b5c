//! `jit(f)`: functions that are recorded once, and called with other arrays (S21).
//!
//! What a call depends on besides the lanes of arrays is put down as facts: types and sizes, numbers, texts, what a closure
//! has captured. For facts that were met before, what the function recorded then is recorded again with other arrays in it;
//! no script runs. Else the function is called, with stand-ins in the place of all arrays that it can reach.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use porcini_core::random::Pcg32;
use porcini_core::{Array, DType, Recorded};
use rhai::{Dynamic, EvalAltResult, FnPtr, Identifier, ImmutableString, NativeCallContext};
use smallvec::SmallVec;

use super::constants::Undefined;
use super::given::of_function;
use super::outside::{Captured, captured, told};
use super::registry::{MOST_ARGUMENTS, Registry};
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault};
use crate::value::generator::RngRef;
use crate::value::standing::standing_for;
use crate::value::text_kernel::KernelRef;
use crate::value::{ArrayRef, Form, Node};

/// The function that calls one, which is its first argument.
const CALL: &str = "call_jit";

/// Facts beyond which looking at what a call depends on takes longer than the call.
const MOST_FACTS: usize = 1 << 20;

/// Recordings of a function that are kept.
const MOST_RECORDINGS: usize = 16;

/// What a call depended on, and what calls like it do.
type Known = (SmallVec<[Fact; 4]>, Way);

/// What becomes of a call.
#[derive(Clone)]
enum Way {
    /// What the function recorded is recorded again.
    Recorded(Rc<Recording>),
    /// It is called: what it does cannot be recorded again.
    Called,
    /// It is called, and threw while it was recorded.
    Thrown,
}

/// A function and its recordings, the newest last.
struct Jitted {
    function: FnPtr,
    recordings: RefCell<VecDeque<Known>>,
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
    Nested(Form),
    /// A one-dimensional array.
    Lanes(DType, u64),
    /// A tensor's form and how many lanes its parts have.
    Tensor(String, Vec<u64>),
    /// A generator, with the lanes of its state and increment.
    Rng(u64, u64),
    /// A kernel of text, which never changes.
    Kernel(KernelRef),
    /// The same reference as another one before.
    Same(usize),
    /// The flags, and how often functions of the script were defined.
    Settings(u64, u64),
}

/// Where arrays are that a function can reach.
#[derive(Clone)]
enum Slot {
    /// One without components.
    Array(ArrayRef),
    Rng(RngRef),
}

/// What is in a slot.
#[derive(Clone)]
enum Content {
    Node(Node),
    Rng(Pcg32),
}

/// What a call can reach.
#[derive(Default)]
struct Reach {
    facts: SmallVec<[Fact; 4]>,
    slots: SmallVec<[Slot; 4]>,
    /// Values with components, which are slots.
    nested: Vec<ArrayRef>,
    /// Variables that closures share with what is around.
    variables: Vec<Captured>,
    /// Functions of jit that were looked into.
    jitted: Vec<JitRef>,
    /// Whether there is something of which it is not known when it changes.
    is_unknown: bool,
}

/// What a function did with stand-ins.
struct Recording {
    recorded: Recorded,
    /// Places that the function changes, and what is in them then.
    changes: Vec<(usize, Content)>,
    /// What it returns. Outputs are the arrays in changes, then those in here.
    result: Returned,
}

/// What a function returns.
enum Returned {
    /// A number, a text, nothing.
    Same(Dynamic),
    /// What is in a slot, not a copy.
    Slot(usize),
    /// A value with components, likewise.
    Nested(usize),
    /// A new value with outputs as its arrays.
    New(Slot),
    /// The new value of this number again.
    Again(usize),
    List(Vec<Self>),
    Map(Vec<(Identifier, Self)>),
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "jit",
        "(f)",
        "The function f, recorded once: a call with arrays of the same types and sizes, and the same numbers, records what the \
         first one recorded, without running f. Arrays and generators that f has captured are read, and changed, at each \
         call; a captured number that is another one records anew. Inside no lane can be read (if, any, x[i] of an array, \
         print), and nothing drawn from the session's generator: pass a PCG32C. What else f does, with files or times, it does \
         in the first call alone. Where f throws, arrays and generators stay what they were, but not captured variables; nothing is \
         restored where calls cannot be recorded, as with a host array or a time among what f can reach.\n\n\
         >> f = jit(|x| sin(x) * x); [f.call(FloatC([1, 2])), f.call(FloatC([0, 1]))]\n[[0.841471, 1.81859], [0, 0.841471]]\n\
         >> slope = jit(grad(|x| hsum(x ** 3))); slope.call(FloatC([1, 2]))\n[3, 12]",
    );
    registry.any("jit", 1, |_, _, args| {
        let function = of_function("jit", args[0])?;
        let jitted = Jitted { function, recordings: RefCell::default() };
        Ok(standing_for(CALL, Dynamic::from(JitRef(Rc::new(jitted)))))
    });
    registry.callable(CALL, 0..=MOST_ARGUMENTS, |context, call, jitted: &JitRef, args| {
        called(context, call, &jitted.0, args.iter().map(|arg| (**arg).clone()).collect())
    });
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
    if reach.is_unknown || !session.replays(&arrays) {
        return jitted.function.call_within_context(call, args);
    }
    let find = |known: &Known| (known.0 == reach.facts).then(|| known.1.clone());
    let known = jitted.recordings.borrow().iter().find_map(find);
    let way = match known {
        Some(known) => known,
        None => {
            let way = context.draws.unnoted(|| recorded(context, call, jitted, &args, &reach))?;
            let mut recordings = jitted.recordings.borrow_mut();
            recordings.push_back((reach.facts.clone(), way.clone()));
            if recordings.len() > MOST_RECORDINGS {
                recordings.pop_front();
            }
            way
        }
    };
    let recording = match way {
        Way::Recorded(recording) => recording,
        Way::Called => return jitted.function.call_within_context(call, args),
        Way::Thrown => return run(call, jitted, args, &reach),
    };
    let outputs = recording.recorded.call(&arrays.iter().collect::<Vec<_>>()).or_fault()?;
    let mut outputs = outputs.into_iter();
    for (slot, content) in &recording.changes {
        context.draws.note(&reach.slots[*slot].value());
        reach.slots[*slot].put(content.with(&mut outputs));
    }
    Ok(recording.result.made(&reach, &mut outputs, &mut Vec::new()))
}

/// Calls a function that threw while it was recorded. Where it throws again, arrays and generators that it can reach are
/// what they were; captured variables stay what it made of them. Writes copy meanwhile, since what there was is held.
fn run(
    call: &NativeCallContext<'_>,
    jitted: &Jitted,
    args: Vec<Dynamic>,
    reach: &Reach,
) -> Result<Dynamic> {
    let contents = reach.slots.iter().map(Slot::content).collect();
    let mut before = Before { reach, contents, variables: Vec::new() };
    let result = jitted.function.call_within_context(call, args)?;
    before.contents.clear();
    Ok(result)
}

/// Calls a function with stand-ins in all slots that it can reach: what it did, and how it is called from then on.
fn recorded(
    context: &Context,
    call: &NativeCallContext<'_>,
    jitted: &Jitted,
    args: &[Dynamic],
    reach: &Reach,
) -> Result<Way> {
    let session = &context.session;
    let arrays = reach.arrays();
    let stand_ins = session.stand_ins(&arrays.iter().collect::<Vec<_>>()).or_fault()?;
    let before = Before::new(reach);
    let mut next = stand_ins.iter().cloned();
    reach.slots.iter().for_each(|slot| slot.put(slot.content().with(&mut next)));
    session.take_recording_failure();
    let result = session
        .recording_function(|| jitted.function.call_within_context::<Dynamic>(call, args.to_vec()));
    if let Some(failure) = session.take_recording_failure() {
        // The error with its position, unless the function went on behind it.
        return Err(match result {
            Err(error) => error,
            Ok(_) => Err::<(), _>(failure).or_fault().err().unwrap_or_else(|| fault("jit")),
        });
    }
    // Without stand-ins it fails the same way, or throws what others may look at.
    let result = match result {
        Ok(result) => result,
        Err(error) if matches!(*error, EvalAltResult::ErrorTerminated(..)) => return Err(error),
        Err(_) => return Ok(Way::Thrown),
    };
    let mut own = stand_ins.iter();
    let mut changes = Vec::new();
    for (i, (slot, old)) in reach.slots.iter().zip(&before.contents).enumerate() {
        let content = slot.content();
        let expected: Vec<u64> =
            old.arrays().iter().filter_map(|_| own.next()).map(serial).collect();
        if content.arrays().iter().map(serial).ne(expected) {
            changes.push((i, content));
        }
    }
    let mut outputs: Vec<Array> =
        changes.iter().flat_map(|(_, content)| content.arrays()).collect();
    let result = Returned::of(&result, reach, &mut outputs, &mut Vec::new());
    // One stored lane may have become many, which is a change like others: what holds the value is what counts.
    before.put_contents();
    if !Reach::of(context, &jitted.function, args).is_like(reach) {
        return Err(told(call, before.changed()));
    }
    drop(before);
    // Closures have seen stand-ins, and marks are of this call.
    let (Some(mut result), false) = (result, outputs.iter().any(Array::is_tracked)) else {
        return Ok(Way::Called);
    };
    let [inputs, outputs] = [&stand_ins, &outputs].map(|arrays| arrays.iter().collect::<Vec<_>>());
    let recorded = session.recorded("jit", &inputs, &outputs).or_fault()?;
    // Others stand there at each call; these have no lanes.
    let nothing = session.full(DType::I32, 0, 1).or_fault()?;
    let mut empty = |array: &mut Array| array.clone_from(&nothing);
    changes.iter_mut().for_each(|(_, content)| content.each(&mut empty));
    result.each(&mut empty);
    Ok(Way::Recorded(Rc::new(Recording { recorded, changes, result })))
}

/// What there was before comes back, whatever happens.
struct Before<'r> {
    reach: &'r Reach,
    contents: Vec<Content>,
    variables: Vec<Dynamic>,
}

impl<'r> Before<'r> {
    fn new(reach: &'r Reach) -> Self {
        let contents = reach.slots.iter().map(Slot::content).collect();
        let variables = reach.variables.iter().map(|now| now.value.flatten_clone()).collect();
        Self { reach, contents, variables }
    }

    /// The variable that has another value now.
    fn changed(&self) -> Option<&Captured> {
        let reached = |value: &Dynamic| {
            let mut reach = Reach::default();
            reach.value(value);
            reach
        };
        let mut both = self.reach.variables.iter().zip(&self.variables);
        both.find(|(now, old)| !reached(&now.value).is_like(&reached(old))).map(|(now, _)| now)
    }

    /// Brings back what was in the slots.
    fn put_contents(&self) {
        let contents = self.contents.iter().cloned();
        self.reach.slots.iter().zip(contents).for_each(|(slot, content)| slot.put(content));
    }
}

impl Drop for Before<'_> {
    fn drop(&mut self) {
        let variables = std::mem::take(&mut self.variables);
        self.reach.variables.iter().zip(variables).for_each(|(now, old)| now.put(old));
        self.put_contents();
    }
}

fn serial(array: &Array) -> u64 {
    array.serial().0
}

impl Reach {
    fn of(context: &Context, function: &FnPtr, args: &[Dynamic]) -> Self {
        let mut reach = Self::default();
        let settings = Fact::Settings(context.session.flag_bits(), context.definitions.get());
        reach.facts.push(settings);
        // Which function it is, is known.
        reach.captured(function);
        args.iter().for_each(|arg| reach.value(arg));
        reach
    }

    /// Whether the same arrays can be reached, and nothing else differs.
    fn is_like(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Slot, &Slot)| a.is(b);
        self.facts == other.facts && self.slots.iter().zip(&other.slots).all(is_same)
    }

    fn function(&mut self, function: &FnPtr) {
        self.facts.push(Fact::Function(function.fn_name().into(), function.curry().len()));
        self.captured(function);
    }

    fn captured(&mut self, function: &FnPtr) {
        self.variables.extend(captured(function));
        function.curry().iter().for_each(|value| self.value(value));
    }

    fn value(&mut self, value: &Dynamic) {
        if value.is_locked() || self.facts.len() > MOST_FACTS {
            self.is_unknown = true;
        }
        if self.is_unknown {
            return;
        }
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
            // One that captures itself has no end.
            if self.jitted.iter().any(|known| Rc::ptr_eq(&known.0, &jitted.0)) {
                self.is_unknown = true;
                return;
            }
            self.jitted.push(jitted.clone());
            self.function(&jitted.0.function);
        } else if let Some(kernel) = value.read_lock::<KernelRef>() {
            self.facts.push(Fact::Kernel(kernel.clone()));
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
        if let Node::Nested(form, components) = &*array.node() {
            self.facts.push(Fact::Nested(*form));
            self.nested.push(array.clone());
            components.iter().for_each(|component| self.array(component));
            return;
        }
        let slot = Slot::Array(array.clone());
        if let Some(slot) = self.slots.iter().position(|other| other.is(&slot)) {
            self.facts.push(Fact::Same(slot));
            return;
        }
        self.facts.push(match &*array.node() {
            Node::Tensor(tensor) => {
                let form = format!("{} {}", tensor.type_name(), tensor.layout());
                Fact::Tensor(form, tensor.parts().iter().map(Array::size).collect())
            }
            Node::Leaf(array) => Fact::Lanes(array.dtype(), array.size()),
            Node::Nested(..) => unreachable!("internal error: components are slots"),
        });
        self.slots.push(slot);
    }

    fn rng(&mut self, rng: &RngRef) {
        let slot = Slot::Rng(rng.clone());
        if let Some(slot) = self.slots.iter().position(|other| other.is(&slot)) {
            self.facts.push(Fact::Same(slot));
            return;
        }
        let rng_of = rng.0.borrow();
        self.facts.push(Fact::Rng(rng_of.state.size(), rng_of.inc.size()));
        self.slots.push(slot);
    }

    fn arrays(&self) -> Vec<Array> {
        let mut arrays = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            match slot {
                Slot::Array(array) => array.add_arrays(&mut arrays),
                Slot::Rng(rng) => {
                    let rng = rng.0.borrow();
                    arrays.extend([rng.state.clone(), rng.inc.clone()]);
                }
            }
        }
        arrays
    }
}

impl Slot {
    /// Whether both are the same reference.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => a.is(b),
            (Self::Rng(a), Self::Rng(b)) => Rc::ptr_eq(&a.0, &b.0),
            (Self::Array(_), Self::Rng(_)) | (Self::Rng(_), Self::Array(_)) => false,
        }
    }

    fn value(&self) -> Dynamic {
        match self {
            Self::Array(array) => Dynamic::from(array.clone()),
            Self::Rng(rng) => Dynamic::from(rng.clone()),
        }
    }

    /// A slot of its own with other arrays in what is in it.
    fn with(&self, arrays: &mut impl Iterator<Item = Array>) -> Self {
        if let Self::Array(array) = self
            && let Node::Leaf(_) = &*array.node()
            && let Some(array) = arrays.next()
        {
            return Self::Array(ArrayRef::leaf(array));
        }
        let slot = self.copy();
        slot.put(slot.content().with(arrays));
        slot
    }

    /// A slot of its own with the same in it.
    fn copy(&self) -> Self {
        match self {
            Self::Array(array) => Self::Array(array.copy()),
            Self::Rng(rng) => Self::Rng(RngRef::new(rng.0.borrow().clone())),
        }
    }

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

    /// The same with other arrays in it.
    fn with(&self, arrays: &mut impl Iterator<Item = Array>) -> Self {
        let mut content = self.clone();
        content.each(&mut |array| {
            if let Some(other) = arrays.next() {
                *array = other;
            }
        });
        content
    }
}

impl Returned {
    /// What a function returned, whose arrays are added to the outputs; `None` of what may hold others, such as closures.
    fn of(
        value: &Dynamic,
        reach: &Reach,
        outputs: &mut Vec<Array>,
        made: &mut Vec<Slot>,
    ) -> Option<Self> {
        if value.is_locked() {
            return None;
        }
        let slot = if let Some(array) = value.read_lock::<ArrayRef>() {
            Some(Slot::Array(array.clone()))
        } else {
            value.read_lock::<RngRef>().map(|rng| Slot::Rng(rng.clone()))
        };
        if let Some(Slot::Array(array)) = &slot
            && let Some(known) = reach.nested.iter().position(|other| other.is(array))
        {
            return Some(Self::Nested(known));
        }
        if let Some(slot) = slot {
            if let Some(known) = reach.slots.iter().position(|other| other.is(&slot)) {
                return Some(Self::Slot(known));
            }
            if let Some(known) = made.iter().position(|other| other.is(&slot)) {
                return Some(Self::Again(known));
            }
            outputs.extend(slot.content().arrays());
            made.push(slot.clone());
            // A copy: its arrays are exchanged.
            return Some(Self::New(slot.copy()));
        }
        if let Some(list) = value.read_lock::<rhai::Array>() {
            let items = list.iter().map(|item| Self::of(item, reach, outputs, made));
            return items.collect::<Option<_>>().map(Self::List);
        }
        if let Some(map) = value.read_lock::<rhai::Map>() {
            let entry = |(key, item): (&Identifier, &Dynamic)| {
                Some((key.clone(), Self::of(item, reach, outputs, made)?))
            };
            return map.iter().map(entry).collect::<Option<_>>().map(Self::Map);
        }
        let is_plain = value.is_unit()
            || value.is_int()
            || value.is_float()
            || value.is_bool()
            || value.is_string();
        is_plain.then(|| Self::Same(value.clone()))
    }

    /// The value of a call, with these outputs in it.
    fn made(
        &self,
        reach: &Reach,
        outputs: &mut impl Iterator<Item = Array>,
        made: &mut Vec<Slot>,
    ) -> Dynamic {
        match self {
            Self::Same(value) => value.clone(),
            Self::Slot(slot) => reach.slots[*slot].value(),
            Self::Nested(number) => Dynamic::from(reach.nested[*number].clone()),
            Self::Again(number) => made[*number].value(),
            Self::New(slot) => {
                let slot = slot.with(outputs);
                made.push(slot.clone());
                slot.value()
            }
            Self::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                items.iter().for_each(|item| list.push(item.made(reach, outputs, made)));
                list.into()
            }
            Self::Map(entries) => {
                let mut map = rhai::Map::new();
                for (key, item) in entries {
                    map.insert(key.clone(), item.made(reach, outputs, made));
                }
                map.into()
            }
        }
    }

    /// Calls a function with all arrays of new values.
    fn each(&mut self, change: &mut impl FnMut(&mut Array)) {
        match self {
            Self::New(slot) => {
                let mut content = slot.content();
                content.each(change);
                slot.put(content);
            }
            Self::List(items) => items.iter_mut().for_each(|item| item.each(change)),
            Self::Map(entries) => entries.iter_mut().for_each(|(_, item)| item.each(change)),
            Self::Same(_) | Self::Slot(_) | Self::Nested(_) | Self::Again(_) => {}
        }
    }
}
