//! Work that threads share.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use porcini_core::memory::process_heap;

/// What `work` makes of each item, in their order; up to `threads` threads, this one among them, take one item after the
/// other. After an error no further item is begun, and the first of those found is the answer: all before it are done.
pub(crate) fn side_by_side<T, R: Send, E: Send>(
    threads: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let n = items.len();
    let items = Mutex::new(items.enumerate());
    let done = Mutex::new(Vec::new());
    let has_failed = AtomicBool::new(false);
    let go = || {
        while !has_failed.load(Ordering::Relaxed) {
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((i, item)) = next else { break };
            let result = work(item);
            // Those before this one are taken: the first error is among them.
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
        }
    };
    let handed_over = AtomicI64::new(0);
    thread::scope(|scope| {
        for _ in 1..threads.min(n) {
            let beside = || {
                go();
                handed_over.fetch_add(process_heap::hand_over(), Ordering::Relaxed);
            };
            // A thread that the system refuses is one fewer.
            if thread::Builder::new().spawn_scoped(scope, beside).is_err() {
                break;
            }
        }
        go();
    });
    process_heap::receive(handed_over.into_inner());
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_order_and_the_first_error_wins() {
        for threads in [1, 2, 5] {
            let squares = side_by_side(threads, 0..1000, |i| Ok::<_, ()>(i * i)).unwrap();
            assert_eq!(squares, (0..1000).map(|i| i * i).collect::<Vec<_>>());
            let error =
                side_by_side(threads, 0..1000, |i| if i % 300 == 299 { Err(i) } else { Ok(i) });
            assert_eq!(error, Err(299));
            let nothing: Result<Vec<()>, ()> = side_by_side(threads, 0..0, |_: usize| Err(()));
            assert_eq!(nothing, Ok(Vec::new()));
        }
    }
}
