//! Laws of nested values: vectors, matrices, complex numbers, quaternions, and these in each other.
//!
//! A law is two expressions of a script that mean the same: bit for bit, as numbers, or within a bound that it states.
//! Nothing here computes a value by itself. [`levels`] makes laws of every operation and function there is: what goes
//! through the levels of a value is what its components give one at a time. The other modules are tables, one for
//! each kind of value; [`Group`] is one of their rows.

pub mod complex;
pub mod levels;
pub mod matrices;
pub mod places;
pub mod quaternions;
pub mod shapes;
pub mod vectors;

use std::rc::Rc;
use std::sync::Arc;

use porcini_core::value::Form;
use porcini_core::{Array, DType, Runtime};
use porcini_script::{Interpreter, Options};

use crate::data::{self, Values};
use crate::host::TestHost;

/// How near to each other the two sides of a law are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The same bits, whatever the values: with NaN, infinities and both zeros among them.
    Bits,
    /// The same bits for numbers that are not extreme.
    Exact,
    /// So many times the distance of numbers around one, relative to the largest part of the right side; of 0 the
    /// same numbers, where zeros may have either sign.
    Near(f64),
    /// As `Near`, relative to an expression.
    Within(f64, &'static str),
}

/// `left` and `right` mean the same.
pub type Law = (&'static str, &'static str, Bound);

/// Laws of the same values.
pub struct Group {
    /// What they are about.
    pub name: &'static str,
    /// Names and shapes of the values.
    pub given: &'static [(&'static str, &'static [Form])],
    /// Statements that make other values of them, for laws that do not hold for all.
    pub before: &'static str,
    /// The laws.
    pub laws: &'static [Law],
}

/// All groups.
pub fn groups() -> impl Iterator<Item = &'static Group> {
    [complex::GROUPS, matrices::GROUPS, places::GROUPS, quaternions::GROUPS, vectors::GROUPS]
        .into_iter()
        .flatten()
}

/// An interpreter in which laws are tried.
pub struct Trial {
    interpreter: Interpreter,
}

impl Trial {
    /// One on a device.
    ///
    /// # Panics
    /// If there can be none.
    pub fn on(runtime: &Arc<Runtime>) -> Self {
        let options = Options { runtime: Some(runtime.clone()), ..Options::default() };
        let host = Rc::new(TestHost::default());
        Self { interpreter: Interpreter::new(host, &options).expect("an interpreter") }
    }

    /// Runs statements.
    ///
    /// # Errors
    /// The diagnostic.
    pub fn run(&mut self, text: &str) -> Result<(), String> {
        self.interpreter.execute(text, "law").map(drop).map_err(|error| error.to_string())
    }

    /// The arrays in a variable.
    pub fn arrays(&self, name: &str) -> Vec<Array> {
        self.interpreter.arrays(name)
    }

    /// Gives plain arrays names.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn give_array(&mut self, name: &str, dtype: DType, lanes: &[u64]) {
        let array = self.interpreter.session().from_bytes(dtype, &data::to_bytes(dtype, lanes));
        self.interpreter.set_array(name, array.expect("memory for a few lanes"));
    }

    /// Gives random values of a shape and `n` lanes a name.
    ///
    /// # Panics
    /// If a script cannot make them.
    pub fn give(&mut self, name: &str, shape: &[Form], (dtype, values): (DType, Values), n: usize) {
        let letters = name.bytes().fold(0, |seed, letter| seed * 256 + u64::from(letter));
        let mut n_leaves = 0;
        let text = shapes::assembled(shape, &mut || {
            let leaf = format!("{name}_{n_leaves}");
            let lanes = data::lanes(dtype, values, letters * 64 + n_leaves, n);
            self.give_array(&leaf, dtype, &lanes);
            n_leaves += 1;
            leaf
        });
        self.run(&format!("{name} = {text};")).expect("a value of its components");
    }

    /// What is wrong with a law, if anything.
    pub fn failure(&mut self, left: &str, right: &str, bound: Bound) -> Option<String> {
        self.compare(left, right, bound).err().map(|what| format!("{left} is {right}: {what}"))
    }

    fn compare(&mut self, left: &str, right: &str, bound: Bound) -> Result<(), String> {
        let scale = if let Bound::Within(_, scale) = bound { scale } else { "0" };
        self.run(&format!("left = {left}; right = {right}; scale = {scale};"))?;
        let [left, right, scale] = ["left", "right", "scale"].map(|name| self.arrays(name));
        let most = match bound {
            Bound::Bits | Bound::Exact => return same_bits(&left, &right),
            Bound::Near(most) | Bound::Within(most, _) => most,
        };
        let scale = if let Bound::Within(..) = bound { &scale } else { &right };
        near(&left, &right, scale, most)
    }
}

/// An error if arrays differ in type or in a bit; of one lane they stand for any number of lanes.
///
/// # Errors
/// What differs.
pub fn same_bits(left: &[Array], right: &[Array]) -> Result<(), String> {
    let types = |arrays: &[Array]| arrays.iter().map(Array::dtype).collect::<Vec<_>>();
    if types(left) != types(right) {
        return Err(format!("{:?}, not {:?}", types(left), types(right)));
    }
    for (i, (left, right)) in left.iter().zip(right).enumerate() {
        // Value numbering found them the same.
        if left.serial() == right.serial() {
            continue;
        }
        let [got, want] = [left, right].map(|array| array.read_bytes(0..array.size()));
        let got = got.map_err(|error| error.to_string())?;
        let want = want.map_err(|error| error.to_string())?;
        let width = left.dtype().bytes();
        let n = (got.len().max(want.len())) / width;
        let lane = |bytes: &[u8], i: usize| {
            let start = if bytes.len() == width { 0 } else { i * width };
            bytes.get(start..start + width).map(<[u8]>::to_vec)
        };
        if let Some(k) = (0..n).find(|&k| lane(&got, k) != lane(&want, k)) {
            let (got, want) = (lane(&got, k), lane(&want, k));
            return Err(format!("part {i}, lane {k}: {got:02x?}, not {want:02x?}"));
        }
    }
    Ok(())
}

fn near(left: &[Array], right: &[Array], scale: &[Array], most: f64) -> Result<(), String> {
    let double = |arrays: &[Array]| -> porcini_core::Result<Vec<Vec<f64>>> {
        arrays.iter().map(|array| array.cast(DType::F64)?.to_vec()).collect()
    };
    let numbers = |arrays| double(arrays).map_err(|error| error.to_string());
    let dtype = left.first().ok_or("no array")?.dtype();
    let (left, right, scale) = (numbers(left)?, numbers(right)?, numbers(scale)?);
    if left.len() != right.len() {
        return Err(format!("{} parts, not {}", left.len(), right.len()));
    }
    let at = |lanes: &Vec<f64>, k: usize| lanes[if lanes.len() == 1 { 0 } else { k }];
    let n = left.iter().chain(&right).map(Vec::len).max().unwrap_or(0);
    for k in 0..n {
        let size = scale.iter().map(|part| at(part, k).abs()).fold(0.0, f64::max);
        for (i, (left, right)) in left.iter().zip(&right).enumerate() {
            let error = (at(left, k) - at(right, k)).abs() / (epsilon(dtype) * size);
            let equal = at(left, k) == at(right, k);
            if !equal && (error.is_nan() || error > most) {
                let (left, right) = (at(left, k), at(right, k));
                return Err(format!("part {i}, lane {k}: {left}, not {right}: off by {error:.1}"));
            }
        }
    }
    Ok(())
}

/// The distance of numbers around one.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2_f64.powi(-10),
        DType::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}
