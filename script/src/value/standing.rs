//! Functions of scripts that stand for things: kernels, `grad(f)`, `jit(f)`.

use rhai::{Dynamic, FnPtr};

/// The function that stands for a thing: `name` calls it.
pub(crate) fn standing_for(name: &'static str, thing: Dynamic) -> FnPtr {
    let mut function = FnPtr::new(name).expect("internal error: no name of a function");
    function.add_curry(thing);
    function
}
