//! A notebook as scripts see it: output goes to its cells, questions to the person in front of it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::process::{self, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use porcini_core::device::SharedFile;
use porcini_core::interrupt;
use porcini_core::log::LogSink;
use porcini_script::{DisplayTarget, Host, Shown, folders, programs};
use serde_json::json;

use crate::bundle::mime_bundle;
use crate::publisher::{Publisher, Stream};
use crate::socket::post::{Channel, Outbox};
use crate::warn::warn;
use crate::wire::{Request, Wire};

/// How often somebody who waits for an answer looks for an interrupt.
const LOOK: Duration = Duration::from_millis(10);

/// The notebook in front of the interpreter.
pub(crate) struct Notebook {
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) questions: Questions,
    start: Instant,
    bar: Arc<Bar>,
    background: programs::Background,
}

/// Where [`Host::progress`] shows: each bar has a display of its own, which the next line replaces.
#[derive(Default)]
struct Bar {
    number: AtomicUsize,
    is_shown: AtomicBool,
}

impl Bar {
    fn show(&self, publisher: &Publisher, line: &str) {
        let was_shown = self.is_shown.swap(!line.is_empty(), Ordering::Relaxed);
        if !was_shown && line.is_empty() {
            return;
        }
        let new = usize::from(!was_shown);
        let number = self.number.fetch_add(new, Ordering::Relaxed) + new;
        let name = format!("porcini progress {number}");
        let place =
            if was_shown { DisplayTarget::Instead(&name) } else { DisplayTarget::Named(&name) };
        let mut shown = Shown::plain(line);
        if line.is_empty() {
            // No line at all, where text has one that is empty.
            shown.forms.push(("text/html", String::new()));
        }
        display(publisher, shown, place);
    }
}

/// Shows a value below a cell, or in place of one with a name.
fn display(publisher: &Publisher, shown: Shown, place: DisplayTarget<'_>) {
    let (kind, transient) = match place {
        DisplayTarget::Below => ("display_data", json!({})),
        DisplayTarget::Named(name) => ("display_data", json!({"display_id": name})),
        DisplayTarget::Instead(name) => ("update_display_data", json!({"display_id": name})),
    };
    let data = mime_bundle(shown);
    publisher.show(kind, json!({"data": data, "metadata": {}, "transient": transient}));
}

impl Notebook {
    pub(crate) fn new(publisher: Arc<Publisher>, questions: Questions) -> Self {
        let (start, bar) = (Instant::now(), Arc::default());
        Self { publisher, questions, start, bar, background: programs::Background::default() }
    }
}

/// Asks whoever sent the cell that runs.
pub(crate) struct Questions {
    wire: Arc<Wire>,
    outbox: Outbox,
    answers: mpsc::Receiver<Request>,
    /// The request that runs, if its client takes questions.
    asked_by: RefCell<Option<Request>>,
}

impl Questions {
    pub(crate) fn new(wire: Arc<Wire>, outbox: Outbox, answers: mpsc::Receiver<Request>) -> Self {
        Self { wire, outbox, answers, asked_by: RefCell::new(None) }
    }

    /// From now on `request` runs.
    pub(crate) fn begin(&self, request: &Request) {
        let takes_questions = request.flag("allow_stdin", true);
        *self.asked_by.borrow_mut() = takes_questions.then(|| request.clone());
    }

    fn ask(&self, prompt: &str, password: bool) -> io::Result<String> {
        let asked_by = self.asked_by.borrow();
        let client = asked_by.as_ref().ok_or_else(|| {
            let message =
                "this client takes no questions; assign the value instead of asking for it";
            io::Error::new(io::ErrorKind::Unsupported, message)
        })?;
        // Answers to questions that were given up.
        self.answers.try_iter().for_each(drop);
        let content = json!({"prompt": prompt, "password": password});
        let frames = self.wire.write(&client.identities, "input_request", &client.header, &content);
        self.outbox.send(Channel::Stdin, frames);
        loop {
            if interrupt::is_requested() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match self.answers.recv_timeout(LOOK) {
                Ok(answer) if answer.kind() == "input_reply" => {
                    return Ok(answer.text("value").into());
                }
                Ok(_) | Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

impl Host for Notebook {
    fn rank_program(&self) -> Vec<OsString> {
        // Of a program that does not know where it is none is started.
        let program = std::env::current_exe().ok();
        program.map_or_else(Vec::new, |program| vec![program.into(), "rank".into()])
    }

    fn print(&self, text: &str) {
        self.publisher.print(Stream::Stdout, &format!("{text}\n"));
    }

    fn eprint(&self, text: &str) {
        self.publisher.print(Stream::Stderr, &format!("{text}\n"));
    }

    fn cell_name(&self, number: usize) -> String {
        format!("In[{number}]")
    }

    fn shows_forms(&self) -> bool {
        true
    }

    fn display(&self, shown: &Shown, place: DisplayTarget<'_>) {
        display(&self.publisher, shown.clone(), place);
    }

    fn clear_output(&self, wait: bool) {
        self.publisher.show("clear_output", json!({"wait": wait}));
    }

    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        self.publisher.flush();
        self.questions.ask(prompt, secret)
    }

    fn process_end(&self) -> Option<LogSink> {
        Some(Arc::new(|why| {
            warn(why);
            process::exit(1);
        }))
    }

    fn log_sink(&self) -> LogSink {
        let publisher = self.publisher.clone();
        Arc::new(move |text| publisher.print(Stream::Log, &format!("{text}\n")))
    }

    fn warning_sink(&self) -> LogSink {
        let publisher = self.publisher.clone();
        Arc::new(move |text| publisher.print(Stream::Stderr, &format!("warning: {text}\n")))
    }

    fn read_file(&self, path: &str, room: folders::Room<'_>) -> io::Result<Vec<u8>> {
        folders::read(path, room, |line| self.progress(line))
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        folders::replace(path, contents)
    }

    fn shared_file(&self, path: &str) -> io::Result<SharedFile> {
        SharedFile::at(path.as_ref())
    }

    fn replace_shared(
        &self,
        path: &str,
        head: &[u8],
        bytes: u64,
        fill: &mut dyn FnMut(&SharedFile) -> bool,
    ) -> io::Result<bool> {
        folders::replace_shared(path, head, bytes, fill)
    }

    fn append_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        folders::append(path, contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        folders::list(path)
    }

    fn folder(&self) -> io::Result<String> {
        folders::working()
    }

    fn change_folder(&self, path: &str) -> io::Result<()> {
        std::env::set_current_dir(path)
    }

    fn shell(&self, line: &str) -> io::Result<ExitStatus> {
        programs::captured(programs::shell(line), &self.background, |line| self.print(line))
    }

    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        folders::read_module(&folders::search_path(".".into()), importer, name)
    }

    fn progress_sink(&self) -> LogSink {
        let (publisher, bar) = (self.publisher.clone(), self.bar.clone());
        Arc::new(move |line| bar.show(&publisher, line))
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn entropy(&self) -> io::Result<u64> {
        // What the hashes of the standard library are seeded with: from the system.
        Ok(RandomState::new().build_hasher().finish())
    }

    fn clock(&self) -> Duration {
        self.start.elapsed()
    }

    fn arguments(&self) -> Vec<String> {
        Vec::new()
    }
}
