//! The operations of Cengine under their own names: `rscalar`, `cscalar` and `ctensor`, which are arrays, complex numbers
//! and complex tensors. A bundle is many lanes of a scalar, or a leading axis of a tensor.
//!
//! Most are cumulative, `r += ..`: every name of `r` sees the change, and since sums commute their order does not matter
//! but for rounding.

mod new;
mod target;
mod tensors;

pub use new::{NEW, New};
pub use tensors::CENGINE_TENSORS;

use self::target::{beside_tensors, inner, r, written, zero};
use super::{Call, Kind, Row, table};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::Op;
use crate::tensor::Tensor;
use crate::value::{Argument, Form, Value, apply, function, power};

/// What stands for a parameter in examples, and for `r`.
macro_rules! sample {
    (rscalar r) => {
        "rscalar(1)"
    };
    (rscalar x) => {
        "rscalar(2)"
    };
    (rscalar y) => {
        "rscalar(4)"
    };
    (rscalar g) => {
        "rscalar(3)"
    };
    (cscalar r) => {
        "cscalar(1, 1)"
    };
    (cscalar x) => {
        "cscalar(1, 2)"
    };
    (cscalar y) => {
        "cscalar(0, 2)"
    };
    (cscalar g) => {
        "cscalar(4, 2)"
    };
    (cscalar a) => {
        "rscalar(3)"
    };
    (ctensor r) => {
        "ctensor([[1]], [[1]])"
    };
    (ctensor x) => {
        "ctensor([[1]], [[2]])"
    };
    (ctensor y) => {
        "ctensor([[0]], [[2]])"
    };
    (ctensor g) => {
        "ctensor([[4]], [[2]])"
    };
    (ctensor n) => {
        "rscalar([2])"
    };
    (ctensor ix) => {
        "0"
    };
    (ctensor offs) => {
        "0"
    };
    ($type:ident z) => {
        "cscalar(0, 1)"
    };
    (rscalar list) => {
        "[rscalar(2), rscalar(4)]"
    };
    (cscalar list) => {
        "[cscalar(1, 2), cscalar(0, 2)]"
    };
    (ctensor list) => {
        "[ctensor([[1]], [[2]]), ctensor([[0]], [[2]])]"
    };
    ($type:ident $number:ident) => {
        "2"
    };
}

macro_rules! samples {
    ($type:ident (r: Target $(, $name:ident: $kind:ident $(($words:literal))?)*)) => {
        concat!($(", ", sample!($type $name)),*)
    };
}

/// Rows by name and parameters, of the types in brackets, each with what the example shows: what is added to `r`, or what
/// `r` becomes.
macro_rules! operations {
    ($(#[doc = $about:literal])+ $table:ident; $(
        $name:ident $parameters:tt $formula:literal = |$call:ident| $meaning:expr,
        $([$type:ident $shown:literal])+;
    )*) => {
        $(#[doc = $about])+
        pub const $table: &[Row] = &[$($(Row {
            name: concat!(stringify!($type), "_", stringify!($name)),
            parameters: table!(@parameters $parameters),
            n_required: table!(@required $parameters),
            doc: concat!(
                $formula, ", an operation of Cengine: every name of r sees the change. Recorded, not run.\n\n>> r = ",
                sample!($type r), "; ", stringify!($type), "_", stringify!($name), "(r",
                samples!($type $parameters), "); r\n", $shown, "\n"
            ),
            note: "",
            meaning: |$call| written($call, &$meaning?),
        },)+)*];
    };
}

operations! {
    /// What changes its first argument.
    CENGINE;
    set_zero(r: Target) "r becomes 0" = |c| zero(c),
        [rscalar "[0]"] [cscalar "[0 + 0i]"] [ctensor "[[0 + 0i]]"];
    set_value(r: Target, x: Operand) "r becomes x" = |c| at(c, 1),
        [rscalar "[2]"] [cscalar "[1 + 2i]"];
    set_real(r: Target, a: Operand) "The real part of r becomes a" = |c| with_part(c, 0, |_| real(c, 1)),
        [cscalar "[3 + 1i]"];
    set_imag(r: Target, a: Operand) "The imaginary part of r becomes a" = |c| with_part(c, 1, |_| real(c, 1)),
        [cscalar "[1 + 3i]"];
    add(r: Target, x: Operand) "r += x" = |c| r(c)?.try_add(&at(c, 1)?),
        [rscalar "[3]"] [cscalar "[2 + 3i]"] [ctensor "[[2 + 3i]]"];
    subtract(r: Target, x: Operand) "r -= x" = |c| r(c)?.try_sub(&at(c, 1)?),
        [rscalar "[-1]"] [cscalar "[0 - 1i]"] [ctensor "[[0 - 1i]]"];
    add_sum(r: Target, list: List) "r += the sum of a list" = |c| (1..c.args.len()).try_fold(r(c)?, |sum, i| sum.try_add(&at(c, i)?)),
        [rscalar "[7]"] [cscalar "[2 + 5i]"] [ctensor "[[2 + 5i]]"];
    add_conj(r: Target, x: Operand) "r += conj(x)" = |c| r(c)?.try_add(&conj(c, 1)?),
        [cscalar "[2 - 1i]"] [ctensor "[[2 - 1i]]"];
    add_transp(r: Target, x: Tensor) "r += x.T" = |c| r(c)?.try_add(&Value::Tensor(c.tensor(1)?.matrix_transpose()?)),
        [ctensor "[[2 + 3i]]"];
    add_herm(r: Target, x: Tensor) "r += x.H" = |c| r(c)?.try_add(&Value::Tensor(c.tensor(1)?.conjugate()?.matrix_transpose()?)),
        [ctensor "[[2 - 1i]]"];
    add_times_real(r: Target, x: Operand, c: Operand) "r += c * x, c real" = |c| plus_product(c, at(c, 1), factor(c, real(c, 2))),
        [rscalar "[5]"] [cscalar "[3 + 5i]"] [ctensor "[[3 + 5i]]"];
    add_times_complex(r: Target, x: Operand, z: Operand) "r += z * x" = |c| plus_product(c, at(c, 1), factor(c, at(c, 2))),
        [cscalar "[-1 + 2i]"] [ctensor "[[-1 + 2i]]"];
    add_prod(r: Target, x: Operand, y: Operand) "r += x * y" = |c| plus_product(c, at(c, 1), at(c, 2)),
        [rscalar "[9]"] [cscalar "[-3 + 3i]"] [ctensor "[[-3 + 3i]]"];
    add_prod2(r: Target, x: Operand, y: Operand) "r += x * y" = |c| plus_product(c, at(c, 1), at(c, 2)),
        [cscalar "[-3 + 3i]"];
    add_prodc(r: Target, x: Operand, y: Operand) "r += x * conj(y)" = |c| plus_product(c, at(c, 1), conj(c, 2)),
        [cscalar "[5 - 1i]"];
    add_prodcc(r: Target, x: Operand, y: Operand) "r += conj(x * y)" = |c| plus_product(c, conj(c, 1), conj(c, 2)),
        [cscalar "[-3 - 1i]"];
    add_prod_r(r: Target, x: Operand, a: Operand) "r += x * a, a real" = |c| plus_product(c, at(c, 1), real(c, 2)),
        [cscalar "[4 + 7i]"];
    add_prod_r_A(r: Target, a: Operand, x: Operand) "r += a * x, a real" = |c| plus_product(c, factor(c, real(c, 1)), at(c, 2)),
        [ctensor "[[3 + 5i]]"];
    add_prod_c_A(r: Target, z: Operand, x: Operand) "r += z * x" = |c| plus_product(c, factor(c, at(c, 1)), at(c, 2)),
        [ctensor "[[-1 + 2i]]"];
    add_prod_rA(r: Target, a: Operand, x: Operand) "r += a * x, a real" = |c| plus_product(c, factor(c, real(c, 1)), at(c, 2)),
        [ctensor "[[3 + 5i]]"];
    add_prod_cA(r: Target, z: Operand, x: Operand) "r += z * x" = |c| plus_product(c, factor(c, at(c, 1)), at(c, 2)),
        [ctensor "[[-1 + 2i]]"];
    add_prod_cc_A(r: Target, z: Operand, x: Operand) "r += conj(z) * x" = |c| plus_product(c, factor(c, conj(c, 1)), at(c, 2)),
        [ctensor "[[3 + 0i]]"];
    add_prod_c_Ac(r: Target, z: Operand, x: Operand) "r += z * conj(x)" = |c| plus_product(c, factor(c, at(c, 1)), conj(c, 2)),
        [ctensor "[[3 + 2i]]"];
    add_div(r: Target, x: Operand, y: Operand) "r += x / y" = |c| r(c)?.try_add(&at(c, 1)?.try_div(&at(c, 2)?)?),
        [rscalar "[1.5]"] [cscalar "[2 + 0.5i]"];
    add_to_real(r: Target, a: Operand) "The real part of r += a" = |c| with_part(c, 0, |part| part.try_add(&real(c, 1)?)),
        [cscalar "[4 + 1i]"];
    add_to_imag(r: Target, a: Operand) "The imaginary part of r += a" = |c| with_part(c, 1, |part| part.try_add(&real(c, 1)?)),
        [cscalar "[1 + 4i]"];
    add_abs(r: Target, x: Operand) "r += abs(x)" = |c| r(c)?.try_add(&at(c, 1)?.apply(Op::Abs, &[])?),
        [rscalar "[3]"] [cscalar "[3.23607 + 1i]"];
    add_exp(r: Target, x: Operand) "r += exp(x)" = |c| r(c)?.try_add(&exp(&at(c, 1)?)?),
        [rscalar "[8.38906]"] [cscalar "[-0.131204 + 3.47173i]"];
    add_pow(r: Target, x: Operand, p: Number("as an exponent"), c: Operand) "r += c * x^p" = |c| plus_product(c, raised(c, 1, 2), at(c, 3)),
        [rscalar "[9]"] [cscalar "[-5 + 9i]"];
    add_ReLU(r: Target, x: Operand, c: Number("as a slope")) "r += x where x > 0, else c * x, real and imaginary parts each by themselves" = |c| plus_of_parts(c, &[1], &|x| positive(&x[0], &x[0], &x[0].try_mul(c.scalar(2)?)?)),
        [rscalar "[3]"] [cscalar "[2 + 3i]"] [ctensor "[[2 + 3i]]"];
    add_sigmoid(r: Target, x: Operand) "r += 1 / (1 + exp(-x)), real and imaginary parts each by themselves" = |c| plus_of_parts(c, &[1], &|x| apply(Op::Div, &[&1.into(), &(&exp(&x[0].try_neg()?)?.try_add(1)?).into()])),
        [rscalar "[1.8808]"] [cscalar "[1.73106 + 1.8808i]"];
    add_div_back0(r: Target, g: Operand, y: Operand) "r += g / conj(y), what x / y gives back to x" = |c| r(c)?.try_add(&at(c, 1)?.try_div(&conj(c, 2)?)?),
        [rscalar "[1.75]"] [cscalar "[0 + 3i]"];
    add_div_back1(r: Target, g: Operand, x: Operand, y: Operand) "r -= g * conj(x / y^2), what x / y gives back to y" = |c| {
        let square = conj(c, 3)?.try_mul(&conj(c, 3)?)?;
        r(c)?.try_sub(&at(c, 1)?.try_mul(&conj(c, 2)?.try_div(&square)?)?)
    },
        [rscalar "[0.625]"] [cscalar "[3 - 0.5i]"];
    add_pow_back(r: Target, x: Operand, g: Operand, p: Number("as an exponent"), c: Operand) "r += c * g * conj(x^p), what x^(p + 1) gives back with c its slope" = |c| plus_product(c, at(c, 2)?.try_mul(&conjugate(&raised(c, 1, 3)?)?), at(c, 4)),
        [rscalar "[25]"] [cscalar "[-7 - 43i]"];
    add_abs_back(r: Target, g: Operand, x: Operand) "r += g where x > 0, else -g, real and imaginary parts each by themselves" = |c| plus_of_parts(c, &[2, 1], &|x| positive(&x[0], &x[1], &x[1].try_neg()?)),
        [rscalar "[4]"] [cscalar "[5 + 3i]"];
    add_ReLU_back(r: Target, g: Operand, x: Operand, c: Number("as a slope")) "r += g where x > 0, else c * g, real and imaginary parts each by themselves" = |c| plus_of_parts(c, &[2, 1], &|x| positive(&x[0], &x[1], &x[1].try_mul(c.scalar(3)?)?)),
        [rscalar "[4]"] [cscalar "[5 + 3i]"] [ctensor "[[5 + 3i]]"];
    add_sigmoid_back(r: Target, g: Operand, x: Operand) "r += g * x * (1 - x), x being what the sigmoid gave, real and imaginary parts each by themselves" = |c| plus_of_parts(c, &[2, 1], &|x| x[1].try_mul(&x[0])?.try_mul(&x[0].try_neg()?.try_add(1)?)),
        [rscalar "[-5]"] [cscalar "[1 - 3i]"];
    add_inp(r: Target, x: Tensor, y: Tensor) "r += the sum of x * conj(y) over all entries, of bundles over those of each" = |c| {
        r(c)?.try_add(&inner(c, &c.tensor(1)?, &c.tensor(2)?)?)
    },
        [ctensor "[[5 - 1i]]"];
    add_Mprod(r: Target, x: Tensor, y: Tensor) "r += x @ y" = |c| plus_matrices(c, AS_IT_IS, AS_IT_IS),
        [ctensor "[[-3 + 3i]]"];
    add_Mprod_AT(r: Target, x: Tensor, y: Tensor) "r += x @ y.T" = |c| plus_matrices(c, AS_IT_IS, TURNED),
        [ctensor "[[-3 + 3i]]"];
    add_Mprod_TA(r: Target, x: Tensor, y: Tensor) "r += x.T @ y" = |c| plus_matrices(c, TURNED, AS_IT_IS),
        [ctensor "[[-3 + 3i]]"];
    add_Mprod_AC(r: Target, x: Tensor, y: Tensor) "r += x @ conj(y)" = |c| plus_matrices(c, AS_IT_IS, CONJUGATED),
        [ctensor "[[5 - 1i]]"];
    add_Mprod_TC(r: Target, x: Tensor, y: Tensor) "r += x.T @ conj(y)" = |c| plus_matrices(c, TURNED, CONJUGATED),
        [ctensor "[[5 - 1i]]"];
    add_Mprod_AH(r: Target, x: Tensor, y: Tensor) "r += x @ y.H" = |c| plus_matrices(c, AS_IT_IS, BOTH),
        [ctensor "[[5 - 1i]]"];
    add_Mprod_HA(r: Target, x: Tensor, y: Tensor) "r += x.H @ y" = |c| plus_matrices(c, BOTH, AS_IT_IS),
        [ctensor "[[5 + 3i]]"];
    add_Mprod_CA(r: Target, x: Tensor, y: Tensor) "r += conj(x) @ y" = |c| plus_matrices(c, CONJUGATED, AS_IT_IS),
        [ctensor "[[5 + 3i]]"];
    add_Mprod_CC(r: Target, x: Tensor, y: Tensor) "r += conj(x) @ conj(y)" = |c| plus_matrices(c, CONJUGATED, CONJUGATED),
        [ctensor "[[-3 - 1i]]"];
    add_Mprod_HC(r: Target, x: Tensor, y: Tensor) "r += x.H @ conj(y)" = |c| plus_matrices(c, BOTH, CONJUGATED),
        [ctensor "[[-3 - 1i]]"];
    add_Mprod_CT(r: Target, x: Tensor, y: Tensor) "r += conj(x) @ y.T" = |c| plus_matrices(c, CONJUGATED, TURNED),
        [ctensor "[[5 + 3i]]"];
    add_Mprod_CH(r: Target, x: Tensor, y: Tensor) "r += conj(x) @ y.H" = |c| plus_matrices(c, CONJUGATED, BOTH),
        [ctensor "[[-3 - 1i]]"];
}

/// How a factor is taken: conjugated, turned.
type Factor = [bool; 2];
const AS_IT_IS: Factor = [false, false];
const TURNED: Factor = [false, true];
const CONJUGATED: Factor = [true, false];
const BOTH: Factor = [true, true];

/// An operand; a number is one lane of the target's type.
fn at(c: &Call<'_, '_>, i: usize) -> Result<Value> {
    match c.args[i] {
        Argument::Number(number) => {
            let dtype = c.args[0].dtype().unwrap_or(DType::F32);
            c.session.full(dtype, *number, 1).map(Value::Array)
        }
        arg => arg.to_value(c.op),
    }
}

/// An operand that is real.
fn real(c: &Call<'_, '_>, i: usize) -> Result<Value> {
    let value = at(c, i)?;
    if value.is_complex() { Err(c.unexpected(i, "a real value")) } else { Ok(value) }
}

/// A factor beside tensors, if the target is one.
fn factor(c: &Call<'_, '_>, factor: Result<Value>) -> Result<Value> {
    beside_tensors(c, factor?)
}

fn conj(c: &Call<'_, '_>, i: usize) -> Result<Value> {
    conjugate(&at(c, i)?)
}

fn conjugate(x: &Value) -> Result<Value> {
    match x {
        Value::Tensor(tensor) => tensor.conjugate().map(Value::Tensor),
        Value::Nested(Form::Complex, _) => x.call("conj", &[]),
        _ => Ok(x.clone()),
    }
}

fn exp(x: &Value) -> Result<Value> {
    function("exp", &[&x.into()])
}

/// A power whose exponent is a number.
fn raised(c: &Call<'_, '_>, base: usize, exponent: usize) -> Result<Value> {
    let (base, exponent) = (at(c, base)?, c.scalar(exponent)?);
    match exponent {
        Scalar::Int(exponent) => power(c.op, &base, exponent),
        exponent => function("pow", &[&(&base).into(), &exponent.into()]),
    }
}

fn plus_product(c: &Call<'_, '_>, a: Result<Value>, b: Result<Value>) -> Result<Value> {
    r(c)?.try_add(&a?.try_mul(&b?)?)
}

fn plus_matrices(c: &Call<'_, '_>, left: Factor, right: Factor) -> Result<Value> {
    let factor = |i: usize, [is_conjugated, is_turned]: Factor| {
        let factor = c.tensor(i)?;
        let factor = if is_conjugated { factor.conjugate()? } else { factor };
        if is_turned && factor.shape().rank() > 1 { factor.matrix_transpose() } else { Ok(factor) }
    };
    r(c)?.try_add(&Value::Tensor(factor(1, left)?.matmul(&factor(2, right)?)?))
}

/// One where a real value is positive, else another.
fn positive(x: &Value, one: &Value, other: &Value) -> Result<Value> {
    x.apply(Op::Gt, &[0.into()])?.apply(Op::Select, &[one.into(), other.into()])
}

/// Real and imaginary part of a value, or itself.
fn parts_of(x: &Value) -> Vec<Value> {
    match x {
        Value::Nested(Form::Complex, parts) => parts.to_vec(),
        Value::Tensor(tensor) => {
            (0..).map_while(|i| tensor.part(i).ok().map(Value::Tensor)).collect()
        }
        _ => vec![x.clone()],
    }
}

/// A complex value of two parts; of one it itself.
fn of_parts(mut parts: Vec<Value>) -> Result<Value> {
    match &parts[..] {
        [Value::Tensor(real), Value::Tensor(imag)] => {
            let (real_part, imag_part) = (&real.entries()?[0], &imag.entries()?[0]);
            Tensor::complex(real_part, imag_part, real.shape().extents()).map(Value::Tensor)
        }
        [_, _] => Ok(Value::of_known(Form::Complex, parts)),
        _ => Ok(parts.swap_remove(0)),
    }
}

/// The target and what is made of the parts of arguments, each by itself.
fn plus_of_parts(
    c: &Call<'_, '_>,
    args: &[usize],
    change: &dyn Fn(&[Value]) -> Result<Value>,
) -> Result<Value> {
    let parts = args.iter().map(|&i| at(c, i).map(|x| parts_of(&x)));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let n = parts.iter().map(Vec::len).max().unwrap_or(1);
    let changed = (0..n).map(|k| {
        let of = |parts: &Vec<Value>| {
            parts
                .get(k)
                .cloned()
                .ok_or_else(|| c.unexpected(args[0], "complex numbers beside complex ones"))
        };
        change(&parts.iter().map(of).collect::<Result<Vec<_>>>()?)
    });
    r(c)?.try_add(&of_parts(changed.collect::<Result<_>>()?)?)
}

/// The target with another real (0) or imaginary part.
fn with_part(
    c: &Call<'_, '_>,
    i: usize,
    change: impl FnOnce(&Value) -> Result<Value>,
) -> Result<Value> {
    let mut parts = parts_of(&r(c)?);
    let Some(part) = parts.get_mut(i) else { return Err(c.unexpected(0, "complex numbers")) };
    *part = change(part)?;
    of_parts(parts)
}
