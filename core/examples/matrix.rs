//! Matrices in a million lanes, times their inverses: what is left of the identity.
//!
//! Run with `cargo run --release -p porcini-core --example matrix`; prints a few rounding errors.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use porcini_core::value::Matrix2f;
use porcini_core::{DType, Result, Session};

/// The largest squared length of what is left.
pub(crate) fn rest() -> Result<f64> {
    let session = Session::new()?;
    let angle = session.linspace(DType::F32, 0, 3, 1_000_000)?;
    let (sin, cos) = angle.sincos()?;
    let rotation = Matrix2f::new([&cos, &-&sin, &sin, &cos])?;
    let m = rotation * Matrix2f::literal(&session, [2.0, 1.0, 0.0, 3.0])?;
    let rest = &m * m.inverse()? - 1.0;
    Ok(rest.frob()?.hmax()?.item(0)?.to_f64())
}

fn main() -> Result<()> {
    println!("{}", rest()?);
    Ok(())
}
