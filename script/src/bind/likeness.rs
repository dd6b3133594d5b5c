//! Items of lists that equal others: `in`, `contains`, `index_of`, `==` of lists. Numbers, texts and truth values are compared
//! here, as `==` compares them in scripts; all else by the `==` that its types have.

use rhai::{Array, Dynamic, Engine, EvalAltResult, NativeCallContext};

use crate::fault::{Result, check_interrupt, fault_with_hint};
use crate::value::ArrayRef;

/// What `a in b` calls.
pub(super) const CONTAINS: &str = "`in` (contains)";

type Call<'a> = NativeCallContext<'a>;

pub(super) fn register(engine: &mut Engine) {
    engine.register_fn(
        "contains",
        |call: Call<'_>, list: &mut Array, value: Dynamic| -> Result<bool> {
            for item in list.iter() {
                if equal(&call, CONTAINS, item, &value)? {
                    return Ok(true);
                }
            }
            Ok(false)
        },
    );
    engine.register_fn("index_of", |call: Call<'_>, list: &mut Array, value: Dynamic| {
        index_of(&call, list, &value, 0)
    });
    engine.register_fn(
        "index_of",
        |call: Call<'_>, list: &mut Array, value: Dynamic, start: i64| {
            index_of(&call, list, &value, start)
        },
    );
    engine.register_fn("==", |call: Call<'_>, a: Array, b: Array| equal_lists(&call, "==", &a, &b));
    engine.register_fn("!=", |call: Call<'_>, a: Array, b: Array| {
        equal_lists(&call, "!=", &a, &b).map(|equal| !equal)
    });
}

/// Whether `a == b`, of what needs no look-up of an operator.
#[expect(clippy::cast_precision_loss, reason = "an integer meets a float as a float")]
pub(super) fn plainly_equal(a: &Dynamic, b: &Dynamic) -> Option<bool> {
    if let (Ok(a), Ok(b)) = (a.as_int(), b.as_int()) {
        return Some(a == b);
    }
    let number = |value: &Dynamic| value.as_float().or_else(|_| value.as_int().map(|n| n as f64));
    if let (Ok(a), Ok(b)) = (number(a), number(b)) {
        return Some(a == b);
    }
    if let (Ok(a), Ok(b)) = (a.as_immutable_string_ref(), b.as_immutable_string_ref()) {
        return Some(*a == *b);
    }
    Some(a.as_bool().ok()? == b.as_bool().ok()?)
}

fn equal_lists(call: &Call<'_>, op: &str, a: &[Dynamic], b: &[Dynamic]) -> Result<bool> {
    let mut same = a.len() == b.len();
    for (a, b) in a.iter().zip(b) {
        same &= equal(call, op, a, b)?;
    }
    Ok(same)
}

fn equal(call: &Call<'_>, op: &str, a: &Dynamic, b: &Dynamic) -> Result<bool> {
    if let Some(same) = plainly_equal(a, b) {
        return check_interrupt().map(|()| same);
    }
    if a.is::<ArrayRef>() || b.is::<ArrayRef>() {
        return Err(compared_by_lane(op));
    }
    // Copies of lists in lists would take longer than anybody waits who presses Ctrl-C.
    if let (Some(a), Some(b)) = (a.read_lock::<Array>(), b.read_lock::<Array>()) {
        return equal_lists(call, op, &a, &b);
    }
    or_unlike(call.call_native_fn::<bool>("==", (a.clone(), b.clone())), a, b)
}

/// Inside of lists what cannot be compared is another item, as a list and a text.
fn or_unlike(compared: Result<bool>, a: &Dynamic, b: &Dynamic) -> Result<bool> {
    match compared {
        Err(error)
            if a.type_id() != b.type_id()
                && matches!(*error, EvalAltResult::ErrorFunctionNotFound(..)) =>
        {
            Ok(false)
        }
        result => result,
    }
}

/// Index of the first equal item from a place on, or -1; a negative place counts from the end. An array among the items
/// equals none.
fn index_of(call: &Call<'_>, list: &[Dynamic], value: &Dynamic, start: i64) -> Result<i64> {
    let back = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
    let start = if start < 0 { list.len().saturating_sub(back) } else { back };
    for (i, item) in list.iter().enumerate().skip(start) {
        let same = match plainly_equal(item, value) {
            Some(same) => check_interrupt().map(|()| same)?,
            None => {
                let (mut item, mut value) = (item.clone(), value.clone());
                let said = call.call_native_fn_raw("==", true, &mut [&mut item, &mut value]);
                or_unlike(said.map(|said| said.as_bool().unwrap_or(false)), &item, &value)?
            }
        };
        if same {
            return Ok(i64::try_from(i).unwrap_or(i64::MAX));
        }
    }
    Ok(-1)
}

pub(super) fn compared_by_lane(op: &str) -> Box<EvalAltResult> {
    fault_with_hint(
        format!(
            "{op}: arrays are compared lane by lane, so they are not equal or unequal as a whole"
        ),
        "write all(a == b), or any(x == value)",
    )
}
