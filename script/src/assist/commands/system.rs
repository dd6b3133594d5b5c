//! Commands about the system: folders, programs, an editor. None of them can be had in a sandbox.

use std::io;

use super::argument::{Argument, failed};
use crate::diagnose::error::{Error, ErrorKind};
use crate::interpreter::Interpreter;
use crate::show::outcome::Outcome;
use crate::show::wrap::in_columns;

type Result<T> = std::result::Result<T, Box<Error>>;

pub(super) fn cd(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let host = interpreter.context.host.clone();
    let folder = match argument.path(&*host) {
        home if home.is_empty() => host.variable("HOME").unwrap_or_else(|| ".".into()),
        last if last == "-" => interpreter.last_folder.clone().ok_or_else(|| {
            failed("%cd -: there was no other folder yet", "write %cd folder; %ls lists them")
        })?,
        folder => folder,
    };
    let before = host.folder().map_err(|error| refused("%cd", &error, ELSEWHERE))?;
    host.change_folder(&folder)
        .map_err(|error| refused(&format!("%cd {folder}"), &error, ELSEWHERE))?;
    interpreter.last_folder = Some(before);
    pwd(interpreter, argument)
}

pub(super) fn pwd(interpreter: &mut Interpreter, _: &Argument<'_>) -> Result<Outcome> {
    let host = &interpreter.context.host;
    host.print(&host.folder().map_err(|error| refused("%pwd", &error, ELSEWHERE))?);
    Ok(Outcome::default())
}

pub(super) fn ls(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let host = &interpreter.context.host;
    let folder = argument.path(&**host);
    let mut names = host.list_folder(&folder).map_err(|error| {
        let what = format!("%ls {folder}");
        refused(what.trim_end(), &error, "it takes a folder; %sh ls -l runs the system's own")
    })?;
    names.sort();
    if !names.is_empty() {
        host.print(&in_columns(&names, host.window()));
    }
    Ok(Outcome::default())
}

pub(super) fn sh(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let line = argument.text.trim();
    if line.is_empty() {
        return Err(failed("%sh: expected a command", "write %sh ls -l, or %%sh and lines below"));
    }
    let host = &interpreter.context.host;
    let status = host.shell(line).map_err(|error| {
        refused("%sh", &error, "scripts read and write files by read_csv, write_npy and the like")
    })?;
    if status.success() {
        return Ok(Outcome::default());
    }
    Err(failed(format!("%sh: the command ended with {status}"), "what it wrote stands above"))
}

/// Cells are edited and come back to the prompt; files stay where they are.
pub(super) fn edit(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let host = &interpreter.context.host;
    let asked = argument.path(&**host);
    let inputs = &interpreter.inputs;
    // The last one is %edit itself.
    let cell = match (&*asked, asked.parse::<usize>()) {
        ("", _) => inputs.iter().rev().skip(1).find(|(_, text)| !text.starts_with(['%', '?'])),
        (_, Ok(number)) => {
            let found = inputs.iter().find(|(known, _)| *known == number);
            Some(found.ok_or_else(|| {
                failed(format!("%edit {number}: there is no cell {number}"), "%history lists them")
            })?)
        }
        (file, Err(_)) => {
            let done = host.edit_file(file);
            done.map_err(|error| refused(&format!("%edit {file}"), &error, EDITOR))?;
            let quotes = if file.contains(char::is_whitespace) { "\"" } else { "" };
            let next = format!("%run {quotes}{file}{quotes}");
            return Ok(Outcome { next_input: Some(next), ..Outcome::default() });
        }
    };
    let text = cell.map_or("", |(_, text)| text);
    let edited = host.edit(text).map_err(|error| refused("%edit", &error, EDITOR))?;
    Ok(Outcome { next_input: Some(edited.trim_end().into()), ..Outcome::default() })
}

pub(super) fn paste(interpreter: &mut Interpreter, _: &Argument<'_>) -> Result<Outcome> {
    let text = interpreter.context.host.clipboard().map_err(|error| {
        refused("%paste", &error, "paste at the prompt: several lines are one cell")
    })?;
    Ok(Outcome { next_input: Some(text.trim_end().into()), ..Outcome::default() })
}

const ELSEWHERE: &str = "paths may also be written from the root on: read_csv(\"/data/x.csv\")";
const EDITOR: &str = "%load and %save read and write files; EDITOR names the program";

fn refused(what: &str, error: &io::Error, hint: &str) -> Box<Error> {
    match error.kind() {
        io::ErrorKind::Interrupted => Error::plain(ErrorKind::Interrupted, "interrupted").into(),
        // What a sandbox refuses it refuses in every other way too.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            Error::plain(ErrorKind::Runtime, format!("{what}: {error}")).into()
        }
        _ => failed(format!("{what}: {error}"), hint),
    }
}
