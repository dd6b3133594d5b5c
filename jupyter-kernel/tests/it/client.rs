//! A client of its own, so that both ends of the wire are not the same mistake.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use zmq::{Context, Socket, SocketType};

/// Longest wait for anything, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(180);
pub(crate) const KEY: &str = "a key of the tests";

/// A message that came back.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) kind: String,
    pub(crate) parent: String,
    pub(crate) content: Value,
}

/// What a request led to: the reply and everything on iopub up to idle.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) reply: Value,
    pub(crate) shown: Vec<Message>,
}

impl Answer {
    /// Contents of the messages of a kind.
    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.shown.iter().filter(|m| m.kind == kind).map(|m| &m.content).collect()
    }

    /// The text of a stream.
    pub(crate) fn stream(&self, name: &str) -> String {
        let parts = self.all("stream").into_iter().filter(|part| part["name"] == name);
        parts.map(|part| part["text"].as_str().unwrap()).collect()
    }

    /// The text of the cell's value.
    pub(crate) fn result(&self) -> &str {
        let result = self.all("execute_result");
        result.first().unwrap_or_else(|| panic!("{self:?}"))["data"]["text/plain"].as_str().unwrap()
    }
}

/// A running kernel.
pub(crate) struct Kernel {
    pub(crate) process: Child,
    pub(crate) file: PathBuf,
}

/// Somebody who talks to a kernel.
pub(crate) struct Client {
    /// Ends after the sockets.
    _context: Context,
    pub(crate) shell: Socket,
    pub(crate) control: Socket,
    pub(crate) stdin: Socket,
    pub(crate) iopub: Socket,
    pub(crate) heartbeat: Socket,
    name: String,
    n_sent: Cell<usize>,
}

static N_KERNELS: AtomicUsize = AtomicUsize::new(0);

/// Writes a connection file; channels are files beside it, or ports of this machine.
pub(crate) fn connection_file(transport: &str) -> PathBuf {
    let number = N_KERNELS.fetch_add(1, Ordering::Relaxed);
    let name = format!("k{}-{number}", std::process::id());
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let ports: Vec<u16> = if transport == "tcp" {
        let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listeners: Vec<_> = (0..5).map(|_| free()).collect();
        listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
    } else {
        (1..=5).collect()
    };
    let ip = if transport == "tcp" { "127.0.0.1".into() } else { place.display().to_string() };
    let file = place.with_extension("json");
    let connection = json!({
        "transport": transport, "ip": ip, "key": KEY, "signature_scheme": "hmac-sha256",
        "shell_port": ports[0], "iopub_port": ports[1], "stdin_port": ports[2],
        "control_port": ports[3], "hb_port": ports[4],
    });
    std::fs::write(&file, connection.to_string()).unwrap();
    file
}

/// The command that starts a kernel.
pub(crate) fn command(file: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porcini-jupyter"));
    command.arg("run").arg(file).stdin(Stdio::null()).stderr(Stdio::null());
    command.env_remove("JPY_PARENT_PID").env("XDG_STATE_HOME", file.with_extension("state"));
    command
}

impl Kernel {
    /// Starts a kernel whose channels are files.
    pub(crate) fn start() -> (Self, Client) {
        Self::start_on("ipc")
    }

    pub(crate) fn start_on(transport: &str) -> (Self, Client) {
        Self::start_with(transport, &[])
    }

    /// Starts a kernel with settings.
    pub(crate) fn start_with(transport: &str, settings: &[&str]) -> (Self, Client) {
        let file = connection_file(transport);
        let process = command(&file).args(settings).env("SECRET", "password").spawn().unwrap();
        let kernel = Self { process, file };
        let client = kernel.client();
        (kernel, client)
    }

    /// Starts a kernel in a folder.
    pub(crate) fn start_in(place: &std::path::Path) -> (Self, Client) {
        let file = connection_file("ipc");
        let mut command = command(&file);
        let process = command.current_dir(place).env("XDG_STATE_HOME", place).spawn().unwrap();
        let kernel = Self { process, file };
        let client = kernel.client();
        (kernel, client)
    }

    /// Another client, ready to be served.
    pub(crate) fn client(&self) -> Client {
        let client = Client::connect(&self.file);
        // Before it come messages of the kernel's work for others.
        while client.shown_next().expect("no welcome").kind != "iopub_welcome" {}
        client
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("the kernel does not end");
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
        drop(std::fs::remove_file(&self.file));
        drop(std::fs::remove_dir_all(self.file.with_extension("state")));
        for port in 1..=5 {
            drop(std::fs::remove_file(format!(
                "{}-{port}",
                self.file.with_extension("").display()
            )));
        }
    }
}

fn sign(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut signer = Hmac::<Sha256>::new_from_slice(KEY.as_bytes()).unwrap();
    frames.iter().for_each(|frame| signer.update(frame));
    hex::encode(signer.finalize().into_bytes()).into_bytes()
}

impl Client {
    pub(crate) fn connect(file: &std::path::Path) -> Self {
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let context = Context::new();
        let name = format!("client {}", N_KERNELS.fetch_add(1, Ordering::Relaxed));
        let connect = |kind, port: &str| {
            let socket = context.socket(kind).unwrap();
            socket.set_linger(0).unwrap();
            socket.set_rcvhwm(0).unwrap();
            socket.set_rcvtimeo(i32::try_from(PATIENCE.as_millis()).unwrap()).unwrap();
            if kind == SocketType::SUB {
                socket.set_subscribe(b"").unwrap();
            } else {
                socket.set_identity(name.as_bytes()).unwrap();
            }
            let separator = if json["transport"] == "ipc" { '-' } else { ':' };
            let (transport, ip) =
                (json["transport"].as_str().unwrap(), json["ip"].as_str().unwrap());
            socket.connect(&format!("{transport}://{ip}{separator}{}", json[port])).unwrap();
            socket
        };
        Self {
            shell: connect(SocketType::DEALER, "shell_port"),
            control: connect(SocketType::DEALER, "control_port"),
            stdin: connect(SocketType::DEALER, "stdin_port"),
            iopub: connect(SocketType::SUB, "iopub_port"),
            heartbeat: connect(SocketType::DEALER, "hb_port"),
            _context: context.clone(),
            name,
            n_sent: Cell::new(0),
        }
    }

    /// The frames of a request, and its id.
    pub(crate) fn frames(&self, kind: &str, content: &Value) -> (Vec<Vec<u8>>, String) {
        self.n_sent.set(self.n_sent.get() + 1);
        let id = format!("{} {}", self.name, self.n_sent.get());
        let header = json!({
            "msg_id": id, "msg_type": kind, "session": self.name, "username": "t", "version": "5.3",
            "date": "2026-01-01T00:00:00.000000Z",
        });
        let signed: Vec<Vec<u8>> =
            [header.to_string(), "{}".into(), "{}".into(), content.to_string()]
                .map(String::into_bytes)
                .into();
        let mut frames = vec![b"<IDS|MSG>".to_vec(), sign(&signed)];
        frames.extend(signed);
        (frames, id)
    }

    /// Sends a request; its id.
    pub(crate) fn send(&self, socket: &Socket, kind: &str, content: &Value) -> String {
        let (frames, id) = self.frames(kind, content);
        socket.send_multipart(frames, 0).unwrap();
        id
    }

    /// The next message on a socket.
    pub(crate) fn receive(socket: &Socket) -> Option<Message> {
        let frames = socket.recv_multipart(0).ok()?;
        let delimiter = frames.iter().position(|frame| frame == b"<IDS|MSG>").unwrap();
        let (signature, signed) = (&frames[delimiter + 1], &frames[delimiter + 2..]);
        assert_eq!(*signature, sign(&signed[..4]));
        let part = |i: usize| serde_json::from_slice::<Value>(&signed[i]).unwrap();
        let text = |value: Value| value.as_str().unwrap_or_default().to_string();
        Some(Message {
            kind: text(part(0)["msg_type"].clone()),
            parent: text(part(1)["msg_id"].clone()),
            content: part(3),
        })
    }

    pub(crate) fn shown_next(&self) -> Option<Message> {
        Self::receive(&self.iopub)
    }

    /// Messages on iopub caused by a request, up to idle.
    pub(crate) fn shown(&self, id: &str) -> Vec<Message> {
        let mut shown = Vec::new();
        loop {
            let message = self.shown_next().expect("idle does not come");
            if message.parent != id {
                continue;
            }
            let is_idle = message.kind == "status" && message.content["execution_state"] == "idle";
            shown.push(message);
            if is_idle {
                return shown;
            }
        }
    }

    /// Sends a request on shell and waits for everything that follows.
    pub(crate) fn ask(&self, kind: &str, content: &Value) -> Answer {
        let id = self.send(&self.shell, kind, content);
        self.answer(&id)
    }

    /// What follows a request on shell.
    pub(crate) fn answer(&self, id: &str) -> Answer {
        Answer { reply: self.reply(id), shown: self.shown(id) }
    }

    /// The reply to a request on shell.
    pub(crate) fn reply(&self, id: &str) -> Value {
        loop {
            let message = Self::receive(&self.shell).expect("no reply");
            if message.parent == id {
                return message.content;
            }
        }
    }

    /// Runs a cell.
    pub(crate) fn run(&self, code: &str) -> Answer {
        self.ask("execute_request", &cell(code))
    }

    /// Starts a cell and waits until it has printed something.
    pub(crate) fn start(&self, code: &str) -> String {
        let id = self.send(&self.shell, "execute_request", &cell(code));
        while self.shown_next().expect("nothing is printed").kind != "stream" {}
        id
    }

    /// Sends a request on control and waits for its reply.
    pub(crate) fn command(&self, kind: &str, content: &Value) -> Value {
        let id = self.send(&self.control, kind, content);
        let message = Self::receive(&self.control).expect("no reply on control");
        assert_eq!(message.parent, id);
        message.content
    }
}

/// The content of an execute request as clients send it.
pub(crate) fn cell(code: &str) -> Value {
    json!({
        "code": code, "silent": false, "store_history": true, "user_expressions": {},
        "allow_stdin": true, "stop_on_error": true,
    })
}
