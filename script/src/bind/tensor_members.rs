//! Members of tensors: `t.T`, `t.shape`, `z.real`.

use porcini_core::Scalar;
use porcini_core::tensor::Tensor;
use rhai::Dynamic;

use crate::fault::{IntoFault, Result, fault};
use crate::value::{ArrayRef, dynamic};

/// What a member gives.
type Give = fn(&Tensor) -> Result<Dynamic>;

/// Name, what it is in a few words, and what it gives.
pub(crate) const MEMBERS: [(&str, &str, Give); 8] = [
    ("T", "the tensor with its axes in opposite order", |t| tensor(t.transpose())),
    ("H", "the adjoint of each matrix: the last two axes turned, conjugated", |t| {
        let turned = if t.shape().rank() < 2 { Ok(t.clone()) } else { t.matrix_transpose() };
        tensor(turned.and_then(|turned| turned.conjugate()))
    }),
    ("shape", "list of the extents", |t| {
        let extents = t.shape().extents().iter();
        Ok(extents.map(|&n| number(n)).collect::<rhai::Array>().into())
    }),
    ("ndim", "number of axes", |t| Ok(number(t.shape().rank() as u64))),
    ("size", "number of entries", |t| Ok(number(t.shape().n_entries()))),
    ("dtype", "lane type, as a text", |t| Ok(t.dtype().name().into())),
    ("real", "real parts", |t| tensor(t.part(0))),
    ("imag", "imaginary parts", |t| {
        let zeros = || t.each(|part| part.session().zeros(part.dtype(), part.size()));
        tensor(if t.is_complex() { t.part(1) } else { zeros() })
    }),
];

/// Those that arrays have too, which are tensors of one axis.
pub(crate) const OF_ARRAYS: [&str; 4] = ["shape", "ndim", "size", "dtype"];

/// A member by its name.
pub(super) fn get(value: &Tensor, name: &str) -> Result<Dynamic> {
    if let Some((.., give)) = MEMBERS.iter().find(|(known, ..)| *known == name) {
        return give(value);
    }
    let known: Vec<&str> = MEMBERS.iter().map(|(known, ..)| *known).collect();
    let (type_name, has) = (value.type_name(), known.join(", "));
    Err(fault(format!("{type_name} has no member `{name}` (it has {has})")))
}

/// The tensor with another value of a member: it turned, or with other parts. What was only read stays as it is: behind
/// `t.T.sort()` Rhai writes `t.T`.
pub(super) fn with(old: &Tensor, name: &str, value: &Dynamic) -> Result<Tensor> {
    let written = value.read_lock::<ArrayRef>().map(|value| value.clone());
    let Some(written) = written.filter(|_| matches!(name, "T" | "H" | "real" | "imag")) else {
        let own = get(old, name)?;
        if own.to_string() == value.to_string() {
            return Ok(old.clone());
        }
        return Err(fault(format!(
            ".{name} = value: a tensor has it by its entries; reshape(t, shape) gives others"
        )));
    };
    let value = written.lend(|value| value.as_tensor("=")).or_fault()?;
    let value = value.ok_or_else(|| fault("=: expected a tensor"))?;
    match name {
        "T" => value.transpose().or_fault(),
        "H" => value.matrix_transpose().and_then(|turned| turned.conjugate()).or_fault(),
        _ => old.with_part(usize::from(name == "imag"), &value).or_fault(),
    }
}

fn tensor(made: porcini_core::Result<Tensor>) -> Result<Dynamic> {
    made.map(|made| Dynamic::from(ArrayRef::tensor(made))).or_fault()
}

fn number(n: u64) -> Dynamic {
    dynamic(Scalar::UInt(n))
}
