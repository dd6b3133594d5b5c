//! What the bindings of one interpreter share.

use std::cell::{Cell, LazyCell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::rc::{Rc, Weak};

use porcini_core::cuda_module::ModuleKernel;
use porcini_core::random::SplitMix64;
use porcini_core::{Array, ScriptLine, Session};
use rhai::{Dynamic, NativeCallContext, Position};

use crate::diagnose::{caught, diagnosis};
use crate::fault::{Fault, IntoFault, Result};
use crate::language::cell::Lines;
use crate::show::display;
use crate::show::forms::{self, DisplayTarget, Shown};
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;
use crate::show::writer::written;
use crate::value::begun::Begun;
use crate::value::custom::Customs;
use crate::value::draws::Draws;
use crate::value::host_array::HostRef;
use crate::value::outputs::Outputs;
use crate::value::text_kernel::KernelRef;
use crate::value::{ArrayRef, Node};
use crate::world::bounds::Bounds;
use crate::world::host::Host;
use crate::world::loop_prints::Prints;

/// Seed of a session that sets none.
pub(crate) const FIRST_SEED: u64 = 0;

/// All functions and what they take, listed when somebody asks.
pub(crate) type Signatures =
    LazyCell<Vec<(String, String)>, Box<dyn FnOnce() -> Vec<(String, String)>>>;

/// Kernels that are remembered for `kernel_stats`.
const MOST_KERNELS: usize = 1000;

/// The last things of a kind, oldest first.
pub(crate) struct Recent<T>(VecDeque<T>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Recent<T> {
    pub(crate) fn push(&mut self, thing: T) {
        if self.0.len() == MOST_KERNELS {
            self.0.pop_front();
        }
        self.0.push_back(thing);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

/// A call of `max` or `min` of a tensor and a number that is one of its axes, which was not meant if it stands behind a dot.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct AsAxis {
    pub(crate) line: u32,
    pub(crate) name: &'static str,
    pub(crate) number: i64,
}

/// A cell of a notebook or a prompt.
#[derive(Default)]
pub(crate) struct RunningCell {
    /// 0 for none.
    pub(crate) number: u32,
    pub(crate) name: String,
}

/// Session, host and print settings, shared by all registered functions.
pub(crate) struct Context {
    pub(crate) session: Session,
    pub(crate) host: Rc<dyn Host>,
    /// Whether scripts are not trusted.
    pub(crate) is_sandbox: bool,
    pub(crate) print: RefCell<PrintOptions>,
    /// What `args()` gives: of the script, or of the file that `%run` ran last.
    pub(crate) arguments: RefCell<Vec<String>>,
    /// What bodies of loops have printed.
    pub(crate) prints: Prints,
    /// The generator of the session: seeds of the calls that draw from it.
    pub(crate) seeds: Cell<SplitMix64>,
    pub(crate) draws: Draws,
    /// Values of numbered cells.
    pub(crate) outputs: Outputs,
    /// How often functions of the script were defined or forgotten.
    pub(crate) definitions: Cell<u64>,
    /// All functions, and what they take: what errors are worded by.
    pub(crate) functions: RefCell<Signatures>,
    /// How the piece that runs counts its lines.
    pub(crate) lines: Cell<Lines>,
    /// The cell that runs, if any.
    pub(crate) cell: RefCell<RunningCell>,
    /// Kernels that were written as text.
    pub(crate) kernels: RefCell<Recent<KernelRef>>,
    /// Kernels of CUDA modules.
    pub(crate) module_kernels: RefCell<Recent<ModuleKernel>>,
    /// Functions whose derivatives scripts have written.
    pub(crate) customs: RefCell<Customs>,
    /// Whether the end of a cell waits for nothing: `set_flag("async", "cells")`.
    pub(crate) cells_overlap: Cell<bool>,
    /// What the last `eval` began.
    pub(crate) begun: RefCell<Begun>,
    /// Host arrays that the next `eval()` fills.
    deferred: RefCell<Vec<HostRef>>,
    /// What has something to do before the session ends.
    endings: RefCell<Vec<Weak<dyn Ending>>>,
    /// What has something to do that others see: it is not let go before.
    kept: Rc<RefCell<Vec<Rc<dyn Ending>>>>,
    /// What failed besides when something ended, to be told with the first.
    pub(crate) further: RefCell<Vec<String>>,
    /// Operations that engines were given.
    pub(crate) pushes: Cell<u64>,
    /// Such calls since somebody looked for them.
    pub(crate) as_axes: RefCell<HashSet<AsAxis>>,
}

/// What has something to do before the session ends, unless it is gone.
pub(crate) trait Ending {
    /// Whether others see what it has to do.
    fn is_due(&self) -> bool;

    /// Whether nobody can give it more to do.
    fn is_ended(&self) -> bool;

    /// Whether it may begin without being asked (S1).
    fn starts(&self, context: &Context) -> bool;

    /// Whether something has failed and was not told.
    fn has_failures(&self) -> bool;

    /// Does what is held of it, unless it is at work.
    ///
    /// # Errors
    /// What stops it; of what fails those hear who read it.
    fn flush(self: Rc<Self>, context: &Context, call: &NativeCallContext<'_>) -> Result<()>;

    /// What has failed of it and was not told, by the numbers of the pushes.
    fn take_failures(&self, context: &Context) -> Vec<(u64, Fault)>;
}

impl Context {
    pub(crate) fn new(session: Session, host: Rc<dyn Host>, bounds: Option<&Bounds>) -> Rc<Self> {
        let mut print = PrintOptions::default();
        if let Some(bounds) = bounds {
            print.most = usize::try_from(bounds.output).unwrap_or(usize::MAX).min(print.most);
        }
        Rc::new(Self {
            is_sandbox: bounds.is_some(),
            arguments: host.arguments().into(),
            session,
            host,
            print: print.into(),
            prints: Prints::default(),
            lines: Cell::default(),
            cell: RefCell::default(),
            seeds: Cell::new(SplitMix64::new(FIRST_SEED)),
            draws: Draws::default(),
            outputs: Outputs::default(),
            definitions: Cell::new(0),
            functions: RefCell::new(LazyCell::new(Box::new(Vec::new))),
            kernels: RefCell::default(),
            module_kernels: RefCell::default(),
            customs: RefCell::default(),
            cells_overlap: Cell::new(false),
            begun: RefCell::default(),
            deferred: RefCell::default(),
            endings: RefCell::default(),
            kept: Rc::default(),
            further: RefCell::default(),
            pushes: Cell::default(),
            as_axes: RefCell::default(),
        })
    }

    /// The contents of a file that the session has room for.
    pub(crate) fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        let room = |bytes| self.session.check_file_memory(bytes).map_err(io::Error::other);
        self.host.read_file(path, &room)
    }

    /// Columns that pictures may take.
    pub(crate) fn width(&self) -> usize {
        self.host.window().unwrap_or(80)
    }

    /// A value as `print` shows it.
    pub(crate) fn text(&self, value: &Dynamic) -> Result<String> {
        self.text_in(None, value)
    }

    fn text_in(&self, window: Option<usize>, value: &Dynamic) -> Result<String> {
        if let Some(error) = caught::error_of(value) {
            return Ok(diagnosis::message_of(&error, &self.functions.borrow()));
        }
        display::text(value, &PrintOptions { window, ..self.print.borrow().clone() })
    }

    /// The same in lines that fit the window.
    pub(crate) fn fitted(&self, value: &Dynamic) -> Result<String> {
        if let Some(picture) = value.read_lock::<Picture>() {
            let text = picture.shown(self.host.graphics())?;
            return written(self.print.borrow().most, |out| out.put(&text));
        }
        let window = self.host.window();
        let text = self.text_in(window, value)?;
        match window.filter(|_| display::is_collection(value)) {
            Some(window) => display::broken(&text, window),
            None => Ok(text),
        }
    }

    /// A value in all forms that the front end shows.
    pub(crate) fn shown(&self, value: &Dynamic) -> Result<Shown> {
        let wanted = self.host.shows_forms();
        if !wanted || caught::error_of(value).is_some() {
            let text = self.fitted(value)?;
            let forms =
                if wanted { forms::forms(value, &self.print.borrow())? } else { Vec::new() };
            return Ok(Shown { text, forms });
        }
        // A page is not there to be read to its end; truth values are words in all forms.
        let mut print = self.print.borrow().clone();
        print.arrays.words = true;
        let text = display::ends(value, &print)?;
        Ok(Shown { text, forms: forms::forms(value, &print)? })
    }

    /// Shows a value outside of the cell's result.
    pub(crate) fn display(&self, value: &Dynamic, place: DisplayTarget<'_>) -> Result<()> {
        self.host.display(&self.shown(value)?, place);
        Ok(())
    }

    /// Tells the session which script line records, so that errors that come later can name it.
    pub(crate) fn at(&self, call: &NativeCallContext<'_>) {
        let line = self.line(call.call_position());
        let cell = self.cell.borrow();
        // A function may be one of another cell, and what an import runs is a module's.
        let is_of_cell =
            cell.number > 0 && call.call_level() <= 1 && call.call_source() == Some(&cell.name);
        let cell = if is_of_cell { cell.number } else { 0 };
        self.session.set_script_line(ScriptLine { cell, line });
    }

    /// The line of the text at a place of the program; 0 if it is unknown.
    pub(crate) fn line(&self, position: Position) -> u32 {
        let line = position.line().map(|line| self.lines.get().in_text(line));
        line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
    }

    /// Evaluates everything, then fills host arrays that waited for it.
    pub(crate) fn eval_all(&self) -> Result<()> {
        self.session.eval_all().or_fault()?;
        self.fill_deferred()
    }

    /// Evaluates the given values, and only those.
    pub(crate) fn eval(&self, values: &[ArrayRef]) -> Result<()> {
        if let [value] = values
            && let Node::Leaf(array) = &*value.node()
        {
            self.session.eval(&[array]).or_fault()?;
        } else {
            let mut leaves = Vec::with_capacity(values.len());
            for value in values {
                value.narrow()?;
                value.add_arrays(&mut leaves);
            }
            self.session.eval(&leaves.iter().collect::<Vec<_>>()).or_fault()?;
        }
        self.fill_deferred()
    }

    /// Notes what has something to do before the session ends.
    pub(crate) fn at_end(&self, ending: Weak<dyn Ending>) {
        let mut endings = self.endings.borrow_mut();
        // What is gone goes, now and then.
        if endings.len().is_power_of_two() {
            endings.retain(|ending| ending.strong_count() > 0);
        }
        endings.push(ending);
    }

    /// Does not let go of what has something to do that others see.
    pub(crate) fn keep(&self, ending: Rc<dyn Ending>) {
        let mut kept = self.kept.borrow_mut();
        if !kept.iter().rev().any(|known| Rc::ptr_eq(known, &ending)) {
            kept.push(ending);
        }
    }

    /// Where such things are, for who knows only later that they have.
    pub(crate) fn kept(&self) -> Weak<RefCell<Vec<Rc<dyn Ending>>>> {
        Rc::downgrade(&self.kept)
    }

    /// Whether there is such a thing that has ended, with something to do or to tell now.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.kept.borrow().iter().any(|kept| self.is_forgotten(&**kept))
    }

    fn is_forgotten(&self, kept: &dyn Ending) -> bool {
        kept.is_ended() && (kept.starts(self) || kept.has_failures())
    }

    /// The things that have ended, to do now what they have to do.
    pub(crate) fn take_forgotten(&self) -> Vec<Rc<dyn Ending>> {
        let kept = self.kept.take().into_iter().filter(|kept| kept.is_due());
        let (forgotten, kept): (Vec<_>, Vec<_>) = kept.partition(|kept| self.is_forgotten(&**kept));
        self.kept.borrow_mut().extend(kept);
        forgotten
    }

    /// Keeps those of what was taken that have still something to do, as after Ctrl-C.
    pub(crate) fn keep_due(&self, taken: Vec<Rc<dyn Ending>>) {
        taken.into_iter().filter(|taken| taken.is_due()).for_each(|taken| self.keep(taken));
    }

    /// Whether something has something to do before the session ends.
    pub(crate) fn has_endings(&self) -> bool {
        self.endings.borrow().iter().any(|ending| ending.strong_count() > 0)
    }

    /// The same, which goes on.
    pub(crate) fn endings(&self) -> Vec<Rc<dyn Ending>> {
        self.endings.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    /// What has something to do before the session ends.
    pub(crate) fn take_endings(&self) -> Vec<Rc<dyn Ending>> {
        let endings = self.endings.take().iter().filter_map(Weak::upgrade).collect();
        self.kept.take();
        endings
    }

    pub(crate) fn defer(&self, host: HostRef) {
        self.deferred.borrow_mut().push(host);
    }

    /// Fills the deferred host arrays whose sources are evaluated by now. Bounds errors met meanwhile
    /// stay for the next read: `eval` never reports it (S13).
    fn fill_deferred(&self) -> Result<()> {
        if self.deferred.borrow().is_empty() {
            return Ok(());
        }
        let pending = self.session.take_errors();
        let mut result = Ok(());
        self.deferred.borrow_mut().retain(|host| {
            let Some(source) = host.source() else { return false };
            let known = |leaf: &Array| leaf.is_evaluated() || leaf.literal().is_some();
            if host.is_forgotten() {
                return false;
            }
            if result.is_err() || !source.leaves().iter().all(known) {
                return true;
            }
            result = host.fill();
            result.is_err()
        });
        self.session.put_errors(pending);
        result
    }
}
