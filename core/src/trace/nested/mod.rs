//! Functions of vectors, matrices, complex numbers and quaternions: one row each, with the recipe in our
//! own IR.
//!
//! Such a value is a list of arrays, its *entries*: a vector x y z w, a complex number real and imaginary
//! part, a quaternion x y z w (w is the real part), a matrix its columns one after the other. Recipes see
//! the entries of all arguments in order, promoted to one type; sums run in order and without fma, so
//! `z * conj(z)` has the imaginary part 0.

mod complex;
mod entries;
pub(crate) mod harmonics;
mod matrix;
pub(crate) mod morton;
pub(super) mod over_complex;
mod quaternion;
mod row;
mod transform;
mod vector;

use std::collections::HashMap;
use std::sync::LazyLock;

use self::row::N;
pub use self::row::{Entries, Form, NestedFunction};
use super::Recorder;
use super::expr::Expr;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Class;
use crate::ir::var::VarId;

pub(crate) use complex::complex_rows;
pub(crate) use matrix::matrix_rows;
pub(crate) use quaternion::quaternion_rows;
pub(crate) use transform::transform_rows;
pub(crate) use vector::vector_rows;

const TABLES: [&[NestedFunction]; 5] =
    [vector::ROWS, complex::ROWS, quaternion::ROWS, matrix::ROWS, transform::ROWS];

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static NestedFunction> {
    TABLES.into_iter().flatten()
}

/// A row with what its `N` stands for.
#[derive(Clone, Copy)]
pub struct NestedCall {
    function: &'static NestedFunction,
    n: usize,
}

/// The rows by name: operators of nested values look for theirs whenever they are recorded.
static BY_NAME: LazyLock<HashMap<&str, Vec<&NestedFunction>>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
    rows().for_each(|row| by_name.entry(row.name).or_default().push(row));
    by_name
});

/// Those of a name.
pub fn named(name: &str) -> &'static [&'static NestedFunction] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

/// The function called `name` for arguments of these forms.
pub fn find(name: &str, forms: &[Form]) -> Option<NestedCall> {
    named(name).iter().find_map(|&function| {
        let mut n = N;
        let mut pairs = forms.iter().zip(function.parameters);
        let fits = forms.len() == function.parameters.len()
            && pairs.all(|(form, row)| form.matches(*row, &mut n));
        fits.then_some(NestedCall { function, n })
    })
}

impl NestedCall {
    /// The call that its name and [`NestedCall::shape`] tell from others.
    pub(crate) fn of_shape(name: &str, shape: &[u64]) -> Option<Self> {
        let &[_, n] = shape else { return None };
        let n = usize::try_from(n).unwrap_or(N);
        let mut calls = named(name).iter().map(|&function| Self { function, n });
        calls.find(|call| call.shape() == shape)
    }

    /// Whether it makes a complex number of so many complex numbers alone.
    pub(crate) fn is_of_complex(self, n: usize) -> bool {
        let all = |forms: &[Form]| forms.iter().all(|form| *form == Form::Complex);
        let (parameters, results) = (self.function.parameters, self.function.results);
        parameters.len() == n && results.len() == 1 && all(parameters) && all(results)
    }

    /// The row.
    pub fn function(self) -> &'static NestedFunction {
        self.function
    }

    /// The sizes that distinguish it from other functions of its name.
    pub(crate) fn shape(self) -> [u64; 2] {
        // Not by address: an optimised build may hold several copies of a table.
        let forms = self.function.parameters.iter();
        [forms.fold(0, |word, form| word << 8 | form.number()), self.n as u64]
    }

    /// Forms of the results.
    pub fn results(self) -> impl Iterator<Item = Form> {
        self.function.results.iter().map(move |form| form.with(self.n))
    }

    /// The entries of the results, one result after the other.
    pub(crate) fn expand<'r>(self, entries: &[Expr<'r>]) -> Vec<Expr<'r>> {
        (self.function.recipe)(entries, self.n)
    }
}

impl Recorder<'_> {
    /// Records the results of a function of the table, of entries promoted to their common type.
    ///
    /// # Errors
    /// `TypeMismatch`, `UnsupportedType`, `SizeMismatch`.
    pub fn nested(&mut self, call: NestedCall, entries: &[VarId]) -> Result<Vec<VarId>> {
        let function = call.function();
        let (name, class) = (function.name, function.class);
        self.expand_many(name, class, &call.shape(), entries, |entries| call.expand(entries))
    }

    /// Records several results of `entries`, promoted to their common type. The words of `shape` tell the recipe from
    /// others of the name.
    ///
    /// # Errors
    /// `TypeMismatch`, `UnsupportedType`, `SizeMismatch`.
    pub(crate) fn expand_many(
        &mut self,
        op: &'static str,
        class: Class,
        shape: &[u64],
        entries: &[VarId],
        recipe: impl for<'r> FnOnce(&[Expr<'r>]) -> Vec<Expr<'r>>,
    ) -> Result<Vec<VarId>> {
        let types = entries.iter().map(|&entry| self.dtype(entry));
        let common = types.map(Ok).reduce(|common: Result<DType>, dtype| {
            let (lhs, rhs) = (common?, dtype?);
            lhs.promote(rhs).ok_or(Error::TypeMismatch { op, lhs, rhs })
        });
        let what = || Error::Argument { op, what: "got no arrays".into() };
        let mut dtype = common.ok_or_else(what)??;
        if class == Class::Float && dtype.is_int() {
            dtype = dtype.quotient();
        }
        if !class.contains(dtype) {
            return Err(Error::UnsupportedType { op, dtype, expected: class.describe() });
        }
        let entries: Vec<VarId> =
            entries.iter().map(|&entry| self.cast(entry, dtype)).collect::<Result<_>>()?;
        self.call_all(op, shape, &entries, |recorder, entries| {
            recorder.expand_rounded(op, entries, recipe)
        })
    }

    /// Expands a recipe; half floats go through single ones and are rounded once, as in other functions.
    fn expand_rounded(
        &mut self,
        op: &'static str,
        entries: &[VarId],
        recipe: impl for<'r> FnOnce(&[Expr<'r>]) -> Vec<Expr<'r>>,
    ) -> Result<Vec<VarId>> {
        let dtype = self.dtype(entries[0]);
        if !dtype.is_half() {
            return self.expand_all(op, entries, recipe);
        }
        let wide: Vec<VarId> =
            entries.iter().map(|&entry| self.cast(entry, DType::F32)).collect::<Result<_>>()?;
        let mut results = self.expand_all(op, &wide, recipe)?;
        for result in &mut results {
            if self.dtype(*result) == DType::F32 {
                *result = self.cast(*result, dtype)?;
            }
        }
        Ok(results)
    }
}
