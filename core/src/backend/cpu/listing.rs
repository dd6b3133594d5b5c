//! Machine code as text: what `asm(x)` and log level 5 show.

use std::fmt::Write as _;

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use super::CpuOptions;
use super::assemble::{Style, assemble};
use super::lower::lower;
use crate::backend::isa::Isa;
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The code of a kernel, each instruction below the kernel instruction that it belongs to.
///
/// # Errors
/// `Interrupted`.
pub(super) fn listing(
    kernel: &Kernel,
    mode: LiteralMode,
    isa: Isa,
    options: &CpuOptions,
) -> Result<Option<String>> {
    let lowered = lower(kernel, mode, isa, false)?;
    let Some(assembly) = assemble(&lowered, Style { notes: true, ..Style::PLAIN }, options)? else {
        return Ok(None);
    };
    let mut text = String::new();
    let lanes = lowered.packet.lanes();
    let _ = writeln!(
        text,
        "; {isa}, {lanes} lanes a round, {} bytes, {} registers, {} spills",
        assembly.bytes.len(),
        assembly.usage.registers,
        assembly.usage.spills
    );
    let start = assembly.prologue.unwrap_or(assembly.body);
    let code = &assembly.bytes[start..];
    let mut decoder = Decoder::with_ip(64, code, start as u64, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    let mut notes = assembly.notes.iter().peekable();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let ip = instruction.ip();
        if ip == start as u64 && assembly.prologue.is_some() {
            text.push_str("prologue:\n");
        }
        if ip == assembly.body as u64 {
            text.push_str("body:\n");
        }
        let mut note = None;
        while let Some((_, inst)) = notes.next_if(|(position, _)| *position <= ip) {
            note = Some(*inst as usize);
        }
        if let Some(inst) = note {
            let _ = writeln!(text, "; {}", kernel.instruction(inst));
        }
        let _ = write!(text, "{ip:6x}  ");
        formatter.format(&instruction, &mut text);
        text.push('\n');
    }
    Ok(Some(text))
}
