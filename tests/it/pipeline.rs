//! Facts of the pipeline, read from the launch history and from what a session shows; never from time.

mod alone;
mod bounds;
mod fast_math;
mod functions;
mod laziness;
mod lost;
mod memory;
mod numbers;
mod reuse;
mod scatter;
mod sessions;
mod several;

use porcini_core::backend::isa::Isa;
use porcini_core::eval::cache::CacheResult;
use porcini_core::{Array, DType, DeviceChoice, Scalar, Session};

fn session() -> Session {
    Session::builder().device(DeviceChoice::Interp(Isa::detect())).threads(2).build().unwrap()
}

/// 0, 1, .. below `n`, not evaluated.
fn lanes(session: &Session, dtype: DType, n: i64) -> Array {
    session.arange(dtype, Scalar::Int(0), Scalar::Int(n), Scalar::Int(1)).unwrap()
}

fn launches(session: &Session) -> usize {
    session.history().len()
}

fn compilations(session: &Session) -> usize {
    session.history().iter().filter(|launch| launch.cache == CacheResult::Miss).count()
}
