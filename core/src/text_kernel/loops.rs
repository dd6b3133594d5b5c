//! Loops: unrolled where their turns are known and few, else regions of the kernel.

use super::dialect::LANE;
use super::item::Item;
use super::record::{Flow, Jumps, Recorder, Slot};
use super::tree::{Effects, Expression, Loop, Statement, Step, Term};
use super::trouble::{Span, Trouble};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::Op;
use crate::session::flags::RECORD_LOOPS;

/// Turns up to which a loop is unrolled.
const MOST_UNROLLED: usize = 16;
/// Statements up to which it is, with those of loops inside it.
const MOST_UNROLLED_STEPS: usize = 20_000;

/// How many turns a loop has at most, and how many of them all lanes take.
#[derive(Clone, Copy)]
struct Turns {
    n: usize,
    n_of_all: usize,
}

/// `while (counter < end) { body; counter += stride; }`, in either spelling.
struct Strided<'l> {
    counter: &'l str,
    end: &'l Expression,
    /// Whether the end itself is counted, too.
    has_end: bool,
    stride: &'l Expression,
    body: &'l [Statement],
}

impl<'l> Strided<'l> {
    fn of(inner: &'l Loop) -> Option<Self> {
        let Term::Apply(op, compared) = &inner.condition.as_ref()?.kind else { return None };
        let [left, right] = &compared[..] else { return None };
        let (counter, end) = match op {
            Op::Lt | Op::Le => (left, right),
            Op::Gt | Op::Ge => (right, left),
            _ => return None,
        };
        let (update, body) = match &inner.update[..] {
            [update] => (update, &inner.body[..]),
            [] if !Effects::of(&inner.body).continues => inner.body.split_last()?,
            _ => return None,
        };
        let (place, stride) = added(update)?;
        let Term::Name(counter) = &counter.kind else { return None };
        // What the body declares ends with it.
        let declares = |statement: &Statement| match &statement.kind {
            Step::Declare(_, variables) => variables.iter().any(|(name, _)| {
                name == counter || names(stride).is_none_or(|of| of.contains(name))
            }),
            _ => false,
        };
        let is_strided = place == counter && !inner.is_do && !body.iter().any(declares);
        let has_end = matches!(op, Op::Le | Op::Ge);
        is_strided.then_some(Self { counter, end, has_end, stride, body })
    }
}

/// The variable that a statement adds to, and what: `j += s` or `j = j + s`.
fn added(update: &Statement) -> Option<(&str, &Expression)> {
    let Step::Do(Expression { kind: Term::Assign(op, parts), .. }) = &update.kind else {
        return None;
    };
    let [place, value] = &**parts;
    let Term::Name(name) = &place.kind else { return None };
    match (op, &value.kind) {
        (Some(Op::Add), _) => Some((name, value)),
        (None, Term::Apply(Op::Add, sum)) => match &sum[..] {
            [Expression { kind: Term::Name(first), .. }, stride] if first == name => {
                Some((name, stride))
            }
            _ => None,
        },
        _ => None,
    }
}

impl Recorder<'_> {
    /// Takes a loop, which stands there.
    pub(super) fn repeat(&mut self, inner: &Loop, at: Span) -> Result<Flow, Trouble> {
        let n_variables = self.frame.variables.len();
        let outer = self.frame.active.clone();
        self.frame.level += 1;
        let start = self.run_open(&inner.start);
        self.frame.loops.push(Jumps::default());
        let flow = start.and_then(|_| {
            let turns = match self.n_turns(inner)? {
                Some(n_turns) => Some(Turns { n: n_turns, n_of_all: n_turns }),
                None => self.strides(inner)?,
            };
            match turns {
                Some(turns) if !self.frame.program.is_long(at) => {
                    self.unroll_if_short(inner, turns, at)
                }
                _ => self.region(inner, at),
            }
        });
        self.frame.loops.pop();
        self.frame.level -= 1;
        self.frame.variables.truncate(n_variables);
        let returning = Effects { returns: inner.of_turn().returns, ..Effects::default() };
        self.frame.active = self.live(outer.as_ref(), &returning)?;
        flow
    }

    /// How many turns a loop takes, if that is known and few: its condition and update are of known numbers that the body
    /// leaves alone.
    fn n_turns(&mut self, inner: &Loop) -> Result<Option<usize>, Trouble> {
        let Some(condition) = &inner.condition else { return Ok(None) };
        let body = Effects::of(&inner.body);
        let stays = |expression: &Expression| self.stays(expression, &body);
        let updates = inner.update.iter().map(|statement| match &statement.kind {
            Step::Do(expression) => Some(expression),
            _ => None,
        });
        let Some(updates) = updates.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mut parts = updates.iter().flat_map(|update| match &update.kind {
            Term::Assign(_, parts) => parts.iter().collect(),
            _ => vec![*update],
        });
        if inner.is_do || updates.is_empty() || !stays(condition) || !parts.all(stays) {
            return Ok(None);
        }
        let before = self.frame.variables.clone();
        let mut n_turns = Some(0);
        while let Some(n) = n_turns
            && n <= MOST_UNROLLED
        {
            match self.value(condition)?.known_truth() {
                Some(false) => break,
                Some(true) => n_turns = Some(n + 1),
                None => n_turns = None,
            }
            self.run_open(&inner.update)?;
        }
        self.frame.variables = before;
        Ok(n_turns.filter(|&n| n <= MOST_UNROLLED))
    }

    /// Whether an expression is of known numbers that a body leaves alone.
    fn stays(&self, expression: &Expression, body: &Effects) -> bool {
        let is_known = |name: &str| match self.find(name) {
            Some(at) => matches!(self.frame.variables[at].item, Item::Number(..)),
            None => name != "i" && name != LANE,
        };
        let is_passed = |name: &str| {
            let mut passed = body.passed.iter().filter(|passed| passed.name == name);
            passed.any(|passed| self.frame.program.writes(passed))
        };
        let stays =
            |name: &String| is_known(name) && !body.assigned.contains(name) && !is_passed(name);
        names(expression).is_some_and(|names| names.iter().all(stays))
    }

    /// The turns of `for (int j = i; j < end; j += stride)`, if both numbers are known and the turns are few: CUDA's loop
    /// over more elements than threads, of which there is one turn where every element has a lane.
    fn strides(&mut self, inner: &Loop) -> Result<Option<Turns>, Trouble> {
        let Some(Strided { counter: name, end, has_end, stride, body }) = Strided::of(inner) else {
            return Ok(None);
        };
        let Some(Item::Array(counter)) =
            self.find(name).map(|at| self.frame.variables[at].item.clone())
        else {
            return Ok(None);
        };
        let Item::Array(lane) = self.lane()? else { return Ok(None) };
        let most = match counter.dtype() {
            DType::I32 => i32::MAX.into(),
            DType::U32 => u32::MAX.into(),
            DType::I64 | DType::U64 => i64::MAX,
            _ => return Ok(None),
        };
        let body = Effects::of(body);
        // Perhaps by way of another type that holds every lane.
        let mut begins = false;
        for via in [DType::I32, DType::U32, DType::I64, DType::U64] {
            begins |= lane.cast(via)?.cast(counter.dtype())?.id() == counter.id();
        }
        if !begins || body.assigned.iter().any(|assigned| assigned == name) {
            return Ok(None);
        }
        if !self.stays(end, &body) || !self.stays(stride, &body) {
            return Ok(None);
        }
        let (Some(end), Some(stride)) = (self.value(end)?.whole(), self.value(stride)?.whole())
        else {
            return Ok(None);
        };
        let (lanes, end) = (exactly::<i64>(self.n), end.saturating_add(has_end.into()));
        // No counter comes round.
        let fits =
            stride > 0 && end.max(lanes).checked_add(stride).is_some_and(|last| last <= most);
        if !fits || end > stride.saturating_mul(exactly(MOST_UNROLLED)) {
            return Ok(None);
        }
        let turns_below =
            |end: i64| exactly(end.max(0).cast_unsigned().div_ceil(stride.cast_unsigned()));
        Ok(Some(Turns {
            n: turns_below(end),
            n_of_all: turns_below(end.saturating_sub(lanes - 1)),
        }))
    }

    /// Unrolls a loop; one that is long by the loops inside it becomes a region, in which those are unrolled.
    fn unroll_if_short(&mut self, inner: &Loop, turns: Turns, at: Span) -> Result<Flow, Trouble> {
        if self.unrolled_to.is_some() {
            return self.unroll(inner, turns);
        }
        let (frame, arrays, n_steps) = (self.frame.clone(), self.arrays.clone(), self.n_steps);
        let most = n_steps + MOST_UNROLLED_STEPS;
        self.unrolled_to = Some(most);
        let flow = self.unroll(inner, turns);
        self.unrolled_to = None;
        if flow.is_ok() || self.n_steps <= most {
            return flow;
        }
        (self.frame, self.arrays, self.n_steps) = (frame, arrays, n_steps);
        self.frame.program.keep_long(at);
        self.region(inner, at)
    }

    fn unroll(&mut self, inner: &Loop, turns: Turns) -> Result<Flow, Trouble> {
        let effects = Effects::of(&inner.body);
        let leaving = Effects { continues: false, ..effects.clone() };
        let outer = self.frame.active.clone();
        let level = self.frame.level;
        for turn in 0..turns.n {
            let mut lanes = outer.clone();
            if turn >= turns.n_of_all
                && let Some(condition) = &inner.condition
            {
                let holds = self.value(condition)?.mask(self.session)?;
                lanes = Some(self.and(lanes.as_ref(), &holds)?);
                self.frame.active = self.live(lanes.as_ref(), &leaving)?;
                self.frame.level = level + 1;
            }
            self.frame.level += 1;
            let flow = self.run(&inner.body)?;
            self.frame.level -= 1;
            self.frame.active = self.live(lanes.as_ref(), &leaving)?;
            if flow == Flow::Ends && !effects.continues && turn < turns.n_of_all {
                // All lanes have left; those that returned are gone.
                return Ok(if effects.breaks { Flow::Goes } else { Flow::Ends });
            }
            self.innermost().continued = None;
            self.run_open(&inner.update)?;
            self.frame.level = level;
            self.frame.active = self.live(outer.as_ref(), &leaving)?;
        }
        Ok(Flow::Goes)
    }

    fn innermost(&mut self) -> &mut Jumps {
        self.frame.loops.last_mut().expect("internal error: no loop")
    }

    fn region(&mut self, inner: &Loop, at: Span) -> Result<Flow, Trouble> {
        let turn = inner.of_turn();
        let has_no_end = inner.condition.as_ref().is_none_or(|asked| self.always(asked));
        if has_no_end && !turn.breaks && !turn.returns {
            let what = "the loop has no end: its condition stays true, and nothing in it breaks or returns";
            let remedy = "leave it where it is done: if (x > 9) break;";
            return Err(Trouble::new(at, what).with(Some(remedy.into())));
        }
        let read: Vec<usize> = turn.read.iter().filter_map(|name| self.named_array(name)).collect();
        let is_read =
            |name: &&String| self.named_array(name).is_some_and(|number| read.contains(&number));
        let is_recorded = self.session.flag_is_set(RECORD_LOOPS);
        if let Some(name) = turn.assigned.iter().find(is_read).filter(|_| is_recorded) {
            let what = format!("the loop writes `{name}` and reads it too");
            let remedy = format!(
                "hold the element in a variable while it turns: float v = {name}[i]; … {name}[i] = v; or, \
                 of other elements in each turn, give the kernel a lane for each, or for up to {MOST_UNROLLED}: \
                 for (int j = i; j < m; j += n)"
            );
            return Err(Trouble::new(at, what).with(Some(remedy)));
        }
        let leaving = Effects { continues: false, ..turn.clone() };
        let slots = self.slots(&leaving);
        let mut states = self.read_slots(&slots)?;
        let around = self.frame.active.take();
        if inner.is_do {
            // Whether the first turn is to come.
            states.push(self.session.full(DType::Mask, true, 1)?);
        }
        let (outer, arrays) = (self.frame.clone(), self.arrays.clone());
        let session = self.session;
        let recorder = std::cell::RefCell::new(&mut *self);
        let enter = |recorder: &mut Self, inside: &[Array]| {
            recorder.frame = outer.clone();
            recorder.arrays.clone_from(&arrays);
            recorder.write_slots(&slots, inside);
        };
        let results = session.while_loop(
            &states,
            |inside| {
                let recorder = &mut **recorder.borrow_mut();
                enter(recorder, inside);
                let first = inside.get(slots.len());
                recorder.goes_on(inner, around.as_ref(), &leaving, first)
            },
            |inside| {
                let recorder = &mut **recorder.borrow_mut();
                enter(recorder, inside);
                recorder.frame.level += 1;
                recorder.run(&inner.body)?;
                recorder.frame.level -= 1;
                recorder.frame.active = recorder.live(None, &leaving)?;
                recorder.run_open(&inner.update)?;
                let mut next = recorder.read_slots(&slots)?;
                if inner.is_do {
                    next.push(session.full(DType::Mask, false, 1)?);
                }
                Ok::<_, Trouble>(next)
            },
        )?;
        self.frame = outer;
        self.arrays = arrays;
        self.write_slots(&slots, &results);
        self.frame.active = around;
        Ok(if has_no_end && !turn.breaks { Flow::Ends } else { Flow::Goes })
    }

    /// The lanes that take another turn.
    fn goes_on(
        &mut self,
        inner: &Loop,
        around: Option<&Array>,
        leaving: &Effects,
        first: Option<&Array>,
    ) -> Result<Array, Trouble> {
        let lanes = self.live(around, leaving)?;
        let Some(condition) = &inner.condition else {
            return match lanes {
                Some(lanes) => Ok(lanes),
                None => Ok(self.session.full(DType::Mask, true, 1)?),
            };
        };
        // Who has left, and who enters unasked, is not asked.
        self.frame.active = match first {
            Some(first) => Some(self.and(lanes.as_ref(), &first.try_not()?)?),
            None => lanes.clone(),
        };
        let holds = self.value(condition)?;
        let holds = holds.mask(self.session).map_err(|trouble| trouble.within(condition.at))?;
        let holds = match first {
            Some(first) => holds.try_or(first)?,
            None => holds,
        };
        self.and(lanes.as_ref(), &holds)
    }

    /// Whether a condition is a number that is true.
    fn always(&self, condition: &Expression) -> bool {
        matches!(&condition.kind, Term::Number(number, _) if number.to_f64() != 0.0)
    }

    /// What statements may change of what is around them.
    pub(super) fn slots(&self, effects: &Effects) -> Vec<Slot> {
        let mut slots = Vec::new();
        let program = &self.frame.program;
        let passed = effects.passed.iter().filter(|passed| program.writes(passed));
        for name in effects.assigned.iter().chain(passed.map(|passed| &passed.name)) {
            let Some(at) = self.find(name) else { continue };
            let slot = match self.frame.variables[at].item {
                Item::Raw(number) => Slot::Array(number),
                _ => Slot::Variable(at),
            };
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        if effects.returns {
            slots.push(Slot::Returned);
            if self.frame.result.is_some() || self.frame.value.is_some() {
                slots.push(Slot::Value);
            }
        }
        slots.extend(self.breakable().filter(|_| effects.breaks).map(Slot::Broken));
        slots.extend(self.looping().filter(|_| effects.continues).map(Slot::Continued));
        slots
    }

    pub(super) fn read_slots(&self, slots: &[Slot]) -> Result<Vec<Array>, Trouble> {
        let frame = &self.frame;
        let mask = |mask: &Option<Array>| match mask {
            Some(mask) => Ok(mask.clone()),
            None => Ok(self.session.full(DType::Mask, false, 1)?),
        };
        let read = |slot: &Slot| match *slot {
            Slot::Variable(at) => frame.variables[at].item.array(self.session),
            Slot::Array(number) => Ok(self.arrays[number].clone()),
            Slot::Returned => mask(&frame.returned),
            Slot::Value => match (&frame.value, frame.result) {
                (Some(value), _) => Ok(value.clone()),
                (None, dtype) => Ok(self.session.zeros(dtype.unwrap_or(DType::F32), 1)?),
            },
            Slot::Broken(at) => mask(&frame.loops[at].broken),
            Slot::Continued(at) => mask(&frame.loops[at].continued),
        };
        slots.iter().map(read).collect()
    }

    pub(super) fn write_slots(&mut self, slots: &[Slot], arrays: &[Array]) {
        let frame = &mut self.frame;
        for (slot, array) in slots.iter().zip(arrays) {
            let array = array.clone();
            match *slot {
                Slot::Variable(at) => frame.variables[at].item = Item::Array(array),
                Slot::Array(number) => self.arrays[number] = array,
                Slot::Returned => frame.returned = Some(array),
                Slot::Value => frame.value = Some(array),
                Slot::Broken(at) => frame.loops[at].broken = Some(array),
                Slot::Continued(at) => frame.loops[at].continued = Some(array),
            }
        }
    }
}

/// The names in an expression of numbers; `None` if it is more.
fn names(expression: &Expression) -> Option<Vec<String>> {
    let parts: &[Expression] = match &expression.kind {
        Term::Name(name) => return Some(vec![name.clone()]),
        Term::Number(..) | Term::Limit(..) => &[],
        Term::Apply(_, parts) => parts,
        Term::Not(part) | Term::Cast(_, part) | Term::Bits(_, part) => {
            std::slice::from_ref(&**part)
        }
        Term::Both(_, parts) => &parts[..],
        Term::Choose(_)
        | Term::Index(..)
        | Term::Local(..)
        | Term::Call(..)
        | Term::Assign(..)
        | Term::Step(..) => return None,
    };
    let mut all = Vec::new();
    for part in parts {
        all.extend(names(part)?);
    }
    Some(all)
}
