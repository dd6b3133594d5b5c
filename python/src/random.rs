//! `PCG32`: random number generators, one a lane.

use std::ptr;
use std::sync::{PoisonError, RwLock};

use porcini_core::random::{Draw, PCG32_DEFAULT_STATE, PCG32_DEFAULT_STREAM, Pcg32, Seed};
use porcini_core::{Array, DType, Operand, Scalar, Value};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{Given, number};
use crate::errors::{OrRaise, got, wrong_type};
use crate::home;
use crate::interrupt::blocking;
use crate::lane_type::{LaneType, lane_type};
use crate::object::{self, PyValue};
use crate::stand_ins;

type Object<'py> = Bound<'py, PyAny>;

/// Random number generators PCG-XSH-RR 64/32, one a lane: PCG32(state, stream), each a number for all lanes or an array
/// with one a lane; PCG32.seeded(n, seed) has lanes that have nothing to do with each other. PCG32(size=n, initstate=..,
/// initseq=..) has those of Dr.Jit: both seeds go up by one from lane to lane. Drawing moves on.
#[pyclass(name = "PCG32", module = "porcini", frozen, weakref)]
pub(crate) struct Generator(RwLock<Pcg32>);

impl Generator {
    fn rng(&self) -> Pcg32 {
        let held = || self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        stand_ins::generator(self.address()).unwrap_or_else(held)
    }

    fn put(slf: &Bound<'_, Self>, rng: Pcg32) {
        let own = slf.get();
        stand_ins::note(slf, own.address(), || own.rng());
        if stand_ins::generator(own.address()).is_some() {
            return stand_ins::lend_generator(own.address(), rng);
        }
        *own.0.write().unwrap_or_else(PoisonError::into_inner) = rng;
    }

    /// State and increment.
    pub(crate) fn arrays(&self) -> [Array; 2] {
        let rng = self.rng();
        [rng.state, rng.inc]
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Lets this thread see another state and increment, until it has recorded a function.
    pub(crate) fn lend(&self, state: Array, inc: Array) {
        stand_ins::lend_generator(self.address(), Pcg32 { state, inc });
    }

    /// Sets state and increment.
    pub(crate) fn set(slf: &Bound<'_, Self>, state: Array, inc: Array) {
        Self::put(slf, Pcg32 { state, inc });
    }

    /// A generator with this state and increment.
    pub(crate) fn of(py: Python<'_>, state: Array, inc: Array) -> PyResult<Object<'_>> {
        Ok(Bound::new(py, Self(RwLock::new(Pcg32 { state, inc })))?.into_any())
    }

    /// Draws in the generator as it will be, which it is if nothing goes wrong.
    fn draw<'py>(
        slf: &Bound<'py, Self>,
        active: Option<&Object<'py>>,
        draw: impl Fn(&mut Pcg32, Option<&Array>) -> porcini_core::Result<Array> + Sync,
    ) -> PyResult<Object<'py>> {
        let py = slf.py();
        let session = home::session(py)?;
        let active = active.filter(|active| !active.is_none());
        let active = active.map(|active| match Given::expected(session, "active", active)? {
            Given::Value(Value::Array(mask)) => Ok(mask),
            _ => Err(wrong_type(format!("active: got {}, expected a Mask", got(active)))),
        });
        let active = active.transpose()?;
        let drawn = Self::drawn(slf, |rng| draw(rng, active.as_ref()))?;
        object::of(py, drawn.into())
    }

    /// As [`Generator::draw`], the array.
    pub(crate) fn drawn(
        slf: &Bound<'_, Self>,
        draw: impl Fn(&mut Pcg32) -> porcini_core::Result<Array> + Sync,
    ) -> PyResult<Array> {
        let session = home::session(slf.py())?;
        for field in &slf.get().arrays() {
            session.check_change("PCG32", field).or_raise()?;
        }
        Self::moved(slf, draw)
    }

    /// What work gives that moves the generator on: of several threads one after the other.
    fn moved<R: Send>(
        slf: &Bound<'_, Self>,
        work: impl Fn(&mut Pcg32) -> porcini_core::Result<R> + Sync,
    ) -> PyResult<R> {
        let serials = |rng: &Pcg32| [&rng.state, &rng.inc].map(Array::serial);
        loop {
            let before = slf.get().rng();
            let (rng, result) = blocking(slf.py(), || {
                let mut rng = before.clone();
                let result = work(&mut rng)?;
                Ok((rng, result))
            })?;
            if serials(&slf.get().rng()) == serials(&before) {
                Self::put(slf, rng);
                return Ok(result);
            }
        }
    }
}

fn seed(object: Option<&Object<'_>>, default: u64) -> PyResult<Seed> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(default.into()) };
    if let Ok(value) = object.cast::<PyValue>() {
        return Ok(value.get().array("PCG32")?.into());
    }
    match number(object)? {
        Some(Scalar::Int(bits)) => Ok(bits.cast_unsigned().into()),
        Some(Scalar::UInt(bits)) => Ok(bits.into()),
        _ => match Given::of(home::session(object.py())?, object)? {
            Some(Given::Value(Value::Array(array))) => Ok(array.into()),
            _ => {
                Err(wrong_type(format!("PCG32: got {} as a seed, expected integers", got(object))))
            }
        },
    }
}

macro_rules! draws {
    ($($(#[doc = $doc:literal])+ $name:ident = $kind:ident;)*) => {
        #[pymethods]
        impl Generator {
            #[new]
            #[pyo3(signature = (state=None, stream=None, *, size=None, initstate=None, initseq=None))]
            fn new(
                py: Python<'_>,
                state: Option<&Object<'_>>,
                stream: Option<&Object<'_>>,
                size: Option<u64>,
                initstate: Option<&Object<'_>>,
                initseq: Option<&Object<'_>>,
            ) -> PyResult<Self> {
                let state = seed(state.or(initstate), PCG32_DEFAULT_STATE)?;
                let stream = seed(stream.or(initseq), PCG32_DEFAULT_STREAM)?;
                let [state, stream] = match size {
                    Some(n) => [counted(py, n, state)?, counted(py, n, stream)?],
                    None => [state, stream],
                };
                Ok(Self(RwLock::new(Pcg32::new(home::session(py)?, state, stream).or_raise()?)))
            }

            /// Generators of n lanes whose numbers have nothing to do with each other, from one seed.
            #[staticmethod]
            #[pyo3(signature = (n, seed=0))]
            fn seeded(py: Python<'_>, n: u64, seed: u64) -> PyResult<Self> {
                Ok(Self(RwLock::new(Pcg32::seeded(home::session(py)?, n, seed).or_raise()?)))
            }

            /// Seeds anew, as PCG32(state, stream) does.
            #[pyo3(signature = (state=None, stream=None))]
            fn seed(slf: &Bound<'_, Self>, state: Option<&Object<'_>>, stream: Option<&Object<'_>>) -> PyResult<()> {
                let (state, stream) = (seed(state, PCG32_DEFAULT_STATE)?, seed(stream, PCG32_DEFAULT_STREAM)?);
                let mut rng = slf.get().rng();
                rng.reseed(state, stream).or_raise()?;
                Self::put(slf, rng);
                Ok(())
            }

            $($(#[doc = $doc])+
            #[pyo3(signature = (active=None))]
            fn $name<'py>(slf: &Bound<'py, Self>, active: Option<&Object<'py>>) -> PyResult<Object<'py>> {
                Self::draw(slf, active, |rng, active| rng.draw(Draw::$kind, active))
            })*

            /// Uniform floats of a type in [0, 1), as next_float32 and its like.
            #[pyo3(signature = (dtype, active=None))]
            fn next_float<'py>(slf: &Bound<'py, Self>, dtype: &Object<'py>, active: Option<&Object<'py>>) -> PyResult<Object<'py>> {
                let kind = float_draw(dtype)?;
                Self::draw(slf, active, |rng, active| rng.draw(kind, active))
            }

            /// Uniform integers in [0, bound) without bias.
            #[pyo3(signature = (bound, active=None))]
            fn next_uint32_bounded<'py>(slf: &Bound<'py, Self>, bound: &Object<'py>, active: Option<&Object<'py>>) -> PyResult<Object<'py>> {
                below(slf, Draw::UInt32, bound, active)
            }

            /// Uniform integers in [0, bound) without bias.
            #[pyo3(signature = (bound, active=None))]
            fn next_uint64_bounded<'py>(slf: &Bound<'py, Self>, bound: &Object<'py>, active: Option<&Object<'py>>) -> PyResult<Object<'py>> {
                below(slf, Draw::UInt64, bound, active)
            }

            /// The lanes of an array, or the entries of a tensor along its first axis, in random order; the generator has one lane.
            fn shuffle<'py>(slf: &Bound<'py, Self>, x: &Object<'py>) -> PyResult<Object<'py>> {
                let py = slf.py();
                let given = Given::expected(home::session(py)?, "shuffle", x)?;
                let value = Self::moved(slf, |rng| rng.shuffled("shuffle", &given.argument()))?;
                object::of(py, value)
            }

            /// Moves by n draws, back where n is negative.
            fn advance(slf: &Bound<'_, Self>, n: i64) -> PyResult<()> {
                let mut rng = slf.get().rng();
                rng.advance(Operand::Number(Scalar::Int(n))).or_raise()?;
                Self::put(slf, rng);
                Ok(())
            }

            /// How many lanes it has.
            fn __len__(&self) -> PyResult<usize> {
                Ok(usize::try_from(self.rng().lanes())?)
            }

            /// A generator of its own that goes on as this one.
            fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
                let [state, inc] = slf.get().arrays();
                Self::of(slf.py(), state.own(), inc.own())
            }

            /// The state of each lane.
            #[getter]
            fn state<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
                let [state, _] = slf.get().arrays();
                object::of(slf.py(), state.into())
            }

            #[setter]
            fn set_state(slf: &Bound<'_, Self>, state: &Object<'_>) -> PyResult<()> {
                let mut rng = slf.get().rng();
                rng.set_state(seed(Some(state), 0)?).or_raise()?;
                Self::put(slf, rng);
                Ok(())
            }

            /// The increment of each lane, which chooses its stream.
            #[getter]
            fn inc<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
                let [_, inc] = slf.get().arrays();
                object::of(slf.py(), inc.into())
            }

            #[setter]
            fn set_inc(slf: &Bound<'_, Self>, inc: &Object<'_>) -> PyResult<()> {
                let mut rng = slf.get().rng();
                rng.set_inc(seed(Some(inc), 0)?).or_raise()?;
                Self::put(slf, rng);
                Ok(())
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
                let restore = slf.py().import("porcini._porcini")?.getattr("_generator")?;
                let parts = slf.get().arrays().map(|part| object::of(slf.py(), part.into()));
                let [state, inc] = parts;
                let parts = PyTuple::new(slf.py(), [state?, inc?])?;
                Ok(PyTuple::new(slf.py(), [restore, parts.into_any()])?.into_any())
            }

            fn __repr__(&self) -> String {
                format!("PCG32 of {} lanes", self.rng().lanes())
            }
        }
    };
}

draws! {
    /// Uniform 32-bit integers; lanes where active is false get 0 and do not move on.
    next_uint32 = UInt32;
    /// Uniform 64-bit integers from two draws, the low half first.
    next_uint64 = UInt64;
    /// Uniform halves in [0, 1).
    next_float16 = Float16;
    /// Uniform floats in [0, 1) with 23 random bits.
    next_float32 = Float32;
    /// Uniform doubles in [0, 1) with 32 random bits.
    next_float64 = Float64;
    /// Standard normal floats.
    next_float32_normal = Normal32;
    /// Standard normal doubles.
    next_float64_normal = Normal64;
}

/// Seeds of so many lanes, each one more than that before, as Dr.Jit has them.
fn counted(py: Python<'_>, n: u64, first: Seed) -> PyResult<Seed> {
    let [from, to, step] = [0, n, 1].map(Scalar::UInt);
    let numbers = home::session(py)?.arange(DType::U64, from, to, step).or_raise()?;
    let seeds = match first {
        Seed::Number(first) => numbers.try_add(Scalar::UInt(first)),
        Seed::Array(first) => first.cast(DType::U64).and_then(|first| numbers.try_add(&first)),
    };
    seeds.map(Seed::from).or_raise()
}

fn float_draw(dtype: &Object<'_>) -> PyResult<Draw> {
    let LaneType { dtype: lanes, is_complex } = lane_type(dtype)?;
    match lanes {
        DType::F16 => Ok(Draw::Float16),
        DType::F32 if !is_complex => Ok(Draw::Float32),
        DType::F64 if !is_complex => Ok(Draw::Float64),
        _ => Err(wrong_type(format!("next_float: got {}, expected a type of floats", got(dtype)))),
    }
}

fn below<'py>(
    rng: &Bound<'py, Generator>,
    kind: Draw,
    bound: &Object<'py>,
    active: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let bound = Given::expected(home::session(rng.py())?, "bound", bound)?;
    let bound = match bound {
        Given::Value(Value::Array(array)) => Ok(array),
        Given::Number(number) => Err(number),
        _ => return Err(wrong_type("bound: expected an integer or an array of integers")),
    };
    Generator::draw(rng, active, move |rng, active| {
        let bound = bound.as_ref().map_or_else(|&number| Operand::Number(number), Operand::Array);
        rng.draw_below(kind, bound, active)
    })
}

/// The generator that a pickle holds.
#[pyfunction]
fn _generator(py: Python<'_>, state: &Object<'_>, inc: &Object<'_>) -> PyResult<Generator> {
    let mut rng = Pcg32::new(home::session(py)?, seed(Some(state), 0)?, 0_u64).or_raise()?;
    rng.set_state(seed(Some(state), 0)?).or_raise()?;
    rng.set_inc(seed(Some(inc), 0)?).or_raise()?;
    Ok(Generator(RwLock::new(rng)))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_generator, module)?)?;
    module.add("PCG32_DEFAULT_STATE", PCG32_DEFAULT_STATE)?;
    module.add("PCG32_DEFAULT_STREAM", PCG32_DEFAULT_STREAM)?;
    module.add_class::<Generator>()
}
