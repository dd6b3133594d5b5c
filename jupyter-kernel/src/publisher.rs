//! What every client sees: states, output, results. Text is collected, because clients are slow at many
//! small messages: one goes out every 50 ms or 64 KiB, and before anything else is shown. Lines of the log are one
//! listing, which grows while nothing else is shown. Of live pictures a client gets what it can show (`frames`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use porcini_script::Shown;
use serde_json::{Value, json};

use crate::bundle::mime_bundle;
use crate::frames::{Frames, bytes_shown, display_id};
use crate::printed::Printed;
use crate::socket::post::{Channel, Outbox};
use crate::wire::Wire;

/// How long text waits for more, and lines of the log, which are sent again with those before them.
const PATIENCE: Duration = Duration::from_millis(50);
const PATIENCE_OF_LOG: Duration = Duration::from_millis(200);
/// Bytes of text that go out at once.
const ENOUGH: usize = 64 << 10;
/// Bytes that one cell may show, texts and displays together, but for what it has cleared or replaced: more than a browser
/// can show, and what a client that does not read costs in memory.
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
    /// Bytes shown for this request, and displays that it added; of those with names their bytes.
    n_shown: usize,
    n_displays: usize,
    named: HashMap<String, usize>,
    /// What waits so that clients keep up.
    frames: Frames,
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

    /// What was shown is no more.
    fn forget(&mut self) {
        (self.n_shown, self.n_displays) = (0, 0);
        self.named.clear();
        self.printed.clear();
        self.logged.clear();
    }

    /// Notes the bytes of a display with a name; what it takes the place of counts no longer.
    fn name(&mut self, kind: &str, content: &Value, bytes: usize) {
        let Some(name) = display_id(content) else { return };
        let before = self.named.insert(name.into(), bytes);
        if kind == "update_display_data" {
            self.n_shown = self.n_shown.saturating_sub(before.unwrap_or(0));
        }
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
            named: HashMap::new(),
            frames: Frames::default(),
            printed: Printed::new("printed", keeps),
            logged: Printed::new("logged", keeps),
        };
        Self { wire, outbox, state: Mutex::new(state) }
    }

    /// What follows belongs to a request; a silent one shows nothing.
    pub(crate) fn begin(&self, parent: &Value, silent: bool) {
        let mut state = self.lock();
        self.end_text(&mut state);
        self.release(&mut state);
        state.parent = parent.clone();
        state.silent = silent;
        state.forget();
        state.printed.begin();
        state.logged.begin();
        self.send(parent, "status", &json!({"execution_state": "busy"}));
    }

    /// The request is done.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        self.tell_rest(&mut state);
        self.release(&mut state);
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
        self.release(&mut state);
        if !state.silent {
            self.send(&state.parent, kind, content);
        }
    }

    /// A message that shows something, which counts.
    pub(crate) fn show(&self, kind: &'static str, content: Value) {
        let mut state = self.lock();
        if state.silent {
            return;
        }
        self.end_text(&mut state);
        match kind {
            "clear_output" => {
                state.forget();
                return self.emit(&mut state, kind, content);
            }
            "execute_result" => self.tell_rest(&mut state),
            "display_data" => state.n_displays += 1,
            _ => {}
        }
        if kind == "display_data" && state.n_displays > MOST_DISPLAYS {
            return self.tell_displays(&mut state);
        }
        let shown = bytes_shown(&content);
        // The value of a cell comes once, and last: a short one is shown whatever was printed before.
        let always = kind == "execute_result" && shown <= ENOUGH;
        let bytes = shown + MESSAGE;
        if bytes > MOST {
            return self.tell_large(&mut state, bytes);
        }
        state.name(kind, &content, bytes);
        let was_full = state.n_shown > MOST;
        if state.take(bytes) == bytes || always {
            self.emit(&mut state, kind, content);
        } else if !was_full {
            self.tell_end(&mut state);
        }
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

    fn tell_displays(&self, state: &mut State) {
        if state.n_displays == MOST_DISPLAYS + 1 {
            let end = format!(
                "\n.. this cell showed {MOST_DISPLAYS} displays, the rest is not shown; one can take another's place, see help(\"display\") ..\n"
            );
            self.tell(state, end);
        }
    }

    /// Says what is alone too much.
    fn tell_large(&self, state: &mut State, bytes: usize) {
        if state.take(MESSAGE) < MESSAGE {
            return;
        }
        let (got, limit) = (bytes.div_ceil(1 << 20), MOST >> 20);
        let large = format!(
            "\n.. a value takes {got} MiB as it is shown here, and a cell shows {limit} MiB: show a part of it ..\n"
        );
        self.tell(state, large);
    }

    fn tell_end(&self, state: &mut State) {
        let limit = MOST >> 20;
        let end = format!("\n.. this cell showed {limit} MiB, the rest is not shown ..\n");
        self.tell(state, end);
    }

    /// Says how much was printed that is not shown, and shows how it ended.
    fn tell_rest(&self, state: &mut State) {
        self.end_text(state);
        let (logged, printed) = (state.logged.rest(), state.printed.rest());
        for (stream, rest) in [(Stream::Stderr, logged), (Stream::Stdout, printed)] {
            let Some(rest) = rest else { continue };
            self.tell(state, rest.told);
            (state.stream, state.text) = (stream, rest.end);
            self.flush_text(state);
        }
    }

    fn tell(&self, state: &mut State, text: String) {
        (state.stream, state.text) = (Stream::Stderr, text);
        self.flush_text(state);
    }

    /// Sends all that waits.
    pub(crate) fn flush(&self) {
        let mut state = self.lock();
        self.flush_text(&mut state);
        self.release(&mut state);
    }

    /// Sends what has waited long enough.
    pub(crate) fn flush_due(&self) {
        let mut state = self.lock();
        self.flush_text(&mut state);
        match state.frames.due().filter(|_| state.frames.waits()) {
            Some(due) if due > Instant::now() => self.outbox.flush_at(due),
            Some(_) => self.release(&mut state),
            None => {}
        }
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
        self.emit(state, "stream", json!({"name": name, "text": text}));
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
        self.emit(state, kind, content);
        if state.log.len() >= ENOUGH {
            state.log.clear();
        }
    }

    /// Sends a message of the cell in its turn.
    fn emit(&self, state: &mut State, kind: &'static str, content: Value) {
        let (waited, bytes) = (state.frames.waits(), bytes_shown(&content));
        if let Some((kind, content)) = state.frames.pass((kind, content), bytes) {
            self.send(&state.parent, kind, &content);
        } else if let Some(due) = state.frames.due().filter(|_| !waited) {
            self.outbox.flush_at(due);
        }
    }

    /// Sends what waits so that clients keep up.
    fn release(&self, state: &mut State) {
        for (kind, content) in state.frames.take() {
            self.send(&state.parent, kind, &content);
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
