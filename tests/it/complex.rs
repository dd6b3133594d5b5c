//! The complex elementary functions against values of C's, on both sides of every branch cut.

use porcini_core::value::Form;
use porcini_core::{Array, Session};
use porcini_tests::entries::call;

/// Written by `tests/accuracy/complex.py`.
const VALUES: &str = include_str!("../accuracy/complex.txt");

/// Most error of a value, in units of the last place of its absolute value.
const MOST: f64 = 8.0;

struct Row {
    function: &'static str,
    z: [f64; 2],
    w: [f64; 2],
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let mut words = line.split(' ');
        let function = words.next().unwrap();
        let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        Row { function, z: [numbers[0], numbers[1]], w: [numbers[2], numbers[3]] }
    };
    VALUES.lines().map(row).collect()
}

fn applied(session: &Session, function: &str, z: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let part = |i: usize| session.array(&z.iter().map(|z| z[i]).collect::<Vec<_>>()).unwrap();
    let parts: [Array; 2] = [part(0), part(1)];
    let w = call(function, &[(Form::Complex, &parts)]).unwrap();
    let [re, im] = [0, 1].map(|i| w[i].to_vec::<f64>().unwrap());
    re.into_iter().zip(im).map(|(re, im)| [re, im]).collect()
}

#[test]
fn values_are_those_of_c() {
    let session = Session::new().unwrap();
    let rows = rows();
    let mut wrong = Vec::new();
    for rows in rows.chunk_by(|a, b| a.function == b.function) {
        let function = rows[0].function;
        let z: Vec<[f64; 2]> = rows.iter().map(|row| row.z).collect();
        for (row, w) in rows.iter().zip(applied(&session, function, &z)) {
            let distance = (w[0] - row.w[0]).hypot(w[1] - row.w[1]);
            let unit = row.w[0].hypot(row.w[1]).max(f64::MIN_POSITIVE) * f64::EPSILON;
            let error = distance / unit;
            if error.is_nan() || error > MOST {
                wrong.push(format!(
                    "{function}{:?} = {w:?}, not {:?}: {error:.1} ulp",
                    row.z, row.w
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Where the cut lies on the real axis, the imaginary zero decides, and a value has the sign of it.
#[test]
fn conjugates_have_conjugate_values() {
    let session = Session::new().unwrap();
    for rows in rows().chunk_by(|a, b| a.function == b.function) {
        let function = rows[0].function;
        let z: Vec<[f64; 2]> = rows.iter().map(|row| row.z).collect();
        let mirrored: Vec<[f64; 2]> = z.iter().map(|z| [z[0], -z[1]]).collect();
        let pairs =
            applied(&session, function, &z).into_iter().zip(applied(&session, function, &mirrored));
        for ((w, v), z) in pairs.zip(&z) {
            assert_eq!(w, [v[0], -v[1]], "{function}{z:?}");
        }
    }
}
