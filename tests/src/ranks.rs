//! Ranks of tests: the test program itself, started again as one of its own tests.

use std::ffi::OsString;

/// Set in processes that serve others.
const SERVES: &str = "PORCINI_TEST_SERVES";
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

/// Whether this process was started to be a rank.
pub fn serves() -> bool {
    std::env::var_os(SERVES).is_some()
}
