//! Ways to be slow that are no array work: each stops soon after it is asked to, and the session goes on.

use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use porcini_core::interrupt;
use porcini_script::{ErrorKind, on_engine_thread};
use porcini_tests::golden;
use porcini_tests::host::TestHost;
use porcini_tests::pace;
use porcini_tests::ways::{self, Way};

use crate::Flag;

/// How long a way runs before it is stopped.
const MOMENT: Duration = Duration::from_millis(100);
/// How long it may take to stop.
const SOON: Duration = Duration::from_secs(1);
/// A busy machine may be late now and then.
const TRIES: usize = 3;

/// Runs a way and stops it after a moment; how long it went on.
fn stopped(way: &Way, moment: Duration) -> Duration {
    on_engine_thread(|| {
        let name = way.name.as_str();
        let mut interpreter =
            golden::interpreter(Rc::new(TestHost::default()), golden::BASELINE, 0);
        interrupt::clear();
        interpreter.execute(&way.before, name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let start = Instant::now();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment);
                interrupt::request();
            });
            interpreter.execute(&way.script, name)
        });
        let late = start.elapsed().saturating_sub(moment);
        interrupt::clear();
        // A sort ends with what it has.
        if let Err(error) = result {
            let ends = ["levels deep", "is longer than 1 MiB", "has no machine code"];
            let is_stopped = error.kind == ErrorKind::Interrupted
                || ends.iter().any(|end| error.message.contains(end));
            assert!(is_stopped, "{name}: {error}");
        }
        let after = interpreter.execute("FloatC(1) + 1", "after").unwrap();
        assert_eq!(after.text.unwrap(), "[2]", "{name}");
        // The system takes what is left at once.
        interpreter.leave();
        late
    })
}

/// Set in the process that takes every other way: a request to stop is one of the whole process, and most of the time goes
/// by waiting.
const ODD: &str = "PORCINI_ODD_WAYS";

#[test]
fn ways_to_be_slow_stop_within_a_second() {
    let _flag = Flag::take();
    let ways = ways::all();
    assert!(ways.len() >= 150);
    let is_odd = std::env::var_os(ODD).is_some();
    let other = (!is_odd).then(|| {
        let (_, name) = concat!(module_path!(), "::ways_to_be_slow_stop_within_a_second")
            .split_once("::")
            .unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name]).env(ODD, "1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let is_full = std::env::var_os("PORCINI_FULL").is_some();
    let moments = if is_full { &[MOMENT, MOMENT.saturating_mul(10)][..] } else { &[MOMENT] };
    for way in ways.iter().skip(usize::from(is_odd)).step_by(2) {
        for &moment in moments {
            let late =
                (0..TRIES).map(|_| stopped(way, moment)).find(|late| pace::is_within(*late, SOON));
            assert!(late.is_some(), "{} does not stop", way.name);
        }
    }
    if let Some(other) = other {
        let output = other.wait_with_output().unwrap();
        let [said, warned] =
            [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
        let is_passed = output.status.success() && said.contains("1 passed");
        assert!(is_passed, "{}\n{said}{warned}", output.status);
    }
}
