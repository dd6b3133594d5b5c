//! The line editor: thin adapters from rustyline's traits to the interpreter.

mod cell_cache;
mod complete;
pub(crate) mod cooked;
mod gutter;
mod highlight;
mod history;
mod keys;
mod suspend;
mod transcript;

use std::borrow::Cow;
use std::cell::{self, RefCell};
use std::rc::Rc;

use porcini_script::{Completeness, Interpreter};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};

use gutter::{BLANK, plain};

pub(crate) use cell_cache::CellCache;
pub(crate) use gutter::{Prompt, Prompted, cell};
pub(crate) use history::{Cells, tell_of_history};

/// Names listed without asking.
const MOST_LISTED: usize = 200;

/// The editor with its history.
pub(crate) type Line = Editor<Assistant, Cells>;

/// The interpreter, shared by the loop and the editor.
pub(crate) type Shared = Rc<RefCell<Interpreter>>;

/// A closing bracket that was typed and takes the place of a level of indentation.
type Closing = Rc<cell::Cell<Option<char>>>;

/// How the editor works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether the terminal takes colour.
    pub(crate) colour: bool,
    /// Whether the history is hinted at, which takes colour: else hints would look like typed text.
    pub(crate) hints: bool,
    /// Keys of vi in place of those of emacs.
    pub(crate) vi: bool,
}

/// A line editor on this terminal.
pub(crate) fn editor(
    interpreter: &Shared,
    style: Style,
    prompted: &Prompted,
    history: Cells,
) -> rustyline::Result<Line> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .completion_prompt_limit(MOST_LISTED)
        .bell_style(rustyline::config::BellStyle::None)
        // The gutter is drawn also where there is no colour.
        .color_mode(ColorMode::Forced)
        .edit_mode(if style.vi { rustyline::EditMode::Vi } else { rustyline::EditMode::Emacs })
        .build();
    let mut editor = Line::with_history(config, history)?;
    let closing = Closing::default();
    let cell_cache = CellCache::default();
    keys::bind(&mut editor, interpreter, &cell_cache, prompted, &closing);
    let hinter = HistoryHinter::new();
    let (interpreter, prompted) = (interpreter.clone(), prompted.clone());
    let helper = Assistant { interpreter, cell_cache, style, prompted, hinter, closing };
    editor.set_helper(Some(helper));
    Ok(editor)
}

/// What the line editor asks.
pub(crate) struct Assistant {
    interpreter: Shared,
    pub(crate) cell_cache: CellCache,
    style: Style,
    prompted: Prompted,
    hinter: HistoryHinter,
    closing: Closing,
}

impl Helper for Assistant {}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        // On a terminal the key Enter has looked already; this is for what comes through a pipe.
        Ok(if self.goes_on(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;

    /// The newest cell of the history that starts so; only in colour, where it cannot be taken for typed.
    fn hint(&self, line: &str, pos: usize, context: &Context<'_>) -> Option<String> {
        let hint = self.style.hints.then(|| self.hinter.hint(line, pos, context))??;
        let first = hint.lines().next().filter(|first| !first.is_empty())?;
        Some(first.into())
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        let read = self.style.colour.then(|| self.cell_cache.of(line));
        let line = read.map_or(Cow::Borrowed(line), |cell| highlight::script(&cell).into());
        if !line.contains(BLANK) {
            return line;
        }
        let prompt = self.prompted.borrow();
        prompt.drawn(&line, &self.dim(&prompt.further)).into()
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.style.colour { highlight::prompt(prompt).into() } else { Cow::Borrowed(prompt) }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        self.dim(hint).into()
    }

    fn highlight_candidate<'c>(&self, shown: &'c str, _: CompletionType) -> Cow<'c, str> {
        match shown.split_once("  ") {
            Some((name, about)) => format!("{name}  {}", self.dim(about)).into(),
            None => Cow::Borrowed(shown),
        }
    }

    fn highlight_char(&self, line: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor && (self.style.colour || line.contains(BLANK))
    }
}

impl Assistant {
    /// An edited text as it stands on the screen.
    pub(crate) fn painted(&self, text: &str) -> String {
        let prompt = &self.prompted.borrow().first;
        format!("{}{}", self.highlight_prompt(prompt, true), self.highlight(text, 0))
    }

    /// Whether a typed text is not complete, and nobody gave it up.
    fn goes_on(&self, text: &str) -> bool {
        let cell = self.cell_cache.of_typed(&plain(text));
        let state = self.interpreter.borrow().is_complete(&cell);
        matches!(state, Completeness::Incomplete { .. }) && !keys::is_given_up(text)
    }

    fn dim(&self, text: &str) -> String {
        if self.style.colour { highlight::dim(text) } else { text.into() }
    }
}
