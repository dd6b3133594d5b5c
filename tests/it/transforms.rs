//! Transforms of homogeneous coordinates by what they do to points, not by their formulas.

use porcini_core::value::Form;
use porcini_core::{Array, Session};
use porcini_tests::entries::call;

type Point = [f64; 3];

/// Most error of a coordinate, relative to the numbers that it is made of.
const MOST: f64 = 1e-12;

/// Parameters of eight transforms that are not special in any way.
fn parameters<const N: usize>() -> Vec<[f64; N]> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f64::from(u32::try_from(state >> 32).unwrap()) / f64::from(u32::MAX)
    };
    (0..8).map(|_| std::array::from_fn(|_| 0.25 + next())).collect()
}

/// The matrix `name(arguments)`, its columns one after the other.
fn matrix(name: &str, arguments: &[(Form, &[f64])]) -> Vec<f64> {
    let session = Session::new().unwrap();
    let arrays: Vec<(Form, Vec<Array>)> = arguments
        .iter()
        .map(|(form, numbers)| {
            (*form, numbers.iter().map(|&number| session.array(&[number]).unwrap()).collect())
        })
        .collect();
    let arguments: Vec<(Form, &[Array])> =
        arrays.iter().map(|(form, arrays)| (*form, arrays.as_slice())).collect();
    let entries = call(name, &arguments).unwrap();
    entries.iter().map(|entry| entry.to_vec::<f64>().unwrap()[0]).collect()
}

/// Where a matrix of four rows takes a point.
fn image(m: &[f64], p: Point) -> Point {
    let row = |i: usize| m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
    [0, 1, 2].map(|i| row(i) / row(3))
}

fn assert_near(got: Point, want: Point, what: &str) {
    let near = |(got, want): (&f64, &f64)| (got - want).abs() <= MOST * want.abs().max(1.0);
    assert!(got.iter().zip(&want).all(near), "{what}: {got:?}, not {want:?}");
}

fn cross(a: Point, b: Point) -> Point {
    [0, 1, 2].map(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
}

fn dot(a: Point, b: Point) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn unit(a: Point) -> Point {
    a.map(|x| x / dot(a, a).sqrt())
}

/// The corners of the space that a camera sees, each with where it lies in the cube from -1 to 1.
/// `bounds` are left, right, bottom and top of the near plane, `spread` what the far plane multiplies them by.
fn corners(bounds: [f64; 4], [near, far]: [f64; 2], spread: f64) -> Vec<(Point, Point)> {
    let corner = |bits: usize| {
        let [x, y, z] = [0, 1, 2].map(|axis| bits >> axis & 1);
        let (scale, depth) = [(1.0, near), (spread, far)][z];
        let side = |bit: usize| [-1.0, 1.0][bit];
        ([bounds[x] * scale, bounds[2 + y] * scale, -depth], [side(x), side(y), side(z)])
    };
    (0..8).map(corner).collect()
}

#[test]
fn what_a_camera_sees_fills_the_cube() {
    for [a, b, c, d, near, depth] in parameters() {
        let far = near + depth;
        let check = |name: &str, arguments: &[f64], corners: Vec<(Point, Point)>| {
            let arguments: Vec<_> = arguments.chunks(1).map(|x| (Form::Scalar, x)).collect();
            let m = matrix(name, &arguments);
            for (corner, want) in corners {
                assert_near(image(&m, corner), want, name);
            }
        };
        let planes = [-a, b, -c, d];
        let six = [-a, b, -c, d, near, far];
        check("Matrix::ortho", &six, corners(planes, [near, far], 1.0));
        check("Matrix::frustum", &six, corners(planes, [near, far], far / near));
        let (angle, aspect) = (a, b);
        let top = near * (angle / 2.0).tan();
        let right = top * aspect;
        check(
            "Matrix::perspective",
            &[angle, near, far, aspect],
            corners([-right, right, -top, top], [near, far], far / near),
        );
    }
}

#[test]
fn a_view_looks_along_the_negative_axis() {
    for x in parameters::<9>() {
        let [origin, target, up] = [0, 3, 6].map(|i| [x[i], x[i + 1] * 2.0, -x[i + 2]]);
        let vector = Form::Vector(3);
        let m = matrix("Matrix::look_at", &[(vector, &origin), (vector, &target), (vector, &up)]);
        let away = [0, 1, 2].map(|i| target[i] - origin[i]);
        let right = unit(cross(away, up));
        let upward = unit(cross(right, away));
        let point = |step: Point| [0, 1, 2].map(|i| origin[i] + step[i]);
        assert_near(image(&m, origin), [0.0; 3], "the origin");
        assert_near(image(&m, target), [0.0, 0.0, -dot(away, away).sqrt()], "the target");
        assert_near(image(&m, point(right)), [1.0, 0.0, 0.0], "to the right");
        assert_near(image(&m, point(upward)), [0.0, 1.0, 0.0], "upwards");
    }
}

#[test]
fn a_rotation_turns_what_is_across_its_axis() {
    for [x, y, z, angle, a, b, c] in parameters() {
        let (axis, p) = (unit([x, -y, z]), [a, b, -c]);
        let m = matrix("Matrix::rotate", &[(Form::Vector(3), &axis), (Form::Scalar, &[angle])]);
        let along = axis.map(|x| x * dot(axis, p));
        let across = [0, 1, 2].map(|i| p[i] - along[i]);
        let turned = cross(axis, across);
        let want = [0, 1, 2].map(|i| along[i] + across[i] * angle.cos() + turned[i] * angle.sin());
        assert_near(image(&m, p), want, "rotate");
    }
}

#[test]
fn moves_and_scales_go_axis_by_axis() {
    for x in parameters::<6>() {
        let (v, p) = ([x[0], x[1], x[2]], [x[3], x[4], x[5]]);
        let by = [(Form::Vector(3), &v[..])];
        let moved = image(&matrix("Matrix::translate", &by), p);
        assert_near(moved, [0, 1, 2].map(|i| p[i] + v[i]), "translate");
        let scaled = image(&matrix("Matrix::scale", &by), p);
        assert_near(scaled, [0, 1, 2].map(|i| p[i] * v[i]), "scale");
    }
}
