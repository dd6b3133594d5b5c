//! PTX text under construction: lines, register names, labels, declarations.
//!
//! # Registers
//!
//! A name is a class, a role and a number: `%f12` is the value of instruction 12, or of instruction 3 with
//! four lanes in flight, `%ft0` a temporary, `%fa1` the accumulator of the reduction that is write 1, `%rdp2` the
//! place of the lanes in buffer 2. Values are assigned once a lane. Temporaries live
//! within one instruction and are numbered from 0 again in the next one, so that declarations stay
//! small; `ptxas` renames them anyway.
#![deny(clippy::wildcard_enum_match_arm)]

use std::fmt::{self, Write as _};

use super::target::Target;
use crate::convert::exactly;
use crate::dtype::DType;

/// Column of the comments.
const COMMENT_COLUMN: usize = 48;

/// The class of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A truth value.
    Pred,
    /// 16 bits of an f16 on its way from or to memory.
    B16,
    /// 32-bit integers; also narrow ones and bytes, extended.
    B32,
    /// 64-bit integers and addresses.
    B64,
    /// f32; also the f32 of an f16.
    F32,
    /// f64.
    F64,
}

impl Class {
    pub(super) const ALL: [Self; 6] =
        [Self::Pred, Self::B16, Self::B32, Self::B64, Self::F32, Self::F64];

    /// The class of values of type `dtype`.
    pub(super) const fn of(dtype: DType) -> Self {
        match (dtype.is_float(), dtype.widened().bytes()) {
            (_, 1) => Self::Pred,
            (false, 4) => Self::B32,
            (false, _) => Self::B64,
            (true, 4) => Self::F32,
            (true, _) => Self::F64,
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Pred => "%p",
            Self::B16 => "%h",
            Self::B32 => "%r",
            Self::B64 => "%rd",
            Self::F32 => "%f",
            Self::F64 => "%fd",
        }
    }

    const fn ptx(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// The use of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Value,
    Temporary,
    Accumulator,
    Pointer,
    Turn,
    Bounds,
}

impl Role {
    const ALL: [Self; 6] =
        [Self::Value, Self::Temporary, Self::Accumulator, Self::Pointer, Self::Turn, Self::Bounds];

    const fn infix(self) -> &'static str {
        match self {
            Self::Value => "",
            Self::Temporary => "t",
            Self::Accumulator => "a",
            Self::Pointer => "p",
            Self::Turn => "c",
            Self::Bounds => "b",
        }
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// One of a numbered family.
    Numbered(Numbered),
    /// A 64-bit integer that the outline of an entry uses.
    Special(&'static str),
}

/// A register of a numbered family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    class: Class,
    role: Role,
    number: u32,
}

impl Name {
    /// The register a number of registers further on.
    pub(super) fn next(self, by: u32) -> Self {
        match self {
            Self::Numbered(name) => Self::Numbered(Numbered { number: name.number + by, ..name }),
            Self::Special(_) => self,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered(Numbered { class, role, number }) => {
                write!(f, "{}{}{number}", class.prefix(), role.infix())
            }
            Self::Special(name) => write!(f, "%{name}"),
        }
    }
}

/// A place that code branches to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(u32);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$L{}", self.0)
    }
}

/// A predicate in front of an instruction, or nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard(pub(super) Option<Name>);

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(predicate) => write!(f, "@{predicate} "),
            None => Ok(()),
        }
    }
}

/// Writes one instruction: `ptx!(writer, "add.{t} {d}, {a}, {b}")`.
macro_rules! ptx {
    ($writer:expr, $($text:tt)+) => { $writer.line(format_args!($($text)+)) };
}
pub(super) use ptx;

/// The body of one entry.
#[derive(Debug, Default)]
pub(super) struct Writer {
    body: String,
    /// Where the last line starts.
    last_line: usize,
    /// Number of registers by role and class.
    n_registers: [[u32; Class::ALL.len()]; Role::ALL.len()],
    /// Temporaries in use, by class.
    n_temporaries: [u32; Class::ALL.len()],
    special: Vec<&'static str>,
    n_labels: u32,
    /// Whether the processor has what came with `sm_80`.
    since_80: bool,
    /// 64-bit words of shared memory, called `words`.
    pub(super) shared_words: u32,
    /// Whether shared memory is read in vectors of 16 bytes.
    pub(super) has_vectors_shared: bool,
    /// Where the parameters of a member of a batch lie.
    pub(super) member: Option<Name>,
    /// Threads of a block, and blocks that a multiprocessor should run at once.
    pub(super) launch_bounds: Option<[u32; 2]>,
}

impl Writer {
    /// A body for a processor; [`Writer::default`] for all.
    pub(super) fn of_target(target: Target) -> Self {
        Self { since_80: target.compute_capability >= 80, ..Self::default() }
    }

    /// Whether the processor has what came with `sm_80`.
    pub(super) const fn is_since_80(&self) -> bool {
        self.since_80
    }

    /// Writes one instruction.
    pub(super) fn line(&mut self, text: fmt::Arguments<'_>) {
        self.last_line = self.body.len();
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "    {text};");
    }

    /// Appends a comment to the last line.
    pub(super) fn comment(&mut self, text: fmt::Arguments<'_>) {
        let width = self.body.len() - self.last_line - 1;
        if self.body.pop().is_some() {
            let padding = COMMENT_COLUMN.saturating_sub(width);
            let _ = writeln!(self.body, "{:padding$} // {text}", "");
        }
    }

    /// A new label, to be placed once.
    pub(super) fn new_label(&mut self) -> Label {
        self.n_labels += 1;
        Label(self.n_labels - 1)
    }

    /// The next line is where `label` points.
    pub(super) fn put_label(&mut self, label: Label) {
        let _ = writeln!(self.body, "{label}:");
    }

    /// The first of `lanes` registers, one for each lane in flight.
    pub(super) fn values(&mut self, dtype: DType, number: u32, lanes: u32) -> Name {
        self.numbered(Class::of(dtype), Role::Value, number + lanes - 1);
        self.numbered(Class::of(dtype), Role::Value, number)
    }

    /// Where the lanes of buffer `number` lie.
    pub(super) fn pointer(&mut self, number: u32) -> Name {
        self.numbered(Class::B64, Role::Pointer, number)
    }

    /// The accumulator of the write `number`.
    pub(super) fn accumulator(&mut self, dtype: DType, number: u32) -> Name {
        self.numbered(Class::of(dtype), Role::Accumulator, number)
    }

    /// The number of the turn of the loop in `depth` others.
    pub(super) fn turn(&mut self, depth: usize) -> Name {
        self.numbered(Class::B32, Role::Turn, exactly(depth))
    }

    /// Whether some index that is not reported yet is out of bounds.
    pub(super) fn is_some_outside(&mut self) -> Name {
        self.numbered(Class::Pred, Role::Bounds, 0)
    }

    /// A register that is free until [`Writer::release_temporaries`].
    pub(super) fn temporary(&mut self, class: Class) -> Name {
        let number = self.n_temporaries[class as usize];
        self.n_temporaries[class as usize] += 1;
        self.numbered(class, Role::Temporary, number)
    }

    /// A temporary for values of type `dtype`.
    pub(super) fn temporary_of(&mut self, dtype: DType) -> Name {
        self.temporary(Class::of(dtype))
    }

    /// Makes all temporaries available again.
    pub(super) fn release_temporaries(&mut self) {
        self.n_temporaries = Default::default();
    }

    /// The temporaries in use now, for [`Writer::release_to`].
    pub(super) const fn mark(&self) -> [u32; Class::ALL.len()] {
        self.n_temporaries
    }

    /// Makes the temporaries that came after a mark available again.
    pub(super) const fn release_to(&mut self, mark: [u32; Class::ALL.len()]) {
        self.n_temporaries = mark;
    }

    /// The 64-bit register with a name of its own.
    pub(super) fn special(&mut self, name: &'static str) -> Name {
        if !self.special.contains(&name) {
            self.special.push(name);
        }
        Name::Special(name)
    }

    fn numbered(&mut self, class: Class, role: Role, number: u32) -> Name {
        let count = &mut self.n_registers[role as usize][class as usize];
        *count = (*count).max(number + 1);
        Name::Numbered(Numbered { class, role, number })
    }

    /// The whole entry, with declarations of all registers named.
    pub(super) fn finish(self, name: &str, params: &[String]) -> String {
        let mut text = String::with_capacity(self.body.len() + 512);
        let params = params.join(",\n    ");
        let _ = writeln!(text, ".visible .entry {name}(\n    {params}\n)");
        if let Some([threads, blocks]) = self.launch_bounds {
            let _ = writeln!(text, ".maxntid {threads}, 1, 1\n.minnctapersm {blocks}");
        }
        text.push_str("{\n");
        for role in Role::ALL {
            for class in Class::ALL {
                let n = self.n_registers[role as usize][class as usize];
                if n != 0 {
                    let (ptx, prefix, infix) = (class.ptx(), class.prefix(), role.infix());
                    let _ = writeln!(text, "    .reg .{ptx} {prefix}{infix}<{n}>;");
                }
            }
        }
        for name in &self.special {
            let _ = writeln!(text, "    .reg .b64 %{name};");
        }
        if self.shared_words != 0 {
            let (align, bytes) =
                (if self.has_vectors_shared { 16 } else { 8 }, 8 * self.shared_words);
            let _ = writeln!(text, "    .shared .align {align} .b8 words[{bytes}];");
        }
        text.push('\n');
        text.push_str(&self.body);
        text.push_str("    ret;\n}\n");
        text
    }
}

/// PTX suffix for operations that look at bits only: `pred`, `b32`, `b64`.
pub(super) const fn untyped(dtype: DType) -> &'static str {
    match dtype.widened().bytes() {
        1 => "pred",
        4 => "b32",
        _ => "b64",
    }
}

/// PTX suffix in memory: a mask is a byte, a half just bits.
pub(super) const fn in_memory(dtype: DType) -> &'static str {
    if dtype.is_half() {
        return "b16";
    }
    // A byte, where it is no predicate.
    if dtype.is_number() { dtype.ptx() } else { DType::U8.ptx() }
}
