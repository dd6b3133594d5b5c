//! The flag `fast_math`: part of the kernel, and within its bounds.

use porcini_core::ir::op::Op;
use porcini_core::{DType, DeviceChoice, Runtime, Session};
use porcini_tests::golden::{configurations, is_gpu};
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
        assert_eq!(values(&session, fast), exact, "the interpreter is not faster so");
    }
    let kernels = device.kernels();
    let fast = kernels.iter().filter(|kernel| kernel.fast_math).count();
    assert_eq!(2 * fast, kernels.len(), "each kernel was compiled once for each");
    assert!(kernels.iter().all(|a| kernels.iter().filter(|b| a.hash == b.hash).count() == 1));
}

/// Bits that differ, where neither is NaN.
fn ulps(exact: f32, fast: f32) -> u32 {
    if exact.is_nan() && fast.is_nan() { 0 } else { exact.to_bits().abs_diff(fast.to_bits()) }
}

#[test]
fn a_processor_keeps_to_its_bounds() {
    let specials = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, -2.5, 4.0];
    let processors = configurations().into_iter().filter(|it| !is_gpu(it.0));
    for (device, threads) in processors {
        let session = Session::builder().device(device).threads(threads).build().unwrap();
        let [exact, fast] = [false, true].map(|fast| values(&session, fast));
        for (&exact, &fast) in exact.iter().zip(&fast) {
            // Divisors of more than 2^126 have reciprocals that are subnormal.
            let near_the_end = exact < 4e-38 && fast <= exact * 1.01;
            assert!(near_the_end || ulps(exact, fast) <= 2, "{fast:e} for {exact:e}");
        }
        if let DeviceChoice::Compiled(_) = device {
            assert_ne!(exact, fast, "estimates were used");
        }
        let x = session.array(&specials).unwrap();
        for divisor in specials {
            let [exact, fast] = [false, true].map(|fast| {
                session.set_flag("fast_math", fast).unwrap();
                let quotients = &x / divisor;
                let roots = x.apply(Op::Sqrt, &[]).unwrap();
                [quotients, roots].map(|y| y.to_vec::<f32>().unwrap()).concat()
            });
            let mut both = exact.iter().zip(&fast);
            assert!(both.all(|(&exact, &fast)| ulps(exact, fast) <= 2), "{fast:?} for {exact:?}");
        }
    }
}

#[test]
fn a_gpu_keeps_to_its_bounds() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    let session = Session::builder().runtime(gpu).build().unwrap();
    let [exact, fast] = [false, true].map(|fast| values(&session, fast));
    for (exact, fast) in exact.into_iter().zip(fast) {
        let flushed = fast == 0.0 && exact <= f32::MIN_POSITIVE;
        assert!(flushed || ulps(exact, fast) <= 2, "{fast:e} for {exact:e}");
    }
}
