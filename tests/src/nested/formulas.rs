//! The functions of vectors, matrices, complex numbers and quaternions.
//!
//! What they mean is written here and in `algebra` and `elementary` again, one lane at a time, as the help texts say
//! it. Transformations with perspective or a view, and what takes a matrix apart into such, have no such text: their
//! recipe is recorded into a table of its own and computed operation by operation, as for functions of plain arrays.

use porcini_core::DType;
use porcini_core::ir::op::Class;
use porcini_core::nested::Form;
use porcini_core::trace::nested::NestedCall;

use super::algebra::{self, Formula, Number, with_diagonal};
use super::elementary;
use super::lane::{Functions, Lane};
use crate::oracle::functions::Recipe;
use crate::oracle::{Value, at, cast, promote};

/// The entries of the results, from the entries of all arguments; `n` is what the row's `N` stands for.
/// `None` if the function does not take their types.
pub(super) fn apply(call: NestedCall, n: usize, entries: &[Value]) -> Option<Vec<Value>> {
    computed(call.function().class, entries, |entries, functions| {
        if let Some(formula) = formula(call) {
            return by_lane(entries, functions, |lane| formula(lane, n));
        }
        let recipe = Recipe::of(entries.len(), entries[0].dtype, |recorder, entries| {
            recorder.inline_nested(call, entries).expect("a function of its own type")
        });
        let wide: Vec<bool> = entries.iter().map(|entry| entry.lanes.len() != 1).collect();
        let wide = recipe.wide(&wide);
        by_lane(entries, functions, |lane| recipe_lane(&recipe, &wide, lane))
    })
}

/// As [`apply`] where entries may be complex, of which `is_complex` says which: they come as two. If one result is
/// complex, all are, and come as two; `None` if there is no such function.
pub(super) fn apply_complex(
    call: NestedCall,
    n: usize,
    entries: &[Value],
    is_complex: &[bool],
) -> Option<(Vec<Value>, bool)> {
    let function = call.function();
    algebra::formula::<Number<'_>>(function.name, function.parameters)?;
    let mut complex = false;
    let results = computed(function.class, entries, |entries, functions| {
        by_lane(entries, functions, |lane| {
            let formula = algebra::formula(function.name, function.parameters)
                .expect("a function that was there");
            let mut lanes = lane.iter().copied();
            let mut number = |&is_complex: &bool| {
                let re = lanes.next().expect("a real part");
                Number { re, im: if is_complex { lanes.next() } else { None } }
            };
            let numbers: Vec<Number<'_>> = is_complex.iter().map(&mut number).collect();
            let results = formula(&numbers, n);
            complex = results.iter().any(|number| number.im.is_some());
            let mut parts = Vec::new();
            for number in results {
                parts.push(number.re);
                if complex {
                    parts.push(number.im.unwrap_or(number.re.number(0.0)));
                }
            }
            parts
        })
    })?;
    Some((results, complex))
}

/// Converts entries to their common type, and what is computed of them to the type of the results.
fn computed(
    class: Class,
    entries: &[Value],
    compute: impl FnOnce(&[Value], &Functions) -> Vec<Value>,
) -> Option<Vec<Value>> {
    if entries.iter().any(|entry| entry.dtype == DType::Mask) {
        return None;
    }
    let common = entries.iter().map(|entry| entry.dtype).reduce(promote)?;
    if class == Class::Int && !common.is_int() {
        return None;
    }
    let dtype = if class == Class::Float { common.quotient() } else { common };
    // f16 goes through f32 and is rounded once.
    let computed = if dtype == DType::F16 { DType::F32 } else { dtype };
    let converted = entries.iter().map(|entry| {
        let lane = |&bits: &u64| cast(computed, dtype, cast(dtype, entry.dtype, bits));
        Value { dtype: computed, lanes: entry.lanes.iter().map(lane).collect() }
    });
    let converted: Vec<Value> = converted.collect();
    let mut results = compute(&converted, &Functions::default());
    for result in results.iter_mut().filter(|result| result.dtype == computed) {
        result.lanes.iter_mut().for_each(|bits| *bits = cast(dtype, computed, *bits));
        result.dtype = dtype;
    }
    Some(results)
}

/// A result that depends on entries of one lane only has one lane.
fn by_lane<'f>(
    entries: &[Value],
    functions: &'f Functions,
    mut function: impl FnMut(&[Lane<'f>]) -> Vec<Lane<'f>>,
) -> Vec<Value> {
    let n = entries.iter().map(|entry| entry.lanes.len()).find(|&n| n != 1).unwrap_or(1);
    let mut lane = |bits: &dyn Fn(&Value) -> u64| {
        let lane = |entry: &Value| Lane {
            dtype: entry.dtype,
            bits: bits(entry),
            wide: entry.lanes.len() != 1,
            functions,
        };
        function(&entries.iter().map(lane).collect::<Vec<_>>())
    };
    let first = lane(&|entry| entry.lanes.first().copied().unwrap_or(0));
    let mut results: Vec<Value> = first
        .iter()
        .map(|lane| Value { dtype: lane.dtype, lanes: vec![lane.bits; usize::from(!lane.wide)] })
        .collect();
    let any_wide = first.iter().any(|lane| lane.wide);
    for i in 0..if any_wide { n } else { 0 } {
        for (result, lane) in results.iter_mut().zip(lane(&|entry| at(entry, i))) {
            if lane.wide {
                result.lanes.push(lane.bits);
            }
        }
    }
    results
}

fn recipe_lane<'f>(recipe: &Recipe, wide: &[bool], lane: &[Lane<'f>]) -> Vec<Lane<'f>> {
    let arguments: Vec<u64> = lane.iter().map(|entry| entry.bits).collect();
    let values = recipe.values(&arguments);
    let result = |&step: &usize| Lane { bits: values[step], wide: wide[step], ..lane[0] };
    recipe.results.iter().map(result).collect()
}

fn formula<'f>(call: NestedCall) -> Option<Formula<Lane<'f>>> {
    use Form::Vector as V;
    let function = call.function();
    algebra::formula(function.name, function.parameters)
        .or_else(|| elementary::formula(function.name, function.parameters))
        .or(match (function.name, function.parameters) {
            ("coordinate_system", [V(3)]) => Some(coordinate_system),
            ("Matrix::scale", [V(2 | 3)]) => Some(|x, _| {
                let entries: Vec<Lane<'f>> = x.iter().copied().chain([x[0].number(1.0)]).collect();
                with_diagonal(&entries, entries.len())
            }),
            ("Matrix::translate", [V(2 | 3)]) => Some(|x, _| {
                let n = x.len() + 1;
                let mut m = with_diagonal(&vec![x[0].number(1.0); n], n);
                m[n * (n - 1)..n * n - 1].copy_from_slice(x);
                m
            }),
            _ => None,
        })
}

/// With the sign s of z, `a = -1 / (s + z)` and `b = xya`: `(1 + sxxa, sb, -sx)` and `(b, s + yya, -y)`.
fn coordinate_system<'f>(n: &[Lane<'f>], _: usize) -> Vec<Lane<'f>> {
    let (x, y, z) = (n[0], n[1], n[2]);
    let one = z.number(1.0);
    let sign = Lane { wide: z.wide, ..one }.call("copysign", &[z]);
    let a = -(one / (sign + z));
    let b = x * y * a;
    vec![one + sign * x * x * a, sign * b, -(sign * x), b, sign + y * y * a, -y]
}

/// Real spherical harmonics `Y[l, m]` of a unit vector at place `l * l + l + m`: the normalised associated Legendre
/// polynomial in z, by its recurrence over l from l = m, times the real or imaginary part of `(x + iy)^m`.
pub(super) fn harmonic(d: &[Value], place: usize) -> Option<Value> {
    let l = (0..=place).rev().find(|l| l * l <= place)?;
    let m = (l * l + l).abs_diff(place);
    let is_imaginary = place < l * l + l;
    let compute = |entries: &[Value], functions: &Functions| {
        by_lane(entries, functions, |d| {
            let (x, y, z) = (d[0], d[1], d[2]);
            let polynomial = legendre(z, l, m);
            let power = (1..m).fold((x, y), |(re, im), _| (x * re - y * im, x * im + y * re));
            let factor = if is_imaginary { power.1 } else { power.0 };
            vec![if m == 0 { polynomial } else { polynomial * factor }]
        })
    };
    Some(computed(Class::Float, d, compute)?.remove(0))
}

/// Divided by `sqrt(1 - z²)^m`. Its factors are doubles, rounded to the type of z.
fn legendre(z: Lane<'_>, l: usize, m: usize) -> Lane<'_> {
    let mut diagonal = (1.0 / (4.0 * std::f64::consts::PI)).sqrt();
    for k in 1..=m {
        let growth = (2 * k + 1) as f64 / (2 * k) as f64;
        // The sine and the cosine share what the constant has alone.
        diagonal *= -(growth * if k == 1 { 2.0 } else { 1.0 }).sqrt();
    }
    let mut polynomials = vec![z.number(diagonal)];
    for l in m + 1..=l {
        let (l, m) = (l as f64, m as f64);
        let distance = l * l - m * m;
        let rise = z.number(((4.0 * l * l - 1.0) / distance).sqrt());
        let mut next = z * rise * polynomials[polynomials.len() - 1];
        if let [.., before, _] = polynomials[..] {
            let below = (l - 1.0) * (l - 1.0) - m * m;
            let fall = -((2.0 * l + 1.0) / (2.0 * l - 3.0) * below / distance).sqrt();
            next = next + before * z.number(fall);
        }
        polynomials.push(next);
    }
    polynomials[polynomials.len() - 1]
}

/// The Morton code of components: bit i of component k goes to bit `i * n + k`, for the lowest `width / n` bits.
pub(super) fn morton_code(components: &[Value]) -> Option<Value> {
    let n = components.len();
    let compute = |entries: &[Value], functions: &Functions| {
        by_lane(entries, functions, |lanes| {
            let bit = |k: usize, i: usize| (lanes[k].bits >> i & 1) << (i * n + k);
            let n_bits = lanes[0].dtype.bits() as usize / n;
            let bits = (0..n).flat_map(|k| (0..n_bits).map(move |i| (k, i)));
            let bits = bits.fold(0, |code, (k, i)| code | bit(k, i));
            vec![Lane { bits, wide: lanes.iter().any(|lane| lane.wide), ..lanes[0] }]
        })
    };
    Some(computed(Class::Int, components, compute)?.remove(0))
}

/// Component `k` of `n` of a Morton code.
pub(super) fn morton_component(code: &Value, n: usize, k: usize) -> Option<Value> {
    let n_bits = code.dtype.bits() as usize / n;
    let lane = |&code: &u64| {
        (0..n_bits).fold(0, |component, i| component | (code >> (i * n + k) & 1) << i)
    };
    let lanes = code.lanes.iter().map(lane).collect();
    code.dtype.is_int().then_some(Value { dtype: code.dtype, lanes })
}
