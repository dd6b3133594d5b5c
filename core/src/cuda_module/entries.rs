//! The kernels that compiled code has: PTX says them, machine code has a section for each.

use std::collections::BTreeSet;

/// The first bytes of machine code, and of what holds several.
const ELF: &[u8] = b"\x7fELF";
const FATBIN: [[u8; 4]; 2] = [[0x50, 0xed, 0x55, 0xba], [0xb1, 0x43, 0x62, 0x46]];
/// What precedes the name of a kernel in that of its section.
const SECTION: &str = ".text.";

/// Whether bytes look like PTX or machine code.
pub(super) fn is_compiled(code: &[u8]) -> bool {
    let is_fat = FATBIN.iter().any(|first| code.starts_with(first));
    is_fat || code.starts_with(ELF) || is_text(code)
}

/// Whether bytes look like PTX.
pub(super) fn is_text(code: &[u8]) -> bool {
    let text = std::str::from_utf8(code);
    text.is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with(".version ")))
}

/// The names of the kernels, in order; `None` where they cannot be seen.
pub(super) fn entries(code: &[u8]) -> Option<Vec<String>> {
    match code.starts_with(ELF) {
        true => sections(code),
        false => std::str::from_utf8(code).ok().map(of_text),
    }
}

fn of_text(ptx: &str) -> Vec<String> {
    let text = without_comments(ptx);
    let names = text.split(".entry").skip(1).filter_map(|rest| Some(name_of(rest)?.into()));
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

fn without_comments(ptx: &str) -> String {
    let lines = ptx.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<&str>>().join("\n")
}

/// The name of the kernel whose entry goes on so.
fn name_of(rest: &str) -> Option<&str> {
    rest.split(|c: char| c == '(' || c.is_whitespace()).find(|word| !word.is_empty())
}

/// How many bytes each parameter of a kernel takes, as PTX says; `None` of machine code, and where that is not understood.
pub(super) fn parameter_bytes(code: &[u8], name: &str) -> Option<Vec<usize>> {
    let text = without_comments(std::str::from_utf8(code).ok().filter(|_| is_text(code))?);
    let rest = text.split(".entry").skip(1).find(|rest| name_of(rest) == Some(name))?;
    let behind = rest.trim_start().strip_prefix(name)?.trim_start();
    let Some(list) = behind.strip_prefix('(') else { return Some(Vec::new()) };
    let list = list.split(')').next()?;
    let listed = list.split(',').map(str::trim).filter(|one| !one.is_empty());
    listed.map(bytes_of).collect()
}

/// Of `.param .u64 x`, or `.param .align 8 .b8 x[24]`.
fn bytes_of(parameter: &str) -> Option<usize> {
    let mut words = parameter.split_whitespace();
    let bits = words.find_map(|word| {
        let digits = word.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?;
        digits.parse::<usize>().ok().filter(|bits| [8, 16, 32, 64].contains(bits))
    })?;
    let name: String = words.collect();
    let n = match name.split_once('[') {
        Some((_, n)) => n.trim_end_matches(']').trim().parse::<usize>().ok()?,
        None => 1,
    };
    n.checked_mul(bits / 8)
}

/// Of an ELF file of 64 bits, none of whose numbers is believed.
fn sections(elf: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let word = elf.get(at..at.checked_add(bytes)?)?;
        let bits = word.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
        usize::try_from(bits).ok()
    };
    let (start, size) = (number(0x28, 8)?, number(0x3a, 2)?);
    let (n, names) = (number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |section: usize| start.checked_add(section.checked_mul(size)?);
    let (from, bytes) = {
        let at = header(names)?;
        (number(at.checked_add(0x18)?, 8)?, number(at.checked_add(0x20)?, 8)?)
    };
    let names = elf.get(from..from.checked_add(bytes)?)?;
    let name = |section: usize| -> Option<&str> {
        let rest = names.get(number(header(section)?, 4)?..)?;
        std::str::from_utf8(rest.split(|&byte| byte == 0).next()?).ok()
    };
    let kernels = (0..n).filter_map(|section| name(section)?.strip_prefix(SECTION));
    Some(kernels.map(Into::into).collect::<BTreeSet<String>>().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_names_its_kernels() {
        let ptx = b".version 7.8\n.target sm_80\n// .entry no()\n.visible .entry g() { ret; }\n.entry\n f(.param .u64 x) { ret; }\n\0";
        assert!(is_compiled(ptx) && is_text(ptx));
        assert_eq!(entries(ptx).unwrap(), ["f", "g"]);
        let [f, g] = ["f", "g"].map(|name| parameter_bytes(ptx, name).unwrap());
        assert_eq!((f, g), (vec![8], vec![]));
        let long = b".version 7.8\n.entry h(\n .param .u64 .ptr .global .align 4 a,\n .param .align 8 .b8 b[24],\n .param .f32 c )\n.maxntid 128\n{ ret; }";
        assert_eq!(parameter_bytes(long, "h").unwrap(), [8, 24, 4]);
        for end in 0..long.len() {
            drop(parameter_bytes(&long[..end], "h"));
        }
    }

    #[test]
    fn machine_code_has_a_section_for_each() {
        let mut elf = vec![0; 0x40];
        elf[..4].copy_from_slice(ELF);
        let names = b"\0.text.axpy\0.shstrtab\0";
        let start = 0x40 + names.len();
        for (at, value) in [(0x28, start), (0x3a, 0x40), (0x3c, 2), (0x3e, 1)] {
            elf[at..at + 2].copy_from_slice(&u16::try_from(value).unwrap().to_le_bytes());
        }
        elf.extend(names);
        for (name, from, bytes) in [(1, 0, 0), (12, 0x40, names.len())] {
            let mut header = [0; 0x40];
            for (at, value) in [(0, name), (0x18, from), (0x20, bytes)] {
                header[at..at + 2].copy_from_slice(&u16::try_from(value).unwrap().to_le_bytes());
            }
            elf.extend(header);
        }
        assert_eq!(entries(&elf).unwrap(), ["axpy"]);
        // Whatever else stands there.
        for at in 0..elf.len() {
            let mut wrong = elf.clone();
            wrong[at] ^= 0xff;
            drop(entries(&wrong));
            drop(entries(&elf[..at]));
        }
        assert!(!is_compiled(b"neither"));
    }
}
