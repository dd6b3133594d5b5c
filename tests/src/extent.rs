//! How much tests try: everything under `PORCINI_FULL=1`, else what shows most in the time there is.

/// Whether everything is tried.
pub fn is_full() -> bool {
    std::env::var_os("PORCINI_FULL").is_some()
}

/// Between two things of which one in `n` is tried, or all: for `step_by`.
pub fn every(n: usize) -> usize {
    if is_full() { 1 } else { n }
}
