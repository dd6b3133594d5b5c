//! Bisection by a closure of scripts.

use porcini_core::{Array, DType};
use rhai::{Dynamic, FnPtr, NativeCallContext};

use super::catalogue::count_argument;
use super::registry::Registry;
use crate::fault::{IntoFault, Result, fault};
use crate::value::{ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "binary_search",
        "(start, end, below)",
        "The first integer from start up to end, script integers from 0 up, for which below is false, in each lane, if it \
         is true for those before: a bisection, recorded, not run. below gets an array of integers and returns a mask; it is never \
         asked about end, the answer where it is always true.\n\n\
         >> binary_search(0, 100, |i| i * i < Int32C([10, 81]))\n[4, 9]",
    );
    registry.any("binary_search", 3, |context, call, args| {
        context.at(call);
        let start = count_argument("binary_search", "a start", args[0])?;
        let end = count_argument("binary_search", "an end", args[1])?;
        let below = args[2].read_lock::<FnPtr>().map(|below| below.clone());
        let below = below.ok_or_else(|| {
            fault(format!("binary_search: got {}, expected a closure |i| mask", type_name(args[2])))
        })?;
        let mut trouble = None;
        let ask = |i: &Array| match ask(&below, call, i) {
            Ok(mask) => Ok(mask),
            Err(error) => {
                // Ends the search; the trouble is what comes back.
                trouble = Some(error);
                Err(porcini_core::Error::Interrupted)
            }
        };
        let found = context.session.binary_search(start, end, ask);
        match trouble {
            Some(error) => Err(error),
            None => found.map(ArrayRef::leaf).or_fault(),
        }
    });
}

/// What a closure says about integers: a mask.
fn ask(below: &FnPtr, call: &NativeCallContext<'_>, i: &Array) -> Result<Array> {
    let i = ArrayRef::leaf(i.clone());
    let answer = below.call_within_context::<Dynamic>(call, (i,))?;
    let mask = answer.read_lock::<ArrayRef>().map(|mask| mask.clone());
    match mask {
        Some(mask) if mask.dtype() == DType::Mask => mask.array("binary_search"),
        _ => {
            let got = type_name(&answer);
            Err(fault(format!("binary_search: the closure gave {got}, expected a mask")))
        }
    }
}
