//! Functions of C and CUDA that give several values, or are others of ours in more words: written in the language itself.

use super::program::{Captured, TextKernel};

/// Their names and what they are.
const FUNCTIONS: [(&[&str], &str); 57] = [
    (
        &["sincos", "sincosf", "__sincosf"],
        "void sincos(T x, out T s, out T c) { s = sin(x); c = cos(x); }",
    ),
    (
        &["sincospi", "sincospif"],
        "void sincospi(T x, out T s, out T c) { s = sinpi(x); c = cospi(x); }",
    ),
    (
        &["modf", "modff"],
        "T modf(T x, out T whole) { whole = trunc(x); return copysign(isinf(x) ? 0 : x - whole, x); }",
    ),
    (&["fdim", "fdimf"], "T fdim(T x, T y) { return x <= y ? 0 : x - y; }"),
    // Twice y may be infinite and twice r too: each is then larger than what it meets.
    (
        &["remainder", "remainderf"],
        "T remainder(T x, T y) { T a = abs(y), r = fmod(abs(x), a + a); \
         if (r + r > a) { r -= a; if (r + r >= a) r -= a; } return signbit(x) ? -r : r; }",
    ),
    (&["saturate", "__saturatef"], "T saturate(T x) { return x > 0 ? x < 1 ? x : 1 : 0; }"),
    (&["lrint", "lrintf"], "int64 lrint(T x) { return int64(round(x)); }"),
    (&["llrint", "llrintf"], "int64 llrint(T x) { return int64(round(x)); }"),
    (&["lround", "lroundf"], "int64 lround(T x) { return int64(round_away(x)); }"),
    (&["llround", "llroundf"], "int64 llround(T x) { return int64(round_away(x)); }"),
    (&["ffs", "__ffs"], "int ffs(int x) { return x == 0 ? 0 : tzcnt(x) + 1; }"),
    (&["ffsll", "__ffsll"], "int ffsll(int64 x) { return x == 0 ? 0 : int(tzcnt(x)) + 1; }"),
    (&["__mulhi"], "int mulhi32(int x, int y) { return mulhi(x, y); }"),
    (&["__umulhi"], "uint umulhi(uint x, uint y) { return mulhi(x, y); }"),
    (&["__mul64hi"], "int64 mul64hi(int64 x, int64 y) { return mulhi(x, y); }"),
    (&["__umul64hi"], "uint64 umul64hi(uint64 x, uint64 y) { return mulhi(x, y); }"),
    (&["__mul24"], "int mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }"),
    (&["__float_as_int"], "int float_as_int(float x) { return bit_cast<int>(x); }"),
    (&["__float_as_uint"], "uint float_as_uint(float x) { return bit_cast<uint>(x); }"),
    (&["__int_as_float"], "float int_as_float(T x) { return bit_cast<float>(int(x)); }"),
    (&["__uint_as_float"], "float uint_as_float(T x) { return bit_cast<float>(uint(x)); }"),
    (
        &["__double_as_longlong"],
        "int64 double_as_longlong(double x) { return bit_cast<int64>(x); }",
    ),
    (
        &["__longlong_as_double"],
        "double longlong_as_double(int64 x) { return bit_cast<double>(x); }",
    ),
    (&["__half_as_short"], "short half_as_short(half x) { return bit_cast<short>(x); }"),
    (&["__half_as_ushort"], "ushort half_as_ushort(half x) { return bit_cast<ushort>(x); }"),
    (&["__short_as_half"], "half short_as_half(short x) { return bit_cast<half>(x); }"),
    (&["__ushort_as_half"], "half ushort_as_half(ushort x) { return bit_cast<half>(x); }"),
    (&["__popcll"], "int popcll(int64 x) { return int(popcnt(x)); }"),
    (&["__clzll"], "int clzll(int64 x) { return int(lzcnt(x)); }"),
    (&["__brev"], "uint brev32(uint x) { return brev(x); }"),
    (&["__brevll"], "uint64 brev64(uint64 x) { return brev(x); }"),
    (&["__umul24"], "uint umul24(uint x, uint y) { return (x << 8 >> 8) * (y << 8 >> 8); }"),
    (&["umin"], "uint least(uint x, uint y) { return min(x, y); }"),
    (&["umax"], "uint largest(uint x, uint y) { return max(x, y); }"),
    (
        &["__sad"],
        "uint sad(int x, int y, uint z) { return z + uint(max(x, y)) - uint(min(x, y)); }",
    ),
    (&["__usad"], "uint usad(uint x, uint y, uint z) { return z + max(x, y) - min(x, y); }"),
    (
        &["__funnelshift_l"],
        "uint funnel_left(uint low, uint high, uint s) { s = s & 31u; \
         return s == 0 ? high : high << s | low >> (32u - s); }",
    ),
    (
        &["__funnelshift_r"],
        "uint funnel_right(uint low, uint high, uint s) { s = s & 31u; \
         return s == 0 ? low : low >> s | high << (32u - s); }",
    ),
    (&["norm3d", "norm3df"], "T norm3d(T x, T y, T z) { return sqrt(x * x + y * y + z * z); }"),
    (&["rhypot", "rhypotf"], "T rhypot(T x, T y) { return 1 / hypot(x, y); }"),
    (&["__frsqrt_rn"], "float frsqrt(float x) { return 1 / sqrt(x); }"),
    (&["__float2uint_rn"], "uint float2uint_rn(float x) { return uint(round(x)); }"),
    (&["__float2uint_rz"], "uint float2uint_rz(float x) { return uint(x); }"),
    (&["__float2uint_rd"], "uint float2uint_rd(float x) { return uint(floor(x)); }"),
    (&["__float2uint_ru"], "uint float2uint_ru(float x) { return uint(ceil(x)); }"),
    (&["__half2int_rn"], "int half2int_rn(half x) { return int(round(x)); }"),
    (&["frexp", "frexpf"], "T frexp(T x, out int e) { e = int(exponent(x)); return mantissa(x); }"),
    (&["__float2half", "__float2half_rn"], "half float2half(float x) { return half(x); }"),
    (&["__half2float"], "float half2float(half x) { return float(x); }"),
    (&["__hmax"], "half half_max(half x, half y) { return max(x, y); }"),
    (&["__hmin"], "half half_min(half x, half y) { return min(x, y); }"),
    (&["__float2int_rn"], "int float2int_rn(float x) { return int(round(x)); }"),
    (&["__float2int_rz"], "int float2int_rz(float x) { return int(x); }"),
    (&["__float2int_rd"], "int float2int_rd(float x) { return int(floor(x)); }"),
    (&["__float2int_ru"], "int float2int_ru(float x) { return int(ceil(x)); }"),
    (&["__int2float_rn"], "float int2float(int x) { return float(x); }"),
    (&["__uint2float_rn"], "float uint2float(uint x) { return float(x); }"),
];

/// The text of a function.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, text)| *text)
}

/// The kernel that C or CUDA has under a name.
pub(super) fn kernel(name: &str) -> Option<Captured> {
    let kernel = TextKernel::new(text(name)?, &());
    Some(Captured::Kernel(kernel.expect("internal error: a function of C does not parse")))
}

#[cfg(test)]
mod tests {
    use super::super::library;
    use super::*;

    #[test]
    fn all_parse() {
        let names = FUNCTIONS.iter().flat_map(|(names, _)| *names);
        names.for_each(|name| assert!(kernel(name).is_some(), "{name}"));
    }

    #[test]
    fn none_is_in_the_place_of_a_function_of_scripts() {
        let names = FUNCTIONS.iter().flat_map(|(names, _)| *names);
        let known = names.filter(|name| library::find(name).is_some());
        // These give lists there, go across lanes, or have another width.
        let others = [
            "sincos",
            "sincosf",
            "__sincosf",
            "modf",
            "__mulhi",
            "__popcll",
            "__clzll",
            "__brev",
            "__brevll",
            "frexp",
            "frexpf",
            "__hmax",
            "__hmin",
        ];
        assert_eq!(known.copied().collect::<Vec<_>>(), others);
    }
}
