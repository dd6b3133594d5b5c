//! The machine that code is made for: the processor that this program runs on.

pub(super) use super::x86::X86 as Native;
