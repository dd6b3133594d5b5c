//! Functions of vectors and matrices whose entries are complex numbers.
//!
//! A recipe made of `+ - * /` and constants means the same for them: it is expanded over a recorder whose
//! values are complex. A Euclidean length is that of all real and imaginary parts.

use std::cell::RefCell;

use super::complex::Complex;
use super::{Form, NestedCall, NestedFunction};
use crate::dtype::DType;
use crate::ir::op::Op;
use crate::ir::var::VarId;
use crate::trace::expr::{Expr, Record};

/// Rows whose recipes are made of `+ - * /` and constants.
const RATIONAL: [&str; 14] = [
    "dot",
    "cross",
    "*",
    "/",
    "+",
    "-",
    "mul_elem",
    "transpose",
    "det",
    "determinant",
    "inverse",
    "inverse_transpose",
    "trace",
    "diag",
];
/// Rows that see a complex number as two entries.
const EUCLIDEAN: [&str; 4] = ["norm", "squared_norm", "frob", "normalize"];

/// An entry: real part, and imaginary part if it is complex.
pub(crate) type Parts<'r> = (Expr<'r>, Option<Expr<'r>>);

impl NestedCall {
    /// Whether entries may be complex numbers.
    pub fn takes_complex_entries(self) -> bool {
        let NestedFunction { name, parameters, .. } = self.function();
        let plain = |form: &Form| matches!(form, Form::Scalar | Form::Vector(_) | Form::Matrix(_));
        (RATIONAL.contains(name) || EUCLIDEAN.contains(name)) && parameters.iter().all(plain)
    }

    /// The entries of the results from entries of which some are complex.
    pub(crate) fn expand_complex<'r>(self, entries: &[Parts<'r>]) -> Vec<Parts<'r>> {
        if !EUCLIDEAN.contains(&self.function().name) {
            let values: Vec<Value<'r>> = entries.iter().map(|&(re, im)| Value { re, im }).collect();
            return rational(self, values);
        }
        let parts = entries.iter().flat_map(|&(re, im)| [Some(re), im]).flatten();
        let mut results = self.expand(&parts.collect::<Vec<_>>()).into_iter();
        // A length is one number; what has as many parts as the argument is complex where that was.
        if results.len() == 1 {
            return results.map(|length| (length, None)).collect();
        }
        let parts = entries.iter().filter_map(|(_, im)| {
            Some((results.next()?, if im.is_some() { results.next() } else { None }))
        });
        parts.collect()
    }
}

/// Expands a recipe over a recorder that counts its values.
fn rational<'r>(call: NestedCall, values: Vec<Value<'r>>) -> Vec<Parts<'r>> {
    let n = values.len();
    let recorder = Recorder(RefCell::new(values));
    let entries: Vec<Expr<'_>> =
        (0..n).map(|i| Expr::new(&recorder, VarId::new(index(i)))).collect();
    let results: Vec<VarId> = call.expand(&entries).into_iter().map(Expr::id).collect();
    results.into_iter().map(|id| recorder.value(id)).map(|value| (value.re, value.im)).collect()
}

fn index(i: usize) -> u32 {
    u32::try_from(i).expect("internal error: a recipe of too many values")
}

/// A real number as long as there is no imaginary part.
#[derive(Clone, Copy)]
struct Value<'r> {
    re: Expr<'r>,
    im: Option<Expr<'r>>,
}

impl<'r> Value<'r> {
    fn complex(self) -> Complex<'r> {
        Complex { re: self.re, im: self.im.unwrap_or_else(|| self.re.constant(0)) }
    }
}

/// Its variables are the numbers of its values.
struct Recorder<'r>(RefCell<Vec<Value<'r>>>);

impl<'r> Recorder<'r> {
    fn value(&self, id: VarId) -> Value<'r> {
        self.0.borrow()[id.index()]
    }

    fn add(&self, value: Value<'r>) -> VarId {
        let mut values = self.0.borrow_mut();
        values.push(value);
        VarId::new(index(values.len() - 1))
    }
}

impl Record for Recorder<'_> {
    fn dtype(&self, id: VarId) -> DType {
        self.value(id).re.dtype()
    }

    fn constant(&self, dtype: DType, bits: u64) -> VarId {
        let any = self.value(VarId::new(0)).re;
        self.add(Value { re: any.constant_of(dtype, bits), im: None })
    }

    fn op(&self, op: Op, args: &[VarId]) -> VarId {
        let values: Vec<Value<'_>> = args.iter().map(|&id| self.value(id)).collect();
        let result = match (op, &values[..]) {
            (Op::Neg, &[a]) => Value { re: -a.re, im: a.im.map(|im| -im) },
            (Op::Add, &[a, b]) => {
                let im = a.im.zip(b.im).map(|(a, b)| a + b);
                Value { re: a.re + b.re, im: im.or(a.im).or(b.im) }
            }
            (Op::Sub, &[a, b]) => {
                let im = a.im.zip(b.im).map(|(a, b)| a - b);
                Value { re: a.re - b.re, im: im.or(a.im).or(b.im.map(|im| -im)) }
            }
            (Op::Mul, &[a, b]) => match (a.im, b.im) {
                (Some(_), Some(_)) => of(a.complex() * b.complex()),
                (None, _) => scaled_by(b, a.re),
                (_, None) => scaled_by(a, b.re),
            },
            (Op::Div, &[a, b]) => match b.im {
                Some(_) => of(a.complex() / b.complex()),
                None => Value { re: a.re / b.re, im: a.im.map(|im| im / b.re) },
            },
            _ => panic!("internal error: {op:?} in a recipe of complex entries"),
        };
        self.add(result)
    }

    fn cast(&self, _: VarId, dtype: DType) -> VarId {
        panic!("internal error: a cast to {dtype} in a recipe of complex entries")
    }

    fn reinterpret(&self, id: VarId, dtype: DType) -> VarId {
        self.cast(id, dtype)
    }
}

fn of(z: Complex<'_>) -> Value<'_> {
    Value { re: z.re, im: Some(z.im) }
}

fn scaled_by<'r>(z: Value<'r>, factor: Expr<'r>) -> Value<'r> {
    Value { re: z.re * factor, im: z.im.map(|im| im * factor) }
}
