//! The system as scripts see it: terminal, files, environment.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use porcini_core::log::LogSink;
use porcini_script::Host;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::json::Collected;
use crate::print;

/// The real system.
pub(crate) struct System {
    start: Instant,
    arguments: Vec<String>,
    /// Folder of the script, or the working folder: what `import` may reach, besides `PORCINI_PATH`.
    root: PathBuf,
    collected: Collected,
}

impl System {
    /// The system for the script in `root` with its arguments.
    pub(crate) fn new(root: PathBuf, arguments: Vec<String>) -> Self {
        Self { start: Instant::now(), arguments, root, collected: Collected::default() }
    }

    /// Where what is printed is collected, once someone asks for it.
    pub(crate) fn collected(&self) -> Collected {
        self.collected.clone()
    }

    fn search_path(&self) -> Vec<PathBuf> {
        let listed = std::env::var_os("PORCINI_PATH").unwrap_or_default();
        let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
        std::iter::once(self.root.clone()).chain(listed).collect()
    }
}

impl Host for System {
    fn print(&self, text: &str) {
        match self.collected.borrow_mut().as_mut() {
            Some(lines) => lines.push(text.into()),
            None => print::value(text),
        }
    }

    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        if secret {
            let why = "a terminal would show what is typed; env(\"NAME\") reads a secret unseen";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let mut editor = DefaultEditor::new().map_err(io::Error::other)?;
        editor.readline(prompt).map_err(|error| match error {
            ReadlineError::Interrupted => io::ErrorKind::Interrupted.into(),
            ReadlineError::Eof => io::ErrorKind::UnexpectedEof.into(),
            error => io::Error::other(error),
        })
    }

    fn log_sink(&self) -> LogSink {
        Arc::new(print::log)
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        std::fs::write(path, contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = if path.is_empty() { "." } else { path };
        let entries = std::fs::read_dir(folder)?.flatten();
        let name = |entry: std::fs::DirEntry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            entry.file_name().to_str().map(|name| format!("{name}{slash}"))
        };
        Ok(entries.filter_map(name).filter(|name| !name.starts_with('.')).collect())
    }

    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        let roots = self.search_path();
        let beside = importer.and_then(|file| Path::new(file).parent()).map(Path::to_path_buf);
        let mut file = PathBuf::from(name);
        if file.extension().is_none() {
            file.set_extension("rhai");
        }
        for folder in beside.iter().chain(&roots) {
            let Ok(path) = folder.join(&file).canonicalize() else { continue };
            let inside =
                |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
            if !roots.iter().any(inside) {
                let outside = "outside the script's folder and PORCINI_PATH";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, outside));
            }
            let text = std::fs::read_to_string(&path)?;
            return Ok((path, text));
        }
        let folders: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        let message = format!("{} is not in {}", file.display(), folders.join(", "));
        Err(io::Error::new(io::ErrorKind::NotFound, message))
    }

    fn progress(&self, line: &str) {
        print::progress(line);
    }

    fn window(&self) -> Option<usize> {
        print::window()
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn clock(&self) -> Duration {
        self.start.elapsed()
    }

    fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }
}
