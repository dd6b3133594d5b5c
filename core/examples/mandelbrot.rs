//! How much of a grid of complex numbers stays in the Mandelbrot set for 50 steps.
//!
//! Run with `cargo run --release -p porcini-core --example mandelbrot`; prints the number of points.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use porcini_core::value::Complex2f;
use porcini_core::{DType, Result, Scalar, Session, Value};

/// The points that stay.
pub(crate) fn points() -> Result<Scalar> {
    let session = Session::new()?;
    let x = session.linspace(DType::F32, -2, 1, 300)?;
    let y = session.linspace(DType::F32, -1, 1, 200)?;
    let [x, y] = session.meshgrid(&x, &y)?;
    let c = Complex2f::new([&x, &y])?;
    let mut z = Value::from(c.clone());
    for _ in 0..50 {
        z = &z * &z + &c;
    }
    z.squared_norm()?.lt(4.0)?.count()?.item(0)
}

fn main() -> Result<()> {
    println!("{}", points()?);
    Ok(())
}
