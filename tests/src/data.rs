//! Lanes of input arrays: bounded values, or edge values.

use porcini_core::{DType, F16};

use crate::random::Random;

/// Which values inputs and numbers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Small numbers of either sign; floats are eighths.
    Bounded,
    /// NaN, zeros, infinities, MIN, MAX, −1, numbers near type limits, shift counts, any bits.
    Edge,
}

/// Lane types of numbers: integers, then floats.
pub const NUMBERS: [DType; 11] = [
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F16,
    DType::F32,
    DType::F64,
];
/// Those of integers.
pub const INTEGERS: &[DType] = NUMBERS.split_at(8).0;
/// Those of floats.
pub const FLOATS: &[DType] = NUMBERS.split_at(8).1;

/// The type of sums and products.
pub fn accumulated(dtype: DType) -> DType {
    match dtype {
        DType::I8 | DType::I16 => DType::I32,
        DType::Mask | DType::U8 | DType::U16 => DType::U32,
        _ => dtype,
    }
}

const EDGE_INTEGERS: [i64; 30] = [
    7,
    8,
    128,
    255,
    i16::MAX as i64,
    i16::MIN as i64,
    0,
    1,
    -1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    -31,
    -32,
    -64,
    i32::MAX as i64,
    i32::MIN as i64,
    i32::MAX as i64 + 1,
    u32::MAX as i64,
    u32::MAX as i64 + 1,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    1 << 53,
];

const EDGE_HALVES: [u16; 20] = [
    0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe12, // a NaN with sign and payload
    0x7d00, // a signalling NaN
    0x7bff, 0x0400, 0x0001, 0x8001, 0x83ff, 0x3800, 0x4100, // 2.5
    0x3c01, // a little more than 1
    0x3bff, // a little less than 1
    0x6800, // 2048
    0x57f8, // 127.5
];

const EDGE_SINGLES: [u32; 20] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0123, // a NaN with sign and payload
    0x7f7f_ffff,
    0x0080_0000,
    0x0000_0001,
    0x8000_0001,
    0x807f_ffff,
    0x3f00_0000,
    0x4020_0000, // 2.5
    0x4f00_0000, // 2^31
    0xcf00_0001,
    0x5f00_0000, // 2^63
    0x5f80_0000,
    0x4b7f_ffff,
];

const EDGE_DOUBLES: [u64; 20] = [
    0,
    0x8000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0123,
    0x7fef_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x800f_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x41df_ffff_ffe0_0000, // 2^31 - 0.5
    0xc1e0_0000_0020_0000,
    0x43e0_0000_0000_0000, // 2^63
    0x43f0_0000_0000_0000,
    0x433f_ffff_ffff_ffff,
    0x47ef_ffff_f000_0000, // rounds to f32's infinity
];

/// The bit pattern of one random lane.
pub fn lane(random: &mut Random, dtype: DType, values: Values) -> u64 {
    match (dtype, values) {
        (DType::Mask, _) => random.word() & 1,
        (_, Values::Bounded) => bounded(random, dtype),
        (_, Values::Edge) if random.one_in(4) => random.word() & low_bits(dtype),
        (DType::F16, _) => u64::from(random.pick(&EDGE_HALVES)),
        (DType::F32, _) => u64::from(random.pick(&EDGE_SINGLES)),
        (DType::F64, _) => random.pick(&EDGE_DOUBLES),
        _ => random.pick(&EDGE_INTEGERS).cast_unsigned() & low_bits(dtype),
    }
}

fn bounded(random: &mut Random, dtype: DType) -> u64 {
    let small = random.below(256) as i64;
    let eighths = f32::from(i16::try_from(small - 128).unwrap_or(0)) / 8.0;
    match dtype {
        DType::F16 => u64::from(F16::from_f32(eighths).to_bits()),
        DType::F32 => u64::from(eighths.to_bits()),
        DType::F64 => f64::from(eighths).to_bits(),
        _ if dtype.is_signed() => (small - 128).cast_unsigned() & low_bits(dtype),
        _ => small.cast_unsigned(),
    }
}

/// All bits of a lane.
pub fn low_bits(dtype: DType) -> u64 {
    u64::MAX >> (64 - dtype.bits())
}

/// `n` random lanes.
pub fn lanes(dtype: DType, values: Values, seed: u64, n: usize) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| lane(&mut random, dtype, values)).collect()
}

/// Lanes as the bytes that an array of `dtype` is made from.
pub fn to_bytes(dtype: DType, lanes: &[u64]) -> Vec<u8> {
    lanes.iter().flat_map(|lane| lane.to_le_bytes().into_iter().take(dtype.bytes())).collect()
}
