//! Fourier transforms of rows (S26).

use porcini_core::linear::fourier::Transform;
use porcini_core::tensor::Tensor;
use porcini_core::{DType, DeviceChoice, Result, Scalar, Session};

fn session() -> Result<Session> {
    Session::builder().device(DeviceChoice::Cpu).threads(1).build()
}

/// The bytes of the transform of a row that rounds everywhere.
fn transformed(session: &Session, dtype: DType, n: u64, kind: Transform) -> Result<Vec<u8>> {
    let row = session.arange(dtype, 0.into(), Scalar::UInt(n), 1.into())?.try_mul(0.1)?;
    let tensor = Tensor::new(&row, &[n])?;
    let parts = tensor.transformed("fft", kind, -1, None)?.entries()?;
    let bytes = parts.iter().map(|part| part.read_bytes(0..part.size()));
    Ok(bytes.collect::<Result<Vec<_>>>()?.concat())
}

/// A plan could be made of those of its divisors.
#[test]
fn bits_do_not_depend_on_transforms_before() -> Result<()> {
    for (dtype, kind, divisor, n) in [
        (DType::F64, Transform::Forward, 216, 864),
        (DType::F64, Transform::Forward, 288, 1152),
        (DType::F32, Transform::Forward, 108, 2700),
        (DType::F64, Transform::Real, 432, 1728),
    ] {
        let fresh = transformed(&session()?, dtype, n, kind)?;
        let session = session()?;
        transformed(&session, dtype, divisor, kind)?;
        assert!(fresh == transformed(&session, dtype, n, kind)?, "{dtype} {kind:?} {n}");
        // By the plan that was kept.
        assert!(fresh == transformed(&session, dtype, n, kind)?, "{dtype} {kind:?} {n} again");
    }
    Ok(())
}
