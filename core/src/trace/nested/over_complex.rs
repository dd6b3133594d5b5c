//! Functions of vectors and matrices whose entries are complex numbers or quaternions.
//!
//! A recipe made of `+ - * /`, absolute values and constants means the same for complex entries: it is expanded over a
//! recorder whose values are complex. A Euclidean length is that of all parts of all entries.

use std::cell::RefCell;

use super::complex::Complex;
use super::entries::real;
use super::matrix::{balance, largest};
use super::{Entries, Form, NestedCall, find};
use crate::dtype::DType;
use crate::ir::op::Op;
use crate::ir::var::VarId;
use crate::trace::expr::{Expr, Record};

/// An entry: real part, and imaginary part if it is complex.
pub(crate) type Parts<'r> = (Expr<'r>, Option<Expr<'r>>);

impl NestedCall {
    /// Whether entries may be complex numbers.
    pub fn takes_complex_entries(self) -> bool {
        matches!(self.function().entries, Entries::Rational | Entries::Conjugates)
    }

    /// Whether parts of complex numbers and quaternions count as entries.
    pub fn takes_parts(self) -> bool {
        self.function().entries == Entries::Parts
    }

    /// The entries of the results from entries of which some are complex.
    pub(crate) fn expand_complex<'r>(self, entries: &[Parts<'r>]) -> Vec<Parts<'r>> {
        let values: Vec<Value<'r>> = entries.iter().map(|&(re, im)| Value { re, im }).collect();
        let results = if self.function().entries == Entries::Conjugates {
            polar(&values, self.n)
        } else {
            rational(self, values)
        };
        results.into_iter().map(|value| (value.re, value.im)).collect()
    }
}

/// Expands a recipe over a recorder that counts its values.
fn rational<'r>(call: NestedCall, values: Vec<Value<'r>>) -> Vec<Value<'r>> {
    let n = values.len();
    let recorder = Recorder { values: RefCell::new(values), keeps_calls: false };
    let entries: Vec<Expr<'_>> =
        (0..n).map(|i| Expr::new(&recorder, VarId::new(index(i)))).collect();
    let results: Vec<VarId> = call.expand(&entries).into_iter().map(Expr::id).collect();
    results.into_iter().map(|id| recorder.value(id)).collect()
}

/// As for real entries, with conjugates where those have transposes.
fn polar<'r>(x: &[Value<'r>], n: usize) -> Vec<Value<'r>> {
    let call = |name: &str, forms: &[Form], x: Vec<Complex<'r>>| -> Vec<Complex<'r>> {
        let call = find(name, forms).expect("internal error: a function of matrices");
        rational(call, x.into_iter().map(of).collect()).into_iter().map(Value::complex).collect()
    };
    let conjugates =
        |x: Vec<Complex<'r>>| -> Vec<Complex<'r>> { x.into_iter().map(Complex::conj).collect() };
    let parts =
        |x: &[Complex<'r>]| -> Vec<Expr<'r>> { x.iter().flat_map(|z| [z.re, z.im]).collect() };
    let matrix = Form::Matrix(n);
    let x: Vec<Complex<'r>> = x.iter().map(|value| value.complex()).collect();
    let half = x[0].re.constant(0.5);
    let size = largest(&parts(&x));
    let mut q: Vec<Complex<'r>> =
        x.iter().map(|z| Complex { re: z.re / size, im: z.im / size }).collect();
    for _ in 0..10 {
        let inverse = conjugates(call("inverse_transpose", &[matrix], q.clone()));
        let gamma = balance(&parts(&inverse), &parts(&q));
        let (own, other) = (gamma * half, half / gamma);
        let step = |(q, inverse): (&Complex<'r>, &Complex<'r>)| Complex {
            re: q.re * own + inverse.re * other,
            im: q.im * own + inverse.im * other,
        };
        q = q.iter().zip(&inverse).map(step).collect();
    }
    let mut factors = conjugates(call("transpose", &[matrix], q.clone()));
    factors.extend(&x);
    q.extend(call("*", &[matrix, matrix], factors));
    q.into_iter().map(of).collect()
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
struct Recorder<'r> {
    values: RefCell<Vec<Value<'r>>>,
    /// Whether functions stay calls, as derivatives have it.
    keeps_calls: bool,
}

impl<'r> Recorder<'r> {
    fn value(&self, id: VarId) -> Value<'r> {
        self.values.borrow()[id.index()]
    }

    fn add(&self, value: Value<'r>) -> VarId {
        let mut values = self.values.borrow_mut();
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
            (Op::Abs, &[a]) => {
                Value { re: a.im.map_or(a.re.abs(), |im| real::hypot(a.re, im)), im: None }
            }
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
                Some(_) if self.keeps_calls => called("/", &[a, b]),
                Some(_) => of(a.complex() / b.complex()),
                None => Value { re: a.re / b.re, im: a.im.map(|im| im / b.re) },
            },
            // Of derivatives.
            (Op::Sqrt, &[a]) => called("sqrt", &[a]),
            (Op::Eq, &[a, b]) => {
                let (a, b) = (a.complex(), b.complex());
                Value { re: a.re.eq(b.re) & a.im.eq(b.im), im: None }
            }
            (Op::Select, &[mask, a, b]) => {
                let (a, b) = (a.complex(), b.complex());
                of(Complex { re: mask.re.select(a.re, b.re), im: mask.re.select(a.im, b.im) })
            }
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

    fn is_complex(&self) -> bool {
        true
    }

    fn call(&self, name: &'static str, args: &[VarId]) -> VarId {
        let args: Vec<Value<'_>> = args.iter().map(|&id| self.value(id)).collect();
        self.add(called(name, &args))
    }
}

/// A function of complex numbers as a call of its own.
fn called<'r>(name: &str, args: &[Value<'r>]) -> Value<'r> {
    let forms = vec![Form::Complex; args.len()];
    let call = find(name, &forms).expect("internal error: no such function of complex numbers");
    let entries = args.iter().flat_map(|arg| [arg.complex().re, arg.complex().im]);
    let parts = Expr::nested(name, &call.shape(), &entries.collect::<Vec<_>>());
    Value { re: parts[0], im: Some(parts[1]) }
}

/// What a formula of numbers says of complex ones, in parts, with functions as calls.
pub(in crate::trace) fn of_complex<'r>(
    args: &[[Expr<'r>; 2]],
    formula: impl for<'c> FnOnce(&[Expr<'c>]) -> Expr<'c>,
) -> [Expr<'r>; 2] {
    let n = args.len();
    let values = args.iter().map(|&[re, im]| Value { re, im: Some(im) }).collect();
    let recorder = Recorder { values: RefCell::new(values), keeps_calls: true };
    let entries: Vec<Expr<'_>> =
        (0..n).map(|i| Expr::new(&recorder, VarId::new(index(i)))).collect();
    let result = formula(&entries).id();
    let Complex { re, im } = recorder.value(result).complex();
    [re, im]
}

fn of(z: Complex<'_>) -> Value<'_> {
    Value { re: z.re, im: Some(z.im) }
}

fn scaled_by<'r>(z: Value<'r>, factor: Expr<'r>) -> Value<'r> {
    Value { re: z.re * factor, im: z.im.map(|im| im * factor) }
}
