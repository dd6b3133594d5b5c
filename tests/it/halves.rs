//! Functions of f16 that have operations of their own: every argument there is.

use porcini_core::trace::functions;
use porcini_core::{DType, Session};

/// A function and what it is to compute.
type Reference = (&'static str, fn(f64) -> f64);

/// The distance of f16 numbers around one.
fn ulp(y: f64) -> f64 {
    let exponent = if y == 0.0 { -14.0 } else { y.abs().log2().floor().max(-14.0) };
    (exponent - 10.0).exp2()
}

#[test]
fn short_functions_are_within_a_half_ulp_and_a_little() {
    let session = Session::new().unwrap();
    let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let x = session.from_bytes(DType::F16, &bytes).unwrap();
    let arguments = x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
    let largest = 65504.0;
    let references: [Reference; 10] = [
        ("exp", f64::exp),
        ("exp2", f64::exp2),
        ("exp10", |x| 10_f64.powf(x)),
        ("log", f64::ln),
        ("log2", f64::log2),
        ("log10", f64::log10),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("tanh", f64::tanh),
    ];
    for (name, reference) in references {
        let y = x.call(functions::find(name).unwrap(), &[]).unwrap();
        assert_eq!(y.dtype(), DType::F16);
        let results = y.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
        for (&x, &y) in arguments.iter().zip(&results) {
            let want = reference(x);
            let negative = want.is_sign_negative();
            let right = match want {
                want if want.is_nan() => y.is_nan(),
                want if want.abs() >= largest + ulp(largest) / 2.0 => {
                    y == f64::INFINITY.copysign(want)
                }
                want => (y - want).abs() <= 0.51 * ulp(want) && y.is_sign_negative() == negative,
            };
            assert!(right, "{name}({x}) = {y}, not {want}");
        }
    }
}
