//! Commands of a prompt: `%time x`, `?name`. One table drives running, help and completion.
//!
//! Commands are no part of the language: they stand at the start of a line that a person typed. What
//! makes sense in scripts is a function there too.

mod argument;
mod session;
mod system;
mod timing;
mod written;

use argument::{Argument, failed};
use std::fmt::Write as _;

use crate::context::RunningCell;
use crate::diagnose::error::{Error, ErrorKind};
use crate::interpreter::Interpreter;
use crate::language::cell::{Cell, Head, Piece};
use crate::show::outcome::Outcome;
use crate::show::wrap::wrap;
use porcini_core::spelling::similar;

/// A command.
pub struct Command {
    /// Name, behind `%`.
    pub name: &'static str,
    /// What stands behind the name.
    pub parameters: &'static str,
    /// Help text.
    pub doc: &'static str,
    /// What its argument is.
    pub takes: Takes,
    run: fn(&mut Interpreter, &Argument<'_>) -> Result<Outcome, Box<Error>>,
}

impl Command {
    pub(super) fn help(&self) -> String {
        format!("%{} {}\n\n{}", self.name, self.parameters, self.doc)
    }
}

/// What the argument of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A script; its lines go on while they are incomplete.
    Code,
    /// A path, without quotes.
    File,
    /// A switch and its value.
    Flag,
    /// A name that has help.
    Name,
    /// A line of the system's shell; behind `%%` all lines.
    System,
    /// A text in a language of its own; behind `%%` all lines.
    Text,
    /// Something else.
    Word,
}

impl Takes {
    /// Whether a command may begin with `%%`, and take all lines of a cell.
    pub(crate) fn takes_cell(self) -> bool {
        matches!(self, Self::Code | Self::System | Self::Text)
    }
}

/// All commands, in the order of help.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        parameters: "[NAME]",
        doc: "explains a name, as ?NAME does; alone, lists these commands",
        takes: Takes::Name,
        run: session::help,
    },
    Command {
        name: "time",
        parameters: "CODE",
        doc: "runs code once and says how long recording, compiling, launching and waiting took",
        takes: Takes::Code,
        run: timing::time,
    },
    Command {
        name: "timeit",
        parameters: "CODE",
        doc: "repeats code until the median is stable; in scripts timeit(|| ..)",
        takes: Takes::Code,
        run: timing::timeit,
    },
    Command {
        name: "bench",
        parameters: "CODE ;; CODE",
        doc: "times two pieces of code by turns and gives their ratio; in scripts bench(|| .., || ..)",
        takes: Takes::Code,
        run: timing::bench,
    },
    Command {
        name: "profile",
        parameters: "CODE",
        doc: "runs code and lists its kernels by total time; in scripts profile(|| ..)",
        takes: Takes::Code,
        run: timing::profile,
    },
    Command {
        name: "run",
        parameters: "FILE [ARGS]",
        doc: "runs a script in this session",
        takes: Takes::File,
        run: session::run,
    },
    Command {
        name: "load",
        parameters: "FILE",
        doc: "puts the text of a file at the prompt, to be edited and run",
        takes: Takes::File,
        run: session::load,
    },
    Command {
        name: "save",
        parameters: "FILE",
        doc: "writes the cells of this session to a file, but for those that failed",
        takes: Takes::File,
        run: session::save,
    },
    Command {
        name: "edit",
        parameters: "[N|FILE]",
        doc: "opens the last cell, cell N or a file in your editor; a cell comes back to the prompt",
        takes: Takes::File,
        run: system::edit,
    },
    Command {
        name: "paste",
        parameters: "",
        doc: "puts the text of the clipboard at the prompt",
        takes: Takes::Nothing,
        run: system::paste,
    },
    Command {
        name: "cd",
        parameters: "[FOLDER]",
        doc: "changes the working folder; alone to your own, with - to the last one",
        takes: Takes::File,
        run: system::cd,
    },
    Command {
        name: "pwd",
        parameters: "",
        doc: "says the working folder",
        takes: Takes::Nothing,
        run: system::pwd,
    },
    Command {
        name: "ls",
        parameters: "[FOLDER]",
        doc: "lists a folder",
        takes: Takes::File,
        run: system::ls,
    },
    Command {
        name: "sh",
        parameters: "COMMAND",
        doc: "runs a command of the system; %%sh all lines below it",
        takes: Takes::System,
        run: system::sh,
    },
    Command {
        name: "kernel",
        parameters: "[--explain [TYPES]] TEXT",
        doc: "defines a kernel from text under its own name; %%kernel of all lines below it, as kernel(text) does",
        takes: Takes::Text,
        run: written::kernel,
    },
    Command {
        name: "cuda",
        parameters: "[NAME] [OPTIONS]",
        doc: "%%cuda compiles all lines below it as CUDA C++: its kernels become variables, and the module if it has a name",
        takes: Takes::Text,
        run: written::cuda,
    },
    Command {
        name: "history",
        parameters: "[N]",
        doc: "lists the last cells of this session with their numbers; _3 and Out[3] are the value of cell 3",
        takes: Takes::Word,
        run: session::history,
    },
    Command {
        name: "who",
        parameters: "",
        doc: "lists the names of variables and functions",
        takes: Takes::Nothing,
        run: session::who,
    },
    Command {
        name: "whos",
        parameters: "",
        doc: "lists the variables with type, size, memory and state; whos() what the machine has recorded",
        takes: Takes::Nothing,
        run: session::whos,
    },
    Command {
        name: "reset",
        parameters: "",
        doc: "forgets all variables, functions, imports and outputs",
        takes: Takes::Nothing,
        run: session::reset,
    },
    Command {
        name: "device",
        parameters: "[auto|cpu|cuda|cuda:N]",
        doc: "says where kernels run; with a name begins anew there, after %reset",
        takes: Takes::Word,
        run: session::device,
    },
    Command {
        name: "log",
        parameters: "[0..5]",
        doc: "sets or says the log level, as set_log_level(n) does",
        takes: Takes::Word,
        run: session::log,
    },
    Command {
        name: "set",
        parameters: "[FLAG on|off]",
        doc: "sets a switch, as set_flag(name, value) does; alone, lists them",
        takes: Takes::Flag,
        run: session::set,
    },
];

/// Commands of other notebooks, and what stands for them.
const ELSEWHERE: [(&str, &str); 10] = [
    ("html", "display_html(text) shows HTML"),
    ("HTML", "display_html(text) shows HTML"),
    ("markdown", "display_markdown(text) shows Markdown"),
    ("latex", "display_markdown(\"$x^2$\") shows formulas"),
    ("bash", "%%sh runs all lines below it"),
    ("script", "%%sh runs all lines below it"),
    ("writefile", "write_text(\"x.txt\", text) writes a file; `..` holds several lines"),
    ("pip", "there are no packages; %sh runs a command of the system"),
    ("matplotlib", "pictures need no command: plot(x, y)"),
    ("cat", "%sh cat x.txt, or print(read_text(\"x.txt\"))"),
];

impl Cell {
    /// What a person typed: commands and script.
    pub fn typed(text: &str) -> Self {
        Self::read(text, head)
    }
}

impl Interpreter {
    /// Runs what a person typed as cell `number`. The value stays as `_`, `_3` and `Out[3]`.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    pub fn run_cell(&mut self, cell: &Cell, number: usize) -> Result<Outcome, Box<Error>> {
        self.inputs.push((number, cell.text().into()));
        let result = self.bounded(|interpreter| interpreter.run_pieces(cell, number));
        if result.is_err() {
            self.failed.insert(number);
        }
        result
    }

    fn run_pieces(&mut self, cell: &Cell, number: usize) -> Result<Outcome, Box<Error>> {
        let name = self.context.host.cell_name(number);
        let mut result = Ok(Outcome::default());
        for piece in cell.pieces() {
            // What a command runs is no text of the cell.
            let running = if piece.is_command { String::new() } else { name.clone() };
            let number = u32::try_from(number).unwrap_or(0);
            self.context.cell.replace(RunningCell { number, name: running });
            result = if piece.is_command {
                self.guarded(|interpreter| interpreter.run_command(cell, piece, &name))
            } else {
                self.run(cell, piece, &name)
            };
            self.context.cell.take();
            if result.is_err() {
                break;
            }
        }
        if !matches!(&result, Err(error) if error.kind == ErrorKind::Syntax) {
            let shown = result.as_ref().ok().and_then(|outcome| outcome.text.as_deref());
            let notes = self.notes(cell, shown);
            notes.iter().for_each(|(_, note)| self.context.host.eprint(note));
        }
        let outcome = result?;
        if outcome.text.is_some()
            && let Some(value) = self.scope.get("_")
        {
            self.context.outputs.keep(number, value);
        }
        Ok(outcome)
    }

    fn run_command(
        &mut self,
        cell: &Cell,
        piece: &Piece,
        name: &str,
    ) -> Result<Outcome, Box<Error>> {
        let code = cell.code(piece);
        let typed = code.trim();
        if let Some(asked) = question(typed) {
            self.context.host.page(&self.explain(asked, typed.contains("??")));
            return Ok(Outcome::default());
        }
        let Some((command, text)) = command(code) else { return Err(unknown(typed)) };
        (command.run)(self, &Argument { cell, piece, text, name })
    }

    /// What `?name` shows; `??name` also the source.
    fn explain(&self, name: &str, with_source: bool) -> String {
        if name.is_empty() {
            return self.help("");
        }
        if let Some(command) = name.strip_prefix('%') {
            let known = COMMANDS.iter().find(|known| known.name == command);
            return known.map_or_else(|| commands(self.context.host.window()), Command::help);
        }
        let source = self.source(name).filter(|_| with_source && !self.scope.contains(name));
        match (self.inspect_name(name), source) {
            (Some(_), Some(source)) => source,
            (Some(found), None) if with_source && !self.scope.contains(name) => {
                format!("{}\n\n{name} is built in: it has no script source", found.text)
            }
            (Some(found), None) => found.text,
            (None, _) => match COMMANDS.iter().find(|known| known.name == name) {
                Some(known) => known.help(),
                None => self.help(name),
            },
        }
    }
}

/// The commands as help lists them: a table, or where a window is too narrow for it, names with texts below.
pub(crate) fn commands(window: Option<usize>) -> String {
    let head = |command: &Command| format!("%{} {}", command.name, command.parameters);
    let mut rows: Vec<(String, &str)> = COMMANDS.iter().map(|c| (head(c), c.doc)).collect();
    rows.push(("?NAME".into(), "what a name is; ??NAME the source of a script function"));
    let width = rows.iter().map(|(head, _)| head.len()).max().unwrap_or(0);
    let widest = rows.iter().map(|(_, doc)| width + doc.len() + 4).max().unwrap_or(0);
    let narrow = window.filter(|&window| window < widest);
    let mut text = String::from("Commands, at the start of a line:\n\n");
    for (head, doc) in rows {
        let _ = match narrow {
            Some(window) => {
                let doc = wrap(doc, window.saturating_sub(6)).replace('\n', "\n    ");
                writeln!(text, "  {}\n    {doc}", head.trim_end())
            }
            None => writeln!(text, "  {head:<width$}  {doc}"),
        };
    }
    text.trim_end().into()
}

/// How a line begins that is a command. Further down in a cell only known ones are: `% b` may go on a line.
fn head(line: &str, is_first: bool) -> Option<Head> {
    let line = line.trim_end();
    let typed = line.trim_start();
    if question(typed).is_some() {
        return Some(Head::Line);
    }
    match command(line) {
        Some((command, code)) => {
            let bytes = line.len() - code.len();
            let takes_all = typed.starts_with("%%");
            Some(match command.takes {
                Takes::Code if takes_all => Head::AllLines(bytes),
                Takes::Code => Head::Script(bytes),
                _ if takes_all => Head::AllText,
                _ => Head::Line,
            })
        }
        // The lines of another system's cell are no script.
        None if is_first && typed.starts_with("%%") => Some(Head::AllText),
        None => {
            (is_first && typed.starts_with('%') && !typed.starts_with("% ")).then_some(Head::Line)
        }
    }
}

/// The command that a line begins with, and its argument. `%%time` is `%time` of all lines that follow.
fn command(line: &str) -> Option<(&'static Command, &str)> {
    let rest = line.trim_start().strip_prefix('%')?;
    let takes_all = rest.starts_with('%');
    let rest = rest.strip_prefix('%').unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let is_meant = |c: &&Command| c.name == &rest[..end] && (!takes_all || c.takes.takes_cell());
    let found = COMMANDS.iter().find(is_meant)?;
    Some((found, rest[end..].trim_start()))
}

/// Whether a piece is text to its end, for which nobody knows where it ends: `%%sh`.
pub(crate) fn is_open_text(code: &str) -> bool {
    code.trim_start().starts_with("%%")
        && command(code)
            .is_some_and(|(command, _)| matches!(command.takes, Takes::System | Takes::Text))
}

/// Whether a piece is a command of all lines that follow, `%%time`, with none on its own line.
pub(crate) fn takes_lines(code: &str) -> bool {
    let line = code.trim_start().lines().next().unwrap_or_default();
    line.starts_with("%%") && command(line).is_some_and(|(_, code)| code.is_empty())
}

/// The name of `?name`, `??name`, `name?`, `?`.
fn question(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('?') {
        return Some(rest.trim_start_matches('?').trim());
    }
    let name = line.strip_suffix('?')?.trim_end_matches('?').trim_end();
    let is_name = |c: char| c.is_alphanumeric() || "_:%.".contains(c);
    name.chars().all(is_name).then_some(name)
}

fn unknown(typed: &str) -> Box<Error> {
    let name = typed.split_whitespace().next().unwrap_or(typed).trim_start_matches('%');
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return failed(format!("no command %{name}"), *instead);
    }
    if COMMANDS.iter().any(|command| command.name == name) {
        return failed(format!("%{name} is a line, and takes no cell"), format!("write %{name}"));
    }
    let similar = similar(name, COMMANDS.iter().map(|command| command.name));
    let hint = match similar.first() {
        Some(known) => format!("did you mean %{known}?"),
        None => "%help lists the commands".into(),
    };
    failed(format!("no command %{name}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_the_window() {
        let wide = commands(None);
        assert!(wide.contains("%save FILE  ") && wide.ends_with("of a script function"), "{wide}");
        let narrow = commands(Some(40));
        assert!(narrow.lines().all(|line| line.chars().count() < 40), "{narrow}");
        assert!(narrow.contains("  %save FILE\n    writes the cells"), "{narrow}");
    }

    #[test]
    fn commands_are_found() {
        assert_eq!(command("%time  a + b").unwrap().1, "a + b");
        assert_eq!(command("%%time\na\n").unwrap().1, "a\n");
        assert!(command("%%who").is_none());
        assert_eq!(command("%%sh\nls\n").unwrap().1, "ls\n");
        assert!(is_open_text("%%sh\nls") && !is_open_text("%sh ls") && !is_open_text("%%time a"));
        assert!(command("%timee a").is_none() && command("a % b").is_none());
        assert!(head("%nosuch", true).is_some() && head("%nosuch", false).is_none());
        assert!(matches!(head("%%html", true), Some(Head::AllText)));
        assert!(head("% b", true).is_none() && head("a + b", true).is_none());
        for (line, name) in [
            ("?sin", "sin"),
            ("??f", "f"),
            ("sin?", "sin"),
            ("? %time", "%time"),
            ("?", ""),
            ("? +", "+"),
        ] {
            assert_eq!(question(line), Some(name), "{line}");
        }
        for line in ["a + b", "x ? y : z", "print(\"what?\")", "f(x)?"] {
            assert_eq!(question(line), None, "{line}");
        }
    }
}
