//! Functions whose derivative a script writes: `custom(#{eval, backward, forward})`, and those that are computed again:
//! `checkpoint(f)`.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use porcini_core::random::SplitMix64;
use porcini_core::value::Skeleton;
use porcini_core::{Array, Ask, Error, Result as CoreResult, Scalar, Told, Value};
use rhai::{Dynamic, EvalAltResult, FnPtr, Map, NativeCallContext};

use super::given::{of_array, of_function};
use super::registry::{MOST_ARGUMENTS, Registry};
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::custom::{Custom, CustomRef};
use crate::value::draws::Moved;
use crate::value::generator::RngRef;
use crate::value::standing::standing_for;
use crate::value::{ArrayRef, scalar, type_name};

/// The function that calls one, which is its first argument.
const CALL: &str = "call_custom";

/// An argument without its arrays.
#[derive(Clone)]
enum Given {
    Value(Skeleton),
    /// Those with marked arrays in them.
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    Rest(Rest),
}

/// An argument that does not move.
#[derive(Clone)]
enum Rest {
    Number(Scalar),
    /// One of the others that the function is kept with, by number.
    Other(usize),
}

/// What is kept with a call.
struct Called {
    function: CustomRef,
    args: Vec<Given>,
    drawn: Drawn,
    value: Skeleton,
}

/// What a function that is computed again has drawn from: the last of the others that it is kept with, whose states and
/// increments of before are the last of the arrays.
#[derive(Clone, Copy, Default)]
struct Drawn {
    seeds: Option<SplitMix64>,
    n_generators: usize,
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "custom",
        "(functions)",
        "A function with a derivative that you write, of arrays or numbers: eval: |x, ..| gives its value, an array; \
         backward: |v, x, ..| from v, as long as the value, the gradient by each argument times v, a list where there are \
         several; of a list or map one of its form, without the keys that have none; forward: |t, x, ..|, which may be left out, from a direction of the arguments, a list where there are \
         several, that of the value; numbers have the direction 0.\n\n\
         >> safe = custom(#{eval: |x| log(x), backward: |v, x| v / max(x, 0.1)}); grad(safe, FloatC([1, 0]))\n[1, 10]",
    );
    registry.any("custom", 1, |context, _, args| {
        let map = args[0].read_lock::<Map>().map(|map| map.clone());
        let map = map.ok_or_else(|| {
            let got = type_name(args[0]);
            let hint = "custom(#{eval: |x| .., backward: |v, x| ..})";
            fault_with_hint(format!("custom: got {got}, expected a map of functions"), hint)
        })?;
        if let Some(name) =
            map.keys().find(|name| !["eval", "backward", "forward"].contains(&name.as_str()))
        {
            let hint = "the functions are eval, backward and forward";
            return Err(fault_with_hint(format!("custom: got \"{name}\" in the map"), hint));
        }
        let of = |name: &str| map.get(name).map(|f| of_function("custom", f)).transpose();
        let (eval, backward, forward) = (of("eval")?, of("backward")?, of("forward")?);
        match (eval, &backward, &forward) {
            (Some(eval), Some(_), _) | (Some(eval), _, Some(_)) => {
                let (name, others) = (None, Vec::new());
                Ok(known(context, Custom { op: "custom", name, eval, backward, forward, others }))
            }
            _ => Err(fault("custom: the map needs eval, and backward or forward")),
        }
    });
    registry.doc(
        "checkpoint",
        "(f)",
        "The function f, of which nothing between arguments and value is kept for derivatives: it is computed again when \
         they are asked for, with the same numbers from generators.\n\n\
         >> step = checkpoint(|x| sin(x) * x); grad(step, FloatC([0, 1]))\n[0, 1.38177]",
    );
    registry.any("checkpoint", 1, |context, _, args| {
        let eval = of_function("checkpoint", args[0])?;
        let (name, backward, forward, others) = (None, None, None, Vec::new());
        Ok(known(context, Custom { op: "checkpoint", name, eval, backward, forward, others }))
    });
    registry.callable(CALL, 0..=MOST_ARGUMENTS, |context, call, custom: &CustomRef, args| {
        called(context, call, custom.clone(), args)
    });
}

/// The function that stands for one.
fn known(context: &Context, custom: Custom) -> FnPtr {
    let custom = context.customs.borrow_mut().add(custom);
    standing_for(CALL, Dynamic::from(custom))
}

fn called(
    context: &Context,
    call: &NativeCallContext<'_>,
    function: CustomRef,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    let custom = context.customs.borrow().get(&function);
    let mut arguments = Arguments::new(custom.op, args.iter().map(|arg| &**arg))?;
    let values = arguments.untracked.clone();
    let eval = || custom.eval.call_within_context::<Dynamic>(call, values);
    if custom.op != "checkpoint" {
        return arguments.result(context, function, &eval()?);
    }
    let seeds = context.seeds.get();
    let (value, moved) = context.draws.noting(eval);
    arguments.drew(seeds, moved);
    arguments.result(context, function, &value?)
}

/// Whether there are tracked arrays in a list or map.
fn has_marks(value: &Dynamic) -> bool {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().any(has_marks);
    }
    if let Some(map) = value.read_lock::<Map>() {
        return map.values().any(has_marks);
    }
    value.read_lock::<ArrayRef>().is_some_and(|value| value.to_value().is_tracked())
}

/// The arguments of a call whose derivative is told.
pub(super) struct Arguments {
    given: Vec<Given>,
    others: Vec<Dynamic>,
    arrays: Vec<Array>,
    drawn: Drawn,
    /// The same without what they are made of.
    pub(super) untracked: Vec<Dynamic>,
}

impl Arguments {
    pub(super) fn new<'d>(
        op: &'static str,
        args: impl Iterator<Item = &'d Dynamic>,
    ) -> Result<Self> {
        let (given, others, arrays, drawn, untracked) = Default::default();
        let mut arguments = Self { given, others, arrays, drawn, untracked };
        for arg in args {
            let (given, untracked) = arguments.take(op, arg)?;
            arguments.given.push(given);
            arguments.untracked.push(untracked);
        }
        Ok(arguments)
    }

    /// Takes the arrays out of an argument: what is left, and the same without what they are made of.
    fn take(&mut self, op: &'static str, arg: &Dynamic) -> Result<(Given, Dynamic)> {
        if let Some(number) = scalar(arg) {
            return Ok((Given::Rest(Rest::Number(number)), arg.clone()));
        }
        if arg.is::<ArrayRef>() {
            let value = of_array(op, arg)?.to_value();
            self.arrays.extend(value.arrays().or_fault()?);
            let untracked = value.each_array(&mut |array| array.detach()).or_fault()?;
            let untracked = Dynamic::from(ArrayRef::from(untracked));
            return Ok((Given::Value(Skeleton::of(&value)), untracked));
        }
        let is_marked = has_marks(arg);
        if let Some(list) = arg.read_lock::<rhai::Array>().filter(|_| is_marked) {
            let items = list.iter().map(|item| self.take(op, item)).collect::<Result<Vec<_>>>()?;
            let (given, untracked): (_, rhai::Array) = items.into_iter().unzip();
            return Ok((Given::List(given), untracked.into()));
        }
        if let Some(map) = arg.read_lock::<Map>().filter(|_| is_marked) {
            let (mut given, mut untracked) = (Vec::new(), Map::new());
            for (key, item) in map.iter() {
                let (part, without) = self.take(op, item)?;
                given.push((key.to_string(), part));
                untracked.insert(key.clone(), without);
            }
            return Ok((Given::Map(given), untracked.into()));
        }
        self.others.push(arg.clone());
        Ok((Given::Rest(Rest::Other(self.others.len() - 1)), arg.clone()))
    }

    /// Keeps what the function drew from.
    fn drew(&mut self, seeds: SplitMix64, moved: Vec<Moved>) {
        self.drawn = Drawn { seeds: Some(seeds), n_generators: moved.len() };
        for (rng, before) in moved {
            self.others.push(Dynamic::from(rng));
            self.arrays.extend([before.state, before.inc]);
        }
    }

    pub(super) fn are_tracked(&self) -> bool {
        self.arrays.iter().any(Array::is_tracked)
    }

    /// What the function gave, which knows its derivative.
    pub(super) fn result(
        &self,
        context: &Context,
        function: CustomRef,
        value: &Dynamic,
    ) -> Result<Dynamic> {
        let custom = context.customs.borrow().get(&function);
        let op = custom.op;
        let value = of_array(op, value)?.to_value();
        if value.is_tracked() && context.session.follows() {
            let message =
                format!("{op}: the function uses a marked array that is no argument of it");
            return Err(fault_with_hint(message, "pass it: |x, w| x * w; or detach(w)"));
        }
        let function = if self.others.is_empty() {
            function
        } else {
            let custom = Custom { others: self.others.clone(), ..(*custom).clone() };
            context.customs.borrow_mut().add(custom)
        };
        let value = value.each_array(&mut |array| array.detach()).or_fault()?;
        let (args, drawn) = (self.given.clone(), self.drawn);
        let called = Called { function, args, drawn, value: Skeleton::of(&value) };
        let call: Arc<dyn Any + Send + Sync> = Arc::new(called);
        let arrays: Vec<&Array> = self.arrays.iter().collect();
        let tracked = value.with_told_derivative(op, &arrays, &call);
        tracked.map(|value| Dynamic::from(ArrayRef::from(value))).or_fault()
    }
}

/// Asks core for derivatives; those of functions of scripts are asked of them, whose errors are told.
pub(super) fn asking<R>(
    context: &Context,
    call: &NativeCallContext<'_>,
    work: impl FnOnce(&mut dyn Ask) -> CoreResult<R>,
) -> Result<R> {
    let mut asked = Closures { context, call, thrown: None };
    let result = work(&mut asked);
    match asked.thrown {
        Some(thrown) => Err(thrown),
        None => result.or_fault(),
    }
}

/// Derivatives that closures of a script are.
struct Closures<'c, 'n> {
    context: &'c Context,
    call: &'c NativeCallContext<'n>,
    thrown: Option<Box<EvalAltResult>>,
}

impl Closures<'_, '_> {
    /// What work of a script gives, or what core is told instead.
    fn keep<R>(&mut self, result: Result<R>) -> CoreResult<R> {
        result.map_err(|error| {
            let what = error.to_string();
            self.thrown.get_or_insert(error);
            Error::Argument { op: "custom", what }
        })
    }

    fn custom(&self, called: &Called) -> Rc<Custom> {
        self.context.customs.borrow().get(&called.function)
    }

    fn pulled(&self, told: &Told, args: &[Array], cotangent: &Array) -> Result<Vec<Option<Array>>> {
        let called = of_call(told);
        let custom = self.custom(called);
        let Some(backward) = &custom.backward else {
            if custom.op == "checkpoint" {
                return self.pulled_again(&custom, told, args, cotangent);
            }
            let whose = custom.subject();
            return Err(fault(format!("{whose} has no backward, which grad and backward need")));
        };
        let v = called.value.with_one(told.place, cotangent).or_fault()?;
        let mut values = called.arguments(&custom, args)?;
        values.insert(0, Dynamic::from(ArrayRef::from(v)));
        let found = backward.call_within_context::<Dynamic>(self.call, values)?;
        let parts = called.parts(&custom.whose("backward"), found)?;
        match &custom.name {
            Some(name) => check_lanes(name, args, &parts).map(|()| parts),
            None => Ok(parts),
        }
    }

    fn pushed(&self, told: &Told, args: &[Array], tangents: &[Option<Array>]) -> Result<Array> {
        let called = of_call(told);
        let custom = self.custom(called);
        let moves = args.iter().zip(tangents).map(|(arg, tangent)| match tangent {
            Some(tangent) => Ok(tangent.clone()),
            None => arg.session().zeros(arg.dtype(), arg.size()).or_fault(),
        });
        let moves = moves.collect::<Result<Vec<_>>>()?;
        let value = match &custom.forward {
            Some(forward) => {
                let mut values = called.arguments(&custom, args)?;
                let mut moves = called.moves(&moves)?;
                values
                    .insert(0, if moves.len() == 1 { moves.swap_remove(0) } else { moves.into() });
                forward.call_within_context::<Dynamic>(self.call, values)?
            }
            None if custom.op == "checkpoint" => {
                self.pushed_again(&custom, called, args, &moves)?
            }
            None => {
                let whose = custom.subject();
                return Err(fault(format!("{whose} has no forward, which jvp needs")));
            }
        };
        let arrays = value.read_lock::<ArrayRef>().map(|value| value.to_value().arrays());
        let arrays = arrays.transpose().or_fault()?.unwrap_or_default();
        let array = arrays.into_iter().nth(told.place);
        array
            .ok_or_else(|| fault(format!("{} gave {}", custom.whose("forward"), type_name(&value))))
    }

    /// The arguments behind marks of their own, and the function of them.
    fn again(
        &self,
        custom: &Custom,
        called: &Called,
        args: &[Array],
    ) -> Result<(Vec<Array>, Vec<Array>)> {
        self.context.session.with_grad(|| {
            let marks = args.iter().map(|arg| match arg.is_tracked() {
                true => Value::from(arg.clone()).marked(custom.op)?.value.arrays(),
                false => Ok(vec![arg.clone()]),
            });
            let marks = marks.collect::<CoreResult<Vec<_>>>().or_fault()?.concat();
            let value = self.eval_again(custom, called, &marks)?;
            let outputs = of_array(custom.op, &value)?.to_value().arrays().or_fault()?;
            Ok((marks, outputs))
        })
    }

    /// What the function gives, which draws from where it began.
    fn eval_again(&self, custom: &Custom, called: &Called, marks: &[Array]) -> Result<Dynamic> {
        let values = called.arguments(custom, marks)?;
        let n = called.drawn.n_generators;
        let generators = custom.others[custom.others.len() - n..].iter();
        let generators: Vec<RngRef> =
            generators.filter_map(|rng| rng.read_lock::<RngRef>().map(|rng| rng.clone())).collect();
        let Context { seeds, draws, .. } = self.context;
        let now = seeds.get();
        seeds.set(called.drawn.seeds.unwrap_or(now));
        let value = draws.again(&generators, &marks[marks.len() - 2 * n..], || {
            custom.eval.call_within_context(self.call, values)
        });
        seeds.set(now);
        value
    }

    fn pulled_again(
        &self,
        custom: &Custom,
        told: &Told,
        args: &[Array],
        cotangent: &Array,
    ) -> Result<Vec<Option<Array>>> {
        let (marks, outputs) = self.again(custom, of_call(told), args)?;
        let Some(output) = outputs.get(told.place) else { return Err(other_value(custom.op)) };
        asking(self.context, self.call, |asked| {
            self.context.session.grad_by_tracked((output, cotangent), &marks, asked)
        })
    }

    fn pushed_again(
        &self,
        custom: &Custom,
        called: &Called,
        args: &[Array],
        moves: &[Array],
    ) -> Result<Dynamic> {
        let (marks, outputs) = self.again(custom, called, args)?;
        let pairs: Vec<(&Array, Option<&Array>)> =
            marks.iter().zip(moves).map(|(mark, t)| (mark, Some(t))).collect();
        let outputs: Vec<&Array> = outputs.iter().collect();
        let found = asking(self.context, self.call, |asked| {
            self.context.session.jvp_asking(&outputs, &pairs, asked)
        })?;
        let value = called.value.with(&mut found.into_iter()).or_fault()?;
        Ok(Dynamic::from(ArrayRef::from(value)))
    }
}

impl Ask for Closures<'_, '_> {
    fn pull(&mut self, told: &Told, args: &[Array], v: &Array) -> CoreResult<Vec<Option<Array>>> {
        let found = self.pulled(told, args, v);
        self.keep(found)
    }

    fn push(&mut self, told: &Told, args: &[Array], t: &[Option<Array>]) -> CoreResult<Array> {
        let found = self.pushed(told, args, t);
        self.keep(found)
    }
}

/// A function that is computed again gave fewer arrays than before.
#[cold]
fn other_value(op: &str) -> Box<EvalAltResult> {
    let message = format!("{op}: the function gave another value when it was computed again");
    fault_with_hint(message, "it must give the same for the same arguments")
}

/// Core knows no names of operators.
fn check_lanes(name: &str, args: &[Array], parts: &[Option<Array>]) -> Result<()> {
    for (arg, part) in args.iter().zip(parts) {
        let (n, expected) = (part.as_ref().map_or(1, Array::size), arg.size());
        if n != 1 && expected != 1 && n != expected {
            return Err(fault(format!(
                "backward: that of {name} gave a gradient of {n} lanes for an argument of {expected}; it has as many, or one"
            )));
        }
    }
    Ok(())
}

fn of_call(told: &Told) -> &Called {
    told.call.downcast_ref().expect("internal error: a call of another front end")
}

impl Called {
    /// The arguments with these arrays.
    fn arguments(&self, custom: &Custom, arrays: &[Array]) -> Result<Vec<Dynamic>> {
        self.with(arrays, &|rest| match rest {
            Rest::Number(number) => crate::value::dynamic(*number),
            Rest::Other(place) => custom.others[*place].clone(),
        })
    }

    /// The directions of the arguments, of which arrays alone move.
    fn moves(&self, arrays: &[Array]) -> Result<Vec<Dynamic>> {
        self.with(arrays, &|rest| match rest {
            Rest::Number(Scalar::Float(_)) => Dynamic::from(0.0),
            Rest::Number(_) => Dynamic::from(0_i64),
            Rest::Other(_) => Dynamic::UNIT,
        })
    }

    fn with(&self, arrays: &[Array], rest: &dyn Fn(&Rest) -> Dynamic) -> Result<Vec<Dynamic>> {
        let arrays = &mut arrays.iter().cloned();
        self.args.iter().map(|given| given.with(arrays, rest)).collect()
    }

    /// The arrays of what a closure says of each argument; of a list that is the only one, it may give just the list.
    fn parts(&self, whose: &str, found: Dynamic) -> Result<Vec<Option<Array>>> {
        if let [Given::List(_)] = &self.args[..]
            && let Ok(parts) = of_each(whose, &self.args, std::slice::from_ref(&found))
        {
            return Ok(parts);
        }
        let list = found.read_lock::<rhai::Array>().map(|list| list.clone());
        let each = list.unwrap_or_else(|| vec![found]);
        if each.len() == self.args.len() {
            return of_each(whose, &self.args, &each);
        }
        let (got, expected) =
            (several(each.len(), "gradient"), several(self.args.len(), "argument"));
        let hint =
            "one for each, () where there is none: [v * y, ()]; of a list as many as it has items";
        Err(fault_with_hint(format!("{whose} gave {got} for {expected}"), hint))
    }
}

/// A gradient by what a map has not would be lost.
fn check_keys(whose: &str, items: &[(String, Given)], found: &Map) -> Result<()> {
    let is_known = |key: &str| items.iter().any(|(known, _)| known == key);
    let Some(other) = found.keys().find(|key| !is_known(key)) else { return Ok(()) };
    let known: Vec<&str> = items.iter().map(|(key, _)| key.as_str()).collect();
    let hint = format!("the argument has {}", known.join(", "));
    Err(fault_with_hint(format!("{whose} gave a gradient by \"{other}\""), hint))
}

fn several(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The arrays of what a closure says of each argument.
fn of_each(whose: &str, args: &[Given], found: &[Dynamic]) -> Result<Vec<Option<Array>>> {
    let mut parts = Vec::new();
    args.iter().zip(found).try_for_each(|(given, found)| given.parts(whose, found, &mut parts))?;
    Ok(parts)
}

impl Given {
    /// The argument with these arrays, and what `rest` says of the rest.
    fn with(
        &self,
        arrays: &mut dyn Iterator<Item = Array>,
        rest: &dyn Fn(&Rest) -> Dynamic,
    ) -> Result<Dynamic> {
        Ok(match self {
            Self::Value(form) => Dynamic::from(ArrayRef::from(form.with(&mut *arrays).or_fault()?)),
            Self::List(items) => {
                let items = items.iter().map(|item| item.with(arrays, rest));
                items.collect::<Result<rhai::Array>>()?.into()
            }
            Self::Map(items) => {
                let items = items
                    .iter()
                    .map(|(key, item)| Ok((key.as_str().into(), item.with(arrays, rest)?)));
                items.collect::<Result<Map>>()?.into()
            }
            Self::Rest(value) => rest(value),
        })
    }

    /// Adds the arrays of what a closure says of it, a value of its kind; `()` is none, as is a key that is not there.
    fn parts(&self, whose: &str, found: &Dynamic, to: &mut Vec<Option<Array>>) -> Result<()> {
        if found.is_unit() {
            to.extend((0..self.n_arrays()).map(|_| None));
            return Ok(());
        }
        let got = || fault(format!("{whose} gave {} for an argument", type_name(found)));
        match self {
            Self::Value(form) => {
                let value = found.read_lock::<ArrayRef>().ok_or_else(got)?.to_value();
                let arrays = form.summed(value).and_then(|value| value.arrays()).or_fault()?;
                if arrays.len() != form.n_arrays() {
                    return Err(got());
                }
                to.extend(arrays.into_iter().map(Some));
                Ok(())
            }
            Self::List(items) => {
                let list = found.read_lock::<rhai::Array>();
                let list = list.filter(|list| list.len() == items.len()).ok_or_else(got)?;
                items.iter().zip(&*list).try_for_each(|(item, found)| item.parts(whose, found, to))
            }
            Self::Map(items) => {
                let map = found.read_lock::<Map>().ok_or_else(got)?;
                check_keys(whose, items, &map)?;
                items.iter().try_for_each(|(key, item)| {
                    item.parts(whose, map.get(key.as_str()).unwrap_or(&Dynamic::UNIT), to)
                })
            }
            Self::Rest(_) => Ok(()),
        }
    }

    fn n_arrays(&self) -> usize {
        match self {
            Self::Value(form) => form.n_arrays(),
            Self::List(items) => items.iter().map(Self::n_arrays).sum(),
            Self::Map(items) => items.iter().map(|(_, item)| item.n_arrays()).sum(),
            Self::Rest(_) => 0,
        }
    }
}
