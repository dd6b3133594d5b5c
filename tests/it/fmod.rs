//! `fmod` equals Rust's `%` (C's fmod), bit for bit.

use porcini_core::{Element, Session};
use porcini_tests::random::Random;

/// Bit patterns that random words rarely hit, for a float with `fraction` fraction bits of `width`.
fn edges(width: u32, fraction: u32) -> Vec<u64> {
    let exponents = (1_u64 << (width - 1 - fraction)) - 1;
    let all = (1_u64 << fraction) - 1;
    let mut edges = Vec::new();
    for exponent in [0, 1, 2, exponents / 2, exponents / 2 + 1, exponents - 1, exponents] {
        for bits in [0, 1, 2, 3, all / 3, all / 2, all / 2 + 1, all - 1, all] {
            let magnitude = exponent << fraction | bits;
            edges.extend([magnitude, magnitude | 1 << (width - 1)]);
        }
    }
    edges
}

/// Random pairs: any bits, near exponents, near multiples, subnormals.
fn pairs(random: &mut Random, n: usize, width: u32, fraction: u32) -> (Vec<u64>, Vec<u64>) {
    let mask = u64::MAX >> (64 - width);
    let edges = edges(width, fraction);
    let mut pairs = Vec::with_capacity(n + edges.len() * edges.len());
    for &x in &edges {
        pairs.extend(edges.iter().map(|&y| (x, y)));
    }
    for i in 0..n {
        let (x, y) = (random.word() & mask, random.word() & mask);
        let near = (random.word() % 90) << fraction;
        pairs.push(match i % 6 {
            0 | 1 => (x, y),
            2 => (x, x.wrapping_sub(near) & mask),
            3 => (x, random.pick(&edges)),
            4 => (random.pick(&edges), y),
            _ => (x, y & (u64::MAX >> (64 - 1 - fraction + fraction / 4))),
        });
    }
    pairs.into_iter().unzip()
}

fn check<T: Element + PartialEq + std::ops::Rem<Output = T>>(fraction: u32, n: usize)
where
    f64: From<T>,
{
    let session = Session::new().unwrap();
    let mut random = Random::new(u64::from(fraction));
    let (x, y) = pairs(&mut random, n, T::DTYPE.bits(), fraction);
    let [x, y]: [Vec<T>; 2] = [x, y].map(|bits| bits.into_iter().map(T::from_bits64).collect());
    let result = session.array(&x).unwrap() % &session.array(&y).unwrap();
    let result = result.to_vec::<T>().unwrap();
    for ((&x, &y), &got) in x.iter().zip(&y).zip(&result) {
        let want = x % y;
        let same = got.to_bits64() == want.to_bits64();
        let nan = f64::from(want).is_nan() && f64::from(got).is_nan();
        assert!(
            same || nan,
            "{:#x} % {:#x} = {:#x}, not {:#x}",
            x.to_bits64(),
            y.to_bits64(),
            got.to_bits64(),
            want.to_bits64()
        );
    }
}

/// Random pairs per type; more with `PORCINI_PROGRAMS`, see `it/programs.rs`.
fn count() -> usize {
    if std::env::var_os("PORCINI_PROGRAMS").is_some() { 8_000_000 } else { 400_000 }
}

#[test]
fn fmod_of_f32_is_exact() {
    check::<f32>(23, count());
}

#[test]
fn fmod_of_f64_is_exact() {
    check::<f64>(52, count());
}
