//! Loops and branches of arrays (S21): recorded once and run in the kernel, lane by lane.
//!
//! The closures are called with arrays that stand for the values in the kernel; what they record becomes
//! the body. With the flag `record_loops` off they are called step by step with real values instead
//! (`steps`), and so they are when somebody watches what they show (`watch`). A body is recorded all the same:
//! that tells how many lanes it has, so that both ways agree.
//!
//! Inside a body gathers and scatters touch only the lanes that run it. Arrays that the body scatters to
//! must be among the states (or arguments) and be returned.

mod branches;
mod changes;
mod steps;
mod watch;

pub use watch::Watch;

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::ir::var::{Kind, Undone, VarId, Variable};
use crate::session::Session;
use crate::session::flags::RECORD_LOOPS;
use crate::trace::broadcast_size;
use crate::trace::region::{Change, Form};

/// How bodies run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// In kernels.
    Recorded,
    /// Step by step, but those in which the order of the lanes shows.
    Steps,
    /// Step by step; those in which the order of the lanes shows one lane after the other.
    Watched,
}

/// Closes a region when dropped, if it was not closed before.
struct Guard<'s> {
    session: &'s Session,
    scope: u32,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.session.with_table(|table| table.close_region(self.scope));
    }
}

/// A region while it is recorded.
struct Recording<'s> {
    guard: Guard<'s>,
    op: &'static str,
    /// Keeps the mask alive that the table refers to.
    mask: Array,
}

impl<'s> Recording<'s> {
    fn open(session: &'s Session, op: &'static str) -> Result<Self> {
        let mut scope = 0;
        let mask = session.record(|recorder| {
            let (opened, entering) = recorder.open_region(op)?;
            scope = opened;
            Ok(entering)
        })?;
        Ok(Self { guard: Guard { session, scope }, op, mask })
    }

    /// Arrays that stand for the values in the body.
    fn states(&self, values: &[Array]) -> Result<Vec<Array>> {
        let state = |value: &Array| {
            if !self.guard.session.is(value.session()) {
                return Err(self.guard.session.foreign(self.op, value.session()));
            }
            self.guard.session.record(|recorder| Ok(recorder.state(self.guard.scope, value.id())))
        };
        values.iter().map(state).collect()
    }

    fn run(&mut self, condition: &Array) -> Result<()> {
        let condition = self.guard.session.adopt_number(self.op, condition)?;
        self.mask = self.guard.session.record(|recorder| recorder.run(self.op, condition.id()))?;
        Ok(())
    }

    /// The values behind the region, and how it runs.
    fn close(
        self,
        repeat: bool,
        states: &[Option<VarId>],
        changes: &[Change],
    ) -> Result<(Vec<Array>, Form)> {
        let mut form = None;
        let running = self.mask.id();
        let results = self.guard.session.record_all(|recorder| {
            let (results, known) = recorder.close_region(repeat, running, states, changes)?;
            form = Some(known);
            Ok(results)
        })?;
        Ok((results, form.expect("internal error: a region without a form")))
    }
}

/// What is recorded: from arrays to arrays.
type Body<'b, E> = dyn FnMut(&[Array]) -> Result<Vec<Array>, E> + 'b;
/// A condition.
type Condition<'b, E> = dyn FnMut(&[Array]) -> Result<Array, E> + 'b;

impl Session {
    /// Repeats `body` in every lane as long as `condition` holds there; the states at the end.
    ///
    /// **Sizes**: the loop has the lanes of its largest state; states of one lane widen, and so does the loop
    /// where condition or values have more. An array that the body uses by index only, writing or reading, keeps
    /// its own size and does not count. **Dtypes**: states keep theirs. **Evaluation**: recorded; the loop becomes
    /// part of the kernel that needs it. Lanes that are done keep their values. A loop that never ends can be
    /// interrupted; one whose body leaves all states as they are is refused. **Order**: what is written, and what
    /// `scatter_inc` finds, is as if one lane ran after the other.
    ///
    /// # Errors
    /// What the closures return; `Argument` if the body returns another number or type of values, or the states as they
    /// were; `SizeMismatch`; `Recording` where the body reads lanes; `NotState` where it writes other arrays.
    pub fn while_loop<E: From<Error>>(
        &self,
        states: &[Array],
        mut condition: impl FnMut(&[Array]) -> Result<Array, E>,
        mut body: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        self.repeated(states, &mut condition, &mut body, None)
    }

    /// [`Session::while_loop`] with a function that undoes a turn: from the states at its end it gives those at its
    /// beginning. Backwards (S29) no states are kept then; they are as exact as what it gives. It is not asked where the
    /// body writes arrays or has loops inside.
    ///
    /// # Errors
    /// As [`Session::while_loop`]; `Argument` if the function returns another number or type of values.
    pub fn while_loop_invertible<E: From<Error>>(
        &self,
        states: &[Array],
        mut condition: impl FnMut(&[Array]) -> Result<Array, E>,
        mut body: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
        mut inverse: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        self.repeated(states, &mut condition, &mut body, Some(&mut inverse))
    }

    fn repeated<E: From<Error>>(
        &self,
        states: &[Array],
        condition: &mut Condition<'_, E>,
        body: &mut Body<'_, E>,
        inverse: Option<&mut Body<'_, E>>,
    ) -> Result<Vec<Array>, E> {
        let op = "while_loop";
        if let Some((home, states)) = self.moved(op, states.iter())? {
            return home.repeated(&states, condition, body, inverse);
        }
        let way = self.way();
        let mut stands_still = false;
        match self.record_loop(op, states, condition, body, inverse, &mut stands_still) {
            Ok((results, form)) if way == Way::Recorded || way == Way::Steps && form.in_order => {
                Ok(results)
            }
            Err(error) if way == Way::Recorded || stands_still => Err(error),
            // What cannot be recorded can be run.
            recorded => {
                self.show_steps(way);
                let form = recorded.ok().map(|(_, form)| form);
                self.step_by_step(op, states, form.as_ref(), condition, body)
            }
        }
    }

    /// [`Session::while_loop`], which ends after so many turns: backwards (S29) they need not be counted, and few take no
    /// memory.
    ///
    /// # Errors
    /// As [`Session::while_loop`].
    pub fn while_loop_at_most<E: From<Error>>(
        &self,
        turns: u32,
        states: &[Array],
        mut condition: impl FnMut(&[Array]) -> Result<Array, E>,
        mut body: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        let n = states.len();
        let mut states = states.to_vec();
        states.push(self.full(DType::U32, Scalar::Int(0), 1)?);
        let mut after = self.while_loop(
            &states,
            |states| {
                let is_left = states[n].apply(Op::Lt, &[i64::from(turns).into()])?;
                Ok::<_, E>(condition(&states[..n])?.apply(Op::And, &[(&is_left).into()])?)
            },
            |states| {
                let mut next = body(&states[..n])?;
                check_count("while_loop", n, next.len())?;
                next.push(states[n].apply(Op::Add, &[1.into()])?);
                Ok(next)
            },
        )?;
        after.truncate(n);
        Ok(after)
    }

    fn record_loop<E: From<Error>>(
        &self,
        op: &'static str,
        states: &[Array],
        condition: &mut Condition<'_, E>,
        body: &mut Body<'_, E>,
        inverse: Option<&mut Body<'_, E>>,
        stands_still: &mut bool,
    ) -> Result<(Vec<Array>, Form), E> {
        let mut recording = Recording::open(self, op)?;
        let inside = recording.states(states)?;
        let goes_on = condition(&inside)?;
        recording.run(&goes_on)?;
        let next = self.brought(op, body(&inside)?)?;
        check_count(op, states.len(), next.len())?;
        let is_same = |(state, next): (&Array, &Array)| state.id() == next.id();
        *stands_still = !goes_on.is_empty() && inside.iter().zip(&next).all(is_same);
        if *stands_still {
            return Err(standing_still(op).into());
        }
        let change = |(state, next): (&Array, &Array)| Change {
            state: Some(state.id()),
            otherwise: None,
            covered: false,
            next: next.id(),
        };
        let changes: Vec<Change> = inside.iter().zip(&next).map(change).collect();
        let ids: Vec<Option<VarId>> = inside.iter().map(|state| Some(state.id())).collect();
        let closed = recording.close(true, &ids, &changes)?;
        if let Some(inverse) = inverse {
            self.record_inverse(op, states, &inside, &closed.0, inverse)?;
        }
        Ok(closed)
    }

    /// Records how a turn of a loop is undone: the body of a loop that never runs.
    fn record_inverse<E: From<Error>>(
        &self,
        op: &'static str,
        states: &[Array],
        inside: &[Array],
        results: &[Array],
        inverse: &mut Body<'_, E>,
    ) -> Result<(), E> {
        let recording = Recording::open(self, op)?;
        let after = recording.states(states)?;
        let before = self.brought(op, inverse(&after)?)?;
        check_count(op, states.len(), before.len())?;
        let mut undone = Vec::with_capacity(states.len());
        for ((state, after), before) in inside.iter().zip(&after).zip(&before) {
            let (expected, got) = (state.dtype().script_name(), before.dtype().script_name());
            if expected != got {
                let what = format!("what undoes a turn gives {got} for a {expected}");
                return Err(Error::Argument { op, what }.into());
            }
            undone.push(Undone { state: state.id(), after: after.id(), before: before.id() });
        }
        self.with_table(|table| {
            let made_by = |result: &Array| match table.get(result.id()) {
                Variable { kind: Kind::Result { .. }, operands: [Some(region), ..], .. } => {
                    Some(*region)
                }
                _ => None,
            };
            if let Some(region) = results.iter().find_map(made_by) {
                table.set_undone(region, undone);
            }
        });
        Ok(())
    }

    /// What a body gives, which goes on with what is here: numbers come here.
    fn brought(&self, op: &'static str, values: Vec<Array>) -> Result<Vec<Array>> {
        values.iter().map(|value| self.adopt_number(op, value)).collect()
    }

    /// Steps show by themselves what their recording only notes.
    fn show_steps(&self, way: Way) {
        if way == Way::Steps {
            self.take_shown();
        }
    }

    fn way(&self) -> Way {
        // What runs inside a body that is recorded is recorded.
        if self.is_recording() {
            Way::Recorded
        } else if self.is_watched() {
            Way::Watched
        } else if self.flag_is_set(RECORD_LOOPS) {
            Way::Recorded
        } else {
            Way::Steps
        }
    }

    /// For each argument, the position of its array after writes among the values.
    fn written(&self, args: &[Array], values: &[Array]) -> Vec<Option<usize>> {
        args.iter().map(|arg| values.iter().position(|value| self.stands_for(value, arg))).collect()
    }

    /// Whether a value is an argument's array after writes.
    fn stands_for(&self, value: &Array, arg: &Array) -> bool {
        self.with_table(|table| {
            let goal = table.get(arg.id()).serial;
            let mut id = value.id();
            while let Some(before) = table.before_write(id) {
                if before == arg.id() {
                    return true;
                }
                id = before;
            }
            // From there on, writes step by step that were evaluated.
            let mut serial = table.get(id).serial;
            while let Some(before) = table.written_before(serial) {
                if before == goal {
                    return true;
                }
                serial = before;
            }
            false
        })
    }

    /// Whether this thread records a body, on this device or another: what it returns has no lanes yet.
    pub fn is_recording(&self) -> bool {
        let records = |session: &Self| {
            session.with_table(|table| table.open_region_mut().is_some_and(|open| !open.evaluated))
        };
        self.find_in_family(|session| records(session).then_some(())).is_some()
    }

    /// The lanes that run a body step by step; `None` outside of such bodies.
    pub fn limiting_mask(&self) -> Option<Array> {
        let handle = self.with_table(|table| {
            let mask = table.open_region_mut().filter(|open| open.evaluated)?.mask;
            table.inc_external(mask);
            Some(table.handle(mask))
        });
        handle.map(|handle| Array::adopt(self.clone(), handle))
    }
}

/// `mask ? a : b`, for the function `op`.
fn choice(op: &'static str, mask: &Array, a: &Array, b: &Array) -> Result<Array> {
    let lanes = broadcast_size(op, mask.size(), a.size())?;
    broadcast_size(op, lanes, b.size())?;
    mask.select(a, b)
}

fn is_arg(args: &[Array], value: &Array) -> bool {
    args.iter().any(|arg| arg.id() == value.id())
}

/// Where a turn changes nothing the condition stays what it is.
fn standing_still(op: &'static str) -> Error {
    let what =
        "a turn leaves all values as they are, so the loop never ends where its condition holds";
    Error::Argument { op, what: what.into() }
}

fn check_count(op: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    let what = format!("a function returned {got} values, expected {expected}");
    Err(Error::Argument { op, what })
}
