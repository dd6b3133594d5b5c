//! The types of indices.

/// An index type: its value as a position, huge when negative.
pub(super) trait Index: Copy {
    /// It in 64 bits, with its sign if it has one.
    fn position(self) -> u64;
}

macro_rules! index {
    ($($t:ty => |$x:ident| $e:expr;)*) => { $(
        impl Index for $t { #[inline(always)] fn position(self) -> u64 { let $x = self; $e } }
    )* };
}
index! {
    i32 => |x| i64::from(x).cast_unsigned();
    u32 => |x| u64::from(x);
    i64 => |x| x.cast_unsigned();
    u64 => |x| x;
}
