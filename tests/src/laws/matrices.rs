//! Laws of matrices, of numbers and of complex numbers.

use porcini_core::value::Form::{Complex, Matrix, Vector};

use super::Bound::{Bits, Near, Within};
use super::{Group, Law};

const PARTS: &[Law] = &[
    ("transpose(transpose(m))", "m", Bits),
    ("m.T", "transpose(m)", Bits),
    ("[m.row(1), m.col(0)]", "[transpose(m).col(1), transpose(m).row(0)]", Bits),
    ("[transpose(m)[[0, 1]], m[1]]", "[m[[1, 0]], m.col(1)]", Bits),
    ("(m * v)[1]", "dot(m.row(1), v)", Bits),
    ("(m * k).col(1)", "m * k.col(1)", Bits),
    ("transpose(m * k)", "transpose(k) * transpose(m)", Near(8.0)),
    ("(m * x)[[0, 1]]", "m[[0, 1]] * x", Bits),
    ("x * m", "m * x", Bits),
    ("(m / x)[[1, 0]]", "m[[1, 0]] / x", Bits),
    ("diag(m + x)", "diag(m) + x", Bits),
    ("diag(m - x)", "diag(m) - x", Bits),
    ("[(m + x)[[0, 1]], (m - x)[[1, 0]]]", "[m[[0, 1]], m[[1, 0]]]", Bits),
    ("[x + m, x - m]", "[m + x, (-m) + x]", Bits),
    ("diag(diag(v))", "v", Bits),
    ("diag(v)[[0, 1]]", "v[0] - v[0]", Near(0.0)),
    ("mul_elem(m, k)[[0, 1]]", "m[[0, 1]] * k[[0, 1]]", Bits),
    ("mul_elem(m, k).col(1)", "m.col(1) * k.col(1)", Bits),
    ("(m + k).col(1)", "m.col(1) + k.col(1)", Bits),
    ("trace(m)", "hsum(diag(m))", Bits),
    ("sqr(m)", "m * m", Bits),
    ("[m ** 2, m ** 3]", "[m * m, m * (m * m)]", Bits),
    ("m ** -2", "inverse(m * m)", Bits),
    ("m ** 0", "diag(v * 0 + 1)", Near(0.0)),
    ("[determinant(m), rcp(m)]", "[det(m), inverse(m)]", Bits),
    ("inverse(m)", "transpose(inverse_transpose(m))", Bits),
    ("fma(m, k, k)", "m * k + k", Bits),
    ("fmsub(m, k, m)", "m * k - m", Bits),
    ("lerp(m, k, x)", "x * (k - m) + m", Bits),
];

/// A diagonal that outweighs the rest, so that nothing is near to singular.
const TAME: &str = "m = m / 64 + 2; k = k / 64 - 3; l = l / 16; one = diag(v * 0 + 1);
    d = v / 16 + 2; q = polar_decomp(m)[0]; p = polar_decomp(m)[1]";

const ALGEBRA: &[Law] = &[
    ("(m * k) * l", "m * (k * l)", Near(64.0)),
    ("(m * k) * v", "m * (k * v)", Near(64.0)),
    ("m * (k + l)", "m * k + m * l", Near(32.0)),
    ("m * one", "m", Near(0.0)),
    ("inverse(m) * m", "one", Near(64.0)),
    ("m * inverse(m)", "one", Near(64.0)),
    ("inverse(m * k)", "inverse(k) * inverse(m)", Near(64.0)),
    ("inverse(inverse(m))", "m", Near(64.0)),
    ("inverse(diag(d))", "diag(1 / d)", Near(8.0)),
    ("det(diag(d))", "hprod(d)", Near(8.0)),
    ("det(m * k)", "det(m) * det(k)", Near(64.0)),
    ("det(transpose(m))", "det(m)", Near(16.0)),
    ("det(inverse(m)) * det(m)", "det(one)", Near(64.0)),
    ("trace(m * k)", "trace(k * m)", Near(32.0)),
    ("q * p", "m", Near(64.0)),
];

const REAL: &[Law] = &[
    ("frob(m)", "trace(transpose(m) * m)", Near(16.0)),
    ("transpose(q) * q", "one", Near(32.0)),
    ("p", "transpose(p)", Near(64.0)),
    ("dot(m * v, d)", "dot(v, transpose(m) * d)", Within(64.0, "norm(m * v) * norm(d)")),
];

const HERMITIAN: &[Law] = &[
    ("frob(m)", "squared_norm(m[0]) + squared_norm(m[1])", Near(16.0)),
    ("adjoint.call(q) * q", "one", Near(64.0)),
    ("p", "adjoint.call(p)", Near(64.0)),
];

macro_rules! given {
    ($n:literal $($inner:ident)?) => {
        &[
            ("m", &[Matrix($n) $(, $inner)?]),
            ("k", &[Matrix($n) $(, $inner)?]),
            ("l", &[Matrix($n) $(, $inner)?]),
            ("v", &[Vector($n) $(, $inner)?]),
            ("x", &[]),
        ]
    };
}

/// Of two to four rows.
pub const GROUPS: &[Group] = &[
    Group { name: "matrices of two, by parts", given: given!(2), before: "", laws: PARTS },
    Group { name: "matrices of three, by parts", given: given!(3), before: "", laws: PARTS },
    Group { name: "matrices of four, by parts", given: given!(4), before: "", laws: PARTS },
    Group { name: "complex matrices, by parts", given: given!(2 Complex), before: "", laws: PARTS },
    Group { name: "matrices of two", given: given!(2), before: TAME, laws: ALGEBRA },
    Group { name: "matrices of three", given: given!(3), before: TAME, laws: ALGEBRA },
    Group { name: "matrices of four", given: given!(4), before: TAME, laws: ALGEBRA },
    Group { name: "complex matrices of two", given: given!(2 Complex), before: TAME, laws: ALGEBRA },
    Group { name: "complex matrices of three", given: given!(3 Complex), before: TAME, laws: ALGEBRA },
    Group { name: "real matrices", given: given!(3), before: TAME, laws: REAL },
    Group {
        name: "unitary and Hermitian factors",
        given: given!(2 Complex),
        before: "m = m / 64 + 2; one = diag(v * 0 + 1); q = polar_decomp(m)[0]; p = polar_decomp(m)[1];
            adjoint = |m| Matrix2C(conj(m[[0, 0]]), conj(m[[1, 0]]), conj(m[[0, 1]]), conj(m[[1, 1]]))",
        laws: HERMITIAN,
    },
    Group {
        name: "the determinant's entries",
        given: &[("m", &[Matrix(2)]), ("c", &[Matrix(2), Complex]), ("k", &[Matrix(3)])],
        before: "",
        laws: &[
            ("det(m)", "m[[0, 0]] * m[[1, 1]] - m[[1, 0]] * m[[0, 1]]", Bits),
            ("det(c)", "c[[0, 0]] * c[[1, 1]] - c[[1, 0]] * c[[0, 1]]", Bits),
            ("det(k)", "dot(k[0], cross(k[1], k[2]))", Bits),
            ("frob(k)", "squared_norm(k[0]) + squared_norm(k[1]) + squared_norm(k[2])", Near(8.0)),
        ],
    },
];
