//! What every client sees: states, output, results. Text is collected, because clients are slow at many
//! small messages: one goes out every 50 ms or 64 KiB, and before anything else is shown. Lines of the log are one
//! listing, which grows while nothing else is shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use porcini_script::Shown;
use serde_json::{Value, json};

use crate::bundle::mime_bundle;
use crate::printed::Printed;
use crate::socket::post::{Channel, Outbox};
use crate::wire::Wire;

/// How long text waits for more, and lines of the log, which are sent again with those before them.
const PATIENCE: Duration = Duration::from_millis(50);
const PATIENCE_OF_LOG: Duration = Duration::from_millis(200);
/// Bytes of text that go out at once.
const ENOUGH: usize = 64 << 10;
/// Bytes that one cell may show, texts and displays together: more than a browser can show, and what a client that does
/// not read costs in memory.
const MOST: usize = 64 << 20;
/// Displays that one cell may add to a page: more freeze browsers. What takes the place of another does not count.
const MOST_DISPLAYS: usize = 1000;
/// Bytes of a message besides what it shows.
const MESSAGE: usize = 500;

/// A stream of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
    Log,
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
    /// The log as it is shown last, and how many times it began.
    log: String,
    n_logs: usize,
    /// Bytes shown for this request, and displays that it added.
    n_shown: usize,
    n_displays: usize,
    /// What was printed for it, and what logged: a long log leaves room for a value.
    printed: Printed,
    logged: Printed,
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
    /// A publisher that keeps what a cell prints beyond a page in a file, if it may.
    pub(crate) fn new(wire: Arc<Wire>, outbox: Outbox, keeps: bool) -> Self {
        let state = State {
            parent: Value::Null,
            silent: false,
            stream: Stream::Stdout,
            text: String::new(),
            log: String::new(),
            n_logs: 0,
            n_shown: 0,
            n_displays: 0,
            printed: Printed::new("printed", keeps),
            logged: Printed::new("logged", keeps),
        };
        Self { wire, outbox, state: Mutex::new(state) }
    }

    /// What follows belongs to a request; a silent one shows nothing.
    pub(crate) fn begin(&self, parent: &Value, silent: bool) {
        let mut state = self.lock();
        self.end_text(&mut state);
        state.parent = parent.clone();
        state.silent = silent;
        (state.n_shown, state.n_displays) = (0, 0);
        state.printed.begin();
        state.logged.begin();
        self.send(parent, "status", &json!({"execution_state": "busy"}));
    }

    /// The request is done.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        self.tell_rest(&mut state);
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
        self.tell_rest(&mut state);
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
        match kind {
            "execute_result" => self.tell_rest(&mut state),
            "display_data" => state.n_displays += 1,
            "clear_output" => state.n_displays = 0,
            _ => {}
        }
        if kind == "display_data" && state.n_displays > MOST_DISPLAYS {
            if state.n_displays == MOST_DISPLAYS + 1 {
                let end = format!(
                    "\n.. this cell showed {MOST_DISPLAYS} displays, the rest is not shown; one can take another's place, see help(\"display\") ..\n"
                );
                self.tell(&mut state, end);
            }
            return;
        }
        self.end_text(&mut state);
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
            self.end_text(&mut state);
            state.stream = stream;
        }
        if state.text.is_empty() {
            let is_log = stream == Stream::Log;
            let patience = if is_log { PATIENCE_OF_LOG } else { PATIENCE };
            self.outbox.flush_at(Instant::now() + patience);
        }
        let so_far = match stream {
            Stream::Log => &mut state.logged,
            Stream::Stdout | Stream::Stderr => &mut state.printed,
        };
        let fits = so_far.take(text);
        state.take(fits);
        state.text.push_str(&text[..fits]);
        if state.text.len() >= ENOUGH {
            self.flush_text(&mut state);
        }
    }

    fn tell_end(&self, state: &mut State) {
        let limit = MOST >> 20;
        let end = format!("\n.. this cell showed {limit} MiB, the rest is not shown ..\n");
        self.tell(state, end);
    }

    /// Says how much was printed that is not shown.
    fn tell_rest(&self, state: &mut State) {
        self.end_text(state);
        for rest in [state.logged.rest(), state.printed.rest()].into_iter().flatten() {
            self.tell(state, rest);
        }
    }

    fn tell(&self, state: &mut State, text: String) {
        state.stream = Stream::Stderr;
        state.text = text;
        self.flush_text(state);
    }

    /// Sends the text that waits.
    pub(crate) fn flush(&self) {
        self.flush_text(&mut self.lock());
    }

    /// The kernel ends: nothing is left of it.
    pub(crate) fn quit(&self) {
        let mut state = self.lock();
        state.printed = Printed::new("printed", false);
        state.logged = Printed::new("logged", false);
    }

    /// Sends the text that waits; what comes then is not a part of the same log.
    fn end_text(&self, state: &mut State) {
        self.flush_text(state);
        state.log.clear();
    }

    fn flush_text(&self, state: &mut State) {
        if state.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut state.text);
        let name = match state.stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
            Stream::Log => return self.show_log(state, &text),
        };
        self.send(&state.parent, "stream", &json!({"name": name, "text": text}));
    }

    /// Shows lines of the log behind those before.
    fn show_log(&self, state: &mut State, lines: &str) {
        let is_new = state.log.is_empty();
        state.n_logs += usize::from(is_new);
        state.log.push_str(lines);
        let content = json!({
            "data": mime_bundle(Shown::log(state.log.trim_end())),
            "metadata": {},
            "transient": {"display_id": format!("porcini log {}", state.n_logs)},
        });
        let kind = if is_new { "display_data" } else { "update_display_data" };
        self.send(&state.parent, kind, &content);
        if state.log.len() >= ENOUGH {
            state.log.clear();
        }
    }

    fn send(&self, parent: &Value, kind: &str, content: &Value) {
        let topic = [kind.as_bytes().to_vec()];
        self.outbox.send(Channel::Iopub, self.wire.write(&topic, kind, parent, content));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
