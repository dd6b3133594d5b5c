//! Nested values against what others compute in double precision: num-complex and nalgebra.

use nalgebra::{Matrix2, Matrix3, Matrix4, Quaternion, SMatrix, UnitQuaternion, Vector3};
use num_complex::Complex64;
use porcini_core::DType;
use porcini_core::value::Form;
use porcini_script::on_engine_thread;
use porcini_tests::devices::devices;
use porcini_tests::laws::Trial;
use porcini_tests::random::Random;

const LANES: usize = 200;

/// A form, and its entries in each lane.
type Value = (Form, Vec<Vec<f64>>);

/// Numbers from -2 to 2 that have a place in single precision.
fn value(random: &mut Random, form: Form) -> Value {
    let mut entry = || (random.below(1 << 16) as f64 - 32767.5) / 16384.0;
    (form, (0..LANES).map(|_| (0..form.n_entries()).map(|_| entry()).collect()).collect())
}

/// A quantity both ways: as a script says it of a, b, c, and as a reference does of their entries in one lane.
struct Case<'a> {
    script: &'a str,
    values: &'a [Value],
    reference: &'a dyn Fn(&[&[f64]]) -> Vec<f64>,
    /// Most error, in distances of numbers around one, relative to the largest part or 1.
    most: f64,
}

impl Case<'_> {
    fn check(&self) {
        let mut trial = Trial::on(&devices().last().unwrap().runtime);
        for (dtype, letter, unit) in
            [(DType::F32, "f", f64::from(f32::EPSILON)), (DType::F64, "d", f64::EPSILON)]
        {
            for (name, value) in ["a", "b", "c"].iter().zip(self.values) {
                give(&mut trial, name, value, (dtype, letter));
            }
            let text = self.script.replace('@', letter);
            trial.run(&format!("result = {text};")).unwrap();
            let parts = trial.arrays("result");
            let parts: Vec<Vec<f64>> =
                parts.iter().map(|part| part.cast(DType::F64).unwrap().to_vec().unwrap()).collect();
            for lane in 0..LANES {
                let entries: Vec<&[f64]> =
                    self.values.iter().map(|(_, lanes)| lanes[lane].as_slice()).collect();
                let want = (self.reference)(&entries);
                assert_eq!(parts.len(), want.len(), "{text}");
                let size = want.iter().fold(1.0_f64, |size, part| size.max(part.abs()));
                for (k, (got, want)) in parts.iter().zip(&want).enumerate() {
                    // A constant has one lane.
                    let got = got[lane.min(got.len() - 1)];
                    let (error, most) = ((got - want).abs() / (unit * size), self.most);
                    assert!(
                        error <= most,
                        "{text}, {dtype}, part {k} of {entries:?}: {got}, not {want}: {error:.1}"
                    );
                }
            }
        }
    }
}

/// Gives a value a name; entries of a matrix come column by column.
fn give(trial: &mut Trial, name: &str, (form, lanes): &Value, (dtype, letter): (DType, &str)) {
    let mut entries = Vec::new();
    for k in 0..form.n_entries() {
        let bits = |lane: &Vec<f64>| match dtype {
            #[expect(clippy::cast_possible_truncation, reason = "the numbers fit")]
            DType::F32 => u64::from((lane[k] as f32).to_bits()),
            _ => lane[k].to_bits(),
        };
        let lanes: Vec<u64> = lanes.iter().map(bits).collect();
        trial.give_array(&format!("{name}{k}"), dtype, &lanes);
        entries.push(format!("{name}{k}"));
    }
    let list = entries.join(", ");
    let text = match form {
        Form::Scalar | Form::Tensor => list,
        Form::Vector(n) => format!("Vector{n}{letter}C({list})"),
        Form::Complex => format!("Complex2{letter}C({list})"),
        Form::Quaternion => format!("Quaternion4{letter}C({list})"),
        Form::Matrix(n) => format!("Matrix{n}{letter}C({list}).T"),
    };
    trial.run(&format!("{name} = {text};")).unwrap();
}

fn complex(entries: &[f64]) -> Complex64 {
    Complex64::new(entries[0], entries[1])
}

#[test]
fn complex_numbers_are_those_of_num_complex() {
    type Function = fn(Complex64) -> Complex64;
    let functions: [(&str, Function, f64); 18] = [
        ("exp(a)", Complex64::exp, 8.0),
        ("log(a)", Complex64::ln, 8.0),
        ("sqrt(a)", Complex64::sqrt, 8.0),
        ("sin(a)", Complex64::sin, 8.0),
        ("cos(a)", Complex64::cos, 8.0),
        ("tan(a)", Complex64::tan, 256.0),
        ("sinh(a)", Complex64::sinh, 8.0),
        ("cosh(a)", Complex64::cosh, 8.0),
        ("tanh(a)", Complex64::tanh, 256.0),
        ("asin(a)", Complex64::asin, 32.0),
        ("acos(a)", Complex64::acos, 32.0),
        ("atan(a)", Complex64::atan, 32.0),
        ("asinh(a)", Complex64::asinh, 32.0),
        ("acosh(a)", Complex64::acosh, 32.0),
        ("atanh(a)", Complex64::atanh, 32.0),
        ("rcp(a)", |z| z.inv(), 8.0),
        ("exp2(a)", Complex64::exp2, 16.0),
        ("log10(a)", Complex64::log10, 8.0),
    ];
    on_engine_thread(move || {
        let mut random = Random::new(1);
        let (a, b) = (value(&mut random, Form::Complex), value(&mut random, Form::Complex));
        for (script, function, most) in functions {
            let reference = |x: &[&[f64]]| {
                let w = function(complex(x[0]));
                vec![w.re, w.im]
            };
            Case { script, values: std::slice::from_ref(&a), reference: &reference, most }.check();
        }
        type Operation = fn(Complex64, Complex64) -> Complex64;
        let operations: [(&str, Operation, f64); 5] = [
            ("a + b", |z, w| z + w, 1.0),
            ("a - b", |z, w| z - w, 1.0),
            ("a * b", |z, w| z * w, 4.0),
            ("a / b", |z, w| z / w, 8.0),
            ("pow(a, b)", Complex64::powc, 64.0),
        ];
        let both = [a, b];
        for (script, operation, most) in operations {
            let reference = |x: &[&[f64]]| {
                let w = operation(complex(x[0]), complex(x[1]));
                vec![w.re, w.im]
            };
            Case { script, values: &both, reference: &reference, most }.check();
        }
    });
}

/// A matrix with an outweighing diagonal, so that its inverse is well defined.
fn tame(random: &mut Random, n: usize) -> Value {
    let (form, mut lanes) = value(random, Form::Matrix(n));
    for lane in &mut lanes {
        (0..n).for_each(|i| lane[i * n + i] += 8.0);
    }
    (form, lanes)
}

fn check_matrices<const N: usize>(inverse: fn(&SMatrix<f64, N, N>) -> SMatrix<f64, N, N>)
where
    SMatrix<f64, N, N>: Determinant,
{
    let matrix = SMatrix::<f64, N, N>::from_column_slice;
    let list = |m: SMatrix<f64, N, N>| m.as_slice().to_vec();
    let mut random = Random::new(N as u64);
    let [a, b] = [0, 1].map(|_| tame(&mut random, N));
    let v = value(&mut random, Form::Vector(N));
    let ab = [a.clone(), b];
    let one = std::slice::from_ref(&a);
    let check = |script, values: &[Value], most, reference: &dyn Fn(&[&[f64]]) -> Vec<f64>| {
        Case { script, values, reference, most }.check();
    };
    check("a * b", &ab, 8.0, &|x| list(matrix(x[0]) * matrix(x[1])));
    check("transpose(a)", one, 0.0, &|x| list(matrix(x[0]).transpose()));
    check("det(a)", one, 16.0, &|x| vec![matrix(x[0]).determinant_of()]);
    check("inverse(a)", one, 16.0, &|x| list(inverse(&matrix(x[0]))));
    check("trace(a)", one, 4.0, &|x| vec![matrix(x[0]).trace()]);
    check("frob(a)", one, 8.0, &|x| vec![matrix(x[0]).norm_squared()]);
    check("a * b", &[a.clone(), v], 8.0, &|x| {
        let v = nalgebra::SVector::<f64, N>::from_column_slice(x[1]);
        (matrix(x[0]) * v).as_slice().to_vec()
    });
}

/// nalgebra has a determinant for each size.
trait Determinant {
    fn determinant_of(&self) -> f64;
}

macro_rules! determinants {
    ($($matrix:ident)*) => { $(
        impl Determinant for $matrix<f64> {
            fn determinant_of(&self) -> f64 { self.determinant() }
        }
    )* };
}
determinants!(Matrix2 Matrix3 Matrix4);

#[test]
fn matrices_are_those_of_nalgebra() {
    on_engine_thread(|| {
        check_matrices::<2>(|m| m.try_inverse().unwrap());
        check_matrices::<3>(|m| m.try_inverse().unwrap());
        check_matrices::<4>(|m| m.try_inverse().unwrap());
    });
}

fn quaternion(x: &[f64]) -> Quaternion<f64> {
    Quaternion::new(x[3], x[0], x[1], x[2])
}

fn parts(q: Quaternion<f64>) -> Vec<f64> {
    vec![q.i, q.j, q.k, q.w]
}

#[test]
fn quaternions_are_those_of_nalgebra() {
    on_engine_thread(|| {
        let mut random = Random::new(9);
        let [p, q] = [0, 1].map(|_| value(&mut random, Form::Quaternion));
        let both = [p.clone(), q];
        let one = std::slice::from_ref(&p);
        let check = |script, values: &[Value], most, reference: &dyn Fn(&[&[f64]]) -> Vec<f64>| {
            Case { script, values, reference, most }.check();
        };
        check("a * b", &both, 8.0, &|x| parts(quaternion(x[0]) * quaternion(x[1])));
        check("rcp(a)", one, 8.0, &|x| parts(quaternion(x[0]).try_inverse().unwrap()));
        check("exp(a)", one, 16.0, &|x| parts(quaternion(x[0]).exp()));
        check("log(a)", one, 16.0, &|x| parts(quaternion(x[0]).ln()));
        check("abs(a)", one, 4.0, &|x| vec![quaternion(x[0]).norm()]);
        let unit = |x: &[f64]| UnitQuaternion::from_quaternion(quaternion(x));
        let turned = [p.clone(), value(&mut random, Form::Vector(3))];
        let vector = |x: &[f64]| Vector3::from_column_slice(x);
        check("rotate(normalize(a), b)", &turned, 16.0, &|x| {
            (unit(x[0]) * vector(x[1])).as_slice().to_vec()
        });
        check("Matrix3@C::from_quat(normalize(a))", one, 16.0, &|x| {
            unit(x[0]).to_rotation_matrix().matrix().as_slice().to_vec()
        });
        check("quat_to_matrix(normalize(a))", one, 16.0, &|x| {
            unit(x[0]).to_homogeneous().as_slice().to_vec()
        });
        check("quat_to_euler(normalize(a))", one, 4096.0, &|x| {
            let (roll, pitch, yaw) = unit(x[0]).euler_angles();
            vec![roll, pitch, yaw]
        });
        let three = [both[0].clone(), both[1].clone(), value(&mut random, Form::Scalar)];
        check("slerp(normalize(a), normalize(b), abs(c) / 2)", &three, 64.0, &|x| {
            let (p, q) = (unit(x[0]), unit(x[1]));
            parts(p.slerp(&q, x[2][0].abs() / 2.0).into_inner())
        });
        let axis = [value(&mut random, Form::Vector(3)), value(&mut random, Form::Scalar)];
        check("Matrix4@C::rotate(normalize(a), b)", &axis, 16.0, &|x| {
            let axis = nalgebra::Unit::new_normalize(vector(x[0]));
            Matrix4::from_axis_angle(&axis, x[1][0]).as_slice().to_vec()
        });
    });
}

#[test]
fn cameras_are_those_of_nalgebra() {
    on_engine_thread(|| {
        let mut random = Random::new(5);
        let vectors: Vec<Value> = (0..3).map(|_| value(&mut random, Form::Vector(3))).collect();
        let point = |x: &[f64]| nalgebra::Point3::new(x[0], x[1], x[2]);
        let reference = |x: &[&[f64]]| {
            let up = Vector3::from_column_slice(x[2]);
            Matrix4::look_at_rh(&point(x[0]), &point(x[1]), &up).as_slice().to_vec()
        };
        let script = "Matrix4@C::look_at(a, b, c)";
        Case { script, values: &vectors, reference: &reference, most: 4096.0 }.check();
        let numbers: Vec<Value> = (0..3).map(|_| value(&mut random, Form::Scalar)).collect();
        let reference = |x: &[&[f64]]| {
            let [a, b, c] = [0, 1, 2].map(|i| x[i][0].abs() + 0.25);
            Matrix4::new_perspective(b, a, c, c + 1.0).as_slice().to_vec()
        };
        let script =
            "Matrix4@C::perspective(abs(a) + 0.25, abs(c) + 0.25, abs(c) + 1.25, abs(b) + 0.25)";
        Case { script, values: &numbers, reference: &reference, most: 64.0 }.check();
        let reference = |x: &[&[f64]]| {
            let [a, b, c] = [0, 1, 2].map(|i| x[i][0].abs() + 0.25);
            Matrix4::new_orthographic(-a, b, -c, a, b, b + c).as_slice().to_vec()
        };
        let script = "{ let l = abs(a) + 0.25; let r = abs(b) + 0.25; let t = abs(c) + 0.25;
            Matrix4@C::ortho(-l, r, -t, l, r, r + t) }";
        Case { script, values: &numbers, reference: &reference, most: 64.0 }.check();
    });
}
