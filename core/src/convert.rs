//! Conversions between number types where an invariant says that the number fits.

use std::any::type_name;
use std::fmt::Display;

/// The same number as another type.
///
/// # Panics
/// If the type cannot hold the number: the invariant is broken.
#[inline]
#[track_caller]
pub(crate) fn exactly<T>(number: impl Copy + Display + TryInto<T>) -> T {
    let Ok(same) = number.try_into() else {
        panic!("internal error: {number} is no {}", type_name::<T>())
    };
    same
}
