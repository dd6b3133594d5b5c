//! What a program should give, lane by lane: no trace, no kernels, no blocks, no threads.
//!
//! Elementwise operations are `ir/scalar.rs` on bit patterns; promotion (S7), functions, gathers,
//! scatters and the tree of reductions (S11) are written again from the semantics.

pub(crate) mod functions;
mod whole;
pub mod whole_arrays;

use porcini_core::DType;
use porcini_core::ir::op::{Op, ReduceOp, ScatterOp, Shape};
use porcini_core::ir::scalar::apply_bits;
use porcini_core::trace::functions::FUNCTIONS;

use crate::data;
use crate::loops::{Body, Machine};
use crate::programs::{Node, Program, Step, wrap_modulus};

pub use functions::function_type;
pub use whole::permutation;

/// An array as bit patterns.
#[derive(Clone, Debug)]
pub struct Value {
    /// Lane type.
    pub dtype: DType,
    /// The lanes.
    pub lanes: Vec<u64>,
}

/// The bytes of a program's outputs over `n` lanes.
///
/// # Panics
/// If the program is not as its generator should have made it.
pub fn evaluate(program: &Program, n: usize) -> Vec<Vec<u8>> {
    let mut values: Vec<Value> = Vec::new();
    for node in &program.nodes {
        let lanes = compute(node, &values, n);
        assert_eq!(lanes.len(), node.extent.lanes(n), "{node:?}");
        values.push(Value { dtype: node.dtype, lanes });
    }
    program.outputs.iter().map(|&output| visible_bytes(&values[output])).collect()
}

/// A value as the bytes that are read from an array.
pub(crate) fn visible_bytes(value: &Value) -> Vec<u8> {
    let lanes: Vec<u64> = value.lanes.iter().map(|&lane| visible(value.dtype, lane)).collect();
    data::to_bytes(value.dtype, &lanes)
}

/// The bits that reinterpretation and export see: any NaN is the quiet NaN (S9).
#[expect(clippy::cast_possible_truncation, reason = "an f32 is in the low bits")]
pub fn visible(dtype: DType, bits: u64) -> u64 {
    match dtype {
        DType::F16 if bits & 0x7fff > 0x7c00 => 0x7e00,
        DType::F32 if f32::from_bits(bits as u32).is_nan() => 0x7fc0_0000,
        DType::F64 if f64::from_bits(bits).is_nan() => 0x7ff8_0000_0000_0000,
        _ => bits,
    }
}

// ---- types ----

/// The common type of two number types (S7).
pub fn promote(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    let wider = |a: DType, b: DType| if a.bytes() >= b.bytes() { a } else { b };
    match (a.is_float(), b.is_float()) {
        (true, true) => wider(a, b),
        (true, false) => a,
        (false, true) => b,
        (false, false) if a.is_signed() == b.is_signed() => wider(a, b),
        (false, false) => {
            let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
            match unsigned {
                _ if signed.bytes() > unsigned.bytes() => signed,
                DType::U8 => DType::I16,
                DType::U16 => DType::I32,
                // There is nothing wider than 64 bits.
                _ => DType::I64,
            }
        }
    }
}

/// The type that an operation on operands of these types computes in.
pub fn computed_type(op: Op, types: &[DType]) -> DType {
    let numbers = match op {
        Op::Shl | Op::Shr => &types[..1],
        Op::Select => &types[1..],
        _ => types,
    };
    if let (Op::And | Op::Or, Some(&number)) =
        (op, numbers.iter().find(|dtype| **dtype != DType::Mask))
        && numbers.contains(&DType::Mask)
    {
        return number;
    }
    let common = numbers.iter().copied().reduce(promote).unwrap_or(DType::Mask);
    match op {
        Op::Div | Op::Sqrt => common.quotient(),
        _ => common,
    }
}

pub(crate) fn cast(to: DType, from: DType, bits: u64) -> u64 {
    match (from, to) {
        _ if from == to => bits,
        (_, DType::Mask) => u64::from(!is_zero(from, bits)),
        (DType::Mask, _) => cast(to, DType::U32, bits),
        _ => apply_bits(Op::Cast, to, from, [bits, 0, 0]),
    }
}

fn is_zero(dtype: DType, bits: u64) -> bool {
    bits == 0 || dtype.is_float() && bits == 1 << (dtype.bits() - 1)
}

// ---- steps ----

/// Calls `lane` with the operands' lanes, size-1 operands repeated.
pub(crate) fn each(args: &[&Value], mut lane: impl FnMut(&[u64]) -> u64) -> Vec<u64> {
    let n = args.iter().map(|arg| arg.lanes.len()).find(|&n| n != 1).unwrap_or(1);
    let mut lanes = vec![0; args.len()];
    let row = |i: usize| {
        for (to, arg) in lanes.iter_mut().zip(args) {
            *to = at(arg, i);
        }
        lane(&lanes)
    };
    (0..n).map(row).collect()
}

pub(crate) fn at(value: &Value, i: usize) -> u64 {
    value.lanes[if value.lanes.len() == 1 { 0 } else { i }]
}

fn compute(node: &Node, values: &[Value], n: usize) -> Vec<u64> {
    let dtype = node.dtype;
    let size = node.extent.lanes(n);
    match &node.step {
        Step::Data { values, seed } => data::lanes(dtype, *values, *seed, size),
        Step::Full(bits) => vec![*bits; size],
        Step::Range { start, step } => {
            // f16 is rounded from f32.
            let computed = if dtype == DType::F16 { DType::F32 } else { dtype };
            let [start, step] =
                [*start, *step].map(|x| cast(computed, DType::I64, x.cast_unsigned()));
            let index = |i: usize| cast(computed, DType::U64, i as u64);
            let lane = |i| apply_bits(Op::Fma, computed, computed, [index(i), step, start]);
            (0..size).map(|i| cast(dtype, computed, lane(i))).collect()
        }
        Step::Op(op, args) => {
            let args: Vec<&Value> = args.iter().map(|&arg| &values[arg]).collect();
            operation(*op, &args)
        }
        Step::Number(op, x, number) => {
            let x = &values[*x];
            let number_type = x.dtype.meet(*number);
            let bits = number_type.encode(*number).expect("a number that fits");
            operation(*op, &[x, &Value { dtype: number_type, lanes: vec![bits] }])
        }
        Step::Function(row, args) => {
            let args: Vec<&Value> = args.iter().map(|&arg| &values[arg]).collect();
            function(*row, &args)
        }
        Step::Cast(x) => {
            values[*x].lanes.iter().map(|&lane| cast(dtype, values[*x].dtype, lane)).collect()
        }
        Step::Reinterpret(x) => {
            let from = values[*x].dtype;
            // A value reinterpreted as its own type is the value.
            values[*x].lanes.iter().map(|&lane| visible(from, lane)).collect()
        }
        Step::Reduce(op, x) => vec![reduce(*op, &values[*x])],
        Step::Mean(x) => vec![mean(&values[*x], dtype)],
        Step::PrefixSum(x) => whole_arrays::prefix(Op::Add, &values[*x]),
        Step::Sort(order, x) => {
            let x = &values[*x];
            let lanes = whole_arrays::order_of(x, *order).into_iter();
            lanes.map(|lane| visible(x.dtype, x.lanes[lane])).collect()
        }
        Step::SortIndex(order, x) => {
            let lanes = whole_arrays::order_of(&values[*x], *order).into_iter();
            lanes.map(|lane| lane as u64).collect()
        }
        Step::Whole(function, args) => {
            let args: Vec<&Value> = args.iter().map(|&arg| &values[arg]).collect();
            whole::whole(*function, &args, dtype, n)
        }
        Step::Wrap(x, slack) => {
            let modulus = wrap_modulus(dtype, n, *slack).cast_unsigned();
            operation(Op::Rem, &[&values[*x], &Value { dtype, lanes: vec![modulus] }])
        }
        Step::Gather { source, index, active } => {
            let active = active.map(|active| &values[active]);
            gather(&values[*source], &values[*index], active, size)
        }
        Step::Scatter { op, target, value, index, active, .. } => {
            let active = active.map(|active| &values[active]);
            scatter(*op, &values[*target], &values[*value], &values[*index], active)
        }
        Step::Loop(body, uses) => {
            let all = |uses: &[usize]| uses.iter().map(|&i| values[i].clone()).collect::<Vec<_>>();
            let (states, outers) = (all(&uses.states), all(&uses.outers));
            let (source, turns) = (&values[uses.source], &values[uses.turns]);
            let result = body.run(&TurnByTurn, states, &outers, source, turns);
            (0..size).map(|i| at(&result, i)).collect()
        }
    }
}

/// Loops over all lanes at once, one turn after the other.
struct TurnByTurn;

impl Machine for TurnByTurn {
    type Value = Value;

    fn op(&self, op: Op, args: &[Value]) -> Value {
        applied(op, &args.iter().collect::<Vec<_>>())
    }

    fn gather(&self, source: &Value, index: &Value) -> Value {
        Value { dtype: source.dtype, lanes: gather(source, index, None, index.lanes.len()) }
    }

    fn repeat(
        &self,
        repeat: bool,
        turns: &Value,
        mut states: Vec<Value>,
        body: &Body<'_, Value>,
    ) -> Vec<Value> {
        for turn in 0..if repeat { 8 } else { 1 } {
            let runs = |turns: u64| if repeat { turns & 7 > turn } else { turns & 1 == 1 };
            let running = turns.lanes.iter().map(|&turns| u64::from(runs(turns))).collect();
            let running = Value { dtype: DType::Mask, lanes: running };
            let next = body(&Value { dtype: DType::U32, lanes: vec![turn] }, &states);
            for (state, next) in states.iter_mut().zip(next) {
                *state = self.op(Op::Select, &[running.clone(), next, state.clone()]);
            }
        }
        states
    }
}

/// An operation of the table on values that it takes.
pub(crate) fn applied(op: Op, args: &[&Value]) -> Value {
    let types: Vec<DType> = args.iter().map(|arg| arg.dtype).collect();
    let dtype = match op.info().shape {
        Shape::Compare => DType::Mask,
        Shape::Same | Shape::Select | Shape::Special => computed_type(op, &types),
    };
    Value { dtype, lanes: operation(op, args) }
}

fn operation(op: Op, args: &[&Value]) -> Vec<u64> {
    let types: Vec<DType> = args.iter().map(|arg| arg.dtype).collect();
    let dtype = computed_type(op, &types);
    match op {
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc if dtype.is_int() => args[0].lanes.clone(),
        Op::And | Op::Or if types[0] != types[1] && types.contains(&DType::Mask) => {
            let mask_first = types[0] == DType::Mask;
            each(args, |lanes| {
                let (mask, x) =
                    if mask_first { (lanes[0], lanes[1]) } else { (lanes[1], lanes[0]) };
                match (op, mask & 1 != 0) {
                    (Op::And, true) | (Op::Or, false) => x,
                    (Op::And, false) => 0,
                    _ => data::low_bits(dtype),
                }
            })
        }
        Op::Eq | Op::Ne if dtype == DType::Mask => {
            each(args, |lanes| u64::from((lanes[0] == lanes[1]) == (op == Op::Eq)))
        }
        Op::Shl | Op::Shr => each(args, |lanes| shift(op, dtype, lanes[0], types[1], lanes[1])),
        Op::Rem if dtype.is_float() => each(args, |lanes| {
            functions::remainder(
                dtype,
                cast(dtype, types[0], lanes[0]),
                cast(dtype, types[1], lanes[1]),
            )
        }),
        Op::Select => each(args, |lanes| {
            let chosen = if lanes[0] & 1 != 0 { 1 } else { 2 };
            cast(dtype, types[chosen], lanes[chosen])
        }),
        _ => each(args, |lanes| {
            let mut operands = [0; 3];
            for (i, &lane) in lanes.iter().enumerate() {
                operands[i] = cast(dtype, types[i], lane);
            }
            apply_bits(op, dtype, dtype, operands)
        }),
    }
}

/// A count that is negative or not below the width gives 0, or copies of the sign (S8).
pub(crate) fn shift(op: Op, dtype: DType, x: u64, count_type: DType, count: u64) -> u64 {
    // Negative counts are huge as unsigned numbers of their own width.
    let width = u64::from(dtype.bits());
    debug_assert!(count <= data::low_bits(count_type));
    let above = 64 - dtype.bits();
    let signed = (x << above).cast_signed() >> above;
    let arithmetic = op == Op::Shr && dtype.is_signed();
    let shifted = match op {
        _ if count >= width && arithmetic => (signed >> 63).cast_unsigned(),
        _ if count >= width => 0,
        Op::Shl => x << count,
        _ if arithmetic => (signed >> count).cast_unsigned(),
        _ => x >> count,
    };
    shifted & data::low_bits(dtype)
}

pub(crate) fn function(row: usize, args: &[&Value]) -> Vec<u64> {
    let function = &FUNCTIONS[row];
    let types: Vec<DType> = args.iter().map(|arg| arg.dtype).collect();
    let (dtype, _) = function_type(function, &types);
    let meaning = functions::Meaning::of(function, dtype);
    each(args, |lanes| {
        let mut operands = [0; 3];
        for (i, &lane) in lanes.iter().enumerate() {
            operands[i] = cast(dtype, types[i], lane);
        }
        meaning.apply(operands)
    })
}

/// The sum of all lanes divided by their number, as a float of type `dtype`.
pub(crate) fn mean(x: &Value, dtype: DType) -> u64 {
    let wide = match dtype {
        _ if x.dtype.is_int() => DType::F64,
        DType::F16 => DType::F32,
        other => other,
    };
    let lanes = x.lanes.iter().map(|&lane| cast(wide, x.dtype, lane));
    let floats = Value { dtype: wide, lanes: lanes.collect() };
    let sum = reduce(ReduceOp::Sum, &floats);
    let count = cast(wide, DType::U64, floats.lanes.len() as u64);
    cast(dtype, wide, apply_bits(Op::Div, wide, wide, [sum, count, 0]))
}

/// The position an index names, if it is in bounds.
fn position(index: &Value, i: usize, size: usize) -> Option<usize> {
    let bits = at(index, i);
    let wide = if index.dtype.is_signed() { cast(DType::I64, index.dtype, bits) } else { bits };
    let wide =
        if index.dtype.is_signed() { i128::from(wide.cast_signed()) } else { i128::from(wide) };
    usize::try_from(wide).ok().filter(|&position| position < size)
}

pub(crate) fn gather(
    source: &Value,
    index: &Value,
    active: Option<&Value>,
    size: usize,
) -> Vec<u64> {
    let lane = |i: usize| {
        if active.is_some_and(|active| at(active, i) & 1 == 0) {
            return 0;
        }
        // A source of size 1 is a scalar: every index reads it (S13).
        if source.lanes.len() == 1 {
            return source.lanes[0];
        }
        position(index, i, source.lanes.len()).map_or(0, |position| source.lanes[position])
    };
    (0..size).map(lane).collect()
}

pub(crate) fn scatter(
    op: ScatterOp,
    target: &Value,
    value: &Value,
    index: &Value,
    active: Option<&Value>,
) -> Vec<u64> {
    let mut lanes = target.lanes.clone();
    let sizes = [Some(value), Some(index), active].map(|arg| arg.map_or(1, |arg| arg.lanes.len()));
    let n = sizes.into_iter().find(|&n| n != 1).unwrap_or(1);
    for i in 0..n {
        if active.is_some_and(|active| at(active, i) & 1 == 0) {
            continue;
        }
        if let Some(position) = position(index, i, lanes.len()) {
            let new = at(value, i);
            let combined =
                |op| apply_bits(op, target.dtype, target.dtype, [lanes[position], new, new]);
            lanes[position] = match op {
                ScatterOp::Set => new,
                ScatterOp::Add => combined(Op::Add),
                ScatterOp::Min => combined(Op::Min),
                ScatterOp::Max => combined(Op::Max),
                ScatterOp::And => combined(Op::And),
                ScatterOp::Or => combined(Op::Or),
            };
        }
    }
    lanes
}

// ---- reductions (S11) ----

fn identity(op: ReduceOp, dtype: DType) -> u64 {
    let sign = 1_u64 << (dtype.bits() - 1);
    match op {
        // -0: adding +0 would lose the sign of a sum of negative zeros.
        ReduceOp::Sum if dtype.is_float() => sign,
        ReduceOp::Sum | ReduceOp::Count | ReduceOp::Any => 0,
        ReduceOp::Prod => cast(dtype, DType::U32, 1),
        ReduceOp::All => 1,
        ReduceOp::Min | ReduceOp::Max if dtype.is_float() => {
            cast(dtype, DType::F64, f64::NAN.to_bits())
        }
        ReduceOp::Min if dtype.is_signed() => sign - 1,
        ReduceOp::Max if dtype.is_signed() => sign,
        ReduceOp::Min => data::low_bits(dtype),
        ReduceOp::Max => 0,
    }
}

/// All lanes combined in the order of S11.
pub fn reduce(op: ReduceOp, x: &Value) -> u64 {
    if x.dtype == DType::F16 && x.lanes.len() != 1 {
        // Accumulates in f32 and rounds once.
        let lanes = x.lanes.iter().map(|&lane| cast(DType::F32, x.dtype, lane)).collect();
        return cast(x.dtype, DType::F32, reduce(op, &Value { dtype: DType::F32, lanes }));
    }
    let wide = match op {
        ReduceOp::Sum | ReduceOp::Prod => data::accumulated(x.dtype),
        _ => x.dtype,
    };
    if wide != x.dtype {
        let lanes = x.lanes.iter().map(|&lane| cast(wide, x.dtype, lane)).collect();
        return reduce(op, &Value { dtype: wide, lanes });
    }
    let dtype = if op == ReduceOp::Count { DType::U64 } else { x.dtype };
    match x.lanes.len() {
        0 if matches!(op, ReduceOp::Sum | ReduceOp::Min | ReduceOp::Max) => return 0,
        1 => return x.lanes[0],
        _ => {}
    }
    let combine = |a: u64, b: u64| match op {
        ReduceOp::Sum | ReduceOp::Count => apply_bits(Op::Add, dtype, dtype, [a, b, 0]),
        ReduceOp::Prod => apply_bits(Op::Mul, dtype, dtype, [a, b, 0]),
        ReduceOp::Min => apply_bits(Op::Min, dtype, dtype, [a, b, 0]),
        ReduceOp::Max => apply_bits(Op::Max, dtype, dtype, [a, b, 0]),
        ReduceOp::Any => a | b,
        ReduceOp::All => a & b,
    };
    let mut level: Vec<u64> = Vec::new();
    for chunk in x.lanes.chunks(4096) {
        let mut accumulators = [identity(op, dtype); 32];
        for (j, &lane) in chunk.iter().enumerate() {
            accumulators[j % 32] = combine(accumulators[j % 32], lane);
        }
        for half in [16, 8, 4, 2, 1] {
            for i in 0..half {
                accumulators[i] = combine(accumulators[i], accumulators[i + half]);
            }
        }
        level.push(accumulators[0]);
    }
    while level.len() > 1 {
        level =
            level.chunks(2).map(|pair| pair.iter().copied().reduce(combine).unwrap_or(0)).collect();
    }
    level.first().copied().unwrap_or_else(|| identity(op, dtype))
}
