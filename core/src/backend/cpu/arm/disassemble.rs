//! Machine code as text.

use fARM64::format::{BufSink, FmtFormatter, Formatter};
use fARM64::{Decoder, DecoderOptions};

/// Longest text of an instruction.
const LONGEST: usize = 128;

/// Tells `show` the offset and text of every instruction of some code at an offset.
pub(super) fn disassemble(code: &[u8], offset: usize, mut show: impl FnMut(usize, &str)) {
    let mut decoder = Decoder::new(code, offset as u64, DecoderOptions::default());
    let formatter = FmtFormatter::new();
    let mut text = [0; LONGEST];
    for place in (offset..offset + code.len()).step_by(4) {
        let instruction = decoder.decode();
        let mut sink = BufSink::new(&mut text);
        formatter.format(&instruction, &mut sink);
        show(place, sink.as_str());
    }
}
