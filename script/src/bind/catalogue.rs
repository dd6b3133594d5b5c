//! The functions of core's catalogue: arguments are converted by the kinds of the parameters, answers into script values.

use std::any::TypeId;
use std::slice;

use porcini_core::catalogue::{Answer, Kind, Row, find};
use porcini_core::value::place;
use porcini_core::{Array, DType, Result as CoreResult, Scalar, Session};
use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use smallvec::SmallVec;

use super::list_tensors::alone;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Fault, IntoFault, Result, fault, fault_with_hint};
use crate::value::range::All;
use crate::value::to_core::lend;
use crate::value::{Arg, ArrayRef, Form, dynamic, got, scalar, type_name};

/// What is told of a list that may be one of pairs.
const WIDTHS: &str = "widths";
/// What is told of a list that may be one of two lists.
const AXES_OF_BOTH: &str = "axes of both";

/// Registers the functions of a table.
pub(super) fn register(registry: &mut Registry<'_>, rows: &'static [Row]) {
    for row in rows {
        registry.doc_form(row.name, &row.signature(), &row.doc());
        let takes_array = row.parameters[0].1.is_value();
        let first = if takes_array { TypeId::of::<ArrayRef>() } else { TypeId::of::<Dynamic>() };
        for arity in row.n_required..=row.parameters.len() {
            registry
                .typed(row.name, first, arity, |context, call, args| run(context, call, row, args));
        }
        if row.parameters[0].1 == Kind::Mask {
            let truth = TypeId::of::<bool>();
            registry.typed(row.name, truth, 1, |context, call, args| run(context, call, row, args));
        }
    }
}

pub(super) fn run(
    context: &Context,
    call: &NativeCallContext<'_>,
    row: &Row,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    context.at(call);
    let others = match counted_lanes(row, args)? {
        Some(lanes) => vec![(1, lanes)],
        None if args.iter().any(|arg| arg.is_array()) => alone(context, row, args)?,
        None => Vec::new(),
    };
    let args = with_arguments(args, others, |args| arguments(row, args))?;
    answer(context, row, &args)
}

/// What a function of the catalogue gives for arguments.
fn answer(context: &Context, row: &Row, args: &[Arg]) -> Result<Dynamic> {
    let answer = lend(args, |args| row.call(&context.session, args)).or_fault()?;
    let first = match args {
        [Arg::Value(first), ..] => Some(first),
        _ => None,
    };
    Ok(answered(answer, first))
}

/// What the function of a name gives for arguments that it takes.
pub(super) fn by_name(context: &Context, name: &str, args: &[Arg]) -> Result<Dynamic> {
    answer(context, find(name).expect("internal error: no such function"), args)
}

/// Does something with arguments of which some, by their places, are others.
pub(super) fn with_arguments<R>(
    args: &[&mut Dynamic],
    others: Vec<(usize, Dynamic)>,
    work: impl FnOnce(&[&mut Dynamic]) -> R,
) -> R {
    if others.is_empty() {
        return work(args);
    }
    let mut all: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
    others.into_iter().for_each(|(place, other)| all[place] = other);
    work(&all.iter_mut().collect::<Vec<_>>())
}

/// The index that a script integer, or a list of them, is in `gather(a, k)`: negative ones count from the end.
fn counted_lanes(row: &Row, args: &[&mut Dynamic]) -> Result<Option<Dynamic>> {
    let (Some(index), "gather") = (args.get(1), row.name) else { return Ok(None) };
    let list = index.read_lock::<rhai::Array>();
    let items = list.as_ref().map_or(slice::from_ref(&**index), |list| list.as_slice());
    let integers: Option<Vec<i64>> = items.iter().map(|item| item.as_int().ok()).collect();
    let Some(integers) = integers.filter(|integers| !integers.is_empty()) else { return Ok(None) };
    let source = args[0].read_lock::<ArrayRef>().map(|source| source.leaves());
    let longest = source.and_then(|leaves| leaves.into_iter().max_by_key(Array::size));
    let Some(longest) = longest else { return Ok(None) };
    index_of(longest.session(), longest.size(), &integers).map(Dynamic::from).map(Some)
}

/// The lanes of so many that integers are, negative ones counted from the end.
pub(super) fn index_of(session: &Session, size: u64, integers: &[i64]) -> Result<ArrayRef> {
    // One lane is read by every index.
    let lane = |&i: &i64| if size == 1 { Ok(0) } else { place(i, size) };
    let lanes: Vec<u64> = integers.iter().map(lane).collect::<CoreResult<_>>().or_fault()?;
    let narrow: std::result::Result<Vec<u32>, _> =
        lanes.iter().map(|&lane| u32::try_from(lane)).collect();
    let index = match (&lanes[..], &narrow) {
        (&[lane], Ok(_)) => session.full(DType::U32, lane, 1),
        (&[lane], Err(_)) => session.full(DType::U64, lane, 1),
        (_, Ok(narrow)) => session.array(narrow),
        (lanes, Err(_)) => session.array(lanes),
    };
    let index = index.or_fault()?;
    Ok(ArrayRef::leaf(index))
}

pub(super) fn answered(answer: Answer, first: Option<&ArrayRef>) -> Dynamic {
    if let (Answer::Written(value, _), Some(target)) = (&answer, first) {
        target.write(value);
    }
    match answer {
        Answer::Value(value) => Dynamic::from(ArrayRef::from(value)),
        Answer::Written(_, Some(rest)) => answered(*rest, first),
        Answer::Written(_, None) | Answer::Nothing => Dynamic::UNIT,
        Answer::Number(number) => dynamic(number),
        Answer::List(answers) => {
            let answers = answers.into_iter().map(|answer| answered(answer, first));
            answers.collect::<rhai::Array>().into()
        }
        Answer::Parts(parts) => {
            let parts = parts.iter().filter_map(|places| Some(first?.part(places)));
            let mut parts: Vec<ArrayRef> = parts.collect();
            Dynamic::from(if parts.len() == 1 { parts.remove(0) } else { ArrayRef::vector(parts) })
        }
    }
}

pub(super) fn arguments(row: &Row, values: &[&mut Dynamic]) -> Result<SmallVec<[Arg; 4]>> {
    // What is in the place of a word that ends the list tells most of a wrong order.
    if let Some(&(name, Kind::Word(words))) = row.parameters.last()
        && let Some(value) = values.get(row.parameters.len() - 1)
    {
        word(row, name, words, value)?;
    }
    let mut values = values.iter();
    let mut args = SmallVec::with_capacity(row.parameters.len());
    for (i, &(name, kind)) in row.parameters.iter().enumerate() {
        let left = values.as_slice();
        let Some(value) = left.first() else { break };
        let is_word = |(_, kind): &(_, Kind)| matches!(kind, Kind::Word(_));
        let may_be_word = kind == Kind::Active
            || matches!(kind, Kind::Scalar(_)) && row.parameters[i + 1..].iter().any(is_word);
        if may_be_word && value.is_string() && left.len() < row.parameters.len() - i {
            args.push(Arg::Number(Scalar::Bool(true)));
            continue;
        }
        // All of them, as many as there are: what the function does without it.
        let is_all = value.is_unit() || value.is::<All>();
        if kind == Kind::List {
            args.extend(list(row, value)?);
        } else if is_all && i >= row.n_required && !matches!(kind, Kind::Bool(_) | Kind::Scalar(_))
        {
            args.push(Arg::Number(Scalar::Bool(true)));
        } else {
            args.push(argument(row, name, kind, value).map_err(|error| told(row, &error))?);
        }
        values.next();
    }
    Ok(args)
}

/// An argument that a function does not take, with all that it takes.
fn told(row: &Row, error: &EvalAltResult) -> Box<EvalAltResult> {
    let mut fault = Fault::of(error);
    let takes = || format!("it takes {}{}", row.name, row.signature());
    fault.hint = fault.hint.or_else(|| (row.parameters.len() > 1).then(takes));
    fault.raised()
}

fn argument(row: &Row, name: &str, kind: Kind, value: &Dynamic) -> Result<Arg> {
    let op = row.name;
    let got = || type_name(value);
    Ok(Arg::Number(match kind {
        Kind::Value
        | Kind::Each
        | Kind::Mask
        | Kind::Target
        | Kind::Marked
        | Kind::Tensor
        | Kind::Operand
        | Kind::List => return Arg::new(op, value),
        Kind::Index if value.is_int() => return Arg::new(op, value),
        Kind::Active if value.is_bool() => return Arg::new(op, value),
        Kind::Axes => return integers(op, "an axis or a list of axes", value),
        Kind::Integers(what) => return integers(op, what, value),
        Kind::Array | Kind::Index | Kind::Active => {
            let array = value.read_lock::<ArrayRef>().ok_or_else(|| no_array(op, name, value))?;
            // A tensor of one axis is an array.
            let lanes = if array.form() == Form::Tensor { array.array(op).ok() } else { None };
            return Ok(Arg::Value(lanes.map_or_else(|| array.clone(), ArrayRef::leaf)));
        }
        Kind::Integer => match value.as_int() {
            Ok(number) => number.into(),
            Err(_) => {
                let what = format!("{op}: got {} as {name}, expected an integer", got());
                return Err(fault(what));
            }
        },
        Kind::Count(what) => count_argument(op, what, value)?.into(),
        Kind::Numbers(_) if value.read_lock::<ArrayRef>().is_some() => return Arg::new(op, value),
        Kind::Numbers(place) if value.is_array() => {
            let list = value.read_lock::<rhai::Array>();
            let numbers = list.iter().flat_map(|list| list.iter());
            let numbers = numbers.map(|item| number(op, place, item));
            return numbers.collect::<Result<_>>().map(Arg::Numbers);
        }
        Kind::Number(place) | Kind::Numbers(place) => number(op, place, value)?,
        Kind::Scalar(place) => scalar(value)
            .ok_or_else(|| fault(format!("{op}: got {} {place}, expected a number", got())))?,
        Kind::Bool(place) => match value.as_bool() {
            Ok(truth) => truth.into(),
            Err(_) => return Err(fault(format!("{op}: got {} {place}, expected a bool", got()))),
        },
        Kind::Word(words) => word(row, name, words, value)?.into(),
    }))
}

fn number(op: &str, place: &str, value: &Dynamic) -> Result<Scalar> {
    match scalar(value) {
        Some(number @ (Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_))) => Ok(number),
        _ => Err(fault(format!("{op}: got {} {place}, expected a number", type_name(value)))),
    }
}

/// An integer, or a list of integers.
fn integers(op: &str, what: &str, value: &Dynamic) -> Result<Arg> {
    let one = |value: &Dynamic| {
        let integer = value.as_int().map(Scalar::Int);
        integer.map_err(|_| {
            let message = format!("{op}: got {} as {what}, expected integers", type_name(value));
            if value.is::<ArrayRef>() {
                fault_with_hint(message, "the number in an array of one lane is x[0]: hsum(x)[0]")
            } else {
                fault(message)
            }
        })
    };
    let Some(list) = value.read_lock::<rhai::Array>() else {
        return one(value).map(Arg::Number);
    };
    let pairs = list.iter().map(|item| item.read_lock::<rhai::Array>());
    match pairs.collect::<Option<Vec<_>>>() {
        // Widths in pairs, one an axis, are as good as all in a row; so are as many axes of two.
        Some(pairs)
            if what == WIDTHS && !pairs.is_empty()
                || what == AXES_OF_BOTH
                    && matches!(&pairs[..], [own, others] if own.len() == others.len()) =>
        {
            let all = pairs.iter().flat_map(|pair| pair.iter());
            all.map(one).collect::<Result<_>>().map(Arg::Numbers)
        }
        Some(pairs) if what == AXES_OF_BOTH && !pairs.is_empty() => {
            Err(fault(format!("{op}: got lists as {what}, expected two of equal length")))
        }
        _ => list.iter().map(one).collect::<Result<_>>().map(Arg::Numbers),
    }
}

/// The items of a list of arrays.
fn list(row: &Row, value: &Dynamic) -> Result<Vec<Arg>> {
    let op = row.name;
    let list = value.read_lock::<rhai::Array>().ok_or_else(|| {
        let got = type_name(value);
        let message = format!("{op}: got {got}, expected a list of arrays");
        let required = row.parameters[..row.n_required].iter();
        let written =
            required.map(|&(name, kind)| if kind == Kind::List { "[a, b]" } else { name });
        let written = written.collect::<Vec<_>>().join(", ");
        fault_with_hint(message, format!("write {op}({written})"))
    })?;
    let item = |item: &Dynamic| {
        let array = item.read_lock::<ArrayRef>().map(|array| Arg::Value(array.clone()));
        array.ok_or_else(|| {
            let message = format!("{op}: got {} in the list, expected arrays", type_name(item));
            match item {
                _ if item.is_array() => {
                    fault_with_hint(message, "make an array of a list first: FloatC([1, 2, 3])")
                }
                _ => fault(message),
            }
        })
    };
    list.iter().map(item).collect()
}

/// The place of a text among words.
fn word(row: &Row, parameter: &str, words: &[&str], value: &Dynamic) -> Result<u64> {
    let text = value.read_lock::<rhai::ImmutableString>();
    let is_meant = |word: &&str| text.as_deref().is_some_and(|text| text == word);
    if let Some(place) = words.iter().position(is_meant) {
        return Ok(place as u64);
    }
    let got = text.as_deref().map_or_else(|| type_name(value), |text| format!("\"{text}\""));
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let expected = match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        words => words.concat(),
    };
    let names = row.parameters.iter().map(|&(name, kind)| match kind {
        Kind::Word(_) => quoted.get(1).map_or(name, String::as_str),
        _ => name,
    });
    let hint = format!("{}({})", row.name, names.collect::<Vec<_>>().join(", "));
    let message = format!("{}: got {got} as {parameter}, expected {expected}", row.name);
    Err(fault_with_hint(message, hint))
}

fn no_array(op: &str, parameter: &str, value: &Dynamic) -> Box<rhai::EvalAltResult> {
    let message = format!("{op}: got {} as {parameter}, expected an array", type_name(value));
    let constructor = match scalar(value) {
        Some(Scalar::Int(..0)) if parameter == "index" => {
            return fault_with_hint(message, "lanes count from 0; a[-1] is the last one");
        }
        Some(Scalar::Bool(_)) => "MaskC",
        Some(Scalar::Float(_)) => "FloatC",
        Some(Scalar::Int(_) | Scalar::UInt(_)) => "UInt32C",
        None => return fault(message),
    };
    fault_with_hint(
        message,
        format!("a single {parameter} is an array too: {constructor}({})", got(value)),
    )
}

/// A script integer from 0 up.
pub(super) fn count_argument(op: &str, what: &str, value: &Dynamic) -> Result<u64> {
    let number = value.as_int().map_err(|_| {
        let got = type_name(value);
        fault(format!("{op}: got {got}, expected {what}, a script integer from 0 up"))
    })?;
    u64::try_from(number)
        .map_err(|_| fault(format!("{op}: got {number}, expected {what} from 0 up")))
}
