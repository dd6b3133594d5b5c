//! Loops and branches in random programs: a body over states of one type, as data.

use porcini_core::ir::op::{OPS, Op, Shape};
use porcini_core::{Array, DType, Operand, Result, Session};

use crate::random::Random;

/// A value that a body uses.
#[derive(Clone, Copy, Debug)]
pub enum Local {
    /// A state.
    State(usize),
    /// A value from outside.
    Outer(usize),
    /// What an earlier line of the body computed.
    Line(usize),
}

/// A line of a body.
#[derive(Clone, Debug)]
pub enum Line {
    /// An operation.
    Op(Op, Vec<Local>),
    /// `source[turns + turn]`, perhaps out of bounds.
    Gather,
    /// The body's loop or branch once more, inside, over these first values; one of its states.
    Inner(Box<Loop>, Vec<Local>),
}

/// A loop of up to seven turns, or a branch.
#[derive(Clone, Debug)]
pub struct Loop {
    /// A loop, or else a branch.
    pub repeat: bool,
    /// The lines with the types of their values.
    pub lines: Vec<(Line, DType)>,
    /// The next value of each state.
    pub nexts: Vec<Local>,
    /// The state that is the result.
    pub result: usize,
}

/// The program's values that a loop uses.
#[derive(Clone, Debug)]
pub struct Uses {
    /// First values of the states.
    pub states: Vec<usize>,
    /// Values of the states' type from outside.
    pub outers: Vec<usize>,
    /// The array that the body gathers from.
    pub source: usize,
    /// An array of u32: how often each lane turns (modulo 8), or whether it takes the branch (if odd).
    pub turns: usize,
}

impl Uses {
    /// All of them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let rest = [&mut self.source, &mut self.turns];
        self.states.iter_mut().chain(&mut self.outers).chain(rest)
    }
}

impl Loop {
    /// Draws a loop over `n_states` values of type `dtype`, with `n_outers` of them from outside.
    ///
    /// # Panics
    /// Without states.
    pub fn draw(
        random: &mut Random,
        dtype: DType,
        n_states: usize,
        n_outers: usize,
        depth: usize,
    ) -> Self {
        let mut lines: Vec<(Line, DType)> = Vec::new();
        let local = |random: &mut Random, lines: &[(Line, DType)], wanted: DType| {
            let fitting: Vec<usize> =
                (0..lines.len()).filter(|&line| lines[line].1 == wanted).collect();
            if !fitting.is_empty() && (wanted != dtype || random.one_in(2)) {
                return Some(Local::Line(random.pick(&fitting)));
            }
            if wanted != dtype {
                return None;
            }
            let chosen = random.below(n_states + n_outers);
            Some(if chosen < n_states {
                Local::State(chosen)
            } else {
                Local::Outer(chosen - n_states)
            })
        };
        for _ in 0..1 + random.below(8) {
            if random.one_in(8) {
                lines.push((Line::Gather, dtype));
                continue;
            }
            if depth > 0 && random.one_in(8) {
                let firsts = (0..n_states).filter_map(|_| local(random, &lines, dtype)).collect();
                let inner = Self::draw(random, dtype, n_states, n_outers, depth - 1);
                lines.push((Line::Inner(Box::new(inner), firsts), dtype));
                continue;
            }
            let row = &OPS[random.below(OPS.len())];
            let on_masks =
                matches!(row.op, Op::And | Op::Or | Op::Xor | Op::Not) && random.one_in(3);
            let operand = if on_masks { DType::Mask } else { dtype };
            if row.shape == Shape::Special || !row.class.contains(operand) {
                continue;
            }
            // `%` of floats is a function, and masks are compared by others.
            if operand == DType::Mask && row.shape == Shape::Compare {
                continue;
            }
            let types = (0..row.arity).map(|position| {
                if row.shape == Shape::Select && position == 0 { DType::Mask } else { operand }
            });
            let args: Option<Vec<Local>> =
                types.map(|wanted| local(random, &lines, wanted)).collect();
            let result = if row.shape == Shape::Compare { DType::Mask } else { operand };
            if let Some(args) = args {
                lines.push((Line::Op(row.op, args), result));
            }
        }
        let nexts: Vec<Local> = (0..n_states)
            .map(|_| local(random, &lines, dtype).expect("there is always a state"))
            .collect();
        Self { repeat: random.one_in(2), lines, nexts, result: random.below(n_states) }
    }

    /// The result of running it on whatever `machine` computes with.
    pub fn run<M: Machine>(
        &self,
        machine: &M,
        states: Vec<M::Value>,
        outers: &[M::Value],
        source: &M::Value,
        turns: &M::Value,
    ) -> M::Value {
        let body = |turn: &M::Value, states: &[M::Value]| {
            let mut lines: Vec<M::Value> = Vec::new();
            let get = |lines: &[M::Value], local: Local| match local {
                Local::State(state) => states[state].clone(),
                Local::Outer(outer) => outers[outer].clone(),
                Local::Line(line) => lines[line].clone(),
            };
            for (line, _) in &self.lines {
                let value = match line {
                    Line::Op(op, args) => {
                        let args: Vec<M::Value> =
                            args.iter().map(|&arg| get(&lines, arg)).collect();
                        machine.op(*op, &args)
                    }
                    Line::Gather => {
                        let index = machine.op(Op::Add, &[turns.clone(), turn.clone()]);
                        machine.gather(source, &index)
                    }
                    Line::Inner(inner, firsts) => {
                        let firsts = firsts.iter().map(|&first| get(&lines, first)).collect();
                        inner.run(machine, firsts, outers, source, turns)
                    }
                };
                lines.push(value);
            }
            self.nexts.iter().map(|&next| get(&lines, next)).collect()
        };
        machine.repeat(self.repeat, turns, states, &body)[self.result].clone()
    }
}

/// The body of a loop: from the number of the turn and the states to the next states.
pub type Body<'b, V> = dyn Fn(&V, &[V]) -> Vec<V> + 'b;

/// What a loop can run on.
pub trait Machine {
    /// An array.
    type Value: Clone;
    /// An operation on arrays of fitting types.
    fn op(&self, op: Op, args: &[Self::Value]) -> Self::Value;
    /// An indexed read.
    fn gather(&self, source: &Self::Value, index: &Self::Value) -> Self::Value;
    /// The states after the loop or branch.
    fn repeat(
        &self,
        repeat: bool,
        turns: &Self::Value,
        states: Vec<Self::Value>,
        body: &Body<'_, Self::Value>,
    ) -> Vec<Self::Value>;
}

/// A session that records; the first error stays.
pub struct Recording<'s> {
    /// The session.
    pub session: &'s Session,
}

impl Machine for Recording<'_> {
    type Value = Array;

    fn op(&self, op: Op, args: &[Array]) -> Array {
        let args: Vec<Operand<'_>> = args.iter().map(Operand::from).collect();
        self.session.apply(op, &args).expect("operations of loops are sound")
    }

    fn gather(&self, source: &Array, index: &Array) -> Array {
        source.gather(index, None).expect("gathers of loops are sound")
    }

    fn repeat(
        &self,
        repeat: bool,
        turns: &Array,
        states: Vec<Array>,
        body: &Body<'_, Array>,
    ) -> Vec<Array> {
        let run = || -> Result<Vec<Array>> {
            let zero = self.session.zeros(DType::U32, 1)?;
            if !repeat {
                let odd = turns.apply(Op::And, &[1.into()])?.apply(Op::Eq, &[1.into()])?;
                let taken = |states: &[Array]| Ok(body(&zero, states));
                return self.session.if_then(&odd, &states, taken, |states| Ok(states.to_vec()));
            }
            let limit = turns.apply(Op::And, &[7.into()])?;
            let all: Vec<Array> = [zero].into_iter().chain(states).collect();
            let mut after = self.session.while_loop(
                &all,
                |states| states[0].apply(Op::Lt, &[(&limit).into()]),
                |states| {
                    let next = states[0].apply(Op::Add, &[1.into()])?;
                    Ok([next].into_iter().chain(body(&states[0], &states[1..])).collect())
                },
            )?;
            drop(after.remove(0));
            Ok(after)
        };
        run().expect("loops are sound")
    }
}
