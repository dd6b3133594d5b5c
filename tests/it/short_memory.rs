//! Where the system gives the process little memory: scripts end with an error, the process does not.
#![cfg(target_os = "linux")]

use std::process::Command;
use std::rc::Rc;

use porcini_script::{ErrorKind, Interpreter, Options, on_engine_thread};
use porcini_tests::host::TestHost;

/// Names the script, in the process that has little.
const SCRIPT: &str = "PORCINI_SHORT_MEMORY";

/// What a script shows or how it fails, in a process under `limit`, an option of `ulimit`.
fn run(limit: &str, script: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let shell = format!(
        "ulimit {limit}; exec \"$0\" --exact short_memory::a_script_under_a_limit --nocapture"
    );
    let child = Command::new("sh").args(["-c", &shell]).arg(test).env(SCRIPT, script).output();
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
        let result = interpreter.execute(script.to_str().unwrap(), "short");
        if let Err(error) = &result {
            assert_ne!(error.kind, ErrorKind::Internal, "{error}");
        }
        println!("{:?}", result.map(|outcome| outcome.text).map_err(|error| error.message));
        drop(interpreter.execute("%reset", "short"));
        assert_eq!(interpreter.execute("FloatC(1) + 1", "after").unwrap().text.unwrap(), "[2]");
    });
}

#[test]
fn limits_of_the_system_count_as_limits_of_memory() {
    for (limit, script, want) in [
        ("-v 900000", "blob(90000000).len", "Ok(Some("),
        ("-v 600000", "let l = []; l.pad(90000000, 0)", "pad: out of memory"),
        ("-v 600000", "FloatC::arange(1000000000).ndarray()", "(ulimit -v)"),
        ("-d 600000", "FloatC::arange(1000000000).ndarray()", "(ulimit -d)"),
        ("-v 600000", "let a = FloatC::arange(1000000000); eval(a)", "out of memory"),
        ("-v 600000", "fn f(n) { 1 + f(n + 1) } f(0)", "too many nested function calls"),
    ] {
        let got = run(limit, script);
        assert!(got.contains(want), "{limit}: {script}: {got}");
    }
}
