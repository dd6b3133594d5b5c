//! `rand`, `randn`, `randint`, `shuffle`, `permutation`, `seed`: numbers and orders from the generator of the session, as scripts have them.
//!
//! The generator of the session is a sequence of seeds: each call takes the next and makes generators of it.

use std::sync::{Mutex, PoisonError};

use porcini_core::random::{Draw, Pcg32, SplitMix64};
use porcini_core::tensor::{Shape, Tensor};
use porcini_core::{Array, DType, Session, Value};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use crate::convert::{is_sequence, number};
use crate::errors::{OrRaise, got, wrong_type};
use crate::forms::is_index;
use crate::given::Given;
use crate::home;
use crate::interrupt::{blocking, blocking_once};
use crate::lane_type::lane_type;
use crate::object;
use crate::random::Generator;
use crate::stand_ins;

type Object<'py> = Bound<'py, PyAny>;

/// Seeds of the calls that draw from the session; every session starts with seed(0).
static SEEDS: Mutex<SplitMix64> = Mutex::new(SplitMix64::new(0));

/// Bits of the seeds that `seed()` takes, as in scripts, where a float holds them exactly, too.
const SEED_BITS: u32 = 53;

/// n uniform floats in [0, 1), one unless told, with 23 random bits; a tuple is the shape of a tensor. They come from the
/// generator of the session, other ones at each call, the same whenever a session starts; or from rng, a PCG32 of n lanes
/// or of one. With dtype="float64" doubles with 32 random bits, with "float16" halves with 10.
///
/// >>> pc.seed(0)
/// >>> pc.rand(3)
/// [0.789098, 0.557702, 0.474706]
#[pyfunction]
#[pyo3(signature = (n=None, rng=None, *, dtype=None))]
fn rand<'py>(
    py: Python<'py>,
    n: Option<&Object<'py>>,
    rng: Option<&Object<'py>>,
    dtype: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let (single, double) = ((DType::F32, Draw::Float32), (DType::F64, Draw::Float64));
    let kind = kind_of("rand", dtype, &[single, double, (DType::F16, Draw::Float16)])?;
    drawn(py, "rand", n, rng, &|rng, n| rng.draw_lanes("rand", kind, n))
}

/// n standard normal floats; n and rng as in rand. With dtype="float64" doubles.
///
/// >>> pc.seed(0)
/// >>> pc.randn(3)
/// [0.803294, 0.145145, -0.063444]
#[pyfunction]
#[pyo3(signature = (n=None, rng=None, *, dtype=None))]
fn randn<'py>(
    py: Python<'py>,
    n: Option<&Object<'py>>,
    rng: Option<&Object<'py>>,
    dtype: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let kinds = [(DType::F32, Draw::Normal32), (DType::F64, Draw::Normal64)];
    let kind = kind_of("randn", dtype, &kinds)?;
    drawn(py, "randn", n, rng, &|rng, n| rng.draw_lanes("randn", kind, n))
}

/// The draw that gives lanes of a type, the first one where none is told.
fn kind_of(op: &str, dtype: Option<&Object<'_>>, kinds: &[(DType, Draw)]) -> PyResult<Draw> {
    let Some(dtype) = dtype.filter(|dtype| !dtype.is_none()) else { return Ok(kinds[0].1) };
    let asked = lane_type(dtype)?;
    let found = kinds.iter().find(|(own, _)| *own == asked.dtype && !asked.is_complex);
    found.map(|&(_, kind)| kind).ok_or_else(|| {
        let known: Vec<&str> = kinds.iter().map(|(own, _)| own.numpy_name()).collect();
        let (known, got) = (known.join(" or "), asked.numpy_name());
        wrong_type(format!(
            "{op}: got dtype={got}, expected {known}; randint(low, high, n) draws integers"
        ))
    })
}

/// n uniform integers from low up to but not including high, Int32, or Int64 if a bound needs it; n and rng as in rand.
///
/// >>> pc.seed(0)
/// >>> pc.randint(1, 7, 5)
/// [5, 4, 3, 2, 4]
#[pyfunction]
#[pyo3(signature = (low, high, n, rng=None))]
fn randint<'py>(
    low: &Object<'py>,
    high: &Object<'py>,
    n: &Object<'py>,
    rng: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let bound = |name: &str, bound: &Object<'py>| {
        let what = format!(
            "randint: got {} as {name}, expected an integer from -2**63 to 2**63 - 1",
            got(bound)
        );
        bound.extract::<i64>().map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(bound.py()) {
                true => PyOverflowError::new_err(what),
                false => wrong_type(what),
            }
        })
    };
    let (low, high) = (bound("low", low)?, bound("high", high)?);
    drawn(n.py(), "randint", Some(n), rng, &|rng, n| rng.draw_integers(low, high, n))
}

/// Sets the seed of the session's generator, from which rand, randn, randint, shuffle and permutation draw. seed() takes one
/// from the system and prints it, so that the numbers can be had again.
///
/// >>> pc.seed(7); a = pc.rand(2); pc.seed(7)
/// >>> pc.all(a == pc.rand(2))
/// True
#[pyfunction]
#[pyo3(signature = (k=None))]
fn seed(py: Python<'_>, k: Option<&Object<'_>>) -> PyResult<()> {
    home::session(py)?.check_draw("seed").or_raise()?;
    let seed = match k.filter(|k| !k.is_none()) {
        Some(k) => match k.extract::<i64>() {
            Ok(seed) => seed.cast_unsigned(),
            Err(_) => k.extract::<u64>().map_err(|_| {
                wrong_type(format!("seed: got {}, expected an integer of 64 bits", got(k)))
            })?,
        },
        None => {
            let bytes = py.import("os")?.call_method1("urandom", (8,))?.extract::<[u8; 8]>()?;
            let seed = u64::from_le_bytes(bytes) >> (u64::BITS - SEED_BITS);
            py.import("builtins")?.call_method1("print", (format!("seed({seed})"),))?;
            seed
        }
    };
    put_seeds(SplitMix64::new(seed));
    Ok(())
}

/// The seeds that this thread sees.
pub(crate) fn seeds_now() -> SplitMix64 {
    stand_ins::seeds().unwrap_or_else(|| *SEEDS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn put_seeds(seeds: SplitMix64) {
    match stand_ins::seeds() {
        Some(_) => stand_ins::lend_seeds(Some(seeds)),
        None => *SEEDS.lock().unwrap_or_else(PoisonError::into_inner) = seeds,
    }
}

/// The lanes of an array, or the entries of a tensor along its first axis, in random order; x stays as it is. The generator
/// of the session draws it, another one at each call. Evaluates.
///
/// >>> pc.seed(0)
/// >>> pc.shuffle(pc.Float([1, 2, 3, 4, 5]))
/// [4, 5, 1, 3, 2]
#[pyfunction]
fn shuffle<'py>(x: &Object<'py>) -> PyResult<Object<'py>> {
    shuffled("shuffle", x)
}

fn shuffled<'py>(op: &'static str, x: &Object<'py>) -> PyResult<Object<'py>> {
    let given = Given::expected(home::session(x.py())?, op, x)?;
    ordered(x.py(), op, |rng| rng.shuffled(op, &given.argument()))
}

/// The numbers below n in random order, UInt32; of an array or tensor what shuffle gives. pc.take(x, pc.permutation(x.size)[:k])
/// chooses k lanes, none twice. Evaluates.
///
/// >>> pc.seed(0)
/// >>> pc.permutation(5)
/// [3, 4, 0, 2, 1]
#[pyfunction]
fn permutation<'py>(n: &Object<'py>) -> PyResult<Object<'py>> {
    let op = "permutation";
    // An array of one lane is no count, though Python takes it as an index.
    if !is_index(n) {
        return match number(n)? {
            Some(_) => Err(wrong_type(format!(
                "{op}: got {}, expected an integer, an array or a list",
                got(n)
            ))),
            None => shuffled(op, n),
        };
    }
    let unfit =
        |_| PyValueError::new_err(format!("{op}: got {n}, expected an integer from 0 up to 2**32"));
    let count: u64 = n.extract().map_err(unfit)?;
    ordered(n.py(), op, |rng| rng.permutation(op, count).map(Value::Array))
}

/// What is made with a generator of one lane from the next seed of the session.
fn ordered<'py>(
    py: Python<'py>,
    op: &'static str,
    make: impl FnOnce(&mut Pcg32) -> porcini_core::Result<Value> + Send,
) -> PyResult<Object<'py>> {
    let session = home::session(py)?;
    let value = blocking_once(py, || from_session(session, op, 1, make))?;
    object::of(py, value)
}

/// What is drawn from generators that the next seed makes. Threads take one seed after the other; a call that fails takes
/// none.
fn from_session<T>(
    session: &Session,
    op: &'static str,
    n: u64,
    draw: impl FnOnce(&mut Pcg32) -> porcini_core::Result<T>,
) -> porcini_core::Result<T> {
    if let Some(mut seeds) = stand_ins::seeds() {
        let drawn = seeds.drawn(session, op, n, draw)?;
        stand_ins::lend_seeds(Some(seeds));
        return Ok(drawn);
    }
    let mut held = SEEDS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut seeds = *held;
    let drawn = seeds.drawn(session, op, n, draw)?;
    *held = seeds;
    Ok(drawn)
}

/// So many numbers (one unless told), or a tensor of this shape, from a generator that is given or the next seed of the session.
fn drawn<'py>(
    py: Python<'py>,
    op: &'static str,
    shape: Option<&Object<'py>>,
    rng: Option<&Object<'py>>,
    draw: &(dyn Fn(&mut Pcg32, u64) -> porcini_core::Result<Array> + Sync),
) -> PyResult<Object<'py>> {
    let session = home::session(py)?;
    let count = |n: &Object<'py>| {
        let unfit = || format!("{op}: got {} as n, expected an integer from 0 up", got(n));
        match n.extract::<i64>() {
            Ok(n) => u64::try_from(n).map_err(|_| PyValueError::new_err(unfit())),
            Err(_) => Err(wrong_type(unfit())),
        }
    };
    let (n, extents) = match shape.filter(|shape| !shape.is_none()) {
        None => (1, None),
        Some(shape) if is_sequence(shape) => {
            let extents = shape.try_iter()?.map(|n| count(&n?)).collect::<PyResult<Vec<_>>>()?;
            let shape = Shape::new(op, extents).or_raise()?;
            (shape.n_entries(), Some(shape))
        }
        Some(n) => (count(n)?, None),
    };
    let generator = rng.filter(|rng| !rng.is_none()).map(|rng| {
        let what = format!(
            "{op}: got {} as rng, expected a PCG32; the shape of a tensor is a tuple: {op}((2, 3))",
            got(rng)
        );
        rng.cast::<Generator>().map_err(|_| wrong_type(what))
    });
    let lanes = match generator.transpose()? {
        Some(rng) => Generator::drawn(rng, |rng| draw(rng, n))?,
        None => blocking(py, || from_session(session, op, n, |rng| draw(rng, n)))?,
    };
    match extents {
        Some(shape) => {
            object::of(py, Value::Tensor(Tensor::new(&lanes, shape.extents()).or_raise()?))
        }
        None => object::lanes(py, lanes),
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rand, module)?)?;
    module.add_function(wrap_pyfunction!(randn, module)?)?;
    module.add_function(wrap_pyfunction!(randint, module)?)?;
    module.add_function(wrap_pyfunction!(shuffle, module)?)?;
    module.add_function(wrap_pyfunction!(permutation, module)?)?;
    module.add_function(wrap_pyfunction!(seed, module)?)
}
