//! What single PTX instructions compute.
#![expect(clippy::cast_possible_truncation, reason = "registers are cut to their types")]

use porcini_core::half::F16;

/// What `rem` and `div` give where the ISA says nothing.
pub(super) const UNSPECIFIED: u64 = 0xdead_beef_dead_beef;

pub(super) fn last(code: &[String]) -> &str {
    code.last().map_or("", String::as_str)
}

pub(super) fn width(t: &str) -> usize {
    match t {
        "u8" | "s8" => 8,
        "u16" | "s16" | "b16" | "f16" => 16,
        "u32" | "s32" | "b32" | "f32" => 32,
        "u64" | "s64" | "b64" | "f64" => 64,
        _ => panic!("type {t}"),
    }
}

pub(super) fn cut(t: &str, value: u64) -> u64 {
    match t {
        "pred" => value & 1,
        _ => value & (u64::MAX >> (64 - width(t))),
    }
}

/// An integer of type `t`, extended as its sign says.
pub(super) fn integer(t: &str, bits: u64) -> i128 {
    match t {
        "s8" => i128::from(bits as u8 as i8),
        "s16" => i128::from(bits as u16 as i16),
        "s32" => i128::from(bits as u32 as i32),
        "s64" => i128::from(bits as i64),
        _ => i128::from(cut(t, bits)),
    }
}

pub(super) fn compare(name: &str, t: &str, a: u64, b: u64) -> bool {
    let order = match t {
        "f32" => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        "f64" => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        _ => Some(integer(t, a).cmp(&integer(t, b))),
    };
    match name {
        "num" => order.is_some(),
        "nan" => order.is_none(),
        "neu" => order.is_none_or(|order| order.is_ne()),
        "eq" => order.is_some_and(|order| order.is_eq()),
        "ne" => order.is_some_and(|order| order.is_ne()),
        "lt" => order.is_some_and(|order| order.is_lt()),
        "le" => order.is_some_and(|order| order.is_le()),
        "gt" => order.is_some_and(|order| order.is_gt()),
        "ge" => order.is_some_and(|order| order.is_ge()),
        _ => panic!("comparison {name}"),
    }
}

/// The result of an instruction that only computes.
pub(super) fn compute(code: &[String], args: [u64; 4]) -> u64 {
    let t = last(code);
    let name = code[0].as_str();
    let [first, second, third, count] = args;
    let args = [first, second, third];
    match (name, t) {
        ("bfe", _) => {
            let field = first >> second & (u64::MAX >> (64 - third));
            let signed = if third == 8 { "s8" } else { "s16" };
            if t.starts_with('s') { cut(t, integer(signed, field) as u64) } else { field }
        }
        ("bfi", _) => {
            let mask = (u64::MAX >> (64 - count)) << third;
            cut(t, second & !mask | first << third & mask)
        }
        ("cvt", _) if code[code.len() - 2] == "f16x2" => {
            let [high, low] = [first, second].map(|bits| convert_to("f16", code, bits));
            high << 16 | low
        }
        ("cvt", _) => convert(code, args[0]),
        ("selp", _) => cut(t, if args[2] & 1 != 0 { args[0] } else { args[1] }),
        ("mul" | "mad", _) if t.starts_with(['u', 's']) => product(code, args),
        ("and" | "or" | "xor" | "not" | "shl" | "shr" | "popc" | "clz" | "brev", _) => {
            bitwise(name, t, args)
        }
        (_, "f32") => {
            let [a, b, c] = args.map(|bits| f64::from(f32::from_bits(bits as u32)));
            let [x, y, z] = args.map(|bits| f32::from_bits(bits as u32));
            // Sums, products, quotients and roots through f64 round twice to the same bits as once.
            let result = match name {
                "fma" => x.mul_add(y, z),
                "min" | "max" if code[1] == "NaN" && (x.is_nan() || y.is_nan()) => f32::NAN,
                _ => float(name, a, b, c) as f32,
            };
            u64::from(if result.is_nan() { 0x7fff_ffff } else { result.to_bits() })
        }
        (_, "f64") => {
            let [a, b, c] = args.map(f64::from_bits);
            let result = float(name, a, b, c);
            if result.is_nan() { 0xfff8_0000_0000_0000 } else { result.to_bits() }
        }
        _ => arithmetic(name, t, args),
    }
}

fn float(name: &str, a: f64, b: f64, c: f64) -> f64 {
    // -0 is below +0, and a NaN is no candidate.
    let below = |a: f64, b: f64| b.is_nan() || a.total_cmp(&b).is_lt();
    match name {
        "neg" => -a,
        "abs" => a.abs(),
        "sqrt" => a.sqrt(),
        "rcp" => 1.0 / a,
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" => a / b,
        "fma" => a.mul_add(b, c),
        "min" if a.is_nan() => b,
        "min" => {
            if below(a, b) {
                a
            } else {
                b
            }
        }
        "max" if a.is_nan() => b,
        "max" => {
            if b.is_nan() || below(b, a) {
                a
            } else {
                b
            }
        }
        _ => panic!("float {name}"),
    }
}

fn arithmetic(name: &str, t: &str, args: [u64; 3]) -> u64 {
    let [a, b, _] = args.map(|bits| integer(t, bits));
    let least = -(1i128 << (width(t) - 1));
    let unspecified = b == 0 || (t.starts_with('s') && a == least && b == -1);
    let result = match name {
        "add" => a + b,
        "sub" => a - b,
        "neg" => -a,
        "abs" => a.abs(),
        "min" => a.min(b),
        "max" => a.max(b),
        "div" | "rem" if unspecified => i128::from(UNSPECIFIED),
        "div" => a / b,
        "rem" => a % b,
        _ => panic!("integer {name}"),
    };
    cut(t, result as u64)
}

fn product(code: &[String], args: [u64; 3]) -> u64 {
    let t = last(code);
    let [a, b, _] = args.map(|bits| integer(t, bits));
    let full = a.wrapping_mul(b);
    let result = match (code[1].as_str(), width(t)) {
        ("lo", _) => cut(t, full as u64),
        ("hi", 32) => cut(t, (full >> 32) as u64),
        // The product of two u64 needs all 128 bits, as an unsigned number.
        ("hi", _) if t == "u64" => ((a.cast_unsigned() * b.cast_unsigned()) >> 64) as u64,
        ("hi", _) => (full >> 64) as u64,
        ("wide", _) => full as u64,
        _ => panic!("product {code:?}"),
    };
    if code[0] != "mad" {
        return result;
    }
    let sum = result.wrapping_add(args[2]);
    if code[1] == "wide" { sum } else { cut(t, sum) }
}

fn bitwise(name: &str, t: &str, [a, b, _]: [u64; 3]) -> u64 {
    let bits = if t == "pred" { 1 } else { width(t) as u32 };
    // Counts are 32 bits wide and act as the width beyond it.
    let count = (b as u32).min(bits);
    let value = integer(t, a);
    let result = match name {
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" => !a,
        "shl" => ((value as u128) << count) as u64,
        "shr" => (value >> count) as u64,
        "popc" => u64::from(cut(t, a).count_ones()),
        "clz" => u64::from(cut(t, a).leading_zeros() - (64 - bits)),
        "brev" => a.reverse_bits() >> (64 - bits),
        _ => panic!("bitwise {name}"),
    };
    cut(t, result)
}

fn convert(code: &[String], a: u64) -> u64 {
    convert_to(code[code.len() - 2].as_str(), code, a)
}

fn convert_to(to: &str, code: &[String], a: u64) -> u64 {
    let from = last(code);
    let float = match from {
        "f16" => f64::from(F16::from_bits(a as u16).to_f32()),
        "f32" => f64::from(f32::from_bits(a as u32)),
        "f64" => f64::from_bits(a),
        _ => return from_integer(to, integer(from, a)),
    };
    let rounded = match code[1].as_str() {
        "rmi" => float.floor(),
        "rpi" => float.ceil(),
        "rni" => float.round_ties_even(),
        "rzi" => float.trunc(),
        _ => float,
    };
    match to {
        "f16" => u64::from(F16::from_f64(rounded).to_bits()),
        "f32" => u64::from((rounded as f32).to_bits()),
        "f64" => rounded.to_bits(),
        _ if float.is_nan() && from == "f32" && width(to) == 32 => 0,
        _ if float.is_nan() => 1 << (width(to) - 1),
        "s32" => cut(to, (rounded as i32) as u64),
        "u32" => (rounded as u32).into(),
        "s64" => (rounded as i64) as u64,
        "u64" => rounded as u64,
        _ => panic!("conversion {code:?}"),
    }
}

fn from_integer(to: &str, value: i128) -> u64 {
    match to {
        "f32" => u64::from((value as f32).to_bits()),
        "f64" => (value as f64).to_bits(),
        _ => cut(to, value as u64),
    }
}
