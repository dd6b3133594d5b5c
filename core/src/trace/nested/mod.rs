//! Functions of vectors, matrices, complex numbers and quaternions: one row each, with the recipe in our
//! own IR.
//!
//! Such a value is a list of arrays, its *entries*: a vector x y z w, a complex number real and imaginary
//! part, a quaternion x y z w (w is the real part), a matrix its columns one after the other. Recipes see
//! the entries of all arguments in order, promoted to one type; sums run in order and without fma, so
//! `z * conj(z)` has the imaginary part 0.

mod complex;
pub(crate) mod harmonics;
mod matrix;
pub(crate) mod morton;
pub(super) mod over_complex;
mod quaternion;
mod transform;
mod vector;

use std::fmt;

use super::Recorder;
use super::expr::Expr;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Class, Op};
use crate::ir::var::VarId;

/// The form of a value with several entries. In rows of the table, `N` components are any number of them, the
/// same one throughout the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A single array.
    Scalar,
    /// As many arrays.
    Vector(usize),
    /// Real and imaginary part.
    Complex,
    /// x, y, z, w; w is the real part.
    Quaternion,
    /// As many columns of as many arrays.
    Matrix(usize),
    /// Entries along axes, which no row takes.
    Tensor,
}

impl fmt::Display for Form {
    /// As a person reads it: `vector of 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar => f.write_str("array"),
            Self::Vector(N) => f.write_str("vector"),
            Self::Vector(n) => write!(f, "vector of {n}"),
            Self::Complex => f.write_str("complex"),
            Self::Quaternion => f.write_str("quaternion"),
            Self::Matrix(N) => f.write_str("matrix"),
            Self::Matrix(n) => write!(f, "matrix of {n}"),
            Self::Tensor => f.write_str("tensor"),
        }
    }
}

/// Stands for any number of components in a row.
const N: usize = 0;

/// Most rows and columns that the recipes know.
const MAX_MATRIX: usize = 4;

impl Form {
    /// The word in names of types.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Scalar => "Array",
            Self::Vector(_) => "Vector",
            Self::Complex => "Complex",
            Self::Quaternion => "Quaternion",
            Self::Matrix(_) => "Matrix",
            Self::Tensor => "Tensor",
        }
    }

    /// Number of components: of a matrix its columns, none of an array.
    pub const fn n_components(self) -> usize {
        match self {
            Self::Scalar | Self::Tensor => 0,
            Self::Vector(n) | Self::Matrix(n) => n,
            Self::Complex => 2,
            Self::Quaternion => 4,
        }
    }

    /// Whether it is a vector.
    pub const fn is_vector(self) -> bool {
        matches!(self, Self::Vector(_))
    }

    /// Whether its values are numbers of several parts whose lanes are added part by part: complex numbers, quaternions.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Complex | Self::Quaternion)
    }

    /// Whether a real number as a value of this form stands in an entry; others are 0.
    pub const fn holds_real(self, entry: usize) -> bool {
        match self {
            Self::Scalar | Self::Vector(_) | Self::Tensor => true,
            Self::Complex => entry == 0,
            Self::Quaternion => entry == 3,
            Self::Matrix(n) => entry.is_multiple_of(n + 1),
        }
    }

    /// Number of arrays.
    pub const fn n_entries(self) -> usize {
        match self {
            Self::Scalar | Self::Tensor => 1,
            Self::Vector(n) => n,
            Self::Complex => 2,
            Self::Quaternion => 4,
            Self::Matrix(n) => n * n,
        }
    }

    /// A byte that tells it from other forms of rows.
    const fn number(self) -> u64 {
        match self {
            Self::Scalar => 1,
            Self::Complex => 2,
            Self::Quaternion => 3,
            Self::Tensor => 4,
            Self::Vector(n) => 0x10 | n as u64,
            Self::Matrix(n) => 0x20 | n as u64,
        }
    }

    /// Whether a value of this form is one of a row's; `n` holds what `N` stands for, once it is known.
    fn matches(self, row: Self, n: &mut usize) -> bool {
        let ((Self::Vector(n_row), Self::Vector(n_self))
        | (Self::Matrix(n_row), Self::Matrix(n_self))) = (row, self)
        else {
            return row == self;
        };
        if matches!(self, Self::Matrix(n) if n > MAX_MATRIX) {
            return false;
        }
        if n_row == N && *n == N {
            *n = n_self;
        }
        n_self == if n_row == N { *n } else { n_row }
    }

    /// The form with what `N` stands for.
    fn with(self, n: usize) -> Self {
        match self {
            Self::Vector(N) => Self::Vector(n),
            Self::Matrix(N) => Self::Matrix(n),
            form => form,
        }
    }
}

/// Kinds of entries that a row takes besides real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// None.
    Real,
    /// Complex ones: a recipe made of `+ - * /`, absolute values and constants means the same for them.
    Rational,
    /// Complex ones, with conjugates where there are transposes otherwise.
    Conjugates,
    /// Complex numbers and quaternions as the list of their parts: for a length, or what is divided by it.
    Parts,
}

/// One row of the table.
pub struct NestedFunction {
    /// Name of the script function, or operator. `Type::name` is a static function of a type.
    pub name: &'static str,
    /// Forms of the arguments.
    pub parameters: &'static [Form],
    /// Forms of the results.
    pub results: &'static [Form],
    /// Types it computes in; [`Class::Float`] takes integers as their float.
    pub class: Class,
    /// Which entries it takes.
    pub entries: Entries,
    /// Of plain arrays it may be these operations of the sum over the lanes of their product, or of a square.
    pub over_lanes: Option<&'static [Op]>,
    /// Help text.
    pub doc: &'static str,
    /// From the entries of the arguments, and what `N` stands for, to the entries of the results.
    recipe: for<'r> fn(&[Expr<'r>], usize) -> Vec<Expr<'r>>,
}

/// A table of rows: the doc comment, then name, forms of arguments and results, and the recipe. A name without quotes is
/// a method of values too, which the macro `$rows` tells.
macro_rules! nested_functions {
    ($dollar:tt $rows:ident; $(
        $(#[doc = $doc:literal])+
        $($method:ident)? $($name:literal)? ($($parameter:expr),*) -> ($($result:expr),*), $class:ident $(($entries:ident $(, lanes [$($op:ident),*])?))? = $recipe:expr;
    )*) => {
        pub(super) const ROWS: &[NestedFunction] = &[$(NestedFunction {
            name: nested_functions!(@name $($method)? $($name)?),
            parameters: &[$($parameter),*],
            results: &[$($result),*],
            class: Class::$class,
            entries: nested_functions!(@entries $($entries)?),
            over_lanes: nested_functions!(@lanes $($([$($op),*])?)?),
            doc: concat!($($doc, "\n"),+),
            recipe: $recipe,
        },)*];

        /// Calls the macro `$with` with what else is given, and all rows: `[name] (forms);`, or `[]` of what is no method.
        macro_rules! $rows {
            ($dollar with:ident $dollar($dollar context:tt)*) => {
                $dollar with! { $dollar($dollar context)* $([$($method)?] ($($parameter),*);)* }
            };
        }
    };
    (@name $name:literal) => { $name };
    (@name $name:ident) => { stringify!($name) };
    (@entries $entries:ident) => { crate::trace::nested::Entries::$entries };
    (@entries) => { crate::trace::nested::Entries::Real };
    (@lanes [$($op:ident),*]) => { Some(&[$(crate::ir::op::Op::$op),*]) };
    (@lanes) => { None };
}
use nested_functions;

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

/// The function called `name` for arguments of these forms.
pub fn find(name: &str, forms: &[Form]) -> Option<NestedCall> {
    rows().filter(|row| row.name == name).find_map(|function| {
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
        let calls = rows()
            .filter(|row| row.name == name)
            .map(|function| Self { function, n: usize::try_from(n).unwrap_or(N) });
        calls.into_iter().find(|call| call.shape() == shape)
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

/// Functions of real numbers: those of the table, so that derivatives find them.
mod real {
    use crate::trace::expr::Expr;

    macro_rules! functions {
        ($($name:ident),*; $($of_two:ident),*) => {
            $(pub(super) fn $name(x: Expr<'_>) -> Expr<'_> {
                x.call(stringify!($name), &[])
            })*
            $(pub(super) fn $of_two<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
                x.call(stringify!($of_two), &[y])
            })*
        };
    }
    functions!(asin, asinh, cos, cosh, exp, exp10, exp2, log, log1p, sin, sinh, tanh; atan2, hypot, mulsign);
}

/// `a[0] * b[0] + a[1] * b[1] + …`, from left to right.
fn dot<'r>(a: &[Expr<'r>], b: &[Expr<'r>]) -> Expr<'r> {
    let products = a.iter().zip(b).map(|(&a, &b)| a * b);
    products
        .reduce(|sum, product| sum + product)
        .expect("internal error: a vector without components")
}

/// Every entry of `v` times `factor`.
fn scaled<'r>(v: &[Expr<'r>], factor: Expr<'r>) -> Vec<Expr<'r>> {
    v.iter().map(|&entry| entry * factor).collect()
}

/// Every entry of `v` divided by `divisor`.
fn divided<'r>(v: &[Expr<'r>], divisor: Expr<'r>) -> Vec<Expr<'r>> {
    v.iter().map(|&entry| entry / divisor).collect()
}

/// Its derivative at 0 is 0, as that of `abs` is.
fn norm<'r>(v: &[Expr<'r>]) -> Expr<'r> {
    let squared = dot(v, v);
    let root = squared.sqrt();
    if root.is_differentiated() {
        let zero = squared.constant(0);
        return squared.eq(zero).select(zero, root);
    }
    root
}

fn cross<'r>(a: &[Expr<'r>], b: &[Expr<'r>]) -> Vec<Expr<'r>> {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i]).to_vec()
}
