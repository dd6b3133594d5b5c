//! Golden sessions: real scripts with what they show written in comments.
//!
//! ```text
//! //! log 2                                 directives, at the top: log LEVEL, args A B, errors full
//! a = FloatC([1, 2, 3]);
//! a + 1                   //=> [2, 3, 4]    a line of output: of print, or the cell's value
//! Vector2fC(a, a + 1)     //=> [[1, 2],     further lines stand below
//! //=>  [2, 3],
//! //=>  [3, 4]]
//! eval(a * 2)             //!> a log line, if the session asks for a log
//! a + FloatC([1, 2])      //~ ERROR sizes 3 and 2    part of the diagnostic's first line
//! //~ help: ...           part of one of its other lines
//! loop {}                 // ^C             interrupted while it runs
//! ```
//!
//! The file is split into cells as a shell splits what is typed: lines join until they are complete.
//! Each configuration (interpreter width, number of threads) runs it in a session of its own and must
//! show the same. `UPDATE_EXPECT=1` writes what the first configuration shows into the file. Times,
//! hexadecimal numbers and the device read `_`. With `errors full` diagnostics are compared in full.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use porcini_core::backend::isa::Isa;
use porcini_core::device::RanksOn;
use porcini_core::inspect::Rows;
use porcini_core::{DeviceChoice, Runtime, interrupt};
use porcini_script::{Cell, Completeness, Interpreter, Options, on_engine_thread};

use crate::extent::is_full;
use crate::host::{Shown, Stream, TestHost};

/// Most bytes that the arrays of a session take: also what `whos` shows as the limit.
pub const MEMORY_LIMIT: u64 = 1 << 30;
/// Column of expectations behind short lines of code.
const COLUMN: usize = 40;
/// Widest line that an expectation is put on.
const WIDTH: usize = 110;

const MARKS: [(&str, Stream); 3] =
    [("//=>", Stream::Out), ("//!>", Stream::Log), ("//~", Stream::Error)];

/// Behind a cell that is interrupted. The flag belongs to the process: only `tests/interrupt` has such cells.
const CTRL_C: &str = "// ^C";
/// How long such a cell runs.
const MOMENT: Duration = Duration::from_millis(30);

/// The interpreter as every processor has it.
pub const BASELINE: (DeviceChoice, usize) = (DeviceChoice::Interp(Isa::Baseline), 1);

/// The ways in which every session runs: interpreted and compiled, by what this processor can do, on one
/// thread, two, and more than there are cores; over parts, with `PORCINI_FULL=1` of several numbers.
pub fn configurations() -> Vec<(DeviceChoice, usize)> {
    let available = Isa::ALL.into_iter().filter(|isa| isa.is_available());
    let interpreters = available.map(DeviceChoice::Interp).zip([1, 2, 1]);
    let compilers = crate::devices::compiled().map(DeviceChoice::Compiled);
    let threads: &[usize] = if is_full() { &[1, 2, 8] } else { &[1, 8] };
    let compilers = compilers.flat_map(|choice| threads.iter().map(move |&n| (choice, n)));
    let numbers: &[u16] = if is_full() { &[2, 3, 7, 17] } else { &[3] };
    // Every array of more lanes than a chunk is split.
    let parts = numbers.iter().map(|&number| (DeviceChoice::Parts(number, 1), 2));
    let gpus = crate::gpu::open().map(|_| {
        let several = crate::gpu::several()[0];
        [DeviceChoice::Cuda(0), DeviceChoice::Gpus(several, 1)]
    });
    let gpus = gpus.into_iter().flatten().map(|choice| (choice, 1));
    interpreters.chain(compilers).chain(parts).chain(gpus).collect()
}

/// The same, and with `PORCINI_FULL=1` over ranks: for programs whose tests can be one (`ranks.rs`).
pub fn configurations_and_ranks() -> Vec<(DeviceChoice, usize)> {
    let gpus = crate::gpu::open().map(|_| RanksOn::Gpus);
    let of_each = |on| (DeviceChoice::Ranks(2, on, 1), 2);
    let ranks = [RanksOn::Processors].into_iter().chain(gpus).map(of_each);
    configurations().into_iter().chain(ranks.filter(|_| is_full())).collect()
}

/// Whether a device is one of GPUs.
pub const fn is_gpu(device: DeviceChoice) -> bool {
    matches!(
        device,
        DeviceChoice::Cuda(_)
            | DeviceChoice::Gpus(..)
            | DeviceChoice::Ranks(_, RanksOn::Gpus, _)
            | DeviceChoice::Launched(_, RanksOn::Gpus, _)
    )
}

/// An interpreter for tests.
///
/// # Panics
/// If the configuration is not available.
pub fn interpreter(
    host: Rc<TestHost>,
    (device, threads): (DeviceChoice, usize),
    log_level: u8,
) -> Interpreter {
    let options = Options {
        device,
        threads: Some(threads),
        memory_limit: Some(MEMORY_LIMIT),
        ..Options::default()
    };
    with(host, options, log_level)
}

fn with(host: Rc<TestHost>, options: Options, log_level: u8) -> Interpreter {
    let interpreter = Interpreter::new(host, &Options { log_level, ..options });
    let interpreter = interpreter.expect("internal error: the configuration is not available");
    if is_gpu(interpreter.session().choice()) {
        // Sessions show what scatters do in lane order, which a GPU does when asked; `redact` hides it.
        drop(interpreter.session().set_flag("lane_order", true));
    }
    interpreter
}

/// A session file.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    parts: Vec<Part>,
    log_level: u8,
    arguments: Vec<String>,
    full_errors: bool,
}

/// A part of a session file.
#[derive(Debug)]
enum Part {
    /// A blank or comment line.
    Text(String),
    /// Lines that run together, and what they should show.
    Cell { line: usize, code: String, expected: Vec<Shown> },
}

impl Session {
    /// Reads a session file.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a session file");
        let mut session = Self {
            path: path.into(),
            parts: Vec::new(),
            log_level: 0,
            arguments: Vec::new(),
            full_errors: false,
        };
        text.lines().for_each(|line| session.direct(line));
        let host = Rc::new(TestHost::default());
        let splitter = interpreter(host, BASELINE, 0);
        session.split(&text, &splitter);
        session
    }

    fn direct(&mut self, line: &str) {
        let Some(directive) = line.strip_prefix("//! ") else { return };
        let mut words = directive.split_whitespace();
        match words.next() {
            Some("log") => {
                self.log_level = words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
            }
            Some("args") => self.arguments = words.map(Into::into).collect(),
            Some("errors") => self.full_errors = words.next() == Some("full"),
            _ => {}
        }
    }

    fn split(&mut self, text: &str, splitter: &Interpreter) {
        let mut cell: Option<(usize, String, Vec<Shown>)> = None;
        for (i, line) in text.lines().enumerate() {
            let (code, expectation) = split_line(line);
            if cell.is_none() && (code.is_empty() || code.trim_start().starts_with("//")) {
                match (expectation, self.parts.last_mut()) {
                    (Some(more), Some(Part::Cell { expected, .. })) => expected.push(more),
                    _ => self.parts.push(Part::Text(line.into())),
                }
                continue;
            }
            let (_, joined, expected) = cell.get_or_insert_with(|| (i + 1, String::new(), vec![]));
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(code);
            expected.extend(expectation);
            let goes_on = matches!(
                splitter.is_complete(&Cell::typed(joined)),
                Completeness::Incomplete { .. }
            );
            if !goes_on && let Some((line, code, expected)) = cell.take() {
                self.parts.push(Part::Cell { line, code, expected });
            }
        }
        if let Some((line, code, expected)) = cell {
            self.parts.push(Part::Cell { line, code, expected });
        }
    }

    /// Number of lines of expectation.
    pub fn n_expectations(&self) -> usize {
        self.parts.iter().map(|part| part.expected().len()).sum()
    }

    /// The code of all cells.
    pub fn code(&self) -> String {
        let code = self.parts.iter().map(|part| match part {
            Part::Text(_) => "",
            Part::Cell { code, .. } => code,
        });
        code.collect::<Vec<_>>().join("\n")
    }

    /// The code of all cells that show no error.
    pub fn right_code(&self) -> String {
        let right = |part: &&Part| !part.expected().iter().any(|line| line.stream == Stream::Error);
        let code = self.parts.iter().filter(right).map(|part| match part {
            Part::Text(_) => "",
            Part::Cell { code, .. } => code,
        });
        code.collect::<Vec<_>>().join("\n")
    }

    fn host(&self) -> Rc<TestHost> {
        Rc::new(TestHost::new(self.arguments.clone(), sessions().join("modules")))
    }

    /// Runs the session; what each cell showed.
    fn run(&self, host: &TestHost, mut interpreter: Interpreter) -> Vec<Vec<Shown>> {
        let mut shown = Vec::new();
        for part in &self.parts {
            let Part::Cell { code, .. } = part else { continue };
            shown.push(self.run_cell(&mut interpreter, host, code));
        }
        shown
    }

    fn run_cell(&self, interpreter: &mut Interpreter, host: &TestHost, code: &str) -> Vec<Shown> {
        let ctrl_c = code.contains(CTRL_C).then(|| {
            std::thread::spawn(|| {
                std::thread::sleep(MOMENT);
                interrupt::request();
            })
        });
        let result = interpreter.execute(code, "session");
        if let Some(ctrl_c) = ctrl_c {
            drop(ctrl_c.join());
            interrupt::clear();
        }
        let mut shown = host.take();
        let (stream, text) = match result {
            Ok(outcome) => (Stream::Out, outcome.text),
            Err(error) => (Stream::Error, Some(error.to_string())),
        };
        let lines = text.iter().flat_map(|text| text.split('\n'));
        shown.extend(lines.map(|line| Shown { stream, text: line.into() }));
        if self.log_level == 0 {
            shown.retain(|shown| shown.stream != Stream::Log);
        }
        for line in &mut shown {
            line.text = redact(&line.text).trim_end().into();
        }
        if let Some(first) = shown.iter_mut().find(|shown| shown.stream == Stream::Error) {
            first.text = first.text.replacen("error: ", "ERROR ", 1);
        }
        shown
    }

    /// Compares what the cells showed with what they should; a report for each that differs.
    fn compare(&self, shown: &[Vec<Shown>]) -> Vec<String> {
        let cells = self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Cell { line, code, expected } => Some((line, code, expected)),
        });
        let differing = cells
            .zip(shown)
            .filter(|((.., expected), actual)| !matches(expected, actual, self.full_errors));
        let report = |((line, code, expected), actual): ((&usize, &String, &Vec<_>), &Vec<_>)| {
            format!(
                "{}:{line}\n    {}\n  expected\n{}  actual\n{}",
                self.path.display(),
                code.replace('\n', "\n    "),
                list(expected),
                list(actual)
            )
        };
        differing.map(report).collect()
    }

    /// Takes from what cells showed what only devices with parts show.
    fn hide_parts(&self, shown: &mut [Vec<Shown>]) {
        for shown in &mut *shown {
            shown.retain(|line| !line.text.starts_with("exchange: "));
            for line in shown {
                let end = line.text.find("; parts exchange ").unwrap_or(line.text.len());
                line.text.truncate(end);
            }
        }
        // With a column more.
        self.hide_tables(shown, |line| line.ends_with("Label   Parts"));
    }

    /// Takes tables with such a line as they are expected.
    fn hide_tables(&self, shown: &mut [Vec<Shown>], is_such: impl Fn(&str) -> bool) {
        let cells = self.parts.iter().filter(|part| matches!(part, Part::Cell { .. }));
        for (part, shown) in cells.zip(shown) {
            if shown.iter().any(|line| is_such(&line.text)) {
                *shown = part.expected().to_vec();
            }
        }
    }

    /// The file with what the cells showed.
    fn updated(&self, shown: &[Vec<Shown>]) -> String {
        let mut shown = shown.iter();
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(line) => text.push_str(line),
                Part::Cell { code, expected, .. } => {
                    let actual = shown.next().map_or(&[][..], Vec::as_slice);
                    let keep = matches(expected, actual, self.full_errors);
                    let lines =
                        if keep { expected.clone() } else { brief(actual, self.full_errors) };
                    text.push_str(&with_expectations(code, &lines));
                }
            }
            text.push('\n');
        }
        text
    }
}

impl Part {
    fn expected(&self) -> &[Shown] {
        match self {
            Self::Text(_) => &[],
            Self::Cell { expected, .. } => expected,
        }
    }
}

/// The folder of all sessions.
pub fn sessions() -> PathBuf {
    crate::root().join("tests/sessions")
}

/// Files with the ending `.rhai` in a folder, in order of their names.
///
/// # Panics
/// If the folder cannot be read.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of scripts");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rhai"));
    files.sort();
    files
}

/// Runs a session file in several configurations; a report for each cell that differs.
pub fn check(path: &Path, configurations: &[(DeviceChoice, usize)]) -> Vec<String> {
    on_engine_thread(|| {
        let mut session = Session::read(path);
        let mut failures = Vec::new();
        for (i, &configuration) in configurations.iter().enumerate() {
            let host = session.host();
            let opened = interpreter(host.clone(), configuration, session.log_level);
            let mut shown = session.run(&host, opened);
            if configuration.0.may_have_parts() {
                session.hide_parts(&mut shown);
            }
            if i == 0 && is_updating() {
                let text = session.updated(&shown);
                drop(std::fs::write(path, text));
                session = Session::read(path);
            }
            // What fails everywhere is told once.
            let (device, threads) = configuration;
            for failure in session.compare(&shown) {
                if !failures.iter().any(|known: &String| known.ends_with(&failure)) {
                    failures.push(format!("on {device:?}, {threads} threads: {failure}"));
                }
            }
        }
        failures
    })
}

/// Runs a session file on a device of the caller's, of parts with at most [`MEMORY_LIMIT`]; a report for each cell that
/// differs.
///
/// # Panics
/// If the file cannot be read.
pub fn check_on(path: &Path, runtime: &Arc<Runtime>) -> Vec<String> {
    on_engine_thread(|| {
        let session = Session::read(path);
        let host = session.host();
        let options = Options { runtime: Some(runtime.clone()), ..Options::default() };
        let mut shown = session.run(&host, with(host.clone(), options, session.log_level));
        session.hide_parts(&mut shown);
        // Other sessions have used its memory.
        session.hide_tables(&mut shown, |line| line.starts_with("  Allocator "));
        session.compare(&shown)
    })
}

/// What stays of each cell of a session file that somebody watches at a log level: variables, launches and kernels.
pub fn traces(path: &Path, log_level: u8) -> Vec<String> {
    on_engine_thread(|| {
        let session = Session::read(path);
        let host = session.host();
        let mut interpreter = interpreter(host.clone(), BASELINE, log_level);
        let mut traces = Vec::new();
        for part in &session.parts {
            let Part::Cell { code, .. } = part else { continue };
            session.run_cell(&mut interpreter, &host, code);
            let launches = interpreter.session().history().into_iter().map(|launch| {
                (launch.name, launch.hash, launch.size, launch.operations, launch.cache)
            });
            let launches: Vec<_> = launches.collect();
            let whos = interpreter.session().whos(Rows::All);
            traces.push(format!("{code}\n{:?}\n{launches:?}", whos.rows));
            interpreter.session().clear_history();
        }
        traces
    })
}

/// Runs a script as a whole in several configurations and compares its output with the file `expected`.
pub fn check_script(
    path: &Path,
    expected: &Path,
    configurations: &[(DeviceChoice, usize)],
) -> Vec<String> {
    let source = std::fs::read_to_string(path).unwrap_or_default();
    on_engine_thread(|| {
        let mut failures = Vec::new();
        for (i, &configuration) in configurations.iter().enumerate() {
            let host = Rc::new(TestHost::default());
            let mut interpreter = interpreter(host.clone(), configuration, 0);
            let error = interpreter.execute(&source, "example").err();
            let mut lines: Vec<String> = host.take().into_iter().map(|line| line.text).collect();
            lines.extend(error.map(|error| error.to_string()));
            let actual = lines.join("\n") + "\n";
            if i == 0 && is_updating() {
                drop(std::fs::write(expected, &actual));
            }
            let wanted = std::fs::read_to_string(expected).unwrap_or_default();
            if wanted != actual {
                let path = path.display();
                failures.push(format!("{path}\n  expected\n{wanted}  actual\n{actual}"));
            }
        }
        failures
    })
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1")
}

/// The code of a line, and the expectation behind it.
fn split_line(line: &str) -> (&str, Option<Shown>) {
    let found = MARKS.iter().filter_map(|&(mark, stream)| Some((line.find(mark)?, mark, stream)));
    let Some((at, mark, stream)) = found.min_by_key(|&(at, ..)| at) else {
        return (line.trim_end(), None);
    };
    let text = &line[at + mark.len()..];
    let text = text.strip_prefix(' ').unwrap_or(text).trim_end().into();
    (line[..at].trim_end(), Some(Shown { stream, text }))
}

/// Whether a cell showed what it should. Diagnostics may be given in part.
fn matches(expected: &[Shown], actual: &[Shown], full_errors: bool) -> bool {
    let split = |lines: &[Shown]| -> (Vec<Shown>, Vec<String>) {
        let (errors, others): (Vec<_>, Vec<_>) =
            lines.iter().cloned().partition(|line| line.stream == Stream::Error);
        (others, errors.into_iter().map(|line| line.text).collect())
    };
    let (expected, wanted) = split(expected);
    let (actual, errors) = split(actual);
    if full_errors && wanted != errors {
        return false;
    }
    let within = |wanted: &String| match (wanted.strip_prefix("ERROR "), errors.first()) {
        (Some(part), Some(message)) => message.contains(part),
        _ => errors.iter().any(|line| line.contains(wanted.as_str())),
    };
    expected == actual && wanted.is_empty() == errors.is_empty() && wanted.iter().all(within)
}

/// What an updated file says of a diagnostic: message, hints and calls, but not the source line.
fn brief(shown: &[Shown], full_errors: bool) -> Vec<Shown> {
    let worth = |shown: &&Shown| {
        let is_detail = shown.text.starts_with("  = help") || shown.text.starts_with("  in ");
        shown.stream != Stream::Error
            || full_errors
            || is_detail
            || shown.text.starts_with("ERROR ")
    };
    let short = |shown: &Shown| {
        let mut shown = shown.clone();
        if shown.stream == Stream::Error && !full_errors {
            shown.text = shown.text.trim_start().trim_start_matches("= ").into();
        }
        shown
    };
    shown.iter().filter(worth).map(short).collect()
}

fn with_expectations(code: &str, expected: &[Shown]) -> String {
    let mut text = code.to_string();
    for line in expected {
        let comment = format!("{} {}", mark(line.stream), line.text);
        let last = text.lines().last().unwrap_or_default().chars().count();
        let column = COLUMN.max(last + 2);
        if expected.len() == 1 && column + comment.chars().count() <= WIDTH {
            text.push_str(&" ".repeat(column - last));
        } else {
            text.push('\n');
        }
        text.push_str(comment.trim_end());
    }
    text
}

fn mark(stream: Stream) -> &'static str {
    MARKS.iter().find(|(_, other)| *other == stream).map_or("//", |(mark, _)| mark)
}

fn list(lines: &[Shown]) -> String {
    if lines.is_empty() {
        return "    nothing\n".into();
    }
    lines.iter().map(|line| format!("    {} {}\n", mark(line.stream), line.text)).collect()
}

/// Replaces what varies between runs: times, addresses, hashes, the device.
fn redact(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let unit = word.trim_end_matches([',', ')', ':']);
        if matches!(unit, "us" | "ms" | "s")
            && let Some(number) = words.last_mut()
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit() || c == '.')
        {
            *number = "_".into();
            words.push(format!("us{}", &word[unit.len()..]));
            continue;
        }
        words.push(if is_hexadecimal(word) { "_".into() } else { word.into() });
    }
    let text = words.join(" ").replace("lane_order: true", "lane_order: false");
    redact_code(&redact_device(&text))
}

/// `cpu (AVX-512, 2 threads)`, `cpu (interp, baseline, 1 thread)`, `cuda:0 (NVIDIA H200, compute …)`, `ranks:2:cuda (…)`
fn redact_device(text: &str) -> String {
    let device = text.match_indices(" (").find_map(|(at, _)| {
        let start = text[..at].rfind([' ', '"']).map_or(0, |before| before + 1);
        let end = at + text[at..].find(')')?;
        let name = &text[start..at];
        let is_gpu = name.starts_with("cuda:") || name.ends_with(":cuda");
        let names = ["cpu", "ranks:", "mpi:"];
        let is_processor =
            names.iter().any(|kind| name.starts_with(kind)) && text[at..end].contains(" thread");
        (is_gpu || is_processor).then_some((start, end))
    });
    device.map_or_else(
        || text.to_string(),
        |(start, end)| format!("{}cpu (_{}", &text[..start], &text[end..]),
    )
}

/// `1.2 KiB of code, 29 registers, 0 spills`, `ptx compilation: 43.534 ms, 10 registers`
fn redact_code(text: &str) -> String {
    if let Some((before, _)) = text.split_once(", ptx compilation: ") {
        return format!("{before}, _ of code");
    }
    let code = text.split_once(" of code, ");
    let size = code.and_then(|(before, after)| Some((before.rsplit_once(", ")?.0, after)));
    match size {
        Some((before, after)) if after.ends_with(" spills") => format!("{before}, _ of code"),
        _ => text.to_string(),
    }
}

fn is_hexadecimal(word: &str) -> bool {
    let word = word.trim_matches([',', ':', '(', ')', '"']);
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex && (digits.len() >= 24 || (word.starts_with("0x") && digits.len() >= 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_is_redacted() {
        assert_eq!(redact("jit: 12.5 ms, 3 registers"), "jit: _ us, 3 registers");
        assert_eq!(redact("kernel 0123456789abcdef0123456789abcdef: x"), "kernel _ x");
        assert_eq!(redact("Device : cpu (interp, AVX-512, 2 threads)"), "Device : cpu (_)");
        assert_eq!(redact("cpu (AVX2, 1 thread)"), "cpu (_)");
        assert_eq!(redact("ranks:2:cuda (NVIDIA H200, compute capability 9.0)"), "cpu (_)");
        assert_eq!(
            redact("jit: 3 us, 1.2 KiB of code, 9 registers, 0 spills"),
            "jit: _ us, _ of code"
        );
        assert_eq!(
            redact("jit: 9 us, ptx compilation: 43.534 ms, 10 registers"),
            "jit: _ us, _ of code"
        );
        assert_eq!(redact("[1, 2]"), "[1, 2]");
    }

    #[test]
    fn expectations_leave_the_code() {
        let (code, shown) = split_line("a + 1   //=> [2, 3]");
        assert_eq!(code, "a + 1");
        assert_eq!(shown.unwrap(), Shown { stream: Stream::Out, text: "[2, 3]".into() });
        assert_eq!(split_line("a // plain").1, None);
    }
}
