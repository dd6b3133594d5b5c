//! Laws of vectors: their products and lengths, what folds their components, and what is made of directions.

use porcini_core::value::Form::{Complex, Vector};

use super::Bound::{Bits, Near, Within};
use super::Group;

/// Vectors of numbers, of complex numbers, of vectors; spherical harmonics; Morton codes are in `levels`.
pub const GROUPS: &[Group] = &[
    Group {
        name: "vectors of two",
        given: &[("a", &[Vector(2)]), ("b", &[Vector(2)])],
        before: "m = a < b",
        laws: &[
            ("dot(a, b)", "a.x * b.x + a.y * b.y", Bits),
            ("hsum(a)", "a.x + a.y", Bits),
            ("[any(m), all(m), none(m)]", "[m.x | m.y, m.x & m.y, not(m.x | m.y)]", Bits),
        ],
    },
    Group {
        name: "vectors of three",
        given: &[("a", &[Vector(3)]), ("b", &[Vector(3)]), ("c", &[Vector(3)]), ("x", &[])],
        before: "m = a < b",
        laws: &[
            ("dot(a, b)", "a.x * b.x + a.y * b.y + a.z * b.z", Bits),
            ("abs_dot(a, b)", "abs(dot(a, b))", Bits),
            ("[squared_norm(a), norm(a)]", "[dot(a, a), sqrt(dot(a, a))]", Bits),
            ("normalize(a)", "a / norm(a)", Bits),
            ("cross(a, b)", "a.yzx * b.zxy - a.zxy * b.yzx", Bits),
            ("[hsum(a), hprod(a)]", "[a.x + a.y + a.z, a.x * a.y * a.z]", Bits),
            ("[hmin(a), hmax(a)]", "[min(min(a.x, a.y), a.z), max(max(a.x, a.y), a.z)]", Bits),
            ("[hmean(a), psum(a)]", "[hsum(a) / 3, a.x, a.x + a.y, a.x + a.y + a.z]", Bits),
            ("[any(m), all(m)]", "[m.x | m.y | m.z, m.x & m.y & m.z]", Bits),
            ("none(m)", "not(any(m))", Bits),
            ("count(m)", "UInt32C(m.x) + UInt32C(m.y) + UInt32C(m.z)", Bits),
            ("hsum_nested(a)", "hsum(hsum(a))", Bits),
            ("hprod_nested(a)", "hprod(hprod(a))", Bits),
            ("[hmin_nested(a), hmax_nested(a)]", "[hmin(hmin(a)), hmax(hmax(a))]", Bits),
            ("hmean_nested(a)", "hmean(hmean(a))", Bits),
            ("sin(a)", "Vector3C(sin(a.x), sin(a.y), sin(a.z))", Bits),
            ("[a ** 2, a ** 7]", "[a * a, a * (a * a) * ((a * a) * (a * a))]", Bits),
            ("a ** -3", "rcp(a * (a * a))", Bits),
            ("sincos(a)", "[sin(a), cos(a)]", Bits),
            ("frexp(a)[0] * exp2(frexp(a)[1])", "a", Near(0.0)),
        ],
    },
    Group {
        name: "vectors of four",
        given: &[("a", &[Vector(4)]), ("b", &[Vector(4)])],
        before: "",
        laws: &[
            ("dot(a, b)", "a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w", Bits),
            ("norm(a)", "sqrt(a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w)", Bits),
            ("hprod(a)", "a.x * a.y * a.z * a.w", Bits),
            ("psum(a)", "Vector4C(a.x, hsum(a.xy), hsum(a.xyz), hsum(a))", Bits),
        ],
    },
    Group {
        name: "geometry",
        given: &[("a", &[Vector(3)]), ("b", &[Vector(3)]), ("c", &[Vector(3)]), ("x", &[])],
        before: "zero = x * 0; n = normalize(a + 0.0625); l = normalize(b + 0.0625); f = coordinate_system(n);
            s = f[0]; t = f[1]",
        laws: &[
            ("cross(a, b)", "-cross(b, a)", Near(0.0)),
            ("dot(cross(a, b), a)", "zero", Within(16.0, "norm(a) * norm(a) * norm(b)")),
            (
                "squared_norm(cross(a, b)) + sqr(dot(a, b))",
                "squared_norm(a) * squared_norm(b)",
                Near(16.0),
            ),
            (
                "cross(a, cross(b, c))",
                "b * dot(a, c) - c * dot(a, b)",
                Within(16.0, "norm(a) * norm(b) * norm(c)"),
            ),
            ("norm(n)", "zero + 1", Near(4.0)),
            ("[norm(s), norm(t)]", "[zero + 1, zero + 1]", Near(8.0)),
            ("cross(s, t)", "n", Within(16.0, "zero + 1")),
            // The addition theorem of spherical harmonics, with Legendre's polynomials.
            ("sh_eval(n, 0)[0] * sqrt(4 * pi)", "zero + 1", Near(4.0)),
            (
                "sh_eval(n, 1)[1] * sqrt(4 * pi / 3)", "-n.y", Within(8.0, "zero + 1"),
            ),
            (
                "[sh_eval(n, 1)[2] * sqrt(4 * pi / 3), sh_eval(n, 1)[3] * sqrt(4 * pi / 3)]",
                "[n.z, -n.x]",
                Within(8.0, "zero + 1"),
            ),
            (
                "{ let y = sh_eval(n, 9); let z = sh_eval(l, 9); let sums = [];
                   for d in 0..10 { let sum = zero; for k in (d * d)..((d + 1) * (d + 1)) { sum += y[k] * z[k]; }
                   sums.push(sum * (4 * pi / (2 * d + 1))); } sums }",
                "{ let c = dot(n, l); let p = [zero + 1, c];
                   for d in 2..10 { p.push((c * p[d - 1] * (2 * d - 1) - p[d - 2] * (d - 1)) / d); } p }",
                Within(64.0, "zero + 1"),
            ),
        ],
    },
    Group {
        name: "vectors of complex numbers",
        given: &[("a", &[Vector(3), Complex]), ("b", &[Vector(3), Complex]), ("z", &[Complex])],
        before: "",
        laws: &[
            ("dot(a, b)", "a.x * b.x + a.y * b.y + a.z * b.z", Bits),
            ("abs_dot(a, b)", "abs(dot(a, b))", Bits),
            ("cross(a, b).x", "a.y * b.z - a.z * b.y", Bits),
            ("cross(a, b).y", "a.z * b.x - a.x * b.z", Bits),
            ("cross(a, b).z", "a.x * b.y - a.y * b.x", Bits),
            ("hsum(a)", "a.x + a.y + a.z", Bits),
            (
                "squared_norm(a)",
                "squared_norm(a.x) + squared_norm(a.y) + squared_norm(a.z)",
                Near(4.0),
            ),
            ("norm(a)", "sqrt(squared_norm(a))", Bits),
            ("normalize(a)", "a / norm(a)", Bits),
        ],
    },
    Group {
        name: "vectors of vectors",
        given: &[("a", &[Vector(2), Vector(3)]), ("b", &[Vector(2), Vector(3)])],
        before: "m = a < b",
        laws: &[
            ("dot(a, b)", "a.x * b.x + a.y * b.y", Bits),
            ("norm(a)", "sqrt(a.x * a.x + a.y * a.y)", Bits),
            ("[hsum(a), hprod(a)]", "[a.x + a.y, a.x * a.y]", Bits),
            ("[any(m), all(m)]", "[m.x | m.y, m.x & m.y]", Bits),
            ("hsum_nested(a)", "hsum(hsum(hsum(a)))", Bits),
            ("a.x * b", "Vector2C(a.x * b.x, a.x * b.y)", Bits),
        ],
    },
];
