//! What every client sees: states, output, results. Text is collected, because clients are slow at many
//! small messages: one goes out every 50 ms or 64 KiB, and before anything else is shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::socket::{Channel, Outbox};
use crate::wire::Wire;

/// How long text waits for more.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of text that go out at once.
const ENOUGH: usize = 64 << 10;
/// Bytes of text that one cell may print: more than a browser can show, and what a client that does not
/// read costs in memory.
const MOST_TEXT: usize = 64 << 20;

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
    /// Bytes printed for this request.
    n_printed: usize,
}

impl Publisher {
    pub(crate) fn new(wire: Arc<Wire>, outbox: Outbox) -> Self {
        let state = State {
            parent: Value::Null,
            silent: false,
            stream: Stream::Stdout,
            text: String::new(),
            n_printed: 0,
        };
        Self { wire, outbox, state: Mutex::new(state) }
    }

    /// What follows belongs to a request; a silent one shows nothing.
    pub(crate) fn begin(&self, parent: &Value, silent: bool) {
        let mut state = self.lock();
        self.flush_text(&mut state);
        state.parent = parent.clone();
        state.silent = silent;
        state.n_printed = 0;
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

    /// Prints text as it is.
    pub(crate) fn print(&self, stream: Stream, text: &str) {
        let mut state = self.lock();
        if state.silent || text.is_empty() || state.n_printed > MOST_TEXT {
            return;
        }
        if state.stream != stream {
            self.flush_text(&mut state);
            state.stream = stream;
        }
        if state.text.is_empty() {
            self.outbox.flush_at(Instant::now() + PATIENCE);
        }
        state.n_printed += text.len();
        state.text.push_str(text);
        if state.text.len() >= ENOUGH {
            self.flush_text(&mut state);
        }
        if state.n_printed > MOST_TEXT {
            self.flush_text(&mut state);
            state.stream = Stream::Stderr;
            let limit = MOST_TEXT >> 20;
            state.text = format!("\n.. this cell printed {limit} MiB, the rest is not shown ..\n");
            self.flush_text(&mut state);
        }
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
