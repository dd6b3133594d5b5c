//! Control: requests that are answered while the interpreter works.

use std::sync::Arc;

use porcini_script::Interpreter;
use serde_json::{Value, json};
use zmq::Socket;

use super::message::{receive, send};
use super::post::Outbox;
use crate::kernel_info::kernel_info;
use crate::publisher::Publisher;
use crate::usage::Usage;
use crate::warn::warn;
use crate::wire::{Request, Wire};

/// What control needs to answer.
pub(crate) struct Control {
    pub(crate) wire: Arc<Wire>,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) outbox: Outbox,
    pub(crate) usage: Usage,
}

/// Answers until the context ends.
pub(crate) fn serve_control(socket: &Socket, control: &Control) {
    while let Some(frames) = receive(socket) {
        match control.wire.read(frames) {
            Ok(request) => control.answer(socket, &request),
            Err(error) => warn(&format!("control: {error}")),
        }
    }
}

impl Control {
    fn answer(&self, socket: &Socket, request: &Request) {
        let parent = &request.header;
        self.publisher.status(parent, "busy");
        let reply = |kind: &str, content: &Value| {
            send(socket, self.wire.write(&request.identities, kind, parent, content));
        };
        match request.kind() {
            "kernel_info_request" => reply("kernel_info_reply", &kernel_info()),
            "usage_request" => reply("usage_reply", &self.usage.reply()),
            "interrupt_request" => {
                Interpreter::interrupt();
                reply("interrupt_reply", &json!({"status": "ok"}));
            }
            "shutdown_request" => {
                let content = json!({"status": "ok", "restart": request.flag("restart", false)});
                Interpreter::interrupt();
                reply("shutdown_reply", &content);
                self.publisher.publish_for(parent, "shutdown_reply", &content);
                self.publisher.status(parent, "idle");
                self.outbox.quit();
                return;
            }
            other => warn(&format!("control: no answer to {other:?}")),
        }
        self.publisher.status(parent, "idle");
    }
}
