//! `PCG32C`: random number generators, one a lane.

use std::any::TypeId;

use porcini_core::ir::op::Op;
use porcini_core::random::{Draw, PCG32_DEFAULT_STATE, PCG32_DEFAULT_STREAM, Pcg32, Seed};
use porcini_core::{Array, Operand, Scalar};
use rhai::{Dynamic, NativeCallContext};

use super::given::of_active;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, under_name};
use crate::value::generator::RngRef;
use crate::value::{Arg, ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<RngRef>("PCG32C");
    registry.doc(
        "PCG32C",
        "(state, stream)",
        "Random number generators PCG-XSH-RR 64/32, one a lane, with the states and streams that are given: an array \
         has one a lane, a script integer one for all. Both are optional. States that count up, as \
         PCG32C(UInt64C::arange(n)) has them, give lanes that have to do with each other, so that errors of means come \
         out wrong; PCG32C::seeded(n, seed) gives lanes that have nothing to do with each other. rng.state and rng.inc, \
         which is odd, can be read and set, which is how a generator is kept: s = rng.state; i = rng.inc, and later rng.state = s; rng.inc \
         = i (PCG32C(s, i) is another one, seeded by them); rng += n moves by n draws, a - b counts the draws between two, a == b compares lane by lane.\n\n\
         >> PCG32C(UInt64C::arange(3)).next_uint32()\n[174444157, 4033076299, 3149747405]",
    );
    for arity in 0..=2 {
        registry.any("PCG32C", arity, move |context, call, args| {
            context.at(call);
            seeded(context, args).map(RngRef::new)
        });
    }
    registry.doc(
        "seed",
        "(rng, state, stream)",
        "Seeds a generator anew, as PCG32C(state, stream) does; every name of it sees that.\n\n\
         >> rng = PCG32C(); rng.seed(42, 54); rng.next_uint32()\n[2707161783]",
    );
    for arity in 1..=3 {
        on_rng(registry, "seed", arity, |_, rng, rest| {
            let (state, stream) = seeds(rest)?;
            rng.0.borrow_mut().reseed(state, stream).or_fault()
        });
    }
    draws(registry);
    below(registry);
    jumps(registry);
    shuffle(registry);
    fields(registry);
}

fn seeded(context: &Context, args: &[&mut Dynamic]) -> Result<Pcg32> {
    let (state, stream) = seeds(args)?;
    Pcg32::new(&context.session, state, stream).or_fault()
}

fn seeds(args: &[&mut Dynamic]) -> Result<(Seed, Seed)> {
    let state = seed(args.first().map(|arg| &**arg), PCG32_DEFAULT_STATE)?;
    Ok((state, seed(args.get(1).map(|arg| &**arg), PCG32_DEFAULT_STREAM)?))
}

/// Registers a function whose first argument is a generator.
fn on_rng<T: Clone + 'static>(
    registry: &mut Registry<'_>,
    name: &str,
    arity: usize,
    function: impl Fn(&Context, &RngRef, &[&mut Dynamic]) -> Result<T> + 'static,
) {
    let (context, owned) = (registry.context.clone(), name.to_string());
    let mut types = vec![TypeId::of::<Dynamic>(); arity];
    types[0] = TypeId::of::<RngRef>();
    registry.engine.register_raw_fn(name, types, move |call: NativeCallContext<'_>, args| {
        context.at(&call);
        let rng = args[0].read_lock::<RngRef>().map(|rng| rng.clone());
        let rng = rng.ok_or_else(|| fault("expected a generator"))?;
        context.draws.note_generator(&rng);
        function(&context, &rng, &args[1..]).map_err(|error| under_name(error, &owned))
    });
}

fn draws(registry: &mut Registry<'_>) {
    let methods = [
        (
            "next_uint32",
            Draw::UInt32,
            "Uniform 32-bit integers; lanes where active (optional) is false get 0 and do not move on. Recorded.\n\n\
             >> PCG32C().next_uint32()\n[465482994]",
        ),
        (
            "next_uint64",
            Draw::UInt64,
            "Uniform 64-bit integers from two draws, the low half first; active as in next_uint32.\n\n\
             >> PCG32C().next_uint64()\n[16730461300013839602]",
        ),
        (
            "next_float16",
            Draw::Float16,
            "Uniform halves in [0, 1) with 10 random bits from one 32-bit draw; active as in next_uint32.\n\n\
             >> PCG32C().next_float16()\n[0.107422]",
        ),
        (
            "next_float32",
            Draw::Float32,
            "Uniform floats in [0, 1) with 23 random bits; active as in next_uint32.\n\n\
             >> PCG32C().next_float32()\n[0.108379]",
        ),
        (
            "next_float64",
            Draw::Float64,
            "Uniform doubles in [0, 1) from one 32-bit draw; active as in next_uint32.\n\n\
             >> PCG32C().next_float64()\n[0.108379]",
        ),
        (
            "next_float32_normal",
            Draw::Normal32,
            "Standard normal floats, sqrt(2) * erfinv(v) of one of 2^23 places v in (-1, 1), from one draw; active \
             as in next_uint32.\n\n\
             >> PCG32C().next_float32_normal()\n[-1.2352]",
        ),
        (
            "next_float64_normal",
            Draw::Normal64,
            "Standard normal doubles of one of 2^32 places, from one 32-bit draw; active as in next_uint32.\n\n\
             >> PCG32C().next_float64_normal()\n[-1.2352]",
        ),
    ];
    for (name, draw, doc) in methods {
        registry.doc(name, "(rng, active)", doc);
        for arity in [1, 2] {
            on_rng(registry, name, arity, move |_, rng, rest| {
                let active = mask(rng, name, rest.first())?;
                rng.0.borrow_mut().draw(draw, active.as_ref()).map(ArrayRef::leaf).or_fault()
            });
        }
    }
}

fn below(registry: &mut Registry<'_>) {
    for (name, draw, doc) in [
        (
            "next_uint32_bounded",
            Draw::UInt32,
            "Uniform 32-bit integers below a bound (a number or one a lane), without bias: each lane draws again \
             until it has one; active as in next_uint32. Evaluates unless the bound is a number that is a power of two.\n\n\
             >> PCG32C().next_uint32_bounded(10)\n[4]",
        ),
        (
            "next_uint64_bounded",
            Draw::UInt64,
            "Uniform 64-bit integers below a bound; see next_uint32_bounded.\n\n\
             >> PCG32C().next_uint64_bounded(10)\n[2]",
        ),
    ] {
        registry.doc(name, "(rng, bound, active)", doc);
        for arity in [2, 3] {
            on_rng(registry, name, arity, move |_, rng, rest| {
                let bound = LeafArg::new(name, rest[0])?;
                let active = mask(rng, name, rest.get(1))?;
                let mut rng = rng.0.borrow_mut();
                rng.draw_below(draw, bound.operand(), active.as_ref())
                    .map(ArrayRef::leaf)
                    .or_fault()
            });
        }
    }
}

fn jumps(registry: &mut Registry<'_>) {
    registry.doc(
        "advance",
        "(rng, n)",
        "Moves by n draws at once, back if n is negative: a script integer, or one a lane. rng += n and \
         rng -= n do the same, rng + n gives another generator. Recorded.\n\n\
         >> a = PCG32C(); a.advance(5); a.next_uint32()\n[3193308813]",
    );
    for (name, back) in [("advance", false), ("+=", false), ("-=", true)] {
        on_rng(registry, name, 2, move |_, rng, rest| {
            let moved = moved(name, rng, rest[0], back)?;
            *rng.0.borrow_mut() = moved;
            Ok(())
        });
    }
    on_rng(registry, "+", 2, |_, rng, rest| moved("+", rng, rest[0], false).map(RngRef::new));
    on_rng(registry, "-", 2, |_, rng, rest| {
        let other = rest[0].read_lock::<RngRef>().map(|other| other.clone());
        Ok(match other {
            Some(other) => {
                let distance = rng.0.borrow().distance(&other.0.borrow()).or_fault()?;
                Dynamic::from(ArrayRef::leaf(distance))
            }
            None => Dynamic::from(RngRef::new(moved("-", rng, rest[0], true)?)),
        })
    });
    for (name, op) in [("==", None), ("!=", Some(Op::Not))] {
        on_rng(registry, name, 2, move |_, rng, rest| {
            let Some(other) = rest[0].read_lock::<RngRef>() else {
                let got = type_name(rest[0]);
                return Err(fault(format!("{name}: got {got}, expected another generator")));
            };
            let equal = rng.0.borrow().equals(&other.0.borrow()).or_fault()?;
            op.map_or(Ok(equal.clone()), |op| equal.apply(op, &[])).map(ArrayRef::leaf).or_fault()
        });
    }
}

/// The generator `n` draws later, or before.
fn moved(op: &str, rng: &RngRef, n: &Dynamic, back: bool) -> Result<Pcg32> {
    let mut moved = rng.0.borrow().clone();
    let n = LeafArg::new(op, n)?;
    match n.operand() {
        Operand::Number(number @ (Scalar::Float(_) | Scalar::Bool(_))) => {
            return Err(fault(format!("{op}: got {number}, expected a whole number of draws")));
        }
        n if back => moved.retreat(n),
        n => moved.advance(n),
    }
    .or_fault()?;
    Ok(moved)
}

fn shuffle(registry: &mut Registry<'_>) {
    registry.doc(
        "shuffle",
        "(rng, x)",
        "The items of a list, the lanes of an array, or the entries of a tensor along its first axis, in random order; x \
         stays as it is. A generator of one lane, n - 1 draws for n items, evaluated.\n\n\
         >> PCG32C().shuffle(FloatC::arange(10))\n[6, 1, 2, 5, 7, 0, 9, 8, 3, 4]",
    );
    on_rng(registry, "shuffle", 2, |_, rng, rest| {
        shuffled(&mut rng.0.borrow_mut(), "shuffle", rest[0], "a list or an array")
    });
}

/// A list, an array or a tensor in an order that a generator draws; anything else is told of by what was expected.
pub(super) fn shuffled(
    rng: &mut Pcg32,
    name: &'static str,
    x: &Dynamic,
    expected: &str,
) -> Result<Dynamic> {
    if let Some(list) = x.read_lock::<rhai::Array>() {
        let order = rng.order(name, list.len() as u64).or_fault()?;
        let item = |i: u32| usize::try_from(i).ok().and_then(|i| list.get(i).cloned());
        return Ok(Dynamic::from(order.into_iter().filter_map(item).collect::<rhai::Array>()));
    }
    let array = x.read_lock::<ArrayRef>().map(|array| array.clone());
    let array =
        array.ok_or_else(|| fault(format!("{name}: got {}, expected {expected}", type_name(x))))?;
    array.lend(|x| rng.shuffled(name, x)).map(|x| Dynamic::from(ArrayRef::from(x))).or_fault()
}

fn fields(registry: &mut Registry<'_>) {
    registry.engine.register_fn("copy", |rng: &mut RngRef| rng.own_copy());
    let [of_state, of_inc] = [registry.context.clone(), registry.context.clone()];
    let engine = &mut *registry.engine;
    engine.register_get("state", |rng: &mut RngRef| ArrayRef::leaf(rng.0.borrow().state.clone()));
    engine.register_get("inc", |rng: &mut RngRef| ArrayRef::leaf(rng.0.borrow().inc.clone()));
    engine.register_set("state", move |rng: &mut RngRef, state: Dynamic| -> Result<()> {
        of_state.draws.note_generator(rng);
        rng.0.borrow_mut().set_state(seed(Some(&state), 0)?).or_fault()
    });
    engine.register_set("inc", move |rng: &mut RngRef, inc: Dynamic| -> Result<()> {
        of_inc.draws.note_generator(rng);
        rng.0.borrow_mut().set_inc(seed(Some(&inc), 0)?).or_fault()
    });
    engine.register_fn("len", |rng: &mut RngRef| {
        i64::try_from(rng.0.borrow().lanes()).unwrap_or(i64::MAX)
    });
}

/// The optional argument `active`.
fn mask(rng: &RngRef, op: &str, value: Option<&&mut Dynamic>) -> Result<Option<Array>> {
    let session = rng.0.borrow().state.session().clone();
    value.map(|value| of_active(&session, op, value)).transpose()
}

/// A number or a one-dimensional array.
enum LeafArg {
    Number(Scalar),
    Array(Array),
}

impl LeafArg {
    fn new(op: &str, value: &Dynamic) -> Result<Self> {
        Ok(match Arg::new(op, value)? {
            Arg::Number(number) => Self::Number(number),
            Arg::Value(value) => Self::Array(value.array(op)?),
            Arg::Numbers(_) => return Err(fault(format!("{op}: got a list, expected an array"))),
        })
    }

    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Number(number) => Operand::Number(*number),
            Self::Array(array) => Operand::Array(array),
        }
    }
}

fn seed(value: Option<&Dynamic>, default: u64) -> Result<Seed> {
    let Some(value) = value else { return Ok(Seed::Number(default)) };
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return Ok(Seed::Array(array.array("PCG32C")?));
    }
    if let Some(number) = value.read_lock::<u64>() {
        return Ok(Seed::Number(*number));
    }
    match value.as_int() {
        Ok(number) => Ok(Seed::Number(number.cast_unsigned())),
        Err(_) => Err(fault(format!(
            "PCG32C: got {} as seed, expected an integer or an array",
            type_name(value)
        ))),
    }
}
