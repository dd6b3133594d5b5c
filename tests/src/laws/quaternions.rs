//! Laws of quaternions, and of the rotations that unit quaternions are.

use porcini_core::value::Form::{Complex, Quaternion, Vector};

use super::Bound::{Bits, Near, Within};
use super::Group;

/// Part by part, as a division algebra, and turning vectors.
pub const GROUPS: &[Group] = &[
    Group {
        name: "quaternions, part by part",
        given: &[("p", &[Quaternion]), ("q", &[Quaternion]), ("r", &[Quaternion]), ("x", &[]), ("y", &[])],
        before: "u = imag(p); v = imag(q)",
        laws: &[
            ("Quaternion4C(v.x, v.y, v.z, real(q))", "q", Bits),
            ("[q.x, q.y, q.z, q.w]", "[q[0], q[1], q[2], q[3]]", Bits),
            ("[v, real(q)]", "[q.xyz, q.w]", Bits),
            ("conj(q)", "Quaternion4C(-q.x, -q.y, -q.z, q.w)", Bits),
            ("conj(conj(q))", "q", Bits),
            ("-q", "Quaternion4C(-q.x, -q.y, -q.z, -q.w)", Bits),
            ("p + q", "Quaternion4C(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w)", Bits),
            ("p - q", "Quaternion4C(p.x - q.x, p.y - q.y, p.z - q.z, p.w - q.w)", Bits),
            ("q + x", "Quaternion4C(q.x, q.y, q.z, q.w + x)", Bits),
            ("x + q", "q + x", Bits),
            ("q - x", "Quaternion4C(q.x, q.y, q.z, q.w - x)", Bits),
            ("x - q", "Quaternion4C(-q.x, -q.y, -q.z, x - q.w)", Bits),
            ("q * x", "Quaternion4C(q.x * x, q.y * x, q.z * x, q.w * x)", Bits),
            ("x * q", "q * x", Bits),
            ("q / x", "Quaternion4C(q.x / x, q.y / x, q.z / x, q.w / x)", Bits),
            ("imag(p * q)", "p.w * v + u * q.w + cross(u, v)", Bits),
            ("real(p * q)", "p.w * q.w - dot(u, v)", Bits),
            ("p / q", "p * rcp(q)", Bits),
            ("rcp(q)", "conj(q) / squared_norm(q)", Bits),
            ("inverse(q)", "rcp(q)", Bits),
            ("rsqrt(q)", "rcp(sqrt(q))", Bits),
            ("sqr(q)", "q * q", Bits),
            ("[q ** 2, q ** 3]", "[q * q, q * (q * q)]", Bits),
            ("q ** -3", "rcp(q * (q * q))", Bits),
            ("q ** 0", "Quaternion4C(x * 0, 0, 0, 1)", Near(0.0)),
            ("dot(p, q)", "p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w", Bits),
            ("abs_dot(p, q)", "abs(dot(p, q))", Bits),
            ("[squared_norm(q), abs(q)]", "[dot(q, q), sqrt(dot(q, q))]", Bits),
            ("[norm(q), normalize(q)]", "[abs(q), q / abs(q)]", Bits),
            ("isnan(q)", "isnan(q.x) | isnan(q.y) | isnan(q.z) | isnan(q.w)", Bits),
            ("isinf(q)", "isinf(q.x) | isinf(q.y) | isinf(q.z) | isinf(q.w)", Bits),
            ("isfinite(q)", "isfinite(q.x) & isfinite(q.y) & isfinite(q.z) & isfinite(q.w)", Bits),
            ("p == q", "Vector4C(p.x == q.x, p.y == q.y, p.z == q.z, p.w == q.w)", Bits),
            ("select(x < y, p, q).zw", "Vector2C(select(x < y, p.z, q.z), select(x < y, p.w, q.w))", Bits),
            ("fma(p, q, r)", "p * q + r", Bits),
            ("fmsub(p, q, x)", "p * q - x", Bits),
            ("fnmadd(p, q, r)", "r - p * q", Bits),
            ("lerp(p, q, x)", "x * (q - p) + p", Bits),
        ],
    },
    Group {
        name: "quaternions as a division algebra",
        given: &[("p", &[Quaternion]), ("q", &[Quaternion]), ("r", &[Quaternion]), ("z", &[Complex]), ("w", &[Complex])],
        // Eighths never make 0 of them.
        before: "q = q / 8 + 0.01; r = r / 16 + 0.02; z = z / 8 + 0.01; z.imag = abs(z.imag) + 0.01;
            w = w / 16 + 0.02; x = real(z); y = imag(z); zero = x * 0; one = Quaternion4C(zero, 0, 0, 1);
            s = Quaternion4C(zero, y, 0, x); t = Quaternion4C(zero, imag(w), 0, real(w))",
        laws: &[
            // What makes them more than four numbers.
            ("Quaternion4C(1, 0, 0, zero) * Quaternion4C(0, 1, 0, zero)", "Quaternion4C(0, 0, 1, zero)", Near(0.0)),
            ("Quaternion4C(0, 1, 0, zero) * Quaternion4C(1, 0, 0, zero)", "Quaternion4C(0, 0, -1, zero)", Near(0.0)),
            ("(p * q) * r", "p * (q * r)", Within(16.0, "abs(p) * abs(q) * abs(r)")),
            ("p * (q + r)", "p * q + p * r", Within(16.0, "abs(p) * (abs(q) + abs(r))")),
            ("conj(p * q)", "conj(q) * conj(p)", Near(0.0)),
            ("abs(p * q)", "abs(p) * abs(q)", Near(16.0)),
            ("q * inverse(q)", "one", Near(8.0)),
            ("(p / q) * q", "p", Near(16.0)),
            ("inverse(q * r)", "inverse(r) * inverse(q)", Near(32.0)),
            ("exp(log(q))", "q", Near(64.0)),
            ("log(exp(r))", "r", Within(64.0, "1 + abs(r)")),
            ("sqrt(q) * sqrt(q)", "q", Near(16.0)),
            ("pow(q, r)", "exp(log(q) * r)", Bits),
            ("pow(q, one + one)", "q * q", Near(64.0)),
            ("exp2(r)", "exp(r * log(zero + 2))", Near(64.0)),
            ("exp10(r)", "exp(r * log(zero + 10))", Near(128.0)),
            ("log2(q) * log(zero + 2)", "log(q)", Near(16.0)),
            ("log10(q) * log(zero + 10)", "log(q)", Near(16.0)),
            // A plane through the real axis is the complex numbers.
            ("[(s * t).w, (s * t).y]", "[real(z * w), imag(z * w)]", Near(0.0)),
            ("[exp(s).w, exp(s).y]", "[real(exp(z)), imag(exp(z))]", Within(8.0, "abs(exp(z))")),
            ("[log(s).w, log(s).y]", "[real(log(z)), imag(log(z))]", Within(8.0, "1 + abs(log(z))")),
            ("[sqrt(s).w, sqrt(s).y]", "[real(sqrt(z)), imag(sqrt(z))]", Within(8.0, "abs(sqrt(z))")),
            ("[pow(s, t).w, pow(s, t).y]", "[real(pow(z, w)), imag(pow(z, w))]", Within(128.0, "abs(pow(z, w))")),
        ],
    },
    Group {
        name: "rotations",
        given: &[("p", &[Quaternion]), ("q", &[Quaternion]), ("v", &[Vector(3)]), ("n", &[Vector(3)]), ("a", &[]), ("b", &[])],
        before: "p = normalize(p / 8 + 0.01); q = normalize(q / 8 + 0.02); n = normalize(n + 0.0625); a = a / 8;
            b = b / 8; t = abs(a) / 2; zero = a * 0; same = mulsign(zero + 1, dot(p, q))",
        laws: &[
            ("q * v", "rotate(q, v)", Bits),
            ("rotate(q * p, v)", "rotate(q, rotate(p, v))", Within(32.0, "norm(v)")),
            ("rotate(q, v)", "imag(q * Quaternion4C(v.x, v.y, v.z, 0) * conj(q))", Within(16.0, "norm(v)")),
            ("rotate(conj(q), rotate(q, v))", "v", Within(32.0, "norm(v)")),
            ("rotate(-q, v)", "rotate(q, v)", Near(0.0)),
            ("norm(rotate(q, v))", "norm(v)", Near(16.0)),
            ("dot(rotate(q, v), rotate(q, n))", "dot(v, n)", Within(32.0, "norm(v)")),
            ("quat_to_matrix(q)[[0, 3]]", "zero", Near(0.0)),
            ("quat_to_matrix(q) * Vector4C(v.x, v.y, v.z, 1)", "concat(rotate(q, v), zero + 1)", Within(16.0, "1 + norm(v)")),
            ("matrix_to_quat(quat_to_matrix(q)) * mulsign(1, dot(matrix_to_quat(quat_to_matrix(q)), q))", "q", Near(16.0)),
            ("quat_to_matrix(p * q)", "quat_to_matrix(p) * quat_to_matrix(q)", Near(32.0)),
            ("transpose(quat_to_matrix(q)) * quat_to_matrix(q)", "quat_to_matrix(Quaternion4C(zero, 0, 0, 1))", Near(32.0)),
            ("det(quat_to_matrix(q))", "zero + 1", Near(32.0)),
            // Interpolation goes the shorter way, at a steady pace.
            ("slerp(p, q, 0)", "p", Near(8.0)),
            ("slerp(p, q, 1)", "q * same", Near(8.0)),
            ("slerp(p, q, 0.5)", "normalize(p + q * same)", Near(32.0)),
            ("slerp(p, q, t)", "slerp(q * same, p, 1 - t)", Within(64.0, "1 + t")),
            ("norm(slerp(p, q, t))", "zero + 1", Near(32.0)),
            ("dot(slerp(p, q, t), p)", "cos(t * acos(min(abs_dot(p, q), 1)))", Within(4096.0, "zero + 1")),
        ],
    },
    Group {
        name: "rotations of single precision",
        given: &[("q", &[Quaternion]), ("v", &[Vector(3)]), ("n", &[Vector(3)]), ("a", &[]), ("b", &[])],
        before: "q = Quaternion4fC(Vector4fC(normalize(q / 8 + 0.02))); n = Vector3fC(normalize(n + 0.0625));
            v = Vector3fC(v); a = FloatC(a / 8); b = FloatC(b / 8); zero = a * 0;
            p = Quaternion4fC::rotate(n, a); m = Matrix3fC::from_quat(q); e = quat_to_euler(q);
            turn = |x, y, z, angle| Quaternion4fC::rotate(Vector3fC(x, y, z), angle);
            k = Matrix4fC::translate(v) * quat_to_matrix(q) * Matrix4fC::scale([2, 3, 4]); d = transform_decompose(k);
            again = turn.call(0, 0, 1, e.z) * turn.call(0, 1, 0, e.y) * turn.call(1, 0, 0, e.x)",
        laws: &[
            ("m * v", "rotate(q, v)", Within(16.0, "norm(v)")),
            ("Matrix3fC(quat_to_matrix(q))", "m", Near(0.0)),
            ("matrix_to_quat(m)", "matrix_to_quat(Matrix4fC(m))", Near(0.0)),
            ("rotate(p, n)", "n", Near(16.0)),
            ("p * Quaternion4fC::rotate(n, b)", "Quaternion4fC::rotate(n, a + b)", Near(16.0)),
            ("Matrix4fC::rotate(n, a)", "quat_to_matrix(p)", Near(16.0)),
            ("real(p)", "cos(a * 0.5)", Near(4.0)),
            ("transform_compose(d[0], d[1], d[2])", "k", Near(64.0)),
            ("[d[1], d[2]]", "[q * mulsign(1, dot(d[1], q)), v]", Within(64.0, "1 + norm(v)")),
            ("again * mulsign(1, dot(again, q))", "q", Near(4096.0)),
            ("euler_to_quat(e)", "again", Near(8.0)),
            ("rotate(euler_to_quat(v), n)", "rotate(turn.call(0, 0, 1, v.z), rotate(turn.call(0, 1, 0, v.y), rotate(turn.call(1, 0, 0, v.x), n)))", Near(64.0)),
            ("Matrix3fC::rotate(a) * Matrix3fC::rotate(b)", "Matrix3fC::rotate(a + b)", Near(16.0)),
            ("Matrix3fC::rotate(a) * Vector3fC(1, 0, 1)", "Vector3fC(cos(a), sin(a), 1)", Near(4.0)),
            ("Matrix3fC::translate(v.xy) * concat(n.xy, zero + 1)", "concat(n.xy + v.xy, zero + 1)", Near(2.0)),
            ("Matrix4fC::translate(v) * concat(n, zero + 1)", "concat(n + v, zero + 1)", Near(2.0)),
            ("Matrix3fC::scale(v.xy) * concat(n.xy, zero + 1)", "concat(n.xy * v.xy, zero + 1)", Near(0.0)),
            ("Matrix4fC::scale(v) * concat(n, zero + 1)", "concat(n * v, zero + 1)", Near(0.0)),
            (
                "transform_compose(Matrix3fC(2), q, v)",
                "Matrix4fC::translate(v) * quat_to_matrix(q) * Matrix4fC::scale([2, 2, 2])",
                Near(16.0),
            ),
        ],
    },
];
