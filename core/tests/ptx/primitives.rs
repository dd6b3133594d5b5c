//! The entries of primitives, on the model, against the host's primitives.

use porcini_core::backend::cuda::{
    AlongColumns, ProductCode, ProductParts, ProductSize, Step, Target, Work,
};
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::ReduceOp;
use porcini_core::ir::primitive::{
    Along, Factor, Lines, Order, Part, Primitive, Product, Sorting, Turned,
};
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, DeviceChoice, Result, Scalar, Session};

use super::model::{Model, visible};
use super::programs::Random;

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

/// All steps.
pub(super) fn steps() -> Vec<Step> {
    let mut steps = vec![Step::CountTrue, Step::PlaceTrue(DType::U32), Step::PlaceTrue(DType::U64)];
    steps.extend([Step::CountedElements, Step::Rows, Step::WithinRows, Step::LookedUp, Step::Sent]);
    steps.extend([DType::U8, DType::U16, DType::U32, DType::U64].map(Step::Picked));
    steps.extend([DType::U8, DType::U16, DType::U32, DType::U64].map(Step::Turned));
    for dtype in [DType::U8, DType::U16, DType::U32, DType::U64] {
        steps.extend([true, false].map(|is_line| Step::Places(dtype, is_line)));
    }
    steps.extend(products().map(Step::Product));
    for dtype in combined() {
        for op in reductions(dtype) {
            // Truth values are bytes.
            let dtype = if dtype == DType::Mask { DType::U8 } else { dtype };
            steps.extend(AlongColumns::ALL.map(|columns| Step::Chunks(op, dtype, columns, false)));
            steps.extend([Step::FoldChunks(op, dtype), Step::Short(op, dtype, false)]);
            if op == ReduceOp::Sum && dtype.is_float() {
                steps.extend(
                    AlongColumns::ALL.map(|columns| Step::Chunks(op, dtype, columns, true)),
                );
                steps.push(Step::Short(op, dtype, true));
            }
        }
    }
    for dtype in DType::ALL {
        if dtype.is_int() {
            steps.push(Step::Increments(dtype));
        }
        if dtype.bytes() >= 4 {
            for op in reductions(dtype) {
                steps.extend([Step::ChunkTotals(op, dtype), Step::Prefix(op, dtype)]);
            }
        }
        for order in ORDERS {
            steps.extend([Step::CountDigits(dtype, order), Step::MoveLanes(dtype, order)]);
            steps.push(Step::SortRows(dtype, order));
        }
    }
    steps
}

/// The types that are combined along axes.
fn combined() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|&dtype| dtype.bytes() >= 4 || dtype == DType::Mask)
}

/// What combines lanes of a type.
fn reductions(dtype: DType) -> Vec<ReduceOp> {
    match dtype {
        DType::Mask => vec![ReduceOp::Any, ReduceOp::All],
        _ => vec![ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max],
    }
}

/// The code of products of every type, part and size, the factors of which lie this way and that.
fn products() -> impl Iterator<Item = ProductCode> {
    let types = [DType::U32, DType::U64, DType::F32, DType::F64];
    let codes = types.into_iter().flat_map(|dtype| {
        let parts =
            [ProductParts::Whole, ProductParts::Real, ProductParts::Imag, ProductParts::Both];
        let n = if dtype.is_float() { parts.len() } else { 1 };
        parts
            .into_iter()
            .take(n)
            .flat_map(move |parts| ProductSize::ALL.map(|size| (dtype, parts, size)))
    });
    (0..).zip(codes).map(|(i, (dtype, parts, size))| {
        let bit = |number: u32| i >> number & 1 == 1;
        let (turned, conjugate) = ([bit(0), bit(1)], [bit(2), bit(0)]);
        let aligned = [bit(1), bit(0) == bit(2)];
        let is_batch = i % 7 == 3;
        let matrix_units = false;
        ProductCode { dtype, turned, conjugate, aligned, parts, size, matrix_units, is_batch }
    })
}

#[test]
fn products_of_doubles_take_what_keeps_multiprocessors_busy() {
    let code = ProductCode {
        dtype: DType::F64,
        turned: [false; 2],
        conjugate: [false; 2],
        aligned: [true; 2],
        parts: ProductParts::Whole,
        size: ProductSize::Side128,
        matrix_units: true,
        is_batch: false,
    };
    let size = |n: u64, count: u64| code.sized(count, [n, n], 132).size;
    let sizes = [size(64, 1), size(512, 1), size(1024, 1), size(2048, 1), size(4096, 1)];
    use ProductSize::{Side32, Side64, Side128};
    assert_eq!(sizes, [Side32, Side64, Side64, Side128, Side128]);
    assert_eq!(size(64, 10_000), Side128);
}

/// Those that matrix units have code of their own for.
pub(super) fn on_matrix_units() -> Vec<Step> {
    let large = products().filter(|code| {
        code.dtype == DType::F64 && matches!(code.size, ProductSize::Side64 | ProductSize::Side128)
    });
    large.map(|code| Step::Product(ProductCode { matrix_units: true, ..code })).collect()
}

/// What the host makes of the lanes.
struct Host(Session);

impl Host {
    fn new() -> Self {
        let session = Session::builder().device(DeviceChoice::Interp(Isa::Baseline)).threads(1);
        Self(session.build().expect("a session"))
    }

    fn array(&self, dtype: DType, lanes: &[u64]) -> Array {
        let bytes: Vec<u8> =
            lanes.iter().flat_map(|lane| lane.to_le_bytes()[..dtype.bytes()].to_vec()).collect();
        self.0.from_bytes(dtype, &bytes).expect("an array")
    }

    fn along(&self, along: Along, dtype: DType, lanes: &[u64]) -> Vec<u64> {
        let Along { op, extent, inner, .. } = along;
        let outer = lanes.len() as u64 / extent / inner;
        let cube = Tensor::new(&self.array(dtype, lanes), &[outer, extent, inner]);
        let result = cube.and_then(|cube| cube.reduce(op, Some(&[1]), false)?.entries());
        Self::bits(&result.expect("a result")[0])
    }

    /// Products that are sums of what is in memory.
    fn weighted(&self, along: Along, dtype: DType, lanes: &[u64], factors: &[u64]) -> Vec<u64> {
        let [extent, inner] = [along.extent, along.inner].map(|n| usize::try_from(n).expect("few"));
        let factors: Vec<u64> =
            (0..lanes.len()).map(|lane| factors[lane / inner % extent]).collect();
        let [x, factors] = [lanes, &factors].map(|lanes| self.array(dtype, lanes));
        let products = Self::bits(&x.try_mul(&factors).expect("products"));
        self.along(Along { op: ReduceOp::Sum, ..along }, dtype, &products)
    }

    fn lanes_of(&self, primitive: Primitive, dtype: DType, lanes: &[u64]) -> Vec<u64> {
        let x = self.array(dtype, lanes);
        let in_rows = |extent: u64, sort: &dyn Fn(&Array) -> Result<Array>| {
            let rows = lanes.chunks(usize::try_from(extent).expect("few"));
            let row = |row| Self::bits(&sort(&self.array(dtype, row)).expect("a row"));
            rows.flat_map(row).collect()
        };
        let result = match primitive {
            Primitive::Prefix(op) => {
                let row = Tensor::new(&x, &[x.size()]).expect("a row");
                let prefix = match op {
                    ReduceOp::Sum => row.cumsum(0),
                    ReduceOp::Prod => row.cumprod(0),
                    ReduceOp::Min => row.cummin(0),
                    _ => row.cummax(0),
                };
                prefix.and_then(|prefix| Ok(prefix.entries()?.swap_remove(0)))
            }
            Primitive::Sort(Sorting { order, extent }) => {
                return in_rows(extent, &|row| row.sort(order));
            }
            Primitive::SortIndex(Sorting { order, extent }) => {
                return in_rows(extent, &|row| row.argsort(order));
            }
            Primitive::ChunkTotals(_)
            | Primitive::Run(_)
            | Primitive::Merge(_)
            | Primitive::TrueLanes
            | Primitive::Increments
            | Primitive::Exchanges
            | Primitive::CountByOwner
            | Primitive::ByOwner
            | Primitive::Product(_)
            | Primitive::Along(_)
            | Primitive::BlockSums(_)
            | Primitive::Place(_)
            | Primitive::Windows(_)
            | Primitive::Turned(_) => {
                unreachable!("not asked for")
            }
        };
        Self::bits(&result.expect("a result"))
    }

    fn bits(result: &Array) -> Vec<u64> {
        let contents = result.read_bytes(0..result.size()).expect("contents");
        let lane = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            visible(result.dtype(), u64::from_le_bytes(word))
        };
        contents.chunks(result.dtype().bytes()).map(lane).collect()
    }
}

/// Numbers whose sums and products round differently in every order.
fn uneven(dtype: DType, n: usize, random: &mut Random) -> Vec<u64> {
    let lane = |i: usize| {
        if !dtype.is_float() {
            return random.bits(dtype);
        }
        dtype.encode(Scalar::Float(1.0 + (i as f64 * 0.7).sin() / 3.0)).expect("a float")
    };
    (0..n).map(lane).collect()
}

/// Every kind of lane, and often a few ones again.
fn edges(dtype: DType, n: usize, random: &mut Random) -> Vec<u64> {
    (0..n).map(|_| random.bits(dtype)).collect()
}

fn check(
    (model, host): (&mut Model, &Host),
    primitive: Primitive,
    (dtype, lanes): (DType, &[u64]),
    random: &mut Random,
) {
    let result = match primitive {
        Primitive::SortIndex(_) => DType::U32,
        _ => dtype,
    };
    let want = host.lanes_of(primitive, dtype, lanes);
    let got = model.lanes_of(primitive, &[(dtype, lanes)], (result, lanes.len()), random);
    if let Some(lane) = (0..lanes.len()).find(|&lane| got[lane] != want[lane]) {
        let (got, want) = (got[lane], want[lane]);
        panic!("{primitive:?} {dtype} {}: lane {lane} is {got:#x}, not {want:#x}", lanes.len());
    }
}

#[test]
fn prefix_sums_mean_what_the_host_does() {
    let (mut model, host, mut random) = (Model::new(), Host::new(), Random::new(7000));
    // Those of f16 are recorded in f32, of narrow integers in 32 bits.
    let summed = |dtype: &DType| dtype.bytes() >= 4;
    for dtype in DType::ALL.into_iter().filter(summed) {
        for n in [1, 7, 8, 9, 1023, 1024, 1025, 5000] {
            for values in [uneven, edges] {
                let lanes = values(dtype, n, &mut random);
                for op in reductions(dtype) {
                    let prefix = Primitive::Prefix(op);
                    check((&mut model, &host), prefix, (dtype, &lanes), &mut random);
                }
            }
        }
    }
    // More chunks than a chunk has lanes.
    let lanes = uneven(DType::F32, 1024 * 1025 + 9, &mut random);
    let sum = Primitive::Prefix(ReduceOp::Sum);
    check((&mut model, &host), sum, (DType::F32, &lanes), &mut random);
}

#[test]
fn reductions_along_an_axis_mean_what_the_host_does() {
    let (mut model, host, mut random) = (Model::new(), Host::new(), Random::new(7050));
    let cubes = [
        (1, 1, 1),
        (20, 31, 1),
        (9, 33, 1),
        (2, 4097, 1),
        (1, 70_000, 1),
        (3, 33, 2),
        (1, 8200, 3),
        (3, 40, 7),
        (2, 5, 16),
        (1, 4096, 33),
        (2, 100, 31),
    ];
    for dtype in combined() {
        for op in reductions(dtype) {
            for (outer, extent, inner) in cubes {
                let lanes = uneven(dtype, outer * extent * inner, &mut random);
                let (x, result) = ([(dtype, &lanes[..])], (dtype, outer * inner));
                let [along_axis, beside] = [extent, inner].map(|n| n as u64);
                let along = Along { op, extent: along_axis, inner: beside, is_weighted: false };
                let got = model.lanes_of(Primitive::Along(along), &x, result, &mut random);
                let want = host.along(along, dtype, &lanes);
                assert!(got == want, "{op:?} {dtype} {outer} {extent} {inner}");
                if op != ReduceOp::Sum || !dtype.is_float() {
                    continue;
                }
                let factors = uneven(dtype, extent, &mut random);
                let along = Along { is_weighted: true, ..along };
                let operands = [x[0], (dtype, &factors[..])];
                let got = model.lanes_of(Primitive::Along(along), &operands, result, &mut random);
                let want = host.weighted(along, dtype, &lanes, &factors);
                assert!(got == want, "weighted {dtype} {outer} {extent} {inner}");
            }
        }
    }
}

#[test]
fn matrices_are_turned() {
    let (mut model, mut random) = (Model::new(), Random::new(7060));
    for dtype in DType::ALL {
        for (n, rows, columns) in [(1, 1, 1), (3, 5, 40), (2, 33, 31), (1, 64, 100)] {
            let lanes = edges(dtype, n * rows * columns, &mut random);
            let turned = Turned { rows: rows as u64, columns: columns as u64 };
            let (x, result) = ([(dtype, &lanes[..])], (dtype, lanes.len()));
            let got = model.lanes_of(Primitive::Turned(turned), &x, result, &mut random);
            let lane = |place: usize| {
                let (matrix, place) = (place / (rows * columns), place % (rows * columns));
                lanes[matrix * rows * columns + place % rows * columns + place / rows]
            };
            let want: Vec<u64> =
                (0..lanes.len()).map(|place| visible(dtype, lane(place))).collect();
            assert!(got == want, "{dtype} {n} {rows} {columns}");
        }
    }
}

#[test]
fn places_are_those_of_the_first() {
    let (mut model, mut random) = (Model::new(), Random::new(7070));
    for dtype in DType::ALL {
        for (outer, extent, inner) in [
            (1, 1, 1),
            (3, 511, 1),
            (2, 1025, 1),
            (1, 9000, 1),
            (2, 17, 5),
            (1, 16, 33),
            (3, 70, 2),
        ] {
            // Few values, so that most are there several times, and some are not.
            let (n, few) = (outer * inner, edges(dtype, 7, &mut random));
            let mut draw = || few[usize::try_from(random.bits(DType::U32) % 7).expect("few")];
            let lanes: Vec<u64> = (0..n * extent).map(|_| draw()).collect();
            let mut values: Vec<u64> = (0..n).map(|_| draw()).collect();
            values[n - 1] = lanes[extent * inner * outer - 1];
            let want = (0..n).map(|line| {
                let at = |i: usize| lanes[(line / inner * extent + i) * inner + line % inner];
                (0..extent).find(|&i| at(i) == values[line]).map_or(u32::MAX.into(), |i| i as u64)
            });
            let want: Vec<u64> = want.collect();
            let lines = Lines { extent: extent as u64, inner: inner as u64 };
            let operands = [(dtype, &lanes[..]), (dtype, &values[..])];
            let result = (DType::U32, n);
            let got = model.lanes_of(Primitive::Place(lines), &operands, result, &mut random);
            assert!(got == want, "{dtype} {outer} {extent} {inner}: {got:?}, not {want:?}");
        }
    }
}

#[test]
fn half_floats_are_looked_up() {
    let (mut model, mut random) = (Model::new(), Random::new(7080));
    let table: Vec<u64> = (0..1 << 16).map(|_| random.bits(DType::U16)).collect();
    // A tile has 4096 lanes, a block 16 warps: none, one and several tickets for each.
    for (n, blocks) in [(1, 1), (8, 1), (4095, 2), (20_001, 1), (70_000, 1), (150_000, 2)] {
        model.clear();
        let lanes: Vec<u64> = (0..n).map(|_| random.bits(DType::U16)).collect();
        let [x, known] = [&lanes, &table].map(|it| model.array(DType::U16, it, &mut random));
        let result = model.array(DType::U16, &vec![0; n], &mut random);
        let counter = model.array(DType::U32, &[0], &mut random);
        let tiles = x.size.div_ceil(4096);
        let words = [x.size, x.address, result.address, known.address, counter.address, tiles];
        model.launch(Step::LookedUp, blocks, &words).expect("the model does not fail");
        assert_eq!(model.memory.read(counter.address, 4), 0, "{n} lanes by {blocks} blocks");
        let got = (result.address..).step_by(2).take(n).map(|at| model.memory.read(at, 2));
        let want = lanes.iter().map(|&lane| table[usize::try_from(lane).expect("16 bits")]);
        assert!(got.eq(want), "{n} lanes by {blocks} blocks");
        model.check_gaps(&n);
    }
}

#[test]
fn a_few_bytes_are_sent_with_a_sign_behind_them() {
    let (mut model, mut random) = (Model::new(), Random::new(7090));
    for n in [1, 2, 4, 8, 31, 33, 255, 256] {
        model.clear();
        let bytes: Vec<u64> = (0..n).map(|_| random.bits(DType::U8)).collect();
        let source = model.array(DType::U8, &bytes, &mut random);
        let target = model.array(DType::U8, &vec![0; n], &mut random);
        let sign = model.array(DType::U64, &[0], &mut random);
        let words = [source.size, source.address, target.address, sign.address, 7 + source.size];
        model.launch(Step::Sent, 1, &words).expect("the model does not fail");
        assert_eq!(model.memory.read(sign.address, 8), 7 + source.size);
        let got = (target.address..).take(n).map(|at| model.memory.read(at, 1));
        assert!(got.eq(bytes.iter().copied()), "{n} bytes");
        model.check_gaps(&n);
    }
}

#[test]
fn true_lanes_are_found_in_order() {
    let (mut model, mut random) = (Model::new(), Random::new(7100));
    for n in [1, 7, 8, 9, 1023, 1024, 1025, 5000] {
        for lanes in [edges(DType::Mask, n, &mut random), vec![0; n], vec![1; n]] {
            let want: Vec<u64> =
                (0..).zip(&lanes).filter(|(_, on)| **on != 0).map(|(i, _)| i).collect();
            for number in [DType::U32, DType::U64] {
                let (mask, result) = ([(DType::Mask, &lanes[..])], (number, want.len()));
                let got = model.lanes_of(Primitive::TrueLanes, &mask, result, &mut random);
                assert!(got == want, "{n} lanes, {number}");
            }
        }
    }
}

#[test]
fn sorts_mean_what_the_host_does() {
    let (mut model, host, mut random) = (Model::new(), Host::new(), Random::new(7200));
    // By turns one order or the other, and lanes or their places, or all.
    let (n_orders, mut first) = (if super::is_full() { 2 } else { 1 }, 0);
    for dtype in DType::ALL {
        for [rows, extent] in
            [[1, 1], [1, 33], [1, 1025], [1, 5000], [300, 3], [9, 300], [2, 4096], [2, 4100]]
        {
            let lanes = edges(dtype, rows * extent, &mut random);
            first += 1;
            for order in ORDERS.into_iter().cycle().skip(first % 2).take(n_orders) {
                let sorting = Sorting { order, extent: extent as u64 };
                let primitives = [Primitive::Sort(sorting), Primitive::SortIndex(sorting)];
                for primitive in primitives.into_iter().cycle().skip(first / 2 % 2).take(n_orders) {
                    check((&mut model, &host), primitive, (dtype, &lanes), &mut random);
                }
            }
        }
    }
}

/// Tiles look back at those before, and digits that all lanes share move nothing.
#[test]
fn long_sorts_of_few_values_mean_what_the_host_does() {
    let (mut model, host, mut random) = (Model::new(), Host::new(), Random::new(7250));
    let types = [DType::U64, DType::I32, DType::U8, DType::F64, DType::U16, DType::F32];
    for (i, dtype) in types.into_iter().enumerate() {
        for n_values in [1, 3, 200] {
            let values = edges(dtype, n_values, &mut random);
            let few = |_| match i % 2 {
                0 => random.below(n_values) as u64,
                // Among them NaN and -0.
                _ => values[random.below(n_values)],
            };
            let lanes: Vec<u64> = (0..3 * 6144 + 7).map(few).collect();
            let sorting = Sorting { order: ORDERS[n_values % 2], extent: lanes.len() as u64 };
            for primitive in [Primitive::Sort(sorting), Primitive::SortIndex(sorting)] {
                check((&mut model, &host), primitive, (dtype, &lanes), &mut random);
            }
        }
    }
}

#[test]
fn increments_are_in_lane_order() {
    let (mut model, mut random) = (Model::new(), Random::new(7300));
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_int()) {
        for (n, n_elements) in
            [(1, 0), (1, 1), (33, 1), (255, 3), (256, 40), (257, 255), (5000, 300)]
        {
            let counters = edges(dtype, n_elements, &mut random);
            // Some are out of bounds, one far.
            let below = |n: usize, random: &mut Random| random.bits(DType::U32) % (n as u64 + 2);
            let mut indices: Vec<u64> = (0..n).map(|_| below(n_elements, &mut random)).collect();
            indices[n / 2] = u64::MAX;
            let mask = edges(DType::Mask, n, &mut random);
            let full = vec![1; n];
            for (indices, mask) in [
                (&indices, Some(&mask)),
                (&indices, None),
                (&vec![0], Some(&mask)),
                (&indices, Some(&vec![1])),
            ] {
                let mut left = counters.clone();
                let active = mask.unwrap_or(&full);
                let lane = |i: usize| {
                    let [index, active] =
                        [indices, active].map(|x| if x.len() == 1 { x[0] } else { x[i] });
                    let counter = usize::try_from(index).ok().filter(|_| active != 0);
                    counter.and_then(|index| left.get_mut(index)).map_or(0, |counter| {
                        let old = *counter;
                        *counter = old.wrapping_add(1) & (u64::MAX >> (64 - dtype.bits()));
                        old
                    })
                };
                let want: Vec<u64> = (0..n).map(lane).collect();
                let mut operands = vec![(dtype, &counters[..]), (DType::U64, &indices[..])];
                operands.extend(mask.map(|mask| (DType::Mask, &mask[..])));
                let got = model.lanes_of(Primitive::Increments, &operands, (dtype, n), &mut random);
                assert!(got == want, "{dtype}, {n} lanes, {n_elements} counters");
            }
        }
    }
}

/// Matrices: how many, rows, depth, columns.
type Shape = (usize, usize, u32, u32);

/// Compares a product of matrices that lie in one of several ways with the host's.
fn check_product(
    (model, session): (&mut Model, &Session),
    (dtype, part, has_imag): (DType, Part, bool),
    (n, rows, depth, columns): Shape,
    way: u32,
    random: &mut Random,
) {
    let bit = |number: u32| way >> number & 1 == 1;
    let n_planes = if part == Part::Whole { 1 } else { 2 };
    let factor = |number: u32, is_shared: bool| {
        let factor = Factor::new(bit(number), is_shared);
        if n_planes == 2 && bit(number + 2) { factor.conjugate() } else { factor }
    };
    let shares_left = n > 1 && bit(4) && !bit(5);
    let (left, right) = (factor(0, n == 1 || shares_left), factor(1, n == 1));
    let product = Product { depth, columns, left, right, part, on_tensor_cores: false };
    let [depth, columns] = [depth, columns].map(|n| n as usize);
    let n_left = if shares_left { 1 } else { n };
    let planes: Vec<Vec<u64>> = [n_left * rows * depth, n * depth * columns]
        .into_iter()
        .flat_map(|n| vec![n; n_planes])
        .map(|n| uneven(dtype, n, random))
        .collect();
    let arrays: Vec<_> = planes
        .iter()
        .map(|lanes| {
            let bytes = lanes.iter().flat_map(|lane| lane.to_le_bytes()[..dtype.bytes()].to_vec());
            session.from_bytes(dtype, &bytes.collect::<Vec<_>>()).expect("an array")
        })
        .collect();
    let operands: Vec<(DType, &[u64])> = planes.iter().map(|lanes| (dtype, &lanes[..])).collect();
    let size = n * rows * columns;
    let primitive = Primitive::Product(product);
    let got = model.results_of(primitive, &operands, ((dtype, size), has_imag), random);
    let imag = has_imag.then_some(Product { part: Part::Imag, ..product });
    for (product, got) in [Some(product), imag].into_iter().flatten().zip(got) {
        let want = session.products([product], &arrays.iter().collect::<Vec<_>>());
        let want = want.expect("products").remove(0);
        let want = want.read_bytes(0..want.size()).expect("contents");
        assert_eq!(want.len(), size * dtype.bytes());
        for (lane, (got, want)) in got.iter().zip(want.chunks(dtype.bytes())).enumerate() {
            let mut word = [0; 8];
            word[..want.len()].copy_from_slice(want);
            let want = visible(dtype, u64::from_le_bytes(word));
            let what = format!("{dtype} {product:?} {n} of {rows} rows, {has_imag}");
            assert!(*got == want, "{what}: lane {lane} is {got:#x}, not {want:#x}");
        }
    }
}

#[test]
fn products_mean_what_the_host_does() {
    let mut random = Random::new(7400);
    let session = Session::builder().device(DeviceChoice::Interp(Isa::Baseline)).threads(1);
    let session = session.build().expect("a session");
    let newer = Target { compute_capability: 80, ptx_version: (7, 0) };
    let newest = Target { compute_capability: 90, ptx_version: (8, 0) };
    // Of every size of tile, and the last ones of more than a chunk.
    let shapes: [Shape; 9] = [
        (19, 4, 3, 4),
        (11, 7, 9, 8),
        (5, 16, 40, 13),
        (3, 31, 33, 30),
        (2, 33, 17, 65),
        (1, 65, 9, 60),
        (1, 130, 35, 128),
        (1, 2, 4100, 3),
        (2, 5, 8200, 1),
    ];
    let parts =
        [(Part::Whole, false), (Part::Real, false), (Part::Imag, false), (Part::Real, true)];
    let mut way = 0;
    for target in [Target::SM_75, newer] {
        let mut model = Model::of(target);
        for dtype in [DType::F32, DType::F64, DType::I32, DType::U64] {
            for shape in shapes {
                for (part, has_imag) in parts {
                    let is_large = shape.0 * shape.1 * shape.3 as usize > 10_000;
                    let is_complex = part != Part::Whole;
                    let is_wanted = !is_complex || target != newer || super::is_full();
                    let takes_large = dtype == DType::F32 && is_wanted;
                    let is_told_apart = dtype == DType::F32 || target == newer || super::is_full();
                    if is_complex && !dtype.is_float() || is_large && !takes_large || !is_told_apart
                    {
                        continue;
                    }
                    way += 1;
                    check_product(
                        (&mut model, &session),
                        (dtype, part, has_imag),
                        shape,
                        way * 0x2b,
                        &mut random,
                    );
                }
            }
        }
    }
    // Matrix units, whole tiles and parts of them, whole instructions and parts of them.
    let mut model = Model::of(newest);
    let shapes: [Shape; 5] =
        [(1, 128, 9, 128), (1, 130, 35, 132), (2, 64, 17, 64), (1, 60, 4103, 70), (1, 129, 6, 33)];
    for shape in shapes {
        for (part, has_imag) in parts {
            if shape.2 < 1000 || part == Part::Whole || super::is_full() {
                way += 1;
                let kind = (DType::F64, part, has_imag);
                check_product((&mut model, &session), kind, shape, way * 0x2b, &mut random);
            }
        }
    }
}
