//! 64-bit ARM: what NEON of ARMv8.0 has, and how its instructions are encoded, as 32-bit words of our own.

mod caches;
mod cold;
mod disassemble;
mod emitter;
mod encode;
mod encodings;
mod gather;
#[cfg(test)]
mod known_words;
mod machine;
mod scatter;
mod several;
mod special;
mod targets;
mod visibility;

pub(super) use self::emitter::Arm;
