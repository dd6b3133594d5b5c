//! Quotients and roots by estimates and Newton's steps, where the flag `fast_math` asks for them: at most
//! 2 ulp, in short instructions that overlap where exact ones wait for each other.
//!
//! Zeros, infinities and NaN give what they give exactly. Around them the estimates end early: a division
//! by a subnormal may be one by zero, and reciprocals of divisors beyond 2^126 are subnormal.

use super::build::Lowering;
use crate::backend::cpu::instructions::{Compare, Opcode};
use crate::backend::cpu::program::VReg;
use crate::dtype::DType;

const F32: DType = DType::F32;

impl Lowering<'_> {
    /// Steps to all bits of an f32: each doubles those of the estimate.
    fn newton_steps(&self) -> u32 {
        f32::MANTISSA_DIGITS.div_ceil(self.packet.target.estimate_bits).next_power_of_two().ilog2()
    }

    fn float(&mut self, number: f32) -> VReg {
        self.constant(u64::from(number.to_bits()), 4)
    }

    fn is_nan(&mut self, value: VReg) -> VReg {
        self.compare(Compare::Unordered, F32, value, value)
    }

    /// `a / b`.
    pub(super) fn fast_quotient(&mut self, a: VReg, b: VReg) -> VReg {
        let (one, sign) = (self.float(1.0), self.sign_bit(F32));
        let minus_b = self.xor(F32, b, sign);
        let mut reciprocal = self.unary(Opcode::ReciprocalF32, b);
        for _ in 0..self.newton_steps() {
            let rest = self.ternary(Opcode::FmaF32, minus_b, reciprocal, one);
            let next = self.ternary(Opcode::FmaF32, reciprocal, rest, reciprocal);
            // Estimates of 0 and infinity are exact, and the step is lost on them.
            let lost = self.is_nan(next);
            reciprocal = self.blend(4, lost, reciprocal, next);
        }
        self.binary(Opcode::MulF32, a, reciprocal)
    }

    /// The root of `x`: `root` tends to it and `half` to the half of its reciprocal.
    pub(super) fn fast_root(&mut self, x: VReg) -> VReg {
        let (one_half, sign) = (self.float(0.5), self.sign_bit(F32));
        let estimate = self.unary(Opcode::ReciprocalRootF32, x);
        let mut root = self.binary(Opcode::MulF32, x, estimate);
        let mut half = self.binary(Opcode::MulF32, estimate, one_half);
        for _ in 0..self.newton_steps() {
            let minus_half = self.xor(F32, half, sign);
            let rest = self.ternary(Opcode::FmaF32, root, minus_half, one_half);
            root = self.ternary(Opcode::FmaF32, root, rest, root);
            half = self.ternary(Opcode::FmaF32, half, rest, half);
        }
        // Of 0 and infinity, which are their own roots, the estimate is a number; of a negative one it is not.
        let (lost, negative) = (self.is_nan(root), self.is_nan(estimate));
        let special = self.blend(4, negative, estimate, x);
        self.blend(4, lost, special, root)
    }
}
