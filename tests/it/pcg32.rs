//! The published streams of PCG32, and Monte Carlo counts that depend on every bit of them.

use porcini_core::ir::op::ScatterOp;
use porcini_core::random::{Draw, PCG32_DEFAULT_STATE, PCG32_DEFAULT_STREAM, Pcg32, SplitMix64};
use porcini_core::trace::functions;
use porcini_core::{Array, DType, Scalar, Session, Value};
use porcini_tests::golden::configurations;

fn lanes(session: &Session, n: i64) -> Array {
    session.arange(DType::U64, Scalar::Int(0), Scalar::Int(n), Scalar::Int(1)).unwrap()
}

fn first<T: porcini_core::Element>(array: &Array) -> T {
    array.to_vec::<T>().unwrap()[0]
}

#[test]
fn default_generator() {
    let session = Session::new().unwrap();
    let mut rng = Pcg32::new(&session, PCG32_DEFAULT_STATE, PCG32_DEFAULT_STREAM).unwrap();
    assert_eq!(first::<u64>(&rng.state), 16_869_222_179_800_739_361);
    assert_eq!(first::<u64>(&rng.inc), 13_005_396_917_011_789_751);
    let mut floats = rng.clone();
    let words: Vec<u32> = (0..6).map(|_| first(&rng.next_uint32().unwrap())).collect();
    let want = [465_482_994, 3_895_364_073, 1_746_730_475, 3_759_121_132, 2_984_354_868];
    assert_eq!(words[..5], want);
    assert_eq!(words[5], 3_193_308_813);
    for want in [0.108_378_65, 0.906_96, 0.406_692_27, 0.875_238_54, 0.694_849_25, 0.743_500_1] {
        assert_eq!(first::<f32>(&floats.next_float32().unwrap()), want);
    }
}

#[test]
fn demo_of_the_paper() {
    let session = Session::new().unwrap();
    let mut rng = Pcg32::new(&session, 42, 54).unwrap();
    let words: Vec<u32> = (0..6).map(|_| first(&rng.next_uint32().unwrap())).collect();
    let want = [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e];
    assert_eq!(words, want);
    let mut again = Pcg32::new(&session, 42, 54).unwrap();
    let wide: u64 = first(&again.next_uint64().unwrap());
    assert_eq!(wide, 0x7b47_f409_a15c_02b7);
    // 32 random bits: the next word over 2^32.
    let double: f64 = first(&again.next_float64().unwrap());
    assert_eq!(double, f64::from(0xba1d_3330_u32) / 4_294_967_296.0);
}

#[test]
fn a_state_or_a_stream_a_lane() {
    let session = Session::new().unwrap();
    let mut states = Pcg32::new(&session, lanes(&session, 8), PCG32_DEFAULT_STREAM).unwrap();
    let want = [
        174_444_157_u32,
        4_033_076_299,
        3_149_747_405,
        2_750_463_884,
        3_528_836_542,
        2_687_722_209,
        1_633_037_411,
        3_536_637_593,
    ];
    assert_eq!(states.next_uint32().unwrap().to_vec::<u32>().unwrap(), want);
    let mut streams = Pcg32::new(&session, PCG32_DEFAULT_STATE, lanes(&session, 8)).unwrap();
    let want = [
        1_774_745_655_u32,
        1_942_134_747,
        302_268_183,
        3_248_537_212,
        2_369_206_831,
        3_723_188_829,
        3_447_855_960,
        2_331_815_976,
    ];
    assert_eq!(streams.next_uint32().unwrap().to_vec::<u32>().unwrap(), want);
}

/// Number `i` of the SplitMix64 that starts from a seed.
fn split_mix(seed: u64, i: u64) -> u64 {
    let x = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[test]
fn seeds_are_numbers_of_split_mix_64() {
    // The first numbers that others publish for these seeds.
    let published: [(u64, [u64; 3]); 2] = [
        (0, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]),
        (
            1_234_567,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423],
        ),
    ];
    for (seed, want) in published {
        let mut numbers = SplitMix64::new(seed);
        assert_eq!([(); 3].map(|()| numbers.draw()), want);
        assert_eq!([0, 1, 2].map(|i| split_mix(seed, i)), want);
    }
    for (device, threads) in configurations() {
        let session = Session::builder().device(device).threads(threads).build().unwrap();
        for seed in [0, 1, u64::MAX] {
            let rng = Pcg32::seeded(&session, 5000, seed).unwrap();
            let (states, streams) =
                (rng.state.to_vec::<u64>().unwrap(), rng.inc.to_vec::<u64>().unwrap());
            let (first, second) = (split_mix(seed, 0), split_mix(seed, 1));
            for i in [0, 1, 31, 4999] {
                let inc = split_mix(second, i as u64) << 1 | 1;
                let state = split_mix(first, i as u64).wrapping_add(inc);
                let state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(inc);
                assert_eq!((states[i], streams[i]), (state, inc), "lane {i} of seed {seed}");
            }
        }
    }
}

/// What `n` lanes get is what a single one draws `n` times.
#[test]
fn one_generator_draws_for_many_lanes() {
    let session = Session::new().unwrap();
    for (kind, n) in
        [(Draw::UInt32, 1), (Draw::UInt32, 1000), (Draw::UInt64, 77), (Draw::Float64, 2)]
    {
        let mut rng = Pcg32::new(&session, 42, 54).unwrap();
        let mut one = rng.clone();
        let row = rng.draw_lanes("rand", kind, n).unwrap();
        let each = (0..n).map(|_| one.draw(kind, None).unwrap());
        let each: Vec<Array> = each.collect();
        let each = session.concat(&each.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(row.read_bytes(0..n).unwrap(), each.read_bytes(0..n).unwrap(), "{kind:?}");
        assert_eq!(first::<u64>(&rng.state), first::<u64>(&one.state));
    }
}

/// Integers are the distance of the bounds times a fraction of all bits that were drawn.
#[test]
fn integers_are_parts_of_an_interval() {
    let session = Session::new().unwrap();
    let n = 200;
    for (low, high) in [
        (0, 1),
        (0, 10),
        (-5, 1 << 31),
        (i64::from(i32::MIN), i64::from(i32::MAX)),
        (7, 7 + (1 << 32)),
        (7, 8 + (1 << 32)),
        (i64::MIN, i64::MAX),
        (-1, 1 << 62),
    ] {
        let mut rng = Pcg32::seeded(&session, n, 3).unwrap();
        let mut bits = rng.clone();
        let numbers = rng.draw_integers(low, high, n).unwrap();
        let narrow = i32::try_from(low).is_ok() && i32::try_from(high).is_ok();
        assert_eq!(numbers.dtype(), if narrow { DType::I32 } else { DType::I64 });
        let distance = high.wrapping_sub(low).cast_unsigned();
        let (kind, width) =
            if distance > 1 << 32 { (Draw::UInt64, 64) } else { (Draw::UInt32, 32) };
        let mut words = || {
            let drawn = bits.draw(kind, None).unwrap().cast(DType::U64).unwrap();
            drawn.to_vec::<u64>().unwrap()
        };
        let (a, b) = (words(), words());
        let numbers = numbers.cast(DType::I64).unwrap().to_vec::<i64>().unwrap();
        for (number, (a, b)) in numbers.into_iter().zip(a.into_iter().zip(b)) {
            let [a, b, distance] = [a, b, distance].map(u128::from);
            let part = (a * distance + ((b * distance) >> width)) >> width;
            let want = i128::from(low) + i128::try_from(part).unwrap();
            assert_eq!(i128::from(number), want, "from {low} to {high}");
        }
        assert_eq!(rng.state.to_vec::<u64>().unwrap(), bits.state.to_vec::<u64>().unwrap());
    }
}

/// The Euclidean length of a vector.
fn length(v: &[Array]) -> Array {
    let v = Value::vector(v.iter().cloned().map(Value::from).collect()).unwrap();
    v.norm().unwrap().array().unwrap().clone()
}

/// Points of a cube within the unit ball; coordinates in [-1, 1) or in [0, 1).
fn inside(rng: &mut Pcg32, dimensions: usize, signed: bool) -> u64 {
    let coordinate = |rng: &mut Pcg32| {
        let u = rng.next_float32().unwrap();
        if signed { u * 2.0 - 1.0 } else { u }
    };
    let v: Vec<Array> = (0..dimensions).map(|_| coordinate(rng)).collect();
    first(&length(&v).lt(1.0).unwrap().count().unwrap())
}

#[test]
fn volumes_by_monte_carlo() {
    for threads in [1, 2, 8] {
        let session = Session::builder().threads(threads).build().unwrap();
        let n = lanes(&session, 1_000_000);
        let states = Pcg32::new(&session, n.clone(), PCG32_DEFAULT_STREAM).unwrap();
        let streams = Pcg32::new(&session, PCG32_DEFAULT_STATE, n).unwrap();
        for (rng, dimensions, signed, want) in [
            (&states, 3, true, 523_946),
            (&states, 2, true, 785_647),
            (&states, 2, false, 785_651),
            (&streams, 3, true, 523_543),
            (&streams, 2, true, 785_320),
            (&streams, 2, false, 785_005),
        ] {
            assert_eq!(inside(&mut rng.clone(), dimensions, signed), want);
        }
    }
}

/// Enoki's histogram: 2^20 normal numbers of each of 16 streams, in 31 bins over [-4, 4], and how many are
/// outside.
fn histogram(normal: impl Fn(&mut Pcg32) -> Array) -> Vec<u32> {
    const BLOCK: i64 = 1 << 10;
    let session = Session::new().unwrap();
    let lane = lanes(&session, 16 * BLOCK);
    let mut rng = Pcg32::new(&session, PCG32_DEFAULT_STATE, &lane % 16_i64).unwrap();
    // Each lane draws a block of its stream.
    rng.advance((&((lane >> 4_i64) * BLOCK)).into()).unwrap();
    let mut bins = session.zeros(DType::U32, 32).unwrap();
    for _ in 0..BLOCK {
        // Towards zero, so the first bin is wider.
        let bin = ((normal(&mut rng) + 4.0) * (31.0 / 8.0)).cast(DType::I32).unwrap();
        let inside = bin.ge(0).unwrap() & &bin.lt(31).unwrap();
        let bin = inside.select(&bin, 31).unwrap();
        bins.scatter(ScatterOp::Add, 1, &bin, None).unwrap();
        session.eval(&[&bins, &rng.state]).unwrap();
    }
    bins.to_vec().unwrap()
}

#[test]
fn normal_numbers() {
    let want = [
        1342, 2558, 6380, 14535, 31424, 62593, 117_718, 206_435, 339_415, 522_791, 752_419,
        1_012_879, 1_277_244, 1_508_084, 1_666_444, 1_722_739, 1_667_618, 1_508_831, 1_279_461,
        1_014_987, 753_226, 524_331, 339_549, 206_959, 117_400, 62820, 31374, 14800, 6449, 2605,
        1063, 743_u32,
    ];
    let check = |bins: Vec<u32>, tolerance| {
        for (bin, (got, want)) in bins.into_iter().zip(want).enumerate() {
            assert!(got.abs_diff(want) <= tolerance, "bin {bin}: {got}, expected {want}");
        }
    };
    let inverse = functions::find("erfinv").unwrap();
    let published = histogram(|rng| {
        let place = rng.next_float32().unwrap() * 2.0 - 1.0;
        place.call(inverse, &[]).unwrap() * std::f64::consts::SQRT_2
    });
    check(published, 3);
    // Ours takes the middles of the intervals: half a step further.
    check(histogram(|rng| rng.draw(Draw::Normal32, None).unwrap()), 8);
}
