//! What must not hurt: wrong bytes, wrong frames, clients that do not read, cells that go too far.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use zmq::{Context, SocketType};

use super::client::{Client, Kernel};

fn is_served(kernel: &Kernel, old: &Client) {
    assert_eq!(old.run("1 + 1").result(), "2");
    assert_eq!(kernel.client().run("1 + 2").result(), "3");
    assert_eq!(old.command("kernel_info_request", &json!({}))["status"], "ok");
    old.heartbeat.send("beat", 0).unwrap();
    assert_eq!(old.heartbeat.recv_bytes(0).unwrap(), b"beat");
}

#[test]
fn wrong_frames_are_dropped() {
    let (kernel, client) = Kernel::start();
    let (good, _) = client.frames("execute_request", &json!({"code": "x = 1"}));
    let mut wrong: Vec<Vec<Vec<u8>>> = vec![
        vec![],
        vec![vec![]],
        vec![b"<IDS|MSG>".to_vec()],
        vec![b"<IDS|MSG>".to_vec(); 9],
        vec![vec![0xff; 1 << 20]],
        (0..2000).map(|_| b"frame".to_vec()).collect(),
    ];
    // Truncated, then with a wrong signature, then with each part broken.
    wrong.extend((1..good.len()).map(|n| good[..n].to_vec()));
    for i in 1..good.len() {
        for broken in [&b""[..], b"[]", b"{", b"\xff\xfe", b"null"] {
            let mut frames = good.clone();
            frames[i] = broken.to_vec();
            wrong.push(frames);
        }
    }
    let deep = "[".repeat(100_000);
    for content in [json!(null), json!([1]), json!({"code": 5}), json!({"code": deep})] {
        wrong.push(client.frames("execute_request", &content).0);
        wrong.push(client.frames("", &content).0);
    }
    for frames in wrong {
        for socket in [&client.shell, &client.control, &client.stdin] {
            if !frames.is_empty() {
                socket.send_multipart(frames.clone(), 0).unwrap();
            }
        }
    }
    let junk = Context::new();
    let subscriber = junk.socket(SocketType::XSUB).unwrap();
    let text = std::fs::read_to_string(&kernel.file).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let address = format!("ipc://{}-{}", file["ip"].as_str().unwrap(), file["iopub_port"]);
    subscriber.connect(&address).unwrap();
    for message in [&b""[..], b"\x07junk", b"\x00never", &[1; 5000]] {
        subscriber.send(message, 0).unwrap();
    }
    let fresh = kernel.client();
    is_served(&kernel, &fresh);
    // `x = 1` never ran: its signature was always wrong.
    assert_eq!(fresh.run("x").reply["status"], "error");
}

/// How ZeroMQ begins.
fn greeting() -> Vec<u8> {
    [&[0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0][..], b"NULL", &[0; 48]].concat()
}

fn port(kernel: &Kernel, channel: &str) -> u16 {
    let text = std::fs::read_to_string(&kernel.file).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    u16::try_from(file[channel].as_u64().unwrap()).unwrap()
}

#[test]
fn bytes_that_are_no_zeromq_are_dropped() {
    let (kernel, client) = Kernel::start_on("tcp");
    let greeting = greeting();
    let long = |length: u64| [&greeting[..], &[6], &length.to_be_bytes()].concat();
    let noise: Vec<u8> =
        (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let attempts: Vec<Vec<u8>> = vec![
        vec![],
        noise,
        b"GET / HTTP/1.1\r\nHost: kernel\r\n\r\n".to_vec(),
        greeting[..20].to_vec(),
        greeting.clone(),
        long(1 << 36),
        long(1 << 62),
        long(u64::MAX),
        [&greeting[..], &[4, 5, 9], b"READYxxx"].concat(),
        [&greeting[..], &[4, 255]].concat(),
    ];
    let mut open = Vec::new();
    for channel in ["shell_port", "iopub_port", "stdin_port", "control_port", "hb_port"] {
        let port = port(&kernel, channel);
        for (i, bytes) in attempts.iter().enumerate() {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            // The kernel may hang up at any byte.
            drop(stream.write_all(bytes));
            if i % 2 == 0 {
                drop(stream.shutdown(Shutdown::Both));
            }
            open.push(stream);
        }
        open.extend((0..20).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()));
    }
    is_served(&kernel, &client);
    drop(open);
    is_served(&kernel, &client);
}

/// A frame is read before anybody knows whether its sender has the key.
#[test]
fn frames_are_bounded_before_they_are_signed() {
    let (kernel, client) = Kernel::start_on("tcp");
    for channel in ["shell_port", "iopub_port", "stdin_port", "control_port", "hb_port"] {
        for (length, is_taken) in [(64_u64 << 20, true), ((64 << 20) + 1, false), (1 << 30, false)]
        {
            let mut stream = TcpStream::connect(("127.0.0.1", port(&kernel, channel))).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let frame = [&greeting()[..], &[6], &length.to_be_bytes()].concat();
            stream.write_all(&frame).unwrap();
            // Whoever is hung up on reads the greeting, then the end.
            let ended = stream.read_to_end(&mut Vec::new());
            let is_open = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
            assert_eq!(is_open, is_taken, "{channel}: {length}");
        }
    }
    is_served(&kernel, &client);
}

#[test]
fn a_message_that_comes_again_is_refused() {
    let (kernel, client) = Kernel::start();
    assert_eq!(client.run("n = 0").reply["status"], "ok");
    let (frames, id) = client.frames("execute_request", &super::client::cell("n += 1"));
    client.shell.send_multipart(frames.clone(), 0).unwrap();
    client.answer(&id);
    let other = kernel.client();
    for socket in [&client.shell, &client.control, &client.stdin, &other.shell, &other.control] {
        socket.send_multipart(frames.clone(), 0).unwrap();
    }
    assert_eq!(other.run("n").result(), "1");
    is_served(&kernel, &client);
}

#[test]
fn a_slow_reader_loses_no_line() {
    const N: usize = 150_000;
    let (_kernel, client) = Kernel::start();
    let id = client.send(
        &client.shell,
        "execute_request",
        &super::client::cell(&format!("for i in 0..{N} {{ print(i) }}")),
    );
    std::thread::sleep(Duration::from_secs(2));
    let answer = client.answer(&id);
    let expected: String = (0..N).map(|i| format!("{i}\n")).collect();
    assert!(answer.stream("stdout") == expected, "lines are missing");
    let n = answer.all("stream").len();
    assert!(n < 2000, "{n} messages for {N} lines");
}

/// A subscriber that greets, subscribes to everything and never reads a byte.
fn stopped_subscriber(kernel: &Kernel) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port(kernel, "iopub_port"))).unwrap();
    let ready = [&[4, 25, 5][..], b"READY", &[11], b"Socket-Type", &[0, 0, 0, 3], b"SUB"].concat();
    stream.write_all(&[&greeting()[..], &ready].concat()).unwrap();
    // The kernel's own greeting; what comes before it ends is lost.
    let mut answer = [0; 64 + 28];
    stream.read_exact(&mut answer).unwrap();
    stream.write_all(&[0, 1, 1]).unwrap();
    stream
}

#[test]
fn a_stopped_reader_holds_nobody_up() {
    let (kernel, client) = Kernel::start_on("tcp");
    let stopped = stopped_subscriber(&kernel);
    assert_eq!(client.shown_next().unwrap().kind, "iopub_welcome");
    let answer =
        client.run("let s = \"\"; s.pad(1000000, 'x'); for i in 0..40 { display_html(s) }; 7");
    assert_eq!(answer.all("display_data").len(), 40);
    assert_eq!(answer.result(), "7");
    is_served(&kernel, &client);
    drop(stopped);
    is_served(&kernel, &client);
}

#[test]
fn endless_output_ends_before_memory_does() {
    let (mut kernel, client) = Kernel::start();
    let answer = client.run("for i in 0..300000 { print(i) } eprint(\"end\"); 7");
    let shown = answer.stream("stdout");
    assert!(shown.len() <= (1 << 20) + (16 << 10), "{}", shown.len());
    assert!(shown.contains("\n165668\n297661\n") && shown.ends_with("\n299999\nend\n"));
    let kept = |told: &str| {
        let (_, path) = told.split_once(" are in ").unwrap();
        std::path::PathBuf::from(path.split(" until the kernel ends").next().unwrap())
    };
    let told = answer.stream("stderr");
    assert!(told.contains(".. 131992 more lines were printed: all lines are in "), "{told}");
    let first = kept(&told);
    let lines: String = (0..300_000).map(|i| format!("{i}\n")).collect();
    assert_eq!(std::fs::read_to_string(&first).unwrap(), lines + "end\n");
    let kinds: Vec<&str> = answer.shown.iter().map(|message| &*message.kind).collect();
    assert!(kinds.ends_with(&["stream", "execute_result", "status"]), "{kinds:?}");
    // A file has an end too, another cell has another one, and all go with the kernel.
    let answer = client.run("let s = \"\"; s.pad(1000000, 'x'); for i in 0..100 { print(s) }; 7");
    let told = answer.stream("stderr");
    assert!(told.contains("99 more lines were printed: the first lines are in"), "{told}");
    let second = kept(&told);
    assert!((60 << 20..=64 << 20).contains(&second.metadata().unwrap().len()));
    assert!(first.exists());
    assert_eq!(answer.result(), "7");
    assert_eq!(client.run("print(1)").stream("stdout"), "1\n");
    client.command("shutdown_request", &json!({"restart": false}));
    kernel.wait();
    assert!(!first.exists() && !second.exists());
}

#[test]
fn cells_that_go_too_far_are_errors() {
    let (_kernel, client) = Kernel::start();
    client.run("x = 41");
    for code in [
        "fn f(n) { f(n + 1) } f(0)",
        "eval(FloatC::arange(1 << 45))",
        "let l = []; loop { l.push(1) }",
        "let s = \"\"; s.pad(1 << 50, 'x'); s",
    ] {
        let id = client.send(&client.shell, "execute_request", &super::client::cell(code));
        if code.contains("loop") {
            std::thread::sleep(Duration::from_millis(300));
            client.command("interrupt_request", &json!({}));
        }
        let answer = client.answer(&id);
        assert_eq!(answer.reply["status"], "error", "{code}");
    }
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(client.run(&deep).reply["status"], "error");
    assert_eq!(client.run("x + 1").result(), "42");
}

#[test]
fn large_messages_pass() {
    let (_kernel, client) = Kernel::start();
    let text = "y".repeat(50 << 20);
    assert_eq!(client.run(&format!("\"{text}\".len()")).result(), (50 << 20).to_string());
}

#[test]
fn clients_come_and_go() {
    let (kernel, client) = Kernel::start();
    let id = client.send(&client.shell, "execute_request", &super::client::cell("input(\"?\")"));
    assert_eq!(Client::receive(&client.stdin).unwrap().parent, id);
    drop(client);
    let other = kernel.client();
    other.command("interrupt_request", &json!({}));
    for _ in 0..20 {
        drop(kernel.client());
    }
    let clients: Vec<Client> = (0..8).map(|_| kernel.client()).collect();
    let ids: Vec<Vec<String>> = (0..10)
        .map(|i| {
            let send = |client: &Client| {
                let cell = super::client::cell(&format!("{i} * 10"));
                client.send(&client.shell, "execute_request", &cell)
            };
            clients.iter().map(send).collect()
        })
        .collect();
    for (i, ids) in ids.iter().enumerate() {
        for (client, id) in clients.iter().zip(ids) {
            assert_eq!(client.answer(id).result(), (i * 10).to_string());
        }
    }
    is_served(&kernel, &other);
}
