//! Where the system gives the process little memory: scripts end with an error, the process does not.
#![cfg(target_os = "linux")]

use std::process::Command;
use std::rc::Rc;

use porcini_core::ir::op::Op;
use porcini_core::{DType, Error, Session};
use porcini_script::{ErrorKind, Interpreter, Options, on_engine_thread};
use porcini_tests::extent::{every, is_full};
use porcini_tests::host::TestHost;

/// Names the script, in the process that has little.
const SCRIPT: &str = "PORCINI_SHORT_MEMORY";

/// What a script shows or how it fails, in a process under `limit`, an option of `ulimit`.
fn run(limit: &str, script: &str) -> String {
    run_test("a_script_under_a_limit", limit, script)
}

/// What a test of this file prints in such a process.
fn run_test(name: &str, limit: &str, script: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let shell = format!("ulimit {limit}; exec \"$0\" --exact short_memory::{name} --nocapture");
    let child = Command::new("sh")
        .args(["-c", &shell])
        .arg(test)
        .env(SCRIPT, script)
        // Making one takes more memory than there is, and waits for itself then.
        .env("RUST_BACKTRACE", "0")
        .output();
    let child = child.unwrap();
    let output =
        [child.stdout, child.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(child.status.success(), "{limit}: {script}: {}", output.concat());
    output.concat()
}

/// The script of the process that [`run`] starts; nothing otherwise.
#[test]
fn a_script_under_a_limit() {
    let Some(script) = std::env::var_os(SCRIPT) else { return };
    on_engine_thread(|| {
        let mut interpreter = Interpreter::new(Rc::new(TestHost::default()), &Options::default());
        let interpreter = interpreter.as_mut().unwrap();
        interpreter.execute("let kept = 7; let grown = [];", "before").unwrap();
        let result = interpreter.execute(script.to_str().unwrap(), "short");
        if let Err(error) = &result {
            assert_ne!(error.kind, ErrorKind::Internal, "{error}");
        }
        println!("{:?}", result.map(|outcome| outcome.text).map_err(|error| error.message));
        interpreter.execute("del grown", "after").unwrap();
        assert_eq!(interpreter.execute("kept", "after").unwrap().text.unwrap(), "7");
        assert_eq!(interpreter.execute("FloatC(1) + 1", "after").unwrap().text.unwrap(), "[2]");
    });
}

#[test]
fn limits_of_the_system_count_as_limits_of_memory() {
    for (limit, script, want) in [
        ("-v 900000", "blob(90000000).len", "Ok(Some("),
        ("-v 600000", "grown.pad(9000000, [1, 2, 3])", "pad: out of memory"),
        ("-v 600000", "FloatC::arange(1000000000).ndarray()", "(ulimit -v)"),
        ("-d 600000", "FloatC::arange(1000000000).ndarray()", "(ulimit -d)"),
        ("-v 600000", "let a = FloatC::arange(1000000000); eval(a)", "out of memory"),
        ("-v 600000", "fn f(n) { 1 + f(n + 1) } f(0)", "too many nested function calls"),
    ] {
        let got = run(limit, script);
        assert!(got.contains(want), "{limit}: {script}: {got}");
    }
}

/// Work that takes ever more memory, a little at a time or twice as much each time.
const GROWING: [&str; 14] = [
    "loop { grown.push(1) }",
    "loop { grown += grown; grown.push(1) }",
    "loop { grown.push(grown) }",
    "grown.pad(300000, 0); let all = []; loop { all.push(grown) }",
    "grown = [0]; loop { grown = [grown, grown, grown] }",
    "grown = \"abc\"; loop { grown += grown }",
    "grown = \"abc\"; loop { grown = `${grown} and ${grown}` }",
    "let i = 0; loop { i += 1; grown.push(`a text of its own ${i}`) }",
    "grown = #{}; let i = 0; loop { grown[`key ${i}`] = i; i += 1 }",
    "grown = blob(1000); loop { grown += grown }",
    "let i = 0; loop { i += 1; grown.push(|x| x + i) }",
    "grown = FloatC(1); loop { grown = grown * 2 + 1 }",
    "let x = FloatC(1); loop { x += 1; grown.push(x) }",
    "let n = 0; loop { let x = FloatC::arange(10000) + n; eval(x); grown.push(x); n += 1 }",
];

#[test]
fn what_grows_ends_with_an_error() {
    for (number, script) in GROWING.into_iter().enumerate().step_by(every(3)) {
        // One of both by turns, or both.
        for limit in
            ["-v 700000", "-d 150000"].into_iter().skip(number % 2).take(1 + usize::from(is_full()))
        {
            let got = run(limit, script);
            assert!(
                got.contains("Err(") && got.contains("out of memory"),
                "{limit}: {script}: {got}"
            );
        }
    }
}

#[test]
fn scripts_catch_that_memory_is_short() {
    for script in GROWING.into_iter().step_by(every(2)) {
        let script = format!(
            "let why = (); try {{ {script} }} catch (error) {{ why = error; grown = 0 }} str(why)"
        );
        let got = run("-d 150000", &script);
        assert!(got.contains("Ok(Some(") && got.contains("out of memory"), "{script}: {got}");
    }
}

/// A list of which no copy finds room is not copied, but by its name it can be deleted.
#[test]
fn copies_are_refused_before_they_are_made() {
    let fill = "grown.pad(1000000, 0); let other = grown; loop { other.push(1) }";
    let script = format!("try {{ {fill} }} catch {{ }} let more = grown; [more, more, more]");
    let got = run("-d 150000", &script);
    assert!(got.contains("Err(") && got.contains("out of memory"), "{got}");
}

/// The recording of the process that [`run_test`] starts; nothing otherwise.
#[test]
fn a_recording_under_a_limit() {
    if std::env::var_os(SCRIPT).is_none() {
        return;
    }
    let session = Session::new().unwrap();
    let start = session.linspace(DType::F32, 0, 1, 3).unwrap();
    let mut x = start.clone();
    let error = loop {
        match x.apply(Op::Add, &[(&start).into()]) {
            Ok(sum) => x = sum,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
    drop(x);
    // What was freed is room for what comes.
    drop(start.apply(Op::Mul, &[(&start).into()]).unwrap());
    println!("recorded: {error}");
}

#[test]
fn a_table_that_cannot_grow_refuses() {
    for limit in ["-v 700000", "-d 150000"] {
        let got = run_test("a_recording_under_a_limit", limit, "");
        assert!(
            got.contains("recorded: ") && got.contains("more for recorded variables"),
            "{limit}: {got}"
        );
    }
}
