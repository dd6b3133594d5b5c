//! The text of what is to be run.

use std::io::{self, Read};

use porcini_core::memory::caching_allocator::Bytes;
use porcini_script::folders::{self, LONGEST_SCRIPT};

use crate::cli::{Source, Task};
use crate::{signals, typed};

/// Text and name of what is to be run.
pub(crate) fn read(source: &Source) -> Result<(String, String), String> {
    match source {
        // Of a pipe, too, nobody waits in the system for who writes into it.
        Source::File(path) => match folders::read(path, &room, |_| {}).and_then(text) {
            Ok(text) => Ok((text, path.clone())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Err(signals::why_stopped().into())
            }
            Err(error) => {
                let task = Task::names().any(|name| name == *path);
                let advice = if task { "; a task stands first: " } else { "" };
                let task = if task { format!("porcini {path}") } else { String::new() };
                Err(format!("{path}: {error}{advice}{task}"))
            }
        },
        Source::Input => match text_of(typed::Input) {
            Ok(text) => Ok((text, "<stdin>".into())),
            Err(error) if typed::is_interrupt(&error) => Err(signals::why_stopped().into()),
            Err(error) => Err(format!("standard input: {error}")),
        },
        Source::Code(code) => Ok((code.clone(), "<eval>".into())),
        Source::Shell => Ok((String::new(), String::new())),
    }
}

/// A script from a source that may have no end.
fn text_of(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(LONGEST_SCRIPT + 1).read_to_end(&mut bytes)?;
    room(bytes.len() as u64)?;
    text(bytes)
}

/// Refuses a script that is longer than anybody writes.
fn room(bytes: u64) -> io::Result<()> {
    if bytes > LONGEST_SCRIPT {
        let most = Bytes(LONGEST_SCRIPT);
        return Err(io::Error::other(format!("a script is at most {most} long")));
    }
    Ok(())
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::other("not a text file (UTF-8 expected)"))
}
