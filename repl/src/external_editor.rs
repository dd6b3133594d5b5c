//! The editor that a person likes, and what they copied elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use crate::foreground;

/// What edits where neither `VISUAL` nor `EDITOR` names a program.
const USUAL: &str = "vi";

/// Programs that tell what was copied, each with the variable without which it has nobody to ask.
const CLIPBOARDS: [(&str, &[&str], Option<&str>); 4] = [
    ("wl-paste", &["--no-newline"], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard", "-o"], Some("DISPLAY")),
    ("xsel", &["--clipboard", "--output"], Some("DISPLAY")),
    ("pbpaste", &[], None),
];

/// What somebody makes of a text.
///
/// # Errors
/// There is no terminal, the editor does not start, or it says that it failed; what it leaves is no text.
pub(crate) fn edit(text: &str) -> io::Result<String> {
    // Editors know by the name what language it is.
    let mut file = tempfile::Builder::new().prefix("cell-").suffix(".rhai").tempfile()?;
    writeln!(file, "{text}")?;
    open(&file.path().display().to_string())?;
    // Some editors put another file in its place.
    std::fs::read_to_string(file.path())
}

/// Opens a file in the editor, and waits until it is closed.
///
/// # Errors
/// As [`edit`].
pub(crate) fn open(path: &str) -> io::Result<()> {
    if !io::stdin().is_terminal() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "there is no terminal here"));
    }
    let set = |name| std::env::var(name).ok().filter(|program| !program.trim().is_empty());
    let program = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| USUAL.into());
    // It may be called with arguments: `code --wait`.
    let mut words = program.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(USUAL));
    let status = foreground::run(command.args(words).arg(path), |_| {});
    let why = |what: String| io::Error::other(format!("{program}: {what}"));
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(why(format!("it ended with {status}"))),
        Err(error) => Err(why(error.to_string())),
    }
}

/// The text that was copied last, in whatever program.
///
/// # Errors
/// No program tells it.
pub(crate) fn clipboard() -> io::Result<String> {
    for (program, arguments, needs) in CLIPBOARDS {
        if needs.is_some_and(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
            continue;
        }
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
        if let Ok(output) = output
            && output.status.success()
        {
            return String::from_utf8(output.stdout)
                .map_err(|_| io::Error::other("what was copied is no text"));
        }
    }
    let names = CLIPBOARDS.map(|(program, ..)| program).join(", ");
    let why = format!("no program tells what was copied (tried {names})");
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}
