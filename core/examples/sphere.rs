//! The volume of a sphere by Monte Carlo integration: Enoki's C++ listing in Rust.
//!
//! Run with `cargo run --release -p porcini-core --example sphere`; prints `0.524141`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use porcini_core::random::Pcg32;
use porcini_core::value::Vector3f;
use porcini_core::{Result, Session};

/// The part of the points in a cube that lie in the sphere.
pub(crate) fn part() -> Result<f64> {
    let session = Session::new()?;
    let mut rng = Pcg32::seeded(&session, 1_000_000, 1)?;
    let [x, y, z] = [rng.next_float32()?, rng.next_float32()?, rng.next_float32()?];
    let v = 2.0 * Vector3f::new([&x, &y, &z])? - 1.0;
    let inside = v.norm()?.lt(1.0)?;
    Ok(inside.count()?.item(0)?.to_f64() / 1e6)
}

fn main() -> Result<()> {
    println!("{}", part()?);
    Ok(())
}
