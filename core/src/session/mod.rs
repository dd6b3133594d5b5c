//! A session: the variable table, a device, its caches. The only place where recording and evaluation
//! meet. There are no globals; sessions share what they want through a [`Runtime`].

mod anew;
pub mod builder;
mod copies;
pub mod devices;
mod dropping;
pub mod flags;
mod host_room;
pub mod inspect;
mod kept;
mod on_demand;
pub(crate) mod recorded;
pub mod runtime;
pub mod tape;
mod trim;
pub mod waiting;
pub(crate) mod watchers;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use smallvec::SmallVec;

use crate::array::{Array, Parts};
use crate::backend::GpuBackend;
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ScriptLine};
use crate::eval::history::{History, LaunchRecord, LaunchTotals};
use crate::eval::launches::{Keep, Plan};
use crate::eval::schedule::schedule;
use crate::eval::{Evaluator, Named, Reports};
use crate::ir::kernel::Target;
use crate::ir::primitive::Product;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId};
use crate::linear::fourier::Plans;
use crate::log::{Log, LogQueue, LogSink, TRACE_LEVEL};
use crate::session::flags::{
    ASYNC, BATCH, BOUNDS_CHECK, CHECK_DUPLICATES, CSE, FAST_MATH, FOLD, FORBID_EVAL, Flags,
    LANE_ORDER, TENSOR_CORES,
};
use crate::session::kept::{Compiler, KeptKernels};
use crate::session::runtime::{Device, Runtime};
use crate::session::watchers::Watchers;
use crate::trace::range::{check_range, range_size};
use crate::trace::{Recorder, Settings};

/// Bytes that are copied between two looks at the interrupt flag: a few milliseconds.
pub(crate) const PIECE: usize = 1 << 24;

/// Bytes that are converted at a time: they stay in a cache until they are where they go.
pub(crate) const CONVERTED: usize = 1 << 20;

/// A clock: the time since some fixed point.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Everything that belongs together: recorded values, device, caches. Cloning shares it.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

pub(crate) struct Inner {
    table: Mutex<Table>,
    compiler: Mutex<Compiler>,
    /// Compiled kernels, to be read while an evaluation runs.
    kernels: KeptKernels,
    reports: Mutex<Reports>,
    runtime: Arc<Runtime>,
    /// What contents and kernels are of: one that failed, until there is work for the one in its place.
    home: Mutex<Option<Arc<Device>>>,
    common: Arc<Common>,
    family: Family,
}

/// The sessions that arrays of one move between, see [`devices`].
#[derive(Default)]
pub(crate) struct Family {
    /// Of the first session: those on other devices.
    others: Mutex<Vec<Session>>,
    /// Of the others: the first.
    first: Weak<Inner>,
}

/// What sessions share that work together on several devices.
pub(crate) struct Common {
    pub(crate) line: AtomicU32,
    pub(crate) flags: Flags,
    pub(crate) history: Mutex<History>,
    pub(crate) log: Log,
    pub(crate) clock: Clock,
    pub(crate) progress: Option<LogSink>,
    pub(crate) warnings: Option<LogSink>,
    pub(crate) watchers: Watchers,
    /// What Fourier transforms go by.
    pub(crate) plans: Arc<Plans>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves plain data behind; the session goes on with it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub(crate) fn start(runtime: Arc<Runtime>, common: Arc<Common>, family: Family) -> Self {
        let mut table = Table::new(LogQueue::new(common.log.clone()));
        table.numbering.enabled = common.flags.get(CSE);
        Self(Arc::new(Inner {
            table: Mutex::new(table),
            compiler: Mutex::new(Compiler::of(&runtime)),
            kernels: KeptKernels::default(),
            reports: Mutex::default(),
            runtime,
            home: Mutex::default(),
            common,
            family,
        }))
    }

    // ---- recording ----

    /// Records one operation.
    ///
    /// # Errors
    /// What `record` returns; nothing is recorded then.
    pub fn record(&self, record: impl FnOnce(&mut Recorder<'_>) -> Result<VarId>) -> Result<Array> {
        let settings = self.settings();
        let handle = self.with_table(|table| {
            let mut recorder = Recorder::with_room(table, settings)?;
            let id = record(&mut recorder)?;
            Ok(recorder.finish(id))
        })?;
        Ok(Array::adopt(self.clone(), handle))
    }

    /// Records the function `name` of `args`; [`Recorder::composite`] says what `words` and `recipe` are.
    pub(crate) fn compose(
        &self,
        name: &'static str,
        words: &[u64],
        args: &[&Array],
        recipe: impl for<'r> Fn(&mut Recorder<'r>, &[VarId]) -> Result<VarId> + Send + Sync + 'static,
    ) -> Result<Array> {
        let ids = self.ids(name, args)?;
        self.record(|recorder| recorder.composite(name, words, &ids, recipe))
    }

    /// Records products of the same matrices, see [`Product`]; tensors have better words for them.
    ///
    /// # Errors
    /// `ForeignArray`.
    #[doc(hidden)]
    pub fn products(
        &self,
        products: impl IntoIterator<Item = Product>,
        operands: &[&Array],
    ) -> Result<Parts> {
        let ids = self.ids("matmul", operands)?;
        self.record_all(|recorder| {
            let record = |product| recorder.product(product, &ids);
            products.into_iter().map(record).collect::<Result<SmallVec<[VarId; 2]>>>()
        })
    }

    /// Records several arrays at once.
    pub(crate) fn record_all<Ids: AsRef<[VarId]>, Arrays: FromIterator<Array>>(
        &self,
        record: impl FnOnce(&mut Recorder<'_>) -> Result<Ids>,
    ) -> Result<Arrays> {
        let settings = self.settings();
        let handles = self.with_table(|table| {
            let mut recorder = Recorder::with_room(table, settings)?;
            let ids = record(&mut recorder)?;
            Ok(recorder.finish_all(ids.as_ref()))
        })?;
        Ok(handles.into_iter().map(|handle| Array::adopt(self.clone(), handle)).collect())
    }

    /// Records what is kept otherwise than in arrays.
    pub(crate) fn with_recorder<R>(
        &self,
        work: impl FnOnce(Recorder<'_>) -> Result<R>,
    ) -> Result<R> {
        let settings = self.settings();
        self.with_table(|table| work(Recorder::with_room(table, settings)?))
    }

    fn settings(&self) -> Settings {
        Settings {
            fold: self.0.common.flags.get(FOLD),
            bounds_check: self.0.common.flags.get(BOUNDS_CHECK),
            line: self.0.common.line.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn watchers(&self) -> &Watchers {
        &self.0.common.watchers
    }

    pub(crate) fn flag_is_set(&self, flag: usize) -> bool {
        self.0.common.flags.get(flag)
    }

    /// `size` lanes of one number, lazy: no memory is used until it is stored.
    ///
    /// # Errors
    /// `NumberRange` or `NumberType` if the type cannot hold the number.
    pub fn full(&self, dtype: DType, number: impl Into<Scalar>, size: u64) -> Result<Array> {
        let bits = dtype.encode(number.into())?;
        self.record(|recorder| Ok(recorder.own_literal(dtype, bits, size)))
    }

    /// `size` zeros.
    ///
    /// # Errors
    /// None.
    pub fn zeros(&self, dtype: DType, size: u64) -> Result<Array> {
        self.record(|recorder| Ok(recorder.own_literal(dtype, 0, size)))
    }

    /// `size` lanes of one number as data: never part of a kernel's code (S3).
    ///
    /// # Errors
    /// As [`Session::full`]; `OutOfMemory`.
    pub fn opaque(&self, dtype: DType, number: impl Into<Scalar>, size: u64) -> Result<Array> {
        let array = self.full(dtype, number, size)?;
        array.materialize()?;
        Ok(array)
    }

    /// `start, start + step, …` below `stop` (above it for negative steps).
    ///
    /// # Errors
    /// `Argument` if the step is zero or a value does not fit an integer type; `NumberRange`, `UnsupportedType`.
    pub fn arange(&self, dtype: DType, start: Scalar, stop: Scalar, step: Scalar) -> Result<Array> {
        let size = range_size(start, stop, step)?;
        check_range(dtype, start, stop, step, size)?;
        self.record(|recorder| recorder.range(dtype, start, step, size))
    }

    /// `size` floats from `first` to `last`, both included.
    ///
    /// # Errors
    /// `UnsupportedType` if the type is not a float.
    pub fn linspace(
        &self,
        dtype: DType,
        first: impl Into<Scalar>,
        last: impl Into<Scalar>,
        size: u64,
    ) -> Result<Array> {
        let (first, last) = (first.into(), last.into());
        self.record(|recorder| recorder.linspace(dtype, first, last, size))
    }

    // ---- evaluation ----

    /// Evaluates the given arrays, and only those.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`, `Poisoned`, or what the device's compiler says; the session stays as
    /// it was. `ForeignArray` for arrays of another session. Bounds errors come later, see [`Session::take_error`].
    pub fn eval(&self, arrays: &[&Array]) -> Result<()> {
        if let &[array] = arrays
            && self.is(array.session())
        {
            return self.evaluate_numbers_too(&[array.id()]);
        }
        for session in self.sessions_of("eval", arrays)? {
            let here = arrays.iter().filter(|array| session.is(array.session()));
            let ids: Vec<VarId> = here.map(|array| array.id()).collect();
            session.evaluate_numbers_too(&ids)?;
        }
        Ok(())
    }

    /// Evaluates every array that somebody holds, pending writes included, on all devices. Numbers stay
    /// numbers.
    ///
    /// # Errors
    /// As [`Session::eval`].
    pub fn eval_all(&self) -> Result<()> {
        self.family().iter().try_for_each(|session| session.eval_held(|_| true))
    }

    fn eval_held(&self, is_wanted: impl Fn(&Kind) -> bool) -> Result<()> {
        let ids = self
            .with_table(|table| table.hold_unevaluated(|table, id| is_wanted(&table.get(id).kind)));
        let result = self.evaluate_with_lanes(&ids);
        self.with_table(|table| ids.iter().for_each(|&id| table.dec_external(id)));
        result
    }

    /// The serial of what is recorded next.
    pub(crate) fn next_serial(&self) -> u64 {
        lock(&self.0.table).next_serial()
    }

    /// Says what errors call the access by which an array was recorded.
    pub(crate) fn name_access(&self, array: &Array, named: Named) {
        let serial = lock(&self.0.table).named_access(array.id());
        lock(&self.0.reports).name(serial, named);
    }

    /// Looks at the reports of indices out of bounds.
    pub(crate) fn with_reports<T>(&self, look: impl FnOnce(&Reports) -> T) -> T {
        let mut reports = lock(&self.0.reports);
        reports.collect_done();
        look(&reports)
    }

    /// What evaluating the arrays would launch on their device, without launching it.
    ///
    /// # Errors
    /// `Poisoned`, `ForeignArray`.
    pub fn plan(&self, arrays: &[&Array]) -> Result<Plan> {
        let ids = self.ids("plan", arrays)?;
        let target = self.target(&*self.device()?);
        let compiler = &mut *lock(&self.0.compiler);
        self.with_table(|table| schedule(table, &ids, Keep::Held, target, &mut compiler.scratch))
    }

    /// The variables of arrays, which must belong to this session.
    pub(crate) fn ids(&self, op: &'static str, arrays: &[&Array]) -> Result<SmallVec<[VarId; 4]>> {
        let id = |array: &&Array| {
            let session = array.session();
            if self.is(session) { Ok(array.id()) } else { Err(self.foreign(op, session)) }
        };
        arrays.iter().map(id).collect()
    }

    fn evaluate_numbers_too(&self, ids: &[VarId]) -> Result<()> {
        self.evaluate_then(ids, false, |evaluator| evaluator.fill_numbers(ids.iter().copied()))
    }

    /// Evaluates variables, on this thread as far as the caller `waits` for them.
    fn evaluate_then(
        &self,
        ids: &[VarId],
        waits: bool,
        then: impl FnOnce(&Evaluator<'_>) -> Result<()>,
    ) -> Result<()> {
        let device = self.device()?;
        // What is in memory waits for nobody's evaluation.
        if self.knows(&device) && self.are_there(&device, ids, waits) {
            return Ok(());
        }
        let mut compiler = lock(&self.0.compiler);
        // What was on a device that failed is no memory of the one in its place.
        self.adopt_device(&mut compiler, &device);
        // Somebody else may have evaluated them meanwhile.
        if self.are_there(&device, ids, false) {
            return Ok(());
        }
        self.work_on(&device, compiler, |evaluator| {
            evaluator.is_waited_for = waits;
            evaluator.evaluate(ids)?;
            then(evaluator)
        })
    }

    /// Does work, and once more where the device has failed meanwhile: what it gives is in the memory of the device beside it.
    pub(crate) fn with_device<R>(&self, work: impl Fn() -> Result<R>) -> Result<(R, Arc<Device>)> {
        loop {
            let device = self.device()?;
            let done = work()?;
            if Arc::ptr_eq(&device, &self.device()?) {
                return Ok((done, device));
            }
        }
    }

    pub(crate) fn with_evaluator<R>(
        &self,
        work: impl FnOnce(&mut Evaluator<'_>) -> Result<R>,
    ) -> Result<R> {
        let device = self.device()?;
        self.work_on(&device, lock(&self.0.compiler), work)
    }

    fn work_on<R>(
        &self,
        device: &Arc<Device>,
        mut compiler: MutexGuard<'_, Compiler>,
        work: impl FnOnce(&mut Evaluator<'_>) -> Result<R>,
    ) -> Result<R> {
        let inner = &*self.0;
        self.with_table(Table::sweep);
        self.adopt_device(&mut compiler, device);
        let Compiler { cache, scratch, told, .. } = &mut *compiler;
        let result = work(&mut Evaluator {
            table: &inner.table,
            backend: &*device.backend,
            target: self.target(device),
            memory: &device.memory,
            is_async: inner.common.flags.get(ASYNC),
            is_waited_for: false,
            cache,
            scratch,
            history: &inner.common.history,
            log: &inner.common.log,
            clock: &*inner.common.clock,
            reports: &inner.reports,
            progress: inner.common.progress.as_ref(),
            warnings: inner.common.warnings.as_ref(),
            told,
        });
        inner.kernels.note(&compiler.cache);
        drop(compiler);
        // Writes and drops what waits.
        self.with_table(|_| ());
        result
    }

    fn target(&self, device: &Device) -> Target {
        let [lane_order, fast_math, batch] =
            [LANE_ORDER, FAST_MATH, BATCH].map(|flag| self.0.common.flags.get(flag));
        let gpu = device.backend.gpu();
        let variant = gpu.map_or(Target::default().variant, GpuBackend::variant);
        let apart = gpu.map_or(Target::default().apart, GpuBackend::apart);
        Target { device: device.target, lane_order, fast_math, batch, variant, apart }
    }

    /// Runs `work` on the locked table, then writes the log lines and drops what else it left.
    pub(crate) fn with_table<R>(&self, work: impl FnOnce(&mut Table) -> R) -> R {
        let (result, left) = {
            let mut table = lock(&self.0.table);
            let result = work(&mut table);
            (result, table.take_left())
        };
        if let Some(lines) = left {
            lines.into_iter().for_each(|line| self.0.common.log.line(1, || line));
            self.drop_of_others();
        }
        result
    }

    /// Runs `work` with a table that was changed before, and is changed back after it, whatever happens.
    pub(crate) fn meanwhile<R>(
        &self,
        change: impl FnOnce(&mut Table),
        back: impl Fn(&mut Table),
        work: impl FnOnce() -> R,
    ) -> R {
        struct Meanwhile<'s, F: Fn(&mut Table)>(&'s Session, F);
        impl<F: Fn(&mut Table)> Drop for Meanwhile<'_, F> {
            fn drop(&mut self) {
                self.0.with_table(|table| self.1(table));
            }
        }
        self.with_table(change);
        let _meanwhile = Meanwhile(self, back);
        work()
    }

    /// Shows, where recorded operations are shown, what the next ones belong to.
    pub(crate) fn show_call(&self, line: impl FnOnce(&Table) -> String) {
        if self.0.common.log.enabled(TRACE_LEVEL) {
            self.with_table(|table| {
                let line = line(table);
                table.log.push(line);
            });
        }
    }

    // ---- settings and inspection ----

    /// Whether both are the same session.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many threads work for it on this machine, the caller included.
    pub fn threads(&self) -> usize {
        self.0.runtime.threads()
    }

    pub(crate) fn plans(&self) -> Arc<Plans> {
        self.0.common.plans.clone()
    }

    /// The device, as people read it: what was asked for until the first value was needed.
    pub fn device_name(&self) -> String {
        let runtime = &self.0.runtime;
        match runtime.opened() {
            Some(device) => device.backend.name(),
            None => format!("{}, opened when a value is needed", runtime.choice()),
        }
    }

    /// The log level, 0–5.
    pub fn log_level(&self) -> u8 {
        self.0.common.log.level()
    }

    /// Sets the log level, 0–5.
    pub fn set_log_level(&self, level: u8) {
        self.0.common.log.set_level(level);
    }

    /// The value of a flag of [`flags::FLAGS`].
    ///
    /// # Errors
    /// `UnknownFlag`.
    pub fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.0.common.flags.get(Flags::find(name)?))
    }

    /// Whether writes are looked at: in bodies that are recorded indices have no lanes yet.
    pub(crate) fn checks_duplicates(&self) -> bool {
        self.0.common.flags.get(CHECK_DUPLICATES)
            && !self.is_recording()
            && !self.records_function()
    }

    /// Whether products of matrices of such lanes go to the tensor cores of a GPU.
    ///
    /// # Errors
    /// `NoDevice`, where the flag is set: what the device is decides.
    pub(crate) fn uses_tensor_cores(&self, dtype: DType) -> Result<bool> {
        let is_set = self.0.common.flags.get(TENSOR_CORES) && dtype.is_float();
        Ok(is_set && self.0.runtime.device()?.backend.gpu().is_some())
    }

    /// Sets a flag of [`flags::FLAGS`].
    ///
    /// # Errors
    /// `UnknownFlag`.
    pub fn set_flag(&self, name: &str, value: bool) -> Result<()> {
        let flag = Flags::find(name)?;
        self.0.common.flags.set(flag, value);
        if flag == CSE {
            for session in self.family() {
                session.with_table(|table| table.numbering.enabled = value);
            }
        }
        Ok(())
    }

    /// Tells which script line records from now on; 0 for none. Errors that come later name it.
    pub fn set_line(&self, line: u32) {
        self.set_script_line(line.into());
    }

    /// The same of a cell of a notebook or a prompt.
    pub fn set_script_line(&self, line: ScriptLine) {
        self.0.common.line.store(line.code(), Ordering::Relaxed);
    }

    /// The last launches, oldest first. Waits for those under way.
    pub fn history(&self) -> Vec<LaunchRecord> {
        self.settle();
        lock(&self.0.common.history).records().cloned().collect()
    }

    /// Number and times of all launches so far. Waits for those under way.
    pub fn launch_totals(&self) -> LaunchTotals {
        self.settle();
        lock(&self.0.common.history).totals()
    }

    /// Forgets the launches so far.
    pub fn clear_history(&self) {
        lock(&self.0.common.history).clear();
    }

    /// Lets go of what other processes wait for, before this one ends: nothing is evaluated any more.
    #[doc(hidden)]
    pub fn leave(&self) {
        self.0.runtime.opened().iter().for_each(|device| device.backend.leave());
    }

    /// What sessions share.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.0.common
    }

    pub(crate) fn relatives(&self) -> &Family {
        &self.0.family
    }

    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(inner: &Weak<Inner>) -> Option<Self> {
        inner.upgrade().map(Self)
    }

    /// The device, opened if need be.
    pub(crate) fn device(&self) -> Result<Arc<Device>> {
        self.0.runtime.device()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({})", self.device_name())
    }
}
