//! Laws of levels: what an operation gives of nested values is what it gives of their components, where a value of
//! fewer levels stands for as many copies of itself. They are made of the tables, so a new row has them at once.

use porcini_core::ir::op::{self, OPS, Parts, Shape};
use porcini_core::trace::functions::{self, FUNCTIONS, Function};
use porcini_core::trace::nested::{NestedFunction, rows};
use porcini_core::value::Form::{self, Complex, Matrix, Quaternion, Vector};
use porcini_core::{Array, DType};

use super::{Trial, same_bits, shapes};
use crate::data::{self, Values};

/// Shapes of the argument of a function of one.
const SINGLE: [&[Form]; 12] = [
    &[Vector(1)],
    &[Vector(2)],
    &[Vector(3)],
    &[Vector(4)],
    &[Vector(2), Vector(3)],
    &[Vector(3), Complex],
    &[Vector(2), Quaternion],
    &[Vector(2), Matrix(2)],
    &[Vector(2), Vector(2), Complex],
    &[Matrix(2)],
    &[Matrix(3)],
    &[Matrix(2), Vector(2)],
];

/// Shapes that meet in an operation.
const PAIRS: [[&[Form]; 2]; 22] = [
    [&[Vector(3)], &[Vector(3)]],
    [&[Vector(2)], &[]],
    [&[Vector(4)], &[Vector(4)]],
    [&[Vector(2), Vector(3)], &[Vector(2), Vector(3)]],
    [&[Vector(2), Vector(3)], &[Vector(2)]],
    [&[Vector(2), Vector(3)], &[Vector(3)]],
    [&[Vector(2), Vector(2)], &[Vector(2)]],
    [&[Vector(3), Vector(2)], &[]],
    [&[Vector(3), Complex], &[Vector(3), Complex]],
    [&[Vector(3), Complex], &[Vector(3)]],
    [&[Vector(3), Complex], &[Complex]],
    [&[Vector(2), Complex], &[]],
    [&[Vector(2), Quaternion], &[Vector(2), Quaternion]],
    [&[Vector(2), Quaternion], &[Quaternion]],
    [&[Vector(2), Quaternion], &[Vector(2)]],
    [&[Vector(2), Matrix(2)], &[Vector(2), Matrix(2)]],
    [&[Vector(2), Matrix(2)], &[Matrix(2)]],
    [&[Vector(2), Matrix(2)], &[]],
    [&[Matrix(2)], &[Matrix(2)]],
    [&[Matrix(3)], &[]],
    [&[Matrix(2), Complex], &[Matrix(2), Complex]],
    [&[Matrix(2), Vector(2)], &[]],
];

/// An operation or function with a spelling of its own, of so many arguments.
pub struct Row {
    /// As a script writes it.
    pub name: &'static str,
    /// How many arguments it takes.
    pub arity: usize,
}

/// Every elementwise operation and function.
pub fn elementwise() -> impl Iterator<Item = Row> {
    let operations = OPS.iter().filter(|info| info.shape != Shape::Special);
    let operations = operations.map(|info| Row { name: info.op.spelling(), arity: info.arity });
    operations.chain(FUNCTIONS.iter().map(|row| Row { name: row.name, arity: row.arity }))
}

/// The shapes of the arguments that a row is tried with.
pub fn shapes_of(arity: usize) -> Vec<Vec<&'static [Form]>> {
    let both =
        PAIRS.iter().flat_map(|&[a, b]| if a == b { vec![[a, b]] } else { vec![[a, b], [b, a]] });
    match arity {
        1 => SINGLE.iter().map(|&shape| vec![shape]).collect(),
        2 => both.map(Vec::from).collect(),
        _ => both.flat_map(|[a, b]| [vec![a, b, a], vec![a, a, b]]).collect(),
    }
}

/// Lane types of the arguments that a row is tried with.
pub fn types_of(arity: usize) -> Vec<Vec<DType>> {
    use DType::{F32, I32, Mask};
    match arity {
        1 => vec![vec![F32], vec![I32], vec![Mask]],
        2 => vec![vec![F32; 2], vec![I32; 2], vec![Mask; 2], vec![I32, F32]],
        _ => vec![vec![F32; 3], vec![I32; 3], vec![Mask, F32, F32], vec![Mask; 3]],
    }
}

impl Row {
    /// The row called with these arguments.
    pub fn call(&self, args: &[String]) -> String {
        match args {
            [x] if self.name == "-" => format!("(-{x})"),
            [a, b] if !self.name.starts_with(char::is_alphabetic) => {
                format!("({a} {} {b})", self.name)
            }
            _ => format!("{}({})", self.name, args.join(", ")),
        }
    }

    /// Whether it means something of its own for a matrix: `*` is no product of entries.
    fn is_of_matrices(&self, shapes: &[&[Form]]) -> bool {
        let function = || functions::find(self.name).map(Function::parts);
        let is_by_entry = match op::find(self.name).map(|info| info.parts).or_else(function) {
            Some(Parts::Linear | Parts::Entries) | None => true,
            // Rows tell of operators.
            Some(Parts::Whole) => !self.name.starts_with(char::is_alphabetic),
            Some(_) => false,
        };
        let with_number = shapes.iter().any(|shape| shape.is_empty());
        match self.name {
            "+" | "-" => with_number,
            name => {
                !is_by_entry
                    || rows().any(|row| {
                        row.name == name
                            && row.parameters.iter().any(|form| matches!(form, Matrix(_)))
                    })
            }
        }
    }

    /// The call with the names `args` of values of these shapes, taken apart at the outermost level; `None` where
    /// the level has a meaning of its own.
    pub fn by_components(&self, shapes: &[&[Form]], args: &[&str]) -> Option<String> {
        let deepest = shapes.iter().max_by_key(|shape| shape.len())?;
        let form = *deepest.first()?;
        if matches!(form, Matrix(_)) && self.is_of_matrices(shapes) {
            return None;
        }
        let part = |k: usize| {
            let arg = |(shape, name): (&&[Form], &&str)| match shape.first() {
                Some(first) if *first == form => shapes::entry(form, name, k),
                _ => (*name).to_string(),
            };
            self.call(&shapes.iter().zip(args).map(arg).collect::<Vec<_>>())
        };
        Some(shapes::made(form, &(0..form.n_entries()).map(part).collect::<Vec<_>>()))
    }
}

/// The forms of a row's parameters, with three for any number of components.
fn forms(row: &NestedFunction) -> impl Iterator<Item = Form> {
    row.parameters.iter().map(|form| match form {
        Vector(0) => Vector(3),
        Matrix(0) => Matrix(3),
        form => *form,
    })
}

/// Whether a function of nested values is called by its name alone: then its arguments may have any lane type.
pub fn is_free(row: &NestedFunction) -> bool {
    !row.name.contains("::")
}

/// Calls a row with values whose entries `entry` makes of a letter and a number, and gives the arrays of the results.
fn called(
    trial: &mut Trial,
    row: &NestedFunction,
    entry: &dyn Fn(Form, char, usize) -> String,
) -> Result<Vec<Array>, String> {
    let arg = |(letter, form): (char, Form)| {
        let entries: Vec<String> = (0..form.n_entries()).map(|k| entry(form, letter, k)).collect();
        shapes::made(form, &entries)
    };
    let args: Vec<String> = ('a'..).zip(forms(row)).map(arg).collect();
    trial.run(&format!("result = {};", Row { name: row.name, arity: args.len() }.call(&args)))?;
    Ok(trial.arrays("result"))
}

/// Gives names to twice as many arrays as the arguments of a row have entries: `a0`, `a1`, … for the first.
fn give_entries(trial: &mut Trial, row: &NestedFunction, dtype: DType, n: usize) {
    for (letter, form) in ('a'..).zip(forms(row)) {
        for k in 0..2 * form.n_entries() {
            let seed = u64::from(letter) * 64 + k as u64;
            let lanes = data::lanes(dtype, Values::Bounded, seed, n);
            trial.give_array(&format!("{letter}{k}"), dtype, &lanes);
        }
    }
}

/// Of entries that are vectors a function gives what it gives of the components of these.
///
/// # Errors
/// What differs.
pub fn goes_through_entries(
    trial: &mut Trial,
    row: &NestedFunction,
    n: usize,
) -> Result<(), String> {
    give_entries(trial, row, DType::F32, n);
    // A number among nested values, as slerp takes, is one for all of these.
    let pair = |form, letter, k| match form {
        Form::Scalar => format!("{letter}0"),
        _ => format!("Vector2C({letter}{}, {letter}{})", 2 * k, 2 * k + 1),
    };
    let both = called(trial, row, &pair)?;
    for i in 0..2 {
        let one = called(trial, row, &|form, letter, k| match form {
            Form::Scalar => format!("{letter}0"),
            _ => format!("{letter}{}", 2 * k + i),
        })?;
        let every_other: Vec<Array> = both.iter().skip(i).step_by(2).cloned().collect();
        same_bits(&every_other, &one)?;
    }
    Ok(())
}

/// Half floats go through single ones and are rounded once; integers stand for their floats.
///
/// # Errors
/// What differs.
pub fn converts_once(trial: &mut Trial, row: &NestedFunction, n: usize) -> Result<(), String> {
    for dtype in [DType::F16, DType::I32] {
        give_entries(trial, row, dtype, n);
        let own = called(trial, row, &|_, letter, k| format!("{letter}{k}"))?;
        if own.iter().all(|array| array.dtype().is_int()) {
            continue;
        }
        let single = called(trial, row, &|_, letter, k| format!("FloatC({letter}{k})"))?;
        let rounded = own.iter().zip(&single).map(|(own, single)| single.cast(own.dtype()));
        let rounded: Result<Vec<Array>, _> = rounded.collect();
        same_bits(&own, &rounded.map_err(|error| error.to_string())?)?;
    }
    Ok(())
}
