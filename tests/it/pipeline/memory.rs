//! The memory limit, and what `whos` shows (S17, S24).

use porcini_core::backend::isa::Isa;
use porcini_core::inspect::Rows;
use porcini_core::ir::op::ScatterOp;
use porcini_core::random::{PCG32_DEFAULT_STREAM, Pcg32};
use porcini_core::{Array, DType, DeviceChoice, Error, Session, Value};

use super::{compilations, lanes, session};

#[test]
fn the_limit_names_the_largest_arrays_and_the_session_goes_on() {
    // Compiled code would write over the block in the end.
    let device = DeviceChoice::Interp(Isa::detect());
    let session = Session::builder().device(device).memory_limit(10_000_000).build().unwrap();
    let mut big = lanes(&session, DType::F64, 1_000_000) + 1.0;
    big.set_label("big");
    big.eval().unwrap();
    let other = &big * 2.0;
    let error = other.eval().unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }));
    let text = error.to_string();
    assert!(text.contains("big 7.6294 MiB") && text.contains("9.5367 MiB"), "{text}");
    assert_eq!(big.item(5).unwrap().to_f64(), 6.0);
    drop(big);
    // Nothing else holds it, but `other` needs its contents.
    assert!(other.eval().is_err());
    drop(other);
    assert_eq!(session.memory_info().used, 0);
    (lanes(&session, DType::F64, 1_000_000) + 2.0).eval().unwrap();
}

#[test]
fn a_scatter_without_memory_for_its_copy_changes_nothing() {
    let session = Session::builder().memory_limit(10_000_000).build().unwrap();
    let mut a = lanes(&session, DType::F64, 1_000_000) + 1.0;
    a.eval().unwrap();
    let kept = a.clone();
    a.scatter(ScatterOp::Set, 0, &session.array(&[0_u32]).unwrap(), None).unwrap();
    assert!(matches!(a.eval(), Err(Error::OutOfMemory { .. })));
    assert_eq!(kept.item(0).unwrap().to_f64(), 1.0);
    drop(kept);
    // Now it needs no copy.
    assert_eq!(a.item(0).unwrap().to_f64(), 0.0);
}

#[test]
fn impossible_sizes_are_errors() {
    let session = session();
    let huge = session.zeros(DType::F32, 1_000_000_000_000).unwrap();
    assert!(matches!(huge.eval(), Err(Error::OutOfMemory { .. })));
    assert!(matches!((&huge + 1.0).sqrt().unwrap().eval(), Err(Error::OutOfMemory { .. })));
    let beyond = session.zeros(DType::F64, u64::MAX).unwrap();
    assert!(matches!(beyond.eval(), Err(Error::OutOfMemory { .. })));
    assert_eq!((session.array(&[1_i32]).unwrap() + 1).to_vec::<i32>().unwrap(), [2]);
}

/// Bytes of the chain's arrays, not nearly a power of two.
const CHAIN_BYTES: u64 = 20_000_000;

/// Blocks of that size at the chain's peak, and in all, kept ones included; each may be a tenth larger.
fn blocks_of_a_chain(device: DeviceChoice, step: impl Fn(Array) -> Array) -> (u64, u64) {
    let session = Session::builder().device(device).build().unwrap();
    let n = i64::try_from(CHAIN_BYTES / 4).unwrap();
    let mut x = lanes(&session, DType::F32, n) + 1.0;
    x.eval().unwrap();
    for _ in 0..8 {
        x = step(x);
    }
    x.eval().unwrap();
    let info = session.memory_info();
    assert_eq!(info.used / CHAIN_BYTES, 1, "{info:?}");
    let blocks = |bytes: u64| (bytes - bytes / 10).div_ceil(CHAIN_BYTES);
    (blocks(info.peak), blocks(info.used + info.cached))
}

#[test]
fn a_chain_needs_what_its_live_values_need() {
    let kept_apart = DeviceChoice::Interp(Isa::detect());
    let step = |x: Array| x * 0.5 + 0.25;
    let evaluated = |x: Array| {
        let y = step(x);
        y.eval().unwrap();
        y
    };
    // What is read and what is written, however long the chain is and whether it is one kernel.
    assert_eq!(blocks_of_a_chain(kept_apart, step), (2, 2));
    assert_eq!(blocks_of_a_chain(kept_apart, evaluated), (2, 2));
    if let Some(isa) = porcini_tests::devices::compiled().next() {
        let in_place = DeviceChoice::Compiled(isa);
        assert_eq!(blocks_of_a_chain(in_place, step), (1, 1));
        assert_eq!(blocks_of_a_chain(in_place, evaluated), (1, 1));
    }
}

/// The Euclidean length of a vector.
fn length(v: &[Array]) -> Array {
    let v = Value::vector(v.iter().cloned().map(Value::from).collect()).unwrap();
    v.norm().unwrap().array().unwrap().clone()
}

fn sphere(session: &Session) -> (Pcg32, Vec<Array>, Array) {
    let seeds = lanes(session, DType::U64, 1_000_000);
    let mut rng = Pcg32::new(session, seeds, PCG32_DEFAULT_STREAM).unwrap();
    let v: Vec<Array> = (0..3).map(|_| rng.next_float32().unwrap() * 2.0 - 1.0).collect();
    let inside = length(&v).lt(1.0).unwrap();
    (rng, v, inside)
}

#[test]
fn whos_counts_the_sphere_as_published() {
    let session = session();
    let (rng, v, inside) = sphere(&session);
    let whos = session.whos(Rows::Short);
    assert_eq!((whos.scheduled, whos.ready), (21_000_000, 0));
    assert_eq!(whos.rows.iter().filter(|row| row.external > 0).count(), 6);
    drop((v, rng));
    let whos = session.whos(Rows::Short);
    assert_eq!((whos.scheduled, whos.ready), (1_000_000, 0));
    assert_eq!(inside.count().unwrap().item(0).unwrap().to_f64(), 523_946.0);
}

#[test]
fn nothing_is_left_when_everything_is_dropped() {
    let session = session();
    let (rng, v, inside) = sphere(&session);
    assert!(inside.count().unwrap().item(0).is_ok());
    session.eval_all().unwrap();
    assert_eq!(session.whos(Rows::All).ready, 21_000_000);
    drop((rng, v, inside));
    let whos = session.whos(Rows::All);
    assert_eq!((whos.rows.len(), whos.ready, whos.memory.used), (0, 0, 0));
    // Kept for a while, for arrays of the same size.
    assert!(session.give_back_unused().is_some() && session.memory_info().cached > 0);
    let (blocks, bytes) = session.malloc_trim();
    assert!(blocks > 0 && bytes > 0);
    assert_eq!((session.memory_info().cached, session.give_back_unused()), (0, None));
}

#[test]
fn a_label_forks_a_shared_value() {
    let session = session();
    let a = lanes(&session, DType::F32, 10) + 1.0;
    let mut b = lanes(&session, DType::F32, 10) + 1.0;
    assert_eq!(a.serial(), b.serial());
    b.set_label("b");
    assert_ne!(a.serial(), b.serial());
    assert_eq!((a.label(), b.label().as_deref()), (None, Some("b")));
    assert_eq!(a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
}

/// Square roots and sums in an order that the bits of a number say: every number is a structure of its own.
fn structure(session: &Session, number: u32) -> Vec<f32> {
    let mut y = lanes(session, DType::F32, 10);
    for bit in 0..12 {
        y = if number >> bit & 1 == 0 { y + 0.5 } else { y.sqrt().unwrap() };
    }
    y.to_vec().unwrap()
}

#[test]
fn kernels_that_were_not_used_for_long_go() {
    let limit = 8 << 20;
    let device = DeviceChoice::Interp(Isa::detect());
    let session = Session::builder().device(device).threads(2).memory_limit(limit).build().unwrap();
    let number = 1 << 12;
    let first = structure(&session, 0);
    for other in 1..number {
        structure(&session, other);
        // One that is used now and then stays.
        structure(&session, 1);
    }
    assert_eq!(compilations(&session), number as usize);
    assert!(session.n_kernels() < number as usize, "{} kernels", session.n_kernels());
    assert!(session.kernel_bytes() as u64 <= limit / 8, "{} B", session.kernel_bytes());
    assert_eq!(structure(&session, 0), first);
    assert_eq!(compilations(&session), number as usize + 1);
    structure(&session, number - 1);
    assert_eq!(compilations(&session), number as usize + 1);
}

#[test]
fn few_kernels_stay_until_memory_is_given_back() {
    let session = session();
    let values = [0, 1, 2, 0, 1, 2].map(|number| structure(&session, number));
    assert_eq!((session.n_kernels(), compilations(&session)), (3, 3));
    session.malloc_trim();
    assert_eq!((session.n_kernels(), session.kernel_bytes()), (0, 0));
    assert_eq!(structure(&session, 1), values[1]);
    assert_eq!((session.n_kernels(), compilations(&session)), (1, 4));
}
