//! Commands about the session: files, variables, switches.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use porcini_core::DeviceChoice;
use rhai::Dynamic;

use super::argument::{Argument, at_home, failed};
use super::commands;
use crate::diagnose::error::{Error, ErrorKind};
use crate::interpreter::Interpreter;
use crate::language::cell::Cell;
use crate::show::outcome::Outcome;
use crate::show::whos;
use crate::show::wrap::wrap;

type Result<T> = std::result::Result<T, Box<Error>>;

/// Cells that `%history` lists by default.
const RECENT: usize = 20;

pub(super) fn help(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let text = match argument.text.trim() {
        "" => commands(interpreter.context.host.window()),
        name => interpreter.explain(name, false),
    };
    interpreter.context.host.page(&text);
    Ok(Outcome::default())
}

pub(super) fn run(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    // Every second piece stood in quotes, where blanks belong to the word.
    let mut words = argument.text.split('"').enumerate().flat_map(|(i, piece)| {
        if i % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() }
    });
    let path = &at_home(words.next().unwrap_or_default(), &*interpreter.context.host);
    let text = read(interpreter, "run", path)?;
    let arguments: Vec<String> = words.map(str::to_string).collect();
    let list: rhai::Array = arguments.iter().cloned().map(Dynamic::from).collect();
    interpreter.scope.set_or_push("ARGS", list);
    interpreter.context.arguments.replace(arguments);
    let result = interpreter.execute(&text, path);
    // A file shows what it prints.
    result.map(|_| Outcome::default())
}

pub(super) fn load(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let text = read(interpreter, "load", &argument.path(&*interpreter.context.host))?;
    Ok(Outcome { next_input: Some(text.trim_end().into()), ..Outcome::default() })
}

fn read(interpreter: &Interpreter, command: &str, path: &str) -> Result<String> {
    if path.is_empty() {
        let hint = format!("write %{command} script.rhai");
        return Err(failed(format!("%{command}: expected a file"), hint));
    }
    let bytes = interpreter.context.read_file(path);
    let bytes = bytes.map_err(|error| {
        let told = format!("%{command}: {path}: {error}");
        match error.kind() {
            io::ErrorKind::Interrupted => {
                Error::plain(ErrorKind::Interrupted, "interrupted").into()
            }
            io::ErrorKind::NotFound if Path::new(path).is_relative() => {
                failed(told, "paths start at the working folder")
            }
            _ => Error::plain(ErrorKind::Runtime, told).into(),
        }
    })?;
    String::from_utf8(bytes).map_err(|_| {
        failed(format!("%{command}: {path} is no text (UTF-8 expected)"), "scripts end in .rhai")
    })
}

pub(super) fn save(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let path = &argument.path(&*interpreter.context.host);
    if path.is_empty() {
        return Err(failed("%save: expected a file", "write %save session.rhai"));
    }
    let went_well = |(number, _): &&(usize, String)| !interpreter.failed.contains(number);
    let cells = interpreter.inputs.iter().filter(went_well).map(|(_, text)| text.trim_end());
    let is_program = |text: &&str| {
        !text.starts_with(['%', '?']) && Cell::script(text).compile(&interpreter.engine).is_ok()
    };
    let cells = without_redefined(interpreter, cells.filter(is_program).collect());
    let written = interpreter.context.host.write_file(path, (cells.join("\n") + "\n").as_bytes());
    written.map_err(|error| {
        failed(format!("%save: {path}: {error}"), "choose a folder that can be written")
    })?;
    let n = cells.len();
    interpreter.context.host.print(&format!("{n} cells written to {path}"));
    Ok(Outcome::default())
}

/// Leaves out cells of functions that later ones define anew: a file defines a function once.
fn without_redefined<'t>(interpreter: &Interpreter, mut cells: Vec<&'t str>) -> Vec<&'t str> {
    let mut later: HashSet<(String, usize)> = HashSet::new();
    cells.reverse();
    cells.retain(|text| {
        let program = Cell::script(text).compile(&interpreter.engine).unwrap_or_default();
        let mut functions = program.iter_functions().peekable();
        let has_more = functions.peek().is_none() || !program.statements().is_empty();
        let n_known = later.len();
        later.extend(functions.map(|f| (f.name.to_string(), f.params.len())));
        has_more || later.len() > n_known
    });
    cells.reverse();
    cells
}

pub(super) fn history(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let n = match argument.text.trim() {
        "" => RECENT,
        text => text.parse().map_err(|_| {
            failed(format!("%history: got {text}, expected a number of cells"), "write %history 50")
        })?,
    };
    let first = interpreter.inputs.len().saturating_sub(n);
    let width = interpreter.inputs.last().map_or(1, |(number, _)| number.to_string().len());
    let margin = format!("\n{}", " ".repeat(width + 2));
    let line = |(number, text): &(usize, String)| {
        format!("{number:>width$}: {}", text.trim_end().replace('\n', &margin))
    };
    let lines: Vec<String> = interpreter.inputs[first..].iter().map(line).collect();
    interpreter.context.host.page(&lines.join("\n"));
    Ok(Outcome::default())
}

pub(super) fn who(interpreter: &mut Interpreter, _: &Argument<'_>) -> Result<Outcome> {
    let mut names = interpreter.defined();
    names.sort();
    let text = if names.is_empty() { "nothing yet".into() } else { names.join("  ") };
    interpreter.context.host.print(&text);
    Ok(Outcome::default())
}

pub(super) fn whos(interpreter: &mut Interpreter, _: &Argument<'_>) -> Result<Outcome> {
    let table = whos::held(&interpreter.scope);
    let host = &interpreter.context.host;
    let text = match table.rows.is_empty() {
        true => "no variables yet".into(),
        false => table.fitted(host.window(), &whos::LESS),
    };
    host.print(&text);
    Ok(Outcome::default())
}

pub(super) fn reset(interpreter: &mut Interpreter, _: &Argument<'_>) -> Result<Outcome> {
    interpreter.reset();
    Ok(Outcome::default())
}

/// Arrays cannot move: with a name the session begins anew on that device, unless something would be lost.
pub(super) fn device(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let name = argument.text.trim();
    if !name.is_empty() {
        let device = name.parse::<DeviceChoice>();
        let device = device.map_err(|error| failed(error.to_string(), "write %device cpu"))?;
        if interpreter.context.is_sandbox && matches!(device, DeviceChoice::Ranks(..)) {
            let what = format!("%device: a sandbox starts no processes, which {name} are");
            return Err(failed(what, "write %device cpu:2 for parts of this process"));
        }
        let n = interpreter.defined().len();
        if n > 0 {
            let names = if n == 1 { "a name" } else { "names" };
            let message = format!("%device: this session has {names}, which cannot move to {name}");
            let hint = format!("%who lists what is there; %reset forgets it, then %device {name}");
            return Err(failed(message, hint));
        }
        interpreter.begin_on(device)?;
    }
    let name = interpreter.context.session.device_name();
    interpreter.context.host.print(&name);
    Ok(Outcome::default())
}

pub(super) fn log(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let session = &interpreter.context.session;
    match argument.text.trim() {
        "" => interpreter.context.host.print(&format!("log level {}", session.log_level())),
        text => {
            let level = text.parse().ok().filter(|&level| level <= porcini_core::log::MAX_LEVEL);
            let level = level.ok_or_else(|| {
                failed(
                    format!("%log: got {text}, expected 0 to 5"),
                    "0 nothing, 1 launches, 2 + cache, 3 + source, 4 + trace, 5 + machine code",
                )
            })?;
            session.set_log_level(level);
        }
    }
    Ok(Outcome::default())
}

pub(super) fn set(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let session = &interpreter.context.session;
    let mut words = argument.text.split_whitespace();
    let (name, value) = (words.next(), words.next());
    let Some(name) = name else {
        let host = &interpreter.context.host;
        // Where a window is too narrow for a column of texts, they stand below.
        let (margin, separator) = match host.window() {
            Some(window) if window < 60 => (4, "\n    "),
            _ => (23, ""),
        };
        let width = host.window().map_or(usize::MAX, |window| window.saturating_sub(margin));
        for (name, _, doc) in porcini_core::flags::FLAGS {
            let value = session.flag(name).unwrap_or_default();
            let value = if value { "on" } else { "off" };
            let doc = wrap(doc, width).replace('\n', &format!("\n{:margin$}", ""));
            host.print(&format!("{name:<17} {value:<4} {separator}{doc}"));
        }
        return Ok(Outcome::default());
    };
    let value = match value {
        Some("on" | "true" | "1") => true,
        Some("off" | "false" | "0") => false,
        _ => {
            let hint = "write %set fast_math on, or off; %set alone lists the switches";
            return Err(failed(
                format!("%set {name}: expected on or off"),
                hint.replace("fast_math", name),
            ));
        }
    };
    session
        .set_flag(name, value)
        .map_err(|error| failed(error.to_string(), "%set lists the switches"))?;
    Ok(Outcome::default())
}
