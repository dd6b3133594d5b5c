//! What a session holds, as data: the rows and sums of `whos`; and the code of its kernels.

use std::collections::HashSet;
use std::sync::Arc;

use crate::array::Array;
use crate::backend::{Backend, Exchange, Operand, cuda};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::eval::launches::{Binding, Launch, Plan, PrimitiveLaunch, Step};
use crate::ir::kernel::{Kernel, LiteralMode};
use crate::ir::var::{Kind, Serial, Variable};
use crate::memory::caching_allocator::{Bytes, MemoryInfo};
use crate::session::Session;

/// Rows without an external reference or a label that a short listing shows.
const OTHERS_SHOWN: usize = 40;

/// Which rows to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Those with an external reference or a label, and at most 40 others.
    Short,
    /// All.
    All,
}

/// One variable.
#[derive(Clone, Debug)]
pub struct WhosRow {
    /// Serial.
    pub id: u64,
    /// Lane type.
    pub dtype: DType,
    /// References from outside.
    pub external: u32,
    /// References from other variables.
    pub internal: u32,
    /// Number of lanes.
    pub size: u64,
    /// Bytes of the contents, present or to come.
    pub bytes: u64,
    /// Whether the contents are in memory.
    pub ready: bool,
    /// Whether the launch that writes them is under way.
    pub running: bool,
    /// Whether the contents come of an index out of bounds in the evaluation that made them: lanes may be 0 in place of
    /// what was meant.
    pub faulty: bool,
    /// Whether the contents were in the memory of a device that failed.
    pub lost: bool,
    /// Label, if set.
    pub label: Option<Arc<str>>,
    /// Bytes that each part of the device has of the contents, if it has parts and they are in memory.
    pub parts: Option<Vec<u64>>,
}

impl WhosRow {
    /// What parts of the device have of the contents, as people read it: `whole` where each has all, else bytes, the
    /// least and the most; nothing without parts.
    pub fn spread(&self) -> String {
        let Some(parts) = &self.parts else { return String::new() };
        let [least, most] =
            [parts.iter().min(), parts.iter().max()].map(|n| n.copied().unwrap_or(0));
        match least {
            least if least >= self.bytes => "whole".into(),
            least if least == most => Bytes(least).to_string(),
            least => format!("{} .. {}", Bytes(least), Bytes(most)),
        }
    }
}

/// All that `whos` shows.
#[derive(Clone, Debug)]
pub struct Whos {
    /// Variables by serial.
    pub rows: Vec<WhosRow>,
    /// Variables left out.
    pub n_hidden: usize,
    /// Bytes of evaluated variables.
    pub ready: u64,
    /// Bytes that variables somebody holds will take once evaluated.
    pub scheduled: u64,
    /// Bytes of temporaries that fusion never stores.
    pub savings: u64,
    /// The allocator.
    pub memory: MemoryInfo,
    /// The device's name.
    pub device: String,
    /// Compiled kernels that are kept.
    pub n_kernels: usize,
}

impl Session {
    /// Lists the variables.
    pub fn whos(&self, which: Rows) -> Whos {
        let mut whos = Whos {
            rows: Vec::new(),
            n_hidden: 0,
            ready: 0,
            scheduled: 0,
            savings: 0,
            memory: self.memory_info(),
            device: self.device_name(),
            n_kernels: self.n_kernels(),
        };
        let device = self.working_device();
        let runs = |variable: &Variable| {
            let data = variable.data.as_ref().filter(|_| variable.is_there()).zip(device.as_ref());
            data.is_some_and(|(data, device)| !device.backend.memory().is_ready(data.address()))
        };
        let parts = |variable: &Variable| {
            let data = variable.data.as_ref().filter(|_| variable.is_there());
            let (data, device) = data.zip(device.as_ref())?;
            device.backend.held_by_parts(data.address(), variable.bytes())
        };
        self.with_table(|table| {
            let has_lanes =
                |variable: &Variable| !matches!(variable.poisoned(), Some(Error::StandIn { .. }));
            table.iter().filter(|(_, variable)| has_lanes(variable)).for_each(|(_, variable)| {
                let bytes = table.bytes_within(variable);
                whos.add(variable, bytes, runs(variable), parts(variable));
            });
        });
        whos.rows.sort_by_key(|row| row.id);
        self.with_reports(|reports| {
            whos.rows.iter_mut().for_each(|row| row.faulty = reports.is_faulty(row.id));
        });
        if which == Rows::Short {
            whos.shorten();
        }
        whos
    }

    /// What a launch writes besides the arrays that are wanted, because somebody holds it: by label, else by serial.
    pub fn written_besides(&self, launch: &Launch, wanted: &HashSet<Serial>) -> Vec<String> {
        self.with_table(|table| {
            let besides = launch.results().filter(|&id| {
                let variable = table.get(id);
                variable.external > 0 && !wanted.contains(&Serial(variable.serial))
            });
            let name = |id| {
                let variable = table.get(id);
                let serial = || Serial(variable.serial).to_string();
                variable.label().map_or_else(serial, |label| label.to_string())
            };
            besides.map(name).collect()
        })
    }

    /// The kernels of a plan in the backends' common form.
    pub fn common_form(&self, plan: &Plan) -> String {
        let text = |(i, step): (usize, &Step)| match step {
            Step::Kernel(launch) if launch.is_batch() => {
                let (members, n, kernel) = (launch.n_members(), launch.size, &launch.kernel);
                format!("kernel {i} (batch of {members}, n={n}):\n{kernel}")
            }
            Step::Kernel(launch) => format!("kernel {i} (n={}):\n{}", launch.size, launch.kernel),
            Step::Primitive(launch) => format!("primitive {i}: {}\n", launch.primitive.name()),
        };
        plan.steps.iter().enumerate().map(text).collect()
    }

    /// A line for each launch of a plan of the arrays that are `wanted`: what it reads and makes, and what it stores
    /// besides because somebody holds it.
    pub fn explained(&self, plan: &Plan, wanted: &[Array]) -> String {
        let wanted: HashSet<Serial> = wanted.iter().map(Array::serial).collect();
        let line = |(i, step): (usize, &Step)| match step {
            Step::Kernel(launch) => self.explained_kernel(i, launch, &wanted),
            Step::Primitive(launch) => explained_primitive(i, launch),
        };
        plan.steps.iter().enumerate().map(line).collect()
    }

    fn explained_kernel(&self, i: usize, launch: &Launch, wanted: &HashSet<Serial>) -> String {
        let kernel = &launch.kernel;
        let (inputs, outputs) = (kernel.n_inputs(), kernel.buffers.len() - kernel.n_inputs());
        let (name, times) = match launch.n_members() {
            n if launch.is_batch() => ("batch", format!("{n} times ")),
            _ => ("kernel", String::new()),
        };
        let (size, n_ops, n_uniform) = (launch.size, kernel.n_ops, kernel.n_uniform);
        let together = launch.together.map_or_else(String::new, |together| {
            format!("; no batch of its {outputs} results: {}", together.words())
        });
        let besides = self.written_besides(launch, wanted);
        let besides = match &besides[..] {
            [] => String::new(),
            besides => format!("; keeps {} too", besides.join(", ")),
        };
        format!(
            "{name} {i}: {times}n={size}, in={inputs}, out={outputs}, ops={n_ops}, {n_uniform} of them \
             uniform{together}{besides}{}\n",
            self.exchange(launch)
        )
    }

    /// What parts of the device will bring each other for a launch, in words; nothing of other devices.
    fn exchange(&self, launch: &Launch) -> String {
        let Some(device) = self.runtime().opened() else { return String::new() };
        let operands: Vec<Operand> = self.with_table(|table| {
            let whole = |id| Operand { elements: table.get(id).size, first: 0 };
            let operand = |binding: &Binding| match *binding {
                Binding::Run { source, first, .. } => Operand { first, ..whole(source) },
                Binding::Update { target, .. } => whole(target),
                Binding::Read(id) | Binding::Write(id) | Binding::Scratch(id) => whole(id),
            };
            launch.bindings.iter().map(operand).collect()
        });
        match device.backend.exchange(&launch.kernel, launch.size, &operands) {
            None | Some(Exchange { bytes: 0, .. }) => String::new(),
            Some(Exchange { bytes, is_at_most }) => {
                let most = if is_at_most { "at most " } else { "" };
                format!("; parts exchange {most}{}", Bytes(bytes))
            }
        }
    }

    /// The machine code of a plan's kernels as the device would compile them first, each instruction
    /// under the one it belongs to; `None` if the device runs no machine code of ours.
    ///
    /// # Errors
    /// `Interrupted`; `Tool` if a program fails that shows it.
    pub fn disassemble(&self, plan: &Plan) -> Result<Option<String>> {
        let backend = &self.device()?.backend;
        let texts =
            plan.kernels().map(|launch| backend.disassemble(&launch.kernel, LiteralMode::Embedded));
        Ok(texts.collect::<Result<Option<Vec<String>>>>()?.map(|texts| texts.join("\n")))
    }

    /// The PTX of a plan's kernels: for the device if it is a GPU, else for `sm_75`.
    ///
    /// # Errors
    /// `NoDevice`.
    pub fn ptx(&self, plan: &Plan) -> Result<String> {
        let backend = &self.device()?.backend;
        let text = |launch: &Launch| ptx(&**backend, &launch.kernel);
        Ok(plan.kernels().map(text).collect::<Vec<_>>().join("\n"))
    }

    /// The machine code that [`Session::ptx`] becomes: by the driver if the device is a GPU, else by `ptxas`.
    ///
    /// # Errors
    /// `Tool` if a program is missing or fails, `Compilation`.
    pub fn sass(&self, plan: &Plan) -> Result<String> {
        let (device, toolkit) = (self.device()?, self.runtime().toolkit());
        toolkit.find("nvdisasm")?;
        let text = |launch: &Launch| {
            let (backend, kernel) = (&*device.backend, &launch.kernel);
            if backend.gpu().is_some_and(|gpu| gpu.source(kernel, LiteralMode::Embedded).is_some())
                && let Some(text) = backend.disassemble(kernel, LiteralMode::Embedded)?
            {
                return Ok(text);
            }
            toolkit.disassemble(&toolkit.assemble(&ptx(backend, kernel))?)
        };
        Ok(plan.kernels().map(text).collect::<Result<Vec<_>>>()?.join("\n"))
    }
}

fn ptx(backend: &dyn Backend, kernel: &Kernel) -> String {
    let mode = LiteralMode::Embedded;
    let text = backend.gpu().and_then(|gpu| gpu.source(kernel, mode));
    text.unwrap_or_else(|| cuda::lower(kernel, mode, cuda::Target::SM_75))
}

fn explained_primitive(i: usize, launch: &PrimitiveLaunch) -> String {
    let (name, inputs) = (launch.primitive.name(), launch.operands.len());
    let n_members = launch.others.len() + 1;
    let outputs = launch.results().count() / n_members;
    let times = if n_members == 1 { String::new() } else { format!("{n_members} times ") };
    format!("{name} {i}: {times}in={inputs}, out={outputs}\n")
}

impl Whos {
    /// Whether the device has parts.
    pub fn has_parts(&self) -> bool {
        self.rows.iter().any(|row| row.parts.is_some())
    }

    fn add(
        &mut self,
        variable: &Variable,
        bytes_within: u64,
        running: bool,
        parts: Option<Vec<u64>>,
    ) {
        self.savings = self.savings.saturating_add(bytes_within);
        let bytes = variable.bytes();
        let lost = matches!(variable.poisoned(), Some(Error::Lost { .. }));
        let ready = variable.kind == Kind::Data && !lost;
        // A number costs nothing until it is stored.
        let number = variable.kind.number().is_some();
        match (ready, variable.external > 0) {
            _ if lost => {}
            (true, _) => self.ready = self.ready.saturating_add(bytes),
            (false, true) if !number => self.scheduled = self.scheduled.saturating_add(bytes),
            (false, true) => {}
            (false, false) => self.savings = self.savings.saturating_add(bytes),
        }
        self.rows.push(WhosRow {
            id: variable.serial,
            dtype: variable.dtype,
            external: variable.external,
            internal: variable.internal,
            size: variable.size,
            bytes,
            ready,
            running,
            faulty: false,
            lost,
            label: variable.label().cloned(),
            parts,
        });
    }

    fn shorten(&mut self) {
        let mut others = 0;
        let before = self.rows.len();
        self.rows.retain(|row| {
            let shown = row.external > 0 || row.label.is_some();
            others += usize::from(!shown);
            shown || others <= OTHERS_SHOWN
        });
        self.n_hidden = before - self.rows.len();
    }
}
