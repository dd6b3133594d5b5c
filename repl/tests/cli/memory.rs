//! What limits of memory hold for.

use std::process::Command;

use crate::{finished, folder, porcini, run};

/// Runs a script under a limit; exit code and standard error.
fn run_within(limit: &str, script: &str) -> (i32, String) {
    let output = porcini(&["-e", script]).env("PORCINI_MEMORY_LIMIT", limit).output().unwrap();
    let (code, _, err) = finished(&output);
    (code, err)
}

#[test]
fn memory_limits_are_honoured() {
    // The second fails only when it is shown.
    for script in ["eval(FloatC::arange(0, 1000000, 1) * 2)", "y = FloatC::arange(1000000) * 2;y"] {
        let output = porcini(&["-e", script]).env("PORCINI_MEMORY_LIMIT", "1M").output().unwrap();
        let (code, _, err) = finished(&output);
        assert_eq!((code, err.contains("<eval>:1:")), (1, true), "{err}");
        assert!(err.contains("out of memory") && err.contains("1 MiB (PORCINI_MEM"), "{err}");
    }
    // Host arrays count, too.
    let script = "let l = []; for i in 0..6 { l.push(FloatC::arange(4000000).ndarray()); }";
    let output = porcini(&["-e", script]).env("PORCINI_MEMORY_LIMIT", "64M").output().unwrap();
    let (code, _, err) = finished(&output);
    assert!(code == 1 && err.contains("of 64 MiB (PORCINI_MEMORY_LIMIT) in use"), "{err}");
    let output = porcini(&["-e", "1"]).env("PORCINI_MEMORY_LIMIT", "lots").output().unwrap();
    assert!(finished(&output).2.contains("PORCINI_MEMORY_LIMIT=lots is no size"));
}

#[cfg(unix)]
#[test]
fn a_limit_that_is_no_text_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let limit = std::ffi::OsStr::from_bytes(b"\xff");
    let output = porcini(&["-e", "1"]).env("PORCINI_MEMORY_LIMIT", limit).output().unwrap();
    let (code, _, err) = finished(&output);
    assert!(code == 0 && err.contains("PORCINI_MEMORY_LIMIT=\u{fffd} is no size"), "{err}");
}

/// Nobody reads a file first to see that it is too large.
#[cfg(target_os = "linux")]
#[test]
fn files_have_the_limit_of_arrays() {
    let long = folder("long_files").join("long");
    std::fs::File::create(&long).unwrap().set_len(20 << 30).unwrap();
    for path in ["/dev/zero", long.to_str().unwrap()] {
        for function in
            ["read_text", "read_npy", "read_npz", "read_csv", "read_parquet", "read_image"]
        {
            let (code, err) = run_within("64M", &format!("{function}(\"{path}\")"));
            let place = format!("{function}: {path}: out of memory");
            assert!(code == 1 && err.contains(&place) && err.contains("of 64 MiB"), "{err}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn lists_have_a_limit_beside_arrays() {
    let script = "let l = []; loop { l.push(blob(10000000, 1)) }";
    let (code, err) = run_within("64M", script);
    let whole =
        "of 1.125 GiB: twice 64 MiB (PORCINI_MEMORY_LIMIT) and 1 GiB, for arrays, lists and";
    assert!(code == 1 && err.contains(whole), "{err}");
}

/// Fewer calls nest where the stack is small, and the error says why.
#[cfg(target_os = "linux")]
#[test]
fn a_small_stack_is_named() {
    let script = "fn f(n) { if n == 0 { 0 } else { 1 + f(n - 1) } } f(1000)";
    assert_eq!(run(&["-e", script]).1, "1000\n");
    let start = format!("ulimit -v 1000000; exec {} -e '{script}'", env!("CARGO_BIN_EXE_porcini"));
    let output = Command::new("sh").args(["-c", &start]).output().unwrap();
    let (code, _, err) = finished(&output);
    assert!(code == 1 && err.contains("too many nested function calls"), "{err}");
    assert!(err.contains("(ulimit -v, ulimit -d) leaves a stack for"), "{err}");
}
