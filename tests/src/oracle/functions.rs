//! The functions of `trace/functions.rs` in plain Rust.
//!
//! Those that round have no such form: their recipe is recorded into a table of its own and computed
//! operation by operation (the accuracy sweep checks what they mean).

use std::collections::HashMap;
use std::sync::Arc;

use porcini_core::DType;
use porcini_core::ir::op::{Class, Op};
use porcini_core::ir::scalar::apply_bits;
use porcini_core::ir::table::Table;
use porcini_core::ir::var::{Kind, VarId, Variable};
use porcini_core::log::{Log, LogQueue};
use porcini_core::trace::functions::{Column, Function};
use porcini_core::trace::{Recorder, Settings};

use super::{cast, promote, visible};

/// The type a function computes in, and the type of its result.
pub fn function_type(function: &Function, types: &[DType]) -> (DType, DType) {
    // A rotation's count is no part of the result's type.
    let joined = if function.has(Column::Count) { &types[..1] } else { types };
    let common = joined.iter().copied().reduce(promote).unwrap_or(DType::F32);
    let stays = function.has(Column::Remainder) && common.is_int();
    let is_of_floats = function.class == Class::Float && !stays;
    let dtype = if is_of_floats { common.quotient() } else { common };
    (dtype, if function.has(Column::Mask) { DType::Mask } else { dtype })
}

/// A function of one type, ready to be applied to bit patterns.
pub(crate) enum Meaning {
    Direct {
        name: &'static str,
        dtype: DType,
    },
    Recipe(Recipe),
    /// f16 by way of another float type.
    Half {
        wide: DType,
        meaning: Box<Self>,
        rounds: bool,
    },
}

impl Meaning {
    pub(crate) fn of(function: &Function, dtype: DType) -> Self {
        if dtype == DType::F16 && function.has_half_recipe() {
            return Self::Recipe(Recipe::record(function, dtype));
        }
        if dtype == DType::F16 && !function.has(Column::Format) {
            // Functions of floats are those of f32; a product and a sum together are exact enough in f64.
            let wide = if function.class == Class::Float { DType::F32 } else { DType::F64 };
            let rounds = !function.has(Column::Mask);
            return Self::Half { wide, meaning: Box::new(Self::of(function, wide)), rounds };
        }
        // Those that round say how much.
        if function.doc.contains(" ulp") {
            return Self::Recipe(Recipe::record(function, dtype));
        }
        Self::Direct { name: function.name, dtype }
    }

    #[expect(clippy::cast_possible_truncation, reason = "narrow types are in the low bits")]
    pub(crate) fn apply(&self, args: [u64; 3]) -> u64 {
        match self {
            Self::Recipe(recipe) => recipe.values(&args)[recipe.result],
            Self::Half { wide, meaning, rounds } => {
                let result = meaning.apply(args.map(|bits| cast(*wide, DType::F16, bits)));
                if *rounds { cast(DType::F16, *wide, result) } else { result }
            }
            Self::Direct { name, dtype } => match dtype {
                DType::F32 => {
                    let args = args.map(|bits| f32::from_bits(visible(*dtype, bits) as u32));
                    single(name, args)
                }
                DType::F64 => double(name, args.map(|bits| f64::from_bits(visible(*dtype, bits)))),
                DType::F16 => half(name, args),
                DType::I8 => {
                    u64::from(int8(name, args.map(|b| (b as u8).cast_signed())).cast_unsigned())
                }
                DType::U8 => u64::from(uint8(name, args.map(|bits| bits as u8))),
                DType::I16 => {
                    u64::from(int16(name, args.map(|b| (b as u16).cast_signed())).cast_unsigned())
                }
                DType::U16 => u64::from(uint16(name, args.map(|bits| bits as u16))),
                DType::I32 => u64::from(
                    int32(name, args.map(|bits| (bits as u32).cast_signed())).cast_unsigned(),
                ),
                DType::U32 => u64::from(uint32(name, args.map(|bits| bits as u32))),
                DType::I64 => int64(name, args.map(u64::cast_signed)).cast_unsigned(),
                DType::U64 | DType::Mask => uint64(name, args),
            },
        }
    }
}

/// The functions of f16 that depend on the format.
fn half(name: &str, [bits, other, _]: [u64; 3]) -> u64 {
    let order = |bits: u64| f64::from_bits(cast(DType::F64, DType::F16, bits));
    match name {
        "nextafter" if order(bits).is_nan() => bits,
        "nextafter" if order(other).is_nan() || order(bits) == order(other) => other,
        "nextafter" => neighbour(bits, order(bits) < order(other)),
        "isdenormal" => u64::from((1..0x400).contains(&(bits & 0x7fff))),
        "fract" => {
            let x = f64::from_bits(cast(DType::F64, DType::F16, bits));
            let rest = cast(DType::F16, DType::F64, (x - x.floor()).to_bits());
            if rest == 0x3c00 { 0x3bff } else { rest }
        }
        _ => neighbour(bits, name == "next_float"),
    }
}

/// The f16 next to `bits`, above or below.
fn neighbour(bits: u64, above: bool) -> u64 {
    let (size, negative) = (bits & 0x7fff, bits & 0x8000 != 0);
    match (size, negative == above) {
        _ if size > 0x7c00 => bits,
        (0, _) => {
            if above {
                1
            } else {
                0x8001
            }
        }
        (0x7c00, false) => bits,
        (_, true) => bits - 1,
        (_, false) => bits + 1,
    }
}

/// C's fmod.
#[expect(clippy::cast_possible_truncation, reason = "an f32 is in the low bits")]
pub(crate) fn remainder(dtype: DType, x: u64, y: u64) -> u64 {
    match dtype {
        DType::F16 => {
            let [x, y] = [x, y].map(|bits| cast(DType::F64, dtype, bits));
            cast(dtype, DType::F64, remainder(DType::F64, x, y))
        }
        DType::F32 => u64::from((f32::from_bits(x as u32) % f32::from_bits(y as u32)).to_bits()),
        _ => (f64::from_bits(x) % f64::from_bits(y)).to_bits(),
    }
}

macro_rules! float_functions {
    ($name:ident, $t:ty, $dtype:expr, $sign:expr) => {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "an f32 is in the low bits; constants are rounded"
        )]
        fn $name(name: &str, [a, b, c]: [$t; 3]) -> u64 {
            let bits = |x: $t| u64::from(x.to_bits());
            let flip = |x: $t, s: $t| <$t>::from_bits(x.to_bits() ^ (s.to_bits() & $sign));
            let opposite = |x: $t| if x.is_nan() { <$t>::NAN } else { -x };
            // C's frexp and ldexp, by exact doublings and halvings; a last halving may round.
            let split = |x: $t| {
                let (mut m, mut e) = (x, 0_i32);
                while m != 0.0 && m.is_finite() && m.abs() < 0.5 {
                    (m, e) = (m * 2.0, e - 1);
                }
                while m.is_finite() && m.abs() >= 1.0 {
                    (m, e) = (m * 0.5, e + 1);
                }
                (m, e)
            };
            let join = |x: $t, n: i32| {
                let (m, e) = split(x);
                let n = e.saturating_add(n).clamp(-1200, 1200);
                let (n, below) = (n.max(<$t>::MIN_EXP), (n - <$t>::MIN_EXP).clamp(-60, 0));
                let step: $t = if n < 0 { 0.5 } else { 2.0 };
                (0..n.abs()).fold(m, |y, _| y * step) * (2.0 as $t).powi(below)
            };
            // NumPy's divmod: remainder and quotient.
            let modulo = |x: $t, y: $t| {
                let (mut rest, mut quotient) = (x % y, (x - x % y) / y);
                if y == 0.0 {
                    return (rest, x / y);
                }
                if rest == 0.0 {
                    rest = (0.0 as $t).copysign(y);
                } else if (y < 0.0) != (rest < 0.0) {
                    (rest, quotient) = (rest + y, quotient - 1.0);
                }
                if quotient == 0.0 {
                    return (rest, (0.0 as $t).copysign(x / y));
                }
                let floor = quotient.floor();
                (rest, if quotient - floor > 0.5 { floor + 1.0 } else { floor })
            };
            let op = |op: Op, x: $t, y: $t| {
                let bits = apply_bits(op, $dtype, $dtype, [bits(x), bits(y), 0]);
                <$t>::from_bits(bits as _)
            };
            let result = match name {
                "fmod" => a % b,
                "sqr" => a * a,
                "rcp" => 1.0 / a,
                "rsqrt" => 1.0 / a.sqrt(),
                "safe_sqrt" => op(Op::Max, a, 0.0).sqrt(),
                "safe_rsqrt" => 1.0 / op(Op::Max, a, 0.0).sqrt(),
                "mantissa" => split(a).0,
                "exponent" => split(a).1 as $t,
                "ldexp" if b.is_nan() => b,
                "ldexp" => join(a, b as i32),
                "fract" => {
                    let rest = a - a.floor();
                    if rest >= 1.0 { (1.0 as $t).next_down() } else { rest }
                }
                "relu" => op(Op::Maximum, a, 0.0),
                "softsign" if a.is_infinite() => a.signum(),
                "softsign" => a / (1.0 + a.abs()),
                "leaky_relu" => {
                    if a < 0.0 {
                        a * b
                    } else {
                        a
                    }
                }
                "smooth_l1" => {
                    let (border, scaled) = (1.0 / (b * b), b * a);
                    if a.abs() < border { 0.5 * (scaled * scaled) } else { a.abs() - 0.5 * border }
                }
                // C's minimum of maxima, which keep NaN.
                "hard_sigmoid" => op(Op::Minimum, op(Op::Maximum, a * b + c, 0.0), 1.0),
                "nextafter" if a.is_nan() || b.is_nan() => <$t>::NAN,
                "nextafter" if a == b => b,
                "nextafter" if a < b => a.next_up(),
                "nextafter" => a.next_down(),
                "signbit" => return u64::from(a.is_sign_negative() && !a.is_nan()),
                "mod" => modulo(a, b).0,
                "floor_divide" => modulo(a, b).1,
                "round_away" => a.round(),
                "sgn" if a.is_nan() || a == 0.0 => a + 0.0,
                "sgn" => a.signum(),
                "heaviside" if a.is_nan() => a,
                "heaviside" if a == 0.0 => b,
                "heaviside" => {
                    if a > 0.0 {
                        1.0
                    } else {
                        0.0
                    }
                }
                "isposinf" => return u64::from(a == <$t>::INFINITY),
                "isneginf" => return u64::from(a == <$t>::NEG_INFINITY),
                "left" => a,
                "right" => b,
                "sign" if a.is_nan() => a,
                "sign" => (1.0 as $t).copysign(a),
                "copysign" => a.copysign(b),
                "copysign_neg" => a.copysign(opposite(b)),
                "mulsign" => flip(a, b),
                "mulsign_neg" => flip(a, opposite(b)),
                "lerp" => c.mul_add(b - a, a),
                "clamp" => op(Op::Min, op(Op::Max, a, b), c),
                "clip" => match if a < b { b } else { a } {
                    above if above > c => c,
                    within => within,
                },
                "equal" => return u64::from(a == b),
                "not_equal" => return u64::from(a != b),
                "less" => return u64::from(a < b),
                "less_equal" => return u64::from(a <= b),
                "greater" => return u64::from(a > b),
                "greater_equal" => return u64::from(a >= b),
                "logical_and" => return u64::from(a != 0.0 && b != 0.0),
                "logical_or" => return u64::from(a != 0.0 || b != 0.0),
                "logical_xor" => return u64::from((a != 0.0) != (b != 0.0)),
                "logical_not" => return u64::from(a == 0.0),
                "fmadd" => a.mul_add(b, c),
                "fmsub" => a.mul_add(b, -c),
                "fnmadd" => (-a).mul_add(b, c),
                "fnmsub" => (-a).mul_add(b, -c),
                "isnan" => return u64::from(a.is_nan()),
                "isinf" => return u64::from(a.is_infinite()),
                "isfinite" => return u64::from(a.is_finite()),
                "isdenormal" => return u64::from(a.is_subnormal()),
                "next_float" => a.next_up(),
                "prev_float" => a.next_down(),
                "deg_to_rad" => a * (std::f64::consts::PI / 180.0) as $t,
                "rad_to_deg" => a * (180.0 / std::f64::consts::PI) as $t,
                _ => panic!("the oracle does not know {name} of floats"),
            };
            bits(result)
        }
    };
}
float_functions!(single, f32, DType::F32, 0x8000_0000);
float_functions!(double, f64, DType::F64, 0x8000_0000_0000_0000);

macro_rules! integer_functions {
    ($name:ident, $t:ty, $unsigned:ty, $minus_one:expr) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_possible_wrap,
            clippy::unnecessary_cast,
            unused_comparisons,
            clippy::cast_lossless,
            reason = "one body for signed and unsigned types, wrapping on purpose"
        )]
        fn $name(name: &str, [a, b, c]: [$t; 3]) -> $t {
            let turns = (b as $unsigned % <$t>::BITS as $unsigned) as u32;
            let divisor = || {
                let size =
                    |x: $t| if x < 0 { x.wrapping_neg() as $unsigned } else { x as $unsigned };
                let (mut x, mut y) = (size(a), size(b));
                while y != 0 {
                    (x, y) = (y, x % y);
                }
                (x, size(a), size(b))
            };
            match name {
                "relu" => a.max(0),
                "sgn" => {
                    if a < 0 {
                        $minus_one
                    } else {
                        <$t>::from(a > 0)
                    }
                }
                "left" => a,
                "right" => b,
                "mod" | "floor_divide" | "fmod" if b == 0 => 0,
                "fmod" => a.wrapping_rem(b),
                "mod" => {
                    let rest = a.wrapping_rem(b);
                    if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest }
                }
                "floor_divide" => {
                    let (rest, quotient) = (a.wrapping_rem(b), a.wrapping_div(b));
                    quotient.wrapping_sub(<$t>::from(rest != 0 && (rest < 0) != (b < 0)))
                }
                "gcd" => divisor().0 as $t,
                "lcm" => match divisor() {
                    (0, ..) => 0,
                    (divisor, x, y) => (x / divisor).wrapping_mul(y) as $t,
                },
                "sqr" => a.wrapping_mul(a),
                "sign" => {
                    if a < 0 {
                        $minus_one
                    } else {
                        1
                    }
                }
                "clamp" | "clip" => a.max(b).min(c),
                "equal" => <$t>::from(a == b),
                "not_equal" => <$t>::from(a != b),
                "less" => <$t>::from(a < b),
                "less_equal" => <$t>::from(a <= b),
                "greater" => <$t>::from(a > b),
                "greater_equal" => <$t>::from(a >= b),
                "logical_and" => <$t>::from(a != 0 && b != 0),
                "logical_or" => <$t>::from(a != 0 || b != 0),
                "logical_xor" => <$t>::from((a != 0) != (b != 0)),
                "logical_not" => <$t>::from(a == 0),
                "fmadd" => a.wrapping_mul(b).wrapping_add(c),
                "fmsub" => a.wrapping_mul(b).wrapping_sub(c),
                "fnmadd" => c.wrapping_sub(a.wrapping_mul(b)),
                "fnmsub" => (0 as $t).wrapping_sub(a.wrapping_mul(b)).wrapping_sub(c),
                "rol" => a.rotate_left(turns),
                "ror" => a.rotate_right(turns),
                "log2i" => (<$t>::BITS as $t - 1).wrapping_sub(a.leading_zeros() as $t),
                _ => panic!("the oracle does not know {name} of integers"),
            }
        }
    };
}
integer_functions!(int8, i8, u8, -1);
integer_functions!(uint8, u8, u8, u8::MAX);
integer_functions!(int16, i16, u16, -1);
integer_functions!(uint16, u16, u16, u16::MAX);
integer_functions!(int32, i32, u32, -1);
integer_functions!(uint32, u32, u32, u32::MAX);
integer_functions!(int64, i64, u64, -1);
integer_functions!(uint64, u64, u64, u64::MAX);

/// A recorded function as a list of operations.
pub(crate) struct Recipe {
    steps: Vec<RecipeStep>,
    /// The step that gives the result.
    result: usize,
}

enum RecipeStep {
    Argument(usize),
    Number(u64),
    Op { op: Op, dtype: DType, operand: DType, args: [usize; 3] },
}

impl Recipe {
    fn record(function: &Function, dtype: DType) -> Self {
        let mut table = Table::new(LogQueue::new(Log::new(0, Arc::new(|_| {}))));
        let arguments: Vec<VarId> = (0..function.arity)
            .map(|_| table.insert(Variable::new(Kind::Data, dtype, 1, [None; 4])))
            .collect();
        let settings = Settings { fold: false, bounds_check: true, line: 0 };
        let mut recorder = Recorder::new(&mut table, settings);
        let inlined = recorder.inline(function, &arguments);
        let result = inlined.expect("a function of its own type");
        drop(recorder.finish_all(&[result]));
        let mut recipe = Self { steps: Vec::new(), result: 0 };
        let mut numbers = HashMap::new();
        for (i, &argument) in arguments.iter().enumerate() {
            recipe.steps.push(RecipeStep::Argument(i));
            numbers.insert(argument, i);
        }
        recipe.result = recipe.add(&table, result, &mut numbers);
        recipe
    }

    /// Adds a variable after its operands. Recursion is as deep as one function.
    fn add(&mut self, table: &Table, id: VarId, numbers: &mut HashMap<VarId, usize>) -> usize {
        if let Some(&number) = numbers.get(&id) {
            return number;
        }
        let variable = table.get(id);
        let mut args = [0; 3];
        let mut operand = variable.dtype;
        for (i, id) in variable.operands().enumerate() {
            args[i] = self.add(table, id, numbers);
            operand = table.get(id).dtype;
        }
        self.steps.push(match (variable.kind, variable.kind.number()) {
            (_, Some(bits)) => RecipeStep::Number(bits),
            (Kind::Op(op), _) => RecipeStep::Op { op, dtype: variable.dtype, operand, args },
            (kind, _) => panic!("a function records {kind:?}"),
        });
        numbers.insert(id, self.steps.len() - 1);
        self.steps.len() - 1
    }

    /// The values of all steps for the lanes of one set of arguments.
    fn values(&self, arguments: &[u64]) -> Vec<u64> {
        let mut values = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            values.push(match step {
                RecipeStep::Argument(i) => arguments[*i],
                RecipeStep::Number(bits) => *bits,
                RecipeStep::Op { op, dtype, operand, args } => {
                    apply_bits(*op, *dtype, *operand, args.map(|arg| values[arg]))
                }
            });
        }
        values
    }
}
