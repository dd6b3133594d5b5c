//! The thread that scripts run on, with a stack that deep recursion does not use up.

use porcini_core::memory::process_heap;

/// Stack of the engine thread: deep recursion in scripts ends with an error long before it is used up.
pub const ENGINE_STACK: usize = 512 << 20;
/// The smallest, where the system gives this process little memory.
const LEAST_STACK: usize = 16 << 20;

/// Stack of the engine thread: where the system bounds the memory of this process, at most a quarter of that.
#[cfg(unix)]
pub(crate) fn stack() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limits = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current);
    let least = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
    usize::try_from(least / 4).unwrap_or(ENGINE_STACK).clamp(LEAST_STACK, ENGINE_STACK)
}

#[cfg(not(unix))]
pub(crate) fn stack() -> usize {
    ENGINE_STACK
}

/// Runs `work` on a thread whose stack is large enough for an interpreter.
///
/// # Panics
/// If `work` panics, or the system refuses the thread.
pub fn on_engine_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    process_heap::share();
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("porcini".into()).stack_size(stack());
        let thread = builder.spawn_scoped(scope, work);
        let thread = thread.expect("internal error: the system refuses the engine thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Starts a thread of its own whose stack is large enough for an interpreter.
///
/// # Errors
/// If the system refuses the thread.
pub fn start_engine_thread<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<R>> {
    process_heap::share();
    let builder = std::thread::Builder::new().name("porcini".into()).stack_size(stack());
    builder.spawn(work)
}
