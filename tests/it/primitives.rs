//! Primitives: prefix sums, reductions along axes, sorts, true lanes, increments. The same bits at every size, on every device and
//! number of threads; lazy, interruptible, within the memory limit.

use porcini_core::device::Toolkit;
use porcini_core::ir::op::{Op, ReduceOp, ScatterOp};
use porcini_core::ir::primitive::Order;
use porcini_core::ir::scalar::apply_bits;
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, DeviceChoice, Error, Scalar, Session};
use porcini_tests::data::{self, Values};
use porcini_tests::golden::{configurations, is_gpu};
use porcini_tests::oracle::{self, Value, visible, whole_arrays};

/// Around vectors, runs, chunks and pieces of the host's primitives.
const SIZES: [usize; 14] =
    [0, 1, 7, 8, 9, 17, 1023, 1024, 1025, 2049, 65_535, 65_536, 65_539, (1 << 18) + 1025];

fn sessions() -> Vec<Session> {
    let toolkit = Toolkit::new(|name| std::env::var(name).ok());
    let open = |(device, threads)| {
        Session::builder().device(device).threads(threads).toolkit(toolkit.clone()).build()
    };
    configurations().into_iter().map(|configuration| open(configuration).unwrap()).collect()
}

fn session(threads: usize) -> Session {
    Session::builder().device(DeviceChoice::Auto).threads(threads).build().unwrap()
}

fn bytes(dtype: DType, lanes: &[u64]) -> Vec<u8> {
    let lanes: Vec<u64> = lanes.iter().map(|&lane| visible(dtype, lane)).collect();
    data::to_bytes(dtype, &lanes)
}

fn contents(array: &Array) -> Vec<u8> {
    array.read_bytes(0..array.size()).unwrap()
}

/// NaN, infinities, zeros, limits of types.
fn edges(dtype: DType, n: usize) -> Vec<u64> {
    data::lanes(dtype, Values::Edge, n as u64, n)
}

/// Numbers whose sums round differently in every order.
fn uneven(dtype: DType, n: usize) -> Vec<u64> {
    let lane = |i: usize| (i as f64 * 0.7).sin() * f64::from(u32::try_from(i % 13).unwrap()).exp2();
    let lane = |i: usize| match dtype {
        _ if dtype.is_float() => dtype.encode(Scalar::Float(lane(i))).unwrap(),
        DType::Mask => u64::from(i % 3 == 1),
        _ => edges(dtype, 1)[0].wrapping_mul(i as u64) & data::low_bits(dtype),
    };
    (0..n).map(lane).collect()
}

/// Checks of one array.
type Check<'v> = Box<dyn Fn(&Array) + 'v>;

/// Calls what `of` makes of values, of every type and size, with arrays of them in every session.
fn for_each(values: fn(DType, usize) -> Vec<u64>, of: impl for<'v> Fn(&'v Value) -> Check<'v>) {
    let sessions = sessions();
    for dtype in DType::ALL {
        for n in SIZES {
            let value = Value { dtype, lanes: values(dtype, n) };
            let check = of(&value);
            for session in &sessions {
                let array =
                    session.from_bytes(dtype, &data::to_bytes(dtype, &value.lanes)).unwrap();
                check(&array);
            }
        }
    }
}

#[test]
fn prefix_sums_have_the_order_of_s11() {
    fn of(value: &Value) -> Check<'_> {
        let dtype = data::accumulated(value.dtype);
        let products = bytes(dtype, &whole_arrays::prefix(Op::Mul, value));
        let want = bytes(dtype, &whole_arrays::prefix(Op::Add, value));
        let mut before = vec![0; dtype.bytes()];
        before.extend(&want);
        before.truncate(want.len());
        Box::new(move |array| {
            let what = format!("{} {}", value.dtype, value.lanes.len());
            assert!(contents(&array.cumprod().unwrap()) == products, "products {what}");
            assert!(contents(&array.psum().unwrap()) == want, "{what}");
            assert!(contents(&array.psum_exclusive().unwrap()) == before, "{what}");
        })
    }
    for_each(edges, of);
    for_each(uneven, of);
}

/// Blocks of floats in the order of their lanes; the last one may be short.
#[test]
fn block_sums_add_lanes_in_their_order() {
    let sessions = sessions();
    for dtype in [DType::F32, DType::F64, DType::I64] {
        let nothing = if dtype.is_float() { 1 << (dtype.bits() - 1) } else { 0 };
        let add = |sum: u64, &lane: &u64| apply_bits(Op::Add, dtype, dtype, [sum, lane, 0]);
        for n in SIZES {
            let lanes = uneven(dtype, n);
            for length in [1, 2, 7, 8, 16, 1000, 65_539, 1 << 40] {
                let sums = lanes.chunks(length).map(|block| block.iter().fold(nothing, add));
                let want = bytes(dtype, &sums.collect::<Vec<_>>());
                for (i, session) in sessions.iter().enumerate() {
                    let x = session.from_bytes(dtype, &data::to_bytes(dtype, &lanes)).unwrap();
                    // Of what is in memory, and of what is computed.
                    for x in [&x, &x.reverse().unwrap().reverse().unwrap()] {
                        let got = contents(&x.block_sum(length as u64).unwrap());
                        assert!(got == want, "{n} {dtype} in blocks of {length}, session {i}");
                    }
                }
            }
        }
    }
}

/// The least (`Op::Min`) or largest (`Op::Max`) lane up to each.
fn extremes(op: Op, x: &Array) -> Array {
    let row = Tensor::new(x, &[x.size()]).unwrap();
    let found = if op == Op::Min { row.cummin(0) } else { row.cummax(0) };
    found.unwrap().entries().unwrap().swap_remove(0)
}

#[test]
fn extremes_so_far_are_those_of_the_lanes_before() {
    fn of(value: &Value) -> Check<'_> {
        let [least, largest] =
            [Op::Min, Op::Max].map(|op| bytes(value.dtype, &whole_arrays::extremes(op, value)));
        Box::new(move |array| {
            let what = format!("{} {}", value.dtype, value.lanes.len());
            assert!(contents(&extremes(Op::Min, array)) == least, "least {what}");
            assert!(contents(&extremes(Op::Max, array)) == largest, "largest {what}");
        })
    }
    for_each(edges, of);
    for_each(uneven, of);
    // NaN before the first number, over chunks; a larger zero behind.
    for_each(|dtype, n| (0..n).map(|i| rare(dtype, i)).collect(), of);
}

/// NaN, from lane 1500 on -0, from lane 3000 on 0; of other types bits.
fn rare(dtype: DType, lane: usize) -> u64 {
    let number = if lane < 1500 { f64::NAN } else { -0.0 };
    let number = if lane < 3000 { number } else { 0.0 };
    if dtype.is_float() {
        return dtype.encode(Scalar::Float(number)).unwrap();
    }
    u64::from(lane % 3000 == 1500)
}

/// Around accumulators, chunks, vectors and pieces beside each other: before the axis, along it, behind it.
const CUBES: [[u64; 3]; 17] = [
    [1, 17, 1],
    [3, 31, 1],
    [700, 33, 1],
    [9, 4095, 1],
    [1, 4097, 1],
    [2, 12_300, 1],
    [2, 17, 2],
    [5, 64, 3],
    [1, 8200, 3],
    [3, 40, 16],
    [2, 100, 33],
    [1, 5000, 31],
    [1, 33, 255],
    [2, 65, 600],
    [1, 20, 4097],
    [1, 70_000, 2],
    [1, 4096, 40],
];

#[test]
fn reductions_along_an_axis_are_those_of_its_rows() {
    let sessions = sessions();
    for dtype in DType::ALL {
        for [outer, extent, inner] in CUBES {
            for values in [edges, uneven] {
                let lanes = values(dtype, usize::try_from(outer * extent * inner).unwrap());
                let row = |row: usize| {
                    let [extent, inner] = [extent, inner].map(|n| usize::try_from(n).unwrap());
                    let first = row / inner * extent * inner + row % inner;
                    let lanes = lanes[first..].iter().step_by(inner).take(extent);
                    Value { dtype, lanes: lanes.copied().collect() }
                };
                let rows: Vec<Value> =
                    (0..usize::try_from(outer * inner).unwrap()).map(row).collect();
                for op in ReduceOp::ALL {
                    let mut want = None;
                    for (i, session) in sessions.iter().enumerate() {
                        let array = session.from_bytes(dtype, &data::to_bytes(dtype, &lanes));
                        let cube = Tensor::new(&array.unwrap(), &[outer, extent, inner]).unwrap();
                        let Ok(result) = cube.reduce(op, Some(&[1]), false) else { break };
                        let want = want.get_or_insert_with(|| {
                            let wanted = rows.iter().map(|row| oracle::reduce(op, row));
                            bytes(result.dtype(), &wanted.collect::<Vec<_>>())
                        });
                        let got = contents(&result.entries().unwrap()[0]);
                        let what = format!("{op:?} {dtype} {outer} {extent} {inner}, session {i}");
                        assert!(got == *want, "{what}");
                        // Of the same lanes in another order of the axes.
                        let turned = cube.permute(&[2, 0, 1]).unwrap();
                        let turned = turned.reduce(op, Some(&[2]), true).unwrap();
                        assert_eq!(turned.shape().extents(), [inner, outer, 1], "{what}");
                        let back = turned.permute(&[1, 0, 2]).unwrap().entries().unwrap();
                        assert!(contents(&back[0]) == got, "{what}, turned");
                    }
                }
            }
        }
    }
}

/// S26: what a vector multiplies is added in the order of a reduction, wherever the matrices lie.
#[test]
fn products_with_vectors_are_sums_of_products() {
    let small = [[1, 2, 2], [3, 1, 5], [2, 16, 3], [100, 3, 5]];
    for (i, session) in sessions().iter().enumerate() {
        for dtype in [DType::F16, DType::F32, DType::F64, DType::I32] {
            for shape in CUBES.into_iter().chain(small) {
                let [_, rows, columns] = shape.map(|extent| usize::try_from(extent).unwrap());
                let n = usize::try_from(shape.iter().product::<u64>()).unwrap();
                let array = |lanes: &[u64]| {
                    session.from_bytes(dtype, &data::to_bytes(dtype, lanes)).unwrap()
                };
                let lanes = array(&uneven(dtype, n));
                let matrices = Tensor::new(&lanes, &shape).unwrap();
                let turned = matrices.matrix_transpose().unwrap();
                let all = uneven(dtype, rows.max(columns) + 3);
                for (axis, extent) in [(-1, columns), (-2, rows)] {
                    let vector = &all[3..3 + extent];
                    let place = |lane: usize| if axis == -1 { lane } else { lane / columns };
                    let spread: Vec<u64> =
                        (0..n).map(|lane| vector[place(lane) % extent]).collect();
                    let products = lanes.try_mul(&array(&spread)).unwrap();
                    let want = Tensor::new(&products, &shape).unwrap();
                    let want = want.reduce(ReduceOp::Sum, Some(&[axis]), false).unwrap();
                    let vector = Tensor::new(&array(vector), &[extent as u64]).unwrap();
                    let [left, right] =
                        if axis == -1 { [&matrices, &turned] } else { [&turned, &matrices] };
                    for got in [left.matmul(&vector), vector.matmul(right)] {
                        let got = got.unwrap();
                        assert_eq!(got.shape(), want.shape());
                        let [got, want] =
                            [&got, &want].map(|of| contents(&of.entries().unwrap()[0]));
                        assert!(got == want, "{dtype} {shape:?} {axis}, session {i}");
                    }
                }
            }
        }
    }
}

#[test]
fn large_matrices_are_turned() {
    const SHAPES: [[u64; 3]; 4] = [[1, 300, 257], [3, 65, 512], [8, 8, 1030], [1, 9000, 9]];
    let sessions = sessions();
    for dtype in DType::ALL {
        // This one is written past the caches: rows begin anywhere in a line.
        let past = (dtype == DType::F32).then_some([1, 3000, 2801]);
        for shape in SHAPES.into_iter().chain(past) {
            let [n, rows, columns] = shape.map(|extent| usize::try_from(extent).unwrap());
            let lanes = uneven(dtype, n * rows * columns);
            let lane = |place: usize| {
                let (matrix, place) = (place / (rows * columns), place % (rows * columns));
                lanes[matrix * rows * columns + place % rows * columns + place / rows]
            };
            let want: Vec<u64> = (0..lanes.len()).map(lane).collect();
            for session in &sessions {
                let x = session.from_bytes(dtype, &data::to_bytes(dtype, &lanes)).unwrap();
                let turned = Tensor::new(&x, &shape).unwrap().matrix_transpose().unwrap();
                let turned = turned.entries().unwrap();
                assert!(contents(&turned[0]) == bytes(dtype, &want), "{dtype} {shape:?}");
                assert_eq!(session.history().last().unwrap().name, "transpose");
            }
        }
    }
}

#[test]
fn sorts_are_stable_and_put_nan_last() {
    for_each(edges, |value| {
        let wanted = [Order::Ascending, Order::Descending].map(|order| {
            let lanes = whole_arrays::order_of(value, order);
            let sorted: Vec<u64> = lanes.iter().map(|&lane| value.lanes[lane]).collect();
            (order, lanes, bytes(value.dtype, &sorted))
        });
        Box::new(move |array| {
            for (order, lanes, sorted) in &wanted {
                let what = format!("{order:?} {} {}", value.dtype, value.lanes.len());
                assert!(contents(&array.sort(*order).unwrap()) == *sorted, "{what}");
                let index = array.argsort(*order).unwrap().to_vec::<u32>().unwrap();
                assert!(
                    index.iter().map(|&lane| lane as usize).eq(lanes.iter().copied()),
                    "{what}"
                );
            }
        })
    });
}

#[test]
fn rows_are_sorted_each_by_itself() {
    // The last are long enough for all threads, one after the other.
    const SHAPES: [[usize; 2]; 9] = [
        [1, 5],
        [7, 1],
        [9, 2],
        [300, 16],
        [33, 33],
        [5, 300],
        [70, 2000],
        [2, 9000],
        [2, 140_000],
    ];
    for (i, session) in sessions().iter().enumerate() {
        for dtype in DType::ALL {
            for [rows, extent] in SHAPES.into_iter().filter(|shape| shape[1] < 3000 || i == 0) {
                let lanes = edges(dtype, rows * extent);
                let x = session.from_bytes(dtype, &data::to_bytes(dtype, &lanes)).unwrap();
                let x = Tensor::new(&x, &[rows as u64, extent as u64]).unwrap();
                for order in [Order::Ascending, Order::Descending] {
                    let row = |row: &[u64]| {
                        whole_arrays::order_of(&Value { dtype, lanes: row.to_vec() }, order)
                    };
                    let numbers: Vec<Vec<usize>> = lanes.chunks(extent).map(row).collect();
                    let what = format!("{order:?} {dtype} {rows} {extent}, session {i}");
                    let sorted: Vec<u64> = (numbers.iter().zip(lanes.chunks(extent)))
                        .flat_map(|(numbers, row)| numbers.iter().map(|&lane| row[lane]))
                        .collect();
                    let got = x.sort(order, 1).unwrap().entries().unwrap();
                    assert!(contents(&got[0]) == bytes(dtype, &sorted), "{what}");
                    let got = x.argsort(order, -1).unwrap().entries().unwrap();
                    let got = got[0].to_vec::<u32>().unwrap();
                    assert!(got.iter().map(|&lane| lane as usize).eq(numbers.concat()), "{what}");
                }
            }
        }
    }
}

#[test]
fn compress_keeps_the_true_lanes_in_order() {
    for_each(edges, |value| {
        let n = value.lanes.len();
        let mask: Vec<bool> = data::lanes(DType::U32, Values::Edge, 3, n)
            .iter()
            .enumerate()
            .map(|(i, bits)| (bits >> 3 ^ i as u64) & 1 != 0)
            .collect();
        let kept: Vec<u64> = value
            .lanes
            .iter()
            .zip(&mask)
            .filter(|(_, kept)| **kept)
            .map(|(&lane, _)| lane)
            .collect();
        Box::new(move |array| {
            let mask = array.session().array(&mask).unwrap();
            let got = array.compress(&mask).unwrap();
            assert_eq!(got.size(), kept.len() as u64);
            assert!(contents(&got) == bytes(value.dtype, &kept), "{} {n}", value.dtype);
        })
    });
}

#[test]
fn prefix_sums_of_several_blocks_have_the_order_of_s11() {
    let n = (1 << 21) + 4097;
    for dtype in [DType::I64, DType::F32] {
        let value = Value { dtype, lanes: uneven(dtype, n) };
        let want = bytes(dtype, &whole_arrays::prefix(Op::Add, &value));
        let largest = bytes(dtype, &whole_arrays::extremes(Op::Max, &value));
        for threads in [1, 2] {
            let x = session(threads).from_bytes(dtype, &data::to_bytes(dtype, &value.lanes));
            let x = x.unwrap();
            assert!(contents(&x.psum().unwrap()) == want, "{dtype}, {threads} threads");
            assert!(contents(&extremes(Op::Max, &x)) == largest, "{dtype}, {threads} threads");
        }
    }
}

#[test]
fn large_arrays_have_the_same_bits_on_a_gpu() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    let gpu = Session::builder().runtime(gpu).build().unwrap();
    let (device, threads) = configurations()[0];
    let cpu = Session::builder().device(device).threads(threads).build().unwrap();
    // More chunks of a prefix sum than a chunk has lanes.
    let n = (1 << 21) + 4097;
    for dtype in [DType::U8, DType::I64, DType::F32, DType::F64] {
        let lanes = data::to_bytes(dtype, &uneven(dtype, n));
        let results = [&gpu, &cpu].map(|session| {
            let x = session.from_bytes(dtype, &lanes).unwrap();
            let kept = x.gt(1).unwrap();
            let sums = [x.psum(), x.cumprod(), x.sort(Order::Descending)];
            let places = [x.argsort(Order::Ascending), x.compress(&kept)];
            let extremes = [Op::Min, Op::Max].map(|op| Ok(extremes(op, &x)));
            sums.into_iter()
                .chain(places)
                .chain(extremes)
                .map(|array| contents(&array.unwrap()))
                .collect::<Vec<_>>()
        });
        assert!(results[0] == results[1], "{dtype}");
    }
}

#[test]
fn functions_of_half_floats_have_their_bits_over_many_lanes() {
    let Some(gpu) = porcini_tests::gpu::open() else { return };
    let gpu = Session::builder().runtime(gpu).build().unwrap();
    // So many that results are looked up.
    let n: i64 = (1 << 26) + 12_345;
    let [start, stop, step] = [0, n, 1].map(Scalar::Int);
    let all = gpu.arange(DType::U32, start, stop, step).unwrap().try_mul(40_503).unwrap();
    let all = all.cast(DType::U16).unwrap().reinterpret(DType::F16).unwrap();
    all.eval().unwrap();
    let results = [&all, &all.slice(0..65_536).unwrap()].map(|x| {
        let tanh = x.tanh().unwrap().try_mul(&x.exp().unwrap()).unwrap();
        let bits = tanh.reinterpret(DType::U16).unwrap();
        contents(&bits)
    });
    let [many, few] = results;
    assert!(many.chunks(few.len()).all(|lanes| lanes == &few[..lanes.len()]));
}

#[test]
fn increments_count_in_lane_order() {
    for session in sessions() {
        for n in SIZES {
            let lanes: Vec<u32> = (0..n).map(|i| u32::try_from(i * i % 11).unwrap()).collect();
            let mut want_counts = [5_i64; 9];
            let mut want = Vec::new();
            for (i, &lane) in lanes.iter().enumerate() {
                let counter = want_counts.get_mut(lane as usize).filter(|_| i % 3 != 0);
                want.push(counter.map_or(0, |counter| {
                    *counter += 1;
                    *counter - 1
                }));
            }
            let index = session.array(&lanes).unwrap();
            let active: Vec<bool> = (0..n).map(|i| i % 3 != 0).collect();
            let active = session.array(&active).unwrap();
            let mut counts = session.full(DType::I64, 5, 9).unwrap();
            let found = counts.scatter_inc(&index, Some(&active)).unwrap();
            session.eval(&[&found, &counts]).unwrap();
            // Two of the indices are out of bounds.
            assert_eq!(session.take_error().is_some(), n > 8);
            assert_eq!(found.to_vec::<i64>().unwrap(), want, "{n}");
            assert_eq!(counts.to_vec::<i64>().unwrap(), want_counts, "{n}");
        }
    }
}

#[test]
fn exchanges_go_in_lane_order() {
    for session in sessions() {
        let all = SIZES.into_iter().flat_map(|n| DType::ALL.map(|dtype| (n, dtype)));
        for (n, dtype) in all.filter(|&(n, dtype)| n < 3000 || dtype == DType::F32) {
            // Few values and few elements: they meet all the time. Elements 9 and 10 are out of bounds.
            let number = |i: usize| i as u64 / 2 % 2;
            let bits = |number: u64| dtype.encode(Scalar::UInt(number)).unwrap_or(number);
            let of = |lane: &dyn Fn(usize) -> u64, n: usize| -> Vec<u64> {
                (0..n).map(|i| bits(lane(i))).collect()
            };
            let (start, values) = (of(&number, 9), of(&|i| number(i / 2 + 1), n));
            let compares = of(&|i| number(i / 5), n);
            let places: Vec<u32> = (0..n).map(|i| u32::try_from(i * i % 11).unwrap()).collect();
            let active: Vec<bool> = (0..n).map(|i| i % 4 != 0).collect();
            let array =
                |lanes: &[u64]| session.from_bytes(dtype, &data::to_bytes(dtype, lanes)).unwrap();
            let (index, mask) = (session.array(&places).unwrap(), session.array(&active).unwrap());
            for compared in [false, true] {
                let (mut want, mut found, mut swapped) = (start.clone(), vec![], vec![]);
                for i in 0..n {
                    let element = want.get_mut(places[i] as usize).filter(|_| active[i]);
                    let old = element.as_ref().map_or(0, |element| **element);
                    let element = element.filter(|_| !compared || old == compares[i]);
                    swapped.push(u64::from(element.is_some()));
                    element.into_iter().for_each(|element| *element = values[i]);
                    found.push(old);
                }
                let mut target = array(&start);
                let values = array(&values);
                let mut results = if compared {
                    let compares = array(&compares);
                    target.scatter_cas(&compares, &values, &index, Some(&mask)).unwrap().to_vec()
                } else {
                    vec![target.scatter_exch(&values, &index, Some(&mask)).unwrap()]
                };
                results.push(target);
                session.eval(&results.iter().collect::<Vec<_>>()).unwrap();
                assert_eq!(session.take_error().is_some(), n > 3);
                let mut wants = vec![data::to_bytes(dtype, &found)];
                wants.extend(compared.then(|| data::to_bytes(DType::Mask, &swapped)));
                wants.push(data::to_bytes(dtype, &want));
                let results: Vec<_> = results.iter().map(contents).collect();
                assert!(results == wants, "{dtype}, {n} lanes, compared {compared}");
            }
        }
    }
}

#[test]
fn primitives_are_recorded_and_run_once() {
    let session = session(2);
    let x = session.arange(DType::U32, 0.into(), 3000.into(), 1.into()).unwrap();
    let x = &x * 7 % 1000;
    let sorted = x.sort(Order::Descending).unwrap();
    let (again, sums) = (x.sort(Order::Descending).unwrap(), sorted.psum().unwrap());
    assert_eq!(sorted.serial(), again.serial(), "equal operations are recorded once");
    assert_eq!(session.history().len(), 0);
    let last = sums.item(-1).unwrap();
    assert_eq!(last.to_f64(), 3.0 * 499_500.0);
    let names: Vec<_> = session.history().iter().map(|launch| launch.name.clone()).collect();
    assert_eq!(names, ["kernel", "sort_desc", "psum"]);
    assert!(sums.is_evaluated() && sorted.is_evaluated());
    assert_eq!(sums.item(0).unwrap().to_f64(), 999.0);
    assert_eq!(session.history().len(), 3);
}

#[test]
fn an_operand_written_later_is_read_before() {
    let session = session(2);
    let mut x = session.array(&[3_i32, 1, 2]).unwrap();
    let sorted = x.sort(Order::Ascending).unwrap();
    let at = session.array(&[0_u32]).unwrap();
    x.scatter(ScatterOp::Set, -1, &at, None).unwrap();
    let after = x.sort(Order::Ascending).unwrap();
    assert_eq!(after.to_vec::<i32>().unwrap(), [-1, 1, 2]);
    assert_eq!(sorted.to_vec::<i32>().unwrap(), [1, 2, 3]);
}

#[test]
fn the_memory_limit_holds_for_working_memory() {
    let limit = 1 << 23;
    let session = Session::builder().memory_limit(limit).build().unwrap();
    let x = session.arange(DType::F64, 0.into(), (1 << 18).into(), 1.into()).unwrap();
    x.eval().unwrap();
    let y = x.argsort(Order::Descending).unwrap();
    let error = y.eval().unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    // The session goes on, and so does the recording.
    assert_eq!(x.hsum().unwrap().item(0).unwrap().to_f64(), 34_359_607_296.0);
    assert!(!y.is_evaluated());
}

#[test]
fn duplicates_are_found_if_asked_for() {
    let session = session(1);
    session.set_flag("check_duplicates", true).unwrap();
    let mut x = session.zeros(DType::F32, 4).unwrap();
    let at = session.array(&[3_u32, 1, 3, 1]).unwrap();
    let error = x.scatter(ScatterOp::Set, 1, &at, None).unwrap_err().to_string();
    assert!(error.contains("lane 2 writes element 3"), "{error}");
    x.scatter(ScatterOp::Add, 1, &at, None).unwrap();
    let active = session.array(&[true, true, false, false]).unwrap();
    x.scatter(ScatterOp::Set, 7, &at, Some(&active)).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [0.0, 7.0, 0.0, 7.0]);
}

/// Whoever waits helps: more threads may meet in a product than a session has.
#[test]
fn products_of_several_threads_agree() {
    let product = || {
        let session = session(2);
        let factor = |turned: f32| {
            let lanes: Vec<f32> = (0..30_000).map(|i| (i as f32 * turned).sin()).collect();
            session.array(&lanes).unwrap()
        };
        let left = Tensor::new(&factor(0.7), &[300, 100]).unwrap();
        let products = (0..30).map(|i| {
            let right = Tensor::new(&factor(0.1 * i as f32), &[100, 300]).unwrap();
            left.matmul(&right).unwrap().entries().unwrap().swap_remove(0)
        });
        let products: Vec<Array> = products.collect();
        session.eval(&products.iter().collect::<Vec<_>>()).unwrap();
        products.iter().map(|product| product.to_vec::<f32>().unwrap()).collect::<Vec<_>>()
    };
    let alone = product();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..6).map(|_| scope.spawn(product)).collect();
        for other in others {
            assert!(other.join().unwrap() == alone);
        }
    });
}

/// What a library computes on a GPU is as near as its formats allow, however factors lie; on CPUs nothing changes.
#[test]
fn tensor_cores_round_as_stated() {
    for ((device, _), session) in configurations().into_iter().zip(sessions()) {
        let matrix = |dtype: DType, shape: &[u64]| {
            let n = usize::try_from(shape.iter().product::<u64>()).unwrap();
            let lane = |i: usize| Scalar::Float((i as f64 * 0.7).sin());
            let lanes: Vec<u64> = (0..n).map(|i| dtype.encode(lane(i)).unwrap()).collect();
            let array = session.from_bytes(dtype, &data::to_bytes(dtype, &lanes)).unwrap();
            Tensor::new(&array, shape).unwrap()
        };
        for (dtype, error) in [(DType::F16, 0.03), (DType::F32, 0.03), (DType::F64, 1e-13)] {
            let [left, right] = [[3, 17, 40], [3, 40, 33]].map(|shape| matrix(dtype, &shape));
            let [turned_left, turned_right] = [[3, 40, 17], [3, 33, 40]]
                .map(|shape| matrix(dtype, &shape).permute(&[0, 2, 1]).unwrap());
            let [shared_left, shared_right] =
                [[17, 40], [40, 33]].map(|shape| matrix(dtype, &shape));
            for left in [&left, &turned_left, &shared_left] {
                for right in [&right, &turned_right, &shared_right] {
                    let product = |rough: bool| {
                        session.set_flag("tensor_cores", rough).unwrap();
                        let product = left.matmul(right).unwrap().entries().unwrap();
                        (product[0].eval().map(|()| product[0].cast(DType::F64).unwrap()))
                            .map(|product| product.to_vec::<f64>().unwrap())
                    };
                    let (exact, rough) = (product(false).unwrap(), product(true));
                    let rough = match rough {
                        Ok(rough) => rough,
                        Err(Error::Tool { reason, .. }) => {
                            assert!(reason.contains("pip install"), "{reason}");
                            continue;
                        }
                        Err(error) => panic!("{error}"),
                    };
                    assert_eq!(exact.len(), rough.len());
                    assert!(exact == rough || is_gpu(device), "{device:?}");
                    for (exact, rough) in exact.iter().zip(&rough) {
                        assert!((exact - rough).abs() <= error, "{dtype}: {rough}, not {exact}");
                    }
                }
            }
        }
    }
}
