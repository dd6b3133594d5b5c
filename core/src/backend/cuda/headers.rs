//! What stands in for CUDA's headers where they are not found, and where those that are missing come from.

/// `cuda_fp16.h`, as far as values and their arithmetic go: that of f32, rounded, which is that of f16.
pub(super) const HALF: (&str, &str) = (
    "cuda_fp16.h",
    r#"#pragma once
struct __half {
    unsigned short bits;
    __half() = default;
    __device__ __half(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    __device__ operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
    __device__ __half &operator+=(float x) { return *this = __half(float(*this) + x); }
    __device__ __half &operator-=(float x) { return *this = __half(float(*this) - x); }
    __device__ __half &operator*=(float x) { return *this = __half(float(*this) * x); }
    __device__ __half &operator/=(float x) { return *this = __half(float(*this) / x); }
};
typedef __half half;
__device__ inline float __half2float(__half x) { return float(x); }
__device__ inline __half __float2half(float x) { return __half(x); }
__device__ inline __half __float2half_rn(float x) { return __half(x); }
__device__ inline __half __hadd(__half a, __half b) { return __half(float(a) + float(b)); }
__device__ inline __half __hsub(__half a, __half b) { return __half(float(a) - float(b)); }
__device__ inline __half __hmul(__half a, __half b) { return __half(float(a) * float(b)); }
__device__ inline __half __hdiv(__half a, __half b) { return __half(float(a) / float(b)); }
"#,
);

/// Packages by how names of headers begin.
const PACKAGES: [(&str, &str); 10] = [
    ("cub/", "nvidia-cuda-cccl"),
    ("thrust/", "nvidia-cuda-cccl"),
    ("cuda/", "nvidia-cuda-cccl"),
    ("nv/", "nvidia-cuda-cccl"),
    ("curand", "nvidia-curand"),
    ("cufft", "nvidia-cufft"),
    ("cooperative_groups", "nvidia-cuda-runtime nvidia-cuda-cccl"),
    ("cuda_", "nvidia-cuda-runtime"),
    ("mma", "nvidia-cuda-runtime"),
    ("cutlass/", "nvidia-cutlass"),
];

/// Headers of C and C++ that NVRTC has no use for, but for their types of fixed width.
const OF_C: [&str; 14] = [
    "cstdint", "stdint.h", "cmath", "math.h", "cstdio", "stdio.h", "cstdlib", "stdlib.h",
    "cstring", "string.h", "cfloat", "float.h", "climits", "limits.h",
];

/// What to do about a header that a compiler's log says is not there.
pub(super) fn remedy(log: &str) -> Option<String> {
    let name = log.split_once("cannot open source file \"")?.1.split('"').next()?;
    if OF_C.contains(&name) {
        return Some(format!(
            "leave #include <{name}> away: functions, int and long long are there; int32_t and its like are in <cuda/std/cstdint>, \
             which pip install nvidia-cuda-cccl brings"
        ));
    }
    let package = PACKAGES.iter().find(|(start, _)| name.starts_with(start));
    Some(match package {
        Some((_, package)) => format!("install the CUDA toolkit, or: pip install {package}"),
        None => format!(
            "give its text, #{{headers: #{{\"{name}\": \"..\"}}}}, or its folder, #{{options: [\"-I/folder\"]}}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn missing_headers_are_told_from() {
        let told = |name: &str| {
            remedy(&format!("module.cu(1): catastrophic error: cannot open source file \"{name}\""))
        };
        assert!(
            told("cub/cub.cuh").is_some_and(|told| told.ends_with("pip install nvidia-cuda-cccl"))
        );
        assert!(
            told("stdint.h").is_some_and(|told| told.starts_with("leave #include <stdint.h> away"))
        );
        assert!(told("mine.h").is_some_and(|told| told.contains("#{headers: #{\"mine.h\"")));
        assert_eq!(remedy("error: expected a ;"), None);
    }
}
