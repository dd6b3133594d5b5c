//! Products of matrices beside loops that say what they mean (S26), on every backend of the processor.

use porcini_core::device::Isa;
use porcini_core::ir::primitive::{Factor, Part, Product};
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, DeviceChoice, Result, Scalar, Session};

/// Terms whose sum is one chain.
const CHUNK: usize = 4096;

/// Numbers that look random, from -1 to 1, or small integers.
fn lanes(state: &mut u64, n: u64, dtype: DType) -> Vec<Scalar> {
    let mut next = || {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 40
    };
    let lane = |bits: u64| {
        if dtype.is_float() {
            let x = Scalar::UInt(bits).to_f64() / f64::from(1 << 23) - 1.0;
            dtype.decode(dtype.encode(Scalar::Float(x)).expect("a float"))
        } else {
            Scalar::UInt(bits % 100)
        }
    };
    (0..n).map(|_| lane(next())).collect()
}

fn array(session: &Session, dtype: DType, lanes: &[Scalar]) -> Result<Array> {
    let bits = lanes.iter().map(|&lane| dtype.encode(lane).expect("a lane"));
    let bytes: Vec<u8> =
        bits.flat_map(|bits| bits.to_le_bytes()[..dtype.bytes()].to_vec()).collect();
    session.from_bytes(dtype, &bytes)
}

/// Numbers whose product is a sum of products in the order of S26.
trait Number: Copy {
    fn of(lane: Scalar) -> Self;
    fn add_product(self, a: Self, b: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn lane(self) -> Scalar;
}

macro_rules! number {
    ($t:ty, $of:ident, $lane:ident) => {
        impl Number for $t {
            fn of(lane: Scalar) -> Self {
                lane.$of()
            }
            fn add_product(self, a: Self, b: Self) -> Self {
                a.mul_add(b, self)
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn lane(self) -> Scalar {
                Scalar::Float(self.into())
            }
        }
    };
}
number!(f32, to_f32, Float);
number!(f64, to_f64, Float);

/// The sum of products of terms; a complex term is two of them.
fn sum<T: Number>(terms: &[(Scalar, Scalar)], n_each: usize) -> Scalar {
    let zero = T::of(Scalar::UInt(0));
    let chain = |terms: &[(Scalar, Scalar)]| {
        terms.iter().fold(zero, |sum, &(a, b)| sum.add_product(T::of(a), T::of(b)))
    };
    terms.chunks(CHUNK * n_each).map(chain).reduce(T::add).unwrap_or(zero).lane()
}

fn negated(lane: Scalar) -> Scalar {
    Scalar::Float(-lane.to_f64())
}

#[test]
fn products_are_sums_in_one_order() -> Result<()> {
    let devices = [
        DeviceChoice::Interp(Isa::Baseline),
        DeviceChoice::Compiled(Isa::Avx2),
        DeviceChoice::Compiled(Isa::Avx512),
        DeviceChoice::Compiled(Isa::Neon),
    ];
    let mut state = 3;
    for device in devices {
        let Ok(session) = Session::builder().device(device).threads(2).build() else {
            println!("skipped: {device:?} is not here");
            continue;
        };
        let mut cases = vec![(1, 1, 4097, 3), (1, 2, 9000, 1), (1, 33, 65, 97), (1, 130, 300, 40)];
        // Of one column beyond a chunk: right matrices that are small, or nearly so.
        cases.extend([(1, 3, 4097, 1), (3, 1, 8192, 1)]);
        // Of so many terms that chunks are made side by side.
        cases.extend([(1, 2, 16384, 3), (1, 1, 16385, 2), (3, 9, 20000, 5), (1, 8, 17000, 33)]);
        cases.extend([(1, 13, 16390, 17), (2, 3, 16384, 2), (1, 10, 24576, 10)]);
        // Of few rows with a large right matrix, more terms than a chunk, columns that are no whole vectors.
        cases.extend([(1, 1, 300, 1100), (2, 3, 4100, 130), (1, 4, 37, 900), (1, 2, 8195, 65)]);
        for m in [1, 5, 6, 7, 12, 13] {
            for n in [1, 15, 16, 17, 32, 33] {
                cases.push((3, m, 9, n));
            }
        }
        for (i, &(batch, m, k, n)) in cases.iter().enumerate() {
            for dtype in [DType::F32, DType::F64, DType::F16] {
                let [turns_left, turns_right] = [i % 2 == 1, i % 3 == 1];
                let shares_right = batch > 1 && i % 4 == 1;
                let a = lanes(&mut state, batch * m * k, dtype);
                let b = lanes(&mut state, if shares_right { 1 } else { batch } * k * n, dtype);
                let (x, y) = (array(&session, dtype, &a)?, array(&session, dtype, &b)?);
                let left = if turns_left { [batch, k, m] } else { [batch, m, k] };
                let batch_of_right = if shares_right { 1 } else { batch };
                let right =
                    if turns_right { [batch_of_right, n, k] } else { [batch_of_right, k, n] };
                let mut left = Tensor::new(&x, &left)?;
                let mut right = Tensor::new(&y, &right)?;
                if turns_left {
                    left = left.matrix_transpose()?;
                }
                if turns_right {
                    right = right.matrix_transpose()?;
                }
                let result = left.matmul(&right)?;
                assert_eq!(result.shape().extents(), [batch, m, n]);
                let found = result.entries()?[0].read(0..batch * m * n)?;
                let at = |outer: u64, inner: u64, along: u64, across: u64, turned: bool| {
                    if turned { inner * across + outer } else { outer * along + inner }
                };
                for (entry, &got) in found.iter().enumerate() {
                    let entry = entry as u64;
                    let (matrix, i, j) = (entry / (m * n), entry / n % m, entry % n);
                    let other = if shares_right { 0 } else { matrix };
                    let terms: Vec<(Scalar, Scalar)> = (0..k)
                        .map(|t| {
                            let l = matrix * m * k + at(i, t, k, m, turns_left);
                            let r = other * k * n + at(t, j, n, k, turns_right);
                            (
                                a[usize::try_from(l).expect("small")],
                                b[usize::try_from(r).expect("small")],
                            )
                        })
                        .collect();
                    let want = match dtype {
                        DType::F64 => sum::<f64>(&terms, 1),
                        _ => sum::<f32>(&terms, 1),
                    };
                    let want = dtype.decode(dtype.encode(want).expect("a float"));
                    assert_eq!(got, want, "{device:?} {dtype} {batch}x{m}x{k}x{n} {i} {j}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn complex_products_are_real_ones_of_twice_as_many_terms() -> Result<()> {
    let mut state = 5;
    for device in [DeviceChoice::Interp(Isa::Baseline), DeviceChoice::Cpu] {
        let session = Session::builder().device(device).threads(2).build()?;
        for (m, k, n) in [(2, 3, 4), (7, 4100, 3), (13, 9, 33), (3, 16400, 2), (9, 20000, 2)] {
            for (conjugates_left, conjugates_right) in
                [(false, false), (true, false), (false, true)]
            {
                let parts = |state: &mut u64, n: u64| [0; 2].map(|_| lanes(state, n, DType::F32));
                let ([ar, ai], [br, bi]) = (parts(&mut state, m * k), parts(&mut state, k * n));
                let tensor = |re: &[Scalar], im: &[Scalar], extents: &[u64]| {
                    let re = array(&session, DType::F32, re)?;
                    Tensor::complex(&re, &array(&session, DType::F32, im)?, extents)
                };
                let (mut left, mut right) =
                    (tensor(&ar, &ai, &[m, k])?, tensor(&br, &bi, &[k, n])?);
                if conjugates_left {
                    left = left.conjugate()?;
                }
                if conjugates_right {
                    right = right.conjugate()?;
                }
                let result = left.matmul(&right)?.entries()?;
                let signed = |lane: Scalar, is_negative: bool| {
                    if is_negative { negated(lane) } else { lane }
                };
                let [real, imag] = [&result[0], &result[1]].map(|part| part.read(0..m * n));
                for (entry, (real, imag)) in real?.into_iter().zip(imag?).enumerate() {
                    let (i, j) = (entry as u64 / n, entry as u64 % n);
                    let term = |t: u64| {
                        let l = usize::try_from(i * k + t).expect("small");
                        let r = usize::try_from(t * n + j).expect("small");
                        let (ai, bi) =
                            (signed(ai[l], conjugates_left), signed(bi[r], conjugates_right));
                        ((ar[l], ai), (br[r], bi))
                    };
                    let of_real = (0..k).flat_map(|t| {
                        let ((ar, ai), (br, bi)) = term(t);
                        [(ar, br), (negated(ai), bi)]
                    });
                    let of_imag = (0..k).flat_map(|t| {
                        let ((ar, ai), (br, bi)) = term(t);
                        [(ar, bi), (ai, br)]
                    });
                    assert_eq!(real, sum::<f32>(&of_real.collect::<Vec<_>>(), 2), "{device:?}");
                    assert_eq!(imag, sum::<f32>(&of_imag.collect::<Vec<_>>(), 2), "{device:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn integers_wrap_and_vectors_add_as_arrays() -> Result<()> {
    let session = Session::new()?;
    let a = session.array(&[100_u8, 200, 3, 4])?;
    let product = Tensor::new(&a, &[2, 2])?.matmul(&Tensor::new(&a, &[2, 2])?)?;
    assert_eq!(product.entries()?[0].to_vec::<u8>()?, [104, 64, 56, 104]);
    let x = session.linspace(DType::F32, -3, 5, 10_000)?;
    let line = Tensor::from(&x);
    let dot = line.matmul(&line)?;
    assert_eq!(dot.entries()?[0].to_vec::<f32>()?, x.try_mul(&x)?.hsum()?.to_vec::<f32>()?);
    let rows = Tensor::new(&x, &[10, 1000])?;
    let short = Tensor::from(&x.slice(..1000)?);
    let by_vector = rows.matmul(&short)?.entries()?[0].to_vec::<f32>()?;
    for (i, got) in (0..10).zip(by_vector) {
        let row = x.slice(i * 1000..(i + 1) * 1000)?.try_mul(&x.slice(..1000)?)?.hsum()?;
        assert_eq!(got.to_bits(), row.to_vec::<f32>()?[0].to_bits(), "row {i}");
    }
    assert!(rows.matmul(&rows).is_err());
    let mask = Tensor::from(&x.gt(0)?);
    assert!(mask.matmul(&mask).is_err());
    Ok(())
}

/// What was recorded for tensor cores means the same where a processor has to do it after all.
#[test]
fn halves_recorded_for_tensor_cores_are_computed() -> Result<()> {
    let session = Session::builder().device(DeviceChoice::Cpu).threads(2).build()?;
    let mut state = 3;
    let (rows, depth, columns) = (9, 70, 33);
    let left = array(&session, DType::F16, &lanes(&mut state, rows * depth, DType::F16))?;
    let right = array(&session, DType::F16, &lanes(&mut state, depth * columns, DType::F16))?;
    let bytes = |on_tensor_cores: bool| {
        let [left_lies, right_lies] = [false, true].map(|is_shared| Factor::new(false, is_shared));
        let (depth, columns, part) = (70, 33, Part::Whole);
        let product =
            Product { depth, columns, left: left_lies, right: right_lies, part, on_tensor_cores };
        let product = session.products([product], &[&left, &right])?.remove(0);
        product.read_bytes(0..product.size())
    };
    assert_eq!(bytes(true)?, bytes(false)?);
    Ok(())
}
