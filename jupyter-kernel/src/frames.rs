//! Live pictures: what a cell clears or replaces many times a second is a row of frames, of which a client gets no more
//! than it can show. Frames that others replace meanwhile are left out; the last one always comes.

use std::time::{Duration, Instant};

use serde_json::Value;

/// Time between two frames.
const APART: Duration = Duration::from_millis(30);
/// Bytes of a frame that take a client a millisecond.
const PACE: usize = 20_000;

/// A message that shows something: its kind and what it carries.
pub(crate) type Message = (&'static str, Value);

/// What was sent of the last frame, and what waits behind it.
#[derive(Default)]
pub(crate) struct Frames {
    /// When the last frame began, and its bytes so far.
    start: Option<Instant>,
    bytes: usize,
    /// What waits for its time, while something does.
    held: Vec<Message>,
}

impl Frames {
    /// A message of so many bytes that is to be sent; `None` if it waits.
    pub(crate) fn pass(&mut self, message: Message, bytes: usize) -> Option<Message> {
        let begins = matches!(message.0, "clear_output" | "update_display_data");
        if !self.held.is_empty() || begins && self.due().is_some_and(|due| Instant::now() < due) {
            self.hold(message);
            return None;
        }
        if begins {
            (self.start, self.bytes) = (Some(Instant::now()), 0);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Some(message)
    }

    /// When what waits should be sent.
    pub(crate) fn due(&self) -> Option<Instant> {
        let taken = Duration::from_millis((self.bytes / PACE) as u64);
        self.start.map(|start| start + taken.max(APART))
    }

    /// Whether something waits.
    pub(crate) fn waits(&self) -> bool {
        !self.held.is_empty()
    }

    /// What waits, which is sent now.
    pub(crate) fn take(&mut self) -> Vec<Message> {
        if self.waits() {
            let bytes = self.held.iter().map(|(_, content)| bytes_shown(content)).sum();
            (self.start, self.bytes) = (Some(Instant::now()), bytes);
        }
        std::mem::take(&mut self.held)
    }

    fn hold(&mut self, message: Message) {
        match message.0 {
            "update_display_data" => {
                let name = display_id(&message.1);
                let is_other = |(kind, content): &Message| {
                    *kind != "update_display_data" || display_id(content) != name
                };
                self.held.retain(is_other);
            }
            // Of those in a row one is enough; one that waits takes no place of one that does not.
            "clear_output" => self.forget_clear(waits(&message.1)),
            _ => self.clear(),
        }
        self.held.push(message);
    }

    /// Another clear comes: the one before it, if nothing was shown since, need not.
    fn forget_clear(&mut self, may_wait: bool) {
        if let Some(last) = self.last_clear()
            && (waits(&self.held[last].1) || !may_wait)
        {
            self.held.remove(last);
        }
    }

    /// Where a clear is held behind which nothing is but updates.
    fn last_clear(&self) -> Option<usize> {
        let last = self.held.iter().rposition(|message| !is_update(message));
        last.filter(|&last| self.held[last].0 == "clear_output")
    }

    /// What is cleared once there is something new is gone now; displays of other cells keep what was put in their place.
    fn clear(&mut self) {
        if let Some(last) = self.last_clear() {
            let clear = self.held.remove(last);
            self.held.retain(is_update);
            self.held.push(clear);
        }
    }
}

fn is_update(message: &Message) -> bool {
    message.0 == "update_display_data"
}

/// Whether a clear waits for what is shown next.
fn waits(clear: &Value) -> bool {
    clear["wait"] == true
}

/// Bytes of what a message shows, in all of its forms.
pub(crate) fn bytes_shown(content: &Value) -> usize {
    let forms = content["data"].as_object().into_iter().flatten();
    forms.filter_map(|(_, form)| form.as_str()).map(str::len).sum()
}

/// The name of a display.
pub(crate) fn display_id(content: &Value) -> Option<&str> {
    content["transient"]["display_id"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn clear() -> Message {
        ("clear_output", json!({"wait": true}))
    }

    fn display(text: &str) -> Message {
        ("display_data", json!({"data": {"text/plain": text}}))
    }

    fn update(name: &str, text: &str) -> Message {
        let transient = json!({"display_id": name});
        ("update_display_data", json!({"data": {"text/plain": text}, "transient": transient}))
    }

    /// Frames of which the first is sent, for a while that no test takes.
    fn begun() -> Frames {
        let mut frames = Frames::default();
        assert_eq!(frames.pass(clear(), PACE * 1_000_000), Some(clear()));
        assert_eq!(frames.pass(display("0"), 0), Some(display("0")));
        frames
    }

    #[test]
    fn of_frames_in_a_row_the_last_waits() {
        let mut frames = begun();
        for i in 1..5 {
            assert_eq!(frames.pass(clear(), 0), None);
            assert_eq!(frames.pass(display(&i.to_string()), 0), None);
        }
        assert!(frames.waits());
        assert_eq!(frames.take(), [clear(), display("4")]);
        assert!(!frames.waits());
    }

    #[test]
    fn nothing_is_cleared_for_what_does_not_come() {
        let mut frames = begun();
        for message in [clear(), display("1"), clear()] {
            assert_eq!(frames.pass(message, 0), None);
        }
        assert_eq!(frames.take(), [clear(), display("1"), clear()]);
    }

    #[test]
    fn of_clears_in_a_row_one_waits() {
        let at_once = ("clear_output", json!({"wait": false}));
        for (row, want) in [
            (vec![clear(), clear(), clear()], vec![clear()]),
            (vec![clear(), at_once.clone(), at_once.clone()], vec![at_once.clone()]),
            (vec![at_once.clone(), clear(), clear()], vec![at_once.clone(), clear()]),
        ] {
            let mut frames = begun();
            for message in row {
                assert_eq!(frames.pass(message, 0), None);
            }
            assert_eq!(frames.take(), want);
        }
    }

    #[test]
    fn each_display_keeps_its_last() {
        let mut frames = begun();
        for message in [update("a", "1"), update("b", "1"), update("a", "2"), clear(), display("x")]
        {
            assert_eq!(frames.pass(message, 0), None);
        }
        assert_eq!(frames.take(), [update("b", "1"), update("a", "2"), clear(), display("x")]);
    }

    #[test]
    fn what_is_no_frame_passes() {
        let mut frames = Frames::default();
        for _ in 0..3 {
            assert_eq!(frames.pass(display("x"), 1), Some(display("x")));
        }
        assert_eq!(frames.take(), []);
    }
}
