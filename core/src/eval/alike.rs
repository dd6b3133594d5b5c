//! What an evaluation computes many times over: components of one structure become members of one launch (S28).
//!
//! A component is made of the writes of a group that share a value which is dear to compute, or a write; of what two share
//! and is cheap each computes its own. Two components are alike if their operations, types and sizes are, and if the same
//! values stand in the same places: then the kernel of one computes the other from its own memory and literals.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::consecutive::run;
use super::launches::{Check, Launch, Member, Together};
use super::walk::{CHEAP, POLL_INTERVAL, SlotMap, Walk};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::mix::Mix;
use crate::ir::var::{Kind, Reader, VarId};

/// Members from which on a launch of its own pays: fewer are compiled into one kernel as fast.
pub(super) const FEWEST: usize = 8;
/// Lanes from which on memory decides, so that members which share what they read are better off in one kernel; lanes from
/// which on compiling does not count, and dying inputs give their blocks; and up to how many members.
const MANY_LANES: u64 = 1 << 15;
const MOST_LANES: u64 = 1 << 20;
const FEW_MEMBERS: usize = 64;
/// Up to how many lanes each member had better compute more of what it shares than put it into a kernel of all: compiling an
/// operation takes as long as computing it for some thousand lanes.
const SMALL_LANES: u64 = 1 << 12;
const DEAR_IF_SMALL: u32 = 8 * CHEAP;

/// What one kernel writes: stored nodes of one stage and size, by node number.
pub(super) struct Group {
    pub(super) stage: u32,
    pub(super) size: u64,
    pub(super) writes: SmallVec<[usize; 2]>,
    /// Other writes that are alike.
    pub(super) alike: Option<Alike>,
    /// Why so many writes are no batch.
    pub(super) together: Option<Together>,
}

/// Variables of a component in the order in which they are met: of alike ones the same place means the same.
type Met = Vec<VarId>;

/// Components of a group.
pub(super) struct Components<'w, 't> {
    walk: &'w Walk<'t>,
    /// Number of each variable among those met of its component.
    number_of: &'w mut SlotMap<u32>,
    /// What the component that is looked at is made of, in words.
    words: Vec<u64>,
    path: Vec<(VarId, usize)>,
    n_steps: usize,
}

impl<'w, 't> Components<'w, 't> {
    pub(super) fn new(walk: &'w Walk<'t>, number_of: &'w mut SlotMap<u32>) -> Self {
        Self { walk, number_of, words: Vec::new(), path: Vec::new(), n_steps: 0 }
    }

    /// Splits groups into those of alike components and the rest, in the order of their first writes.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn split(&mut self, groups: Vec<Group>) -> Result<Vec<Group>> {
        if groups.iter().all(|group| group.writes.len() < FEWEST) {
            return Ok(groups);
        }
        let mut owner: Vec<u64> = vec![0; self.walk.nodes.len()];
        let mut split = Vec::with_capacity(groups.len());
        for (number, group) in (1..).zip(groups) {
            if group.writes.len() < FEWEST {
                split.push(group);
                continue;
            }
            self.split_one(group, number << 32, &mut owner, &mut split)?;
        }
        Ok(split)
    }

    fn split_one(
        &mut self,
        group: Group,
        stamp: u64,
        owner: &mut [u64],
        split: &mut Vec<Group>,
    ) -> Result<()> {
        let components = self.components(&group, stamp, owner)?;
        if components.len() < FEWEST {
            split.push(Group { together: Some(Together::Shared), ..group });
            return Ok(());
        }
        let mut together = None;
        let mut kinds: Vec<Kinds> = Vec::new();
        let mut known: HashTable<usize> = HashTable::new();
        let mut rest: Vec<usize> = Vec::new();
        for writes in components {
            let Some(met) = self.meet(&group, &writes)? else {
                together = together.or(Some(Together::Whole));
                rest.extend(writes);
                continue;
            };
            let hash = mixed(&self.words);
            let place = match known.find(hash, |&kind| kinds[kind].words == self.words) {
                Some(&kind) => kind,
                None => {
                    kinds.push(Kinds { words: self.words.clone(), components: Vec::new() });
                    known.insert_unique(hash, kinds.len() - 1, |&kind| mixed(&kinds[kind].words));
                    kinds.len() - 1
                }
            };
            kinds[place].components.push((writes, met));
        }
        for Kinds { components: kind, .. } in kinds {
            let why = if kind.len() < FEWEST {
                Some(Together::Unlike)
            } else if self.stay(&group, &kind) {
                Some(Together::Large)
            } else {
                None
            };
            if why.is_some() {
                together = together.or(why);
                rest.extend(kind.into_iter().flat_map(|(writes, _)| writes));
                continue;
            }
            let mut members = kind.into_iter();
            let (writes, first) = members.next().expect("internal error: a kind of nothing");
            let others = members.map(|(_, met)| met).collect();
            let Group { stage, size, .. } = group;
            split.push(Group {
                stage,
                size,
                writes: writes.into(),
                alike: Some(Alike { first, others }),
                together: None,
            });
        }
        if !rest.is_empty() {
            let serial = |&node: &usize| self.walk.table.get(self.walk.nodes[node].id).serial;
            rest.sort_by_key(serial);
            let together = together.filter(|_| rest.len() >= FEWEST);
            split.push(Group { writes: rest.into(), together, ..group });
        }
        Ok(())
    }

    /// Writes by component, in the order of their first ones.
    ///
    /// # Errors
    /// `Interrupted`.
    fn components(
        &mut self,
        group: &Group,
        stamp: u64,
        owner: &mut [u64],
    ) -> Result<Vec<Vec<usize>>> {
        // Which component each write has become a part of.
        let mut joined: Vec<usize> = (0..group.writes.len()).collect();
        let mut path = Vec::new();
        let dear = if group.size <= SMALL_LANES { DEAR_IF_SMALL } else { CHEAP };
        for (write, &node) in group.writes.iter().enumerate() {
            path.push(node);
            while let Some(at) = path.pop() {
                self.look()?;
                let node = &self.walk.nodes[at];
                let own = stamp | (write as u64 + 1);
                if owner[at] == own {
                    continue;
                }
                if owner[at] & !u64::from(u32::MAX) == stamp {
                    if node.stored || node.cost > dear {
                        let other = exactly::<usize>(owner[at] & u64::from(u32::MAX)) - 1;
                        join(&mut joined, other, write);
                        continue;
                    }
                } else {
                    owner[at] = own;
                }
                let needs = self.walk.table.needs(node.id, self.walk.table.get(node.id));
                path.extend(needs.iter().filter_map(|need| self.computed_here(group, need)));
            }
        }
        let mut components: Vec<Vec<usize>> = Vec::new();
        let mut place: Vec<Option<usize>> = vec![None; group.writes.len()];
        for (write, &node) in group.writes.iter().enumerate() {
            let root = root(&mut joined, write);
            let at = *place[root].get_or_insert_with(|| {
                components.push(Vec::new());
                components.len() - 1
            });
            components[at].push(node);
        }
        Ok(components)
    }

    /// The node of a variable that the group's kernel computes.
    fn computed_here(&self, group: &Group, id: VarId) -> Option<usize> {
        let position = self.walk.position(id)?;
        let node = &self.walk.nodes[position];
        (!node.stored || node.stage >= group.stage).then_some(position)
    }

    /// Puts down in words what a component is made of. The variables in it; `None` if it holds what only its own kernel may:
    /// regions, writes by index, primitives.
    ///
    /// # Errors
    /// `Interrupted`.
    fn meet(&mut self, group: &Group, writes: &[usize]) -> Result<Option<Met>> {
        self.number_of.clear();
        self.words.clear();
        self.path.clear();
        let mut met = Met::new();
        let table = self.walk.table;
        for &write in writes {
            self.path.push((self.walk.nodes[write].id, 0));
            'met: while let Some((id, next)) = self.path.pop() {
                self.look()?;
                if self.number_of.get(id).is_some() {
                    continue;
                }
                let variable = table.get(id);
                let is_computed = self.computed_here(group, id).is_some();
                let needs = table.needs(id, variable);
                for position in next..self.n_needs(group, id) {
                    let Some(need) = needs.get(position).filter(|_| is_computed) else { break };
                    if self.number_of.get(need).is_none() {
                        self.path.extend([(id, position), (need, 0)]);
                        continue 'met;
                    }
                }
                if !self.describe(group, id, is_computed) {
                    return Ok(None);
                }
                self.number_of.insert(id, exactly(met.len()));
                met.push(id);
            }
        }
        let number = |&write: &usize| self.number_of.get(self.walk.nodes[write].id);
        self.words.extend(writes.iter().filter_map(number).map(u64::from));
        Ok(Some(met))
    }

    /// How many of what a variable needs are part of the kernel: of consecutive lanes the number of the first is not.
    fn n_needs(&self, group: &Group, id: VarId) -> usize {
        let table = self.walk.table;
        if run(table, table.get(id), group.size).is_some() { 1 } else { usize::MAX }
    }

    /// Puts down what a variable is: a word, one for each operand, and one for a number. Whether it may be a part of a
    /// member.
    fn describe(&mut self, group: &Group, id: VarId, is_computed: bool) -> bool {
        let table = self.walk.table;
        let variable = table.get(id);
        let is_one = variable.size == 1;
        // What is read by index has a size of its own.
        let is_other = !is_one && variable.size != group.size;
        if is_other && is_computed {
            return false;
        }
        let size = is_other.then_some(variable.size);
        let (tag, number, bits) = match variable.kind {
            Kind::Literal(_) => (0, 0, size),
            Kind::Constant(bits) if size.is_none() => (1, 0, Some(bits)),
            Kind::Constant(_) => (2, 0, size),
            _ if !is_computed => (2, 0, size),
            Kind::Gather { checked } => {
                let is_run = run(table, variable, group.size).is_some();
                (7, u64::from(is_run), Some(reader_word(checked)))
            }
            Kind::Index => (3, 0, None),
            Kind::Op(op) => (4, op as u64, None),
            Kind::Reduce(op) => (5, op as u64, None),
            Kind::Call(_) | Kind::Output { .. } => {
                let Some(function) = table.application(id, variable) else { return false };
                let Kind::Call(body) = function.call.kind else { return false };
                let position = if let Kind::Output { position } = variable.kind {
                    u64::from(position) + 1
                } else {
                    0
                };
                (6, position, Some(body.index() as u64))
            }
            Kind::Composite
            | Kind::Fetch
            | Kind::Scatter { .. }
            | Kind::Primitive(_)
            | Kind::ActiveMask
            | Kind::RunningMask
            | Kind::Phi { .. }
            | Kind::Region { .. }
            | Kind::Result { .. }
            | Kind::Data => return false,
        };
        let sizes = u64::from(is_one) << 16 | u64::from(is_other) << 17;
        let what = tag | (variable.dtype as u64) << 8 | sizes | number << 32;
        self.words.push(what);
        self.words.extend(bits);
        if is_computed {
            let numbers = table.needs(id, variable).iter().take(self.n_needs(group, id));
            let numbers = numbers.filter_map(|need| self.number_of.get(need)).map(u64::from);
            self.words.extend(numbers);
        }
        true
    }

    /// Whether members are better off in one kernel of all: few that are large, and more so where they read mostly the
    /// same memory.
    fn stay(&self, group: &Group, kind: &[(Vec<usize>, Met)]) -> bool {
        if group.size < MANY_LANES || kind.len() > FEW_MEMBERS {
            return false;
        }
        if group.size >= MOST_LANES {
            return true;
        }
        // Lane by lane: what is read by index is the same for most.
        let is_read = |id: &&VarId| {
            let variable = self.walk.table.get(**id);
            let is_run = || run(self.walk.table, variable, group.size).is_some();
            variable.size == group.size && (self.computed_here(group, **id).is_none() || is_run())
        };
        let mut read: Vec<VarId> =
            kind.iter().flat_map(|(_, met)| met).filter(is_read).copied().collect();
        let n_all = read.len();
        read.sort_unstable();
        read.dedup();
        2 * read.len() <= n_all
    }

    /// Looks at the interrupt flag now and then.
    fn look(&mut self) -> Result<()> {
        self.n_steps += 1;
        match self.n_steps.is_multiple_of(POLL_INTERVAL) && interrupt::is_requested() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// Components of one structure, which the words tell.
struct Kinds {
    words: Vec<u64>,
    /// The writes of each, and the variables in it.
    components: Vec<(Vec<usize>, Met)>,
}

/// Who compares indices, as a word.
fn reader_word(reader: Option<Reader>) -> u64 {
    let mut hasher = Mix::default();
    reader.hash(&mut hasher);
    hasher.finish()
}

fn mixed(words: &[u64]) -> u64 {
    let mut hasher = Mix::default();
    words.iter().for_each(|&word| hasher.write_u64(word));
    hasher.finish()
}

/// Members that are alike: what the first one met, and the others.
pub(super) struct Alike {
    first: Met,
    others: Vec<Met>,
}

impl Alike {
    /// How many there are.
    pub(super) fn n_members(&self) -> usize {
        self.others.len() + 1
    }

    /// What the others take and make where the launch of the first is this one; `literals` are the variables of its
    /// literals, `accesses` those of its accesses.
    pub(super) fn members(
        self,
        launch: &Launch,
        literals: &[VarId],
        accesses: &[VarId],
        walk: &Walk<'_>,
    ) -> Vec<Member> {
        let places: HashMap<VarId, usize, Mix> = self.first.into_iter().zip(0..).collect();
        let bindings: Vec<usize> = launch.bindings.iter().map(|one| places[&one.place()]).collect();
        let [literals, accesses] =
            [literals, accesses].map(|of| of.iter().map(|id| places[id]).collect::<Vec<_>>());
        let bits = |id: VarId| walk.table.get(id).kind.number().unwrap_or(0);
        let member = |met: Met| Member {
            bindings: launch
                .bindings
                .iter()
                .zip(&bindings)
                .map(|(one, &at)| one.on(met[at], walk.table))
                .collect(),
            literals: literals.iter().map(|&at| bits(met[at])).collect(),
            checks: accesses.iter().map(|&at| Check::of(walk.table, met[at])).collect(),
        };
        self.others.into_iter().map(member).collect()
    }
}

fn root(joined: &mut [usize], mut write: usize) -> usize {
    while joined[write] != write {
        joined[write] = joined[joined[write]];
        write = joined[write];
    }
    write
}

/// Makes one component of two, under the earlier one.
fn join(joined: &mut [usize], one: usize, other: usize) {
    let [one, other] = [root(joined, one), root(joined, other)];
    joined[one.max(other)] = one.min(other);
}
