//! Text forms of the trace: the PTX-like trace line of the log, kernel listings, GraphViz.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::body::{Body, StepCode};
use crate::ir::composite::Recording;
use crate::ir::kernel::{Code, Kernel, Reg};
use crate::ir::op::{Op, ScatterOp};
use crate::ir::table::Table;
use crate::ir::var::{Kind, Serial, VarId, Variable};

/// The log lines of a new variable: `trace_append(11 <- 10, 10): add.rn.$t1 $r1, $r2, $r3`, and beneath a call what
/// its body does, arguments numbered first: `    %2 <- %0, %1: mul.rn.$t1 $r1, $r2, $r3`.
///
/// The instruction is a template in PTX: `$r1` is the result's register, `$r2` … the operands', `$t1`
/// the result's type and `$b1` its untyped width, `$t2` the first operand's type.
pub fn trace_lines(table: &Table, id: VarId) -> Vec<String> {
    let variable = table.get(id);
    let operands: Vec<&Variable> = arguments(variable).map(|operand| table.get(operand)).collect();
    let sources = sources(operands.iter().map(|operand| operand.serial));
    let operand = operands.first().map_or(variable.dtype, |operand| operand.dtype);
    let template = ptx_template(table, variable, operand);
    let mut lines = vec![format!("trace_append({}{sources}): {template}", variable.serial)];
    if let Some(recording) = recording(variable) {
        lines.extend(steps_of(table, recording));
    } else if let Some(composite) = variable.composite() {
        // That it was called says that it can be.
        let rehearsal = Table::rehearse(composite, operands.iter().copied()).ok();
        let steps = rehearsal.iter().flat_map(|known| step_lines(&known.table, operands.len()));
        lines.extend(steps);
    }
    if let Kind::Call(body) = variable.kind {
        let body = table.body(body);
        let types: Vec<DType> = operands.iter().map(|operand| operand.dtype).collect();
        lines.extend(body_lines(body, types));
        if body.results.len() > 1 {
            let results = body.results.iter().map(|result| result.value.to_string());
            lines.push(format!("    ret {}", results.collect::<Vec<_>>().join(", ")));
        }
    }
    lines
}

/// What a variable is a call of, if that was recorded once.
fn recording(variable: &Variable) -> Option<&Recording> {
    variable.result_of().map(|of| &*of.call.recording)
}

/// The operands, without what keeps a recording alive.
fn arguments(variable: &Variable) -> impl Iterator<Item = VarId> {
    variable.operands().take(n_arguments(variable))
}

fn n_arguments(variable: &Variable) -> usize {
    recording(variable).map_or(usize::MAX, |recording| recording.inputs.len())
}

/// What a table holds behind its first variables, the arguments.
fn step_lines(table: &Table, n_arguments: usize) -> Vec<String> {
    let ids: Vec<VarId> = table.iter().map(|(id, _)| id).collect();
    lines_of(table, &ids, n_arguments)
}

/// What a call of what was recorded once does, behind its inputs.
fn steps_of(table: &Table, recording: &Recording) -> Vec<String> {
    let ids = [&*recording.inputs, &recording.order].concat();
    lines_of(table, &ids, recording.inputs.len())
}

/// Variables behind the first ones, which are arguments; those from outside by their serials.
fn lines_of(table: &Table, ids: &[VarId], n_arguments: usize) -> Vec<String> {
    let places: HashMap<VarId, Reg> = ids.iter().copied().zip((0..).map(Reg)).collect();
    let name = |id: &VarId| match places.get(id) {
        Some(place) => place.to_string(),
        None => Serial(table.get(*id).serial).to_string(),
    };
    let line = |&id: &VarId| {
        let step = table.get(id);
        let operand = step.operand(0).map_or(step.dtype, |operand| table.get(operand).dtype);
        let sources = sources(step.operands().map(|operand| name(&operand)));
        format!("    {}{sources}: {}", name(&id), ptx_template(table, step, operand))
    };
    ids[n_arguments..].iter().map(line).collect()
}

fn body_lines(body: &Body, mut types: Vec<DType>) -> impl Iterator<Item = String> {
    body.steps.iter().map(move |step| {
        let args = || step.args.iter().flatten();
        let operand = args().next().map_or(step.dtype, |arg| types[arg.index()]);
        let template = match step.code {
            StepCode::Constant(bits) => number_template(step.dtype, bits),
            StepCode::Op(op) => op_template(op, step.dtype, operand),
        };
        let line = format!("    {}{}: {template}", Reg(exactly(types.len())), sources(args()));
        types.push(step.dtype);
        line
    })
}

/// ` <- 10, 11`; nothing where there are none.
fn sources(operands: impl Iterator<Item = impl fmt::Display>) -> String {
    let operands: Vec<String> = operands.map(|operand| operand.to_string()).collect();
    if operands.is_empty() { String::new() } else { format!(" <- {}", operands.join(", ")) }
}

fn number_template(dtype: DType, bits: u64) -> String {
    format!("mov.$t1 $r1, {}", ptx_literal(dtype, bits))
}

fn op_template(op: Op, dtype: DType, operand: DType) -> String {
    if op == Op::Select {
        return "selp.$t1 $r1, $r3, $r4, $r2".into();
    }
    let registers = ["$r1", "$r1, $r2", "$r1, $r2, $r3", "$r1, $r2, $r3, $r4"][op.arity()];
    let instruction = op.ptx(dtype, operand);
    format!("{instruction} {registers}")
}

fn ptx_template(table: &Table, variable: &Variable, operand: DType) -> String {
    let dtype = variable.dtype;
    match variable.kind {
        Kind::Literal(bits) | Kind::Constant(bits) => number_template(dtype, bits),
        Kind::Index => "mov.$t1 $r1, $i".into(),
        Kind::Op(op) => op_template(op, dtype, operand),
        Kind::Call(_) | Kind::Composite => {
            let n = arguments(variable).count();
            let operands = (2..).take(n).map(|i| format!("$r{i}"));
            let operands: Vec<String> = operands.collect();
            format!("call ($r1), {}.$t1, ({})", table.name(variable), operands.join(", "))
        }
        Kind::Output { position } => format!("mov.$t1 $r1, $r2.{position}"),
        Kind::Gather { .. } | Kind::Fetch if variable.operands[2].is_some() => {
            "@$r4 ld.global.$t1 $r1, [$r2 + $r3]".into()
        }
        Kind::Gather { .. } | Kind::Fetch => "ld.global.$t1 $r1, [$r2 + $r3]".into(),
        Kind::Scatter { op, .. } => {
            let guard = if variable.operands[3].is_some() { "@$r5 " } else { "" };
            let store = match op {
                ScatterOp::Set => "st.global.$t1",
                ScatterOp::Add => "red.global.add.$t1",
                ScatterOp::Min => "red.global.min.$t1",
                ScatterOp::Max => "red.global.max.$t1",
                ScatterOp::And => "red.global.and.$b1",
                ScatterOp::Or => "red.global.or.$b1",
            };
            format!("{guard}{store} [$r2 + $r4], $r3")
        }
        Kind::Reduce(op) => format!("reduce.{}.$t1 $r1, $r2", op.name()),
        Kind::Primitive(primitive) => {
            let operands = (2..).take(variable.operands().count()).map(|i| format!(", $r{i}"));
            format!("{}.$t2 $r1{}", primitive.name(), operands.collect::<String>())
        }
        Kind::ActiveMask | Kind::RunningMask | Kind::Phi { .. } | Kind::Result { .. } => {
            let registers = variable.operands().zip(2..).map(|(_, i)| format!(", $r{i}"));
            format!("{}.$t1 $r1{}", variable.kind.name(), registers.collect::<String>())
        }
        Kind::Region { .. } => format!("{} $r2", variable.kind.name()),
        Kind::Data => "ld.global.$t1 $r1, [$data]".into(),
    }
}

/// A number as PTX writes it: floats as exact hexadecimal bits.
pub fn ptx_literal(dtype: DType, bits: u64) -> String {
    match (dtype.is_float(), dtype.bytes()) {
        (true, 4) => format!("0f{bits:08x}"),
        (true, 8) => format!("0d{bits:016x}"),
        (true, _) => format!("0x{bits:04x}"),
        (false, _) if dtype.is_number() => dtype.decode(bits).to_string(),
        (false, _) => (bits & 1).to_string(),
    }
}

impl Kernel {
    /// An instruction as listings show it: `%3: f32 = add %1, %2    // r12`.
    pub fn instruction(&self, i: usize) -> String {
        let inst = &self.insts[i];
        let mut text =
            if inst.code.has_value() { format!("%{i}: {} = ", inst.dtype) } else { String::new() };
        match inst.code {
            Code::Literal(slot) => {
                let (dtype, bits) = self.literals[slot as usize];
                let _ = write!(text, "literal {}", dtype.decode(bits));
            }
            Code::Constant(bits) => {
                let _ = write!(text, "constant {}", inst.dtype.decode(bits));
            }
            Code::Index => text.push_str("index"),
            Code::Op(op) => text.push_str(op.name()),
            Code::Load(buffer) => {
                let _ = write!(text, "load {buffer}");
            }
            Code::Gather { source, .. } => {
                let _ = write!(text, "gather {source}");
            }
            Code::RegionStart { repeat: true } => text.push_str("loop"),
            Code::RegionStart { repeat: false } => text.push_str("if"),
            Code::Phi => text.push_str("state"),
            Code::RunningMask => text.push_str("run"),
            Code::BackEdge => text.push_str("next"),
            Code::RegionEnd => text.push_str("end"),
            Code::Store(buffer) => {
                let _ = write!(text, "store {buffer},");
            }
            Code::Reduce { op, buffer } => {
                let _ = write!(text, "reduce {} {buffer},", op.name());
            }
            Code::Scatter { op, target, .. } if i >= self.first_write => {
                let active = inst.args[2].map_or(String::new(), |active| format!(" if {active}"));
                return format!("{} {target}[{}], {}{active}", op.name(), inst.arg(1), inst.arg(0));
            }
            Code::Scatter { op, target, .. } => {
                let _ = write!(text, "{} {target},", op.name());
            }
        }
        for (k, arg) in inst.args().enumerate() {
            let _ = write!(text, "{} {arg}", if k == 0 { "" } else { "," });
        }
        if i >= self.first_write { text } else { format!("{text:<42}// r{}", inst.serial) }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depth = 1;
        for i in 0..self.insts.len() {
            if i == self.n_uniform && i < self.first_write {
                writeln!(f, "each lane:")?;
            }
            depth -= usize::from(self.insts[i].code == Code::RegionEnd);
            writeln!(f, "{:w$}{}", "", self.instruction(i), w = 2 * depth)?;
            depth += usize::from(matches!(self.insts[i].code, Code::RegionStart { .. }));
        }
        Ok(())
    }
}

/// The trace that `roots` depend on, in the DOT language. What is tracked is blue, marks twice framed; dashed edges lead from
/// what made a value that is in memory and keeps it for derivatives, dotted ones from gradients.
///
/// # Errors
/// `Interrupted`.
pub fn graphviz(table: &Table, roots: &[VarId]) -> Result<String> {
    let mut text = String::from("digraph trace {\n  rankdir=BT;\n  node [shape=box];\n");
    let mut seen = vec![false; table.n_slots()];
    let mut work = roots.to_vec();
    while let Some(id) = work.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let variable = table.get(id);
        let value = variable
            .kind
            .number()
            .map_or(String::new(), |bits| format!(" {}", variable.dtype.decode(bits)));
        let label = variable.label().map_or(String::new(), |l| format!("\\n{}", escape(l)));
        let made_of = variable.made_of();
        let is_kept = variable.kind == Kind::Data && !made_of.is_empty();
        let style = match (variable.tracked, made_of.is_empty()) {
            (true, true) => ", color=blue, peripheries=2",
            (true, false) => ", color=blue",
            (false, _) => "",
        };
        let _ = writeln!(
            text,
            "  r{} [label=\"r{}: {} [{}]\\n{}{}{value}{label}\"{style}];",
            variable.serial,
            variable.serial,
            variable.dtype,
            variable.size,
            table.name_of_maker(variable),
            if is_kept { ", in memory" } else { "" },
        );
        let mut edge = |from: VarId, style: &str| {
            let _ = writeln!(text, "  r{} -> r{}{style};", table.get(from).serial, variable.serial);
            work.push(from);
        };
        for operand in made_of.into_iter().take(n_arguments(variable)) {
            edge(operand, if is_kept { " [style=dashed]" } else { "" });
        }
        if let Some(gradient) = variable.cold.as_ref().and_then(|cold| cold.gradient) {
            edge(gradient, " [style=dotted, label=gradient]");
        }
    }
    text.push_str("}\n");
    Ok(text)
}

fn escape(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"")
}
