//! The instruction sets of the processors that the CPU backends know.

use std::fmt;

/// The instruction set that code is made for; results are the same bits on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// Instructions that every processor of the architecture has.
    Baseline,
    /// AVX2 with FMA, F16C, BMI, LZCNT and POPCNT.
    Avx2,
    /// AVX-512 F, DQ, VL, BW, CD.
    Avx512,
    /// NEON of 64-bit ARM, which every such processor has.
    Neon,
}

impl Isa {
    /// Every instruction set.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Avx2, Self::Avx512, Self::Neon];

    /// The best one that this processor has.
    pub fn detect() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Baseline)
    }

    /// Whether the processor has it and the operating system saves its registers.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            // The macro asks CPUID and the state bits of XGETBV.
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd");
            match self {
                Self::Baseline => true,
                Self::Avx2 => avx2,
                Self::Avx512 => avx512,
                Self::Neon => false,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Baseline || self == Self::Neon && cfg!(target_arch = "aarch64")
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
            Self::Neon => "NEON",
        })
    }
}
