//! What waits to be evaluated: values that are made alike, of which who reads one will read the others; and how much waits
//! in all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::{HIGH_WATER, Table};
use crate::ir::mix::Mix;
use crate::ir::primitive::Primitive;
use crate::ir::var::{Kind, VarId};

/// So many that are alike are worth a batch.
const MANY: usize = 32;
/// So many values are looked at in vain for each read that goes on without a look: as long as a read takes.
const LOOKED_AT: usize = 1024;
/// Values on the way to one that is read of which others may be alike.
const MOST_MODELS: usize = 4;
/// Most steps that lead to one of them.
const MOST_STEPS: usize = 64;
/// Most work of a step, and of all steps of all of them, in operations of lanes, that is done before somebody asks for it: some
/// milliseconds.
const MOST_OF_STEP: u64 = 1 << 16;
const MOST_WORK: u64 = 1 << 24;

/// The steps that lead to a value, numbers apart.
#[derive(Default)]
struct Steps {
    n: usize,
    work: u64,
    hash: Mix,
}

impl Table {
    /// What waits, is held, and is wanted; the caller owns an external reference to each, for another thread may drop its
    /// handle before the evaluation begins.
    pub(crate) fn hold_unevaluated(
        &mut self,
        mut is_wanted: impl FnMut(&Self, VarId) -> bool,
    ) -> Vec<VarId> {
        let mut ids = self.held_unevaluated();
        ids.retain(|&id| is_wanted(self, id));
        ids.iter().for_each(|&id| self.inc_external(id));
        ids
    }

    /// Those variables that are made of no stand-in.
    pub(crate) fn with_lanes(&self, ids: &[VarId]) -> Vec<VarId> {
        let mut known: HashMap<VarId, bool, Mix> = HashMap::default();
        // Each before and behind what it is made of.
        let mut path: Vec<(VarId, bool)> = ids.iter().map(|&id| (id, false)).collect();
        while let Some((id, is_behind)) = path.pop() {
            let variable = self.get(id);
            let mut operands = variable.operands().filter(|_| variable.kind != Kind::Data);
            if is_behind {
                let has_lanes = !variable.is_stand_in() && operands.all(|operand| known[&operand]);
                known.insert(id, has_lanes);
            } else if let Entry::Vacant(new) = known.entry(id) {
                new.insert(true);
                path.push((id, true));
                path.extend(operands.map(|operand| (operand, false)));
            }
        }
        ids.iter().copied().filter(|id| known[id]).collect()
    }

    /// The values that wait as this one does, or as one that it is made of and somebody else holds: small, made by the same
    /// steps from other numbers and arrays, and many. The caller owns an external reference to each.
    pub(crate) fn waiting_alike(&mut self, id: VarId) -> Vec<VarId> {
        if self.looks.pauses > 0 {
            self.looks.pauses -= 1;
            return Vec::new();
        }
        if self.candidates.len() < MANY || !self.is_pending(id) {
            return Vec::new();
        }
        let models = self.held_within(id);
        let alike = models.iter().map(|&model| self.alike(model)).find(|alike| alike.len() >= MANY);
        if alike.is_none() {
            self.looks.pauses = models.len() * self.candidates.len() / LOOKED_AT;
        }
        let alike = alike.unwrap_or_default();
        alike.iter().for_each(|&id| self.inc_external(id));
        alike
    }

    /// The value, and the first values on the way to it that are held and wait.
    fn held_within(&self, id: VarId) -> SmallVec<[VarId; MOST_MODELS]> {
        let (mut models, mut ways) = (SmallVec::from_slice(&[id]), vec![id]);
        for _ in 0..MOST_STEPS {
            let Some(way) = ways.pop() else { break };
            for operand in self.get(way).operands() {
                if !self.is_pending(operand)
                    || models.contains(&operand)
                    || models.len() == MOST_MODELS
                {
                    continue;
                }
                if self.get(operand).external > 0 {
                    models.push(operand);
                } else {
                    ways.push(operand);
                }
            }
        }
        models
    }

    /// Itself and the values that wait, are held, and are made by the same steps; none if they are few.
    fn alike(&self, id: VarId) -> Vec<VarId> {
        let Some(own) = self.steps_to(id) else { return Vec::new() };
        let root = |id: VarId| (self.get(id).kind, self.handle(id).dtype, self.handle(id).size);
        let is_alike = |&other: &VarId| {
            self.get(other).external > 0
                && root(other) == root(id)
                && self
                    .steps_to(other)
                    .is_some_and(|steps| steps.hash.finish() == own.hash.finish())
        };
        let mut alike: Vec<VarId> = self.candidates.iter().copied().filter(is_alike).collect();
        alike.sort_unstable_by_key(|&id| self.get(id).serial);
        alike.truncate(usize::try_from(MOST_WORK / own.work.max(1)).unwrap_or(usize::MAX));
        alike
    }

    /// The steps to a value; `None` of one that takes many, or that may be out of bounds, writes, or is recorded to be
    /// differentiated: nobody has asked for it.
    fn steps_to(&self, id: VarId) -> Option<Steps> {
        let mut steps = Steps::default();
        self.add_steps(id, &mut steps)?;
        Some(steps)
    }

    fn add_steps(&self, id: VarId, steps: &mut Steps) -> Option<()> {
        let variable = self.get(id);
        steps.n += 1;
        if steps.n > MOST_STEPS || variable.tracked || variable.scope != 0 {
            return None;
        }
        steps.hash.write_u64(variable.size ^ (variable.dtype as u64) << 56);
        // In operations of lanes.
        let work = match variable.kind {
            // Which number or array it is makes no other kernel.
            Kind::Literal(_) => {
                steps.hash.write_u8(0);
                return Some(());
            }
            Kind::Data => {
                steps.hash.write_u8(1);
                return variable.is_there().then_some(());
            }
            Kind::Constant(_)
            | Kind::Index
            | Kind::Op(_)
            | Kind::Call(_)
            | Kind::Output { .. }
            | Kind::Gather { checked: None } => variable.size,
            Kind::Composite => variable.size.saturating_add(self.bytes_within(variable) / 4),
            Kind::Primitive(Primitive::Product(product)) => {
                variable.size.saturating_mul(u64::from(product.depth))
            }
            Kind::Reduce(_) | Kind::Primitive(_) => {
                let sizes = variable.operands().map(|operand| self.get(operand).size);
                sizes.fold(0, u64::saturating_add)
            }
            Kind::Gather { checked: Some(_) }
            | Kind::Fetch
            | Kind::Scatter { .. }
            | Kind::ActiveMask
            | Kind::RunningMask
            | Kind::Phi { .. }
            | Kind::Region { .. }
            | Kind::Result { .. } => return None,
        };
        if work > MOST_OF_STEP {
            return None;
        }
        steps.work += work;
        variable.kind.hash(&mut steps.hash);
        if let Some(composite) = variable.composite() {
            // A call of what was recorded once may be anything.
            composite.result_of.is_none().then(|| composite.hash(&mut steps.hash))?;
        }
        variable.operands().try_for_each(|operand| self.add_steps(operand, steps))
    }

    /// Whether so much waits that what is held should be evaluated: then it is asked again when twice as much is there as
    /// was left.
    pub(crate) fn is_crowded(&self) -> bool {
        self.n_live() > self.looks.high_water
    }

    #[cfg(test)]
    pub(crate) fn set_high_water(&mut self, variables: usize) {
        self.looks.high_water = variables;
    }

    /// What is held was evaluated, or cannot be.
    pub(crate) fn relieved(&mut self) {
        self.looks.high_water = HIGH_WATER.max(2 * self.n_live());
    }
}
