//! Ranges and counts at the ends of their types (S7, S16).

use porcini_core::trace::functions;
use porcini_core::{DType, Error, Scalar, Session};

use super::session;

#[test]
fn linspace_reaches_across_the_whole_type() {
    let session = session();
    for size in [2, 3, 4, 1001] {
        for (first, last) in [(-3e38_f32, 3e38_f32), (3e38, -3e38)] {
            let lanes = session.linspace(DType::F32, first, last, size).unwrap();
            let lanes = lanes.to_vec::<f32>().unwrap();
            assert_eq!((lanes[0], *lanes.last().unwrap()), (first, last));
            assert!(lanes.windows(2).all(|pair| (pair[0] < pair[1]) == (first < last)));
        }
        let (first, last) = (-1.7e308, 1.7e308);
        let lanes = session.linspace(DType::F64, first, last, size).unwrap();
        let lanes = lanes.to_vec::<f64>().unwrap();
        assert_eq!((lanes[0], *lanes.last().unwrap()), (first, last));
        assert!(lanes.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

fn range(session: &Session, dtype: DType, numbers: [Scalar; 3]) -> Result<Vec<Scalar>, Error> {
    let [start, stop, step] = numbers;
    let array = session.arange(dtype, start, stop, step)?;
    array.read(0..array.size())
}

#[test]
fn unsigned_ranges_count_down() {
    let session = session();
    let down = [5, 0, -1].map(Scalar::Int);
    let want: Vec<i64> = (1..=5).rev().collect();
    let got = range(&session, DType::U32, down).unwrap();
    assert_eq!(got, want.iter().map(|&i| Scalar::Int(i)).collect::<Vec<_>>());
    let got = range(&session, DType::U64, down).unwrap();
    assert_eq!(got, want.iter().map(|&i| Scalar::UInt(i.cast_unsigned())).collect::<Vec<_>>());
}

#[test]
fn what_a_range_does_not_use_need_not_fit() {
    let session = session();
    let lanes = |numbers: [i64; 3]| range(&session, DType::I32, numbers.map(Scalar::Int));
    assert_eq!(lanes([7, 8, 1 << 40]).unwrap(), [Scalar::Int(7)]);
    assert_eq!(lanes([1 << 40, 0, 1]).unwrap(), []);
    assert!(matches!(lanes([1 << 40, 1 << 41, 1 << 40]), Err(Error::Argument { .. })));
    assert!(matches!(lanes([0, 1 << 41, 1 << 40]), Err(Error::Argument { .. })));
    let nan = range(&session, DType::F32, [0.0, f64::NAN, 1.0].map(Scalar::Float));
    assert!(matches!(nan, Err(Error::Argument { .. })));
}

#[test]
fn rotations_keep_the_type_of_what_they_rotate() {
    let session = session();
    let value = session.array(&[0x8000_0001_u32; 4]).unwrap();
    let [left, right] = ["rol", "ror"].map(|name| functions::find(name).unwrap());
    let narrow = session.array(&[1_i32, 33, -1, 0]).unwrap();
    let wide = session.array(&[1_i64, 33, -1, 0]).unwrap();
    for count in [&narrow, &wide] {
        let got = value.call(left, &[count.into()]).unwrap().to_vec::<u32>().unwrap();
        assert_eq!(got, [3, 3, 0xc000_0000, 0x8000_0001]);
        let got = value.call(right, &[count.into()]).unwrap().to_vec::<u32>().unwrap();
        assert_eq!(got, [0xc000_0000, 0xc000_0000, 3, 0x8000_0001]);
    }
    let count = session.array(&[1.5_f32]).unwrap();
    assert!(matches!(value.call(left, &[(&count).into()]), Err(Error::UnsupportedType { .. })));
}
