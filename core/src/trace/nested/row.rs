//! Rows of the table of functions of vectors, matrices, complex numbers and quaternions, and the forms of such values.

use std::fmt;

use crate::ir::op::{Class, Op};
use crate::trace::expr::Expr;

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
pub(super) const N: usize = 0;

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
            Self::Matrix(n) => n.saturating_mul(n),
        }
    }

    /// A byte that tells it from other forms of rows.
    pub(super) const fn number(self) -> u64 {
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
    pub(super) fn matches(self, row: Self, n: &mut usize) -> bool {
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
    pub(super) fn with(self, n: usize) -> Self {
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
    /// None; what is real is its own result.
    Itself,
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
    pub(super) recipe: for<'r> fn(&[Expr<'r>], usize) -> Vec<Expr<'r>>,
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

        /// Calls the macro `$with` with what else is given, and all rows: `[name] (forms) [docs];`, or `[]` of what is no
        /// method.
        macro_rules! $rows {
            ($dollar with:ident $dollar($dollar context:tt)*) => {
                $dollar with! { $dollar($dollar context)* $([$($method)?] ($($parameter),*) [$($doc),+];)* }
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
pub(super) use nested_functions;
