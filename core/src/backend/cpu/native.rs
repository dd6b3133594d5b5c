//! The machine that code is made for: the processor that this program runs on.

#[cfg(target_arch = "aarch64")]
pub(super) use super::arm::Arm as Native;
#[cfg(target_arch = "x86_64")]
pub(super) use super::x86::X86 as Native;
