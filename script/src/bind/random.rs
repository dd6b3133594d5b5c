//! `PCG32C`: random number generators, one a lane.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_core::random::{PCG32_DEFAULT_STATE, PCG32_DEFAULT_STREAM, Pcg32, Seed};
use porcini_core::{Array, Result as CoreResult};
use rhai::{Dynamic, NativeCallContext};

use super::Registry;
use crate::display::{self, PrintOptions};
use crate::fault::{IntoFault, Result, fault};
use crate::value::{ArrayRef, type_name};

/// A shared reference to a generator: drawing through one name moves it for all.
#[derive(Clone, Debug)]
pub(crate) struct RngRef(Rc<RefCell<Pcg32>>);

impl RngRef {
    /// State and increment, as values of their own.
    pub(crate) fn arrays(&self) -> [ArrayRef; 2] {
        let rng = self.0.borrow();
        [ArrayRef::leaf(rng.state.clone()), ArrayRef::leaf(rng.inc.clone())]
    }

    /// `PCG32C[state=.., inc=..]`: numbers of a single generator, lists of several.
    pub(crate) fn text(&self, options: PrintOptions) -> Result<String> {
        let [state, inc] = self.arrays();
        let shown = |value: ArrayRef| -> Result<String> {
            let single = value.lanes() == Some(1);
            let text = display::text(&Dynamic::from(value), options)?;
            Ok(if single { text.trim_matches(['[', ']']).into() } else { text })
        };
        Ok(format!("PCG32C[state={}, inc={}]", shown(state)?, shown(inc)?))
    }
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<RngRef>("PCG32C");
    registry.doc(
        "PCG32C",
        "(state, stream)",
        "Random number generators PCG-XSH-RR 64/32, one a lane: PCG32C(UInt64C::arange(1000)) seeds 1000 of \
         them. Both arguments are optional; a script integer seeds all alike.",
    );
    for arity in 0..=2 {
        registry.any("PCG32C", arity, move |context, call, args| {
            context.at(call);
            let state = seed(args.first().map(|arg| &**arg), PCG32_DEFAULT_STATE)?;
            let stream = seed(args.get(1).map(|arg| &**arg), PCG32_DEFAULT_STREAM)?;
            let rng = Pcg32::new(&context.session, state, stream).or_fault()?;
            Ok(RngRef(Rc::new(RefCell::new(rng))))
        });
    }
    draws(registry);
    let context = registry.context.clone();
    registry.engine.register_fn("to_string", move |rng: &mut RngRef| -> Result<String> {
        rng.text(context.print.get())
    });
    registry.engine.register_fn("copy", |rng: &mut RngRef| {
        RngRef(Rc::new(RefCell::new(rng.0.borrow().clone())))
    });
    registry
        .engine
        .register_get("state", |rng: &mut RngRef| ArrayRef::leaf(rng.0.borrow().state.clone()));
    registry
        .engine
        .register_get("inc", |rng: &mut RngRef| ArrayRef::leaf(rng.0.borrow().inc.clone()));
    registry.engine.register_fn("len", |rng: &mut RngRef| {
        let size = rng.0.borrow().state.size();
        i64::try_from(size).unwrap_or(i64::MAX)
    });
}

fn draws(registry: &mut Registry<'_>) {
    type Draw = fn(&mut Pcg32) -> CoreResult<Array>;
    let methods: [(&str, Draw, &str); 4] = [
        (
            "next_uint32",
            Pcg32::next_uint32,
            "Uniform 32-bit integers; the generator moves on by one draw.",
        ),
        (
            "next_uint64",
            Pcg32::next_uint64,
            "Uniform 64-bit integers from two draws, the low half first.",
        ),
        ("next_float32", Pcg32::next_float32, "Uniform floats in [0, 1) with 23 random bits."),
        ("next_float64", Pcg32::next_float64, "Uniform doubles in [0, 1) from one 32-bit draw."),
    ];
    for (name, draw, doc) in methods {
        registry.doc(name, "(rng)", doc);
        let context = registry.context.clone();
        registry.engine.register_fn(name, move |call: NativeCallContext<'_>, rng: &mut RngRef| {
            context.at(&call);
            draw(&mut rng.0.borrow_mut()).map(ArrayRef::leaf).or_fault()
        });
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
