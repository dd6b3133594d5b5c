//! Keys that know about cells of several lines: Enter goes on or runs, and indents; Backspace takes the
//! indentation back; Home stops behind the gutter.

use std::io::{self, Write as _};

use porcini_script::Completeness;
use rustyline::{
    CharSearch, Cmd, ConditionalEventHandler, Event, EventContext, EventHandler, KeyCode, KeyEvent,
    Modifiers, Movement, RepeatCount,
};
use send_wrapper::SendWrapper;

use super::gutter::{BLANK, LEVEL, Prompted, plain};
use super::suspend::Suspend;
use super::{CellCache, Closing, Line, Shared};

/// Binds the keys.
pub(super) fn bind(
    editor: &mut Line,
    interpreter: &Shared,
    cell_cache: &CellCache,
    prompted: &Prompted,
    closing: &Closing,
) {
    let mut bind = |key: KeyEvent, action: fn(&EventContext<'_>) -> Option<Cmd>| {
        editor.bind_sequence(key, EventHandler::Conditional(Box::new(Key(action))));
    };
    bind(KeyEvent(KeyCode::Backspace, Modifiers::NONE), backspace);
    bind(KeyEvent(KeyCode::Home, Modifiers::NONE), home);
    bind(KeyEvent::ctrl('A'), home);
    bind(KeyEvent(KeyCode::Tab, Modifiers::NONE), tab);
    bind(KeyEvent::ctrl('C'), cancel);
    let suspend = EventHandler::Conditional(Box::new(Suspend::new()));
    editor.bind_sequence(KeyEvent::ctrl('Z'), suspend);
    // The handlers must be `Send`, though only the editor's thread calls them.
    let prompt = || SendWrapper::new(prompted.clone());
    // A new line wherever the cursor is.
    let newline = EventHandler::Conditional(Box::new(NewLine(prompt())));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), newline);
    let judge = || SendWrapper::new(Judge(interpreter.clone(), cell_cache.clone()));
    let enter = EventHandler::Conditional(Box::new(Enter(judge(), prompt())));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::NONE), enter);
    for bracket in ['}', ')', ']'] {
        let close = Close(judge(), SendWrapper::new(closing.clone()), bracket);
        let close = EventHandler::Conditional(Box::new(close));
        editor.bind_sequence(KeyEvent(KeyCode::Char(bracket), Modifiers::NONE), close);
    }
}

/// A key whose command follows from the text and the cursor.
struct Key(fn(&EventContext<'_>) -> Option<Cmd>);

impl ConditionalEventHandler for Key {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        (self.0)(context)
    }
}

/// Says of a text as it is edited whether more lines are needed.
struct Judge(Shared, CellCache);

impl Judge {
    /// `None` while the interpreter is busy, which is only while no key is read.
    fn of(&self, text: &str) -> Option<Completeness> {
        Some(self.0.try_borrow().ok()?.is_complete(&self.1.of_typed(&plain(text))))
    }
}

struct NewLine(SendWrapper<Prompted>);

impl ConditionalEventHandler for NewLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        Some(Cmd::Insert(1, format!("\n{}", self.0.borrow().gutter())))
    }
}

struct Enter(SendWrapper<Judge>, SendWrapper<Prompted>);

impl ConditionalEventHandler for Enter {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let text = context.line();
        let state = self.0.of(text)?;
        match state {
            Completeness::Incomplete { indent } if !is_given_up(text) => {
                let before = text.get(..context.pos()).unwrap_or(text);
                let levels = indent / LEVEL.chars().count();
                let indent = LEVEL.repeat(if before.len() == text.len() { levels } else { 0 });
                Some(Cmd::Insert(1, format!("\n{}{indent}", self.1.borrow().gutter())))
            }
            _ => Some(Cmd::AcceptLine),
        }
    }
}

/// A closing bracket at the start of a line stands where the line of the opening one starts.
struct Close(SendWrapper<Judge>, SendWrapper<Closing>, char);

impl ConditionalEventHandler for Close {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let before = context.line().get(..context.pos())?;
        let levels = line_before(context);
        let n_levels = levels.matches(LEVEL).count();
        if n_levels == 0 || !levels.trim().is_empty() {
            return None;
        }
        // Who took the level back by hand is not helped a second time.
        let state = self.0.of(before)?;
        let Completeness::Incomplete { indent } = state else { return None };
        // The editor has no command that takes something back and types; completing does both.
        (indent == n_levels * LEVEL.chars().count()).then(|| {
            self.1.set(Some(self.2));
            Cmd::Complete
        })
    }
}

/// Two blank lines at the end: whoever types them wants the error rather than another line.
pub(super) fn is_given_up(text: &str) -> bool {
    let is_blank = |line: &str| line.chars().all(char::is_whitespace);
    let mut lines = text.rsplit('\n');
    let last = [lines.next(), lines.next()];
    lines.next().is_some() && last.into_iter().flatten().all(is_blank)
}

/// What stands before the cursor on its line, behind the gutter.
fn line_before<'c>(context: &'c EventContext<'_>) -> &'c str {
    let before = context.line().get(..context.pos()).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim_start_matches(BLANK)
}

/// Takes back a level of indentation, then the line with its gutter. The editor has no command to delete
/// several characters, but one to delete back to a character.
fn backspace(context: &EventContext<'_>) -> Option<Cmd> {
    let is_continued = context.line().get(..context.pos())?.contains(BLANK);
    let to = match line_before(context) {
        "" if is_continued => '\n',
        line if line.ends_with(LEVEL) && line.trim().is_empty() => LEVEL.chars().next()?,
        _ => return None,
    };
    Some(Cmd::Kill(Movement::ViCharSearch(1, CharSearch::Backward(to))))
}

fn home(context: &EventContext<'_>) -> Option<Cmd> {
    let is_continued = context.line().get(..context.pos())?.contains(BLANK);
    let moves = is_continued && !line_before(context).is_empty();
    moves.then_some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::BackwardAfter(BLANK))))
}

/// Takes the hint off the screen, which would stay there as if it had been typed; the editor does the rest.
fn cancel(context: &EventContext<'_>) -> Option<Cmd> {
    if context.has_hint() {
        let mut output = io::stdout();
        // A terminal that takes nothing shows no hint.
        drop(output.write_all(b"\x1b[J").and_then(|()| output.flush()));
    }
    None
}

/// Indents where a line begins; elsewhere completes.
fn tab(context: &EventContext<'_>) -> Option<Cmd> {
    line_before(context).trim().is_empty().then(|| Cmd::Insert(1, LEVEL.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_blank_lines_give_up() {
        for (text, given_up) in [
            ("f(", false),
            ("f(\n", false),
            ("f(\n\n", true),
            ("f(\n  \n\u{a0}\u{a0} ", true),
            ("f(\n\n1", false),
            ("\n", false),
        ] {
            assert_eq!(is_given_up(text), given_up, "{text:?}");
        }
    }
}
