//! How many operations a function records: a change of any of these numbers is a decision. And the laws that columns of
//! the table of operations say.

use porcini_core::ir::kernel::Code;
use porcini_core::ir::op::{OPS, Op, Shape};
use porcini_core::ir::scalar::apply_bits;
use porcini_core::trace::functions;
use porcini_core::{DType, Operand, Scalar, Session};

/// Function, operations of f32 and of f64; constants and arguments are not counted.
const OPERATIONS: &[(&str, usize, usize)] = &[
    ("exp", 23, 28),
    ("exp2", 23, 28),
    ("exp10", 23, 28),
    ("expm1", 23, 29),
    ("log", 31, 44),
    ("log2", 34, 45),
    ("log10", 35, 46),
    ("log1p", 33, 46),
    ("cbrt", 37, 43),
    ("sin", 37, 136),
    ("cos", 34, 132),
    ("tan", 44, 134),
    ("cot", 44, 134),
    ("sec", 35, 133),
    ("csc", 38, 137),
    ("sinpi", 33, 39),
    ("cospi", 28, 34),
    ("asin", 20, 27),
    ("acos", 25, 32),
    ("atan", 21, 33),
    ("sinh", 33, 42),
    ("cosh", 21, 26),
    ("tanh", 31, 42),
    ("coth", 35, 46),
    ("sech", 28, 33),
    ("csch", 42, 51),
    ("asinh", 43, 56),
    ("acosh", 38, 51),
    ("atanh", 41, 54),
    ("mantissa", 13, 13),
    ("exponent", 15, 15),
    ("fract", 3, 3),
    ("pow", 115, 125),
    ("hypot", 21, 21),
    ("atan2", 36, 48),
    ("ldexp", 39, 39),
    ("fmod", 40, 119),
];

/// Functions with operations of their own for f16, and how many, both conversions included.
const OF_HALVES: &[(&str, usize)] = &[
    ("exp", 17),
    ("exp2", 16),
    ("exp10", 17),
    ("log", 24),
    ("log2", 24),
    ("log10", 24),
    ("sin", 16),
    ("cos", 18),
    ("tan", 33),
    ("tanh", 12),
];

#[test]
fn functions_take_the_operations_they_say() {
    let session = Session::new().unwrap();
    let mut wrong = Vec::new();
    let wide = OPERATIONS.iter().flat_map(|&(name, single, double)| {
        [(name, DType::F32, single), (name, DType::F64, double)]
    });
    let halves = OF_HALVES.iter().map(|&(name, operations)| (name, DType::F16, operations));
    for (name, dtype, want) in wide.chain(halves) {
        let [x, y] = [[5.5, 3.0], [0.25, 2.0]].map(|lanes| session.array::<f64>(&lanes).unwrap());
        let [x, y] = [x, y].map(|x| x.cast(dtype).unwrap());
        session.eval(&[&x, &y]).unwrap();
        let function = functions::find(name).unwrap();
        let others = [Operand::Array(&y)];
        let plan =
            session.plan(&[&x.call(function, &others[..function.arity - 1]).unwrap()]).unwrap();
        let insts = &plan.kernels().next().unwrap().kernel.insts;
        let got = insts.iter().filter(|inst| matches!(inst.code, Code::Op(_))).count();
        if got != want {
            wrong.push(format!("{name} {dtype}: {got}, not {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bits of lanes of a type: small numbers, those at its ends, and what is special about floats.
fn lanes(dtype: DType) -> Vec<u64> {
    let ends = u64::MAX >> (64 - dtype.bits());
    match dtype {
        DType::Mask => vec![0, 1],
        _ if dtype.is_float() => {
            let (zeros, infinities) = ([0.0, -0.0], [f64::INFINITY, f64::NEG_INFINITY]);
            let numbers = [1.0, -3.0, 0.1, 0.7, 1e4, -6e4, f64::NAN];
            let numbers = zeros.into_iter().chain(infinities).chain(numbers);
            numbers.map(|number| dtype.encode(Scalar::Float(number)).unwrap()).collect()
        }
        _ => vec![0, 1, 2, 3, ends, ends - 1, ends >> 1, (ends >> 1) + 1, ends / 3],
    }
}

/// The bits of a result; those of any NaN are the quiet NaN's.
fn result(op: Op, dtype: DType, operands: [u64; 3]) -> u64 {
    let bits = apply_bits(op, dtype, dtype, operands);
    let is_same = op.info().shape == Shape::Same;
    if is_same { apply_bits(Op::Reinterpret, dtype, dtype, [bits, 0, 0]) } else { bits }
}

/// Operations whose columns say nothing of it have a counterexample.
#[test]
fn operations_commute_and_associate_as_their_columns_say() {
    for row in OPS.iter().filter(|row| matches!(row.shape, Shape::Same | Shape::Compare)) {
        let op = row.op;
        let mut commutes = row.arity > 1;
        for dtype in DType::ALL.into_iter().filter(|dtype| row.class.contains(*dtype)) {
            let (lanes, f) = (lanes(dtype), |a, b, c| result(op, dtype, [a, b, c]));
            let mut associates = row.arity == 2 && row.shape == Shape::Same;
            for (&a, &b) in lanes.iter().flat_map(|a| lanes.iter().map(move |b| (a, b))) {
                for &c in &lanes {
                    commutes &= f(a, b, c) == f(b, a, c);
                    associates = associates && f(f(a, b, 0), c, 0) == f(a, f(b, c, 0), 0);
                }
            }
            assert_eq!(op.is_associative(dtype), associates, "{op:?} of {dtype}");
        }
        assert_eq!(row.commutative, commutes, "{op:?}");
    }
}
