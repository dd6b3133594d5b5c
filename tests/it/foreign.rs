//! Memory of others as arrays: read where it lies, never written, given back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ndarray::{ArcArray, arr2};
use porcini_core::ir::op::{Op, ScatterOp};
use porcini_core::ir::primitive::Order;
use porcini_core::{Array, DType, DeviceChoice, Element, F16, Session};
use porcini_tests::golden::configurations;

/// Around vectors of each width, beyond one page, and several chunks.
const SIZES: [usize; 6] = [1, 7, 17, 33, 1025, 65_539];

/// Elements that start wherever a multiple of 4 bytes is.
struct Shifted<T>(Arc<Vec<T>>, usize);

impl<T> AsRef<[T]> for Shifted<T> {
    fn as_ref(&self) -> &[T] {
        &self.0[self.1..]
    }
}

fn sessions() -> impl Iterator<Item = Session> {
    let open = |(device, threads)| Session::builder().device(device).threads(threads).build();
    configurations().into_iter().map(move |configuration| open(configuration).unwrap())
}

/// What kernels, reductions and primitives make of an array.
fn uses(x: &Array) -> Vec<Vec<u8>> {
    let session = x.session();
    let n = x.size();
    let index = session.arange(DType::U32, 0.into(), i64::try_from(n).unwrap().into(), 1.into());
    let backwards = index.unwrap().reverse().unwrap();
    let mut written = x.clone();
    written.scatter(ScatterOp::Set, 1, &session.array(&[0_u32]).unwrap(), None).unwrap();
    let results = [
        x.apply(Op::Add, &[x.into()]).unwrap(),
        x.cast(DType::F64).unwrap().hsum().unwrap(),
        x.gather(&backwards, None).unwrap(),
        x.psum().unwrap(),
        x.sort(Order::Descending).unwrap(),
        x.hmax().unwrap(),
        written,
        x.clone(),
    ];
    results.iter().map(|result| result.read_bytes(0..result.size()).unwrap()).collect()
}

/// Whether nobody else holds it, soon: a thread may just find that a kernel of it needs no help.
fn is_given_back<T>(lanes: &Arc<T>) -> bool {
    let start = Instant::now();
    while Arc::strong_count(lanes) > 1 && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    Arc::strong_count(lanes) == 1
}

fn check<T: Element>() {
    for session in sessions() {
        for (size, shift) in SIZES.iter().flat_map(|&size| (0..4).map(move |shift| (size, shift))) {
            let lane = |i: usize| T::from_bits64(T::DTYPE.encode((i as i64 % 7).into()).unwrap());
            let lanes: Arc<Vec<T>> = Arc::new((0..size + shift).map(lane).collect());
            let before: Vec<u64> = lanes.iter().map(|lane| lane.to_bits64()).collect();
            let address = lanes[shift..].as_ptr() as u64;
            let array = session.wrap(Shifted(lanes.clone(), shift)).unwrap();
            let own = session.array(&lanes[shift..]).unwrap();
            let what = format!("{} {size} from {shift}, {}", T::DTYPE, session.device_name());
            // A GPU, and what has parts, has memory of its own.
            let is_here = session.device_name().starts_with("cpu ");
            let stays = is_here && address.is_multiple_of(T::DTYPE.bytes().max(4) as u64);
            assert_eq!(array.address().unwrap() == address, stays, "{what}");
            assert_eq!(uses(&array), uses(&own), "{what}");
            let after: Vec<u64> = lanes.iter().map(|lane| lane.to_bits64()).collect();
            assert_eq!(before, after, "{what} was written");
            assert_eq!(Arc::strong_count(&lanes), 1 + usize::from(stays), "{what}");
            drop(array);
            assert!(is_given_back(&lanes), "{what} was kept");
        }
    }
}

#[test]
fn what_others_own_is_read_where_it_lies() {
    check::<i8>();
    check::<u16>();
    check::<F16>();
    check::<i32>();
    check::<f32>();
    check::<u64>();
    check::<f64>();
}

#[test]
fn vectors_and_ndarrays_are_taken_over() {
    let on_host = || Session::builder().device(DeviceChoice::Cpu).build().unwrap();
    let session = on_host();
    let empty = session.wrap(Vec::<f32>::new()).unwrap();
    assert!(empty.is_empty());
    let inline = session.wrap([true, false]).unwrap();
    assert_eq!(inline.to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(session.wrap(Arc::<[u8]>::from([1, 2, 3])).unwrap().size(), 3);

    let table = arr2(&[[1, 2, 3], [4, 5, 6]]);
    let address = table.as_ptr() as u64;
    let array = session.wrap_ndarray(table).unwrap();
    assert_eq!(array.address().unwrap(), address);
    assert_eq!(array.to_vec::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
    let turned = session.wrap_ndarray(arr2(&[[1, 2], [3, 4]]).reversed_axes()).unwrap();
    assert_eq!(turned.to_vec::<i32>().unwrap(), [1, 3, 2, 4]);

    let session = on_host();
    let shared = ArcArray::from_vec(vec![0.5_f64; 1000]);
    let array = session.wrap_ndarray(shared.clone()).unwrap();
    assert_eq!(array.address().unwrap(), shared.as_ptr() as u64);
    assert_eq!(session.memory_info().used, 0);
    drop(shared);
    assert_eq!((array * 2.0).hsum().unwrap().to_vec::<f64>().unwrap(), [1000.0]);
}
