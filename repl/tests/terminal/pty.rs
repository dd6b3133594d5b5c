//! A program on a pseudo-terminal, and the emulator that shows what it wrote.

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, Once};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);
const ROWS: u16 = 50;

/// What the emulator shows, and all bytes that came.
type Screen = Arc<(Mutex<(vt100::Parser, Vec<u8>)>, Condvar)>;

pub(crate) struct Terminal {
    pty: Arc<Pty>,
    pub(crate) child: Child,
    screen: Screen,
}

/// A folder of this test, emptied.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("terminal").join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What a shell behind `&` has this process ignore, its children would: but not what it handles.
fn heed_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let always = Arc::new(AtomicBool::new(true));
        let signal = signal_hook::consts::SIGINT;
        signal_hook::flag::register_conditional_shutdown(signal, 130, always).unwrap();
    });
}

impl Terminal {
    /// A shell in a window of so many columns, at its first prompt.
    pub(crate) fn start(home: &PathBuf, columns: u16, environment: &[(&str, &str)]) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_porcini"));
        let terminal = Self::run(command, home, columns, environment);
        terminal.wait_for(">>> ");
        terminal
    }

    /// A program in a window of so many columns.
    pub(crate) fn run(
        command: Command,
        home: &PathBuf,
        columns: u16,
        environment: &[(&str, &str)],
    ) -> Self {
        heed_interrupts();
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(ROWS, columns)).unwrap();
        let mut command = command.current_dir(home);
        for name in
            ["NO_COLOR", "CLICOLOR_FORCE", "PORCINI_MEMORY_LIMIT", "PORCINI_PATH", "PORCINI_CPU"]
        {
            command = command.env_remove(name);
        }
        command = command.env("TERM", "xterm-256color").env("HOME", home);
        command = command.env("PAGER", "cat").env("XDG_STATE_HOME", home.join("state"));
        command = command.env("XDG_CONFIG_HOME", home.join("config"));
        command = command.envs(environment.iter().copied());
        let child = command.spawn(pts).unwrap();
        let pty = Arc::new(pty);
        // A window without a width is drawn on the usual one.
        let size = |n: u16| NonZero::new(n).unwrap_or(NonZero::new(80).unwrap());
        let parser = vt100::Parser::new(size(ROWS), size(columns), 1000);
        let screen: Screen = Arc::new((Mutex::new((parser, Vec::new())), Condvar::new()));
        let (reader, shown) = (pty.clone(), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the child is an error here.
            while let Ok(n) = (&*reader).read(&mut bytes) {
                let mut screen = shown.0.lock().unwrap();
                screen.0.process(&bytes[..n]);
                screen.1.extend_from_slice(&bytes[..n]);
                shown.1.notify_all();
            }
        });
        Self { pty, child, screen }
    }

    pub(crate) fn type_in(&self, keys: impl AsRef<[u8]>) {
        (&*self.pty).write_all(keys.as_ref()).unwrap();
    }

    /// Gives the window so many columns.
    pub(crate) fn resize(&self, columns: u16) {
        self.pty.resize(Size::new(ROWS, columns)).unwrap();
    }

    /// Sends the shell a signal so many times, each when the one before was delivered.
    pub(crate) fn signal(&self, signal: Signal, times: usize) {
        for _ in 0..times {
            kill_process(Pid::from_child(&self.child), signal).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a text is on the screen; what is there.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    pub(crate) fn wait_until(&self, what: &str, found: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        let mut screen = self.screen.0.lock().unwrap();
        loop {
            let contents = screen.0.screen().contents();
            if found(&contents) {
                return contents;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {what:?} in\n{contents}");
            screen = self.screen.1.wait_timeout(screen, left).unwrap().0;
        }
    }

    /// Waits until nothing runs: keys that are pressed before mean something else to a program.
    pub(crate) fn wait_for_prompt(&self) {
        self.wait_until("prompt", |screen| screen.trim_end().ends_with(">>>"));
    }

    /// All bytes so far.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.screen.0.lock().unwrap().1).into_owned()
    }

    /// Leaves with Ctrl-D; the exit code.
    pub(crate) fn leave(mut self) -> i32 {
        self.wait_for_prompt();
        self.type_in("\x04");
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed test leaves no shell behind; one that has ended is no error.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
