//! The entries of primitives, on the model, against the host's primitives.

use std::collections::HashMap;

use porcini_core::backend::cuda::{Step, Work, lower_step, run_steps};
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{MemoryArray, PrimitiveCall};
use porcini_core::ir::op::ReduceOp;
use porcini_core::ir::primitive::{Factor, Order, Part, Primitive, Product};
use porcini_core::ir::scalar::quiet_nan;
use porcini_core::{DType, DeviceChoice, Result, Scalar, Session};

use super::machine::{Memory, Program};
use super::programs::Random;

/// Bytes of which a block of memory has a whole number.
const GRAIN: usize = 64;
/// What lies between blocks.
const GAP: u8 = 0x55;

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

/// All steps.
pub(super) fn steps() -> Vec<Step> {
    let mut steps = vec![Step::CountTrue, Step::PlaceTrue(DType::U32), Step::PlaceTrue(DType::U64)];
    steps.push(Step::CountedElements);
    for dtype in [DType::U32, DType::U64, DType::F32, DType::F64] {
        for left in [false, true] {
            steps.extend([false, true].map(|right| Step::Product(dtype, [left, right])));
        }
    }
    for dtype in DType::ALL {
        if dtype.is_int() {
            steps.push(Step::Increments(dtype));
        }
        if dtype.bytes() >= 4 {
            for op in [ReduceOp::Sum, ReduceOp::Prod] {
                steps.extend([Step::ChunkTotals(op, dtype), Step::Prefix(op, dtype)]);
            }
        }
        for order in ORDERS {
            steps.extend([Step::CountDigits(dtype, order), Step::MoveLanes(dtype, order)]);
        }
    }
    steps
}

/// A GPU's memory and code.
struct Model {
    memory: Memory,
    ends: Vec<usize>,
    programs: HashMap<Step, Program>,
}

impl Model {
    fn new() -> Self {
        // No array lies at address 0.
        Self { memory: Memory(vec![GAP; GRAIN]), ends: Vec::new(), programs: HashMap::new() }
    }

    /// Forgets all arrays.
    fn clear(&mut self) {
        self.memory.0.truncate(GRAIN);
        self.ends.clear();
    }

    fn array(&mut self, dtype: DType, lanes: &[u64], random: &mut Random) -> MemoryArray {
        let bytes = dtype.bytes();
        let address = self.room((lanes.len() * bytes) as u64).expect("memory grows");
        for (&lane, at) in lanes.iter().zip((address..).step_by(bytes)) {
            self.memory.write(at, bytes, lane);
        }
        // What follows the last lane in its block is anything.
        let end = usize::try_from(address).expect("a small address") + lanes.len() * bytes;
        for byte in end..end.next_multiple_of(GRAIN) {
            self.memory.write(byte as u64, 1, random.bits(DType::U8));
        }
        MemoryArray { address, size: lanes.len() as u64, dtype }
    }

    /// What a primitive makes of `lanes`, in the bits of `result`.
    fn lanes_of(
        &mut self,
        primitive: Primitive,
        operands: &[(DType, &[u64])],
        (result, n): (DType, usize),
        random: &mut Random,
    ) -> Vec<u64> {
        self.clear();
        let operands = operands.iter().map(|&(dtype, lanes)| self.array(dtype, lanes, random));
        let operands = operands.collect();
        let result = self.array(result, &vec![0; n], random);
        let call = PrimitiveCall { primitive, operands, result };
        assert!(
            run_steps(self, &call).expect("the model does not fail"),
            "no code for {primitive:?}"
        );
        for &end in &self.ends {
            assert!(self.memory.0[end..end + GRAIN].iter().all(|&byte| byte == GAP), "{call:?}");
        }
        let bytes = result.dtype.bytes();
        let places = (result.address..).step_by(bytes).take(n);
        places.map(|at| visible(result.dtype, self.memory.read(at, bytes))).collect()
    }
}

impl Work for Model {
    fn room(&mut self, bytes: u64) -> Result<u64> {
        let address = self.memory.0.len();
        let bytes = usize::try_from(bytes).expect("a small array").next_multiple_of(GRAIN);
        self.memory.0.resize(address + bytes, 0xaa);
        self.ends.push(address + bytes);
        self.memory.0.resize(address + bytes + GRAIN, GAP);
        Ok(address as u64)
    }

    fn launch(&mut self, step: Step, blocks: u64, words: &[u64]) -> Result<()> {
        let parse = || Program::parse(&lower_step(step, step.name()), &[("params", 0)]);
        let program = self.programs.entry(step).or_insert_with(parse);
        let params: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let order: Vec<u64> = (0..blocks).collect();
        program.launch(&params, &mut self.memory, &order, step.threads().into());
        Ok(())
    }
}

/// The bits of a lane, those of every NaN being the same.
fn visible(dtype: DType, bits: u64) -> u64 {
    match dtype.decode(bits) {
        Scalar::Float(value) if value.is_nan() => quiet_nan(dtype),
        _ => bits,
    }
}

/// What the host makes of the lanes.
struct Host(Session);

impl Host {
    fn new() -> Self {
        let session = Session::builder().device(DeviceChoice::Interp(Isa::Baseline)).threads(1);
        Self(session.build().expect("a session"))
    }

    fn lanes_of(&self, primitive: Primitive, dtype: DType, lanes: &[u64]) -> Vec<u64> {
        let bytes: Vec<u8> =
            lanes.iter().flat_map(|lane| lane.to_le_bytes()[..dtype.bytes()].to_vec()).collect();
        let x = self.0.from_bytes(dtype, &bytes).expect("an array");
        let result = match primitive {
            Primitive::PrefixSum => x.psum(),
            Primitive::PrefixProduct => x.cumprod(),
            Primitive::Sort(order) => x.sort(order),
            Primitive::SortIndex(order) => x.argsort(order),
            Primitive::TrueLanes
            | Primitive::Increments
            | Primitive::Exchanges
            | Primitive::Product(_) => {
                unreachable!("not asked for")
            }
        };
        let result = result.expect("a result");
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
                for primitive in [Primitive::PrefixSum, Primitive::PrefixProduct] {
                    check((&mut model, &host), primitive, (dtype, &lanes), &mut random);
                }
            }
        }
    }
    // More chunks than a chunk has lanes.
    let lanes = uneven(DType::F32, 1024 * 1025 + 9, &mut random);
    check((&mut model, &host), Primitive::PrefixSum, (DType::F32, &lanes), &mut random);
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
    for dtype in DType::ALL {
        for n in [1, 33, 1025, 5000] {
            let lanes = edges(dtype, n, &mut random);
            for order in ORDERS {
                for primitive in [Primitive::Sort(order), Primitive::SortIndex(order)] {
                    check((&mut model, &host), primitive, (dtype, &lanes), &mut random);
                }
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

#[test]
fn products_mean_what_the_host_does() {
    let (mut model, mut random) = (Model::new(), Random::new(7400));
    let session = Session::builder().device(DeviceChoice::Interp(Isa::Baseline)).threads(1);
    let session = session.build().expect("a session");
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U64] {
        let mut shapes = vec![(2, 3, 5, 4), (1, 65, 9, 67)];
        if dtype == DType::F32 {
            // More than a tile, and more than a chunk.
            shapes.extend([(1, 130, 8, 3), (1, 2, 4100, 2)]);
        }
        for (i, (n, rows, depth, columns)) in shapes.into_iter().enumerate() {
            for (part, n_planes) in [(Part::Whole, 1), (Part::Real, 2), (Part::Imag, 2)] {
                if n_planes == 2 && !dtype.is_float() {
                    continue;
                }
                let is_odd = i % 2 == 1;
                let left = Factor::new(is_odd, n == 1);
                let right = Factor::new(!is_odd, true).conjugate();
                let (left, right) = if n > 1 {
                    (Factor::new(is_odd, false), Factor::new(is_odd, false))
                } else {
                    (left, right)
                };
                let product = Product { depth, columns, left, right, part };
                let [depth, columns] = [depth, columns].map(|n| n as usize);
                let lanes = |n: usize, random: &mut Random| uneven(dtype, n, random);
                let planes: Vec<Vec<u64>> = [n * rows * depth, n * depth * columns]
                    .into_iter()
                    .flat_map(|n| vec![n; n_planes])
                    .map(|n| lanes(n, &mut random))
                    .collect();
                let arrays: Vec<_> = planes
                    .iter()
                    .map(|lanes| {
                        let bytes: Vec<u8> = lanes
                            .iter()
                            .flat_map(|lane| lane.to_le_bytes()[..dtype.bytes()].to_vec())
                            .collect();
                        session.from_bytes(dtype, &bytes).expect("an array")
                    })
                    .collect();
                let want = session.products(product, &arrays.iter().collect::<Vec<_>>());
                let want = want.expect("products");
                let size = n * rows * columns;
                assert_eq!(want.size(), size as u64);
                let want = want.read_bytes(0..want.size()).expect("contents");
                let operands: Vec<(DType, &[u64])> =
                    planes.iter().map(|lanes| (dtype, &lanes[..])).collect();
                let got = model.lanes_of(
                    Primitive::Product(product),
                    &operands,
                    (dtype, size),
                    &mut random,
                );
                for (lane, (got, want)) in got.iter().zip(want.chunks(dtype.bytes())).enumerate() {
                    let mut word = [0; 8];
                    word[..want.len()].copy_from_slice(want);
                    let want = visible(dtype, u64::from_le_bytes(word));
                    assert!(
                        *got == want,
                        "{dtype} {product:?} {rows} rows: lane {lane} is {got:#x}, not {want:#x}"
                    );
                }
            }
        }
    }
}
