//! Integer division by every small divisor, against the scalar operation (acceptance case B19).

use std::rc::Rc;

use porcini_script::on_engine_thread;
use porcini_tests::golden;
use porcini_tests::host::TestHost;

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
