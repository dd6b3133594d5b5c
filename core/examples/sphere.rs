//! The volume of a sphere by Monte Carlo integration: Enoki's C++ listing in Rust.
//!
//! Run with `cargo run --release -p porcini-core --example sphere`; prints `0.523543`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use porcini_core::random::{PCG32_DEFAULT_STATE, Pcg32};
use porcini_core::{DType, Result, Scalar, Session, vector};

fn main() -> Result<()> {
    let session = Session::new()?;
    let lanes =
        session.arange(DType::U64, Scalar::Int(0), Scalar::Int(1_000_000), Scalar::Int(1))?;
    let mut rng = Pcg32::new(&session, PCG32_DEFAULT_STATE, lanes)?;

    let v = [
        rng.next_float32()? * 2.0 - 1.0,
        rng.next_float32()? * 2.0 - 1.0,
        rng.next_float32()? * 2.0 - 1.0,
    ];
    let inside = vector::norm(&v)?.lt(1.0)?;

    let count = inside.count()?.item(0)?.to_f64();
    println!("{}", count / Scalar::UInt(inside.size()).to_f64());
    Ok(())
}
