//! What C, C++ and CUDA have and kernels have not: words that are skipped, names of numbers, and what to write instead.

use crate::dtype::Scalar;

/// The word of those functions that are kernels.
pub(super) const KERNEL: &str = "__global__";

/// Words before a function or a constant that say where it stands, which all of them do everywhere.
pub(super) const QUALIFIERS: [&str; 10] = [
    "__device__",
    KERNEL,
    "__host__",
    "__constant__",
    "__forceinline__",
    "__noinline__",
    "static",
    "inline",
    "extern",
    "constexpr",
];

/// The names of the lane, and of how many there are, in CUDA.
pub(super) const LANE: &str = "threadIdx.x";
pub(super) const COUNT: &str = "blockDim.x";

/// What CUDA's names of threads and blocks are where every lane is a thread of one block.
pub(super) enum Launch {
    Lane,
    Count,
    Number(i64),
}

/// What a name says of a launch: `blockIdx.x * blockDim.x + threadIdx.x` is the lane, `gridDim.x * blockDim.x` how many
/// there are.
pub(super) fn of_launch(name: &str) -> Option<Launch> {
    Some(match name {
        "threadIdx.x" => Launch::Lane,
        "blockDim.x" => Launch::Count,
        "blockIdx.x" => Launch::Number(0),
        "gridDim.x" => Launch::Number(1),
        _ => return None,
    })
}

/// Words between `*` and the name of an array.
pub(super) const OF_POINTERS: [&str; 4] = ["const", "volatile", "__restrict__", "restrict"];

/// The number that `<math.h>`, `<float.h>`, `<limits.h>` or scripts have under a name.
pub(super) fn constant(name: &str) -> Option<Scalar> {
    use std::f64::consts;
    let float = match name {
        "INFINITY" | "HUGE_VAL" | "HUGE_VALF" | "inf" => f64::INFINITY,
        "NAN" | "nan" => f64::NAN,
        "M_PI" | "pi" => consts::PI,
        "M_PI_2" => consts::FRAC_PI_2,
        "M_PI_4" => consts::FRAC_PI_4,
        "M_1_PI" => consts::FRAC_1_PI,
        "M_2_PI" => consts::FRAC_2_PI,
        "M_2_SQRTPI" => consts::FRAC_2_SQRT_PI,
        "M_E" | "e" => consts::E,
        "M_LN2" => consts::LN_2,
        "M_LN10" => consts::LN_10,
        "M_LOG2E" => consts::LOG2_E,
        "M_LOG10E" => consts::LOG10_E,
        "M_SQRT2" => consts::SQRT_2,
        "M_SQRT1_2" => consts::FRAC_1_SQRT_2,
        "FLT_MAX" => f32::MAX.into(),
        "FLT_MIN" => f32::MIN_POSITIVE.into(),
        "FLT_EPSILON" => f32::EPSILON.into(),
        "DBL_MAX" => f64::MAX,
        "DBL_MIN" => f64::MIN_POSITIVE,
        "DBL_EPSILON" => f64::EPSILON,
        _ => return integer(name),
    };
    Some(Scalar::Float(float))
}

fn integer(name: &str) -> Option<Scalar> {
    Some(Scalar::Int(match name {
        "CHAR_BIT" => 8,
        "SCHAR_MIN" | "INT8_MIN" => i8::MIN.into(),
        "SCHAR_MAX" | "INT8_MAX" => i8::MAX.into(),
        "UCHAR_MAX" | "UINT8_MAX" => u8::MAX.into(),
        "SHRT_MIN" | "INT16_MIN" => i16::MIN.into(),
        "SHRT_MAX" | "INT16_MAX" => i16::MAX.into(),
        "USHRT_MAX" | "UINT16_MAX" => u16::MAX.into(),
        "INT_MIN" | "INT32_MIN" => i32::MIN.into(),
        "INT_MAX" | "INT32_MAX" => i32::MAX.into(),
        "UINT_MAX" | "UINT32_MAX" => u32::MAX.into(),
        "LONG_MIN" | "LLONG_MIN" | "INT64_MIN" => i64::MIN,
        "LONG_MAX" | "LLONG_MAX" | "INT64_MAX" => i64::MAX,
        "ULONG_MAX" | "ULLONG_MAX" | "UINT64_MAX" | "SIZE_MAX" => {
            return Some(Scalar::UInt(u64::MAX));
        }
        _ => return None,
    }))
}

const EVERY: &str = "every lane runs the kernel: i is its number and n how many there are, in one row: int idx = i; of a picture \
                     with a width w, int row = idiv(i, w), column = i % w;";
const SHARED: &str = "lanes do not meet in a kernel of text: reduction(…) combines them, and cuda_module(…) takes CUDA C++ whole";
const PARTS: &str = "take the parts as parameters and give them as `out` results; a vector of the script goes through component by component";
const ACCUMULATED: &str = "write the type itself: T, or acc_t(T), in which values of T are summed";

/// What there is instead of pointers.
pub(super) const POINTER: &str = "there are no pointers: an element is x[j], and one value that a function changes is a reference, T &x";

/// Names that mean something elsewhere, and what to write here.
const FOREIGN: [(&str, &str); 37] = [
    ("threadIdx", EVERY),
    ("blockIdx", EVERY),
    ("blockDim", EVERY),
    ("gridDim", EVERY),
    ("warpSize", EVERY),
    ("__shared__", SHARED),
    ("extern", SHARED),
    ("__syncthreads", SHARED),
    ("__syncwarp", SHARED),
    ("__shfl_sync", SHARED),
    ("__shfl_down_sync", SHARED),
    ("__shfl_up_sync", SHARED),
    ("__shfl_xor_sync", SHARED),
    ("__ballot_sync", SHARED),
    ("struct", PARTS),
    ("class", PARTS),
    ("typedef", "write the type itself; capital letters are types that calls bind: T"),
    ("using", "write the type itself; capital letters are types that calls bind: T"),
    ("typename", ACCUMULATED),
    ("AccType", ACCUMULATED),
    ("namespace", "write the functions without it, and call them without a prefix: sigmoid(x)"),
    ("enum", "write numbers: const int RED = 0;"),
    ("float2", PARTS),
    ("float3", PARTS),
    ("float4", PARTS),
    ("make_float2", PARTS),
    ("make_float3", PARTS),
    ("make_float4", PARTS),
    ("reinterpret_cast", "values convert by type: int(x), and bit by bit: bit_cast<int>(x)"),
    ("__ldg", "x[j]"),
    ("__launch_bounds__", "leave it away: blocks of threads are not the text's to choose"),
    ("goto", "loops, break and if say where it goes on"),
    ("dot", "x * y of each lane; reduction(…) sums"),
    ("curand_uniform", "draw in the script, and pass the array: k(x, rand(n))"),
    ("curand_normal", "draw in the script, and pass the array: k(x, randn(n))"),
    ("printf", "kernels print nothing: return the value and print that"),
    ("assert", "kernels stop at nothing: return a mask and look at it"),
];

/// What to write instead of a name that other languages have.
pub(super) fn instead(name: &str) -> Option<String> {
    let first = name.split('.').next().unwrap_or(name);
    let foreign = FOREIGN.iter().find(|(known, _)| *known == first);
    foreign.map(|(_, instead)| (*instead).to_string())
}
