//! The outside world for scripts that are not trusted: files only below one folder (`jail.rs`), no environment, and
//! output that is counted and gives no orders to a terminal. What else they may use, see `bounds.rs`.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use porcini_core::log::LogSink;

use crate::show::forms::{DisplayTarget, Shown};
use crate::show::visible::visible;
use crate::world::bounds::Watch;
use crate::world::folders::{Room, module_text, room_of_module};
use crate::world::host::Host;
use crate::world::jail::{Jail, refused};

/// Bytes of a message to a notebook, besides what it shows.
const MESSAGE: usize = 500;
/// Why there is no editor either.
const NO_PROGRAMS: &str = "the sandbox runs no commands of the system";

/// Another host within bounds.
pub(crate) struct Sandbox {
    host: Rc<dyn Host>,
    jail: Option<Jail>,
    watch: Rc<Watch>,
}

impl Sandbox {
    /// A sandbox around a host.
    ///
    /// # Errors
    /// If there is no such folder.
    pub(crate) fn new(host: Rc<dyn Host>, watch: Rc<Watch>) -> io::Result<Self> {
        let jail = watch.bounds.folder.as_deref().map(Jail::new).transpose()?;
        Ok(Self { host, jail, watch })
    }

    /// What may be shown of a text, as visible characters; nothing once it is too much.
    fn admitted<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        let text = visible(text);
        self.watch.may_show(text.len() + 1).then_some(text)
    }

    /// What a message takes besides what it shows: a terminal gets none.
    fn message(&self) -> usize {
        if self.host.shows_forms() { MESSAGE } else { 1 }
    }

    /// A sink that counts what goes into another one, and so many bytes more for each text.
    fn counted(&self, sink: LogSink, besides: usize) -> LogSink {
        let (turn, most) = (self.watch.turn.clone(), self.watch.bounds.output);
        Arc::new(move |text| {
            let text = visible(text);
            if turn.may_show(text.len() + besides, most) {
                sink(&text);
            }
        })
    }

    fn jail(&self) -> io::Result<&Jail> {
        let none = || refused("the sandbox has no files (--sandbox=FOLDER gives it some)");
        self.jail.as_ref().ok_or_else(none)
    }

    fn read(&self, path: &Path, room: Room<'_>) -> io::Result<(PathBuf, Vec<u8>)> {
        self.jail()?.read(path, room, |line| self.progress(line))
    }
}

impl Host for Sandbox {
    fn print(&self, text: &str) {
        if let Some(text) = self.admitted(text) {
            self.host.print(&text);
        }
    }

    fn eprint(&self, text: &str) {
        if let Some(text) = self.admitted(text) {
            self.host.eprint(&text);
        }
    }

    fn page(&self, text: &str) {
        if let Some(text) = self.admitted(text) {
            self.host.page(&text);
        }
    }

    fn cell_name(&self, number: usize) -> String {
        self.host.cell_name(number)
    }

    fn shows_forms(&self) -> bool {
        self.host.shows_forms()
    }

    fn display(&self, shown: &Shown, place: DisplayTarget<'_>) {
        let name = match place {
            DisplayTarget::Below => "",
            DisplayTarget::Named(name) | DisplayTarget::Instead(name) => name,
        };
        let text = visible(&shown.text).into_owned();
        let shown = Shown { text, forms: shown.forms.clone() };
        if self.watch.may_show(shown.bytes() + name.len() + self.message()) {
            self.host.display(&shown, place);
        }
    }

    fn clear_output(&self, wait: bool) {
        if self.watch.may_show(self.message()) {
            self.host.clear_output(wait);
        }
    }

    fn input(&self, prompt: &str, secret: bool) -> io::Result<String> {
        let prompt = self.admitted(prompt).ok_or(io::ErrorKind::Interrupted)?;
        let ask = || self.host.input(&prompt, secret);
        // Where nobody sits, a question without an answer must have an end.
        if self.host.is_watched() { self.watch.turn.while_asking(ask) } else { ask() }
    }

    fn log_sink(&self) -> LogSink {
        self.counted(self.host.log_sink(), 1)
    }

    fn warning_sink(&self) -> LogSink {
        self.counted(self.host.warning_sink(), 1)
    }

    fn read_file(&self, path: &str, room: Room<'_>) -> io::Result<Vec<u8>> {
        self.read(Path::new(path), room).map(|(_, bytes)| bytes)
    }

    fn write_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        self.jail()?.write(Path::new(path), contents)
    }

    fn append_file(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        self.jail()?.append(Path::new(path), contents)
    }

    fn list_folder(&self, path: &str) -> io::Result<Vec<String>> {
        self.jail()?.list(Path::new(path))
    }

    fn read_module(&self, importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
        let jail = self.jail()?;
        let mut file = PathBuf::from(name);
        if file.extension().is_none() {
            file.set_extension("rhai");
        }
        let beside = importer.and_then(|importer| jail.beside(importer, &file));
        let (path, bytes) =
            self.read(&beside.filter(|path| jail.has(path)).unwrap_or(file), &room_of_module)?;
        module_text(bytes).map(|text| (path, text))
    }

    fn folder(&self) -> io::Result<String> {
        // Its path is not for scripts.
        self.jail().map(|_| "the folder of the sandbox".into())
    }

    fn change_folder(&self, _: &str) -> io::Result<()> {
        Err(refused("the sandbox stays in its folder"))
    }

    fn shell(&self, _: &str) -> io::Result<ExitStatus> {
        Err(refused(NO_PROGRAMS))
    }

    fn edit(&self, _: &str) -> io::Result<String> {
        Err(refused(NO_PROGRAMS))
    }

    fn edit_file(&self, _: &str) -> io::Result<()> {
        Err(refused(NO_PROGRAMS))
    }

    fn clipboard(&self) -> io::Result<String> {
        Err(refused(NO_PROGRAMS))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn progress_sink(&self) -> LogSink {
        self.counted(self.host.progress_sink(), self.message())
    }

    fn is_watched(&self) -> bool {
        self.host.is_watched()
    }

    fn window(&self) -> Option<usize> {
        self.host.window()
    }

    fn entropy(&self) -> io::Result<u64> {
        self.host.entropy()
    }

    fn clock(&self) -> Duration {
        self.host.clock()
    }

    fn arguments(&self) -> Vec<String> {
        self.host.arguments()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Mutex;

    use porcini_core::DeviceChoice;

    use super::*;
    use crate::diagnose::error::ErrorKind;
    use crate::interpreter::Interpreter;
    use crate::options::Options;
    use crate::show::outcome::Outcome;
    use crate::world::bounds::Bounds;

    /// What reaches the world outside.
    #[derive(Default)]
    struct World {
        shown: RefCell<Vec<String>>,
        logged: Arc<Mutex<Vec<String>>>,
    }

    impl World {
        fn sink(&self) -> LogSink {
            let logged = self.logged.clone();
            Arc::new(move |text| logged.lock().unwrap().push(text.into()))
        }

        fn take(&self) -> Vec<String> {
            let mut all = self.shown.take();
            all.append(&mut self.logged.lock().unwrap());
            all
        }
    }

    impl Host for World {
        fn print(&self, text: &str) {
            self.shown.borrow_mut().push(text.into());
        }

        fn shows_forms(&self) -> bool {
            true
        }

        fn clear_output(&self, _: bool) {
            self.print("cleared");
        }

        fn input(&self, prompt: &str, _: bool) -> io::Result<String> {
            self.print(prompt);
            Ok(String::new())
        }

        fn log_sink(&self) -> LogSink {
            self.sink()
        }

        fn warning_sink(&self) -> LogSink {
            self.sink()
        }

        fn progress_sink(&self) -> LogSink {
            self.sink()
        }

        fn read_file(&self, _: &str, _: Room<'_>) -> io::Result<Vec<u8>> {
            unreachable!("the sandbox reads files itself")
        }

        fn write_file(&self, _: &str, _: &[u8]) -> io::Result<()> {
            unreachable!("the sandbox writes files itself")
        }

        fn read_module(&self, _: Option<&str>, _: &str) -> io::Result<(PathBuf, String)> {
            unreachable!("the sandbox finds modules itself")
        }

        fn variable(&self, _: &str) -> Option<String> {
            Some("secret".into())
        }

        fn clock(&self) -> Duration {
            Duration::ZERO
        }

        fn arguments(&self) -> Vec<String> {
            Vec::new()
        }
    }

    /// Each way to show something, with a text in it.
    const WAYS: [fn(&Sandbox, &str); 11] = [
        |sandbox, text| sandbox.print(text),
        |sandbox, text| sandbox.eprint(text),
        |sandbox, text| sandbox.page(text),
        |sandbox, text| sandbox.display(&Shown::plain(text), DisplayTarget::Below),
        |sandbox, text| sandbox.display(&Shown::plain(text), DisplayTarget::Named("name")),
        |sandbox, text| sandbox.display(&Shown::plain(text), DisplayTarget::Instead("name")),
        |sandbox, text| sandbox.log_sink()(text),
        |sandbox, text| sandbox.warning_sink()(text),
        |sandbox, text| sandbox.progress(text),
        |sandbox, text| sandbox.input(text, false).map_or((), drop),
        |sandbox, _| sandbox.clear_output(false),
    ];

    fn sandbox(output: u64) -> (Rc<World>, Sandbox) {
        let world = Rc::new(World::default());
        let watch =
            Watch::new(Some(Bounds { output, ..Bounds::default() }), None, Arc::new(|_| {}));
        (world.clone(), Sandbox::new(world, watch).unwrap())
    }

    #[test]
    fn orders_to_a_terminal_do_not_leave() {
        let (world, sandbox) = sandbox(1 << 20);
        for way in WAYS {
            way(&sandbox, "\x1b[2J\u{9b}A\r");
        }
        let shown = world.take();
        assert_eq!(shown.len(), WAYS.len());
        for text in shown {
            assert!(matches!(&*text, "\\x1b[2J\\u009bA\\r" | "cleared"), "{text:?}");
        }
    }

    #[test]
    fn everything_that_is_shown_counts() {
        for (i, way) in WAYS.into_iter().enumerate() {
            let (world, sandbox) = sandbox(10_000);
            let _running = sandbox.watch.begin();
            for _ in 0..20_000 {
                way(&sandbox, "x");
            }
            let n = world.take().len();
            assert!((1..=5000).contains(&n), "way {i}: {n}");
            assert!(sandbox.watch.judge(Ok(Outcome::default())).is_err());
        }
        // So does a name that nobody sees.
        let (world, sandbox) = sandbox(10_000);
        let name = "n".repeat(9000);
        for _ in 0..3 {
            sandbox.display(&Shown::plain("1"), DisplayTarget::Named(&name));
        }
        assert_eq!(world.take().len(), 1);
    }

    /// Nor are what was written, and the rest of the turn.
    #[test]
    fn on_another_device_the_sandbox_is_not_another() {
        let sandbox = Some(Bounds::default());
        let options = Options { device: DeviceChoice::Cpu, sandbox, ..Options::default() };
        let mut interpreter = Interpreter::new(Rc::new(World::default()), &options).unwrap();
        let before = interpreter.context.host.clone();
        interpreter.begin_on(DeviceChoice::Cpu).unwrap();
        assert!(Rc::ptr_eq(&before, &interpreter.context.host));
    }

    #[test]
    fn without_a_folder_there_are_no_files() {
        let (_, sandbox) = sandbox(100);
        for error in [
            sandbox.read_file("a", &|_| Ok(())).unwrap_err(),
            sandbox.write_file("a", b"").unwrap_err(),
            sandbox.list_folder("").unwrap_err(),
            sandbox.read_module(None, "a").unwrap_err(),
        ] {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!(sandbox.variable("HOME"), None);
    }

    /// A mistake of ours ends what runs, whatever it is called from, and neither the session nor its variables.
    #[test]
    fn a_panic_is_told_and_the_variables_stay() {
        for sandbox in [None, Some(Bounds::default())] {
            let options = Options { device: DeviceChoice::Cpu, sandbox, ..Options::default() };
            let mut interpreter = Interpreter::new(Rc::new(World::default()), &options).unwrap();
            interpreter
                .engine
                .register_fn("broken", || -> i64 { panic!("internal error: a slip") });
            interpreter
                .execute("let kept = FloatC([1, 2]); fn f(x) { broken() }", "before")
                .unwrap();
            for text in [
                "broken()",
                "try { f(1) } catch { }",
                "[1, 2].map(|x| broken())",
                "kept = kept + 1; while_loop([kept], |x| x < 3, |x| { f(x); [x + 1] })",
            ] {
                let error = interpreter.execute(text, "cell").unwrap_err();
                assert_eq!(error.kind, ErrorKind::Internal, "{text}");
                assert_eq!(error.message, "internal error, please report: a slip", "{text}");
            }
            let kept = interpreter.execute("kept * 2", "after").unwrap();
            assert_eq!(kept.text.unwrap(), "[4, 6]");
        }
    }
}
