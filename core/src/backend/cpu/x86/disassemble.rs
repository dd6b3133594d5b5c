//! Machine code as text.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use crate::convert::exactly;

/// Tells `show` the offset and text of every instruction of some code at an offset.
pub(super) fn disassemble(code: &[u8], offset: usize, mut show: impl FnMut(usize, &str)) {
    let mut decoder = Decoder::with_ip(64, code, offset as u64, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    let mut text = String::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        text.clear();
        formatter.format(&instruction, &mut text);
        show(exactly(instruction.ip()), &text);
    }
}
