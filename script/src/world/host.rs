//! The outside world as scripts see it: one trait, so that a sandbox is another implementation (S20).

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use porcini_core::device::{SharedFile, Toolkit};
use porcini_core::log::LogSink;

use super::folders::{self, Room};
use crate::show::forms::{DisplayTarget, Shown};
use crate::show::plot::tint::Graphics;

/// Files, output, environment and arguments of a script.
///
/// All methods take `&self`: an implementation keeps what it changes behind a cell.
pub trait Host {
    /// Shows a value or `print` text; one call a line, without the line end.
    fn print(&self, text: &str);

    /// Shows a text beside what the script gives: on the stream for errors.
    fn eprint(&self, text: &str) {
        self.log_sink()(text);
    }

    /// Shows a text that somebody reads, help for one: where it does not fit the window, page by page.
    fn page(&self, text: &str) {
        self.print(text);
    }

    /// What errors call a cell.
    fn cell_name(&self, number: usize) -> String {
        format!("<in:{number}>")
    }

    /// Whether [`Host::display`] shows more than text.
    fn shows_forms(&self) -> bool {
        false
    }

    /// Shows a value in the best of its forms, of which there are none unless [`Host::shows_forms`].
    fn display(&self, shown: &Shown, place: DisplayTarget<'_>) {
        let _ = place;
        self.print(&shown.text);
    }

    /// Removes what the cell has shown; if it should `wait`, once there is something new.
    fn clear_output(&self, wait: bool) {
        let _ = wait;
    }

    /// A line of text from the user; a `secret` one is not shown.
    ///
    /// # Errors
    /// `Interrupted` by Ctrl-C, `UnexpectedEof` at the end of input, `Unsupported` where nobody can be asked.
    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        let _ = (prompt, secret);
        Err(io::Error::new(io::ErrorKind::Unsupported, "there is nobody to ask here"))
    }

    /// Receives log lines. Other threads may call it.
    fn log_sink(&self) -> LogSink;

    /// Receives what the user should know that is no error. Other threads may call it.
    fn warning_sink(&self) -> LogSink {
        let log = self.log_sink();
        Arc::new(move |text| log(&format!("warning: {text}")))
    }

    /// Contents of a file, of which `room` is asked before they are read, and again where they go on.
    ///
    /// # Errors
    /// What the file system says, or `room`; `PermissionDenied` where files are out of reach.
    fn read_file(&self, path: &str, room: Room<'_>) -> io::Result<Vec<u8>>;

    /// Writes a file, replacing what was there.
    ///
    /// # Errors
    /// As [`Host::read_file`].
    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()>;

    /// A plain file as other processes of whoever runs this find it, too.
    ///
    /// # Errors
    /// As [`Host::read_file`]; `Unsupported` where no other process may.
    fn shared_file(&self, path: &str) -> io::Result<SharedFile> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Replaces a file by one of so many bytes, of which the first are given and others are what `fill` says that it wrote;
    /// whether there is such a file now.
    ///
    /// # Errors
    /// As [`Host::write_file`].
    fn replace_shared(
        &self,
        path: &str,
        head: &[u8],
        bytes: u64,
        fill: &mut dyn FnMut(&SharedFile) -> bool,
    ) -> io::Result<bool> {
        let _ = (path, head, bytes, fill);
        Ok(false)
    }

    /// Writes behind what is in a file, or makes it.
    ///
    /// # Errors
    /// As [`Host::read_file`].
    fn append_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        let _ = (path, contents);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Names in a folder (`""` is the working folder), those of folders with a `/` at the end; for completion.
    ///
    /// # Errors
    /// As [`Host::read_file`].
    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The working folder, at which paths start.
    ///
    /// # Errors
    /// As [`Host::read_file`].
    fn folder(&self) -> io::Result<String> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes a folder the working folder.
    ///
    /// # Errors
    /// As [`Host::read_file`].
    fn change_folder(&self, path: &str) -> io::Result<()> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Runs a line of the system's shell, whose output goes where that of [`Host::print`] goes; how it ended.
    ///
    /// # Errors
    /// `Interrupted` by Ctrl-C; as [`Host::read_file`].
    fn shell(&self, line: &str) -> io::Result<ExitStatus> {
        let _ = line;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What somebody makes of a text in their editor.
    ///
    /// # Errors
    /// `Unsupported` where there is no terminal; what the system says.
    fn edit(&self, text: &str) -> io::Result<String> {
        let _ = text;
        Err(no_terminal())
    }

    /// Has somebody edit a file.
    ///
    /// # Errors
    /// As [`Host::edit`].
    fn edit_file(&self, path: &str) -> io::Result<()> {
        let _ = path;
        Err(no_terminal())
    }

    /// The text that was copied last, in whatever program.
    ///
    /// # Errors
    /// As [`Host::edit`]; `NotFound` where no program tells.
    fn clipboard(&self) -> io::Result<String> {
        Err(no_terminal())
    }

    /// The file of `import "name"` written in `importer` (`None`: at a prompt), and its text.
    ///
    /// # Errors
    /// As [`Host::read_file`].
    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)>;

    /// Columns of the window that shows what is printed; `None` where there is no window.
    fn window(&self) -> Option<usize> {
        None
    }

    /// How pictures are shown where text goes: [`Graphics::of_terminal`] knows terminals.
    fn graphics(&self) -> Graphics {
        Graphics::default()
    }

    /// Shows how far something is in place of what was shown before; `""` when it has ended. Nothing where nobody
    /// watches. Other threads may call it.
    fn progress_sink(&self) -> LogSink {
        Arc::new(|_| {})
    }

    /// Whether somebody may see what [`Host::progress_sink`] shows; else what is waited for long is a warning.
    fn is_watched(&self) -> bool {
        true
    }

    /// Shows how far something is, as [`Host::progress_sink`].
    fn progress(&self, line: &str) {
        self.progress_sink()(line);
    }

    /// Ends the process, after a line that says why: for a script in a sandbox that goes on long after it was stopped.
    /// `None` where the process is not the interpreter's alone, whose memory then is no measure of its scripts. Another thread
    /// calls it.
    fn process_end(&self) -> Option<LogSink> {
        None
    }

    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// The program that is a rank of `ranks:N`, and its arguments; nothing where there is none.
    fn rank_program(&self) -> Vec<OsString> {
        Vec::new()
    }

    /// A folder where compiled GPU kernels are kept for other processes: `PORCINI_CACHE_DIR`, else `porcini` in
    /// `XDG_CACHE_HOME` or `~/.cache`; `None`, that is nowhere, without an environment.
    fn cache_folder(&self) -> Option<PathBuf> {
        folders::of_kernels(|name| self.variable(name))
    }

    /// Where to look for the programs that show a GPU's machine code: where the environment says, if there is one.
    fn toolkit(&self) -> Toolkit {
        Toolkit::new(|name| self.variable(name))
    }

    /// A number that nobody can foretell: a seed.
    ///
    /// # Errors
    /// What the system says; `Unsupported` where there is none to be had.
    fn entropy(&self) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Time since some fixed point.
    fn clock(&self) -> Duration;

    /// Arguments given to the script: the constant `ARGS`.
    fn arguments(&self) -> Vec<String>;
}

fn no_terminal() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "there is no terminal here")
}

/// What `print` gives where it shows nothing: in the body of a loop that no lane runs.
pub(crate) const NOTHING: &str = "\0";
