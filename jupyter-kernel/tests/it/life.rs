//! Interrupts, restarts, and the end.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::client::{Client, Kernel, cell, command, connection_file};

#[test]
fn an_interrupt_keeps_all_variables() {
    let (kernel, client) = Kernel::start();
    client.run("x = FloatC([1, 2]);");
    let interrupt = |by_signal: bool| {
        if by_signal {
            let pid = Pid::from_raw(kernel.process.id().cast_signed()).unwrap();
            kill_process(pid, Signal::INT).unwrap();
        } else {
            let reply = client.command("interrupt_request", &json!({}));
            assert_eq!(reply["status"], "ok");
        }
    };
    for by_signal in [false, true] {
        for work in ["loop {}", "while_loop([x], |x| x > 0, |x| [x + 1])", "sleep(100)"] {
            let id = client.start(&format!("print(1); sleep(0.1); y = 3; {work}"));
            let queued = client.send(&client.shell, "execute_request", &cell("x = 0"));
            // By then it has arrived, and the work goes on.
            std::thread::sleep(Duration::from_millis(200));
            interrupt(by_signal);
            let answer = client.answer(&id);
            assert_eq!(answer.reply["ename"], "Interrupted", "{work}");
            assert_eq!(client.answer(&queued).reply["status"], "aborted");
            assert_eq!(client.run("[y, x]").result(), "[3, [1, 2]]");
        }
        // One that comes too late stops nothing.
        interrupt(by_signal);
        assert_eq!(client.run("1 + 1").result(), "2");
    }
}

#[test]
fn an_interrupt_ends_a_question() {
    let (_kernel, client) = Kernel::start();
    let id = client.send(&client.shell, "execute_request", &cell("input(\"?\")"));
    assert_eq!(Client::receive(&client.stdin).unwrap().kind, "input_request");
    client.command("interrupt_request", &json!({}));
    assert_eq!(client.answer(&id).reply["ename"], "Interrupted");
    assert_eq!(client.run("1").result(), "1");
}

#[test]
fn heartbeat_and_control_answer_a_busy_kernel() {
    let (_kernel, client) = Kernel::start();
    let id = client.start("print(1); loop {}");
    for beat in [&b"ping"[..], b"", b"\x00\xff"] {
        client.heartbeat.send(beat, 0).unwrap();
        assert_eq!(client.heartbeat.recv_bytes(0).unwrap(), beat);
    }
    assert_eq!(client.command("kernel_info_request", &json!({}))["status"], "ok");
    client.command("interrupt_request", &json!({}));
    client.answer(&id);
}

#[test]
fn shutdown_is_answered_before_the_end() {
    let times = if std::env::var_os("PORCINI_FULL").is_some() { 100 } else { 20 };
    for i in 0..times {
        let (mut kernel, client) = Kernel::start();
        if i % 2 == 0 {
            client.start("print(1); loop {}");
        }
        let restart = json!({"restart": i % 3 == 0});
        let reply = client.command("shutdown_request", &restart);
        assert_eq!(reply["restart"], restart["restart"]);
        assert_eq!(kernel.wait(), Some(0));
    }
}

#[test]
fn a_kernel_may_leave() {
    let (mut kernel, client) = Kernel::start();
    let id = client.send(&client.shell, "execute_request", &cell("exit()"));
    let reply = Client::receive(&client.shell).unwrap();
    assert_eq!(reply.parent, id);
    assert_eq!(reply.content["payload"][0]["source"], "ask_exit");
    assert_eq!(kernel.wait(), Some(0));
}

/// The parent is a shell that says who it is and waits; killed as hard as can be, it takes the kernel along.
#[test]
fn a_kernel_does_not_outlive_its_parent() {
    for wrapped in [false, true] {
        let file = connection_file("ipc");
        let kernel = env!("CARGO_BIN_EXE_porcini-jupyter");
        let start = format!("'{kernel}' run '{}' 2>/dev/null", file.display());
        let script = if wrapped {
            format!("JPY_PARENT_PID=$$ sh -c \"{start}; true\"; true")
        } else {
            format!("JPY_PARENT_PID=$$ {start} & wait")
        };
        let mut parent = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let client = Client::connect(&file);
        assert_eq!(client.shown_next().unwrap().kind, "iopub_welcome");
        client.start("print(1); loop {}");
        parent.kill().unwrap();
        parent.wait().unwrap();
        // Its socket answers as long as it lives.
        client.heartbeat.set_rcvtimeo(100).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            client.heartbeat.send("alive?", 0).unwrap();
            if client.heartbeat.recv_bytes(0).is_err() {
                break;
            }
            assert!(Instant::now() < end, "the kernel outlives its parent");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// However the kernel ends; what one that was killed has left goes when another starts. Where nohup runs the tests, a hangup
/// ends no kernel.
#[test]
fn what_was_printed_goes_with_the_kernel() {
    let is_heeded = |signal: &Signal| !porcini_script::programs::is_ignored(signal.as_raw());
    for signal in [Signal::TERM, Signal::HUP, Signal::KILL].into_iter().filter(is_heeded) {
        let (mut kernel, client) = Kernel::start();
        let told = client.run("for i in 0..300000 { print(i) }").stream("stderr");
        let (_, path) = told.split_once("all lines are in ").unwrap();
        let path = Path::new(path.split(" until the kernel ends").next().unwrap());
        assert!(path.exists());
        // Another kernel takes nothing from one that lives.
        drop(Kernel::start());
        assert!(path.exists());
        // Whatever it does.
        client.start("print(1); loop {}");
        let pid = Pid::from_raw(kernel.process.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
        let code = kernel.wait();
        if signal != Signal::KILL {
            assert_eq!((code, path.exists()), (Some(0), false), "{signal:?}");
            continue;
        }
        let _next = Kernel::start();
        let end = Instant::now() + Duration::from_secs(60);
        while path.exists() {
            assert!(Instant::now() < end, "what was printed is left");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn all_cells_that_wait_are_not_run() {
    let (_kernel, client) = Kernel::start();
    let id = client.start("print(1); sleep(0.5); throw 1");
    let send = |_| client.send(&client.shell, "execute_request", &cell("x = 0"));
    let queued: Vec<_> = (0..250).map(send).collect();
    assert_eq!(client.reply(&id)["status"], "error");
    for id in queued {
        assert_eq!(client.reply(&id)["status"], "aborted");
    }
}

/// Of what is wrong with the environment the first cell tells, and a person decides.
#[test]
fn a_mistyped_limit_is_told_once() {
    let file = connection_file("ipc");
    let process = command(&file).env("PORCINI_MEMORY_LIMIT", "2GX").spawn().unwrap();
    let kernel = Kernel { process, file };
    let client = kernel.client();
    // It has nothing to go on with.
    assert_eq!(client.run(" ").reply["status"], "ok");
    let answer = client.run("1 + 1");
    let why = "PORCINI_MEMORY_LIMIT=2GX is no size (bytes, 512M, 1.5G); ignored";
    assert_eq!((&answer.reply["status"], &answer.reply["evalue"]), (&"error".into(), &why.into()));
    let traceback = answer.reply["traceback"].to_string();
    assert!(traceback.contains("run the cell again to go on without"), "{traceback}");
    assert_eq!(client.run("1 + 1").result(), "2");
}

/// As `jupyter run FILE` starts it, which reads the file itself.
#[test]
fn what_jupyter_hands_on_is_not_heeded() {
    let (_kernel, client) = Kernel::start_with("ipc", &["--threads", "1", "notes.rhai"]);
    assert_eq!(client.run("1 + 1").result(), "2");
    let file = connection_file("ipc");
    let status = command(&file).arg("--thread=1").status().unwrap();
    assert_eq!(status.code(), Some(2));
    std::fs::remove_file(file).unwrap();
}

/// However the kernel ends.
#[test]
fn what_cells_started_ends_with_the_kernel() {
    for way in ["shutdown", "signal", "kill"] {
        let (mut kernel, client) = Kernel::start();
        client.send(&client.shell, "execute_request", &cell("%%sh\nsleep 600 & echo $!; wait"));
        let started = loop {
            let message = client.shown_next().expect("nothing is printed");
            if message.kind == "stream" {
                break message.content["text"].as_str().unwrap().trim().to_string();
            }
        };
        let pid = Pid::from_raw(kernel.process.id().cast_signed()).unwrap();
        match way {
            "shutdown" => {
                client.command("shutdown_request", &json!({"restart": false}));
            }
            "signal" => kill_process(pid, Signal::TERM).unwrap(),
            _ => kill_process(pid, Signal::KILL).unwrap(),
        }
        kernel.wait();
        // Who has ended may be listed until somebody looks.
        let state = || std::fs::read_to_string(format!("/proc/{started}/stat"));
        let end = Instant::now() + Duration::from_secs(60);
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            assert!(Instant::now() < end, "{way}: the program outlives the kernel");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_cannot_start_says_why() {
    let run = |file: &std::path::Path| {
        let output = command(file).stderr(std::process::Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = run(std::path::Path::new("no/such/file.json"));
    assert_eq!(code, Some(1));
    assert!(message.contains("no/such/file.json: No such file"), "{message}");
    let (mut kernel, _client) = Kernel::start_on("tcp");
    let (code, message) = run(&kernel.file);
    assert_eq!(code, Some(1));
    assert!(message.contains("shell: cannot listen at tcp://127.0.0.1:"), "{message}");
    kernel.process.kill().unwrap();
}

#[test]
fn what_lets_others_in_is_told() {
    let file = connection_file("tcp");
    let text = std::fs::read_to_string(&file).unwrap();
    for (text, told) in [
        (text.clone(), "others can read the key (mode 644)"),
        (text.replace(super::client::KEY, ""), "the key is empty"),
        (text.replace("127.0.0.1", "0.0.0.0"), "listens at 0.0.0.0"),
    ] {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let mut kernel = command(&file).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(kernel.stderr.take().unwrap()).lines();
        let found = lines.map_while(Result::ok).find(|line| line.contains(told));
        assert!(found.is_some_and(|line| line.contains("warning: ")), "{told}");
        kernel.kill().unwrap();
        kernel.wait().unwrap();
    }
    std::fs::remove_file(file).unwrap();
}

/// 4.3.4 has another licence.
#[test]
fn libzmq_is_the_one_that_the_notices_name() {
    assert_eq!(zmq::version(), (4, 3, 5));
}
