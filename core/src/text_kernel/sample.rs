//! Arguments for kernels that are only looked at.

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::value::Argument;

/// Lanes of the arrays with which a kernel is looked at.
const SAMPLE: usize = 8;

/// Arrays of 8 lanes for parameters, of types that are said or their own; `None` of numbers.
pub(super) fn samples(
    session: &Session,
    parameters: Vec<Option<DType>>,
    types: &[Option<DType>],
) -> Result<Vec<Option<Array>>> {
    let (n, most) = (types.len(), parameters.len());
    if n > most {
        let what = format!("got {n} types of arguments, expected at most {most}");
        return Err(Error::Kernel { what, remedy: None });
    }
    let mut said = types.iter();
    let arrays = parameters.into_iter().map(|known| {
        let dtype = match said.next() {
            Some(None) => return Ok(None),
            Some(Some(dtype)) => *dtype,
            None => known.unwrap_or(DType::F32),
        };
        session.from_bytes(dtype, &vec![0; SAMPLE * dtype.bytes()]).map(Some)
    });
    arrays.collect()
}

/// They as arguments.
pub(super) fn sampled(arrays: &[Option<Array>]) -> Vec<Argument<'_>> {
    let number = || Argument::Number(Scalar::Int(3));
    arrays.iter().map(|array| array.as_ref().map_or_else(number, Argument::from)).collect()
}
