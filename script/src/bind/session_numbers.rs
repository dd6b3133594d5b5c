//! `rand(n)` and the like: so many random numbers, or a random order, from the generator of the session or from one that is given.
//!
//! The generator of the session is a sequence of seeds: each call takes the next and makes generators of it.

use std::rc::Rc;

use porcini_core::Array;
use porcini_core::random::{Draw, Pcg32, SplitMix64};
use porcini_core::tensor::{Shape, Tensor};
use rhai::{Dynamic, Module};

use super::random::shuffled;
use super::registry::Registry;
use super::types::static_function;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::{ArrayRef, GENERATOR, got, type_name};

/// Bits of the seeds that `seed()` takes: a script float holds them exactly, too.
const SEED_BITS: u32 = 53;

pub(super) fn register(registry: &mut Registry<'_>) {
    seeded(registry);
    numbers(registry);
    orders(registry);
    seeds(registry);
}

fn seeded(registry: &mut Registry<'_>) {
    registry.doc(
        "PCG32C::seeded",
        "(n, seed)",
        "Generators of n lanes whose numbers have nothing to do with each other, for any integer as seed: means over \
         any lanes vary as they should, which those of PCG32C(UInt64C::arange(n)) do not. Lane i has the state and the \
         stream that are number i of two SplitMix64, which start from the first two numbers of the SplitMix64 that \
         starts from the seed. Recorded.\n\n\
         >> rng = PCG32C::seeded(3, 1); rng.next_float32()\n[0.749002, 0.208843, 0.372313]",
    );
    let mut module = Module::new();
    let named = (&Rc::from(GENERATOR), "seeded");
    static_function(&mut module, &registry.context, named, 2, |context, name, args| {
        let n = count(name, &args[0])?;
        let seed = seed_of(name, &args[1])?;
        Pcg32::seeded(&context.session, n, seed).map(RngRef::new).or_fault()
    });
    registry.engine.register_static_module(GENERATOR, module.into());
}

fn numbers(registry: &mut Registry<'_>) {
    registry.doc(
        "rand",
        "(n, rng)",
        "n uniform floats in [0, 1), with 23 random bits. Without rng they come from the generator of the session, \
         whose k-th call draws from PCG32C::seeded(n, s), with s number k of the SplitMix64 that starts from the \
         session's seed: the same numbers whenever a session starts, on every device, other ones at each call; see \
         seed. A generator rng of n lanes draws one number in each, one of a single lane n in a row. A list is the \
         shape of a tensor. Recorded.\n\n\
         >> rand(3)\n[0.789098, 0.557702, 0.474706]",
    );
    registry.doc(
        "randn",
        "(n, rng)",
        "n standard normal floats, as next_float32_normal draws them, so none beyond 5.3; rng as in rand. Recorded.\n\n\
         >> randn(3)\n[0.803294, 0.145145, -0.063444]",
    );
    for (name, draw) in [("rand", Draw::Float32), ("randn", Draw::Normal32)] {
        for arity in [1, 2] {
            registry.any(name, arity, move |context, call, args| {
                context.at(call);
                let rng = args.get(1).map(|rng| &**rng);
                shaped(context, name, args[0], rng, &|rng, n| rng.draw_lanes(name, draw, n))
            });
        }
    }
    registry.doc(
        "randint",
        "(low, high, n, rng)",
        "n uniform integers from low up to but not including high, the order of NumPy and PyTorch; Int32C, or Int64C \
         if a bound needs it; with a list of extents a tensor of that shape; rng as in rand. None is likelier than \
         another by more than a factor of 1 + 2^-32. Recorded.\n\n\
         >> randint(1, 7, 5)\n[5, 4, 3, 2, 4]",
    );
    for arity in [3, 4] {
        registry.any("randint", arity, |context, call, args| {
            context.at(call);
            let (low, high) = (bound(args[0])?, bound(args[1])?);
            let rng = args.get(3).map(|rng| &**rng);
            shaped(context, "randint", args[2], rng, &|rng, n| rng.draw_integers(low, high, n))
        });
    }
}

fn orders(registry: &mut Registry<'_>) {
    registry.doc_form(
        "shuffle",
        "(x)",
        "By the generator of the session, another order at each call; see rand and seed. Evaluated.\n\n\
         >> shuffle(FloatC([1, 2, 3, 4, 5]))\n[4, 5, 1, 3, 2]",
    );
    registry.any("shuffle", 1, |context, call, args| {
        context.at(call);
        from_session(context, "shuffle", |rng| {
            shuffled(rng, "shuffle", args[0], "a list or an array")
        })
    });
    registry.doc(
        "permutation",
        "(n)",
        "The numbers below n in random order, UInt32C, by the generator of the session; of a list, array or tensor what \
         shuffle(x) is. gather(x, permutation(len(x))[..k]) chooses k lanes, none twice. Evaluated.\n\n\
         >> permutation(5)\n[3, 4, 0, 2, 1]",
    );
    registry.any("permutation", 1, |context, call, args| {
        context.at(call);
        let name = "permutation";
        from_session(context, name, |rng| match args[0].as_int() {
            Ok(_) => {
                let order = rng.permutation(name, count(name, args[0])?).or_fault()?;
                Ok(Dynamic::from(ArrayRef::leaf(order)))
            }
            Err(_) => shuffled(rng, name, args[0], "an integer, a list or an array"),
        })
    });
}

/// What `make` does with a generator of one lane from the session's next seed, which is taken if that works.
fn from_session<T>(
    context: &Context,
    name: &'static str,
    make: impl FnOnce(&mut Pcg32) -> Result<T>,
) -> Result<T> {
    let (mut rng, seeds) = context.seeds.get().generators(&context.session, name, 1).or_fault()?;
    let made = make(&mut rng)?;
    context.seeds.set(seeds);
    Ok(made)
}

fn seeds(registry: &mut Registry<'_>) {
    registry.doc_form(
        "seed",
        "(k)",
        "Sets the seed of the session's generator, from which rand, randn, randint, shuffle and permutation draw; every \
         session starts with seed(0). seed() takes a seed from the system and prints it, so that the numbers can be had again.\n\n\
         >> seed(7); a = rand(2); seed(7); all(a == rand(2))\ntrue",
    );
    registry.any("seed", 0, |context, _, _| {
        context.session.check_draw("seed").or_fault()?;
        let seed = context.host.entropy().map_err(|error| {
            fault_with_hint(
                format!("seed: the system gives no random number: {error}"),
                "give a number of your own: seed(7)",
            )
        })?;
        let seed = seed >> (u64::BITS - SEED_BITS);
        context.seeds.set(SplitMix64::new(seed));
        context.host.print(&format!("seed({seed})"));
        Ok(())
    });
    registry.any("seed", 1, |context, _, args| {
        context.session.check_draw("seed").or_fault()?;
        context.seeds.set(SplitMix64::new(seed_of("seed", args[0])?));
        Ok(())
    });
}

/// So many numbers, or a tensor of this shape.
fn shaped(
    context: &Context,
    name: &'static str,
    shape: &Dynamic,
    rng: Option<&Dynamic>,
    draw: &dyn Fn(&mut Pcg32, u64) -> porcini_core::Result<Array>,
) -> Result<ArrayRef> {
    let Some(shape) = shape.read_lock::<rhai::Array>() else {
        let n = count(name, shape)?;
        return drawn(context, name, n, rng, &|rng| draw(rng, n));
    };
    let extents = shape.iter().map(|extent| count(name, extent));
    let shape = Shape::new(name, extents.collect::<Result<Vec<_>>>()?).or_fault()?;
    let n = shape.n_entries();
    let lanes = drawn(context, name, n, rng, &|rng| draw(rng, n))?;
    Tensor::new(&lanes.array(name)?, shape.extents()).map(ArrayRef::tensor).or_fault()
}

/// What `draw` makes of a generator: the one that is given, or new ones of `n` lanes from the session's next seed.
fn drawn(
    context: &Context,
    name: &'static str,
    n: u64,
    rng: Option<&Dynamic>,
    draw: &dyn Fn(&mut Pcg32) -> porcini_core::Result<Array>,
) -> Result<ArrayRef> {
    let Some(rng) = rng else {
        let mut seeds = context.seeds.get();
        let array = seeds.drawn(&context.session, name, n, draw).or_fault()?;
        context.seeds.set(seeds);
        return Ok(ArrayRef::leaf(array));
    };
    let rng = rng.read_lock::<RngRef>().map(|rng| rng.clone()).ok_or_else(|| {
        let hint = match rng.as_int() {
            Ok(m) => format!("a shape is a list: {name}([{n}, {m}])"),
            Err(_) => format!("the numbers of one seed: rng = PCG32C::seeded({n}, 7)"),
        };
        fault_with_hint(format!("{name}: got {} as rng, expected a generator", got(rng)), hint)
    })?;
    context.draws.note_generator(&rng);
    let array = draw(&mut rng.0.borrow_mut()).or_fault()?;
    Ok(ArrayRef::leaf(array))
}

/// How many numbers.
fn count(name: &str, value: &Dynamic) -> Result<u64> {
    if let Some(n) = value.as_int().ok().and_then(|n| u64::try_from(n).ok()) {
        return Ok(n);
    }
    let message = format!("{name}: got {} as n, expected an integer from 0 up", got(value));
    let hint = if value.is_float() {
        "to_int(n) makes an integer of a float: to_int(1e6)"
    } else if value.is::<RngRef>() {
        "the generator comes last, as in rand(3, rng)"
    } else {
        return Err(fault(message));
    };
    Err(fault_with_hint(message, hint))
}

/// A bound of integers.
fn bound(value: &Dynamic) -> Result<i64> {
    value.as_int().map_err(|_| {
        let message = format!("randint: got {} as bound, expected an integer", got(value));
        fault_with_hint(message, "write randint(low, high, n); high is not included")
    })
}

/// Any integer is a seed.
fn seed_of(name: &str, value: &Dynamic) -> Result<u64> {
    if let Some(seed) = value.read_lock::<u64>() {
        return Ok(*seed);
    }
    value.as_int().map(i64::cast_unsigned).map_err(|_| {
        let message = format!("{name}: got {} as seed, expected an integer", type_name(value));
        fault_with_hint(message, "for a seed a lane there is PCG32C(states, streams)")
    })
}
