//! Outputs in the blocks of dying inputs: a loop over `x = x * a + b` works in one block.
//!
//! A launch that is the last to need an input may write an output over it, lane by lane: nothing is
//! allocated, and the caches hold one block instead of two. [`find`] says which; it looks at the table and
//! the launch and changes nothing.
//!
//! There is no way back from such a launch, while an interrupted one should leave all variables (S18). So
//! it runs to its end, and only a launch that ends within milliseconds works in place. Larger ones lose
//! little: beyond the caches, stores that bypass them come to nearly the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::exhausted::refused;
use super::launches::{Binding, Launch};
use super::{Evaluator, Write, lock};
use crate::backend::{Executable, Launched};
use crate::error::{Error, Result};
use crate::ir::kernel::{BufferIndex, Code, Inst, Kernel, ParamBlock};
use crate::ir::mix::Mix;
use crate::ir::op::Op;
use crate::ir::table::Table;
use crate::ir::var::VarId;

/// Smaller blocks are not worth the look: they are all in the innermost caches.
const MIN_BYTES: u64 = 1 << 16;
/// Bytes of a lane at most.
const WIDEST: u64 = 8;
/// Most work of a launch that is not interrupted, in bytes of values computed: with vectors, 10 ms or less
/// on one thread.
const MAX_WORK: u64 = 1 << 29;
/// Cost of an instruction that works on one lane at a time or waits for memory.
const SLOW: u64 = 256;
/// Longest kernel looked at. In a longer one a store and its block no longer matter.
const MAX_INSTS: usize = 1 << 12;

/// An output that takes the block of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reuse {
    pub(super) output: BufferIndex,
    pub(super) input: BufferIndex,
}

impl Evaluator<'_> {
    /// Starts a launch that may write in place; of one that fails, what it has overwritten is lost, unless it found no memory
    /// before it wrote anything.
    pub(super) fn launch(
        &self,
        executable: &dyn Executable,
        params: ParamBlock,
        n: u64,
        at_risk: &[(VarId, Write)],
    ) -> Result<Launched> {
        let is_first = !params.in_place && executable.asks_for_memory_first();
        let launched = executable.launch(params, n).map_err(|error| {
            if !is_first || !matches!(error, Error::OutOfMemory { .. }) {
                self.poison(at_risk);
            }
            refused(&lock(self.table), error)
        });
        // It has run, or who reads what it writes waits for it.
        lock(self.table).overwritten.clear();
        launched
    }
}

/// Whether any block of a launch is large enough for [`find`].
pub(super) fn is_worthwhile(launch: &Launch) -> bool {
    launch.size.saturating_mul(WIDEST) >= MIN_BYTES
}

/// The outputs of a launch that may take the block of an input, for code that
/// [writes in place](crate::backend::Executable::writes_in_place).
///
/// Such an input has no other owner, is used for nothing but its own lane before the output's value is
/// there, and dies when the results of the launch are committed.
pub(super) fn find(table: &Table, launch: &Launch) -> Vec<Reuse> {
    let kernel = &launch.kernel;
    let mut inputs = unnamed_inputs(table, launch);
    let fits = |kernel: &Kernel| kernel.insts.len() <= MAX_INSTS && !kernel.has_regions();
    if inputs.is_empty() || !fits(kernel) || work(launch) > MAX_WORK {
        return Vec::new();
    }
    let last_uses = last_uses(kernel);
    inputs.retain_mut(|input| {
        input.last_use = last_uses[input.buffer.index()];
        input.last_use < kernel.first_write
    });
    if !inputs.is_empty() {
        let dropped = dropped_references(table, launch);
        inputs.retain(|input| dropped.get(&input.id) == Some(&table.get(input.id).internal));
    }
    pair(table, launch, inputs)
}

/// An input whose block may be had.
struct Input {
    id: VarId,
    buffer: BufferIndex,
    /// The last instruction that uses the loaded value.
    last_use: usize,
}

/// The inputs with as many lanes as the launch that no handle and no second buffer owner refers to.
fn unnamed_inputs(table: &Table, launch: &Launch) -> Vec<Input> {
    let is_target = |id| {
        let update =
            |binding: &Binding| matches!(*binding, Binding::Update { target, .. } if target == id);
        launch.bindings.iter().any(update)
    };
    let mut inputs = Vec::new();
    for (buffer, binding) in (0..).map(BufferIndex).zip(&launch.bindings) {
        let Binding::Read(id) = *binding else { continue };
        let variable = table.get(id);
        let sole = variable
            .data
            .as_ref()
            .is_some_and(|data| Arc::strong_count(data) == 1 && data.may_be_overwritten());
        let unnamed = variable.external == 0 && variable.size == launch.size;
        if sole && unnamed && variable.bytes() >= MIN_BYTES && !is_target(id) {
            inputs.push(Input { id, buffer, last_use: 0 });
        }
    }
    inputs
}

/// Cost of a launch in bytes computed; slow instructions count for more.
fn work(launch: &Launch) -> u64 {
    let Launch { kernel, size, .. } = launch;
    let insts = kernel.insts[kernel.n_uniform..].iter().map(|inst| {
        let is_slow = matches!(
            inst.code,
            Code::Gather { .. } | Code::Scatter { .. } | Code::Op(Op::IDiv | Op::Rem)
        );
        if is_slow { SLOW } else { inst.dtype.bytes() as u64 }
    });
    insts.fold(0, u64::saturating_add).saturating_mul(*size)
}

/// For each buffer that one load per lane reads and nothing else, the last instruction that uses the load; no
/// instruction for the others.
fn last_uses(kernel: &Kernel) -> Vec<usize> {
    let mut uses = kernel.last_uses();
    // A conversion that changes no bits may be the loaded value itself.
    for (i, inst) in kernel.insts.iter().enumerate().rev() {
        if inst.may_be_its_argument() {
            let arg = inst.arg(0).index();
            uses[arg] = uses[arg].max(uses[i]);
        }
    }
    let mut last_uses = vec![None; kernel.buffers.len()];
    for (i, &Inst { mut code, .. }) in kernel.insts.iter().enumerate() {
        let is_lane = i >= kernel.n_uniform && matches!(code, Code::Load(_));
        if let Some(buffer) = code.buffer_mut() {
            let last = &mut last_uses[buffer.index()];
            let once = is_lane && last.is_none();
            *last = Some(if once { uses[i] } else { usize::MAX });
        }
    }
    last_uses.into_iter().map(|last| last.unwrap_or(usize::MAX)).collect()
}

/// How many references to each variable go when the results of a launch become data and the launch lets
/// go of what it holds.
fn dropped_references(table: &Table, launch: &Launch) -> HashMap<VarId, u32, Mix> {
    let mut dropped: HashMap<VarId, u32, Mix> = HashMap::default();
    let held = launch.bindings.iter().flat_map(Binding::held);
    held.for_each(|id| *dropped.entry(id).or_default() += 1);
    let results = launch.bindings.iter().filter_map(|binding| match *binding {
        Binding::Write(id) | Binding::Update { result: id, .. } => Some(id),
        Binding::Read(_) | Binding::Run { .. } | Binding::Scratch(_) => None,
    });
    let mut letting_go: Vec<VarId> = results.collect();
    let results: HashSet<VarId, Mix> = letting_go.iter().copied().collect();
    let mut next = 0;
    while let Some(&id) = letting_go.get(next) {
        next += 1;
        if table.get(id).keeps_operands() {
            continue;
        }
        for operand in table.get(id).operands() {
            let count = dropped.entry(operand).or_default();
            *count += 1;
            let variable = table.get(operand);
            let dies = variable.external == 0 && variable.internal == *count;
            // A result that dies has let its operands go already.
            if dies && !results.contains(&operand) {
                letting_go.push(operand);
            }
        }
    }
    dropped
}

/// Gives each store an input of its type that is not used any more once the value is there.
fn pair(table: &Table, launch: &Launch, mut inputs: Vec<Input>) -> Vec<Reuse> {
    let kernel = &launch.kernel;
    let stores = kernel.writes().filter_map(|(_, inst)| {
        let (Code::Store(buffer), value) = (inst.code, inst.arg(0)) else { return None };
        let is_lane =
            !kernel.is_uniform(value) && !matches!(kernel.inst(value).code, Code::Load(_));
        is_lane.then_some((value, buffer))
    });
    let mut stores: Vec<_> = stores.collect();
    // What a value may take, later ones may too: first come, first served leaves none without need.
    stores.sort_unstable();
    let mut reuses = Vec::new();
    for (value, output) in stores {
        let dtype = kernel.dtype(value);
        let fits =
            |input: &Input| table.get(input.id).dtype == dtype && input.last_use <= value.index();
        if let Some(position) = inputs.iter().position(fits) {
            reuses.push(Reuse { output, input: inputs.remove(position).buffer });
        }
    }
    reuses
}

#[cfg(test)]
mod tests {
    use super::super::launches::Keep;
    use super::super::schedule::{Scratch, schedule};
    use super::super::{hold, release};
    use super::*;
    use crate::dtype::DType;
    use crate::ir::kernel::Target;
    use crate::ir::op::{ReduceOp, ScatterMode, ScatterOp};
    use crate::ir::var::{Kind, Variable};
    use crate::log::{Log, LogQueue};
    use crate::memory::buffer::{Buffer, Release};
    use crate::trace::{Recorder, Settings};

    const N: u64 = 20_000;

    struct NoMemory;

    impl Release for NoMemory {
        fn release(&self, _: u64, _: usize) {}
    }

    struct Trace {
        table: Table,
    }

    impl Trace {
        fn new() -> Self {
            Self { table: Table::new(LogQueue::new(Log::new(0, Arc::new(|_| {})))) }
        }

        /// An array in memory; the caller has the only handle.
        fn data(&mut self, dtype: DType, size: u64) -> VarId {
            let mut variable = Variable::new(Kind::Data, dtype, size, [None; 4]);
            variable.data = Some(Arc::new(Buffer::new(64, 64, 64, Arc::new(NoMemory))));
            self.table.insert(variable)
        }

        fn record(&mut self, record: impl FnOnce(&mut Recorder<'_>) -> VarId) -> VarId {
            let settings = Settings { fold: true, bounds_check: true, line: 0 };
            let mut recorder = Recorder::new(&mut self.table, settings);
            let id = record(&mut recorder);
            recorder.finish(id).id
        }

        fn op(&mut self, op: Op, args: &[VarId]) -> VarId {
            self.record(|recorder| recorder.elementwise(op, args).unwrap())
        }

        fn drop(&mut self, ids: &[VarId]) {
            ids.iter().for_each(|&id| self.table.dec_external(id));
        }

        /// For each launch that evaluates `roots`, the (output, input) pairs before anything has run.
        fn reuses(&mut self, roots: &[VarId]) -> Vec<Vec<(VarId, VarId)>> {
            let mut scratch = Scratch::default();
            let plan =
                schedule(&mut self.table, roots, Keep::Held, Target::default(), &mut scratch)
                    .unwrap();
            plan.steps.iter().for_each(|step| hold(&mut self.table, step));
            let variable =
                |launch: &Launch, buffer: BufferIndex| launch.bindings[buffer.index()].of();
            let find = |launch: &Launch| {
                let reuses = find(&self.table, launch).into_iter();
                reuses.map(|r| (variable(launch, r.output), variable(launch, r.input))).collect()
            };
            let reuses = plan.kernels().map(find).collect();
            plan.steps.iter().for_each(|step| release(&mut self.table, step));
            reuses
        }
    }

    #[test]
    fn a_dying_input_takes_the_output() {
        let mut t = Trace::new();
        let [x, a, b] = [0; 3].map(|_| t.data(DType::F32, N));
        let ax = t.op(Op::Mul, &[x, a]);
        let y = t.op(Op::Add, &[ax, b]);
        t.drop(&[x, ax]);
        assert_eq!(t.reuses(&[y]), [vec![(y, x)]]);
    }

    #[test]
    fn an_input_that_somebody_can_see_stays() {
        let mut t = Trace::new();
        let x = t.data(DType::F32, N);
        let y = t.op(Op::Neg, &[x]);
        assert_eq!(t.reuses(&[y]), [vec![]], "a handle");

        let x = t.data(DType::F32, N);
        let y = t.op(Op::Neg, &[x]);
        let kept = t.table.get(x).data.clone();
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y]), [vec![]], "another owner of the block");
        drop(kept);
        assert_eq!(t.reuses(&[y]), [vec![(y, x)]]);
    }

    #[test]
    fn an_input_that_a_pending_variable_needs_stays() {
        let mut t = Trace::new();
        let x = t.data(DType::F32, N);
        let inner = t.op(Op::Neg, &[x]);
        let y = t.op(Op::Sqrt, &[inner]);
        let pending = t.op(Op::Floor, &[inner]);
        t.drop(&[x, inner]);
        assert_eq!(t.reuses(&[y]), [vec![]]);
        assert_eq!(t.reuses(&[y, pending])[0].len(), 1);
        t.drop(&[pending]);
        assert_eq!(t.reuses(&[y]), [vec![(y, x)]]);
    }

    #[test]
    fn an_input_that_a_later_launch_reads_stays() {
        let mut t = Trace::new();
        let x = t.data(DType::F32, N);
        let y = t.op(Op::Neg, &[x]);
        let sum = t.record(|recorder| recorder.reduce(ReduceOp::Sum, y).unwrap());
        let z = t.op(Op::Add, &[x, sum]);
        t.drop(&[x, sum]);
        let reuses = t.reuses(&[y, z]);
        assert_eq!(reuses[0], [], "{reuses:?}");
    }

    #[test]
    fn a_conversion_without_change_is_a_use_of_the_input() {
        let mut t = Trace::new();
        let [x, a] = [0; 2].map(|_| t.data(DType::I32, N));
        let bits = t.record(|recorder| recorder.cast(x, DType::U32).unwrap());
        let y = t.op(Op::Xor, &[x, a]);
        let z = t.op(Op::Popcnt, &[bits]);
        t.drop(&[x, bits]);
        assert_eq!(t.reuses(&[y, z]), [vec![]]);
    }

    #[test]
    fn values_are_stored_once_the_input_is_used_up() {
        let mut t = Trace::new();
        let x = t.data(DType::F32, N);
        let y = t.op(Op::Neg, &[x]);
        let z = t.op(Op::Mul, &[x, y]);
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y, z]), [vec![(z, x)]]);

        let mut t = Trace::new();
        let [x, w] = [0; 2].map(|_| t.data(DType::F32, N));
        let y = t.op(Op::Add, &[x, w]);
        let z = t.op(Op::Neg, &[y]);
        t.drop(&[x, w]);
        let reuses = t.reuses(&[y, z]);
        assert!(reuses[0].contains(&(y, x)) && reuses[0].contains(&(z, w)), "{reuses:?}");
    }

    #[test]
    fn only_lane_by_lane() {
        let mut t = Trace::new();
        let [x, index] = [DType::I32, DType::U32].map(|dtype| t.data(dtype, N));
        let gathered = t.record(|recorder| recorder.gather(x, index, None).unwrap());
        let y = t.op(Op::Add, &[gathered, x]);
        t.drop(&[x, gathered]);
        assert_eq!(t.reuses(&[y]), [vec![]], "a gather");

        let [x, index, target] = [DType::I32, DType::U32, DType::I32].map(|d| t.data(d, N));
        let y = t.op(Op::Neg, &[x]);
        let scatter = |recorder: &mut Recorder<'_>| {
            recorder.scatter(ScatterOp::Set, ScatterMode::Fast, target, x, index, None).unwrap()
        };
        let z = t.record(scatter);
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y, z]), [vec![]], "a scatter");

        let x = t.data(DType::F32, N);
        let y = t.op(Op::Neg, &[x]);
        let sum = t.record(|recorder| recorder.reduce(ReduceOp::Sum, x).unwrap());
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y, sum]), [vec![]], "a reduction");

        let x = t.data(DType::F32, 1);
        let w = t.data(DType::F32, N);
        let y = t.op(Op::Add, &[x, w]);
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y]), [vec![]], "a scalar");
    }

    #[test]
    fn only_values_of_the_same_type() {
        let mut t = Trace::new();
        let x = t.data(DType::F32, N);
        let zero = t.data(DType::F32, N);
        let y = t.op(Op::Lt, &[x, zero]);
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y]), [vec![]]);
    }

    #[test]
    fn only_short_launches_over_large_blocks() {
        let mut t = Trace::new();
        for (size, reused) in [(1 << 20, true), (1 << 40, false)] {
            let x = t.data(DType::F32, size);
            let y = t.op(Op::Neg, &[x]);
            t.drop(&[x]);
            assert_eq!(t.reuses(&[y])[0] == [(y, x)], reused, "{size}");
        }
        let x = t.data(DType::F32, 16_000);
        let y = t.op(Op::Neg, &[x]);
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y]), [vec![]], "a small block");
        let [x, d] = [0; 2].map(|_| t.data(DType::I64, 1 << 22));
        let y = t.op(Op::Rem, &[x, d]);
        t.drop(&[x]);
        assert_eq!(t.reuses(&[y]), [vec![]], "divisions take a while");
    }
}
