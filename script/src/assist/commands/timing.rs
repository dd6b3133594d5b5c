//! `%time`, `%timeit`, `%bench`, `%profile`.

use std::ops::Range;
use std::time::Duration;

use rhai::{AST, Dynamic, EvalAltResult};

use super::argument::{Argument, failed};
use crate::bind::measure;
use crate::bind::stopwatch::{Measured, Work, once, paired, repeated, time_text};
use crate::diagnose::error::Error;
use crate::interpreter::Interpreter;
use crate::show::outcome::Outcome;

type Result<T> = std::result::Result<T, Box<Error>>;

pub(super) fn time(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    required(argument, "time")?;
    let mut text = None;
    let (times, _) = interpreter.measured(argument, None, |interpreter, program| {
        let context = interpreter.context.clone();
        once(&context, &mut *interpreter.work(program)).map(|(times, value)| {
            text = Some(value.clone());
            (times, value)
        })
    })?;
    let kernels = match times.kernels {
        1 => "1 kernel".into(),
        n => format!("{n} kernels"),
    };
    let line = format!("{}: {}; {kernels}", time_text(times.total()), parts(&times.parts()));
    interpreter.context.host.print(&line);
    interpreter.shown(text.unwrap_or_default(), argument.cell, argument.piece, argument.name)
}

pub(super) fn timeit(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    required(argument, "timeit")?;
    let text = argument.text.trim();
    let option = text.strip_prefix("-n ").or_else(|| text.strip_prefix("-r "));
    if option.is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit())) {
        let hint = "write %timeit a + b: it repeats until the time is stable";
        return Err(failed("%timeit: takes no options", hint));
    }
    let measured = interpreter.measured(argument, None, |interpreter, program| {
        let context = interpreter.context.clone();
        repeated(&context, &mut *interpreter.work(program))
    })?;
    interpreter.context.host.print(&lines_of(&measured));
    Ok(Outcome::default())
}

pub(super) fn bench(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let Some(middle) = argument.text.find(";;") else {
        return Err(failed("%bench: expected two pieces of code", "write %bench a + b ;; a * b"));
    };
    let bytes = argument.bytes();
    let middle = bytes.start + middle;
    let other = interpreter.part(argument, middle + 2..bytes.end)?;
    let [a, b] = interpreter.measured(argument, Some(middle), |interpreter, program| {
        let context = interpreter.context.clone();
        // One scope, lent to whichever runs.
        let interpreter = std::cell::RefCell::new(interpreter);
        let mut run = |program: &AST| interpreter.borrow_mut().evaluate_once(program);
        let run = std::cell::RefCell::new(&mut run);
        paired(&context, &mut || (run.borrow_mut())(program), &mut || (run.borrow_mut())(&other))
    })?;
    let [of_a, of_b] = [&a, &b].map(|measured| measured.times.total().as_secs_f64());
    let host = interpreter.context.host.clone();
    host.print(&format!("first   {}", lines_of(&a)));
    host.print(&format!("second  {}", lines_of(&b)));
    let ratio = of_b / of_a.max(1e-12);
    host.print(&match ratio {
        ratio if ratio >= 1.0 => format!("the first is {ratio:.2} times as fast"),
        ratio => format!("the second is {:.2} times as fast", 1.0 / ratio.max(1e-12)),
    });
    Ok(Outcome::default())
}

pub(super) fn profile(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    required(argument, "profile")?;
    let kernels = interpreter.measured(argument, None, |interpreter, program| {
        let context = interpreter.context.clone();
        measure::profile(&context, &mut *interpreter.work(program))
    })?;
    if kernels.is_empty() {
        interpreter.context.host.print("no kernels were launched");
        return Ok(Outcome::default());
    }
    interpreter.shown(Dynamic::from(kernels), argument.cell, argument.piece, argument.name)
}

fn required(argument: &Argument<'_>, name: &str) -> Result<()> {
    if argument.text.trim().is_empty() {
        return Err(failed(format!("%{name}: expected code"), format!("write %{name} a + b")));
    }
    Ok(())
}

/// The median, and its parts in a line below.
fn lines_of(measured: &Measured) -> String {
    format!(
        "{} +/- {:.0} %, the median of {} batches of {}\n        {}",
        time_text(measured.times.total()),
        measured.spread * 100.0,
        measured.batches,
        measured.runs,
        parts(&measured.times.parts())
    )
}

/// The parts that took any time.
fn parts(parts: &[(&str, Duration)]) -> String {
    let some = parts.iter().filter(|(_, time)| !time.is_zero());
    let texts: Vec<String> =
        some.map(|(name, time)| format!("{name} {}", time_text(*time))).collect();
    texts.join(", ")
}

impl Interpreter {
    /// Compiles the script of a command, or its part up to a byte, measures it and tidies up; errors as if it had been
    /// executed.
    fn measured<T>(
        &mut self,
        argument: &Argument<'_>,
        end: Option<usize>,
        measure: impl FnOnce(&mut Self, &AST) -> std::result::Result<T, Box<EvalAltResult>>,
    ) -> Result<T> {
        let Argument { cell, name, .. } = *argument;
        let bytes = argument.bytes();
        let program = self.part(argument, bytes.start..end.unwrap_or(bytes.end))?;
        let result = measure(self, &program);
        let result = result.map_err(|error| Box::new(self.diagnose(&error, cell, name)));
        self.tidy_scope();
        let is_over = result.as_ref().err().is_none_or(|error| error.is_exit_alone());
        let late = if is_over { self.context.session.take_error() } else { None };
        self.with_late(result, late, cell, name)
    }

    /// The program of a part of a command.
    fn part(&mut self, argument: &Argument<'_>, bytes: Range<usize>) -> Result<AST> {
        let Argument { cell, piece, name, .. } = *argument;
        let ast = cell.compile_part(&self.engine, piece, bytes);
        self.program(ast, cell, name)
    }

    fn work<'w>(&'w mut self, program: &'w AST) -> Box<Work<'w>> {
        Box::new(move || self.evaluate_once(program))
    }
}
