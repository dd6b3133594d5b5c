//! Panics of libraries that meet damaged files: an error, and nothing on the terminal.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use super::trouble::{Result, Trouble, damaged};

thread_local! {
    /// Whether a panic of this thread is an answer, of which nothing is printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Work on a file whose panics say that the file is damaged.
pub(super) fn quietly<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                print(panic);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(before);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(text
            .map_or_else(|| Trouble::Damaged("a value is out of range".into()), |it| damaged(&it)))
    })
}
