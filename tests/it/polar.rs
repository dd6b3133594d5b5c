//! Polar decompositions of 100 000 random matrices: the factors are what the help says, in every lane.

use porcini_core::value::Form;
use porcini_core::{Array, DType, Session};
use porcini_tests::entries::call;

const LANES: usize = 100_000;
/// Most error of an entry, relative to the largest of the matrix, in units of the type's last place of 1.
const MOST: f64 = 16.0;
const TYPES: [(DType, f64); 2] =
    [(DType::F32, MOST / 8_388_608.0), (DType::F64, MOST * f64::EPSILON)];

/// Matrices with entries up to `size`, column by column.
fn random_matrices(session: &Session, n: usize, dtype: DType, size: f64) -> Vec<Array> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f64::from(u32::try_from(state >> 32).unwrap()) / f64::from(1_u32 << 31) - 1.0
    };
    let mut entry = || (0..LANES).map(|_| next() * size).collect::<Vec<f64>>();
    (0..n * n).map(|_| session.array(&entry()).unwrap().cast(dtype).unwrap()).collect()
}

/// Matrices on the host: entry by entry, each with its lanes, or with one for all.
struct Matrices {
    n: usize,
    entries: Vec<Vec<f64>>,
}

impl Matrices {
    fn of(n: usize, entries: &[Array]) -> Self {
        let double = |entry: &Array| entry.cast(DType::F64).unwrap().to_vec().unwrap();
        Self { n, entries: entries.iter().map(double).collect() }
    }

    fn at(&self, i: usize, j: usize, lane: usize) -> f64 {
        let entry = &self.entries[j * self.n + i];
        entry[lane.min(entry.len() - 1)]
    }

    /// The largest difference of an entry from what it should be; infinite if one is not a number.
    fn most_error(&self, want: impl Fn(usize, usize, usize) -> f64) -> f64 {
        let mut most = 0.0_f64;
        for (i, j) in (0..self.n * self.n).map(|k| (k % self.n, k / self.n)) {
            for lane in 0..LANES {
                let error = (self.at(i, j, lane) - want(i, j, lane)).abs();
                most = if error.is_nan() { f64::INFINITY } else { most.max(error) };
            }
        }
        most
    }
}

fn assert_small(error: f64, bound: f64, what: &str) {
    assert!(error <= bound, "{what}: off by {error}, more than {bound}");
}

#[test]
fn polar_factors_are_orthogonal_and_symmetric_and_multiply_back() {
    let session = Session::new().unwrap();
    // Sizes whose minors are far beyond single precision, too.
    let sizes = [1.0, 1e-14, 1e14];
    for (dtype, bound) in TYPES {
        for (n, size) in [2, 3, 4].into_iter().flat_map(|n| sizes.map(|size| (n, size))) {
            let m = random_matrices(&session, n, dtype, size);
            let both = call("polar_decomp", &[(Form::Matrix(n), &m)]).unwrap();
            let (q, p) = both.split_at(n * n);
            let [q, p, m] = [q, p, &m].map(|entries| Matrices::of(n, entries));
            let what = format!("{dtype}, {n} rows, entries up to {size}");
            let product = |a: &Matrices, b: &dyn Fn(usize, usize, usize) -> f64, i, j, lane| {
                (0..n).map(|k| a.at(i, k, lane) * b(k, j, lane)).sum::<f64>()
            };
            let unit = (0..n * n).map(|k| vec![f64::from(u8::from(k / n == k % n))]);
            let unit = Matrices { n, entries: unit.collect() };
            let across =
                unit.most_error(|i, j, lane| product(&q, &|k, j, l| q.at(j, k, l), i, j, lane));
            assert_small(across, bound, &format!("{what}: q times its transpose"));
            let back = m.most_error(|i, j, lane| product(&q, &|i, j, l| p.at(i, j, l), i, j, lane));
            assert_small(back, bound * size, &format!("{what}: q * p"));
            let skew = p.most_error(|i, j, lane| p.at(j, i, lane));
            assert_small(skew, bound * size, &format!("{what}: p"));
        }
    }
}

#[test]
fn transforms_are_composed_again_from_their_parts() {
    let session = Session::new().unwrap();
    for (dtype, bound) in TYPES {
        let mut m = random_matrices(&session, 4, dtype, 1.0);
        for (i, last) in [0.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
            m[i * 4 + 3] = session.array(&[last]).unwrap().cast(dtype).unwrap();
        }
        let parts = call("transform_decompose", &[(Form::Matrix(4), &m)]).unwrap();
        let (scale, rest) = parts.split_at(9);
        let (rotation, translation) = rest.split_at(4);
        let forms = [
            (Form::Matrix(3), scale),
            (Form::Quaternion, rotation),
            (Form::Vector(3), translation),
        ];
        let again = call("transform_compose", &forms).unwrap();
        let [again, m] = [again, m].map(|entries| Matrices::of(4, &entries));
        let back = again.most_error(|i, j, lane| m.at(i, j, lane));
        assert_small(back, bound, &format!("{dtype}: composed again"));
        let scale = Matrices::of(3, scale);
        let skew = scale.most_error(|i, j, lane| scale.at(j, i, lane));
        assert_small(skew, bound, &format!("{dtype}: the scale"));
        assert_small(off_unit(rotation), bound, &format!("{dtype}: the quaternion's length"));
    }
}

/// The most that the squared length of a quaternion differs from 1.
fn off_unit(parts: &[Array]) -> f64 {
    let parts = Matrices::of(1, parts).entries;
    let squared = |lane: usize| parts.iter().map(|part| part[lane] * part[lane]).sum::<f64>();
    (0..LANES).map(|lane| (squared(lane) - 1.0).abs()).fold(0.0, f64::max)
}
