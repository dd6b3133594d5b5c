//! Launches of kernels of modules: arguments are checked, arrays that are written get blocks of their own (S12).

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::prototype::Parameter;
use super::{ModuleKernel, ModuleStats, needs_gpu};
use crate::array::Array;
use crate::backend::{CodeStatistics, LaunchShape, LoadedEntry, PartNotes};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::eval::cache::CacheResult;
use crate::eval::history::LaunchRecord;
use crate::ir::kernel::KernelHash;
use crate::ir::table::Table;
use crate::ir::var::{Handle, Kind, MAX_OPERANDS, VarId, Variable};
use crate::memory::buffer::Buffer;
use crate::session::Session;
use crate::session::runtime::Device;

/// Threads of a block that every GPU has, bytes of shared memory of the largest, blocks along each axis.
const MOST_THREADS: u32 = 1024;
const MOST_SHARED: u32 = 227 << 10;
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];

/// An argument. Equal handles are one array, to which several parameters point.
#[derive(Clone, Debug)]
pub enum LaunchArgument {
    /// An array, which the launch replaces if the kernel writes it: in place where this is its only handle, else the others
    /// keep their lanes.
    Array(Array),
    /// An array of which the caller has one more handle. It is replaced all the same, and the caller drops that handle.
    Shared(Array),
    /// A number.
    Number(Scalar),
}

impl LaunchArgument {
    /// The array that it is.
    pub fn array(&self) -> Option<&Array> {
        match self {
            Self::Array(array) | Self::Shared(array) => Some(array),
            Self::Number(_) => None,
        }
    }
}

/// Blocks and threads; what is left out follows from the number of lanes of the largest array.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Blocks along x, y, z.
    pub grid: Option<Vec<i64>>,
    /// Threads of a block along x, y, z.
    pub block: Option<Vec<i64>>,
    /// Bytes of shared memory beyond what the kernel declares.
    pub shared_bytes: u64,
    /// Whether all blocks run at once, so that they can wait for each other.
    pub is_cooperative: bool,
}

/// Variables, by the numbers of the arguments that they are written to.
type Written = SmallVec<[(usize, Handle); 4]>;

/// A kernel on a device, ready to be launched.
pub(super) struct Ready {
    device: Arc<Device>,
    entry: Arc<dyn LoadedEntry>,
    code: CodeStatistics,
}

impl ModuleKernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Types of its parameters: `f32 const *, f32 *, f32`.
    pub fn types(&self) -> String {
        let types = self.inner.parameters.iter().map(|parameter| {
            let Parameter { dtype, is_pointer, is_const } = parameter;
            let constant = if *is_const && *is_pointer { " const" } else { "" };
            let name = if *dtype == DType::Mask { "bool" } else { dtype.name() };
            format!("{name}{constant}{}", if *is_pointer { " *" } else { "" })
        });
        types.collect::<Vec<_>>().join(", ")
    }

    /// Its launches so far, the time until it was ready for the first, and registers of a thread; 0 before.
    pub fn stats(&self) -> ModuleStats {
        let inner = &self.inner;
        let ready = inner.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ModuleStats {
            launches: inner.launches.load(Ordering::Relaxed),
            compile_time: Duration::from_nanos(inner.compile_ns.load(Ordering::Relaxed)),
            registers: ready.as_ref().map_or(0, |ready| ready.code.registers),
        }
    }

    fn wrong(&self, what: String, remedy: Option<String>) -> Error {
        Error::Kernel { what: format!("kernel `{}`: {what}", self.name()), remedy }
    }

    /// Launches the kernel, without waiting for it, and replaces the arrays among the arguments that it writes.
    ///
    /// # Errors
    /// `Kernel` for arguments and shapes that do not fit, before anything is launched; `ForeignArray`; failures of the
    /// device.
    pub fn launch(
        &self,
        session: &Session,
        args: &mut [LaunchArgument],
        shape: &Shape,
    ) -> Result<()> {
        let mut values = self.checked_arguments(args)?;
        let arrays: SmallVec<[&Array; 8]> = args.iter().filter_map(LaunchArgument::array).collect();
        arrays.iter().try_for_each(|array| array.refuse_tracked("launch"))?;
        let wanted = self.checked(shape)?;
        let (entry, code) = self.ready(session)?;
        let shared = wanted.shared;
        if shared > 0 && shared > entry.most_shared() {
            return Err(self.too_much(shared, entry.most_shared()));
        }
        let n = if arrays.len() < args.len() { 1 } else { 0 };
        let n = arrays.iter().map(|array| array.size()).max().unwrap_or(1).max(n);
        if n == 0 && wanted.grid.is_none() {
            return Ok(());
        }
        let [most, best] = entry.threads(shared);
        let block = wanted.block.unwrap_or([best, 1, 1]);
        let threads: u32 = block.iter().product();
        if threads > most {
            let what = format!("block {threads} > {most} threads, which its registers allow");
            return Err(self.wrong(what, None));
        }
        let blocks = n.div_ceil(u64::from(threads));
        let grid = match wanted.grid {
            Some(grid) => grid,
            None => [
                u32::try_from(blocks).map_err(|_| self.wrong("too many lanes".into(), None))?,
                1,
                1,
            ],
        };
        let launch =
            LaunchShape { grid, block, shared_bytes: shared, is_cooperative: shape.is_cooperative };
        let ids = session.ids("launch", &arrays)?;
        drop(arrays);
        let written = session.with_evaluator(|evaluator| {
            let begun = (evaluator.clock)();
            let written = self.place(session, evaluator, args, &ids, &mut values)?;
            let adopt = |(number, handle)| (number, Array::adopt(session.clone(), handle));
            let written: SmallVec<[_; 4]> = written.into_iter().map(adopt).collect();
            evaluator.say(1, || {
                let ([gx, gy, gz], [bx, by, bz], name) = (grid, block, self.name());
                format!("launching {name} (grid {gx} x {gy} x {gz}, block {bx} x {by} x {bz})")
            });
            entry.launch(launch, values)?;
            evaluator.record(LaunchRecord {
                number: 0,
                name: self.inner.name.clone().into(),
                hash: KernelHash(0),
                size: n,
                members: 1,
                product: None,
                inputs: ids.len(),
                outputs: written.len(),
                operations: 1,
                cache: CacheResult::Hit,
                compile_time: Duration::ZERO,
                start: begun,
                run_time: (evaluator.clock)().saturating_sub(begun),
                waited: Duration::ZERO,
                worker: 0,
                parts: PartNotes::default(),
                pending: None,
                code,
            });
            Ok(written)
        })?;
        self.inner.launches.fetch_add(1, Ordering::Relaxed);
        for (number, array) in written {
            args[number] = LaunchArgument::Array(array);
        }
        Ok(())
    }

    /// The kernel on the session's device.
    fn ready(&self, session: &Session) -> Result<(Arc<dyn LoadedEntry>, CodeStatistics)> {
        let device = session.device()?;
        let mut ready = self.inner.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = ready.as_ref().filter(|ready| Arc::ptr_eq(&ready.device, &device)) {
            return Ok((ready.entry.clone(), ready.code));
        }
        if device.backend.gpu().is_none() {
            return Err(needs_gpu(session, Some(self.name())));
        }
        let begun = Instant::now();
        let (module, name) = self.inner.module.loaded(session, Some(self.name()))?;
        let sizes = self.inner.parameters.iter();
        let sizes: Vec<usize> = sizes.map(Parameter::bytes).collect();
        let entry = module.entry(&name, &sizes, self.inner.is_declared)?;
        let [registers, local] = entry.resources().map(exactly::<usize>);
        let code = CodeStatistics { registers, spills: local / 4, ..CodeStatistics::default() };
        let took = exactly(begun.elapsed().as_nanos());
        self.inner.compile_ns.store(took, Ordering::Relaxed);
        *ready = Some(Ready { device, entry: entry.clone(), code });
        Ok((entry, code))
    }

    /// Whether it may write what an argument points to.
    pub fn writes(&self, number: usize) -> bool {
        let Parameter { is_pointer, is_const, .. } = self.inner.parameters[number];
        is_pointer && !is_const
    }

    /// Puts the arguments' addresses into `values`, evaluated, those that are written in blocks that nobody else reads;
    /// the variables that are in these then, by the numbers of the arguments.
    fn place(
        &self,
        session: &Session,
        evaluator: &mut Evaluator<'_>,
        args: &[LaunchArgument],
        ids: &[VarId],
        values: &mut [u64],
    ) -> Result<Written> {
        let arrays =
            args.iter().enumerate().filter_map(|(number, arg)| Some((number, arg.array()?)));
        let is_shared = args.iter().filter(|arg| arg.array().is_some());
        let is_shared: SmallVec<[bool; 8]> =
            is_shared.map(|arg| matches!(arg, LaunchArgument::Shared(_))).collect();
        let blocks = |table: &Table| {
            let mut blocks: SmallVec<[Block; 4]> = SmallVec::new();
            for &id in ids {
                if !blocks.iter().any(|block| block.id == id) {
                    // This launch has one handle for each time that an array is passed, and its caller perhaps one more.
                    let of_it = || ids.iter().zip(&is_shared).filter(|&(&other, _)| other == id);
                    let n_handles =
                        of_it().count() + usize::from(of_it().any(|(_, &shared)| shared));
                    blocks.push(Block::of(table, id, n_handles));
                }
            }
            blocks
        };
        let there = session.with_table(|table| {
            ids.iter().all(|&id| table.get(id).is_there()).then(|| blocks(table))
        });
        let mut blocks = if let Some(there) = there {
            there
        } else {
            evaluator.evaluate(ids)?;
            evaluator.fill_numbers(ids.iter().copied())?;
            session.with_table(|table| blocks(table))
        };
        let mut written: SmallVec<[_; 4]> = SmallVec::new();
        for ((number, array), &id) in arrays.zip(ids) {
            let known = blocks.iter_mut().find(|block| block.id == id);
            let block = known.expect("internal error: an argument without a block");
            block.numbers.push(number);
            if !self.writes(number) {
                continue;
            }
            let (dtype, size) = (array.dtype(), array.size());
            if !std::mem::replace(&mut block.is_own, true) {
                let bytes = size * dtype.bytes() as u64;
                let copy = evaluator.alloc(bytes)?;
                let memory = evaluator.backend.memory();
                memory.copy(copy.address(), block.buffer.address(), exactly(bytes))?;
                block.buffer = Arc::new(copy);
            }
            written.push((number, dtype, size, block.buffer.clone()));
        }
        for block in &blocks {
            block.numbers.iter().for_each(|&number| values[number] = block.buffer.address());
        }
        let written = written.into_iter();
        Ok(session.with_table(|table| {
            let held = written
                .map(|(number, dtype, size, buffer)| (number, held(table, dtype, size, buffer)));
            held.collect()
        }))
    }

    /// Whether the arguments are what the kernel takes; the bits of the numbers among them, and room for the others.
    fn checked_arguments(&self, args: &[LaunchArgument]) -> Result<SmallVec<[u64; 8]>> {
        if args.len() != self.inner.parameters.len() {
            let (got, expected) = (args.len(), self.inner.parameters.len());
            return Err(self.wrong(format!("got {got} arguments, expected {expected}"), None));
        }
        let mut values = SmallVec::new();
        for (number, (arg, parameter)) in args.iter().zip(&self.inner.parameters).enumerate() {
            let Parameter { dtype, is_pointer, .. } = parameter;
            let expected = |what: &str, got: &str| {
                format!("argument {number} is expected to be {what}, got {got}")
            };
            values.push(match arg {
                LaunchArgument::Array(array) | LaunchArgument::Shared(array) if !is_pointer => {
                    let got = format!("an array of {}", array.dtype().numpy_name());
                    return Err(self.wrong(expected("a number", &got), None));
                }
                LaunchArgument::Array(array) | LaunchArgument::Shared(array)
                    if array.dtype() != *dtype =>
                {
                    let what = expected(dtype.numpy_name(), array.dtype().numpy_name());
                    let remedy = format!("convert it: {}(x)", dtype.script_name());
                    return Err(self.wrong(what, Some(remedy)));
                }
                LaunchArgument::Number(_) if *is_pointer => {
                    return Err(self.wrong(expected("an array", "number"), None));
                }
                LaunchArgument::Number(number) => dtype.encode(*number)?,
                LaunchArgument::Array(_) | LaunchArgument::Shared(_) => 0,
            });
        }
        Ok(values)
    }

    fn too_much(&self, shared: u32, most: u32) -> Error {
        self.wrong(
            format!("{shared} bytes of shared memory > {most}, the most that a block may have"),
            None,
        )
    }

    /// The shape that is wanted, within what any GPU has.
    fn checked(&self, shape: &Shape) -> Result<Wanted> {
        let three = |what: &str, numbers: &Option<Vec<i64>>, most: [u32; 3]| {
            let Some(numbers) = numbers else { return Ok(None) };
            let [x, y, z] = numbers[..] else {
                let got = numbers.len();
                return Err(
                    self.wrong(format!("{what} needs 3 integers, got {got}: [x, y, z]"), None)
                );
            };
            let mut three = [1; 3];
            for ((place, number), most) in three.iter_mut().zip([x, y, z]).zip(most) {
                let fits =
                    u32::try_from(number).ok().filter(|&number| number > 0 && number <= most);
                *place = fits.ok_or_else(|| {
                    self.wrong(format!("{what} {number} is not from 1 to {most}"), None)
                })?;
            }
            Ok(Some(three))
        };
        let block_sum: i64 =
            shape.block.iter().flatten().fold(1, |product: i64, &n| product.saturating_mul(n));
        if block_sum > i64::from(MOST_THREADS) {
            return Err(self.wrong(format!("block {block_sum} > {MOST_THREADS} threads"), None));
        }
        let grid = three("grid", &shape.grid, MOST_BLOCKS)?;
        let block = three("block", &shape.block, MOST_BLOCK)?;
        let shared = u32::try_from(shape.shared_bytes).unwrap_or(u32::MAX);
        if shared > MOST_SHARED {
            return Err(self.too_much(shared, MOST_SHARED));
        }
        Ok(Wanted { grid, block, shared })
    }
}

struct Wanted {
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared: u32,
}

/// Where an argument lies, and the numbers of those that are it.
struct Block {
    id: VarId,
    buffer: Arc<Buffer>,
    /// Whether nobody else reads it.
    is_own: bool,
    numbers: SmallVec<[usize; 2]>,
}

impl Block {
    /// The block of an evaluated variable, of which `n_handles` are known.
    fn of(table: &Table, id: VarId, n_handles: usize) -> Self {
        let variable = table.get(id);
        let buffer = variable.data.clone();
        let buffer = buffer.expect("internal error: an evaluated array is in memory");
        // The variable's own reference, and this one.
        let is_own = variable.internal == 0
            && exactly::<usize>(variable.external) <= n_handles
            && Arc::strong_count(&buffer) == 2
            && buffer.may_be_overwritten();
        Self { id, buffer, is_own, numbers: SmallVec::new() }
    }
}

/// A new variable whose lanes are in a block that others may share.
pub(super) fn held(table: &mut Table, dtype: DType, size: u64, buffer: Arc<Buffer>) -> Handle {
    let mut variable = Variable::new(Kind::Data, dtype, size, [None; MAX_OPERANDS]);
    variable.data = Some(buffer);
    let id = table.insert(variable);
    table.handle(id)
}
