//! Laws of places in nested values: reading and writing components and lanes, one at a time or several at once.

use porcini_core::value::Form::{Complex, Matrix, Quaternion, Vector};

use super::Bound::{Bits, Near};
use super::Group;

/// Components, lanes, and control flow over both.
pub const GROUPS: &[Group] = &[
    Group {
        name: "components",
        given: &[("v", &[Vector(4)]), ("w", &[Vector(4)]), ("q", &[Quaternion]), ("c", &[Vector(3), Complex]), ("m", &[Matrix(3)]), ("x", &[])],
        before: "let change = |t, f| { let t = copy(t); f.call(t) }",
        laws: &[
            ("[v.x, v.y, v.z, v.w]", "[v[0], v[1], v[2], v[3]]", Bits),
            ("[v[-1], v[-4], c[-2]]", "[v[3], v[0], c[1]]", Bits),
            ("[v.zx, v.wwyx]", "[Vector2C(v[2], v[0]), Vector4C(v[3], v[3], v[1], v[0])]", Bits),
            ("q.wy", "Vector2C(q[3], q[1])", Bits),
            ("c.zzx", "Vector3C(c[2], c[2], c[0])", Bits),
            ("[v.head(3), v.tail(2)]", "[v.xyz, v.zw]", Bits),
            ("[v[0..2], v[-2..], v[1..=2], v[range(3, -1, -2)], c[1..]]", "[v.xy, v.zw, v.yz, v.wy, c.yz]", Bits),
            ("change.call(v, |t| { t[1..3] = w.xy; t[3..] = x; t })", "Vector4C(v.x, w.x, w.y, x)", Bits),
            ("[concat(v.xy, w.z), concat(v.xy, w.zw)]", "[v.x, v.y, w.z, v.x, v.y, w.z, w.w]", Bits),
            ("change.call(v, |t| { t.xz = w.yw; t })", "Vector4C(w.y, v.y, w.w, v.w)", Bits),
            ("change.call(v, |t| { t.wy = x; t })", "Vector4C(v.x, x, v.z, x)", Bits),
            ("change.call(v, |t| { t[-2] = x; t })", "Vector4C(v.x, v.y, x, v.w)", Bits),
            ("change.call(q, |t| { t.z = x; t })", "Quaternion4C(q.x, q.y, x, q.w)", Bits),
            ("change.call(c, |t| { t[1] = c[0]; t })", "Vector3C(c[0], c[0], c[2])", Bits),
            ("change.call(m, |t| { t[[0, 2]] = x; t })", "Matrix3C(m[0].x, m[1].x, x, m[0].y, m[1].y, m[2].y, m[0].z, m[1].z, m[2].z)", Bits),
            ("change.call(m, |t| { t[1] = v.xyz; t }).T", "Matrix3C(m[0].x, m[0].y, m[0].z, v.x, v.y, v.z, m[2].x, m[2].y, m[2].z)", Bits),
            ("[m.row(1), m.col(2), m[[2, 0]]]", "[m[0].y, m[1].y, m[2].y, m[2], m[0].z]", Bits),
            ("Vector4dC(v)", "Vector4dC(Float64C(v.x), Float64C(v.y), Float64C(v.z), Float64C(v.w))", Bits),
            ("Vector4iC(v)", "Vector4iC(Int32C(v.x), Int32C(v.y), Int32C(v.z), Int32C(v.w))", Bits),
            ("[Vector2C(c[0]), Vector4C(q)]", "[real(c[0]), imag(c[0]), q.x, q.y, q.z, q.w]", Bits),
            ("[Complex2dC(c[0]), Quaternion4dC(q)]", "[Float64C(real(c[0])), Float64C(imag(c[0])), Vector4dC(q)]", Bits),
        ],
    },
    Group {
        name: "lanes",
        given: &[("v", &[Vector(3)]), ("w", &[Vector(3)]), ("c", &[Vector(2), Complex]), ("d", &[Vector(2), Complex]), ("z", &[Complex]), ("x", &[])],
        before: "m = x < 0; k = v < w; i = (UInt32C::arange(len(x)) * 7 + 3) % len(x); j = idiv(i, 2); few = i < 9;
            let change = |t, f| { let t = copy(t); f.call(t) }",
        laws: &[
            ("ravel(v)[range(1, 3 * len(x), 3)]", "v.y", Bits),
            ("ravel(c)[range(1, 4 * len(x), 4)]", "real(c[1])", Bits),
            ("Vector3dC::unravel(ravel(v))", "Vector3dC(v)", Bits),
            ("v[m]", "Vector3C(select(m, v.x, 0), select(m, v.y, 0), select(m, v.z, 0))", Bits),
            ("v[k]", "Vector3C(select(k.x, v.x, 0), select(k.y, v.y, 0), select(k.z, v.z, 0))", Bits),
            ("z[m]", "Complex2C(select(m, real(z), 0), select(m, imag(z), 0))", Bits),
            ("c[m]", "Vector2C(c[0][m], c[1][m])", Bits),
            ("change.call(v, |t| { t[m] = w; t })", "select(m, w, v)", Bits),
            ("change.call(v, |t| { t[k] = x; t })", "select(k, x, v)", Bits),
            ("change.call(c, |t| { t[m] = d; t })", "Vector2C(select(m, d[0], c[0]), select(m, d[1], c[1]))", Bits),
            ("select(k, v, w)", "Vector3C(select(k.x, v.x, w.x), select(k.y, v.y, w.y), select(k.z, v.z, w.z))", Bits),
            ("select(m, c, z)", "Vector2C(select(m, c[0], z), select(m, c[1], z))", Bits),
            ("gather(v, i)", "Vector3C(gather(v.x, i), gather(v.y, i), gather(v.z, i))", Bits),
            ("gather(v, i, few)", "Vector3C(gather(v.x, i, few), gather(v.y, i, few), gather(v.z, i, few))", Bits),
            ("gather(c, i)", "Vector2C(gather(c[0], i), gather(c[1], i))", Bits),
            ("gather(z, i)", "Complex2C(gather(real(z), i), gather(imag(z), i))", Bits),
            ("change.call(v, |t| { scatter(t, w, i); t })", "Vector3C(change.call(v.x, |t| { scatter(t, w.x, i); t }), change.call(v.y, |t| { scatter(t, w.y, i); t }), change.call(v.z, |t| { scatter(t, w.z, i); t }))", Bits),
            ("change.call(z, |t| { scatter_add(t, z, j, few); t })", "Complex2C(change.call(real(z), |t| { scatter_add(t, real(z), j, few); t }), change.call(imag(z), |t| { scatter_add(t, imag(z), j, few); t }))", Bits),
            ("change.call(z, |t| { scatter_add(t, x, j); t })", "Complex2C(change.call(real(z), |t| { scatter_add(t, x, j); t }), imag(z))", Bits),
            ("change.call(v, |t| { scatter_max(t, x, j); t }).y", "change.call(v.y, |t| { scatter_max(t, x, j); t })", Bits),
            ("change.call(v, |t| { scatter_min(t, w, j); t }).z", "change.call(v.z, |t| { scatter_min(t, w.z, j); t })", Bits),
            ("change.call(c, |t| { scatter(t, d, i); t })[1]", "change.call(c[1], |t| { scatter(t, d[1], i); t })", Bits),
            ("PCG32C(7, 3).shuffle(v)", "Vector3C(PCG32C(7, 3).shuffle(v.x), PCG32C(7, 3).shuffle(v.y), PCG32C(7, 3).shuffle(v.z))", Bits),
            ("PCG32C(7, 3).shuffle(c)[1]", "Complex2C(PCG32C(7, 3).shuffle(real(c[1])), PCG32C(7, 3).shuffle(imag(c[1])))", Bits),
            ("if_then(m, [v], |s| [s + w], |s| [s * x])[0]", "select(m, v + w, v * x)", Bits),
            ("dispatch(i % 3, [|s| [s + z], |s| [s * z]], [z])[0]", "select(i % 3 == 0, z + z, select(i % 3 == 1, z * z, z - z))", Near(0.0)),
            ("while_loop([v, i * 0], |s, k| k < (i & 3), |s, k| [s + w, k + 1])[0]", "{ let s = v; for k in 0..3 { s = select((i & 3) > k, s + w, s); } s }", Bits),
            ("while_loop([z, i * 0], |s, k| k < (i & 3), |s, k| [s * z, k + 1])[0]", "{ let s = z; for k in 0..3 { s = select((i & 3) > k, s * z, s); } s }", Bits),
        ],
    },
];
