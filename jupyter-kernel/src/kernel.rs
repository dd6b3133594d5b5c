//! Requests on shell, one after the other, on the interpreter's thread.

use std::rc::Rc;
use std::sync::{Arc, mpsc};

use porcini_core::interrupt;
use porcini_script::{
    CandidateKind, Cell, Completeness, Error, ErrorKind, Host as _, Inspection, Interpreter, Shown,
};
use serde_json::{Map, Value, json};

use crate::bundle::mime_bundle;
use crate::history::History;
use crate::host::Notebook;
use crate::kernel_info::kernel_info;
use crate::publisher::{Publisher, Stream};
use crate::socket::post::{Channel, Outbox};
use crate::traceback;
use crate::warn::warn;
use crate::wire::{Request, Wire};

/// What the interpreter's thread needs.
pub(crate) struct Kernel {
    pub(crate) interpreter: Interpreter,
    pub(crate) notebook: Rc<Notebook>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) outbox: Outbox,
    pub(crate) wire: Arc<Wire>,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) history: History,
    /// Number of the last cell.
    pub(crate) count: usize,
    /// What is wrong with the environment, until a cell has told it.
    pub(crate) wrong: Vec<String>,
}

impl Kernel {
    /// Answers until the post is gone.
    pub(crate) fn run(mut self) {
        while let Some(request) = self.next() {
            self.answer(&request);
        }
    }

    /// The next request. While nobody asks anything, memory goes back that arrays no longer use.
    fn next(&self) -> Option<Request> {
        while let Some(time) = self.interpreter.session().give_back_unused() {
            match self.requests.recv_timeout(time) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                received => return received.ok(),
            }
        }
        self.requests.recv().ok()
    }

    fn answer(&mut self, request: &Request) {
        if request.kind() == "execute_request" {
            return self.execute(request);
        }
        self.publisher.begin(&request.header, false);
        let content = &request.content;
        match request.kind() {
            "kernel_info_request" => self.reply(request, &kernel_info()),
            "complete_request" => self.reply(request, &self.complete(request)),
            "inspect_request" => self.reply(request, &self.inspect(request)),
            "is_complete_request" => self.reply(request, &self.is_complete(request)),
            "history_request" => self.reply(request, &self.history.reply(content)),
            "comm_info_request" => self.reply(request, &json!({"status": "ok", "comms": {}})),
            // There are no targets to open.
            "comm_open" => self
                .publisher
                .publish("comm_close", &json!({"comm_id": content["comm_id"], "data": {}})),
            "comm_msg" | "comm_close" => {}
            "shutdown_request" => {
                let restart = request.flag("restart", false);
                if let Err(error) = self.interpreter.end() {
                    warn(&format!("at the end: {}", error.message));
                }
                self.reply(request, &json!({"status": "ok", "restart": restart}));
                self.publisher.end();
                return self.outbox.quit();
            }
            other => warn(&format!("shell: no answer to {other:?}")),
        }
        self.publisher.end();
    }

    fn reply(&self, request: &Request, content: &Value) {
        let kind = request.kind().replace("_request", "_reply");
        let frames = self.wire.write(&request.identities, &kind, &request.header, content);
        self.outbox.send(Channel::Shell, frames);
    }

    // ---- cells ----

    fn execute(&mut self, request: &Request) {
        let silent = request.flag("silent", false);
        let stores = request.flag("store_history", true) && !silent;
        self.publisher.begin(&request.header, silent);
        self.notebook.questions.begin(request);
        let Some(code) = request.content["code"].as_str() else {
            let message = "execute_request: `code` is missing or no text";
            return self.fail(request, &Error::plain(ErrorKind::Runtime, message));
        };
        if stores && !code.trim().is_empty() {
            self.count += 1;
            self.history.push(self.count, code);
        }
        let input = json!({"code": code, "execution_count": self.count});
        self.publisher.publish("execute_input", &input);
        match self.run_cell(code, stores) {
            Ok(payload) => {
                let expressions = self.user_expressions(&request.content["user_expressions"]);
                self.publisher.flush();
                self.reply(
                    request,
                    &json!({
                        "status": "ok",
                        "execution_count": self.count,
                        "user_expressions": expressions,
                        "payload": payload,
                    }),
                );
                self.publisher.end();
                if payload.iter().any(|part| part["source"] == "ask_exit") {
                    self.outbox.quit();
                }
            }
            Err(error) => self.fail(request, &error),
        }
    }

    /// Runs a cell and shows its value; the payload of the reply.
    fn run_cell(&mut self, code: &str, stores: bool) -> Result<Vec<Value>, Box<Error>> {
        if let Some(name) = asks_about(code) {
            let found = self.interpreter.inspect_name(name);
            let search = || json!({"text/plain": self.interpreter.help(name)});
            let data = found.as_ref().map_or_else(search, documentation);
            return Ok(vec![json!({"source": "page", "data": data, "start": 0})]);
        }
        if stores && !code.trim().is_empty() && !self.wrong.is_empty() {
            return Err(self.tell_wrong().into());
        }
        interrupt::clear();
        // A cell that is not stored leaves no value behind.
        let result = if stores {
            self.interpreter.run_cell(&Cell::typed(code), self.count)
        } else {
            self.interpreter.evaluate(code, &self.notebook.cell_name(self.count))
        };
        interrupt::clear();
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) if matches!(error.kind, ErrorKind::Exit(_)) => {
                let end =
                    "exit: this kernel ends with all its variables; the next cell needs another\n";
                if !error.is_exit_alone() {
                    self.notebook.publisher.print(
                        Stream::Stderr,
                        &format!("{}\n", error.report("error", None, false)),
                    );
                }
                self.notebook.publisher.print(Stream::Stderr, end);
                return Ok(vec![json!({"source": "ask_exit", "keepkernel": false})]);
            }
            Err(error) => return Err(error),
        };
        if let Some(text) = outcome.text {
            if stores {
                self.history.set_output(&text);
            }
            let data = mime_bundle(Shown { text, forms: outcome.forms });
            let result = json!({"execution_count": self.count, "data": data, "metadata": {}});
            self.publisher.show("execute_result", result);
        }
        let next = outcome.next_input.into_iter();
        let next =
            next.map(|text| json!({"source": "set_next_input", "text": text, "replace": false}));
        Ok(next.collect())
    }

    /// What stands in place of a cell's value once: whoever mistypes a limit believes that it holds.
    fn tell_wrong(&mut self) -> Error {
        let wrong = std::mem::take(&mut self.wrong).join("; ");
        let mut error = Error::plain(ErrorKind::Runtime, wrong);
        error.hints.push("run the cell again to go on without".into());
        error
    }

    /// Values of further expressions, each for itself.
    fn user_expressions(&mut self, asked: &Value) -> Value {
        let Some(asked) = asked.as_object() else { return json!({}) };
        let mut values = Map::new();
        for (name, expression) in asked {
            let code = expression.as_str().unwrap_or_default();
            let value = match self.interpreter.evaluate(code, name) {
                Ok(outcome) => {
                    let text = outcome.text.unwrap_or_default();
                    let data = mime_bundle(Shown { text, forms: outcome.forms });
                    json!({"status": "ok", "data": data, "metadata": {}})
                }
                Err(error) => {
                    let mut content = failure(&error);
                    content["status"] = "error".into();
                    content
                }
            };
            values.insert(name.clone(), value);
        }
        values.into()
    }

    /// Shows an error, then answers it and all cells that the same client sent before.
    fn fail(&mut self, request: &Request, error: &Error) {
        // What is sent by a client that has seen the error is no longer among them.
        let stops = request.flag("stop_on_error", true);
        let queued = if stops { self.queued() } else { Vec::new() };
        let mut content = failure(error);
        // The reply has a status, the output none: notebooks with one are not valid.
        self.publisher.publish("error", &content);
        content["status"] = "error".into();
        content["execution_count"] = self.count.into();
        content["user_expressions"] = json!({});
        content["payload"] = json!([]);
        self.reply(request, &content);
        self.publisher.end();
        for later in queued {
            if later.kind() == "execute_request" && later.identities == request.identities {
                self.publisher.begin(&later.header, true);
                // Without a number: a front end would write it beside a cell that did not run.
                self.reply(&later, &json!({"status": "aborted"}));
                self.publisher.end();
            } else {
                self.answer(&later);
            }
        }
    }

    /// Requests that have arrived by now.
    fn queued(&self) -> Vec<Request> {
        self.outbox.hand_on();
        self.requests.try_iter().collect()
    }

    // ---- what editors ask ----

    fn complete(&self, request: &Request) -> Value {
        let code = request.text("code");
        let cursor = byte_of(code, &request.content["cursor_pos"]);
        let completion = self.interpreter.complete(&Cell::typed(code), cursor);
        let at = |byte| code.get(..byte).unwrap_or(code).chars().count();
        let (start, end) = (at(completion.start), at(completion.end));
        let names: Vec<&str> =
            completion.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let types: Vec<Value> = completion
            .candidates
            .iter()
            .map(|candidate| {
                json!({
                    "start": start,
                    "end": end,
                    "text": candidate.name,
                    "type": kind_name(candidate.kind),
                    "signature": candidate.detail,
                })
            })
            .collect();
        json!({
            "status": "ok",
            "matches": names,
            "cursor_start": start,
            "cursor_end": end,
            // What JupyterLab draws beside the names.
            "metadata": {"_jupyter_types_experimental": types},
        })
    }

    fn inspect(&self, request: &Request) -> Value {
        let code = request.text("code");
        let cursor = byte_of(code, &request.content["cursor_pos"]);
        let cell = Cell::typed(code);
        let wants_source = request.content["detail_level"].as_u64() == Some(1);
        let source = wants_source.then(|| self.interpreter.inspect_source(&cell, cursor)).flatten();
        let found = source.or_else(|| self.interpreter.inspect(&cell, cursor));
        let data = found.as_ref().map_or_else(|| json!({}), documentation);
        json!({"status": "ok", "found": found.is_some(), "data": data, "metadata": {}})
    }

    fn is_complete(&self, request: &Request) -> Value {
        match self.interpreter.is_complete(&Cell::typed(request.text("code"))) {
            Completeness::Complete => json!({"status": "complete"}),
            Completeness::Incomplete { indent } => {
                json!({"status": "incomplete", "indent": " ".repeat(indent)})
            }
            Completeness::Invalid => json!({"status": "invalid"}),
        }
    }
}

/// An error as messages carry it.
fn failure(error: &Error) -> Value {
    json!({
        "ename": traceback::name(error),
        "evalue": error.message,
        "traceback": traceback::lines(error),
    })
}

/// What is known about a name, by MIME type.
fn documentation(found: &Inspection) -> Value {
    json!({"text/plain": found.text, "text/html": found.html})
}

/// What a completion is, in JupyterLab's words.
fn kind_name(kind: CandidateKind) -> &'static str {
    match kind {
        CandidateKind::Variable => "instance",
        CandidateKind::Member => "property",
        CandidateKind::Function => "function",
        CandidateKind::Type => "class",
        CandidateKind::Constant => "constant",
        CandidateKind::Keyword => "keyword",
        CandidateKind::Flag => "option",
        CandidateKind::File => "path",
        CandidateKind::Command => "magic",
        CandidateKind::Topic => "text",
    }
}

/// The name in a cell that is `?name` or `name?`.
fn asks_about(code: &str) -> Option<&str> {
    let code = code.trim();
    let name = code.strip_prefix('?').or_else(|| code.strip_suffix('?'))?.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_:".contains(c));
    is_name.then_some(name)
}

/// The byte of a position that counts characters; the end without one.
fn byte_of(text: &str, position: &Value) -> usize {
    let position = position.as_u64().and_then(|position| usize::try_from(position).ok());
    let byte = position.and_then(|position| text.char_indices().nth(position));
    byte.map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        assert_eq!(byte_of("äa😀b", &json!(3)), 7);
        assert_eq!(byte_of("äa", &json!(2)), 3);
        assert_eq!(byte_of("äa", &json!(99)), 3);
        assert_eq!(byte_of("äa", &json!(-1)), 3);
        assert_eq!(byte_of("ä", &Value::Null), 2);
    }

    #[test]
    fn questions_are_names_with_a_mark() {
        assert_eq!(asks_about("?gather"), Some("gather"));
        assert_eq!(asks_about(" FloatC::arange? \n"), Some("FloatC::arange"));
        for code in ["a ? b", "?", "x", "print(\"?\")?", ""] {
            assert_eq!(asks_about(code), None, "{code}");
        }
    }
}
