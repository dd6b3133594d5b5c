//! Operators, and beside each the method that returns an error instead of panicking; methods for the rows of tables.

/// The operators of a type, and the methods `try_add` and so on which they call. Operators cannot return errors: they
/// panic with the message of the error that the method returns.
macro_rules! operators {
    ($type:ident, $argument:ident) => {
        impl $type {
            operators!(@methods $argument; try_add Add, try_sub Sub, try_mul Mul, try_div Div, try_rem Rem,
                try_and And, try_or Or, try_xor Xor, try_shl Shl, try_shr Shr; try_neg Neg, try_not Not);
        }
        operators!(@operators $type, $argument, $type);
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
    (@operators $type:ident, $argument:ident, $output:ident) => {
        operators!(@binary $type, $argument, $output; Add add try_add, Sub sub try_sub, Mul mul try_mul,
            Div div try_div, Rem rem try_rem, BitAnd bitand try_and, BitOr bitor try_or,
            BitXor bitxor try_xor, Shl shl try_shl, Shr shr try_shr);
        operators!(@unary $type, $output; Neg neg try_neg, Not not try_not);
    };
    (@binary $type:ident, $argument:ident, $output:ident; $($trait:ident $method:ident $fallible:ident),*) => { $(
        /// # Panics
        #[doc = concat!("If the operands do not fit; [`", stringify!($output), "::", stringify!($fallible), "`] returns an error instead.")]
        impl<'a, T: Into<$argument<'a>>> std::ops::$trait<T> for &$type {
            type Output = $output;
            #[track_caller]
            fn $method(self, other: T) -> $output {
                self.$fallible(other).unwrap_or_else(|error| panic!("{error}"))
            }
        }
        /// # Panics
        #[doc = concat!("If the operands do not fit; [`", stringify!($output), "::", stringify!($fallible), "`] returns an error instead.")]
        impl<'a, T: Into<$argument<'a>>> std::ops::$trait<T> for $type {
            type Output = $output;
            #[track_caller]
            fn $method(self, other: T) -> $output {
                self.$fallible(other).unwrap_or_else(|error| panic!("{error}"))
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
                self.$fallible().unwrap_or_else(|error| panic!("{error}"))
            }
        }
    )* };
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
        impl $type {
            $(methods!(@arity $argument $name $arity [named(methods!(@name $name $($text)?))] concat!(
                "Records the function `", methods!(@name $name $($text)?), "` of `trace/functions.rs`, `self` first."
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
