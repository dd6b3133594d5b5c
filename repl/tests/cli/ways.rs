//! Scripts that are slow without being array work: each ends soon after its time in a sandbox is over, and after Ctrl-C.
//! What nobody can stop ends with its process.

use std::thread::sleep;

use super::*;

#[allow(unreachable_pub, reason = "it is part of a crate, too")]
#[path = "../../../tests/src/ways.rs"]
mod list;

/// The time that scripts get.
const SECONDS: &str = "1";
/// Longest time of one with what comes on top: a start, and a second until it has stopped.
const SOON: Duration = Duration::from_millis(2500);
/// How long one runs until Ctrl-C, and how long it may take to stop.
#[cfg(unix)]
const MOMENT: Duration = Duration::from_millis(200);
#[cfg(unix)]
const LATE: Duration = Duration::from_secs(1);
/// A busy machine may be late now and then.
const TRIES: usize = 3;
/// Longest time of one that cannot be stopped: five seconds more.
const AT_LAST: Duration = Duration::from_secs(8);

/// How long a script takes to end, which it does of its own.
fn time_of(name: &str, script: &str) -> Duration {
    let path = file("sandboxed_way", script.as_bytes());
    let mut command = porcini(&["--sandbox", "--max-seconds", SECONDS, &path]);
    let start = Instant::now();
    let (code, _, err) = finished(&command.output().unwrap());
    assert!(matches!(code, 0 | 1), "{name}: {code}\n{err}");
    assert!(!err.contains("internal error") && !err.contains("the process ends"), "{name}: {err}");
    start.elapsed()
}

#[test]
fn slow_scripts_in_a_sandbox_end_with_their_time() {
    for way in list::some() {
        let script = format!("{}\n{}", way.before, way.script);
        let time = (0..TRIES)
            .map(|_| time_of(&way.name, &script))
            .find(|time| pace::is_within(*time, SOON));
        assert!(time.is_some(), "{} does not end", way.name);
    }
}

/// How long a script goes on after Ctrl-C.
#[cfg(unix)]
fn late(way: &list::Way) -> Duration {
    let is_ready = if way.before.is_empty() { "" } else { "\nprint(1)\n" };
    let path = file("stopped_way", format!("{}{is_ready}{}", way.before, way.script).as_bytes());
    let mut command = porcini(&[&path]);
    let mut child = command.current_dir(env!("CARGO_TARGET_TMPDIR")).spawn().unwrap();
    if !is_ready.is_empty() {
        wait_for_output(&mut child);
    }
    sleep(MOMENT);
    let start = Instant::now();
    // It may have found its own end.
    let id = child.id().to_string();
    drop(Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status());
    let (code, _, err) = finished(&child.wait_with_output().unwrap());
    assert!(matches!(code, 0 | 1 | 130), "{}: {code}\n{err}", way.name);
    assert!(!err.contains("internal error"), "{}: {err}", way.name);
    start.elapsed()
}

#[cfg(unix)]
#[test]
fn slow_scripts_stop_at_ctrl_c() {
    for way in list::some() {
        let time = (0..TRIES).map(|_| late(&way)).find(|time| pace::is_within(*time, LATE));
        assert!(time.is_some(), "{} does not stop", way.name);
    }
}

/// Nobody reads what it writes, so that it waits for ever.
fn stuck(script: &str) -> Child {
    porcini(&["--sandbox", "--max-seconds", SECONDS, "-e", script]).spawn().unwrap()
}

#[test]
fn a_sandbox_is_stopped_where_nobody_reads() {
    let mut child = stuck("let s = \"x\"; s.pad(900000, 'x'); print(s); print(s)");
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(pace::is_within(start.elapsed(), AT_LAST), "it goes on");
        sleep(Duration::from_millis(20));
    }
    let (code, _, err) = finished(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert!(err.contains("stopped by the sandbox: 1 s of time"), "{err}");
}
