//! What the encoder makes, beside words that GNU as made of the same texts, and texts that a decoder makes of the words.

use std::fmt::Write as _;

use super::encode::*;
use crate::backend::cpu::arm::disassemble::disassemble;
use crate::backend::cpu::arm::emitter::Arm;
use crate::backend::cpu::arm::encodings::{Encoding, encoding};
use crate::backend::cpu::arm::targets::NEON_HALVES;
use crate::backend::cpu::instructions::{Compare, Form, Opcode};
use crate::backend::cpu::machine::Machine;
use crate::backend::cpu::program::{Access, Beside, Bounds, Frame, Packet, Special};
use crate::dtype::DType;
use crate::ir::op::ScatterOp;

/// Words and texts that GNU as was asked about: `tests/arm/run` asks again.
const KNOWN: &str = include_str!("encodings.txt");

fn arm() -> Arm {
    let frame = Frame { errors: 0, pointers: 0, scratch: 0, spills: 0 };
    Arm::new(Packet { target: &NEON_HALVES, narrow: 1 }, &frame, &[])
}

/// Appends a heading and the code that `emit` makes, as words and text.
fn list(text: &mut String, heading: &str, emit: impl FnOnce(&mut Arm)) {
    let mut arm = arm();
    emit(&mut arm);
    let code = arm.finish().unwrap();
    let _ = writeln!(text, "; {heading}");
    disassemble(&code, 0, |position, instruction| {
        let word = u32::from_le_bytes(code[position..position + 4].try_into().unwrap());
        let _ = writeln!(text, "{word:08x} {instruction}");
    });
}

/// The numbers that an instruction is tried with.
fn numbers(m: Opcode) -> Vec<Option<u8>> {
    let name = format!("{m:?}");
    if name.starts_with("Compare") {
        (0..=Compare::Unordered as u8).map(Some).collect()
    } else if name.starts_with("Round") {
        (0..4).map(Some).collect()
    } else if name.starts_with("Range") || matches!(encoding(m), Encoding::Widening(_)) {
        vec![Some(0), Some(1)]
    } else if name.contains("By") && m != Opcode::KeepBytes {
        vec![Some(0), Some(1), Some(31)]
    } else {
        vec![None]
    }
}

fn table(text: &mut String) {
    let [dst, a, b] = [V(1), V(19), V(30)];
    for &m in Opcode::ALL {
        if !NEON_HALVES.has(m) || m.form() == Form::Fma {
            continue;
        }
        for number in numbers(m) {
            let heading = match number {
                Some(number) => format!("{m:?} {number}"),
                None => format!("{m:?}"),
            };
            match m.form() {
                Form::Unary => {
                    list(text, &heading, |arm| arm.simple(m, number, dst, &[], b));
                }
                Form::Blend => {
                    for dst in [dst, V(4), a, b] {
                        list(text, &heading, |arm| arm.simple(m, None, dst, &[V(4), a], b));
                    }
                }
                _ => list(text, &heading, |arm| arm.simple(m, number, dst, &[a], b)),
            }
        }
    }
}

fn transfers(text: &mut String) {
    let (near, far) = (At { base: X(3), offset: 0 }, At { base: X(3), offset: 0x1_2340 });
    for (name, how) in [
        ("16 bytes", Transfer::Q),
        ("8 bytes", Transfer::D),
        ("4 bytes", Transfer::S),
        ("2 bytes", Transfer::H),
        ("long", Transfer::LONG),
        ("word", Transfer::WORD),
        ("short", Transfer::SHORT),
        ("byte", Transfer::BYTE),
        ("signed word", Transfer::SIGNED_WORD),
        ("signed short", Transfer::SIGNED_SHORT),
        ("signed byte", Transfer::SIGNED_BYTE),
    ] {
        let next = At { base: X(25), offset: 1 << how.shift };
        list(text, name, |arm| {
            arm.code.load(how, 17, near, FILL);
            arm.code.load(how, 17, far, FILL);
            arm.code.store(how, 17, next, FILL);
        });
    }
    list(text, "indexed", |arm| {
        for bytes in [1, 2, 4, 8] {
            let how = Transfer::number(bytes, bytes < 4);
            arm.code.three(how.load_indexed(), X(16), X(17), X(8));
            arm.code.three(how.store_indexed(), X(16), X(17), X(8));
        }
        for bytes in [2, 4, 8] {
            let how = Transfer::vector(bytes);
            arm.code.three(how.load_indexed(), X(16), X(17), X(8));
            arm.code.three(how.store_indexed(), X(16), X(17), X(8));
        }
    });
    list(text, "lanes", |arm| {
        arm.code.load_repeated(V(18), near, false, FILL);
        arm.code.load_repeated(V(18), far, true, FILL);
        for lane in 0..4 {
            arm.code.load_lane(V(18), lane, X(16), false);
            arm.code.lane(X(16), V(18), lane, false);
        }
        for lane in 0..2 {
            arm.code.load_lane(V(18), lane, X(16), true);
            arm.code.lane(X(16), V(18), lane, true);
        }
        arm.code.repeat(V(18), X(16), false);
        arm.code.repeat(V(18), X(16), true);
    });
}

fn control(text: &mut String) {
    list(text, "numbers", |arm| {
        arm.code.add(X(1), X(2), X(19), 3);
        for number in [0, 1, 0xfff, 0x5000, 0x1_2345] {
            arm.code.add_number(X(1), X(2), number);
        }
        arm.code.add_number(X(1), X(1), 0);
        arm.code.compare(X(1), X(19), true);
        arm.code.compare(X(1), X(19), false);
        for condition in [Condition::Lower, Condition::Higher, Condition::Less, Condition::Greater]
        {
            arm.code.select(X(1), X(2), X(19), condition);
        }
    });
    list(text, "functions", |arm| {
        arm.code.keep_vectors();
        arm.code.push(X(19), X(20));
        arm.code.pop(X(19), X(20));
        arm.code.restore_vectors();
        arm.code.address_of(POOL, 0);
        arm.code.ret();
        arm.code.align();
    });
    list(text, "jumps", |arm| {
        let jumps = [
            arm.code.jump_ahead(),
            arm.code.jump_ahead_if(true, X(16)),
            arm.code.jump_ahead_if(false, X(16)),
            arm.code.jump_unless_bit(X(16), 0),
            arm.code.jump_unless_bit(X(16), 48),
        ];
        jumps.into_iter().for_each(|jump| arm.land(jump));
        arm.code.jump_back(0);
        arm.code.jump_back_if(Condition::Lower, 4);
    });
    list(text, "lanes out of bounds", |arm| {
        let special = Special::Check { offset: 64, part: 1, wide: false, signed: true };
        arm.emit_special(special, V(0), [V(1), V(2), V(0)]);
        arm.emit_cold();
    });
    list(text, "lanes within bounds", |arm| {
        let access = Access {
            word: 3,
            wide: false,
            wide_index: false,
            scale: 4,
            bytes: 4,
            counting: Some(32),
        };
        for beside in [Beside::Nothing, Beside::Wanted, Beside::Near] {
            let bounds = Bounds { report: Some(64), part: 1, signed: true, beside };
            let sources = [V(1), V(2), V(3)];
            arm.emit_special(Special::GatherWithin(access, bounds), V(4), sources);
            let (word, op, dtype) = (3, ScatterOp::Add, DType::F32);
            let scatter = Special::ScatterWithin { word, op, dtype, bounds };
            arm.emit_special(scatter, V(0), sources);
        }
        arm.emit_special(Special::Near(access), V(4), [V(1), V(2), V(3)]);
        arm.emit_cold();
    });
}

#[test]
fn words_are_those_of_gnu_as() {
    let mut text = String::new();
    table(&mut text);
    transfers(&mut text);
    control(&mut text);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../src/backend/cpu/arm/encodings.txt"),
            &text,
        )
        .unwrap();
        return;
    }
    for (number, (made, known)) in text.lines().zip(KNOWN.lines()).enumerate() {
        assert_eq!(made, known, "encodings.txt, line {}", number + 1);
    }
    assert_eq!(text.lines().count(), KNOWN.lines().count());
}

#[test]
fn jumps_that_go_too_far_are_refused() {
    assert_eq!(with_distance(0x3600_0000, 1 << 15), None);
    assert_eq!(with_distance(0x3600_0000, -(1 << 15)), Some(0x3604_0000));
    assert_eq!(with_distance(0x5400_0003, 1 << 20), None);
    assert_eq!(with_distance(0x1400_0000, (1 << 27) - 4), Some(0x15ff_ffff));
    let mut code = Encoder::new(Vec::new());
    code.add_number(X(0), X(1), 1 << 24);
    assert!(code.finish(&[]).is_err());
}
