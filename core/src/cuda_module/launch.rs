//! Launches of kernels of modules: arguments are checked, arrays that are written get blocks of their own (S12).

use std::sync::Arc;
use std::time::Duration;

use super::prototype::Parameter;
use super::{ModuleKernel, needs_gpu};
use crate::array::Array;
use crate::backend::{CodeStatistics, LaunchShape};
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::eval::cache::CacheResult;
use crate::eval::history::LaunchRecord;
use crate::ir::kernel::KernelHash;
use crate::ir::var::{Kind, Variable};
use crate::memory::buffer::Buffer;
use crate::session::Session;

/// Threads of a block that every GPU has, bytes of shared memory of the largest, blocks along each axis.
const MOST_THREADS: u32 = 1024;
const MOST_SHARED: u32 = 227 << 10;
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];

/// An argument.
#[derive(Clone, Debug)]
pub enum LaunchArgument {
    /// An array. Whoever passes it replaces its one handle by what comes back, if it is written.
    Array(Array),
    /// A number.
    Number(Scalar),
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

impl ModuleKernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn wrong(&self, what: String, remedy: Option<String>) -> Error {
        Error::Kernel { what: format!("kernel `{}`: {what}", self.name), remedy }
    }

    /// Launches the kernel, without waiting for it; the arrays that it wrote, by the numbers of the arguments.
    ///
    /// # Errors
    /// `Kernel` for arguments and shapes that do not fit, before anything is launched; failures of the device.
    pub fn launch(
        &self,
        session: &Session,
        args: &[LaunchArgument],
        shape: &Shape,
    ) -> Result<Vec<(usize, Array)>> {
        self.check(args)?;
        let wanted = self.checked(shape)?;
        let device = session.device()?;
        if device.backend.gpu().is_none() {
            return Err(needs_gpu(session, &self.name));
        }
        let (module, entry) = self.module.loaded(session, &self.name)?;
        let shared = wanted.shared;
        if shared > module.most_shared() {
            return Err(self.too_much(shared, module.most_shared()));
        }
        let n = args.iter().map(|arg| match arg {
            LaunchArgument::Array(array) => array.size(),
            LaunchArgument::Number(_) => 1,
        });
        let n = n.max().unwrap_or(1);
        if n == 0 && wanted.grid.is_none() {
            return Ok(self.unchanged(args));
        }
        let [most, best] = module.threads(&entry, shared)?;
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
        let (blocks, written) = self.blocks(session, args)?;
        let values = args.iter().zip(&self.parameters).zip(&blocks);
        let values = values.map(|((arg, parameter), block)| match (arg, block) {
            (LaunchArgument::Number(number), _) => {
                let bits = parameter.dtype.encode(*number)?.to_le_bytes();
                Ok(bits[..parameter.dtype.bytes()].to_vec())
            }
            (_, Some(block)) => Ok(block.address().to_le_bytes().to_vec()),
            (_, None) => Ok(vec![0; 8]),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        session.with_evaluator(|evaluator| {
            let [[gx, gy, gz], [bx, by, bz]] = [grid, block];
            let name = &self.name;
            evaluator.say(1, || {
                format!("launching {name} (grid {gx} x {gy} x {gz}, block {bx} x {by} x {bz})")
            });
            module.launch(&entry, launch, &values, self.is_declared)?;
            evaluator.record(LaunchRecord {
                name: "module kernel",
                hash: KernelHash(0),
                size: n,
                inputs: args.len(),
                outputs: written.len(),
                operations: 1,
                cache: CacheResult::Hit,
                compile_time: Duration::ZERO,
                run_time: Duration::ZERO,
                code: CodeStatistics::default(),
            });
            Ok(())
        })?;
        Ok(written)
    }

    /// Arrays that nothing is launched for stay as they are.
    fn unchanged(&self, args: &[LaunchArgument]) -> Vec<(usize, Array)> {
        let written = self.written(args);
        written.map(|(number, array)| (number, array.clone())).collect()
    }

    fn written<'a>(
        &'a self,
        args: &'a [LaunchArgument],
    ) -> impl Iterator<Item = (usize, &'a Array)> {
        args.iter().zip(&self.parameters).enumerate().filter_map(|(number, (arg, parameter))| {
            match arg {
                LaunchArgument::Array(array) if !parameter.is_const => Some((number, array)),
                _ => None,
            }
        })
    }

    /// Blocks of the arguments, those that are written nobody else's; and the arrays that are in these then.
    fn blocks(
        &self,
        session: &Session,
        args: &[LaunchArgument],
    ) -> Result<(Vec<Block>, Vec<Written>)> {
        let arrays: Vec<&Array> = args
            .iter()
            .filter_map(|arg| match arg {
                LaunchArgument::Array(array) => Some(array),
                LaunchArgument::Number(_) => None,
            })
            .collect();
        session.eval(&arrays)?;
        let mut own: Vec<(u64, Arc<Buffer>)> = Vec::new();
        let mut written = Vec::new();
        for (number, array) in self.written(args) {
            let serial = array.serial().0;
            let known =
                own.iter().find(|(known, _)| *known == serial).map(|(_, block)| block.clone());
            let block = match known {
                Some(block) => block,
                None => {
                    let held = arrays.iter().filter(|other| other.serial().0 == serial).count();
                    let block = own_block(session, array, held + 1)?;
                    own.push((serial, block.clone()));
                    block
                }
            };
            written.push((number, session.adopt_shared(array, block)));
        }
        let blocks = args.iter().map(|arg| match arg {
            LaunchArgument::Number(_) => Ok(None),
            LaunchArgument::Array(array) => {
                let serial = array.serial().0;
                let written = own.iter().find(|(known, _)| *known == serial);
                match written {
                    Some((_, block)) => Ok(Some(block.clone())),
                    None => block_of(array).map(Some),
                }
            }
        });
        Ok((blocks.collect::<Result<_>>()?, written))
    }

    /// Whether the arguments are what the kernel takes.
    fn check(&self, args: &[LaunchArgument]) -> Result<()> {
        if args.len() != self.parameters.len() {
            let (got, expected) = (args.len(), self.parameters.len());
            return Err(self.wrong(format!("got {got} arguments, expected {expected}"), None));
        }
        for (number, (arg, parameter)) in args.iter().zip(&self.parameters).enumerate() {
            let Parameter { dtype, is_pointer, .. } = parameter;
            let expected = |what: &str, got: &str| {
                format!("argument {number} is expected to be {what}, got {got}")
            };
            match arg {
                LaunchArgument::Array(array) if !is_pointer => {
                    let got = format!("an array of {}", array.dtype().numpy_name());
                    return Err(self.wrong(expected("a number", &got), None));
                }
                LaunchArgument::Array(array) if array.dtype() != *dtype => {
                    let what = expected(dtype.numpy_name(), array.dtype().numpy_name());
                    let remedy = format!("convert it: {}(x)", dtype.script_name());
                    return Err(self.wrong(what, Some(remedy)));
                }
                LaunchArgument::Number(_) if *is_pointer => {
                    return Err(self.wrong(expected("an array", "number"), None));
                }
                LaunchArgument::Number(number) => drop(dtype.encode(*number)?),
                LaunchArgument::Array(_) => {}
            }
        }
        Ok(())
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

/// Where an argument lies; numbers lie nowhere.
type Block = Option<Arc<Buffer>>;
/// An array that a launch writes, and the number of the argument.
type Written = (usize, Array);

struct Wanted {
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared: u32,
}

/// The block of an evaluated array. Nothing is waited for: launches follow each other.
fn block_of(array: &Array) -> Result<Arc<Buffer>> {
    array.materialize()?;
    let block = array.session().with_table(|table| table.get(array.id()).data.clone());
    Ok(block.expect("internal error: an evaluated array is in memory"))
}

/// A block with the contents of an array that nobody else reads: its own, if all its handles are known.
fn own_block(session: &Session, array: &Array, n_handles: usize) -> Result<Arc<Buffer>> {
    let block = block_of(array)?;
    let is_free = session.with_table(|table| {
        let variable = table.get(array.id());
        variable.internal == 0 && exactly::<usize>(variable.external) <= n_handles
    });
    // The variable's own reference, and this one.
    if is_free && Arc::strong_count(&block) == 2 {
        return Ok(block);
    }
    let bytes = array.size() * array.dtype().bytes() as u64;
    let copy = session.with_evaluator(|evaluator| evaluator.alloc(bytes))?;
    let device = session.device()?;
    device.backend.memory().copy(copy.address(), block.address(), exactly::<usize>(bytes))?;
    Ok(Arc::new(copy))
}

impl Session {
    /// An array like another, whose lanes are in a block that both may share.
    fn adopt_shared(&self, like: &Array, block: Arc<Buffer>) -> Array {
        let (dtype, size) = (like.dtype(), like.size());
        let handle = self.with_table(|table| {
            let mut variable = Variable::new(Kind::Data, dtype, size, [None; 4]);
            variable.data = Some(block);
            let id = table.insert(variable);
            (id, table.get(id).generation)
        });
        Array::adopt(self.clone(), handle)
    }
}
