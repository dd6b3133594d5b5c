//! Plans of calls that were planned before: of a function that was recorded once (S21), whose inputs are in memory, and of
//! which nothing but the results is wanted.
//!
//! What such a call launches depends on what was recorded, on which of its results are wanted, and on the flags. So the
//! second one is neither copied into the trace nor planned.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::launches::{Binding, Check, Launch, Member, Plan, PrimitiveLaunch, Step};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::composite::Recording;
use crate::ir::kernel::Target;
use crate::ir::mix::Mix;
use crate::ir::table::Table;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};

/// What a plan counts for besides.
const PLAN: usize = 32;

/// Lanes up to which planning a part of a call takes longer than computing all of it.
const FEW_LANES: u64 = 1 << 16;

/// A call of which all results that somebody holds are evaluated, and nothing else. Of a small one they are where one is
/// asked for: a step of a training gives a loss, which is read, and parameters, which the next step takes.
pub(super) struct Called {
    key: Key,
    /// Whether that is more than was asked for.
    is_more: bool,
    inputs: SmallVec<[VarId; 4]>,
    /// By position.
    results: SmallVec<[VarId; 2]>,
    recording: Arc<Recording>,
    line: u32,
    serial: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The serial of what was recorded.
    recording: u64,
    /// Positions of the results that are wanted.
    wanted: SmallVec<[usize; 2]>,
    /// What the session's flags say of the target.
    flags: [bool; 3],
}

/// A plan of one call. Its variables are places: of inputs, of results, of what depends on no input, of what is between
/// launches.
struct Known {
    fills: Vec<VarId>,
    steps: Vec<Step>,
    /// What one launch leaves for another, and numbers that launches read or write over.
    between: Vec<Between>,
}

/// What is made for one evaluation of a call.
struct Between {
    /// That of a number; of others it does not matter.
    kind: Kind,
    dtype: DType,
    size: u64,
}

impl Between {
    /// Something like a variable.
    fn like(variable: &Variable) -> Self {
        let kind = if variable.kind.number().is_some() { variable.kind } else { Kind::Index };
        Self { kind, dtype: variable.dtype, size: variable.size }
    }

    fn variable(&self) -> Variable {
        Variable::new(self.kind, self.dtype, self.size, [None; MAX_OPERANDS])
    }
}

/// Plans that were made before.
#[derive(Default)]
pub(super) struct KnownPlans {
    plans: HashMap<Key, Known, Mix>,
    n_kept: usize,
    /// Serials of what was recorded with indices that may be out of bounds, of which who asks for one result is told of no
    /// other one, or takes long.
    partial: HashSet<u64, Mix>,
}

impl Called {
    /// The call that gives `roots`.
    pub(super) fn of(table: &Table, roots: &[VarId], target: Target) -> Option<Self> {
        let first = table.get(*roots.iter().find(|&&root| !table.get(root).is_there())?);
        let call = &first.result_of()?.call;
        let recording = &call.recording;
        let inputs: SmallVec<[VarId; 4]> = first.operands().take(recording.inputs.len()).collect();
        let mut distinct = inputs.clone();
        distinct.sort_unstable();
        distinct.dedup();
        // One that the recording reads itself would be taken for the other.
        let is_outside = |id: &VarId| recording.outside.binary_search(id).is_ok();
        let is_lost = |&id: &VarId| table.get(id).poisoned().is_some();
        if distinct.len() < inputs.len()
            || !inputs.iter().all(|&id| table.get(id).is_there())
            || inputs.iter().any(is_outside)
            || recording.outside.iter().any(is_lost)
        {
            return None;
        }
        let pending = table.pending_results(call);
        let mut wanted: SmallVec<[VarId; 2]> = roots.iter().copied().collect();
        wanted.retain(|root| !table.get(*root).is_there());
        wanted.sort_unstable();
        wanted.dedup();
        let is_of_call = |id: &VarId| pending.iter().any(|(_, result)| result == id);
        let of_call = inputs.iter().chain(pending.iter().map(|(_, id)| id));
        let is_small = || of_call.clone().all(|&id| table.get(id).size <= FEW_LANES);
        let is_more = pending.len() > wanted.len();
        if !wanted.iter().all(is_of_call) || is_more && !is_small() {
            return None;
        }
        let (wanted, results) = pending.into_iter().unzip();
        let flags = [target.lane_order, target.fast_math, target.batch];
        let key = Key { recording: recording.serial, wanted, flags };
        let (line, serial, recording) = (first.line, first.serial, recording.clone());
        Some(Self { key, is_more, inputs, results, recording, line, serial })
    }

    /// What is evaluated.
    pub(super) fn roots(&self) -> &[VarId] {
        &self.results
    }

    /// The variables that are there before its plan.
    fn known(&self) -> impl Iterator<Item = VarId> {
        self.inputs.iter().chain(&self.results).chain(&self.recording.outside).copied()
    }
}

impl KnownPlans {
    /// Whether a call is evaluated as a whole.
    pub(super) fn is_whole(&self, called: &Called) -> bool {
        !called.is_more || !self.partial.contains(&called.key.recording)
    }

    /// Whether a plan may be out of bounds in what nobody asked for, or takes long: then the call is no whole.
    pub(super) fn rejects(&mut self, called: &Called, plan: &Plan, table: &Table) -> bool {
        let is_rejected = |launch: &Launch| {
            launch.all_checks().next().is_some()
                || launch.kernel.has_regions()
                || launch.size > FEW_LANES
        };
        let is_large = |id: VarId| table.get(id).size > FEW_LANES;
        let rejects = called.is_more
            && (plan.kernels().any(is_rejected)
                || plan.steps.iter().flat_map(Step::held).any(is_large));
        rejects && self.partial.insert(called.key.recording)
    }

    /// What a call launches, if one like it was planned before. The caller owns external references to what is between
    /// the launches.
    pub(super) fn plan(&self, called: &Called, table: &mut Table) -> Option<(Plan, Vec<VarId>)> {
        let known = self.plans.get(&called.key)?;
        // They are no operations that somebody recorded.
        let inlines = std::mem::replace(&mut table.recording.inlines, true);
        let between = known.between.iter().map(|like| table.insert(like.variable()));
        let between: Vec<VarId> = between.collect();
        table.recording.inlines = inlines;
        let ids: Vec<VarId> = called.known().chain(between.iter().copied()).collect();
        let on = |place: VarId| Some(ids[place.index()]);
        // Errors are told in the order of recording.
        let check = |check: Check| {
            let serial = called.serial + check.serial;
            Some(Check { serial, line: called.line, ..check })
        };
        let steps = known.steps.iter().map(|step| renamed(step, &on, &check));
        let steps: Option<_> = steps.collect();
        let steps = steps.expect("internal error: a place without a variable");
        let fills = known.fills.iter().map(|place| ids[place.index()]).collect();
        Some((Plan { fills, steps }, between))
    }

    /// Keeps what a call launches, if that is made of the call alone; of all plans at most so many instructions and bindings.
    pub(super) fn learn(&mut self, called: Called, plan: &Plan, table: &Table, most: usize) {
        let Some(known) = Known::of(&called, plan, table) else { return };
        let insts = plan.kernels().map(|launch| launch.kernel.insts.len()).sum::<usize>();
        let size = PLAN + insts + plan.steps.iter().map(|step| step.held().count()).sum::<usize>();
        if self.n_kept + size > most {
            *self = Self::default();
        }
        self.n_kept += size;
        self.plans.insert(called.key, known);
    }
}

impl Known {
    /// A plan with places for variables; `None` if it reads what the call does not know of, or makes what others hold.
    fn of(called: &Called, plan: &Plan, table: &Table) -> Option<Self> {
        let mut places: HashMap<VarId, VarId, Mix> =
            called.known().zip((0..).map(VarId::new)).collect();
        let n_known = places.len();
        let is_result = called.inputs.len()..called.inputs.len() + called.results.len();
        let (mut between, mut n_results) = (Vec::new(), 0);
        let results = plan.steps.iter().flat_map(Step::results).map(|id| (id, true));
        for (id, is_made) in results.chain(plan.fills.iter().map(|&id| (id, false))) {
            match places.get(&id) {
                Some(place) if is_made && is_result.contains(&place.index()) => n_results += 1,
                // What depends on no input is computed once.
                Some(_) if is_made => return None,
                Some(_) => {}
                None => {
                    let variable = table.get(id);
                    if is_made && variable.external > 0 {
                        return None;
                    }
                    places.insert(id, VarId::new(exactly(n_known + between.len())));
                    between.push(Between::like(variable));
                }
            }
        }
        if n_results < called.results.len() {
            return None;
        }
        let on = |id: VarId| places.get(&id).copied();
        let first = plan.kernels().flat_map(Launch::all_checks).map(|check| check.serial).min();
        let first = first.unwrap_or(0);
        let check = |check: Check| Some(Check { serial: check.serial - first, ..check });
        let steps = plan.steps.iter().map(|step| renamed(step, &on, &check));
        let fills = plan.fills.iter().map(|&id| on(id));
        Some(Self {
            fills: fills.collect::<Option<_>>()?,
            steps: steps.collect::<Option<_>>()?,
            between,
        })
    }
}

/// A step on other variables.
pub(super) fn renamed(
    step: &Step,
    on: &impl Fn(VarId) -> Option<VarId>,
    check: &impl Fn(Check) -> Option<Check>,
) -> Option<Step> {
    let checks = |checks: &[Check]| checks.iter().copied().map(check).collect::<Option<Vec<_>>>();
    Some(match step {
        Step::Kernel(launch) => Step::Kernel(Launch {
            kernel: launch.kernel.clone(),
            size: launch.size,
            together: launch.together,
            bindings: bindings(&launch.bindings, on)?,
            checks: checks(&launch.checks)?,
            others: {
                let member = |member: &Member| {
                    Some(Member {
                        bindings: bindings(&member.bindings, on)?,
                        literals: member.literals.clone(),
                        checks: checks(&member.checks)?,
                    })
                };
                launch.others.iter().map(member).collect::<Option<_>>()?
            },
        }),
        Step::Primitive(launch) => Step::Primitive(primitive(launch, on)?),
    })
}

fn bindings(bindings: &[Binding], on: &impl Fn(VarId) -> Option<VarId>) -> Option<Vec<Binding>> {
    let binding = |binding: &Binding| {
        Some(match *binding {
            Binding::Read(id) => Binding::Read(on(id)?),
            Binding::Write(id) => Binding::Write(on(id)?),
            // Who is planned already looks at the source alone.
            Binding::Run { source, first, .. } => {
                let source = on(source)?;
                Binding::Run { lanes: source, source, first }
            }
            Binding::Update { result, target } => {
                Binding::Update { result: on(result)?, target: on(target)? }
            }
            Binding::Scratch(target) => Binding::Scratch(on(target)?),
        })
    };
    bindings.iter().map(binding).collect()
}

fn primitive(
    launch: &PrimitiveLaunch,
    on: &impl Fn(VarId) -> Option<VarId>,
) -> Option<PrimitiveLaunch> {
    Some(PrimitiveLaunch {
        primitive: launch.primitive,
        operands: launch.operands.iter().map(|&id| on(id)).collect::<Option<_>>()?,
        result: on(launch.result)?,
        imag: match launch.imag {
            Some(imag) => Some(on(imag)?),
            None => None,
        },
        others: launch.others.iter().map(|other| primitive(other, on)).collect::<Option<_>>()?,
    })
}
