//! Integer division by every small divisor, against the scalar operation (acceptance case B19), and by numbers of every
//! size on all devices.

use std::rc::Rc;

use porcini_core::ir::op::Op;
use porcini_core::ir::scalar::apply_bits;
use porcini_core::{Array, DType, Scalar, Session};
use porcini_script::on_engine_thread;
use porcini_tests::devices::devices;
use porcini_tests::host::TestHost;
use porcini_tests::{data, golden};

const DIVISORS: u8 = 200;

/// Lanes of mixed size and sign, as 64-bit patterns.
fn numerators() -> Vec<u64> {
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let mut lanes = vec![0, 1, u64::MAX, i64::MIN.cast_unsigned(), i64::MAX.cast_unsigned()];
    for i in 0..60 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        lanes.push(state >> i);
    }
    lanes
}

macro_rules! sweep {
    ($test:ident, $array:literal, $t:ty, $narrow:expr, $written:expr) => {
        #[test]
        fn $test() {
            on_engine_thread(|| {
                let host = Rc::new(TestHost::default());
                let mut interpreter = golden::interpreter(host, golden::BASELINE, 0);
                let mut shows = |text: &str, want: Vec<$t>| {
                    let list: Vec<String> = want.iter().map(ToString::to_string).collect();
                    let shown = interpreter.execute(text, "sweep").unwrap().text;
                    assert_eq!(shown.unwrap(), format!("[{}]", list.join(", ")), "{text}");
                };
                let lanes: Vec<$t> = numerators().into_iter().map($narrow).collect();
                // 64-bit unsigned arrays take negative numbers as their bits.
                let list: Vec<String> = lanes.iter().map($written).collect();
                let text = format!("set_print(#{{threshold: 1000}}); a = {}({list:?}); a", $array);
                shows(&text.replace('"', ""), lanes.clone());
                for d in 1..=DIVISORS {
                    let by = <$t>::try_from(d).unwrap();
                    shows(&format!("idiv(a, {d})"), lanes.iter().map(|x| x / by).collect());
                    shows(&format!("a % {d}"), lanes.iter().map(|x| x % by).collect());
                }
            });
        }
    };
}
sweep!(signed_32, "Int32C", i32, |x| low(x).cast_signed(), |x| x.to_string());
sweep!(signed_64, "Int64C", i64, u64::cast_signed, |x| x.to_string());
sweep!(unsigned_64, "UInt64C", u64, |x| x, |x| x.cast_signed().to_string());
sweep!(unsigned_32, "UInt32C", u32, low, |x| x.to_string());

fn low(x: u64) -> u32 {
    u32::try_from(x & u64::from(u32::MAX)).unwrap()
}

/// All numbers of 8 bits; of more bits those around powers of two and their multiples, and random ones.
fn numbers(dtype: DType) -> Vec<u64> {
    if dtype.bits() == 8 {
        return (0..256).collect();
    }
    let powers = (0..dtype.bits()).map(|i| 1_u64 << i);
    let mut numbers: Vec<u64> =
        powers.flat_map(|power| [power - 1, power, power + 1, power / 3]).collect();
    numbers.extend([7, 10, 14, 100, 641, 1000, 6_700_417]);
    numbers.extend(numerators());
    numbers.extend(numbers.clone().into_iter().map(u64::wrapping_neg));
    let all = u64::MAX >> (64 - dtype.bits());
    numbers.into_iter().map(|number| number & all).collect()
}

/// Makes arrays of a divisor.
type Make<'m> = &'m dyn Fn(u64) -> Array;

/// Quotients and remainders of all numbers by each of `divisors`, in one kernel.
fn check(session: &Session, dtype: DType, dividends: &[u64], divisors: &[(u64, Array)], how: &str) {
    let lanes = session.from_bytes(dtype, &data::to_bytes(dtype, dividends)).unwrap();
    let both = |(_, d): &(u64, Array)| [lanes.idiv(d).unwrap(), &lanes % d];
    let results: Vec<[Array; 2]> = divisors.iter().map(both).collect();
    session.eval(&results.iter().flatten().collect::<Vec<_>>()).unwrap();
    for ((d, _), results) in divisors.iter().zip(results) {
        for (op, result) in [Op::IDiv, Op::Rem].into_iter().zip(results) {
            let want = dividends.iter().map(|&a| apply_bits(op, dtype, dtype, [a, *d, 0]));
            let want = data::to_bytes(dtype, &want.collect::<Vec<_>>());
            let got = result.read_bytes(0..dividends.len() as u64).unwrap();
            assert!(got == want, "{op:?} of {dtype} by {d}, {how}");
        }
    }
}

#[test]
fn by_numbers_of_every_size() {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_int()) {
        let numbers = numbers(dtype);
        let scalar = |d: u64| {
            let shift = 64 - dtype.bits();
            let signed = (d << shift).cast_signed() >> shift;
            if dtype.is_signed() { Scalar::Int(signed) } else { Scalar::UInt(d) }
        };
        for device in devices() {
            let session = Session::builder().runtime(device.runtime.clone()).build().unwrap();
            let numbers_of = |make: Make<'_>, first: usize| {
                // Each batch has a length, and so a kernel, of its own.
                let (mut batches, mut rest) = (Vec::new(), numbers[first..].to_vec());
                for length in 40.. {
                    let batch: Vec<_> = rest.drain(..length.min(rest.len())).collect();
                    if batch.is_empty() {
                        break;
                    }
                    batches.push(batch.into_iter().map(|d| (d, make(d))).collect::<Vec<_>>());
                }
                batches
            };
            let literal = |d| session.full(dtype, scalar(d), 1).unwrap();
            let opaque = |d| session.opaque(dtype, scalar(d), 1).unwrap();
            let ways: [(&str, Make<'_>, usize); 3] = [
                ("part of the code", &literal, 0),
                // The same kernels with other numbers.
                ("a parameter", &literal, 1),
                ("in memory", &opaque, 0),
            ];
            for (how, make, first) in ways {
                for batch in numbers_of(make, first) {
                    let how = format!("{how}, {}", device.name);
                    check(&session, dtype, &numbers, &batch, &how);
                }
            }
        }
    }
}
