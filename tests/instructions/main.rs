//! Instructions that recording an operation takes, counted by callgrind: unlike times they are the same on
//! every run, so what makes recording dearer is seen at once. Counts are of this build (the profile of
//! tests); `cargo test --release --test instructions -- --nocapture` prints those of users.
//!
//! Limits leave room for how the compiler deals code out to its units, which differs between a fresh build and an
//! incremental one: 1295 and 1355 instructions for the same recording from Rust.
//!
//! The test runs this very program once more under valgrind, which counts inside functions `counted_*`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::process::Command;
use std::rc::Rc;

use porcini_core::{Array, Session};
use porcini_script::{Interpreter, Options};
use porcini_tests::host::TestHost;

/// Names the loop to run, in the run that is counted.
const COUNTED: &str = "PORCINI_COUNTED";
const STEPS: usize = 5000;
const OPERATIONS: usize = 2 * STEPS;

#[test]
fn recording_from_rust() {
    check("rust", "recording_from_rust", 1420, from_rust);
}

#[test]
fn recording_from_rhai() {
    check("rhai", "recording_from_rhai", 11_900, || from_rhai("FloatC::arange(64)"));
}

/// Vectors are lent to core and come back as new ones. (Lists that take no memory of their own are dearer in this profile;
/// released it is half, 14 300.)
#[test]
fn recording_of_vectors() {
    check("vectors", "recording_of_vectors", 30_700, || {
        from_rhai("Vector3fC(FloatC::arange(64), 1, 2)");
    });
}

/// Graphs grow in lists: a push should not take longer than the operation that it keeps.
#[test]
fn pushing_in_rhai() {
    check("push", "pushing_in_rhai", 6100, pushes);
}

/// Runs `work` if this is the run that is counted, else counts it: at most `limit` instructions an operation.
#[expect(clippy::print_stderr, reason = "what was counted")]
fn check(name: &str, test: &str, limit: usize, work: fn()) {
    if env::var_os(COUNTED).is_some_and(|counted| counted == name) {
        return work();
    }
    let Some(total) = count(name, test) else {
        return eprintln!("skipped: counting instructions needs valgrind");
    };
    let each = total / OPERATIONS;
    eprintln!("{test}: {each} instructions an operation");
    let optimised = !cfg!(debug_assertions);
    assert!(
        optimised || each <= limit,
        "{each} instructions an operation, at most {limit} expected"
    );
}

fn count(name: &str, test: &str) -> Option<usize> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_*"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1"])
        .env(COUNTED, name)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the counted run failed:\n{text}");
    let total = text.lines().find_map(|line| line.split_once("Collected :"));
    Some(total.expect("callgrind says what it collected").1.trim().parse().unwrap())
}

fn from_rust() {
    let session = Session::builder().build().unwrap();
    let [a, b, c] = [0.5_f32, 0.25, 2.0].map(|x| session.array(&[x; 64]).unwrap());
    drop(counted_rust(&a, &b, &c));
}

#[inline(never)]
fn counted_rust(a: &Array, b: &Array, c: &Array) -> Array {
    let mut y = a.clone();
    for _ in 0..STEPS {
        y = &(&y * b) + c;
    }
    y
}

/// Records `y * b + c` from Rhai, of arrays that begin with `a`.
fn from_rhai(a: &str) {
    let mut interpreter =
        Interpreter::new(Rc::new(TestHost::default()), &Options::default()).unwrap();
    let inputs = format!("let a = {a}; let b = a + 1; let c = a * 0.5; eval(a, b, c)");
    interpreter.execute(&inputs, "inputs").unwrap();
    let text = format!("let y = a; for i in 0..{STEPS} {{ y = y * b + c; }}");
    counted_rhai(&mut interpreter, &text);
}

fn pushes() {
    let mut interpreter =
        Interpreter::new(Rc::new(TestHost::default()), &Options::default()).unwrap();
    let text = format!("let list = []; for i in 0..{STEPS} {{ list.push(i); list.push(i); }}");
    counted_rhai(&mut interpreter, &text);
}

#[inline(never)]
fn counted_rhai(interpreter: &mut Interpreter, text: &str) {
    interpreter.execute(text, "counted").unwrap();
}
