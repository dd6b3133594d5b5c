//! Geometry of vectors.

use super::entries::{cross, divided, dot, norm};
use super::row::Form::{Quaternion, Scalar, Vector};
use super::row::{N, NestedFunction, nested_functions};
use crate::ir::op::Class;
use crate::trace::expr::Expr;

nested_functions! { $ vector_rows;
    /// Sum of the products of the components, lane by lane, in order and without fma; of plain arrays the
    /// sum over the lanes.
    ///
    /// >> dot(Vector3fC(1, 2, 3), Vector3fC(4, 5, 6))
    /// [32]
    dot (Vector(N), Vector(N)) -> (Scalar), Number (Rational, lanes []) = |x, n| vec![dot(&x[..n], &x[n..])];
    /// Sum of the products of the components of two quaternions.
    ///
    /// >> dot(Quaternion4fC(1, 2, 3, 4), Quaternion4fC(1, 0, 0, 2))
    /// [9]
    "dot" (Quaternion, Quaternion) -> (Scalar), Number = |x, _| vec![dot(&x[..4], &x[4..])];
    /// Absolute value of `dot(a, b)`, of complex components too; of plain arrays that of the sum over the lanes.
    ///
    /// >> abs_dot(Vector2fC(1, 2), Vector2fC(3, -4))
    /// [5]
    abs_dot (Vector(N), Vector(N)) -> (Scalar), Number (Rational, lanes [Abs]) = |x, n| vec![dot(&x[..n], &x[n..]).abs()];
    /// Absolute value of `dot(a, b)` of two quaternions: the cosine of half the angle between rotations.
    ///
    /// >> abs_dot(Quaternion4fC(1, 2, 3, 4), Quaternion4fC(-1, 0, 0, -2))
    /// [9]
    "abs_dot" (Quaternion, Quaternion) -> (Scalar), Number = |x, _| vec![dot(&x[..4], &x[4..]).abs()];
    /// Squared Euclidean length of a vector, lane by lane, and that of all parts of complex components and
    /// quaternions; of all lanes of a plain array, whose squares have 32 bits at least.
    ///
    /// >> squared_norm(Vector2fC(3, 4))
    /// [25]
    squared_norm (Vector(N)) -> (Scalar), Number (Parts, lanes []) = |x, _| vec![dot(x, x)];
    /// Euclidean length of a vector, `sqrt(squared_norm(v))`, lane by lane, and that of all parts of complex components
    /// and quaternions; of all lanes of a plain array, whose squares are floats of 32 bits at least.
    ///
    /// >> norm(Vector2fC(3, 4))
    /// [5]
    norm (Vector(N)) -> (Scalar), Float (Parts, lanes [Sqrt]) = |x, _| vec![norm(x)];
    /// The vector divided by its length, lane by lane.
    ///
    /// >> normalize(Vector2fC(3, 4))
    /// [[0.6, 0.8]]
    normalize (Vector(N)) -> (Vector(N)), Float (Parts) = |x, _| divided(x, norm(x));
    /// Cross product of two vectors of three components, lane by lane.
    ///
    /// >> cross(Vector3fC(1, 0, 0), Vector3fC(0, 1, 0))
    /// [[0, 0, 1]]
    cross (Vector(3), Vector(3)) -> (Vector(3)), Number (Rational) = |x, _| cross(&x[..3], &x[3..]);
    /// Two unit vectors `[s, t]` that make a right-handed orthonormal basis with the unit vector `n`. Without
    /// branches, after Duff et al., Building an Orthonormal Basis, Revisited (2017).
    ///
    /// >> coordinate_system(Vector3fC(0, 0, 1))
    /// [[[1, -0, -0]], [[-0, 1, -0]]]
    "coordinate_system" (Vector(3)) -> (Vector(3), Vector(3)), Float = |x, _| basis(x);
}
pub(crate) use vector_rows;

fn basis<'r>(n: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let &[x, y, z] = n else { panic!("internal error: three components expected") };
    let one = z.constant(1);
    // The sign of z, that of zeros included.
    let bits = z.reinterpret(z.dtype().unsigned());
    let negative = (bits >> (z.dtype().bits() - 1)).neq(bits.bits(0));
    let sign = negative.select(-one, one);
    let a = -(one / (sign + z));
    let b = x * y * a;
    vec![one + sign * x * x * a, sign * b, -(sign * x), b, sign + y * y * a, -y]
}
