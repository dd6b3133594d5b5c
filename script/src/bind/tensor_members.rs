//! Members of tensors: `t.T`, `t.shape`, `z.real`.

use porcini_core::Scalar;
use porcini_core::tensor::Tensor;
use rhai::Dynamic;

use crate::fault::{IntoFault, Result, fault};
use crate::value::{ArrayRef, dynamic};

/// What a member gives.
type Give = fn(&Tensor) -> Result<Dynamic>;

/// Name, what it is in a few words, and what it gives.
pub(crate) const MEMBERS: [(&str, &str, Give); 7] = [
    ("T", "the tensor with its axes in opposite order", |t| tensor(t.transpose())),
    ("H", "the matrix turned, with the sign of imaginary parts changed", |t| {
        tensor(t.matrix_transpose().and_then(|turned| turned.conjugate()))
    }),
    ("shape", "list of the extents", |t| {
        let extents = t.shape().extents().iter();
        Ok(extents.map(|&n| number(n)).collect::<rhai::Array>().into())
    }),
    ("ndim", "number of axes", |t| Ok(number(t.shape().rank() as u64))),
    ("size", "number of entries", |t| Ok(number(t.shape().n_entries()))),
    ("real", "real parts", |t| tensor(Ok(t.part(0)))),
    ("imag", "imaginary parts", |t| {
        let zeros = || t.each(|part| part.session().zeros(part.dtype(), part.size()));
        tensor(if t.is_complex() { Ok(t.part(1)) } else { zeros() })
    }),
];

/// A member by its name.
pub(super) fn get(value: &Tensor, name: &str) -> Result<Dynamic> {
    if let Some((.., give)) = MEMBERS.iter().find(|(known, ..)| *known == name) {
        return give(value);
    }
    let known: Vec<&str> = MEMBERS.iter().map(|(known, ..)| *known).collect();
    let (type_name, has) = (value.type_name(), known.join(", "));
    Err(fault(format!("{type_name} has no member `{name}` (it has {has})")))
}

fn tensor(made: porcini_core::Result<Tensor>) -> Result<Dynamic> {
    made.map(|made| Dynamic::from(ArrayRef::tensor(made))).or_fault()
}

fn number(n: u64) -> Dynamic {
    dynamic(Scalar::UInt(n))
}
