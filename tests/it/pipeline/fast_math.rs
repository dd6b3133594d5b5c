//! The flag `fast_math`: part of the kernel, and on a GPU within its bounds.

use porcini_core::ir::op::Op;
use porcini_core::{DType, Runtime, Session};
use porcini_tests::recording::Recording;

use super::lanes;

/// Quotients, some of them subnormal, and roots.
fn values(session: &Session, fast: bool) -> Vec<f32> {
    session.set_flag("fast_math", fast).unwrap();
    let x = lanes(session, DType::F32, 100_000) * 3e33 + 1.5;
    let quotients = session.full(DType::F32, 3, 1).unwrap() / &x;
    let roots = x.apply(Op::Sqrt, &[]).unwrap();
    [quotients, roots].iter().flat_map(|y| y.to_vec::<f32>().unwrap()).collect()
}

#[test]
fn it_is_part_of_the_kernel() {
    let device = Recording::new();
    let session = Session::builder().runtime(Runtime::on(device.clone(), None)).build().unwrap();
    let exact = values(&session, false);
    for fast in [true, true, false] {
        assert_eq!(values(&session, fast), exact, "a processor is not faster so");
    }
    let kernels = device.kernels();
    let fast = kernels.iter().filter(|kernel| kernel.fast_math).count();
    assert_eq!(2 * fast, kernels.len(), "each kernel was compiled once for each");
    assert!(kernels.iter().all(|a| kernels.iter().filter(|b| a.hash == b.hash).count() == 1));
}

#[test]
fn a_gpu_keeps_to_its_bounds() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    let session = Session::builder().runtime(gpu).build().unwrap();
    let [exact, fast] = [false, true].map(|fast| values(&session, fast));
    for (exact, fast) in exact.into_iter().zip(fast) {
        let ulps = exact.to_bits().abs_diff(fast.to_bits());
        let flushed = fast == 0.0 && exact <= f32::MIN_POSITIVE;
        assert!(flushed || ulps <= 2, "{fast:e} for {exact:e}");
    }
}
