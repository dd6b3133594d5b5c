//! x86-64: what AVX2 and AVX-512 have, and how their instructions are encoded, by way of iced-x86.

mod caches;
mod cold;
mod disassemble;
mod emitter;
mod encode;
mod encodings;
mod machine;
mod neighbours;
mod scatter;
mod special;
mod targets;

pub(super) use self::emitter::X86;
