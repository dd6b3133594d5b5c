//! What every client sees: states, output, results. Text is collected, because clients are slow at many
//! small messages: one goes out every 50 ms or 64 KiB, and before anything else is shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::socket::post::{Channel, Outbox};
use crate::wire::Wire;

/// How long text waits for more.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of text that go out at once.
const ENOUGH: usize = 64 << 10;
/// Bytes that one cell may show, texts and displays together: more than a browser can show, and what a client that does
/// not read costs in memory.
const MOST: usize = 64 << 20;
/// Bytes of a message besides what it shows.
const MESSAGE: usize = 500;

/// A stream of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Sends on iopub; any thread may.
pub(crate) struct Publisher {
    wire: Arc<Wire>,
    outbox: Outbox,
    state: Mutex<State>,
}

struct State {
    /// Header of the request that is worked on.
    parent: Value,
    /// Nothing but states is shown.
    silent: bool,
    stream: Stream,
    /// Text that waits.
    text: String,
    /// Bytes shown for this request.
    n_shown: usize,
}

impl State {
    /// How many of so many bytes may still be shown.
    fn take(&mut self, bytes: usize) -> usize {
        let fits = bytes.min(MOST.saturating_sub(self.n_shown));
        self.n_shown = self.n_shown.saturating_add(bytes);
        fits
    }
}

impl Publisher {
    pub(crate) fn new(wire: Arc<Wire>, outbox: Outbox) -> Self {
        let state = State {
            parent: Value::Null,
            silent: false,
            stream: Stream::Stdout,
            text: String::new(),
            n_shown: 0,
        };
        Self { wire, outbox, state: Mutex::new(state) }
    }

    /// What follows belongs to a request; a silent one shows nothing.
    pub(crate) fn begin(&self, parent: &Value, silent: bool) {
        let mut state = self.lock();
        self.flush_text(&mut state);
        state.parent = parent.clone();
        state.silent = silent;
        state.n_shown = 0;
        self.send(parent, "status", &json!({"execution_state": "busy"}));
    }

    /// The request is done.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        self.flush_text(&mut state);
        state.silent = false;
        self.send(&state.parent, "status", &json!({"execution_state": "idle"}));
    }

    /// A state caused by another request than the one that is worked on.
    pub(crate) fn status(&self, parent: &Value, execution_state: &str) {
        self.publish_for(parent, "status", &json!({"execution_state": execution_state}));
    }

    /// A message caused by another request than the one that is worked on.
    pub(crate) fn publish_for(&self, parent: &Value, kind: &str, content: &Value) {
        self.send(parent, kind, content);
    }

    /// A message of the request that is worked on, after the text printed so far.
    pub(crate) fn publish(&self, kind: &str, content: &Value) {
        let mut state = self.lock();
        self.flush_text(&mut state);
        if !state.silent {
            self.send(&state.parent, kind, content);
        }
    }

    /// A message that shows something, which counts.
    pub(crate) fn show(&self, kind: &str, content: &Value) {
        let mut state = self.lock();
        let forms = content["data"].as_object().into_iter().flatten();
        let bytes = forms.filter_map(|(_, form)| form.as_str()).map(str::len).sum::<usize>();
        // The value of a cell comes once, and last: a short one is shown whatever was printed before.
        let always = kind == "execute_result" && bytes <= ENOUGH;
        if state.silent || state.n_shown > MOST && !always {
            return;
        }
        self.flush_text(&mut state);
        if state.take(bytes + MESSAGE) < bytes + MESSAGE && !always {
            return self.tell_end(&mut state);
        }
        self.send(&state.parent, kind, content);
    }

    /// Prints text as it is.
    pub(crate) fn print(&self, stream: Stream, text: &str) {
        let mut state = self.lock();
        if state.silent || text.is_empty() || state.n_shown > MOST {
            return;
        }
        if state.stream != stream {
            self.flush_text(&mut state);
            state.stream = stream;
        }
        if state.text.is_empty() {
            self.outbox.flush_at(Instant::now() + PATIENCE);
        }
        let fits = state.take(text.len());
        let end = (0..=fits).rfind(|&end| text.is_char_boundary(end));
        state.text.push_str(&text[..end.unwrap_or(0)]);
        if state.text.len() >= ENOUGH || fits < text.len() {
            self.flush_text(&mut state);
        }
        if fits < text.len() {
            self.tell_end(&mut state);
        }
    }

    fn tell_end(&self, state: &mut State) {
        state.stream = Stream::Stderr;
        let limit = MOST >> 20;
        state.text = format!("\n.. this cell showed {limit} MiB, the rest is not shown ..\n");
        self.flush_text(state);
    }

    /// Sends the text that waits.
    pub(crate) fn flush(&self) {
        self.flush_text(&mut self.lock());
    }

    fn flush_text(&self, state: &mut State) {
        if state.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut state.text);
        self.send(&state.parent, "stream", &json!({"name": state.stream.name(), "text": text}));
    }

    fn send(&self, parent: &Value, kind: &str, content: &Value) {
        let topic = [kind.as_bytes().to_vec()];
        self.outbox.send(Channel::Iopub, self.wire.write(&topic, kind, parent, content));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
