//! Ranks of tests: the test program itself, started again as one of its own tests.

use std::ffi::OsString;

/// Set in processes that serve others.
const SERVES: &str = "PORCINI_TEST_SERVES";
/// Set where the GPU of such a process is an interpreter that passes for one.
const PASSES: &str = "PORCINI_TEST_PASSES_FOR_GPU";
/// Set where that fails.
const FAILS: &str = "PORCINI_TEST_GPU_FAILS";
/// The test that is a rank where [`serves`] says so; every program whose tests open ranks has it.
const TEST: &str = "parts::a_rank";

/// What this program is as another one's rank.
///
/// # Panics
/// If the system does not say what this program is.
pub fn program() -> Vec<OsString> {
    let own = std::env::current_exe().expect("a test is a program");
    let words = ["env", &format!("{SERVES}=1")].map(OsString::from);
    // What comes behind it, a number of threads, is another name for the harness.
    words.into_iter().chain([own.into(), "--exact".into(), TEST.into()]).collect()
}

/// The same with an interpreter that passes for its GPU ([`Fragile`](crate::fragile::Fragile)).
///
/// # Panics
/// As [`program`].
pub fn program_without_gpu() -> Vec<OsString> {
    let mut words = program();
    words.insert(1, format!("{PASSES}=1").into());
    words
}

/// The same with one that has failed.
///
/// # Panics
/// As [`program`].
pub fn program_whose_gpu_fails() -> Vec<OsString> {
    let mut words = program_without_gpu();
    words.insert(1, format!("{FAILS}=1").into());
    words
}

/// Whether what passes for a GPU is to fail.
pub fn fails() -> bool {
    std::env::var_os(FAILS).is_some()
}

/// Whether this process was started with an interpreter in the place of a GPU.
pub fn passes_for_gpu() -> bool {
    std::env::var_os(PASSES).is_some()
}

/// Whether this process was started to be a rank.
pub fn serves() -> bool {
    std::env::var_os(SERVES).is_some()
}
