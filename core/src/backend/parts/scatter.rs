//! Scatters over parts, in the order of lanes.
//!
//! Of integers whose order does not show, every part scatters its lanes into a copy of its own, which begins with what
//! changes nothing, and the first part combines the copies: so go histograms. All else is routed: parts compute values and
//! indices, and each element's owner writes those of the first part, then those of the second, in the order of lanes.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::begun::all;
use super::by_owner::{ByOwner, PURPOSE, Pairs, Written};
use super::partition::Partition;
use super::shared::{Codes, Shared};
use super::split::Split;
use super::stage::{Stage, lower};
use super::transfer::{Place, Transfer};
use super::wanted::Wanted;
use super::working::{Working, halfway};
use crate::backend::apart::Apart;
use crate::backend::primitive::MemoryArray;
use crate::backend::{Executable, Failures, Launched, OutOfBounds};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{
    BufferIndex, BufferParam, Code, HEADER_WORDS, Inst, Kernel, KernelHash, LiteralMode,
    ParamBlock, Reg,
};
use crate::ir::op::{Op, ScatterMode, ScatterOp};

/// Lanes that an owner gets at a time; few in tests, whose owners get some several times.
const AT_ONCE: u64 = if cfg!(test) { 1 << 12 } else { 1 << 22 };
/// Bytes of copies that are made however few lanes there are.
const FEW_BYTES: u64 = 1 << 20;
/// Bytes of copies a lane, beyond which routing moves less.
const COPIED: u64 = 8;

/// A scatter of a kernel.
struct Step {
    op: ScatterOp,
    mode: ScatterMode,
    dtype: DType,
    access: Option<u32>,
    target: BufferIndex,
    /// The word of the target's length.
    length: usize,
}

/// A scatter whose operands are kept.
struct Kept {
    step: Step,
    index: (BufferIndex, DType),
    value: BufferIndex,
    active: Option<BufferIndex>,
    /// Writes a packet.
    codes: Codes,
    kernel: Kernel,
}

/// Lanes of a scatter by owner, and room for some of each at a time.
struct Ready<'m> {
    /// The target, by the address of the session.
    target: u64,
    elements: u64,
    by_owner: ByOwner<'m>,
    /// How many each owner gets.
    lanes: Vec<u64>,
    rooms: Vec<Pairs<'m>>,
}

/// What computes without writing, and what writes then.
struct Routed {
    compute: Split,
    /// Bytes a lane of what is kept, by buffer.
    kept: Vec<u64>,
    scatters: Vec<Kept>,
}

/// A kernel of ours and its code.
type Own = (Kernel, Arc<dyn Executable>);

/// The scatters of a kernel.
pub(super) struct Scatters {
    shared: Arc<Shared>,
    mode: LiteralMode,
    steps: Vec<Step>,
    routed: OnceLock<Option<Routed>>,
    /// For each scatter what combines two copies of its target.
    combining: Mutex<Vec<Option<Own>>>,
}

impl Step {
    fn of(kernel: &Kernel, inst: &Inst) -> Option<Self> {
        let Code::Scatter { op, target, access, mode } = inst.code else { return None };
        let length = kernel.length_word(target);
        let length = length.expect("internal error: an accessed buffer has a length");
        Some(Self { op, mode, dtype: inst.dtype, access, target, length })
    }
}

impl Scatters {
    pub(super) fn of(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Self {
        let steps: Vec<Step> =
            kernel.insts.iter().filter_map(|inst| Step::of(kernel, inst)).collect();
        let combining = Mutex::new(steps.iter().map(|_| None).collect());
        Self { shared: shared.clone(), mode, steps, routed: OnceLock::new(), combining }
    }

    /// Runs all lanes, if parts can share them.
    ///
    /// # Errors
    /// As [`Executable::launch`](crate::backend::Executable::launch).
    pub(super) fn run(
        &self,
        split: &Split,
        params: &ParamBlock,
        n: u64,
    ) -> Result<Option<Failures>> {
        if self.may_copy(params, n) {
            return self.run_copies(split, params, n).map(Some);
        }
        if self.shared.are_gpus() {
            // Lanes would go over the host.
            return Ok(None);
        }
        if self.routed.get().is_none() {
            let routed = Routed::of(&self.shared, split.stage.kernel(), self.mode)?;
            // Another thread's is as good.
            drop(self.routed.set(routed));
        }
        match self.routed.get() {
            Some(Some(routed)) => routed.run(&self.shared, params, n).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether there are copies of all targets that begin with what changes nothing.
    pub(super) fn may_be_copied(&self) -> bool {
        let scatters = self.steps.iter().map(|step| (step.target, step.op, step.dtype));
        ScatterOp::may_be_copied(&scatters.collect::<Vec<_>>())
    }

    /// Whether every part may have such a copy of all targets, where these are short.
    fn may_copy(&self, params: &ParamBlock, n: u64) -> bool {
        let bytes =
            |step: &Step| params.words()[step.length].saturating_mul(step.dtype.bytes() as u64);
        let copies = self.shared.memory.parts() as u64 - 1;
        let bytes = self.steps.iter().map(bytes).fold(0, u64::saturating_add);
        self.may_be_copied()
            && bytes.saturating_mul(copies) <= n.saturating_mul(COPIED).max(FEW_BYTES)
    }

    /// Every part scatters its lanes into a copy.
    fn run_copies(&self, split: &Split, params: &ParamBlock, n: u64) -> Result<Failures> {
        let Shared { memory, notes, .. } = &*self.shared;
        let mut targets: Vec<&Step> = self.steps.iter().collect();
        targets.sort_unstable_by_key(|step| step.target);
        targets.dedup_by_key(|step| step.target);
        let elements = |step: &Step| params.words()[step.length];
        let bytes_of = |step: &&Step| elements(step).saturating_mul(step.dtype.bytes() as u64);
        // All that may fail for want of memory comes before anything is written.
        let copies = (memory.parts() as u64 - 1)
            .saturating_mul(targets.iter().map(bytes_of).fold(0, u64::saturating_add));
        let _copies = self.shared.hold(copies, PURPOSE)?;
        let longest = targets.iter().map(bytes_of).max().unwrap_or(0);
        let room = || Working::counted(&self.shared, memory.of(0), longest, PURPOSE);
        let [sums, brought] = [room()?, room()?];
        for step in &targets {
            let address = Stage::address(params, step.target.index());
            notes.exchanged(memory.bring_together(vec![Wanted {
                part: 0,
                address,
                bytes: None,
            }])?);
            memory.changed(0..1, address);
            let bits = step.op.neutral(step.dtype).expect("internal error: a copy of any number");
            for part in 1..memory.parts() {
                let place = memory.place(part, address, 0..bytes_of(step))?;
                memory.of(part).fill(place, bits, step.dtype.bytes(), elements(step))?;
            }
        }
        let failures = split.run(params, n)?;
        let rooms = [&brought, &sums].map(|room| room.address);
        let combined =
            targets.iter().try_for_each(|step| self.combine_copies(step, params, n, rooms));
        combined.map_err(|error| halfway(&self.shared, error))?;
        Ok(failures)
    }

    /// Has the first part combine the copies of a target, each in turn brought to a room; there is another for what comes of it.
    fn combine_copies(
        &self,
        step: &Step,
        params: &ParamBlock,
        n: u64,
        [brought, sums]: [u64; 2],
    ) -> Result<()> {
        let Shared { memory, notes, .. } = &*self.shared;
        let address = Stage::address(params, step.target.index());
        let elements = params.words()[step.length];
        if elements == 0 {
            return Ok(());
        }
        let (kernel, code) = self.combining(step)?;
        let bytes = elements * step.dtype.bytes() as u64;
        let partition = Partition::new(n, memory.parts());
        for part in (1..memory.parts()).filter(|&part| !partition.lanes(part).is_empty()) {
            let from = Place { part, address: memory.place(part, address, 0..bytes)? };
            let to = Place { part: 0, address: brought };
            notes.exchanged(memory.transfer_all(&[Transfer { from, to, bytes }])?);
            let first = memory.place(0, address, 0..bytes)?;
            let buffers = [first, brought, sums].map(|address| (address, elements));
            run_now(&*code, ParamBlock::new(&kernel, elements, &buffers), elements)?;
            memory.of(0).copy(first, sums, exactly(bytes))?;
        }
        Ok(())
    }

    /// What combines two copies of a target.
    fn combining(&self, step: &Step) -> Result<Own> {
        let mut combining = self.combining.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.steps.iter().position(|other| std::ptr::eq(other, step)).unwrap_or(0);
        if let Some((kernel, code)) = &combining[number] {
            return Ok((kernel.clone(), code.clone()));
        }
        let op = step.op.combine().expect("internal error: copies of what replaces");
        let kernel = combination(op, step.dtype);
        let code = self.shared.devices[0].lower(&kernel, LiteralMode::Embedded)?;
        combining[number] = Some((kernel.clone(), code.clone()));
        Ok((kernel, code))
    }
}

/// Runs a launch of a processor.
fn run_now(code: &dyn Executable, params: ParamBlock, n: u64) -> Result<()> {
    match code.launch(params, n)? {
        Launched::Done { .. } => Ok(()),
        Launched::Running(_) | Launched::Queued(_) => {
            unreachable!("internal error: a launch on a processor that waits")
        }
    }
}

/// A buffer of a kernel of ours.
fn buffer(dtype: DType, written: bool) -> BufferParam {
    BufferParam { dtype, written, length: None, anywhere: false }
}

/// A kernel of ours of these instructions, the last of which writes.
fn kernel(insts: Vec<Inst>, buffers: Vec<BufferParam>) -> Kernel {
    let kernel = Kernel {
        n_uniform: 0,
        first_write: insts.len() - 1,
        insts,
        buffers,
        literals: Vec::new(),
        accesses: Vec::new(),
        n_ops: 1,
        fast_math: false,
        variant: 0,
        hash: KernelHash(0),
    };
    debug_assert_eq!(crate::ir::verify::verify(&kernel), Ok(()), "{kernel}");
    kernel
}

fn inst(code: Code, dtype: DType, args: [Option<Reg>; 3]) -> Inst {
    Inst { code, dtype, args, serial: 0 }
}

/// `c[i] = op(a[i], b[i])`
fn combination(op: Op, dtype: DType) -> Kernel {
    let load = |number| inst(Code::Load(BufferIndex(number)), dtype, [None; 3]);
    let both = inst(Code::Op(op), dtype, [Some(Reg(0)), Some(Reg(1)), None]);
    let store = inst(Code::Store(BufferIndex(2)), dtype, [Some(Reg(2)), None, None]);
    let buffers = [false, false, true].map(|written| buffer(dtype, written));
    kernel(vec![load(0), load(1), both, store], buffers.to_vec())
}

/// Writes values by indices that are within the target.
fn writing(step: &Step, index: DType) -> Kernel {
    let load = |number, dtype| inst(Code::Load(BufferIndex(number)), dtype, [None; 3]);
    let (op, mode, target) = (step.op, step.mode, BufferIndex(2));
    let scatter = Code::Scatter { op, target, access: None, mode };
    let scatter = inst(scatter, step.dtype, [Some(Reg(1)), Some(Reg(0)), None]);
    let target = BufferParam { length: Some(0), ..buffer(step.dtype, true) };
    let buffers = vec![buffer(index, false), buffer(step.dtype, false), target];
    kernel(vec![load(0, index), load(1, step.dtype), scatter], buffers)
}

impl Routed {
    /// Takes a kernel apart, unless lanes need its scatters before.
    fn of(shared: &Arc<Shared>, kernel: &Kernel, mode: LiteralMode) -> Result<Option<Self>> {
        let Some(mut apart) = Apart::of(kernel) else { return Ok(None) };
        let mut scatters = Vec::new();
        for (_, inst) in kernel.writes() {
            let Some(step) = Step::of(kernel, inst) else { continue };
            let index_type = kernel.dtype(inst.arg(1));
            let writing = writing(&step, index_type);
            scatters.push(Kept {
                value: apart.keep(inst.arg(0)),
                index: (apart.keep(inst.arg(1)), index_type),
                active: inst.args[2].map(|active| apart.keep(active)),
                codes: shared.lower(&writing, LiteralMode::Embedded)?,
                kernel: writing,
                step,
            });
        }
        let Apart { compute, kept, .. } = apart;
        let kept = kept.iter().map(|dtype| dtype.bytes() as u64).collect();
        Ok(Some(Self { compute: Split::new(shared, &compute, mode)?, kept, scatters }))
    }

    fn run(&self, shared: &Shared, params: &ParamBlock, n: u64) -> Result<Failures> {
        let n_buffers = self.compute.stage.kernel().buffers.len() - self.kept.len();
        let room = |width: &u64| {
            Working::counted(shared, &shared.memory, n.saturating_mul(*width), PURPOSE)
        };
        let kept = self.kept.iter().map(room).collect::<Result<Vec<_>>>()?;
        let mut params = params.clone().with_buffers(n_buffers, kept.len());
        for (number, memory) in kept.iter().enumerate() {
            params.set(HEADER_WORDS + n_buffers + number, memory.address);
        }
        let mut failures = self.compute.run(&params, n)?;
        let ready = self.scatters.iter().map(|it| it.prepare(shared, &params, (n, kept.len())));
        // None writes before all have their memory.
        let ready = ready.collect::<Result<Vec<_>>>()?;
        for (scatter, ready) in self.scatters.iter().zip(ready) {
            let outside = scatter.write(shared, ready).map_err(|error| halfway(shared, error))?;
            if let Some(access) = scatter.step.access {
                let failure = &mut failures[access as usize];
                *failure = lower(*failure, outside);
            }
        }
        Ok(failures)
    }
}

impl Kept {
    /// Has parts sort what was kept by owner.
    fn prepare<'m>(
        &self,
        shared: &'m Shared,
        params: &ParamBlock,
        (n, n_kept): (u64, usize),
    ) -> Result<Ready<'m>> {
        let memory = &shared.memory;
        let target = Stage::address(params, self.step.target.index());
        // Lengths come behind the addresses of what is kept.
        let elements = params.words()[self.step.length + n_kept];
        let owners = Partition::new(elements, memory.parts());
        let width = self.step.dtype.bytes();
        let wanted = owners.all().enumerate().map(|(part, own)| {
            let bytes = own.start * width as u64..own.end * width as u64;
            Wanted { part, address: target, bytes: Some(bytes) }
        });
        shared.notes.exchanged(memory.bring_together(wanted.collect())?);
        memory.wrote_lanes(target, width, elements, owners.all());
        let by_owner = ByOwner::of(shared, &self.written(params, n), owners)?;
        let lanes: Vec<u64> = (0..memory.parts()).map(|owner| by_owner.lanes(owner)).collect();
        let at_once: Vec<u64> = lanes.iter().map(|&n| n.min(AT_ONCE)).collect();
        let rooms = by_owner.rooms(shared, &at_once)?;
        Ok(Ready { target, elements, by_owner, lanes, rooms })
    }

    /// Has owners write it; the lowest lane whose index is out of bounds.
    fn write(&self, shared: &Shared, ready: Ready<'_>) -> Result<Option<OutOfBounds>> {
        let Ready { target, elements, by_owner, lanes, rooms } = ready;
        let memory = &shared.memory;
        let longest = lanes.iter().copied().max().unwrap_or(0);
        for first in (0..longest).step_by(exactly::<usize>(AT_ONCE)) {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let some = |&n: &u64| first..n.min(first + AT_ONCE);
            let gets = lanes.iter().map(some).zip(&rooms).enumerate();
            let gets = gets.filter(|(_, (some, _))| !some.is_empty());
            let (mut transfers, mut launches) = (Vec::new(), Vec::new());
            for (owner, (some, room)) in gets {
                transfers.extend(by_owner.transfers(owner, &some, room));
                let (n, place) = (some.end - some.start, memory.place(owner, target, 0..0)?);
                let [indices, values] = room.addresses;
                let buffers = [(indices, n), (values, n), (place, elements)];
                launches.push((owner, ParamBlock::new(&self.kernel, n, &buffers), n));
            }
            shared.notes.exchanged(memory.transfer_all(&transfers)?);
            // Memory is not asked for anything while owners write, beside each other.
            let begin =
                |(owner, block, n): (usize, ParamBlock, u64)| self.codes[owner].begin(block, n);
            all(launches.into_iter().map(begin))?;
        }
        Ok(by_owner.outside)
    }

    /// What was kept of `n` lanes.
    fn written(&self, params: &ParamBlock, n: u64) -> Written {
        let kept = |buffer: BufferIndex, dtype| {
            let address = Stage::address(params, buffer.index());
            MemoryArray { address, size: n, dtype }
        };
        Written {
            index: kept(self.index.0, self.index.1),
            value: kept(self.value, self.step.dtype),
            active: self.active.map(|active| kept(active, DType::Mask)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, DType, DeviceChoice, Op, Result, Runtime, ScatterOp, Session};

    /// A session on so many parts, where everything is split that has more lanes than a chunk.
    fn session(parts: u16) -> Session {
        let runtime = Runtime::new(DeviceChoice::Parts(parts, 1), 2, None).unwrap();
        Session::builder().runtime(runtime).build().unwrap()
    }

    /// The bytes of an array, or what is out of bounds.
    fn said(array: Result<Array>) -> std::result::Result<Vec<u8>, String> {
        let bytes = array.and_then(|array| array.read_bytes(0..array.size()));
        bytes.map_err(|error| error.to_string())
    }

    /// Lanes that write to `n` elements, several to most of them, in an order that shows.
    fn scattered(
        session: &Session,
        (op, dtype, of_index): (ScatterOp, DType, DType),
        (lanes, n): (i64, u64),
        beyond: i64,
    ) -> Result<Array> {
        let lane = session.arange(DType::U32, 0.into(), lanes.into(), 1.into())?;
        let value = (&lane * 2_654_435_761_u32).cast(DType::F32)?.sin()?.cast(dtype)?;
        let spread = &(&lane * 40_503_u32) + &lane.apply(Op::Shr, &[7.into()])?;
        let index = spread.apply(Op::Rem, &[(n as i64 + beyond).into()])?.cast(of_index)?;
        let active = lane.apply(Op::Rem, &[5.into()])?.gt(1)?;
        let mut target =
            session.arange(DType::I32, 0.into(), (n as i64).into(), 1.into())?.cast(dtype)?;
        target.scatter(op, &value, &index, None)?;
        target.scatter(op, &value, &lane.apply(Op::Rem, &[(n as i64).into()])?, Some(&active))?;
        Ok(target)
    }

    /// What finds no memory has written nothing, and goes on when there is some.
    #[test]
    fn working_memory_is_within_the_limit() {
        const LANES: i64 = 1 << 20;
        let scattered = |session: &Session| -> Result<Array> {
            let lane = session.arange(DType::U32, 0.into(), LANES.into(), 1.into())?;
            let value = lane.cast(DType::F32)?.sin()?;
            let mut target = session.arange(DType::F32, 0.into(), LANES.into(), 1.into())?;
            target.eval()?;
            let index = (&lane * 40_503_u32).apply(Op::Rem, &[LANES.into()])?;
            target.scatter(ScatterOp::Add, &value, &index, None)?;
            Ok(target)
        };
        let runtime = Runtime::new(DeviceChoice::Parts(3, 1), 1, Some(26 << 20)).unwrap();
        let short = Session::builder().runtime(runtime).build().unwrap();
        let ballast = short.arange(DType::F64, 0.into(), LANES.into(), 1.into()).unwrap();
        ballast.eval().unwrap();
        let target = scattered(&short).unwrap();
        for _ in 0..2 {
            let error = said(Ok(target.clone())).unwrap_err();
            assert!(error.starts_with("out of memory: wanted "), "{error}");
            assert!(error.contains(" for a scatter over parts, "), "{error}");
        }
        drop(ballast);
        assert!(said(Ok(target)).unwrap() == said(scattered(&session(1))).unwrap());
    }

    #[test]
    fn lanes_write_as_on_one_part() {
        let sessions = [1, 2, 3, 17].map(session);
        let kinds = [
            (ScatterOp::Add, DType::F32, DType::U32),
            (ScatterOp::Add, DType::F64, DType::I64),
            (ScatterOp::Add, DType::F16, DType::I32),
            (ScatterOp::Set, DType::U8, DType::U64),
            (ScatterOp::Set, DType::F64, DType::U16),
        ];
        for kind in kinds {
            for sizes in [(70_003, 20_001), (4099, 60_000), (20_000, 3)] {
                for beyond in [0, 4] {
                    let want = said(scattered(&sessions[0], kind, sizes, beyond));
                    // Few lanes name few of many elements.
                    let goes_beyond = beyond > 0 && sizes.0 as u64 > sizes.1;
                    assert_eq!(want.is_err(), goes_beyond, "{:?}", want.err());
                    for session in &sessions[1..] {
                        let got = said(scattered(session, kind, sizes, beyond));
                        assert!(got == want, "{kind:?} {sizes:?}: {:?}", got.err());
                    }
                }
            }
        }
    }
}
