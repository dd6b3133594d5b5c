//! Operators, and beside each the method that returns an error instead of panicking.

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
