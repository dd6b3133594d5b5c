//! Machine code as text: what `asm(x)` and log level 5 show.

use std::fmt::Write as _;

use super::assemble::assemble;
use super::lower::lower;
use super::machine::{Machine, Style};
use super::native::Native;
use super::options::CpuOptions;
use super::target::Target;
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The code of a kernel, each instruction below the kernel instruction that it belongs to.
///
/// # Errors
/// `Interrupted`.
pub(super) fn listing(
    kernel: &Kernel,
    mode: LiteralMode,
    target: &'static Target,
    options: &CpuOptions,
) -> Result<Option<String>> {
    let lowered = lower(kernel, mode, target, false)?;
    let style = Style { notes: true, ..Style::PLAIN };
    let Some(assembly) = assemble::<Native>(&lowered, style, options)? else { return Ok(None) };
    let mut text = String::new();
    let lanes = lowered.packet.lanes();
    let _ = writeln!(
        text,
        "; {}, {lanes} lanes a round, {} bytes, {} registers, {} spills",
        target.isa,
        assembly.bytes.len(),
        assembly.usage.registers,
        assembly.usage.spills
    );
    let start = assembly.prologue.unwrap_or(assembly.body);
    let mut notes = assembly.notes.iter().peekable();
    Native::disassemble(&assembly.bytes[start..], start, |position, instruction| {
        if Some(position) == assembly.prologue {
            text.push_str("prologue:\n");
        }
        if position == assembly.body {
            text.push_str("body:\n");
        }
        let mut note = None;
        while let Some((_, inst)) = notes.next_if(|(start, _)| *start <= position as u64) {
            note = Some(*inst as usize);
        }
        if let Some(inst) = note {
            let _ = writeln!(text, "; {}", kernel.instruction(inst));
        }
        let _ = writeln!(text, "{position:6x}  {instruction}");
    });
    Ok(Some(text))
}
