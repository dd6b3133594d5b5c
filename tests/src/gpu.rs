//! The GPU that tests run on where there is one.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use porcini_core::device::Gpus;
use porcini_core::{DType, DeviceChoice, Result, Runtime, Session};

/// The first GPU, opened once for all tests. Where there is none, tests say that they skip it, or fail if
/// `PORCINI_REQUIRE_CUDA=1`.
///
/// # Panics
/// If there is none and one is required.
pub fn open() -> Option<Arc<Runtime>> {
    static GPU: OnceLock<Option<Arc<Runtime>>> = OnceLock::new();
    GPU.get_or_init(|| first().map_err(|error| skip(&error)).ok()).clone()
}

fn first() -> Result<Arc<Runtime>> {
    let runtime = Runtime::new(DeviceChoice::Cuda(0), 1, None)?;
    // Opens it.
    let session = Session::builder().runtime(runtime.clone()).build()?;
    drop(session.opaque(DType::F32, 1, 1)?);
    Ok(runtime)
}

fn skip(error: &porcini_core::Error) {
    let required = std::env::var_os("PORCINI_REQUIRE_CUDA").is_some_and(|value| value == "1");
    assert!(!required, "PORCINI_REQUIRE_CUDA=1, but {error}");
    say_skipped(error);
}

/// The GPUs that are one device in tests: what `PORCINI_GPUS` lists, as `0,1`, or the first several times, since parts
/// of one are opened one by one, as several are.
///
/// # Panics
/// If the variable lists something else.
pub fn several() -> Vec<Gpus> {
    let listed = std::env::var("PORCINI_GPUS").unwrap_or_else(|_| "0,0 0,0,0".into());
    listed.split(' ').map(|gpus| gpus.parse().expect("PORCINI_GPUS is as 0,1")).collect()
}

/// Says why tests do nothing.
#[expect(clippy::print_stderr, reason = "what a skipped test says")]
pub fn say_skipped(why: &dyn Display) {
    eprintln!("tests on a GPU are skipped: {why}");
}
