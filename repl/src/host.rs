//! The system as scripts see it: terminal, files, environment.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use porcini_core::device::SharedFile;
use porcini_core::log::LogSink;
use porcini_script::{Graphics, Host, folders, programs};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::json::Collected;
use crate::typed::{self, Lines};
use crate::{exit_code, external_editor, foreground, pager, print};

/// The real system.
pub(crate) struct System {
    start: Instant,
    arguments: Vec<String>,
    /// Folder of the script, or the working folder: what `import` may reach, besides `PORCINI_PATH`.
    root: PathBuf,
    collected: Collected,
    lines: Lines,
    /// Whether somebody sits at a prompt, who reads long texts page by page.
    is_shell: bool,
}

impl System {
    /// The system for the script in `root` with its arguments.
    pub(crate) fn new(root: PathBuf, arguments: Vec<String>) -> Self {
        let collected = Collected::default();
        let lines = Lines::new();
        Self { start: Instant::now(), arguments, root, collected, lines, is_shell: false }
    }

    /// The same with somebody at a prompt.
    pub(crate) fn with_prompt(self, is_shell: bool) -> Self {
        Self { is_shell, ..self }
    }

    /// What comes through a pipe, for the shell too.
    pub(crate) fn lines(&self) -> Lines {
        self.lines.clone()
    }

    /// Where what is printed is collected, once someone asks for it.
    pub(crate) fn collected(&self) -> Collected {
        self.collected.clone()
    }
}

impl Host for System {
    fn rank_program(&self) -> Vec<OsString> {
        // Without /proc a program knows only by which name it was started.
        let program = std::env::current_exe().ok().map(OsString::from);
        let program = program.or_else(|| std::env::args_os().next());
        program.map_or_else(Vec::new, |program| vec![program, "rank".into()])
    }

    fn print(&self, text: &str) {
        match self.collected.borrow_mut().as_mut() {
            Some(printed) => printed.add(text),
            None => print::value(text),
        }
    }

    fn eprint(&self, text: &str) {
        print::beside(text);
    }

    fn page(&self, text: &str) {
        if self.is_shell { pager::show(text) } else { self.print(text) }
    }

    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        print::flush();
        let answer = if !io::stdin().is_terminal() {
            // Nobody sees a question.
            self.lines.next()
        } else if secret {
            typed::secret(prompt)
        } else if typed::is_unedited() {
            typed::show(prompt)?;
            self.lines.next()
        } else {
            DefaultEditor::new().and_then(|mut editor| editor.readline(prompt))
        };
        answer.map_err(|error| match error {
            ReadlineError::Interrupted => io::ErrorKind::Interrupted.into(),
            ReadlineError::Eof => io::ErrorKind::UnexpectedEof.into(),
            error => io::Error::other(error),
        })
    }

    fn process_end(&self) -> Option<LogSink> {
        Some(Arc::new(|why| {
            print::last_words(format!("error: {why}"));
            std::process::exit(exit_code::SCRIPT_ERROR.into());
        }))
    }

    fn log_sink(&self) -> LogSink {
        Arc::new(print::log)
    }

    fn warning_sink(&self) -> LogSink {
        Arc::new(print::warn)
    }

    fn read_file(&self, path: &str, room: folders::Room<'_>) -> io::Result<Vec<u8>> {
        folders::read(path, room, |line| self.progress(line))
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        folders::replace(path, contents)
    }

    fn shared_file(&self, path: &str) -> io::Result<SharedFile> {
        SharedFile::at(path.as_ref())
    }

    fn replace_shared(
        &self,
        path: &str,
        head: &[u8],
        bytes: u64,
        fill: &mut dyn FnMut(&SharedFile) -> bool,
    ) -> io::Result<bool> {
        folders::replace_shared(path, head, bytes, fill)
    }

    fn append_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        folders::append(path, contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        folders::list(path)
    }

    fn folder(&self) -> io::Result<String> {
        folders::working()
    }

    fn change_folder(&self, path: &str) -> io::Result<()> {
        std::env::set_current_dir(path)
    }

    fn shell(&self, line: &str) -> io::Result<ExitStatus> {
        let status = foreground::run(&mut programs::shell(line), |_| {});
        print::end_line();
        status
    }

    fn edit(&self, text: &str) -> io::Result<String> {
        external_editor::edit(text)
    }

    fn edit_file(&self, path: &str) -> io::Result<()> {
        external_editor::open(path)
    }

    fn clipboard(&self) -> io::Result<String> {
        external_editor::clipboard()
    }

    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        folders::read_module(&folders::search_path(self.root.clone()), importer, name)
    }

    fn progress_sink(&self) -> LogSink {
        Arc::new(print::progress)
    }

    fn is_watched(&self) -> bool {
        io::stderr().is_terminal()
    }

    fn window(&self) -> Option<usize> {
        print::window()
    }

    fn graphics(&self) -> Graphics {
        let is_seen = self.collected.borrow().is_none() && print::colours(&io::stdout());
        if is_seen { Graphics::of_terminal(|name| self.variable(name)) } else { Graphics::Letters }
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn entropy(&self) -> io::Result<u64> {
        // What the hashes of the standard library are seeded with: from the system.
        Ok(RandomState::new().build_hasher().finish())
    }

    fn clock(&self) -> Duration {
        self.start.elapsed()
    }

    fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }
}
