//! Checks a kernel before it is lowered; always on in tests and debug builds.
//!
//! What is checked:
//! * arguments precede their users, and uniform instructions have uniform arguments;
//! * arity, operand types and result type follow the operation's row;
//! * a load's type is its buffer's; gathers and scatters are indexed by integers;
//! * buffers that are written are written by one instruction and read by none, or by the scatters of regions and
//!   by gathers there, where the lanes run one by one; writes outside of regions come last;
//! * literals, accesses and lengths are in range;
//! * regions are nested; each has its states directly behind its start, one condition, and its next values
//!   directly before its end; what is computed inside is not used outside.

use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Code, Inst, Kernel, Reg};
use crate::ir::op::{Op, ReduceOp, Shape};

/// Describes the first broken rule, if any.
///
/// # Errors
/// A sentence that names the instruction and the rule.
pub fn verify(kernel: &Kernel) -> Result<(), String> {
    for (i, inst) in kernel.insts.iter().enumerate() {
        verify_inst(kernel, i, inst).map_err(|why| format!("%{i}: {why}"))?;
    }
    verify_regions(kernel)?;
    let mut written = vec![false; kernel.buffers.len()];
    let fetches = |inst: &Inst| matches!(inst.code, Code::Gather { source, .. } if kernel.buffers[source.index()].written);
    if kernel.insts.iter().any(fetches) && kernel.serial_regions().is_empty() {
        return Err("gathers from a written buffer in no order".into());
    }
    for (i, &Inst { mut code, .. }) in kernel.insts.iter().enumerate() {
        if let (true, Some(buffer)) = (code.writes(), code.buffer_mut()) {
            let again = std::mem::replace(&mut written[buffer.index()], true);
            ensure(!again || i < kernel.first_write, "a buffer is written twice")?;
        }
    }
    for (param, written) in kernel.buffers.iter().zip(written) {
        if param.written != written {
            return Err("a buffer's `written` mark does not match the writes".into());
        }
    }
    Ok(())
}

fn ensure(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.into()) }
}

fn verify_inst(kernel: &Kernel, i: usize, inst: &Inst) -> Result<(), String> {
    let uniform = i < kernel.n_uniform;
    for arg in inst.args() {
        ensure(arg.index() < i, "an argument follows its user")?;
        ensure(!uniform || kernel.is_uniform(arg), "a uniform value depends on a lane")?;
    }
    let n_args = inst.args().count();
    ensure(i < kernel.first_write || inst.code.writes(), "an instruction behind the writes")?;
    match inst.code {
        Code::Literal(slot) => {
            let literal = kernel.literals.get(slot as usize).ok_or("no such literal")?;
            ensure(literal.0 == inst.dtype, "literal of another type")
        }
        Code::Constant(_) => ensure(n_args == 0, "a constant has no arguments"),
        Code::Index => ensure(inst.dtype.is_int() && !uniform, "the index is an integer per lane"),
        Code::Op(op) => verify_op(kernel, op, inst),
        Code::Load(buffer) => {
            let param = kernel.buffers.get(buffer.index()).ok_or("no such buffer")?;
            ensure(!param.written, "loads from a written buffer")?;
            ensure(param.dtype == inst.dtype, "loads another type")
        }
        Code::Gather { source, access } => {
            let param = kernel.buffers.get(source.index()).ok_or("no such buffer")?;
            ensure(param.dtype == inst.dtype, "gathers another type")?;
            verify_access(kernel, source, access, inst.args[0], inst.args[1])
        }
        Code::RegionStart { .. } => ensure(
            !uniform && inst.dtype == DType::Mask && is_mask(kernel, inst.args[0]),
            "a region is entered by a mask of lanes",
        ),
        Code::Phi => {
            let first = inst.args[0].ok_or("a state without a first value")?;
            ensure(kernel.dtype(first) == inst.dtype, "a state begins as another type")
        }
        Code::RunningMask => ensure(
            inst.dtype == DType::Mask && inst.args().all(|arg| is_mask(kernel, Some(arg))),
            "a condition is a mask",
        ),
        Code::BackEdge => {
            let [Some(state), Some(next), None] = inst.args else {
                return Err("a next value has a state and a value".into());
            };
            ensure(kernel.inst(state).code == Code::Phi, "the next value of no state")?;
            ensure(kernel.inst(next).code != Code::Phi, "a next value that is a state")?;
            ensure(kernel.dtype(state) == kernel.dtype(next), "a state becomes another type")
        }
        Code::RegionEnd => ensure(
            inst.args[0].is_some_and(|run| kernel.inst(run).code == Code::RunningMask),
            "a region ends with its condition",
        ),
        Code::Store(buffer) => {
            let value = verify_write(kernel, inst, buffer)?;
            ensure(value == inst.dtype, "stores another type")
        }
        Code::Reduce { op, buffer } => {
            // Narrow types accumulate in 32 bits (`legal.rs`).
            let results = [inst.dtype, inst.dtype.widened()].map(Some);
            let value = verify_write(kernel, inst, buffer)?;
            let adds = matches!(op, ReduceOp::Sum | ReduceOp::Prod);
            ensure(!adds || value.accumulated() == value, "adds in another type than the sum's")?;
            let result = op.result(value);
            ensure(results.contains(&result), "reduces another type")
        }
        Code::Scatter { op, target, access, .. } => {
            let value = verify_write(kernel, inst, target)?;
            ensure(value == inst.dtype, "scatters another type")?;
            ensure(op.class().contains(value), "type outside the scatter's class")?;
            verify_access(kernel, target, access, inst.args[1], inst.args[2])
        }
    }
}

/// Type of the value that an instruction writes.
fn verify_write(kernel: &Kernel, inst: &Inst, buffer: BufferIndex) -> Result<DType, String> {
    let param = kernel.buffers.get(buffer.index()).ok_or("no such buffer")?;
    ensure(param.written, "writes a buffer that is only read")?;
    ensure(param.dtype == inst.dtype, "writes another type than its buffer's")?;
    inst.args[0].map(|value| kernel.dtype(value)).ok_or_else(|| "writes nothing".into())
}

fn is_mask(kernel: &Kernel, arg: Option<Reg>) -> bool {
    arg.is_none_or(|arg| kernel.dtype(arg) == DType::Mask)
}

/// Checks the nesting of regions, the places of their parts, and that their values stay inside.
fn verify_regions(kernel: &Kernel) -> Result<(), String> {
    // For each instruction the start of its region; phis and starts belong to the region around theirs.
    let mut home: Vec<Option<usize>> = Vec::with_capacity(kernel.insts.len());
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (i, inst) in kernel.insts.iter().enumerate() {
        let fail = |rule: &str| Err(format!("%{i}: {rule}"));
        let around = |open: &[(usize, bool)], level: usize| {
            open.len().checked_sub(level + 1).map(|position| open[position].0)
        };
        let previous = i.checked_sub(1).map(|previous| kernel.insts[previous].code);
        for arg in inst.args() {
            let place = home[arg.index()];
            if !place.is_none_or(|place| open.iter().any(|&(start, _)| start == place)) {
                return fail("uses a value of a region that was left");
            }
        }
        let is_write = i >= kernel.first_write;
        if previous == Some(Code::BackEdge)
            && !matches!(inst.code, Code::BackEdge | Code::RegionEnd)
        {
            return fail("an instruction between next values and the end");
        }
        match inst.code {
            Code::RegionStart { .. } => {
                home.push(around(&open, 0));
                open.push((i, false));
                continue;
            }
            Code::Phi => {
                if !matches!(previous, Some(Code::RegionStart { .. } | Code::Phi)) {
                    return fail("a state that is not at a region's start");
                }
                home.push(around(&open, 1));
                continue;
            }
            Code::RunningMask => match open.last_mut() {
                Some((start, ran))
                    if !*ran && inst.args[0].is_some_and(|arg| arg.index() == *start) =>
                {
                    *ran = true;
                }
                _ => return fail("a second condition, or that of another region"),
            },
            Code::RegionEnd => {
                if open.last().is_none_or(|&(_, ran)| !ran) {
                    return fail("the end of no region");
                }
                open.pop();
            }
            Code::BackEdge if open.last().is_none_or(|&(_, ran)| !ran) => {
                return fail("a next value outside a region's body");
            }
            Code::Store(_) | Code::Reduce { .. } if !is_write => {
                return fail("a write before values");
            }
            Code::Scatter { .. } if !is_write && open.is_empty() => {
                return fail("a scatter before values, in no region");
            }
            Code::Literal(_)
            | Code::Constant(_)
            | Code::Index
            | Code::Op(_)
            | Code::Load(_)
            | Code::Gather { .. }
            | Code::BackEdge
            | Code::Store(_)
            | Code::Reduce { .. }
            | Code::Scatter { .. } => {}
        }
        home.push(around(&open, 0));
    }
    ensure(open.is_empty(), "a region without an end")
}

fn verify_op(kernel: &Kernel, op: Op, inst: &Inst) -> Result<(), String> {
    let info = op.info();
    ensure(inst.args().count() == info.arity, "wrong number of arguments")?;
    let types: Vec<DType> = inst.args().map(|arg| kernel.dtype(arg)).collect();
    let last = types[info.arity - 1];
    ensure(info.class.contains(last), "argument type outside the operation's class")?;
    let same = types.iter().all(|&dtype| dtype == last);
    match info.shape {
        Shape::Same => ensure(same && inst.dtype == last, "types differ"),
        Shape::Compare => ensure(same && inst.dtype == DType::Mask, "types differ"),
        Shape::Select => ensure(
            types[0] == DType::Mask && types[1] == last && inst.dtype == last,
            "select takes a mask and two values of its type",
        ),
        Shape::Special if op == Op::BoundedDiv => {
            ensure(same && inst.dtype == last && !last.is_narrow(), "types differ")
        }
        Shape::Special if op == Op::BitsAnyNan => ensure(
            !last.is_narrow() && inst.dtype == last.unsigned(),
            "raw bits are an unsigned integer of 32 or 64 bits",
        ),
        Shape::Special => ensure(
            inst.dtype.is_number() && (op == Op::Cast || inst.dtype.bytes() == last.bytes()),
            "reinterpretation changes the width",
        ),
    }
}

fn verify_access(
    kernel: &Kernel,
    buffer: BufferIndex,
    access: Option<u32>,
    index: Option<Reg>,
    active: Option<Reg>,
) -> Result<(), String> {
    let index = index.ok_or("no index")?;
    ensure(kernel.dtype(index).is_int(), "the index is not an integer")?;
    ensure(
        active.is_none_or(|active| kernel.dtype(active) == DType::Mask),
        "the active argument is not a mask",
    )?;
    if let Some(access) = access {
        let access = kernel.accesses.get(access as usize).ok_or("no such access")?;
        ensure(access.buffer == buffer, "the access names another buffer")?;
        ensure(kernel.length_word(buffer).is_some(), "a checked buffer has no length")?;
    }
    Ok(())
}
