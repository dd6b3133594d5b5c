//! Random programs of loops and branches that read and write arrays by index, with the meaning of S21 written
//! once more: one lane after the other runs a body to its end.
//!
//! A program is a list of lines over an environment that grows: values of one lane type, numbers to index
//! with (u32), and arrays that are written. References count from the end of what there is, so that any line
//! may be left out and the program still means something.

use porcini_core::ir::op::{Op, ScatterOp};
use porcini_core::ir::scalar::apply_bits;
use porcini_core::{Array, DType, Error, Operand, Result, Session};

use crate::data::{self, Values};
use crate::oracle::visible;
use crate::random::Random;

/// Lanes of the arrays that are read by index, and of those that are written.
const TABLES: [usize; 3] = [1, 3, 8];
const MEMORIES: [usize; 3] = [2, 4, 7];
/// The memory whose elements count, of u32.
const COUNTS: usize = 5;
const DTYPES: [DType; 8] =
    [DType::I32, DType::U32, DType::F32, DType::U8, DType::I16, DType::F16, DType::I64, DType::F64];

/// One line of a program or body; numbers are references.
#[derive(Clone, Debug)]
pub enum Line {
    /// An operation on values.
    Op(Op, [usize; 2]),
    /// A number to index with, the same in all lanes.
    Number(u32),
    /// An index computed from another: times 3 plus this.
    Index(usize, u32),
    /// A table's element.
    Gather(usize, usize),
    /// A write to a memory at an index, of a value; perhaps only where another index is odd.
    Scatter(ScatterOp, usize, usize, usize, Option<usize>),
    /// A count in the memory of counts, which gives an index.
    Count(usize, Option<usize>),
    /// A write to a memory (first) of a value at an index, perhaps only where it finds another value and another index is
    /// odd; which gives what it finds, and whether it writes.
    Exchange([usize; 3], Option<usize>, Option<usize>),
    /// A loop of at most three turns, as many as this index says.
    Loop(usize, Body),
    /// Bodies of which each lane runs the one that this index chooses, if it does: two are a branch.
    Branch(usize, Vec<Body>),
}

/// A body with what it gives back for its states.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its lines.
    pub lines: Vec<Line>,
    /// Value and index that come next.
    pub next: [usize; 2],
    /// Whether it leaves its second value alone, which is then nothing but a state.
    pub leaves: bool,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Lane type of its values.
    pub dtype: DType,
    /// Determines inputs.
    pub seed: u64,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// What there is at a point of a program.
#[derive(Clone)]
struct Scope<V, M> {
    values: Vec<V>,
    indices: Vec<V>,
    /// Memories, the last of counts.
    memories: Vec<M>,
}

/// The memories that bodies write, by their positions.
fn written(lines: &[Line]) -> [bool; MEMORIES.len() + 1] {
    let mut all = [false; MEMORIES.len() + 1];
    for line in lines {
        match line {
            Line::Scatter(_, memory, ..) | Line::Exchange([memory, ..], ..) => {
                all[memory % MEMORIES.len()] = true;
            }
            Line::Count(..) => all[MEMORIES.len()] = true,
            line => bodies(line).iter().for_each(|body| {
                all.iter_mut().zip(written(&body.lines)).for_each(|(all, written)| *all |= written);
            }),
        }
    }
    all
}

fn pick<T>(list: &[T], reference: usize) -> usize {
    list.len() - 1 - reference % list.len()
}

impl Program {
    /// The program of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x1a9e5);
        let dtype = random.pick(&DTYPES);
        let mut lines = Vec::new();
        while lines.len() < 4 {
            let line = draw_line(&mut random, dtype, 2);
            // Outside of bodies writes come line by line, which other programs test.
            let writes = matches!(line, Line::Scatter(..) | Line::Count(..) | Line::Exchange(..));
            if !writes && (matches!(line, Line::Loop(..) | Line::Branch(..)) || random.one_in(4)) {
                lines.push(line);
            }
        }
        Self { dtype, seed, lines }
    }

    /// Whether the memories are outputs: half of the programs drop them before anything runs.
    pub fn keeps_memories(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// A smaller program for which `fails` still holds.
    #[must_use]
    pub fn shrink(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut best = self.clone();
        loop {
            let n = count(&best.lines);
            let smaller = (0..n).find_map(|which| {
                let mut smaller = best.clone();
                remove(&mut smaller.lines, &mut { which });
                fails(&smaller).then_some(smaller)
            });
            match smaller {
                Some(smaller) => best = smaller,
                None => return best,
            }
        }
    }
}

fn bodies(line: &Line) -> &[Body] {
    match line {
        Line::Loop(_, body) => std::slice::from_ref(body),
        Line::Branch(_, bodies) => bodies,
        _ => &[],
    }
}

fn count(lines: &[Line]) -> usize {
    let inside = |line: &Line| bodies(line).iter().map(|body| count(&body.lines)).sum::<usize>();
    lines.iter().map(|line| 1 + inside(line)).sum()
}

/// Removes the line of a number, counted through bodies.
fn remove(lines: &mut Vec<Line>, which: &mut usize) -> bool {
    for i in 0..lines.len() {
        if *which == 0 {
            lines.remove(i);
            return true;
        }
        *which -= 1;
        let bodies = match &mut lines[i] {
            Line::Loop(_, body) => std::slice::from_mut(body),
            Line::Branch(_, bodies) => bodies,
            _ => &mut [],
        };
        if bodies.iter_mut().any(|body| remove(&mut body.lines, which)) {
            return true;
        }
    }
    false
}

fn draw_line(random: &mut Random, dtype: DType, depth: usize) -> Line {
    let number = |random: &mut Random| random.below(64);
    let maybe = |random: &mut Random| random.one_in(3).then(|| random.below(64));
    match random.below(if depth > 0 { 11 } else { 8 }) {
        0 | 1 => {
            let mut ops = vec![Op::Add, Op::Sub, Op::Mul, Op::Min];
            if dtype.is_int() {
                ops.extend([Op::Xor, Op::And]);
            }
            Line::Op(random.pick(&ops), [number(random), number(random)])
        }
        2 => Line::Number(u32::try_from(random.below(9)).unwrap_or(0)),
        3 => Line::Index(number(random), u32::try_from(random.below(9)).unwrap_or(0)),
        4 => Line::Gather(number(random), number(random)),
        5 => {
            let mut ops = vec![ScatterOp::Set, ScatterOp::Add, ScatterOp::Min, ScatterOp::Max];
            if dtype.is_int() {
                ops.extend([ScatterOp::And, ScatterOp::Or, ScatterOp::Add, ScatterOp::Add]);
            }
            ops.retain(|op| op.class().contains(dtype));
            let op = random.pick(&ops);
            Line::Scatter(op, number(random), number(random), number(random), maybe(random))
        }
        6 => Line::Count(number(random), maybe(random)),
        7 => {
            let at = [number(random), number(random), number(random)];
            Line::Exchange(at, maybe(random), maybe(random))
        }
        8 | 9 => Line::Loop(number(random), draw_body(random, dtype, depth - 1)),
        _ => {
            let n = 1 + random.below(3);
            let bodies = (0..n).map(|_| draw_body(random, dtype, depth - 1)).collect();
            Line::Branch(number(random), bodies)
        }
    }
}

fn draw_body(random: &mut Random, dtype: DType, depth: usize) -> Body {
    let lines = (0..1 + random.below(5)).map(|_| draw_line(random, dtype, depth)).collect();
    Body { lines, next: [random.below(64), random.below(64)], leaves: random.one_in(2) }
}

// ---- lane by lane ----

type LaneScope = Scope<u64, Vec<u64>>;

/// Lane by lane.
struct Lanes<'p> {
    program: &'p Program,
    tables: Vec<Vec<u64>>,
}

/// What a program gives over `n` lanes: the values behind its loops and branches, then its memories, as bit
/// patterns with their types.
pub fn evaluate(program: &Program, n: usize) -> Vec<(DType, Vec<u64>)> {
    let dtype = program.dtype;
    let lanes = Lanes { program, tables: tables(program) };
    let inputs = inputs(program, n);
    let lane = |input: &[u64], lane: usize| input[if input.len() == 1 { 0 } else { lane }];
    let scope = |i: usize| LaneScope {
        values: inputs.0.iter().map(|input| lane(input, i)).collect(),
        indices: inputs.1.iter().map(|input| lane(input, i)).collect(),
        memories: Vec::new(),
    };
    let mut scopes: Vec<LaneScope> = (0..n).map(scope).collect();
    let mut memories = memories(program);
    let mut outputs = Vec::new();
    for line in &program.lines {
        let before = scopes.clone();
        let mut each = |scope: &mut LaneScope, run: &dyn Fn(&mut LaneScope)| {
            scope.memories = std::mem::take(&mut memories);
            run(scope);
            memories = std::mem::take(&mut scope.memories);
        };
        match line {
            // The bodies of a branch come one after the other.
            Line::Branch(index, bodies) => {
                for number in 0..bodies.len() {
                    for (scope, before) in scopes.iter_mut().zip(&before) {
                        each(scope, &|scope| {
                            let (chosen, _) = lanes.chosen(before, *index, bodies);
                            if chosen == Some(number) {
                                lanes.branch(scope, before, &bodies[number]);
                            } else if chosen.is_none() && number == 0 {
                                scope.values.extend([0, 0]);
                                scope.indices.push(0);
                            }
                        });
                    }
                }
            }
            line => {
                scopes.iter_mut().for_each(|scope| each(scope, &|scope| lanes.line(scope, line)));
            }
        }
        if matches!(line, Line::Loop(..) | Line::Branch(..)) {
            for back in [2, 1] {
                let value = |scope: &LaneScope| scope.values[scope.values.len() - back];
                outputs.push((dtype, scopes.iter().map(value).collect()));
            }
            let index = |scope: &LaneScope| scope.indices[scope.indices.len() - 1];
            outputs.push((DType::U32, scopes.iter().map(index).collect()));
        }
    }
    let counts = memories.pop().map(|counts| (DType::U32, counts));
    outputs.extend(memories.into_iter().map(|memory| (dtype, memory)).chain(counts));
    let seen = |(dtype, lanes): (DType, Vec<u64>)| {
        (dtype, lanes.into_iter().map(|lane| visible(dtype, lane)).collect())
    };
    outputs.into_iter().map(seen).collect()
}

impl Lanes<'_> {
    fn line(&self, scope: &mut LaneScope, line: &Line) {
        let dtype = self.program.dtype;
        let index = |scope: &LaneScope, at: usize| scope.indices[pick(&scope.indices, at)];
        let value = |scope: &LaneScope, at: usize| scope.values[pick(&scope.values, at)];
        let place = |index: u64, length: usize| usize::try_from(index).ok().filter(|&i| i < length);
        match line {
            Line::Op(op, [a, b]) => {
                let (a, b) = (value(scope, *a), value(scope, *b));
                scope.values.push(apply_bits(*op, dtype, dtype, [a, b, b]));
            }
            Line::Number(number) => scope.indices.push((*number).into()),
            Line::Index(at, plus) => {
                let index = (index(scope, *at) * 3 + u64::from(*plus)) & 7;
                scope.indices.push(index);
            }
            Line::Gather(table, at) => {
                let table = &self.tables[table % self.tables.len()];
                let at = index(scope, *at);
                let at = if table.len() == 1 { Some(0) } else { place(at, table.len()) };
                scope.values.push(at.map_or(0, |at| table[at]));
            }
            Line::Scatter(op, memory, from, at, active) => {
                let (new, at) = (value(scope, *from), index(scope, *at));
                if active.is_some_and(|active| index(scope, active) & 1 == 0) {
                    return;
                }
                let memory = &mut scope.memories[memory % MEMORIES.len()];
                if let Some(at) = place(at, memory.len()) {
                    let combine = |op| apply_bits(op, dtype, dtype, [memory[at], new, new]);
                    memory[at] = op.combine().map_or(new, combine);
                }
            }
            Line::Count(at, active) => {
                let at = index(scope, *at);
                let active = active.is_none_or(|active| index(scope, active) & 1 == 1);
                let counts = &mut scope.memories[MEMORIES.len()];
                let found = match place(at, counts.len()).filter(|_| active) {
                    Some(at) => {
                        counts[at] += 1;
                        counts[at] - 1
                    }
                    None => 0,
                };
                scope.indices.push(found & 7);
            }
            Line::Exchange([memory, from, at], compare, active) => {
                let (new, at) = (value(scope, *from), index(scope, *at));
                let compare = compare.map(|compare| value(scope, compare));
                let active = active.is_none_or(|active| index(scope, active) & 1 == 1);
                let memory = &mut scope.memories[memory % MEMORIES.len()];
                let element = place(at, memory.len()).filter(|_| active).map(|at| &mut memory[at]);
                let (mut found, mut writes) = (0, false);
                if let Some(element) = element {
                    found = *element;
                    writes = compare.is_none_or(|x| visible(dtype, x) == visible(dtype, found));
                    *element = if writes { new } else { found };
                }
                scope.values.push(found);
                scope.indices.extend(compare.map(|_| u64::from(writes)));
            }
            Line::Loop(limit, body) => self.repeat(scope, *limit, body),
            Line::Branch(at, bodies) => {
                let before = scope.clone();
                match self.chosen(scope, *at, bodies) {
                    (Some(chosen), _) => self.branch(scope, &before, &bodies[chosen]),
                    (None, _) => {
                        scope.values.extend([0, 0]);
                        scope.indices.push(0);
                    }
                }
            }
        }
    }

    fn chosen(&self, scope: &LaneScope, at: usize, bodies: &[Body]) -> (Option<usize>, u64) {
        let index = scope.indices[pick(&scope.indices, at)];
        let n = bodies.len();
        let chosen = if n == 2 { Some(usize::from(index & 1 == 0)) } else { None };
        let other = usize::try_from(index & 3).ok().filter(|&chosen| chosen < n);
        (chosen.or(other.filter(|_| n != 2)), index)
    }

    /// Runs a body with states appended; the next states.
    fn body(
        &self,
        scope: &LaneScope,
        states: [u64; 2],
        index: u64,
        body: &Body,
    ) -> (LaneScope, [u64; 2], u64) {
        let mut inside = scope.clone();
        inside.values.extend(states);
        inside.indices.push(index);
        body.lines.iter().for_each(|line| self.line(&mut inside, line));
        let next = inside.values[pick(&inside.values, body.next[0])];
        let index = inside.indices[pick(&inside.indices, body.next[1])];
        let second =
            if body.leaves { states[1] } else { inside.values[pick(&inside.values, body.next[1])] };
        (inside, [next, second], index)
    }

    fn repeat(&self, scope: &mut LaneScope, limit: usize, body: &Body) {
        let limit = scope.indices[pick(&scope.indices, limit)] & 3;
        let last = scope.values.len() - 1;
        let (mut states, mut turn) = ([scope.values[last], scope.values[last - 1]], 0);
        let mut index = scope.indices[scope.indices.len() - 1];
        let before = scope.clone();
        let mut memories = std::mem::take(&mut scope.memories);
        while turn < limit {
            let mut outside = LaneScope { memories, ..before.clone() };
            outside.indices.push(turn);
            let (inside, next, next_index) = self.body(&outside, states, index, body);
            (states, index, turn) = (next, next_index & 7, turn + 1);
            memories = inside.memories;
        }
        scope.memories = memories;
        scope.values.extend(states);
        scope.indices.push(index);
    }

    fn branch(&self, scope: &mut LaneScope, before: &LaneScope, body: &Body) {
        let last = before.values.len() - 1;
        let states = [before.values[last], before.values[last - 1]];
        let index = before.indices[before.indices.len() - 1];
        let outside = LaneScope { memories: std::mem::take(&mut scope.memories), ..before.clone() };
        let (inside, next, index) = self.body(&outside, states, index, body);
        scope.memories = inside.memories;
        scope.values.extend(next);
        scope.indices.push(index & 7);
    }
}

fn tables(program: &Program) -> Vec<Vec<u64>> {
    let table = |(i, &n): (usize, &usize)| {
        data::lanes(program.dtype, Values::Bounded, program.seed + 10 + i as u64, n)
    };
    TABLES.iter().enumerate().map(table).collect()
}

fn memories(program: &Program) -> Vec<Vec<u64>> {
    let memory = |(i, &n): (usize, &usize)| {
        data::lanes(program.dtype, Values::Bounded, program.seed + 20 + i as u64, n)
    };
    MEMORIES.iter().enumerate().map(memory).chain([vec![0; COUNTS]]).collect()
}

/// Values and indices at the start: of one lane and of all.
fn inputs(program: &Program, n: usize) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    let lanes =
        |which: u64, n| data::lanes(program.dtype, Values::Bounded, program.seed + which, n);
    let values = vec![lanes(1, 1), lanes(2, n), lanes(3, 1), lanes(4, n)];
    let indices = (0..n as u64).map(|lane| (lane * 5 + program.seed) & 7).collect();
    (values, vec![vec![2], indices])
}

// ---- recorded ----

type ArrayScope = Scope<Array, Array>;

/// What a program gives on a session, and its bounds error.
///
/// # Errors
/// What recording or evaluation fails with.
pub fn run(
    program: &Program,
    session: &Session,
    n: usize,
) -> Result<(Vec<Vec<u8>>, Option<String>)> {
    let dtype = program.dtype;
    let array = |dtype, lanes: &[u64]| session.from_bytes(dtype, &data::to_bytes(dtype, lanes));
    let all = |dtype, lists: &[Vec<u64>]| -> Result<Vec<Array>> {
        lists.iter().map(|lanes| array(dtype, lanes)).collect()
    };
    let inputs = inputs(program, n);
    let mut memories = memories(program);
    let counts = memories.pop().map(|counts| array(DType::U32, &counts)).transpose()?;
    let memories = all(dtype, &memories)?.into_iter().chain(counts).collect();
    let (values, indices) = (all(dtype, &inputs.0)?, all(DType::U32, &inputs.1)?);
    let mut scope = ArrayScope { values, indices, memories };
    // A state that no body changes: it alone makes sure that there are n lanes.
    let lanes = session.from_bytes(DType::Mask, &vec![1; n])?;
    let recorder = Recorder { session, tables: all(dtype, &tables(program))?, lanes };
    let mut outputs = Vec::new();
    for line in &program.lines {
        recorder.line(&mut scope, line)?;
        if matches!(line, Line::Loop(..) | Line::Branch(..)) {
            outputs.extend_from_slice(&scope.values[scope.values.len() - 2..]);
            outputs.extend_from_slice(&scope.indices[scope.indices.len() - 1..]);
        }
    }
    if program.keeps_memories() {
        outputs.append(&mut scope.memories);
    }
    drop(scope);
    session.eval(&outputs.iter().collect::<Vec<_>>())?;
    let error = session.take_errors().first().map(|error| error.to_string());
    let bytes = outputs.iter().map(|output| output.read_bytes(0..output.size()));
    Ok((bytes.collect::<Result<_>>()?, error))
}

struct Recorder<'s> {
    session: &'s Session,
    tables: Vec<Array>,
    lanes: Array,
}

impl Recorder<'_> {
    fn line(&self, scope: &mut ArrayScope, line: &Line) -> Result<()> {
        let index = |scope: &ArrayScope, at: usize| scope.indices[pick(&scope.indices, at)].clone();
        let value = |scope: &ArrayScope, at: usize| scope.values[pick(&scope.values, at)].clone();
        let active =
            |scope: &ArrayScope, at: Option<usize>| at.map(|at| odd(&index(scope, at))).transpose();
        match line {
            Line::Op(op, [a, b]) => {
                let result = value(scope, *a).apply(*op, &[(&value(scope, *b)).into()])?;
                scope.values.push(result);
            }
            Line::Number(number) => {
                scope.indices.push(self.session.full(DType::U32, i64::from(*number), 1)?);
            }
            Line::Index(at, plus) => {
                let scaled = index(scope, *at).apply(Op::Mul, &[3.into()])?;
                let moved = scaled.apply(Op::Add, &[i64::from(*plus).into()])?;
                scope.indices.push(low(&moved)?);
            }
            Line::Gather(table, at) => {
                let table = &self.tables[table % self.tables.len()];
                scope.values.push(table.gather(&index(scope, *at), None)?);
            }
            Line::Scatter(op, memory, from, at, mask) => {
                let (value, index) = (value(scope, *from), index(scope, *at));
                let mask = active(scope, *mask)?;
                let memory = &mut scope.memories[memory % MEMORIES.len()];
                memory.scatter(*op, &value, &index, mask.as_ref())?;
            }
            Line::Count(at, mask) => {
                let (index, mask) = (index(scope, *at), active(scope, *mask)?);
                let found = scope.memories[MEMORIES.len()].scatter_inc(&index, mask.as_ref())?;
                scope.indices.push(low(&found)?);
            }
            Line::Exchange([memory, from, at], compare, mask) => {
                let (new, index) = (value(scope, *from), index(scope, *at));
                let compare = compare.map(|compare| value(scope, compare));
                let mask = active(scope, *mask)?;
                let memory = &mut scope.memories[memory % MEMORIES.len()];
                if let Some(compare) = &compare {
                    let [found, writes] =
                        memory.scatter_cas(compare, &new, &index, mask.as_ref())?;
                    scope.values.push(found);
                    scope.indices.push(writes.cast(DType::U32)?);
                } else {
                    let found = memory.scatter_exch(&new, &index, mask.as_ref())?;
                    scope.values.push(found);
                }
            }
            Line::Loop(limit, body) => {
                let limit = index(scope, *limit).apply(Op::And, &[3.into()])?;
                let outside = scope.clone();
                let turn = self.session.zeros(DType::U32, 1)?;
                let places = places(line);
                let states = [vec![turn], self.states(&outside, &places)].concat();
                let mut after = self.session.while_loop::<Error>(
                    &states,
                    |states| states[0].apply(Op::Lt, &[(&limit).into()]),
                    |states| {
                        let mut outside = outside.clone();
                        outside.indices.push(states[0].clone());
                        let next = states[0].apply(Op::Add, &[1.into()])?;
                        let rest = self.body(&outside, &states[1..], &places, body)?;
                        Ok([vec![next], rest].concat())
                    },
                )?;
                drop(after.remove(0));
                behind(scope, &places, after);
            }
            Line::Branch(at, bodies) => {
                let (outside, chosen, places) = (scope.clone(), index(scope, *at), places(line));
                let run = |number: usize, args: &[Array]| {
                    self.body(&outside, args, &places, &bodies[number])
                };
                let args = self.states(&outside, &places);
                let after = if bodies.len() == 2 {
                    let then = |args: &[Array]| run(0, args);
                    let otherwise = |args: &[Array]| run(1, args);
                    self.session.if_then::<Error>(&odd(&chosen)?, &args, then, otherwise)?
                } else {
                    let chosen = chosen.apply(Op::And, &[3.into()])?;
                    self.session.dispatch::<Error>(&chosen, bodies.len(), &args, run)?
                };
                behind(scope, &places, after);
            }
        }
        Ok(())
    }

    /// The states of a body: two values, an index, the lanes, the memories at these places.
    fn states(&self, scope: &ArrayScope, places: &[usize]) -> Vec<Array> {
        let last = scope.values.len() - 1;
        let mut states = vec![scope.values[last].clone(), scope.values[last - 1].clone()];
        states.extend(scope.indices.last().cloned());
        states.push(self.lanes.clone());
        states.extend(places.iter().map(|&place| scope.memories[place].clone()));
        states
    }

    fn body(
        &self,
        outside: &ArrayScope,
        states: &[Array],
        places: &[usize],
        body: &Body,
    ) -> Result<Vec<Array>> {
        let mut inside = outside.clone();
        inside.values.extend_from_slice(&states[..2]);
        inside.indices.push(states[2].clone());
        for (&place, memory) in places.iter().zip(&states[4..]) {
            inside.memories[place] = memory.clone();
        }
        let recorder = Recorder { lanes: states[3].clone(), tables: self.tables.clone(), ..*self };
        body.lines.iter().try_for_each(|line| recorder.line(&mut inside, line))?;
        let next = inside.values[pick(&inside.values, body.next[0])].clone();
        let second = inside.values[pick(&inside.values, body.next[1])].clone();
        let second = if body.leaves { states[1].clone() } else { second };
        let index = low(&inside.indices[pick(&inside.indices, body.next[1])])?;
        let memories = places.iter().map(|&place| inside.memories[place].clone());
        Ok([next, second, index, states[3].clone()].into_iter().chain(memories).collect())
    }
}

/// The memories that a line's bodies write.
fn places(line: &Line) -> Vec<usize> {
    let written = written(std::slice::from_ref(line));
    (0..written.len()).filter(|&place| written[place]).collect()
}

fn odd(index: &Array) -> Result<Array> {
    index.apply(Op::And, &[1.into()])?.apply(Op::Eq, &[Operand::from(1)])
}

fn low(index: &Array) -> Result<Array> {
    index.apply(Op::And, &[7.into()])
}

/// What is there behind a loop or branch.
fn behind(scope: &mut ArrayScope, places: &[usize], after: Vec<Array>) {
    for (&place, memory) in places.iter().zip(&after[4..]) {
        scope.memories[place] = memory.clone();
    }
    scope.values.extend_from_slice(&after[..2]);
    scope.indices.push(after[2].clone());
}
