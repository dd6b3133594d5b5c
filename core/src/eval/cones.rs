//! Plans of what was planned before in the same form: the same operations on arrays of the same types and sizes, by other
//! variables.
//!
//! A script that loops records the same again and again. What a plan depends on is put down on one walk, variable by
//! variable; where all of it is equal, the plan is the one from before on these variables. A small form is kept when it is
//! met for the second time: most are met once. To plan a large one takes far longer than to keep it.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use hashbrown::HashTable;

use super::known::renamed;
use super::launches::{Check, Plan};
use super::walk::SlotMap;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::ScriptLine;
use crate::ir::kernel::Target;
use crate::ir::mix::Mix;
use crate::ir::table::Table;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};

/// Variables beyond which an evaluation is planned anyway.
const MOST_MET: usize = 1 << 17;
/// Variables from which on a form is kept when it is met first.
const LARGE: usize = 32;
/// Hashes of forms that were met once.
const N_SEEN: usize = 1 << 8;

/// What a plan depends on of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    kind: Kind,
    dtype: DType,
    size: u64,
    /// Operands by the order in which they are met, from 1 on.
    operands: [u32; MAX_OPERANDS],
    /// Whether it is to be evaluated.
    is_root: bool,
    /// Whether somebody holds it.
    is_held: bool,
    /// Whether something that is not evaluated is made of it.
    is_shared: bool,
    /// Line of what may be out of bounds: errors tell it.
    line: u32,
    /// When it was recorded, from the first one on of those that are told apart by it.
    age: u64,
}

/// A plan whose variables are places: positions among those met.
struct Known {
    hash: u64,
    flags: [bool; 4],
    forms: Box<[Form]>,
    plan: Plan,
}

/// Plans by form, and the walk that puts a form down.
#[derive(Default)]
pub(super) struct Cones {
    known: HashTable<Known>,
    n_kept: usize,
    seen: Vec<u64>,
    forms: Vec<Form>,
    /// The variables in the order in which they are met.
    met: Vec<VarId>,
    /// Positions among them, from 1 on.
    number_of: SlotMap<u32>,
    /// How often each of them is an operand of others.
    uses: Vec<u32>,
    path: Vec<VarId>,
}

/// The form of an evaluation that was walked over last.
#[derive(Clone, Copy)]
pub(super) struct Met {
    hash: u64,
    flags: [bool; 4],
}

impl Cones {
    /// Walks over what `roots` need; `None` of what is too much, or whose plan depends on more than forms tell: regions,
    /// and what becomes something else on the way.
    pub(super) fn meet(&mut self, table: &Table, roots: &[VarId], target: Target) -> Option<Met> {
        let Self { forms, met, number_of, uses, path, .. } = self;
        forms.clear();
        met.clear();
        uses.clear();
        path.clear();
        number_of.grow(table.n_slots());
        number_of.clear();
        let mut first = None;
        for &root in roots {
            path.push(root);
            'met: while let Some(&id) = path.last() {
                if number_of.get(id).is_some() {
                    path.pop();
                    continue;
                }
                let variable = table.get(id);
                let is_made = is_made(variable)?;
                let mut operands = [0; MAX_OPERANDS];
                if is_made {
                    for (place, operand) in operands.iter_mut().zip(variable.operands) {
                        let Some(operand) = operand else { break };
                        let Some(number) = number_of.get(operand) else {
                            path.push(operand);
                            continue 'met;
                        };
                        *place = number;
                    }
                    for place in operands.iter().filter(|&&place| place > 0) {
                        uses[*place as usize - 1] += 1;
                    }
                }
                if met.len() + path.len() >= MOST_MET {
                    return None;
                }
                path.pop();
                met.push(id);
                uses.push(0);
                number_of.insert(id, exactly(met.len()));
                forms.push(Form::of(variable, is_made, operands, &mut first));
            }
        }
        for root in roots {
            let number = number_of.get(*root).map(|number| number as usize);
            let form = &mut forms[number.expect("internal error: a root was not met") - 1];
            form.is_root = true;
            let serial = table.get(*root).serial;
            form.age = serial.wrapping_sub(*first.get_or_insert(serial));
        }
        for ((form, &uses), &id) in forms.iter_mut().zip(uses.iter()).zip(met.iter()) {
            let variable = table.get(id);
            form.is_shared = variable.internal > uses && is_made(variable) == Some(true);
        }
        let flags = [target.lane_order, target.fast_math, target.batch, table.numbering.enabled];
        let mut hasher = Mix::default();
        flags.hash(&mut hasher);
        forms.iter().for_each(|form| form.hash(&mut hasher));
        Some(Met { hash: hasher.finish(), flags })
    }

    /// The plan of what was met last, if one of its form is known.
    pub(super) fn plan(&self, Met { hash, flags }: Met, table: &Table) -> Option<Plan> {
        let is_same = |known: &Known| {
            known.hash == hash && known.flags == flags && *known.forms == *self.forms
        };
        let known = self.known.find(hash, is_same)?;
        let on = |place: VarId| Some(self.met[place.index()]);
        let check = |check: Check| Some(Check::of(table, self.met[exactly::<usize>(check.serial)]));
        let plan = renamed_plan(&known.plan, &on, &check);
        Some(plan.expect("internal error: a place without a variable"))
    }

    /// Keeps the plan of what was met last, if its form is large or was met before; of all plans at most so many forms,
    /// instructions and bindings.
    pub(super) fn learn(
        &mut self,
        Met { hash, flags }: Met,
        plan: &Plan,
        table: &Table,
        most: usize,
    ) {
        if self.seen.is_empty() {
            self.seen.resize(N_SEEN, 0);
        }
        let seen = &mut self.seen[exactly::<usize>(hash % N_SEEN as u64)];
        if std::mem::replace(seen, hash) != hash && self.forms.len() < LARGE {
            return;
        }
        let has_checks = plan.kernels().any(|launch| launch.all_checks().next().is_some());
        let met = self.met.iter().filter(|_| has_checks);
        let serials: HashMap<u64, u32, Mix> =
            met.zip(0..).map(|(&id, place)| (table.get(id).serial, place)).collect();
        let on = |id: VarId| self.number_of.get(id).map(|number| VarId::new(number - 1));
        let check = |check: Check| {
            let place = *serials.get(&check.serial)?;
            Some(Check { serial: place.into(), ..check })
        };
        let Some(plan) = renamed_plan(plan, &on, &check) else { return };
        let insts = plan.kernels().map(|launch| launch.kernel.insts.len()).sum::<usize>();
        let held = plan.steps.iter().map(|step| step.held().count()).sum::<usize>();
        let size = self.forms.len() + insts + held;
        if size > most / 8 {
            return;
        }
        if self.n_kept + size > most {
            self.known.clear();
            self.n_kept = 0;
        }
        self.n_kept += size;
        let known = Known { hash, flags, forms: self.forms.as_slice().into(), plan };
        self.known.insert_unique(hash, known, |known| known.hash);
    }
}

impl Form {
    fn of(
        variable: &Variable,
        is_made: bool,
        operands: [u32; MAX_OPERANDS],
        first: &mut Option<u64>,
    ) -> Self {
        let (kind, serial) = (variable.kind, variable.serial);
        let is_access = matches!(kind, Kind::Gather { .. } | Kind::Scatter { .. });
        let is_written = is_access || matches!(kind, Kind::Reduce(_) | Kind::Primitive(_));
        let is_held = is_made && variable.external > 0;
        let has_age = is_held || is_written;
        Self {
            kind,
            dtype: variable.dtype,
            size: variable.size,
            operands,
            is_root: false,
            is_held,
            is_shared: false,
            // A cell that runs again is another one.
            line: if is_access { ScriptLine::of(variable.line).line } else { 0 },
            age: if has_age { serial.wrapping_sub(*first.get_or_insert(serial)) } else { 0 },
        }
    }
}

impl Hash for Form {
    /// Few words: this is what a known plan costs.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let [a, b, c, d] = self.operands.map(u64::from);
        let marks = [self.is_shared, self.is_root, self.is_held];
        let marks = marks.iter().fold(0, |marks, &mark| marks << 1 | u64::from(mark));
        self.kind.hash(hasher);
        hasher.write_u64(a | b << 32);
        hasher.write_u64(c | d << 32);
        hasher.write_u64(self.size ^ (self.dtype as u64) << 56 ^ marks << 48);
        hasher.write_u64(self.age ^ u64::from(self.line) << 32);
    }
}

/// Whether a variable is made of operands, or a number or in memory; `None` if a plan depends on more of it.
fn is_made(variable: &Variable) -> Option<bool> {
    match variable.kind {
        Kind::Data => variable.poisoned().is_none().then_some(false),
        Kind::Literal(_) | Kind::Constant(_) => Some(false),
        Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Gather { .. }
        | Kind::Scatter { .. }
        | Kind::Reduce(_)
        | Kind::Primitive(_) => (variable.scope == 0 && variable.cold.is_none()).then_some(true),
        Kind::Composite
        | Kind::Fetch
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Region { .. }
        | Kind::Result { .. } => None,
    }
}

fn renamed_plan(
    plan: &Plan,
    on: &impl Fn(VarId) -> Option<VarId>,
    check: &impl Fn(Check) -> Option<Check>,
) -> Option<Plan> {
    Some(Plan {
        fills: plan.fills.iter().map(|&id| on(id)).collect::<Option<_>>()?,
        steps: plan.steps.iter().map(|step| renamed(step, on, check)).collect::<Option<_>>()?,
    })
}
