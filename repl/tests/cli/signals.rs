//! Signals: what they end, what they do not, and a system that gives no threads.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use super::*;

/// What nohup, or a shell behind `&`, has this process ignore, its children would: but not what it handles.
pub(super) fn heed() {
    use signal_hook::consts::{SIGHUP, SIGINT};
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (signal, code) in [(SIGHUP, 129), (SIGINT, 130)] {
            let always = Arc::new(AtomicBool::new(true));
            signal_hook::flag::register_conditional_shutdown(signal, code, always).unwrap();
        }
    });
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Waits until the child has printed, interrupts it, and measures how long it takes to end.
pub(super) fn interrupted(script: &str) -> (i32, Duration, String) {
    let mut child = porcini(&["-e", script]).spawn().unwrap();
    wait_for_output(&mut child);
    // Into what follows the print.
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    let (code, _, err) = finished(&output);
    (code, start.elapsed(), err)
}

pub(super) fn wait_for_output(child: &mut Child) {
    use std::io::Read;
    let mut byte = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
}

#[test]
fn interruption_ends_loops_and_kernels() {
    let kernel = "print(1); let x = FloatC::arange(0, 200000000, 1);
        for i in 0..1000 { x = sin(x) + cos(x * 1.5); } print(hsum(x))";
    let sleep = "print(1); sleep(60)";
    for script in ["print(1); loop { }", "print(1); fn f() { loop { } } f()", sleep, kernel] {
        let (code, time, err) = interrupted(script);
        assert_eq!(code, 130, "{script}: {err}");
        // Sooner than any of them ends.
        assert!(pace::is_within(time, Duration::from_secs(20)), "{script}: {time:?}");
        assert!(err.starts_with("error: interrupted"), "{err}");
        assert!(!err.contains("panic"), "{err}");
    }
}

/// SIGTERM and SIGHUP end what runs as Ctrl-C does, and the process at the latest a second later.
#[test]
fn other_signals_end_the_process() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let mut child = porcini(&["-e", "print(1); loop { }"]).spawn().unwrap();
        wait_for_output(&mut child);
        let start = Instant::now();
        send(signal, &child);
        let (found, _, err) = finished(&child.wait_with_output().unwrap());
        // One that is late says nothing.
        let is_told = err.is_empty() || err.starts_with("error: terminated");
        assert!(found == code && is_told, "{signal}: {found}\n{err}");
        let time = start.elapsed();
        assert!(pace::is_within(time, Duration::from_secs(10)), "{signal}: {time:?}");
    }
}

/// The first signal ends who waits for a pipe that stays open.
#[test]
fn signals_end_who_waits_for_input() {
    for (signal, code, told) in [("-INT", 130, "interrupted"), ("-TERM", 143, "terminated")] {
        let script = "print(1); let x = input(`?`); print(2)";
        let mut child = porcini(&["-e", script]).stdin(Stdio::piped()).spawn().unwrap();
        let _open = child.stdin.take();
        wait_for_output(&mut child);
        let start = Instant::now();
        send(signal, &child);
        let (found, out, err) = finished(&child.wait_with_output().unwrap());
        assert_eq!((found, out.as_str()), (code, "\n"), "{err}");
        assert!(err.is_empty() || err.starts_with(&format!("error: {told}")), "{err}");
        assert!(pace::is_within(start.elapsed(), Duration::from_secs(5)), "{signal}");
        // So it ends a shell, which waits for a cell.
        let path = file("silent_pipe", b"print(1)");
        let mut command = porcini(&["-i", "--no-init", &path]);
        command.env("HOME", folder("silent_pipe_home")).env_remove("XDG_STATE_HOME");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let _open = child.stdin.take();
        wait_for_output(&mut child);
        std::thread::sleep(Duration::from_millis(300));
        send(signal, &child);
        assert_eq!(finished(&child.wait_with_output().unwrap()).0, code, "{signal}");
        // Who sends it may be ahead of the program, which then has not begun.
        let ends = [300, 1000, 4000].map(Duration::from_millis).into_iter().any(|moment| {
            let mut child = porcini(&["-"]).stdin(Stdio::piped()).spawn().unwrap();
            let _open = child.stdin.take();
            std::thread::sleep(moment);
            send(signal, &child);
            let (found, out, err) = finished(&child.wait_with_output().unwrap());
            found == code && out.is_empty() && (err.is_empty() || err.contains(told))
        });
        assert!(ends, "{signal}");
    }
}

/// Nor does a reader that stands still keep who writes: the first signal ends it.
#[test]
fn signals_end_who_waits_for_a_reader() {
    for call in ["print", "eprint"] {
        let script = format!("print(1); loop {{ {call}(123456789) }}");
        let mut child = porcini(&["-e", &script]).spawn().unwrap();
        wait_for_output(&mut child);
        let unread = (child.stdout.take(), child.stderr.take());
        // Meanwhile the pipe gets full.
        std::thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        send("-INT", &child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{call}");
        assert!(pace::is_within(start.elapsed(), Duration::from_secs(10)), "{call}");
        drop(unread);
    }
}

/// So do pipes that nobody has opened at the other end.
#[test]
fn signals_end_who_waits_for_the_other_end_of_a_pipe() {
    let folder = folder("other_end");
    let pipe = folder.join("pipe.rhai");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let import = "import \"pipe\" as p;";
    let write = "write_text(\"pipe.rhai\", \"1\");";
    for arguments in [&["pipe.rhai"][..], &["-e", import], &["-e", write]] {
        // Who sends it may be ahead of the program, which then has not begun.
        let ends = [300, 1000, 4000].map(Duration::from_millis).into_iter().any(|moment| {
            let mut child = porcini(arguments).current_dir(&folder).spawn().unwrap();
            std::thread::sleep(moment);
            send("-INT", &child);
            let (start, code) = (Instant::now(), child.wait().unwrap().code());
            code == Some(130) && pace::is_within(start.elapsed(), Duration::from_secs(10))
        });
        assert!(ends, "{arguments:?}");
    }
    // Who comes later is waited for.
    let child = porcini(&["pipe.rhai"]).current_dir(&folder).spawn().unwrap();
    std::fs::write(&pipe, "print(4711)").unwrap();
    assert_eq!(finished(&child.wait_with_output().unwrap()).1, "4711\n");
    let script = "write_text(\"pipe.rhai\", \"4712\")";
    let child = porcini(&["-e", script]).current_dir(&folder).spawn().unwrap();
    assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "4712");
    assert_eq!(finished(&child.wait_with_output().unwrap()).0, 0);
}

/// A pipe that somebody has set not to wait gets everything.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_does_not_wait_loses_nothing() {
    let mut child = porcini(&["-e", "for i in 0..100000 { print(i) } sleep(0.1); eprint(1)"]);
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let mut running = child.stdout(writer).spawn().unwrap();
    drop(child);
    std::thread::sleep(Duration::from_millis(300));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(0));
    assert_eq!((text.lines().count(), text.lines().last()), (100_000, Some("99999")));
}

/// Lines of a pipe go to who asks for them, a script or the shell.
#[test]
fn lines_of_a_pipe_are_read_in_their_order() {
    let ask = "let a = input(`?`); let b = password(`?`); print([a, b]);";
    assert_eq!(run_with_input(&["-e", ask], b"one\r\n two \n").1, "[one,  two ]\n");
    let (code, _, err) = run_with_input(&["-e", ask], b"one\n");
    assert!(code == 1 && err.starts_with("error: "), "{err}");
    let path = file("lines", b"let first = input(`?`);");
    let mut command = porcini(&["-i", &path]);
    command.env("HOME", folder("lines_home")).env_remove("XDG_STATE_HOME");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let lines = b"one\nlet second = input(`?`)\ntwo\nif true {\nprint([first, second])\n}\n";
    child.stdin.take().unwrap().write_all(lines).unwrap();
    let (code, out, err) = finished(&child.wait_with_output().unwrap());
    assert_eq!((code, out.as_str()), (0, "[one, two]\n"), "{err}");
    // A cell that has no end is told of.
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\nif true {\nprint(first)").unwrap();
    let (_, out, err) = finished(&child.wait_with_output().unwrap());
    assert!(out.is_empty() && err.contains("error: "), "{out}{err}");
}

/// Who reads what never ends, and never waits, hears of it, too.
#[cfg(target_os = "linux")]
#[test]
fn a_line_without_an_end_is_no_wait_without_one() {
    let mut command = porcini(&["-e", "print(1); input(`?`)"]);
    let mut child = command.stdin(std::fs::File::open("/dev/zero").unwrap()).spawn().unwrap();
    wait_for_output(&mut child);
    send("-INT", &child);
    let (code, _, err) = finished(&child.wait_with_output().unwrap());
    // The line may be too long sooner.
    assert!(code == 130 || (code == 1 && err.contains("64 MiB")), "{code} {err}");
}

/// What whoever starts it has it ignore, a shell behind `&` for one, stays ignored.
#[test]
fn an_ignored_interrupt_stays_ignored() {
    let script = "print(1); sleep(1); print(2)";
    let start = format!("trap '' INT; exec {} -e '{script}'", env!("CARGO_BIN_EXE_porcini"));
    let mut child = Command::new("sh")
        .args(["-c", &start])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_output(&mut child);
    send("-INT", &child);
    assert_eq!(finished(&child.wait_with_output().unwrap()), (0, "\n2\n".into(), String::new()));
}

/// However little memory the system gives, the program runs, or says why not: it neither panics nor waits for ever.
#[cfg(target_os = "linux")]
#[test]
fn a_refused_thread_is_an_error() {
    for limit in (60_000..240_000).step_by(12_000) {
        let binary = env!("CARGO_BIN_EXE_porcini");
        let start = format!("ulimit -v {limit}; exec timeout 60 {binary} -e 'print(1)'");
        let output = Command::new("sh").args(["-c", &start]).output().unwrap();
        let (code, _, err) = finished(&output);
        // The loader has words and codes of its own.
        assert!(code != 124 && code != 101 && !err.contains("panicked"), "{limit}: {code} {err}");
    }
}
