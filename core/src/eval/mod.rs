//! Evaluation: from variables that are wanted to data in memory.
//!
//! [`Evaluator::evaluate`] is the outline: plan under the table's lock, then for each launch find or
//! compile the code, bind buffers, run, and commit the results. Compiling and running happen outside the
//! lock. A launch that fails leaves every variable as it was; results committed before stay. The exception are
//! writes in place, of scatters and over dying inputs (`reuse.rs`): what they left half done is poisoned.

#![deny(clippy::wildcard_enum_match_arm)]

mod alike;
mod alone;
mod batch;
mod bounds;
mod build;
pub mod cache;
mod calls;
mod compile_time;
mod cones;
mod consecutive;
mod draft;
pub(crate) mod exhausted;
pub mod history;
pub mod history_columns;
mod kernel_registers;
mod known;
pub mod launches;
mod notes;
mod part_notes;
mod primitive;
mod progress;
mod reach;
mod regions;
mod reuse;
pub mod schedule;
mod walk;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::backend::{Alone, Backend, Executable, Launched, Pending};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{Kernel, KernelHash, LiteralMode, ParamBlock, Target};
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId};
use crate::log::{Log, LogSink};
use crate::memory::buffer::Buffer;
use crate::memory::caching_allocator::Allocator;
pub use bounds::{Named, Reports};
use cache::{Cache, CacheResult, Found};
pub use compile_time::Elapsed;
use compile_time::{compilation, compile_time};
use exhausted::out_of_memory;
use history::{History, LaunchRecord};
use known::Called;
use launches::{Binding, Keep, Launch, Plan, Step};
use progress::Progress;
use reuse::Reuse;
use schedule::{Scratch, schedule};

/// The parts of a session that an evaluation needs.
pub struct Evaluator<'s> {
    /// The session's variables.
    pub table: &'s Mutex<Table>,
    /// The device.
    pub backend: &'s dyn Backend,
    /// The target of its kernels.
    pub target: Target,
    /// Its memory.
    pub memory: &'s Arc<Allocator>,
    /// Whether launches of a processor run while the caller goes on.
    pub is_async: bool,
    /// Whether the caller waits for the end: then the last launch is not handed over.
    pub is_waited_for: bool,
    /// Its compiled kernels.
    pub cache: &'s mut Cache,
    /// Maps of the scheduler.
    pub scratch: &'s mut Scratch,
    /// Where launches are recorded.
    pub history: &'s Mutex<History>,
    /// Which lines are wanted.
    pub log: &'s Log,
    /// Time since some fixed point.
    pub clock: &'s dyn Fn() -> Duration,
    /// Reports of indices out of bounds.
    pub reports: &'s Mutex<Reports>,
    /// Receives progress messages.
    pub progress: Option<&'s LogSink>,
    /// Receives warnings.
    pub warnings: Option<&'s LogSink>,
    /// The kernels of which it was told that they took long on one thread.
    pub told: &'s mut HashSet<KernelHash>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evaluator<'_> {
    /// Makes `roots` data.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`, `Poisoned`, or what the device's compiler says.
    pub fn evaluate(&mut self, roots: &[VarId]) -> Result<()> {
        lock(self.reports).begin();
        match self.attempt(roots, Keep::Held) {
            // What is kept only to spare work later must not make the evaluation fail.
            Err(Error::OutOfMemory { .. }) => {
                // Nor what runs at once, and gives no dying input's block to a result.
                let batch = std::mem::replace(&mut self.target.batch, false);
                let result = self.attempt(roots, Keep::Wanted);
                self.target.batch = batch;
                result
            }
            result => result,
        }
    }

    fn attempt(&mut self, roots: &[VarId], keep: Keep) -> Result<()> {
        let progress;
        let plan = {
            let mut table = lock(self.table);
            progress = Progress::begin(self.progress, table.n_live());
            let (plan, between) = self.plan(&mut table, roots, keep)?;
            plan.steps.iter().for_each(|step| hold(&mut table, step));
            between.into_iter().for_each(|id| table.dec_external(id));
            plan
        };
        let mut n_done = 0;
        let result = self.run_plan(&plan, &mut n_done, &progress);
        if n_done < plan.steps.len() {
            let mut table = lock(self.table);
            plan.steps[n_done..].iter().for_each(|step| release(&mut table, step));
        }
        result
    }

    /// What an evaluation launches. The caller owns external references to what stands for values between its launches.
    fn plan(
        &mut self,
        table: &mut Table,
        roots: &[VarId],
        keep: Keep,
    ) -> Result<(Plan, Vec<VarId>)> {
        let known = &self.scratch.known;
        let mut called = Called::of(table, roots, self.target)
            .filter(|called| keep == Keep::Held && known.is_whole(called));
        if let Some(known) =
            called.as_ref().and_then(|called| self.scratch.known.plan(called, table))
        {
            return Ok(known);
        }
        let scratch = &mut *self.scratch;
        let is_whole = called.is_none() && keep == Keep::Held;
        let met = if is_whole { scratch.meet(table, roots, self.target) } else { None };
        if let Some(plan) = met.and_then(|met| scratch.cones.plan(met, table)) {
            return Ok((plan, Vec::new()));
        }
        let all = called.as_ref().map_or(roots, Called::roots);
        let mut plan = schedule(table, all, keep, self.target, scratch)?;
        if called.as_ref().is_some_and(|called| scratch.known.rejects(called, &plan, table)) {
            called = None;
            plan = schedule(table, roots, keep, self.target, scratch)?;
        }
        if let Some(called) = called {
            scratch.known.learn(called, &plan, table, scratch.most_kept);
        }
        if let Some(met) = met {
            scratch.cones.learn(met, &plan, table, scratch.most_kept);
        }
        Ok((plan, Vec::new()))
    }

    fn run_plan(&mut self, plan: &Plan, n_done: &mut usize, progress: &Progress) -> Result<()> {
        let launches = plan.kernels().filter(|launch| launch.size > 0);
        let launches = launches.map(|launch| (&*launch.kernel, launch.size, launch.varies()));
        self.cache.compile_ahead(launches, self.backend);
        for step in &plan.steps {
            let is_last = *n_done + 1 == plan.steps.len();
            let at_once = !self.is_async || self.is_waited_for && is_last;
            if !plan.fills.is_empty() {
                // Not all of them ahead: what a loop joined would lie in memory together.
                self.fill_numbers(step.held())?;
            }
            let done = match step {
                Step::Kernel(launch) => {
                    progress.now(|| {
                        let (number, n) = (*n_done + 1, plan.steps.len());
                        let n_ops = launch.kernel.n_ops;
                        format!("compiling and running {n_ops} operations, launch {number} of {n}")
                    });
                    self.run(launch, at_once)?
                }
                Step::Primitive(launch) => self.run_primitive(launch)?,
            };
            let mut table = lock(self.table);
            for (id, buffer) in done {
                table.become_data(id, buffer);
            }
            release(&mut table, step);
            table.sweep();
            *n_done += 1;
        }
        Ok(())
    }

    /// Puts those variables into memory that are numbers.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`.
    pub fn fill_numbers(&self, ids: impl IntoIterator<Item = VarId>) -> Result<()> {
        let numbers: Vec<VarId> = {
            let table = lock(self.table);
            let is_number = |id: &VarId| table.get(*id).kind.number().is_some();
            ids.into_iter().filter(is_number).collect()
        };
        numbers.into_iter().try_for_each(|id| self.fill(id))
    }

    /// Puts a number into memory, in every lane; of room for writes nothing, see [`Variable::is_room`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn fill(&self, id: VarId) -> Result<()> {
        let (bits, dtype, size, is_room) = {
            let table = lock(self.table);
            let variable = table.get(id);
            let Some(bits) = variable.kind.number() else { return Ok(()) };
            (bits, variable.dtype, variable.size, variable.is_room())
        };
        let buffer = self.alloc_lanes(dtype, size)?;
        let (memory, bytes) = (self.backend.memory(), dtype.bytes());
        in_pieces(size, |start, n| {
            let address = buffer.address() + start * bytes as u64;
            match is_room {
                true => memory.expect_writes(address, bytes, n),
                false => memory.fill(address, bits, bytes, n),
            }
        })?;
        lock(self.table).become_data(id, Arc::new(buffer));
        Ok(())
    }

    /// Runs a launch, before this returns if `at_once`; the variables it made data and their buffers.
    fn run(&mut self, launch: &Launch, at_once: bool) -> Result<Vec<(VarId, Arc<Buffer>)>> {
        let (kernel, members) = (&launch.kernel, launch.n_members());
        if launch.size == 0 {
            let bindings: Vec<Binding> = launch.all_bindings().copied().collect();
            return Ok(self.bind(&bindings, 0, &[])?.results);
        }
        let (inputs, outputs) = (kernel.n_inputs(), kernel.buffers.len() - kernel.n_inputs());
        self.say(1, || {
            let (n, ops) = (launch.size, kernel.n_ops);
            let what = match members {
                1 => "kernel".into(),
                _ => format!("batch of {members}"),
            };
            format!("eval(): launching {what} (n={n}, in={inputs}, out={outputs}, ops={ops})")
        });
        let start = (self.clock)();
        let Found { executable, result: cache, mode, quick_version } =
            self.cache.get(kernel, launch.size, launch.varies(), self.backend)?;
        // Looking for what is there takes less than looking at a clock.
        let is_there = cache == CacheResult::Hit;
        let is_untimed = is_there && !self.log.enabled(2);
        let mut ready = if is_untimed { start } else { (self.clock)() };
        let code = executable.statistics();
        let compile_time = compile_time(cache, ready.saturating_sub(start), code);
        self.say(2, || compilation(cache, compile_time, code));
        if !is_there && self.log.enabled(3) {
            self.log_code(quick_version.as_deref().unwrap_or(kernel), mode)?;
            ready = (self.clock)();
        }
        let started = match launch.is_batch() {
            true => self.run_members(launch, &*executable, at_once),
            false => self.run_alone(launch, &*executable, at_once),
        };
        // Of one that failed nothing is noted.
        let started = started.inspect_err(|_| drop(self.backend.take_notes()));
        let Started { results, pending, alone } = started?;
        let run_time = (self.clock)().saturating_sub(ready);
        let parts = self.take_notes();
        if let Some(why) = alone {
            self.warn_of_one_thread(launch, why, run_time);
        }
        lock(self.history).push(LaunchRecord {
            number: 0,
            name: if launch.is_batch() { "batch" } else { "kernel" }.into(),
            hash: kernel.hash,
            size: launch.size * members as u64,
            members,
            product: None,
            inputs,
            outputs,
            operations: kernel.n_ops,
            cache,
            compile_time,
            start: ready,
            run_time,
            waited: Duration::ZERO,
            worker: 0,
            parts,
            pending,
            code,
        });
        Ok(results)
    }

    /// Runs a launch of one member.
    fn run_alone(
        &mut self,
        launch: &Launch,
        executable: &dyn Executable,
        at_once: bool,
    ) -> Result<Started> {
        let reuses = if executable.writes_in_place() && reuse::is_worthwhile(launch) {
            reuse::find(&lock(self.table), launch)
        } else {
            Vec::new()
        };
        let mut bound = self.bind(&launch.bindings, launch.size, &reuses)?;
        let in_place = self.commit_reuses(launch, &reuses, &mut bound)?;
        let mut params = ParamBlock::new(&launch.kernel, launch.size, &bound.addresses);
        params.in_place = in_place;
        params.at_once = at_once;
        params.held = std::mem::take(&mut bound.held);
        if !in_place && !bound.at_risk.is_empty() && self.backend.memory().is_host() {
            // An interrupt before it begins leaves what it writes as it is.
            self.backend.sync()?;
        }
        let launched = self.launch(executable, params, launch.size, &bound.at_risk)?;
        let alone = if let Launched::Done { alone, .. } = &launched { *alone } else { None };
        let pending = launched.pending();
        self.report_bounds(launched, launch, &bound.addresses)?;
        Ok(Started { results: bound.results, pending, alone })
    }

    /// Finds or allocates the buffers of a launch. Outputs that take the block of an input become results
    /// only in [`Evaluator::commit_reuses`].
    fn bind(&self, bindings: &[Binding], size: u64, reuses: &[Reuse]) -> Result<Bound> {
        let mut bound = Bound::default();
        bound.addresses.reserve_exact(bindings.len());
        for (i, &binding) in bindings.iter().enumerate() {
            if let Some(reuse) = reuses.iter().find(|reuse| reuse.output.index() == i) {
                let input = bindings[reuse.input.index()].of();
                let address = lock(self.table).get(input).data.as_ref().map(|data| data.address());
                let address = address.expect("internal error: an input is not in memory");
                bound.addresses.push((address, size));
                continue;
            }
            match binding {
                Binding::Read(id) => {
                    let input = self.input(id, &mut bound.held);
                    bound.addresses.push(input);
                }
                Binding::Run { source, first, .. } => {
                    let bytes = lock(self.table).get(source).dtype.bytes() as u64;
                    let (address, _) = self.input(source, &mut bound.held);
                    bound.addresses.push((address + first * bytes, size));
                }
                Binding::Write(id) => {
                    let (dtype, size) = {
                        let table = lock(self.table);
                        let variable = table.get(id);
                        (variable.dtype, variable.size)
                    };
                    let buffer = self.alloc_lanes(dtype, size)?;
                    bound.addresses.push((buffer.address(), size));
                    bound.results.push((id, Arc::new(buffer)));
                }
                Binding::Update { result, target } => {
                    self.bind_update(&mut bound, result, target)?;
                }
                Binding::Scratch(target) => {
                    let (data, size) = {
                        let table = lock(self.table);
                        let variable = table.get(target);
                        (variable.data.clone(), variable.size)
                    };
                    let data = data.expect("internal error: a scatter's target is not in memory");
                    let copy = self.copy(&data)?;
                    bound.addresses.push((copy.address(), size));
                    bound.scratch.push(copy);
                }
            }
        }
        Ok(bound)
    }

    /// Address and lanes of what is in memory; memory of others is added to `held`.
    fn input(&self, id: VarId, held: &mut Vec<Arc<Buffer>>) -> (u64, u64) {
        let table = lock(self.table);
        let variable = table.get(id);
        let data = variable.data.as_ref().expect("internal error: an input is not in memory");
        if !data.may_be_overwritten() {
            held.push(data.clone());
        }
        (data.address(), variable.size)
    }

    /// Commits the results of a launch that works in place before it runs: from then on nothing can record
    /// anything that needs an overwritten input. Whether it works in place.
    ///
    /// If another thread has made use of an input since they were found, all outputs get blocks of
    /// their own.
    ///
    /// # Errors
    /// `Interrupted`: the last chance to leave everything as it was. `OutOfMemory`.
    fn commit_reuses(&self, launch: &Launch, reuses: &[Reuse], bound: &mut Bound) -> Result<bool> {
        if reuses.is_empty() {
            return Ok(false);
        }
        interrupt::check()?;
        let mut table = lock(self.table);
        if reuse::find(&table, launch) != reuses {
            drop(table);
            *bound = Bound::default();
            *bound = self.bind(&launch.bindings, launch.size, &[])?;
            return Ok(false);
        }
        for &Reuse { output, input } in reuses {
            let [output, input] =
                [output, input].map(|buffer| launch.bindings[buffer.index()].of());
            let data = table.get(input).data.clone();
            let data = data.expect("internal error: an input is not in memory");
            bound.results.push((output, data));
        }
        bound.at_risk = bound.results.iter().map(|&(id, _)| (id, Write::of(&table, id))).collect();
        for (id, buffer) in bound.results.drain(..) {
            table.become_data(id, buffer);
            table.overwritten.push(id);
        }
        Ok(true)
    }

    /// A scatter's target is updated in place if only the scatter refers to it, else copied (S12).
    fn bind_update(&self, bound: &mut Bound, result: VarId, target: VarId) -> Result<()> {
        let (buffer, size, sole, write) = {
            let table = lock(self.table);
            let variable = table.get(target);
            let buffer = variable.data.clone();
            let buffer = buffer.expect("internal error: a scatter's target is not in memory");
            // Of a known call the result does not refer to the target, which is the plan's.
            let is_operand =
                matches!(table.get(result).kind, Kind::Scatter { .. } | Kind::Result { .. });
            // The launch holds it, too. Two owners of the buffer are the variable and this clone.
            let sole = variable.external == 0
                && variable.internal == 1 + u32::from(is_operand)
                && !table.keeps_source(result)
                && Arc::strong_count(&buffer) == 2
                && buffer.may_be_overwritten();
            (buffer, variable.size, sole, Write::of(&table, result))
        };
        let buffer = if sole {
            bound.at_risk.push((target, write));
            buffer
        } else {
            Arc::new(self.copy(&buffer)?)
        };
        bound.addresses.push((buffer.address(), size));
        bound.results.push((result, buffer));
        Ok(())
    }

    fn copy(&self, buffer: &Buffer) -> Result<Buffer> {
        let bytes = buffer.bytes() as u64;
        let copy = self.alloc(bytes)?;
        in_pieces(bytes, |start, n| {
            let (to, from) = (copy.address() + start, buffer.address() + start);
            self.backend.memory().copy(to, from, exactly::<usize>(n))
        })?;
        Ok(copy)
    }

    /// A block of memory, or an error that says who holds the rest.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn alloc(&self, bytes: u64) -> Result<Buffer> {
        self.memory.alloc(bytes).map_err(|exhausted| match self.backend.sync() {
            // A device that is lost has no memory left either.
            Err(lost @ Error::DeviceFailed { lost: true, .. }) => lost,
            _ => out_of_memory(&lock(self.table), exhausted),
        })
    }

    /// A block for an array, or an error that says how large the array is too: nobody is asked for it where it was
    /// recorded. The system may fill it with zeros first, which takes its time where a batch asks for thousands.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`.
    fn alloc_lanes(&self, dtype: DType, size: u64) -> Result<Buffer> {
        interrupt::check()?;
        self.alloc(size.saturating_mul(dtype.bytes() as u64)).map_err(|mut error| {
            if let Error::OutOfMemory { requested, .. } = &mut error {
                *requested = format!("{requested} for {size} lanes of {}", dtype.script_name());
            }
            error
        })
    }

    fn poison(&self, at_risk: &[(VarId, Write)]) {
        for &(id, Write { op, serial, line }) in at_risk {
            let op = lock(self.reports).name_of(serial).unwrap_or_else(|| format!("a {op}"));
            let poisoned = Error::Poisoned { op: op.into(), line };
            lock(self.table).get_mut(id).cold_mut().poisoned = Some(poisoned);
        }
    }

    /// Writes a line of `level` at once, behind those that wait with the table: who watches a long launch
    /// sees it begin.
    pub(crate) fn say(&self, level: u8, text: impl FnOnce() -> String) {
        if self.log.enabled(level) {
            let waiting = lock(self.table).log.take();
            for line in waiting {
                self.log.line(1, || line);
            }
            self.log.line(level, text);
        }
    }

    /// Notes a launch that is no kernel's of ours.
    pub(crate) fn record(&self, launch: LaunchRecord) {
        lock(self.history).push(launch);
    }

    /// Shows a kernel, as the device's compiler gets it if that is not ours, and its machine code.
    fn log_code(&self, kernel: &Kernel, mode: LiteralMode) -> Result<()> {
        self.say(3, || {
            let source = self.backend.gpu().and_then(|gpu| gpu.source(kernel, mode));
            let text = source.unwrap_or_else(|| kernel.to_string());
            format!("kernel {}:\n{}", kernel.hash, text.trim_end())
        });
        if self.log.enabled(5) {
            let text = match self.backend.disassemble(kernel, mode) {
                Ok(text) => text,
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // What cannot be shown can still run.
                Err(error) => Some(error.to_string()),
            };
            if let Some(text) = text {
                self.say(5, || format!("machine code {}:\n{}", kernel.hash, text.trim_end()));
            }
        }
        Ok(())
    }
}

/// Calls `work` with start and length of pieces of `n`, and looks at the interrupt flag between them.
fn in_pieces(n: u64, mut work: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    const PIECE: u64 = 1 << 23;
    let mut start = 0;
    while start < n {
        interrupt::check()?;
        work(start, PIECE.min(n - start))?;
        start += PIECE;
    }
    Ok(())
}

/// The buffers of a launch.
#[derive(Default)]
struct Bound {
    /// Address and length in elements of each buffer parameter.
    addresses: Vec<(u64, u64)>,
    /// Variables that become data.
    results: Vec<(VarId, Arc<Buffer>)>,
    /// Variables that are lost if the launch fails: what it writes in place.
    at_risk: Vec<(VarId, Write)>,
    /// Buffers that are written and not wanted.
    scratch: Vec<Buffer>,
    /// Memory of others that is read.
    held: Vec<Arc<Buffer>>,
}

/// A launch that has run, or is in line.
struct Started {
    /// The variables that it makes data.
    results: Vec<(VarId, Arc<Buffer>)>,
    /// The launch, if it is in line.
    pending: Option<Arc<Pending>>,
    /// Why one thread did it alone, if others could have helped.
    alone: Option<Alone>,
}

/// The operation that writes a variable, for the error that says it did not finish.
#[derive(Clone, Copy)]
struct Write {
    op: &'static str,
    /// By which texts of kernels name it.
    serial: u64,
    line: u32,
}

impl Write {
    fn of(table: &Table, result: VarId) -> Self {
        let variable = table.get(result);
        let serial = table.original(variable.serial);
        Self { op: variable.kind.name(), serial, line: variable.line }
    }
}

/// Keeps what a launch reads and makes alive until it has run, whatever other threads drop and other
/// launches commit: a value that was stored lets its operands go, but a later launch of the same stage
/// may compute it again. An array that a later launch reads is not written in place before.
fn hold(table: &mut Table, step: &Step) {
    step.held().for_each(|id| table.inc_internal(id));
}

/// Ends [`hold`].
fn release(table: &mut Table, step: &Step) {
    step.held().for_each(|id| table.dec_internal(id));
}
