//! Operators, and beside each the method that returns an error instead of panicking; methods for the rows of tables.

use crate::error::Result;

/// What an operator gives, which cannot return an error: it panics with its message, in the line that has the operator.
#[track_caller]
pub(crate) fn recorded<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// The sum of arrays or values. Without any there is none: no session is known that would have the 0.
#[track_caller]
pub(crate) fn added<T: std::ops::Add<Output = T>>(mut terms: impl Iterator<Item = T>) -> T {
    let first = terms.next().expect("a sum has one term or more");
    terms.fold(first, |sum, term| sum + term)
}

/// Gives a macro the operators of numbers, or of bits: operation, trait and method, those that assign.
macro_rules! operator_rows {
    (numbers $then:ident $about:tt) => {
        $then! { @rows $about
            Add Add add AddAssign add_assign;
            Sub Sub sub SubAssign sub_assign;
            Mul Mul mul MulAssign mul_assign;
            Div Div div DivAssign div_assign;
            Rem Rem rem RemAssign rem_assign;
        }
    };
    (bits $then:ident $about:tt) => {
        $then! { @rows $about
            And BitAnd bitand BitAndAssign bitand_assign;
            Or BitOr bitor BitOrAssign bitor_assign;
            Xor BitXor bitxor BitXorAssign bitxor_assign;
            Shl Shl shl ShlAssign shl_assign;
            Shr Shr shr ShrAssign shr_assign;
        }
    };
}
pub(crate) use operator_rows;

/// The operators of a type, sums of it, and the methods `try_add` and so on, which return errors in their place.
macro_rules! operators {
    ($type:ident, $argument:ident) => {
        impl $type {
            operators!(@methods $argument; try_add Add, try_sub Sub, try_mul Mul, try_div Div, try_rem Rem,
                try_and And, try_or Or, try_xor Xor, try_shl Shl, try_shr Shr; try_neg Neg, try_not Not);
        }
        operators!(@operators $type, $type);
        $crate::array::operators::operator_rows!(numbers operators (assign $type));
        $crate::array::operators::operator_rows!(bits operators (assign $type));
        operators!(@sums $type);
    };
    (@methods $argument:ident; $($name:ident $op:ident),*; $($unary:ident $uop:ident),*) => {
        $(
            #[doc = concat!("Records [`Op::", stringify!($op), "`].\n\n# Errors\nAs `apply`.")]
            pub fn $name<'a>(&self, other: impl Into<$argument<'a>>) -> Result<Self> {
                self.apply($crate::ir::op::Op::$op, &[other.into()])
            }
        )*
        $(
            #[doc = concat!("Records [`Op::", stringify!($uop), "`].\n\n# Errors\nAs `apply`.")]
            pub fn $unary(&self) -> Result<Self> {
                self.apply($crate::ir::op::Op::$uop, &[])
            }
        )*
    };
    (@operators $type:ident, $left:ident) => {
        $crate::array::operators::operator_rows!(numbers operators (left $type $left));
        $crate::array::operators::operator_rows!(bits operators (left $type $left));
        operators!(@unary $type, $left; Neg neg try_neg, Not not try_not);
        $crate::array::operators::operator_rows!(numbers operators (right f64 $type));
        $crate::array::operators::operator_rows!(numbers operators (right i32 $type));
        $crate::array::operators::operator_rows!(bits operators (right i32 $type));
    };
    (@rows (left $type:ident $left:ident) $($op:ident $trait:ident $method:ident $assign:ident $assigned:ident;)*) => { $(
        /// # Panics
        #[doc = concat!("If the operands do not fit; [`", stringify!($left), "::apply`] returns an error instead.")]
        impl<T: $crate::array::RightSide<$left>> std::ops::$trait<T> for &$type {
            type Output = T::Output;
            #[track_caller]
            fn $method(self, right: T) -> T::Output {
                $crate::array::operators::recorded(right.record($crate::ir::op::Op::$op, self))
            }
        }
        /// # Panics
        #[doc = concat!("If the operands do not fit; [`", stringify!($left), "::apply`] returns an error instead.")]
        impl<T: $crate::array::RightSide<$left>> std::ops::$trait<T> for $type {
            type Output = T::Output;
            #[track_caller]
            fn $method(self, right: T) -> T::Output {
                $crate::array::operators::recorded(right.record($crate::ir::op::Op::$op, &self))
            }
        }
    )* };
    (@rows (assign $type:ident) $($op:ident $trait:ident $method:ident $assign:ident $assigned:ident;)*) => { $(
        /// The variable then names the result; other names of the value keep it.
        ///
        /// # Panics
        /// If the operands do not fit.
        impl<T: $crate::array::RightSide<$type, Output = $type>> std::ops::$assign<T> for $type {
            #[track_caller]
            fn $assigned(&mut self, right: T) {
                *self = $crate::array::operators::recorded(right.record($crate::ir::op::Op::$op, self));
            }
        }
    )* };
    (@rows (right $number:ident $type:ident) $($op:ident $trait:ident $method:ident $assign:ident $assigned:ident;)*) => { $(
        /// Literals are of this type; other numbers stand in front as `Scalar::from(n)`.
        ///
        /// # Panics
        /// If the operands do not fit.
        impl std::ops::$trait<&$type> for $number {
            type Output = <$type as $crate::array::RightSide<$crate::dtype::Scalar>>::Output;
            #[inline]
            #[track_caller]
            fn $method(self, right: &$type) -> Self::Output {
                $crate::dtype::Scalar::from(self).$method(right)
            }
        }
        /// As of what is borrowed.
        ///
        /// # Panics
        /// If the operands do not fit.
        impl std::ops::$trait<$type> for $number {
            type Output = <$type as $crate::array::RightSide<$crate::dtype::Scalar>>::Output;
            #[inline]
            #[track_caller]
            fn $method(self, right: $type) -> Self::Output {
                $crate::dtype::Scalar::from(self).$method(&right)
            }
        }
    )* };
    (@unary $type:ident, $output:ident; $($trait:ident $method:ident $fallible:ident),*) => { $(
        /// # Panics
        #[doc = concat!("If it does not take the type; [`", stringify!($output), "::", stringify!($fallible), "`] returns an error instead.")]
        impl std::ops::$trait for &$type {
            type Output = $output;
            #[track_caller]
            fn $method(self) -> $output {
                $crate::array::operators::recorded(self.$fallible())
            }
        }
        /// # Panics
        #[doc = concat!("If it does not take the type; [`", stringify!($output), "::", stringify!($fallible), "`] returns an error instead.")]
        impl std::ops::$trait for $type {
            type Output = $output;
            #[track_caller]
            fn $method(self) -> $output {
                $crate::array::operators::recorded(self.$fallible())
            }
        }
    )* };
    (@sums $type:ident) => {
        /// # Panics
        /// If there are no terms, or they do not fit.
        impl std::iter::Sum for $type {
            #[track_caller]
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                $crate::array::operators::added(terms)
            }
        }
        /// # Panics
        /// If there are no terms, or they do not fit.
        impl<'a> std::iter::Sum<&'a Self> for $type {
            #[track_caller]
            fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
                $crate::array::operators::added(terms.cloned())
            }
        }
    };
}
pub(crate) use operators;

/// Methods of a type for the rows of the tables of operations, functions and reductions: it has `apply`, `named` and
/// `reduce`, which take these.
macro_rules! methods {
    ($type:ident, $argument:ident) => {
        $crate::ir::op::op_rows!(methods @operations $type $argument);
        $crate::trace::functions::function_rows!(methods @functions $type $argument);
        $crate::ir::op::reduce_rows!(methods @reductions $type);
    };
    (@operations $type:ident $argument:ident $($op:ident $name:ident $arity:tt $shape:ident $(($operator:literal))?;)*) => {
        impl $type { $(methods!(@operation $argument $op $name $arity $shape $($operator)?);)* }
    };
    (@functions $type:ident $argument:ident $(
        $(#[doc = $doc:literal])+
        $name:ident $(as $text:literal)? / $arity:tt, $class:ident $(($($columns:tt)+))? = $recipe:expr $(, half = $half:expr)? $(, defaults = [$($default:expr),+])? $(, partials = [$($partials:tt)+])?;
    )*) => {
        #[allow(rustdoc::broken_intra_doc_links, reason = "the arrays of examples stand in brackets")]
        impl $type {
            $(methods!(@arity $argument $name $arity [named(methods!(@name $name $($text)?))] concat!(
                $($doc, "\n",)+ "\n`self` is the first argument. Recorded, not run; the example is a script's."
            ));)*
        }
    };
    (@reductions $type:ident $($(#[doc = $doc:literal])+ $op:ident = $name:ident, $combine:ident;)*) => {
        impl $type { $(
            #[doc = concat!("Records `ReduceOp::", stringify!($op), "`.\n\n# Errors\nAs `reduce`.")]
            pub fn $name(&self) -> Result<Self> {
                self.reduce($crate::ir::op::ReduceOp::$op)
            }
        )* }
    };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $text:literal) => { $text };
    (@operation $argument:ident $op:ident $name:ident $arity:tt Special) => {};
    (@operation $argument:ident $op:ident $name:ident $arity:tt Same $operator:literal) => {};
    (@operation $argument:ident $op:ident $name:ident $arity:tt $shape:ident $($operator:literal)?) => {
        methods!(@arity $argument $name $arity [apply($crate::ir::op::Op::$op)] concat!(
            "Records [`Op::", stringify!($op), "`]."
        ));
    };
    (@arity $argument:ident $name:ident 1 [$record:ident($row:expr)] $doc:expr) => {
        #[doc = concat!($doc, "\n\n# Errors\nAs `apply`.")]
        pub fn $name(&self) -> Result<Self> {
            self.$record($row, &[])
        }
    };
    (@arity $argument:ident $name:ident 2 [$record:ident($row:expr)] $doc:expr) => {
        #[doc = concat!($doc, "\n\n# Errors\nAs `apply`.")]
        pub fn $name<'a>(&self, other: impl Into<$argument<'a>>) -> Result<Self> {
            self.$record($row, &[other.into()])
        }
    };
    (@arity $argument:ident $name:ident 3 [$record:ident($row:expr)] $doc:expr) => {
        #[doc = concat!($doc, "\n\n# Errors\nAs `apply`.")]
        pub fn $name<'a>(
            &self,
            b: impl Into<$argument<'a>>,
            c: impl Into<$argument<'a>>,
        ) -> Result<Self> {
            self.$record($row, &[b.into(), c.into()])
        }
    };
}
pub(crate) use methods;
