//! Arrays and functions among the arguments of a call.

use porcini_core::{Array, DType, Session};
use rhai::{Dynamic, FnPtr, NativeCallContext};

use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::{ArrayRef, type_name};

/// The array or nested value that an argument is.
pub(super) fn of_array(op: &str, value: &Dynamic) -> Result<ArrayRef> {
    let array = value.read_lock::<ArrayRef>().map(|value| value.clone());
    array.ok_or_else(|| fault(format!("{op}: got {}, expected an array", type_name(value))))
}

/// Which lanes of what is of a session take part: a mask, or a bool for all.
pub(super) fn of_active(session: &Session, op: &str, value: &Dynamic) -> Result<Array> {
    if let Ok(all) = value.as_bool() {
        return session.full(DType::Mask, all, 1).or_fault();
    }
    let mask = value.read_lock::<ArrayRef>().map(|mask| mask.clone());
    let got = || {
        fault_with_hint(
            format!("{op}: got {} as active, expected a mask", type_name(value)),
            "a mask is what a comparison gives: x > 0",
        )
    };
    mask.ok_or_else(got)?.array(op)
}

/// Calls a function that does the work of another; what is wrong is told of the call that the script made.
pub(super) fn recalled(
    call: &NativeCallContext<'_>,
    name: &str,
    mut args: Vec<Dynamic>,
) -> Result<Dynamic> {
    let mut args: Vec<&mut Dynamic> = args.iter_mut().collect();
    call.call_fn_raw(name, false, false, &mut args).map_err(|mut error| {
        error.clear_position();
        error
    })
}

/// The function that an argument is.
pub(super) fn of_function(op: &str, value: &Dynamic) -> Result<FnPtr> {
    let function = value.read_lock::<FnPtr>().map(|function| function.clone());
    function.ok_or_else(|| {
        let message = format!("{op}: got {}, expected a function", type_name(value));
        fault_with_hint(message, format!("{op}(|x| x * x, ..)"))
    })
}

/// Refuses to give contents away in a function that is differentiated, as [`check_lane`] does.
pub(super) fn check_contents(op: &str, value: &ArrayRef) -> Result<()> {
    if value.leaves().iter().any(Array::has_derivative_to_lose) {
        return Err(fault_with_hint(
            format!("{op}: contents that are read do not know what they were computed from"),
            format!("{op}(detach(x)) gives them without derivative"),
        ));
    }
    Ok(())
}

/// Refuses to read a lane as a number in a function that is differentiated: its derivative would be lost without a word.
pub(super) fn check_lane(array: &Array) -> Result<()> {
    if array.has_derivative_to_lose() {
        return Err(fault_with_hint(
            "[]: a lane read as a number does not know what it was computed from",
            "x[0..1] is the lane as an array, detach(x)[0] the number without derivative",
        ));
    }
    Ok(())
}
