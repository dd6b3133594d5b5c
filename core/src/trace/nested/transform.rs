//! Transformations of homogeneous coordinates as matrices; they apply to columns, `m * p`.

use super::entries::{cross, divided, dot, norm, real};
use super::matrix::{Minors, diagonal, polar, transpose};
use super::quaternion::{Quaternion as Q, from_matrix};
use super::row::Form::{Matrix, Quaternion, Scalar, Vector};
use super::row::{NestedFunction, nested_functions};
use crate::ir::op::Class;
use crate::trace::expr::Expr;

nested_functions! { $ transform_rows;
    /// Translation in the plane.
    ///
    /// >> Matrix3fC::translate([5, 6])
    /// [[[1, 0, 5], [0, 1, 6], [0, 0, 1]]]
    "Matrix::translate" (Vector(2)) -> (Matrix(3)), Float = |v, _| translation(v);
    /// Translation in space.
    ///
    /// >> Matrix4fC::translate([1, 2, 3]) * Vector4fC(0, 0, 0, 1)
    /// [[1, 2, 3, 1]]
    "Matrix::translate" (Vector(3)) -> (Matrix(4)), Float = |v, _| translation(v);
    /// Scaling along the axes of the plane.
    ///
    /// >> Matrix3fC::scale([2, 3])
    /// [[[2, 0, 0], [0, 3, 0], [0, 0, 1]]]
    "Matrix::scale" (Vector(2)) -> (Matrix(3)), Float = |v, _| scaling(v);
    /// Scaling along the axes of space.
    ///
    /// >> Matrix4fC::scale([2, 3, 4]) * Vector4fC(1, 1, 1, 1)
    /// [[2, 3, 4, 1]]
    "Matrix::scale" (Vector(3)) -> (Matrix(4)), Float = |v, _| scaling(v);
    /// Rotation of the plane by an angle in radians.
    ///
    /// >> Matrix3fC::rotate(pi / 6) * Vector3fC(1, 0, 0)
    /// [[0.866025, 0.5, 0]]
    "Matrix::rotate" (Scalar) -> (Matrix(3)), Float = |x, _| {
        let (sine, cosine) = (real::sin(x[0]), real::cos(x[0]));
        homogeneous(&[cosine, sine, -sine, cosine], None)
    };
    /// Rotation of space about a unit axis by an angle in radians.
    ///
    /// >> Matrix4fC::rotate([0, 0, 1], pi / 6) * Vector4fC(1, 0, 0, 0)
    /// [[0.866025, 0.5, 0, 0]]
    "Matrix::rotate" (Vector(3), Scalar) -> (Matrix(4)), Float = |x, _| rotation(&x[..3], x[3]);
    /// View from `origin` to `target`, with `up` upwards: from the world to a camera that looks along -z.
    ///
    /// >> Matrix4fC::look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]) * Vector4fC(0, 0, 0, 1)
    /// [[0, 0, -5, 1]]
    "Matrix::look_at" (Vector(3), Vector(3), Vector(3)) -> (Matrix(4)), Float = |x, _| {
        look_at(&x[..3], &x[3..6], &x[6..])
    };
    /// Perspective projection by vertical angle of view, near and far plane, and width by height.
    ///
    /// >> Matrix4fC::perspective(pi / 2, 1, 3, 1) * Vector4fC(1, 1, -1, 1)
    /// [[1, 1, -1, 1]]
    "Matrix::perspective" (Scalar, Scalar, Scalar, Scalar) -> (Matrix(4)), Float = |x, _| {
        let &[fov, near, far, aspect] = x else { panic!("internal error: four numbers expected") };
        let half = fov * fov.constant(0.5);
        let cotangent = real::cos(half) / real::sin(half);
        let depth = near - far;
        let middle = (near + far) / depth;
        let mut m = diagonal(&[cotangent / aspect, cotangent, middle, fov.constant(0)], 4);
        m[11] = fov.constant(-1);
        m[14] = fov.constant(2) * near * far / depth;
        m
    };
    /// Perspective projection of the space between left, right, bottom, top, near and far.
    ///
    /// >> Matrix4fC::frustum(-1, 1, -1, 1, 1, 3) * Vector4fC(1, 1, -1, 1)
    /// [[1, 1, -1, 1]]
    "Matrix::frustum" (Scalar, Scalar, Scalar, Scalar, Scalar, Scalar) -> (Matrix(4)), Float = |x, _| {
        let (sum, difference, near, far) = bounds(x);
        let twice = near + near;
        let zero = near.constant(0);
        let scale = [twice / difference[0], twice / difference[1], -(sum[2] / difference[2]), zero];
        let mut m = diagonal(&scale, 4);
        m[8] = sum[0] / difference[0];
        m[9] = sum[1] / difference[1];
        m[11] = near.constant(-1);
        m[14] = -(twice * far / difference[2]);
        m
    };
    /// Parallel projection of the space between left, right, bottom, top, near and far.
    ///
    /// >> Matrix4fC::ortho(-1, 1, -1, 1, 1, 3) * Vector4fC(1, 1, -1, 1)
    /// [[1, 1, -1, 1]]
    "Matrix::ortho" (Scalar, Scalar, Scalar, Scalar, Scalar, Scalar) -> (Matrix(4)), Float = |x, _| {
        let (sum, difference, near, _) = bounds(x);
        let two = near.constant(2);
        let scale = [two / difference[0], two / difference[1], -(two / difference[2]), near.constant(1)];
        let mut m = diagonal(&scale, 4);
        for i in 0..3 {
            m[12 + i] = -(sum[i] / difference[i]);
        }
        m
    };
    /// `[scale, rotation, translation]` of a transformation: a symmetric matrix of three rows, a unit quaternion
    /// and a vector, by the polar decomposition.
    ///
    /// >> transform_decompose(Matrix4fC::translate([1, 2, 3]) * Matrix4fC::scale([2, 2, 4]))
    /// [[[[2, 0, 0], [0, 2, 0], [0, 0, 4]]], [1 + 0i + 0j + 0k], [[1, 2, 3]]]
    "transform_decompose" (Matrix(4)) -> (Matrix(3), Quaternion, Vector(3)), Float = |x, _| decompose(x);
    /// The transformation that scales by a symmetric matrix, turns by a unit quaternion and then translates.
    ///
    /// >> transform_compose(Matrix3fC(2), Quaternion4fC(1), Vector3fC(1, 2, 3))
    /// [[[2, 0, 0, 1], [0, 2, 0, 2], [0, 0, 2, 3], [0, 0, 0, 1]]]
    transform_compose (Matrix(3), Quaternion, Vector(3)) -> (Matrix(4)), Float = |x, _| {
        let linear = super::matrix::product(&Q::of(&x[9..13]).matrix(), &x[..9], 3);
        homogeneous(&linear, Some(&x[13..]))
    };
}
pub(crate) use transform_rows;

/// A linear map in one more dimension, followed by a translation.
pub(super) fn homogeneous<'r>(
    linear: &[Expr<'r>],
    translation: Option<&[Expr<'r>]>,
) -> Vec<Expr<'r>> {
    let n = if linear.len() == 4 { 2 } else { 3 };
    let (zero, one) = (linear[0].constant(0), linear[0].constant(1));
    let mut m = Vec::with_capacity((n + 1) * (n + 1));
    for column in linear.chunks(n) {
        m.extend_from_slice(column);
        m.push(zero);
    }
    match translation {
        Some(translation) => m.extend_from_slice(translation),
        None => m.extend(vec![zero; n]),
    }
    m.push(one);
    m
}

fn translation<'r>(v: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let ones = vec![v[0].constant(1); v.len()];
    homogeneous(&diagonal(&ones, v.len()), Some(v))
}

fn scaling<'r>(v: &[Expr<'r>]) -> Vec<Expr<'r>> {
    homogeneous(&diagonal(v, v.len()), None)
}

/// Rodrigues' formula.
fn rotation<'r>(axis: &[Expr<'r>], angle: Expr<'r>) -> Vec<Expr<'r>> {
    let (sine, cosine) = (real::sin(angle), real::cos(angle));
    let rest = cosine.constant(1) - cosine;
    let mut linear = Vec::with_capacity(9);
    for j in 0..3 {
        for i in 0..3 {
            let outer = axis[i] * axis[j] * rest;
            linear.push(match (3 + i - j) % 3 {
                0 => outer + cosine,
                1 => outer + axis[3 - i - j] * sine,
                _ => outer - axis[3 - i - j] * sine,
            });
        }
    }
    homogeneous(&linear, None)
}

fn look_at<'r>(origin: &[Expr<'r>], target: &[Expr<'r>], up: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let unit = |v: Vec<Expr<'r>>| divided(&v, norm(&v));
    let back = unit((0..3).map(|i| origin[i] - target[i]).collect());
    let right = unit(cross(up, &back));
    let up = cross(&back, &right);
    let axes = [right, up, back];
    let shift: Vec<Expr<'r>> = axes.iter().map(|axis| -dot(axis, origin)).collect();
    homogeneous(&transpose(&axes.concat(), 3), Some(&shift))
}

/// Sums and differences of left and right, bottom and top, near and far; then near and far.
fn bounds<'r>(x: &[Expr<'r>]) -> ([Expr<'r>; 3], [Expr<'r>; 3], Expr<'r>, Expr<'r>) {
    let sum = [0, 2, 4].map(|i| x[i + 1] + x[i]);
    let difference = [0, 2, 4].map(|i| x[i + 1] - x[i]);
    (sum, difference, x[4], x[5])
}

fn decompose<'r>(x: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let linear: Vec<Expr<'r>> =
        x.chunks(4).take(3).flat_map(|column| &column[..3]).copied().collect();
    let both = polar(&linear, 3);
    let (q, p) = both.split_at(9);
    // A reflection belongs to the scaling, not to the rotation.
    let mirrored = Minors::new(q, 3).determinant.lt(q[0].constant(0));
    let turned = |x: Expr<'r>| mirrored.select(-x, x);
    let q: Vec<Expr<'r>> = q.iter().map(|&entry| turned(entry)).collect();
    let mut parts: Vec<Expr<'r>> = p.iter().map(|&entry| turned(entry)).collect();
    parts.extend(from_matrix(|i, j| q[j * 3 + i]).parts());
    parts.extend_from_slice(&x[12..15]);
    parts
}
